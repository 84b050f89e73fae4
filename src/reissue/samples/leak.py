"""What a series of independent releases reveals.

Each release of a static method is safe alone. Whoever keeps them all, and knows who was in the table,
intersects the groups of every person; this module counts how many people that exposes.
"""

from __future__ import annotations

import polars as pl

from reissue.model.published import Published
from reissue.reasoning.worlds.candidates import candidates


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
