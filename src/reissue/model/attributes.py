"""What a quasi-identifier may be: intervals, sets of labels, texts with masked characters; and how two sides compare.

To be compared, two sides of an attribute are laid on one line of whole numbers, where each part has an extent.
Extents that do not meet have nothing in common; where an extent has gaps, a finer test follows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of

EVERYTHING = -1
"""In place of a set or a text: every value, also those that are named nowhere."""
CHUNK = 1 << 21
"""So many labels are looked at together."""


@dataclass(frozen=True, repr=False)
class Intervals:
    """An interval for each region; ends may be infinite. Both are NaN where only a missing value is possible."""

    low: Floats
    high: Floats
    low_open: Bools
    high_open: Bools
    missing: Bools
    """Whether the value may be missing, instead of in the interval."""

    def __post_init__(self) -> None:
        nothing = np.isnan(self.low) & np.isnan(self.high) & self.missing
        point = (self.low == self.high) & np.isfinite(self.low) & ~self.low_open & ~self.high_open
        empty = int(np.count_nonzero(~(nothing | (self.low < self.high) | point)))
        if empty:
            raise ParameterError(f"{count_of(empty, 'interval')} of {self.low.size:,} with no number in it.")

    @classmethod
    def between(cls, low: Floats, high: Floats) -> Intervals:
        """Closed intervals; everything where an end is NaN."""
        unknown = np.isnan(low) | np.isnan(high)
        no = np.zeros(low.size, dtype=np.bool_)
        return cls(np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high), no, no, unknown)

    def __len__(self) -> int:
        return self.low.size


@dataclass(frozen=True, repr=False)
class Sets:
    """A set of labels for each region; equal ones are kept once."""

    labels: tuple[str, ...]
    codes: Ints
    """Positions in `labels`, set after set, ascending within each."""
    starts: Ints
    """Where each set begins in `codes`; none is empty."""
    which: Ints
    """The set of each region, or EVERYTHING."""

    @classmethod
    def of(cls, labels: Sequence[str], sets: Sequence[Collection[str]], which: Ints) -> Sets:
        """From the distinct sets, by label."""
        place = {label: code for code, label in enumerate(labels)}
        codes = [sorted({place[label] for label in one}) for one in sets]
        starts = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        flat = np.array([code for one in codes for code in one], dtype=np.int64)
        return cls(tuple(labels), flat, starts, which)

    def __post_init__(self) -> None:
        empty = int(np.count_nonzero(np.diff(self.starts) == 0))
        if empty:
            raise ParameterError(f"{count_of(empty, 'set')} of {self.starts.size - 1:,} with no label in it.")

    def __len__(self) -> int:
        return self.which.size


@dataclass(frozen=True, repr=False)
class Patterns:
    """A text for each region in which `*` stands for any one character; equal ones are kept once."""

    texts: tuple[str, ...]
    which: Ints
    """The text of each region, or EVERYTHING."""

    def __len__(self) -> int:
        return self.which.size


Attribute = Intervals | Sets | Patterns


@dataclass(frozen=True, repr=False)
class Line:
    """An attribute of two sides on one line of whole numbers: the extent of each region, and finer tests."""

    low: Ints
    high: Ints
    other_low: Ints
    other_high: Ints
    meets: Callable[[Ints, Ints], Bools] | None
    """Which pairs whose extents meet have a point in common; None: all of them."""
    inside: Callable[[Ints, Ints], Bools]
    """In which pairs the first lies inside the second."""


def line_of(name: str, mine: Attribute, theirs: Attribute) -> Line:
    """Lay two sides of an attribute on one line."""
    if isinstance(mine, Intervals) and isinstance(theirs, Intervals):
        return _interval_line(mine, theirs)
    if isinstance(mine, Sets) and isinstance(theirs, Sets):
        return _set_line(mine, theirs)
    if isinstance(mine, Patterns) and isinstance(theirs, Patterns):
        return _pattern_line(mine, theirs)
    raise ParameterError(
        f"The attribute '{name}' cannot be compared: it is of different kinds ({type(mine).__name__.lower()} "
        f"and {type(theirs).__name__.lower()}).",
        hint="read the releases together, so that a column is one thing in all of them.",
    )


def _interval_line(mine: Intervals, theirs: Intervals) -> Line:
    every = np.concatenate([mine.low, mine.high, theirs.low, theirs.high])
    ends = np.unique(every[np.isfinite(every)])

    def extent(part: Intervals) -> tuple[Ints, Ints]:
        # Ends have even places, what lies between them odd ones; place 0 is a missing value.
        low = np.where(np.isneginf(part.low), 1, 2 * np.searchsorted(ends, part.low) + 2 + part.low_open)
        high = np.where(np.isposinf(part.high), 2 * ends.size + 1, 2 * np.searchsorted(ends, part.high) + 2)
        high = high - (part.high_open & np.isfinite(part.high))
        nothing = np.isnan(part.low)
        return np.where(nothing, 2 * ends.size + 2, low), np.where(nothing, 0, high)

    (low, high), (other_low, other_high) = extent(mine), extent(theirs)

    def meets(a: Ints, b: Ints) -> Bools:
        numbers = (low[a] <= other_high[b]) & (other_low[b] <= high[a])
        return np.asarray(numbers | (mine.missing[a] & theirs.missing[b]))

    def inside(a: Ints, b: Ints) -> Bools:
        numbers = (low[a] > high[a]) | ((other_low[b] <= low[a]) & (high[a] <= other_high[b]))
        return np.asarray(numbers & (~mine.missing[a] | theirs.missing[b]))

    gaps = bool((mine.missing & (low > 1)).any() or (theirs.missing & (other_low > 1)).any())
    from_missing, other_from_missing = np.where(mine.missing, 0, low), np.where(theirs.missing, 0, other_low)
    return Line(from_missing, high, other_from_missing, other_high, meets if gaps else None, inside)


def _set_line(mine: Sets, theirs: Sets) -> Line:
    place = {label: code for code, label in enumerate(mine.labels)}
    moved = np.array([place.setdefault(label, len(place)) for label in theirs.labels], dtype=np.int64)
    codes, other_codes = mine.codes, moved[theirs.codes]
    if theirs.labels != mine.labels:
        set_of = np.repeat(np.arange(theirs.starts.size - 1), np.diff(theirs.starts))
        other_codes = other_codes[np.lexsort((other_codes, set_of))]
    labels = len(place)

    def extent(part: Sets, codes: Ints) -> tuple[Ints, Ints]:
        # One place behind all labels is for those that nobody names.
        low = np.append(codes[part.starts[:-1]], 0)
        high = np.append(codes[part.starts[1:] - 1], labels)
        return low[part.which], high[part.which]

    sizes, other_sizes = np.diff(mine.starts), np.diff(theirs.starts)
    other_keys = np.repeat(np.arange(other_sizes.size), other_sizes) * labels + other_codes

    def shared(a: Ints, b: Ints) -> Ints:
        """How many labels pairs of sets share. Keys are in order, as the sets are and the codes in each."""
        counts = np.zeros(a.size, dtype=np.int64)
        for part in _slices(sizes[a]):
            length = sizes[a[part]]
            pair = np.repeat(np.arange(length.size), length)
            within = np.arange(pair.size) - np.repeat(np.cumsum(length) - length, length)
            wanted = b[part][pair] * labels + codes[mine.starts[a[part]][pair] + within]
            at = np.minimum(np.searchsorted(other_keys, wanted), other_keys.size - 1)
            counts[part] = np.bincount(pair[other_keys[at] == wanted], minlength=length.size)
        return counts

    def meets(a: Ints, b: Ints) -> Bools:
        return _of_kinds(mine.which[a], theirs.which[b], lambda x, y: shared(x, y) > 0, anything_inside=True)

    def inside(a: Ints, b: Ints) -> Bools:
        return _of_kinds(mine.which[a], theirs.which[b], lambda x, y: shared(x, y) == sizes[x], anything_inside=False)

    def gaps(part: Sets, codes: Ints) -> bool:
        return bool((codes[part.starts[1:] - 1] - codes[part.starts[:-1]] + 1 != np.diff(part.starts)).any())

    finer = meets if gaps(mine, codes) or gaps(theirs, other_codes) else None
    return Line(*extent(mine, codes), *extent(theirs, other_codes), finer, inside)


def _pattern_line(mine: Patterns, theirs: Patterns) -> Line:
    known = [[text.partition("*")[0] for text in part.texts] for part in (mine, theirs)]
    # Two texts can only agree if what one knows of its beginning is the beginning of what the other knows.
    every = np.array(sorted({*known[0], *known[1]}), dtype=np.str_)
    last = np.searchsorted(every, np.array([text + "\U0010ffff" for text in every.tolist()], dtype=np.str_)) - 1

    def extent(part: Patterns, beginnings: list[str]) -> tuple[Ints, Ints]:
        at = np.searchsorted(every, np.array(beginnings, dtype=np.str_)) if beginnings else np.zeros(0, dtype=np.int64)
        exact = np.array(["*" not in text for text in part.texts], dtype=np.bool_)
        high = np.where(exact, at, last[at]) if beginnings else at
        return np.append(at, 0)[part.which], np.append(high, every.size)[part.which]

    characters, other_characters = _characters(mine.texts), _characters(theirs.texts)
    lengths = np.array([len(text) for text in mine.texts], dtype=np.int64)
    other_lengths = np.array([len(text) for text in theirs.texts], dtype=np.int64)
    star, width = ord("*"), min(characters.shape[1], other_characters.shape[1])

    def agree(a: Ints, b: Ints, free: Callable[[Any, Any], Any]) -> Bools:
        agreeing = lengths[a] == other_lengths[b]
        for at in range(width):
            one, other = characters[a, at], other_characters[b, at]
            agreeing &= (one == other) | free(one, other)
        return np.asarray(agreeing, dtype=np.bool_)

    def meets(a: Ints, b: Ints) -> Bools:
        def compatible(x: Ints, y: Ints) -> Bools:
            return agree(x, y, lambda one, other: (one == star) | (other == star))

        return _of_kinds(mine.which[a], theirs.which[b], compatible, anything_inside=True)

    def inside(a: Ints, b: Ints) -> Bools:
        def narrower(x: Ints, y: Ints) -> Bools:
            return agree(x, y, lambda _, other: other == star)

        return _of_kinds(mine.which[a], theirs.which[b], narrower, anything_inside=False)

    return Line(*extent(mine, known[0]), *extent(theirs, known[1]), meets, inside)


def _characters(texts: tuple[str, ...]) -> npt.NDArray[np.uint32]:
    width = max((len(text) for text in texts), default=0)
    if not width:
        return np.zeros((len(texts), 0), dtype=np.uint32)
    return np.array(texts, dtype=f"<U{width}").view(np.uint32).reshape(len(texts), width)


def _of_kinds(a: Ints, b: Ints, test: Callable[[Ints, Ints], Bools], *, anything_inside: bool) -> Bools:
    """Ask the test once for each pair of kinds. Everything fits into everything, and into less only if one says so."""
    result = (b == EVERYTHING) | ((a == EVERYTHING) & anything_inside)
    told = np.flatnonzero((a != EVERYTHING) & (b != EVERYTHING))
    if told.size:
        width = int(b[told].max()) + 1
        pairs, back = np.unique(a[told] * width + b[told], return_inverse=True)
        result[told] = test(*unpacked(pairs, width))[back]
    return np.asarray(result, dtype=np.bool_)


def _slices(sizes: Ints) -> Iterator[slice]:
    """Runs of entries whose sizes add up to about a chunk."""
    chunk = np.cumsum(sizes) // CHUNK
    edges = np.flatnonzero(np.diff(chunk, prepend=-1, append=-1))
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield slice(start, end)


def unpacked(keys: Ints, width: int) -> tuple[Ints, Ints]:
    """The pairs behind keys: first * width + second."""
    return keys // max(width, 1), keys % max(width, 1)


def anything(like: Attribute, count: int) -> Attribute:
    """Regions of the same kind that may be anything."""
    everything = np.full(count, EVERYTHING, dtype=np.int64)
    if isinstance(like, Intervals):
        unknown = np.full(count, np.nan)
        return Intervals.between(unknown, unknown)
    if isinstance(like, Sets):
        return Sets(like.labels, np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), everything)
    return Patterns((), everything)
