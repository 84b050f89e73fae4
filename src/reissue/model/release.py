"""Release: what was published, with its files and its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, repr=False)
class Release:
    """One committed release."""

    number: int
    """Counted from 1."""
    time: datetime
    """When it was committed, in UTC."""
    folder: Path
    """Where its public files lie."""
    manifest: Mapping[str, Any]
    """What the public record says: method, parameters, form, guarantees, rows, groups."""
    summary: Mapping[str, Any]
    """Private counts: what changed since the release before, sizes of groups, how the checks went."""
    _read: Callable[[], dict[str, Any]] = field(compare=False)

    @property
    def tables(self) -> dict[str, Any]:
        """The public tables: `table`, or `quasi` and `sensitive`; in the caller's data-frame library."""
        return self._read()

    def __repr__(self) -> str:
        rows, groups = self.manifest["rows"], self.manifest["groups"]
        return f"Release({self.number}: {rows:,} rows in {groups:,} groups, {self.manifest['form']})"
