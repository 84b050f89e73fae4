"""Byun's study: the counts of Figure 8 against sets made by hand, and what the methods promise in Figures 9 to 11."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import real_data
from adult_file import write_adult
from profiles import seeds
from real_data import needs
from reissue_studies.byun import experiments as byun
from reissue_studies.byun import figures as byun_figures
from reissue_studies.byun import setting as byun_setting
from reissue_studies.byun.experiments import Run, Setting
from reissue_studies.wong.people import people

from reissue.errors import ParameterError
from reissue.methods import Incremental, StaticI, StaticII

SETTING = Setting(rows=900, initial=500, step=200, l=(3,), seed=4)
SMALL = Setting(rows=600, initial=300, step=100, l=(3, 4), waiting=(0, 0.05, 1), seed=2)


@pytest.fixture(scope="module")
def grown() -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byun, "PASSES", 1)
        return byun.growing(SMALL)


def test_counts_are_those_of_sets_made_by_hand() -> None:
    found = byun.vulnerable(SETTING).filter(pl.col("method") == "Static I")
    view = byun.published(SETTING, Run(StaticI(3)))
    places: list[dict[int, frozenset[int]]] = []
    values: list[dict[frozenset[int], list[int]]] = []
    for release in view.releases:
        groups = {}
        where = {}
        for g in range(release.group_count):
            members = frozenset(release.members[release.member_starts[g] : release.member_starts[g + 1]].tolist())
            shown = slice(release.value_starts[g], release.value_starts[g + 1])
            groups[members] = [
                value
                for value, often in zip(release.values[shown].tolist(), release.counts[shown].tolist(), strict=True)
                for _ in range(often)
            ]
            where.update(dict.fromkeys(members, members))
        places.append(where)
        values.append(groups)
    narrow, both = [], []
    for later in range(3):
        few: set[int] = set()
        fewest: set[int] = set()
        for earlier in range(later):
            for person, one in places[earlier].items():
                other = places[later][person]
                left = set(values[earlier][one]) & set(values[later][other])
                if len(left) < 3:
                    fewest.add(person)
                    if len({places[later][member] for member in one}) <= 2:
                        few.add(person)
        narrow.append(len(few))
        both.append(len(fewest))
    assert found["narrow"].to_list() == narrow
    # Newcomers can be vulnerable too, so comparing people who are in both is a lower bound.
    assert all(all_of_them >= some for all_of_them, some in zip(found["vulnerable"].to_list(), both, strict=True))
    assert found["vulnerable"].to_list()[0] == 0
    assert found["vulnerable"].to_list()[-1] > 100
    assert found["records"].to_list() == found["published"].to_list() == [500, 700, 900]
    assert found["share"].to_list() == [v / r for v, r in found.select("vulnerable", "published").iter_rows()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_only_static_i_is_vulnerable(seed: int) -> None:
    found = byun.vulnerable(Setting(rows=600, initial=300, step=100, l=(3,), waiting=(0, 0.05), seed=seed))
    last = found.group_by(byun_figures.RUN, maintain_order=True).last()
    names = ["Static I", "Static II", *["Incremental", "Incremental, strict"] * 2]
    assert last["method"].to_list() == names
    assert last["allowed"].to_list() == [None, None, 0.0, 0.0, 0.05, 0.05]
    assert last["vulnerable"][0] > 50
    safe = found.filter(pl.col("method") != "Static I")
    assert safe.select("vulnerable", "cumulative", "narrow", "certain").sum().row(0) == (0, 0, 0, 0)
    # What all releases together leave is asked for our own method, once they are all out.
    assert last["together"].is_null().to_list() == [True, True, False, False, False, False]
    assert found.filter(pl.col("release") < 4)["together"].null_count() == 6 * 3
    strict = last.filter(pl.col("method") == "Incremental, strict")
    assert strict["together"].to_list() == strict["unsettled"].to_list() == [0, 0]


class _Cut:
    """Worlds that had no time: of five people one is proven to have two values, and three to have three."""

    def __init__(self, *, seconds: float) -> None:
        assert seconds == byun.SECONDS

    def run(self, view: object) -> Any:
        import numpy as np

        from reissue.attacks.worlds.worlds_diversity import PossibleValues

        least, most = np.array([1, 3, 3, 2, 3]), np.array([2, 4, 3, 5, 9])
        found = type("Found", (), {})()
        found.possible = PossibleValues(np.arange(5), np.arange(5), least, most)
        return found


def test_what_was_cut_short_is_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byun, "Worlds", _Cut)
    figure = byun_figures.FIGURES[8]
    measured = figure.measure(Setting(rows=400, initial=200, step=200, l=(3,)), progress=lambda step: None)
    ours = measured.filter(pl.col("method") == "Incremental")
    assert ours["together"].to_list() == [None, 1]
    assert ours["unsettled"].to_list() == [None, 1]
    shown = figure.tables(figure.summary(measured))["l = 3"]
    assert shown["method"].to_list() == ["Static I", "Static II", "Incremental", "strict"]
    assert shown["together"].to_list() == [None, None, "1 or more", "1 or more"]
    said = figure.draw(measured, SETTING).drawing.to_dict()["title"]["subtitle"]
    assert "2 people of Incremental, as far as was proven; for 2 it was not settled" in said[-1]


def test_everybody_is_published_or_waits(grown: pl.DataFrame) -> None:
    assert grown.height == 2 * 8 * 6
    assert grown["records"].to_list() == [100, 200, 300, 400, 500, 600] * 16
    assert (grown["published"] + grown["waiting"]).to_list() == grown["records"].to_list()
    assert grown["share"].to_list() == [w / r for w, r in grown.select("waiting", "records").iter_rows()]
    # By hand: each record that waits has lost all four attributes.
    expected = (pl.col("loss") * pl.col("published") + 4 * pl.col("waiting")) / pl.col("records")
    assert grown.select((pl.col("loss_of_all") - expected).abs().max()).item() < 1e-12


def test_no_more_wait_than_may(grown: pl.DataFrame) -> None:
    ours = grown.drop_nulls("allowed")
    assert ours.filter(pl.col("waiting") > pl.col("allowed") * pl.col("records")).is_empty()
    assert ours.filter(pl.col("allowed") > 0, pl.col("release") > 1)["waiting"].to_numpy().min() > 0
    assert grown.filter(pl.col("method") == "Static I")["waiting"].sum() == 0


def test_the_loss_is_that_of_the_published_table(grown: pl.DataFrame) -> None:
    run = Run(Incremental(3, waiting=0.05))
    *_, (draft, _) = SMALL.rehearse(run, SMALL.first, lambda step: None)
    table = draft.tables["table"]
    ages = SMALL.pool["age"].to_numpy()
    lost = (table["age_high"] - table["age_low"]).to_numpy() / (ages.max() - ages.min())
    for name in ("gender", "birthplace", "occupation"):
        assert not SMALL.pool[name].cast(pl.String).str.contains(",").any()
        further = table[name].cast(pl.String).str.count_matches(",", literal=True)
        lost = lost + further.to_numpy() / (SMALL.pool[name].n_unique() - 1)
    told = grown.filter(pl.col("l") == 3, pl.col("method") == "Incremental", pl.col("allowed") == 0.05).row(
        -1, named=True
    )
    assert told["published"] == table.height
    assert told["loss"] == pytest.approx(lost.mean())


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_static_ii_is_coarser_than_static_i(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byun, "PASSES", 1)
    monkeypatch.setattr(byun, "WARMED", 0)
    found = byun.growing(Setting(rows=600, initial=600, step=100, l=(4,), waiting=(0,), seed=seed))
    loss = found.filter(pl.col("release") == 6).group_by("method", maintain_order=True).agg(pl.col("loss").last())
    static_i, static_ii, ours, strict = loss["loss"].to_list()
    assert static_i < static_ii
    # Where nobody may wait, all that ours can do is what Static II does.
    assert ours <= static_ii * (1 + 1e-9)
    assert strict <= static_ii * (1 + 1e-9)


def test_time_is_the_least_of_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([5.0, 1.0, 3.0, 2.0])
    monkeypatch.setattr(byun, "_warm_up", lambda setting: None)
    monkeypatch.setattr(byun, "seconds", lambda laps: {"grouping": next(seconds), "drafting": 7.0})
    monkeypatch.setattr(byun, "PASSES", 2)
    monkeypatch.setattr(Setting, "runs", [Run(StaticII(3))])
    found = byun.growing(Setting(rows=400, initial=400, step=200, l=(3,)))
    assert found["grouping"].to_list() == [3.0, 1.0]
    assert found["drafting"].to_list() == [7.0, 7.0]


def test_time_is_summed_up_by_thirds() -> None:
    columns = {"l": 5, "method": "Static I", "allowed": None}
    rows = [{**columns, "release": n, "grouping": n / 1000, "drafting": n * n / 1000} for n in range(1, 8)]
    (row,) = byun_figures.FIGURES[11].summary(pl.DataFrame(rows)).to_dicts()
    # Seven releases: 1 to 3, and 5 to 7.
    assert [round(row[name], 9) for name in ("grouping_early", "grouping_late")] == [2, 6]
    assert [round(row[name], 9) for name in ("drafting_early", "drafting_late")] == [4, 36]


def test_progress_is_as_long_as_it_says() -> None:
    setting = Setting(rows=300, initial=200, step=100, l=(2, 3))
    told: list[str] = []
    byun.vulnerable(setting, progress=told.append)
    # Two l, four methods; two releases and a comparison.
    assert len(told) == byun.vulnerable_steps(setting) == 2 * 4 * 3
    assert told[0] == "Static I, l = 2, release 1 of 2"
    assert told[-1] == "Incremental, strict, 0.02 may wait, l = 3, comparing releases"
    told.clear()
    byun.growing(setting, progress=told.append)
    # Warming up; then three passes over two l, four methods, three releases.
    assert len(told) == byun.growing_steps(setting) == 1 + 3 * 2 * 4 * 3


def test_figures_nine_to_eleven_are_drawn_from_the_same_runs(grown: pl.DataFrame) -> None:
    figures = [byun_figures.FIGURES[number] for number in (9, 10, 11)]
    assert len({figure.measure for figure in figures}) == 1
    for figure in figures:
        chart = figure.draw(grown, SMALL)
        assert chart.data.columns[:5] == ["l", "method", "allowed", "release", "records"]
        drawn = chart.drawing.to_dict()
        assert drawn["title"]["text"].startswith(f"Figure {figure.number}. ")
        # A row for each quantity, a panel for each l; strict runs are told, not drawn.
        assert [len(row["hconcat"]) for row in drawn["vconcat"]] == [2, 2]
        names = {row["series"] for line in drawn["vconcat"] for panel in line["hconcat"] for row in _values(panel)}
        shares = [f"Incremental, {share} may wait" for share in ("0%", "5%", "100%")]
        assert names == {"Static I", "Static II", *shares}
        shown = figure.tables(figure.summary(grown))
        assert list(shown) == ["l = 3", "l = 4"]
        assert shown["l = 3"]["may wait"].to_list() == [None, None, 0, 0, 0.05, 0.05, 1, 1]


def _values(panel: dict[str, Any]) -> list[dict[str, Any]]:
    layers = [panel, *panel["layer"]]
    return [row for layer in layers for row in layer.get("data", {}).get("values", [])]


@pytest.mark.parametrize("waiting", [(), (0.1, 0.1), (-0.1,), (1.5,), (True,), ("0.1",)])
def test_shares_that_may_wait(waiting: tuple[Any, ...]) -> None:
    said = f"The 'waiting' parameter of Setting must be different numbers from 0 to 1. Got {waiting!r} instead."
    with pytest.raises(ParameterError, match=re.escape(said)):
        Setting(waiting=waiting)


@needs("adult/adult.data.gz", stand_in="test_adult_in_small")
def test_adult(monkeypatch: pytest.MonkeyPatch) -> None:
    adult = real_data.FOLDER / "adult" / "adult.data.gz"
    setting = Setting(rows=6_000, initial=4_000, step=1_000, l=(5,), waiting=(0.05,), path=adult)
    assert_only_static_i_is_vulnerable(setting, monkeypatch, least=500)


def test_adult_in_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_adult(tmp_path / "adult.data", people(1_500, seed=3).to_dicts())
    setting = Setting(rows=1_500, initial=900, step=300, l=(5,), waiting=(0.05,), path=tmp_path / "adult.data")
    assert_only_static_i_is_vulnerable(setting, monkeypatch, least=50)


def assert_only_static_i_is_vulnerable(setting: Setting, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr(byun, "PASSES", 1)
    found = byun.vulnerable(setting)
    assert found["records"].to_list() == [*range(setting.initial, setting.rows + 1, setting.step)] * 4
    assert setting.pool.columns == ["person", *byun_setting.ADULT_QUASI, byun_setting.SENSITIVE]
    vulnerable = found.group_by("method", maintain_order=True).agg(pl.col("vulnerable").sum())
    assert vulnerable["vulnerable"][0] > least
    assert vulnerable["vulnerable"][1:].to_list() == [0, 0, 0]
    last = byun.growing(setting).filter(pl.col("release") == pl.col("release").max())
    assert last["records"].to_list() == [setting.rows] * 4
    static_i, static_ii, ours, strict = last["loss"].to_list()
    assert static_i < ours < static_ii
    assert static_i < strict < static_ii
    assert last["share"].to_numpy().max() <= 0.05
