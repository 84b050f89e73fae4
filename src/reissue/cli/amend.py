"""`reissue amend`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say


def amend(
    series: SeriesFolder,
    reason: Annotated[str, typer.Option(help="Why the policy changes; kept in the record.")],
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="The new policy file; by default the series' own policy.toml, edited."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Record a new version of a series' policy: a changed policy is never silent.

    Example:

      reissue amend clinic --policy stricter.toml --reason "k raised to 20 after review"
    """
    from reissue.publishing.policy import Policy
    from reissue.publishing.series import open as open_series

    changed = Policy.read(policy or series / "policy.toml")
    with open_series(series) as opened:
        differences = opened.policy.differences(changed)
        version = opened.amend(changed, reason)
        in_the_way = opened.in_the_way()
    if as_json:
        recorded = {"version": version.version, "time": version.time, "reason": reason, "differences": differences}
        print_json({**recorded, "in_the_way": in_the_way})
        return
    say(f"policy version {version.version} recorded; it differs in: {', '.join(differences) or 'nothing'}")
    for obstacle in in_the_way:
        say(f"the next release will be refused: {obstacle}", heading="note ", style="yellow")
