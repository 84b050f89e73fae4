"""Historical safety and restriction safety: the papers' examples, words, parameters, and what is remembered."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError
from reissue.guarantees import (
    EquivalenceSafe,
    HistoricallySafe,
    RestrictionSafe,
    SeriesGuarantee,
    Verdict,
    WeakMInvariant,
)
from reissue.model.memory import KEPT, Kept
from reissue.model.published import Published, PublishedGroups

Names = list[tuple[str, str]]

TWO = "cancer measles"
HE = [
    [("Ellen Frank", TWO)],
    [("Ellen Harry Ian Jane", f"{TWO} {TWO}")],
    [("Ian Jane", TWO)],
]
"""He, Barman & Naughton 2011, Example 4, the bucket of cancer and measles."""
THREE = "cancer bronchitis AIDS"
RIBONI = [
    [("Alice Betty Carl", THREE), ("Doris Erica Fiona", THREE)],
    [("Carl Doris Fiona", THREE), ("Erica Grace Hanna", THREE)],
]
"""Riboni & Bettini 2009, Example 1."""


def view(series: list[Names]) -> Published:
    return Published.from_groups([[(who.split(), what.split()) for who, what in release] for release in series])


def alone(published: Published) -> list[Published]:
    """Each release in a view of its own, as whoever publishes sees them."""
    return [Published((release,), published.values, published.magnitudes) for release in published.releases]


def followed(guarantee: SeriesGuarantee, published: Published) -> tuple[list[Verdict], dict[str, pl.DataFrame]]:
    verdicts, memory = [], dict[str, pl.DataFrame]()
    for one in alone(published):
        verdict, remembered = guarantee.follow(one, memory)
        memory = {name: memory[name] if isinstance(table, Kept) else table for name, table in remembered.items()}
        verdicts.append(verdict)
    return verdicts, memory


def test_pairs_of_releases_are_not_enough() -> None:
    """Frank has Harry's value, and every pair of releases is safe: the promise is about pairs."""
    published = view(HE)
    verdict = HistoricallySafe(2, 2).check(published)
    # Ian and Jane are half of the group before; {Ellen, Frank} and the four publish different multisets.
    assert (verdict.holds, verdict.violations, verdict.groups, verdict.worst) == (True, 0, 3, math.inf)
    assert all(found.holds for found in followed(HistoricallySafe(2, 2), published)[0])
    assert EquivalenceSafe(2).check(published).worst == 1


def test_the_papers_example() -> None:
    published = view(RIBONI)
    assert WeakMInvariant(3).check(published).holds
    verdict = HistoricallySafe(3, 2).check(published)
    # Carl is tied to Erica by the third group. The fourth shares only Erica with the second.
    assert (verdict.holds, verdict.worst, verdict.violations, verdict.groups) == (False, 1, 1, 4)
    assert (verdict.release, verdict.group) == (2, 1)
    assert verdict.guarantee == "historical-safety (m = 3, n = 2)"
    assert verdict.explanation == (
        "1 of 4 groups break it. The worst, group 1 of release 2, is correlated with a group of release 1, so that 1 "
        "member has the same value as 1 other; sets of at least 2 are needed."
    )
    assert HistoricallySafe(3, 1).check(published).holds
    first, second = followed(HistoricallySafe(3, 2), published)[0]
    assert (first.holds, first.worst) == (True, math.inf)
    assert first.explanation.endswith("group 1 of release 1, has no correlation with an earlier group.")
    assert (second.holds, second.worst, second.group) == (False, 1, 1)
    assert second.explanation.split("The worst")[1] == verdict.explanation.split("The worst")[1]
    assert HistoricallySafe(3, 3).check(published).violations == 2


def test_multisets_matter_not_sets() -> None:
    """Half of a group twice as large publishes the same set of values, and nothing follows from comparing them."""
    large = [("A B C D", "x x y y")]
    assert HistoricallySafe(2, 2).check(view([large, [("A B", "x y"), ("C D", "x y")]])).worst == math.inf
    assert HistoricallySafe(2, 2).check(view([large, [("A B C E", "x x y y")]])).worst == 1
    assert HistoricallySafe(2, 2).check(view([large, large])).worst == math.inf


def test_a_correlation_reaches_back_over_an_absence() -> None:
    series = [[("A B", "x y"), ("C D", "x y")], [("C D", "x y")], [("A E", "x y"), ("C D", "x y")]]
    verdicts, _ = followed(HistoricallySafe(2, 2), view(series))
    assert [verdict.holds for verdict in verdicts] == [True, True, False]
    assert "correlated with a group of release 1," in verdicts[2].explanation


def test_weak_invariance_is_part_of_it() -> None:
    uneven = view([[("A B C", "x x y")], [("D E", "x y")]])
    verdict = HistoricallySafe(2, 1).check(uneven)
    assert (verdict.holds, verdict.violations, verdict.worst) == (False, 1, math.inf)
    assert "not all equally often" in verdict.explanation
    moved = view([[("A B", "x y")], [("A C", "x z")]])
    verdict = HistoricallySafe(2, 1).check(moved)
    assert (verdict.holds, verdict.release) == (False, 2)
    assert "1 person in it had another signature before" in verdict.explanation
    both = view([[("A B C", "x x y")], [("A B D", "x x y")]])
    assert "; it also has 2 distinct values, not all equally often" in HistoricallySafe(2, 2).check(both).explanation


def counterfeit_view(*releases: list[list[int]], numbers: tuple[int, ...] | None = None) -> Published:
    """Groups of members by number, all with two values."""
    built = []
    for at, release in enumerate(releases):
        sizes = [len(group) for group in release]
        built.append(
            PublishedGroups(
                at + 1 if numbers is None else numbers[at],
                np.array([member for group in release for member in group], dtype=np.int64),
                np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
                np.tile(np.arange(2), len(release)),
                np.repeat(np.array(sizes) // 2, 2),
                2 * np.arange(len(release) + 1),
            )
        )
    return Published(tuple(built), ("x", "y"))


def test_counterfeits_are_members_like_others() -> None:
    published = counterfeit_view([[0, -1], [1, 2]], [[0, 3], [1, 2]])
    assert HistoricallySafe(2, 2).check(published).violations == 1
    assert followed(HistoricallySafe(2, 2), published)[0][1].violations == 1
    both = counterfeit_view([[0, -1], [1, 2]], [[3, -1], [1, 2]])
    assert followed(HistoricallySafe(2, 2), both)[0][1].violations == 1
    # But nobody is at risk for whom they were published often.
    often = counterfeit_view(*([[at, -1]] for at in range(5)))
    assert RestrictionSafe(1, 0.1, 1).check(often).holds
    assert all(verdict.holds for verdict in followed(RestrictionSafe(1, 0.1, 1), often)[0])
    assert not RestrictionSafe(1, 0.1, 1).check(counterfeit_view(*([[0, -1 - at]] for at in range(5)))).holds


@pytest.mark.parametrize("guarantee", [HistoricallySafe(2, 1), RestrictionSafe(0.5, 0.1, 9)])
def test_views_that_cannot_be_judged(guarantee: SeriesGuarantee) -> None:
    back = counterfeit_view([[0, -1]], [[0, 1]], [[0, -1]])
    for judge in (guarantee.check, lambda published: followed(guarantee, published)):
        with pytest.raises(ParameterError, match="Release 3 has 1 counterfeit that were gone"):
            judge(back)
        with pytest.raises(ParameterError, match="in more than one place"):
            judge(counterfeit_view([[0, -1], [1, -1]]))
        with pytest.raises(ParameterError, match="in more than one place"):
            judge(counterfeit_view([[0, 1], [0, 2]]))
        with pytest.raises(ParameterError, match="more than 31 bits"):
            judge(counterfeit_view([[0, 2**31]]))
    unsure = counterfeit_view([[0, 1]])
    release = unsure.releases[0]
    columns = (release.members, release.member_starts, release.values, release.counts, release.value_starts)
    unsure = Published((PublishedGroups(1, *columns, sure=np.array([True, False])),), unsure.values)
    with pytest.raises(ParameterError, match="known who is in which group"):
        guarantee.check(unsure)
    with pytest.raises(ParameterError, match="exactly one value"):
        guarantee.check(Published.from_groups([[(["A"], ["x", "y"])]], single=False))
    with pytest.raises(ParameterError, match="view of 2 releases instead of one"):
        guarantee.follow(view(RIBONI), {})
    _, memory = followed(guarantee, counterfeit_view([[0, 1]], numbers=(4,)))
    with pytest.raises(ParameterError, match="Release 4 cannot follow release 4"):
        guarantee.follow(counterfeit_view([[0, 1]], numbers=(4,)), memory)
    nothing = guarantee.check(Published((), ()))
    assert (nothing.holds, nothing.groups) == (True, 0)


@pytest.mark.parametrize(
    ("m", "n", "wrong"),
    [(1, 1, "'m'"), (2.5, 1, "'m'"), (3, 0, "'n'"), (3, 4, "'n'"), (3, "2", "'n'"), (3, True, "'n'")],
)
def test_parameters_of_historical_safety(m: int, n: int, wrong: str) -> None:
    with pytest.raises(ParameterError, match=f"{wrong} parameter of HistoricallySafe must be .*Got"):
        HistoricallySafe(m, n)


def test_all_problems_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        RestrictionSafe(0, 1.5, 0)
    assert len(caught.value.problems) == 3
    assert caught.value.problems[0] == (
        "The 'h' parameter of RestrictionSafe must be a number above 0 and at most 1. Got 0 instead."
    )
    assert type(HistoricallySafe(np.int64(3), np.int64(2)).n) is int


def test_what_is_out_stays_out() -> None:
    published = view(RIBONI)
    _, memory = followed(HistoricallySafe(3, 1), published)
    assert HistoricallySafe(3, 1).obstacle(memory) is None
    assert HistoricallySafe(2, 1).obstacle(memory) is None
    assert "n = 2 is more than the n = 1 of an earlier release" in str(HistoricallySafe(3, 2).obstacle(memory))
    assert "m = 4 is more than the m = 3 of an earlier release" in str(HistoricallySafe(4, 1).obstacle(memory))
    assert "nobody has checked historical-safety" in str(HistoricallySafe(3, 1).obstacle({}))
    more = counterfeit_view([[90, 91]], numbers=(3,))
    verdict, _ = HistoricallySafe(2, 2).follow(more, memory)
    assert (verdict.holds, verdict.violations) == (False, 0)
    assert "made for n = 1" in verdict.explanation
    verdict, _ = HistoricallySafe(4, 1).follow(_wide(3), memory)
    assert (verdict.holds, verdict.violations) == (False, 0)
    assert "made for m = 3" in verdict.explanation


def _wide(number: int) -> Published:
    """One group of four new people with four values."""
    groups = PublishedGroups(
        number, np.arange(90, 94), np.array([0, 4]), np.arange(4), np.ones(4, dtype=np.int64), np.array([0, 4])
    )
    return Published((groups,), ("p", "q", "r", "s"))


@pytest.mark.parametrize("guarantee", [HistoricallySafe(2, 1), RestrictionSafe(1, 0.1, 9)])
def test_the_past_is_read_only_for_those_who_return(watched: Any, guarantee: SeriesGuarantee) -> None:
    published = counterfeit_view([[0, 1], [2, 3]], [[0, 1], [4, 5]], [[0, 4], [1, 5]])
    _, memory = followed(guarantee, published)
    assert {"weak_gone-000002", "left-000002"} <= set(memory)
    reading = watched(memory)
    _, remembered = guarantee.follow(counterfeit_view([[0, 5], [8, 9]], numbers=(4,)), reading)
    assert not [name for name in reading.read if "-" in name]
    assert [remembered[name] for name in ("weak_gone-000002", "left-000002", "kinds")] == [KEPT] * 3
    guarantee.follow(counterfeit_view([[0, 2]], numbers=(4,)), reading)
    assert {name for name in reading.read if "-" in name} == {"weak_gone-000002", "left-000002"}


def test_values_are_remembered_as_such() -> None:
    """Numbers and missing values, at other positions in every view, as from other releases."""
    for one, two, new in ((3, 7.5, -1), (None, 0.5, -2.0), ("m", None, "a")):
        series = [
            [(["A", "B", "C", "D"], [one, two, one, two])],
            [(["E", "F"], [new, one]), (["A", "B", "C", "G"], [two, one, one, two])],
        ]
        whole = Published.from_groups(series)
        verdict = HistoricallySafe(2, 2).check(whole)
        assert (verdict.violations, verdict.worst, verdict.group) == (1, 1, 2)
        _, remembered = HistoricallySafe(2, 2).follow(Published.from_groups(series[:1]), {})
        memory = {name: table for name, table in remembered.items() if isinstance(table, pl.DataFrame)}
        # The numbers of the people are those of the whole view, the positions of values are its own.
        verdict, _ = HistoricallySafe(2, 2).follow(
            Published(whole.releases[1:], whole.values, whole.magnitudes), memory
        )
        assert (verdict.violations, verdict.worst, verdict.group) == (1, 1, 2)
    with pytest.raises(ParameterError, match="both labels and numbers"):
        followed(HistoricallySafe(2, 1), Published.from_groups([[(["A", "B"], [1, "x"])]]))


def test_nothing_remembered_shows_in_a_message() -> None:
    series = [[("Ada Bob", "SECRET other")], [("Ada Cid", "SECRET other")]]
    verdicts, _ = followed(HistoricallySafe(2, 2), view(series))
    assert not any("SECRET" in verdict.explanation or "Ada" in verdict.explanation for verdict in verdicts)


def test_the_formula_by_hand() -> None:
    # Three values, up to two publications each, a set of one: 1 - 0.9^2 (1 - (0.1 - 0.1/3))^(2 * 3), squared.
    published = view(RIBONI)
    expected = (1 - 0.81 * (1 - 0.1 * 2 / 3) ** 6) ** 2
    verdict = RestrictionSafe(0.25, 0.1, 2).check(published)
    assert verdict.worst == pytest.approx(expected) == pytest.approx(0.2158, abs=1e-4)
    assert (verdict.holds, verdict.violations, verdict.groups) == (True, 0, 4)
    assert RestrictionSafe(0.2, 0.1, 2).check(published).violations == 2
    # In the first release nobody was correlated with anybody: 1 - 0.9, squared.
    first, second = followed(RestrictionSafe(0.2, 0.1, 2), published)[0]
    assert first.worst == pytest.approx(0.01)
    assert (second.holds, second.violations, second.worst) == (False, 2, pytest.approx(expected))
    assert second.explanation == (
        "2 of 2 groups break it. The worst, group 1 of release 2, has 3 values; people with so many were published up "
        "to 2 times, and correlated sets have at least 1 member: the formula gives 0.216, less than 0.2 is needed."
    )
    # Below h, not at it.
    assert not RestrictionSafe(1, 1.0, 2).check(published).holds
    assert RestrictionSafe(1e-300, 0.0, 2).check(published).holds


def test_signatures_of_other_sizes_are_judged_apart() -> None:
    """A person of the smaller signature is correlated; those of the larger one are not, and were published more."""
    series = [
        [("A B", "x y"), ("P Q R", "u v w")],
        [("P Q R", "u v w")],
        [("A C", "x y"), ("P Q R", "u v w")],
    ]
    last = followed(RestrictionSafe(1, 0.1, 9), view(series))[0][-1]
    small = 1 - 0.81 * (1 - 0.05) ** 4
    assert last.worst == pytest.approx(small)
    only = followed(RestrictionSafe(1, 0.1, 9), view([[release[-1]] for release in series]))[0][-1]
    assert only.worst == pytest.approx((1 - 0.9**3) ** 2)


def test_nobody_is_published_more_than_so_often() -> None:
    series = [[("A B", "x y"), ("C D", "x y")], [("A B", "x y")], [("A B", "x y"), ("C D", "x y")]]
    verdict = RestrictionSafe(1, 0.01, 2).check(view(series))
    assert (verdict.holds, verdict.violations, verdict.release, verdict.group) == (False, 1, 3, 1)
    assert "holds somebody who is published 3 times, at most 2 may be" in verdict.explanation
    verdicts, memory = followed(RestrictionSafe(1, 0.01, 2), view(series))
    assert [one.violations for one in verdicts] == [0, 0, 1]
    assert "somebody was published 3 times and L = 2" in str(RestrictionSafe(1, 0.01, 2).obstacle(memory))
    assert RestrictionSafe(1, 0.01, 3).obstacle(memory) is None
    strict = RestrictionSafe(0.02, 0.01, 3)
    # 1 - 0.99^3 = 0.0297
    told = str(strict.obstacle(memory))
    assert "the formula gives 0.03 for somebody published 3 times among 2 values and h = 0.02" in told
    assert "published 4 times" in str(RestrictionSafe(0.03, 0.01, 4).obstacle(memory))  # nobody was yet
    verdict, _ = strict.follow(_wide(4), memory)
    assert (verdict.holds, verdict.violations) == (False, 0)
    assert "what is out stays out" in verdict.explanation
    assert "nobody has checked restriction-safety" in str(strict.obstacle({}))


def test_the_formula_does_not_apply_everywhere() -> None:
    for series in ([[("A B C", "x x y")]], [[("A B", "x x")]], [[("A B", "x y")], [("A C", "x z")]]):
        verdict = RestrictionSafe(1, 0.0, 9).check(view(series))
        assert (verdict.holds, verdict.worst, verdict.violations) == (False, 1, 1)
        assert "so the formula does not apply" in verdict.explanation


def test_the_title_does_not_promise_too_much() -> None:
    title = RestrictionSafe(0.1, 0.04, 24).title
    assert title == ("restriction-safety (h = 0.1, p = 0.04, L = 24), by a formula that is not an upper bound")


def _with_counterfeits(published: Published) -> Published:
    """The view by names, in which counterfeits are called so, with numbers below 0 for them."""
    made = np.array([name.startswith("counterfeit") for name in published.people or ()])
    releases = [
        dataclasses.replace(one, members=np.where(made[one.members], -1 - one.members, one.members))
        for one in published.releases
    ]
    return Published(tuple(releases), published.values)


@pytest.mark.parametrize("method", [ri.MInvariance(3), ri.MInvariance(2, split=False), ri.EEquivalence(3, 2)])
def test_series_of_methods(chain, method: object) -> None:
    """What a method makes is judged alike at once and release by release; new values shift the positions of others."""
    schema = ri.Schema("person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")})
    series = chain(ri.Policy(schema, method))
    rng = np.random.default_rng(5)
    people = np.arange(60)
    for number in range(5):
        # The first letters are seen only when the later people come.
        values = ["hgfedcba"[person * 7 % 8 if person >= 60 else person % 5] for person in people.tolist()]
        frame = pl.DataFrame({"person": people, "age": 20 + people * 37 % 60, "illness": values})
        series.publish(frame.with_columns(pl.col("person").cast(pl.String)), seed=number)
        keep = rng.permutation(people)[:48]
        back = rng.integers(0, 60, 3)
        people = np.unique(np.concatenate([keep, back, np.arange(60 + 10 * number, 70 + 10 * number)]))
    views = [draft.published() for draft in series.drafts]
    whole = _with_counterfeits(series.published())
    for guarantee in (HistoricallySafe(2, 2), HistoricallySafe(3, 3), RestrictionSafe(0.2, 0.05, 4)):
        memory: dict[str, pl.DataFrame] = {}
        violations = 0
        for at, one in enumerate(views):
            verdict, remembered = guarantee.follow(one, memory)
            memory = {name: memory[name] if isinstance(table, Kept) else table for name, table in remembered.items()}
            until = guarantee.check(Published(whole.releases[: at + 1], whole.values))
            assert verdict.violations == until.violations - violations
            violations = until.violations
