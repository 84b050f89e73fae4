"""Draw sets of whole records: exactly with the probabilities of a design, given everybody's true record.

A walk takes x = m p to whole numbers n, by steps in which every x_r keeps its mean (`kernels.record_steps`): so that
E n_r = m p_r, and n is a set of m records within all limits. Whoever has the record r walks by the same branches, each
with its chance times x_r(new) / x_r(old). These factors multiply to n_r(S) / (m p_r), whatever way the walk took, so

    P(S | r) = P(S) n_r(S) / (m p_r),   and   p_r P(S | r) = P(S) n_r(S) / m:

the posterior of a record is its places in the set / m, without rejection and without knowing P(S). Directions depend on
where the walk is and on random words, never on the true record.

Limits of two columns always hold. With more, those of the columns that yield (`RecordDesign.yielding`) would be
exceeded in a few sets. These are drawn again, so that no limit is: then posteriors are what a set shows but for a
factor near 1, which `record_excess` works out.

The tree of records that the walk goes down has neighbours that are alike in the columns with the most values. The walk
begins with nodes that have at most `TOGETHER` places on average: such records are never in a set together. Larger
nodes are faster. On diabetes records, m = 8, design effects were the same with 0.1, 0.25 and 0.5, and up to a fifth
larger with 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from reissue.arrays.cores import PARALLEL_FROM, at_once, spans
from reissue.arrays.types import Bools, Floats, Ints, Words
from reissue.errors import InternalError, count_of
from reissue.kernels.record_steps import DONE, SHORT, fly_records
from reissue.model.record_design import RecordDesign
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.alternatives.record_excess import excess

RandomWords = Callable[[Ints, int], Words]
"""Called with rows and a round, 0 or more: fresh random words for each of these rows, used in order."""

TOGETHER = 1 / 2
CHUNK = 1 << 13
"""So many people are drawn at a time."""
WIDTH = 16
"""So many public words a round: nearly always enough."""
DRAWN = 100_000
"""So many sets are drawn where it is asked how probable a set is."""
AS_GOOD_AS_NONE = 1e-200
"""In place of the probability of a set that never came up."""
ROUNDS = 64
"""So often people are given more words before something must be wrong."""
FOLLOWED = 5
"""With so many nodes to begin with, at most, all courses of a walk are followed."""
BALANCED = 1 / 4
"""A node is cut between values, where that leaves at least this part of its share on either side."""


@dataclass(frozen=True)
class Tree:
    """What the walk reads of a design. Records have places in the order of the tree."""

    m: int
    order: Ints
    """The number of the record at each place."""
    place_of: Ints
    """The place of each record."""
    first: Ints
    share: Floats
    halves: Ints
    until: Ints
    most: Floats
    begin: Ints
    which: Ints
    part: Floats
    start: Floats
    room: Floats
    reserve: Floats

    def fly(self, true: Ints, words: Words, skip: Ints, script: Ints, odds: Floats) -> tuple[Ints, Ints]:
        """A set for each true place, and how it ended; a row's first words can be skipped."""
        drawn, ended = np.zeros((true.size, self.m), np.int64), np.empty(true.size, np.int64)
        fly_records(
            true, words, skip, script, odds, self.m, self.first, self.share, self.halves, self.until, self.most,
            self.begin, self.which, self.part, self.start, self.room, self.reserve, drawn, ended,
        )  # fmt: skip
        if not np.isin(ended, (DONE, SHORT)).all():
            raise InternalError("A walk did not end at whole numbers of records.")
        return drawn, ended


def tree_of(design: RecordDesign, together: float = TOGETHER) -> Tree:
    """The tree of records that is walked down."""
    columns = [design.records[:, column] for column in design.order]
    order = np.lexsort(columns[::-1])
    records, shares = design.records[order], design.shares[order]
    added = np.concatenate([[0.0], np.cumsum(shares)])
    # Between neighbours, the first column in which they differ: where to cut.
    differ = np.diff(records[:, list(design.order)], axis=0) != 0
    kind = np.concatenate([[0], differ.argmax(axis=1), [0]]).astype(np.int64)
    spread: list[tuple[int, int]] = [(0, len(order))]
    nodes: list[tuple[int, int]] = []
    first: list[int] = []
    halves: list[tuple[int, int]] = []
    while spread:  # what is large is cut until it is small enough to begin with
        low, high = spread.pop()
        if high - low > 1 and design.m * (added[high] - added[low]) > together:
            middle = _cut(added, kind, low, high)
            spread += [(middle, high), (low, middle)]
        else:
            first.append(len(nodes))
            nodes.append((low, high))
    at = 0
    while at < len(nodes):
        low, high = nodes[at]
        if high - low == 1:
            halves.append((-1, -1))
        else:
            middle = _cut(added, kind, low, high)
            halves.append((len(nodes), len(nodes) + 1))
            nodes += [(low, middle), (middle, high)]
        at += 1
    limited = [np.flatnonzero(room < design.m) for room in design.room]
    number: list[Ints] = []
    room: list[int] = []
    yields: list[bool] = []
    for column, values in enumerate(limited):
        of = np.full(design.room[column].size, -1, dtype=np.int64)
        of[values] = len(room) + np.arange(values.size)
        number.append(of[records[:, column]])
        room += design.room[column][values].tolist()
        yields += [column in design.yielding] * values.size
    limits = np.stack(number, axis=1)
    begin, which, part = _parts(nodes, limits, shares)
    inside = limits.ravel() >= 0
    start = np.bincount(
        limits.ravel()[inside], weights=np.repeat(design.m * shares, design.columns)[inside], minlength=len(room)
    )
    place_of = np.empty(len(order), dtype=np.int64)
    place_of[order] = np.arange(len(order))
    until = np.array(nodes, dtype=np.int64).T.copy()
    return Tree(
        m=design.m,
        order=order,
        place_of=place_of,
        first=np.array(first, dtype=np.int64),
        share=np.array([shares[low:high].sum() for low, high in nodes]),
        halves=np.array(halves, dtype=np.int64).T.copy(),
        until=until,
        most=np.where(until[1] - until[0] == 1, design.most[order][until[0]], 1).astype(np.float64),
        begin=begin,
        which=which,
        part=part,
        start=start.astype(np.float64),
        room=np.array(room, dtype=np.float64),
        reserve=np.where(yields, _kept_back(np.array(room) - start), -1.0),
    )


def _kept_back(beyond: Floats) -> Floats:
    """Of the room that a value has beyond its share, what is kept back: half of it or all but half a place; one."""
    return np.clip(np.maximum(beyond / 2, beyond - 1 / 2), 0.0, 1.0)


def _cut(added: Floats, kind: Ints, low: int, high: int) -> int:
    """Where to cut what is from `low` to `high`: near the middle, if possible between values of an early column."""
    inside = np.arange(low + 1, high)
    left = (added[inside] - added[low]) / (added[high] - added[low])
    away = np.abs(left - 0.5)
    fair = np.flatnonzero(away <= 0.5 - BALANCED)
    if not fair.size:
        return int(inside[away.argmin()])
    best = fair[kind[inside[fair]] == kind[inside[fair]].min()]
    return int(inside[best[away[best].argmin()]])


def _parts(nodes: list[tuple[int, int]], limits: Ints, shares: Floats) -> tuple[Ints, Ints, Floats]:
    """For each node the limits its records are under, and with which part of its share."""
    begin, which, part = [0], [], []
    for low, high in nodes:
        own = limits[low:high].ravel()
        weights = np.repeat(shares[low:high] / shares[low:high].sum(), limits.shape[1])
        found, back = np.unique(own, return_inverse=True)
        sums = np.bincount(back, weights=weights)
        if found.size and found[0] < 0:  # values without a limit
            found, sums = found[1:], sums[1:]
        which.append(found)
        part.append(np.ones(found.size) if high - low == 1 else sums)
        begin.append(begin[-1] + found.size)
    return np.array(begin, dtype=np.int64), np.concatenate(which), np.concatenate(part).astype(np.float64)


def draw_records(
    design: RecordDesign, true: npt.NDArray[np.integer], words: RandomWords, tree: Tree | None = None
) -> npt.NDArray[np.unsignedinteger]:
    """A set for everybody with these true records: a row of m records, ascending; -1 for a set of nobody in particular.

    Everybody's set depends on their record, the design and their own words, on nobody else and on no order. What is
    beyond a limit is drawn again.
    """
    return _drawn(design, true, words, tree, lambda sets: np.asarray(excess(design, sets).any(axis=1)))


def walk_ends(
    design: RecordDesign, true: npt.NDArray[np.integer], words: RandomWords, tree: Tree | None = None
) -> npt.NDArray[np.unsignedinteger]:
    """The same, but for sets beyond a limit, which are left as they are: where walks end."""
    return _drawn(design, true, words, tree, lambda sets: np.zeros(len(sets), dtype=np.bool_))


def _drawn(
    design: RecordDesign,
    true: npt.NDArray[np.integer],
    words: RandomWords,
    tree: Tree | None,
    again: Callable[[Ints], Bools],
) -> npt.NDArray[np.unsignedinteger]:
    if true.size and not -1 <= int(true.min()) <= int(true.max()) < len(design.records):
        raise InternalError("a true record is none of the design's")
    tree = tree or tree_of(design)
    places = np.where(true >= 0, tree.place_of[true], -1)
    sets = np.empty((true.size, design.m), dtype=smallest_unsigned(len(design.records)))
    at_once(partial(_draw_span, tree, places, words, again, sets), spans(true.size, PARALLEL_FROM // 10))
    sets.sort(axis=1)
    if not ((true < 0) | (sets == true[:, None]).any(axis=1)).all():
        raise InternalError("A set is without its true record.")
    return sets


def _draw_span(
    tree: Tree,
    places: Ints,
    words: RandomWords,
    again: Callable[[Ints], Bools],
    sets: npt.NDArray[np.unsignedinteger],
    span: tuple[int, int],
) -> None:
    for begin in range(*span, CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, span[1]))
        drawn, skip = np.zeros((rows.size, 0), dtype=np.uint64), np.zeros(rows.size, dtype=np.int64)
        for number in range(ROUNDS):
            drawn = np.concatenate([drawn, words(rows, number)], axis=1)
            found, ended = tree.fly(places[rows], drawn, skip, np.zeros(0, np.int64), np.zeros(2))
            done = ended == DONE
            beyond = done & again(tree.order[found])
            skip[beyond] = drawn.shape[1]  # with words that were not read
            done &= ~beyond
            sets[rows[done]] = tree.order[found[done]]
            rows, drawn, skip = rows[~done], drawn[~done], skip[~done]
            if not rows.size:
                break
        else:
            raise InternalError(f"{count_of(rows.size, 'set')} were not drawn after very many random words.")


def every_course(tree: Tree, record: int = -1) -> Iterator[tuple[Ints, float]]:
    """Every course that a walk can take, to its set and with its chance; given a true record, or nobody in particular.

    For small designs: there are as many as orders of the first nodes, and more.
    """
    true = np.array([tree.place_of[record] if record >= 0 else -1])
    nothing, odds = np.zeros((1, 0), np.uint64), np.zeros(2)
    said: list[int] = []
    options: list[int] = []
    while True:
        script = np.array([len(said), 0, *said, 0], dtype=np.int64)
        drawn, ended = tree.fly(true, nothing, np.zeros(1, np.int64), script, odds)
        if ended[0] == SHORT:
            options.append(int(odds[1]))
            said.append(0)
            continue
        yield np.sort(tree.order[drawn[0]]), float(odds[0])
        while said and said[-1] == options[-1] - 1:
            said.pop()
            options.pop()
        if not said:
            return
        said[-1] += 1


def law_of(design: RecordDesign, record: int = -1, together: float = TOGETHER) -> tuple[Ints, Floats]:
    """Every set that a walk can end at, and its probability; given a true record, or over all. For small designs."""
    tree = tree_of(design, together)
    law: dict[tuple[int, ...], float] = {}
    for drawn, chance in every_course(tree, record):
        key = tuple(drawn.tolist())
        law[key] = law.get(key, 0.0) + chance
    return np.array(list(law), dtype=np.int64).reshape(-1, design.m), np.array(list(law.values()))


def record_chances(design: RecordDesign, sets: Ints) -> tuple[Floats, Floats]:
    """P(S) of sets, ascending, and the largest it can be; 0 for what is no set of the design.

    Exactly where all courses can be followed; elsewhere how often a set comes up among many that are drawn, and a bound
    that is too small with a probability of one in a million or so.
    """
    if tree_of(design).first.size <= FOLLOWED:
        every, chances = law_of(design)
        within = ~excess(design, every).any(axis=1)
        whole = chances[within].sum()
        law = {tuple(one): chance / whole for one, chance in zip(every[within].tolist(), chances[within], strict=True)}
        exact = np.array([law.get(tuple(one), 0.0) for one in sets.tolist()])
        return exact, exact
    drawn = draw_records(design, np.full(DRAWN, -1), public_words).astype(np.int64)
    kinds, which = np.unique(np.concatenate([drawn, sets]), axis=0, return_inverse=True)
    seen = np.bincount(which[:DRAWN], minlength=len(kinds))[which[DRAWN:]].astype(np.float64)
    wrong = np.zeros(len(sets), dtype=np.bool_)
    for column, room in enumerate(design.room):
        own = design.records[:, column][sets]
        wrong |= ((own[:, :, None] == own[:, None, :]).sum(axis=2) > room[own]).any(axis=1)
    wrong |= ((sets[:, :, None] == sets[:, None, :]).sum(axis=2) > design.most[sets]).any(axis=1)
    chance = np.maximum(seen / DRAWN, AS_GOOD_AS_NONE)
    most = (seen + 5 * np.sqrt(seen) + 15) / DRAWN
    return np.where(wrong, 0.0, chance), np.where(wrong, 0.0, most)


def public_words(rows: Ints, number: int) -> Words:
    """Words for sets of nobody in particular, the same everywhere: a counter, by the finalizer of splitmix64."""
    place = rows.astype(np.uint64)[:, None] * np.uint64(WIDTH * 64) + np.uint64(number * WIDTH)
    counter = np.asarray(place + np.arange(WIDTH, dtype=np.uint64), dtype=np.uint64)
    word: Words = counter * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))
