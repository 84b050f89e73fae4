"""`reissue publish`."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, SeriesFolder, ShowValues, print_json, print_rows, print_table, say, stages

if TYPE_CHECKING:
    from reissue.publishing.drafting import Draft
    from reissue.publishing.policy import Policy
    from reissue.publishing.series import Series

CHANGES = ("arrived", "returned", "stayed", "gone", "changed_quasi", "changed_value")


def publish(
    series: SeriesFolder,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file: the table as it is now.")],
    policy: Annotated[
        Path | None, typer.Option("--policy", help="The policy file; needed for the first release only.")
    ] = None,
    registry: Annotated[
        Path | None,
        typer.Option(
            "--registry",
            help="A CSV or Parquet file: everybody with their quasi-identifiers as they are now, in the table or not. "
            "For HDComposition; without it everybody ever seen counts.",
        ),
    ] = None,
    extinct: Annotated[
        Path | None,
        typer.Option("--extinct", help="A CSV or Parquet file with the person column: who has died or left for ever."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be published; commit nothing.")] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Make random choices repeatable. Not for real releases.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Private: write what the gate of the policy found to this HTML file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of the report if there is one.")] = False,
    override: Annotated[
        str | None, typer.Option("--override", help="Publish although the gate is closed: why; kept in the record.")
    ] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
) -> None:
    """Publish the table as the next release of a series.

    The first release creates the series and needs a policy: `reissue init patients.csv` proposes one.

    Examples:

      reissue publish clinic january.csv --policy policy.toml

      reissue publish clinic february.csv --dry-run

      reissue publish clinic february.csv --dry-run --report gate.html

      reissue publish clinic february.csv --registry people.csv --extinct deaths.csv
    """
    from reissue.publishing.inspection import at_gate, let_through
    from reissue.publishing.policy import Policy
    from reissue.publishing.series import draft as first_draft
    from reissue.publishing.series import open as open_series

    with stages(6) as progress, ExitStack() as stack:
        given: Any = {"seed": seed, "show_values": show_values, "gate": False, "progress": progress}
        opened = _existing(series, policy)
        if opened is None and policy is not None:
            # A series comes into being with its first release: nothing is made for a table that does not fit.
            rules = Policy.read(policy)
            given |= _beside(registry, extinct, rules)
            reason = _asked(rules, report, override, force)
            made, found = at_gate(first_draft(table, rules, **given), progress=progress)
        else:
            opened = stack.enter_context(opened or open_series(series))
            given |= _beside(registry, extinct, opened.policy)
            reason = _asked(opened.policy, report, override, force)
            if not dry_run:
                stack.enter_context(opened.writing())
            made, found = opened.at_gate(opened.draft(table, **given), progress=progress)
        if report is not None and found is not None:
            found.to_html(report)
        if reason is None:
            let_through(made)
        if opened is None and not dry_run:
            opened = stack.enter_context(open_series(series, policy))
        progress("Committing")
        release = opened.commit(made, override=reason) if opened is not None and not dry_run else None
    if release is None:
        _show(made.summary, as_json, committed=False)
        _show_rows(made, as_json)
    else:
        _show(dict(release.summary) | {"folder": str(release.folder)}, as_json, committed=True)


def _asked(policy: Policy, report: Path | None, override: str | None, force: bool) -> str | None:
    """The reason for passing a closed gate, if one is given; a report needs a gate to report on."""
    from reissue.errors import ParameterError
    from reissue.publishing.gate import written_reason

    if report is not None and policy.gate is None:
        raise ParameterError(
            "The policy has no gate, so there is nothing to report.",
            hint="`reissue audit` reports on what is published.",
        )
    if report is not None and report.exists() and not force:
        raise ParameterError(f"There is a file '{report}' already.", hint="name another one, or pass --force.")
    return written_reason(override, policy.gate)


def _beside(registry: Path | None, extinct: Path | None, policy: Policy) -> dict[str, Any]:
    """What is published with the table: the registry, and the ids of those extinct."""
    from reissue.errors import TableError
    from reissue.tables.frames import read_table

    if extinct is None:
        return {"registry": registry}
    frame, _ = read_table(extinct, text=policy.schema.texts)
    if policy.schema.person not in frame.columns:
        raise TableError(
            f"The file '{extinct}' has no column '{policy.schema.person}'.", hint="name it as in the table."
        )
    return {"registry": registry, "extinct": frame[policy.schema.person].to_list()}


def _existing(series: Path, policy: Path | None) -> Series | None:
    """The series, which must run under the policy if one is given; None if nothing was published there yet."""
    from reissue.errors import NotASeries
    from reissue.ledger import Ledger
    from reissue.publishing.series import open as open_series

    with suppress(NotASeries), Ledger.open(series) as ledger:
        if policy is None or ledger.releases():
            return open_series(series, policy)
    return None


def _show(summary: dict[str, Any], as_json: bool, *, committed: bool) -> None:
    if as_json:
        print_json({**summary, "committed": committed})
        return
    title = f"Release {summary['number']}" + ("" if committed else " (draft, nothing was committed)")
    rows: list[tuple[str, object]] = [
        ("method", summary["method"]),
        ("form", summary["form"]),
        ("people in the table", summary["people"]),
        *([("people registered", summary["registered"])] if "registered" in summary else []),
        ("rows published", summary["rows"]),
        ("counterfeits", summary["counterfeits"]),
        *([("values replaced", summary["replaced"])] if summary["replaced"] else []),
        ("people withheld", sum(held["people"] for held in summary["held_back"].values())),
        ("groups", summary["groups"]),
        ("rows in a group", _sizes(summary)),
    ]
    rows += [(name.replace("_", " "), summary["changes"][name]) for name in CHANGES]
    if "folder" in summary:
        rows.append(("public files", summary["folder"]))
    print_table(title, ("", ""), rows, left=(0, 1))
    for guarantee, explanation in summary["guarantees"].items():
        say(f"{guarantee}: {explanation}", heading="kept ", style="green")
    if "gate" in summary:
        _show_gate(summary["gate"])
    for note in summary["notes"]:
        say(note, heading="note ", style="yellow")


def _show_gate(gate: dict[str, Any]) -> None:
    style = "green" if gate["verdict"] == "passed" else "red"
    for words in gate["found"]:
        # An attack that no limit asks about neither opens nor closes the gate.
        heading = "gate " if " (not asked): " in words else f"gate {gate['verdict']} "
        say(words, heading=heading, style=style)
    if "override" in gate:
        say(gate["override"], heading="gate overridden ", style="red")


def _sizes(summary: dict[str, Any]) -> str:
    return f"{summary['smallest_group']:,} to {summary['largest_group']:,}, {summary['average_group']:,.1f} on average"


def _show_rows(made: Draft, as_json: bool) -> None:
    if as_json:
        return
    for name, frame in made.tables.items():
        print_rows(f"{name}: the first rows of {frame.height:,}", frame.head(8))
