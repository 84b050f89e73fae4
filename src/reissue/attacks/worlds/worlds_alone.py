"""What Worlds finds in each release taken alone, where values do not stay and releases must not be put together.

What somebody had in one release is then all that can be said. That somebody's value is known beforehand is not used:
nobody knows of which release it is. Nothing is within a limit by this, since what releases tell together is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.base import OF_COLUMN, POSTERIORS, Finding, Findings, Judgement, Limits
from reissue.attacks.figures import RISKS, worst_of_each
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import TIED, tied_together
from reissue.errors import count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.model.telling import tell

if TYPE_CHECKING:
    from reissue.attacks.worlds.worlds import WorldsFindings

TOGETHER = "What the releases tell together is not judged: values may change."
UNPLACED = (
    "What the releases tell together is not judged: values may change, and that is followed only where it is known who "
    "is in which group."
)


def alone(
    published: Published, knowledge: Knowledge, attack: Callable[[Published, Knowledge], WorldsFindings]
) -> WorldsAlone:
    """Attack every release by itself."""
    known = knowledge.known_values(published)[0] if knowledge.compromised else np.zeros(0, dtype=np.int64)
    found = []
    for at, release in enumerate(published.releases):
        tell(at, len(published.releases))
        members = {*release.members.tolist()} if knowledge.counterfeits else set[int]()
        made_up = {number: some for number, some in knowledge.counterfeits.items() if number in members}
        found.append(attack(replace(published, releases=(release,), sets=()), Knowledge(counterfeits=made_up)))
    return WorldsAlone(published, found, known, TOGETHER if knowledge.change is None else UNPLACED)


class WorldsAlone(Findings):
    """What each release leaves of everybody's secrets by itself."""

    attack: ClassVar[str] = "Worlds"
    dated = True

    def __init__(
        self, published: Published, each: Sequence[WorldsFindings], known_people: Ints, together: str = TOGETHER
    ) -> None:
        self.published = published
        self.each = tuple(each)
        """For every release what was found in it."""
        self.known_people = known_people
        self.numbers = [release.number for release in published.releases]
        """The releases."""
        self.searched = (f"{count_of(len(self.each), 'release')}, each by itself",)
        open_ = [f"release {number:,}: {one}" for number, found in self._dated for one in found.undecided]
        self._together = together
        self.undecided = (together, *open_)

    def __repr__(self) -> str:
        return f"WorldsAlone({len(self.each):,} releases, {len(self.certain):,} people certain in one)"

    @property
    def _dated(self) -> list[tuple[int, WorldsFindings]]:
        return list(zip(self.numbers, self.each, strict=True))

    @cached_property
    def _known(self) -> frozenset[str | int]:
        return frozenset(self.published.name(number) for number in self.known_people.tolist())

    @cached_property
    def certain(self) -> dict[str | int, object]:
        """Who had one value only, in the last release in which that is so, with that value."""
        found = {who: value for one in self.each for who, value in one.certain.items()}
        return {who: value for who, value in found.items() if who not in self._known}

    @property
    def ruled_out(self) -> pl.DataFrame:
        """Nothing: a release by itself rules out nothing that it shows of somebody's group."""
        return pl.DataFrame(schema=TIED)

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """How likely each value is for each person, release by release: `release` says in which."""
        frames = [one.posteriors.with_columns(release=pl.lit(number, pl.Int64)) for number, one in self._dated]
        return pl.concat(frames) if frames else pl.DataFrame(schema={**POSTERIORS, "release": pl.Int64})

    def posteriors_in(self, release: int, people: Ints) -> pl.DataFrame:
        """The same of some people in one release: those of everybody in all of them may take much memory."""
        told = self.each[self.numbers.index(release)].posteriors_of(people)
        return told.with_columns(release=pl.lit(release, pl.Int64))

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person the largest probability of any value in any release."""
        return worst_of_each(pl.concat([pl.DataFrame(schema=RISKS), *(one.risks for one in self.each)]))

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody beyond the limits in a release, with that release."""
        frames = [one.tied(limits).with_columns(release=pl.lit(number, pl.Int64)) for number, one in self._dated]
        known = pl.Series(self.known_people, dtype=pl.Int64).implode()
        return tied_together([frame.filter(~pl.col("person").is_in(known)) for frame in frames])

    def column_figures(self, column: str) -> pl.DataFrame:
        """How likely everybody's likeliest value of a column is, release by release."""
        every = [one.column_figures(column).with_columns(release=pl.lit(at, pl.Int64)) for at, one in self._dated]
        return pl.concat([pl.DataFrame(schema=OF_COLUMN), *every])

    @property
    def supposed(self) -> pl.DataFrame:
        """Those of whom what is told of a release supposes that they are in it."""
        return pl.concat([one.supposed.with_columns(release=pl.lit(number, pl.Int64)) for number, one in self._dated])

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the worst follows, release after release."""
        return tuple(witness for one in self.each for witness in one.witnesses[:10])

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Beyond, if a release by itself is; else undecided, since nothing is said about several."""
        if not self.each:
            return Judgement("undecided", self._together)
        judged = [(number, one.judge(limits, most=most)) for number, one in self._dated]
        beyond = [(number, one) for number, one in judged if one.status == "beyond"]
        known = {*self.known_people.tolist()}
        every: list[Finding] = [
            replace(finding, release=number)
            for number, one in beyond
            for finding in one.findings
            if not known & {*finding.people}
        ]
        people = self.tied(limits)["person"].n_unique()
        if every:
            every.sort(key=lambda one: -(one.probability or 0.0))
            which = count_of(len(beyond), "release")
            words = (
                f"By {which} of {len(self.each):,}, each taken alone, {count_of(people, 'person', 'people')} can be "
                f"tied to a value they had then, beyond the limits. {self._together}"
            )
            return Judgement("beyond", words, tuple(every[: max(most, 0)]), max(people, 1))
        if all(one.status == "not asked" for _, one in judged):
            return judged[0][1]
        words = "No release goes beyond the limits by itself."
        if any(one.status != "within" for _, one in judged):
            words = "No release is seen to go beyond the limits by itself."
        return Judgement("undecided", f"{words} {self._together}")
