"""Tables in S3, from a small server on this machine: the same as in files, and errors without what the store says."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Run, run
from s3_server import S3Server, served

import reissue as ri
from reissue.errors import TableError
from reissue.publishing.series import draft
from reissue.tables import object_store
from reissue.tables.frames import read_table
from reissue.tables.object_store import address_of

__all__ = ["run"]

ROWS = 120
CANARY = "CANARY"
BUCKETS = count()


def people() -> pl.DataFrame:
    number = pl.int_range(ROWS, eager=True)
    return pl.DataFrame(
        {
            "id": "p" + (number * 37 % 1009).cast(pl.String),
            "age": 20 + number * 7 % 50,
            "town": pl.Series(["Bern", "Ulm", None, "Graz"]).gather(number % 4),
            "note": pl.Series([f"{CANARY}-note"]).gather(number * 0),
            "illness": pl.Series(["flu", "cold", "gout", "angina", "asthma"]).gather(number * 7919 % 10007 % 5),
        }
    )


def policy() -> ri.Policy:
    quasi: dict[str, Any] = {"age": ri.Numeric(), "town": ri.Categorical(missing="value")}
    return ri.Policy(ri.Schema(person="id", quasi=quasi, sensitive="illness", drop=["note"]), ri.MInvariance(m=2))


def packed(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer, row_group_size=5)
    return buffer.getvalue()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A bucket with a table in eleven parts and one that has no rows."""
    monkeypatch.setattr(object_store, "BATCH", 7)
    step = -(-ROWS // 11)
    objects = {f"people/part-{n + 1}.parquet": packed(people().slice(n * step, step)) for n in range(11)}
    objects |= {"people/part-12.parquet": packed(people().clear()), "people/_SUCCESS": b"", "none/notes.txt": b"x"}
    objects |= {"one.parquet": packed(people()), "clear/a.parquet": packed(people().clear())}
    # polars keeps the connection to a bucket as long as the process lives: so each test has a bucket of its own.
    with served(f"bucket{next(BUCKETS)}", objects) as on:
        for name, value in on.environment.items():
            monkeypatch.setenv(name, value)
        yield on


@pytest.mark.parametrize(
    "address",
    ["one.parquet", "people", "people/", "people/*.parquet", "p*/part-*", "a path"],
)
def test_the_same_table_and_the_same_bytes(address: str, store: S3Server) -> None:
    given: str | Path = Path(store.at("people/*.parquet")) if address == "a path" else store.at(address)
    assert read_table(given)[0].equals(people())
    assert read_table(given, columns=["age"])[0].equals(people().select("age"))
    made = [draft(one, policy(), seed=4) for one in (people(), given)]
    for part, table in made[0].recoded.tables.items():
        assert made[1].recoded.tables[part].equals(table)


def test_parts_have_the_same_columns(store: S3Server) -> None:
    store.objects["people/part-3.parquet"] = packed(people().cast({"age": pl.Int8}).head(3))
    assert read_table(store.at("people"))[0].schema["age"] == pl.Int64
    store.objects["people/part-3.parquet"] = packed(people().cast({"age": pl.String}).drop("town").head(3))
    with pytest.raises(TableError, match=r"The 11 parts of '.*/people' are not parts of one table") as caught:
        read_table(store.at("people"))
    assert caught.value.problems == (
        "'part-3.parquet' has no column 'town', which 'part-1.parquet' has",
        "'part-3.parquet': column 'age' holds text, and before whole numbers",
    )


def test_columns_without_a_role_are_told(store: S3Server) -> None:
    store.objects = {"people/a.parquet": packed(people().with_columns(strange=1))}
    with pytest.raises(TableError, match="1 column without a role: 'strange'"):
        draft(store.at("people"), policy())


def test_a_table_without_rows(store: S3Server) -> None:
    assert read_table(store.at("clear/*.parquet"))[0].columns == people().columns
    with pytest.raises(TableError, match="it has no rows"):
        draft(store.at("clear"), policy())


def test_what_is_not_there(store: S3Server) -> None:
    for address, told in (
        (store.at("two.parquet"), "There is no object 's3://.*/two.parquet'"),
        ("s3://nobucket/two.parquet", "There is no object 's3://nobucket/two.parquet'"),
        (store.at("q*.parquet"), "No object matches"),
        (store.at("none"), "No object matches 's3://.*/none'"),
        ("s3://", "'s3://' names no bucket"),
        ("gs://bucket/one.parquet", "Tables are not read from 'gs://' addresses"),
    ):
        with pytest.raises(TableError, match=told) as caught:
            draft(address, policy())
        assert "Next step" in str(caught.value)


def test_what_cannot_be_read(store: S3Server) -> None:
    whole = store.objects["people/part-2.parquet"]
    for content in (b"nonsense", whole[:-200], whole[:4] + bytes(200) + whole[204:]):
        store.objects["people/part-2.parquet"] = content
        with pytest.raises(TableError, match=r"'s3://.*' cannot be read as a Parquet table"):
            draft(store.at("people"), policy())


def test_whoever_may_not_read(store: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", f"{CANARY}-key")
    with pytest.raises(
        TableError, match=r"'s3://.*people' cannot be read: the store does not answer, or not to whoever"
    ) as caught:
        draft(store.at("people"), policy())
    assert "AWS_ACCESS_KEY_ID" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_store_that_does_not_answer(store: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise ConnectionRefusedError(f"http://{CANARY}@host")  # as polars does, after many tries

    monkeypatch.setattr(object_store, "schema_of", refused)
    with pytest.raises(
        TableError, match=r"'s3://.*/one.parquet' cannot be read: the store.*\n.*AWS_ENDPOINT_URL"
    ) as caught:
        draft(store.at("one.parquet"), policy())
    assert CANARY not in str(caught.value)


def test_an_object_that_disappears(store: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    real = object_store.same_columns

    def then(*arguments: Any) -> Any:
        del store.objects["people/part-5.parquet"]
        return real(*arguments)

    monkeypatch.setattr(object_store, "same_columns", then)
    with pytest.raises(TableError, match=r"There is no object 's3://.*/people/part-5.parquet'"):
        draft(store.at("people"), policy())


def test_addresses_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_of("S3://b/x.parquet") == address_of(Path("s3://b/x.parquet")) == "s3://b/x.parquet"
    for path in ("x.parquet", tmp_path / "a*.parquet", "C:/x.csv", "s3", "folder/s3:/x"):
        assert address_of(path) is None


def test_on_the_command_line(run: Run, store: S3Server, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(policy().to_toml())
    done = run("publish", "people", store.at("people/*.parquet"), "--policy", "policy.toml", "--seed", "1")
    assert done.code == 0, done.err
    done = run("init", store.at("people"), "--out", "proposed.toml", "--yes")
    assert done.code == 0, done.err
