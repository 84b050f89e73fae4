"""How likely each value is where it is not certain who is in which group.

A world then also says in which of the groups that list somebody he is, or that he is in none. Worlds are counted
part by part, or drawn where they are too many; there is no other way here, so large views are refused.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from reissue.arrays.budget import ends_after, share_of
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints
from reissue.model.published import Published
from reissue.reasoning.worlds.posteriors import BOUNDED, EXACT, SAMPLED, Effort, Posteriors, contradiction
from reissue.reasoning.worlds.worlds_counting import count
from reissue.reasoning.worlds.worlds_model import Model, components, model_of
from reissue.reasoning.worlds.worlds_sampling import sample

LARGEST = 100_000
"""Views with more states, people told apart by them, are refused: counting them would take too long."""


def unsure_posteriors(
    published: Published, known_people: Ints, known_values: Ints, *, effort: Effort | None = None
) -> Posteriors:
    """The probabilities of a view in which some members are not certain.

    Those of one person may add up to less than 1: he may be in no release at all.
    """
    effort = effort or Effort()
    deadline = ends_after(effort.seconds)
    model, people, class_of = model_of(published, known=(known_people, known_values), limit=LARGEST)
    gathered = _Gathered(len(model.sizes), model)
    rng = np.random.default_rng(effort.seed)
    for part, classes in components(model):
        remaining = share_of(deadline, 0.25)
        counted = count(part, effort=effort.entries, deadline=remaining)
        if counted is not None and counted.total == 0:
            raise contradiction()
        if counted is not None:
            gathered.exact(part, classes, [[Fraction(n, counted.total) for n in some] for some in counted.by_state])
            continue
        sampled = sample(part, rng, draws=effort.draws, deadline=remaining)
        if sampled is None:
            gathered.bounds(part, classes)
        else:
            gathered.sampled(part, classes, sampled.by_state, sampled.standard_error)
    return gathered.done(people, class_of, known_people.size)


class _Gathered:
    """Probabilities by class and value."""

    def __init__(self, classes: int, model: Model) -> None:
        self._figures: list[dict[int, tuple[int, Fraction | None, float, float]]] = [{} for _ in range(classes)]
        self._sizes = model.sizes
        self._told: dict[str, int] = {}

    def exact(self, part: Model, classes: Ints, shares: list[list[Fraction]]) -> None:
        for at, home in enumerate(classes.tolist()):
            totals: dict[int, Fraction] = {}
            for state, share in zip(part.states[at], shares[at], strict=True):
                if state.value is not None:
                    totals[state.value] = totals.get(state.value, Fraction(0)) + share
            self._figures[home] = {value: (EXACT, share, np.nan, np.nan) for value, share in totals.items() if share}
        self._say("counted", part)

    def sampled(self, part: Model, classes: Ints, by_state: list[list[float]], errors: list[list[float]]) -> None:
        for at, home in enumerate(classes.tolist()):
            totals: dict[int, tuple[float, float]] = {}
            for state, share, error in zip(part.states[at], by_state[at], errors[at], strict=True):
                if state.value is not None:
                    # Errors of several states may go the same way: their sum is on the safe side.
                    share_before, error_before = totals.get(state.value, (0.0, 0.0))
                    totals[state.value] = (share_before + share, error_before + error)
            self._figures[home] = {value: (SAMPLED, None, *figures) for value, figures in totals.items()}
        self._say("sampled", part)

    def bounds(self, part: Model, classes: Ints) -> None:
        for at, home in enumerate(classes.tolist()):
            values = {state.value for state in part.states[at] if state.value is not None}
            self._figures[home] = dict.fromkeys(values, (BOUNDED, None, np.nan, np.nan))
        self._say("undecided", part)

    def done(self, people: Ints, class_of: Ints, known: int) -> Posteriors:
        real = people >= 0
        entries = [(home, value, figure) for home, some in enumerate(self._figures) for value, figure in some.items()]
        lengths = np.array([len(some) for some in self._figures], dtype=np.int64)
        kind = np.array([figure[0] for _, _, figure in entries], dtype=np.int8)
        fractions = {at: figure[1] for at, (_, _, figure) in enumerate(entries) if figure[1] is not None}
        ones = np.ones(len(entries), dtype=np.int64)
        return Posteriors(
            people[real],
            class_of[real],
            starts_of(lengths),
            np.array([value for _, value, _ in entries], dtype=np.int64),
            np.zeros(len(entries), dtype=np.int64),
            ones,
            np.ones(len(self._figures), dtype=np.int64),
            ones.copy(),
            kind,
            np.array([figure[2] for _, _, figure in entries], dtype=np.float64),
            np.array([figure[3] for _, _, figure in entries], dtype=np.float64),
            fractions,
            {**({"known": known} if known else {}), **self._told},
            present=False,
        )

    def _say(self, how: str, part: Model) -> None:
        self._told[how] = self._told.get(how, 0) + sum(part.sizes)
