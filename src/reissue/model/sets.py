"""Sets of alternatives: in place of a sensitive value a few values, one of them true.

`Sets` is what a method draws, `PublishedSets` what an outsider sees of a release of them, `SetDesigns` how they were
drawn, which is public. A set has m slots. A value takes one of them, or several where it is frequent, so that the
matrices here have m columns, and such a value stands in as many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import PARALLEL_FROM, at_once, spans
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError
from reissue.model.design import Design
from reissue.model.published import PublishedGroups
from reissue.model.record_design import RecordDesign
from reissue.model.records import Records, ValueColumn, record_text, texts_of_levels, value_columns

OTHERS = "(other values)"
"""What stands in sets for all values that are too rare to have a share of their own."""
SetCodes = npt.NDArray[np.unsignedinteger]
"""A row for each person, a column for each slot: positions among labels. Ascending, but for linked lives, where a
column is a life."""
Numbers = npt.NDArray[np.integer]
"""Positions in a type as narrow as may be: there is one for each row. Nothing is added to them in that type."""
Weight = TypeVar("Weight", np.float64, np.uint64)


@dataclass(frozen=True, repr=False)
class SetDesigns:
    """How the sets of a release were drawn: the values, a design for each version and cell, the rule of change."""

    labels: tuple[object, ...]
    """The values that sets are made of, in their order."""
    designs: tuple[Design | RecordDesign, ...]
    """One, or one for each version of the reference and each cell."""
    places: tuple[Ints, ...]
    """For each design the positions of its values among the labels, ascending."""
    version: tuple[int, ...]
    """For each design the version of the reference that it is from, counted from 1."""
    cells: pl.DataFrame | None = None
    """For each design the cell it is for, where there are cells: one column for each that is `given`."""
    change: Mapping[str, Any] | None = None
    """The rule of change, as its `to_dict` has it; None: values are static."""
    linked: bool = False
    """Whether the columns of sets are lives, the same in all releases."""
    room: Ints | None = None
    """For each label how many lives may come to be at it, where they are lives; None: as many as it has slots."""
    columns: tuple[str, ...] = ()
    """The sensitive columns that labels are records of, where several are; designs are then of records."""

    def __post_init__(self) -> None:
        if not len(self.designs) == len(self.places) == len(self.version) or len(self.designs) != (
            len(self.designs) if self.cells is None else len(self.cells)
        ):
            raise InternalError("designs, versions and cells differ in number")

    def __repr__(self) -> str:
        return f"SetDesigns({len(self.labels):,} values, {len(self.designs):,} designs)"

    @property
    def m(self) -> int:
        """How many slots a set has."""
        return self.designs[0].m

    def most(self, at: int) -> Ints:
        """For each value of a design how many slots of a set it may have, at any time."""
        design = self.designs[at]
        if isinstance(design, RecordDesign):
            return design.most
        return design.slots if self.room is None else self.room[self.places[at]]

    @property
    def of_values(self) -> tuple[Design, ...]:
        """The designs, where labels are values of one column."""
        if self.columns:
            raise InternalError("designs of records were taken for designs of values")
        return cast("tuple[Design, ...]", self.designs)

    @property
    def of_records(self) -> tuple[RecordDesign, ...]:
        """The designs, where labels are records."""
        if not self.columns:
            raise InternalError("designs of values were taken for designs of records")
        return cast("tuple[RecordDesign, ...]", self.designs)

    @cached_property
    def value_columns(self) -> tuple[ValueColumn, ...]:
        """The sensitive columns of records: which value each label has."""
        return value_columns(self.columns, list(map(str, self.labels)))

    def labels_of(self, records: Records, at: int = -1) -> Ints:
        """For each record of a table its label in a design; rare values stand under `OTHERS`. -1: it has none."""
        held = self.places[at].tolist()
        place = {str(self.labels[label]): label for label in held}
        named = []
        for own, levels in zip(self.value_columns, records.levels, strict=True):
            known = {own.values[code] for code in own.of[held].tolist()}
            rest = {OTHERS} & known
            named.append([text if text in known or not rest else OTHERS for text in texts_of_levels(levels)])
        rows = records.cells.tolist()
        texts = (record_text(names[code] for names, code in zip(named, row, strict=True)) for row in rows)
        return np.array([place.get(text, -1) for text in texts], dtype=np.int64)

    def room_of(self, at: int, column: int) -> Ints:
        """For each value of a column, in the order of `value_columns`, how many places of a set it may have."""
        design, own = self.of_records[at], self.value_columns[column]
        room = np.full(len(own.values), self.m, dtype=np.int64)
        room[own.of[self.places[at]]] = design.room[column][design.records[:, column]]
        return room


@dataclass(frozen=True, repr=False)
class SetLists:
    """The sets of a public table just as they stand there: lists of values, one after the other."""

    codes: SetCodes
    """Positions among the labels, of all lists; a value with several slots stands once, but for lives."""
    starts: Ints
    """Where each list begins, and the last one ends."""
    design: Ints
    """For each row the design that its set is from."""

    @classmethod
    def joined(cls, parts: Sequence[SetLists]) -> SetLists:
        """The lists of several parts of a table, one part after the other."""
        begin = starts_of([part.codes.size for part in parts])
        starts = [part.starts[:-1] + first for part, first in zip(parts, begin.tolist(), strict=False)]
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([*starts, begin[-1:]]),
            np.concatenate([part.design for part in parts]),
        )

    @property
    def lengths(self) -> Ints:
        """How many values each list has."""
        return np.diff(self.starts)

    def sums(self, weights: npt.NDArray[Weight], lines: Ints | None = None) -> npt.NDArray[Weight]:
        """For each list the sum of what its values weigh, a column for each question, as `weights` has them.

        Without `lines` a value weighs the same in all lists; with them, for each design, the weights of its first label
        are in that line, and those of the others below.
        """
        from reissue.kernels.list_sums import sum_over_lists  # compiled code, which the rest does without

        rows = self.starts.size - 1
        sums = np.empty((weights.shape[1], rows), dtype=weights.dtype)
        first = np.zeros(int(self.design.max(initial=0)) + 1, dtype=np.int64) if lines is None else lines
        at_once(
            lambda part: sum_over_lists(self.codes, self.starts, self.design, first, weights, *part, sums),
            spans(rows, PARALLEL_FROM),
        )
        return sums.T


@dataclass(frozen=True, repr=False)
class Sets:
    """The sets of the rows of a snapshot."""

    codes: SetCodes
    """Positions in `designs.labels`. Rows that are withheld have whatever."""
    drawn: Bools
    """Which rows got a set in this release; the others keep the one they had."""
    designs: SetDesigns
    design: Numbers
    """For each row the design that its set is drawn from, by position in `designs`."""
    own: Numbers
    """For each row the position of its true value in `designs.labels`."""

    def __repr__(self) -> str:
        return f"Sets({self.codes.shape[0]:,} rows of {self.codes.shape[1]})"

    def rows(self, rows: Ints) -> Sets:
        """Those of some rows."""
        return Sets(self.codes[rows], self.drawn[rows], self.designs, self.design[rows], self.own[rows])


@dataclass(frozen=True, repr=False)
class PublishedSets:
    """One release of sets, as an outsider sees it at worst: who is behind each row, and what it shows."""

    number: int
    """The number of the release, counted from 1."""
    people: Ints
    """Person numbers, one for each row."""
    codes: SetCodes
    """The sets: positions in `Published.values`."""
    design: Numbers
    """For each row the design that its set is drawn from."""
    designs: SetDesigns
    values: Ints
    """For each label of `designs` its position in `Published.values`."""
    region: pl.DataFrame | None = None
    """The quasi-identifiers of each row as published; None where they are not at hand."""
    group: npt.NDArray[np.integer] | None = None
    """For each row the number of its region, where regions are told apart already; None: by `region`."""

    def __repr__(self) -> str:
        return f"PublishedSets(release {self.number}: {self.people.size:,} sets of {self.codes.shape[1]})"

    @property
    def m(self) -> int:
        """How many slots a set has."""
        return int(self.codes.shape[1])

    @cached_property
    def regions(self) -> npt.NDArray[np.integer]:
        """For each row the number of its region, counted from 0: rows alike in all quasi-identifiers have the same."""
        if self.group is not None:
            return self.group
        if self.region is None or not self.region.width:
            raise InternalError("a view of sets was made without quasi-identifiers")
        ranks = self.region.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy()
        return np.asarray(ranks.astype(np.int64) - 1)

    def by_region(self) -> PublishedGroups:
        """People together with those they are alike, for checkers that ask how many these are; without values."""
        order = np.argsort(self.regions, kind="stable")
        starts = starts_of(np.bincount(self.regions))
        nothing = np.zeros(0, dtype=np.int64)
        return PublishedGroups(
            self.number, self.people[order], starts, nothing, nothing, np.zeros(starts.size, dtype=np.int64)
        )

    def as_groups(self) -> PublishedGroups:
        """Every set as a group of the person and m - 1 counterfeits, for attacks that know nothing but groups.

        The counterfeits of a person have the same numbers in all releases, as the other slots of a set that is kept.
        """
        count, m = self.codes.shape
        people = self.people.astype(np.int64)
        members = np.empty((count, m), dtype=np.int64)
        members[:, 0] = people
        members[:, 1:] = -1 - (people[:, None] * (m - 1) + np.arange(m - 1))
        ordered = np.sort(self.codes.astype(np.int64), axis=1)
        first = np.ones(ordered.shape, dtype=np.bool_)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        flat = np.flatnonzero(first.ravel())
        counts = np.diff(np.append(flat, ordered.size))
        return PublishedGroups(
            number=self.number,
            members=members.ravel(),
            member_starts=np.arange(count + 1, dtype=np.int64) * m,
            values=ordered.ravel()[flat],
            counts=counts.astype(np.int64),
            value_starts=starts_of(first.sum(axis=1)),
        )


class Bridged(Sequence[PublishedGroups]):
    """Releases, those of sets as groups; each is made when it is asked for."""

    def __init__(self, releases: Sequence[PublishedGroups | PublishedSets]) -> None:
        self._releases = tuple(releases)

    def __len__(self) -> int:
        return len(self._releases)

    @property
    def plain(self) -> tuple[PublishedGroups, ...]:
        """Those that are releases of groups."""
        return tuple(one for one in self._releases if isinstance(one, PublishedGroups))

    @cached_property
    def _groups(self) -> dict[int, PublishedGroups]:
        return {}

    def _made(self, at: int) -> PublishedGroups:
        one = self._releases[at]
        if isinstance(one, PublishedGroups):
            return one
        at %= len(self._releases)
        if at not in self._groups:
            self._groups[at] = one.as_groups()
        return self._groups[at]

    @overload
    def __getitem__(self, at: int) -> PublishedGroups: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[PublishedGroups, ...]: ...
    def __getitem__(self, at: int | slice) -> PublishedGroups | tuple[PublishedGroups, ...]:
        if isinstance(at, slice):
            return tuple(self._made(place) for place in range(*at.indices(len(self))))
        return self._made(at)

    def __iter__(self) -> Iterator[PublishedGroups]:
        return (self._made(at) for at in range(len(self)))
