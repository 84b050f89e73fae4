"""Mechanism: what somebody learns who knows the program that made a series.

Who attacks: someone who knows the method with its parameters, who is in the table of each release with which
quasi-identifiers (a registry), and which values there are. What he does: he makes up every table that these people may
have been in, or every history of tables, runs the method on each, handing on what it remembers, keeps those that come
out as what was published, and weighs them (Bayes). What he learns is the probability of each value for each person;
nothing more can be learnt from the releases. The minimality attack of Wong et al. 2007 is the special case of one
release and a method of which no more is known than that it does not generalise needlessly.

The figures are exact where the method drew no random numbers. Otherwise the likelihood of each table is estimated over
some seeds, the same for all tables, and the figures are estimates with a standard error.

What is compared is what is public: regions (or the quasi-identifiers of each group's rows) and the counts of values;
with `worst` also who is in which group; with `public` the rows of the public tables, whatever they hold. Rows are taken
in the order of the registry and person numbers as the view has them: what a method makes of either without its
generator is taken to be known.

What it does not cover: tables of more than a few people over more than a few releases, because it tries all there may
be.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.budget import budgeted, ends_after, passed
from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Attack
from reissue.attacks.mechanism.mechanism_change import Change, Lives, fits, named
from reissue.attacks.mechanism.mechanism_domain import Domain, weights_of
from reissue.attacks.mechanism.mechanism_findings import MechanismFindings, Tried, told
from reissue.attacks.mechanism.mechanism_runs import GroupsPeople, Runs
from reissue.attacks.mechanism.mechanism_tables import Histories, Possible, Slots, Tables, Weighed
from reissue.errors import ParameterError, count_of, listed
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.model.schema import Schema
from reissue.model.snapshot import Snapshot
from reissue.model.telling import tell
from reissue.tables.frames import read_table

A_RUN = 2_000
"""How many steps a run of the method on a tiny table takes."""


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Attack):
    """Run the method itself on every table, or history, that releases may have come from, and weigh those they did."""

    name: ClassVar[str] = "Mechanism"
    words: ClassVar[str] = "The method itself, run on every table that there may have been; for tiny tables."
    judges: ClassVar[tuple[str, ...]] = ("probability", "credibility", "history_diversity", "equivalence")
    proves: ClassVar[tuple[str, ...]] = ("probability", "credibility", "history_diversity")

    method: GroupsPeople
    """The method with its parameters; nothing is known of it but that it groups the people of a snapshot."""
    registry: object
    """Everybody who is in the table, published or not: a data frame with the person column, people called as in the
    view (by number where it has no names), and the quasi-identifiers. Other columns are not looked at. For several
    releases a list of such frames, one for each table; a single one means that everybody is in all of them."""
    schema: Schema
    """What the columns are."""
    _: KW_ONLY
    form: Literal["generalised", "anatomised", "alternatives"] = "generalised"
    """How the release was published."""
    values: Sequence[object] = ()
    """Values that somebody may have beside those published."""
    prior: Mapping[Hashable, object] | Literal["uniform"] = "uniform"
    """How likely each value is for anybody before any release is seen, in whatever unit; `uniform`: all alike. Where
    values change, it is about the first release that somebody is in."""
    change: Change | None = None
    """How values change from one release to the next; None: they do not. A number: with this probability a value is
    drawn anew, by `prior` (1: all histories are alike as far as values are). A mapping to numbers: the same, with a
    probability for each value. A mapping to mappings: for each value how likely it becomes which, in whatever unit."""
    worst: bool = False
    """Whether the attacker can tell the members of groups apart, so that who is in which group is compared too."""
    truthful: bool = False
    """Whether it is known that the method publishes everybody with his own value, whatever the table (it may make up
    rows beside them). Then only tables are tried that the published values have room for. A run that holds somebody
    back or changes a value is an error."""
    seeds: int = 64
    """So many runs for each table on which the method draws random numbers."""
    tables: int = 200_000
    """Not more tables, or histories of several tables, than this are tried."""
    seconds: float | None = None
    """The time for all runs; None: until they are done. Where it is over after the first seed, the others are left."""
    quasi: object = None
    """The published table of quasi-identifiers of an anatomised release, needed where there are made-up rows: the view
    does not tell what was published of them. For several releases a list of them."""
    public: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None
    """The public tables of the release by name, as `release.tables` has them; for several releases a list of them.
    Then these are compared, row by row, and not the groups of the view."""
    admit: Callable[[Snapshot], object] | Sequence[Callable[[Snapshot], object] | None] | None = None
    """Called with each table before the method is; what raises an error of Reissue is never published. A list: one, or
    None, for each release."""

    def __post_init__(self) -> None:
        problems = []

        def wrong(name: str, wanted: str) -> None:
            problems.append(f"The '{name}' parameter of Mechanism must be {wanted}.")

        if isinstance(self.method, type) or not callable(getattr(self.method, "group", None)):
            wrong("method", "a method, such as ri.Mondrian(k=2)")
        if not isinstance(self.schema, Schema):
            wrong("schema", "a Schema")
        if self.form not in ("generalised", "anatomised", "alternatives"):
            wrong("form", "'generalised', 'anatomised' or 'alternatives'")
        elif self.form == "alternatives" and self.public is None:
            wrong("public", "the public tables of every release, where these are of sets")
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
        if self.change is not None and not fits(self.change):
            wrong("change", "a number from 0 to 1, a mapping from values to such, or to mappings to weights, or None")
        if self.worst and self.public is not None:
            problems.append("Mechanism compares 'public' tables, or with 'worst' who is in which group, but not both.")
        if problems:
            raise ParameterError("The parameters of Mechanism do not fit.", problems=problems)
        object.__setattr__(self, "registry", tuple(read_table(one)[0] for one in _several(self.registry)))
        for frame in self._registries:
            _check_registry(frame, self.schema)
        object.__setattr__(self, "values", tuple(self.values))
        if self.quasi is not None:
            tables = (None if one is None else read_table(one)[0] for one in _several(self.quasi))
            object.__setattr__(self, "quasi", tuple(tables))
        if self.public is not None:
            read = ({name: read_table(table)[0] for name, table in one.items()} for one in _several(self.public))
            object.__setattr__(self, "public", tuple(read))

    def __repr__(self) -> str:
        people = pl.concat([frame[self.schema.person].cast(pl.String) for frame in self._registries]).n_unique()
        return f"Mechanism({type(self.method).__name__}, {count_of(people, 'person', 'people')})"

    @property
    def _registries(self) -> tuple[pl.DataFrame, ...]:
        if not isinstance(self.registry, tuple):
            raise ParameterError("The registry is not a table.")
        return self.registry

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> MechanismFindings:
        """Attack all releases of a view together."""
        count = len(published.releases)
        if not count:
            raise ParameterError("The view has no releases.")
        registries = self._of_each("registry", count, alone=True)
        everybody = self._everybody(published)
        there = [
            np.array([everybody[name] for name in self._called(published, frame)], dtype=np.int64)
            for frame in registries
        ]
        people = self._numbers(published, list(everybody))
        for release, rows in zip(published.releases, there, strict=True):
            _check_members(release, people[rows])
        slots = Slots.of(there, changing=self.change is not None and count > 1)
        further = [*self.values, *named(self.change), *self._shown_values()]
        domain = Domain.of(published, self.schema, further, self.prior)
        runs = Runs(
            self.method,
            registries,
            [people[rows] for rows in there],
            self.schema,
            tuple(domain.weights),
            form=self.form,
            worst=self.worst,
            admit=self._of_each("admit", count, alone=True),
            tables=self._of_each("public", count),
        )
        runs.observe(published.releases, domain.number_of, self._of_each("quasi", count))
        fixed = _fixed(published, knowledge or Knowledge(), people, domain)
        lives = Lives.of(domain, slots, self.change)
        rooms = self._rooms(published.releases, domain, there)
        weighed, tried = self._weighed(runs, self._tables(lives, fixed, domain, rooms), lives, fixed)
        return MechanismFindings(
            published,
            type(self.method).__name__,
            domain,
            tuple(everybody),
            people,
            slots,
            fixed,
            weighed,
            tried,
        )

    def _of_each(self, name: str, count: int, *, alone: bool = False) -> list[Any]:
        """A parameter for each release; where it may stand alone it is the same for all."""
        given = _several(getattr(self, name))
        if len(given) == 1 and (alone or given[0] is None):
            return given * count
        if len(given) != count:
            raise ParameterError(
                f"The view has {count_of(count, 'release')}, and the '{name}' parameter of Mechanism is for "
                f"{len(given):,}.",
                hint="give a list with one for each release.",
            )
        return given

    # Who there is, and which values

    def _called(self, published: Published, frame: pl.DataFrame) -> list[str | int]:
        """What the people of a registry are called."""
        ids = frame[self.schema.person]
        if published.people is not None:
            return ids.cast(pl.String).to_list()
        if not ids.dtype.is_integer():
            raise ParameterError(
                "The view calls people by number, and the registry does not.",
                hint="put person numbers into the person column of the registry.",
            )
        return ids.cast(pl.Int64).to_list()

    def _everybody(self, published: Published) -> dict[str | int, int]:
        """Everybody who is in any table with their place, those of the first table first."""
        names = (name for frame in self._registries for name in self._called(published, frame))
        return {name: place for place, name in enumerate(dict.fromkeys(names))}

    def _numbers(self, published: Published, names: Sequence[str | int]) -> Ints:
        """The number of each person; people who are not in the view by name get numbers beyond it."""
        if published.people is None:
            return np.array(names, dtype=np.int64)
        number: dict[str | int, int] = dict(published.numbers.items())
        for name in names:
            number.setdefault(name, len(number))
        return np.array([number[name] for name in names], dtype=np.int64)

    def _shown_values(self) -> list[object]:
        """The values of the public tables; a cell may hold several."""
        found: dict[object, None] = {}
        for tables in _several(self.public):
            for frame in (tables or {}).values():
                if self.schema.sensitive in frame.columns:
                    column = frame[self.schema.sensitive]
                    cells = column.explode() if isinstance(column.dtype, pl.List) else column
                    found |= dict.fromkeys(cells.unique(maintain_order=True).to_list())
        return list(found)

    def _rooms(
        self, releases: Sequence[PublishedGroups], domain: Domain, there: Sequence[Ints]
    ) -> list[list[int]] | None:
        """For each release how often each value may occur, where everybody is published with his own."""
        if not self.truthful:
            return None
        return [self._room(release, domain, who.size) for release, who in zip(releases, there, strict=True)]

    def _room(self, release: PublishedGroups, domain: Domain, people: int) -> list[int]:
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

    def _tables(
        self, lives: Lives, fixed: Sequence[int | None], domain: Domain, rooms: list[list[int]] | None
    ) -> Tables:
        """Every table, or history, that there may be."""
        slots = lives.slots
        releases = len(slots.of_release)
        if releases == 1:
            possible = Possible(fixed, domain.possible, None if rooms is None else rooms[0])
            count, at_most = possible.count(), ""
            tables = possible.tables() if count <= self.tables else None
        else:
            histories = Histories(
                slots,
                [fixed[person] for person in slots.person],
                np.array(lives.start) > 0,
                {slot: np.array(found[1].weights) > 0 for slot in slots.before if (found := lives.step(slot))},
                rooms,
            )
            count, at_most = histories.count(), "" if rooms is None else "up to "
            tables = histories.tables(self.tables) if rooms is not None or count <= self.tables else None
        if tables is not None:
            return tables
        truthful = "" if self.truthful else ", say 'truthful' if the method is,"
        what = "tables" if releases == 1 else f"histories of {releases} tables"
        raise ParameterError(
            f"There are {at_most}{count:,} {what} of {count_of(len(fixed), 'person', 'people')} and "
            f"{count_of(len(domain.possible), 'value')} to try. The 'tables' parameter of Mechanism allows "
            f"{self.tables:,}.",
            hint=f"attack a smaller table{truthful} or allow more; each takes a run of the method or many.",
        )

    def _weighed(self, runs: Runs, tables: Tables, lives: Lives, fixed: Sequence[int | None]) -> tuple[Weighed, Tried]:
        """Run the method on every table, with one seed after the other where it draws."""
        releases = len(lives.slots.of_release)
        deadline = ends_after(self.seconds)
        first = self._pass(runs, tables, lives.slots, 0, deadline)
        if first is None:
            raise ParameterError(
                f"The time ran out before each of {told(len(tables), releases)} had been tried once.",
                hint="give Mechanism more 'seconds', or a smaller table.",
            )
        # What draws nothing does the same with every seed.
        drawing = np.flatnonzero(first.drew)
        led = [np.flatnonzero(first.led)]
        settled = np.flatnonzero(first.led & ~first.drew)
        for seed in range(1, self.seeds if drawing.size else 1):
            further = self._pass(runs, tables[drawing], lives.slots, seed, deadline)
            if further is None:
                break
            led.append(np.concatenate([settled, drawing[further.led]]))
        exact = not drawing.size
        found = np.unique(np.concatenate(led))
        hits = np.zeros((found.size, len(led)), dtype=np.bool_)
        for seed, which in enumerate(led):
            hits[np.searchsorted(found, which), seed] = True
        unknown = [person for person, value in enumerate(fixed) if value is None]
        weighed = Weighed(tables[found], None if exact else hits, *lives.weights(tables[found], unknown))
        seeds = None if exact else len(led)
        if not weighed.possible:
            raise _no_table(len(tables), releases, first.refused, seeds)
        return weighed, Tried(len(tables), first.refused, seeds, seeds is not None and seeds < self.seeds)

    def _pass(self, runs: Runs, tables: Tables, slots: Slots, seed: int, deadline: float | None) -> _Pass | None:
        """One run on each table; None where the time is over before the last."""
        led, drew = np.zeros(len(tables), dtype=np.bool_), np.zeros(len(tables), dtype=np.bool_)
        refused = 0
        for at, table in enumerate(tables):
            tell(at, len(tables))
            if passed(deadline, A_RUN):
                return None
            outcome = runs.run([tuple(table[one].tolist()) for one in slots.of_release], seed)
            if self.truthful and not outcome.truthful:
                raise ParameterError(
                    "A run withheld somebody or published a changed value, and the method is said to do neither.",
                    hint="leave 'truthful' out.",
                )
            led[at], drew[at] = outcome.led, outcome.drew
            refused += outcome.refused
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


def _several(given: Any) -> list[Any]:
    """What is given for each release, or once."""
    return list(given) if isinstance(given, list | tuple) else [given]


def _no_table(tables: int, releases: int, refused: int, seeds: int | None) -> ParameterError:
    problems = [f"{told(refused, releases)} of {tables:,} were refused"] if refused else []
    if seeds is not None:
        problems.append(f"the method draws random numbers, and {count_of(seeds, 'seed')} may be too few")
    return ParameterError(
        f"None of the {told(tables, releases)} that there may be leads to "
        f"{'this release' if releases == 1 else 'these releases'}.",
        problems=problems,
        hint="check the method with its parameters, the schema, the form and the registry; add 'values' that nobody "
        "was published with, or give more 'seeds'.",
    )
