"""The ways in which every stream is published: all methods that are for series, one that is not, and no link at all.

All are asked for the same m, or l, or k. `EEquivalence` and `CorSplit` have e and n of m / 2. `Mondrian` protects each
release alone, by k people and l distinct values; it is let through as an unprotected series.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import floor

import polars as pl

from reissue.methods import (
    Alternatives,
    CorSplit,
    EEquivalence,
    HDComposition,
    Incremental,
    Method,
    MInvariance,
    Mondrian,
)
from reissue.publishing.policy import Form
from reissue_studies.methods.streams import PERSON, Stream

EPSILON = 1.0
"""How much noise the shares of the first table get that `Alternatives` draws sets by."""
NO_LINK = "no link at all"
"""Quasi-identifiers and values apart, both as they are: what a method must beat."""


@dataclass(frozen=True)
class Way:
    """A method with its parameters, and the form that it publishes in."""

    name: str
    form: Form
    method: Callable[[Stream, int], Method]
    """For a stream, and an m."""


def rate_before(stream: Stream) -> float | None:
    """The rate at which values are declared to change: what the tables before show; None where none changed.

    The least of any two tables one after the other, rounded down: a rate above the true one is dangerous, and one below
    it harms little. Somebody whose value is redrawn may get the same one, so that values are redrawn more often than
    they differ.
    """
    value, then = pl.col(stream.sensitive), pl.col(f"{stream.sensitive}_then")
    least = min(
        float(before.join(after, on=PERSON, suffix="_then").select((value != then).mean()).item() or 0.0)
        for before, after in pairwise(stream.earlier)
    )
    shares = stream.earlier[-1][stream.sensitive].value_counts(normalize=True)["proportion"]
    rate = floor(100 * least / (1 - float((shares**2).sum()))) / 100
    return rate or None


def half(m: int) -> int:
    """The e and n for an m."""
    return max(m // 2, 1)


WAYS = (
    Way("Alternatives", "alternatives", lambda stream, m: Alternatives(m, rate_before(stream), epsilon=EPSILON)),
    Way("MInvariance, generalised", "generalised", lambda stream, m: MInvariance(m)),
    Way("MInvariance, anatomised", "anatomised", lambda stream, m: MInvariance(m)),
    Way("MInvariance, reinserting", "anatomised", lambda stream, m: MInvariance(m, changed="reinsert")),
    Way("EEquivalence", "anatomised", lambda stream, m: EEquivalence(m, half(m))),
    Way("CorSplit", "generalised", lambda stream, m: CorSplit(m, half(m))),
    Way("Incremental", "generalised", lambda stream, m: Incremental(m)),
    Way("HDComposition", "generalised", lambda stream, m: HDComposition(m)),
    Way("Mondrian, unprotected", "generalised", lambda stream, m: Mondrian(k=m, l=m)),
)
