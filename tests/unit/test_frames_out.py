"""Tables out: whoever brings pandas tables, or asks for them, gets pandas tables from every public function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import reissue as ri
from reissue.errors import ParameterError
from reissue.publishing.series import draft
from reissue.samples.hospital import hospital

TYPES: dict[str, type] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.Table,
    "duckdb": duckdb.DuckDBPyRelation,
}
SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
    sensitive="diagnosis",
)
MONTHS = list(hospital(3))


def to(library: str, table: pl.DataFrame) -> Any:
    return {
        "polars": lambda: table,
        "pandas": table.to_pandas,
        "pyarrow": table.to_arrow,
        "duckdb": lambda: duckdb.from_arrow(table.to_arrow()),
    }[library]()


def same(found: Any, library: str, expected: pl.DataFrame) -> None:
    """It is of that library, and says the same."""
    assert isinstance(found, TYPES[library])
    columns = found.column_names if library == "pyarrow" else found.columns
    assert [*columns] == expected.columns
    rows = found.shape[0]
    assert rows == expected.height


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("out") / "series"
    with ri.open(path, ri.Policy(SCHEMA, ri.MInvariance(m=3))) as series:
        for at, month in enumerate(MONTHS):
            series.publish(month, seed=at + 1)
    return path


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("out") / "sets"
    shares = {str(value): 1.0 for value in MONTHS[0]["diagnosis"].unique()}
    with ri.open(path, ri.Policy(SCHEMA, ri.Alternatives(m=3, reference=shares))) as series:
        series.publish(MONTHS[0], seed=1)
    return path


WORKLOAD = ri.Workload(dimensions=1, selectivity=0.2, count=20, seed=1)
OF_SERIES: dict[str, Callable[[ri.Series], Any]] = {
    "release.tables": lambda series: series.release(1).tables["table"],
    "releases": lambda series: series.releases[-1].tables["table"],
    "members": lambda series: series.private.members(2),
    "held_back": lambda series: series.private.held_back(2),
    "replaced": lambda series: series.private.replaced(2),
    "utility": lambda series: series.utility(2).frame(),
    "utility, gradients": lambda series: series.utility(2).details()["gradients"],
    "utility, queries": lambda series: series.utility(2, workload=WORKLOAD).details()["queries"],
    "utility, by_size": lambda series: series.utility(2, workload=WORKLOAD).details()["by_size"],
    "audit.table": lambda series: series.audit(attacks="Worlds", limit="1/9").table,
    "audit.risks": lambda series: series.audit(attacks="Worlds").risks,
    "audit.people": lambda series: series.audit(attacks="Channels").people,
    "audit.posteriors": lambda series: series.audit(attacks="Channels").posteriors,
    "audit.exposed_groups": lambda series: series.audit(attacks="Channels").exposed_groups,
    "analyse": lambda series: ri.analyse(series.release(3)).count(where={"sex": "female"}),
}


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb"])
@pytest.mark.parametrize("name", OF_SERIES)
def test_a_series_gives_tables_of_the_library_it_was_opened_with(name: str, library: Any, folder: Path) -> None:
    with ri.open(folder) as series:
        expected = OF_SERIES[name](series)
    with ri.open(folder, frames=library) as series:
        same(OF_SERIES[name](series), library, expected)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_sets_too(library: Any, sets: Path) -> None:
    asked: list[Callable[[ri.Series], Any]] = [
        lambda series: series.utility(1).frame(),
        lambda series: series.utility(1).details()["values"],
        lambda series: series.private.members(1),
    ]
    for ask in asked:
        with ri.open(sets) as series:
            expected = ask(series)
        with ri.open(sets, frames=library) as series:
            same(ask(series), library, expected)


@pytest.mark.parametrize("library", TYPES)
def test_what_is_made_of_a_table_is_of_its_library(library: str, tmp_path: Path) -> None:
    tables = [to(library, month) for month in MONTHS]
    policy = ri.Policy(SCHEMA, ri.MInvariance(m=3))
    expected = draft(MONTHS[0], policy, seed=1).tables["table"]
    same(draft(tables[0], policy, seed=1).tables["table"], library, expected)
    same(ri.preview(tmp_path / "none", tables[0], policy, seed=1).tables["table"], library, expected)
    release = ri.publish(tmp_path / "series", tables[0], policy, seed=1)
    same(release.tables["table"], library, expected)
    same(ri.analyse(dict(release.tables)).count(), library, ri.analyse({"table": expected}).count())
    assert ri.estimate(dict(release.tables), {"sex": "female"}) == ri.estimate({"table": expected}, {"sex": "female"})
    moved, there = (ri.moves(given, SCHEMA, 100, merge=0, rng=np.random.default_rng(1)) for given in (tables, MONTHS))
    for name in ("table", "shares", "rows"):
        same(getattr(moved, name), library, getattr(there, name))
    assert (moved.change, moved.reference, moved.epsilon) == (there.change, there.reference, there.epsilon)


@pytest.mark.parametrize("library", TYPES)
def test_an_audit_by_itself(library: Any, folder: Path, tmp_path: Path) -> None:
    with ri.open(folder) as series:
        published = series.published()
    plain = ri.audit(published, attacks="Channels", limit="1/9")
    report = ri.audit(published, attacks="Channels", limit="1/9", frames=library)
    for name in ("table", "risks", "people", "posteriors", "exposed_groups"):
        same(getattr(report, name), library, getattr(plain, name))
    assert all(isinstance(table, TYPES[library]) for _, _, table in report.sections)
    # What is written does not depend on it.
    times = {"time", "seconds"}
    told, expected = report.to_dict(), plain.to_dict()
    assert {name for name in told if told[name] != expected[name]} <= {*times, "attacks"}
    assert report.to_html(tmp_path / "report.html").stat().st_size > 10_000
    assert report.text() == plain.text()
    with pytest.raises(ParameterError, match="'frames' parameter of audit"):
        ri.audit(published, frames="dask")  # type: ignore[arg-type]
