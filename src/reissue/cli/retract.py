"""`reissue retract`."""

from __future__ import annotations

from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say


def retract(
    series: SeriesFolder,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The release.")],
    reason: Annotated[str, typer.Option("--reason", help="Why it is not to be handed out; kept in the record.")],
    as_json: AsJson = False,
) -> None:
    """Mark a release that never left the building, so that it is not handed out.

    What has left cannot be taken back, and no command changes that. The release stays in the history, later ones are
    protected together with it as if it were out, and their public records name it as retracted.

    Example:

      reissue retract clinic 2 --reason "made from the wrong extract, never sent"
    """
    from reissue.publishing.series import open as open_series

    with open_series(series) as opened:
        told = opened.retract(number, reason)
    if as_json:
        print_json({"retracted": number, "reason": reason, "notes": list(told)})
        return
    say(f"release {number} is marked, and is not handed out any more", heading="retracted ")
    for note in told:
        say(note, heading="note ", style="yellow")
