"""Questions of one's own: read from texts, and answered beside the truth and beside no link at all."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.utility.analysing.conditions import Range


def table(count: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, count)
    ill = np.where(rng.random(count) < (age - 10) / 100, "flu", rng.choice(["asthma", "cancer", "gout"], count))
    return pl.DataFrame(
        {"id": range(count), "age": age, "sex": rng.choice(["f", "m"], count), "site": rng.choice(list("abcd"), count),
         "illness": ill}
    )  # fmt: skip


policy_of = partial(ri.Policy, checks=NOTHING_ASKED)
"""Tables here are invented for questions, and what checks would ask about them is meant."""
SCHEMA = ri.Schema(
    "id", {"age": ri.Numeric(), "sex": ri.Categorical(), "site": ri.Categorical()}, {"illness": ri.Categorical()}
)
QUESTIONS = [
    "share of flu by sex where age >= 50",
    "count of flu by age:40,60 and sex",
    "slope of flu on age",
    "slope of flu on age by site where sex = f",
    "contrast of flu between sex = f and m where site in (a, b)",
    "count by site",
]


def measured(
    folder: Path, method: object, form: str, questions: list[object], rows: pl.DataFrame | None = None
) -> object:
    with ri.open(folder / "series", policy_of(SCHEMA, method, form=form)) as series:  # type: ignore[arg-type]
        series.publish(table() if rows is None else rows, seed=5)
        return series.utility(1, questions=questions)  # type: ignore[arg-type]


def slope(rows: pl.DataFrame) -> float:
    x, y = rows["age"].to_numpy().astype(float), (rows["illness"] == "flu").to_numpy().astype(float)
    return float(np.polyfit(x, y, 1)[0])


def truths(rows: pl.DataFrame) -> list[float]:
    """The same by hand, in the order of the questions and their groups."""
    flu = pl.col("illness") == "flu"
    share = rows.filter(pl.col("age") >= 50).group_by("sex").agg(flu.mean()).sort("sex")["illness"].to_list()
    bins = [(0, 39), (40, 59), (60, 200)]
    counts = [
        rows.filter(flu, pl.col("age").is_between(*ends), pl.col("sex") == sex).height for ends in bins for sex in "fm"
    ]
    slopes = [slope(rows.filter(pl.col("sex") == "f", pl.col("site") == site)) for site in "abcd"]
    some = rows.filter(pl.col("site").is_in(["a", "b"]))
    f, m = (some.filter(pl.col("sex") == sex).select(flu.mean()).item() for sex in "fm")
    sites = [rows.filter(pl.col("site") == site).height for site in "abcd"]
    return [*share, *counts, slope(rows), *slopes, f - m, *sites]


@pytest.mark.parametrize(
    ("method", "form"),
    [
        (ri.Alternatives(m=3, limit="2/3", epsilon=1), "alternatives"),
        (ri.Mondrian(k=10), "generalised"),
        (ri.Mondrian(k=10), "anatomised"),
    ],
)
def test_the_truth_stands_beside_answers(tmp_path: Path, method: object, form: str) -> None:
    found = measured(tmp_path, method, form, QUESTIONS).answers  # type: ignore[attr-defined]
    assert found.each["truth"].to_list() == pytest.approx(truths(table()))
    assert found.each["estimate"].null_count() == 0 and found.each["unanswered"].null_count() == found.each.height
    whole = (table()["illness"] == "flu").mean()
    shares = found.each.filter(pl.col("question") == QUESTIONS[0])
    assert shares["no_link"].to_list() == pytest.approx([whole, whole])
    counts = found.each.filter(pl.col("question") == QUESTIONS[1])
    assert counts["no_link"].to_list() == pytest.approx([people * whole for people in counts["people"]])
    assert (found.each.filter(pl.col("kind").is_in(["slope", "contrast"]))["no_link"] == 0).all()
    inside = (found.each["low"] - 1e-9 <= found.each["truth"]) & (found.each["truth"] <= found.each["high"] + 1e-9)
    assert found.each["inside"].to_list() == inside.to_list()


def test_answers_are_those_of_analyse(tmp_path: Path) -> None:
    with ri.open(tmp_path / "s", policy_of(SCHEMA, ri.Alternatives(m=3, limit="2/3", epsilon=1))) as series:
        release = series.publish(table())
        answers = series.utility(1, questions=[ri.Ask("share", ["flu", "gout"], by="site")]).answers
    assert answers is not None
    own = ri.analyse(release).share(["flu", "gout"], by="site")
    assert answers.each.select("estimate", "error", "low", "high").equals(
        own.select("estimate", "error", "low", "high")
    )
    expected = answers.each.select(pl.corr("truth", "estimate", method="spearman")).item()
    assert answers.questions["rank"][0] == pytest.approx(expected)


def test_what_an_exact_release_says_is_the_truth(tmp_path: Path) -> None:
    """Anatomised groups in which all have the same value tell everything."""
    rows = table(400).with_columns(site=pl.col("illness"), age=pl.lit(30), sex=pl.lit("f"))
    found = measured(tmp_path, ri.Mondrian(k=2), "generalised", ["share of flu by site"], rows).answers  # type: ignore[attr-defined]
    assert found.each["estimate"].to_list() == found.each["truth"].to_list() and found.kept == pytest.approx(1)


def test_intervals_of_slopes_hold_the_truth(tmp_path: Path) -> None:
    """Over many draws of the same table, about 95 of 100 do; and slopes are right on average."""
    rows, held, off = table(800), 0, []
    truth = slope(rows)
    draws, policy = 60, policy_of(SCHEMA, ri.Alternatives(m=3, limit="2/3", epsilon=1))
    for seed in range(draws):
        draft = ri.preview(tmp_path / "s", rows, policy, seed=seed)
        found = ri.analyse(draft.tables).slope("flu", on="age")
        held += found["low"][0] <= truth <= found["high"][0]
        off.append((found["estimate"][0] - truth) / found["error"][0])
    assert held >= 0.85 * draws  # 51 of 60: less has a chance below 1 in 500
    assert abs(np.mean(off)) < 3.5 / np.sqrt(draws) and 0.7 < np.std(off) < 1.35


def test_a_hidden_value_is_unanswered_and_says_why(tmp_path: Path) -> None:
    rows = table().with_columns(illness=pl.when(pl.col("id") < 4).then(pl.lit("scurvy")).otherwise("illness"))
    found = measured(
        tmp_path,
        ri.Alternatives(m=3, limit="2/3", epsilon=1),
        "alternatives",
        ["share of scurvy", "share of flu"],
        rows,
    )
    each = found.answers.each  # type: ignore[attr-defined]
    assert each["truth"][0] == pytest.approx(4 / 3000) and each["estimate"][0] is None
    assert "(other values)" in each["unanswered"][0] and each["unanswered"][1] is None


def test_all_wrong_questions_are_told_at_once(tmp_path: Path) -> None:
    wrong: list[object] = [
        "share of nothing",
        "share of flu by nowhere",
        "slope of flu on sex",
        "share of flu",
    ]
    with pytest.raises(ParameterError) as caught:
        measured(tmp_path, ri.Mondrian(k=10), "generalised", wrong)
    assert [line.split(":")[0] for line in caught.value.problems] == [f"question {at}" for at in (1, 2, 3)]


def test_texts() -> None:
    read = ri.Ask.read("contrast of ward = surgery and days >= 5 between sex = female and male by age:40,60 and town")
    assert read.value == {"ward": "surgery", "days": Range(first=5)}
    assert read.between == {"sex": ("female", "male")} and read.by == {"age": [40, 60], "town": None}
    read = ri.Ask.read('share of "stung by a bee" by sex where age >= 60 and town in (a, b)')
    assert read.value == "stung by a bee" and read.where == {"age": Range(first=60), "town": ["a", "b"]}
    assert ri.Ask.read("slope of mean of days on age").column == "days"
    assert ri.Ask.read("mean of days by sex").column == "days"
    assert str(read).startswith("share of")


@pytest.mark.parametrize(
    "text",
    ["", "flu", "share", "share of", "share flu", "mean between sex = f and m", "slope of flu", "share of flu on age",
     "contrast of flu between sex and m", "share of flu by age:x", "share of 'flu", "count of flu where age"],
)  # fmt: skip
def test_texts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ParameterError):
        ri.Ask.read(text)


@pytest.mark.parametrize("form", ["alternatives", "anatomised", "generalised"])
def test_bias_and_coverage_of_made_questions(tmp_path: Path, form: str) -> None:
    numbers = table().with_columns(
        illness=pl.col("illness").replace_strict({"flu": 1, "asthma": 2, "cancer": 3, "gout": 4})
    )
    schema = ri.Schema("id", SCHEMA.quasi, {"illness": ri.Numeric()})
    method = ri.Alternatives(m=3, limit="2/3", epsilon=1) if form == "alternatives" else ri.MInvariance(m=2)
    with ri.open(tmp_path / "s", policy_of(schema, method, form=form)) as series:  # type: ignore[arg-type]
        series.publish(numbers, seed=2)
        found = series.utility(1, workload=ri.Workload(2, 0.1, 50, seed=4))
    for answers in (found.shares, found.means):
        assert answers is not None and answers.bias is not None and answers.answered >= 5
        away = answers.each["estimate"] - answers.each["truth"]
        assert answers.bias == pytest.approx(away.mean())
        if form == "alternatives":
            assert answers.coverage is not None and answers.coverage >= 0.6 and abs(answers.bias) < 0.5
        else:
            assert answers.coverage is None
            assert any("no interval" in line[2] for line in answers.lines("shares"))
    assert found.to_dict()["shares"]["answered"] == found.shares.answered  # type: ignore[union-attr]


def test_what_gradients_leave_out_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    quasi = {f"q{at}": rng.integers(0, 3, 900) for at in range(14)}
    rows = pl.DataFrame({"id": range(900), **quasi, "v": [f"v{one}" for one in rng.integers(0, 9, 900)]})
    schema = ri.Schema("id", dict.fromkeys(quasi, ri.Numeric()), "v")
    with ri.open(tmp_path / "s", policy_of(schema, ri.Mondrian(k=5))) as series:
        series.publish(rows)
        found = series.utility(1, questions=["slope of v8 on q13"])
    assert found.gradients is not None and found.gradients.columns_left_out == ("q12", "q13")
    assert found.gradients.values_left_out == 3 and found.gradients.to_dict()["values_left_out"] == 3
    assert found.answers is not None and found.answers.answered == 1


def test_all_that_cannot_be_read_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as caught:
        measured(tmp_path, ri.Mondrian(k=10), "generalised", ["what?", "share of flu", "share of a = <30"])
    assert [line.split(":")[0] for line in caught.value.problems] == ["question 1", "question 3"]


def test_columns_that_look_like_ends_of_an_interval(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = table().with_columns(
        bp_low=pl.Series(rng.integers(60, 90, 3000)), bp_high=pl.Series(rng.integers(100, 160, 3000))
    )
    schema = ri.Schema("id", {name: ri.Numeric() for name in ("bp_low", "bp_high")}, "illness")
    for method in (ri.Alternatives(m=3, limit="2/3", epsilon=1), ri.Mondrian(k=10)):
        with ri.open(tmp_path / method.name, policy_of(schema, method)) as series:
            series.publish(rows.drop("age", "sex", "site"), seed=1)
            found = series.utility(1, questions=["count of flu where bp_low >= 75 and bp_high >= 120"]).answers
        assert found is not None and found.each["unanswered"][0] is None
        wanted = rows.filter(pl.col("bp_low") >= 75, pl.col("bp_high") >= 120, pl.col("illness") == "flu").height
        assert found.each["truth"][0] == wanted and abs(found.each["estimate"][0] - wanted) < 0.5 * wanted


def test_columns_with_a_hierarchy(tmp_path: Path) -> None:
    tree = ri.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d"]}})
    schema = ri.Schema("id", {"age": ri.Numeric(), "site": tree}, "illness")
    with ri.open(tmp_path / "s", policy_of(schema, ri.Mondrian(k=100))) as series:
        series.publish(table().drop("sex"))
        asked = series.utility(1, questions=["share of flu by site"], workload=ri.Workload(2, 0.2, 20, seed=1))
    assert asked.answers is not None and asked.shares is not None and asked.shares.answered > 50
    wanted = table().group_by("site").agg((pl.col("illness") == "flu").mean()).sort("site")["illness"].to_list()
    assert asked.answers.each["truth"].to_list() == pytest.approx(wanted)
    assert asked.answers.each["inside"].all()
