"""An audit in plain words: the verdict, the limits, who attacks, and what is not covered."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from reissue.attacks.base import Limits
from reissue.auditing.exposure import Disclosure
from reissue.errors import count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published

KINDS = {
    "exact": "computed exactly",
    "bounded": "a proven bound",
    "sampled": "an estimate",
    "undecided": "not known",
    "conditional": "only if nothing was perturbed",
}
STATUSES = {
    "within": "within the limits, proven",
    "beyond": "beyond the limits",
    "undecided": "undecided",
    "sampled": "within by estimate only",
    "not asked": "not asked",
}
WHAT = {
    "value": "tied to a value",
    "excluded": "values ruled out",
    "equivalence": "same values as others",
    "correlation": "correlated with others",
    "channel": "few values left",
    "class": "tied to a value by a group alone",
    "newcomer": "new, and tied to a value",
    "leaver": "gone, and tied to a value",
    "change": "a value that changed",
}

STATIC = (
    "Values are taken to be static: somebody in several releases has the same value in all. Values that change, "
    "and values that nobody ever loses, are attacked where it is said how they change, or which ones are permanent."
)
ALONE = (
    "Values are not known to stay, so that every release is looked at alone: what several tell together is not looked "
    "at. Where it is said how values change, or which ones nobody ever loses, more can be concluded."
)
CHANGING = (
    "All values but the permanent ones are taken to change freely: what one release tells about them tells nothing "
    "about another. An adversary who knows how often people fall ill, move or stay away can know more."
)
MODELLED = (
    "Values are taken to change as was said, and what is found is about somebody in a release. An adversary who knows "
    "better how values change can know more."
)
COUNTERFEITS = (
    "Some rows are counterfeits. They are taken for members whose values are as open as anybody's, as they are for "
    "somebody who cannot tell them from people. Somebody who can, or who argues why they were made, knows more: an "
    'audit with counterfeits "recognised" or "argued" says how much.'
)
NOT_COVERED = (
    "The probability is that of one value. A group of similar values, each within the limit, can still tell something.",
    "All worlds that agree with the releases count as equally likely. An adversary with other beliefs, or with other "
    "tables about the same people, can know more.",
    "Somebody who knows the program that made the releases, and runs it backwards, is modelled only in so far as "
    "Minimality argues from why groups were formed; attacks.Mechanism does it in full, for tiny tables.",
)


SETS = (
    "Values are taken to change as the releases declare. Somebody who knows better how they change, what is likely for "
    "a person, or who shares values with whom, can know more; and that somebody ever had a value is likelier than that "
    "they have it at one time.",
    "The probability is that of one value. Similar values in one set, each within the limit, can still tell something.",
    "Sets that are kept let the rows of a person be linked over releases; new ones show when a value may have changed.",
)


def not_covered(knowledge: Knowledge | None, published: Published, *, together: bool) -> tuple[str, ...]:
    """What no attack here looks at; `together`: conclusions are drawn from several releases together."""
    if published.sets:
        return SETS
    if knowledge is not None and knowledge.change is not None:
        return (MODELLED, *NOT_COVERED)
    if knowledge is not None and knowledge.permanent:
        return (CHANGING, *NOT_COVERED)
    return (STATIC if together else ALONE, *NOT_COVERED)


COUNTED = "values are counted, and no probability is promised"
"""What a limit on the number of values does not say."""


def limits_in_words(limits: Limits) -> list[str]:
    """What must not be learnt."""
    told = []
    if limits.probability is not None:
        told.append(f"nobody may be tied to a value with a probability of more than {limits.probability}")
    alike: dict[Fraction | None, list[str]] = {}
    for name, limit in limits.columns or ():
        alike.setdefault(limit, []).append(f"'{name}'")
    for limit, names in alike.items():
        more = "certainty" if limit is None else f"a probability of more than {limit}"
        told.append(f"nobody may be tied to a value of {' or '.join(names)} alone with {more}")
    if limits.credibility is not None and limits.credibility != limits.probability:
        told.append(
            "nobody may be tied to a protected set of values, by one release and why its groups were formed, with a "
            f"probability of more than {limits.credibility}"
        )
    if limits.equivalence is not None:
        told.append(f"no two sets of fewer than {limits.equivalence} people may be found to have the same values")
    if limits.correlation is not None:
        told.append(f"no two groups may show that sets of fewer than {limits.correlation} people have the same values")
    only = "" if limits.probability is not None else f"; {COUNTED}"
    if limits.history_diversity is not None:
        least = count_of(limits.history_diversity, "possible value")
        told.append(f"at least {least} for everybody when all releases are taken together{only}")
        only = ""
    if limits.diversity is not None:
        told.append(f"at least {limits.diversity} values must be left for anybody when two releases are compared{only}")
    return told


def limits_in_short(limits: Limits) -> str:
    """What must not be learnt, in a few words."""
    if limits.probability is not None:
        return f"limit {limits.probability}"
    if limits.history_diversity is not None:
        return f"at least {count_of(limits.history_diversity, 'possible value')}"
    if limits.diversity is not None:
        return f"at least {count_of(limits.diversity, 'value')} by any two releases"
    if limits.credibility is not None:
        return f"limit {limits.credibility} for protected sets"
    return "no limit"


def disclosed(found: Disclosure) -> str:
    """What can be learnt about values from all releases together."""
    if found.highest is None:
        return f"{_of_what(found)}: no probabilities were computed."
    kinds = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in found.kinds.items() if kind in KINDS)
    sure = KINDS.get(found.kind or "", "not known")
    people = count_of(found.people, "person", "people")
    if found.above is None or found.open is None:
        told = f"Of {people} {found.certain:,} can have one value only; no limit says which probability is too large."
    else:
        told = (
            f"Of {people} {found.above:,} are proven to be above the limit and {found.certain:,} can have one value "
            f"only; for {found.open:,} more it is open whether they are above."
        )
    return (
        f"{_of_what(found)}: the highest probability with which somebody is tied to a value is {found.highest:.4g} "
        f"({sure}). {told} The figures of people: {kinds}."
    )


def _of_what(found: Disclosure) -> str:
    return "All releases together" if found.together else "Each release taken alone"


def adversary(published: Published, knowledge: Knowledge | None) -> list[str]:
    """Who attacks, knowing what."""
    releases = count_of(len(published.releases), "release")
    told = [f"An outsider who kept {'the' if len(published.releases) == 1 else 'all'} {releases}."]
    if published.sets:
        told.append(
            "They know the quasi-identifiers of everybody and who was there when, so they know whose set of values "
            "each is; and they know how sets are drawn, kept and renewed."
        )
    elif published.exact:
        told.append(
            "They know the quasi-identifiers of everybody and who was there when, so they know who is in which group."
        )
    elif any(release.sure is not None for release in published.plain):
        told.append("They have a register of people, and know for some of them only in which group they may be.")
    if any(release.space is not None for release in published.plain):
        told.append("They have no register of people; they compare what the groups may stand for.")
    if knowledge is None:
        knowledge = Knowledge()
    if knowledge.compromised:
        who = count_of(len(knowledge.compromised), "person", "people")
        told.append(f"They know the value of {who} beforehand.")
    else:
        told.append("They know nobody's value beforehand.")
    waiting = sum(len(people) for people in knowledge.waiting.values())
    if waiting:
        told.append(f"They know of {count_of(waiting, 'case')} of somebody who was in the table and not in a release.")
    if knowledge.growing:
        told.append("They know that nobody who is in a release is missing from a later one.")
    if knowledge.minimal:
        releases = count_of(len(knowledge.minimal), "release")
        told.append(f"They know of {releases} what had to be kept, and that no group is larger than that asks.")
    if knowledge.permanent:
        told.append(f"They know that nobody ever loses {count_of(len(knowledge.permanent), 'value')}.")
    if knowledge.change is not None:
        told.append(f"They know of change: {knowledge.change.words}.")
    if knowledge.present:
        who = count_of(len(knowledge.present), "person", "people")
        told.append(f"They know of {who} in which releases they are.")
    told += of_counterfeits(knowledge)
    if knowledge.cohorts:
        told.append(f"They know that HD-composition made the releases, with {knowledge.cohorts} cohorts.")
    if knowledge.method:
        told.append(
            "They know the method that made the releases; of these attacks only Channels uses that, where "
            "it is known who waited."
        )
    return told


def of_counterfeits(knowledge: Knowledge) -> list[str]:
    """What the adversary knows of counterfeits."""
    known = sum(len(set(values)) == 1 for values in knowledge.counterfeits.values())
    told = []
    if known:
        told.append(
            f"They recognise {count_of(known, 'counterfeit')}, and know the value that each was given. Both are taken "
            "out of the groups: what is said of a group is about the people in it, and the values left for them."
        )
    if argued := len(knowledge.counterfeits) - known:
        told.append(
            f"They recognise {count_of(argued, 'counterfeit')}, and conclude from why they were made that they do not "
            "have certain values of their groups. Of these attacks only Worlds uses that."
        )
    return told


def of_sets(published: Published) -> list[str]:
    """What a reader must know about sets of values."""
    if not published.sets:
        return []
    counts = sorted({one.m for one in published.sets})
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return [
        f"In place of a value everybody is shown with {many}: one of these {many} is true. How they were drawn is "
        "public. Probabilities are for somebody who expects values by those shares and that rule of change."
    ]


def joined(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def brief(name: str, letters: int) -> str:
    """A name in so many letters, without its middle: names of files that differ do so at their ends."""
    head = letters * 2 // 5
    return name if len(name) <= letters else f"{name[:head]}…{name[len(name) - (letters - head - 1) :]}"
