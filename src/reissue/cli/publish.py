"""`reissue publish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, SeriesFolder, ShowValues, print_json, print_rows, print_table, say, stages

if TYPE_CHECKING:
    from reissue.drafting import Draft

CHANGES = ("arrived", "returned", "stayed", "gone", "changed_quasi", "changed_value")


def publish(
    series: SeriesFolder,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file: the table as it is now.")],
    policy: Annotated[
        Path | None, typer.Option("--policy", help="The policy file; needed for the first release only.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be published; commit nothing.")] = False,
    seed: Annotated[int | None, typer.Option(help="Make random choices repeatable. Not for real releases.")] = None,
    show_values: ShowValues = False,
    as_json: AsJson = False,
) -> None:
    """Publish the table as the next release of a series.

    The first release creates the series and needs a policy: `reissue init patients.csv` proposes one.

    Examples:

      reissue publish clinic january.csv --policy policy.toml

      reissue publish clinic february.csv --dry-run
    """
    from reissue.errors import NotASeries
    from reissue.policy import Policy
    from reissue.series import draft as first_draft
    from reissue.series import open as open_series

    if dry_run:
        with stages(5) as progress:
            try:
                with open_series(series, policy) if policy is None else _existing(series, policy) as opened:
                    made = opened.draft(table, seed=seed, show_values=show_values, progress=progress)
            except NotASeries:
                if policy is None:
                    raise
                made = first_draft(table, Policy.read(policy), seed=seed, show_values=show_values, progress=progress)
        _show(made.summary, as_json, committed=False)
        _show_rows(made, as_json)
        return
    with stages(6) as progress, open_series(series, policy) as opened:
        release = opened.publish(table, seed=seed, show_values=show_values, progress=progress)
    _show(dict(release.summary) | {"folder": str(release.folder)}, as_json, committed=True)


def _existing(series: Path, policy: Path) -> Any:
    """Open a series that exists, under a policy that must be its own; never create one."""
    from reissue.ledger import Ledger
    from reissue.series import open as open_series

    Ledger.open(series).close()
    return open_series(series, policy)


def _show(summary: dict[str, Any], as_json: bool, *, committed: bool) -> None:
    if as_json:
        print_json({**summary, "committed": committed})
        return
    title = f"Release {summary['number']}" + ("" if committed else " (draft, nothing was committed)")
    rows: list[tuple[str, object]] = [
        ("method", summary["method"]),
        ("form", summary["form"]),
        ("rows", summary["rows"]),
        ("groups", summary["groups"]),
        ("people in a group", _sizes(summary)),
    ]
    rows += [(name.replace("_", " "), summary["changes"][name]) for name in CHANGES]
    if "folder" in summary:
        rows.append(("public files", summary["folder"]))
    print_table(title, ("", ""), rows, left=(0, 1))
    for guarantee, explanation in summary["guarantees"].items():
        say(f"{guarantee}: {explanation}", heading="kept ", style="green")


def _sizes(summary: dict[str, Any]) -> str:
    return f"{summary['smallest_group']:,} to {summary['largest_group']:,}, {summary['average_group']:,.1f} on average"


def _show_rows(made: Draft, as_json: bool) -> None:
    if as_json:
        return
    for name, frame in made.tables.items():
        print_rows(f"{name}: the first rows of {frame.height:,}", frame.head(8))
