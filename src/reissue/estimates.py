"""The way back for analysts: estimated counts from published tables, of either form.

    ri.estimate(release, {"age": (30, 39), "sex": "female", "diagnosis": ["flu", "asthma"]})

A condition is a label, a collection of labels, or, for a numeric column, a number or a pair of first and
last. Generalised: within a group, people are taken to be spread evenly over the published region: over
the whole numbers (or days) of an interval, along an interval of decimals, over the labels of a set, over
the leaves of a hierarchy's label. Anatomised: quasi-identifiers are counted exactly, and the sensitive
values of a group are taken to be spread evenly over its people. It is an expectation, not a count, and
nothing in it is private.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from reissue.errors import ParameterError, count_of, listed
from reissue.frames import read_table
from reissue.hierarchy import Hierarchy
from reissue.release import Release

Condition = object


def estimate(
    release: Release | Mapping[str, Any],
    where: Mapping[str, Condition],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> float:
    """How many people a release says satisfy all conditions.

    `release` is a Release, or its tables by name. `hierarchies` gives, for columns generalised along one,
    the hierarchy that was used: its labels stand for leaves that no file names.
    """
    hierarchies = hierarchies or {}
    tables = release.tables if isinstance(release, Release) else release
    if isinstance(release, Release):
        along = [name for name, kind in release.manifest["columns"].items() if kind == "hierarchy" and name in where]
        lacking = [name for name in along if name not in hierarchies]
        if lacking and release.manifest["form"] == "generalised":
            raise ParameterError(
                f"{listed(lacking)} was generalised along a hierarchy, which is needed to count.",
                hint="pass hierarchies={...}; series.policy.schema.quasi holds it for those who may see it.",
            )
    frames = {name: read_table(table)[0] for name, table in tables.items()}
    if set(frames) == {"table"}:
        return _generalised(frames["table"], where, hierarchies)
    if set(frames) == {"quasi", "sensitive"}:
        return _anatomised(frames["quasi"], frames["sensitive"], where)
    raise ParameterError(
        "The 'release' parameter of estimate must hold 'table', or 'quasi' and 'sensitive'. "
        f"Got {listed(sorted(frames))} instead."
    )


def _generalised(table: pl.DataFrame, where: Mapping[str, Condition], hierarchies: Mapping[str, Hierarchy]) -> float:
    endings = {name.removesuffix("_low") for name in table.columns if name.endswith("_low")}
    intervals = {name for name in endings if f"{name}_high" in table.columns}
    plain = [name for name in table.columns if name != "group"]
    _check_columns(where, [*intervals, *plain])
    share = pl.repeat(1.0, pl.len())
    for name, condition in where.items():
        if name in intervals:
            share = share * _interval_share(table, name, condition)
        elif table[name].dtype.is_numeric() or table[name].dtype.is_temporal():
            share = share * _within(pl.col(name), condition).cast(pl.Float64)
        elif name == table.columns[-1]:
            # The sensitive column stands last and holds labels, not sets.
            share = share * _within(_comparable(table, name), condition).cast(pl.Float64)
        else:
            share = share * _label_share(table[name], condition, hierarchies.get(name))
    return float(table.select(share.sum()).item())


def _anatomised(quasi: pl.DataFrame, sensitive: pl.DataFrame, where: Mapping[str, Condition]) -> float:
    (value,) = (name for name in sensitive.columns if name not in ("group", "count"))
    known = [name for name in quasi.columns if name != "group"]
    _check_columns(where, [*known, value])
    matching = quasi.filter(*(_within(_comparable(quasi, name), where[name]) for name in known if name in where))
    people = matching.group_by("group").len("people")
    kept = pl.lit(True) if value not in where else _within(_comparable(sensitive, value), where[value])
    shares = sensitive.group_by("group").agg(pl.col("count").filter(kept).sum() / pl.col("count").sum())
    return float(people.join(shares, on="group").select((pl.col("people") * pl.col("count")).sum()).item())


def _check_columns(where: Mapping[str, Condition], known: list[str]) -> None:
    unknown = [name for name in where if name not in known]
    if unknown:
        raise ParameterError(f"There is no published column {listed(unknown)}. There are {listed(sorted(known), 40)}.")


def _comparable(frame: pl.DataFrame, name: str) -> pl.Expr:
    """The column, as text where it holds labels."""
    dtype = frame[name].dtype
    return pl.col(name).cast(pl.String) if dtype in (pl.Categorical, pl.Enum) else pl.col(name)


def _bounds(condition: Condition) -> tuple[Any, Any]:
    if isinstance(condition, tuple) and len(condition) == 2:
        return condition
    if isinstance(condition, int | float | datetime.date):
        return condition, condition
    raise ParameterError("A condition on a numeric column is a number, or a pair of the first and the last.")


def _within(column: pl.Expr, condition: Condition) -> pl.Expr:
    if isinstance(condition, tuple) and len(condition) == 2 and not isinstance(condition[0], str):
        return column.is_between(*condition).fill_null(False)
    return column.is_in(_labels(condition)).fill_null(False)


def _labels(condition: Condition) -> list[Any]:
    if isinstance(condition, Collection) and not isinstance(condition, str):
        return list(condition)
    return [condition]


def _interval_share(table: pl.DataFrame, name: str, condition: Condition) -> pl.Expr:
    """The share of each interval that the condition admits; people without a value satisfy no condition."""
    first, last = _bounds(condition)
    dtype = table[f"{name}_low"].dtype

    def number(bound: object) -> float:
        return float(pl.Series([bound]).cast(dtype).to_physical()[0]) if dtype.is_temporal() else float(bound)  # type: ignore[arg-type]

    low = pl.col(f"{name}_low").to_physical().cast(pl.Float64)
    high = pl.col(f"{name}_high").to_physical().cast(pl.Float64)
    step = 0.0 if dtype.is_float() else 1.0
    if step:
        # Whole numbers: count those inside.
        inside = pl.min_horizontal(high, pl.lit(number(last)).floor()) - pl.max_horizontal(
            low, pl.lit(number(first)).ceil()
        )
        return ((inside + 1.0).clip(lower_bound=0.0) / (high - low + 1.0)).fill_null(0.0)
    inside = pl.min_horizontal(high, pl.lit(number(last))) - pl.max_horizontal(low, pl.lit(number(first)))
    point = (low >= number(first)) & (low <= number(last))
    share = pl.when(high > low).then(inside.clip(lower_bound=0.0) / (high - low)).otherwise(point.cast(pl.Float64))
    return share.fill_null(0.0)


def _label_share(column: pl.Series, condition: Condition, hierarchy: Hierarchy | None) -> pl.Expr:
    from reissue.recode import set_labels

    wanted = {str(label) for label in _labels(condition)}
    text = column.cast(pl.String)
    published = text.unique().drop_nulls().to_list()
    if hierarchy is None:
        covers = {label: set_labels(label) for label in published}
    else:
        covers = {label: list(hierarchy.covers(label)) for label in published}
    unknown = wanted.difference(*covers.values())
    if unknown:
        # A zero would be wrong if the label is hidden behind one of a hierarchy.
        raise ParameterError(
            f"{count_of(len(unknown), 'label')} asked for in '{column.name}' stand in no published set.",
            hint="check the spelling; if the column was generalised along a hierarchy, pass it in hierarchies={...}.",
        )
    shares = {label: len(wanted.intersection(leaves)) / len(leaves) for label, leaves in covers.items()}
    return pl.lit(text.replace_strict(shares, default=0.0, return_dtype=pl.Float64))
