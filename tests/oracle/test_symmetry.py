"""Exchangeable values: found in one pass, and true in every world."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from worlds import random_series, worlds

from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.reasoning.worlds import symmetry as module
from reissue.reasoning.worlds.residual import only, without
from reissue.reasoning.worlds.symmetry import symmetry

Releases = list[list[tuple[list[str], list[object]]]]


def few(rng: random.Random) -> Releases:
    people = [f"p{at}" for at in range(rng.randint(1, 6))]
    return random_series(rng, people, "abc", releases=rng.randint(1, 3), cuts=rng.randint(0, 3))


def test_values_called_alike_are_equally_likely_in_all_worlds() -> None:
    rng = random.Random(1)
    alike_seen = 0
    for _ in range(600):
        releases = few(rng)
        view = Published.from_groups(releases)
        found = symmetry(view)
        every = list(worlds(releases))
        assert view.people is not None
        names = list(view.people)
        for at, number in enumerate(found.numbers.tolist()):
            part = found.part[found.last[at]]
            entries = slice(found.starts[part], found.starts[part + 1])
            share = [
                Fraction(sum(world[names[number]] == view.values[code] for world in every), len(every))
                for code in found.values[entries].tolist()
            ]
            for probability, alike in zip(share, found.alike[entries].tolist(), strict=True):
                assert probability <= Fraction(1, alike)
                alike_seen += alike > 1
            if found.whole[part]:
                assert all(probability == Fraction(1, len(share)) for probability in share)
    assert alike_seen > 500


def test_parts_are_what_hangs_together() -> None:
    releases: Releases = [
        [(["A", "B"], ["x", "y"]), (["C", "D"], ["x", "y"]), (["E"], ["z"])],
        [(["B", "C"], ["x", "y"]), (["F"], ["z"])],
    ]
    found = symmetry(Published.from_groups(releases))
    assert found.part.tolist() == [0, 0, 1, 0, 2]
    assert found.part_count == 3
    assert found.whole.tolist() == [True, True, True]
    assert found.alike.tolist() == [2, 2, 1, 1]


def test_a_poor_hash_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    right = module._mixed

    def poor(numbers: np.ndarray, salt: int) -> np.ndarray:
        return np.ones(numbers.size) if salt < 4 else right(numbers, salt)

    for _ in range(100):
        view = Published.from_groups(few(rng))
        expected = symmetry(view)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_mixed", poor)
            found = symmetry(view)
        assert found.alike.tolist() == expected.alike.tolist()


def test_taking_known_people_out_leaves_the_worlds_in_which_they_have_their_values() -> None:
    rng = random.Random(3)
    for _ in range(200):
        releases = few(rng)
        view = Published.from_groups(releases)
        every = list(worlds(releases))
        assert view.people is not None
        known = sorted(rng.sample(range(len(view.people)), rng.randint(0, len(view.people))))
        truth = every[rng.randrange(len(every))]
        codes = [view.values.index(truth[view.people[number]]) for number in known]
        left = without(view, np.array(known, dtype=np.int64), np.array(codes, dtype=np.int64))
        rest: Releases = [
            [
                (
                    [view.people[m] for m in release.members[release.member_starts[g] : release.member_starts[g + 1]]],
                    [
                        view.values[v]
                        for v, often in zip(
                            release.values[release.value_starts[g] : release.value_starts[g + 1]],
                            release.counts[release.value_starts[g] : release.value_starts[g + 1]],
                            strict=True,
                        )
                        for _ in range(often)
                    ],
                )
                for g in range(release.group_count)
            ]
            for release in left.releases
        ]
        agreeing = [world for world in every if all(world[view.people[n]] == truth[view.people[n]] for n in known)]
        others = {name for release in rest for members, _ in release for name in members}
        assert sorted(sorted((n, str(w[n])) for n in others) for w in agreeing) == sorted(
            sorted((n, str(w[n])) for n in others) for w in worlds(rest)
        )


def test_knowledge_that_cannot_be_is_refused() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"])], [(["A", "C"], ["x", "z"])]])
    with pytest.raises(ParameterError, match="contradicts the releases: in 1 group"):
        without(view, np.array([0, 1]), np.array([0, 0]))
    with pytest.raises(ParameterError, match="contradicts the releases: in 2 groups"):
        without(view, np.array([0, 2]), np.array([2, 2]))


def test_only_some_groups() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"]), (["C"], ["x"])], [(["A", "C"], ["x", "x"])]])
    left = only(view, np.array([True, False, True]))
    assert [release.sizes.tolist() for release in left.releases] == [[2, 0], [2]]
    assert [release.counts.tolist() for release in left.releases] == [[1, 1], [2]]
