"""The analyst's questions, answered from a package alone: as from the public files, and right within the stated errors.

Five of them: how many by group, which share (with an interval), the trend over releases, the slope of a regression, and
a cross-table of two sensitive columns.
"""

from __future__ import annotations

import datetime
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import reissue as ri
from reissue.cli import main
from reissue.errors import Infeasible

FORMATS = ("csv", "parquet", "excel")
SHARES = {"007": 0.3, "a, b": 0.2, "{x}": 0.2, 'say "ah"': 0.15, "=cold": 0.15}
"""Labels that a careless reader takes for something else."""


def people(rows: int, seed: int, *, older: float = 0.0) -> pl.DataFrame:
    """Invented patients: the older, the more often "007"."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows)
    tilted = np.array(list(SHARES.values()))
    labels = list(SHARES)
    extra = rng.random(rows) < np.where(age >= 50, 0.2 + older, 0.0)
    illness = np.where(extra, "007", rng.choice(labels, rows, p=tilted))
    return pl.DataFrame(
        {
            "patient": range(rows),
            "age": age,
            "sex": rng.choice(["female", "male"], rows),
            "code": rng.choice(["01", "1", "(none), see {file}"], rows),
            "seen": [
                datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 300, rows)
            ],
            "illness": illness,
            "ward": np.where(
                illness == "007", rng.choice(["A", "B, C"], rows, p=[0.7, 0.3]), rng.choice(["A", "B, C"], rows)
            ),
            "days": np.where(age >= 50, rng.integers(3, 9, rows), rng.integers(1, 7, rows)),
        }
    )


QUASI = {"age": ri.Numeric(), "sex": ri.Categorical(), "code": ri.Categorical(), "seen": ri.Numeric()}
ILLNESS = {"illness": ri.Categorical()}
MOVES = {
    one: {other: 0.9 if one == other else 0.1 * share / (1 - SHARES[one]) for other, share in SHARES.items()}
    for one in SHARES
}


ALL = ("age", "sex", "code", "seen", "illness", "ward", "days")
EVEN = {"illness": "3/4", "ward": "3/4", "days": "3/4"}


def schema(sensitive: dict[str, Any], quasi: dict[str, Any] | None = None) -> ri.Schema:
    """Several sensitive columns have limits of their own."""
    known = {**(quasi or QUASI), **sensitive}
    limits = {name: EVEN[name] for name in sensitive} if len(sensitive) > 1 else {}
    drop = [name for name in ALL if name not in known]
    return ri.Schema(person="patient", quasi=quasi or QUASI, sensitive=sensitive, limits=limits, drop=drop)


KINDS: dict[str, Callable[[], ri.Policy]] = {
    "sets": lambda: ri.Policy(schema(ILLNESS), ri.Alternatives(m=3, reference=SHARES, limit="2/3", change=0.1)),
    "regions": lambda: ri.Policy(schema(ILLNESS), ri.Alternatives(m=3, reference=SHARES, limit="2/3", k=8, change=0.1)),
    "lives": lambda: ri.Policy(schema(ILLNESS), ri.Alternatives(m=2, reference=SHARES, change=MOVES)),
    "numbers": lambda: ri.Policy(schema({"days": ri.Numeric()}), ri.Alternatives(m=3, limit="2/3", epsilon=1)),
    "records": lambda: ri.Policy(
        schema({"illness": ri.Categorical(), "ward": ri.Categorical()}),
        ri.Alternatives(m=4, epsilon=2, limit="3/4"),
    ),
    "generalised": lambda: ri.Policy(schema(ILLNESS), ri.MInvariance(m=3), disclose=["counterfeits"]),
    "anatomised": lambda: ri.Policy(schema(ILLNESS), ri.MInvariance(m=3), form="anatomised"),
    "cut": lambda: ri.Policy(schema(ILLNESS), ri.Mondrian(k=10, l=2), series="unprotected"),
    "cut apart": lambda: ri.Policy(
        schema({"illness": ri.Categorical(), "days": ri.Numeric()}),
        ri.Mondrian(k=10),
        series="unprotected",
        form="anatomised",
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def sent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A series of two releases, and its packages."""
    folder = tmp_path_factory.mktemp("sent")
    with ri.open(folder / "series", KINDS[request.param]()) as series:
        table = people(1500, 1)
        series.publish(table)
        # Some leave; what stays keeps its value.
        series.publish(table.tail(1400))
        for kind in FORMATS:
            series.export(folder / kind, "all", format=kind)
            series.export(folder / f"{kind} first", 1, format=kind)
    return request.param, folder


def questions(name: str, an: ri.Analysis) -> dict[str, Callable[[], pl.DataFrame]]:
    first = an.sensitive_columns[0]
    value: Any = "007" if first == "illness" else (3, 5)
    several = len(an.sensitive_columns) > 1
    value = {first: value} if several else value
    asked: dict[str, Callable[[], pl.DataFrame]] = {
        "people": lambda: an.count(by={"age": [35, 50], "sex": None}, where='code in ("01", "(none), see {file}")'),
        "count": lambda: an.count(value, by="sex", where="seen >= 2020-03-01"),
        "share": lambda: an.share(value, by={"age": [50]}, where="age >= 25"),
        "table": lambda: an.table(by="sex"),
    }
    if len(an.releases) > 1:
        asked["trend"] = lambda: an.trend(value)
    if an.releases and name in ("sets", "regions", "lives", "numbers", "records"):
        asked["scores"] = lambda: an.scores([value])
    if several:
        asked["crossed"] = lambda: an.table(columns=list(an.sensitive_columns))
    if first == "days":
        asked["mean"] = lambda: an.mean(by="sex")
    return asked


def answer(ask: Callable[[], pl.DataFrame]) -> pl.DataFrame | str:
    try:
        return ask()
    except Infeasible as refused:
        return refused.what


def test_every_answer_is_that_of_the_public_files(sent: tuple[str, Path]) -> None:
    name, folder = sent
    public, first = ri.analyse(folder / "series" / "public"), ri.analyse(folder / "series" / "public" / "0001")
    answered = 0
    for kind in FORMATS:
        for source, wanted in (
            (folder / kind, public),
            (folder / f"{kind} first", first),
            (folder / kind / "0001", first),
        ):
            found = ri.analyse(source)
            assert found.releases == wanted.releases
            assert found.notes == wanted.notes
            for question, ask in questions(name, found).items():
                expected, got = answer(questions(name, wanted)[question]), answer(ask)
                if isinstance(expected, str) or isinstance(got, str):
                    assert got == expected, (kind, question)
                    continue
                assert_frame_equal(got, expected, check_dtypes=False, rel_tol=1e-12, abs_tol=1e-12)
                answered += 1
    assert answered >= 30


def test_what_is_sent_is_the_public_table_cell_by_cell(sent: tuple[str, Path]) -> None:
    from reissue.tables.sent_types import plain_types
    from reissue.utility.analysing.public_files import read_public

    _, folder = sent
    for kind in ("csv", "excel"):
        for release in read_public(folder / kind):
            public = folder / "series" / "public" / f"{release.number:04}"
            for path in public.glob("*.parquet"):
                assert_frame_equal(
                    release._as_published(path.stem), plain_types(pl.read_parquet(path)), check_exact=True
                )


def test_the_commands_of_every_readme_run(sent: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    name, folder = sent
    asked = 0
    for package in (folder / "csv", folder / "excel first"):
        monkeypatch.chdir(package)
        text = (package / "README.md").read_text()
        for command in text.partition("```sh\n")[2].partition("```")[0].splitlines():
            monkeypatch.setattr(sys, "argv", shlex.split(command))
            main()
            asked += "--value" in command or "--mean" in command
    assert asked >= 2, name
    assert ("lives that have moved on" in (folder / "csv" / "README.md").read_text()) == (name == "lives")


def near(found: pl.DataFrame, truth: float, what: str) -> None:
    """Within four standard errors or, where bounds are certain, within them."""
    row = found.row(0, named=True)
    if row["interval"] == "certain":
        assert row["low"] - 1e-9 <= truth <= row["high"] + 1e-9, what
    else:
        assert abs(row["estimate"] - truth) <= 4 * row["error"], (what, row, truth)


@pytest.mark.parametrize("kind", FORMATS)
def test_the_five_questions_are_right_within_their_errors(kind: Any, tmp_path: Path) -> None:
    tables = [people(6000, 1), people(6000, 1, older=0.1), people(6000, 1, older=0.2)]
    policy = ri.Policy(
        schema(
            {"illness": ri.Categorical(), "ward": ri.Categorical()},
            {"age": ri.Numeric(), "sex": ri.Categorical()},
        ),
        ri.Alternatives(m=4, epsilon=4, limit="3/4", change=0.05),
    )
    with ri.open(tmp_path / "series", policy) as series:
        for table in tables:
            series.publish(table)
        series.export(tmp_path / "sent", "all", format=kind)
    an, old = ri.analyse(tmp_path / "sent"), pl.col("age") >= 50
    last, ill = tables[-1], pl.col("illness") == "007"
    # 1 and 2: by group, and a share with its interval.
    for sex in ("female", "male"):
        near(
            an.only(3).count({"illness": "007"}, where={"sex": sex}), last.filter(ill, pl.col("sex") == sex).height, sex
        )
    near(an.only(3).share({"illness": "007"}, where="age >= 50"), last.filter(old).select(ill.mean()).item(), "share")
    # 3: the trend.
    slope = an.trend({"illness": "007"}, where="age >= 50").filter(pl.col("term") == "slope")
    shares = [table.filter(old).select(ill.mean()).item() for table in tables]
    near(slope, (shares[2] - shares[0]) / 2, "trend")
    assert slope["estimate"][0] > 2 * slope["error"][0]
    # 4: the slope of a regression on scores, with robust errors.
    scores = an.only(3).scores([{"illness": "007"}])
    outcome = scores.columns[-1]
    design = np.column_stack([np.ones(scores.height), scores["age"].to_numpy()])
    bread = np.linalg.inv(design.T @ design)
    found = bread @ design.T @ scores[outcome].to_numpy()
    residual = scores[outcome].to_numpy() - design @ found
    error = np.sqrt(np.diag(bread @ (design.T * residual**2) @ design @ bread))
    own = np.column_stack([np.ones(last.height), last["age"].to_numpy()])
    true = np.linalg.lstsq(own, last.select(ill.cast(pl.Float64)).to_series().to_numpy(), rcond=None)[0]
    assert abs(found[1] - true[1]) <= 4 * error[1] and found[1] > 2 * error[1]
    # 5: two sensitive columns crossed.
    crossed = an.only(3).table(columns=["illness", "ward"])
    assert crossed.height >= 8
    for row in crossed.iter_rows(named=True):
        actual = last.filter(pl.col("illness") == row["illness"], pl.col("ward") == row["ward"]).height
        assert abs(row["estimate"] - actual) <= 4.5 * row["error"], row


@pytest.mark.parametrize("kind", FORMATS)
def test_bounds_of_groups_are_certain_and_missing_values_are_counted(kind: Any, tmp_path: Path) -> None:
    table = people(800, 3).with_columns(
        age=pl.when(pl.col("patient") % 9 == 0).then(None).otherwise("age"),
        sex=pl.when(pl.col("patient") % 11 == 0).then(None).otherwise("sex"),
        days=pl.when(pl.col("patient") % 13 == 0).then(None).otherwise("days"),
    )
    quasi = {"age": ri.Numeric(missing="value"), "sex": ri.Categorical(missing="value"), "seen": ri.Numeric()}
    policy = ri.Policy(schema({"days": ri.Numeric(missing="value")}, quasi), ri.Mondrian(k=8))
    with ri.open(tmp_path / "series", policy) as series:
        series.publish(table)
        series.export(tmp_path / "sent", format=kind)
    an, public = ri.analyse(tmp_path / "sent"), ri.analyse(tmp_path / "series" / "public")
    for question in (
        {"where": "age >= 50"},
        {"where": "sex = female"},
        {"where": {"seen": (datetime.date(2020, 3, 1), datetime.date(2020, 6, 1))}},
    ):
        assert_frame_equal(an.count(**question), public.count(**question))
        assert_frame_equal(an.mean(**question), public.mean(**question))
    near(
        an.count((4, 6), where="sex = female"),
        table.filter(pl.col("sex") == "female", pl.col("days").is_between(4, 6)).height,
        "days",
    )
    near(an.mean(), table["days"].mean(), "mean")  # type: ignore[arg-type]
    if kind != "parquet":
        book = pl.read_csv(tmp_path / "sent" / "codebook.csv")
        said = dict(book.select("column", "missing").rows())
        assert "'age_missing' says where" in said["age_low"]
        assert said["sex"] == "the label (missing): no value"
        assert said["days"] == "an empty cell: no value"
        assert said["seen_low"] == "none is missing"
