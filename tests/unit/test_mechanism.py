"""`Mechanism` at its edges: what it refuses, what it tells, and as part of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Limits
from reissue.attacks.mechanism.mechanism import Mechanism
from reissue.attacks.mechanism.mechanism_stage import content
from reissue.attacks.mechanism.mechanism_tables import Possible
from reissue.model.grouping import Changed, Grouping
from reissue.model.memory import KEPT

SCHEMA = ri.Schema(person="who", quasi={"x": ri.Numeric()}, sensitive="what")
CANARY = "canary-4711"


@dataclass(frozen=True)
class Together:
    """Everybody in one group, unless the first has another value than the second."""

    refuses: str = ""
    draws: bool = False

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
        values = [str(value) for value in snapshot.values.decode()]
        if self.refuses and self.refuses in values:
            raise ri.errors.Infeasible("Not this one.")
        if self.draws:
            rng.integers(2)
        if len(values) > 1 and values[0] != values[1]:
            return Grouping(np.array([0] + [1] * (len(values) - 1), dtype=np.int32), 2), {}
        return Grouping(np.zeros(len(values), dtype=np.int32), 1), {}


def registry(people: int) -> pl.DataFrame:
    return pl.DataFrame({"who": [f"p{row}" for row in range(people)], "x": range(people)})


def together(values: list[object]) -> ri.Published:
    return ri.Published.from_groups([[([f"p{row}" for row in range(len(values))], values)]])


def test_what_is_known_of_people_is_taken_into_account() -> None:
    # The first two have the same value: aab and bba are not possible with two a; aaa is not published.
    found = Mechanism(Together(), registry(3), SCHEMA).run(together(["a", "a", "b"]))
    assert found.certain == {"p0": "a", "p1": "a", "p2": "b"}
    assert found.weight == Fraction(1, 8)
    found = Mechanism(Together(), registry(4), SCHEMA).run(together(["a", "a", "b", "b"]))
    assert found.equal_pairs == (("p0", "p1"), ("p2", "p3"))
    assert found.equal_probability("p0", "p1") == 1 and found.equal_probability("p0", "p2") == 0
    assert found.probability("p0", "a") == Fraction(1, 2) and found.certain == {}
    knowledge = ri.Knowledge(compromised={"p3": "a"})
    found = Mechanism(Together(), registry(4), SCHEMA).run(together(["a", "a", "b", "b"]), knowledge)
    assert found.certain == {"p0": "b", "p1": "b", "p2": "a"}
    assert found.weight == Fraction(1, 8)


def test_priors_and_further_values() -> None:
    view = together(["a", "b", "b"])
    found = Mechanism(Together(), registry(3), SCHEMA, values=["c"]).run(view)
    assert found.weight == Fraction(1, 27) and found.probability("p0", "c") == 0
    found = Mechanism(Together(), registry(3), SCHEMA, prior={"a": 0.1, "b": 0.9}).run(view)
    assert found.weight == Fraction(1, 10) * Fraction(9, 10) ** 2
    found = Mechanism(Together(), registry(3), SCHEMA, prior={"a": 1, "b": 2, "c": 1}).run(view)
    assert found.weight == Fraction(4, 64)
    with pytest.raises(ri.errors.ParameterError, match="lacks 1 value"):
        Mechanism(Together(), registry(3), SCHEMA, prior={"a": 1}).run(view)
    with pytest.raises(ri.errors.ParameterError, match="leads to this release"):
        Mechanism(Together(), registry(3), SCHEMA, prior={"a": 1, "b": 0}).run(view)


def test_numbers_as_sensitive_values_and_pandas_as_registry() -> None:
    schema = ri.Schema("who", {"x": ri.Numeric()}, {"what": ri.Numeric()})
    found = Mechanism(Together(), registry(3).to_pandas(), schema).run(together([3, 3, 70]))
    assert found.certain == {"p0": 3, "p1": 3, "p2": 70}
    assert found.probability("p2", 70.0) == 1


def test_refused_tables_never_lead_anywhere() -> None:
    view = together(["a", "b", "b"])
    found = Mechanism(Together("c"), registry(3), SCHEMA, values=["c"]).run(view)
    assert found.tried.refused == 27 - 8
    with pytest.raises(ri.errors.ParameterError, match="None of the 8 tables that there may be leads") as error:
        Mechanism(Together("b"), registry(3), SCHEMA).run(view)
    assert "7 tables of 8 were refused" in str(error.value)

    def admit(snapshot: Any) -> None:
        if len(set(snapshot.values.codes.tolist())) < 2:
            raise ri.errors.Infeasible("One value only.")

    assert Mechanism(Together(), registry(3), SCHEMA, admit=admit).run(view).tried.refused == 2


def test_draws_are_noticed_though_they_change_nothing() -> None:
    view = together(["a", "b", "b"])
    found = Mechanism(Together(draws=True), registry(3), SCHEMA, seeds=5).run(view)
    assert not found.exact and found.tried.seeds == 5 and not found.certain
    assert found.probability("p0", "b") == 1
    assert found.judge(Limits(Fraction(1, 2))).status == "undecided"  # five seeds are too few to be sure
    assert found.judge(Limits(history_diversity=2)).status == "undecided"
    assert found.judge(Limits(equivalence=2)).status == "undecided"
    found = Mechanism(Together(draws=True), registry(3), SCHEMA, seeds=60).run(view)
    assert found.judge(Limits(Fraction(1, 2))).status == "beyond"


def test_judgements_and_words() -> None:
    view = together(["a", "a", "b", "b"])
    found = Mechanism(Together(), registry(4), SCHEMA).run(view)
    assert found.judge(Limits(Fraction(1, 2))).status == "within"
    assert found.judge(Limits(Fraction(1, 3))).count == 4
    assert found.judge(Limits(history_diversity=2)).status == "within"
    equal = found.judge(Limits(equivalence=2))
    assert (equal.status, equal.count) == ("beyond", 2)
    assert equal.findings[0].people == (0, 1)
    assert found.judge(Limits()).status == "not asked"
    told = equal.findings[0].witness.text(view)
    assert told == (
        "Somebody who knows Together and everybody's quasi-identifiers can try it on all 16 tables that there may have "
        "been. 2 of them lead to this very release. In every one of them p0 and p1 have the same value."
    )
    found = Mechanism(Together(), registry(3), SCHEMA).run(together(["a", "a", "b"]))
    few = found.judge(Limits(history_diversity=2))
    assert (few.status, few.count) == ("beyond", 3)
    assert (
        few.findings[0]
        .witness.text(found.published)
        .endswith("1 of them leads to this very release. In every one of them p0 has a.")
    )


def test_protected_sets() -> None:
    schema = ri.Schema("who", {"x": ri.Numeric()}, "what", protect=[["a", "b"]])
    found = Mechanism(Together(), registry(4), schema).run(together(["a", "b", "c", "c"]))
    # ccab and ccba: the last two have a or b.
    assert found.set_probability(["a", "b"]) == {"p0": 0, "p1": 0, "p2": 1, "p3": 1}

    @dataclass(frozen=True)
    class Credible(Limits):
        credibility: Fraction | None = None

    judged = found.judge(Credible(credibility=Fraction(1, 2)))
    assert (judged.status, judged.count) == ("beyond", 2)
    assert judged.findings[0].witness.text(found.published).endswith("p2 has a or b.")


def test_in_an_audit() -> None:
    attack = Mechanism(Together(), registry(3), SCHEMA)
    report = ri.audit(together(["a", "a", CANARY]), attacks=[attack], limit=1 / 2)
    assert not report.passed
    assert [run.judgement.status for run in report.runs] == ["beyond"]
    assert CANARY not in repr(report)
    attack = Mechanism(Together(), registry(4), SCHEMA)
    assert ri.audit(together(["a", "a", "b", "b"]), attacks=[attack], limit=1 / 2).passed


def test_people_who_are_held_back_are_in_the_registry_only() -> None:
    @dataclass(frozen=True)
    class WithoutB:
        def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
            out = np.array([str(value) == "b" for value in snapshot.values.decode()])
            held = {"has b": np.flatnonzero(out)} if out.any() else {}
            if out.all():
                raise ri.errors.Infeasible("Nobody is left.")
            return Grouping(np.where(out, -1, 0).astype(np.int32), 1, held_back=held), {}

    view = ri.Published.from_groups([[(["p0", "p2"], ["a", "a"])]])
    found = Mechanism(WithoutB(), registry(3), SCHEMA, values=["b"]).run(view)
    # The region is known, so that somebody at 0 and somebody at 2 is in; p1 is not.
    assert found.certain == {"p0": "a", "p1": "b", "p2": "a"}
    assert "somebody who is not in the release" in found.witnesses[1].text(view)
    with pytest.raises(ri.errors.ParameterError, match="leave 'truthful' out"):
        Mechanism(WithoutB(), registry(3), SCHEMA, values=["b"], truthful=True).run(view)


def test_a_method_that_is_not_truthful_is_caught() -> None:
    @dataclass(frozen=True)
    class Liar:
        def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
            codes = snapshot.values.codes
            changed = Changed(np.array([0]), codes[1:2].copy())
            return Grouping(np.zeros(codes.size, dtype=np.int32), 1, changed=changed), {}

    with pytest.raises(ri.errors.ParameterError, match="withheld somebody or published a changed value"):
        Mechanism(Liar(), registry(3), SCHEMA, truthful=True).run(together(["a", "a", "b"]))


def test_counts_of_tables() -> None:
    for fixed in ([None] * 4, [None, 1, None, None], [0, 0, None, 2]):
        for room in (None, [2, 1, 2], [4, 0, 1], [3, 3, 3]):
            for values in ((0, 1, 2), (0, 2)):
                possible = Possible(fixed, values, room)
                tables = possible.tables()
                assert len(tables) == possible.count() == len(np.unique(tables, axis=0))
                every = np.array(np.meshgrid(*[range(3)] * 4, indexing="ij")).reshape(4, -1).T
                fits = np.ones(len(every), dtype=bool)
                for person, value in enumerate(fixed):
                    fits &= np.isin(every[:, person], values) if value is None else every[:, person] == value
                for number, most in enumerate(room or []):
                    fits &= (every == number).sum(axis=1) <= most
                assert {tuple(row) for row in tables.tolist()} == {tuple(row) for row in every[fits].tolist()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "neither"}, "'form'"),
        ({"seeds": 0}, "'seeds'"),
        ({"tables": True}, "'tables'"),
        ({"seconds": -1}, "'seconds'"),
        ({"prior": {"a": -1}}, "'prior'"),
        ({"prior": "flat"}, "'prior'"),
        ({"values": "abc"}, "'values'"),
        ({"change": 1.5}, "'change'"),
        ({"change": {}}, "'change'"),
        ({"change": {"a": 0.5, "b": {"a": 1}}}, "'change'"),
        ({"change": {"a": {"a": -1}}}, "'change'"),
        ({"worst": True, "public": {}}, "not both"),
        ({"worst": 1}, "'worst'"),
        ({"method": Together}, "'method'"),
        ({"registry": registry(3).drop("x")}, "lacks 'x'"),
        ({"registry": pl.concat([registry(2), registry(2)])}, "every person once"),
    ],
)
def test_parameters(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"method": Together(), "registry": registry(3), "schema": SCHEMA, **change}
    with pytest.raises(ri.errors.ParameterError, match=message):
        Mechanism(**given)


def test_what_it_cannot_attack() -> None:
    values: list[object] = ["a", CANARY, CANARY]
    attack = Mechanism(Together(), registry(3), SCHEMA)
    two = ri.Published.from_groups([[(["p0"], [CANARY])], [(["p0"], [CANARY])]])
    strangers = ri.Published.from_groups([[([CANARY], ["a"])]])
    for broken, view, message in [
        (attack, two, "leads to these releases"),
        (attack, strangers, "not in the registry"),
        (Mechanism(Together(), registry(3), SCHEMA, tables=7), together(values), "There are 8 tables"),
        (Mechanism(Together(), registry(3), SCHEMA, seconds=1e-9), together(values), "time ran out"),
        (Mechanism(Together(CANARY), registry(3), SCHEMA), together(values), "leads to this release"),
    ]:
        with pytest.raises(ri.errors.ParameterError, match=message) as error:
            broken.run(view)
        assert CANARY not in str(error.value)
    assert CANARY not in repr(attack)
    with pytest.raises(ri.errors.ParameterError, match="no such person"):
        attack.run(together(["a", "b", "b"])).probability("p9", "a")
    with pytest.raises(ri.errors.ParameterError, match="such a value"):
        attack.run(together(["a", "b", "b"])).probability("p0", "z")


# Several releases


def twice(first: list[object], second: list[object]) -> ri.Published:
    """Everybody in one group, in two releases."""
    return ri.Published.from_groups([[([f"p{row}" for row in range(len(one))], one)] for one in (first, second)])


@dataclass(frozen=True)
class Remembering:
    """Everybody in one group; refuses a release if the first had another value in the one before."""

    def group(self, snapshot: Any, delta: Any, memory: Any, rng: Any) -> tuple[Grouping, object]:
        first = str(snapshot.values.decode()[0])
        if "first" in memory and memory["first"].item() != first:
            raise ri.errors.Infeasible("Not this one.")
        # The numbers of who has another value than before are known, and kept as they are.
        assert delta.since == 0 or delta.stayed.size == len(snapshot) >= delta.changed_value.size
        groups = Grouping(np.zeros(len(snapshot), dtype=np.int32), 1)
        return groups, {"first": KEPT if "first" in memory else pl.DataFrame({"first": [first]})}


def test_memory_is_handed_on_and_values_may_change() -> None:
    view = twice(["a", "b"], ["a", "b"])
    found = Mechanism(Remembering(), registry(2), SCHEMA, change=1).run(view)
    # ab and ba, in both releases, and the first stays what he was.
    assert (found.tried.tables, found.worlds) == (16, 2)
    assert repr(found) == "MechanismFindings(2 people, 2 of 16 histories left)"
    assert found.posteriors["release"].to_list() == [1, 1, 2, 2] * 2
    assert found.probability("p0", "a", 1) == found.probability("p0", "a") == Fraction(1, 2)
    assert found.equal_probability("p0", "p1", 1) == found.equal_probability("p0", "p1") == 0
    told = found.witnesses[0].text(view)
    assert told == (
        "Somebody who knows Remembering and everybody's quasi-identifiers can try it on all 16 histories that there "
        "may have been. 2 of them lead to these very releases. Of their weight 1/2 is with those that give p0 b at "
        "release 1."
    )
    found = Mechanism(Remembering(), registry(2), SCHEMA, change=1).run(twice(["a", "b"], ["a", "a"]))
    assert found.certain == {"p0": "a", "p1": "a"}  # at the last release that is so
    assert found.set_probability(["b"], release=1) == {"p0": 0, "p1": 1}
    judged = found.judge(Limits(Fraction(1, 2), equivalence=2))
    assert (judged.status, judged.count) == ("beyond", 3)
    assert found.equal_pairs == (("p0", "p1"),)
    assert found.excluded == {"p0": ["b"], "p1": ["a"]}
    assert {finding.release for finding in judged.findings} == {1, 2}
    known = ri.Knowledge(compromised={"p0": "a"})
    assert Mechanism(Remembering(), registry(2), SCHEMA, change=1).run(view, known).certain == {"p1": "b"}


def test_people_who_are_in_some_tables_only() -> None:
    view = ri.Published.from_groups([[(["p0", "p1"], ["a", "b"])], [(["p1", "p2"], ["a", "a"])]])
    registries = [registry(2), registry(3).tail(2)]
    found = Mechanism(Together(), registries, SCHEMA, values=["c"]).run(
        ri.Published.from_groups([[(["p0"], ["a"]), (["p1"], ["b"])], [(["p1"], ["b"]), (["p2"], ["a"])]])
    )
    assert found.certain == {"p0": "a", "p1": "b", "p2": "a"}
    assert "release" not in found.posteriors.columns and found.probability("p2", "a", 1) == 1
    found = Mechanism(Together(), registries, SCHEMA, change=0.5, truthful=True, admit=[None, None]).run(
        ri.Published.from_groups([[(["p0"], ["a"]), (["p1"], ["b"])], [(["p1", "p2"], ["a", "a"])]])
    )
    assert found.probability("p1", "a", 2) == 1 and found.set_probability(["b"], release=1) == {"p0": 0, "p1": 1}
    for call, message in [
        (lambda: found.probability("p2", "a", 1), "not in the table of release 1"),
        (lambda: found.probability("p2", "a", 7), "no release 7"),
        (lambda: found.equal_probability("p0", "p2"), "not in the table of the same release"),
        (lambda: Mechanism(Together(), [registry(3)] * 3, SCHEMA).run(view), "'registry' parameter of Mechanism is"),
        (lambda: Mechanism(Together(), registries, SCHEMA, quasi=registry(3)).run(view), "'quasi' parameter"),
        (lambda: Mechanism(Together(), registries, SCHEMA, public=[{}, {}]).run(view), "lack 'table'"),
        (lambda: Mechanism(Together(), registries, SCHEMA, change={"a": 0.5}).run(view), "lacks 1 value"),
    ]:
        with pytest.raises(ri.errors.ParameterError, match=message):
            call()


def test_the_error_says_how_many_histories_there_are() -> None:
    view = twice(["a", "b", "c"], ["a", "b", "c"])
    for parameters, message in [
        ({"change": 0.1}, "There are 729 histories of 2 tables of 3 people and 3 values"),
        ({}, "There are 27 histories of 2 tables"),
        ({"change": {value: {value: 1, "a": 1} for value in "abc"}}, "There are 125 histories"),
        ({"change": 0.1, "truthful": True}, "There are up to 729 histories"),
    ]:
        with pytest.raises(ri.errors.ParameterError, match=message):
            Mechanism(Together(), registry(3), SCHEMA, tables=26, **parameters).run(view)
    # Everybody with his own value: six tables of each release, and six histories where values stay.
    assert Mechanism(Remembering(), registry(3), SCHEMA, tables=26, truthful=True).run(view).tried.tables == 6
    found = Mechanism(Remembering(), registry(3), SCHEMA, tables=36, truthful=True, change=0.1).run(view)
    assert found.tried.tables == 36


def test_rows_of_public_tables_may_hold_lists() -> None:
    one = {"table": pl.DataFrame({"x": [1, 2], "what": [["a", "b"], ["a", "c"]]})}
    same = {"table": one["table"].reverse().select("what", "x"), "further": one["table"]}
    other = {"table": pl.DataFrame({"x": [1, 2], "what": [["a", "b"], ["b", "c"]]})}
    assert content(one, ["table"]) == content(same, ["table"]) != content(other, ["table"])
    attack = Mechanism(Together(), registry(2), SCHEMA, public=one)
    assert set(attack._shown_values()) == {"a", "b", "c"}
