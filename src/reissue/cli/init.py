"""`reissue init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, steps

if TYPE_CHECKING:
    import polars as pl


def init(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV or Parquet file with one row per person.")],
    out: Annotated[Path, typer.Option("--out", help="The policy file to write.")] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Propose a policy for a table. Roles are guessed: read the file and confirm or correct each one.

    Example:

      reissue init patients.csv --out policy.toml
    """
    from reissue.errors import ParameterError, StorageError
    from reissue.publishing.proposals import guess_roles, propose_policy
    from reissue.tables.frames import read_table

    if out.exists() and not force:
        raise ParameterError(f"There is a file '{out}' already.", hint="choose another with --out, or pass --force.")
    with steps(f"Reading {table.name}"):
        frame, _ = read_table(table)
        written, _ = read_table(table, text=frame.columns)
        # 02003 is a code, not the number 2003.
        codes = [name for name in frame.columns if _has_leading_zeros(written[name]) and frame[name].dtype.is_integer()]
        guesses = guess_roles(frame, codes)
    try:
        out.write_text(propose_policy(frame, table.name, codes), encoding="utf-8")
    except OSError as error:
        raise StorageError(f"'{out}' cannot be written: {error.strerror}.") from error
    if as_json:
        print_json({"file": str(out), "guesses": [{"column": g.column, "role": g.role, "why": g.why} for g in guesses]})
        return
    print_table(
        f"Guessed roles for {table.name}", ("column", "role", "kind", "why"),
        [(g.column, g.role, g.kind or "-", g.why) for g in guesses], left=(0, 1, 2, 3),
    )  # fmt: skip
    say(
        f"wrote {out}. These are guesses: read it and confirm or correct every line marked GUESS, then",
        f"  reissue publish <series folder> {table} --policy {out} --dry-run",
    )


def _has_leading_zeros(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String and bool(column.str.contains(r"^0\d").any())
