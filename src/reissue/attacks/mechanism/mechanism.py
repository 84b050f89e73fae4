"""Mechanism: what somebody learns who knows the program that made a release.

Who attacks: someone who knows the method with its parameters, the quasi-identifiers of everybody in the table (a
registry) and which values there are. What he does: he makes up every table that these people may have been in, runs
the method on each, keeps the tables that come out as what was published, and weighs them (Bayes). What he learns is
the probability of each value for each person; nothing more can be learnt from the release. The minimality attack of
Wong et al. 2007 is the special case of a method of which no more is known than that it does not generalise needlessly.

The figures are exact where the method drew no random numbers. Otherwise the likelihood of each table is estimated over
some seeds, the same for all tables, and the figures are estimates with a standard error.

What is compared is what is public: regions (or the quasi-identifiers of each group's rows) and the counts of values;
with `worst` also who is in which group. Rows are taken in the order of the registry and person numbers as the view has
them: what a method makes of either without its generator is taken to be known.

What it does not cover: more than one release; tables of more than a few people, because it tries all there may be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Attack
from reissue.attacks.mechanism.mechanism_domain import Domain, weights_of
from reissue.attacks.mechanism.mechanism_findings import MechanismFindings, Tried
from reissue.attacks.mechanism.mechanism_runs import GroupsPeople, Runs, Shown
from reissue.attacks.mechanism.mechanism_tables import Possible, Tables, Weighed
from reissue.errors import ParameterError, count_of, listed
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.model.schema import Schema
from reissue.model.snapshot import Snapshot
from reissue.tables.frames import read_table


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Attack):
    """Run the method itself on every table that a release may have come from, and weigh those it did come from."""

    name: ClassVar[str] = "Mechanism"
    words: ClassVar[str] = "The method itself, run on every table that there may have been; for tiny tables."
    judges: ClassVar[tuple[str, ...]] = ("probability", "credibility", "history_diversity", "equivalence")
    proves: ClassVar[tuple[str, ...]] = ("probability", "credibility", "history_diversity")

    method: GroupsPeople
    """The method with its parameters; nothing is known of it but that it groups the people of a snapshot."""
    registry: object
    """Everybody who is in the table, published or not: a data frame with the person column, people called as in the
    view (by number where it has no names), and the quasi-identifiers. Other columns are not looked at."""
    schema: Schema
    """What the columns are."""
    _: KW_ONLY
    form: Literal["generalised", "anatomised"] = "generalised"
    """How the release was published."""
    values: Sequence[object] = ()
    """Values that somebody may have beside those published."""
    prior: Mapping[Hashable, object] | Literal["uniform"] = "uniform"
    """How likely each value is for anybody before the release is seen, in whatever unit; `uniform`: all alike."""
    worst: bool = False
    """Whether the attacker can tell the members of groups apart, so that who is in which group is compared too."""
    truthful: bool = False
    """Whether it is known that the method publishes everybody with his own value, whatever the table (it may make up
    rows beside them). Then only tables are tried that the published values have room for. A run that holds somebody
    back or changes a value is an error."""
    seeds: int = 64
    """So many runs for each table on which the method draws random numbers."""
    tables: int = 200_000
    """Not more tables than this are tried."""
    seconds: float | None = None
    """The time for all runs; None: until they are done. Where it is over after the first seed, the others are left."""
    quasi: object = None
    """The published table of quasi-identifiers of an anatomised release, needed where there are made-up rows: the view
    does not tell what was published of them."""
    admit: Callable[[Snapshot], object] | None = None
    """Called with each table before the method is; what raises an error of Reissue is never published."""

    def __post_init__(self) -> None:
        problems = []

        def wrong(name: str, wanted: str) -> None:
            problems.append(f"The '{name}' parameter of Mechanism must be {wanted}.")

        if isinstance(self.method, type) or not callable(getattr(self.method, "group", None)):
            wrong("method", "a method, such as ri.Mondrian(k=2)")
        if not isinstance(self.schema, Schema):
            wrong("schema", "a Schema")
        if self.form not in ("generalised", "anatomised"):
            wrong("form", "'generalised' or 'anatomised'")
        for flag in ("worst", "truthful"):
            if not isinstance(getattr(self, flag), bool):
                wrong(flag, "True or False")
        for name in ("seeds", "tables"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                wrong(name, "a whole number of at least 1")
        number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if self.seconds is not None and not (number and self.seconds > 0):
            wrong("seconds", "a number above 0, or None")
        listed_values = isinstance(self.values, Iterable) and not isinstance(self.values, str)
        if not listed_values or not all(isinstance(value, Hashable) for value in self.values):
            wrong("values", "a list of values")
        if self.prior != "uniform" and weights_of(self.prior) is None:
            wrong("prior", "'uniform', or a mapping from values to weights of at least 0 that are not all 0")
        if problems:
            raise ParameterError("The parameters of Mechanism do not fit.", problems=problems)
        frame, _ = read_table(self.registry)
        _check_registry(frame, self.schema)
        object.__setattr__(self, "registry", frame)
        object.__setattr__(self, "values", tuple(self.values))
        if self.quasi is not None:
            object.__setattr__(self, "quasi", read_table(self.quasi)[0])

    def __repr__(self) -> str:
        return f"Mechanism({type(self.method).__name__}, {count_of(self._registry.height, 'person', 'people')})"

    @property
    def _registry(self) -> pl.DataFrame:
        if not isinstance(self.registry, pl.DataFrame):
            raise ParameterError("The registry is not a table.")
        return self.registry

    def run(self, published: Published, knowledge: Knowledge | None = None) -> MechanismFindings:
        """Attack the only release of a view."""
        if len(published.releases) != 1:
            raise ParameterError(
                f"Mechanism inverts one release at a time. The view has {len(published.releases):,}.",
                hint="give it a view of the first release of a series alone.",
            )
        release = published.releases[0]
        people = self._people(published)
        _check_members(release, people)
        domain = Domain.of(published, release, self.schema, self.values, self.prior)
        runs = Runs(
            self.method,
            self._registry,
            people,
            self.schema,
            tuple(domain.weights),
            form=self.form,
            worst=self.worst,
            admit=self.admit,
        )
        quasi = self.quasi if isinstance(self.quasi, pl.DataFrame) else None
        observed = runs.observed(release, domain.number_of, quasi)
        fixed = _fixed(published, knowledge or Knowledge(), people, domain)
        possible = Possible(fixed, domain.possible, self._room(release, domain, people.size))
        weighed, tried = self._weighed(runs, observed, self._tables(possible), domain, fixed)
        return MechanismFindings(
            published, type(self.method).__name__, domain, self._names(published), people, fixed, weighed, tried
        )

    # Who there is, and which values

    def _people(self, published: Published) -> Ints:
        """The number of each row's person; people who are not in the view by name get numbers beyond it."""
        ids = self._registry[self.schema.person]
        if published.people is None:
            if not ids.dtype.is_integer():
                raise ParameterError(
                    "The view calls people by number, and the registry does not.",
                    hint="put person numbers into the person column of the registry.",
                )
            return ids.cast(pl.Int64).to_numpy()
        place = dict(published.numbers)
        names = ids.cast(pl.String).to_list()
        for name in names:
            place.setdefault(name, len(place))
        return np.array([place[name] for name in names], dtype=np.int64)

    def _names(self, published: Published) -> tuple[str | int, ...]:
        """What people are called."""
        ids = self._registry[self.schema.person]
        return tuple(ids.to_list() if published.people is None else ids.cast(pl.String).to_list())

    def _room(self, release: PublishedGroups, domain: Domain, people: int) -> list[int] | None:
        """How often each value may occur, where everybody is published with his own."""
        if not self.truthful:
            return None
        rows = int(release.counts.sum())
        if rows < people:
            raise ParameterError(
                f"The release has {count_of(rows, 'row')} for {count_of(people, 'person', 'people')}: not everybody is "
                "published.",
                hint="leave 'truthful' out.",
            )
        room = [0] * len(domain.weights)
        for position, count in zip(release.values.tolist(), release.counts.tolist(), strict=True):
            room[domain.number_of[position]] += count
        return room

    # The tables

    def _tables(self, possible: Possible) -> Tables:
        count = possible.count()
        if count > self.tables:
            truthful = "" if self.truthful else ", say 'truthful' if the method is,"
            raise ParameterError(
                f"There are {count:,} tables of {count_of(len(possible.fixed), 'person', 'people')} and "
                f"{count_of(len(possible.values), 'value')} to try. The 'tables' parameter of Mechanism allows "
                f"{self.tables:,}.",
                hint=f"attack a smaller table{truthful} or allow more; each takes a run of the method or many.",
            )
        return possible.tables()

    def _weighed(
        self, runs: Runs, observed: Shown, tables: Tables, domain: Domain, fixed: list[int | None]
    ) -> tuple[Weighed, Tried]:
        """Run the method on every table, with one seed after the other where it draws."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        first = self._pass(runs, observed, tables, 0, deadline)
        if first is None:
            raise ParameterError(
                f"The time ran out before each of {count_of(len(tables), 'table')} had been tried once.",
                hint="give Mechanism more 'seconds', or a smaller table.",
            )
        # What draws nothing does the same with every seed.
        drawing = np.flatnonzero(first.drew)
        led = [np.flatnonzero(first.led)]
        settled = np.flatnonzero(first.led & ~first.drew)
        for seed in range(1, self.seeds if drawing.size else 1):
            further = self._pass(runs, observed, tables[drawing], seed, deadline)
            if further is None:
                break
            led.append(np.concatenate([settled, drawing[further.led]]))
        exact = not drawing.size
        found = np.unique(np.concatenate(led))
        hits = np.zeros((found.size, len(led)), dtype=np.bool_)
        for seed, which in enumerate(led):
            hits[np.searchsorted(found, which), seed] = True
        unknown = np.array([value is None for value in fixed])
        weighed = Weighed(tables[found], None if exact else hits, tuple(domain.weights.values()), unknown)
        seeds = None if exact else len(led)
        if not weighed.possible:
            raise _no_table(len(tables), first.refused, seeds)
        return weighed, Tried(len(tables), first.refused, seeds, seeds is not None and seeds < self.seeds)

    def _pass(self, runs: Runs, observed: Shown, tables: Tables, seed: int, deadline: float | None) -> _Pass | None:
        """One run on each table; None where the time is over before the last."""
        led, drew = np.zeros(len(tables), dtype=np.bool_), np.zeros(len(tables), dtype=np.bool_)
        refused = 0
        for at, table in enumerate(tables):
            if deadline is not None and time.monotonic() > deadline:
                return None
            outcome = runs.run(table, seed)
            if self.truthful and not outcome.truthful:
                raise ParameterError(
                    "A run withheld somebody or published a changed value, and the method is said to do neither.",
                    hint="leave 'truthful' out.",
                )
            led[at], drew[at] = outcome.shown == observed, outcome.drew
            refused += outcome.shown is None
        return _Pass(led, drew, refused)


class _Pass(NamedTuple):
    """What came of one run on each of some tables."""

    led: Bools
    """Which of them led to the release."""
    drew: Bools
    """On which the method drew random numbers."""
    refused: int


def _check_registry(frame: pl.DataFrame, schema: Schema) -> None:
    needed = [schema.person, *schema.quasi, *schema.as_is]
    lacking = [name for name in needed if name not in frame.columns]
    problems = [f"it lacks {listed(lacking)}"] if lacking else []
    problems += [] if frame.height else ["it has no rows"]
    if schema.person in frame.columns:
        ids = frame[schema.person]
        if ids.null_count() or ids.n_unique() < ids.len():
            problems.append(f"'{schema.person}' must hold every person once")
    if problems:
        raise ParameterError("The registry does not fit Mechanism.", problems=problems)


def _check_members(release: PublishedGroups, people: Ints) -> None:
    members = release.members[release.members >= 0]
    strangers = int(np.count_nonzero(~np.isin(members, people)))
    if strangers:
        raise ParameterError(
            f"{count_of(strangers, 'member')} of the release are not in the registry.",
            hint="the registry must hold everybody who is in the table, called as in the view.",
        )


def _fixed(published: Published, knowledge: Knowledge, people: Ints, domain: Domain) -> list[int | None]:
    """For each person the number of the value that the attacker knows already."""
    known: dict[int, int] = {}
    if knowledge.compromised:
        who, positions = knowledge.known_values(published)
        values = (domain.number(published.values[position]) for position in positions.tolist())
        known = dict(zip(who.tolist(), values, strict=True))
    return [known.get(person) for person in people.tolist()]


def _no_table(tables: int, refused: int, seeds: int | None) -> ParameterError:
    problems = [f"{count_of(refused, 'table')} of {tables:,} were refused"] if refused else []
    if seeds is not None:
        problems.append(f"the method draws random numbers, and {count_of(seeds, 'seed')} may be too few")
    return ParameterError(
        f"None of the {count_of(tables, 'table')} that there may be leads to this release.",
        problems=problems,
        hint="check the method with its parameters, the schema, the form and the registry; add 'values' that nobody "
        "was published with, or give more 'seeds'.",
    )
