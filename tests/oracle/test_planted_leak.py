"""One swapped pair in a safe series of 100,000 people is found, and the witness names it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from reissue.attacks.base import Limits
from reissue.attacks.worlds.worlds import Worlds
from reissue.model.published import Published, PublishedGroups

PEOPLE, VALUES, BUCKETS, RELEASES = 100_000, 50, 25, 4
M = 4


def safe_series(rng: np.random.Generator) -> tuple[Published, np.ndarray, np.ndarray]:
    """m-invariant by construction: bucket b has the values 0 and three of its own, groups are drawn anew each time."""
    bucket = np.arange(PEOPLE) % BUCKETS
    place = np.arange(PEOPLE) // BUCKETS % M
    values = np.where(place == 0, 0, 1 + (bucket * (M - 1) + place - 1) % (VALUES - 1))
    releases = []
    for number in range(1, RELEASES + 1):
        # Everybody with the same bucket and place is lined up at random; who stands at the same spot is a group.
        members = np.empty((BUCKETS, M, PEOPLE // BUCKETS // M), dtype=np.int64)
        for b in range(BUCKETS):
            for at in range(M):
                members[b, at] = rng.permutation(np.flatnonzero((bucket == b) & (place == at)))
        rows = members.transpose(0, 2, 1).reshape(-1, M)
        rows = rows[rng.permutation(rows.shape[0])]
        starts = np.arange(rows.shape[0] + 1) * M
        shown = np.sort(values[rows], axis=1).ravel()
        releases.append(PublishedGroups(number, rows.ravel(), starts, shown, np.ones_like(shown), starts))
    return Published(tuple(releases), tuple(f"value {at}" for at in range(VALUES))), bucket, values


@pytest.fixture(scope="module")
def safe() -> tuple[Published, np.ndarray, np.ndarray]:
    return safe_series(np.random.default_rng(4))


def swapped(view: Published, one: int, other: int, release: int) -> Published:
    """Two people change places in one release."""
    changed = view.releases[release]
    members = changed.members.copy()
    members[changed.members == one], members[changed.members == other] = other, one
    releases = list(view.releases)
    releases[release] = replace(changed, members=members)
    return replace(view, releases=tuple(releases))


def test_the_safe_series_is_certified(safe: tuple[Published, np.ndarray, np.ndarray]) -> None:
    found = Worlds().run(safe[0])
    assert found.judge(Limits(probability=Fraction(1, M))).status == "within"
    assert found.certain == {}
    assert found.found.told["by symmetry"] == PEOPLE


def test_the_swapped_pair_is_found_and_named(safe: tuple[Published, np.ndarray, np.ndarray]) -> None:
    view, bucket, values = safe
    one = int(np.flatnonzero((bucket == 3) & (values == 0))[17])
    other = int(np.flatnonzero((bucket == 11) & (values == 0))[5])
    leaking = swapped(view, one, other, release=2)
    found = Worlds(seconds=20).run(leaking)
    assert {one: "value 0", other: "value 0"}.items() <= found.certain.items()
    assert all(values[int(person)] == view.values.index(value) for person, value in found.certain.items())
    judged = found.judge(Limits(probability=Fraction(1, 2)), most=2)
    assert judged.status == "beyond"
    assert {finding.person for finding in judged.findings} == {one, other}
    assert {finding.release for finding in judged.findings} == {3}
    for finding in judged.findings:
        text = finding.witness.text(leaking)
        assert text.startswith(f"person {finding.person} is in release ")
        assert "release 3 group " in text
        assert text.endswith("only value 0 is in both.")
