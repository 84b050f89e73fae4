"""Minimality: what "generalised no more than needed" gives away (Wong, Fu, Wang & Pei 2007).

Who attacks: someone who knows the quasi-identifiers of everybody (a registry equal to the table, or larger), what the
release had to satisfy, and that its publisher generalises nothing needlessly. What he does: a group of several classes
(people with equal quasi-identifiers) was generalised, so at least one of the classes would have broken the requirement
if published as it is; all ways of handing out the group's values in which none would are ruled out. What he learns is
the credibility, the probability of a protected value or set for the people of a class
(`reasoning.minimality.credibility`).

What it does not cover: what several releases say together, a publisher who does not follow the principle (`Mechanism`
takes any method as it is), and values known from elsewhere.

Paper                     Here
n_i, n_s                  rows of a class, rows with a value of the set
Credibility(o, s, K)      `MinimalityFindings.classes`, `Minimality.credibility`
problematic tuples        `MinimalityFindings.problematic(m)`
Theorem 1                 groups in which nothing is excluded, told in `searched`
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from reissue.arrays.budget import budgeted, ends_after, moment, passed, spend
from reissue.attacks.base import Attack, OfSets
from reissue.attacks.minimality.minimality_findings import Attacked, MinimalityFindings
from reissue.attacks.minimality.minimality_group import group_credibilities
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import RECODINGS, Knowledge, Recoding
from reissue.model.parameters import Validation
from reissue.model.promise import Promise, Promising, promise_of, rules_of
from reissue.model.published import Published
from reissue.model.rules import Rows, Rule, Share
from reissue.model.telling import tell
from reissue.reasoning.history.trajectories import need_one_place_each
from reissue.reasoning.minimality.credibility import credibility
from reissue.reasoning.minimality.requirements import positions, requirement_of

SEED = 0
"""Deals are drawn the same again."""
MEMBER = 6.0
"""How many steps a member of a release takes."""


@dataclass(frozen=True, repr=False)
class Minimality(Attack):
    """The argument that nothing was generalised without need.

    Without `l` and `requirement` it looks at the releases of which the knowledge says what they had to satisfy
    (`Knowledge.minimal`), and at no others.
    """

    name: ClassVar[str] = "Minimality"
    words: ClassVar[str] = (
        "Why people were grouped at all: if nobody's own class had broken the rule, they would not have been "
        "(Wong et al. 2007)."
    )
    judges: ClassVar[tuple[str, ...]] = ("credibility", "probability")
    proves: ClassVar[tuple[str, ...]] = ("credibility",)
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
        "groups-minimal",
    )
    alone: ClassVar[tuple[AssumptionName, ...]] = ("unperturbed",)
    sets: ClassVar[OfSets] = "none"
    by_default: ClassVar[bool] = True

    l: float | None = None  # noqa: E741 - the paper's letter
    """Every protected set, or every value where none is named, had to have a share of at most 1/l."""
    k: int = 1
    """Every group had to have at least k rows."""
    protect: tuple[tuple[Hashable, ...], ...] = ()
    """Protected sets of values, for `l`; they are also the ones whose credibility is told."""
    requirement: tuple[Promise | Promising, ...] = ()
    """What else the releases had to satisfy: guarantees."""
    recoding: Recoding = "local"
    """`local`, `global` or `full-domain`: how quasi-identifiers were generalised; see `knowledge.Minimal`."""
    seconds: float | None = None
    """The time for groups that cannot be counted, in each release; None: no limit."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        if self.l is not None:
            validation.real("l", least=1)
        validation.whole("k", least=1)
        validation.one_of("recoding", RECODINGS)
        validation.seconds()
        if self.k != 1 and self.l is None and not self.requirement:
            validation.wrong("k", "given together with 'l' or 'requirement': alone it says nothing of values")
        sets = _as_sets(self.protect)
        if sets is None:
            validation.wrong("protect", "a list of lists of values, none empty", f"a {type(self.protect).__name__}")
        else:
            validation.replace("protect", sets)
        try:
            requirement = tuple(map(promise_of, self.requirement))
            rules_of(requirement)
        except (ParameterError, TypeError) as error:
            wanted = "a list of guarantees, such as [ri.guarantees.ShareDiverse(2)]"
            got = error.what.rstrip(".") if isinstance(error, ParameterError) else None
            validation.wrong("requirement", wanted, got)
        else:
            validation.replace("requirement", requirement)
        validation.finish()

    def __repr__(self) -> str:
        parts = [] if self.l is None else [f"l={self.l}"]
        parts += [f"k={self.k}"] if self.k != 1 else []
        parts += [f"protect=<{count_of(len(self.protect), 'set')}>"] if self.protect else []
        parts += [promise_of(one).name for one in self.requirement]
        return f"Minimality({', '.join([*parts, f'{self.recoding} recoding'])})"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All that the attack itself takes releases to have satisfied; empty where the knowledge says it."""
        asked = list(rules_of(self.requirement))
        if self.l is not None:
            asked.append(Share(self.protect, one_in=self.l))
        if self.k > 1:
            asked.append(Rows(self.k))
        return tuple(asked)

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> MinimalityFindings:
        """Attack every release of which it is known what it had to satisfy, each by itself."""
        knowledge = knowledge or Knowledge()
        attacked: list[Attacked] = []
        refused, unused = [], []
        deadline = ends_after(self.seconds)
        for at, release in enumerate(published.releases):
            tell(at, len(published.releases))
            rules, recoding, protect = self.rules, self.recoding, self.protect
            if not rules:
                minimal = knowledge.minimal.get(release.number)
                if minimal is None:
                    continue
                rules, recoding = minimal.rules, minimal.recoding
                protect = protect or tuple(map(tuple, minimal.protect))
            if not published.single:
                refused.append(f"release {release.number:,}: members may have several values or none")
                continue
            if release.sure is None:
                need_one_place_each(published, [at])
            if attacked and passed(deadline):
                refused.append(f"release {release.number:,}: the time ran out before")
                continue
            spend(MEMBER * release.members.size)
            requirement = requirement_of(rules, published, release)
            sets = positions(protect, published.values) if protect else list(requirement.sets)
            if not (sets or protect or any(isinstance(rule, Share) and rule.protect for rule in rules)):
                # Nothing is protected by name; where sets are, and no value of theirs is published, nothing is told.
                sets = [(at,) for at in range(len(published.values))]
            left = None if deadline is None else max(deadline - moment(), 0.01)
            found = credibility(release, requirement, sets, recoding=recoding, seconds=left, seed=SEED)
            if found.refused is not None:
                refused.append(f"release {release.number:,}: {found.refused}")
            else:
                attacked.append(Attacked(release, found))
        if knowledge.compromised and attacked:
            unused.append("what the values known from elsewhere add: the argument does not use them")
        return MinimalityFindings(published, attacked, tuple(refused), tuple(unused))

    def credibility(
        self,
        sizes: Mapping[Any, int],
        sensitive: int | None = None,
        *,
        values: Mapping[Any, int] | None = None,
        left: Mapping[Any, Any] | None = None,
    ) -> dict[Any, Any]:
        """The credibility of every class of one generalised group, as fractions.

        `sizes` are all rows of the classes; `sensitive` is how many rows of the group have a protected value, or
        `values` how often each value occurs in it. With local recoding, `left` has for classes the rows that were left
        ungeneralised: how many and how many of them sensitive, or how often each value occurs in them.

        >>> Minimality(l=2).credibility({"q1": 2, "q2": 2, "q3": 10}, sensitive=5)["q1"]
        Fraction(53, 86)
        """
        if not self.rules:
            raise ParameterError(
                "Minimality has no requirement to argue from.",
                hint="give it 'l' or 'requirement', as in Minimality(l=2).",
            )
        found: dict[Any, dict[Any, Fraction]] | dict[Any, Fraction] = group_credibilities(
            self.rules, self.protect, sizes, sensitive, values, left or {}
        )
        return found


def _as_sets(protect: object) -> tuple[tuple[Hashable, ...], ...] | None:
    if isinstance(protect, str) or not hasattr(protect, "__iter__"):
        return None
    sets = []
    for labels in protect:
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            return None
        members = tuple(labels)
        if not members or not all(isinstance(label, Hashable) for label in members):
            return None
        members = tuple(dict.fromkeys(members))
        sets.append(members)
    return tuple(sets)
