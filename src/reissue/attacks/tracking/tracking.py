"""Tracking: what is known of everybody's value at each time, where values change and sets of them are published.

Who attacks: someone who kept all releases of sets, knows who is behind each row, has read the design, and has a model
of how values change: the declared one, or their own. What they do: for each person they sum over every course that the
true value may have taken through the sets, weighed by how likely values move so and how likely the published mechanism
then shows these sets: forward and backward sums, exact. With the declared model every value comes out at slots / m.

What they learn: how likely each value of each set was the true one in its release, given all releases, the later ones
too; who can have had one value only; and whether the declared rate of change fits how often sets are new.

People are independent: what is known of others, and of all of them, tells nothing more. The exception are people who
are known to share values: with `household` those of one household have one life together with the chance `together`,
and lives of their own otherwise.

Releases of groups: with a `change` given, or a rate in `Knowledge.change`, each person's groups are taken one by one, a
value by its share in the group, independent of all others given the person's values. Groups hang together through their
other members, which this leaves out: what comes out is an estimate that proves nothing, and without a rate there is
nothing to follow. What is certain where values change, `Worlds` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reissue.arrays.cores import at_once_in_time
from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.base import Attack, OfSets
from reissue.attacks.tracking.tracking_findings import Followed, TrackingFindings
from reissue.attacks.tracking.tracking_groups import followed_groups
from reissue.attacks.tracking.tracking_households import Relatives, households_of
from reissue.attacks.tracking.tracking_lives import followed_lives
from reissue.errors import ParameterError, count_of
from reissue.model.change import Change, Renewal, Static, change_of
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.model.value_change import ValueChange
from reissue.reasoning.alternatives.rate_check import rate_fits
from reissue.reasoning.alternatives.redraws import Chained, Laws, Moving, Redrawn
from reissue.reasoning.alternatives.set_histories import Histories, set_steps, sole_values
from reissue.reasoning.alternatives.smoothing import smoothed

DECLARED = "declared"
CELLS = 1 << 17
"""So many values of rows are worked on at once."""


@dataclass(frozen=True)
class Tracking(Attack):
    """Everybody's value at each time, under any model of how values change."""

    name: ClassVar[str] = "Tracking"
    words: ClassVar[str] = (
        "Every course that a person's value may have taken through their published sets, weighed by a model of change; "
        "and whether the declared rate of change fits the sets."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability", "columns")
    proves: ClassVar[tuple[str, ...]] = ("probability", "columns")
    sets: ClassVar[OfSets] = "tracks"
    by_default: ClassVar[bool] = True

    change: Any = DECLARED
    """How the adversary takes values to change: "declared", as the releases, or else `Knowledge.change`, say; None or
    "static", not at all; a rate, rates by value, or a table of transitions; for groups also a ValueChange with a
    rate."""
    prior: Mapping[Any, float] | None = None
    """The shares that the adversary expects, of every value; None: the reference. Redraws follow them too."""
    household: Mapping[Any, Any] | str | None = None
    """People who may share one life: a mapping from people to households, or a published column that is alike for
    them; None: everybody for themselves."""
    together: float = 1.0
    """The chance that the people of a household have one value together, at all times; else each has their own."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        if isinstance(self.change, ValueChange):
            if self.change.rate is None:
                validation.wrong("change", "a ValueChange with a rate, or another model of change", "one without")
        elif self.change == "static" or self.change is None:
            validation.replace("change", Static())
        elif not isinstance(self.change, str):
            validation.replace("change", change_of(self.change))
        elif self.change != DECLARED:
            validation.wrong("change", '"declared", "static", a rate, rates by value or a table of transitions')
        if self.prior is not None and not _are_weights(self.prior):
            validation.wrong("prior", "a mapping from values to numbers from 0, not all 0")
        if self.household is not None and not isinstance(self.household, str | Mapping):
            validation.wrong("household", "a mapping from people to households, or the name of a column")
        if not isinstance(self.together, int | float) or isinstance(self.together, bool) or not 0 <= self.together <= 1:
            validation.wrong("together", "a chance from 0 to 1")
        validation.finish()

    def __hash__(self) -> int:
        return hash((self.name, str(self.change), self.together))

    def run(self, published: Published, knowledge: Knowledge | None = None) -> TrackingFindings:
        """Follow everybody through the sets; through groups only where it is said how values change."""
        knowledge = knowledge or Knowledge()
        if not published.sets:
            if self.change != DECLARED:
                return self._groups(published, knowledge, self.change, self.model)
            if knowledge.change is None or knowledge.change.rate is None:
                return TrackingFindings(published, knowledge, None, model=self.model)
            return self._groups(published, knowledge, knowledge.change, knowledge.change.words)
        if isinstance(self.change, ValueChange):
            raise ParameterError(
                "A ValueChange is for releases of groups, and these show sets.", hint="give Tracking a rate or a table."
            )
        histories = Histories.of(published.sets, len(published.values))
        known, known_values = _known(published, knowledge)
        permanent = np.zeros(len(published.values), dtype=np.bool_)
        permanent[knowledge.permanent_values(published)] = True
        given = _Given(
            histories,
            permanent if permanent.any() else None,
            self._prior(published.values),
            _last_values(histories, known, known_values),
        )
        followed = self._linked(published, given) if histories.linked else self._sets(published, given)
        return TrackingFindings(
            published,
            knowledge,
            followed,
            model=self.model,
            fits=rate_fits(histories) if permanent.sum() == 0 else (),
            groups=len(published.releases) - len(published.sets),
        )

    @property
    def model(self) -> str:
        """The model of change in a few words."""
        if self.change == DECLARED:
            return "values change as declared"
        if isinstance(self.change, Static):
            return "values never change"
        if isinstance(self.change, ValueChange):
            return self.change.words
        if isinstance(self.change, Renewal):
            return f"values are redrawn with chance {self.change.rate:g} between releases"
        return "values change by a table of the adversary's own"

    def _prior(self, values: tuple[object, ...]) -> Floats | None:
        if self.prior is None:
            return None
        lacking = sum(value not in self.prior for value in values)
        if lacking:
            raise ParameterError(
                f"The 'prior' parameter of Tracking lacks {count_of(lacking, 'value')} of {len(values):,}.",
                hint="give every value of the design a share, 0 for what cannot be.",
            )
        shares = np.array([float(self.prior[value]) for value in values])
        return np.asarray(shares / shares.sum())

    def _sets(self, published: Published, given: _Given) -> Followed:
        histories = given.histories
        moving, still = self._moving(published, given)
        agrees = given.prior is None and isinstance(moving, Redrawn) and np.array_equal(moving.rates, histories.rates)
        posterior = np.zeros(histories.codes.shape)
        likelihood, sole = np.zeros(histories.people.size), np.zeros(len(posterior), dtype=np.bool_)
        people = max(1, CELLS // (histories.codes.shape[1] * histories.numbers.size))

        def follow(begin: int) -> None:
            end = min(begin + people, histories.people.size)
            part = histories.span(begin, end)
            rows = slice(int(histories.starts[begin]), int(histories.starts[end]))
            told = None if given.known is None else given.known[rows]
            steps = set_steps(part, moving, given.prior, still=still, permanent=given.permanent, known=told)
            found = smoothed(part.starts, steps)
            posterior[rows], likelihood[begin:end] = found.posterior, found.log_likelihood
            sole[rows] = sole_values(part, steps, found.posterior)

        _ = histories.chance  # once, before several parts ask for it
        at_once_in_time(follow, range(0, histories.people.size, people))
        lost = ~np.isfinite(likelihood)
        followed = Followed(histories, posterior, lost, sole, agrees=agrees, known=given.known, taken=histories.taken)
        homes = households_of(self.household, published, histories)
        if homes is None:
            return followed
        steps = set_steps(histories, moving, given.prior, still=still, permanent=given.permanent, known=given.known)
        relatives = Relatives(histories, steps, posterior, likelihood, float(self.together))
        return relatives.followed(followed, homes)

    def _moving(self, published: Published, given: _Given) -> tuple[Moving, bool]:
        """The adversary's model, and whether it says that nothing ever changes."""
        histories = given.histories
        laws = _laws(histories.laws, given.prior)
        if self.change == DECLARED:
            if np.isnan(histories.rates).any():
                raise ParameterError("These releases declare a rule of change that sets cannot be renewed by.")
            return Redrawn(histories.rates, laws, given.permanent), not histories.rates.any()
        change: Change = self.change
        if isinstance(change, Static | Renewal):
            rate = change.rate if isinstance(change, Renewal) else 0.0
            rates = np.full(histories.rates.size, rate)
            rates[0] = 0.0
            return Redrawn(rates, laws, given.permanent), not rate
        if len(laws.of[-1]) > 1:
            raise ParameterError(
                "A model of change that differs by value is not worked out where cells have own shares."
            )
        return Chained(_table(change, published.values, laws.shares[laws.of[-1, 0]], given.permanent)), False

    def _linked(self, published: Published, given: _Given) -> Followed:
        if self.household is not None:
            raise ParameterError("Households are not worked out for linked lives.")
        histories = given.histories
        shares = histories.laws.shares[histories.laws.of[-1, 0]]
        declared = _chain(histories.changes[-1], published.values, shares)
        own = declared if self.change == DECLARED else _chain(self.change, published.values, given.reference(shares))
        return followed_lives(
            histories, declared, own, given.prior, given.known, agrees=given.prior is None and self.change == DECLARED
        )

    def _groups(
        self, published: Published, knowledge: Knowledge, change: Change | ValueChange, words: str
    ) -> TrackingFindings:
        if self.household is not None:
            raise ParameterError("Households are worked out for releases of sets only.")
        known = _known(published, knowledge)
        prior = self._prior(published.values)

        def model(shares: Floats) -> tuple[Moving, Floats]:
            first = shares if prior is None else prior
            return _chain(change, published.values, first), first

        followed = followed_groups(published, model, *known)
        return TrackingFindings(published, knowledge, followed, model=words, estimated=True)


@dataclass(frozen=True)
class _Given:
    """What the attack starts from."""

    histories: Histories
    permanent: Bools | None
    prior: Floats | None
    known: Ints | None

    def reference(self, shares: Floats) -> Floats:
        """The shares that redraws follow in the adversary's eyes."""
        return shares if self.prior is None else self.prior


def _are_weights(given: object) -> bool:
    if not isinstance(given, Mapping) or not given:
        return False
    numbers = [one for one in given.values() if isinstance(one, int | float) and not isinstance(one, bool)]
    return len(numbers) == len(given) and all(0 <= one < np.inf for one in numbers) and sum(numbers) > 0


def _known(published: Published, knowledge: Knowledge) -> tuple[Ints, Ints]:
    if not knowledge.compromised:
        nobody = np.zeros(0, dtype=np.int64)
        return nobody, nobody
    return knowledge.known_values(published)


def _last_values(histories: Histories, people: Ints, values: Ints) -> Ints | None:
    """For each row the value that is known there, or -1: that of the last release somebody is in."""
    if not people.size:
        return None
    at = np.searchsorted(histories.people, people)
    here = at < histories.people.size
    here[here] = histories.people[at[here]] == people[here]
    known = np.full(histories.release.size, -1, dtype=np.int64)
    known[histories.starts[at[here] + 1] - 1] = values[here]
    return known


def _laws(laws: Laws, prior: Floats | None) -> Laws:
    return laws if prior is None else Laws(prior[None, :], np.zeros_like(laws.of), laws.versions)


def _chain(change: Change | ValueChange, values: tuple[object, ...], shares: Floats) -> Moving:
    """A model of change for values with these shares, the same for every step."""
    if isinstance(change, ValueChange):
        return Chained(change.matrix(values, shares))
    return Chained(_table(change, values, shares, None))


def _table(change: Change, values: tuple[object, ...], shares: Floats, permanent: Bools | None) -> Floats:
    used = np.flatnonzero(shares > 0)
    table = np.eye(len(values))
    table[np.ix_(used, used)] = change.matrix([str(values[at]) for at in used], shares[used])
    if permanent is not None:
        table[permanent] = np.eye(len(values))[permanent]
    return table
