"""Static l-diversity on a growing table: how many records comparing releases makes vulnerable.

J.-W. Byun, Y. Sohn, E. Bertino, N. Li: Secure Anonymization for Incremental Datasets (2006), section 5, Figure 8.

| paper                                     | here                                                          |
|-------------------------------------------|---------------------------------------------------------------|
| Static I: everything anonymised each time | `Mondrian(l=l)`, unprotected                                  |
| 10K records, then 1,000 more each time    | `initial`, `step`, up to `rows`                               |
| Adult, education sensitive                | Adult's own file (`path`), or a generated census              |
| inference-enabling sets, pair by pair     | the attack `Channels`                                         |
| vulnerable records                        | those in a set of fewer than l values with an earlier release |

The paper looks at an earlier class and at most two later ones that overlap it. Medians move as the table grows, so
most classes overlap more than two, and `Channels` compares all of them; `narrow` counts what the paper's case alone
shows. Mondrian's cuts are of our own kind too, so the figures are those of our groups, not the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from reissue.attacks.channels import Channels, ChannelsFindings
from reissue.drafting import Draft
from reissue.errors import ParameterError, count_of
from reissue.methods import Mondrian
from reissue.policy import Policy
from reissue.reasoning.candidates import candidates
from reissue.release import Published
from reissue.schema import Categorical, Kind, Numeric, Schema
from reissue.studies.census import census, whole_numbers
from reissue.studies.datasets import load
from reissue.studies.rehearsal import Rehearsal
from reissue.studies.streams import growth

Progress = Callable[[str], None]

SENSITIVE = "education"
ADULT_QUASI = (
    "age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "salary-class",
)  # fmt: skip
CENSUS_QUASI = ("age", "gender", "birthplace", "occupation")


@dataclass(frozen=True)
class Setting:
    """A table that only grows, and the l of the releases."""

    rows: int = 30_000
    """How many people there are in the end."""
    initial: int = 10_000
    """How many there are at first."""
    step: int = 1_000
    """How many come in each time."""
    l: tuple[int, ...] = (5, 7)  # noqa: E741
    """The values of l to compare."""
    path: str | Path | None = None
    """UCI's `adult.data`, also gzipped; left out, a census is generated."""
    seed: int = 1

    def __post_init__(self) -> None:
        sizes = {"rows": 1, "initial": 1, "step": 1}
        whole_numbers("Setting", self.seed, **{name: (getattr(self, name), least) for name, least in sizes.items()})
        problems = []
        if not self.l or not all(type(one) is int and one >= 2 for one in self.l) or len({*self.l}) < len(self.l):
            problems.append("The 'l' parameter of Setting must be different whole numbers of at least 2.")
        if self.initial > self.rows:
            problems.append("The 'initial' parameter of Setting must be at most 'rows'.")
        if problems:
            raise ParameterError("These are no parameters for a study.", problems=problems)

    @property
    def releases(self) -> int:
        """How many releases there are, the first included."""
        return 1 + (self.rows - self.initial) // self.step

    @cached_property
    def pool(self) -> pl.DataFrame:
        """Everybody who comes in, in the end."""
        if self.path is None:
            return census(self.rows, seed=self.seed)
        table = load("adult", path=self.path)
        table = table.select(*ADULT_QUASI, SENSITIVE).drop_nulls()
        if table.height < self.rows:
            raise ParameterError(
                f"The table has {count_of(table.height, 'complete row')}, {self.rows:,} are asked for.",
                hint=f"ask for at most {table.height:,} rows.",
            )
        return table.head(self.rows).with_row_index("person")

    @property
    def schema(self) -> Schema:
        """What the columns are, with their whole domains, so that no release has labels of its own."""
        names = CENSUS_QUASI if self.path is None else ADULT_QUASI
        quasi: dict[str, Kind] = {}
        for name in names:
            column = self.pool[name]
            if column.dtype.is_numeric():
                low, high = column.to_numpy().min(), column.to_numpy().max()
                quasi[name] = Numeric(low=float(low), high=float(high))
            else:
                quasi[name] = Categorical(_labels(column))
        return Schema(person="person", quasi=quasi, sensitive={SENSITIVE: Categorical(_labels(self.pool[SENSITIVE]))})

    def policy(self, l: int) -> Policy:  # noqa: E741
        """Static I."""
        drop = [name for name in self.pool.columns if name not in self.schema.roles]
        schema = Schema(
            person="person", quasi=self.schema.quasi, sensitive={SENSITIVE: self.schema.sensitive_kind}, drop=drop
        )
        return Policy(schema, Mondrian(l=l), series="unprotected")


def _labels(column: pl.Series) -> tuple[str, ...]:
    return tuple(sorted(column.cast(pl.String).unique().to_list()))


def vulnerable(setting: Setting, *, progress: Progress = lambda step: None) -> pl.DataFrame:
    """For each l and release how many records are vulnerable by comparison with any earlier release.

    `share` is `vulnerable` of the release's `records`, `cumulative` everybody vulnerable so far, `narrow` what the
    paper's own case shows, and `certain` how many people have one value in common in all their groups so far.
    """
    rows = []
    for l in setting.l:  # noqa: E741
        view = _published(setting, l, progress)
        progress(f"l = {l}, comparing releases")
        found = Channels(l=l).run(view)
        counts = found.vulnerable_counts(l).select("release", "records", "vulnerable", "cumulative")
        rows.append(
            counts.with_columns(
                l=pl.lit(l),
                share=pl.col("vulnerable") / pl.col("records"),
                narrow=pl.Series(_narrow(found, l)),
                certain=pl.Series(candidates(view).exposed_after),
            )
        )
    return pl.concat(rows).select("l", "release", "records", "vulnerable", "share", "cumulative", "narrow", "certain")


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


def steps(setting: Setting) -> int:
    """How often `vulnerable` calls its progress."""
    return len(setting.l) * (setting.releases + 1)


def _published(setting: Setting, l: int, progress: Progress) -> Published:  # noqa: E741
    series = Rehearsal(setting.policy(l))
    seeds = np.random.SeedSequence(setting.seed).generate_state(setting.releases + 1).tolist()
    stream = growth(setting.pool, initial=setting.initial, step=setting.step, seed=seeds[0])
    views: list[Draft] = []
    for number, table in enumerate(stream, start=1):
        progress(f"l = {l}, release {number} of {setting.releases}")
        views.append(series.publish(table, seed=seeds[number]))
    # The domain of the sensitive column is declared, so all releases number its values alike.
    return Published(tuple(draft.view.releases[0] for draft in views), views[-1].view.values)
