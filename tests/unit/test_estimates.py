"""Estimated counts from published tables, by hand and against the truth."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.publishing.series import draft
from reissue.samples.census import census, census_hierarchies
from reissue.tables.recode import set_labels, set_text

GENERALISED = pl.DataFrame(
    {
        "group": [1, 1, 1, 2, 2],
        "age_low": [20, 20, 20, 40, 40],
        "age_high": [29, 29, 29, 40, 40],
        "weight_low": [50.0, 50.0, 50.0, 70.0, 70.0],
        "weight_high": [60.0, 60.0, 60.0, 70.0, 70.0],
        "sex": ["{female,male}", "{female,male}", "{female,male}", "male", "male"],
        "town": ["north", "north", "north", "*", "*"],
        "ward": ["A", "A", "A", "B", "B"],
        "illness": ["flu", "flu", "cold", "flu", "cold"],
    }
)
TOWNS = ri.Hierarchy.from_nested({"*": {"north": ["aa", "ab"], "south": ["ba", "bb", "bc"]}})


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, 5),
        ({"illness": "flu"}, 3),
        ({"illness": ["flu", "cold"]}, 5),
        ({"age": (20, 24)}, 3 * 5 / 10),
        ({"age": (25, 40)}, 3 * 5 / 10 + 2),
        ({"age": 40}, 2),
        ({"age": (24.5, 26.9)}, 3 * 2 / 10),
        ({"age": (90, 99)}, 0),
        ({"weight": (55, 70)}, 3 * 0.5 + 2),
        ({"weight": (61, 69)}, 0),
        ({"sex": "female"}, 1.5),
        ({"sex": ["female", "male"]}, 5),
        ({"town": "aa"}, 3 * 0.5 + 2 / 5),
        ({"town": ["ba", "bb", "bc"]}, 2 * 3 / 5),
        ({"ward": "B", "illness": "cold"}, 1),
        ({"age": (20, 24), "sex": "male", "illness": "flu"}, 2 * 0.5 * 0.5),
    ],
)
def test_generalised_counts_by_hand(where: dict[str, object], expected: float) -> None:
    assert ri.estimate({"table": GENERALISED}, where, hierarchies={"town": TOWNS}) == pytest.approx(expected)


def test_dates_count_by_days() -> None:
    day = datetime.date(2024, 1, 1)
    table = pl.DataFrame(
        {"group": [1, 1], "born_low": [day, day], "born_high": [day + datetime.timedelta(9)] * 2, "illness": ["a", "b"]}
    )
    five = (day, day + datetime.timedelta(4))
    assert ri.estimate({"table": table}, {"born": five}) == pytest.approx(1.0)
    assert ri.estimate({"table": table}, {"born": five, "illness": "a"}) == pytest.approx(0.5)


def test_anatomised_counts_by_hand() -> None:
    quasi = pl.DataFrame({"group": [1, 1, 1, 2, 2], "age": [20, 21, 30, 40, None], "sex": ["f", "m", "f", "m", "m"]})
    sensitive = pl.DataFrame({"group": [1, 1, 2], "illness": ["flu", "cold", "flu"], "count": [2, 1, 2]})
    tables = {"quasi": quasi, "sensitive": sensitive}
    assert ri.estimate(tables, {"age": (20, 29)}) == pytest.approx(2)
    assert ri.estimate(tables, {"age": (20, 29), "illness": "flu"}) == pytest.approx(2 * 2 / 3)
    assert ri.estimate(tables, {"sex": "m", "illness": ["flu", "cold"]}) == pytest.approx(3)
    assert ri.estimate(tables, {"sex": "m", "illness": "cold"}) == pytest.approx(1 / 3)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_estimates_from_public_tables_come_near_the_truth(form: str) -> None:
    """An analyst without access to anything private is not far off, and never loses a person."""
    table = census(4000, seed=3)
    hierarchies = {name: ri.Hierarchy.from_nested(nested) for name, nested in census_hierarchies().items()}
    schema = ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(), "gender": ri.Categorical(), **hierarchies},
        sensitive="occupation",
    )
    made = draft(table, ri.Policy(schema, ri.Mondrian(k=10, l=4), form=form))  # type: ignore[arg-type]
    errors = []
    rng = np.random.default_rng(0)
    for _ in range(40):
        low = int(rng.integers(15, 70))
        jobs = rng.choice(table["occupation"].unique().sort().to_list(), 15, replace=False).tolist()
        where = {"age": (low, low + 20), "gender": "female", "occupation": jobs}
        actual = table.filter(
            pl.col("age").is_between(low, low + 20), pl.col("gender") == "female", pl.col("occupation").is_in(jobs)
        ).height
        errors.append(abs(ri.estimate(made.tables, where, hierarchies=hierarchies) - actual) / max(actual, 1))
    assert float(np.median(errors)) < 0.25
    whole = ri.estimate(made.tables, {"occupation": table["occupation"].unique().to_list()}, hierarchies=hierarchies)
    assert whole == pytest.approx(4000)


def test_a_hierarchy_that_is_needed_is_asked_for(tmp_path: Path) -> None:
    """Counting leaves hidden behind a label as zero would be a silent mistake."""
    labels = ["aa", "ab", "ba", "bb", "bc", "aa"]
    table = pl.DataFrame({"who": range(6), "town": labels, "illness": ["flu", "cold"] * 3})
    schema = ri.Schema(person="who", quasi={"town": TOWNS}, sensitive="illness")
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Mondrian(k=6))) as series:
        release = series.publish(table)
    with pytest.raises(ri.errors.ParameterError, match="generalised along a hierarchy"):
        ri.estimate(release, {"town": "aa"})
    with pytest.raises(ri.errors.ParameterError, match="stand nowhere in it"):
        ri.estimate(release.tables, {"town": "aa"})
    assert ri.estimate(release, {"town": "aa"}, hierarchies={"town": TOWNS}) == pytest.approx(6 / 5)
    assert ri.estimate(release, {"illness": "flu"}) == pytest.approx(3)


def test_wrong_questions() -> None:
    with pytest.raises(ri.errors.ParameterError, match="no published column 'agee'"):
        ri.estimate({"table": GENERALISED}, {"agee": 3})
    with pytest.raises(ri.errors.ParameterError, match="must hold 'table'"):
        ri.estimate({"quasi": GENERALISED}, {})
    with pytest.raises(ri.errors.ParameterError, match="column of numbers"):
        ri.estimate({"table": GENERALISED}, {"age": "old"})


@pytest.mark.parametrize(
    "labels",
    [
        ["a"],
        ["a", "b"],
        ["a,b", "c"],
        ['say "x"', "y"],
        ["{z}"],
        ["{", "}"],
        ["", "a"],
        [" pad ", "b"],
        ['"'],
        ["a,b"],
        ['"q'],
    ],
)
def test_published_sets_can_be_read_back(labels: list[str]) -> None:
    assert set_labels(set_text(labels)) == labels
