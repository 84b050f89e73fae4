"""`reissue resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import DAMAGED, AsJson, SeriesFolder, print_json, say, settle, steps
from reissue.cli.verify_command import print_findings, tell_next_step


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

    Then everything is verified. Exit code 3 if anything differs.

    Examples:

      reissue resume clinic --out 3 --reason "restored after the disk failed; nothing was published since"

      reissue resume clinic --out 4 --release received/0004 --reason "the last backup was older"
    """
    from reissue.publishing.custody import resume as go_on
    from reissue.publishing.custody import verify as verify_path

    with go_on(series, out=out, reason=reason, releases=release or []) as resumed:
        releases, head, policy = resumed.releases, resumed.head, resumed.policy
    lost = [one.number for one in releases if one.summary.get("lost")]
    with steps("Checking every file"):
        found = verify_path(series)
    settle(0 if found.intact else DAMAGED)
    if as_json:
        findings = [{"file": one.file, "problem": one.problem} for one in found.findings]
        told = {"releases": len(releases), "lost": lost, "series": policy.series, "head": head}
        print_json({**told, "intact": found.intact, "findings": findings})
        if findings:
            raise typer.Exit(DAMAGED)
        return
    goes_on = f"{series} goes on after release {len(releases)}" if releases else f"{series} goes on without a release"
    if found.intact:
        say(f"{goes_on}; everything in it is as it was written", heading="resumed ", style="green")
    else:
        say(f"{goes_on}, but is damaged", heading="resumed ", style="red")
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
    if not found.intact:
        print_findings(found.findings)
        tell_next_step(found)
        raise typer.Exit(DAMAGED)
