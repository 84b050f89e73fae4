"""How often values are ruled out and people exposed when others are compromised at random: the counting.

Everybody is compromised independently with probability p, several times over. For those who were not:

    ct         a value of the person's signature, not his own, is ruled out by ct-pvr in one application (Lemma 1)
    hc         the same by hc-pvr, from the compromised people alone (Lemma 2)
    either     the same by one or the other
    breach     all of them are ruled out so: only his own value is left (Theorem 2)
    cascade    one value is left when ct-pvr alone is applied to the end, what was found out being used again
    closure    one value is left when both are applied to the end (the attack `Correlation`)
    worlds     one value is left in all worlds that agree with everything (small series only)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reissue.attacks.worlds.worlds import Worlds, WorldsFindings
from reissue.errors import InternalError, ParameterError, count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.correlation.correlations import Correlations
from reissue_studies.riboni.restriction_passes import by_compromised, by_correlation, linked, published_values

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

PER_VALUE = ("ct", "hc", "either")
"""The quantities that are shares of values."""
PER_PERSON = ("breach", "cascade", "closure", "worlds")
"""Those that are shares of people."""
ENTRIES = 20_000
"""How large the tables of one exact count of worlds may grow; a limit of time would not give the same rates again."""


@dataclass(frozen=True, repr=False)
class Exposed:
    """What one set of compromised people exposes."""

    at_risk: Flags
    """The people who are not compromised."""
    values: dict[str, Ints]
    """For the quantities that are shares of values: how many are ruled out for each member."""
    people: dict[str, Flags]
    """For those that are shares of people: who is exposed."""
    incomplete: frozenset[str]
    """Those of `cascade`, `closure` and `worlds` that were not searched to the end."""

    def __repr__(self) -> str:
        return f"Exposed({int(self.people['breach'].sum()):,} of {int(self.at_risk.sum()):,} people)"


@dataclass(frozen=True, repr=False)
class Secrets:
    """A series together with everybody's true value."""

    published: Published
    truth: Ints
    """For each person number the position of the value in `published.values`."""

    def __post_init__(self) -> None:
        if not self.published.single or not self.published.exact:
            raise ParameterError(
                "Rates are observed on a view in which every member is known and has exactly one value.",
                hint="give it the view of a series made here, or one from groups of people.",
            )
        people = self.found.where.people
        outside = int(np.count_nonzero(people >= self.truth.size))
        if outside:
            raise ParameterError(
                f"The true values of {count_of(outside, 'person', 'people')} are missing.",
                hint="one value for each person number, from 0 on.",
            )
        where, found = self.found.where, self.found
        unfit = published_values(
            where.member, where.starts, found.values, found.value_starts, self.value, found.counts.copy()
        )
        if unfit:
            raise ParameterError(
                f"{count_of(unfit, 'membership')} with a true value that the group does not publish, or not so often.",
                hint="values are given as positions in the values of the view, and must not change over the series.",
            )

    def __repr__(self) -> str:
        return f"Secrets({self.real.sum():,} people in {len(self.published.releases)} releases)"

    @cached_property
    def found(self) -> Correlations:
        """All groups and their correlations; members are in the order of `found.where.people`."""
        return Correlations.of(self.published)

    @cached_property
    def real(self) -> Flags:
        """Who is a person, not a counterfeit."""
        real: Flags = self.found.where.people >= 0
        return real

    @cached_property
    def value(self) -> Ints:
        """The true value of each member; -1 for counterfeits, whose value nobody can learn from them."""
        people = self.found.where.people
        return np.where(people >= 0, self.truth[np.maximum(people, 0)], -1).astype(np.int64)

    @cached_property
    def signature(self) -> Words:
        """The values that all groups of each member publish, as bits."""
        none = np.zeros(0, dtype=np.int64)
        start = self.found.restrictions(none, none, len(self.published.values))
        if start is None:
            raise InternalError("there are too many values to keep everybody's in memory")
        return start.before

    @cached_property
    def signature_size(self) -> Ints:
        """How many values each member may have."""
        return _several(self.signature)

    @cached_property
    def lifespan(self) -> Ints:
        """How often each member is published."""
        return np.diff(self.found.where.group_starts)

    @cached_property
    def _linked(self) -> tuple[Ints, Ints]:
        smallest, several = linked(*self._layout)
        return smallest, several

    @property
    def smallest(self) -> Ints:
        """For each member the smallest set that he is linked to by a correlation: Lemma 2's n; huge for none."""
        return self._linked[0]

    @property
    def sets(self) -> Ints:
        """To how many sets each member is linked; one that several pairs of groups show counts so often."""
        return self._linked[1]

    @property
    def degree(self) -> int:
        """The smallest correlated set of the series; huge where there is none."""
        return int(self.smallest.min(initial=np.iinfo(np.int64).max))

    @property
    def _layout(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        where = self.found.where
        return where.member, where.starts, where.groups, where.group_starts, self.found.signature

    def ruled_out(self, compromised: Flags) -> tuple[Words, Words]:
        """The values that ct-pvr and hc-pvr rule out for each member in one application, as bits."""
        where, found, before = self.found.where, self.found, self.signature
        ct, hc = np.zeros_like(before), np.zeros_like(before)
        by_compromised(
            where.member, where.starts, found.values, found.counts, found.value_starts, self.value, compromised, ct
        )
        by_correlation(*self._layout, self.value, compromised, before, hc)
        return ct & before, hc

    def exposed(self, compromised: Flags, *, worlds: bool = False) -> Exposed:
        """Everything that follows when these members are compromised."""
        ct, hc = self.ruled_out(compromised)
        values = {"ct": _several(ct), "hc": _several(hc), "either": _several(ct | hc)}
        people = {"breach": values["either"] == self.signature_size - 1}
        found = {
            "cascade": self._to_the_end(self._without_correlations, compromised),
            "closure": self._to_the_end(self.found, compromised),
            **({"worlds": self._certain(compromised)} if worlds else {}),
        }
        people |= {quantity: exposed for quantity, (exposed, _) in found.items()}
        incomplete = frozenset(quantity for quantity, (_, complete) in found.items() if not complete)
        return Exposed(self.real & ~compromised, values, people, incomplete)

    def draws(self, p: float, rng: np.random.Generator, rounds: int, *, worlds: bool = False) -> Iterator[Exposed]:
        """What is exposed when everybody is compromised with probability p, so many times."""
        for _ in range(rounds):
            yield self.exposed(self.real & (rng.random(self.real.size) < p), worlds=worlds)

    @cached_property
    def _without_correlations(self) -> Correlations:
        return replace(self.found, signature=np.full_like(self.found.signature, -1))

    def _to_the_end(self, found: Correlations, compromised: Flags) -> tuple[Flags, bool]:
        people, known = found.where.people[compromised], self.value[compromised]
        left = found.restrictions(people, known, len(self.published.values))
        if left is None or left.contradictory:
            raise InternalError("true values that agree with every group contradict each other")
        return _several(left.after) == 1, left.complete

    def _certain(self, compromised: Flags) -> tuple[Flags, bool]:
        people, names = self.found.where.people, self.published.values
        known = {
            self.published.name(person): names[value]
            for person, value in zip(people[compromised].tolist(), self.value[compromised].tolist(), strict=True)
        }
        attacked = Worlds(seconds=None, entries=ENTRIES, draws=0).run(self.published, Knowledge(compromised=known))
        if not isinstance(attacked, WorldsFindings):
            raise InternalError("static values of people whose groups are known are followed through all releases")
        return np.isin(people, attacked.certain_people), not attacked.undecided


def _several(words: Words) -> Ints:
    """How many bits are set in each row."""
    several: Ints = np.bitwise_count(words).sum(axis=1).astype(np.int64)
    return several
