"""(k, e)-anonymity (Zhang, Koudas, Srivastava & Yu 2007), for numeric sensitive columns.

Distinct numbers may still be nearly the same: a group with salaries 30,000, 30,100 and 30,200 tells its
members' salaries well enough. So the numbers of a group must also be spread over a range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Floats
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import GroupGuarantee, Measure
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rule, Spread
from reissue.model.schema import Numeric, Schema
from reissue.reasoning.history import diversity
from reissue.reasoning.history.diversity import TOLERANCE


@dataclass(frozen=True)
class KEAnonymous(GroupGuarantee):
    """Every group has at least k distinct numbers, and its largest exceeds its smallest by at least e.

    The figure of a verdict is the smaller of the two fulfilments, distinct / k and range / e: below 1 the
    group breaks the guarantee. Ranges are floating-point differences (0.3 - 0.1 is less than 0.2), so one
    that falls short of e by less than `diversity.TOLERANCE`, relative to e, counts as reaching it. Messages
    speak of ranges as shares of e, since a range may itself be a value.
    """

    name: ClassVar[str] = "ke-anonymity"
    words: ClassVar[str] = "every group has at least k different numbers over a range of at least e"
    letters: ClassVar[tuple[str, ...]] = ("e", "k")

    k: int
    """The smallest number of distinct values a group may have, at least 1."""
    e: float
    """The smallest range of a group's values, at least 0, in the unit of the column."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("k", least=1)
        validation.real("e", least=0)
        validation.finish()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group."""
        return (Spread(self.k, self.e),)

    def problems(self, schema: Schema) -> list[str]:
        """It is about numbers, and every row must have one."""
        kind = schema.sensitive_kind
        if isinstance(kind, Numeric) and kind.missing == "refuse":
            return []
        return [
            f"{self.name} needs a numeric sensitive column without missing values: "
            f'give \'{schema.sensitive}\' the kind "numeric" and missing = "refuse"'
        ]

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The smaller fulfilment of each group."""
        distinct = diversity.distinct(release)
        extent = diversity.extent(release, self._magnitudes(published))
        reach = extent / self.e if self.e else np.full(extent.size, np.inf)
        return Measure(
            np.minimum(distinct / float(self.k), reach),
            (distinct >= self.k) & (extent >= self._limit),
            lambda group: (
                f"has {count_of(int(distinct[group]), 'distinct value')}, at least {self.k:,} are needed"
                + (f", over {_percent(reach[group])} of the range needed" if self.e else "")
            ),
        )

    def remedy(self, published: Published) -> str:
        """The k and the e that the table can give."""
        release = published.releases[0]
        distinct = int(diversity.distinct(release)[0])
        extent = float(diversity.extent(release, self._magnitudes(published))[0])
        if not distinct:
            return "the table has no values of the sensitive column: no k would be satisfied"
        missing, ways = [], []
        if distinct < self.k:
            missing.append(f"has {count_of(distinct, 'distinct value')} of the sensitive column, {self.k:,} are needed")
            ways.append(f"k = {distinct} or less")
        if extent < self._limit:
            missing.append(f"spans {_percent(extent / self.e)} of the range needed in the sensitive column")
            ways.append(f"e = {_two_digits_down(extent)} or less")
        return f"the table {', and '.join(missing)}: {' and '.join(ways)} would be satisfied"

    @property
    def _limit(self) -> float:
        return self.e * (1 - TOLERANCE)

    def _magnitudes(self, published: Published) -> Floats:
        if published.magnitudes is None:
            raise ParameterError(
                "KEAnonymous needs a numeric sensitive column; the one published is not numeric.",
                hint="use LDiverse or ShareDiverse for labels.",
            )
        return published.magnitudes


def _percent(share: float) -> str:
    return f"{math.floor(share * 100):,} %"


def _two_digits_down(number: float) -> str:
    """Two leading digits, never more than the number: a suggestion that does not repeat a value."""
    if number <= 0:
        return "0"
    unit = math.floor(math.log10(number)) - 1
    if unit >= 0:
        return f"{math.floor(number / 10**unit) * 10**unit:,}"
    return f"{math.floor(number * 10**-unit) / 10**-unit:.{-unit}f}"
