"""What counterfeits look like: like people, and like nobody in particular."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from profiles import seeds

import reissue as ri
from reissue.methods.base import Method
from reissue.publishing import archive
from reissue.samples.hospital import hospital

TOWNS = {"53110": "north", "53111": "north", "53140": "south", "53141": "south"}


def made_of(folder: Path, table: pl.DataFrame, quasi: dict[str, ri.Kind], method: Method) -> pl.DataFrame:
    """The counterfeits of one release, with their cells."""
    schema = ri.Schema(person="patient", quasi=quasi, sensitive={"diagnosis": ri.Categorical(new="accept")})
    with ri.open(folder, ri.Policy(schema, method, form="anatomised")) as series:
        series.publish(
            table.select("patient", *quasi, "diagnosis"),
            seed=1,
            allow=["counterfeit", "few-groups"],
            reason="so it is here",
        )
        made = archive.rows(series._ledger, 1)[1]
    assert made is not None
    return made.select(*quasi)


def skewed(rng: np.random.Generator, people: int = 400) -> pl.DataFrame:
    """Two in three have the flu, so that many counterfeits are needed."""
    zips = rng.choice(list(TOWNS), size=people)
    return pl.DataFrame(
        {
            "patient": np.arange(people),
            "age": rng.integers(1, 95, size=people),
            "zip": zips,
            "town": [TOWNS[one] for one in zips],
            "sex": rng.choice(["f", "m"], size=people),
            "job": rng.choice(list("abcdefgh"), size=people),
            "diagnosis": np.where(rng.random(people) < 0.66, "flu", rng.choice(["gout", "asthma", "HIV"], size=people)),
        }
    )


LABELS: dict[str, ri.Kind] = {name: ri.Categorical() for name in ("zip", "town", "sex", "job")}


@pytest.mark.parametrize("seed", seeds(2, 8))
@pytest.mark.parametrize("method", [ri.MInvariance(m=3), ri.EEquivalence(m=3, e=2)], ids=["m", "e"])
def test_no_two_cells_contradict_each_other_and_few_are_copies(tmp_path: Path, method: Method, seed: int) -> None:
    table = skewed(np.random.default_rng(seed))
    made = made_of(tmp_path / "series", table, {"age": ri.Numeric(), **LABELS}, method)
    assert made.height > 100
    for column in made.columns:
        assert {*made[column].to_list()} <= {*table[column].to_list()}
    for one, other in combinations(LABELS, 2):
        assert {*made.select(one, other).rows()} <= {*table.select(one, other).rows()}
    everybody = {*table.select(made.columns).rows()}
    copies = sum(row in everybody for row in made.rows())
    # 94 ages, 4 postal codes, 2 sexes, 8 jobs: by chance few people have the same cells either.
    assert copies < 0.25 * made.height


def test_where_nothing_can_be_mixed_they_are_copies(tmp_path: Path) -> None:
    """Every label belongs to one person: any mixture would be one that cannot be."""
    table = skewed(np.random.default_rng(1), 60).with_columns(
        zip=pl.Series([f"z{at}" for at in range(60)]), job=pl.Series([f"j{at}" for at in range(60)])
    )
    made = made_of(tmp_path / "series", table, {"zip": ri.Categorical(), "job": ri.Categorical()}, ri.MInvariance(m=3))
    assert made.height > 20
    assert {*made.rows()} <= {*table.select("zip", "job").rows()}


def test_one_column_leaves_nothing_to_mix(tmp_path: Path) -> None:
    table = skewed(np.random.default_rng(1), 60)
    made = made_of(tmp_path / "series", table, {"age": ri.Numeric()}, ri.MInvariance(m=3))
    assert {*made["age"].to_list()} <= {*table["age"].to_list()}


def test_copies_no_longer_give_them_away(tmp_path: Path) -> None:
    """Of those that come later, hardly more share all cells with somebody of their release than people do."""
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
        sensitive={"diagnosis": ri.Categorical(new="accept")},
    )
    twins = {True: 0, False: 0}
    rows = {True: 0, False: 0}
    with ri.open(tmp_path / "series", ri.Policy(schema, ri.MInvariance(m=4, split=False), form="anatomised")) as series:
        for at, month in enumerate(hospital(8, patients=400, seed=3), start=1):
            series.publish(month, seed=at, allow=["counterfeit"], reason="so it is here")
            people, made = archive.rows(series._ledger, at)
            names = [*schema.quasi]
            shown = [people.select(names).cast({"sex": pl.String}).with_columns(made=pl.lit(False))]
            if made is not None:
                shown.append(made.select(names).cast({"sex": pl.String}).with_columns(made=pl.lit(True)))
            counted = pl.concat(shown, how="vertical_relaxed").with_columns(alike=pl.len().over(names))
            for flag in (True, False):
                some = counted.filter(pl.col("made") == flag)
                rows[flag] += some.height
                twins[flag] += int((some["alike"] > 1).sum())
    assert rows[True] > 50
    assert twins[True] / rows[True] < twins[False] / rows[False] + 0.15
