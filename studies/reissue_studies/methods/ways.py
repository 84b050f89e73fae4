"""The ways in which every stream is published: all methods that are for series, one that is not, and no link at all.

All are asked for the same m, or l, or k. `EEquivalence` and `CorSplit` have e and n of m / 2. `Mondrian` protects each
release alone, by k people and l distinct values; it is let through as an unprotected series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from reissue.comparing.series_tables import least_rate
from reissue.comparing.suggested import NO_LINK, half
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

__all__ = ["EPSILON", "NO_LINK", "WAYS", "Way", "rate_before", "values_of"]


@dataclass(frozen=True)
class Way:
    """A method with its parameters, and the form that it publishes in."""

    name: str
    form: Form
    method: Callable[[Stream, int], Method]
    """For a stream, and an m."""


def rate_before(stream: Stream) -> float | None:
    """The rate at which values are declared to change: what the tables before show; None where none changed."""
    return least_rate(values_of(stream, stream.earlier), digits=2)


def values_of(stream: Stream, tables: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Of each table `person` and `value`."""
    return [table.select(pl.col(PERSON).alias("person"), pl.col(stream.sensitive).alias("value")) for table in tables]


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
