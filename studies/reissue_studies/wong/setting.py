"""The set-up of the experiments of Wong, Fu, Wang & Pei (2007), section 7: the table, its attributes, the methods.

| paper                                       | here                                                              |
|---------------------------------------------|-------------------------------------------------------------------|
| Adult, 45,222 tuples without unknown values | Adult's own files (`path`), or invented people (`people`)         |
| the nine attributes of Table 12             | `taxonomies`                                                      |
| QID size                                    | `size`: the first so many attributes of Table 12                  |
| education, levels before "9th" sensitive    | one protected set, `PROTECTED`                                    |
| (alpha, k)-A, alpha = 1/m                   | `AlphaK(1/m, k)`, by local recoding; also by full-domain recoding |
| m-conf, Algorithm MASK                      | `Mask(k, l=m)`                                                    |
| every experiment 100 times                  | `repeats` times                                                   |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl

from reissue.errors import ParameterError, UserError, count_of, listed
from reissue.methods.partition.alpha_k import AlphaK
from reissue.methods.partition.mask import Mask
from reissue.model.schema import Categorical, Schema
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.publishing.policy import Policy
from reissue.publishing.series import draft
from reissue.samples.collection import load
from reissue_studies.setting import StudySetting, refuse, several_wholes
from reissue_studies.stopwatch import Stopwatch, Timed
from reissue_studies.wong.people import people
from reissue_studies.wong.taxonomies import PROTECTED, QUASI, SENSITIVE, labels, taxonomies

Form = Literal["generalised", "anatomised"]
Recoding = Literal["local", "full-domain"]
Draw = Literal["reference", "binomial"]

ROWS = 45_222
LEAST_ROWS = 200
"""With fewer, hardly anybody is in the protected set."""
UNKNOWN = "?"
RECODINGS: tuple[Recoding, ...] = ("local", "full-domain")


@dataclass(frozen=True)
class Setting(StudySetting):
    """A table, and the parameters of the methods that publish it."""

    rows: int | None = None
    """How many people there are; None: all of Adult's complete rows, or as many invented ones."""
    path: str | Path | None = None
    """UCI's `adult.data`, with `adult.test` beside it, or the folder with both, also gzipped; left out, people are
    invented."""
    m: tuple[int, ...] = tuple(range(2, 11))
    """The values of m in Figure 2. The first and the last are those of all other figures."""
    k: tuple[int, ...] = (2, 10, 20)
    sizes: tuple[int, ...] = tuple(range(2, 9))
    """How many attributes the quasi-identifier has. The last is that of all figures but 3 and 4."""
    repeats: int = 3
    """How often everything that is drawn at random is done; the paper: 100 times."""
    queries: int = 10_000
    seed: int = 1
    """The same seed gives the same tables, releases and queries."""

    def __post_init__(self) -> None:
        self.check_sizes(repeats=1, queries=1, rows=LEAST_ROWS)
        problems = several_wholes("Setting", "m", self.m, 2, ascending=True)
        problems += several_wholes("Setting", "k", self.k, 1, ascending=True)
        problems += several_wholes("Setting", "sizes", self.sizes, 1, len(QUASI), ascending=True)
        refuse("Setting", problems)

    @property
    def size(self) -> int:
        """How many attributes the quasi-identifier has where nothing else is said: the most."""
        return self.sizes[-1]

    @property
    def ends(self) -> tuple[int, ...]:
        """The first and the last m: 2 and 10 in the paper."""
        return tuple(dict.fromkeys((self.m[0], self.m[-1])))

    @cached_property
    def table(self) -> pl.DataFrame:
        """Everybody."""
        if self.path is None:
            return people(ROWS if self.rows is None else self.rows, seed=self.seed_of(0))
        table = adult(self.path)
        if self.rows is not None and table.height < self.rows:
            raise ParameterError(
                f"The table has {count_of(table.height, 'complete row')}, {self.rows:,} are asked for.",
                hint=f"ask for at most {table.height:,} rows.",
            )
        return table if self.rows is None else table.head(self.rows)

    @property
    def protected(self) -> int:
        """How many people have a value of the protected set."""
        return int(self.table[SENSITIVE].is_in(PROTECTED).sum())

    def schema(self, size: int) -> Schema:
        """What the columns are when the quasi-identifier has so many attributes."""
        trees = taxonomies()
        return Schema(
            person="person",
            quasi={name: trees[name] for name in QUASI[:size]},
            sensitive={SENSITIVE: Categorical(labels(SENSITIVE))},
            drop=QUASI[size:],
            protect=[PROTECTED],
        )

    def publish(self, run: Run, *, form: Form = "generalised", repeat: int = 1) -> Timed:
        """One release by one method, its promises checked, and how long each stage took; nothing is written."""
        policy = Policy(self.schema(run.size), run.method, form=form, checks=NOTHING_ASKED)
        stopwatch = Stopwatch()
        made = draft(self.table, policy, seed=self.seed_of(repeat), gate=False, progress=stopwatch)
        return stopwatch.timed(made)


class Run(NamedTuple):
    """One method with its parameters, and how many attributes the quasi-identifier has."""

    name: str
    m: int
    k: int
    size: int
    recoding: Recoding = "local"
    draw: Draw = "reference"

    @property
    def method(self) -> AlphaK | Mask:
        """The method itself."""
        if self.name == "AlphaK":
            return AlphaK(1 / self.m, self.k, recoding=self.recoding)
        return Mask(self.k, self.m, draw=self.draw)

    @property
    def title(self) -> str:
        """For people."""
        what = f", {self.recoding}" if self.name == "AlphaK" else f", {self.draw}"
        return f"{self.name}{what}, m = {self.m}, k = {self.k}, {count_of(self.size, 'attribute')}"

    @property
    def columns(self) -> dict[str, object]:
        """What its rows in a table of results begin with."""
        return {"method": self.name, "m": self.m, "k": self.k, "size": self.size}


RUN_COLUMNS: dict[str, type[pl.DataType]] = {"method": pl.String, "m": pl.Int64, "k": pl.Int64, "size": pl.Int64}


def adult(path: str | Path) -> pl.DataFrame:
    """Adult's complete rows with the nine attributes: `adult.data`, then `adult.test` where it lies beside it."""
    table = pl.concat([load("adult", path=file).drop("person") for file in _files(Path(path))], how="diagonal")
    absent = [name for name in (*QUASI, SENSITIVE) if name not in table.columns]
    if absent:
        raise UserError(f"Adult without {listed(absent)} does not do.", hint="take UCI's adult.data and adult.test.")
    table = table.filter(~pl.any_horizontal((pl.col(pl.String) == UNKNOWN).fill_null(True)))
    return table.select(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("person"), *QUASI, SENSITIVE)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = [path / name for name in ("adult.data", "adult.data.gz") if (path / name).exists()]
        if not found:
            raise UserError(f"There is no adult.data in '{path}'.", hint="fetch it from UCI, with adult.test.")
        path = found[0]
    if not path.name.startswith("adult.data"):
        return [path]
    beside = [path.with_name(name) for name in ("adult.test", "adult.test.gz")]
    return [path, *[other for other in beside if other.exists()][:1]]
