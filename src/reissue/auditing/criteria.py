"""Singling out, linkability and inference: the three questions of the European opinion on anonymisation.

Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP 216): can somebody's record be
isolated, can two records of the same person be linked, can something be inferred about somebody? Each is answered
from the figures of an audit; what they do not answer is undecided, never met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reissue.attacks.base import Judgement, Limits
from reissue.auditing.risks import Risks
from reissue.auditing.words import COUNTED, limits_in_short
from reissue.errors import count_of

Answer = Literal["met", "not met", "undecided"]

ANATOMISED = (
    "The releases are anatomised: they show the quasi-identifiers of every row exactly, so that this fails by "
    "construction. The form is chosen because analysts get exact counts from it; what it protects is the tie between "
    "a person and a sensitive value."
)


BOUND_NOTHING = ("Equivalence", "Correlation", "Channels")
"""Attacks that look for one kind of leak: what they do not find, a stronger argument may."""
_AGAIN = re.compile(r" \d+$")
"""What follows the name of an attack that is run once more."""


@dataclass(frozen=True)
class Criterion:
    """One of the three questions, answered."""

    name: str
    question: str
    verdict: Answer
    evidence: str
    """Why, in a sentence or two, with counts."""


def criteria_of(
    risks: Risks,
    judgements: Sequence[tuple[str, Judgement]],
    limits: Limits,
    *,
    threshold: float,
    anatomised: bool,
    permanent: bool = False,
) -> tuple[Criterion, ...]:
    """Answer the three questions; `judgements` are those of the attacks, by name."""
    return (
        _singling_out(risks, threshold, anatomised),
        _linkability(risks, anatomised),
        _inference(judgements, limits, permanent),
    )


def lacking(asked: Iterable[str], limits: Limits, *, permanent: bool = False) -> tuple[str, ...]:
    """The attacks without which it is not proven that the limits are kept, if none of those asked can prove it.

    A probability, or the number of values by all releases together, takes `Worlds` or, where all but `permanent`
    values may change, `Permanence`; the number of values by any two releases, where more is asked of them than of all
    together, takes `Channels`; protected sets alone take `Minimality`. Attacks of other packages are trusted to prove
    what they say.
    """
    names = {_AGAIN.sub("", name) for name in asked}
    wanted = []
    if limits.probability is not None or limits.history_diversity is not None:
        wanted.append("Permanence" if permanent else "Worlds")
    if limits.probability is None and (limits.diversity or 0) > (limits.history_diversity or 0):
        wanted.append("Channels")
    if limits.credibility is not None and (limits.probability is None or limits.credibility < limits.probability):
        wanted.append("Minimality")
    if names - {*BOUND_NOTHING, "Worlds", "Minimality", "Permanence"}:
        return ()
    return tuple(name for name in wanted if name not in names)


def what_is_open(names: Sequence[str], limits: Limits) -> str:
    """What is not proven for want of attacks, in words."""
    open_ = []
    if "Permanence" in names:
        open_.append("the probability of a value was not bounded, for Permanence was not run")
    if "Worlds" in names and limits.probability is not None:
        open_.append("the probability of a value was not bounded, for Worlds was not run")
    elif "Worlds" in names:
        open_.append("how many values are possible for everybody was not proven, for Worlds was not run")
    if "Channels" in names:
        open_.append("how many values any two releases leave was not proven, for Channels was not run")
    if "Minimality" in names:
        open_.append("the probability of a protected set was not bounded, for Minimality was not run")
    return ", and ".join(open_)


def _singling_out(risks: Risks, threshold: float, anatomised: bool) -> Criterion:
    table = risks.table
    verdict: Answer = "met"
    if anatomised:
        verdict, evidence = "not met", ANATOMISED
    elif risks.alone:
        verdict = "not met"
        who = count_of(risks.alone, "row stands", "rows stand")
        evidence = f"{who} alone in a group, so that whoever knows the quasi-identifiers finds the row."
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


def _linkability(risks: Risks, anatomised: bool) -> Criterion:
    question = "Can the records of one person in several releases be linked?"
    if anatomised:
        return Criterion("linkability", question, "not met", ANATOMISED)
    if risks.table.height == 1:
        evidence = (
            "There is one release only, so that there is nothing to link within the series. Other tables were not "
            "looked at."
        )
        return Criterion("linkability", question, "met", evidence)
    if risks.followed is None:
        evidence = "It is not known who is in which group, so that people cannot be followed through the releases."
        return Criterion("linkability", question, "undecided", evidence)
    alone, several = risks.followed
    people = count_of(several, "person in several releases", "people in several releases")
    if alone:
        evidence = (
            f"Of {people} {alone:,} went through a sequence of groups that nobody else went through: whoever knows "
            "when they were there can follow them from release to release."
        )
        return Criterion("linkability", question, "not met", evidence)
    evidence = f"Of {people} everybody shares the sequence of groups with somebody else."
    return Criterion("linkability", question, "met", evidence)


def _inference(judgements: Sequence[tuple[str, Judgement]], limits: Limits, permanent: bool) -> Criterion:
    question = "Can more be inferred about a person than the limits allow?"
    asked = [(name, judgement) for name, judgement in judgements if judgement.status != "not asked"]

    def told(*statuses: str) -> str:
        return " ".join(_sentence(f"{name}: {one.words}") for name, one in asked if one.status in statuses)

    if any(one.status == "beyond" for _, one in asked):
        return Criterion("inference", question, "not met", told("beyond"))
    if any(one.status != "within" for _, one in asked):
        return Criterion("inference", question, "undecided", told("undecided", "sampled"))
    missing = lacking((name for name, _ in asked), limits, permanent=permanent)
    if not asked or missing:
        evidence = f"No attack was run that proves what is asked: {what_is_open(missing, limits)}."
        if limits.probability is not None:
            evidence = f"No attack was run that bounds the probability of a value ({limits_in_short(limits)}) by proof."
        return Criterion("inference", question, "undecided", " ".join([told("within"), evidence]).strip())
    if limits.probability is not None or limits.diversity is None:
        return Criterion("inference", question, "met", told("within"))
    # What was found that is not part of the promise stands beside it.
    beside = [_sentence(f"{name}: {one.words}") for name, one in judgements if _is_beside(name, one)]
    counted = f"{COUNTED[0].upper()}{COUNTED[1:]} or bounded."
    return Criterion("inference", question, "met", " ".join([told("within"), counted, *beside]))


def _is_beside(name: str, judgement: Judgement) -> bool:
    return _AGAIN.sub("", name) == "Worlds" and judgement.status == "not asked"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
