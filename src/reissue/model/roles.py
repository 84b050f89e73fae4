"""Roles: who stands for whom where values are permanent (Bu, Fu, Wong, Chen & Li 2008, section 3).

Private. For each permanent value there are l cohorts of container instances: one owned by the holders of the value, the
others by decoys. A container is a part of the space of quasi-identifiers; an instance stands for somebody who was
registered in it when the instance was created, wherever he is now. It never leaves its cohort or its container, and all
instances of a clique are awake in the same releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from reissue.arrays.types import Ints

HOLDERS = 1
"""The cohort of those who have the value."""

INSTANCES = pl.Schema(
    {
        "instance": pl.UInt32,
        "value": pl.String,
        "cohort": pl.UInt16,
        "clique": pl.UInt32,
        "container": pl.UInt32,
        "owner": pl.UInt32,
        "awake": pl.Boolean,
        "created": pl.UInt32,
        "group": pl.UInt32,
    }
)
"""`instance` and `clique` are numbers never given again, `cohort` is 1 for holders, `owner` a person number (null where
nobody is left who could own it), `awake` whether it counts in this release, `created` the number of a release, `group`
the place, from 0, of the group that the container is in."""

BUDDIES = pl.Schema({"instance": pl.UInt32, "person": pl.UInt32})
"""Who could own an instance: registered ever since, and in its container when it was created; its owner included."""


@dataclass(frozen=True, repr=False)
class Roles:
    """The roles of one release."""

    instances: pl.DataFrame
    """One row for each container instance; see `INSTANCES`."""
    buddies: pl.DataFrame
    """Who could own each instance; see `BUDDIES`."""
    people: Ints
    """Everybody registered, ascending."""
    container: Ints
    """The container in which each of them is now."""
    present: Ints
    """Those who are in the table, ascending."""
    permanent: tuple[str, ...]
    """The values that nobody gets rid of."""

    def numbered(self, place: Ints) -> Roles:
        """The same with other numbers for the groups: `place` gives the new one of each."""
        group = pl.Series("group", place[self.instances["group"].to_numpy()].astype(np.uint32))
        return replace(self, instances=self.instances.with_columns(group))

    def __repr__(self) -> str:
        return f"Roles({self.instances.height:,} container instances, {self.people.size:,} people registered)"
