"""l-scarcity (Bu, Fu, Wong, Chen & Li 2008, Definitions 3 and 4), judged from what an outsider sees.

The risk of a person and a value is the largest probability, over all releases, that he has the value there. Worlds of
a value are all series of sets of people who fit the counts of every group, in which whoever has a permanent value has
it in every later release that he is known to be in, and nobody has anything where he is known to be absent; all are
equally likely. Nobody's participation is known, except that of any K people (`known`), in whatever releases they are.
Then two rules for every group G and value with count c bound the risk by 1/l:

    c l <= |G| - K                      for every value
    c (l + 1) <= |G| - K + 1            besides, for permanent values where K > 0

Proof. Fix what the known people do in all releases. Let k <= K members of G be known, and a of them have the value in
this release. The world is filled up by choosing, in each group by itself, c - a of the N = |G| - k members who are not
known: people whose participation is unknown tie no release to another.
1. Somebody unknown is chosen with probability (c - a) / N <= c / (|G| - K) <= 1/l, whatever the known people do.
2. Somebody known, the others of them fixed, has the value in G or not in C(N, c - a - 1) to C(N, c - a) ways (a of the
   others have it): the odds are o = (c - a) / (N - c + a + 1) <= c / (|G| - K - c + 1). Both rules make that at most
   1/l, and C(N, c - a) > 0 unless a > c, when there are no such worlds. A value that does not stay: the probability is
   o / (1 + o) <= c / (|G| - K + 1). A permanent one: he has it from some release on in every one that he is in, or
   never; against never, beginning with the last release weighs o', with the one before o'' o', and so on, in all less
   than q = 1/l + 1/l^2 + ... = 1/(l - 1) for l > 1. The probability that he ever has it is less than q / (1 + q) = 1/l.
For one known person in ever more releases with c (l + 1) = |G| the probability comes as close to 1/l as one likes.

So far each value is judged by itself. But whoever is known to be in a release has at least one of the values that his
group shows. Where groups show few values that matters, however many are registered in them: if somebody is known to be
in n releases and his group always shows one permanent and one other value, then he has the permanent one in at least n
of n + 1 worlds of both values together. So for K > 0 a third rule is checked, by the odds of
`reasoning.permanence.scarcity`: they must be at most 1/l for permanent values, and at most 1/(l - 1) for others, which
makes a probability of 1/l. With one person known that is a proof for all values together. With several it is one if the
others of them have none of the values in question; somebody who knows many people of one small group can know more.

What it does not cover: how the releases were made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from reissue.arrays.budget import working
from reissue.arrays.dense import ascending
from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import EXACT, Followed, Measure, Measured, Verdict
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.reasoning.permanence.scarcity import odds_if_present

LEAST, PERMANENT = "least", "permanent"
"""The tables with the smallest parameters so far, and with the values that were taken as permanent."""


class _Judged(NamedTuple):
    """What the releases so far were judged for."""

    release: int
    """The last of them."""
    l: int  # noqa: E741
    known: int
    tied: bool
    """Whether permanent values tie them together."""
    permanent: frozenset[str]

    @classmethod
    def read(cls, state: Memory) -> _Judged | None:
        """What was remembered; None before the first release."""
        if LEAST not in state:
            return None
        least = state[LEAST].row(0, named=True)
        permanent = frozenset(state[PERMANENT]["value"].to_list())
        return cls(least["release"], least["l"], least["known"], least["tied"], permanent)


@dataclass(frozen=True, repr=False)
class LScarce(Measured):
    """Nobody has any value with a probability above 1/l, though permanent values stay and some people are known.

    Where nobody's participation is known but that of `known` people, two rules about every group by itself give it
    for the whole series. The figure of a verdict is the largest probability that they allow for. Where it is known who
    is in a release after the first, permanent values tie releases together: `check` then computes the risk where it
    can, and where it cannot, as always when a series is followed, the verdict is that nothing is proven.
    """

    name: ClassVar[str] = "l-scarcity"
    words: ClassVar[str] = "nobody is tied to a value, permanent or not, with more than 1/l"
    low_is_worse: ClassVar[bool] = False

    l: int  # noqa: E741
    """The largest risk is 1/l; at least 2."""
    known: int = 0
    """How many people's participation somebody may know, in all releases."""
    permanent: tuple[Hashable, ...] = ()
    """The values that nobody ever loses; all others may change from release to release."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=2)
        validation.whole("known", least=0)
        labels: object = self.permanent
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            validation.wrong("permanent", "a list of values", f"a {type(labels).__name__}")
        else:
            listed = tuple(labels)
            if all(isinstance(label, Hashable) for label in listed):
                validation.replace("permanent", tuple(dict.fromkeys(listed)))
            else:
                validation.wrong("permanent", "a list of values", "a list with something that is not a plain value")
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(value=one_in(self.l))

    def __repr__(self) -> str:
        values = count_of(len(self.permanent), "value")
        return f"LScarce(l={self.l}, known={self.known}, permanent=<{values}>)"

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words; permanent values are counted, not named."""
        told = [f"l = {self.l}", f"known = {self.known}"]
        told += [count_of(len(self.permanent), "permanent value")] if self.permanent else []
        return f"{self.name} ({', '.join(told)})"

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series. `secret` is not needed: the promise is about what is seen from outside."""
        tally = self._tally()
        tied = False
        for at, release in enumerate(published.releases):
            tally.add(release, self._measure(published, release))
            tied |= at > 0 and self._ties(release)
        verdict = tally.verdict()
        return self._computed(published, verdict) if tied and verdict.holds else verdict

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """By the two rules, as long as nothing ties it to earlier releases."""
        measure = self._measure(published, release)
        before = _Judged.read(state)
        need_order(release, before.release if before else 0)
        tied = before is not None and (before.tied or self._ties(release))
        remark = None
        if obstacle := self._out_already(before):
            remark = f"It cannot be given any more: {obstacle}."
        elif tied and measure.kept.all():
            remark = _NOT_PROVEN
        return Followed(measure, self._remembered(before, release.number, tied), remark)

    def obstacle(self, state: Memory) -> str | None:
        """Groups that are too small are out, or it is known who was in a release."""
        before = _Judged.read(state)
        if before is not None and before.tied:
            return "it is known who was in releases after the first, so that permanent values tie them together"
        return self._out_already(before) or super().obstacle(state)

    def _remembered(self, before: _Judged | None, number: int, tied: bool) -> Remembered:
        l, known, permanent = self.l, self.known, [str(label) for label in self.permanent]  # noqa: E741
        if before is not None:
            l, known = min(l, before.l), min(known, before.known)  # noqa: E741
            permanent = sorted(set(permanent) & before.permanent)
        least = {"release": number, "l": min(l, EXACT), "known": min(known, EXACT), "tied": tied}
        return {
            LEAST: pl.DataFrame([least]),
            PERMANENT: pl.DataFrame({"value": permanent}, schema={"value": pl.String}),
        }

    def _out_already(self, before: _Judged | None) -> str | None:
        """What earlier releases were not judged for."""
        if before is None:
            return None
        for name, now, least in (("l", self.l, before.l), ("known", self.known, before.known)):
            if min(now, EXACT) > least:
                return (
                    f"{name} = {now} is more than the {name} = {least} of an earlier release, and what is out stays out"
                )
        new = {str(label) for label in self.permanent} - before.permanent
        if new:
            return f"{count_of(len(new), 'permanent value')} could change in earlier releases"
        return None

    def _ties(self, release: PublishedGroups) -> bool:
        """Whether somebody is known to be in the release, so that a permanent value must have come with him."""
        if not self.permanent or not release.members.size:
            return False
        known = release.sure is None or bool(release.sure.any())
        return known or (release.present is not None and release.present.size > 0)

    def _measure(self, published: Published, release: PublishedGroups) -> Measure:
        """The largest probability that the two rules allow for in each group."""
        _need_groups(release)
        position = {value: at for at, value in enumerate(published.values)}
        stays = np.zeros(len(published.values), dtype=np.bool_)
        stays[[position[label] for label in self.permanent if label in position]] = True
        known = min(self.known, EXACT)
        # The worst value of a group is the most frequent one, of those that stay and of those that do not.
        room = release.sizes - known
        passing, lasting = (_most(release, stays[release.values] == kind) for kind in (False, True))
        room_lasting = room - lasting + 1 if known else room
        risk, risk_lasting = _share(passing, room), _share(lasting, room_lasting)
        kept = _within(passing, room, self.l) & _within(lasting, room_lasting, self.l)
        if known:
            present, present_lasting = _if_present(release, stays, known)
            kept &= (present <= 1 / self.l + TOLERANCE) & (present_lasting <= 1 / self.l + TOLERANCE)
            risk, risk_lasting = np.maximum(risk, present), np.maximum(risk_lasting, present_lasting)
        worse = (lasting > 0) & (risk_lasting >= risk)
        figure, top = np.maximum(risk, risk_lasting), np.where(worse, lasting, passing)

        def words(group: int) -> str:
            kind = "permanent value" if worse[group] else "value"
            people = count_of(int(release.sizes[group]), "registered person", "registered people")
            told = (
                f"has {people} and a {kind} {int(top[group]):,} times" if top[group] else f"has {people} and no value"
            )
            return f"{told}, which allows for a risk of {figure[group]:.3g}; at most 1/{self.l} is allowed"

        return Measure(figure, kept, words)

    def _computed(self, published: Published, verdict: Verdict) -> Verdict:
        """Count the worlds of every permanent value, where the rules do not do since releases are tied together."""
        from reissue.reasoning.permanence.permanence_cells import EXACT as COUNTED
        from reissue.reasoning.permanence.permanence_entries import Presence
        from reissue.reasoning.permanence.permanence_figures import Effort, chances  # brings a solver with it

        if self.known and not all(release.sure is None or release.sure.all() for release in published.releases):
            return replace(verdict, holds=False, explanation=_NOT_PROVEN)
        presence = Presence.of(published, {})
        positions = [at for at, value in enumerate(published.values) if value in self.permanent]
        open_, beyond, contradictory = 0, 0, False
        worst, where = Fraction(0), verdict.release
        for position in positions:
            with working(SECONDS) as seconds:
                found = chances(published, presence, position, effort=Effort(seconds=seconds, drawing=0.0))
            contradictory |= found.exists is False
            counted = found.largest.kind[found.at] == COUNTED
            open_ += int(np.count_nonzero(~counted))
            # Of those that are not counted, what is proven beyond the limit; the rest stays open.
            beyond += int(np.count_nonzero(~counted & (found.largest.low[found.at] > 1 / self.l)))
            ranks = found.largest.rank[found.at[counted]]
            over = np.array([share * self.l > 1 for share in found.largest.exact], dtype=np.bool_)
            beyond += int(np.count_nonzero(np.append(over, False)[ranks]))
            top = int(np.argmax(ranks)) if ranks.size else -1
            if top >= 0 and ranks[top] >= 0 and found.largest.exact[int(ranks[top])] > worst:
                worst = found.largest.exact[int(ranks[top])]
                where = published.releases[int(found.largest.release[found.at[counted][top]])].number
        if contradictory:
            words = "It is not proven: there is no world in which permanent values stay and all releases are true."
            return replace(verdict, holds=False, explanation=words)
        told = f"The largest risk of a permanent value that was counted is {worst}, in release {where}"
        if beyond:
            people = count_of(beyond, "risk of a permanent value is", "risks of permanent values are")
            words = f"{people} above 1/{self.l}, all releases taken together. {told}."
            return replace(
                verdict,
                holds=False,
                worst=float(worst),
                release=where,
                group=None,
                violations=beyond,
                explanation=words,
            )
        if open_:
            words = f"It is not proven: {count_of(open_, 'risk', 'risks')} could not be counted. {told}."
            return replace(verdict, holds=False, explanation=words)
        if float(worst) < verdict.worst:
            return verdict
        words = f"It holds, all releases taken together. {told}; at most 1/{self.l} is allowed."
        return replace(verdict, worst=float(worst), release=where, group=None, explanation=words)


SECONDS = 10.0
"""So long a value's worlds are looked into, where they are too many to be counted."""

TOLERANCE = 1e-12
"""Odds come as floats; what cannot be told from the limit is on it."""

_NOT_PROVEN = (
    "It is not proven: it is known who is in releases after the first, so that permanent values tie releases together."
)


def _need_groups(release: PublishedGroups) -> None:
    """Refuse a release whose groups are no parts of the registered people."""
    if release.space is not None:
        raise ParameterError(
            f"Release {release.number} does not tell who its members are, as LScarce must know.",
            hint="give the registry with the view.",
        )
    twice = release.members.size - ascending(release.members).size
    if twice:
        raise ParameterError(
            f"Release {release.number} has {count_of(twice, 'person', 'people')} in more than one place.",
            hint="LScarce is about groups that are parts of a registry: let everybody be in one group of a release.",
        )


def _share(count: Ints, room: Ints) -> Floats:
    share = np.where(count > 0, np.inf, 0.0)
    np.divide(count, room, out=share, where=(count > 0) & (room > 0))
    return share


def _if_present(release: PublishedGroups, stays: Bools, known: int) -> tuple[Floats, Floats]:
    """The largest risk in each group of somebody known to be in the release, of passing values and of lasting ones."""
    group = release.value_groups
    odds = odds_if_present(release.sizes, group, release.counts, known)
    lasts = stays[release.values]
    shares = np.where(np.isfinite(odds), odds / (1 + np.where(np.isfinite(odds), odds, 0)), 1.0)
    passing, lasting = np.zeros(release.group_count), np.zeros(release.group_count)
    np.maximum.at(passing, group[~lasts], shares[~lasts])
    np.maximum.at(lasting, group[lasts], np.minimum(odds[lasts], 1.0))
    return passing, lasting


def _within(count: Ints, room: Ints, l: int) -> Bools:  # noqa: E741
    # Whole numbers: the comparison is exact.
    within: Bools = (count == 0) | (count * min(l, EXACT) <= room)
    return within


def _most(release: PublishedGroups, among: Bools) -> Ints:
    """How often the most frequent value of each group occurs, of those marked."""
    most = np.zeros(release.group_count, dtype=np.int64)
    some = np.flatnonzero(np.diff(release.value_starts))
    if some.size:
        most[some] = np.maximum.reduceat(np.where(among, release.counts, 0), release.value_starts[some])
    return most
