"""The way back for analysts: estimated counts from published tables, of any form.

    ri.estimate(release, {"age": (30, 39), "sex": "female", "diagnosis": ["flu", "asthma"]})

A condition is a label, a collection of labels, or, for a numeric column, a number or a pair of first and
last. Generalised: within a group, people are taken to be spread evenly over the published region: over
the whole numbers (or days) of an interval, along an interval of decimals, over the labels of a set, over
the leaves of a hierarchy's label. Anatomised: quasi-identifiers are counted exactly, and the sensitive
values of a group are taken to be spread evenly over its people. Sets of values: quasi-identifiers are counted
exactly, or by the share of a region, and a set counts with its score, which is right on average whoever has which
value (`reasoning/alternatives/scoring.py`); one row's may be below 0 or above 1, and so may a small count. It is an
expectation, not a count, and nothing in it is private.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import polars as pl

from reissue.errors import Infeasible, ParameterError, count_of, listed
from reissue.model.hierarchy import Hierarchy
from reissue.model.release import Release
from reissue.tables.frames import read_table
from reissue.tables.recode import set_labels
from reissue.tables.recode_sets import DESIGN
from reissue.tables.set_texts import with_lists
from reissue.tables.set_views import FORM, read_designs, read_sets
from reissue.utility.row_scores import RowScores, why_not_by_design

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
    kinds: Mapping[str, str] = {}
    if isinstance(release, Release):
        kinds = release.manifest["columns"]
        lacking = [name for name in where if kinds.get(name) == "hierarchy" and name not in hierarchies]
        if lacking and _has_regions(release.manifest):
            raise ParameterError(
                f"{listed(lacking)} was generalised along a hierarchy, which is needed to count.",
                hint="pass hierarchies={...}; series.policy.schema.quasi holds it for those who may see it.",
            )
    tables = release.tables if isinstance(release, Release) else release
    frames = {name: read_table(table)[0] for name, table in tables.items() if name != "counterfeits"}
    if "design" in frames:
        return _of_sets(frames, where, hierarchies, release if isinstance(release, Release) else None)
    if set(frames) == {"table"}:
        return _generalised(frames["table"], where, hierarchies, kinds)
    if set(frames) == {"quasi", "sensitive"}:
        return _anatomised(frames["quasi"], frames["sensitive"], where)
    raise ParameterError(
        "The 'release' parameter of estimate must hold 'table', or 'quasi' and 'sensitive', or 'table' and 'design'. "
        f"Got {listed(sorted(frames))} instead."
    )


def _generalised(
    table: pl.DataFrame,
    where: Mapping[str, Condition],
    hierarchies: Mapping[str, Hierarchy],
    kinds: Mapping[str, str],
) -> float:
    intervals = _intervals(table)
    _check_columns(where, [*intervals, *(name for name in table.columns if name != "group")])
    # The sensitive column stands last; it and columns published as they are hold no sets.
    exact = {table.columns[-1], *(name for name in where if kinds.get(name) == "as it is")}
    return float(_shares(table, where, intervals, exact, hierarchies).sum())


def _intervals(table: pl.DataFrame) -> set[str]:
    """The columns that are published as a lowest and a highest number."""
    endings = {name.removesuffix("_low") for name in table.columns if name.endswith("_low")}
    return {name for name in endings if f"{name}_high" in table.columns}


def _shares(
    table: pl.DataFrame,
    where: Mapping[str, Condition],
    intervals: Collection[str],
    exact: Collection[str],
    hierarchies: Mapping[str, Hierarchy],
) -> pl.Series:
    """For each row the share of its region that all conditions admit; `exact` columns are admitted or not."""
    share = pl.repeat(1.0, pl.len())
    for name, condition in where.items():
        if name in intervals:
            share = share * _interval_share(table, name, condition)
        elif name in exact or _is_number(table[name].dtype):
            share = share * pl.lit(_matches(table[name], condition).cast(pl.Float64))
        else:
            share = share * _label_share(table[name], condition, hierarchies.get(name))
    return table.select(share.alias("share")).to_series()


def _has_regions(manifest: Mapping[str, Any]) -> bool:
    """Whether quasi-identifiers are generalised."""
    return bool(
        manifest["form"] == "generalised" or (manifest["form"] == FORM and manifest["groups"] < manifest["rows"])
    )


def _of_sets(
    frames: Mapping[str, pl.DataFrame],
    where: Mapping[str, Condition],
    hierarchies: Mapping[str, Hierarchy],
    release: Release | None,
) -> float:
    """A count from sets of values, by their scores."""
    table, sensitive = frames["table"], frames["table"].columns[-1]
    intervals = _intervals(table)
    known = [name for name in table.columns if name not in (DESIGN, sensitive)]
    _check_columns(where, [*intervals, *known, sensitive])
    regions = bool(intervals) if release is None else _has_regions(release.manifest)
    as_is = set() if release is None else {n for n, kind in release.manifest["columns"].items() if kind == "as it is"}
    others = {name: condition for name, condition in where.items() if name != sensitive}
    shares = _shares(table, others, intervals, as_is if regions or release is None else known, hierarchies).to_numpy()
    if sensitive not in where:
        return float(shares.sum())
    if release is not None:
        _check_drawn_by_design(release)
    frames = _with_lists(frames, sensitive)
    designs = read_designs(frames, {"slots": _slots(frames, sensitive)}, sensitive)
    wanted = _matches(pl.Series(sensitive, list(designs.labels)), where[sensitive])
    scores = RowScores(*read_sets(frames["table"], designs, sensitive), designs)
    weights = scores.weights(wanted.cast(pl.Float64).to_numpy()[:, None])
    return float(shares @ scores.of(weights)[:, 0])


def _check_drawn_by_design(release: Release) -> None:
    """Refuse sets that the design alone does not say the probabilities of."""
    if why := why_not_by_design(release.number, release.manifest["design"]):
        raise Infeasible(
            f"Counts of values cannot be estimated from release {release.number} alone: {why}, so that the design does "
            "not say how probable they are.",
            hint="take the first release, whose sets are all drawn by the design; or count quasi-identifiers alone.",
        )


def _with_lists(frames: Mapping[str, pl.DataFrame], sensitive: str) -> dict[str, pl.DataFrame]:
    """The tables with lists, also where they come from CSV files, which have them as text."""
    dtype = frames["design"][sensitive].dtype
    values = pl.String if isinstance(dtype, pl.Enum | pl.Categorical) else dtype
    table = frames["table"].with_columns(with_lists(frames["table"][sensitive], values))
    made = {**frames, "table": table}
    if "combinations" in frames:
        joint = frames["combinations"]
        made["combinations"] = joint.with_columns(with_lists(joint["combination"], values))
    return made


def _slots(frames: Mapping[str, pl.DataFrame], sensitive: str) -> int:
    """How many slots a set has: those of the values of any one."""
    table, design = frames["table"], frames["design"]
    if DESIGN in table.columns:
        design = design.filter(pl.col(DESIGN) == table[DESIGN][0])
    slots = dict(zip(design[sensitive].to_list(), design["slots"].to_list(), strict=True))
    return sum(slots[value] for value in table[sensitive][0].to_list())


def _anatomised(quasi: pl.DataFrame, sensitive: pl.DataFrame, where: Mapping[str, Condition]) -> float:
    (value,) = (name for name in sensitive.columns if name not in ("group", "count"))
    known = [name for name in quasi.columns if name != "group"]
    _check_columns(where, [*known, value])
    matching = quasi.filter(*(_matches(quasi[name], where[name]) for name in known if name in where))
    people = matching.group_by("group").len("people")
    wanted = _matches(sensitive[value], where[value]) if value in where else pl.Series([True] * sensitive.height)
    shares = (
        sensitive.with_columns(wanted.alias("wanted"))
        .group_by("group")
        .agg((pl.col("count").filter(pl.col("wanted")).sum() / pl.col("count").sum()).alias("share"))
    )
    return float(people.join(shares, on="group").select((pl.col("people") * pl.col("share")).sum()).item())


def _check_columns(where: Mapping[str, Condition], known: list[str]) -> None:
    unknown = [name for name in where if name not in known]
    if unknown:
        raise ParameterError(f"There is no published column {listed(unknown)}. There are {listed(sorted(known), 40)}.")


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype.is_temporal()


def _matches(column: pl.Series, condition: Condition) -> pl.Series:
    """Which exact values satisfy a condition; nobody without a value does."""
    if _is_number(column.dtype):
        first, last = _bounds(condition)
        return column.is_between(first, last).fill_null(False)
    text, wanted = column.cast(pl.String), _labels(condition)
    _check_labels(column.name, wanted, text.unique().drop_nulls())
    return text.is_in(wanted).fill_null(False)


def _bounds(condition: Condition) -> tuple[Any, Any]:
    if isinstance(condition, tuple) and len(condition) == 2 and not any(isinstance(end, str) for end in condition):
        return condition
    if isinstance(condition, int | float | datetime.date):
        return condition, condition
    raise ParameterError("A condition on a numeric column is a number or date, or a pair of the first and the last.")


def _labels(condition: Condition) -> list[str]:
    """The labels a condition names, as text: yes and no are written as they are published."""
    given = condition if isinstance(condition, Collection) and not isinstance(condition, str) else [condition]
    return [str(label).lower() if isinstance(label, bool) else str(label) for label in given]


def _check_labels(name: str, wanted: Collection[str], published: Iterable[str]) -> None:
    unknown = set(wanted).difference(published)
    if unknown:
        # A zero would be wrong if the label is misspelt, or hidden behind one of a hierarchy.
        raise ParameterError(
            f"{count_of(len(unknown), 'label')} asked for in '{name}' stand nowhere in it.",
            hint="check the spelling; if the column was generalised along a hierarchy, pass it in hierarchies={...}.",
        )


def _interval_share(table: pl.DataFrame, name: str, condition: Condition) -> pl.Expr:
    """The share of each interval that the condition admits; people without a value satisfy no condition."""
    dtype = table[f"{name}_low"].dtype
    first, last = (float(pl.Series([b]).cast(dtype).to_physical()[0]) if dtype.is_temporal() else float(b)
                   for b in _bounds(condition))  # fmt: skip
    low = pl.col(f"{name}_low").to_physical().cast(pl.Float64)
    high = pl.col(f"{name}_high").to_physical().cast(pl.Float64)
    if not dtype.is_float():
        # Whole numbers: count those inside.
        inside = pl.min_horizontal(high, pl.lit(last).floor()) - pl.max_horizontal(low, pl.lit(first).ceil())
        return ((inside + 1.0).clip(lower_bound=0.0) / (high - low + 1.0)).fill_null(0.0)
    inside = pl.min_horizontal(high, pl.lit(last)) - pl.max_horizontal(low, pl.lit(first))
    point = ((low >= first) & (low <= last)).cast(pl.Float64)
    share = pl.when(high > low).then(inside.clip(lower_bound=0.0) / (high - low)).otherwise(point)
    return share.fill_null(0.0)


def _label_share(column: pl.Series, condition: Condition, hierarchy: Hierarchy | None) -> pl.Expr:
    """The share of each published label or set that the condition admits."""
    text, wanted = column.cast(pl.String), _labels(condition)
    published = text.unique().drop_nulls().to_list()
    covers = {label: set_labels(label) if hierarchy is None else hierarchy.covers(label) for label in published}
    _check_labels(column.name, wanted, {leaf for leaves in covers.values() for leaf in leaves})
    shares = {label: len(set(wanted).intersection(leaves)) / len(leaves) for label, leaves in covers.items()}
    return pl.lit(text.replace_strict(shares, default=0.0, return_dtype=pl.Float64))
