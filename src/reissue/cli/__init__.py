"""The command line: one file for each command, a skin over the library.

Modules of commands import the library inside their functions, so that `reissue --help` starts at once.
"""

from __future__ import annotations

import gc
import sys

import typer

from reissue.cli.adopt import adopt
from reissue.cli.amend import amend
from reissue.cli.audit import audit
from reissue.cli.backup import backup
from reissue.cli.compare import compare
from reissue.cli.datasets import datasets
from reissue.cli.demo import demo
from reissue.cli.ending import run
from reissue.cli.estimate import estimate
from reissue.cli.export import export
from reissue.cli.forget import forget
from reissue.cli.init import init
from reissue.cli.key import key
from reissue.cli.log import log
from reissue.cli.moves import moves
from reissue.cli.publish import publish
from reissue.cli.restore import restore
from reissue.cli.resume import resume
from reissue.cli.retract import retract
from reissue.cli.shares import shares
from reissue.cli.show import show
from reissue.cli.stopping import watched
from reissue.cli.study import HANDED_OVER, study
from reissue.cli.utility import utility
from reissue.cli.verify_command import verify
from reissue.cli.warm_up import warm_up

app = typer.Typer(
    name="reissue",
    help="Publish a table about people again and again, and keep the releases from exposing anyone together.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 refused (not to be published like this, audit not passed), 2 wrong usage or data, "
    "3 the series is damaged.",
)

for command in (
    *(
        init,
        compare,
        moves,
        publish,
        audit,
        log,
        show,
        utility,
        estimate,
        export,
        retract,
        adopt,
        amend,
        shares,
        forget,
    ),
    *(verify, backup, restore, resume),
    *(key, datasets, demo, warm_up),
):
    app.command()(watched(command))
app.command(context_settings=HANDED_OVER)(watched(study))


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    """Publish a table about people again and again, and keep the releases from exposing anyone together."""
    if version:
        from reissue import __version__

        typer.echo(f"reissue {__version__}")
        raise typer.Exit


def main(began: float | None = None) -> None:
    """Run the command line; whatever happens ends in a message and an exit code, not in a traceback.

    `began` is the moment of the clock at which the command was called.
    """
    # Nearly all objects are those of libraries and live to the end. To look for cycles among them again and again, and
    # once more at the end, took a fifth of the time of a command.
    gc.set_threshold(100_000, 20, 100)
    try:
        code = run(app, began)
    finally:
        gc.freeze()
    if code:
        sys.exit(code)
