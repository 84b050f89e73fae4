"""What the waiting of people tells somebody who knows that `Incremental` made the releases.

    B       a batch: those of a class of a release who are not in the release before
    N       the values of B, a multiset
    W       those of B who are known to have waited when the release before came out
    l       a list goes into its class as soon as it has l distinct values; until then all of it waits

If W waited in one list, they had fewer than l distinct values between them. So one of W can have v only if fewer than
l values, v among them, are in N often enough for all of W: v and the l - 2 most frequent others. And one of the rest
of B can have v only if the l - 1 most frequent values of N without that v are enough for W. Both are exact: whatever
is chosen so, the people of W can be permuted, and those of the rest too.

It is said only where N is exactly known, and only under the supposition that W is one list: lists are made by
quasi-identifiers, which a view does not have. Where N refutes the supposition nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reissue.arrays.runs import totals
from reissue.arrays.types import Bools, Ints
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.channels.channel_sets import Comparison, known_members


@dataclass(frozen=True, repr=False)
class Batches:
    """What waiting tells about the newcomers of each class of a release, against the release before."""

    compared: Comparison
    l: int  # noqa: E741 - the paper's letter
    waited: Ints
    """For each class how many of its batch waited; 0 where nothing follows from it."""
    arrived: Ints
    """For each class how many rows its batch has."""
    by_waited: Bools
    by_joined: Bools
    """For each value of each class whether one who waited can have it, and one of the rest of the batch."""
    unknown: Bools
    """In which classes some waited and the values of the batch are not exactly known."""
    refuted: Bools
    """In which classes those who waited cannot have been one list."""

    def __repr__(self) -> str:
        return f"Batches(of whom {int(self.waited.sum()):,} people waited)"


def batches(published: Published, compared: Comparison, waited: Ints, l: int) -> Batches:  # noqa: E741
    """Batches of the later of two releases; `waited` counts for each class those of its batch who waited."""
    one, two = published.releases[compared.earlier], published.releases[compared.later]
    nothing = np.zeros(two.values.size, dtype=bool)
    listed = waited > 0
    if compared.new is None or not (known_members(one) and known_members(two)):
        none = np.zeros(two.group_count, dtype=np.int64)
        return Batches(compared, l, none, none, nothing, nothing.copy(), listed, np.zeros_like(listed))
    stayed = np.bincount(compared.second, compared.weight, two.group_count).astype(np.int64)
    arrived = two.sizes - stayed
    # What newcomers can have at most is what they have if it is not more than they are.
    amounts = compared.new.amounts
    exact = listed & (totals(amounts, two.value_starts) == arrived)
    enough, by_waited, by_joined = _possible(two, np.where(exact, waited, 0), amounts, l)
    said = exact & enough
    return Batches(
        compared, l, np.where(said, waited, 0), arrived, by_waited, by_joined, listed & ~exact, exact & ~enough
    )


def _possible(release: PublishedGroups, waited: Ints, amounts: Ints, l: int) -> tuple[Bools, Bools, Bools]:  # noqa: E741
    """For each class whether those who waited can have had fewer than l values; for each value who can have it."""
    group = release.value_groups
    entries = np.flatnonzero((waited[group] > 0) & (amounts > 0))
    entries = entries[np.lexsort((-amounts[entries], group[entries]))]
    group, amount = group[entries], amounts[entries]
    rank = np.arange(entries.size) - np.searchsorted(group, group)
    most, last, following = np.zeros((3, release.group_count), dtype=np.int64)
    np.add.at(most, group[rank < l - 1], amount[rank < l - 1])
    last[group[rank == l - 2]] = amount[rank == l - 2]
    following[group[rank == l - 1]] = amount[rank == l - 1]
    by_waited, by_joined = np.zeros((2, release.values.size), dtype=bool)
    # A rarer value takes the place of the last of the most frequent ones.
    by_waited[entries] = most[group] - np.maximum(last[group] - amount, 0) >= waited[group]
    # One of a frequent value less makes a difference only if the next value is not as frequent.
    by_joined[entries] = most[group] - (amount > following[group]) >= waited[group]
    return (waited > 0) & (most >= waited), by_waited, by_joined
