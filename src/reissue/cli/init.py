"""`reissue init`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, as_given, note, print_json, print_table, say, stages, warn

if TYPE_CHECKING:
    from reissue.publishing.proposals.proposal import Proposal
    from reissue.publishing.proposals.proposal_questions import Question


def init(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="A table with a row for each person or event: a CSV, Parquet or Excel file, a folder or pattern of "
            "Parquet files, s3://..., or a query in a .sql file; several, in order of time, show how values change.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The policy file to write; hierarchies lie beside it.")] = Path(
        "policy.toml"
    ),
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing, also at a terminal: take what is most likely, and say it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Propose a policy for a table. Roles are guessed: read the file and confirm or correct each one.

    At a terminal it asks what it cannot know. The policy was tried on the first table: `publish --dry-run` takes it.

    Examples:

      reissue init patients.csv --out policy.toml

      reissue init "parts/*.parquet"

      reissue init january.csv february.csv march.csv --yes
    """
    from reissue.errors import ParameterError
    from reissue.publishing.proposals.proposal import propose

    if out.exists() and not force:
        raise ParameterError(f"There is a file '{out}' already.", hint="choose another with --out, or pass --force.")
    command = shlex.join(["reissue", "moves", *map(as_given, tables), "--policy", str(out), "--epsilon", "1"])
    moves = command if len(tables) > 1 else None
    if not (yes or as_json) and sys.stdin.isatty() and sys.stdout.isatty():
        say(f"Looking at {', '.join(table.name for table in tables)}. Enter takes what stands in brackets.")
        with stages(None) as progress:

            def ask(question: Question) -> str:
                with progress.put_aside():
                    return _asked(question)

            found = propose(tables, out.name, answer=ask, moves=moves, progress=progress)
    else:
        with stages(None) as progress:
            found = propose(tables, out.name, moves=moves, progress=progress)
    _write(found, out, force)
    if as_json:
        print_json(_as_data(found, out))
        return
    _tell(found, tables, out, command)


def _asked(question: Question) -> str:
    """What somebody at the terminal answers: by number or by name, until it is one of the choices."""
    say("", question.text)
    names = [choice for choice, _ in question.choices]
    for number, (choice, words) in enumerate(question.choices, 1):
        say(f"  {number}  {choice}: {words}")
    chosen = [part.strip() for part in question.default.split(",")] if question.several else [question.default]
    default = ",".join(str(names.index(one) + 1) for one in chosen)
    what = "Numbers, separated by commas" if question.several else "Number"
    while True:
        given = str(typer.prompt(what, default=default))
        parts = [part.strip() for part in given.split(",") if part.strip()] if question.several else [given.strip()]
        named = [names[int(part) - 1] if part.isdecimal() and 0 < int(part) <= len(names) else part for part in parts]
        answer = ", ".join(named)
        if named and question.accepts(answer):
            return answer
        say(f"That is none of the choices: give numbers from 1 to {len(names)}.")


def _write(found: Proposal, out: Path, force: bool) -> None:
    from reissue.errors import ParameterError, StorageError

    there = [name for name in found.files if (out.parent / name).exists()]
    if there and not force:
        raise ParameterError(
            f"There is a file '{out.parent / there[0]}' already.", hint="choose another --out, or pass --force."
        )
    for path, text in [*((out.parent / name, text) for name, text in found.files.items()), (out, found.text)]:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(f"'{path}' cannot be written: {error.strerror}.") from error


def _as_data(found: Proposal, out: Path) -> dict[str, Any]:
    changes = found.changes
    return {
        "file": str(out),
        "hierarchies": [str(out.parent / name) for name in found.files],
        "guesses": [
            {"column": one.column, "role": one.role, "kind": one.kind, "confidence": one.confidence, "why": one.why}
            for one in found.guesses
        ],
        "method": {"name": found.method.name, "why": found.method.why},
        "not_published": [one.column for one in found.lost],
        "assumptions": [one.assumption for one in found.answered],
        "notes": list(found.notes),
        "warnings": list(found.warnings),
        **({} if changes is None else {"changed": {"people": changes.people, "changed": changes.changed}}),
    }


def _tell(found: Proposal, tables: list[Path], out: Path, command: str) -> None:
    from reissue.errors import count_of, listed

    print_table(
        f"Guessed roles for {tables[0].name}", ("column", "role", "kind", "sure", "why"),
        [(one.column, one.role, one.kind or "-", one.confidence, one.why) for one in found.guesses],
        left=(0, 1, 2, 3, 4),
    )  # fmt: skip
    say(f"{found.method.name}: {found.method.why}", heading="method ")
    for one in found.answered:
        say(one.assumption, heading="assumed ")
    for line in found.notes:
        note(line)
    for line in found.warnings:
        warn(line)
    if found.lost:
        what = count_of(len(found.lost), "column that looks sensitive is", "columns that look sensitive are")
        warn(
            f"{what} NOT published under this policy: {listed([one.column for one in found.lost], 40)}. The list "
            f"'drop' in {out} has the reason for each: confirm it, or publish others in their place."
        )
    beside = f" and {count_of(len(found.files), 'hierarchy', 'hierarchies')} beside it" if found.files else ""
    say(
        f"wrote {out}{beside}. These are guesses: read it and confirm or correct every line marked GUESS, then",
        f"  reissue publish <series folder> {shlex.join([as_given(tables[0]), '--policy', str(out)])} --dry-run",
    )
    if len(tables) > 1:
        rehearse = shlex.join(["reissue", "compare", *map(as_given, tables), "--policy", str(out)])
        say("Whether it is worth it, and which method is, a rehearsal shows before anything is out:", f"  {rehearse}")
    changes = found.changes
    if changes is not None:
        say(f"Through {len(tables):,} tables {changes.words}.")
    if changes is not None and changes.changed and "change" in found.method.parameters:
        say("The policy declares a low rate of change. For a table of change instead, count how values move with",
            f"  {command}")  # fmt: skip
