"""How often intervals hold the truth, over drawn releases of one table: shares, means, contrasts, changes, slopes."""

from __future__ import annotations

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
from reissue.tables.recode_sets import design_tables, listed, record_lists, record_tables
from reissue.utility.analysing.analysis import Analysis
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.score_intervals import share_interval

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


@pytest.mark.parametrize(("values", "m"), [(4, 2), (5, 3), (10, 4), (20, 4), (50, 10), (40, 4), (10, 6)])
def test_groups_of_every_size_and_share(values: int, m: int) -> None:
    """Values that are all as frequent: how many sets of a group have one is binomial, and coverage a sum."""
    by_chance = (m - 1) / (values - 1)  # that somebody with another value has this one in their set
    lacking = by_chance / (1 - by_chance)  # a score is 1 where the set has it, and else minus this
    for n in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 100):
        count = np.arange(n + 1)
        estimate = (count - (n - count) * lacking) / n
        second = (count + (n - count) * lacking**2) / n
        slope, people = np.full(n + 1, 1 - lacking), np.full(n + 1, float(n))
        for target in ("table", "population"):
            error, low, high = share_interval(estimate, second, slope, people, target)
            assert (error >= 0).all()
            assert (low <= np.clip(estimate, 0, 1)).all()
            assert (high >= np.clip(estimate, 0, 1)).all()
            for having in range(n + 1):
                truth = having / n
                inside = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
                if target == "table":
                    chance = _binomial(n - having, by_chance)
                    held = float(chance @ inside[having:])
                else:
                    held = float(_binomial(n, truth + (1 - truth) * by_chance) @ inside)
                assert held >= 0.92, (n, having, target)


def _binomial(n: int, p: float) -> Any:
    return np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


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
        assert change["interval"][0] == "at least 95 %"
        truth = np.mean(changed == 1) - np.mean(true == 1)
        held.append(change["low"][0] - 1e-9 <= truth <= change["high"][0] + 1e-9)
    assert np.mean(held) >= 0.95


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
