"""Tables in which a row is an event: which row stands for a person, and what becomes of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError, PolicyError, TableError
from reissue.tables.one_event import one_event_each
from tests.real_data import FOLDER, needs

STAYS = pl.DataFrame(
    {
        "patient": ["a", "b", "a", "c", "b", "a"],
        "day": ["2026-03-09", "2026-03-01", "2026-03-10", "2026-03-05", "2026-02-28", "2026-01-31"],
        "age": [30, 40, 31, 50, 40, 29],
        "illness": ["flu", "gout", "acne", "flu", "acne", "cough"],
    }
)


def schema(events: ri.Events | None = None, **more: Any) -> ri.Schema:
    return ri.Schema("patient", {"age": ri.Numeric()}, {"illness": ri.Categorical(new="accept")}, events=events, **more)


@pytest.mark.parametrize(
    ("keep", "illnesses"),
    [("last", {"a": "acne", "b": "gout", "c": "flu"}), ("first", {"a": "cough", "b": "acne", "c": "flu"})],
)
def test_the_last_or_the_first_by_hand(keep: Any, illnesses: dict[str, str]) -> None:
    kept, others = one_event_each(STAYS, schema(ri.Events("day", keep)))
    assert dict(kept.select("patient", "illness").iter_rows()) == illnesses
    assert others == 3


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_rows_does_not_matter_and_loops_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = 60
    table = pl.DataFrame(
        {
            "patient": rng.integers(0, 15, rows),
            "day": rng.integers(0, 4, rows),  # so many events are at the same time
            "age": rng.integers(0, 3, rows),
            "illness": rng.choice(["flu", "gout", "acne"], rows),
        }
    )
    for keep in ("last", "first"):
        asked = schema(ri.Events("day", keep))
        kept, others = one_event_each(table, asked)
        shuffled, _ = one_event_each(table.sample(fraction=1, shuffle=True, seed=seed), asked)
        assert kept.sort("patient").equals(shuffled.sort("patient"))
        assert kept.height + others == rows
        expected = {}
        for person, day, age, illness in table.iter_rows():
            rank = (day if keep == "first" else -day, str(person), str(day), str(age), illness)
            expected[person] = min(expected.get(person, rank), rank)
        assert {person: (day, str(age), illness) for person, day, age, illness in kept.iter_rows()} == {
            person: (abs(rank[0]), rank[3], rank[4]) for person, rank in expected.items()
        }


@pytest.mark.parametrize(
    ("days", "last"),
    [
        (["9", "10", "8"], 1),  # texts of numbers are not compared letter by letter
        (["2026-03-31 09:00", "2026-03-31 10:00", "2026-03-31 08:59"], 1),
        (["2026-03-31T09:00:00", "2026-03-31T09:00:00.5", "2025-12-31T23:59:59"], 1),
        ([1.5, 2.5, 0.0], 1),
        (pl.Series(["2026-01-01", "2026-01-03", "2026-01-02"]).str.to_date(), 1),
    ],
)
def test_dates_times_and_numbers_have_an_order(days: Any, last: int) -> None:
    table = pl.DataFrame({"patient": [1, 1, 1], "day": days, "age": [1, 2, 3], "illness": ["x", "y", "z"]})
    kept, others = one_event_each(table, schema(ri.Events("day")))
    assert (kept["age"].to_list(), others) == ([last + 1], 2)


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (["March", "April", "May"], "neither dates and times nor numbers"),
        (["31.03.2026", "01.04.2026", "02.04.2026"], "neither dates and times nor numbers"),
        (["2026-03-31", None, "2026-04-01"], "empty in 1 row"),
    ],
)
def test_what_has_no_order_is_refused_without_a_cell_in_words(days: list[str | None], said: str) -> None:
    table = pl.DataFrame({"patient": [1, 1, 2], "day": days, "age": [1, 2, 3], "illness": ["x", "y", "z"]})
    with pytest.raises(TableError, match=said) as caught:
        one_event_each(table, schema(ri.Events("day")))
    assert not any(str(day) in str(caught.value) for day in days if day and not day.startswith("2026"))


def test_a_column_that_is_not_there_is_named_with_near_ones() -> None:
    with pytest.raises(TableError, match=r"no column 'days'.*near: 'day'"):
        one_event_each(STAYS, schema(ri.Events("days")))


def test_people_without_an_id_are_complained_of_and_not_put_together() -> None:
    table = STAYS.with_columns(pl.when(pl.col("patient") == "c").then(None).otherwise("patient").alias("patient"))
    table = pl.concat([table, table.filter(pl.col("patient").is_null())])
    with pytest.raises(TableError, match="empty in 2 rows"):
        ri.preview("nowhere", table, ri.Policy(schema(ri.Events("day")), ri.Mondrian(k=2)))


def test_without_it_the_error_says_what_can_be_done() -> None:
    with pytest.raises(TableError, match="'events' of the schema"):
        ri.preview("nowhere", STAYS, ri.Policy(schema(drop=["day"]), ri.Mondrian(k=2)))


def test_a_series_of_events(tmp_path: Path) -> None:
    policy = ri.Policy(schema(ri.Events("day")), ri.Mondrian(k=2))
    assert ri.Policy.from_toml(policy.to_toml()) == policy
    STAYS.write_csv(tmp_path / "march.csv")
    made = ri.preview(tmp_path / "clinic", tmp_path / "march.csv", policy)
    assert any("3 of 6 rows are events of people whose last one is published instead" in note for note in made.notes)
    release = ri.publish(tmp_path / "clinic", tmp_path / "march.csv", policy)
    table = release.tables["table"]
    assert table.height == 3 and "day" not in table.columns
    assert sorted(table["illness"]) == ["acne", "flu", "gout"]


def test_wrong_events() -> None:
    with pytest.raises(ParameterError, match="'keep'"):
        ri.Events("day", "newest")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'order'"):
        ri.Events("")
    with pytest.raises(PolicyError, match="does not order events"):
        schema(ri.Events("patient"))
    with pytest.raises(PolicyError, match="'events' must say"):
        schema("day")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="takes all events"):
        ri.Policy(schema(ri.Events("day"), permanent=["gout"]), ri.HDComposition(l=2))
    text = ri.Policy(schema(ri.Events("day")), ri.Mondrian(k=2)).to_toml()
    with pytest.raises(PolicyError, match="needs order"):
        ri.Policy.from_toml(text.replace('order = "day"\n', ""))


def test_events_in_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    stays = pl.DataFrame(
        {
            "encounter_id": np.arange(3_000),
            "patient_nbr": rng.integers(0, 2_000, 3_000),
            "gender": rng.choice(["Female", "Male"], 3_000),
            "readmitted": rng.choice(["NO", ">30", "<30"], 3_000),
        }
    )
    _published(stays, tmp_path)


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_events_in_small")
def test_encounters_of_real_patients(tmp_path: Path) -> None:
    columns = ["encounter_id", "patient_nbr", "gender", "readmitted"]
    _published(pl.read_csv(FOLDER / "diabetes130/diabetic_data.csv.gz", columns=columns), tmp_path)


def _published(stays: pl.DataFrame, folder: Path) -> None:
    asked = ri.Schema(
        "patient_nbr",
        {"gender": ri.Categorical()},
        {"readmitted": ri.Categorical()},
        events=ri.Events("encounter_id"),
    )
    release = ri.publish(
        folder / "series", stays, ri.Policy(asked, ri.Mondrian(k=5)), allow=["few-groups"], reason="so it is here"
    )
    last = stays.sort("encounter_id").unique("patient_nbr", keep="last")
    table = release.tables["table"]
    assert table.height == stays["patient_nbr"].n_unique()
    assert dict(table["readmitted"].value_counts().iter_rows()) == dict(last["readmitted"].value_counts().iter_rows())
