"""Hierarchies that are sent with a package: recipients group by coarsened columns without asking anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import Run
from polars.testing import assert_frame_equal

import reissue as ri
from reissue.errors import HierarchyError, ParameterError

TOWNS = {"*": {"north": ["n, 1", "n2"], "south": ["s1", "s2", "s3"]}}


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "patient": range(count),
            "age": rng.integers(20, 80, count),
            "sex": rng.choice(["female", "male"], count),
            "illness": rng.choice(["flu", "asthma", "gout", "ulcer"], count),
        }
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "excel"])
@pytest.mark.parametrize("several", [False, True])
def test_a_hierarchy_that_is_sent_is_found(kind: Any, several: bool, tmp_path: Path, run: Run) -> None:
    """Recipients group by a coarsened column by themselves; without it they are told whom to ask."""
    table = people(300).with_columns(
        town=pl.Series(
            np.random.default_rng(2).choice([*TOWNS["*"]["north"], *TOWNS["*"]["south"], None], 300).tolist()
        )
    )
    town = ri.Hierarchy.from_nested(TOWNS, missing="value")
    schema = ri.Schema("patient", {"age": ri.Numeric(), "town": town}, "illness", drop=["sex"])
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Mondrian(k=12), series="unprotected")) as series:
        series.publish(table)
        series.publish(table.head(250))
    number = "all" if several else 2
    source, bare, sent = (tmp_path / name for name in ("s", "bare", "sent"))
    ri.export(source, bare, number, format=kind)
    for given in (town, tmp_path / "town.json"):
        (tmp_path / "town.json").write_text(json.dumps(TOWNS))
        ri.export(source, sent, number, format=kind, hierarchies={"town": given}, force=True)
        assert run("verify", sent).code == 0
        found = ri.analyse(sent)
        one = found.only(2).count(by="town")
        assert_frame_equal(one, ri.analyse(source / "public", hierarchies={"town": town}).only(2).count(by="town"))
        for row in one.rows(named=True):
            actual = table.head(250).filter(pl.col("town").fill_null("(missing)") == row["town"]).height
            assert row["low"] <= actual <= row["high"]
        # Somebody of whom any town would do may have none.
        every = [*TOWNS["*"]["north"], *TOWNS["*"]["south"]]
        where = found.only(2).count(where={"town": every})
        assert where["low"][0] <= table.head(250)["town"].is_not_null().sum() <= where["high"][0]
    assert "(missing)" in one["town"].to_list()
    assert "is in hierarchy-town.json" in (sent / "codebook.csv").read_text()
    assert "`hierarchy-town.json`" in (sent / "README.md").read_text()
    refused = run("estimate", bare, "--by", "town")
    assert refused.code == 2 and "--hierarchy column=file" in refused.err
    again = ["estimate", bare, "--by", "town", "--hierarchy", f"town={tmp_path / 'town.json'}"]
    assert run(*again).code == 0
    with pytest.raises(HierarchyError, match="lacks: it is another one"):
        ri.analyse(bare, hierarchies={"town": ri.Hierarchy.from_nested({"*": ["x", "y"]})}).count(by="town")


def test_what_hierarchies_are_sent(tmp_path: Path, run: Run) -> None:
    """Those of columns that were coarsened along one, with all labels that are published."""
    schema = ri.Schema("patient", {"age": ri.Numeric(), "sex": ri.Categorical()}, "illness")
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Mondrian(k=12))) as series:
        series.publish(people(100))
    (tmp_path / "h.json").write_text(json.dumps(TOWNS))
    for given in (f"sex={tmp_path / 'h.json'}", "sex", "sex=missing.json"):
        refused = run("export", tmp_path / "s", tmp_path / "sent", "--hierarchy", given)
        assert refused.code == 2 and not (tmp_path / "sent").exists(), refused.err
    with pytest.raises(ParameterError, match="must name a hierarchy for each column"):
        ri.export(tmp_path / "s", tmp_path / "sent", hierarchies=["x"])  # type: ignore[arg-type]
