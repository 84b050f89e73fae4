"""Regions against brute force over points."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from reissue.errors import ParameterError
from reissue.model.attributes import EVERYTHING, Attribute, Intervals, Patterns, Sets
from reissue.model.regions import Regions

Ints = npt.NDArray[np.int64]

# Enough points to tell any two of the random parts below apart: every end and what lies between two ends, before the
# first and behind the last; every label and one that nobody names; every text of the alphabet and others beside it.
NUMBERS: list[float | None] = [None, *(half / 2 for half in range(-3, 12))]
LABELS = ("a", "b", "c", "d", "e", "f")
LETTERS = "xyz"
TEXTS = ["q", *("".join(letters) for size in (2, 3) for letters in product(LETTERS, repeat=size))]


class Numbers:
    """Random intervals, and the points in each."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.parts: list[tuple[float, float, bool, bool, bool]] = []
        while len(self.parts) < count:
            low, high = sorted(rng.integers(0, 5, 2).astype(float).tolist())
            low_open, high_open = (rng.random(2) < 0.4).tolist()
            low, high = (-np.inf if rng.random() < 0.1 else low), (np.inf if rng.random() < 0.1 else high)
            missing = bool(rng.random() < 0.2)
            if rng.random() < 0.1:
                low, high, low_open, high_open, missing = np.nan, np.nan, False, False, True
            elif low == high:
                low_open = high_open = False
            self.parts.append((low, high, low_open, high_open, missing))
        self.attribute: Attribute = Intervals(
            *(np.array([part[at] for part in self.parts], dtype=kind) for at, kind in enumerate("ff???"))
        )

    def points(self, box: int) -> frozenset[object]:
        low, high, low_open, high_open, missing = self.parts[box]
        return frozenset(
            point
            for point in NUMBERS
            if (missing if point is None else low <= point <= high)
            and not (point == low and low_open)
            and not (point == high and high_open)
        )


class Words:
    """Random sets of labels; two sides do not list the labels in the same order."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        known = rng.permutation(np.array(LABELS))[: rng.integers(2, 7)].tolist()
        sets = [rng.choice(known, rng.integers(1, len(known) + 1), replace=False).tolist() for _ in range(4)]
        which = rng.integers(EVERYTHING, len(sets), count)
        self.attribute: Attribute = Sets.of(known, sets, which)
        self.sets = [frozenset(sets[at]) if at != EVERYTHING else frozenset({*LABELS, "other"}) for at in which]

    def points(self, box: int) -> frozenset[object]:
        return self.sets[box]


class Masked:
    """Random masked texts."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        texts = ["".join(rng.choice([*"xyz*"], rng.integers(2, 4))) for _ in range(6)]
        self.which = rng.integers(EVERYTHING, len(texts), count)
        self.texts = texts
        self.attribute: Attribute = Patterns(tuple(texts), self.which)

    def points(self, box: int) -> frozenset[object]:
        if self.which[box] == EVERYTHING:
            return frozenset(TEXTS)
        pattern = self.texts[self.which[box]]
        return frozenset(
            text
            for text in TEXTS
            if len(text) == len(pattern) and all(p in ("*", c) for p, c in zip(pattern, text, strict=True))
        )


def random_regions(
    rng: np.random.Generator, kinds: list[type[Numbers] | type[Words] | type[Masked]], groups: int, several: bool
) -> tuple[Regions, list[set[tuple[object, ...]]]]:
    owner = np.sort(np.concatenate([np.arange(groups), rng.integers(0, groups, groups)])) if several else None
    boxes = groups if owner is None else owner.size
    made = [kind(rng, boxes) for kind in kinds]
    points: list[set[tuple[object, ...]]] = [set() for _ in range(groups)]
    for box in range(boxes):
        points[box if owner is None else owner[box]] |= set(product(*(part.points(box) for part in made)))
    return Regions(groups, {str(at): part.attribute for at, part in enumerate(made)}, owner), points


def as_set(pairs: tuple[Ints, Ints]) -> set[tuple[int, int]]:
    assert np.array_equal(np.lexsort((pairs[1], pairs[0])), np.arange(pairs[0].size))
    found = set(zip(*(side.tolist() for side in pairs), strict=True))
    assert len(found) == pairs[0].size
    return found


KINDS = [[Numbers], [Words], [Masked], [Numbers, Words], [Masked, Numbers], [Words, Numbers, Masked]]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kinds", KINDS, ids=lambda kinds: "-".join(kind.__name__ for kind in kinds))
def test_pairs_are_those_of_brute_force(kinds: list[type[Numbers] | type[Words] | type[Masked]], several: bool) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        mine, my_points = random_regions(rng, kinds, int(rng.integers(1, 12)), several)
        theirs, their_points = random_regions(rng, kinds, int(rng.integers(1, 30)), several)
        meeting = {(a, b) for a, x in enumerate(my_points) for b, y in enumerate(their_points) if x & y}
        inside = {(a, b) for a, x in enumerate(my_points) for b, y in enumerate(their_points) if x <= y}
        assert as_set(mine.meets(theirs)) == meeting, seed
        assert as_set(mine.holds(theirs)) == meeting, seed
        at_most = mine.holds_at_most(theirs, 1000)
        assert at_most is not None
        assert as_set(at_most) == meeting, seed
        # Somebody with several regions may be counted more than once, so only too few can be told here.
        assert mine.holds_at_most(theirs, len(meeting) - 1) is None, seed
        if several:
            assert as_set(mine.inside(theirs)) <= inside, seed
        else:
            assert as_set(mine.inside(theirs)) == inside, seed


def test_points_inside_several_regions_are_all_found() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        ages, owner = rng.integers(0, 6, 12).astype(float), np.sort(rng.integers(0, 4, 12))
        others, other_owner = rng.integers(0, 6, 15).astype(float), np.sort(rng.integers(0, 3, 15))
        mine = Regions(4, {"age": Intervals.between(ages, ages)}, owner)
        theirs = Regions(3, {"age": Intervals.between(others, others)}, other_owner)
        expected = {
            (a, b)
            for a in set(owner.tolist())
            for b in range(3)
            if set(ages[owner == a].tolist()) <= set(others[other_owner == b].tolist())
        }
        assert as_set(mine.inside(theirs)) == expected


def test_many_chunks_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    mine, _ = random_regions(rng, [Words, Numbers], 60, False)
    theirs, _ = random_regions(rng, [Words, Numbers], 70, True)
    together = [mine.meets(theirs), mine.inside(theirs)]
    monkeypatch.setattr("reissue.model.regions.CHUNK", 1)
    monkeypatch.setattr("reissue.model.attributes.CHUNK", 3)
    for whole, parts in zip(together, [mine.meets(theirs), mine.inside(theirs)], strict=True):
        assert np.array_equal(whole[0], parts[0])
        assert np.array_equal(whole[1], parts[1])


def test_an_attribute_that_one_side_lacks_may_be_anything() -> None:
    ages = Intervals.between(np.array([20.0, 30.0]), np.array([25.0, np.nan]))
    sex = Sets.of(["f", "m"], [["f"]], np.array([0, EVERYTHING]))
    mine, theirs = Regions(2, {"age": ages}), Regions(2, {"age": ages, "sex": sex})
    assert as_set(mine.meets(theirs)) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert as_set(mine.inside(theirs)) == {(0, 1), (1, 1)}
    assert as_set(theirs.inside(mine)) == {(0, 0), (0, 1), (1, 1)}


def test_no_attributes_and_no_groups() -> None:
    nothing, two = Regions(0, {}), Regions(2, {})
    assert as_set(two.meets(two)) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert as_set(two.inside(two)) == as_set(two.meets(two))
    assert as_set(nothing.meets(two)) == as_set(two.meets(nothing)) == as_set(nothing.inside(two)) == set()


def test_wrong_parts_are_refused() -> None:
    with pytest.raises(ParameterError, match="1 interval of 2 with no number in it"):
        Intervals.between(np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    with pytest.raises(ParameterError, match="1 set of 2 with no label"):
        Sets.of(["a"], [["a"], []], np.array([0, 1]))
    ages = Regions(1, {"age": Intervals.between(np.zeros(1), np.zeros(1))})
    labels = Regions(1, {"age": Sets.of(["a"], [["a"]], np.array([0]))})
    with pytest.raises(ParameterError, match=r"'age' cannot be compared.*intervals and sets"):
        ages.meets(labels)


def test_nothing_of_the_regions_is_shown() -> None:
    region = Regions(1, {"age": Sets.of(["canary"], [["canary"]], np.array([0]))})
    assert "canary" not in repr(region) + repr(region.attributes["age"])
