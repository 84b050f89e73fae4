"""What an adversary is told of the counterfeits of a series: all of it, or what follows from why they were made.

recognised   each counterfeit and the value it was given. What is left of a group are its people, and their values:
             instead of 1/m it is then 1 over the people in the group, or worse.
argued       which rows are counterfeits, and that one is made only where a value is lacking: so none has the value
             of its group that is the most frequent in the release. That is a rule of thumb and not a theorem. It is
             told only of groups in which it is true, so that what follows from it is true as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import polars as pl

from reissue.arrays.runs import totals
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, listed
from reissue.model.domain import COUNTERFEIT
from reissue.model.published import Published, PublishedGroups

Recognition = Literal["recognised", "argued"]
RECOGNITIONS: tuple[Recognition, ...] = get_args(Recognition)
NOTHING_KNOWN = "There is no counterfeit in these releases of which this adversary knows anything."
"""What a report says where the adversary recognises counterfeits and none is there, or argues and is never right."""


def check_recognition(given: object) -> None:
    """Refuse what is no way to know counterfeits."""
    if given is not None and given not in RECOGNITIONS:
        raise ParameterError(
            f"The 'counterfeits' parameter of audit must be one of {listed(RECOGNITIONS)}, or None. "
            f"Got {given!r} instead."
        )


def values_given(made: Iterable[pl.DataFrame], sensitive: str) -> dict[int, object]:
    """Private: the value of each counterfeit, by its number in a view, from those of every release."""
    found: dict[int, object] = {}
    for frame in made:
        labels = isinstance(frame.schema[sensitive], pl.Enum)
        values = frame[sensitive].cast(pl.String) if labels else frame[sensitive]
        numbers = -frame[COUNTERFEIT].cast(pl.Int64)
        found.update(zip(numbers.to_list(), values.to_list(), strict=True))
    return found


def known_of(published: Published, given: dict[int, object], how: Recognition) -> dict[int, list[object]]:
    """What is told of the counterfeits in a view, as `Knowledge.counterfeits` has it."""
    if published.sets:  # the members below 0 are the other values of sets, and no method adds rows to those
        return {}
    place = {value: position for position, value in enumerate(published.values)}
    everybody = published.index.people
    true = {int(number): place[given[int(number)]] for number in everybody[everybody < 0]}
    if how == "recognised":
        return {number: [published.values[value]] for number, value in true.items()}
    barred: dict[int, set[int]] = {}
    for release in published.releases:
        for number, value in _lacked(release, true, len(published.values)):
            barred.setdefault(number, set()).add(value)
    shown = _shown(published, barred)
    return {number: [published.values[at] for at in sorted(shown[number] - some)] for number, some in barred.items()}


def _lacked(release: PublishedGroups, true: dict[int, int], width: int) -> Iterable[tuple[int, int]]:
    """Counterfeits of a release, each with the value that its group was not lacking."""
    often = np.bincount(release.values, release.counts, minlength=width)
    made = totals(release.members < 0, release.member_starts)
    for group in np.flatnonzero(made).tolist():
        values, _ = release.values_of(group)
        ranked = np.sort(often[values])
        if ranked.size < 2 or ranked[-1] == ranked[-2]:
            continue  # the most frequent is not one
        most = int(values[np.argmax(often[values])])
        members: Ints = release.members_of(group)
        numbers = members[members < 0].tolist()
        if all(true[number] != most for number in numbers):
            yield from ((number, most) for number in numbers)


def _shown(published: Published, numbers: Iterable[int]) -> dict[int, set[int]]:
    """The values that all groups of some members show."""
    shown: dict[int, set[int]] = {}
    for number in numbers:
        for at, group in published.index.of_person(number):
            values = {*published.releases[at].values_of(group)[0].tolist()}
            shown[number] = shown.get(number, values) & values
    return shown
