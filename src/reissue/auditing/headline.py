"""The headline: what the audit found, in one sentence about people; pages, texts and the terminal say the same.

It speaks of people where the view knows them, else of rows and whoever is in them. Every figure says of how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.attacks.differences.differences import DifferencesFindings
from reissue.attacks.figures import limit_told
from reissue.auditing.hidden_rows import hidden_rows
from reissue.auditing.words import joined
from reissue.errors import count_of
from reissue.model.published import PublishedGroups
from reissue.reasoning.history import diversity

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport

Tone = Literal["good", "bad", "open"]
"""`good`: the limits are kept and nothing stands against it; `bad`: they are not; `open`: neither."""
KNOWN = 4
"""So many things that one must know of somebody are named."""


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
    beside = [learnt.beside] if learnt.beside else []
    if report.passed and learnt.people:
        beside.append("The limits that were asked about are kept; none of them forbids this.")
    if unmet and report.passed:
        beside.append(f"The limits are kept, and of the European criteria {joined(unmet)} {_is(unmet)} not met.")
    if report.passed and (told := _hidden_shares(report)):
        beside.append(told)
    tone: Tone = "bad" if learnt.beyond else "open"
    if report.passed:
        tone = "open" if beside or report.contradicted or not outcome.endswith("Passed") else "good"
    sentence = learnt.sentence
    if told := report.contradicted:
        sentence = f"{told[:1].upper()}{told[1:]}. {sentence}"
    return Headline(outcome, sentence, " ".join(beside), tone)


def _hidden_shares(report: AuditReport) -> str:
    """What groups show of their rows beyond the limit, where it is not known who is in them and nobody is beyond it."""
    if report.limits.probability is None or report.published.sets or report.published.exact or not report.named:
        return ""
    table = report.measured.table
    if not int(table["attribute_above"].fill_null(0).sum()):
        return ""
    share, likeliest = float(np.nanmax(table["attribute_highest"].to_numpy())), report.disclosure.highest
    among = f"Among the rows of a group one value has a share of up to {share:.3g}"
    nobody = "" if likeliest is None else f", and for nobody is a value likelier than {likeliest:.3g}"
    return f"{among}. Who is in that group is not known for certain{nobody}."


@dataclass(frozen=True)
class _Learnt:
    sentence: str
    beyond: bool
    """Whether more can be learnt than the limits allow."""
    people: bool = False
    """Whether something is told of people who can be tied to values."""
    beside: str = ""
    """What all releases show, where the sentence speaks of the last."""


def _learnt(report: AuditReport) -> _Learnt:
    beyond = any(run.judgement.status == "beyond" for run in report.runs)
    told, beside = (_of_people(report), "") if report.named else _of_rows(report)
    if report.named and not report.published.sets and not _judged(report) and (rows := _of_rows(report))[0]:
        # What nobody counted for people, the rows themselves show.
        told, beside = f"{told} {rows[0]}" if told else f"People were not judged one by one. {rows[0]}", rows[1]
    if report.named and not told and not beyond and report.above is not None:
        # No attack concludes anything, and groups tell by themselves.
        told, beside = _of_rows(report)
    if told:
        return _Learnt(told, beyond or not report.passed, people=True, beside=beside)
    if beyond:
        return _Learnt(_of_judgements(report), True)
    return _Learnt(_nothing(report), False)


def _judged(report: AuditReport) -> bool:
    """Whether an attack that can prove probabilities was run, or no probability is asked about."""
    able = [run for run in report.runs if "probability" in run.by.proves and run.judgement.status != "not asked"]
    return report.limits.probability is None or any(run.findings is not None for run in able)


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
    together = taken_together(report)
    parts = []
    if certain:
        told, others = _read_off(report, sure, certain, everybody)
        parts.append(f"{told} can be read off from {together}{_if_so(report)}")
        parts += [f"of {others}"] if others else []
        if wrong:
            parts.append(f"of {wrong:,} more an outsider would be certain, and wrong")
    elif wrong:
        value = _value(report, sure)
        parts.append(
            f"an outsider would be certain of {wrong:,} of {everybody:,} people's {value}, and wrong each time"
        )
    if more > 0:
        rest = claims.filter(~pl.col("person").is_in(sure["person"].implode()))
        # Of what is bounded only, what is proven.
        proven = pl.when(pl.col("kind") == "bounded").then(pl.col("low")).otherwise(pl.col("probability"))
        highest = rest.select(proven.max()).item()
        most = f", up to {highest:.3g}" if isinstance(highest, float) else ""
        if (rest["kind"] == "conditional").any():
            most += ", taking cells as they are published" if _perturbed(report) else ", if nothing was perturbed"
        most += ", if they are in a release" if rest["supposed"].any() else ""
        most += ", by estimate" if (rest["kind"] == "sampled").all() and rest.height else ""
        over = "what the limits allow" if report.limits.probability is None else limit_told(report.limits.probability)
        who = f"{more:,} more" if parts else f"{more:,} of {count_of(everybody, 'person', 'people')}"
        where = "" if parts else f" from {together}"
        parts.append(f"{who} can be tied to {_a(_value(report, rest))}{where} with a probability above {over}{most}")
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _read_off(report: AuditReport, sure: pl.DataFrame, certain: int, everybody: int) -> tuple[str, str]:
    """Of how many people what can be read off, and of how many more single columns: `2 of 5 people's diagnosis`."""
    are = "person's" if everybody == 1 else "people's"
    whole = sure.filter(pl.col("column").is_null())["person"]
    single = sure.filter(pl.col("column").is_not_null() & ~pl.col("person").is_in(whole.implode()))
    if report.truth is not None or not single.height:
        return f"{certain:,} of {everybody:,} {are} {_value(report, sure)}", ""
    of = sorted(single.group_by("column").agg(pl.col("person").n_unique()).iter_rows())
    if whole.len():
        told = f"{whole.n_unique():,} of {everybody:,} {are} {sensitive_of(report)}"
        return told, joined(f"{many:,} more the {name}" for name, many in of)
    (first, many), *rest = of
    told = joined([f"{many:,} of {everybody:,} {are} {first}", *(f"{many:,} people's {name}" for name, many in rest)])
    return told, ""


def _if_so(report: AuditReport) -> str:
    """What certainty rests on that the releases do not contradict, and cannot prove."""
    resting = {name for run in report.runs if run.findings is not None for name in run.by.rests_on}
    open_ = _untested(report) & resting
    told = [_staying(report).removeprefix(", if ")]
    if open_ & {"registry-complete", "cells-stay"}:
        told.append("the registry is right")
    if "unperturbed" in open_:
        told.append("nothing was perturbed")
    told = [one for one in told if one]
    return f", if {joined(told)}" if told else ""


def _staying(report: AuditReport) -> str:
    """That it rests on values that stay; nothing where it does not, or where somebody knows it."""
    resting = {name for run in report.runs if run.findings is not None for name in run.by.rests_on}
    open_ = "values-stay" in _untested(report) & resting
    return ", if values stay the same" if open_ and report.leaning.several and report.together else ""


def people_of(report: AuditReport) -> int | None:
    """How many people a report is about; None where nobody knows."""
    figures = report.disclosure.people
    counted = report.measured.table["cumulative_people"].drop_nulls().to_list()
    if counted:
        # An attack may have figures for some only.
        return max(figures, int(counted[-1]))
    # Where it is not known who is in which group, those who may be.
    listed = report.named and not report.published.sets and not report.published.exact
    return max(figures, int(np.count_nonzero(report.published.index.people >= 0))) if listed else figures or None


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


def taken_together(report: AuditReport) -> str:
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


def findings_in_all(report: AuditReport) -> int:
    """How many findings there are; what is not decided is not among them."""
    return max(
        sum(run.judgement.count for run in report.runs if run.judgement.status == "beyond"), len(report.findings)
    )


# Rows, where nobody knows whose they are


def _of_rows(report: AuditReport) -> tuple[str, str]:
    """How many rows tell the value of whoever is in them, nothing where none does; and how many of all releases.

    Of several releases the last speaks: who is in many of them is counted in each.
    """
    each = [(number, shown) for number, shown in _shown(report) if shown.rows]
    telling = [one for one in each if one[1].told]
    if not telling:
        return "", ""
    number, shown = telling[-1]
    nothing = _nothing_told(report, shown)
    if len(each) == 1:
        return f"{_capital(_rows_told(report, shown, _rows(shown.rows)))}.", nothing
    last = ", the last" if number == each[-1][0] else ""
    first = f"in release {number:,}{last}, {_rows_told(report, shown, _rows(shown.rows))}"
    every = _of_all_releases(report, [shown for _, shown in each])
    return f"{_capital(first)}.", f"{nothing} {every}" if nothing else every


def _nothing_told(report: AuditReport, shown: _Shown) -> str:
    """How many rows show no more than that nothing is known; what an empty cell means only its publisher knows."""
    if not shown.nothing:
        return ""
    show = "shows" if shown.nothing == 1 else "show"
    read_off = _rows(shown.kinds[sensitive_of(report)])
    return f"Of the {read_off} {shown.nothing:,} {show} nothing but an empty cell or a word such as Unknown."


def _of_all_releases(report: AuditReport, each: Sequence[_Shown]) -> str:
    """The same of all releases, in each of which people are counted again."""
    rows, sums = _rows(sum(one.rows for one in each)), Counter[str | int]()
    for one in each:
        sums.update(one.kinds)
    read_off = "all show the same" if _unsure(report) else "tell the"
    whole = sensitive_of(report)
    same = [(name, many) for name, many in sums.items() if isinstance(name, str) and many]
    told = [f"{many:,}{' more' if name != whole and sums[whole] else ''} {read_off} {name}" for name, many in same]
    if sums[ABOVE] and report.limits.probability is not None:
        told.append(f"{sums[ABOVE]:,}{' more' if told else ''} show one with a share above the limit")
    if sums[ELSEWHERE]:
        told.append(f"{sums[ELSEWHERE]:,}{' more' if told else ''} would, if others did not overlap them")
    return f"Of {rows} of the {len(each):,} releases, with people counted in each, {joined(told)}."


ABOVE, ELSEWHERE = 0, 1
"""Rows that show a value with a share above the limit; and rows that would tell something by themselves, but overlap
others, so that whoever fits them may be elsewhere."""


@dataclass(frozen=True)
class _Shown:
    """What the rows of one release show by themselves."""

    rows: int
    kinds: Mapping[str | int, int]
    """How many stand among rows that all show the same of what is named; how many more are `ABOVE`, or `ELSEWHERE`."""
    nothing: int = 0
    """Of those that show the same how many show that nothing is known, as `Unknown` does."""

    @property
    def told(self) -> int:
        return sum(self.kinds.values())

    @property
    def same(self) -> list[tuple[str, int]]:
        """What rows show alike, and how many do."""
        return [(kind, many) for kind, many in self.kinds.items() if isinstance(kind, str) and many]


def _shown(report: AuditReport) -> list[tuple[int, _Shown]]:
    """For every release what its rows show."""
    looked = _looked(report)
    found = []
    for at, release in enumerate(report.published.plain):
        kinds = _alone(report, release) if looked is None else _beside_others(report, looked, at)
        empty = 0
        if looked is not None:
            shares = looked.shares[at]
            empty = int(shares.rows[shares.single & shares.nothing].sum())
        found.append((release.number, _Shown(int(release.rows.sum()), kinds, empty)))
    return found


def _alone(report: AuditReport, release: PublishedGroups) -> dict[str | int, int]:
    """What the rows of each group show, taken by itself."""
    held, one = release.rows, np.diff(release.value_starts) == 1
    beyond = ~one & (held > 0) & _more_than(diversity.largest(release), held, report.limits.probability)
    return {sensitive_of(report): int(held[one].sum()), ABOVE: int(held[beyond].sum()), ELSEWHERE: 0}


def _beside_others(report: AuditReport, looked: DifferencesFindings, at: int) -> dict[str | int, int]:
    """The same with the groups that overlap them, of whole records and of every sensitive column."""
    record, limits = looked.shares[at], report.limits
    columns = [(name, looked.columns[name][at], limit) for name, limit in limits.columns or ()]
    every = [(record, limits.probability), *((shares, limit) for _, shares, limit in columns)]
    held = record.rows
    single = np.logical_or.reduce([one.single for one, _ in every])
    above = np.logical_or.reduce([_more_than(one.often, held + one.beside, limit) for one, limit in every]) & ~single
    might = np.logical_or.reduce([(one.often == held) | _more_than(one.often, held, limit) for one, limit in every])
    elsewhere = might & (held > 0) & ~single & ~above
    # Where whole records are read off, so are their columns.
    kinds: dict[str | int, int] = {sensitive_of(report): int(held[record.single].sum())}
    kinds |= {name: int(held[shares.single & ~record.single].sum()) for name, shares, _ in columns}
    return kinds | {ABOVE: int(held[above].sum()), ELSEWHERE: int(held[elsewhere].sum())}


def _more_than(often: Ints, rows: Ints, limit: Fraction | None) -> Bools:
    """Where a share is above a limit; nowhere without a limit."""
    if limit is None:
        return np.zeros(rows.size, dtype=np.bool_)
    return np.asarray(often * limit.denominator > rows * limit.numerator)


def _looked(report: AuditReport) -> DifferencesFindings | None:
    """What groups tell, with those that overlap them; None where nobody compared their regions."""
    found = (run.findings.as_published for run in report.runs if run.findings is not None)
    return next((one for one in found if isinstance(one, DifferencesFindings)), None)


def _unsure(report: AuditReport) -> bool:
    """Whether nobody knows what perturbed cells hide, or who is in rows that others may overlap."""
    return _perturbed(report) or not (report.published.exact or _looked(report))


def _rows_told(report: AuditReport, shown: _Shown, many: str) -> str:
    """What rows show, in words."""
    whole, columns = sensitive_of(report), [one.name for one in report.published.columns]
    parts = []
    if shown.same:
        more = " more" if shown.same[0][0] == whole else ""
        if _unsure(report):
            (first, rows), *rest = shown.same
            told = [f"{rows:,} of {many} stand among rows that all show the same {first}"]
            parts.append(joined([*told, *(f"{rows:,}{more} among rows with the same {name}" for name, rows in rest)]))
        else:
            unless = ", if nothing was perturbed" if "unperturbed" in _untested(report) else ""
            knowing = "" if report.named else _knowing(report)
            (first, rows), *rest = shown.same
            told = [f"the {first} of whoever is in {rows:,} of {many}"]
            told += [f"the {name} of whoever is in {rows:,}{more}" for name, rows in rest]
            parts.append(f"{joined(told)} can be read off{knowing}{unless}")
    over = "" if report.limits.probability is None else limit_told(report.limits.probability)
    one = " or ".join(columns) if columns and report.subject is not None else whole
    above, elsewhere = shown.kinds[ABOVE], shown.kinds[ELSEWHERE]
    if above:
        who = f"{above:,} more {'row' if above == 1 else 'rows'}" if parts else f"{above:,} of {many}"
        show = "shows" if above == 1 else "show"
        parts.append(f"{who} {show} one {one} with a share above {over} among rows like them")
    if elsewhere and parts:
        parts.append(f"{elsewhere:,} more would, but whoever fits them may be in rows that overlap them")
    elif elsewhere:
        share = f"with a share above {over} among" if over else "in all"
        parts.append(
            f"{elsewhere:,} of {many} show one {one} {share} rows like them, but whoever fits them may be in rows that "
            "overlap them"
        )
    return "; ".join(parts)


def _knowing(report: AuditReport) -> str:
    """What one must know of somebody to find their rows: ` by anybody who knows their age, sex and 4 more columns`."""
    names = () if report.subject is None else report.subject.quasi
    if not names:
        return ""
    told = [*names] if len(names) <= KNOWN else [*names[: KNOWN - 1], f"{len(names) - KNOWN + 1} more columns"]
    return f" by anybody who knows their {joined(told)}"


def _rows(rows: int) -> str:
    return f"{rows:,} {'row' if rows == 1 else 'rows'}"


def _capital(told: str) -> str:
    return f"{told[:1].upper()}{told[1:]}"


def _perturbed(report: AuditReport) -> bool:
    """Whether cells are known to have been perturbed."""
    return any(one.name == "unperturbed" and not one.carries for one in report.assumptions)


def _untested(report: AuditReport) -> set[str]:
    """What the releases do not contradict, and cannot prove; a ledger knows better."""
    if report.marked:
        return set()
    return {one.name for one in report.assumptions if one.status in ("holds", "untested")}


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
    together = taken_together(report)
    if not report.passed:
        if rows := hidden_rows(report.published):
            return (
                f"What can be learnt from {together} is not known: {count_of(rows, 'suppressed row')} may be "
                "anybody's, and hide it. If a suppressed row belongs to no published class, say so (--suppressed "
                "class): more can be concluded then."
            )
        left = report.disclosure.open or 0
        value = _a(sensitive_of(report))
        if report.named and left and everybody:
            return (
                f"Nobody was found who can be tied to {value} beyond the limits, but for {left:,} of "
                f"{count_of(everybody, 'person', 'people')} it is not settled."
            )
        why = report.verdict.partition("but ")[2] or "nothing is proven."
        if not report.named and not report.published.sets and why.startswith("with "):
            them = "it" if len(report.published.plain) == 1 else "them"
            why = f"it is not proven that there is nothing: it is not known who is in {them}."
        return f"Nothing beyond the limits was found in {together.removesuffix(' together')}, but {why}"
    limit = report.limits.probability
    who = "Nobody" if everybody is None else f"None of {count_of(everybody, 'person', 'people')}"
    if limit is not None:
        value = _a(sensitive_of(report))
        told = f"{who} can be tied to {value} from {together} with a probability above {limit_told(limit)}"
        if report.published.sets:
            told += ", by somebody who expects values by the published shares"
    else:
        about = "anybody" if everybody is None else f"any of {count_of(everybody, 'person', 'people')}"
        told = f"no more can be learnt about {about} from {together} than the limits allow"
        told = f"{told[:1].upper()}{told[1:]}"
    proven = all(run.judgement.status == "within" for run in asked)
    return f"{told}{f'{_staying(report)}: proven' if proven else ', as far as was found'}."
