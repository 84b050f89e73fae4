"""Cor-Split (Riboni & Bettini 2009): groups that comparing releases does not tie together in few people.

Guarantee: *(m, n)-historical safety*. Everybody keeps one set of at least m values, each equally often in every group
(weak m-invariance), so that no value is more likely than 1/m to someone who knows nobody's value. And wherever two
groups of different releases show the same values and have some people in common, at least n people are left on either
side: whoever learns the values of fewer than n of them cannot conclude by that comparison which values the others have.

With p, L and h the n is chosen so that the paper's formula for the probability of a breach (Theorem 2) stays below h
when each tuple is compromised with probability p and published at most L times; whoever has been published L times is
retired.

What it does not protect against. Compromised people in numbers: what the formula bounds is one step of reasoning, and
it multiplies probabilities that are not independent, so that it is not an upper bound in every series. Whoever is
exposed exposes others in turn: in the paper's own setting nearly everybody is found out in the end, as with
m-invariance, because a group that has every value once has little to hide one among. And three groups or more can tie
two people together although no two of these groups do (He's Example 4). `combinations=True` closes the second as far as
e-equivalence does, by its min-cut, and its large groups, one for each bucket, stopped the first in what was measured.
Besides, someone who knows the program may argue from what it did, and whoever is known to be in the table and is
missing in a release is known to be held back.

| paper                         | here                                                        |
|-------------------------------|-------------------------------------------------------------|
| n-Choose (Figure 3)           | `reasoning.correlation.restriction.n_choose`                            |
| Cor-Split (Figure 4)          | `CorSplit.group`                                            |
| Cor-Partition (Figure 5)      | `methods.cor_split.cor_partition`                                     |
| hcSafe (Figure 6)             | `kernels.hc_safety.shared`                                  |

Differs from the paper: the first three phases are those of `MInvariance` here. The formula may be larger for a
signature of more than m values, so that such a signature gets the n that its own size needs, if that is more. People
who return have their earlier groups too.

Cost: that of m-invariance, and the earlier groups of those who are in the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reissue.arrays.types import Ints
from reissue.errors import Infeasible, InternalError, ParameterError, listed
from reissue.methods.base import Method, Takes
from reissue.methods.cor_split.cor_partition import cor_partition
from reissue.methods.e_equivalence import anonymize
from reissue.methods.invariance.adopting import adopted_histories
from reissue.methods.invariance.invariance import Choice, Round, Settled, Shortage
from reissue.methods.invariance.m_invariance import check_parameters, problems
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.promise import Promise
from reissue.model.published import Published
from reissue.model.schema import Schema
from reissue.model.snapshot import Delta, Snapshot
from reissue.reasoning.correlation.restriction import n_choose, p_pb
from reissue.reasoning.equality.cut_graphs import CutGraphs
from reissue.reasoning.history.group_histories import MADE_UP, GroupHistories

RETIRED = "published as often as allowed"
GROUPS = "groups_"
"""What the names of the tables with everybody's earlier groups begin with."""
WIDE = 10
"""With combinations n is chosen for signatures of up to so many times m values: hardly any is larger."""
WIDEST = 200
"""Up to this m a larger one is looked for that would do."""


@dataclass(frozen=True)
class CorSplit(Method):
    """Groups that share so little with earlier ones that fewer than n people are never tied together by two."""

    m: int
    """Every group has at least m different values, each equally often."""
    n: int | None = None
    """Comparing two groups never leaves fewer than n people; at most m. Without it, it is chosen from p, L and h."""
    p: float | None = None
    """How likely it is that somebody's value is known to an attacker, as the publisher estimates it."""
    L: int | None = None
    """Nobody is published more often than this; people who have been are withheld from then on."""
    h: float | None = None
    """The probability of a breach, by the paper's formula, stays below this."""
    combinations: bool = False
    """Let no sum or difference of groups tie fewer than n people together, however many: buckets are then not split."""
    shortage: Shortage = "counterfeit"
    """When more than 1/m of the arrivals have the same value: fill up with counterfeits, withhold all arrivals that
    balancing did not use until more come, or refuse the release."""
    choice: Choice = "random"
    """Which arrivals come together: drawn at random, or evenly along a curve through the quasi-identifiers; the latter
    can be inverted by someone who knows the program."""

    name: ClassVar[str] = "CorSplit"
    words: ClassVar[str] = "m-invariance, and comparing releases never ties sets of fewer than n people together"
    protects_series: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        validation = check_parameters(self)
        validation.flag("combinations")
        validation.finish()
        _check_formula(self.p, self.L, self.h)
        # Cuts are all of one size, whatever the signature; otherwise a larger one gets an n of its own.
        sizes = range(self.m, WIDE * self.m + 1) if self.combinations else (self.m,)
        wanted = None if self.p is None else max(self._by_formula(values) for values in sizes)
        if self.n is None and wanted is None:
            raise ParameterError(
                "CorSplit needs n, or p, L and h to choose it from.",
                hint="write CorSplit(m=6, n=3), or CorSplit(m=6, p=0.04, L=24, h=0.1).",
            )
        given = wanted if self.n is None else self.n
        if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= self.m:
            raise ParameterError(
                f"The 'n' parameter of CorSplit must be a whole number from 1 to m = {self.m}. Got {given!r} instead.",
                hint="choose a smaller n or a larger m: two groups of m people differ in m people at most.",
            )
        if wanted is not None and given < wanted:
            widths = (
                " with combinations, where one n must do for larger sets of values too" if self.combinations else ""
            )
            raise ParameterError(
                f"The 'n' parameter of CorSplit must be at least {wanted} for these p, L and h{widths}. Got {given} "
                "instead.",
                hint="leave n out to have the smallest that suffices.",
            )
        object.__setattr__(self, "n", given)

    @property
    def parameters(self) -> dict[str, object]:
        """m and n, what n was chosen from, and what happens in the cases that the paper leaves out."""
        names = ("m", "n", "p", "L", "h", "combinations", "shortage", "choice")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """(m, n)-historical safety; the bound by the formula; and no equivalence below n with combinations."""
        promises = [Promise("historical-safety", {"m": self.m, "n": self.n})]
        if self.combinations:
            promises.append(Promise("equivalence-safety", {"e": self.n}))
        if self.p is not None:
            promises.append(Promise("restriction-safety", {"h": self.h, "p": self.p, "L": self.L}))
        return tuple(promises)

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Columns published as they are would cut groups."""
        return problems(self.name, schema, form)

    def remarks(self, form: str) -> tuple[str, ...]:
        """What n and h do not say; or that buckets are merged."""
        if not self.combinations:
            step = "" if self.h is None else ", as h counts one step of reasoning"
            two = "n = 1 bounds nothing that comparing groups ties together"
            two = two if self.n == 1 else "n bounds what comparing two groups ties together"
            return (
                f"{two}{step}; against three or more, and against people "
                "who are exposed and expose others in turn (`reissue audit --compromised`), combinations = true helps, "
                "from the first release on",
            )
        if form == "anatomised":
            return ()
        return ('merged buckets have wide regions in the generalised form; form = "anatomised" keeps cells exact',)

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Figure 4: division, balancing, assignment, Cor-Partition; or the min-cut of e-equivalence instead."""
        release = Round.begin(snapshot, delta.since + 1, memory, self.m, rng)
        histories = GroupHistories.read(memory, GROUPS)
        if self.L is not None:
            release.hold_back(RETIRED, np.flatnonzero(histories.times(snapshot.people) >= self.L))
        release.part_changed("withhold")
        if self.combinations:
            return self._merged(release, histories, CutGraphs.read(memory, self._n))
        buckets = release.divide()
        buckets.balance()
        release.assign(buckets, self.shortage)
        settled, grouping = cor_partition(release.settle(buckets, self.choice), histories, self._degree)
        return grouping, {**settled.memory(), **_followed(histories, release, grouping)}

    def adopt(self, published: Published) -> tuple[Remembered, Ints]:
        """Go on from releases made elsewhere: what to remember of them, and the people who cannot go on.

        Nobody goes on who was published more than L times, or in a group tied to an earlier one by too few people.
        """
        return adopted_histories(published, self.m, self._degree, self.L, GROUPS, merged=self.combinations)

    def _merged(self, release: Round, histories: GroupHistories, graphs: CutGraphs) -> tuple[Grouping, Remembered]:
        """One group for each bucket, whose cuts are so large that no combination of releases gives few people away."""
        settled = anonymize(release, graphs, self.shortage, self.choice)
        self._need_one_degree(release, settled)
        grouping = settled.merged()
        return grouping, {**settled.memory(), **graphs.tables(), **_followed(histories, release, grouping)}

    def _need_one_degree(self, release: Round, settled: Settled) -> None:
        """Cuts are all of one size, so no signature may need a larger one."""
        used = np.unique(settled.signature[settled.signature != HELD_BACK])
        sizes = {release.signatures.order(number).size for number in used.tolist()}
        needed, widest = max((self._degree(values), values) for values in sizes)
        if needed > self._n:
            raise Infeasible(
                f"A set of {widest} values would need n = {needed} for h = {self.h}, and n is {self._n}.",
                hint="leave combinations out in a new series, or choose a larger n there, and m if n is to be larger.",
            )

    @property
    def _n(self) -> int:
        if self.n is None:
            raise InternalError("n was not chosen")
        return self.n

    def _degree(self, values: int) -> int:
        """The n for a signature of so many values: at least that of the method, more where the formula asks for it."""
        return max(self._n, self._by_formula(values))

    def _by_formula(self, values: int) -> int:
        """The n that the formula asks for with so many values; 1 where it was not given."""
        if self.p is None or self.L is None or self.h is None:
            return 1
        needed = n_choose(self.p, self.L, values, self.h)
        if needed is None:
            raise _out_of_reach(self.p, self.L, values, self.h)
        return needed


def _followed(histories: GroupHistories, release: Round, grouping: Grouping) -> Remembered:
    """Everybody's groups, this release included."""
    published = np.flatnonzero(grouping.group != HELD_BACK)
    members, group = [release.snapshot.people[published]], [grouping.group[published]]
    if grouping.counterfeits is not None:
        members.append(MADE_UP + grouping.counterfeits.number)
        group.append(grouping.counterfeits.group)
    return histories.advance(release.number, np.concatenate(members), np.concatenate(group), grouping.count).tables()


def _check_formula(p: float | None, L: int | None, h: float | None) -> None:
    """Refuse what the formula cannot take; L alone may be given."""
    wrong = []
    for name, value in (("p", p), ("h", h)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and (value > 0 or (name == "p" and value == 0)) and value <= 1):
            must = "a number from 0 to 1" if name == "p" else "a number above 0 and at most 1"
            wrong.append(f"The '{name}' parameter of CorSplit must be {must}. Got {value!r} instead.")
    if L is not None and (not isinstance(L, int) or isinstance(L, bool) or L < 1):
        wrong.append(f"The 'L' parameter of CorSplit must be a whole number of at least 1. Got {L!r} instead.")
    if (p is None) != (h is None) or (p is not None and L is None):
        lacking = [name for name, value in (("p", p), ("L", L), ("h", h)) if value is None]
        wrong.append(f"The parameters 'p', 'L' and 'h' of CorSplit need each other: {listed(lacking)} not given.")
    if len(wrong) == 1:
        raise ParameterError(wrong[0])
    if wrong:
        raise ParameterError("CorSplit was given parameters out of their range.", problems=wrong)


def _out_of_reach(p: float, L: int, m: int, h: float) -> ParameterError:
    """No n would do: say what would."""
    least = min(float(p_pb(p, L, m, n)) for n in range(1, m + 1))
    shorter = next((fewer for fewer in range(L - 1, 0, -1) if n_choose(p, fewer, m, h)), None)
    wider = next((more for more in range(m + 1, WIDEST + 1) if n_choose(p, L, more, h)), None)
    ways = [f"L = {shorter}"] if shorter else []
    ways += [f"m = {wider}"] if wider else []
    # Above the bound itself, and said with no more digits than needed.
    ways += [f"h = {enough}"] if (enough := math.floor(least * 1000 + 1) / 1000) < 1 else []
    return ParameterError(
        f"No n of at most m = {m} keeps the probability of a breach below h = {h}: with p = {p} and L = {L} it is "
        f"{least:.3g} at best.",
        hint=f"each of these would do by itself: {', '.join(ways)}." if ways else "estimate p again: it is very high.",
    )
