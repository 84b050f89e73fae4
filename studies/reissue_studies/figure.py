"""A figure of a study: what to run for it, how to draw it, and what to say about it in few words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import polars as pl

from reissue.charts import Chart

Setting = TypeVar("Setting")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Figure(Generic[Setting]):
    """One figure, for studies with this kind of setting."""

    number: int
    title: str
    measure: Callable[[Setting, Progress], pl.DataFrame]
    """The same for figures that are drawn from the same runs."""
    count: Callable[[Setting], int]
    draw: Callable[[pl.DataFrame, Setting], Chart]
    summary: Callable[[pl.DataFrame], pl.DataFrame]
    told: Callable[[pl.DataFrame], dict[str, pl.DataFrame]]
    """The printed tables by their titles, from the summary."""

    def steps(self, setting: Setting) -> int:
        """How often `measure` calls its progress."""
        return self.count(setting)

    def tables(self, summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The summary for people."""
        return self.told(summary)
