"""Alternatives: the value is hidden among values, not the person among people.

Guarantee: everybody is published with m values, one of them true, and the same ones in every release as long as their
value stays. Whoever expects values by the reference shares, and knows everything about all others, every release and
the program, gives no value of anybody's set more than 1/m, at any one time.

What it does not protect against. Somebody who expects other shares for a person than the reference (a value that is
implausible at their age does not count; `given` takes shares by cell). Relatives who share a value: their sets
intersect. That somebody ever had a value: with every new set there is one more chance. How often somebody's value was
redrawn, which sets show, and that they are in the table, which quasi-identifiers show.

| symbol | here                                                                                  |
|--------|---------------------------------------------------------------------------------------|
| p      | the reference: from outside, or the first table's shares with noise (`reference.py`)   |
| P(S)   | `Design`: Sampford's, with several slots for frequent values                           |
| c      | `change`, a rate: the chance that a value is redrawn between two releases              |
| T      | `change`, a table: a Markov chain; sets are then lives that move together              |

Cost: a set is drawn in O(V) or O(m) for whoever gets one; everything else is one pass over rows. Nothing grows with the
number of releases.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.exact import probability_of
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import Infeasible, ParameterError, Refused, count_of, listed
from reissue.methods.alternatives import change_notes
from reissue.methods.alternatives import reference as references
from reissue.methods.alternatives.blind_regions import CELLS, regions
from reissue.methods.alternatives.book import BOOK, Book
from reissue.methods.alternatives.kept_sets import SETS, KeptSets
from reissue.methods.alternatives.record_limits import ColumnRoom, column_rooms, record_designs, room_problems
from reissue.methods.alternatives.record_notes import record_notes
from reissue.methods.alternatives.record_reference import RecordReference, every_column, given_records, noised_records
from reissue.methods.alternatives.reference import OTHERS, Reference
from reissue.methods.alternatives.transitions import read_moves
from reissue.methods.base import Method, Takes
from reissue.model.change import Change, Rates, Renewal, Static, Transitions, as_written, change_of
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.record_design import RecordDesign
from reissue.model.schema import Numeric, Schema
from reissue.model.sets import SetCodes, SetDesigns, Sets
from reissue.model.snapshot import Column, Delta, Snapshot, smallest_unsigned
from reissue.reasoning.alternatives.change_check import Comers, fit_of_rate, fit_of_table
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.drawing import draw
from reissue.reasoning.alternatives.keyed import MOST, Keyed, PersonalWords
from reissue.reasoning.alternatives.linking import check_chain, moved_lives, possible, powers, widened
from reissue.reasoning.alternatives.record_flight import draw_records
from reissue.reasoning.alternatives.renewing import Gaps, carried_on, chosen_version, gaps

CHANGED = "their value changed, and values are declared to be static"
MOVED = "their value moved as the table of change says nobody's does"
CELL = "\0cell"
DRIFT = 12
"""So many releases ahead it is looked where a table of change leads."""
FAR_OFF = 1.25
"""A value that comes to be so many times as frequent as its share is told."""
OWN_COLUMNS = ("design", "version", "share", "slots", "room", "combination", "probability", "places")
"""Columns of the public tables that describe how sets were drawn."""
PART = 1 << 18
"""So many sets at a time get the numbers of labels."""
SET, COIN, VERSION, CARRIED, CHOICE, MOVES, ORDER, LIFE = range(1, 9)
"""What the random words of a row are for. The key is a new one for every release."""


@dataclass(frozen=True)
class Alternatives(Method):
    """Everybody with m values, one of them true, the same in every release as long as the value stays."""

    m: int
    """How many values a set has: nobody is tied to a value with more than 1/m."""
    change: Any = None
    """How values change between releases: None, they do not; a rate, at which values are redrawn by the reference
    shares; rates by value; or a table of transitions, as a mapping or a CSV file. A rate above the true one is
    dangerous."""
    given: Sequence[str] = ()
    """Columns by whose cells the shares differ, such as sex: 1/m then holds for whoever knows those shares."""
    limit: Any = None
    """The largest probability that a frequent value may have, such as "1/2"; None: 1/m for every value, and a table
    with a value above that is refused."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """The same for single values; where several columns are sensitive, by column: `{"ward": {"surgery": "1/2"}}`."""
    harmless: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Values that may be known: they have no limit. Where several columns are sensitive, by column."""
    reference: Any = None
    """The shares that values have outside: a mapping, or a CSV file with values and shares; None: those of the first
    table, with noise. Where several columns are sensitive, a file with a column for each, in the order of the schema,
    and the shares of whole records."""
    epsilon: float = 0.1
    """How much that noise hides: one person changes the odds of what is published by at most e^epsilon."""
    merge: float = 10.0
    """Values with fewer people than so many scales of the noise, 2/epsilon, are published as one."""
    changed: Literal["refuse", "withhold"] = "refuse"
    """Where values are static and somebody's changed: refuse the table, or withhold them."""
    k: int | None = None
    """Publish quasi-identifiers as regions with at least k people each, cut without a look at values; None: exactly."""
    spent: float = 0.0
    """The epsilon with which `reference` and `change` were counted from people of this series, in sum; what files say
    of themselves is taken from them. 0: they are from outside."""

    name: ClassVar[str] = "Alternatives"
    words: ClassVar[str] = "everybody with m values, one of them true, the same ones as long as the value stays"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True, permanent=True)
    forms: ClassVar[tuple[str, ...]] = ("alternatives",)
    in_tables: ClassVar[tuple[str, ...]] = ("reference", "limits", "change")

    def __post_init__(self) -> None:
        validation = Validation(self)
        whole = validation.whole("m", least=2)
        validation.whole("k", least=2, optional=True)
        validation.real("epsilon", least=0.001, most=100)
        validation.real("merge", least=0)
        validation.one_of("changed", ("refuse", "withhold"))
        for name in ("given", "harmless"):
            one = getattr(self, name)
            if name == "harmless" and isinstance(one, Mapping):
                by_column = {column: (text,) if isinstance(text, str) else tuple(text) for column, text in one.items()}
                validation.replace(name, by_column)
            elif isinstance(one, str) or not all(isinstance(text, str) for text in one):
                validation.wrong(name, "a list of text")
            else:
                validation.replace(name, tuple(one))
        validation.real("spent", least=0)
        self._read_files(validation)
        if isinstance(self.reference, Mapping):
            validation.replace("reference", references.by_text(self.reference))
        if self.reference is not None and not references.are_shares(self.reference):
            validation.wrong(
                "reference",
                "at least two values, each with a number above 0, as a mapping or a CSV file",
                references.what_is_wrong(self.reference),
            )
        if not isinstance(self.limits, Mapping):
            validation.wrong("limits", "a mapping from values to probabilities")
        elif whole:
            own = [] if self.limit is None else [("limit", self.limit)]
            for name, limit in [*own, *(("limits", limit) for limit in _each(self.limits))]:
                exact = probability_of(limit)
                if exact is None or not Fraction(1, self.m) <= exact < 1:
                    validation.wrong(
                        name, f"a probability from 1/{self.m} to below 1, such as \"1/2\" ('harmless' has no limit)"
                    )
                    break
        if isinstance(self.change, int | float) and not isinstance(self.change, bool) and self.change == 0:
            validation.wrong("change", "a rate above 0; leave it out where values never change", "0")
        validation.finish()
        object.__setattr__(self, "change", as_written(change_of(self.change)))

    def _read_files(self, validation: Validation) -> None:
        """Put what is in files in their places, and at least what they were counted with in `spent`."""
        told = 0.0
        for name, read in (("reference", references.read_shares), ("change", read_moves)):
            if isinstance(path := getattr(self, name), str):
                content, epsilon = read(path)
                validation.replace(name, content)
                told += epsilon
        if told and self.spent == 0:
            validation.replace("spent", told)
        elif isinstance(self.spent, int | float) and told > self.spent:
            validation.wrong("spent", f"at least {told:g}, which the files of this policy were counted with")

    def __hash__(self) -> int:
        return hash((self.name, self.m, self.given, tuple(self.harmless)))

    @property
    def parameters(self) -> dict[str, object]:
        """m, and whatever else was said."""
        usual = {"epsilon": 0.1, "merge": 10.0, "changed": "refuse", "spent": 0.0}
        names = ("change", "given", "limit", "limits", "harmless", "reference", "epsilon", "merge", "changed", "k")
        rest = {name: getattr(self, name) for name in (*names, "spent")}
        return {
            "m": self.m,
            **{
                name: str(value) if isinstance(value, Fraction) else value
                for name, value in rest.items()
                if value not in (None, (), {}) and value != usual.get(name)
            },
        }

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """One among m, per time."""
        return self.promises_after(schema, {})

    def promises_after(self, schema: Schema, memory: Memory) -> tuple[Promise, ...]:
        """The same; what was counted from people of the series stays told, whatever the reference is now."""
        epsilon = sum(self._told(memory))
        noise = {"epsilon": epsilon} if epsilon else {}
        change = {} if self.change is None else {"change": self.change}
        if schema.several:
            columns = {room.name: str(max(room.largest, Fraction(1, self.m))) for room in self._rooms(schema)}
            named = {"harmless": self.harmless} if self.harmless else {}
            return (
                Promise("one-among", {"m": self.m, "columns": columns, **named, **change, **noise}),
                *self._regions(),
            )
        limit = {} if self._largest() == Fraction(1, self.m) else {"limit": str(self._largest())}
        harmless = {"harmless": tuple(self.harmless)} if self.harmless else {}
        permanent = {"permanent": schema.permanent} if schema.permanent else {}
        of_values = Promise("one-among", {"m": self.m, **limit, **harmless, **change, **permanent, **noise})
        return (of_values, *self._regions())

    def _regions(self) -> tuple[Promise, ...]:
        return () if self.k is None else (Promise("k-anonymity", {"k": self.k}),)

    def _rooms(self, schema: Schema) -> list[ColumnRoom]:
        """What each of several sensitive columns may take of a set."""
        harmless = self.harmless if isinstance(self.harmless, Mapping) else {}
        limits = {name: one for name, one in self.limits.items() if isinstance(one, Mapping)}
        return column_rooms(schema, self.m, self.limit, limits, harmless)

    def _largest(self) -> Fraction:
        """The largest probability that a value with a limit may have."""
        every = [Fraction(1, self.m), probability_of(self.limit) if self.limit is not None else None]
        every += [probability_of(limit) for name, limit in self.limits.items() if name not in self.harmless]
        return max(limit for limit in every if limit is not None)

    def problems(self, schema: Schema, form: str) -> list[str]:
        """What does not fit the schema."""
        found = []
        if schema.protect:
            found.append(f"{self.name} does nothing for protected sets: leave 'protect' out")
        kinds = schema.sensitive_columns.values()
        if any(isinstance(kind, Numeric) and kind.missing == "value" for kind in kinds):
            found.append(f"{self.name} cannot show a missing number among others: make the column categorical")
        found += self._several_problems(schema)
        unknown = [name for name in self.given if name not in {**schema.quasi, **schema.as_is}]
        if unknown:
            found.append(f"'given' names what is no quasi-identifier or column published as it is: {listed(unknown)}")
        if any(isinstance({**schema.quasi, **schema.as_is}.get(name), Numeric) for name in self.given):
            found.append("'given' names a numeric column: cells need labels")
        taken = [name for name in (*schema.quasi, *schema.as_is, *schema.sensitive_columns) if name in OWN_COLUMNS]
        if taken:
            found.append(f"columns to rename: {listed(taken)}; releases of sets have columns of these names")
        if self.k is not None and schema.as_is:
            found.append("with k no column can be published as it is: it would tell the people of a region apart")
        if self.k is not None and self.given:
            found.append("'given' needs exact columns, which a region does not have: leave k out")
        if isinstance(change_of(self.change), Rates | Transitions) and self.given:
            found.append("'given' and a table of change do not go together: lives move by one table for all cells")
        if schema.permanent and not isinstance(change_of(self.change), Renewal):
            found.append(
                "permanent values need a rate of change: without one no value is ever lost, and a table says it"
            )
        return found

    def _several_problems(self, schema: Schema) -> list[str]:
        """What does not fit with several sensitive columns, or with one."""
        if not schema.several:
            nested = isinstance(self.harmless, Mapping) or any(isinstance(one, Mapping) for one in self.limits.values())
            return ["'limits' and 'harmless' by column are for several sensitive columns"] if nested else []
        problems = room_problems(schema, self.m, self.limits, self.harmless)
        if self.given:
            problems.append("'given' is for one sensitive column: shares of records by cell are too sparse")
        if isinstance(change_of(self.change), Rates | Transitions):
            problems.append("a table of change is for one sensitive column: give one rate for whole records")
        return problems

    def warnings(self) -> tuple[str, ...]:
        """What the public record must say."""
        return self.warnings_after({})

    def warnings_after(self, memory: Memory) -> tuple[str, ...]:
        """The same in a series that remembers this."""
        told = ["The bound is per time: that somebody ever had a value is likelier with every new set."]
        first, past = self._told(memory)
        counted = ["the shares of the first table"] if first else []
        if past:
            counted.append("shares or a table of change from other tables")
        if counted:
            told.append(
                f"Of these people {' and '.join(counted)} were counted, with noise (epsilon = {first + past:g}): "
                "somebody who knows all other values is off by a factor of at most e^epsilon, so that a value with k "
                "of m slots has at most k e^epsilon/(k e^epsilon + m - k)."
            )
        return tuple(told)

    def _told(self, memory: Memory) -> tuple[float, float]:
        """The epsilon of shares that a table of the series gave, and that of files counted from its people, in sum;
        now or in an earlier version."""
        before = Book.read(memory)
        first = self.epsilon if self.reference is None else 0.0 if before is None else before.epsilon or 0.0
        return first, self._spent_after(before)

    def _spent_after(self, before: Book | None) -> float:
        """What files told of people, those of earlier versions too."""
        if before is None:
            return self.spent
        same = before.source[0] == self._sources()[0]
        return max(before.spent, self.spent) if same else before.spent + self.spent

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Keep sets, renew those that the rule of change renews, draw one for whoever has none."""
        before = Book.read(memory)
        cell, cells = _cells(snapshot, self.given, None if before is None else before.cells)
        book = self._book(before, snapshot, cell, cells, rng).with_step(self._rate() if delta.since else 0.0)
        drawing = _Drawing(self, snapshot, book, cell, _Words(Keyed(rng.bytes(32)), delta.since + 1))
        known = KeptSets.read(
            memory, book.designs.labels, book.designs.labels if before is None else before.designs.labels, self.m
        )
        sets, withheld = drawing.sets(known, delta.since)
        shown: Ints | slice = np.flatnonzero(~withheld) if withheld.any() else slice(None)
        people = snapshot.people[shown]
        if not people.size:
            raise Infeasible(
                "Nobody can be published: everybody's value changed, and values are declared to be static.",
                hint="declare how values change with 'change', and record that with `reissue amend`.",
            )
        group, count, cut = self._grouped(snapshot, shown, memory)
        held = {MOVED if book.designs.linked else CHANGED: np.flatnonzero(withheld)} if withheld.any() else {}
        notes = (*self._notes(book, sets), *drawing.change_notes(known, delta.since))
        grouping = Grouping(group, count, held_back=held, sets=sets, notes=notes)
        release = np.broadcast_to(np.uint32(delta.since + 1), people.shape)
        kept = known.after(KeptSets(people, sets.own[shown], sets.design[shown], release, sets.codes[shown]))
        return grouping, {BOOK: book.frame(), SETS: kept, **cut}

    def _grouped(
        self, snapshot: Snapshot, shown: Ints | slice, memory: Memory
    ) -> tuple[npt.NDArray[np.int32], int, dict[str, pl.DataFrame]]:
        """The regions of those who are published, how many there are, and the cuts between them; one row each
        where quasi-identifiers are exact."""
        group = np.full(len(snapshot), HELD_BACK, dtype=np.int32)
        if self.k is None:
            count = group[shown].size
            group[shown] = np.arange(count, dtype=np.int32)
            return group, count, {}
        columns = [replace(column, codes=column.codes[shown]) for column in snapshot.quasi]
        region, count, cut = regions(columns, self.k, memory)
        group[shown] = region.astype(np.int32)
        return group, count, {CELLS: cut}

    def _rate(self) -> float:
        change = change_of(self.change)
        return change.rate if isinstance(change, Renewal) else 0.0

    def _book(
        self, before: Book | None, snapshot: Snapshot, cell: Ints, cells: pl.DataFrame | None, rng: np.random.Generator
    ) -> Book:
        """The book with the version that the policy asks for."""
        shares: Reference | RecordReference
        if before is not None and (problems := self.amended({BOOK: before.frame()})):
            raise Refused(
                "The policy changed in a way that sets which are out do not allow.",
                problems=problems,
                hint="take that back with `reissue amend`, or start a new series.",
            )
        of_shares, of_limits = self._sources(snapshot.schema)
        if before is not None and before.source == (of_shares, of_limits):
            return replace(before, designs=self._moving(before.designs), spent=self._spent_after(before))
        if before is not None and before.source[0] == of_shares:
            shares = before.reference()  # the table is not asked again: that would tell more about it
        elif self.reference is not None and snapshot.schema.several:
            shares = given_records(self.reference, snapshot.values)
        elif self.reference is not None:
            shares = references.given(self.reference, snapshot.values)
            if cells is not None:
                raise ParameterError("'given' needs shares by cell, which 'reference' does not have: leave one out.")
        elif snapshot.schema.several:
            epsilon = Fraction(self.epsilon).limit_denominator(10**6)
            shares = noised_records(every_column(snapshot.values), epsilon, self.merge, rng)
        else:
            epsilon = Fraction(self.epsilon).limit_denominator(10**6)
            count = 1 if cells is None else cells.height
            shares = references.noised(snapshot.values, snapshot.values.codes, cell, count, epsilon, self.merge, rng)
        noised, noise = (None, None) if self.reference is not None else (of_shares, self.epsilon)
        source, spent = (of_shares, of_limits), self._spent_after(before)
        if isinstance(shares, RecordReference):
            designs, merged = record_designs(shares, self.m, self._rooms(snapshot.schema)), shares.merged
        else:
            designs, merged = self._designs(shares, cells), (shares.merged,)
        version = Book(designs, merged, source, noised, noise, spent, (), ())
        if before is None:
            return replace(version, designs=self._moving(version.designs))
        _check_names(before, version)
        book = before.with_version(version)
        return replace(book, designs=self._moving(book.designs))

    def amended(self, memory: Memory) -> tuple[str, ...]:
        """What an amendment cannot change: sets that are out were drawn by other rules, and would tell."""
        before = Book.read(memory)
        if before is None:
            return ()
        change, then = change_of(self.change), before.designs
        problems = []
        if then.m != self.m:
            problems.append(f"sets of this series have {then.m} values, and the policy asks for {self.m}: keep m")
        if isinstance(change, Static) and any(before.rates):
            problems.append("values were declared to change before, and cannot be declared static: give a low rate")
        table = isinstance(change, Rates | Transitions)
        if table != then.linked or (table and then.change != change.to_dict()):
            problems.append("a table of change is for a whole series: it cannot be taken up, given up or changed")
        if table and before.source != self._sources():
            problems.append("with a table of change neither reference nor limits can change")
        if tuple(() if then.cells is None else then.cells.columns) != tuple(self.given):
            problems.append("'given' cannot be taken up, given up or changed")
        if self.reference is None and before.noised is not None and before.source[0] != self._sources()[0]:
            problems.append(
                "shares of the table are drawn once: another 'epsilon', 'merge' or 'given', or to go back to them, "
                "would tell more about it than was said; give a 'reference' instead"
            )
        return tuple(problems)

    def _sources(self, schema: Schema | None = None) -> tuple[str, str]:
        """What shares and limits are made of, as digests: other ones make another version."""
        limits = [str(self.limit), {name: str(limit) for name, limit in self.limits.items()}, self.harmless]
        limits += [dict(schema.limits)] if schema is not None and schema.several else []
        shares = [self.reference, self.given, *((self.epsilon, self.merge) if self.reference is None else ())]
        one, other = (json.dumps(made_of, sort_keys=True, default=list).encode() for made_of in (shares, limits))
        return hashlib.sha256(one).hexdigest(), hashlib.sha256(other).hexdigest()

    def _designs(self, shares: Reference, cells: pl.DataFrame | None) -> SetDesigns:
        if len(shares.labels) < self.m:
            raise Infeasible(
                f"Sets of {self.m} values are made of at least as many, and there "
                f"{'is' if len(shares.labels) == 1 else 'are'} {len(shares.labels)}.",
                hint="choose a smaller m, or a finer column.",
            )
        limits = self._slots(shares)
        designs, places = [], []
        for row in shares.shares:
            used = np.flatnonzero(row > 0)
            local = {int(np.searchsorted(used, at)): slots for at, slots in limits.items() if row[at] > 0}
            others = shares.merged and bool(row[-1] > 0)
            allowed = self._with_limit(row[used], local, others=used.size - 1 if others else None)
            designs.append(design_of(row[used] / row[used].sum(), self.m, allowed))
            places.append(used.astype(np.int64))
        made = SetDesigns(shares.labels, tuple(designs), tuple(places), (1,) * len(designs), cells)
        if isinstance(change_of(self.change), Rates | Transitions):
            return replace(made, room=self._room(made, limits))
        return made

    def _room(self, designs: SetDesigns, own: dict[int, int]) -> Ints | None:
        """How many lives may be at each value: as few as let all lives move by the table of change, within limits.

        None where that is as many as it has slots.
        """
        design = designs.of_values[0]
        table = _chain(change_of(self.change), designs)
        most = np.full(design.values, self._most_slots())
        most[list(own)] = list(own.values())
        room = widened(table, design.slots, self.m, np.maximum(most, design.slots))
        check_chain(table, design.shares, room, self.m)
        return None if (room == design.slots).all() else room

    def _moving(self, designs: SetDesigns) -> SetDesigns:
        """The designs with the rule of change that the policy says."""
        change = change_of(self.change)
        return replace(designs, change=change.to_dict(), linked=isinstance(change, Rates | Transitions))

    def _slots(self, shares: Reference) -> dict[int, int]:
        """How many slots single values may take, by the policy."""
        asked = {name: int(self.m * (probability_of(limit) or 0)) for name, limit in self.limits.items()}
        asked |= dict.fromkeys(self.harmless, self.m)
        place = {str(label): at for at, label in enumerate(shares.labels)}
        if lost := len(asked.keys() - place.keys()):
            named = count_of(lost, "value named in 'limits' or 'harmless' has", "values named there have")
            raise Refused(
                f"{named} no share of their own, so that nothing would follow from it.",
                hint="check the spelling, or leave them out: rare values are published as one, "
                f"'{OTHERS}', which can have a limit as well.",
            )
        return {place[name]: slots for name, slots in asked.items()}

    def _most_slots(self) -> int:
        """How many slots a value without a limit of its own may take."""
        return 1 if self.limit is None else int(self.m * (probability_of(self.limit) or 0))

    def _with_limit(self, shares: Floats, own: dict[int, int], *, others: int | None) -> dict[int, int]:
        """Every frequent value with the slots that the limit allows; refused where it is too frequent for that."""
        most = self._most_slots()
        wanted = _usual_slots(shares, self.m)
        slots = dict.fromkeys(np.flatnonzero(wanted > most).tolist(), most) | own
        too_many = [at for at, limit in slots.items() if self.m * shares[at] > limit * (1 + 1e-12)]
        if others in too_many:
            fits = f'allow limit = "{int(wanted[others])}/{self.m}"'
            counted = "give the shares as 'reference', from outside; or a larger epsilon or a smaller 'merge', which "
            counted += "promise less; or "
            raise Infeasible(
                f"{shares[others]:.0%} of the people have values that are too rare for shares of their own: "
                f"as '{OTHERS}' these are more frequent than the limit.",
                hint=f"{fits}; or {counted if self.reference is None else ''}put rare values together yourself, by "
                "meaning.",
            )
        if too_many and max(shares[too_many]) > (self.m - 1) / self.m:
            raise Infeasible(
                f"A value with a share of {max(shares[too_many]):.1%} cannot be hidden among {self.m}.",
                hint="name it in 'harmless', or choose a larger m and a limit for it.",
            )
        if too_many:
            needed = max(int(wanted[at]) for at in too_many)
            raise Infeasible(
                f"{count_of(len(too_many), 'value is', 'values are')} more frequent than the limit: the largest share "
                f"is {shares[too_many].max():.1%}, and a set cannot make it less likely than that. Of {self.m} slots a "
                f"value takes whole ones, {max(slots[at] for at in too_many)} within its limit.",
                hint=f'give it a limit it can keep, limit = "{needed}/{self.m}", or limits by value; or name it in '
                "'harmless'; or choose a smaller m.",
            )
        return slots

    def _notes(self, book: Book, sets: Sets) -> tuple[str, ...]:
        found = []
        if isinstance(change_of(self.change), Static) and not any(book.rates) and len(book.steps) == 1:
            found.append(
                "values are declared never to change; where some will, a rate of change can be recorded later, with "
                "`reissue amend`, and a table of change only in a new series"
            )
        if book.designs.linked and len(book.steps) == 1 and (drift := self._drift(book)) is not None:
            found.append(drift)
        if book.designs.columns:
            found += record_notes(book.designs, sets)
        elif (far := _understated(book, sets)) is not None:
            count, factor, chance = far
            what = count_of(count, "value is more frequent", "values are more frequent")
            found.append(
                f"{what} than the reference says, among those whose sets are drawn now, up to {factor:.1f} times: "
                f"whoever knows that gives one of them up to {chance:.2f} instead of its limit; `reissue shares` "
                "counts shares that fit"
            )
        for what, people in _rare(book, sets).items():
            found.append(f"{count_of(people, 'person has', 'people have')} a rare value{what}, published as '{OTHERS}'")
        return tuple(found)

    def _drift(self, book: Book) -> str | None:
        """Where the table of change leads away from the shares, what that means for those who arrive late."""
        design, table = book.designs.of_values[0], _chain(change_of(self.change), book.designs)
        shares, worst, chance = design.shares, 1.0, 0.0
        for _ in range(DRIFT):
            shares = shares @ table
            ratio = shares / design.shares
            if ratio.max() > worst:
                worst = float(ratio.max())
                chance = _at_worst(ratio, design.slots, design.m)
        if worst < FAR_OFF:
            return None
        return (
            f"the table of change leads away from the reference shares: after {DRIFT} releases a value is up to "
            f"{worst:.1f} times as frequent. Whoever expects that of people who arrive late, too, gives a value of "
            f"theirs up to {chance:.2f}; shares that the chain is at rest with would avoid it"
        )


def _at_worst(ratio: Floats, slots: Ints, m: int) -> float:
    """The largest posterior of a value that is so many times as frequent as its share says: the others of its set are
    as many as it has slots for, of those that are overstated most."""
    least = np.concatenate([[0.0], np.cumsum(np.sort(ratio))])
    odds = ratio * slots
    others = least[np.minimum(m - slots, ratio.size)]
    occurs = odds > 0  # what nobody has is nobody's
    return float((odds[occurs] / (odds + others)[occurs]).max(initial=0.0))


def _understated(book: Book, sets: Sets) -> tuple[int, float, float] | None:
    """How many values are far more frequent than their share, the largest factor, and the probability that gives."""
    design = book.designs.of_values[-1]
    held = book.designs.places[-1]
    # Sets that are kept were drawn by the shares of their time, and lives that moved on are where the chain took them.
    counts = np.bincount(sets.own[sets.drawn], minlength=len(book.designs.labels))[held].astype(np.float64)
    expected = design.shares * counts.sum()
    # Chance alone, and the noise of shares, are no reason to say anything.
    over = np.flatnonzero((counts > 1.25 * expected) & (counts > expected + 5 * np.sqrt(expected) + 5))
    if not over.size or book.designs.cells is not None:
        return None
    ratio = counts / expected
    return over.size, float(ratio[over].max()), _at_worst(ratio, design.slots, design.m)


def _rare(book: Book, sets: Sets) -> dict[str, int]:
    """How many people have a rare value that is published as one with others, by column where there are several."""
    if not book.designs.columns:
        people = int(np.count_nonzero(sets.own == book.designs.labels.index(OTHERS))) if book.merged[0] else 0
        return {"": people} if people else {}
    found = {}
    for column in book.designs.value_columns:
        rare = np.array([value == OTHERS for value in column.values], dtype=np.bool_)
        if people := int(np.count_nonzero(rare[column.of[sets.own]])):
            found[f" of '{column.name}'"] = people
    return found


def _each(limits: Mapping[str, Any]) -> Iterator[Any]:
    """Every limit, whether by value or by column and value."""
    for limit in limits.values():
        yield from limit.values() if isinstance(limit, Mapping) else (limit,)


def _usual_slots(shares: Floats, m: int) -> Ints:
    """The smallest k with k/m >= p + (1 - p)/(2m), so that a value stays estimable."""
    return np.clip(np.ceil(m * shares + (1 - shares) / 2 - 1e-12), 1, m - 1).astype(np.int64)


@dataclass(frozen=True, repr=False)
class _Words:
    """The random words of a release. Its number is in them, so that a seed given twice does not draw the same twice."""

    keyed: Keyed
    number: int

    def of(self, rows: Ints, purpose: int, width: int, design: int = 0) -> PersonalWords:
        """So many words a round for each of these rows of the table."""
        return self.keyed.words(rows, self.number % MOST, design % MOST, purpose, width)


@dataclass(frozen=True, repr=False)
class _Rings:
    """What may have happened since people were last published: for each of them their gap."""

    over: Gaps
    gap: Ints

    def coin(self, own: Ints) -> Floats:
        """The chance of a new set for those whose value did not change."""
        return self.over.coin(self.gap, own)

    def only(self, chosen: Bools) -> _Rings:
        """For some of the people."""
        return replace(self, gap=self.gap[chosen])


class _Drawing:
    """The sets of one release."""

    def __init__(self, method: Alternatives, snapshot: Snapshot, book: Book, cell: Ints, words: _Words) -> None:
        self._method, self._book, self._cell, self._words = method, book, cell, words
        self._people = snapshot.people
        place = book.positions(snapshot.values)
        references.need_known(place, snapshot.values.codes)
        self._own = place.astype(smallest_unsigned(len(book.designs.labels)))[snapshot.values.codes]
        self._change = change_of(method.change)
        labels = snapshot.schema.permanent
        self._permanent = np.array([label in labels for label in book.designs.labels], dtype=np.bool_)
        if lacking := len(labels) - int(self._permanent.sum()):
            raise Infeasible(
                f"{count_of(lacking, 'permanent value has', 'permanent values have')} no share of their own, so that "
                "sets cannot carry them on.",
                hint="give the shares as 'reference', from outside, with all permanent values; check their spelling.",
            )
        if self._permanent.any() and any(design.large.size for design in book.designs.of_values):
            raise Infeasible(
                "Permanent values and values that take several slots do not go together: what stands beside a value "
                "that is carried on has one slot each.",
                hint="choose a smaller m, so that no value is more frequent than one in 2m - 1; or put frequent values "
                "apart, or do without 'permanent'.",
            )

    def sets(self, known: KeptSets, last: int) -> tuple[Sets, Bools]:
        """A set for everybody; whose value changed although it should not is marked as withheld."""
        has, row = known.of(self._people)
        before = known.value[row] if known.person.size else self._own
        differs = has & (before != self._own)
        withheld = self._static(differs) if isinstance(self._change, Static) else np.zeros(has.size, dtype=np.bool_)
        codes = np.zeros((has.size, self._method.m), dtype=smallest_unsigned(len(self._book.designs.labels)))
        design, drawn = np.zeros(has.size, dtype=smallest_unsigned(len(self._book.designs.designs))), ~has
        stay = np.flatnonzero(has)
        if stay.size:
            codes[stay], design[stay] = known.codes[row[stay]], known.design[row[stay]]
        if stay.size and self._book.designs.linked:
            withheld = self._live_on(stay, known, row, last, codes)
        elif stay.size and not isinstance(self._change, Static):
            for cell in np.unique(self._cell[stay]).tolist():
                rows = stay[self._cell[stay] == cell]
                rings = self._rings(cell, known.release[row[rows]], last)
                renewed = differs[rows] | (self._uniform(rows, COIN) < rings.coin(self._own[rows].astype(np.int64)))
                again = rows[renewed]
                drawn[again] = True
                design[again] = self._again(again, rings.only(renewed), codes, cell)
        fresh = np.flatnonzero(~has)
        design[fresh] = self._first(self._book.version) + self._cell[fresh]
        self._draw(fresh, design[fresh], codes)
        if self._book.designs.linked:
            codes[fresh] = self._in_any_order(codes[fresh], fresh)
        own = np.where(withheld, before, self._own) if withheld.any() else self._own
        return Sets(codes, drawn, self._book.designs, design, own), withheld

    def change_notes(self, known: KeptSets, last: int) -> tuple[str, ...]:
        """What to say where the values of people who were published before did not change as declared."""
        has, row = known.of(self._people)
        if isinstance(self._change, Static) or not known.person.size:
            return ()
        rows = np.flatnonzero(has)
        before = known.value[row[rows]].astype(np.int64)
        since = known.release[row[rows]].astype(np.int64) - 1  # releases are counted from 0 here
        if isinstance(self._change, Renewal):
            # Only people of whom nothing but the rate that is declared now is expected.
            rates = np.array(self._book.rates)
            other = np.append(np.flatnonzero(rates != self._change.rate), 0).max()
            asked = np.flatnonzero(~self._permanent[before] & (since >= other))
            rows, before, since = rows[asked], before[asked], since[asked]
            comers = [self._comers(cell, before, since, self._cell[rows]) for cell in np.unique(self._cell[rows])]
            fit = fit_of_rate(self._change.rate, comers, int((before != self._own[rows]).sum()))
            return change_notes.of_rate(fit)
        if self._book.designs.linked and rows.size:
            steps = last - since
            tables = powers(_chain(self._change, self._book.designs), int(steps.max()))
            own = self._own[rows].astype(np.int64)
            can = possible(before, own, tables, steps)
            return change_notes.of_table(fit_of_table(before[can], own[can], steps[can], tables))
        return ()

    def _comers(self, cell: int, before: Ints, since: Ints, cells: Ints) -> Comers:
        mine = np.flatnonzero(cells == cell)
        steps, gap = np.unique(since[mine], return_inverse=True)
        values = len(self._book.designs.labels)
        had = np.bincount(gap * values + before[mine], minlength=steps.size * values).reshape(steps.size, values)
        permanent = self._permanent if self._permanent.any() else None
        return Comers(steps, had, np.array(self._book.steps) - 1, self._shares(cell), permanent)

    def _live_on(self, rows: Ints, known: KeptSets, row: Ints, last: int, codes: SetCodes) -> Bools:
        """Move all lives of everybody on; whose value moved as the table says nobody's does is refused or withheld."""
        designs = self._book.designs
        steps = last + 1 - known.release[row[rows]].astype(np.int64)
        tables = powers(_chain(self._change, designs), int(steps.max(initial=0)))
        before, own = known.value[row[rows]].astype(np.int64), self._own[rows].astype(np.int64)
        can = possible(before, own, tables, steps)
        withheld = np.zeros(len(codes), dtype=np.bool_)
        withheld[rows[~can]] = True
        if withheld.any() and self._method.changed == "refuse":
            raise Refused(
                f"The value of {count_of(int(withheld.sum()), 'person', 'people')} moved as the table of change says "
                "nobody's does.",
                hint='correct the values; or set changed = "withhold" to leave these people out. The table of change '
                "stays as it is for the whole series.",
            )
        going, lives = rows[can], codes[rows[can]].astype(np.int64)
        true = self._one_of(lives == before[can][:, None], going)
        words = self._words.of(going, MOVES, 4 * self._method.m)
        codes[going] = moved_lives(lives, true, own[can], tables, steps[can], designs.most(-1), words)
        return withheld

    def _one_of(self, marked: Bools, rows: Ints) -> Ints:
        """For each row one of its marked places, drawn evenly: were it always the first, that one would be likelier."""
        several = np.flatnonzero(marked.sum(axis=1) > 1)
        place: Ints = np.argmax(marked, axis=1)
        if several.size:
            words = self._words.of(rows[several], LIFE, marked.shape[1])(np.arange(several.size), 0)
            drawn = np.where(marked[several], words[:, : marked.shape[1]] >> np.uint64(1), np.uint64(0))
            place[several] = np.argmax(drawn + marked[several], axis=1)
        return place

    def _in_any_order(self, codes: SetCodes, rows: Ints) -> SetCodes:
        """The lives of each row in an order drawn at random: which is the true one must not show."""
        words = self._words.of(rows, ORDER, self._method.m)(np.arange(rows.size), 0)[:, : self._method.m]
        return np.take_along_axis(codes, np.argsort(words, axis=1), axis=1)

    def _again(self, rows: Ints, rings: _Rings, codes: SetCodes, cell: int) -> Ints:
        """Put new sets for people who had one into `codes`; the designs they are from."""
        if self._permanent.any():
            codes[rows] = self._carrying(rows, codes[rows], rings)
            return np.full(rows.size, self._first(self._book.version) + cell)
        design: Ints = self._first(self._versions(rings, rows)) + cell
        self._draw(rows, design, codes)
        return design

    def _static(self, differs: Bools) -> Bools:
        changed = int(differs.sum())
        if changed and self._method.changed == "refuse":
            raise Refused(
                f"The value of {count_of(changed, 'person', 'people')} changed, and values are declared to be static.",
                hint="declare how values change with 'change': a rate, recorded with `reissue amend`; a table of it "
                "(`reissue moves`) is better where values stay for different times, and is for a new series. "
                'Or set changed = "withhold" to leave these people out.',
            )
        return differs

    def _rings(self, cell: int, released: Ints, last: int) -> _Rings:
        """What may have happened since people of a cell were last published."""
        released = released.astype(np.int64) - 1  # releases are counted from 0 there
        steps, gap = np.unique(released, return_inverse=True)
        permanent = self._permanent if self._permanent.any() else None
        rates, versions = np.array(self._book.rates), np.array(self._book.steps) - 1
        return _Rings(gaps(rates, versions, self._shares(cell), steps, last, permanent), gap)

    def _versions(self, rings: _Rings, rows: Ints) -> Ints:
        """The version that each new set is drawn from."""
        if self._book.version == 1:
            return np.ones(rows.size, dtype=np.int64)
        odds = rings.over.odds(rings.gap, self._own[rows])
        return chosen_version(odds, self._uniform(rows, VERSION)) + 1

    def _shares(self, cell: int) -> Floats:
        """The share of every label in every version, in a cell."""
        designs = self._book.designs
        shares = np.zeros((self._book.version, len(designs.labels)))
        for version in range(1, self._book.version + 1):
            at = int(self._first(version)) + cell
            shares[version - 1, designs.places[at]] = designs.designs[at].shares
        return shares

    def _first(self, version: Ints | int) -> Any:
        """The first design of a version, by position."""
        return np.searchsorted(np.array(self._book.designs.version), version)

    def _draw(self, rows: Ints, design: npt.NDArray[np.integer], codes: SetCodes) -> None:
        """Draw sets for these rows from these designs, into `codes`."""
        designs = self._book.designs
        used = np.flatnonzero(np.bincount(design)).tolist()
        for at in used:
            mine = rows if len(used) == 1 else rows[design == at]
            places = designs.places[at]
            local = np.zeros(len(designs.labels), dtype=codes.dtype)
            local[places] = np.arange(places.size)
            words = self._words.of(mine, SET, 2 * self._method.m, at)
            one, own = designs.designs[at], local[self._own[mine]]
            if isinstance(one, RecordDesign):
                codes[mine] = places.astype(codes.dtype)[draw_records(one, own.astype(np.int64), words)]
                continue
            found = draw(one, own, words)
            for begin in range(0, mine.size, PART):
                part = slice(begin, begin + PART)
                codes[mine[part]] = places.astype(codes.dtype)[found[part]]

    def _carrying(self, rows: Ints, before: SetCodes, rings: _Rings) -> SetCodes:
        """New sets that hold all permanent values of those before, and beside them values of whatever was drawn.

        What is beside them is drawn given the value if that is not among those carried, else given nothing: so a new
        set says nothing about whether somebody has a permanent value.
        """
        m = self._method.m
        sets = np.zeros((rows.size, m), dtype=before.dtype)
        permanent = np.flatnonzero(self._permanent)
        held = np.stack([(before == value).any(axis=1) for value in permanent], axis=1)
        kinds, kind = np.unique(np.column_stack([rings.gap, held.astype(np.int64)]), axis=0, return_inverse=True)
        for at, row in enumerate(kinds):
            mine = np.flatnonzero(kind.ravel() == at)
            kept, rest = carried_on(rings.over.law(int(row[0])), permanent[row[1:] == 1], m)
            places = np.flatnonzero(rest > 0)
            own = self._own[rows[mine]]
            inside = np.isin(own, kept)
            own[inside] = self._chosen(rest, rows[mine[inside]])
            sets[mine, : kept.size] = kept
            sets[mine, kept.size :] = self._beside(rest[places], places, own, rows[mine], m - kept.size)
        return np.sort(sets, axis=1)

    def _beside(self, shares: Floats, places: Ints, own: Ints, rows: Ints, size: int) -> SetCodes:
        """So many values for each row by these shares, its own among them."""
        if size < 2:
            return np.repeat(own[:, None], size, axis=1).astype(np.uint32)
        words = self._words.of(rows, CARRIED, 2 * size)
        design = design_of(shares, size, dict.fromkeys(np.flatnonzero(_usual_slots(shares, size) > 1).tolist(), 1))
        drawn: SetCodes = places[draw(design, np.searchsorted(places, own), words)].astype(np.uint32)
        return drawn

    def _chosen(self, shares: Floats, rows: Ints) -> Ints:
        """A value for each row by these shares."""
        total = np.cumsum(shares)
        return np.asarray(np.searchsorted(total, self._uniform(rows, CHOICE) * total[-1], side="right"), dtype=np.int64)

    def _uniform(self, rows: Ints, purpose: int) -> Floats:
        """A number from 0 to 1 for each row."""
        words = self._words.of(rows, purpose, 1)(np.arange(rows.size), 0)[:, 0]
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _cells(snapshot: Snapshot, given: Sequence[str], known: pl.DataFrame | None) -> tuple[Ints, pl.DataFrame | None]:
    """For each row its cell of the columns given, and the cells: those known already, or those of the table."""
    if not given:
        return np.zeros(len(snapshot), dtype=np.uint8), None
    columns: dict[str, Column] = {column.name: column for column in (*snapshot.quasi, *snapshot.as_is)}
    frame = pl.DataFrame([columns[name].decode().cast(pl.String) for name in given])
    cells = frame.unique().sort(given) if known is None else known
    numbered = cells.with_row_index(CELL)
    number = frame.join(numbered, on=list(given), how="left", nulls_equal=True, maintain_order="left")[CELL]
    if lacking := number.null_count():
        raise Refused(
            f"{count_of(lacking, 'person is', 'people are')} in cells of {listed(list(given))} that the first table "
            "did not have: there are no shares for them.",
            hint="leave them out, or put such cells together before publishing.",
        )
    return number.to_numpy().astype(np.int64), cells


def _check_names(before: Book, after: Book) -> None:
    """Refuse a version that calls a value by another name: it would look as if everybody who has it had changed."""
    pairs = zip(_names_of(before), _names_of(after), before.merged, after.merged, strict=True)
    count = sum(len(new - old) * was_merged + len(old - new) * merged for old, new, was_merged, merged in pairs)
    if count:
        raise Refused(
            f"{count_of(count, 'value')} would move between '{OTHERS}' and a name of its own, and so everybody who has "
            "it would be told from the others.",
            hint=f"give a reference with the same names as before, and '{OTHERS}' as before; the table 'design' of the "
            "last release has them.",
        )


def _names_of(book: Book) -> list[set[object]]:
    """The values of each sensitive column that the version in force has a name of its own for."""
    held = book.designs.places[-1]
    if not book.designs.columns:
        return [{book.designs.labels[at] for at in held} - {OTHERS}]
    return [{own.values[at] for at in own.of[held].tolist()} - {OTHERS} for own in book.designs.value_columns]


def _chain(change: Change, designs: SetDesigns) -> Floats:
    """The table of chances that lives move by, over all labels."""
    return change.matrix([str(label) for label in designs.labels], designs.designs[-1].shares)
