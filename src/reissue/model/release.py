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
    """What the public record says: method, parameters, form, guarantees, rows, groups or the design of sets."""
    summary: Mapping[str, Any]
    """Private counts: what changed since the release before, sizes of groups, how the checks went."""
    _read: Callable[[], dict[str, Any]] = field(compare=False)

    @property
    def period(self) -> str | None:
        """What it is of, such as "2026-03"; None where nobody said."""
        return self.manifest.get("period")

    @property
    def corrects(self) -> int | None:
        """The number of the release that it corrects; None for most."""
        return self.manifest.get("corrects")

    @property
    def tables(self) -> dict[str, Any]:
        """The public tables: `table`, or `quasi` and `sensitive`; in the caller's data-frame library.

        Where sets of values are published, beside `table` the design they were drawn by: `design`, `combinations`.
        """
        return self._read()

    def __repr__(self) -> str:
        rows, groups, design = self.manifest["rows"], self.manifest["groups"], self.manifest.get("design")
        form = "" if design is not None else f", {self.manifest['form']}"
        period = "" if self.period is None else f" of {self.period}"
        return f"Release({self.number}{period}: {rows_in_words(rows, groups, design)}{form})"


def rows_in_words(rows: int, groups: int, design: Mapping[str, Any] | None) -> str:
    """How rows are published: in groups, or each with a set of values by a design."""
    if design is None:
        return f"{rows:,} rows in {groups:,} groups"
    regions = f" in {groups:,} regions" if groups < rows else ""
    return f"{rows:,} rows{regions}, each with {values_in_words(design)} of which one is true"


def values_in_words(design: Mapping[str, Any]) -> str:
    """How many values a set has: fewer than it has slots where frequent ones take several. Records take places."""
    if "columns" in design:
        return f"{design['slots']:,} records of {len(design['columns'])} columns"
    return f"{'up to ' if design['most_slots'] > 1 else ''}{design['slots']:,} values"
