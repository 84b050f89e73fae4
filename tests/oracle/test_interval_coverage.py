"""How often intervals hold the truth, over drawn releases of one table: shares, means, contrasts, changes, slopes."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import sized

import reissue as ri
from reissue.arrays.types import Ints, Words
from reissue.model.records import Records, record_text
from reissue.model.sets import SetDesigns
from reissue.model.snapshot import Column, Labels, Numbers
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.drawing import draw
from reissue.reasoning.alternatives.record_designing import record_design_of
from reissue.reasoning.alternatives.record_flight import draw_records
from reissue.reasoning.alternatives.record_scoring import RecordPairs
from reissue.reasoning.alternatives.scoring import Scores
from reissue.reasoning.alternatives.set_probabilities import all_sets, probability_given
from reissue.tables.recode_sets import design_tables, listed, record_lists, record_tables
from reissue.utility.analysing.analysis import Analysis
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.score_intervals import Squares, Weighed, share_interval, sum_distances

DRAWS = sized(300, 2_000)
SURE = 5
"""So many standard errors of a share of draws are let pass: a wrong error is found, chance is not."""


def designs_of(shares: list[float], m: int, labels: tuple[object, ...]) -> SetDesigns:
    design = design_of(np.array(shares), m)
    return SetDesigns(labels, (design,), (np.arange(design.values),), (1,))


PLAIN = designs_of([1 / 9] * 9, 3, tuple(float(10 * at) for at in range(9)))
SLOTS = designs_of([0.3, *[0.7 / 8] * 8], 4, tuple("abcdefghi"))


class Drawing:
    """Releases of one table, drawn again and again."""

    def __init__(self, designs: SetDesigns, seed: int) -> None:
        self.designs, self.rng = designs, np.random.default_rng(seed)

    def words(self, rows: Ints, number: int) -> Words:
        del number
        return self.rng.integers(0, 2**64, size=(rows.size, 16), dtype=np.uint64)

    def sets(self, true: Ints) -> Any:
        return draw(self.designs.designs[0], true, self.words)

    def tables(self, columns: dict[str, Any], sets: Any) -> dict[str, pl.DataFrame]:
        codes = np.sort(sets, axis=1).astype(np.uint32)
        return {
            "table": pl.DataFrame({**columns, "value": listed(codes, self.designs)}),
            **design_tables(self.designs, "value"),
        }


def check(hits: dict[str, list[bool]]) -> None:
    for name, one in hits.items():
        off = abs(np.mean(one) - 0.95)
        assert off < SURE * np.sqrt(0.95 * 0.05 / len(one)), f"{name}: {np.mean(one):.1%}"
        # What the pages promise, where there are draws enough to tell.
        assert off < 0.02 or len(one) < 1_000, f"{name}: {np.mean(one):.1%}"


DESIGNS = [(4, 2), (5, 3), (10, 4), (20, 4), (50, 10), (40, 4), (10, 6), (100, 4), (400, 3), (10, 9), (50, 49)]


@pytest.mark.parametrize(("values", "m"), DESIGNS)
def test_groups_of_every_size_and_share(values: int, m: int) -> None:
    """Values that are all as frequent: how many sets of a group have one is binomial, and coverage a sum."""
    by_chance = (m - 1) / (values - 1)  # that somebody with another value has this one in their set
    lacking = by_chance / (1 - by_chance)  # a score is 1 where the set has it, and else minus this
    for n in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 100, 200):
        count = np.arange(n + 1)
        estimate = (count - (n - count) * lacking) / n
        second = (count + (n - count) * lacking**2) / n
        squares, people = alike(lacking, n + 1), np.full(n + 1, float(n))
        for target in ("table", "population"):
            error, low, high = share_interval(estimate, second, squares, people, target)
            assert (error >= 0).all()
            assert (low <= np.clip(estimate, 0, 1)).all()
            assert (high >= np.clip(estimate, 0, 1)).all()
            for having in range(0, n + 1, max(1, n // 40)):
                truth = having / n
                inside = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
                if target == "table":
                    chance = _binomial(n - having, by_chance)
                    held = float(chance @ inside[having:])
                else:
                    held = float(_binomial(n, truth + (1 - truth) * by_chance) @ inside)
                assert held >= 0.92, (n, having, target)


def alike(lacking: float, rows: int) -> Squares:
    """E[y^2] where values are all as frequent: 1 of whoever has it, and of all others what a score lacks."""
    return Squares(np.ones(rows), np.full(rows, lacking))


UNLIKE = [
    ([0.353, 0.47, 0.177], 2, 0.74),
    ([0.45, 0.3, 0.15, 0.1], 2, 0.8),
    ([0.55, 0.15, 0.12, 0.1, 0.05, 0.03], 5, 0.86),  # three slots for the first
    ([0.58, 0.28, 0.05, 0.04, 0.03, 0.02], 3, 0.8),
    ([0.22, 0.2, 0.15, 0.15, 0.1, 0.08, 0.05, 0.03, 0.015, 0.005], 4, 0.86),
]


@pytest.mark.parametrize(("shares", "m", "worst"), UNLIKE)
def test_groups_of_few_values_that_are_not_alike(shares: list[float], m: int, worst: float) -> None:
    """Sets tell of a value by what else is in them, too. Others as in the reference, or all with one and the same."""
    rng, design = np.random.default_rng(11), design_of(np.array(shares), m)
    sets, values, draws = all_sets(design), design.values, sized(400, 4_000)
    chance = np.array([probability_given(design, sets, np.full(len(sets), value)) for value in range(values)])
    chance /= chance.sum(axis=1, keepdims=True)
    for value in range(0, values, 2):
        weight = Scores(design).weights(np.eye(values)[value])
        score = np.array([weight[np.unique(one)].sum() for one in sets])
        each = chance @ score**2
        rest = np.delete(design.shares, value)
        squares = Squares(each[[value]], np.array([np.delete(each, value) @ rest / rest.sum()]))
        for n, having, other in product((1, 3, 8, 20, 100), (0.0, 0.3, 1.0), (None, 0, values - 1)):
            has = round(having * n)
            mix = np.eye(values)[other] if other is not None else np.where(np.arange(values) == value, 0, design.shares)
            if mix[value]:
                continue
            people = rng.multinomial(n - has, mix / mix.sum())
            people[value] = has
            drawn = sum(rng.multinomial(people[one], chance[one], size=draws) for one in range(values))
            estimate, second = drawn @ score / n, drawn @ score**2 / n
            _, low, high = share_interval(estimate, second, squares, np.full(draws, float(n)), "table")
            held = float(((low - 1e-9 <= has / n) & (has / n <= high + 1e-9)).mean())
            # One of one, or of three, is the value or is not: such groups are told by their only sets.
            least = worst if other is not None or n - has < 5 else 0.92
            assert held >= least - 4 * np.sqrt(least * (1 - least) / draws), (value, n, has, other, held)


def _binomial(n: int, p: float) -> Any:
    return np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.parametrize(("values", "m"), [(5, 3), (10, 4), (50, 10), (100, 4)])
@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize(
    "sum_of", ["few change", "few come", "groups of 3 and 40", "one far out", "even slope", "trend"]
)
def test_sums_that_few_rows_make(values: int, m: int, target: Any, sum_of: str) -> None:
    """Differences, changes and slopes: whoever is in them and whatever they have, intervals hold."""
    rng = np.random.default_rng(2)
    by_chance = (m - 1) / (values - 1)
    lacking = by_chance / (1 - by_chance)
    far = np.concatenate([np.linspace(0, 1, 99), [50.0]])
    factor = {
        "few change": np.repeat([-1.0, 1.0, 0.0], [3, 3, 300]) / 303,
        "few come": np.repeat([-1 / 300, 1 / 304, 1 / 304 - 1 / 300], [1, 5, 299]),
        "groups of 3 and 40": np.repeat([1 / 3, -1 / 40], [3, 40]),
        "one far out": (far - far.mean()) / ((far - far.mean()) ** 2).sum(),
        "even slope": (np.arange(60) - 29.5) / ((np.arange(60) - 29.5) ** 2).sum(),
        "trend": np.tile([-1.5, -0.5, 0.5, 1.5, -2.0, 0.0], 4) / 300,
    }[sum_of]
    draws = sized(600, 3_000)
    row = np.repeat(np.arange(draws), factor.size)
    for share in (0.0, 1 / values, 0.5, 1.0):
        drawn = rng.random((draws if target == "population" else 1, factor.size)) < share
        has = np.broadcast_to(drawn, (draws, factor.size))
        score = np.where(has | (rng.random(has.shape) < by_chance), 1.0, -lacking)
        truth = factor.sum() * share if target == "population" else (factor * has).sum(axis=1)
        rows = Weighed(np.tile(factor, draws), score.ravel(), alike(lacking, score.size))
        down, up = sum_distances(rows, target, row, draws)
        away = truth - (factor * score).sum(axis=1)
        held = ((-np.sqrt(down) - 1e-9 <= away) & (away <= np.sqrt(up) + 1e-9)).mean()
        assert held >= 0.92 - 4 * np.sqrt(0.92 * 0.08 / draws), (share, held)


def test_a_sum_of_many_rows_that_count_alike_is_normal() -> None:
    """The distances are then 1.96 standard errors, by hand: sum c^2 (y^2 - y)."""
    rng = np.random.default_rng(4)
    score = np.where(rng.random(20_000) < 0.3, 1.0, -0.25)
    factor = np.repeat([1 / 8_000, -1 / 12_000], [8_000, 12_000])
    down, up = sum_distances(Weighed(factor, score, alike(0.25, 20_000)), "table")
    error = np.sqrt((factor**2 * (score**2 - score)).sum())
    assert np.sqrt([down[0], up[0]]) == pytest.approx([1.959964 * error] * 2, rel=0.02)


@pytest.mark.parametrize("changed", [1, 3])
def test_few_changes_in_a_release_that_stays(changed: int) -> None:
    """Of 300 people one or three have another value: what is wrong with both releases cancels, and little is left."""
    drawing = Drawing(SLOTS, 9)
    true = drawing.rng.choice(9, 300, p=SLOTS.designs[0].shares)
    later = true.copy()
    later[:changed] = (true[:changed] + 1 + np.arange(changed)) % 9
    who = {"place": np.arange(300)}
    held: dict[str, list[bool]] = {}
    for _ in range(DRAWS):
        sets = drawing.sets(true)
        again = np.where((later != true)[:, None], drawing.sets(later), sets)
        an = ri.analyse([drawing.tables(who, one) for one in (sets, again)])
        for code in {int(true[0]), int(later[0]), 4}:
            actual = (later == code).mean() - (true == code).mean()
            change = an.contrast(SLOTS.labels[code], releases=(1, 2))
            slope = an.trend(SLOTS.labels[code]).tail(1)
            assert slope.select("low", "high").row(0) == pytest.approx(change.select("low", "high").row(0))
            held.setdefault(str(code), []).append(bool(change["low"][0] - 1e-9 <= actual <= change["high"][0] + 1e-9))
            assert change["high"][0] - change["low"][0] < 0.06  # that of the share is about 0.15
    assert all(np.mean(one) > 0.92 - SURE * np.sqrt(0.92 * 0.08 / len(one)) for one in held.values()), {
        code: np.mean(one) for code, one in held.items()
    }


def test_a_slope_that_one_person_makes() -> None:
    """Of a share it has an interval that allows for it; of a mean it has none."""
    drawing = Drawing(PLAIN, 10)
    true = drawing.rng.integers(0, 9, 60)
    for age, interval in ((np.arange(60), "95 %"), (np.where(np.arange(60) == 3, 5_000, np.arange(60)), "none")):
        an = ri.analyse(drawing.tables({"age": age}, drawing.sets(true)))
        assert an.slope(on="age")["interval"][0] == interval
        found = an.slope(10.0, on="age")
        assert found["interval"][0] == "95 %"
        assert (found["high"] - found["low"])[0] > (1.9 if interval == "95 %" else 2.5) * 2 * found["error"][0]
        assert an.slope(10.0, on="age", of="population")["interval"][0] == interval


def test_one_person() -> None:
    """Whose set has a value may have it."""
    tables = Drawing(SLOTS, 1).tables({"sex": ["f"]}, np.array([[2, 3, 4, 5]]))
    an = ri.analyse(tables)
    inside, outside = an.count("c"), an.count("i")
    assert 0.9 < inside["estimate"][0] < 1.0
    assert (inside["low"][0], inside["high"][0]) == (0.0, 1.0)
    assert (outside["low"][0], outside["estimate"][0] < 0) == (0.0, True)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 29])
def test_means_slopes_and_changes_of_few_people(n: int) -> None:
    """Of few people nothing is near to normal: no interval is better than one that does not hold."""
    drawing = Drawing(PLAIN, 3)
    true, age = drawing.rng.integers(0, 9, n), np.arange(n) * 3 + 20
    old = np.arange(n) >= n // 2
    columns = {"age": age, "old": np.where(old, "yes", "no")}
    changed = np.where(drawing.rng.random(n) < 0.5, 1, true)
    held = []
    for _ in range(DRAWS // 3):
        sets = drawing.sets(true)
        later = np.where((changed == true)[:, None], sets, drawing.sets(changed))
        an = ri.analyse([drawing.tables(columns, one) for one in (sets, later)])
        one = an.only(1)
        for found in (one.mean(), one.slope(10.0, on="age"), one.slope(on="age"), an.trend().tail(1)):
            assert found["interval"][0] == "none"
            assert found.select("low", "high").row(0) == (None, None)
        change = an.contrast(10.0, releases=(1, 2))
        assert change["interval"][0] == "95 %"
        truth = np.mean(changed == 1) - np.mean(true == 1)
        held.append(change["low"][0] - 1e-9 <= truth <= change["high"][0] + 1e-9)
    assert np.mean(held) >= 0.95


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("shares", "m"), [([0.45, 0.3, 0.15, 0.1], 2), ([0.3, 0.3, 0.2, 0.1, 0.1], 3), ([0.55, 0.15, 0.12, 0.1, 0.08], 5)]
)
def test_means_of_few_people_whose_numbers_are_not_alike(shares: list[float], m: int, missing: bool) -> None:
    """Of 30 people the sets that stray far may be lacking by chance; then a mean is off, and seemed to be certain."""
    numbers = [1, 2, 3, 4, 5][: len(shares)]
    labels = tuple("" if missing and one == 3 else str(one) for one in numbers) if missing else tuple(numbers)
    drawing = Drawing(designs_of(shares, m, labels), 12)
    half = np.repeat(np.arange(len(shares)), np.round(30.4 * np.array(shares)).astype(int))
    true, sex = np.concatenate([half, half]), np.repeat(["f", "m"], half.size)
    known = np.array(numbers, dtype=float)[true]
    place = drawing.rng.permutation(true.size)
    kept = [one for one in known[sex == "f"] if not (missing and one == 3)]
    truth = {"mean": np.mean(kept), "contrast": 0.0, "slope": np.polyfit(place, known, 1)[0]}
    held: dict[str, list[bool]] = {}
    for _ in range(DRAWS):
        an = ri.analyse(drawing.tables({"sex": sex, "place": place}, drawing.sets(true)))
        found = {"mean": an.mean(where="sex = f"), "contrast": an.contrast(between={"sex": ("f", "m")})}
        if not missing:
            found["slope"] = an.slope(on="place")
        for name, one in found.items():
            assert one["interval"][0] == "95 %"
            assert one["high"][0] > one["low"][0]
            held.setdefault(name, []).append(bool(one["low"][0] <= truth[name] <= one["high"][0]))
    for name, every in held.items():
        assert np.mean(every) > 0.92, (name, np.mean(every))


@pytest.mark.parametrize("designs", [PLAIN, SLOTS], ids=["numbers", "slots"])
def test_one_release(designs: SetDesigns) -> None:
    drawing = Drawing(designs, 5)
    rng, n = drawing.rng, 600
    sex = rng.integers(0, 2, n)
    true = np.where(sex == 0, rng.choice(9, n), rng.choice(9, n, p=np.arange(1, 10) / 45))
    hits: dict[str, list[bool]] = {}
    for _ in range(DRAWS):
        an = ri.analyse(drawing.tables({"sex": np.array(["f", "m"])[sex]}, drawing.sets(true)))
        answers = []
        for code in (0, 8):
            label = designs.labels[code]
            share = [(true[sex == one] == code).mean() for one in (0, 1)]
            answers += [
                (f"share {code}", an.share(label, where="sex = m"), share[1]),
                (f"count {code}", an.count(label), (true == code).sum()),
                (f"contrast {code}", an.contrast(label, between={"sex": ("f", "m")}), share[0] - share[1]),
            ]
        if designs is PLAIN:
            answers.append(("mean", an.mean(where="sex = m"), 10 * true[sex == 1].mean()))
        for name, found, truth in answers:
            hits.setdefault(name, []).append(bool(found["low"][0] <= truth <= found["high"][0]))
    check(hits)


def test_values_that_change_and_people_who_come_and_go() -> None:
    drawing = Drawing(SLOTS, 6)
    rng, n, rate, count = drawing.rng, 700, 0.2, 3
    shares = SLOTS.designs[0].shares
    true = [rng.choice(9, n, p=shares)]
    present = [rng.random(n) < 0.8]
    for _ in range(count - 1):
        true.append(np.where(rng.random(n) < rate, rng.choice(9, n), true[-1]))
        present.append(np.where(rng.random(n) < 0.1, ~present[-1], present[-1]))
    share = np.array([(values[here] == 1).mean() for values, here in zip(true, present, strict=True)])
    hits: dict[str, list[bool]] = {}
    for _ in range(DRAWS):
        sets, releases = drawing.sets(true[0]), []
        for at in range(count):
            if at:
                chance = rate * shares[true[at]] / (1 - rate + rate * shares[true[at]])
                renewed = (true[at] != true[at - 1]) | (rng.random(n) < chance)
                sets = np.where(renewed[:, None], drawing.sets(true[at]), sets)
            here = present[at]
            releases.append(drawing.tables({"place": np.flatnonzero(here) // 3}, sets[here]))
        an = ri.analyse(releases)
        change = an.contrast("b", releases=(1, 2))
        hits.setdefault("change", []).append(bool(change["low"][0] <= share[1] - share[0] <= change["high"][0]))
        slope = an.trend("b").filter(pl.col("term") == "slope")
        hits.setdefault("slope", []).append(bool(slope["low"][0] <= (share[2] - share[0]) / 2 <= slope["high"][0]))
    check(hits)


def test_two_columns() -> None:
    """Sets of records: values of one column, both together, a mean, differences; the law of pairs is drawn."""
    rng = np.random.default_rng(7)
    records = np.array([(ward, days) for ward in range(4) for days in range(3)])
    shares = np.array([0.16, 0.05, 0.04, 0.05, 0.15, 0.05, 0.04, 0.06, 0.12, 0.12, 0.08, 0.08])
    design = record_design_of(records, shares, 5, [4, 3], None, [3, 4])
    assert RecordPairs(design).draws
    levels = (Labels(tuple("abcd")), Numbers(np.array([1.0, 2.0, 4.0]), pl.Int64(), False, 1.0, 4.0))
    texts = tuple(record_text(("abcd"[ward], "124"[days])) for ward, days in records.tolist())
    designs = SetDesigns(texts, (design,), (np.arange(12),), (1,), columns=("ward", "days"))
    values = Column("ward; days", np.zeros(0, np.uint8), Records(texts, ("ward", "days"), levels, records))
    n = 800
    sex = rng.integers(0, 2, n)
    tilted = shares * np.linspace(0.3, 2, 12)
    true = np.where(sex == 0, rng.choice(12, n, p=shares), rng.choice(12, n, p=tilted / tilted.sum()))
    ward, days = records[true, 0], np.array([1, 2, 4])[records[true, 1]]
    man = sex == 1
    truth = {
        "ward": (ward == 3).mean(),
        "ward of men": (ward[man] == 0).mean(),
        "days of men": (days[man] == 4).mean(),
        "both": ((ward == 0) & (days == 1)).mean(),
        "mean": days[man].mean(),
        "contrast": (days[~man] == 2).mean() - (days[man] == 2).mean(),
        "slope": (ward[~man] == 3).mean() - (ward[man] == 3).mean(),
    }
    hits: dict[str, list[bool]] = {}
    sensitive = [{"column": "ward", "kind": "categorical"}, {"column": "days", "kind": "numeric"}]
    drawn = {"slots": 5, "columns": ["ward", "days"], "factors": [1.0]}
    record = {"sensitive": sensitive, "columns": {"sex": "categorical"}, "design": drawn, "number": 1, "rows": n}
    record |= {"groups": n, "method": {"name": "Alternatives"}, "form": "alternatives"}
    for _ in range(DRAWS):
        words = rng.integers(0, 2**64, size=(n, 32), dtype=np.uint64)
        sets = draw_records(design, true, lambda rows, number, words=words: words[rows] + np.uint64(number))
        table = pl.DataFrame([pl.Series("sex", np.array(["f", "m"])[sex]), *record_lists(sets, designs, values)])
        an = Analysis([PublicRelease(1, {"table": table, **record_tables(designs, values)}, record)], {})
        scores = an.scores([{"ward": "d"}])["ward = d"].to_numpy()
        slope = an.contrast({"ward": "d"}, between={"sex": ("f", "m")})
        assert slope["estimate"][0] == pytest.approx(scores[~man].mean() - scores[man].mean())
        found = {
            "ward": an.share("d"),
            "ward of men": an.share({"ward": "a"}, where="sex = m"),
            "days of men": an.share({"days": 4}, where="sex = m"),
            "both": an.share({"ward": "a", "days": 1}),
            "mean": an.mean(where="sex = m"),
            "contrast": an.contrast({"days": 2}, between={"sex": ("f", "m")}),
            "slope": slope,
        }
        for name, one in found.items():
            hits.setdefault(name, []).append(bool(one["low"][0] <= truth[name] <= one["high"][0]))
    check(hits)
