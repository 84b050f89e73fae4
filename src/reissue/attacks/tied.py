"""Who is tied to which value, in one table for all attacks, so that it can be held against something else.

A row is a position of a claim; a claim about a set of values, of which somebody is said to have one, has several rows.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from reissue.arrays.dense import distinct
from reissue.arrays.runs import runs
from reissue.arrays.types import Bools, Ints, Words
from reissue.model.published import Published

TIED = pl.Schema(
    {"claim": pl.Int64, "column": pl.String, "person": pl.Int64, "position": pl.Int64, "release": pl.Int64}
)
"""`claim` tells claims apart; `position` is that of the value in the view or, where `column` names one of several
sensitive columns, in that column, or `UNSEEN`; `release` is the time that it is said of, null where that is always."""

UNSEEN = -(1 << 62)
"""The position of a value that no release shows."""


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


def shown_values(published: Published, people: Ints) -> tuple[Ints, Ints]:
    """Each of some people, ascending, by place with each value that one of their groups shows, by position."""
    width, found = max(len(published.values), 1), [np.zeros(0, dtype=np.int64)]
    for release in published.releases:
        real = np.flatnonzero(np.isin(release.members, people) & (release.members >= 0))
        group = release.member_groups[real]
        lengths = np.diff(release.value_starts)[group]
        value = release.values[runs(release.value_starts[group], lengths)]
        found.append(np.repeat(np.searchsorted(people, release.members[real]), lengths) * width + value)
    keys = distinct(np.concatenate(found))
    return keys // width, keys % width


def ruled_out_by(published: Published, people: Ints, left: Words, asked: Bools) -> pl.DataFrame:
    """For those of some people who are `asked` about: the values shown that are not `left`, a bit for each value."""
    place, value = shown_values(published, people)
    bit = (left[place, value // 64] >> (value % 64).astype(np.uint64)) & np.uint64(1)
    cannot = asked[place] & (bit == 0)
    return tied_to(people[place[cannot]], value[cannot])
