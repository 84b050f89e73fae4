"""A finding as a picture: the groups of its derivation, the values that each shows, and the person's way through them.

It shows what the words of the witness say, with the same letters for the same values, and no more than those may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from reissue.attacks.base import Finding
from reissue.attacks.sentences import Cell, Place, Secret, Value, letter
from reissue.auditing import whereabouts
from reissue.auditing.compared import Truth
from reissue.auditing.contradicted import SHORT
from reissue.auditing.naming import Naming
from reissue.auditing.subject import Subject
from reissue.auditing.words import KINDS, brief, joined
from reissue.errors import count_of
from reissue.model.published import Published
from reissue.pages.pictures import Picture
from reissue.pages.traces import Chip, State, Stop, has_room, trace

STOPS = 3
"""So many groups are drawn; a longer derivation is told in words."""
CHIPS = 5
"""So many values of a group are drawn."""
CERTAIN = 1 - 1e-12
DOUBTFUL = ("conditional", "undecided")
"""What follows only if something holds, or may not follow at all: it is drawn with dashes."""
LETTERS = 36
"""So many letters of a file's name have room."""
LINES = (8, 6, 4, 3, 2, 1)
"""So many lines of a file are told, as many as have room."""


@dataclass(repr=False)
class Lettering:
    """How values are called in one finding: by name, or by the letters that its witness gives them."""

    naming: Naming
    finding: Finding
    letters: dict[object, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.naming.show_values:
            return
        for sentence in self.finding.witness.sentences:
            for part in sentence:
                if isinstance(part, Cell):
                    self._lettered((part.column, part.position))
                elif isinstance(part, Value) and not isinstance(part, Secret):
                    self._lettered(part.position)

    def value(self, position: int) -> str:
        """A value of the view, or of the column that the finding is about."""
        column = self.finding.column
        if not self.naming.show_values:
            return f"value {self._lettered(position if column is None else (column, position))}"
        published = self.naming.published
        own: Sequence[object] = published.values
        if column is not None:
            own = next(one.values for one in published.columns if one.name == column)
        return str(own[position])

    def _lettered(self, key: object) -> str:
        return self.letters.setdefault(key, letter(len(self.letters)))


def learnt(finding: Finding, lettering: Lettering) -> str:
    """What a finding says of somebody, in a few words: `has influenza`."""
    values = finding.among or (() if finding.value is None else (finding.value,))
    if finding.what in ("equivalence", "correlation"):
        several = len(finding.people) > 2
        return f"has the same value as {'others' if several else 'somebody else'}"
    if not values:
        return "has few values left" if finding.what == "channel" else "cannot have some values that their groups show"
    if len(values) > 1:
        told = [lettering.value(value) for value in values[:3]]
        more = len(values) - len(told)
        *first, last = [*told, f"{more:,} more"] if more else told
        return f"has {', '.join(first)} or {last}"
    if finding.probability is None or finding.probability >= CERTAIN:
        return f"has {lettering.value(values[0])}"
    return f"has {lettering.value(values[0])} with probability {finding.probability:.3g}"


def said_of(finding: Finding, naming: Naming) -> str:
    """What is learnt of whom: `person 17 has influenza`."""
    who = naming.who(finding) if finding.people else "whoever is in this group"
    return f"{who} {learnt(finding, Lettering(naming, finding))}"


def stated(finding: Finding, naming: Naming) -> str:
    """The same, with the condition that it is so under, where that is in doubt."""
    said = said_of(finding, naming)
    if finding.supposed:
        said = f"if they are in a release, {said}"
    return f"if these cells are true, {said}" if finding.kind == "conditional" else said


def since(finding: Finding) -> str:
    """When it is learnt: `from release 2 on`; empty where that is not said."""
    if finding.release is None:
        return ""
    # What does not need values to stay is said of one release.
    alone = bool(finding.rests_on) and "values-stay" not in finding.rests_on
    return f"in release {finding.release:,}" if alone else f"from release {finding.release:,} on"


def how_sure(finding: Finding, truth: Truth | None) -> str:
    """How sure, since when, by which attack, resting on what, and whether it is true: `certain, from release 2 on`."""
    sure = finding.kind == "exact" and finding.probability is not None and finding.probability >= CERTAIN
    told = ["certain" if sure else KINDS[finding.kind]]
    if finding.supposed:
        told[0] += " if they are in a release"
    if when := since(finding):
        told.append(when)
    told.append(f"by {finding.attack}")
    # What is conditional says so already.
    rests_on = [name for name in finding.rests_on if name != "unperturbed" or finding.kind != "conditional"]
    # What supposes that they are there says so already.
    rests_on = [name for name in rests_on if name != "presence" or not finding.supposed]
    if rests_on:
        told.append(f"if {joined(SHORT[name] for name in rests_on)}")
    if mark := "" if truth is None else truth.told(finding):
        told.append("right, as the ledger knows" if mark == "right" else mark)
    return ", ".join(told)


def in_short(finding: Finding, naming: Naming, subject: Subject | None, truth: Truth | None) -> str:
    """A finding in a line, with the rows to look at."""
    places = list(whereabouts.places_in(finding.witness))
    if finding.people:
        places = [one for one in places if _holds(naming.published, one, finding)]
    own = [place for place in places if place.release == finding.release] or places[-1:]
    where = whereabouts.told(naming.published, subject, own[-1]) if own else None
    says = said_of(finding, naming) if naming.show_values else _without_value(finding, naming)
    if where is not None and not finding.people:
        return f"{where}: {says}, {how_sure(finding, truth)}"
    return f"{says}: {how_sure(finding, truth)}{'' if where is None else f'; {where}'}"


def _holds(published: Published, place: Place, finding: Finding) -> bool:
    """Whether the person of a finding is known to be in a group, or would be if they are in its release."""
    return whereabouts.holds(published, place, finding.people[0], supposed=finding.supposed)


def _without_value(finding: Finding, naming: Naming) -> str:
    """What is learnt of whom where values are hidden; letters would say nothing without the derivation."""
    who = naming.who(finding) if finding.people else "whoever is there"
    several = len(finding.among)
    if finding.what in ("equivalence", "correlation"):
        return said_of(finding, naming)
    if finding.value is None and several != 1:
        return f"{who} has few values left" if several < 2 else f"{who} has {several} values left"
    if finding.probability is None or finding.probability >= CERTAIN:
        return f"{who} has one value left"
    return f"{who} has a value with probability {finding.probability:.3g}"


def picture_of(finding: Finding, naming: Naming, subject: Subject | None) -> Picture | None:
    """The picture of a finding; None where its derivation names no group."""
    says = stated(finding, naming)
    published, lettering = naming.published, Lettering(naming, finding)
    person = finding.people[0] if finding.people else None
    places = list(whereabouts.places_in(finding.witness))
    found = [_stop(published, subject, place, finding, lettering) for place in places[:STOPS]]
    stops = [stop for stop in found if stop is not None]
    if not stops and person is not None and published.sets:
        stops = _sets(published, person, finding, lettering)
    because = "" if finding.kind in DOUBTFUL else "So "
    if len(places) > STOPS:
        because = f"With {count_of(len(places) - STOPS, 'more group')}, "
    elif finding.people and not _by_groups_alone(stops):
        because = "By what is known of the others in these groups, "
    outcome = f"{because}{says}."
    if finding.kind == "undecided":
        outcome = f"Not known: whether {says}."
    return trace(
        f"How it follows: {says}",
        naming.witness(finding),
        stops,
        f"{outcome[:1].upper()}{outcome[1:]}" if finding.kind == "conditional" else outcome,
        sure=finding.kind not in DOUBTFUL,
    )


def _by_groups_alone(stops: Sequence[Stop]) -> bool:
    """Whether the picture says it all: no value that is crossed out is in all of the person's groups."""
    shown = [{chip.text: chip.state for chip in stop.chips} for stop in stops if stop.through and not stop.more]
    whole = all(stop.through for stop in stops) and len(shown) == len(stops)
    return whole and not any(state == "out" for text, state in shown[0].items() if all(text in one for one in shown))


def _stop(
    published: Published, subject: Subject | None, place: Place, finding: Finding, lettering: Lettering
) -> Stop | None:
    """A group of the derivation; None for one of a release that has no groups."""
    release = next((one for one in published.plain if one.number == place.release), None)
    if release is None or not 0 < place.group <= release.group_count:
        return None
    positions, counts = release.values_of(place.group - 1)
    inside = not finding.people or bool(np.isin(finding.people[:1], release.members_of(place.group - 1)).any())
    chips, more = _chips(published, positions.tolist(), counts.tolist(), finding, lettering, inside)
    told = whereabouts.file_of(subject, place.release)
    told = told and brief(told, LETTERS)
    if whereabouts.lines_of(release, place.group):
        ways = [whereabouts.told(published, subject, place, most, LETTERS) for most in LINES]
        told = next((way for way in ways if way and has_room(way)), ways[-1])
    through = not finding.people or (inside and _holds(published, place, finding))
    return Stop(f"release {place.release:,}, group {place.group:,}", chips, told or "", more, through)


def _chips(
    published: Published,
    positions: Sequence[int],
    counts: Sequence[int],
    finding: Finding,
    lettering: Lettering,
    inside: bool,
) -> tuple[tuple[Chip, ...], int]:
    """The values that a group shows, and how many have no room; what is left for the person comes first."""
    if finding.column is not None:
        of = next(one.of for one in published.columns if one.name == finding.column)
        merged: dict[int, int] = {}
        for position, count in zip(positions, counts, strict=True):
            merged[int(of[position])] = merged.get(int(of[position]), 0) + count
        positions, counts = list(merged), list(merged.values())
    left = {*finding.among} or ({finding.value} if finding.value is not None else set())
    sure = len(left) > 1 or finding.probability is None or finding.probability >= CERTAIN

    def state(position: int) -> State:
        if not inside or not left:
            return "open"
        if finding.kind in DOUBTFUL:
            return "doubted" if position in left else "open"
        return "left" if position in left else "out" if sure else "open"

    ordered = sorted(zip(positions, counts, strict=True), key=lambda one: (one[0] not in left, -one[1], one[0]))
    chips = tuple(Chip(lettering.value(position), count, state(position)) for position, count in ordered[:CHIPS])
    return chips, len(ordered) - len(chips)


def _sets(published: Published, person: int, finding: Finding, lettering: Lettering) -> list[Stop]:
    """The sets of values that somebody is shown with, where releases show sets."""
    stops = []
    for one in published.sets:
        rows = np.flatnonzero(one.people == person)
        if not rows.size or finding.column is not None:
            continue
        positions, counts = np.unique(one.codes[rows[0]].astype(np.int64), return_counts=True)
        shown = positions < len(published.values)
        chips, more = _chips(
            published, positions[shown].tolist(), counts[shown].tolist(), finding, lettering, inside=True
        )
        stops.append(Stop(f"release {one.number:,}, their set", chips, more=more))
    return stops[-STOPS:]
