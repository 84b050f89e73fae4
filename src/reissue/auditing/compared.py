"""Truth: how many of an outsider's conclusions about one's own series are right, as its ledger knows it.

An audit judges what can be concluded, by the outsider's view alone; whether that is true changes no verdict. But who is
called exposed is somebody about whom a conclusion is right, or of whom nobody here knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Finding
from reissue.attacks.sentences import Person, Place, Witness
from reissue.errors import count_of

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport

Mark = Literal["right", "wrong", "unknown"]
"""Whether a conclusion is true; `unknown` where nobody here knows, as of releases made elsewhere."""

MARKED: Mapping[Mark, str] = {
    "right": "right",
    "wrong": "wrong: they did not have it",
    "unknown": "whether it is right is not known here",
}
"""Marks in a few words, as they stand behind a finding."""


MISTAKEN = "What an outsider would conclude, and is wrong:"
"""Above findings that are not true."""


class Knowing(Protocol):
    """What knows the true values behind a report: the private side of a series."""

    def compare(self, report: AuditReport) -> Truth:
        """Hold what an outsider would conclude against them."""

    def refuted(self, people: Ints, positions: Ints) -> Bools:
        """Of people, by number, each with the position of a value in the view: who is known never to have had it."""


@dataclass(frozen=True)
class Marked:
    """Whether a finding is true, and for whom."""

    mark: Mark
    """The best that holds for somebody."""
    people: tuple[int, ...]
    """The people it is about: those first for whom it is right, then those of whom that is not known."""
    right: int
    """For how many of them it is right."""


@dataclass(frozen=True)
class Counted:
    """Conclusions, counted by whether they are true."""

    claims: int = 0
    right: int = 0
    wrong: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Compared:
    """The conclusions of one attack, each counted."""

    attack: str
    column: str | None
    """The sensitive column that they are about, where they are about one of several; None: values, or whole records."""
    certain: Counted
    """That somebody has a value, for certain."""
    above: Counted
    """That somebody has a value, with more than the limits allow: the likeliest one."""
    excluded: Counted
    """That somebody does not have a value."""


@dataclass(frozen=True, repr=False)
class Truth:
    """What the ledger says about an outsider's conclusions. It is as private as the ledger."""

    attacks: tuple[Compared, ...]
    """Attack by attack, in the order they were run; those that concluded nothing are left out."""
    certain: Counted
    """People about whom an outsider would be certain, by any attack: right if one of these conclusions is."""
    above: Counted
    """Those, and people who are tied to a value with more than the limits allow, by any attack."""
    several: int
    """People who are in several of the tables that the releases were made from."""
    changed: int
    """Those of them whose values were not the same in all."""
    replaced: int
    """People who were published with another value than their own."""
    misled_changed: int
    """Those of `misled` whose own value changed."""
    misled_replaced: int
    """Those of the others of `misled` who were published with another value than their own."""
    misled_by_others: int
    """Those of the others about whom an outsider would be certain: values of people beside them changed or were
    replaced. What is left of `misled` was likely only."""
    static: tuple[str, ...]
    """The attacks that were run and take values to be static."""
    marks: Mapping[Finding, Marked] = field(default_factory=dict, compare=False)
    """Private: whether findings are true; those that are not about values are not among them."""
    wrong_people: Mapping[str, Ints] = field(default_factory=dict, compare=False)
    """Private: by attack the people about whom it concludes something wrong, by number."""
    misled_people: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False)
    """Private: the people of `misled`, by number."""
    unsteady: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False)
    """Private: the people whose value changed or was replaced, by number."""
    shaken: Mapping[int, Ints] = field(default_factory=dict, compare=False)
    """Private: by release the groups, counted from 1, in which such people are."""

    @property
    def exposed(self) -> int:
        """People about whom one of these conclusions is right."""
        return self.above.right

    @property
    def misled(self) -> int:
        """People about whom there are such conclusions, and all are wrong."""
        return self.above.wrong

    @property
    def unknown(self) -> int:
        """The others: nobody here knows whether a conclusion about them is right."""
        return self.above.unknown

    def __repr__(self) -> str:
        return f"Truth({self.exposed:,} people exposed, {self.misled:,} misjudged, {self.unknown:,} not known)"

    def of(self, finding: Finding) -> Mark | None:
        """Whether a finding is true, of somebody if it is about several; None where it is not about values."""
        marked = self.marks.get(finding)
        return None if marked is None else marked.mark

    def told(self, finding: Finding) -> str:
        """The same in a few words; nothing where it is None."""
        marked = self.marks.get(finding)
        if marked is None:
            return ""
        if marked.mark == "right" and len(marked.people) > marked.right:
            return f"right for {marked.right:,} of {len(marked.people):,} people"
        return MARKED[marked.mark]

    def ordered(self, finding: Finding) -> Finding:
        """A finding with those of its people first for whom it is right."""
        marked = self.marks.get(finding)
        return finding if marked is None or marked.people == finding.people else replace(finding, people=marked.people)

    def doubts(self, attack: str, witness: Witness) -> bool:
        """Whether a derivation names somebody about whom its attack is wrong, or, if it takes values to be static,
        somebody whose value was not, or a group that they are in."""
        parts = [part for sentence in witness.sentences for part in sentence]
        named = [part.number for part in parts if isinstance(part, Person)]
        if bool(np.isin(named, self.wrong_people.get(attack, self.unsteady[:0])).any()):
            return True
        places = [part for part in parts if isinstance(part, Place)]
        return attack in self.static and (
            bool(np.isin(named, self.unsteady).any())
            or any(one.group in self.shaken.get(one.release, self.unsteady[:0]) for one in places)
        )

    @property
    def words(self) -> tuple[str, ...]:
        """What a reader must know first, in sentences."""
        return (self.conclusion, *self._why())

    @property
    def conclusion(self) -> str:
        """How many conclusions there are, how many are wrong, and who is exposed."""
        if not self.above.claims:
            return "An outsider would be certain of nobody's value, and ties nobody to one beyond the limits."
        told = ["An outsider would be certain of nobody's value."]
        if self.certain.claims:
            people = count_of(self.certain.claims, "person", "people")
            told = [f"An outsider would be certain about {people}.", *_judged(self.certain)]
        if self.above.claims > self.certain.claims:
            people = count_of(self.above.claims, "person", "people")
            them = ", those included" if self.certain.claims else ""
            told += [f"With more than the limits allow they would tie {people} to a value{them}.", *_judged(self.above)]
        open_ = f"; of {self.unknown:,} more it is not known here" if self.unknown else ""
        exposed = "Nobody is" if not self.exposed else count_of(self.exposed, "person is", "people are")
        return f"{' '.join(told)} {exposed} exposed{open_}."

    def _why(self) -> list[str]:
        told = []
        if self.misled:
            likely = self.misled - self.misled_changed - self.misled_replaced - self.misled_by_others
            reasons = (
                (self.misled_changed, "had a value that changed"),
                (self.misled_replaced, "published with another value than their own"),
                (self.misled_by_others, "mistaken because values of others changed or were replaced"),
                (likely, "likely to have the value, and not certain"),
            )
            parts = "; ".join(f"{many:,} {words}" for many, words in reasons if many)
            told.append(f"Why conclusions about {count_of(self.misled, 'person', 'people')} are wrong: {parts}.")
        if self.changed and self.static:
            *most, last = self.static
            names, form = (f"{', '.join(most)} and {last}", "take") if most else (last, "takes")
            told.append(
                f"{names} {form} values to be static, and the ledger says that they are not: of "
                f"{count_of(self.several, 'person', 'people')} in several tables {self.changed:,} had another value "
                "than before."
            )
        return told

    def to_dict(self) -> dict[str, Any]:
        """Everything but who it is about, as plain data."""
        return {
            "words": list(self.words),
            **{name: getattr(self, name) for name in ("exposed", "misled", "unknown")},
            **{one.name: getattr(self, one.name) for one in fields(self) if one.type == "int"},
            "certain": asdict(self.certain),
            "above": asdict(self.above),
            "attacks": [asdict(one) for one in self.attacks],
        }


def _judged(counted: Counted) -> list[str]:
    """How many of some conclusions are wrong, in words."""
    told = []
    if counted.wrong and counted.claims == 1:
        told.append("That is wrong: they never had the value.")
    elif counted.wrong:
        are = "is" if counted.wrong == 1 else "are"
        told.append(f"{counted.wrong:,} of these conclusions {are} wrong: they never had the value.")
    elif not counted.unknown:
        told.append("That is right." if counted.claims == 1 else "All of these conclusions are right.")
    if counted.unknown:
        told.append(f"Of {counted.unknown:,} it is not known here whether they are right.")
    return told
