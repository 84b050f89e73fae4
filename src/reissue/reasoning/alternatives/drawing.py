"""Draw the sets that people are shown: exactly with the probabilities of a design, given everybody's true value.

Everybody's set depends on their value, the design and their own random words, on nobody else and on no order.

1. The combination of large values, j. With a small true value: with probability w(j) r(j) / (m p of all small values),
   where r(j) slots are left; with a large one, among those that have it: w(j) / (its inclusion probability).
2. The small values that fill r(j) slots, by Sampford's design, given that the true value is among them if it is small.
   One after the other by their numbers, with sums over all sets that are still possible: one word each, and no set is
   drawn in vain. Only the true value must not be drawn again. Where that is likely it has sums of its own, without it;
   elsewhere the draw begins anew.

Differs from Sampford, who draws with replacement until all are different: that takes for ever where values are nearly
in every set, and more words everywhere. Sampling unit after unit by what is still possible is known (Traat, Bondesson &
Meister, Sampling design and sample selection through distribution theory, Journal of Statistical Planning and Inference
123 (2004) 395-413); here it is done given that the true value is in the sample.

A word counts as a multiple of 2^-53. No probability is further from the design's than a few times that, and sums over
sets are as exact as floating-point numbers; a table of 10^9 people could not tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from reissue.arrays.cores import PARALLEL_FROM, at_once, spans
from reissue.arrays.types import Floats, Ints, Words
from reissue.errors import InternalError
from reissue.kernels.drawn_sets import draw_sets
from reissue.model.design import Design
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.alternatives.sampford import Fillings, fillings

RandomWords = Callable[[Ints, int], Words]
"""Called with rows and a round, 0 or more: fresh random words for each of these rows, at least m. Different rows, and
different rounds of a row, must get independent words; several threads may call it at once."""

CHUNK = 1 << 14
"""So many rows are drawn at a time: their words stay near the processor."""
LIKELY, VERY_LIKELY = 1 / 8, 1 / 2
"""With this inclusion probability a value has sums of its own; the second where sums take more memory."""
MANY_VALUES, MANY_SUMS = 1_000, 50_000
"""With more values, or more sums in a table, these take more memory."""


def draw(design: Design, codes: npt.NDArray[np.integer], words: RandomWords) -> npt.NDArray[np.unsignedinteger]:
    """A set for everybody with these true values: a row of m values, ascending, a value with k slots k times."""
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < design.values:
        raise InternalError("a true value is none of the design's")
    tables = tables_of(design)
    sets = np.empty((codes.size, design.m), dtype=smallest_unsigned(design.values))
    at_once(partial(_draw_span, tables, codes, words, sets), spans(codes.size, PARALLEL_FROM))
    return sets


@dataclass(frozen=True)
class Tables:
    """What `draw_sets` reads of a design."""

    place_of: Ints
    small: Ints
    large: Ints
    taken: Ints
    joint: npt.NDArray[np.bool_]
    chances: Floats
    size_of: Ints
    certain: Ints
    free: Ints
    gaps: Floats
    table_of: Ints
    whole: Ints
    sums: Floats

    def draw(self, codes: Ints, words: Words, chosen: Ints, sets: npt.NDArray[np.uint32]) -> Ints:
        """Draw sets; the rows that need more words."""
        waiting = np.empty(codes.size, dtype=np.int64)
        count = draw_sets(
            codes, words, chosen, self.place_of, self.small, self.large, self.taken, self.joint, self.chances,
            self.size_of, self.certain, self.free, self.gaps, self.table_of, self.whole, self.sums, sets, waiting,
        )  # fmt: skip
        return waiting[:count]


def tables_of(design: Design) -> Tables:
    """What `draw_sets` reads of a design: chances of combinations, and sums over sets."""
    every = fillings(design)
    place_of = np.empty(design.values, dtype=np.int64)
    place_of[design.small] = np.arange(design.small.size)
    place_of[design.large] = -1 - np.arange(design.large.size)
    certain = np.full((every.sizes.size, int(every.certain.sum(axis=1).max(initial=0))), -1, dtype=np.int64)
    for size, row in enumerate(every.certain):
        certain[size, : row.sum()] = design.small[row]
    table_of, sizes, without = _tables_for(every)
    return Tables(
        place_of=place_of,
        small=design.small,
        large=design.large.copy(),  # kernels are compiled for arrays that can be written
        taken=design.slots[design.large],
        joint=design.joint.copy(),
        chances=_chances(design),
        size_of=every.size_of,
        certain=certain,
        free=every.free,
        gaps=every.gaps,
        table_of=table_of,
        whole=np.arange(every.sizes.size),
        sums=every.tables(sizes, without),
    )


def _tables_for(every: Fillings) -> tuple[Ints, Ints, Ints]:
    """For each size and small value the table for somebody who has it, -1 if it is certain; the size and place of each.

    First comes a table for each size with all values.
    """
    count = every.sizes.size
    table_of = np.where(every.certain, -1, np.arange(count)[:, None])
    values, most = every.odds.shape[1], int(every.free.max(initial=0))
    much = values > MANY_VALUES or values * most > MANY_SUMS
    likely = every.inclusion > (VERY_LIKELY if much else LIKELY)
    size, place = np.nonzero(likely & ~every.certain)
    table_of[size, place] = count + np.arange(size.size)
    return table_of, np.concatenate([np.arange(count), size]), np.concatenate([np.full(count, -1), place])


def _chances(design: Design) -> Floats:
    """How probable combinations are, added up: for somebody with a small value, then with each large one."""
    weights = np.vstack([design.weights * design.remaining, (design.joint * design.weights[:, None]).T])
    sums = np.cumsum(weights, axis=1)
    sums /= np.where(sums[:, -1:] > 0, sums[:, -1:], 1.0)
    # The last one that can occur takes what rounding leaves.
    sums[sums >= sums[:, -1:]] = 1.0
    return sums


def _draw_span(
    tables: Tables,
    codes: npt.NDArray[np.integer],
    words: RandomWords,
    sets: npt.NDArray[np.unsignedinteger],
    span: tuple[int, int],
) -> None:
    for begin in range(*span, CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, span[1]))
        _draw_rows(tables, codes, words, sets, rows)


def _draw_rows(
    tables: Tables,
    codes: npt.NDArray[np.integer],
    words: RandomWords,
    sets: npt.NDArray[np.unsignedinteger],
    rows: Ints,
) -> None:
    m = sets.shape[1]
    chosen = np.full(rows.size, 0 if len(tables.joint) == 1 else -1)
    number = 0
    while rows.size:
        fresh = np.ascontiguousarray(words(rows, number), dtype=np.uint64)
        if fresh.ndim != 2 or len(fresh) != rows.size or fresh.shape[1] < m:
            raise InternalError(f"{m} random words are needed for each row")
        found = np.empty((rows.size, m), dtype=np.uint32)
        waiting = tables.draw(codes[rows].astype(np.int64), fresh, chosen, found)
        sets[rows] = found  # those that wait are written again
        rows, chosen, number = rows[waiting], chosen[waiting], number + 1
