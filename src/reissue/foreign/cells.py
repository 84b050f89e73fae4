"""Cells as tools write them, and what a column of them is.

| Cell                                                     | What it stands for                                      |
|----------------------------------------------------------|---------------------------------------------------------|
| `*`, `NULL`, `NA`, `NaN`, empty                          | everything                                              |
| `[21-25]`, `[21, 25[`, `]21, 25]`, `[21,25)`, `(21;25]`  | an interval; an end is left out where the bracket says so |
| `21-25`, `21–25`, `[-5 - 3]`                             | an interval with both ends                              |
| `<30`, `<=30`, `>=60`, `>60`, `60+`, `[60, Inf)`         | an interval without end                                 |
| `2024-01-31`, `[2024-01-01, 2024-03-31]`                 | a date, and dates                                       |
| `{a,b}`, `{"a, b","c"}`                                  | one of these labels                                     |
| `537**`                                                  | a text; each `*` is one character                       |
| a label of a hierarchy                                   | the leaves below it                                     |
| anything else                                            | itself                                                  |

A column is one thing in all releases and in the registry: numbers, dates, masked texts or labels. Numbers that begin
with 0, as codes do, are texts unless there are intervals of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.attributes import EVERYTHING, Attribute, Intervals, Patterns, Sets
from reissue.errors import count_of
from reissue.hierarchy import Hierarchy
from reissue.recode import set_labels

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SUPPRESSED = frozenset({"*", "", "NULL", "null", "NA", "NaN", "nan"})
"""What tools write where they leave a cell out."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"
_INFINITE = r"[+-]?(?:[Ii]nf(?:inity)?|∞)"
_BETWEEN = r"\s*(?:[,;–—-])\s*"


def _compiled(value: str) -> tuple[re.Pattern[str], ...]:
    end = rf"({value}|{_INFINITE})"
    return (
        re.compile(rf"([\[\](])\s*{end}{_BETWEEN}{end}\s*([\[\])])"),
        re.compile(rf"()({value}){_BETWEEN}({value})()"),
        re.compile(rf"(<=|>=|<|>|≤|≥)\s*({value})"),
        re.compile(rf"\[\s*({value})\s*\]"),
    )


_PLAIN = {"numbers": re.compile(_NUMBER), "dates": re.compile(_DATE)}
_FORMS = {"numbers": _compiled(_NUMBER), "dates": _compiled(_DATE)}
_FROM = re.compile(rf"({_NUMBER})\+")
_CODE = re.compile(r"[+-]?0\d.*")


class Interval(NamedTuple):
    """The values a cell may stand for, on the line of numbers or of dates (in microseconds)."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))


def interval_of(text: str, kind: str = "numbers") -> Interval | None:
    """A number or an interval (or, of kind `dates`, a date or several) as an interval; None if it is neither."""
    if _PLAIN[kind].fullmatch(text):
        value = _value(text, kind)
        return None if value is None else Interval(value, value)
    found = _parsed(text, kind)
    return None if found is None or found.empty else found


def _parsed(text: str, kind: str) -> Interval | None:
    brackets, bare, compared, single = _FORMS[kind]
    if match := brackets.fullmatch(text) or bare.fullmatch(text):
        opening, first, second, closing = match.groups()
        low, high = _value(first, kind), _value(second, kind)
        if low is None or high is None:
            return None
        return Interval(low, high, opening in ("(", "]") or low == -np.inf, closing in (")", "[") or high == np.inf)
    if match := compared.fullmatch(text):
        value = _value(match[2], kind)
        if value is None:
            return None
        strictly = match[1] in ("<", ">")
        below = match[1] in ("<", "<=", "≤")
        return Interval(-np.inf, value, True, strictly) if below else Interval(value, np.inf, strictly, True)
    if match := single.fullmatch(text):
        value = _value(match[1], kind)
        return None if value is None else Interval(value, value)
    if kind == "numbers" and (match := _FROM.fullmatch(text)):
        return Interval(float(match[1]), np.inf, False, True)
    return None


def _value(text: str, kind: str) -> float | None:
    if text.lstrip("+-")[:1] in ("I", "i", "∞"):
        return -np.inf if text.startswith("-") else np.inf
    if kind == "numbers":
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return float((moment - datetime(1970, 1, 1)).total_seconds() * 1e6)


def labels_of(text: str) -> list[str] | None:
    """The labels of `{a,b}`; None if it is not a set, or not a sound one."""
    if not (text.startswith("{") and text.endswith("}") and len(text) > 2):
        return None
    labels = [label.strip() for label in set_labels(text)]
    return None if not all(labels) or labels == [text] else labels


@dataclass(frozen=True, repr=False)
class Source:
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
class Column:
    """What the cells of a column stand for, source by source."""

    parts: tuple[Attribute, ...]
    how: str
    """How it was read, for people."""


def read_column(
    name: str, sources: Sequence[Source], hierarchy: Hierarchy | None = None, *, show_values: bool = False
) -> Column | list[str]:
    """Read a column of all files together; if that cannot be done, what is wrong."""
    coded = [_Coded.of(source) for source in sources]
    if hierarchy is not None:
        return _in_hierarchy(name, coded, hierarchy, show_values)
    sorts = {text: _sort(text) for one in coded for text in one.texts if text not in SUPPRESSED}
    seen = set(sorts.values())
    if seen <= {"number", "interval"} or ("interval" in seen and seen <= {"number", "code", "interval"}):
        return Column(tuple(_intervals(one, "numbers") for one in coded), "numbers and intervals of them")
    if seen <= {"date", "dates"}:
        return Column(tuple(_intervals(one, "dates") for one in coded), "dates and intervals of them")
    if seen & {"interval", "dates"}:
        plain = {"number", "code", "interval"} if "interval" in seen else {"date", "dates"}
        return _mixed(name, coded, sorts, plain, show_values)
    if "mask" in seen:
        wrong = _unreadable(name, coded, lambda text: sorts[text] in ("set", "broken"), "a masked text", show_values)
        return wrong or Column(tuple(_patterns(one) for one in coded), "texts in which * is any one character")
    wrong = _unreadable(name, coded, lambda text: sorts[text] == "broken", "a set of labels", show_values)
    wrong += _numbers_and_labels(name, coded, sorts)
    if wrong:
        return wrong
    held = {text: labels_of(text) or [text] for text in sorts}
    return Column(_sets(coded, held, sorted({label for labels in held.values() for label in labels})), "labels")


def _sort(text: str) -> str:
    if _PLAIN["numbers"].fullmatch(text):
        return "code" if _CODE.fullmatch(text) else "number"
    if _PLAIN["dates"].fullmatch(text) and interval_of(text, "dates"):
        return "date"
    if interval_of(text):
        return "interval"
    if interval_of(text, "dates"):
        return "dates"
    if text.startswith("{") and text.endswith("}"):
        return "set" if labels_of(text) else "broken"
    return "mask" if "*" in text else "label"


@dataclass(frozen=True, repr=False, eq=False)
class _Coded:
    """A source with its distinct texts numbered."""

    source: Source
    texts: list[str]
    codes: Ints
    """The text of each row."""

    @classmethod
    def of(cls, source: Source) -> _Coded:
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


def _in_hierarchy(name: str, coded: Sequence[_Coded], hierarchy: Hierarchy, show_values: bool) -> Column | list[str]:
    known = set(hierarchy.labels)
    held: dict[str, list[str]] = {}
    for text in {text for one in coded for text in one.texts} - {"*"}:
        labels = [text] if text in known else labels_of(text)
        if labels and known.issuperset(labels):
            held[text] = [leaf for label in labels for leaf in hierarchy.covers(label)]
    wrong = _unreadable(name, coded, lambda text: text not in held, "a label of its hierarchy", show_values)
    return wrong or Column(_sets(coded, held, hierarchy.leaves), "labels of its hierarchy")


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
    spread = plain & {"interval", "dates"}
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
        elif held and set(held) <= {"label"}:
            labels.append(one.source.where)
    if not (numbers and labels):
        return []
    return [f"'{name}' holds numbers or dates alone in {numbers[0]}, and none in {labels[0]}"]
