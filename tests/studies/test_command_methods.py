"""`reissue study methods` as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from reissue_studies.methods import experiments
from reissue_studies.methods.setting import Setting
from reissue_studies.methods.ways import NO_LINK, WAYS

from reissue.charts import Chart

Run = Callable[..., Any]
SIZES = ("--rows", 1_000, "--releases", 2, "--m", 3, "--queries", 20, "--seconds", 1)


@pytest.fixture(autouse=True)
def quick_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts that are drawn, and saved as their titles: to render them takes seconds."""

    def save(chart: Chart, path: Path) -> None:
        title = chart.drawing.title
        path.write_text("\n".join([title.text, *title.subtitle]))

    monkeypatch.setattr(Chart, "save", save)


@pytest.fixture
def two_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """One method that publishes, and one that refuses; intervals are not asked for again and again."""
    chosen = tuple(way for way in WAYS if way.name in ("MInvariance, anatomised", "Incremental"))
    monkeypatch.setattr(experiments, "WAYS", chosen)
    monkeypatch.delenv("REISSUE_DATA", raising=False)


@pytest.mark.usefixtures("two_ways")
def test_the_table_and_the_picture(run: Run, tmp_path: Path) -> None:
    ran = run("study", "methods", *SIZES, "--json")
    assert ran.code == 0, ran.err
    for name in ("diabetes130", "nlswork", "cms"):
        assert f"{name} is left out: its files are real data" in ran.err
    folder = tmp_path / "study-methods"
    assert sorted(path.name for path in folder.iterdir()) == ["figure-1.html", "figure-1.parquet", "figure-1.png"]
    said = (folder / "figure-1.html").read_text()
    assert said.startswith("Figure 1. All methods on the same streams")
    assert "census 980 (m = 3)" in said
    written = pl.read_parquet(folder / "figure-1.parquet")
    setting = Setting(rows=1_000, releases=2, m=3, queries=20, seconds=1.0)
    assert_frame_equal(written, experiments.compared(setting))
    told = ran.data["figures"]["1"]
    assert [row["method"] for row in told] == ["MInvariance, anatomised", "Incremental", NO_LINK]
    assert told[0]["counts"] == written["counts"][0]
    assert told[1]["withheld"] is None
    assert ran.data["setting"]["rows"] == 1_000


@pytest.mark.usefixtures("two_ways")
def test_tables_for_people(run: Run, tmp_path: Path) -> None:
    ran = run("study", "methods", "out", *SIZES, "--streams", "census", "--changing", 0.05, "--seed", 2)
    assert ran.code == 0, ran.err
    assert "left out" not in ran.err
    found = pl.read_parquet(tmp_path / "out" / "figure-1.parquet")
    lines = [[cell.strip() for cell in line.strip("│").split("│")] for line in ran.out.splitlines() if "│" in line]
    costs, remains, gains = lines[:3], lines[3:6], lines[6:9]
    share = f"{100 * found['withheld'][0]:.1f}"
    assert costs[0] == ["MInvariance, anatomised", share, f"{100 * found['counterfeit'][0]:.1f}", "0"]
    assert costs[1] == ["Incremental", "refused", "-", "-"]
    assert remains[0][1] == f"{100 * found['counts'][0]:.1f}"
    assert remains[0][2] == f"{found['kept'][0]} of {found['slopes'][0]}"
    assert remains[2][2] == f"0 of {found['slopes'][2]}"
    assert gains[0][:4] == ["MInvariance, anatomised", "0", "0", "-"]
    assert "people are gone since the last release" in " ".join(ran.out.split())
    assert "wrote out/figure-1.html" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--streams", "nlswork"), "no folder of them is named"),
        (("--streams", "nlswork", "--data", "."), "nlswork: 'panels/nlswork.parquet' is not in '.'"),
        (("--streams", "census,adult"), "'streams' parameter of Setting must be different names among 'census'"),
        (("--streams", ""), "'streams' parameter of Setting"),
        (("--data", "nowhere"), "'data' parameter of Setting must be a folder. Got 'nowhere' instead."),
        (("--figures", "2"), "--figures takes whole numbers among 1, separated by commas. Got '2' instead."),
        (("--rows", "50"), "'rows' parameter of Setting must be a whole number of at least 100. Got 50 instead."),
        (("--e", "3"), "--e has no meaning for the study methods"),
        (("--full", "--initial", "10"), "--initial has no meaning for the study methods"),
    ],
)
def test_wrong_options(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.delenv("REISSUE_DATA", raising=False)
    ran = run("study", "methods", *options)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_data_may_stand_in_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("REISSUE_DATA", str(tmp_path / "data"))
    ran = run("study", "methods", "--streams", "cms")
    assert ran.code == 2
    assert f"'cms_desynpuf/inpatient_2008_2010.parquet' is not in '{tmp_path / 'data'}'" in ran.err


@pytest.mark.parametrize("option", ["--streams", "--changing", "--seconds"])
def test_its_options_are_its_own(run: Run, option: str) -> None:
    ran = run("study", "he", option, "1")
    assert ran.code == 2
    assert f"{option} has no meaning for the study he" in ran.err
