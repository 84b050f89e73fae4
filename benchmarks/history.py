"""The figures of every version, kept in `history.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("history.json")
FORMAT = 1


def load() -> dict[str, Any]:
    """By version: the machine that it was measured on, and its rows."""
    if not FILE.exists():
        return {}
    kept = json.loads(FILE.read_text())
    if kept["format"] != FORMAT:
        raise SystemExit(f"{FILE.name} has format {kept['format']}; this program knows {FORMAT}.")
    versions: dict[str, Any] = kept["versions"]
    return versions


def record(version: str, machine: dict[str, Any], rows: dict[str, Any]) -> None:
    """Put rows into a version, in place of those of the same names."""
    versions = load()
    kept = versions.setdefault(version, {"rows": {}})
    kept["machine"] = machine
    kept["rows"] |= rows
    FILE.write_text(json.dumps({"format": FORMAT, "versions": versions}, indent=1) + "\n")
