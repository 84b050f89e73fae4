"""Shares of the first table that are out with noise stay out: every later record says so, whatever the reference is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import Refused

VALUES = list("abcdef")
TABLE = pl.DataFrame({"id": range(600), "age": [at % 50 for at in range(600)], "illness": VALUES * 100})
OUTSIDE = dict.fromkeys(VALUES, 1.0) | {"(other values)": 0.05}


def policy(**more: Any) -> ri.Policy:
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical(values=VALUES)})
    return ri.Policy(schema, ri.Alternatives(m=3, **more))


def test_a_series_says_the_epsilon_that_it_began_with(tmp_path: Path) -> None:
    """By hand: with everybody else known, e^0.5 / (e^0.5 + 2)."""
    bound = f"at most {math.exp(0.5) / (math.exp(0.5) + 2):.3g} for who knows everybody else (epsilon = 0.5)"
    with ri.open(tmp_path / "s", policy(epsilon=0.5)) as series:
        records = [series.publish(TABLE)]
        series.amend(policy(reference=OUTSIDE), "shares from outside")
        draft = series.draft(TABLE, allow=["same-state"], reason="so it is here")
        assert any("epsilon = 0.5" in note for note in draft.notes)
        again = {"allow": ["same-state"], "reason": "so it is here"}
        records += [series.publish(TABLE, **again), series.publish(TABLE, **again)]
        promised = series.audit().promises
    for record in records:
        [title] = record.manifest["guarantees"]
        assert bound in title
        assert any("(epsilon = 0.5)" in warning for warning in record.manifest["warnings"])
    for record in (records[0], records[2]):
        assert "Of these people the shares of the first table were counted" in " ".join(record.manifest["warnings"])
    assert [promise.parameters.get("epsilon") for promise in promised] == [0.5]
    with ri.open(tmp_path / "s") as again:
        assert bound in again.publish(TABLE, allow=["same-state"], reason="so it is here").manifest["guarantees"][0]


def test_files_that_were_counted_add_up(tmp_path: Path) -> None:
    """What was told by an earlier file stays told; another file tells more, and saying less changes nothing."""
    other = OUTSIDE | {"a": 2.0}
    with ri.open(tmp_path / "s", policy(reference=OUTSIDE, spent=0.5)) as series:
        series.publish(TABLE)
        series.amend(policy(reference=OUTSIDE), "forgotten")
        series.publish(TABLE, allow=["same-state"], reason="so it is here")
        series.amend(policy(reference=other, spent=0.25), "another file")
        series.publish(TABLE, allow=["same-state"], reason="so it is here")
        said = [series.publish(TABLE, allow=["same-state"], reason="so it is here"), *series.releases]
    found = [record.manifest["warnings"][-1].split("(epsilon = ")[1].split(")")[0] for record in said[1:]]
    assert found == ["0.5", "0.5", "0.75", "0.75"]


def test_shares_from_outside_alone_have_no_epsilon(tmp_path: Path) -> None:
    with ri.open(tmp_path / "s", policy(reference=OUTSIDE)) as series:
        for _ in range(2):
            record = series.publish(TABLE, allow=["same-state"], reason="so it is here").manifest
            assert "epsilon" not in " ".join([*record["guarantees"], *record["warnings"]])


def test_the_table_is_not_asked_again_after_shares_from_outside(tmp_path: Path) -> None:
    """To go back to shares with noise would draw them a second time, which is twice the epsilon."""
    with ri.open(tmp_path / "s", policy(epsilon=0.5)) as series:
        series.publish(TABLE)
        series.amend(policy(reference=OUTSIDE), "shares from outside")
        series.publish(TABLE, allow=["same-state"], reason="so it is here")
        series.amend(policy(epsilon=0.5), "back")
        with pytest.raises(Refused, match="sets which are out do not allow"):
            series.publish(TABLE, allow=["same-state"], reason="so it is here")
