"""`reissue restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say, steps


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `reissue backup` wrote.")],
    series: SeriesFolder,
    as_json: AsJson = False,
) -> None:
    """Make a series from a backup, in a folder that is absent or empty: checked as a whole, or not at all.

    It can be read at once. It publishes again when `reissue resume` was told which releases are out.

    Example:

      reissue restore /mnt/safe/clinic.tar clinic
    """
    from reissue.errors import count_of
    from reissue.publishing.custody import restore as bring_back

    with steps("Checking and writing every file") as progress, bring_back(file, series, progress=progress) as restored:
        releases, head = len(restored.releases), restored.head
    if as_json:
        print_json({"series": str(series), "releases": releases, "head": head})
        return
    say(f"{series} with {count_of(releases, 'release')}, verified", heading="restored ", style="green")
    ends = f"{series} ends with release {releases}" if releases else f"{series} has no release"
    say(
        f"{ends}, and more may be out since: before it publishes again, say which with `reissue resume`",
        heading="note ",
        style="yellow",
    )
    say(str(head), heading="head ")
