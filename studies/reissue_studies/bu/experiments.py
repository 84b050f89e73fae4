"""The experiments of Bu, Fu, Wong, Chen & Li: Privacy Preserving Serial Data Publishing By Role Composition (2008).

| paper                                              | here                                                       |
|----------------------------------------------------|------------------------------------------------------------|
| Figures 2 and 3, rate of privacy breach            | `breaches.breaches(setting)`                               |
| Figure 4, perturbation                             | `composed(setting)`: `share` of the people present         |
| Figures 5, 7 and 8, query error, time, effect of K | `composed(setting)`: `mean`, `grouping`, the same runs     |
| Figure 6, query error of the others                | `compared(setting)`                                        |
| 5,000 range queries                                | `queries`, on three quasi-identifiers and the diagnosis    |

`progress`, if given, is called with the name of each step as it begins. `reissue_studies.bu.figures` draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.model.grouping import Grouping
from reissue.publishing.draft import Draft
from reissue.publishing.rehearsal import everyone
from reissue.tables.coding import code_table
from reissue.utility import QueryError, Workload, measure, query_error
from reissue_studies.bu.diversity import diverse_groups
from reissue_studies.bu.setting import LABELS, RANGES, SENSITIVE, Run, Setting, record_schema
from reissue_studies.bu.stream import State
from reissue_studies.progress import Progress, silent
from reissue_studies.queries import errors, over_their_domains
from reissue_studies.stopwatch import seconds

__all__ = [
    "DIVERSITY",
    "INVARIANCE",
    "OURS",
    "RUN_COLUMNS",
    "Run",
    "Setting",
    "compared",
    "compared_steps",
    "composed",
    "composed_steps",
    "diverse",
    "varying",
]

Ints = npt.NDArray[np.int64]

OURS, DIVERSITY, INVARIANCE = "HD-composition", "l-diversity", "m-invariance"
DIMENSIONS, SELECTIVITY = 3, 0.05
RUN_COLUMNS: dict[str, type[pl.DataType]] = {"l": pl.Int64, "container": pl.Int64, "known": pl.Int64}
ERRORS = ("mean", "median")


# Figures 4, 5, 7 and 8


def composed(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figures 4, 5, 7 and 8: for each run of HD-composition and each round what it costs.

    `replaced` counts people published with another value than one they have, `share` is their proportion of those
    `present`. `mean` and `median` are of the relative error of queries. `grouping` is what the method takes,
    `drafting` all of it: reading table and registry, grouping, making the public table, checking the promises; in
    seconds on the clock.
    """
    progress("warming up")
    _warm_up(setting)
    rows: list[dict[str, object]] = []
    for run in setting.runs:
        for draft, laps in setting.rehearse(run, progress):
            present, replaced = np.unique(draft.snapshot.owners).size, _replaced(draft)
            rows.append(
                {
                    **run._asdict(),
                    "round": draft.number,
                    "registered": len(draft.snapshot),
                    "present": present,
                    "tuples": draft.snapshot.values.codes.size,
                    "groups": draft.grouping.count,
                    "replaced": replaced,
                    "share": replaced / present,
                    **errors(asked(draft, workload(setting, draft.number)), *ERRORS),
                    **seconds(laps),
                }
            )
    counts = ("round", "registered", "present", "tuples", "groups", "replaced")
    measures = ("share", *ERRORS, "grouping", "drafting")
    return pl.DataFrame(
        rows, schema={**RUN_COLUMNS, **dict.fromkeys(counts, pl.Int64), **dict.fromkeys(measures, pl.Float64)}
    )


def composed_steps(setting: Setting) -> int:
    """How often `composed` calls its progress."""
    return 1 + len(setting.runs) * setting.rounds


def varying(found: pl.DataFrame, name: str) -> pl.DataFrame:
    """The runs in which nothing but one parameter varies."""
    first = found.row(0, named=True)
    return found.filter(pl.col(other) == first[other] for other in RUN_COLUMNS if other != name)


def _warm_up(setting: Setting) -> None:
    """Compile what has to be compiled, and load what is loaded once, before time is taken."""
    first = replace(setting, rounds=min(2, setting.rounds), queries=min(100, setting.queries))
    for draft, _ in first.rehearse(setting.runs[0], silent):
        asked(draft, workload(first, draft.number))


def _replaced(draft: Draft) -> int:
    return 0 if draft.changed is None else draft.changed["person"].n_unique()


# Figure 6


def compared(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figure 6: the error of the same queries on releases of l-diversity and of m-invariance, by l and round.

    `counterfeits` are rows of m-invariance that are nobody's.
    """
    rows = []
    for l in setting.l:  # noqa: E741
        for state, group in diverse(setting, l, progress):
            snapshot = code_table(state.records, record_schema()).snapshot
            columns, grouping = over_their_domains(snapshot.quasi), Grouping(group, int(group.max()) + 1)
            error = query_error(columns, snapshot.values, grouping, workload(setting, state.number))
            row = {"method": DIVERSITY, "l": l, "round": state.number, "groups": grouping.count, "counterfeits": 0}
            rows.append({**row, "tuples": len(snapshot), **errors(error, *ERRORS)})
        for state, draft, _ in setting.rehearse_records(l, progress):
            error = asked(draft, workload(setting, state.number))
            made = 0 if draft.counterfeits is None else draft.counterfeits.height
            row = {"method": INVARIANCE, "l": l, "round": state.number, "groups": draft.grouping.count}
            rows.append({**row, "counterfeits": made, "tuples": len(draft.snapshot), **errors(error, *ERRORS)})
    counts = dict.fromkeys(("l", "round", "tuples", "groups", "counterfeits"), pl.Int64)
    return pl.DataFrame(rows, schema={"method": pl.String, **counts, **dict.fromkeys(ERRORS, pl.Float64)})


def compared_steps(setting: Setting) -> int:
    """How often `compared` calls its progress."""
    return 2 * len(setting.l) * setting.rounds


def diverse(
    setting: Setting,
    l: int,  # noqa: E741
    progress: Progress,
    volatile: float | None = None,
) -> Iterator[tuple[State, npt.NDArray[np.int32]]]:
    """Each state with the group of each of its tuples by l-diversity."""
    for state in setting.states(volatile):
        progress(f"{DIVERSITY}, l = {l}, round {state.number} of {setting.rounds}")
        people = state.registry.join(state.tuples, on="person", how="semi").sort("person")
        owner = np.searchsorted(people["person"].to_numpy(), state.tuples["person"].to_numpy())
        value = state.tuples[SENSITIVE].rank("dense").to_numpy().astype(np.int64)
        group = diverse_groups(_places(people), owner, value, l)
        yield state, group[owner].astype(np.int32)


def _places(people: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Where everybody is, each attribute as a share of its domain; labels in their order."""
    columns = [(people[name].to_numpy() - low) / (high - low) for name, (low, high) in RANGES.items()]
    for name, names in LABELS.items():
        codes = people[name].replace_strict(list(names), range(len(names)), return_dtype=pl.Float64)
        columns.append(codes.to_numpy() / (len(names) - 1))
    return np.column_stack(columns)


# Queries


def workload(setting: Setting, number: int) -> Workload:
    """The queries for a round: the same of every method."""
    return Workload(
        dimensions=DIMENSIONS, selectivity=SELECTIVITY, count=setting.queries, seed=setting.release_seed(number)
    )


def asked(draft: Draft, queries: Workload) -> QueryError:
    """The error of queries on a draft; the same queries whatever numbers happen to occur in it."""
    snapshot, grouping = everyone(draft)
    measured = measure(
        over_their_domains(snapshot.quasi),
        snapshot.values,
        grouping,
        form="generalised",
        workload=queries,
        counterfeit=None if snapshot.owner is not None else snapshot.people < 0,
        owner=snapshot.owner,
    )
    assert measured.query_error is not None  # there was a workload
    return measured.query_error
