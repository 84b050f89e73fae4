"""Why somebody's credibility is what it is, told in sentences."""

from __future__ import annotations

from fractions import Fraction

from reissue.attacks.sentences import Person, Place, Sentence, Witness, one_of
from reissue.errors import count_of
from reissue.model.published import PublishedGroups
from reissue.reasoning.minimality.credibility import Credibility
from reissue.reasoning.minimality.minimality_work import EXACT, SAMPLED, Story

SHOWN = 3
"""So many groups of a class are told at most."""
VALUES = 6
"""So many values of a set are enumerated at most."""
LONG = 12
"""A fraction with longer numbers is told as a decimal."""


def of_class(release: PublishedGroups, found: Credibility, row: int, at: int, people: tuple[int, ...]) -> Witness:
    """Why the people of a class have a value of a set with the probability they have."""
    first = Person(people[0]) if people else "Somebody"
    told: list[Sentence] = []
    who: Sentence
    others = len(people) - 1
    if others:
        told.append((first, f" has the same quasi-identifiers as {count_of(others, 'other')}: they are a class."))
    else:
        told.append((first, " has quasi-identifiers that nobody shares: a class of one."))
    value = one_of(found.sets[at], VALUES)
    stories = found.stories(row)
    own, held = found.alone(row, at)
    if own and stories:
        rows = count_of(own, "row of the class is", "rows of the class are")
        told.append((f"{rows} published as they are, {held:,} of them with ", *value, "."))
    for story in stories[:SHOWN]:
        told += _story(release, story)
    if len(stories) > SHOWN:
        told.append((f"It is the same in {count_of(len(stories) - SHOWN, 'other group')}.",))
    exact = found.fraction(row, at)
    if not stories and found.kind[row] == EXACT:
        share = _told(exact, float(found.probability[row, at]))
        who = ("Each of them",) if others else (first,)
        told.append((*who, " has ", *value, f" with probability {share} by the shares of groups alone."))
        return Witness(tuple(told))
    plain = f"the shares of the groups alone say {_figure(float(found.plain[row, at]))}"
    who = ("each of them has ",) if others else (first, " has ")
    figure = _told(exact, float(found.probability[row, at]))
    if found.kind[row] == EXACT:
        how = f" with probability {figure}; {plain}."
        if exact == 1:
            how = f" for certain; {plain}."
        told.append(("In the cases that are left ", *who, *value, how))
    elif found.kind[row] == SAMPLED:
        error = _figure(float(found.standard_error[row, at]))
        how = f" with probability {figure} by estimate, with a standard error of {error}; {plain}."
        told.append(("In the cases that are left ", *who, *value, how))
    else:
        told.append((*who, *value, f" with probability {figure} at most; {plain}."))
    return Witness(tuple(told))


def _story(release: PublishedGroups, story: Story) -> list[Sentence]:
    place = Place(release.number, story.group + 1)
    rows = count_of(story.rows, "row of the class is", "rows of the class are")
    if story.is_open:
        rows = count_of(story.rows, "person of the class may be", "people of the class may be")
    told: list[Sentence] = [
        (f"{rows} in ", place, f", which has {count_of(story.size, 'row')} of {story.classes:,} classes.")
    ]
    why = "Nothing was generalised needlessly: published as they are, at least one of these classes would have broken"
    if story.itself and story.able == 1:
        which = "and only this one can have"
    elif story.itself:
        which = f"and {story.able:,} of them can have, this one among them"
    elif story.able == 1:
        which = "and only one of the others can have"
    else:
        which = f"and {story.able:,} of the others can have"
    told.append((f"{why} the requirement, {which}.",))
    return told


def _told(exact: Fraction | None, figure: float) -> str:
    if exact is not None and len(str(exact)) <= LONG:
        return str(exact)
    return _figure(figure)


def _figure(number: float) -> str:
    return f"{number:.3g}"
