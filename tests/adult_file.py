"""Small files in the manner of UCI's Adult, written by tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from reissue.samples.collection import ADULT_COLUMNS


def write_adult(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """A file as UCI has it: the columns that are not given hold a 0."""
    lines = [", ".join(str(row.get(name, 0)) for name in ADULT_COLUMNS) for row in rows]
    path.write_text("\n".join([*lines, ""]))
