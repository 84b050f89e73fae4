"""Dates that are not written as ISO 8601 does, written so.

`31.12.2020` begins with the day, and so does what has its month in words. `03/04/2020` may begin with either: a column
says which, if some of its cells can be read in one way only. Each file is asked for itself, then all together; where
they do not say, or a file says both, the order stays unknown. `20201231` is a date where all of
its column can be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Literal

Order = Literal["day first", "month first"]

_NAMES = (
    "jan january januar ene enero janv janvier janeiro",
    "feb february februar febrero févr fév février fev fevereiro",
    "mar march märz maerz marzo mars março",
    "apr april abr abril avr avril",
    "may mai mayo maio",
    "jun june juni junio juin junho",
    "jul july juli julio juil juillet julho",
    "aug august ago agosto août",
    "sep sept september septiembre setiembre septembre set setembro",
    "oct october okt oktober octubre octobre out outubro",
    "nov november noviembre novembre novembro",
    "dec december dez dezember dic diciembre déc décembre dezembro",
)
MONTHS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
"""Months in words, long and short: English, German, Spanish, French and Portuguese."""

_TIME = r"(?:[T ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([AaPp][Mm])?\s*(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?"
_PARTS = re.compile(rf"(\d{{1,2}})([/.-])(\d{{1,2}})\2(\d{{4}}){_TIME}")
_YEAR_FIRST = re.compile(rf"(\d{{4}})([/.-])(\d{{1,2}})\2(\d{{1,2}}){_TIME}")
_COMPACT = re.compile(r"((?:19|20)\d{2})(\d{2})(\d{2})")
_DAY_WORD = re.compile(
    rf"(\d{{1,2}})(?:st|nd|rd|th|er)?[\s.-]+(?:de\s+)?([^\W\d_]+)\.?[\s,-]+(?:de\s+)?(\d{{4}}){_TIME}"
)
_WORD_DAY = re.compile(rf"([^\W\d_]+)\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}}){_TIME}")
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]+\s*(?=\d|[a-z])", re.I)
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_WITH_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?))?")
_WORD_MONTH = re.compile(r"([^\W\d_]+)\.?[\s-]+(\d{4})")
_WORDS = re.compile(r"[^\W\d_]+")
_DAY_OR_MONTH = re.compile(r"(\d{1,2})[\s.-]{1,2}([^\W\d_]{3,})\.?|([^\W\d_]{3,})[\s.-]{1,2}(\d{1,2})")
_UNSURE = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2}|\d{1,2}[\s.-]+[^\W\d_]{3,}\.?|[^\W\d_]{3,}\.?[\s.-]+\d{1,2}")


def orders_of(files: Sequence[Iterable[str]]) -> list[Order | None]:
    """For each file the order in which its dates are written; None where that cannot be told."""
    told = [_told(texts) for texts in files]
    known = {one for one in told if one not in (None, "both")}
    (common,) = known if len(known) == 1 else (None,)
    return [common if one is None else None if one == "both" else one for one in told]  # type: ignore[misc]


def _told(texts: Iterable[str]) -> Order | Literal["both"] | None:
    found: set[Order] = set()
    for text in texts:
        match = _PARTS.fullmatch(text)
        if match is None:
            continue
        first, second = int(match[1]), int(match[3])
        if match[2] == "." or first > 12 >= second:
            found.add("day first")
        elif second > 12 >= first:
            found.add("month first")
    return "both" if len(found) > 1 else next(iter(found), None)


def is_ordered(text: str) -> bool:
    """Whether it is a date of which one must know whether day or month comes first."""
    return _PARTS.fullmatch(text) is not None


def is_unsure(text: str) -> bool:
    """Whether it seems to be a date that lacks its year, or half of it: `10/03/20`, `10-Mar`."""
    found = _UNSURE.fullmatch(text)
    return found is not None and (
        found[1] is not None or any(word.casefold() in MONTHS for word in _WORDS.findall(text))
    )


def as_band(text: str) -> str | None:
    """The band that a spreadsheet took for a day: `05-Sep` and `9-May` were 5-9; None for other cells."""
    found = _DAY_OR_MONTH.fullmatch(text)
    if found is None or (month := MONTHS.get((found[2] or found[3]).casefold())) is None:
        return None
    low, high = sorted((month, int(found[1] or found[4])))
    return f"{low}-{high}"


def in_iso(text: str, order: Order | None) -> str | None:
    """A date, or a month as an interval of dates, as ISO 8601 writes it; None where it is none, or cannot be told."""
    text = _WEEKDAY.sub("", text, count=1)
    if found := _COMPACT.fullmatch(text):
        return _iso(found[1], found[2], found[3])
    if found := _YEAR_FIRST.fullmatch(text):
        return _iso(found[1], found[3], found[4], found.groups()[4:])
    if found := _PARTS.fullmatch(text):
        if order is None:
            return None
        day, month = (found[1], found[3]) if order == "day first" else (found[3], found[1])
        return _iso(found[4], month, day, found.groups()[4:])
    if (found := _DAY_WORD.fullmatch(text)) and (number := MONTHS.get(found[2].casefold())):
        return _iso(found[3], str(number), found[1], found.groups()[3:])
    if (found := _WORD_DAY.fullmatch(text)) and (number := MONTHS.get(found[1].casefold())):
        return _iso(found[3], str(number), found[2], found.groups()[3:])
    if found := _MONTH.fullmatch(text):
        return _month(int(found[1]), int(found[2]))
    if (found := _WORD_MONTH.fullmatch(text)) and (number := MONTHS.get(found[1].casefold())):
        return _month(int(found[2]), number)
    return None


def day_of(text: str) -> tuple[str, str] | None:
    """The day of a date as ISO 8601 writes it, and its time unless that is midnight; None for afternoons, and else."""
    found = _WITH_TIME.fullmatch(text)
    if found is None or (found[2] or "") > "12":
        return None
    return found[1], "" if (found[2] or "00:00").strip("0:.") == "" else found[2]


def _iso(year: str, month: str, day: str, time: Sequence[str | None] = ()) -> str | None:
    try:
        written = date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None
    if not time or time[0] is None:
        return written
    hour, minute, second = int(time[0]), int(time[1] or 0), int(time[2] or 0)
    if time[3]:
        hour = hour % 12 + (12 if time[3].lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return f"{written}T{hour:02}:{minute:02}:{second:02}"


def _month(year: int, month: int) -> str | None:
    if not 1 <= month <= 12 or not 1 <= year < 9999:
        return None
    after = date(year + month // 12, month % 12 + 1, 1)
    return f"[{date(year, month, 1).isoformat()}, {after.isoformat()})"
