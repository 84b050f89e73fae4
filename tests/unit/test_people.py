"""Known people: ids to numbers, against a dictionary; and a series with many releases of people coming and going."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.errors import TableError
from reissue.kernels.sieve import sieve
from reissue.ledger import Ledger
from reissue.ledger import people_parts as people
from reissue.model.domain import PERSON
from reissue.tables.people import KnownPeople


@given(data=st.data(), whole=st.booleans())
def test_numbers_against_a_dictionary(data: st.DataObject, whole: bool) -> None:
    everyone = data.draw(st.lists(st.integers(0, 60), unique=True, max_size=40), label="everyone")
    forgotten = data.draw(st.sets(st.sampled_from(everyone)) if everyone else st.just(set()), label="forgotten")
    last = data.draw(st.sets(st.integers(0, len(everyone) - 1)) if everyone else st.just(set()), label="last")
    table = data.draw(st.lists(st.integers(0, 60), unique=True, min_size=1, max_size=60), label="table")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(everyone)), max_size=5), label="cuts"))
    later = data.draw(st.lists(st.integers(0, 60), max_size=3), label="came after the history was read")

    gap = data.draw(st.sampled_from([1, -1, 3, 1000, 2**57]), label="gap")

    def spelt(ids: list[int | None]) -> pl.Series:
        series = pl.Series("id", ids, dtype=pl.Int64) * gap - 5
        return series if whole else "person number " + series.cast(pl.String)

    kept = [None if person in forgotten else person for person in everyone]
    bounds = [0, *cuts, len(everyone)]
    pieces = [spelt(kept[low:high]) for low, high in pairwise(bounds)]
    ids = pl.concat([*pieces, spelt(later)], rechunk=False)
    known = KnownPeople(lambda: ids, len(everyone), pl.Series(sorted(last, reverse=True), dtype=pl.UInt32))
    expected = {person: number for number, person in enumerate(kept) if person is not None}
    assert known.numbers(spelt(table)).tolist() == [expected.get(person, -1) for person in table]


@pytest.mark.parametrize("bits", [10, 16, 22])
def test_the_sieve_holds_nobody_back_and_most_others(bits: int) -> None:
    rng = np.random.default_rng(7)
    numbers = rng.integers(0, 2**64, size=100_000, dtype=np.uint64)
    numbers[:1000] = np.arange(1000)  # ids are often counted
    sought = np.concatenate([numbers[::977], np.array([0, 999, 2**64 - 1], dtype=np.uint64)])
    passed = sieve(numbers, sought, bits)
    assert np.all(np.diff(passed.astype(np.int64)) > 0)
    wanted = np.flatnonzero(np.isin(numbers, sought))
    assert set(wanted) <= set(passed)
    # Each number sought takes one place of 2^bits; others get through by chance.
    chance = sought.size / 2**bits
    assert passed.size - wanted.size <= 100_000 * chance * 1.2 + 20


def test_ids_are_not_read_for_a_table_that_does_not_fit(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        monkeypatch.setattr(Ledger, "ids", lambda _: pytest.fail("the ids were read"))
        with pytest.raises(TableError, match="more than one row"):
            series.draft(pl.concat([patients, patients.head(1)]))


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "text"])
def test_many_releases_of_people_coming_and_going(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everyone keeps the first number he got, and numbers have no gaps, while files are merged again and again."""
    monkeypatch.setattr(people, "MANY", 3)
    rng = np.random.default_rng(5)
    numbers: dict[object, int] = {}
    with ri.open(folder, policy) as series:
        for release in range(1, 16):
            # People return after they were gone: 24 of 60, others each time.
            chosen = pl.Series("patient", rng.choice(60, size=24, replace=False), dtype=pl.Int64)
            table = patients.with_columns(chosen if whole else ("patient " + chosen.cast(pl.String)).alias("patient"))
            series.publish(table, allow=["newcomers-leavers"], reason="so it is here")
            rows = series._ledger.table(release, "snapshot")
            found = dict(series._ledger.people().select("id", "number").rows())
            assert sorted(found.values()) == list(range(len(found)))
            assert set(found) == set(numbers) | set(table["patient"])
            assert {person: found[person] for person in numbers} == numbers
            assert sorted(rows[PERSON]) == sorted(found[person] for person in table["patient"])
            assert sorted(series.private.members(release)["person"]) == sorted(table["patient"])
            numbers = found
        assert len(numbers) == 60
        gone = table["patient"][0]
        series.forget(gone)
        series.publish(table)
        again = dict(series._ledger.people().select("id", "number").rows())
        assert again[gone] == 60
        assert {person: number for person, number in again.items() if person not in (gone, None)} == {
            person: number for person, number in numbers.items() if person != gone
        }
        assert series.verify() == []
