"""Who is tied to which value, in one table for all attacks, so that it can be held against something else.

A row is a position of a claim; a claim about a set of values, of which somebody is said to have one, has several rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from reissue.arrays.types import Ints

TIED = pl.Schema(
    {"claim": pl.Int64, "column": pl.String, "person": pl.Int64, "position": pl.Int64, "release": pl.Int64}
)
"""`claim` tells claims apart; `position` is that of the value in the view or, where `column` names one of several
sensitive columns, in that column; `release` is the time that it is said of, null where it is said of all times."""


def tied_to(
    people: Ints,
    position: Ints | int,
    release: Ints | int | None = None,
    *,
    column: str | None = None,
    others: Iterable[int] = (),
) -> pl.DataFrame:
    """People, by number and each a claim, with the position of the value they are said to have, or `others`."""
    count = people.size
    frame = pl.DataFrame(
        {
            "claim": np.arange(count),
            "person": people,
            "position": np.broadcast_to(position, count),
            "release": pl.Series(np.broadcast_to(-1 if release is None else release, count), dtype=pl.Int64),
        },
    ).with_columns(
        column=pl.lit(column, pl.String),
        release=pl.when(pl.col("release") >= 0).then("release"),
    )
    more = [frame.with_columns(position=pl.lit(other, pl.Int64)) for other in others]
    return pl.concat([frame, *more]).select(*TIED).cast(TIED).filter(pl.col("person") >= 0)


def tied_together(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Several such tables as one, with claims numbered through."""
    parts, begin = [pl.DataFrame(schema=TIED)], 0
    for frame in frames:
        parts.append(frame.with_columns(pl.col("claim") + begin))
        begin += 1 + int(frame["claim"].max() or 0) if frame.height else 0  # type: ignore[arg-type]
    return pl.concat(parts)
