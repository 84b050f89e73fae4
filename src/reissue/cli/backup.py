"""`reissue backup`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say, steps


def backup(
    series: SeriesFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, best on another disk. Private.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a series to one file, also while somebody publishes; every byte is checked.

    The file holds everything, ids included: keep it as private as the series.

    Example:

      reissue backup clinic /mnt/safe/clinic.tar
    """
    from reissue.errors import count_of
    from reissue.publishing.custody import backup as back_up

    with steps("Copying and checking every file") as progress:
        made = back_up(series, file, force=force, progress=progress)
    if as_json:
        sizes = {"releases": made.releases, "files": made.files, "bytes": made.size}
        print_json({"file": str(made.file), **sizes, "head": made.head})
        return
    what = f"{count_of(made.releases, 'release')}, {count_of(made.files, 'file')}, {count_of(made.size, 'byte')}"
    say(f"{series} to {file} ({what}), verified", heading="copied ", style="green")
    if made.head is not None:
        say(made.head, heading="head ")
