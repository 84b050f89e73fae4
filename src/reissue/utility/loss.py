"""How much generalisation takes from the quasi-identifiers: the measures of Byun, Wong and Xu.

They speak of the people who were published: a counterfeit's own cells cost nothing, but where it widens the region
of its group, the people there pay for it; whoever is held back has no region.

All run from nothing lost (every value published as it is) to everything (every value published as its whole
domain). They agree on numbers: an interval [low, high] costs (high - low) / (domain high - domain low). They
differ on categories, n published together out of N, and on how costs are summed up:

| measure                       | n of N categories cost  | summed up                           |
|-------------------------------|-------------------------|-------------------------------------|
| `information_loss`, Byun 2006 | (n - 1) / (N - 1)       | over rows and attributes            |
| `distortion`, Wong 2007       | (n - 1) / (N - 1)       | weighted, average over the rows     |
| `certainty_penalty`, Xu 2006  | n / N, but 0 when n = 1 | average over rows, then attributes  |

n counts the labels of the published set or, with a hierarchy, the leaves below the published node; N counts
all labels or leaves. A group that mixes numbers and missing values costs 1, one of missing values only 0.

Byun, Sohn, Bertino, Li: Secure anonymization for incremental datasets, 2006, Definition 7.
Wong, Fu, Wang, Pei: Minimality attack in privacy preserving data publishing, 2007, Definitions 5 and 6.
Xu, Wang, Pei, Wang, Shi, Fu: Utility-based anonymization using local recoding, 2006 (NCP);
Ghinita, Karras, Kalnis, Mamoulis: Fast data anonymization with low information loss, 2007 (GCP).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reissue.arrays.types import Bools
from reissue.errors import ParameterError, listed
from reissue.model.grouping import Grouping
from reissue.model.snapshot import Column
from reissue.utility.extents import Extents


@dataclass(frozen=True)
class InformationLoss:
    """Byun's information loss."""

    total: float
    """Summed over all groups: between 0 and people published times attributes."""
    average: float
    """Per person: between 0 and the number of attributes."""
    attributes: Mapping[str, float]
    """Per person, for each attribute alone: between 0 and 1."""


@dataclass(frozen=True)
class CertaintyPenalty:
    """The normalised certainty penalty, for each attribute and over all."""

    total: float
    """The global certainty penalty: the average over all cells, between 0 and 1."""
    attributes: Mapping[str, float]
    """The average over the rows for each attribute, between 0 and 1."""


def information_loss(
    quasi: Sequence[Column], grouping: Grouping, *, counterfeit: Bools | None = None
) -> InformationLoss:
    """The information loss of a generalisation by Byun et al., Definition 7.

    Each group costs its number of people times the sum over the attributes of |G| / |D|, how much of the domain
    its region covers. The paper fixes |G| for numbers (the length of the interval) and leaves it open for
    categories: here it is one less than the number of labels published, or of leaves below the published
    node, and |D| likewise, so that a value published as it is costs nothing.
    """
    return information_loss_of(Extents.of(quasi, grouping, counterfeit))


def information_loss_of(extents: Extents) -> InformationLoss:
    """The same from extents already measured."""
    attributes = _averages(extents)
    average = math.fsum(attributes.values())
    return InformationLoss(average * extents.people, average, attributes)


def distortion(
    quasi: Sequence[Column],
    grouping: Grouping,
    weights: Mapping[str, float] | None = None,
    *,
    counterfeit: Bools | None = None,
) -> float:
    """The information loss Dist(T, T*) by Wong et al., Definitions 5 and 6: between 0 and 1.

    `weights` gives each quasi-identifier its part, by name, and sums to 1; without it all weigh the same.

    Differs from the paper, which speaks of taxonomies only: an attribute without one is covered by the values
    published together. For labels that is the set; for whole numbers all from low to high, so that
    (coverage - 1) / (base - 1) is (high - low) / (domain high - domain low); other numbers take the same ratio.
    """
    return distortion_of(Extents.of(quasi, grouping, counterfeit), weights)


def distortion_of(extents: Extents, weights: Mapping[str, float] | None = None) -> float:
    """The same from extents already measured."""
    averages = _averages(extents)
    if weights is None:
        return math.fsum(averages.values()) / max(1, len(averages))
    check_weights("distortion", weights, extents.names)
    return math.fsum(weights[name] * average for name, average in averages.items())


def certainty_penalty(
    quasi: Sequence[Column], grouping: Grouping, *, counterfeit: Bools | None = None
) -> CertaintyPenalty:
    """The normalised certainty penalty of each attribute (NCP) and of the whole table (GCP)."""
    return certainty_penalty_of(Extents.of(quasi, grouping, counterfeit))


def certainty_penalty_of(extents: Extents) -> CertaintyPenalty:
    """The same from extents already measured."""
    attributes = {
        name: extents.average(column.penalties()) for name, column in zip(extents.names, extents.columns, strict=True)
    }
    return CertaintyPenalty(math.fsum(attributes.values()) / max(1, len(attributes)), attributes)


def _averages(extents: Extents) -> dict[str, float]:
    return {
        name: extents.average(column.amounts()) for name, column in zip(extents.names, extents.columns, strict=True)
    }


def check_weights(owner: str, weights: Mapping[str, float], names: Sequence[str]) -> None:
    """Refuse weights that leave out or add a name, are negative, or do not sum to 1."""
    problems = []
    unknown = [name for name in weights if name not in names]
    if unknown:
        problems.append(f"no quasi-identifier is called {listed(unknown)}; there are {listed(names)}")
    absent = [name for name in names if name not in weights]
    if absent:
        problems.append(f"no weight for {listed(absent)}")
    negative = [name for name, weight in weights.items() if not (math.isfinite(weight) and weight >= 0)]
    if negative:
        problems.append(f"neither zero nor a positive number for {listed(negative)}")
    total = math.fsum(weights.values())
    if not math.isclose(total, 1.0, abs_tol=1e-9):
        problems.append(f"they sum to {total:g}, not to 1")
    if problems:
        raise ParameterError(
            f"The 'weights' parameter of {owner} must give every quasi-identifier a weight, together 1.",
            problems=problems,
            hint="leave weights out to weigh all quasi-identifiers the same.",
        )
