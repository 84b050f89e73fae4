"""The error of counts to be expected over all draws of sets, against every set there is."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.model.snapshot import Column, Labels
from reissue.utility.set_queries import SetRows, set_query_error
from tests.changing_sets import FIVE, M, sampford
from tests.published_sets import designs_of

NAMES = tuple("abcde")


def test_standard_errors_are_those_of_brute_force() -> None:
    """Everybody who can be: each set with each of its values as the true one, value v as often as its place says.

    The score is A^-1 1_S with A[v, u] = P(v in S | u), from Sampford's definition; how far scores are off, squared and
    added up over rows, is the variance.
    """
    design = sampford(FIVE, M)
    holds = np.array([[v in chosen for v in range(5)] for chosen in combinations(range(5), M)], dtype=float)
    chance = np.array([design[chosen] for chosen in combinations(range(5), M)])
    together = holds.T @ (holds * chance[:, None])  # P(v and u in S)
    score = holds @ np.linalg.inv(together / np.diag(together)).T
    rows = [(v, at) for at, chosen in enumerate(combinations(range(5), M)) for v in chosen for _ in range(v + 1)]
    own, at = (np.array(part) for part in zip(*rows, strict=True))
    off = score[at] - np.eye(5)[own]
    # Scores expect the truth, so these are variances.
    for v in range(5):
        given = chance * holds[:, v] / (chance @ holds[:, v])
        assert given @ score == pytest.approx(np.eye(5)[v], abs=1e-12)
    found = set_query_error(
        SetRows(
            quasi=[Column("age", np.zeros(len(rows), np.uint8), Labels(("young",)))],
            values=Column("illness", own.astype(np.uint8), Labels(NAMES)),
            place=np.arange(len(rows)),
            codes=np.array([list(combinations(range(5), M))[one] for one in at], dtype=np.uint8),
            design=np.zeros(len(rows), dtype=np.int64),
            designs=designs_of([FIVE], M, None),
            label=np.arange(5),
            extents=None,
            region=None,
        ),
        ri.Workload(1, 0.2, count=64, seed=1, sensitive_values=1),
    )
    # A query for one value counts everybody who has it, 6 (v + 1): so many that it shows which value was asked for.
    asked = found.queries["actual"].to_numpy() // 6 - 1
    assert set(asked) == set(range(5))
    assert found.queries["estimated"].to_numpy() == pytest.approx(score[at].sum(axis=0)[asked])
    expected = np.sqrt((off**2).sum(axis=0))
    assert found.queries["standard_error"].to_numpy() == pytest.approx(expected[asked])
    assert found.usual == pytest.approx(0.67449 * np.median((expected / (6 * np.arange(1, 6)))[asked]), rel=1e-5)


def test_regions_have_none(tmp_path: Path) -> None:
    """What is spread evenly over a region is off for another reason than the draw of sets."""
    shares = dict.fromkeys(NAMES, 0.2)
    table = pl.DataFrame(
        {"id": range(300), "age": [n % 50 for n in range(300)], "illness": [NAMES[n % 5] for n in range(300)]}
    )
    schema = ri.Schema("id", {"age": ri.Numeric()}, "illness")
    usual = {}
    for k in (None, 20):
        folder = tmp_path / str(k)
        with ri.open(folder, ri.Policy(schema, ri.Alternatives(m=3, reference=shares, k=k))) as series:
            series.publish(table, seed=1)
            error = series.utility(1, workload=ri.Workload(1, 0.2, count=50, seed=1)).query_error
        assert error is not None
        usual[k] = error.to_dict()["usual"]
        assert error.queries["standard_error"].null_count() == (0 if k is None else 50)
    assert usual[20] is None
    assert usual[None] > 0.01
