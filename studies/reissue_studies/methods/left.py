"""What is left to analysts: the error of counts, slopes and trends, and whether 95 % intervals hold the truth.

Counts and slopes are those of `series.utility`, on the last release. Trends and intervals are asked of public files by
`ri.analyse`, as a recipient would; the truth is only held beside the answers. Intervals of one release all hang on the
same draw, so the first table is published many times over to see how often they hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl

from reissue.comparing.rehearsed import slopes as slopes_of
from reissue.errors import Infeasible, ParameterError
from reissue.model.grouping import Grouping
from reissue.model.snapshot import Snapshot
from reissue.publishing.rehearsal import Rehearsal
from reissue.utility import Workload, measure
from reissue.utility.analysing.analysis import Analysis, analyse
from reissue.utility.gradients import Gradients
from reissue_studies.methods.released import Released
from reissue_studies.methods.setting import Setting
from reissue_studies.methods.streams import Stream

FREQUENT = 6
"""Trends and intervals are those of so many of the most frequent values."""
PROBABLE = "95 %"
"""What answers call an interval that is not a certain bound."""


def left(released: Released, setting: Setting) -> dict[str, Any]:
    """All of it for one series; what cannot be had is None, and `note` says why."""
    found = released.series.utility(released.number, workload=setting.workload)
    error, gradients = found.query_error, found.gradients
    told = {} if error is None or not error.answered else {"counts": error.median}
    told |= {} if gradients is None else slopes(gradients)
    held = [] if gradients is None else gradients.each["holds"].drop_nulls().to_list()
    try:
        trends = _trends(released)
    except (Infeasible, ParameterError) as refused:
        return {**told, "note": f"trends cannot be estimated: {refused.what}"}
    held += _holds(trends, "change")
    if held:
        held += [one for drawing in range(setting.drawings) for one in _drawn_again(released, setting, drawing)]
    mean = trends.select((pl.col("estimate") - pl.col("change")).abs().mean()).item()
    return {**told, "trend": mean, "coverage": float(np.mean(held)) if held else None, "intervals": len(held)}


def slopes(gradients: Gradients) -> dict[str, Any]:
    """How many there are beyond chance, how many keep their sign or turn round, and how much of their size is left."""
    return {name: figure for name, figure in slopes_of(gradients).items() if name != "shares"}


def without_link(stream: Stream, snapshot: Snapshot, workload: Workload) -> dict[str, Any]:
    """The same from two tables, quasi-identifiers and values, that nothing links: everybody in one group."""
    one = Grouping(np.zeros(len(snapshot), dtype=np.int32), 1)
    found = measure(snapshot.quasi, snapshot.values, one, form="anatomised", workload=workload)
    assert found.query_error is not None
    truth = changes(stream)
    overall = changes(stream, by=False).select("value", pl.col("change").alias("told"))
    trend = truth.join(overall, on="value").select((pl.col("told") - pl.col("change")).abs().mean()).item()
    # No group differs from any other: what is left of each slope is 0 by definition, not a ratio of roundings.
    told = {**slopes(found.gradients), "kept": 0, "turned": 0, "size": 0.0 if found.gradients.sure else None}
    return {"counts": found.query_error.median, **told, "trend": trend, "intervals": 0}


# Against the truth


def frequent(stream: Stream) -> list[str]:
    """The most frequent values of the first table that is published."""
    counts = stream.states[0][stream.sensitive].value_counts().sort("count", stream.sensitive, descending=[True, False])
    return counts[stream.sensitive].head(FREQUENT).to_list()


def true_shares(stream: Stream, *, by: bool = True) -> pl.DataFrame:
    """The shares of the frequent values: `release`, the column for trends if wanted, `value`, `share`."""
    groups = [stream.by] if by else []
    values = frequent(stream)
    tables = [
        state.group_by(groups or pl.lit(0).alias("all"))
        .agg((pl.col(stream.sensitive) == value).mean().alias(value) for value in values)
        .unpivot(values, index=groups or None, variable_name="value", value_name="share")
        .with_columns(release=pl.lit(number, dtype=pl.Int64))
        for number, state in enumerate(stream.states, start=1)
    ]
    return pl.concat(tables)


def changes(stream: Stream, *, by: bool = True) -> pl.DataFrame:
    """How much each share is larger in the last release than in the first: `change`."""
    shares = true_shares(stream, by=by)
    keys = [stream.by, "value"] if by else ["value"]
    last = len(stream.states)
    first, then = (shares.filter(pl.col("release") == number).drop("release") for number in (1, last))
    both = then.join(first, on=keys, suffix="_first")
    return both.select(*keys, (pl.col("share") - pl.col("share_first")).alias("change")).sort(keys)


def _trends(released: Released) -> pl.DataFrame:
    """How much shares change from the first release to the last, as the public files tell it, and the true `change`."""
    stream, analysis = released.stream, analyse(released.public)
    ends = (1, released.number)
    told: list[pl.DataFrame] = [analysis.contrast(value, releases=ends, by=stream.by) for value in frequent(stream)]
    return pl.concat(told).join(changes(stream), on=[stream.by, "value"], how="inner")


def _drawn_again(released: Released, setting: Setting, drawing: int) -> Iterable[bool]:
    """Whether intervals of shares, and of differences between groups, hold where the first table is drawn anew."""
    stream = released.stream
    draft = Rehearsal(released.series.policy).publish(stream.states[0], seed=setting.drawing_seed(drawing))
    return _held_once(analyse(draft.tables), stream)


def _held_once(analysis: Analysis, stream: Stream) -> list[bool]:
    truth = true_shares(stream).filter(pl.col("release") == 1).drop("release")
    shares = pl.concat(analysis.share(value, by=stream.by) for value in frequent(stream))
    ends = tuple(truth[stream.by].unique().sort()[:2])
    one, other = (truth.filter(pl.col(stream.by) == end).drop(stream.by) for end in ends)
    apart = one.join(other, on="value", suffix="_other").select(
        "value", (pl.col("share") - pl.col("share_other")).alias("apart")
    )
    told = pl.concat(analysis.contrast(value, between={stream.by: ends}) for value in frequent(stream))
    return [
        *_holds(shares.join(truth, on=[stream.by, "value"], how="inner"), "share"),
        *_holds(told.join(apart, on="value", how="inner"), "apart"),
    ]


def _holds(answers: pl.DataFrame, truth: str) -> list[bool]:
    probable = answers.filter(pl.col("interval") == PROBABLE)
    return probable.select(pl.col(truth).is_between("low", "high")).to_series().to_list()
