"""Past moves: how people's values moved through past states of a table, as a table of change with noise.

    found = ri.moves(["2021.csv", "2022.csv", "2023.csv"], schema, epsilon=1)
    method = ri.Alternatives(m=4, reference=found.reference, change=found.change, spent=found.epsilon)

A table of change and the reference shares must name the same values, and which values are frequent enough to be named
is itself something that is counted. So both come from one place: where no reference is given, half of epsilon goes to
the shares of the last state, with rare values put together as `Alternatives` does, and half to the moves between the
values that these name. With a reference from outside its values are the ones, and all of epsilon goes to the moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.randomness import generator, new_seed
from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible, ParameterError, TableError, listed
from reissue.methods.alternatives import reference as references
from reissue.methods.alternatives.reference import OTHERS, Reference
from reissue.methods.alternatives.transitions import at_most, with_noise
from reissue.model.domain import Domain
from reissue.model.libraries import Library, to_library
from reissue.model.schema import Schema
from reissue.model.snapshot import Column
from reissue.model.telling import told
from reissue.tables.coding import Coder
from reissue.tables.frames import read_table, which_of
from reissue.tables.one_event import one_event_each

MOST = 4
"""So many moves somebody brings by default: more tell more of those who stay long, and need more noise for all."""


@dataclass(frozen=True, repr=False)
class Moves:
    """A table of change, and what it rests on. People and moves are exact, and private; the rest may be published."""

    _table: pl.DataFrame
    _shares: pl.DataFrame | None
    _rows: pl.DataFrame
    people: int
    """How many people moves were counted of. Private."""
    moves: int
    """How many moves were counted. Private."""
    left_out: int
    """How many were not, as nobody brings more than so many. Private."""
    staying: float
    """The share of moves, on the whole, that leave a value as it is."""
    library: Library = "polars"
    """The library that tables come back in: that of the first table."""

    @property
    def table(self) -> Any:
        """`value`, `next`, `chance`, and the `epsilon` it was counted with: the file that `change` takes."""
        return to_library(self._table, self.library)

    @property
    def shares(self) -> Any:
        """`value`, `share`, `epsilon`: the file that `reference` takes; None where shares were given."""
        return None if self._shares is None else to_library(self._shares, self.library)

    @property
    def rows(self) -> Any:
        """For each `value` the `error` that noise is expected to bring at most, half the sum of differences, and
        whether its row is `thin`: more than half of it is what values do on the whole, and not what was counted of it.
        """
        return to_library(self._rows, self.library)

    def __repr__(self) -> str:
        return f"Moves(between {self._rows.height:,} values, epsilon = {self.epsilon:g})"

    @property
    def change(self) -> dict[str, dict[str, float]]:
        """The table as `Alternatives` takes it."""
        table: dict[str, dict[str, float]] = {}
        for value, after, chance in self._table.select("value", "next", "chance").iter_rows():
            table.setdefault(value, {})[after] = chance
        return table

    @property
    def reference(self) -> dict[str, float] | None:
        """The shares as `Alternatives` takes them; None where they were given."""
        return None if self._shares is None else dict(self._shares.select("value", "share").iter_rows())

    @property
    def epsilon(self) -> float:
        """What table and shares tell together of anybody's whole history, for `spent`."""
        return math.fsum(frame["epsilon"][0] for frame in (self._table, self._shares) if frame is not None)


def moves(
    tables: Sequence[object],
    schema: Schema,
    epsilon: float = 1.0,
    most: int = MOST,
    *,
    reference: Mapping[str, float] | None = None,
    merge: float = 10.0,
    rng: np.random.Generator | None = None,
) -> Moves:
    """Count how values moved through past states of a table, in their order, with noise.

    Of each table, published before or not, the person and the sensitive column are read. A move is what somebody had
    in one state and in the next. One person's whole history changes the odds of the result by at most e^`epsilon`;
    nobody brings more than `most` moves. Without a `reference` the result has one too, the shares of the last state,
    in which values with fewer people than `merge` scales of the noise are one. Every call asks the tables again: two
    results that get out have told both their epsilons.
    """
    _check(tables, epsilon, most, reference, merge)
    rng = generator(new_seed()) if rng is None else rng
    states, library = _states(tables, schema)
    exact = Fraction(epsilon).limit_denominator(10**6)
    if reference is None:
        everybody = pl.concat([state.ids for state in states]).n_unique()
        absent = everybody - len(states[-1].ids)
        shares, exact = _shares_of(states[-1].values, exact / 2, merge, rng, absent), exact / 2
    else:
        shares = references.given(reference, states[-1].values)
    if len(shares.labels) < 2:
        raise Infeasible("Moves are between at least two values, and there is one.", hint="take a finer column.")
    person, before, after = _pairs(states, shares)
    used = at_most(most, person, rng)
    counted = with_noise(before[used], after[used], shares.shares[0], most, exact, rng)
    labels = [str(label) for label in shares.labels]
    return Moves(
        _table=_table(labels, counted.chances, float(exact)),
        _shares=None if reference is not None else _with_epsilon(labels, shares.shares[0], float(exact)),
        _rows=pl.DataFrame({"value": labels, "error": counted.error, "thin": counted.thin}),
        people=np.unique(person).size,
        moves=used.size,
        left_out=person.size - used.size,
        staying=counted.staying,
        library=library,
    )


def _check(tables: object, epsilon: object, most: object, reference: object, merge: object) -> None:
    def number(given: Any) -> bool:
        return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)

    problems = []
    if isinstance(tables, str) or not isinstance(tables, Sequence) or len(tables) < 2:
        problems.append("The 'tables' parameter of moves must be a list of at least two tables, in the order of time.")
    if not number(epsilon) or not 0.001 <= epsilon <= 100:  # type: ignore[operator]
        problems.append("The 'epsilon' parameter of moves must be a number from 0.001 to 100.")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        problems.append("The 'most' parameter of moves must be a whole number of at least 1.")
    if reference is not None and not references.are_shares(reference):
        problems.append(
            "The 'reference' parameter of moves must be a mapping from at least two values to numbers above 0."
        )
    if not number(merge) or merge < 0:  # type: ignore[operator]
        problems.append("The 'merge' parameter of moves must be a number of at least 0.")
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{len(problems)} parameters of moves do not fit.", problems=problems)


@dataclass(frozen=True, repr=False)
class _State:
    """What one of the tables says of people and their values."""

    ids: pl.Series
    values: Column


def _states(tables: Sequence[object], schema: Schema) -> tuple[list[_State], Library]:
    """The states one after the other, as a series would read them: types and labels of one hold for the next.

    And the library of the first of them.
    """
    states: list[_State] = []
    domain, libraries = Domain(), []
    for number, table in enumerate(told(tables), 1):
        read, library = read_table(table, text=schema.texts)
        libraries.append(library)
        frame, _ = one_event_each(read, schema)
        lacking = [name for name in (schema.person, schema.sensitive) if name not in frame.columns]
        coder = Coder(domain, show_values=False)
        ids = values = None
        if not lacking and frame.height:
            ids = coder.people(frame[schema.person], None)
            values = coder.column(frame[schema.sensitive], schema.sensitive_kind)
        if ids is None or values is None:
            problems = coder.problems or [f"there is no column {listed(lacking)}" if lacking else "it has no rows"]
            raise TableError(f"{which_of(number, tables)} does not fit the policy.", problems=problems)
        states.append(_State(ids, values))
        domain = Domain(coder.domain)
    return states, libraries[0]


def _shares_of(values: Column, epsilon: Fraction, merge: float, rng: np.random.Generator, absent: int) -> Reference:
    """The shares of the last state. Another history can take somebody out of it: so those who are absent count too."""
    codes = values.codes.astype(np.int64)
    cell = np.zeros(codes.size, dtype=np.int64)
    return references.noised(values, codes, cell, 1, epsilon, merge, rng, absent=absent)


def _pairs(states: Sequence[_State], shares: Reference) -> tuple[Ints, Ints, Ints]:
    """Each move of each person who is in two states one after the other: the person, the value, the next value."""
    # A reference has text only, and not all numbers of one table are in another: values go by how they are written.
    place = {str(label): at for at, label in enumerate(shares.labels)}
    frames = []
    for state in states:
        names = [str(name) for name in references.names_of(state.values)]
        places = references.places_of(names, place, place[OTHERS] if shares.merged else -1)
        codes = state.values.codes.astype(np.int64)
        references.need_known(places, codes)
        frames.append(pl.DataFrame({"id": state.ids, "value": places[codes]}))
    joined = [one.join(other, on="id", suffix=" after") for one, other in pairwise(frames)]
    # In an order of their own, so that with one seed the same moves are drawn whatever the order of rows.
    found = pl.concat(joined).sort("id", maintain_order=True)
    if not found.height:
        raise Infeasible(
            "Nobody is in two tables one after the other, so that no value moved.",
            hint="give tables with the same people and the same ids, in the order of time.",
        )
    person = found["id"].rank("dense").to_numpy().astype(np.int64)
    return person, found["value"].to_numpy(), found["value after"].to_numpy()


def _table(labels: list[str], chances: Floats, epsilon: float) -> pl.DataFrame:
    count = len(labels)
    return pl.DataFrame(
        {
            "value": np.repeat(np.array(labels, dtype=object), count).tolist(),
            "next": labels * count,
            "chance": chances.ravel(),
        }
    ).with_columns(epsilon=pl.lit(epsilon))


def _with_epsilon(labels: list[str], shares: Floats, epsilon: float) -> pl.DataFrame:
    return pl.DataFrame({"value": labels, "share": shares}).with_columns(epsilon=pl.lit(epsilon))
