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
from itertools import chain, count, pairwise

import numpy as np

from reissue.arrays.budget import need_time
from reissue.arrays.runs import joined
from reissue.arrays.types import Ints
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published
from reissue.reasoning.worlds.worlds_equations import Equations

Left = list[list[tuple[int, tuple[int, ...]]]]
"""For each class which of its states are left, and to which counters each of them adds."""

STATES = 1_000_000
"""With more states than this a model is no longer written out."""


@dataclass(frozen=True, repr=False, slots=True)
class PersonState:
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
    states: tuple[tuple[PersonState, ...], ...]
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
class ModelPart:
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


def parts(model: Model, deadline: float | None = None) -> Iterator[ModelPart]:
    """The independent parts of a model, with what became of their states.

    Raises `OutOfTime` if the deadline passes.
    """
    everything = [[(at, state.counters) for at, state in enumerate(states)] for states in model.states]
    for classes, counters in _connected(everything, len(model.targets), deadline):
        raw = _part(model, classes, [everything[c] for c in classes], model.targets, counters, deadline)
        equations = Equations.of_model(raw.model, deadline)
        bounds = equations.bounds(deadline)
        yield from [raw] if bounds is None else _settled(raw, equations, *bounds, deadline)


def _settled(
    raw: ModelPart, equations: Equations, low: Ints, high: Ints, deadline: float | None
) -> Iterator[ModelPart]:
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
    for classes, counters in _connected(left, len(targets), deadline):
        if classes:
            part = _part(raw.model, classes, [left[c] for c in classes], targets, counters, deadline)
            yield ModelPart(part.model, raw.classes[part.classes], part.states)


def _part(
    model: Model,
    classes: list[int],
    left: Left,
    targets: Sequence[int],
    used: list[int],
    deadline: float | None,
) -> ModelPart:
    """The given classes with the states and counters that are left of them, counters numbered anew."""
    number = {counter: at for at, counter in enumerate(used)}
    states = []
    for c, kept in zip(classes, left, strict=True):
        need_time(deadline, 2 + 2 * len(kept))
        old = model.states[c]
        states.append(tuple(PersonState(old[at].value, tuple([number[k] for k in counters])) for at, counters in kept))
    part = Model(tuple(model.sizes[c] for c in classes), tuple(states), tuple(targets[k] for k in used))
    return ModelPart(part, np.array(classes, dtype=np.int64), tuple(tuple(at for at, _ in kept) for kept in left))


def _connected(left: Left, counters: int, deadline: float | None) -> Iterator[tuple[list[int], list[int]]]:
    """The classes, and the counters, that hang together; a counter that nothing adds to stands alone."""
    import igraph

    classes = len(left)
    edges: set[tuple[int, int]] = set()
    for c, kept in enumerate(left):
        need_time(deadline, 2 + 2 * len(kept))
        edges.update((c, classes + k) for k in set(chain.from_iterable(added for _, added in kept)))
    graph = igraph.Graph(classes + counters, np.array(sorted(edges), dtype=np.int64).reshape(-1, 2))
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
    offsets = published.index.bounds
    people, of_class, codes = _described(published, known, offsets)
    counters = _counters(published)
    states: list[tuple[PersonState, ...]] = []
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
    where = published.index
    unsure = [np.zeros(r.members.size, dtype=np.bool_) if r.sure is None else ~r.sure for r in published.releases]
    who, what = [where.member], [2 * where.member_groups + joined(unsure)]
    for at, release in enumerate(published.releases):
        if release.present is not None:
            who.append(where.places(release.present))
            what.append(np.full(release.present.size, presence + at))
    if known is not None:
        who.append(where.places(known[0]))
        what.append(value + known[1])
    said = np.column_stack([joined(who), joined(what)])
    person, code = np.unique(said[said[:, 0] >= 0], axis=0).T
    listed = where.people
    begins = np.searchsorted(person, np.arange(listed.size + 1))
    # Big-endian, so that the order of the bytes is that of the numbers; somebody may have thousands of them.
    text, bounds = code.astype(">i8").tobytes(), (8 * begins).tolist()
    described = [text[start:stop] for start, stop in pairwise(bounds)]
    number = {one: at for at, one in enumerate(sorted(set(described)))}
    of_class = np.fromiter(map(number.__getitem__, described), dtype=np.int64, count=listed.size)
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
) -> tuple[PersonState, ...]:
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
            _need_room(len(grown) - 1, room, limit)  # all but that of who is absent have a value
        ways = grown
        _need_room(sum(len(values or ()) for values, groups in ways), room, limit)
    held = [
        PersonState(v, tuple(counters[g][v] for g in groups)) for values, groups in ways if groups for v in values or ()
    ]
    absent = [PersonState(None, ()) for _, groups in ways if not groups]
    return tuple(sorted(held, key=lambda state: (state.value, state.counters)) + absent)


def _need_room(states: int, room: int, limit: int) -> None:
    if states > room:
        raise ParameterError(
            f"The view leaves more than {limit:,} combinations of values and places to its people, the 'limit' "
            "parameter of model_of.",
            hint="look at fewer releases at a time, or say who certainly was in them.",
        )


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
