"""Courses of values: who can have had which value in which release, where values may change.

    class     people who are in the same groups of the same releases, and of whom the same is known
    slot      a class in one of its releases
    entry     a slot and a value that its group shows: everybody of the class has one of its entries in every slot
    counter   how often a group shows a value; in a world it is reached exactly

A world gives everybody a course: an entry in each slot of their class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue.arrays.dense import numbered
from reissue.arrays.runs import entries_of, kept, owners, starts_of
from reissue.arrays.types import Bools, Ints
from reissue.model.published import Published


@dataclass(frozen=True, repr=False)
class Courses:
    """The classes of a view with their slots and entries, all in flat arrays."""

    people: Ints
    """All members by number, ascending; counterfeits are below 0."""
    of_class: Ints
    """The class of each."""
    sizes: Ints
    """How many members each class has."""
    class_starts: Ints
    """Where each class begins among the slots, which are in the order of the releases."""
    group: Ints
    """For each slot its group, numbered over all releases."""
    position: Ints
    """For each slot its release, by position."""
    starts: Ints
    """Where each slot begins among the entries."""
    counter: Ints
    """For each entry its counter, numbered over all groups."""
    values: Ints
    """For each counter its value, by position in the view."""
    targets: Ints
    """For each counter how often its group shows its value."""
    counter_starts: Ints
    """Where each group begins among the counters."""
    limited: Bools
    """The slots in which some values of the group are known not to be."""

    def __repr__(self) -> str:
        return f"Courses({self.people.size:,} people in {self.sizes.size:,} classes, {self.counter.size:,} entries)"

    @classmethod
    def of(
        cls, published: Published, known: tuple[Ints, Ints], allowed: Mapping[int, tuple[int, ...]] | None = None
    ) -> Courses:
        """The courses of a view. `known` people have their value in the last release they are in; for those of
        `allowed`, by number, some values are left in all of theirs."""
        where = published.index
        last = where.histories.last
        told = np.zeros(where.people.size, dtype=np.int64)
        told[where.places(known[0])] = 1 + known[1]
        sets = sorted(set((allowed or {}).values()))
        for number, some in (allowed or {}).items():
            told[where.places(np.array([number]))[0]] = 1 + len(published.values) + sets.index(some)
        _, of_class = numbered(last * (int(told.max(initial=0)) + 1) + told)
        first = np.unique(of_class, return_index=True)[1]
        lengths = np.diff(where.group_starts)[first]
        group = where.groups[entries_of(where.group_starts, first)]
        found = cls(
            where.people,
            of_class,
            np.bincount(of_class, minlength=first.size),
            starts_of(lengths),
            group,
            where.position[group],
            starts_of(np.diff(where.value_starts)[group]),
            entries_of(where.value_starts, group),
            where.values,
            where.counts,
            where.value_starts,
            np.zeros(group.size, dtype=np.bool_),
        )
        marked = np.flatnonzero(told[first])
        return found._limited_to(marked, told[first][marked], len(published.values), sets) if marked.size else found

    def _limited_to(self, classes: Ints, told: Ints, count: int, sets: list[tuple[int, ...]]) -> Courses:
        """Without the entries that some classes cannot have."""
        left, limited = np.ones(self.counter.size, dtype=np.bool_), self.limited.copy()
        for at, code in zip(classes.tolist(), told.tolist(), strict=True):
            slots = range(int(self.class_starts[at]), int(self.class_starts[at + 1]))
            some = (code - 1,) if code <= count else sets[code - 1 - count]
            for slot in slots[-1:] if code <= count else slots:
                own = slice(int(self.starts[slot]), int(self.starts[slot + 1]))
                left[own] = np.isin(self.values[self.counter[own]], some)
                limited[slot] = True
        return replace(self, starts=kept(left, self.starts), counter=self.counter[left], limited=limited)

    @cached_property
    def of_slot(self) -> Ints:
        """For each slot its class."""
        return owners(np.diff(self.class_starts))

    @cached_property
    def slot(self) -> Ints:
        """For each entry its slot."""
        return owners(np.diff(self.starts))

    @cached_property
    def value(self) -> Ints:
        """For each entry its value."""
        return self.values[self.counter]

    @cached_property
    def steps(self) -> Ints:
        """For each slot how many releases after the slot before it it comes; 0 for the first of a class."""
        steps = np.diff(self.position, prepend=0)
        steps[self.class_starts[:-1][np.diff(self.class_starts) > 0]] = 0
        return steps

    def apart(self) -> Courses:
        """Every slot as a class of its own: each release speaks for itself. `of_class` is then of no use."""
        return replace(self, sizes=self.sizes[self.of_slot], class_starts=np.arange(self.group.size + 1))

    def parts(self) -> Iterator[Ints]:
        """The classes that hang together by their groups, part by part, in the order of their first class."""
        import igraph

        classes = self.sizes.size
        groups, place = numbered(self.group)
        graph = igraph.Graph(classes + groups.size, np.column_stack([self.of_slot, classes + place]))
        part = np.array(graph.connected_components().membership, dtype=np.int64)[:classes]
        order = np.argsort(part, kind="stable")
        ends = np.flatnonzero(np.diff(part[order])) + 1
        yield from sorted(np.split(order, ends), key=lambda some: int(some[0]))

    def slots_of(self, classes: Ints) -> Ints:
        """The slots of some classes, one class after the other."""
        return entries_of(self.class_starts, classes)
