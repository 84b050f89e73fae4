"""Channels: what the classes of two releases give away together (Byun, Sohn, Bertino & Li 2006).

Who attacks: someone who knows who is in which release, and finds each person's class by quasi-identifiers. What he
does: he compares the class of somebody in one release with the compatible classes of another, and takes away what
must be other people's (`reasoning.channels.channel_sets` says how). What he learns is a set of values that the person's
is in. With fewer than l distinct values in it, the promise of l-diversity is broken though both releases keep it.

Who knows besides that `Incremental` made the releases, and who waited, learns more: a list that waits has fewer than
l distinct values (`reasoning.channels.waiting_lists`).

What it does not cover: what follows from more than two releases at once, and which of the values left is more
likely. Where members are not known, classes are compared by their regions or by who may be in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.budget import budgeted, ends_after, passed, sooner, spend
from reissue.arrays.narrow import NEVER
from reissue.arrays.types import Ints
from reissue.attacks.base import Attack, Finding, Findings, Judgement, Kind, Limits, OfSets, need_whole
from reissue.attacks.channels.channels_witness import of_channel, of_person
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import ruled_out_by
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.model.telling import tell
from reissue.reasoning.channels.channel_people import Exposure
from reissue.reasoning.channels.channel_sets import (
    Comparison,
    comparable,
    compare,
    known_members,
    shared_amounts,
)
from reissue.reasoning.channels.waiting_lists import Batches
from reissue.reasoning.correlation.correlations import bits
from reissue.reasoning.history.trajectories import need_one_place_each

EXPLAINED = 100
"""So many people at most have their derivation among the witnesses."""
COMPARED = 0.6
"""This part of the time is for comparing, the rest for telling of it."""
PAIR, LINK = 5_000, 2.0
"""How many steps it takes to compare two releases, and for each two classes that may share people; to tell of them
included."""
KINDS = ("both", "new", "gone", "waited", "joined")
WAITING = "Incremental"
"""The method whose lists wait until they have l distinct values."""
MANY = 20_000
"""Where somebody left, and there are more groups than this, only releases next to each other are compared."""
SUPPOSED = "if nobody who is in a release is missing from a later one"


@dataclass(frozen=True)
class Channels(Attack):
    """Inference-enabling sets between compatible classes of any two releases."""

    name: ClassVar[str] = "Channels"
    words: ClassVar[str] = (
        "Groups of two releases that may hold the same people, compared with each other (Byun et al. 2006)."
    )
    judges: ClassVar[tuple[str, ...]] = ("diversity",)
    proves: ClassVar[tuple[str, ...]] = ("diversity",)
    takes: ClassVar[Mapping[str, str]] = {"l": "diversity"}
    rests_on: ClassVar[tuple[AssumptionName, ...]] = (
        "values-stay",
        "presence",
        "registry-complete",
        "cells-stay",
        "unperturbed",
        "suppressed-class",
    )
    helped_by: ClassVar[tuple[AssumptionName, ...]] = ("nobody-leaves",)
    static: ClassVar[bool] = True
    sets: ClassVar[OfSets] = "none"
    by_default: ClassVar[bool] = True

    l: int | None = None  # noqa: E741 - the paper's letter
    """How many distinct values every set must have; None: what the limits say. What waiting tells who knows the method
    follows only with the method's own l."""
    seconds: float | None = None
    """The time for comparing, looked at after every two releases; None: until all were compared."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.whole("l", least=1, optional=True)
        validation.seconds()
        validation.finish()

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> ChannelsFindings:
        """Compare every two releases of a series."""
        deadline = ends_after(self.seconds)
        if not published.single and any(release.space is None for release in published.releases):
            raise ParameterError(
                "Channels needs a view in which every member has exactly one value, or one of regions without members.",
                hint="give it who is in which group, or the groups' regions.",
            )
        need_one_place_each(published, [at for at, one in enumerate(published.releases) if known_members(one)])
        knowledge = knowledge or Knowledge()
        growing = knowledge.growing
        known = knowledge.known_values(published)[0] if knowledge.compromised else np.zeros(0, dtype=np.int64)
        exposure = Exposure(published, knowledge.waiting_people(published) if knowledge.waiting else {})
        if growing:
            _need_growth(published)
        lacking = 0 if growing is False else _somebody_left(published)
        if growing and lacking:
            raise ParameterError(
                "Somebody left, though nobody is said to: the knowledge contradicts the releases.",
                problems=[f"{count_of(lacking, 'group')} had more people than fit into the next release"],
                hint="leave 'growing' out, or check the order of the releases.",
            )
        near = bool(lacking) and sum(release.group_count for release in published.releases) > MANY
        comparisons, apart, shrunk, late = [], 0, 0, 0
        pairs = len(published.releases) * (len(published.releases) - 1) // 2
        with sooner(COMPARED):
            for later in range(len(published.releases)):
                for earlier in range(later):
                    tell(later * (later - 1) // 2 + earlier, pairs)
                    one, two = published.releases[earlier], published.releases[later]
                    if not comparable(one, two):
                        apart += 1
                        continue
                    if near and later > earlier + 1:
                        continue
                    if passed(deadline):
                        late += 1
                        continue
                    fewer = not (known_members(one) and known_members(two)) and two.counts.sum() < one.counts.sum()
                    shrunk += int(fewer)
                    # Without people, what would follow if nobody left is worth telling, though it is not proven.
                    supposed = growing is None and two.space is not None and not lacking
                    compared = compare(published, earlier, later, (growing is True or supposed) and not fewer)
                    exposure.add(compared)
                    comparisons.append(compared)
                    spend(PAIR + LINK * compared.first.size)
        if knowledge.waiting and knowledge.method == WAITING:
            exposure.add_waiting(comparisons, self.l)
        found = ChannelsFindings(published, comparisons, exposure, known, self.l, growing)
        found.searched, found.undecided = self._told(published, found, growing, apart, shrunk, late)
        found.near = near
        if lacking:
            told = (
                f"{count_of(lacking, 'group')} had more people than fit into the next release: somebody left or changed"
            )
            found.undecided += (f"{told}, so that groups of two releases need not hold the same people",)
        if near:
            found.undecided += ("releases that are not next to each other were not compared",)
        return found

    def _told(
        self, published: Published, found: ChannelsFindings, growing: bool | None, apart: int, shrunk: int, late: int
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        searched = [f"the inference-enabling sets of {count_of(len(found.comparisons), 'pair')} of releases"]
        undecided = []
        if not all(known_members(release) for release in published.releases):
            if growing:
                searched.append("newcomers of releases whose members are not known, given that nobody leaves")
            elif growing is None and any(release.space is not None for release in published.releases):
                undecided.append(
                    f"nobody said {SUPPOSED}: what would follow from it is told, and not counted as proven"
                )
            else:
                undecided.append("newcomers of releases whose members are not known: people may leave")
        if shrunk and growing is not False:
            undecided.append(
                f"in {count_of(shrunk, 'pair')} of releases the later has fewer rows, so people left: newcomers were "
                "not looked at there"
            )
        if apart:
            undecided.append(f"{count_of(apart, 'pair')} of releases: one names members, the other only regions")
        if late:
            undecided.append(f"{count_of(late, 'pair')} of releases: the time ran out before they were compared")
        if found.contradictory:
            why = "values changed" + (", or who waited was not in one list" if found.exposure.batches else "")
            undecided.append(f"{count_of(found.contradictory, 'person is', 'people are')} left without a value: {why}")
        self._told_of_waiting(found.exposure, searched, undecided)
        if found.exposure.left is None:
            undecided.append("there are too many distinct values to keep everybody's in memory: only sizes were kept")
        return tuple(searched), tuple(undecided)

    def _told_of_waiting(self, exposure: Exposure, searched: list[str], undecided: list[str]) -> None:
        if exposure.waiting_told:
            who = count_of(exposure.waiting_told, "person", "people")
            searched.append(
                f"what the waiting of {who} tells somebody who knows the method; those who come into one group "
                "are taken for one list"
            )
        if exposure.waiting_unknown:
            why = "it is not exactly known which values came in with them"
            if self.l is None:
                why = "it follows only from the method's l, as in Channels(l=5)"
            who = count_of(exposure.waiting_unknown, "person", "people")
            undecided.append(f"what the waiting of {who} tells somebody who knows the method: {why}")
        if exposure.waiting_refuted:
            who = count_of(exposure.waiting_refuted, "person", "people")
            undecided.append(f"what the waiting of {who} tells: they did not wait in one list, or not for this l")


class ChannelsFindings(Findings):
    """What comparisons of two releases leave of everybody's secrets."""

    attack: ClassVar[str] = Channels.name
    searched: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    near: bool = False
    """Whether only releases next to each other were compared, because somebody left and there are many groups."""

    def __init__(
        self,
        published: Published,
        comparisons: list[Comparison],
        exposure: Exposure,
        known_people: Ints,
        l: int | None = None,  # noqa: E741
        growing: bool | None = None,
    ) -> None:
        self.published = published
        self._growing = growing
        self.comparisons = comparisons
        """Every two releases compared, in their compact form."""
        self.exposure = exposure
        """What that leaves for the people who are known by number."""
        self._l = l
        self._at_risk = ~np.isin(exposure.people, known_people)

    def __repr__(self) -> str:
        return f"ChannelsFindings({len(self.comparisons):,} pairs of releases, {self.exposure.people.size:,} people)"

    # The sets

    @cached_property
    def channels(self) -> pl.DataFrame:
        """Every set: `release_i`, `group_i`, `release_j`, `group_j`, `kind`, `distinct`, `people` and `people_least`.

        `kind` is `both` for people in both classes, `new` for people of the later one (j) who are not in release i,
        and `gone` for people of the earlier one who are not in release j; `waited` is for those of the new ones who
        waited when i came out, and `joined` for those who came in with them. Then the other class is the one by which
        classes were put together, null where it took the person's alone or all that hang together. `distinct` counts
        values; `people` how many people it is about at most, `people_least` at least.
        """
        return pl.concat([_no_sets(), *self._parts()])

    def _parts(self) -> Iterator[pl.DataFrame]:
        """The sets part by part: all of them together take much memory."""
        for compared in self.comparisons:
            yield from self._rows(compared)
        for batch in self.exposure.batches:
            yield from self._rows_of_waiting(batch)

    def _rows(self, compared: Comparison) -> list[pl.DataFrame]:
        parts = [
            self._part(
                compared, "both", compared.first, compared.second, compared.distinct, compared.most, compared.least
            ).filter(pl.col("people") > 0)
        ]
        for kind, found in (("new", compared.new), ("gone", compared.gone)):
            if found is None:
                continue
            at = np.flatnonzero((found.distinct < NEVER) & (found.most > 0))
            first, second = (found.why[at], at) if kind == "new" else (at, found.why[at])
            sizes = (found.distinct[at], found.most[at], found.least[at])
            parts.append(self._part(compared, kind, first, second, *sizes))
        return parts

    def _rows_of_waiting(self, batch: Batches) -> list[pl.DataFrame]:
        parts, found = [], batch.compared.new
        for kind, values in (("waited", batch.by_waited), ("joined", batch.by_joined)):
            groups = self.exposure.place[batch.compared.later, self.exposure.of_batch(batch, kind)]
            at, people = np.unique(groups.astype(np.int64), return_counts=True)
            if found is not None and at.size:
                sizes = (self.exposure.distinct(batch, values)[at], people, people)
                parts.append(self._part(batch.compared, kind, found.why[at], at, *sizes))
        return parts

    def _part(
        self, compared: Comparison, kind: str, first: Ints, second: Ints, distinct: Ints, most: Ints, least: Ints
    ) -> pl.DataFrame:
        one, two = self.published.releases[compared.earlier], self.published.releases[compared.later]
        return pl.DataFrame({"group_i": first, "group_j": second, "distinct": distinct}).select(
            release_i=pl.lit(one.number, pl.Int64),
            group_i=pl.when(pl.col("group_i") >= 0).then(pl.col("group_i") + 1),
            release_j=pl.lit(two.number, pl.Int64),
            group_j=pl.when(pl.col("group_j") >= 0).then(pl.col("group_j") + 1),
            kind=pl.lit(kind, pl.Enum(KINDS)),
            distinct="distinct",
            people=pl.Series(most, dtype=pl.Int64),
            people_least=pl.Series(least, dtype=pl.Int64),
        )

    # Who is vulnerable

    def vulnerable(self, l: int) -> Ints:  # noqa: E741
        """People by number whose value is in a set of fewer than l distinct values; known people left out."""
        need_whole(l, "l", "vulnerable")
        few = ((self.exposure.fewest > 0) & (self.exposure.fewest < l)).any(axis=0)
        chosen: Ints = self.exposure.people[few & self._at_risk]
        return chosen

    def vulnerable_counts(self, l: int) -> pl.DataFrame:  # noqa: E741
        """For each release how many of its `records` are `vulnerable` by comparison with earlier ones.

        `gone` counts people who are not in it and are vulnerable because of it, `cumulative` all up to it. Without
        known people the records are counted that may be vulnerable; then `gone` and `cumulative` are null.
        """
        need_whole(l, "l", "vulnerable")
        people = self.exposure.people.size > 0
        few = (self.exposure.fewest > 0) & (self.exposure.fewest < l) & self._at_risk
        here = few & (self.exposure.place >= 0)
        ever = np.logical_or.accumulate(few, axis=0)
        rows = []
        for at, release in enumerate(self.published.releases):
            records = int(release.counts.sum())
            if known_members(release):
                records = int(np.count_nonzero(release.members >= 0))
            found = int(here[at].sum()) if people else self._records(at, l)
            gone = int((few[at] & ~here[at]).sum()) if people else None
            rows.append((release.number, records, found, gone, int(ever[at].sum()) if people else None))
        names = ("release", "records", "vulnerable", "gone", "cumulative")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Int64), orient="row")

    def _records(self, later: int, l: int) -> int:  # noqa: E741
        """How many records of a release may be vulnerable at most, where nobody is known."""
        release = self.published.releases[later]
        exposed = np.zeros(release.values.size, dtype=np.int64)
        for compared in self.comparisons:
            if compared.later != later:
                continue
            exposed += shared_amounts(self.published, compared, l)
            if compared.new is not None:
                few = np.repeat(compared.new.distinct < l, np.diff(release.value_starts))
                exposed += np.where(few, compared.new.amounts, 0)
        return int(np.minimum(exposed, release.counts).sum())

    # What is left for everybody

    @cached_property
    def _counts(self) -> Ints:
        """How many values are left for each person by all comparisons together; 0 where nothing can be said."""
        compared = (self.exposure.fewest < np.iinfo(np.int32).max).any(axis=0)
        if self.exposure.left is None:
            return np.zeros(self.exposure.people.size, dtype=np.int64)
        counts = np.bitwise_count(self.exposure.left).sum(axis=1).astype(np.int64)
        return np.where(compared, counts, 0)

    @property
    def contradictory(self) -> int:
        """How many people are left without any value: their value changed, or the view contradicts itself."""
        compared = (self.exposure.fewest < np.iinfo(np.int32).max).any(axis=0)
        kept = self.exposure.left is not None
        return int(np.count_nonzero(compared & ((self._counts == 0) & kept | (self.exposure.fewest == 0).any(axis=0))))

    @cached_property
    def certain_people(self) -> Ints:
        """Those who can have one value only, by number; known people left out."""
        if self.contradictory:
            return np.zeros(0, dtype=np.int64)
        certain: Ints = self.exposure.people[self._at_risk & (self._counts == 1)]
        return certain

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have one value only, with that value: proven."""
        return {
            self.published.name(person): self.published.values[self._left(self._at(person))[0]]
            for person in self.certain_people.tolist()
        }

    @property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values that one of their groups shows and that they cannot have: proven."""
        if self.contradictory or self.exposure.left is None:
            return {}
        found = {}
        for at in np.flatnonzero(self._at_risk & (self._counts > 0)).tolist():
            shown: set[int] = set()
            for release, group in zip(self.published.releases, self.exposure.place[:, at].tolist(), strict=True):
                if group >= 0:
                    shown.update(release.values[slice(*release.value_starts[group : group + 2])].tolist())
            if len(shown) > self._counts[at]:
                cannot = sorted(shown.difference(self._left(at)))
                name = self.published.name(int(self.exposure.people[at]))
                found[name] = [self.published.values[value] for value in cannot]
        return found

    @property
    def ruled_out(self) -> pl.DataFrame | None:
        """The same as one table."""
        left = self.exposure.left
        if self.contradictory or left is None:
            return None
        return ruled_out_by(self.published, self.exposure.people, left, self._at_risk & (self._counts > 0))

    def _at(self, person: int) -> int:
        return int(np.searchsorted(self.exposure.people, person))

    def _left(self, at: int) -> list[int]:
        return [] if self.exposure.left is None else list(bits(self.exposure.left[at]))

    # Why, and whether it is too much

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the people with the fewest values left have no others, or, if nobody is known, the smallest sets."""
        if self.exposure.people.size:
            fewest = np.where(self._at_risk, self.exposure.fewest.min(axis=0, initial=np.iinfo(np.int32).max), 0)
            small = np.flatnonzero((fewest > 0) & (fewest < np.iinfo(np.int32).max))
            worst = small[np.argsort(fewest[small], kind="stable")[:EXPLAINED]]
            return tuple(self._finding(int(at)).witness for at in worst)
        return tuple(finding.witness for finding in self._by_class(self._few(NEVER, EXPLAINED), EXPLAINED))

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold the sets against l: the one the attack was given, or the limits' diversity."""
        l = limits.diversity if self._l is None else self._l  # noqa: E741
        if l is None:
            return Judgement("not asked", "No limit was given that this attack could be held against.")
        if self.contradictory:
            return Judgement("undecided", f"Nothing can be concluded: {'; '.join(self.undecided)}.")
        if len(self.published.releases) == 1 and self.published.releases[0].space is not None:
            return Judgement("not asked", "There is one release only, and nobody is known by name: nothing to compare.")
        people = np.union1d(self.vulnerable(l), self.certain_people if l > 1 else self.certain_people[:0])
        few = self._few(l, most)
        words = f"Sets with fewer than {count_of(l, 'value')}: {few.small:,} of {few.sets:,}."
        fresh = few.unknown - few.told
        if few.told:
            words = f"{words[:-1]}, {few.told:,} of them told by a group alone."
        if people.size:
            at = np.searchsorted(self.exposure.people, people)
            fewest = self.exposure.fewest[:, at].min(axis=0)
            worst = at[np.argsort(fewest, kind="stable")[: max(most, 0)]]
            told = f"{count_of(int(people.size), 'person is', 'people are')} left with fewer by comparing releases"
            return Judgement("beyond", f"{words} {told}.", tuple(map(self._finding, worst.tolist())), int(people.size))
        if few.sure and not self._growing:
            told = f"They are about people only {SUPPOSED}, which was not said."
            return Judgement("undecided", f"{words} {told}", tuple(self._by_class(few, most)), fresh)
        if few.sure:
            told = f"It is proven for {few.sure:,} of them that there are people whom they are about."
            return Judgement("beyond", f"{words} {told}", tuple(self._by_class(few, most)), few.unknown)
        if few.unknown:
            told = "There may be people whom they are about; it is not known who is in which group."
            return Judgement("undecided", f"{words} {told}", tuple(self._by_class(few, most)), fresh)
        releases = len(self.published.releases)
        late = self.near or len(self.comparisons) < releases * (releases - 1) // 2
        if late or self.exposure.waiting_unknown or self.exposure.waiting_refuted:
            return Judgement("undecided", f"{words} Not decided: {'; '.join(self.undecided)}.")
        return Judgement("within", words)

    def _finding(self, at: int) -> Finding:
        person = int(self.exposure.people[at])
        left = set(self._left(at)) if self.exposure.left is not None else None
        witness, values, release = of_person(self.published, self.exposure, at, self.comparisons, left)
        return Finding.of_few(Channels.name, person, release, values, witness, several="channel")

    def _by_class(self, few: _Few, most: int) -> list[Finding]:
        """The smallest sets, whoever they are about; those that are surely about somebody first, then those that no
        group tells alone."""
        ranked = few.worst.sort(pl.col("people_least") == 0, "told", "distinct", maintain_order=True)
        worst = ranked.head(max(most, 0))
        return [self._of_class(row) for row in worst.iter_rows(named=True)]

    def _few(self, l: int, most: int) -> _Few:  # noqa: E741
        """Sets of fewer than l values: how many, and the worst where it is not known who is in which group.

        Others are judged by person. `told` says whether one of both groups shows no more values by itself: then it
        took no comparison.
        """
        known = [release.number for release in self.published.releases if known_members(release)]
        both_known = pl.col("release_i").is_in(known) & pl.col("release_j").is_in(known)
        shown = {one.number: np.diff(one.value_starts) for one in self.published.releases}
        sets = small = unknown = told = sure = 0
        worst = [_no_sets().with_columns(told=pl.lit(value=False))]
        for part in self._parts():
            few = part.filter((pl.col("distinct") < l) & (pl.col("distinct") > 0))
            sets, small = sets + part.height, small + few.height
            few = _told_alone(few.filter(~both_known), shown)
            unknown, told = unknown + few.height, told + int(few["told"].sum())
            sure += int((few["people_least"] > 0).sum())
            # Of equals the first are kept, so that these are the first of all sets together.
            worst.append(
                few.sort(pl.col("people_least") == 0, "told", "distinct", maintain_order=True).head(max(most, 0))
            )
        return _Few(sets, small, unknown, told, sure, pl.concat(worst))

    def _of_class(self, row: dict[str, Any]) -> Finding:
        compared = next(
            compared
            for compared in self.comparisons
            if self.published.releases[compared.earlier].number == row["release_i"]
            and self.published.releases[compared.later].number == row["release_j"]
        )
        witness = of_channel(self.published, compared, row)
        kind: Kind = "bounded" if row["people_least"] else "undecided"
        return Finding(Channels.name, "channel", (), row["release_j"], None, 1 / row["distinct"], kind, witness)


def _no_sets() -> pl.DataFrame:
    none = pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int64)).with_columns(kind=pl.lit(None, pl.Enum(KINDS)))
    return none.select(COLUMNS)


@dataclass(frozen=True)
class _Few:
    """How many sets there are, how many of them are small, and the worst of these."""

    sets: int
    small: int
    unknown: int
    """How many of the small ones are about nobody known."""
    told: int
    """How many of these a group tells alone."""
    sure: int
    """How many of these are surely about somebody."""
    worst: pl.DataFrame


def _told_alone(few: pl.DataFrame, shown: Mapping[int, Ints]) -> pl.DataFrame:
    """Sets of one comparison with `told`: whether a group shows no more values by itself."""
    if not few.height:
        return few.with_columns(told=pl.lit(value=False))
    kind, sides = few["kind"][0], {}
    for side in ("i", "j"):
        groups = few[f"group_{side}"].fill_null(0).to_numpy()
        values = np.concatenate([[NEVER], shown[few[f"release_{side}"][0]]])
        sides[side] = values[groups]
    by_itself = {"new": sides["j"], "gone": sides["i"]}.get(kind, np.minimum(sides["i"], sides["j"]))
    return few.with_columns(told=pl.Series(by_itself <= few["distinct"].to_numpy()))


COLUMNS = ("release_i", "group_i", "release_j", "group_j", "kind", "distinct", "people", "people_least")


def _somebody_left(published: Published) -> int:
    """How many groups have more people than fit into the next release, if nobody leaves and values stay.

    Where nobody is known by name only: what is concluded there from groups of two releases rests on nobody leaving.
    """
    if any(release.space is None for release in published.releases):
        return 0
    lacking = 0
    for later in range(1, len(published.releases)):
        compared = compare(published, later - 1, later, growing=False)
        rows = published.releases[later - 1].rows
        room = np.bincount(compared.first, compared.most, minlength=rows.size)
        lacking += int(np.count_nonzero(rows > room))
        spend(PAIR + LINK * compared.first.size)
    return lacking


def _need_growth(published: Published) -> None:
    """If nobody leaves, no value becomes rarer from one release to the next."""
    fewer = []
    for one, two in pairwise(published.releases):
        before, after = (
            np.bincount(release.values, release.counts, minlength=len(published.values)) for release in (one, two)
        )
        if (after < before).any():
            fewer.append(f"release {two.number} has fewer rows of some value than release {one.number}")
    if fewer:
        raise ParameterError(
            "Somebody left, though nobody is said to: the knowledge contradicts the releases.",
            problems=fewer,
            hint="leave 'growing' out, or check the order of the releases.",
        )
