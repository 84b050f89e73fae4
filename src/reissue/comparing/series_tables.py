"""The tables of a series before anything is published: read, sampled by people, and what is in them.

A sample is of people, the same ones in all tables, drawn by the seed from their ids: so everybody's whole history is in
it or not. What is told of the tables here is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import floor

import numpy as np
import polars as pl

from reissue.arrays.randomness import generator
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, TableError
from reissue.model.domain import PERSON
from reissue.model.schema import Numeric, Schema
from reissue.tables.coding import KnownBefore, code_table
from reissue.tables.frames import Library, read_table, which_of
from reissue.tables.one_event import one_event_each
from reissue.tables.people import KnownPeople

CELLS = "\0cells"


@dataclass(frozen=True, repr=False)
class SeriesTables:
    """Tables one after the other, in the order of time."""

    schema: Schema
    frames: tuple[pl.DataFrame, ...]
    """What is rehearsed: of large tables a sample of people."""
    whole: tuple[int, ...]
    """How many rows each table has."""
    library: Library = "polars"
    registries: tuple[pl.DataFrame | None, ...] = ()
    """Everybody registered at each table, where that is given."""
    states: tuple[pl.DataFrame, ...] = ()
    """`person` (a number, by the order of ids) and `value` (as text) of each table; none where people have several."""
    several_rows: str | None = None
    """Why there are no states, and why most methods refuse: somebody has several rows."""

    def __repr__(self) -> str:
        return f"SeriesTables({len(self.frames)} tables, up to {max(self.people):,} people)"

    @property
    def people(self) -> tuple[int, ...]:
        """How many people, or rows where somebody has several, each table that is rehearsed has."""
        return tuple(one.height for one in self.states or self.frames)

    @property
    def sampled(self) -> bool:
        """Whether there are fewer people than in the tables given."""
        return sum(frame.height for frame in self.frames) < sum(self.whole)

    @cached_property
    def gone(self) -> int:
        """How often somebody is in a table and not in the next."""
        return sum(_apart(before, after) for before, after in pairwise(self.states))

    @cached_property
    def came(self) -> int:
        """How often somebody is in a table and not in the one before."""
        return sum(_apart(after, before) for before, after in pairwise(self.states))

    @cached_property
    def stayed(self) -> int:
        """How often somebody is in a table and in the next."""
        return sum(before.height for before in self.states[:-1]) - self.gone

    @cached_property
    def changed(self) -> int:
        """How often the value of somebody who stays is another one."""
        differs = pl.col("value") != pl.col("value_then")
        return sum(_both(one, other).filter(differs).height for one, other in pairwise(self.states))

    @cached_property
    def rate(self) -> float | None:
        """The rate at which `Alternatives` may declare values to change; None where it is below 1 in 1,000."""
        rate = least_rate(self.states, 3)
        return None if rate is None else min(rate, 0.999)

    @cached_property
    def largest_share(self) -> float:
        """The largest share that a value has in any table."""
        return max((float(_counts(one)[0]) / one.height for one in self.states), default=1.0)

    @cached_property
    def first_counts(self) -> Ints:
        """How many people of the first table have each value, the most frequent first."""
        return _counts(self.states[0]) if self.states else np.zeros(0, dtype=np.int64)

    def rare(self, fewer: float) -> float:
        """Which share of the people of the first table has a value that fewer people than this have."""
        counts = self.first_counts
        return float(counts[counts < fewer].sum() / max(int(counts.sum()), 1))

    def labels(self) -> list[str]:
        """The columns that are published and have labels."""
        columns = {**self.schema.quasi, **self.schema.as_is}
        return [name for name, kind in columns.items() if not isinstance(kind, Numeric)]

    def cell_sizes(self, columns: Sequence[str]) -> Ints:
        """How many people of the first table are in each cell of some columns."""
        cells = self.frames[0].select(pl.col(columns).cast(pl.String)).group_by(columns).len(name=CELLS)
        return cells[CELLS].to_numpy().astype(np.int64)

    def new_cells(self, columns: Sequence[str]) -> bool:
        """Whether a later table has a cell of some columns that the first does not have."""
        first, *later = (frame.select(pl.col(columns).cast(pl.String)).unique() for frame in self.frames)
        return any(one.join(first, on=columns, how="anti", nulls_equal=True).height for one in later)

    def tells(self, columns: Sequence[str]) -> float:
        """How much the cells of columns tell about the value in the first table: mutual information, less chance."""
        frame, sensitive = self.frames[0], list(self.schema.sensitive_columns)
        texts = frame.select(pl.col([*columns, *sensitive]).cast(pl.String))
        joint, cells, values = (
            texts.group_by(some).len(name=CELLS)[CELLS].to_numpy().astype(np.float64)
            for some in ([*columns, *sensitive], list(columns), sensitive)
        )
        n = float(frame.height)
        found = _entropy(cells / n) + _entropy(values / n) - _entropy(joint / n)
        return found - (cells.size - 1) * (values.size - 1) / (2 * n)


def read_series(
    tables: Sequence[object], schema: Schema, people: int | None, seed: int, registries: Sequence[object] = ()
) -> SeriesTables:
    """Read tables and check them as a series would; of more people than `people` keep a sample."""
    if not tables:
        raise ParameterError("There is no table to compare methods on.", hint="give the tables in the order of time.")
    read = [read_table(one, text=schema.texts, coded=schema.kinds) for one in tables]
    frames = [one_event_each(frame, schema)[0] for frame, _ in read]
    # Draws go by rows: the same ones, in whatever order they come.
    frames = [frame.sort(schema.person) if _has_ids(frame, schema.person) else frame for frame in frames]
    whole = tuple(frame.height for frame in frames)
    chosen = _drawn(frames, schema.person, people, seed)
    if chosen is not None:
        frames = [_only(frame, schema.person, chosen) for frame in frames]
    lists = [None if one is None else read_table(one, text=schema.texts)[0] for one in registries]
    if chosen is not None:
        lists = [None if one is None else _only(one, schema.person, chosen) for one in lists]
    found = SeriesTables(schema, tuple(frames), whole, read[0][1], tuple(lists))
    if schema.permanent and any(_repeated(frame, schema.person) for frame in frames):
        return replace(found, several_rows="a person has several rows, and it takes one for each")
    return replace(found, states=_states(frames, schema, tables))


def _has_ids(frame: pl.DataFrame, person: str) -> bool:
    """Whether there is a column of ids, as far as types go; what is wrong with others, coding the table says."""
    return person in frame.columns and not (frame[person].dtype.is_nested() or frame[person].dtype == pl.Object)


def _repeated(frame: pl.DataFrame, person: str) -> bool:
    return _has_ids(frame, person) and frame[person].n_unique() < frame.height


def _drawn(frames: Sequence[pl.DataFrame], person: str, people: int | None, seed: int) -> pl.Series | None:
    """The ids, as text, of a sample; None where nobody is left out."""
    if people is None or not all(_has_ids(frame, person) for frame in frames):
        return None
    most = max(frame[person].n_unique() for frame in frames)
    if most <= people:
        return None
    ids = pl.concat([frame[person].cast(pl.String) for frame in frames]).drop_nulls().unique().sort()
    return ids.filter(pl.Series(generator(seed).random(len(ids)) < people / most))


def _only(frame: pl.DataFrame, person: str, ids: pl.Series) -> pl.DataFrame:
    return frame.filter(frame[person].cast(pl.String).is_in(ids.implode()) | frame[person].is_null())


def _states(frames: Sequence[pl.DataFrame], schema: Schema, given: Sequence[object]) -> tuple[pl.DataFrame, ...]:
    """Person and value of each table, checked as in a series that goes on from one table to the next."""
    known, ids, coded = KnownBefore(), pl.Series("id", [], dtype=pl.String), []
    for number, frame in enumerate(frames, start=1):
        try:
            found = code_table(frame, schema, known)
        except TableError as error:
            raise TableError(
                f"{which_of(number, given)}: {error.what}", problems=error.problems, hint=error.hint
            ) from None
        rows = found.snapshot.frame()
        ids = found.new_ids if number == 1 else pl.concat([ids, found.new_ids])
        known = _known(ids, rows[PERSON], found.domain)
        coded.append(rows.select(PERSON, pl.col(schema.sensitive).cast(pl.String).alias("value")))
    order = by_id(ids)
    return tuple(
        one.select(pl.Series("person", order[one[PERSON].to_numpy()]), "value").sort("person") for one in coded
    )


def _known(ids: pl.Series, last: pl.Series, domain: object) -> KnownBefore:
    return KnownBefore(KnownPeople(lambda: ids, ids.len(), last), ids.len(), domain)  # type: ignore[arg-type]


def by_id(ids: pl.Series) -> Ints:
    """For each number that a series gave to people, whose ids are these, the place of the id among all."""
    order: Ints = ids.rank("ordinal").to_numpy().astype(np.int64) - 1
    return order


def least_rate(states: Sequence[pl.DataFrame], digits: int) -> float | None:
    """The rate at which values may be declared to change: what tables, `person` and `value`, show; None where it is 0.

    The least of any two tables one after the other, rounded down: a rate above the true one is dangerous, and one below
    it harms little. Somebody whose value is redrawn may get the same one, so that values are redrawn more often than
    they differ.
    """
    rates = _rates(states)
    steps = 10**digits
    return (floor(steps * min(rates)) / steps if rates else 0.0) or None


def mean_rate(states: Sequence[pl.DataFrame]) -> float:
    """The rate at which values are redrawn between tables, the mean."""
    rates = _rates(states)
    return sum(rates) / max(len(rates), 1)


def _rates(states: Sequence[pl.DataFrame]) -> list[float]:
    """At what rate values are redrawn from each table to the next."""
    shares = _counts(states[-1]) / states[-1].height
    renewed = 1 - float((shares**2).sum())
    if renewed <= 0:
        return []
    return [
        float(_both(before, after).select((pl.col("value") != pl.col("value_then")).mean()).item() or 0.0) / renewed
        for before, after in pairwise(states)
    ]


def _both(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    return before.join(after, on="person", suffix="_then")


def _apart(one: pl.DataFrame, other: pl.DataFrame) -> int:
    return one.join(other, on="person", how="anti").height


def _counts(state: pl.DataFrame) -> Ints:
    counts: Ints = np.sort(state["value"].value_counts()["count"].to_numpy().astype(np.int64))[::-1]
    return counts


def _entropy(shares: np.ndarray) -> float:
    return float(-(shares * np.log(shares)).sum())
