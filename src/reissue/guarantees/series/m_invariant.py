"""m-invariance (Xiao & Tao 2007; Definition 4 of He, Barman & Naughton 2011).

The signature of a group is the set of its distinct values. When everybody is always published with the same
signature and every group has each value of its signature once, comparing releases leaves each of at least m
values equally likely for everybody. It does not protect against someone who knows the values of some people,
nor does it keep secret that two people have the same value.

Differs from the paper: a person's signature is kept after an absence too. The original speaks of one
lifespan without gaps; whoever comes back with another signature can have only the values that both share
(Bu et al. 2008).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, count_of
from reissue.guarantees.base import Followed, Least, Measure, Measured, Verdict
from reissue.guarantees.single.m_uniqueness import MUnique, need_one_value_each
from reissue.model.memory import Memory
from reissue.model.parameters import Validation
from reissue.model.promise import Bounds, one_in
from reissue.model.published import Published, PublishedGroups, need_order
from reissue.reasoning.history.signatures import signatures_of
from reissue.reasoning.history.stays import Stays

ANEW = "anew"
"""The table that counts who began anew: the promise then holds per record, for ever."""


@dataclass(frozen=True)
class SameSignature(Measured):
    """A promise about every group by itself, and that everybody keeps the same signature.

    The figure of a verdict is the number of distinct values of a group. A group breaks the promise when it
    is not as it should be, or holds somebody whose last group, in whatever release, had another signature.
    """

    least: ClassVar[Least] = Least("m", pl.UInt32)

    m: int
    """The smallest number of distinct values a group may have, at least 2."""
    per: Literal["person", "record"] = "person"
    """`person`: everybody keeps one signature for ever. `record`: those whose value changed to one outside
    their signature may begin anew. Only the private side knows who they are: it passes, as `secret`, a
    mapping from the number of a release to the numbers of the people who may be published as new there."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("m", least=2)
        validation.one_of("per", ("person", "record"))
        validation.finish()

    @property
    def bounds(self) -> Bounds:
        """What nobody can learn while it holds."""
        return Bounds(value=one_in(self.m))

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words."""
        return f"{self.name} (m = {self.m}{', per record' if self.per == 'record' else ''})"

    @abstractmethod
    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """Whether each group of a release is as it should be by itself."""

    def check(self, published: Published, secret: object = None) -> Verdict:
        """Judge a whole series from its first release on."""
        tally = self._tally()
        for release, measure in zip(published.releases, self.measures(published, secret), strict=True):
            tally.add(release, measure)
        return tally.verdict()

    def measures(self, published: Published, secret: object = None) -> Iterator[Measure]:
        """What is found in each release of a whole series."""
        stays = Stays.read({})
        for release in published.releases:
            measure, stays, _ = self._judge(published, release, stays, secret)
            yield measure

    def _next(self, published: Published, release: PublishedGroups, state: Memory, secret: object) -> Followed[Measure]:
        """By everybody's last signature."""
        measure, stays, anew = self._judge(published, release, Stays.read(state), secret)
        before = int(state[ANEW]["people"][0]) if ANEW in state else 0
        remark = None
        if before and self.per == "person":
            people = count_of(before, "person", "people")
            remark = f"{people} came back as new records in earlier releases: the promise holds per record."
        began = pl.DataFrame({"people": [before + anew]}, schema={"people": pl.UInt32})
        return Followed(measure, {**stays.tables(), **({ANEW: began} if before + anew else {})}, remark)

    def obstacle(self, state: Memory) -> str | None:
        """Signatures that are too small are out, or somebody has begun anew."""
        if self.per == "person" and ANEW in state:
            return "people whose value changed were published as new records, so the promise holds per record for ever"
        return super().obstacle(state)

    def _judge(
        self, published: Published, release: PublishedGroups, stays: Stays, secret: object
    ) -> tuple[Measure, Stays, int]:
        """Judge one release; also the stays with it, and how many people began anew in it as they may."""
        need_one_value_each(self, published)
        need_order(release, stays.number)
        people, group = _people_and_groups(release)
        found = signatures_of(release)
        # Groups of counterfeits alone have a signature that nobody needs to keep.
        has_people = np.zeros(release.group_count, dtype=np.bool_)
        has_people[group] = True
        used = np.flatnonzero(np.bincount(found.number[has_people], minlength=len(found.sets)))
        values = _values(published)
        stays, ids = stays.signature_ids([[values[code] for code in found.sets[at].tolist()] for at in used.tolist()])
        id_of = np.full(len(found.sets), -1, dtype=np.int64)
        id_of[used] = ids
        stays, step = stays.advance(release.number, people, id_of[found.number][group])

        back = step.returned
        changed = back.person[back.signature != back.last.signature]
        anew = np.intersect1d(changed, self._may_begin_anew(release.number, secret)).size
        changed = np.setdiff1d(changed, self._may_begin_anew(release.number, secret))
        others = np.bincount(group[np.searchsorted(people, changed)], minlength=release.group_count)
        measure = self.measure(published, release)

        def words(at: int) -> str:
            told = measure.words(at)
            if not others[at]:
                return told
            return f"{told}; {count_of(int(others[at]), 'person', 'people')} in it had another signature before"

        return replace(measure, kept=measure.kept & (others == 0), words=words), stays, anew

    def _may_begin_anew(self, number: int, secret: object) -> Ints:
        nobody = np.zeros(0, dtype=np.int64)
        if self.per == "person" or secret is None:
            return nobody
        if not isinstance(secret, Mapping):
            raise ParameterError(
                f"The 'secret' of {type(self).__name__} must be a mapping from the number of a release to the numbers "
                f"of the people who may be published as new there. Got a {type(secret).__name__} instead."
            )
        return np.asarray(secret.get(number, nobody), dtype=np.int64)


@dataclass(frozen=True)
class MInvariant(SameSignature):
    """Every group has at least m members, all with different values, and everybody keeps one signature.

    The figure of a verdict is the number of distinct values of a group.
    """

    name: ClassVar[str] = "m-invariance"
    words: ClassVar[str] = (
        "every group has at least m members with different values, and everybody keeps one set of values"
    )

    def measure(self, published: Published, release: PublishedGroups) -> Measure:
        """m-uniqueness."""
        return MUnique(self.m).measure(published, release)


def _people_and_groups(release: PublishedGroups) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The people of a release, ascending, and the group of each. Counterfeits are nobody."""
    group = np.repeat(np.arange(release.group_count, dtype=np.int32), release.sizes)
    order = ascending(release.members)
    people = release.members[order]
    begin = int(np.searchsorted(people, 0))
    people, order = people[begin:], order[begin:]
    twice = int(np.count_nonzero(release.members >= 0)) - people.size
    if twice:
        raise ParameterError(
            f"Release {release.number} has {count_of(twice, 'person', 'people')} in more than one place.",
            hint="a signature is the signature of one group: let everybody be in one group of a release.",
        )
    return people, group[order]


def _values(published: Published) -> list[object]:
    """The sensitive values as they are remembered: by number where they have one."""
    if published.magnitudes is None:
        return list(published.values)
    if np.unique(published.magnitudes).size < published.magnitudes.size:
        raise ParameterError("The sensitive column holds numbers that differ by less than 64-bit numbers can tell.")
    return list(published.magnitudes.tolist())
