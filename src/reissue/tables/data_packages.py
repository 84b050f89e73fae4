"""Tables that were sent with a data package: where each lies, and the types of its columns, so that it is read exactly.

A resource of ours has `reissue` beside its standard fields: the number of its release and the name of its table; a
field has the name of its type there. What a package says of files elsewhere is not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from reissue.errors import TableError
from reissue.tables.sent_csv import read_sent_csv
from reissue.tables.sent_workbook import read_sheet

PACKAGE = "datapackage.json"
OWN = "reissue"
"""The name of what a package says in words of ours."""
HIERARCHY = "hierarchy"
"""In these: the column whose labels a file explains."""


@dataclass(frozen=True, repr=False)
class SentTable:
    """One table of a release, in a CSV file or in a sheet of a workbook."""

    path: Path
    sheet: str | None
    """The sheet; None for a CSV file."""
    types: Mapping[str, str]
    """The name of each column's type (`sent_types`), in their order."""
    cells: Mapping[str, str]
    """What the cells of each column are: a type of Table Schema."""

    def read(self) -> pl.DataFrame:
        """The table as it was published."""
        if self.sheet is None:
            return read_sent_csv(self.path, self.types)
        return read_sheet(self.path, self.sheet, self.types, self.cells)


def sent_tables(folder: Path) -> dict[str, SentTable]:
    """The tables of the release in a folder, where a package there or in the folder above describes them."""
    for above, within in ((folder, ""), (folder.resolve().parent, f"{folder.resolve().name}/")):
        if (above / PACKAGE).is_file():
            found = _described(above / PACKAGE, within)
            if found:
                return found
    return {}


def sent_hierarchies(folder: Path) -> dict[str, Path]:
    """For columns whose labels a file explains this file, where a package in the folder or above it has one."""
    for above in (folder, folder.resolve().parent):
        try:
            return {
                str(one[OWN][HIERARCHY]): above / one["path"]
                for one in _own(above / PACKAGE, HIERARCHY)
                if _lies(one["path"], "") and (above / one["path"]).is_file()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            continue  # what lies above may be anything; what is wrong beside the tables is said where they are read
    return {}


def _own(package: Path, kind: str) -> list[dict[str, Any]]:
    """The resources of ours of one kind."""
    resources = json.loads(package.read_text(encoding="utf-8")).get("resources", [])
    return [one for one in resources if isinstance(one, dict) and kind in one.get(OWN, {})]


def _described(package: Path, within: str) -> dict[str, SentTable]:
    try:
        own = _own(package, "table")
        return {
            one[OWN]["table"]: _table(package.parent, one)
            for one in own
            if _lies(one["path"], within) and one["format"] in ("csv", "xlsx")
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        if within:  # what lies above may be anything
            return {}
        raise TableError(
            f"'{package.name}' beside the tables cannot be understood.", hint="take the file as it was sent."
        ) from None


def _lies(path: Any, within: str) -> bool:
    parts = PurePosixPath(str(path)).parts
    return bool(parts) and str(path) == within + parts[-1] and parts[-1] not in ("", ".", "..")


def _table(folder: Path, resource: Mapping[str, Any]) -> SentTable:
    fields = resource["schema"]["fields"]
    sheet = resource["dialect"]["sheetName"] if resource["format"] == "xlsx" else None
    types = {str(field["name"]): str(field[OWN]["type"]) for field in fields}
    return SentTable(folder / resource["path"], sheet, types, {str(one["name"]): str(one["type"]) for one in fields})
