"""People who may share one life: what the sets of a whole household say.

With the chance `together` the people of a household have one value, the same for all at all times; otherwise each has a
life of their own. Both are summed over exactly, and weighed by how likely the sets of the household are under each. A
household whose people are in the same releases is summed over forward and backward; of others every course is written
down, if those are not too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Codes, Floats, Ints
from reissue.attacks.tracking.tracking_findings import Followed
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.reasoning.alternatives.set_histories import Histories
from reissue.reasoning.alternatives.smoothing import SetSteps

MOST_COURSES = 20_000
"""So many courses of a common value are written down for a household at most."""


def households_of(
    given: Mapping[Any, Any] | str | None, published: Published, histories: Histories
) -> list[Ints] | None:
    """The households with more than one person, each as places among the people; None where nobody asked."""
    if given is None:
        return None
    if isinstance(given, str):
        frames = []
        for one in published.sets:
            if one.region is None or given not in one.region.columns:
                raise ParameterError(
                    "The 'household' parameter of Tracking must be a column of every release, or a mapping.",
                    hint="give a mapping from people, as the view calls them, to households.",
                )
            frames.append(pl.DataFrame({"person": one.people, "home": one.region[given].cast(pl.String)}))
        table = pl.concat(frames).unique("person", keep="last", maintain_order=True)
    else:
        numbers = [published.number(person) for person in given]
        table = pl.DataFrame({"person": numbers, "home": [str(home) for home in given.values()]})
    table = table.filter(pl.col("person").is_in(pl.Series(histories.people).implode()))
    grouped = (
        table.group_by("home", maintain_order=True).agg(pl.col("person").sort()).filter(pl.col("person").list.len() > 1)
    )
    return [np.searchsorted(histories.people, people.to_numpy()) for people in grouped["person"]]


@dataclass(frozen=True, repr=False)
class Relatives:
    """What households say, given what is known of each person alone."""

    histories: Histories
    steps: SetSteps
    posterior: Floats
    likelihood: Floats
    together: float

    def followed(self, alone: Followed, homes: list[Ints]) -> Followed:
        """Everybody, with what their households say."""
        posterior, lost, open_ = self.posterior.copy(), alone.lost.copy(), np.zeros(alone.lost.size, dtype=np.bool_)
        tied, sole = np.zeros(lost.size, dtype=np.bool_), alone.sole.copy()
        for home in homes:
            tied[home] = True
            common = self._common(home)
            if common is None:
                open_[home] = True
                continue
            log_common, found = common
            apart = float(self.likelihood[home].sum())
            with np.errstate(divide="ignore"):
                logs = np.array([np.log1p(-self.together) + apart, np.log(self.together) + log_common])
            if not np.isfinite(logs).any():
                lost[home] = True
                continue
            weights = np.exp(logs - logs.max())
            share = weights / weights.sum()
            lost[home] = False
            for row, one in found.items():
                posterior[row] = share[0] * self.posterior[row] + share[1] * one
                sole[row] = (posterior[row] > 0).sum() == 1
        return replace(alone, posterior=posterior, lost=lost, sole=sole, open=open_, agrees=False, tied=tied)

    def _common(self, home: Ints) -> tuple[float, dict[int, Floats]] | None:
        """The logarithm of how likely the sets are with one life for all, and the posterior of each row then."""
        rows = {int(person): np.arange(*self.histories.starts[person : person + 2]) for person in home}
        times = {person: tuple(self.histories.release[mine].tolist()) for person, mine in rows.items()}
        if len(set(times.values())) == 1:
            return self._alike([*rows.values()])
        return self._courses([*rows.values()])

    def _alike(self, members: list[Ints]) -> tuple[float, dict[int, Floats]]:
        """Forward and backward over people who are in the same releases."""
        length = members[0].size
        values = [self._values([mine[at] for mine in members]) for at in range(length)]
        total = 0.0
        ahead: list[Floats] = []
        moves: list[Floats] = []
        state = self._first(members, values[0])
        for at in range(length):
            if at:
                moves.append(self._weights([(mine[at - 1], mine[at]) for mine in members], values[at - 1], values[at]))
                state = ahead[-1] @ moves[-1]
            state = state * self._told([mine[at] for mine in members], values[at])
            scale = float(state.sum())
            if scale <= 0:
                return -np.inf, {}
            ahead.append(state / scale)
            total += float(np.log(scale))
        behind = np.ones(values[-1].size)
        found: dict[int, Floats] = {}
        for at in range(length - 1, -1, -1):
            chance = ahead[at] * behind
            for mine in members:
                found[int(mine[at])] = self._spread(int(mine[at]), values[at], chance / chance.sum())
            if at:
                behind = moves[at - 1] @ (behind * self._told([mine[at] for mine in members], values[at]))
                behind /= max(behind.max(), np.finfo(float).tiny)
        return total, found

    def _courses(self, members: list[Ints]) -> tuple[float, dict[int, Floats]] | None:
        """Every course of the common value."""
        release = self.histories.release
        at_time: dict[int, list[int]] = {}
        for mine in members:
            for row in mine.tolist():
                at_time.setdefault(int(release[row]), []).append(row)
        times = sorted(at_time)
        values = [self._values(at_time[time]) for time in times]
        if prod(some.size for some in values) > MOST_COURSES:
            return None
        place = {time: at for at, time in enumerate(times)}
        found = {row: np.zeros(self.steps.width) for mine in members for row in mine.tolist()}
        total = 0.0
        for course in product(*(some.tolist() for some in values)):
            weight = self._course(course, times, place, members, at_time)
            total += weight
            for time, rows in at_time.items():
                for row in rows:
                    found[row] += weight * (self.steps.codes[row] == course[place[time]])
        if total <= 0:
            return -np.inf, {}
        return float(np.log(total)), {row: one / total for row, one in found.items()}

    def _course(
        self,
        course: tuple[int, ...],
        times: list[int],
        place: dict[int, int],
        members: list[Ints],
        rows: dict[int, list[int]],
    ) -> float:
        opening = rows[times[0]][0]
        weight = float(self.steps.prior[opening][self.steps.codes[opening] == course[0]][0])
        for at in range(1, len(times)):
            cell = self.steps.cell[[rows[times[at]][0]]]
            old, new = (np.array([[value]], dtype=np.int32) for value in course[at - 1 : at + 1])
            moved = self.steps.moving.moves(old, new, np.array([times[at - 1]]), np.array([times[at]]), cell)
            weight *= float(moved[0, 0, 0])
        for mine in members:
            held = [course[place[int(self.histories.release[row])]] for row in mine.tolist()]
            weight *= float(self.steps.drawn[mine[0]][self.steps.codes[mine[0]] == held[0]][0])
            for at in range(1, mine.size):
                chance = self.steps.mechanism(mine[at - 1 : at], mine[at : at + 1])[0]
                left = np.flatnonzero(self.steps.codes[mine[at - 1]] == held[at - 1])
                came = np.flatnonzero(self.steps.codes[mine[at]] == held[at])
                weight *= float(chance[left[0], came[0]])
            for row, value in zip(mine.tolist(), held, strict=True):
                weight *= float(self._told([row], np.array([value], dtype=np.int32))[0])
        return weight

    def _values(self, rows: list[int]) -> Codes:
        """The values that all these sets hold."""
        held: Codes = self.steps.codes[rows[0]]
        held = held[held >= 0]
        for row in rows[1:]:
            held = held[np.isin(held, self.steps.codes[row])]
        return held

    def _places(self, row: int, values: Codes) -> Ints:
        """Where a row has these values."""
        codes = self.steps.codes[row]
        order = np.argsort(codes)
        places: Ints = order[np.searchsorted(codes[order], values)]
        return places

    def _first(self, members: list[Ints], values: Codes) -> Floats:
        weights: Floats = self.steps.prior[members[0][0]][self._places(int(members[0][0]), values)]
        for mine in members:
            weights = weights * self.steps.drawn[mine[0]][self._places(int(mine[0]), values)]
        return weights

    def _weights(self, pairs: list[tuple[int, int]], old: Codes, new: Codes) -> Floats:
        before, after = pairs[0]
        since, now = self.steps.since[[after]], self.steps.release[[after]]
        weights = self.steps.moving.moves(old[None, :], new[None, :], since, now, self.steps.cell[[after]])[0]
        for before, after in pairs:
            chance = self.steps.mechanism(np.array([before]), np.array([after]))[0]
            weights = weights * chance[np.ix_(self._places(before, old), self._places(after, new))]
        return np.asarray(weights)

    def _told(self, rows: list[int], values: Codes) -> Floats:
        """1 for values that are not known to be others."""
        told = np.ones(values.size)
        if self.steps.known is not None:
            for row in rows:
                if self.steps.known[row] >= 0:
                    told = told * (values == self.steps.known[row])
        return told

    def _spread(self, row: int, values: Codes, chance: Floats) -> Floats:
        found = np.zeros(self.steps.width)
        found[self._places(row, values)] = chance
        return found
