"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

import reissue as ri

settings.register_profile(
    "reissue", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("reissue")


@pytest.fixture
def patients() -> pl.DataFrame:
    """Twenty-four patients, small enough to look at."""
    return pl.DataFrame(
        {
            "patient": [f"p{n:02}" for n in range(24)],
            "age": [20 + n * 7 % 60 for n in range(24)],
            "sex": ["female" if n % 2 else "male" for n in range(24)],
            "diagnosis": [["flu", "asthma", "cancer", "measles"][n * 5 % 4] for n in range(24)],
        }
    )


@pytest.fixture
def policy() -> ri.Policy:
    """A policy for them under which a second release is allowed."""
    return ri.Policy(
        ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="diagnosis"),
        ri.Mondrian(k=3, l=2),
        series="unprotected",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test may make a series."""
    return tmp_path / "series"
