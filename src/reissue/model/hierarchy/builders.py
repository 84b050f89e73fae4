"""What a hierarchy is built from: labels in a graph, or rows that become one.

A `Taxonomy` is the root and what lies below each inner label, in order. Here is what it must be like,
how rows (one for each leaf, more general to the right) turn into it, and the rows of hierarchies that
need no file: intervals of whole numbers, dates, and masked strings. Problems are gathered; `Hierarchy`
raises them together.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from reissue.errors import NOT_TEXT, HierarchyError, ParameterError, count_of, is_text, listed

_SHOWN = 12
ROOT = "*"

# How much of an ISO date each level keeps.
_DATE_LEVELS = {"day": 10, "month": 7, "year": 4}


class Taxonomy(NamedTuple):
    """Labels and what lies below them, with the problems found on the way."""

    root: str
    children: dict[str, list[str]]
    """The labels directly below each inner label; a label without an entry is a leaf."""
    problems: list[str]


def graph_problems(root: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    """What keeps labels and their children from being a taxonomy with this one root."""
    if root not in children:
        return [f"the root '{root}' has nothing below it"]
    problems = []
    empty = [label for label, below in children.items() if not below]
    if empty:
        problems.append(f"inner labels with nothing below them: {listed(empty)}")
    twice = [label for label, below in children.items() if len(set(below)) < len(below)]
    if twice:
        problems.append(f"the same label stands twice directly under {listed(twice)}")
    if any(not label.strip() for below in ([root], *children.values()) for label in below):
        problems.append("a label is empty")
    unwritable = {label for below in ([root], *children.values()) for label in below if not is_text(label)}
    if unwritable:
        problems.append(f"labels with {NOT_TEXT}: {listed(sorted(unwritable))}")
    cycles, reached = _search(root, children)
    problems += shortened(cycles)
    lost = [label for label in children if label not in reached]
    if lost:
        problems.append(f"not below the root '{root}': {listed(lost)}")
    return problems


def _search(root: str, children: Mapping[str, Sequence[str]]) -> tuple[list[str], set[str]]:
    """Depth first from the root: every cycle closed on the way, and every label met."""
    cycles = []
    reached = {root}
    path = {root: None}
    waiting = [iter(children.get(root, ()))]
    while waiting:
        label = next(waiting[-1], None)
        if label is None:
            waiting.pop()
            path.popitem()
        elif label in path:
            trail = list(path)
            around = [f"'{name}'" for name in (*trail[trail.index(label) :], label)]
            if len(around) > _SHOWN:
                around[_SHOWN - 1 : -1] = [f"{len(around) - _SHOWN:,} more"]
            cycles.append("a cycle: " + " > ".join(around))
        elif label not in reached:
            reached.add(label)
            path[label] = None
            waiting.append(iter(children.get(label, ())))
    return cycles, reached


def taxonomy_of_rows(rows: Iterable[Sequence[str]]) -> Taxonomy:
    """One row for each leaf, more general to the right; empty rows are passed over, but counted."""
    numbered = [(number, row) for number, row in enumerate(rows, start=1) if len(row)]
    if not numbered:
        return Taxonomy("", {}, ["there are no rows"])
    broken = [number for number, row in numbered if not _all_text(row)]
    blank = [number for number, row in numbered if _all_text(row) and any(not cell.strip() for cell in row)]
    # The length most rows have is taken as meant; of two equally frequent ones, the first.
    width = Counter(len(row) for _, row in numbered).most_common(1)[0][0]
    uneven = [number for number, row in numbered if len(row) != width]
    problems = []
    if broken:
        problems.append(f"{_rows(broken)} must be a sequence of texts")
    if blank:
        problems.append(f"empty cells in {_rows(blank)}")
    if uneven:
        problems.append(f"uneven rows: {_rows(uneven)} should have {count_of(width, 'cell')} like the others")
    wrong = {*broken, *blank, *uneven}
    # A row that is wrong in itself takes no part in the rest: it would be blamed a second time.
    sound = [row for number, row in numbered if number not in wrong]
    repeated = [leaf for leaf, often in Counter(row[0] for row in sound).items() if often > 1]
    if repeated:
        problems.append(f"duplicate leaves: {listed(repeated)}")
    if width == 1:
        problems.append("there is only one column, so nothing is above the leaves; is the delimiter right?")
    elif sound:
        problems += _level_problems(sound, width)
    below: dict[str, dict[str, None]] = {}
    for row in sound:
        for label, above in pairwise(row):
            if label != above:
                below.setdefault(above, {})[label] = None
    root = sound[0][-1] if sound else ""
    if not problems and not below:
        problems.append("nothing is above the leaves: all labels are the same")
    return Taxonomy(root, {label: list(under) for label, under in below.items()}, problems)


def _all_text(row: Sequence[str]) -> bool:
    return not isinstance(row, str) and all(isinstance(cell, str) for cell in row)


def _level_problems(rows: list[Sequence[str]], width: int) -> list[str]:
    """Rules that are not monotone, several roots, and labels with more than one meaning."""
    problems = []
    split = []
    for level in range(1, width - 1):
        above: dict[str, dict[str, None]] = {}
        for row in rows:
            above.setdefault(row[level], {})[row[level + 1]] = None
        split += [
            f"not monotone: '{label}' of level {level} becomes {listed(list(seen))} at level {level + 1}"
            for label, seen in above.items()
            if len(seen) > 1
        ]
    problems += shortened(split)
    roots = list(dict.fromkeys(row[-1] for row in rows))
    if len(roots) > 1:
        problems.append(f"the last level must hold a single label, but holds {len(roots):,}: {listed(roots)}")
    members: dict[str, dict[int, list[int]]] = {}
    for level in range(width):
        for number, row in enumerate(rows):
            members.setdefault(row[level], {}).setdefault(level, []).append(number)
    twofold = []
    for label, by_level in members.items():
        found = list(by_level)
        where = " and ".join(str(level) for level in found)
        if any(leaves != by_level[found[0]] for leaves in by_level.values()):
            twofold.append(f"'{label}' stands for different leaves at levels {where}")
        elif found[-1] - found[0] >= len(found):
            twofold.append(f"'{label}' stands at levels {where}, with another label between")
    return problems + shortened(twofold)


def interval_rows(low: int, high: int, widths: Sequence[int], label: str) -> list[list[str]]:
    """One row for each whole number from `low` to `high`, then its interval of every width."""
    problems = []
    if not _whole(low):
        problems.append(_parameter("intervals", "low", "a whole number", low))
    if not _whole(high) or (_whole(low) and high < low):
        problems.append(_parameter("intervals", "high", "a whole number, not below 'low'", high))
    if not _widths_fit(widths):
        problems.append(
            _parameter(
                "intervals",
                "widths",
                "whole numbers of at least 2, each a larger multiple of the one before",
                widths,
            )
        )
    if _filled(label, 0, 1) in (None, _filled(label, 0, 2), _filled(label, -1, 1)):
        problems.append(_parameter("intervals", "label", "a text with '{low}' and '{high}'", label))
    _raise_together("intervals", problems)
    return [
        [
            str(number),
            # Intervals begin at multiples of their width and keep their full label at the rims of the
            # domain, so that a label means the same when a later release needs a wider domain.
            *(label.format(low=(start := number - number % width), high=start + width - 1) for width in widths),
            ROOT,
        ]
        for number in range(low, high + 1)
    ]


def date_rows(first: datetime.date, last: datetime.date, levels: Sequence[str]) -> list[list[str]]:
    """One row for each day (month, year) from `first` to `last`, then its more general periods."""
    problems = []
    if not _day(first):
        problems.append(_parameter("dates", "first", "a date without a time", first))
    if not _day(last) or (_day(first) and last < first):
        problems.append(_parameter("dates", "last", "a date without a time, not before 'first'", last))
    order = [level for level in _DATE_LEVELS if level in levels]
    if not order or list(levels) != order:
        problems.append(_parameter("dates", "levels", "some of 'day', 'month', 'year', in this order", levels))
    _raise_together("dates", problems)
    days = (datetime.date.fromordinal(day).isoformat() for day in range(first.toordinal(), last.toordinal() + 1))
    kept = [_DATE_LEVELS[level] for level in levels]
    leaves = dict.fromkeys(day[: kept[0]] for day in days)
    return [[*(leaf[:length] for length in kept), ROOT] for leaf in leaves]


def masked_rows(values: Iterable[str], character: str, levels: Sequence[int] | None) -> list[list[str]]:
    """One row for each distinct value, in order, then the value with ever more of its end masked.

    The values may come from a private table: problems speak of them only by count.
    """
    if not isinstance(character, str) or len(character) != 1:
        raise ParameterError(_parameter("masked", "character", "a single character", character))
    if isinstance(values, str):
        raise ParameterError(
            "The 'values' parameter of Hierarchy.masked must be a collection of texts. Got a single text instead."
        )
    given = list(dict.fromkeys(values))
    texts = sorted(value for value in given if isinstance(value, str))
    length = max(map(len, texts), default=0)
    shorter = sum(len(text) < length for text in texts)
    starred = sum(character in text for text in texts)
    problems = []
    if len(texts) < len(given):
        problems.append(f"not text: {count_of(len(given) - len(texts), 'value')}")
    if not length:
        problems.append("there is no value to mask")
    if shorter:
        problems.append(f"shorter than the longest ({length} characters): {count_of(shorter, 'value')}")
    if starred:
        problems.append(f"with the masking character '{character}' in it: {count_of(starred, 'value')}")
    if problems:
        raise HierarchyError(
            f"No hierarchy can be masked from these {len(given):,} distinct values.",
            problems=problems,
            hint="bring all values to one length first, for example with leading zeros.",
        )
    steps = list(range(1, length) if levels is None else levels)
    if any(not _whole(step) or not 0 < step < length for step in steps) or _falling(steps):
        wanted = f"rising whole numbers from 1 to {length - 1}"
        raise ParameterError(_parameter("masked", "levels", wanted, levels))
    return [[text, *(text[: length - step] + character * step for step in [*steps, length])] for text in texts]


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _day(date: object) -> bool:
    # A datetime is a date too, but its time of day would be lost in silence.
    return isinstance(date, datetime.date) and not isinstance(date, datetime.datetime)


def _widths_fit(widths: Sequence[int]) -> bool:
    if not isinstance(widths, Sequence) or any(not _whole(width) or width < 2 for width in widths):
        return False
    return not _falling(widths) and all(wide % narrow == 0 for narrow, wide in pairwise(widths))


def _falling(numbers: Sequence[int]) -> bool:
    return any(after <= before for before, after in pairwise(numbers))


def _filled(label: str, low: int, high: int) -> str | None:
    try:
        return label.format(low=low, high=high)
    except (AttributeError, IndexError, KeyError, ValueError):
        return None


def _parameter(builder: str, name: str, wanted: str, got: object) -> str:
    return f"The '{name}' parameter of Hierarchy.{builder} must be {wanted}. Got {got!r} instead."


def _raise_together(builder: str, problems: list[str]) -> None:
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"Hierarchy.{builder} got {len(problems)} wrong parameters.", problems=problems)


def shortened(problems: list[str]) -> list[str]:
    """At most a dozen problems of one kind, then how many more there are."""
    if len(problems) <= _SHOWN:
        return problems
    return [*problems[:_SHOWN], f"and {len(problems) - _SHOWN:,} more like these"]


def _rows(numbers: list[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    more = f" and {len(numbers) - _SHOWN:,} more" if len(numbers) > _SHOWN else ""
    return f"{'row' if len(numbers) == 1 else 'rows'} {shown}{more}"
