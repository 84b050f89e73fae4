"""The rows that a release shows: people who are not held back, with the values published, and counterfeits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.model.grouping import HELD_BACK, Changed, Counterfeits, Grouping
from reissue.model.snapshot import Codes, Column, Labels, Levels, Numbers, Snapshot, smallest_unsigned


def shown(snapshot: Snapshot, grouping: Grouping) -> tuple[Snapshot, Grouping]:
    """The snapshot as it is published, with its groups; a counterfeit has a negative person number."""
    if grouping.changed is not None:
        snapshot = replace(snapshot, values=with_changed(snapshot.values, grouping.changed))
        grouping = replace(grouping, changed=None)
    if grouping.held_back:
        rows = np.flatnonzero(grouping.group != HELD_BACK)
        snapshot = only(snapshot, rows)
        sets = None if grouping.sets is None else grouping.sets.rows(rows)
        grouping = replace(grouping, group=grouping.group[rows], held_back={}, sets=sets)
    if grouping.counterfeits is None:
        return snapshot, grouping
    made = grouping.counterfeits
    group = np.concatenate([grouping.group, made.group])
    return with_counterfeits(snapshot, made), Grouping(group, grouping.count)


def with_changed(values: Column, changed: Changed) -> Column:
    """The sensitive column as it is published."""
    codes = values.codes.copy()
    codes[changed.rows] = changed.codes
    return replace(values, codes=codes)


def only(snapshot: Snapshot, rows: Ints) -> Snapshot:
    """The people of some rows, with their values."""
    owner, values = None, rows
    if snapshot.owner is not None:
        place = np.full(len(snapshot), -1, dtype=np.int64)
        place[rows] = np.arange(rows.size)
        values = np.flatnonzero(place[snapshot.owner] >= 0)
        owner = place[snapshot.owner[values]]

    def chosen(column: Column) -> Column:
        return replace(column, codes=column.codes[rows])

    return replace(
        snapshot,
        people=snapshot.people[rows],
        quasi=tuple(map(chosen, snapshot.quasi)),
        as_is=tuple(map(chosen, snapshot.as_is)),
        values=replace(snapshot.values, codes=snapshot.values.codes[values]),
        owner=owner,
    )


def with_counterfeits(snapshot: Snapshot, made: Counterfeits) -> Snapshot:
    """The snapshot with the made-up rows after its own."""

    def longer(column: Column) -> Column:
        return appended(column, made.rows[column.name])

    return replace(
        snapshot,
        people=np.concatenate([snapshot.people, -made.number]),
        quasi=tuple(map(longer, snapshot.quasi)),
        as_is=tuple(map(longer, snapshot.as_is)),
        values=longer(snapshot.values),
    )


def appended(column: Column, cells: pl.Series) -> Column:
    """A column with further cells after its own."""
    if not isinstance(column.levels, Numbers):
        return replace(column, codes=np.concatenate([column.codes, codes_of(cells, column.levels)]))
    # A number may have left the table with the people who had it: then the levels grow by it.
    levels = column.levels
    numbers = cells.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    missing = levels.missing or bool(np.isnan(numbers).any())
    values = levels.values[1:] if levels.missing else levels.values
    united = np.union1d(values, numbers[~np.isnan(numbers)])
    if united.size == values.size and missing == levels.missing:
        return replace(column, codes=np.concatenate([column.codes, codes_of(cells, levels)]))
    grown = replace(levels, values=np.concatenate([[np.nan], united]) if missing else united, missing=missing)
    place = np.searchsorted(united, values) + int(missing)
    if levels.missing:
        place = np.concatenate([[0], place])
    codes = np.concatenate([place[column.codes], codes_of(cells, grown)])
    return replace(column, codes=codes.astype(smallest_unsigned(grown.values.size)), levels=grown)


def codes_of(cells: pl.Series, levels: Levels) -> Codes:
    """The codes of cells that occur among the levels."""
    if isinstance(levels, Numbers):
        numbers = cells.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
        values = levels.values[1:] if levels.missing else levels.values
        codes = np.searchsorted(values, numbers) + int(levels.missing)
        return np.where(np.isnan(numbers), 0, codes).astype(smallest_unsigned(levels.values.size))
    labels = levels.labels if isinstance(levels, Labels) else levels.hierarchy.leaves
    code_of = {label: code for code, label in enumerate(labels)}
    return np.array([code_of[label] for label in cells.cast(pl.String)], dtype=smallest_unsigned(len(labels)))
