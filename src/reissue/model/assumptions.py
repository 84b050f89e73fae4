"""Assumptions: what conclusions over several releases rest on, and what the releases themselves say about it.

A conclusion is as sure as what it rests on. Each assumption is said by somebody or taken to hold; where the releases
can contradict it they are asked, and what a contradicted assumption carried is no conclusion any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

AssumptionName = Literal[
    "values-stay",
    "values-permanent",
    "values-follow",
    "cells-stay",
    "nobody-leaves",
    "presence",
    "registry-complete",
    "unperturbed",
    "suppressed-class",
    "groups-minimal",
]
ASSUMPTIONS: tuple[AssumptionName, ...] = get_args(AssumptionName)

AssumptionStatus = Literal["holds", "said", "untested", "refuted", "dropped"]
"""`holds`: tested, and nothing contradicts it; `said`: somebody said so, and nothing contradicts it; `untested`: these
releases cannot contradict it; `refuted`: they do; `dropped`: somebody said that it does not hold."""

IN_WORDS: dict[AssumptionName, str] = {
    "values-stay": "Whoever is in several releases has the same value in all of them.",
    "values-permanent": "Nobody ever loses a value that was said to be permanent.",
    "values-follow": "Values change as was said, and not otherwise.",
    "cells-stay": "The quasi-identifiers of people are the same in all releases.",
    "nobody-leaves": "Nobody who is in a release is missing from a later one, and everybody has one row in each.",
    "presence": "Who is in which release is as was said.",
    "registry-complete": "Everybody in the releases is in the registry, and has one row in each.",
    "unperturbed": "Cells are published as they were recorded: nothing was swapped, drawn anew or noised.",
    "suppressed-class": "A suppressed row belongs to no class that is published.",
    "groups-minimal": "Groups had to keep what was said, and none is larger or coarser than that asks.",
}


@dataclass(frozen=True)
class Assumption:
    """One assumption of an audit."""

    name: AssumptionName
    status: AssumptionStatus
    contradictions: int = 0
    """How many cells, groups or people of the releases contradict it."""
    evidence: str = ""
    """How that was seen, in a sentence with counts; no names and no values."""

    @property
    def words(self) -> str:
        """What is assumed, in a sentence."""
        return IN_WORDS[self.name]

    @property
    def carries(self) -> bool:
        """Whether conclusions may rest on it."""
        return self.status not in ("refuted", "dropped")
