"""Questions made from a table: shares, and means of numbers, of random parts of it.

The parts are those of a workload, by quasi-identifiers alone. Values are those of people drawn at random, so that
frequent ones are asked for more often; of numbers "this one or more".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reissue.arrays.types import Ints
from reissue.model.records import Records
from reissue.model.snapshot import Column, Numbers, Snapshot
from reissue.utility.asks import Ask
from reissue.utility.workload import Batch, Queries, Workload

PARTS = 5
"""So many parts of the table are asked about for each value."""
VALUES = 20
"""So many values are drawn."""
MOST_ROWS = 20_000_000
"""Of tables so large that this many rows would be looked at fewer values are drawn."""


def made_questions(snapshot: Snapshot, workload: Workload) -> tuple[list[Ask], list[Ask]]:
    """Shares, and means where there are numbers."""
    owners = snapshot.owners
    people = np.flatnonzero(snapshot.people[owners] >= 0)
    quasi = [Column(one.name, one.codes[owners[people]], one.levels) for one in snapshot.quasi]
    levels, codes = snapshot.values.levels, snapshot.values.codes[people]
    sensitive = levels.columns(codes) if isinstance(levels, Records) else [Column(snapshot.values.name, codes, levels)]
    seed = workload.seed
    assert seed is not None  # Workload draws one where none was given
    rng = np.random.default_rng([seed, 1])
    several, shares = len(sensitive) > 1, []
    values = max(2, min(VALUES, MOST_ROWS // max(PARTS * people.size, 1)))
    for at in range(values):
        column = sensitive[at % len(sensitive)]
        value = _value(column, int(rng.integers(people.size)))
        if value is None:
            continue
        asked = {column.name: value} if several else value
        parts = _parts(quasi, replace(workload, count=PARTS, seed=seed + at, sensitive=False, sensitive_values=None))
        shares += [Ask("share", asked, where=one) for one in parts]
    parts = _parts(quasi, replace(workload, count=2 * values, seed=seed, sensitive=False, sensitive_values=None))
    numbers = [one for one in sensitive if isinstance(one.levels, Numbers) and one.levels.dtype.is_numeric()]
    means = [Ask("mean", column=column.name, where=one) for column in numbers for one in parts]
    return shares, means


def _value(column: Column, row: int) -> Any:
    """What somebody has, as it can be asked for; None for a missing number."""
    code = int(column.codes[row])
    if not isinstance(column.levels, Numbers):
        return column.levels.labels[code]
    first = column.levels.decode([code])[0]
    return None if first is None else (first, column.levels.decode([int(column.codes.max())])[0])


def _parts(quasi: Sequence[Column], workload: Workload) -> list[dict[str, Any]]:
    """Conditions on quasi-identifiers, as a workload draws them; of labels those that somebody has."""
    queries = Queries(quasi, quasi[0], workload)
    batch, present = queries.draw(0), [np.unique(one.codes).astype(np.int64) for one in quasi]
    found = []
    for lane in range(min(workload.count, batch.begin.shape[1])):
        conditions = {
            column.name: _condition(queries, batch, at, lane, column, present[at])
            for at, column in enumerate(quasi)
            if _restricted(queries, batch, at, lane, present[at])
        }
        if not any(condition == [] for condition in conditions.values()):
            found.append(conditions)
    return found


def _restricted(queries: Queries, batch: Batch, at: int, lane: int, present: Ints) -> bool:
    if queries.ranged[at]:
        return bool(np.isfinite(batch.lower[at, lane]) or np.isfinite(batch.upper[at, lane]))
    return not batch.table[queries.bases[at] + present, lane].all()


def _condition(queries: Queries, batch: Batch, at: int, lane: int, column: Column, present: Ints) -> Any:
    levels = column.levels
    if isinstance(levels, Numbers):
        begin = int(batch.begin[at, lane])
        first, last = levels.decode([begin, begin + int(batch.width[at, lane]) - 1]).to_list()
        return (first, last)
    chosen = present[batch.table[queries.bases[at] + present, lane].astype(bool)]
    return [levels.labels[code] for code in chosen.tolist()]
