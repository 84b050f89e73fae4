"""Figure 6 of He, Barman & Naughton (ICDE 2011): people compromised by small equivalence attacks, to the last release.

Each method publishes the same tables; after every release the whole series so far is attacked. An attack on some
releases stays one when more come out, so people once compromised stay so. The paper's search of fine-granularity
partitions ended with the fifth of twenty snapshots. Ours goes on, because it compares groups instead of trying
combinations; what it finds holds, and there may be more (`complete` says where there is not).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.methods import EEquivalence, MInvariance
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.equality.equal_sets_search import find_equalities
from reissue_studies.he.experiments import RUN
from reissue_studies.he.setting import RUN_COLUMNS, Run, Setting
from reissue_studies.progress import Progress, silent

E = 5
"""The paper counts attacks below this, and protects against them."""
SECONDS = 3_600.0
"""The time for one attack; comparing groups takes far less."""
EXACT_SECONDS = {"m-invariance": 5.0, "m-invariance, merged": 120.0, "e-equivalence": 120.0}
"""How much of it is for exact search, after groups have been compared. Merged buckets are soon searched to the end;
of split ones only the small ones can be."""


def attacked_e(setting: Setting) -> int:
    """5 as in the paper; m where that is less, since any two groups of m are equal sets of that size."""
    return min(E, setting.m)


def attack_runs(setting: Setting) -> list[Run]:
    """m-invariance as it is and with merged buckets, and e-equivalence."""
    m, e = setting.m, attacked_e(setting)
    return [Run(MInvariance(m)), Run(MInvariance(m, split=False)), Run(EEquivalence(m, e))]


def compromised(setting: Setting | None = None, *, progress: Progress = silent) -> pl.DataFrame:
    """For every method and release how many people are compromised so far, of those `seen` in any release.

    `compromised` counts those in equal sets of fewer than 5, `alone` those who are equal to another person.
    `complete`: it is proven that there are no others.
    """
    setting = setting or Setting()
    rows = [{**run.columns, **found} for run in attack_runs(setting) for found in _attacked(setting, run, progress)]
    counts = dict.fromkeys(("release", "seen", "compromised", "alone"), pl.Int64)
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, **counts, "complete": pl.Boolean})


def _attacked(setting: Setting, run: Run, progress: Progress) -> Iterator[dict[str, object]]:
    releases: list[PublishedGroups] = []
    e = attacked_e(setting)
    below_e = alone = np.zeros(0, dtype=np.int64)
    for draft, _ in setting.rehearse(run, progress):
        releases += draft.view.releases
        view = Published(tuple(releases), draft.view.values, draft.view.magnitudes)
        found = find_equalities(view, e, SECONDS, EXACT_SECONDS[run.name])
        numbers = found.ways.numbers
        below_e = _with(below_e, numbers[found.best < e])
        alone = _with(alone, numbers[found.best == 1])
        yield {
            "release": draft.number,
            "seen": int(np.count_nonzero(numbers >= 0)),
            "compromised": below_e.size,
            "alone": alone.size,
            "complete": found.bound is None or found.bound >= e,
        }


def _with(people: npt.NDArray[np.int64], more: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """With more people; counterfeits are nobody."""
    return np.union1d(people, more[more >= 0])


def last_counts(found: pl.DataFrame) -> pl.DataFrame:
    """For each run the people compromised after the last release, and as a share of all who were in one."""
    return found.group_by(RUN, maintain_order=True).agg(
        compromised=pl.col("compromised").last(),
        share=(pl.col("compromised") / pl.col("seen")).last(),
        alone=pl.col("alone").last(),
        complete=pl.col("complete").all(),
    )
