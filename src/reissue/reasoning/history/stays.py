"""Stays: who was in a group of which signature, from which release to which.

The signature of a group is the set of its distinct sensitive values. A stay is a run of releases in which a
person was published with one signature. It ends when the person is no longer published, or is published
with another signature; what was known of it then goes into a part named after that release, which never
changes again. So a release costs what changes in it, and the history is looked into only for people who
come back.

What is remembered, as named tables:

    release       number                              the last release
    signatures    signature, place, value             the values of each signature
    living        person, signature, came, again      everyone published in the last release
    ever          first, last                         everyone published so far, as ranges of person numbers
    gone-000007   person, signature, came, again      the stays that were over in release 7
    gone-000008-1 the same, and left                  the last stays of those over in several releases, up to 8

Positions of values shift when a new value appears in a series, so signatures are remembered by value:
labels as text, numbers as 64-bit floats, a missing value as null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending, places
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Ints
from reissue.errors import InternalError, ParameterError, count_of
from reissue.model.memory import Memory, Remembered, Stored, Writers
from reissue.model.pieces import Table, made, whole
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.history.past_parts import Part, Parts, Ranges

Value = str | float | None
Signature = tuple[Value, ...]

RELEASE, SIGNATURES, LIVING, EVER, GONE = "release", "signatures", "living", "ever", "gone-"


class Rows(NamedTuple):
    """Stays, ascending by person."""

    person: Ints
    signature: Ints
    came: Ints
    """The release in which the stay began."""
    again: Bools
    """Whether the person had an earlier stay."""


class LastStays(NamedTuple):
    """For some people, in the order in which they were asked for, the last stay that is over."""

    signature: Ints
    came: Ints
    left: Ints
    """The release in which they were no longer there, or there with another signature."""
    again: Bools


class Entered(NamedTuple):
    """People who began a stay, and its signature."""

    person: Ints
    signature: Ints


class Returned(NamedTuple):
    """People who began a stay and had one before."""

    person: Ints
    signature: Ints
    last: LastStays


@dataclass(frozen=True, repr=False)
class Step:
    """What happened in one release, all arrays ascending by person.

    Someone who stays but whose signature differs from before has left (the old signature), entered (the
    new one) and returned, all in this release.
    """

    number: int
    stayed: Ints
    """The people whose stays go on."""
    left: Rows
    """The stays that are over."""
    entered: Entered
    returned: Returned

    def __repr__(self) -> str:
        return (
            f"Step(release {self.number}: {self.stayed.size:,} stayed, {self.left.person.size:,} left, "
            f"{self.entered.person.size:,} entered, {self.returned.person.size:,} of them again)"
        )


class _Met(NamedTuple):
    """Those published in a release, met with those of the release before."""

    place: Ints
    """Where each one stands among those before; -1 for who does not."""
    stays: Bools
    """Whose stays go on."""
    over: Bools
    """Of those before, whose stays do not."""
    came: Ints
    """The release in which each one's present stay began."""
    again: Bools
    """Whether each one had an earlier stay; as yet only of stays that go on."""


@dataclass(frozen=True, repr=False, eq=False)
class Stays(Stored):
    """Everyone's stays, up to one release. Parts about those who are gone are read when they are asked for."""

    sign: ClassVar[str] = RELEASE

    number: int
    """The last release; 0 before the first."""
    signatures: tuple[Signature, ...]
    """The values of each signature in their order, nulls first. Ids are positions here and never change."""
    person: Ints
    """Everyone published in the last release, ascending."""
    signature: Ints
    """The id of each one's signature."""
    came: Ints
    """The release in which each one's present stay began."""
    again: Bools
    """Whether each one had an earlier stay."""
    _ever: Ranges
    _gone: Parts[_Over]
    _unchanged: frozenset[str]
    """The tables that are still as they were read."""

    def __repr__(self) -> str:
        return (
            f"Stays(release {self.number}: {self.person.size:,} people, "
            f"{count_of(len(self.signatures), 'signature')} so far)"
        )

    @classmethod
    def _empty(cls) -> Stays:
        none = np.zeros(0, dtype=np.int64)
        ever, gone = Ranges(none, none), Parts(_Over, GONE)
        return cls(0, (), none, none, none, none.astype(np.bool_), ever, gone, frozenset())

    @classmethod
    def _from(cls, memory: Memory) -> Stays:
        return cls(
            int(memory[RELEASE]["number"][0]),
            _signatures(memory[SIGNATURES]),
            *_rows(memory[LIVING]),
            Ranges.read(memory[EVER]),
            Parts.read(_Over, GONE, memory),
            frozenset((RELEASE, SIGNATURES, LIVING, EVER)),
        )

    def _writers(self) -> Writers:
        return {
            RELEASE: lambda: pl.DataFrame({"number": np.array([self.number], dtype=np.uint32)}),
            SIGNATURES: lambda: _signature_table(self.signatures),
            LIVING: lambda: _table(Rows(self.person, self.signature, self.came, self.again)),
            EVER: self._ever.table,
        }

    def _inside(self) -> Remembered:
        return self._gone.tables()

    def known(self, people: Ints) -> Ints:
        """The id of each person's signature, the last one for those who are gone; -1 for never published."""
        return self.known_at(self.places(people), people)

    def known_at(self, at: Ints, people: Ints) -> Ints:
        """The same where `places` of these people are known."""
        known = np.append(self.signature, -1)[at]  # nowhere is the last place
        away = np.flatnonzero(at < 0)
        gone = away[self._ever.holds(people[away])]
        known[gone] = _last_stays(self._gone, people[gone]).signature
        return known

    def places(self, people: Ints) -> Ints:
        """Where each of these stands among those published in the last release; -1 for who was not."""
        return places(self.person, people)

    def last_stays(self, people: Ints) -> LastStays:
        """The last stays of people who are gone."""
        if not (self._ever.holds(people) & (self.places(people) < 0)).all():
            raise InternalError("last stays were asked of people who are not gone")
        return _last_stays(self._gone, people)

    def signature_ids(self, sets: Sequence[Sequence[object]]) -> tuple[Stays, Ints]:
        """The ids of sets of values, in whatever order; sets not seen before are added."""
        known = {signature: at for at, signature in enumerate(self.signatures)}
        # A set that is new gets the next number, also when it occurs twice.
        ids = [known.setdefault(in_order(values), len(known)) for values in sets]
        if len(known) == len(self.signatures):
            return self, np.array(ids, dtype=np.int64)
        grown = replace(self, signatures=tuple(known), _unchanged=self._unchanged - {SIGNATURES})
        value_type(grown.signatures)
        return grown, np.array(ids, dtype=np.int64)

    def advance(self, number: int, people: Ints, signature: Ints) -> tuple[Stays, Step]:
        """Go on to a release in which these people were published, each with a signature of this id."""
        people, signature = self._checked(number, people, signature)
        met = self._met(number, people, signature)
        ended, enters = np.flatnonzero(met.over), np.flatnonzero(~met.stays)
        left = Rows(self.person[ended], self.signature[ended], self.came[ended], self.again[ended])

        everybody = enters.size == people.size
        entered = Entered(people, signature) if everybody else Entered(people[enters], signature[enters])
        before = self._ever.holds(entered.person)
        returned = Returned(
            entered.person[before],
            entered.signature[before],
            self._stays_before(number, entered.person[before], met.place[enters[before]]),
        )
        step = Step(number, people.compress(met.stays), left, entered, returned)
        unchanged = self._unchanged - {RELEASE}
        if not left.person.size and not entered.person.size:
            return replace(self, number=number, _unchanged=unchanged), step

        met.again[enters] = before
        unchanged -= {LIVING} if before.all() else {LIVING, EVER}
        ever = self._ever.joined(entered.person[~before] if before.any() else entered.person)
        gone = self._gone.joined(number, _Over(left, np.full(left.person.size, number)))
        return Stays(number, self.signatures, people, signature, met.came, met.again, ever, gone, unchanged), step

    def _met(self, number: int, people: Ints, signature: Ints) -> _Met:
        from reissue.kernels.going_on import meet  # compiled code, which the rest does without
        from reissue.kernels.grouped import unwritten

        met = _Met(
            np.empty(people.size, dtype=np.int64),
            np.empty(people.size, dtype=np.bool_),
            np.empty(self.person.size, dtype=np.bool_),
            np.empty(people.size, dtype=np.int64),
            np.empty(people.size, dtype=np.bool_),
        )
        meet(
            unwritten(self.person),
            unwritten(self.signature),
            unwritten(self.came),
            unwritten(self.again),
            number,
            unwritten(people),
            unwritten(signature),
            *met,
        )
        return met

    def _checked(self, number: int, people: Ints, signature: Ints) -> tuple[Ints, Ints]:
        if number <= self.number:
            raise InternalError(f"stays known up to release {self.number} cannot go on to release {number}")
        if people.size != signature.size:
            raise InternalError("people and their signatures differ in number")
        people, signature = people.astype(np.int64, copy=False), signature.astype(np.int64, copy=False)
        listed = people.size
        if not (people[1:] > people[:-1]).all():
            order = ascending(people)
            people, signature = people[order], signature[order]
        if people.size and (people[0] < 0 or people[-1] >= 2**32 or people.size < listed):
            raise InternalError("a release lists a counterfeit among its people, a person twice, or one out of range")
        if signature.size and (signature.min() < 0 or signature.max() >= len(self.signatures)):
            raise InternalError("a release gives a person a signature that does not exist")
        return people, signature

    def _stays_before(self, number: int, people: Ints, place: Ints) -> LastStays:
        """The stays before this release, over now (`place` among the living) or earlier (`place` is -1)."""
        gone = place < 0
        last = _last_stays(self._gone, people[gone])
        old = place[~gone]
        signature, came, left = (np.full(people.size, number, dtype=np.int64) for _ in range(3))
        again = np.zeros(people.size, dtype=np.bool_)
        signature[gone], came[gone], left[gone], again[gone] = last
        signature[~gone], came[~gone], again[~gone] = self.signature[old], self.came[old], self.again[old]
        return LastStays(signature, came, left, again)


class _Over(Part):
    """Stays that are over."""

    what = "last stays"

    def __init__(self, rows: Rows, left: Ints) -> None:
        self.rows = rows
        self.left = left
        """The release in which each was over."""

    @property
    def person(self) -> Ints:
        return self.rows.person

    @classmethod
    def read(cls, number: int, table: pl.DataFrame) -> _Over:
        rows = _rows(table)
        return cls(rows, _ints(table["left"]) if "left" in table.columns else np.full(rows.person.size, number))

    @classmethod
    def of_all(cls, parts: Sequence[_Over]) -> _Over:
        rows = Rows(*(np.concatenate(columns) for columns in zip(*(part.rows for part in parts), strict=True)))
        left = np.concatenate([part.left for part in parts])
        order = np.lexsort((left, rows.person))
        last = order[np.diff(rows.person[order], append=-1) != 0]
        return cls(Rows(*(column[last] for column in rows)), left[last])

    def table(self) -> pl.DataFrame:
        table = whole(_table(self.rows))
        # As it comes, a part has the stays of the release in its name, and no column for it.
        if (self.left == self.left[0]).all():
            return table
        return table.with_columns(left=pl.Series(self.left.astype(np.uint32)))


def _last_stays(gone: Parts[_Over], people: Ints) -> LastStays:
    signature, came, left = (np.full(people.size, -1, dtype=np.int64) for _ in range(3))
    again = np.zeros(people.size, dtype=np.bool_)
    for part, found, at in gone.find(people):
        rows = part.rows
        signature[found], came[found], again[found] = rows.signature[at], rows.came[at], rows.again[at]
        left[found] = part.left[at]
    return LastStays(signature, came, left, again)


def _rows(table: pl.DataFrame) -> Rows:
    person, signature, came = (_ints(table[name]) for name in ("person", "signature", "came"))
    return Rows(person, signature, came, table["again"].to_numpy())


def _ints(column: pl.Series) -> Ints:
    return column.to_numpy().astype(np.int64)


def _table(rows: Rows) -> Table:
    again = rows.again
    # What waits to be written takes as little room as it can.
    narrow = {name: getattr(rows, name) for name in ("person", "signature", "came")}
    narrow = {name: cells.astype(smallest_unsigned(int(cells.max(initial=0)) + 1)) for name, cells in narrow.items()}

    def table(part: slice) -> pl.DataFrame:
        return pl.DataFrame(
            {**{name: cells[part].astype(np.uint32) for name, cells in narrow.items()}, "again": again[part]}
        )

    return made(again.size, table)


def _signatures(table: pl.DataFrame) -> tuple[Signature, ...]:
    values = table["value"].to_list()
    ends = np.cumsum(np.bincount(table["signature"].to_numpy())).tolist()
    return tuple(tuple(values[start:end]) for start, end in zip([0, *ends], ends, strict=False))


def _signature_table(signatures: tuple[Signature, ...]) -> pl.DataFrame:
    sizes = np.array([len(signature) for signature in signatures], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    return pl.DataFrame(
        {
            "signature": owners(sizes).astype(np.uint32),
            "place": (np.arange(sizes.sum()) - np.repeat(starts, sizes)).astype(np.uint32),
            "value": pl.Series([v for values in signatures for v in values], dtype=value_type(signatures)),
        }
    )


def value_type(signatures: Sequence[Signature]) -> type[pl.String | pl.Float64]:
    """The type of the column that remembers values; labels and numbers together are refused."""
    kinds = {type(value) for values in signatures for value in values} - {type(None)}
    if len(kinds) > 1:
        raise ParameterError(
            "A series has both labels and numbers as sensitive values, so signatures cannot be compared.",
            hint="let the sensitive column be of one kind in all releases.",
        )
    return pl.Float64 if float in kinds else pl.String


def in_order(values: Sequence[object]) -> Signature:
    """A set of values as it is remembered."""
    if not values:
        raise InternalError("a group without values has no signature")
    labels = [value for value in values if isinstance(value, str)]
    if len(labels) == len(values):
        return tuple(sorted(set(labels)))
    plain = {_plain(value) for value in values}
    if len(plain) < len(set(values)):
        raise ParameterError("A group holds values that differ by less than 64-bit numbers can tell apart.")
    return tuple(sorted(plain, key=_order))


def _order(value: Value) -> tuple[int, float, str]:
    if isinstance(value, str):
        return (2, 0.0, value)
    return (0, 0.0, "") if value is None else (1, value, "")


def _plain(value: object) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = float(value) + 0.0  # adding 0.0 makes -0.0 the 0.0 that it equals
        return None if math.isnan(number) else number
    raise ParameterError(f"A sensitive value must be text, a number or missing. Got a {type(value).__name__} instead.")
