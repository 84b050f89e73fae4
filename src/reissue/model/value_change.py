"""ValueChange: how values are known to change between releases of groups, in place of "they never do".

    ValueChange()                                    freely: each release speaks for itself
    ValueChange(people=5)                            at most five people ever have another value than before
    ValueChange(rate=0.02)                           somebody's value changes with chance 0.02 between two releases
    ValueChange(follows={"active": ["resolved"]})    who was active is active or resolved in the next release

What is said together holds together. `people` and `follows` are hard: what contradicts them is impossible. `rate` rules
nothing out; it says which of the possible courses are likely.

Permanent values are a special case: `follows={"HIV": ["HIV"]}` says that nobody ever loses it. `Permanence` argues from
such values one by one, and also where nobody knows who is in which release; `Worlds` takes all values together.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.errors import count_of
from reissue.model.parameters import Validation


@dataclass(frozen=True, repr=False)
class ValueChange:
    """How values may change; with nothing said, freely."""

    people: int | None = None
    """How many people at most ever have two different values, over the whole series; None: as many as there are.
    Somebody whose value changes several times counts once. Only releases that somebody is in count."""
    rate: float | None = None
    """The chance that somebody's value changes between two consecutive releases, above 0 and below 1. The new one is
    one of the others that may follow, in proportion to how often the releases show them. None: every course that is
    possible is as likely as any other."""
    follows: Mapping[Any, Collection[Any]] | None = None
    """For values the others that they may have become by the next release; a value may always stay. Values that are
    not named may become anything; one that is named with nothing, or with itself, is never left."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("people", least=0, optional=True)
        number = isinstance(self.rate, int | float | np.integer | np.floating) and not isinstance(self.rate, bool)
        if self.rate is not None and not (number and 0 < float(self.rate) < 1):
            validation.wrong("rate", "a number above 0 and below 1, or None (values that never change: people=0)")
        elif self.rate is not None:
            validation.replace("rate", float(self.rate))
        if self.follows is not None and not _are_followers(self.follows):
            validation.wrong("follows", 'a mapping from values to lists of values, such as {"active": ["resolved"]}')
        elif self.follows is not None:
            table = {value: frozenset({value, *after}) for value, after in self.follows.items()}
            validation.replace("follows", MappingProxyType(table))
        validation.finish()

    def __repr__(self) -> str:
        return f"ValueChange({self.words})"

    def __hash__(self) -> int:
        return hash((self.people, self.rate, None if self.follows is None else frozenset(self.follows.items())))

    @property
    def free(self) -> bool:
        """Whether one release says nothing of another."""
        return self.people is None and self.rate is None and self.follows is None

    @property
    def hard(self) -> bool:
        """Whether it rules anything out."""
        return self.people is not None or self.follows is not None

    @property
    def words(self) -> str:
        """The model in a few words; without values."""
        said = []
        if self.people is not None:
            who = "nobody's value changes" if not self.people else None
            said.append(who or f"the values of at most {count_of(self.people, 'person', 'people')} change")
        if self.rate is not None:
            said.append(f"values change with chance {self.rate:g} between releases")
        if self.follows is not None:
            said.append(f"what may follow {count_of(len(self.follows), 'value')} is known")
        return " and ".join(said) or "values may change freely"

    @property
    def chance(self) -> Fraction | None:
        """The rate as it was written."""
        return None if self.rate is None else Fraction(str(self.rate))

    def following(self, values: Sequence[object]) -> Following:
        """Which of a view's values may follow which, by position."""
        place = {value: at for at, value in enumerate(values)}
        # Values that no release shows come after the others: somebody may have had one while they were away.
        for value, after in (self.follows or {}).items():
            for one in (value, *sorted(after, key=repr)):
                place.setdefault(one, len(place))
        follows = (self.follows or {}).items()
        named = {place[value]: frozenset(place[one] for one in after) for value, after in follows}
        return Following(named, len(place) - len(values))

    def unshown(self, values: Collection[object]) -> int:
        """How many of the values that it names no release shows."""
        named = {one for value, after in (self.follows or {}).items() for one in (value, *after)}
        return len(named - {*values})

    def matrix(self, values: Sequence[object], shares: Floats) -> Floats:
        """The chance of each value at the next release, by the value at this one; a `rate` is needed."""
        rate = float(self.rate or 0.0)
        following = self.following(values)
        table = np.eye(len(values))
        for at in range(len(values)):
            others = following.others(at, shares)
            if total := others.sum():
                table[at] *= 1 - rate
                table[at] += rate * others / total
        return table


class Following:
    """Which values, by position, may follow which within so many steps from release to release."""

    def __init__(self, named: Mapping[int, frozenset[int]], hidden: int = 0) -> None:
        self._named = named
        self.hidden = hidden
        """How many positions after those of the view are values that no release shows."""
        self._reached: dict[tuple[int, int], frozenset[int] | None] = {}

    def __repr__(self) -> str:
        return f"Following({count_of(len(self._named), 'value')} named)"

    def __bool__(self) -> bool:
        return bool(self._named)

    def after(self, value: int, steps: int = 1) -> frozenset[int] | None:
        """The values that may have followed one after some steps; None: all."""
        if value not in self._named:
            return None
        if (value, steps) not in self._reached:
            found: frozenset[int] | None = self._named[value]
            for _ in range(steps - 1):
                parts = [self._named.get(one) for one in sorted(found or ())]
                grown = frozenset().union(*(part for part in parts if part is not None))
                wider = None if any(part is None for part in parts) else grown
                if wider is None or wider == found:
                    found = wider
                    break
                found = wider
            self._reached[value, steps] = found
        return self._reached[value, steps]

    def may(self, value: int, later: int, steps: int = 1) -> bool:
        """Whether one value may have followed another after some steps."""
        after = self.after(value, steps)
        return after is None or later in after

    def others(self, value: int, weights: Ints | Floats) -> Floats:
        """The weights of the other values that may follow one in a step, 0 for what may not."""
        after = self._named.get(value)
        if after is None:
            found = weights.astype(np.float64)
        else:
            found = np.zeros(weights.size)
            kept = np.array(sorted(one for one in after if one < weights.size), dtype=np.int64)
            found[kept] = weights[kept]
        found[value] = 0.0
        return found


def _are_followers(given: object) -> bool:
    if not isinstance(given, Mapping):
        return False
    lists = [after for after in given.values() if isinstance(after, Collection) and not isinstance(after, str | bytes)]
    return len(lists) == len(given) and all(isinstance(one, Hashable) for after in lists for one in after)
