"""Counts from sets: right on average, and exactly everybody when all values are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.arrays.types import Floats
from reissue.model.design import Design
from reissue.publishing.series import draft
from reissue.reasoning.alternatives import scoring
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.scoring import Scores, bounds, effects
from reissue.reasoning.alternatives.set_probabilities import all_sets, design_effects, probability, probability_given

SHARES = {"asthma": 0.15, "flu": 0.2, "fracture": 0.15, "gout": 0.1, "heart": 0.15, "migraine": 0.15, "ulcer": 0.1}
FREQUENT = {"other": 0.34, "asthma": 0.12, "flu": 0.12, "gout": 0.11, "heart": 0.11, "migraine": 0.1, "ulcer": 0.1}
DESIGNS = {
    "plain": design_of([0.2, 0.25, 0.15, 0.1, 0.18, 0.12], 3, dict.fromkeys(range(6), 1)),
    "slots": design_of([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], 4),
    "harmless": design_of([0.5, 0.1, 0.1, 0.1, 0.1, 0.1], 3, {0: 3}),
    "two frequent": design_of([0.3, 0.28, 0.1, 0.1, 0.1, 0.12], 4),
}


def scores_of(design: Design, sets: Any, wanted: Floats) -> Floats:
    weights = Scores(design).weights(wanted)
    return np.array([weights[np.unique(row)].sum() for row in sets])


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())
def test_scores_expect_the_truth_over_all_sets(design: Design) -> None:
    """Every set there is, with its exact probability: 1 for whoever has the value and 0 for whoever has not."""
    sets = all_sets(design)
    for value in range(design.values):
        score = scores_of(design, sets, np.eye(design.values)[value])
        expected = [probability_given(design, sets, np.full(len(sets), true)) @ score for true in range(design.values)]
        assert expected == pytest.approx(np.eye(design.values)[value], abs=1e-12)
    assert scores_of(design, sets, np.ones(design.values)) == pytest.approx(np.ones(len(sets)))


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())
def test_design_effects_are_variances_of_scores(design: Design) -> None:
    sets, p = all_sets(design), design.shares
    chance = probability(design, sets)
    found = []
    for value in range(design.values):
        score = scores_of(design, sets, np.eye(design.values)[value])
        found.append((chance @ score**2 - p[value] ** 2) / (p[value] * (1 - p[value])))
    assert effects(design)[1] == pytest.approx(found)
    assert (effects(design)[1] >= bounds(design) * (1 - 1e-9)).all()


def test_many_values_need_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    design = design_of(rng.dirichlet(np.full(90, 2.0)), 6)
    wanted = (rng.random((90, 3)) < 0.3).astype(np.float64)
    dense, exact = Scores(design).weights(wanted), design_effects(design)
    monkeypatch.setattr(scoring, "MOST_DENSE", 10)
    assert Scores(design).weights(wanted) == pytest.approx(dense, abs=1e-10)
    assert Scores(design).weights(wanted[:, 0]) == pytest.approx(dense[:, 0], abs=1e-10)
    chosen, effect = effects(design)
    assert chosen.size == scoring.ASKED
    assert effect == pytest.approx(exact[chosen])


@pytest.mark.parametrize("dense", [10, 1_500])
def test_a_value_in_every_set_leaves_nothing_to_estimate(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "MOST_DENSE", dense)
    shares = np.array([1 / 3, *np.full(15, 2 / 45)])
    with pytest.raises(ri.errors.Infeasible, match="in every one"):
        Scores(design_of(shares, 3, {0: 1}))


def people(shares: Mapping[str, float], count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Illness goes with age, so that a count without a link would be wrong."""
    values, p = list(shares), np.array(list(shares.values()))
    age = rng.integers(20, 60, count)
    old = p * np.linspace(0.4, 1.6, p.size)
    drawn = [rng.choice(values, p=(old / old.sum() if one >= 40 else p)) for one in age]
    return pl.DataFrame(
        {"patient": np.arange(count), "age": age, "sex": rng.choice(["f", "m"], count), "illness": drawn}
    )


def policy(**parameters: Any) -> ri.Policy:
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
    )
    return ri.Policy(schema, ri.Alternatives(**parameters))


@pytest.mark.parametrize(
    ("shares", "parameters"),
    [
        (SHARES, {"m": 3, "limit": "2/3"}),
        (FREQUENT, {"m": 4, "limit": "1/2"}),
        (FREQUENT, {"m": 4, "harmless": ["other"], "limit": "1/2"}),
    ],
    ids=["plain", "slots", "harmless"],
)
def test_counts_are_right_on_average(shares: Mapping[str, float], parameters: dict[str, Any]) -> None:
    """Thirty drafts of one table: the mean of estimates is within four of its standard errors of the truth."""
    table = people(shares, 400, np.random.default_rng(5))
    rule = policy(reference=shares, **parameters)
    tables = [draft(table, rule, seed=seed).tables for seed in range(30)]
    old = table.filter(pl.col("age") >= 40)
    for value in ("asthma", "ulcer"):
        found = np.array([ri.estimate(one, {"illness": value, "age": (40, 60)}) for one in tables])
        truth = old.filter(pl.col("illness") == value).height
        assert abs(found.mean() - truth) < 4 * found.std(ddof=1) / np.sqrt(found.size)
    together = {"illness": ["asthma", "ulcer"], "age": (40, 60), "sex": "f"}
    found = np.array([ri.estimate(one, together) for one in tables])
    truth = old.filter(pl.col("illness").is_in(["asthma", "ulcer"]) & (pl.col("sex") == "f")).height
    assert abs(found.mean() - truth) < 4 * found.std(ddof=1) / np.sqrt(found.size)
    for one in tables[:3]:
        assert sum(ri.estimate(one, {"illness": value, "age": (40, 60)}) for value in shares) == pytest.approx(
            old.height
        )
        assert ri.estimate(one, {"illness": list(shares)}) == pytest.approx(400)
        assert ri.estimate(one, {"sex": "f"}) == table.filter(pl.col("sex") == "f").height


def test_releases_with_changes_versions_and_regions(tmp_path: Path) -> None:
    """A row counts by the design its set is from; with regions by the share of its region."""
    rng = np.random.default_rng(8)
    table = people(SHARES, 500, rng)
    other = {**SHARES, "flu": 0.1, "gout": 0.2}
    with ri.open(tmp_path / "clinic", policy(m=3, reference=SHARES, limit="2/3", change=0.3)) as series:
        first = series.publish(table)
        series.amend(policy(m=3, reference=other, limit="2/3", change=0.3), "newer shares")
        moved = rng.random(500) < 0.3
        values = np.where(moved, rng.choice(list(other), 500, p=list(other.values())), table["illness"].to_numpy())
        second = series.publish(table.with_columns(illness=pl.Series(values)))
        assert "design" in second.tables["table"].columns
        for release in (first, second):
            assert ri.estimate(release, {"illness": list(SHARES), "sex": "m"}) == pytest.approx(
                table.filter(pl.col("sex") == "m").height
            )
        found = ri.estimate(second, {"illness": "gout"})
        assert abs(found - np.count_nonzero(values == "gout")) < 6 * np.sqrt(500 * 0.2 * 4)
    regions = draft(table, policy(m=3, reference=SHARES, limit="2/3", k=20), seed=1).tables
    assert "age_low" in regions["table"].columns
    everyone = sum(ri.estimate(regions, {"illness": value, "age": (20, 39)}) for value in SHARES)
    assert everyone == pytest.approx(ri.estimate(regions, {"age": (20, 39)}))
    assert ri.estimate(regions, {"illness": list(SHARES), "age": (20, 59)}) == pytest.approx(500)


def test_cells_count_by_their_own_shares() -> None:
    table = people(SHARES, 3_000, np.random.default_rng(9))
    rule = policy(m=3, given=["sex"], epsilon=5.0, limit="2/3")
    made = draft(table, rule, seed=1).tables
    for sex in ("f", "m"):
        here = table.filter(pl.col("sex") == sex).height
        assert ri.estimate(made, {"illness": [*SHARES, "(other values)"], "sex": sex}) == pytest.approx(here)


def test_what_cannot_be_counted_is_said(tmp_path: Path) -> None:
    table = people(SHARES, 300, np.random.default_rng(2))
    made = draft(table, policy(m=3, reference=SHARES, limit="2/3"), seed=1).tables
    with pytest.raises(ri.errors.ParameterError, match="stand nowhere"):
        ri.estimate(made, {"illness": "measles"})
    with pytest.raises(ri.errors.ParameterError, match="no published column"):
        ri.estimate(made, {"design": 1})
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "sex": ri.Categorical()},
        sensitive="illness",
        permanent=["gout"],
    )
    rule = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", change=0.2))
    with ri.open(tmp_path / "clinic", rule) as series:
        first = series.publish(table)
        second = series.publish(table, allow=["same-state"], reason="so it is here")
    assert ri.estimate(first, {"illness": list(SHARES)}) == pytest.approx(300)
    assert ri.estimate(second, {"sex": "f"}) == table.filter(pl.col("sex") == "f").height
    with pytest.raises(ri.errors.Infeasible, match="permanent values"):
        ri.estimate(second, {"illness": "gout"})


def test_numbers_are_asked_for_by_ranges() -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame({"patient": np.arange(300), "age": rng.integers(20, 60, 300), "dose": rng.integers(1, 9, 300)})
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive={"dose": ri.Numeric()})
    shares = {str(dose): 1 / 8 for dose in range(1, 9)}
    made = draft(table, ri.Policy(schema, ri.Alternatives(m=3, reference=shares)), seed=1).tables
    low, high = ri.estimate(made, {"dose": (1, 4)}), ri.estimate(made, {"dose": (5, 8)})
    assert low + high == pytest.approx(300)
    assert abs(low - table.filter(pl.col("dose") <= 4).height) < 5 * np.sqrt(300 * 0.25 * 4)
