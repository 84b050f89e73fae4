"""Incremental over random growth: every promise judged anew from outside after every release, and nobody lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.attacks import Channels
from reissue.errors import Infeasible, TableError
from reissue.guarantees import HistoryDiverse, InferenceFree, LDiverse, ShareDiverse

JOBS = ri.Hierarchy.from_nested(
    {"any": {"office": ["clerk", "lawyer", "judge"], "trade": {"metal": ["smith", "welder"], "wood": ["joiner"]}}}
)
LEAVES = ["clerk", "lawyer", "judge", "smith", "welder", "joiner"]


def schema_for(quasi: frozenset[str], as_is: bool, numeric: bool) -> ri.Schema:
    kinds: dict[str, Any] = {
        "age": ri.Numeric(wider="accept"),
        "town": ri.Categorical(new="accept"),
        "job": JOBS,
    }
    value = ri.Numeric(missing="value", wider="accept") if numeric else ri.Categorical(new="accept")
    return ri.Schema(
        person="person",
        quasi={name: kind for name, kind in kinds.items() if name in quasi},
        as_is={"ward": ri.Categorical(new="accept")} if as_is else {},
        sensitive={"illness": value},
        drop=[name for name in ("age", "town", "job", *(() if as_is else ("ward",))) if name not in quasi],
    )


def arrivals(rng: np.random.Generator, shape: dict[str, Any], first: int, size: int, step: int) -> pl.DataFrame:
    """New people. Labels and values that nobody had come with later steps; some of them sort before the old ones.

    In `wide` growth people live far apart, and those who live together have one value at first: that makes classes
    that are worth being cut later.
    """
    values, skew = shape["values"], shape["skew"]
    weights = rng.permutation(np.arange(1, values + 1) ** skew)
    held = rng.choice(values, size=size, p=weights / weights.sum())
    held = held if shape["wide"] else held + step // 2
    age = rng.integers(20 - step, 20 + rng.integers(1, 40), size=size)
    if shape["wide"]:
        age = np.where(rng.random(size) < 0.5, 20, 60)
        held = np.where(rng.random(size) < 0.8 - 0.15 * step, age == 60, held)
    labels: list[object] = [f"{'zmdk'[value % 4]}{value}" for value in held.tolist()]
    if shape["numeric"]:
        labels = [None if value == 1 else 1.5 * value - 4 for value in held.tolist()]
    wards = shape["wards"] if step > 1 else 1
    return pl.DataFrame(
        {
            "person": [f"p{number}" for number in range(first, first + size)],
            "age": age,
            "town": [f"{'nasw'[place]}{step // 3}" for place in rng.integers(0, 4, size=size)],
            "job": rng.choice(LEAVES, size=size),
            "ward": ["cab"[ward] for ward in rng.integers(0, wards, size=size)],
            "illness": pl.Series(labels, dtype=pl.Float64 if shape["numeric"] else pl.String),
        },
        schema_overrides=dict.fromkeys(("person", "town", "job", "ward"), pl.String) | {"age": pl.Int64},
    )


def is_diverse(values: list[object], method: ri.Incremental) -> bool:
    counts = Counter(values)
    if method.diversity == "share":
        return max(counts.values(), default=0) * method.l <= len(values)
    return len(counts) >= method.l


def check_everyone(draft: Any, series: Any, table: pl.DataFrame) -> tuple[set[str], set[str]]:
    """Everyone is published exactly once, with the own value, or waits."""
    groups = series.groups()[-1]
    shown = Counter(name for who, _ in groups for name in who)
    waiting = set() if draft.held_back is None else {series.name(number) for number in draft.held_back["person"]}
    assert set(shown.values()) == {1}
    assert shown.keys() | waiting == set(table["person"])
    assert not shown.keys() & waiting
    value = dict(table.select("person", "illness").rows())
    for who, values in groups:
        assert Counter(value[name] for name in who) == Counter(values)
    return set(shown), waiting


def check_nested(series: Any, *, whole: bool) -> Counter[str]:
    """Classes grow or are cut, never mixed; where batches stay whole they are not even cut. Counts what happened."""
    if len(series.drafts) < 2:
        return Counter()
    before, now = ([set(who) for who, _ in release] for release in series.groups()[-2:])
    home = {name: at for at, who in enumerate(before) for name in who}
    came_from = [{home[name] for name in who if name in home} for who in now]
    assert all(len(homes) <= 1 for homes in came_from)
    parts = Counter(home for homes in came_from for home in homes)
    if whole:
        assert set(parts.values()) == {1}
    return Counter(
        added=came_from.count(set()),
        inserted=sum(bool(homes) and not who <= home.keys() for homes, who in zip(came_from, now, strict=True)),
        cut=sum(number > 1 for number in parts.values()),
    )


def check_promises(series: Any, table: pl.DataFrame, method: ri.Incremental) -> None:
    """By the checkers, which begin with the first release every time."""
    view, l = series.published(), method.l  # noqa: E741
    assert InferenceFree(l).check(view).holds
    assert (ShareDiverse(l) if method.diversity == "share" else LDiverse(l)).check(view).holds
    found = Channels(l).run(view)
    assert found.vulnerable(l).size == 0
    assert found.certain == {}
    if method.whole_batches:
        value = dict(table.select("person", "illness").rows())
        secret = {number: value[name] for number, name in enumerate(view.people)}
        assert HistoryDiverse(l, method.diversity).check(view, secret).holds


def too_few(before: set[str], table: pl.DataFrame, method: ri.Incremental, strata: list[str]) -> set[str]:
    """New people of strata whose new people, all together, have too few values."""
    new = table.filter(~pl.col("person").is_in(before))
    return {
        name
        for part in (new.partition_by(strata) if strata else [new])
        if not is_diverse(part["illness"].to_list(), method)
        for name in part["person"].to_list()
    }


def grow(series: Any, method: ri.Incremental, shape: dict[str, Any], rng: np.random.Generator) -> Counter[str]:
    """Publish a growing table step by step and check everything after each."""
    strata = ["ward"] if shape["as_is"] and series.policy.form == "generalised" else []
    tables: list[pl.DataFrame] = []
    published: set[str] = set()
    happened: Counter[str] = Counter()
    for step, size in enumerate(shape["sizes"]):
        tables.append(arrivals(rng, shape, sum(map(len, tables)), size, step))
        table = pl.concat(tables).sample(fraction=1, shuffle=True, seed=int(rng.integers(2**32)))
        try:
            draft = series.publish(table)
        except Infeasible:
            # Before the first release all of a table counts, or of a stratum; later what came in, and where nobody may
            # wait.
            assert too_few(published, table, method, strata)
            assert not (published and method.waiting)
            continue
        except TableError:
            assert not table.height
            continue
        now, waiting = check_everyone(draft, series, table)
        assert published <= now
        happened += check_nested(series, whole=method.whole_batches)
        check_promises(series, table, method)
        poor = too_few(published, table, method, strata)
        room = int(method.waiting * table.height) if published else 0
        assert len(waiting) <= max(room, len(poor))
        assert room or waiting == poor
        assert method.waiting or not waiting
        happened["waited"] += len(waiting)
        published = now
    return happened


def policy_for(method: ri.Incremental, shape: dict[str, Any], form: Any) -> ri.Policy:
    return ri.Policy(schema_for(shape["quasi"], shape["as_is"], shape["numeric"]), method, form=form)


shapes = st.fixed_dictionaries(
    {
        "quasi": st.sets(st.sampled_from(["age", "town", "job"]), min_size=1).map(frozenset),
        "as_is": st.booleans(),
        "numeric": st.booleans(),
        "wide": st.booleans(),
        "values": st.integers(2, 9),
        "skew": st.sampled_from([0.0, 1.0, 3.0]),
        "wards": st.integers(1, 3),
        "sizes": st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 15, 40]), min_size=3, max_size=8),
    }
)
methods = st.builds(
    ri.Incremental,
    l=st.integers(2, 4),
    diversity=st.sampled_from(["distinct", "distinct", "share"]),
    strict=st.booleans(),
    waiting=st.sampled_from([0, 0.02, 0.1, 0.3, 1]),
)
forms = st.sampled_from(["generalised", "anatomised"])


@examples(8)
@given(st.integers(0, 2**32), shapes, methods, forms)
def test_promises_hold_over_any_growth(chain: Any, seed: int, shape: dict[str, Any], method: Any, form: Any) -> None:
    grow(chain(policy_for(method, shape, form)), method, shape, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("l", "mode"), [(2, {}), (3, {}), (2, {"strict": True}), (3, {"strict": True}), (2, {"diversity": "share"})]
)
def test_promises_hold_where_much_is_inserted_and_cut(chain: Any, l: int, mode: dict[str, Any]) -> None:  # noqa: E741
    """Seeded, so that it is known to happen what the promises are about."""
    happened: Counter[str] = Counter()
    for seed in range(6):
        shape = {
            "quasi": frozenset({"age", "town"} if seed % 2 else {"age"}),
            "as_is": seed % 4 == 3,
            "numeric": seed % 3 == 0,
            "wide": True,
            "values": l + 1,
            "skew": 0.0,
            "wards": 2,
            "sizes": [4 * l, 6, 8, 8, 8, 8, 8, 8],
        }
        method = ri.Incremental(l, waiting=0.3, **mode)
        happened += grow(chain(policy_for(method, shape, "generalised")), method, shape, np.random.default_rng(seed))
    assert happened["inserted"] > 10
    assert happened["added"] > 10
    assert happened["waited"] > 10
    assert (happened["cut"] > 0) is (not mode)


@examples(5)
@given(st.integers(0, 2**32), shapes, methods, forms)
def test_the_order_of_rows_does_not_matter(
    chain: Any, seed: int, shape: dict[str, Any], method: Any, form: Any
) -> None:
    rng = np.random.default_rng(seed)
    one, other = chain(policy_for(method, shape, form)), chain(policy_for(method, shape, form))
    tables: list[pl.DataFrame] = []
    for step, size in enumerate([20, *shape["sizes"]]):
        tables.append(arrivals(rng, shape, sum(map(len, tables)), size, step))
        table = pl.concat(tables)
        mixed = table.sample(fraction=1, shuffle=True, seed=int(rng.integers(2**32)))
        try:
            first = one.publish(table, seed=step)
        except Infeasible:
            with pytest.raises(Infeasible):
                other.publish(mixed, seed=step)
            continue
        second = other.publish(mixed, seed=step + 1)
        assert all(first.tables[name].equals(second.tables[name]) for name in first.tables)


def test_the_order_of_rows_does_not_change_a_public_byte(memory: Path) -> None:
    shape = {"quasi": {"age", "town", "job"}, "as_is": True, "numeric": False, "wide": True, "values": 4, "skew": 1.0}
    policy = policy_for(ri.Incremental(2, waiting=0.2), shape | {"quasi": frozenset(shape["quasi"])}, "generalised")
    found = []
    with TemporaryDirectory(dir=memory) as folder:
        for turn in range(2):
            rng = np.random.default_rng(7)
            tables: list[pl.DataFrame] = []
            with ri.open(Path(folder) / str(turn), policy) as series:
                for step in range(5):
                    tables.append(arrivals(rng, shape | {"wards": 2}, sum(map(len, tables)), 30, step))
                    table = pl.concat(tables)
                    series.publish(table.reverse() if turn else table, allow=["withheld"], reason="so it is here")
            files = sorted((Path(folder) / str(turn) / "public").rglob("*.parquet"))
            found.append([path.read_bytes() for path in files])
    assert len(found[0]) == 5
    assert found[0] == found[1]
