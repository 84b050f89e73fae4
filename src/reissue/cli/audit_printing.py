"""What `reissue audit` prints: the report in about fifteen lines, or all of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reissue.cli.output import print_table, say

if TYPE_CHECKING:
    from reissue.auditing.naming import Naming
    from reissue.auditing.report import AuditReport

WORST = 3
"""How many findings are told in short."""
MOST = 10
"""How many in full."""
NOTES = 3
"""How many notes are told in short."""
STYLES = {"good": "bold green", "bad": "bold red", "open": "bold yellow"}


def print_report(report: AuditReport, naming: Naming, *, long: bool, wrote: Sequence[Path]) -> None:
    """Print a report, and which files were written."""
    from reissue.auditing.words import limits_in_words

    headline = report.headline
    say(f" {headline.sentence}", heading=f"{headline.outcome}:", style=STYLES[headline.tone])
    if headline.beside:
        say(headline.beside, heading="beside it ", style="yellow")
    if report.subject is not None:
        say(report.subject.words, heading="audited ")
    if report.truth is not None:
        say(" ".join(report.truth.words), heading="ledger ")
    if limits := limits_in_words(report.limits):
        say("; ".join(limits), heading="limit ")
    if rests := _assumptions(report):
        say(rests, heading="assumptions ")
    say("; ".join(f"{one.name} {one.verdict}" for one in report.criteria), heading="European criteria ")
    if long:
        _all(report, naming)
    else:
        _short(report, naming)
    for file in wrote:
        say(f"wrote {file}")


def _assumptions(report: AuditReport) -> str:
    """What conclusions rest on: what is contradicted first."""
    from reissue.auditing.standing import in_order

    return "; ".join(
        f"{one.name} ({state})"
        for one, state, _ in in_order(report.assumptions, report.supposed, report.known_to_change)
    )


def _short(report: AuditReport, naming: Naming) -> None:
    """The worst findings in a line each, how many more there are, and the first notes."""
    from reissue.auditing.derivation import in_short
    from reissue.auditing.report import how_many

    for at, finding in enumerate(report.leading[:WORST], start=1):
        say(in_short(finding, naming, report.subject, report.truth), heading=f"{at}. ")
    if report.findings:
        say(
            f"{how_many(report)} in all; derivations: --html FILE, everybody: --findings FILE.csv, all here: --long",
            heading="of ",
        )
    for note in report.notes[:NOTES]:
        say(note, heading="note ", style="yellow")
    if len(report.notes) > NOTES:
        say(f"{len(report.notes) - NOTES} more: --long", heading="notes ", style="yellow")


def _all(report: AuditReport, naming: Naming) -> None:
    """Every attack, finding, criterion and note."""
    from reissue.auditing.compared import MISTAKEN
    from reissue.auditing.report import described, how_many, marked
    from reissue.auditing.words import STATUSES

    say(report.verdict, heading="verdict ")
    rows = [
        (run.attack, STATUSES[run.judgement.status], run.judgement.count, run.judgement.words) for run in report.runs
    ]
    print_table("What the attacks found", ("attack", "result", "findings", ""), rows, left=(0, 1, 3))
    shown = report.leading[:MOST]
    if shown:
        say(f"the worst of {how_many(report)}, one for each person or class of people", heading="Findings: ")
        for at, finding in enumerate(shown, start=1):
            say(f"{described(finding, naming)}{marked(report, finding)}", heading=f"{at:>3}. ")
    if report.mistaken:
        say("", heading=MISTAKEN)
        for finding in report.mistaken[:MOST]:
            say(f"{described(finding, naming)}{marked(report, finding)}", heading="  - ")
    for suspicion in report.suspicions:
        said = f"{naming.witness(suspicion)}{marked(report, suspicion)}"
        say(said, heading=f"{suspicion.attack}, not decided: ")
    for attack, witness in report.unasked:
        say(naming.told(witness), heading=f"{attack}, though no limit asks about it: ")
    criteria = [(one.name, one.verdict, one.evidence) for one in report.criteria]
    print_table("The European criteria", ("criterion", "verdict", "evidence"), criteria, left=(0, 1, 2))
    for note in report.notes:
        say(note, heading="note ", style="yellow")
