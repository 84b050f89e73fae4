"""What publish says where values do not change as declared: both directions, and hardly ever without a reason."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from changing_sets import permanent_table, product, renewal_table

import reissue as ri
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.reasoning.alternatives.change_check import ERROR, Comers, fit_of_rate, fit_of_table

VALUES = list("abcdefgh")
SHARES = [0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05]


def redrawn(rng: np.random.Generator, has: Any, rate: float) -> Any:
    return np.where(rng.random(has.size) < rate, rng.choice(VALUES, has.size, p=SHARES), has)


def table_of(has: Any, here: Any = None) -> pl.DataFrame:
    people = np.arange(has.size) if here is None else here
    return pl.DataFrame({"id": people, "age": people % 50, "illness": has[people]})


def policy(change: Any, **more: Any) -> ri.Policy:
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical(values=VALUES)}, **more)
    reference = dict(zip(VALUES, SHARES, strict=True))
    return ri.Policy(schema, ri.Alternatives(m=3, change=change, reference=reference), checks=NOTHING_ASKED)


def about_change(notes: Any) -> list[str]:
    return [note for note in notes if "rate of change" in note or "table of change" in note or "than declared" in note]


# A rate


@pytest.mark.parametrize(
    ("declared", "true", "says"),
    [(0.5, 0.1, "is too high, and that is dangerous"), (0.1, 0.5, "values change more often than declared")],
)
def test_publish_says_that_a_rate_does_not_fit(tmp_path: Path, declared: float, true: float, says: str) -> None:
    rng = np.random.default_rng(1)
    before = rng.choice(VALUES, 500, p=SHARES)
    after = redrawn(rng, before, true)
    with ri.open(tmp_path / "s", policy(declared)) as series:
        assert not about_change(series.publish(table_of(before)).summary["notes"])
        [note] = about_change(series.draft(table_of(after)).notes)
        assert [note] == about_change(series.publish(table_of(after)).summary["notes"])
    changed = int((before != after).sum())
    share = np.array([SHARES[VALUES.index(value)] for value in before])
    assert says in note
    assert f"of 500 people who were published before, {changed:,} have another value now" in note
    assert f"and {(declared * (1 - share)).sum():,.0f} were expected" in note
    # By hand: as many changed as expected at changed / sum (1 - p).
    assert f"{changed / (1 - share).sum():.2g} would fit" in note


def test_nothing_is_said_of_a_rate_that_fits_or_of_few_people(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    has = rng.choice(VALUES, 500, p=SHARES)
    with ri.open(tmp_path / "s", policy(0.3)) as series:
        for _ in range(4):
            assert not about_change(series.publish(table_of(has)).summary["notes"])
            has = redrawn(rng, has, 0.3)
    with ri.open(tmp_path / "few", policy(0.5)) as series:
        for _ in range(2):
            assert not about_change(
                series.publish(table_of(has[:9]), allow=["same-state"], reason="so it is here").summary["notes"]
            )


@pytest.mark.parametrize(("people", "rate"), [(40, 0.5), (300, 0.1), (300, 0.9), (1000, 0.02)])
def test_a_false_alarm_is_as_rare_as_it_says(people: int, rate: float) -> None:
    """Exactly: ten equal shares, so that the number of changes is binomial."""
    had = np.zeros((1, 10), dtype=np.int64)
    had[0, :] = people // 10
    comers = [Comers(np.zeros(1, dtype=np.int64), had, np.zeros(2, dtype=np.int64), np.full((1, 10), 0.1), None)]
    chance, alarm = 0.9 * rate, 0.0
    for changed in range(people + 1):
        mass = comb(people, changed) * chance**changed * (1 - chance) ** (people - changed)
        if mass > 1e-12:
            fit = fit_of_rate(rate, comers, changed)
            assert fit is not None and fit.low <= fit.estimate <= fit.high
            alarm += mass * (fit.over or fit.under)
    assert alarm <= ERROR
    none = fit_of_rate(rate, comers, 0)
    assert none is not None and none.over == (people * chance > 15)


@pytest.mark.parametrize("seed", range(4))
def test_absences_and_versions_are_counted_by_the_tables(seed: int) -> None:
    """What is expected of people who were last there one, two or three releases ago, by products of tables."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=2)
    versions, permanent = np.array([0, 0, 1, 1]), np.array([seed % 2 == 1, False, False, False])
    had = rng.integers(0, 20, (3, 4)) * ~permanent
    rate, expected = 0.3, 0.0
    for last in range(3):
        table: Any = np.eye(4).tolist()
        for step in range(last + 1, 4):
            law = shares[versions[step]].tolist()
            one = permanent_table(rate, law, permanent.tolist()) if permanent.any() else renewal_table(rate, law)
            table = product(table, one)
        expected += sum(had[last, v] * (1 - table[v][v]) for v in range(4))
    comers = Comers(np.arange(3), had, versions, shares, permanent if permanent.any() else None)
    assert comers.changed(rate) == pytest.approx(expected)


def test_who_was_away_and_older_rates_do_not_mislead(tmp_path: Path) -> None:
    """A third is away for two releases, where one more redraw may have happened; then another rate is recorded."""
    rng = np.random.default_rng(3)
    has = rng.choice(VALUES, 900, p=SHARES)
    everybody, some = np.arange(900), np.arange(600)
    with ri.open(tmp_path / "s", policy(0.3)) as series:
        for here in (everybody, some, everybody, some):
            assert not about_change(series.publish(table_of(has, here)).summary["notes"])
            has = redrawn(rng, has, 0.3)
        series.amend(policy(0.9), "values change more often")
        has = redrawn(rng, has, 0.9)
        series.publish(table_of(has, some))
        # Those who were away come from a release before the new rate: nothing is expected of them.
        has = redrawn(rng, has, 0.1)
        [note] = about_change(series.draft(table_of(has, everybody)).notes)
        assert "0.9, is too high" in note and "of 600 people" in note


def test_permanent_values_are_not_expected_to_change(tmp_path: Path) -> None:
    """Nine in ten have what nobody loses; the others change as declared."""
    rng = np.random.default_rng(5)
    has = np.where(np.arange(1000) < 900, "g", rng.choice(VALUES, 1000, p=SHARES))
    with ri.open(tmp_path / "s", policy(0.5, permanent=["g"])) as series:
        series.publish(table_of(has))
        has = np.where(has == "g", has, redrawn(rng, has, 0.5))
        assert not about_change(series.publish(table_of(has)).summary["notes"])


# A table


def chain(stay: float) -> Any:
    """Eight values, each left for any other alike."""
    return np.full((8, 8), (1 - stay) / 7) + np.eye(8) * (stay - (1 - stay) / 7)


def moved(rng: np.random.Generator, has: Any, table: Any) -> Any:
    codes = np.array([VALUES.index(value) for value in has])
    drawn = (np.cumsum(table[codes], axis=1) < rng.random(codes.size)[:, None]).sum(axis=1)
    return np.array(VALUES)[np.minimum(drawn, 7)]


@pytest.mark.parametrize(
    ("true", "says"),
    [
        (0.95, "of 8 values that people had, 8 are lost less often than the table of change says"),
        (0.2, "of 8 values that people had, 8 are lost more often than the table of change says"),
        (0.6, None),
    ],
)
def test_publish_says_that_a_table_does_not_fit(tmp_path: Path, true: float, says: str | None) -> None:
    rng = np.random.default_rng(1)
    has = np.array(VALUES * 100)
    declared = {a: dict(zip(VALUES, map(float, chain(0.6)[at]), strict=True)) for at, a in enumerate(VALUES)}
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"illness": ri.Categorical(values=VALUES)})
    method = ri.Alternatives(m=2, change=declared, reference=dict.fromkeys(VALUES, 1.0))
    with ri.open(tmp_path / "s", ri.Policy(schema, method)) as series:
        series.publish(table_of(has))
        notes = about_change(series.draft(table_of(moved(rng, has, chain(true)))).notes)
    assert len(notes) == (says is not None)
    assert says is None or (says in notes[0] and ("dangerous" in notes[0]) == (true > 0.6))


def test_one_row_that_is_wrong_is_counted_as_one() -> None:
    """Rows that stay as often as they should and go elsewhere, and one that stays too long, two steps away."""
    rng = np.random.default_rng(2)
    table, other = chain(0.6), chain(0.6)
    other[3] = np.eye(8)[3] * 0.6 + np.eye(8)[4] * 0.4
    other[5] = chain(0.9)[5]
    before = np.repeat(np.arange(8), 300)
    steps = np.tile([1, 2, 2], 800)
    tables = np.stack([np.eye(8), table, table @ table])
    true = np.stack([np.eye(8), table, table @ table])
    true[1:, 3], true[1:, 5] = other[3], other[5]
    now = np.array([rng.choice(8, p=true[k, v]) for v, k in zip(before, steps, strict=True)])
    fit = fit_of_table(before, now, steps, tables)
    assert (fit.values, fit.slower) == (8, 2)  # after two steps fewer than 0.6 should have stayed in row 3 as well
    once = steps == 1
    now = now[once]
    fit = fit_of_table(before[once], now, steps[once], tables)
    assert (fit.slower, fit.faster, fit.elsewhere) == (1, 0, 1)


def test_a_table_that_fits_is_hardly_ever_called_wrong() -> None:
    rng = np.random.default_rng(4)
    table = rng.dirichlet(np.ones(8), size=8)
    tables = np.stack([np.eye(8), table])
    before, steps = np.repeat(np.arange(8), 60), np.ones(480, dtype=np.int64)
    wrong = 0
    for _ in range(400):
        drawn = (np.cumsum(table[before], axis=1) < rng.random(480)[:, None]).sum(axis=1)
        fit = fit_of_table(before, np.minimum(drawn, 7), steps, tables)
        wrong += bool(fit.slower or fit.faster or fit.elsewhere)
    assert wrong <= 3, "0.4 are expected at most"
