"""Likelihood against brute force: all sets of a design, all ways to give a group's values out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks import Likelihood, Limits
from reissue.attacks.likelihood import likelihood_evidence
from reissue.attacks.likelihood.likelihood_findings import difference, wilson
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.model.sets import OTHERS
from reissue.samples.census import census
from tests.profiles import seeds
from tests.published_sets import designs_of, view_of_sets

SHARES = [0.3, 0.25, 0.2, 0.15, 0.1]
M = 3


# Sets


def sampford(shares: list[float], m: int) -> dict[tuple[int, ...], float]:
    """Sampford's design, from its definition."""
    pi = [m * share for share in shares]
    weights = {
        chosen: prod(pi[v] / (1 - pi[v]) for v in chosen) * sum(1 - pi[v] for v in chosen)
        for chosen in combinations(range(len(shares)), m)
    }
    return {chosen: weight / sum(weights.values()) for chosen, weight in weights.items()}


def by_value(design: dict[tuple[int, ...], float], value: int, chosen: tuple[int, ...]) -> float:
    """P(set | value)."""
    every = sum(chance for some, chance in design.items() if value in some)
    return design[chosen] / every if value in chosen else 0.0


def chances(rng: np.random.Generator, rows: int, values: int) -> Any:
    drawn = rng.dirichlet(np.full(values, 0.7), rows) + 1e-4
    return drawn / drawn.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_posteriors_of_sets_are_those_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    design = sampford(SHARES, M)
    every = list(design)
    people = {person: every[rng.integers(len(every))] for person in range(12)}
    frame = pl.DataFrame({"age": list(range(12))})
    view = view_of_sets([people], designs_of([SHARES], M, None), region=[frame])
    expects = chances(rng, 12, 5)
    found = Likelihood(model=lambda quasi: expects).run(view)
    told = {(row["person"], row["value"]): row["probability"] for row in found.posteriors.iter_rows(named=True)}
    for person, chosen in people.items():
        joint = [expects[person, v] * by_value(design, v, chosen) for v in range(5)]
        for v in chosen:
            assert told[person, "abcde"[v]] == pytest.approx(joint[v] / sum(joint), abs=1e-12)
        assert sum((person, name) in told for name in "abcde") == M
    assert set(found.posteriors["kind"]) == {"sampled"}


def test_posteriors_of_values_with_several_slots() -> None:
    """Two of four slots for a frequent value: P(S | v) = P(S) slots / (m p)."""
    shares = [0.4, 0.2, 0.16, 0.14, 0.1]
    designs = designs_of([shares], 4, None, {0: 2})
    people = {0: (0, 0, 1, 2), 1: (1, 2, 3, 4)}
    view = view_of_sets([people], designs, region=[pl.DataFrame({"age": [1, 2]})])
    expects = np.array([[0.1, 0.5, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2]])
    found = Likelihood(model=lambda quasi: expects).run(view)
    told = {(row["person"], row["value"]): row["probability"] for row in found.posteriors.iter_rows(named=True)}
    first = [2 * 0.1 / 0.4, 0.5 / 0.2, 0.2 / 0.16]
    for at, name in enumerate("abc"):
        assert told[0, name] == pytest.approx(first[at] / sum(first), abs=1e-12)
    second = [1 / 0.2, 1 / 0.16, 1 / 0.14, 1 / 0.1]
    for at, name in enumerate("bcde"):
        assert told[1, name] == pytest.approx(second[at] / sum(second), abs=1e-12)


def test_whoever_expects_the_shares_learns_nothing() -> None:
    people = dict(enumerate(combinations(range(5), M)))
    frame = pl.DataFrame({"sex": ["f", "m"] * 5})
    view = view_of_sets([people], designs_of([SHARES], M, None), region=[frame])
    law = dict(zip("abcde", SHARES, strict=True))
    found = Likelihood(model={"f": law, "m": law}, given=["sex"]).run(view)
    assert found.posteriors["probability"].to_numpy() == pytest.approx(1 / M, abs=1e-12)
    judged = found.judge(Limits(Fraction(1, M)))
    assert (judged.status, judged.count) == ("undecided", 0)


def test_chances_by_cell_are_looked_up_in_the_cell() -> None:
    people = {0: (0, 1, 2), 1: (0, 1, 2)}
    frame = pl.DataFrame({"sex": ["f", "m"], "age": [30, 30]})
    view = view_of_sets([people], designs_of([SHARES], M, None), region=[frame])
    never = {"a": 0.0, "b": 0.5, "c": 0.2, "d": 0.2, "e": 0.1}
    cells = {("f", 30): never, ("m", 30): dict(zip("abcde", SHARES, strict=True))}
    found = Likelihood(model=cells, given=["sex", "age"]).run(view)
    told = {(row["person"], row["value"]): row["probability"] for row in found.posteriors.iter_rows(named=True)}
    assert (0, "a") not in told
    assert told[0, "b"] == pytest.approx((0.5 / 0.25) / (0.5 / 0.25 + 0.2 / 0.2), abs=1e-12)
    assert told[1, "a"] == pytest.approx(1 / 3, abs=1e-12)


# Groups


def all_ways(weights: Any, values: list[int]) -> Any:
    """For each member and value the share of all ways to give the values out, each as likely as its product."""
    size, width = weights.shape
    found = np.zeros((size, width))
    for order in permutations(values):
        weight = prod(weights[member, value] for member, value in enumerate(order))
        for member, value in enumerate(order):
            found[member, value] += weight
    return found / found.sum(axis=1, keepdims=True)


def group_of(rng: np.random.Generator, size: int, values: int) -> tuple[Published, list[int], pl.DataFrame]:
    held = [*range(min(values, size)), *rng.integers(0, min(values, size), max(0, size - values)).tolist()]
    names = [f"p{at}" for at in range(size)]
    view = Published.from_groups([[(names, ["abcdef"[value] for value in held])]])
    return view, held, pl.DataFrame({"person": names, "age": range(size)})


@pytest.mark.parametrize("seed", seeds(12, 120))
def test_groups_of_up_to_six_are_those_of_all_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    view, held, ages = group_of(rng, size, int(rng.integers(1, 7)))
    expects = chances(rng, size, len(view.values))
    found = Likelihood(model=lambda quasi: expects, people=ages).run(view)
    expected = all_ways(expects / expects.mean(axis=0), held)
    told = found.posteriors.sort("person", "value")["probability"].to_numpy().reshape(size, -1)
    assert told == pytest.approx(expected, abs=1e-12)


def test_scaling_is_an_approximation_that_is_near_in_large_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled, and not summed: off by a tenth in groups of six, by a fiftieth where each value is there ten times."""
    rng = np.random.default_rng(5)
    off = {}
    for size, values in ((6, 6), (30, 3)):
        view, _, ages = group_of(rng, size, values)
        expects = chances(rng, size, len(view.values))
        attack = Likelihood(model=lambda quasi, said=expects: said, people=ages)
        summed = attack.run(view).posteriors.sort("person", "value")
        with monkeypatch.context() as patched:
            patched.setattr(likelihood_evidence, "STATES", 1)
            found = attack.run(view)
            scaled = found.posteriors.sort("person", "value")
        assert any("approximated" in one for one in found.undecided)
        away = np.abs(summed["probability"].to_numpy() - scaled["probability"].to_numpy()).max()
        sums = scaled.group_by("value").agg(pl.col("probability").sum()).sort("value")["probability"].to_numpy()
        held = np.bincount(view.releases[0].values, view.releases[0].counts)
        assert sums == pytest.approx(held, rel=1e-3)
        off[size] = away
    assert 1e-4 < off[30] < 0.02 < off[6] < 0.2


def test_nothing_is_known_of_counterfeits() -> None:
    """A group of two people and a counterfeit: its row of the matrix is ones."""
    view = Published.from_groups([[(["a", "b", "c"], ["x", "y", "z"])]])
    release = view.releases[0]
    made = replace(release, members=np.array([0, 1, -1]), quasi=pl.DataFrame({"age": [1, 2, None]}))
    view = replace(view, releases=(made,), people=None)
    expects = np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6], [1 / 3, 1 / 3, 1 / 3]])
    found = Likelihood(model=lambda quasi: expects).run(view)
    weights = expects / expects.mean(axis=0)
    weights[2] = 1.0
    told = found.posteriors.sort("person", "value")["probability"].to_numpy().reshape(2, 3)
    assert told == pytest.approx(all_ways(weights, [0, 1, 2])[:2], abs=1e-12)


def test_compromised_people_are_taken_out_of_their_group() -> None:
    view = Published.from_groups([[(["a", "b", "c"], ["x", "y", "z"])]])
    ages = pl.DataFrame({"person": ["a", "b", "c"], "age": [1, 2, 3]})
    law = {"x": 0.5, "y": 0.3, "z": 0.2}
    attack = Likelihood(model={1: law, 2: law, 3: {"x": 0.1, "y": 0.1, "z": 0.8}}, given="age", people=ages)
    found = attack.run(view, ri.Knowledge(compromised={"a": "x"}))
    told = {(row["person"], row["value"]): row["probability"] for row in found.posteriors.iter_rows(named=True)}
    assert {person for person, _ in told} == {"b", "c"}
    assert told["c", "z"] == pytest.approx(0.3 * 0.8 / (0.3 * 0.8 + 0.2 * 0.1), abs=1e-12)


# Learning


def published(folder: Path, rows: int, method: Any, form: str, table: pl.DataFrame | None = None) -> tuple[Any, Any]:
    """A release of the census, and who has which occupation, by number."""
    table = census(rows, seed=1) if table is None else table
    quasi = {"age": ri.Numeric(), "gender": ri.Categorical(), "education": ri.Categorical()}
    schema = ri.Schema("person", quasi, "occupation")
    with ri.open(folder, ri.Policy(schema, method, form=form)) as series:
        series.publish(table.drop("birthplace"), seed=1)
        view = series.published(quasi=True)
        numbers = range(rows + 1) if view.sets else view.releases[0].members.tolist()
        people = [one for one in numbers if one in {*(view.sets[0].people if view.sets else view.releases[0].members)}]
        known = {number: series.private.name_of(number) for number in people}
    held = dict(zip(table["person"].to_list(), table["occupation"].to_list(), strict=True))
    return view, {number: held[int(name)] for number, name in known.items()}


SETS = ri.Alternatives(m=5, reference=dict(census(50_000, seed=3)["occupation"].value_counts().iter_rows()))
"""By shares that are those of the model that the census is drawn from, or nearly so."""


def test_what_is_learnt_from_sets_helps_and_is_not_more_than_a_model_from_elsewhere(tmp_path: Path) -> None:
    view, truth = published(tmp_path / "s", 3_000, SETS, "alternatives")
    found = Likelihood().run(view)
    scored, told = found.scored(truth).row(0, named=True), found.releases.row(0, named=True)
    elsewhere = Likelihood(model=census(3_000, seed=2).drop("person", "birthplace")).run(view)
    best = elsewhere.scored(truth).row(0, named=True)
    # One in five by the set alone; the most frequent occupation is one in twelve.
    assert scored["right_low"] > 1 / 5
    assert best["right"] > scored["right"] > scored["without"] > 0.08
    assert best["advantage"] > 0.1
    assert abs(told["expected"] - scored["right"]) < 0.05
    assert abs(elsewhere.releases["expected"][0] - best["right"]) < 0.05
    judged = elsewhere.judge(Limits(Fraction(1, 5)), most=3)
    assert judged.status == "beyond"
    assert len(judged.findings) == 3
    assert {one.kind for one in judged.findings} == {"sampled"}
    assert "proves nothing" in judged.words
    calibrated = elsewhere.calibration(truth, bins=5)
    assert calibrated["entries"].sum() == 15_000
    off = (calibrated["probability"] - calibrated["share"]).abs()
    assert float((off * calibrated["entries"]).sum()) / 15_000 < 0.03


def test_what_is_learnt_from_groups_is_little_and_a_model_from_elsewhere_tells_much(tmp_path: Path) -> None:
    view, truth = published(tmp_path / "s", 2_000, ri.MInvariance(m=5), "anatomised")
    learnt = Likelihood().run(view).scored(truth).row(0, named=True)
    elsewhere = (
        Likelihood(model=census(20_000, seed=2).drop("person", "birthplace")).run(view).scored(truth).row(0, named=True)
    )
    assert learnt["right"] > 1 / 5
    assert elsewhere["right_low"] > learnt["right_high"] + 0.05
    assert elsewhere["advantage"] > 0.1


def test_generalised_groups_are_attacked_by_who_knows_exact_quasi_identifiers(tmp_path: Path) -> None:
    view, truth = published(tmp_path / "s", 1_000, ri.Mondrian(k=5, l=3), "generalised")
    assert view.releases[0].quasi is not None
    found = Likelihood(model=census(5_000, seed=2).drop("person", "birthplace")).run(view)
    scored = found.scored(truth).row(0, named=True)
    assert scored["right_low"] > scored["without_high"]


def test_regions_of_sets_keep_nobody_from_knowing_exact_quasi_identifiers(tmp_path: Path) -> None:
    """Whoever knows people exactly, and has a table of others, is as right as if nothing were generalised."""
    table = census(2_000, seed=1).drop("birthplace")
    others = census(3_000, seed=2).drop("person", "birthplace")
    quasi = {"age": ri.Numeric(), "gender": ri.Categorical(), "education": ri.Categorical()}
    method = replace(SETS, k=50)
    with ri.open(tmp_path / "s", ri.Policy(ri.Schema("person", quasi, "occupation"), method)) as series:
        series.publish(table, seed=1)
        view = series.published(quasi=True)
        named = [int(series.private.name_of(number)) for number in view.sets[0].people.tolist()]
    people = pl.DataFrame({"id": named, "number": view.sets[0].people}).join(table, left_on="id", right_on="person")
    truth = dict(people.select("number", "occupation").iter_rows())
    known = people.select("number", *quasi).rename({"number": "person"})
    found = Likelihood(model=others, people=known).run(view)
    assert found.scored(truth)["right_low"][0] > 0.3
    with pytest.raises(ri.errors.ParameterError, match="lacks 'age_low'"):
        Likelihood(model=others, value="occupation").run(view)


def test_nothing_is_learnt_where_there_is_nothing_to_learn(tmp_path: Path) -> None:
    table = census(3_000, seed=1)
    shuffled = table.with_columns(table["occupation"].shuffle(seed=4))
    view, _ = published(tmp_path / "s", 3_000, SETS, "alternatives", shuffled)
    found = Likelihood().run(view)
    told = found.releases.row(0, named=True)
    assert told["power"] < 0.3
    assert told["expected"] < 0.27
    judged = found.judge(Limits(Fraction(1, 5)))
    assert judged.status == "undecided"
    assert "do not bear the model out" in judged.words


def test_nobodys_own_row_teaches_the_model_that_is_applied_to_them() -> None:
    """With another set for one person, what the model says of everybody in their fold stays as it is."""
    rng = np.random.default_rng(2)
    every = list(combinations(range(5), M))
    sets = {person: every[rng.integers(len(every))] for person in range(60)}
    frame = pl.DataFrame({"age": rng.integers(20, 60, 60), "sex": rng.choice(["f", "m"], 60)})

    def alone(people: dict[int, tuple[int, ...]]) -> tuple[Any, Any]:
        view = view_of_sets([people], designs_of([SHARES], M, None), region=[frame])
        judged = Likelihood(folds=3, calibrated=False).run(view)._judged[0]
        return judged.alone_chance, judged.trained.fold

    before, fold = alone(sets)
    after, _ = alone({**sets, 7: next(one for one in every if one != sets[7])})
    mine = fold == fold[7]
    assert before[mine] == pytest.approx(after[mine], abs=0)
    assert (before[~mine] != after[~mine]).any()


# Figures


def test_wilson_is_wilsons_interval() -> None:
    """8 of 10, by hand: z = 1.96, middle (0.8 + 0.192) / 1.384, reach 1.96 sqrt(0.016 + 0.0096) / 1.384."""
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("one", "other"), [(0.25, 0.05), (0.1, 0.1), (0.15, 0.01)])
def test_the_interval_of_an_advantage_holds_the_truth(one: float, other: float) -> None:
    """Over all outcomes for 40 people: `one` have only the one guess right, `other` only the other."""
    covered = 0.0
    for first in range(41):
        for second in range(41 - first):
            ways = comb(40, first) * comb(40 - first, second)
            chance = ways * one**first * other**second * (1 - one - other) ** (40 - first - second)
            low, high = difference(first, second, 40)
            covered += chance * (low <= one - other <= high)
    assert 0.93 < covered < 0.995


def test_figures_are_those_of_the_last_release_and_each_release_has_its_own() -> None:
    """Two people, of whom one leaves: by hand."""
    law = {"a": 0.6, "b": 0.1, "c": 0.1, "d": 0.1, "e": 0.1}
    frame = pl.DataFrame({"age": [1, 1]})
    view = view_of_sets(
        [{0: (0, 1, 2), 1: (1, 2, 3)}, {1: (0, 3, 4)}],
        designs_of([SHARES], M, None),
        region=[frame, frame[:1]],
    )
    found = Likelihood(model={1: law}, given="age").run(view)
    first = (0.6 / 0.3) / (0.6 / 0.3 + 0.1 / 0.25 + 0.1 / 0.2)
    second = (0.1 / 0.15) / (0.1 / 0.25 + 0.1 / 0.2 + 0.1 / 0.15)
    last = (0.6 / 0.3) / (0.6 / 0.3 + 0.1 / 0.15 + 0.1 / 0.1)
    assert found.releases["expected"].to_list() == pytest.approx([(first + second) / 2, last])
    assert found.releases["without"].to_list() == pytest.approx([0.6, 0.6])
    assert found.risks["probability"].to_list() == pytest.approx([first, last])
    scored = found.scored({0: "a", 1: "d"})
    assert scored["right"].to_list() == [1.0, 0.0]
    assert scored["without"].to_list() == [0.5, 0.0]
    # One of two people is told right by their row alone: 1.96 sqrt((1 + 1) - 1/4) / 4 to each side of 1/4.
    assert scored["advantage"].to_list() == [0.5, 0.0]
    assert scored["advantage_low"][0] == pytest.approx(0.25 - 1.959964 * sqrt(1.75) / 4, abs=1e-6)
    assert scored["advantage_high"][0] == pytest.approx(0.25 + 1.959964 * sqrt(1.75) / 4, abs=1e-6)
    assert found.scored(pl.DataFrame({"person": [1, 1], "value": ["d", "a"], "release": [1, 2]}))[
        "right"
    ].to_list() == [
        1.0,
        1.0,
    ]
    table = found.tables(Limits(Fraction(1, 2)))["What is likely for whom"]
    assert table["above"].to_list() == [1, 1]
    assert table["above_twice"].to_list() == [0, 0]
    witness = found.witnesses[0].text(view)
    assert "person 0 has one of a, b and c" in witness
    assert "By the release alone a has probability 0.3333" in witness


# In an audit


def test_it_is_in_no_audit_that_does_not_name_it(tmp_path: Path) -> None:
    assert "Likelihood" not in ri.attacks.default_attacks()
    view, _ = published(tmp_path / "s", 1_000, SETS, "alternatives")
    assert "Likelihood" not in ri.audit(view, limit="1/5").judgements
    report = ri.audit(view, limit="1/5", attacks=["Tracking", "Likelihood"])
    assert report.judgements["Tracking"].status == "within"
    assert report.judgements["Likelihood"].status in ("beyond", "undecided")
    assert not report.passed
    page = report.to_html(tmp_path / "report.html").read_text()
    assert "What is likely for whom (Likelihood)" in page
    assert report.to_dict()["sections"][0]["rows"][0]["people"] == 1_000


def test_an_audit_of_a_series_of_groups_brings_quasi_identifiers(tmp_path: Path) -> None:
    published(tmp_path / "s", 500, ri.MInvariance(m=4), "anatomised")
    with ri.open(tmp_path / "s") as series:
        report = series.audit(attacks=["Likelihood"])
        assert series.published().releases[0].quasi is None
    assert report.runs[0].findings is not None
    assert report.sections[0][0] == "Likelihood"
    assert report.verdict.startswith("Not passed")


def test_it_says_what_the_view_lacks() -> None:
    view = Published.from_groups([[(["a", "b"], ["x", "y"])]])
    with pytest.raises(ParameterError, match="this view does not have them"):
        Likelihood().run(view)
    report = ri.audit(view, limit="1/2", attacks=["Likelihood"])
    assert report.judgements["Likelihood"].status == "undecided"
    with pytest.raises(ParameterError, match="lacks 1 person of release 1"):
        Likelihood(people=pl.DataFrame({"person": ["a"], "age": [1]})).run(view)
    with pytest.raises(ParameterError, match="one group only"):
        Likelihood(people=pl.DataFrame({"person": ["a", "b"], "age": [1, 2]})).run(view)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"model": "guessed"}, "'model' parameter"),
        ({"model": {}}, "'given' parameter"),
        ({"given": []}, "'given' parameter"),
        ({"folds": 1}, "'folds' parameter"),
        ({"smoothing": 0}, "'smoothing' parameter"),
        ({"seed": -1}, "'seed' parameter"),
        ({"calibrated": 1}, "'calibrated' parameter"),
        ({"value": 3}, "'value' parameter"),
    ],
)
def test_parameters_are_looked_at(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        Likelihood(**parameters)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"given": ["weight"]}, "which the releases do not have"),
        ({"model": {"f": {"a": 1.0}}, "given": "sex"}, "lacks 1 cell of 2"),
        ({"model": {"f": {"a": 1.0}, "m": {"a": -1.0}}, "given": "sex"}, "5 chances for each row"),
        ({"model": lambda quasi: np.ones((1, 5))}, "5 chances for each row"),
        ({"model": lambda quasi: pl.DataFrame({"a": [1.0, 1.0]})}, "lacks a column for 4 values"),
        ({"model": pl.DataFrame({"sex": ["f"]})}, "0 columns beside the quasi-identifiers"),
        ({"model": pl.DataFrame({"sex": ["f"], "illness": ["a"], "size": [1]})}, "it is not plain"),
        ({"model": pl.DataFrame({"sex": ["f"], "illness": ["a"]}), "value": "size"}, "'value' says"),
        ({"model": pl.DataFrame({"sex": ["f"], "illness": ["z"]})}, "no value that the releases show"),
        ({"model": pl.DataFrame({"sex": ["x"], "illness": ["a"]})}, "No cell of the table"),
        ({"model": pl.DataFrame({"age": [1], "illness": ["a"]}), "value": "illness"}, "lacks 'sex'"),
    ],
)
def test_models_that_do_not_fit_are_refused(parameters: dict[str, Any], told: str) -> None:
    frame = pl.DataFrame({"sex": ["f", "m"]})
    view = view_of_sets([{0: (0, 1, 2), 1: (1, 2, 3)}], designs_of([SHARES], M, None), region=[frame])
    with pytest.raises(ParameterError, match=told):
        Likelihood(**parameters).run(view)


def test_values_that_are_all_written_in_another_way_are_not_all_rare() -> None:
    """Rare values stand under a common name, and so do values of other people that have no name of their own."""
    others = designs_of([SHARES], M, None)
    labels = (*others.labels[:-1], OTHERS)
    frame = pl.DataFrame({"sex": ["f", "m"]})
    view = view_of_sets([{0: (0, 1, 2), 1: (1, 2, 4)}], replace(others, labels=labels), region=[frame])
    known = pl.DataFrame({"sex": ["f", "m"] * 20, "illness": [str(labels[0]), "rare"] * 20})
    assert Likelihood(model=known).run(view).releases["expected"][0] > 0
    with pytest.raises(ParameterError, match="no value that the releases show"):
        Likelihood(model=known.with_columns(illness=pl.lit("A"))).run(view)
