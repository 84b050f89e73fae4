"""Groups, person by person: a value by its share in each of somebody's groups, independent of all others.

What it leaves out: groups hang together through the people in them, and who has which value is not independent. So
this is an estimate, and says nothing about whom a chain of groups gives away, which `Worlds` finds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reissue.arrays.types import Floats, Ints
from reissue.attacks.tracking.tracking_findings import Followed
from reissue.errors import ParameterError
from reissue.model.change import Static
from reissue.model.published import Published
from reissue.reasoning.alternatives.redraws import Laws, Moving
from reissue.reasoning.alternatives.set_histories import Histories
from reissue.reasoning.alternatives.smoothing import SetSteps, smoothed

WIDEST = 256
"""Groups with more different values are not followed."""


def followed_groups(
    published: Published,
    model: Callable[[Floats], tuple[Moving, Floats]],
    people: Ints,
    values: Ints,
) -> Followed:
    """Everybody through their groups; `model` makes a model of change, and a first law, from the shares shown."""
    if not published.exact or not published.single:
        raise ParameterError("Tracking needs to know of groups who is in which, with one value each.")
    histories, drawn, shown = _rows(published)
    moving, first = model(shown)
    known = None
    if people.size:
        at = np.searchsorted(histories.people, people)
        known = np.full(histories.release.size, -1, dtype=np.int64)
        known[histories.starts[at + 1] - 1] = values
    codes, opening = histories.codes, histories.opening
    since = np.where(opening, histories.release, np.roll(histories.release, 1))
    # The share of a value in a group is P(value | group); seen the other way round it is that over the first law.
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where((codes >= 0) & (first[codes] > 0), drawn / first[codes], 0.0)
    nowhere = np.zeros(histories.release.size, dtype=np.int64)
    prior = np.where(codes >= 0, first[codes], 0.0)
    coin, kept = np.ones(codes.shape), np.zeros(codes.shape[0], dtype=np.bool_)
    steps = SetSteps(codes, histories.release, nowhere, since, prior, told, coin, kept, moving, known)
    found = smoothed(histories.starts, steps)
    sole = np.zeros(histories.release.size, dtype=np.bool_)
    return Followed(histories, found.posterior, ~np.isfinite(found.log_likelihood), sole, agrees=False, known=known)


def _rows(published: Published) -> tuple[Histories, Floats, Floats]:
    """Each person's groups as rows of values, the share of each value in them, and the shares of values over all."""
    count = len(published.values)
    width = max(int(np.diff(one.value_starts).max(initial=1)) for one in published.releases)
    if width > WIDEST:
        raise ParameterError(f"Tracking follows people through groups of up to {WIDEST} different values.")
    person, release, codes, shares = [], [], [], []
    shown = np.zeros(count)
    for at, one in enumerate(published.releases):
        shown += np.bincount(one.values, one.counts, minlength=count)
        held = np.diff(one.value_starts)
        table = np.full((one.group_count, width), -1, dtype=np.int32)
        share = np.zeros((one.group_count, width))
        place = np.arange(one.values.size) - np.repeat(one.value_starts[:-1], held)
        table[one.value_groups, place] = one.values
        share[one.value_groups, place] = one.counts / np.maximum(one.rows, 1)[one.value_groups]
        real = one.members >= 0
        group = one.member_groups[real]
        person.append(one.members[real])
        release.append(np.full(group.size, at))
        codes.append(table[group])
        shares.append(share[group])
    who, when = np.concatenate(person), np.concatenate(release)
    order = np.lexsort((when, who))
    people, first = np.unique(who[order], return_index=True)
    starts = np.append(first, who.size).astype(np.int64)
    shown /= shown.sum()
    nothing = np.zeros(0, dtype=np.int64)
    histories = Histories(
        people=people,
        starts=starts,
        release=when[order],
        numbers=np.array([one.number for one in published.releases], dtype=np.int64),
        codes=np.concatenate(codes)[order],
        design=np.zeros(who.size, dtype=np.int64),
        kept=np.zeros(who.size, dtype=np.bool_),
        designs=(),
        laws=Laws(shown[None, :], np.zeros((1, 1), dtype=np.int64), np.zeros(len(published.releases), dtype=np.int64)),
        slots=np.ones((1, count), dtype=np.int64),
        m=np.full(1, np.iinfo(np.int64).max),
        version=nothing,
        cell=np.zeros(1, dtype=np.int64),
        changes=(Static(),) * len(published.releases),
        linked=False,
    )
    return histories, np.concatenate(shares)[order], shown
