from __future__ import annotations

import gzip
import io
import urllib.request
from pathlib import Path
from urllib.error import URLError

import polars as pl
import pytest
import real_data
from real_data import needs

from reissue.errors import ParameterError, TableError, UserError
from reissue.samples.census import census
from reissue.samples.collection import ADULT_ADDRESS, datasets, load
from reissue.samples.hospital import hospital

CANARY = "canary-in-a-cell"
DATA = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K\n"
    "54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, "
    "0, 0, 60, South, >50K\n"
    "\n"
)
TEST = "|1x3 Cross validator\n" + DATA.replace("50K\n", "50K.\n")
ARX = (
    "sex;age;race;marital-status;education;native-country;workclass;occupation;salary-class\n"
    "Male;39;White;Never-married;Bachelors;United-States;State-gov;Adm-clerical;<=50K\n"
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a test went to the network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)


def carried(error: BaseException) -> str:
    """All that an exception says, with what it was caused by and what was being handled."""
    said = []
    link: BaseException | None = error
    while link is not None:
        said.append(f"{link} {link!r} {vars(link)}")
        link = link.__cause__ or link.__context__
    return "\n".join(said)


def test_every_dataset_has_a_role_for_each_column(tmp_path: Path) -> None:
    file = tmp_path / "adult.data"
    file.write_text(DATA)
    for dataset in datasets():
        table = load(dataset.name, path=file) if dataset.name == "adult" else load(dataset.name, rows=20)
        assert list(dataset.roles) == table.columns
        assert sorted(set(dataset.roles.values()) - {"drop"}) == ["person", "quasi", "sensitive"]
        assert list(dataset.roles.values()).count("person") == 1
        assert list(dataset.roles.values()).count("sensitive") == 1
    assert [dataset.name for dataset in datasets()] == ["census", "census-salary", "hospital", "adult"]


def test_generated_tables() -> None:
    assert load("census", rows=50, seed=3).equals(census(50, seed=3))
    assert load("census-salary", rows=50, seed=3).equals(census(50, sensitive="salary", seed=3))
    assert load("hospital").equals(next(hospital()))
    assert load("hospital", rows=30, seed=5).equals(next(hospital(1, patients=30, seed=5)))
    assert load("census", rows=0).height == 0


def test_the_named_sizes_are_the_default_ones() -> None:
    sizes = {dataset.name: dataset.rows for dataset in datasets()}
    assert load("census", seed=1).height == sizes["census"] == 600_000
    assert load("hospital").height == sizes["hospital"]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("content", [DATA, TEST, DATA.replace("\n", "\r\n"), DATA.rstrip()])
def test_adult_as_uci_has_it(tmp_path: Path, content: str, zipped: bool) -> None:
    file = tmp_path / ("adult.gz" if zipped else "adult")
    file.write_bytes(gzip.compress(content.encode()) if zipped else content.encode())
    table = load("adult", path=str(file))
    assert table["person"].to_list() == [1, 2]
    assert table["age"].to_list() == [39, 54]
    assert table["fnlwgt"].dtype == table["person"].dtype == pl.Int64
    assert table["workclass"].to_list() == ["State-gov", "?"]
    assert table["salary-class"].to_list() == ["<=50K", ">50K"]
    assert table.width == 16
    assert load("adult", path=file, rows=1).equals(table.head(1))


def test_adult_as_arx_has_it(tmp_path: Path) -> None:
    file = tmp_path / "adult.csv.gz"
    file.write_bytes(gzip.compress(ARX.encode()))
    assert load("adult", path=file).to_dicts() == [
        {
            "person": 1,
            "sex": "Male",
            "age": 39,
            "race": "White",
            "marital-status": "Never-married",
            "education": "Bachelors",
            "native-country": "United-States",
            "workclass": "State-gov",
            "occupation": "Adm-clerical",
            "salary-class": "<=50K",
        }
    ]


@needs("adult", stand_in="test_adult_as_uci_has_it")
@pytest.mark.parametrize(
    ("file", "rows", "columns", "rich"),
    [
        ("adult.data.gz", 32_561, 16, 7_841),
        ("adult.test.gz", 16_281, 16, 3_846),
        ("arx_adult.csv.gz", 30_162, 10, 7_508),
    ],
)
def test_the_real_adult(file: str, rows: int, columns: int, rich: int) -> None:
    table = load("adult", path=real_data.FOLDER / "adult" / file)
    assert table.shape == (rows, columns)
    assert table.null_count().sum_horizontal().item() == 0
    assert set(table["salary-class"]) == {"<=50K", ">50K"}
    assert table.filter(pl.col("salary-class") == ">50K").height == rich
    assert table["age"].min() == 17
    labels = table.select(pl.col(pl.String))
    assert labels.equals(labels.select(pl.all().str.strip_chars()))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "15 fields"),
        (f"<html>{CANARY}</html>", "15 fields"),
        (DATA.replace("39,", f"{CANARY},"), "Column 'age' is not a number in 1 row."),
        (DATA.replace(" State-gov,", " ,"), "Column 'workclass' is empty in 1 row."),
        (DATA.rstrip() + f", {CANARY}\n", "15 fields"),
        (f"{CANARY};age\n1;2\n", "15 fields"),
        (ARX + f"Male;{CANARY}\n", "Column 'age' is not a number in 1 row."),
    ],
)
def test_another_table_is_not_taken_for_adult(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "adult.data"
    file.write_text(content)
    with pytest.raises(TableError, match=expected) as refused:
        load("adult", path=file)
    assert CANARY not in carried(refused.value)


def test_adult_is_downloaded_when_there_is_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(address: str, *, timeout: float) -> io.BytesIO:
        asked.append((address, timeout > 0))
        return io.BytesIO(DATA.encode())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    assert load("adult")["age"].to_list() == [39, 54]
    assert asked == [(ADULT_ADDRESS, True)]
    assert ADULT_ADDRESS.startswith("https://")


@pytest.mark.parametrize("reason", [URLError("no route"), TimeoutError(), ConnectionResetError("reset")])
def test_a_failed_download_says_how_to_give_a_path(monkeypatch: pytest.MonkeyPatch, reason: Exception) -> None:
    def fail(*_: object, **__: object) -> None:
        raise reason

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(UserError, match=r"could not be downloaded from https://.*\(.+\)") as failed:
        load("adult")
    assert failed.value.hint is not None
    assert "load('adult', path='adult.data')" in failed.value.hint


def test_any_table_by_its_path(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": [1, 2, 3], "town": ["a", "b", "c"]})
    table.write_parquet(tmp_path / "table.parquet")
    table.write_csv(tmp_path / "table.csv")
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress((tmp_path / "table.csv").read_bytes()))
    for ending in ("parquet", "csv", "csv.gz"):
        assert load(tmp_path / f"table.{ending}").equals(table)
        assert load(str(tmp_path / f"table.{ending}"), rows=2).equals(table.head(2))
        assert load(tmp_path / f"table.{ending}", rows=9).equals(table)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("centus", "no dataset named 'centus'. Near it: 'census'"),
        ("adults", "Near it: 'adult'"),
        ("xyzzy", "There are: 'census', 'census-salary', 'hospital', 'adult'"),
    ],
)
def test_an_unknown_name_lists_the_near_ones(name: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        load(name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("missing.csv", "missing/table.parquet", "table.xlsx"):
        with pytest.raises(UserError):
            load(tmp_path / name)
    with pytest.raises(UserError, match="could not be read: No such file"):
        load("adult", path=tmp_path / "adult.data")
    damaged = tmp_path / "adult.gz"
    damaged.write_bytes(gzip.compress(DATA.encode())[:-20])
    with pytest.raises(UserError, match="damaged or cut short"):
        load("adult", path=damaged)


def test_parameters_that_do_not_belong_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'path' parameter of load is for the dataset 'adult' only"):
        load("census", path=tmp_path)
    with pytest.raises(ParameterError, match="'seed' parameter of load is for generated tables only"):
        load("adult", seed=1)
    with pytest.raises(ParameterError, match=r"'rows' parameter of load must be .* at least 0. Got -1"):
        load("census", rows=-1)
    with pytest.raises(ParameterError, match=r"'rows' parameter of load must be .* at least 1. Got 0"):
        load("hospital", rows=0)
