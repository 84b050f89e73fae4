"""Several sensitive columns as records: what holds of each column, against every possible world of a few people."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds
from worlds import possible, view

import reissue as ri
from reissue import attacks, guarantees
from reissue.attacks.base import Limits
from reissue.errors import InternalError, ParameterError, PolicyError
from reissue.model.published import Published
from reissue.model.records import record_cells, record_text, value_columns

NAMES = ("diagnosis", "ward")


def random_series(rng: random.Random) -> list[list[tuple[list[int], list[str]]]]:
    """A few people with records of two columns, in random groups of a few releases."""
    people = list(range(rng.randint(3, 8)))
    cells = [(rng.choice("ab" if rng.random() < 0.5 else "abc"), rng.choice("xy")) for _ in people]
    series = []
    for _ in range(rng.randint(1, 3)):
        present = [one for one in people if rng.random() < 0.85] or people[:1]
        rng.shuffle(present)
        groups = []
        while present:
            size = rng.randint(1, len(present))
            groups.append((present[:size], [record_text(cells[one]) for one in present[:size]]))
            present = present[size:]
        series.append(groups)
    return series


def with_columns(published: Published) -> Published:
    return replace(published, columns=value_columns(NAMES, [str(value) for value in published.values]))


def by_column(series: Any, column: int) -> dict[int, dict[str, Fraction]]:
    """For everybody how many of all worlds give them each value of a column."""
    found = {}
    for person, records in possible(series).items():
        counts: Counter[str] = Counter()
        for record, often in records.items():
            counts[record_cells(record, len(NAMES))[column]] += often
        found[person] = {value: Fraction(often, counts.total()) for value, often in counts.items()}
    return found


@pytest.mark.parametrize("seed", seeds(120, 2_000))
def test_a_column_is_the_sum_of_its_records(seed: int) -> None:
    rng = random.Random(seed)
    series = random_series(rng)
    published = with_columns(view(series))
    found = attacks.Worlds(seconds=None).run(published)
    limit = rng.choice([None, Fraction(1, 2), Fraction(2, 3), Fraction(3, 4)])
    for at, name in enumerate(NAMES):
        truth = by_column(series, at)
        column = found.of_column(name)
        table = column.row(limit)
        worst = {person: max(chances.values()) for person, chances in truth.items()}
        assert table["people"] == len(truth)
        assert table["highest probability"] == pytest.approx(float(max(worst.values())), abs=1e-12)
        assert table["certain"] == sum(one == 1 for one in worst.values())
        above = sum(one == 1 if limit is None else one > limit for one in worst.values())
        assert table["above the limit"] == above
        judged = column.judge(limit, 100)
        assert judged.status == ("beyond" if above else "within")
        assert judged.count == above
        for finding in judged.findings:
            assert finding.column == name
            assert finding.probability == pytest.approx(float(worst[finding.people[0]]), abs=1e-12)
            assert f"{name} = " in finding.witness.text(published)
            assert f"of {name}" in finding.witness.text(published, show_values=False)
    judged = found.judge(Limits(columns=tuple((name, limit) for name in NAMES)))
    assert (judged.status == "beyond") == any(
        (max(chances.values()) == 1) if limit is None else max(chances.values()) > limit
        for at in range(len(NAMES))
        for chances in by_column(series, at).values()
    )


def test_records_tell_more_of_a_column_than_the_column_alone() -> None:
    """Two groups have both wards, and records say that the one that is in both groups has ward x."""
    series = [[([1, 2], ["a; x", "b; y"])], [([1, 3], ["a; x", "c; y"])]]
    published = with_columns(view(series))
    assert attacks.Worlds().run(published).of_column("ward").row(None)["certain"] == 3
    alone = view([[([1, 2], ["x", "y"])], [([1, 3], ["x", "y"])]])
    assert not attacks.Worlds().run(alone).certain


@pytest.mark.parametrize("seed", seeds(100, 1_000))
def test_limits_of_columns_group_by_group(seed: int) -> None:
    rng = random.Random(seed)
    series = random_series(rng)
    limits = {name: rng.choice([None, "1/2", "2/3", "0.75"]) for name in NAMES}
    verdict = guarantees.ColumnLimits(limits).check(with_columns(view(series)))
    broken = 0
    for groups in series:
        for _, records in groups:
            bad = False
            for at, limit in enumerate(limits.values()):
                top = max(Counter(record_cells(record, 2)[at] for record in records).values())
                share = Fraction(top, len(records))
                bad |= share == 1 if limit is None else share > Fraction(limit)
            broken += bad
    assert verdict.violations == broken
    assert verdict.holds == (not broken)


def test_what_limits_of_columns_are() -> None:
    one = guarantees.ColumnLimits({"diagnosis": 0.25, "ward": None})
    assert one.parameters == {"limits": {"diagnosis": "1/4", "ward": None}}
    assert one.title == "column-limits (diagnosis at most 1/4, ward below 1)"
    assert one.bounds.columns == (("diagnosis", Fraction(1, 4)), ("ward", None))
    assert hash(one) == hash(guarantees.ColumnLimits({"diagnosis": "1/4", "ward": None}))
    for wrong in ({}, {"ward": "1"}, {"ward": "much"}, ["ward"]):
        with pytest.raises(ParameterError, match="limits"):
            guarantees.ColumnLimits(wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no sensitive column 'floor'"):
        guarantees.ColumnLimits({"floor": None}).check(with_columns(view([[([1], ["a; x"])]])))


# Text


@pytest.mark.parametrize(
    "cells",
    [("a", "b"), ("", ""), ("a; b", "c"), ('say "no"', ";"), ("; ", '"'), ("1", "2.5", "(missing)"), ("a;", " b ")],
)
def test_records_as_text_and_back(cells: tuple[str, ...]) -> None:
    assert record_cells(record_text(cells), len(cells)) == cells
    with pytest.raises(InternalError):
        record_cells(record_text(cells), len(cells) + 1)


def test_different_records_have_different_texts() -> None:
    rng = random.Random(0)
    words = ["", "a", ";", '"', "; ", '";', 'a"', "b; c"]
    seen: dict[str, tuple[str, ...]] = {}
    for _ in range(2_000):
        cells = tuple(rng.choice(words) + rng.choice(words) for _ in range(rng.randint(2, 3)))
        assert seen.setdefault(f"{len(cells)} {record_text(cells)}", cells) == cells


# Tables


def table(seed: int, count: int, first: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{first + at}" for at in range(count)],
            "age": rng.integers(20, 80, count),
            "diagnosis": rng.choice(["flu", "cancer; late", 'the "other"', "asthma", "HIV"], count),
            "days": rng.choice([1, 2, 5, 30], count),
            "admitted": pl.Series(rng.integers(18_000, 18_003, count)).cast(pl.Int32).cast(pl.Date),
        }
    )


def schema(**more: Any) -> ri.Schema:
    sensitive = {"diagnosis": ri.Categorical(new="accept"), "days": ri.Numeric(), "admitted": ri.Numeric()}
    return ri.Schema("id", {"age": ri.Numeric()}, sensitive, **more)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_every_column_is_published_as_it_was(tmp_path: Path, form: str) -> None:
    """Values come out in their own types, as often as they went in, group by group with the group's own records."""
    first = table(0, 120)
    second = pl.concat([first[20:], table(1, 30, 200)])
    with ri.open(tmp_path / "s", ri.Policy(schema(), ri.Mondrian(k=4), form=form, series="unprotected")) as series:
        for state in (first, second):
            release = series.publish(state)
            own = release.tables["table" if form == "generalised" else "sensitive"]
            assert own.select("diagnosis", "days", "admitted").schema == state.drop("id", "age").schema
            shown = own if form == "generalised" else own.select(pl.all().exclude("count").repeat_by("count").explode())
            columns = ["diagnosis", "days", "admitted"]
            assert shown.select(columns).sort(columns).equals(state.select(columns).sort(columns))
            members = series.private.members(release.number).join(state, left_on="person", right_on="id")
            assert (
                members.select("group", *columns)
                .sort("group", *columns)
                .cast({"group": pl.UInt32})
                .equals(shown.select("group", *columns).sort("group", *columns))
            )
        # What the ledger kept gives the same table again.
        assert series.utility(2).rows == second.height
        assert series.verify() == []
        assert series.audit(limit="1/2", attacks=["Worlds"]).judgements["Worlds"].status != "not asked"


def test_records_that_left_the_table_stay_known(tmp_path: Path) -> None:
    """A number that nobody has any more may still stand in a counterfeit: m-invariance goes on with it."""
    rng = np.random.default_rng(0)

    def state(people: range, most: int) -> pl.DataFrame:
        count = len(people)
        ids = [f"p{at}" for at in people]
        cells = {"diagnosis": rng.choice([f"d{at}" for at in range(40)], count), "days": rng.integers(1, most, count)}
        return pl.DataFrame({"id": ids, "age": rng.integers(20, 80, count), **cells})

    sensitive = {"diagnosis": ri.Categorical(new="accept"), "days": ri.Numeric()}
    policy = ri.Policy(ri.Schema("id", {"age": ri.Numeric()}, sensitive), ri.MInvariance(m=4))
    first = state(range(200), 60)
    with ri.open(tmp_path / "s", policy) as series:
        series.publish(first, seed=1)
        gone = first.filter(pl.col("days") < 30)
        release = series.publish(
            pl.concat([gone, state(range(300, 340), 30)]), seed=2, allow=["counterfeit"], reason="so it is here"
        )
        assert release.manifest["series"] == "protected"
        assert release.summary["counterfeits"]
        assert max(release.tables["table"]["days"]) >= 30  # made up, in place of those who had it
        assert series.audit().passed


def test_what_a_schema_of_several_columns_is() -> None:
    one = schema(limits={"days": 0.75})
    assert one.sensitive == "diagnosis; days; admitted"
    assert one.limits == {"days": "3/4"}
    assert one.roles["days"] == "sensitive"
    policy = ri.Policy(one, ri.Mondrian(k=3))
    assert ri.Policy.from_toml(policy.to_toml()) == policy
    assert 'limit = "3/4"' in policy.to_toml()
    assert [guarantee.name for guarantee in policy.guarantees()] == ["k-anonymity", "column-limits"]
    problems = {
        "no sensitive column": {"limits": {"age": "1/2"}},
        "above 0 and below 1": {"limits": {"days": 1}},
        "are for one sensitive column": {"permanent": ["HIV"]},
    }
    for words, more in problems.items():
        with pytest.raises(PolicyError, match=words):
            schema(**more)
    with pytest.raises(PolicyError, match="the limit of a single one is the method's"):
        ri.Schema("id", {"age": ri.Numeric()}, "diagnosis", limits={"diagnosis": "1/2"})
    with pytest.raises(PolicyError, match="at least one sensitive column"):
        ri.Schema("id", {"age": ri.Numeric()}, {})
    with pytest.raises(PolicyError, match="stands for all sensitive columns together"):
        ri.Schema("id", {"a; b": ri.Numeric()}, ["a", "b"])
    with pytest.raises(PolicyError, match="takes one sensitive column"):
        ri.Policy(schema(), ri.HDComposition(l=3))


def test_a_bare_column_is_refused(tmp_path: Path) -> None:
    """Everybody of a group with another diagnosis and the same number of days: m-invariance alone would publish it."""
    state = (
        table(4, 60)
        .with_columns(days=pl.lit(2))
        .with_row_index("at")
        .with_columns(days=pl.when(pl.col("at") < 3).then(1).otherwise(2))
        .drop("at", "admitted")
    )
    sensitive = {"diagnosis": ri.Categorical(), "days": ri.Numeric()}
    policy = ri.Policy(ri.Schema("id", {"age": ri.Numeric()}, sensitive), ri.MInvariance(m=2))
    with pytest.raises(ri.errors.Refused, match="does not hide each of them by itself") as refused:
        ri.publish(tmp_path / "s", state, policy)
    assert "with the same value of 'days'" in str(refused.value)
    assert "flu" not in str(refused.value)
    assert not (tmp_path / "s").exists()
    # Mondrian keeps to what is asked of columns while it cuts.
    release = ri.publish(tmp_path / "m", state, replace(policy, method=ri.Mondrian(k=2)))
    assert release.tables["table"].group_by("group").agg(pl.col("days").n_unique())["days"].min() == 2
    with pytest.raises(ri.errors.Infeasible, match="57 of 60 rows have the most frequent value of 'days'"):
        limited = ri.Schema("id", {"age": ri.Numeric()}, sensitive, limits={"days": "1/2"})
        ri.publish(tmp_path / "n", state, ri.Policy(limited, ri.Mondrian(k=2)))
