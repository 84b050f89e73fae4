"""What the attacks of an audit may lean on, and what falls with an assumption that does not hold.

Where the releases contradict an assumption, or somebody said that it does not hold, nothing may rest on it. An attack
that can do without it looks at each release alone (`Attack.alone`); all others are withdrawn. Where values contradict
each other and nobody said why, cells may have been perturbed as well as have changed: what single releases show is
then told under that condition.

Of one's own series the ledger knows which conclusions are wrong. Nothing is withdrawn there but what somebody said not
to hold: the report says what an outsider would conclude, and marks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reissue.attacks.base import Attack, Finding, Findings, Judgement
from reissue.attacks.conditional import ConditionalFindings
from reissue.auditing.contradicted import SHORT
from reissue.model.assumptions import Assumption, AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published

OVER_TIME: frozenset[AssumptionName] = frozenset(("values-stay", "cells-stay", "nobody-leaves"))
"""What is assumed of several releases only."""


@dataclass(frozen=True)
class Leaning:
    """The assumptions of an audit, and what follows for its attacks."""

    assumptions: tuple[Assumption, ...]
    several: bool
    """Whether there are several releases."""
    on: frozenset[AssumptionName]
    """What conclusions from this view can rest on."""
    marked: bool = False
    """Whether a ledger knows which conclusions are wrong: what an outsider would conclude is then told, and marked."""

    @classmethod
    def of(cls, assumptions: Sequence[Assumption], published: Published, *, marked: bool = False) -> Leaning:
        """From what was tested of a view."""
        on: set[AssumptionName] = {
            "values-stay",
            "values-permanent",
            "values-follow",
            "groups-minimal",
            "unperturbed",
            "suppressed-class",
        }
        if not published.exact:
            on.add("nobody-leaves")
        if any(release.space is not None for release in published.plain):
            on.add("cells-stay")
        elif published.tested:
            # What did not hold when the view was put together is not in it.
            on.add("cells-stay")
            on.update(one.name for one in published.tested if one.carries)
        return cls(tuple(assumptions), len(published.releases) > 1, frozenset(on), marked)

    @property
    def fallen(self) -> frozenset[AssumptionName]:
        """What nothing may rest on."""
        keeps = ("dropped",) if self.marked else ("dropped", "refuted")
        fallen: set[AssumptionName] = {one.name for one in self.assumptions if one.status in keeps}
        if "unperturbed" in fallen and self.several:
            # Who had the same value in all releases need not be shown with the same.
            fallen.add("values-stay")
        return frozenset(fallen)

    @property
    def doubted(self) -> bool:
        """Whether cells may have been perturbed: values disagree, and nobody said why."""
        status = {one.name: one.status for one in self.assumptions}
        unexplained = status.get("values-stay") == "refuted" and status.get("unperturbed") == "untested"
        return unexplained and not self.marked

    def knowledge(self, knowledge: Knowledge | None) -> Knowledge | None:
        """What the adversary knows, without what does not hold."""
        if not self.fallen:
            return knowledge
        return (knowledge or Knowledge()).without(self.fallen)

    def without(self, refuted: Sequence[Assumption]) -> Leaning:
        """The same with what an attack saw that the releases contradict."""
        seen = {one.name: one for one in refuted}
        return replace(self, assumptions=tuple(seen.get(one.name, one) for one in self.assumptions))

    def withdrawn(self, attack: Attack) -> str:
        """Why an attack is not run; empty where it is."""
        leans = {*attack.rests_on} | ({"values-stay"} if attack.static else set())
        fallen = self.fallen & leans & self.on
        without = {*attack.alone} if self.several else {*OVER_TIME, "unperturbed"}
        names = [one for one in self.assumptions if one.name in fallen and one.name not in without]
        if not names:
            return ""
        told = " ".join(f"It takes for granted that {SHORT[one.name]}, {_why_not(one)}." for one in names)
        return f"Withdrawn. {told}"

    def apart(self, attack: Attack, knowledge: Knowledge | None) -> bool:
        """Whether an attack looks at each release alone; not where it is said how values change."""
        modelled = knowledge is not None and knowledge.change is not None
        return self.several and "values-stay" in self.fallen & {*attack.alone} and not modelled

    def conditional(self, attack: Attack, findings: Findings) -> Findings:
        """Findings as they may be told: under a condition where it is in doubt, or known not to hold."""
        perturbed = "unperturbed" in self.fallen
        if not (perturbed or self.doubted):
            return findings
        return ConditionalFindings(findings, ("unperturbed",), known=perturbed, beside=self.carrying(attack))

    def resting(self, attack: Attack, judgement: Judgement) -> Judgement:
        """A judgement whose findings say what they rest on."""
        names = self.carrying(attack)
        findings = tuple(replace(one, rests_on=one.rests_on or names) for one in judgement.findings)
        return replace(judgement, findings=tuple(map(_supposing, findings)))

    def carrying(self, attack: Attack) -> tuple[AssumptionName, ...]:
        """What the conclusions of an attack rest on here."""
        named = {one.name for one in self.assumptions} & self.on - self.fallen
        said = {one.name for one in self.assumptions if one.status == "said"}
        helping = (name for name in attack.helped_by if name in named & said)
        return (*helping, *(name for name in attack.rests_on if name in named))


def _supposing(finding: Finding) -> Finding:
    """A finding about somebody of whom nobody knows whether they are in a release rests on their being in it."""
    if not finding.supposed:
        return finding
    return replace(finding, rests_on=tuple(dict.fromkeys((*finding.rests_on, "presence"))))


def _why_not(one: Assumption) -> str:
    """Why an assumption does not carry, in words."""
    told = {"refuted": "which the releases contradict", "dropped": "which is said not to be so"}
    return told.get(one.status, "which cells that were perturbed do not show")
