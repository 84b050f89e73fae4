"""`reissue export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from reissue.cli.output import AsJson, print_json, say, steps


def export(
    source: Annotated[
        Path, typer.Argument(metavar="SERIES", help="The folder of the series, its folder public, or one release.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write the package: a folder that is new or empty.")
    ],
    numbers: Annotated[
        list[int] | None,
        typer.Argument(metavar="NUMBER", help="The release, or several; the last one by default."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every release that was not retracted.")] = False,
    format: Annotated[Literal["csv", "parquet", "excel"], typer.Option(help="The kind of file.")] = "csv",
    title: Annotated[str | None, typer.Option("--title", help="What the data is called.")] = None,
    publisher: Annotated[str | None, typer.Option("--publisher", help="Who publishes it.")] = None,
    licence: Annotated[
        str | None, typer.Option("--licence", help="An identifier such as CC-BY-4.0, an address, or words.")
    ] = None,
    contact: Annotated[str | None, typer.Option("--contact", help="Whom to ask: an address, or words.")] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy", help="Send a hierarchy that a column was coarsened along, too: education=education.csv."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a former export that is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write releases to a folder as a package for recipients, as CSV, Parquet or Excel.

    Beside the public tables and the public record it has a README in words (what was done, what may not be true, how
    to estimate and to cite), a codebook, datapackage.json (Data Package, version 2), and export.json with the hash of
    every file as sent, which `reissue verify FOLDER` checks. One release lies in the folder itself, several in a
    folder each. Nothing private is read: the same public files and words give the same bytes.

    Parquet files are copied byte for byte. In CSV and Excel a set of values is written as {a,b,c}.

    Examples:

      reissue export clinic to-send

      reissue export clinic to-send 1 2 3 --format excel

      reissue export clinic to-send --all --title "Clinic, monthly" --publisher "City Hospital" --licence CC-BY-4.0

      reissue export received/public to-send 2 --format parquet

      reissue export clinic to-send --hierarchy education=education.csv
    """
    from reissue.cli.hierarchy_files import read_hierarchies
    from reissue.cli.selecting import note_unless_continued
    from reissue.errors import ParameterError, listed
    from reissue.ledger import Ledger
    from reissue.ledger.layout import Layout
    from reissue.publishing.handing_out import export as write_export

    if every and numbers:
        raise ParameterError("--all and numbers of releases do not go together.", hint="give one of the two.")
    with steps("Exporting") as progress:
        left_out: dict[int, str] = {}
        if Layout.of(source).catalog.is_file():
            note_unless_continued(source)
            with Ledger.open(source, check=False) as ledger:
                left_out = ledger.retracted() if every else {}
        made = write_export(
            source,
            target,
            "all" if every else numbers or None,
            format=format,
            force=force,
            title=title,
            publisher=publisher,
            licence=licence,
            contact=contact,
            hierarchies=read_hierarchies(hierarchy),
            progress=progress,
        )
    if as_json:
        number = made.releases[0] if len(made.releases) == 1 else None
        files = list(map(str, made.files))
        told: dict[str, object] = {
            "number": number,
            "releases": list(made.releases),
            "files": files,
            "chain": made.chain,
        }
        if made.unsent:
            told["hierarchies_not_sent"] = list(made.unsent)
        print_json({**told, **({"retracted": left_out} if left_out else {})})
        return
    for path in made.files:
        say(f"wrote {path}")
    if made.unsent:
        say(
            f"whoever counts by {listed(made.unsent)} needs the hierarchy, which is not in the package. If its labels "
            f"may be known, send it: --hierarchy {made.unsent[0]}=FILE",
            heading="note ",
            style="yellow",
        )
    for one, why in left_out.items():
        say(f"release {one} was retracted, and is not in the package: {why}", heading="note ", style="yellow")
