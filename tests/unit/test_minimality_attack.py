"""The minimality attack as an attack: tables, witnesses, judgements and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from promises import promise

from reissue.attacks.base import Limits
from reissue.attacks.minimality.minimality import Minimality
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge, Minimal
from reissue.model.published import Published

HALF = Limits(probability=Fraction(1, 2))


def group(sizes: dict[str, int], values: list[Any]) -> tuple[list[str], list[Any]]:
    return [f"{one} {at}" for one, size in sizes.items() for at in range(size)], values


def viewed(*releases: list[tuple[list[str], list[Any]]]) -> Published:
    people = [person for release in releases for members, _ in release for person in members]
    return Published.from_groups(list(releases), registry={person: person.split()[0] for person in people})


@pytest.fixture(scope="module")
def table_1() -> Published:
    """Wong et al., Table 1(c)."""
    return viewed([group({"q1": 2, "q2": 5}, ["HIV"] * 2 + ["flu"] * 5)])


@pytest.fixture(scope="module")
def table_5() -> Published:
    """Wong et al., Tables 4 to 6, with ten rows of q3."""
    return viewed([group({"q1": 2, "q2": 2, "q3": 10}, ["HIV"] * 5 + ["flu"] * 9)])


def test_the_tables(table_5: Published) -> None:
    found = Minimality(l=2, protect=(("HIV",),), recoding="global").run(table_5)
    assert found.classes.rows() == [
        (1, 0, 2, "HIV", pytest.approx(53 / 86), pytest.approx(5 / 14), "exact"),
        (1, 1, 2, "HIV", pytest.approx(53 / 86), pytest.approx(5 / 14), "exact"),
        (1, 2, 10, "HIV", pytest.approx(109 / 430), pytest.approx(5 / 14), "exact"),
    ]
    row = found.posteriors.row(0, named=True)
    assert (row["person"], row["value"], row["release"], row["fraction"]) == ("q1 0", "HIV", 1, "53/86")
    assert row["low"] <= row["probability"] <= row["high"]
    assert found.posteriors.height == 14
    assert found.certain == found.excluded == {}
    assert found.searched == ("release 1: 1 generalised group",)
    assert found.undecided == ()


def test_problematic_classes(table_5: Published) -> None:
    found = Minimality(l=2, protect=(("HIV",),)).run(table_5)
    bad = found.problematic(2)
    assert (bad.classes, bad.people, bad.all_sensitive, bad.undecided) == (2, 4, 5, 0)
    assert bad.sensitive == pytest.approx(4 * 53 / 86)
    assert bad.share == pytest.approx(4 * 53 / 86 / 5)
    assert bad.mean == bad.mean_of_sensitive == pytest.approx(53 / 86)
    assert found.problematic(1).people == 0
    assert found.problematic(4).classes == 3
    with pytest.raises(ParameterError, match="at least 1"):
        found.problematic(0.5)


def test_the_witness_can_be_followed(table_1: Published) -> None:
    found = Minimality(l=2, protect=(("HIV",),)).run(table_1)
    assert found.witnesses[0].text(table_1) == (
        "q1 0 has the same quasi-identifiers as 1 other: they are a class. "
        "2 rows of the class are in release 1 group 1, which has 7 rows of 2 classes. "
        "Nothing was generalised needlessly: published as they are, at least one of these classes would have broken "
        "the requirement, and only this one can have. "
        "In the cases that are left each of them has HIV for certain; the shares of the groups alone say 0.286."
    )
    hidden = found.witnesses[0].text(table_1, show_values=False, name=lambda number: f"person {number}")
    assert "HIV" not in hidden and "q1" not in hidden
    assert "q1" not in repr(found) and "HIV" not in repr(found)
    finding = found.judge(HALF).findings[0]
    assert (finding.what, finding.people, finding.value, finding.probability) == ("value", (0, 1), 0, 1.0)


def test_what_is_exactly_at_the_limit_is_within() -> None:
    """Section 4.3: everybody at one half."""
    view = viewed([group({"q1": 4, "q2": 2}, ["HIV"] * 3 + ["flu"] * 3)])
    found = Minimality(l=2, protect=(("HIV",),)).run(view)
    judged = found.judge(HALF)
    assert (judged.status, judged.count) == ("within", 0)
    assert judged.words == "Nobody of 6 people has a credibility above 1/2; the highest is 0.5."
    beyond = found.judge(Limits(probability=Fraction(499_999_999_999, 10**12)))
    assert (beyond.status, beyond.count) == ("beyond", 2)


def test_the_limit_for_credibility_goes_first(table_5: Published) -> None:
    found = Minimality(l=2, protect=(("HIV",),)).run(table_5)
    assert found.judge(Limits()).status == "not asked"
    assert found.judge(HALF).status == "beyond"
    assert found.judge(Limits(probability=Fraction(1, 2), credibility=Fraction(2, 3))).status == "within"
    assert found.judge(Limits(credibility=Fraction(53, 86))).status == "within"
    judged = found.judge(Limits(credibility=Fraction(1, 5)), most=1)
    assert judged.count == 3
    assert len(judged.findings) == 1
    assert judged.words.startswith("14 of 14 people, in 3 classes of equal quasi-identifiers, have a credibility above")


def test_several_values_in_a_set_and_several_releases(table_1: Published) -> None:
    members, _ = group({"q1": 2, "q2": 5}, [])
    apart = [([person], ["flu"]) for person in members]
    view = viewed([(members, ["HIV", "hepatitis", *["flu"] * 5])], apart)
    known = Knowledge(
        minimal={1: Minimal([promise("share-l-diversity", {"l": 2, "protect": [["HIV", "hepatitis"]]})], "global")},
        compromised={"q2 0": "flu"},
    )
    found = Minimality().run(view, known)
    assert [one.release.number for one in found.attacked] == [1]
    assert set(found.posteriors["value"]) == {"{HIV, hepatitis}"}
    assert found.posteriors.filter(person="q1 0")["fraction"].to_list() == ["1"]
    # One of the two values for certain, but not which.
    assert found.certain == {}
    assert found.judge(HALF).findings[0].value is None
    assert "one of HIV and hepatitis for certain" in found.witnesses[0].text(view)
    assert found.undecided == ("what the values known from elsewhere add: the argument does not use them",)
    # Asked for single values, the set's share is dealt out among them.
    single = replace(Minimality(), protect=(("HIV",),)).run(view, known)
    assert single.posteriors.filter(person="q1 1")["fraction"].to_list() == ["1/2"]


def test_releases_that_cannot_be_looked_at(table_1: Published) -> None:
    attack = Minimality(l=2, protect=(("HIV",),))
    release = table_1.releases[0]
    without = replace(table_1, releases=(replace(release, classes=None),))
    found = attack.run(without)
    assert found.undecided == ("release 1: it is not known who shares quasi-identifiers with whom",)
    assert found.judge(HALF).status == "undecided"
    made_up = replace(release, members=np.array([-1, 1, 2, 3, 4, 5, 6]))
    assert "counterfeits" in attack.run(replace(table_1, releases=(made_up,))).undecided[0]
    several = attack.run(replace(table_1, single=False))
    assert "several values" in several.undecided[0]
    twice = replace(release, members=np.array([0, 0, 2, 3, 4, 5, 6]))
    with pytest.raises(ParameterError):
        attack.run(replace(table_1, releases=(twice,)))
    both = viewed([group({"q1": 1, "q2": 1}, ["HIV", "flu"]), (["q1 8", "q2 8"], ["HIV", "flu"])])
    told = replace(attack, recoding="global").run(both)
    assert told.undecided == ("release 1: 2 classes are in several groups, which global recoding rules out",)


def test_groups_generalised_for_another_reason() -> None:
    """No class of four can violate with one sensitive row in all, and a class of one always does if k is 2."""
    contrary = viewed([group({"q1": 4, "q2": 4}, ["HIV", *["flu"] * 7])])
    found = Minimality(l=2, protect=(("HIV",),)).run(contrary)
    assert found.searched == (
        "release 1: 1 generalised group, in 1 no class can have violated: something else was the reason",
    )
    assert found.posteriors.is_empty()
    assert found.judge(HALF).status == "within"
    small = viewed([group({"q1": 1, "q2": 4}, ["HIV", *["flu"] * 4])])
    always = Minimality(l=2, k=2, protect=(("HIV",),)).run(small)
    assert always.searched == ("release 1: 1 generalised group, nothing is excluded in 1 of them",)
    assert always.posteriors.is_empty()


def test_estimates_and_what_is_left_open_are_judged_as_such() -> None:
    """Sixty classes of four or six rows with twelve values, at least four of which each had to have."""
    sizes = {f"q{at}": 4 + 2 * (at % 2) for at in range(60)}
    view = viewed([group(sizes, [f"v{at % 12}" for at in range(300)])])
    requirement = (promise("distinct-l-diversity", {"l": 4}),)
    found = Minimality(requirement=requirement).run(view)
    assert found.searched == ("release 1: 1 generalised group, 1 estimated by dealing values",)
    assert set(found.posteriors["kind"]) == {"sampled"}
    assert found.posteriors["standard_error"].null_count() == 0
    assert found.judge(HALF).status == "sampled"
    assert found.judge(Limits(probability=Fraction(1, 100))).status == "beyond"
    assert "by estimate" in found.witnesses[0].text(view)
    late = Minimality(requirement=requirement, seconds=1e-9).run(view)
    assert late.undecided == ("release 1: 1 group with too many cases, or too little known",)
    assert set(late.posteriors["kind"]) == {"bounded"}
    assert late.judge(HALF).status == "undecided"
    assert late.problematic(2).undecided == 300 * 12


def test_parameters() -> None:
    with pytest.raises(ParameterError) as error:
        Minimality(l=0, k=0, protect="HIV", recoding="everywhere", seconds=-1)  # type: ignore[arg-type]
    assert len(error.value.problems) == 5
    assert "HIV" not in str(error.value)
    with pytest.raises(ParameterError, match="alone it says nothing of values"):
        Minimality(k=3)
    with pytest.raises(ParameterError, match="no requirement to argue from"):
        Minimality().credibility({"q1": 2, "q2": 2}, sensitive=2)
    with pytest.raises(ParameterError, match="either"):
        Minimality(l=2).credibility({"q1": 2, "q2": 2})
    with pytest.raises(ParameterError, match="does not say which classes"):
        Minimality(requirement=(promise("distinct-l-diversity", {"l": 2}),)).credibility({"q": 2, "p": 2}, sensitive=2)
    assert repr(Minimality(l=2, k=3, protect=(("HIV",),))) == "Minimality(l=2, k=3, protect=<1 set>, local recoding)"


@pytest.mark.parametrize(
    "given", [{"requirement": 3}, {"requirement": [3]}, {"protect": [[[1]]]}, {"seconds": True}, {"l": "2"}]
)
def test_what_is_no_parameter(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="parameter of Minimality must be"):
        Minimality(**{"l": 2, **given})


@pytest.mark.parametrize(
    ("left", "message"),
    [({"q1": (1, 5)}, "more sensitive rows than rows"), ({"q1": (1, -1)}, "whole numbers"), ({"q1": 1}, "pairs")],
)
def test_what_cannot_be_left(left: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Minimality(l=2).credibility({"q1": 2, "q2": 2}, sensitive=1, left=left)
    with pytest.raises(ParameterError, match="with their rows"):
        Minimality(l=2).credibility([2, 2], sensitive=1)  # type: ignore[arg-type]


def test_sets_that_the_requirement_does_not_name() -> None:
    """Two distinct values in every group; what is told is the credibility of HIV, not that of flu."""
    view = viewed([group({"q1": 2, "q2": 5}, ["HIV"] * 2 + ["flu"] * 5)])
    minimal = Minimal([promise("distinct-l-diversity", {"l": 2})], "local", [["HIV"]])
    found = Minimality().run(view, Knowledge(minimal={1: minimal}))
    assert set(found.classes["value"]) == {"HIV"}


def test_numbers_for_one_group() -> None:
    """Values with rows left ungeneralised, and sets of values: against what can be said by hand."""
    attack = Minimality(l=2)
    # q1 violates only if its generalised row has a, as its row left has; q2 only with b, b, and then q1 has a too.
    found = attack.credibility({"q1": 2, "q2": 2}, values={"a": 1, "b": 2}, left={"q1": {"a": 1}})
    assert found["q1"] == {"a": Fraction(1), "b": Fraction(0)}
    assert found["q2"] == {"a": Fraction(0), "b": Fraction(1)}
    sets = Minimality(l=2, protect=(("a", "b"),)).credibility({"q1": 2, "q2": 6}, values={"a": 1, "b": 1, "c": 6})
    assert sets["q1"] == {("a", "b"): Fraction(1)}
    alpha = Minimality(requirement=(promise("alpha-k-anonymity", {"alpha": 0.5, "k": 1, "protect": [["x"]]}),))
    assert alpha.credibility({"q1": 2, "q2": 5}, sensitive=2)["q1"] == 1
