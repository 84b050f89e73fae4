"""`reissue show`."""

from __future__ import annotations

from typing import Annotated

import typer

from reissue.cli.output import AsJson, Number, SeriesFolder, print_json, print_rows, print_table


def show(
    series: SeriesFolder,
    number: Number = None,
    rows: Annotated[int, typer.Option(min=0, max=100_000, help="How many rows of each public table to print.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Show what a release told the public: its record and the first rows of its tables.

    Example:

      reissue show clinic 1 --rows 20
    """
    from reissue.cli.selecting import chosen
    from reissue.series import open as open_series

    with open_series(series) as opened:
        release = chosen(opened, number)
        tables = release.tables
    if as_json:
        head = {name: frame.head(rows).to_dicts() for name, frame in tables.items()}
        print_json({"number": release.number, "time": release.time, **release.manifest, "tables": head})
        return
    manifest = release.manifest
    method = {name: value for name, value in manifest["method"].items() if name != "name"}
    facts = [
        ("time", f"{release.time:%Y-%m-%d %H:%M} UTC"),
        ("method", manifest["method"]["name"]),
        *((f"  {name}", value) for name, value in method.items()),
        ("form", manifest["form"]),
        ("series", manifest["series"]),
        ("guarantees", "; ".join(manifest["guarantees"]) or "none"),
        ("rows", manifest["rows"]),
        ("groups", manifest["groups"]),
        ("files", str(release.folder)),
    ]
    print_table(f"Release {release.number}", ("", ""), facts, left=(0, 1))
    for name, frame in tables.items():
        print_rows(f"{name}: the first {min(rows, frame.height)} of {frame.height:,} rows", frame.head(rows))
