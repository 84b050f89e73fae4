"""The headline: what the audit found, in one sentence about people; pages, texts and the terminal say the same.

It speaks of people where the view knows them, else of rows and whoever is in them. Every figure says of how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from reissue.attacks.figures import limit_told
from reissue.auditing.words import joined
from reissue.errors import count_of

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport

Tone = Literal["good", "bad", "open"]
"""`good`: the limits are kept and nothing stands against it; `bad`: they are not; `open`: neither."""


@dataclass(frozen=True)
class Headline:
    """The outcome of an audit, for somebody who reads nothing else."""

    outcome: str
    """`Passed`, `Passed by acceptance` or `Not passed`."""
    sentence: str
    """What is contradicted, if anything, and what can be learnt about people."""
    beside: str
    """What stands beside it and must not be overlooked; empty where nothing does."""
    tone: Tone

    @property
    def words(self) -> str:
        """In one line."""
        return f"{self.outcome}: {self.sentence}"


def headline_of(report: AuditReport) -> Headline:
    """The headline of a report."""
    outcome = report.verdict.partition(":")[0]
    learnt = _learnt(report)
    unmet = [one.name for one in report.criteria if one.verdict == "not met"]
    beside = []
    if report.passed and learnt.people:
        beside.append("The limits that were asked about are kept; none of them forbids this.")
    if unmet and report.passed:
        beside.append(f"The limits are kept, and of the European criteria {joined(unmet)} {_is(unmet)} not met.")
    tone: Tone = "bad" if learnt.beyond else "open"
    if report.passed:
        tone = "open" if beside or report.contradicted or not outcome.endswith("Passed") else "good"
    sentence = learnt.sentence
    if told := report.contradicted:
        sentence = f"{told[:1].upper()}{told[1:]}. {sentence}"
    return Headline(outcome, sentence, " ".join(beside), tone)


@dataclass(frozen=True)
class _Learnt:
    sentence: str
    beyond: bool
    """Whether more can be learnt than the limits allow."""
    people: bool = False
    """Whether something is told of people who can be tied to values."""


def _learnt(report: AuditReport) -> _Learnt:
    beyond = any(run.judgement.status == "beyond" for run in report.runs)
    told = _of_people(report) if report.named else _of_rows(report)
    if report.named and not told and not beyond and report.above is not None:
        # No attack concludes anything, and groups tell by themselves.
        told = _of_rows(report)
    if told:
        return _Learnt(told, beyond or not report.passed, people=True)
    if beyond:
        return _Learnt(_of_judgements(report), True)
    return _Learnt(_nothing(report), False)


# People


def _of_people(report: AuditReport) -> str:
    """How many people can be tied to their values; nothing where nobody can."""
    claims = report.claims
    sure = claims.filter(pl.col("certain"))
    certain, likely = sure["person"].n_unique(), claims["person"].n_unique()
    wrong = 0
    if report.truth is not None:
        certain, wrong = report.truth.certain.right + report.truth.certain.unknown, report.truth.certain.wrong
        likely = report.truth.above.claims
    more = likely - certain - wrong
    everybody = max(people_of(report) or 0, likely)
    together = _together(report)
    parts = []
    if certain:
        value = _value(report, sure)
        are = "person's" if everybody == 1 else "people's"
        parts.append(f"{certain:,} of {everybody:,} {are} {value} can be read off from {together}{_if_so(report)}")
        if wrong:
            parts.append(f"of {wrong:,} more an outsider would be certain, and wrong")
    elif wrong:
        value = _value(report, sure)
        parts.append(
            f"an outsider would be certain of {wrong:,} of {everybody:,} people's {value}, and wrong each time"
        )
    if more > 0:
        rest = claims.filter(~pl.col("person").is_in(sure["person"].implode()))
        highest = rest["probability"].max()
        most = f", up to {highest:.3g}" if isinstance(highest, float) else ""
        if (rest["kind"] == "conditional").any():
            most += ", taking perturbed cells as they are" if _perturbed(report) else ", if nothing was perturbed"
        most += ", by estimate" if (rest["kind"] == "sampled").all() and rest.height else ""
        over = "what the limits allow" if report.limits.probability is None else limit_told(report.limits.probability)
        who = f"{more:,} more" if parts else f"{more:,} of {count_of(everybody, 'person', 'people')}"
        where = "" if parts else f" from {together}"
        parts.append(f"{who} can be tied to {_a(_value(report, rest))}{where} with a probability above {over}{most}")
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _if_so(report: AuditReport) -> str:
    """What certainty over several releases rests on that the releases do not contradict, and cannot prove."""
    if not report.leaning.several or not report.together or report.marked:
        return ""
    open_ = {one.name for one in report.assumptions if one.status in ("holds", "untested")}
    resting = {name for run in report.runs if run.findings is not None for name in run.by.rests_on}
    return ", if values stay the same" if "values-stay" in open_ & resting else ""


def people_of(report: AuditReport) -> int | None:
    """How many people a report is about; None where nobody knows."""
    figures = report.disclosure.people
    counted = report.measured.table["cumulative_people"].drop_nulls().to_list()
    return figures or (int(counted[-1]) if counted else None)


def _value(report: AuditReport, claims: pl.DataFrame) -> str:
    """What is learnt, as its owner calls it: `diagnosis`."""
    names = [name for name in claims["column"].unique().sort().to_list() if name is not None]
    whole = claims.filter(pl.col("column").is_null()).height > 0
    if names and not whole:
        return " or ".join(names)
    return sensitive_of(report)


def sensitive_of(report: AuditReport) -> str:
    """The sensitive column, or all of them."""
    columns = () if report.subject is None else report.subject.sensitive
    if len(columns) == 1:
        return columns[0]
    return f"record of {joined(columns)}" if columns else "value"


def _together(report: AuditReport) -> str:
    """`release 1 alone`, `releases 1 to 4 together`; where these are not taken together, `single releases`."""
    numbers = [one.number for one in report.published.plain] + [one.number for one in report.published.sets]
    if len(numbers) == 1:
        return f"release {numbers[0]} alone"
    if not report.together:
        return "single releases"
    between = "and" if len(numbers) == 2 else "to"
    return f"releases {min(numbers):,} {between} {max(numbers):,} together"


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


# Rows, where nobody knows whose they are


def _of_rows(report: AuditReport) -> str:
    """How many rows tell the value of whoever is in them; nothing where none does."""
    alone, rows = _single_valued(report)
    limit, value = report.limits.probability, sensitive_of(report)
    above = 0 if limit is None else int(report.measured.table["attribute_above"].fill_null(0).sum())
    many = f"{rows:,} {'row' if rows == 1 else 'rows'}{_in_releases(report)}"
    found = (run.findings.telling_rows(report.limits) for run in report.runs if run.findings is not None)
    proven = next((one for one in found if one is not None), None)
    if proven is not None and proven[0]:
        # An attack looked at the groups: its figures are the same here as everywhere.
        above, alone, _ = proven
    parts = []
    if alone and (_perturbed(report) or (proven is not None and not proven[0])):
        parts.append(f"{alone:,} of {many} stand among rows that all show the same {value}")
    elif alone:
        parts.append(f"the {value} of whoever is in {alone:,} of {many} can be read off")
    if above > alone and limit is not None:
        who = f"{above - alone:,} more rows" if parts else f"{above:,} of {many}"
        is_so = (
            f"are in groups in which one {value} is likelier than {limit_told(limit)} for whoever is in them"
            if proven is not None and proven[0]
            else f"show one {value} with a share above {limit_told(limit)} among rows like them"
        )
        parts.append(f"{who} {is_so}")
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _perturbed(report: AuditReport) -> bool:
    """Whether it is known that cells were perturbed."""
    return any(one.name == "unperturbed" and not one.carries for one in report.assumptions)


def _single_valued(report: AuditReport) -> tuple[int, int]:
    """How many rows stand among rows that all show one value, and how many rows there are, over all releases."""
    alone = rows = 0
    for release in report.published.plain:
        held, kinds = release.rows, np.diff(release.value_starts)
        alone, rows = alone + int(held[kinds == 1].sum()), rows + int(held.sum())
    return alone, rows


def _in_releases(report: AuditReport) -> str:
    many = len(report.published.plain)
    return "" if many == 1 else f" in {many:,} releases"


# Neither


def _of_judgements(report: AuditReport) -> str:
    """What the attacks say of themselves that is beyond the limits."""
    beyond = [run for run in report.runs if run.judgement.status == "beyond"]
    words = beyond[0].judgement.words
    return words if words.endswith(".") else f"{words}."


def _nothing(report: AuditReport) -> str:
    """That nothing was found, and how far that goes."""
    asked = [run for run in report.runs if run.judgement.status != "not asked"]
    if not asked:
        return "None of the attacks that were run was asked for anything, so nothing is judged."
    everybody = people_of(report) if report.named else None
    together = _together(report)
    if not report.passed:
        left = report.disclosure.open or 0
        value = _a(sensitive_of(report))
        if report.named and left and everybody:
            return (
                f"Nobody was found who can be tied to {value} beyond the limits, but for {left:,} of "
                f"{count_of(everybody, 'person', 'people')} it is not settled."
            )
        why = report.verdict.partition("but ")[2] or "nothing is proven."
        return f"Nothing beyond the limits was found in {together.removesuffix(' together')}, but {why}"
    limit = report.limits.probability
    who = "Nobody" if everybody is None else f"None of {count_of(everybody, 'person', 'people')}"
    if limit is not None:
        value = _a(sensitive_of(report))
        told = f"{who} can be tied to {value} from {together} with a probability above {limit_told(limit)}"
    else:
        about = "anybody" if everybody is None else f"any of {count_of(everybody, 'person', 'people')}"
        told = f"no more can be learnt about {about} from {together} than the limits allow"
        told = f"{told[:1].upper()}{told[1:]}"
    proven = all(run.judgement.status == "within" for run in asked)
    return f"{told}{': proven' if proven else ', as far as was found'}."
