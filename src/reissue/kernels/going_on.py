"""Two lists of people met in one pass, compiled: who of the last release is in the next, and whose stays go on."""

from __future__ import annotations

from typing import Any

from reissue.kernels import kernel


@kernel
def meet(
    person: Any,
    signature: Any,
    came: Any,
    again: Any,
    number: int,
    people: Any,
    after: Any,
    place: Any,
    goes_on: Any,
    over: Any,
    came_after: Any,
    again_after: Any,
) -> None:
    """Meet the people of the last release (`person`) with those of the next, both ascending, each with a signature.

    Writes of each one of the next the place among those of the last or -1, whether the stay goes on, in which release
    it began, and whether it is one that goes on after another; and of those of the last whose stay is over.
    """
    for old in range(person.size):
        over[old] = True
    old = 0
    for here in range(people.size):
        who = people[here]
        while old < person.size and person[old] < who:
            old += 1
        found = old < person.size and person[old] == who
        place[here] = old if found else -1
        stays = found and signature[old] == after[here]
        goes_on[here] = stays
        came_after[here] = number
        again_after[here] = False
        if stays:
            over[old] = False
            came_after[here] = came[old]
            again_after[here] = again[old]
