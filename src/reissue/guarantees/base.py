"""What a guarantee is, and what its sorts have in common.

Guarantee                 anything with a name, parameters and a check
├── Groupwise             judges every group of every release by itself
│   └── GroupGuarantee    ... and stays true when groups are merged
└── SeriesGuarantee       judges the releases of a series together
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from reissue.arrays.types import Bools, Floats
from reissue.errors import ParameterError, count_of
from reissue.model.memory import Memory, Remembered
from reissue.model.promise import Bounds, Promise
from reissue.model.published import Published, PublishedGroups
from reissue.model.rules import Rule

if TYPE_CHECKING:
    from reissue.model.schema import Schema


@dataclass(frozen=True)
class Verdict:
    """What the check of a guarantee found."""

    holds: bool
    """Whether no group breaks the guarantee."""
    guarantee: str
    """The guarantee and its parameters in words, such as `k-anonymity (k = 10)`."""
    worst: float
    """The worst figure found, in the guarantee's own measure; NaN where there are no groups."""
    release: int | None
    """The number of the release with the worst figure."""
    group: int | None
    """The group with the worst figure, counted from 1 in the order of publication."""
    violations: int
    """How many groups break the guarantee, over all releases."""
    groups: int
    """How many groups were looked at, over all releases."""
    explanation: str
    """The finding in plain words."""


@dataclass(frozen=True)
class Measure:
    """One figure for each group of a release, and whether the group keeps the promise."""

    figure: Floats
    kept: Bools
    words: Callable[[int], str]
    """What there is to say of the group at a position: `has 4 members, at least 10 are needed`."""


class Tally:
    """Adds up what was measured, release by release, to one verdict."""

    def __init__(self, title: str, *, low_is_worse: bool = True) -> None:
        self._title = title
        self._low_is_worse = low_is_worse
        self._groups = self._violations = 0
        self._worst: tuple[float, int, int, str] | None = None

    def add(self, release: PublishedGroups, measure: Measure) -> None:
        """Take in the figures of one release."""
        if not release.group_count:
            return
        broken = np.flatnonzero(~measure.kept)
        self._groups += release.group_count
        if self._violations and not broken.size:
            return
        # Once a group has failed, only groups that fail can be the worst.
        pool = broken if broken.size else np.arange(release.group_count)
        pick = np.argmin if self._low_is_worse else np.argmax
        at = int(pool[int(pick(measure.figure[pool]))])
        figure = float(measure.figure[at])
        first_failure = bool(broken.size) and not self._violations
        if self._worst is None or first_failure or self._worse(figure, self._worst[0]):
            self._worst = (figure, release.number, at + 1, measure.words(at))
        self._violations += broken.size

    def verdict(self) -> Verdict:
        """What was found in all of them."""
        if self._worst is None:
            return Verdict(True, self._title, math.nan, None, None, 0, 0, "There are no groups to check.")
        figure, number, group, words = self._worst
        violations, groups = self._violations, self._groups
        place = f"group {group:,} of release {number:,}, {words}"
        if violations:
            explanation = f"{violations:,} of {count_of(groups, 'group')} break it. The worst, {place}."
        else:
            explanation = f"It holds in all of {count_of(groups, 'group')}. The closest to the limit, {place}."
        return Verdict(not violations, self._title, figure, number, group, violations, groups, explanation)

    def _worse(self, figure: float, than: float) -> bool:
        return figure < than if self._low_is_worse else figure > than


@dataclass(frozen=True)
class Guarantee(ABC):
    """A promise about what is published, and how to check it. Its parameters are its fields.

    Everything that others need to know about it is said here, in its own file: what it asks of a group, what nobody
    can learn while it holds, and which tables it does not fit.
    """

    name: ClassVar[str]
    """The name in a policy file."""
    words: ClassVar[str]
    """What it promises, in one sentence; reports and the command line say it."""
    letters: ClassVar[tuple[str, ...]] = ()
    """The parameters by which `reissue audit --minimal` knows it, first the one that tells it from others."""
    by_class: ClassVar[bool] = False
    """Whether the checker must know who has the same quasi-identifiers (`PublishedGroups.classes`)."""

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters by name; `build(name, **parameters)` gives an equal guarantee."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        shown = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        return f"{self.name} ({shown})"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What it asks of every group by itself; nothing where groups are not what it is about."""
        return ()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds. Audits and gates count nothing else as promised."""
        return Bounds()

    @property
    def promise(self) -> Promise:
        """It as a promise, for those who do not know its checker."""
        return Promise(self.name, self.parameters, self.rules, self.bounds, self.words)

    def problems(self, schema: Schema) -> list[str]:
        """Why it cannot be promised for a table of this schema; nothing where it can."""
        return []

    def for_schema(self, schema: Schema) -> Guarantee:
        """The guarantee with what the schema says filled in where it was left open."""
        return self

    @abstractmethod
    def check(self, published: Published, secret: object = None) -> Verdict:
        """Whether the promise is kept, judged from what an outsider sees."""


@dataclass(frozen=True)
class Groupwise(Guarantee):
    """A promise that holds when it holds in every group of every release by itself.

    It says nothing about what several releases reveal together.
    """

    low_is_worse: ClassVar[bool] = True

    @abstractmethod
    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The figures of one release."""

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge every group. `secret` is not needed: these promises are visible from outside."""
        tally = Tally(self.title, low_is_worse=self.low_is_worse)
        for release in published.releases:
            if release.group_count:
                tally.add(release, self.measure(published, release))
        return tally.verdict()


@dataclass(frozen=True)
class GroupGuarantee(Groupwise):
    """A promise about every group by itself that stays true when groups are merged.

    So no grouping of a table keeps it when the whole table, as one group, breaks it, and what the whole
    table lacks is what the user must hear.
    """

    @abstractmethod
    def remedy(self, published: Published) -> str:
        """For a view of one group that breaks the promise: what is missing and what would do."""

    def advice(self, published: Published) -> str:
        """For a view of one group (a whole table): which figure is missing, and what would satisfy it."""
        if len(published.releases) != 1 or published.releases[0].group_count != 1:
            raise ParameterError(
                "Advice is given for a view of one release with one group.",
                hint="put the whole table into one group.",
            )
        if self.measure(published, published.releases[0]).kept[0]:
            return f"the table as a whole satisfies {self.title}"
        return self.remedy(published)


@dataclass(frozen=True)
class SeriesGuarantee(Guarantee):
    """A promise about what the releases of a series reveal together.

    Whoever publishes release after release follows the series: each release is judged in the light of
    those before, of which nothing but the state is kept.
    """

    @property
    def secret_of(self) -> Literal["anew", "values", "roles"]:
        """What the private side passes as `secret` when it follows a series.

        `anew`: a mapping from the number of the release to the numbers of the people who may be published as new there.
        `values`: people, ascending, and the positions of their true values in `Published.values`, as two arrays.
        `roles`: a mapping from the number of the release to its `Roles`.
        """
        return "anew"

    @abstractmethod
    def follow(self, published: Published, state: Memory, secret: object = None) -> tuple[Verdict, Remembered]:
        """Judge the next release, the only one in the view.

        `state` is what the call for the release before returned, and empty for the first release. The
        verdict is about this release; a change is a change against those before.
        """

    def obstacle(self, state: Memory) -> str | None:
        """Why the promise cannot be made for releases after those that left this state, in a few words."""
        return None if len(state) else f"nobody has checked {self.name} from the first release on"


EXACT = 2**31
"""Up to here a whole parameter times a count of rows stays within 64 bits, so that they compare exactly."""


def rounded_down(number: float) -> str:
    """A number to three decimals, never more than it is: a parameter that suffices if taken at its word."""
    return f"{math.floor(number * 1000) / 1000:.3f}".rstrip("0").rstrip(".")


def rounded_up(number: float) -> str:
    """A number to three decimals, never less than it is."""
    return f"{math.ceil(number * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
