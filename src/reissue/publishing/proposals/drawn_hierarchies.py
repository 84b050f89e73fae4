"""Hierarchies that need no knowledge of the subject: days to months, quarters and years; numbers to bands; postcodes to
their beginnings.

They are files beside the policy, as ARX writes them: a line for each leaf, more general labels to the right. Labels of
the table cannot be avoided in them, so as far as possible they hold all days, numbers and codes of the range and not
only those that occur: a later table does not fail at a day that nobody had before, and the file tells less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

import polars as pl

from reissue.publishing.proposals.cell_patterns import TextDates
from reissue.publishing.proposals.column_facts import Facts
from reissue.publishing.proposals.column_names import meaning_of

MOST_LEAVES = 60_000
MOST_NUMBERS = 2_000
DECADES_FROM = 15
"""With more years a level of decades is put above them."""
ROOT = "*"


@dataclass(frozen=True, repr=False)
class Drawn:
    """A hierarchy for a column."""

    column: str
    rows: tuple[tuple[str, ...], ...]
    used: bool
    """Whether the policy uses it; else it stands in a comment, as what could be used instead."""
    words: str
    days: bool = False
    """Whether its leaves are days that are written in a way that is read as labels."""

    def csv(self) -> str:
        """The file."""
        return "".join(";".join(map(_cell, row)) + "\n" for row in self.rows)


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ';"\r\n') else text


def drawn_for(column: pl.Series, facts: Facts) -> Drawn | None:
    """A hierarchy for a quasi-identifier, where its values are days, numbers or postcodes."""
    values = column.drop_nulls().unique()
    meaning = meaning_of(facts.name)
    if facts.dates is not None:
        return _of_text_dates(values.cast(pl.String), facts)
    if facts.sort == "date" and facts.labels:
        return _of_dates(values, facts)
    if "postcode" in meaning and facts.postcodes and facts.labels:
        return _of_postcodes(values.cast(pl.String), facts)
    if facts.sort == "number" and facts.whole and facts.labels and facts.distinct > 10:
        return _of_numbers(values, facts, age="age" in meaning)
    return None


def _days(first: date, last: date) -> Iterable[date]:
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def _above(day: date, decades: bool) -> tuple[str, ...]:
    year = (f"{day.year}", f"{day.year // 10 * 10}s") if decades else (f"{day.year}",)
    return (f"{day:%Y-%m}", f"{day.year}-Q{(day.month + 2) // 3}", *year, ROOT)


def _range(values: pl.Series) -> tuple[date, date] | None:
    """Whole years around the days; None where they are too many."""
    low, high = values.min(), values.max()
    if not isinstance(low, date) or not isinstance(high, date) or (high.year - low.year + 1) * 366 > MOST_LEAVES:
        return None
    return date(low.year, 1, 1), date(high.year, 12, 31)


def _of_dates(values: pl.Series, facts: Facts) -> Drawn | None:
    if (bounds := _range(values)) is None:
        return None
    decades = bounds[1].year - bounds[0].year >= DECADES_FROM
    rows = tuple((day.isoformat(), *_above(day, decades)) for day in _days(*bounds))
    return Drawn(facts.name, rows, False, "months, quarters and years")


def _of_text_dates(texts: pl.Series, facts: Facts) -> Drawn | None:
    assert isinstance(facts.dates, TextDates)
    style = facts.dates.style
    days = texts.str.strip_chars().str.to_date(style, strict=False)
    if days.null_count() or (bounds := _range(days)) is None:
        return None
    decades = bounds[1].year - bounds[0].year >= DECADES_FROM
    written = _ways(style)
    seen = set(texts.to_list())
    # Only the ways of writing that occur: 1.2.2026 or 01.02.2026.
    used = [way for way in written if seen & {way(day) for day in days.to_list()}] or written[:1]
    rows = {way(day): _above(day, decades) for day in _days(*bounds) for way in used}
    if seen - rows.keys():
        return None
    words = f"months, quarters and years of days written as {_pattern_words(style)}"
    if facts.dates.ambiguous:
        words += " (the day may as well be first as the month: check)"
    return Drawn(facts.name, tuple((leaf, *above) for leaf, above in rows.items()), True, words, days=True)


def _ways(style: str) -> list[_Way]:
    ways = [_Way(style)]
    if "." in style or "/" in style or style in ("%d-%m-%Y", "%d %b %Y"):
        ways.append(_Way(style, padded=False))
    return ways


@dataclass(frozen=True)
class _Way:
    """A way to write a day."""

    style: str
    padded: bool = True

    def __call__(self, day: date) -> str:
        if self.padded:
            return day.strftime(self.style)
        plain = self.style.replace("%d", str(day.day)).replace("%m", str(day.month))
        return day.strftime(plain)


def _pattern_words(style: str) -> str:
    return date(2026, 3, 31).strftime(style)


def _of_postcodes(texts: pl.Series, facts: Facts) -> Drawn | None:
    lengths = texts.str.len_chars().unique()
    if lengths.len() != 1 or not 3 <= (length := int(lengths[0])) <= 8:
        return None
    leaves = texts.to_list()
    if texts.str.contains(r"^[0-9]+$").all() and length >= 4:
        # All codes with these beginnings: later tables bring some of them.
        beginnings = texts.str.head(length - 2).unique().to_list()
        if 100 * len(beginnings) <= MOST_LEAVES:
            leaves = [f"{start}{number:02}" for start in beginnings for number in range(100)]
    if len(leaves) > MOST_LEAVES or any("*" in leaf for leaf in leaves):
        return None
    rows = tuple(
        (leaf, *(leaf[: length - cut] + "*" * cut for cut in range(1, length)), "*" * length) for leaf in sorted(leaves)
    )
    return Drawn(facts.name, rows, True, "beginnings of codes")


def _of_numbers(values: pl.Series, facts: Facts, *, age: bool) -> Drawn | None:
    low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]
    widths: tuple[int, ...]
    if age and low >= 0 and high <= 120:
        low, high, widths = 0, max(high, 109), (5, 10, 20)
    else:
        if high - low >= MOST_NUMBERS or low < 0:
            return None
        width = next(one for one in (1, 2, 5, 10, 20, 50, 100) if (high - low) / one <= 40)
        widths = (width, 5 * width, 20 * width)
    if widths[0] == 1:
        widths = widths[1:]
    low, high = low // widths[-1] * widths[-1], high // widths[-1] * widths[-1] + widths[-1] - 1
    rows = tuple(
        (str(one), *(f"{one // width * width}-{one // width * width + width - 1}" for width in widths), ROOT)
        for one in range(low, high + 1)
    )
    return Drawn(facts.name, rows, False, f"bands of {', '.join(map(str, widths))}")
