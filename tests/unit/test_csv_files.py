"""The one rule for CSV: what stands between cells, quotes, encodings, faults by line, decimals; and what is written."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import ReissueWarning, TableError
from reissue.model.csv_files import csv_bytes, laid_out, read_csv, read_text, rows_of
from reissue.tables.frames import read_table

CANARY = "canary-51c2"
FAR = 300
"""Beyond the lines that say what stands between cells."""


def read(tmp_path: Path, content: bytes | str, **more: object) -> pl.DataFrame:
    path = tmp_path / "x.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **more)[0]  # type: ignore[arg-type]


def refused(tmp_path: Path, content: bytes | str) -> str:
    with pytest.raises(TableError) as caught:
        read(tmp_path, content)
    assert caught.value.hint
    assert CANARY not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_every_separator_with_the_others_inside(separator: str, end: str, tmp_path: Path) -> None:
    others = "".join({",", ";", "\t", "|"} - {separator})
    rows = [["id", "a b", "text"], ["1", "", f'"say ""{separator}""{end}x"'], ["2", "3", f"x{others}y"]]
    found = read(tmp_path, end.join(separator.join(row) for row in rows))
    assert found.columns == ["id", "a b", "text"]
    assert found.rows() == [(1, None, f'say "{separator}"{end}x'), (2, 3, f"x{others}y")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"a,b;c\n1,{CANARY};3\n", "every line has 2 between commas or 2 between semicolons"),
        (f"a,b,c\n1,2,3\n\n1,{CANARY}\n", "Line 4 of 'x.csv' has 2 cells between commas, and the header has 3"),
        (f"a;b\n1;2\n{CANARY};3;4\n", "Line 3 of 'x.csv' has 3 cells between semicolons, and the header has 2"),
        (f"a\n1,{CANARY}\n", "Line 2 of 'x.csv' has 2 cells between commas, and the header has 1"),
        (f'a,b\n1,x"{CANARY}\n', "Line 2 of 'x.csv' cannot be taken apart"),
        (f'a,b\n1, "{CANARY}"\n', "Line 2 of 'x.csv' cannot be taken apart"),
        (f'a,b\n1,2\n"{CANARY},3\n', "Line 3 of 'x.csv' cannot be taken apart"),
        (f"a,b\r1,{CANARY}\r", "end with a carriage return alone"),
        (f"sep=;\na;b\n1;{CANARY}\n", "begins with a line for a spreadsheet"),
        ("", "is empty"),
        (" \n\n", "is empty"),
        (f"a,,a\n1,{CANARY},2\n", "2 columns whose name another one has too: number 1, 3"),
        (f"a,,a\n1,{CANARY},2\n", "1 column without a name: number 2"),
        (f"a,b\n1,{CANARY}ä\n".encode("latin-1"), "is not UTF-8: line 2"),
        (f"ä,b\n1,{CANARY}\n".encode("latin-1"), "is not UTF-8: line 1"),
        (f"a,b\n1,{CANARY}\n".encode("utf-16-le"), "UTF-16 without a byte order mark"),
    ],
)
def test_faults_are_told_by_line_and_count(content: bytes | str, told: str, tmp_path: Path) -> None:
    assert told in refused(tmp_path, content)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{CANARY},2", f"Line {FAR + 2} of 'x.csv' has 2 cells between commas, and the header has 3"),
        (f"{CANARY},2,3,4", f"Line {FAR + 2} of 'x.csv' has 4 cells between commas, and the header has 3"),
        (f'1,{CANARY}"x,3', f"Line {FAR + 2} of 'x.csv' cannot be taken apart"),
    ],
)
@pytest.mark.parametrize("usual", ["1,2,3", '"1,1",2,3'])
def test_faults_far_down_are_found_too(line: str, told: str, usual: str, tmp_path: Path) -> None:
    """A separator inside of quotes does not make up for one that is lacking."""
    assert told in refused(tmp_path, "\n".join(["a,b,c", *[usual] * FAR, line, "1,2,3"]))
    far = "\n".join(["a,b", *["1,2"] * FAR, f"{CANARY}ä,2"]).encode("latin-1")
    assert f"not UTF-8: line {FAR + 2}" in refused(tmp_path, far)


def test_what_is_missing_at_the_end_is_missing_and_empty_lines_are_none(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,\n\n,\n3,4\n\n").rows() == [(1, None), (None, None), (3, 4)]
    assert read(tmp_path, "\n\na,b\n1,2\n").rows() == [(1, 2)]
    assert read(tmp_path, "a\n1\n\n3\n").rows() == [(1,), (None,), (3,)]  # of one column, an empty line is a cell
    assert read(tmp_path, "a,b\n").shape == (0, 2)


def test_byte_order_marks(tmp_path: Path) -> None:
    text = '"ä;x";b\r\nü;2\r\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert read(tmp_path, text.encode(encoding)).to_dicts() == [{"ä;x": "ü", "b": 2}]


def test_spaces_around_names_are_told(tmp_path: Path) -> None:
    with pytest.warns(ReissueWarning, match="spaces around them, which are part of the names: number 2"):
        assert read(tmp_path, "a, b\n1,2\n").columns == ["a", " b"]


def test_decimal_commas(tmp_path: Path) -> None:
    german = "id;weight;codes;date\n1;3,5;1,2;2024-01-05\n2;-4;2,3;\n"
    assert read(tmp_path, german).row(0)[1:3] == (3.5, 1.2)
    named = read(tmp_path, german, text={"codes", "id"})
    assert named.row(1) == ("2", -4.0, "2,3", None)
    # Where decimals have a point, a comma is none; nor is it with a leading zero, twice, or between commas.
    assert read(tmp_path, "a;b\n3,5;1.5\n").row(0) == ("3,5", 1.5)
    assert read(tmp_path, "a;b\n01,5;1\n").row(0) == ("01,5", 1)
    assert read(tmp_path, "a;b\n1,5,2;1\n").row(0) == ("1,5,2", 1)
    assert read(tmp_path, 'a,b\n"3,5",1\n').row(0) == ("3,5", 1)


def test_text_stays_as_it_is_written(tmp_path: Path) -> None:
    found = read(tmp_path, "id,zip,age\n007,02139,41\n", text={"id", "zip"})
    assert found.row(0) == ("007", "02139", 41)


def test_packed_and_plain_are_the_same(tmp_path: Path) -> None:
    content = b"a|b\n1|x\n2|y, z\n"
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(content))
    assert read_table(tmp_path / "x.csv.gz")[0].equals(read(tmp_path, content))


def test_a_head_that_ends_inside_of_quotes(tmp_path: Path) -> None:
    long = "x\n" * 200_000
    found = read(tmp_path, f'a,b\n1,"{long}"\n2,y\n')
    assert found["b"].to_list() == [long, "y"]


def test_lines_of_hierarchies_need_no_header_and_prefer_semicolons() -> None:
    assert rows_of("[1, 2];*\n[3, 4];*\n", "h.csv") == [["[1, 2]", "*"], ["[3, 4]", "*"]]
    assert rows_of("a,*\n\nb,*\n", "h.csv") == [["a", "*"], [], ["b", "*"]]


CELLS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")) | st.sampled_from('",;|\t\n\r'), max_size=6
)


@given(rows=st.lists(st.tuples(CELLS, st.none() | CELLS, st.none() | st.integers(-9, 9)), min_size=1, max_size=12))
def test_what_is_written_is_read_again(rows: list[tuple[str, str | None, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b, c": pl.String, "n": pl.Int64}, orient="row")
    content = csv_bytes(frame)
    assert not content.startswith(b"\xef\xbb\xbf")
    try:
        file = laid_out(content, "x.csv")
    except TableError as error:
        assert "cannot be told" in str(error)  # every line may happen to have as many of another separator
        return
    read = read_csv(file, text={"a", "b, c"})
    assert read.select("a", "b, c").equals(frame.select("a", "b, c"))
    assert read["n"].to_list() == frame["n"].to_list()


def test_small_files_as_text(tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text("value;share\n01;0,5\n")
    assert read_text(tmp_path / "shares.csv").rows() == [("01", "0,5")]
