"""Columns to ask about before they count as known: those that say the sensitive value, and codes for "not known".

Nothing is changed for their sake. Whoever knows the day of somebody's death knows the outcome without any table; and
99 beside 1 and 2 may be no number at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from reissue.errors import listed
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.headers import as_option
from reissue.foreign.option_texts import names_text
from reissue.foreign.questioned import ENOUGH, ROWS_EACH
from reissue.model.attributes import Attribute, Intervals

NEARLY = 0.99
"""A column tells a value if so large a share of its rows has the one that it stands for."""
FREQUENT = 0.9
"""A value that so large a share of all rows has needs no telling."""
FILLED = 20
"""So many rows must have another cell than the usual one, where it is filled in for some alone."""
CODES = frozenset({9, 99, 999, 9999, 8, 98, 998, 97, 997, 7, 77, 777, 88, 888, -1, -7, -8, -9, -99, -999})
"""Numbers that stand for what is not known, or does not apply, in coded tables."""
SMALL, MOST = 9, 20
"""A column in which codes are so small has no more different numbers."""
APART = 4
"""So far from the other numbers such codes are."""


def telling_notes(files: Sequence[ReleaseFiles], names: Sequence[str], sensitive: Sequence[str]) -> list[str]:
    """Which quasi-identifiers say a sensitive value by themselves, by the largest release."""
    table = max((one.tables.get("table", pl.DataFrame()) for one in files), key=len)
    notes = []
    for value in sensitive:
        if table.height < ENOUGH or value not in table.columns:
            continue
        told = [name for name in names if name in table.columns and _tells(table, name, value)]
        if told:
            says, knows = ("says by itself", "it") if len(told) == 1 else ("say by themselves", "them")
            notes.append(
                f"{listed(told)} {says} what '{value}' is, or nearly: whoever knows {knows} needs no table; "
                f"{as_option('drop', names_text(told))} if an outsider does not"
            )
    return notes


def _tells(table: pl.DataFrame, name: str, value: str) -> bool:
    pairs = table.group_by(name, value).len()
    usual = table[value].value_counts()["count"].max()
    if not isinstance(usual, int) or usual > FREQUENT * table.height:
        return False
    cells = pairs.group_by(name).agg(pl.col("len").sum().alias("rows"), pl.col("len").max().alias("most"))
    if cells.height * ROWS_EACH <= table.height and int(cells["most"].sum()) >= NEARLY * table.height:
        return True
    # A cell that most rows have, as an empty one, and anything else in rows of one value: the day of a death.
    common = cells.sort("rows", descending=True)[name][0]
    rest = pairs.filter(pl.col(name).ne_missing(pl.lit(common, dtype=pl.String)))
    filled = int(rest["len"].sum())
    if filled < FILLED:
        return False
    most = rest.group_by(value).agg(pl.col("len").sum()).sort("len", descending=True).row(0)
    beside = pairs.filter(pl.col(name).eq_missing(pl.lit(common, dtype=pl.String)))
    same = int(beside.filter(pl.col(value).eq_missing(pl.lit(most[0], dtype=pl.String)))["len"].sum())
    return bool(most[1] >= NEARLY * filled and same <= (1 - FREQUENT) * (table.height - filled))


def codes_apart(parts: Sequence[Attribute]) -> tuple[int, ...]:
    """The whole numbers of a column that stand apart, as codes for what is not known do: of numbers and of bands."""
    bounds = [(part.low, part.high) for part in parts if isinstance(part, Intervals)]
    low, high = (np.concatenate([np.zeros(0), *(one[side] for one in bounds)]) for side in (0, 1))
    point = (low == high) & np.isfinite(low)
    numbers = np.unique(low[point])
    codes = [int(one) for one in numbers if one in CODES]
    bands = np.concatenate([low[~point], high[~point]])
    others = np.unique(np.concatenate([numbers[~np.isin(numbers, codes)], bands[np.isfinite(bands)]]))
    if not codes or others.size < 2 or others.min() < 0:
        return ()
    # One number beside bands alone is none of them, however near it is; beside 90+ it may be one.
    alone = numbers.size == len(codes) and not np.isposinf(high).any()
    top = others.max()
    # Where the numbers go on up to it, it is one of them; small ones count things where there are many numbers.
    return tuple(
        one
        for one in codes
        if one < 0
        or (alone and one > top)
        or (one - top >= APART and one >= 2 * top and (one > SMALL or others.size <= MOST))
    )


def code_notes(found: dict[str, tuple[int, ...]], missing: frozenset[str]) -> list[str]:
    """What to ask about columns with such codes."""
    left = {name: [code for code in codes if str(code) not in missing] for name, codes in found.items()}
    left = {name: codes for name, codes in left.items() if codes}
    if not left:
        return []
    *most, last = sorted({str(code) for codes in left.values() for code in codes}, key=int)
    first = next(iter(left))
    told = f"{', '.join(most)} and {last} stand" if most else f"{last} stands"
    are = "are numbers" if most else "is a number"
    texts = ",".join(map(str, left[first]))
    return [
        f"{listed(list(left))}: {told} apart from other numbers, as codes for what is not known do, and {are} here; "
        f"if so, say it of each: {as_option('missing', f'{names_text([first])}={texts}')}"
    ]
