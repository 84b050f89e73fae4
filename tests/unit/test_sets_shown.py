"""Sets as people see them: as text, in words, in the public record, and what they cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.kernels.query_counts import LANES
from reissue.model.change import change_in_words
from reissue.model.grouping import Grouping
from reissue.model.release import rows_in_words
from reissue.model.snapshot import Column, Labels, Leaves, Numbers
from reissue.publishing.series import draft
from reissue.tables.set_texts import with_lists, without_lists
from reissue.utility import SetUtility
from reissue.utility.extents import Extents
from reissue.utility.queries import RegionArrays
from reissue.utility.set_queries import region_shares
from reissue.utility.workload import Queries

SHARES = {"asthma": 0.15, "flu": 0.25, "fracture": 0.15, "gout": 0.1, "heart": 0.15, "ulcer": 0.2}
SCHEMA = ri.Schema(
    person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
)


def people(count: int = 400, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "patient": np.arange(count),
            "age": rng.integers(20, 60, count),
            "sex": rng.choice(["f", "m"], count),
            "illness": rng.choice(list(SHARES), count, p=list(SHARES.values())),
        }
    )


def policy(**parameters: Any) -> ri.Policy:
    usual: dict[str, Any] = {"m": 3, "reference": SHARES, "limit": "2/3"}
    return ri.Policy(SCHEMA, ri.Alternatives(**usual | parameters))


# As text


def test_lists_are_written_in_braces_by_hand() -> None:
    frame = pl.DataFrame({"row": [1, 2, 3, 4], "values": [["a", "b, c"], ["{"], [], ['say "x"', ""]]})
    assert without_lists(frame)["values"].to_list() == ['{a,"b, c"}', '{"{"}', "{}", '{"say ""x""",""}']
    numbers = pl.DataFrame({"values": [[1, None], [2], [None]]})
    assert without_lists(numbers)["values"].to_list() == ['{1,""}', "{2}", '{""}']
    assert with_lists(without_lists(numbers)["values"], pl.Int64).to_list() == numbers["values"].to_list()
    assert without_lists(frame.drop("values")).equals(frame.drop("values"))


@examples(60)
@given(st.lists(st.lists(st.text("ab,{}\" '\n", max_size=4), max_size=4), min_size=1, max_size=6))
def test_any_lists_read_back_as_they_were(lists: list[list[str]]) -> None:
    frame = pl.DataFrame({"values": lists}, schema={"values": pl.List(pl.String)})
    text = without_lists(frame)
    read = pl.read_csv(text.write_csv().encode(), infer_schema=False)
    assert with_lists(read["values"], pl.String).to_list() == lists
    labels = sorted({label for row in lists for label in row})
    if labels:
        assert without_lists(frame.cast({"values": pl.List(pl.Enum(labels))})).equals(text)


# In words


def test_words_for_rows() -> None:
    design = {"slots": 5, "most_slots": 1}
    assert rows_in_words(20_000, 20_000, design) == "20,000 rows, each with 5 values of which one is true"
    assert rows_in_words(20_000, 80, {**design, "most_slots": 2}) == (
        "20,000 rows in 80 regions, each with up to 5 values of which one is true"
    )
    assert rows_in_words(20_000, 80, None) == "20,000 rows in 80 groups"


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (None, "never"),
        ({"kind": "static"}, "never"),
        ({"kind": "renewal", "rate": 0.25}, "with probability 0.25"),
        ({"kind": "rates", "table": {"a": 0.5, "b": 0.1}}, "rates for each of 2 values"),
        ({"kind": "transitions", "table": {"a": {"b": 1.0}, "b": {"a": 1.0}}}, "transitions between 2 values"),
    ],
)
def test_words_for_change(stored: dict[str, Any] | None, words: str) -> None:
    assert words in change_in_words(stored)


def test_releases_and_drafts_say_what_they_are(tmp_path: Path) -> None:
    with ri.open(tmp_path / "clinic", policy(change=0.2)) as series:
        made = series.draft(people())
        assert repr(made) == "Draft(release 1: 400 rows, each with up to 3 values of which one is true)"
        release = series.commit(made)
        assert repr(release) == "Release(1: 400 rows, each with up to 3 values of which one is true)"
        assert (release.summary["sets_drawn"], release.summary["sets_kept"]) == (400, 0)
        again = series.publish(people().head(350))
        assert again.summary["sets_drawn"] + again.summary["sets_kept"] == 350
        first, second = series.private.members(1), series.private.members(2)
        both = second.join(first, on="person", suffix=" before")
        kept = both.filter(pl.col("alternatives") == pl.col("alternatives before")).height
        assert kept >= again.summary["sets_kept"]
    regions = draft(people(), policy(k=20), seed=1)
    assert f"in {regions.grouping.count} regions, each with" in repr(regions)


def test_withheld_people_keep_no_set(tmp_path: Path) -> None:
    table = people()
    changed = table.with_columns(
        pl.when(pl.col("patient") < 5)
        .then(pl.when(pl.col("illness") == "flu").then(pl.lit("gout")).otherwise(pl.lit("flu")))
        .otherwise("illness")
        .alias("illness")
    )
    with ri.open(tmp_path / "clinic", policy(changed="withhold")) as series:
        series.publish(table)
        second = series.publish(changed)
        assert (second.summary["sets_drawn"], second.summary["sets_kept"]) == (0, 395)
        measured = series.utility(2)
    assert isinstance(measured, SetUtility)
    assert (measured.rows, measured.held_back) == (395, 5)


# In the record


def test_the_record_names_tables_of_values_and_does_not_repeat_them(tmp_path: Path) -> None:
    with ri.open(tmp_path / "clinic", policy(limit=None, limits={"flu": "2/3"}, epsilon=0.5, k=20)) as series:
        release = series.publish(people())
        record = json.loads((release.folder / "release.json").read_text())
    assert record["method"] == {
        "name": "Alternatives", "m": 3, "limits": "given", "reference": "given", "epsilon": 0.5, "k": 20,
    }  # fmt: skip
    design = record["design"]
    assert (design["slots"], design["values"], design["most_slots"]) == (3, 6, 2)
    assert design["largest_share"] == pytest.approx(0.25)
    mask = ri.Policy(SCHEMA, ri.Mondrian(k=5), series="unprotected")
    assert draft(people(), mask).manifest["method"] == mask.to_dict()["method"]


# What they cost


def test_design_effects_stand_beside_the_least_there_is(tmp_path: Path) -> None:
    with ri.open(tmp_path / "clinic", policy()) as series:
        series.publish(people())
        found = series.utility(1)
    assert isinstance(found, SetUtility)
    assert found.query_error is None
    assert (found.rows, found.held_back, found.m, found.distinct, found.others) == (400, 0, 3, 6, 0)
    value = found.values
    p, limit = value["share"].to_numpy(), value["slots"].to_numpy() / 3
    assert value["bound"].to_numpy() == pytest.approx((1 - p) / (limit - p))
    assert (value["design_effect"] >= value["bound"] * (1 - 1e-9)).all()
    error = np.sqrt(value["design_effect"].to_numpy() * p * (1 - p) / 1000)
    assert found.standard_error == pytest.approx((np.median(error), error.max()))
    assert json.dumps(found.to_dict())
    frame = found.frame()
    assert frame.columns == ["measure", "value", "meaning"]
    assert "no less than" in repr(found)


def test_people_with_rare_values_are_counted(tmp_path: Path) -> None:
    table = people(2_000).with_columns(
        pl.when(pl.col("patient") < 7).then(pl.lit("rare")).otherwise("illness").alias("illness")
    )
    rule = ri.Policy(SCHEMA, ri.Alternatives(m=3, epsilon=1.0, limit="2/3"))
    with ri.open(tmp_path / "clinic", rule) as series:
        series.publish(table, seed=1)
        measured = series.utility(1, workload=ri.Workload(1, 0.2, count=30, seed=1))
    assert isinstance(measured, SetUtility)
    assert measured.others == 7
    assert measured.query_error is not None


@pytest.mark.parametrize("k", [None, 25])
def test_queries_are_answered_as_one_by_one(tmp_path: Path, k: int | None) -> None:
    """The figures of a workload against `ri.estimate` and plain counting, query by query."""
    table = people(300)
    workload = ri.Workload(2, 0.2, count=20, seed=5)
    with ri.open(tmp_path / "clinic", policy(k=k)) as series:
        release = series.publish(table)
        measured = series.utility(1, workload=workload)
    assert isinstance(measured, SetUtility)
    error = measured.query_error
    assert error is not None
    age, sex, illness = columns_of(table)
    queries = Queries([age, sex], illness, workload)
    batch, expected = queries.draw(0), []
    for lane in range(LANES):
        first = 20 + int(batch.begin[0, lane])
        last = first + int(batch.width[0, lane]) - 1
        sexes = [label for at, label in enumerate(["f", "m"]) if batch.table[int(queries.bases[1]) + at, lane]]
        wanted = [label for at, label in enumerate(SHARES) if batch.table[int(queries.bases[2]) + at, lane]]
        here = table.filter(pl.col("age").is_between(first, last) & pl.col("sex").is_in(sexes))
        having = table.filter(pl.col("illness").is_in(wanted)).height
        actual = here.filter(pl.col("illness").is_in(wanted)).height
        if actual:
            estimated = ri.estimate(release, {"age": (first, last), "sex": sexes, "illness": wanted})
            expected.append((actual, estimated, here.height * having / table.height))
    expected = expected[:20]
    assert error.answered == 20
    assert error.queries["actual"].to_list() == [one for one, _, _ in expected]
    assert error.queries["estimated"].to_list() == pytest.approx([one for _, one, _ in expected])
    assert error.queries["no_link"].to_list() == pytest.approx([one for _, _, one in expected])
    errors = [abs(actual - estimated) / actual for actual, estimated, _ in expected]
    assert error.median == pytest.approx(float(np.median(errors)))
    assert "no link at all" in repr(error)
    assert "no link at all" in repr(measured)


def columns_of(table: pl.DataFrame) -> tuple[Column, Column, Column]:
    """The columns as the series codes them: ages from the lowest on, labels in alphabetical order."""
    low, high = int(table["age"].min()), int(table["age"].max())  # type: ignore[arg-type]
    assert (low, high) == (20, 59)
    ages = Numbers(np.arange(low, high + 1.0), pl.Int64(), False, float(low), float(high))
    codes = np.zeros(table.height, dtype=np.uint8)
    return (
        Column("age", codes, ages),
        Column("sex", codes, Labels(("f", "m"))),
        Column("illness", codes, Labels(tuple(SHARES))),
    )


def test_shares_of_regions_by_hand() -> None:
    """A third of a set, half of an interval, two of three leaves."""
    tree = ri.Hierarchy.from_nested({"*": {"north": ["aa", "ab", "ac"], "south": ["ba", "bb"]}})
    columns = [
        Column("age", np.array([0, 9, 4], dtype=np.uint8), Numbers(np.arange(10.0), pl.Int64(), False, 0.0, 9.0)),
        Column("sex", np.array([0, 1, 2], dtype=np.uint8), Labels(("d", "f", "m"))),
        Column("town", np.array([0, 2, 3], dtype=np.uint8), Leaves(tree)),
    ]
    value = Column("illness", np.zeros(3, dtype=np.uint8), Labels(("a", "b")))
    extents = Extents.of(columns, Grouping(np.array([0, 0, 1], dtype=np.int32), 2))
    queries = Queries(columns, value, ri.Workload(3, 0.3, seed=1))
    batch = queries.draw(0)
    shares = region_shares(RegionArrays.of(extents, queries.bases), batch)
    for lane in range(LANES):
        begin, width = int(batch.begin[0, lane]), int(batch.width[0, lane])
        sexes = batch.table[int(queries.bases[1]) :][:3, lane]
        towns = batch.table[int(queries.bases[2]) :][:5, lane]
        assert shares[0, lane] == pytest.approx(width / 10 * sexes[:2].sum() / 2 * towns[:3].sum() / 3)
        assert shares[1, lane] == (begin <= 4 < begin + width) * sexes[2] * towns[3]


def test_what_scores_cannot_answer_is_said(tmp_path: Path) -> None:
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="illness", permanent=["gout"]
    )
    rule = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, change=0.2))
    workload = ri.Workload(1, 0.2, count=10, seed=1)
    with ri.open(tmp_path / "clinic", rule) as series:
        series.publish(people())
        series.publish(people(), allow=["same-state"], reason="so it is here")
        first, second = series.utility(1, workload=workload), series.utility(2, workload=workload)
        with pytest.raises(ri.errors.ParameterError, match="weights"):
            series.utility(1, weights={"age": 1.0})
    assert isinstance(first, SetUtility)
    assert isinstance(second, SetUtility)
    assert first.query_error is not None
    assert second.query_error is None
    assert second.unanswered is not None
    assert "permanent" in second.frame()["meaning"][-1]
