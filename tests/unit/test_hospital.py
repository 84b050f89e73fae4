from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from profiles import seeds

from reissue.errors import ParameterError
from reissue.samples.hospital import hospital

COLUMNS = ["patient", "age", "zip", "sex", "diagnosis"]


def test_four_months_of_240_patients() -> None:
    months = list(hospital())
    assert [month.height for month in months] == [240] * 4
    for month in months:
        assert month.columns == COLUMNS
        assert month.schema["age"] == month.schema["zip"] == pl.Int64
        assert month["patient"].n_unique() == month.height
        assert month["patient"].str.contains(r"^P-\d{4}$").all()
        assert month["age"].is_between(1, 95).all()
        assert month["zip"].is_between(53110, 53179).all()
        assert set(month["sex"]) == {"female", "male"}
        counts = month["diagnosis"].value_counts()["count"]
        assert len(counts) == 12
        assert counts.max() < 0.2 * 240  # type: ignore[operator]
        assert counts.min() < 0.05 * 240  # type: ignore[operator]


def test_fifteen_percent_change_places_and_nobody_changes_or_returns() -> None:
    months = list(hospital(6))
    left: set[str] = set()
    for before, after in pairwise(months):
        old, new = set(before["patient"]), set(after["patient"])
        assert len(old - new) == len(new - old) == 36
        assert not new & left
        left |= old - new
    everything = pl.concat(months).unique()
    assert everything["patient"].n_unique() == everything.height == 240 + 5 * 36


def test_the_same_hospital_for_a_seed() -> None:
    assert all(a.equals(b) for a, b in zip(hospital(3), hospital(5), strict=False))
    assert all(a.equals(b) for a, b in zip(hospital(), hospital(), strict=True))
    assert next(hospital(seed=1)).equals(next(hospital(seed=1)))
    assert not next(hospital(seed=1)).equals(next(hospital(seed=2)))
    assert not next(hospital(seed=None)).equals(next(hospital(seed=None)))


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_diagnoses_stay_diverse_for_other_seeds(seed: int) -> None:
    for month in hospital(seed=seed):
        assert month["diagnosis"].value_counts()["count"].max() < 0.25 * 240  # type: ignore[operator]


def test_the_old_have_other_illnesses_than_the_young() -> None:
    many = next(hospital(1, patients=20_000))
    share = dict(many.group_by(pl.col("age") >= 60).agg((pl.col("diagnosis") == "heart disease").mean()).iter_rows())
    assert share[True] > 2 * share[False]
    assert many["patient"].n_unique() == 20_000


@pytest.mark.parametrize(("months", "patients"), [(1, 1), (3, 1), (3, 2), (2, 5)])
def test_tiny_hospitals(months: int, patients: int) -> None:
    assert [month.height for month in hospital(months, patients=patients)] == [patients] * months


@pytest.mark.parametrize("wrong", [{"months": 0}, {"patients": 0}, {"patients": 1.5}, {"seed": -1}])
def test_refuses_bad_parameters_before_the_first_month(wrong: dict[str, float]) -> None:
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"'{name}' parameter of hospital"):
        hospital(**wrong)  # type: ignore[arg-type]
