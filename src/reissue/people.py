"""Known people: from the ids of a table to the numbers of those who were in the series before.

Everyone who ever was in a series is known, and most who are in a table were in the last release. So the
ids of a table are matched with the people of the last release first, and only the rest is looked for
among all: both times the hash table is made of few, however many there are to be gone through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class KnownPeople:
    """Everyone known to a series, by id."""

    ids: Callable[[], pl.Series]
    """Gives the id of everybody, in the order of their numbers from 0; null for those who were forgotten."""
    count: int
    """How many they are. Should somebody else commit a release meanwhile, its people are not among them."""
    last: pl.Series
    """The numbers of those who were in the last release."""

    def numbers(self, ids: pl.Series) -> Numbers:
        """The number of each id, each of which occurs once; -1 where nobody known has it."""
        everyone = self.ids().head(self.count)
        sought = ids.alias("id").to_frame()
        found = _matched(sought, _among(everyone, self.last))
        rest = found < 0
        if rest.any():
            few = sought.filter(rest)
            there = everyone.is_in(few["id"].implode()).arg_true()
            found[rest] = _matched(few, _among(everyone, there))
        return found


def _matched(sought: pl.DataFrame, people: pl.DataFrame) -> Numbers:
    joined = sought.join(people, on="id", how="left", maintain_order="left")
    return joined["number"].cast(pl.Int64).fill_null(-1).to_numpy().copy()


def _among(everyone: pl.Series, numbers: pl.Series) -> pl.DataFrame:
    """The people of these numbers: `number`, `id`."""
    numbers = numbers.sort()
    # Chunk by chunk: to gather from many chunks of text at once takes many times as long.
    chunks = everyone.get_chunks()
    ends = np.cumsum([chunk.len() for chunk in chunks])
    cuts = [0, *numbers.search_sorted(ends).to_list()]
    ids = [
        chunk.gather(numbers[low:high] - (end - chunk.len()))
        for chunk, end, (low, high) in zip(chunks, ends, pairwise(cuts), strict=True)
        if high > low
    ]
    return pl.DataFrame({"number": numbers, "id": pl.concat(ids, rechunk=True) if ids else everyone.clear()})
