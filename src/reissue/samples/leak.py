"""What a series of independent releases reveals: the story the demo tells.

Each release of a static method is safe alone. Whoever keeps them all, and knows who was in the table,
intersects the groups of every person; this module counts how many people that exposes, and finds one
to tell about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.model.published import Published
from reissue.reasoning.worlds.candidates import candidates


@dataclass(frozen=True, repr=False)
class LeakWitness:
    """One exposed person, and the groups that expose it."""

    person: int
    """The person's number in the series."""
    value: object
    """The only value all its groups have in common."""
    groups: tuple[tuple[int, int, tuple[object, ...]], ...]
    """Release, group, and the values published for that group."""


def exposure(published: Published) -> pl.DataFrame:
    """For each release: its rows, and how many people the releases up to it expose.

    Exposed is who has one value in common in all groups so far: certain, if values do not change.
    """
    exposed = candidates(published).exposed_after
    return pl.DataFrame(
        {
            "release": [release.number for release in published.releases],
            "rows": [release.members.size for release in published.releases],
            "exposed": exposed.tolist(),
        }
    )


def witness(published: Published) -> LeakWitness | None:
    """The person exposed by the fewest releases taken together, or None when there is nobody."""
    found = candidates(published)
    releases = np.diff(published.index.group_starts)[published.index.made_up :]
    telling = np.flatnonzero((found.counts == 1) & (releases > 1))
    if not telling.size:
        return None
    place = telling[np.argmin(releases[telling])]
    person = int(found.people[place])
    return LeakWitness(person, published.values[found.only[place]], tuple(_groups_of(published, person)))


def _groups_of(published: Published, person: int) -> Any:
    for at, group in published.index.of_person(person):
        release = published.releases[at]
        yield release.number, group + 1, tuple(published.values[code] for code in release.values_of(group)[0])
