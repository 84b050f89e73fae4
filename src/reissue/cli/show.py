"""`reissue show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, Number, SeriesFolder, design_rows, print_json, print_rows, print_table, say

if TYPE_CHECKING:
    import polars as pl


def show(
    series: SeriesFolder,
    number: Number = None,
    rows: Annotated[int, typer.Option(min=0, max=100_000, help="How many rows of each public table to print.")] = 12,
    held_back: Annotated[
        bool, typer.Option("--held-back", help="Private: who was in the table and not in the release, and why.")
    ] = False,
    replaced: Annotated[
        bool, typer.Option("--replaced", help="Private: who was published with another sensitive value.")
    ] = False,
    roles: Annotated[
        bool, typer.Option("--roles", help="Private: who is holder, heir, decoy or buddy for a permanent value.")
    ] = False,
    alternatives: Annotated[
        bool, typer.Option("--alternatives", help="Private: who was published with which values, one of them true.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a release told the public: its record and the first rows of its tables.

    Examples:

      reissue show clinic 1 --rows 20

      reissue show clinic --held-back

      reissue show clinic 1 --replaced

      reissue show clinic --roles

      reissue show clinic 2 --alternatives
    """
    from reissue.cli.log import allowed_rows
    from reissue.cli.selecting import chosen, note_unless_continued
    from reissue.errors import ParameterError
    from reissue.model.release import values_in_words
    from reissue.publishing.series import open as open_series

    with open_series(series) as opened:
        note_unless_continued(series)
        release, private = chosen(opened, number), opened.private
        if held_back:
            _show_private(private.held_back(release.number), "withheld from", release.number, as_json, name="held_back")
            return
        if replaced:
            people = private.replaced(release.number)
            _show_private(people, "published with another value in", release.number, as_json, name="replaced")
            return
        if roles:
            people = private.roles(release.number)
            _show_private(people, "given a role in", release.number, as_json, name="roles")
            return
        if alternatives:
            if "design" not in release.manifest:
                raise ParameterError(
                    f"Release {release.number} has no sets of values: it is {release.manifest['form']}.",
                    hint="for releases of the method Alternatives; `reissue show` alone shows the tables.",
                )
            people = private.members(release.number)
            what = f"published with {values_in_words(release.manifest['design'])} of which one is true in"
            _show_private(people, what, release.number, as_json, name="alternatives")
            return
        tables, retracted = release.tables, opened.retracted.get(release.number)
    if as_json:
        head = {name: frame.head(rows).to_dicts() for name, frame in tables.items()}
        print_json({"number": release.number, "time": release.time, **release.manifest, "tables": head})
        return
    manifest = release.manifest
    method = {name: value for name, value in manifest["method"].items() if name != "name"}
    facts = [
        *([("retracted", retracted)] if retracted else []),
        *([("period", release.period)] if release.period else []),
        *([("corrects", f"release {release.corrects}")] if release.corrects else []),
        ("time", f"{release.time:%Y-%m-%d %H:%M} UTC"),
        ("method", manifest["method"]["name"]),
        *((f"  {name}", value) for name, value in method.items()),
        ("form", manifest["form"]),
        ("series", manifest["series"]),
        *(("warning", warning) for warning in manifest.get("warnings", [])),
        ("guarantees", "; ".join(manifest["guarantees"]) or "none"),
        ("rows", manifest["rows"]),
        *_together(manifest),
        ("files", str(release.folder)),
        *((f"allowed {name} (private)", why) for name, _, why in allowed_rows(release.summary)),
    ]
    print_table(f"Release {release.number}", ("", ""), facts, left=(0, 1))
    # What describes how sets were drawn comes after them.
    several = manifest.get("design", {}).get("columns")
    for name, frame in sorted(tables.items(), key=lambda one: one[0] in ("design", "combinations", "rooms")):
        if name == "table" and several:
            _show_records(frame, several, rows)
            continue
        print_rows(f"{name}: the first {min(rows, frame.height)} of {frame.height:,} rows", frame.head(rows))


def _together(manifest: Mapping[str, Any]) -> list[tuple[str, object]]:
    """What hides people: groups, or sets of values."""
    from reissue.model.release import values_in_words

    if "design" not in manifest:
        return [("groups", manifest["groups"])]
    return [
        *([("regions", manifest["groups"])] if manifest["groups"] < manifest["rows"] else []),
        ("each row", f"{values_in_words(manifest['design'])} of which one is true"),
        *design_rows(manifest["design"]),
    ]


def _show_records(table: pl.DataFrame, columns: Sequence[str], rows: int) -> None:
    """Rows with sets of records: a line for each record, since the places of the lists belong together."""
    import polars as pl

    shown = table.head(-(-rows // 4)).with_row_index("row", offset=1)
    known = [name for name in shown.columns if name not in columns]
    lines = shown.explode(columns)
    first = pl.col("row").is_first_distinct()
    lines = lines.with_columns(pl.when(first).then(pl.col(name).cast(pl.String)).alias(name) for name in known)
    title = f"table: the first {shown.height} of {table.height:,} rows, each with its records, of which one is true"
    print_rows(title, lines)


def _show_private(people: pl.DataFrame, what: str, number: int, as_json: bool, *, name: str) -> None:
    if as_json:
        print_json({"number": number, name: people.to_dicts()})
    elif people.height:
        print_rows(f"{what[0].upper()}{what[1:]} release {number} (private)", people)
    else:
        say(f"nobody was {what} release {number}")
