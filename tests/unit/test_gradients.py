"""Whether gradients survive, by hand and against plain weighing; and the sentence about it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds

import reissue as ri
from reissue.model.grouping import HELD_BACK, Changed, Grouping
from reissue.model.hierarchy import Hierarchy
from reissue.model.snapshot import Column, Labels, Leaves, Numbers
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.utility import Gradients, QueryError, SetUtility, Utility, Workload, measure
from reissue.utility.in_words import in_words
from reissue.utility.queries import Form
from reissue.utility.sizes_of_counts import with_errors

FORMS: tuple[Form, ...] = ("generalised", "anatomised")


def whole(name: str, codes: Any, low: int, high: int, missing: bool = False) -> Column:
    values = np.array([*([math.nan] if missing else []), *range(low, high + 1)])
    return Column(name, np.array(codes, dtype=np.uint8), Numbers(values, pl.Int64(), missing, float(low), float(high)))


# Twenty people: those of age 0, who are women, have "y", those of age 10, who are men, have "x".
AGE = whole("age", [0] * 10 + [10] * 10, 0, 10)
SEX = Column("sex", np.array([0] * 10 + [1] * 10, dtype=np.uint8), Labels(("woman", "man")))
VALUE = Column("value", np.array([1] * 10 + [0] * 10, dtype=np.uint8), Labels(("x", "y")))
ALIKE = Grouping(np.arange(20, dtype=np.int32) // 2, 10)
MIXED = Grouping(np.tile(np.arange(10, dtype=np.int32), 2), 10)
HALF = Grouping(np.array([0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 0, 1, 2, 3, 7, 7, 8, 8, 9, 9], dtype=np.int32), 10)
"""Four pairs of a woman and a man; the others are with their own kind."""


def figures(grouping: Grouping, form: Form) -> Gradients:
    return measure([AGE, SEX], VALUE, grouping, form=form).gradients


@pytest.mark.parametrize("form", FORMS)
def test_a_release_that_keeps_gradients_is_said_to(form: Form) -> None:
    found = figures(ALIKE, form)
    assert found.each.filter(column="age", value="x")["truth"].to_list() == [pytest.approx(0.1)]
    assert found.each.filter(column="sex", value="x")["truth"].abs().to_list() == [pytest.approx(1.0)]
    assert (found.sure, found.kept, found.turned, found.ratio) == (4, 4, 0, pytest.approx(1.0))
    assert found.coverage is None
    sentence = measure([AGE, SEX], VALUE, ALIKE, form=form).sentence
    assert sentence == "Gradients survive (4 of 4 keep their sign, at 1.00 of their size)."


@pytest.mark.parametrize("form", FORMS)
def test_a_release_that_destroys_gradients_is_said_to(form: Form) -> None:
    found = figures(MIXED, form)
    assert (found.sure, found.kept, found.turned) == (4, 0, 0)
    assert found.ratio == pytest.approx(0.0, abs=1e-12)
    asked = Workload(1, 0.25, count=200, seed=1)
    utility = measure([AGE, SEX], VALUE, MIXED, form=form, workload=asked)
    assert utility.sentence == (
        "This release is worth no more than the two marginals: 0 of 4 gradients are turned round, "
        "and 0.00 of their size is left."
    )


def test_what_is_left_of_a_slope_by_hand() -> None:
    # Anatomised: the men have "x" by 6 * 1 + 4 * 0.5 of 10, the women by 4 * 0.5 of 10.
    found = figures(HALF, "anatomised").each.filter(value="x")
    assert found["ratio"].to_list() == pytest.approx([0.6, 0.6])
    # Generalised: the 8 people of the pairs are anywhere from 0 to 10, which has the variance 10 and is independent of
    # their value; of the others 6 are at 0 and 6 at 10.
    found = figures(HALF, "generalised").each.filter(value="x")
    variance = (12 * 25 + 8 * 10) / 20
    assert found["released"][0] == pytest.approx(6 * 5 / 20 / variance)
    # The label "man" is the half of each pair's region: 6 + 2 of 6 + 4 have "x".
    assert found["ratio"][1] == pytest.approx(0.8 - 0.2)
    sentence = measure([AGE, SEX], VALUE, HALF, form="anatomised").sentence
    assert sentence == "Gradients are flattened (4 of 4 keep their sign, at 0.60 of their size)."


def test_values_that_are_replaced_turn_gradients_round() -> None:
    swapped = Grouping(ALIKE.group, 10, changed=Changed(np.arange(20), np.array([0] * 10 + [1] * 10, dtype=np.uint8)))
    found = figures(swapped, "generalised")
    assert (found.sure, found.turned, found.ratio) == (4, 4, pytest.approx(-1.0))
    assert "4 of 4 gradients are turned round" in measure([AGE, SEX], VALUE, swapped, form="generalised").sentence


def test_few_people_prove_no_gradient() -> None:
    few = [Column(column.name, column.codes[8:12], column.levels) for column in (AGE, SEX, VALUE)]
    utility = measure(few[:2], few[2], Grouping(np.zeros(4, dtype=np.int32), 1), form="anatomised")
    assert utility.gradients.sure == 0
    assert utility.gradients.lines() == []
    assert utility.sentence == "No gradient of the table is beyond chance, so that there is none to keep."


# Against plain weighing

TREE = Hierarchy.from_nested({"any": {"left": ["a", "b", "c"], "right": ["d", "e"]}})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_figures_are_those_of_the_table_that_a_release_stands_for(form: Form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, count = 240, 40
    value = rng.integers(0, 3, rows)
    near = np.clip(value * 3 + rng.integers(0, 6, rows), 0, 11)
    age = whole("age", np.where(rng.random(rows) < 0.1, 0, near + 1), 5, 16, missing=True)
    dose = Column("dose", near.astype(np.uint8), Numbers(np.arange(12) * 0.5, pl.Float64(), False, 0.0, 5.5))
    place = Column("place", ((value + rng.integers(0, 3, rows)) % 5).astype(np.uint8), Leaves(TREE))
    sex = Column("sex", ((value + rng.integers(0, 2, rows)) % 3).astype(np.uint8), Labels(("f", "m", "o")))
    quasi, values = [age, dose, place, sex], Column("value", value.astype(np.uint8), Labels(("x", "y", "z")))
    group = (np.argsort(np.argsort(near + rng.normal(0, 1.5, rows))) * count // rows).astype(np.int32)
    held = np.sort(rng.choice(rows, 12, replace=False))
    group[held] = HELD_BACK
    nobody = np.isin(np.arange(rows), rng.choice(np.setdiff1d(np.arange(rows), held), 9, replace=False))
    grouping = Grouping(group, count, held_back={"withheld": held})
    found = measure(quasi, values, grouping, form=form, counterfeit=nobody).gradients.each
    for column in quasi:
        true = [(int(column.codes[row]), 1.0, int(value[row]), 1.0) for row in np.flatnonzero(~nobody)]
        # Rows of the table that the release stands for: a code or a number, its weight, a value, its weight.
        shown = [part for number in range(count) for part in spread(column, value, group == number, form)]
        for code, name in enumerate("xyz"):
            line = found.filter(column=column.name, value=name)
            assert line["truth"][0] == pytest.approx(gradient(column, true, true, code)), column.name
            assert line["released"][0] == pytest.approx(gradient(column, true, shown, code)), column.name


Row = tuple[float, float, int, float]


def spread(column: Column, value: Any, inside: Any, form: Form) -> list[Row]:
    members = np.flatnonzero(inside)
    codes = [int(code) for code in column.codes[members]]
    if form == "anatomised":
        share = {int(v): float((value[members] == v).mean()) for v in np.unique(value[members])}
        return [(code, 1.0, v, weight) for code in codes for v, weight in share.items()]
    levels = column.levels
    if isinstance(levels, Numbers):
        there = [code for code in codes if not math.isnan(levels.values[code])]
        if not there:
            return []
        places: list[float] = list(range(min(there), max(there) + 1))
        if levels.dtype.is_float():
            # Evenly along the length: many points of equal weight, at the middle of small parts.
            low, high, parts = min(there), max(there), 20_000
            places = [low, high] if low == high else (low + (high - low) * (np.arange(parts) + 0.5) / parts).tolist()
    elif isinstance(levels, Labels):
        places = list(set(codes))
    else:
        labels = {"abc": [0, 1, 2], "de": [3, 4]}
        places = next((part for part in labels.values() if set(codes) <= set(part)), [0, 1, 2, 3, 4])
        places = list(set(codes)) if len(set(codes)) == 1 else places
    counts = np.bincount(value[members], minlength=3)
    return [(p, 1 / len(places), v, float(n)) for p in places for v, n in enumerate(counts) if n]


def gradient(column: Column, true: list[Row], rows: list[Row], code: int) -> float:
    place, weight, value, times = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    weight, has = weight * times, value == code
    if isinstance(column.levels, Numbers):
        numbers = column.levels.values
        first = 1 if column.levels.missing else 0
        x = np.where(place < first, np.nan, numbers[first] + (place - first) * (numbers[-1] - numbers[-2]))
        there = ~np.isnan(x)
        x, w, y = x[there], weight[there], has[there]
        x = x - np.average(x, weights=w)
        return float((w * x) @ y / (w @ x**2))
    sizes = np.bincount([int(row[0]) for row in true])
    one, other = np.argsort(-sizes, kind="stable")[:2]
    shares = [weight[(place == label) & has].sum() / weight[place == label].sum() for label in (one, other)]
    return float(shares[0] - shares[1])


# Rank order


def test_rank_order_by_hand() -> None:
    # Five labels of twelve people each, of whom 0, 3, 6, 9 and 12 have "x".
    label = np.repeat(np.arange(5), 12)
    value = np.concatenate([np.arange(12) >= 3 * n for n in range(5)]).astype(np.uint8)
    town = Column("town", label.astype(np.uint8), Labels(tuple("abcde")))
    values = Column("value", value, Labels(("x", "y")))
    own = measure([town], values, Grouping(label.astype(np.int32), 5), form="anatomised").gradients
    assert own.rank == pytest.approx(1.0)
    # Two towns to a group have one share between them: ranks 1.5 1.5 3.5 3.5 5 against 1 2 3 4 5.
    pairs = measure([town], values, Grouping((label // 2).astype(np.int32), 3), form="anatomised").gradients
    assert pairs.rank == pytest.approx(np.corrcoef([1.5, 1.5, 3.5, 3.5, 5], [1, 2, 3, 4, 5])[0, 1])
    together = measure([town], values, Grouping(np.zeros(60, dtype=np.int32), 1), form="anatomised").gradients
    assert together.rank == 0.0


# By size, and in words


def asked(sizes: list[int], errors: list[float], no_link: list[float], narrower: bool = False) -> QueryError:
    actual = np.repeat(sizes, 10)
    frame = with_errors(actual, actual * (1 + np.repeat(errors, 10)), actual * (1 + np.repeat(no_link, 10)))
    first = frame.head(0 if not narrower else 10)
    median = float(np.median(frame["error"].to_numpy()))
    return QueryError(Workload(1, 0.5, seed=1), "anatomised", frame, 0, median, median, first if narrower else None)


def test_errors_by_size_by_hand() -> None:
    found = asked([3, 7, 40, 300, 450], [0.9, 0.7, 0.4, 0.1, 0.1], [0.8, 0.8, 0.8, 0.8, 0.6], narrower=True)
    assert found.by_size.select("least", "below", "queries").rows() == [
        (2, 5, 20),
        (5, 10, 10),
        (20, 50, 10),
        (200, 500, 20),
    ]
    assert found.by_size["error"].to_list() == pytest.approx([0.9, 0.7, 0.4, 0.1])
    assert found.by_size["error_no_link"].to_list() == pytest.approx([0.8, 0.8, 0.8, 0.7])
    assert (found.useless_below, found.no_better_below) == (10, 5)
    assert found.times_nearer == pytest.approx(0.8 / 0.4)
    few = QueryError(found.workload, "anatomised", found.queries.head(9), 0, 0.9, 0.9)
    assert few.by_size.is_empty()
    assert few.useless_below == 0
    shown = {name.strip(): value for name, value, _ in found.lines_beside_no_link()}
    assert shown == {"no link at all": pytest.approx(0.8), "times nearer": pytest.approx(2.0), "counts below": 10}


def test_counts_in_words() -> None:
    kept = figures(ALIKE, "anatomised")
    begins = "Gradients survive (4 of 4 keep their sign, at 1.00 of their size); "
    assert in_words(kept, asked([3, 300, 600], [0.9, 0.1, 0.1], [0.8, 0.8, 0.8])) == (
        f"{begins}counts below about 5 people are no better than without the link."
    )
    assert in_words(kept, asked([3, 300, 600], [0.6, 0.1, 0.1], [0.8, 0.4, 0.4])) == (
        f"{begins}counts are 4.0 times nearer than without the link, and those below about 5 people are off by more "
        "than half."
    )
    assert in_words(kept, asked([300], [0.2], [0.2])) == f"{begins}counts are no better than without the link."
    assert in_words(kept, asked([300], [0.0], [0.2])) == f"{begins}most counts are exact."
    assert in_words(figures(MIXED, "anatomised"), asked([300], [0.1], [0.2])) == (
        "Gradients are lost: 0 of 4 gradients are turned round, and 0.00 of their size is left; "
        "counts are 2.0 times nearer than without the link."
    )


# Series

SCHEMA = ri.Schema(
    person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
)
SHARES = {"heart": 0.35, "flu": 0.2, "asthma": 0.15, "ulcer": 0.15, "gout": 0.15}
ASKED = Workload(2, 0.1, count=200, seed=1)


def steep(count: int = 3_000) -> pl.DataFrame:
    """Hearts fail with age, and gout is men's."""
    rng = np.random.default_rng(3)
    age, sex = rng.integers(20, 90, count), rng.choice(["f", "m"], count)
    illness = rng.choice(["flu", "asthma", "ulcer", "gout"], count, p=[0.3, 0.25, 0.25, 0.2])
    illness = np.where((sex == "f") & (illness == "gout"), "ulcer", illness)
    illness = np.where(rng.random(count) < (age - 20) / 100, "heart", illness)
    return pl.DataFrame({"patient": np.arange(count), "age": age, "sex": sex, "illness": illness})


def published(folder: Path, policy: ri.Policy) -> Utility | SetUtility:
    with ri.open(folder, policy) as series:
        series.publish(steep(), seed=1, allow=["counterfeit"], reason="so it is here")
        found = series.utility(1, workload=ASKED)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["sentence"] == found.sentence
    assert not any(illness in str(found.frame()) + json.dumps(found.to_dict()) for illness in SHARES)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_m_invariance_flattens_a_steep_gradient(tmp_path: Path, form: Form) -> None:
    found = published(tmp_path / "clinic", ri.Policy(SCHEMA, ri.MInvariance(m=4), form))
    assert found.gradients is not None
    heart = found.gradients.each.filter(column="age", value="heart")
    assert heart["beyond_chance"][0]
    assert heart["truth"][0] == pytest.approx(0.01, rel=0.1)
    assert abs(heart["ratio"][0]) < 0.2
    assert "survive" not in found.sentence


def test_mondrian_keeps_it(tmp_path: Path) -> None:
    found = published(tmp_path / "clinic", ri.Policy(SCHEMA, ri.Mondrian(k=10), series="unprotected"))
    assert found.gradients is not None
    assert found.gradients.each.filter(column="age", value="heart")["ratio"][0] == pytest.approx(1.0, abs=0.05)
    assert found.sentence.startswith("Gradients survive")
    shown = dict(found.frame().select("measure", "value").iter_rows())
    assert shown["  size kept of age"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("k", [None, 30])
def test_sets_give_what_analyse_gives(tmp_path: Path, k: int | None) -> None:
    rule = ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=k)
    found = published(tmp_path / "clinic", ri.Policy(SCHEMA, rule, checks=NOTHING_ASKED))
    assert isinstance(found, SetUtility)
    assert found.gradients is not None
    assert found.sentence.startswith("Gradients survive")
    assert found.gradients.coverage is not None
    # Where ages are regions, neither has an interval for a slope on them.
    assert found.gradients.each.filter(column="age")["holds"].is_null().all() == (k is not None)
    each, table = found.gradients.each, steep()
    largest, other = table["sex"].value_counts().sort("count", descending=True)["sex"].to_list()
    an = ri.analyse(tmp_path / "clinic")
    for illness in SHARES:
        expected = an.contrast(illness, between={"sex": (largest, other)})
        line = each.filter(column="sex", value=illness)
        assert line["released"][0] == pytest.approx(expected["estimate"][0])
        assert line["holds"][0] == (expected["low"][0] <= line["truth"][0] <= expected["high"][0])
    if k is None:
        scores = an.scores(values=["heart"])
        name = next(name for name in scores.columns if "heart" in name)
        slope = np.polyfit(scores["age"].to_numpy().astype(float), scores[name].to_numpy(), 1)[0]
        assert each.filter(column="age", value="heart")["released"][0] == pytest.approx(slope)


def test_intervals_of_slopes_hold_the_truth_about_as_often_as_they_say(tmp_path: Path) -> None:
    held = []
    for seed in range(30):
        with ri.open(
            tmp_path / str(seed),
            ri.Policy(SCHEMA, ri.Alternatives(m=3, reference=SHARES, limit="2/3"), checks=NOTHING_ASKED),
        ) as series:
            series.publish(steep(1_000), seed=seed)
            found = series.utility(1).gradients
        assert found is not None
        held += found.each["holds"].to_list()
    # 300 intervals, of which those of one release are not independent.
    assert 0.90 <= np.mean(held) <= 0.99


def test_what_the_draw_alone_does_is_said_to_be_chance(tmp_path: Path) -> None:
    """Scores are right on average: of 150 people a slope may come out too large or too small, without being bent."""
    told = []
    for seed in range(12):
        folder = tmp_path / str(seed)
        with ri.open(
            folder, ri.Policy(SCHEMA, ri.Alternatives(m=3, reference=SHARES, limit="2/3"), checks=NOTHING_ASKED)
        ) as series:
            series.publish(steep(150), seed=seed)
            utility = series.utility(1)
        found = utility.gradients
        assert found is not None
        sure = found.each.filter("beyond_chance")
        noise = float(np.median(sure["error"] / sure["truth"].abs()))
        assert found.noise == pytest.approx(noise)
        if not 0.8 <= found.ratio <= 1.25 and found.kept == found.sure:
            told.append(utility.sentence)
            assert abs(found.ratio - 1) < 2 * noise
            assert utility.sentence.startswith(
                f"Gradients are right on average, and each off by about {noise:.0%} of its size by chance"
            )
        line = found.each.filter(column="sex", value="heart").row(0, named=True)
        order = steep(150)["sex"].value_counts().sort("count", "sex", descending=True)["sex"].to_list()
        expected = ri.analyse(folder).contrast("heart", between={"sex": (order[0], order[1])})
        assert line["error"] == pytest.approx(expected["error"][0])
    assert told


def test_later_sets_of_lives_have_no_gradients_and_say_so(tmp_path: Path) -> None:
    chances = {one: {other: 0.8 if one == other else 0.05 for other in SHARES} for one in SHARES}
    even = dict.fromkeys(SHARES, 0.2)
    rule = ri.Alternatives(m=3, reference=even, change=chances)
    with ri.open(tmp_path / "lives", ri.Policy(SCHEMA, rule)) as series:
        series.publish(steep(400), seed=1)
        series.publish(steep(400), seed=2, allow=["same-state"], reason="so it is here")
        first, second = series.utility(1, workload=ASKED), series.utility(2, workload=ASKED)
    assert first.gradients is not None
    assert second.gradients is None
    assert second.sentence == (
        "Values cannot be estimated from this release alone: its sets are lives that have moved on."
    )
    assert second.to_dict()["gradients"] is None
