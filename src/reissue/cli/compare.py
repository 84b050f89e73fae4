"""`reissue compare`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, console, note, print_json, print_table, say, warn
from reissue.errors import count_of, printable

if TYPE_CHECKING:
    from reissue.comparing.compare_methods import Progress
    from reissue.comparing.comparison import Comparison

PROMISES = {"each release alone": "alone", "nothing is tied": "-"}
"""Promises in a word, where that is enough."""
LINE = 160
"""So long a reason may be below the table."""
LEGEND = (
    "promise: nobody is tied to a value with more (alone: by one release). counts: median error;",
    "shares: of values in groups of people, mean error in points; slopes: those beyond chance that keep their sign.",
    "> limit: people whom somebody ties to a value with more than that (+: not all were decided), who takes values for",
    "fixed or, of sets, knows exactly how these people's values moved, against whom sets promise nothing;",
    "guess: right guesses by a model learnt from the release; own row: points of these from the person's own row.",
)


def compare(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="The tables, in the order of time: files, folders or patterns of Parquet files, s3://..., queries in "
            ".sql files.",
        ),
    ],
    policy: Annotated[
        Path | None,
        typer.Option(help="What the columns are, and what is asked for; left out: guessed, as `reissue init` does."),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method; several times for several. All by default.")
    ] = None,
    registry: Annotated[
        list[Path] | None,
        typer.Option(help="Everybody registered, for methods that take it: once for all tables, or once for each."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="The time for all of it; then nothing else is begun.")] = 120,
    people: Annotated[
        int, typer.Option(min=2, help="Rehearse with so many people at most, the same in all tables.")
    ] = 100_000,
    queries: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many COUNT queries to ask.")] = 1000,
    processes: Annotated[
        int | None, typer.Option(min=0, help="How many run at once; one for each core by default. 0: none but this.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other people, releases and queries.")] = 1,
    chart: Annotated[Path | None, typer.Option(help="Write the picture to this file: .html, .svg or .png.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all figures to this file: .csv, .parquet or .json.")
    ] = None,
    write: Annotated[Path | None, typer.Option(help="Write the policy to take to this file, with the reasons.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rehearse a series under every method that fits, and say which to take. Nothing is published. Private.

    Each method publishes all tables, in memory; what it costs, what is left to analysts and what attacks get stands in
    one table, beside no link at all. The recommendation goes by written rules; figures are the same for the same seed.
    Exit code 0: it answered, also if nothing fits. 1: --write was asked for, and there is nothing to write.

    Examples:

      reissue compare january.csv february.csv march.csv

      reissue compare january.csv february.csv march.csv --policy policy.toml --chart compare.html --write chosen.toml
    """
    began = monotonic()
    from reissue.comparing.compare_methods import compare as compare_methods

    _check_files(out, chart, write, force=force)
    with _shown() as progress:
        found = compare_methods(
            tables,
            policy,
            methods=method or None,
            seconds=max(seconds - (monotonic() - began), 0.1),  # loading the library counts too
            people=people,
            queries=queries,
            seed=seed,
            processes=processes,
            registry=list(registry) if registry else None,
            progress=progress,
        )
    written = [found.save(path) for path in (out, chart) if path is not None]
    if write is not None and found.policy is not None:
        written.append(found.save(write))
    if as_json:
        print_json({**found.to_dict(), "written": [str(path) for path in written]})
    else:
        _print(found, guessed=policy is None)
        for path in written:
            say(f"wrote {path}")
    if write is not None and found.policy is None:
        stopped = found.recommendation.method is not None
        why = "checks would refuse these tables under it" if stopped else "no method is recommended"
        note(f"Nothing was written to {write}: {why}.")
        raise typer.Exit(1)


def _check_files(out: Path | None, chart: Path | None, write: Path | None, *, force: bool) -> None:
    """Before anything is computed: files can be written, and nothing is replaced that nobody asked to."""
    from reissue.errors import ParameterError

    problems = []
    for name, path, suffixes in (
        ("--out", out, (".csv", ".parquet", ".json")),
        ("--chart", chart, (".html", ".svg", ".png")),
        ("--write", write, (".toml",)),
    ):
        if path is None:
            continue
        if path.suffix not in suffixes:
            problems.append(f"{name} takes a file that ends with {' or '.join(suffixes)}: '{path}' does not")
        if path.exists() and not force:
            problems.append(f"there is a file '{path}' already: choose another for {name}, or pass --force")
        if not path.absolute().parent.is_dir():
            problems.append(f"there is no folder for {name} '{path}'")
    if problems:
        raise ParameterError("What is found could not be written.", problems=problems)


@contextmanager
def _shown() -> Iterator[Progress]:
    """A bar on standard error with the time that is left, gone when the work is done."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    screen = console(errors=True)
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left:"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("Starting", total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=printable(what))


def _print(found: Comparison, *, guessed: bool) -> None:
    rows = [row for row in found.rows if row.get("withheld") is not None]
    people = f"{count_of(found.situation.people, 'person', 'people')} in the last table"
    releases = count_of(found.releases, "release")
    lost = ["withheld", *(name for name in ("counterfeit", "replaced") if any(row.get(name) for row in rows))]
    titles = ["method", "promise", *lost, "counts", "shares", "slopes", "> limit", "guess", "own row"]
    cells = [_cells(row, lost, found.recommendation.method) for row in rows]
    print_table(f"Methods over {releases}, {people}", titles, cells, left=(0, 1), narrow=True)
    say(*LEGEND)
    whys = [(row["method"], row.get("refused") or row.get("note")) for row in found.rows]
    for method, why in whys:
        if why:
            say(_shortened(why), heading=f"{method}: ", style="yellow")
    if any(why and len(why) > LINE for _, why in whys):
        say("The whole reasons are in the files of --out, and in --json.")
    if any(row.get("changed") for row in rows) and found.situation.changed:
        ways: dict[str, list[str]] = {}
        for row in rows:
            if row.get("changed"):
                ways.setdefault(row["changed"], []).append(row["method"])
        say("What becomes of people whose value changed:", *(f"  {way}: {'; '.join(its)}" for way, its in ways.items()))
    for text in found.notes:
        note(text)
    for text in found.stopped:
        warn(f"`publish` will refuse these tables under such a policy; {text}.")
    if guessed:
        note("What the columns are was guessed: check it with `reissue init`, and compare again with --policy.")
    told = found.recommendation
    say(told.sentence, style="bold green" if told.method else "bold yellow", heading="")
    say(*(f"  {reason}" for reason in told.reasons))


def _shortened(why: str) -> str:
    """A reason in one line: its first parts, as many as fit."""
    if len(why) <= LINE:
        return f"{why}."
    parts = why.split("; ")
    short = parts[0]
    for part in parts[1:]:
        if len(short) + len(part) + 2 > LINE:
            break
        short += f"; {part}"
    if len(short) > LINE:
        short = short[:LINE].rsplit(" ", 1)[0].rstrip(",;:")
    return f"{short} ..."


def _cells(row: Any, lost: list[str], chosen: str | None) -> list[str | None]:
    slopes = None if not row.get("slopes") else f"{row['kept']} of {row['slopes']}"
    above = _percent(row.get("above"))
    if above is not None and (row.get("undecided") or 0.0) > 0.001:
        above += "+"
    return [
        f"{'> ' if row['method'] == chosen else '  '}{row['method']}",
        PROMISES.get(row.get("promise") or "", str(row.get("promise") or "-").removeprefix("at most ")),
        *(_percent(row.get(name)) for name in (*lost, "counts")),
        _points(row.get("shares")),
        slopes,
        above,
        _percent(row.get("right")),
        _points(row.get("advantage")),
    ]


def _percent(share: float | None) -> str | None:
    return None if share is None else "0" if share == 0 else f"{100 * share:.1f}%"


def _points(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.1f}"
