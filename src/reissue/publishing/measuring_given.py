"""Measuring choices of `given`: for each a draft that nobody commits, attacked and counted beside the private table.

    found = ri.given_choices("january.csv", policy)
    found.table, found.sentence

A draft is of the whole table, so that what the method refuses is refused here for the same reason, and shares and slots
are those of a first release. The attack and the counts are tried on people drawn at random where there are many: both
take longer with every person, and what tells choices apart does not need all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.randomness import check_seed, generator, new_seed
from reissue.arrays.types import Ints
from reissue.attacks import Likelihood
from reissue.errors import GuaranteeBroken, ParameterError, PolicyError, Refused, listed
from reissue.methods.alternatives.alternatives import Alternatives
from reissue.methods.alternatives.reference import too_few
from reissue.model.domain import GROUP
from reissue.model.grouping import Grouping
from reissue.model.published import Published
from reissue.model.schema import Numeric, Schema
from reissue.model.sets import OTHERS, Bridged, Sets
from reissue.model.showing import only
from reissue.publishing.draft import Draft
from reissue.publishing.drafting import Progress, Submission, make_draft
from reissue.publishing.given_choices import Cells, GivenChoice, GivenChoices, Guesses, named, wider_than_plain
from reissue.publishing.history import History
from reissue.publishing.inspection import Sight
from reissue.publishing.policy import Policy
from reissue.tables.frames import read_table
from reissue.tables.one_event import one_event_each
from reissue.tables.set_views import slots_of
from reissue.utility import Workload, measure_sets

SAMPLE = 50_000
"""The attack and the counts are tried on so many people at most."""
SECONDS = 600.0
"""After so long no further choice is begun."""
LARGE = 0.9
"""A choice is proposed if so many of the people are in cells that are large enough for shares of their own."""
PAIRED = 4
"""Of so many columns, those that take most away by themselves, pairs are proposed."""
SELECTIVITIES = (0.05, 0.01)
"""Those of the counts, unless others are asked for."""
PEOPLE = "\0people"
"""No column of a table is called so."""
QUERIES = 1_000
"""So many counts are asked of each selectivity."""


def given_choices(
    table: object,
    policy: Policy | str | Path,
    choices: Sequence[str | Sequence[str]] | None = None,
    *,
    model: object = None,
    sample: int | None = SAMPLE,
    workloads: Sequence[Workload] | None = None,
    seed: int | None = None,
    seconds: float | None = SECONDS,
    progress: Progress = lambda stage: None,
) -> GivenChoices:
    """Measure what choices of `given` do to the first release of a table by `Alternatives`. Nothing is committed.

    For each choice, a column or a list of them, the table is drafted as `policy` says but with this `given`, attacked
    by `Likelihood` and counted: by default without any column, with each column of labels whose cells are large enough,
    and with pairs of those that help most. With a `model`, a table of other people with their values, the attack is
    also tried with what that tells; a `Likelihood` of your own may stand in its place. The attack and the counts, those
    of `workloads`, are tried on `sample` people drawn at random; None: on all. With the same `seed` the same comes out,
    unless `seconds` have passed, after which no further choice is begun; None: there is no limit.

    The result is private: nobody but the publisher knows how often guesses are right. What is chosen by it follows from
    the table, and shows in the policy.
    """
    policy = Policy.read(policy) if isinstance(policy, str | Path) else policy
    method = _method(policy)
    columns = _labels(policy.schema)
    asked = None if choices is None else _choices(choices, policy.schema)
    _check(sample, workloads, seconds, seed)
    frame, library = read_table(table, text=policy.schema.texts, coded=policy.schema.kinds)
    frame, _ = one_event_each(frame, policy.schema)
    if policy.schema.person in frame.columns:
        frame = frame.sort(policy.schema.person)  # draws go by rows: the same ones, in whatever order they come
    bench = _Bench(
        frame=frame,
        policy=policy,
        method=method,
        attack=_attack(model, policy.schema),
        workloads=_workloads(policy.schema, seed) if workloads is None else tuple(workloads),
        sample=sample,
        seed=new_seed() if seed is None else seed,
        ends=None if seconds is None else monotonic() + seconds,
        progress=progress,
    )
    tried = [bench.measured((), late=True)]
    if asked is not None:
        tried += [bench.measured(one) for one in asked]
    else:
        singles = [bench.proposed((name,)) for name in columns if bench.cells((name,)).count > 1]
        tried += [*singles, *(bench.proposed(pair) for pair in _pairs(singles, columns))]
        if method.given and not any(set(one.given) == set(method.given) for one in tried):
            tried.append(bench.measured(tuple(method.given)))
    count = frame.height if sample is None else min(sample, frame.height)
    selectivities = tuple(workload.selectivity for workload in bench.workloads)
    notes = _notes(frame.height, count, policy.schema, proposed=asked is None)
    return GivenChoices(frame.height, count, tuple(tried), selectivities, notes, library)


@dataclass(frozen=True, repr=False)
class _Bench:
    """Where choices are tried, all on the same table with the same seed."""

    frame: pl.DataFrame
    policy: Policy
    method: Alternatives
    attack: tuple[Likelihood, pl.DataFrame | None] | None
    """The attack with the model given, and the table of other people if it is one."""
    workloads: tuple[Workload, ...]
    sample: int | None
    seed: int
    ends: float | None
    progress: Progress

    def cells(self, given: tuple[str, ...]) -> Cells:
        """The people of the whole table by the cells of some columns."""
        if not given:
            return Cells(1, self.frame.height, 0, 0, None if self._others is None else 0)
        sizes = self._texts(self.frame, given).group_by(given).len(name=PEOPLE)
        size = sizes[PEOPLE].to_numpy().astype(np.int64)
        few = self._few(size.size)
        new = None
        if self._others is not None and all(name in self._others.columns for name in given):
            new = self._texts(self._others, given).join(sizes, on=given, how="anti", nulls_equal=True).height
        return Cells(size.size, int(size.min()), int(size[size < few].sum()), int((size == 1).sum()), new)

    def _few(self, cells: int) -> float:
        return too_few(Fraction(self.method.epsilon).limit_denominator(10**6), self.method.merge, cells)

    @staticmethod
    def _texts(frame: pl.DataFrame, given: Sequence[str]) -> pl.DataFrame:
        return frame.select(pl.col(given).cast(pl.String))

    @property
    def _others(self) -> pl.DataFrame | None:
        return None if self.attack is None else self.attack[1]

    def proposed(self, given: tuple[str, ...]) -> GivenChoice:
        """A choice nobody asked for: measured if its cells are large enough."""
        cells = self.cells(given)
        if cells.thin <= (1 - LARGE) * self.frame.height:
            return self.measured(given)
        return GivenChoice(
            given,
            cells,
            f"not tried: {cells.thin / self.frame.height:.0%} of the people are in cells with fewer than "
            f"{self._few(cells.count):,.0f}, too few for shares of their own. Put cells together, or name this choice "
            "to try it all the same.",
        )

    def measured(self, given: tuple[str, ...], *, late: bool = False) -> GivenChoice:
        """Draft, attack and count; `late`: even if the time is up."""
        cells = self.cells(given)
        if not late and self.ends is not None and monotonic() >= self.ends:
            return GivenChoice(given, cells, "not tried: the time was up. Allow more seconds, or name fewer choices.")
        stage = f"given = {named(given)}"
        self.progress(f"{stage}: drafting")
        policy = replace(self.policy, method=replace(self.method, given=given))
        try:
            draft = make_draft(Submission(self.frame, seed=self.seed), policy, History())
        except GuaranteeBroken:
            raise
        except (Refused, PolicyError) as error:  # the policy is sound; with these shares there may be no sets
            return GivenChoice(given, cells, f"{error.what}{f' Next step: {error.hint}' if error.hint else ''}")
        sets = draft.grouping.sets
        assert sets is not None  # the method draws no other form
        rows = self._rows(len(draft.snapshot))
        self.progress(f"{stage}: attacking")
        view, truth = _seen(draft, rows), _true(draft, sets, rows)
        learnt = _guesses(Likelihood(), view, truth)
        elsewhere = None if self.attack is None else _guesses(self.attack[0], view, truth)
        self.progress(f"{stage}: counting")
        wider, errors = self._counted(draft, sets, rows)
        return GivenChoice(
            given,
            cells,
            learnt=learnt,
            elsewhere=elsewhere,
            openly=float(slots_of(sets.designs)[sets.design[:, None], sets.codes].max(axis=1).mean()) / self.method.m,
            most_slots=max(int(design.slots.max()) for design in sets.designs.of_values),
            wider=wider,
            others=int(np.count_nonzero(sets.own == _place_of_others(sets))),
            errors=errors,
        )

    def _rows(self, people: int) -> Ints:
        """The rows of the people on whom choices are tried: the same for every choice."""
        if self.sample is None or self.sample >= people:
            return np.arange(people)
        rng = generator(self.seed ^ 1)  # another key than that of the drafts
        return np.sort(rng.choice(people, self.sample, replace=False))

    def _counted(self, draft: Draft, sets: Sets, rows: Ints) -> tuple[float | None, tuple[float | None, ...]]:
        """How much wider standard errors are than in the plain table, and the error of counts to be expected."""
        place = draft.rows[GROUP].to_numpy().astype(np.int32) - 1
        snapshot, grouping = only(draft.snapshot, rows), Grouping(place[rows], draft.recoded.tables["table"].height)
        found = [
            measure_sets(draft.number, snapshot, grouping, draft.recoded.tables, draft.manifest, workload=workload)
            for workload in self.workloads
        ]
        people = np.bincount(sets.design[rows], minlength=len(sets.designs.designs)).tolist()
        usual = [None if one.query_error is None else one.query_error.usual for one in found]
        errors = tuple(None if error is None or not np.isfinite(error) else error for error in usual)
        return wider_than_plain(found[0].values, people), errors


def _seen(draft: Draft, rows: Ints) -> Published:
    """What an outsider sees of some of the people."""
    view = Sight.of_draft(draft, None, quasi=True).view
    (release,) = view.sets
    if rows.size == release.people.size:
        return view
    some = replace(
        release,
        people=release.people[rows],
        codes=release.codes[rows],
        design=release.design[rows],
        region=None if release.region is None else release.region[rows],
    )
    return Published(Bridged([some]), view.values, sets=(some,))


def _true(draft: Draft, sets: Sets, rows: Ints) -> pl.DataFrame:
    """What is true of them, by the names that sets are made of."""
    labels = pl.Series([str(label) for label in sets.designs.labels], dtype=pl.String)
    people = draft.snapshot.people[rows].astype(np.int64)
    return pl.DataFrame({"person": people, "value": labels.gather(sets.own[rows])})


def _guesses(attack: Likelihood, view: Published, truth: pl.DataFrame) -> Guesses:
    found = attack.run(view)
    figures = {**found.releases.row(0, named=True), **found.scored(truth).row(0, named=True)}
    return Guesses(**{name: figures[name] for name in Guesses.__dataclass_fields__})


def _place_of_others(sets: Sets) -> int:
    return sets.designs.labels.index(OTHERS) if OTHERS in sets.designs.labels else -1


def _pairs(singles: Sequence[GivenChoice], columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Pairs of the columns that take most away by themselves."""
    able = [one for one in singles if one.worst is not None]
    able.sort(key=lambda one: 0.0 if one.worst is None else one.worst.advantage)
    best = [name for one in able[:PAIRED] for name in one.given]
    return [tuple(sorted(pair, key=columns.index)) for pair in combinations(best, 2)]


# What is asked


def _columns(schema: Schema) -> Mapping[str, Any]:
    """What is published exactly, with its kinds."""
    return {**schema.quasi, **schema.as_is}


def _labels(schema: Schema) -> list[str]:
    """The columns that have cells."""
    return [name for name, kind in _columns(schema).items() if not isinstance(kind, Numeric)]


def _method(policy: Policy) -> Alternatives:
    """The method, if `given` can be chosen for it."""
    method = policy.method
    if not isinstance(method, Alternatives):
        raise ParameterError(f"'given' is a parameter of Alternatives, and the policy has {method.name}.")
    columns = _labels(policy.schema)
    problems = replace(method, given=columns[:1]).problems(policy.schema, policy.form)
    if method.reference is not None:
        problems.append("'given' needs shares by cell, which 'reference' does not have: leave that out to compare")
    if not columns:
        problems.append("there is no column of labels, and cells need labels: make a column of ranges of a number")
    if problems:
        raise ParameterError("There is nothing to choose for 'given' under this policy.", problems=problems)
    return method


def _choices(choices: object, schema: Schema) -> list[tuple[str, ...]]:
    """The choices asked for, each once, without the one that has no column."""
    if isinstance(choices, str) or not isinstance(choices, Sequence):
        raise ParameterError("The 'choices' parameter of given_choices must be a list of columns or lists of columns.")
    each = [(one,) if isinstance(one, str) else tuple(one) for one in choices]
    columns = _labels(schema)
    strange = list(dict.fromkeys(str(name) for one in each for name in one if name not in columns))
    if strange:
        numeric = [name for name in strange if isinstance(_columns(schema).get(name), Numeric)]
        why = f" Cells need labels, and {listed(numeric)} has numbers." if numeric else ""
        raise ParameterError(
            f"The 'choices' parameter of given_choices names {listed(strange)}, which cannot be 'given'.{why}",
            hint=f"choose among {listed(columns)}; for numbers make a column of ranges.",
        )
    kept: dict[frozenset[str], tuple[str, ...]] = {}
    for one in each:
        kept.setdefault(frozenset(one), tuple(dict.fromkeys(one)))
    return [one for one in kept.values() if one]


def _check(sample: object, workloads: object, seconds: object, seed: object) -> None:
    problems = []

    def number(given: object, kind: Any) -> bool:
        return isinstance(given, kind) and not isinstance(given, bool)

    if sample is not None and not (number(sample, int) and sample >= 2):  # type: ignore[operator]
        problems.append("The 'sample' parameter of given_choices must be a whole number of at least 2, or None.")
    if seconds is not None and not (number(seconds, int | float) and seconds >= 0):  # type: ignore[operator]
        problems.append("The 'seconds' parameter of given_choices must be a number of at least 0, or None.")
    sound = isinstance(workloads, Sequence) and workloads and all(isinstance(one, Workload) for one in workloads)
    if workloads is not None and not sound:
        problems.append("The 'workloads' parameter of given_choices must be a list of at least one Workload.")
    elif sound and len({one.selectivity for one in workloads}) < len(workloads):  # type: ignore[attr-defined,arg-type]
        problems.append("The 'workloads' parameter of given_choices must have each selectivity once.")
    if problems:
        raise ParameterError(problems[0], problems=problems[1:])
    if seed is not None:
        check_seed(seed, " of given_choices")


def _workloads(schema: Schema, seed: int | None) -> tuple[Workload, ...]:
    dimensions = min(2, len(schema.quasi))
    return tuple(Workload(dimensions, share, count=QUERIES, seed=seed) for share in SELECTIVITIES)


def _attack(model: object, schema: Schema) -> tuple[Likelihood, pl.DataFrame | None] | None:
    """The attack with the model given; a file of other people is read once."""
    if model is None or isinstance(model, Likelihood):
        return None if model is None else (model, None)
    if isinstance(model, Callable | Mapping) and not hasattr(model, "columns"):  # type: ignore[arg-type]
        return Likelihood(model=model), None
    table = read_table(model, text=schema.texts)[0]
    if schema.sensitive not in table.columns:
        raise ParameterError(
            f"The table in 'model' has no column '{schema.sensitive}', which has the values.",
            hint="rename it there, or say which it is: model=ri.attacks.Likelihood(model=table, value=...).",
        )
    return Likelihood(model=table, value=schema.sensitive), table


def _notes(people: int, sample: int, schema: Schema, *, proposed: bool) -> tuple[str, ...]:
    notes = []
    if sample < people:
        notes.append(
            f"attacks and counts were tried on {sample:,} of {people:,} people, drawn at random: from all of them a "
            "model learns more, and counts are more exact"
        )
    numeric = [name for name in _columns(schema) if name not in _labels(schema)]
    if proposed and numeric:
        notes.append(f"numbers have no cells ({listed(numeric)}): a column of ranges could be tried")
    return tuple(notes)
