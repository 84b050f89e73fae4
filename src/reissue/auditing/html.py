"""The report as one page: no script, nothing loaded from elsewhere, sections in the order of ISO/IEC 27559.

Everything that comes from a view, an attack or a policy is escaped where it enters the page: what a browser would take
for a part of the page, and what would steer or disguise a text.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reissue.auditing import drawings
from reissue.auditing.compared import MISTAKEN, Counted
from reissue.auditing.naming import Naming
from reissue.auditing.report import how_many, marked
from reissue.auditing.words import (
    KINDS,
    STATUSES,
    WHAT,
    adversary,
    disclosed,
    limits_in_words,
    not_covered,
)
from reissue.errors import MissingExtra, printable

if TYPE_CHECKING:
    from reissue.attacks.base import Finding
    from reissue.auditing.report import AuditReport
    from reissue.model.promise import Promise

LEFT_OUT = "People about whom only wrong conclusions are drawn do not count here."
MOST = 50
"""How many findings are told with their witnesses."""
STYLE = """\
:root { color-scheme: light; --ink: #1d2530; --soft: #5b6572; --line: #d8dde3; --good: #2c7a4b; --bad: #b4432f;
  --open: #a87614; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f5f7; color: var(--ink); font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 2rem auto; padding: 2.5rem 3rem; background: white; border: 1px solid var(--line); }
h1 { font-size: 1.7rem; margin: 0 0 1rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-top: .9rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.7rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.1rem 0 .2rem; }
p { margin: .4rem 0 .8rem; }
li { margin-bottom: .45rem; }
.small { color: var(--soft); font-size: .86rem; font-weight: normal; }
.verdict { font-size: 1.15rem; font-weight: 600; padding: .9rem 1.2rem; border-left: .5rem solid; background: #f7f8fa; }
.verdict.passed { border-color: var(--good); }
.verdict.failed { border-color: var(--bad); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .4rem 0 1rem; font-size: .92rem; }
th, td { padding: .38rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.met { color: var(--good); font-weight: 600; white-space: nowrap; }
td.not-met { color: var(--bad); font-weight: 600; white-space: nowrap; }
td.undecided { color: var(--open); font-weight: 600; white-space: nowrap; }
.mark { font-size: .86rem; padding: 0 .4rem; border: 1px solid var(--line); border-radius: .3rem; }
.mark.right { color: var(--bad); }
.mark.wrong, .mark.unknown { color: var(--soft); }
.words th { width: 30%; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
@media print {
  body { background: white; font-size: 11pt; }
  main { margin: 0; padding: 0; border: 0; max-width: none; }
  h2, h3, h4 { break-after: avoid; }
  figure, tr, li { break-inside: avoid; }
}
@media (max-width: 40rem) { main { margin: 0; padding: 1.2rem; border: 0; } }
"""
"""How the page looks, on screen and on paper."""


def escape(text: str) -> str:
    """A text of others as it may stand in a page."""
    return html.escape(printable(text))


def page(report: AuditReport, naming: Naming) -> str:
    """The whole page."""
    body = [
        _header(report, naming),
        _section("1", "Context", _context(report)),
        _section("2", "Attack modelling", _modelling(report)),
        _section("3", "Adversarial testing", _testing(report, naming)),
        _section("4", "Residual risk", _residual(report)),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_titled(report))}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(report: AuditReport, naming: Naming) -> str:
    shown = [what for what, flag in (("people", naming.show_people), ("values", naming.show_values)) if flag]
    privacy = (
        f"This report names {' and '.join(shown)}: it is private."
        if shown
        else "This report is for the publisher only. People are numbered and values lettered, with new letters "
        "in each finding. But together with the public files it tells where the releases are weak, and how many rows "
        "are counterfeits."
    )
    if report.truth is not None:
        privacy += " And it says which of an outsider's conclusions are right, as only the ledger knows."
    about = "" if report.subject is None else f"<p>{escape(report.subject.words)}.</p>"
    known = "" if report.truth is None else "".join(f"<p>{escape(told)}</p>" for told in report.truth.words)
    return (
        f"<header><h1>{escape(_titled(report))}</h1>{about}"
        f'<p class="verdict {"passed" if report.passed else "failed"}">{escape(report.verdict)}</p>{known}'
        f'<p class="small">{report.time:%d %B %Y, %H:%M} UTC. {escape(privacy)}</p></header>'
    )


def _titled(report: AuditReport) -> str:
    return "Audit of a series of releases" if report.subject is None else f"Audit of {report.subject.name}"


def _context(report: AuditReport) -> list[str]:
    risks, subject = report.risks, report.subject
    people = risks["cumulative_people"].drop_nulls().to_list()
    facts = [
        *(
            [
                ("Sensitive columns", ", ".join(subject.sensitive)),
                ("Columns that an outsider may know", ", ".join(subject.quasi)),
            ]
            if subject is not None
            else []
        ),
        ("Releases", f"{risks.height:,}"),
        ("Rows in all", f"{risks['rows'].sum():,}"),
        ("People in all", f"{people[-1]:,}" if people else "not known"),
        ("Distinct sensitive values", f"{len(report.published.values):,}"),
        ("Form", report.form or "not stated"),
        ("Promised by the method", "; ".join(map(_promised, report.promises)) or "nothing was stated"),
    ]
    rows = risks.select("release", "rows", "groups", "smallest_group").rows()
    called = {} if subject is None else subject.releases
    rows = [(number, called.get(number) or "-", *rest) for number, *rest in rows]
    return [
        "<p>What was published, and what must not be learnt from it.</p>",
        _table(("", ""), facts, left=(0, 1)),
        "<h3>Limits</h3>",
        _bullets(f"{told[0].upper()}{told[1:]}." for told in limits_in_words(report.limits)),
        "<h3>The releases</h3>",
        _table(("release", "of", "rows", "groups", "smallest group"), rows, left=(1,)),
    ]


def _promised(promise: Promise) -> str:
    return f"{promise.words}: {promise.meaning}" if promise.meaning else promise.words


def _modelling(report: AuditReport) -> list[str]:
    parts = [
        "<h3>Who attacks, knowing what</h3>",
        _bullets(adversary(report.published, report.knowledge)),
        "<h3>The attacks, and what they searched</h3>",
    ]
    for run in report.runs:
        ran = f"It took {run.seconds:,.1f} seconds." if run.findings is not None else "It was not run."
        described = f"{run.by.words} {ran}".strip()
        parts.append(f"<h4>{escape(run.attack)}</h4><p>{escape(described)}</p>")
        parts.append(
            _bullets([*(f"Searched: {one}" for one in run.searched), *(f"Not settled: {one}" for one in run.undecided)])
        )
    return parts


def _testing(report: AuditReport, naming: Naming) -> list[str]:
    rows = [
        (run.attack, STATUSES[run.judgement.status], run.judgement.count, run.judgement.words) for run in report.runs
    ]
    return [
        _table(("attack", "result", "findings", "in words"), rows, left=(0, 1, 3)),
        *_compared(report),
        "<h3>Findings</h3>",
        *_findings(report, naming),
        *_unasked(report, naming),
        *_sections(report),
        *_charts(report),
        *_figures(report),
    ]


def _compared(report: AuditReport) -> list[str]:
    """What the ledger says about an outsider's conclusions, attack by attack."""
    if report.truth is None:
        return []
    names = {"certain": "certain", "above": "beyond the limits", "excluded": "ruled out"}
    rows = []
    for one in report.truth.attacks:
        where = one.attack if one.column is None else f"{one.attack}, {one.column} alone"
        for name, words in names.items():
            counted: Counted = getattr(one, name)
            if counted.claims:
                rows.append((where, words, counted.claims, counted.right, counted.wrong, counted.unknown))
    told = [
        "<h3>Compared with the ledger</h3>",
        "<p>What an outsider would conclude, and how much of it is right. That somebody has a value is wrong if they "
        "never had it, or not in the release that it is said of; that it is ruled out, if they ever had it. The "
        "verdict does not depend on it: a promise is about what can be concluded.</p>",
    ]
    if not rows:
        return [*told, f"<p>{escape(report.truth.conclusion)}</p>"]
    head = ("attack", "conclusions", "in all", "right", "wrong", "not known")
    return [*told, _table(head, rows, left=(0, 1))]


def _findings(report: AuditReport, naming: Naming) -> list[str]:
    if not report.findings:
        return ["<p>Nothing beyond the limits was found.</p>"]
    told = f"The worst of {how_many(report)}, one for each person or class of people, each with a derivation."
    parts = [f"<p>{told}</p>", _items(report, report.leading[:MOST], naming)] if report.leading else []
    if report.mistaken:
        why = "They are nobody's exposure: an outsider would be told a value that the person did not have."
        shown = f" The worst {MOST} of {len(report.mistaken):,}." if len(report.mistaken) > MOST else ""
        parts += [
            f"<h4>{escape(MISTAKEN)}</h4><p>{escape(why)}{shown}</p>",
            _items(report, report.mistaken[:MOST], naming),
        ]
    return parts


def _items(report: AuditReport, findings: Sequence[Finding], naming: Naming) -> str:
    items = []
    for finding in findings:
        likely = (
            "" if finding.probability is None else f", probability {finding.probability:.4g}, {KINDS[finding.kind]}"
        )
        after = "" if finding.release is None else f", from release {finding.release} on"
        heading = f"{naming.who(finding)}: {WHAT.get(finding.what, finding.what)}{likely}{after} ({finding.attack})"
        mark = report.mark(finding)
        told = "" if report.truth is None else report.truth.told(finding)
        known = f' <span class="mark {mark}">{escape(told)}</span>' if mark else ""
        items.append(f"<li><strong>{escape(heading)}</strong>{known}<br>{escape(naming.witness(finding))}</li>")
    return f"<ol>{''.join(items)}</ol>"


def _unasked(report: AuditReport, naming: Naming) -> list[str]:
    maybe = [f"{one.attack}: {naming.witness(one)}{marked(report, one)}" for one in report.suspicions]
    told = [f"{attack}: {naming.told(one)}" for attack, one in report.unasked]
    return [
        *(["<h3>Not decided</h3>", _bullets(maybe)] if maybe else []),
        *(["<h3>Found, though no limit asks about it</h3>", _bullets(told)] if told else []),
    ]


def _sections(report: AuditReport) -> list[str]:
    """Figures of their own that attacks have."""
    parts = []
    for attack, heading, table in report.sections:
        rows = [[_short(cell) for cell in row] for row in table.iter_rows()]
        parts += [f"<h3>{escape(heading)} ({escape(attack)})</h3>", _table(table.columns, rows, left=())]
    return parts


def _charts(report: AuditReport) -> list[str]:
    charts = {
        "Risk over the releases": lambda: drawings.risk_over_releases(report),
        "Distribution of the likeliest value's probability": lambda: drawings.posterior_distribution(report),
        "The most exposed groups": lambda: drawings.exposed_groups(report),
    }
    parts = ["<h3>Charts</h3>"]
    try:
        for caption, draw in charts.items():
            image = drawings.as_image(draw)
            if image is not None:
                parts.append(f'<figure><img src="{image}" alt="{escape(caption)}"></figure>')
    except MissingExtra as missing:
        parts.append(f"<p>{escape(' '.join(str(missing).splitlines()))} The tables below hold the same figures.</p>")
    return parts


def _figures(report: AuditReport) -> list[str]:
    risks, threshold = report.risks, f"{report.threshold:g}"
    names = ("highest", "at_risk", "success")
    alone = risks.select("release", *(f"prosecutor_{name}" for name in names), "journalist_highest", "marketer_success")
    together = risks.select("release", "cumulative_people", *(f"cumulative_{name}" for name in names))
    presence = risks.select("release", "presence_certain", "presence_possible", "cumulative_presence")
    limited = report.limits.probability is not None
    disclosure = risks.select(
        "release",
        "attribute_highest",
        "attribute_mean",
        *(["attribute_above"] if limited else []),
        "cumulative_exposed",
    )
    return [
        "<h3>Re-identification, each release alone</h3>",
        f"<p>Prosecutor: the person is known to be in it. Journalist: the person is in a register of more people. "
        f"Marketer: the share found when guessing everywhere. At risk: above {threshold}.</p>",
        _table(
            ("release", "prosecutor: highest", "at risk", "success rate", "journalist: highest", "marketer: success"),
            [(row[0], *map(_percent, row[1:])) for row in alone.iter_rows()],
            left=(),
        ),
        "<h3>Re-identification, all releases so far</h3>",
        "<p>People who went through the same groups look alike, even to somebody who knows when they were there.</p>",
        _table(
            ("release", "people so far", "highest", "at risk", "success rate"),
            [(row[0], row[1], *map(_percent, row[2:])) for row in together.iter_rows()],
            left=(),
        ),
        "<h3>Presence</h3>",
        _table(("release", "certainly in it", "possibly in it", "certainly in one so far"), presence.rows(), left=()),
        "<h3>Attribute disclosure</h3>",
        f"<p>{escape(disclosed(report.disclosure))}"
        f"{'' if report.truth is None else f' {escape(report.truth.conclusion)}'}</p>",
        "<p>Each release alone: the share of the most frequent value of a group. So far: people who have one value "
        "left when the values of their groups are compared, which is the least that can be learnt"
        f"{'' if report.truth is None else '; those left with a value that they never had do not count'}.</p>",
        _table(
            ("release", "highest", "mean", *(["rows above the limit"] if limited else []), "one value left so far"),
            [(row[0], _percent(row[1]), _percent(row[2]), *row[3:]) for row in disclosure.iter_rows()],
            left=(),
        ),
        "<h3>The most exposed groups</h3>",
        *([] if report.truth is None or not report.truth.misled else [f"<p>{escape(LEFT_OUT)}</p>"]),
        _table(
            ("release", "group", "people", "highest", "mean", *(["above the limit"] if limited else [])),
            [
                (*row[:3], _percent(row[3]), _percent(row[4]), *(row[5:] if limited else ()))
                for row in report.exposed_groups.iter_rows()
            ],
            left=(),
        ),
    ]


def _residual(report: AuditReport) -> list[str]:
    criteria = "".join(
        f'<tr><th scope="row">{escape(one.name)}<br><span class="small">{escape(one.question)}</span></th>'
        f'<td class="{one.verdict.replace(" ", "-")}">{one.verdict}</td><td>{escape(one.evidence)}</td></tr>'
        for one in report.criteria
    )
    undecided = [f"{run.attack}: {one}" for run in report.runs for one in run.undecided]
    return [
        "<h3>The three European criteria (WP29 opinion 05/2014)</h3>",
        f'<div class="wide"><table class="words"><tbody>{criteria}</tbody></table></div>',
        "<h3>What is undecided</h3>",
        _bullets(undecided) if undecided else "<p>Nothing that was asked.</p>",
        "<h3>Notes</h3>",
        _bullets(report.notes) if report.notes else "<p>None.</p>",
        "<h3>What this does not cover</h3>",
        _bullets(not_covered(report.knowledge, report.published)),
    ]


def _section(number: str, title: str, parts: Iterable[str]) -> str:
    return f'<section id="part-{number}">\n<h2>{number}. {title}</h2>\n' + "\n".join(parts) + "\n</section>"


def _bullets(items: Iterable[str]) -> str:
    told = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{told}</ul>" if told else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: Sequence[int]) -> str:
    """A table; columns are right-aligned but for those at the places in `left`."""
    kinds = ["" if place in left else ' class="number"' for place in range(len(columns))]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, columns, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(_cell(cell))}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>'


def _cell(cell: object) -> str:
    if cell is None:
        return "–"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _short(cell: object) -> object:
    return f"{cell:.4g}" if isinstance(cell, float) else cell


def _percent(figure: float | None) -> str | None:
    return None if figure is None else f"{figure:.1%}"
