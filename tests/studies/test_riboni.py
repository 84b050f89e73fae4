"""Riboni's study: formulas against fractions, counts against sets made by hand, and what the methods promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from reissue_studies.riboni import experiments as riboni
from reissue_studies.riboni import figures as riboni_figures
from reissue_studies.riboni.experiments import FULL, Setting
from reissue_studies.riboni.figures import FIGURES, formula_chart
from reissue_studies.riboni.rates import Rates
from reissue_studies.riboni.setting import domains

from reissue.errors import ParameterError
from reissue.methods import CorSplit, MInvariance
from reissue.model.grouping import Counterfeits
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.draft import Draft
from reissue.utility import Workload

TINY = Setting(rows=900, releases=4, m=4, n=3, queries=100, seed=5)
BOTH = ["m-invariance", "Cor-Split"]

Groups = list[tuple[frozenset[int], Counter[int]]]


@pytest.fixture(scope="module")
def released() -> pl.DataFrame:
    return riboni.releases(TINY)


@pytest.fixture(scope="module")
def drafts() -> dict[tuple[float, str], list[Draft]]:
    found: dict[tuple[float, str], list[Draft]] = {}
    for stream in TINY.streams:
        for run, (draft, _) in TINY.rehearse(stream, TINY.runs, lambda step: None):
            found.setdefault((stream.share, run.name), []).append(draft)
    return found


def groups_of(release: PublishedGroups) -> Groups:
    groups = []
    for g in range(release.group_count):
        members = release.members[release.member_starts[g] : release.member_starts[g + 1]].tolist()
        shown = slice(release.value_starts[g], release.value_starts[g + 1])
        values = Counter(dict(zip(release.values[shown].tolist(), release.counts[shown].tolist(), strict=True)))
        groups.append((frozenset(members), values))
    return groups


def correlated(one: tuple[frozenset[int], Counter[int]], other: tuple[frozenset[int], Counter[int]], n: int) -> bool:
    """By the letter of Definitions 3 and 7: fewer than n people on either side of a correlation."""
    shared = one[0] & other[0]
    return one[1] == other[1] and bool(shared) and 0 < len(one[0] - shared) < n


# Figure 2


def exact(p: Fraction, L: int, m: int, n: int) -> tuple[Fraction, Fraction, Fraction]:
    kept = (1 - p) ** L
    apart = (1 - (p - p / m) ** n) ** (L * (m // n))
    return 1 - kept, 1 - apart, (1 - kept * apart) ** (m - 1)


def test_the_curves_are_those_of_exact_fractions() -> None:
    found = riboni.formulas()
    assert found.columns == ["quantity", "p", "m", "n", "releases", "probability"]
    assert found.height == (4 + 3 + 3) * 24
    p = Fraction(1, 25)
    for row in found.iter_rows(named=True):
        if row["quantity"] == "p_ct":
            expected = 1 - (1 - Fraction(str(row["p"]))) ** row["releases"]
            assert row["m"] is row["n"] is None
        else:
            hc, breach = exact(p, row["releases"], 6, row["n"])[1:]
            expected = hc if row["quantity"] == "p_hc" else breach
            assert (row["p"], row["m"]) == (0.04, 6)
        assert row["probability"] == pytest.approx(float(expected), rel=1e-12)
    # The paper, of Figure 2(c): below 0.15 with n = 2 and below 0.1 with n = 3.
    breaches = found.filter(pl.col("quantity") == "p_pb", pl.col("releases") == 24)["probability"].to_list()
    assert breaches[0] > 0.9
    assert 0.1 < breaches[1] < 0.15
    assert breaches[2] < 0.1


def test_other_curves_and_their_chart() -> None:
    found = riboni.formulas((0.5,), p=0.2, m=3, n=(2,), releases=2)
    half, fifth = Fraction(1, 2), Fraction(1, 5)
    expected = [exact(half, L, 3, 2)[0] for L in (1, 2)]
    expected += [exact(fifth, L, 3, 2)[which] for which in (1, 2) for L in (1, 2)]
    assert found["probability"].to_list() == pytest.approx([float(one) for one in expected])
    chart = formula_chart(found, h=None)
    assert chart.data is found
    drawn = chart.drawing.to_dict()
    assert len(drawn["hconcat"]) == 3
    assert "(b) and (c): p = 0.2, m = 3" in drawn["title"]["subtitle"]
    usual = formula_chart().drawing.to_dict()
    assert usual["title"]["text"].startswith("Figure 2. ")
    assert "h = 0.1" in usual["title"]["subtitle"][-1]
    series = [{row["series"] for row in values_of(panel)} for panel in usual["hconcat"]]
    assert series[0] == {"p = 0.01", "p = 0.02", "p = 0.04", "p = 0.08"}
    assert series[1] == {"n = 1", "n = 2", "n = 3"}
    assert series[2] == {"n = 1", "n = 2", "n = 3"}


def values_of(panel: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [row for layer in panel.get("layer", []) for row in values_of(layer)]
    own = [row for row in panel.get("data", {}).get("values", []) if "series" in row]
    return own + inner


# The setting


def test_the_size_of_the_paper() -> None:
    first, second = FULL.streams
    assert (first.initial, first.turnover, first.releases) == (200_000, 20_000, 21)
    assert (second.initial, second.turnover, second.releases) == (60_000, 19_800, 24)
    assert (FULL.m, FULL.n, FULL.p, FULL.h, FULL.queries) == (6, 3, 0.04, 0.1, 10_000)
    # Figure 3 gives 2 where nobody is published more than 21 times; the paper takes 3 all the same.
    assert [FULL.n_chosen(stream) for stream in FULL.streams] == [2, 3]
    assert [run.method for run in FULL.runs] == [MInvariance(6), CorSplit(6, 3)]
    assert CorSplit(6, p=0.04, L=24, h=0.1).n == 3
    assert [stream.initial for stream in FULL.small_streams] == [2_000, 2_000]


@pytest.mark.parametrize("rows", [*range(200, 240), 999, 12_345, 30_000, 600_000])
def test_the_pool_lasts(rows: int) -> None:
    setting = Setting(rows=rows)
    for stream in (*setting.streams, *setting.small_streams):
        assert stream.initial + (stream.releases - 1) * stream.turnover <= rows
        assert abs(stream.turnover - stream.share * stream.initial) < 1


def test_both_methods_publish_the_same_tables(drafts: dict[tuple[float, str], list[Draft]]) -> None:
    for stream in TINY.streams:
        tables = list(TINY.states(stream))
        assert [table.height for table in tables] == [stream.initial] * 4
        for one, other in pairwise(tables):
            assert other.join(one, on="person", how="anti").height == stream.turnover
        for name in BOTH:
            made = drafts[stream.share, name]
            assert [draft.snapshot.people.size for draft in made] == [stream.initial] * 4
            assert all(draft.policy.form == "generalised" for draft in made)


def test_labels_are_numbers_in_the_order_of_their_hierarchy() -> None:
    pool, ranges = Setting(rows=20_000).pool, domains()
    assert ranges == {"age": (15, 93), "birthplace": (0, 56), "education": (0, 16)}
    for name, (low, high) in ranges.items():
        assert pool[name].dtype == pl.Int64
        assert (pool[name].min(), pool[name].max()) == (low, high)
    # London and the South East are neighbours, no schooling is the least, a doctorate the most; the young have none.
    assert pool.filter(pl.col("education") == 16)["age"].to_numpy().min() >= 26
    assert pool["salary"].n_unique() == 50


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n": 7}, "The 'n' parameter of Setting must be at most m = 6. Got 7 instead."),
        ({"m": 1}, "The 'm' parameter of Setting must be a whole number of at least 2. Got 1 instead."),
        ({"rows": 199}, "The 'rows' parameter of Setting must be a whole number of at least 200. Got 199 instead."),
        ({"releases": 0}, "The 'releases' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        ({"queries": 0}, "The 'queries' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        ({"p": 1.0}, "The 'p' parameter of Setting must be a number above 0 and below 1. Got 1.0 instead."),
        ({"h": True}, "The 'h' parameter of Setting must be a number above 0 and below 1. Got True instead."),
    ],
)
def test_parameters_out_of_range(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Setting(**given)
    assert str(caught.value) == said


def test_all_problems_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        Setting(p=0, h=2.0, n=9)
    assert len(caught.value.problems) == 3


# Figures 7 and 8


def test_unsafe_groups_are_those_of_the_definition(
    released: pl.DataFrame, drafts: dict[tuple[float, str], list[Draft]]
) -> None:
    for (share, name), made in drafts.items():
        groups = [groups_of(draft.view.releases[0]) for draft in made]
        before, ever = [], []
        for at, release in enumerate(groups):
            earlier = [other for past in groups[:at] for other in past]
            others = earlier + [other for later in groups[at + 1 :] for other in later]
            before.append(sum(any(correlated(one, other, 3) for other in earlier) for one in release))
            ever.append(sum(any(correlated(one, other, 3) for other in others) for one in release))
        mine = released.filter(pl.col("turnover") == share, pl.col("method") == name)
        assert mine["unsafe_when_published"].to_list() == before
        assert mine["unsafe"].to_list() == ever
        assert mine["groups"].to_list() == [len(release) for release in groups]
        assert sum(ever) == 0 if name == "Cor-Split" else sum(before) > 10


def test_counterfeits_and_merged_groups_are_those_of_the_tables(
    released: pl.DataFrame, drafts: dict[tuple[float, str], list[Draft]]
) -> None:
    for (share, name), made in drafts.items():
        mine = released.filter(pl.col("turnover") == share, pl.col("method") == name)
        for draft, row in zip(made, mine.iter_rows(named=True), strict=True):
            table = draft.tables["table"]
            fakes = 0 if draft.counterfeits is None else draft.counterfeits.height
            held = 0 if draft.held_back is None else draft.held_back.height
            assert row["counterfeits"] == fakes
            assert row["published"] == row["rows"] - held
            assert table.height == row["published"] + fakes
            often = table.group_by("group", "salary").len().group_by("group").agg(pl.col("len").max())
            assert row["merged"] == often.filter(pl.col("len") > 1).height
            assert row["per_mille"] == pytest.approx(1_000 * fakes / row["rows"])
            assert row["merged_share"] == row["merged"] / row["groups"]
    assert released.filter(pl.col("method") == "m-invariance")["merged"].sum() == 0
    assert released.filter(pl.col("method") == "Cor-Split")["merged"].sum() > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_no_group_of_cor_split_is_unsafe(seed: int) -> None:
    found = riboni.releases(Setting(rows=900, releases=4, seed=seed))
    totals = riboni.unsafe_totals(found)
    assert totals["method"].to_list() == BOTH * 2
    safe = totals.filter(pl.col("method") == "Cor-Split")
    assert safe.select("unsafe_when_published", "unsafe", "most", "share").sum().row(0) == (0, 0, 0, 0)
    assert totals.filter(pl.col("method") == "m-invariance")["unsafe_when_published"].to_numpy().min() > 5


def test_totals_by_hand() -> None:
    rows = [
        ("m-invariance", 1, 10, 10, 5, 0, 2, 1, 0, 2.0, 6.0),
        ("m-invariance", 2, 10, 10, 5, 2, 3, 4, 0, 4.0, 8.0),
        ("Cor-Split", 1, 10, 10, 4, 0, 0, 3, 1, 5.0, 7.0),
        ("Cor-Split", 2, 10, 9, 6, 0, 0, 2, 2, 4.0, 7.0),
    ]
    names = ("method", *riboni.COUNTS, "grouping", "drafting")
    found = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        turnover=pl.lit(0.1),
        per_mille=pl.col("counterfeits") / pl.col("rows") * 1_000,
        grouping_cpu=pl.lit(1.0),
        drafting_cpu=pl.col("release") * 1.0,
    )
    unsafe = riboni.unsafe_totals(found).to_dicts()
    first = {"turnover": 0.1, "method": "m-invariance", "groups": 10, "unsafe_when_published": 2, "unsafe": 5}
    assert unsafe[0] == {**first, "most": 2, "share": 0.2}
    made = riboni.counterfeit_totals(found).to_dicts()
    assert [row["most"] for row in made] == [4, 3]
    assert [row["last"] for row in made] == [4, 2]
    assert [row["most_per_mille"] for row in made] == [400, 300]
    assert [(row["merged"], row["merged_share"], row["held_back"]) for row in made] == [(0, 0, 0), (3, 0.3, 1)]
    times = riboni.time_totals(found).to_dicts()
    assert [row["grouping"] for row in times] == [6, 9]
    assert [row["grouping_ratio"] for row in times] == [1, 1.5]
    assert [row["drafting_ratio"] for row in times] == [1, 1]
    assert [row["drafting_cpu"] for row in times] == [3, 3]


def test_time_is_that_of_the_stages(released: pl.DataFrame) -> None:
    assert (released["drafting"] > released["grouping"]).all()
    assert (released["grouping"] > 0).all()


# Figure 9


def test_both_methods_are_asked_the_same_queries(drafts: dict[tuple[float, str], list[Draft]]) -> None:
    workload = Workload(dimensions=4, selectivity=0.05, count=200, seed=1, sensitive=False)
    one, other = (riboni.asked(drafts[0.1, name][-1], workload) for name in BOTH)
    assert one.form == "generalised"
    assert one.queries["actual"].equals(other.queries["actual"])
    assert not one.queries["estimated"].equals(other.queries["estimated"])


def test_a_number_that_only_a_counterfeit_has_does_not_shift_the_queries(
    drafts: dict[tuple[float, str], list[Draft]],
) -> None:
    workload = Workload(dimensions=4, selectivity=0.05, count=200, seed=1, sensitive=False)
    draft = drafts[0.33, "m-invariance"][0]
    without = replace(draft, grouping=replace(draft.grouping, counterfeits=None))
    table = next(TINY.states(TINY.streams[1]))
    unseen = next(age for age in range(93, 15, -1) if age not in set(table["age"].to_list()))
    row = (
        table.head(1)
        .drop("person")
        .with_columns(age=pl.lit(unseen, dtype=pl.Int64), salary=pl.col("salary").cast(pl.String))
    )
    made = Counterfeits(np.array([1]), np.array([0], dtype=np.int32), row)
    shifted = replace(draft, grouping=replace(draft.grouping, counterfeits=made))
    actual = [riboni.asked(one, workload).queries["actual"] for one in (without, shifted)]
    assert actual[0].equals(actual[1])


def test_queries_that_ask_for_everything_are_off_by_the_counterfeits(
    drafts: dict[tuple[float, str], list[Draft]],
) -> None:
    workload = Workload(dimensions=4, selectivity=1, count=5, seed=1, sensitive=False)
    for made in drafts.values():
        draft = made[-1]
        fakes = 0 if draft.counterfeits is None else draft.counterfeits.height
        held = 0 if draft.held_back is None else draft.held_back.height
        people = draft.snapshot.people.size
        assert fakes > 0
        assert riboni.asked(draft, workload).median == pytest.approx(abs(fakes - held) / people)


def test_errors_by_method_and_selectivity() -> None:
    found = riboni.query_errors(TINY, selectivities=(0.02, 0.1))
    assert found["turnover"].to_list() == [0.1] * 4 + [0.33] * 4
    assert (
        found["method"].to_list() == ["m-invariance"] * 2 + ["Cor-Split"] * 2 + ["m-invariance"] * 2 + ["Cor-Split"] * 2
    )
    assert found["selectivity"].to_list() == [0.02, 0.1] * 4
    assert found["answered"].to_list() == [100] * 8
    medians = found["median"].to_list()
    for at in (0, 1, 4, 5):
        assert found["ratio"][at] == 1
        assert found["ratio"][at + 2] == pytest.approx(medians[at + 2] / medians[at])
    first, second = FIGURES[9].tables(FIGURES[9].summary(found)).values()
    assert first.columns == ["selectivity", *BOTH, "ratio"]
    assert second.row(1) == (0.1, medians[5], medians[7], found["ratio"][7])


# Combinations


def test_three_releases_tie_what_no_two_do() -> None:
    both = ["cancer", "measles"]
    view = Published.from_groups(
        [
            [(["Ellen", "Frank"], both)],
            [(["Ellen", "Harry", "Ian", "Jane"], both * 2)],
            [(["Ian", "Jane"], both)],
        ]
    )
    found = riboni.linked(view, 2)
    # Frank and Harry have the same value (He's Example 4).
    assert found == {
        "seen": 5, "groups": 3, "unsafe": 0, "smallest": 1, "pairs": 1, "sets": 0, "people": 2, "only_combined": 2,
        "by_two_releases": 0, "share": 0.4, "proven": True,
    }  # fmt: skip


def test_several_groups_of_two_releases_tie_what_no_two_groups_do() -> None:
    both = ["cancer", "measles"]
    view = Published.from_groups(
        [
            [(["Ann", "Bob"], both), (["Cid", "Dan"], both)],
            [(["Ann", "Bob", "Cid", "Eve"], both * 2)],
        ]
    )
    found = riboni.linked(view, 2)
    # The two groups together differ from the one in Dan and Eve; alone neither publishes the same values as often.
    assert (found["unsafe"], found["people"], found["only_combined"], found["by_two_releases"]) == (0, 2, 2, 2)


def test_two_releases_tie_carl_to_erica() -> None:
    values = ["cancer", "bronchitis", "AIDS"]
    view = Published.from_groups(
        [
            [(["Alice", "Betty", "Carl"], values), (["Doris", "Erica", "Fiona"], values)],
            [(["Carl", "Doris", "Fiona"], values), (["Erica", "Grace", "Hanna"], values)],
        ]
    )
    ones = riboni.linked(view, 2)
    assert ones["by_two_releases"] is None
    assert (ones["unsafe"], ones["smallest"], ones["pairs"], ones["people"], ones["only_combined"]) == (2, 1, 1, 2, 0)
    # In pairs too everybody: Alice and Betty, Doris and Fiona, Grace and Hanna.
    twos = riboni.linked(view, 3)
    assert (twos["unsafe"], twos["smallest"], twos["people"], twos["only_combined"]) == (4, 1, 8, 0)
    assert riboni.linked(view, 1)["people"] == 0


def test_who_is_tied_by_two_groups_is_who_the_definition_says() -> None:
    setting = Setting(rows=400, releases=4, m=3, n=2, seed=3)
    stream = setting.streams[0]
    drafted = [draft for _, (draft, _) in setting.rehearse(stream, setting.runs[:1], lambda step: None)]
    view = Published(tuple(draft.view.releases[0] for draft in drafted), drafted[-1].view.values)
    tied: set[int] = set()
    for earlier, later in combinations(view.releases, 2):
        for one in groups_of(earlier):
            for other in groups_of(later):
                if correlated(one, other, 2):
                    tied |= one[0] ^ other[0]
    real = {person for person in tied if person >= 0}
    found: Any = riboni.linked(view, 2)
    assert len(real) > 20
    # Whoever two groups tie is among those whom any number of groups tie.
    assert found["people"] - found["only_combined"] == len(real)


@pytest.mark.parametrize("seed", [1, 4])
def test_combinations_are_closed_where_asked_for(seed: int) -> None:
    setting = Setting(rows=300, releases=5, m=4, n=3, seed=seed)
    found = riboni.combinations(setting)
    assert found["method"].to_list() == [*BOTH, "Cor-Split, combinations"] * 2
    assert found["rows"].to_list() == [100] * 3 + [30] * 3
    assert found["proven"].all()
    split = found.filter(pl.col("method") == "Cor-Split")
    assert split["unsafe"].to_list() == [0, 0]
    # No two groups tie anybody, so whoever is tied is so by more.
    assert split["people"].to_list() == split["only_combined"].to_list()
    assert split["people"].sum() > 0
    assert (split["by_two_releases"] <= split["people"]).all()
    closed = found.filter(pl.col("method") == "Cor-Split, combinations")
    assert closed.select("unsafe", "pairs", "sets", "people").sum().row(0) == (0, 0, 0, 0)
    assert closed["smallest"].null_count() == 2
    plain = found.filter(pl.col("method") == "m-invariance")
    assert (plain["people"] > split["people"]).all()


# Drawing


def test_progress_is_as_long_as_it_says() -> None:
    setting = Setting(rows=300, releases=2, m=3, n=2, queries=20)
    for number, expected in {2: 1, 7: 1 + 2 * 2 * 3, 9: 2 * 2 * 3, 11: 2 * 3 * 3}.items():
        told: list[str] = []
        FIGURES[number].measure(setting, progress=told.append)
        assert len(told) == FIGURES[number].steps(setting) == expected
    assert told[0] == "10% leave and come, m-invariance, release 1 of 2"
    assert told[-1] == "33% leave and come, Cor-Split, combinations, combining releases"


def test_figures_7_8_and_10_are_drawn_from_the_same_runs(released: pl.DataFrame) -> None:
    assert len({FIGURES[number].measure for number in (7, 8, 10)}) == 1
    rows = {7: 2, 8: 3, 10: 2}
    for number, panels in rows.items():
        figure = FIGURES[number]
        chart = figure.draw(released, TINY)
        assert chart.data.columns[:3] == ["turnover", "method", "release"]
        drawn = chart.drawing.to_dict()
        assert drawn["title"]["text"].startswith(f"Figure {number}. ")
        assert [len(row["hconcat"]) for row in drawn["vconcat"]] == [2] * panels
        assert {row["series"] for row in values_of(drawn["vconcat"][0]["hconcat"][1])} == {*BOTH}
        tables = figure.tables(figure.summary(released))
        assert list(tables) == ["10% leave and come", "33% leave and come"]
        assert all(table["method"].to_list() == BOTH for table in tables.values())
    said = FIGURES[7].draw(released, FULL).drawing.to_dict()["title"]["subtitle"]
    assert "L = 21: 2; L = 24: 3. The paper takes 3 for both streams" in said[-1]
    assert "not in the paper" in FIGURES[10].draw(released, TINY).drawing.to_dict()["title"]["subtitle"][-1]


def test_what_was_not_searched_to_the_end_is_said() -> None:
    figure, columns = FIGURES[11], ("unsafe", "smallest", "pairs", "sets", "people", "only_combined", "by_two_releases")
    row = {"turnover": 0.1, "method": "Cor-Split", **dict.fromkeys(columns, 1), "proven": False}
    said = figure.draw(pl.DataFrame([row]), TINY).drawing.to_dict()["title"]["subtitle"]
    assert said[-1] == "there may be more than were found: Cor-Split (10%)"
    said = figure.draw(pl.DataFrame([{**row, "proven": True}]), TINY).drawing.to_dict()["title"]["subtitle"]
    assert said[-1] == "searched to the end: there are no others"


def test_rates_beside_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = riboni.rates_of(Setting(rows=300_000, m=5, n=2, p=0.1, seed=7))
    assert (asked.people, asked.paper, asked.seed) == (Rates().people, (5, 2, 0.1, 21), 7)
    assert riboni.rates_of(TINY).people == 300
    few = Rates(people=60, m=(2,), p=(0.3,), L=(3,), rounds=3, paper=(4, 3, 0.1, 4))
    monkeypatch.setattr(riboni, "rates_of", lambda setting: few)
    figure, told = FIGURES[12], list[str]()
    found = figure.measure(TINY, progress=told.append)
    # m-invariance and Cor-Split with n = 1 and 2; then both as in the paper, and with combinations.
    assert len(told) == figure.steps(TINY) == 6
    paper, common = figure.tables(figure.summary(found)).values()
    assert {*paper["series"].to_list()} == {"m-invariance", "Cor-Split, n = 3", "Cor-Split, n = 3, combinations"}
    assert {*common["series"].to_list()} == {"m-invariance", "Cor-Split, n = 1", "Cor-Split, n = 2"}
    assert common["quantity"].unique().sort().to_list() == sorted(riboni_figures.QUANTITIES)
    drawn = figure.draw(found, TINY).drawing.to_dict()
    assert len(drawn["concat"]) == 4
    assert drawn["title"]["text"] == "Figure 12. Observed rates against the formulas"
