"""What attacks get of a rehearsed series: whom they tie to a value, what of that is false, which guesses are right.

Everything here is a fixed amount of work, so that the same series gives the same figures on every machine.

- **Of groups**, somebody takes values for fixed: what all groups of a person have in common is what is left for them,
  and the likeliest of c values has at least 1/c; a release alone may say more. What exchanging values proves
  (`symmetry`) nobody exceeds. Between the two it is undecided: `reissue audit` runs `Worlds`, which decides more and
  takes longer.
- **Of sets**, somebody knows exactly how these people's values moved, which nobody knows who has not seen the tables:
  `Tracking` with that chain. Where cells have shares of their own it takes how often they moved instead, which is
  less, so that nobody is decided. Who takes values for fixed is certain where one value is left.
- **Of both**, somebody learns from the last release what is likely for whom: `Likelihood`.
- **Of no link at all**, somebody who takes values for fixed, and knows who came and who left, subtracts the counts of
  one release from those of the next: what came more than went is what newcomers have at least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.attacks.likelihood.likelihood import Likelihood
from reissue.attacks.tracking.tracking import Tracking
from reissue.attacks.tracking.tracking_findings import TrackingFindings
from reissue.comparing.series_tables import mean_rate
from reissue.comparing.truth_behind import Chain, TruthBehind, chain_behind, last_alone
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.worlds.candidates import candidates
from reissue.reasoning.worlds.symmetry import symmetry

CLEARLY = 1.05
"""A probability counts as above its limit where it is more than so many times that."""
TWICE = 2.0
"""And as far above it from so many times that on; or half way from the limit to certainty, if that is less."""


@dataclass(frozen=True, repr=False)
class Claims:
    """Who is tied to what."""

    certain: Mapping[int, int]
    """People with one value left if values are fixed, and its position."""
    above: Bools
    """By person: who is tied to a value with clearly more than the limit."""
    far: Bools
    """By person: with far more."""
    undecided: Bools
    """By person: of whom it was not decided."""


def attacked(view: Published, truth: TruthBehind, states: Sequence[pl.DataFrame], bound: float) -> dict[str, Any]:
    """What attacks get of a series. Groups are held against the probability `bound`; `states` are all tables."""
    claims = _of_sets(view, truth, states) if view.sets else _of_groups(view, bound)
    people = max(truth.people.size, 1)
    return {
        "above": float(claims.above.sum() / people),
        "far_above": float(claims.far.sum() / people),
        "undecided": float(claims.undecided.sum() / people),
        "certain": len(claims.certain) / people,
        "certain_false": truth.false(claims.certain),
        **likely(view, truth),
    }


def likely(view: Published, truth: TruthBehind) -> dict[str, float]:
    """Top guesses that are right on the last release, with and without the person's own row, and the difference.

    Where several columns are sensitive, those of the column with the largest difference. Where everybody is in one
    group, nobody's own row says more than those of all others.
    """
    last = last_alone(view)
    if not last.sets and last.releases[-1].group_count == 1:
        most = float(_largest(last.releases[-1])[0])
        return {"right": most, "without": most, "advantage": 0.0}
    found = Likelihood().run(last)
    scored = [found.scored(truth.frame)]
    for column in view.columns:
        named = [column.values[at] for at in column.of]
        places = truth.frame["value"].replace_strict(truth.labels, return_dtype=pl.Int64)
        values = pl.Series("value", named).gather(places)
        scored.append(found.of_column(column.name).scored(truth.frame.with_columns(values)))
    worst = max((one.row(-1, named=True) for one in scored), key=lambda row: float(row["advantage"]))
    return {"right": worst["right"], "without": worst["without"], "advantage": worst["advantage"]}


def without_a_link(states: Sequence[pl.DataFrame], bound: float) -> dict[str, Any]:
    """What two tables without a link tell, release after release: whoever guesses names the most frequent value, and
    whoever subtracts knows at least how many of those who came, or left, have a value."""
    most = float(states[-1]["value"].value_counts(normalize=True)["proportion"].to_numpy().max())
    everybody = pl.concat(state.select("person") for state in states).n_unique()
    told = [pl.DataFrame(schema={"person": states[0].schema["person"], "value": pl.String, "chance": pl.Float64})]
    for before, after in pairwise(states):
        for one, other in ((before, after), (after, before)):
            batch = other.join(one, on="person", how="anti").select("person")
            more = _counts(other).join(_counts(one), on="value", how="left", suffix="_then")
            more = more.with_columns((pl.col("len") - pl.col("len_then").fill_null(0)).alias("more")).sort(
                "more", "value"
            )
            if batch.height and more.height:
                value, least = more.row(-1, named=True)["value"], more.row(-1, named=True)["more"]
                chance = max(least, 0) / batch.height
                told.append(batch.with_columns(value=pl.lit(value, dtype=pl.String), chance=pl.lit(min(chance, 1.0))))
    highest = pl.concat(told).sort("chance").group_by("person").last()
    certain = highest.filter(pl.col("chance") >= 1)
    had = pl.concat(states).select("person", "value").unique()
    return {
        "above": highest.filter(pl.col("chance") > CLEARLY * bound).height / everybody,
        "far_above": highest.filter(pl.col("chance") > min(TWICE * bound, (1 + bound) / 2) + 1e-9).height / everybody,
        "undecided": highest.filter(pl.col("chance") <= CLEARLY * bound).height / everybody,
        "certain": certain.height / everybody,
        "certain_false": certain.join(had, on=["person", "value"], how="anti").height / certain.height
        if certain.height
        else None,
        "right": most,
        "without": most,
        "advantage": 0.0,
    }


def _counts(state: pl.DataFrame) -> pl.DataFrame:
    return state.group_by("value").len().with_columns(pl.col("len").cast(pl.Int64))


# Sets


def _of_sets(view: Published, truth: TruthBehind, states: Sequence[pl.DataFrame]) -> Claims:
    place = {value: at for at, value in enumerate(view.values)}
    fixed = Tracking(change="static").run(view).certain
    moves = _moves(view, truth, states)
    found = Tracking(change=moves).run(view)
    columns = [found.of_column(column.name).findings for column in view.columns]
    above, far = (np.logical_or.reduce(each) for each in zip(*map(_beyond, [found, *columns]), strict=True))
    certain = {int(person): place[value] for person, value in fixed.items()}
    return Claims(certain, above, far, ~above & isinstance(moves, float))


def _moves(view: Published, truth: TruthBehind, states: Sequence[pl.DataFrame]) -> Chain | float | None:
    """How values moved: the chain, or where cells have shares of their own how often; None where nothing moved."""
    chain = chain_behind(view, truth, states)
    if chain is None or all(len(one.designs.designs) == 1 for one in view.sets):
        return chain
    return min(mean_rate(states), 0.999)


def _beyond(found: TrackingFindings) -> tuple[Bools, Bools]:
    """Who is clearly, and who far above what a value of their sets may have by its slots, at any time."""
    followed = found.followed
    assert followed is not None
    histories = followed.histories
    row, place = followed.furthest(followed.limits)
    chance = followed.posterior[row, place]
    limit = followed.limits[histories.design[row], np.maximum(histories.codes[row, place], 0)]
    return chance > CLEARLY * limit, chance > np.minimum(TWICE * limit, (1 + limit) / 2) + 1e-9


# Groups


def _of_groups(view: Published, bound: float) -> Claims:
    left = candidates(view)
    alone = np.flatnonzero(left.counts == 1)
    certain = dict(zip(left.people[alone].tolist(), left.only[alone].tolist(), strict=True))
    low = np.where(left.counts > 0, 1 / np.maximum(left.counts, 1), 0.0)
    low = np.maximum(low, _by_one_release(view, left.people))
    above = low > CLEARLY * bound
    proven = _at_most(view, left.people) <= CLEARLY * bound
    return Claims(certain, above, low > min(TWICE * bound, (1 + bound) / 2) + 1e-9, ~above & ~proven)


def _by_one_release(view: Published, people: Ints) -> Floats:
    """For everybody the largest share that a value has in any of their groups."""
    most = np.zeros(people.size)
    for release in view.releases:
        shares = _largest(release)[release.member_groups]
        real = release.members >= 0
        np.maximum.at(most, np.searchsorted(people, release.members[real]), shares[real])
    return most


def _largest(release: PublishedGroups) -> Floats:
    shares = np.zeros(release.group_count)
    np.maximum.at(shares, release.value_groups, release.counts / release.rows[release.value_groups])
    return shares


def _at_most(view: Published, people: Ints) -> Floats:
    """For everybody what exchanging values proves that no value of theirs exceeds."""
    parts = symmetry(view)
    fewest = np.full(parts.part_count, np.iinfo(np.int64).max)
    np.minimum.at(fewest, np.repeat(np.arange(parts.part_count), np.diff(parts.starts)), parts.alike)
    part = parts.part[parts.last[np.searchsorted(parts.numbers, people)]]
    return np.asarray(1 / fewest[part])
