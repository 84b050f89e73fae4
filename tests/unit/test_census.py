from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, seeds

from reissue.errors import ParameterError
from reissue.model.hierarchy import Hierarchy
from reissue.samples.census import census, census_hierarchies, draw_given

SCHEMA = {
    "person": pl.Int64,
    "age": pl.Int64,
    "gender": pl.String,
    "education": pl.String,
    "birthplace": pl.String,
    "occupation": pl.String,
}


@pytest.fixture(scope="module")
def large() -> pl.DataFrame:
    return census(600_000, seed=7)


@pytest.fixture(scope="module")
def salaries() -> pl.DataFrame:
    return census(600_000, sensitive="salary", seed=7)


def share_of(table: pl.DataFrame, column: str) -> pl.Series:
    return table[column].value_counts()["count"] / table.height


def test_domains_of_table_viii_all_appear(large: pl.DataFrame, salaries: pl.DataFrame) -> None:
    found = {column: large[column].n_unique() for column in large.columns}
    assert found == {
        "person": 600_000,
        "age": 79,
        "gender": 2,
        "education": 17,
        "birthplace": 57,
        "occupation": 50,
    }
    assert salaries["salary"].n_unique() == 50
    assert set(salaries["salary"].unique().sort().diff().drop_nulls()) == {2_000}


@pytest.mark.parametrize("seed", seeds(2, 5))
@pytest.mark.parametrize(("sensitive", "share"), [("occupation", 1 / 10), ("salary", 1 / 16)])
def test_ten_diverse_at_a_hundred_thousand_rows(sensitive: str, share: float, seed: int) -> None:
    table = census(100_000, sensitive=sensitive, seed=seed)  # type: ignore[arg-type]
    shares = share_of(table, sensitive)
    assert shares.max() < share
    assert shares.min() < 1 / 500


def test_occupation_frequencies_are_as_the_docstring_says(large: pl.DataFrame) -> None:
    shares = share_of(large, "occupation").sort(descending=True).to_numpy()
    expected = 0.92 ** np.arange(50)
    assert shares == pytest.approx(expected / expected.sum(), abs=0.002)
    assert shares[0] == pytest.approx(0.081, abs=0.002)
    assert 1 / 13 < shares[0] < 1 / 12


def test_birthplace_follows_zipf(large: pl.DataFrame) -> None:
    shares = share_of(large, "birthplace").sort(descending=True).to_numpy()
    harmonic = sum(1 / rank for rank in range(1, 58))
    assert shares == pytest.approx([1 / rank / harmonic for rank in range(1, 58)], abs=0.002)


def test_attributes_hang_together(large: pl.DataFrame, salaries: pl.DataFrame) -> None:
    doctors = large.filter(pl.col("education") == "Doctorate")
    assert doctors["age"].min() == 26
    degree = pl.col("education").is_in(["Bachelor", "Master", "Professional degree", "Doctorate"])
    by_age = large.group_by(pl.col("age") > 65).agg(degree.mean().alias("share")).sort("age")["share"]
    assert by_age[0] > 1.3 * by_age[1]
    by_job = dict(large.group_by("occupation").agg(degree.mean()).iter_rows())
    assert by_job["Physician"] > 0.7
    assert by_job["Cleaner"] < 0.1
    women = dict(large.group_by("occupation").agg((pl.col("gender") == "female").mean()).iter_rows())
    assert women["Nurse"] > 0.6
    assert women["Electrician"] < 0.2
    pay = dict(salaries.group_by("education").agg(pl.col("salary").mean()).iter_rows())
    assert pay["Bachelor"] > 1.5 * pay["Primary"]
    by_decade = dict(salaries.group_by(pl.col("age") // 10).agg(pl.col("salary").mean()).iter_rows())
    assert by_decade[4] > 1.3 * by_decade[1]


def test_the_same_seed_gives_the_same_table_and_another_does_not() -> None:
    assert census(1_000, seed=3).equals(census(1_000, seed=3))
    assert not census(1_000, seed=3).equals(census(1_000, seed=4))
    assert not census(1_000).equals(census(1_000))


def test_both_sensitive_columns_belong_to_the_same_people(large: pl.DataFrame, salaries: pl.DataFrame) -> None:
    assert large.drop("occupation").equals(salaries.drop("salary"))


@pytest.mark.parametrize("rows", [0, 1, 2, 65_536, 65_537])
def test_sizes(rows: int) -> None:
    table = census(rows, seed=1)
    assert dict(table.schema) == SCHEMA
    assert table["person"].to_list() == list(range(1, rows + 1))
    assert table.null_count().sum_horizontal().item() == 0
    assert census(rows, sensitive="salary", seed=1).schema["salary"] == pl.Int64


def test_refuses_bad_parameters_all_at_once() -> None:
    with pytest.raises(ParameterError) as refused:
        census(-1)
    assert str(refused.value) == (
        "The 'rows' parameter of census must be a whole number of at least 0. Got -1 instead."
    )
    with pytest.raises(ParameterError) as refused:
        census(2.5, seed=-3)  # type: ignore[arg-type]
    assert len(refused.value.problems) == 2
    with pytest.raises(ParameterError, match="'sensitive' parameter of census"):
        census(1, sensitive="income")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'rows'"):
        census(True)


@pytest.mark.parametrize("column", ["education", "birthplace"])
def test_hierarchies_cover_the_table(large: pl.DataFrame, column: str) -> None:
    nested = census_hierarchies()[column]
    assert list(nested) == ["*"]
    hierarchy = Hierarchy.from_nested(nested)
    assert set(hierarchy.leaves) == set(large[column])
    assert {len(hierarchy.ancestors(leaf)) for leaf in hierarchy.leaves} == {3}


def test_education_leaves_are_in_the_order_of_schooling(salaries: pl.DataFrame) -> None:
    leaves = Hierarchy.from_nested(census_hierarchies()["education"]).leaves
    pay = dict(salaries.group_by("education").agg(pl.col("salary").mean()).iter_rows())
    assert [*leaves] == sorted(pay, key=pay.__getitem__)


@examples(5)
@given(
    weights=st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0]), min_size=4, max_size=4).filter(any),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 2**32),
)
def test_drawing_keeps_to_the_weights(weights: list[list[float]], seed: int) -> None:
    shares = np.array(weights)
    given_rows = np.repeat(np.arange(len(shares)), 20_000)
    drawn = draw_given(np.random.default_rng(seed), shares, given_rows)
    for row, wanted in enumerate(shares):
        found = np.bincount(drawn[given_rows == row], minlength=4)
        expected = wanted / wanted.sum() * 20_000
        assert found.size == 4
        assert not found[wanted == 0].any()
        # Six standard deviations of a binomial count.
        assert np.all(np.abs(found - expected) <= 6 * np.sqrt(np.maximum(expected, 1)))
