"""`reissue export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from reissue.cli.output import AsJson, Number, SeriesFolder, print_json, say, steps


def export(
    series: SeriesFolder,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the public tables.")],
    number: Number = None,
    format: Annotated[Literal["csv", "parquet"], typer.Option(help="The kind of file.")] = "csv",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the public tables and the public record of a release to a folder, as CSV or Parquet.

    Parquet files are copied byte for byte, so the hashes in release.json hold for the copies too. In CSV a set of
    values is written as {a,b,c}.

    Example:

      reissue export clinic to-send 2 --format csv
    """
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.errors import ParameterError, StorageError
    from reissue.model.csv_files import csv_bytes
    from reissue.publishing.series import open as open_series
    from reissue.tables.set_texts import without_lists

    if target.resolve().is_relative_to(series.resolve()):
        raise ParameterError(f"'{target}' lies inside the series.", hint="export to a folder outside it.")
    with steps("Reading the release"), open_series(series) as opened:
        note_unless_continued(series)
        release = chosen(opened, number)
        tables = release.tables
        files = {path.name: path.read_bytes() for path in sorted(release.folder.iterdir())}
    if format == "csv":
        record = files["release.json"]
        files = {f"{name}.csv": csv_bytes(without_lists(frame)) for name, frame in tables.items()}
        files["release.json"] = record
    taken = [name for name in files if (target / name).exists()]
    if taken and not force:
        raise ParameterError(
            f"'{target}' already holds {', '.join(taken)}.", hint="choose another folder, or pass --force."
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / name).write_bytes(content)
    except OSError as error:
        raise StorageError(f"'{target}' cannot be written: {error.strerror}.") from error
    written = [str(target / name) for name in files]
    if as_json:
        print_json({"number": release.number, "files": written})
        return
    for name in written:
        say(f"wrote {name}")
