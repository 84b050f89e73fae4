"""Parquet bytes depend on the frame's content and nothing else, and every reader understands them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from datetime import date, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from profiles import examples

from reissue.errors import InternalError, SeriesDamaged, StorageError
from reissue.ledger import parquet
from reissue.ledger.footer import neutral
from reissue.ledger.parquet import ROWS_IN_A_GROUP, unpacked, write_pack, write_private, write_public
from reissue.model.pieces import MadePieces, Table

FRAME = pl.DataFrame(
    {
        "group": pl.Series([1, 1, 2, 2, 3], dtype=pl.UInt32),
        "age_low": pl.Series([20, 20, 31, 31, None], dtype=pl.Int16),
        "weight": [1.5, 2.5, 0.0, -1.0, None],
        "birth": [date(2000, 1, 1), None, date(1999, 5, 5), date(2001, 1, 1), date(1970, 1, 1)],
        "diagnosis": ["flu", "Grippe é", "Polars", "", None],
    }
)


def written(frame: Table, path: Path, write: object = write_public) -> bytes:
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


@pytest.mark.parametrize("write", [write_public, write_private])
def test_a_table_that_is_made_piece_by_piece_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object
) -> None:
    monkeypatch.setattr(parquet, "ROWS_IN_A_GROUP", 1000)
    rows, labels = 3_300, pl.Enum(["zebra", "nobody", "cat", "ant", "bee"])
    number = pl.int_range(rows, eager=True)
    label = pl.Series([["zebra", "cat", "bee", None][at % 4] for at in range(rows)], dtype=labels)
    late = pl.Series(["ant" if at > 3_000 else "cat" for at in range(rows)], dtype=labels)
    three = pl.Series([["cat", "bee", "zebra"] if at % 5 else ["cat", "ant", "bee"] for at in range(rows)])
    uneven = pl.Series([["bee"] * (at % 3 + (at > 2_000)) for at in range(rows)])
    lists = [one.cast(pl.List(labels)).alias(name) for name, one in (("three", three), ("uneven", uneven))]
    frame = pl.DataFrame([number.alias("n"), (number * 0.37).alias("x"), label.alias("label"), late.alias("late")])
    for table in (frame, frame.with_columns(lists), frame.with_columns(lists[0]), frame.with_columns(three.alias("t"))):
        held = written(table, tmp_path / "held.parquet", write)
        for size in (400, 1000, 3_000, rows):
            made = MadePieces(table.schema, rows, partial(table.iter_slices, size))
            assert written(made, tmp_path / "made.parquet", write) == held


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
    assert pq.ParquetFile(tmp_path / "table.parquet").metadata.metadata is None


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
    nested = pl.DataFrame({"lists": [[["a"]]]})
    with pytest.raises(InternalError, match="lists of lists"):
        write_public(nested, tmp_path / "nested.parquet")


def test_lists_of_labels_are_written_with_those_that_occur(tmp_path: Path) -> None:
    """Whatever their lengths, and none but the labels that are in them."""
    for lists in ([["b", "a"], ["a", "b"]], [["b"], [], ["a", "b"]], [[], []]):
        labels = pl.Series(lists, dtype=pl.List(pl.Enum(["b", "a", "unpublished"])))
        quasi = pl.Series(["x"] * len(lists), dtype=pl.Enum(["y", "x"]))
        content = written(pl.DataFrame({"quasi": quasi, "lists": labels}), tmp_path / "table.parquet")
        assert b"unpublished" not in content
        read = pl.read_parquet(tmp_path / "table.parquet")
        assert read.schema == {"quasi": pl.String, "lists": pl.List(pl.String)}
        assert read["lists"].to_list() == lists
        (tmp_path / "table.parquet").unlink()


@examples(30)
@given(
    st.lists(st.text(max_size=5), min_size=1, max_size=12, unique=True).flatmap(
        lambda labels: st.tuples(st.just(labels), st.lists(st.one_of(st.none(), st.sampled_from(labels)), max_size=30))
    )
)
def test_labels_are_strings_to_every_reader(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[str], list[str | None]]
) -> None:
    labels, cells = drawn
    path = tmp_path_factory.getbasetemp() / "labels.parquet"
    frame = pl.DataFrame({"label": pl.Series(cells, dtype=pl.Enum(labels)), "number": range(len(cells))})
    # However the labels are coded, the bytes are the same.
    recoded = frame.with_columns(pl.col("label").cast(pl.Enum([*reversed(labels), "another"])))
    assert written(frame, path) == written(recoded, path)
    plain = frame.cast({"label": pl.String})
    assert_frame_equal(pl.read_parquet(path), plain)
    assert_frame_equal(pl.from_arrow(pq.read_table(path)), plain)
    with duckdb.connect() as connection:
        assert connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall() == plain.rows()
        # Readers skip what cannot hold a label, going by the first and the last one.
        for label in labels:
            found = connection.execute("SELECT count(*) FROM read_parquet(?) WHERE label = ?", [str(path), label])
            assert found.fetchone() == (cells.count(label),)
    assert pq.ParquetFile(path).metadata.metadata is None


def test_types_that_parquet_cannot_tell_are_kept(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "label": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a", "unpublished"])),
            "when": [datetime(2026, 1, 1, tzinfo=ZoneInfo("Europe/Berlin"))] * 2,
            "long": [timedelta(hours=1), None],
        }
    )
    assert b"unpublished" not in written(frame, tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), frame.cast({"label": pl.String}))


def test_a_footer_of_another_form_is_an_error() -> None:
    for footer in (b"", b"\x15", b"\x0b\x02", b"\x1b\x01\x88\x00", b"\x18\x7fshort", b"\x1d\x00"):
        with pytest.raises(InternalError, match="footer of a form that is not known"):
            neutral(footer, b"writer", keep_own=False)


def test_small_tables_in_one_file(tmp_path: Path) -> None:
    tables = {
        "first": FRAME.with_columns(
            pl.Series("kind", ["a", None, "b", "a", "b"], dtype=pl.Enum(["a", "b", "c"])),
            pl.Series("lists", [[1], [], None, [2, 3], [4]]),
        ),
        "first-again": FRAME.select(pl.all().name.prefix("first/")),
        "empty": FRAME.clear(),
        "one": pl.DataFrame({"": [None], "a/b": [date(2026, 1, 1)]}, schema={"": pl.UInt8, "a/b": pl.Date}),
    }
    path = tmp_path / "pack.parquet"
    write_pack(tables, path)
    pack = pl.read_parquet(path)
    for name, table in tables.items():
        assert_frame_equal(unpacked(pack, name, "pack"), table)
    for wrong, name in [(pack, "second"), (pack.clear(), "first"), (FRAME, "group"), (pack.rename({"one/": "x"}), "x")]:
        with pytest.raises(SeriesDamaged, match="the-file"):
            unpacked(wrong, name, "the-file")


@pytest.mark.parametrize("write", [write_public, write_private])
def test_wherever_a_file_does_not_fit_that_is_said(tmp_path: Path, write: object) -> None:
    """Also in its footer, of which polars says no more than that it could not be written."""
    wide = pl.DataFrame({f"column {number}": [number] for number in range(400)})
    size = len(written(wide, tmp_path / "whole.parquet", write))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in range(0, size, 997):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with pytest.raises((StorageError, OSError), match="File too large"):
                written(wide, tmp_path / "cut.parquet", write)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
