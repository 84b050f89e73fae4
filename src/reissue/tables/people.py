"""Known people: from the ids of a table to the numbers of those who were in the series before.

Everyone who ever was in a series is known, and most who are in a table were in the last release. So the
ids of a table are matched with the people of the last release first. Only the rest is looked for among all:
one pass over everybody lets through those who may be meant, and these are matched like the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Ints, Words
from reissue.errors import ParameterError

Numbers = Ints
Codes = Words

_BITS = range(10, 27)
"""How large the table of bits for the pass over everybody may be, as a power of two."""


ROOM = 4
"""A table of places may have so many places for each id in it, and so many ids for each that is sought."""


@dataclass(frozen=True, repr=False)
class KnownPeople:
    """Everyone known to a series, by id."""

    ids: Callable[[], pl.Series]
    """Gives the id of everybody, in the order of their numbers from 0; null for those who were forgotten."""
    count: int
    """How many they are. Should somebody else commit a release meanwhile, its people are not among them."""
    last: pl.Series
    """The numbers of those who were in the last release."""
    plain: Callable[[], pl.Series] | None = None
    """Where ids are hashed: gives the hash of everybody's plain form, null where it was not kept."""

    def everyone(self) -> pl.Series:
        """The id of everybody who is known."""
        return self.ids().head(self.count)

    def numbers(self, ids: pl.Series) -> Numbers:
        """The number of each id, each of which occurs once; -1 where nobody known has it."""
        everyone = self.everyone()
        placed = _by_places(everyone, ids)
        if placed is not None:
            return placed
        sought = ids.alias("id").to_frame()
        found = _matched(sought, _people(everyone, self.last.sort()))
        rest = found < 0
        if rest.any():
            few = sought.filter(rest)
            found[rest] = _matched(few, _people(everyone, _candidates(everyone, few["id"])))
        return found


def _by_places(everyone: pl.Series, sought: pl.Series) -> Numbers | None:
    """The number of each id from a table with a place for every id there could be; None where that would not pay.

    It pays for whole numbers without large gaps, as long as those known are not far more than those sought.
    """
    whole = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
    if everyone.dtype not in whole or sought.dtype not in whole or not 0 < everyone.len() <= ROOM * sought.len():
        return None
    numbers = np.arange(everyone.len(), dtype=np.int32)
    if everyone.has_nulls():
        kept = everyone.is_not_null()
        everyone, numbers = everyone.filter(kept), numbers[kept.to_numpy()]
        if not everyone.len():
            return None
    known, asked = everyone.to_numpy().astype(np.int64, copy=False), sought.to_numpy().astype(np.int64, copy=False)
    low, high = int(known.min()), int(known.max())
    if high - low >= ROOM * known.size:
        return None
    places = np.full(high - low + 1, -1, dtype=np.int32)
    places[known - low] = numbers
    found = np.full(asked.size, -1, dtype=np.int64)
    inside = (asked >= low) & (asked <= high)
    found[inside] = places[asked[inside] - low]
    return found


def numbers_of(ids: set[Any], known: pl.DataFrame) -> list[int]:
    """The numbers of all of these ids, among people known by `number` and `id`; or an error if any is not there."""
    alike = [person for person in ids if isinstance(person, str) == (known["id"].dtype == pl.String)]
    numbers: list[int] = known.filter(known["id"].is_in(alike))["number"].to_list() if alike else []
    if not ids:
        raise ParameterError("No id was given; nothing was forgotten.", hint="give one id or more, one in a line.")
    if lacking := len(ids) - len(numbers):
        which = (
            "The id given is"
            if len(ids) == 1
            else f"{lacking:,} of the {len(ids):,} ids given {'is' if lacking == 1 else 'are'}"
        )
        raise ParameterError(
            f"{which} not in the series; nothing was forgotten.",
            hint="check how the ids are written: as in the table that was published. Who was forgotten already is not "
            "in the series any more.",
        )
    return numbers


def _matched(sought: pl.DataFrame, people: pl.DataFrame) -> Numbers:
    joined = sought.join(people, on="id", how="left", maintain_order="left")
    return joined["number"].cast(pl.Int64).fill_null(-1).to_numpy().copy()


def _people(everyone: pl.Series, numbers: pl.Series) -> pl.DataFrame:
    """The people of these numbers, which are in ascending order: `number`, `id`."""
    # Chunk by chunk: to gather from many chunks of text at once takes many times as long.
    ids = []
    places = numbers.to_numpy()
    for start, chunk in _chunks(everyone):
        low, high = np.searchsorted(places, np.array([start, start + chunk.len()], dtype=places.dtype))
        if high > low:
            ids.append(chunk.gather(places[low:high] - places.dtype.type(start)))
    return pl.DataFrame({"number": numbers, "id": pl.concat(ids, rechunk=True) if ids else everyone.clear()})


def _candidates(everyone: pl.Series, few: pl.Series) -> pl.Series:
    """The numbers of all whose ids are among the few, and of some others, in ascending order."""
    from reissue.kernels.sieve import sieve

    bits = min(max(few.len().bit_length() + 6, _BITS.start), _BITS.stop - 1)
    sought = _codes(few)
    found = [sieve(_codes(chunk), sought, bits) + np.uint32(start) for start, chunk in _chunks(everyone)]
    return pl.Series(np.concatenate(found) if found else [], dtype=pl.UInt32)


def _chunks(everyone: pl.Series) -> Iterator[tuple[int, pl.Series]]:
    """The pieces that a series has in memory, each with the number of its first person."""
    start = 0
    for chunk in everyone.get_chunks() if everyone.len() else []:
        yield start, chunk
        start += chunk.len()


def _codes(ids: pl.Series) -> Codes:
    """A number for each id: itself or its hash. Those who were forgotten get that of somebody else."""
    if ids.dtype != pl.Int64:
        return ids.hash().to_numpy()
    whole = ids.fill_null(0) if ids.has_nulls() else ids  # without nulls nothing is copied
    return whole.to_numpy().view(np.uint64)
