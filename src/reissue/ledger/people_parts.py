"""The table of ids, in parts: everyone's id, kept in as many files as there were releases with somebody new.

Person numbers are given without gaps, in the order of arrival. A part holds those from its first number
up to the first of the next part, so that a release writes the ids of its new people only, and whoever
is to be forgotten is in one part, which is rewritten. Many small files are slow to read: when there are
too many, the last ones are written as one by the commit that would have added one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import TypeVar

import numpy as np
import polars as pl

from reissue.errors import InternalError, ParameterError, SeriesDamaged, count_of
from reissue.ledger.record import ID, NUMBER, PLAIN
from reissue.ledger.sqlite import Database
from reissue.ledger.stored_tables import TableFiles
from reissue.ledger.transactions import IdFile, current_people

T = TypeVar("T")

_NOBODY = pl.Series(ID, dtype=pl.String)

MANY = 16
"""Parts beyond this number are merged. Opening one takes as long as reading the ids of many thousand people;
merging at fewer would have everybody written more often."""
LARGE = 1 << 18
"""A part with this many people is merged no further: opening its file costs little beside reading it."""


@dataclass(repr=False)
class StoredIds:
    """The ids of everybody in a series, on disk."""

    files: TableFiles
    database: Database
    _read_before: tuple[list[IdFile], pl.Series] = field(default_factory=lambda: ([], _NOBODY))
    """The parts that were read last and the ids in them: from release to release most parts stay as they are."""
    _sizes: dict[str, int] = field(default_factory=dict)
    """How many people are in the parts that were written or looked into, by SHA-256."""

    def all(self) -> pl.Series:
        """The id of everybody, in the order of their numbers from 0; null for a person who was forgotten."""
        return self._of_present_parts(self._read)

    def plain(self) -> pl.Series:
        """The hash of everybody's plain form, in the order of their numbers; null where none is kept."""
        return self._of_present_parts(self._plain)

    def next_number(self) -> int:
        """The number that the next new person gets."""
        return self._of_present_parts(self._end)

    def with_new(self, new: pl.DataFrame, parts: list[IdFile]) -> pl.DataFrame:
        """The part to write for new people: they alone or, when there are too many `parts`, with those before."""
        end = self._end(parts)
        if new[NUMBER][0] != end:
            raise InternalError("The new people of this entry are not numbered on from those known.")
        sizes = [following - first for first, following in pairwise([*(part.first for part in parts), end])]
        merged = parts[first_to_merge([*sizes, new.height]) :]
        own = new.select(pl.col(NUMBER).cast(pl.UInt32), ID, *([PLAIN] if PLAIN in new.columns else []))
        # Parts of an older version have no plain forms.
        return pl.concat([*(self._part(part) for part in merged), own], how="diagonal")

    def without(self, numbers: Sequence[int]) -> tuple[list[pl.DataFrame], int]:
        """The parts to write so that nothing leads from these numbers to ids, and how many ids that erases."""
        parts = self.database.read(current_people)
        asked = pl.Series(numbers, dtype=pl.Int64).unique().sort()
        unknown = int((~asked.is_between(0, self._end(parts) - 1)).sum())
        if unknown:
            raise ParameterError(f"{count_of(unknown, 'person number')} of {len(asked)} are not in the series.")
        places = np.searchsorted([part.first for part in parts], asked.to_numpy(), side="right") - 1
        changed, erased = [], 0
        for place in np.unique(places):
            part = self._part(parts[place])
            chosen = part[NUMBER].cast(pl.Int64).is_in(asked.filter(places == place).implode())
            ids = int((chosen & part[ID].is_not_null()).sum())
            if ids:
                held = [name for name in (ID, PLAIN) if name in part.columns]
                changed.append(part.with_columns(pl.when(~chosen).then(name).alias(name) for name in held))
                erased += ids
        return changed, erased

    def _of_present_parts(self, work: Callable[[list[IdFile]], T]) -> T:
        """Work on the files; a writer may replace some after the catalog was read, and then there are new ones."""
        seen = None
        while True:
            parts = self.database.read(current_people)
            try:
                return work(parts)
            except SeriesDamaged:
                if parts == seen:
                    raise
                seen = parts

    def _read(self, parts: list[IdFile]) -> pl.Series:
        before, ids = self._read_before
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, parts, strict=False)))
        if same < len(before):
            ids = ids.head(before[same].first)
        if parts[same:]:
            read = [self._part(part)[ID] for part in parts[same:]]
            ids = _joined([ids, *read] if same else read)
        self._read_before = (parts, ids)
        return ids

    def _plain(self, parts: list[IdFile]) -> pl.Series:
        read = [self._part(part) for part in parts]
        kept = [one[PLAIN] if PLAIN in one.columns else _unknown(one.height) for one in read]
        return pl.concat([_NOBODY.alias(PLAIN), *kept])

    def added(self, parts: list[IdFile], part: IdFile, people: pl.DataFrame) -> None:
        """Note a part that was committed after `parts`, or in place of the last of them: it need not be read again."""
        self._sizes[part.sha256] = people.height
        before, ids = self._read_before
        if before == parts and ids.dtype == people.schema[ID]:
            kept = [one for one in parts if one.first < part.first]
            self._read_before = ([*kept, part], _joined([ids.head(part.first), people[ID]]))

    def let_go(self) -> None:
        """Keep no ids in memory any longer."""
        self._read_before = ([], _NOBODY)

    def _end(self, parts: list[IdFile]) -> int:
        """One more than the last number, from the number of rows in the last part."""
        if not parts:
            return 0
        last = parts[-1]
        if last.sha256 not in self._sizes:
            self._part(last)
        return last.first + self._sizes[last.sha256]

    def _part(self, part: IdFile) -> pl.DataFrame:
        found = self.files.blob(part.sha256)
        self._sizes[part.sha256] = found.height
        return found


def _unknown(people: int) -> pl.Series:
    return pl.Series(PLAIN, [None], dtype=pl.String).new_from_index(0, people)


def _joined(parts: Sequence[pl.Series]) -> pl.Series:
    """One after the other; in one piece, unless that takes long, because each piece is looked into by itself."""
    return pl.concat(parts, rechunk=sum(part.len() for part in parts) <= LARGE)


def first_to_merge(sizes: Sequence[int]) -> int:
    """The place of the part that is to be merged with all that follow; the last one's if nothing is merged.

    Of too many parts those stay that are large, or as large as all after them together. What is merged is then
    at least twice as large as each part that a merging made before, so nobody is written often.
    """
    rest = sum(sizes)
    for place, size in enumerate(sizes):
        rest -= size
        if len(sizes) > MANY and size < min(rest, LARGE):
            return place
    return len(sizes) - 1
