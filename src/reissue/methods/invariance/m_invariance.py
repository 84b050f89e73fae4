"""m-invariance (Xiao & Tao, SIGMOD 2007; He, Barman & Naughton, ICDE 2011, section III).

Guarantee: over all releases together nobody can be tied to one of fewer than m values, by someone who knows who is
in the table, everybody's quasi-identifiers and nobody's value. Each value is then equally likely, so no
probability exceeds 1/m.

What it does not protect against. An *equivalence attack*: comparing releases can show that two people have the same
value, without showing which; whoever learns one then knows the other (`EEquivalence` bounds this). Someone who knows
some values already. Somebody who knows the program and argues from what it did: how the groups of the split came about
(with `split=False` there is no split), which arrivals came together (with `choice="near"`), and above all why there is
a counterfeit: one is made only where no arrival would do. And whoever is known to be in the table and is missing in a
release, with `shortage="withhold"` or `changed="withhold"`, is known to be held back.

| paper                  | here                                             |
|------------------------|--------------------------------------------------|
| division               | `Round.divide`                                   |
| balancing              | `Buckets.balance`                                |
| assignment             | `Round.assign`                                   |
| split                  | `Settled.split`                                  |
| counterfeit statistics | `disclose = ["counterfeits"]` in the policy      |

Differs from the paper: people who return keep their signature (forgetting it is a leak, as Bu et al. 2008 show), so
does somebody whose value changed within it; arrivals are chosen for balancing for all buckets together; which
arrival goes to which bucket is drawn at random, because a choice that looks at quasi-identifiers can be inverted.

Cost: the plan is made on counts, one for each value of each signature; rows are then moved in O(n), and cut in
O(n d^2 log h) for d attributes and buckets of h tuples a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Ints
from reissue.methods.base import Method, Takes
from reissue.methods.invariance.adopting import adopted_signatures
from reissue.methods.invariance.invariance import Changed, Choice, Round, Settled, Shortage
from reissue.model.grouping import Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.published import Published
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Snapshot


@dataclass(frozen=True)
class MInvariance(Method):
    """Everyone keeps one set of at least m values, in every release."""

    m: int
    """Every group has at least m different values, each equally often."""
    split: bool = True
    """Groups as small as can be, with every value once; False: one group for each signature (merged buckets)."""
    shortage: Shortage = "counterfeit"
    """When more than 1/m of the arrivals have the same value: fill up with counterfeits, withhold all arrivals that
    balancing did not use until more come, or refuse the release."""
    changed: Changed = "withhold"
    """People whose value has changed to one outside their signature: withhold them, or publish them as if they were
    new; the bound then holds for each record, not for the person."""
    choice: Choice = "random"
    """Which arrivals come together: drawn at random, or evenly along a curve through the quasi-identifiers, for groups
    that are a little narrower; the latter can be inverted by someone who knows the program."""

    name: ClassVar[str] = "MInvariance"
    words: ClassVar[str] = "everybody keeps one set of at least m values in all releases"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        validation = check_parameters(self)
        validation.flag("split")
        validation.finish()

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """m-invariance; weak m-invariance where buckets are merged."""
        return (
            Promise("m-invariance" if self.split else "weak-m-invariance", {"m": self.m, "per": per(self.changed)}),
        )

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Columns published as they are would cut groups."""
        return problems(self.name, schema, form)

    def remarks(self, form: str) -> tuple[str, ...]:
        """How groups are split shows who has the same value; where that buys nothing, it is said."""
        if not self.split or form != "anatomised":
            return ()
        return (
            "in the anatomised form split = false tells analysts as much, and reveals less about who has the same "
            "value as whom",
        )

    def warnings(self) -> tuple[str, ...]:
        """Who is published as new counts as new."""
        return warnings(self.changed)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Division, balancing, assignment, split."""
        settled = self._settled(Round.begin(snapshot, delta.since + 1, memory, self.m, rng))
        settled.round.give_up_rows()
        return settled.split() if self.split else settled.merged(), settled.memory()

    def adopt(self, published: Published) -> tuple[Remembered, Ints]:
        """Go on from releases made elsewhere: what to remember of them, and the people who cannot go on.

        Where buckets are split, a group must hold each value once, as in those made here.
        """
        return adopted_signatures(published, self.m, most=1 if self.split else None)

    def _settled(self, release: Round) -> Settled:
        release.part_changed(self.changed)
        buckets = release.divide()
        buckets.balance()
        release.assign(buckets, self.shortage)
        return release.settle(buckets, self.choice)


CHOICES = {
    "shortage": ("counterfeit", "withhold", "refuse"),
    "changed": ("withhold", "reinsert"),
    "choice": ("random", "near"),
}
"""The words that parameters of m-invariance, and of what builds on it, may be."""


def check_parameters(method: Method) -> Validation:
    """Look at the parameters that m-invariance and what builds on it share; the caller goes on from there."""
    validation = Validation(method)
    validation.whole("m", least=2)
    for parameter, words in CHOICES.items():
        if parameter in method.parameters:
            validation.one_of(parameter, words)
    return validation


def per(changed: Changed) -> str:
    """What the bound holds for."""
    return "person" if changed == "withhold" else "record"


def warnings(changed: Changed) -> tuple[str, ...]:
    """What the public record must say where people whose value changed are published as if they were new."""
    if changed == "withhold":
        return ()
    return ("A person whose value changed may be published as a new record: the bound of 1/m holds per record.",)


def problems(name: str, schema: Schema, form: str) -> list[str]:
    """Columns published as they are would have to be constant within groups, which follow values alone."""
    found = []
    if schema.protect:
        found.append(
            f"{name} does nothing for protected sets, whose values may make up a whole signature: leave 'protect' out"
        )
    if form == "anatomised" or not schema.as_is:
        return found
    return [
        *found,
        f"{name} in the generalised form cannot publish columns as they are ({', '.join(map(repr, schema.as_is))}): "
        'make them quasi-identifiers or drop them, or set form = "anatomised"',
    ]
