"""Sets as they are drawn against their exact probabilities, and that nobody's set depends on anybody else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reissue.arrays import cores
from reissue.errors import InternalError
from reissue.model.design import Design
from reissue.reasoning.alternatives import drawing
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.drawing import draw
from reissue.reasoning.alternatives.set_probabilities import all_sets, probability, probability_given
from tests.profiles import sized

Sets = npt.NDArray[Any]

UNLIKELY = 4.5
"""So many standard deviations: three in a million. Seeds are fixed, so that a test passes always or never."""


class Fresh:
    """Random words for each row and round, whatever is asked first."""

    def __init__(self, seed: int, people: int, width: int) -> None:
        self.seed, self.shape, self.rounds = seed, (people, width), dict[int, Any]()

    def __call__(self, rows: npt.NDArray[np.int64], number: int) -> npt.NDArray[np.uint64]:
        if number not in self.rounds:
            rng = np.random.default_rng([self.seed, number])
            self.rounds[number] = rng.integers(0, 2**64, size=self.shape, dtype=np.uint64)
        return self.rounds[number][rows]


def surprise(observed: npt.NDArray[Any], expected: npt.NDArray[np.float64], constraints: int) -> float:
    """How many standard deviations chi-square is above what it should be (Wilson & Hilferty 1931).

    Cells where less than five are expected are counted together.
    """
    few = expected < 5
    if few.any():
        observed = np.append(observed[~few], observed[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
    if expected[-1] < 5:
        observed, expected = (
            np.append(observed[:-2], observed[-2:].sum()),
            np.append(expected[:-2], expected[-2:].sum()),
        )
    freedom = expected.size - constraints
    if freedom < 1:
        return 0.0
    chi_square = float(((observed - expected) ** 2 / expected).sum())
    return ((chi_square / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def departure(design: Design, codes: npt.NDArray[np.int64], sets: Sets) -> float:
    """The largest surprise among the true values: how far sets are from P(S | v). Impossible sets are without end."""
    possible = all_sets(design)
    number = {tuple(row): at for at, row in enumerate(possible.tolist())}
    distinct, which = np.unique(sets, axis=0, return_inverse=True)
    known = [number.get(tuple(row), -1) for row in distinct.tolist()]
    if -1 in known:
        return math.inf
    drawn = np.array(known)[which.reshape(-1)]
    largest = -math.inf
    for value in range(design.values):
        of_value = drawn[codes == value]
        chances = probability_given(design, possible, np.full(len(possible), value))
        observed = np.bincount(of_value, minlength=len(possible))
        if observed[chances == 0].any():
            return math.inf
        largest = max(largest, surprise(observed[chances > 0], of_value.size * chances[chances > 0], 1))
    return largest


DESIGNS: dict[str, Callable[[], Design]] = {
    "plain": lambda: design_of([0.1, 0.2, 0.15, 0.12, 0.13, 0.05, 0.25], 3, dict.fromkeys(range(7), 1)),
    "two of many": lambda: design_of(1 / np.arange(3, 23), 2),
    "nearly in every set": lambda: design_of([0.249, 0.2, 0.15, 0.1, 0.1, 0.201], 4, dict.fromkeys(range(6), 1)),
    "in every set": lambda: design_of([0.25, 0.2, 0.15, 0.1, 0.1, 0.2], 4, dict.fromkeys(range(6), 1)),
    "one slot twice": lambda: design_of([0.05, 0.05, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 4),
    "slots": lambda: design_of([0.05, 0.285, 0.2, 0.05, 0.1, 0.1, 0.1, 0.115], 4),
    "harmless": lambda: design_of([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], 3, {0: 3}),
    "slots only": lambda: design_of([0.25, 0.25, 0.2, 0.15, 0.15], 4, dict.fromkeys(range(5), 2)),
    "first, with one slot": lambda: design_of([0.5, 0.13, 0.13, 0.13, *[0.11 / 6] * 6], 4),
}
EVERY_OWN, NONE_OWN = 0.0, 1.0


@pytest.mark.parametrize("likely", [EVERY_OWN, NONE_OWN], ids=["sums of their own", "drawn anew"])
@pytest.mark.parametrize("name", DESIGNS)
def test_sets_have_their_probabilities(name: str, likely: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to keep the true value from being drawn twice; 10^6 draws in all."""
    monkeypatch.setattr(drawing, "LIKELY", likely)
    design = DESIGNS[name]()
    people = sized(60_000, 1_000_000)
    codes = np.random.default_rng(1).permutation(np.arange(people) % design.values)
    words = Fresh(2, people, design.m)
    sets = draw(design, codes, words)
    assert departure(design, codes, sets) < UNLIKELY
    if likely == EVERY_OWN:
        assert len(words.rounds) == 1  # nobody had to be asked again


def test_the_designs_are_what_they_are_called() -> None:
    slots = {name: make().slots for name, make in DESIGNS.items()}
    for name in ("plain", "two of many", "nearly in every set", "in every set"):
        assert (slots[name] == 1).all()
    assert DESIGNS["in every set"]().inclusion.max() == 1
    assert DESIGNS["slots"]().weights.size > 2
    assert (slots["slots only"] == 2).all()
    first = DESIGNS["first, with one slot"]()
    assert first.slots[first.large].tolist() == [3, 1, 1, 1]


def naive(design: Design, codes: npt.NDArray[np.int64], rng: np.random.Generator) -> Sets:
    """What comes to mind first: m - 1 others by their shares, one after the other, none twice. It gives away a lot."""
    keys = np.log(design.shares) + rng.gumbel(size=(codes.size, design.values))
    keys[np.arange(codes.size), codes] = np.inf
    return np.sort(np.argsort(-keys, axis=1)[:, : design.m], axis=1)


def uniform(design: Design, codes: npt.NDArray[np.int64], rng: np.random.Generator) -> Sets:
    """The others by chance alone."""
    keys = rng.random((codes.size, design.values))
    keys[np.arange(codes.size), codes] = np.inf
    return np.sort(np.argsort(-keys, axis=1)[:, : design.m], axis=1)


def without_gaps(design: Design, codes: npt.NDArray[np.int64], _: np.random.Generator) -> Sets:
    """Sampford's odds without his sums of gaps: the smallest mistake that one could make."""
    tables = drawing.tables_of(design)
    for array in (tables.gaps, tables.sums):
        array.setflags(write=True)
    tables.gaps[:] = 1.0
    tables.sums[..., 1] = 0.0
    sets = np.empty((codes.size, design.m), dtype=np.uint32)
    words = Fresh(3, codes.size, 20 * design.m)
    drawing._draw_span(tables, codes, words, sets, (0, codes.size))
    return sets


@pytest.mark.parametrize("broken", [naive, uniform, without_gaps])
def test_a_broken_sampler_is_found_out(broken: Callable[..., Sets]) -> None:
    design = DESIGNS["plain"]()
    codes = np.arange(60_000) % design.values
    assert departure(design, codes, broken(design, codes, np.random.default_rng(1))) > 2 * UNLIKELY


@pytest.mark.parametrize("shape", ["even", "uneven"])
def test_inclusion_in_a_large_domain(shape: str) -> None:
    """Of people with values by their shares, each value is in a set with probability m p / slots."""
    rng, people, m = np.random.default_rng(1), sized(60_000, 600_000), 10
    shares = rng.lognormal(0, 0.5, 20_000) if shape == "even" else 1 / np.arange(1, 20_001)
    design = design_of(shares, m)
    assert bool(design.large.size) == (shape == "uneven")
    codes = rng.choice(design.values, people, p=design.shares)
    sets = draw(design, codes, Fresh(2, people, m))
    assert sets.dtype == np.uint16
    assert (sets == codes[:, None]).any(axis=1).all()
    repeated = (np.diff(sets.astype(np.int64), axis=1) == 0).sum(axis=1)
    held = (sets[:, :, None] == design.large).any(axis=1) @ (design.slots[design.large] - 1)
    assert (repeated == held).all()
    counts = np.bincount(sets.reshape(-1), minlength=design.values) / design.slots
    expected = people * design.inclusion
    assert abs((counts - expected) / np.sqrt(expected * (1 - design.inclusion))).max() < 6.5
    assert surprise(counts, expected, 1) < UNLIKELY


def test_a_value_in_nearly_every_large_set() -> None:
    """Sums over sets stay numbers: with odds of a million for one value they once became 0, and no draw ended."""
    values, m, people = 2000, 200, 4000
    share = (1 - 1e-6) / m
    shares = np.array([share, *np.full(values - 1, (1 - share) / (values - 1))])
    design = design_of(shares, m, dict.fromkeys(range(values), 1))
    codes = np.random.default_rng(2).choice(values, size=people, p=shares / shares.sum())
    sets = draw(design, codes, Fresh(5, people, m))
    assert (np.diff(sets.astype(np.int64), axis=1) > 0).all()
    assert (sets == codes[:, None]).any(axis=1).all()
    seen = np.bincount(sets.ravel(), minlength=values)
    assert seen[0] >= people - 1
    expected = people * design.inclusion[1:]
    freedom = (values - 1) * (1 - design.inclusion[1])
    assert abs((((seen[1:] - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom)) < UNLIKELY
    chances = probability(design, sets)
    assert (chances > 0).all()
    assert np.isfinite(chances).all()


def test_the_posterior_of_those_who_look() -> None:
    """Among people with values by their shares, a value is true for slots/m of those in whose set it is."""
    design = DESIGNS["slots"]()
    people = sized(200_000, 2_000_000)
    codes = np.random.default_rng(1).choice(design.values, people, p=design.shares)
    sets = draw(design, codes, Fresh(2, people, design.m))
    for value in range(design.values):
        shown = (sets == value).any(axis=1)
        right, limit = int((codes[shown] == value).sum()), design.limit[value]
        spread = math.sqrt(shown.sum() * limit * (1 - limit))
        assert abs(right - shown.sum() * limit) < UNLIKELY * spread


# Nobody's set depends on anybody else.


def test_neither_order_nor_company_matters() -> None:
    for name in ("slots", "nearly in every set", "two of many"):
        design = DESIGNS[name]()
        people = 3_000
        codes = np.random.default_rng(1).integers(0, design.values, people)
        words = Fresh(2, people, design.m)
        sets = draw(design, codes, words)
        order = np.random.default_rng(3).permutation(people)
        assert (draw(design, codes[order], lambda rows, n: words(order[rows], n)) == sets[order]).all()  # noqa: B023
        some = order[:100]
        assert (draw(design, codes[some], lambda rows, n: words(some[rows], n)) == sets[some]).all()  # noqa: B023
        others = codes.copy()
        others[order[100:]] = 0
        assert (draw(design, others, words)[some] == sets[some]).all()


def test_the_number_of_cores_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    design = DESIGNS["slots"]()
    people = 70_001
    codes = np.random.default_rng(1).integers(0, design.values, people)
    words = Fresh(2, people, design.m)
    words(np.arange(people), 0)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(cores, "cores", lambda count=count: count)
        found.append(draw(design, codes, words))
    assert all((one == found[0]).all() for one in found)


def test_sets_of_two_people_are_independent() -> None:
    """Pairs of sets of neighbours are as frequent as both together."""
    design = design_of([0.2, 0.2, 0.2, 0.2, 0.2], 2)
    people = sized(100_000, 1_000_000)
    sets = draw(design, np.random.default_rng(1).integers(0, 5, people), Fresh(2, people, 2))
    possible = all_sets(design)
    number = {tuple(row): at for at, row in enumerate(possible.tolist())}
    drawn = np.array([number[tuple(row)] for row in sets.tolist()])
    observed = np.bincount(drawn[::2] * len(possible) + drawn[1::2], minlength=len(possible) ** 2)
    chances = probability(design, possible)
    assert surprise(observed, people // 2 * np.outer(chances, chances).reshape(-1), 1) < UNLIKELY


def test_nobody() -> None:
    design = DESIGNS["slots"]()
    assert draw(design, np.empty(0, dtype=np.int64), Fresh(1, 0, 4)).shape == (0, 4)


def test_what_cannot_be_drawn() -> None:
    design = DESIGNS["slots"]()
    with pytest.raises(InternalError, match="none of the design's"):
        draw(design, np.array([8]), Fresh(1, 1, 4))
    with pytest.raises(InternalError, match="4 random words"):
        draw(design, np.array([1]), Fresh(1, 1, 3))
