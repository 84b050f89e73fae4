"""Views of releases of sets, built by hand: who has which set in which release, and the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from reissue.model.change import change_of
from reissue.model.design import Design
from reissue.model.published import Published
from reissue.model.sets import Bridged, PublishedSets, SetDesigns
from reissue.reasoning.alternatives.designing import design_of

Release = Mapping[int, Sequence[int]]
"""For each person by number the values of their set, as often as they take slots."""


def labels_of(count: int) -> tuple[str, ...]:
    return tuple("abcdefghijklmnopqrstuvwxyz"[:count])


def designs_of(
    shares: Sequence[Sequence[float]], m: int, change: Any, slots: Mapping[int, int] | None = None
) -> SetDesigns:
    """One design for each version; every value takes one slot, unless something else is said."""
    limits = [{**dict.fromkeys(range(len(one)), 1), **(slots or {})} for one in shares]
    made: tuple[Design, ...] = tuple(design_of(np.array(one), m, own) for one, own in zip(shares, limits, strict=True))
    places = tuple(np.arange(len(one)) for one in shares)
    return SetDesigns(
        labels_of(len(shares[0])), made, places, tuple(range(1, len(shares) + 1)), None, change_of(change).to_dict()
    )


def view_of_sets(
    releases: Sequence[Release],
    designs: SetDesigns | Sequence[SetDesigns],
    *,
    design: Sequence[Mapping[int, int]] | None = None,
    region: Sequence[pl.DataFrame] | None = None,
) -> Published:
    """A view; `design` says from which design sets are, by release and person, where it is not the first."""
    every = [designs] * len(releases) if isinstance(designs, SetDesigns) else designs
    built = []
    for at, (release, one) in enumerate(zip(releases, every, strict=True)):
        people = np.array(sorted(release), dtype=np.int64)
        built.append(
            PublishedSets(
                number=at + 1,
                people=people,
                codes=np.array(
                    [release[person] if one.linked else sorted(release[person]) for person in people], dtype=np.uint8
                ),
                design=np.array([0 if design is None else design[at][person] for person in people], dtype=np.int64),
                designs=one,
                values=np.arange(len(one.labels)),
                region=None if region is None else region[at],
            )
        )
    return Published(Bridged(built), every[-1].labels, sets=tuple(built))
