"""e-equivalence by min-cut (He, Barman & Naughton, ICDE 2011, sections IV to VI).

Guarantee: weak m-invariance, so that nobody can be tied to a value with a probability above 1/m; and comparing
releases, in whatever combination, never shows that two sets of fewer than e people have the same values. So somebody
who learns the values of a few people learns nothing about others that way.

What it does not protect against: someone who knows e or more values; someone who knows that a person is in the table
and sees that he was held back. The second promise is about linear combinations of groups (Definition 10), which is all
that the paper considers.

| paper                                   | here                                                          |
|-----------------------------------------|---------------------------------------------------------------|
| merged partitions, bucket               | one group for each signature                                  |
| Algorithm 1, BuildGraph                 | `reasoning.equality.cut_graph`, `reasoning.equality.cut_graphs` |
| MinCut(newGraph) > 2 (e - 1)            | `CutGraphs.missing` is 0                                      |
| Algorithm 2, Anonymize                  | `anonymize`                                                   |
| Algorithm 3, AnonymizeBucket            | `BucketCounts.balance`, `CutGraphs.missing`, `BucketCounts.add_sets`    |
| counterfeits greedily marked as deleted | `BucketCounts.balance`: they stay only where no arrival would do   |

Differs from the paper: buckets that only the last bucketisation touches, new ones too, are checked as well; a
counterfeit that is still needed stays instead of being replaced, unless replacing it saves others; how many
signature-sized sets are missing is computed from one flow instead of being tried; people who return are left out
of the graphs, and one whose return cannot be certified without his old stay is held back; arrivals are put into
shares that need no counterfeits for the cut, where there are such.

Cost: the plan on counts, one flow at most for each bucket that changes; rows are moved in O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError
from reissue.methods.base import Method, Takes
from reissue.methods.invariance.adopting import adopted_cuts
from reissue.methods.invariance.buckets import BucketCounts
from reissue.methods.invariance.invariance import Choice, Round, Settled, Shortage
from reissue.methods.invariance.m_invariance import check_parameters, problems
from reissue.model.grouping import Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.promise import Promise
from reissue.model.published import Published
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Snapshot
from reissue.reasoning.equality.cut_graphs import Counts, CutGraphs, Turnover

RETURN = "return that could not be certified"


@dataclass(frozen=True)
class EEquivalence(Method):
    """Merged buckets that change by so many tuples at a time that fewer than e people are never found equal."""

    m: int
    """Every group has at least m different values, each equally often."""
    e: int
    """No two sets of fewer than e people are found to have the same values; at most m."""
    shortage: Shortage = "counterfeit"
    """When more than 1/m of the arrivals have the same value: fill up with counterfeits, withhold all arrivals that
    balancing did not use until more come, or refuse the release."""
    choice: Choice = "random"
    """Which arrivals come together: drawn at random, or evenly along a curve through the quasi-identifiers; the latter
    can be inverted by someone who knows the program."""

    name: ClassVar[str] = "EEquivalence"
    words: ClassVar[str] = "m-invariance, and no two sets of fewer than e people are ever found to have the same values"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        validation = check_parameters(self)
        validation.whole("e", least=1)
        validation.finish()
        if self.e > self.m:
            raise ParameterError(
                f"The 'e' parameter of EEquivalence must be at most m = {self.m}. Got {self.e} instead.",
                hint="choose a smaller e or a larger m: two groups of m people with the same values are an equivalence "
                "of size m already (Lemma 3).",
            )

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """Weak m-invariance, and no equivalence below e."""
        return Promise("weak-m-invariance", {"m": self.m}), Promise("equivalence-safety", {"e": self.e})

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Columns published as they are would cut groups."""
        return problems(self.name, schema, form)

    def remarks(self, form: str) -> tuple[str, ...]:
        """Merged buckets are large, so their regions are wide."""
        if form == "anatomised":
            return ()
        return ('merged buckets have wide regions in the generalised form; form = "anatomised" keeps cells exact',)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Algorithm 2."""
        release = Round.begin(snapshot, delta.since + 1, memory, self.m, rng)
        release.part_changed("withhold")
        graphs = CutGraphs.read(memory, self.e)
        settled = anonymize(release, graphs, self.shortage, self.choice)
        return settled.merged(), {**settled.memory(), **graphs.tables()}

    def adopt(self, published: Published) -> tuple[Remembered, Ints]:
        """Go on from releases made elsewhere: what to remember of them, and the people who cannot go on.

        A bucket that was split into several groups, or changed by too few tuples at a time, cannot be certified.
        """
        return adopted_cuts(published, self.m, self.e)


def anonymize(release: Round, graphs: CutGraphs, shortage: Shortage, choice: Choice) -> Settled:
    """Algorithm 2 without its output: a release whose merged buckets have cuts that are large enough."""
    _admit(release, graphs)
    buckets = release.divide()
    flow = _Flow.of(release)

    # Algorithm 3 for all buckets: balance, then signature-sized sets until every cut is large enough.
    buckets.balance(unchanged=~flow.changed(buckets))
    buckets.replace_kept(_missing(graphs, buckets, flow) > 0)
    buckets.add_sets(_sets(graphs, buckets, flow))
    # The last bucketisation, and once more a look at what it touched.
    release.assign(buckets, shortage, least=graphs.threshold)
    buckets.add_sets(_sets(graphs, buckets, flow))
    settled = release.settle(buckets, choice)
    graphs.end(np.setdiff1d(graphs.living(), buckets.signature), release.number)
    graphs.step(flow.turnover(buckets))
    return settled


def _sets(graphs: CutGraphs, buckets: BucketCounts, flow: _Flow) -> Ints:
    """How many sets, one tuple of each value of the signature, every bucket needs."""
    return -(-_missing(graphs, buckets, flow) // buckets.per_bucket(np.ones_like(buckets.value)))


def _missing(graphs: CutGraphs, buckets: BucketCounts, flow: _Flow) -> Ints:
    """How many tuples more must enter every bucket."""
    turnover = flow.turnover(buckets)
    missing = np.zeros(buckets.starts.size, dtype=np.int64)
    signatures = buckets.signature[buckets.starts]
    order = np.argsort(signatures)
    at = order[np.searchsorted(signatures, turnover.signature, sorter=order)]
    missing[at] = graphs.missing(turnover)
    return missing


def _admit(release: Round, graphs: CutGraphs) -> None:
    """Take people who return out of the graphs; hold back those with whom no cut would be certain."""
    rows = release.keeping
    rows = rows[release.place[rows] < 0]
    if not rows.size:
        return
    # In a random order: who comes first may return when not all can.
    rows = release.rng.permutation(rows)
    last = release.signatures.stays.last_stays(release.snapshot.people[rows])
    first_time = np.flatnonzero(~last.again)
    refused = ~graphs.admit(last.signature[first_time], last.came[first_time], last.left[first_time])
    release.hold_back(RETURN, rows[first_time[refused]])


@dataclass(frozen=True)
class _Flow:
    """Who of those known leaves the buckets or comes back, whatever is planned for the arrivals."""

    release: Round
    leaving: Counts
    returners_leaving: Counts
    returners_entering: Ints
    """The signatures of people who return, one for each."""

    @classmethod
    def of(cls, release: Round) -> _Flow:
        stays = release.signatures.stays
        rows = release.keeping
        at = release.place[rows]
        stay = np.zeros(stays.person.size + 1, dtype=np.bool_)  # nowhere is the last place
        stay[at] = True
        left = np.flatnonzero(~stay[:-1])
        edge, other = left[~stays.again[left]], left[stays.again[left]]
        back = rows[at < 0]
        return cls(
            release,
            Counts.of(stays.signature[edge], stays.came[edge]),
            Counts.of(stays.signature[other], stays.came[other]),
            release.before[back],
        )

    def changed(self, buckets: BucketCounts) -> Bools:
        """The buckets that somebody leaves or comes back to."""
        touched = np.concatenate([self.leaving.signature, self.returners_leaving.signature, self.returners_entering])
        return np.isin(buckets.signature[buckets.starts], touched)

    def turnover(self, buckets: BucketCounts) -> Turnover:
        """With the arrivals and counterfeits as they are planned."""
        signature = buckets.signature[buckets.starts]
        order = np.argsort(signature)
        signature = signature[order]
        entering = buckets.per_bucket(buckets.fresh + buckets.made)[order]
        dropped = self.release.dropped(buckets)
        made = self.release.made
        # Buckets that everybody leaves and nobody enters are gone: their graphs end.
        leaving = self.leaving.only(signature).and_tuples(made.signature[dropped], made.came[dropped])
        returners_leaving = self.returners_leaving.only(signature)
        back = np.zeros(signature.size, dtype=np.int64)
        np.add.at(back, np.searchsorted(signature, self.returners_entering), 1)
        some = np.isin(signature, np.concatenate([leaving.signature, returners_leaving.signature]))
        some |= (entering > 0) | (back > 0)
        return Turnover(self.release.number, signature[some], entering[some], leaving, back[some], returners_leaving)
