"""From a data frame to a Snapshot: every column checked and coded, all problems gathered.

What a column may bring is the schema's to say: its type, its range, its labels, missing values. What
earlier releases brought is the `Domain`. Problems name columns and counts; values only when asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import PolicyError, TableError, count_of, listed
from reissue.hierarchy import MISSING, Hierarchy
from reissue.identities import pseudonym, pseudonyms
from reissue.schema import Categorical, Kind, Numeric, Schema
from reissue.snapshot import Codes, Column, Labels, Leaves, Numbers, People, Snapshot, smallest_unsigned

EXACT = 2**53
"""Whole numbers beyond this are not all exact as floats, so they cannot be coded."""


@dataclass(frozen=True)
class Seen:
    """What one column brought in earlier releases."""

    type: str
    """In the words of a user: whole numbers, decimals, text, yes or no, dates, times."""
    low: float | None = None
    high: float | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Domain:
    """What every column brought so far in the series; grows from release to release."""

    columns: dict[str, Seen] = field(default_factory=dict)

    def frame(self) -> pl.DataFrame:
        """As it is kept in the ledger."""
        return pl.DataFrame(
            {
                "column": list(self.columns),
                "type": [seen.type for seen in self.columns.values()],
                "low": [seen.low for seen in self.columns.values()],
                "high": [seen.high for seen in self.columns.values()],
                "labels": [list(seen.labels) for seen in self.columns.values()],
            },
            schema={
                "column": pl.String,
                "type": pl.String,
                "low": pl.Float64,
                "high": pl.Float64,
                "labels": pl.List(pl.String),
            },
        )

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Domain:
        """Read back what `frame` gave."""
        rows = frame.iter_rows(named=True)
        return cls({r["column"]: Seen(r["type"], r["low"], r["high"], tuple(r["labels"])) for r in rows})


@dataclass(frozen=True, repr=False)
class Coded:
    """A snapshot, the ids its new people came with, and the domain including this table."""

    snapshot: Snapshot
    new_ids: pl.Series
    """Ids seen for the first time; person numbers continue in this order."""
    domain: Domain


def code_table(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    people: pl.DataFrame | None = None,
    next_number: int = 0,
    domain: Domain | None = None,
    key: bytes | None = None,
    show_values: bool = False,
) -> Coded:
    """Check and code a table; raise one TableError with everything that is wrong with it.

    `people` has the columns `number` and `id` of everyone known so far. With a `key` ids are kept as
    keyed hashes.
    """
    problems = _role_problems(frame, schema)
    if not problems and frame.height == 0:
        problems.append("it has no rows")
    if problems:
        raise _unfit(problems, frame.height)
    coder = _Coder(domain or Domain(), show_values)
    numbers, new_ids = coder.people(frame[schema.person], people, next_number, key)
    quasi = [coder.column(frame[name], kind) for name, kind in schema.quasi.items()]
    as_is = [coder.column(frame[name], kind) for name, kind in schema.as_is.items()]
    values = coder.column(frame[schema.sensitive], schema.sensitive_kind)
    if coder.problems or numbers is None or values is None:
        raise _unfit(coder.problems, frame.height)
    snapshot = Snapshot(
        people=numbers,
        quasi=tuple(column for column in quasi if column),
        as_is=tuple(column for column in as_is if column),
        values=values,
        schema=schema,
    )
    return Coded(snapshot, new_ids, Domain(coder.domain))


def restore(rows: pl.DataFrame, schema: Schema, domain: Domain) -> Snapshot:
    """The snapshot that `Snapshot.frame` gave these rows for, under the same schema and domain."""

    def column(name: str, kind: Kind) -> Column:
        series = rows[name]
        if isinstance(kind, Numeric):
            values, codes = _number_codes(series)
            seen = domain.columns[name]
            missing = bool(np.isnan(values[0]))
            return Column(
                name,
                codes,
                Numbers(values, series.dtype, missing, float(seen.low or 0), float(seen.high or 0)),
            )
        if isinstance(kind, Hierarchy):
            return Column(name, kind.encode(series.cast(pl.String)).codes, Leaves(kind))
        labels = domain.columns[name].labels
        codes = series.cast(pl.String).cast(pl.Enum(list(labels))).to_physical().to_numpy()
        return Column(name, codes.astype(smallest_unsigned(len(labels)), copy=False), Labels(labels))

    return Snapshot(
        people=rows["person"].to_numpy().astype(np.int64),
        quasi=tuple(column(name, kind) for name, kind in schema.quasi.items()),
        as_is=tuple(column(name, kind) for name, kind in schema.as_is.items()),
        values=column(schema.sensitive, schema.sensitive_kind),
        schema=schema,
    )


def _unfit(problems: Sequence[str], rows: int) -> TableError:
    return TableError(
        f"The table ({count_of(rows, 'row')}) does not fit the policy: {count_of(len(problems), 'problem')}.",
        problems=problems,
    )


def _role_problems(frame: pl.DataFrame, schema: Schema) -> list[str]:
    problems = []
    roles = schema.roles
    without_role = [name for name in frame.columns if name not in roles]
    if without_role:
        problems.append(
            f"{count_of(len(without_role), 'column')} without a role: {listed(without_role, limit=50)}; say in "
            "the policy whether each is the person, a quasi-identifier, the sensitive column, published as it "
            "is, or dropped"
        )
    for name, role in roles.items():
        if name not in frame.columns and role != "dropped":
            near = get_close_matches(name, frame.columns, n=3)
            problems.append(f"there is no column '{name}' ({role})" + (f"; near: {listed(near)}" if near else ""))
    return problems


class _Coder:
    """Codes column after column and gathers what is wrong with each."""

    def __init__(self, seen: Domain, show_values: bool) -> None:
        self.seen = seen.columns
        self.show_values = show_values
        self.problems: list[str] = []
        self.domain: dict[str, Seen] = dict(seen.columns)

    def people(
        self, ids: pl.Series, people: pl.DataFrame | None, next_number: int, key: bytes | None
    ) -> tuple[People | None, pl.Series]:
        """The person number of each row, and the ids that are new."""
        ids = ids.alias("id")
        nothing = ids.clear()
        if not (ids.dtype.is_integer() or ids.dtype in (pl.String, pl.Categorical, pl.Enum)):
            self.problems.append(f"the person column holds {type_of(ids.dtype)}; ids are text or whole numbers")
            return None, nothing
        ids = ids.cast(pl.Int64 if ids.dtype.is_integer() else pl.String)
        ok = self._same_type("(person)", "the person column", ids)
        nulls = ids.null_count()
        if nulls:
            self.problems.append(f"the person column is empty in {count_of(nulls, 'row')}")
        duplicated = ids.len() - nulls - ids.drop_nulls().n_unique()
        if duplicated:
            self.problems.append(
                f"{count_of(duplicated, 'row')} too many: a person has more than one row; keep one row per person"
            )
        if nulls or duplicated or not ok:
            return None, nothing
        self.domain["(person)"] = Seen(type_of(ids.dtype))
        if key is not None:
            self._same_key(key)
            ids = pseudonyms(ids, key)
        if people is None or people.height == 0:
            return np.arange(next_number, next_number + ids.len(), dtype=np.int64), ids
        joined = ids.to_frame().join(people, on="id", how="left", maintain_order="left")
        numbers = joined["number"].cast(pl.Int64)
        new = numbers.is_null()
        filled = numbers.fill_null(-1).to_numpy().copy()
        filled[filled < 0] = np.arange(next_number, next_number + int(new.sum()))
        return filled, ids.filter(new)

    def _same_key(self, key: bytes) -> None:
        """With another key everybody would be somebody new, and no release would protect the others."""
        mark = Seen("key", labels=(pseudonym("the key of this series", key),))
        if self.seen.get("(key)", mark) != mark:
            raise PolicyError(
                "The key file is not the key that the ids of this series were hashed with.",
                hint="put the right key in its place; without it the series cannot be continued.",
            )
        self.domain["(key)"] = mark

    def column(self, series: pl.Series, kind: Kind) -> Column | None:
        """One column, coded after its kind; None where there were problems."""
        if isinstance(kind, Numeric):
            return self._numeric(series, kind)
        if isinstance(kind, Hierarchy):
            return self._leaves(series, kind)
        return self._labels(series, kind)

    def _say(self, series: pl.Series, problem: str) -> None:
        self.problems.append(f"column '{series.name}': {problem}")

    def _same_type(self, key: str, what: str, series: pl.Series) -> bool:
        known = self.seen.get(key)
        if known is None or known.type == type_of(series.dtype):
            return True
        self.problems.append(
            f"{what} holds {type_of(series.dtype)}, but held {known.type} in earlier releases; changed types are "
            "refused: convert it back"
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

    def _numeric(self, series: pl.Series, kind: Numeric) -> Column | None:
        series = _exact(series)
        if not (series.dtype.is_numeric() or series.dtype in (pl.Date, pl.Datetime)):
            self._say(series, f"holds {type_of(series.dtype)}; Numeric needs numbers, dates or times")
            return None
        known = self.seen.get(series.name)
        if known and known.type == "whole numbers" and series.dtype.is_float():
            # 5.0 for 5 is how some libraries store whole numbers beside missing ones: not a change.
            whole = series.drop_nulls()
            if whole.is_finite().all() and (whole == whole.round()).all():
                series = series.cast(pl.Int64)
        elif known and known.type == "decimals" and series.dtype.is_integer():
            series = series.cast(pl.Float64)
        ok = self._same_type(series.name, f"column '{series.name}'", series) & self._missing(series, kind.missing)
        if series.dtype.is_float() and series.is_infinite().any():
            self._say(series, f"{count_of(int(series.is_infinite().sum()), 'number')} not finite")
            ok = False
        if series.dtype.is_temporal() and (kind.low is not None or kind.high is not None):
            self._say(series, "holds dates or times, but the policy declares a range of numbers; leave it out")
            return None
        physical = series.to_physical().drop_nulls()
        if not series.dtype.is_float() and physical.len() and float(physical.cast(pl.Float64).abs().max()) >= EXACT:  # type: ignore[arg-type]
            self._say(series, "holds whole numbers beyond 2^53, which cannot be told apart exactly")
            ok = False
        ok &= self._in_range(series, physical, kind, known)
        if not ok:
            return None
        values, codes = _number_codes(series)
        bounds = [bound for bound in (kind.low, kind.high) if bound is not None]
        bounds += [bound for bound in (known.low, known.high) if bound is not None] if known else []
        bounds += [float(bound) for bound in (np.nanmin(values), np.nanmax(values))] if physical.len() else []
        low, high = (float(min(bounds)), float(max(bounds))) if bounds else (0.0, 0.0)
        self.domain[series.name] = Seen(type_of(series.dtype), low, high)
        return Column(series.name, codes, Numbers(values, series.dtype, bool(np.isnan(values[0])), low, high))

    def _in_range(self, series: pl.Series, physical: pl.Series, kind: Numeric, known: Seen | None) -> bool:
        if kind.wider == "accept":
            return True
        low = kind.low if kind.low is not None else known.low if known else None
        high = kind.high if kind.high is not None else known.high if known else None
        outside = physical.filter(
            (physical < low if low is not None else pl.repeat(False, physical.len(), eager=True))
            | (physical > high if high is not None else pl.repeat(False, physical.len(), eager=True))
        )
        if outside.len():
            shown = self._values(outside.unique().sort().cast(series.dtype).to_list())
            self._say(
                series,
                f"{count_of(outside.len(), 'number')} outside the range of the policy or of earlier releases{shown}; "
                'correct them, declare a wider range, or set wider = "accept"',
            )
        return outside.len() == 0

    def _text(self, series: pl.Series) -> pl.Series | None:
        if series.dtype in (pl.String, pl.Categorical, pl.Enum):
            return series.cast(pl.String)
        if series.dtype.is_integer() or series.dtype in (pl.Boolean, pl.Date):
            return series.cast(pl.String)
        self._say(series, f"holds {type_of(series.dtype)}; labels are text, whole numbers, dates or yes and no")
        return None

    def _labels(self, series: pl.Series, kind: Categorical) -> Column | None:
        text = self._text(series)
        if text is None:
            return None
        ok = self._same_type(series.name, f"column '{series.name}'", series) & self._missing(text, kind.missing)
        used = text.unique().drop_nulls().sort().to_list()
        if MISSING in used:
            self._say(series, f"holds the label {MISSING!r} itself, which stands for a missing value")
            ok = False
        known = self.seen.get(series.name)
        before = [*kind.values, *(known.labels if known else ())]
        if kind.new == "refuse" and before:
            unseen = sorted(set(used) - set(before))
            if unseen:
                rows = int(text.is_in(unseen).sum())
                self._say(
                    series,
                    f"{count_of(len(unseen), 'new label')} in {count_of(rows, 'row')}{self._values(unseen)}; correct "
                    'them, declare them in the policy, or set new = "accept"',
                )
                ok = False
        if not ok:
            return None
        # Declared labels in their order, then what was not declared in alphabetical order.
        others = sorted((set(before) | set(used)) - set(kind.values) - {MISSING})
        labels = (*kind.values, *others)
        if text.null_count() or MISSING in before:
            labels = (MISSING, *labels)
            text = text.fill_null(MISSING)
        self.domain[series.name] = Seen(type_of(series.dtype), labels=labels)
        codes = text.cast(pl.Enum(list(labels))).to_physical().to_numpy()
        return Column(series.name, codes.astype(smallest_unsigned(len(labels)), copy=False), Labels(labels))

    def _leaves(self, series: pl.Series, kind: Hierarchy) -> Column | None:
        text = self._text(series)
        if text is None:
            return None
        ok = self._same_type(series.name, f"column '{series.name}'", series) & self._missing(text, kind.missing)
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
        self.domain[series.name] = Seen(type_of(series.dtype))
        return Column(series.name, encoded.codes, Leaves(kind))


def type_of(dtype: pl.DataType) -> str:
    """A column's type in the words of a user."""
    if dtype.is_integer():
        return "whole numbers"
    if dtype.is_float() or dtype.is_decimal():
        return "decimals"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    names = {pl.Boolean: "yes or no", pl.Date: "dates", pl.Datetime: "times"}
    return next((name for known, name in names.items() if dtype == known), f"values of type {dtype}")


def _exact(series: pl.Series) -> pl.Series:
    """Types that mean the same made the same: NaN is missing, times count in microseconds."""
    if series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    if series.dtype.is_float():
        return series.fill_nan(None)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_unit != "us":
        return series.dt.cast_time_unit("us")
    return series


def _number_codes(series: pl.Series) -> tuple[npt.NDArray[np.float64], Codes]:
    """The ascending numbers behind the codes (NaN first when some are missing), and the codes."""
    missing = 1 if series.null_count() else 0
    physical = series.to_physical()
    present = physical.drop_nulls()
    low, high = (float(present.min()), float(present.max())) if present.len() else (0.0, -1.0)  # type: ignore[arg-type]
    if not series.dtype.is_float() and high - low < max(1 << 16, 2 * series.len()):
        # Whole numbers in a narrow range: the code is the distance from the lowest.
        values = np.arange(int(low), int(high) + 1, dtype=np.float64)
        codes = (physical.cast(pl.Int64) - int(low) + missing).fill_null(0)
    else:
        values = present.unique().sort().cast(pl.Float64).to_numpy()
        codes = (physical.rank("dense").cast(pl.Int64) - 1 + missing).fill_null(0)
    if missing:
        values = np.concatenate([[np.nan], values])
    return values, codes.to_numpy().astype(smallest_unsigned(values.size))
