"""`reissue study`: hands over to the studies, which are a package of their own."""

from __future__ import annotations

from importlib.util import find_spec

import typer

HANDED_OVER = {
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
"""All arguments are for the command of the studies just as they are, `--help` included."""


def study(context: typer.Context) -> None:
    """Compare all methods, or run the experiments of a paper, and draw figures from what comes out.

    The studies are not part of the installed package. They are in its repository: get that, and run
    `pip install ./studies` there. Then `reissue study --help` tells all about them.
    """
    if find_spec("reissue_studies") is not None:
        from reissue_studies.command import app

        app(context.args, prog_name=context.command_path)
    elif "--help" in context.args:
        typer.echo(context.get_help(), nl=False)
    else:
        from reissue.errors import MissingExtra

        raise MissingExtra(
            "The studies are not part of the installed package, but a package of their own.",
            hint="get the repository of Reissue, and run `pip install ./studies` there.",
        )
