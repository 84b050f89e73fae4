"""Why somebody is likely to have a value: what their row shows, and what a model adds."""

from __future__ import annotations

from reissue.arrays.types import Floats, Ints
from reissue.attacks.sentences import Person, Place, Sentence, Value, Witness, one_of

SHOWN = 12
"""So many values of a set are told."""


def told(
    person: int, release: int, group: int | None, codes: Ints, plain: Floats, value: int, chance: float, model: str
) -> Witness:
    """How somebody comes to be likely to have a value; `group` is None for a set of their own."""
    who = Person(person)
    shown: Sentence = (f"In release {release} ", who, " has ", *one_of(codes.tolist(), SHOWN), ".")
    if group is not None:
        shown = (who, " is in ", Place(release, group), ", which shows ", *one_of(codes.tolist(), SHOWN)[1:], ".")
        if codes.size > 1:
            shown = (who, " is in ", Place(release, group), " and has ", *one_of(codes.tolist(), SHOWN), ".")
    itself = float(plain[codes == value][0])
    return Witness(
        (
            shown,
            ("By the release alone ", Value(value), f" has probability {itself:.4g}."),
            (f"The model of what is likely for whom {model}.",),
            ("If it holds, ", who, " has ", Value(value), f" with probability {chance:.4g}."),
        )
    )
