"""`reissue forget`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, note, print_json, say


def forget(
    series: SeriesFolder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase people's ids from a series, for ever; the history keeps their numbers.

    Ids are read from standard input, one in a line, so that they do not stay in the shell's history.
    All of them are erased, or none.

    Example:

      reissue forget clinic --yes < id.txt
    """
    from reissue.errors import ParameterError, count_of
    from reissue.publishing.refusals import never_without
    from reissue.publishing.series import open as open_series

    if sys.stdin.isatty():
        people = [str(typer.prompt("Id of the person", err=True, hide_input=True))]
        if not yes:
            with open_series(series) as opened:
                for warning in never_without(opened.policy.method):
                    note(warning)
            typer.confirm("This cannot be undone. Forget this person?", abort=True, err=True)
    elif yes:
        people = [line.lstrip("\ufeff").rstrip("\r\n") for line in sys.stdin if line.strip()]
    else:
        raise ParameterError("Forgetting cannot be undone.", hint="say --yes when the id comes from a pipe or file.")
    with open_series(series) as opened:
        ids = {opened.private.id_from_text(person) for person in people}
        notes = opened.forget(*ids)
    if as_json:
        print_json({"forgotten": len(ids), **({"notes": list(notes)} if notes else {})})
        return
    say(f"forgotten: {count_of(len(ids), 'id')} gone, the history keeps numbers")
    for told in notes:
        say(told, heading="note ", style="yellow")
