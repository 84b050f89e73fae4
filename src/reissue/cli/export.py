"""`reissue export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from reissue.cli.output import AsJson, Number, SeriesFolder, console, print_json


def export(
    series: SeriesFolder,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the public tables.")],
    number: Number = None,
    format: Annotated[Literal["csv", "parquet"], typer.Option(help="The kind of file.")] = "csv",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the public tables and the public record of a release to a folder, as CSV or Parquet.

    Example:

      reissue export clinic to-send 2 --format csv
    """
    from reissue.cli.selecting import chosen
    from reissue.errors import ParameterError, StorageError
    from reissue.series import open as open_series

    with open_series(series) as opened:
        release = chosen(opened, number)
        files = {f"{name}.{format}": frame for name, frame in release.tables.items()}
        record = (release.folder / "release.json").read_bytes()
    taken = [name for name in (*files, "release.json") if (target / name).exists()]
    if taken and not force:
        raise ParameterError(
            f"'{target}' already holds {', '.join(taken)}.", hint="choose another folder, or pass --force."
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, frame in files.items():
            if format == "csv":
                frame.write_csv(target / name)
            else:
                frame.write_parquet(target / name)
        (target / "release.json").write_bytes(record)
    except OSError as error:
        raise StorageError(f"'{target}' cannot be written: {error.strerror}.") from error
    written = [str(target / name) for name in (*files, "release.json")]
    if as_json:
        print_json({"number": release.number, "files": written})
        return
    for name in written:
        console().print(f"wrote {name}", soft_wrap=True)
