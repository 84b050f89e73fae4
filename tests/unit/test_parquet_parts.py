"""Tables in several Parquet files: one table, in the order of names, read column by column."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Run, run

import reissue as ri
from reissue.arrays import cores
from reissue.errors import TableError, TooLarge
from reissue.publishing.series import draft
from reissue.tables import coding, frames, parquet_parts
from reissue.tables.frames import open_table, read_table
from reissue.tables.identities import make_key

__all__ = ["run"]

CANARY = "canary-4c1f"
ROWS = 120


def people(rows: int = ROWS) -> pl.DataFrame:
    number = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "id": "p" + (number * 37 % 1009).cast(pl.String),
            "age": 20 + number * 7 % 50,
            "town": pl.Series(["Bern", "Ulm", None, "Graz"]).gather(number % 4),
            "weight": 50.5 + number % 9,
            "illness": pl.Series(["flu", "cold", "gout", "angina", "asthma"]).gather(number * 7919 % 10007 % 5),
        }
    )


def policy(**more: Any) -> ri.Policy:
    quasi: dict[str, Any] = {"age": ri.Numeric(), "town": ri.Categorical(missing="value"), "weight": ri.Numeric()}
    return ri.Policy(ri.Schema(person="id", quasi=quasi, sensitive="illness", **more), ri.MInvariance(m=2))


def cut(table: pl.DataFrame, folder: Path, parts: int = 12) -> Path:
    """The table in a folder, the parts in the order of their numbers."""
    folder.mkdir(exist_ok=True)
    step = -(-table.height // parts)
    for part in range(parts):
        table.slice(part * step, step).write_parquet(folder / f"part-{part + 1}.parquet")
    return folder


def published(table: object, policy: ri.Policy) -> dict[str, pl.DataFrame]:
    made = draft(table, policy, seed=3)
    return {**made.recoded.tables, "snapshot": made.private.rows.drop("reissue.person", strict=False)}


@pytest.fixture
def by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with large tables: several columns at the same time."""
    for module in (coding, frames):
        monkeypatch.setattr(module, "COLUMNS_FROM", 1)
    monkeypatch.setattr(cores, "cores", lambda: 4)


@pytest.mark.parametrize("given", ["folder", "glob", "both levels", "text"])
def test_the_same_rows_give_the_same_bytes(given: str, tmp_path: Path, by_columns: None) -> None:
    folder = cut(people(), tmp_path / "people")
    people().clear().write_parquet(folder / "part-13.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-1.parquet.crc").touch()
    ways: dict[str, object] = {
        "folder": folder,
        "glob": folder / "part-*.parquet",
        "both levels": tmp_path / "*" / "part-*.parquet",
        "text": f"{folder}/part-*",
    }
    people().write_parquet(tmp_path / "one.parquet")
    read, library = read_table(ways[given])
    assert library == "polars"
    assert read.equals(people())
    # Whoever is new gets a number drawn at random, so that rows are compared without it.
    whole = published(tmp_path / "one.parquet", policy())
    parts = published(ways[given], policy())
    assert whole.keys() == parts.keys()
    for name, table in whole.items():
        assert parts[name].equals(table)


def test_public_files_and_people_are_the_same(tmp_path: Path) -> None:
    folder = cut(people(), tmp_path / "people")
    people().write_parquet(tmp_path / "one.parquet")
    checks = ri.Checks(same_state="accept")
    for name, first, second in (("a", tmp_path / "one.parquet", folder), ("b", folder, tmp_path / "one.parquet")):
        ri.publish(tmp_path / name, first, ri.Policy(policy().schema, policy().method, checks=checks), seed=5)
        again = ri.publish(tmp_path / name, second, seed=6)
        assert again.summary["changes"]["stayed"] == ROWS
    files = [sorted((tmp_path / name).glob("public/*/*.parquet")) for name in ("a", "b")]
    assert len(files[0]) == len(files[1]) > 1
    assert [one.read_bytes() for one in files[0]] == [one.read_bytes() for one in files[1]]


def test_ids_that_are_hashed(tmp_path: Path, by_columns: None) -> None:
    make_key(tmp_path / "key")
    hashed = replace(policy(), people=ri.Ids("hashed", str(tmp_path / "key")))
    folder = cut(people(), tmp_path / "people")
    ri.publish(tmp_path / "s", people(), hashed, seed=1)
    again = ri.preview(tmp_path / "s", folder, seed=2, allow=["same-state"], reason="the same again")
    assert again.summary["changes"]["stayed"] == ROWS


@pytest.mark.parametrize("large", [False, True])
def test_events_in_parts(large: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """One event stands for each person, wherever the others are."""
    if large:
        request.getfixturevalue("by_columns")
    twice = pl.concat([people(), people().with_columns(illness=pl.lit("cold"))])
    twice = twice.with_columns(when=pl.int_range(pl.len()) // 3 % 7)
    events = policy(events=ri.Events(order="when"))
    assert published(cut(twice, tmp_path / "events", 5), events)["snapshot"].equals(
        published(twice, events)["snapshot"]
    )
    assert draft(tmp_path / "events", events, seed=1).summary["people"] == ROWS


def test_one_or_two_columns_are_read_at_a_time(
    tmp_path: Path, by_columns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cut(people().with_columns(note=pl.lit("x")), tmp_path / "people", 3)
    asked: list[tuple[str, ...]] = []
    now: list[int] = []
    real = parquet_parts.ParquetTable._read

    def read(self: parquet_parts.ParquetTable, names: list[str]) -> pl.DataFrame:
        asked.append(tuple(names))
        now.append(1)
        assert len(now) <= 2
        try:
            return real(self, names)
        finally:
            now.pop()

    monkeypatch.setattr(parquet_parts.ParquetTable, "_read", read)
    draft(folder, policy(drop=["note"]), seed=1)
    assert sorted(asked) == [("age",), ("id",), ("illness",), ("town",), ("weight",)]


def test_widths_and_dictionaries_go_together(tmp_path: Path, by_columns: None) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    types: list[dict[str, Any]] = [
        {"age": pl.Int8, "town": pl.Categorical},
        {"age": pl.UInt16, "illness": pl.Enum(["asthma", "flu", "cold", "gout", "angina"])},
        {"age": pl.Int64, "town": pl.Enum(["Ulm", "Graz", "Bern"])},
        {},
    ]
    for part, cast in enumerate(types):
        people().slice(part * 30, 30).cast(cast).write_parquet(folder / f"{part}.parquet")
    # Columns in another order, and a column in which this part holds nothing.
    people().clear().with_columns(town=None).select(*reversed(people().columns)).write_parquet(folder / "4.parquet")
    (people().tail(1).with_columns(pl.lit("new").alias("id"), town=None)).write_parquet(folder / "5.parquet")
    both = pl.concat([people(), people().tail(1).with_columns(pl.lit("new").alias("id"), town=pl.lit(None, pl.String))])
    assert read_table(folder)[0].cast({"age": pl.Int64}).equals(both)
    assert published(folder, policy())["snapshot"].equals(published(both, policy())["snapshot"])


def test_names_are_ordered_by_their_numbers(tmp_path: Path) -> None:
    for name in ("b-2", "b-10", "b-1", "a-11", "a-9", "10", "9"):
        pl.DataFrame({"name": [name]}).write_parquet(tmp_path / f"{name}.parquet")
    assert read_table(tmp_path)[0]["name"].to_list() == ["9", "10", "a-9", "a-11", "b-1", "b-2", "b-10"]


def test_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("a/x-1", "a/x-2", "a/.hidden", "b/deep/x-3", "_c/x-4", "x[1]"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"name": [place]}).write_parquet(f"{place}.parquet")
    for pattern, expected in (
        ("*.parquet", ["x[1]"]),
        ("x[1].parquet", ["x[1]"]),
        ("a/*", ["a/x-1", "a/x-2"]),
        ("*/x-[12].parquet", ["a/x-1", "a/x-2"]),
        (tmp_path / "**" / "x-?.parquet", ["a/x-1", "a/x-2", "b/deep/x-3"]),
        (f"../{tmp_path.name}/a/x-2*", ["a/x-2"]),
    ):
        assert read_table(pattern)[0]["name"].to_list() == expected


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in it would be left out without a word."""
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        people().write_parquet(tmp_path / f"year={year}" / "a.parquet")
    real = os.scandir

    def refused(path: Any) -> Any:
        if "2026" in str(path):
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(TableError, match=r"The folder '.*' cannot be listed"):
        read_table(tmp_path)


def test_folders_that_say_a_column(tmp_path: Path) -> None:
    table = people().with_columns(year=2020 + pl.int_range(pl.len()) % 3)
    for (year, town), part in table.group_by("year", "town", maintain_order=True):
        folder = tmp_path / "people" / f"year={year}" / f"town={town or '__HIVE_DEFAULT_PARTITION__'}"
        folder.mkdir(parents=True)
        part.drop("year", "town").write_parquet(folder / "data.parquet")
    schema = ri.Schema(
        person="id",
        quasi={"age": ri.Numeric(), "town": ri.Categorical(missing="value"), "year": ri.Numeric()},
        sensitive="illness",
        drop=["weight"],
    )
    read = read_table(tmp_path / "people")[0]
    assert read.select(table.columns).sort("id").equals(table.sort("id"))
    made = [published(one, ri.Policy(schema, ri.MInvariance(m=2)))["table"] for one in (read, tmp_path / "people")]
    assert made[0].equals(made[1])


@pytest.mark.parametrize(
    ("cells", "type_"),
    [
        (["7", "-12", "0"], pl.Int64),
        (["007", "8"], pl.String),
        (["2026-01-31", "2025-12-01"], pl.Date),
        (["2026-02-31"], pl.String),
        (["a b", "true"], pl.String),
    ],
)
def test_what_folders_say_is_typed_where_nothing_is_lost(cells: list[str], type_: Any, tmp_path: Path) -> None:
    for cell in cells:
        (tmp_path / f"c={cell.replace(' ', '%20')}").mkdir()
        pl.DataFrame({"n": [1]}).write_parquet(tmp_path / f"c={cell.replace(' ', '%20')}" / "0.parquet")
    read = read_table(tmp_path)[0]
    assert read.schema["c"] == type_
    assert sorted(read["c"].cast(pl.String)) == sorted(cells)


# What is refused


def parts_of(*tables: pl.DataFrame) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        for number, table in enumerate(tables, 1):
            table.write_parquet(folder / f"part-{number}.parquet")
        return folder

    return write


def with_file(name: str, content: bytes = CANARY.encode()) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        cut(people(), folder, 2)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        return folder

    return write


def twice_named(folder: Path) -> Path:
    cut(people(), folder, 2)
    pq.write_table(pa.table([pa.array(["x"]), pa.array(["x"])], names=["id", "id"]), folder / "part-3.parquet")
    return folder


def beside_folders(folder: Path) -> Path:
    (folder / "year=2026").mkdir()
    people().write_parquet(folder / "year=2026" / "a.parquet")
    people().write_parquet(folder / "b.parquet")
    return folder


def told_twice(folder: Path) -> Path:
    (folder / "age=20").mkdir()
    people().write_parquet(folder / "age=20" / "a.parquet")
    return folder


SECRET = people().with_columns(town=pl.lit(CANARY), id=pl.lit(CANARY))
BAD: dict[str, tuple[Callable[[Path], Path], str]] = {
    "nothing matches": (lambda folder: folder / "*.parquet", r"No file matches '.*\*\.parquet'"),
    "no such folder": (lambda folder: folder / "none" / "*.parquet", "No file matches"),
    "empty folder": (lambda folder: folder, "There is no Parquet file in the folder"),
    "other files": (with_file("notes.csv"), r"is one that is not Parquet: 'notes.csv'.*\n.*pattern, such as"),
    "glob of others": (lambda folder: with_file("a.csv")(folder) / "*", "not Parquet: 'a.csv'"),
    "csv": (lambda folder: with_file("a.csv")(folder) / "*.csv", r"not Parquet.*\n.*Of CSV files make one"),
    "no column": (parts_of(SECRET, SECRET.drop("age")), "'part-2.parquet' has no column 'age'"),
    "another column": (parts_of(SECRET, SECRET.with_columns(x=1)), "'part-2.parquet' has a column 'x'"),
    "another type": (
        parts_of(SECRET, SECRET.with_columns(age=pl.lit(CANARY))),
        "'part-2.parquet': column 'age' holds text, and before whole numbers",
    ),
    "another width": (
        parts_of(SECRET, SECRET.cast({"weight": pl.Float32})),
        r"holds decimals \(Float32\), and before decimals \(Float64\)",
    ),
    "an enum of numbers": (
        parts_of(SECRET, SECRET.with_columns(age=pl.lit(CANARY, pl.Enum([CANARY])))),
        "column 'age' holds text, and before whole numbers",
    ),
    "unreadable": (with_file("part-9.parquet"), "'part-9.parquet' cannot be read as a Parquet table"),
    "one name": (twice_named, "Several columns of 'part-3.parquet' have one name"),
    "beside folders": (beside_folders, "do not lie in folders of the same columns"),
    "told twice": (told_twice, "the folders and the files have a column of one name: 'age'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused(name: str, tmp_path: Path, by_columns: None) -> None:
    make, told = BAD[name]
    folder = tmp_path / "people"
    folder.mkdir()
    given = make(folder)
    with pytest.raises(TableError, match=told) as caught:
        draft(given, policy(), seed=1)
    assert CANARY not in str(caught.value)
    assert "Next step" in str(caught.value)


def test_many_problems_are_told_shortly(tmp_path: Path) -> None:
    for part in range(30):
        people().rename({} if not part else {"age": f"age{part}"}).write_parquet(tmp_path / f"{part}.parquet")
    with pytest.raises(TableError, match="The 30 parts") as caught:
        read_table(tmp_path)
    assert len(caught.value.problems) == parquet_parts.MOST_PROBLEMS + 1
    assert caught.value.problems[-1] == "and 46 more"


@pytest.mark.parametrize("how", ["gone", "changed", "broken"])
def test_a_file_that_does_not_stay(how: str, tmp_path: Path, by_columns: None) -> None:
    folder = cut(people(), tmp_path / "people", 3)
    table, _ = open_table(folder, text=(), coded=(), without=())
    assert table["id"].len() == ROWS
    part = folder / "part-2.parquet"
    if how == "gone":
        part.unlink()
    elif how == "broken":
        part.write_bytes(CANARY.encode())
    else:
        people().slice(40, 40).reverse().write_parquet(part)
    with pytest.raises(TableError, match=r"'part-2.parquet' (disappeared|was changed) while") as caught:
        table["age"]
    assert CANARY not in str(caught.value)


def test_the_room_is_that_of_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that are dropped take none, though as a whole the table would not fit."""
    rows = 300_000
    notes = {f"n{n}": pl.repeat("x", rows, eager=True) for n in range(20)}
    table = people(1_000).sample(rows, with_replacement=True, seed=1).with_columns(id=pl.int_range(rows), **notes)
    folder = cut(table, tmp_path / "people", 2)
    monkeypatch.setenv("REISSUE_MEMORY", "200MB")
    with pytest.raises(TooLarge, match=r"'people' is too large: as a table \(300,000 rows, 25 columns\)"):
        read_table(folder)
    assert draft(folder, policy(drop=list(notes)), seed=1).summary["people"] == rows
    monkeypatch.setenv("REISSUE_MEMORY", "50MB")
    # 36 bytes a cell
    told = r"'people' is too large: .* part by part .* its codes \(300,000 rows, 25 columns\) takes about 270\.0 MB"
    with pytest.raises(TooLarge, match=told):
        open_table(folder, text=(), coded=(), without=())


def test_on_the_command_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cut(people(), tmp_path / "parts", 3)
    done = run("init", "parts", "--out", "p.toml", "--yes")
    assert done.code == 0, done.err
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    done = run("publish", "people", "parts/*.parquet", "--policy", "policy.toml", "--seed", "1")
    assert done.code == 0, done.err
    done = run("compare", "parts", "--policy", "policy.toml", "--method", "MInvariance", "--seconds", "60", "--json")
    assert done.code == 0, done.err
    done = run("publish", "people", "parts/q*.parquet", "--dry-run")
    assert done.code == 2
    assert "No file matches" in done.err
