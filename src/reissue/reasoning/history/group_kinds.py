"""Group kinds: which multiset of values each group of a series has published.

Groups are numbered over the whole series (as in `group_histories`), and within a release so that groups with equal
multisets stand together. Then a short table of runs says of every group ever published what it has published.

What is remembered, as named tables:

    kinds    kind, value, count       the values of each multiset and how often it has each
    runs     first, kind, release     from this group on groups are of this kind, and of this release

Positions of values shift when a new value appears in a series, so multisets are remembered by value, as signatures
are in `stays`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.model.memory import Memory, Stored, Writers
from reissue.model.published import PublishedGroups
from reissue.reasoning.history.signatures import signatures_of
from reissue.reasoning.history.stays import Value, in_order, value_type

Multiset = tuple[tuple[Value, int], ...]
"""Values in their order, nulls first, and how often each."""

KINDS, RUNS = "kinds", "runs"


class Numbered(NamedTuple):
    """The groups of a release."""

    kind: Ints
    """The kind of each; a group that publishes nothing has whichever."""
    place: Ints
    """The number of each in its release, from 0 on, so that groups of a kind stand together."""


class _Codes(NamedTuple):
    """A table of counts in which a value with another count is another value."""

    values: Ints
    counts: Ints
    value_starts: Ints


@dataclass(frozen=True, repr=False, eq=False)
class GroupKinds(Stored):
    """What the groups of a series have published, up to one release."""

    sign: ClassVar[str] = RUNS

    kinds: tuple[Multiset, ...]
    """The multisets. Numbers of kinds are positions here and never change."""
    first: Ints
    """Where each run of groups begins, ascending."""
    kind: Ints
    """The kind of the groups of each run."""
    release: Ints
    """The release of the groups of each run."""
    _unchanged: frozenset[str]

    def __repr__(self) -> str:
        return f"GroupKinds({len(self.kinds):,} multisets in {self.first.size:,} runs of groups)"

    @classmethod
    def _empty(cls) -> GroupKinds:
        none = np.zeros(0, dtype=np.int64)
        return cls((), none, none, none, frozenset())

    @classmethod
    def _from(cls, memory: Memory) -> GroupKinds:
        runs = memory[RUNS]
        first, kind, release = (runs[name].to_numpy().astype(np.int64) for name in ("first", "kind", "release"))
        return cls(_multisets(memory[KINDS]), first, kind, release, frozenset((KINDS, RUNS)))

    def _writers(self) -> Writers:
        runs = {"first": self.first, "kind": self.kind, "release": self.release}
        return {
            KINDS: lambda: _table(self.kinds),
            RUNS: lambda: pl.DataFrame({name: column.astype(np.uint32) for name, column in runs.items()}),
        }

    def advance(
        self, release: PublishedGroups, values: Sequence[object], next_group: int
    ) -> tuple[GroupKinds, Numbered]:
        """Go on to a release; its first group gets the number `next_group`. `values` are those of the view."""
        found = signatures_of(_Codes(_with_counts(release), release.counts, release.value_starts))
        example = np.zeros(len(found.sets), dtype=np.int64)
        example[found.number] = np.arange(found.number.size)
        known = {multiset: at for at, multiset in enumerate(self.kinds)}
        plain = {code: in_order([values[code]])[0] for code in np.flatnonzero(np.bincount(release.values)).tolist()}
        kind_of = np.zeros(len(found.sets), dtype=np.int64)
        for at, group in enumerate(example.tolist()):
            entries = slice(release.value_starts[group], release.value_starts[group + 1])
            held = dict(zip(release.values[entries].tolist(), release.counts[entries].tolist(), strict=True))
            if held:
                often = {plain[code]: count for code, count in held.items()}
                multiset = tuple((value, often[value]) for value in in_order([values[code] for code in held]))
                kind_of[at] = known.setdefault(multiset, len(known))
        grown = len(known) > len(self.kinds)
        if grown:
            value_type([tuple(value for value, _ in multiset) for multiset in known])
        kind = kind_of[found.number]
        order = np.argsort(kind, kind="stable")
        place = np.empty(kind.size, dtype=np.int64)
        place[order] = np.arange(kind.size)
        begins = np.flatnonzero(np.diff(kind[order], prepend=-1))
        return GroupKinds(
            tuple(known),
            np.concatenate((self.first, next_group + begins)),
            np.concatenate((self.kind, kind[order][begins])),
            np.concatenate((self.release, np.full(begins.size, release.number))),
            frozenset() if grown else self._unchanged - {RUNS},
        ), Numbered(kind, place)

    def same(self, other: GroupKinds) -> bool:
        """Whether both know the same of the same groups."""
        runs = ((self.first, other.first), (self.kind, other.kind), (self.release, other.release))
        alike = self.kinds == other.kinds and self._unchanged == other._unchanged
        return alike and all(np.array_equal(*pair) for pair in runs)

    def of(self, groups: Ints) -> tuple[Ints, Ints]:
        """The kinds and the releases of groups."""
        run = np.searchsorted(self.first, groups, side="right") - 1
        return self.kind[run], self.release[run]


def _with_counts(release: PublishedGroups) -> Ints:
    """A number for each value and how often a group has it, ascending by value."""
    return release.values * (int(release.counts.max(initial=0)) + 1) + release.counts


def _multisets(table: pl.DataFrame) -> tuple[Multiset, ...]:
    pairs = list(zip(table["value"].to_list(), table["count"].to_list(), strict=True))
    ends = np.cumsum(np.bincount(table["kind"].to_numpy())).tolist()
    return tuple(tuple(pairs[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _table(kinds: tuple[Multiset, ...]) -> pl.DataFrame:
    entries = [(at, value, count) for at, multiset in enumerate(kinds) for value, count in multiset]
    dtype = value_type([tuple(value for value, _ in multiset) for multiset in kinds])
    return pl.DataFrame(entries, schema={"kind": pl.UInt32, "value": dtype, "count": pl.UInt32}, orient="row")
