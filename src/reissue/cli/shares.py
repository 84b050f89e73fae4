"""`reissue shares`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say, stages


def shares(
    series: SeriesFolder,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="The table that is to be published next.")],
    reason: Annotated[str, typer.Option("--reason", help="Why shares are counted again; kept in the record.")],
    epsilon: Annotated[
        float | None,
        typer.Option(min=0.001, max=100, help="How much the count may tell of anybody; by default as the policy says."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the shares that sets are drawn by once more, for Alternatives, and record them.

    For where `publish` says that values have outgrown them (`outgrown-shares`). Those whose sets the table would draw
    are counted, with noise; sets that are out stay as they are. What was counted adds to what is told of people, and
    every record says so. It was tried on the table: `publish` takes it then.

    Example:

      reissue shares clinic february.csv --reason "the wave in spring"
    """
    from reissue.publishing.series import open as open_series

    with open_series(series) as opened, stages(4) as progress:
        version = opened.renew_shares(table, reason, epsilon=epsilon, progress=progress)
        method = opened.policy.method.parameters
    if as_json:
        print_json({"version": version.version, "time": version.time, "reason": reason, "spent": method["spent"]})
        return
    say(f"policy version {version.version} recorded, with shares counted now (epsilon = {method['spent']:g})")
    say(
        "It was tried on the table; now publish it:", f"  {shlex.join(['reissue', 'publish', str(series), str(table)])}"
    )
