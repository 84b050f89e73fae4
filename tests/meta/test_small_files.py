"""One idea in each file: a small file that only its neighbour needs has one, or is merged into the neighbour."""

from __future__ import annotations

import ast
from pathlib import Path

import reissue as ri

SOURCE = Path(ri.__file__).parent
SMALL = 80
"""Files below so many lines are asked for their idea."""
ELSEWHERE = ("cli", "guarantees")
"""Folders that are not looked at: in `cli` one file is one command, in `guarantees` one promise."""
OWN_IDEA = {
    "foreign/archives.py": "tables in a zip archive, with what they may weigh unpacked",
    "foreign/float_texts.py": "whole numbers that a library wrote as 5.0 in some files",
    "methods/alternatives/change_notes.py": "what a publisher is told where values do not change as declared",
    "methods/alternatives/record_notes.py": "what a publisher is told where shares of records are far from the table",
    "methods/alternatives/blind_regions.py": "quasi-identifiers as regions that are cut without a look at values",
    "publishing/checking/answerable.py": "whether anything can be estimated from sets",
    "publishing/proposals/returning.py": "who comes back from one table to the next, and what to ask of that",
    "publishing/proposals/told_columns.py": "known columns that would tell a sensitive one",
    "utility/analysing/across_regions.py": "what holds of a group wherever people are in their regions",
    "comparing/kept_comments.py": "a policy file with another method and all else as somebody wrote it",
    "utility/analysing/trend_times.py": "when releases are, for a line through their answers",
    "comparing/proposed.py": "the policy that init would propose, for who has none",
    "attacks/tracking/tracking_lives.py": "lives that move together, of which one is true",
    "attacks/tracking/tracking_witness.py": "why it follows, in sentences",
    "tables/held_types.py": "the same values in another type: 7 and '7' are one person, 007 may be another",
}
"""The small files with one importer beside them that stay, and what their idea is."""


def test_small_files_are_ideas_of_their_own() -> None:
    found = {
        path
        for path, importers in importers_of().items()
        if len(importers) == 1
        and next(iter(importers)).parent == path.parent
        and len((SOURCE / path).read_text().splitlines()) < SMALL
        and not any(path.is_relative_to(folder) for folder in ELSEWHERE)
    }
    named = {str(path) for path in found}
    assert named == set(OWN_IDEA), (
        f"merge {sorted(named - set(OWN_IDEA))} into what imports them, or say what their idea is; "
        f"{sorted(set(OWN_IDEA) - named)} need not be named any more"
    )


def importers_of() -> dict[Path, set[Path]]:
    """For each file, without those that only gather a folder, the files of the package that import it."""
    files = {name_of(path.relative_to(SOURCE)): path.relative_to(SOURCE) for path in SOURCE.rglob("*.py")}
    importers: dict[Path, set[Path]] = {path: set() for path in files.values()}
    for path in files.values():
        for module in imported(SOURCE / path):
            if module in files and files[module] != path:
                importers[files[module]].add(path)
    return {path: found for path, found in importers.items() if path.name != "__init__.py"}


def name_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.with_suffix("").parts
    return ".".join(("reissue", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def imported(path: Path) -> set[str]:
    """Every module a file imports, also for type checkers only: of `from a import b` both a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
