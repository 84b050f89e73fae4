"""`reissue adopt`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, print_table, say, steps


def adopt(
    series: SeriesFolder,
    releases: Annotated[
        list[Path],
        typer.Argument(metavar="RELEASES...", help="The releases, a CSV, Parquet or Excel file each, in their order."),
    ],
    policy: Annotated[Path, typer.Option("--policy", help="The policy file that the series goes on with.")],
    members: Annotated[
        Path | None,
        typer.Option(
            "--members",
            help="Who was in them: a table with the columns person, release (counted from 1) and group. Not needed if "
            "the releases have the policy's person column, which is then not kept with them.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            help='The column of the releases that names the groups, by default "group"; without it rows with the same '
            "cells are one group.",
        ),
    ] = None,
    period: Annotated[
        list[str] | None,
        typer.Option("--period", help="What a release is of, such as 2026-03: once for each release, in their order."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a series with releases that were made elsewhere, so that the next one is safe against those too.

    People who were in groups that the method cannot go on from are withheld from every later release.

    Example:

      reissue adopt clinic 2024.csv 2025.csv --members members.csv --policy policy.toml

      reissue adopt clinic 2024.csv 2025.csv --policy policy.toml --period 2024 --period 2025
    """
    from reissue.publishing.adoption import adopt as start

    with (
        steps("Adopting releases"),
        start(series, policy, releases, members=members, group=group, periods=period) as opened,
    ):
        adopted = [dict(release.summary) for release in opened.releases]
    last = adopted[-1]
    if as_json:
        print_json({"releases": adopted, "go_on": last["go_on"], "barred": last["barred"]})
        return
    rows: list[tuple[Any, ...]] = [
        (one["number"], one["rows"], one["groups"], one["smallest_group"], one["largest_group"]) for one in adopted
    ]
    print_table(f"Adopted by {series}", ("no.", "rows", "groups", "smallest group", "largest group"), rows)
    for note in last["notes"]:
        say(note, heading="note ", style="yellow")
