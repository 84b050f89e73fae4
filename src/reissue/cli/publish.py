"""`reissue publish`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import (
    AsJson,
    SeriesFolder,
    ShowValues,
    design_rows,
    print_json,
    print_rows,
    print_table,
    say,
    stages,
    warn,
)

if TYPE_CHECKING:
    from reissue.publishing.draft import Draft

CHANGES = ("arrived", "returned", "stayed", "gone", "changed_quasi", "changed_value")


def publish(
    series: SeriesFolder,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="The table as it is now: CSV, Parquet or Excel; a folder or, in quotes, a pattern of "
            "Parquet files; s3://...; or a query in a .sql file, for the database in REISSUE_DATABASE.",
        ),
    ],
    policy: Annotated[
        Path | None, typer.Option("--policy", help="The policy file; needed for the first release only.")
    ] = None,
    registry: Annotated[
        Path | None,
        typer.Option(
            "--registry",
            help="A file: everybody with their quasi-identifiers as they are now, in the table or not. "
            "For HDComposition; without it everybody ever seen counts.",
        ),
    ] = None,
    extinct: Annotated[
        Path | None,
        typer.Option("--extinct", help="A file with the person column: who has died or left for ever."),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            help="What the release is of: 2026, 2026-Q1, 2026-03, 2026-W11, 2026-03-15, or a range, 2026-01/2026-03.",
        ),
    ] = None,
    corrects: Annotated[
        int | None,
        typer.Option("--corrects", min=1, help="The release that this one corrects. It is a new release all the same."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be published; commit nothing.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Make random choices repeatable, by anybody: for rehearsals and tests only."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Private: write what the gate of the policy found to this HTML file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of the report if there is one.")] = False,
    override: Annotated[
        str | None, typer.Option("--override", help="Publish although the gate is closed: why; kept in the record.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="CHECK", help="A check that may fail this time; may be given several times."),
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why it may; kept in the record.")] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
) -> None:
    """Publish the table as the next release of a series.

    The first release creates the series and needs a policy: `reissue init patients.csv` proposes one. What looks like a
    mistake in the table or the policy is refused, by a check that --allow names.

    Examples:

      reissue publish clinic january.csv --policy policy.toml --period 2026-01

      reissue publish clinic february.csv --dry-run

      reissue publish clinic "parts/*.parquet"

      REISSUE_DATABASE=postgresql+psycopg://host/clinic reissue publish clinic patients.sql

      reissue publish clinic february.csv --dry-run --report gate.html

      reissue publish clinic january-again.csv --corrects 1

      reissue publish clinic february.csv --allow withheld --reason "many moved away"

      reissue publish clinic february.csv --registry people.csv --extinct deaths.csv
    """
    from reissue.errors import ParameterError
    from reissue.ledger import Ledger
    from reissue.publishing.draft import Draft
    from reissue.publishing.notes import SEED_GIVEN
    from reissue.publishing.series import preview
    from reissue.publishing.series import publish as publish_table

    if report is not None and report.exists() and not force:
        raise ParameterError(f"There is a file '{report}' already.", hint="name another one, or pass --force.")
    if seed is not None:
        warn(f"{SEED_GIVEN}.")
    with stages(6) as progress:
        made = (preview if dry_run else publish_table)(
            series,
            table,
            policy,
            registry=registry,
            extinct=extinct,
            seed=seed,
            show_values=show_values,
            period=period,
            corrects=corrects,
            report=report,
            override=override,
            allow=allow or (),
            reason=reason,
            progress=progress,
        )
    if isinstance(made, Draft):
        _show(made.summary, as_json, committed=False)
        _show_rows(made, as_json)
    else:
        with Ledger.open(series, check=False) as ledger:
            head = str(ledger.head())
        _show(dict(made.summary) | {"folder": str(made.folder), "head": head}, as_json, committed=True)


def _show(summary: dict[str, Any], as_json: bool, *, committed: bool) -> None:
    from reissue.publishing.notes import SEED_GIVEN

    if as_json:
        print_json({**summary, "committed": committed})
        return
    title = titled(summary) + ("" if committed else " (draft, nothing was committed)")
    rows: list[tuple[str, object]] = [
        ("method", summary["method"]),
        ("form", summary["form"]),
        ("people in the table", summary["people"]),
        *([("people registered", summary["registered"])] if "registered" in summary else []),
        ("rows published", summary["rows"]),
        ("counterfeits", summary["counterfeits"]),
        *([("values replaced", summary["replaced"])] if summary["replaced"] else []),
        ("people withheld", sum(held["people"] for held in summary["held_back"].values())),
        *_together(summary),
    ]
    rows += [(name.replace("_", " "), summary["changes"][name]) for name in CHANGES]
    print_table(title, ("", ""), rows, left=(0, 1))
    if "folder" in summary:  # beneath the table, where no column cuts a long path off
        say(summary["folder"], heading="public files ")
    for guarantee, explanation in summary["guarantees"].items():
        say(f"{guarantee}: {explanation}", heading="kept ", style="green")
    if "gate" in summary:
        _show_gate(summary["gate"])
    checks = summary.get("checks", {})
    for name, what in checks.get("allowed", {}).items():
        say(f"{what}. Why: {checks['reason']}", heading=f"allowed {name}: ", style="red")
    for note in summary["notes"]:
        if note != SEED_GIVEN:  # which was a warning before anything was done
            say(note, heading="note ", style="yellow")
    if "head" in summary:
        say(summary["head"], heading="head ")


def titled(record: Mapping[str, Any]) -> str:
    """Which release it is, of what, and what it corrects."""
    period = f" of {record['period']}" if "period" in record else ""
    corrects = f", which corrects release {record['corrects']}" if "corrects" in record else ""
    return f"Release {record['number']}{period}{corrects}"


def _show_gate(gate: dict[str, Any]) -> None:
    style = "green" if gate["verdict"] == "passed" else "red"
    for words in gate["found"]:
        # An attack that no limit asks about neither opens nor closes the gate.
        heading = "gate " if " (not asked): " in words else f"gate {gate['verdict']} "
        say(words, heading=heading, style=style)
    if "override" in gate:
        say(gate["override"], heading="gate overridden ", style="red")


def _together(summary: dict[str, Any]) -> list[tuple[str, object]]:
    """What hides people: groups, or sets of values."""
    from reissue.model.release import values_in_words

    if "design" not in summary:
        sizes = f"{summary['smallest_group']:,} to {summary['largest_group']:,}"
        groups = ("groups", summary["groups"])
        return [groups, ("rows in a group", f"{sizes}, {summary['average_group']:,.1f} on average")]
    return [
        *([("regions", summary["groups"])] if summary["groups"] < summary["rows"] else []),
        ("each row", f"{values_in_words(summary['design'])} of which one is true"),
        ("new sets", summary["sets_drawn"]),
        ("sets that moved on" if summary["design"]["linked"] else "sets kept", summary["sets_kept"]),
        *design_rows(summary["design"]),
    ]


def _show_rows(made: Draft, as_json: bool) -> None:
    if as_json:
        return
    for name, frame in made.tables.items():
        print_rows(f"{name}: the first rows of {frame.height:,}", frame.head(8))
