"""A figure of a study: what to run for it, how to draw it, and what to say about it in few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import polars as pl

from reissue.charts import Chart
from reissue_studies.progress import Progress

Setting = TypeVar("Setting")
Given = TypeVar("Given", contravariant=True)


class Measure(Protocol[Given]):
    """Runs everything that a figure is drawn from."""

    def __call__(self, setting: Given, /, *, progress: Progress) -> pl.DataFrame:
        """A table of results; `progress` is told of every step."""


@dataclass(frozen=True)
class Figure(Generic[Setting]):
    """One figure, for studies with this kind of setting."""

    number: int
    title: str
    measure: Measure[Setting]
    """The same for figures that are drawn from the same runs."""
    steps: Callable[[Setting], int]
    """How often `measure` calls its progress."""
    draw: Callable[[pl.DataFrame, Setting], Chart]
    summary: Callable[[pl.DataFrame], pl.DataFrame]
    """The gist of what was measured."""
    tables: Callable[[pl.DataFrame], dict[str, pl.DataFrame]]
    """The summary for people: printed tables by their titles."""


def by_number(*figures: Figure[Setting]) -> Mapping[int, Figure[Setting]]:
    """Figures by their numbers in the paper."""
    return {figure.number: figure for figure in figures}


def as_it_is(found: pl.DataFrame) -> pl.DataFrame:
    """The summary of a figure that is short enough."""
    return found
