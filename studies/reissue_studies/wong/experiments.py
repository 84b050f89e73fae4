"""The experiments of Wong, Fu, Wang & Pei: Minimality Attack in Privacy Preserving Data Publishing (2007), section 7.

| paper                                          | here                                                          |
|------------------------------------------------|---------------------------------------------------------------|
| Figure 2, problematic tuples                   | `attacked(setting)`: `share`, `credibility`                   |
| 173 s and 239 s for the attack                 | `attacked(setting)`: `seconds`                                |
| Figures 3 and 4, one table, against QID size   | `one_table(setting, m)`                                       |
| Figures 5 and 6, two tables                    | `two_tables(setting)`                                         |
| relative error, s, qd                          | `mean`, `selectivity`, `dimensions` (10,000 queries by default)|
| information loss, Definition 6                 | `loss`                                                        |
| distortion of the sensitive attribute          | `distortion`: Definition 6 on the taxonomy of education       |
| not in the paper: somebody who knows MASK      | `knowing.knowing(setting)`                                    |

A tuple is problematic if it is sensitive and its class, the people with the same quasi-identifiers, has a credibility
above 1/m.

`progress`, if given, is called with the name of each step as it begins. `reissue_studies.wong.figures` draws.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.attacks.minimality.minimality import Minimality
from reissue.model.knowledge import Knowledge
from reissue.model.published import PublishedGroups
from reissue.model.snapshot import Codes
from reissue.publishing.draft import Draft
from reissue.publishing.inspection import Sight
from reissue.utility import QueryError, Workload, distortion, query_error
from reissue_studies.progress import Progress, silent
from reissue_studies.queries import errors
from reissue_studies.stopwatch import seconds
from reissue_studies.wong.setting import RECODINGS, RUN_COLUMNS, Form, Run, Setting
from reissue_studies.wong.taxonomies import PROTECTED, SENSITIVE, labels, taxonomies

__all__ = [
    "Run",
    "Setting",
    "attack_runs",
    "attack_steps",
    "attacked",
    "compared_steps",
    "one_table",
    "two_table_steps",
    "two_tables",
]

Flags = npt.NDArray[np.bool_]

METHODS = ("Mask", "AlphaK")
SELECTIVITY = 0.05
SELECTIVITIES = (0.01, 0.02, 0.05, 0.08, 0.1)
ROUNDING = 1e-9
"""A credibility is above 1/m if it is so by more than this: it may be a float."""


# Figure 2


def attack_runs(setting: Setting) -> list[Run]:
    """AlphaK with k = 1, by both recodings: every m with all attributes, and the least m with fewer of them."""
    pairs = [(m, setting.size) for m in setting.m] + [(setting.m[0], size) for size in setting.sizes[:-1]]
    return [Run("AlphaK", m, 1, size, recoding=recoding) for recoding in RECODINGS for m, size in pairs]


def attacked(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figure 2: what the minimality attack finds in releases of AlphaK.

    `sensitive` counts the tuples of the protected set, `problematic` those of them whose class has a credibility above
    1/m; `share` is their proportion, `credibility` their mean one and `certain` how many of them have credibility 1.
    `exposed` counts everybody in such classes. `classes` are those of the table, `groups` those of the release,
    `generalised` the groups of several classes. Classes whose credibility was not worked out exactly are `unsettled`,
    and count as not problematic. `seconds` is the attack alone, `grouping` the method alone.
    """
    progress("warming up")
    _warm_up(setting)
    rows = []
    for run in attack_runs(setting):
        progress(run.title)
        made, laps = setting.publish(run)
        sight = Sight.of_draft(made, None)
        begun = time.perf_counter()
        told = Minimality().run(sight.view, Knowledge(minimal=sight.minimal)).classes
        taken = time.perf_counter() - begun
        counts = _problematic(made, sight.view.releases[0], told, run.m)
        measured = {"seconds": taken, "grouping": seconds(laps)["grouping"]}
        rows.append({**run.columns, "recoding": run.recoding, **counts, **measured})
    counted = dict.fromkeys(
        ("sensitive", "problematic", "certain", "exposed", "classes", "groups", "generalised", "unsettled"), pl.Int64
    )
    measures = dict.fromkeys(("share", "credibility", "seconds", "grouping"), pl.Float64)
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, "recoding": pl.String, **counted, **measures})


def attack_steps(setting: Setting) -> int:
    """How often `attacked` calls its progress."""
    return 1 + len(attack_runs(setting))


def _warm_up(setting: Setting) -> None:
    """Compile what has to be compiled, and load what is loaded once, before time is taken."""
    m = setting.m[0]
    setting.publish(Run("Mask", m, 2, 2))
    for recoding in RECODINGS:
        made, _ = setting.publish(Run("AlphaK", m, 1, 2, recoding=recoding))
        sight = Sight.of_draft(made, None)
        _ = Minimality().run(sight.view, Knowledge(minimal=sight.minimal)).classes


def _problematic(made: Draft, release: PublishedGroups, told: pl.DataFrame, m: int) -> dict[str, object]:
    assert release.classes is not None  # the view of a method that is minimal has them
    number = int(release.classes.max()) + 1
    credibility = np.zeros(number)
    settled = told.filter(pl.col("kind") == "exact")
    credibility[settled["class"].to_numpy()] = settled["credibility"].to_numpy()
    own = np.zeros(len(made.snapshot), dtype=np.int64)
    own[np.argsort(made.snapshot.people)] = release.classes[np.argsort(release.members)]
    above = credibility[own] > 1 / m + ROUNDING
    sensitive = protected_rows(made.snapshot.values.codes)
    both = above & sensitive
    group = np.repeat(np.arange(release.group_count), release.sizes)
    together = pl.DataFrame({"group": group, "class": release.classes}).group_by("group").n_unique()
    return {
        "sensitive": int(sensitive.sum()),
        "problematic": int(both.sum()),
        "certain": int((both & (credibility[own] >= 1 - ROUNDING)).sum()),
        "exposed": int(above.sum()),
        "classes": int(np.unique(release.classes).size),
        "groups": release.group_count,
        "generalised": together.filter(pl.col("class") > 1).height,
        "unsettled": told.height - settled.height,
        "share": float(both.sum() / max(1, sensitive.sum())),
        "credibility": float(credibility[own][both].mean()) if both.any() else None,
    }


def protected_rows(codes: Codes) -> Flags:
    """Which values are of the protected set; their codes are those of `labels`."""
    return np.isin(labels(SENSITIVE), PROTECTED)[codes]


# Figures 3 and 4


def compared_runs(setting: Setting, m: int, sizes: Sequence[int]) -> list[Run]:
    """Mask and AlphaK with every k and every size."""
    return [Run(name, m, k, size) for size in sizes for k in setting.k for name in METHODS]


def one_table(setting: Setting, m: int, *, progress: Progress = silent) -> pl.DataFrame:
    """Figures 3 (m = 2) and 4 (m = 10): one generalised table, a row for each method, k, size and repetition.

    `grouping` is what the method takes, `drafting` all of it: reading the table, grouping, making the public tables,
    checking the promises; in seconds on the clock. `mean` and `median` are of the relative error of queries that
    restrict all attributes and education, `loss` is the information loss of the quasi-identifiers and `distortion`
    that of education, both by Definition 6; `changed` counts values published in place of others.
    """
    progress("warming up")
    _warm_up(setting)
    rows = []
    for run in compared_runs(setting, m, setting.sizes):
        for repeat in range(1, setting.repeats + 1):
            progress(f"{run.title}, {repeat} of {setting.repeats}")
            made, laps = setting.publish(run, repeat=repeat)
            error = asked(setting, made, "generalised", repeat, run.size)
            rows.append({**run.columns, "repeat": repeat, **seconds(laps), **_errors(error), **_lost(made)})
    return pl.DataFrame(rows, schema={**_compared_columns("grouping", "drafting"), "loss": pl.Float64, **DISTORTED})


def compared_steps(setting: Setting) -> int:
    """How often `one_table` calls its progress."""
    return 1 + len(compared_runs(setting, 2, setting.sizes)) * setting.repeats


DISTORTED: dict[str, type[pl.DataType]] = {"distortion": pl.Float64, "changed": pl.Int64, "groups": pl.Int64}


def _compared_columns(*measures: str) -> dict[str, type[pl.DataType]]:
    return {
        **RUN_COLUMNS,
        "repeat": pl.Int64,
        **dict.fromkeys((*measures, "mean", "median"), pl.Float64),
        **dict.fromkeys(("answered", "redrawn"), pl.Int64),
    }


def asked(
    setting: Setting, made: Draft, form: Form, repeat: int, dimensions: int, selectivity: float = SELECTIVITY
) -> QueryError:
    """The error of queries on a draft; in the same repetition the same queries of every method."""
    seed = setting.seed_of(setting.repeats + repeat)
    workload = Workload(dimensions=dimensions, selectivity=selectivity, count=setting.queries, seed=seed)
    return query_error(made.snapshot.quasi, made.snapshot.values, made.grouping, workload, form)


def _errors(error: QueryError) -> dict[str, object]:
    return errors(error, "mean", "median", "answered", "redrawn")


def _lost(made: Draft) -> dict[str, object]:
    return {"loss": distortion(made.snapshot.quasi, made.grouping), **distorted(made)}


def distorted(made: Draft) -> dict[str, object]:
    """What was done to education: Definition 6 with the nearest common ancestor of the true and the published value."""
    changed = made.grouping.changed
    lost, count = 0.0, 0
    if changed is not None:
        # The labels of education are declared in the order of its taxonomy, so codes are leaf positions.
        tree, count = taxonomies()[SENSITIVE], len(changed)
        nodes = tree.lowest_common(made.snapshot.values.codes[changed.rows], changed.codes)
        lost = float((tree.coverage[nodes] - 1).sum()) / (tree.base - 1)
    return {"distortion": lost / len(made.snapshot), "changed": count, "groups": made.grouping.count}


# Figures 5 and 6


def two_tables(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figures 5 and 6: two tables, a row for each method, m, k, repetition and kind of queries.

    `mean` and `median` are of the relative error of queries that restrict `dimensions` attributes and education, with
    this expected `selectivity`; `distortion` and `changed` are about education, as in `one_table`.
    """
    rows = []
    kinds = _kinds(setting)
    for m in setting.ends:
        for run in compared_runs(setting, m, [setting.size]):
            for repeat in range(1, setting.repeats + 1):
                progress(f"{run.title}, two tables, {repeat} of {setting.repeats}")
                made, _ = setting.publish(run, form="anatomised", repeat=repeat)
                start = {**run.columns, "repeat": repeat, **distorted(made)}
                for dimensions, selectivity in kinds:
                    error = asked(setting, made, "anatomised", repeat, dimensions, selectivity)
                    rows.append(
                        {**start, "dimensions": dimensions, "selectivity": selectivity, **_errors(error)}
                    )  # fmt: skip
    queried = {"dimensions": pl.Int64, "selectivity": pl.Float64}
    return pl.DataFrame(rows, schema={**_compared_columns(), **queried, **DISTORTED})


def two_table_steps(setting: Setting) -> int:
    """How often `two_tables` calls its progress."""
    return len(setting.ends) * len(compared_runs(setting, 2, [setting.size])) * setting.repeats


def _kinds(setting: Setting) -> list[tuple[int, float]]:
    """Dimensions and selectivity of the queries: the usual ones first, then all others of either."""
    usual = (setting.size, SELECTIVITY)
    others = [(size, SELECTIVITY) for size in setting.sizes] + [(setting.size, share) for share in SELECTIVITIES]
    return list(dict.fromkeys([usual, *others]))
