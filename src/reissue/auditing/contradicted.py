"""What an audit rests on, and what its releases contradict, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from reissue.auditing.standing import STATES
from reissue.errors import count_of
from reissue.model.assumptions import Assumption, AssumptionName

SHORT: dict[AssumptionName, str] = {
    "values-stay": "values stay",
    "values-permanent": "permanent values are never lost",
    "cells-stay": "quasi-identifiers stay",
    "values-follow": "values change as was said",
    "nobody-leaves": "nobody leaves",
    "presence": "people are where they were said to be",
    "registry-complete": "the registry has everybody with one row each",
    "unperturbed": "nothing is perturbed",
    "suppressed-class": "suppressed rows belong to no published class",
    "groups-minimal": "groups are as small as the rule that was said allows",
}
"""What is assumed, in a few words."""
REFUTED: dict[AssumptionName, str] = {
    "values-stay": "values did not stay the same",
    "values-permanent": "values that were said to be permanent were lost",
    "cells-stay": "quasi-identifiers did not stay the same",
    "values-follow": "values changed otherwise than was said",
    "nobody-leaves": "people left or were corrected, though nobody was said to leave",
    "presence": "what was said of who is there does not fit the releases",
    "registry-complete": "the registry does not fit the releases",
    "unperturbed": "cells were perturbed",
    "suppressed-class": "suppressed rows belong to published classes",
    "groups-minimal": "groups are not what the rule that was said makes of them",
}
DROPPED: dict[AssumptionName, str] = {
    **REFUTED,
    "values-stay": "values may change",
    "values-permanent": "values that were said to be permanent may be lost",
    "values-follow": "values may change otherwise than was said",
    "cells-stay": "quasi-identifiers may change",
    "nobody-leaves": "people may leave",
    "presence": "it is not known who is in the releases",
    "registry-complete": "the registry may lack people, and people may have several rows",
    "suppressed-class": "suppressed rows may belong to any class",
    "groups-minimal": "groups may be larger than the rule that was said asks",
}
OVER_TIME: frozenset[AssumptionName] = frozenset(("values-stay", "nobody-leaves"))
"""What is seen not to hold by rows that have no place in another release."""
TOGETHER = "conclusions over several releases are withdrawn, and what each release shows alone is left"
WITHOUT: dict[AssumptionName, str] = {
    "values-permanent": "nothing is concluded from permanent values",
    "nobody-leaves": "nothing is concluded from who would have stayed",
    "presence": "nobody's presence is used",
    "registry-complete": "nobody is looked for in the registry",
    "cells-stay": "nobody is looked for over several releases",
}


def marked(assumptions: Sequence[Assumption], changed: int | None) -> str:
    """The same of one's own series, whose ledger marks conclusions; `changed` people had values that changed."""
    seen = sum(one.contradictions for one in assumptions if (one.name, one.status) == ("values-stay", "refuted"))
    if not seen and not changed:
        return ""
    told = [count_of(seen, "contradiction")] if seen else []
    told += [f"the ledger knows of {count_of(changed, 'person', 'people')}"] if changed else []
    return (
        f"{REFUTED['values-stay']} ({'; '.join(told)}): what is concluded over several releases is what an outsider "
        "would conclude who takes them to stay"
    )


def contradicted(assumptions: Sequence[Assumption], *, several: bool, doubted: bool, growing: bool = True) -> str:
    """What does not hold, with how many contradictions, and which conclusions are left; empty where all holds.

    `doubted`: cells may have been perturbed, as nobody said why values contradict each other. `growing`: somebody said
    that nobody leaves.
    """
    fallen = [one for one in assumptions if not one.carries and (growing or one.name != "nobody-leaves")]
    if not fallen:
        return ""
    told = [DROPPED[one.name] for one in fallen if one.status != "refuted"]
    seen: dict[tuple[int, str], list[AssumptionName]] = {}
    for one in fallen:
        if one.status == "refuted":
            seen.setdefault((one.contradictions, one.evidence), []).append(one.name)
    if any((one.name, one.status) == ("suppressed-class", "said") for one in assumptions):
        # What was said of suppressed rows says who may be where: where that is not so, rows may seem to be others.
        for some in seen.values():
            some += ["suppressed-class"] if OVER_TIME & {*some} else []
    words = dict(REFUTED)
    if any(one.name == "registry-complete" and one.carries for one in assumptions):
        # Values contradict each other if people are where the registry has them.
        words["values-stay"] += ", or people are not where the registry has them"
    # What is contradicted by the same rows cannot all hold: one of it at least does not.
    told = [
        f"{', or '.join(words[name] for name in some)} ({count_of(many, 'contradiction')})"
        for (many, _), some in seen.items()
    ] + told
    names = [one.name for one in fallen]
    left = []
    if several and {"values-stay", "unperturbed"} & {*names}:
        left.append(f"{TOGETHER}{', if nothing was perturbed' if doubted else ''}")
    elif "unperturbed" in names:
        left.append("nothing that is shown is certain")
    left += [WITHOUT[name] for name in names if name in WITHOUT]
    return f"{_and(told)}: {'; '.join(left)}" if left else _and(told)


def rests_on(assumptions: Sequence[Assumption]) -> str:
    """What conclusions rest on, and how sure that is; empty where that is nothing but the files themselves."""
    # Who vouches that nothing is perturbed says no more than that the files are what was published.
    carrying = [one for one in assumptions if one.carries and (one.name, one.status) != ("unperturbed", "said")]
    if all(one.name == "unperturbed" for one in carrying):
        return ""
    told = [f"{SHORT[one.name]} ({STATES[one.status][0]})" for one in carrying]
    return f"It rests on this: {_and(told)}."


def in_lines(assumptions: Sequence[Assumption]) -> list[str]:
    """Each assumption in a line: how it stands, and why."""
    return [f"{one.name}: {STATES[one.status][0]}. {one.words} {one.evidence}".rstrip() for one in assumptions]


def _and(parts: Sequence[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
