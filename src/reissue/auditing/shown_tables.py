"""Tables of attacks as a page shows them: columns in words; a ledger of steps in two halves, and as plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from reissue.pages.pictures import Picture
from reissue.pages.plots import Line, line_plot

WORDS = {
    "above": "rows beyond the limit",
    "one_value": "rows with one value only",
    "alone": "rows alone in a group",
    "not_known": "rows not known",
    "rows_before": "rows before",
    "rows": "rows",
    "came": "came",
    "gone": "gone",
    "turned": "changed",
    "corrected": "may be corrections",
    "newcomers": "newcomers isolated",
    "newcomers_alone": "of them with no row like theirs before",
    "leavers": "leavers isolated",
    "leavers_alone": "of them with no row like theirs after",
    "single_changes": "changes isolated",
    "links": "lone rows linked",
    "changes_on_links": "of them with another value",
}
"""What the columns of attacks' tables are called where people read them."""
MOVED = ("rows_before", "rows", "came", "gone", "turned", "corrected")
ISOLATED = (
    *("newcomers", "newcomers_alone", "leavers", "leavers_alone"),
    *("single_changes", "links", "changes_on_links"),
)
PLOTTED = 3
"""From so many steps on they are drawn, and the table is behind a line to open."""


@dataclass(frozen=True)
class ShownTable:
    """A table of a page."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    folded: bool = False
    """Whether it is behind a line to open, as something else shows the same in short."""


def shown_tables(heading: str, attack: str, table: pl.DataFrame) -> list[ShownTable]:
    """A table of an attack, with words for its columns; a ledger of steps is two."""
    if not _is_ledger(table):
        columns = [WORDS.get(name, name.replace("_", " ")) for name in table.columns]
        return [ShownTable(f"{heading} ({attack})", columns, [list(row) for row in table.iter_rows()])]
    steps = [f"{since:,} to {release:,}" for since, release in table.select("since", "release").iter_rows()]
    halves = [(f"{heading}: rows ({attack})", MOVED), (f"{heading}: rows that stand out ({attack})", ISOLATED)]
    return [
        ShownTable(
            told,
            ["releases", *(WORDS[name] for name in names)],
            [[step, *row] for step, row in zip(steps, table.select(names).iter_rows(), strict=True)],
            folded=table.height >= PLOTTED,
        )
        for told, names in halves
    ]


def step_plots(table: pl.DataFrame) -> list[tuple[str, Picture, str]]:
    """The plots of a ledger of steps, each with its id and a caption; none for another table, or for few steps."""
    if not _is_ledger(table) or table.height < PLOTTED:
        return []
    places = [str(release) for release in table["release"].to_list()]
    drawn = (
        (
            "steps",
            "Rows that came, went and changed",
            "At least so many rows of each release were not in the one before; so many of the one before are gone, or "
            "show another value now or are somebody else's (changed).",
            ("came", "gone", "turned"),
        ),
        (
            "isolated",
            "Rows that stand out, step by step",
            "Rows of each release that are new, gone or changed, and the only ones in their part of the table: whoever "
            "knows that somebody came, left or changed finds them.",
            ("newcomers", "leavers", "single_changes"),
        ),
    )
    short = {"turned": "changed", "single_changes": "changes"}
    plots = []
    for id_, title, about, names in drawn:
        lines = [Line(short.get(name, name), table[name].to_list()) for name in names if table[name].sum()]
        if (picture := line_plot(title, about, places, lines, x="release")) is not None:
            plots.append((id_, picture, about))
    return plots


def _is_ledger(table: pl.DataFrame) -> bool:
    return {"since", "release", *MOVED, *ISOLATED} <= {*table.columns}
