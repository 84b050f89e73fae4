"""Methods: ways of grouping people, each with the guarantees it gives.

`build` makes one from its name in a policy file. Other packages add their own under the entry point
group `reissue.methods`, with the name in a policy file as the entry point's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

from reissue.errors import ParameterError, listed
from reissue.methods.base import Constraint, Memory, Method, Promise, Takes
from reissue.methods.mondrian import Mondrian

__all__ = ["METHODS", "Constraint", "Memory", "Method", "Mondrian", "Promise", "Takes", "build"]

METHODS: Mapping[str, type[Method]] = {Mondrian.name: Mondrian}


def build(name: str, **parameters: Any) -> Method:
    """The method of this name with these parameters."""
    kind = METHODS.get(name)
    if kind is None:
        plugged = [entry for entry in entry_points(group="reissue.methods") if entry.name == name]
        if not plugged:
            near = get_close_matches(name, METHODS, n=3) or list(METHODS)
            raise ParameterError(f"There is no method '{name}'. Known: {listed(near)}.")
        kind = plugged[0].load()
    known = list(inspect.signature(kind).parameters)
    unknown = [parameter for parameter in parameters if parameter not in known]
    if unknown:
        raise ParameterError(f"{name} has no parameter {listed(unknown)}. It has {listed(known)}.")
    return kind(**parameters)
