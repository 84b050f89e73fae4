"""A compiled pass that copies runs of a flat array, each to a place of its own."""

from __future__ import annotations

from typing import Any

from reissue.kernels import kernel


@kernel
def copy_runs(data: Any, first: Any, starts: Any, spare: int, into: Any) -> None:
    """Copy runs of `data`: the one that begins at `first[i]` goes to `starts[i]`.

    Each ends so many places before the next one begins there; those are left as they are.
    """
    for run in range(first.size):
        at = first[run]
        for place in range(starts[run], starts[run + 1] - spare):
            into[place] = data[at]
            at += 1
