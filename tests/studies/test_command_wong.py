"""`reissue study wong` as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from reissue_studies.wong import experiments as wong
from reissue_studies.wong.experiments import Setting

from reissue.charts import Chart

Run = Callable[..., Any]
SIZES = ("--rows", 250, "--repeats", 1, "--queries", 20)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few parameters, and charts that are drawn, but saved as their headings: to render them takes seconds."""
    chosen = {"m": (2, 5), "k": (2,), "sizes": (2, 4)}
    made = Setting.__init__
    monkeypatch.setattr(Setting, "__init__", lambda setting, **given: made(setting, **{**chosen, **given}))

    def save(chart: Chart, path: Path) -> None:
        title = chart.drawing.title
        path.write_text("\n".join([title.text, *title.subtitle]))

    monkeypatch.setattr(Chart, "save", save)


def test_all_figures_are_written(run: Run, tmp_path: Path) -> None:
    ran = run("study", "wong", *SIZES, "--json")
    assert ran.code == 0, ran.err
    expected = [f"figure-{n}.{ending}" for n in range(2, 9) for ending in ("html", "png", "parquet")]
    assert [Path(name).name for name in ran.data["files"]] == expected
    folder = tmp_path / "study-wong"
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    told = ran.data["setting"]
    assert (told["rows"], told["repeats"], told["queries"], told["path"]) == (250, 1, 20, None)
    assert_frame_equal(
        pl.read_parquet(folder / "figure-2.parquet").drop("seconds", "grouping"),
        wong.attacked(Setting(rows=250, repeats=1, queries=20)).drop("seconds", "grouping"),
    )
    for number, m in ((3, 2), (4, 5)):
        written = pl.read_parquet(folder / f"figure-{number}.parquet")
        assert written["m"].unique().to_list() == [m]
        assert len(ran.data["figures"][str(number)]) == written.height == 2 * 2
    asked = pl.read_parquet(folder / "figure-6.parquet")
    usual = asked.filter(pl.col("dimensions") == 4, pl.col("selectivity") == wong.SELECTIVITY)
    assert_frame_equal(pl.read_parquet(folder / "figure-5.parquet"), usual)
    for number in range(2, 9):
        said = (folder / f"figure-{number}.html").read_text()
        assert said.startswith(f"Figure {number}.")
        assert "250 people invented after the model of Adult" in said
        assert "seed 1" in said
        assert ("one run" in said) == (number in (3, 4, 5, 6, 8))
    believed = pl.read_parquet(folder / "figure-8.parquet")
    assert believed["draw"].unique().sort().to_list() == ["binomial", "reference"]


def test_tables_for_people(run: Run, tmp_path: Path) -> None:
    ran = run("study", "wong", "out", *SIZES, "--figures", "2", "--seed", 4)
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure-2.html", "figure-2.parquet", "figure-2.png",
    ]  # fmt: skip
    assert "Figure 2, problematic tuples: against m" in ran.out
    assert "Figure 2, problematic tuples: beside the paper" in ran.out
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in ran.out.splitlines() if "│" in line]
    found = wong.attacked(Setting(rows=250, repeats=1, queries=20, seed=4))
    by_m = found.filter(pl.col("size") == 4).sort("m", maintain_order=True)
    assert [row[:3] for row in rows[:4]] == [
        [str(m), recoding, str(count)] for m, recoding, count in by_m.select("m", "recoding", "problematic").iter_rows()
    ]
    (tuples,) = (row for row in rows if row[0] == "sensitive tuples")
    assert tuples == ["sensitive tuples", "1,566", str(found["sensitive"][0])]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--m", "3"), "--m has no meaning for the study wong"),
        (("--full", "--initial", "300"), "--initial, --full has no meaning for the study wong"),
        (("--figures", "9"), "--figures takes whole numbers among 2, 3, 4, 5, 6, 7, 8, separated by commas."),
        (("--repeats", "0"), "The 'repeats' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        (("--rows", "100"), "The 'rows' parameter of Setting must be a whole number of at least 200."),
        (("--data", "nowhere.data", "--figures", "2"), "nowhere.data"),
    ],
)
def test_wrong_options(run: Run, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    ran = run("study", "wong", *options)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("paper", ["he", "byun", "riboni"])
def test_repeats_are_of_this_study_alone(run: Run, paper: str) -> None:
    ran = run("study", paper, "--repeats", "5")
    assert ran.code == 2
    assert f"--repeats has no meaning for the study {paper}" in ran.err
