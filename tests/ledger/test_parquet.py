"""Parquet bytes depend on the frame's content and nothing else, and every reader understands them."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from itertools import pairwise
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from profiles import examples

from reissue.errors import InternalError
from reissue.ledger.parquet import ROWS_IN_A_GROUP, write_private, write_public

FRAME = pl.DataFrame(
    {
        "group": pl.Series([1, 1, 2, 2, 3], dtype=pl.UInt32),
        "age_low": pl.Series([20, 20, 31, 31, None], dtype=pl.Int16),
        "weight": [1.5, 2.5, 0.0, -1.0, None],
        "birth": [date(2000, 1, 1), None, date(1999, 5, 5), date(2001, 1, 1), date(1970, 1, 1)],
        "diagnosis": ["flu", "Grippe é", "Polars", "", None],
    }
)


def written(frame: pl.DataFrame, path: Path, write: object = write_public) -> bytes:
    path.unlink(missing_ok=True)
    facts = write(frame, path)  # type: ignore[operator]
    assert facts.size == path.stat().st_size
    return path.read_bytes()


@pytest.mark.parametrize("write", [write_public, write_private])
def test_the_same_frame_gives_the_same_bytes(tmp_path: Path, write: object) -> None:
    rows = ROWS_IN_A_GROUP + 1000
    frame = pl.select(
        pl.int_range(rows, dtype=pl.UInt32).alias("number"),
        (pl.int_range(rows) % 50).cast(pl.String).alias("label"),
        (pl.int_range(rows) * 0.37).alias("value"),
    )
    once = written(frame, tmp_path / "a.parquet", write)
    assert written(frame.clone(), tmp_path / "b.parquet", write) == once
    for cuts in ((1, 2, 3), (1000,), (ROWS_IN_A_GROUP,), (ROWS_IN_A_GROUP + 1,), range(0, rows, 9973)):
        edges = [0, *cuts, rows]
        pieces = [frame[low:high] for low, high in pairwise(edges) if high > low]
        chunked = pl.concat(pieces, rechunk=False)
        assert chunked.n_chunks() > 1
        assert written(chunked, tmp_path / "c.parquet", write) == once
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1).sort("number")
    assert written(shuffled, tmp_path / "d.parquet", write) == once
    flagged = frame.with_columns(pl.col("number").set_sorted())
    assert written(flagged, tmp_path / "e.parquet", write) == once


@pytest.mark.parametrize("threads", ["1", "5"])
def test_the_number_of_threads_does_not_matter(tmp_path: Path, threads: str) -> None:
    code = (
        "import sys; from pathlib import Path; import polars as pl; from reissue.ledger.parquet import write_public;"
        "n = 300_000; frame = pl.select(pl.int_range(n).alias('a'), (pl.int_range(n) % 7).cast(pl.String).alias('b'));"
        "write_public(frame, Path(sys.argv[1]))"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "there.parquet")],
        check=True,
        env={**os.environ, "POLARS_MAX_THREADS": threads},
    )
    frame = pl.select(pl.int_range(300_000).alias("a"), (pl.int_range(300_000) % 7).cast(pl.String).alias("b"))
    assert written(frame, tmp_path / "here.parquet") == (tmp_path / "there.parquet").read_bytes()


def test_a_file_says_nothing_about_its_writer(tmp_path: Path) -> None:
    content = written(FRAME.drop("diagnosis"), tmp_path / "table.parquet")
    assert b"Polars" not in content
    assert pl.__version__.encode() not in content
    assert pq.ParquetFile(tmp_path / "table.parquet").metadata.created_by == "reissue version 1 (build 0)"
    metadata = pq.ParquetFile(tmp_path / "table.parquet").metadata.metadata
    assert set(metadata) == {b"ARROW:schema"}


def test_every_reader_understands_it(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    written(FRAME, path)
    assert_frame_equal(pl.read_parquet(path), FRAME)
    assert_frame_equal(pl.from_arrow(pq.read_table(path)), FRAME)
    connection = duckdb.connect()
    assert connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall() == FRAME.rows()
    connection.close()


@examples(12)
@given(
    names=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5, unique=True),
    values=st.lists(st.one_of(st.none(), st.text(max_size=20)), max_size=20),
)
def test_any_names_and_labels(tmp_path_factory: pytest.TempPathFactory, names: list[str], values: list[str]) -> None:
    """Also those that look like a footer: the writer's name is replaced, the content never."""
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    frame = pl.DataFrame({name: pl.Series(values, dtype=pl.String) for name in [*names, "\x18\x06Polars"]})
    written(frame, path)
    assert_frame_equal(pl.read_parquet(path), frame)


def test_no_empty_frame_is_a_problem(tmp_path: Path) -> None:
    written(FRAME.clear(), tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), FRAME.clear())


def test_labels_without_rows_do_not_get_out(tmp_path: Path) -> None:
    seen = pl.DataFrame(
        {
            "enum": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b", "unpublished"])),
            "category": pl.Series(["a", "unpublished"], dtype=pl.Categorical).set(pl.Series([False, True]), "b"),
        }
    )
    content = written(seen, tmp_path / "table.parquet")
    assert b"unpublished" not in content
    assert pl.read_parquet(tmp_path / "table.parquet").schema == {"enum": pl.String, "category": pl.String}
    nested = pl.DataFrame({"lists": [["a"]]})
    with pytest.raises(InternalError, match="flat"):
        write_public(nested, tmp_path / "nested.parquet")
