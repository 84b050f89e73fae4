"""Large tables are made as they are written: the files are those of tables that are held."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.ledger import parquet
from reissue.model import pieces
from reissue.publishing.series import draft
from reissue.samples.census import census
from reissue.tables import frames, recode_sets

TIME = datetime(2026, 1, 1, tzinfo=UTC)
QUASI = {"age": ri.Numeric(), "gender": ri.Categorical(), "birthplace": ri.Categorical(), "education": ri.Categorical()}
WAYS = {
    "alternatives": (ri.Alternatives(m=4, epsilon=10), "alternatives"),
    "slots": (ri.Alternatives(m=4, epsilon=10, limit="1/2", given=["gender"]), "alternatives"),
    "anatomised": (ri.MInvariance(m=4), "anatomised"),
    "generalised": (ri.MInvariance(m=4), "generalised"),
    "mondrian": (ri.Mondrian(k=4), "generalised"),
}


def tables() -> list[pl.DataFrame]:
    every = census(3_000, seed=1)
    return [every.head(2_500), every.tail(2_500)]


def files(folder: Path, way: str, *, in_hands: bool = False) -> dict[str, bytes]:
    """The public files of two releases, and what is kept of everybody's rows."""
    method, form = WAYS[way]
    series = "protected" if method.protects_series else "unprotected"
    schema = ri.Schema("person", QUASI, "occupation")
    with ri.open(folder, ri.Policy(schema, method, form=form, series=series)) as opened:
        for table in tables():
            if in_hands:
                made = opened.draft(table, seed=3)
                assert made.rows.height == made.snapshot.people.size
                assert all(isinstance(one, pl.DataFrame) for one in made.tables.values())
                opened.commit(made, time=TIME)
            else:
                opened.publish(table, seed=3, time=TIME)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted((folder / "public").rglob("*.parquet"))}


@pytest.mark.parametrize("way", WAYS)
def test_tables_that_are_made_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(parquet, "ROWS_IN_A_GROUP", 512)
    held = files(tmp_path / "held", way)
    monkeypatch.setattr(pieces, "ROWS", 512)
    assert files(tmp_path / "made", way) == held
    assert files(tmp_path / "in hands", way, in_hands=True) == held
    with ri.open(tmp_path / "made") as made, ri.open(tmp_path / "held") as kept:
        for number in (1, 2):
            rows = [one.private.members(number).sort("person") for one in (made, kept)]
            assert rows[0].equals(rows[1])
            assert made.verify() == kept.verify() == []


def test_a_file_of_several_parts_is_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = census(4_000, seed=2).with_columns(
        gender=pl.when(pl.col("person") % 9 == 0).then(None).otherwise("gender"),
        birthplace=pl.when(pl.col("person") < 1_500).then(pl.lit("Wales")).otherwise("birthplace"),
    )
    table.write_parquet(tmp_path / "parts.parquet", row_group_size=500)
    schema = ri.Schema("person", {**QUASI, "gender": ri.Categorical(missing="value")}, "occupation")
    policy = ri.Policy(schema, ri.Mondrian(k=4))
    whole = draft(table, policy, seed=1)
    monkeypatch.setattr(frames, "COLUMNS_FROM", 1)
    parts = draft(tmp_path / "parts.parquet", policy, seed=1)
    assert parts.tables["table"].equals(whole.tables["table"])
    levels = [[column.levels.labels for column in one.snapshot.quasi[1:]] for one in (parts, whole)]
    assert levels[0] == levels[1]


def test_rows_of_sets_are_put_in_order_stretch_by_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        rows, columns = int(rng.integers(1, 2_000)), int(rng.integers(1, 16))
        monkeypatch.setattr(recode_sets, "STRETCH", int(rng.integers(1, 500)))
        monkeypatch.setattr(recode_sets, "STRETCHES", int(rng.integers(1, 64)))
        monkeypatch.setattr(recode_sets, "SAMPLED", int(rng.integers(1, 300)))
        keys = [rng.integers(0, int(rng.integers(1, 60)), rows).astype(np.uint8) for _ in range(columns)]
        order, expected = recode_sets._order([*keys]), np.lexsort(keys[::-1])
        assert np.array_equal(np.sort(order), np.arange(rows))
        assert all(np.array_equal(key[order], key[expected]) for key in keys)
