"""Bu, Fu, Wong, Chen & Li 2008: the worked examples of sections 1.1, 2 and 3.3, attacked with `Permanence`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from worked_examples import worked_examples

from reissue.attacks.base import Limits
from reissue.attacks.permanence.permanence import Permanence
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published

THIRD = Limits(probability=Fraction(1, 3))
OTHERS = ["Flu", "Fever", "Ulcer", "Angina", "Asthma"]
HIV = Knowledge(permanent=["HIV"])


@pytest.fixture(scope="module")
def attacks() -> dict[str, Any]:
    told = worked_examples("bu-2008")["attacks"]
    names = ("three releases", "two releases", "mechanism", "another third", "everybody known")
    return dict(zip(names, told, strict=True))


def view(example: Any) -> Published:
    """Everybody of a group is present; one of them has HIV unless it says how many, the others something else."""
    counts = example.get("hiv_counts") or [[1] * len(release) for release in example["published"]]
    return Published.from_groups(
        [
            [
                (members, ["HIV"] * often + OTHERS[: len(members) - often])
                for members, often in zip(release, some, strict=True)
            ]
            for release, some in zip(example["published"], counts, strict=True)
        ]
    )


def risks(example: Any, findings: Any) -> dict[str, str]:
    return {who: str(findings.probability(who, "HIV")) for who in example["expect"]["HIV"]}


def test_three_invariance_betrays_p4(attacks: dict[str, Any]) -> None:
    example = attacks["three releases"]
    findings = Permanence().run(view(example), HIV)
    assert risks(example, findings) == example["expect"]["HIV"]
    assert findings.certain == {"p4": "HIV"}
    assert findings.excluded == {who: ["HIV"] for who in ("p1", "p5", "p6")}
    judged = findings.judge(THIRD)
    assert judged.status == "beyond"
    assert judged.findings[0].person == findings.published.people.index("p4")  # type: ignore[union-attr]
    assert judged.findings[0].release == 3
    # Section 4.1: all six are vulnerable then.
    danger = findings.vulnerable(3)
    assert (danger.linkable, danger.vulnerable, danger.certain, danger.excluded) == (6, 6, 1, 3)


def test_two_releases_have_five_assignments(attacks: dict[str, Any]) -> None:
    example = attacks["two releases"]
    findings = Permanence().run(view(example), HIV)
    assert findings.assignments == {"HIV": example["expect"]["assignments"]}
    assert risks(example, findings) == {who: str(Fraction(share)) for who, share in example["expect"]["HIV"].items()}
    assert findings.judge(THIRD).status == "beyond"
    assert not findings.certain
    assert not findings.excluded


def test_with_the_mechanism_known_everybody_is_a_third(attacks: dict[str, Any]) -> None:
    example = attacks["mechanism"]
    findings = Permanence().run(view(attacks["two releases"]), Knowledge(permanent=["HIV"], cohorts=3))
    assert findings.formations == {"HIV": example["expect"]["formations"]}
    assert findings.worlds == {"HIV": 6}
    assert risks(example, findings) == example["expect"]["HIV"]
    assert findings.judge(THIRD).status == "within"
    assert findings.judge(Limits(probability=Fraction(1, 4))).status == "beyond"
    # What he would conclude without it is told too.
    assert risks(attacks["two releases"], findings.without_mechanism) == attacks["two releases"]["expect"]["HIV"]
    assert findings.without_mechanism.judge(THIRD).status == "beyond"


def test_with_another_third_release_nobody_is_certain(attacks: dict[str, Any]) -> None:
    example = attacks["another third"]
    assert example["expect"]["nobody_certain"]
    findings = Permanence().run(view(example), Knowledge(permanent=["HIV"], cohorts=3))
    for told in (findings, findings.without_mechanism):
        assert not told.certain
        assert not told.excluded
    assert findings.formations == {"HIV": 1}
    assert findings.judge(THIRD).status == "within"


def test_three_invariance_cannot_come_from_three_cohorts(attacks: dict[str, Any]) -> None:
    findings = Permanence().run(view(attacks["three releases"]), Knowledge(permanent=["HIV"], cohorts=3))
    assert findings.formations == {"HIV": 0}
    assert any("no 3 cohorts agree" in told for told in findings.undecided)
    assert findings.certain == {"p4": "HIV"}
    assert findings.judge(THIRD).status == "beyond"
    # Nothing is bounded by cohorts that cannot be: a limit that nobody breaks is undecided all the same.
    assert findings.judge(Limits(probability=Fraction(1))).status == "undecided"


def test_knowing_who_is_present_defeats_every_generalisation(attacks: dict[str, Any]) -> None:
    example = attacks["everybody known"]
    findings = Permanence().run(view(example), HIV)
    assert risks(example, findings) == example["expect"]["HIV"]
    assert findings.certain == {"p4": "HIV"}
    # Without that knowledge the releases say nothing about each other: 2 of 6, or of 7 with p7 registered all along.
    unknown = Published.from_groups(
        [
            [(release[0], ["HIV"] * often[0])]
            for release, often in zip(example["published"], example["hiv_counts"], strict=True)
        ],
        single=False,
        certain=False,
    )
    blind = Permanence().run(unknown, HIV)
    assert {blind.probability(f"p{at}", "HIV") for at in range(1, 7)} == {Fraction(1, 3)}
    assert blind.probability("p7", "HIV") == Fraction(1, 6)
    assert blind.judge(THIRD).status == "within"
