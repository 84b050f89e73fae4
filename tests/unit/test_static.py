"""Byun's baselines: Static I forgets the past, Static II leaves it alone and appends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, seeds

import reissue as ri
from reissue.attacks import Channels
from reissue.errors import Infeasible, InternalError, ParameterError, PolicyError, Refused, Unprotected
from reissue.methods.partition.static import CLASSES, WAITING
from reissue.publishing.series import draft
from reissue.samples.census import census

VALUES = "abcdefgh"
TOWNS = ("north", "south", "west")


def schema(*, as_is: bool = False) -> ri.Schema:
    town = {"town": ri.Categorical(values=TOWNS)}
    return ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(), **({} if as_is else town)},
        as_is=town if as_is else {},
        sensitive={"illness": ri.Categorical(values=list(VALUES))},
    )


def people(*given: tuple[str, int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(given), schema=["person", "age", "town", "illness"], orient="row")


FIRST = people(("A", 20, "north", "a"), ("B", 25, "north", "b"), ("C", 60, "north", "a"), ("D", 65, "north", "c"))


def groups(series, release: int = -1) -> list[tuple[set[str], Counter]]:
    return [(set(who), Counter(values)) for who, values in series.groups()[release]]


def held(series) -> dict[str, str]:
    found = series.drafts[-1].held_back
    return {} if found is None else {series.name(n): reason for n, reason, _ in found.rows()}


@pytest.mark.parametrize("method", [ri.StaticI, ri.StaticII])
@pytest.mark.parametrize("wrong", [1, 0, True, 2.0, "3"])
def test_l_must_be_a_whole_number_of_at_least_two(method, wrong) -> None:
    with pytest.raises(ParameterError, match=f"The 'l' parameter of {method.name} must be a whole number"):
        method(wrong)


@pytest.mark.parametrize("method", [ri.StaticI(3), ri.StaticII(3)])
def test_policies_come_back_from_toml(method) -> None:
    policy = ri.Policy(schema(), method)
    assert ri.Policy.from_toml(policy.to_toml()) == policy
    assert "l = 3\n" in policy.to_toml()


@pytest.mark.parametrize("method", [ri.StaticI(2), ri.StaticII(2)])
def test_protected_sets_are_refused(method) -> None:
    sets = ri.Schema(person="p", quasi={"age": ri.Numeric()}, sensitive="illness", protect=[["a", "b"]])
    with pytest.raises(PolicyError, match="protect"):
        ri.Policy(sets, method)


class TestStaticI:
    @pytest.mark.parametrize("form", ["generalised", "anatomised"])
    @pytest.mark.parametrize("seed", seeds(2, 10))
    def test_it_is_mondrian_by_another_name(self, form, seed) -> None:
        table = census(800, seed=seed)
        drop = [name for name in table.columns if name not in ("person", "age", "gender", "birthplace", "occupation")]
        columns = ri.Schema(
            person="person",
            quasi={"age": ri.Numeric(), "gender": ri.Categorical(), "birthplace": ri.Categorical()},
            sensitive="occupation",
            drop=drop,
        )
        methods = (ri.StaticI(4), ri.Mondrian(l=4))
        one, other = (draft(table, ri.Policy(columns, method, form=form), seed=seed) for method in methods)
        assert one.grouping.count > 50
        assert one.grouping.group.tolist() == other.grouping.group.tolist()
        assert all(one.tables[name].equals(other.tables[name]) for name in other.tables)

    def test_a_second_release_needs_leave(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticI(2)))
        series.publish(FIRST)
        with pytest.raises(Unprotected, match="StaticI protects each release alone"):
            series.publish(FIRST)

    def test_the_public_record_warns(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticI(2), series="unprotected"))
        record = series.publish(FIRST).manifest
        assert record["guarantees"] == ["distinct-l-diversity (l = 2)"]
        assert any("comparing releases" in text and "fewer than l" in text for text in record["warnings"])
        assert any("does not bound a probability by 1/l" in text for text in record["warnings"])
        assert series.publish(FIRST).manifest["series"] == "unprotected"

    def test_anybody_may_leave_return_and_change(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticI(2), series="unprotected"))
        for table in (FIRST, FIRST.head(2), FIRST.with_columns(pl.col("age") + 1, illness=pl.Series(list("bcab")))):
            series.publish(table)
            assert Counter(name for who, _ in groups(series) for name in who) == Counter(table["person"])


class TestStaticII:
    def test_new_records_are_grouped_among_themselves_and_appended(self, chain) -> None:
        """E and F lie between A and B, and are yet a class of their own."""
        series = chain(ri.Policy(schema(), ri.StaticII(2)))
        series.publish(FIRST)
        assert {frozenset(who) for who, _ in groups(series)} == {frozenset("AB"), frozenset("CD")}
        series.publish(pl.concat([FIRST, people(("E", 21, "north", "a"), ("F", 24, "north", "d"))]))
        assert {frozenset(who): values for who, values in groups(series)} == {
            frozenset("AB"): Counter("ab"),
            frozenset("CD"): Counter("ac"),
            frozenset("EF"): Counter("ad"),
        }
        regions = series.drafts[-1].tables["table"].select("age_low", "age_high").unique().sort("age_low")
        assert regions.rows() == [(20, 25), (21, 24), (60, 65)]

    def test_new_records_wait_until_there_are_values_enough(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticII(2)))
        series.publish(FIRST)
        alike = pl.concat([FIRST, people(("E", 30, "north", "a"), ("F", 31, "north", "a"))])
        for _ in range(2):
            series.publish(alike)
            assert held(series) == {"E": WAITING, "F": WAITING}
            assert len(groups(series)) == 2
        assert series.drafts[-1].held_back["since"].to_list() == [2, 2]
        series.publish(pl.concat([alike, people(("G", 80, "west", "b"))]))
        assert held(series) == {}
        assert ({"E", "F", "G"}, Counter("aab")) in groups(series)

    def test_a_first_release_without_enough_values_is_infeasible(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticII(4)))
        with pytest.raises(Infeasible, match="No grouping of this table"):
            series.publish(FIRST)

    def test_nobody_published_is_an_error_also_without_drafting(self) -> None:
        made = draft(FIRST, ri.Policy(schema(), ri.StaticI(2)))
        with pytest.raises(Infeasible, match="would all wait"):
            ri.StaticII(4).group(made.snapshot, made.delta, {}, np.random.default_rng(0))

    def test_people_missing_from_a_growing_table_are_our_mistake(self) -> None:
        made = draft(FIRST, ri.Policy(schema(), ri.StaticI(2)))
        memory = {CLASSES: pl.DataFrame({"person": [0, 9], "class": [0, 0]}, schema_overrides={"person": pl.UInt32})}
        with pytest.raises(InternalError, match="missing"):
            ri.StaticII(2).group(made.snapshot, made.delta, memory, np.random.default_rng(0))

    def test_strata_wait_by_themselves(self, chain) -> None:
        """The south is new and has one value; the newcomers of the north have two, those of the known west one."""
        series = chain(ri.Policy(schema(as_is=True), ri.StaticII(2)))
        west = people(("W", 40, "west", "a"), ("X", 41, "west", "b"))
        series.publish(pl.concat([FIRST, west]))
        before = groups(series)
        newcomers = people(
            ("E", 22, "north", "a"),
            ("F", 23, "north", "b"),
            ("G", 22, "south", "a"),
            ("H", 23, "south", "a"),
            ("I", 40, "west", "c"),
        )
        series.publish(pl.concat([FIRST, west, newcomers]))
        assert held(series) == {"G": WAITING, "H": WAITING, "I": WAITING}
        assert all(group in groups(series) for group in before)
        assert ({"E", "F"}, Counter("ab")) in groups(series)
        later = people(("J", 70, "south", "b"))
        series.publish(pl.concat([FIRST, west, newcomers, later]))
        assert held(series) == {"I": WAITING}
        assert ({"G", "H", "J"}, Counter("aab")) in groups(series)

    def test_a_first_release_with_a_poor_stratum_is_infeasible(self, chain) -> None:
        series = chain(ri.Policy(schema(as_is=True), ri.StaticII(2)))
        with pytest.raises(Infeasible, match="divide the table"):
            series.publish(pl.concat([FIRST, people(("G", 22, "south", "a"))]))

    def test_anatomised_strata_are_no_strata(self, chain) -> None:
        """There, columns published as they are stand beside the quasi-identifiers."""
        series = chain(ri.Policy(schema(as_is=True), ri.StaticII(2), form="anatomised"))
        series.publish(pl.concat([FIRST, people(("G", 22, "south", "a"))]))
        series.publish(pl.concat([FIRST, people(("G", 22, "south", "a"), ("H", 50, "west", "a"))]))
        assert held(series) == {"H": WAITING}
        series.publish(
            pl.concat([FIRST, people(("G", 22, "south", "a"), ("H", 50, "west", "a"), ("I", 20, "south", "e"))])
        )
        assert ({"H", "I"}, Counter("ae")) in groups(series)
        assert set(series.drafts[-1].tables["quasi"].columns) == {"group", "age", "town"}

    def test_nothing_new_publishes_the_same(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticII(2)))
        one, two = series.publish(FIRST), series.publish(FIRST.reverse())
        assert one.tables["table"].equals(two.tables["table"])

    def test_deletions_changes_and_returns_are_refused(self, chain) -> None:
        series = chain(ri.Policy(schema(), ri.StaticII(2)))
        series.publish(FIRST)
        for table, what in (
            (FIRST.head(3), "deletions: 1 person is gone"),
            (FIRST.with_columns(pl.col("age") + 1), "changes: 4 people with other quasi-identifiers"),
            (FIRST.with_columns(illness=pl.Series(list("abad"))), "changes: 1 person with another sensitive value"),
        ):
            with pytest.raises(Refused, match=what):
                series.publish(table)
        series.publish(FIRST)
        assert series.history.number == 2

    def test_the_paper_s_example_exposes_nobody(self, chain) -> None:
        """Byun et al. 2006, Figures 1 and 3."""
        first = [("Tom", 21, "Male", "Asthma"), ("r2", 23, "Male", "Flu")]
        first += [("Bob", 52, "Male", "Alzheimer"), ("r4", 57, "Female", "Diabetes")]
        new = [("Alice", 27, "Female", "Cancer"), ("r6", 53, "Male", "Heart Disease"), ("r7", 59, "Female", "Flu")]
        names = ["patient", "age", "gender", "diagnosis"]
        columns = ri.Schema(
            person="patient",
            quasi={"age": ri.Numeric(), "gender": ri.Categorical()},
            sensitive={"diagnosis": ri.Categorical(new="accept")},
        )
        series = chain(ri.Policy(columns, ri.StaticII(2)))
        for rows in (first, first + new):
            series.publish(pl.DataFrame(rows, schema=names, orient="row"))
        assert {frozenset(who) for who, _ in groups(series)} == {
            frozenset({"Tom", "r2"}),
            frozenset({"Bob", "r4"}),
            frozenset({"Alice", "r6", "r7"}),
        }
        attack = Channels(l=2).run(series.published())
        assert attack.certain == {}
        assert attack.vulnerable(2).size == 0

    def test_l_may_be_lowered_and_not_raised(self, tmp_path) -> None:
        new = people(("E", 30, "north", "a"), ("F", 31, "north", "b"))
        newer = people(("G", 30, "west", "a"), ("H", 31, "west", "b"))
        first = pl.concat([FIRST, people(("K", 50, "west", "e"), ("L", 52, "west", "f"))])
        with ri.open(tmp_path / "series", ri.Policy(schema(), ri.StaticII(3))) as series:
            series.publish(first)
            series.publish(pl.concat([first, new]))
            assert series.private.held_back(2)["person"].to_list() == ["E", "F"]
            series.amend(ri.Policy(schema(), ri.StaticII(2)), "two values will do")
            release = series.publish(pl.concat([first, new]), allow=["same-state"], reason="so it is here")
            assert release.manifest["series"] == "protected"
            assert series.private.held_back(3).is_empty()
            series.amend(ri.Policy(schema(), ri.StaticII(3)), "they will not")
            with pytest.raises(Unprotected):
                series.publish(pl.concat([first, new, newer]))

    def test_the_public_record_and_the_publisher_are_told_what_it_does_not_do(self, chain) -> None:
        made = chain(ri.Policy(schema(), ri.StaticII(2))).publish(FIRST)
        record = made.manifest
        assert record["series"] == "protected"
        assert [text.split(" (")[0] for text in record["guarantees"]] == ["distinct-l-diversity", "inference-freedom"]
        assert any("does not bound a probability by 1/l" in text for text in record["warnings"])
        assert any("knows people's values" in text and "who waits" in text for text in record["warnings"])
        assert any("never gain from later records" in note for note in made.notes)

    @examples(12)
    @given(
        st.integers(0, 2**32),
        st.integers(2, 4),
        st.integers(4, 30),
        st.lists(st.integers(0, 12), min_size=1, max_size=5),
        st.sampled_from([0.0, 1.0, 3.0]),
        st.booleans(),
        st.sampled_from(["generalised", "anatomised"]),
    )
    def test_random_growth(self, chain, seed, l, initial, additions, skew, as_is, form) -> None:  # noqa: E741
        rng = np.random.default_rng(seed)
        series = chain(ri.Policy(schema(as_is=as_is), ri.StaticII(l), form=form))
        table = FIRST.clear()
        before: list[tuple[set[str], Counter]] = []
        classes: Counter = Counter()
        first = 0
        for size in (initial, *additions):
            weights = rng.permutation(np.arange(1, len(VALUES) + 1) ** skew)
            drawn = rng.choice(list(VALUES), size=size, p=weights / weights.sum()).tolist()
            arriving = [
                (f"p{n}", int(rng.integers(20, 80)), str(rng.choice(TOWNS)), value)
                for n, value in enumerate(drawn, start=first)
            ]
            first += size
            table = pl.concat([table, pl.DataFrame(arriving, schema=table.schema, orient="row")])
            waiting = expected_to_wait(table, before, l, apart=as_is and form == "generalised")
            try:
                made = series.publish(table.sample(fraction=1, shuffle=True, seed=int(rng.integers(2**31))))
            except Infeasible:
                # Only a first release can be, and only for the reason that some would have to wait.
                assert not before
                assert waiting
                continue
            now = groups(series)
            assert set(held(series)) == waiting
            names = Counter(name for who, _ in now for name in who)
            assert names == Counter(set(table["person"]) - waiting)
            truth = dict(table.select("person", "illness").rows())
            assert all(values == Counter(truth[name] for name in who) for who, values in now)
            assert all(len(values) >= l for _, values in now)
            assert all(group in now for group in before)
            shown = shown_classes(made, form)
            assert classes <= shown
            before, classes = now, shown
        if not before:
            return
        view = series.published()
        for guarantee in series.policy.guarantees():
            assert guarantee.check(view).holds
        attack = Channels(l=l).run(view, ri.Knowledge(growing=True))
        assert attack.vulnerable(l).size == 0
        assert attack.vulnerable_counts(l)["vulnerable"].sum() == 0
        assert attack.excluded == {}


def expected_to_wait(table: pl.DataFrame, before: list[tuple[set[str], Counter]], l: int, *, apart: bool) -> set[str]:  # noqa: E741
    """By hand: everybody not yet published in whose part of the newcomers there are fewer than l values."""
    published = set().union(*(who for who, _ in before))
    new = [row for row in table.rows() if row[0] not in published]
    part = {town: {row[3] for row in new if not apart or row[2] == town} for town in TOWNS}
    return {row[0] for row in new if len(part[row[2]]) < l}


def shown_classes(made: ri.Draft, form: str) -> Counter:
    """What is published of each class, without its number, which depends on the others."""
    if form == "generalised":
        return Counter(
            (rows.drop("group", "illness").row(0), *sorted(rows["illness"].cast(pl.String)))
            for rows in made.tables["table"].partition_by("group")
        )
    return Counter(
        (*sorted(quasi.drop("group").rows()), *sensitive.select(pl.col("illness").cast(pl.String), "count").rows())
        for quasi, sensitive in zip(
            made.tables["quasi"].partition_by("group", maintain_order=True),
            made.tables["sensitive"].partition_by("group", maintain_order=True),
            strict=True,
        )
    )
