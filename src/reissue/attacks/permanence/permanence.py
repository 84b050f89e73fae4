"""Permanence: values that nobody gets rid of, when every release is taken together (Bu, Fu, Wong, Chen & Li 2008).

Who attacks: someone who has the registry, so that he knows in which group of every release everybody is or would be,
who is told which values are permanent, and who knows of nobody, of some or of all in which releases they are. What he
does: he considers every way to say who has a permanent value in which release that agrees with how often each group
shows it and in which nobody loses it, each equally likely (section 3.3.1). If he knows that HD-composition made the
releases, he considers the ways in which l cohorts can stand behind them instead, any of which may be the holders'
(section 3.3.2): then nobody's risk is above 1/l, provided that there is such a way.

What he learns: with which probability somebody has the value, in the release in which that is most likely; who has it
for certain; and who cannot have it although a group of his shows it. Exact where it can be counted. What is proven of
parts too large to count follows from counts and from integer programs, whose worlds are checked in integers and whose
bounds are taken from the solver; probabilities there are estimates.

Values that change freely are judged too, each by its share in a group of one release: more than that nobody can know of
them. What it does not cover: what several permanent values say together (each is judged by itself, also in a view in
which everybody has one value only), and somebody who knows how decoys were chosen. That somebody's value is known is
used as follows: to have a permanent value is to have it wherever he is known to be in a group that may stand for it; to
have another value is not to have it, in a view in which everybody has one value only, and tells nothing elsewhere. With
the mechanism known this is not worked out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.budget import budgeted
from reissue.attacks.base import Attack, OfSets
from reissue.attacks.permanence.permanence_findings import PermanenceFindings
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.model.telling import tell
from reissue.reasoning.permanence.permanence_figures import Chances, Effort, Presence, chances


@dataclass(frozen=True)
class Permanence(Attack):
    """All ways in which permanent values can be spread over people that agree with every release."""

    name: ClassVar[str] = "Permanence"
    words: ClassVar[str] = (
        "All ways in which people may have had the values that nobody ever loses; all other values may change from "
        "release to release (Bu et al. 2008)."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability",)
    proves: ClassVar[tuple[str, ...]] = ("probability",)
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "values-permanent",
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
    )
    sets: ClassVar[OfSets] = "none"
    by_default: ClassVar[bool] = True

    seconds: float | None = None
    """The time for what is too large to count; None: proofs take the time they need."""
    seed: int | None = None
    """Draws the same worlds again; None: others every time."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.seconds()
        validation.whole("seed", least=0, optional=True)
        validation.finish()

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> PermanenceFindings:
        """Attack a series whose permanent values are known; without any, there is nothing to attack."""
        knowledge = knowledge or Knowledge()
        values = knowledge.permanent_values(published)
        if not knowledge.permanent:
            return PermanenceFindings(published, knowledge, None, (), ())
        # Whoever moved may be shown where he is not: then it tells nothing who is known to be where.
        participation = {} if knowledge.elsewhere else knowledge.participation(published)
        presence = Presence.of(published, participation)
        known_people, known_values = knowledge.known_values(published)
        runs = values.size * (1 if knowledge.cohorts is None else 2)
        effort = Effort(None if self.seconds is None else self.seconds / max(runs, 1), seed=self.seed)
        alone: list[Chances] = []
        together: list[Chances | None] = []
        for at, value in enumerate(values.tolist()):
            tell(at, values.size)
            holders = known_people[known_values == value]
            others = known_people[known_values != value] if published.single else np.zeros(0, dtype=np.int64)
            alone.append(chances(published, presence, value, holders=holders, others=others, effort=effort))
            if knowledge.cohorts is None or known_people.size:
                together.append(None)
            else:
                together.append(chances(published, presence, value, cohorts=knowledge.cohorts, effort=effort))
        return PermanenceFindings(published, knowledge, presence, tuple(alone), tuple(together))
