"""Estimates with errors from public tables: figures by hand, brute force over all sets, and every way to read them."""

from __future__ import annotations

import datetime
import json
import shutil
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from real_data import FOLDER, needs

import reissue as ri
from reissue.arrays.types import Floats, Ints
from reissue.model.sets import SetDesigns
from reissue.publishing.checking.thresholds import NOTHING_ASKED as UNASKED
from reissue.publishing.series import draft
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.drawing import draw
from reissue.reasoning.alternatives.set_probabilities import all_sets, probability_given
from reissue.tables.recode_sets import design_tables, listed
from reissue.utility.analysing.across_regions import Counted, mean_bounds, share_bounds
from reissue.utility.analysing.condition_texts import read_conditions
from reissue.utility.analysing.conditions import Excluded, Range

SHARES = {"asthma": 0.15, "flu": 0.2, "fracture": 0.15, "gout": 0.1, "heart": 0.15, "migraine": 0.15, "ulcer": 0.1}


def designs_of(shares: list[float], m: int, labels: tuple[object, ...], **limits: Any) -> SetDesigns:
    design = design_of(np.array(shares), m, **limits)
    return SetDesigns(labels, (design,), (np.arange(design.values),), (1,))


def tables_of(columns: dict[str, Any], codes: Any, designs: SetDesigns, name: str = "v") -> dict[str, pl.DataFrame]:
    """The public tables of such sets."""
    sets = np.sort(np.asarray(codes), axis=1).astype(np.uint32)
    return {"table": pl.DataFrame({**columns, name: listed(sets, designs)}), **design_tables(designs, name)}


def every_draw(designs: SetDesigns, true: list[int]) -> list[tuple[float, Ints]]:
    """All sets that people with these values can get together, and how probable."""
    design = designs.designs[0]
    sets = all_sets(design)
    chances = [probability_given(design, sets, np.full(len(sets), value)) for value in true]
    possible = [np.flatnonzero(chance) for chance in chances]
    return [
        (float(np.prod([chance[at] for chance, at in zip(chances, rows, strict=True)])), sets[list(rows)])
        for rows in product(*possible)
    ]


@pytest.mark.parametrize(
    "designs",
    [
        designs_of([0.3, 0.28, 0.22, 0.2], 2, ("a", "b", "c", "d")),
        designs_of([0.4, 0.2, 0.2, 0.2], 3, ("a", "b", "c", "d")),
    ],
    ids=["plain", "slots"],
)
def test_squared_errors_are_right_on_average_over_all_draws(designs: SetDesigns) -> None:
    """Three people, every set there is: the mean of estimates is the truth, that of squared errors their variance."""
    true, sex = [0, 1, 3], ["f", "f", "m"]
    draws = every_draw(designs, true)
    assert sum(chance for chance, _ in draws) == pytest.approx(1)
    question: dict[str, Any] = {"value": "a", "between": {"sex": ("f", "m")}}
    found = []
    for chance, sets in draws:
        an = ri.analyse(tables_of({"sex": sex}, sets, designs))
        view = an._views[0]
        scores = view.scores([np.eye(4)[0]])[:, 0]  # type: ignore[union-attr]
        contrast = an.contrast(**question)
        own = float(((scores**2 - scores) * np.array([1 / 4, 1 / 4, 1])).sum())
        assert contrast["error"][0] == pytest.approx(np.sqrt(max(own, 0.0)), abs=1e-9)
        estimates = [an.count("a")["estimate"][0], an.share("a")["estimate"][0], contrast["estimate"][0]]
        found.append((chance, *estimates, own))
    chance, count, share, contrast, own = (np.array(column) for column in zip(*found, strict=True))
    assert chance @ count == pytest.approx(1)
    assert chance @ share == pytest.approx(1 / 3)
    assert chance @ contrast == pytest.approx(1 / 2)
    assert chance @ own == pytest.approx(chance @ (contrast - 1 / 2) ** 2)


@pytest.mark.parametrize("people", [60, 400])
def test_errors_of_contrasts_and_means_by_hand(people: int) -> None:
    """By the formulas, from the scores themselves; of fewer than 100 people no less than the design's."""
    designs = designs_of([0.2] * 5, 2, (1.0, 2.0, 4.0, 8.0, 16.0))
    rng = np.random.default_rng(3)
    sets = np.array([rng.choice(5, 2, replace=False) for _ in range(people)])
    sex = np.array(["f", "m"])[rng.integers(0, 2, people)]
    an = ri.analyse(tables_of({"sex": sex}, sets, designs))
    scores = an.scores([1.0, 2.0, 4.0, 8.0, 16.0]).select(["1.0", "2.0", "4.0", "8.0", "16.0"]).to_numpy()
    number, square = scores @ np.array([1, 2, 4, 8, 16]), scores @ np.array([1, 4, 16, 64, 256])
    female = an.scores([1.0])["sex"].to_numpy() == "f"
    assert an.scores([], mean=True)["v"].to_numpy() == pytest.approx(number)
    numbers = np.array([1, 2, 4, 8, 16])
    weights = np.linalg.solve(_pairs(designs), designs.designs[0].inclusion * numbers)
    by_design = designs.designs[0].inclusion * numbers @ weights - (numbers**2).mean()
    drawn, least = list[float](), list[float]()
    found = an.mean(by="sex").sort("sex")
    for at, own in enumerate((female, ~female)):
        n = own.sum()
        assert found["estimate"][at] == pytest.approx(number[own].mean())
        drawn.append((number[own] ** 2 - square[own]).sum())
        least.append(n * by_design if n < 100 else 0.0)
        assert found["error"][at] == pytest.approx(np.sqrt(max(drawn[at], least[at])) / n)
    wide = an.mean(by="sex", of="population").sort("sex")
    n, mean = female.sum(), number[female].mean()
    variance = max(drawn[0], least[0]) + (square[female] - mean**2).sum()
    assert wide["error"][0] == pytest.approx(np.sqrt(variance) / n)
    if people == 400:
        assert wide["error"][0] == pytest.approx(number[female].std() / np.sqrt(n))
    contrast = an.contrast(between={"sex": ("f", "m")})
    size = [female.sum() ** 2, (~female).sum() ** 2]
    separate = sum(one / n for one, n in zip(drawn, size, strict=True))
    expected = sum(one / n for one, n in zip(least, size, strict=True))
    assert contrast["error"][0] == pytest.approx(np.sqrt(max(separate, expected)))
    assert contrast["estimate"][0] == pytest.approx(found["estimate"][0] - found["estimate"][1])


def test_an_interval_solves_its_equation() -> None:
    """Every end lies where the distance to the estimate is 1.96 times the error that the end would have."""
    designs = designs_of([0.25, 0.25, 0.2, 0.15, 0.15], 2, tuple("abcde"))
    rng = np.random.default_rng(8)
    sets = np.array([rng.choice(5, 2, replace=False) for _ in range(400)])
    an = ri.analyse(tables_of({"x": np.arange(400)}, sets, designs))
    score = an.scores(["a"])["a"].to_numpy()
    inside = np.array([(row == 0).any() for row in sets])
    p = designs.designs[0].shares[0]
    weights = np.linalg.solve(_pairs(designs), np.eye(5)[0] * designs.designs[0].inclusion)
    has = float((score**2)[inside].mean())
    others = (float(designs.designs[0].inclusion[0] * weights[0]) - p * has) / (1 - p)
    for of, power in (("table", 1), ("population", 2)):
        found = an.share("a", of=of)  # type: ignore[arg-type]
        for end in (found["low"][0], found["high"][0]):
            more = max((score**2).mean() - others - score.mean() * (has - others), 0)  # than the design expects
            second = others + end * (has - others) + more
            assert abs(end - score.mean()) == pytest.approx(1.959964 * np.sqrt((second - end**power) / 400))


def test_a_set_that_may_be_there_by_chance_is_allowed_for() -> None:
    """Ten people, a rare value: seen once, it may be nobody's; without the correction 0 would be ruled out."""
    shares = [0.004, *[0.996 / 11] * 11]
    designs = designs_of(shares, 6, tuple("abcdefghijkl"))
    rng = np.random.default_rng(4)
    sets = np.array([rng.choice(np.arange(1, 12), 6, replace=False) for _ in range(10)])
    nobody = ri.analyse(tables_of({"x": np.arange(10)}, sets, designs)).share("a")
    assert (nobody["low"][0], nobody["high"][0] < 0.15) == (0, True)
    sets[0, 0] = 0
    once = ri.analyse(tables_of({"x": np.arange(10)}, sets, designs)).share("a")
    assert once["low"][0] == 0
    assert once["high"][0] > 0.1
    assert ri.analyse(tables_of({"x": np.arange(10)}, sets, designs)).count("a", where="x > 10")["high"][0] == 0


def _pairs(designs: SetDesigns) -> Floats:
    """How probable two values are together, over all sets."""
    design = designs.designs[0]
    sets = all_sets(design)
    chance = probability_given(design, sets, np.zeros(len(sets), dtype=np.int64)) * design.inclusion[0]
    for value in range(1, design.values):
        chance = np.maximum(
            chance, probability_given(design, sets, np.full(len(sets), value)) * design.inclusion[value]
        )
    member = np.array([[(row == value).any() for value in range(design.values)] for row in sets], dtype=np.float64)
    return np.asarray((member * chance[:, None]).T @ member)


def test_people_who_stay_cancel_in_a_difference() -> None:
    """By hand: unique rows that are in both releases count once, with the difference of their factors."""
    designs = designs_of([0.2] * 5, 2, tuple("abcde"))
    rng = np.random.default_rng(5)
    first = np.array([rng.choice(5, 2, replace=False) for _ in range(40)])
    second = np.vstack([first[:30], [rng.choice(5, 2, replace=False) for _ in range(20)]])
    one, two = np.arange(40), np.concatenate([np.arange(30), np.arange(40, 60)])
    series = [tables_of({"who": one}, first, designs), tables_of({"who": two}, second, designs)]
    an = ri.analyse(series)
    scores = an.scores(["a"])
    before, after = (scores.filter(release=number)["a"].to_numpy() for number in (1, 2))

    def draws(score: Floats) -> Floats:
        return score**2 - score

    stay = draws(after[:30]) * (1 / 50 - 1 / 40) ** 2
    gone, came = draws(before[30:]) / 40**2, draws(after[30:]) / 50**2
    found = an.contrast("a", releases=(1, 2))
    assert found["estimate"][0] == pytest.approx(after.mean() - before.mean())
    assert found["error"][0] == pytest.approx(np.sqrt(stay.sum() + gone.sum() + came.sum()))
    assert found["contrast"][0] == "release 2 - release 1"
    trend = an.trend("a")
    slope = trend.filter(pl.col("term") == "slope")
    assert slope["estimate"][0] == pytest.approx(found["estimate"][0])
    assert slope["error"][0] == pytest.approx(found["error"][0])
    assert slope["release"][0] is None
    same = scores.group_by("cluster").len()
    assert sorted(same["len"].to_list()) == [1] * 30 + [2] * 30


def test_rows_that_agree_within_a_release_are_matched_in_part() -> None:
    designs = designs_of([0.25] * 4, 2, tuple("abcd"))
    first = np.array([[0, 1]] * 4 + [[2, 3]] * 2)
    second = np.array([[0, 1]] * 3 + [[2, 3]] * 3)
    an = ri.analyse([tables_of({"sex": ["f"] * 6}, sets, designs) for sets in (first, second)])
    score = an.scores(["a"]).filter(release=1)["a"].to_numpy()
    d = score**2 - score
    # (4 - 3)^2 + (2 - 3)^2 over 12 rows: 5/6 stay, of the first kind 5/6 of 3.5, of the second no more than 2.
    own = (4 * d[0] + 2 * d[4]) / 36 + (3 * d[0] + 3 * d[4]) / 36
    both = (5 / 6 * 3.5 * d[0] + 2 * d[4]) / 36
    assert an.contrast("a", releases=(1, 2))["error"][0] == pytest.approx(np.sqrt(own - 2 * both))


@pytest.mark.parametrize("cores", [2, 5])
def test_the_number_of_cores_does_not_show(cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases are asked at the same time, parts of files read and scored: to the last bit it is all the same."""
    schema = ri.Schema("patient", {"age": ri.Numeric(), "sex": ri.Categorical()}, {"illness": ri.Categorical()})
    policy = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", change=0.2))
    with ri.open(tmp_path / "series", policy) as series:
        for number in range(3):
            series.publish(people(300, number), seed=number)
    monkeypatch.setattr("reissue.model.sets.PARALLEL_FROM", 1)
    monkeypatch.setattr("reissue.tables.frames.PART", 50)
    monkeypatch.setattr("reissue.utility.analysing.public_files.PART", 50)
    export = [{path.stem: pl.read_parquet(path) for path in (tmp_path / "series" / "public").glob(f"000{n}/*.parquet")}
              for n in (1, 2, 3)]  # fmt: skip

    def answers(threads: int) -> list[pl.DataFrame]:
        monkeypatch.setattr(pl, "thread_pool_size", lambda: threads)
        every = [ri.analyse(tmp_path / "series"), ri.analyse(export)]
        return [
            frame
            for an in every
            for frame in (
                an.count("flu", by="sex"), an.table(), an.trend("gout", by="sex"), an.contrast("flu", releases=(1, 3)),
                an.contrast("flu", between={"sex": ("female", "male")}), an.scores(["flu", "heart"]),
            )
        ]  # fmt: skip

    for one, other in zip(answers(1), answers(cores), strict=True):
        assert one.equals(other)


ANATOMISED = {
    "quasi": pl.DataFrame({"group": [1, 1, 1, 2, 2], "age": [20, 21, 30, 40, 50], "sex": ["f", "m", "f", "m", "f"]}),
    "sensitive": pl.DataFrame({"group": [1, 1, 2, 2], "dose": [1.0, 4.0, 4.0, 9.0], "count": [2, 1, 1, 1]}),
}
FAITHFUL = {
    "number": 1,
    "method": {"name": "Mondrian"},
    "form": "anatomised",
    "columns": {"age": "numeric", "sex": "categorical"},
    "rows": 5,
    "groups": 2,
}


def as_release(tables: dict[str, pl.DataFrame], record: dict[str, Any], number: int = 1) -> ri.Release:
    now = datetime.datetime.now(datetime.UTC)
    return ri.Release(number, now, Path(), record, {}, lambda: dict(tables))


def worlds(value: Any) -> list[tuple[Any, ...]]:
    """Every way to give the values of both groups to their people, as figures by person."""
    return [
        tuple(value(dose) for dose in (*one, *two))
        for one in permutations([1.0, 1.0, 4.0])
        for two in permutations([4.0, 9.0])
    ]


@pytest.mark.parametrize(
    ("answer", "value", "of_people"),
    [
        (lambda an: an.count(4.0, where="sex = f"), lambda dose: dose == 4, lambda x: x[0] + x[2] + x[4]),
        (lambda an: an.share(4.0, where="sex = f"), lambda dose: dose == 4, lambda x: (x[0] + x[2] + x[4]) / 3),
        (lambda an: an.mean(where="age <= 40"), lambda dose: dose, lambda x: sum(x[:4]) / 4),
        (
            lambda an: an.contrast(4.0, between={"sex": ("f", "m")}),
            lambda dose: dose == 4,
            lambda x: (x[0] + x[2] + x[4]) / 3 - (x[1] + x[3]) / 2,
        ),
        (
            lambda an: an.contrast(between={"sex": ("f", "m")}),
            lambda dose: dose,
            lambda x: (x[0] + x[2] + x[4]) / 3 - (x[1] + x[3]) / 2,
        ),
        (
            lambda an: an.contrast(4.0, between={"age": ((20, 30), (21, 40))}),
            lambda dose: dose == 4,
            lambda x: (x[0] + x[1] + x[2]) / 3 - (x[1] + x[2] + x[3]) / 3,
        ),
    ],
    ids=["count", "share", "mean", "contrast", "contrast of means", "contrast of groups that overlap"],
)
def test_values_placed_at_random_in_every_way(answer: Any, value: Any, of_people: Any) -> None:
    """Mean and standard deviation over all ways to place values; bounds hold in all, and for one group are attained."""
    found = answer(ri.analyse(as_release(ANATOMISED, FAITHFUL)))
    figures = np.array([of_people(world) for world in worlds(value)], dtype=np.float64)
    assert found["estimate"][0] == pytest.approx(figures.mean())
    assert found["error"][0] == pytest.approx(figures.std())
    assert found["low"][0] <= figures.min() + 1e-12
    assert found["high"][0] >= figures.max() - 1e-12
    assert found["interval"][0] == "certain"
    if "contrast" not in found.columns:
        assert (found["low"][0], found["high"][0]) == pytest.approx((figures.min(), figures.max()))


GENERALISED = pl.DataFrame(
    {
        "group": [1, 1, 1, 2, 2],
        "age_low": [20, 20, 20, 40, 40],
        "age_high": [29, 29, 29, 49, 49],
        "sex": ["{f,m}", "{f,m}", "{f,m}", "m", "m"],
        "illness": ["flu", "flu", "cold", "flu", "cold"],
    }
)


def test_generalised_by_hand() -> None:
    record = {**FAITHFUL, "form": "generalised"}
    an = ri.analyse(as_release({"table": GENERALISED}, record))
    found = an.count("flu", by={"age": [25, 40]}).sort("age")
    assert found["age"].to_list() == ["25 to 39", "40 and above", "below 25"]
    assert found["people"].to_list() == pytest.approx([1.5, 2, 1.5])
    assert found["estimate"].to_list() == pytest.approx([1, 1, 1])
    assert found["error"].to_list() == pytest.approx([np.sqrt(2 / 4), 0, np.sqrt(2 / 4)])
    assert found["low"].to_list() == [0, 1, 0]
    assert found["high"].to_list() == [2, 1, 2]
    by_sex = an.share("flu", by="sex").sort("sex")
    # Men are the two of group 2 for certain, and none to three of group 1.
    assert by_sex["low"].to_list() == pytest.approx([0, 1 / 3])
    assert by_sex["high"].to_list() == pytest.approx([1, 3 / 4])
    with pytest.raises(ri.errors.ParameterError, match="published as intervals"):
        an.count(by="age")


def test_bounds_only_where_they_are_certain() -> None:
    maker = {**FAITHFUL, "method": {"name": "MInvariance"}}
    hidden = ri.analyse(as_release(ANATOMISED, maker))
    assert hidden.share(4.0)["interval"][0] == "none"
    assert hidden.share(4.0)["low"][0] is None
    assert any("counterfeits" in note for note in hidden.notes)
    told = {**ANATOMISED, "counterfeits": pl.DataFrame({"group": [1], "count": [1]})}
    found = ri.analyse(as_release(told, maker)).count(4.0)
    # The one in group 1 may be made up, the one in group 2 is not.
    assert (found["low"][0], found["high"][0]) == (1, 2)
    assert ri.analyse(as_release(told, maker)).count()["low"][0] == 4
    for name in ("Mask", "HDComposition"):
        replaced = ri.analyse(as_release(ANATOMISED, {**FAITHFUL, "method": {"name": name}}))
        assert replaced.count(where="sex = f")["estimate"][0] == 3
        with pytest.raises(ri.errors.Infeasible, match="in the place of some"):
            replaced.share(4.0)
    with pytest.raises(ri.errors.Infeasible, match="no unbiased scores"):
        hidden.scores([4.0])


def test_a_value_or_a_label_may_be_of_some_releases_alone() -> None:
    """Nobody has it where it does not stand: that is a count of 0. What stands in no release is misspelt."""

    def release(at: int, sex: str, illness: list[str]) -> ri.Release:
        table = pl.DataFrame(
            {"group": [1, 1, 1], "age_low": [20] * 3, "age_high": [29] * 3, "sex": [sex] * 3, "illness": illness}
        )
        return as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": 3}, at)

    an = ri.analyse([release(1, "f", ["flu", "flu", "gout"]), release(2, "{f,m}", ["flu", "cold", "gout"])])
    assert an.count("cold")["estimate"].to_list() == [0, 1]
    assert an.contrast("cold", releases=(1, 2))["estimate"][0] == pytest.approx(1 / 3)
    assert an.count("flu", where="sex = m")["estimate"].to_list() == [0, 0.5]
    for wrong in (lambda: an.count("measles"), lambda: an.count(where="sex = x")):
        with pytest.raises(ri.errors.ParameterError, match="stand nowhere"):
            wrong()

    sets = [designs_of([0.2] * 5, 2, ("a", "b", "c", "d", last)) for last in ("e", "new")]
    both = ri.analyse([tables_of({"sex": ["f", "m"]}, [[0, 4], [1, 2]], one) for one in sets])
    assert both.share("new")["estimate"].to_list() == pytest.approx([0, both.only(2).share("new")["estimate"][0]])
    assert both.share("new")["high"][0] == 0
    assert both.scores(["new"])["new"].to_list()[:2] == [0, 0]
    assert both.trend("new").height == 3
    # Whoever has a value that is named later may be among the rare ones.
    rare = designs_of([0.2] * 5, 2, ("a", "b", "c", "d", "(other values)"))
    hiding = ri.analyse([tables_of({"sex": ["f", "m"]}, [[0, 4], [1, 2]], one) for one in (rare, sets[1])])
    with pytest.raises(ri.errors.Infeasible, match="may be among these"):
        hiding.share("new")


def test_numbers_may_be_of_some_releases_alone() -> None:
    sets = [designs_of([0.2] * 5, 2, (1.0, 2.0, 4.0, 8.0, last)) for last in (16.0, 32.0)]
    an = ri.analyse([tables_of({"sex": ["f", "m"]}, [[0, 4], [1, 2]], one, "dose") for one in sets])
    assert an.share((20, 40))["estimate"].to_list() == pytest.approx([0, an.only(2).share(32.0)["estimate"][0]])
    assert an.share(np.int64(4)).equals(an.share(4.0).with_columns(value=pl.lit("4")))
    with pytest.raises(ri.errors.ParameterError, match="what was asked for"):
        an.share((50, 60))


def test_whole_numbers_of_several_columns_stay_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"id": range(3000), "age": rng.integers(20, 60, 3000), "days": rng.integers(1, 6, 3000)})
    table = table.with_columns(ward=pl.Series(rng.choice(list("abcd"), 3000)))
    schema = ri.Schema(
        person="id",
        quasi={"age": ri.Numeric()},
        sensitive={"days": ri.Numeric(), "ward": ri.Categorical()},
        limits={"days": "3/4", "ward": "3/4"},
    )
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Alternatives(m=4, epsilon=2.0))) as series:
        an = ri.analyse(series.publish(table))
    assert an.table(columns="days")["days"].to_list() == ["1", "2", "3", "4", "5"]
    assert an.share(3).equals(an.share({"days": 3}))


def test_cuts_of_decimals_are_not_made_whole() -> None:
    """-0.5 is below 0, also where the cut is a whole number."""
    designs = designs_of([0.2] * 5, 2, tuple("abcde"))
    an = ri.analyse(tables_of({"change": [-1.5, -0.5, 0.0, 0.5]}, [[0, 1]] * 4, designs))
    assert an.count(by={"change": [0]})["people"].to_list() == [2, 2]
    assert an.count(by={"change": [-1, 0.25]})["people"].to_list() == [1, 2, 1]
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    dated = ri.analyse(tables_of({"day": days}, [[0, 1]] * 2, designs))
    assert dated.count(by={"day": [days[1]]})["people"].to_list() == [1, 1]
    with pytest.raises(ri.errors.ParameterError, match="must be dates"):
        dated.count(by={"day": [40]})


def test_bounds_hold_where_decimals_end() -> None:
    """Somebody may be just where a region of decimals ends: neither for certain inside nor for certain outside."""
    table = pl.DataFrame({"group": [1, 1], "t_low": [1.0] * 2, "t_high": [2.0] * 2, "illness": ["flu", "flu"]})
    an = ri.analyse(as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": 2}))
    for where, estimate, ends in (
        ("t >= 2", 0, (0, 2)),
        ("t > 2", 0, (0, 0)),
        ("t < 2", 2, (0, 2)),
        ("t <= 2", 2, (2, 2)),
        ("t = 1.5", 0, (0, 2)),
        ("t != 1.5", 2, (0, 2)),
        ("t in (0, 3)", 0, (0, 0)),
        ("t in (1, 2)", 0, (0, 2)),
        ("t != 3", 2, (2, 2)),
    ):
        found = an.count("flu", where=where)
        assert found["estimate"][0] == pytest.approx(estimate, abs=1e-9), where
        assert (found["low"][0], found["high"][0]) == ends, where
    whole = pl.DataFrame({"group": [1], "age_low": [20], "age_high": [29], "illness": ["flu"]})
    ages = ri.analyse(as_release({"table": whole}, {**FAITHFUL, "form": "generalised", "rows": 1}))
    assert ages.count(where="age in (20, 21, 21, 40)")["estimate"][0] == pytest.approx(0.2)
    assert ages.count(where="age != 20")["estimate"][0] == pytest.approx(0.9)


def test_conditions_on_a_column_that_groups_are_by() -> None:
    """What part of a region is in a group and satisfies a condition, counted age by age and label by label."""
    table = pl.DataFrame(
        {
            "group": [1] * 6 + [2] * 4,
            "age_low": [20] * 6 + [50] * 4,
            "age_high": [49] * 6 + [79] * 4,
            "sex": ["{f,m}"] * 6 + ["m"] * 4,
            "illness": ["flu"] * 10,
        }
    )
    an = ri.analyse(as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": 10}))
    every = {"below 40": range(40), "40 to 59": range(40, 60), "60 and above": range(60, 200)}
    for where, admitted in (
        ("age >= 40", lambda age: age >= 40),
        ("age > 30 and age < 55", lambda age: 30 < age < 55),
        ("age != 45", lambda age: age != 45),
        ("age in (25, 45, 75)", lambda age: age in (25, 45, 75)),
        ("age >= 20", lambda age: True),
    ):
        expected, low, high = {}, {}, {}
        for label, ages in every.items():
            parts = [
                sum(admitted(age) for age in ages if age in region) / 30 for region in (range(20, 50), range(50, 80))
            ]
            if any(parts):
                expected[label] = 6 * parts[0] + 4 * parts[1]
                low[label] = sum(count for count, part in zip((6, 4), parts, strict=True) if part == 1)
                high[label] = sum(count for count, part in zip((6, 4), parts, strict=True) if part)
        found = an.count("flu", by={"age": [40, 60]}, where=where)
        assert dict(zip(found["age"], found["estimate"], strict=True)) == pytest.approx(expected), where
        assert dict(zip(found["age"], found["low"], strict=True)) == low, where
        assert dict(zip(found["age"], found["high"], strict=True)) == high, where
    women = an.count(by="sex", where="sex = f")
    assert women.select("sex", "people", "low", "high").rows() == [("f", 3.0, 0.0, 6.0)]
    assert an.count(by="sex", where="sex != f")["people"].to_list() == [7.0]
    # One and the same question, asked as two groups: ages 20 to 39 are two thirds of the first region.
    apart = an.contrast("flu", between={"age": ((20, 39), (40, 49))}, by={"age": [45]})
    assert apart["age"].to_list() == ["below 45"]
    assert apart["people"][0] == pytest.approx(6 * 20 / 30 + 6 * 5 / 30)


@pytest.mark.parametrize("width", [10, 29, 36, 49, 100])
def test_whoever_is_in_a_list_of_all_numbers_is_in_it_for_certain(width: int) -> None:
    """A sum of parts of a region may be off from 1 by rounding, to either side."""
    table = pl.DataFrame({"group": [1], "age_low": [20], "age_high": [19 + width], "illness": ["flu"]})
    an = ri.analyse(as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": 1}))
    found = an.count("flu", where={"age": [*range(20, 20 + width)]})
    assert found.select("estimate", "low", "high").row(0) == (1.0, 1.0, 1.0)


def test_people_without_a_number_are_a_group_of_their_own() -> None:
    """As where numbers are exact; of a region that has some of them, any of its people may be one."""
    table = pl.DataFrame(
        {
            "group": [1, 1, 2, 2, 2],
            "age_low": [None, None, 20, 20, 20],
            "age_high": [None, None, 39, 39, 39],
            "age_missing": [True, True, True, True, True],
            "illness": ["flu", "cold", "flu", "flu", "cold"],
        }
    )
    an = ri.analyse(as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": 5}))
    found = an.count("flu", by={"age": [30]})
    assert found["age"].to_list() == ["below 30", "30 and above", None]
    assert found["estimate"].to_list() == pytest.approx([1, 1, 1])
    assert found["low"].to_list() == [0, 0, 1]
    assert found["high"].to_list() == [2, 2, 3]
    assert an.count("flu", by={"age": [30]}, where="age >= 30")["age"].to_list() == ["30 and above"]
    exact = {"quasi": pl.DataFrame({"age": [None, 20, 35], "group": [1, 1, 1]}),
             "sensitive": pl.DataFrame({"group": [1], "illness": ["flu"], "count": [3]})}  # fmt: skip
    assert ri.analyse(exact).count(by={"age": [30]})["age"].to_list() == ["below 30", "30 and above", None]


def test_a_difference_from_nobody_has_no_answer() -> None:
    """Of the two groups one has people, the other nobody."""
    sets = designs_of([0.2] * 5, 2, (1.0, 4.0, 9.0, 16.0, 25.0))
    people_of = {"sex": ["f", "m"], "age": [20, 30]}
    exact = pl.DataFrame({**people_of, "group": [1, 2], "dose": [1.0, 4.0]})
    for tables in ({"table": exact}, ANATOMISED, tables_of(people_of, [[0, 1], [1, 2]], sets)):
        found = ri.analyse(tables).contrast(4.0, between={"sex": ("f", "m")}, where="age = 20")
        assert found["people"][0] == 1
        assert found.select("estimate", "error", "low", "high", "interval").row(0) == (None, None, None, None, "none")


def test_people_who_are_withheld_are_told_of(tmp_path: Path) -> None:
    """Whose value changed is not there any more, so that no share after the first release is that of the table."""
    table = people(300, 4)
    changed = table.with_columns(illness=pl.when(pl.col("patient") < 60).then(pl.lit("flu")).otherwise("illness"))
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
    )
    method = ri.Alternatives(m=3, reference=SHARES, limit="2/3", changed="withhold")
    with ri.open(tmp_path / "clinic", ri.Policy(schema, method, checks=UNASKED)) as series:
        series.publish(table, seed=1)
        assert series.publish(changed, seed=2).tables["table"].height < 300
    an = ri.analyse(tmp_path / "clinic")
    assert any("against what the design declares are withheld" in note for note in an.notes)
    assert not any("withheld" in note for note in an.only(1).notes)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("k", [None, 4])
def test_times_are_compared_with_dates_and_times(zone: str | None, k: int | None, tmp_path: Path) -> None:
    """Of a column of times, also of one with a zone; in the zone of the column where none is said."""
    hours = [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=8 * at) for at in range(40)]
    table = pl.DataFrame({"patient": range(40), "at": pl.Series(hours).dt.replace_time_zone(zone)})
    table = table.with_columns(illness=pl.Series(list(SHARES) * 6).head(40))
    schema = ri.Schema(person="patient", quasi={"at": ri.Numeric()}, sensitive={"illness": ri.Categorical()})
    rule = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=k), checks=UNASKED)
    an = ri.analyse(draft(table, rule, seed=1).tables)
    day = datetime.date(2020, 1, 5)  # the 13th of them, and the first
    moment = datetime.datetime(2020, 1, 5, tzinfo=None if zone is None else datetime.UTC)
    asked = [
        an.count(where="at < 2020-01-05"),
        an.count(where={"at": (hours[0], moment - datetime.timedelta(hours=1))}),
    ]
    asked += [an.count(by={"at": [day]}), an.count(by={"at": [moment]}), an.count(where={"at": (day, None)})]
    for found, actual in zip(asked, (12, 12, 12, 12, 28), strict=True):
        if k is None:
            assert found["people"][0] == actual
        assert found["low"][0] <= actual <= found["high"][0]
    wrong: list[Any] = [5, "2020-02-30", "2020-01-01T00:00+25:00", datetime.time(3)]
    if zone is None:
        wrong.append(datetime.datetime(2020, 1, 5, tzinfo=datetime.UTC))
    for condition in wrong:
        with pytest.raises(ri.errors.ParameterError, match="dates or times is one of them"):
            an.count(where={"at": condition})


def test_groups_that_overlap_share_what_is_wrong_with_them() -> None:
    """A group differs from itself by 0 for certain; of two groups those count who are in one of them alone."""
    designs = designs_of([0.2] * 5, 2, tuple("abcde"))
    rng = np.random.default_rng(3)
    codes = np.stack([rng.permutation(5)[:2] for _ in range(60)])
    an = ri.analyse(tables_of({"age": np.arange(60)}, codes, designs))
    same = an.contrast("a", between={"age": ((0, 29), (0, 29))})
    assert (same["estimate"][0], same["low"][0], same["high"][0]) == (0, 0, 0)
    found = an.contrast("a", between={"age": ((0, 49), (10, 59))})
    score = an.scores(["a"])["a"].to_numpy()[[*range(10), *range(50, 60)]]
    assert found["error"][0] == pytest.approx(np.sqrt((score**2 - score).sum()) / 50)
    width = (found["high"] - found["low"])[0] / (2 * 1.959964 * found["error"][0])
    assert 1 < width < 1.4  # ten on either side are few


def test_whoever_is_in_one_group_is_not_in_the_other() -> None:
    """A difference of groups that regions are in by half, against people placed at random 4,000 times."""
    rng = np.random.default_rng(8)
    count, part = 400, 300
    ill = rng.random(count) < 0.4
    sex = np.where(np.arange(count) < part, "{f,m}", rng.choice(["f", "m"], count))
    table = pl.DataFrame({"group": np.arange(count), "sex": sex, "illness": np.where(ill, "flu", "cold")})
    an = ri.analyse(as_release({"table": table}, {**FAITHFUL, "form": "generalised", "rows": count}))
    women = np.where(sex == "{f,m}", rng.random((4_000, count)) < 0.5, sex == "f")
    apart = (women * ill).sum(1) / women.sum(1) - (~women * ill).sum(1) / (~women).sum(1)
    found = an.contrast("flu", between={"sex": ("f", "m")})
    assert found["error"][0] == pytest.approx(apart.std(), rel=0.06)
    # Of sets the draw adds to it; here it is the same whoever is where, so that the rest is what placing adds.
    designs = designs_of([0.2] * 5, 2, tuple("abcde"))
    codes = np.stack([rng.permutation(5)[:2] for _ in range(count)])
    record = {**FAITHFUL, "form": "alternatives", "rows": count, "groups": 9, "design": {"slots": 2}}
    record |= {"method": {"name": "Alternatives"}, "sensitive": [{"column": "v", "kind": "categorical"}]}
    sets = ri.analyse(as_release(tables_of({"sex": sex}, codes, designs), record))
    by_half = sets.contrast("a", between={"sex": ("f", "m")})["error"][0] ** 2
    score = sets.scores(["a"])["a"].to_numpy()
    w = np.where(sex == "{f,m}", 0.5, sex == "f")
    factor = [w / w.sum(), (1 - w) / (1 - w).sum()]
    ratio = [one @ score for one in factor]
    one, other = (f * (score - r) for f, r in zip(factor, ratio, strict=True))
    own = [f**2 * ((1 - 2 * r) * score + r**2) for f, r in zip(factor, ratio, strict=True)]
    mixed = factor[0] * factor[1] * (score - sum(ratio) * score + ratio[0] * ratio[1])
    drawn = ((one - other) ** 2 - own[0] - own[1] + 2 * mixed).sum()
    placing = sum((o * (1 - v))[v > 0] @ (1 / v[v > 0]) for o, v in zip(own, (w, 1 - w), strict=True))
    cross = 2 * mixed.sum()  # (0 - w v) f g / (w v): nobody is in both
    assert by_half == pytest.approx(drawn + placing + cross)


def test_releases_of_different_forms_are_not_put_together() -> None:
    sets = designs_of([0.2] * 5, 2, (1.0, 2.0, 4.0, 8.0, 16.0))
    both = ri.analyse([tables_of({"sex": ["f", "m"]}, [[0, 1], [1, 2]], sets, "dose"), ANATOMISED])
    assert both.share(4.0)["release"].to_list() == [1, 2]
    for ask in (lambda: both.trend(4.0), lambda: both.contrast(4.0, releases=(1, 2))):
        with pytest.raises(ri.errors.Infeasible, match="different forms"):
            ask()


def test_first_sets_of_lives_are_counted_and_later_ones_refused(tmp_path: Path) -> None:
    """Room for several lives at a value: it stands in a list as often as it has lives, and counts once."""
    shares = dict(zip("abcdefgh", (0.2, 0.16, 0.14, 0.12, 0.12, 0.1, 0.08, 0.08), strict=True))
    values = list(shares)
    chances = {one: {two: 0.7 * (one == two) + 0.3 * shares[two] for two in values} for one in values}
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical()})
    policy = ri.Policy(schema, ri.Alternatives(m=4, reference=shares, limit="3/4", change=chances))
    drawn = np.random.default_rng(3).choice(values, 400, p=list(shares.values()))
    table = people(400, 3).drop("sex").with_columns(illness=pl.Series(drawn))
    with ri.open(tmp_path / "lives", policy) as series:
        tables = series.publish(table).tables
        series.publish(table, allow=["same-state"], reason="so it is here")
    an = ri.analyse(tmp_path / "lives")
    first = an.only(1)
    assert sum(first.count(one)["estimate"][0] for one in values) == pytest.approx(400)
    found = first.table()
    truth = {one: table.filter(pl.col("illness") == one).height for one in values}
    assert all(abs(row["estimate"] - truth[row["value"]]) < 5 * row["error"] for row in found.rows(named=True))
    assert an.count(where="age >= 40")["release"].to_list() == [1, 2]
    with pytest.raises(ri.errors.Infeasible, match="lives that have moved on"):
        an.only(2).share("a")
    with pytest.raises(ri.errors.Infeasible, match="do not say whether lives have moved on"):
        ri.estimate(tables, {"illness": "a"})


def people(count: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "patient": np.arange(count),
            "age": rng.integers(20, 60, count),
            "sex": rng.choice(["female", "male"], count),
            "illness": rng.choice(list(SHARES), count, p=list(SHARES.values())),
        }
    )


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("analyse") / "clinic"
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
    )
    policy = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", change=0.2))
    with ri.open(folder, policy) as series:
        series.publish(people(300, 1).head(280))
        series.publish(people(300, 1).tail(280))
    return folder


def test_the_same_from_every_source(clinic: Path, tmp_path: Path) -> None:
    from reissue.tables.set_texts import without_lists

    with ri.open(clinic) as series:
        releases = series.releases
        tables = releases[1].tables
    export = tmp_path / "export"
    export.mkdir()
    for name, frame in tables.items():
        without_lists(frame).write_csv(export / f"{name}.csv")
    (export / "release.json").write_text((clinic / "public" / "0002" / "release.json").read_text())
    question: dict[str, Any] = {"by": {"age": [40], "sex": None}, "where": "age >= 30"}
    wanted = ri.analyse(clinic / "public" / "0002").share("flu", **question)
    assert wanted.columns == ["age", "sex", "value", "people", "estimate", "error", "low", "high", "interval"]
    for source in (export, releases[1], tables, [tables], {n: str(export / f"{n}.csv") for n in tables}):
        found = ri.analyse(source).share("flu", **question)
        assert found.drop("age", "sex").rows() == [pytest.approx(row) for row in wanted.drop("age", "sex").rows()]
    both = ri.analyse(clinic).share("flu", **question)
    assert both["release"].to_list() == [1] * 4 + [2] * 4
    assert ri.analyse([releases[0], releases[1]]).share("flu").equals(ri.analyse(clinic / "public").share("flu"))
    assert ri.analyse(clinic).only(2).share("flu", **question).equals(wanted)
    frame = ri.analyse({name: table.to_pandas() for name, table in tables.items()}).count(by="sex")
    assert type(frame).__module__.startswith("pandas")
    assert ri.analyse(clinic, frames="pyarrow").count().num_rows == 2


def test_tables_and_scores_add_up(clinic: Path) -> None:
    an = ri.analyse(clinic / "public" / "0001")
    table = an.table(by="sex")
    total = table.group_by("sex").agg(pl.col("estimate").sum(), pl.col("people").first())
    assert total["estimate"].to_list() == pytest.approx(total["people"].to_list())
    scores = an.scores()
    assert scores.select(pl.sum_horizontal(list(SHARES))).to_series().to_list() == pytest.approx([1.0] * 280)
    assert an.scores("flu").equals(an.scores(["flu"]))
    assert an.scores(["flu", ["gout", "ulcer"]]).columns == ["age", "sex", "release", "flu", "gout, ulcer"]
    assert ri.estimate(_tables(clinic, 1), {"illness": "flu"}) == pytest.approx(scores["flu"].sum())


def _tables(clinic: Path, number: int) -> dict[str, pl.DataFrame]:
    folder = clinic / "public" / f"{number:04}"
    return {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}


def test_regions_of_sets_say_that_they_are_spread() -> None:
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()}
    )
    rule = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=20))
    tables = draft(people(300, 2), rule, seed=1).tables
    an = ri.analyse(tables)
    assert any("spread evenly" in note for note in an.notes)
    people_found = an.count(by={"age": [33]})
    assert people_found["estimate"].sum() == pytest.approx(300)
    assert (people_found["low"] <= people_found["estimate"]).all()
    found = an.count("flu", by={"age": [33]})
    assert {*found["interval"]} == {"at least 95 %"}
    assert an.count("flu")["interval"][0] == "95 %"
    assert an.contrast("flu", between={"age": ((20, 30), (31, 59))})["interval"][0] == "at least 95 %"
    slope = an.slope("flu", on="age")
    assert slope["interval"][0] == "none"
    assert slope.select("low", "high").row(0) == (None, None)
    assert slope["error"][0] > 0
    whole = an.contrast("flu", between={"sex": ("female", "male")})
    cut = tables["table"]["sex"].cast(pl.String).str.contains(",").any()
    assert whole["interval"][0] == ("at least 95 %" if cut else "95 %")
    assert found["estimate"].sum() == pytest.approx(an.count("flu")["estimate"][0])
    assert (found["error"] > 0).all()


@pytest.mark.parametrize(("sure", "unsure"), [("110", "1000"), ("", "110"), ("1", "11"), ("00", ""), ("", "000")])
def test_bounds_of_shares_are_those_over_all_who_may_be_in_a_group(sure: str, unsure: str) -> None:
    counted = [
        Counted(*(np.array([float(figure)]) for figure in (len(one), one.count("1"), one.count("1"))))
        for one in (sure, unsure)
    ]
    groups = [
        [*sure, *(who for who, there in zip(unsure, chosen, strict=True) if there)]
        for chosen in product([False, True], repeat=len(unsure))
    ]
    shares = [group.count("1") / len(group) for group in groups if group]
    low, high = share_bounds(*counted)
    assert (low[0], high[0]) == pytest.approx((min(shares), max(shares)))


def test_bounds_of_means_are_those_over_all_who_may_be_in_a_group() -> None:
    values, sure, others = (1.0, 4.0, 9.0), (4.0, 4.0, 9.0), 3
    means = [np.mean([*sure, *chosen]) for size in range(others + 1) for chosen in product(values, repeat=size)]
    own = np.array([np.mean(sure)])
    low, high = mean_bounds(np.array([3.0]), (own, own), np.array([float(others)]), (1.0, 9.0))
    assert (low[0], high[0]) == pytest.approx((min(means), max(means)))
    assert mean_bounds(np.zeros(1), (own * np.nan,) * 2, np.ones(1), (1.0, 9.0)) == (np.array([1.0]), np.array([9.0]))


@pytest.mark.parametrize("target", ["table", "population"])
def test_intervals_of_small_labels_in_large_regions_hold(target: Any) -> None:
    """A label that few have stands beside frequent ones, and whoever has it has the flu: nothing is spread evenly."""
    rng, n = np.random.default_rng(3), 200
    gender = np.array(["female"] * 95 + ["male"] * 95 + ["other"] * 10)
    region = np.where(np.arange(n) % 4 == 0, "{female,male,other}", np.where(gender == "other", "{male,other}", gender))
    age = rng.integers(20, 60, n)
    low = np.where(np.arange(n) % 2 == 0, age, age // 10 * 10)
    high = np.where(np.arange(n) % 2 == 0, age, low + 9)
    designs = designs_of([1 / 6] * 6, 2, ("asthma", "flu", "gout", "heart", "migraine", "ulcer"))
    true = np.where((gender == "other") | (age % 10 < 4), 1, rng.integers(0, 6, n))
    flu = true == 1
    shares = {label: flu[gender == label].mean() for label in ("female", "male", "other")}
    old = age >= 44
    hits: dict[str, list[bool]] = {}
    for draws in range(60):
        words = lambda rows, _: rng.integers(0, 2**64, (rows.size, 16), dtype=np.uint64)  # noqa: E731
        sets = draw(designs.designs[0], true, words)
        an = ri.analyse(tables_of({"age_low": low, "age_high": high, "gender": region}, sets, designs))
        answers = [
            ("share", an.share("flu", by="gender", of=target).sort("gender"), list(shares.values())),
            ("count", an.count("flu", by="gender", of=target).sort("gender"),
             [flu[gender == label].sum() for label in shares]),
            ("age", an.share("flu", where="age >= 44", of=target), [flu[old].mean()]),
            ("both", an.contrast("flu", between={"gender": ("other", "female")}, of=target),
             [shares["other"] - shares["female"]]),
            ("table", an.table(where="gender = other", of=target).filter(pl.col("value") == "flu"), [10.0]),
        ]  # fmt: skip
        for name, found, truth in answers:
            assert {*found["interval"]} == {"at least 95 %"}
            assert (found["low"] <= found["estimate"].clip(0)).all()
            inside = pl.Series(truth).is_between(found["low"] - 1e-9, found["high"] + 1e-9)
            hits.setdefault(name, []).extend(inside.to_list())
        assert draws or an.slope("flu", on="age", where="gender = other")["interval"][0] == "none"
    assert all(np.mean(one) >= 0.95 for one in hits.values()), {name: np.mean(one) for name, one in hits.items()}


def test_means_of_groups_that_cut_through_regions_hold() -> None:
    """Of a column where some have no number too; who may be in the group has the largest, or none has any."""
    rng, n = np.random.default_rng(4), 120
    old = np.arange(n) % 3 == 0
    low = np.where(np.arange(n) % 2 == 0, np.where(old, 60, 30), 20)
    high = np.where(np.arange(n) % 2 == 0, low, 80)
    designs = designs_of([1 / 5] * 5, 2, (1.0, 2.0, 5.0, 30.0, None))
    true = np.where(old & (low == 20), rng.choice([3, 4], n), rng.integers(0, 3, n))
    numbers = np.array([1.0, 2.0, 5.0, 30.0, np.nan])[true]
    truth, held = np.nanmean(numbers[old]), []
    for _ in range(60):
        words = lambda rows, _: rng.integers(0, 2**64, (rows.size, 16), dtype=np.uint64)  # noqa: E731
        sets = draw(designs.designs[0], true, words)
        found = ri.analyse(tables_of({"age_low": low, "age_high": high}, sets, designs)).mean(where="age >= 50")
        assert found["interval"][0] == "at least 95 %"
        held.append(found["low"][0] <= truth <= found["high"][0])
    assert np.mean(held) >= 0.95


def test_changes_of_groups_that_cut_through_regions_hold(tmp_path: Path) -> None:
    """Over releases everybody's sex is in the region, and those of one sex get the flu."""
    schema = ri.Schema(person="patient", quasi={"sex": ri.Categorical()}, sensitive={"illness": ri.Categorical()})
    rule = ri.Policy(schema, ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=150, change=0.3), checks=UNASKED)
    first = people(200, 6).drop("age")
    ill = (pl.col("sex") == "male") & (pl.col("patient") < 150)
    second = first.with_columns(pl.when(ill).then(pl.lit("flu")).otherwise("illness").alias("illness"))
    with ri.open(tmp_path / "clinic", rule) as series:
        series.publish(first, seed=1)
        series.publish(second, seed=2)
    an = ri.analyse(tmp_path / "clinic")
    before, after = (
        one.filter(pl.col("sex") == "male").select(pl.col("illness") == "flu").to_series().mean()
        for one in (first, second)
    )
    for found in (
        an.contrast("flu", releases=(1, 2), where="sex = male"),
        an.trend("flu", where="sex = male").filter(pl.col("term") == "slope"),
    ):
        assert found["interval"][0] == "at least 95 %"
        assert found["low"][0] <= after - before <= found["high"][0]


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_intervals_of_small_labels_in_large_regions_hold")
def test_small_groups_of_a_line_list(tmp_path: Path) -> None:
    """Few of gender OTHER, few without an age: their regions hold many times as many."""
    names = ["Age Group", "Client Gender", "FSA"]
    cases = pl.read_parquet(FOLDER / "covid_linelists/toronto_releases.parquet").filter(
        pl.col("release").cast(pl.String) == "2020-08-01"
    )
    cases = cases.select("Assigned_ID", pl.col(*names, "Source of Infection").cast(pl.String).fill_null("no answer"))
    schema = ri.Schema(
        person="Assigned_ID", quasi={name: ri.Categorical() for name in names}, sensitive="Source of Infection"
    )
    rule = ri.Policy(schema, ri.Alternatives(m=4, limit="1/2", epsilon=1.0, k=10), checks=UNASKED)
    held, tiny = [], []
    for seed in range(5):
        with ri.open(tmp_path / str(seed), rule) as series:
            series.publish(cases, seed=seed)
        an = ri.analyse(tmp_path / str(seed))
        for name in ("Age Group", "Client Gender"):
            for value in ("Close contact", "Community"):
                has = pl.col("Source of Infection") == value
                truth = cases.group_by(name).agg(pl.len().alias("n"), has.mean().alias("share"), has.sum().alias("all"))
                for found, true in ((an.share(value, by=name), "share"), (an.count(value, by=name), "all")):
                    both = found.join(truth, on=name).with_columns(inside=pl.col(true).is_between("low", "high"))
                    held += both.filter(pl.col("interval") == "at least 95 %")["inside"].to_list()
                    tiny += both.filter(pl.col("n") < 30)["inside"].to_list()
    assert all(tiny)
    assert len(tiny) >= 60
    assert np.mean(held) >= 0.93


def test_a_column_may_have_any_name() -> None:
    """One called like what is worked with inside, published as sets of labels."""
    tables = {"table": pl.DataFrame({"group": [1, 1, 2], "region": ["{a,b}", "{a,b}", "a"], "illness": list("xyx")})}
    found = ri.analyse(tables).count(by="region").sort("region")
    assert found["estimate"].to_list() == [2.0, 1.0]


@pytest.mark.parametrize(
    "name", ["value", "release", "people", "estimate", "low", "contrast", "term", "per", "cluster", "at"]
)
def test_a_column_may_be_called_as_answers_have_theirs(name: str) -> None:
    """Groups are by it all the same, and scores keep it beside theirs."""
    designs = designs_of([0.2] * 5, 2, tuple("abcde"))
    rng = np.random.default_rng(4)
    releases = [
        tables_of({name: ["x", "y"] * 20}, np.array([rng.choice(5, 2, replace=False) for _ in range(40)]), designs, "v")
        for _ in range(2)
    ]
    an, same = (
        ri.analyse(releases),
        ri.analyse([{**one, "table": one["table"].rename({name: "town"})} for one in releases]),
    )
    for asked in (an, same):
        assert asked.count(by=name if asked is an else "town").height == 4
    for kind, more in (("share", {}), ("trend", {}), ("contrast", {"releases": (1, 2)})):
        mine, theirs = (getattr(one, kind)("a", by=by, **more) for one, by in ((an, name), (same, "town")))
        assert mine.rows() == theirs.rows()
    mine, theirs = (one.table(by=by) for one, by in ((an, name), (same, "town")))
    assert mine.rows() == theirs.rows()
    assert an.scores(["a"]).rows() == same.scores(["a"]).rows()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 60 and sex = female", {"age": Range(first=60.0), "sex": "female"}),
        ("age > 20 and age<=39", {"age": Range(20.0, 39.0, above=True)}),
        ("age >= 20 AND age > 30 and age < 50", {"age": Range(30.0, 50.0, above=True, below=True)}),
        ("town = heart failure", {"town": "heart failure"}),
        ("town in (a, 'b, c', d e)", {"town": ["a", "b, c", "d e"]}),
        ('"a and b" != "x = y"', {"a and b": Excluded(("x = y",))}),
        ("born >= 2001-02-03", {"born": Range(first="2001-02-03")}),
    ],
)
def test_conditions_as_text(text: str, expected: dict[str, object]) -> None:
    assert read_conditions(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "age", "age >", ">= 3", "age >= 3 and", "a = 1 or b = 2", "a in b", "a = 'b", "a = b and a = c", "a = (b)"],
)
def test_texts_that_say_nothing(text: str) -> None:
    with pytest.raises(ri.errors.ParameterError, match="cannot be read"):
        read_conditions(text)


def test_texts_select_the_same_people(clinic: Path) -> None:
    an = ri.analyse(clinic / "public" / "0001")
    table = an.scores(["flu"])
    for text, expression in (
        ("age > 30 and age <= 40", (pl.col("age") > 30) & (pl.col("age") <= 40)),
        ("sex != female and age < 25", (pl.col("sex") != "female") & (pl.col("age") < 25)),
        ("age in (21, 22)", pl.col("age").is_in([21, 22])),
        ("age = 33", pl.col("age") == 33),
        ("age != 33", pl.col("age") != 33),
    ):
        found = an.count("flu", where=text)
        assert found["people"][0] == table.filter(expression).height
        assert found["estimate"][0] == pytest.approx(table.filter(expression)["flu"].sum())


@pytest.mark.parametrize("method", [ri.Mondrian(k=30), ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=30)])
@pytest.mark.parametrize("exported", [False, True])
def test_nobody_without_a_number_is_certain_to_have_one(method: Any, exported: bool, tmp_path: Path) -> None:
    """A region says that some of its people have no number, not who: no bound may take them for people who have one."""
    table = people(400, 9).with_columns(age=pl.when(pl.col("patient") % 15 == 0).then(None).otherwise("age"))
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(missing="value"), "sex": ri.Categorical()},
        sensitive={"illness": ri.Categorical()},
    )
    with ri.open(tmp_path / "clinic", ri.Policy(schema, method, series="unprotected", checks=UNASKED)) as series:
        assert series.publish(table, seed=1).tables["table"]["age_missing"].any()
        series.export(tmp_path / "sent")
    an = ri.analyse(tmp_path / ("sent" if exported else "clinic"))
    known = table.filter(pl.col("age").is_not_null())
    for where, actual in (
        ("age >= 0", known.height),
        ("age != 200", known.height),
        ("age >= 40", known.filter(pl.col("age") >= 40).height),
    ):
        found = an.count(where=where)
        assert found["interval"][0] == "certain"
        assert found["low"][0] <= actual <= found["high"][0]
    having = an.count("flu", where="age >= 0")
    assert having["low"][0] <= known.filter(pl.col("illness") == "flu").height <= having["high"][0]
    assert having["interval"][0] == ("certain" if isinstance(method, ri.Mondrian) else "at least 95 %")
    assert an.slope("flu", on="age")["interval"][0] == "none"
    assert any("'age_missing' is true" in note for note in an.notes)
    with pytest.raises(ri.errors.ParameterError, match="no published column 'age_missing'"):
        an.count(by="age_missing")


def test_releases_that_are_not_there_are_told_of(clinic: Path, tmp_path: Path) -> None:
    for number, name in ((1, "0001"), (2, "0004")):
        shutil.copytree(clinic / "public" / f"{number:04}", tmp_path / "sent" / name)
    assert not any("Not here" in note for note in ri.analyse(tmp_path / "sent").notes)
    record = tmp_path / "sent" / "0004" / "release.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "number": 4}))
    an = ri.analyse(tmp_path / "sent")
    assert "Not here: release 2, 3. Trends and changes pass over what is missing." in an.notes
    # Three releases lie between them: the slope is the change by a third of that.
    change, trend = an.contrast("flu", releases=(1, 4)), an.trend("flu")
    assert trend["estimate"][-1] == pytest.approx(change["estimate"][0] / 3)
    record.unlink()
    with pytest.raises(ri.errors.TableError, match="'0004'"):
        ri.analyse(tmp_path / "sent")


def test_questions_that_are_slips(clinic: Path) -> None:
    an = ri.analyse(clinic / "public" / "0001")
    for ages in ((50, 30), (np.int64(50), 30.0), (float("nan"), 30), (30, float("nan")), float("nan"), [np.nan]):
        with pytest.raises(ri.errors.ParameterError, match=r"nobody is between|is a number, or a pair"):
            an.count(where={"age": ages})
    for cuts in ([float("nan")], [30, float("inf")], np.array([np.nan])):
        with pytest.raises(ri.errors.ParameterError, match="must be a list of numbers"):
            an.count(by={"age": cuts})
    with pytest.raises(ri.errors.ParameterError, match="A share is of a value"):
        an.share(None)
    nobody = an.share("flu", where={"age": (200, 300)})
    assert nobody.select("people", "estimate", "low", "high", "interval").row(0) == (0.0, None, None, None, "none")
    yes = {"table": pl.DataFrame({"group": [1, 1], "old": ["true", "false"], "illness": ["x", "y"]})}
    assert ri.analyse(yes).count(where={"old": np.bool_(True)})["people"][0] == 1


def test_wrong_questions(clinic: Path, tmp_path: Path) -> None:
    an = ri.analyse(clinic)
    for wrong, match in (
        (lambda: an.share("measles"), "stand nowhere"),
        (lambda: an.share("flu", by="illness"), "what is estimated"),
        (lambda: an.share("flu", by="height"), "no published column"),
        (lambda: an.share("flu", by={"sex": [3]}), "cannot be cut"),
        (lambda: an.share("flu", where="sex >= 3"), "no order"),
        (lambda: an.share("flu", of="everybody"), "must be one of"),
        (lambda: an.contrast("flu"), "two groups or between two releases"),
        (lambda: an.contrast("flu", between={"sex": ("female",)}), "two groups"),
        (lambda: an.contrast("flu", between={"sex": ("female", "male")}, where="sex = male"), "in `where`"),
        (lambda: an.contrast("flu", releases=(1, 9)), "no release 9"),
        (lambda: an.contrast("flu", releases=(1, 9)), "no release 9"),
        (lambda: an.only(), "No release is named"),
        (lambda: an.share([]), "list is empty"),
        (lambda: an.share("flu", by={"age": [datetime.date(2020, 1, 1)]}), "must be numbers"),
        (lambda: an.share("flu", by={"age": [20, datetime.date(2020, 1, 1)]}), "ascending"),
        (lambda: an.share("flu", by={"age": ["30"]}), "must be numbers"),
        (lambda: an.share("flu", by={"age": [10**400]}), "must be a list of numbers"),
        (lambda: an.share("flu", by=5), "a column, a list of columns"),
        (lambda: an.share("flu", by=[None]), "a column, a list of columns"),
        (lambda: an.share("flu", where=5), "conditions by column, or a text"),
        (lambda: an.share("flu", where=["age >= 60"]), "conditions by column, or a text"),
        (lambda: an.share("flu", where={"age": datetime.date(2020, 1, 1)}), "is a number, or a pair"),
        (lambda: an.share("flu", where={"age": 10**400}), "is a number, or a pair"),
        (lambda: an.share("flu", where={"age": None}), "is a number, or a pair"),
        (lambda: an.share("flu", where="age >= 60 and age >= old"), "with a number and with something else"),
        (lambda: an.contrast("flu", releases=5), "two numbers"),
        (lambda: an.contrast("flu", between="sex"), "two groups"),
        (lambda: an.slope("flu", on="age", column=["illness"]), "the name of one sensitive column"),
        (lambda: an.table(columns=[]), "names of sensitive columns"),
        (lambda: an.table(columns=5), "names of sensitive columns"),
        (lambda: an.scores([]), "a list of values"),
        (lambda: an.scores(5), "a list of values"),
        (lambda: an.only(1).trend("flu"), "several releases"),
        (lambda: an.mean(), "no mean"),
        (lambda: ri.analyse(tmp_path), "no release in"),
        (lambda: ri.analyse(tmp_path / "none"), "no folder"),
        (lambda: ri.analyse(3), "Got int"),
        (lambda: ri.analyse([]), "Got list"),
    ):
        with pytest.raises(ri.errors.ParameterError, match=match):
            wrong()
    (tmp_path / "release.json").write_text(json.dumps({"number": 1}))
    with pytest.raises(ri.errors.TableError, match="not the record"):
        ri.analyse(tmp_path)


@pytest.mark.parametrize(
    ("periods", "at", "unit"),
    [
        (("2025-11", "2025-12", "2026-04"), (0, 1, 5), "month"),
        (("2025-Q3", "2025-Q4", "2026-Q2"), (0, 1, 3), "quarter"),
        (("2019", "2020", "2024"), (0, 1, 5), "year"),
        (("2025-W51", "2025-W52", "2026-W02"), (0, 1, 3), "week"),
        (("2020-08-01", "2020-08-30", "2020-10-09"), (0, 29, 69), "day"),
        # From the middle of one to the middle of the next: 15.5, 45 (of 31 and 28 days), and 59 + 45.5 of 92 days.
        (("2026-01", "2026-02", "2026-03/2026-05"), (15, 44.5, 104.5), "day"),
        ((None, "2026-02", "2026-06"), (1, 2, 3), "release"),
        (("2026-01", "2026-02", "2026-02"), (1, 2, 3), "release"),
    ],
)
def test_a_trend_is_by_time_where_releases_have_periods(
    periods: tuple[str | None, ...], at: tuple[float, ...], unit: str
) -> None:
    """By hand: least squares through shares 2/5, 3/6 and 4/7; a release that was left out counts."""
    every = []
    for number, period in enumerate(periods, start=1):
        counts = pl.Series([2, number, 1, 1])
        quasi = pl.DataFrame({"group": [1] * (2 + number) + [2, 2]}).with_columns(age=30, sex=pl.lit("f"))
        tables = {"quasi": quasi, "sensitive": ANATOMISED["sensitive"].with_columns(count=counts)}
        record = {**FAITHFUL, "number": number, "rows": 4 + number, **({} if period is None else {"period": period})}
        every.append(as_release(tables, record, number))
    found = ri.analyse(every).trend(4.0)
    assert found["estimate"][:3].to_list() == pytest.approx([2 / 5, 3 / 6, 4 / 7])
    assert found["estimate"][3] == pytest.approx(np.polyfit(at, [2 / 5, 3 / 6, 4 / 7], 1)[0])
    assert found["per"].to_list() == [None, None, None, unit]
