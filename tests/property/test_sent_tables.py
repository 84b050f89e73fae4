"""Tables that are sent as text or as sheets, and read again: exactly the same, whatever is in them."""

from __future__ import annotations

import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from profiles import examples

from reissue.errors import TableError
from reissue.tables.sent_csv import csv_bytes, read_sent_csv
from reissue.tables.sent_types import dtype_named, field_type, plain_types, type_name
from reissue.tables.sent_workbook import cell_types, problems_of_sheet, read_sheet, workbook_bytes

NASTY = [
    "", " ", "007", "1e5", "nan", "NULL", "true", "2020-01-01", "=1+1", "@x", "-1", "+", "a,b", "{a,b}", "{", "}", "{}",
    '"', '""', 'a"b', "a\nb", "a\rb", "\r\n", "\t", " lead", "trail ", "é", "\U0001f600", "_x0041_", "\x01", "\ufeff",
    "(missing)",
    "</v>", "&amp;", "'",
]  # fmt: skip
TEXTS = st.sampled_from(NASTY) | st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\ufffe\uffff"), max_size=8
)
TIMES = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))
CELLS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "text": (pl.String, TEXTS),
    "small": (pl.UInt32, st.integers(0, 2**32 - 1)),
    "whole": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "decimal": (pl.Float64, st.floats(allow_nan=False)),
    "single": (pl.Float32, st.floats(width=32, allow_nan=False)),
    "truth": (pl.Boolean, st.booleans()),
    "day": (pl.Date, st.dates()),
    "time": (pl.Datetime("us"), TIMES),
    "second": (pl.Datetime("us"), TIMES.map(lambda time: time.replace(microsecond=0))),
    "zoned": (pl.Datetime("us", "UTC"), TIMES.map(lambda time: time.replace(tzinfo=datetime.UTC))),
}


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(0, 6))
    columns = []
    for name, (dtype, cells) in CELLS.items():
        nulls = cells if draw(st.booleans()) and name != "text" else cells | st.none()
        if name == "text":
            nulls = cells
        columns.append(pl.Series(name, draw(st.lists(nulls, min_size=rows, max_size=rows)), dtype=dtype))
        members = st.lists(cells, max_size=3) if name == "text" else st.lists(cells | st.none(), max_size=3)
        lists = draw(st.lists(members, min_size=rows, max_size=rows))
        columns.append(pl.Series(f"{name}, {{several}}", lists, dtype=pl.List(dtype)))
    return pl.DataFrame(columns)


def types_of(frame: pl.DataFrame) -> dict[str, str]:
    return {name: type_name(dtype) for name, dtype in frame.schema.items()}


@given(frames())
@examples(60)
def test_csv_files_bring_back_every_cell(frame: pl.DataFrame) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(csv_bytes(frame))
        assert_frame_equal(read_sent_csv(path, types_of(frame)), frame, check_exact=True)


@given(st.lists(TEXTS | st.none(), min_size=1, max_size=6))
@examples(40)
def test_csv_files_tell_no_value_from_an_empty_text(cells: list[str | None]) -> None:
    frame = pl.DataFrame({"text": pl.Series(cells, dtype=pl.String)})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(csv_bytes(frame))
        assert read_sent_csv(path, {"text": "string"})["text"].to_list() == cells


@given(frames())
@examples(30)
def test_workbooks_bring_back_every_cell(frame: pl.DataFrame) -> None:
    assert problems_of_sheet("table", frame) == []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tables.xlsx"
        path.write_bytes(
            workbook_bytes({"first": pl.DataFrame({"a": [1]}), "table": frame}, datetime.datetime(2026, 1, 1))
        )
        read = read_sheet(path, "table", types_of(frame), cell_types(frame))
    assert_frame_equal(read, frame, check_exact=True)


def test_labels_are_told_of_as_texts() -> None:
    frame = pl.DataFrame(
        {"a": pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"])), "b": pl.Series(["x", None], dtype=pl.Categorical)}
    )
    frame = frame.with_columns(c=pl.concat_list("a"))
    assert types_of(frame) == {"a": "string", "b": "string", "c": "list[string]"}
    assert plain_types(frame).schema == {"a": pl.String, "b": pl.String, "c": pl.List(pl.String)}


def test_types_have_names_that_lead_back() -> None:
    for dtype in (*(dtype for dtype, _ in CELLS.values()), pl.Datetime("ms", "Europe/Berlin"), pl.List(pl.Date)):
        assert dtype_named(type_name(dtype)) == dtype
    with pytest.raises(TableError, match="does not know"):
        dtype_named("list[list[string]]")
    fields = [field_type(name) for name in ("uint8", "float32", "list[int64]", "date", "boolean", "datetime[us, UTC]")]
    assert fields == ["integer", "number", "string", "date", "boolean", "datetime"]


def test_what_excel_cannot_hold_is_refused_with_every_reason() -> None:
    frame = pl.DataFrame(
        {"a": ["x" * 32_768, "<r>y</r>"], "b": ["\ufffe", None], "c": ["", None], "d": ["\U0001f600" * 16_384, "z"]}
    )
    problems = problems_of_sheet("table", frame)
    assert len(problems) == 5
    assert [one for one in problems if "32,767" in one and ("'a'" in one or "'d'" in one)] == [problems[0], problems[4]]
    assert sum("no workbook keeps" in one for one in problems) == 2
    assert sum("does not tell apart" in one for one in problems) == 1
    tall = pl.DataFrame({"a": pl.repeat(1, 1_048_576, eager=True)})
    assert "1,048,576 rows, and a sheet holds 1,048,575" in problems_of_sheet("table", tall)[0]
    assert problems_of_sheet("table", tall.head(1_048_575)) == []


def test_what_excel_has_no_type_for_is_text() -> None:
    frame = pl.DataFrame(
        {
            "whole": [2**53, -(2**53)],
            "large": [2**53 + 1, 0],
            "old": [datetime.date(1900, 2, 28), datetime.date(2000, 1, 1)],
            "day": [datetime.date(1900, 3, 1), None],
            "infinite": [float("inf"), 0.0],
            "fine": [datetime.datetime(2020, 1, 1, 0, 0, 0, 1)] * 2,
        }
    )
    kinds = {
        "whole": "integer",
        "large": "string",
        "old": "string",
        "day": "date",
        "infinite": "string",
        "fine": "string",
    }
    assert cell_types(frame) == kinds


def test_a_file_that_is_another_table_is_refused_without_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for content in ("a,b\n1,secret\n", "b,a\n1,2\n", "a\n1\n", "a,b\n1\n1,2,3\n"):
        path.write_text(content)
        with pytest.raises(TableError, match=r"'table.csv' is not the table") as refused:
            read_sent_csv(path, {"a": "int64", "b": "int64"})
        assert "secret" not in str(refused.value)
    path.unlink()
    with pytest.raises(TableError, match="There is no file"):
        read_sent_csv(path, {"a": "int64"})
