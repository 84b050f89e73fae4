"""Hierarchies on the command line: `--hierarchy education=education.csv`, as often as there are columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reissue.model.hierarchy import Hierarchy


def read_hierarchies(given: list[str] | None) -> dict[str, Hierarchy]:
    """The hierarchies that were named, by column."""
    from reissue.errors import ParameterError
    from reissue.model.hierarchy import Hierarchy

    parts = [one.partition("=") for one in given or []]
    if any(not name or not path for name, _, path in parts):
        raise ParameterError("--hierarchy takes column=file.", hint="--hierarchy education=education.csv")
    return {name: Hierarchy.read(path) for name, _, path in parts}
