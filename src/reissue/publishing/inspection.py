"""Attacking one's own series: the view, the promises and the knowledge that an audit of it is given, and the gate."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.arrays.randomness import check_seed, generator, new_seed
from reissue.arrays.runs import runs
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, check_text, count_of
from reissue.guarantees import GroupGuarantee
from reissue.methods.incremental import NO_LIST
from reissue.model.domain import GROUP, PERSON
from reissue.model.knowledge import Knowledge, Minimal
from reissue.model.published import Published, PublishedGroups
from reissue.model.release import Release
from reissue.publishing import archive
from reissue.publishing.checking.allowing import Allowed, Looked, another_draft_looked_at, never_looked
from reissue.publishing.gate import Gate, Passage, another_draft, closed, never_shown, unchecked_tables, written_reason
from reissue.publishing.made_up import Recognition, check_recognition, known_of, values_given
from reissue.publishing.seal import seal_of
from reissue.tables.views import Kept, published_view

if TYPE_CHECKING:
    from fractions import Fraction

    from reissue.attacks import Attack
    from reissue.auditing.report import AuditReport
    from reissue.auditing.subject import Subject
    from reissue.ledger import Ledger
    from reissue.ledger.stored_tables import Tables
    from reissue.methods.base import Method
    from reissue.model.promise import Promise
    from reissue.model.schema import Schema
    from reissue.publishing.draft import Draft
    from reissue.publishing.drafting import Progress
    from reissue.publishing.policy import Policy


@dataclass(frozen=True, repr=False)
class PastReleases:
    """The releases of a series, with what the private side knows of them."""

    ledger: Ledger
    releases: Sequence[Release]
    policy_of: Callable[[int], Policy]
    """The policy that a release was made under."""

    def view(
        self, schema: Schema, draft: Draft | None = None, classes: Container[int] = (), *, quasi: bool = False
    ) -> Published:
        """The outsider's view of all releases and, where there is one, of a draft after them.

        Of those numbered in `classes` it also says who has the same quasi-identifiers; with `quasi`, of all that were
        made here, which ones.
        """
        own = self.own() if quasi else []
        kept = [
            (
                one,
                *archive.shown_rows(
                    self.ledger, one.number, schema.sensitive, whole=one.number in classes or one.number in own
                ),
            )
            for one in self.releases
        ]
        drafted = [] if draft is None else [as_kept(draft)]
        known = [*own, *([draft.number] if draft is not None and quasi else [])]
        return published_view([*kept, *drafted], schema, classes, known)

    def tables(self) -> Iterator[tuple[Release, Tables]]:
        """Private: the releases, each with its private tables."""
        return ((release, self.ledger.tables(release.number)) for release in self.releases)

    def subject(self, schema: Schema, draft: Draft | None = None) -> Subject:
        """What an audit of them is of."""
        from reissue.auditing.subject import Subject  # publishing alone does not need it

        periods = {release.number: release.period or "" for release in self.releases}
        if draft is not None:
            periods[draft.number] = draft.continues.period or "a draft"
        quasi, sensitive = (*schema.quasi, *schema.as_is), tuple(schema.sensitive_columns)
        files = {release.number: f"public/{release.number:04d}" for release in self.releases}
        return Subject(self.ledger.name, quasi, sensitive, periods, files)

    def own(self) -> list[int]:
        """The numbers of the releases that were made here."""
        return [release.number for release in self.releases if release.manifest["series"] != "adopted"]

    def minimal(self) -> dict[int, Minimal]:
        """The releases that were generalised no more than their promises asked, with those."""
        found = {release.number: _minimal(self.policy_of(release.number)) for release in self.releases}
        adopted = {release.number for release in self.releases if release.manifest["series"] == "adopted"}
        return {number: known for number, known in found.items() if known and number not in adopted}

    def untrue(self) -> list[int]:
        """The releases whose method may publish somebody with another value than his own."""
        return [number for number in self.own() if not self.policy_of(number).method.truthful]

    def cohorts(self) -> int | None:
        """How many cohorts the method keeps that made all releases as one series; None where it keeps none."""
        kept = {self.policy_of(release.number).method.cohorts for release in self.releases}
        alone = all(release.manifest["series"] == "protected" for release in self.releases)
        return kept.pop() if alone and len(kept) == 1 else None

    def elsewhere(self) -> bool:
        """Whether some values are replaced, or shown in other groups than their people's."""
        return any(one.summary.get("elsewhere") or one.summary.get("replaced") for one in self.releases)

    def promises(self) -> tuple[Promise, ...]:
        """What has been promised about all releases together.

        Where the series is protected throughout, what the method of the last release promises; releases made
        elsewhere are held against that too. Otherwise what the methods of all releases promise, the same from each.
        """
        each = [self.policy_of(release.number).promises for release in self.releases]
        records = [release.manifest["series"] for release in self.releases]
        if records[-1] != "unprotected":
            last = self.releases[-1].number
            told = self.policy_of(last).guarantees_after(archive.memory(self.ledger, last))
            return tuple(guarantee.promise for guarantee in told)
        if "adopted" in records:
            return ()
        return tuple(promise for promise in each[-1] if all(promise in others for others in each))

    def true_values(self, schema: Schema, draft: Draft | None = None) -> pl.DataFrame:
        """Private: the person number and the last published value of everybody, in a draft too.

        People whom nothing but releases made elsewhere shows are not in it: nobody here knows their values.
        """
        tables = [archive.rows(self.ledger, release.number)[0] for release in self.releases]
        tables += [] if draft is None else [draft.rows]
        if any(
            schema.sensitive not in rows.columns and archive.FACTS in self.ledger.tables(release.number)
            for release, rows in zip(self.releases, tables, strict=False)
        ):
            raise ParameterError(
                "The 'compromised' parameter of audit is for series in which everybody has one value: here people have "
                "several, or none."
            )
        known = [
            _values(rows.drop_nulls(GROUP), schema.sensitive) for rows in tables if schema.sensitive in rows.columns
        ]
        if not known:
            return pl.DataFrame(schema={PERSON: pl.UInt32, schema.sensitive: pl.Null})
        return pl.concat(known).unique(PERSON, keep="last", maintain_order=True).sort(PERSON)

    def counterfeits(self, schema: Schema, draft: Draft | None = None) -> dict[int, object]:
        """Private: the value that each counterfeit was given, in a draft too, by its number in a view."""
        made = [archive.rows(self.ledger, release.number)[1] for release in self.releases]
        made += [] if draft is None else [draft.counterfeits]
        return values_given([frame for frame in made if frame is not None], schema.sensitive)

    def participation(self, draft: Draft | None = None) -> pl.DataFrame:
        """Private: for everybody who was ever registered, by number, the releases in which he has a value."""
        everybody, facts = [], []
        for release in self.releases:
            tables = self.ledger.tables(release.number)
            if archive.FACTS in tables:
                everybody.append(tables[archive.SNAPSHOT][PERSON])
                facts.append((release.number, tables[archive.FACTS][PERSON]))
        if draft is not None and draft.facts is not None:
            everybody.append(draft.rows[PERSON])
            facts.append((draft.number, draft.facts[PERSON]))
        if not facts:
            raise ParameterError("The 'participation' parameter of audit is for a series with a registry.")
        there = pl.concat(pl.DataFrame({PERSON: people.unique()}).with_columns(release=n) for n, people in facts)
        releases = there.group_by(PERSON).agg(pl.col("release").sort())
        people = pl.DataFrame({PERSON: pl.concat(everybody).unique().sort()})
        return people.join(releases, on=PERSON, how="left").with_columns(pl.col("release").fill_null([]))

    @property
    def method(self) -> Method:
        """The method that made the last release."""
        return self.policy_of(self.releases[-1].number).method

    def waiting_lists(self, most: Any) -> dict[int, pl.DataFrame]:
        """For releases whose method keeps lists of distinct values, for an l of at most `most`: who waits in which."""
        found = {}
        for release in self.releases:
            tables = self.ledger.tables(release.number)
            given: Any = self.policy_of(release.number).method.parameters
            if archive.LISTS in tables and given.get("diversity") == "distinct" and given["l"] <= most:
                found[release.number] = tables[archive.LISTS]
        return found

    def changed(self, before: int, after: int, schema: Schema, draft: Draft | None = None) -> pl.Series:
        """Those whose value is another in a later release, or a draft, than in an earlier one; held back or not."""
        last = draft is not None and draft.number == after
        tables = (
            archive.rows(self.ledger, before)[0],
            draft.rows if draft is not None and last else archive.rows(self.ledger, after)[0],
        )
        then, now = (_values(rows, schema.sensitive) for rows in tables)
        both = then.join(now, on=PERSON, suffix="_now")
        return both.filter(pl.col(schema.sensitive).ne_missing(pl.col(f"{schema.sensitive}_now")))[PERSON]

    def barred(self) -> Ints:
        """Those who are never published again because of releases made elsewhere."""
        if not self.releases:
            return np.empty(0, dtype=np.int64)
        table = self.ledger.tables(self.releases[-1].number, inherited=True).get(archive.BARRED)
        return np.empty(0, dtype=np.int64) if table is None else table["person"].to_numpy().astype(np.int64)


def as_kept(draft: Draft) -> Kept:
    """A draft as the outsider's view is built from: its record, rows, counterfeits and values."""
    sensitive = draft.policy.schema.sensitive
    if draft.facts is not None:
        facts = archive.as_published(draft.facts, draft.changed, sensitive)
        return archive.as_release(draft), draft.rows, None, facts
    rows = archive.as_published(draft.rows, draft.changed, sensitive)
    return archive.as_release(draft), rows, draft.counterfeits, None


def _values(rows: pl.DataFrame, sensitive: str) -> pl.DataFrame:
    labels = isinstance(rows.schema[sensitive], pl.Enum)
    return rows.select(PERSON, pl.col(sensitive).cast(pl.String) if labels else sensitive)


def _minimal(policy: Policy) -> Minimal | None:
    """What an outsider who knows the method can argue from."""
    recoding = policy.method.minimal_recoding
    # What every group had to satisfy; other promises follow from how groups were formed.
    asked = [guarantee for guarantee in policy.guarantees() if isinstance(guarantee, GroupGuarantee)]
    return Minimal(asked, recoding, policy.schema.protect) if recoding and asked else None


@dataclass(frozen=True, repr=False)
class Sight:
    """What the attacks on a series are given."""

    view: Published
    promises: tuple[Promise, ...]
    form: str
    left_out: int = 0
    """How many groups of releases made elsewhere are left out, because nobody in them is ever published again."""
    minimal: Mapping[int, Minimal] = field(default_factory=dict)
    """The releases that were generalised no more than their promises asked."""
    untrue: Sequence[int] = ()
    """The releases whose method may publish somebody with another value than his own."""
    permanent: tuple[str, ...] = ()
    """The values that nobody gets rid of."""
    cohorts: int | None = None
    """How many cohorts the method keeps for each, where it made all releases."""
    elsewhere: bool = False
    """Whether values are shown in other groups than their people's."""

    @classmethod
    def of_series(cls, past: PastReleases, schema: Schema, *, quasi: bool = False) -> Sight:
        """All releases as they are; with `quasi` for attacks that argue from people's quasi-identifiers."""
        if not past.releases:
            raise ParameterError("There is nothing to audit: the series has no release yet.", hint="publish one first.")
        minimal = past.minimal()
        form = past.policy_of(past.releases[-1].number).form
        view = past.view(schema, classes=minimal, quasi=quasi)
        return cls(
            view,
            past.promises(),
            form,
            minimal=minimal,
            untrue=past.untrue(),
            permanent=schema.permanent,
            cohorts=past.cohorts(),
            elsewhere=past.elsewhere(),
        )

    @classmethod
    def of_draft(cls, draft: Draft, past: PastReleases | None, *, quasi: bool = False) -> Sight:
        """A draft after all releases, as the gate sees it: it answers for what the draft adds.

        People of releases made elsewhere who are never published again are left out with all who share groups
        with them: none of those is in a later release, so that nothing the draft shows is about them.
        """
        schema, promised = draft.policy.schema, draft.judged.promises
        own = _minimal(draft.policy)
        minimal = {draft.number: own} if own else {}
        untrue = [] if draft.policy.method.truthful else [draft.number]
        cohorts = draft.policy.method.cohorts
        away = draft.grouping.elsewhere is not None or draft.changed is not None
        if past is None or not past.releases:
            view = published_view([as_kept(draft)], schema, minimal, [draft.number] if quasi else ())
            return cls(
                view,
                promised,
                draft.policy.form,
                minimal=minimal,
                untrue=untrue,
                permanent=schema.permanent,
                cohorts=cohorts,
                elsewhere=away,
            )
        minimal |= past.minimal()
        view, left_out = without_people(past.view(schema, draft, minimal, quasi=quasi), past.barred())
        if not view.sets:  # nobody is ever left out of releases of sets
            view = replace(view, releases=tuple(release for release in view.releases if release.group_count))
        if not draft.protected:
            before = past.promises()
            promised = tuple(promise for promise in promised if promise in before)
        return cls(
            view,
            promised,
            draft.policy.form,
            left_out=left_out,
            minimal=minimal,
            untrue=[*past.untrue(), *untrue],
            permanent=schema.permanent,
            cohorts=cohorts if past.cohorts() == cohorts and draft.protected else None,
            elsewhere=away or past.elsewhere(),
        )

    def audit(
        self,
        knowledge: Knowledge | None = None,
        *,
        attacks: Iterable[Attack | str],
        limit: float | Fraction | str | None,
        seconds: float,
        steps: int | None = None,
        accept: Iterable[str],
        threshold: float = 0.09,
        progress: Progress | None = None,
    ) -> AuditReport:
        """Let the attacks loose on it."""
        from reissue.auditing.running import audit

        given = knowledge or Knowledge()
        if self.minimal:
            knowledge = given = replace(given, minimal={**self.minimal, **given.minimal})
        if self.permanent:
            values = tuple(dict.fromkeys([*self.permanent, *given.permanent]))
            away = given.elsewhere or self.elsewhere
            # Only what the policy calls permanent has cohorts.
            cohorts = given.cohorts or self.cohorts if len(values) == len(self.permanent) else None
            knowledge = replace(given, permanent=values, cohorts=cohorts, elsewhere=away)
        unknown = {*given.permanent} - {*self.permanent, *self.view.values}
        if unknown:
            raise ParameterError(
                f"{count_of(len(unknown), 'permanent value')} of Knowledge that no release shows.",
                hint="spell values as they are published.",
            )
        report = audit(
            self.view,
            knowledge,
            attacks=attacks,
            limit=limit,
            form=self.form,
            seconds=seconds,
            steps=steps,
            threshold=threshold,
            promises=self.promises,
            accept=accept,
            progress=progress,
        )
        if not self.untrue:
            return report
        numbers = ", ".join(f"{number:,}" for number in self.untrue)
        told = f"In {'release' if len(self.untrue) == 1 else 'releases'} {numbers} some values may have been replaced"
        remark = f"{told} by others: what is found is what is shown, and not always true."
        return replace(report, remarks=(*report.remarks, remark))


def ask_for_quasi(attacks: Iterable[Attack | str]) -> bool:
    """Whether one of these attacks argues from people's quasi-identifiers."""
    from reissue.attacks import kind_of

    return any((kind_of(one) if isinstance(one, str) else one).knows_quasi for one in attacks)


def with_truth(
    report: AuditReport, past: PastReleases | None, schema: Schema, draft: Draft | None = None
) -> AuditReport:
    """A report that knows the truth: which of an outsider's conclusions are right. What it judges stays as it is."""
    from reissue.publishing.truth import TrueValues

    told = replace(report, knowing=TrueValues.of(report.published, past, schema, draft))
    return told if past is None else replace(told, subject=past.subject(schema, draft))


def at_gate(
    draft: Draft, past: PastReleases | None = None, *, progress: Progress = lambda stage: None
) -> tuple[Draft, AuditReport | None]:
    """The draft, which then remembers what the gate of its policy says, and the report; as it is without a gate."""
    gate = draft.policy.gate
    if gate is None:
        return draft, None
    seal = None if draft.seal is None else shown_seal(draft, draft.seal_now())
    sight = Sight.of_draft(draft, past, quasi=ask_for_quasi(gate.attacks))
    report = sight.audit(
        attacks=gate.attacks, limit=gate.probability, seconds=gate.seconds, accept=gate.accept, progress=progress
    )
    passage = Passage.of(gate, report, seal, sight.left_out)
    return replace(draft, judged=replace(draft.judged, passage=passage)), report


@dataclass(frozen=True)
class Terms:
    """On which terms a draft meets the checks before the commit and the gate of its policy."""

    asked: bool = True
    """Whether the gate is asked at all."""
    override: str | None = None
    """Why the release goes out all the same if the gate is closed; None: then it does not."""
    report: str | Path | None = None
    """The HTML file for what the gate found, also if it is closed."""
    allowed: Allowed = field(default_factory=Allowed)
    """The checks before the commit that may fail, and why."""

    def check(self, gate: Gate | None) -> None:
        """Before anything is computed: a reason must say something, and a report needs a gate."""
        if self.report is not None and gate is None:
            raise ParameterError(
                "The policy has no gate, so there is nothing to report.",
                hint="`reissue audit` reports on what is published.",
            )
        if self.report is not None and not self.asked:
            raise ParameterError("With gate=False the gate is not asked, so there is nothing to report.")
        if self.report is not None:
            check_text("The name of the report", self.report)
        written_reason(self.override, gate)

    def met(self, draft: Draft, past: PastReleases | None = None, *, progress: Progress = lambda stage: None) -> Draft:
        """The draft, which then remembers what the gate says; GateClosed is raised if that is in the way."""
        if not self.asked:
            return draft
        draft, found = at_gate(draft, past, progress=progress)
        if self.report is not None and found is not None:
            with_truth(found, past, draft.policy.schema, draft).to_html(self.report)
        return let_through(draft) if self.override is None else draft


def shown_seal(draft: Draft, tables: str) -> str:
    """The seal on what a gate is shown: the tables of the draft, by their seal, and who is in which group of them."""
    private = {"rows": draft.rows, "facts": draft.facts, "counterfeits": draft.counterfeits, "changed": draft.changed}
    return seal_of(private, tables)


def looked_seal(draft: Draft, tables: str, looked: Looked) -> str:
    """The seal on a draft, on how it goes on from the releases before it, and on what the checks said about it."""
    goes_on = asdict(replace(draft.continues, policy_version=0))  # a first draft does not know the version yet
    said = ([(one.name, one.what, one.step) for one in looked.failed], looked.reason, looked.unchecked, looked.state)
    return seal_of({}, shown_seal(draft, tables), repr(goes_on), repr(said))


def let_through(draft: Draft) -> Draft:
    """The draft; GateClosed is raised if its policy has a gate that has not let it pass."""
    if draft.policy.gate is None or (draft.passage is not None and draft.passage.passed):
        return draft
    raise never_shown() if draft.passage is None else closed(draft.passage)


def to_commit(draft: Draft, reason: str | None) -> tuple[Draft, str | None]:
    """The draft as it may be committed, and the written reason, where a gate that did not let it pass needs one.

    A draft is refused unless its tables are those that were checked; a reason helps with a gate only.
    """
    seal, passage = draft.seal_now(), draft.passage
    if passage is not None and (passage.gate != draft.policy.gate or passage.seal != shown_seal(draft, seal)):
        if reason is None:
            raise another_draft()
        # The gate said that about something else.
        draft = replace(draft, judged=replace(draft.judged, passage=None))
    if seal != draft.seal:
        raise unchecked_tables()
    if draft.judged.looked is None:
        raise never_looked()
    if draft.judged.looked.seal != looked_seal(draft, seal, draft.judged.looked):
        raise another_draft_looked_at()
    return with_reason(draft, reason)


def with_reason(draft: Draft, reason: str | None) -> tuple[Draft, str | None]:
    """A draft whose tables are known to be those that were checked, and the written reason where its gate needs one."""
    if reason is None or (draft.passage is not None and draft.passage.passed):
        return let_through(draft), None
    return draft, reason


@dataclass(frozen=True)
class Drawn:
    """What the adversary is told of the private side: about people drawn at a rate, and who waited."""

    compromised: float = 0.0
    """At which rate people are drawn whose true values the adversary knows."""
    participation: float = 0.0
    """At which rate people registered are drawn of whom the adversary knows in which releases they are."""
    waiting: bool = False
    """Whether the adversary knows the method, and who waited in its lists."""
    counterfeits: Recognition | None = None
    """What the adversary knows of counterfeits."""
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, rate in {"compromised": self.compromised, "participation": self.participation}.items():
            number = isinstance(rate, int | float) and not isinstance(rate, bool)
            if not number or not 0 <= rate <= 1:
                raise ParameterError(
                    f"The '{name}' parameter of audit must be a rate from 0 to 1. Got {rate!r} instead."
                )
        check_recognition(self.counterfeits)
        if self.seed is not None:
            check_seed(self.seed, " of audit")

    def beside(
        self, knowledge: Knowledge | None, past: PastReleases, view: Published, schema: Schema, draft: Draft | None
    ) -> Knowledge | None:
        """What the adversary knows already, and what is drawn; who is known already stays so."""
        if self.compromised:
            known = knowledge or Knowledge()
            people, values = self._chosen(self.compromised, past.true_values(schema, draft))
            own: dict[str | int, object] = dict(zip(people, values, strict=True))
            knowledge = replace(known, compromised={**own, **known.compromised})
        if self.participation:
            known = knowledge or Knowledge()
            people, releases = self._chosen(self.participation, past.participation(draft))
            there: dict[str | int, Sequence[int]] = dict(zip(people, releases, strict=True))
            knowledge = replace(known, present={**there, **known.present})
        if self.counterfeits is not None:
            known = knowledge or Knowledge()
            told = known_of(view, past.counterfeits(schema, draft), self.counterfeits)
            knowledge = replace(known, counterfeits={**told, **known.counterfeits})
        return knowing_who_waited(knowledge, past, view, schema, draft) if self.waiting else knowledge

    def _chosen(self, rate: float, table: pl.DataFrame) -> tuple[list[Any], ...]:
        """The columns of some rows of a table, drawn at a rate."""
        rng = generator(new_seed() if self.seed is None else self.seed)
        chosen = table.filter(rng.random(table.height) < rate)
        return tuple(column.to_list() for column in chosen.get_columns())


def check_knowledge(given: object) -> None:
    """Refuse what is no knowledge, such as an attack in its place."""
    if given is not None and not isinstance(given, Knowledge):
        raise ParameterError(
            f"The 'knowledge' parameter of audit must be a Knowledge. Got a {type(given).__name__} instead.",
            hint="attacks are named as attacks=[...].",
        )


def knowing_who_waited(
    given: Knowledge | None, past: PastReleases, view: Published, schema: Schema, draft: Draft | None = None
) -> Knowledge:
    """With who waited for which release, and the method.

    Only those are named whose list is certain: whoever came into a group together with them waited in the same one,
    which was kept for no larger l than the method has now, and nobody's value in it changed since.
    """
    method = past.method if draft is None else draft.policy.method
    lists = past.waiting_lists(method.parameters.get("l", 0))
    if not lists:
        raise ParameterError(
            "What waiting reveals is not measured here: the 'waiting' parameter of audit is for series made by "
            'Incremental with diversity = "distinct".'
        )
    waiting: dict[int, list[str | int]] = {}
    for before, after in pairwise(view.releases):
        if before.number not in lists:
            continue
        changed = past.changed(before.number, after.number, schema, draft)
        table = lists[before.number].filter(~pl.col("person").is_in(changed.implode()).any().over("list"))
        group = pl.DataFrame(
            {PERSON: after.members, GROUP: np.repeat(np.arange(after.group_count), after.sizes)}
        ).with_columns(pl.col(PERSON).cast(pl.Int64))
        came = table.with_columns(pl.col("person").cast(pl.Int64).alias(PERSON)).join(group, on=PERSON)
        alone = (pl.col("list").n_unique() == 1) & (pl.col("list").min() != NO_LIST)
        certain = came.filter(alone.over(GROUP))
        if certain.height:
            waiting[before.number] = certain[PERSON].to_list()
    known = given or Knowledge()
    return replace(known, waiting={**waiting, **known.waiting}, method=method.name)


def without_people(published: Published, people: Ints) -> tuple[Published, int]:
    """The view without the groups in which these people are, and how many groups those are.

    Of people who are together in a group all must be meant, or none: then nothing that is left out could tell
    anything about those who remain.
    """
    if not people.size:
        return published, 0
    left, dropped = [], 0
    for release in published.releases:
        group = np.repeat(np.arange(release.group_count), release.sizes)
        concerned = np.bincount(group[np.isin(release.members, people)], minlength=release.group_count) > 0
        dropped += int(concerned.sum())
        left.append(chosen_groups(release, np.flatnonzero(~concerned)))
    return replace(published, releases=tuple(left)), dropped


def chosen_groups(release: PublishedGroups, groups: Ints) -> PublishedGroups:
    """Some groups of a release whose members are all certain."""
    if groups.size == release.group_count:
        return release
    members, member_starts = _runs(release.member_starts, groups)
    values, value_starts = _runs(release.value_starts, groups)
    return PublishedGroups(
        number=release.number,
        members=release.members[members],
        member_starts=member_starts,
        values=release.values[values],
        counts=release.counts[values],
        value_starts=value_starts,
        region=None if release.region is None else release.region[groups],
        classes=None if release.classes is None else release.classes[members],
        quasi=None if release.quasi is None else release.quasi[members],
    )


def _runs(starts: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """The places of the chosen runs, one after the other, and where each begins among them."""
    sizes = np.diff(starts)[chosen]
    return runs(starts[chosen], sizes), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
