"""Series of 0.1 can be handed to recipients: their records say less, and what is not said is not made up."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from frictionless import validate

import reissue as ri

SERIES = sorted(path.parent for path in (Path(__file__).parent / "series-0.1").glob("*/public"))


@pytest.mark.parametrize("series", SERIES, ids=lambda path: path.name)
def test_a_package_from_the_public_files_of_0_1(series: Path, tmp_path: Path) -> None:
    ri.export(series / "public", tmp_path / "sent", "all")
    assert ri.verify(tmp_path / "sent").intact
    assert validate(tmp_path / "sent" / "datapackage.json").valid
    found, public = ri.analyse(tmp_path / "sent"), ri.analyse(series / "public")
    assert found.count().equals(public.count())
    assert "other" not in pl.read_csv(tmp_path / "sent" / "codebook.csv")["role"].to_list()
