"""What each value is held against: its own limit, and not the largest that some value has.

By the design a value with k of m slots comes out at k/m: that is its limit, said in public. A frequent value that may
have 1/2 is no reason to let another have 0.4 where its own limit is 1/4. Who asks for less than k/m gets that asked.
Where there are permanent values, which grow beyond k/m by what anybody may have caught, only what is asked for counts;
no value takes several slots there. Values that take all slots are harmless and have no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.figures import limit_told
from reissue.errors import count_of
from reissue.reasoning.alternatives.set_histories import Histories

ROUNDING = Fraction(1, 10**9)
"""Of figures that a factor is in, which is a float."""
TOLD = 6
"""So many different limits are told one by one."""


@dataclass(frozen=True, repr=False)
class OwnLimits:
    """By design and value which limit it has."""

    asked: Fraction
    """The probability that was asked for; none has more."""
    limits: tuple[Fraction, ...]
    """The limits that there are, ascending."""
    which: Ints
    """(designs, values): the position of each value's limit among them."""
    values: tuple[int, ...]
    """How many values have each of them in some design."""
    factor: float = 1.0
    """What limits are taken times, where sets of records were drawn again, as their design states."""

    def __repr__(self) -> str:
        return f"OwnLimits({len(self.limits)} limits up to {self.asked})"

    @classmethod
    def same(cls, shape: tuple[int, ...], asked: Fraction) -> OwnLimits:
        """One limit for all."""
        return cls(asked, (asked,), np.zeros(shape, dtype=np.int64), (shape[-1],))

    @classmethod
    def by_design(cls, histories: Histories, asked: Fraction) -> OwnLimits:
        """Slots / m, or what was asked for where that is less; times the factor that designs of records state."""
        slots, m = histories.slots, histories.m
        kinds = {(int(k), int(of)) for at, of in enumerate(m.tolist()) for k in np.unique(slots[at])}
        times = Fraction(histories.factor) * (1 + ROUNDING if histories.factor > 1 else 1)
        asked *= times
        limit = {kind: min(asked, Fraction(*kind) * times) for kind in kinds}
        limits = tuple(sorted({asked, *limit.values()}))
        which = np.empty(slots.shape, dtype=np.int64)
        for (k, of), own in limit.items():
            which[(slots == k) & (m == of)[:, None]] = limits.index(own)
        judged = (histories.laws.shares > 0) & (slots < m[:, None])
        values = tuple(int(((which == at) & judged).any(axis=0).sum()) for at in range(len(limits)))
        return cls(asked, limits, which, values, histories.factor)

    @cached_property
    def floats(self) -> Floats:
        """The limits as numbers."""
        return np.array([float(limit) for limit in self.limits])

    @property
    def table(self) -> Floats:
        """(designs, values): the limits as numbers."""
        return np.asarray(self.floats[self.which])

    @property
    def _used(self) -> list[int]:
        return [at for at, values in enumerate(self.values) if values]

    @property
    def uniform(self) -> bool:
        """Whether all values have one limit."""
        return len(self._used) < 2

    def of(self, histories: Histories, rows: Ints, places: Ints) -> Ints:
        """The limits of some values of some rows, by position."""
        return np.asarray(self.which[histories.design[rows], histories.codes[rows, places]])

    def judged(self, ask: Callable[[Fraction], Bools], limit: Ints) -> Bools:
        """What is so of each figure, asked with the limit that is its own."""
        found = np.zeros(limit.size, dtype=np.bool_)
        for at in np.unique(limit).tolist():
            found = np.where(limit == at, ask(self.limits[at]), found)
        return found

    @property
    def bar(self) -> str:
        """What nobody may be above, in words."""
        return limit_told(self.limits[self._used[0]]) if len(self._used) == 1 else "its limit"

    @property
    def words(self) -> Iterator[str]:
        """What was compared with what, where that is not one number that was asked for."""
        if self.factor > 1:
            yield (
                f"Limits are taken {self.factor:.3f} times, as the design of these records states: a few sets were "
                "drawn again."
            )
        used = self._used
        if all(self.limits[at] == self.asked for at in used):
            return
        lowest, highest = limit_told(self.limits[used[0]]), limit_told(self.limits[used[-1]])
        if len(used) == 1:
            yield f"Every value was held against its own limit by the design, {lowest}; {self._cap}"
        elif len(used) > TOLD:
            yield f"Every value was held against its own limit by the design, from {lowest} to {highest}; {self._cap}"
        else:
            each = [f"{limit_told(self.limits[at])} for {count_of(self.values[at], 'value')}" for at in used]
            yield f"Every value was held against its own limit by the design: {', '.join(each)}; {self._cap}"

    @property
    def _cap(self) -> str:
        return f"none may have more than {limit_told(self.asked)}."
