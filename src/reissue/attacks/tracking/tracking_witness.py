"""Why somebody is tied to a value: their sets, release after release, and the model of change."""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Ints
from reissue.attacks.sentences import Part, Person, Sentence, Value, Witness, enumeration, some_values
from reissue.reasoning.alternatives.set_histories import Histories

SHOWN = 12
"""So many values of a set are told."""
SPELLS = 8
"""So many sets of a person are told."""


def told(
    histories: Histories, place: int, value: int, release: int, chance: float, *, model: str, one: bool, tied: bool
) -> Witness:
    """How somebody comes to be tied to a value in a release; `one`: no other value is possible there."""
    person = Person(int(histories.people[place]))
    rows = np.arange(*histories.starts[place : place + 2])
    sentences = _sets(histories, rows, person)
    values = [set(row[row >= 0].tolist()) for row in histories.codes[rows]]
    always = sorted(set.intersection(*values))
    if tied:
        sentences.append(("People of one household may share their value, and their sets are taken together.",))
    if one and always == [value] and rows.size > 1:
        sentences.append(("Only ", Value(value), " is in all of them, and ", model, "."))
    else:
        sentences.append((f"The adversary takes it that {model}.",))
    if one:
        sentences.append(("So ", person, " has ", Value(value), f" in release {release}."))
    else:
        sentences.append(
            ("So ", person, " has ", Value(value), f" in release {release} with probability {chance:.4g}.")
        )
    return Witness(tuple(sentences))


def _sets(histories: Histories, rows: Ints, person: Person) -> list[Sentence]:
    """The sets of a person: which releases show which."""
    spells: list[list[int]] = []
    for row in rows.tolist():
        if spells and histories.kept[row]:
            spells[-1].append(row)
        else:
            spells.append([row])
    phrases: list[Part | Sentence] = []
    for spell in spells[:SPELLS]:
        codes = histories.codes[spell[0]]
        numbers = histories.numbers[histories.release[spell]].tolist()
        phrases.append(("one of ", *some_values(codes[codes >= 0].tolist(), SHOWN), f" in {_releases(numbers)}"))
    sentences: list[Sentence] = [(person, " is shown with ", *enumeration(phrases), ".")]
    if len(spells) > SPELLS:
        sentences.append((f"So it goes on for {len(spells) - SPELLS:,} more sets.",))
    return sentences


def _releases(numbers: list[int]) -> str:
    """`release 3`, `releases 1 to 3`, `releases 1, 2 and 5`."""
    if len(numbers) == 1:
        return f"release {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 2:
        return f"releases {numbers[0]} to {numbers[-1]}"
    return f"releases {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
