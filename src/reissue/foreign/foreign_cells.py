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

and what `wordings` and `date_orders` add: `20s`, `19 and younger`, `31.12.2020`.

A column is one thing in all releases and in the registry: numbers, dates, masked texts or labels. Numbers that begin
with 0, as codes do, are texts unless there are intervals of them. A column of bare `21-25` alone is read as intervals:
should they be codes, more groups seem to have something in common than do, and nothing is missed. Beside codes such
as `02139-4307`, where nothing else speaks for numbers, they are labels.

Cells that do not fit into their column are never an error. They may be anything, which can hide something and never
says anything false, and a doubt tells how many they are; or all of the column are labels, where intervals are few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import count_of
from reissue.foreign.date_orders import as_band, day_of, in_iso, is_ordered, is_unsure, orders_of
from reissue.foreign.intervals import (
    Interval,
    has_comma,
    interval_of,
    is_bare,
    is_code,
    is_code_of_letters,
    is_dashed_code,
    is_plain,
)
from reissue.foreign.wordings import in_signs, plain_label, unwrapped
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Patterns, Sets
from reissue.model.hierarchy import Hierarchy
from reissue.model.missing_words import no_number, says_missing
from reissue.tables.recode import set_labels

SUPPRESSED = frozenset({"*", "", "NULL", "null", "NA", "NaN", "nan"})
"""What tools write where they leave a cell out."""
NUMBERS = {"number", "code", "interval", "bare"}
"""The sorts of cells that can all be intervals of numbers."""
SPREAD = {"interval", "bare"}
DATES = {"date", "dates"}
TIMES = 2
"""So many times of the day may stand in a file of days; two, where summer time begins."""
DAYS_EACH = 5
"""So many different days must have each of them."""
FEW_LABELS, ROWS_EACH = 20, 10
"""A column of so few labels, each with so many rows, would show one of them again."""
WORDS_AMONG_LABELS = (
    "words for what is not known are labels like others here; --missing COLUMN=word if they may stand for any of them"
)
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
    doubts: tuple[str, ...] = ()
    """What was not understood, or guessed, with the option that says better."""
    missing: tuple[str, ...] = ()
    """Words that were taken for a missing value, in small letters."""
    asides: tuple[str, ...] = ()
    """What all its cells have in common, without its name."""

    @property
    def kind(self) -> str:
        """`numbers`, `dates`, or else."""
        return "numbers" if "numbers" in self.how.split() else "dates" if "dates" in self.how.split() else ""


def read_column(
    name: str,
    sources: Sequence[SourceColumn],
    hierarchy: Hierarchy | None = None,
    *,
    labels: bool = False,
    missing: Collection[str] = (),
    show_values: bool = False,
) -> ForeignColumn | list[str]:
    """Read a column of all files together; where cells are not of its hierarchy, what is wrong.

    `labels`: cells are labels whatever they look like. `missing` are texts, in small letters, that mean
    a missing value.
    """
    unknown = frozenset(missing)
    coded = [_Coded.of(source, unknown) for source in sources]
    if hierarchy is not None:
        return _in_hierarchy(name, coded, hierarchy, show_values)
    if labels:
        sorts = {text: "label" for one in coded for text in one.means.values() if text not in SUPPRESSED}
        return ForeignColumn(_labels(coded, sorts), f"labels, as was said, {APART}")
    reading = _Reading(name, show_values)
    coded = _with_bands([one.in_signs() for one in coded], reading)
    coded = _with_days(_with_dates(coded, reading), reading)
    coded = _without_words(coded, reading)
    parts, how = reading.read(coded)
    return ForeignColumn(parts, how, tuple(reading.doubts), tuple(reading.missing), tuple(reading.asides))


class _Reading:
    """What a column is, and what is not understood of it."""

    def __init__(self, name: str, show_values: bool) -> None:
        self.name, self.show_values = name, show_values
        self.doubts: list[str] = []
        self.missing: list[str] = []
        self.asides: list[str] = []
        self.undecided: str | None = None
        """That it cannot be told whether days or months come first."""

    def read(self, coded: Sequence[_Coded]) -> tuple[tuple[Attribute, ...], str]:
        sorts = {one.means[text]: _sort(one.means[text]) for one in coded for text in one.texts}
        sorts = {text: sort for text, sort in sorts.items() if text not in SUPPRESSED}
        seen = set(sorts.values())
        if {"bare", "dashed code"} <= seen <= {"bare", "code", "dashed code"}:
            return _labels(coded, sorts), f"codes with dashes, not intervals: labels {APART}"
        if seen <= NUMBERS - {"code"} or (seen & SPREAD and seen <= NUMBERS):
            how = f"intervals of numbers, all with a bare dash; --labels '{self.name}' if they are codes"
            return (
                tuple(_intervals(one, "numbers") for one in coded),
                how if seen == {"bare"} else "numbers and intervals of them",
            )
        if seen == {"number", "code"} and _padded_elsewhere(coded, sorts):
            self.asides.append("the same numbers with zeros before them in some files and without in others")
            return tuple(_intervals(one, "numbers") for one in coded), "numbers and intervals of them"
        if seen <= DATES:
            return tuple(_intervals(one, "dates") for one in coded), "dates and intervals of them"
        if seen & (SPREAD | {"dates"}):
            return self._mixed(coded, sorts)
        if "mask" in seen:
            self._doubt(coded, lambda text: sorts[text] in ("set", "broken"), "a masked text")
            known = {text: sort for text, sort in sorts.items() if sort not in ("set", "broken")}
            return tuple(_patterns(one, known) for one in coded), "texts in which * is any one character"
        if where := _apart(coded, sorts):
            self.doubts.append(
                f"'{self.name}' holds {where[0]}, and {where[1]}: it may be anything in all releases, as these cannot "
                f"be compared; --labels '{self.name}' if they are labels all the same"
            )
            return _sets(coded, {}, ()), "something else in one file than in another, and is not compared"
        if "comma" in seen and seen <= NUMBERS | {"comma"}:
            count, total, _ = _counted(coded, lambda text: sorts[text] == "comma")
            self.doubts.append(
                f"'{self.name}': {count:,} of {total:,} cells with a comma in a number, which may stand "
                "before decimals or between thousands: labels, and what is written differently is "
                "different; write 1.5 and 10500"
            )
            return _labels(coded, sorts), f"labels {APART}"
        self._doubt(coded, lambda text: sorts[text] == "broken", "a set of labels")
        self._doubt_labels(coded, sorts)
        if where := _called_otherwise(coded, sorts):
            self.doubts.append(
                f"'{self.name}' has no label in {where[1]} that it has in {where[0]}: it may be anything in all "
                f"releases, as the same may be called differently; --labels '{self.name}' if they are others"
            )
            return _sets(coded, {}, ()), "something else in one file than in another, and is not compared"
        if any(sort == "label" and says_missing(text) for text, sort in sorts.items()):
            self.asides.append(WORDS_AMONG_LABELS)
        coded, folded = self._folded(coded, sorts)
        return _labels(coded, {text: sort for text, sort in folded.items() if sort != "broken"}), f"labels {APART}"

    def _mixed(self, coded: Sequence[_Coded], sorts: Mapping[str, str]) -> tuple[tuple[Attribute, ...], str]:
        """A column in which some cells are intervals and others cannot be."""
        seen = set(sorts.values())
        others = sum(sort in ("label", "mask") for sort in sorts.values())
        if not seen & {"interval", "dates", "set", "broken"} and others > len(sorts) / 2:
            self.doubts.append(
                f"'{self.name}' has more labels than numbers with a dash between them, which are taken for codes"
            )
            return _labels(coded, sorts), f"labels {APART}"
        plain, what = (NUMBERS, "numbers") if seen & SPREAD else (DATES, "dates")
        self._doubt(coded, lambda text: sorts[text] not in plain, f"{what} or an interval of them")
        kept = [one.only({text for text, sort in sorts.items() if sort in plain}) for one in coded]
        return tuple(_intervals(one, what) for one in kept), f"{what} and intervals of them"

    def _doubt_labels(self, coded: Sequence[_Coded], sorts: Mapping[str, str]) -> None:
        """Tell that a column is of labels for the sake of some cells, or as its dates cannot be told."""
        if self.undecided is not None:
            self.doubts.append(
                f"{self.undecided}: labels, and what is written differently is different; write 2020-12-31"
            )
            return
        dates = {text for text, sort in sorts.items() if sort == "date" or _is_date(text)}
        labels = {text for text, sort in sorts.items() if sort == "label"} - dates
        if sum(map(is_code_of_letters, labels)) > len(labels) / 2:
            return
        often = _counted(coded, lambda text: text in labels)[0]
        if often and _counted(coded, lambda text: text in labels and is_unsure(text))[0] > 0.9 * often:
            self.doubts.append(
                f"'{self.name}' seems to hold dates without a year, or with half of one: labels, and what is written "
                "differently is different; write 2020-12-31"
            )
            return
        for plain, what in ((dates, "date"), ({text for text, sort in sorts.items() if sort == "number"}, "number")):
            if 0 < often <= _counted(coded, lambda text, plain=plain: text in plain)[0]:  # type: ignore[misc]
                _, total, texts = _counted(coded, lambda text: text in labels)
                shown = f" ({', '.join(map(repr, texts[:5]))})" if self.show_values else ""
                are = f"is no {what}" if often == 1 else f"are no {what}s"
                self.doubts.append(
                    f"'{self.name}': {count_of(often, 'cell')} of {total:,}{shown} {are}, so that all are labels; "
                    f"--missing '{self.name}=...' if such cells say that nothing is known"
                )
                return

    def _folded(self, coded: Sequence[_Coded], sorts: Mapping[str, str]) -> tuple[Sequence[_Coded], Mapping[str, str]]:
        """Labels that differ in case, accents and spaces alone as one, which can hide something at most."""
        first: dict[str, str] = {}
        for text in sorted(sorts):
            if sorts[text] == "label":
                first.setdefault(plain_label(text), text)
        one_for = {text: first[plain_label(text)] for text in sorts if sorts[text] == "label"}
        if all(text == one for text, one in one_for.items()):
            return coded, sorts
        self.asides.append("labels that differ in case, accents and spaces alone are one")
        made = [one.meaning(lambda text: one_for.get(text, text)) for one in coded]
        return made, {one_for.get(text, text): sort for text, sort in sorts.items()}

    def _doubt(self, coded: Sequence[_Coded], wanted: Callable[[str], bool], as_what: str) -> None:
        """Tell how many cells are not what the others of the column are."""
        count, total, texts = _counted(coded, wanted)
        if not count:
            return
        having = [one.source.where for one in coded if one.count(wanted)[0]]
        where = having[0] if len(having) == 1 else f"{having[0]} and {len(having) - 1:,} more"
        shown = f" ({', '.join(map(repr, texts[:5]))})" if self.show_values else ""
        self.doubts.append(
            f"'{self.name}': {count_of(count, 'cell')} of {total:,}{shown}, in {where}, cannot be read as {as_what}, "
            f"and may be anything; --missing '{self.name}=...' if they say that nothing is known, --labels "
            f"'{self.name}' if all cells are labels, or a hierarchy"
        )


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


@dataclass(frozen=True, repr=False, eq=False)
class _Coded:
    """A source with its distinct texts numbered."""

    source: SourceColumn
    texts: list[str]
    codes: Ints
    """The text of each row."""
    means: dict[str, str]
    """What each text is read as: itself, the same in signs, or * where it may be anything."""

    @classmethod
    def of(cls, source: SourceColumn, missing: frozenset[str]) -> _Coded:
        cells = source.cells.cast(pl.String).str.strip_chars().fill_null("*")
        texts = cells.unique().sort()
        codes = cells.cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int64)
        found = texts.to_list()
        means = {text: "*" if text.lower() in missing else unwrapped(text) for text in found}
        return cls(source, found, codes, means)

    def meaning(self, means: Callable[[str], str]) -> _Coded:
        """The same source, its texts read anew."""
        return replace(self, means={text: means(meant) for text, meant in self.means.items()})

    def in_signs(self) -> _Coded:
        """Words for intervals as signs."""
        return self.meaning(in_signs)

    def only(self, known: Collection[str]) -> _Coded:
        """All but these may be anything."""
        return self.meaning(lambda text: text if text in known else "*")

    def count(self, wanted: Callable[[str], bool]) -> tuple[int, list[str]]:
        """How many cells are of that sort, and which texts."""
        meant = [self.means[text] for text in self.texts]
        chosen = np.array([text not in SUPPRESSED and wanted(text) for text in meant], dtype=np.bool_)
        texts = [text for text, one in zip(self.texts, chosen.tolist(), strict=True) if one]
        return int(np.count_nonzero(chosen[self.codes])) if texts else 0, texts


def _counted(coded: Sequence[_Coded], wanted: Callable[[str], bool]) -> tuple[int, int, list[str]]:
    """How many cells of all sources are of that sort, of how many, and which texts."""
    found = [one.count(wanted) for one in coded]
    texts = list(dict.fromkeys(text for _, some in found for text in some))
    return sum(count for count, _ in found), sum(one.codes.size for one in coded), texts


def _with_bands(coded: Sequence[_Coded], reading: _Reading) -> list[_Coded]:
    """Days without a year that stand beside bands of numbers, as spreadsheets make them of bands, as these bands."""
    meant = {text for one in coded for text in one.means.values()} - SUPPRESSED
    bands = {text: band for text in meant if (band := as_band(text))}
    others = {_sort(text) for text in meant - bands.keys() if not no_number(text)}
    if not bands or not others & SPREAD or not others <= NUMBERS:
        return list(coded)
    count, total, _ = _counted(coded, lambda text: text in bands)
    reading.doubts.append(
        f"'{reading.name}': {count_of(count, 'cell')} of {total:,} with a day and a month beside bands of numbers, as "
        "spreadsheets make 9-May of 5-9, read as such bands"
    )
    return [one.meaning(lambda text: bands.get(text, text)) for one in coded]


def _with_dates(coded: Sequence[_Coded], reading: _Reading) -> list[_Coded]:
    """Dates as ISO 8601 writes them, where nearly all cells are dates."""
    meant = [set(one.means.values()) - SUPPRESSED for one in coded]
    everything = set().union(*meant)
    told = {text for text in everything if no_number(text)}
    strange = {text for text in everything - told if not interval_of(text, "dates")}
    if not strange:
        return list(coded)
    orders = orders_of(meant)
    dates = [{text: in_iso(text, order) for text in some & strange} for some, order in zip(meant, orders, strict=True)]
    ordered = {text for text in strange if is_ordered(text)}
    dated = ordered | {text for some in dates for text, written in some.items() if written}
    undated = strange - dated
    if not dated:
        return list(coded)
    count, _, _ = _counted(coded, lambda text: text in undated)
    total, _, _ = _counted(coded, lambda text: text not in told)
    if count > total / 10:
        return list(coded)
    undecided = [
        one for one, some in zip(coded, dates, strict=True) if any(some.get(text, "") is None for text in ordered)
    ]
    if undecided:
        where = undecided[0].source.where
        reading.undecided = f"'{reading.name}': whether day or month comes first cannot be told in {where}"
        return list(coded)
    if ordered:
        used = sorted({order for order, some in zip(orders, meant, strict=True) if order and some & ordered})
        reading.asides.append(f"dates with the {' and the '.join(used)}, as cells show")
    return [
        one.meaning(lambda text, some=some: some.get(text) or text)  # type: ignore[misc]
        for one, some in zip(coded, dates, strict=True)
    ]


def _with_days(coded: Sequence[_Coded], reading: _Reading) -> list[_Coded]:
    """Times as days, in a file whose times of the day are nearly all the same, as where local midnight is at 05:00."""
    made: list[_Coded] = []
    for one in coded:
        days = {text: found for text in set(one.means.values()) if (found := day_of(text))}
        times = {time for _, time in days.values()}
        alike = bool(times - {""}) and len(times) <= TIMES and len(days) >= DAYS_EACH * len(times)
        made.append(one.meaning(lambda text, days=days: days[text][0] if text in days else text) if alike else one)  # type: ignore[misc]
    if any(one is not other for one, other in zip(made, coded, strict=True)):
        reading.asides.append("the same time of the day everywhere, which is left out")
    return made


def _without_words(coded: Sequence[_Coded], reading: _Reading) -> list[_Coded]:
    """Words for what is not known stand for anything, in a column of numbers or dates."""
    meant = {text for one in coded for text in one.means.values()} - SUPPRESSED
    told = {text for text in meant if no_number(text)}
    sorts = {_sort(text) for text in meant - told}
    if not told or not sorts or not (sorts <= NUMBERS or sorts <= DATES):
        return list(coded)
    count, total, _ = _counted(coded, lambda text: text in told)
    reading.missing += sorted({text.lower() for text in told})
    words = ",".join(reading.missing)
    reading.doubts.append(
        f"'{reading.name}': {count_of(count, 'cell')} of {total:,} with a word for what is not known may be anything, "
        f"as with --missing '{reading.name}={words}'; --labels '{reading.name}' if it is a value of its own"
    )
    return [one.meaning(lambda text: "*" if text in told else text) for one in coded]


def _intervals(coded: _Coded, kind: str) -> Intervals:
    meant = [coded.means[text] for text in coded.texts]
    found = [None if text in SUPPRESSED else interval_of(text, kind) for text in meant]
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


def _patterns(coded: _Coded, known: Collection[str]) -> Patterns:
    texts = tuple(text for text in dict.fromkeys(coded.means.values()) if text in known)
    place = {text: at for at, text in enumerate(texts)}
    which = np.array([place.get(coded.means[text], EVERYTHING) for text in coded.texts], dtype=np.int64)
    return Patterns(texts, which[coded.codes[coded.source.take]])


def _sets(coded: Sequence[_Coded], held: Mapping[str, Sequence[str]], labels: Sequence[str]) -> tuple[Sets, ...]:
    parts = []
    for one in coded:
        texts = [text for text in dict.fromkeys(one.means.values()) if text in held]
        place = {text: at for at, text in enumerate(texts)}
        which = np.array([place.get(one.means[text], EVERYTHING) for text in one.texts], dtype=np.int64)
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
    for text in {text for one in coded for text in one.means.values()} - {"*"}:
        labels = [text] if text in known else labels_of(text)
        if labels and known.issuperset(labels):
            held[text] = [leaf for label in labels for leaf in hierarchy.covers(label)]
    wrong = _unreadable(name, coded, lambda text: text not in held, "a label of its hierarchy", show_values)
    return wrong or ForeignColumn(_sets(coded, held, hierarchy.leaves), "labels of its hierarchy")


def _unreadable(
    name: str, coded: Sequence[_Coded], wanted: Callable[[str], bool], as_what: str, show_values: bool
) -> list[str]:
    """What is wrong, in one line for all sources."""
    count, _, texts = _counted(coded, wanted)
    if not count:
        return []
    having = [one for one in coded if one.count(wanted)[0]]
    more = f" and {len(having) - 1:,} more" if len(having) > 1 else ""
    shown = f": {', '.join(map(repr, texts[:5]))}" if show_values else ""
    cells = f"{count_of(count, 'cell')} of {sum(one.codes.size for one in having):,}"
    return [f"'{name}' in {having[0].source.where}{more}: {cells} cannot be read as {as_what} or *{shown}"]


def _is_date(text: str) -> bool:
    """Whether it is a date in any writing."""
    return in_iso(text, "day first") is not None or in_iso(text, "month first") is not None


def _padded_elsewhere(coded: Sequence[_Coded], sorts: Mapping[str, str]) -> bool:
    """Whether files write the same numbers with and without leading zeros, `05` and `5`, and none has both."""
    written: dict[float, set[str]] = {}
    for one in coded:
        texts = [text for text in set(one.means.values()) if text in sorts]
        numbers = [float(text) for text in texts]
        if len(set(numbers)) < len(numbers):
            return False
        for number, text in zip(numbers, texts, strict=True):
            written.setdefault(number, set()).add(text)
    return any(len(texts) > 1 for texts in written.values())


def _called_otherwise(coded: Sequence[_Coded], sorts: Mapping[str, str]) -> tuple[str, str] | None:
    """Two sources, one after the other, that have a few labels each and none in common, in many rows."""
    before: tuple[str, set[str]] | None = None
    for one in coded:
        held = {plain_label(text) for text in one.means.values() if sorts.get(text) == "label"}
        known = one.codes.size - one.count(lambda text: sorts.get(text) != "label")[0]
        if not 2 <= len(held) <= FEW_LABELS or known < ROWS_EACH * len(held) or known < one.codes.size / 2:
            before = None
            continue
        if before is not None and not held & before[1]:
            return before[0], one.source.where
        before = (one.source.where, held)
    return None


def _apart(coded: Sequence[_Coded], sorts: Mapping[str, str]) -> tuple[str, str] | None:
    """What files hold where they hold different things: numbers alone in one, and none in another."""
    found: dict[str, str] = {}
    for one in coded:
        held = {(sorts[text], text) for text in one.means.values() if text in sorts}
        kinds = {sort for sort, _ in held}
        if not kinds:
            continue
        if kinds <= {"number", "code"}:
            what = "numbers"
        elif kinds <= {"date"}:
            what = "dates"
        elif kinds <= {"label", "dashed code", "comma"}:
            unsure = sum(is_ordered(text) or is_unsure(text) for _, text in held)
            what = "dates in another writing" if unsure > 0.9 * len(held) else "labels"
        else:
            continue
        found.setdefault(what, f"{what} alone in {one.source.where}")
    if len(found) < 2:
        return None
    first, second, *_ = found.values()
    return first, second
