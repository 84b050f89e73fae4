"""How the table and the registry change from round to round: Bu, Fu, Wong, Chen & Li (2008), section 4.

| paper                                         | here                                                            |
|-----------------------------------------------|-----------------------------------------------------------------|
| Reports, Reactions                            | `people`, `diagnoses`                                           |
| T_1, 10 % of Reactions                        | `start`                                                         |
| 10 % of T_(i-1) change, 10 % are removed      | `changed`, `removed`: different tuples                          |
| 10 % of Reactions are inserted                | `inserted`: drawn from all; what is there already stays as it is|
| vol % of the people change quasi-identifiers  | `volatile`: they move, and weigh something else                 |
| 0.2 % become extinct, 0.35 % are new          | `extinct`, `born`; the new have no tuples in Reactions          |

Permanent values never change. Somebody who has one may be in the table before, without it; from the first time it is
drawn he has it whenever he is in the table, whatever was drawn for removal. A changed value is another one that comes
and goes, drawn by the frequencies in Reactions; so nobody gets a permanent value but who has it in Reactions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.samples.census import whole_numbers
from reissue_studies.bu.people import PERMANENT, draw_people, draw_provinces, draw_weights, repeated
from reissue_studies.setting import one_share, refuse

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ATTEMPTS = 100
"""So often another value is drawn for a tuple that changes; after that it stays as it is."""


@dataclass(frozen=True)
class Rates:
    """How much changes from one round to the next, as shares."""

    volatile: float = 0.02
    """Of the registered people: their quasi-identifiers change (vol)."""
    start: float = 0.1
    """Of Reactions: in the first table."""
    changed: float = 0.1
    """Of the last table: their value changes."""
    removed: float = 0.1
    """Of the last table: they are removed."""
    inserted: float = 0.1
    """Of Reactions: they are inserted."""
    extinct: float = 0.002
    """Of the registered people: they die."""
    born: float = 0.0035
    """Of the registered people: so many more are registered."""

    def __post_init__(self) -> None:
        wrong = [problem for name, share in vars(self).items() for problem in one_share("Rates", name, share)]
        if self.changed + self.removed > 1:
            wrong.append("The 'changed' and the 'removed' parameter of Rates must be at most 1 together.")
        refuse("Rates", wrong)


@dataclass(frozen=True, repr=False)
class State:
    """What is to be published in one round, and what is known to everybody."""

    number: int
    tuples: pl.DataFrame
    """`record`, `person`, `diagnosis`. A tuple that changed, or left and came back, is another record."""
    registry: pl.DataFrame
    """Everybody registered: `person` and the quasi-identifiers."""
    extinct: list[int]
    """Who died since the round before."""

    @property
    def table(self) -> pl.DataFrame:
        """The table as HD-composition takes it: `person`, `diagnosis`, several rows for some people."""
        return self.tuples.drop("record")

    @property
    def records(self) -> pl.DataFrame:
        """The table as methods take it that know neither a registry nor several values: each tuple is somebody."""
        return self.tuples.join(self.registry, on="person", how="left", maintain_order="left").drop("person")

    def __repr__(self) -> str:
        return f"State({self.number}: {self.tuples.height:,} tuples, {self.registry.height:,} people registered)"


def stream(
    people: pl.DataFrame,
    diagnoses: pl.DataFrame,
    *,
    rounds: int = 20,
    rates: Rates | None = None,
    permanent: Collection[str] = tuple(PERMANENT),
    seed: int | None = None,
) -> Iterator[State]:
    """Tables and registries, one pair after the other; the first registry is `people`."""
    whole_numbers("stream", seed, rounds=(rounds, 1))
    table = _Table(diagnoses, permanent, np.random.default_rng(seed))
    return _rounds(people, table, rounds, rates or Rates())


def _rounds(registry: pl.DataFrame, table: _Table, rounds: int, rates: Rates) -> Iterator[State]:
    extinct = np.empty(0, dtype=np.int64)
    following = int(registry["person"].to_numpy().max(initial=0)) + 1
    for number in range(1, rounds + 1):
        if number == 1:
            table.insert(rates.start)
        else:
            registry, extinct = _next_registry(registry, rates, following, table.rng)
            following = max(following, int(registry["person"].to_numpy().max(initial=0)) + 1)
            table.bury(extinct)
            table.change_and_remove(rates.changed, rates.removed)
            table.insert(rates.inserted)
        table.keep_permanent()
        yield State(number, table.frame(), registry, np.sort(extinct).tolist())


def _next_registry(
    registry: pl.DataFrame, rates: Rates, following: int, rng: np.random.Generator
) -> tuple[pl.DataFrame, Ints]:
    size = registry.height
    moving = rng.permutation(size)[: round(rates.volatile * size)]
    dying = np.zeros(size, dtype=np.bool_)
    dying[rng.permutation(size)[: round(rates.extinct * size)]] = True
    height = registry["height"].to_numpy()[moving]
    moved = registry.with_columns(
        registry["province"].scatter(moving, draw_provinces(rng, moving.size)),
        registry["weight"].scatter(moving, draw_weights(rng, height)),
    )
    new = draw_people(round(rates.born * size), rng, first=following)
    left = pl.concat([moved.filter(pl.Series(~dying)), new], rechunk=True)
    return left, registry["person"].to_numpy()[dying]


class _Table:
    """The tuples of the moment, as arrays: person, value and number of the record."""

    def __init__(self, diagnoses: pl.DataFrame, permanent: Collection[str], rng: np.random.Generator) -> None:
        self.rng = rng
        self._labels = diagnoses["diagnosis"].unique().sort()
        self._lasting: Flags = self._labels.is_in(list(permanent)).to_numpy()
        codes = diagnoses["diagnosis"].replace_strict(
            self._labels, pl.Series(np.arange(self._labels.len())), return_dtype=pl.Int64
        )
        self._pool_person, self._pool_value = diagnoses["person"].to_numpy().astype(np.int64), codes.to_numpy()
        self._transient = self._pool_value[~self._lasting[self._pool_value]]
        self._alive = np.ones(self._pool_person.size, dtype=np.bool_)
        self._acquired = np.zeros(self._pool_person.size, dtype=np.bool_)
        """Which tuples of Reactions are permanent and have been in the table."""
        self._person = self._value = self._record = np.empty(0, dtype=np.int64)
        self._next = 1

    def _keys(self, person: Ints, value: Ints) -> Ints:
        return person * self._labels.len() + value

    def _only(self, kept: Flags) -> None:
        self._person, self._value, self._record = self._person[kept], self._value[kept], self._record[kept]

    def _fresh(self, count: int) -> Ints:
        self._next += count
        return np.arange(self._next - count, self._next)

    def bury(self, extinct: Ints) -> None:
        """The dead are in no table any more."""
        self._alive &= ~np.isin(self._pool_person, extinct)
        self._only(~np.isin(self._person, extinct))

    def change_and_remove(self, changed: float, removed: float) -> None:
        """Some tuples get another value, some others go."""
        size = self._person.size
        order = self.rng.permutation(size)
        changing, going = order[: (changes := round(changed * size))], order[changes:][: round(removed * size)]
        changing = changing[~self._lasting[self._value[changing]]]
        changing, value = self._others(changing)
        self._value[changing], self._record[changing] = value, self._fresh(changing.size)
        staying = np.ones(size, dtype=np.bool_)
        staying[going] = False
        self._only(staying)

    def _others(self, rows: Ints) -> tuple[Ints, Ints]:
        """Rows with other values for them; rows for which none is found, in tiny tables, are left out."""
        before = self._keys(self._person, self._value)
        value, taken = self._value[rows], np.ones(rows.size, dtype=np.bool_)
        for _ in range(ATTEMPTS):
            value[taken] = self.rng.choice(self._transient, size=int(taken.sum()))
            keys = self._keys(self._person[rows], value)
            # Nobody has a value twice; the old ones count, so that a changed value is another one.
            taken = np.isin(keys, before) | repeated(keys)
            if not taken.any():
                break
        return rows[~taken], value[~taken]

    def insert(self, share: float) -> None:
        """Tuples of Reactions come in, but for those of the dead and those that are there."""
        drawn = self.rng.permutation(self._pool_person.size)[: round(share * self._pool_person.size)]
        self._add(np.sort(drawn[self._alive[drawn]]))

    def keep_permanent(self) -> None:
        """Who has had a permanent value has it, if he is there at all."""
        lasting = np.flatnonzero(self._lasting[self._pool_value])
        pool = self._keys(self._pool_person[lasting], self._pool_value[lasting])
        self._acquired[lasting] |= np.isin(pool, self._keys(self._person, self._value))
        due = lasting[self._acquired[lasting] & np.isin(self._pool_person[lasting], self._person)]
        self._add(due)

    def _add(self, rows: Ints) -> None:
        keys = self._keys(self._pool_person[rows], self._pool_value[rows])
        rows = rows[~np.isin(keys, self._keys(self._person, self._value))]
        self._person = np.concatenate([self._person, self._pool_person[rows]])
        self._value = np.concatenate([self._value, self._pool_value[rows]])
        self._record = np.concatenate([self._record, self._fresh(rows.size)])

    def frame(self) -> pl.DataFrame:
        """The tuples, by person and value."""
        order = np.argsort(self._keys(self._person, self._value))
        return pl.DataFrame(
            {
                "record": self._record[order],
                "person": self._person[order],
                "diagnosis": self._labels.gather(self._value[order]),
            }
        )
