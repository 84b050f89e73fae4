"""What a guarantee is, and what its sorts have in common.

Guarantee                 anything with a name, parameters and a check
├── Groupwise             judges every group of every release by itself
│   └── GroupGuarantee    ... and stays true when groups are merged
└── SeriesGuarantee       judges the releases of a series together
    └── Following         ... and each new one by what is remembered, in one frame for all
        └── Measured      ... by a figure for each group
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
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
    elsewhere: tuple[Ints, Ints] | None = None
    """Figures beyond those of the release's own groups are about groups of earlier releases: for each the number of
    the release and the group, counted from 0."""

    def beside(self, release: Ints, group: Ints, earlier: Measure) -> Measure:
        """With figures of groups of earlier releases, about people who left them."""
        own = self.kept.size
        return Measure(
            np.concatenate([self.figure, earlier.figure]),
            np.concatenate([self.kept, earlier.kept]),
            lambda at: self.words(at) if at < own else earlier.words(at - own),
            (release, group),
        )


class Tally:
    """Adds up what was measured, release by release, to one verdict."""

    def __init__(self, title: str, *, low_is_worse: bool = True) -> None:
        self._title = title
        self._low_is_worse = low_is_worse
        self._groups = self._violations = 0
        self._worst: tuple[float, int, int, str] | None = None

    def add(self, release: PublishedGroups, measure: Measure) -> None:
        """Take in the figures of one release."""
        broken = np.flatnonzero(~measure.kept)
        self._groups += measure.kept.size
        # Once a group has failed, only groups that fail can be the worst.
        pool = broken if broken.size or self._violations else np.arange(measure.kept.size)
        if not pool.size:
            return
        pick = np.argmin if self._low_is_worse else np.argmax
        at = int(pool[int(pick(measure.figure[pool]))])
        figure = float(measure.figure[at])
        first_failure = bool(broken.size) and not self._violations
        if self._worst is None or first_failure or self._worse(figure, self._worst[0]):
            number, group = release.number, at
            if measure.elsewhere is not None and at >= release.group_count:
                number, group = (int(part[at - release.group_count]) for part in measure.elsewhere)
            self._worst = (figure, number, group + 1, measure.words(at))
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

    state_format: ClassVar[int] = 1
    """The format of the state. A version that changes it counts up, and must read the formats before."""

    @property
    def secret_of(self) -> Literal["anew", "values", "roles", "sets"]:
        """What the private side passes as `secret` when it follows a series.

        `anew`: a mapping from the number of the release to the numbers of the people who may be published as new there.
        `values`: people, ascending, and the positions of their true values in `Published.values`, as two arrays.
        `roles`: a mapping from the number of the release to its `Roles`.
        `sets`: the `Sets` of the release, a row for each row of the view, or None where it has groups.
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


@dataclass(frozen=True)
class Least:
    """A parameter that cannot grow in a running series: earlier releases were made for its smallest value so far."""

    parameter: str
    dtype: type[pl.UInt32 | pl.Int64 | pl.Float64]
    """The type of the column that remembers it."""
    table: str = "least"
    """The table with that column."""

    def remark(self, now: float, state: Memory) -> str | None:
        """Why the promise does not hold any more, if it does not."""
        if (least := self._before(state)) is None or now <= least:
            return None
        return f"Earlier releases were made for {self._said(least)}: what is out cannot be made safer."

    def obstacle(self, now: float, state: Memory) -> str | None:
        """Why it cannot be made, if it cannot."""
        if (least := self._before(state)) is None or now <= least:
            return None
        is_more = f"{self.parameter} = {now} is more than the {self._said(least)} of an earlier release"
        return f"{is_more}, and what is out stays out"

    def row(self, now: float, state: Memory) -> pl.DataFrame:
        """The table to be remembered."""
        least = self._before(state)
        return pl.DataFrame({self.parameter: [now if least is None else min(now, least)]}, {self.parameter: self.dtype})

    def _before(self, state: Memory) -> float | None:
        return state[self.table][self.parameter].item(0) if self.table in state else None

    def _said(self, least: float) -> str:
        return f"{self.parameter} = {f'{least:g}' if isinstance(least, float) else least}"


Found = TypeVar("Found")


@dataclass(frozen=True, repr=False)
class Followed(Generic[Found]):
    """One release of a series that is followed: what was found in it, and what is to be remembered."""

    found: Found
    remembered: Remembered
    remark: str | None = None
    """Why the promise is not kept whatever was found, because of earlier releases; None where it can be."""


@dataclass(frozen=True)
class Following(SeriesGuarantee, Generic[Found]):
    """A promise about a series whose checker says how one release is judged; the frame is the same for all."""

    least: ClassVar[Least | None] = None
    """The parameter that cannot grow, if there is one whose smallest value must be remembered."""

    @abstractmethod
    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Found]:
        """Judge the release, the only one of the view, by the state that earlier ones left."""

    @abstractmethod
    def _verdict(self, release: PublishedGroups, found: Found) -> Verdict:
        """What was found in a release, as a verdict."""

    def follow(self, published: Published, state: Memory, secret: object = None) -> tuple[Verdict, Remembered]:
        """Judge the next release, the only one in the view, by the state that earlier ones left."""
        followed = self.followed(published, state, secret)
        verdict = self._verdict(published.releases[0], followed.found)
        if followed.remark is not None:
            verdict = replace(verdict, holds=False, explanation=followed.remark)
        return verdict, followed.remembered

    def followed(self, published: Published, state: Memory, secret: object = None) -> Followed[Found]:
        """What `follow` makes its verdict of, for promises that build on this one."""
        if len(published.releases) != 1:
            raise ParameterError(
                f"{type(self).__name__} follows a series release by release. "
                f"Got a view of {count_of(len(published.releases), 'release')} instead of one.",
                hint="use check for a whole series.",
            )
        followed = self._next(published, published.releases[0], state, secret)
        if self.least is None:
            return followed
        now = getattr(self, self.least.parameter)
        return replace(
            followed,
            remembered={**followed.remembered, self.least.table: self._least_row(self.least.row(now, state))},
            remark=self.least.remark(now, state) or followed.remark,
        )

    def obstacle(self, state: Memory) -> str | None:
        """What is out was made for less than is promised now, or nobody has checked."""
        least = self.least
        grown = None if least is None else least.obstacle(getattr(self, least.parameter), state)
        return grown or super().obstacle(state)

    def _least_row(self, row: pl.DataFrame) -> pl.DataFrame:
        """The row with the smallest parameter, with whatever else is remembered in it."""
        return row


@dataclass(frozen=True)
class Measured(Following[Measure]):
    """A promise about a series that has a figure for each group."""

    low_is_worse: ClassVar[bool] = True

    def _tally(self) -> Tally:
        return Tally(self.title, low_is_worse=self.low_is_worse)

    def _verdict(self, release: PublishedGroups, found: Measure) -> Verdict:
        tally = self._tally()
        tally.add(release, found)
        return tally.verdict()


EXACT = 2**31
"""Up to here a whole parameter times a count of rows stays within 64 bits, so that they compare exactly."""


def rounded_down(number: float) -> str:
    """A number to three decimals, never more than it is: a parameter that suffices if taken at its word."""
    return f"{math.floor(number * 1000) / 1000:.3f}".rstrip("0").rstrip(".")


def rounded_up(number: float) -> str:
    """A number to three decimals, never less than it is."""
    return f"{math.ceil(number * 1000) / 1000:.3f}".rstrip("0").rstrip(".")
