"""When releases are, for a line through their answers: by their periods where all have one, else by their numbers.

Releases of January, February and June are not equally far apart. A slope per release would be the same whether four
months lie between the last two or one, and nobody would see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reissue.model.period import Period
from reissue.utility.analysing.public_files import PublicRelease


@dataclass(frozen=True)
class TrendTimes:
    """A place on the axis of time for each release."""

    unit: str
    """What is 1 long: `release`, or `year`, `quarter`, `month`, `week` or `day`."""
    at: Mapping[int, float]
    """For each release, by its number."""


def trend_times(releases: Sequence[PublicRelease]) -> TrendTimes:
    """In the grain of the periods if they have one in common; in days from middle to middle if they have not.

    Where some have no period, or two releases are of the same one (a correction), releases are counted.
    """
    texts = [(release.record or {}).get("period") for release in releases]
    periods = [Period.parse(text) for text in texts if text is not None]
    numbers = [release.number for release in releases]
    if len(periods) == len(releases):
        grains = {period.grain for period in periods}
        grain = grains.pop() if len(grains) == 1 else None
        at = [period.middle if grain is None else period.at for period in periods]
        if len(set(at)) == len(at):
            return TrendTimes(grain or "day", dict(zip(numbers, at, strict=True)))
    return TrendTimes("release", {number: float(number) for number in numbers})
