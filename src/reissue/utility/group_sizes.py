"""Measures of group sizes alone: discernibility and average class size.

Sizes are those published, counterfeits included.
They do not look at what a group covers, so two equal rows in one group cost as much as two opposite ones.

Bayardo, Agrawal: Data privacy through optimal k-anonymization, 2005 (discernibility).
LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, 2006 (average class size, C_AVG).
"""

from __future__ import annotations

import numpy as np

from reissue.arrays.types import Bools
from reissue.errors import ParameterError
from reissue.model.grouping import Grouping
from reissue.utility.rows import RowCounts


def discernibility(grouping: Grouping, *, counterfeit: Bools | None = None) -> int:
    """How many rows each row cannot be told from, itself included, summed over all rows.

    A row of a group of n costs n, so a group costs n squared; nobody can tell counterfeits from people, so they
    count as rows. Whoever is held back cannot be told from anybody and costs as many as there are people in the
    private table, those held back included.
    """
    tally = RowCounts.of(grouping, counterfeit)
    sizes = grouping.sizes()
    return int(np.dot(sizes, sizes)) + tally.held_back * tally.people


def average_class_size(grouping: Grouping) -> float:
    """Published rows per group."""
    if not grouping.count:
        raise ParameterError("There are no rows to measure.", hint="measure a release that published at least one row.")
    return RowCounts.of(grouping).published / grouping.count


def normalised_class_size(grouping: Grouping, k: int) -> float:
    """C_AVG: rows per group as a multiple of the k asked for; 1 is the best there can be."""
    check_whole("k", "normalised_class_size", k, least=1)
    return average_class_size(grouping) / k


def check_whole(parameter: str, owner: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(
            f"The '{parameter}' parameter of {owner} must be a whole number of at least {least}. Got {value!r} instead."
        )
