"""Snapshot: one state of a private table, coded to small integer columns; Delta: what changed.

Codes are canonical: the order of codes is the order of values, whatever the order of rows, so that
nothing decided on codes can depend on how the table happened to be sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import at_once
from reissue.arrays.types import Bools, Floats, Ints
from reissue.model.domain import PERSON
from reissue.model.hierarchy import Hierarchy
from reissue.model.schema import Schema

Codes = npt.NDArray[np.unsignedinteger]
People = Ints

SORTS = ("arrived", "returned", "stayed", "gone", "changed_quasi", "changed_value")
"""How people differ from the last release."""
SEVERAL_CORES = 200_000
"""Tables with fewer rows are compared by one core: another would take longer to begin."""


@dataclass(frozen=True, repr=False)
class Numbers:
    """Levels of a numeric column, ascending. Code 0 stands for a missing value where `missing` is set."""

    values: Floats
    """The number behind each code, as a float; NaN for the missing value at code 0."""
    dtype: pl.DataType
    """The type of the column in the table: integers, floats, dates or datetimes."""
    missing: bool
    """Whether code 0 is the missing value."""
    low: float
    """The lowest number of the domain: declared, or the lowest seen so far in the series."""
    high: float
    """The highest number of the domain."""

    def decode(self, codes: npt.ArrayLike) -> pl.Series:
        """The values behind codes, in the column's own type."""
        numbers = pl.Series(self.values[np.asarray(codes)])
        if self.missing:
            numbers = numbers.fill_nan(None)
        if self.dtype.is_float():
            return numbers.cast(self.dtype)
        return numbers.cast(pl.Int64).cast(self.dtype)


@dataclass(frozen=True, repr=False)
class Labels:
    """Levels of a plain categorical column, in their order. A missing value is the label MISSING."""

    labels: tuple[str, ...]
    """The label behind each code; all of the domain seen so far in the series."""

    def decode(self, codes: npt.ArrayLike) -> pl.Series:
        """The labels behind codes."""
        return enum_of(codes, self.labels)


@dataclass(frozen=True, repr=False)
class Leaves:
    """Levels of a column with a hierarchy: code c is the leaf at position c of `hierarchy.leaves`."""

    hierarchy: Hierarchy

    @property
    def labels(self) -> tuple[str, ...]:
        """The label behind each code."""
        return self.hierarchy.leaves

    def decode(self, codes: npt.ArrayLike) -> pl.Series:
        """The leaf labels behind codes."""
        return enum_of(codes, self.labels)


Levels = Numbers | Labels | Leaves


class Coded(NamedTuple):
    """A column of labels that are yet to be put in place of its codes; see `decoded`."""

    name: str
    codes: npt.NDArray[np.integer]
    labels: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Column:
    """One coded column: the order of codes is the order of values."""

    name: str
    codes: Codes
    levels: Levels

    def decode(self) -> pl.Series:
        """The column as it was in the table."""
        return self.levels.decode(self.codes).alias(self.name)

    def to_decode(self) -> pl.Series | Coded:
        """The same for `decoded`."""
        return self.decode() if isinstance(self.levels, Numbers) else Coded(self.name, self.codes, self.levels.labels)


@dataclass(frozen=True, repr=False)
class Snapshot:
    """One state of the private table: people, one row each, and what is known of them, their sensitive values.

    Each row has exactly one value, unless `owner` says whose each value is: then the rows are everybody registered, and
    people may have several values, or none, which makes them absent.
    """

    people: People
    """The number of each row's person in the series."""
    quasi: tuple[Column, ...]
    """The quasi-identifiers, in the order of the schema."""
    as_is: tuple[Column, ...]
    """The columns published as they are."""
    values: Column
    """The sensitive column, one code for each value."""
    schema: Schema
    """What the columns are."""
    owner: People | None = None
    """For each value the row of the person who has it; None: one value for each row, in their order."""

    def __len__(self) -> int:
        return self.people.size

    def __repr__(self) -> str:
        return f"Snapshot({len(self):,} people, {len(self.quasi)} quasi-identifiers)"

    @property
    def owners(self) -> People:
        """For each value the row of the person who has it."""
        return np.arange(len(self), dtype=np.int64) if self.owner is None else self.owner

    @property
    def present(self) -> int:
        """How many people have a value."""
        return len(self) if self.owner is None else int(np.count_nonzero(np.bincount(self.owner)))

    def for_form(self, form: str) -> Snapshot:
        """As methods see it: anatomised, columns published as they are stand beside the quasi-identifiers."""
        if form == "generalised":
            return self
        return replace(self, quasi=(*self.quasi, *self.as_is), as_is=())

    def frame(self, rows: slice = slice(None)) -> pl.DataFrame:
        """The rows, or some of them, with person numbers in place of ids, as they are kept in the ledger."""
        columns = [*self.quasi, *self.as_is, *([self.values] if self.owner is None else [])]
        people = pl.Series(PERSON, self.people[rows].astype(np.uint32))
        return decoded([people, *(replace(column, codes=column.codes[rows]).to_decode() for column in columns)])

    def facts(self) -> pl.DataFrame:
        """Every value with the number of the person who has it, as they are kept where they are not in the rows."""
        people = pl.Series(PERSON, self.people[self.owners].astype(np.uint32))
        return pl.DataFrame([people, self.values.decode()])


@dataclass(frozen=True, repr=False)
class Delta:
    """What changed since the last release, by person number, each array ascending."""

    arrived: People
    """People who were never in the series before."""
    returned: People
    """People who were in an earlier release, but not in the last."""
    stayed: People
    """People of the last release who are still here, changed or not."""
    gone: People
    """People of the last release who are no longer here."""
    changed_quasi: People
    """Of those who stayed: a quasi-identifier, or a column published as it is, differs."""
    changed_value: People
    """Of those who stayed: the sensitive value differs."""
    since: int = field(default=0)
    """The number of the last release; 0 when this is the first."""

    def __repr__(self) -> str:
        return f"Delta({', '.join(f'{name} {number:,}' for name, number in self.counts().items())})"

    def counts(self) -> dict[str, int]:
        """How many people there are of each sort."""
        return {name: getattr(self, name).size for name in SORTS}

    def narrow(self) -> Delta:
        """The same in half the room, for whoever only counts or looks up."""
        return replace(self, **{name: getattr(self, name).astype(np.uint32) for name in SORTS})

    @classmethod
    def between(cls, last: pl.DataFrame | None, now: pl.DataFrame, value: str, *, known: int, since: int) -> Delta:
        """Compare two frames of snapshots; people numbered below `known` have been in the series before."""
        here = now[PERSON].to_numpy()
        nobody = np.empty(0, dtype=np.int64)
        before = nobody if last is None else last[PERSON].to_numpy()
        # Person numbers are dense, so tables with a place for each find everybody in one pass, in their order.
        size = max(int(here.max(initial=0)), int(before.max(initial=0))) + 1
        place = np.full(size, -1, dtype=np.int32)
        place[before] = np.arange(before.size, dtype=np.int32)
        was, is_here = place >= 0, np.zeros(size, dtype=np.bool_)
        is_here[here] = True
        fresh = np.flatnonzero(is_here & ~was)
        if last is None:
            return cls(fresh, nobody, nobody, nobody, nobody, nobody, since)
        then = place[here]

        def differing(columns: list[str]) -> People:
            if not before.size:
                return nobody
            differs = np.zeros(here.size, dtype=np.bool_)
            compared = partial(_different, old, new, then)
            for found in map(compared, columns) if here.size < SEVERAL_CORES else at_once(compared, columns):
                differs |= found
            return np.sort(here[differs & (then >= 0)].astype(np.int64))

        old, new = _Compared.of(last), _Compared.of(now)
        shared = [name for name in now.columns if name in last.columns and name not in (PERSON, value)]
        return cls(
            arrived=fresh[fresh >= known],
            returned=fresh[fresh < known],
            stayed=np.flatnonzero(is_here & was),
            gone=np.flatnonzero(was & ~is_here),
            changed_quasi=differing(shared),
            changed_value=differing([value] if value in last.columns else []),
            since=since,
        )


def strata(snapshot: Snapshot) -> Ints:
    """For each row a number that is the same for rows equal in all columns published as they are."""
    numbers = np.zeros(len(snapshot), dtype=np.int64)
    for column in snapshot.as_is:
        combined = numbers * (int(column.codes.max(initial=0)) + 1) + column.codes
        numbers = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return numbers


def decoded(columns: Iterable[pl.Series | Coded]) -> pl.DataFrame:
    """Columns as a frame. One query puts in all labels: on a small table a query takes longer than its work."""
    made, labelled = [], []
    for column in columns:
        if isinstance(column, Coded):
            labelled.append(pl.col(column.name).cat.to(pl.Enum(list(column.labels))))
            column = pl.Series(column.name, column.codes)
        made.append(column)
    return pl.DataFrame(made).with_columns(labelled)


def enum_of(codes: npt.ArrayLike, labels: tuple[str, ...]) -> pl.Series:
    """Codes as a polars Enum over these labels."""
    return pl.Series(np.asarray(codes)).cat.to(pl.Enum(list(labels)))


def smallest_unsigned(size: int) -> type[np.unsignedinteger]:
    """The smallest unsigned type that holds codes 0 to size - 1."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


class _Compared(NamedTuple):
    """A frame that is compared with another."""

    frame: pl.DataFrame
    codes: pl.DataFrame
    """The same with codes in place of labels."""
    schema: pl.Schema

    @classmethod
    def of(cls, frame: pl.DataFrame) -> _Compared:
        return cls(frame, frame.with_columns(pl.col(pl.Enum).to_physical()), frame.schema)


def _different(last: _Compared, now: _Compared, rows: npt.NDArray[np.int32], name: str) -> Bools:
    """Where a column differs from what it was in these rows of the last frame; anything at -1.

    Labels are compared as codes, after the few labels have been matched.
    """
    different: Bools
    one, other = last.frame[name], now.frame[name]
    kind, other_kind = last.schema[name], now.schema[name]
    if isinstance(kind, pl.Enum) and isinstance(other_kind, pl.Enum):
        codes = last.codes[name].to_numpy()
        if kind != other_kind:
            code_of = {label: at for at, label in enumerate(other_kind.categories)}
            codes = np.array([code_of.get(label, -1) for label in kind.categories], dtype=np.int32)[codes]
        different = codes[rows] != now.codes[name].to_numpy()
        return different
    if kind == other_kind and kind.is_integer() and not one.null_count() and not other.null_count():
        different = one.to_numpy()[rows] != other.to_numpy()
        return different
    one = one.gather(np.where(rows < 0, 0, rows))
    if kind != other_kind:
        # The column's kind was changed by a new policy: values are the same if they read the same.
        one, other = one.cast(pl.String), other.cast(pl.String)
    return one.ne_missing(other).to_numpy()
