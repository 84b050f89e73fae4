"""A table in Parquet files: one file, all files of a folder, or those that a glob names; whole or column by column.

Parts stand in the order of their names, with numbers in them as numbers: `part-2` before `part-10`. In a folder, names
that begin with a point or an underscore are passed over, as Spark writes them beside the parts. Folders in it are read
where all files lie in folders of the same columns, `year=2026/region=north`, none of which is in the files; their
cells are whole numbers or dates where each is written as one in the only way there is, else text.

All parts have the same columns, in any order. Whole numbers of several widths become those of the widest; texts,
categories and dictionaries are the same; a column in which a part holds nothing has the type of the others.

Columns are read one after the other: so nobody may write to the files meanwhile, or the cells of a row would not be
those of one person. Every reading looks whether a file is still what it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from reissue.errors import TableError, count_of, listed
from reissue.tables.parquet_account import parquet_extent
from reissue.tables.plain import type_of
from reissue.tables.room import Extent, check_room, check_room_for_codes
from reissue.tables.sound_files import check_file, check_texts, understood

ENDING = ".parquet"
MAGIC = re.compile(r"[*?\[]")
"""What makes a pattern of a path."""
MOST_PROBLEMS = 12
"""So many problems with parts are told at most."""

_DIGITS = re.compile(r"(\d+)")
_FOLDER = re.compile(r"([^=]+)=(.*)")
_PLAIN = re.compile(r"0|-?[1-9]\d{0,17}")
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_MISSING = "__HIVE_DEFAULT_PARTITION__"
"""What stands in the name of a folder where the cell is missing."""


class State(NamedTuple):
    """By what a file is known again."""

    inode: int
    size: int
    changed: int


@dataclass(frozen=True, repr=False)
class Part:
    """A file with some of the rows."""

    file: Path
    rows: int
    schema: Mapping[str, pl.DataType]
    state: State
    folders: Mapping[str, str | None]
    """The cells that the names of its folders say, by column."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.file.name if not self.folders else "/".join(self.file.parts[-1 - len(self.folders) :])


@dataclass(frozen=True, repr=False)
class ParquetTable:
    """A table whose rows are in files, part after part; each column is read when it is asked for."""

    name: str
    parts: tuple[Part, ...]
    schema: Mapping[str, pl.DataType]
    extent: Extent
    coded: Collection[str]
    """Columns whose labels will be listed, which shows whether they are texts."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema)

    @property
    def height(self) -> int:
        """How many rows all parts have."""
        return self.extent.rows

    def __getitem__(self, name: str, /) -> pl.Series:
        """A column, read now."""
        return self._read([name])[name]

    def frame(self, columns: Collection[str] | None = None) -> pl.DataFrame:
        """The whole table, or these columns of it."""
        check_room(self.name, self.extent)
        return self._read(self.columns if columns is None else list(columns))

    def check_room_for_codes(self, without: Collection[str]) -> None:
        """Refuse it if its columns, but for some, would not fit, each read by itself and coded."""
        found = tuple((name, size) for name, size in self.extent.by_column if name not in without)
        check_room_for_codes(self.name, self.extent._replace(columns=len(found), by_column=found))

    def _read(self, names: list[str]) -> pl.DataFrame:
        frames = [self._part(part, names) for part in self.parts]
        return frames[0] if len(frames) == 1 else pl.concat(frames, rechunk=False)

    def _part(self, part: Part, names: list[str]) -> pl.DataFrame:
        """Some columns of a part, in the types that they have in the whole table."""

        def read() -> pl.DataFrame:
            there = [name for name in names if name in part.schema]
            # Of no column at all polars does not say how many rows there are.
            found = pl.read_parquet(
                part.file, columns=there or list(part.schema)[:1], glob=False, hive_partitioning=False
            )
            check_texts(found, self.coded)
            if not part.rows:
                return pl.DataFrame(schema={name: self.schema[name] for name in names})
            told = [_cell(cell, self.schema[name]).alias(name) for name, cell in part.folders.items()]
            wanted = [pl.col(name).cast(self.schema[name]) for name in names]
            return found.with_columns(told).select(wanted)

        what, hint = f"'{part.name}' cannot be read as a Parquet table.", "check that it is complete."
        try:
            found = understood(read, what, hint)
        except TableError:
            _check_still(part)
            raise
        _check_still(part)
        return found


def parquet_table(path: Path, coded: Collection[str] = ()) -> ParquetTable | None:
    """The table in a file, a folder or the files of a glob; None where the path names something else."""
    if path.is_dir():
        files, folders = _in_folder(path)
        return _table(f"{path.name or path}", files, folders, coded)
    if path.name.lower().endswith(ENDING) and (path.exists() or not MAGIC.search(str(path))):
        return _table(path.name, [path], [{}], coded)
    if not MAGIC.search(str(path)) or path.exists():
        return None
    files = _matching(path)
    return _table(str(path), files, [{}] * len(files), coded)


# Which files


def _matching(pattern: Path) -> list[Path]:
    """The files of a glob in their order."""
    fixed = Path(*_before_magic(pattern))
    rest = pattern.relative_to(fixed)
    problem = f"The files '{pattern}' cannot be listed."
    hint = "check the pattern and the permissions of the folder."
    found = understood(lambda: [one for one in fixed.glob(str(rest)) if _shown(one.relative_to(fixed))], problem, hint)
    files = [one for one in found if not one.is_dir()]
    if not files:
        raise TableError(
            f"No file matches '{pattern}'.",
            hint="check the folder and the pattern: * stands for any letters, ? for one, ** for folders at any depth.",
        )
    _refuse_others(str(pattern), files, "a pattern that only they match, such as '*.parquet'")
    return sorted(files, key=lambda file: natural(file.relative_to(fixed)))


def _before_magic(pattern: Path) -> Iterable[str]:
    for part in pattern.parts:
        if MAGIC.search(part):
            return
        yield part


def _in_folder(folder: Path) -> tuple[list[Path], list[Mapping[str, str | None]]]:
    """The files of a folder in their order, and what the folders in it say of each."""
    problem, hint = f"The folder '{folder}' cannot be listed.", "check the permissions of the folder."
    files = understood(lambda: sorted(_below(folder), key=natural), problem, hint)
    if not files:
        raise TableError(f"There is no Parquet file in the folder '{folder}'.", hint="check where the table lies.")
    _refuse_others(str(folder), files, f"a pattern, such as '{folder}/*.parquet'")
    told = [_told(file) for file in files]
    if any(one is None or list(one) != list(told[0] or ()) for one in told):
        raise TableError(
            f"The files of '{folder}' do not lie in folders of the same columns.",
            hint="put all files into the folder itself, or all into folders that say the same columns, such as "
            f"'year=2026'; or name the files with a pattern, such as '{folder}/*/*.parquet', and folders say nothing.",
        )
    return [folder / file for file in files], [one or {} for one in told]


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder, as paths from there; an OSError where one of the folders may not be read."""

    def refuse(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=refuse, followlinks=True):
        folders[:] = [name for name in folders if _shown(Path(name))]
        yield from (Path(place, name).relative_to(folder) for name in files if _shown(Path(name)))


def _shown(path: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in path.parts)


def _refuse_others(where: str, files: Sequence[Path], instead: str) -> None:
    others = [file.name for file in files if not file.name.lower().endswith(ENDING)]
    if not others:
        return
    several = "tables in several files are Parquet files."
    raise TableError(
        f"Among the files of '{where}' {count_of(len(others), 'is one that is', 'are some that are')} not Parquet: "
        f"{listed(sorted(others), 3)}; {several}",
        hint=f"put them elsewhere, or name the parts with {instead}. Of CSV files make one, or Parquet files.",
    )


def natural(path: Path) -> list[list[str | int]]:
    """By what paths are put in order: numbers in names count as numbers."""
    return [[int(one) if one.isdecimal() else one for one in _DIGITS.split(part)] for part in path.parts]


def _told(file: Path) -> Mapping[str, str | None] | None:
    """The cells that the folders of a file say; None where one of them says none."""
    cells: dict[str, str | None] = {}
    for part in file.parts[:-1]:
        found = _FOLDER.fullmatch(part)
        if found is None or unquote(found[1]) in cells:
            return None
        cells[unquote(found[1])] = None if found[2] == _MISSING else unquote(found[2])
    return cells


# One table of several parts


def _table(
    name: str, files: Sequence[Path], folders: Sequence[Mapping[str, str | None]], coded: Collection[str]
) -> ParquetTable:
    opened = [_opened(file, told) for file, told in zip(files, folders, strict=True)]
    parts = [part for part, _ in opened]
    schema = same_columns(name, [(part.name, part.rows, part.schema) for part in parts])
    both = [column for column in parts[0].folders if column in schema]
    if both:
        raise TableError(
            f"In '{name}' the folders and the files have a column of one name: {listed(both)}.",
            hint="leave the column out of the files, or rename the folders.",
        )
    for column in parts[0].folders:
        schema[column] = _type_told(part.folders[column] for part in parts)
    return ParquetTable(name, tuple(parts), schema, _sum([extent for _, extent in opened], schema), coded)


def _opened(file: Path, told: Mapping[str, str | None]) -> tuple[Part, Extent]:
    check_file(file)
    name, hint = file.name, "check that it is complete."

    def read() -> tuple[State, Extent, dict[str, pl.DataType]]:
        state = _state(file)
        extent = parquet_extent(file)
        return state, extent, schema_of(file)

    def unlike_others() -> tuple[State, Extent, dict[str, pl.DataType]]:
        try:
            return read()
        except pl.exceptions.DuplicateError:
            failure = TableError(f"Several columns of '{name}' have one name.", hint="rename them.")
        raise failure

    state, extent, schema = understood(unlike_others, f"'{name}' cannot be read as a Parquet table.", hint)
    return Part(file, extent.rows, schema, state, told), extent


def schema_of(file: Path | str) -> dict[str, pl.DataType]:
    """The columns of one file or object, whatever its name looks like."""
    return dict(pl.scan_parquet(file, glob=False, hive_partitioning=False).collect_schema())


def _sum(extents: Sequence[Extent], schema: Mapping[str, pl.DataType]) -> Extent:
    sizes = dict.fromkeys(schema, 0)
    for extent in extents:
        for column, size in extent.by_column:
            sizes[column] = sizes.get(column, 0) + size
    rows = sum(extent.rows for extent in extents)
    columns = max(len(schema), *(extent.columns for extent in extents))
    return Extent(rows, columns, sum(extent.size for extent in extents), by_column=tuple(sizes.items()))


Described = tuple[str, int, Mapping[str, pl.DataType]]
"""A part: what it is called, how many rows it has, its columns with their types."""


def same_columns(name: str, parts: Sequence[Described]) -> dict[str, pl.DataType]:
    """The columns of the whole table; or an error that names the parts that do not go with the first."""
    first = next((part for part in parts if part[1]), parts[0])
    schema, problems = dict(first[2]), []
    for other, rows, columns in parts:
        lacking = [column for column in first[2] if column not in columns]
        more = [column for column in columns if column not in first[2]]
        if lacking:
            problems.append(f"'{other}' has no column {listed(lacking)}, which '{first[0]}' has")
        if more:
            problems.append(f"'{other}' has a column {listed(more)}, which '{first[0]}' does not have")
        for column, type_ in columns.items() if rows else ():
            if column not in schema:
                continue
            if (both := widened(schema[column], type_)) is None:
                one, two = _types_in_words(type_, schema[column])
                problems.append(f"'{other}': column '{column}' holds {one}, and before {two}")
            else:
                schema[column] = both
    if problems:
        rest = len(problems) - MOST_PROBLEMS
        shown = [*problems[:MOST_PROBLEMS], *([f"and {rest:,} more"] if rest > 0 else [])]
        raise TableError(
            f"The {count_of(len(parts), 'part')} of '{name}' are not parts of one table.",
            problems=shown,
            hint="write them with the same columns and types, or name only those that go together.",
        )
    return schema


def widened(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """A type for the cells of both; None where they are not of one kind."""
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        empty = [pl.Series("n", [], dtype=type_).to_frame() for type_ in (one, other)]
        both = pl.concat(empty, how="vertical_relaxed").schema["n"]
        return both if both.is_integer() else None
    texts = (pl.String, pl.Categorical, pl.Enum)
    return pl.String() if one in texts and other in texts else None


def _types_in_words(one: pl.DataType, other: pl.DataType) -> tuple[str, str]:
    words = type_of(one), type_of(other)
    if words[0] != words[1]:
        return words
    # The full name of some types lists labels; these do not.
    named = [str(type_) if isinstance(type_, pl.Datetime) else type_.base_type().__name__ for type_ in (one, other)]
    return f"{words[0]} ({named[0]})", f"{words[1]} ({named[1]})"


def _type_told(cells: Iterable[str | None]) -> pl.DataType:
    """The type of what folders say: numbers or dates where nothing is lost, else text."""
    told = [cell for cell in cells if cell is not None]
    if told and all(_PLAIN.fullmatch(cell) for cell in told):
        return pl.Int64()
    texts = pl.Series(told, dtype=pl.String)
    if told and texts.str.contains(_DATE).all() and not texts.str.to_date("%Y-%m-%d", strict=False).has_nulls():
        return pl.Date()
    return pl.String()


def _cell(cell: str | None, type_: pl.DataType) -> pl.Expr:
    if cell is None:
        return pl.lit(None, dtype=type_)
    return pl.lit(int(cell) if type_ == pl.Int64 else date.fromisoformat(cell) if type_ == pl.Date else cell)


# Files that change


def _state(file: Path) -> State:
    found = file.stat()
    return State(found.st_ino, found.st_size, found.st_mtime_ns)


def _check_still(part: Part) -> None:
    """Refuse a file that is not any more what it was when reading began."""
    try:
        same = _state(part.file) == part.state
    except OSError:
        raise TableError(
            f"'{part.name}' disappeared while the table was read.",
            hint="find out who removes it, and try again when nobody writes to the table.",
        ) from None
    if not same:
        raise TableError(
            f"'{part.name}' was changed while the table was read.",
            hint="try again when nobody writes to the table.",
        )
