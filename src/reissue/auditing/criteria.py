"""Singling out, linkability and inference: the three questions of the European opinion on anonymisation.

Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216): can somebody's record be
isolated, can two records of the same person be linked, can something be inferred about somebody? Each is answered
from the figures of an audit; what they do not answer is undecided, never met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reissue.attacks.base import Attack, Judgement, Limits
from reissue.auditing.limits import lacking, what_is_open
from reissue.auditing.risks import Risks
from reissue.auditing.words import COUNTED, limits_in_short
from reissue.errors import count_of

Answer = Literal["met", "not met", "undecided"]

ANATOMISED = (
    "The releases are anatomised: they show the quasi-identifiers of every row exactly, so that this fails by "
    "construction. The form is chosen because analysts get exact counts from it; what it protects is the tie between "
    "a person and a sensitive value."
)


@dataclass(frozen=True)
class Criterion:
    """One of the three questions, answered."""

    name: str
    question: str
    verdict: Answer
    evidence: str
    """Why, in a sentence or two, with counts."""


@dataclass(frozen=True)
class Judged:
    """What one attack found, held against the limits."""

    attack: str
    """Its name in the report."""
    by: Attack
    judgement: Judgement

    @property
    def words(self) -> str:
        """The finding as a sentence."""
        return _sentence(f"{self.attack}: {self.judgement.words}")


def criteria_of(
    risks: Risks,
    judged: Sequence[Judged],
    limits: Limits,
    *,
    threshold: float,
    anatomised: bool,
    permanent: bool = False,
    sets: bool = False,
    above: tuple[int, int, int] | None = None,
    linked: tuple[int, int] | None = None,
) -> tuple[Criterion, ...]:
    """Answer the three questions; `judged` is what the attacks found.

    `above` are a release, how many of its rows stand in groups that show one value with more than the limit, and of
    how many rows; `linked` how many rows of how many can be linked where nobody is known by name.
    """
    return (
        _singling_out(risks, threshold, anatomised, sets),
        _linkability(risks, anatomised, sets, linked),
        _inference(judged, limits, permanent, sets, above),
    )


def _singling_out(risks: Risks, threshold: float, anatomised: bool, sets: bool) -> Criterion:
    table = risks.table
    verdict: Answer = "met"
    if anatomised:
        verdict, evidence = "not met", ANATOMISED
    elif risks.alone:
        verdict = "not met"
        who = count_of(risks.alone, "row stands", "rows stand")
        theirs = "its" if risks.alone == 1 else "their"
        where = f"with {theirs} quasi-identifiers" if sets else "in a group"
        evidence = f"{who} alone {where}, so that somebody who knows the quasi-identifiers finds the row."
        if sets:
            evidence += " What is protected is the tie between a person and a sensitive value, not which row is theirs."
    elif sets and not table["smallest_group"].count():
        verdict, evidence = "undecided", "The view does not tell how many rows have the same quasi-identifiers."
    elif table["rows"].sum() == 0:
        verdict, evidence = "undecided", "The releases hold no rows."
    elif table["smallest_group"].count() and not table["prosecutor_at_risk"].count():
        # Rows are values of people who may be anybody registered: nobody is known to be in a group.
        behind: int = min(table["smallest_group"].drop_nulls().to_list())
        above: float = max(table["journalist_at_risk"].drop_nulls().to_list(), default=0.0)
        evidence = (
            f"Behind the rows of every group of every release stand at least {behind:,} people who may be meant. "
            f"Guessing among them finds somebody with a probability of {1 / behind:.1%} at worst; {above:.1%} of the "
            f"rows of a release, at most, are above the threshold of {threshold:g}."
        )
    else:
        smallest: int = min(table["smallest_group"].drop_nulls().to_list())
        at_risk: float = max(table["prosecutor_at_risk"].drop_nulls().to_list(), default=0.0)
        evidence = (
            f"No row stands alone: every group of every release has at least {smallest:,} that cannot be told apart. "
            f"Guessing among them finds a row with a probability of {1 / smallest:.1%} at worst; {at_risk:.1%} of the "
            f"rows of a release, at most, are above the threshold of {threshold:g}."
        )
    return Criterion("singling out", "Can the record of a person be isolated?", verdict, evidence)


def _linkability(risks: Risks, anatomised: bool, sets: bool, linked: tuple[int, int] | None) -> Criterion:
    question = "Can the records of one person in several releases be linked?"
    if anatomised:
        return Criterion("linkability", question, "not met", ANATOMISED)
    if risks.table.height == 1 and risks.alone and linked is not None:
        evidence = (
            "There is one release only, so that there is nothing to link within the series. But "
            f"{count_of(risks.alone, 'row stands', 'rows stand')} alone: whatever other table, or later release, has "
            "these quasi-identifiers can be linked to them. No other table was looked at."
        )
        return Criterion("linkability", question, "undecided", evidence)
    if risks.table.height == 1:
        evidence = (
            "There is one release only, so that there is nothing to link within the series. Other tables, and releases "
            "to come, were not looked at."
        )
        return Criterion("linkability", question, "undecided", evidence)
    if risks.followed is None and linked is not None and linked[0]:
        evidence = (
            f"Of {count_of(linked[1], 'row')} that a later release follows {linked[0]:,} stand alone with their "
            "quasi-identifiers, as does one row of the next release: whoever it is, if they stayed, both records are "
            "theirs."
        )
        return Criterion("linkability", question, "not met", evidence)
    if risks.followed is None:
        evidence = "It is not known who is in which group, so that people cannot be followed through the releases."
        return Criterion("linkability", question, "undecided", evidence)
    alone, several = risks.followed
    if not several:
        evidence = (
            "Nobody is in two releases, as far as names or ids tell. Where these are written differently from release "
            "to release, it is not known whose records belong together."
        )
        return Criterion("linkability", question, "undecided", evidence)
    people = count_of(several, "person in several releases", "people in several releases")
    if alone and sets:
        evidence = (
            f"Of {people} {alone:,} have a sequence of quasi-identifiers and sets that nobody else has. Sets are kept "
            "as long as values stay, so that rows can be followed: what is hidden is which value is the true one."
        )
        return Criterion("linkability", question, "not met", evidence)
    if alone:
        evidence = (
            f"Of {people} {alone:,} went through a sequence of groups that nobody else went through: somebody "
            "who knows when they were there can follow them from release to release."
        )
        return Criterion("linkability", question, "not met", evidence)
    evidence = f"Of {people} everybody shares the sequence of groups with somebody else."
    return Criterion("linkability", question, "met", evidence)


def _inference(
    judged: Sequence[Judged], limits: Limits, permanent: bool, sets: bool, above: tuple[int, int, int] | None
) -> Criterion:
    question = "Can more be inferred about a person than the limits allow?"
    asked = [one for one in judged if one.judgement.status != "not asked"]

    def told(*statuses: str) -> str:
        return " ".join(one.words for one in asked if one.judgement.status in statuses)

    if any(one.judgement.status == "beyond" for one in asked):
        return Criterion("inference", question, "not met", told("beyond"))
    if above is not None:
        number, rows, of = above
        evidence = (
            f"In release {number:,} {rows:,} of {count_of(of, 'row')} stand in groups that show one value with a share "
            f"of more than {limits.probability}: whoever is in them is tied to it."
        )
        return Criterion("inference", question, "not met", " ".join([evidence, told("undecided", "sampled")]).strip())
    if any(one.judgement.status != "within" for one in asked):
        return Criterion("inference", question, "undecided", told("undecided", "sampled"))
    missing = lacking([one.by for one in asked], limits, permanent=permanent, sets=sets)
    if not asked or missing:
        open_ = what_is_open(missing, permanent=permanent, sets=sets)
        evidence = f"No attack was run that proves what is asked: {open_}."
        if limits.probability is not None:
            evidence = f"No attack was run that bounds the probability of a value ({limits_in_short(limits)}) by proof."
        return Criterion("inference", question, "undecided", " ".join([told("within"), evidence]).strip())
    if limits.probability is not None or limits.diversity is None:
        return Criterion("inference", question, "met", told("within"))
    # What was found that is not part of the promise stands beside it.
    beside = [one.words for one in judged if one.judgement.status == "not asked" and "diversity" in one.by.tells]
    counted = f"{COUNTED[0].upper()}{COUNTED[1:]} or bounded."
    return Criterion("inference", question, "met", " ".join([told("within"), counted, *beside]))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
