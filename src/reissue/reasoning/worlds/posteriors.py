"""How likely each value is for each person, given everything that was published: random worlds.

A world gives each member one value such that every group of every release has just the values it publishes; all
worlds are equally likely. In this order, from what costs nothing to what costs most:

    known         people whose value is known are taken out with it (`residual`), and so are counterfeits
    symmetry      parts in which all values are published alike: each is equally likely (`symmetry`)
    propagation   how many of each class must and can have each value, proven at any size (`possible`)
    counting      small parts exactly, in integers (`worlds_counting`)
    sampling      what is too large for that, with a standard error (`worlds_sampling`); what no sample shows is
                  searched for, and excluded if it is proven that there is no such world (`worlds_search`)

Every figure says how it was come by. Where time or size forbid more, the proven bounds remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reissue.arrays import dense
from reissue.arrays.budget import ends_after, moment, passed, share_of, spend
from reissue.arrays.runs import joined, owners, runs, starts_of
from reissue.arrays.types import Bools, Bytes, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published
from reissue.model.telling import tell
from reissue.reasoning.history import diversity
from reissue.reasoning.history.trajectories import Trajectories
from reissue.reasoning.worlds.open_parts import OpenPart, OpenParts
from reissue.reasoning.worlds.possible import Possible, possible
from reissue.reasoning.worlds.residual import only, without
from reissue.reasoning.worlds.symmetry import Symmetry, symmetry
from reissue.reasoning.worlds.worlds_counting import CountedWorlds, count
from reissue.reasoning.worlds.worlds_model import Model
from reissue.reasoning.worlds.worlds_sampling import sample
from reissue.reasoning.worlds.worlds_search import find_world

Progress = Callable[[str], None]

EXACT, BOUNDED, SAMPLED = 0, 1, 2
KINDS = ("exact", "bounded", "sampled")

COUNTED = 2_000
"""Parts of more classes are not counted: their tables would be too large in any case."""
SEARCHED = 400
"""Parts of more classes are neither sampled nor searched: a sample of so many choices is worth nothing."""
FIGURES = 20_000_000
"""Of people whose groups contradict each other no more figures are kept than this, one for each unit and value."""
MEMBER = 1.0
"""How many steps it takes to look for symmetry, for each member of each group."""
TRIED = 0.05
"""How many to look whether some parts contradict themselves, for each member of all of them."""


@dataclass(frozen=True)
class Effort:
    """How much work may be spent on what symmetry and propagation leave open."""

    seconds: float | None = 60.0
    entries: int = 300_000
    """How large the tables of one exact count may grow."""
    draws: int = 2_000
    """How many worlds are drawn from a part that cannot be counted."""
    seed: int = 0


@dataclass(frozen=True, repr=False)
class Posteriors:
    """The probabilities, in units: people of a unit have the same ones.

    A unit has `size` equal shares; `least` and `most` of them are proven to fall to a value.
    """

    people: Ints
    """Everybody who was ever a member, ascending; counterfeits are nobody and left out."""
    unit: Ints
    """The unit of each."""
    starts: Ints
    """Where each unit begins in the arrays that follow."""
    values: Ints
    """Positions in `Published.values`: those not proven impossible."""
    least: Ints
    most: Ints
    size: Ints
    """For each unit."""
    alike: Ints
    """A value is at most as likely as 1 over this (by symmetry)."""
    kind: Bytes
    estimate: Floats
    error: Floats
    """The standard error of an estimate; not a number where there is none."""
    fractions: dict[int, Fraction] = field(default_factory=dict)
    """The exact probability where it was counted."""
    told: dict[str, int] = field(default_factory=dict)
    """How many people were settled in which way, and how many parts were left undecided."""
    doubted: range = range(0)
    """Units of people whose groups contradict each other: what is said of them is from one release alone."""
    present: bool = True
    """Whether everybody certainly has one of his values; otherwise somebody may be in no release at all, and
    probabilities may add up to less than 1."""

    def __repr__(self) -> str:
        return f"Posteriors({self.people.size:,} people, {self.size.size:,} units)"

    @property
    def owner(self) -> Ints:
        """The unit of each entry."""
        return owners(np.diff(self.starts))

    @property
    def even(self) -> Bools:
        """The entries of units all of whose values are equally likely."""
        if not self.present:
            return np.zeros(self.values.size, dtype=np.bool_)
        lengths, owner = np.diff(self.starts), self.owner
        same = np.bincount(owner, self.alike == lengths[owner], minlength=lengths.size)
        even: npt.NDArray[np.bool_] = (same == lengths)[owner]
        return even

    @property
    def low(self) -> Floats:
        """The least probability of each entry: proven."""
        return self._counted(np.where(self.even, 1 / self.alike, self.least / self.size[self.owner]))

    @property
    def high(self) -> Floats:
        """The largest probability of each entry: proven."""
        return self._counted(np.minimum(self.most / self.size[self.owner], 1 / self.alike))

    @property
    def probability(self) -> Floats:
        """The exact probability, the estimate, or the largest it can be, as `kind` says."""
        return np.where(self.kind == SAMPLED, self.estimate, self.high)

    def fraction(self, entry: int) -> Fraction | None:
        """The exact probability of an entry; None where it is not known exactly."""
        if self.kind[entry] != EXACT:
            return None
        if entry in self.fractions:
            return self.fractions[entry]
        unit = int(np.searchsorted(self.starts, entry, side="right")) - 1
        if self.least[entry] == self.most[entry]:
            return Fraction(int(self.least[entry]), int(self.size[unit]))
        return Fraction(1, int(self.alike[entry]))

    @cached_property
    def certain(self) -> Bools:
        """The units with a value that is certain: proven."""
        certain = self.low == 1.0
        # A fraction just below 1 can look like it.
        certain[[entry for entry, fraction in self.fractions.items() if fraction < 1]] = False
        units: npt.NDArray[np.bool_] = np.bincount(self.owner, certain, minlength=self.size.size) > 0
        units[self.doubted] = False
        return units

    def _counted(self, figures: Floats) -> Floats:
        if self.fractions:
            places = np.fromiter(self.fractions, dtype=np.int64, count=len(self.fractions))
            figures[places] = [float(fraction) for fraction in self.fractions.values()]
        return figures


def posteriors(
    published: Published,
    known_people: Ints,
    known_values: Ints,
    *,
    allowed: Mapping[int, Sequence[int]] | None = None,
    effort: Effort | None = None,
    progress: Progress = lambda stage: None,
) -> Posteriors:
    """The probabilities of a series whose members are known, given that some members have certain values.

    `allowed` are members, by number, that can have no other values than those beside them (positions).
    """
    effort = effort or Effort()
    deadline = ends_after(effort.seconds)
    progress("Looking for symmetry")
    residual = without(published, known_people, known_values)
    few = _Allowed(allowed or {}, len(published.values))
    parts = few.unlike(symmetry(residual))
    spend(published.index.member.size * MEMBER)
    settled = parts.whole[parts.part]
    units = _Units(len(published.values))
    somebody = known_people >= 0
    units.add_known(known_people[somebody], known_values[somebody])
    real = parts.numbers >= 0
    even = settled[parts.last]
    units.add_even(parts, real & even)
    if not even.all():
        progress("Ruling values out")
        ways, found, broken = _without_contradictions(residual, parts, ~settled, few, deadline)
        units.add_broken(parts, real & np.isin(parts.part[parts.last], broken), residual)
        units.add_classes(ways, found, _alike(parts, ways, found))
        progress("Counting worlds")
        units.count_worlds(ways, found, effort, deadline)
    return units.done()


class _Allowed:
    """Members that can have some values only."""

    def __init__(self, allowed: Mapping[int, Sequence[int]], values: int) -> None:
        self._members = np.array(sorted(allowed), dtype=np.int64)
        kinds = sorted({tuple(some) for some in allowed.values()})
        self._kind = np.array([kinds.index(tuple(allowed[one])) + 1 for one in sorted(allowed)], dtype=np.int64)
        self._barred = [np.setdiff1d(np.arange(values), some) for some in kinds]

    def unlike(self, parts: Symmetry) -> Symmetry:
        """Where they are, values can no longer be exchanged for each other."""
        at = dense.places(parts.numbers, self._members)
        touched = np.zeros(parts.part_count, dtype=np.bool_)
        touched[parts.part[parts.last[at[at >= 0]]]] = True
        return replace(parts, alike=np.where(np.repeat(touched, np.diff(parts.starts)), 1, parts.alike))

    def apart(self, ways: Trajectories) -> tuple[Trajectories, tuple[Ints, Ints] | None]:
        """The trajectories with them apart from others, and which of those cannot have which value."""
        at = dense.places(ways.numbers, self._members)
        there = at >= 0
        if not there.any():
            return ways, None
        kind = np.zeros(ways.numbers.size, dtype=np.int64)
        kind[at[there]] = self._kind[there]
        ways = ways.apart(kind)
        classes, first = np.unique(ways.of_member, return_index=True)
        barred = [(one, self._barred[k - 1]) for one, k in zip(classes, kind[first], strict=True) if k]
        sizes = [values.size for _, values in barred]
        return ways, (np.repeat([one for one, _ in barred], sizes), joined([values for _, values in barred]))


def _without_contradictions(
    residual: Published, parts: Symmetry, groups: Bools, few: _Allowed, deadline: float | None
) -> tuple[Trajectories, Possible, Ints]:
    """What is possible in some groups, and the parts that contradict themselves, which are left out of it.

    Parts say nothing about each other, so one in which a value changed does not spoil the others.
    """

    members = sum(release.members.size for release in residual.releases)

    def tried(which: Ints) -> tuple[Trajectories, Possible]:
        spend(members * TRIED)
        ways, barred = few.apart(Trajectories.of(only(residual, groups & np.isin(parts.part, which))))
        left = None if deadline is None else max(0.5 * (deadline - moment()), 0.1)
        return ways, possible(ways, barred=barred, seconds=left)

    everything = np.unique(parts.part[groups])
    ways, found = tried(everything)
    if not found.contradictory:
        return ways, found, everything[:0]
    broken: list[int] = []
    suspected = [everything]
    while suspected:
        some = suspected.pop()
        # What there is no time to look at must not be believed.
        if some.size == 1 or passed(deadline):
            broken += some.tolist()
            continue
        suspected += [half for half in np.array_split(some, 2) if tried(half)[1].contradictory]
    sound = np.setdiff1d(everything, broken)
    ways, found = tried(sound)
    return ways, found, np.array(sorted(broken), dtype=np.int64)


def _alike(parts: Symmetry, ways: Trajectories, found: Possible) -> Ints:
    """How many values are equally likely as each entry, itself included."""
    width = int(max(parts.values.max(initial=0), found.values.max(initial=0))) + 1
    offered = owners(np.diff(parts.starts)) * width + parts.values
    home = parts.part[ways.groups[ways.starts[:-1]]]
    wanted = np.repeat(home, np.diff(found.starts)) * width + found.values
    return parts.alike[np.searchsorted(offered, wanted)]


class _Units:
    """Gathers units of people and their entries."""

    def __init__(self, values: int) -> None:
        self._values = values
        self._people: list[Ints] = []
        self._unit: list[Ints] = []
        self._blocks: list[tuple[Ints, Ints, Ints, Ints, Ints, Ints]] = []
        self._units = self._entries = 0
        self._fractions: dict[int, Fraction] = {}
        self._excluded: set[int] = set()
        self._estimates: dict[int, tuple[float, float]] = {}
        self._told: dict[str, int] = {}
        self._doubted = range(0)

    def add_known(self, people: Ints, values: Ints) -> None:
        """People whose value is known: one unit for each value."""
        self._add_people(people, values)
        one = np.ones(self._values, dtype=np.int64)
        self._add_block(one, np.arange(self._values), one, one, one, one)
        self._told["known"] = people.size

    def add_even(self, parts: Symmetry, which: Bools) -> None:
        """People in parts whose values are all equally likely."""
        used, unit = np.unique(parts.part[parts.last[which]], return_inverse=True)
        self._add_people(parts.numbers[which], unit)
        lengths = np.diff(parts.starts)[used]
        entries = runs(parts.starts[used], lengths)
        one = np.ones(entries.size, dtype=np.int64)
        self._add_block(lengths, parts.values[entries], one, one, lengths, parts.alike[entries])
        self._told["by symmetry"] = int(which.sum())

    def add_broken(self, parts: Symmetry, which: Bools, residual: Published) -> None:
        """People in parts that contradict themselves: what their worst release tells alone, and no upper bound."""
        if not which.any():
            return
        people = parts.numbers[which]
        share, worst = np.full(people.size, -1.0), np.zeros(people.size, dtype=np.int64)
        offset = 0
        for release in residual.releases:
            at = np.searchsorted(people, release.members)
            inside = np.flatnonzero(people[np.minimum(at, people.size - 1)] == release.members)
            group = release.member_groups[inside]
            here = (diversity.largest(release) / np.maximum(release.rows, 1))[group]
            better = here > share[at[inside]]
            share[at[inside[better]]], worst[at[inside[better]]] = here[better], offset + group[better]
            offset += release.group_count
        used, unit = np.unique(worst, return_inverse=True)
        self._add_people(people, unit)
        self._doubted = range(self._units, self._units + used.size)
        rows = np.concatenate([release.rows for release in residual.releases])[used]
        home = parts.part[used]
        lengths = np.diff(parts.starts)[home]
        if lengths.sum() > FIGURES:
            raise ParameterError(
                f"{count_of(people.size, 'person is', 'people are')} in groups that contradict each other, and any of "
                f"{int(lengths.max()):,} values is possible for them: {int(lengths.sum()):,} figures, and no more than "
                f"{FIGURES:,} are kept.",
                hint="values changed, it seems: say so (change), and Tracking is asked instead; or audit coarser "
                "values, or fewer releases.",
            )
        entries = runs(parts.starts[home], lengths)
        values = parts.values[entries]
        # What the release alone says can only be a lower bound; and any value may be certain after all.
        least = _shown(residual, np.repeat(used, lengths), values, self._values)
        self._add_block(lengths, values, least, np.repeat(rows, lengths), rows, 0 * entries + 1)
        self._told["contradictory"] = int(which.sum())

    def add_classes(self, ways: Trajectories, found: Possible, alike: Ints) -> None:
        """People of the other parts, with what propagation proved."""
        real = ways.numbers >= 0
        self._first_entry = self._entries
        self._add_people(ways.numbers[real], ways.of_member[real])
        self._add_block(np.diff(found.starts), found.values, found.low, found.high, ways.people, alike)
        self._told["by propagation"] = int(real.sum())
        if not found.complete:
            self._told["propagation out of time"] = 1

    def count_worlds(self, ways: Trajectories, found: Possible, effort: Effort, deadline: float | None) -> None:
        """Count, sample or search the parts that propagation leaves open."""
        parts = OpenParts(ways, found)
        rng = np.random.default_rng(effort.seed)
        known: dict[Model, list[list[Fraction]] | None] = {}
        done = 0
        for part in parts:
            tell(done, ways.people.size)
            done += part.classes.size
            if passed(deadline, 20 + part.classes.size) or part.classes.size > COUNTED:
                self._say("undecided parts", "undecided", part)
                continue
            model = parts.model(part)
            if model not in known:
                counted = count(model, effort=effort.entries, deadline=share_of(deadline, 0.1))
                if counted is not None and not counted.total and not found.complete:
                    # Out of time, what contradicts itself was not sorted out before; nothing more is said of it.
                    self._say("undecided parts", "undecided", part)
                    continue
                known[model] = None if counted is None else _shares(counted)
            shares = known[model]
            if shares is not None:
                self._say("counted parts", "counted", part)
                self._take(parts.entries(part), shares)
            elif part.classes.size <= SEARCHED:
                self._sample(parts.entries(part), part, model, effort, rng, deadline)
            else:
                self._say("undecided parts", "undecided", part)

    def _sample(
        self,
        entries: list[range],
        part: OpenPart,
        model: Model,
        effort: Effort,
        rng: np.random.Generator,
        deadline: float | None,
    ) -> None:
        sampled = sample(model, rng, draws=effort.draws, deadline=share_of(deadline, 0.25))
        for at, places in enumerate(entries):
            for state, entry in enumerate(places):
                if sampled is not None and sampled.by_state[at][state] > 0:
                    continue
                if passed(deadline):
                    break
                # No drawn world shows it; perhaps there is none.
                if find_world(model, require=(at, state), deadline=share_of(deadline, 0.02)) is False:
                    self._excluded.add(self._first_entry + entry)
        if sampled is None:
            self._say("undecided parts", "undecided", part)
            return
        self._say("sampled parts", "sampled", part)
        for at, places in enumerate(entries):
            for state, entry in enumerate(places):
                figure = float(sampled.by_state[at][state]), float(sampled.standard_error[at][state])
                self._estimates[self._first_entry + entry] = figure

    def _take(self, entries: list[range], shares: list[list[Fraction]]) -> None:
        for places, fractions in zip(entries, shares, strict=True):
            for entry, fraction in zip(places, fractions, strict=True):
                self._fractions[self._first_entry + entry] = fraction

    def _say(self, parts: str, people: str, part: OpenPart) -> None:
        self._told[parts] = self._told.get(parts, 0) + 1
        self._told[people] = self._told.get(people, 0) + part.people

    def _add_people(self, people: Ints, unit: Ints) -> None:
        self._people.append(people)
        self._unit.append(self._units + unit)

    def _add_block(self, lengths: Ints, values: Ints, least: Ints, most: Ints, size: Ints, alike: Ints) -> None:
        self._blocks.append((lengths, values, least, most, size, alike))
        self._units += lengths.size
        self._entries += values.size

    def done(self) -> Posteriors:
        """All units together; entries that cannot be are dropped."""
        lengths, values, least, most, size, alike = (
            np.concatenate([block[at] for block in self._blocks]) for at in range(6)
        )
        owner = owners(lengths)
        kind = np.full(values.size, BOUNDED, dtype=np.int8)
        kind[(least == most) & ~np.isin(owner, np.array(self._doubted, dtype=np.int64))] = EXACT
        estimate, error = np.full(values.size, np.nan), np.full(values.size, np.nan)
        for entry, (figure, deviation) in self._estimates.items():
            kind[entry], estimate[entry], error[entry] = SAMPLED, figure, deviation
        gone = np.zeros(values.size, dtype=bool)
        for entry, fraction in self._fractions.items():
            kind[entry] = EXACT
            gone[entry] = fraction == 0
        gone[list(self._excluded)] = True
        people, unit = np.concatenate(self._people), np.concatenate(self._unit)
        order = np.argsort(people, kind="stable")
        kept = np.flatnonzero(~gone)
        place = np.cumsum(~gone) - 1
        new_lengths = np.bincount(owner[kept], minlength=lengths.size)
        built = Posteriors(
            people[order],
            unit[order],
            starts_of(new_lengths),
            values[kept],
            least[kept],
            most[kept],
            size,
            alike[kept],
            kind[kept],
            estimate[kept],
            error[kept],
            {int(place[entry]): fraction for entry, fraction in self._fractions.items() if fraction},
            self._told,
            self._doubted,
        )
        return _tidied(built)


def _tidied(found: Posteriors) -> Posteriors:
    """Values that are alone, or all equally likely, have an exact probability, however the others were excluded."""
    doubted = np.isin(found.owner, np.array(found.doubted, dtype=np.int64))
    found.kind[found.even & ~doubted] = EXACT
    alone = (np.diff(found.starts) == 1)[found.owner] & ~doubted
    found.least[alone] = found.size[found.owner[alone]]
    found.most[alone] = found.least[alone]
    found.alike[alone] = 1
    found.kind[alone] = EXACT
    return found


def _shown(published: Published, groups: Ints, values: Ints, width: int) -> Ints:
    """How often groups, numbered over all releases, show values."""
    lengths = np.concatenate([np.diff(release.value_starts) for release in published.releases])
    shown = owners(lengths) * width
    shown += np.concatenate([release.values for release in published.releases])
    order = np.argsort(shown, kind="stable")
    at = order[np.minimum(np.searchsorted(shown[order], groups * width + values), order.size - 1)]
    counts = np.concatenate([release.counts for release in published.releases])
    return np.where(shown[at] == groups * width + values, counts[at], 0)


def contradiction() -> ParameterError:
    """What to say where there is no world at all."""
    return ParameterError(
        "No world agrees with all releases: the groups contradict each other.",
        hint="somebody's value changed, or somebody is listed in a group they are not in.",
    )


def _shares(counted: CountedWorlds) -> list[list[Fraction]]:
    if not counted.total:
        raise contradiction()
    return [[Fraction(worlds, counted.total) for worlds in by_state] for by_state in counted.by_state]
