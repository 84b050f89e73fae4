"""Equivalence safety release by release: the cut graphs of all buckets, kept from one release to the next.

Graphs and stays are those that `reasoning` keeps (`cut_graphs`, `stays`); counterfeits are tuples like others and
have stays of their own. A release is certified if every signature has one group at most in it, those who return
can be left out of the graphs, and no cut falls short. Once a release is not certified nothing after it can be,
since a later release takes nothing back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, count_of
from reissue.model.memory import Memory, Remembered
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.reasoning.equality.cut_graphs import Counts, CutGraphs, Turnover
from reissue.reasoning.history.signatures import signatures_of
from reissue.reasoning.history.stays import Stays, Step

UNCERTIFIED = "uncertified"
COUNTERFEITS = 2**31
"""Stays are kept by numbers from 0 on: people below this one, counterfeits from it on."""


@dataclass(frozen=True)
class Doubt:
    """Why a release is not certified."""

    words: str
    groups: int
    """How many groups of the release it is about."""


def follow_cuts(e: int, published: Published, state: Memory) -> tuple[Doubt | None, Remembered]:
    """Judge the only release of the view in the light of those before; None if it is certified."""
    release = published.releases[0]
    if UNCERTIFIED in state:
        since = int(state[UNCERTIFIED]["release"][0])
        need_order(release, int(state[UNCERTIFIED]["last"][0]))
        return Doubt(f"release {since} was not, and what is out stays out", release.group_count), _doubted(
            since, release
        )
    stays, graphs = Stays.read(state), CutGraphs.read(state, e)
    need_order(release, stays.number)
    stays, step, several = _advanced(stays, published, release)
    if several:
        words = f"release {release.number:,} has {count_of(several, 'bucket')} split into several groups"
        return Doubt(words, several), _doubted(release.number, release)
    doubt = _step(graphs, step, np.flatnonzero(np.bincount(stays.signature)))
    if doubt is not None:
        return doubt, _doubted(release.number, release)
    return None, {**stays.tables(), **graphs.tables()}


def _advanced(stays: Stays, published: Published, release: PublishedGroups) -> tuple[Stays, Step, int]:
    """Everybody's stays with this release, what happened in it, and how many buckets have several groups."""
    number, sets = signatures_of(release)
    occupied = release.sizes > 0
    used, groups = np.unique(number[occupied], return_counts=True)
    values = published.values if published.magnitudes is None else published.magnitudes.tolist()
    stays, ids = stays.signature_ids([[values[code] for code in sets[at].tolist()] for at in used.tolist()])
    id_of = np.full(len(sets), -1, dtype=np.int64)
    id_of[used] = ids
    members = np.where(release.members < 0, COUNTERFEITS - release.members, release.members)
    beyond = int(np.count_nonzero(release.members >= COUNTERFEITS))
    order = ascending(members)
    twice = members.size - order.size
    if beyond or twice:
        raise ParameterError(
            f"Release {release.number} has {count_of(twice, 'member')} in more than one place "
            f"and {count_of(beyond, 'person', 'people')} with numbers of more than 31 bits.",
            hint="let everybody be in one group of a release.",
        )
    signature = np.repeat(id_of[number], release.sizes)
    stays, step = stays.advance(release.number, members[order], signature[order])
    # Sets that differ in codes but not as they are remembered would share a graph too.
    several = int(np.count_nonzero(np.bincount(ids, weights=groups) > 1))
    return stays, step, several


def _step(graphs: CutGraphs, step: Step, present: Ints) -> Doubt | None:
    """Let the graphs go on by one release, if they can be certified with it."""
    back = step.returned
    first = ~back.last.again
    # Whoever changed his signature in this release is still there as far as his old graph knows.
    moved = back.last.left == step.number
    left = np.where(moved, 0, back.last.left)
    admitted = graphs.admit(back.last.signature[first], back.last.came[first], left[first])
    if not admitted.all():
        refused = np.unique(back.last.signature[first][~admitted]).size
        where = count_of(refused, "bucket")
        words = f"release {step.number:,} has people again whose former stays the cut needs in {where}"
        return Doubt(words, refused)
    graphs.end(np.setdiff1d(graphs.living(), present), step.number)
    turnover = _turnover(step, back.person[first & moved], present)
    short = int(np.count_nonzero(graphs.missing(turnover)))
    if short:
        bucket = count_of(short, "bucket")
        return Doubt(f"the cut of {bucket} of {present.size:,} in release {step.number:,} is too small", short)
    graphs.step(turnover)
    return None


def _turnover(step: Step, just_admitted: Ints, present: Ints) -> Turnover:
    """What enters and leaves the buckets that change, those who have several stays counted apart."""
    gone = step.left
    returner = gone.again | np.isin(gone.person, just_admitted)
    leaving = Counts.of(gone.signature[~returner], gone.came[~returner]).only(present)
    returners_leaving = Counts.of(gone.signature[returner], gone.came[returner]).only(present)
    size = int(present.max(initial=-1)) + 1
    returners = np.bincount(step.returned.signature, minlength=size)
    entering = np.bincount(step.entered.signature, minlength=size) - returners
    touched = np.concatenate([leaving.signature, returners_leaving.signature, step.entered.signature])
    changed = np.intersect1d(present, touched)
    return Turnover(step.number, changed, entering[changed], leaving, returners[changed], returners_leaving)


def _doubted(since: int, release: PublishedGroups) -> Remembered:
    return {UNCERTIFIED: pl.DataFrame({"release": [since], "last": [release.number]}, schema_overrides=_NUMBERS)}


_NUMBERS = {"release": pl.UInt32, "last": pl.UInt32}
