"""What attacks get: whom they tie to a value, how many of their claims are false, how often a guess is right.

Three adversaries have all releases and know who is in which group, or behind which row.

- One takes values for fixed. Of groups that is `Worlds`, and what all of somebody's groups have in common; of sets,
  `Tracking` with values that never change. Who is left with one value is *certain* to them, and where values do change
  that may be false.
- One knows exactly how often these very people's values moved from where to where: `Tracking` with that chain. Nobody
  knows it who has not seen the tables. Of sets it is exact if people move by the chain; of groups it is an estimate,
  which takes each of somebody's groups for news though they may show the same values again.
- One learns from the last release which values are likely for whom: `Likelihood`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.attacks.likelihood.likelihood import Likelihood
from reissue.attacks.tracking.tracking import Tracking
from reissue.attacks.tracking.tracking_findings import TrackingFindings
from reissue.attacks.worlds.worlds import Worlds
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.model.sets import OTHERS, Bridged
from reissue.reasoning.worlds.candidates import candidates
from reissue_studies.methods.released import Released
from reissue_studies.methods.streams import PERSON, Stream

CLEARLY = 1.05
"""A probability counts as above 1/m where it is more than so many times that."""
TWICE = 2.0
"""And as far above it from so many times that on."""
TIE = 1e-9
"""Probabilities that differ by less are the same."""


def taken(released: Released, seconds: float) -> dict[str, Any]:
    """All of it for one series."""
    view = released.view
    truth = _Truth.of(released, view)
    bars = tuple(times / released.m for times in (CLEARLY, TWICE))
    moving = _moving(view, truth, released.stream)
    claims = _of_sets(view, moving) if view.sets else _of_groups(view, seconds)
    above, twice = ((claims.low > bar).sum() / truth.people.size for bar in bars)
    undecided = ((claims.low <= bars[0]) & (claims.high > bars[0])).sum() / truth.people.size
    found = Likelihood().run(_last(view)).scored(truth.frame).row(-1, named=True)
    return {
        "attack": "Tracking" if view.sets else "Worlds",
        "people": truth.people.size,
        "above": float(above),
        "twice": float(twice),
        "undecided": float(undecided),
        "certain": len(claims.certain) / truth.people.size,
        "false": truth.false(claims.certain),
        "right": truth.right(moving, claims.certain),
        "likely": found["right"],
        "without": found["without"],
        "advantage": found["advantage"],
        "note": claims.note,
    }


def without_link(stream: Stream) -> dict[str, Any]:
    """Two tables that nothing links tie nobody to anything: whoever guesses names the most frequent value."""
    last = stream.states[-1][stream.sensitive]
    most = float(last.value_counts(normalize=True)["proportion"].to_numpy().max())
    nothing = dict.fromkeys(("above", "twice", "undecided", "certain", "advantage"), 0.0)
    people = pl.concat(state[PERSON] for state in stream.states).n_unique()
    return {"people": people, **nothing, "right": most, "likely": most, "without": most}


@dataclass(frozen=True, repr=False)
class _Truth:
    """What is so, in the numbers of a view."""

    frame: pl.DataFrame
    """`person`, `release`, `value`: with values as releases call them."""
    labels: Mapping[str, int]

    @classmethod
    def of(cls, released: Released, view: Published) -> _Truth:
        labels = {str(value): at for at, value in enumerate(view.values)}
        frame = released.truth
        if view.sets:
            named = [str(label) for label in view.sets[-1].designs.labels]
            value = pl.col("value")
            frame = frame.with_columns(pl.when(value.is_in(named)).then(value).otherwise(pl.lit(OTHERS)).alias("value"))
        return cls(frame, labels)

    @cached_property
    def _last(self) -> pl.DataFrame:
        """Everybody's value in the last release that they are in, by person."""
        return self.frame.sort("person", "release").group_by("person", maintain_order=True).last()

    @cached_property
    def people(self) -> Ints:
        """Everybody who is in some release, ascending."""
        return self._last["person"].to_numpy()

    @cached_property
    def values(self) -> Ints:
        """The position of the value that each of them has in the last release that they are in."""
        return self._last["value"].replace_strict(self.labels, return_dtype=pl.Int64).to_numpy()

    def false(self, certain: Mapping[int, int]) -> float | None:
        """Of what is certain to somebody, which share was never so; None where nothing is."""
        if not certain:
            return None
        named = {at: label for label, at in self.labels.items()}
        claims = pl.DataFrame({"person": [*certain], "value": [named[at] for at in certain.values()]})
        had = claims.join(self.frame.unique(["person", "value"]), on=["person", "value"], how="semi")
        return 1 - had.height / claims.height

    def right(self, found: TrackingFindings, certain: Mapping[int, int]) -> float:
        """How often the likeliest value is the true one; of several that are equally likely each is guessed as often.

        What is certain goes before.
        """
        followed = found.followed
        assert followed is not None
        histories = followed.histories
        rows = histories.starts[1:] - 1
        chance, codes = followed.posterior[rows], histories.codes[rows]
        top = (chance >= chance.max(axis=1, keepdims=True) - TIE) & (codes >= 0)
        true = self.values[np.searchsorted(self.people, histories.people)]
        hits = (top & (codes == true[:, None])).any(axis=1) / top.sum(axis=1)
        claimed = np.array([certain.get(person, -1) for person in histories.people.tolist()], dtype=np.int64)
        return float(np.where(claimed >= 0, claimed == true, hits).sum() / self.people.size)


# Values that move


def _moving(view: Published, truth: _Truth, stream: Stream) -> TrackingFindings:
    """Follow everybody by how these people's values did move."""
    return Tracking(change=_chain(view, truth, stream)).run(view)


def _chain(view: Published, truth: _Truth, stream: Stream) -> dict[str, dict[str, float]] | None:
    """The chances of all moves from one table to the next, each possible; None where nothing ever moved.

    It is about the values that some release shows.
    """
    shown = np.unique(np.concatenate([one.values for one in (view.sets[-1:] or view.releases)]))
    labels = [label for label, at in truth.labels.items() if at in shown]
    place = {label: at for at, label in enumerate(labels)}

    def codes(column: pl.Series) -> Ints:
        return column.replace_strict(place, default=place.get(OTHERS, -1), return_dtype=pl.Int64).to_numpy()

    counts = np.zeros((len(labels), len(labels)))
    for before, after in pairwise(stream.states):
        both = before.join(after, on=PERSON, suffix="_then")
        old, new = codes(both[stream.sensitive]), codes(both[f"{stream.sensitive}_then"])
        known = (old >= 0) & (new >= 0)
        np.add.at(counts, (old[known], new[known]), 1.0)
    if not (counts.sum() - np.trace(counts)):
        return None
    every = codes(pl.concat(state[stream.sensitive] for state in stream.states))
    shares = np.bincount(every[every >= 0], minlength=len(labels)) + 1.0
    chances = counts + shares / shares.sum()
    chances /= chances.sum(axis=1, keepdims=True)
    return {label: dict(zip(labels, map(float, row), strict=True)) for label, row in zip(labels, chances, strict=True)}


# What is claimed


@dataclass(frozen=True, repr=False)
class _Claims:
    """Who is tied to what."""

    certain: Mapping[int, int]
    """People with one value left if values are fixed, and its position."""
    low: Floats
    """For everybody what their likeliest value has at least, at any time: proven."""
    high: Floats
    """And at most."""
    note: str | None = None


def _of_sets(view: Published, moving: TrackingFindings) -> _Claims:
    """Probabilities are those of whoever knows how values move, which are exact."""
    place = {value: at for at, value in enumerate(view.values)}
    fixed = Tracking(change="static").run(view).certain
    most = moving.risks["probability"].to_numpy()
    return _Claims({int(person): place[value] for person, value in fixed.items()}, most, most)


def _of_groups(view: Published, seconds: float) -> _Claims:
    """Probabilities are those of all worlds in which values are fixed."""
    left = candidates(view)
    alone = np.flatnonzero(left.counts == 1)
    certain = dict(zip(left.people[alone].tolist(), left.only[alone].tolist(), strict=True))
    place = {value: at for at, value in enumerate(view.values)}
    try:
        found = Worlds(seconds=seconds).run(view)
    except ParameterError as contradiction:
        # Where counting is what shows that no world agrees with all releases, Worlds has nothing to tell.
        low = _release_by_release(view)
        return _Claims(certain, low, np.ones(low.size), f"{contradiction.what} Each release was judged alone.")
    certain |= {int(person): place[value] for person, value in found.certain.items()}
    low, high = (found.risks[name].to_numpy() for name in ("low", "high"))
    return _Claims(certain, low, high, "; ".join(found.undecided) or None)


def _release_by_release(view: Published) -> Floats:
    """For everybody the largest probability that any release alone gives to a value of theirs."""
    alone = [Worlds().run(Published((one,), view.values, view.magnitudes)).risks for one in view.releases]
    low: Floats = pl.concat(alone).group_by("person").agg(pl.col("low").max())["low"].to_numpy()
    return low


def _last(view: Published) -> Published:
    """The last release alone."""
    if view.sets:
        return Published(Bridged(view.sets[-1:]), view.values, view.magnitudes, sets=view.sets[-1:])
    return Published(view.releases[-1:], view.values, view.magnitudes)
