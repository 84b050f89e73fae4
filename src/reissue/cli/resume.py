"""`reissue resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say


def resume(
    series: SeriesFolder,
    out: Annotated[
        int | None, typer.Option("--out", min=0, help="The number of the last release that is out; 0 if none is.")
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; kept in the record. Needed with --out.")] = None,
    release: Annotated[
        list[Path] | None,
        typer.Option("--release", help="The public folder of a release that is out and not in the series; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how a series goes on: restored from a backup, an older copy, or one whose anchor is gone.

    What the series has counts as out. Releases that it does not have are given with --release. Who is in them is lost,
    so from then on the series is unprotected, and its public record says so.

    Without --out nothing is said: what a stopped writer left is finished, and an old series is brought up to date.

    Examples:

      reissue resume clinic --out 3 --reason "restored after the disk failed; nothing was published since"

      reissue resume clinic --out 4 --release received/0004 --reason "the last backup was older"
    """
    from reissue.publishing.custody import resume as go_on

    with go_on(series, out=out, reason=reason, releases=release or []) as resumed:
        releases, head, policy = resumed.releases, resumed.head, resumed.policy
    lost = [one.number for one in releases if one.summary.get("lost")]
    if as_json:
        print_json({"releases": len(releases), "lost": lost, "series": policy.series, "head": head})
        return
    say(f"{series} goes on after release {len(releases)}", heading="resumed ", style="green")
    if lost:
        numbers = ", ".join(map(str, lost))
        say(
            f"nobody here knows who is in release {numbers}: the series is unprotected from now on, and its public "
            "record says so",
            heading="note ",
            style="yellow",
        )
    if head is not None:
        say(head, heading="head ")
