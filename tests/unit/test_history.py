"""The history that a draft leaves is the one that the ledger gives back once it is committed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.model.domain import PERSON
from reissue.publishing.history import History
from reissue.tables.people import KnownPeople


def told(thing: Any) -> Any:
    """Everything in a history, in a form that can be compared: tables as rows, mappings as sorted pairs."""
    if isinstance(thing, pl.DataFrame):
        return thing.columns, sorted(thing.cast(pl.String, strict=False).rows(), key=repr)
    if isinstance(thing, KnownPeople):
        return thing.ids().to_list(), thing.count, sorted(thing.last.to_list())
    if is_dataclass(thing):
        return {field.name: told(getattr(thing, field.name)) for field in fields(thing)}
    if hasattr(thing, "items"):
        return {name: told(value) for name, value in sorted(thing.items())}
    return thing


def people(*numbers: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient": [f"p{n}" for n in numbers],
            "age": [20 + n * 7 % 60 for n in numbers],
            "diagnosis": [("flu", "asthma", "cancer", "HIV")[n * 5 % 4] for n in numbers],
        }
    )


VALUES = {"diagnosis": ri.Categorical(values=["flu", "asthma", "cancer", "HIV"])}
SCHEMA = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive=VALUES)
LASTING = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="diagnosis", permanent=["HIV"])
POLICIES = {
    "unprotected": ri.Policy(SCHEMA, ri.Mondrian(k=2), series="unprotected"),
    "counterfeits": ri.Policy(SCHEMA, ri.MInvariance(2)),
    "held back": ri.Policy(SCHEMA, ri.MInvariance(2, shortage="withhold")),
    "registered": ri.Policy(LASTING, ri.HDComposition(2, 2)),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_the_history_after_a_draft_is_the_one_read_back(folder: Path, policy: ri.Policy) -> None:
    with ri.open(folder, policy) as series:
        for number, who in enumerate([range(16), range(3, 18), [*range(17), 20, 21]], start=1):
            before = series._history()
            draft = series.draft(people(*who), seed=number)
            after = before.after(draft)
            assert after.number == number
            series.commit(draft)
            kept = series._history()
            assert kept.mark != before.mark
            assert told(replace(kept, mark="")) == told(after)


def test_adopted_releases_stay_in_the_history(folder: Path) -> None:
    released = pl.DataFrame(
        {"patient": ["p1", "p2", "p3", "p4"], "group": [1, 1, 2, 2], "diagnosis": ["flu", "asthma", "flu", "flu"]}
    )
    with ri.adopt(folder, ri.Policy(SCHEMA, ri.MInvariance(2)), [released]) as series:
        before = series._history()
        assert (before.adopted, before.method) == (1, "MInvariance")
        assert before.barred is not None and before.barred.height == 2
        draft = series.draft(people(1, 2, 3, 4, 5, 6, 7, 8), seed=1)
        series.commit(draft)
        assert told(replace(series._history(), mark="")) == told(before.after(draft))


def test_a_rehearsal_goes_on_from_nothing(chain: Any) -> None:
    series = chain(POLICIES["counterfeits"])
    assert series.ids.len() == 0
    assert told(series.history) == told(History())
    series.publish(people(*range(8)))
    series.publish(people(*range(4, 10)))
    assert sorted(series.ids.to_list()) == sorted(f"p{n}" for n in range(10))
    assert series.history.last.rows is not None
    assert series.history.last.rows[PERSON].len() == 6
