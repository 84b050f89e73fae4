"""The experiments of Byun, Sohn, Bertino & Li: Secure Anonymization for Incremental Datasets (2006), section 5.

| paper                                               | here                                                  |
|-----------------------------------------------------|-------------------------------------------------------|
| Figure 8, vulnerable records                        | `vulnerable(setting)`                                 |
| Figures 9 to 11: data quality, suppression, time    | `growing(setting)`, the same runs for all three            |
| inference-enabling sets, pair by pair               | the attack `Channels`                                 |
| vulnerable records                                  | in a set of fewer than l values with an earlier one   |
| sum of IL(e) over the classes, by the records       | `utility.information_loss(...).average`               |
| suppressed records                                  | those who wait, up to a share that is chosen          |

The paper looks at an earlier class and at most two later ones that overlap it. Medians move as the table grows, so
most classes of Static I overlap more than two, and `Channels` compares all of them; `narrow` counts what the paper's
case alone shows. Mondrian's cuts are of our own kind too, so the figures are those of our groups, not the paper's.

The promise is about any two releases. What all of them together leave is measured by the attack `Worlds`.

`progress`, if given, is called with the name of each step as it begins. `reissue_studies.byun.figures` draws.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

import numpy as np
import polars as pl

from reissue.attacks.channels.channels import Channels, ChannelsFindings
from reissue.attacks.worlds.worlds import Worlds
from reissue.methods import Incremental
from reissue.model.published import Published
from reissue.publishing.draft import Draft
from reissue.reasoning.worlds.candidates import candidates
from reissue.utility import information_loss
from reissue_studies.byun.setting import RUN_COLUMNS, Run, Setting
from reissue_studies.progress import Progress, silent
from reissue_studies.stopwatch import seconds

__all__ = ["Run", "Setting", "growing", "growing_steps", "vulnerable", "vulnerable_steps"]

SECONDS = 60.0
"""The time for all worlds of one series."""
WARMED = 3
"""So many releases of each method are made before time is taken."""
COUNTS = ("release", "records", "published", "groups", "waiting")
TIMES = ("grouping", "drafting")
PASSES = 3
"""Everything is run so often, and the least time is taken: what else the machine does only adds to it."""


def vulnerable(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figure 8: for each method and release how many records are vulnerable by comparison with any earlier release.

    `records` are those of the table, `published` those of them that are in the release; `share` is `vulnerable` of
    these. `cumulative` is everybody vulnerable so far, `narrow` what the paper's own case shows, and `certain` how many
    people have one value in common in all their groups so far.

    For `Incremental`, at the last release, `together` counts those who are proven to have fewer than l possible values
    by all releases together. `unsettled` are those for whom neither that nor the opposite is proven: where there are
    some, `together` is the least.
    """
    found = [_attacked(setting, run, progress) for run in setting.runs]
    return pl.concat(found).select(
        *RUN_COLUMNS, "release", "records", "published", "vulnerable", "share", "cumulative", "narrow", "certain",
        "together", "unsettled",
    )  # fmt: skip


def vulnerable_steps(setting: Setting) -> int:
    """How often `vulnerable` calls its progress."""
    return len(setting.runs) * (setting.releases(setting.initial) + 1)


def _attacked(setting: Setting, run: Run, progress: Progress) -> pl.DataFrame:
    view, l = published(setting, run, progress), run.method.l  # noqa: E741
    progress(f"{run.title}, comparing releases")
    found = Channels(l=l).run(view)
    releases = len(view.releases)
    together, unsettled = _together(view, l) if isinstance(run.method, Incremental) else (None, None)
    return (
        found.vulnerable_counts(l)
        .rename({"records": "published"})
        .with_columns(
            *(pl.lit(value, RUN_COLUMNS[name]).alias(name) for name, value in run.columns.items()),
            records=setting.initial + (pl.col("release") - 1) * setting.step,
            share=pl.col("vulnerable") / pl.col("published"),
            narrow=pl.Series(_narrow(found, l)),
            certain=pl.Series(candidates(view).exposed_after),
            together=pl.Series([None] * (releases - 1) + [together], dtype=pl.Int64),
            unsettled=pl.Series([None] * (releases - 1) + [unsettled], dtype=pl.Int64),
        )
    )


def published(setting: Setting, run: Run, progress: Progress = silent) -> Published:
    """The outsider's view of the whole series of Figure 8."""
    views = [draft.view for draft, _ in setting.rehearse(run, setting.initial, progress)]
    # The domain of the sensitive column is declared, so all releases number its values alike.
    return Published(tuple(view.releases[0] for view in views), views[-1].values)


def _together(view: Published, l: int) -> tuple[int, int]:  # noqa: E741
    """How many have fewer than l possible values by all releases, and for how many that is open."""
    possible = Worlds(seconds=SECONDS).run(view).possible
    few, enough = possible.fewer(l), possible.enough(l)
    return int(few.sum()), int(np.count_nonzero(~few & ~enough))


def _narrow(found: ChannelsFindings, l: int) -> list[int]:  # noqa: E741
    """For each release how many of its records the paper's own case makes vulnerable.

    They are in a class of an earlier release that overlaps at most two of this one, and share fewer than l values
    with it.
    """
    place = found.exposure.place
    exposed = np.zeros(place.shape, dtype=bool)
    for compared in found.comparisons:
        overlapping = np.bincount(compared.first, minlength=int(compared.first.max(initial=0)) + 1)
        few = (overlapping[compared.first] <= 2) & (compared.distinct < l)
        width = int(compared.second.max(initial=0)) + 1
        pairs = np.sort(compared.first[few] * width + compared.second[few])
        earlier, later = place[compared.earlier], place[compared.later]
        both = np.flatnonzero((earlier >= 0) & (later >= 0))
        exposed[compared.later, both[np.isin(earlier[both] * width + later[both], pairs)]] = True
    counts: list[int] = exposed.sum(axis=1).tolist()
    return counts


def growing(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """Figures 9 to 11: for each method and release what it costs in information, in records that wait, and in time.

    `records` are those of the table, `published` and `waiting` those of them that are in the release and that are not,
    `share` the latter as a share. `loss` is the average information loss of those published (the paper's Definition 7);
    `loss_of_all` takes those who wait into the average, as if everything about them were lost.

    `grouping` is what the method takes, `drafting` all of it: reading the table, grouping, making the public tables,
    checking the promises. Both are seconds on the clock, the least of several passes.
    """
    progress("warming up")
    _warm_up(setting)
    passes = [_passed(setting, progress) for _ in range(PASSES)]
    least = {name: np.min([found[name].to_numpy() for found in passes], axis=0) for name in TIMES}
    return passes[0].with_columns(**{name: pl.Series(times) for name, times in least.items()})


def _passed(setting: Setting, progress: Progress) -> pl.DataFrame:
    rows = [
        {**run.columns, **_counted(draft), **seconds(laps)}
        for run in setting.runs
        for draft, laps in setting.rehearse(run, setting.first, progress)
    ]
    measures = dict.fromkeys(("share", "loss", "loss_of_all", *TIMES), pl.Float64)
    return pl.DataFrame(rows, schema={**RUN_COLUMNS, **dict.fromkeys(COUNTS, pl.Int64), **measures})


def growing_steps(setting: Setting) -> int:
    """How often `growing` calls its progress."""
    return 1 + PASSES * len(setting.runs) * setting.releases(setting.first)


def _counted(draft: Draft) -> dict[str, object]:
    records = len(draft.snapshot)
    waiting = 0 if draft.held_back is None else draft.held_back.height
    loss = information_loss(draft.snapshot.quasi, draft.grouping).average
    everything = len(draft.snapshot.quasi)
    return {
        "release": draft.number,
        "records": records,
        "published": records - waiting,
        "groups": draft.grouping.count,
        "waiting": waiting,
        "share": waiting / records,
        "loss": loss,
        "loss_of_all": (loss * (records - waiting) + everything * waiting) / records,
    }


def _warm_up(setting: Setting) -> None:
    """Compile what has to be compiled, and load what is loaded once, before time is taken."""
    for run in setting.runs:
        deque(islice(setting.rehearse(run, setting.first, silent), WARMED), maxlen=0)
