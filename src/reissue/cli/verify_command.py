"""`reissue verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import DAMAGED, AsJson, print_json, print_table, say, settle, steps


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A series, its folder public, or the folder of one release.")
    ],
    expect: Annotated[
        str | None,
        typer.Option(
            "--expect", help="A head that was written down, or its first 16 digits or more: it must be in it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything against its hash, a series also against its anchor. Nothing is changed by looking.

    Exit code 3 if anything differs.

    Examples:

      reissue verify clinic

      reissue verify clinic --expect 4:5f0c1ab2d43e9f60

      reissue verify received/0003
    """
    verify_and_tell(path, expect, as_json)


def verify_and_tell(path: Path, expect: str | None, as_json: bool) -> None:
    """Verify what is at a path and print what was found; ends the command if anything differs."""
    from reissue.errors import count_of
    from reissue.publishing.custody import verify as verify_path

    with steps("Checking every file"):
        found = verify_path(path, expect=expect)
    settle(0 if found.intact else DAMAGED)
    if as_json:
        print_json(
            {
                "intact": found.intact,
                "kind": found.kind,
                "releases": len(found.releases),
                "head": found.head,
                "findings": [{"file": f.file, "problem": f.problem} for f in found.findings],
                "remarks": list(found.remarks),
            }
        )
    elif found.findings:
        rows = [(finding.file, finding.problem) for finding in found.findings]
        print_table("What differs from the record", ("where", "what"), rows, left=(0, 1))
    else:
        releases = count_of(len(found.releases), "release")
        what = f"every file of {path} ({releases}) is as its record says"
        if found.kind == "series":
            what = (
                f"every public file, every private table and every record of {path} ({releases}) is as it was written"
            )
        say(what, heading="intact ", style="green")
    if not as_json:
        for remark in found.remarks:
            say(remark, heading="note ", style="yellow")
        if found.head is not None:
            say(found.head, heading="head ")
    if not found.intact:
        raise typer.Exit(DAMAGED)
