"""What the ledger keeps of a draft, and the way back: its rows, its snapshot, the history it leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import ParameterError, SeriesError, count_of
from reissue.guarantees import SeriesGuarantee
from reissue.ledger import Entry, Ledger, Record
from reissue.methods import incremental
from reissue.model.domain import COUNTERFEIT, GROUP, OWN, PERSON, Domain
from reissue.model.grouping import HELD_BACK, Changed, Counterfeits, Elsewhere, Grouping
from reissue.model.hierarchy import MISSING
from reissue.model.memory import KEPT, Memory, Prefixed
from reissue.model.pieces import Table
from reissue.model.release import Release
from reissue.model.schema import Numeric, Schema
from reissue.model.showing import codes_of, with_counterfeits
from reissue.model.snapshot import Snapshot
from reissue.publishing.checking.known_states import state_of
from reissue.publishing.draft import LATEST_PERIOD, LOST_RELEASES, Draft, PrivateTables
from reissue.publishing.history import History, Last
from reissue.publishing.policy import Policy
from reissue.tables.coding import KnownBefore, restore
from reissue.tables.people import KnownPeople

SNAPSHOT = "snapshot"
DOMAIN = "domain"
FACTS = "facts"
"""The values, where people may have several or none: then the snapshot is everybody registered."""
EXTINCT = "extinct"
"""Those who have died or left for ever, as was said."""
COUNTERFEITS = "counterfeits"
HELD = "held-back"
CHANGED = "changed-values"
"""Who was published with another value, and with which."""
MEMORY = "memory-"
CHECKS = "check-"
LISTS = MEMORY + incremental.LISTS
"""Who waits in which list, where a method keeps lists."""
VALUES = "adopted-values"
"""Of a release made elsewhere: how often each group has each value. Who has which is not known."""
FORMATS = "formats"
"""In the private summary: the format of what the method remembers, and of what each checker has seen."""
MADE_BY = "tables_made_by"
"""In the private summary of such a release: the method that made the tables it keeps from the one before."""
STATE = "state"
"""In the private summary: the digest of the table, by which the same state is known again."""
BARRED = "barred"
"""Those who are never published again because of such releases."""


def entry(draft: Draft, time: datetime, override: str | None = None) -> Entry:
    """A draft as the ledger takes it; `override` is the reason why it passes a gate that did not let it."""
    looked = draft.judged.looked
    return Entry(
        policy_version=draft.continues.policy_version,
        manifest=draft.manifest,
        public=draft.recoded.written,
        private={
            **_tables(draft.private),
            **({BARRED: KEPT} if draft.barred else {}),
            **{MEMORY + name: table for name, table in draft.memory.items()},
            **{CHECKS + name: table for name, table in draft.checks.items()},
        },
        # The ids of others do not come from the draft: who was forgotten since it was made stays forgotten.
        people=draft.new_people if draft.new_people.height else None,
        summary={
            **(draft.summary if override is None else _overridden(draft, override)),
            FORMATS: formats(draft.policy),
            **({} if looked is None else {STATE: looked.state}),
        },
        seed=draft.seed,
        time=time,
        events=[
            *([] if override is None else [("overrode", f"the gate of release {draft.number}")]),
            *([] if looked is None else looked.events(draft.number)),
        ],
    )


def states(ledger: Ledger, people: int) -> dict[int, str]:
    """The states of the releases so far, by their numbers, as far as they are known and may be those of so many people.

    Releases of an older version kept none: those of as many people are looked at.
    """
    found = {}
    for record in ledger.releases():
        if STATE in record.summary:
            found[record.number] = str(record.summary[STATE])
        elif record.summary.get("people") == people and not record.lost:
            tables = ledger.tables(record.number)
            if SNAPSHOT in tables and VALUES not in tables:
                found[record.number] = state_of(tables[SNAPSHOT], tables.get(FACTS), tables.get(EXTINCT))
    return found


def formats(policy: Policy) -> dict[str, int]:
    """The formats of what the method and the checkers of a policy remember, in the versions that are installed."""
    following = [one for one in policy.guarantees() if isinstance(one, SeriesGuarantee)]
    return {"memory": policy.method.memory_format, **{one.name: one.state_format for one in following}}


def _check_formats(record: Record, policy: Policy, method: str) -> None:
    """Refuse to go on from what a newer version of the method, or of a checker, remembers of a release."""
    # Series of 0.1 keep no formats, which were all 1. What the policy does not name any more is not read.
    written: Any = record.summary.get(FORMATS, {})
    for name, known in formats(policy).items():
        owner = policy.method.name if name == "memory" else name
        if (found := written.get(name, 1)) > known and (name != "memory" or method == owner):
            raise SeriesError(
                f"Release {record.number} was written by a newer version: what {owner} remembers of it has format "
                f"{found}, and the one installed knows formats up to {known}.",
                hint=f"upgrade reissue: `pip install --upgrade reissue`. If {owner} is of another package, upgrade "
                "that one.",
            )


def _tables(private: PrivateTables) -> dict[str, Table]:
    """The private tables that there are, by the names that they are kept under."""
    named = {
        SNAPSHOT: private.rows,
        DOMAIN: private.domain.frame(),
        FACTS: private.facts,
        EXTINCT: private.extinct,
        COUNTERFEITS: private.counterfeits,
        HELD: private.held_back,
        CHANGED: private.changed,
    }
    return {name: table for name, table in named.items() if table is not None}


def _overridden(draft: Draft, reason: str) -> dict[str, Any]:
    gate = draft.policy.gate
    never_run = {} if gate is None else {**gate.to_dict(), "verdict": "never run", "found": []}
    return {**draft.summary, "gate": {**draft.summary.get("gate", never_run), "override": reason}}


def as_release(draft: Draft) -> Release:
    """A draft as if it had been committed, for a look at the series with it."""
    return Release(
        draft.number,
        datetime.now(UTC),
        Path(),
        draft.manifest,
        draft.summary,
        lambda: dict[str, Any](draft.recoded.tables),
    )


def history(ledger: Ledger, policy: Policy, policy_version: int, key: bytes | None) -> History:
    """What the next draft, under this policy, goes on from."""
    record = ledger.last()
    if record is None:
        return History(policy_version=policy_version, known=KnownBefore(key=key))
    manifest: Any = record.manifest
    lost: Any = record.summary.get(LOST_RELEASES, [])
    latest: Any = record.summary.get(LATEST_PERIOD)
    retracted = tuple(sorted(ledger.retracted()))
    tables = ledger.tables(record.number, inherited=True)
    if SNAPSHOT not in tables:  # lost, with all before it
        nothing = History(record.number, record.mark, policy_version, KnownBefore(key=key))
        return replace(nothing, protected=False, lost=tuple(lost), retracted=retracted, latest=latest)
    method = made_by(record)
    _check_formats(record, policy, method)
    rows = tables[SNAPSHOT].drop(GROUP)
    count = ledger.next_number()
    people = KnownPeople(ledger.ids, count, rows[PERSON], None if key is None else ledger.plain_ids)
    return History(
        number=record.number,
        mark=record.mark,
        policy_version=policy_version,
        known=KnownBefore(people, count, Domain.from_frame(tables[DOMAIN]), key),
        last=Last(rows, tables.get(FACTS), tables.get(EXTINCT), tables.get(HELD)),
        memory=Prefixed(tables, MEMORY),
        checks=Prefixed(tables, CHECKS),
        method=method,
        protected=manifest["series"] in ("protected", "adopted") and not lost,
        adopted=manifest.get("adopted", 0),
        barred=tables.get(BARRED),
        lost=tuple(lost),
        retracted=retracted,
        latest=latest,
    )


def memory(ledger: Ledger, number: int) -> Memory:
    """What the method of a release remembers of it."""
    return Prefixed(ledger.tables(number, inherited=True), MEMORY)


def made_by(record: Record) -> str:
    """The method that made the private tables of a release."""
    manifest: Any = record.manifest
    # A method that adopted releases goes on from them as if it had made them.
    own = record.summary.get("adopted_by", manifest["method"].get("name"))
    return str(record.summary.get(MADE_BY, own))


def existing(ledger: Ledger, number: int) -> Record:
    """The record of a release; an error if there is none of this number."""
    records = ledger.releases()
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(records):
        raise ParameterError(f"There is no release {number}: the series has {count_of(len(records), 'release')}.")
    return records[number - 1]


def domain(ledger: Ledger, number: int) -> Domain:
    """The labels and bounds known when a release was made."""
    tables = ledger.tables(number, inherited=True)
    return Domain.from_frame(tables[DOMAIN]) if DOMAIN in tables else Domain()


def rows(ledger: Ledger, number: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The people of a release with their groups, null for those held back, and its counterfeits."""
    tables = ledger.tables(number)
    return tables[SNAPSHOT], tables.get(COUNTERFEITS)


def table(ledger: Ledger, number: int, schema: Schema) -> pl.DataFrame:
    """The table of a release as it could be handed in again, with numbers for ids; everybody has one value."""
    frame = rows(ledger, number)[0].drop(GROUP).rename({PERSON: schema.person})
    labels = [name for name, kind in schema.kinds.items() if not isinstance(kind, Numeric)]
    return frame.with_columns(pl.col(labels).cast(pl.String).replace({MISSING: None}))


def members(ledger: Ledger, number: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """The people who are in a release, and its counterfeits: of those registered, who has a value."""
    people, made = rows(ledger, number)
    facts = ledger.tables(number).get(FACTS)
    return (people if facts is None else people.join(facts, on=PERSON, how="semi")), made


def roles(ledger: Ledger, number: int) -> pl.DataFrame:
    """Who played which role in a release, by person `number`."""
    from reissue.methods.hd_composition import hd_composition  # no other method needs it

    tables = ledger.tables(number)
    if MEMORY + hd_composition.ROLES not in tables:
        raise ParameterError(f"Release {number} has no roles: they belong to HDComposition.")
    present = tables[FACTS][PERSON].unique().cast(pl.UInt32)
    frame = hd_composition.roles_of(Prefixed(tables, MEMORY))
    return frame.with_columns(present=pl.col("number").is_in(present.implode()))


def shown_rows(
    ledger: Ledger, number: int, sensitive: str, *, whole: bool = False
) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
    """The rows of a release for the outsider's view, which tells how often a group has a value and not who has it.

    They have the values that were published. Of a release made elsewhere no others are known: values are dealt out
    within each group as they come. Then its counterfeits, and its values where they are not in the rows. Unless
    `whole`, rows come without quasi-identifiers.
    """
    tables = ledger.tables(number)
    own = [PERSON, GROUP, *([] if VALUES in tables or FACTS in tables else [sensitive])]
    people, made = tables[SNAPSHOT] if whole else tables.columns(SNAPSHOT, own), tables.get(COUNTERFEITS)
    if VALUES in tables:
        return dealt_out(people, tables[VALUES], sensitive), made, None
    if FACTS in tables:
        return people, made, as_published(tables[FACTS], tables.get(CHANGED), sensitive)
    return as_published(people, tables.get(CHANGED), sensitive), made, None


def as_published(people: pl.DataFrame, changed: pl.DataFrame | None, sensitive: str) -> pl.DataFrame:
    """The people of a release with the values they were published with."""
    if changed is None:
        return people
    key = {PERSON: "person", **({sensitive: OWN} if OWN in changed.columns else {})}
    instead = changed.select(pl.col(old).alias(new) for new, old in key.items()).with_columns(
        changed[sensitive].alias("instead")
    )
    instead = instead.with_columns(pl.col(name).cast(people.schema[name]) for name in key)
    shown = people.join(instead, on=list(key), how="left", maintain_order="left")
    # A value that was put in place is never a missing one.
    return shown.with_columns(pl.coalesce("instead", sensitive).alias(sensitive)).drop("instead")


def dealt_out(people: pl.DataFrame, values: pl.DataFrame, sensitive: str) -> pl.DataFrame:
    """People with the values of their groups, each as often as it was published, in no particular order."""
    each = values.sort(GROUP, sensitive).select(pl.col(sensitive).repeat_by("count").explode())
    return people.sort(GROUP, PERSON).with_columns(each[sensitive])


def held_back(ledger: Ledger, number: int) -> pl.DataFrame:
    """Person `number`, `reason` and `since` of those held back from a release."""
    tables = ledger.tables(number)
    if HELD in tables:
        return tables[HELD].rename({"person": "number"})
    return pl.DataFrame(schema={"number": pl.UInt32, "reason": pl.String, "since": pl.UInt32})


def replaced(ledger: Ledger, number: int, sensitive: str) -> pl.DataFrame:
    """Person `number`, own `value` and the one `published` of those who were published with another one."""
    tables = ledger.tables(number)
    if VALUES in tables:
        # An empty table would say that nobody's was replaced, which nobody here knows.
        raise ParameterError(
            f"Release {number} was made elsewhere: which values it replaced is not known.",
            hint="ask for a release that was published in this series.",
        )
    own = tables[FACTS] if FACTS in tables else tables[SNAPSHOT]
    people = own.select(pl.col(PERSON).cast(pl.UInt32).alias("number"), pl.col(sensitive).alias("value"))
    changed = tables.get(CHANGED)
    if changed is None:
        return people.head(0).with_columns(published=pl.col("value"))
    if OWN in changed.columns:
        return changed.select(pl.col("person").alias("number"), pl.col(OWN).alias("value"), published=pl.col(sensitive))
    return people.join(changed.rename({"person": "number", sensitive: "published"}), on="number")


def snapshot(ledger: Ledger, number: int, policy: Policy) -> tuple[Snapshot, Grouping]:
    """The people of a release, then its counterfeits, with their groups as they were; people with their own values."""
    people, made = rows(ledger, number)
    group = people[GROUP].cast(pl.Int64).fill_null(0).to_numpy().astype(np.int32) - 1
    facts = ledger.tables(number).get(FACTS)
    restored = restore(people, policy.schema, domain(ledger, number), facts).for_form(policy.form)
    if made is not None:
        groups = made[GROUP].to_numpy().astype(np.int32) - 1
        numbers = made[COUNTERFEIT].to_numpy().astype(np.int64)
        restored = with_counterfeits(restored, Counterfeits(numbers, groups, made.drop(COUNTERFEIT, GROUP)))
        group = np.concatenate([group, groups])
    held = np.flatnonzero(group == HELD_BACK)
    changed = _changed(ledger.tables(number).get(CHANGED), restored)
    held_back = {"held back": held} if held.size else {}
    count = int(group.max()) + 1
    elsewhere = None if facts is None else _elsewhere(facts, group, restored)
    return restored, Grouping(group, count, held_back=held_back, changed=changed, elsewhere=elsewhere)


def _elsewhere(facts: pl.DataFrame, group: npt.NDArray[np.int32], snapshot: Snapshot) -> Elsewhere | None:
    shown = facts[GROUP].to_numpy().astype(np.int32) - 1
    rows = np.flatnonzero(shown != group[snapshot.owners])
    return Elsewhere(rows, shown[rows]) if rows.size else None


def _changed(changed: pl.DataFrame | None, snapshot: Snapshot) -> Changed | None:
    if changed is None:
        return None
    people, whose = changed["person"].to_numpy().astype(np.int64), snapshot.people[snapshot.owners]
    if OWN in changed.columns:
        # Of several values of a person the one that was replaced.
        width = int(snapshot.values.codes.max(initial=0)) + 1
        whose = whose * width + snapshot.values.codes
        people = people * width + codes_of(changed[OWN], snapshot.values.levels)
    order = np.argsort(whose, kind="stable")
    rows = order[np.searchsorted(whose, people, sorter=order)]
    codes = codes_of(changed[snapshot.values.name], snapshot.values.levels)
    by_row = np.argsort(rows)
    return Changed(rows[by_row], codes[by_row])
