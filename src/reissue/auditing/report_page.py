"""The report as one page: what the template shows, gathered from a report.

First comes what somebody signs, on one sheet of paper: what was audited, the headline, what it rests on, the European
criteria and the worst findings with drawings. Behind it stand the sections of ISO/IEC 27559, in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reissue.auditing.compared import MISTAKEN, Counted
from reissue.auditing.derivation import DOUBTFUL, how_sure, picture_of, since, stated
from reissue.auditing.headline import findings_in_all, people_of, taken_together
from reissue.auditing.naming import Naming
from reissue.auditing.shown_tables import shown_tables, step_plots
from reissue.auditing.standing import in_order
from reissue.auditing.words import (
    KINDS,
    STATUSES,
    WHAT,
    adversary,
    brief,
    disclosed,
    joined,
    limits_in_words,
    not_covered,
)
from reissue.errors import count_of
from reissue.pages.pictures import Picture
from reissue.pages.plots import Line, bar_plot, line_plot
from reissue.pages.rendering import as_percent, render, upper_first

if TYPE_CHECKING:
    from reissue.attacks.base import Finding
    from reissue.auditing.report import AuditReport

TEMPLATES = Path(__file__).parent / "templates"
FIRST = 3
"""How many findings the first page tells."""
TOLD = 12
"""How many are told with their witnesses without opening anything."""
MOST = 50
"""How many are told at all; a file of findings has everybody."""
BINS = 10
LEFT_OUT = "People about whom only wrong conclusions are drawn do not count here."

ANSWERS = {"met": "good", "not met": "bad", "undecided": "open"}


def page(report: AuditReport, naming: Naming) -> str:
    """The whole page."""
    from reissue import __version__

    return render(
        TEMPLATES,
        "report.html",
        report=report,
        version=__version__,
        title="Audit of a series of releases" if report.subject is None else f"Audit of {report.subject.name}",
        sizes=_sizes(report),
        headline=report.headline,
        truth=() if report.truth is None else report.truth.words,
        privacy=_privacy(report, naming),
        facts=_facts(report),
        assumptions=_assumptions(report),
        criteria=[(one, ANSWERS[one.verdict], first_sentence(one.evidence)) for one in report.criteria],
        worst=_cards(report, report.leading, naming),
        supposed=[] if report.leading or report.mistaken else _cards(report, report.suspicions, naming),
        findings_in_all=findings_in_all(report),
        context=_context(report),
        releases=_releases(report),
        limits=[f"{upper_first(told)}." for told in limits_in_words(report.limits)],
        adversary=adversary(report.published, report.knowledge),
        attacks=[_attack(run) for run in report.runs],
        outcomes=[
            (run.attack, STATUSES[run.judgement.status], run.judgement.count, run.judgement.words)
            for run in report.runs
        ],
        compared=_compared(report),
        told=[_item(report, finding, naming) for finding in report.leading[:MOST]],
        told_at_once=TOLD,
        mistaken=[_item(report, finding, naming) for finding in report.mistaken[:MOST]],
        mistaken_in_all=len(report.mistaken),
        mistaken_heading=MISTAKEN,
        suspicions=[f"{one.attack}: {naming.witness(one)}{_marked(report, one)}" for one in report.suspicions],
        unasked=[f"{attack}: {naming.told(one)}" for attack, one in report.unasked],
        sections=[one for attack, heading, table in report.sections for one in shown_tables(heading, attack, table)],
        plots=_plots(report),
        figures=_figures(report),
        undecided=_undecided(report),
        notes=[one for one in report.notes if one not in _not_run(report)],
        not_covered=not_covered(report.knowledge, report.published, together=report.together),
        left_out=LEFT_OUT if report.truth is not None and report.truth.misled else "",
    )


# The first page


def _sizes(report: AuditReport) -> str:
    """`4 releases with 1,234 rows about 348 people`."""
    rows, people = int(report.risks["rows"].sum()), people_of(report) if report.supposed else None
    told = f"{count_of(report.risks.height, 'release')} with {count_of(rows, 'row')}"
    return told if people is None else f"{told} about {count_of(people, 'person', 'people')}"


def _privacy(report: AuditReport, naming: Naming) -> str:
    shown = [what for what, flag in (("people", naming.show_people), ("values", naming.show_values)) if flag]
    told = (
        f"This report names {' and '.join(shown)}: it is private."
        if shown
        else "This report is for the publisher only. People are numbered and values lettered, with new letters in each "
        "finding. But together with the public files it tells where the releases are weak"
    )
    if not shown:
        made_up = any((one.members < 0).any() for one in report.published.plain)
        told += ", and how many rows are counterfeits." if made_up else "."
    if report.truth is not None:
        told += " And it says which of an outsider's conclusions are right, as only the ledger knows."
    return told


def _facts(report: AuditReport) -> list[tuple[str, str]]:
    """What was audited, in a few lines."""
    facts, subject = [], report.subject
    if subject is not None:
        facts.append(("Series", subject.name))
        periods = [subject.releases[number] for number in sorted(subject.releases)]
        files = [subject.files[number] for number in sorted(subject.files)]
        if any(periods) and periods != files:
            facts.append(("Periods", _span([one for one in periods if one])))
        if files:
            facts.append(("Files", _span(files)))
        facts.append(("Sensitive", _some(subject.sensitive)))
        facts.append(("Known to outsiders", _some(subject.quasi) or "nothing"))
    facts.append(("Form", report.form or "not stated"))
    facts.append(("Limit", "; ".join(limits_in_words(report.limits)) or "none"))
    if subject is not None and subject.doubts:
        first, *more = subject.doubts
        told = first if len(first) <= REMARK else f"{first[:REMARK].rsplit(' ', 1)[0]} …"
        facts.append(
            ("To check", f"{told} ({count_of(len(more), 'more note')} like this at the end)" if more else told)
        )
    return facts


NAMES, LETTERS = 12, 40
"""So many columns are named on the first page, each with so many letters; the rest is behind it."""
REMARK = 200
"""So many letters of the first note are there too."""


def _some(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    told = ", ".join(brief(name, LETTERS) for name in names[:NAMES])
    return f"{told} and {len(names) - NAMES:,} more" if len(names) > NAMES else told


def _span(names: Sequence[str]) -> str:
    """The first and the last of several names, all where they are few."""
    once = [brief(name, LETTERS) for name in dict.fromkeys(names)]
    return joined(once) if len(once) <= 3 else f"{once[0]} to {once[-1]} ({len(once):,} in all)"


def _assumptions(report: AuditReport) -> list[dict[str, str]]:
    """What the conclusions rest on."""
    return [
        {"name": one.name, "words": one.words, "state": state, "kind": mark, "evidence": one.evidence}
        for one, state, mark in in_order(report.assumptions, report.supposed, report.known_to_change)
    ]


def first_sentence(text: str) -> str:
    """The beginning of a text, up to where its first sentence ends."""
    return re.split(r"(?<=[\w%)])\. (?=[A-Z])", text, maxsplit=1)[0].rstrip(".") + "."


def _cards(report: AuditReport, findings: Sequence[Finding], naming: Naming) -> list[dict[str, Any]]:
    """The first of some findings for the first page, none drawn twice."""
    cards: list[dict[str, Any]] = []
    for finding in findings:
        card = _card(report, finding, naming, f"finding-{len(cards)}")
        if not any((card["words"], card["says"]) == (one["words"], one["says"]) for one in cards):
            cards.append(card)
        if len(cards) == FIRST:
            break
    return cards


def _card(report: AuditReport, finding: Finding, naming: Naming, id_: str) -> dict[str, Any]:
    """A finding for the first page."""
    said = stated(finding, naming)
    doubted = finding.kind in DOUBTFUL
    return {
        "id": id_,
        "kind": "open" if doubted else "bad",
        "says": said if naming.show_people and finding.people and not doubted else upper_first(said),
        "how": upper_first(how_sure(finding, report.truth)),
        "picture": picture_of(finding, naming, report.subject),
        "words": naming.witness(finding),
    }


# Behind it


def _context(report: AuditReport) -> list[tuple[str, str]]:
    promised = "; ".join(f"{one.words}: {one.meaning}" if one.meaning else one.words for one in report.promises)
    people = people_of(report) if report.supposed else None
    subject = report.subject
    columns = (
        []
        if subject is None
        else [
            ("Sensitive columns", ", ".join(subject.sensitive)),
            ("Columns that an outsider may know", ", ".join(subject.quasi) or "none"),
        ]
    )
    return [
        *columns,
        ("Rows in all", f"{report.risks['rows'].sum():,}"),
        ("People in all", "not known" if people is None else f"{people:,}"),
        ("Distinct sensitive values", f"{len(report.published.values):,}"),
        ("Promised by the method", promised or "nothing was stated"),
    ]


def _releases(report: AuditReport) -> tuple[list[str], list[list[Any]]]:
    """The releases: what each is called, and its sizes."""
    subject = report.subject
    called = {} if subject is None else subject.releases
    files = {} if subject is None else subject.files
    with_files = any(files.get(number) != called.get(number) for number in files)
    columns = ["release", "of", *(["files"] if with_files else []), "rows", "groups", "smallest group"]
    sizes = report.risks.select("release", "rows", "groups", "smallest_group").rows()
    rows = [
        [number, called.get(number) or None, *([files.get(number)] if with_files else []), *rest]
        for number, *rest in sizes
    ]
    return columns, rows


def _attack(run: Any) -> dict[str, Any]:
    ran = f"It took {run.seconds:,.1f} seconds." if run.findings is not None else "It was not run."
    return {
        "name": run.attack,
        "words": f"{run.by.words} {ran}".strip(),
        "told": [*(f"Searched: {one}" for one in run.searched), *(f"Not settled: {one}" for one in run.undecided)],
    }


def _compared(report: AuditReport) -> dict[str, Any] | None:
    """What the ledger says about an outsider's conclusions, attack by attack."""
    if report.truth is None:
        return None
    names = {"certain": "certain", "above": "beyond the limits", "excluded": "ruled out"}
    rows = []
    for one in report.truth.attacks:
        where = one.attack if one.column is None else f"{one.attack}, {one.column} alone"
        for name, words in names.items():
            counted: Counted = getattr(one, name)
            if counted.claims:
                rows.append([where, words, counted.claims, counted.right, counted.wrong, counted.unknown])
    return {"rows": rows, "conclusion": report.truth.conclusion}


def _item(report: AuditReport, finding: Finding, naming: Naming) -> dict[str, Any]:
    """A finding in words."""
    likely = "" if finding.probability is None else f", probability {finding.probability:.4g}, {KINDS[finding.kind]}"
    after = f", {when}" if (when := since(finding)) else ""
    what = WHAT.get(finding.what, finding.what)
    mark = report.mark(finding)
    return {
        "heading": f"{naming.who(finding)}: {what}{likely}{after} ({finding.attack})",
        "mark": mark,
        "told": "" if report.truth is None else report.truth.told(finding),
        "words": naming.witness(finding),
    }


def _undecided(report: AuditReport) -> list[str]:
    """What was asked and is not settled, each thing once with all attacks that say it."""
    by: dict[str, list[str]] = {}
    for run in report.runs:
        if run.judgement.status != "not asked":
            for one in run.undecided:
                by.setdefault(one, []).append(run.attack)
    return [f"{joined(attacks)}: {one}" for one, attacks in by.items()]


def _not_run(report: AuditReport) -> set[str]:
    """The notes that an attack was not run, which the table of attacks has."""
    return {f"{run.attack} was not run: {run.judgement.words}" for run in report.runs if run.findings is None}


def _marked(report: AuditReport, finding: Finding) -> str:
    told = "" if report.truth is None else report.truth.told(finding)
    return f" ({told})" if told else ""


# Pictures and figures


def _plots(report: AuditReport) -> list[tuple[str, Picture, str]]:
    """The plots that have something to show, each with its id and a caption."""
    risks, plots = report.risks, []
    releases = [str(number) for number in risks["release"].to_list()]
    limit = report.limits.probability
    if len(releases) > 1:
        lines = {
            "prosecutor_highest": "this release, worst row",
            "prosecutor_success": "this release, average",
            "cumulative_highest": "all so far, worst",
            "cumulative_success": "all so far, average",
        }
        plots.append(
            (
                "re-identification",
                line_plot(
                    "Re-identification, release after release",
                    "The probability of finding somebody's row: by each release alone, and by all releases so far.",
                    releases,
                    [Line(words, risks[name].to_list()) for name, words in lines.items()],
                    x="release",
                    shares=True,
                    top=1.0,
                ),
                "The probability of finding somebody's row, for an adversary who knows that they are in it.",
            )
        )
        exposed = [(name, float(many or 0)) for name, many in zip(releases, risks["cumulative_exposed"], strict=True)]
        known = "" if report.truth is None or not report.truth.misled else ", wrong conclusions left out"
        plots.append(
            (
                "exposed",
                bar_plot(
                    "People with one value left, so far",
                    "How many people have one value left when the values of their groups are compared, after each "
                    "release.",
                    exposed,
                    x="release",
                ),
                f"People who have one value left when the groups they were in are compared, so far{known}. That is the "
                "least that can be learnt.",
            )
        )
    people = report.people
    if people.height:
        # A figure on a boundary belongs to the bin below it, as the limit does.
        bins = (
            people.select((pl.col("probability") * BINS - 1e-9).ceil().clip(1, BINS).cast(pl.Int64).alias("bin"))
            .group_by("bin")
            .len()
        )
        many = dict(bins.iter_rows())
        bars = [(f"{10 * at}", float(many.get(at, 0))) for at in range(1, BINS + 1)]
        over = [] if limit is None else [at for at in range(BINS) if at / BINS >= float(limit) - 1e-9]
        dark = "" if limit is None else f" Above the limit of {limit}: the dark bars."
        plots.append(
            (
                "likeliest",
                bar_plot(
                    "How likely the likeliest value is, over people",
                    "How many people's likeliest value has a probability of up to 10, 20, ... 100 per cent.",
                    bars,
                    x="probability of the likeliest value, up to ... %",
                    strong=over,
                ),
                f"People by the probability of their likeliest value, from {taken_together(report)}.{dark}",
            )
        )
    plots += [plot for _, _, table in report.sections for plot in step_plots(table)]
    return [(id_, drawn, caption) for id_, drawn, caption in plots if drawn is not None]


def _figures(report: AuditReport) -> dict[str, Any]:
    """The tables of figures."""
    risks, limited = report.risks, report.limits.probability is not None
    names = ("highest", "at_risk", "success")
    alone = risks.select("release", *(f"prosecutor_{name}" for name in names), "journalist_highest", "marketer_success")
    together = risks.select("release", "cumulative_people", *(f"cumulative_{name}" for name in names))
    above = ["attribute_above"] if limited else []
    disclosure = risks.select("release", "attribute_highest", "attribute_mean", *above, "cumulative_exposed")
    presence = risks.select("release", "presence_certain", "presence_possible", "cumulative_presence")
    conclusion = "" if report.truth is None else f" {report.truth.conclusion}"
    return {
        "threshold": f"{report.threshold:g}",
        "disclosed": f"{disclosed(report.disclosure)}{conclusion}",
        "without_wrong": report.truth is not None,
        "alone": [[row[0], *map(_share, row[1:])] for row in alone.iter_rows()],
        "together": [[row[0], row[1], *map(_share, row[2:])] for row in together.iter_rows()],
        "presence": [list(row) for row in presence.iter_rows()],
        "limited": limited,
        "disclosure": [[row[0], _share(row[1]), _share(row[2]), *row[3:]] for row in disclosure.iter_rows()],
        "groups": [
            [*row[:3], _share(row[3]), _share(row[4]), *(row[5:] if limited else ())]
            for row in report.exposed_groups.iter_rows()
        ],
    }


def _share(figure: float | None) -> str | None:
    return None if figure is None else as_percent(figure)
