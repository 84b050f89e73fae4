"""The files of releases: finding them in the order of their names, and reading them cell by cell as text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import MissingExtra, TableError, UserError
from reissue.model.telling import told as each
from reissue.tables.excel_files import sheet_of
from reissue.tables.frames import READABLE as KINDS
from reissue.tables.frames import read_table, understood

PARTS = ("table", "quasi", "sensitive", "counterfeits")
"""The tables of a release that Reissue wrote."""
DESCRIBING = ("codebook.csv", "labels.csv")
"""Tables of a package that Reissue wrote, which describe the others."""


@dataclass(frozen=True, repr=False)
class ReleaseFiles:
    """The tables of one release: `table`, or `quasi` and `sensitive`; every cell is text."""

    name: str
    tables: dict[str, pl.DataFrame]

    @property
    def form(self) -> str:
        """`generalised`, or `anatomised`."""
        return "anatomised" if "quasi" in self.tables else "generalised"


def read_files(releases: str | Path | Sequence[object]) -> list[ReleaseFiles]:
    """Read a folder with a file or a folder for each release, or files and tables in the order given."""
    if isinstance(releases, str | Path):
        found = _in_folder(Path(releases))
    else:
        found = [(_name(one, number), _parts(one)) for number, one in enumerate(releases, start=1)]
        if not found:
            raise TableError("There are no releases to read.", hint="name at least one file.")
    read, problems, hints, missing = [], [], [], None
    for name, parts in each(found):
        try:
            read.append(ReleaseFiles(name, {part: read_cells(table) for part, table in parts.items()}))
        except MissingExtra as error:
            missing = error
        except UserError as error:
            problems.append(f"release '{name}': {error.what}")
            hints.append(error.hint)
    if missing is not None:
        raise missing
    empty = [
        f"release '{one.name}' has no rows"
        for one in read
        if any(table.is_empty() for part, table in one.tables.items() if part != "counterfeits")
    ]
    if problems or empty:
        told = dict.fromkeys([*(hint for hint in hints if hint), *(["leave out what has no rows."] if empty else [])])
        raise TableError("The releases cannot be read.", problems=[*problems, *empty], hint=" ".join(told) or None)
    return read


def read_cells(table: object) -> pl.DataFrame:
    """A table with every cell as text, as it is written."""
    frame = read_table(table, text=_EveryColumn())[0]
    problems = [f"'{name}' holds nested values" for name, dtype in frame.schema.items() if dtype.is_nested()]
    if problems:
        raise TableError(
            "A table has columns that are not cells.", problems=problems, hint="leave these columns out of the table."
        )
    return understood(
        lambda: frame.select(_text(column) for column in frame),
        "A table has cells that cannot be written as text.",
        "check that the file is whole.",
    )


def _text(column: pl.Series) -> pl.Series:
    """Cells as text. Whole numbers that a library keeps as 5.0 are written as 5, as most others would."""
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.cast_time_unit("us").cast(pl.String)
    if column.dtype.is_float():
        return column.fill_nan(None).cast(pl.String).str.replace(r"\.0$", "").replace("-0", "0")
    return column.cast(pl.String)


class _EveryColumn(Collection[str]):
    """Says of every column that it is to be read as it is written."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key by which `release2` comes before `release10`."""
    parts = re.findall(r"\d+|\D+", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _in_folder(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    if sheet_of(folder)[0].is_file():
        return [(folder.name, {"table": folder})]
    if not folder.is_dir():
        raise TableError(f"There is no file or folder '{folder}'.", hint="check where the releases lie.")
    if (folder / "public").is_dir():
        folder = folder / "public"
    # A release that was taken apart may also lie alone in a folder.
    alone = _parts(folder)
    if "quasi" in alone:
        return [(folder.name, alone)]
    inside = sorted(folder.iterdir(), key=lambda path: (natural(path.name), path.name))
    files = [path for path in inside if path.is_file() and path.name.lower().endswith(KINDS)]
    if (folder / "export.json").is_file():
        files = [path for path in files if path.name not in DESCRIBING]
    folders = [(path, _parts(path)) for path in inside if path.is_dir()]
    named = [(path.name, parts) for path, parts in folders if parts]
    if files and named:
        raise TableError(
            f"'{folder}' holds releases as files and as folders, and their order cannot be told.",
            hint="name the files in their order.",
        )
    found = named or [(path.name, {"table": path}) for path in files]
    if not found:
        raise TableError(
            f"There are no releases in '{folder}'.", hint=f"put one file for each release there: {', '.join(KINDS)}."
        )
    return found


def _parts(one: object) -> dict[str, Any]:
    """The tables of a release: those of its folder, or the file or table itself."""
    if not (isinstance(one, str | Path) and Path(one).is_dir()):
        return {"table": one}
    parts = {part: path for part in PARTS for kind in KINDS if (path := Path(one) / f"{part}{kind}").is_file()}
    if "table" in parts or {"quasi", "sensitive"} <= parts.keys():
        return parts
    return {}


def _name(one: object, number: int) -> str:
    return Path(one).name if isinstance(one, str | Path) else f"table {number}"
