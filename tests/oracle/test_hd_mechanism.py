"""HD-composition against somebody who knows the program: secrets are drawn, and what is published is told apart.

One person has the permanent value, each as likely as the others. Whoever sees only groups and how often the value is in
each learns from many such runs who it tends to be. Rules of the paper that depend on who the holder is are planted, and
must be found out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.methods.hd_composition.cohorts import Cohorts, Ground
from reissue.methods.hd_composition.hd_composition import HDComposition
from reissue.model.roles import HOLDERS
from reissue.model.snapshot import Column, Delta, Labels, Numbers, Snapshot

Registry = dict[int, int]
"""Where everybody registered is on a line."""
Shown = tuple[tuple[tuple[int, ...], int], ...]
"""The members of each group, and how often it shows the permanent value."""

WIDTH, POOL = 32, 32
PLACES = Numbers(np.arange(WIDTH, dtype=np.float64), pl.Int64(), False, 0.0, WIDTH - 1.0)
VALUES = Labels(("lasting", *(f"passing {at:02}" for at in range(POOL))))
SCHEMA = ri.Schema(person="id", quasi={"x": ri.Numeric()}, sensitive="value", permanent=["lasting"])
NOBODY = np.empty(0, dtype=np.int64)
NOTHING = Delta(NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY)


def line(people: int) -> Registry:
    """People at even distances."""
    return {person: 2 * person for person in range(people)}


def release(registry: Registry, holder: int, rng: np.random.Generator) -> Snapshot:
    """Everybody is present, with a passing value of his own; the holder has the lasting one too."""
    people = np.array(sorted(registry), dtype=np.int64)
    passing = 1 + rng.permutation(POOL)[: people.size]
    has = np.flatnonzero(people == holder)
    owner = np.concatenate([np.arange(people.size), has])
    codes = np.concatenate([passing, np.zeros(has.size, dtype=np.int64)])
    order = np.lexsort((codes, owner))
    place = Column("x", np.array([registry[person] for person in people.tolist()], dtype=np.uint8), PLACES)
    value = Column("value", codes[order].astype(np.uint8), VALUES)
    return Snapshot(people, (place,), (), value, SCHEMA, owner=owner[order])


def published(method: HDComposition, registries: list[Registry], holder: int, seed: int) -> tuple[Shown, ...]:
    """What is seen of a series."""
    rng = np.random.default_rng([seed, holder])
    memory: dict[str, pl.DataFrame] = {}
    seen = []
    for registry in registries:
        snapshot = release(registry, holder, rng)
        grouping, remembered = method.group(snapshot, NOTHING, memory, rng)
        memory = {name: table for name, table in remembered.items() if isinstance(table, pl.DataFrame)}
        codes = snapshot.values.codes.copy()
        if grouping.changed is not None:
            codes[grouping.changed.rows] = grouping.changed.codes
        where = grouping.of_values(snapshot.owners).group
        counts = np.bincount(where[codes == 0], minlength=grouping.count).tolist()
        members = [tuple(snapshot.people[grouping.group == at].tolist()) for at in range(grouping.count)]
        seen.append(tuple(sorted(zip(members, counts, strict=True))))
    return tuple(seen)


def holders_by(
    what: Callable[[tuple[Shown, ...]], Hashable], method: HDComposition, registries: list[Registry], seeds: range
) -> dict[Hashable, Counter[int]]:
    """For everything that can be seen, who the holder was, and how often."""
    tally: dict[Hashable, Counter[int]] = defaultdict(Counter)
    for seed in seeds:
        for holder in registries[0]:
            tally[what(published(method, registries, holder, seed))][holder] += 1
    return dict(tally)


def showing(seen: tuple[Shown, ...]) -> Hashable:
    """The groups that show the lasting value, in each release."""
    return tuple(tuple(members for members, count in shown if count) for shown in seen)


def shares(tally: dict[Hashable, Counter[int]], person: int) -> dict[Hashable, tuple[float, float]]:
    """How often the person is the holder, by what is seen, and how uncertain that is at most (a standard error)."""
    return {seen: (who[person] / who.total(), 0.5 / who.total() ** 0.5) for seen, who in tally.items()}


# Which decoys


def guessed(registries: list[Registry], method: HDComposition, seeds: int) -> float:
    """How often the best guess is right that half of the runs teach, in the other half."""
    taught = holders_by(showing, method, registries, range(seeds))
    tried = holders_by(showing, method, registries, range(seeds, 2 * seeds))
    right = sum(who[taught[seen].most_common(1)[0][0]] for seen, who in tried.items() if seen in taught)
    return right / sum(who.total() for who in tried.values())


def the_nearest(
    cohorts: Cohorts, row: int, ground: Ground, home: int, room: np.ndarray, clean: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """Planted: the decoys are the holder's neighbours; on a line of people in order, those of the nearest rows."""
    pool = np.flatnonzero(clean & (room[ground.cell] > 0))
    nearest = pool[np.argsort(np.abs(pool - row), kind="stable")][: cohorts.size - 1]
    chosen = np.array([row, *nearest.tolist()], dtype=np.int64)
    clean[chosen] = False
    return chosen


METHOD = HDComposition(l=3, container=4)
FOUR_CELLS = [line(16)]


def test_nobody_is_guessed_among_decoys_that_are_drawn() -> None:
    assert guessed(FOUR_CELLS, METHOD, seeds=5) < 1 / METHOD.l - 0.1


def test_a_holder_among_his_nearest_neighbours_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cohorts, "_clique", the_nearest)
    # Nothing is drawn, so that one run for each holder says it all.
    tally = holders_by(showing, METHOD, FOUR_CELLS, range(1))
    assert max(who.most_common(1)[0][1] / who.total() for who in tally.values()) > 1 / METHOD.l
    assert guessed(FOUR_CELLS, METHOD, seeds=1) > 1 / METHOD.l + 0.1


# Somebody moves


MOVER, MATE = 1, 0
PAIRS = HDComposition(l=2, container=2)
MOVES = [line(8), {**line(8), MOVER: 13}]


def around_the_mover(seen: tuple[Shown, ...]) -> Hashable:
    """Whether the value is shown with the mover, before and after, and with whom he lived before."""

    def count(shown: Shown, person: int) -> int:
        return next(count for members, count in shown if person in members)

    return count(seen[0], MOVER), count(seen[1], MOVER), count(seen[1], MATE)


def test_a_move_tells_nothing() -> None:
    found = shares(holders_by(around_the_mover, PAIRS, MOVES, range(12)), MOVER)
    assert len(found) > 1
    assert all(share <= 1 / PAIRS.l + 4 * error for share, error in found.values())
    assert all(share <= 1 / PAIRS.l for share, error in found.values() if error < 0.1)


def test_an_instance_that_moves_with_its_holder_betrays_him(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's section 3.4.1: what a decoy leaves behind, a holder takes with him."""
    update = Cohorts.update

    def follow(cohorts: Cohorts, ground: Ground, has: np.ndarray, rng: np.random.Generator, **given: Any) -> None:
        for at in np.flatnonzero(cohorts.cohort == HOLDERS):
            cohorts.cell[at] = ground.cell[cohorts.owner[at]]
            cohorts.could[at] = ground.rows(int(cohorts.cell[at]))
        update(cohorts, ground, has, rng, **given)

    monkeypatch.setattr(Cohorts, "update", follow)
    tally = holders_by(around_the_mover, PAIRS, MOVES, range(8))
    # It was with him before and is now, but no longer with those who lived with him.
    assert tally[1, 1, 0].total() > 1
    assert tally[1, 1, 0].keys() == {MOVER}


# Somebody dies


DEATHS = [line(8), {person: place for person, place in line(8).items() if person != MOVER}]


def ended(seen: tuple[Shown, ...]) -> Hashable:
    """Whether the value is shown with the one who dies, and whether it is shown no more when he is dead."""
    return next(count for members, count in seen[0] if MOVER in members), showing(seen[1:]) == ((),)


def test_a_death_tells_nothing_where_somebody_inherits() -> None:
    tally = holders_by(ended, PAIRS, DEATHS, range(8))
    assert {told for _, told in tally} == {False}
    assert all(share <= 1 / PAIRS.l for share, _ in shares(tally, MOVER).values())


def test_a_value_that_ends_with_a_death_was_the_dead_ones() -> None:
    """What the heirs are for: everybody else is present and would have been shown."""
    tally = holders_by(ended, HDComposition(l=2, container=2, heirs=False), DEATHS, range(3))
    assert tally[1, True] == Counter({MOVER: 3})
    assert all(MOVER not in who for told, who in tally.items() if told != (1, True))
