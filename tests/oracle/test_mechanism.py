"""`Mechanism` against brute force in plain Python, with methods simple enough to be done by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Limits
from reissue.attacks.mechanism.mechanism import Mechanism
from reissue.model.grouping import Changed, Counterfeits, Grouping
from reissue.model.showing import shown
from reissue.publishing.series import draft
from reissue.tables import recode
from reissue.tables.coding import code_table

Groups = list[list[int]]
Rule = Callable[[list[float], list[str]], Groups]
SCHEMA = ri.Schema(person="who", quasi={"x": ri.Numeric()}, sensitive="what")


def in_pairs(places: list[float], values: list[str]) -> Groups:
    """Two by two along the line; all together if some pair shows one value only."""
    order = sorted(range(len(places)), key=lambda row: (places[row], row))
    pairs = [order[start : start + 2] for start in range(0, len(order) - 1, 2)]
    pairs[-1] += order[2 * len(pairs) :]
    return pairs if all(len({values[row] for row in pair}) > 1 for pair in pairs) else [order]


def by_value(places: list[float], values: list[str]) -> Groups:
    """Everybody who has what the first has, and the others."""
    own = [row for row, value in enumerate(values) if value == values[0]]
    others = [row for row, value in enumerate(values) if value != values[0]]
    return [own, others] if others else [own]


@dataclass(frozen=True)
class Toy:
    """A method that follows a rule."""

    rule: Rule

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
        places = snapshot.quasi[0].decode().to_list()
        values = [str(value) for value in snapshot.values.decode().to_list()]
        groups = self.rule(places, values)
        group = np.empty(len(values), dtype=np.int32)
        for number, rows in enumerate(groups):
            group[rows] = number
        return Grouping(group, len(groups)), {}


def content(places: list[float], values: list[str], groups: Groups, form: str, worst: bool) -> Hashable:
    """What is public of a release, worked out from scratch."""
    shown: Counter[Hashable] = Counter()
    for rows in groups:
        held = [places[row] for row in rows]
        where = (min(held), max(held)) if form == "generalised" else tuple(sorted(held))
        shown[where, tuple(sorted(values[row] for row in rows)), tuple(sorted(rows)) if worst else ()] += 1
    return frozenset(shown.items())


def bayes(
    rule: Rule, places: list[float], values: list[str], domain: str, form: str, worst: bool, weight: dict[str, int]
) -> tuple[list[dict[str, Fraction]], set[tuple[int, int]], int]:
    """Posteriors of everybody, pairs that are equal in every table left, and how many are left."""
    seen = content(places, values, rule(places, values), form, worst)
    left = {}
    for table in product(domain, repeat=len(places)):
        if content(places, list(table), rule(places, list(table)), form, worst) == seen:
            left[table] = int(np.prod([weight[value] for value in table]))
    total = sum(left.values())
    posteriors = []
    for person in range(len(places)):
        mass: dict[str, Fraction] = defaultdict(Fraction)
        for table, weight_of in left.items():
            mass[table[person]] += Fraction(weight_of, total)
        posteriors.append(dict(mass))
    pairs = combinations(range(len(places)), 2)
    equal = {pair for pair in pairs if all(table[pair[0]] == table[pair[1]] for table in left)}
    return posteriors, equal, len(left)


def view_of(values: list[str], groups: Groups) -> ri.Published:
    return ri.Published.from_groups([[([f"p{row}" for row in rows], [values[row] for row in rows]) for rows in groups]])


def registry_of(places: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"who": [f"p{row}" for row in range(len(places))], "x": places})


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("rule", [in_pairs, by_value])
def test_posteriors_are_those_of_brute_force(rule: Rule, worst: bool, form: Any) -> None:
    rng = np.random.default_rng(17)
    for people in (3, 4):
        domain = "abc"[: int(rng.integers(2, 4))]
        places = [float(place) for place in rng.integers(0, 4, people)]
        values = [str(value) for value in rng.choice(list(domain), people)]
        domain = "".join(sorted(set(values)))
        weight = {value: int(rng.integers(1, 4)) for value in domain}
        expected, equal, left = bayes(rule, places, values, domain, form, worst, weight)
        attack = Mechanism(Toy(rule), registry_of(places), SCHEMA, form=form, worst=worst, prior=weight)
        found = attack.run(view_of(values, rule(places, values)))
        assert found.exact
        assert found.worlds == left
        told: dict[int, dict[str, Fraction]] = defaultdict(dict)
        for row in found.posteriors.iter_rows(named=True):
            told[int(row["person"][1:])][row["value"]] = Fraction(row["fraction"])
            assert row["kind"] == "exact"
            assert row["low"] == row["high"] == row["probability"] == float(Fraction(row["fraction"]))
        assert [told[person] for person in range(people)] == expected
        assert {(int(one[1:]), int(other[1:])) for one, other in found.equal_pairs} == equal
        certain = {f"p{who}": next(iter(mass)) for who, mass in enumerate(expected) if len(mass) == 1}
        assert found.certain == certain
        assert found.set_probability(list(domain[:2]), ["p0"])["p0"] == sum(expected[0].get(v, 0) for v in domain[:2])
        truthful = Mechanism(
            Toy(rule), registry_of(places), SCHEMA, form=form, worst=worst, prior=weight, truthful=True
        ).run(view_of(values, rule(places, values)))
        assert truthful.posteriors.equals(found.posteriors)
        assert truthful.weight == found.weight


@dataclass(frozen=True)
class Hesitant:
    """Two people apart, unless a coin (that only somebody with b first needs) or an a first puts them together."""

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: np.random.Generator) -> tuple[Grouping, object]:
        first = str(snapshot.values.decode()[0])
        together = first == "a" or rng.random() < 0.5
        return (Grouping(np.zeros(2, dtype=np.int32), 1) if together else Grouping(np.arange(2, dtype=np.int32), 2)), {}


def test_chance_is_estimated_with_its_error() -> None:
    # Together come all tables with a first, and half of those with b: P(a first | a and b together) = 1 / (1 + 1/2).
    view = view_of(["a", "b"], [[0, 1]])
    for seeds in (16, 250):
        found = Mechanism(Hesitant(), registry_of([1.0, 2.0]), SCHEMA, seeds=seeds).run(view)
        assert not found.exact
        estimate, error = found.posteriors.filter(person="p0", value="a").select("probability", "standard_error").row(0)
        assert abs(estimate - 2 / 3) < 4 * error
        # Of n seeds about n/2 put b first together; the ratio 1 / (1 + share) has the derivative -(2/3)^2.
        assert 0.7 < error / max((4 / 9) * 0.5 / seeds**0.5, 1 / (seeds + 2)) < 1.4
        assert abs(float(found.weight) - 1.5 / 4) < 4 * 0.5 / seeds**0.5
        assert found.certain == {} and found.excluded == {}
        assert set(found.posteriors["kind"]) == {"sampled"}
    assert found.judge(Limits(Fraction(1, 2))).status == "beyond"
    assert found.judge(Limits(Fraction(3, 4))).status == "sampled"
    near = Fraction(found.probability("p0", "a")).limit_denominator(1000) - Fraction(1, 100)
    assert found.judge(Limits(near)).status == "undecided"  # above by estimate, and not for sure
    # Apart they come with b first only, which is then certain, though nothing proves it.
    found = Mechanism(Hesitant(), registry_of([1.0, 2.0]), SCHEMA).run(view_of(["b", "a"], [[0], [1]]))
    assert found.probability("p0", "b") == 1 and found.certain == {}


@dataclass(frozen=True)
class Unfaithful:
    """One group. The first of more than two with a is published with b; with no b a row is made up that has it;
    whoever has c is held back."""

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
        values = [str(value) for value in snapshot.values.decode()]
        code = dict(zip(values, snapshot.values.codes.tolist(), strict=True))
        group = np.array([-1 if value == "c" else 0 for value in values], dtype=np.int32)
        if (group == -1).all():
            raise ri.errors.Infeasible("Nobody is left.")
        held = {"has c": np.flatnonzero(group == -1)} if (group == -1).any() else {}
        changed = made = None
        if values.count("a") > 2 and "b" in values:
            first = values.index("a")
            changed = Changed(np.array([first]), np.array([code["b"]], dtype=np.uint8))
        if "b" not in values:
            rows = pl.DataFrame({"x": [5.0], "what": ["b"]})
            labels = snapshot.values.levels.labels
            made = Counterfeits(np.array([1]), np.zeros(1, dtype=np.int32), rows) if "b" in labels else None
        return Grouping(group, 1, made, held, changed=changed), {}


def unfaithful(places: list[float], values: tuple[str, ...], form: str) -> Hashable:
    """The same by hand: what is public of it, or None."""
    rows = [(place, value) for place, value in zip(places, values, strict=True) if value != "c"]
    if not rows:
        return None
    if values.count("a") > 2 and "b" in values:
        at = next(at for at, (_, value) in enumerate(rows) if value == "a")
        rows[at] = (rows[at][0], "b")
    if "b" not in values:
        rows.append((5.0, "b"))
    held = [place for place, _ in rows]
    where = (min(held), max(held)) if form == "generalised" else tuple(sorted(held))
    return where, tuple(sorted(value for _, value in rows))


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@pytest.mark.parametrize("values", ["aaab", "abbb", "aaaa", "abca"])
def test_changed_made_up_and_held_back_rows(values: str, form: Any) -> None:
    # The domain is declared, so that b can be made up where nobody has it.
    schema = ri.Schema("who", {"x": ri.Numeric(high=9)}, {"what": ri.Categorical(("a", "b", "c"))})
    places = [1.0, 2.0, 3.0, 4.0]
    table = pl.DataFrame({"who": [f"p{row}" for row in range(4)], "x": places, "what": list(values)})
    seen = unfaithful(places, tuple(values), form)
    left = [other for other in product("abc", repeat=4) if unfaithful(places, other, form) == seen]
    coded = code_table(table, schema)
    released = shown(coded.snapshot, Unfaithful().group(coded.snapshot, None, {}, None)[0])
    recoded = (recode.generalise if form == "generalised" else recode.anatomise)(*released)
    view = recode.view_of(released[0], recoded.groups)
    numbers = {str(name): number for number, name in enumerate(coded.new_ids.to_list())}
    registry = table.select(pl.col("who").replace_strict(numbers), "x")
    found = Mechanism(Unfaithful(), registry, schema, values=["c"], form=form, quasi=recoded.tables.get("quasi")).run(
        view
    )
    assert found.worlds == len(left)
    for person in range(4):
        for value in "abc":
            share = Fraction(sum(other[person] == value for other in left), len(left))
            assert found.probability(numbers[f"p{person}"], value) == share


def drafted(table: pl.DataFrame, policy: ri.Policy) -> tuple[ri.Published, pl.DataFrame, dict[str, int]]:
    """The outsider's view of a draft, the registry in its numbers, and the number of each person."""
    made = draft(table, policy)
    numbers = dict(made.new_people.select("id", "number").iter_rows())
    who = pl.col(policy.schema.person).replace_strict(numbers, return_dtype=pl.Int64)
    return made.published(), table.select(who, *policy.schema.quasi), numbers


def test_the_split_of_m_invariance_can_be_inverted() -> None:
    """Note 9: groups {1, 3} and {2, 4} come only from aabb and bbaa."""
    table = pl.DataFrame({"who": list("1234"), "x": [1, 2, 3, 4], "what": list("aabb")})
    policy = ri.Policy(SCHEMA, ri.MInvariance(2), form="anatomised")
    view, registry, numbers = drafted(table, policy)
    attack = Mechanism(policy.method, registry, SCHEMA, form="anatomised", truthful=True, seeds=16)
    found = attack.run(view)
    assert found.worlds == 2
    assert {frozenset(pair) for pair in found.equal_pairs} == {
        frozenset({numbers["1"], numbers["2"]}),
        frozenset({numbers["3"], numbers["4"]}),
    }
    assert all(found.probability(person, value) == 0.5 for person in numbers.values() for value in "ab")
    # Merged buckets have nothing to invert: all six tables are left.
    policy = ri.Policy(SCHEMA, ri.MInvariance(2, split=False), form="anatomised")
    view, registry, _ = drafted(table, policy)
    found = Mechanism(policy.method, registry, SCHEMA, form="anatomised", truthful=True, seeds=8).run(view)
    assert found.worlds == 6 and not found.equal_pairs


def wong(classes: dict[str, int], held: dict[str, int], **parameters: Any) -> tuple[Any, dict[str, Fraction]]:
    """Mondrian for simplified 2-diversity of HIV on classes of so many people, so many of whom have it."""
    tree = ri.Hierarchy.from_nested({"Q": list(classes)})
    schema = ri.Schema("who", {"q": tree}, "disease", protect=[["HIV"]])
    policy = ri.Policy(schema, ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2)]))
    quasi = [name for name, size in classes.items() for _ in range(size)]
    disease = ["HIV" if at < held[name] else "none" for name, size in classes.items() for at in range(size)]
    table = pl.DataFrame({"who": [f"p{at}" for at in range(len(quasi))], "q": quasi, "disease": disease})
    view, registry, numbers = drafted(table, policy)
    found = Mechanism(policy.method, registry, schema, **parameters).run(view)
    credibility = found.set_probability(["HIV"])
    return found, {name: credibility[numbers[f"p{quasi.index(name)}"]] for name in classes}


def test_mondrian_on_the_papers_examples() -> None:
    """Wong et al. 2007: Table 1 (b) and (c), where q1 is found out, and the 430 cases of Tables 4 to 6."""
    found, credibility = wong({"q1": 2, "q2": 5}, {"q1": 2, "q2": 0})
    assert credibility == {"q1": 1, "q2": 0}
    assert len(found.certain) == 7
    assert sorted(map(tuple, found.excluded.values())) == [("HIV",)] * 5 + [("none",)] * 2
    found, credibility = wong({"q1": 2, "q2": 2, "q3": 10}, {"q1": 2, "q2": 0, "q3": 3}, truthful=True)
    assert found.worlds == 430
    assert credibility == {"q1": Fraction(53, 86), "q2": Fraction(53, 86), "q3": Fraction(5 - 4 * Fraction(53, 86), 10)}


def test_knowing_the_method_says_at_least_what_minimality_says() -> None:
    """What follows from "some class violates" follows from the program; with a flat hierarchy they are the same."""
    for sizes, held in [((2, 3), (2, 0)), ((2, 4), (0, 3)), ((1, 2, 3), (1, 0, 1)), ((2, 2, 2), (2, 1, 0))]:
        names = [f"q{at}" for at in range(len(sizes))]
        _, credibility = wong(dict(zip(names, sizes, strict=True)), dict(zip(names, held, strict=True)))
        people = [at for at, size in enumerate(sizes) for _ in range(size)]
        cases = []
        for sick in combinations(range(len(people)), sum(held)):
            of = Counter(people[at] for at in sick)
            if any(2 * of[at] > size for at, size in enumerate(sizes)):
                cases.append(set(sick))
        for at, name in enumerate(names):
            assert credibility[name] == Fraction(sum(people.index(at) in case for case in cases), len(cases))


def test_made_up_rows_are_seen_in_the_published_table_only() -> None:
    table = pl.DataFrame({"who": list("123"), "x": [1, 2, 3], "what": list("aab")})
    made = draft(table, ri.Policy(SCHEMA, ri.MInvariance(2), form="anatomised"), seed=0)
    numbers = dict(made.new_people.select("id", "number").iter_rows())
    registry = table.select(pl.col("who").replace_strict(numbers), "x")
    given: dict[str, Any] = {"form": "anatomised", "truthful": True, "seeds": 24}
    with pytest.raises(ri.errors.ParameterError, match="1 counterfeit"):
        Mechanism(ri.MInvariance(2), registry, SCHEMA, **given).run(made.published())
    found = Mechanism(ri.MInvariance(2), registry, SCHEMA, quasi=made.tables["quasi"], **given).run(made.published())
    # Three people in four rows of aabb: who has the value of which there are two is not known, nor which it is.
    assert found.tried.tables == 6
    assert found.set_probability(["a", "b"]) == dict.fromkeys(numbers.values(), 1.0)
