"""Cor-Split as a user meets it: parameters, the choice of n, retirement, memory, adoption; and its compiled check."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import Infeasible, ParameterError, PolicyError, Unprotected
from reissue.kernels.hc_safety import Draws, new_table, one_of, shared, was_in
from reissue.methods.cor_split import cor_partition
from reissue.methods.cor_split.cor_split import GROUPS, RETIRED
from reissue.methods.invariance import splitting
from reissue.publishing.adoption import adopt
from reissue.reasoning.correlation.restriction import n_choose
from reissue.reasoning.history.group_histories import MADE_UP, GroupHistories

Groups = list[tuple[list[str], list[object]]]


def people(values: dict[int, str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": [f"p{who}" for who in values],
            "age": [20 + who * 7 % 50 for who in values],
            "illness": list(values.values()),
        }
    )


def policy(method: object, **more: Any) -> ri.Policy:
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")}
    )
    return ri.Policy(schema, method, **more)  # type: ignore[arg-type]


def evenly(count: int, values: str = "abc", first: int = 0) -> dict[int, str]:
    return {who: values[who % len(values)] for who in range(first, first + count)}


def alike(release: Groups) -> set[frozenset[str]]:
    """The groups of a release without any order."""
    return {frozenset(members) for members, _ in release}


# Parameters


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"m": 1, "n": 1}, "'m' parameter of CorSplit must be a whole number of at least 2. Got 1 instead"),
        ({"m": 3}, "CorSplit needs n, or p, L and h to choose it from"),
        ({"m": 3, "L": 4}, "CorSplit needs n, or p, L and h to choose it from"),
        ({"m": 3, "n": 0}, "'n' parameter of CorSplit must be a whole number from 1 to m = 3. Got 0 instead"),
        ({"m": 3, "n": 4}, "'n' parameter of CorSplit must be a whole number from 1 to m = 3. Got 4 instead"),
        ({"m": 3, "n": 2.0}, "'n' parameter of CorSplit must be a whole number from 1 to m = 3. Got 2.0 instead"),
        ({"m": 3, "n": True}, "'n' parameter of CorSplit must be a whole number from 1 to m = 3. Got True instead"),
        ({"m": 3, "n": "2"}, "'n' parameter of CorSplit must be a whole number"),
        ({"m": 3, "n": 2, "p": 0.1}, "of CorSplit need each other: 'L', 'h' not given"),
        ({"m": 6, "n": "3", "p": 0.04, "L": 24, "h": 0.1}, "must be a whole number from 1 to m = 6. Got '3' instead"),
        ({"m": 3, "n": 2, "h": 0.1}, "of CorSplit need each other: 'p', 'L' not given"),
        ({"m": 3, "p": 0.1, "L": 3}, "of CorSplit need each other: 'h' not given"),
        ({"m": 3, "p": 0.1, "h": 0.3}, "of CorSplit need each other: 'L' not given"),
        ({"m": 3, "p": -0.1, "L": 3, "h": 0.3}, "'p' parameter of CorSplit must be a number from 0 to 1. Got -0.1"),
        ({"m": 3, "p": 1.5, "L": 3, "h": 0.3}, "'p' parameter of CorSplit must be a number from 0 to 1. Got 1.5"),
        ({"m": 3, "p": float("nan"), "L": 3, "h": 0.3}, "'p' parameter of CorSplit must be a number from 0 to 1"),
        ({"m": 3, "p": "0.1", "L": 3, "h": 0.3}, "'p' parameter of CorSplit must be a number from 0 to 1"),
        ({"m": 3, "p": 0.1, "L": 3, "h": 0}, "'h' parameter of CorSplit must be a number above 0 and at most 1. Got 0"),
        ({"m": 3, "p": 0.1, "L": 3, "h": 1.1}, "'h' parameter of CorSplit must be a number above 0 and at most 1"),
        ({"m": 3, "n": 2, "L": 0}, "'L' parameter of CorSplit must be a whole number of at least 1. Got 0 instead"),
        ({"m": 3, "n": 2, "L": 2.5}, "'L' parameter of CorSplit must be a whole number of at least 1. Got 2.5 instead"),
        ({"m": 3, "n": 2, "L": True}, "'L' parameter of CorSplit must be a whole number of at least 1"),
        ({"m": 3, "n": 2, "combinations": 1}, "'combinations' parameter of CorSplit must be True or False"),
        ({"m": 3, "n": 2, "shortage": "wait"}, "'shortage' parameter of CorSplit must be 'counterfeit' or"),
        ({"m": 3, "n": 2, "choice": "far"}, "'choice' parameter of CorSplit must be 'random' or 'near'"),
    ],
)
def test_parameters_out_of_range(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ri.CorSplit(**given)
    assert words in str(caught.value)


def test_all_wrong_parameters_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        ri.CorSplit(3, p=2, L=0, h=-1)
    assert all(f"The '{name}' parameter" in str(caught.value) for name in ("p", "L", "h"))


def test_n_below_what_the_formula_asks_for() -> None:
    with pytest.raises(
        ParameterError, match=r"'n' parameter of CorSplit must be at least 3 for these p, L and h\. Got 2"
    ):
        ri.CorSplit(6, 2, p=0.04, L=24, h=0.1)
    assert ri.CorSplit(6, 3, p=0.04, L=24, h=0.1).n == 3
    assert ri.CorSplit(6, 5, p=0.04, L=24, h=0.1).n == 5


def test_n_is_chosen_by_the_formula() -> None:
    """The two settings of section 5; by the formula it is 2 in the first, where the paper uses 3."""
    assert ri.CorSplit(6, p=0.04, L=24, h=0.1).n == 3
    assert ri.CorSplit(6, p=0.04, L=21, h=0.1).n == 2
    assert ri.CorSplit(6, p=0, L=24, h=0.1).n == 1
    assert ri.CorSplit(6, 4).n == 4
    assert ri.CorSplit(6, 4).L is None
    assert ri.CorSplit(6, 4, L=9).L == 9


@pytest.mark.parametrize(
    ("m", "p", "L", "h"),
    [(6, 0.04, 30, 0.1), (3, 0.1, 10, 0.1), (2, 0.3, 5, 0.2), (4, 0.2, 4, 0.05), (3, 0.02, 9, 0.01)],
)
def test_an_h_out_of_reach_says_what_would_do(m: int, p: float, L: int, h: float) -> None:
    with pytest.raises(ParameterError) as caught:
        ri.CorSplit(m, p=p, L=L, h=h)
    told = str(caught.value)
    assert f"No n of at most m = {m} keeps the probability of a breach below h = {h}" in told
    ways = dict(re.findall(r"\b([Lmh]) = ([0-9.]*[0-9])", told.split("would do by itself: ")[1]))
    assert ways.keys() >= {"m", "h"}

    def does(**other: Any) -> bool:
        given = {"m": m, "p": p, "L": L, "h": h, **other}
        try:
            return ri.CorSplit(**given).n is not None
        except ParameterError:
            return False

    if "L" in ways:
        assert does(L=int(ways["L"]))
        assert not does(L=int(ways["L"]) + 1)
    else:
        assert not does(L=1)
    assert does(m=int(ways["m"]))
    assert not does(m=int(ways["m"]) - 1)
    assert does(h=float(ways["h"]))
    assert not does(h=float(ways["h"]) - 0.001)


def test_when_everybody_is_known_nothing_would_do() -> None:
    with pytest.raises(ParameterError, match="estimate p again: it is very high"):
        ri.CorSplit(3, p=1, L=2, h=0.5)


@pytest.mark.parametrize(
    "method",
    [
        ri.CorSplit(4, 3),
        ri.CorSplit(6, p=0.04, L=24, h=0.1),
        ri.CorSplit(6, 4, p=0.04, L=24, h=0.1, combinations=True, shortage="refuse", choice="near"),
        ri.CorSplit(3, 3, L=5, shortage="withhold"),
    ],
)
def test_policies_come_back_from_toml(method: ri.CorSplit) -> None:
    given = policy(method, form="anatomised")
    assert ri.Policy.from_toml(given.to_toml()) == given
    assert ri.Policy.from_toml(given.to_toml()).method.n == method.n  # type: ignore[attr-defined]


def test_what_is_promised() -> None:
    def names(method: ri.CorSplit) -> list[str]:
        return [guarantee.title for guarantee in policy(method, form="anatomised").guarantees()]

    assert names(ri.CorSplit(4, 2)) == ["historical-safety (m = 4, n = 2)"]
    every = names(ri.CorSplit(6, p=0.04, L=24, h=0.1, combinations=True))
    assert every[:2] == ["historical-safety (m = 6, n = 3)", "equivalence-safety (e = 3)"]
    assert every[2].startswith("restriction-safety (h = 0.1, p = 0.04, L = 24)")


def test_protected_sets_and_columns_as_they_are() -> None:
    schema = ri.Schema(person="person", quasi={"age": ri.Numeric()}, sensitive="illness", protect=[["a", "b"]])
    with pytest.raises(PolicyError, match="does nothing for protected sets"):
        ri.Policy(schema, ri.CorSplit(2, 2))
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, as_is={"ward": ri.Categorical()}, sensitive="illness"
    )
    with pytest.raises(PolicyError, match="anatomised"):
        ri.Policy(schema, ri.CorSplit(2, 2))


# n for larger signatures


def test_larger_signatures_get_the_n_of_their_own_size(chain: Any) -> None:
    """With 2 values the formula asks for n = 1 here, with 3 for n = 2."""
    ending = {"p": 0.2, "L": 5, "h": 0.9}
    assert [n_choose(0.2, 5, values, 0.9) for values in (2, 3)] == [1, 2]
    seen = Counter[int]()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        series = chain(policy(ri.CorSplit(2, **ending)))
        state = evenly(9)
        for number in range(4):
            series.publish(people(state), seed=seed)
            state = {who: value for who, value in state.items() if rng.random() < 0.7}
            state |= evenly(3, first=20 + 10 * number)
        for at, release in enumerate(series.groups()):
            for members, values in release:
                size = len(set(values))
                seen[size] += at > 0
                for before in series.groups()[:at]:
                    most = max(len(set(members) & set(then)) for then, _ in before)
                    assert not len(members) - (n_choose(0.2, 5, size, 0.9) or 0) < most < len(members)
        assert all(verdict.holds for draft in series.drafts for verdict in draft.verdicts)
    assert seen[3] > 10


def test_combinations_have_one_n_that_is_enough_for_larger_signatures_too(chain: Any) -> None:
    assert ri.CorSplit(2, p=0.2, L=5, h=0.9).n == 1
    method = ri.CorSplit(2, p=0.2, L=5, h=0.9, combinations=True)
    assert method.n == max(n_choose(0.2, 5, size, 0.9) or 0 for size in range(2, 21)) == 2
    chain(policy(method, form="anatomised")).publish(people({0: "a", 1: "b", 2: "c"}))


def test_a_signature_too_large_for_the_one_n_is_refused(tmp_path: Path) -> None:
    """Only releases made elsewhere have such."""
    size = 60
    assert n_choose(0.2, 5, size, 0.9) == 3
    column = ri.Categorical(values=[f"v{at:02}" for at in range(size)])
    schema = ri.Schema(person="who", quasi={"age": ri.Numeric()}, sensitive={"ill": column})
    chosen = ri.Policy(schema, ri.CorSplit(2, p=0.2, L=5, h=0.9, combinations=True), form="anatomised")
    names = [f"p{at}" for at in range(size)]
    series = adopt(tmp_path / "series", chosen, ri.Published.from_groups([[(names, list(column.values))]]))
    table = pl.DataFrame({"who": names, "age": range(size), "ill": column.values})
    with pytest.raises(Infeasible, match=r"A set of 60 values would need n = 3 for h = 0.9, and n is 2"):
        series.publish(table)


# Retirement


def test_nobody_is_published_more_than_l_times_whatever_lies_between(chain: Any) -> None:
    series = chain(policy(ri.CorSplit(2, 2, L=3)))
    rng = np.random.default_rng(3)
    times = Counter[str]()
    gone_between = 0
    everyone = evenly(12)
    for number in range(9):
        here = {who: value for who, value in everyone.items() if rng.random() < 0.6}
        here |= evenly(4, first=100 + 10 * number)
        draft = series.publish(people(here), seed=number)
        published = {who for members, _ in series.groups()[-1] for who in members if who.startswith("p")}
        retired = (
            set()
            if draft.held_back is None
            else {series.name(who) for who in draft.held_back.filter(reason=RETIRED)["person"]}
        )
        assert retired == {f"p{who}" for who in here if times[f"p{who}"] == 3}
        assert published == {f"p{who}" for who in here} - retired
        assert draft.summary["held_back"].get(RETIRED, {"people": 0})["people"] == len(retired)
        times.update(published)
        gone_between += sum(times[f"p{who}"] == 3 for who in everyone if who not in here)
    assert max(times.values()) == 3
    assert gone_between > 0


def test_the_retired_are_listed_with_a_reason_and_not_in_public(folder: Path) -> None:
    with ri.open(folder, policy(ri.CorSplit(2, 1, L=1))) as series:
        series.publish(people(evenly(4, "ab")))
        assert series.private.held_back(1).height == 0
        series.publish(people(evenly(8, "ab")))
        assert sorted(series.private.held_back(2)["person"]) == ["p0", "p1", "p2", "p3"]
        assert set(series.private.held_back(2)["reason"]) == {RETIRED}
        assert RETIRED not in str(series.releases[1].manifest)
        with pytest.raises(Infeasible, match="Nobody can be published: 8 rows would all be withheld"):
            series.publish(people(evenly(8, "ab")), allow=["same-state"], reason="so it is here")
        assert series.verify() == []


# Memory


def test_what_is_remembered_are_the_groups_of_everyone(chain: Any) -> None:
    series = chain(policy(ri.CorSplit(3, 2)))
    rng = np.random.default_rng(11)
    expected: dict[int, list[int]] = defaultdict(list)
    last: set[int] = set()
    first = 0
    for number in range(6):
        state = {who: value for who, value in evenly(30).items() if rng.random() < 0.6}
        draft = series.publish(people(state), seed=number)
        release = draft.recoded.groups
        memory = series.history.memory
        histories = GroupHistories.read(memory, GROUPS)
        assert {name for name in memory if name.startswith(GROUPS)} >= {
            GROUPS + name for name in ("groups", "histories", "memberships", "seen")
        }
        everyone = np.where(release.members < 0, MADE_UP - release.members, release.members)
        starts, groups = histories.of(everyone)
        mine = [groups[low:high].tolist() for low, high in pairwise(starts)]
        at = np.repeat(np.arange(release.group_count), release.sizes)
        # Whoever is in one group has one number at the end of the list; before it stands what stood there.
        number_of = {int(group): own[-1] for group, own in zip(at, mine, strict=True)}
        assert len(set(number_of.values())) == release.group_count
        assert set(number_of.values()) == set(range(first, first + release.group_count))
        for who, group, own in zip(everyone.tolist(), at.tolist(), mine, strict=True):
            expected[who].append(number_of[group])
            assert own == expected[who]
        first += release.group_count
        assert histories.next_group == first
        last = set(everyone.tolist())
    assert sum(len(expected[who]) > 1 for who in last) > 5
    assert max(expected) > MADE_UP


# Forms and tables


@pytest.mark.parametrize("combined", [False, True])
def test_both_forms(chain: Any, combined: bool) -> None:
    for form in ("generalised", "anatomised"):
        series = chain(policy(ri.CorSplit(3, 2, combinations=combined), form=form))
        for state in (evenly(12), evenly(12, first=4)):
            draft = series.publish(people(state), seed=1)
            if form == "anatomised":
                assert draft.tables["sensitive"].columns == ["group", "illness", "count"]
                for _, held in draft.tables["sensitive"].group_by("group"):
                    assert held["count"].n_unique() == 1
                    assert held.height == 3
                assert draft.tables["quasi"].height == draft.summary["rows"]
            else:
                assert draft.tables["table"].columns == ["group", "age_low", "age_high", "illness"]
        remarks = series.policy.method.remarks(form)
        assert ("wide regions" in "".join(remarks)) is (combined and form == "generalised")
        assert ("combinations = true" in "".join(remarks)) is not combined


def test_combinations_give_one_group_for_each_signature(chain: Any) -> None:
    series = chain(policy(ri.CorSplit(2, 2, combinations=True), form="anatomised"))
    for first in (0, 3, 7):
        series.publish(people(evenly(20, "abcd", first)), seed=first)
        signatures = [frozenset(values) for _, values in series.groups()[-1]]
        assert len(set(signatures)) == len(signatures)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("combined", [False, True])
def test_a_table_that_does_not_change(chain: Any, n: int, combined: bool) -> None:
    series = chain(policy(ri.CorSplit(3, n, combinations=combined)))
    for seed in range(4):
        draft = series.publish(people(evenly(30)), seed=seed)
        assert draft.held_back is None
        assert all(verdict.holds for verdict in draft.verdicts)
        assert {who for members, _ in series.groups()[-1] for who in members if who[0] == "p"} == {
            f"p{who}" for who in range(30)
        }


def test_n_1_protects_as_m_invariance_does_and_no_more(chain: Any) -> None:
    tied = 0
    for seed in range(6):
        series = chain(policy(ri.CorSplit(3, 1)))
        for first in (0, 3, 6, 9):
            series.publish(people(evenly(24, first=first)), seed=seed)
        assert ri.guarantees.MInvariant(3).check(series.published()).holds
        tied += ri.attacks.Correlation().run(series.published()).unsafe(2).height
    assert tied > 0


def test_n_equal_to_m_shares_nobody_or_whole_groups(chain: Any) -> None:
    """A group of m people may share nobody with an earlier group unless it is the whole of it, or part of it."""
    for seed in range(6):
        series = chain(policy(ri.CorSplit(3, 3)))
        for first in (0, 3, 6, 9):
            draft = series.publish(people(evenly(24, first=first)), seed=seed)
            assert draft.held_back is None
        for at, release in enumerate(series.groups()):
            for members, _ in release:
                for before in series.groups()[:at]:
                    most = max(len(set(members) & set(then)) for then, _ in before)
                    assert most <= len(members) - 3 or most == len(members)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("combined", [False, True])
def test_tiny_tables(chain: Any, n: int, combined: bool) -> None:
    """m rows; the same with one of them gone, alone and back; and fewer than m values."""
    three = {0: "a", 1: "b", 2: "c"}
    series = chain(policy(ri.CorSplit(3, n, combinations=combined), form="anatomised"))
    for state in (three, {0: "a", 1: "b"}, {2: "c"}, three, three | {3: "a"}):
        try:
            draft = series.publish(people(state), seed=n)
        except Infeasible:
            # Somebody comes back alone, whose return is not certain to tell nothing.
            assert combined
            assert state == {2: "c"}
            continue
        assert all(verdict.holds for verdict in draft.verdicts)
        held = 0 if draft.held_back is None else draft.held_back.height
        assert len({who for members, _ in series.groups()[-1] for who in members if who[0] == "p"}) + held == len(state)
    with pytest.raises(Infeasible, match="2 distinct sensitive values; m = 3 needs at least 3"):
        chain(policy(ri.CorSplit(3, n, combinations=combined))).publish(people({0: "a", 1: "b"}))


@pytest.mark.parametrize("width", [1, 6])
def test_one_quasi_identifier_and_many(chain: Any, width: int) -> None:
    kinds: dict[str, Any] = {
        "age": ri.Numeric(),
        "town": ri.Categorical(),
        "job": ri.Hierarchy.from_nested({"any": {"office": ["clerk", "judge"], "trade": ["smith", "joiner"]}}),
        "income": ri.Numeric(missing="value"),
        "rank": ri.Categorical(values=list("qrst")),
        "height": ri.Numeric(),
    }
    quasi = dict(list(kinds.items())[:width])
    schema = ri.Schema(person="person", quasi=quasi, sensitive="illness", drop=[k for k in kinds if k not in quasi])
    series = chain(ri.Policy(schema, ri.CorSplit(3, 2)))
    rng = np.random.default_rng(width)
    everyone = people(evenly(90)).with_columns(
        town=pl.Series(rng.choice(list("nsw"), 90)),
        job=pl.Series(rng.choice(["clerk", "judge", "smith", "joiner"], 90)),
        income=pl.Series(rng.integers(0, 9, 90) * 1000).set(pl.Series(rng.random(90) < 0.1), None),
        rank=pl.Series(rng.choice(list("qrst"), 90)),
        height=pl.Series(rng.normal(170, 9, 90)),
    )
    for low in (0, 9, 20, 33):
        draft = series.publish(everyone[low : low + 50], seed=low)
        assert all(verdict.holds for verdict in draft.verdicts)
        assert draft.held_back is None


def test_threads_do_not_matter(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [evenly(160, "abcdef", first) for first in (0, 30, 55, 90)]
    found = []
    for cores, rows in ((1, 20_000), (4, 0), (2, 50), (3, 0)):
        for module in (cor_partition, splitting):
            monkeypatch.setattr(module, "PARALLEL_FROM", rows)
            monkeypatch.setattr(module, "cores", lambda cores=cores: cores)
        series = chain(policy(ri.CorSplit(2, 2)))
        for seed, state in enumerate(states):
            series.publish(people(state), seed=seed)
        found.append([alike(release) for release in series.groups()])
    assert found[0] == found[1] == found[2] == found[3]
    assert any(len(members) > 2 for release in found[0] for members in release)
    other = chain(policy(ri.CorSplit(2, 2)))
    for state in states:
        other.publish(people(state), seed=99)
    assert [alike(release) for release in other.groups()] != found[0]


def test_words_that_are_drawn_later_follow_those_of_before() -> None:
    rng = np.random.default_rng(2)
    sizes = np.array([3, 900, 40, 2])
    first = cor_partition._Draws.for_rows(sizes, rng)
    assert (first.end - first.first).tolist() == [24, 4096, 320, 16]
    asked = np.array([24, 5000, 0, 17])
    short = first.short(asked)
    assert short.tolist() == [1, 3]
    longer = first.longer(short, asked[short], rng)
    for bucket in short.tolist():
        before, after = (draws.words[draws.first[bucket] : draws.end[bucket]] for draws in (first, longer))
        assert after.size == 2 * asked[bucket]
        assert (after[: before.size] == before).all()
        assert np.unique(after).size == after.size
    assert not longer.short(asked).size


class WordsByNumber(cor_partition._Draws):
    """Words that follow from the number of a bucket: the same ones, however many of them are asked for at once."""

    at_first, rounds = 1, 0

    @classmethod
    def for_rows(cls, sizes: Any, rng: Any) -> Any:
        return cls.so_many(np.full(sizes.size, cls.at_first))

    @classmethod
    def so_many(cls, counts: Any) -> Any:
        words = [
            np.random.default_rng(bucket).integers(2**64, size=n, dtype=np.uint64) for bucket, n in enumerate(counts)
        ]
        return cls(np.concatenate(words), np.cumsum(counts) - counts, np.cumsum(counts))

    def longer(self, which: Any, asked: Any, rng: Any) -> Any:
        type(self).rounds += which.size > 0
        counts = self.end - self.first
        counts[which] = 2 * asked
        return self.so_many(counts)


def test_running_out_of_words_changes_nothing(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets that had too few at first come out as if they had had enough."""
    monkeypatch.setattr(cor_partition, "_Draws", WordsByNumber)
    states = [evenly(160, "abcdef", first) for first in (0, 30, 55, 90)]
    found, rounds = [], []
    for words in (0, 1, 5, 100_000):
        monkeypatch.setattr(WordsByNumber, "at_first", words)
        monkeypatch.setattr(WordsByNumber, "rounds", 0)
        series = chain(policy(ri.CorSplit(3, 3)))
        for seed, state in enumerate(states):
            series.publish(people(state), seed=seed)
        found.append([alike(release) for release in series.groups()])
        rounds.append(WordsByNumber.rounds)
    assert found[0] == found[1] == found[2] == found[3]
    assert rounds[0] > 1
    assert rounds[3] == 0


# Adoption

ADOPTED = policy(ri.CorSplit(2, 2, L=3))


def held_back_after(folder: Path, given: ri.Policy, *past: Groups) -> set[str]:
    """Who is barred after these releases, and, to see that the others go on, one release more."""
    everyone = {
        who: value for groups in past for members, values in groups for who, value in zip(members, values, strict=True)
    }
    newcomers = {"x": "flu", "y": "cold", "z": "flu", "w": "cold"}
    table = pl.DataFrame({"person": [*everyone, *newcomers], "illness": [*everyone.values(), *newcomers.values()]})
    with adopt(folder, given, ri.Published.from_groups(past)) as series:
        series.publish(table.with_columns(age=pl.int_range(pl.len()) + 20), allow=["withheld"], reason="so it is here")
        number = len(past) + 1
        held = series.private.held_back(number)
        published = set(series.private.members(number)["person"].drop_nulls())
        assert published | set(held["person"]) == set(table["person"])
        assert set(newcomers) <= published
        assert series.verify() == []
        return set(held["person"])


def test_sound_parts_go_on_and_tied_ones_do_not(memory: Path, tmp_path: Path) -> None:
    two = ["flu", "cold"]
    first: Groups = [(["a", "b"], two), (["c", "d"], two), (["e", "f"], two)]
    # One of each pair has changed: whoever knows d knows g, and a group that stays as it is tells nothing.
    second: Groups = [(["a", "b"], two), (["c", "g"], two), (["h", "i"], two)]
    assert held_back_after(memory / f"{tmp_path.name}-1", ADOPTED, first) == set()
    assert held_back_after(memory / f"{tmp_path.name}-2", ADOPTED, first, second) == {"c", "d", "g"}
    # With n = 1 that is allowed.
    less = policy(ri.CorSplit(2, 1, L=3))
    assert held_back_after(memory / f"{tmp_path.name}-3", less, first, second) == set()
    # Uneven groups never are.
    uneven: Groups = [(["a", "b", "j"], [*two, "flu"]), (["c", "d"], two)]
    assert held_back_after(memory / f"{tmp_path.name}-4", less, uneven) == {"a", "b", "j"}


def test_whoever_was_published_too_often_elsewhere_does_not_go_on(memory: Path, tmp_path: Path) -> None:
    """Those with exactly L releases are retired by the method, those with more are barred with all of their part."""
    two = ["flu", "cold"]
    both: Groups = [(["a", "b"], two), (["c", "d"], two)]
    only: Groups = [(["a", "b"], two)]
    for at, (past, expected, reason) in enumerate(
        [
            ([both, only], set(), None),
            ([both, only, only], {"a", "b"}, RETIRED),
            ([both, only, only, only], {"a", "b"}, None),
        ]
    ):
        path = memory / f"{tmp_path.name}-{at}"
        assert held_back_after(path, ADOPTED, *past) == expected
        with ri.open(path) as series:
            reasons = set(series.private.held_back(len(past) + 1)["reason"])
            assert reasons == ({reason} if reason else reasons - {RETIRED})
            assert series.releases[len(past) - 1].summary["barred"] == (2 if len(past) == 4 else 0)


def test_adopted_series_with_combinations(memory: Path, tmp_path: Path) -> None:
    given = policy(ri.CorSplit(2, 2, combinations=True), form="anatomised")
    four = ["flu", "flu", "cold", "cold"]
    sound: Groups = [(["a", "b", "c", "d"], four)]
    swapped: Groups = [(["a", "b", "c", "e"], four)]
    split: Groups = [(["a", "c"], ["flu", "cold"]), (["b", "d"], ["flu", "cold"])]
    for at, (past, barred) in enumerate(
        [([sound], set()), ([sound, sound], set()), ([sound, swapped], set("abcde")), ([split], set("abcd"))]
    ):
        assert held_back_after(memory / f"{tmp_path.name}-{at}", given, *past) == barred


def test_groups_made_elsewhere_count_as_earlier_groups(memory: Path, tmp_path: Path) -> None:
    """Of those who go on nobody is tied to a person of the past afterwards, whatever is drawn."""
    three = ["flu", "cold", "gout"]
    names = [f"q{n}" for n in range(18)]
    past: Groups = [(names[low : low + 3], three) for low in range(0, 18, 3)]
    for seed in range(4):
        with adopt(
            memory / f"{tmp_path.name}-{seed}", policy(ri.CorSplit(3, 2)), ri.Published.from_groups([past])
        ) as s:
            rng = np.random.default_rng(seed)
            here = {name: three[n % 3] for n, name in enumerate(names) if rng.random() < 0.7}
            here |= {f"r{n}": three[n % 3] for n in range(9)}
            table = pl.DataFrame({"person": list(here), "age": range(len(here)), "illness": list(here.values())})
            s.publish(table, seed=seed, allow=["counterfeit"], reason="so it is here")
            assert s.private.held_back(2).height == 0
            assert ri.guarantees.HistoricallySafe(3, 2).check(s.published()).holds
            for _, members in s.private.members(2).group_by("group"):
                people = set(members["person"].drop_nulls())
                most = max(len(people & set(then)) for then, _ in past)
                assert not members.height - 2 < most < members.height


def test_a_larger_n_than_before_is_refused_later(folder: Path) -> None:
    with ri.open(folder, policy(ri.CorSplit(3, 2))) as series:
        series.publish(people(evenly(9)))
        series.amend(policy(ri.CorSplit(3, 1)), "less")
        series.publish(people(evenly(9, first=3)))
        series.amend(policy(ri.CorSplit(3, 2)), "more again")
        with pytest.raises(Unprotected, match="n = 2 is more than the n = 1 of an earlier release"):
            series.publish(people(evenly(9, first=6)))


# kernels.hc_safety


def test_shared_counts_as_figure_6_does() -> None:
    rng = np.random.default_rng(5)
    table = new_table(8)
    answers = Counter[bool]()
    for _ in range(1500):
        rows, groups = int(rng.integers(1, 9)), int(rng.choice([1, 2, 4, 40, 2**32 - 2]))
        lists = [
            sorted({int(group) for group in rng.integers(0, groups, size=rng.integers(0, 6))}) for _ in range(rows)
        ]
        if rng.random() < 0.2:  # more of them than the table has room for
            lists = [sorted({*own, *range(100, 100 + int(rng.integers(40)))}) for own in lists]
        starts = np.cumsum([0, *map(len, lists)])
        past = np.array([group for own in lists for group in own], dtype=np.uint32)
        members = rng.permutation(rows)
        count = int(rng.integers(1, rows + 1))
        size = count + int(rng.choice([0, 0, 0, 1, 3]))
        n = int(rng.integers(1, size + 1))
        often = Counter(group for row in members[:count].tolist() for group in lists[row])
        unsafe = {group for group, times in often.items() if size - n < times < size}
        # Figure 6 looks at the largest overlap in each release only; here a group is of one release.
        found = shared(members, count, size, n, starts, past, table)
        assert found in unsafe if unsafe else found == -1
        answers[bool(unsafe)] += 1
        assert not table.keys.any()
        assert not table.counts.any()
        if unsafe:
            there = [at for at in range(count) if found in lists[members[at]]]
            words, used = rng.integers(2**64, size=3, dtype=np.uint64), np.zeros(1, dtype=np.int64)
            chosen = [one_of(members, count, found, starts, past, Draws(words, used)) for _ in range(5)]
            # As each word says, and the first of them when there are no words left.
            assert chosen == [*(there[int(word) % len(there)] for word in words), there[0], there[0]]
            assert used.tolist() == [5]
        for row in range(rows):
            for group in {*lists[row], 0, 3, 100}:
                assert was_in(row, group, starts, past) == (group in lists[row])
    assert min(answers.values()) > 200
