"""Drafting: from a table and the history of a series to a release not yet committed. Nothing here writes anything.

A draft is private: it holds the snapshot it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import GuaranteeBroken, ParameterError, Unprotected, count_of
from reissue.guarantees import Guarantee, SeriesGuarantee, Verdict
from reissue.methods.base import Method
from reissue.model.domain import COUNTERFEIT, GROUP, OWN, PERSON, Domain, sort_of
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import Memory, Prefixed, Remembered
from reissue.model.published import Published
from reissue.model.schema import Schema
from reissue.model.showing import shown
from reissue.model.snapshot import Delta, Snapshot
from reissue.publishing.barred import all_rows, without_barred
from reissue.publishing.checking import Secrets, checked
from reissue.publishing.gate import Passage
from reissue.publishing.notes import notes_of
from reissue.publishing.policy import Policy
from reissue.publishing.refusals import check_changes, check_feasible, check_protection, check_registry
from reissue.publishing.seal import seal_of
from reissue.tables.coding import Coded, code_table
from reissue.tables.frames import Library, read_table
from reissue.tables.people import KnownPeople
from reissue.tables.recode import Recoded, anatomise, generalise, view_of
from reissue.tables.registered import Registry, code_registered, read_registry, with_values

Progress = Callable[[str], None]
"""Called with the name of each stage when it begins."""


@dataclass(frozen=True, repr=False)
class History:
    """What the private side of a series knows before a release."""

    number: int = 0
    """The number of the last release; 0 when there is none."""
    mark: str = ""
    """The mark of the last release, which no release of another series has."""
    policy_version: int = 1
    people: KnownPeople | None = None
    """Everyone known so far."""
    next_number: int = 0
    """The number the next new person gets."""
    last: pl.DataFrame | None = None
    """The rows of the last release, with person numbers."""
    facts: pl.DataFrame | None = None
    """The values of the last release, with person numbers, where they are not in its rows."""
    extinct: pl.DataFrame | None = None
    """Those who have died or left for ever: `person` (a number)."""
    domain: Domain = field(default_factory=Domain)
    memory: Memory = field(default_factory=dict)
    """What the method of the last release remembered."""
    checks: Memory = field(default_factory=dict)
    """What the checkers of its promises remembered."""
    method: str | None = None
    """The name of the method that made the last release."""
    protected: bool = True
    """Whether all releases so far are protected together."""
    held_back: pl.DataFrame | None = None
    """Who was held back from the last release: `person` (a number), `reason`, `since`."""
    adopted: int = 0
    """How many releases, the first ones, were made elsewhere."""
    barred: pl.DataFrame | None = None
    """Those who are never published again because of them: `person` (a number)."""
    key: bytes | None = None
    """The key for hashed ids."""


@dataclass(frozen=True, repr=False)
class Draft:
    """A release that is ready to be committed, with everything private about it."""

    parent: int
    """The number of the release it follows."""
    parent_mark: str
    """The mark of that release: a draft fits no other series, and none with another history."""
    policy: Policy
    policy_version: int
    snapshot: Snapshot
    grouping: Grouping
    recoded: Recoded
    view: Published
    """The release as the outsider sees it at worst."""
    delta: Delta
    memory: Remembered
    checks: Remembered
    protected: bool
    """Whether all releases of the series, this one included, are protected together."""
    domain: Domain
    new_people: pl.DataFrame
    """Those who are in the series for the first time: `number`, `id`."""
    rows: pl.DataFrame
    """The snapshot with person numbers and public group numbers, as it is kept; no group for those withheld."""
    facts: pl.DataFrame | None
    """The values with person numbers, where people may have several or none and the rows are everybody registered."""
    extinct: pl.DataFrame | None
    """Those who have died or left for ever: `person` (a number)."""
    counterfeits: pl.DataFrame | None
    """The counterfeits with their numbers and public group numbers."""
    held_back: pl.DataFrame | None
    """Who is withheld: `person` (a number), `reason`, `since` (a release)."""
    changed: pl.DataFrame | None
    """Who is published with another value: `person` (a number) and the sensitive column as published; where people may
    have several values, also which one is meant (`own`)."""
    verdicts: tuple[Verdict, ...]
    """What the checkers of the method's guarantees found."""
    notes: tuple[str, ...]
    """What the publisher should look at before committing."""
    seed: str
    library: Library
    seal: str
    """The seal on the tables as they were checked."""
    adopted: int = 0
    """How many releases, the first ones, were made elsewhere."""
    barred: bool = False
    """Whether there are people who are never published again because of them."""
    passage: Passage | None = None
    """What the policy's gate said; None where there is none, or it was not asked."""
    anew: bool = False
    """Whether method and checkers started again, without what they knew of earlier releases."""

    @property
    def number(self) -> int:
        """The number the release will have."""
        return self.parent + 1

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """What would be published."""
        return self.recoded.tables

    @property
    def summary(self) -> dict[str, Any]:
        """Counts about the release; private, because changes between releases are."""
        sizes = self.recoded.groups.rows
        registered = {} if self.facts is None else {"registered": len(self.snapshot)}
        return {
            "number": self.number,
            "method": self.policy.method.name,
            "form": self.policy.form,
            "people": self.snapshot.present,
            **registered,
            "rows": int(sizes.sum()),
            "groups": self.grouping.count,
            "smallest_group": int(sizes.min()),
            "average_group": round(float(sizes.mean()), 3),
            "largest_group": int(sizes.max()),
            "counterfeits": 0 if self.counterfeits is None else self.counterfeits.height,
            "held_back": self._held_back(),
            "replaced": 0 if self.changed is None else self.changed.height,
            **({} if self.facts is None else {"elsewhere": len(self.grouping.elsewhere or ())}),
            "changes": self.delta.counts(),
            "guarantees": {verdict.guarantee: verdict.explanation for verdict in self._standing(not self.anew)},
            "notes": list(self.notes),
            **({} if self.passage is None else {"gate": self.passage.summary()}),
        }

    def _held_back(self) -> dict[str, dict[str, int]]:
        """How many are held back for each reason, and how many releases the longest has waited."""
        if self.held_back is None:
            return {}
        waits = self.held_back.group_by("reason").agg(pl.len().alias("people"), pl.col("since").min()).sort("reason")
        return {
            row["reason"]: {"people": row["people"], "longest_wait": self.number - row["since"] + 1}
            for row in waits.iter_rows(named=True)
        }

    @property
    def manifest(self) -> dict[str, Any]:
        """What the public record says about the release."""
        return {
            "method": _without_labels(self.policy.to_dict()["method"]),
            "form": self.policy.form,
            "columns": {
                **{name: sort_of(kind) for name, kind in self.policy.schema.quasi.items()},
                **dict.fromkeys(self.policy.schema.as_is, "as it is"),
            },
            "series": "protected" if self.protected else "unprotected",
            "guarantees": [verdict.guarantee for verdict in self._standing(self.protected)],
            "policy_version": self.policy_version,
            "rows": int(self.recoded.groups.rows.sum()),
            "groups": self.grouping.count,
            **({"adopted": self.adopted} if self.adopted else {}),
            **({"warnings": warnings} if (warnings := self._warnings()) else {}),
        }

    def _standing(self, whole: bool) -> list[Verdict]:
        """What holds of the release; promises about a series only where they hold for the whole of it."""
        judged = zip(self.policy.guarantees(), self.verdicts, strict=True)
        return [verdict for one, verdict in judged if whole or not isinstance(one, SeriesGuarantee)]

    def _warnings(self) -> list[str]:
        """What a reader of the public record must know about the promises."""
        own = list(self.policy.method.warnings())
        if self.adopted and self.protected:
            own.append(
                f"{count_of(self.adopted, 'release')} before the first one made here came from elsewhere: the promises "
                "are for everybody who is in a release made here."
            )
        return own

    def seal_now(self) -> str:
        """The seal on the tables as they are; another one than `seal` if somebody changed them."""
        return _sealed(self.tables, self.changed, self.parent, self.parent_mark)

    def published(self) -> Published:
        """The outsider's view of this release alone."""
        return self.view

    def __repr__(self) -> str:
        rows = int(self.recoded.groups.rows.sum())
        return f"Draft(release {self.number}: {rows:,} rows in {self.grouping.count:,} groups)"


def make_draft(
    table: object,
    policy: Policy,
    history: History,
    *,
    registry: object = None,
    extinct: Iterable[object] | None = None,
    seed: int | None = None,
    show_values: bool = False,
    progress: Progress = lambda stage: None,
) -> Draft:
    """Read, code, group, recode and check a table; raise if it cannot or must not be published."""
    method = policy.method
    guarantees = policy.guarantees()
    continues, protected = _protection(policy, history)
    check_registry(method, registry is not None or extinct is not None)
    listed = read_registry(registry, extinct, policy.schema) if method.takes.registry else None
    coded, library = _read(table, listed, policy.schema, history, show_values, progress)
    snapshot = coded.snapshot
    rows, facts = snapshot.frame(), None if snapshot.owner is None else snapshot.facts()
    delta = _delta(rows, facts, policy.schema.sensitive, history)
    check_changes(method, delta, history)
    snapshot = snapshot.for_form(policy.form)
    eligible, delta_of_eligible = without_barred(snapshot, delta, history.barred)
    check_feasible(eligible, guarantees, goes_on=bool(history.number) and method.protects_series and continues)
    progress("Grouping people")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed < 0):
        raise ParameterError(f"The 'seed' parameter must be a whole number of at least 0. Got {seed!r} instead.")
    sequence = np.random.SeedSequence(seed)
    rng = np.random.default_rng(sequence)
    grouping, memory = method.group(eligible, delta_of_eligible, history.memory if continues else {}, rng)
    grouping = all_rows(grouping, snapshot, eligible)
    progress("Recoding")
    recode = generalise if policy.form == "generalised" else anatomise
    released, groups = shown(snapshot, grouping)
    recoded = recode(released, groups, history.number + 1, classes=_by_class(guarantees))
    progress("Checking guarantees")
    anew = {history.number + 1: snapshot.people[grouping.anew]}
    view = view_of(released, recoded.groups)
    if grouping.roles is not None:
        grouping = replace(grouping, roles=grouping.roles.numbered(_public_numbers(grouping, recoded)))
    secrets = Secrets(anew, released, grouping.roles)
    verdicts, checks = checked(guarantees, view, history.checks if continues else {}, secrets)
    broken = [f"{verdict.guarantee}: {verdict.explanation}" for verdict in verdicts if not verdict.holds]
    if broken:
        raise GuaranteeBroken(
            f"{method.name} gave a release that breaks its own promises; nothing is published.",
            problems=broken,
            hint="this is a mistake in the method, not in the table; please report it.",
        )
    recoded = _disclosed(recoded, policy)
    counterfeits, held_back = _counterfeits(grouping, recoded), _held_back(grouping, snapshot, history)
    changed = _changed(grouping, snapshot)
    return Draft(
        parent=history.number,
        parent_mark=history.mark,
        policy=policy,
        policy_version=history.policy_version,
        snapshot=snapshot,
        grouping=grouping,
        recoded=recoded,
        view=view,
        delta=delta,
        memory=memory,
        checks=checks,
        protected=protected,
        domain=coded.domain,
        new_people=_new_people(history, coded.new_ids),
        rows=rows.with_columns(_public_group(grouping, recoded)),
        facts=None if facts is None else facts.with_columns(_group_of_values(grouping, recoded, snapshot)),
        extinct=coded.extinct if coded.extinct is not None and coded.extinct.height else None,
        counterfeits=counterfeits,
        held_back=held_back,
        changed=changed,
        verdicts=verdicts,
        notes=notes_of(
            method,
            grouping,
            snapshot,
            delta,
            counterfeits,
            held_back,
            changed,
            form=policy.form,
            protected=protected,
            anew=method.protects_series and not continues,
            unregistered=listed is not None and listed.people is None,
            gone=_left_registry(history, snapshot),
        ),
        seed=str(sequence.entropy),
        library=library,
        seal=_sealed(recoded.tables, changed, history.number, history.mark),
        adopted=history.adopted,
        barred=history.barred is not None,
        anew=not continues,
    )


def _sealed(tables: Mapping[str, pl.DataFrame], changed: pl.DataFrame | None, parent: int, mark: str) -> str:
    """The seal on what was checked, and on what it says that is not true."""
    return seal_of({**tables, "changed": changed}, str(parent), mark)


def in_the_way(policy: Policy, history: History) -> tuple[str, ...]:
    """Why the next release will be refused, whatever the table."""
    try:
        _protection(policy, history)
    except Unprotected as error:
        return tuple(error.problems) or (error.what,)
    return ()


def _protection(policy: Policy, history: History) -> tuple[bool, bool]:
    """Whether method and checkers go on from what they know, and whether the series stays protected; or a refusal."""
    method = policy.method
    obstacles = _obstacles(method, policy.guarantees(), history)
    protected = method.protects_series and not obstacles and (history.protected or not history.number)
    check_protection(policy, history, protected, obstacles)
    return not obstacles, protected


def _obstacles(method: Method, guarantees: tuple[Guarantee, ...], history: History) -> list[str]:
    """Why the method and its checkers cannot go on from what they remember, if they cannot."""
    if not history.number:
        return []
    if history.method != method.name:
        return [f"release {history.number} was made by {history.method}"]
    following = [guarantee for guarantee in guarantees if isinstance(guarantee, SeriesGuarantee)]
    found = [guarantee.obstacle(Prefixed(history.checks, f"{guarantee.name}_")) for guarantee in following]
    return [obstacle for obstacle in found if obstacle]


def _by_class(guarantees: tuple[Guarantee, ...]) -> bool:
    """Whether a checker must know who has the same quasi-identifiers; those of other packages need not say."""
    return any(getattr(guarantee, "by_class", False) for guarantee in guarantees)


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
    last = None if history.facts is None else history.last
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
    if history.held_back is None:
        return frame.with_columns(since=pl.lit(number, dtype=pl.UInt32)).sort("person")
    waited = frame.join(history.held_back.select("person", "since"), on="person", how="left")
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


def _disclosed(recoded: Recoded, policy: Policy) -> Recoded:
    """With the number of counterfeits in each group, where the policy discloses it (Xiao & Tao's relation R)."""
    if "counterfeits" not in policy.disclose:
        return recoded
    release = recoded.groups
    made = np.add.reduceat(release.members < 0, release.member_starts[:-1]).astype(np.uint32)
    groups = np.flatnonzero(made)
    table = pl.DataFrame({"group": (groups + 1).astype(np.uint32), "count": made[groups]})
    return replace(recoded, tables={**recoded.tables, "counterfeits": table})


def _read(
    table: object, registry: Registry | None, schema: Schema, history: History, show_values: bool, progress: Progress
) -> tuple[Coded, Library]:
    """Read and code a table; of a file nothing but the codes stays in memory."""
    progress("Reading the table")
    frame, library = read_table(table, text=schema.texts)
    progress("Reading columns")
    given: Any = {
        "people": history.people,
        "next_number": history.next_number,
        "domain": history.domain,
        "key": history.key,
        "show_values": show_values,
    }
    if registry is None:
        return code_table(frame, schema, **given), library
    last = history.last if history.facts is not None else None
    return code_registered(frame, registry, schema, last=last, dead=history.extinct, **given), library


def _delta(rows: pl.DataFrame, facts: pl.DataFrame | None, sensitive: str, history: History) -> Delta:
    """What changed about those who are in the table; of several values of a person, whether any of them did."""
    last = history.last
    if last is not None and history.facts is not None:
        last = with_values(last, history.facts, sensitive)
    if facts is not None:
        rows = with_values(rows, facts, sensitive)
    return Delta.between(last, rows, sensitive, known=history.next_number, since=history.number)


def _without_labels(method: dict[str, Any]) -> dict[str, Any]:
    """A method's parameters for the public record: protected sets name values of a private column."""
    constraints = [
        {**constraint, "protect": len(constraint["protect"])} if "protect" in constraint else constraint
        for constraint in method.get("constraints", [])
    ]
    return {**method, "constraints": constraints} if constraints else method


def _new_people(history: History, new_ids: pl.Series) -> pl.DataFrame:
    numbers = np.arange(history.next_number, history.next_number + new_ids.len(), dtype=np.uint32)
    return pl.DataFrame({"number": numbers, "id": new_ids})
