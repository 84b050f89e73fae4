"""Observed rates of values ruled out and of breaches: against probabilities worked out by hand, and each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from reissue_studies.riboni.rates import RATES, SENSITIVE, Rates, exact_rates, observed, rates, rehearsed, rotation
from reissue_studies.riboni.rates_counting import Secrets

import reissue as ri
from reissue.attacks import Correlation, Worlds
from reissue.errors import ParameterError
from reissue.methods import CorSplit, MInvariance
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.correlation.restriction import p_ct, p_hc, p_pb
from reissue.samples.census import census

TINY = Rates(people=120, m=(2, 3), p=(0.2,), L=(3,), paper=(4, 2, 0.1, 4), few=60, rounds=4, seed=5)


def series(*releases: str) -> tuple[Published, npt.NDArray[np.int64]]:
    """Groups are separated by "/"; people are called by their value and a number."""
    groups = [[group.split() for group in release.split("/")] for release in releases]
    view = Published.from_groups([[(group, [name[0] for name in group]) for group in release] for release in groups])
    assert view.people is not None
    return view, np.array([view.values.index(name[0]) for name in view.people])


def copies(several: int, *releases: str) -> tuple[Published, npt.NDArray[np.int64]]:
    """So many series side by side that have nobody in common."""

    def copied(release: str, at: int) -> str:
        return " ".join(name if name == "/" else f"{name}.{at}" for name in release.split())

    return series(*(" / ".join(copied(release, at) for at in range(several)) for release in releases))


def rows_of(frame: pl.DataFrame, lifespan: int) -> dict[str, dict[str, float]]:
    return {row["quantity"]: row for row in frame.filter(pl.col("lifespan") == lifespan).iter_rows(named=True)}


def near(row: dict[str, float], exact: float) -> bool:
    return abs(row["observed"] - exact) < 5 * row["standard_error"]


def test_rates_are_the_probabilities_of_a_pair_in_two_releases() -> None:
    p = 0.3
    found = observed(*copies(50, "a0 b0", "a1 b0"), p, np.random.default_rng(1), 40, worlds=True)
    assert found.schema == pl.Schema(RATES)
    once, twice = rows_of(found, 1), rows_of(found, 2)
    # a0 and a1 have the same value, and b0 the other: whoever is compromised exposes everybody.
    either = 1 - (1 - p) ** 2
    exact = {"ct": p, "hc": p, "either": either, "breach": either, "cascade": either, "closure": either}
    assert all(near(once[quantity], chance) for quantity, chance in exact.items())
    assert near(once["worlds"], either)
    # b0 is in both groups, so that no set is correlated with one of his.
    assert near(twice["ct"], either)
    assert twice["hc"]["observed"] == twice["hc"]["formula"] == 0
    assert near(twice["breach"], either)
    assert all(near(twice[quantity], either) for quantity in ("cascade", "closure", "worlds"))
    # The formulas are those of everybody's lifespan and smallest set, or of the smallest set of anybody.
    assert once["ct"]["formula"] == pytest.approx(p_ct(p, 1))
    assert once["hc"]["formula"] == pytest.approx(p_hc(p, 1, 2, 1))
    assert once["breach"]["formula"] == pytest.approx(p_pb(p, 1, 2, 1))
    assert twice["breach"]["formula"] == pytest.approx(p_ct(p, 2))
    assert twice["hc"]["formula_with_degree"] == pytest.approx(p_hc(p, 2, 2, 1))
    # Lemma 2 has 0.2775 in place of 0.3; there are enough rounds to see it, and Lemma 1 stands.
    seen = rows_of(observed(*copies(1_000, "a0 b0", "a1 b0"), p, np.random.default_rng(2), 20), 1)
    assert seen["hc"]["exceeds"]
    assert not seen["ct"]["exceeds"]
    assert seen["breach"]["bound"] == pytest.approx(2 * p)


def test_rates_are_the_probabilities_of_sets_of_two() -> None:
    p = 0.4
    once = rows_of(observed(*copies(500, "a0 b0 c0", "a1 b0 c1"), p, np.random.default_rng(3), 20), 1)
    # Two values each; the one that b0 has is ruled out by the two on the other side together.
    assert near(once["ct"], p)
    assert near(once["hc"], p**2 / 2)
    assert near(once["either"], (p + 1 - (1 - p) * (1 - p**2)) / 2)
    assert near(once["breach"], p * (1 - (1 - p) * (1 - p**2)))
    assert once["breach"]["formula"] == pytest.approx(p_pb(p, 1, 3, 2))
    # ct-pvr to the end, for a0: b0 and c0 are compromised, or c0 and a1, which leaves b0 one value.
    assert near(once["cascade"], p**2 + (1 - p) * p**2)


def test_counterfeits_are_never_compromised_and_never_at_risk() -> None:
    view, truth = copies(500, "a0 b0", "a1 b0")
    made_up = view.values.index("b")
    numbers = [
        np.where(truth[release.members] == made_up, ~release.members, release.members) for release in view.releases
    ]
    faked = tuple(
        PublishedGroups(
            release.number, members, release.member_starts, release.values, release.counts, release.value_starts
        )
        for release, members in zip(view.releases, numbers, strict=True)
    )
    secrets = Secrets(Published(faked, view.values), truth)
    assert secrets.real.sum() == 1_000
    found = observed(Published(faked, view.values), truth, 0.3, np.random.default_rng(4), 10)
    assert found["lifespan"].unique().to_list() == [1]
    rows = rows_of(found, 1)
    assert rows["ct"]["observed"] == 0
    assert near(rows["hc"], 0.3)


def test_the_papers_example() -> None:
    view = Published.from_groups(
        [
            [
                (["Alice", "Betty", "Carl"], ["cancer", "bronchitis", "AIDS"]),
                (["Doris", "Erica", "Fiona"], ["cancer", "AIDS", "bronchitis"]),
            ],
            [
                (["Carl", "Doris", "Fiona"], ["AIDS", "cancer", "bronchitis"]),
                (["Erica", "Grace", "Hanna"], ["AIDS", "bronchitis", "cancer"]),
            ],
        ]
    )
    has = {"Alice": "cancer", "Betty": "bronchitis", "Carl": "AIDS", "Doris": "cancer", "Erica": "AIDS"}
    has |= {"Fiona": "bronchitis", "Grace": "bronchitis", "Hanna": "cancer"}
    assert view.people is not None
    names = view.people
    secrets = Secrets(view, np.array([view.values.index(has[name]) for name in names]))
    found = secrets.exposed(np.array([name == "Carl" for name in names]))
    assert {name for name, several in zip(names, found.values["ct"], strict=True) if several and name != "Carl"} == {
        "Alice", "Betty", "Doris", "Fiona",
    }  # fmt: skip
    assert [name for name, several in zip(names, found.values["hc"], strict=True) if several == 2] == ["Erica"]
    assert [name for name, breach in zip(names, found.people["breach"], strict=True) if breach] == ["Erica"]
    assert not any(found.people["cascade"][names.index(name)] for name in names if name != "Carl")


def test_what_follows_to_the_end_is_what_the_attacks_find_and_is_true() -> None:
    rng = np.random.default_rng(6)
    pool = census(400, sensitive=SENSITIVE, seed=6)
    for method in (MInvariance(2), CorSplit(3, 2)):
        view, truth = rehearsed(method, rotation(pool, people=100, L=4, releases=6, seed=6), 6)
        secrets = Secrets(view, truth)
        people = secrets.found.where.people
        for p in (0.05, 0.2):
            compromised = secrets.real & (rng.random(people.size) < p)
            found = secrets.exposed(compromised, worlds=True)
            known = {person: view.values[truth[person]] for person in people[compromised].tolist()}
            knowledge = ri.Knowledge(compromised=known)
            for quantity, attack in (("closure", Correlation()), ("worlds", Worlds(seconds=None))):
                certain = attack.run(view, knowledge).certain
                assert set(people[found.people[quantity] & found.at_risk].tolist()) == set(certain)
                assert all(view.values.index(value) == truth[int(person)] for person, value in certain.items())
            exposed = {quantity: who & found.at_risk for quantity, who in found.people.items()}
            # Each sees what the one before sees.
            for weaker, stronger in (("breach", "closure"), ("cascade", "closure"), ("closure", "worlds")):
                assert not np.any(exposed[weaker] & ~exposed[stronger])
            assert set(people[exposed["cascade"]].tolist()) == cascade(view, truth, set(known)) - set(known)


def cascade(view: Published, truth: npt.NDArray[np.int64], known: set[int | str]) -> set[int | str]:
    """Who is known in the end when all who are alone with a value in a group are, over and over; with plain sets."""
    groups: list[tuple[list[int], dict[int, int]]] = []
    for release in view.releases:
        for at in range(release.group_count):
            shown = slice(*release.value_starts[at : at + 2])
            counts = dict(zip(release.values[shown].tolist(), release.counts[shown].tolist(), strict=True))
            groups.append((release.members[slice(*release.member_starts[at : at + 2])].tolist(), counts))
    left: dict[int, set[int]] = {}
    for members, counts in groups:
        for person in members:
            left[person] = left.get(person, set(counts)) & set(counts)
    known = {*known}
    for name in known:
        left[int(name)] = {int(truth[int(name)])}
    while True:
        before = len(known)
        for members, counts in groups:
            for value, often in counts.items():
                have = [person for person in members if left[person] == {value}]
                if len(have) == often:
                    for person in set(members) - set(have):
                        left[person].discard(value)
        known |= {person for person, values in left.items() if person >= 0 and len(values) == 1}
        if len(known) == before:
            return known


def test_rotation_keeps_everybody_who_comes_in_for_a_whole_stay() -> None:
    pool = census(200, seed=1)
    states = list(rotation(pool, people=60, L=3, releases=6, seed=1))
    assert [state.height for state in states] == [60] * 6
    stays = pl.concat(state.select("person").with_columns(at=pl.lit(at)) for at, state in enumerate(states))
    by_person = stays.group_by("person").agg(pl.len(), first=pl.col("at").min(), last=pl.col("at").max())
    inside = by_person.filter((pl.col("first") > 0) & (pl.col("last") < 5))
    assert inside.height == 40
    assert set(inside["len"]) == {3}
    assert (by_person["last"] - by_person["first"] + 1 == by_person["len"]).all()
    with pytest.raises(ParameterError, match="'people' parameter of rotation"):
        rotation(pool, people=60, L=3, releases=50)


def test_rates_of_a_small_study() -> None:
    steps: list[str] = []
    found = rates(TINY, progress=steps.append)
    assert len(steps) == 2 + 1 + 3 + 1 + 3
    assert found.columns[:6] == ["method", "m", "n", "p", "L", "quantity"]
    assert found.equals(rates(TINY))
    assert found["complete"].all()
    assert not found.filter(pl.col("quantity") == "ct")["exceeds"].any()
    breach = found.filter((pl.col("quantity") == "breach") & (pl.col("L") == 3))
    for m in TINY.m:
        control = breach.filter((pl.col("method") == "MInvariance") & (pl.col("m") == m))["observed"].item()
        safest = breach.filter((pl.col("m") == m) & (pl.col("n") == m))["observed"].item()
        assert control > safest
    paper = found.filter(pl.col("m") == 4)
    assert paper.select("method", "n", "p", "L").unique(maintain_order=True).rows() == [
        ("MInvariance", None, 0.1, 4),
        ("CorSplit", 2, 0.1, 4),
        ("CorSplit, combinations", 2, 0.1, 4),
    ]
    exact = exact_rates(TINY)
    assert set(exact["quantity"]) == {*found["quantity"], "worlds"}
    wide = exact.pivot("quantity", index=["method", "m", "n", "p"], values="observed")
    assert (wide["breach"] <= wide["closure"]).all()
    assert (wide["closure"] <= wide["worlds"]).all()


def test_what_does_not_fit_is_refused() -> None:
    view, truth = series("a0 b0", "a1 b0")
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="'p' parameter of observed must be a number above 0 and below 1"):
        observed(view, truth, 1.0, rng)
    with pytest.raises(ParameterError, match="'rounds' parameter of observed must be a whole number of at least 2"):
        observed(view, truth, 0.1, rng, 1)
    with pytest.raises(ParameterError, match="true values of 1 person are missing"):
        observed(view, truth[:-1], 0.1, rng)
    with pytest.raises(ParameterError, match="4 memberships with a true value that the group does not publish"):
        observed(view, 5 - truth, 0.1, rng)
    with pytest.raises(ParameterError, match="2 memberships"):
        observed(view, 1 - truth[[0, 0, 0]], 0.1, rng)
    several = Published.from_groups([[(["x", "y"], ["a"])]], single=False)
    with pytest.raises(ParameterError, match="every member is known"):
        observed(several, truth, 0.1, rng)
    with pytest.raises(ParameterError, match="3 parameters of Rates do not fit") as refused:
        Rates(m=(1,), p=(0.0,), L=())
    assert len(refused.value.problems) == 3
