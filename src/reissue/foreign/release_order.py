"""The order of releases by the names of their files: by the dates in them where all have one, else by their numbers.

`2020-04-02.csv`, `20200402.csv`, `cases_31-12-2020.csv`, `March 2021.xlsx`, `2021/mar/cases.csv`, `2020Q3.csv`,
`3T2020.csv`, `H2 2020.csv`, `KW05-2020.csv`; `Mar20.csv` is of March 2020. `jan.csv`, `feb.csv` and `1 March`,
`10 April` where none stands twice. `010420`, `04012020`: by the one way of reading that gives dates for all, or the
shortest time from the first to the last; a note says which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise

from reissue.errors import listed
from reissue.foreign.date_orders import MONTHS, Order, orders_of

_OTHER_WORDS = {"set", "out"}
"""Months to some, and other words in names of files."""
_WORD = "|".join(sorted(MONTHS.keys() - _OTHER_WORDS, key=lambda name: (-len(name), name)))
_GAP = r"[-_./ ,]*"
_START, _END = r"(?<![^\W\d_])(?<!\d)", r"(?![^\W_])"
_ISO = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}(0[1-9]|1[0-2]){_GAP}(0[1-9]|[12]\d|3[01])(?!\d)")
_PARTS = re.compile(r"(?<!\d)(\d{1,2})([-_. ])(\d{1,2})\2((?:19|20)\d\d)(?!\d)")
_DAY_WORD = re.compile(rf"(?<!\d)(\d{{1,2}}){_GAP}({_WORD}){_END}{_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_WORD_DAY = re.compile(rf"{_START}({_WORD}){_GAP}(\d{{1,2}})(?:st|nd|rd|th)?[-_./ ,]+((?:19|20)\d\d)(?!\d)", re.I)
_YEAR_WORD = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}({_WORD}){_END}(?:{_GAP}(\d{{1,2}})(?!\d))?", re.I)
_WORD_YEAR = re.compile(rf"{_START}({_WORD}){_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_WORD_SHORT = re.compile(rf"{_START}({_WORD})['’-]?([1-3]\d)(?!\d)", re.I)
_QUARTER_FIRST = re.compile(rf"(?<![^\W_])(?:[qt]([1-4])|([1-4])[qt]){_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_QUARTER = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}[qt]([1-4])(?!\d)", re.I)
_HALF_FIRST = re.compile(rf"(?<![^\W_])(?:h([12])|([12])h){_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_WEEK_FIRST = re.compile(
    rf"(?<![^\W_])(?:w|wk|week|kw|woche|semaine|semana){_GAP}(\d{{1,2}}){_GAP}((?:19|20)\d\d)(?!\d)", re.I
)
_WORD_ALONE = re.compile(rf"{_START}({_WORD}){_END}", re.I)
_DAY_ALONE = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?{_GAP}({_WORD}){_END}", re.I)
_ALONE_DAY = re.compile(rf"{_START}({_WORD}){_GAP}(\d{{1,2}})(?:st|nd|rd|th)?(?![\d])", re.I)
_WITHOUT_YEAR = (_DAY_ALONE, _ALONE_DAY, _WORD_ALONE)
_DIGITS = re.compile(r"(?<!\d)(\d{8}|\d{6})(?!\d)")
_SHORT = {"%d%m%Y": "day, month, year", "%m%d%Y": "month, day, year"} | {
    "%y%m%d": "year, month, day", "%d%m%y": "day, month, year", "%m%d%y": "month, day, year"
}  # fmt: skip
_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./ ]?(0[1-9]|1[0-2])(?!\d)")


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key by which `release2` comes before `release10`, and `cases.csv` before `cases (1).csv`."""
    folders, slash, last = name.lower().rpartition("/")
    stem, dot, ending = last.partition(".")
    parts = re.findall(r"\d+|\D+", f"{folders}{slash}{stem}") + [f"\0{dot}{ending}"] * bool(dot)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def in_order(names: Sequence[str]) -> tuple[list[int], str | None]:
    """The places of names in their order, and what is to be noted of it."""
    plain = sorted(range(len(names)), key=lambda at: (natural(names[at]), names[at]))
    if len(names) < 2:
        return plain, None
    dates, how = _dates(names), ""
    if None in dates:
        dates, how = _digits(names)
    if None in dates:
        numbered = len({tuple(re.findall(r"\d+", name)) for name in names}) == len(names)
        return plain, None if numbered else "releases are in alphabetical order: their names have no dates or numbers"
    by_date = sorted(plain, key=lambda at: dates[at] or date.min)
    if len(set(dates)) < len(dates):
        first, second = next((one, other) for one, other in pairwise(by_date) if dates[one] == dates[other])
        return by_date, (
            f"'{names[first]}' and '{names[second]}' are two releases of the same date; put them together in one file "
            "if they are parts of one"
        )
    if by_date == plain:
        return plain, None
    return by_date, f"releases are in the order of the dates in their names{how}"


def order_notes(names: Sequence[str], newest: Mapping[str, Sequence[float | None]]) -> list[str]:
    """Whether the newest days of a release are before those of the one before it, in most columns that both have."""
    for at in range(1, len(names)):
        pairs = [(column, some[at - 1], some[at]) for column, some in newest.items()]
        known = [(column, before, after) for column, before, after in pairs if before is not None and after is not None]
        earlier = [column for column, before, after in known if after < before]
        if len(earlier) * 2 > len(known):
            return [
                f"the newest days of {listed(earlier)} in '{names[at]}' are before those in '{names[at - 1]}', which "
                "comes before it: look whether the releases are in their order, and name the files in it if not"
            ]
    return []


def _dates(names: Sequence[str]) -> list[date | None]:
    """The date in each name, by the first way of writing that all of them have."""
    parts = [found.group(1, 3, 4) for name in names if (found := _PARTS.search(name))]
    (order,) = orders_of([["/".join(one) for one in parts]])
    for pattern in (
        _ISO, _PARTS, _DAY_WORD, _WORD_DAY, _YEAR_WORD, _WORD_YEAR, _QUARTER, _QUARTER_FIRST, _HALF_FIRST,
        _WEEK_FIRST, _MONTH, _WORD_SHORT, *_WITHOUT_YEAR,
    ):  # fmt: skip
        dates = [_date(name, pattern, order) for name in names]
        # Days and months without a year are an order only where each stands once.
        if None not in dates and (pattern not in _WITHOUT_YEAR or len({*dates}) == len(dates)):
            return dates
    return [None] * len(names)


def _digits(names: Sequence[str]) -> tuple[list[date | None], str]:
    """The dates in names that have six or eight digits: by the way of reading them that fits best, and which it is."""
    digits = [found[1] if (found := _DIGITS.search(name)) else "" for name in names]
    ways = []
    for form, how in _SHORT.items():
        dates = [_read_by(form, text) for text in digits]
        known = [one for one in dates if one is not None]
        if len(known) == len(set(known)) == len(names):
            ways.append((max(known) - min(known), dates, how))
    if not ways:
        return [None], ""
    _, best, how = min(ways, key=lambda way: way[0])
    return best, f", read as {how}; name the files in their order if that is wrong"


def _read_by(form: str, text: str) -> date | None:
    try:
        found = datetime.strptime(text, form).date()
    except ValueError:
        return None
    return found if 1990 <= found.year < 2100 and len(text) == (8 if "Y" in form else 6) else None


def _date(name: str, pattern: re.Pattern[str], order: Order | None) -> date | None:
    parts = pattern.search(name)
    if parts is None:
        return None
    if pattern is _ISO:
        numbers = (parts[1], parts[2], parts[3])
    elif pattern is _PARTS:
        if order is None:
            return None
        numbers = (parts[4], parts[3], parts[1]) if order == "day first" else (parts[4], parts[1], parts[3])
    elif pattern is _DAY_WORD:
        numbers = (parts[3], str(MONTHS[parts[2].casefold()]), parts[1])
    elif pattern is _WORD_DAY:
        numbers = (parts[3], str(MONTHS[parts[1].casefold()]), parts[2])
    elif pattern is _YEAR_WORD:
        numbers = (parts[1], str(MONTHS[parts[2].casefold()]), parts[3] or "1")
    elif pattern is _WORD_YEAR:
        numbers = (parts[2], str(MONTHS[parts[1].casefold()]), "1")
    elif pattern is _QUARTER_FIRST:
        numbers = (parts[3], str(3 * int(parts[1] or parts[2]) - 2), "1")
    elif pattern is _HALF_FIRST:
        numbers = (parts[3], str(6 * int(parts[1] or parts[2]) - 5), "1")
    elif pattern is _WEEK_FIRST:
        return _monday(int(parts[2]), int(parts[1]))
    elif pattern is _WORD_SHORT:
        numbers = (f"20{parts[2]}", str(MONTHS[parts[1].casefold()]), "1")
    elif pattern is _DAY_ALONE:
        numbers = ("2000", str(MONTHS[parts[2].casefold()]), parts[1])
    elif pattern is _ALONE_DAY:
        numbers = ("2000", str(MONTHS[parts[1].casefold()]), parts[2])
    elif pattern is _WORD_ALONE:
        numbers = ("2000", str(MONTHS[parts[1].casefold()]), "1")
    elif pattern is _QUARTER:
        numbers = (parts[1], str(3 * int(parts[2]) - 2), "1")
    else:
        numbers = (parts[1], parts[2], "1")
    try:
        return date(*map(int, numbers))
    except ValueError:
        return None


def _monday(year: int, week: int) -> date | None:
    """The first day of a week as ISO 8601 counts them."""
    try:
        return date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
