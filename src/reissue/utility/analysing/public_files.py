"""Public releases as a recipient has them: folders, exported files, releases of this library, or tables by name.

Nothing is read before it is asked for, and of Parquet files only the columns that are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import polars as pl

from reissue.errors import ParameterError, TableError, listed
from reissue.model.hierarchy import MISSING, Hierarchy
from reissue.model.records import record_cells
from reissue.model.release import Release
from reissue.model.schema import TOGETHER
from reissue.tables.data_packages import SentTable, sent_hierarchies, sent_tables
from reissue.tables.frames import PART, READABLE, Library, read_in_parts, read_table, understood
from reissue.tables.joining import read_cells
from reissue.tables.recode_sets import COMBINATIONS, DESIGN, ROOMS
from reissue.tables.set_views import FORM, record_labels
from reissue.utility.analysing.conditions import QuasiColumns, interval_columns

Form = Literal["alternatives", "generalised", "anatomised"]
RECORD = "release.json"
TABLES = ("table", "quasi", "sensitive", DESIGN, COMBINATIONS, ROOMS, "counterfeits")


class PublicRelease:
    """One release: its record, where there is one, and its tables."""

    def __init__(
        self,
        number: int,
        tables: Mapping[str, object],
        record: Mapping[str, Any] | None,
        hierarchies: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        """`hierarchies` are those that were sent with it, by column."""
        self.number = number
        self._hierarchies = hierarchies
        self.record = record
        self._given = dict(tables)
        self._read: dict[str, pl.DataFrame] = {}
        self.library: Library | None = None
        self.form = self._form()

    def _form(self) -> Form:
        names = set(self._given) - {"counterfeits", COMBINATIONS, ROOMS}
        forms: dict[frozenset[str], Form] = {
            frozenset({"table", DESIGN}): FORM,  # type: ignore[dict-item]
            frozenset({"table"}): "generalised",
            frozenset({"quasi", "sensitive"}): "anatomised",
        }
        if frozenset(names) not in forms:
            raise ParameterError(
                "A release must hold 'table', or 'quasi' and 'sensitive', or 'table' and 'design'. "
                f"Got {listed(sorted(names)) or 'nothing'} instead."
            )
        return forms[frozenset(names)]

    @property
    def main(self) -> str:
        """The table with a row for each person."""
        return "quasi" if self.form == "anatomised" else "table"

    def has(self, name: str) -> bool:
        """Whether there is such a table."""
        return name in self._given

    def columns(self, name: str) -> list[str]:
        """The columns of a table."""
        given = self._given[name]
        if name in self._read or not isinstance(given, Path) or given.suffix != ".parquet":
            return self._as_published(name).columns
        return _footer(given)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A table, or some columns of it."""
        given = self._given[name]
        if columns is not None and not columns:
            return pl.DataFrame()
        if self._joins(name) and (columns is None or self.sensitive in columns):
            return self._joined(name, columns)
        if name not in self._read and isinstance(given, Path) and given.suffix == ".parquet" and columns is not None:
            return read_table(given, columns=list(dict.fromkeys(columns)))[0]
        frame = self._as_published(name)
        return frame if columns is None else frame.select(list(dict.fromkeys(columns)))

    def _as_published(self, name: str) -> pl.DataFrame:
        """A table just as it is."""
        if name not in self._read:
            given = self._given[name]
            if isinstance(given, SentTable):
                self._read[name] = given.read()
                return self._read[name]
            frame, library = read_table(given, text=self._texts(name))
            self._read[name] = frame
            self.library = self.library or (None if isinstance(given, Path | str) else library)
        return self._read[name]

    def _joins(self, name: str) -> bool:
        """Whether a table has several sensitive columns, which are read as one column of records."""
        of_values = {"generalised": "table", "anatomised": "sensitive"}.get(self.form)
        return name == of_values and len(self.sensitive_columns) > 1

    def _joined(self, name: str, columns: Sequence[str] | None) -> pl.DataFrame:
        """A table, or some columns of it, with records in place of the sensitive columns."""
        apart = list(self.sensitive_columns)
        wanted = [one for one in (self.columns(name) if columns is None else columns) if one != self.sensitive]
        frame = self.table(name, [*(one for one in wanted if one not in apart), *apart])
        records = pl.Series(self.sensitive, record_labels(frame, apart), dtype=pl.String)
        return frame.drop(apart).with_columns(records)

    def parts(self, name: str, columns: Sequence[str]) -> list[Callable[[], pl.DataFrame]]:
        """Some columns of a table in parts, each of which is read when it is called."""
        given = self._given[name]
        if name not in self._read and isinstance(given, Path) and given.suffix == ".parquet":
            return read_in_parts(given, columns)
        frame = self.table(name, columns)
        return [partial(frame.slice, begin, PART) for begin in range(0, max(frame.height, 1), PART)]

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self.record is not None:
            return int(self.record["rows"])
        return self.table(self.main).height

    def _texts(self, name: str) -> list[str]:
        """The columns of labels, which a CSV file may write like numbers."""
        labels = [column for column, kind in self.sensitive_kinds.items() if kind == "categorical"]
        if name != self.main:
            return labels if name == "sensitive" else []
        own = [column for column, kind in self.kinds.items() if kind in ("categorical", "hierarchy")]
        return [*own, *(labels if self.form == "generalised" else [])]

    @property
    def kinds(self) -> Mapping[str, str]:
        """What the record says the quasi-identifiers are; nothing where there is none."""
        return {} if self.record is None else self.record["columns"]

    @property
    def sensitive_kinds(self) -> Mapping[str, str]:
        """What the record says the sensitive columns are; nothing where there is none, or it is of an older version."""
        named = () if self.record is None else self.record.get("sensitive", ())
        return {str(one["column"]): str(one["kind"]) for one in named}

    @property
    def method(self) -> str | None:
        """The method's name; None where no record says it."""
        return None if self.record is None else str(self.record["method"]["name"])

    @property
    def design(self) -> Mapping[str, Any]:
        """What the record says of how sets are drawn; nothing where there is none."""
        return {} if self.record is None else self.record.get("design", {})

    @cached_property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The sensitive columns: they stand last, beside `group` and `count` where values are apart.

        Without a record that names them it is taken to be one, but for what tables say themselves.
        """
        if self.sensitive_kinds:
            return tuple(self.sensitive_kinds)
        if self.form == "anatomised":
            return tuple(name for name in self.columns("sensitive") if name not in ("group", "count"))
        if self.has(ROOMS):
            return tuple(self._as_published(ROOMS)["column"].unique(maintain_order=True).to_list())
        return (self.columns("table")[-1],)

    @property
    def sensitive(self) -> str:
        """The sensitive column; of several the names of all, as one."""
        return TOGETHER.join(self.sensitive_columns)

    def columns_of(self, values: pl.Series) -> dict[str, pl.Series]:
        """For each sensitive column which value of it every value of a list has: itself, or a part of a record."""
        if len(self.sensitive_columns) == 1:
            return {self.sensitive: values}
        cells = [record_cells(text, len(self.sensitive_columns)) for text in values.to_list()]
        return {
            name: _typed(pl.Series(name, [row[at] for row in cells], dtype=pl.String), self.sensitive_kinds.get(name))
            for at, name in enumerate(self.sensitive_columns)
        }

    @property
    def has_regions(self) -> bool:
        """Whether quasi-identifiers are generalised."""
        if self.form == "anatomised":
            return False
        if self.form == "generalised":
            return True
        if self.record is None:
            return bool(interval_columns(self.columns("table")))
        return bool(self.record["groups"] < self.record["rows"])

    def published(self, hierarchies: Mapping[str, Hierarchy]) -> QuasiColumns:
        """How its quasi-identifiers are written; a hierarchy that is given goes before one that was sent."""
        sent = {name: Hierarchy.read(path) for name, path in self._hierarchies.items() if name not in hierarchies}
        hierarchies = {**sent, **hierarchies}
        columns = self.columns(self.main)
        intervals = interval_columns(columns) if self.form != "anatomised" else frozenset()
        # A table may itself have columns `bp_low` and `bp_high`.
        intervals = frozenset(name for name in intervals if f"{name}_low" not in self.kinds)
        ends = {f"{name}{end}" for name in intervals for end in ("_low", "_high")}
        marked = frozenset(
            name for name in intervals if (mark := f"{name}_missing") in columns and mark not in self.kinds
        )
        ends |= {f"{name}_missing" for name in marked}
        own = {"group"} if self.form != FORM else {DESIGN}
        plain = [name for name in columns if name not in (ends | own | {*self.sensitive_columns})]
        exact = frozenset(name for name, kind in self.kinds.items() if kind == "as it is")
        if self.form == "anatomised" or (self.form == FORM and self.record is not None and not self.has_regions):
            exact = frozenset(plain)
        return QuasiColumns((*sorted(intervals), *plain), intervals, exact, hierarchies, marked=marked)

    def __repr__(self) -> str:
        return f"PublicRelease({self.number}, {self.form})"


def read_public(source: object) -> list[PublicRelease]:
    """The releases of a source, by number."""
    found = _releases(source, 1)
    numbers = [release.number for release in found]
    if len(set(numbers)) < len(numbers):
        raise ParameterError(
            "Two of the releases have the same number.", hint="give releases of one series, each once."
        )
    if len({release.sensitive for release in found}) > 1:
        raise ParameterError("The releases have different sensitive columns.", hint="analyse them one by one.")
    return sorted(found, key=lambda release: release.number)


def _releases(source: object, number: int) -> list[PublicRelease]:
    if isinstance(source, Release):
        return [PublicRelease(source.number, source.tables, source.manifest)]
    if isinstance(source, Mapping):
        return [PublicRelease(number, {str(name): _as_path(table) for name, table in source.items()}, None)]
    if isinstance(source, str | Path):
        return _folder(Path(source), number)
    if isinstance(source, Sequence):
        found = [release for at, one in enumerate(source) for release in _releases(one, number + at)]
        if found:
            return found
    raise ParameterError(
        "What is analysed must be the folder of a release or of a series' public files, a release, tables by name, or "
        f"a list of these. Got {type(source).__name__} instead."
    )


def _typed(texts: pl.Series, kind: str | None) -> pl.Series:
    """The values of a column of numbers, dates or times, which stand in records as text; labels as they are."""
    if kind != "numeric":
        return texts
    plain = texts.replace({MISSING: None})
    for dtype in (pl.Int64(), pl.Float64(), pl.Date(), pl.Datetime("us")):
        made = read_cells(plain, dtype, strict=False)
        if made.null_count() == plain.null_count():
            return made
    return texts


def _as_path(table: object) -> object:
    return Path(table) if isinstance(table, str) else table


def _folder(folder: Path, number: int) -> list[PublicRelease]:
    """One release, or all of a series."""
    if not folder.is_dir():
        raise ParameterError(f"There is no folder '{folder}'.", hint="name the folder with the public files.")
    if (folder / RECORD).is_file() or _tables_in(folder) or sent_tables(folder):
        return [_release(folder, number)]
    inside = folder / "public" if (folder / "public").is_dir() else folder
    folders = sorted(part for part in inside.iterdir() if part.is_dir())
    parts = [part for part in folders if (part / RECORD).is_file()]
    if parts and (lacking := [part.name for part in folders if part not in parts and _tables_in(part)]):
        raise TableError(
            f"'{inside}' has releases without '{RECORD}': {listed(lacking)}. It says how they were made.",
            hint="take the folder as it was published, or name the releases one by one.",
        )
    if not parts:
        raise ParameterError(
            f"There is no release in '{folder}': neither '{RECORD}' nor tables, nor folders with them.",
            hint="name a folder that `reissue export` wrote, or the folder 'public' of a series.",
        )
    return [_release(part, at + 1) for at, part in enumerate(parts)]


def _release(folder: Path, number: int) -> PublicRelease:
    record = None
    if (folder / RECORD).is_file():
        record = _record(folder / RECORD)
        number = int(record["number"])
    tables: dict[str, Path | SentTable] = {**_tables_in(folder), **sent_tables(folder)}
    if not tables:
        raise ParameterError(f"There are no tables in '{folder}'.", hint=f"they lie beside '{RECORD}'.")
    return PublicRelease(number, tables, record, sent_hierarchies(folder))


def _tables_in(folder: Path) -> dict[str, Path]:
    found = {}
    for name in TABLES:
        files = [path for ending in READABLE if (path := folder / f"{name}{ending}").is_file()]
        if files:
            found[name] = files[0]
    return found


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if all(name in record for name in ("number", "method", "form", "columns", "rows", "groups")):
            return dict(record)
    except (OSError, ValueError, TypeError):
        pass
    raise TableError(f"'{path}' is not the record of a release.", hint="take the file as it was published.")


def _footer(path: Path) -> list[str]:
    """The columns of a Parquet file."""

    def empty() -> pl.DataFrame:
        with path.open("rb") as file:  # a path could have signs that polars takes for a pattern
            return pl.DataFrame(schema=pl.read_parquet_schema(file))

    return understood(empty, f"'{path.name}' cannot be read as a Parquet table.", "check that it is complete.").columns
