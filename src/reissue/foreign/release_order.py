"""The order of releases by the names of their files: by the dates in them where all have one, else by their numbers.

`2020-04-02.csv`, `20200402.csv`, `cases_31-12-2020.csv`, `March 2021.xlsx`, `2021/mar/cases.csv`, `2020Q3.csv`;
`jan.csv`, `feb.csv` where no month stands twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from reissue.foreign.date_orders import MONTHS, Order, orders_of

_WORD = "|".join(sorted(MONTHS, key=len, reverse=True))
_GAP = r"[-_./ ,]*"
_START, _END = r"(?<![^\W\d_])(?<!\d)", r"(?![^\W_])"
_ISO = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}(0[1-9]|1[0-2]){_GAP}(0[1-9]|[12]\d|3[01])(?!\d)")
_PARTS = re.compile(r"(?<!\d)(\d{1,2})([-_. ])(\d{1,2})\2((?:19|20)\d\d)(?!\d)")
_DAY_WORD = re.compile(rf"(?<!\d)(\d{{1,2}}){_GAP}({_WORD}){_END}{_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_WORD_DAY = re.compile(rf"{_START}({_WORD}){_GAP}(\d{{1,2}})(?:st|nd|rd|th)?[-_./ ,]+((?:19|20)\d\d)(?!\d)", re.I)
_YEAR_WORD = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}({_WORD}){_END}(?:{_GAP}(\d{{1,2}})(?!\d))?", re.I)
_WORD_YEAR = re.compile(rf"{_START}({_WORD}){_GAP}((?:19|20)\d\d)(?!\d)", re.I)
_QUARTER = re.compile(rf"(?<!\d)((?:19|20)\d\d){_GAP}q([1-4])(?!\d)", re.I)
_WORD_ALONE = re.compile(rf"{_START}({_WORD}){_END}", re.I)
_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./ ]?(0[1-9]|1[0-2])(?!\d)")


def natural(name: str) -> list[tuple[int, int, str]]:
    """The key by which `release2` comes before `release10`."""
    parts = re.findall(r"\d+|\D+", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def in_order(names: Sequence[str]) -> tuple[list[int], str | None]:
    """The places of names in their order, and what is to be noted of it."""
    plain = sorted(range(len(names)), key=lambda at: (natural(names[at]), names[at]))
    dates = _dates(names)
    if len(names) < 2:
        return plain, None
    if None in dates:
        numbered = len({tuple(re.findall(r"\d+", name)) for name in names}) == len(names)
        return plain, None if numbered else "releases are in alphabetical order: their names have no dates or numbers"
    by_date = sorted(plain, key=lambda at: dates[at] or date.min)
    if by_date == plain:
        return plain, None
    return by_date, "releases are in the order of the dates in their names"


def _dates(names: Sequence[str]) -> list[date | None]:
    """The date in each name, by the first way of writing that all of them have."""
    parts = [found.group(1, 3, 4) for name in names if (found := _PARTS.search(name))]
    (order,) = orders_of([["/".join(one) for one in parts]])
    for pattern in (_ISO, _PARTS, _DAY_WORD, _WORD_DAY, _YEAR_WORD, _WORD_YEAR, _QUARTER, _MONTH, _WORD_ALONE):
        dates = [_date(name, pattern, order) for name in names]
        # Months without a year are an order only where each stands once.
        if None not in dates and (pattern is not _WORD_ALONE or len({*dates}) == len(dates)):
            return dates
    return [None] * len(names)


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
