"""Possible worlds as counts: people of a class are in states, states add to counters, counters reach their targets.

    class      people who have the same states to choose from; nothing tells them apart but their names
    state      a value together with the groups one was in; it adds 1 to the counter of the value in each of them
    counter    how often a group of a release publishes a value; in a world it is reached exactly

A world is a state for everybody, and all worlds are equally likely. Let x[c, s] be how many people of class c are in
state s. Then a world is a solution of equations in which every coefficient is 0 or 1 (the x of a class add up to its
size, those of a counter to its target), and a solution stands for as many worlds as there are ways to deal the states
out within each class. Counting, sampling and searching all work on these equations.

Where it is not certain who was in a group, a state is also a choice, for each release that may hold the person, of one
of the groups that list him, or of absence. Who was in no release at all is in the one state without a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from reissue.errors import ParameterError, count_of
from reissue.release import Published

Ints = npt.NDArray[np.int64]
Left = list[list[tuple[int, tuple[int, ...]]]]
"""For each class which of its states are left, and to which counters each of them adds."""

STATES = 1_000_000
"""With more states than this a model is no longer written out."""


@dataclass(frozen=True, repr=False, slots=True)
class State:
    """What can be the case with one person."""

    value: int | None
    """The position of the value in `Published.values`; None for who was in no release."""
    counters: tuple[int, ...]
    """The counters it adds 1 to, each once."""


@dataclass(frozen=True, repr=False)
class Model:
    """Classes of people with their states, and the targets of the counters."""

    sizes: tuple[int, ...]
    """How many people each class has, at least one."""
    states: tuple[tuple[State, ...], ...]
    """For each class the states of which everybody in it is in one."""
    targets: tuple[int, ...]
    """What each counter must reach."""

    def __post_init__(self) -> None:
        problems = []
        if len(self.sizes) != len(self.states):
            problems.append(f"{len(self.sizes):,} classes have a size and {len(self.states):,} have states.")
        if min(self.sizes, default=1) < 1 or min(self.targets, default=0) < 0:
            problems.append("Every class must have at least one person, and no target may be below 0.")
        known = range(len(self.targets))
        added = [state.counters for states in self.states for state in states]
        if any(len(set(one)) < len(one) or (one and (min(one) not in known or max(one) not in known)) for one in added):
            problems.append(f"Some states add to a counter twice, or to others than the {len(known):,} there are.")
        if problems:
            raise ParameterError(
                "These classes, states and targets make no model of possible worlds.", problems=problems
            )

    def __repr__(self) -> str:
        people = count_of(sum(self.sizes), "person", "people")
        return f"Model({people} in {len(self.sizes):,} classes, {len(self.targets):,} counters)"


@dataclass(frozen=True, repr=False)
class Equations:
    """The equations of a model: one for each class, then one for each counter. Unknowns go class by class."""

    targets: Ints
    """The sizes of the classes, then the targets of the counters."""
    starts: Ints
    terms: Ints
    """The unknowns of each equation, one equation after the other, and where each begins."""
    of_starts: Ints
    of: Ints
    """The equations of each unknown, the one of its class first, and where each unknown begins."""
    class_starts: Ints
    """Where the unknowns of each class begin."""

    @classmethod
    def of_model(cls, model: Model) -> Equations:
        """Write a model as equations."""
        classes = len(model.sizes)
        class_starts = _starts([len(states) for states in model.states])
        states = [(at, state) for at, states in enumerate(model.states) for state in states]
        of = np.array([e for at, state in states for e in (at, *(classes + k for k in state.counters))], dtype=np.int64)
        lengths = [1 + len(state.counters) for _, state in states]
        targets = np.array(model.sizes + model.targets, dtype=np.int64)
        unknown = np.repeat(np.arange(len(states)), lengths)
        terms, starts = unknown[np.argsort(of, kind="stable")], _starts(np.bincount(of, minlength=targets.size))
        return cls(targets, starts, terms, _starts(lengths), of, class_starts)

    @property
    def unknowns(self) -> int:
        """How many unknowns there are."""
        return self.of_starts.size - 1

    @property
    def classes(self) -> int:
        """How many of the equations are those of classes."""
        return self.class_starts.size - 1

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """What the kernels read, without the targets."""
        return self.starts, self.terms, self.of_starts, self.of

    def bounds(self) -> tuple[Ints, Ints] | None:
        """Bounds on the unknowns that hold in every world, or None where there is proven to be none."""
        low = np.zeros(self.unknowns, dtype=np.int64)
        high = np.full(self.unknowns, self.targets.max(initial=0), dtype=np.int64)
        queue = np.arange(self.targets.size)
        waiting = np.ones(self.targets.size, dtype=np.bool_)
        held = tighten(self.targets, self.arrays, low, high, queue, waiting, self.targets.size)
        return (low, high) if held < 0 else None

    def by_class(self, of_unknown: list[Any]) -> list[list[Any]]:
        """Something for each unknown, as a list for each class."""
        return [of_unknown[start:stop] for start, stop in pairwise(self.class_starts.tolist())]


@njit(cache=True, nogil=True)
def tighten(targets: Any, arrays: Any, low: Any, high: Any, queue: Any, waiting: Any, count: int) -> Any:
    """Narrow bounds until every equation agrees with them; the equation that cannot be met, or -1 if all can.

    The first `count` places of `queue` hold the equations to look at, for which `waiting` is set. Both are working
    space with a place for each equation; nothing waits at the end if all is well.
    """
    starts, terms, of_starts, of = arrays
    room, head = queue.size, 0
    while count:
        equation = queue[head]
        head = (head + 1) % room
        count -= 1
        waiting[equation] = False
        least = most = targets[equation]
        for place in range(starts[equation], starts[equation + 1]):
            least -= low[terms[place]]
            most -= high[terms[place]]
        # What is left to give beyond the lows, and (below 0) what the highs could give too much.
        if least < 0 or most > 0:
            return equation
        if least == 0 and most == 0:
            continue
        for place in range(starts[equation], starts[equation + 1]):
            unknown = terms[place]
            top = low[unknown] + least
            bottom = high[unknown] + most
            changed = False
            if top < high[unknown]:
                most += high[unknown] - top
                high[unknown] = top
                changed = True
            if bottom > low[unknown]:
                least -= bottom - low[unknown]
                low[unknown] = bottom
                changed = True
            if changed:
                if low[unknown] > high[unknown] or least < 0 or most > 0:
                    return equation
                for other in range(of_starts[unknown], of_starts[unknown + 1]):
                    again = of[other]
                    if not waiting[again]:
                        waiting[again] = True
                        queue[(head + count) % room] = again
                        count += 1
    return -1


@dataclass(frozen=True, repr=False)
class Part:
    """A part of a model that nothing ties to the rest, with the unknowns that are settled taken out."""

    model: Model
    classes: Ints
    """Which classes of the whole it has."""
    states: tuple[tuple[int, ...], ...]
    """For each of them which of its states are left."""


def components(model: Model) -> Iterator[tuple[Model, Ints]]:
    """The independent parts of a model, each with its classes.

    Every class is in exactly one part, its states with their values in the same order; those that are in no world, by
    propagation of bounds, are left out. The worlds of the model are the combinations of the worlds of the parts. A
    part that contradicts itself comes as it is, and has no worlds.
    """
    for part in parts(model):
        yield part.model, part.classes


def parts(model: Model) -> Iterator[Part]:
    """The independent parts of a model, with what became of their states."""
    everything = [[(at, state.counters) for at, state in enumerate(states)] for states in model.states]
    for classes, counters in _connected(everything, len(model.targets)):
        raw = _part(model, classes, [everything[c] for c in classes], model.targets, counters)
        equations = Equations.of_model(raw.model)
        bounds = equations.bounds()
        yield from [raw] if bounds is None else _settled(raw, equations, *bounds)


def _settled(raw: Part, equations: Equations, low: Ints, high: Ints) -> Iterator[Part]:
    """The parts into which one falls once the unknowns that can have one number only are taken out of the counters."""
    fixed = equations.by_class((low == high).tolist())
    number = equations.by_class(high.tolist())
    targets = list(raw.model.targets)
    left: Left = []
    for states, settled, numbers in zip(raw.model.states, fixed, number, strict=True):
        kept: list[tuple[int, tuple[int, ...]]] = []
        alone = sum(most > 0 for most in numbers) == 1
        for at, (state, done, most) in enumerate(zip(states, settled, numbers, strict=True)):
            if not done:
                kept.append((at, state.counters))
                continue
            for counter in state.counters:
                targets[counter] -= most
            if most:
                # How many of the class are in this state is known, who is not: a counter of its own keeps the number.
                kept.append((at, () if alone else (len(targets),)))
                targets += [] if alone else [most]
        left.append(kept)
    for classes, counters in _connected(left, len(targets)):
        if classes:
            part = _part(raw.model, classes, [left[c] for c in classes], targets, counters)
            yield Part(part.model, raw.classes[part.classes], part.states)


def _part(model: Model, classes: list[int], left: Left, targets: Sequence[int], used: list[int]) -> Part:
    """The given classes with the states and counters that are left of them, counters numbered anew."""
    number = {counter: at for at, counter in enumerate(used)}
    states = tuple(
        tuple(State(model.states[c][at].value, tuple(number[k] for k in counters)) for at, counters in kept)
        for c, kept in zip(classes, left, strict=True)
    )
    part = Model(tuple(model.sizes[c] for c in classes), states, tuple(targets[k] for k in used))
    return Part(part, np.array(classes, dtype=np.int64), tuple(tuple(at for at, _ in kept) for kept in left))


def _connected(left: Left, counters: int) -> Iterator[tuple[list[int], list[int]]]:
    """The classes, and the counters, that hang together; a counter that nothing adds to stands alone."""
    import igraph

    classes = len(left)
    edges = {(c, classes + k) for c, kept in enumerate(left) for _, added in kept for k in added}
    graph = igraph.Graph(classes + counters, sorted(edges))
    for nodes in graph.connected_components():
        yield [node for node in nodes if node < classes], [node - classes for node in nodes if node >= classes]


def model_of(
    published: Published, *, known: tuple[Ints, Ints] | None = None, limit: int = STATES
) -> tuple[Model, Ints, Ints]:
    """The model of a view, the numbers of its people, ascending, and the class of each of them.

    Counters are the published values of the groups, in the order in which the view stores them. `known` are people by
    number and the positions of the values they are known to have if they were in a release at all. A view with more
    than `limit` states is refused.
    """
    _need_certain_places(published)
    offsets = _starts([release.group_count for release in published.releases])
    people, of_class, codes = _described(published, known, offsets)
    counters = _counters(published)
    states: list[tuple[State, ...]] = []
    room = limit
    for code in codes:
        states.append(_states(*_options(code, offsets, len(published.releases)), counters, room, limit))
        room -= len(states[-1])
    targets = tuple(often for release in published.releases for often in release.counts.tolist())
    return Model(tuple(np.bincount(of_class).tolist()), tuple(states), targets), people, of_class


def _described(published: Published, known: tuple[Ints, Ints] | None, offsets: Ints) -> tuple[Ints, Ints, list[Ints]]:
    """Everybody, the class of each, and for each class what is known of it in code, ascending.

    With G groups and R releases: 2 g for a certain place in group g, 2 g + 1 for an uncertain one, 2 G + r for certain
    presence in release r, 2 G + R + v for a known value v.
    """
    presence, value = 2 * int(offsets[-1]), 2 * int(offsets[-1]) + len(published.releases)
    who, what = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for at, release in enumerate(published.releases):
        group = offsets[at] + np.repeat(np.arange(release.group_count), release.sizes)
        who.append(release.members)
        what.append(2 * group + (0 if release.sure is None else ~release.sure))
        if release.present is not None:
            who.append(release.present)
            what.append(np.full(release.present.size, presence + at))
    listed = np.unique(np.concatenate([release.members for release in published.releases] or who))
    if known is not None:
        who.append(known[0])
        what.append(value + known[1])
    said = np.concatenate(who)
    pairs = np.unique(np.column_stack([said, np.concatenate(what)])[np.isin(said, listed)], axis=0)
    person, code = np.searchsorted(listed, pairs[:, 0]), pairs[:, 1]
    begins = np.searchsorted(person, np.arange(listed.size + 1))
    of_class = np.zeros(listed.size, dtype=np.int64)
    rank = np.arange(person.size) - begins[person]
    for step in range(int(rank.max(initial=-1)) + 1):  # classes are refined by one thing known after the other
        here = rank == step
        refined = np.column_stack([of_class, np.full(listed.size, -1)])
        refined[person[here], 1] = code[here]
        of_class = np.unique(refined, axis=0, return_inverse=True)[1].ravel()
    first = np.unique(of_class, return_index=True)[1]
    return listed, of_class, [code[begins[at] : begins[at + 1]] for at in first]


def _options(code: Ints, offsets: Ints, releases: int) -> tuple[list[list[int | None]], int | None]:
    """For each release that lists somebody the places he may have had in it (None: absent), and his value if known."""
    groups = int(offsets[-1])
    sure: dict[int, int] = {}
    maybe: dict[int, list[int | None]] = {}
    value: int | None = None
    for one in code.tolist():
        release = int(np.searchsorted(offsets, one // 2, side="right")) - 1
        if one >= 2 * groups + releases:
            value = one - 2 * groups - releases
        elif one >= 2 * groups:
            maybe.get(one - 2 * groups, [None]).remove(None)
        elif one % 2 == 0:
            sure[release] = one // 2
        else:
            maybe.setdefault(release, [None]).append(one // 2)
    return [[sure[at]] if at in sure else maybe[at] for at in sorted(sure.keys() | maybe.keys())], value


def _states(
    options: list[list[int | None]], value: int | None, counters: list[dict[int, int]], room: int, limit: int
) -> tuple[State, ...]:
    """Every choice of places, with every value that all of them publish."""
    ways: list[tuple[set[int] | None, tuple[int, ...]]] = [(None if value is None else {value}, ())]
    for places in options:
        grown: list[tuple[set[int] | None, tuple[int, ...]]] = []
        for values, groups in ways:
            for place in places:
                if place is None:
                    grown.append((values, groups))
                    continue
                common = set(counters[place]) if values is None else values & counters[place].keys()
                grown += [(common, (*groups, place))] if common else []
        ways = grown
        if sum(len(values or ()) for values, groups in ways) > room:
            raise ParameterError(
                f"The view leaves more than {limit:,} combinations of values and places to its people, the 'limit' "
                "parameter of model_of.",
                hint="look at fewer releases at a time, or say who certainly was in them.",
            )
    held = [State(v, tuple(counters[g][v] for g in groups)) for values, groups in ways if groups for v in values or ()]
    absent = [State(None, ()) for _, groups in ways if not groups]
    return tuple(sorted(held, key=lambda state: (state.value, state.counters)) + absent)


def _counters(published: Published) -> list[dict[int, int]]:
    """For each group, numbered over all releases, the counters of its values."""
    found: list[dict[int, int]] = []
    counters = count()
    for release in published.releases:
        values = release.values.tolist()
        for start, stop in pairwise(release.value_starts.tolist()):
            found.append(dict(zip(values[start:stop], counters, strict=False)))
    return found


def _need_certain_places(published: Published) -> None:
    problems = []
    if not published.single:
        problems.append("Its members may have several values or none.")
    for release in published.releases:
        if release.space is not None:
            problems.append(f"Release {release.number} does not say who may be in which group.")
        members = release.members if release.sure is None else release.members[release.sure]
        twice = members.size - np.unique(members).size
        if twice:
            problems.append(
                f"Release {release.number} has {count_of(twice, 'membership')} too many of people placed twice."
            )
    if problems:
        raise ParameterError(
            "The possible worlds of this view cannot be written out.",
            problems=problems,
            hint="use a view with single=True in which everybody has one certain place in a release at most.",
        )


def _starts(lengths: npt.ArrayLike) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.asarray(lengths, dtype=np.int64))])
