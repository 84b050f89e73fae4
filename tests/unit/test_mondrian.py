"""Mondrian where hypothesis does not go: many cores, wide codes, known cuts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import polars as pl
import pytest

import reissue as ri
from reissue.methods.partition import cutting
from reissue.publishing.series import draft
from reissue.samples.census import census, census_hierarchies


def census_policy(split: str, **parameters: int) -> ri.Policy:
    education = ri.Hierarchy.from_nested(census_hierarchies()["education"])
    return ri.Policy(
        ri.Schema(
            person="person",
            quasi={
                "age": ri.Numeric(),
                "gender": ri.Categorical(),
                "education": education,
                "birthplace": ri.Categorical(),
            },
            sensitive="occupation",
        ),
        ri.Mondrian(split=split, **parameters),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("split", ["strict", "relaxed"])
def test_the_number_of_cores_changes_nothing(monkeypatch: pytest.MonkeyPatch, split: str) -> None:
    table = census(6000, seed=5)
    groups = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(pl, "thread_pool_size", lambda cores=cores: cores)
        monkeypatch.setattr(cutting, "PARALLEL_FROM", 100)
        groups.append(draft(table, census_policy(split, k=5, l=3), seed=1).recoded.group.tolist())
    assert groups[0] == groups[1] == groups[2]


WIDE = """
import numpy as np
import polars as pl
import reissue as ri
from reissue.methods.partition import cutting, mondrian
from reissue.publishing.series import draft

size = 70_000
rng = np.random.default_rng(0)
places = rng.permutation(size) * 1_000_003
table = pl.DataFrame({"person": np.arange(size), "place": places, "value": rng.integers(0, 9, size)})
schema = ri.Schema(person="person", quasi={"place": ri.Numeric()}, sensitive="value")
cut_up = []
mondrian.cut = lambda cells, *others, **options: cut_up.append(cells.dtype) or cutting.cut(cells, *others, **options)
made = draft(table, ri.Policy(schema, ri.Mondrian(k=8_000, l=3)))
assert made.snapshot.quasi[0].codes.dtype == np.uint32
assert cut_up == [np.uint32]
published = made.tables["table"]
regions = published.group_by("group").agg(pl.col("place_low", "place_high").first(), pl.len()).sort("place_low")
assert regions["len"].to_list() == [8_750] * 8
assert regions["place_low"].to_list() == [first * 1_000_003 for first in range(0, size, 8_750)]
assert regions["place_high"].to_list() == [last * 1_000_003 for last in range(8_749, size, 8_750)]
"""


def test_more_distinct_numbers_than_small_codes_hold() -> None:
    """Without compiling, which takes many times as long for codes of a width that nothing else here has.

    Compiled, a wide code is the same 64 bits as a small one once it is loaded; here one that overflows is an error.
    """
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    program = [sys.executable, "-W", "error", "-c", WIDE]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_medians_split_evenly() -> None:
    """Sixteen people on a line and k = 2: four rounds of halves end in pairs of neighbours."""
    table = pl.DataFrame({"person": range(16), "x": range(16), "value": [n % 2 for n in range(16)]})
    schema = ri.Schema(person="person", quasi={"x": ri.Numeric()}, sensitive="value")
    published = draft(table, ri.Policy(schema, ri.Mondrian(k=2))).tables["table"]
    assert published.select("x_low", "x_high").unique().sort("x_low").rows() == [(n, n + 1) for n in range(0, 16, 2)]


def test_the_other_side_of_the_median_is_tried() -> None:
    """Half of the people share the middle value: only the cut before it leaves three on both sides."""
    table = pl.DataFrame({"person": range(8), "x": [1, 2, 3, 5, 5, 5, 5, 5], "value": ["a", "b"] * 4})
    schema = ri.Schema(person="person", quasi={"x": ri.Numeric()}, sensitive="value")
    published = draft(table, ri.Policy(schema, ri.Mondrian(k=3))).tables["table"]
    assert published.select("x_low", "x_high").unique().sort("x_low").rows() == [(1, 3), (5, 5)]


def test_relaxed_parts_people_who_look_alike() -> None:
    table = pl.DataFrame({"person": range(8), "x": [1, 5, 5, 5, 5, 5, 5, 9], "value": ["a", "b"] * 4})
    schema = ri.Schema(person="person", quasi={"x": ri.Numeric()}, sensitive="value")

    def sizes(split: str) -> list[int]:
        made = draft(table, ri.Policy(schema, ri.Mondrian(k=4, split=split)), seed=2)  # type: ignore[arg-type]
        return sorted(made.grouping.sizes().tolist())

    assert sizes("strict") == [8]
    assert sizes("relaxed") == [4, 4]


def test_relaxed_pools_small_children_of_a_hierarchy() -> None:
    """One town is too small to stand alone. Strict leaves all together; relaxed parts the large ones off."""
    towns = ri.Hierarchy.from_nested({"country": {"north": ["n"], "south": ["s"], "east": ["e1", "e2"]}})
    labels = ["n"] * 5 + ["s"] * 6 + ["e1"] * 4 + ["e2"]
    table = pl.DataFrame({"person": range(16), "town": labels, "value": ["a", "b"] * 8})
    schema = ri.Schema(person="person", quasi={"town": towns}, sensitive="value")

    def regions(split: str) -> Counter[str]:
        made = draft(table, ri.Policy(schema, ri.Mondrian(k=5, split=split)))  # type: ignore[arg-type]
        return Counter(made.tables["table"]["town"].to_list())

    assert regions("strict") == {"n": 5, "s": 6, "east": 5}
    smaller = table.filter(pl.col("town") != "e2")
    table = smaller
    assert regions("strict") == {"country": 15}
    assert regions("relaxed") == {"s": 6, "country": 9}


def test_seeds_are_kept_and_repeat_a_release() -> None:
    table = census(3000, seed=8)
    first = draft(table, census_policy("relaxed", k=7))
    again = draft(table, census_policy("relaxed", k=7), seed=int(first.seed))
    other = draft(table, census_policy("relaxed", k=7))
    assert first.recoded.group.tolist() == again.recoded.group.tolist()
    assert first.recoded.group.tolist() != other.recoded.group.tolist()
