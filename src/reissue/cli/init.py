"""`reissue init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, steps

if TYPE_CHECKING:
    import polars as pl


def init(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="A CSV, Parquet or Excel file with one row per person; states of it in order show how values change.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The policy file to write.")] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Propose a policy for a table. Roles are guessed: read the file and confirm or correct each one.

    Example:

      reissue init patients.csv --out policy.toml

      reissue init january.csv february.csv march.csv
    """
    from reissue.errors import ParameterError, StorageError
    from reissue.publishing.proposals import changes_in, guess_roles, propose_policy
    from reissue.tables.frames import read_table

    table = tables[0]
    if out.exists() and not force:
        raise ParameterError(f"There is a file '{out}' already.", hint="choose another with --out, or pass --force.")
    with steps(f"Reading {table.name}"):
        frame, _ = read_table(table)
        written, _ = read_table(table, text=frame.columns)
        # 02003 is a code, not the number 2003.
        codes = [name for name in frame.columns if _has_leading_zeros(written[name]) and frame[name].dtype.is_integer()]
        guesses = guess_roles(frame, codes)
        changes = None
        if len(tables) > 1:
            text = {guess.column for guess in guesses if guess.role == "person" or guess.kind == "categorical"}
            command = shlex.join(["reissue", "moves", *map(str, tables), "--policy", str(out), "--epsilon", "1"])
            changes = changes_in([read_table(one, text=text)[0] for one in tables], guesses, command)
    try:
        out.write_text(propose_policy(frame, table.name, codes, changes), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"'{out}' cannot be written: {error.strerror}.") from error
    if as_json:
        told = {"file": str(out), "guesses": [{"column": g.column, "role": g.role, "why": g.why} for g in guesses]}
        seen = {} if changes is None else {"changed": {"people": changes.people, "changed": changes.changed}}
        print_json({**told, **seen})
        return
    print_table(
        f"Guessed roles for {table.name}", ("column", "role", "kind", "why"),
        [(g.column, g.role, g.kind or "-", g.why) for g in guesses], left=(0, 1, 2, 3),
    )  # fmt: skip
    say(
        f"wrote {out}. These are guesses: read it and confirm or correct every line marked GUESS, then",
        f"  reissue publish <series folder> {table} --policy {out} --dry-run",
    )
    if changes is not None:
        say(f"Through {len(tables):,} tables {changes.words}.")
    if changes is not None and changes.changed:
        say(
            "To publish values that change as sets (in a comment at the end of the file), count how with",
            f"  {command}",
        )


def _has_leading_zeros(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String and bool(column.str.contains(r"^0\d").any())
