"""From a data frame to a Snapshot: every column checked and coded, all problems gathered.

What a column may bring is the schema's to say: its type, its range, its labels, missing values. What
earlier releases brought is the `Domain`. Problems name columns and counts; values only when asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import TypeVar, cast

import numpy as np
import polars as pl

from reissue.arrays.cores import COLUMNS_FROM, at_once
from reissue.arrays.randomness import generator, new_seed
from reissue.errors import PolicyError, TableError, count_of, listed
from reissue.model.domain import KEY, PERSON, Domain, Seen, in_order
from reissue.model.hierarchy import MISSING, Hierarchy
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.model.snapshot import Codes, Column, Labels, Leaves, Numbers, People, Snapshot, smallest_unsigned
from reissue.tables.by_column import ByColumn
from reissue.tables.held_types import as_held, ids_as_held, plain_labels
from reissue.tables.identities import pseudonym, pseudonyms
from reissue.tables.joining import joined, restored
from reissue.tables.labels import find_labels
from reissue.tables.people import KnownPeople
from reissue.tables.plain import plain_numbers, plain_text, type_of
from reissue.tables.plain_ids import plain_pseudonyms
from reissue.tables.room import COLUMNS_AT_ONCE

Result = TypeVar("Result")

NEAR_EACH_OTHER = 8
"""Whole numbers are ticked off where there are at most so many places for each."""
AT_ONCE = 1 << 18
"""So many at a time."""


@dataclass(frozen=True, repr=False)
class KnownBefore:
    """What is known of people and columns before a table is read."""

    people: KnownPeople | None = None
    """Everyone known so far."""
    next_number: int = 0
    """The number the next new person gets."""
    domain: Domain = field(default_factory=Domain)
    """What earlier tables brought."""
    key: bytes | None = None
    """The key for hashed ids; without one ids are kept as they are."""

    def numbers(self, ids: pl.Series) -> People:
        """The number of each id; -1 where nobody known has it."""
        return np.full(ids.len(), -1, dtype=np.int64) if self.people is None else self.people.numbers(ids)


@dataclass(frozen=True, repr=False)
class CodedTable:
    """A snapshot, the ids its new people came with, and the domain including this table."""

    snapshot: Snapshot
    new_ids: pl.Series
    """Ids seen for the first time; person numbers continue in this order, which is drawn at random."""
    domain: Domain
    extinct: pl.DataFrame | None = None
    """Those who have died or left for ever, now or before: `person`, a number. None where nobody asks."""
    new_plain: pl.Series | None = None
    """For each of the new ids, where ids are hashed and text, the hash of its plain form; None where they are not."""


def code_table(
    frame: ByColumn, schema: Schema, known: KnownBefore = KnownBefore(), *, show_values: bool = False
) -> CodedTable:
    """Check and code a table; raise one TableError with everything that is wrong with it."""
    coder = Coder(known.domain, show_values, known.people)
    coder.problems += role_problems(frame, schema)
    if frame.height == 0:
        raise unfit([*coder.problems, "it has no rows"], 0)

    def people() -> tuple[People, pl.Series, pl.Series | None] | None:
        """The numbers of people, the ids of new ones and the hashes of their plain forms; None where there were
        problems."""
        given = frame[schema.person] if schema.person in frame.columns else None
        ids = None if given is None else coder.people(given, known.key)
        if given is None or ids is None:
            return None
        numbers, new_ids = numbered(known.numbers(ids), ids, known.next_number)
        return numbers, new_ids, new_plain(given, numbers, known)

    found, columns = coder.columns(frame, schema.kinds, people)
    if coder.problems or found is None:
        raise unfit(coder.problems, frame.height)
    numbers, new_ids, plain = found
    coded = {name: column for name, column in columns.items() if column is not None}
    if schema.several:
        coded[schema.sensitive] = coder.records(coded, schema)
    return CodedTable(snapshot_of(numbers, coded, schema), new_ids, Domain(coder.domain), new_plain=plain)


def restore(rows: pl.DataFrame, schema: Schema, domain: Domain, facts: pl.DataFrame | None = None) -> Snapshot:
    """The snapshot that gave these rows and, where values are apart, these facts, under the same schema and domain."""

    def column(name: str, kind: Kind) -> Column:
        series = rows[name] if facts is None or name != schema.sensitive else facts[name]
        if isinstance(kind, Numeric):
            return _numbers(series, kind, domain.of(name, kind))
        text = series.cast(pl.String)
        if isinstance(kind, Hierarchy):
            return Column(name, kind.encode(text.replace({MISSING: None})).codes, Leaves(kind))
        return _labels(text, domain.columns[name].labels)

    apart = schema.sensitive_columns if schema.several else ()
    columns = {name: column(name, kind) for name, kind in schema.kinds.items() if name not in apart}
    if schema.several:
        columns[schema.sensitive] = restored(rows[schema.sensitive], schema, domain)
    people = rows[PERSON].to_numpy().astype(np.int64)
    if facts is None:
        return snapshot_of(people, columns, schema)
    order = np.argsort(people, kind="stable")
    owner = order[np.searchsorted(people, facts[PERSON].to_numpy().astype(np.int64), sorter=order)]
    return replace(snapshot_of(people, columns, schema), owner=owner)


def snapshot_of(people: People, columns: dict[str, Column], schema: Schema) -> Snapshot:
    """Columns by name as a snapshot."""
    return Snapshot(
        people=people,
        quasi=tuple(columns[name] for name in schema.quasi),
        as_is=tuple(columns[name] for name in schema.as_is),
        values=columns[schema.sensitive],
        schema=schema,
    )


def unfit(problems: Sequence[str], rows: int) -> TableError:
    """A table with so many rows has these problems."""
    return TableError(
        f"The table ({count_of(rows, 'row')}) does not fit the policy: {count_of(len(problems), 'problem')}.",
        problems=problems,
    )


def role_problems(frame: ByColumn, schema: Schema, *, needless: Collection[str] = ()) -> list[str]:
    """Columns that have no role, and columns that are missing; those that are needless may be."""
    problems = []
    roles = schema.roles
    without_role = [name for name in frame.columns if name not in roles]
    if without_role and _nothing_known(frame.columns, roles):
        problems.append(
            f"{count_of(len(without_role), 'column')}, and none of them, nor one with a name like it, is in the "
            "policy. If the file has no line with the names of columns, its first line is somebody's record: so names "
            "are not shown. Give the table the names that the policy has"
        )
    elif without_role:
        problems.append(
            f"{count_of(len(without_role), 'column')} without a role: {listed(without_role, limit=50)}; say in "
            "the policy whether each is the person, a quasi-identifier, the sensitive column, published as it "
            "is, or dropped"
        )
    for name, role in roles.items():
        if name not in frame.columns and role != "dropped" and name not in needless:
            near = get_close_matches(name, frame.columns, n=3)
            problems.append(f"there is no column '{name}' ({role})" + (f"; near: {listed(near)}" if near else ""))
    return problems


def _nothing_known(names: Sequence[str], roles: Collection[str]) -> bool:
    """Whether no name is that of a column of the policy, or like one: they may be the cells of a first row."""
    return not any(name in roles or get_close_matches(name, roles, n=1) for name in names)


def check_key(key: bytes, domain: Domain) -> Seen:
    """The mark a key leaves in the domain; with another key everybody would be somebody new."""
    mark = (pseudonym("the key of this series", key),)
    known = domain.columns.get(KEY)
    if known is not None and known.labels != mark:
        raise PolicyError(
            "The key file is not the key that the ids of this series were hashed with.",
            hint="put the right key in its place; without it the series cannot be continued.",
        )
    return Seen("key", "text", labels=mark)


class Coder:
    """Codes column after column and gathers what is wrong with each."""

    def __init__(self, seen: Domain, show_values: bool, known: KnownPeople | None = None) -> None:
        self.seen = seen
        self.known = known
        self.show_values = show_values
        self.problems: list[str] = []
        self.domain: dict[str, Seen] = dict(seen.columns)

    def people(self, ids: pl.Series, key: bytes | None, *, once: bool = True) -> pl.Series | None:
        """The id of each row as it is kept; None where there were problems. With `once` nobody may have two rows."""
        ids = plain_labels(ids.alias("id"))
        if not (ids.dtype.is_integer() or ids.dtype in (pl.String, pl.Categorical, pl.Enum)):
            self.problems.append(
                f"the person column holds {type_of(ids.dtype)}; ids are text or whole numbers{_instead(ids.dtype)}"
            )
            return None
        nulls = ids.null_count()
        ids = ids.cast(pl.Int64 if ids.dtype.is_integer() else pl.String, strict=False)
        if ids.null_count() > nulls:
            self.problems.append("the person column holds whole numbers beyond 2^63; give ids as text")
            return None
        before = self.seen.columns.get(PERSON)
        everyone = self.known.everyone if self.known is not None and key is None else None
        ids = ids_as_held(ids, before.type if before else None, everyone)
        ok = self._same_type(before, "the person column", ids)
        if nulls:
            self.problems.append(f"the person column is empty in {count_of(nulls, 'row')}")
        duplicated = ids.len() - nulls - _different(ids.drop_nulls())
        if duplicated and once:
            self.problems.append(
                f"{count_of(duplicated, 'row')} too many: a person has more than one row; keep one row for "
                "each, or say in 'events' of the schema which one stands for them"
            )
        if nulls or (duplicated and once) or not ok:
            return None
        self.domain[PERSON] = Seen("person", type_of(ids.dtype))
        if key is None:
            return ids
        self.domain[KEY] = check_key(key, self.seen)
        return pseudonyms(ids, key)

    def columns(
        self, frame: ByColumn, kinds: Mapping[str, Kind], first: Callable[[], Result]
    ) -> tuple[Result, dict[str, Column | None]]:
        """What the first job gives, and all columns that are there, at once; problems in the order of one by one."""
        there = {name: kind for name, kind in kinds.items() if name in frame.columns}
        if frame.height < COLUMNS_FROM:
            return first(), {name: self.column(frame[name], kind) for name, kind in there.items()}
        coders = [Coder(self.seen, self.show_values) for _ in there]

        def coded_by(coder: Coder, name: str, kind: Kind) -> Column | None:
            return coder.column(frame[name], kind)

        jobs: list[Callable[[], Column | Result | None]] = [
            partial(coded_by, coder, name, kind) for coder, (name, kind) in zip(coders, there.items(), strict=True)
        ]
        most = None if isinstance(frame, pl.DataFrame) else COLUMNS_AT_ONCE
        # The first job may ask the ledger, which this thread has opened; so it is the last, which is done here.
        *coded, result = at_once(lambda job: job(), [*jobs, first], most)
        for coder in coders:
            self.problems += coder.problems
            self.domain |= {name: seen for name, seen in coder.domain.items() if self.seen.columns.get(name) != seen}
        return cast(Result, result), dict(zip(there, cast("list[Column | None]", coded), strict=True))

    def records(self, columns: Mapping[str, Column], schema: Schema) -> Column:
        """Several sensitive columns as one, with the records of earlier tables among its levels."""
        known = self.seen.columns.get(schema.sensitive)
        parts = [columns[name] for name in schema.sensitive_columns]
        made = joined(parts, schema.sensitive, known.labels if known else ())
        assert isinstance(made.levels, Labels)
        self.domain[schema.sensitive] = Seen("categorical", "text", labels=made.levels.labels)
        return made

    def column(self, series: pl.Series, kind: Kind) -> Column | None:
        """One column, coded after its kind; None where there were problems."""
        try:
            return self._coded(series, kind)
        except pl.exceptions.PanicException:  # when a text that is none comes to be listed
            self._say(series, "holds text that is not UTF-8, or is not sound otherwise; write the table anew")
            return None

    def _coded(self, series: pl.Series, kind: Kind) -> Column | None:
        known = self.seen.of(series.name, kind)
        if isinstance(kind, Numeric):
            return self._numeric(series, kind, known)
        if isinstance(kind, Hierarchy):
            return self._leaves(series, kind, known)
        return self._labelled(series, kind, known)

    def _say(self, series: pl.Series, problem: str) -> None:
        self.problems.append(f"column '{series.name}': {problem}")

    def _same_type(self, known: Seen | None, what: str, series: pl.Series) -> bool:
        held, holds = known.type if known else "nothing", type_of(series.dtype)
        if held in (holds, "nothing") or series.null_count() == series.len():
            return True
        self.problems.append(
            f"{what} holds {holds}, but held {held} in earlier releases; changed types are refused: convert it back, "
            "written as it was"
        )
        return False

    def _missing(self, series: pl.Series, policy: str) -> bool:
        nulls = series.null_count()
        if nulls and policy == "refuse":
            self._say(
                series,
                f'{count_of(nulls, "missing value")}; remove the rows, or set missing = "value" to treat '
                "missing as a value of its own",
            )
            return False
        return True

    def _values(self, values: Sequence[object]) -> str:
        """Values for a message, when the caller asked for them."""
        if not self.show_values:
            return " (--show-values lists them)"
        shown = ", ".join(repr(value) for value in values[:10])
        return f": {shown}" + (f" and {len(values) - 10} more" if len(values) > 10 else "")

    def _numeric(self, series: pl.Series, kind: Numeric, known: Seen | None) -> Column | None:
        plain = plain_numbers(series, known.type if known else None)
        if isinstance(plain, str):
            self._say(series, plain)
            return None
        ok = self._same_type(known, f"column '{series.name}'", plain)
        if plain.dtype.is_temporal() and (kind.low is not None or kind.high is not None):
            self._say(series, "holds dates or times, but the policy declares a range of numbers; leave it out")
            ok = False
        if not (self._missing(plain, kind.missing) & (ok and self._in_range(plain, kind, known))):
            return None
        column = _numbers(plain, kind, known)
        present = column.levels.values[1:] if column.levels.missing else column.levels.values
        if present.size:
            low = min(float(present[0]), known.low) if known and known.low is not None else float(present[0])
            high = max(float(present[-1]), known.high) if known and known.high is not None else float(present[-1])
            self.domain[series.name] = Seen("numeric", type_of(plain.dtype), low, high)
        return column

    def _in_range(self, series: pl.Series, kind: Numeric, known: Seen | None) -> bool:
        if kind.wider == "accept":
            return True
        low = kind.low if kind.low is not None else known.low if known else None
        high = kind.high if kind.high is not None else known.high if known else None
        numbers = series.to_physical()
        below = numbers < low if low is not None else pl.repeat(False, series.len(), eager=True)
        above = numbers > high if high is not None else pl.repeat(False, series.len(), eager=True)
        outside = series.filter(below | above)
        if outside.len():
            shown = self._values(outside.unique().sort().to_list())
            self._say(
                series,
                f"{count_of(outside.len(), 'number')} outside the range of the policy or of earlier releases{shown}; "
                'correct them, declare a wider range, or set wider = "accept"',
            )
        return outside.len() == 0

    def _labelled(self, series: pl.Series, kind: Categorical, known: Seen | None) -> Column | None:
        before = {*kind.values, *(known.labels if known else ())}
        series = as_held(plain_labels(series), known.type if known else None, lambda: _texts(before))
        missing = {MISSING} if series.null_count() else set()
        found = find_labels(series, {*before, *missing}, partial(in_order, kind=kind))
        if found is None:
            self._no_labels(series)
            return None
        ok = self._same_type(known, f"column '{series.name}'", series) & self._missing(series, kind.missing)
        used = found.used
        if MISSING in used:
            self._say(series, f"holds the label {MISSING!r} itself, which stands for a missing value")
            ok = False
        unseen = sorted(set(used) - before)
        if kind.new == "refuse" and before - {MISSING} and unseen:
            self._say(
                series,
                f"{count_of(len(unseen), 'new label')} in {count_of(found.count(unseen), 'row')}"
                f'{self._values(unseen)}; correct them, declare them in the policy, or set new = "accept"',
            )
            ok = False
        if not ok:
            return None
        labels = in_order({*before, *used, *missing}, kind)
        type_ = known.type if known and not used else type_of(series.dtype)
        self.domain[series.name] = Seen("categorical", type_, labels=labels)
        return Column(series.name, found.coded(labels, MISSING), Labels(labels))

    def _no_labels(self, series: pl.Series) -> None:
        holds, instead = type_of(series.dtype), _instead(series.dtype)
        self._say(series, f"holds {holds}; labels are text, whole numbers, dates or yes and no{instead}")

    def _leaves(self, series: pl.Series, kind: Hierarchy, known: Seen | None) -> Column | None:
        series = as_held(plain_labels(series), known.type if known else None, lambda: _texts(kind.leaves))
        text = plain_text(series)
        if text is None:
            self._no_labels(series)
            return None
        ok = self._same_type(known, f"column '{series.name}'", series) & self._missing(text, kind.missing)
        encoded = kind.encode(text)
        if encoded.uncovered:
            labels = encoded.uncovered_labels()
            self._say(
                series,
                f"{count_of(len(labels), 'label')} in {count_of(encoded.uncovered, 'row')} not in the hierarchy"
                f"{self._values(labels)}; add them to the hierarchy or correct the table",
            )
            ok = False
        if not ok:
            return None
        all_missing = text.null_count() == text.len()
        self.domain[series.name] = known if known and all_missing else Seen("hierarchy", type_of(series.dtype))
        return Column(series.name, encoded.codes, Leaves(kind))


def _different(ids: pl.Series) -> int:
    """How many different ids there are; whole numbers without large gaps are ticked off, which takes little room."""
    if ids.dtype.is_integer() and ids.len():
        low, high = cast(int, ids.min()), cast(int, ids.max())
        if high - low < NEAR_EACH_OTHER * ids.len():
            there = np.zeros(high - low + 1, dtype=np.bool_)
            for begin in range(0, ids.len(), AT_ONCE):
                there[ids.slice(begin, AT_ONCE).to_numpy() - low] = True
            return int(np.count_nonzero(there))
    return ids.n_unique()


def _texts(labels: Collection[str]) -> pl.Series:
    return pl.Series([label for label in labels if label != MISSING], dtype=pl.String)


def _instead(dtype: pl.DataType) -> str:
    """What to do about a type that is not taken."""
    if dtype.is_float() or dtype.is_decimal():
        return ": round them, write them as text, or declare the column as numeric"
    if isinstance(dtype, pl.Datetime):
        return ": take their dates, or declare the column as numeric"
    steps = {
        pl.Binary: "decode them to text",
        pl.Duration: "make numbers of them, such as days",
        pl.Time: "write them as text",
    }
    step = steps.get(dtype.base_type(), "make a column of text or numbers of each part" if dtype.is_nested() else "")
    return f": {step}, or drop the column" if step else ""


def numbered(numbers: People, ids: pl.Series, next_number: int) -> tuple[People, pl.Series]:
    """Number the people at -1, in an order drawn at random: the order of rows may tell their values.

    No seed repeats it: nothing that is published depends on these numbers.
    """
    drawn, rng = np.flatnonzero(numbers < 0), generator(new_seed())
    rng.shuffle(drawn)
    numbers[drawn] = np.arange(next_number, next_number + drawn.size, dtype=np.uint32)
    # NumPy gathers numbers in a fraction of the time.
    return numbers, ids.gather(drawn) if ids.dtype != pl.Int64 else pl.Series(ids.name, ids.to_numpy()[drawn])


def new_plain(ids: pl.Series, numbers: People, known: KnownBefore) -> pl.Series | None:
    """The hashes of the plain forms of new people's ids, in the order of their numbers; None where ids are kept."""
    if known.key is None or ids.dtype.is_integer():
        return None
    new = np.flatnonzero(numbers >= known.next_number)
    return plain_pseudonyms(ids.gather(new[np.argsort(numbers[new])]).cast(pl.String), known.key)


@dataclass(frozen=True, repr=False)
class _NumberColumn(Column):
    levels: Numbers


def _numbers(series: pl.Series, kind: Numeric, known: Seen | None) -> _NumberColumn:
    """A column of plain numbers, coded in ascending order."""
    missing = 1 if series.null_count() else 0
    physical = series.to_physical()
    present = physical.drop_nulls()
    low, high = (float(present.min()), float(present.max())) if present.len() else (0.0, -1.0)  # type: ignore[arg-type]
    if not series.dtype.is_float() and high - low < max(1 << 16, 2 * series.len()):
        # Whole numbers in a narrow range: the code is the distance from the lowest.
        values = np.arange(int(low), int(high) + 1, dtype=np.float64)
        distance = physical if physical.dtype == pl.Int64 else physical.cast(pl.Int64)
        codes = (distance + (missing - int(low))).fill_null(0)
    else:
        values = present.unique().sort().cast(pl.Float64).to_numpy() + 0.0  # -0.0 and 0.0 are one number
        codes = (physical.rank("dense").cast(pl.Int64) - 1 + missing).fill_null(0)
    seen = (known.low, known.high) if known else ()
    bounds = [float(bound) for bound in (kind.low, kind.high, *seen) if bound is not None]
    bounds += [low, high] if present.len() else []
    if missing:
        values = np.concatenate([[np.nan], values])
    levels = Numbers(values, series.dtype, bool(missing), min(bounds, default=0.0), max(bounds, default=0.0))
    return _NumberColumn(series.name, codes.to_numpy().astype(smallest_unsigned(values.size)), levels)


def _labels(text: pl.Series, labels: tuple[str, ...]) -> Column:
    codes: Codes = text.cast(pl.Enum(list(labels))).to_physical().to_numpy()
    return Column(text.name, codes.astype(smallest_unsigned(len(labels)), copy=False), Labels(labels))
