"""Numbers, dates and intervals of them, as cells have them.

A comma divides an interval only inside brackets: bare, `1,5` is one and a half to some and `10,500` ten thousand to
others. A bare dash divides one where both sides are numbers that somebody would write so: `20-29` and `05-09`, but
not `02139-4307`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

import numpy as np

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"
_WITH_COMMA = r"[+-]?\d+(?:,\d+)+(?:\.\d+)?"
_INFINITE = r"[+-]?(?:[Ii]nf(?:inity)?|∞)"
_DASH = r"\s*[\u2010-\u2014\u2212-]\s*"
_BETWEEN = r"\s*[,;\u2010-\u2014\u2212-]\s*"


class _Forms(NamedTuple):
    plain: re.Pattern[str]
    brackets: re.Pattern[str]
    bare: re.Pattern[str]
    compared: re.Pattern[str]
    single: re.Pattern[str]
    upwards: re.Pattern[str]


def _forms(value: str) -> _Forms:
    end = rf"({value}|{_INFINITE})"
    return _Forms(
        re.compile(value),
        re.compile(rf"([\[\](])\s*{end}{_BETWEEN}{end}\s*([\[\])])"),
        re.compile(rf"()({value}){_DASH}({value})()"),
        re.compile(rf"(<=|>=|<|>|≤|≥)\s*({value})"),
        re.compile(rf"\[\s*({value})\s*\]"),
        re.compile(rf"({value})\s*\+"),
    )


_OF = {"numbers": _forms(_NUMBER), "dates": _forms(_DATE)}
_COMMA = re.compile(_WITH_COMMA)
_COMMAS = _forms(rf"(?:{_WITH_COMMA}|{_NUMBER})")
_CODE = re.compile(r"[+-]?0\d.*")
_LETTERED = re.compile(r"[A-Za-z]{1,3}[ -]?\d[\w.]*")
_DASHED_CODE = re.compile(r"(\d+)-(\d+)")


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
    if _OF[kind].plain.fullmatch(text):
        value = _value(text, kind)
        return None if value is None else Interval(value, value)
    found = _parsed(text, kind)
    return None if found is None or found.empty else found


def is_plain(text: str, kind: str = "numbers") -> bool:
    """Whether it is a number or a date by itself."""
    return bool(_OF[kind].plain.fullmatch(text)) and interval_of(text, kind) is not None


def is_code(text: str) -> bool:
    """Whether a number begins with 0, as codes do."""
    return bool(_CODE.fullmatch(text))


def is_code_of_letters(text: str) -> bool:
    """Whether it is letters and then digits, as codes of diseases are: `V27`, `E11.9`."""
    return _LETTERED.fullmatch(text) is not None


def is_bare(text: str) -> bool:
    """Whether an interval of numbers is told by a dash alone: codes can look like that too."""
    return bool(_OF["numbers"].bare.fullmatch(text)) and interval_of(text) is not None


def is_dashed_code(text: str) -> bool:
    """Whether it is digits, a dash and digits that no interval would be written as: `02139-4307`, `10001-2345`."""
    match = _DASHED_CODE.fullmatch(text)
    return match is not None and len(match[1]) != len(match[2]) and interval_of(text) is None


def has_comma(text: str) -> bool:
    """Whether it is a number with a comma in it, as some write decimals and others thousands, or ends in such ones."""
    if interval_of(text) is not None:
        return False
    found = next((match for form in _COMMAS if (match := form.fullmatch(text))), None)
    return found is not None and any(_COMMA.fullmatch(part or "") for part in (found[0], *found.groups()))


def _parsed(text: str, kind: str) -> Interval | None:
    forms = _OF[kind]
    bare = forms.bare.fullmatch(text)
    if bare and kind == "numbers" and not _padded_alike(bare[2], bare[3]):
        return None
    if match := forms.brackets.fullmatch(text) or bare:
        opening, first, second, closing = match.groups()
        low, high = _value(first, kind), _value(second, kind)
        if low is None or high is None:
            return None
        return Interval(low, high, opening in ("(", "]") or low == -np.inf, closing in (")", "[") or high == np.inf)
    if match := forms.compared.fullmatch(text):
        value = _value(match[2], kind)
        if value is None:
            return None
        strictly = match[1] in ("<", ">")
        below = match[1] in ("<", "<=", "≤")
        return Interval(-np.inf, value, True, strictly) if below else Interval(value, np.inf, strictly, True)
    if match := forms.single.fullmatch(text):
        value = _value(match[1], kind)
        return None if value is None else Interval(value, value)
    if kind == "numbers" and (match := forms.upwards.fullmatch(text)):
        value = _value(match[1], kind)
        return None if value is None else Interval(value, np.inf, False, True)
    return None


def _padded_alike(first: str, second: str) -> bool:
    """Whether neither side begins with 0, or both have as many digits: `00-04`."""
    codes = is_code(first) or is_code(second)
    return not codes or (len(first) == len(second) and first.isdecimal() and second.isdecimal())


def _value(text: str, kind: str) -> float | None:
    if text.lstrip("+-")[:1] in ("I", "i", "∞"):
        return -np.inf if text.startswith("-") else np.inf
    if kind == "numbers":
        value = float(text)
        return value if np.isfinite(value) else None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return float((moment - datetime(1970, 1, 1)).total_seconds() * 1e6)
