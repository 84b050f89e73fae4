"""Stays against a slow reference that keeps every stay of everybody in dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import InternalError, ParameterError
from reissue.model.memory import KEPT, Kept, Memory, Remembered
from reissue.reasoning.history.stays import Stays

POOL = [("flu", "cancer"), ("ulcer", "flu", "cancer"), ("ulcer", "flu"), ("measles",), ("cancer", None)]
"""Signatures, as someone would hand them in."""

Release = dict[int, int]
"""Who is published with which signature of the pool."""


@dataclass
class Stay:
    signature: frozenset[object]
    came: int
    left: int | None = None


@dataclass
class Reference:
    stays: dict[int, list[Stay]] = field(default_factory=dict)

    def advance(self, number: int, release: Mapping[int, frozenset[object]]) -> dict[str, set[object]]:
        """What happened: everything as plain tuples."""
        happened: dict[str, set[object]] = {"stayed": set(), "left": set(), "entered": set(), "returned": set()}
        for person, stays in self.stays.items():
            last = stays[-1]
            if last.left is None and release.get(person) != last.signature:
                last.left = number
                happened["left"].add((person, last.signature, last.came, len(stays) > 1))
        for person, signature in release.items():
            stays = self.stays.setdefault(person, [])
            if stays and stays[-1].left is None:
                happened["stayed"].add(person)
                continue
            happened["entered"].add((person, signature))
            if stays:
                last = stays[-1]
                happened["returned"].add((person, signature, last.signature, last.came, last.left, len(stays) > 1))
            stays.append(Stay(signature, number))
        return happened

    def living(self) -> list[tuple[int, frozenset[object], int, bool]]:
        present = [(p, stays) for p, stays in sorted(self.stays.items()) if stays[-1].left is None]
        return [(p, stays[-1].signature, stays[-1].came, len(stays) > 1) for p, stays in present]


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def resolved(remembered: Remembered, before: Memory) -> dict[str, pl.DataFrame]:
    return {name: before[name] if isinstance(table, Kept) else table for name, table in remembered.items()}


def sets_of(stays: Stays, ids: np.ndarray) -> list[frozenset[object]]:
    return [frozenset(stays.signatures[at]) for at in ids.tolist()]


def go_on(stays: Stays, number: int, release: Release, rng: np.random.Generator) -> tuple[Stays, object]:
    """Hand a release in, people and values in any order."""
    used = sorted(set(release.values()))
    stays, ids = stays.signature_ids([tuple(rng.permutation(np.array(POOL[at], dtype=object))) for at in used])
    people = rng.permutation(ints(*release))
    place = ints(*(used.index(release[person]) for person in people.tolist()))
    return stays.advance(number, people, ids[place])


def agree(stays: Stays, reference: Reference) -> None:
    living = list(
        zip(
            stays.person.tolist(),
            sets_of(stays, stays.signature),
            stays.came.tolist(),
            stays.again.tolist(),
            strict=True,
        )
    )
    assert living == reference.living()
    asked = ints(9, 3, 0, 7, 12, 1, 2, 5, 4, 6, 8, 3, 1_000_000)
    for person, known in zip(asked.tolist(), stays.known(asked).tolist(), strict=True):
        had = reference.stays.get(person)
        assert (frozenset(stays.signatures[known]) if known >= 0 else None) == (had[-1].signature if had else None)
    gone = ints(*(p for p, had in reference.stays.items() if had[-1].left is not None))
    last = stays.last_stays(gone)
    found = list(
        zip(sets_of(stays, last.signature), last.came.tolist(), last.left.tolist(), last.again.tolist(), strict=True)
    )
    expected = [(had[-1].signature, had[-1].came, had[-1].left, len(had) > 1) for had in map(reference.stays.get, gone)]
    assert found == expected


releases = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 9) | st.just(1_000_000), st.integers(0, len(POOL) - 1), max_size=8),
        st.booleans(),
        st.integers(1, 3),
    ),
    max_size=14,
)


@examples(40)
@given(releases, st.integers(0, 1000))
def test_streams(stream: list[tuple[Release, bool, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    stays, reference = Stays.read({}), Reference()
    memory: dict[str, pl.DataFrame] = {}
    number = 0
    for release, remember, later in stream:
        number += later
        happened = reference.advance(number, {p: frozenset(POOL[at]) for p, at in release.items()})
        before = stays
        stays, step = go_on(stays, number, release, rng)
        assert stays.signatures[: len(before.signatures)] == before.signatures
        assert stays.number == step.number == number
        assert set(step.stayed.tolist()) == happened["stayed"]
        left, back = step.left, step.returned
        assert (
            set(
                zip(
                    left.person.tolist(),
                    sets_of(stays, left.signature),
                    left.came.tolist(),
                    left.again.tolist(),
                    strict=True,
                )
            )
            == happened["left"]
        )
        entered = zip(step.entered.person.tolist(), sets_of(stays, step.entered.signature), strict=True)
        assert set(entered) == happened["entered"]
        assert (
            set(
                zip(
                    back.person.tolist(),
                    sets_of(stays, back.signature),
                    sets_of(stays, back.last.signature),
                    back.last.came.tolist(),
                    back.last.left.tolist(),
                    back.last.again.tolist(),
                    strict=True,
                )
            )
            == happened["returned"]
        )
        for people in (step.stayed, left.person, step.entered.person, back.person):
            assert (np.diff(people) > 0).all()
        agree(stays, reference)
        if remember:
            memory = resolved(stays.tables(), memory)
            stays = Stays.read(memory)
            agree(stays, reference)
    over = {
        (person, stay.signature, stay.came, stay.left, at > 0)
        for person, had in reference.stays.items()
        for at, stay in enumerate(had)
        if stay.left is not None
    }
    # Of people who are in several parts that were put together only the last stay is kept.
    kept = gone_rows(resolved(stays.tables(), memory), stays)
    last = {max((stay for stay in over if stay[0] == person), key=lambda stay: stay[3]) for person, *_ in over}
    assert last <= kept <= over


def gone_rows(tables: Mapping[str, pl.DataFrame], stays: Stays) -> set[object]:
    rows = set()
    for name, table in tables.items():
        if name.startswith("gone-"):
            assert table.height > 0
            assert table["person"].is_sorted()
            number = int(name.removeprefix("gone-").split("-")[0])
            left = table["left"].to_list() if "left" in table.columns else [number] * table.height
            columns = table.select("person", "signature", "came", "again").rows()
            rows |= {
                (p, frozenset(stays.signatures[s]), came, over, again)
                for (p, s, came, again), over in zip(columns, left, strict=True)
            }
    return rows


def told(*stream: list[int]) -> dict[str, pl.DataFrame]:
    """The memory after releases with these people, all of one signature."""
    memory: dict[str, pl.DataFrame] = {}
    for number, people in enumerate(stream, start=1):
        stays, ids = Stays.read(memory).signature_ids([("a", "b")])
        stays, _ = stays.advance(number, ints(*people), np.repeat(ids, len(people)))
        memory = resolved(stays.tables(), memory)
    return memory


FIXED = {"release", "signatures", "living", "ever"}


def test_parts_are_read_only_for_those_who_return(watched: Any) -> None:
    # 0 left in 2, 1 in 3, 2 in 4. Number 5 was held back so far.
    memory = watched(told([0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 6], [3, 4, 6]))
    stays = Stays.read(memory)
    assert set(memory.read) == FIXED and len(memory.read) == 4
    stays.advance(5, ints(3, 4, 5, 7), ints(0, 0, 0, 0))
    stays.advance(5, ints(), ints())
    assert stays.known(ints(5, 3, 900)).tolist() == [-1, 0, -1]
    assert stays.tables()["gone-000002"] is KEPT
    assert len(memory.read) == 4
    # Newest first, and no further than needed.
    _, step = stays.advance(5, ints(1, 3), ints(0, 0))
    assert memory.read[4:] == ["gone-000004", "gone-000003"]
    assert (step.returned.person.tolist(), step.returned.last.left.tolist()) == ([1], [3])
    stays.known(ints(2, 1))
    assert len(memory.read) == 6


def test_only_what_changed_is_written() -> None:
    memory = told([0, 1], [1, 2])
    stays = Stays.read(memory)
    assert all(table is KEPT for table in stays.tables().values())
    same, _ = stays.advance(3, ints(2, 1), ints(0, 0))
    written = {name for name, table in same.tables().items() if table is not KEPT}
    assert written == {"release"}
    gone, _ = stays.advance(3, ints(2), ints(0))
    written = {name for name, table in gone.tables().items() if table is not KEPT}
    assert written == {"release", "living", "gone-000003"}
    more, ids = gone.signature_ids([("b", "c"), ("b", "a"), ("c", "b")])
    assert ids.tolist() == [1, 0, 1]
    assert more.signatures == (("a", "b"), ("b", "c"))
    assert gone.signatures == (("a", "b"),)
    assert more.tables()["signatures"] is not KEPT
    entered, _ = stays.advance(3, ints(1, 2, 9), ints(0, 0, 0))
    written = {name for name, table in entered.tables().items() if table is not KEPT}
    assert written == {"release", "living", "ever"}


def test_tables() -> None:
    stays, ids = Stays.read({}).signature_ids([("b", "a"), ("c",)])
    stays, _ = stays.advance(1, ints(7, 0, 1, 2), ids[[1, 0, 0, 0]])
    stays, _ = stays.advance(12, ints(1, 2, 7), ids[[0, 1, 1]])
    tables = {name: table for name, table in stays.tables().items() if isinstance(table, pl.DataFrame)}
    assert sorted(tables) == ["ever", "gone-000012", "living", "release", "signatures"]
    assert tables["release"].rows() == [(12,)]
    assert tables["signatures"].rows() == [(0, 0, "a"), (0, 1, "b"), (1, 0, "c")]
    assert tables["living"].rows() == [(1, 0, 1, False), (2, 1, 12, True), (7, 1, 1, False)]
    assert tables["gone-000012"].rows() == [(0, 0, 1, False), (2, 0, 1, False)]
    assert tables["ever"].rows() == [(0, 2), (7, 7)]
    for name, table in tables.items():
        for column, dtype in table.schema.items():
            other = {"value": pl.String, "again": pl.Boolean}
            assert dtype == other.get(column, pl.UInt32), (name, column)


def test_numbers_are_remembered_as_floats_and_missing_ones_as_null() -> None:
    stays, ids = Stays.read({}).signature_ids([(3, -1.5, float("nan")), (None, np.int64(3), -1.5), (0.0,), (-0.0,)])
    assert ids.tolist() == [0, 0, 1, 1]
    assert stays.signatures == ((None, -1.5, 3.0), (0.0,))
    table = stays.tables()["signatures"]
    assert isinstance(table, pl.DataFrame)
    assert table["value"].dtype == pl.Float64
    again = Stays.read(resolved(stays.tables(), {}))
    assert again.signatures == stays.signatures
    assert again.signature_ids([(3.0, None, -1.5)])[1].tolist() == [0]


def test_nobody_at_all() -> None:
    stays, step = Stays.read({}).advance(1, ints(), ints())
    stays, _ = Stays.read(resolved(stays.tables(), {})).advance(2, ints(), ints())
    assert (stays.number, stays.person.size, stays.signatures, step.stayed.size) == (2, 0, (), 0)
    assert set(stays.tables()) == FIXED
    assert stays.known(ints(0, 4)).tolist() == [-1, -1]
    assert stays.known(ints()).size == 0


def test_values_of_two_kinds_are_refused() -> None:
    for sets in ([("a",), (1.0,)], [("a", 1)]):
        with pytest.raises(ParameterError, match="both labels and numbers"):
            Stays.read({}).signature_ids(sets)
    with pytest.raises(ParameterError, match="Got a bool"):
        Stays.read({}).signature_ids([(True, False)])
    with pytest.raises(ParameterError, match="tell apart"):
        Stays.read({}).signature_ids([(2**53, 2**53 + 1)])


def test_mistakes_of_the_caller() -> None:
    stays = Stays.read(told([0, 1], [1]))
    for number, people, signature in [
        (2, [1], [0]),
        (3, [1, 1], [0, 0]),
        (3, [-1], [0]),
        (3, [2**32], [0]),
        (3, [1], [1]),
        (3, [1], []),
    ]:
        with pytest.raises(InternalError):
            stays.advance(number, ints(*people), ints(*signature))
    for people in ([1], [5], [0, 1]):
        with pytest.raises(InternalError, match="not gone"):
            stays.last_stays(ints(*people))
    with pytest.raises(InternalError, match="without values"):
        stays.signature_ids([()])
    lost = {name: table for name, table in told([0, 1], [1]).items() if not name.startswith("gone-")}
    with pytest.raises(InternalError, match="1 person are not remembered"):
        Stays.read(lost).known(ints(0))


def test_what_is_shown_names_nobody() -> None:
    stays, ids = Stays.read({}).signature_ids([("SECRET",)])
    stays, step = stays.advance(1, ints(77_777), ids)
    shown = repr(stays) + repr(step)
    assert "SECRET" not in shown and "777" not in shown.replace(",", "")


def test_many_parts_become_few() -> None:
    """A hundred releases, in each of which somebody leaves: a handful of parts, and nobody is forgotten."""
    memory: Mapping[str, pl.DataFrame] = {}
    for number in range(1, 101):
        stays, ids = Stays.read(memory).signature_ids([("a", "b")])
        here = np.arange(number, number + 3)
        stays, _ = stays.advance(number, here, np.full(3, ids[0]))
        memory = resolved(stays.tables(), memory)
        assert sum(name.startswith("gone-") for name in memory) <= 7 * 3
    stays = Stays.read(memory)
    last = stays.last_stays(np.arange(1, 100))
    assert last.left.tolist() == list(range(2, 101))
    assert last.came.tolist() == [max(1, person - 2) for person in range(1, 100)]
