"""Period: what a release is of. A day, a week, a month, a quarter, a year, or a range of them.

2026-03-15   2026-W11   2026-03   2026-Q1   2026   2026-01/2026-03

A release is of the state of a table at some time, or of what happened in a span of it. Its number says only in which
order releases were made, so an older month after a newer one, or one that was left out, would pass unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Self

from reissue.errors import ParameterError

_FORMS = (
    re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"),
    re.compile(r"(?P<year>\d{4})-?[Ww](?P<week>\d{2})"),
    re.compile(r"(?P<year>\d{4})-?[Qq](?P<quarter>[1-4])"),
    re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})"),
    re.compile(r"(?P<year>\d{4})"),
)
_DAY = timedelta(days=1)
FORMS = "2026, 2026-Q1, 2026-03, 2026-W11, 2026-03-15, or a range such as 2026-01/2026-03"
"""How a period is written."""


@dataclass(frozen=True, order=True)
class Period:
    """The days that a release is of, from the first to the last."""

    end: date
    """The last day."""
    begin: date
    """The first day."""
    text: str = field(compare=False)
    """As it is written in records and names of files."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a period as people write it; ParameterError if it is none."""
        if not isinstance(text, str):
            raise _no_period(f"a {type(text).__name__}")
        parts = [_days(part.strip()) for part in re.split(r"/|\.\.", text.strip())]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts) or len(parts) > 2:
            raise _no_period(repr(text))
        (begin, _, first), (_, end, last) = known[0], known[-1]
        if len(known) == 2 and known[0][1] >= known[1][0]:
            raise ParameterError(
                "The 'period' of a release must end after it begins.", hint="write the earlier part first."
            )
        return cls(end, begin, first if len(known) == 1 else f"{first}/{last}")

    def __str__(self) -> str:
        return self.text

    @property
    def grain(self) -> str | None:
        """Of what length it is: `year`, `quarter`, `month`, `week` or `day`; None of a range."""
        if "/" in self.text:
            return None
        if "W" in self.text or "Q" in self.text:
            return "week" if "W" in self.text else "quarter"
        return ("year", "month", "day")[self.text.count("-")]

    @property
    def at(self) -> float:
        """Where it lies in time, in its own grain: neighbours are 1 apart. Of a range it is the middle, in days."""
        places = {
            "year": self.begin.year,
            "quarter": self.begin.year * 4 + self.begin.month // 3,
            "month": self.begin.year * 12 + self.begin.month,
            "week": self.begin.toordinal() // 7,
        }
        return float(places[self.grain]) if self.grain in places else self.middle

    @property
    def middle(self) -> float:
        """The middle of its days, as a number of days."""
        return (self.begin.toordinal() + self.end.toordinal()) / 2

    @property
    def in_names(self) -> str:
        """As names of files and folders can have it."""
        return self.text.replace("/", "_")

    def problem_after(self, last: Period) -> str | None:
        """Why a release of this period should not follow one of `last`; None if it may.

        Windows that move on, and registers that go further each time, overlap with the period before: that is fine.
        """
        if self.end <= last.end or self.begin < last.begin:
            return f"the period {self} is not after {last}, of which there is a release already"
        return None

    def gap_after(self, last: Period) -> str | None:
        """What is left out between this period and the one before it; None if nothing is."""
        if self.begin - last.end <= _DAY:
            return None
        first, until = last.end + _DAY, self.begin - _DAY
        days = f"{first}" if first == until else f"{first} to {until}"
        return f"between {last}, the last period that was published, and {self} lies {days}"


def latest_of(*periods: str | None) -> str | None:
    """The period that reaches furthest; None where there is none."""
    known = [Period.parse(one) for one in periods if one is not None]
    return max(known, key=lambda one: one.end).text if known else None


def _days(text: str) -> tuple[date, date, str] | None:
    """The first and the last day of a part of a period, and how it is written; None if it is none."""
    for form in _FORMS:
        if found := form.fullmatch(text):
            part = {name: int(number) for name, number in found.groupdict().items()}
            try:
                return _span(**part)
            except (ValueError, OverflowError):  # the 31st of April, the 54th week, one that ends in the year 10000
                return None
    return None


def _span(
    year: int, month: int | None = None, day: int | None = None, week: int | None = None, quarter: int | None = None
) -> tuple[date, date, str]:
    if day is not None and month is not None:
        one = date(year, month, day)
        return one, one, one.isoformat()
    if week is not None:
        monday = date.fromisocalendar(year, week, 1)
        return monday, monday + 6 * _DAY, f"{year:04d}-W{week:02d}"
    if quarter is not None:
        return date(year, 3 * quarter - 2, 1), _end_of_month(year, 3 * quarter), f"{year:04d}-Q{quarter}"
    if month is not None:
        return date(year, month, 1), _end_of_month(year, month), f"{year:04d}-{month:02d}"
    return date(year, 1, 1), date(year, 12, 31), f"{year:04d}"


def _end_of_month(year: int, month: int) -> date:
    return date(year, 12, 31) if month == 12 else date(year, month + 1, 1) - _DAY


def _no_period(got: str) -> ParameterError:
    return ParameterError(
        f"The 'period' of a release must be a day, week, month, quarter or year, or a range. Got {got} instead.",
        hint=f"write it as {FORMS}.",
    )
