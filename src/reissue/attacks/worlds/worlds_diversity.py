"""How many values are possible for everybody: at least so many and at most so many, both proven.

That a value is impossible is proven by flows, counting or search (`reasoning.worlds.posteriors`). That it is possible
is proven by any one world in which somebody of the unit has it, for people of a unit can be exchanged:
- its exact probability is known, and it is not 0;
- in every world some of the unit have it;
- a world that was drawn shows it: how often is an estimate, that there is one is not.
Further, everybody has some value, and values that are published alike are possible together
(`reasoning.worlds.symmetry`). All this is given that there is a world at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Finding, Judgement
from reissue.attacks.sentences import Person, Sentence, Witness, some_values
from reissue.attacks.worlds.worlds_witness import SHOWN, Explainer
from reissue.errors import count_of
from reissue.reasoning.worlds.posteriors import EXACT, SAMPLED, Posteriors


@dataclass(frozen=True, repr=False)
class PossibleValues:
    """For everybody whose value is not known beforehand how many values are possible."""

    people: Ints
    """By number, ascending."""
    unit: Ints
    """The unit of each."""
    least: Ints
    """So many values are proven to be possible."""
    most: Ints
    """No more than so many are: the others are proven to be impossible. 0: the person is in no release."""

    def __repr__(self) -> str:
        return f"PossibleValues({self.people.size:,} people, {int((self.least == self.most).sum()):,} of them settled)"

    @classmethod
    def of(cls, found: Posteriors, known_people: Ints) -> PossibleValues:
        """Count what is proven."""
        least, most = _of_units(found)
        unknown = ~np.isin(found.people, known_people)
        people, unit = found.people[unknown], found.unit[unknown]
        return cls(people, unit, least[unit], most[unit])

    def fewer(self, l: int) -> Bools:  # noqa: E741
        """Who is proven to have fewer than l possible values."""
        few: Bools = (self.most < l) & (self.most > 0)
        return few

    def enough(self, l: int) -> Bools:  # noqa: E741
        """Who is proven to have at least l possible values, or to be in no release."""
        many: Bools = (self.least >= l) | (self.most == 0)
        return many


def _of_units(found: Posteriors) -> tuple[Ints, Ints]:
    """For every unit how many values are possible, at least and at most."""
    owner, units = found.owner, found.size.size
    drawn = (found.kind == SAMPLED) & (np.nan_to_num(found.estimate) > 0)
    proven = (found.kind == EXACT) | (found.least > 0) | drawn
    most = np.diff(found.starts)
    # Values alike are possible together: those of a proven one, and of whichever value somebody has.
    alike, fewest = np.zeros(units, dtype=np.int64), np.full(units, np.iinfo(np.int64).max)
    np.maximum.at(alike, owner[proven], found.alike[proven])
    np.minimum.at(fewest, owner, found.alike)
    counted = np.bincount(owner[proven], minlength=units)
    least = np.minimum(np.maximum.reduce([counted, alike, fewest]), most)
    if found.doubted:
        # All releases together say nothing; one of them alone leaves the values that its group shows.
        which = np.array(found.doubted, dtype=np.int64)
        most[which] = np.bincount(owner[found.least > 0], minlength=units)[which]
        least[which] = 1
    return least, most


def few_values(found: Posteriors, explainer: Explainer, attack: str, person: int, unit: int) -> Finding:
    """Somebody for whom few values are possible, though not certainly a single one, and why."""
    entries = slice(int(found.starts[unit]), int(found.starts[unit + 1]))
    values, doubted = found.values[entries], unit in found.doubted
    release = explainer.last_release(person)
    if doubted:
        values = values[found.least[entries] > 0]
        worst = int(found.values[entries][np.argmax(found.least[entries])])
        told, release = explainer.alone(person, worst)
        because = "Together the releases contradict each other, so each is taken alone: that one leaves "
        conclusion: Sentence = (because, Person(person), " no value but ", *some_values(values.tolist(), SHOWN), ".")
    else:
        # The groups are told as for a likely value; what follows from them is another thing.
        told = explainer.likely(person, int(values[0]), None, 0.0, "bounded", found.present)
        because = "No assignment of values to people that agrees with every release gives "
        conclusion = (because, Person(person), " anything but ", *some_values(values.tolist(), SHOWN), ".")
    witness = Witness((*told.sentences[:-1], conclusion))
    return Finding.of_few(attack, person, release, values.tolist(), witness, proven=not doubted)


def judged_by_values(possible: PossibleValues, l: int, findings: list[Finding], releases: int) -> Judgement:  # noqa: E741
    """Whether everybody has at least l possible values; `findings` are about those who have not."""
    few = possible.fewer(l)
    everybody, values = count_of(possible.people.size, "person", "people"), count_of(l, "possible value")
    together = "" if releases == 1 else " over all releases together"
    if few.any():
        count = int(few.sum())
        words = (
            f"{count:,} of {everybody} {'has' if count == 1 else 'have'} fewer than {values}{together}; the fewest is "
            f"{int(possible.most[few].min()):,}."
        )
        return Judgement("beyond", words, tuple(findings), count)
    unproven = int(np.count_nonzero(~possible.enough(l)))
    if not unproven:
        return Judgement("within", f"Nobody of {everybody} has fewer than {values}{together}.")
    words = (
        f"Nobody is proven to have fewer than {values}{together}. For {unproven:,} of {everybody} it is not "
        "proven that so many are possible."
    )
    return Judgement("undecided", words)


def not_promised(possible: PossibleValues, l: int) -> Judgement:  # noqa: E741
    """What is told where nothing was promised about all releases together, but l values by any two of them."""
    few = possible.fewer(l)
    everybody, values = count_of(possible.people.size, "person", "people"), count_of(l, "possible value")
    count, unsettled = int(few.sum()), int(np.count_nonzero(~few & ~possible.enough(l)))
    who = f"{count:,} of {everybody} {'is' if count == 1 else 'are'}" if count else f"nobody of {everybody} is"
    words = f"Not promised: over all releases together {who} proven to have fewer than {values}"
    return Judgement("not asked", f"{words}; for {unsettled:,} more it is not known." if unsettled else f"{words}.")
