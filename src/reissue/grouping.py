"""Grouping: the one thing every method returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reissue.errors import InternalError


@dataclass(frozen=True, repr=False)
class Grouping:
    """Who is published with whom: a group for every row of the snapshot."""

    group: npt.NDArray[np.int32]
    """For each row of the snapshot the number of its group, 0 to `count` - 1, in no particular order."""
    count: int
    """How many groups there are; none is empty."""

    def __post_init__(self) -> None:
        if self.group.size and (int(self.group.min()) < 0 or int(self.group.max()) >= self.count):
            raise InternalError("a grouping numbers a group that does not exist")

    def __repr__(self) -> str:
        return f"Grouping({self.group.size:,} rows in {self.count:,} groups)"

    def sizes(self) -> npt.NDArray[np.int64]:
        """How many rows each group holds."""
        return np.bincount(self.group, minlength=self.count).astype(np.int64)
