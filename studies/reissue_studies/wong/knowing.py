"""Beyond Wong, Fu, Wang & Pei (2007): what somebody who knows Mask itself makes of a release.

The paper argues that the principle of minimality says nothing about Mask. Somebody who knows Mask argues otherwise: V
is 1/m of V and L together, so a group of these that shows the share p was repaired with probability 1/m, and then its
true share is like those of V, above 1/m; else it is p. That makes q/m + (1 - 1/m) p, with q the mean true share in V.

`believed` asks this of the groups of a release, and two things more that do not need to know what L is:

- a reader to whom people are independent and alike beforehand, each in the protected set with probability 1/m. He knows
  how many a repaired group may show, and weighs by Bayes' rule what a group of n with y shown has really;
- the truth: of all groups of n people that show y, the mean true share. The publisher alone can look.
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.model.showing import with_changed
from reissue.model.snapshot import Codes
from reissue.publishing.draft import Draft
from reissue_studies.progress import Progress, silent
from reissue_studies.wong.experiments import DISTORTED, ROUNDING, distorted, protected_rows
from reissue_studies.wong.setting import RUN_COLUMNS, Draw, Run, Setting

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DRAWS: tuple[Draw, ...] = ("reference", "binomial")
SEVERAL = 20
"""The truth is looked up where at least so many groups look alike: fewer say little about the next one."""
COUNTS = ("violating", "others", "people")
SHARES = ("true", "formula_mean", "formula_worst", "mean", "worst", "above", "observed")


def knowing(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """What somebody who knows Mask can reach, a row for each m, k, setting of Mask and repetition.

    `violating` and `others` count the groups of V and of L, `true` is the mean true share in V: q. `formula_mean` and
    `formula_worst` are q/m + (1 - 1/m) p over the groups of V and L, for the paper's own setting (`reference`) only;
    where L has too few groups, |V| / (|V| + |L|) stands for 1/m. `mean` and `worst` are the same of what the reader
    believes for whom everybody is in the protected set with probability 1/m beforehand; `above` is the share of these
    groups of which he believes more than 1/m, and `people` counts those in them. `observed` is the largest mean true
    share of groups that look alike.
    """
    rows = []
    for run in knowing_runs(setting):
        for repeat in range(1, setting.repeats + 1):
            progress(f"{run.title}, {repeat} of {setting.repeats}")
            made, _ = setting.publish(run, repeat=repeat)
            rows.append({**run.columns, "draw": run.draw, "repeat": repeat, **believed(made, run), **distorted(made)})
    measures = {**dict.fromkeys(COUNTS, pl.Int64), **dict.fromkeys(SHARES, pl.Float64)}
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, "draw": pl.String, "repeat": pl.Int64, **measures, **DISTORTED})


def knowing_runs(setting: Setting) -> list[Run]:
    """Mask in both settings."""
    return [Run("Mask", m, k, setting.size, draw=draw) for m in setting.ends for k in setting.k for draw in DRAWS]


def knowing_steps(setting: Setting) -> int:
    """How often `knowing` calls its progress."""
    return len(knowing_runs(setting)) * setting.repeats


def believed(made: Draft, run: Run) -> dict[str, object]:
    """What can be made of one release of Mask."""
    m, sizes = run.m, made.grouping.sizes()
    values, changed = made.snapshot.values, made.grouping.changed

    def held(codes: Codes) -> Ints:
        return np.bincount(made.grouping.group[protected_rows(codes)], minlength=sizes.size).astype(np.int64)

    true = held(values.codes)
    shown = true if changed is None else held(with_changed(values, changed).codes)
    violating = np.flatnonzero(true * m > sizes)
    if not violating.size:
        return {**dict.fromkeys(COUNTS, 0), **dict.fromkeys(SHARES)}
    satisfying = np.flatnonzero(true * m <= sizes)
    others = satisfying[np.argsort(-(true[satisfying] / sizes[satisfying]), kind="stable")][: (m - 1) * violating.size]
    both = np.concatenate([violating, others])
    q, part = float((true / sizes)[violating].mean()), violating.size / both.size
    found: dict[str, object] = dict.fromkeys(SHARES)
    if run.draw == "reference":
        credibility = part * q + (1 - part) * (shown / sizes)[both]
        found |= {"formula_mean": float(credibility.mean()), "formula_worst": float(credibility.max())}
    shares = (true / sizes)[others]
    belief = np.empty(both.size)
    for size in np.unique(sizes[both]):
        of = np.flatnonzero(sizes[both] == size)
        drawn = repaired(int(size), m) if run.draw == "binomial" else from_reference(int(size), shares)
        belief[of] = beliefs(int(size), m, drawn)[shown[both[of]]]
    above = belief > 1 / m + ROUNDING
    return found | {
        "violating": violating.size,
        "others": others.size,
        "people": int(sizes[both[above]].sum()),
        "true": q,
        "mean": float(belief.mean()),
        "worst": float(belief.max()),
        "above": float(above.mean()),
        "observed": observed(sizes, shown, true),
    }


def beliefs(size: int, m: int, drawn: Floats) -> Floats:
    """For each number that a group of this size may show, the share that a reader believes it to have.

    To him people are in the protected set with probability 1/m, each for itself. `drawn` is how likely a group that
    violates is to show each number. What cannot be shown has no belief: NaN.
    """
    number = np.arange(size + 1)
    before = _binomial(size, m)
    violates = number * m > size
    open_ = np.where(violates, 0.0, before)
    repair, had = before[violates].sum(), (before * number / size)[violates].sum()
    total = open_ + repair * drawn
    with np.errstate(invalid="ignore"):
        return np.where(total > 0, (open_ * number / size + had * drawn) / total, np.nan)


def _binomial(size: int, m: int) -> Floats:
    """How likely each number of a group is in the set, if everybody is with probability 1/m."""
    return np.array([comb(size, y) * (m - 1) ** (size - y) / m**size for y in range(size + 1)], dtype=np.float64)


def repaired(size: int, m: int) -> Floats:
    """How likely a violating group shows each number with draw="binomial"."""
    slack = np.array([max(0, size - m * y) for y in range(size + 1)])
    weights = _binomial(size, m) * slack
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def from_reference(size: int, shares: Floats) -> Floats:
    """The same with the paper's own setting: the shares of L, each as likely as any other, rounded down."""
    shown = np.floor(shares * size + ROUNDING).astype(np.int64)
    return np.bincount(shown, minlength=size + 1) / max(1, shares.size)


def observed(sizes: Ints, shown: Ints, true: Ints) -> float | None:
    """The largest mean true share of groups that have as many people and show as much; None if few look alike."""
    alike = pl.DataFrame({"size": sizes, "shown": shown, "share": true / sizes}).group_by("size", "shown")
    means = alike.agg(pl.col("share").mean(), pl.len()).filter(pl.col("len") >= SEVERAL)["share"]
    return float(means.to_numpy().max()) if means.len() else None
