"""What somebody who knows the program learns from one release of our own methods, on tables of a few people.

`Mechanism` runs the method on every table that there may have been. What the documentation says of each method against
such an attacker stands here in small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Limits
from reissue.attacks.mechanism.mechanism_findings import MechanismFindings
from reissue.attacks.minimality.minimality_findings import MinimalityFindings
from reissue.errors import Infeasible
from reissue.model.knowledge import Knowledge
from reissue.model.snapshot import Labels, Snapshot
from reissue.publishing.draft import Draft
from reissue.publishing.refusals import check_feasible
from reissue.publishing.series import draft

HALF = Fraction(1, 2)
LINE = ri.Schema("who", {"x": ri.Numeric()}, "what")
PLANE = ri.Schema("who", {"x": ri.Numeric(), "y": ri.Numeric()}, "what")
SHARE = ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2)])

Condition = Callable[[list[str]], bool]
"""Whether a table may be, by everybody's values in the order of the registry."""


def labels_of(snapshot: Snapshot) -> tuple[str, ...]:
    levels = snapshot.values.levels
    assert isinstance(levels, Labels)
    return levels.labels


@dataclass(frozen=True)
class Case:
    """A table that was published, and the registry in the numbers of the view."""

    policy: ri.Policy
    table: pl.DataFrame
    made: Draft
    numbers: list[int]

    @classmethod
    def of(cls, policy: ri.Policy, quasi: Mapping[str, Sequence[object]], values: Iterable[str], seed: int = 1) -> Case:
        schema = policy.schema
        held = list(values)
        table = pl.DataFrame({schema.person: np.arange(len(held)), **quasi, schema.sensitive: held})
        made = draft(table, policy, seed=seed)
        number = dict(made.new_people.select("id", "number").iter_rows())
        return cls(policy, table, made, [number[at] for at in range(len(held))])

    @property
    def values(self) -> list[str]:
        return self.table[self.policy.schema.sensitive].to_list()

    def attacked(self, *, only: Condition | None = None, known: bool = False, **parameters: Any) -> MechanismFindings:
        """By somebody who knows the program; `only`: further tables are ruled out; `known`: he is told all values."""
        schema, guarantees = self.policy.schema, self.policy.guarantees()
        registry = self.table.select(pl.Series(schema.person, self.numbers), *schema.quasi)
        feasible: set[tuple[str, ...]] = set()

        def admit(snapshot: Snapshot) -> None:
            table = [labels_of(snapshot)[code] for code in snapshot.values.codes.tolist()]
            # Whether a table is refused depends on how often each value occurs, and on nothing else.
            if tuple(sorted(table)) not in feasible:
                check_feasible(snapshot, guarantees, goes_on=False)
                feasible.add(tuple(sorted(table)))
            if only is not None and not only(table):
                raise Infeasible("such a table is ruled out")

        given: dict[str, Any] = {
            "form": self.policy.form,
            "truthful": True,
            "quasi": self.made.tables.get("quasi"),
            "admit": admit,
            "method": self.policy.method,
        } | parameters
        method = given.pop("method")
        told = Knowledge(compromised=dict(zip(self.numbers, self.values, strict=True))) if known else None
        return ri.attacks.Mechanism(method, registry, schema, **given).run(self.made.published(), told)

    def groups(self) -> list[list[int]]:
        """The rows of each published group."""
        release = self.made.published().releases[0]
        row = {number: at for at, number in enumerate(self.numbers)}
        parts = np.split(release.members, release.member_starts[1:-1])
        return [[row[number] for number in part.tolist()] for part in parts]

    def classes(self) -> list[object]:
        return [*self.table.select(*self.policy.schema.quasi).rows()]

    def argued(self) -> MinimalityFindings:
        """By somebody who knows no more of the method than that it generalises nothing needlessly."""
        view, method = self.made.published(), self.policy.method
        assert method.minimal_recoding is not None
        number_of = {one: number for number, one in enumerate(dict.fromkeys(self.classes()))}
        class_of = {number: number_of[one] for number, one in zip(self.numbers, self.classes(), strict=True)}
        release = view.releases[0]
        classes = np.array([class_of[person] for person in release.members.tolist()], dtype=np.int64)
        attack = ri.attacks.Minimality(requirement=self.policy.promises, recoding=method.minimal_recoding)
        return attack.run(replace(view, releases=(replace(release, classes=classes),)))


# Mondrian


@pytest.mark.parametrize(
    ("k", "schema", "places", "values"),
    [
        (2, LINE, [(1, 2, 5, 6, 8)], "ab"),
        (2, LINE, [(4, 4, 4, 7, 7)], "ab"),
        (2, PLANE, [(3, 9, 1, 7), (2, 4, 9, 1)], "ab"),
        (3, PLANE, [(3, 9, 1), (2, 4, 4)], "abc"),
    ],
)
def test_mondrian_by_numbers_of_people_tells_the_groups_and_no_more(
    k: int, schema: ri.Schema, places: list[tuple[int, ...]], values: str
) -> None:
    """Every release there can be: everybody has each value with its share in his group."""
    policy = ri.Policy(schema, ri.Mondrian(k=k))
    quasi = dict(zip(schema.quasi, places, strict=True))
    people = len(places[0])
    groups = Case.of(policy, quasi, values[0] * people).groups()
    seen = Fraction(0)
    for shown in product(*(combinations_with_replacement(values, len(group)) for group in groups)):
        table = [""] * people
        for group, held in zip(groups, shown, strict=True):
            for row, value in zip(group, held, strict=True):
                table[row] = value
        case = Case.of(policy, quasi, table)
        found = case.attacked(values=list(values))
        assert found.exact
        seen += Fraction(found.weight)
        for group, held in zip(groups, shown, strict=True):
            for row in group:
                for value in values:
                    share = Fraction(held.count(value), len(group))
                    assert found.probability(case.numbers[row], value) == share
    assert seen == 1


def test_mondrian_with_a_share_of_a_half_makes_somebody_certain() -> None:
    """Places 1 to 6, a a b c b c: {1, 2, 3, 4} and {5, 6} come out.

    Three against three was tried first, and failed; so did two against two of the four. If 3 and 4 were the two with a,
    the first three would have a, b and c, and the last three too: that would have been published.
    """
    case = Case.of(ri.Policy(LINE, SHARE), {"x": range(1, 7)}, "aabcbc")
    assert sorted(map(sorted, case.groups())) == [[0, 1, 2, 3], [4, 5]]
    found = case.attacked()
    assert found.exact
    assert found.worlds == 4
    assert found.certain == {case.numbers[0]: "a", case.numbers[1]: "a"}
    for row in (2, 3, 4, 5):
        assert found.set_probability(["b"], [case.numbers[row]]) == {case.numbers[row]: HALF}
        assert found.set_probability(["c"], [case.numbers[row]]) == {case.numbers[row]: HALF}
    assert found.judge(Limits(HALF)).status == "beyond"
    # Alone everybody breaks the requirement, so that nothing was needless says nothing.
    argued = case.argued()
    assert argued.posteriors.is_empty()
    assert argued.certain == {}


def violates(held: Counter[str], protected: str) -> bool:
    """Whether one of these values has more than half."""
    return any(2 * held[value] > held.total() for value in protected)


TABLES = [
    ((1,) * 6, "aabcbc"),
    ((2, 3), "aabbc"),
    ((2, 4), "aabbbc"),
    ((2, 2, 1), "aabcb"),
    ((3, 2), "abcab"),
]
"""Sizes of classes along the line, and values."""


@pytest.mark.parametrize("protected", ["abc", "a"])
def test_the_argument_from_minimality_is_never_surer_than_the_program(protected: str) -> None:
    """In every table that leads to the release some class of each group of several breaks the requirement."""
    schema = LINE if protected == "abc" else ri.Schema("who", {"x": ri.Numeric()}, "what", protect=[["a"]])
    learnt = argued_certain = surer = 0
    for sizes, values in TABLES:
        places = [3 * at for at, size in enumerate(sizes) for _ in range(size)]
        case = Case.of(ri.Policy(schema, SHARE), {"x": places}, values)
        groups, classes = case.groups(), case.classes()

        def minimal(table: list[str], groups: list[list[int]] = groups, classes: list[object] = classes) -> bool:
            for group in groups:
                own: dict[object, Counter[str]] = {classes[row]: Counter() for row in group}
                for row in group:
                    own[classes[row]][table[row]] += 1
                if len(own) > 1 and not any(violates(held, protected) for held in own.values()):
                    return False
            return True

        found = case.attacked()
        assert found.exact
        assert case.attacked(known=True).worlds == 1
        assert case.attacked(only=minimal).worlds == found.worlds
        argued = case.argued()
        assert argued.certain.items() <= found.certain.items()
        for person, gone in argued.excluded.items():
            assert all(found.probability(person, value) == 0 for value in gone)
        learnt += not argued.posteriors.is_empty()
        argued_certain += len(argued.certain)
        surer += len(found.certain) > len(argued.certain)
    assert learnt
    assert surer
    assert bool(argued_certain) == (protected == "a")


@pytest.mark.parametrize("method", [ri.Mondrian(l=2), ri.StaticII(2), ri.Incremental(2)])
def test_two_distinct_values_promised_and_one_left(method: Any) -> None:
    """Places 1 to 5, a a b a b: {1, 2, 3} and {4, 5} come out.

    Two against three was tried first, and can only have failed because 1 and 2 have the same.
    """
    case = Case.of(ri.Policy(LINE, method), {"x": range(1, 6)}, "aabab")
    assert sorted(map(sorted, case.groups())) == [[0, 1, 2], [3, 4]]
    found = case.attacked()
    assert found.exact
    assert found.worlds == 2
    assert found.certain == dict(zip(case.numbers[:3], "aab", strict=True))
    assert [found.probability(number, "a") for number in case.numbers[3:]] == [HALF, HALF]
    judged = found.judge(Limits(history_diversity=2))
    assert (judged.status, judged.count) == ("beyond", 3)


# Methods for series


def far_above(found: MechanismFindings, limit: float) -> pl.DataFrame:
    """Who has which value with more than that, by four standard errors."""
    return found.posteriors.filter(pl.col("probability") - 4 * pl.col("standard_error").fill_null(0) > limit)


@pytest.mark.parametrize(("values", "seeds"), [("aabb", 6), ("aabc", 12)])
def test_the_split_of_m_invariance_keeps_one_half(values: str, seeds: int) -> None:
    case = Case.of(ri.Policy(LINE, ri.MInvariance(2)), {"x": range(1, 5)}, values)
    found = case.attacked(seeds=seeds)
    assert not found.exact
    shown = {row: {case.values[one] for one in group} for group in case.groups() for row in group}
    for row, value in product(range(4), sorted(set(values))):
        figure, error = found.posteriors.filter(person=case.numbers[row], value=value)[
            ["probability", "standard_error"]
        ].row(0)
        assert abs(figure - 0.5 * (value in shown[row])) <= 4 * error
    assert found.judge(Limits(HALF)).status in ("sampled", "undecided")  # not beyond
    if values == "aabb":
        # Note 9: the first a comes with the first b. Only bbaa leads there too, so 1 and 2 have the same, and 3 and 4.
        assert sorted(map(sorted, case.groups())) == [[0, 2], [1, 3]]
        assert found.worlds == 2
        rows = {frozenset(case.numbers.index(int(one)) for one in pair) for pair in found.equal_pairs}
        assert rows == {frozenset({0, 1}), frozenset({2, 3})}


@pytest.mark.parametrize(
    ("method", "values", "seeds"),
    [
        (ri.MInvariance(2, split=False), "aabb", 6),
        (ri.MInvariance(2, split=False), "aabc", 12),
        (ri.EEquivalence(2, 2, shortage="refuse"), "aabb", 6),
        (ri.CorSplit(2, 2, combinations=True, shortage="refuse"), "aabb", 6),
    ],
)
def test_merged_buckets_keep_one_half_and_make_nobody_equal(method: Any, values: str, seeds: int) -> None:
    case = Case.of(ri.Policy(LINE, method, form="anatomised"), {"x": range(1, 5)}, values)
    found = case.attacked(seeds=seeds)
    assert found.equal_pairs == ()
    assert far_above(found, 0.5).is_empty()
    if values == "aabb":
        # All tables lead to it, whatever is drawn.
        assert found.worlds == 6
        assert found.weight == pytest.approx(6 / 16)
        assert found.posteriors["probability"].to_list() == pytest.approx([0.5] * 8)


def test_made_up_rows_break_one_half_for_whoever_knows_how_many_people_there_are() -> None:
    """Five people with a a a b c and m = 2: a row with b is made up. Then he knows that three of five have a."""
    policy, places = ri.Policy(LINE, ri.MInvariance(2)), {"x": [1, 1, 9, 9, 9]}
    case = Case.of(policy, places, "aaabc")
    assert published(case) == Counter("aaabbc")
    # Other tables of five that this has room for are published otherwise, whoever has what.
    assert published(Case.of(policy, places, "aabbc")) == Counter("aabbc")
    assert published(Case.of(policy, places, "aaabb")) == Counter("aaabbb")
    found = case.attacked(only=lambda table: sorted(table) == list("aaabc"), seeds=40)
    assert set(far_above(found, 0.5)["value"]) == {"a"}
    assert found.judge(Limits(HALF)).status == "beyond"


def published(case: Case) -> Counter[object]:
    """How often each value was published."""
    view = case.made.published()
    release = view.releases[0]
    shown = zip(release.values.tolist(), release.counts.tolist(), strict=True)
    told: Counter[object] = Counter()
    for value, count in shown:
        told[view.values[value]] += count
    return told


# AlphaK


@dataclass(frozen=True)
class Undrawn:
    """AlphaK draws only who of one class with one value goes where, which is not public: one way is as good as any."""

    method: ri.AlphaK

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> Any:
        return self.method.group(snapshot, delta, memory, np.random.default_rng(0))


def wong(sizes: Sequence[int], diseases: Sequence[str], method: ri.AlphaK, tree: ri.Hierarchy) -> Case:
    schema = ri.Schema("who", {"q": tree}, "disease", protect=[["HIV"]])
    classes = [f"q{at + 1}" for at, size in enumerate(sizes) for _ in range(size)]
    return Case.of(ri.Policy(schema, method), {"q": classes}, diseases)


@pytest.mark.parametrize("recoding", ["local", "full-domain"])
def test_alpha_k_on_the_papers_bad_table(recoding: Any) -> None:
    """Wong et al. 2007, Table 1 (b), published as (d) or (c): both people of q1 have HIV."""
    method = ri.AlphaK("1/2", recoding=recoding)
    tree = ri.Hierarchy.from_nested({"Q": ["q1", "q2"]})
    case = wong([2, 5], ["HIV"] * 2 + ["none"] * 5, method, tree)
    assert sorted(map(len, case.groups())) == ([3, 4] if recoding == "local" else [7])
    assert case.argued().certain.items() >= dict.fromkeys(case.numbers[:2], "HIV").items()
    found = case.attacked(method=Undrawn(method))
    assert found.exact
    assert found.worlds == 1
    assert found.certain == dict(zip(case.numbers, case.values, strict=True))
    drawn = case.attacked(seeds=3)
    assert drawn.exact == (recoding == "full-domain")
    assert drawn.worlds == 1
    assert drawn.weight == pytest.approx(float(found.weight))


@pytest.mark.parametrize("recoding", ["local", "full-domain"])
def test_alpha_k_the_program_says_at_least_what_minimality_says(recoding: Any) -> None:
    """The truth is among the tables left, and whoever is certain by the argument is certain by the program."""
    random = Random(5)
    nested = ri.Hierarchy.from_nested({"Q": {"P": ["q1", "q2"], "R": ["q3"]}})
    flat = ri.Hierarchy.from_nested({"Q": ["q1", "q2"]})
    certain = surer = 0
    for at in range(8):
        people = random.randint(5, 6)
        first = random.randint(1, 3)
        sizes = [first, people - first] if at % 2 else [first, 1, people - first - 1]
        diseases = ["HIV"] * random.randint(1, people // 2)
        diseases += ["none"] * (people - len(diseases))
        random.shuffle(diseases)
        method = ri.AlphaK("1/2", k=random.choice((1, 1, 2)), recoding=recoding)
        case = wong(sizes, diseases, method, flat if at % 2 else nested)
        found = case.attacked(method=Undrawn(method))
        assert found.exact
        assert case.attacked(known=True, method=Undrawn(method)).worlds == 1
        argued = case.argued()
        assert argued.certain.items() <= found.certain.items()
        for person, gone in argued.excluded.items():
            assert all(found.probability(person, value) == 0 for value in gone)
        certain += bool(argued.certain)
        surer += len(found.certain) > len(argued.certain)
    assert certain
    assert surer
