"""Byun et al. 2006, Figures 1 to 4: what a naive second release gives away, and `Incremental` does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from worked_examples import worked_examples

import reissue as ri
from reissue.attacks import Channels, Worlds

SCHEMA = ri.Schema(
    person="who",
    quasi={"age": ri.Numeric(wider="accept"), "gender": ri.Hierarchy.from_nested({"Person": ["Male", "Female"]})},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)
MODES: list[dict[str, Any]] = [{}, {"strict": True}, {"diversity": "share"}, {"strict": True, "diversity": "share"}]


@pytest.fixture
def paper() -> Any:
    return worked_examples("byun-2006")


def tables(paper: Any) -> list[pl.DataFrame]:
    """The first table, and the one that has grown."""
    columns = ["who", "age", "gender", "diagnosis"]
    first, new = paper["microdata"]["T0"], paper["microdata"]["T1_new"]
    return [pl.DataFrame(rows, schema=columns, orient="row") for rows in (first, [*first, *new])]


def named(series: ri.Series, found: dict[str | int, object]) -> dict[str, object]:
    return {series.private.name_of(int(person)): value for person, value in found.items()}


def test_the_papers_second_release_exposes_alice_bob_and_three_others(paper: Any) -> None:
    published = paper["published"]
    view = ri.Published.from_groups([[(who, values) for who, _, values in published[name]] for name in ("T0", "T1")])
    assert Worlds().run(view).certain == paper["expect"]["certain"]
    assert set(paper["expect"]["certain"]) == {"Alice", "Bob", "r4", "r6", "r7"}
    found = Channels(2).run(view)
    assert {view.name(int(person)) for person in found.vulnerable(2)} == set(paper["expect"]["certain"])


def test_anonymising_anew_exposes_people_too(paper: Any, tmp_path: Path) -> None:
    """Static I on the same tables: its classes are not the paper's, but Bob is betrayed again."""
    with ri.open(tmp_path / "s", ri.Policy(SCHEMA, ri.StaticI(2), series="unprotected")) as series:
        for table in tables(paper):
            series.publish(table)
        assert named(series, Worlds().run(series.published()).certain)["Bob"] == "Alzheimer"
        assert Channels(2).run(series.published()).vulnerable(2).size


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@pytest.mark.parametrize("waiting", [0, 0.02, 1])
@pytest.mark.parametrize("mode", MODES)
def test_incremental_exposes_nobody(
    paper: Any, tmp_path: Path, mode: dict[str, Any], waiting: float, form: Any
) -> None:
    method = ri.Incremental(2, waiting=waiting, **mode)
    with ri.open(tmp_path / "s", ri.Policy(SCHEMA, method, form=form)) as series:
        for table in tables(paper):
            series.publish(table)
        view = series.published()
        found = Channels(2).run(view)
        assert found.vulnerable(2).size == 0
        assert found.certain == {}
        worlds = Worlds().run(view)
        assert worlds.certain == {}
        assert worlds.fewer_than(2).size == 0
        if "diversity" in mode:
            assert worlds.posteriors["probability"].max() <= 0.5
        first, second = ([set(g["person"]) for _, g in series.private.members(n).group_by("group")] for n in (1, 2))
        assert sorted(map(sorted, first)) == [["Bob", "r4"], ["Tom", "r2"]]
        # All three come nearest to Bob's class, Alice too, for it has both genders: they are diverse together.
        assert set().union(*second) == {"Tom", "r2", "Bob", "r4", "Alice", "r6", "r7"}
        assert any({"Alice", "r6", "r7"} <= group for group in second)
        assert series.private.held_back(2).height == 0
        assert series.verify() == []
