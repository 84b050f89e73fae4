"""`reissue moves`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, steps

if TYPE_CHECKING:
    import polars as pl

    from reissue.publishing.past_moves import Moves


def moves(
    tables: Annotated[
        list[Path],
        typer.Argument(
            metavar="TABLE...",
            help="Past states of the table, in order: files, folders or patterns of Parquet files, s3://..., queries "
            "in .sql files.",
        ),
    ],
    policy: Annotated[
        Path, typer.Option("--policy", help="The policy file: what the columns are, and the reference if it has one.")
    ],
    epsilon: Annotated[
        float, typer.Option(min=0.001, max=100, help="How much the files may tell of anybody's history, in all.")
    ] = 1.0,
    most: Annotated[int, typer.Option(min=1, help="So many moves somebody brings; of more, some are drawn.")] = 4,
    out: Annotated[Path, typer.Option("--out", help="The table of change to write.")] = Path("moves.csv"),
    shares: Annotated[
        Path, typer.Option("--shares", help="The reference shares to write, where the policy has no others.")
    ] = Path("shares.csv"),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count how values moved through past states of a table, with noise, for `change` of Alternatives.

    The states may have been published before or not. Run it once: every run asks the people again, and what is used of
    several runs has told all their epsilons.

    Example:

      reissue moves 2021.csv 2022.csv 2023.csv --policy policy.toml --epsilon 1
    """
    from reissue.errors import ParameterError
    from reissue.methods.alternatives.alternatives import Alternatives
    from reissue.publishing.past_moves import moves as counted
    from reissue.publishing.policy import Policy

    read = Policy.read(policy, unwritten=(out, shares))
    method = read.method if isinstance(read.method, Alternatives) else None
    reference = None if method is None else method.reference
    written = (out,) if reference is not None else (out, shares)
    there = [path for path in written if path.exists()]
    if there and not force:
        raise ParameterError(
            f"There is a file '{there[0]}' already.", hint="choose another with --out and --shares, or pass --force."
        )
    with steps("Counting moves"):
        merge = Alternatives.merge if method is None else method.merge
        found = counted(tables, read.schema, epsilon, most, reference=reference, merge=merge)
    _write(found.table, out)
    if found.shares is not None:
        _write(found.shares, shares)
    lines = _lines(policy, out, None if found.shares is None else shares)
    if as_json:
        print_json({**_figures(found), "files": [str(path) for path in written], "policy": lines})
        return
    _tell(found, len(tables))
    say(f"wrote {' and '.join(map(str, written))}. In [method] of the policy:", *(f"  {line}" for line in lines))
    say(
        f"Of anybody's whole history they tell as much as epsilon = {found.epsilon:g} allows; every release that uses "
        "them says so."
    )


def _write(frame: pl.DataFrame, path: Path) -> None:
    from reissue.errors import StorageError
    from reissue.model.csv_files import csv_bytes

    try:
        path.write_bytes(csv_bytes(frame))
    except OSError as error:
        raise StorageError(f"'{path}' cannot be written: {error.strerror}.") from error


def _lines(policy: Path, out: Path, shares: Path | None) -> list[str]:
    """What has to stand in the policy, with paths from where it lies."""
    from reissue.model.toml_text import quoted

    names = {"reference": shares, "change": out}
    return [f"{name} = {quoted(os.path.relpath(path, policy.parent))}" for name, path in names.items() if path]


def _figures(found: Moves) -> dict[str, object]:
    return {
        "people": found.people,
        "moves": found.moves,
        "left_out": found.left_out,
        "values": found.rows.height,
        "staying": found.staying,
        "largest_error": found.rows["error"].max(),
        "thin": found.rows.filter("thin")["value"].to_list(),
        "epsilon": found.epsilon,
    }


def _tell(found: Moves, tables: int) -> None:
    from reissue.errors import listed

    thin = found.rows.filter("thin")["value"].to_list()
    errors = found.rows["error"].to_list()
    worst = errors.index(max(errors))
    print_table(
        f"Moves of values through {tables:,} tables", ("", ""),
        [
            ("people (exact, private)", f"{found.people:,}"),
            ("moves (exact, private)", f"{found.moves:,}"),
            *([("moves left out, of people with many", f"{found.left_out:,}")] if found.left_out else []),
            ("values", f"{found.rows.height:,}"),
            ("values that stay, from one table to the next", f"{found.staying:.1%}"),
            ("error by noise, on average over values", f"at most about {sum(errors) / len(errors):.2f}"),
            ("the largest", f"at most about {errors[worst]:.2f}, of {found.rows['value'][worst]}"),
            ("values that rest on little", listed(thin) if thin else "none"),
        ],
        left=(0, 1),
    )  # fmt: skip
    if thin:
        say(
            "Where a value rests on little, more than half of its row is what values do on the whole: a larger "
            "epsilon, more tables or coarser values help."
        )
