"""What all commands share: options, progress, tables, JSON, and how errors are told.

Everything that a command prints goes through here, and nothing of it steers the terminal: names of files, columns and
labels are other people's. `printable` shows what would; JSON has its own way to write it.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.errors import InternalError, Refused, ReissueError, SeriesDamaged, printable, steers
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


def say(*lines: str, heading: str = "", style: str = "bold", errors: bool = False) -> None:
    """Print lines as they are, brackets and all, the first after a heading in a style of its own."""
    from rich.text import Text

    first, *rest = map(printable, lines)
    screen = console(errors=errors)
    screen.print(Text.assemble((printable(heading), style), first), soft_wrap=True)
    for line in rest:
        screen.print(Text(line), soft_wrap=True)


def note(text: str) -> None:
    """Tell something that people should know on standard error, whatever the output is for."""
    say(text, heading="note ", style="yellow", errors=True)


def warn(text: str) -> None:
    """Print a warning on standard error, so that what is on standard output stays what was asked for."""
    say(text, heading="Warning: ", style="bold yellow", errors=True)


def print_json(data: object) -> None:
    """Print a result as JSON, alone on standard output."""
    text = json.dumps(data, indent=2, ensure_ascii=False, default=_plain)
    text = _UNSEEN.sub(lambda found: _escaped(found[0]), text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a terminal that cannot show all letters
        text = json.dumps(json.loads(text), indent=2)
    sys.stdout.write(text + "\n")


_UNSEEN = re.compile(r"[^\x20-\x7e\n]")
"""What may have to be escaped; line breaks are those between the entries."""


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if steers(char) else char


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def print_file(text: str) -> None:
    """Print the text of a file byte for byte, as for another file; to a terminal, so that nothing of it steers that."""
    if sys.stdout.isatty():
        say(*text.splitlines() or [""])
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def as_given(path: Path) -> str:
    """A path as it was written: as a path, an address in S3 has lost one of its slashes."""
    return re.sub(r"^s3:/(?=[^/])", "s3://", str(path), flags=re.I)


WIDE = 130
"""So many columns a table may have that goes into a file or a pipe, and must not be cut."""


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    left: Sequence[int] = (0,),
    narrow: bool = False,
) -> None:
    """Print a table; columns are right-aligned but for those at the places in `left`.

    No figure is ever cut, and no text, which goes on in the next line. `narrow`: with few lines between, and no word is
    broken either; then it may be wider than the terminal. Where nobody watches at one it is as wide as it wants.
    """
    from rich.box import HEAVY_HEAD, SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    box = SIMPLE_HEAD if narrow else HEAVY_HEAD
    table = Table(title=Text(printable(title)), title_justify="left", title_style="bold", box=box)
    table.padding = (0, 0) if narrow else (0, 1)
    texts = [[printable(cell_text(cell)) for cell in row] for row in rows]
    for place, name in enumerate(columns):
        words = [word for text in (name, *(row[place] for row in texts)) for word in _with_indent(text)]
        figures = [row[place] for row in texts] if place not in left else []
        kept = words if narrow else figures
        table.add_column(
            Text(printable(name)),
            justify="left" if place in left else "right",
            min_width=max(map(len, kept), default=None),
            overflow="fold",
        )
    for row in texts:
        table.add_row(*map(Text, row))
    screen = console()
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = max(screen.width, WIDE)
    screen.print(table, crop=False)


def _with_indent(text: str) -> list[str]:
    """The words of a cell; a mark at its beginning, or the blanks for one, belongs to the first."""
    first, *others = text[2:].split() or [""]
    return [text[:2] + first, *others]


def print_rows(title: str, frame: pl.DataFrame) -> None:
    """Print rows of a public table as they stand there, shares to four digits; sets of values as `{a,b,c}`."""
    from reissue.tables.set_texts import without_lists

    shares = ("share", "probability")

    def written(name: str, cell: object) -> str:
        if cell is None:
            return ""
        return f"{cell:.4g}" if isinstance(cell, float) and name in shares else str(cell)

    told = without_lists(frame)
    rows = [[written(name, cell) for name, cell in zip(told.columns, row, strict=True)] for row in told.iter_rows()]
    print_table(title, frame.columns, rows, left=range(frame.width))


def cell_text(cell: object) -> str:
    """Numbers with separators, floats to four digits or to the whole number, the rest as it is."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1e3 else f"{cell:,.0f}"
    return str(cell)


def design_rows(design: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the record says of how sets were drawn, in words, a row each."""
    from reissue.model.change import change_in_words

    slots, most = design["slots"], design["most_slots"]
    frequent = "one, as of every other" if most == 1 else f"up to {most} of {slots}"
    what = "record" if "columns" in design else "value"
    return [
        *([("sensitive columns", ", ".join(design["columns"]))] if "columns" in design else []),
        (f"{what}s that sets are made of", f"{design['values']:,}"),
        (f"largest share of a {what}", f"{design['largest_share']:.1%}"),
        (f"slots of a frequent {what}", frequent),
        ("how values change", change_in_words(design["change"])),
        *([("places in a set", "lives: each goes on in the next release")] if design["linked"] else []),
    ]


class Stages:
    """A progress bar over the stages of one piece of work: call it as each begins."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task
        self._begun, self._share = -1, 0.0

    def __call__(self, stage: str) -> None:
        """Another stage begins."""
        self._begun, self._share = self._begun + 1, 0.0
        # There may be more of them than were foreseen, as attacks at a gate.
        (task,) = (one for one in self._bar.tasks if one.id == self._task)
        total = None if task.total is None else max(task.total, self._begun + 1)
        # At once, however short the stage is: what took time is to be seen.
        self._bar.update(self._task, description=printable(stage), completed=self._begun, total=total, refresh=True)

    @contextmanager
    def put_aside(self) -> Iterator[None]:
        """No bar is shown inside, where somebody is asked something."""
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def part(self, share: float) -> None:
        """So much of the stage is done. What is done twice over does not go backwards."""
        if share > self._share:
            self._share = share
            self._bar.update(self._task, completed=max(self._begun, 0) + share)


@contextmanager
def stages(total: int | None, seconds: float | None = None) -> Iterator[Stages]:
    """A progress bar over the stages of one piece of work, so many if that is known: call it as each begins.

    With `seconds` it is known to take no longer.
    """
    from reissue.model.telling import listening

    with _bar("Starting", total, seconds) as (bar, task):
        shown = Stages(bar, task)
        with listening(shown.part):
            yield shown


@contextmanager
def steps(description: str, seconds: float | None = None) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over many like steps: call it with how many are done and how many there are.

    Where the library tells by itself how much is done, nobody has to call it.
    """
    from reissue.model.telling import listening

    with (
        _bar(description, None, seconds) as (bar, task),
        listening(lambda share: bar.update(task, completed=share, total=1)),
    ):
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _bar(description: str, total: int | None, seconds: float | None) -> Iterator[tuple[Progress, TaskID]]:
    """A bar on standard error, gone when the work is done; nothing where that is not a terminal.

    It says how long the work takes, and about how long it will.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from reissue.cli.remaining import column

    screen = console(errors=True)
    # A name of a file in brackets is no style.
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), TimeElapsedColumn(), column(seconds))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(printable(description), total=total)
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


DAMAGED = 3
"""The exit code where a series is damaged."""
STOPPED = 130
"""The exit code where somebody pressed Ctrl-C, as shells have it."""


def report_error(error: ReissueError, *, as_json: bool) -> int:
    """Tell an error on standard error (as JSON on standard output if asked); return the exit code."""
    code = 1 if isinstance(error, Refused) else DAMAGED if isinstance(error, SeriesDamaged) else 2
    headings = ((Refused, "Refused"), (SeriesDamaged, "Damaged"), (InternalError, "Internal error"))
    heading = next((words for kind, words in headings if isinstance(error, kind)), "Error")
    tell(error, type(error).__name__, heading, code, as_json=as_json)
    return code


def tell(error: ReissueError, kind: str, heading: str, code: int, *, as_json: bool) -> None:
    """Why a command ends with this code."""
    if as_json:
        told: Mapping[str, Any] = {
            "kind": kind,
            "what": error.what,
            "problems": list(error.problems),
            "next_step": error.hint,
        }
        print_json({"error": told, "exit_code": code})
        return
    say(
        error.what,
        *(f"  - {problem}" for problem in error.problems),
        heading=f"{heading}: ",
        style="bold red",
        errors=True,
    )
    if error.hint:
        say(error.hint, heading="Next step: ", errors=True)
