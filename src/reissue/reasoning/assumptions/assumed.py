"""The assumptions of an audit, each with what the releases say about it.

    values-stay        `values_stayed`, and `nobody_left` where nobody is known and nobody is said to leave
    nobody-leaves      `nobody_left`, where it is said
    presence, registry-complete, cells-stay
                       tested where the view was put together from a registry (`Published.tested`)
    unperturbed        no release by itself tells; values that do not agree may be it as well as change
    suppressed-class   somebody must say it

If all that is assumed holds, nothing is refuted. The other way round is not so: what the releases do not contradict
may be false all the same, and conclusions say what they rest on.
"""

from __future__ import annotations

from dataclasses import replace

from reissue.errors import count_of
from reissue.model.assumptions import Assumption, AssumptionName, AssumptionStatus
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.assumptions.nobody_left import Stayed, stayed
from reissue.reasoning.assumptions.values_stayed import agreed_by_candidates, agreed_exactly

DROPPED = "Somebody said that it does not hold."
NOT_ALL = " There was no time, or no room, to look at everything."
SHAPES = {
    "nobody": "Nobody is known by name: without knowing that nobody leaves, rows that differ may be other people's.",
    "several": "People may have several values or none, so that no two releases contradict each other.",
    "sets": "Everybody is shown with a set of values; how these change is declared.",
    "places": "Somebody is listed in two places of a release.",
}


def assumptions_of(
    published: Published, knowledge: Knowledge | None = None, deadline: float | None = None
) -> tuple[Assumption, ...]:
    """Test everything that conclusions from a view can rest on; where the deadline passes first it says so."""
    knowledge = knowledge or Knowledge()
    told = {one.name: _said(one, knowledge) for one in published.tested}
    several = len(published.releases) > 1
    if several:
        told |= _over_time(published, knowledge, deadline)
    if several and any(release.space is not None for release in published.plain):
        why = "It is not known who is in which group."
        told.setdefault("cells-stay", _said(Assumption("cells-stay", "untested", evidence=why), knowledge))
    if several and knowledge.permanent:
        told["values-permanent"] = Assumption("values-permanent", "said", evidence="Somebody said which ones.")
    if several and knowledge.change is not None and not knowledge.change.free:
        told["values-follow"] = _said(Assumption("values-follow", "said", evidence="Somebody said how."), knowledge)
    if knowledge.minimal:
        why = "Somebody said what groups had to keep."
        told["groups-minimal"] = _said(Assumption("groups-minimal", "said", evidence=why), knowledge)
    told["unperturbed"] = _unperturbed(knowledge, told.get("values-stay"))
    for name in ("nobody-leaves", "presence", "registry-complete", "cells-stay", "suppressed-class"):
        if name in knowledge.said or name in knowledge.dropped:
            told.setdefault(name, _said(Assumption(name, "untested"), knowledge))
    return tuple(sorted(told.values(), key=lambda one: _ORDER.index(one.name)))


_ORDER: tuple[AssumptionName, ...] = (
    "values-stay", "values-permanent", "values-follow", "nobody-leaves", "cells-stay", "presence", "registry-complete",
    "unperturbed", "suppressed-class", "groups-minimal",
)  # fmt: skip


def _said(one: Assumption, knowledge: Knowledge) -> Assumption:
    """With what somebody says about it, unless the releases say otherwise."""
    if one.name in knowledge.dropped:
        return Assumption(one.name, "dropped", evidence=DROPPED)
    return replace(one, status="said") if one.name in knowledge.said and one.status != "refuted" else one


def _over_time(published: Published, knowledge: Knowledge, deadline: float | None) -> dict[AssumptionName, Assumption]:
    """That values stay, and that nobody leaves where that is said."""
    changing = _changing(knowledge)
    values = Assumption("values-stay", "dropped", evidence=changing) if changing else None
    leaving: Assumption | None = None
    rest = any(one.space is not None and one.space.rest is not None for one in published.plain)
    if "nobody-leaves" in knowledge.said and not published.sets:
        leaving, both = _of_people(stayed(published, deadline), rest=rest)
        values = values or both
    elif knowledge.growing is None and published.plain and all(one.space is not None for one in published.plain):
        # What would follow if nobody left is told where nobody is known, so long as nothing contradicts it.
        supposed, both = _of_people(stayed(published, deadline), rest=rest)
        leaving = supposed if supposed.status == "refuted" and both is None else None
    values = values or _said(_of_values(published, deadline), knowledge)
    told: dict[AssumptionName, Assumption] = {"values-stay": values}
    return told if leaving is None else {**told, "nobody-leaves": leaving}


def _changing(knowledge: Knowledge) -> str:
    """Why values are known to change; empty where they are not."""
    if "values-stay" in knowledge.dropped:
        return DROPPED
    if knowledge.permanent:
        return "All values but the permanent ones may change."
    return "It is said how values change." if knowledge.change is not None else ""


def _of_people(found: Stayed, *, rest: bool) -> tuple[Assumption, Assumption | None]:
    """What was found of people who were said to stay, and of their values where both cannot hold; `rest`: suppressed
    rows were said to belong to no published class."""
    if found.people:
        why = f"{count_of(found.people, 'person is', 'people are')} missing from a release after one that they are in."
        return Assumption("nobody-leaves", "refuted", found.people, why), None
    if found.cells.sets:
        lost = count_of(found.cells.rows, "row")
        why = (
            f"{_cells(found.cells.sets)} more rows than a later release has places for: {lost} left. Either "
            "people left or had several rows, or their quasi-identifiers changed"
            f"{', or suppressed rows belong to published classes' if rest else ''}."
        )
        return Assumption("nobody-leaves", "refuted", found.cells.sets, why), None
    if found.values.sets:
        lost = count_of(found.values.rows, "row")
        why = (
            f"{_cells(found.values.sets)} more rows of one value than a later release has places for: {lost} left. "
            "Not both can hold, that values stay and that nobody leaves, if quasi-identifiers stay"
            f"{' and suppressed rows belong to no published class' if rest else ''}."
        )
        return (
            Assumption("nobody-leaves", "refuted", found.values.sets, why),
            Assumption("values-stay", "refuted", found.values.sets, why),
        )
    pairs = count_of(found.compared, "pair")
    why = f"No cell of {pairs} of releases loses rows.{'' if found.complete else NOT_ALL}"
    return Assumption("nobody-leaves", "said" if found.compared else "untested", evidence=why), None


def _cells(sets: int) -> str:
    return "1 cell, or set of cells, has" if sets == 1 else f"{sets:,} cells, or sets of cells, have"


def _of_values(published: Published, deadline: float | None) -> Assumption:
    """What the releases say about values that stay."""
    shape = _shape(published)
    if shape is not None:
        return Assumption("values-stay", "untested", evidence=SHAPES[shape])
    found = agreed_exactly(published, deadline) if published.exact else agreed_by_candidates(published, deadline)
    contradictions = found.people + found.parts
    if not contradictions:
        status: AssumptionStatus = "holds" if found.complete else "untested"
        more = "" if found.complete else NOT_ALL
        return Assumption("values-stay", status, evidence=f"No two releases contradict each other about anybody.{more}")
    told = []
    if found.people:
        told.append(f"{count_of(found.people, 'person has', 'people have')} no value that all their groups show.")
    if found.parts:
        told.append(
            f"In {count_of(found.parts, 'part')} of the series there is no way to give everybody one value for all "
            "releases."
        )
    if published.tested:
        told.append("That is so if everybody is where the registry, and what was said of who is there, has them.")
    return Assumption("values-stay", "refuted", contradictions, " ".join(told))


def _shape(published: Published) -> str | None:
    """Why values cannot be tested in a view; None where they can."""
    if published.sets:
        return "sets"
    if any(release.space is not None for release in published.plain):
        return "nobody"
    if not published.single:
        return "several"
    return "places" if published.exact and published.index.again[0].any() else None


def _unperturbed(knowledge: Knowledge, values: Assumption | None) -> Assumption:
    """Whether cells are published as they were recorded: somebody must say it."""
    if "unperturbed" in knowledge.dropped:
        how = f" ({knowledge.perturbed.strip()})" if knowledge.perturbed else ""
        return Assumption("unperturbed", "dropped", evidence=f"Cells are said to be perturbed{how}.")
    if "unperturbed" in knowledge.said:
        return Assumption("unperturbed", "said", evidence="Somebody said so.")
    why = "No release tells by itself whether its cells were perturbed."
    if values is not None and values.status == "refuted":
        why = "Values that contradict each other may have been perturbed as well as have changed."
    return Assumption("unperturbed", "untested", evidence=why)
