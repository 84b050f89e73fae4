"""Rows that come in batches, as one table that is no larger than need be.

Whoever reads a database gets batch after batch. Of columns that will be coded, whole numbers are kept as narrow as they
are, and labels by their numbers in a list; so what is in memory is little more than codes, and one batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import polars as pl

from reissue.errors import TableError, count_of
from reissue.tables.plain import type_of
from reissue.tables.room import Extent, check_room, check_room_for_codes

BATCH = 1 << 17
"""So many rows come at a time."""
_NUMBERS = {"whole numbers", "decimals"}


def gathered(batches: Iterable[pl.DataFrame], name: str, coded: Collection[str]) -> pl.DataFrame:
    """All batches as one table; at least one of them comes, and all have the same columns.

    `name` is what the table is called in messages. The types of a column may differ where nothing is lost by it: whole
    numbers and decimals, and nothing at all.
    """
    frames: list[pl.DataFrame] = []
    kinds: dict[str, set[str]] = {}
    sizes: Counter[str] = Counter()
    rows = 0
    check = check_room_for_codes if coded else check_room
    for batch in batches:
        small = batch.with_columns(_small(batch[column]) for column in batch.columns if column in coded)
        for column, dtype in small.schema.items():
            kinds.setdefault(column, set()).add(type_of(dtype))
        _check_kinds(kinds)
        rows += small.height
        sizes.update({column.name: int(column.estimated_size()) for column in small})
        check(name, Extent(rows, small.width, sizes.total(), by_column=tuple(sizes.items())))
        frames.append(small)
    kept = [frame for frame in frames if frame.height] or frames[:1]
    return kept[0] if len(kept) == 1 else pl.concat(kept, how="vertical_relaxed", rechunk=False)


def _small(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        return column.shrink_dtype()
    return column.cast(pl.Categorical) if column.dtype == pl.String else column


def _check_kinds(kinds: dict[str, set[str]]) -> None:
    """Refuse columns whose cells are of several types."""
    problems = [
        f"column '{column}' holds {' and '.join(sorted(found - {'nothing'}))}"
        for column, found in kinds.items()
        if len(found - {"nothing"}) > 1 and not found <= {*_NUMBERS, "nothing"}
    ]
    if problems:
        raise TableError(
            f"{count_of(len(problems), 'column')} of the table cannot be of one type.",
            problems=problems,
            hint="cast them to one type in the query.",
        )
