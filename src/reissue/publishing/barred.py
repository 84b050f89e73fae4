"""People who are never published again: releases made elsewhere gave too much away about them.

Who they are follows from those releases alone, which everybody has seen; so that they are missing tells nothing.
Methods do not see them at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import Infeasible, count_of
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.showing import shown
from reissue.model.snapshot import Delta, Snapshot

BARRED = "was in groups of adopted releases that the method cannot go on from"


def without_barred(snapshot: Snapshot, delta: Delta, barred: pl.DataFrame | None) -> tuple[Snapshot, Delta]:
    """The people who may be published, and what changed about them."""
    if barred is None:
        return snapshot, delta
    people = barred["person"].to_numpy().astype(np.int64)
    never = np.isin(snapshot.people, people)
    if never.all():
        raise Infeasible(
            f"Nobody can be published: all {count_of(len(snapshot), 'row')} are about people who were in groups of "
            "adopted releases that the method cannot go on from.",
            hint="publish when other people have arrived.",
        )
    group = np.where(never, HELD_BACK, 0).astype(np.int32)
    eligible, _ = shown(snapshot, Grouping(group, 1, held_back={BARRED: np.flatnonzero(never)}))
    return eligible, Delta(
        arrived=_others(delta.arrived, people),
        returned=_others(delta.returned, people),
        stayed=_others(delta.stayed, people),
        gone=_others(delta.gone, people),
        changed_quasi=_others(delta.changed_quasi, people),
        changed_value=_others(delta.changed_value, people),
        since=delta.since,
    )


def all_rows(grouping: Grouping, snapshot: Snapshot, eligible: Snapshot) -> Grouping:
    """A grouping of the eligible people as one of the whole snapshot, which holds the others back."""
    if len(eligible) == len(snapshot):
        return grouping
    may = np.isin(snapshot.people, eligible.people)
    rows = np.flatnonzero(may)
    group = np.full(len(snapshot), HELD_BACK, dtype=np.int32)
    group[rows] = grouping.group
    held_back = {reason: rows[held] for reason, held in grouping.held_back.items()}
    held_back[BARRED] = np.flatnonzero(~may)
    changed = grouping.changed and replace(grouping.changed, rows=rows[grouping.changed.rows])
    return replace(grouping, group=group, held_back=held_back, anew=rows[grouping.anew], changed=changed)


def forgotten_barred(forgotten: Sequence[int], barred: Ints) -> tuple[str, ...]:
    """What to say when ids are forgotten of people who are never to be published again; nothing if there are none."""
    count = int(np.isin(forgotten, barred).sum())
    if not count:
        return ()
    return (
        f"{count_of(count, 'person', 'people')} of those forgotten must never be published again, because of adopted "
        "releases; without their ids nobody here can tell: keep them out of the tables that you publish",
    )


def _others(people: Ints, barred: Ints) -> Ints:
    return people[~np.isin(people, barred)]
