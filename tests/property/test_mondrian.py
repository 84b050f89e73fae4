"""Random tables and constraints through the whole pipeline, judged by code that shares nothing with it."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.methods.partition import mondrian
from reissue.methods.partition.alike import Alike
from reissue.model.domain import GROUP, PERSON
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.publishing.series import draft
from reissue.tables.coding import code_table
from reissue.tables.recode import set_labels

policy_of = partial(ri.Policy, checks=NOTHING_ASKED)
"""What checks would ask about random tables is not the matter here."""

CITIES = {"*": {"north": ["aa", "ab", {"a-far": ["ac", "ad"]}], "south": ["ba", "bb"], "west": ["ca"]}}
# A border town lies in two regions.
BORDERS = {"*": {"north": ["aa", "ab", "ac"], "south": ["ac", "ad", "ba"], "west": ["bb", "ca"]}}
LEAVES = ["aa", "ab", "ac", "ad", "ba", "bb", "ca"]
VALUES = ["u", "v", "w", "x", "y"]


@st.composite
def tables(draw: Any) -> pl.DataFrame:
    size = draw(st.integers(2, 60))
    seed = draw(st.integers(0, 10_000))
    chance = random.Random(seed)
    ages = draw(st.sampled_from([3, 12, 80]))
    missing = draw(st.sampled_from([0.0, 0.2]))
    skew = draw(st.sampled_from([1, 3]))
    return pl.DataFrame(
        {
            "person": chance.sample(range(10_000), size),
            "age": [None if chance.random() < missing else chance.randrange(ages) for _ in range(size)],
            "weight": [round(chance.uniform(40, 120), 1) for _ in range(size)],
            "city": [chance.choice(LEAVES) for _ in range(size)],
            "colour": [
                None if chance.random() < missing else chance.choice(["red", "blue", "a,b", "{q}"]) for _ in range(size)
            ],
            "income": [chance.choice([10, 20, 20, 30, 70]) for _ in range(size)],
            "value": [VALUES[min(int(chance.random() * 5 * skew), 4)] for _ in range(size)],
        },
        schema_overrides={"age": pl.Int64, "colour": pl.String},
    )


def constraints() -> st.SearchStrategy[list[Any]]:
    one = st.one_of(
        st.builds(ri.guarantees.KAnonymous, st.integers(1, 8)),
        st.builds(ri.guarantees.LDiverse, st.integers(1, 4)),
        st.builds(ri.guarantees.EntropyDiverse, st.sampled_from([1, 1.5, 2, 3])),
        st.builds(ri.guarantees.RecursiveDiverse, st.sampled_from([0.5, 1, 2, 3.5]), st.integers(1, 3)),
        st.builds(ri.guarantees.ShareDiverse, st.sampled_from([1, 1.5, 2, 3])),
        st.builds(ri.guarantees.ShareDiverse, st.sampled_from([1.5, 2, 4]), st.just([["u", "v"], ["y"]])),
        st.builds(ri.guarantees.TClose, st.sampled_from([0.1, 0.3, 0.6]), st.sampled_from(["variation", "ordered"])),
    )
    return st.lists(one, min_size=1, max_size=3)


def policy_for(wanted: list[Any], split: str, cities: dict[str, Any], form: str = "generalised") -> ri.Policy:
    return policy_of(
        ri.Schema(
            person="person",
            quasi={
                "age": ri.Numeric(missing="value"),
                "weight": ri.Numeric(),
                "city": ri.Hierarchy.from_nested(cities),
                "colour": ri.Categorical(missing="value"),
            },
            sensitive={"value": ri.Categorical(values=VALUES)},  # type: ignore[arg-type]
            drop=["income"],
        ),
        ri.Mondrian(constraints=wanted, split=split),  # type: ignore[arg-type]
        form=form,  # type: ignore[arg-type]
    )


def holds(constraint: Any, values: list[str], everybody: list[str]) -> bool:
    """The definitions, written down again as plainly as possible."""
    counts = Counter(values)
    size, often = len(values), sorted(counts.values(), reverse=True)
    parameters = constraint.parameters
    match constraint.name:
        case "k-anonymity":
            return size >= parameters["k"]
        case "distinct-l-diversity":
            return len(counts) >= parameters["l"]
        case "entropy-l-diversity":
            entropy = -sum(n / size * math.log(n / size) for n in often)
            return entropy >= math.log(parameters["l"]) - 1e-9
        case "recursive-cl-diversity":
            return often[0] < Fraction(parameters["c"]) * sum(often[parameters["l"] - 1 :])
        case "share-l-diversity":
            sets = parameters["protect"] or [[value] for value in counts]
            return all(sum(counts[v] for v in chosen) * Fraction(parameters["l"]) <= size for chosen in sets)
        case "t-closeness":
            overall = Counter(everybody)
            order = sorted(overall)
            gaps = [Fraction(counts[v], size) - Fraction(overall[v], len(everybody)) for v in order]
            if parameters["distance"] == "variation":
                return sum(abs(gap) for gap in gaps) / 2 <= parameters["t"] + 1e-9
            moved = sum(abs(sum(gaps[: i + 1])) for i in range(len(order)))
            return moved <= (parameters["t"] + 1e-9) * max(len(order) - 1, 1)
    raise AssertionError(constraint.name)


def cells_of(table: pl.DataFrame) -> dict[int, list[dict[str, Any]]]:
    groups = defaultdict(list)
    for row in table.iter_rows(named=True):
        groups[row["group"]].append(row)
    return groups


def check_region(row: dict[str, Any], members: list[dict[str, Any]], cities: ri.Hierarchy) -> None:
    """The region holds every member and could not be smaller."""
    ages = [m["age"] for m in members if m["age"] is not None]
    assert (row["age_low"], row["age_high"]) == ((min(ages), max(ages)) if ages else (None, None))
    assert row["age_missing"] == (len(ages) < len(members))
    weights = [m["weight"] for m in members]
    assert (row["weight_low"], row["weight_high"]) == (min(weights), max(weights))
    assert set(set_labels(row["colour"])) == {m["colour"] if m["colour"] is not None else "(missing)" for m in members}
    present = {m["city"] for m in members}
    covered = set(cities.covers(row["city"]))
    assert present <= covered
    tighter = [
        label
        for label in cities.labels
        if present <= set(cities.covers(label)) and len(cities.covers(label)) < len(covered)
    ]
    assert not tighter


@examples(30)
@given(
    tables(),
    constraints(),
    st.sampled_from(["strict", "relaxed"]),
    st.sampled_from([CITIES, BORDERS]),
    st.integers(0, 99),
)
def test_generalised_releases_keep_every_promise(
    table: pl.DataFrame, wanted: list[Any], split: str, cities: dict[str, Any], seed: int
) -> None:
    everybody = table["value"].to_list()
    policy = policy_for(wanted, split, cities)
    feasible = all(holds(constraint, everybody, everybody) for constraint in wanted)
    if not feasible:
        with pytest.raises(ri.errors.Infeasible):
            draft(table, policy)
        return
    made = draft(table, policy, seed=seed)
    published = made.tables["table"]
    members = made.rows.join(made.new_people, left_on=PERSON, right_on="number").select("id", GROUP)

    # Everybody is in exactly one group.
    assert sorted(members["id"].to_list()) == sorted(table["person"].to_list())
    rows_of = {row["person"]: row for row in table.iter_rows(named=True)}
    by_group = defaultdict(list)
    for person, group in members.iter_rows():
        by_group[group].append(rows_of[person])
    groups = cells_of(published)
    assert sorted(groups) == list(range(1, len(groups) + 1)) == sorted(by_group)

    hierarchy = ri.Hierarchy.from_nested(cities)
    for group, rows in groups.items():
        # The published values are those of the members, no more and no less.
        values = [row["value"] for row in rows]
        assert Counter(values) == Counter(member["value"] for member in by_group[group])
        for constraint in wanted:
            assert holds(constraint, values, everybody), (constraint, values)
        assert len({tuple(v for k, v in row.items() if k != "value") for row in rows}) == 1
        check_region(rows[0], by_group[group], hierarchy)

    if split == "strict" and cities is CITIES:
        for one, other in combinations(groups.values(), 2):
            assert not overlap(one[0], other[0], hierarchy), "strict groups have regions that do not overlap"


def overlap(one: dict[str, Any], other: dict[str, Any], cities: ri.Hierarchy) -> bool:
    def meet(name: str) -> bool:
        if one[f"{name}_low"] is None or other[f"{name}_low"] is None:
            return False
        return max(one[f"{name}_low"], other[f"{name}_low"]) <= min(one[f"{name}_high"], other[f"{name}_high"])

    ages = meet("age") or (one["age_missing"] and other["age_missing"])
    places = bool(set(cities.covers(one["city"])) & set(cities.covers(other["city"])))
    colours = bool(set(set_labels(one["colour"])) & set(set_labels(other["colour"])))
    return bool(ages and meet("weight") and places and colours)


@examples(12)
@given(tables(), constraints(), st.sampled_from(["strict", "relaxed"]), st.integers(0, 99))
def test_anatomised_releases_keep_every_promise(table: pl.DataFrame, wanted: list[Any], split: str, seed: int) -> None:
    everybody = table["value"].to_list()
    assume(all(holds(constraint, everybody, everybody) for constraint in wanted))
    tables_out = draft(table, policy_for(wanted, split, CITIES, "anatomised"), seed=seed).tables
    quasi, sensitive = tables_out["quasi"], tables_out["sensitive"]
    names = ["age", "weight", "city", "colour"]
    shown = quasi.select(names).with_columns(pl.col("colour").cast(pl.String).replace("(missing)", None))
    assert Counter(shown.rows()) == Counter(table.select(names).rows())
    sizes = Counter(quasi["group"].to_list())
    for group, rows in cells_of(sensitive).items():
        values = [row["value"] for row in rows for _ in range(row["count"])]
        assert len(values) == sizes[group]
        assert all(holds(constraint, values, everybody) for constraint in wanted)
    total: Counter[str] = Counter()
    for value, count in sensitive.select("value", "count").iter_rows():
        total[value] += count
    assert total == Counter(everybody)


@examples(5)
@given(
    table=tables(),
    wanted=constraints(),
    split=st.sampled_from(["strict", "relaxed"]),
    form=st.sampled_from(["generalised", "anatomised"]),
    chance=st.randoms(use_true_random=False),
)
def test_public_bytes_depend_on_content_and_seed_alone(
    memory: Path, table: pl.DataFrame, wanted: list[Any], split: str, form: str, chance: random.Random
) -> None:
    everybody = table["value"].to_list()
    assume(all(holds(constraint, everybody, everybody) for constraint in wanted))
    order = list(range(table.height))
    chance.shuffle(order)
    shuffled = table[order].select(chance.sample(table.columns, table.width))
    bytes_of = []
    for version in (table, table, shuffled):
        with (
            TemporaryDirectory(dir=memory) as folder,
            ri.open(Path(folder) / "s", policy_for(wanted, split, CITIES, form)) as series,
        ):
            release = series.publish(version, seed=7)
            bytes_of.append({path.name: path.read_bytes() for path in release.folder.glob("*.parquet")})
    assert bytes_of[0] == bytes_of[1]
    assert bytes_of[0] == bytes_of[2]


@examples(12)
@given(tables(), st.integers(1, 4), st.sampled_from([0, 5, 15, 60]))
def test_ke_anonymity(table: pl.DataFrame, k: int, e: float) -> None:
    incomes = table["income"].to_list()
    policy = policy_of(
        ri.Schema(
            person="person",
            quasi={"weight": ri.Numeric()},
            sensitive={"income": ri.Numeric()},
            drop=["age", "city", "colour", "value"],
        ),
        ri.Mondrian(constraints=[ri.guarantees.KEAnonymous(k, e)]),
    )
    feasible = len(set(incomes)) >= k and max(incomes) - min(incomes) >= e
    if not feasible:
        with pytest.raises(ri.errors.Infeasible):
            draft(table, policy)
        return
    published = draft(table, policy).tables["table"]
    for rows in cells_of(published).values():
        values = [row["income"] for row in rows]
        assert len(set(values)) >= k
        assert max(values) - min(values) >= e
    assert Counter(published["income"].to_list()) == Counter(incomes)


@examples(12)
@given(tables(), st.sampled_from(["variation", "ordered"]), st.sampled_from([0.05, 0.2, 0.4]))
def test_closeness_of_numbers_counts_values_that_occur(table: pl.DataFrame, distance: str, t: float) -> None:
    """Incomes lie far apart; the ordered distance is over their ranks, not over the gaps between them."""
    constraint = ri.guarantees.TClose(t, distance)  # type: ignore[arg-type]
    policy = policy_of(
        ri.Schema(
            person="person",
            quasi={"weight": ri.Numeric()},
            sensitive={"income": ri.Numeric()},
            drop=["age", "city", "colour", "value"],
        ),
        ri.Mondrian(constraints=[constraint]),
    )
    incomes = table["income"].to_list()
    published = draft(table, policy).tables["table"]
    for rows in cells_of(published).values():
        assert holds(constraint, [row["income"] for row in rows], incomes)


@examples(12)
@given(tables(), st.integers(1, 4))
def test_columns_published_as_they_are_are_constant_in_every_group(table: pl.DataFrame, k: int) -> None:
    table = table.drop("colour", "income").rename({"city": "ward"})
    policy = policy_of(
        ri.Schema(
            person="person",
            quasi={"weight": ri.Numeric()},
            sensitive="value",
            as_is={"ward": ri.Categorical(), "age": ri.Numeric(missing="value")},
        ),
        ri.Mondrian(k=k + 1),
    )
    wards = Counter(table.select("ward", "age").rows())
    if min(wards.values()) < k + 1:
        # With one combination of their values the columns divide nothing: the whole table is too small then.
        said = "ward" if len(wards) > 1 else "No grouping of this table"
        with pytest.raises(ri.errors.Infeasible, match=said):
            draft(table, policy)
        return
    published = draft(table, policy).tables["table"]
    assert Counter(published.select("ward", "age").rows()) == wards
    for rows in cells_of(published).values():
        assert len({(row["ward"], row["age"]) for row in rows}) == 1
        assert len(rows) >= k + 1


@examples(40)
@given(tables(), constraints(), st.sampled_from([CITIES, BORDERS]), st.booleans())
def test_cutting_cells_gives_the_groups_that_cutting_rows_does(
    table: pl.DataFrame, wanted: list[Any], cities: dict[str, Any], stratified: bool
) -> None:
    """People who are alike are put together before a strict cut; here every row stands for three."""
    policy = policy_for(wanted, "strict", cities)
    table = pl.concat([table] * 3).with_columns(
        person=pl.arange(3 * table.height), value=table["value"].sample(3 * table.height, with_replacement=True, seed=1)
    )
    schema = policy.schema
    if stratified:
        sensitive: Any = {"value": schema.sensitive_kind}
        schema = ri.Schema(person="person", quasi=schema.quasi, sensitive=sensitive, as_is=["income"])
    snapshot = code_table(table, schema).snapshot
    nothing: Any = None

    def groups() -> list[int]:
        grouping, _ = policy.method.group(snapshot, nothing, nothing, nothing)
        return grouping.group.tolist()

    used = np.flatnonzero(np.bincount(snapshot.values.codes))
    assert Alike.of(snapshot, used) is not None
    together = groups()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mondrian.Alike, "of", classmethod(lambda cls, snapshot, used: None))
        assert groups() == together
