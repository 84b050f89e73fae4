"""Roles: who stands for whom where values are permanent (Bu, Fu, Wong, Chen & Li 2008, section 3).

Private. For each permanent value there are l cohorts of container instances: one owned by the holders of the value, the
others by decoys. A container is a part of the space of quasi-identifiers with the people registered in it; an instance
never leaves its cohort or its container, and every instance of a clique is awake in the same releases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

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
    }
)
"""`instance` and `clique` are numbers never given again, `cohort` is 1 for holders, `owner` a person number (null where
nobody is left who could own it), `awake` whether it counts in this release, `created` the number of a release."""

BUDDIES = pl.Schema({"instance": pl.UInt32, "person": pl.UInt32})
"""Who could take an instance over: in its container since it was created, its owner included."""


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

    def __repr__(self) -> str:
        return f"Roles({self.instances.height:,} container instances, {self.people.size:,} people registered)"
