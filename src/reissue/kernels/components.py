"""Which groups hang together: a compiled union-find."""

from __future__ import annotations

from typing import Any

from reissue.kernels import inner, kernel


@inner
def _root(parent: Any, node: Any) -> Any:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def connect(person: Any, group: Any, last: Any, parent: Any) -> None:
    """Put groups that share a person into one part.

    `person` and `group` are memberships; `last` has a place for each person, -1 at first, and ends with the last
    group of each; `parent` has a place for each group and begins as 0, 1, 2, ...
    """
    for at in range(person.size):
        who = person[at]
        here = group[at]
        if last[who] >= 0:
            one = _root(parent, last[who])
            other = _root(parent, here)
            if one < other:
                parent[other] = one
            elif other < one:
                parent[one] = other
        last[who] = here


@kernel
def number(parent: Any) -> int:
    """Turn parents into numbers of parts, counted from 0; return how many there are."""
    parts = 0
    for node in range(parent.size):
        root = _root(parent, node)
        if root == node:
            parent[node] = node
    # The root of a part is its smallest node, so it is met before the others.
    for node in range(parent.size):
        if parent[node] == node:
            parent[node] = -1 - parts
            parts += 1
        else:
            # Behind a root there are only nodes that were numbered already.
            at = parent[node]
            while at >= 0 and parent[at] >= 0:
                at = parent[at]
            parent[node] = parent[at]
    for node in range(parent.size):
        parent[node] = -1 - parent[node]
    return parts
