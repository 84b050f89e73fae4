"""Whole numbers that a library wrote as `5.0` in some files and `5` in others, as pandas does where a cell is missing.

That concerns ids and sensitive values, which are compared as texts. Only where every cell of a file ends so is it the
doing of a program: `250.0` beside `250.1` is a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from reissue.errors import listed
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.foreign_cells import SUPPRESSED

_FLOAT, _WHOLE = r"^-?\d+\.0$", r"^-?\d+$"


def without_point_zero(files: Sequence[ReleaseFiles], columns: Sequence[str]) -> tuple[list[ReleaseFiles], list[str]]:
    """The files with such numbers written as whole, where other files have them so; and what is to be told."""
    changed = [name for name in columns if {"whole", "float"} <= {_written(one, name) for one in files}]
    if not changed:
        return list(files), []
    made = [
        replace(
            one,
            tables={
                part: table.with_columns(
                    pl.col(name).str.strip_chars().str.strip_suffix(".0")
                    for name in changed
                    if name in table.columns and _written(one, name) == "float"
                )
                for part, table in one.tables.items()
            },
        )
        for one in files
    ]
    return made, [f"{listed(changed)}: whole numbers that some files write as 5.0 are read as 5"]


def _written(one: ReleaseFiles, name: str) -> str | None:
    """How the numbers of a column are written in a release: all as `float`, all as `whole`, or else."""
    found = [table[name] for table in one.tables.values() if name in table.columns]
    if not found:
        return None
    cells = found[0].drop_nulls().str.strip_chars().unique()
    cells = cells.filter(~cells.is_in(sorted(SUPPRESSED)))
    if not cells.len():
        return None
    return "float" if cells.str.contains(_FLOAT).all() else "whole" if cells.str.contains(_WHOLE).all() else None
