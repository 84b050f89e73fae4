"""`reissue shares`: what publish advises where values have outgrown their shares, and what it leads to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.illness]
kind = "categorical"
new = "accept"
[method]
name = "Alternatives"
m = 4
limit = "2/4"
epsilon = 1
[checks]
ids_return = 0
"""


@pytest.fixture
def months(tmp_path: Path) -> None:
    """In the second month one illness is five times as frequent."""
    for name, often, first in (("may, june.csv", 0.45, 5_000), ("april.csv", 0.09, 0)):
        rng = np.random.default_rng(4)
        chances = [often, *[(1 - often) / 7] * 7]
        rows = {
            "patient": [f"CANARY-{number}" for number in range(first, first + 3_000)],
            "age": rng.integers(0, 90, 3_000),
        }
        pl.DataFrame({**rows, "illness": rng.choice(list("abcdefgh"), 3_000, p=chances)}).write_csv(tmp_path / name)
    (tmp_path / "policy.toml").write_text(POLICY)


def test_the_way_that_a_refusal_names(run: Run, months: None) -> None:
    assert run("publish", "clinic", "april.csv", "--policy", "policy.toml").code == 0
    refused = run("publish", "clinic", "may, june.csv")
    assert refused.code == 1 and "outgrown-shares" in refused.err and "`reissue shares`" in refused.err
    counted = run("shares", "clinic", "may, june.csv", "--reason", "spring")
    assert counted.code == 0, counted.err
    assert "policy version 2 recorded, with shares counted now (epsilon = 1)" in counted.out
    assert "  reissue publish clinic 'may, june.csv'\n" in counted.out
    assert "CANARY" not in counted.out + counted.err
    published = run("publish", "clinic", "may, june.csv")
    assert published.code == 0, published.err
    assert "(epsilon = 2)" in published.out
    assert "spring" in run("log", "clinic").out
    assert run("verify", "clinic").code == 0
    assert run("audit", "clinic").code == 0


def test_as_json_and_with_an_epsilon_of_its_own(run: Run, months: None) -> None:
    run("publish", "clinic", "april.csv", "--policy", "policy.toml")
    told = run("shares", "clinic", "may, june.csv", "--reason", "spring", "--epsilon", 0.5, "--json").data
    assert (told["version"], told["reason"], told["spent"]) == (2, "spring", 0.5)
