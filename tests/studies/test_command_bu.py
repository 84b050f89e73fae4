"""`reissue study bu` as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reissue_studies.bu.setting import Setting

from reissue.charts import Chart

SIZES = ("--rows", 400, "--releases", 2, "--l", "2", "--queries", 20)

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of what has no option, and charts that are not rendered."""
    defaults = {"containers": (3,), "known": (0,), "volatile": (0.02,)}

    made = Setting.__init__
    monkeypatch.setattr(Setting, "__init__", lambda setting, **given: made(setting, **{**defaults, **given}))

    def save(chart: Chart, path: Path) -> None:
        title = chart.drawing.title
        path.write_text("\n".join([title.text, *title.subtitle]))

    monkeypatch.setattr(Chart, "save", save)


def test_all_figures_are_written(run: Run, tmp_path: Path) -> None:
    ran = run("study", "bu", *SIZES, "--json", "--seed", 3)
    assert ran.code == 0, ran.err
    expected = [f"figure-{n}.{ending}" for n in range(2, 9) for ending in ("html", "png", "parquet")]
    assert [Path(name).name for name in ran.data["files"]] == expected
    folder = tmp_path / "study-bu"
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    told = ran.data["setting"]
    assert (told["people"], told["rounds"], told["l"], told["queries"]) == (400, 2, [2], 20)
    for number in range(2, 9):
        said = (folder / f"figure-{number}.html").read_text()
        assert said.startswith(f"Figure {number}.")
        assert "400 invented people with 1,042 diagnoses" in said
        assert "seed 3" in said
    for number, method in ((2, "l-diversity"), (3, "m-invariance")):
        counted = pl.read_parquet(folder / f"figure-{number}.parquet")
        assert set(counted["method"]) == {method, "HD-composition"}
        # Two methods, two adversaries, two rounds.
        assert len(ran.data["figures"][str(number)]) == counted.height == 8
    assert pl.read_parquet(folder / "figure-4.parquet")["round"].to_list() == [1, 2]
    assert set(pl.read_parquet(folder / "figure-6.parquet")["method"]) == {"l-diversity", "m-invariance"}


def test_tables_for_people(run: Run, tmp_path: Path) -> None:
    ran = run("study", "bu", "out", *SIZES, "--releases", 1, "--figures", "4")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure-4.html", "figure-4.parquet", "figure-4.png",
    ]  # fmt: skip
    told = " ".join(ran.out.split())
    assert "Figure 4, perturbation: people perturbed, by l" in told
    assert "Figure 4, perturbation: beside the paper" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--m", "3"), "--m has no meaning for the study bu"),
        (("--full", "--data", "x"), "--full, --data has no meaning for the study bu"),
        (("--figures", "9"), "--figures takes whole numbers among 2, 3, 4, 5, 6, 7, 8, separated by commas."),
        (("--rows", "100"), "The 'people' parameter of Setting must be a whole number of at least 200."),
        (("--l", "1"), "The 'l' parameter of Setting must be ascending whole numbers of at least 2."),
    ],
)
def test_wrong_options(run: Run, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    ran = run("study", "bu", *options)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []
