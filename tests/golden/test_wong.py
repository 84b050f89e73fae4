"""Wong, Fu, Wang & Pei 2007: the worked examples of the minimality attack."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from promises import promise
from worked_examples import worked_examples

from reissue.attacks.base import Limits
from reissue.attacks.minimality.minimality import Minimality
from reissue.attacks.minimality.minimality_findings import MinimalityFindings
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge, Minimal
from reissue.model.published import Published


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    listed = worked_examples("wong-2007")["cases"]
    return {case["source"].split(",")[0].split(";")[0].split(":")[0]: case for case in listed}


def table(qid: list[str], values: list[Any], published: list[str]) -> Published:
    """Rows that are published with these quasi-identifiers; people are called by their own and a number."""
    groups: dict[str, tuple[list[str], list[Any]]] = defaultdict(lambda: ([], []))
    names = [f"{own} {number}" for number, own in enumerate(qid)]
    for name, value, region in zip(names, values, published, strict=True):
        groups[region][0].append(name)
        groups[region][1].append(value)
    return Published.from_groups([list(groups.values())], registry=dict(zip(names, qid, strict=True)))


def chances(found: MinimalityFindings, value: str) -> dict[str, set[str]]:
    """The fractions that people of each class have for a value."""
    result: dict[str, set[str]] = defaultdict(set)
    for person, label, fraction in found.posteriors.select("person", "value", "fraction").iter_rows():
        if label == value:
            result[person.split()[0]].add(fraction)
    return result


def test_table_1_global_and_local_recoding(cases: dict[str, Any]) -> None:
    fair = cases["Table 1(a)"]
    view = table(fair["qid"], fair["disease"], fair["qid"])
    attack = Minimality(l=fair["l"], protect=(("HIV",),))
    nothing = attack.run(view)
    assert nothing.posteriors.is_empty()
    assert nothing.judge(Limits(probability=Fraction(1, 2))).status == "within"
    for name, recoding in (("Table 1(b) to 1(c)", "global"), ("Table 1(d)", "local")):
        case = cases[name]
        view = table(case["qid"], case["disease"], case["published_qid"])
        found = replace(attack, recoding=recoding).run(view)
        told = chances(found, "HIV")
        assert {one: told[one] for one in case["expect"]["credibility"]} == {
            one: {share} for one, share in case["expect"]["credibility"].items()
        }
        assert found.certain == {"q1 0": "HIV", "q1 1": "HIV"}
        judged = found.judge(Limits(probability=Fraction(1, 2)))
        assert judged.status == "beyond"
        assert judged.count == 1
        assert judged.findings[0].people == (0, 1)
        assert judged.findings[0].kind == "exact"


def test_who_cannot_have_it_is_told_too(cases: dict[str, Any]) -> None:
    case = cases["Table 1(b) to 1(c)"]
    found = Minimality(l=2, protect=(("HIV",),), recoding="global").run(
        table(case["qid"], case["disease"], case["published_qid"])
    )
    assert found.excluded == {f"q2 {number}": ["HIV"] for number in range(2, 7)}


def test_tables_4_to_6(cases: dict[str, Any]) -> None:
    case = cases["Tables 4 to 6"]
    found = Minimality(l=case["l"]).credibility(case["class_sizes"], sensitive=case["sensitive_tuples"])
    wanted = {one: Fraction(share) for one, share in case["expect"]["credibility"].items()}
    assert {one: found[one] for one in wanted} == wanted
    # From the list of cases: five rows in all, of which these are q3's.
    listed = case["expect"]["cases"]
    assert sum(ways for *_, ways in listed) == case["expect"]["total"]
    assert found["q3"] == Fraction(sum(third * ways for _, _, third, ways in listed), 10 * case["expect"]["total"])


def test_tables_7_and_8(cases: dict[str, Any]) -> None:
    case = cases["Tables 7 and 8"]
    sizes, published = case["class_sizes"], case["published"]
    left = {one: (published[one]["rows"], published[one]["sensitive"]) for one in sizes}
    attack = Minimality(l=case["l"], protect=(("HIV",),), recoding="local")
    found = attack.credibility(sizes, sensitive=published["Q"]["sensitive"], left=left)
    assert found["q1"] == Fraction(case["expect"]["credibility"]["q1"])
    # The same from a release and a registry that says who may be where.
    people = {one: [f"{one} {at}" for at in range(size)] for one, size in sizes.items()}
    members = {"q1": people["q1"], "Q": people["q1"] + people["q2"], "q2": people["q2"]}
    groups = [
        (members[name], ["HIV"] * part["sensitive"] + ["none"] * (part["rows"] - part["sensitive"]))
        for name, part in published.items()
    ]
    registry = {who: one for one, held in people.items() for who in held}
    view = Published.from_groups([groups], registry=registry, single=False)
    unsure = np.zeros(view.releases[0].members.size, dtype=bool)
    view = replace(view, releases=(replace(view.releases[0], sure=unsure),), single=True)
    assert chances(attack.run(view), "HIV")["q1"] == {case["expect"]["credibility"]["q1"]}


def test_section_4_3_exclusion_without_a_breach(cases: dict[str, Any]) -> None:
    case = cases["section 4.3"]
    found = Minimality(l=case["l"]).credibility(case["class_sizes"], sensitive=case["sensitive_tuples"])
    assert found == {one: Fraction(share) for one, share in case["expect"]["credibility"].items()}


def test_table_3_every_value_sensitive(cases: dict[str, Any]) -> None:
    case = cases["Table 3"]
    view = table(case["qid"], case["disease"], case["published_qid"])
    found = Minimality(l=case["l"], recoding="global").run(view)
    for one, shares in case["expect"]["credibility"].items():
        for value, share in shares.items():
            assert chances(found, value)[one] == {share}
    assert found.certain == {"q1 0": "HIV", "q1 1": "HIV"}
    counts = {value: case["disease"].count(value) for value in case["disease"]}
    assert Minimality(l=2).credibility({"q1": 2, "q2": 5}, values=counts)["q1"]["HIV"] == 1


SECTION_5 = {
    # The numbers of the paper's tables are lost; these have their shape: only q1 can have violated, in one way.
    "0.2-closeness": (promise("t-closeness", {"t": 0.2, "distance": "variation"}), 1, ["HIV", *["none"] * 9], "HIV"),
    "(2, 5k)-anonymity": (promise("ke-anonymity", {"k": 2, "e": 5}), 2, [30, 30, 36, 42, 48, 54, 60], 30),
    "entropy 2-diversity": (promise("entropy-l-diversity", {"l": 2}), 2, ["HIV", "HIV", *"abcde"], "HIV"),
}


@pytest.mark.parametrize("name", SECTION_5)
def test_tables_10_and_11_in_spirit(name: str) -> None:
    requirement, own, values, shared = SECTION_5[name]
    qid = ["q1"] * own + ["q2"] * (len(values) - own)
    view = table(qid, values, ["Q"] * len(values))
    found = Minimality().run(view, Knowledge(minimal={1: Minimal([requirement], "global")}))
    certain = {person: value for person, value in found.certain.items() if str(person).startswith("q1")}
    assert certain == {f"q1 {number}": shared for number in range(own)}
    assert {value for held in found.excluded.values() for value in held} >= {shared}


def test_table_9_in_spirit() -> None:
    """With (3,3)-diversity q1 must contain both HIV values: nobody knows which of its three rows has another."""
    values = ["HIV", "HIV", *"abcdef"]
    view = table(["q1"] * 3 + ["q2"] * 5, values, ["Q"] * 8)
    known = Knowledge(minimal={1: Minimal([promise("recursive-cl-diversity", {"c": 3, "l": 3})], "global")})
    found = Minimality().run(view, known)
    assert chances(found, "HIV") == {"q1": {"2/3"}, "q2": {"0"}}
    assert chances(found, "a") == {"q1": {"1/18"}, "q2": {"1/6"}}


def test_nothing_was_claimed_nothing_is_attacked(cases: dict[str, Any]) -> None:
    case = cases["Table 1(b) to 1(c)"]
    view = table(case["qid"], case["disease"], case["published_qid"])
    found = Minimality().run(view)
    assert found.searched == found.undecided == ()
    assert found.judge(Limits(probability=Fraction(1, 2))).status == "not asked"


@pytest.mark.parametrize(
    ("sizes", "sensitive", "left", "words"),
    [
        ({"q1": 2, "q2": 5}, 8, {}, "more than the group has rows"),
        ({"q1": 2}, 1, {}, "two classes or more"),
        ({"q1": 2, "q2": 0}, 1, {}, "at least 1"),
        ({"q1": 2, "q2": 3}, 1, {"q1": (2, 1)}, "no row left"),
        ({"q1": 4, "q2": 4}, 1, {}, "No class of such a group can break the requirement"),
    ],
)
def test_groups_that_cannot_be(sizes: dict[str, int], sensitive: int, left: Any, words: str) -> None:
    with pytest.raises(ParameterError) as error:
        Minimality(l=2).credibility(sizes, sensitive=sensitive, left=left)
    assert words in str(error.value)
