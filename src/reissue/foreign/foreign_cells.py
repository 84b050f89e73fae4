"""Cells as tools write them, and what a column of them is.

| Cell                                                     | What it stands for                                      |
|----------------------------------------------------------|---------------------------------------------------------|
| `*`, `NULL`, `NA`, `NaN`, empty                          | everything                                              |
| `[21-25]`, `[21, 25[`, `]21, 25]`, `[21,25)`, `(21;25]`  | an interval; an end is left out where the bracket says so |
| `21-25`, `21–25`, `05-09`, `[-5 - 3]`                    | an interval with both ends                              |
| `<30`, `<=30`, `>=60`, `>60`, `60+`, `[60, Inf)`         | an interval without end                                 |
| `2024-01-31`, `[2024-01-01, 2024-03-31]`                 | a date, and dates                                       |
| `{a,b}`, `{"a, b","c"}`                                  | one of these labels                                     |
| `537**`                                                  | a text; each `*` is one character                       |
| a label of a hierarchy                                   | the leaves below it                                     |
| anything else                                            | itself                                                  |

A column is one thing in all releases and in the registry: numbers, dates, masked texts or labels. Numbers that begin
with 0, as codes do, are texts unless there are intervals of them. A column of bare `21-25` alone is read as intervals:
should they be codes, more groups seem to have something in common than do, and nothing is missed. Beside codes such
as `02139-4307`, where nothing else speaks for numbers, they are labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import count_of
from reissue.foreign.intervals import (
    Interval,
    has_comma,
    interval_of,
    is_bare,
    is_code,
    is_dashed_code,
    is_plain,
)
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Patterns, Sets
from reissue.model.hierarchy import Hierarchy
from reissue.tables.recode import set_labels

SUPPRESSED = frozenset({"*", "", "NULL", "null", "NA", "NaN", "nan"})
"""What tools write where they leave a cell out."""
NUMBERS = {"number", "code", "interval", "bare"}
"""The sorts of cells that can all be intervals of numbers."""
APART = "that exclude one another; give a hierarchy if some of them stand for others"


def labels_of(text: str) -> list[str] | None:
    """The labels of `{a,b}`; None if it is not a set, or not a sound one."""
    if not (text.startswith("{") and text.endswith("}") and len(text) > 2):
        return None
    labels = [label.strip() for label in set_labels(text)]
    return None if not all(labels) or labels == [text] else labels


@dataclass(frozen=True, repr=False)
class SourceColumn:
    """One column of one file."""

    where: str
    """`release 2`, `the registry`."""
    cells: pl.Series
    """Every cell, as text."""
    take: Ints
    """The rows that regions are wanted of."""
    missing: Bools | None = None
    """For each row whether the value may be missing, where the file says so in a column of its own."""


@dataclass(frozen=True, repr=False)
class ForeignColumn:
    """What the cells of a column stand for, source by source."""

    parts: tuple[Attribute, ...]
    how: str
    """How it was read, for people."""


def read_column(
    name: str, sources: Sequence[SourceColumn], hierarchy: Hierarchy | None = None, *, show_values: bool = False
) -> ForeignColumn | list[str]:
    """Read a column of all files together; if that cannot be done, what is wrong."""
    coded = [_Coded.of(source) for source in sources]
    if hierarchy is not None:
        return _in_hierarchy(name, coded, hierarchy, show_values)
    sorts = {text: _sort(text) for one in coded for text in one.texts if text not in SUPPRESSED}
    seen = set(sorts.values())
    if wrong := _commas(name, coded, sorts, seen):
        return wrong
    if {"bare", "dashed code"} <= seen <= {"bare", "code", "dashed code"}:
        return ForeignColumn(_labels(coded, sorts), f"codes with dashes, not intervals: labels {APART}")
    if seen <= NUMBERS - {"code"} or (seen & {"interval", "bare"} and seen <= NUMBERS):
        how = "intervals of numbers, all with a bare dash; give a hierarchy if they are codes"
        return ForeignColumn(
            tuple(_intervals(one, "numbers") for one in coded),
            how if seen == {"bare"} else "numbers and intervals of them",
        )
    if seen <= {"date", "dates"}:
        return ForeignColumn(tuple(_intervals(one, "dates") for one in coded), "dates and intervals of them")
    if seen & {"interval", "bare", "dates"}:
        return _mixed(name, coded, sorts, NUMBERS if seen & {"interval", "bare"} else {"date", "dates"}, show_values)
    if "mask" in seen:
        wrong = _unreadable(name, coded, lambda text: sorts[text] in ("set", "broken"), "a masked text", show_values)
        return wrong or ForeignColumn(tuple(_patterns(one) for one in coded), "texts in which * is any one character")
    wrong = _unreadable(name, coded, lambda text: sorts[text] == "broken", "a set of labels", show_values)
    wrong += _numbers_and_labels(name, coded, sorts)
    return wrong or ForeignColumn(_labels(coded, sorts), f"labels {APART}")


def _sort(text: str) -> str:
    if is_plain(text):
        return "code" if is_code(text) else "number"
    if is_plain(text, "dates"):
        return "date"
    if interval_of(text):
        return "bare" if is_bare(text) else "interval"
    if interval_of(text, "dates"):
        return "dates"
    if is_dashed_code(text):
        return "dashed code"
    if has_comma(text):
        return "comma"
    if text.startswith("{"):
        return "set" if labels_of(text) else "broken"
    return "mask" if "*" in text else "label"


def _commas(name: str, coded: Sequence[_Coded], sorts: Mapping[str, str], seen: set[str]) -> list[str]:
    """A column of numbers some of which have a comma: it may stand before decimals or between thousands."""
    if "comma" not in seen or not seen <= NUMBERS | {"comma"}:
        return []
    problems = []
    for one in coded:
        count, _ = one.count(lambda text: sorts[text] == "comma")
        if count:
            problems.append(
                f"'{name}' in {one.source.where}: {count_of(count, 'cell')} of {one.codes.size:,} with a comma in a "
                "number; numbers with a decimal comma are not understood, nor with one between thousands; write 1.5 "
                "and 10500"
            )
    return problems


@dataclass(frozen=True, repr=False, eq=False)
class _Coded:
    """A source with its distinct texts numbered."""

    source: SourceColumn
    texts: list[str]
    codes: Ints
    """The text of each row."""

    @classmethod
    def of(cls, source: SourceColumn) -> _Coded:
        cells = source.cells.cast(pl.String).str.strip_chars().fill_null("*")
        texts = cells.unique().sort()
        codes = cells.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        return cls(source, texts.to_list(), codes)

    def count(self, wanted: Callable[[str], bool]) -> tuple[int, list[str]]:
        """How many cells are of that sort, and which texts."""
        chosen = np.array([text not in SUPPRESSED and wanted(text) for text in self.texts], dtype=np.bool_)
        texts = [text for text, one in zip(self.texts, chosen.tolist(), strict=True) if one]
        return int(np.count_nonzero(chosen[self.codes])) if texts else 0, texts


def _intervals(coded: _Coded, kind: str) -> Intervals:
    found = [None if text in SUPPRESSED else interval_of(text, kind) for text in coded.texts]
    told = [one or Interval(-np.inf, np.inf, True, True) for one in found]
    take = coded.codes[coded.source.take]
    low = np.array([one.low for one in told], dtype=np.float64)[take]
    high = np.array([one.high for one in told], dtype=np.float64)[take]
    low_open = np.array([one.low_open for one in told], dtype=np.bool_)[take]
    high_open = np.array([one.high_open for one in told], dtype=np.bool_)[take]
    missing = np.array([one is None for one in found], dtype=np.bool_)[take]
    if coded.source.missing is not None:
        flagged = coded.source.missing[coded.source.take]
        nothing_else = missing & flagged
        low, high = np.where(nothing_else, np.nan, low), np.where(nothing_else, np.nan, high)
        missing = missing | flagged
    return Intervals(low, high, low_open, high_open, missing)


def _patterns(coded: _Coded) -> Patterns:
    texts = tuple(text for text in coded.texts if text not in SUPPRESSED)
    place = {text: at for at, text in enumerate(texts)}
    which = np.array([place.get(text, EVERYTHING) for text in coded.texts], dtype=np.int64)
    return Patterns(texts, which[coded.codes[coded.source.take]])


def _sets(coded: Sequence[_Coded], held: Mapping[str, Sequence[str]], labels: Sequence[str]) -> tuple[Sets, ...]:
    parts = []
    for one in coded:
        texts = [text for text in one.texts if text in held]
        place = {text: at for at, text in enumerate(texts)}
        which = np.array([place.get(text, EVERYTHING) for text in one.texts], dtype=np.int64)
        parts.append(Sets.of(labels, [held[text] for text in texts], which[one.codes[one.source.take]]))
    return tuple(parts)


def _labels(coded: Sequence[_Coded], sorts: Mapping[str, str]) -> tuple[Sets, ...]:
    held = {text: labels_of(text) or [text] for text in sorts}
    return _sets(coded, held, sorted({label for labels in held.values() for label in labels}))


def _in_hierarchy(
    name: str, coded: Sequence[_Coded], hierarchy: Hierarchy, show_values: bool
) -> ForeignColumn | list[str]:
    known = set(hierarchy.labels)
    held: dict[str, list[str]] = {}
    for text in {text for one in coded for text in one.texts} - {"*"}:
        labels = [text] if text in known else labels_of(text)
        if labels and known.issuperset(labels):
            held[text] = [leaf for label in labels for leaf in hierarchy.covers(label)]
    wrong = _unreadable(name, coded, lambda text: text not in held, "a label of its hierarchy", show_values)
    return wrong or ForeignColumn(_sets(coded, held, hierarchy.leaves), "labels of its hierarchy")


def _unreadable(
    name: str, coded: Sequence[_Coded], wanted: Callable[[str], bool], as_what: str, show_values: bool
) -> list[str]:
    problems = []
    for one in coded:
        count, texts = one.count(wanted)
        if count:
            shown = f": {', '.join(map(repr, texts[:5]))}" if show_values else ""
            cells = f"{count_of(count, 'cell')} of {one.codes.size:,}"
            problems.append(f"'{name}' in {one.source.where}: {cells} cannot be read as {as_what} or *{shown}")
    return problems


def _mixed(
    name: str, coded: Sequence[_Coded], sorts: Mapping[str, str], plain: set[str], show_values: bool
) -> list[str]:
    """A column in which some cells are intervals and others cannot be."""
    what = "numbers" if "number" in plain else "dates"
    spread = plain & {"interval", "bare", "dates"}
    ranged = [one for one in coded if one.count(lambda text: sorts[text] in spread)[0]]
    problems = _unreadable(
        name, ranged, lambda text: sorts[text] not in plain, f"{what} or an interval of them", show_values
    )
    others = [one for one in coded if one not in ranged and one.count(lambda text: sorts[text] not in plain)[0]]
    for one in others:
        problems.append(f"'{name}' holds intervals of {what} in {ranged[0].source.where}, text in {one.source.where}")
    return problems


def _numbers_and_labels(name: str, coded: Sequence[_Coded], sorts: Mapping[str, str]) -> list[str]:
    """Numbers alone in one file and none in another: the column is not the same thing in both."""
    numbers: list[str] = []
    labels: list[str] = []
    for one in coded:
        held = Counter(sorts[text] for text in one.texts if text in sorts)
        if held and set(held) <= {"number", "code", "date"}:
            numbers.append(one.source.where)
        elif held and set(held) <= {"label", "dashed code", "comma"}:
            labels.append(one.source.where)
    if not (numbers and labels):
        return []
    return [f"'{name}' holds numbers or dates alone in {numbers[0]}, and none in {labels[0]}"]
