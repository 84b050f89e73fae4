"""`reissue forget`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_json, say


def forget(
    series: SeriesFolder,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a person's id from a series, for ever; the history keeps the person's number.

    The id is read from standard input, so that it does not stay in the shell's history.

    Example:

      reissue forget clinic --yes < id.txt
    """
    from reissue.errors import ParameterError
    from reissue.series import open as open_series

    if sys.stdin.isatty():
        person = str(typer.prompt("Id of the person", err=True, hide_input=True))
        if not yes:
            typer.confirm("This cannot be undone. Forget this person?", abort=True, err=True)
    elif yes:
        person = sys.stdin.readline().rstrip("\r\n")
    else:
        raise ParameterError("Forgetting cannot be undone.", hint="say --yes when the id comes from a pipe or file.")
    with open_series(series) as opened:
        opened.forget(opened.id_from_text(person))
    if as_json:
        print_json({"forgotten": 1})
        return
    say("forgotten: the id is gone, the history keeps a number")
