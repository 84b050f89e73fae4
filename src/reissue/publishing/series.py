"""Series: open, draft, commit, publish, and look at what went out.

series = ri.open("clinic/", policy)
release = series.publish(january)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

import polars as pl

from reissue.errors import NotASeries, ParameterError, PolicyChanged, SeriesDamaged, StaleDraft, count_of, listed
from reissue.ledger import Finding, Ledger, PolicyVersion, Record
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON
from reissue.model.published import Published
from reissue.model.release import Release
from reissue.model.rules import Rows
from reissue.publishing import archive
from reissue.publishing.barred import forgotten_barred
from reissue.publishing.drafting import Draft, History, Progress, in_the_way, make_draft
from reissue.publishing.gate import Gate, written_reason
from reissue.publishing.inspection import Past, Sight, at_gate, let_through, to_commit, with_drawn
from reissue.publishing.keys import key_of, with_absolute_key
from reissue.publishing.policy import Policy
from reissue.publishing.refusals import check_amendment, never_without
from reissue.tables.coding import check_key
from reissue.tables.frames import Library, to_library
from reissue.tables.identities import plain_id, pseudonym
from reissue.tables.people import numbers_of

if TYPE_CHECKING:
    from fractions import Fraction

    from reissue.attacks import Attack
    from reissue.auditing.report import AuditReport
    from reissue.model.knowledge import Knowledge
    from reissue.utility import Utility, Workload


def open(folder: str | Path, policy: Policy | str | Path | None = None, *, frames: Library = "polars") -> Series:
    """Open the series in a folder; with a policy, create it there if there is none.

    `policy` is a Policy or the path of a policy file. For an existing series it may be left out; if given, it must be
    the one the series runs under. `frames` is the library that tables come back in (a release you publish: yours).
    """
    if frames not in get_args(Library):
        raise ParameterError(
            f"The 'frames' parameter of open must be one of {listed(get_args(Library))}. Got {frames!r} instead."
        )
    if isinstance(policy, str | Path):
        policy = Policy.read(policy)
    if policy is not None:
        policy = with_absolute_key(policy)
    ledger = _open_or_create(folder, policy)
    try:
        series = Series(Path(folder), ledger, frames)
        if policy is not None:
            series._require(policy)
    except BaseException:
        ledger.close()
        raise
    return series


def _open_or_create(folder: str | Path, policy: Policy | None) -> Ledger:
    if policy is None:
        return Ledger.open(folder)
    with suppress(NotASeries):
        return Ledger.open(folder)
    return Ledger.create(folder, policy.to_toml())


def draft(
    table: object,
    policy: Policy,
    *,
    gate: bool = True,
    progress: Progress = lambda stage: None,
    **given: Any,
) -> Draft:
    """Compute a release of this table, the first of a series that need not exist yet; see `Series.draft`."""
    policy = with_absolute_key(policy)
    made = make_draft(table, policy, History(key=key_of(policy, None)), progress=progress, **given)
    return let_through(at_gate(made, progress=progress)[0]) if gate else made


class Series:
    """One folder, one table about people, published again and again."""

    def __init__(self, folder: Path, ledger: Ledger, frames: Library = "polars") -> None:
        self.folder = folder
        """Where the series lies on disk."""
        self._ledger = ledger
        self._frames: Library = frames
        self._policies: dict[int, Policy] = {}
        """The versions of the policy that were parsed so far: a version never changes."""
        self._policy_version = ledger.policy
        self._policy = self._parsed(self._policy_version)

    def __repr__(self) -> str:
        return f"Series('{self.folder}', {self._policy.method!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        self._ledger.close()

    # Publishing

    @property
    def policy(self) -> Policy:
        """The policy the series runs under."""
        return self._policy

    def draft(
        self,
        table: object,
        *,
        registry: object = None,
        extinct: Iterable[object] | None = None,
        seed: int | None = None,
        show_values: bool = False,
        gate: bool = True,
        progress: Progress = lambda stage: None,
    ) -> Draft:
        """Compute the next release of this table without committing anything.

        The draft is private: it holds the table. `seed` makes the method's random choices repeatable; by
        default they come from the operating system, which is what you want for a real release. Where the policy has a
        gate, GateClosed is raised for a draft that it does not let pass; with `gate=False` it is not asked.
        Methods for permanent values take a `registry`, a table of everybody with their present quasi-identifiers,
        in the table or not, and the ids of those who are `extinct`: dead, or gone for ever.
        """
        policy = self._current_policy()
        if self._ledger.policy_file_differs():
            raise PolicyChanged(
                f"The file policy.toml in '{self.folder}' is not the policy the series runs under.",
                hint="record the change with series.amend(policy, reason) or `reissue amend`, or undo it.",
            )
        given: Any = {"registry": registry, "extinct": extinct, "seed": seed, "show_values": show_values}
        made = make_draft(table, policy, self._history(), progress=progress, **given)
        return let_through(self.at_gate(made, progress=progress)[0]) if gate else made

    def at_gate(self, draft: Draft, *, progress: Progress = lambda stage: None) -> tuple[Draft, AuditReport | None]:
        """A draft that remembers what the gate of the policy says about it, and the report; nothing is raised."""
        self._check_continues(draft)
        return at_gate(draft, self._past() if draft.policy.gate else None, progress=progress)

    def commit(self, draft: Draft, *, time: datetime | None = None, override: str | None = None) -> Release:
        """Make a draft durable, in one transaction or not at all.

        A draft that the gate of the policy did not let pass, or that was not shown to it, is refused unless
        `override` says in words why it goes out all the same; the ledger keeps that. One whose tables were changed
        after they were checked is always refused.
        """
        reason = written_reason(override, draft.policy.gate)
        with self._ledger.writing():
            return self._release(self._commit(draft, time, reason), draft.library)

    def _commit(self, draft: Draft, time: datetime | None, reason: str | None) -> Record:
        """As the only writer: check that the draft continues this very history, then make it durable."""
        self._check_continues(draft)
        if time is not None and time.tzinfo is None:
            raise ParameterError("The 'time' parameter of commit must have a time zone.")
        draft, reason = to_commit(draft, reason)
        # The policies are the same; a first draft may have been made before the series knew this one.
        draft = replace(draft, policy_version=self._policy_version.version)
        entry = archive.entry(draft, time or datetime.now(UTC), reason)
        return self._ledger.commit(entry, parent=draft.parent)

    def _check_continues(self, draft: Draft) -> None:
        last = self._ledger.last()
        parent = (last.number, last.mark) if last else (0, "")
        if (draft.parent, draft.parent_mark) != parent or draft.policy != self._current_policy():
            raise StaleDraft(
                "The draft does not continue this series: something was committed or the policy changed since, or it "
                "was made for another series.",
                hint="draft again.",
            )

    def writing(self) -> AbstractContextManager[None]:
        """Be the only writer of the series within a block, from before a draft until it is committed."""
        return self._ledger.writing()

    def publish(
        self,
        table: object,
        *,
        registry: object = None,
        extinct: Iterable[object] | None = None,
        seed: int | None = None,
        show_values: bool = False,
        time: datetime | None = None,
        override: str | None = None,
        progress: Progress = lambda stage: None,
    ) -> Release:
        """Draft and commit the next release, as the only writer from beginning to end.

        `override` is the written reason for publishing although the gate may be closed. See `draft` for the rest.
        """
        asked = written_reason(override, self._current_policy().gate) is None
        given: Any = {"registry": registry, "extinct": extinct, "seed": seed, "show_values": show_values}
        with self.writing():
            draft = self.draft(table, gate=asked, progress=progress, **given)
            if not asked:
                draft, _ = self.at_gate(draft, progress=progress)
            progress("Committing")
            return self.commit(draft, time=time, override=override)

    # What went out

    @property
    def releases(self) -> list[Release]:
        """Every release so far, the first one first."""
        return [self._release(record, self._frames) for record in self._ledger.releases()]

    def release(self, number: int) -> Release:
        """One release by its number."""
        return self._release(self._record(number), self._frames)

    def published(self, *, classes: bool = False) -> Published:
        """The outsider's view of the whole series, in person numbers.

        With `classes` it says of releases made here who has the same quasi-identifiers.
        """
        past = self._past()
        own = [release.number for release in past.releases if release.manifest["series"] != "adopted"]
        return past.view(self._policy.schema, classes=own if classes else ())

    def audit(
        self,
        knowledge: Knowledge | None = None,
        *,
        draft: Draft | None = None,
        attacks: Iterable[Attack | str] | None = None,
        limit: float | Fraction | str | None = None,
        seconds: float | None = None,
        compromised: float = 0.0,
        participation: float = 0.0,
        waiting: bool = False,
        seed: int | None = None,
        accept: Iterable[str] | None = None,
        threshold: float = 0.09,
        progress: Progress | None = None,
    ) -> AuditReport:
        """Attack the series as an outsider would; see `ri.audit` for what is not said here.

        `limit` is by default what has been promised about all releases together. At the rate `compromised` people are
        drawn, with `seed`, whose true values the adversary knows; at the rate `participation` people registered of whom
        it is known in which releases they are. With `waiting` the method is known too, and who waited in its lists.
        With a `draft`: together with it, without what the gate leaves out.
        """
        if draft is not None:
            self._check_continues(draft)
        past, schema = self._past(), self._policy.schema
        sight = Sight.of_series(past, schema) if draft is None else Sight.of_draft(draft, past)
        drawn: Any = {"compromised": compromised, "participation": participation, "waiting": waiting, "seed": seed}
        given = with_drawn(knowledge, past, sight.view, schema, draft, **drawn)
        gate = (draft and draft.policy.gate) or Gate()
        return sight.audit(
            given,
            attacks=gate.attacks if attacks is None else attacks,
            limit=gate.probability if limit is None else limit,
            seconds=gate.seconds if seconds is None else seconds,
            accept=gate.accept if accept is None else accept,
            threshold=threshold,
            progress=progress,
        )

    def _past(self) -> Past:
        records = {record.number: record for record in self._ledger.releases()}
        releases = [self._release(record, self._frames) for record in records.values()]
        return Past(self._ledger, releases, lambda number: self._policy_of(records[number]))

    def utility(
        self,
        number: int,
        *,
        workload: Workload | None = None,
        weights: dict[str, float] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Utility:
        """What a release cost: information loss, class sizes and, given a workload, query error."""
        from reissue.utility import measure

        record = self._record(number)
        policy = self._policy_of(record)
        if record.manifest["series"] == "adopted":
            raise ParameterError(f"Release {number} was made elsewhere: its table is not known here.")
        snapshot, grouping = archive.snapshot(self._ledger, number, policy)
        sizes = [rule.k for promise in policy.promises for rule in promise.rules if isinstance(rule, Rows)]
        return measure(
            snapshot.quasi,
            snapshot.values,
            grouping,
            form=policy.form,
            k=max(sizes, default=None),
            weights=weights,
            workload=workload,
            counterfeit=snapshot.people < 0,
            owner=snapshot.owner,
            progress=progress,
        )

    # Private

    def members(self, number: int) -> Any:
        """Private: who was published in which group of a release.

        `person` is null for somebody forgotten and for a counterfeit; `counterfeit` is the number of such a row, the
        same in every release as long as it lives, and null for people. Who was withheld is not in it.
        """
        self._record(number)
        rows, made = archive.members(self._ledger, number)
        people = self._named(rows.select(pl.col(PERSON).alias("number"), pl.col(GROUP).alias("group")).drop_nulls())
        nobody = pl.lit(None, dtype=pl.UInt32).alias("counterfeit")
        frame = people.select("person", "group", nobody)
        if made is not None:
            nameless = pl.lit(None, dtype=frame.schema["person"]).alias("person")
            frame = pl.concat([frame, made.select(nameless, group=GROUP, counterfeit=COUNTERFEIT)])
        return to_library(frame.sort("group", "person", "counterfeit"), self._frames)

    def held_back(self, number: int) -> Any:
        """Private: who was in the table of a release and not in the release.

        `reason` says why, `since` is the release from which on the person has been withheld without a break.
        """
        self._record(number)
        held = archive.held_back(self._ledger, number)
        frame = self._named(held).select("person", "reason", "since").sort("since", "reason", "person")
        return to_library(frame, self._frames)

    def replaced(self, number: int) -> Any:
        """Private: who was published with another sensitive value: `person`, `value` and what was `published`."""
        self._record(number)
        frame = self._named(archive.replaced(self._ledger, number, self._policy.schema.sensitive))
        return to_library(frame.select("person", "value", "published").sort("person"), self._frames)

    def roles(self, number: int) -> Any:
        """Private: who played which role in a release, where the method gives roles (HD-composition).

        `person`, `value`, `role` (holder, heir of a dead one, decoy, buddy), `cohort` (1 for holders), `container`,
        `awake`, `present`. A buddy is somebody who could take over from a decoy or pass for a holder.
        """
        self._record(number)
        frame = self._named(archive.roles(self._ledger, number))
        columns = ("person", "value", "role", "cohort", "container", "awake", "present")
        return to_library(frame.select(columns).sort("value", "container", "cohort", "role", "person"), self._frames)

    def _named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the id for each `number` as `person`; null for someone forgotten."""
        return rows.join(self._ledger.people(), on="number", how="left").rename({"id": "person"})

    def name_of(self, number: int) -> Any:
        """Private: the id (or pseudonym) behind a person number; None for someone forgotten."""
        found = self._ledger.people().filter(pl.col("number") == number)["id"]
        if not found.len():
            raise ParameterError(f"There is no person number {number} in the series.")
        return found.item()

    def id_from_text(self, text: str) -> object:
        """An id typed by hand, in the type that ids have in this series' tables."""
        records = self._ledger.releases()
        if not records:
            return text
        known = archive.domain(self._ledger, records[-1].number).columns[PERSON].type
        if known == "whole numbers" and re.fullmatch(r"\s*-?[0-9]{1,18}\s*", text):
            return int(text)
        return text

    def pseudonym(self, person: object) -> str:
        """The keyed hash that stands for an id in `members`, where the policy keeps hashes."""
        key = key_of(self._policy, self.folder)
        if key is None:
            raise ParameterError("This series keeps ids as they are: there are no pseudonyms.")
        return pseudonym(plain_id(person), key)

    def forget(self, *people: object) -> tuple[str, ...]:
        """Erase the ids of people, all or none; the history keeps their numbers and rows.

        If the same id is ever published again, it counts as a new person. What the publisher must see to because of
        that is returned: somebody who is never to be published again cannot be recognised any more.
        """
        hashed = self._policy.people.ids == "hashed"
        sought = {self.pseudonym(person) if hashed else plain_id(person) for person in people}
        with self._ledger.writing():
            numbers = numbers_of(sought, self._ledger.people())
            notes = (*forgotten_barred(numbers, self._past().barred()), *never_without(self._policy.method))
            self._ledger.forget(numbers)
        return notes

    def amend(self, policy: Policy | str | Path, reason: str) -> PolicyVersion:
        """Record a new version of the policy, with the reason for it; from now on it is the series' own."""
        policy = with_absolute_key(Policy.read(policy) if isinstance(policy, str | Path) else policy)
        if self._ledger.releases():
            check_amendment(self._policy, policy)
        if not self._policy.differences(policy) and not self._ledger.policy_file_differs():
            raise ParameterError("The policy is the series' own already: there is nothing to record.")
        self._check_key(policy)
        version = self._ledger.amend(policy.to_toml(), reason)
        self._policy, self._policy_version = policy, version
        return version

    def in_the_way(self) -> tuple[str, ...]:
        """Why the next release will be refused under the present policy, whatever the table; nothing if it will not."""
        return in_the_way(self._policy, self._history())

    def policies(self) -> list[PolicyVersion]:
        """Every version of the policy."""
        return self._ledger.policies()

    def verify(self) -> list[Finding]:
        """Check every public file and every private table against its hash; an empty list is a clean bill.

        The catalog, which holds the hashes, is checked by SQLite's own means only.
        """
        return self._ledger.verify()

    def _current_policy(self) -> Policy:
        """The policy, read again if somebody else amended it meanwhile."""
        current = self._ledger.policy
        if current.version != self._policy_version.version:
            self._policy_version, self._policy = current, self._parsed(current)
        return self._policy

    def _parsed(self, version: PolicyVersion) -> Policy:
        if version.version not in self._policies:
            self._policies[version.version] = Policy.from_toml(version.toml)
        return self._policies[version.version]

    def _check_key(self, policy: Policy) -> None:
        """The key of a new policy must be there, and be the key of this series."""
        key, records = key_of(policy, self.folder), self._ledger.releases()
        if key is not None and records:
            check_key(key, archive.domain(self._ledger, records[-1].number))

    def _require(self, policy: Policy) -> None:
        differences = self._policy.differences(policy)
        if differences and not self._ledger.releases():
            # Nothing was published under the other one yet, as after a first attempt that failed.
            self.amend(policy, "replaced before the first release")
        elif differences:
            raise PolicyChanged(
                f"The policy given differs from the one the series in '{self.folder}' runs under.",
                problems=[f"it differs in {listed(differences)}"],
                hint="leave the policy out to go on as before, or record the change with series.amend(policy, "
                "reason) or `reissue amend`.",
            )

    def _record(self, number: int) -> Record:
        records = self._ledger.releases()
        if not isinstance(number, int) or not 1 <= number <= len(records):
            raise ParameterError(f"There is no release {number}: the series has {count_of(len(records), 'release')}.")
        return records[number - 1]

    def _release(self, record: Record, library: Library) -> Release:
        stems = [Path(name).stem for name in sorted(record.files) if name.endswith(".parquet")]
        folder, number = self.folder.resolve(), record.number

        def read() -> dict[str, Any]:
            # A ledger of its own, so that a release can still be looked at when its series is closed.
            with Ledger.open(folder, check=False) as ledger:
                ledger.check_public(number)
                return {stem: to_library(ledger.public_table(number, stem), library) for stem in stems}

        return Release(record.number, record.time, record.path, record.manifest, record.summary, read)

    def _history(self) -> History:
        return archive.history(self._ledger, self._policy_version.version, key_of(self._policy, self.folder))

    def _policy_of(self, record: Record) -> Policy:
        """The policy that a release was made under."""
        if record.policy_version in self._policies:
            return self._policies[record.policy_version]
        for version in self._ledger.policies():
            if version.version == record.policy_version:
                return self._parsed(version)
        raise SeriesDamaged(
            f"Release {record.number} was made under policy version {record.policy_version}, which is not recorded."
        )
