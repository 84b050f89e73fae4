"""AuditReport: what the attacks found, whether that is allowed, and what remains."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.budget import Budget, Stopped, afresh
from reissue.arrays.types import Ints
from reissue.attacks.base import POSTERIORS, Attack, Finding, Findings, Judgement, Limits
from reissue.attacks.sentences import Witness
from reissue.auditing.claims import claims_of, frequencies
from reissue.auditing.compared import MISTAKEN, Knowing, Mark, Truth
from reissue.auditing.conclusions import SURENESS
from reissue.auditing.contradicted import contradicted, in_lines, rests_on
from reissue.auditing.contradicted import marked as marked_by_ledger
from reissue.auditing.criteria import ANATOMISED, Criterion, Judged, criteria_of
from reissue.auditing.exposure import PEOPLE, Disclosure, disclosure_of, exposed_groups, worst_of
from reissue.auditing.finding_table import check_file, finding_table, write_findings
from reissue.auditing.headline import Headline, findings_in_all, headline_of
from reissue.auditing.hidden_rows import hidden_rows
from reissue.auditing.leaning import Leaning
from reissue.auditing.limits import lacking, what_is_open
from reissue.auditing.naming import Called, Naming
from reissue.auditing.risks import Risks, risks_of
from reissue.auditing.subject import Subject
from reissue.auditing.words import (
    COUNTED,
    COUNTERFEITS,
    KINDS,
    STATUSES,
    adversary,
    joined,
    limits_in_short,
    limits_in_words,
    of_counterfeits,
    of_sets,
)
from reissue.errors import StorageError, check_text, count_of, printable
from reissue.model.assumptions import Assumption, AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.libraries import Library, to_library
from reissue.model.promise import Promise
from reissue.model.published import Published

TABLE = ("person", "release", "attack", "what", "probability", "kind", "witness", "truth")
UNASKED = 5
"""How much is told of what an attack found that no limit asks about."""


@dataclass(frozen=True, repr=False)
class Run:
    """One attack, run or not."""

    attack: str
    """Its name in the report."""
    by: Attack
    judgement: Judgement
    findings: Findings | None
    """None where the attack could not run; `judgement` says why."""
    seconds: float
    """How long it took."""
    budget: Budget | None = None
    """What it spent; None where it was not run."""

    def __repr__(self) -> str:
        return f"Run({self.attack}: {self.judgement.status})"

    @property
    def stopped(self) -> Stopped | None:
        """What ended it before its end: the "steps" that it had, or the "clock"; then figures may differ next time."""
        return None if self.budget is None else self.budget.stopped

    @property
    def steps(self) -> int:
        """How many steps of work it did."""
        return 0 if self.budget is None else self.budget.spent

    @property
    def searched(self) -> tuple[str, ...]:
        """What was searched completely."""
        return () if self.findings is None else self.findings.searched

    @property
    def undecided(self) -> tuple[str, ...]:
        """What was not, and why."""
        return (self.judgement.words,) if self.findings is None else self.findings.undecided


@dataclass(frozen=True, repr=False)
class AuditReport:
    """The outcome of an audit. Figures that cost time are worked out when they are first asked for."""

    published: Published
    knowledge: Knowledge | None
    limits: Limits
    runs: tuple[Run, ...]
    """The attacks in the order they were run."""
    threshold: float
    """The re-identification risk above which a row is at risk."""
    form: str | None
    """`generalised`, `anatomised` or `alternatives`, where that was said."""
    accept: frozenset[str] = frozenset()
    """What passes although nothing is proven: `undecided`, `sampled`."""
    promises: tuple[Promise, ...] = ()
    """What the method promised, in words."""
    assumptions: tuple[Assumption, ...] = ()
    """What conclusions over several releases rest on, and what the releases say about it."""
    marked: bool = False
    """Whether it is of one's own series, whose ledger knows which conclusions are wrong."""
    remarks: tuple[str, ...] = ()
    """What else is to be noted, such as how files were understood."""
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the audit was made."""
    library: Library = "polars"
    """The library that tables come back in."""
    subject: Subject | None = None
    """What was audited; None where nobody said it."""
    knowing: Knowing | None = field(default=None, compare=False)
    """Private: what knows the true values, in an audit of one's own series."""

    def __repr__(self) -> str:
        found = sum(judgement.count for judgement in self.judgements.values())
        statuses = ", ".join(f"{attack} {judgement.status}" for attack, judgement in self.judgements.items())
        passed = "passed" if self.passed else "not passed"
        return f"AuditReport({passed}, {limits_in_short(self.limits)}: {statuses}; {count_of(found, 'finding')})"

    @cached_property
    def in_polars(self) -> AuditReport:
        """The same report, with tables that come back in polars."""
        return self if self.library == "polars" else replace(self, library="polars")

    @property
    def judgements(self) -> dict[str, Judgement]:
        """What each attack found, held against the limits, by its name."""
        return {run.attack: run.judgement for run in self.runs}

    @property
    def passed(self) -> bool:
        """Whether everything that was asked is proven to be within the limits, or accepted by name.

        That includes the probability of a value or, where none is limited, how many values are possible, so at least
        one attack that can prove it must have been run.
        """
        asked = [run for run in self.runs if run.judgement.status != "not asked"]
        proven = (bool(asked) and not self._lacking) or "undecided" in self.accept
        return proven and all(run.judgement.status in ("within", *self.accept) for run in asked) and not self.above

    @cached_property
    def above(self) -> tuple[int, int, int] | None:
        """A release in which rows stand in groups that show one value with more than the limit, how many rows, and of
        how many; the one with most. None: there is none, or it is proven that nobody is beyond the limit for all that.
        """
        proven = any(
            run.judgement.status == "within" and "probability" in run.by.proves and run.findings is not None
            for run in self.runs
        )
        if self.limits.probability is None or proven or self._permanent or self._sets:
            return None
        table = self.measured.table.filter(pl.col("attribute_above") > 0)
        if not table.height:
            return None
        worst = table.sort("attribute_above", "release", descending=[True, False]).row(0, named=True)
        return worst["release"], worst["attribute_above"], worst["rows"]

    @cached_property
    def leaning(self) -> Leaning:
        """What attacks may lean on."""
        return Leaning.of(self.assumptions, self.published, marked=self.marked)

    @property
    def together(self) -> bool:
        """Whether conclusions are drawn from several releases together."""
        return not self.leaning.several or "values-stay" not in self.leaning.fallen or self._lasting or self._followed

    @property
    def contradicted(self) -> str:
        """What the releases contradict or somebody said not to hold, and which conclusions are left; empty: nothing."""
        shown = [
            one for one in self.assumptions if one.name != "values-stay" or not (self._permanent or self._modelled)
        ]
        if self._permanent or self._modelled:
            # What refutes a model of change is told in its own words.
            shown = [one for one in shown if (one.name, one.status) != ("values-follow", "refuted")]
            told = contradicted(shown, several=self.leaning.several, doubted=False)
            return ". ".join(one for one in (self._refutation, told) if one)
        if self.marked and (told := marked_by_ledger(shown, self.known_to_change)):
            return told
        growing = self.knowledge is not None and self.knowledge.growing is not None
        return contradicted(shown, several=self.leaning.several, doubted=self.leaning.doubted, growing=growing)

    @property
    def rests_on(self) -> str:
        """What the conclusions rest on, in a sentence; empty where that is the files themselves and nothing else."""
        told = [one for one in self.assumptions if one.name in self._resting]
        if self.marked and self.known_to_change:
            told = [one for one in told if one.name != "values-stay"]
        return rests_on(told)

    @cached_property
    def _resting(self) -> frozenset[AssumptionName]:
        """What conclusions rest on: where something was found, what the findings name."""
        return self.supposed & self.leaning.on if self.supposed else self.leaning.on

    @cached_property
    def supposed(self) -> frozenset[AssumptionName]:
        """What findings name that they rest on."""
        return frozenset(name for one in self.findings if one.kind != "undecided" for name in one.rests_on)

    @property
    def _refutation(self) -> str:
        """Why what was said of how values change cannot be so; empty where it can."""
        found = (run.findings.refutation for run in self.runs if run.findings is not None)
        told = next((one for one in found if one), "")
        return f"{told[:1].lower()}{told[1:]}; what each release shows alone is left" if told else ""

    @property
    def known_to_change(self) -> int:
        """How many people had values that changed, as a ledger knows that has something to say about this."""
        static = self.truth is not None and self.truth.static and self.leaning.several
        return self.truth.changed if static and self.truth is not None else 0

    @property
    def _lacking(self) -> tuple[str, ...]:
        """The limits that no attack proves to be kept."""
        asked = (run.by for run in self.runs if run.judgement.status != "not asked")
        return lacking(asked, self.limits, permanent=self._permanent, sets=self._sets)

    @property
    def _sets(self) -> bool:
        """Whether everybody is shown with a set of values."""
        return bool(self.published.sets)

    @property
    def _followed(self) -> bool:
        """Whether what is said of how values change ties releases to each other."""
        # Where it is not known who is in which group, each release is looked at alone all the same.
        change = None if self.knowledge is None else self.knowledge.change
        return change is not None and not change.free and self.published.exact

    @property
    def _modelled(self) -> bool:
        """Whether it is said how values change."""
        return self.knowledge is not None and self.knowledge.change is not None

    @property
    def _permanent(self) -> bool:
        """Whether all but some permanent values may change."""
        return self.knowledge is not None and bool(self.knowledge.permanent)

    @property
    def _lasting(self) -> bool:
        """Whether conclusions rest on permanent values, and nothing contradicts that they are."""
        return self._permanent and "values-permanent" not in self.leaning.fallen

    @property
    def verdict(self) -> str:
        """The outcome in one sentence, what is contradicted first; and what it rests on in another."""
        told = self._outcome
        # What nothing was concluded from is nothing that it rests on.
        concluded = any(run.findings is not None and run.judgement.status in ("within", "beyond") for run in self.runs)
        resting = self.rests_on if concluded else ""
        if self.contradicted:
            outcome, _, why = told.partition(": ")
            told = f"{outcome}: {self.contradicted}. {why[0].upper()}{why[1:]}"
        return f"{told} {resting}" if resting else told

    @property
    def _outcome(self) -> str:
        """How the attacks came out."""
        by_status: dict[str, list[str]] = {}
        for run in self.runs:
            by_status.setdefault(run.judgement.status, []).append(run.attack)
        beyond, within = by_status.get("beyond", []), by_status.get("within", [])
        doubtful = [*by_status.get("sampled", []), *by_status.get("undecided", [])]
        if beyond:
            # An attack that never proves anything has estimated it.
            sure = any(run.by.proves for run in self.runs if run.judgement.status == "beyond")
            told = "found" if sure or any(one.kind != "sampled" for one in self.findings) else "estimated"
            what = "the releases together tell" if self.together else "single releases tell"
            what = what if self.leaning.several else "the release tells"
            return f"Not passed: {what} more than the limits allow, as {joined(beyond)} {told}."
        missing = what_is_open(self._lacking, permanent=self._permanent, sets=self._sets)
        if self.above is not None:
            number, rows, of = self.above
            beside = f"; and {missing}" if missing else ""
            return (
                f"Not passed: in release {number:,} {rows:,} of {count_of(of, 'row')} stand in groups that show one "
                f"value with a share of more than {self.limits.probability}, whoever they are about{beside}."
            )
        if not within and not doubtful:
            return "Not passed: none of the attacks that were run was asked for anything, so nothing is judged."
        if (rows := hidden_rows(self.published)) and (doubtful or not self.passed):
            hidden = f"{count_of(rows, 'suppressed row')} may be anybody's, and may hide what there is"
            accepted = f"Passed by acceptance: {hidden}, and what {joined(doubtful)} left open was accepted by name."
            return accepted if self.passed else f"Not passed: {hidden}."
        nothing = "nothing beyond the limits was found"
        if not self.passed and not doubtful:
            return f"Not passed: {nothing}, but {missing}."
        if not self.passed:
            return f"Not passed: {nothing}, but with {joined(doubtful)} it is not proven that there is nothing."
        if doubtful:
            return f"Passed by acceptance: {nothing}, and what {joined(doubtful)} left open was accepted by name."
        accepted = f"; it was accepted that {missing}" if missing else ""
        values = self.limits.probability is None and self.limits.diversity is not None
        counted = f"; {COUNTED}" if values else ""
        return f"Passed: {joined(within)} proved what was asked to be within the limits{accepted}{counted}."

    @cached_property
    def headline(self) -> Headline:
        """The outcome in one sentence about people, with what must not be overlooked beside it."""
        return headline_of(self)

    @cached_property
    def claims(self) -> pl.DataFrame:
        """Private: everything that is concluded about people's values, everybody, the worst first; see `CLAIMS`."""
        return claims_of(self)

    @property
    def named(self) -> bool:
        """Whether the view tells people apart, by name or number; else only rows are known."""
        return bool(self.published.sets) or any(release.space is None for release in self.published.plain)

    @cached_property
    def truth(self) -> Truth | None:
        """How many of an outsider's conclusions are right, as the ledger knows it; None without a ledger."""
        return None if self.knowing is None else self.knowing.compare(self)

    def mark(self, finding: Finding) -> Mark | None:
        """Whether a finding is `right`, `wrong` or `unknown`; None without a ledger, or where it is about no value."""
        return None if self.truth is None else self.truth.of(finding)

    @cached_property
    def findings(self) -> list[Finding]:
        """What is beyond the limits, the worst first."""
        beyond = (run for run in self.runs if run.judgement.status == "beyond")
        found = [self._ordered(finding) for run in beyond for finding in run.judgement.findings]
        return sorted(found, key=self._badness)

    def _badness(self, finding: Finding) -> tuple[Any, ...]:
        """What is learnt, how surely, how rare it is, about how few people; then any order that is always the same."""
        often = self._often.get(finding.column)
        if often is None:
            often = self._often[finding.column] = frequencies(self.published, finding.column)
        values = finding.among or (() if finding.value is None else (finding.value,))
        shown = sum(int(often[value]) for value in values if 0 <= value < often.size) if values else often.sum()
        return (
            -(finding.probability or 0.0),
            finding.supposed,
            SURENESS[finding.kind],
            int(shown),
            len(finding.people),
            finding.people,
            finding.release or 0,
            values,
        )

    @cached_property
    def _often(self) -> dict[str | None, Ints]:
        """How often values are shown, by column, as it is asked for."""
        return {}

    @property
    def suspicions(self) -> list[Finding]:
        """What attacks that could not decide would tell of if it is so; a few from each."""
        runs = [run for run in self.runs if run.judgement.status in ("undecided", "sampled")]
        return [self._ordered(finding) for run in runs for finding in run.judgement.findings[:UNASKED]]

    def _ordered(self, finding: Finding) -> Finding:
        return finding if self.truth is None else self.truth.ordered(finding)

    @property
    def leading(self) -> list[Finding]:
        """The worst finding about each person, the worst first; those about nobody in particular stay.

        Of one's own series those that are wrong are not among them: see `mistaken`.
        """
        return [finding for finding in self._first if self.mark(finding) != "wrong"]

    @property
    def mistaken(self) -> list[Finding]:
        """The worst finding about each person of whom all findings are wrong, as the ledger knows it."""
        return [finding for finding in self._first if self.mark(finding) == "wrong"]

    @cached_property
    def _first(self) -> list[Finding]:
        """The worst finding about each person; the worst that is not wrong, if there is one."""
        first: dict[object, Finding] = {}
        for at, finding in enumerate(sorted(self.findings, key=lambda one: self.mark(one) == "wrong")):
            first.setdefault(finding.people or (None, at), finding)
        return list(first.values())

    @cached_property
    def unasked(self) -> list[tuple[str, Witness]]:
        """What attacks found that no limit asks about, by the name of the attack; a few from each.

        Of one's own series nothing that rests on somebody about whom the attack is wrong.
        """
        found = []
        for run in self.runs:
            if run.findings is None or run.judgement.status != "not asked":
                continue
            with afresh():
                told = run.findings.witnesses
            if self.truth is not None:
                told = tuple(one for one in told if not self.truth.doubts(run.attack, one))
            found += [(run.attack, one) for one in told[:UNASKED]]
        return found

    @property
    def table(self) -> Any:
        """The findings as a table: `person`, `release`, `attack`, `what`, `probability`, `kind`, `witness`, `truth`.

        People are called as in the view. Values are named where the view was built from names, else lettered.
        """
        named = self.published.people is not None
        naming = Naming(self.published, show_people=named, show_values=named)
        rows = [
            (
                _person(self.published, finding),
                finding.release,
                finding.attack,
                finding.what,
                finding.probability,
                finding.kind,
                naming.witness(finding),
                self.mark(finding),
            )
            for finding in self.findings
        ]
        texts = (pl.String, pl.String, pl.String)
        types = (pl.String if named else pl.Int64, pl.Int64, pl.String, pl.String, pl.Float64, *texts)
        return to_library(pl.DataFrame(rows, schema=dict(zip(TABLE, types, strict=True)), orient="row"), self.library)

    def findings_table(
        self, *, show_people: bool = False, show_values: bool = False, called: Called | None = None
    ) -> Any:
        """All findings as a table, not only the worst: everybody, and where in the files; see `finding_table.COLUMNS`.

        People are numbers and values are left out unless asked for.
        """
        naming = Naming(self.published, show_people, show_values, called)
        return to_library(finding_table(self, naming), self.library)

    def to_findings(
        self,
        path: str | Path,
        *,
        show_people: bool = False,
        show_values: bool = False,
        called: Called | None = None,
    ) -> Path:
        """Write `findings_table` to a file, CSV or Parquet by its name."""
        path = check_file(path)
        naming = Naming(self.published, show_people, show_values, called)
        return write_findings(finding_table(self, naming), path)

    @cached_property
    def sections(self) -> list[tuple[str, str, Any]]:
        """Figures of their own that attacks have, each with the name of the attack and a heading."""
        runs = [(run.attack, run.findings) for run in self.runs if run.findings is not None]
        return [
            (attack, heading, to_library(table, self.library))
            for attack, findings in runs
            for heading, table in findings.tables(self.limits).items()
        ]

    @cached_property
    def posteriors(self) -> Any:
        """For each person and value still possible how likely it is, from the attack that computes it."""
        for run in self.runs:
            if run.findings is not None and (posteriors := run.findings.posteriors).height:
                return to_library(posteriors, self.library)
        return to_library(pl.DataFrame(schema=POSTERIORS), self.library)

    @cached_property
    def measured(self) -> Risks:
        """All figures of re-identification, presence and attribute disclosure."""
        return risks_of(
            self.published,
            threshold=self.threshold,
            limit=self.limits.probability,
            anatomised=self.form == "anatomised",
            knowing=self.knowing,
            together=self.together,
        )

    @property
    def risks(self) -> Any:
        """One row for each release: its risks alone, and those of all releases up to it (`cumulative_...`)."""
        return to_library(self.measured.table, self.library)

    @cached_property
    def people(self) -> Any:
        """For each person, by number, whose value was not known beforehand, how likely the likeliest value is."""
        for run in self.runs:
            if run.findings is not None and (worst := worst_of(run.findings, self.known_people)).height:
                return to_library(worst, self.library)
        return to_library(pl.DataFrame(schema=PEOPLE), self.library)

    @cached_property
    def disclosure(self) -> Disclosure:
        """What can be learnt about values from all releases together."""
        known = set(self.knowledge.compromised) if self.knowledge else set()
        certain = {who for run in self.runs if run.findings is not None for who in run.findings.certain}
        found = disclosure_of(self.in_polars.people, self.limits.probability, len(certain - known))
        found = replace(found, together=self.together)
        # Values of sets have limits of their own, by which the attack on sets has counted.
        own = [run.judgement.count for run in self.runs if run.by.sets == "tracks" and run.judgement.status == "beyond"]
        return replace(found, above=max([found.above or 0, *own])) if own else found

    @cached_property
    def exposed_groups(self) -> Any:
        """The most exposed groups: `release`, `group`, `people`, `highest`, `mean`, `above` the limit.

        Of one's own series people about whom all conclusions are wrong do not count.
        """
        people = self.in_polars.people
        if not self.together:
            # What somebody had in one release says nothing about their group in another.
            people = people.clear()
        if self.truth is not None:
            people = people.filter(
                ~pl.col("person").is_in(pl.Series(self.truth.misled_people, dtype=pl.Int64).implode())
            )
        return to_library(exposed_groups(self.published, people, self.limits.probability), self.library)

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """Singling out, linkability and inference, each with a verdict and the evidence."""
        *others, inference = criteria_of(
            self.measured,
            [Judged(run.attack, run.by, run.judgement) for run in self.runs],
            self.limits,
            threshold=self.threshold,
            anatomised=self.form == "anatomised",
            permanent=self._permanent,
            sets=self._sets,
            above=self.above,
            linked=next((one for run in self.runs if run.findings and (one := run.findings.linked_rows)), None),
        )
        if self.truth is not None and self.truth.misled:
            inference = replace(inference, evidence=f"{inference.evidence} {self.truth.conclusion}")
        return (*others, inference)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the figures."""
        notes = [*(_as_written(self.published) if self.remarks else ()), *self.remarks]
        if self.form == "anatomised":
            notes.append(ANATOMISED)
        notes += of_sets(self.published)
        if self.knowledge is not None and self.knowledge.counterfeits:
            notes += of_counterfeits(self.knowledge)
        elif any((release.members < 0).any() for release in self.published.plain):
            notes.append(COUNTERFEITS)
        if not self.measured.candidates_known:
            notes.append(
                "There is no register of more people than are in the releases: journalist risk is prosecutor risk."
            )
        if not self.published.exact:
            notes.append(
                "It is not known for certain who is in which group: risks over the releases together are left out."
            )
        if self.measured.contradictory:
            who = count_of(self.measured.contradictory, "person has", "people have")
            notes.append(f"{who} no value that all their groups show: their value changed, or the releases disagree.")
        if not self.together:
            notes.append("Risks of values over several releases are left out: values are not known to stay.")
        notes += [f"{run.attack} was not run: {run.judgement.words}" for run in self.runs if run.findings is None]
        run_at_all = lacking((run.by for run in self.runs), self.limits, permanent=self._permanent, sets=self._sets)
        if missing := what_is_open(run_at_all, permanent=self._permanent, sets=self._sets):
            notes.append(f"{missing[0].upper()}{missing[1:]}.")
        open_ = {status for status in self.accept if any(run.judgement.status == status for run in self.runs)}
        notes += [f"What is {status} was accepted by name." for status in sorted(open_)]
        return tuple(notes)

    def to_dict(
        self, *, show_people: bool = False, show_values: bool = False, called: Called | None = None
    ) -> dict[str, Any]:
        """Everything as plain data; people by number and values by letter unless asked for."""
        naming = Naming(self.published, show_people, show_values, called)
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "headline": asdict(self.headline),
            "assumptions": [
                {**asdict(one), "words": one.words, "relied_on": one.carries and one.name in self._resting}
                for one in self.assumptions
            ],
            "contradicted": self.contradicted,
            "rests_on": self.rests_on,
            "subject": None if self.subject is None else self.subject.to_dict(),
            "truth": None if self.truth is None else self.truth.to_dict(),
            "time": self.time.isoformat(timespec="seconds"),
            "form": self.form,
            "promises": [promise.words for promise in self.promises],
            "limits": {
                "probability": None if self.limits.probability is None else str(self.limits.probability),
                "equivalence": self.limits.equivalence,
                "diversity": self.limits.diversity,
                "history_diversity": self.limits.history_diversity,
                "correlation": self.limits.correlation,
                "credibility": None if self.limits.credibility is None else str(self.limits.credibility),
                **self._limits_of_columns(),
            },
            "threshold": self.threshold,
            "accept": sorted(self.accept),
            "adversary": adversary(self.published, self.knowledge),
            "attacks": [
                {
                    "attack": run.attack,
                    "run": run.findings is not None,
                    "status": run.judgement.status,
                    "words": run.judgement.words,
                    "findings": run.judgement.count,
                    "seconds": round(run.seconds, 3),
                    "steps": run.steps,
                    "stopped": run.stopped,
                    "searched": list(run.searched),
                    "undecided": list(run.undecided),
                }
                for run in self.runs
            ],
            "findings": [_told(finding, naming, self.mark(finding)) for finding in self.findings],
            "suspicions": [_told(finding, naming, self.mark(finding)) for finding in self.suspicions],
            "unasked": [{"attack": attack, "witness": naming.told(one)} for attack, one in self.unasked],
            "sections": [
                {"attack": attack, "heading": heading, "rows": table.to_dicts()}
                for attack, heading, table in self.in_polars.sections
            ],
            "risks": self.in_polars.risks.to_dicts(),
            "disclosure": asdict(self.disclosure),
            "exposed_groups": self.in_polars.exposed_groups.to_dicts(),
            "criteria": [asdict(criterion) for criterion in self.criteria],
            "notes": list(self.notes),
        }

    def to_json(
        self,
        path: str | Path | None = None,
        *,
        show_people: bool = False,
        show_values: bool = False,
        called: Called | None = None,
    ) -> str:
        """The report as JSON, written to a file if one is named."""
        data = self.to_dict(show_people=show_people, show_values=show_values, called=called)
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        if path is not None:
            _write(path, text)
        return text

    def to_html(
        self,
        path: str | Path,
        *,
        show_people: bool = False,
        show_values: bool = False,
        called: Called | None = None,
    ) -> Path:
        """Write the report as one file that works offline, in the order of ISO/IEC 27559.

        People are called by number and values by letter unless `show_people` or `show_values` asks for more; `called`
        gives the name behind a number where the view has none.
        """
        from reissue.auditing.report_page import page

        return _write(path, page(self.in_polars, Naming(self.published, show_people, show_values, called)))

    def text(
        self,
        *,
        most: int = 10,
        show_people: bool | None = None,
        show_values: bool | None = None,
        called: Called | None = None,
    ) -> str:
        """The report in plain words. People and values are named where the view was built from names, or if asked."""
        named = self.published.people is not None
        naming = Naming(
            self.published,
            named if show_people is None else show_people,
            named if show_values is None else show_values,
            called,
        )
        about = [] if self.subject is None else [f"Audited: {self.subject.words}."]
        headline = self.headline
        lines = [headline.words, *(() if self.truth is None else self.truth.words), self.verdict]
        lines += [*([headline.beside] if headline.beside else []), *about, ""]
        lines += [f"Limit: {told}." for told in limits_in_words(self.limits)]
        lines += ["", *(f"Assumption {told}" for told in in_lines(self.assumptions))] if self.assumptions else []
        lines += ["", *(f"{run.attack}: {STATUSES[run.judgement.status]}. {run.judgement.words}" for run in self.runs)]
        shown = self.leading[:most]
        if shown:
            lines += ["", f"The worst of {how_many(self)}, one for each person or class of people:"]
            lines += [
                f"  {at}. {described(finding, naming)}{marked(self, finding)}"
                for at, finding in enumerate(shown, start=1)
            ]
        if self.mistaken:
            lines += ["", MISTAKEN]
            lines += [f"  {described(one, naming)}{marked(self, one)}" for one in self.mistaken[:most]]
        if self.suspicions:
            lines += ["", "Not decided; it would be so if:"]
            lines += [f"  {one.attack}: {naming.witness(one)}{marked(self, one)}" for one in self.suspicions]
        if self.unasked:
            lines += ["", "Found, though no limit asks about it:"]
            lines += [f"  {attack}: {naming.told(one)}" for attack, one in self.unasked]
        lines += ["", *(f"{one.name}: {one.verdict}. {one.evidence}" for one in self.criteria)]
        lines += ["", *(f"Note: {note}" for note in self.notes)] if self.notes else []
        return "\n".join(map(printable, lines))

    def _limits_of_columns(self) -> dict[str, Any]:
        """The limits of single columns, where several are sensitive."""
        if self.limits.columns is None:
            return {}
        return {"columns": {name: None if limit is None else str(limit) for name, limit in self.limits.columns}}

    @cached_property
    def known_people(self) -> Ints:
        """The people whose value was known beforehand, by number."""
        if self.knowledge is None or not self.knowledge.compromised:
            return np.zeros(0, dtype=np.int64)
        return self.knowledge.known_values(self.published)[0]


def _as_written(published: Published) -> list[str]:
    """What looks like a matter of writing: values that differ in case alone, and files that say the same twice."""
    notes = []
    texts = [str(value) for value in published.values if value is not None]
    folded = Counter(text.casefold().strip() for text in texts)
    if alike := sum(often for often in folded.values() if often > 1):
        notes.append(
            f"{alike:,} sensitive values differ from another in case alone and are taken for different ones, as if "
            "they had changed; write them in one way if they are the same."
        )
    for one, two in pairwise(published.plain):
        parts = ("members", "member_starts", "values", "counts", "value_starts")
        same = all(np.array_equal(getattr(one, part), getattr(two, part)) for part in parts)
        cells = one.region is None or two.region is None or one.region.equals(two.region)
        if same and cells:
            notes.append(f"Releases {one.number:,} and {two.number:,} say the same: the same file may be there twice.")
    return notes


def _person(published: Published, finding: Finding) -> str | int | None:
    """The most exposed as the view calls him; None for a made-up row, or where nobody is known."""
    number = finding.people[0] if finding.people else -1
    return published.name(number) if number >= 0 else None


def described(finding: Finding, naming: Naming) -> str:
    """A finding in a line: who, how likely, how sure, and why."""
    likely = (
        "" if finding.probability is None else f" with probability {finding.probability:.4g} ({KINDS[finding.kind]})"
    )
    return f"{naming.who(finding)}{likely}, {finding.attack}: {naming.witness(finding)}"


def marked(report: AuditReport, finding: Finding) -> str:
    """What stands behind a finding: whether it is true, where that can be said."""
    told = "" if report.truth is None else report.truth.told(finding)
    return f" ({told})" if told else ""


def how_many(report: AuditReport) -> str:
    """How many findings there are, in words."""
    return count_of(findings_in_all(report), "finding")


def _told(finding: Finding, naming: Naming, mark: Mark | None) -> dict[str, Any]:
    return {
        "person": naming.who(finding),
        "people": [naming.person(number) for number in finding.people],
        "release": finding.release,
        "attack": finding.attack,
        "what": finding.what,
        "probability": finding.probability,
        "kind": finding.kind,
        "witness": naming.witness(finding),
        "rests_on": list(finding.rests_on),
        "truth": mark,
    }


def _write(path: str | Path, text: str) -> Path:
    """Write a report that nobody else on the machine can read."""
    path = Path(path)
    check_text("The name of the report", path)
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"'{path}' cannot be written: {error.strerror}.") from error
    return path


def runs_of(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs under names of their own, so that the same attack can be run in two ways."""
    seen: dict[str, int] = {}
    named = []
    for run in runs:
        often = seen[run.attack] = seen.get(run.attack, 0) + 1
        name = run.attack if often == 1 else f"{run.attack} {often}"
        named.append(replace(run, attack=name))
    return tuple(named)
