"""Counting worlds of a part exactly: class after class, with what the open groups still need as the state.

Every number is a Python integer, so that every probability is a fraction. With several cohorts a state is what each
cohort still needs, in ascending order: cohorts can be exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from reissue.arrays.budget import passed
from reissue.reasoning.permanence.permanence_parts import Class, Part

State = tuple[int, ...]
"""For each cohort what the open groups need, one field of bits for each group."""
Uses = tuple[tuple[int, int], ...]
"""Patterns of a class by number, with how many of it follow them."""

MOST_PATTERNS = 160
"""Classes each of whose people can have the value in more ways are not counted."""
MOST_CHOICES = 5_000
"""Nor those whose people together can."""


@dataclass(frozen=True)
class CountedEntries:
    """How many worlds a part has, and how likely each entry is to have the value."""

    total: int
    """Worlds; with several cohorts, families of cohorts told apart by their numbers."""
    classes: tuple[tuple[Fraction, ...], ...]
    """For each class the probability of each entry."""
    free: tuple[Fraction | None, ...]
    """For each group that of its free entries, if it has any."""


@dataclass(frozen=True, repr=False)
class WorldSums:
    """Sums over all worlds of a part."""

    total: int
    by_pattern: list[list[int]]
    """For each class and pattern how many follow it, in all worlds together."""
    by_group: list[int]
    """For each group how many of its free entries have the value, in all worlds together."""


def patterns(sure: Sequence[bool], most: int = MOST_PATTERNS) -> list[int] | None:
    """All ways to have the value at some entries, as bits; None if there are too many.

    Who has it at one entry has it at every later one that is sure.
    """
    ways = [(0, True)]
    for at in reversed(range(len(sure))):
        grown = [(bits, gate and not sure[at]) for bits, gate in ways]
        grown += [(bits | 1 << at, True) for bits, gate in ways if gate]
        ways = grown
        if len(ways) > most:
            return None
    return sorted(bits for bits, _ in ways if bits)


@dataclass(frozen=True)
class Field:
    """Where the need of an open group stands in a state."""

    shift: int
    mask: int


@dataclass(frozen=True)
class _Opening:
    needs: int

    def moves(self, state: State) -> Iterator[tuple[Uses, int, State]]:
        yield (), 1, tuple(one + self.needs for one in state)


@dataclass(frozen=True)
class Taking:
    """The people of a class choose their patterns."""

    index: int
    size: int
    deltas: tuple[int, ...]
    fields: tuple[tuple[Field, ...], ...]
    """For each pattern the groups it takes from."""
    checks: tuple[tuple[Field, int], ...]
    """For each group of the class how much the rest can take at most."""

    def moves(self, state: State) -> Iterator[tuple[Uses, int, State]]:
        """All ways to choose: the patterns used, how many ways that is, and what is needed then."""
        if self.size == 1:
            if self._holds(state):
                yield (), 1, state
            for cohort, needs in enumerate(state):
                for at, fields in enumerate(self.fields):
                    if all((needs >> field.shift) & field.mask for field in fields):
                        now = (*state[:cohort], needs - self.deltas[at], *state[cohort + 1 :])
                        if self._holds(now):
                            yield ((at, 1),), 1, _sorted(now)
            return
        yield from self._several(state, 0, 0, self.size, (), 1)

    def _several(
        self, state: State, cohort: int, at: int, left: int, uses: Uses, ways: int
    ) -> Iterator[tuple[Uses, int, State]]:
        if at == len(self.deltas):
            cohort, at = cohort + 1, 0
        if cohort == len(state) or not left:
            if self._holds(state):
                yield uses, ways, _sorted(state)
            return
        needs = state[cohort]
        most = min(left, *((needs >> field.shift) & field.mask for field in self.fields[at]))
        yield from self._several(state, cohort, at + 1, left, uses, ways)
        for often in range(1, most + 1):
            now = (*state[:cohort], needs - often * self.deltas[at], *state[cohort + 1 :])
            more = ways * comb(left, often)
            yield from self._several(now, cohort, at + 1, left - often, (*uses, (at, often)), more)

    def _holds(self, state: State) -> bool:
        return all(sum((needs >> field.shift) & field.mask for needs in state) <= room for field, room in self.checks)


@dataclass(frozen=True)
class Choosing:
    """Some people of a large class choose one pattern; who is left of them stands in a field of its own."""

    index: int
    pattern: int
    delta: int
    left: Field
    fields: tuple[Field, ...]

    def moves(self, state: State) -> Iterator[tuple[Uses, int, State]]:
        """As those of `Taking`, for one pattern and one cohort."""
        needs = state[0]
        left = (needs >> self.left.shift) & self.left.mask
        most = min(left, *((needs >> field.shift) & field.mask for field in self.fields))
        yield (), 1, state
        for often in range(1, most + 1):
            yield ((self.pattern, often),), comb(left, often), (needs - often * self.delta,)


@dataclass(frozen=True)
class _Leaving:
    """Who is left of a large class follows no pattern."""

    left: Field
    checks: tuple[tuple[Field, int], ...]

    def moves(self, state: State) -> Iterator[tuple[Uses, int, State]]:
        needs = state[0]
        if all((needs >> field.shift) & field.mask <= room for field, room in self.checks):
            yield (), 1, (needs & ~(self.left.mask << self.left.shift),)


@dataclass(frozen=True)
class Closing:
    """What a group still needs is taken from its free entries."""

    group: int
    field: Field
    free: int

    def moves(self, state: State) -> Iterator[tuple[Uses, int, State]]:
        """The one way to end: how many free entries are used, how many ways that is, and what is needed then."""
        shift, mask = self.field.shift, self.field.mask
        left, ways, taken, then = self.free, 1, 0, []
        for needs in state:
            need = (needs >> shift) & mask
            ways *= comb(left, need)
            left, taken = left - need, taken + need
            then.append(needs - (need << shift))
        if ways:
            yield ((0, taken),), ways, _sorted(tuple(then))


Outlook = tuple[tuple[Field, int], ...]
"""The open groups, each with how many there are who could still have the value."""
Step = _Opening | Taking | Choosing | _Leaving | Closing


class Program:
    """The steps that count a part, and the tables they fill."""

    def __init__(self, part: Part, ways: Sequence[Sequence[int]], cohorts: int) -> None:
        self.part, self.ways, self.cohorts = part, ways, cohorts
        self.steps: list[Step] = []
        self.outlooks: list[Outlook] = []
        """For each step what is open after it."""
        for step, outlook in _steps(part, ways, cohorts):
            self.steps.append(step)
            self.outlooks.append(outlook)
        self._layers: list[dict[State, int]] = []
        self._after: list[dict[State, int]] = []

    @classmethod
    def of(cls, part: Part, cohorts: int = 1) -> Program | None:
        """None where a class has too many patterns, or its people can follow them in too many ways."""
        ways = []
        for one in part.classes:
            some = patterns(one.sure)
            if some is None or _choices(part, one, some, cohorts) > MOST_CHOICES:
                return None
            ways.append(some)
        return cls(part, ways, cohorts)

    def run(self, limit: int, deadline: float | None = None) -> bool:
        """Fill the tables; False if that takes more than `limit` moves, or too long."""
        layer: dict[State, int] = {(0,) * self.cohorts: 1}
        self._layers, done = [layer], 0
        for step in self.steps:
            then: dict[State, int] = {}
            for state, weight in layer.items():
                for _, ways, now in step.moves(state):
                    then[now] = then.get(now, 0) + weight * ways
                    done += 1
                    if done > limit:
                        return False
            if passed(deadline, len(layer) + len(then)):
                return False
            layer = then
            self._layers.append(layer)
        return True

    @property
    def total(self) -> int:
        """How many worlds there are."""
        return sum(self._layers[-1].values())

    def tally(self) -> WorldSums:
        """How often patterns and free entries are used in all worlds together."""
        by_pattern = [[0] * len(some) for some in self.ways]
        by_group = [0] * len(self.part.counts)
        after = dict.fromkeys(self._layers[-1], 1)
        for step, layer in zip(reversed(self.steps), reversed(self._layers[:-1]), strict=True):
            before: dict[State, int] = {}
            used = by_pattern[step.index] if isinstance(step, Taking | Choosing) else None
            for state, weight in layer.items():
                rest = 0
                for uses, ways, now in step.moves(state):
                    worlds = ways * after[now]
                    rest += worlds
                    for which, often in uses:
                        if used is not None:
                            used[which] += weight * worlds * often
                        elif isinstance(step, Closing):
                            by_group[step.group] += weight * worlds * often
                before[state] = rest
            after = before
        return WorldSums(self.total, by_pattern, by_group)

    def expected(self) -> CountedEntries:
        """How likely every entry is, from the tables."""
        tally = self.tally()
        if not tally.total:
            return CountedEntries(0, (), ())
        whole = tally.total * self.cohorts
        classes = tuple(
            tuple(
                Fraction(sum(n for bits, n in zip(ways, used, strict=True) if bits >> at & 1), whole * one.size)
                for at in range(len(one.groups))
            )
            for one, ways, used in zip(self.part.classes, self.ways, tally.by_pattern, strict=True)
        )
        free = tuple(
            Fraction(often, whole * many) if many else None
            for often, many in zip(tally.by_group, self.part.free, strict=True)
        )
        return CountedEntries(tally.total, classes, free)


def count(
    part: Part, *, cohorts: int = 1, limit: int = 150_000, deadline: float | None = None
) -> CountedEntries | None:
    """Count the worlds of a part; None if that takes more than `limit` moves, or too long."""
    program = Program.of(part, cohorts)
    if program is None or not program.run(limit, deadline):
        return None
    return program.expected()


def _choices(part: Part, one: Class, ways: Sequence[int], cohorts: int) -> int:
    """In how many ways the people of a class can follow patterns at once, at most."""
    if one.size == 1 or cohorts == 1:
        return len(ways) * cohorts + 1
    choices = 1
    for bits in ways:
        choices *= 1 + min(one.size, *(part.counts[group] for at, group in enumerate(one.groups) if bits >> at & 1))
        if choices > MOST_CHOICES:
            break
    return int(choices**cohorts)


def _sorted(state: State) -> State:
    return state if len(state) == 1 else tuple(sorted(state))


def _steps(part: Part, ways: Sequence[Sequence[int]], cohorts: int) -> Iterator[tuple[Step, Outlook]]:
    """Open a group when a class first takes from it, close it after the last one."""
    waiting: list[set[int]] = [set() for _ in part.counts]
    for at, one in enumerate(part.classes):
        for group in one.groups:
            waiting[group].add(at)
    room = [free + sum(part.classes[at].size for at in some) for free, some in zip(part.free, waiting, strict=True)]
    fields: dict[int, Field] = {}
    spare: list[tuple[int, int]] = []
    end = 0
    for at in _order(part, waiting):
        one = part.classes[at]
        for group in one.groups:
            if group in fields:
                continue
            width = max(part.counts[group].bit_length(), 1)
            free_shift = next((shift for shift, wide in spare if wide == width), None)
            if free_shift is None:
                free_shift, end = end, end + width
            else:
                spare.remove((free_shift, width))
            fields[group] = Field(free_shift, (1 << width) - 1)
            yield _Opening(part.counts[group] << free_shift), _outlook(fields, room)
        before = _outlook(fields, room)
        for group in one.groups:
            room[group] -= one.size
            waiting[group].discard(at)
        if one.size == 1 or cohorts > 1:
            yield _taking(at, one, ways[at], fields, room), _outlook(fields, room)
        else:
            *some, last, leaving = _choosing(at, one, ways[at], fields, room, end)
            yield from ((step, before) for step in some)
            yield from ((step, _outlook(fields, room)) for step in (last, leaving))
        for group in one.groups:
            if not waiting[group]:
                field = fields.pop(group)
                yield Closing(group, field, part.free[group]), _outlook(fields, room)
                spare.append((field.shift, field.mask.bit_length()))


def _outlook(fields: dict[int, Field], room: Sequence[int]) -> Outlook:
    return tuple((field, room[group]) for group, field in fields.items())


def _taking(index: int, one: Class, ways: Sequence[int], fields: dict[int, Field], room: Sequence[int]) -> Taking:
    taken = tuple(tuple(fields[group] for at, group in enumerate(one.groups) if bits >> at & 1) for bits in ways)
    deltas = tuple(sum(1 << field.shift for field in some) for some in taken)
    checks = tuple((fields[group], room[group]) for group in one.groups)
    return Taking(index, one.size, deltas, taken, checks)


def _choosing(
    index: int, one: Class, ways: Sequence[int], fields: dict[int, Field], room: Sequence[int], end: int
) -> Iterator[Step]:
    """A large class, pattern by pattern; who is left stands behind all other fields meanwhile."""
    taking = _taking(index, one, ways, fields, room)
    left = Field(end, (1 << one.size.bit_length()) - 1)
    yield _Opening(one.size << end)
    for pattern, (delta, some) in enumerate(zip(taking.deltas, taking.fields, strict=True)):
        yield Choosing(index, pattern, delta + (1 << end), left, some)
    yield _Leaving(left, taking.checks)


def _order(part: Part, waiting: Sequence[set[int]]) -> Iterator[int]:
    """Classes in an order that keeps few groups open: always those of the group that opens the fewest others."""
    around = [{group for at in some for group in part.classes[at].groups} for some in waiting]
    left = set(range(len(part.counts)))
    reached: set[int] = set()
    done: set[int] = set()
    while left:
        edge = (reached & left) or left
        best = min(edge, key=lambda group: (len(around[group] - reached), group))
        left.discard(best)
        reached |= around[best]
        new = sorted(waiting[best] - done, key=lambda at: part.classes[at].groups)
        done.update(new)
        yield from new
