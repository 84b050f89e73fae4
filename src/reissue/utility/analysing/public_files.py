"""Public releases as a recipient has them: folders, exported files, releases of this library, or tables by name.

Nothing is read before it is asked for, and of Parquet files only the columns that are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from reissue.errors import ParameterError, TableError, listed
from reissue.model.hierarchy import Hierarchy
from reissue.model.release import Release
from reissue.tables.frames import PART, READABLE, Library, read_in_parts, read_table, understood
from reissue.tables.recode_sets import COMBINATIONS, DESIGN
from reissue.tables.set_views import FORM
from reissue.utility.analysing.conditions import QuasiColumns, interval_columns

Form = Literal["alternatives", "generalised", "anatomised"]
RECORD = "release.json"
TABLES = ("table", "quasi", "sensitive", DESIGN, COMBINATIONS, "counterfeits")


class PublicRelease:
    """One release: its record, where there is one, and its tables."""

    def __init__(self, number: int, tables: Mapping[str, object], record: Mapping[str, Any] | None) -> None:
        self.number = number
        self.record = record
        self._given = dict(tables)
        self._read: dict[str, pl.DataFrame] = {}
        self.library: Library | None = None
        self.form = self._form()

    def _form(self) -> Form:
        names = set(self._given) - {"counterfeits", COMBINATIONS}
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
            return self.table(name).columns
        return _footer(given)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A table, or some columns of it."""
        given = self._given[name]
        if columns is not None and not columns:
            return pl.DataFrame()
        if name not in self._read and isinstance(given, Path) and given.suffix == ".parquet" and columns is not None:
            return read_table(given, columns=list(dict.fromkeys(columns)))[0]
        if name not in self._read:
            frame, library = read_table(given, text=self._texts(name))
            self._read[name] = frame
            self.library = self.library or (None if isinstance(given, Path | str) else library)
        frame = self._read[name]
        return frame if columns is None else frame.select(list(dict.fromkeys(columns)))

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
        if name != self.main:
            return []
        return [column for column, kind in self.kinds.items() if kind in ("categorical", "hierarchy")]

    @property
    def kinds(self) -> Mapping[str, str]:
        """What the record says the quasi-identifiers are; nothing where there is none."""
        return {} if self.record is None else self.record["columns"]

    @property
    def method(self) -> str | None:
        """The method's name; None where no record says it."""
        return None if self.record is None else str(self.record["method"]["name"])

    @property
    def design(self) -> Mapping[str, Any]:
        """What the record says of how sets are drawn; nothing where there is none."""
        return {} if self.record is None else self.record.get("design", {})

    @property
    def sensitive(self) -> str:
        """The sensitive column: it stands last, beside `group` and `count` where values are apart."""
        if self.form != "anatomised":
            return self.columns("table")[-1]
        (name,) = (name for name in self.columns("sensitive") if name not in ("group", "count"))
        return name

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
        """How its quasi-identifiers are written."""
        columns = self.columns(self.main)
        intervals = interval_columns(columns) if self.form != "anatomised" else frozenset()
        ends = {f"{name}{end}" for name in intervals for end in ("_low", "_high")}
        own = {"group"} if self.form != FORM else {DESIGN}
        plain = [name for name in columns if name not in (ends | own | {self.sensitive})]
        exact = frozenset(name for name, kind in self.kinds.items() if kind == "as it is")
        if self.form == "anatomised" or (self.form == FORM and self.record is not None and not self.has_regions):
            exact = frozenset(plain)
        return QuasiColumns((*sorted(intervals), *plain), intervals, exact, hierarchies)

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


def _as_path(table: object) -> object:
    return Path(table) if isinstance(table, str) else table


def _folder(folder: Path, number: int) -> list[PublicRelease]:
    """One release, or all of a series."""
    if not folder.is_dir():
        raise ParameterError(f"There is no folder '{folder}'.", hint="name the folder with the public files.")
    if (folder / RECORD).is_file() or _tables_in(folder):
        return [_release(folder, number)]
    inside = folder / "public" if (folder / "public").is_dir() else folder
    parts = sorted(part for part in inside.iterdir() if part.is_dir() and (part / RECORD).is_file())
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
    tables = _tables_in(folder)
    if not tables:
        raise ParameterError(f"There are no tables in '{folder}'.", hint=f"they lie beside '{RECORD}'.")
    return PublicRelease(number, tables, record)


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
    frame = understood(
        lambda: pl.DataFrame(schema=pl.read_parquet_schema(path)),
        f"'{path.name}' cannot be read as a Parquet table.",
        "check that it is complete.",
    )
    return frame.columns
