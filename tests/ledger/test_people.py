"""The table of ids in its parts: who is in which, when parts are merged, and how an old table becomes a part."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from ledger_process import run_unprivileged
from ledger_story import copied, created, entry, finish, opened, state, unchain
from polars.testing import assert_frame_equal
from profiles import examples

from reissue.errors import InternalError, SeriesDamaged, SeriesError
from reissue.ledger import Ledger, catalog, verify
from reissue.ledger import people_parts as people
from reissue.ledger.people_parts import first_to_merge
from reissue.ledger.transactions import current_people


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def arrivals(first: int, ids: list[str | int]) -> pl.DataFrame:
    numbers = pl.Series("number", range(first, first + len(ids)), dtype=pl.UInt32)
    return pl.DataFrame([numbers, pl.Series("id", ids)])


def parts(ledger: Ledger) -> list[tuple[int, int]]:
    """The first number and the number of people of each part, from the files themselves."""
    found = []
    for part in ledger._database.read(current_people):
        table = pl.read_parquet(ledger._layout.blob(part.sha256))
        assert table["number"].to_list() == list(range(part.first, part.first + table.height))
        found.append((part.first, table.height))
    return found


@examples(5, HealthCheck.function_scoped_fixture)
@given(data=st.data(), many=st.integers(1, 5), large=st.integers(1, 12))
def test_a_long_story_of_coming_and_forgetting(
    data: st.DataObject, many: int, large: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Against a plain list of ids, with the sizes at which parts are merged made small."""
    folder = tmp_path_factory.mktemp("people") / "clinic"
    whole = data.draw(st.booleans(), label="whole numbers")
    expected: list[str | int | None] = []
    released = 0
    with pytest.MonkeyPatch.context() as patch, created(folder) as ledger:
        patch.setattr(people, "MANY", many)
        patch.setattr(people, "LARGE", large)
        for _ in range(data.draw(st.integers(1, 10), label="steps")):
            if expected and data.draw(st.booleans(), label="forget"):
                chosen = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=5), label="who")
                erased = {number for number in chosen if expected[number] is not None}
                assert ledger.forget(chosen) == len(erased)
                expected = [None if number in erased else person for number, person in enumerate(expected)]
            else:
                ids = [
                    n if whole else f"id {n}"
                    for n in range(len(expected), len(expected) + data.draw(st.integers(0, 6)))
                ]
                new = arrivals(len(expected), ids) if ids else None
                ledger.commit(replace(entry(1), people=new, private={}), parent=released)
                expected += ids
                released += 1
            assert ledger.people().rows() == list(enumerate(expected))
            assert ledger.ids().to_list() == expected
            assert ledger.next_number() == len(expected)
            found = parts(ledger)
            assert [first for first, _ in found] == [sum(size for _, size in found[:n]) for n in range(len(found))]
            small = [size for _, size in found if size < large]
            assert len(small) <= max(many, 1) + len(expected).bit_length()
    assert verify(folder) == []


def test_new_people_go_on_from_those_known(clinic: Path) -> None:
    with opened(clinic) as ledger:
        for first in (0, 79, 81):
            with pytest.raises(InternalError, match="not numbered on"):
                ledger.commit(replace(entry(3), people=arrivals(first, ["a", "b"])), parent=2)
        ledger.commit(replace(entry(3), people=arrivals(80, ["a", "b"])), parent=2)
        assert ledger.next_number() == 82
        assert parts(ledger) == [(0, 40), (40, 40), (80, 2)]


def test_what_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of parts with the new one at the end, and the first of those that become one."""
    monkeypatch.setattr(people, "MANY", 64)
    monkeypatch.setattr(people, "LARGE", 1 << 20)
    few = [100, 20, 20]
    assert first_to_merge(few) == 2
    assert first_to_merge([5] * 64) == 63
    assert first_to_merge([5] * 65) == 0
    assert first_to_merge([320, *[5] * 64]) == 1  # as large as the rest: it stays
    assert first_to_merge([319, *[5] * 64]) == 0
    assert first_to_merge([700, 320, *[5] * 63]) == 2
    assert first_to_merge([1 << 20, 1 << 30, *[5] * 63]) == 2  # large ones stay, whatever follows
    assert first_to_merge([1 << 30] * 70) == 69
    assert first_to_merge([(1 << 20) - 1, 1 << 30, *[5] * 63]) == 0


@pytest.mark.parametrize("arrive", [1, 20_000, 2_000_000])
def test_nobody_is_written_often_and_files_stay_few(arrive: int) -> None:
    """A thousand releases on sizes alone."""
    sizes, written = [10 * arrive], 10 * arrive
    for _ in range(1000):
        sizes.append(arrive)
        start = first_to_merge(sizes)
        merged = sum(sizes[start:])
        sizes[start:] = [merged]
        written += merged
        assert sum(size < people.LARGE for size in sizes) <= people.MANY
    total = sum(sizes)
    assert total == 1010 * arrive
    assert written <= 6 * total
    assert len(sizes) <= people.MANY + total / people.LARGE


def test_a_table_of_ids_from_before_there_were_parts(tmp_path: Path) -> None:
    """As the first version of the catalog left it: one row, one file, whoever came with which release."""
    folder = tmp_path / "clinic"
    with created(folder) as ledger:
        ledger.commit(entry(1), parent=0)
        ledger.forget([3])
        before = ledger.people()
    unchain(folder)
    connection = sqlite3.connect(folder / "private" / "catalog.sqlite")
    connection.execute("ALTER TABLE people RENAME COLUMN first_number TO place")
    connection.execute("UPDATE people SET place = 1")
    connection.execute("DELETE FROM migrations WHERE number > 1")
    connection.commit()
    connection.close()
    assert verify(folder) == []
    with pytest.raises(SeriesError, match="an old version"):
        opened(folder)
    finish(folder)
    with opened(folder) as ledger:
        assert ledger._database.read(catalog.version) == len(catalog.MIGRATIONS)
        assert_frame_equal(ledger.people(), before)
        assert ledger.next_number() == 40
        ledger.commit(entry(2), parent=1)
        assert parts(ledger) == [(0, 40), (40, 40)]
        ledger.forget([5, 41])
        forgotten = ledger.people().filter(pl.col("id").is_null())
        assert forgotten["number"].to_list() == [3, 5, 41]
    assert verify(folder) == []


def test_an_old_series_without_releases(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    created(folder).close()
    unchain(folder)
    connection = sqlite3.connect(folder / "private" / "catalog.sqlite")
    connection.execute("ALTER TABLE people RENAME COLUMN first_number TO place")
    connection.execute("DELETE FROM migrations WHERE number > 1")
    connection.commit()
    connection.close()
    finish(folder)
    with opened(folder) as ledger:
        assert ledger.next_number() == 0
        ledger.commit(entry(1), parent=0)
        assert parts(ledger) == [(0, 40)]


@pytest.mark.parametrize("use", [Ledger.people, Ledger.next_number], ids=["people", "next_number"])
def test_a_part_that_a_writer_replaces_meanwhile(clinic: Path, monkeypatch: pytest.MonkeyPatch, use: object) -> None:
    with opened(clinic) as reader, opened(clinic) as writer:
        plain = reader._database.read
        replaced = []

        def read(query: object) -> object:
            """The reader learns of the parts, and before it opens them one is replaced."""
            result = plain(query)  # type: ignore[arg-type]
            if query is current_people and not replaced:
                replaced.append(writer.forget([70]))
            return result

        monkeypatch.setattr(reader._database, "read", read)
        result = use(reader)  # type: ignore[operator]
        assert replaced == [1]
        assert result == 80 if isinstance(result, int) else result["id"].null_count() == 1


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_part_that_cannot_be_read_is_named(clinic: Path, damage: str) -> None:
    with opened(clinic) as ledger:
        (_, second) = ledger._database.read(current_people)
        path = ledger._layout.blob(second.sha256)
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-10])
        for use in (ledger.people, ledger.next_number, lambda: ledger.forget([50]), lambda: state(clinic)):
            with pytest.raises((SeriesDamaged, OSError), match=path.name):
                use()


FORBIDDEN = """
import sys
from pathlib import Path
from ledger_story import opened, state
from reissue.errors import SeriesDamaged
from reissue.ledger import Ledger

clinic, name = Path(sys.argv[1]), sys.argv[2]
with opened(clinic) as ledger:
    for use in (ledger.people, ledger.next_number, lambda: ledger.forget([50]), lambda: state(clinic)):
        try:
            use()
        except (SeriesDamaged, OSError) as error:
            assert name in str(error), error
        else:
            raise AssertionError("read what may not be read")
"""


def test_a_part_that_may_not_be_read_is_named(clinic: Path) -> None:
    with opened(clinic) as ledger:
        (_, second) = ledger._database.read(current_people)
        path = ledger._layout.blob(second.sha256)
    path.chmod(0)
    done = run_unprivileged(FORBIDDEN, clinic, path.name)
    assert done.returncode == 0, done.stderr
