"""Every value is held against its own limit, not against the largest that some value has."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from changing_sets import coin, courses, given, posteriors, renewal_table, renewing, with_a_large_one

import reissue as ri
from reissue.attacks import Limits, Tracking
from reissue.model.domain import GROUP, PERSON
from reissue.model.published import Published
from reissue.model.sets import Bridged
from reissue.tables.set_views import published_sets
from tests.published_sets import designs_of, view_of_sets

SHARES = [0.4, 0.2, 0.15, 0.15, 0.1]
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def test_a_value_with_one_slot_does_not_have_the_limit_of_another() -> None:
    """By hand: twice as likely as its share, b has 2 of 5 where a has 2 x 1 of 5, c 1 of 5; a may have a half."""
    prior = dict(zip("abcde", [0.4, 0.4, 0.15, 0.03, 0.02], strict=True))
    view = view_of_sets([{0: (0, 0, 1, 2)}], designs_of([SHARES], 4, None, {0: 2}))
    found = Tracking(prior=prior).run(view)
    assert [float(found.probability(0, value, 1)) for value in "abc"] == pytest.approx([0.4, 0.4, 0.2])
    judged = found.judge(Limits(HALF))
    assert judged.status == "beyond" and judged.count == 1
    [finding] = judged.findings
    assert view.values[finding.value or 0] == "b" and finding.probability == pytest.approx(0.4)
    assert "with more than its limit" in judged.words
    assert "the furthest above its limit 0.4 where that is 1/4" in judged.words
    assert "by the design: 1/4 for 4 values, 1/2 for 1 value; none may have more than 1/2." in judged.words
    assert Tracking().run(view).judge(Limits(HALF)).status == "within"


def test_what_is_asked_for_counts_where_it_is_less() -> None:
    view = view_of_sets([{0: (0, 0, 1, 2), 1: (1, 2, 3, 4)}], designs_of([SHARES], 4, None, {0: 2}))
    found = Tracking().run(view)
    [finding] = found.judge(Limits(Fraction(2, 5))).findings
    assert finding.people == (0,) and view.values[finding.value or 0] == "a"
    assert found.judge(Limits(Fraction(1, 5))).count == 2
    strict = found.judge(Limits(Fraction(1, 5))).words
    assert "with more than 1/5" in strict and "own limit" not in strict
    # Who asks for more than the design has gets what the design has.
    assert "1/2 for 1 value; none may have more than 3/4." in found.judge(Limits(Fraction(3, 4))).words


@pytest.mark.parametrize("asked", [HALF, Fraction(1, 3), Fraction(1, 5)])
def test_judged_as_by_brute_force(asked: Fraction) -> None:
    """Every course of sets over two releases: declared 0.5, and somebody who knows that it is 0.1."""
    design = with_a_large_one(SHARES, 4, 2)
    known = courses(
        SHARES, [renewal_table(0.1, SHARES)], lambda v: given(design, v), [renewing(design, coin(0.5, SHARES))]
    )
    truth = posteriors(known)
    people = [[tuple(sorted((*chosen, *[0] * (0 in chosen)))) for chosen in sets] for sets in truth]
    releases = [{at: sets[time] for at, sets in enumerate(people)} for time in (0, 1)]
    view = view_of_sets(releases, designs_of([SHARES], 4, 0.5, {0: 2}))
    found = Tracking(change=0.1).run(view)

    def over(one: dict[int, float]) -> bool:
        return any(chance > min(asked, HALF if value == 0 else QUARTER) + 1e-9 for value, chance in one.items())

    expected = {at for at, times in enumerate(truth.values()) if any(map(over, times))}
    judged = found.judge(Limits(asked), most=len(people))
    assert {finding.people[0] for finding in judged.findings} == expected
    assert judged.count == len(expected) and expected
    if asked == HALF:
        largest = {at for at, times in enumerate(truth.values()) if max(max(one.values()) for one in times) > 0.5}
        assert largest < expected, "the largest limit for all would have let some pass"


def test_permanent_values_have_the_limit_that_is_asked_for() -> None:
    """They grow by what anybody may have caught, whatever their slots: 1 - (1 - 1/m)(1 - p)."""
    view = view_of_sets([{0: (0, 1, 4)}, {0: (2, 3, 4)}], designs_of([[0.3, 0.25, 0.2, 0.15, 0.1]], 3, 0.5))
    found = Tracking().run(view, ri.Knowledge(permanent=["e"]))
    assert float(found.probability(0, "e", 2)) == pytest.approx(0.4)
    assert found.judge(Limits(HALF)).status == "within"
    assert found.judge(Limits(Fraction(1, 3))).status == "beyond"


def from_public_files(folder: Path, numbers: range, values: list[str]) -> Published:
    """What somebody sees who has the public files alone, and knows everybody's age."""
    place = {label: at for at, label in enumerate(values)}
    views = []
    for number in numbers:
        [path] = [
            one for one in (folder / "public").rglob("release.json") if json.loads(one.read_text())["number"] == number
        ]
        tables = {file.stem: pl.read_parquet(file) for file in path.parent.glob("*.parquet")}
        ages = tables["table"]["age"].cast(pl.Int64)
        rows = pl.DataFrame({PERSON: ages, GROUP: np.arange(1, ages.len() + 1)})
        views.append(published_sets(number, tables, json.loads(path.read_text()), rows, "illness", place))
    return Published(Bridged(views), tuple(values), sets=tuple(views))


def test_an_audit_of_public_files_alone(tmp_path: Path) -> None:
    """The design is public, so is every value's limit; nothing else is asked."""
    rng = np.random.default_rng(4)
    values = list("abcde")
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical(values=values)})
    method = ri.Alternatives(m=4, limits={"a": "1/2"}, change=0.5, reference=dict(zip(values, SHARES, strict=True)))
    has = rng.choice(values, 400, p=SHARES)
    with ri.open(tmp_path / "s", ri.Policy(schema, method)) as series:
        for _ in range(2):
            series.publish(pl.DataFrame({"id": range(400), "age": range(400), "illness": has}))
            has = np.where(rng.random(400) < 0.1, rng.choice(values, 400, p=SHARES), has)
        promised = series.audit(attacks=[Tracking(change=0.1)]).judgements["Tracking"]
    shutil.rmtree(tmp_path / "s" / "private")
    view = from_public_files(tmp_path / "s", range(1, 3), values)
    attack = Tracking(change=0.1)
    report = ri.audit(view, limit="1/2", attacks=[attack])
    own = pl.DataFrame({"value": values, "own": [0.5, *[0.25] * 4]})
    over = attack.run(view).posteriors.join(own, on="value").filter(pl.col("probability") > pl.col("own") + 1e-9)
    assert over.filter(pl.col("probability") > 0.5)["person"].n_unique() < over["person"].n_unique()
    judged = report.judgements["Tracking"]
    assert judged.status == "beyond" and judged.count == over["person"].n_unique()
    assert report.disclosure.above == judged.count
    assert not report.passed
    assert promised.count == judged.count, "what the method promised is judged the same way"
