"""Files that are not sound: each is read or refused with a message, whatever polars makes of it; no cell is quoted."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
import traceback
from collections.abc import Callable
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from profiles import sized

import reissue as ri
from reissue.errors import ReissueError, TableError
from reissue.publishing.series import draft
from reissue.tables.frames import read_table
from reissue.tables.parquet_account import parquet_extent

CELL = "QUOTEDCELL"
ROWS = range(120)
TABLE = pl.DataFrame(
    {
        "patient": [f"{CELL}{n:03}" for n in ROWS],
        "age": [20 + n % 60 for n in ROWS],
        "sex": [f"{CELL}{'fm'[n % 2]}" for n in ROWS],
        "since": [date(2000, 1, 1 + n % 28) for n in ROWS],
        "weight": [n / 7 for n in ROWS],
        "diagnosis": [f"{CELL}{'abc'[n % 3]}" for n in ROWS],
    },
    schema_overrides={"sex": pl.Categorical},
)
POLICY = ri.Policy(
    ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "sex": ri.Categorical(), "since": ri.Numeric(), "weight": ri.Numeric()},
        sensitive="diagnosis",
    ),
    ri.Mondrian(k=3),
)


def parquet(**options: object) -> bytes:
    file = io.BytesIO()
    TABLE.write_parquet(file, **options)  # type: ignore[arg-type]
    return file.getvalue()


def arrow() -> bytes:
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(TABLE.to_arrow(), file, use_dictionary=["diagnosis"])
    return file.getvalue()


KINDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "zstd": (".parquet", lambda: parquet(compression="zstd")),
    "plain": (".parquet", lambda: parquet(compression="uncompressed")),
    "arrow": (".parquet", arrow),
    "csv": (".csv", lambda: TABLE.write_csv().encode()),
    "gzip": (".csv.gz", lambda: gzip.compress(TABLE.write_csv().encode(), mtime=0)),
}


def tried(read: Callable[[], object]) -> str:
    try:
        read()
    except ReissueError as error:
        told = "".join(traceback.format_exception(error))
        assert CELL not in told, told
        return "refused"
    return "read"


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_and_cut(kind: str, tmp_path: Path) -> None:
    """A draft of the file, and an audit of it as a release made elsewhere."""
    suffix, make = KINDS[kind]
    whole, chosen = make(), random.Random(11)
    path = tmp_path / f"table{suffix}"
    ways: dict[str, Callable[[], object]] = {
        "draft": lambda: draft(path, POLICY, seed=1),
        "audit": lambda: ri.read_releases([path], sensitive="diagnosis", person="patient"),
        "registry": lambda: ri.read_releases(
            [TABLE.drop("patient")], sensitive="diagnosis", registry=path, person="patient", present="all"
        ),
    }
    seen: set[str] = set()
    for turn in range(sized(60, 2000)):
        content = bytearray(whole)
        if turn % 10 == 0:
            content = content[: chosen.randrange(len(whole))]
        else:
            bit = chosen.randrange(8 * len(whole))
            content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        seen |= {tried(way) for way in ways.values()}
    assert "refused" in seen
    path.write_bytes(whole)
    assert [tried(way) for way in ways.values()] == ["read"] * 3


@pytest.mark.parametrize("column", ["patient", "sex", "diagnosis", "job"])
@pytest.mark.parametrize("writer", ["polars", "arrow"])
@pytest.mark.parametrize("row", [1, 2900])
def test_text_that_is_not_utf8(column: str, writer: str, row: int, tmp_path: Path) -> None:
    """polars believes a Parquet file that its texts are UTF-8, and panics when it comes to use them."""
    jobs = ri.Hierarchy.from_nested({"any": {"a": [f"{CELL}nurse", f"{CELL}smith"], "b": [f"{CELL}clerk"]}})
    table = pl.concat([TABLE.with_columns(pl.col("patient") + f"-{n}") for n in range(25)])
    table = table.with_columns(
        job=pl.Series([f"{CELL}{('nurse', 'smith', 'clerk')[n % 3]}" for n in range(table.height)]),
        sex=pl.Series([f"{CELL}{'fmd'[n % 3]}" for n in range(table.height)]),
    )
    marked = f"{CELL}MARK"
    table = table.with_columns(
        pl.when(pl.int_range(table.height) == row).then(pl.lit(marked)).otherwise(pl.col(column)).alias(column)
    )
    path = tmp_path / "table.parquet"
    if writer == "polars":
        table.write_parquet(path, compression="uncompressed")
    else:
        import pyarrow.parquet

        pyarrow.parquet.write_table(
            table.to_arrow(), path, compression="NONE", use_dictionary=[column], write_statistics=False
        )
    content = path.read_bytes()
    assert marked.encode() in content
    path.write_bytes(content.replace(marked.encode(), marked.encode()[:-1] + b"\xff"))
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "since": ri.Numeric(), "weight": ri.Numeric(), "job": jobs}
    policy = ri.Policy(ri.Schema(person="patient", quasi=quasi, sensitive="diagnosis"), ri.Mondrian(k=3))
    ways: tuple[Callable[[], object], ...] = (
        lambda: draft(path, policy),
        lambda: draft(path, policy, show_values=True),
        lambda: read_table(path),
        lambda: ri.read_releases([path], sensitive="diagnosis"),
    )
    for way in ways:
        with pytest.raises(TableError) as caught:
            way()
        assert CELL not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("turn", range(4))
def test_a_page_that_asks_for_all_the_memory_there_is(turn: int, tmp_path: Path) -> None:
    """polars makes room for as many values as a page says it has, and takes the process down where there is not enough.

    So each is tried in a process of its own, as long as it is not known to be refused.
    """
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame({"since": [date(2000, 1, 1 + n % 28) for n in ROWS], "n": [n % 5 for n in ROWS]})
    frame.write_parquet(path)
    content = path.read_bytes()
    # In the header of a page: a structure (field 5) whose first field is the number of values, 120, as 2 * 120.
    header = b"\x2c\x15\xf0\x01\x15"
    assert content.count(header) == 2
    number = (b"\xf1\x01", b"\xff\x01", b"\xf0\x7f", b"\xf2\x01")[turn]  # -121, -128, 8184, 121
    path.write_bytes(content.replace(header, header[:2] + number + header[4:], 1))
    program = f"import reissue as ri\nri.read_releases([{str(path)!r}], sensitive='n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.returncode
    assert "TableError: The releases cannot be read." in done.stderr
    assert "panicked" not in done.stderr


def test_accounts_of_all_kinds_of_files_add_up(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "table.parquet"
    table = TABLE.with_columns(
        none=pl.lit(None, dtype=pl.String),
        some=pl.when(pl.col("age") > 40).then(pl.col("age")),
        yes=pl.col("age") > 30,
        list=pl.concat_list("age", "age"),
        struct=pl.struct("age", "weight"),
        time=pl.col("since").cast(pl.Datetime("ns")),
        money=pl.col("weight").cast(pl.Decimal(20, 3)),
    )
    for rows in (table, table.head(0), table.head(1)):
        for options in (
            {},
            {"row_group_size": 7},
            {"compression": "lz4"},
            {"statistics": False},
            {"data_page_size": 64},
        ):
            rows.write_parquet(path, **options)  # type: ignore[arg-type]
            assert read_table(path)[0].equals(rows)
            assert parquet_extent(path).rows == rows.height
        arrow = rows.drop("struct").to_arrow()
        for more in (
            {}, {"data_page_version": "2.0"}, {"version": "1.0"}, {"use_dictionary": False}, {"compression": "gzip"},
            {"data_page_size": 100}, {"row_group_size": 9}, {"write_page_index": True},
            {"dictionary_pagesize_limit": 20},
            {"use_dictionary": False, "column_encoding": {"age": "DELTA_BINARY_PACKED", "patient": "DELTA_BYTE_ARRAY"}},
        ):  # fmt: skip
            pyarrow.parquet.write_table(arrow, path, **more)
            assert parquet_extent(path).rows == rows.height, more
            assert read_table(path)[0].height == rows.height, more


def test_a_panic_of_a_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    def panics(*arguments: object, **options: object) -> object:
        raise pl.exceptions.PanicException(CELL)

    lazy = TABLE.lazy()
    monkeypatch.setattr(pl.LazyFrame, "collect", panics)
    with pytest.raises(TableError, match="cannot be converted") as caught:
        read_table(lazy)
    assert CELL not in "".join(traceback.format_exception(caught.value))


def test_an_archive_that_is_no_excel(tmp_path: Path) -> None:
    for name, content in (("a.xlsx", b"PK\x03\x04" + bytes(300)), ("b.xls", bytes(600)), ("c.xlsb", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match="The releases cannot be read"):
            ri.read_releases([tmp_path / name], sensitive="diagnosis")
