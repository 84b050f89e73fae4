"""`reissue datasets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, print_json, print_table, say, steps


def datasets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A data set to write to a file.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The CSV or Parquet file to write.")] = None,
    path: Annotated[
        Path | None, typer.Option(help="Where the original file lies, for data sets that have one.")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=0, help="How many rows to generate.")] = None,
    seed: Annotated[int | None, typer.Option(help="Generate the same table again.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets for trying things out, or write one of them to a file.

    Examples:

      reissue datasets

      reissue datasets census --rows 10000 --out census.parquet
    """
    from reissue.errors import ParameterError, StorageError
    from reissue.model.csv_files import write_csv
    from reissue.samples.collection import datasets as known
    from reissue.samples.collection import load

    if name is None:
        listed = known()
        if as_json:
            print_json(
                [{"name": d.name, "what": d.what, "rows": d.rows, "source": d.source, "roles": d.roles} for d in listed]
            )
            return
        print_table(
            "Data sets", ("name", "what", "rows", "source"),
            [(d.name, d.what, d.rows, d.source) for d in listed], left=(0, 1, 3),
        )  # fmt: skip
        return
    if out is None or not out.name.endswith((".csv", ".parquet")):
        raise ParameterError("Writing a data set needs --out with a file name that ends in .csv or .parquet.")
    with steps(f"Making {name}"):
        frame = load(name, path=path, rows=rows, seed=seed)
        try:
            with out.open("wb") as file:
                write_csv(frame, file) if out.name.endswith(".csv") else frame.write_parquet(file)
        except OSError as error:
            raise StorageError(f"'{out}' cannot be written: {error.strerror}.") from error
    if as_json:
        print_json({"file": str(out), "rows": frame.height, "columns": frame.columns})
        return
    say(f"wrote {frame.height:,} rows to {out}")
