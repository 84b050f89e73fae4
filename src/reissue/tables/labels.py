"""The labels of a column: which there are, how often, and which one each row has, in one pass over the rows.

Text is matched with the labels that are expected: those of earlier releases, of the policy, and of the first rows. Only
where a row has another one, all rows are looked at once more. Whole numbers are counted; their texts are made of those
that occur, not of every row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.dense import often
from reissue.arrays.types import Ints
from reissue.model.snapshot import Codes, smallest_unsigned
from reissue.tables.plain import plain_text

FIRST_ROWS = 1 << 11
"""So many rows say which labels to expect."""
ROOM = 2
"""Whole numbers are counted where their range has at most so many numbers for each row."""

LARGEST = 2**63 - 1
"""Beyond this, whole numbers are not counted."""

Order = Callable[[Collection[str]], tuple[str, ...]]


@dataclass(frozen=True, repr=False)
class FoundLabels:
    """Labels, among them all that a column has, and the place of each row's label among them."""

    labels: tuple[str, ...]
    counts: Ints
    """How many rows have each label."""
    rows: Codes
    """For each row the place of its label; of a row without one, nothing that may be relied on."""
    lacking: pl.Series | None
    """Which rows have no label; None where all have one."""

    @property
    def used(self) -> list[str]:
        """The labels that occur."""
        return [label for label, count in zip(self.labels, self.counts.tolist(), strict=True) if count]

    def count(self, labels: Collection[str]) -> int:
        """How many rows have one of these labels."""
        chosen = set(labels)
        return sum(count for label, count in zip(self.labels, self.counts.tolist(), strict=True) if label in chosen)

    def coded(self, labels: tuple[str, ...], missing: str) -> Codes:
        """For each row the place of its label among these; the place of `missing` where it has none."""
        dtype = smallest_unsigned(len(labels))
        codes = self.rows
        if labels != self.labels:
            place_of = {label: place for place, label in enumerate(labels)}
            codes = np.array([place_of.get(label, 0) for label in self.labels], dtype=dtype)[self.rows]
        codes = codes.astype(dtype, copy=False)
        if self.lacking is not None:
            codes = np.where(self.lacking.to_numpy(), np.array(labels.index(missing), dtype=dtype), codes)
        return codes


def find_labels(series: pl.Series, expected: Collection[str], in_order: Order) -> FoundLabels | None:
    """The labels of a column, put in order together with those expected; None where its type has no plain text."""
    if series.dtype.is_integer() and (found := _whole_numbers(series, expected, in_order)) is not None:
        return found
    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        return _kept_once(series, dtype.categories, expected, in_order)
    if isinstance(dtype, pl.Categorical):
        return _kept_once(series, dtype.categories.to_series(), expected, in_order)
    text = plain_text(series)
    return None if text is None else _texts(text, expected, in_order)


def _kept_once(series: pl.Series, names: pl.Series, expected: Collection[str], in_order: Order) -> FoundLabels:
    """Labels that a library keeps once, and in each row the place of one of them."""
    places = series.to_physical()
    lacking = series.is_null() if series.has_nulls() else None
    numbers = (places if lacking is None else places.fill_null(0)).to_numpy()
    counts = often(numbers, names.len())
    if lacking is not None and counts.size:
        counts[0] -= int(lacking.sum())
    occurring = np.flatnonzero(counts)
    texts = names.gather(occurring).to_list()
    labels = in_order({*expected, *texts})
    place_of = {label: place for place, label in enumerate(labels)}
    table = np.zeros(counts.size + 1, dtype=smallest_unsigned(len(labels)))  # where all are missing there is no label
    table[occurring] = [place_of[text] for text in texts]
    by_label = np.zeros(len(labels), dtype=np.int64)
    by_label[table[occurring]] = counts[occurring]
    return FoundLabels(labels, by_label, table[numbers], lacking)


def _whole_numbers(series: pl.Series, expected: Collection[str], in_order: Order) -> FoundLabels | None:
    """Numbers in a narrow range; None where they are in a wide one, or there are none."""
    low, high = series.min(), series.max()
    if not isinstance(low, int) or not isinstance(high, int) or high - low >= ROOM * series.len():
        return None
    if low < -LARGEST or high > LARGEST:
        return None
    lacking = series.is_null() if series.has_nulls() else None
    numbers = series.cast(pl.Int64)  # of a narrower type, a distance may not fit
    distance = (numbers if lacking is None else numbers.fill_null(low)).to_numpy() - low
    counts = np.bincount(distance)
    if lacking is not None:
        counts[0] -= int(lacking.sum())
    occurring = np.flatnonzero(counts)
    texts = [str(low + place) for place in occurring.tolist()]
    labels = in_order({*expected, *texts})
    place_of = {label: place for place, label in enumerate(labels)}
    table = np.zeros(counts.size, dtype=smallest_unsigned(len(labels)))
    table[occurring] = [place_of[text] for text in texts]
    by_label = np.zeros(len(labels), dtype=np.int64)
    by_label[table[occurring]] = counts[occurring]
    return FoundLabels(labels, by_label, table[distance], lacking)


def _unexpected(text: pl.Series, expected: Collection[str]) -> set[str]:
    """Labels to look for besides: those of the first rows if they repeat, otherwise of all rows."""
    first = text.head(FIRST_ROWS)
    if expected and first.cast(pl.Enum(list(expected)), strict=False).null_count() == first.null_count():
        return set()  # as in most later releases, and sooner seen than which ones they are
    found = set(first.unique().to_list()) - {None}
    several = 2 * len(found) <= first.len()
    return found if several else set(text.unique().to_list()) - {None}


def _texts(text: pl.Series, expected: Collection[str], in_order: Order) -> FoundLabels:
    labels = in_order({*expected, *_unexpected(text, expected)})
    found = text.cast(pl.Enum(list(labels)), strict=False)
    if found.null_count() > text.null_count():
        others = text.filter(found.is_null()).unique().drop_nulls()
        labels = in_order({*labels, *others.to_list()})
        found = text.cast(pl.Enum(list(labels)), strict=False)
    lacking = text.is_null() if text.has_nulls() else None
    places = found.to_physical()
    rows: Codes = (places if lacking is None else places.fill_null(0)).to_numpy()
    counts = np.bincount(rows, minlength=len(labels))
    if lacking is not None and labels:
        counts[0] -= int(lacking.sum())
    return FoundLabels(labels, counts, rows, lacking)
