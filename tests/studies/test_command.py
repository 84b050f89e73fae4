"""`reissue study` as a user meets it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from reissue_studies import command
from reissue_studies.byun import experiments as byun
from reissue_studies.he import experiments as he
from reissue_studies.he.experiments import Setting
from reissue_studies.riboni import experiments as riboni

from reissue.charts import Chart

SIZES = ("--rows", 700, "--initial", 300, "--turnover", 100, "--releases", 2, "--m", 4, "--e", "3")
SETTING = Setting(rows=700, initial=300, turnover=100, releases=2, m=4, e=(3,))


Run = Callable[..., Any]


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if anything is measured."""

    def refuse(setting: Setting, *arguments: object) -> Iterator[Any]:
        raise AssertionError("a run began")

    monkeypatch.setattr(Setting, "rehearse", refuse)


@pytest.fixture
def quick_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts that are drawn, but saved as a few bytes: to render them takes seconds."""
    monkeypatch.setattr(Chart, "save", lambda chart, path: Path(path).write_text("a chart"))


def test_all_figures_are_written(run: Run, tmp_path: Path) -> None:
    ran = run("study", "he", *SIZES, "--json")
    assert ran.code == 0, ran.err
    folder = tmp_path / "study-he"
    expected = [f"figure-{n}.{ending}" for n in (6, 7, 8, 9, 10) for ending in ("html", "png", "parquet")]
    assert [Path(name).name for name in ran.data["files"]] == expected
    assert sorted(path.name for path in folder.iterdir()) == sorted(expected)
    for number in (6, 7, 8, 9, 10):
        assert (folder / f"figure-{number}.png").read_bytes().startswith(b"\x89PNG")
        page = (folder / f"figure-{number}.html").read_text()
        assert f"Figure {number}." in page
        assert "seed 1" in page
        assert '<script src="http' not in page
    compromised = pl.read_parquet(folder / "figure-6.parquet")
    assert compromised.filter(pl.col("method") == "e-equivalence")["compromised"].to_list() == [0, 0]
    assert_frame_equal(pl.read_parquet(folder / "figure-7.parquet"), he.counterfeits(SETTING))
    skewed = pl.read_parquet(folder / "figure-8.parquet")
    assert skewed["skew"].unique(maintain_order=True).to_list() == list(SETTING.skews)
    errors = pl.read_parquet(folder / "figure-9.parquet")
    assert_frame_equal(errors, he.query_errors(SETTING, (None, SETTING.skews[-2])))
    times = pl.read_parquet(folder / "figure-10.parquet")
    assert times.height == 22 * 2
    told = ran.data
    assert told["setting"]["initial"] == 300
    assert told["setting"]["e"] == [3]
    for number in ("7", "8"):
        counted = pl.read_parquet(folder / f"figure-{number}.parquet")
        for row in told["figures"][number]:
            mine = counted.filter(
                pl.col("method") == row["method"],
                pl.col("e").eq_missing(row["e"]),
                pl.col("skew").eq_missing(row["skew"]),
            )
            assert mine.height == 2
            assert row["largest"] == max(mine["counterfeits"].to_list())
    assert len(told["figures"]["9"]) == errors.height
    assert len(told["figures"]["10"]) == 22


@pytest.mark.usefixtures("quick_charts")
def test_chosen_figures_and_a_table_for_people(run: Run, tmp_path: Path) -> None:
    ran = run("study", "he", "out", *SIZES, "--figures", 7, "--data", "sal", "--seed", 5)
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure-7.html", "figure-7.parquet", "figure-7.png",
    ]  # fmt: skip
    setting = Setting(rows=700, initial=300, turnover=100, releases=2, m=4, e=(3,), seed=5, sensitive="salary")
    found = he.counterfeits(setting)
    assert_frame_equal(pl.read_parquet(tmp_path / "out" / "figure-7.parquet"), found)
    most = [max(found.filter(pl.col("e").eq_missing(e))["counterfeits"].to_list()) for e in (None, 3)]
    line = next(line for line in ran.out.splitlines() if line.startswith("│"))
    assert [cell.strip() for cell in line.strip("│").split("│")] == ["4", *map(str, most)]
    assert "wrote out/figure-7.html" in ran.out


@pytest.mark.usefixtures("quick_charts")
def test_figures_are_not_replaced_unasked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study-he").mkdir()
    old = tmp_path / "study-he" / "figure-7.png"
    old.write_text("mine")
    with monkeypatch.context() as patch:
        patch.setattr(Setting, "rehearse", lambda *a: pytest.fail("a run began"))
        ran = run("study", "he", *SIZES, "--figures", 7)
    assert ran.code == 2
    assert "already holds figure-7.png" in ran.err
    assert "--force" in ran.err
    assert old.read_text() == "mine"
    assert [path.name for path in (tmp_path / "study-he").iterdir()] == ["figure-7.png"]
    assert run("study", "he", *SIZES, "--figures", 7, "--force").code == 0
    assert old.read_text() == "a chart"


@pytest.mark.usefixtures("quick_charts")
def test_other_figures_may_be_there(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study-he").mkdir()
    (tmp_path / "study-he" / "figure-8.png").write_text("mine")
    assert run("study", "he", *SIZES, "--figures", 7).code == 0
    assert (tmp_path / "study-he" / "figure-8.png").read_text() == "mine"


@pytest.mark.usefixtures("nothing_runs")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--figures", "5"), "--figures takes whole numbers among 6, 7, 8, 9, 10, separated by commas. Got '5' inst"),
        (("--figures", "seven"), "Got 'seven' instead."),
        (("--figures", ""), "--figures takes whole numbers"),
        (("--e", "3,x"), "--e takes whole numbers, separated by commas. Got '3,x' instead."),
        (("--e", "3,11"), "The 'e' parameter of Setting must be different whole numbers from 1 to m = 10."),
        (("--turnover", "20000", "--releases", "1"), "The 'turnover' parameter of Setting must be at most 10000"),
        (("--releases", "30"), "The 'releases' parameter of Setting must be at most 21"),
        (("--full", "--releases", "22"), "The 'releases' parameter of Setting must be at most 21"),
        (("--rows", "-1"), "The 'rows' parameter of Setting must be a whole number of at least 1. Got -1 instead."),
        (("--seed", "-1"), "The 'seed' parameter of Setting"),
        (("--data", "ABC"), "--data"),
        (("--l", "5"), "--l has no meaning for the study he"),
        (("--waiting", "0.1"), "--waiting has no meaning for the study he"),
    ],
)
def test_wrong_options_are_explained(run: Run, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    ran = run("study", "he", *options)
    assert ran.code == 2
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("nothing_runs")
def test_other_papers_and_a_file_in_the_way(run: Run, tmp_path: Path) -> None:
    assert run("study", "she").code == 2
    (tmp_path / "taken").write_text("mine")
    ran = run("study", "he", "taken")
    assert ran.code == 2
    assert "'taken' is not a folder" in ran.err


@pytest.mark.usefixtures("nothing_runs")
def test_without_charts_nothing_begins(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    ran = run("study", "he")
    assert ran.code == 2
    assert "Charts need the package 'altair'" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick_charts")
def test_the_bar_knows_how_much_there_is_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int] = []
    begun: list[str] = []

    @contextmanager
    def recorded(total: int) -> Iterator[Callable[[str], None]]:
        totals.append(total)
        yield begun.append

    monkeypatch.setattr(command, "stages", recorded)
    assert run("study", "he", *SIZES, "--figures", "9,7", "--releases", 3).code == 0
    # Figure 7: two methods, three releases; Figure 9: three methods, two streams, three releases.
    assert totals == [2 * 3 + 3 * 2 * 3]
    assert len(begun) == totals[0]
    assert begun[0] == "Figure 9: m-invariance, m = 4, release 1"
    assert begun[-1] == "Figure 7: e-equivalence, m = 4, e = 3, release 3"


GROWING = ("--rows", 400, "--initial", 300, "--turnover", 100)


def test_the_growing_table(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byun, "PASSES", 1)
    ran = run("study", "byun", *GROWING, "--l", "3,4", "--waiting", "0,0.05", "--json")
    assert ran.code == 0, ran.err
    expected = [f"figure-{n}.{ending}" for n in (8, 9, 10, 11) for ending in ("html", "png", "parquet")]
    assert [Path(name).name for name in ran.data["files"]] == expected
    assert ran.data["setting"]["waiting"] == [0, 0.05]
    folder = tmp_path / "study-byun"
    for number in (8, 9, 10, 11):
        assert (folder / f"figure-{number}.png").read_bytes().startswith(b"\x89PNG")
        assert f"Figure {number}." in (folder / f"figure-{number}.html").read_text()
    vulnerable = pl.read_parquet(folder / "figure-8.parquet")
    assert vulnerable["l"].to_list() == [3] * 12 + [4] * 12
    assert vulnerable["records"].to_list() == [300, 400] * 12
    assert_frame_equal(vulnerable, byun.vulnerable(byun.Setting(400, 300, 100, (3, 4), (0.0, 0.05))))
    assert [row["l"] for row in ran.data["figures"]["8"]] == [3] * 6 + [4] * 6
    loss, waiting, times = (pl.read_parquet(folder / f"figure-{number}.parquet") for number in (9, 10, 11))
    assert loss["records"].to_list() == [100, 200, 300, 400] * 12
    for other in (waiting, times):
        assert_frame_equal(other.select(loss.columns[:5]), loss.select(loss.columns[:5]))
    # One pass for all three: those published are the same.
    assert loss["published"].to_list() == waiting["published"].to_list()
    assert (waiting["published"] + waiting["waiting"]).to_list() == waiting["records"].to_list()
    assert (times["drafting"] > times["grouping"]).all()
    told = {(row["l"], row["method"], row["allowed"]): row for row in ran.data["figures"]["10"]}
    assert told[3, "Incremental", 0.05]["records"] == 400
    assert 0 < told[3, "Incremental", 0.05]["waiting"] <= 20


@pytest.mark.usefixtures("quick_charts")
def test_tables_of_the_growing_table(run: Run, tmp_path: Path) -> None:
    ran = run("study", "byun", "out", *GROWING, "--l", 3, "--figures", "10,8")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"figure-{n}.{ending}" for n in (10, 8) for ending in ("html", "parquet", "png")
    ]
    tables = [[cell.strip() for cell in line.strip("│").split("│")] for line in ran.out.splitlines() if "│" in line]
    assert [row[0] for row in tables] == ["Static I", "Static II", "Incremental", "strict"] * 2
    # Figure 10: records, waiting, share. Figure 8: vulnerable, share, narrow, certain, all releases together.
    assert tables[0] == ["Static I", "400", "0", "0"]
    assert tables[4][-1] == "-"
    assert tables[5] == ["Static II", "0", "0", "0", "0", "-"]
    assert tables[6] == ["Incremental", "0", "0", "0", "0", "0"]
    assert int(tables[4][1]) > 0


@pytest.mark.usefixtures("quick_charts")
def test_the_bar_counts_shared_runs_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    totals: list[int] = []
    begun: list[str] = []

    @contextmanager
    def recorded(total: int) -> Iterator[Callable[[str], None]]:
        totals.append(total)
        yield begun.append

    monkeypatch.setattr(command, "stages", recorded)
    assert run("study", "byun", "--rows", 300, "--initial", 200, "--turnover", 100, "--l", 3).code == 0
    # Figure 8: four methods, two releases and a comparison. Figures 9 to 11: warming up, three passes.
    assert totals == [4 * 3 + 1 + 3 * 4 * 3]
    assert len(begun) == totals[0]
    assert begun[0] == "Figure 8: Static I, l = 3, release 1 of 2"
    assert begun[-1] == "Figures 9, 10, 11: Incremental, strict, 0.02 may wait, l = 3, release 3 of 3"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--m", "4"), "--m has no meaning for the study byun"),
        (("--l", "1"), "different whole numbers of at least 2"),
        (("--initial", "40000"), "'initial' parameter of Setting must be at most 'rows'"),
        (("--data", "nowhere.data"), "nowhere.data"),
        (("--figures", "7"), "--figures takes whole numbers among 8, 9, 10, 11, separated by commas. Got '7' instead"),
        (("--waiting", "2%"), "--waiting takes numbers from 0 to 1, separated by commas. Got '2%' instead."),
        (("--waiting", "0.1,1.5"), "Got '0.1,1.5' instead."),
        (("--waiting", "nan"), "Got 'nan' instead."),
    ],
)
def test_wrong_options_of_the_growing_table(run: Run, options: tuple[str, ...], said: str) -> None:
    ran = run("study", "byun", *options)
    assert ran.code == 2
    assert said in ran.err


CORRELATED = ("--rows", 300, "--releases", 3, "--m", 4, "--n", 2, "--queries", 50)


@pytest.mark.usefixtures("quick_charts")
def test_the_correlated_tables(run: Run, tmp_path: Path) -> None:
    ran = run("study", "riboni", *CORRELATED, "--figures", "2,7,8,9,10,11", "--json")
    assert ran.code == 0, ran.err
    numbers = (2, 7, 8, 9, 10, 11)
    expected = [f"figure-{n}.{ending}" for n in numbers for ending in ("html", "png", "parquet")]
    assert [Path(name).name for name in ran.data["files"]] == expected
    told = ran.data["setting"]
    assert (told["rows"], told["releases"], told["m"], told["n"], told["queries"]) == (300, 3, 4, 2, 50)
    folder = tmp_path / "study-riboni"
    setting = riboni.Setting(rows=300, releases=3, m=4, n=2, queries=50)
    curves = riboni.formulas(m=4, n=(1, 2, 3))
    assert_frame_equal(pl.read_parquet(folder / "figure-2.parquet"), curves)
    released = riboni.releases(setting)
    for number, columns in {7: ("groups", "unsafe_when_published", "unsafe"), 8: ("counterfeits", "merged")}.items():
        written = pl.read_parquet(folder / f"figure-{number}.parquet")
        chosen = ("turnover", "method", "release", *columns)
        assert_frame_equal(written.select(chosen), released.select(chosen))
    assert_frame_equal(pl.read_parquet(folder / "figure-9.parquet"), riboni.query_errors(setting))
    assert_frame_equal(pl.read_parquet(folder / "figure-11.parquet"), riboni.combinations(setting))
    unsafe = {(row["turnover"], row["method"]): row["unsafe"] for row in ran.data["figures"]["7"]}
    assert unsafe[0.1, "Cor-Split"] == unsafe[0.33, "Cor-Split"] == 0
    assert unsafe[0.1, "m-invariance"] > 0
    assert len(ran.data["figures"]["10"]) == 4


def test_charts_of_the_correlated_tables(run: Run, tmp_path: Path) -> None:
    assert run("study", "riboni", *CORRELATED, "--figures", "2,11").code == 0
    for number in (2, 11):
        assert (tmp_path / "study-riboni" / f"figure-{number}.png").read_bytes().startswith(b"\x89PNG")
        assert f"Figure {number}." in (tmp_path / "study-riboni" / f"figure-{number}.html").read_text()


@pytest.mark.usefixtures("quick_charts")
def test_tables_of_the_correlated_tables(run: Run, tmp_path: Path) -> None:
    ran = run("study", "riboni", "out", *CORRELATED, "--figures", "7")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure-7.html", "figure-7.parquet", "figure-7.png",
    ]  # fmt: skip
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in ran.out.splitlines() if "│" in line]
    assert [row[0] for row in rows] == ["m-invariance", "Cor-Split"] * 2
    assert rows[1][2:] == rows[3][2:] == ["0", "0", "0", "0"]
    assert int(rows[0][2]) > 0
    assert "hc-unsafe groups: 33% leave and come" in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--initial", "100"), "--initial has no meaning for the study riboni"),
        (("--data", "OCC", "--e", "3"), "--data, --e has no meaning for the study riboni"),
        (("--m", "4", "--n", "5"), "The 'n' parameter of Setting must be at most m = 4. Got 5 instead."),
        (("--m", "1"), "The 'm' parameter of Setting must be a whole number of at least 2. Got 1 instead."),
        (("--rows", "100"), "The 'rows' parameter of Setting must be a whole number of at least 200."),
        (("--figures", "3"), "--figures takes whole numbers among 2, 7, 8, 9, 10, 11, 12, separated by commas."),
    ],
)
def test_wrong_options_of_the_correlated_tables(run: Run, options: tuple[str, ...], said: str) -> None:
    ran = run("study", "riboni", *options)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.parametrize("paper", ["he", "byun"])
def test_options_of_the_correlated_tables_are_theirs_alone(run: Run, paper: str) -> None:
    ran = run("study", paper, "--n", "2", "--queries", "5")
    assert ran.code == 2
    assert f"--n, --queries has no meaning for the study {paper}" in ran.err


@pytest.mark.parametrize(("m", "n"), [("2", 2), ("4", 3)])
@pytest.mark.usefixtures("quick_charts")
def test_a_small_m_takes_a_small_n(run: Run, m: str, n: int) -> None:
    ran = run("study", "riboni", "--m", m, "--figures", "2", "--json")
    assert ran.code == 0, ran.err
    assert ran.data["setting"]["n"] == n
