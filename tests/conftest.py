"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

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


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where there is such a thing, for tests that sync often and lose no power."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path_factory.mktemp("memory")
        return
    with TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test may make a series."""
    return tmp_path / "series"
