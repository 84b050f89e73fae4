"""Hierarchies in a package: what labels stand for that people were coarsened to, so that recipients can count by them.

No release has them, as they name labels that nobody may have. Whoever sends a package hands over those that they want
to be known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reissue.errors import ParameterError, listed
from reissue.exporting.about import slug
from reissue.exporting.public_releases import ReleaseToSend
from reissue.ledger.sent_packages import SentFile
from reissue.model.hierarchy import Hierarchy
from reissue.tables.data_packages import HIERARCHY, OWN
from reissue.utility.analysing.conditions import leaves_of

Hierarchies = Mapping[str, Hierarchy | str | Path] | None
"""For columns that were coarsened along a hierarchy this one, or its file."""


def hierarchies_to_send(given: Hierarchies, releases: Sequence[ReleaseToSend]) -> dict[str, Hierarchy]:
    """What was given, if it is of columns that were coarsened and has all labels that are published."""
    if not isinstance(given or {}, Mapping):
        raise ParameterError(
            "The 'hierarchies' parameter of export must name a hierarchy for each column.",
            hint='hierarchies={"education": "education.csv"}',
        )
    made = {name: one if isinstance(one, Hierarchy) else Hierarchy.read(one) for name, one in (given or {}).items()}
    coarsened: dict[str, list[ReleaseToSend]] = {}
    for release in releases:
        for name in coarsened_in(release):
            coarsened.setdefault(name, []).append(release)
    if unknown := [name for name in made if name not in coarsened]:
        there = f"those that were: {listed(sorted(coarsened))}." if coarsened else "none was."
        raise ParameterError(f"{listed(unknown)} was not coarsened along a hierarchy in what is exported.", hint=there)
    for name, hierarchy in made.items():
        for release in coarsened[name]:
            leaves_of(release.public.table(release.public.main, [name])[name], hierarchy)
    return made


def coarsened_in(release: ReleaseToSend) -> list[str]:
    """The columns of a release that were coarsened along a hierarchy."""
    if not release.public.has_regions:
        return []
    return [name for name, kind in release.public.kinds.items() if kind == "hierarchy"]


def file_names(hierarchies: Mapping[str, Hierarchy]) -> dict[str, str]:
    """For each column the file that its hierarchy lies in."""
    names: dict[str, str] = {}
    for number, column in enumerate(hierarchies, 1):
        name = f"hierarchy-{slug(column) or number}.json"
        names[column] = f"hierarchy-{number}.json" if name in names.values() else name
    return names


def content_of(hierarchy: Hierarchy) -> bytes:
    """A file that `Hierarchy.read` understands."""
    return (json.dumps(hierarchy.to_nested(), indent=1, ensure_ascii=False) + "\n").encode()


def resource_of(column: str, path: str, facts: SentFile) -> dict[str, Any]:
    """What a data package says of it."""
    return {
        "name": path.removesuffix(".json"),
        "path": path,
        "title": f"What the labels of '{column}' stand for",
        "format": "json",
        "mediatype": "application/json",
        "encoding": "utf-8",
        "bytes": facts.size,
        "hash": f"sha256:{facts.sha256}",
        OWN: {HIERARCHY: column},
    }
