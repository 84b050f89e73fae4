"""Guessed roles: always complete, always marked, always a policy that can be read."""

from __future__ import annotations

import re

import numpy as np
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


def behind(method: str, words: str) -> list[str]:
    """The lines of the block that begins with these words, without the marks of comments."""
    lines = method.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("# For ") and words in line)
    last = next((at for at in range(first + 1, len(lines)) if lines[at].startswith("# For ")), len(lines))
    block = [line.removeprefix("# ") for line in lines[first:last]]
    return [line for line in block if re.match(r"[a-z]+ = ", line)]


@pytest.mark.parametrize("rows", [1_500, 90_000])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_proposed_sets_of_values_can_be_published(rows: int, skewed: bool) -> None:
    """Behind the comments stands a method that works with the table it was proposed for."""
    rng = np.random.default_rng(rows)
    labels, shares = list("abcdefghijkl"), np.linspace(3, 1, 12)
    if skewed:
        shares[0] = 12
    table = pl.DataFrame(
        {
            "person": np.arange(rows),
            "age": rng.integers(20, 60, rows),
            "illness": rng.choice(labels, rows, p=shares / shares.sum()),
        }
    )
    text = propose_policy(table, "clinic.csv")
    head, method = text.split("[method]\n")
    head = "\n".join(line for line in head.splitlines() if not line.startswith("form ="))
    policy = ri.Policy.from_toml("\n".join([head, "[method]", *behind(method, "one is true")]))
    assert isinstance(policy.method, ri.Alternatives)
    assert policy.method.epsilon == (0.1 if rows > 10_000 else 1.0)
    assert policy.method.change is None
    made = draft(table, policy)
    assert made.tables["table"].height == rows
    assert policy.form == "alternatives"


def test_where_a_table_is_too_small_for_shares_they_come_from_outside() -> None:
    text = propose_policy(census(500, seed=1), "census.csv")
    assert any(line.startswith("reference = ") for line in behind(text.split("[method]\n")[1], "one is true"))


def test_the_alternative_for_growing_tables_is_a_policy_too() -> None:
    """Behind the marks of the comments stand lines that can be used as they are."""
    text = propose_policy(census(500, seed=1), "census.csv")
    head, method = text.split("[method]\n")
    other = behind(method, "only grows")
    policy = ri.Policy.from_toml("\n".join([head, "[method]", *other]))
    assert policy.method == ri.Incremental(3, strict=True)
