"""All that follows from a series with static values and known members, by a solver of its own.

People with the same groups in all releases are one class, and a world says how many of a class have each value. A value
is possible for a class if some world in whole numbers has it there; whoever is left with one is certain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import count

import highspy
from known_truth import PERSON, KnownSeries

Place = tuple[int, int]
"""A release and a group of it."""
Pair = tuple[int, str]
"""A class and a value."""


def certain_of(series: KnownSeries) -> dict[str, str]:
    """Everybody who can have one value only."""
    paths, shown = _places(series)
    people: dict[tuple[Place, ...], list[str]] = defaultdict(list)
    for person, path in paths.items():
        people[tuple(path)].append(person)
    classes = list(people)
    found: dict[str, str] = {}
    for part in _components(classes):
        for at, values in _possible([classes[at] for at in part], [len(people[classes[at]]) for at in part], shown):
            if len(values) == 1:
                found |= dict.fromkeys(people[classes[part[at]]], next(iter(values)))
    return found


def intersected(series: KnownSeries) -> dict[str, str]:
    """Whose groups have one value in common: what anybody sees who does not count."""
    paths, shown = _places(series)
    common = {person: set.intersection(*(set(shown[place]) for place in path)) for person, path in paths.items()}
    return {person: next(iter(values)) for person, values in common.items() if len(values) == 1}


def _places(series: KnownSeries) -> tuple[dict[str, list[Place]], dict[Place, Counter[str]]]:
    """The groups that everybody is in, and how often each group shows each value."""
    paths: dict[str, list[Place]] = defaultdict(list)
    shown: dict[Place, Counter[str]] = defaultdict(Counter)
    for release, rows in enumerate(series.rows):
        numbers: dict[tuple[object, ...], int] = defaultdict(count().__next__)
        for *cells, person, value in rows.select(*series.quasi, PERSON, series.sensitive).iter_rows():
            place = (release, numbers[tuple(cells)])
            paths[person].append(place)
            shown[place][value] += 1
    return paths, shown


def _components(classes: list[tuple[Place, ...]]) -> Iterator[list[int]]:
    """Classes that hang together by their groups."""
    at_place: dict[Place, list[int]] = defaultdict(list)
    for at, path in enumerate(classes):
        for place in path:
            at_place[place].append(at)
    seen: set[int] = set()
    for first in range(len(classes)):
        if first in seen:
            continue
        part, queue = [], [first]
        seen.add(first)
        while queue:
            at = queue.pop()
            part.append(at)
            new = {other for place in classes[at] for other in at_place[place]} - seen
            seen |= new
            queue.extend(new)
        yield part


def _possible(
    classes: list[tuple[Place, ...]], sizes: list[int], shown: dict[Place, Counter[str]]
) -> list[tuple[int, set[str]]]:
    """For each class the values that somebody of it has in some world."""
    pairs: dict[Pair, int] = {}
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    for at, path in enumerate(classes):
        for value in set.intersection(*(set(shown[place]) for place in path)):
            pairs[at, value] = len(pairs)
            solver.addVar(0.0, float(sizes[at]))
            solver.changeColIntegrality(pairs[at, value], highspy.HighsVarType.kInteger)
    sums: dict[object, list[int]] = defaultdict(list)
    for (at, value), column in pairs.items():
        sums[at].append(column)
        for place in classes[at]:
            sums[place, value].append(column)
    for at, size in enumerate(sizes):
        solver.addRow(size, size, len(sums[at]), sums[at], [1.0] * len(sums[at]))
    for place in {place for path in classes for place in path}:
        for value, often in shown[place].items():
            some = sums[place, value]
            solver.addRow(often, often, len(some), some, [1.0] * len(some))
    open_, possible = set(pairs), set[Pair]()
    solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
    while open_:
        wanted = min(open_)
        for pair, column in pairs.items():
            # The one that is asked for first, and as many of the others as come with it.
            solver.changeColCost(column, 1000.0 if pair == wanted else 1.0 if pair in open_ else 0.0)
        solver.run()
        assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, "the groups contradict each other"
        held = solver.getSolution().col_value
        possible |= {pair for pair, column in pairs.items() if held[column] > 0.5}
        open_ -= possible | {wanted}
    return [(at, {value for of, value in possible if of == at}) for at in range(len(classes))]
