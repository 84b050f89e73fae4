"""One among m: everybody is published with m values, one of them true, drawn by a public design.

Whoever expects values by the reference shares and the rule of change that a release states, and knows everything about
all others, every release and the program, gives no value of anybody more than 1/m at any one time; a frequent value
that takes several slots as many times as much. What that needs is checked:

1. form: every set has m slots, each value takes as many of them as its design says, in an order that tells nothing,
   within the limit, and the design itself is sound;
2. truth: the true value is in the set;
3. rule: sets are kept as long as the rule of change keeps them, and renewed as often as it says, from the version in
   force, with permanent values carried on; lives move only where the chain leads, with its chances;
4. draws: new sets have the design's probabilities, given true values, and do not depend on those before. A sampler
   that is wrong is found out here.

Form, keeping and permanent values are visible from outside; the rest only with the `Sets` of the private side. What is
random can only be tested: a promise that is kept is called broken with a probability of at most one in a million for
each release (`ERROR`). The bounds behind that are exact for any number of people, not approximations for many.

What it does not cover: that the reference shares are what somebody expects, and that values change as declared. An
audit asks that (Tracking). That people's sets are independent is tested for those with the same value only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from reissue.arrays.exact import probability_of
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import SeriesGuarantee, Verdict
from reissue.guarantees.series.judging_sets import ERROR, Found, Promised, judge
from reissue.guarantees.series.last_sets import LAST, LastSets
from reissue.model.change import Change, Rates, Renewal, Transitions, as_written, change_of
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published
from reissue.model.sets import PublishedSets, Sets

if TYPE_CHECKING:
    from reissue.model.schema import Schema


@dataclass(frozen=True)
class OneAmong(SeriesGuarantee):
    """Everybody has m values, one of them true: at any one time none has more than 1/m, or its slots.

    The figure of a verdict is the largest posterior of a value that has a limit. With `secret`, the `Sets` of the
    releases, truth, renewals and draws are judged as well; a false alarm has a probability of at most 1e-6 a release.
    """

    name: ClassVar[str] = "one-among"
    words: ClassVar[str] = (
        "at any one time, nobody who expects values by the published shares and rule of change gives one of somebody's "
        "m values more than 1/m, or its limit"
    )

    m: int
    """How many slots a set has, at least 2."""
    limit: str | float | None = None
    """The largest posterior of a value that takes several slots, such as "1/2"; None: 1/m for every value."""
    harmless: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """Values without a limit; by column where several are sensitive."""
    change: object = None
    """How values change between releases: None, a rate, rates by value, or a table of transitions."""
    permanent: tuple[str, ...] = ()
    """Values that nobody loses: they stand in all later sets."""
    epsilon: float | None = None
    """The noise of what was counted from people of the series, reference shares or how values change; None: all is from
    outside."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Where several columns are sensitive, and sets are of records: the largest posterior of a value of each column.
    With three columns or more it holds up to the factor that the design states."""

    def __post_init__(self) -> None:
        check = Validation(self)
        whole = check.whole("m", least=2)
        if self.limit is not None:
            check.share("limit")
            exact = probability_of(self.limit)
            if whole and exact is not None and exact < Fraction(1, self.m):
                check.wrong("limit", f"at least 1/{self.m}")
        self._check_columns(check)
        for name in ("harmless", "permanent"):
            given = getattr(self, name)
            if name == "harmless" and self.columns:
                continue
            if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(v, str) for v in given):
                check.wrong(name, "a list of values as text", f"a {type(given).__name__}")
            else:
                check.replace(name, tuple(given))
        if self.epsilon is not None:
            check.real("epsilon", above=0)
        check.finish()
        check.replace("change", as_written(change_of(self.change)))

    def _check_columns(self, check: Validation) -> None:
        """What is said of columns, where several are sensitive."""
        if not self.columns:
            return
        limits = {name: probability_of(limit) for name, limit in self.columns.items()}
        if any(limit is None or not Fraction(1, self.m) <= limit < 1 for limit in limits.values()):
            check.wrong("columns", f"a probability from 1/{self.m} to below 1 for each column", "something else")
        else:
            check.replace("columns", {name: str(limit) for name, limit in limits.items()})
        harmless = self.harmless or {}
        if not isinstance(harmless, Mapping):
            check.wrong("harmless", "a list of values for each column, as several are sensitive")
        else:
            check.replace("harmless", {name: tuple(values) for name, values in harmless.items()})
        if self.limit is not None or self.permanent:
            check.wrong("columns", "left out where 'limit' or 'permanent' is given: these are for one sensitive column")

    def __hash__(self) -> int:
        return hash((self.name, self.m, self.limit, tuple(self.harmless), self.permanent, self.epsilon))

    @property
    def parameters(self) -> dict[str, object]:
        """m, and whatever else was said."""
        given = super().parameters.items()
        return {name: value for name, value in given if name == "m" or value not in (None, (), {})}

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words; values are only counted."""
        told = [f"m = {self.m}, per time"]
        if self.limit is not None:
            told.append(f"limit = {self.limit}")
        told += [f"{name} at most {limit}" for name, limit in self.columns.items()]
        if self.columns and self.harmless:
            many = sum(len(values) for values in self._harmless_by_column.values())
            told.append(f"{count_of(many, 'harmless value')}")
        elif self.harmless:
            told.append(f"{count_of(len(self.harmless), 'harmless value')}")
        told.append(f"by the reference shares, {_said(change_of(self.change))}")
        if self.permanent:
            told.append(f"{count_of(len(self.permanent), 'permanent value')}, likelier with every new set")
        if self.epsilon is not None:
            told.append(
                f"at most {self.against_all_others:.3g} for who knows everybody else (epsilon = {self.epsilon:g})"
            )
        return f"{self.name} ({', '.join(told)})"

    @property
    def against_all_others(self) -> float:
        """The bound against somebody who knows the values of everybody else.

        They know shares to a factor of e^epsilon: a value with k of m slots has k e^epsilon / (k e^epsilon + m - k).
        """
        limits = [probability_of(limit) or Fraction(1) for limit in self.columns.values()]
        slots = float(max([self._largest, *limits])) * self.m
        odds = slots * math.exp(self.epsilon or 0.0)
        return odds / (odds + self.m - slots)

    @property
    def _harmless_by_column(self) -> Mapping[str, tuple[str, ...]]:
        return self.harmless if isinstance(self.harmless, Mapping) else {}

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds, under the model that it names."""
        columns = tuple((name, probability_of(limit)) for name, limit in self.columns.items())
        return Bounds(value=self._largest, columns=columns)

    @property
    def _largest(self) -> Fraction:
        if self.columns:
            # A record is at most as likely as each of its values; harmless ones bound nothing.
            limits = [
                probability_of(limit) or Fraction(1)
                for name, limit in self.columns.items()
                if not self._harmless_by_column.get(name)
            ]
            return min(limits, default=Fraction(1))
        exact = None if self.limit is None else probability_of(self.limit)
        return max(one_in(self.m), exact or Fraction(0))

    @property
    def secret_of(self) -> Literal["anew", "values", "roles", "sets"]:
        """The sets of the release, with everybody's true value and who got a new one."""
        return "sets"

    def for_schema(self, schema: Schema) -> OneAmong:
        """With the permanent values of the schema, where none are named."""
        return replace(self, permanent=schema.permanent) if schema.permanent and not self.permanent else self

    def obstacle(self, state: Memory) -> str | None:
        """Sets of another size are out, or larger posteriors."""
        if LAST in state:
            steps = LastSets.read(state).steps
            if any(step.m != self.m for step in steps):
                return f"m = {self.m} is not the m = {steps[0].m} of an earlier release, and what is out stays out"
            if any(step.limit > float(self._largest) for step in steps):
                return f"a limit of {self._largest} is less than that of an earlier release, and what is out stays out"
        return super().obstacle(state)

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series from its first release on. `secret`: for each number of a release its `Sets`.

        Without it only what is visible from outside is judged.
        """
        self._need_sets(published)
        if secret is not None and not isinstance(secret, Mapping):
            raise ParameterError(
                "The 'secret' of OneAmong must be a mapping from the number of a release to its sets. "
                f"Got a {type(secret).__name__} instead."
            )
        last, found = LastSets.read({}), []
        for release in published.sets:
            told = None if secret is None else secret.get(release.number)
            one, last = self._judge(release, last, told, stated=release is published.sets[-1])
            found.append(one)
        return self._verdict(found, private=secret is not None)

    def follow(self, published: Published, state: Memory, secret: object = None) -> tuple[Verdict, Remembered]:
        """Judge the next release, the only one in the view. `secret`: its `Sets`."""
        self._need_sets(published)
        if len(published.sets) != 1:
            raise ParameterError(
                "OneAmong follows a series release by release. "
                f"Got a view of {count_of(len(published.sets), 'release')} instead of one.",
                hint="use check for a whole series.",
            )
        found, last = self._judge(published.sets[0], LastSets.read(state), secret, stated=True)
        return self._verdict([found], private=secret is not None), last.tables()

    def _need_sets(self, published: Published) -> None:
        if not published.sets or len(published.sets) != len(published.releases):
            raise ParameterError(
                f"{self.name} is about releases with a set of values for everybody, and some of these have groups.",
                hint="check it on releases in the form 'alternatives'.",
            )

    def _judge(
        self, release: PublishedSets, before: LastSets, secret: object, *, stated: bool
    ) -> tuple[Found, LastSets]:
        """Judge one release by everybody's last set; also everybody's last set with it."""
        told = secret if isinstance(secret, Sets) else None
        if secret is not None and (told is None or told.own.size != release.people.size):
            raise ParameterError(
                "The 'secret' of OneAmong must be the sets of the release, a row for each of its rows. "
                f"Got a {type(secret).__name__} {'of other rows ' if told else ''}instead."
            )
        if before.steps and release.number <= before.steps[-1].number:
            last = before.steps[-1].number
            raise ParameterError(
                f"Release {release.number} cannot follow release {last}: a series is judged in its order."
            )
        change = change_of(self.change) if stated else None
        columns = {name: probability_of(limit) or Fraction(1) for name, limit in self.columns.items()}
        promised = Promised(self.m, self._largest, self.harmless, self.permanent, change, columns)
        return judge(promised, release, before, told)

    def _verdict(self, found: Sequence[Found], *, private: bool) -> Verdict:
        """What was found in releases, as one verdict."""
        broken = [one for one in found if one.problems]
        sets = sum(one.sets for one in found)
        worst = max(broken or found, key=lambda one: one.worst)
        if broken:
            told = " ".join(f"Release {one.number:,}: {' '.join(one.problems)}" for one in broken)
        else:
            told = (
                f"It holds for all of {count_of(sets, 'set')}: at any one time, the largest posterior of a value with "
                f"a limit is {worst.worst:.3g}."
            )
        told += (
            f" Draws are tested; a false alarm has a probability of at most {ERROR:g} a release."
            if private
            else " Without true values, nothing was judged but what is visible from outside."
        )
        return Verdict(
            holds=not broken,
            guarantee=self.title,
            worst=worst.worst,
            release=worst.number,
            group=None,
            violations=sum(one.violations for one in found),
            groups=sets,
            explanation=told,
        )


def _said(change: Change) -> str:
    match change:
        case Renewal(rate):
            return f"redrawn at a rate of {rate:g}"
        case Rates():
            return "redrawn at rates by value"
        case Transitions():
            return "changing by a table of transitions"
        case _:
            return "values never change"
