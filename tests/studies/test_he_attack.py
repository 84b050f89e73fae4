"""Figure 6 of He et al.: who is counted is who the attack finds, and only what is proven to be all is called so."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from reissue_studies.he import attack as he_attack
from reissue_studies.he.attack import attack_runs, attacked_e, compromised, last_counts
from reissue_studies.he.figures import FIGURES
from reissue_studies.he.setting import Setting

import reissue as ri
from reissue.attacks.equivalence.equivalence import Equivalence
from reissue.model.published import Published
from reissue.publishing.rehearsal import Rehearsal

TINY = Setting(rows=1_200, initial=400, turnover=80, releases=4, m=4, e=(2, 3), seed=7)


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(he_attack, "EXACT_SECONDS", dict.fromkeys(he_attack.EXACT_SECONDS, 600.0))
        return compromised(TINY)


@cache
def views(setting: Setting, at: int) -> list[Published]:
    """The outsider's view after each release."""
    run = attack_runs(setting)[at]
    series = Rehearsal(ri.Policy(setting.schema, run.method, form="anatomised"))
    releases, views = [], []
    for number, table in enumerate(setting.states(None), start=1):
        draft = series.publish(table, seed=setting.release_seed(number))
        releases += draft.view.releases
        views.append(Published(tuple(releases), draft.view.values, draft.view.magnitudes))
    return views


def test_counts_are_those_of_the_attack(found: pl.DataFrame) -> None:
    for at, run in enumerate(attack_runs(TINY)):
        rows = found.slice(at * TINY.releases, TINY.releases)
        assert set(rows["method"]) == {run.name}
        people: set[int] = set()
        for row, view in zip(rows.iter_rows(named=True), views(TINY, at), strict=True):
            attacked = Equivalence(e=4, seconds=600).run(view)
            people.update(attacked.compromised(4)["person"].to_list())
            assert row["compromised"] == len(people)
            assert row["complete"]
            seen = np.unique(np.concatenate([release.members for release in view.releases]))
            assert row["seen"] == np.count_nonzero(seen >= 0)
            assert row["alone"] <= row["compromised"] <= row["seen"]


def test_people_alone_are_those_with_equal_numbers_in_all_solutions(found: pl.DataFrame) -> None:
    # An independent way to all pairs: the null space of people and values of all groups, in floating-point numbers.
    for at, run in enumerate(attack_runs(TINY)):
        view = views(TINY, at)[-1]
        people = np.unique(np.concatenate([release.members for release in view.releases]))
        rows = []
        for release in view.releases:
            for group in range(release.group_count):
                row = np.zeros(people.size + len(view.values))
                members = release.members[release.member_starts[group] : release.member_starts[group + 1]]
                entries = slice(release.value_starts[group], release.value_starts[group + 1])
                row[np.searchsorted(people, members)] = 1
                row[people.size + release.values[entries]] = -release.counts[entries]
                rows.append(row)
        # What is left of random numbers when all that the groups say is taken off: a random solution of all equations.
        groups, drawn = np.array(rows), np.random.default_rng(3).standard_normal(people.size + len(view.values))
        numbers = (drawn - np.linalg.lstsq(groups, groups @ drawn)[0])[: people.size]
        order = np.argsort(numbers)
        close = np.diff(numbers[order]) < 1e-9
        alone = people[order[np.append(close, False) | np.append(False, close)]]
        counted = found.filter(pl.col("method") == run.name)["alone"].to_list()[-1]
        assert counted == np.count_nonzero(alone >= 0)


def test_the_paper_s_order(found: pl.DataFrame) -> None:
    last = {row["method"]: row for row in last_counts(found).iter_rows(named=True)}
    fine, merged, safe = (last[run.name]["compromised"] for run in attack_runs(TINY))
    assert fine > merged > safe == 0
    assert last["e-equivalence"]["complete"]
    assert found.filter(pl.col("release") == 1)["compromised"].to_list() == [0, 0, 0]
    for _, rows in found.group_by("method"):
        assert rows.sort("release")["compromised"].is_sorted()


def test_attacks_are_below_5_or_m() -> None:
    assert attacked_e(Setting()) == 5
    assert attacked_e(TINY) == 4
    assert [run.e for run in attack_runs(Setting())] == [None, None, 5]


def test_the_figure(found: pl.DataFrame) -> None:
    figure, seen = FIGURES[6], list[str]()
    short = replace(TINY, releases=2)
    measured = figure.measure(short, progress=seen.append)
    assert len(seen) == figure.steps(short) == 6
    assert measured.height == 6
    summary = figure.summary(found)
    tables = figure.tables(summary)
    assert list(tables) == ["people compromised after the last release", "as a share of all people"]
    assert tables["people compromised after the last release"].columns == [
        "m",
        "m-invariance",
        "m-inv. merged",
        "e = 4",
    ]
    chart = figure.draw(found, TINY)
    told = str(chart.drawing.to_dict())
    assert "Figure 6. People compromised by equivalence attacks" in told
    assert ("there may be more" in told) == (not summary["complete"].all())


def test_people_once_compromised_stay_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without time for the exact search.
    monkeypatch.setattr(he_attack, "EXACT_SECONDS", dict.fromkeys(he_attack.EXACT_SECONDS, 1e-9))
    hasty = compromised(replace(TINY, releases=3))
    for _, rows in hasty.group_by("method"):
        assert rows.sort("release")["compromised"].is_sorted()
    assert not hasty.filter(pl.col("method") == "m-invariance")["complete"].all()
