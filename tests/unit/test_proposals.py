"""Guessed roles: always complete, always marked, always a policy that can be read."""

from __future__ import annotations

import polars as pl
import pytest

import reissue as ri
from reissue.publishing.proposals import guess_roles, propose_policy
from reissue.publishing.series import draft
from reissue.samples.census import census
from reissue.samples.hospital import hospital


def test_a_hospital_is_guessed_right() -> None:
    table = next(iter(hospital(1))).with_columns(pl.int_range(pl.len()).cast(pl.String).alias("full name"))
    roles = {guess.column: guess.role for guess in guess_roles(table)}
    assert roles["patient"] == "person"
    assert roles["diagnosis"] == "sensitive"
    assert roles["full name"] == "drop"
    assert {roles[name] for name in ("age", "zip", "sex")} == {"quasi"}


def test_the_proposal_is_a_policy_for_its_table() -> None:
    table = census(500, seed=1).with_columns(
        pl.when(pl.col("person") % 9 == 0).then(None).otherwise("age").alias("age"), pl.lit("x").alias('odd "name')
    )
    text = propose_policy(table, "census.csv")
    policy = ri.Policy.from_toml(text)
    assert set(policy.schema.roles) == set(table.columns)
    assert draft(table, policy).tables["table"].height == 500
    guessed = [line for line in text.splitlines() if "GUESS" in line]
    assert len(guessed) >= table.width


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": [1, 1], "b": ["x", "y"], "c": ["x", "x"]}).drop("b"), "tells all rows apart"),
        (pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "three columns"),
        (pl.DataFrame({"a": []}), "no rows"),
    ],
)
def test_tables_nothing_can_be_guessed_from(table: pl.DataFrame, message: str) -> None:
    with pytest.raises(ri.errors.TableError, match=message):
        propose_policy(table, "t")


def test_the_alternative_for_growing_tables_is_a_policy_too() -> None:
    """Behind the marks of the comments stand lines that can be used as they are."""
    text = propose_policy(census(500, seed=1), "census.csv")
    head, method = text.split("[method]\n")
    other = [line.removeprefix("# ") for line in method.splitlines() if line.startswith("# ")][1:]
    policy = ri.Policy.from_toml("\n".join([head, "[method]", *other]))
    assert policy.method == ri.Incremental(3, strict=True)
