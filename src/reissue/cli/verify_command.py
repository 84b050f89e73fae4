"""`reissue verify`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import DAMAGED, AsJson, print_json, say, settle, steps

if TYPE_CHECKING:
    from reissue.ledger import Discrepancy, Verification

DAMAGE_PAGE = "docs/how-to/damage.md"


def verify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A series, its folder public, the folder of one release, or what `export` wrote."
        ),
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

      reissue verify to-send
    """
    verify_and_tell(path, expect, as_json)


def verify_and_tell(path: Path, expect: str | None, as_json: bool) -> None:
    """Verify what is at a path and print what was found; ends the command if anything differs."""
    from reissue.errors import count_of
    from reissue.ledger.public_folders import CSV
    from reissue.publishing.custody import verify as verify_path

    with steps("Checking every file"):
        found = verify_path(path, expect=expect)
    settle(0 if found.intact else DAMAGED)
    if as_json:
        print_json(
            {
                "intact": None if found.kind == CSV and found.intact else found.intact,
                "kind": found.kind,
                "releases": len(found.releases),
                "head": found.head,
                "findings": [{"file": f.file, "problem": f.problem} for f in found.findings],
                "remarks": list(found.remarks),
            }
        )
    elif found.findings:
        print_findings(found.findings)
    elif found.kind == CSV:
        say(f"the record of {path}, not its tables", heading="checked ", style="yellow")
    else:
        releases = count_of(len(found.releases), "release")
        said = "it was sent" if found.kind == "export" else "its record says"
        what = f"every file of {path} ({releases}) is as {said}"
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
        if not as_json:
            tell_next_step(found)
        raise typer.Exit(DAMAGED)


def print_findings(findings: Sequence[Discrepancy]) -> None:
    """List what differs from the record, one in a line that nothing cuts: names of files are there to be copied."""
    say("What differs from the record")
    for finding in findings:
        say(finding.problem, heading=f"{finding.file}: ")


def tell_next_step(found: Verification) -> None:
    """What to do about it."""
    if found.kind == "series":
        hint = (
            "publish nothing from this folder, and copy it as it is. What to do then is on the page 'A series is "
            f"damaged', {DAMAGE_PAGE}: it goes by what is named above."
        )
    else:
        hint = f"put back the files that are named above, from whoever sent them or from the series; see {DAMAGE_PAGE}."
    say(hint, heading="Next step: ", errors=True)
