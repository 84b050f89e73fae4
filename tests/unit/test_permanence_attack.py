"""Permanence: what it takes, what it refuses, what it says, and how it fares on views too large to list worlds of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest

from reissue.attacks.base import POSTERIORS, Limits
from reissue.attacks.permanence.permanence import Permanence
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.permanence.permanence_figures import Effort, Presence, chances

HALF = Limits(probability=Fraction(1, 2))
HIV = Knowledge(permanent=["HIV"])


def registered(*releases: Sequence[tuple[str, int]], certain: bool = False) -> Published:
    """Releases of groups, each a word of one-letter people, with how many of them have HIV."""
    return Published.from_groups(
        [[(list(members), ["HIV"] * often) for members, often in release] for release in releases],
        single=False,
        certain=certain,
    )


def grid(people: int, releases: int, size: int, holders: int, *, known: bool, seed: int = 1) -> Published:
    """A registry in groups of about `size`, shuffled a little from release to release; those with HIV keep it."""
    rng = np.random.default_rng(seed)
    order = np.arange(people)
    has = np.zeros(people, dtype=np.bool_)
    has[rng.choice(people, holders, replace=False)] = True
    built = []
    for number in range(1, releases + 1):
        starts = np.append(np.arange(0, people - size + 1, size), people)
        counts = np.add.reduceat(has[order], starts[:-1]).astype(np.int64)
        shown = counts > 0
        built.append(
            PublishedGroups(
                number,
                order.copy(),
                starts,
                np.zeros(int(shown.sum()), dtype=np.int64),
                counts[shown],
                np.concatenate([[0], np.cumsum(shown)]).astype(np.int64),
                sure=None if known else np.zeros(people, dtype=np.bool_),
            )
        )
        some = np.sort(rng.choice(people, people // 20, replace=False))
        order[some] = rng.permutation(order[some])
    return Published(tuple(built), ("HIV",), None, False, None)


# What it is asked


def test_without_permanent_values_nothing_is_attacked() -> None:
    findings = Permanence().run(registered([("ab", 1)]))
    assert findings.judge(HALF).status == "not asked"
    assert findings.posteriors.is_empty()
    assert findings.risks.is_empty()
    assert findings.witnesses == ()
    assert (findings.certain, findings.excluded, findings.assignments) == ({}, {}, {})
    assert findings.vulnerable(2).rate == 0


def test_a_permanent_value_that_nobody_shows_ties_nobody() -> None:
    findings = Permanence().run(registered([("ab", 1)]), Knowledge(permanent=["leprosy"]))
    assert findings.vulnerable(2).linkable == 0
    assert not findings.certain


def test_without_a_limit_nothing_is_judged() -> None:
    assert Permanence().run(registered([("ab", 1)]), HIV).judge(Limits()).status == "not asked"


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"seconds": True}, {"seed": -1}, {"seed": 1.5}])
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="Permanence"):
        Permanence(**wrong)


def test_views_that_do_not_say_who_are_refused() -> None:
    view = registered([("ab", 1)])
    nowhere = replace(view, releases=(replace(view.releases[0], space=object()),))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="who may be in which group"):
        Permanence().run(nowhere, HIV)
    twice = registered([("ab", 1), ("bc", 1)])
    with pytest.raises(ParameterError, match="one group of a release") as refusal:
        Permanence().run(twice, HIV)
    assert "Release 1: 1 membership too many" in str(refusal.value)


@pytest.mark.parametrize("said", [{"a": [1, 2]}, {"b": [1]}, {"a": [9]}])
def test_participation_that_contradicts_the_releases_is_refused(said: dict[str, list[int]]) -> None:
    """a is not registered in release 2, b is certainly in it, and there is no release 9."""
    view = registered([("ab", 1)], [("b", 1)])
    sure = replace(view.releases[1], sure=None)
    with pytest.raises(ParameterError):
        Permanence().run(replace(view, releases=(view.releases[0], sure)), Knowledge(permanent=["HIV"], present=said))


def test_l_must_be_a_whole_number() -> None:
    with pytest.raises(ParameterError, match="'l' parameter of vulnerable"):
        Permanence().run(registered([("ab", 1)]), HIV).vulnerable(0)


# What it finds


def test_nobody_known_leaves_the_releases_alone() -> None:
    findings = Permanence().run(registered([("abcd", 1)], [("abc", 2), ("d", 0)]), HIV)
    assert findings.probability("a", "HIV") == Fraction(2, 3)
    assert findings.probability("d", "HIV") == Fraction(1, 4)
    assert findings.assignments == {"HIV": 4 * 3}
    told = findings.posteriors
    assert told.columns == [*POSTERIORS, "release"]
    assert told.filter(pl.col("person") == "a").select("fraction", "release", "kind").row(0) == ("2/3", 2, "exact")
    assert findings.risks.columns == ["person", "probability", "kind", "low", "high"]


def test_who_is_known_to_be_absent_cannot_be_the_one() -> None:
    view = registered([("abc", 1)], [("abc", 1)])
    findings = Permanence().run(view, Knowledge(permanent=["HIV"], present={"a": [1, 2], "b": [2]}))
    # a has it at 1 only if at 2. Worlds (holder at 1, at 2): aa, ca, cb, cc.
    assert findings.assignments == {"HIV": 4}
    assert findings.probability("a", "HIV") == Fraction(1, 2)
    assert findings.probability("b", "HIV") == Fraction(1, 4)
    assert findings.probability("c", "HIV") == Fraction(3, 4)


def test_a_later_group_without_it_rules_out_and_says_so() -> None:
    view = registered([("abc", 1)], [("ab", 0), ("c", 1)], certain=True)
    findings = Permanence().run(view, HIV)
    assert findings.certain == {"c": "HIV"}
    assert findings.excluded == {"a": ["HIV"], "b": ["HIV"]}
    certain, excluded, _ = (witness.text(view) for witness in findings.witnesses)
    assert "a is present in release 2 group 1, which does not show HIV" in certain
    assert certain.endswith("So c has HIV.")
    assert excluded == "a is present in release 2 group 1, which does not show HIV, so did not have it before."


def test_witnesses_hide_values_when_asked_to() -> None:
    view = registered([("abc", 1)], [("ab", 0), ("c", 1)], certain=True)
    judged = Permanence().run(view, HIV).judge(HALF)
    text = judged.findings[0].witness.text(view, name=lambda number: f"number {number}", show_values=False)
    assert "HIV" not in text
    assert "So number 2 has value A." in text


def test_lost_values_are_a_contradiction_and_never_within() -> None:
    view = registered([("ab", 2), ("cd", 1)], [("ab", 0), ("cd", 1)], certain=True)
    findings = Permanence().run(view, HIV)
    assert findings.assignments == {"HIV": 0}
    assert not findings.certain
    assert not findings.excluded
    assert findings.judge(HALF).status == "undecided"
    assert "contradict" in findings.undecided[0]
    # The other part is not touched by it.
    assert findings.probability("c", "HIV") == Fraction(1, 2)
    assert findings.vulnerable(2).undecided == 2


def test_counterfeits_take_part_and_are_nobody_at_risk() -> None:
    view = Published.from_groups([[(["a", "b"], ["HIV", "flu"])]])
    made_up = replace(view.releases[0], members=np.array([0, -1]))
    findings = Permanence().run(replace(view, releases=(made_up,)), HIV)
    assert findings.posteriors["person"].to_list() == ["a"]
    assert findings.probability("a", "HIV") == Fraction(1, 2)
    assert findings.vulnerable(1).linkable == 1


def test_several_permanent_values_are_judged_one_by_one() -> None:
    view = Published.from_groups([[(["a", "b", "c"], ["HIV", "leprosy", "leprosy"])]])
    findings = Permanence().run(view, Knowledge(permanent=["HIV", "leprosy"]))
    assert findings.probability("a", "HIV") == Fraction(1, 3)
    assert findings.probability("a", "leprosy") == Fraction(2, 3)
    assert findings.assignments == {"HIV": 3, "leprosy": 3}
    assert findings.risks["probability"].to_list() == pytest.approx([2 / 3] * 3)
    assert findings.vulnerable(2).vulnerable == 3


# What is known of values


def test_somebody_known_to_have_it_clears_the_others() -> None:
    view = registered([("abc", 1)], [("abd", 2)], certain=True)
    findings = Permanence().run(view, Knowledge(permanent=["HIV"], compromised={"a": "HIV"}))
    assert findings.excluded == {"c": ["HIV"]}
    assert findings.probability("b", "HIV") == Fraction(1, 2)
    assert "a" not in findings.posteriors["person"].to_list()
    assert "a is known to have HIV" in findings.witnesses[0].text(view)


def test_another_value_clears_only_where_there_is_one_each() -> None:
    view = Published.from_groups([[(["a", "b"], ["HIV", "flu"])]])
    known = Knowledge(permanent=["HIV"], compromised={"a": "flu"})
    assert Permanence().run(view, known).certain == {"b": "HIV"}
    assert Permanence().run(replace(view, single=False), known).probability("b", "HIV") == Fraction(1, 2)


def test_known_values_and_the_mechanism_together_are_not_decided() -> None:
    view = registered([("abc", 1)], [("abc", 1)])
    known = Knowledge(permanent=["HIV"], compromised={"a": "HIV"}, cohorts=2)
    findings = Permanence().run(view, known)
    assert findings.judge(HALF).status == "undecided"
    assert "not worked out" in findings.undecided[0]


# Large views


def test_many_people_of_whom_nothing_is_known() -> None:
    """By closed form: as many as the group shows of those in it."""
    view = grid(200_000, 2, 100, 600, known=False)
    findings = Permanence().run(view, Knowledge(permanent=["HIV"], cohorts=4))
    one = findings.without_mechanism.chosen[0]
    wanted = np.zeros(200_000)
    for release in view.releases:
        counts = np.zeros(release.group_count)
        counts[np.repeat(np.arange(release.group_count), np.diff(release.value_starts))] = release.counts
        share = np.repeat(counts / release.sizes, release.sizes)
        wanted[release.members] = np.maximum(wanted[release.members], share)
    assert np.array_equal(one.people, np.flatnonzero(wanted))
    assert one.largest.probability[one.at] == pytest.approx(wanted[one.people])
    # With the mechanism: there is a world, so that nobody is above a quarter, and nobody is excluded.
    assert findings.chosen[0].exists is True
    assert not findings.excluded
    assert findings.judge(Limits(probability=Fraction(1, 4))).status == "within"
    assert findings.without_mechanism.judge(Limits(probability=Fraction(1, 200))).status == "beyond"


@pytest.fixture(scope="module")
def everybody_known() -> Published:
    return grid(4_000, 4, 8, 200, known=True)


def test_the_solver_and_counting_agree_where_worlds_are_many(everybody_known: Published) -> None:
    view = everybody_known
    presence = Presence.of(view, {})
    counted = chances(view, presence, 0, effort=Effort(moves=10**6))
    assert not (counted.largest.kind[counted.at] != 0).any()
    assert counted.worlds is not None
    assert counted.worlds > comb(8, 1)
    solved = chances(view, presence, 0, effort=Effort(moves=0, drawing=0.0))
    assert np.array_equal(solved.certain, counted.certain)
    assert np.array_equal(solved.excluded, counted.excluded)
    assert 0 < counted.certain.sum() < counted.excluded.sum()
    # In every group as many are expected to have it as it shows; whoever is certain is one of them.
    release = view.releases[-1]
    certain = np.isin(release.members, counted.people[counted.certain])
    counts = np.zeros(release.group_count)
    counts[np.repeat(np.arange(release.group_count), np.diff(release.value_starts))] = release.counts
    assert (np.add.reduceat(certain, release.member_starts[:-1]) <= counts).all()


def test_the_findings_of_a_large_view_fit_together(everybody_known: Published) -> None:
    findings = Permanence(seed=1).run(everybody_known, HIV)
    danger = findings.vulnerable(4)
    assert danger.certain == len(findings.certain)
    assert danger.excluded == len(findings.excluded)
    assert danger.certain + danger.excluded <= danger.vulnerable <= danger.linkable
    assert findings.posteriors.height == danger.linkable - danger.excluded
    judged = findings.judge(Limits(probability=Fraction(1, 4)), most=3)
    assert judged.status == "beyond"
    assert judged.count == danger.vulnerable - danger.excluded
    assert [one.probability for one in judged.findings] == [1.0] * 3
    assert all(str(everybody_known.values[0]) not in repr(one) for one in (findings, findings.chosen[0]))


def test_estimates_say_that_they_are(everybody_known: Published) -> None:
    presence = Presence.of(everybody_known, {})
    exact = chances(everybody_known, presence, 0)
    # Nothing may be counted: worlds are drawn.
    drawn = chances(everybody_known, presence, 0, effort=Effort(moves=0, drawing=20.0, seed=4))
    sampled = drawn.largest.kind[drawn.at] == 2
    assert sampled.any()
    assert drawn.worlds is None
    assert np.array_equal(drawn.certain, exact.certain)
    assert np.array_equal(drawn.excluded, exact.excluded)
    off = np.abs(drawn.largest.probability[drawn.at] - exact.largest.probability[exact.at])[sampled]
    assert (off <= 5 * np.nan_to_num(drawn.largest.error[drawn.at])[sampled] + 1e-9).all()
