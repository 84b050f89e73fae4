"""Series: open, draft, commit, publish, and look at what went out.

series = ri.open("clinic/", policy)
release = series.publish(january)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from reissue.errors import (
    NotASeries,
    ParameterError,
    PolicyChanged,
    SeriesDamaged,
    StaleDraft,
    UserError,
    check_text,
    listed,
)
from reissue.ledger import Discrepancy, Ledger, PolicyVersion, Record
from reissue.model.libraries import Library, check_library, to_library
from reissue.model.published import Published
from reissue.model.release import Release
from reissue.model.rules import Rows
from reissue.publishing import archive
from reissue.publishing.barred import forgotten_barred
from reissue.publishing.checking.allowing import PUBLIC_FILES, Allowed, of_public_files
from reissue.publishing.checking.looking import Looking
from reissue.publishing.checking.order_of_periods import out_of_order
from reissue.publishing.draft import Draft
from reissue.publishing.drafting import Progress, Submission, in_the_way, make_draft
from reissue.publishing.gate import Gate, written_reason
from reissue.publishing.history import History
from reissue.publishing.inspection import (
    Drawn,
    PastReleases,
    Sight,
    Terms,
    ask_for_quasi,
    at_gate,
    check_knowledge,
    to_commit,
    with_reason,
    with_truth,
)
from reissue.publishing.made_up import NOTHING_KNOWN, Recognition
from reissue.publishing.policy import Policy, key_of, with_absolute_paths
from reissue.publishing.private import Private
from reissue.publishing.refusals import check_amendment, never_without, release_time
from reissue.tables.coding import KnownBefore, check_key
from reissue.tables.identities import plain_id
from reissue.tables.people import numbers_of

if TYPE_CHECKING:
    from fractions import Fraction

    from reissue.attacks import Attack
    from reissue.auditing.report import AuditReport
    from reissue.exporting.package import Exported, Format
    from reissue.exporting.sent_hierarchies import Hierarchies
    from reissue.model.knowledge import Knowledge
    from reissue.publishing.given_choices import GivenChoices
    from reissue.publishing.handing_out import Chosen
    from reissue.utility import Ask, SetUtility, Utility, Workload


RETRACTED = (
    "what has left the building cannot be taken back: whoever has the files keeps them",
    "later releases are protected together with it, as if it were out",
    "its files stay in public/ as they are; `reissue export` does not hand them out any more",
)
"""What to say when a release is retracted."""


def open(folder: str | Path, policy: Policy | str | Path | None = None, *, frames: Library = "polars") -> Series:
    """Open the series in a folder; with a policy, create it there if there is none.

    `policy` is a Policy or the path of a policy file. For an existing series it may be left out; if given, it must be
    the one the series runs under. `frames` is the library that tables come back in (a release you publish: yours).
    """
    check_library(frames, "open")
    check_text("The folder of a series", Path(folder).absolute())
    if isinstance(policy, str | Path):
        policy = Policy.read(policy)
    if policy is not None:
        policy = with_absolute_paths(policy)
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
    return Ledger.create(folder, policy.to_toml(), anchor=policy.anchor)


def publish(
    folder: str | Path,
    table: object,
    policy: Policy | str | Path | None = None,
    *,
    registry: object = None,
    extinct: Iterable[object] | Path | None = None,
    seed: int | None = None,
    show_values: bool = False,
    period: str | None = None,
    corrects: int | None = None,
    time: datetime | None = None,
    report: str | Path | None = None,
    override: str | None = None,
    allow: Iterable[str] = (),
    reason: str | None = None,
    progress: Progress = lambda stage: None,
) -> Release:
    """Publish a table as the next release of the series in a folder.

    The first release needs a `policy`, a Policy or the path of a policy file. It creates the series, if it succeeds:
    nothing is made for a table that does not fit, or that the gate does not let pass. See `Series.draft` for the rest.
    """
    given = Submission(table, registry, extinct, seed, show_values, period, corrects)
    terms = Terms(override=override, report=report, allowed=Allowed.of(allow, reason))
    policy = Policy.read(policy) if isinstance(policy, str | Path) else policy
    if policy is None or _has_releases(folder):
        with open(folder, policy) as series:
            return series._publish(given, terms, time, progress)
    made = _first_draft(given, policy, terms, progress)
    progress("Committing")
    with open(folder, policy) as series, series.writing():
        series._check_continues(made)
        return series._commit_own(made, time, override)


def preview(
    folder: str | Path,
    table: object,
    policy: Policy | str | Path | None = None,
    *,
    registry: object = None,
    extinct: Iterable[object] | Path | None = None,
    seed: int | None = None,
    show_values: bool = False,
    period: str | None = None,
    corrects: int | None = None,
    report: str | Path | None = None,
    override: str | None = None,
    allow: Iterable[str] = (),
    reason: str | None = None,
    progress: Progress = lambda stage: None,
) -> Draft:
    """What `publish` would publish, or why it would refuse. Nothing is committed, created or locked.

    The draft is private: it holds the table.
    """
    given = Submission(table, registry, extinct, seed, show_values, period, corrects)
    terms = Terms(override=override, report=report, allowed=Allowed.of(allow, reason))
    policy = Policy.read(policy) if isinstance(policy, str | Path) else policy
    if policy is None or _has_releases(folder):
        with open(folder, policy) as series:
            return series._draft(given, terms, progress, handed_out=True)
    return _first_draft(given, policy, terms, progress, handed_out=True)


def draft(
    table: object,
    policy: Policy,
    *,
    registry: object = None,
    extinct: Iterable[object] | Path | None = None,
    seed: int | None = None,
    show_values: bool = False,
    period: str | None = None,
    gate: bool = True,
    report: str | Path | None = None,
    override: str | None = None,
    allow: Iterable[str] = (),
    reason: str | None = None,
    progress: Progress = lambda stage: None,
) -> Draft:
    """Compute a release of this table, the first of a series that need not exist yet; see `Series.draft`."""
    given = Submission(table, registry, extinct, seed, show_values, period)
    terms = Terms(gate, override, report, Allowed.of(allow, reason))
    return _first_draft(given, policy, terms, progress, handed_out=True)


def _first_draft(
    given: Submission, policy: Policy, terms: Terms, progress: Progress, *, handed_out: bool = False
) -> Draft:
    policy = with_absolute_paths(policy)
    terms.check(policy.gate)
    if given.corrects is not None:
        raise ParameterError(f"There is no release {given.corrects} to correct: this is the first one.")
    nothing = History(known=KnownBefore(key=key_of(policy, None)))
    looking = Looking(policy, nothing, terms.allowed, show_values=given.show_values)
    made = make_draft(given, policy, nothing, look=looking.before, progress=progress)
    return terms.met(looking.after(made.handed_out() if handed_out else made), progress=progress)


def _has_releases(folder: str | Path) -> bool:
    """Whether there is a series in a folder that something was published in."""
    check_text("The folder of a series", Path(folder).absolute())
    with suppress(NotASeries), Ledger.open(folder) as ledger:
        return ledger.last() is not None
    return False


class Series:
    """One folder, one table about people, published again and again."""

    def __init__(self, folder: Path, ledger: Ledger, frames: Library = "polars") -> None:
        self.folder = folder
        """Where the series lies on disk."""
        self._ledger = ledger
        self._frames: Library = frames
        self._policies: dict[str, Policy] = {}
        """The policies that were parsed so far, by their texts."""
        self._versions: dict[int, PolicyVersion] = {}
        """Versions of the policy that releases were made under."""
        self._policy_version = ledger.policy
        self._policy = self._parsed(self._policy_version)
        ledger.anchor_file = self._policy.anchor

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
        extinct: Iterable[object] | Path | None = None,
        seed: int | None = None,
        show_values: bool = False,
        period: str | None = None,
        corrects: int | None = None,
        gate: bool = True,
        report: str | Path | None = None,
        override: str | None = None,
        allow: Iterable[str] = (),
        reason: str | None = None,
        progress: Progress = lambda stage: None,
    ) -> Draft:
        """Compute the next release of this table without committing anything.

        The draft is private: it holds the table. `seed` makes the method's random choices repeatable, by anybody who
        knows or guesses it: it is for rehearsals and tests only. By default the operating system draws one. Where the
        policy has a gate, GateClosed is raised for a draft that it does not let pass, unless `override` says why the
        release is to go out all the same; what the gate found is written to the HTML file `report`. With `gate=False`
        it is not asked. `period` says what the release is of, such as "2026-03", "2026-Q1" or "2026-01/2026-03". One
        that `corrects` an earlier one, by its number, is of the same period and a release like any other.
        Before that, ChecksFailed is raised for what looks like a mistake in the table or the policy. `allow` names the
        checks that may fail this time, and `reason` says why, which the ledger keeps.
        Methods for permanent values take a `registry`, a table of everybody with their quasi-identifiers as they are
        now, in the table or not, and those who are `extinct`, dead or gone for ever: their ids, or the path of a file
        with the person column.
        """
        given = Submission(table, registry, extinct, seed, show_values, period, corrects)
        terms = Terms(gate, override, report, Allowed.of(allow, reason))
        return self._draft(given, terms, progress, handed_out=True)

    def _draft(self, given: Submission, terms: Terms, progress: Progress, *, handed_out: bool = False) -> Draft:
        self._ledger.require_whole()
        policy = self._current_policy()
        self._ledger.require_continued()
        lacking = of_public_files(self._ledger.public_findings(), terms.allowed.names)
        terms.check(policy.gate)
        if self._ledger.policy_file_differs():
            if self._ledger.policy_file_missing():
                raise PolicyChanged(
                    f"The file policy.toml in '{self.folder}' is missing.",
                    hint="put it back as it was recorded: `reissue log <series> --policy > <series>/policy.toml`.",
                )
            raise PolicyChanged(
                f"The file policy.toml in '{self.folder}' is not the policy the series runs under.",
                hint="record the change with series.amend(policy, reason) or `reissue amend`, or undo it: "
                "`reissue log <series> --policy` prints the policy in force.",
            )
        given, history = self._dated(given), self._history()
        wrong = [*lacking, *out_of_order(given.period, given.corrects, history.latest, policy.checks)]
        looking = Looking(policy, history, terms.allowed, self._states, given.show_values, wrong)
        made = make_draft(given, policy, history, look=looking.before, progress=progress)
        made = looking.after(made.handed_out() if handed_out else made)
        return terms.met(made, self._past() if policy.gate and terms.asked else None, progress=progress)

    def _dated(self, given: Submission) -> Submission:
        """With the period of the release that is corrected, which there must be."""
        if given.corrects is None:
            return given
        period = self.release(given.corrects).period
        if given.period is not None and given.period != period:
            raise ParameterError(
                f"Release {given.corrects} is of {period or 'no period that anybody named'}, not of {given.period}.",
                hint="leave the period out: a correction is of the same one as what it corrects.",
            )
        return replace(given, period=period)

    def at_gate(self, draft: Draft, *, progress: Progress = lambda stage: None) -> tuple[Draft, AuditReport | None]:
        """A draft that remembers what the gate of the policy says about it, and the report; nothing is raised."""
        self._check_continues(draft)
        past = self._past() if draft.policy.gate else None
        draft, report = at_gate(draft, past, progress=progress)
        return draft, report and with_truth(report, past, draft.policy.schema, draft)

    def commit(self, draft: Draft, *, time: datetime | None = None, override: str | None = None) -> Release:
        """Make a draft durable, in one transaction or not at all.

        A draft that the gate of the policy did not let pass, or that was not shown to it, is refused unless
        `override` says in words why it goes out all the same; the ledger keeps that. One whose tables were changed
        after they were checked is always refused.
        """
        reason = written_reason(override, draft.policy.gate)
        looked = draft.judged.looked
        with self._ledger.writing(lacking=looked is not None and PUBLIC_FILES in looked.names):
            self._check_continues(draft)
            return self._commit(*to_commit(draft, reason), time)

    def _commit_own(self, draft: Draft, time: datetime | None, override: str | None) -> Release:
        """Make a draft durable that nobody else had in hands since it was checked."""
        return self._commit(*with_reason(draft, written_reason(override, draft.policy.gate)), time)

    def _commit(self, draft: Draft, reason: str | None, time: datetime | None) -> Release:
        """As the only writer, a draft that continues this very history."""
        when = self._time(time)
        # The policies are the same; a first draft may have been made before the series knew this one.
        draft = replace(draft, continues=replace(draft.continues, policy_version=self._policy_version.version))
        entry = archive.entry(draft, when, reason)
        return self._release(self._ledger.commit(entry, parent=draft.parent), draft.library)

    def _time(self, given: datetime | None) -> datetime:
        """When a release happens: as given, or now; never before the last one."""
        last = self._ledger.last()
        return release_time(given, (last.number, last.time) if last else None)

    def _check_continues(self, draft: Draft) -> None:
        last = self._ledger.last()
        parent = (last.number, last.mark) if last else (0, "")
        if (draft.continues.parent, draft.continues.mark) != parent or draft.policy != self._current_policy():
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
        extinct: Iterable[object] | Path | None = None,
        seed: int | None = None,
        show_values: bool = False,
        period: str | None = None,
        corrects: int | None = None,
        time: datetime | None = None,
        report: str | Path | None = None,
        override: str | None = None,
        allow: Iterable[str] = (),
        reason: str | None = None,
        progress: Progress = lambda stage: None,
    ) -> Release:
        """Draft and commit the next release, as the only writer from beginning to end.

        `override` is the written reason for publishing although the gate may be closed. `time` is when the release
        happens, by default now; it must not be before the last one. See `draft` for the rest.
        """
        given = Submission(table, registry, extinct, seed, show_values, period, corrects)
        terms = Terms(override=override, report=report, allowed=Allowed.of(allow, reason))
        return self._publish(given, terms, time, progress)

    def _publish(self, given: Submission, terms: Terms, time: datetime | None, progress: Progress) -> Release:
        with self._ledger.writing(lacking=PUBLIC_FILES in terms.allowed.names):
            self._time(time)  # before anything is computed
            draft = self._draft(given, terms, progress)
            progress("Committing")
            return self._commit_own(draft, time, terms.override)

    # What went out

    @property
    def releases(self) -> list[Release]:
        """Every release so far, the first one first."""
        return [self._release(record, self._frames) for record in self._ledger.releases()]

    def release(self, number: int) -> Release:
        """One release by its number."""
        return self._release(archive.existing(self._ledger, number), self._frames)

    def published(self, *, classes: bool = False, quasi: bool = False) -> Published:
        """The outsider's view of the whole series, in person numbers.

        With `classes` it says of releases made here who has the same quasi-identifiers, with `quasi` which ones.
        """
        past = self._past()
        return past.view(self._policy.schema, classes=past.own() if classes else (), quasi=quasi)

    def audit(
        self,
        knowledge: Knowledge | None = None,
        *,
        draft: Draft | None = None,
        attacks: Iterable[Attack | str] | None = None,
        limit: float | Fraction | str | None = None,
        seconds: float | None = None,
        steps: int | None = None,
        compromised: float = 0.0,
        participation: float = 0.0,
        waiting: bool = False,
        counterfeits: Recognition | None = None,
        seed: int | None = None,
        accept: Iterable[str] | None = None,
        threshold: float = 0.09,
        progress: Progress | None = None,
    ) -> AuditReport:
        """Attack the series as an outsider would; see `ri.audit` for what is not said here.

        `limit` is by default what has been promised about all releases together. At the rate `compromised` people are
        drawn, with `seed`, whose true values the adversary knows; at the rate `participation` people registered of whom
        it is known in which releases they are. With `waiting` the method is known too, and who waited in its lists.
        `counterfeits`: "recognised", each is known, with its value; "argued", each is known, and why they are made.
        With a `draft`: together with it, without what the gate leaves out. The report's `truth` says which conclusions
        are right, as the ledger knows; the verdict does not depend on it.
        """
        check_knowledge(knowledge)
        drawn = Drawn(compromised, participation, waiting, counterfeits, seed)
        if draft is not None:
            self._check_continues(draft)
        past, schema = self._past(), self._policy.schema
        gate = (draft and draft.policy.gate) or Gate()
        chosen = gate.attacks if attacks is None else [attacks] if isinstance(attacks, str) else [*attacks]
        quasi = ask_for_quasi(chosen)
        sight = (
            Sight.of_series(past, schema, quasi=quasi) if draft is None else Sight.of_draft(draft, past, quasi=quasi)
        )
        given = drawn.beside(knowledge, past, sight.view, schema, draft)
        report = sight.audit(
            given,
            attacks=chosen,
            limit=gate.probability if limit is None else limit,
            seconds=gate.seconds if seconds is None else seconds,
            steps=steps,
            accept=gate.accept if accept is None else accept,
            threshold=threshold,
            progress=progress,
        )
        report = replace(with_truth(report, past, schema, draft), library=self._frames)
        report = replace(report, remarks=(*past.outgrown(draft), *report.remarks))
        if counterfeits is None or (given is not None and given.counterfeits):
            return report
        return replace(report, remarks=(*report.remarks, NOTHING_KNOWN))

    def _past(self) -> PastReleases:
        records = {record.number: record for record in self._ledger.releases()}
        releases = [self._release(record, "polars") for record in records.values()]
        return PastReleases(self._ledger, releases, lambda number: self._policy_of(records[number]))

    def utility(
        self,
        number: int,
        *,
        workload: Workload | None = None,
        questions: Sequence[Ask | str] | None = None,
        weights: dict[str, float] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Utility | SetUtility:
        """What a release cost: information loss, class sizes, gradients left and, given a workload, query error.

        Of sets of values: how exactly shares can be estimated from them; gradients and the error of counts by scores.
        With a workload also bias and coverage of shares and means. `questions` are an analyst's own, as `ri.Ask` or as
        texts: `answers` has what the release answers beside the truth. `sentence` says in words what the release is
        worth beside no link at all.
        """
        from reissue.utility import measure, measure_sets
        from reissue.utility.asks import read_questions
        from reissue.utility.with_answers import with_answers

        record = archive.existing(self._ledger, number)
        policy = self._policy_of(record)
        if record.manifest["series"] == "adopted":
            raise ParameterError(f"Release {number} was made elsewhere: its table is not known here.")
        asked = read_questions(questions or ())
        snapshot, grouping = archive.snapshot(self._ledger, number, policy)
        release = self._release(record, "polars")
        if policy.form == "alternatives":
            of_sets = measure_sets(
                number,
                snapshot,
                grouping,
                release.tables,
                record.manifest,
                weights=weights,
                workload=workload,
                progress=progress,
            )
            of_sets = with_answers(of_sets, snapshot, release, workload=workload, questions=asked)
            return replace(of_sets, library=self._frames)
        sizes = [rule.k for promise in policy.promises for rule in promise.rules if isinstance(rule, Rows)]
        found = measure(
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
        found = with_answers(found, snapshot, release, workload=workload, questions=asked)
        return replace(found, library=self._frames)

    def given_choices(
        self,
        number: int,
        choices: Sequence[str | Sequence[str]] | None = None,
        *,
        model: object = None,
        sample: int | None = 50_000,
        workloads: Sequence[Workload] | None = None,
        seed: int | None = None,
        seconds: float | None = 600.0,
        progress: Progress = lambda stage: None,
    ) -> GivenChoices:
        """What choices of `given` would do to the table of a release, were it the first; see `ri.given_choices`.

        Sets that are out do not allow another choice in this series: it is for a new one.
        """
        from reissue.publishing.measuring_given import given_choices

        record = archive.existing(self._ledger, number)
        if record.manifest["series"] == "adopted":
            raise ParameterError(f"Release {number} was made elsewhere: its table is not known here.")
        policy = self._policy_of(record)
        found = given_choices(
            archive.table(self._ledger, number, policy.schema),
            policy,
            choices,
            model=model,
            sample=sample,
            workloads=workloads,
            seed=seed,
            seconds=seconds,
            progress=progress,
        )
        note = "sets that are out do not allow another 'given': these are choices for a new series"
        return replace(found, notes=(note, *found.notes), library=self._frames)

    def export(
        self,
        folder: str | Path,
        number: Chosen = None,
        *,
        format: Format = "csv",
        force: bool = False,
        title: str | None = None,
        publisher: str | None = None,
        licence: str | None = None,
        contact: str | None = None,
        hierarchies: Hierarchies = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Exported:
        """Write releases to a folder as a package for recipients: tables, codebook, README, datapackage.json.

        `number` is one release, several, "all", or by default the last one. One release lies in the folder itself,
        several in a folder each. `format`: "csv", "parquet" (the public files, byte for byte) or "excel". What is there
        already is replaced only with `force`, and only if it is a former export. `title`, `publisher`, `licence` and
        `contact` are said in the package. `hierarchies` are sent with it: what labels stand for that people were
        coarsened to, by column, as hierarchies or their files. A release that was retracted is refused.
        """
        from reissue.exporting.about import About
        from reissue.publishing.handing_out import hand_out

        return hand_out(
            self.releases,
            self.folder,
            Path(folder),
            number,
            retracted=self.retracted,
            check=self._ledger.check_public,
            format=format,
            force=force,
            about=About(title, publisher, licence, contact),
            hierarchies=hierarchies,
            progress=progress,
        )

    # Private

    @property
    def private(self) -> Private:
        """Private: who is behind the releases. What it gives belongs in no public file."""
        return Private(self._ledger, self.folder, lambda: self._policy, self._frames)

    def forget(self, *people: object) -> tuple[str, ...]:
        """Erase the ids of people, all or none; the history keeps their numbers and rows.

        If the same id is ever published again, it counts as a new person. What the publisher must see to because of
        that is returned: somebody who is never to be published again cannot be recognised any more.
        """
        hashed = self._policy.people.ids == "hashed"
        sought = {self.private.pseudonym(person) if hashed else plain_id(person) for person in people}
        with self._ledger.writing():
            numbers = numbers_of(sought, self._ledger.people())
            notes = (*forgotten_barred(numbers, self._past().barred()), *never_without(self._policy.method))
            self._ledger.forget(numbers)
        return notes

    def amend(self, policy: Policy | str | Path, reason: str) -> PolicyVersion:
        """Record a new version of the policy, with the reason for it; from now on it is the series' own."""
        check_text("The 'reason' parameter of amend", reason)
        policy = with_absolute_paths(Policy.read(policy) if isinstance(policy, str | Path) else policy)
        if self._ledger.releases():
            check_amendment(self._policy, policy)
        if not self._policy.differences(policy) and not self._ledger.policy_file_differs():
            raise ParameterError("The policy is the series' own already: there is nothing to record.")
        self._check_key(policy)
        version = self._ledger.amend(policy.to_toml(), reason, anchor=policy.anchor)
        self._policy, self._policy_version = policy, version
        return version

    def renew_shares(
        self,
        table: object,
        reason: str,
        *,
        epsilon: float | None = None,
        progress: Progress = lambda stage: None,
    ) -> PolicyVersion:
        """Count the shares that sets are drawn by once more, and record them: for where values have outgrown them.

        `table` is the one to be published next. Those whose sets it would draw are counted, with noise of `epsilon`, by
        default that of the policy; it adds to what was told of people before, and every record says so. The policy
        with these shares was tried on the table. Sets that are out stay as they are.
        """
        from reissue.publishing.renewed_shares import renewed_shares

        check_text("The 'reason' parameter of renew_shares", reason)
        policy = self._current_policy()
        return self.amend(renewed_shares(Submission(table), policy, self._history(), epsilon, progress), reason)

    def retract(self, number: int, reason: str) -> tuple[str, ...]:
        """Mark a release that never left the building, so that it is not handed out; gives what that does not change.

        It stays in the history, and whatever is published later is protected together with it: nobody can know for
        certain that nobody has it.
        """
        check_text("The 'reason' parameter of retract", reason)
        if not isinstance(reason, str) or not reason.strip():
            raise ParameterError("The 'reason' parameter of retract must say why. Got an empty text instead.")
        with self._ledger.writing():
            archive.existing(self._ledger, number)
            if number in self.retracted:
                raise ParameterError(f"Release {number} is retracted already.")
            self._ledger.retract(number, " ".join(reason.split()))
        return RETRACTED

    @property
    def retracted(self) -> dict[int, str]:
        """The releases that are not handed out, each with the reason."""
        return self._ledger.retracted()

    def in_the_way(self) -> tuple[str, ...]:
        """Why the next release will be refused under the present policy, whatever the table; nothing if it will not."""
        return in_the_way(self._policy, self._history())

    def policies(self) -> list[PolicyVersion]:
        """Every version of the policy."""
        return self._ledger.policies()

    def verify(self) -> list[Discrepancy]:
        """Check every file against its hash, every row of the catalog against its seal, and the anchor.

        An empty list is a clean bill.
        """
        return self._ledger.verify()

    @property
    def head(self) -> str | None:
        """The head of the chain that stands for the whole history, as `reissue verify --expect` takes it.

        None for a series of an older version, until something is written to it.
        """
        link = self._ledger.head()
        return None if link is None else str(link)

    def _current_policy(self) -> Policy:
        """The policy, read again if somebody else amended it meanwhile."""
        current = self._ledger.policy
        if (current.version, current.toml) != (self._policy_version.version, self._policy_version.toml):
            self._policy_version, self._policy = current, self._parsed(current)
            self._ledger.anchor_file = self._policy.anchor
        return self._policy

    def _parsed(self, version: PolicyVersion) -> Policy:
        if version.toml not in self._policies:
            with self._ledger.explaining(UserError):
                self._policies[version.toml] = Policy.from_toml(version.toml)
        return self._policies[version.toml]

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

    def _release(self, record: Record, library: Library) -> Release:
        stems = [Path(name).stem for name in sorted(record.files) if name.endswith(".parquet")]
        folder, number = self.folder.resolve(), record.number

        def read() -> dict[str, Any]:
            # A ledger of its own, so that a release can still be looked at when its series is closed.
            with Ledger.open(folder, check=False) as ledger:
                ledger.check_public(number)
                return {stem: to_library(ledger.public_table(number, stem), library) for stem in stems}

        return Release(record.number, record.time, record.path, record.manifest, record.summary, read)

    def _states(self, people: int) -> dict[int, str]:
        return archive.states(self._ledger, people)

    def _history(self) -> History:
        key = key_of(self._policy, self.folder)
        return archive.history(self._ledger, self._policy, self._policy_version.version, key)

    def _policy_of(self, record: Record) -> Policy:
        """The policy that a release was made under."""
        if record.policy_version not in self._versions:
            self._versions |= {version.version: version for version in self._ledger.policies()}
        if record.policy_version not in self._versions:
            raise SeriesDamaged(
                f"Release {record.number} was made under policy version {record.policy_version}, which is not recorded."
            )
        return self._parsed(self._versions[record.policy_version])

    # Names of before

    def members(self, number: int) -> Any:
        """Deprecated: `private.members`."""
        return self._moved("members").members(number)

    def held_back(self, number: int) -> Any:
        """Deprecated: `private.held_back`."""
        return self._moved("held_back").held_back(number)

    def replaced(self, number: int) -> Any:
        """Deprecated: `private.replaced`."""
        return self._moved("replaced").replaced(number)

    def roles(self, number: int) -> Any:
        """Deprecated: `private.roles`."""
        return self._moved("roles").roles(number)

    def name_of(self, number: int) -> Any:
        """Deprecated: `private.name_of`."""
        return self._moved("name_of").name_of(number)

    def pseudonym(self, person: object) -> str:
        """Deprecated: `private.pseudonym`."""
        return self._moved("pseudonym").pseudonym(person)

    def id_from_text(self, text: str) -> object:
        """Deprecated: `private.id_from_text`."""
        return self._moved("id_from_text").id_from_text(text)

    def _moved(self, name: str) -> Private:
        warnings.warn(f"series.{name} is called series.private.{name} now.", DeprecationWarning, stacklevel=3)
        return self.private
