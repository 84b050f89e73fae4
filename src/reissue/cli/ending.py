"""How a command ends: whatever happens becomes a message and an exit code, never a traceback.

A traceback of another library, and what that writes to standard error by itself, can quote the table.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any, TextIO

import typer

from reissue.cli import output, stopping
from reissue.cli.output import STOPPED, report_error, tell
from reissue.errors import InternalError, ParameterError, ReissueError, ReissueWarning, StorageError, UserError, is_text

DEBUG = "REISSUE_DEBUG"
"""The variable that lets tracebacks and panics of libraries through."""
ARGUMENTS: type[Exception] = typer.BadParameter.__mro__[2]
"""What the command line raises for everything that is wrong with arguments; typer does not give it a name."""
CTRL_C = "Stopped by Ctrl-C."


def run(app: Callable[..., Any], began: float | None = None) -> int:
    """Run a command; the exit code. The command knows when it `began`."""
    as_json = "--json" in sys.argv[1:]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a letter that it cannot show is no failure
    with _panics_unheard(), _warnings_as_notes():
        try:
            _check_arguments(sys.argv[1:])
            code = app(standalone_mode=False, prog_name="reissue", obj=began)
        except BaseException as error:  # noqa: BLE001  (panics of polars are not Exceptions)
            code = _answered(error, as_json=as_json)
        if code == STOPPED:
            _tell_stopped(as_json=as_json)
        return code if isinstance(code, int) else 0


def _tell_stopped(*, as_json: bool) -> None:
    """One line: what is out, and what is not."""
    left = stopping.take() or stopping.NOTHING
    if as_json:
        tell(UserError(f"{CTRL_C} {left}"), "Stopped", "Error", STOPPED, as_json=True)
    else:
        output.say(f" {left}", heading=CTRL_C, style="bold red", errors=True)


def _answered(error: BaseException, *, as_json: bool) -> int:
    """The exit code for something that was raised, which is told."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, BrokenPipeError):
        os._exit(output.outcome)  # whoever reads, as `head` does, has seen enough
    if type(error).__name__ == "NoArgsIsHelpError":
        return 2  # the help is printed already
    if os.environ.get(DEBUG) and not isinstance(error, ReissueError | typer.Abort | ARGUMENTS):
        raise error
    return report_error(_told(error), as_json=as_json)


def _told(error: BaseException) -> ReissueError:
    """The same in words of ours."""
    if isinstance(error, ReissueError):
        return error
    if isinstance(error, typer.Abort):
        return UserError("Nothing was done: the question was not answered with yes.")
    if isinstance(error, ARGUMENTS):
        return ParameterError(_usage(error), hint=_help(error))
    if isinstance(error, MemoryError):
        return UserError(
            "There was not enough memory for this.",
            hint="close other programs, or use a machine with more memory. A series is changed entirely or not at all: "
            "`reissue log SERIES` says what was done.",
        )
    if isinstance(error, OSError):
        return StorageError(f"The system refused: {error.strerror}.", hint="check the folder and the disk.")
    if type(error).__name__ == "PanicException":
        return InternalError(
            "polars stopped in the middle of its work, as it does where a file is not sound.",
            hint=f"check that all files given are whole, and a series with `reissue log SERIES --verify`. If they are, "
            f"report it; {DEBUG}=1 shows the traceback, which may quote the table.",
        )
    return InternalError(
        f"Something failed that should not have ({type(error).__name__}).",
        hint=f"report it; {DEBUG}=1 shows the traceback, which may quote the table.",
    )


def _usage(error: Any) -> str:
    return str(error.format_message())


def _help(error: Any) -> str | None:
    context = getattr(error, "ctx", None)
    return None if context is None else f"`{context.command_path} --help` says what it takes."


def _check_arguments(arguments: list[str]) -> None:
    """Bytes that are not UTF-8 could be neither recorded nor shown; so they are refused before anything is done."""
    odd = [argument for argument in arguments if not is_text(argument)]
    if odd:
        raise ParameterError(
            "The command line holds text that is not UTF-8.",
            problems=[f"'{argument}'" for argument in odd],
            hint="rename the file or folder, or write the text anew.",
        )


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """What people should know is told once each, on standard error."""
    told: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, ReissueWarning):
                usual(message, category, filename, lineno, file, line)
            elif str(message) not in told:
                told.add(str(message))
                output.note(str(message))

        warnings.showwarning = show
        warnings.simplefilter("always", ReissueWarning)
        yield


@contextmanager
def _panics_unheard() -> Iterator[None]:
    """Standard error for this program alone.

    A panic of polars is written to descriptor 2 before anybody can catch it, and may quote cells. So that leads nowhere
    while a command runs, and what the command itself has to say goes to a copy.
    """
    if os.environ.get(DEBUG) or sys.stderr is None:
        yield
        return
    before, stream = os.dup(2), sys.stderr
    stream.flush()
    own = _descriptor(stream) == 2
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        if own:
            sys.stderr = os.fdopen(
                before, "w", buffering=1, encoding=stream.encoding, errors="backslashreplace", closefd=False
            )
        yield
    finally:
        if own:
            sys.stderr.flush()
            sys.stderr = stream
        os.dup2(before, 2)
        os.close(before)


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):  # tests and notebooks put something else in its place
        return None
