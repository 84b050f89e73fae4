"""datapackage.json: what the files of a package are, as the Data Package standard (version 2) says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from reissue.exporting.about import About, slug
from reissue.exporting.codebook import ColumnNote
from reissue.exporting.public_releases import ReleaseToSend
from reissue.ledger.sent_packages import SentFile
from reissue.tables.data_packages import OWN
from reissue.tables.sent_types import field_type, plain_types, type_name
from reissue.tables.sent_workbook import cell_types

PROFILES = "https://datapackage.org/profiles/2.0/"
MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def package_descriptor(
    releases: Sequence[ReleaseToSend], about: About, description: str, resources: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The whole descriptor."""
    first, last = releases[0], releases[-1]
    numbers = f"{first.number}" if len(releases) == 1 else f"{first.number}-{last.number}"
    contributors, licences = about.contributors(), about.licences()
    return {
        "$schema": f"{PROFILES}datapackage.json",
        "name": slug(about.title or "") or f"release-{numbers}",
        "title": title_of(releases, about),
        "description": description,
        "version": str(last.number),
        "created": str(last.record["time"]),
        **({"licenses": licences} if licences else {}),
        **({"contributors": contributors} if contributors else {}),
        "resources": list(resources),
    }


def title_of(releases: Sequence[ReleaseToSend], about: About) -> str:
    """The title that was given, or what it is."""
    if about.title is not None:
        return about.title
    first, last = releases[0], releases[-1]
    if len(releases) == 1:
        period = f" ({first.period})" if first.period else ""
        return f"Release {first.number}{period} of a table about people"
    return f"Releases {first.number} to {last.number} of a table about people"


def table_resource(
    name: str,
    path: str,
    kind: str,
    frame: pl.DataFrame,
    told: Mapping[str, str],
    facts: SentFile,
    *,
    title: str,
    sheet: str | None = None,
    own: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """One table; `told` says of each column what it is, `own` what only Reissue looks at."""
    plain = plain_types(frame)
    cells = _cells(plain, kind)
    return {
        "name": name,
        "type": "table",
        "path": path,
        "title": title,
        "format": kind,
        "mediatype": MEDIA[kind],
        **({"encoding": "utf-8"} if kind == "csv" else {}),
        # A reader of Parquet files that never counts their bytes would find a wrong number here.
        **({"bytes": facts.size} if kind != "parquet" else {}),
        "hash": f"sha256:{facts.sha256}",
        **_dialect(kind, sheet),
        "schema": {
            "$schema": f"{PROFILES}tableschema.json",
            "fields": [_field(column, cells[column.name], told.get(column.name, "")) for column in plain],
            "missingValues": [""],
        },
        **({OWN: dict(own)} if own else {}),
    }


def _cells(plain: pl.DataFrame, kind: str) -> dict[str, str]:
    if kind == "xlsx":
        return cell_types(plain)
    # Lists of Parquet files come as arrays of whatever library reads them.
    lists = "any" if kind == "parquet" else "string"
    return {
        name: lists if isinstance(dtype, pl.List) else field_type(type_name(dtype))
        for name, dtype in plain.schema.items()
    }


def _dialect(kind: str, sheet: str | None) -> dict[str, Any]:
    if kind == "csv":
        rule = {"delimiter": ",", "lineTerminator": "\n", "quoteChar": '"', "doubleQuote": True, "header": True}
        return {"dialect": {"$schema": f"{PROFILES}tabledialect.json", **rule}}
    if kind == "xlsx":
        # The standard's name for the sheet, and that of the reference implementation.
        named = {"sheetName": sheet, "excel": {"sheet": sheet}}
        return {"dialect": {"$schema": f"{PROFILES}tabledialect.json", "header": True, **named}}
    return {}


def _field(column: pl.Series, cells: str, told: str) -> dict[str, Any]:
    never_missing = not column.null_count()
    # An empty text is a label like others, unless it could be no value.
    literal = never_missing and cells == "string"
    return {
        "name": column.name,
        "type": cells,
        **({"description": told} if told else {}),
        **({"missingValues": []} if literal else {}),
        **({"constraints": {"required": True}} if never_missing and column.len() else {}),
        OWN: {"type": type_name(column.dtype)},
    }


def told_of(notes: Sequence[ColumnNote]) -> dict[str, str]:
    """What a package says of each column of one table."""
    return {
        note.column: f"{note.role[0].upper()}{note.role[1:]}. {note.content} Missing: {note.missing}." for note in notes
    }
