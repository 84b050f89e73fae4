"""Drafting: from a table and the history of a series to a release not yet committed. Nothing here writes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.randomness import check_seed, generator, new_seed
from reissue.arrays.types import Ints
from reissue.errors import GuaranteeBroken, Unprotected
from reissue.guarantees import Guarantee, SeriesGuarantee, Verdict
from reissue.methods.base import Method
from reissue.model.domain import COUNTERFEIT, GROUP, OWN, PERSON
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import Kept, Memory, Prefixed, Remembered
from reissue.model.period import Period, latest_of
from reissue.model.pieces import Table, made, whole
from reissue.model.published import Published
from reissue.model.records import Records
from reissue.model.roles import Roles
from reissue.model.schema import Schema
from reissue.model.sets import PublishedSets, Sets
from reissue.model.showing import shown
from reissue.model.snapshot import Delta, Snapshot
from reissue.publishing.barred import all_rows, without_barred
from reissue.publishing.draft import Continuation, Draft, DraftVerdicts, PrivateTables
from reissue.publishing.history import History
from reissue.publishing.notes import notes_of
from reissue.publishing.policy import Policy
from reissue.publishing.refusals import (
    check_changes,
    check_columns,
    check_feasible,
    check_protection,
    check_registry,
)
from reissue.tables.coding import CodedTable, code_table
from reissue.tables.frames import Library, open_table, read_table
from reissue.tables.joining import split
from reissue.tables.one_event import one_event_by_column, one_event_each
from reissue.tables.recode import Recoded, anatomise, generalise, view_of
from reissue.tables.recode_sets import alternatives
from reissue.tables.registered import Registry, code_registered, read_registry, with_values

Progress = Callable[[str], None]
"""Called with the name of each stage when it begins."""


RECODINGS = {"generalised": generalise, "anatomised": anatomise, "alternatives": alternatives}
"""How a release gets its form."""


@dataclass(frozen=True, repr=False)
class Submission:
    """What is handed in for a release: the table, what comes beside it, and how it is treated."""

    table: object
    registry: object = None
    """Everybody with their quasi-identifiers as they are now, for methods that ask for it."""
    extinct: Iterable[object] | Path | None = None
    """Those who have died or left for ever: their ids, or a file with the person column."""
    seed: int | None = None
    """Makes the method's random choices repeatable; by default the operating system draws one that nobody knows."""
    show_values: bool = False
    """Whether messages may quote values of the table."""
    period: str | None = None
    """What the release is of, such as "2026-03" or "2026-01/2026-03"."""
    corrects: int | None = None
    """The number of the release that it corrects; it is of the same period."""

    def __post_init__(self) -> None:
        if self.seed is not None:
            check_seed(self.seed)
        if self.period is not None:
            object.__setattr__(self, "period", Period.parse(self.period).text)


@dataclass(frozen=True, repr=False)
class TableRead:
    """A table as it was read, before anybody is grouped."""

    coded: CodedTable
    rows: pl.DataFrame
    """Its rows, as the ledger would keep them."""
    facts: pl.DataFrame | None
    """Its values, where they are not in the rows."""
    delta: Delta


def make_draft(
    given: Submission,
    policy: Policy,
    history: History,
    *,
    look: Callable[[TableRead], None] = lambda read: None,
    progress: Progress = lambda stage: None,
) -> Draft:
    """Read, code, group, recode and check a table; raise if it cannot or must not be published.

    `look` is called before anybody is grouped: what it raises saves that work.
    """
    method = policy.method
    continues = replace(
        _continuation(policy, history),
        period=given.period,
        corrects=given.corrects,
        latest=latest_of(history.latest, given.period),
    )
    before = History() if continues.anew else history
    guarantees, warnings = policy.guarantees_after(before.memory), method.warnings_after(before.memory)
    check_registry(method, given.registry is not None or given.extinct is not None)
    registry = read_registry(given.registry, given.extinct, policy.schema) if method.takes.registry else None
    read, library, other_events = read_after(given, registry, policy.schema, history, progress)
    look(read)
    coded, facts, delta = read.coded, read.facts, read.delta
    del read  # the rows are made once more when they are written
    snapshot = coded.snapshot
    check_changes(method, delta, history)
    snapshot = snapshot.for_form(policy.form)
    eligible, delta_of_eligible = without_barred(snapshot, delta, history.barred)
    goes_on = bool(history.number) and method.protects_series and not continues.anew
    check_feasible(eligible, guarantees, goes_on=goes_on)
    progress("Grouping people")
    seed = new_seed() if given.seed is None else given.seed
    grouping, memory = method.group(eligible, delta_of_eligible, before.memory, generator(seed))
    delta = delta.narrow()  # from here on it is counted
    del delta_of_eligible
    grouping = all_rows(grouping, snapshot, eligible)
    progress("Recoding")
    released, groups = shown(snapshot, grouping)
    recoded = RECODINGS[policy.form](released, groups, history.number + 1, classes=_by_class(guarantees))
    progress("Checking guarantees")
    view = view_of(released, recoded.groups)
    if grouping.roles is not None:
        grouping = replace(grouping, roles=grouping.roles.numbered(_public_numbers(grouping, recoded)))
    secrets = Secrets({history.number + 1: snapshot.people[grouping.anew]}, released, grouping.roles, groups.sets)
    verdicts, checks = checked(guarantees, view, history.number + 1, before.checks, secrets)
    check_columns(method, guarantees, verdicts)
    _check_kept(method, verdicts)
    recoded = _apart(_disclosed(recoded, policy), released)
    private = PrivateTables(
        rows=_rows(coded.snapshot, _public_group(grouping, recoded)),
        domain=coded.domain,
        new_people=_new_people(history, coded),
        facts=None if facts is None else facts.with_columns(_group_of_values(grouping, recoded, snapshot)),
        extinct=coded.extinct if coded.extinct is not None and coded.extinct.height else None,
        counterfeits=_counterfeits(grouping, recoded),
        held_back=_held_back(grouping, snapshot, history),
        changed=_changed(grouping, snapshot),
    )
    notes = notes_of(
        policy,
        snapshot,
        delta,
        grouping,
        private,
        continues,
        warnings,
        unregistered=registry is not None and registry.people is None,
        gone=_left_registry(history, snapshot),
        other_events=other_events,
        seeded=given.seed is not None,
    )
    return Draft(
        continues=continues,
        policy=policy,
        snapshot=snapshot,
        delta=delta,
        grouping=grouping,
        recoded=recoded,
        view=view,
        private=private,
        memory=memory,
        checks=checks,
        judged=DraftVerdicts(verdicts, notes, warnings, tuple(one.promise for one in guarantees)),
        seed=str(seed),
        seeded=given.seed is not None,
        library=library,
    )


def _check_kept(method: Method, verdicts: tuple[Verdict, ...]) -> None:
    """A release that breaks a promise must not get out."""
    broken = [f"{verdict.guarantee}: {verdict.explanation}" for verdict in verdicts if not verdict.holds]
    if broken:
        raise GuaranteeBroken(
            f"{method.name} gave a release that breaks its own promises; nothing is published.",
            problems=broken,
            hint="this is a mistake in the method, not in the table; please report it.",
        )


def in_the_way(policy: Policy, history: History) -> tuple[str, ...]:
    """Why the next release will be refused, whatever the table."""
    try:
        _continuation(policy, history)
    except Unprotected as error:
        return tuple(error.problems) or (error.what,)
    return policy.method.amended(history.memory)


def _continuation(policy: Policy, history: History) -> Continuation:
    """How the next release goes on from those before, or a refusal."""
    method = policy.method
    obstacles = _obstacles(method, policy.guarantees(), history)
    protected = method.protects_series and not obstacles and (history.protected or not history.number)
    check_protection(policy, history, protected, obstacles)
    return Continuation(
        parent=history.number,
        mark=history.mark,
        policy_version=history.policy_version,
        anew=bool(obstacles),
        protected=protected,
        adopted=history.adopted,
        barred=history.barred is not None,
        lost=history.lost,
        retracted=history.retracted,
    )


def _obstacles(method: Method, guarantees: tuple[Guarantee, ...], history: History) -> list[str]:
    """Why the method and its checkers cannot go on from what they remember, if they cannot."""
    if not history.number:
        return []
    if history.method is None:
        return [f"nobody here knows who is in release {history.number}, or in any before it"]
    if history.method != method.name:
        return [f"release {history.number} was made by {history.method}"]
    following = [guarantee for guarantee in guarantees if isinstance(guarantee, SeriesGuarantee)]
    found = [guarantee.obstacle(Prefixed(history.checks, f"{guarantee.name}_")) for guarantee in following]
    return [obstacle for obstacle in found if obstacle]


def _by_class(guarantees: tuple[Guarantee, ...]) -> bool:
    """Whether a checker must know who has the same quasi-identifiers; those of other packages need not say."""
    return any(getattr(guarantee, "by_class", False) for guarantee in guarantees)


def _rows(snapshot: Snapshot, group: pl.Series) -> Table:
    """The rows of the snapshot with the public group of each."""
    return made(len(snapshot), lambda rows: snapshot.frame(rows).with_columns(group[rows]))


def _public_group(grouping: Grouping, recoded: Recoded) -> pl.Series:
    """The public group number of each row of the snapshot; null for those held back."""
    if not grouping.held_back:
        return pl.Series(GROUP, recoded.group[: grouping.group.size])
    published = grouping.group != HELD_BACK
    numbers = np.zeros(published.size, dtype=np.uint32)
    numbers[published] = recoded.group[: int(published.sum())]
    return pl.Series(GROUP, numbers).set(pl.Series(~published), None)


def _left_registry(history: History, snapshot: Snapshot) -> tuple[int, int]:
    """How many of those registered at the last release are not any more, and how many they were."""
    last = None if history.last.facts is None else history.last.rows
    before = snapshot.people[:0] if last is None else last[PERSON].to_numpy().astype(np.int64)
    return int(np.count_nonzero(~np.isin(before, snapshot.people))), before.size


def _public_numbers(grouping: Grouping, recoded: Recoded) -> Ints:
    """The place that each group of the grouping has among those published."""
    places = np.zeros(grouping.count, dtype=np.int64)
    places[grouping.group] = recoded.group[: grouping.group.size].astype(np.int64) - 1
    return places


def _group_of_values(grouping: Grouping, recoded: Recoded, snapshot: Snapshot) -> pl.Series:
    """The public group number of each value."""
    group = grouping.of_values(snapshot.owners).group
    return pl.Series(GROUP, (_public_numbers(grouping, recoded)[group] + 1).astype(np.uint32))


def _counterfeits(grouping: Grouping, recoded: Recoded) -> pl.DataFrame | None:
    made = grouping.counterfeits
    if made is None:
        return None
    own = [pl.Series(COUNTERFEIT, made.number.astype(np.uint32)), pl.Series(GROUP, recoded.group[-len(made) :])]
    return pl.DataFrame(own).hstack(made.rows)


def _held_back(grouping: Grouping, snapshot: Snapshot, history: History) -> pl.DataFrame | None:
    """Who is held back, why and since when: those who were held back from the last release have waited on."""
    if not grouping.held_back:
        return None
    number = history.number + 1
    frame = pl.concat(
        pl.DataFrame({"person": snapshot.people[rows].astype(np.uint32)}).with_columns(reason=pl.lit(reason))
        for reason, rows in grouping.held_back.items()
    )
    if history.last.held_back is None:
        return frame.with_columns(since=pl.lit(number, dtype=pl.UInt32)).sort("person")
    waited = frame.join(history.last.held_back.select("person", "since"), on="person", how="left")
    return waited.with_columns(pl.col("since").fill_null(number)).sort("person")


def _changed(grouping: Grouping, snapshot: Snapshot) -> pl.DataFrame | None:
    if grouping.changed is None:
        return None
    rows = grouping.changed.rows
    people = pl.Series("person", snapshot.people[snapshot.owners[rows]].astype(np.uint32))
    levels, name = snapshot.values.levels, snapshot.values.name
    frame = pl.DataFrame([people, levels.decode(grouping.changed.codes).alias(name)])
    if snapshot.owner is None:
        return frame.sort("person")
    return frame.with_columns(levels.decode(snapshot.values.codes[rows]).alias(OWN)).sort("person", OWN)


def _apart(recoded: Recoded, released: Snapshot) -> Recoded:
    """With a column for each sensitive one, where several are."""
    if not isinstance(released.values.levels, Records):
        return recoded
    return replace(recoded, made={name: split(whole(table), released.values) for name, table in recoded.made.items()})


def _disclosed(recoded: Recoded, policy: Policy) -> Recoded:
    """With the number of counterfeits in each group, where the policy discloses it (Xiao & Tao's relation R)."""
    if "counterfeits" not in policy.disclose:
        return recoded
    release = recoded.groups
    if isinstance(release, PublishedSets):
        return recoded  # nobody is made up
    made = np.add.reduceat(release.members < 0, release.member_starts[:-1]).astype(np.uint32)
    groups = np.flatnonzero(made)
    table = pl.DataFrame({"group": (groups + 1).astype(np.uint32), "count": made[groups]})
    return replace(recoded, made={**recoded.made, "counterfeits": table})


def read_after(
    given: Submission,
    registry: Registry | None,
    schema: Schema,
    history: History,
    progress: Progress = lambda stage: None,
) -> tuple[TableRead, Library, int]:
    """Read a table as the next of a series; its library, and how many of its rows are events that stand for nobody."""
    coded, library, others = _read(given, registry, schema, history, progress)
    snapshot = coded.snapshot
    rows, facts = snapshot.frame(), None if snapshot.owner is None else snapshot.facts()
    return TableRead(coded, rows, facts, _delta(rows, facts, schema.sensitive, history)), library, others


def _read(
    given: Submission, registry: Registry | None, schema: Schema, history: History, progress: Progress
) -> tuple[CodedTable, Library, int]:
    """Read and code a table, and say how many rows are events that stand for nobody; of a file only codes are kept."""
    progress("Reading the table")
    if registry is None:
        dropped = [name for name, role in schema.roles.items() if role == "dropped"]
        table, library = open_table(given.table, text=schema.texts, coded=schema.kinds, without=dropped)
        progress("Reading columns")
        table, others = one_event_by_column(table, schema)
        return code_table(table, schema, history.known, show_values=given.show_values), library, others
    frame, library = read_table(given.table, text=schema.texts, coded=schema.kinds)
    progress("Reading columns")
    frame, others = one_event_each(frame, schema)
    last = None if history.last.facts is None else history.last.rows
    return (
        code_registered(
            frame, registry, schema, history.known, last=last, dead=history.last.extinct, show_values=given.show_values
        ),
        library,
        others,
    )


def _delta(rows: pl.DataFrame, facts: pl.DataFrame | None, sensitive: str, history: History) -> Delta:
    """What changed about those who are in the table; of several values of a person, whether any of them did."""
    last = history.last.rows
    if last is not None and history.last.facts is not None:
        last = with_values(last, history.last.facts, sensitive)
    if facts is not None:
        rows = with_values(rows, facts, sensitive)
    return Delta.between(last, rows, sensitive, known=history.known.next_number, since=history.number)


def _new_people(history: History, coded: CodedTable) -> pl.DataFrame:
    first, new_ids = history.known.next_number, coded.new_ids
    numbers = np.arange(first, first + new_ids.len(), dtype=np.uint32)
    plain = {} if coded.new_plain is None else {"plain": coded.new_plain}
    return pl.DataFrame({"number": numbers, "id": new_ids, **plain})


@dataclass(frozen=True, repr=False)
class Secrets:
    """What checkers may be told of the private side."""

    anew: Mapping[int, Ints]
    released: Snapshot
    roles: Roles | None
    sets: Sets | None = None

    def of(self, guarantee: Guarantee, number: int) -> object:
        """What this one wants to know."""
        wanted = getattr(guarantee, "secret_of", None)
        if wanted == "roles":
            return {number: self.roles}
        if wanted == "values":
            order = ascending(self.released.people)
            return self.released.people[order], self.released.values.codes[order]
        if wanted == "sets":
            return self.sets
        return self.anew


def _regions(view: Published) -> Published:
    """The view for promises about groups: where sets are published, people are together by their regions."""
    if not view.sets:
        return view
    return Published(tuple(release.by_region() for release in view.sets), view.values, single=False)


def checked(
    guarantees: tuple[Guarantee, ...], view: Published, number: int, checks: Memory, secrets: Secrets
) -> tuple[tuple[Verdict, ...], Remembered]:
    """Ask every checker about a release; those of promises about a series go on from what they have seen so far."""
    verdicts: list[Verdict] = []
    remembered: dict[str, Table | Kept] = {}
    for guarantee in guarantees:
        secret = secrets.of(guarantee, number)
        if not isinstance(guarantee, SeriesGuarantee):
            verdicts.append(guarantee.check(_regions(view), secret))
            continue
        prefix = f"{guarantee.name}_"
        verdict, state = guarantee.follow(view, Prefixed(checks, prefix), secret)
        verdicts.append(verdict)
        remembered |= {prefix + name: table for name, table in state.items()}
    view.shared.clear()
    return tuple(verdicts), remembered
