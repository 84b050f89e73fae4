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
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Floats
from reissue.attacks.likelihood.likelihood import Likelihood
from reissue.attacks.tracking.tracking import Tracking
from reissue.attacks.tracking.tracking_findings import TrackingFindings
from reissue.attacks.worlds.worlds import Worlds
from reissue.comparing.attacked import CLEARLY, TWICE
from reissue.comparing.truth_behind import TruthBehind, chain_behind, last_alone
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.reasoning.worlds.candidates import candidates
from reissue_studies.methods.released import Released
from reissue_studies.methods.streams import PERSON, Stream
from reissue_studies.methods.ways import values_of

TIE = 1e-9
"""Probabilities that differ by less are the same."""


def taken(released: Released, seconds: float) -> dict[str, Any]:
    """All of it for one series."""
    view = released.view
    truth = TruthBehind.of(released.truth, view)
    bars = tuple(times / released.m for times in (CLEARLY, TWICE))
    moving = _moving(view, truth, released.stream)
    claims = _of_sets(view, moving) if view.sets else _of_groups(view, seconds)
    above, twice = ((claims.low > bar).sum() / truth.people.size for bar in bars)
    undecided = ((claims.low <= bars[0]) & (claims.high > bars[0])).sum() / truth.people.size
    found = Likelihood().run(last_alone(view)).scored(truth.frame).row(-1, named=True)
    return {
        "attack": "Tracking" if view.sets else "Worlds",
        "people": truth.people.size,
        "above": float(above),
        "twice": float(twice),
        "undecided": float(undecided),
        "certain": len(claims.certain) / truth.people.size,
        "false": truth.false(claims.certain),
        "right": right(truth, moving, claims.certain),
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


def right(truth: TruthBehind, found: TrackingFindings, certain: Mapping[int, int]) -> float:
    """How often the likeliest value is the true one; of several that are equally likely each is guessed as often.

    What is certain goes before.
    """
    followed = found.followed
    assert followed is not None
    histories = followed.histories
    rows = histories.starts[1:] - 1
    chance, codes = followed.posterior[rows], histories.codes[rows]
    top = (chance >= chance.max(axis=1, keepdims=True) - TIE) & (codes >= 0)
    true = truth.values[np.searchsorted(truth.people, histories.people)]
    hits = (top & (codes == true[:, None])).any(axis=1) / top.sum(axis=1)
    claimed = np.array([certain.get(person, -1) for person in histories.people.tolist()], dtype=np.int64)
    return float(np.where(claimed >= 0, claimed == true, hits).sum() / truth.people.size)


# Values that move


def _moving(view: Published, truth: TruthBehind, stream: Stream) -> TrackingFindings:
    """Follow everybody by how these people's values did move."""
    return Tracking(change=chain_behind(view, truth, values_of(stream, stream.states))).run(view)


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
