"""Knowledge: what an adversary has beside the releases.

knowledge = ri.Knowledge(compromised={"Bob": "flu"})

Values are taken to be static: who is in several releases has the same value in all of them, as in the papers of He,
Riboni and Byun, unless the releases contradict it or `dropped` says otherwise. Where they are told which values are
`permanent`, as in the paper of Bu, only those stay, and all others may change from release to release. Where
they are told how values `change`, they argue from that.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from reissue.arrays.types import Ints
from reissue.errors import ParameterError, count_of, listed
from reissue.model.assumptions import ASSUMPTIONS, AssumptionName
from reissue.model.promise import Promise, Promising, promise_of, rules_of
from reissue.model.published import Published
from reissue.model.rules import Rule
from reissue.model.value_change import ValueChange

Recoding = Literal["local", "global", "full-domain"]
RECODINGS: tuple[Recoding, ...] = get_args(Recoding)


@dataclass(frozen=True, repr=False)
class Minimal:
    """What a release that is generalised no more than needed had to satisfy (Wong et al., the minimality principle)."""

    requirement: Sequence[Promise | Promising]
    """What every group had to satisfy: guarantees."""
    recoding: Recoding = "local"
    """`local`: people with equal quasi-identifiers may be published in different groups; `global`: they are together;
    `full-domain`: every attribute is generalised to one level for the whole table."""
    protect: Sequence[Sequence[Hashable]] = ()
    """The sets of values whose credibility is told; by default those that the requirement protects, or every value."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "requirement", tuple(map(promise_of, self.requirement)))
        if not self.requirement:
            raise ParameterError("The 'requirement' parameter of Minimal must name at least one guarantee.")
        _ = self.rules
        if self.recoding not in RECODINGS:
            raise ParameterError(
                f"The 'recoding' parameter of Minimal must be one of {listed(RECODINGS)}. "
                f"Got {self.recoding!r} instead."
            )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What is asked of every group."""
        return rules_of(self.requirement)

    def __repr__(self) -> str:
        return f"Minimal({', '.join(promise_of(one).name for one in self.requirement)}, {self.recoding} recoding)"


@dataclass(frozen=True, repr=False)
class Knowledge:
    """What the adversary knows before looking at the releases.

    People are given as they are called in the view: by name where it was built from names, else by number.
    """

    compromised: Mapping[str | int, object] = field(default_factory=dict)
    """People whose value is known already, with their values."""
    waiting: Mapping[int, Collection[str | int]] = field(default_factory=dict)
    """For releases by number: people known to be in the table and not in the release (waiting, withheld). With
    `method="Incremental"` those of them who come into one group of the next release are known to have waited in one
    list, which quasi-identifiers tell."""
    growing: bool | None = None
    """Whether nobody who is in a release is missing from a later one; None: it is not known. It matters where it is
    not known who is in which release."""
    method: str | None = None
    """The name of the method that made the releases, where it is known, such as "Incremental". Only `Channels` uses
    it yet, together with who waited."""

    minimal: Mapping[int, Minimal] = field(default_factory=dict)
    """For releases by number what they had to satisfy, where it is known that they are generalised no more than
    that asks. `Minimality` argues from it."""
    permanent: Collection[object] = ()
    """Values that nobody ever loses: people who have one have it in every later release they are in. `Permanence`
    argues from them; all other values may change."""
    change: ValueChange | None = None
    """How values may change; None: they do not. `Worlds` follows everybody's values then, and `Tracking` where a rate
    is known; attacks that take values to be static are not asked. A compromised person's value is then that of the last
    release they are in."""
    present: Mapping[str | int, Collection[int]] = field(default_factory=dict)
    """People whose participation is known, with the numbers of the releases they are in: those and no others. It
    matters where the releases do not tell who is in them."""
    counterfeits: Mapping[int, Collection[object]] = field(default_factory=dict)
    """Counterfeits, by their numbers in the view (below 0), of which something is known, with the values that each may
    have been given. Where that is a single one, row and value are known to be nobody's: `audit` takes both out before
    any attack looks. Where it is several, `Worlds` argues from the values that it cannot be."""
    cohorts: int | None = None
    """How many cohorts there are, where it is known that HD-composition made the releases (its l)."""
    elsewhere: bool = False
    """Whether somebody with a permanent value may be shown with it in a group where they are not, or with another
    value, as HD-composition does. What anybody's participation tells is then not worked out."""
    said: Collection[AssumptionName] = frozenset()
    """Assumptions that somebody vouches for. They are tested all the same, where the releases can contradict them."""
    dropped: Collection[AssumptionName] = frozenset()
    """Assumptions that are known not to hold: nothing may rest on them."""
    perturbed: str | None = None
    """How cells were perturbed before they were published, in a few words, such as "pram=0.02"; then nothing that the
    releases show is certain."""

    def __post_init__(self) -> None:
        problems = self._assumed()
        if not isinstance(self.compromised, Mapping):
            problems.append('The \'compromised\' parameter of Knowledge must be a mapping, such as {"Bob": "flu"}.')
        if not isinstance(self.waiting, Mapping):
            problems.append("The 'waiting' parameter of Knowledge must be a mapping, such as {2: [\"Bob\"]}.")
        minimal = isinstance(self.minimal, Mapping) and all(isinstance(one, Minimal) for one in self.minimal.values())
        if not minimal:
            problems.append(
                "The 'minimal' parameter of Knowledge must be a mapping, such as "
                "{1: Minimal([ri.guarantees.ShareDiverse(2)])}."
            )
        if not isinstance(self.present, Mapping):
            problems.append("The 'present' parameter of Knowledge must be a mapping, such as {\"Bob\": [1, 2]}.")
        if isinstance(self.permanent, str) or not isinstance(self.permanent, Collection):
            problems.append("The 'permanent' parameter of Knowledge must be a list of values, such as [\"HIV\"].")
        if not isinstance(self.counterfeits, Mapping) or any(
            isinstance(values, str) or not isinstance(values, Collection) or not values
            for values in self.counterfeits.values()
        ):
            problems.append(
                "The 'counterfeits' parameter of Knowledge must be a mapping to lists of values, such as "
                '{-1: ["flu", "asthma"]}.'
            )
        if self.change is not None and not isinstance(self.change, ValueChange):
            problems.append("The 'change' parameter of Knowledge must be a ValueChange, such as ValueChange(people=5).")
        elif self.change is not None and self.permanent:
            problems.append(
                "The 'permanent' and 'change' parameters of Knowledge cannot both be given: say of permanent values in "
                "'follows' that they are never left."
            )
        whole = isinstance(self.cohorts, int) and not isinstance(self.cohorts, bool)
        if self.cohorts is not None and (not whole or self.cohorts < 2):
            problems.append("The 'cohorts' parameter of Knowledge must be a whole number of at least 2, or None.")
        if self.growing not in (None, True, False):
            problems.append("The 'growing' parameter of Knowledge must be True, False or None.")
        if problems:
            raise ParameterError("This is not what an adversary can know.", problems=problems)

    def __repr__(self) -> str:
        parts = [f"{count_of(len(self.compromised), 'person', 'people')} compromised"]
        waiting = sum(len(people) for people in self.waiting.values())
        parts += [f"{waiting:,} known to wait"] if waiting else []
        parts += ["nobody leaves"] if self.growing else []
        parts += [f"method {self.method}"] if self.method else []
        parts += [f"{count_of(len(self.minimal), 'release')} known to be minimal"] if self.minimal else []
        parts += [f"{count_of(len(self.permanent), 'permanent value')}"] if self.permanent else []
        parts += [self.change.words] if self.change is not None else []
        parts += [f"participation of {len(self.present):,} known"] if self.present else []
        parts += [f"{count_of(len(self.counterfeits), 'counterfeit')} recognised"] if self.counterfeits else []
        parts += [f"{self.cohorts} cohorts"] if self.cohorts else []
        parts += [f"without {listed(sorted(self.dropped), 9)}"] if self.dropped else []
        return f"Knowledge({', '.join(parts)})"

    def _assumed(self) -> list[str]:
        """Bring what is said of assumptions into one form; what is wrong with it."""
        problems = []
        for name in ("said", "dropped"):
            given = getattr(self, name)
            known = isinstance(given, Collection) and not isinstance(given, str) and {*given} <= {*ASSUMPTIONS}
            if not known:
                problems.append(f"The '{name}' parameter of Knowledge must be a list of {listed(ASSUMPTIONS, 9)}.")
            object.__setattr__(self, name, frozenset(given) if known else frozenset())
        if self.perturbed is not None and (not isinstance(self.perturbed, str) or not self.perturbed.strip()):
            problems.append("The 'perturbed' parameter of Knowledge must say how, in a few words, or be None.")
        said, dropped = frozenset(self.said), frozenset(self.dropped)
        said |= {"nobody-leaves"} if self.growing is True else frozenset()
        dropped |= {"unperturbed"} if self.perturbed is not None else frozenset()
        if both := sorted(said & dropped):
            problems.append(f"{listed(both)} cannot be said and dropped at once.")
        if self.growing is None and "nobody-leaves" in said | dropped:
            object.__setattr__(self, "growing", "nobody-leaves" in said)
        object.__setattr__(self, "said", said)
        object.__setattr__(self, "dropped", dropped)
        return problems

    def without(self, names: Collection[AssumptionName]) -> Knowledge:
        """The same without some assumptions: nothing may rest on them."""
        growing = False if "nobody-leaves" in names else self.growing
        said = frozenset(self.said) - {*names}
        return replace(self, said=said, dropped=frozenset(self.dropped) | {*names}, growing=growing)

    def known_values(self, published: Published) -> tuple[Ints, Ints]:
        """The compromised people by number, ascending, and the positions of their values in the view."""
        numbers = _numbers(published, list(self.compromised), "compromised")
        place = {value: position for position, value in enumerate(published.values)}
        unknown = sum(not isinstance(value, Hashable) or value not in place for value in self.compromised.values())
        if unknown:
            raise ParameterError(
                f"{count_of(unknown, 'compromised person', 'compromised people')} of {len(self.compromised):,} with a "
                "value that no release publishes.",
                hint="spell values as they are published.",
            )
        values = np.array([place[value] for value in self.compromised.values()], dtype=np.int64)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], values[order]

    def permanent_values(self, published: Published) -> Ints:
        """The positions in the view of the values that nobody ever loses, ascending; those it never shows left out."""
        wanted = {value for value in self.permanent if isinstance(value, Hashable)}
        return np.array([at for at, value in enumerate(published.values) if value in wanted], dtype=np.int64)

    def participation(self, published: Published) -> dict[int, frozenset[int]]:
        """The people whose participation is known by number, with the numbers of the releases they are in."""
        numbers = _numbers(published, list(self.present), "known")
        return {
            int(number): frozenset(releases) for number, releases in zip(numbers, self.present.values(), strict=True)
        }

    def recognised(self, published: Published) -> tuple[Ints, Ints, dict[int, tuple[int, ...]]]:
        """What is known of counterfeits: those with one value by number, ascending, and its position in the view; and
        the others with the positions of the values that they may have."""
        place = {value: position for position, value in enumerate(published.values)}
        numbers = list(self.counterfeits)
        whole = [isinstance(number, int | np.integer) and number < 0 for number in numbers]
        there = published.index.places(np.array([n if fits else 0 for n, fits in zip(numbers, whole, strict=True)]))
        missing = sum(not fits or at < 0 for fits, at in zip(whole, there.tolist(), strict=True))
        unknown = sum(
            any(not isinstance(value, Hashable) or value not in place for value in values)
            for values in self.counterfeits.values()
        )
        if missing or unknown:
            raise ParameterError(
                "What is known of counterfeits does not fit the releases.",
                problems=[
                    *([f"{count_of(missing, 'counterfeit')} that no release has."] if missing else []),
                    *([f"{count_of(unknown, 'counterfeit')} with values that no release has."] if unknown else []),
                ],
                hint="counterfeits are called by their numbers in the view, which are below 0; spell values as they "
                "are published.",
            )
        left = {int(n): tuple(sorted({place[value] for value in self.counterfeits[n]})) for n in sorted(numbers)}
        single = {number: values[0] for number, values in left.items() if len(values) == 1}
        several = {number: values for number, values in left.items() if len(values) > 1}
        return np.array([*single], dtype=np.int64), np.array([*single.values()], dtype=np.int64), several

    def waiting_people(self, published: Published) -> dict[int, Ints]:
        """For each release the numbers of those known to wait, ascending."""
        return {
            release: np.sort(_numbers(published, list(people), "waiting")) for release, people in self.waiting.items()
        }


def _numbers(published: Published, people: list[str | int], what: str) -> Ints:
    """People as they are called in the view, by number."""
    if published.people is None:
        wanted = np.array([person if isinstance(person, int | np.integer) else -1 for person in people], dtype=np.int64)
    else:
        wanted = np.array([published.numbers.get(str(person), -1) for person in people], dtype=np.int64)
    missing = int(np.count_nonzero(~published.has(wanted)))
    if missing:
        raise ParameterError(
            f"{count_of(missing, f'{what} person', f'{what} people')} of {len(people):,} are in none of the releases.",
            hint="people are called as in the view: by name where it was built from names, else by number.",
        )
    return wanted
