"""Shares counted once more: they fit those whose sets are drawn, hide the last person, and are told for ever."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.arrays.randomness import generator
from reissue.errors import ChecksFailed, Infeasible, ParameterError, Refused
from reissue.methods.alternatives.record_reference import recounted_records
from reissue.methods.alternatives.reference import OTHERS, recounted
from reissue.publishing import renewed_shares

LABELS = list("abcdefgh")
SCHEMA = ri.Schema("id", {"age": ri.Numeric(), "sex": ri.Categorical()}, {"ill": ri.Categorical(new="accept")})
NEW_PEOPLE = ri.Checks(ids_return=0)


def table(often: float, first: int, people: int = 4_000, seed: int = 1) -> pl.DataFrame:
    """People with ids from `first` on; so many have the first illness, all others are equally frequent."""
    rng = np.random.default_rng(seed)
    chances = [often, *[(1 - often) / 7] * 7]
    return pl.DataFrame(
        {
            "id": [f"CANARY-{number}" for number in range(first, first + people)],
            "age": rng.integers(20, 80, people),
            "sex": rng.choice(["f", "m"], people),
            "ill": rng.choice(LABELS, people, p=chances),
        }
    )


def sets(schema: ri.Schema = SCHEMA, **rest: object) -> ri.Policy:
    method = {"m": 4, "epsilon": 1.0, "limit": "2/4", "change": 0.1, **rest}
    return ri.Policy(schema, ri.Alternatives(**method), checks=NEW_PEOPLE)  # type: ignore[arg-type]


def shares_of(release: ri.Release) -> dict[str, float]:
    """The shares of the last version."""
    design = release.tables["design"]
    last = design if "version" not in design.columns else design.filter(pl.col("version") == pl.col("version").max())
    return dict(last["ill", "share"].iter_rows())


def test_with_renewed_shares_a_refused_table_goes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewed_shares, "new_seed", lambda: 5)
    first, later = table(0.1, 0), table(0.45, 3_000, seed=2)  # 1,000 people stay, most of them with another value
    with ri.open(tmp_path / "s", sets()) as series:
        before = series.publish(first)
        with pytest.raises(ChecksFailed, match="reissue shares"):
            series.publish(later)
        version = series.renew_shares(later, "another season")
        assert (version.version, version.reason) == (2, "another season")
        assert series.policy.method.parameters["spent"] == 1.0
        after = series.publish(later)
    # The same names; and shares as in the table, but for noise of scale 2 and those whose sets were kept.
    told = shares_of(after)
    assert told.keys() == shares_of(before).keys() == {*LABELS, OTHERS}
    assert shares_of(before)["a"] == pytest.approx(0.1, abs=0.02)
    drawn = later.join(first, on="id", how="left", suffix="_then").filter(
        pl.col("ill_then").is_null() | (pl.col("ill") != pl.col("ill_then"))
    )
    for label in LABELS:
        assert told[label] == pytest.approx((drawn["ill"] == label).mean(), abs=0.02)
    # Both counts are told of, in the record as in the promise.
    assert "(epsilon = 2)" in after.manifest["guarantees"][0]
    assert "shares or a table of change from other tables were counted, with noise (epsilon = 2)" in str(after.manifest)


def test_sets_that_are_out_stay_as_they_are(tmp_path: Path) -> None:
    """Shares say how sets are drawn, not which: who keeps their set has the very one from before."""
    first = table(0.1, 0)
    more = pl.concat([first, table(0.45, 10_000, seed=2)])
    with ri.open(tmp_path / "s", sets(change=None)) as series:
        series.publish(first)
        series.renew_shares(more, "newcomers")
        series.publish(more)
        release, then = series.published().sets[1], series.published().sets[0]
    mine = dict(zip(then.people.tolist(), then.codes.tolist(), strict=True))
    now = dict(zip(release.people.tolist(), release.codes.tolist(), strict=True))
    named_then = {person: {str(then.designs.labels[code]) for code in codes} for person, codes in mine.items()}
    named_now = {person: {str(release.designs.labels[code]) for code in codes} for person, codes in now.items()}
    assert all(named_now[person] == own for person, own in named_then.items())


def test_the_noise_is_what_epsilon_says() -> None:
    """Discrete Laplace noise of scale 2/epsilon: its variance is 2 q / (1 - q)^2, with q = e^(-epsilon/2)."""
    counts = np.full(2_000, 100_000)
    shares = recounted(counts, Fraction(1, 2), 10.0, generator(1))
    noise = shares / shares.mean() * 100_000 - 100_000
    q = exp(-1 / 4)
    assert noise.var() == pytest.approx(2 * q / (1 - q) ** 2, rel=0.15)


def test_values_that_nobody_has_keep_a_share() -> None:
    shares = recounted(np.array([10_000, 0, 5]), Fraction(1), 10.0, generator(1))
    assert shares[1:] == pytest.approx(20 / 10_040, rel=0.01)  # ten scales of 2


def test_records_below_the_noise_keep_their_share() -> None:
    counts, before = np.array([6_000, 3_000, 1_000, 0, 0]), np.array([0.2, 0.2, 0.5998, 0.0001, 0.0001])
    shares = recounted_records(counts, before, Fraction(1), generator(1))
    assert shares[:3] == pytest.approx([0.6, 0.3, 0.1], abs=0.01)
    assert shares[3:] == pytest.approx([0.0001, 0.0001], rel=0.2)  # one person in 10,000, where noise is some two


def test_of_several_columns_shares_of_records_are_counted(tmp_path: Path) -> None:
    def records(often: float, first: int) -> pl.DataFrame:
        rng = np.random.default_rng(first)
        ill = rng.choice(["a", "b", "c", "d"], 12_000, p=[often, *[(1 - often) / 3] * 3])
        ward = np.where(rng.random(12_000) < 0.7, np.char.upper(ill), rng.choice(["A", "B", "C", "D"], 12_000))
        return pl.DataFrame(
            {"id": range(first, first + 12_000), "age": rng.integers(20, 80, 12_000), "ill": ill, "ward": ward}
        )

    columns = {"ill": ri.Categorical(), "ward": ri.Categorical()}
    schema = ri.Schema("id", {"age": ri.Numeric()}, columns, limits={"ill": "3/5", "ward": "3/5"})
    rules = ri.Policy(schema, ri.Alternatives(m=5, epsilon=1.0), checks=NEW_PEOPLE)
    later = records(0.4, 20_000)
    with ri.open(tmp_path / "s", rules) as series:
        series.publish(records(0.15, 0))
        series.renew_shares(later, "a wave")
        design = series.publish(later).tables["design"].filter(version=2)
    expected = dict(later.group_by("ill", "ward").len().select(pl.concat_str("ill", "ward"), "len").iter_rows())
    for ill, ward, share in design.select("ill", "ward", "share").iter_rows():
        assert share == pytest.approx(expected.get(ill + ward, 0) / 12_000, abs=0.01)


def test_what_cannot_be_renewed(tmp_path: Path) -> None:
    first, later = table(0.1, 0), table(0.45, 10_000)
    with ri.open(tmp_path / "empty", sets()) as series, pytest.raises(ParameterError, match="Nothing was published"):
        series.renew_shares(first, "too early")
    with ri.open(tmp_path / "groups", ri.Policy(SCHEMA, ri.MInvariance(m=3), checks=NEW_PEOPLE)) as series:
        series.publish(first)
        with pytest.raises(ParameterError, match="the method is MInvariance"):
            series.renew_shares(later, "no shares")
    with ri.open(tmp_path / "cells", sets(given=["sex"])) as series:
        series.publish(first)
        with pytest.raises(ParameterError, match="shares by cell"):
            series.renew_shares(later, "by cell")
    with ri.open(tmp_path / "static", sets(limit=None, change=None)) as series:
        series.publish(first)
        before = series.policies()
        with pytest.raises(Refused) as caught:
            series.renew_shares(later, "too frequent for one slot of four")
        assert "CANARY" not in str(caught.value)
        with pytest.raises(ParameterError, match=r"from 0\.001 to 100"):
            series.renew_shares(first, "no noise", epsilon=0)
        with pytest.raises(Infeasible, match="nothing to count"):
            series.renew_shares(first, "nobody comes")
        assert series.policies() == before
