"""The files of releases: finding them in the order of their names, and reading them cell by cell as text."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from reissue.errors import MissingExtra, ReissueWarning, TableError, TooLarge, UserError, count_of
from reissue.foreign.archives import ZIP, tables_in
from reissue.foreign.git_history import history_of
from reissue.foreign.release_order import in_order
from reissue.foreign.release_order import natural as natural
from reissue.foreign.surroundings import CellsOfFile, mended, refuse_what_is_no_table, without_what_ends_it
from reissue.foreign.where import of_releases
from reissue.foreign.workbooks import with_sheets
from reissue.model.telling import told as each
from reissue.tables.excel_files import sheet_of
from reissue.tables.frames import READABLE as KINDS
from reissue.tables.frames import read_table, understood
from reissue.tables.recode import set_text

PARTS = ("table", "quasi", "sensitive", "counterfeits")
"""The tables of a release that Reissue wrote."""
DESCRIBING = ("codebook.csv", "labels.csv")
"""Tables of a package that Reissue wrote, which describe the others."""
DEEPEST = 4
"""So many folders deep releases are looked for."""
MOST_PROBLEMS = 10
"""So many files that cannot be read are told of one by one."""


@dataclass(frozen=True, repr=False)
class ReleaseFiles:
    """The tables of one release: `table`, or `quasi` and `sensitive`; every cell is text."""

    name: str
    tables: dict[str, pl.DataFrame]
    above: int = 0
    """How many lines stand above the header of its first table."""

    @property
    def form(self) -> str:
        """`generalised`, or `anatomised`."""
        return "anatomised" if "quasi" in self.tables else "generalised"


Found = list[tuple[str, dict[str, Any]]]
"""Releases by name, each with its tables or where they are."""


def read_files(
    releases: str | Path | Sequence[object] | None,
    *,
    git: str | Path | None = None,
    file: str | None = None,
    columns: Sequence[str] = (),
    sheets: Sequence[str] = (),
    notes: list[str] | None = None,
) -> tuple[list[ReleaseFiles], tuple[str, ...]]:
    """Read a folder with a file or a folder for each release, or files and tables in the order given.

    `git` is a repository instead, and `file` what is read of each of its states; else `file` is what is read of the
    folder of each release. Of Excel files with several sheets those called `sheets` are read, else those that have
    these `columns`; which they are comes with the files. What is to be noted goes to `notes`.
    """
    told: list[str] = [] if notes is None else notes
    with TemporaryDirectory(prefix="reissue-") as scratch:
        chosen = with_sheets(_found(releases, git, file, Path(scratch), told), columns, sheets, told)
        return _read(chosen.found, told), chosen.sheets


def _found(
    releases: str | Path | Sequence[object] | None,
    git: str | Path | None,
    file: str | None,
    scratch: Path,
    notes: list[str],
) -> Found:
    if git is not None:
        return _in_repository(Path(git), file, scratch, notes)
    if isinstance(releases, str | Path):
        found = _in_folder(Path(releases), file, notes)
    else:
        found = [(_name(one, number), _parts(one, file)) for number, one in enumerate(releases or (), start=1)]
    if not found:
        raise TableError("There are no releases to read.", hint="name at least one file.")
    if bare := [name for name, parts in found if not parts]:
        raise TableError(
            "The releases cannot be read.",
            problems=of_releases((name, "is a folder without a table, or with several") for name in bare),
            hint="say which file of it is the release: --file NAME",
        )
    opened: Found = []
    for at, (name, parts) in enumerate(found):
        table = parts.get("table")
        if isinstance(table, str | Path) and Path(table).name.lower().endswith(ZIP) and Path(table).is_file():
            (scratch / f"zip{at}").mkdir()
            opened += [(inner, {"table": path}) for inner, path in tables_in(Path(table), scratch / f"zip{at}")]
        else:
            opened.append((name, parts))
    return opened


def _in_repository(folder: Path, file: str | None, scratch: Path, notes: list[str]) -> Found:
    if file is None:
        raise TableError("Which file of the repository?", hint="name it from its folder on: --file data/cases.csv")
    states = history_of(folder, file)
    found: Found = []
    for at, state in enumerate(states):
        target = scratch / str(at) / Path(file).name
        target.parent.mkdir()
        target.write_bytes(state.content)
        found.append((state.name, {"table": target}))
    notes.append(f"the releases are {count_of(len(found), 'state')} of '{file}', one for each commit that changed it")
    return found


def _read(found: Found, notes: list[str]) -> list[ReleaseFiles]:
    read, problems, hints, missing, told = [], [], [], None, []
    for name, parts in each(found):
        try:
            cells = {part: _cells_of(table) for part, table in parts.items()}
            above = next(iter(cells.values())).above
            read.append(ReleaseFiles(name, {part: one.frame for part, one in cells.items()}, above))
            told += [(name, what) for one in cells.values() for what in one.told]
        except MissingExtra as error:
            missing = error
        except UserError as error:
            problems.append(f"release '{name}': {error.what}")
            problems += [f"release '{name}': {problem}" for problem in error.problems]
            hints.append(error.hint)
    if missing is not None:
        raise missing
    empty = of_releases(
        (one.name, "has no rows")
        for one in read
        if any(table.is_empty() for part, table in one.tables.items() if part != "counterfeits")
    )
    if problems or empty:
        empty_too = ["leave out what has no rows."] if empty else []
        next_steps = dict.fromkeys([*(hint for hint in hints if hint), *empty_too])
        if len(problems) > MOST_PROBLEMS:
            left = len(problems) - MOST_PROBLEMS
            problems = [*problems[:MOST_PROBLEMS], f"and {left:,} more of such problems"]
        raise TableError(
            "The releases cannot be read.", problems=[*problems, *empty], hint=" ".join(next_steps) or None
        )
    notes += of_releases(told)
    return read


def _cells_of(table: object) -> CellsOfFile:
    """A table of a release; where its file cannot be read as it is, without what stands around it."""
    if isinstance(table, str | Path):
        refuse_what_is_no_table(Path(table))
    try:
        cells = CellsOfFile(read_cells(table))
    except TooLarge:
        raise
    except TableError:
        found = mended(Path(table)) if isinstance(table, str | Path) and sheet_of(Path(table))[0].is_file() else None
        if found is None:
            raise
        cells = found
    return without_what_ends_it(cells)


def read_cells(table: object) -> pl.DataFrame:
    """A table with every cell as text, as it is written. Spaces around names of columns are no part of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has names of columns with spaces around them", ReissueWarning)
        frame = read_table(table, text=_EveryColumn())[0]
    frame = _without_spaces(frame)
    frame = frame.with_columns(_one_cell(column) for column in frame if column.dtype == pl.List(pl.String))
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


def _without_spaces(frame: pl.DataFrame) -> pl.DataFrame:
    """The names of columns without spaces around them, if each is another name then."""
    bare = [name.strip() for name in frame.columns]
    return frame if len(set(bare)) < len(bare) else frame.rename(dict(zip(frame.columns, bare, strict=True)))


def _one_cell(column: pl.Series) -> pl.Series:
    """Lists of texts, as anonypy has them in tables, as texts: `17-36`, `{a,b}`."""
    lists = column.to_list()
    texts = [None if not one else set_text([str(part) for part in one if part is not None] or [""]) for one in lists]
    return pl.Series(column.name, texts, dtype=pl.String)


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


def _in_folder(folder: Path, file: str | None, notes: list[str]) -> Found:
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
    inside = [path for path in folder.iterdir() if not path.name.startswith(".")]
    files = _readable(folder)
    if (folder / "export.json").is_file():
        files = [path for path in files if path.name not in DESCRIBING]
    if file is not None:
        files = [path for path in files if path.name == file]
    several: list[str] = []
    folders = [path for path in inside if path.is_dir()]
    named = [one for path in folders for one in _in_dated(path, path.name, file, DEEPEST, several)]
    if files and any(map(_made_here, folders)):
        raise TableError(
            f"'{folder}' holds releases as files and as folders, and their order cannot be told.",
            hint="name the files in their order.",
        )
    if files and (named or several):
        passed = count_of(len(named) + len(several), "folder")
        notes.append(f"{passed} with tables beside the files of '{folder.name}' were not read")
        named = []
    elif several:
        which = several[0] if len(several) == 1 else f"{min(several)}' to '{max(several)}"
        raise TableError(
            f"{count_of(len(several), 'folder')} in '{folder}' with more than one table: '{which}'.",
            hint="say which file is the release: --file NAME",
        )
    found = named or [(path.name, {"table": path}) for path in files]
    if not found:
        others = any(path.name.lower().endswith(".txt") for path in inside)
        renamed = " A table in a .txt file is read if the file is called .csv." if others else ""
        raise TableError(
            f"There are no releases in '{folder}'.",
            hint=f"put one file for each release there: {', '.join((*KINDS, ZIP))}.{renamed}",
        )
    order, note = in_order([name for name, _ in found])
    notes += [note] if note else []
    return [found[at] for at in order]


def _in_dated(folder: Path, name: str, file: str | None, deep: int, several: list[str]) -> Found:
    """The release in a folder, or those in the folders below it; those with more than one table go to `several`."""
    if parts := _parts(folder, file):
        return [(name, parts)]
    if file is None and len(_readable(folder)) > 1:
        several.append(name)
        return []
    if not deep:
        return []
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [one for path in below for one in _in_dated(path, f"{name}/{path.name}", file, deep - 1, several)]


def _readable(folder: Path) -> list[Path]:
    """The files of a folder that can be read."""
    found = [path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith((*KINDS, ZIP))]
    return [path for path in found if not path.name.startswith(".")]


def _made_here(folder: Path) -> bool:
    """Whether a folder has tables that are called as ours."""
    names = {path.name.partition(".")[0] for path in _readable(folder)}
    return "table" in names or {"quasi", "sensitive"} <= names


def _parts(one: object, file: str | None = None) -> dict[str, Any]:
    """The tables of a release: those of its folder, or the file or table itself."""
    if not (isinstance(one, str | Path) and Path(one).is_dir()):
        return {"table": one}
    folder = Path(one)
    if file is not None:
        return {"table": folder / file} if (folder / file).is_file() else {}
    parts = {part: path for part in PARTS for kind in KINDS if (path := folder / f"{part}{kind}").is_file()}
    if "table" in parts or {"quasi", "sensitive"} <= parts.keys():
        return parts
    readable = _readable(folder)
    return {"table": readable[0]} if len(readable) == 1 else {}


def _name(one: object, number: int) -> str:
    return Path(one).name if isinstance(one, str | Path) else f"table {number}"
