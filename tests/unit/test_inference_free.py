"""InferenceFree and HistoryDiverse: parameters, words, what they refuse, and what they remember."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from worked_examples import worked_examples

import reissue as ri
from reissue.errors import ParameterError
from reissue.guarantees import GUARANTEES, HistoryDiverse, InferenceFree, MInvariant, SeriesGuarantee, Verdict, build
from reissue.model.memory import Kept, Memory
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.drafting import Secrets, checked

NOTE = "counts values, does not bound a probability by 1/l"

Groups = list[tuple[list[str], list[str]]]

GROWN: list[Groups] = [
    [(["p", "q"], ["a", "b"]), (["r", "s"], ["a", "c"])],
    [(["p", "q", "x", "y"], ["a", "b", "c", "d"]), (["r", "s"], ["a", "c"])],
]
"""Two newcomers with different values in a group that stays together, and a group that nothing happens to."""
TRUTH = {"p": "a", "q": "b", "r": "a", "s": "c", "x": "c", "y": "d"}


def views(releases: list[Groups]) -> list[Published]:
    whole = Published.from_groups(releases)
    return [replace(whole, releases=(release,)) for release in whole.releases]


def truth_of(releases: list[Groups], values: dict[str, str] = TRUTH) -> dict[int, str]:
    people = Published.from_groups(releases).people
    assert people is not None
    return {number: values[name] for number, name in enumerate(people)}


def follow(guarantee: SeriesGuarantee, releases: list[Groups], secret: object = None) -> tuple[list[Verdict], Memory]:
    state: Memory = {}
    verdicts = []
    for published in views(releases):
        verdict, state = step(guarantee, published, state, secret)
        verdicts.append(verdict)
    return verdicts, state


def step(guarantee: SeriesGuarantee, view: Published, state: Memory, secret: object = None) -> tuple[Verdict, Memory]:
    verdict, remembered = guarantee.follow(view, state, secret)
    return verdict, {name: state[name] if isinstance(table, Kept) else table for name, table in remembered.items()}


# What they are


def test_names_and_parameters() -> None:
    assert build("inference-freedom", l=3) == InferenceFree(3)
    assert build("history-l-diversity", l=2, diversity="share") == HistoryDiverse(2, "share")
    for one in (InferenceFree(3), HistoryDiverse(3), HistoryDiverse(2.5, "share")):
        assert build(one.name, **one.parameters) == one
        assert GUARANTEES[one.name] is type(one)
    assert InferenceFree(5).title == f"inference-freedom (l = 5, {NOTE})"
    assert HistoryDiverse(5).title == f"history-l-diversity (l = 5, {NOTE})"
    assert HistoryDiverse(2.5, "share").title == "history-l-diversity (l = 2.5, shares, bounds a probability by 1/l)"
    for documented in (InferenceFree, HistoryDiverse):
        assert "does not bound a probability by 1/l" in " ".join((documented.__doc__ or "").split())


def test_what_the_private_side_passes() -> None:
    assert HistoryDiverse(2).secret_of == "values"
    assert {one.secret_of for one in (InferenceFree(2), HistoryDiverse(2, "share"), MInvariant(2))} == {"anew"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InferenceFree(0), "The 'l' parameter of InferenceFree must be a whole number of at least 1. Got 0"),
        (lambda: InferenceFree(1.5), "The 'l' parameter of InferenceFree must be a whole number"),  # type: ignore[arg-type]
        (lambda: HistoryDiverse(1.5), "The 'l' parameter of HistoryDiverse must be a whole number of at least 1"),
        (lambda: HistoryDiverse(0.5, "share"), "The 'l' parameter of HistoryDiverse must be a number of at least 1"),
        (lambda: HistoryDiverse(2, "entropy"), "must be 'distinct' or 'share'. Got 'entropy' instead"),  # type: ignore[arg-type]
    ],
)
def test_parameters_out_of_range(make: Any, message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make()
    assert message in str(raised.value)


# What they say


def test_the_papers_example() -> None:
    paper = worked_examples("byun-2006")["published"]
    releases = [[(who, values) for who, _, values in paper[table]] for table in ("T0", "T1")]
    verdict = InferenceFree(2).check(Published.from_groups(releases))
    # Alice is new with one value; Bob and r6, r4 and r7: all three groups.
    assert (verdict.holds, verdict.worst, verdict.violations, verdict.groups) == (False, 1, 3, 5)
    assert InferenceFree(1).check(Published.from_groups(releases)).holds


def test_words() -> None:
    verdicts, _ = follow(InferenceFree(3), GROWN)
    assert (verdicts[0].holds, verdicts[0].worst) == (True, math.inf)
    assert "compared with no earlier release" in verdicts[0].explanation
    assert (verdicts[1].worst, verdicts[1].violations) == (2, 2)
    assert verdicts[1].explanation == (
        "2 of 2 groups break it. The worst, group 1 of release 2, has 2 values in common with group 1 of release 1, "
        "for the people in both, at least 3 are needed."
    )
    newcomers = [GROWN[0][:1], [(["p", "q", "x"], ["a", "b", "c"])]]
    assert InferenceFree(2).check(Published.from_groups(newcomers)).explanation == (
        "1 of 2 groups break it. The worst, group 1 of release 2, has 1 value left for the people in it who are not in "
        "release 1, at least 2 are needed."
    )
    gone: list[Groups] = [[(["p", "q", "x"], ["a", "b", "c"])], [(["p", "q"], ["a", "b"])]]
    verdict = InferenceFree(2).check(Published.from_groups(gone))
    assert (verdict.release, verdict.group, verdict.groups) == (1, 1, 3)
    assert (
        "has 1 value left for the people in it who are not in release 2, at least 2 are needed" in verdict.explanation
    )


def test_words_about_who_left_a_group_that_stood_for_long() -> None:
    """By hand: the first release leaves x all of a, b, c; the second has the other group that u and w come from."""
    before: Groups = [(["x", "y", "z"], ["a", "b", "c"])]
    beside: Groups = [*before, (["u", "v", "w"], ["a", "d", "e"])]
    after: Groups = [(["y", "z", "u", "w"], ["b", "c", "a", "e"])]
    expected = (
        "group 1 of release 1, as it still is in release 2, has 1 value left for the people in it who are not in "
        "release 3, at least 2 are needed."
    )
    whole = InferenceFree(2).check(Published.from_groups([before, beside, after]))
    steps, _ = follow(InferenceFree(2), [before, beside, after, after])
    assert expected in whole.explanation and expected in steps[2].explanation and expected in steps[3].explanation
    assert (whole.release, whole.group, whole.worst, whole.violations) == (1, 1, 1, 1)


def test_words_about_histories() -> None:
    verdicts, _ = follow(HistoryDiverse(3), GROWN, truth_of(GROWN))
    assert verdicts[1].explanation == (
        "2 of 2 groups break it. The worst, group 1 of release 2, has 2 people with the same history and 2 distinct "
        "values among them, at least 3 are needed."
    )
    verdicts, _ = follow(HistoryDiverse(3, "share"), GROWN)
    assert (verdicts[1].worst, verdicts[1].holds) == (0.5, False)
    assert "a value that 1 of them may have, a share of at most 1/3 is needed" in verdicts[1].explanation
    gone: list[Groups] = [[(["p", "q", "r", "s"], ["a", "b", "a", "c"])], [(["p", "q", "r"], ["a", "b", "a"])]]
    verdict = follow(HistoryDiverse(2), gone, truth_of(gone))[0][1]
    assert (verdict.release, verdict.group, verdict.groups) == (1, 1, 2)
    assert "had 1 person with the same history, no longer in release 2, and 1 distinct value" in verdict.explanation


def test_values_that_changed_break_the_promise() -> None:
    changed: list[Groups] = [[(["p", "q"], ["a", "b"])], [(["p", "q"], ["c", "d"])]]
    verdict = InferenceFree(1).check(Published.from_groups(changed))
    assert (verdict.holds, verdict.worst) == (False, 0)
    shares = HistoryDiverse(1, "share").check(Published.from_groups(changed))
    assert (shares.holds, shares.worst) == (False, math.inf)
    assert "contradict" in shares.explanation


def test_counterfeits_are_nobody() -> None:
    starts, ones = np.array([0, 2]), np.ones(2, dtype=np.int64)

    def release(number: int, members: list[int], values: list[int]) -> PublishedGroups:
        return PublishedGroups(number, np.array(members), starts, np.array(values), ones, starts)

    # The counterfeit is gone and another one new: sets about them are about nobody; 0 is left with one value.
    series = Published((release(1, [0, -1], [0, 1]), release(2, [0, -2], [0, 2])), ("a", "b", "c"))
    verdict = InferenceFree(2).check(series)
    assert (verdict.worst, verdict.groups, verdict.violations) == (1, 3 - 1, 1)
    assert HistoryDiverse(1).check(series, {0: "a"}).holds
    with pytest.raises(ParameterError, match="does not fit release 2"):
        HistoryDiverse(1).check(series, {0: "b"})


def test_no_releases_and_empty_ones() -> None:
    none = Published((), ())
    empty = Published.from_groups([[], [(["p", "q"], ["a", "b"])], []])
    for guarantee in (InferenceFree(2), HistoryDiverse(2), HistoryDiverse(2, "share")):
        assert guarantee.check(none, {}).holds and guarantee.check(empty, {0: "a", 1: "b"}).holds


# What they refuse


@pytest.mark.parametrize("guarantee", [InferenceFree(2), HistoryDiverse(2), HistoryDiverse(2, "share")])
def test_views_that_do_not_say_who_is_where(guarantee: SeriesGuarantee) -> None:
    known = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]])
    unsure = replace(known, releases=(replace(known.releases[0], sure=np.array([True, False])),))
    several = Published.from_groups([[(["Alice"], ["cancer", "flu"])]], single=False)
    twice = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"]), (["Alice"], ["flu"])]])
    for view, words in (
        (unsure, "does not say who the members"),
        (several, "several values or none"),
        (twice, "1 member in more than one place"),
        (replace(known, releases=known.releases * 2), "cannot follow release 1"),
    ):
        with pytest.raises(ParameterError) as raised:
            guarantee.check(view, {0: "cancer", 1: "flu"})
        assert words in str(raised.value)
        assert not any(name in str(raised.value) for name in ("Alice", "Bob", "cancer", "flu"))
    with pytest.raises(ParameterError, match="release by release"):
        guarantee.follow(Published.from_groups(GROWN), {}, truth_of(GROWN))
    _, state = step(guarantee, known, {}, {0: "cancer", 1: "flu"})
    with pytest.raises(ParameterError, match="cannot follow release 1"):
        guarantee.follow(known, state, {0: "cancer", 1: "flu"})


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        (None, "Got a NoneType instead"),
        ([1, 2], "Got a list instead"),
        ({0: "cancer"}, "for 1 person of release 1"),
        ({0: "cancer", 1: "measles"}, "for 1 person of release 1"),
        ({0: "cancer", 1: ["flu"]}, "for 1 person of release 1"),
        ({0: "cancer", 1: "cancer"}, "does not fit release 1: 1 of 1 group"),
        ((np.array([1, 0]), np.array([0, 1])), "must list people ascending"),
        ((np.array([0, 1]), np.array([0, 7])), "for 1 person of release 1"),
    ],
)
def test_true_values_that_cannot_be(secret: object, words: str) -> None:
    published = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]])
    with pytest.raises(ParameterError) as raised:
        HistoryDiverse(2).check(published, secret)
    assert words in str(raised.value)
    assert not any(name in str(raised.value) for name in ("Alice", "Bob", "cancer", "flu", "measles"))


def test_somebody_with_another_value_than_before() -> None:
    releases: list[Groups] = [[(["p", "q"], ["a", "b"])], [(["p", "q"], ["a", "b"])]]
    first, second = views(releases)
    _, state = step(HistoryDiverse(2), first, {}, {0: "a", 1: "b"})
    with pytest.raises(ParameterError, match="2 people of release 2 had another value before"):
        HistoryDiverse(2).follow(second, state, {0: "b", 1: "a"})


# What they remember


def test_true_values_as_arrays() -> None:
    whole, truth = Published.from_groups(GROWN), truth_of(GROWN)
    people = np.arange(len(truth))
    codes = np.array([whole.values.index(truth[who]) for who in people.tolist()], dtype=np.uint8)
    assert HistoryDiverse(2).check(whole, (people, codes)) == HistoryDiverse(2).check(whole, truth)


def test_a_larger_l_comes_too_late() -> None:
    for small, large in (
        (InferenceFree(2), InferenceFree(3)),
        (HistoryDiverse(1), HistoryDiverse(2)),
        (HistoryDiverse(1.5, "share"), HistoryDiverse(2, "share")),
    ):
        secret = truth_of(GROWN)
        assert "nobody has checked" in (small.obstacle({}) or "")
        first, second = views(GROWN)
        _, state = step(small, first, {}, secret)
        assert small.obstacle(state) is None
        assert "what is out stays out" in (large.obstacle(state) or "")
        verdict, after = step(large, second, state, secret)
        assert not verdict.holds and "Earlier releases were made for l" in verdict.explanation
        assert "what is out stays out" in (large.obstacle(after) or "")
        assert small.obstacle(step(large, second, state, secret)[1]) is None


def test_another_diversity_comes_too_late() -> None:
    _, state = follow(HistoryDiverse(2), GROWN, truth_of(GROWN))
    assert "diversity = 'distinct' so far" in (HistoryDiverse(2, "share").obstacle(state) or "")
    later = replace(views(GROWN)[0], releases=(replace(Published.from_groups(GROWN).releases[0], number=3),))
    with pytest.raises(ParameterError, match="cannot follow the series"):
        HistoryDiverse(2, "share").follow(later, state)


def test_what_has_not_changed_is_kept() -> None:
    same = views([GROWN[0], GROWN[0]])
    for guarantee in (InferenceFree(2), HistoryDiverse(2), HistoryDiverse(2, "share")):
        _, state = step(guarantee, same[0], {}, truth_of(GROWN[:1]))
        _, remembered = guarantee.follow(same[1], state, truth_of(GROWN[:1]))
        kept = {name for name, table in remembered.items() if isinstance(table, Kept)}
        assert kept >= {"people", "values"}
        if "cells" in remembered:
            assert kept >= {"cells", "groups", "entries"}


@pytest.mark.parametrize("guarantee", [InferenceFree(2), HistoryDiverse(2, "share")])
def test_what_is_remembered_does_not_grow_with_the_releases(guarantee: SeriesGuarantee) -> None:
    """Of a hundred groups one receives two newcomers in every release: one state is over each time."""
    groups: Groups = [([f"p{at}", f"q{at}"], ["a", "b"]) for at in range(100)]
    releases = []
    for at in range(40):
        releases.append(groups)
        groups = [*groups[1:], ([*groups[0][0], f"x{at}", f"y{at}"], [*groups[0][1], "a", "b"])]
    state: Memory = {}
    for at, published in enumerate(views(releases)):
        verdict, remembered = guarantee.follow(published, state)
        assert verdict.holds
        if at:
            over = [name for name in remembered if name.startswith("groups-")]
            changed = [name for name in over if not isinstance(remembered[name], Kept)]
            assert len(over) <= 4 and len(changed) == 1
        state = {name: state[name] if isinstance(table, Kept) else table for name, table in remembered.items()}
        assert sum(state[name].height for name in state if name.startswith("groups")) == 100 + at
    past = pl.concat([state[name] for name in state if name.startswith("groups-")])
    assert sorted(past["last"].to_list()) == list(range(39)) and past["first"].to_list() == [0] * 39


def test_numbers_and_missing_values() -> None:
    releases: Any = [[(["p", "q"], [1, None])], [(["p", "q", "x", "y"], [1, None, 2.5, -0.0])]]
    secret = dict(enumerate([1, math.nan, 2.5, 0]))
    assert follow(HistoryDiverse(2), releases, secret)[0][1].holds
    assert follow(InferenceFree(2), releases)[0][1].holds
    mixed: Any = [[(["p", "q"], [1, "one"])]]
    with pytest.raises(ParameterError, match="both labels and numbers"):
        follow(InferenceFree(2), mixed)


def test_a_draft_passes_the_true_values(chain: Any, patients: pl.DataFrame, policy: ri.Policy) -> None:
    draft = chain(policy).publish(patients)
    promises = (InferenceFree(2), HistoryDiverse(2), MInvariant(2))
    verdicts, remembered = checked(promises, draft.view, 1, {}, Secrets({}, draft.snapshot, None))
    # In a first release a cell is a group.
    distinct = np.diff(draft.view.releases[0].value_starts)
    assert verdicts[0].holds and verdicts[1].worst == distinct.min()
    held = remembered["history-l-diversity_people"]
    assert isinstance(held, pl.DataFrame) and held.height == patients.height
