"""Group histories against a plain dictionary that keeps everybody's groups for ever."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from reissue.errors import InternalError
from reissue.model.memory import KEPT, Kept, Memory, Remembered
from reissue.reasoning.history.group_histories import MADE_UP, GroupHistories

FIXED = {"groups", "histories", "memberships", "seen"}


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def resolved(remembered: Remembered, before: Memory) -> dict[str, pl.DataFrame]:
    return {name: before[name] if isinstance(table, Kept) else table for name, table in remembered.items()}


def lists(histories: GroupHistories, people: np.ndarray) -> list[list[int]]:
    starts, groups = histories.of(people)
    assert (starts[0], starts[-1], starts.size, groups.dtype) == (0, groups.size, people.size + 1, np.uint32)
    return [groups[begin:end].tolist() for begin, end in pairwise(starts.tolist())]


def agree(histories: GroupHistories, known: Mapping[int, list[int]], rng: np.random.Generator) -> None:
    everybody = [*range(11), 1_000_000, 999, *(person for person in known if person >= MADE_UP)]
    asked = rng.permutation(ints(*everybody, 3, 1))
    for people in (asked, np.sort(asked), np.unique(asked), np.sort(ints(*known)), ints()):
        wanted = [known.get(person, []) for person in people.tolist()]
        assert lists(histories, people) == wanted
        assert histories.times(people).tolist() == [len(groups) for groups in wanted]


releases = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 9) | st.just(1_000_000), st.integers(0, 3), max_size=8),
        st.sets(st.integers(0, 2), max_size=2),
        st.booleans(),
        st.integers(1, 3),
    ),
    max_size=24,
)


@examples(40)
@given(releases, st.integers(0, 1000))
def test_streams(stream: list[tuple[dict[int, int], set[int], bool, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    histories, known = GroupHistories.read({}, "own_"), dict[int, list[int]]()
    memory: dict[str, pl.DataFrame] = {"other": pl.DataFrame()}
    number, next_group, next_made = 0, 0, MADE_UP
    made: list[int] = []
    for people, staying, remember, later in stream:
        number += later
        # Some made-up members stay, one comes; whoever goes is forgotten.
        made = [member for at, member in enumerate(made) if at in staying] + [next_made]
        next_made += 1
        release = {**people, **dict.fromkeys(made, 3)}
        known = {person: groups for person, groups in known.items() if person < MADE_UP or person in made}
        for person, group in release.items():
            known.setdefault(person, []).append(next_group + group)
        order = rng.permutation(ints(*release))
        histories = histories.advance(number, order, ints(*(release[person] for person in order.tolist())), 4)
        next_group += 4
        assert (histories.number, histories.next_group) == (number, next_group)
        agree(histories, known, rng)
        if remember:
            tables = histories.tables()
            assert all(name.startswith("own_") for name in tables)
            memory = {"other": memory["other"], **resolved(tables, memory)}
            histories = GroupHistories.read(memory, "own_")
            agree(histories, known, rng)
    gone = [table for name, table in memory.items() if "left-" in name]
    assert len(gone) <= 7 * 2
    assert all((table["person"] < MADE_UP).all() and table.height for table in gone)


def told(*stream: list[int]) -> dict[str, pl.DataFrame]:
    """The memory after releases of one group with these people."""
    memory: dict[str, pl.DataFrame] = {}
    for number, people in enumerate(stream, start=1):
        histories = GroupHistories.read(memory).advance(number, ints(*people), ints(*(0 for _ in people)), 1)
        memory = resolved(histories.tables(), memory)
    return memory


def test_parts_are_read_only_for_those_who_return(watched: Any) -> None:
    # 0 left in 2, 1 in 3, 2 in 4. Number 5 was held back so far.
    memory = watched(told([0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 6], [3, 4, 6]))
    histories = GroupHistories.read(memory)
    assert set(memory.read) == FIXED
    once = len(memory.read)
    histories.advance(5, ints(3, 4, 5, 7), ints(0, 0, 0, 0), 1)
    histories.advance(5, ints(), ints(), 0)
    assert lists(histories, ints(5, 3, 900)) == [[], [0, 1, 2, 3], []]
    assert histories.tables()["left-000002"] is KEPT
    assert len(memory.read) == once
    # Newest first, and no further than needed.
    back = histories.advance(5, ints(1, 3), ints(0, 0), 1)
    assert memory.read[once:] == ["left-000004", "left-000003"]
    assert lists(back, ints(1)) == [[0, 1, 4]]
    assert histories.times(ints(2, 1)).tolist() == [3, 2]
    assert len(memory.read) == once + 2


def test_tables() -> None:
    histories = GroupHistories.read({}).advance(1, ints(7, 0, 1, MADE_UP + 5), ints(1, 0, 0, 1), 2)
    histories = histories.advance(12, ints(7, 1, 2), ints(2, 0, 2), 3)
    tables = resolved(histories.tables(), {})
    assert sorted(tables) == ["groups", "histories", "left-000012", "memberships", "seen"]
    assert tables["groups"].rows() == [(12, 5)]
    assert tables["histories"].rows() == [(1, 2), (2, 1), (7, 2)]
    assert tables["memberships"]["group"].to_list() == [0, 2, 4, 1, 4]
    assert tables["left-000012"].rows() == [(0, 0)]
    assert tables["seen"].rows() == [(0, 2), (7, 7), (MADE_UP + 5, MADE_UP + 5)]
    assert {dtype for table in tables.values() for dtype in table.dtypes} == {pl.UInt32()}


def test_only_what_changed_is_written() -> None:
    memory = told([0, 1], [1, 2])
    histories = GroupHistories.read(memory)
    assert all(table is KEPT for table in histories.tables().values())
    same = histories.advance(3, ints(2, 1), ints(0, 0), 1)
    assert {name for name, table in same.tables().items() if table is KEPT} == {"seen", "left-000002"}
    more = histories.advance(3, ints(9), ints(0), 1)
    assert {name for name, table in more.tables().items() if table is KEPT} == {"left-000002"}


def test_nobody_at_all() -> None:
    histories = GroupHistories.read({}).advance(1, ints(), ints(), 0)
    histories = GroupHistories.read(resolved(histories.tables(), {})).advance(2, ints(), ints(), 3)
    assert (histories.number, histories.next_group, histories.person.size) == (2, 3, 0)
    assert set(histories.tables()) == FIXED
    assert lists(histories, ints(0, 4)) == [[], []]


def test_mistakes_of_the_caller() -> None:
    histories = GroupHistories.read(told([0, 1, MADE_UP], [1]))
    for number, people, group, count, words in [
        (2, [1], [0], 1, "cannot go on"),
        (3, [1, 1], [0, 0], 1, "twice"),
        (3, [2, 1, 2], [0, 0, 0], 1, "twice"),
        (3, [-1], [0], 1, "out of range"),
        (3, [2**32], [0], 1, "out of range"),
        (3, [1], [1], 1, "does not exist"),
        (3, [1], [-1], 1, "does not exist"),
        (3, [1], [], 1, "differ in number"),
        (3, [1], [0], 2**32, "32 bits"),
        (3, [MADE_UP], [0], 1, "again"),
    ]:
        with pytest.raises(InternalError, match=words):
            histories.advance(number, ints(*people), ints(*group), count)
    lost = {name: table for name, table in told([0, 1], [1]).items() if not name.startswith("left-")}
    with pytest.raises(InternalError, match="1 person are not remembered"):
        GroupHistories.read(lost).of(ints(0))


def test_what_is_shown_names_nobody() -> None:
    histories = GroupHistories.read({}).advance(1, ints(77_777), ints(0), 1)
    assert "77,777" not in repr(histories) and "77777" not in repr(histories)


def test_many_parts_become_few() -> None:
    """A hundred releases, in each of which somebody leaves: a handful of parts, and nobody is forgotten."""
    memory: Mapping[str, pl.DataFrame] = {}
    for number in range(1, 101):
        here = np.arange(number, number + 3)
        histories = GroupHistories.read(memory).advance(number, here, ints(0, 0, 0), 1)
        memory = resolved(histories.tables(), memory)
        assert sum(name.startswith("left-") for name in memory) <= 7 * 3
    wanted = [list(range(max(person - 2, 1) - 1, person)) for person in range(1, 101)]
    assert lists(GroupHistories.read(memory), np.arange(1, 101)) == wanted
