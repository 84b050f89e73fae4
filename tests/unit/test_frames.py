"""Tables in: the same table through every library and kind of file gives the same people and the same public bytes."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xlsxwriter
from command_line import Run, run

import reissue as ri
from reissue.errors import MissingExtra, TableError
from reissue.publishing.series import draft
from reissue.tables.frames import read_table

__all__ = ["run"]

PEOPLE = 60
CANARY = "canary-9e31"


def people(*, first: int = 1) -> pl.DataFrame:
    """Whole numbers as ids, codes with a leading zero, 0 and 1 with missing cells, dates, decimals."""
    number = pl.int_range(PEOPLE, eager=True)
    return pl.DataFrame(
        {
            "id": number + first,
            "age": 20 + number * 7 % 50,
            "zip": ("0" + (2130 + number % 4).cast(pl.String)),
            "flag": (number % 2).set(number % 5 == 0, None),
            "born": pl.select(pl.lit(dt.date(1990, 1, 1)) + pl.duration(days=number * 11))[:, 0].cast(pl.Date),
            "weight": 50.5 + number % 9,
            "illness": pl.Series(["flu", "cold", "gout", "grippe, forte", 'say "ah"', "ü"]).gather(number % 6),
        }
    )


def policy(**more: Any) -> ri.Policy:
    schema = ri.Schema(
        person="id",
        quasi={
            "age": ri.Numeric(),
            "zip": ri.Categorical(),
            "flag": ri.Categorical(missing="value"),
            "born": ri.Numeric(),
            "weight": ri.Numeric(),
        },
        sensitive="illness",
    )
    return ri.Policy(schema, ri.MInvariance(m=2), checks=ri.Checks(same_state="accept"), **more)


Kind = Callable[[pl.DataFrame, Path], object]


def csv(separator: str, name: str = "t.csv", encoding: str = "utf-8", comma: bool = False) -> Kind:
    def write(table: pl.DataFrame, folder: Path) -> Path:
        text = table.write_csv(separator=separator)
        if comma:
            decimal_comma = pl.col("weight").cast(pl.String).str.replace(r"\.", ",")
            text = table.with_columns(decimal_comma).write_csv(separator=separator)
        (folder / name).write_bytes(text.encode(encoding))
        return folder / name

    return write


def packed(table: pl.DataFrame, folder: Path) -> Path:
    import gzip

    (folder / "t.csv.gz").write_bytes(gzip.compress(table.write_csv().encode()))
    return folder / "t.csv.gz"


def parquet(table: pl.DataFrame, folder: Path) -> str:
    table.write_parquet(folder / "t.parquet")
    return str(folder / "t.parquet")


def excel(table: pl.DataFrame, folder: Path) -> Path:
    return sheets(folder / "t.xlsx", {"People": table})


def second_sheet(table: pl.DataFrame, folder: Path) -> str:
    sheets(folder / "two.xlsx", {"Notes": pl.DataFrame({"x": [1]}), "May 2026": table})
    return f"{folder / 'two.xlsx'}#May 2026"


def sheets(path: Path, tables: dict[str, pl.DataFrame]) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, table in tables.items():
            table.write_excel(book, worksheet=name)
    return path


def from_pandas_csv(table: pl.DataFrame, folder: Path) -> pd.DataFrame:
    csv(",")(table, folder)
    return pd.read_csv(folder / "t.csv", dtype={"zip": str}, parse_dates=["born"])


def objects(table: pl.DataFrame, folder: Path) -> pd.DataFrame:
    frame = pd.DataFrame({name: pd.Series(table[name].to_list(), dtype=object) for name in table.columns})
    frame["id"] = pd.Series([np.int64(one) for one in table["id"]], dtype=object)
    return frame


def nullable(table: pl.DataFrame, folder: Path) -> pd.DataFrame:
    frame = table.to_pandas()
    types = {"id": "Int64", "age": "UInt8", "flag": "Int64", "weight": "Float64", "zip": "string", "illness": "string"}
    return frame.astype(types)


def categorical(table: pl.DataFrame, folder: Path) -> pd.DataFrame:
    frame = nullable(table, folder)
    ordered = pd.CategoricalDtype(sorted(set(frame["illness"]), reverse=True), ordered=True)
    return frame.astype({"zip": "category", "flag": "category", "illness": ordered})


def arrow_types(table: pl.DataFrame, folder: Path) -> pd.DataFrame:
    return table.to_pandas(use_pyarrow_extension_array=True)


def dictionaries(table: pl.DataFrame, folder: Path) -> pa.Table:
    made = table.to_arrow()
    for name, column in (
        ("zip", made["zip"].cast(pa.large_string())),
        ("illness", made["illness"].cast(pa.string()).dictionary_encode()),
        ("flag", made["flag"].cast(pa.float64())),
        ("id", made["id"].cast(pa.decimal128(19, 0))),
    ):
        made = made.set_column(made.schema.get_field_index(name), name, column)
    return made


def relation(table: pl.DataFrame, folder: Path) -> Any:
    return duckdb.from_arrow(table.to_arrow())


def enums(table: pl.DataFrame, folder: Path) -> pl.DataFrame:
    return table.with_columns(
        pl.col("illness").cast(pl.Enum(table["illness"].unique().sort(descending=True))),
        pl.col("zip").cast(pl.Categorical),
        pl.col("id").cast(pl.Int32),
        pl.col("age").cast(pl.UInt8),
        pl.col("flag").cast(pl.Decimal(10, 2)),
        pl.col("weight").cast(pl.Decimal(10, 2)),
    )


KINDS: dict[str, Kind] = {
    "polars": lambda table, folder: table,
    "lazy": lambda table, folder: table.lazy(),
    "enums and decimals": enums,
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, read from CSV": from_pandas_csv,
    "pandas, objects": objects,
    "pandas, nullable": nullable,
    "pandas, categorical": categorical,
    "pandas, arrow": arrow_types,
    "pyarrow": lambda table, folder: table.to_arrow(),
    "pyarrow, dictionaries": dictionaries,
    "duckdb": relation,
    "csv": csv(","),
    "csv, semicolons": csv(";"),
    "csv, semicolons and commas": csv(";", comma=True),
    "csv, bars, UTF-16": csv("|", encoding="utf-16"),
    "tsv": csv("\t", "t.tsv"),
    "csv.gz": packed,
    "parquet": parquet,
    "excel": excel,
    "excel, second sheet": second_sheet,
}


def public_bytes(series: ri.Series, number: int) -> dict[str, bytes]:
    folder = series.release(number).folder
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix == ".parquet"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    with ri.open(tmp_path_factory.mktemp("expected") / "series", policy()) as series:
        series.publish(people(), seed=1)
        return public_bytes(series, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_table_gives_the_same_bytes(kind: str, expected: dict[str, bytes], tmp_path: Path) -> None:
    with ri.open(tmp_path / "series", policy()) as series:
        series.publish(KINDS[kind](people(), tmp_path), seed=1)
        assert public_bytes(series, 1) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", ["polars", "csv"])
def test_everybody_stays_who_they_are(first: str, kind: str, tmp_path: Path) -> None:
    """Whole numbers in one release and text in the next, or the other way round: nobody comes, nobody goes."""
    with ri.open(tmp_path / "series", policy()) as series:
        series.publish(KINDS[first](people(), tmp_path))
        changes = series.publish(KINDS[kind](people(), tmp_path)).summary["changes"]
    assert {name: count for name, count in changes.items() if count} == {"stayed": PEOPLE}


def test_hashed_ids_are_never_taken_for_others(tmp_path: Path) -> None:
    from reissue.tables.identities import make_key

    make_key(tmp_path / "key")
    hashed = policy(people=ri.Ids("hashed", key_file=str(tmp_path / "key")))
    with ri.open(tmp_path / "numbers", hashed) as series:
        series.publish(people())
        changes = series.publish(csv(",")(people(), tmp_path)).summary["changes"]
        assert changes["stayed"] == PEOPLE
    with ri.open(tmp_path / "texts", hashed) as series:
        series.publish(csv(",")(people(), tmp_path))
        with pytest.raises(TableError, match="holds whole numbers, but held text"):
            series.publish(people())  # whether 7 was written 007 cannot be seen any more


@pytest.mark.parametrize("written", ["00", "+", " "])
def test_ids_that_are_written_otherwise_are_refused(written: str, tmp_path: Path) -> None:
    padded = people().with_columns(id=written + pl.col("id").cast(pl.String))
    with ri.open(tmp_path / "texts", policy()) as series:
        series.publish(padded)
        with pytest.raises(TableError, match=r"person column holds whole numbers, but held text.*written as it was"):
            series.publish(people())
    with ri.open(tmp_path / "numbers", policy()) as series:
        series.publish(people())
        with pytest.raises(TableError, match="person column holds text, but held whole numbers"):
            series.publish(padded)


def test_labels_that_are_written_otherwise_are_refused(tmp_path: Path) -> None:
    numbers = people().with_columns(zip=pl.col("zip").cast(pl.Int64))
    with ri.open(tmp_path / "texts", policy()) as series:
        series.publish(people())
        with pytest.raises(TableError, match="column 'zip' holds whole numbers, but held text"):
            series.publish(numbers)
    with ri.open(tmp_path / "numbers", policy()) as series:
        series.publish(numbers)
        with pytest.raises(TableError, match="column 'zip' holds text, but held whole numbers"):
            series.publish(people())


@pytest.mark.parametrize(
    ("first", "then", "same"),
    [
        ([True, False], ["true", "false"], True),
        (["true", "false"], [True, False], True),
        ([True, False], ["True", "False"], False),
        (["True", "False"], [True, False], False),
        ([dt.date(2024, 1, 5), dt.date(2024, 1, 6)], ["2024-01-05", "2024-01-06"], True),
        (["2024-01-05", "2024-01-06"], [dt.datetime(2024, 1, 5), dt.datetime(2024, 1, 6)], True),
        (["05.01.2024", "06.01.2024"], [dt.date(2024, 1, 5), dt.date(2024, 1, 6)], False),
        (["1.0", "2.0"], [1, 2], False),
        (["1", "V58"], [1, 1], True),
        (["A", "V58"], [1, 1], False),
        ([1, 2], [1.0, 2.0], True),
        ([1, 2], [decimal.Decimal("1.00"), decimal.Decimal("2.00")], True),
    ],
)
def test_labels_in_another_type(first: list[Any], then: list[Any], same: bool, tmp_path: Path) -> None:
    rows = PEOPLE // 2
    with ri.open(tmp_path / "series", policy()) as series:
        series.publish(people().with_columns(zip=pl.Series(first * rows)))
        later = people().with_columns(zip=pl.Series(then * rows))
        if same:
            assert series.publish(later).summary["changes"]["stayed"] == PEOPLE
        else:
            with pytest.raises(TableError, match=r"column 'zip' holds .*, but held"):
                series.publish(later)


def test_whole_decimals_are_labels_and_ids_and_others_are_not() -> None:
    table = people().with_columns(pl.col("id").cast(pl.Float64), pl.col("flag").cast(pl.Float64))
    assert draft(table, policy(), seed=1).tables["table"].height >= PEOPLE
    with pytest.raises(TableError) as caught:
        draft(table.with_columns(pl.col("id") + 0.5, pl.col("flag") + 0.25), policy())
    assert "the person column holds decimals; ids are text or whole numbers: round them" in str(caught.value)
    assert "column 'flag': holds decimals; labels are text" in str(caught.value)
    with pytest.raises(TableError, match="person column holds decimals"):
        draft(table.with_columns(pl.col("id") + 2.0**53), policy())


# What is refused, with the column, the type and a next step


def with_column(values: object) -> pd.DataFrame:
    frame = people().to_pandas()
    frame["zip"] = values
    return frame


MIXED = pd.Series([7, "7", CANARY] * 20, dtype=object)
PANDAS: dict[str, tuple[Callable[[], Any], str]] = {
    "mixed": (lambda: with_column(MIXED), r"'zip': holds values of several types \(str in 40 rows, int in 20 rows\)"),
    "mixed categories": (lambda: with_column(MIXED.astype("category")), "'zip': holds values of several types"),
    "mixed ids": (lambda: with_column("x").assign(id=pd.Series([*range(59), "59"], dtype=object)), "'id': holds val"),
    "period": (lambda: with_column(pd.period_range("2024-01", periods=60, freq="M")), r"type period.*to_timestamp"),
    "timedelta": (lambda: with_column(pd.to_timedelta(range(60), unit="D")), r"type timedelta.*total_seconds"),
    "interval": (lambda: with_column(pd.interval_range(0, 60)), r"type interval.*astype\(str\)"),
    "bytes": (lambda: with_column([CANARY.encode()] * 60), r"type bytes.*decode"),
    "complex": (lambda: with_column([1j] * 60), "type complex"),
    "sparse": (lambda: with_column(pd.arrays.SparseArray([0, 1] * 30)), r"type sparse.*to_dense"),
    "lists": (lambda: with_column([[CANARY]] * 60), r"'zip': holds values of type List; .*each part"),
    "index": (lambda: people().to_pandas().set_index("id"), r"the index holds 'id'; `reset_index\(\)`"),
    "two indices": (lambda: people().to_pandas().set_index(["id", "zip"]), "the index holds 'id', 'zip'"),
    "levels": (lambda: pd.concat({"a": people().to_pandas()}, axis=1), "names of 2 levels"),
    "twice": (lambda: pd.concat([with_column("x")] * 2, axis=1), "names that several columns have: 'id', 'age'"),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_tables_that_are_refused(name: str) -> None:
    make, told = PANDAS[name]
    with pytest.raises(TableError, match=told) as caught:
        draft(make(), policy())
    assert CANARY not in str(caught.value)


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "list": (lambda: people().with_columns(zip=pl.concat_list("zip")), r"'zip': holds values of type List.*each part"),
    "struct": (lambda: people().with_columns(zip=pl.struct("zip")), "'zip': holds values of type Struct"),
    "binary": (lambda: people().with_columns(pl.col("zip").cast(pl.Binary)), r"type Binary.*decode them to text"),
    "time": (lambda: people().with_columns(zip=pl.lit(dt.time(1, 2))), r"type Time.*write them as text"),
    "duration": (lambda: people().with_columns(zip=pl.duration(days="age")), r"type Duration.*such as days"),
    "times": (
        lambda: people().with_columns(zip=pl.col("born").cast(pl.Datetime) + pl.duration(hours=1)),
        "'zip': holds times; labels are .*: take their dates",
    ),
    "object": (lambda: people().with_columns(zip=pl.Series([object()] * 60, dtype=pl.Object)), "type Object"),
    "no rows": (lambda: people().clear(), "it has no rows"),
    "no columns": (lambda: pl.DataFrame(), "there is no column 'id'"),
    "pandas without columns": (lambda: pd.DataFrame(), "there is no column 'id'"),
    "pyarrow, twice": (lambda: pa.table([[1], [2]], names=["a", "a"]), "have one name: 'a'"),
    "duckdb, interval": (
        lambda: duckdb.sql("select 1 as id, interval 1 month as gap"),
        "'gap' holds values of type IN",
    ),
    "duckdb, twice": (lambda: duckdb.sql("select 1 as a, 2 as a"), "have one name: 'a'"),
    "series": (lambda: people()["id"], r"type 'Series' is not a table.\n.*to_frame"),
    "pandas series": (lambda: people().to_pandas()["id"], r"type 'Series' is not a table.\n.*to_frame"),
    "dict": (lambda: people().to_dict(as_series=False), r"'dict' is not a table.\n.*polars.DataFrame"),
    "list of dicts": (lambda: people().to_dicts(), r"'list' is not a table.\n.*polars.DataFrame"),
    "structured": (lambda: people().to_numpy(structured=True), r"'ndarray' is not a table.\n.*pandas.DataFrame"),
    "batch": (lambda: people().to_arrow().to_batches()[0], r"'RecordBatch' is not a table.\n.*from_batches"),
    "number": (lambda: 7, r"'int' is not a table.\n.*CSV, Parquet or Excel"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_things_that_are_refused(name: str) -> None:
    make, told = OTHERS[name]
    with pytest.raises(TableError, match=told):
        draft(make(), policy())


def test_all_missing_columns_are_missing(tmp_path: Path) -> None:
    for nothing in (pl.Null, pl.String, pl.Float64):
        table = people().with_columns(flag=pl.lit(None, dtype=nothing))
        assert draft(table, policy(), seed=1).tables["table"]["flag"].unique().len() == 1


def test_times_with_a_zone_are_the_same_moments_everywhere() -> None:
    times = pl.col("born").cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Zurich")
    table = people().with_columns(born=times)
    made = [
        draft(one, policy(), seed=1).recoded.tables["table"] for one in (table, table.to_pandas(), table.to_arrow())
    ]
    assert made[0].schema["born_low"] == pl.Datetime("us", "UTC")
    assert made[0].equals(made[1])
    assert made[0].equals(made[2])


# Excel


def test_a_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = sheets(tmp_path / "b.xlsx", {"One": people(), "Two": people(first=100), "Empty": pl.DataFrame()})
    with pytest.raises(TableError, match=r"several sheets with cells: 'One', 'Two'.\n.*'b.xlsx#One'"):
        read_table(path)
    assert read_table(f"{path}#Two")[0]["id"].min() == 100
    with pytest.raises(TableError, match=r"has no sheet 'Three'. It has 'One', 'Two', 'Empty'"):
        read_table(f"{path}#Three")
    with pytest.raises(TableError, match=r"The sheet 'Empty' of 'b\.xlsx' is empty"):
        read_table(f"{path}#Empty")


def test_types_in_a_sheet(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet.write_row(0, 0, ["id", "whole", "decimal", "day", "moment", "yes", "code", "gap"])
        for row in range(1, 4):
            sheet.write_string(row, 0, f"00{row}")
            sheet.write_row(row, 1, [row, row / 2])
            sheet.write_datetime(row, 3, dt.datetime(2024, 1, row), day)
            sheet.write_datetime(row, 4, dt.datetime(2024, 1, row, 12), day)
            sheet.write_boolean(row, 5, row == 1)
            sheet.write(row, 6, 250 if row == 1 else f"V{row}")
        sheet.write_number(5, 7, 1)  # after a row without cells
        sheet.write_blank(9, 0, None, day)
    found = read_table(path)[0]
    assert found.row(0) == ("001", 1, 0.5, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12), True, "250", None)
    assert found.height == 4
    assert read_table(path, text={"id", "whole", "decimal", "day"})[0].row(2)[:4] == (
        *("003", "3", "1.5"),
        dt.date(2024, 1, 3),
    )


@pytest.mark.parametrize(
    ("header", "told"),
    [(["a", "", "c"], "without a name: number 2"), (["a", "b", "a"], "whose name another one has too: number 1, 3")],
)
def test_headers_of_sheets(header: list[str], told: str, tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, header)
        sheet.write_row(1, 0, [1, 2, 3])
    with pytest.raises(TableError, match=told):
        read_table(tmp_path / "t.xlsx")


def test_what_is_no_excel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.xlsx").write_text(CANARY)
    with pytest.raises(TableError, match="cannot be read as an Excel table") as caught:
        read_table(tmp_path / "t.xlsx")
    assert CANARY not in str(caught.value)
    (tmp_path / "t.ods").write_text(CANARY)
    with pytest.raises(TableError, match=r"not a kind of file this reads.\n.*\.xlsx"):
        read_table(tmp_path / "t.ods")
    monkeypatch.setattr("reissue.tables.excel_files.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[excel\]'"):
        read_table(excel(people(), tmp_path))


def test_the_commands_read_excel(run: Run, tmp_path: Path) -> None:
    path = second_sheet(people(), tmp_path)
    assert run("init", path, "--out", "policy.toml").code == 0
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    done = run("publish", "series", path, "--policy", "policy.toml")
    assert done.code == 0, done.err
