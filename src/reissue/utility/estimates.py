"""One count from a release, of any form: the estimate of `analyse(...).count(...)` alone.

    ri.estimate(release, {"age": (30, 39), "sex": "female", "diagnosis": ["flu", "asthma"]})

It is an expectation, not a count, and nothing in it is private. `ri.analyse` gives its error as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reissue.model.hierarchy import Hierarchy
from reissue.model.release import Release
from reissue.utility.analysing.analysis import analyse
from reissue.utility.analysing.conditions import Condition


def estimate(
    release: Release | Mapping[str, Any],
    where: Mapping[str, Condition],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> float:
    """How many people a release says satisfy all conditions.

    `release` is a Release, or its tables by name. `hierarchies` gives, for columns generalised along one,
    the hierarchy that was used: its labels stand for leaves that no file names.
    """
    found = analyse(release, hierarchies=hierarchies, frames="polars").count(where=where)
    return float(found["estimate"][0])
