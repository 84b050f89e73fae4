"""What is so behind a view of a series: everybody's value in each release, in the numbers and the words of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.model.published import Published, PublishedGroups
from reissue.model.sets import OTHERS, Bridged

Chain = dict[str, dict[str, float]]
"""From each value the chance of each value in the next table."""


@dataclass(frozen=True, repr=False)
class TruthBehind:
    """What is so, in the numbers of a view. Private."""

    frame: pl.DataFrame
    """`person`, `release`, `value`: with values as releases call them."""
    labels: Mapping[str, int]
    """The place of each value in the view."""

    @classmethod
    def of(cls, shown: pl.DataFrame, view: Published) -> TruthBehind:
        """What is so of those who are in releases: `person` (a number of the view), `release`, `value`, as text."""
        labels = {str(value): at for at, value in enumerate(view.values)}
        if view.sets:
            named = [str(label) for label in view.sets[-1].designs.labels]
            value = pl.col("value")
            shown = shown.with_columns(pl.when(value.is_in(named)).then(value).otherwise(pl.lit(OTHERS)).alias("value"))
        return cls(shown, labels)

    def __repr__(self) -> str:
        return f"TruthBehind({self.people.size:,} people)"

    @cached_property
    def last(self) -> pl.DataFrame:
        """Everybody's value in the last release that they are in, by person."""
        return self.frame.sort("person", "release").group_by("person", maintain_order=True).last()

    @cached_property
    def people(self) -> Ints:
        """Everybody who is in some release, ascending."""
        return self.last["person"].to_numpy()

    @cached_property
    def values(self) -> Ints:
        """The position of the value that each of them has in the last release that they are in."""
        return self.last["value"].replace_strict(self.labels, return_dtype=pl.Int64).to_numpy()

    def false(self, certain: Mapping[int, int]) -> float | None:
        """Of what is certain to somebody, which share was never so; None where nothing is."""
        if not certain:
            return None
        named = {at: label for label, at in self.labels.items()}
        claims = pl.DataFrame({"person": [*certain], "value": [named[at] for at in certain.values()]})
        had = claims.join(self.frame.unique(["person", "value"]), on=["person", "value"], how="semi")
        return 1 - had.height / claims.height


def chain_behind(view: Published, truth: TruthBehind, states: Sequence[pl.DataFrame]) -> Chain | None:
    """How values moved from one table to the next, each move possible; None where nothing ever moved.

    `states` are all tables, `person` and `value`. It is about the values that some release shows. Nobody knows it who
    has not seen the tables.
    """
    shown = np.unique(np.concatenate([one.values for one in (view.sets[-1:] or view.releases)]))
    labels = [label for label, at in truth.labels.items() if at in shown]
    place = {label: at for at, label in enumerate(labels)}

    def codes(column: pl.Series) -> Ints:
        return column.replace_strict(place, default=place.get(OTHERS, -1), return_dtype=pl.Int64).to_numpy()

    counts = np.zeros((len(labels), len(labels)))
    for before, after in pairwise(states):
        both = before.join(after, on="person", suffix="_then")
        old, new = codes(both["value"]), codes(both["value_then"])
        known = (old >= 0) & (new >= 0)
        np.add.at(counts, (old[known], new[known]), 1.0)
    if not (counts.sum() - np.trace(counts)):
        return None
    every = codes(pl.concat(state["value"] for state in states))
    shares = np.bincount(every[every >= 0], minlength=len(labels)) + 1.0
    chances = counts + shares / shares.sum()
    chances /= chances.sum(axis=1, keepdims=True)
    return {label: dict(zip(labels, map(float, row), strict=True)) for label, row in zip(labels, chances, strict=True)}


def renumbered(view: Published, order: Ints) -> Published:
    """The view with the number `order[n]` for n, and the members of groups in that order.

    A series numbers newcomers in an order that it draws in secret; by their ids they have the same in every run.
    """
    sets = tuple(replace(one, people=order[one.people]) for one in view.sets)
    if sets:
        return replace(view, releases=Bridged(sets), sets=sets)
    return replace(view, releases=tuple(_in_order(one, order) for one in view.releases))


def last_alone(view: Published) -> Published:
    """The last release by itself."""
    if view.sets:
        return replace(view, releases=Bridged(view.sets[-1:]), sets=view.sets[-1:])
    return replace(view, releases=view.releases[-1:])


def _in_order(release: PublishedGroups, order: Ints) -> PublishedGroups:
    members = np.where(release.members >= 0, order[release.members], release.members)
    place = np.lexsort((members, release.member_groups))
    quasi = None if release.quasi is None else release.quasi[place]
    return replace(release, members=members[place], quasi=quasi)
