"""Byun's Figure 8: the counts of the study against sets made by hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from reissue.studies import byun
from reissue.studies.byun import Setting

SETTING = Setting(rows=900, initial=500, step=200, l=(3,), seed=4)
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult" / "adult.data.gz"


def test_counts_are_those_of_sets_made_by_hand() -> None:
    found = byun.vulnerable(SETTING)
    view = byun._published(SETTING, 3, lambda step: None)
    places: list[dict[int, frozenset[int]]] = []
    values: list[dict[frozenset[int], list[int]]] = []
    for release in view.releases:
        groups = {}
        where = {}
        for g in range(release.group_count):
            members = frozenset(release.members[release.member_starts[g] : release.member_starts[g + 1]].tolist())
            shown = slice(release.value_starts[g], release.value_starts[g + 1])
            groups[members] = [
                value
                for value, often in zip(release.values[shown].tolist(), release.counts[shown].tolist(), strict=True)
                for _ in range(often)
            ]
            where.update(dict.fromkeys(members, members))
        places.append(where)
        values.append(groups)
    narrow, both = [], []
    for later in range(3):
        few: set[int] = set()
        fewest: set[int] = set()
        for earlier in range(later):
            for person, one in places[earlier].items():
                other = places[later][person]
                left = set(values[earlier][one]) & set(values[later][other])
                if len(left) < 3:
                    fewest.add(person)
                    if len({places[later][member] for member in one}) <= 2:
                        few.add(person)
        narrow.append(len(few))
        both.append(len(fewest))
    assert found["narrow"].to_list() == narrow
    # Newcomers can be vulnerable too, so comparing people who are in both is a lower bound.
    assert all(all_of_them >= some for all_of_them, some in zip(found["vulnerable"].to_list(), both, strict=True))
    assert found["vulnerable"].to_list()[0] == 0
    assert found["vulnerable"].to_list()[-1] > 100
    assert found["share"].to_list() == [v / r for v, r in found.select("vulnerable", "records").iter_rows()]


def test_progress_is_as_long_as_it_says() -> None:
    told: list[str] = []
    byun.vulnerable(Setting(rows=400, initial=200, step=100, l=(2, 3)), progress=told.append)
    assert len(told) == byun.steps(Setting(rows=400, initial=200, step=100, l=(2, 3))) == 8


def test_adult() -> None:
    if not ADULT.exists():
        pytest.skip("Adult is not here")
    setting = Setting(rows=1_200, initial=800, step=400, l=(5,), path=ADULT)
    found = byun.vulnerable(setting)
    assert found["records"].to_list() == [800, 1_200]
    assert setting.pool.columns == ["person", *byun.ADULT_QUASI, byun.SENSITIVE]
    assert isinstance(found, pl.DataFrame)
    assert found["vulnerable"].to_list()[1] > 0
