"""Values that a policy names and no table has: a misspelt permanent, protected or harmless value does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl

from reissue.errors import count_of
from reissue.model.domain import sort_of
from reissue.model.records import Records
from reissue.model.schema import Categorical
from reissue.model.snapshot import Column, Numbers, Snapshot
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.history import History
from reissue.publishing.policy import Policy

NEAR = 0.75
"""From this likeness on a spelling is near; 1 is the same."""


def unused_value(snapshot: Snapshot, policy: Policy, history: History, *, show_values: bool) -> Failed | None:
    """Whether values are named that have occurred in no table so far."""
    named = _named(policy)
    unused: list[tuple[str, str, str | None]] = []
    for column in _columns(snapshot):
        if not any(columns.get(column.name) for columns in named.values()):
            continue
        seen = _seen(column, policy, history)
        for role, columns in named.items():
            lacking = sorted(columns.get(column.name, set()) - seen)
            unused += [(role, value, _near(value, seen)) for value in lacking]
    if len(unused) <= policy.checks.unused_value:
        return None
    roles = [f"{sum(role == one for role, _, _ in unused):,} {one}" for one in named]
    told = ", ".join(text for text in roles if not text.startswith("0 "))
    near = sum(found is not None for _, _, found in unused)
    spelt = f"; {near:,} {'is' if near == 1 else 'are'} spelt nearly like one that occurs" if near else ""
    values = ", ".join(f"'{value}'" + (f" (near: '{found}')" if found else "") for _, value, found in unused)
    what = count_of(len(unused), "value that the policy names has", "values that the policy names have")
    return Failed(
        "unused-value",
        f"{what} occurred in no table so far ({told}){spelt}",
        "check the spelling" if show_values else "check the spelling (--show-values lists them)",
        f": {values}" if show_values else "",
    )


def _named(policy: Policy) -> dict[str, dict[str, set[str]]]:
    """The values that are named, by what they are and by column."""
    schema, sensitive = policy.schema, policy.schema.sensitive
    protected: list[Any] = [promise.parameters.get("protect") or () for promise in policy.method.promises(schema)]
    harmless: Any = policy.method.parameters.get("harmless") or ()
    by_column = harmless if isinstance(harmless, Mapping) else {sensitive: harmless}
    return {
        "permanent": {sensitive: set(schema.permanent)},
        "protected": {sensitive: {str(value) for sets in protected for values in sets for value in values}},
        "harmless": {name: set(map(str, values)) for name, values in by_column.items()},
    }


def _columns(snapshot: Snapshot) -> list[Column]:
    levels = snapshot.values.levels
    columns = levels.columns(snapshot.values.codes) if isinstance(levels, Records) else [snapshot.values]
    return [column for column in columns if not isinstance(column.levels, Numbers)]


def _seen(column: Column, policy: Policy, history: History) -> set[str]:
    """The labels that occurred: in this table, in the last one, and in others as far as that is known."""
    assert not isinstance(column.levels, Numbers)
    labels = column.levels.labels
    seen = {labels[code] for code in np.flatnonzero(np.bincount(column.codes)).tolist()}
    kind = policy.schema.sensitive_columns[column.name]
    known = history.known.domain.columns.get(column.name)
    if isinstance(kind, Categorical) and known is not None and known.kind == sort_of(kind):
        seen |= set(known.labels) - set(kind.values)  # those declared count as known from the first table on
    last = history.last.rows if history.last.facts is None else history.last.facts
    if last is not None and column.name in last.columns:
        seen |= set(last[column.name].cast(pl.String).drop_nulls().unique())
    return seen


def _near(value: str, seen: set[str]) -> str | None:
    """A label that may be meant."""
    plain = {one.casefold(): one for one in sorted(seen)}
    found = get_close_matches(value.casefold(), plain, n=1, cutoff=NEAR)
    return plain[found[0]] if found else None
