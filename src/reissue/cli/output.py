"""What all commands share: options, progress, tables, JSON, and how errors are told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.errors import InternalError, Refused, ReissueError
from reissue.kernels.announcing import told

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.progress import Progress, TaskID

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ShowValues = Annotated[
    bool, typer.Option("--show-values", help="Let messages quote values of the private table. Off by default.")
]
SeriesFolder = Annotated[Path, typer.Argument(metavar="SERIES", help="The folder of the series.")]
Number = Annotated[int | None, typer.Argument(metavar="NUMBER", help="The release; the last one by default.")]


outcome = 0
"""The exit code if whoever reads the output stops reading: what was found out stays so."""


def settle(code: int) -> None:
    """Say how the command will end, before it prints."""
    global outcome
    outcome = code


def console(*, errors: bool = False) -> Console:
    """A rich console on standard output or standard error."""
    from rich.console import Console

    class Patient(Console):
        """Whoever reads, as `head` does, has seen enough: what was done is done, so that is no failure."""

        def on_broken_pipe(self) -> None:
            os._exit(outcome)

    return Console(stderr=True, highlight=False) if errors else Patient(highlight=False)


def say(text: str, *, heading: str = "", style: str = "bold") -> None:
    """Print a line as it is, brackets and all, after a heading in a style of its own."""
    from rich.text import Text

    console().print(Text.assemble((heading, style), text), soft_wrap=True)


def warn(text: str) -> None:
    """Print a warning on standard error, so that what is on standard output stays what was asked for."""
    from rich.text import Text

    console(errors=True).print(Text.assemble(("Warning: ", "bold yellow"), text), soft_wrap=True)


def print_json(data: object) -> None:
    """Print a result as JSON, alone on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=_plain) + "\n")


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, left: Sequence[int] = (0,)
) -> None:
    """Print a table; columns are right-aligned but for those at the places in `left`."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", title_style="bold")
    for place, name in enumerate(columns):
        table.add_column(Text(name), justify="left" if place in left else "right")
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    console().print(table)


def print_rows(title: str, frame: pl.DataFrame) -> None:
    """Print rows of a public table just as they stand there."""
    rows = [["" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()]
    print_table(title, frame.columns, rows, left=range(frame.width))


def cell_text(cell: object) -> str:
    """Numbers with separators, floats to four digits, the rest as it is."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1e6 else f"{cell:,.0f}"
    return str(cell)


@contextmanager
def stages(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar over the stages of one piece of work: call it with the name of each as it begins."""
    with _bar("Starting", total) as (bar, task):
        begun = False

        def begin(stage: str) -> None:
            nonlocal begun
            bar.update(task, description=stage, advance=1 if begun else 0)
            begun = True

        yield begin


@contextmanager
def steps(description: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over many like steps: call it with how many are done and how many there are."""
    with _bar(description, None) as (bar, task):
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _bar(description: str, total: int | None) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on standard error, gone when the work is done; nothing where that is not a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(errors=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(description, total=total)
        if not screen.is_terminal:
            yield bar, task
            return
        with told(partial(_compiling, bar, task)):
            yield bar, task


def _compiling(bar: Progress, task: TaskID, text: str | None) -> None:
    """Say for a while what is compiled, then again what is done."""
    (shown,) = (one for one in bar.tasks if one.id == task)
    before = shown.fields.setdefault("before", shown.description)
    if text is None:
        shown.fields.clear()
    bar.update(task, description=before if text is None else text)


def report_error(error: ReissueError, *, as_json: bool) -> int:
    """Tell an error on standard error (as JSON on standard output if asked); return the exit code."""
    code = 1 if isinstance(error, Refused) else 2
    if as_json:
        told: Mapping[str, Any] = {
            "kind": type(error).__name__,
            "what": error.what,
            "problems": list(error.problems),
            "next_step": error.hint,
        }
        print_json({"error": told, "exit_code": code})
        return code
    from rich.text import Text

    screen = console(errors=True)
    heading = "Refused" if code == 1 else "Internal error" if isinstance(error, InternalError) else "Error"
    screen.print(Text.assemble((f"{heading}: ", "bold red"), error.what), soft_wrap=True)
    for problem in error.problems:
        screen.print(Text(f"  - {problem}"), soft_wrap=True)
    if error.hint:
        screen.print(Text.assemble(("Next step: ", "bold"), error.hint), soft_wrap=True)
    return code
