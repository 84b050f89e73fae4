"""How many worlds there are, and in how many of them somebody is in a given state: exactly.

The unknowns x[c, s] of the equations are given numbers one after the other. What matters for the rest of the way is
only how much is left of each equation that is open, one that has had some of its unknowns and not all: these amounts
are an entry of a table, and every entry stands for all the ways that lead to it. A number x of people in a state weighs
1/x!; with the factorials of the sizes, these products are the multinomials. Sums over the ways from the beginning and
to the end, multiplied at each step, give every marginal.

The order keeps few equations open: again and again the equation is finished that leaves the frontier smallest. The
sums are taken modulo primes of 31 bits, as many as the number of states to the power of the number of people asks for,
and put together by the Chinese remainder theorem: so the tables hold machine numbers and the results are exact.
Cost: exponential in the width of the frontier at worst (counting is #P-hard), hence `effort`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from reissue.arrays.budget import OutOfTime, need_time
from reissue.arrays.types import Ints
from reissue.kernels import inner, kernel
from reissue.reasoning.worlds.worlds_equations import Equations
from reissue.reasoning.worlds.worlds_model import Model, PersonState
from reissue.reasoning.worlds.worlds_order import order_of_unknowns, promise

WORD = 62
"""How many bits of a machine number hold amounts."""
MOST_WORDS = 1 << 26
"""Keys of a table that take more words than this, half a GiB, are not kept: then the count is given up."""
TRIALS = (64, 8, 1)
"""Orders are tried with these parts of the effort; the first that gets through counts."""
ENTRY = 0.02
"""How many steps an entry of a table, or a step to one, takes."""


@dataclass(frozen=True, repr=False)
class CountedWorlds:
    """Worlds, counted exactly."""

    total: int
    """How many worlds there are, people told apart."""
    by_state: list[list[int]]
    """For each class and state in how many of them one given person of the class is in the state."""

    def __repr__(self) -> str:
        return f"CountedWorlds({len(self.by_state):,} classes)"


def count(model: Model, *, effort: int = 2_000_000, deadline: float | None = None) -> CountedWorlds | None:
    """Count the worlds of a model, or None if that takes too much.

    `effort` is how many steps between entries the tables may have; `deadline` when it is given up.
    """
    try:
        return _counted(model, effort, deadline)
    except OutOfTime:
        return None


def _counted(model: Model, effort: int, deadline: float | None) -> CountedWorlds | None:
    merged, places = _merged(model, deadline)
    equations = Equations.of_model(merged, deadline)
    bounds = equations.bounds(deadline)
    if bounds is None:
        return CountedWorlds(0, [[0] * len(states) for states in model.states])
    if equations.unknowns > effort:
        return None  # every unknown takes a step at least
    for order, part in _attempts(equations, deadline):
        need_time(deadline)
        tables = _tables(equations, *bounds, order, effort // part, deadline)
        if tables is not None:
            total, numbers = _evaluated(merged, equations, tables, deadline)
            return CountedWorlds(total, [[numbers[v] for v in at] for at in places])
    return None


def _merged(model: Model, deadline: float | None) -> tuple[Model, list[list[int]]]:
    """The model with classes of the same states made one, and for each class the unknowns of its states in it."""
    sizes: dict[tuple[tuple[int, ...], ...], int] = {}
    ranks = []
    for size, states in zip(model.sizes, model.states, strict=True):
        need_time(deadline, 3 + 2 * len(states))
        rank = sorted(range(len(states)), key=lambda at: states[at].counters)
        alike = tuple(states[at].counters for at in rank)
        sizes[alike] = sizes.get(alike, 0) + size
        ranks.append((alike, rank))
    starts: dict[tuple[tuple[int, ...], ...], int] = {}
    unknowns = 0
    for alike in sizes:
        starts[alike] = unknowns
        unknowns += len(alike)
    places = [(starts[alike] + np.argsort(rank)).tolist() for alike, rank in ranks]
    merged = tuple(tuple(PersonState(None, counters) for counters in alike) for alike in sizes)
    return Model(tuple(sizes.values()), merged, model.targets), places


def _attempts(equations: Equations, deadline: float | None) -> Iterator[tuple[list[int], int]]:
    """Orders of the unknowns, each with the part of the effort it may take; what promises small tables comes first."""
    classes, counters = range(equations.classes), range(equations.classes, equations.targets.size)
    mixed = order_of_unknowns(equations, [*classes, *counters], deadline)
    yield mixed, TRIALS[0]
    others = [order_of_unknowns(equations, finishing, deadline) for finishing in (classes, counters)]
    ranked = sorted([mixed, *others], key=lambda order: promise(equations, order))
    for part in TRIALS:
        for order in ranked:
            if part != TRIALS[0] or order is not mixed:
                yield order, part


@dataclass(frozen=True, repr=False)
class _Tables:
    """The entries of all tables, table after table, and the steps from each entry to entries of the next table."""

    order: list[int]
    table_starts: Ints
    """Where each table begins among the entries; there is one table more than unknowns."""
    firsts: Ints
    """Where the steps of each entry begin; one place more than entries."""
    lows: Ints
    """How many people the first step of each entry puts into the state; each further step one more."""
    steps: Ints
    """The entries they lead to."""


def _tables(
    equations: Equations, low: Ints, high: Ints, order: list[int], effort: int, deadline: float | None
) -> _Tables | None:
    """Build the tables in an order of the unknowns; None if they get too large."""
    rest_low, rest_high = np.zeros_like(equations.targets), np.zeros_like(equations.targets)
    np.add.at(rest_low, equations.of, np.repeat(low, np.diff(equations.of_starts)))
    np.add.at(rest_high, equations.of, np.repeat(high, np.diff(equations.of_starts)))
    word, shift, words = _slots(equations, order, deadline)
    keys = np.zeros((1, words), dtype=np.int64)
    opened = np.zeros(equations.targets.size, dtype=np.bool_)
    starts, firsts, lows, steps = [0, 1], [], [], []
    used = 0
    for unknown in order:
        of = equations.of[equations.of_starts[unknown] : equations.of_starts[unknown + 1]]
        for equation in of[~opened[of]]:
            keys[:, word[equation]] += equations.targets[equation] << shift[equation]
        opened[of] = True
        rest_low[of] -= low[unknown]
        rest_high[of] -= high[unknown]
        width = np.array([int(target).bit_length() for target in equations.targets[of]], dtype=np.int64)
        slots = np.column_stack([word[of], shift[of], width, rest_low[of], rest_high[of]])
        room = min(effort - used, MOST_WORDS // words)
        keys, first, least, step = _advance(keys, slots, low[unknown], high[unknown], room)
        used += step.size
        need_time(deadline, 20 + (len(least) + step.size) * ENTRY)
        if step.size > room:
            return None
        firsts.append(first[:-1] + (used - step.size))
        lows.append(least)
        steps.append(step + starts[-1])
        starts.append(starts[-1] + len(keys))
    none = np.zeros(0, dtype=np.int64)
    ends = np.full(len(keys) + 1, used)
    return _Tables(
        order,
        np.array(starts),
        np.concatenate([none, *firsts, ends]),
        np.concatenate([none, *lows]),
        np.concatenate([none, *steps]),
    )


def _slots(equations: Equations, order: list[int], deadline: float | None) -> tuple[Ints, Ints, int]:
    """The word of a key and the bit in it where what is left of each equation begins while it is open; all words."""
    of_each = list(equations.of_each())
    last = {equation: at for at, unknown in enumerate(order) for equation in of_each[unknown]}
    word, shift = np.zeros_like(equations.targets), np.zeros_like(equations.targets)
    taken = [0]
    placed: set[int] = set()
    for at, unknown in enumerate(order):
        of = of_each[unknown]
        for equation in of:
            if equation in placed:
                continue
            need_time(deadline)
            placed.add(equation)
            mask = (1 << int(equations.targets[equation]).bit_length()) - 1
            room = WORD - mask.bit_length()
            free = ((w, s) for w, bits in enumerate(taken) for s in range(room + 1) if not bits & (mask << s))
            where = next(free, None) or (len(taken), 0)
            taken += [0] * (where[0] == len(taken))
            taken[where[0]] |= mask << where[1]
            word[equation], shift[equation] = where
        for equation in of:
            if last[equation] == at:
                mask = (1 << int(equations.targets[equation]).bit_length()) - 1
                taken[word[equation]] &= ~(mask << int(shift[equation]))
    return word, shift, len(taken)


@inner
def _range(keys: Any, at: int, slots: Any, least: int, most: int) -> tuple[int, int]:
    """How many people an entry can put into the state so that every equation can still be met."""
    for slot in range(slots.shape[0]):
        amount = (keys[at, slots[slot, 0]] >> slots[slot, 1]) & ((1 << slots[slot, 2]) - 1)
        least = max(least, amount - slots[slot, 4])
        most = min(most, amount - slots[slot, 3])
    return least, most


@kernel
def _advance(keys: Any, slots: Any, low: int, high: int, room: int) -> Any:
    """The next table, and the steps to it from the entries of this one: where they begin, the least, the goals.

    Stops when there are more steps than `room`; then there is one step too many.
    """
    entries, words = keys.shape
    firsts = np.zeros(entries + 1, np.int64)
    lows = np.zeros(entries, np.int64)
    for at in range(entries):
        least, most = _range(keys, at, slots, low, high)
        lows[at] = least
        firsts[at + 1] = firsts[at] + max(0, most - least + 1)
        if firsts[at + 1] > room:
            return keys[:0].copy(), firsts, lows, np.zeros(room + 1, np.int64)
    count = firsts[entries]
    steps = np.zeros(count, np.int64)
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    table = np.full(1 << bits, -1, np.int64)
    found = np.zeros((count, words), np.int64)
    unit = np.zeros(words, np.int64)
    for slot in range(slots.shape[0]):
        unit[slots[slot, 0]] += 1 << slots[slot, 1]
    key = np.zeros(words, np.int64)
    size = 0
    for at in range(entries):
        for step in range(firsts[at], firsts[at + 1]):
            taken = lows[at] + step - firsts[at]
            spread = np.uint64(0)
            for word in range(words):
                key[word] = keys[at, word] - taken * unit[word]
                spread = (spread ^ np.uint64(key[word])) * np.uint64(0x9E3779B97F4A7C15)
                spread ^= spread >> np.uint64(29)
            place = np.int64((spread * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
            while True:
                entry = table[place]
                if entry < 0:
                    entry = size
                    table[place] = entry
                    for word in range(words):  # takes a quarter of the time to compile of `found[entry] = key`
                        found[entry, word] = key[word]
                    size += 1
                    break
                same = True
                for word in range(words):
                    same = same and found[entry, word] == key[word]
                if same:
                    break
                place = (place + 1) & ((1 << bits) - 1)
            steps[step] = entry
    return found[:size].copy(), firsts, lows, steps


def _evaluated(model: Model, equations: Equations, tables: _Tables, deadline: float | None) -> tuple[int, list[int]]:
    """The number of worlds, and for each unknown of those with a given person of its class in its state."""
    most = prod(len(states) ** size for size, states in zip(model.sizes, model.states, strict=True))
    total, marginals, modulus = 0, [0] * equations.unknowns, 1
    for prime in _primes():
        if modulus > most:
            break
        need_time(deadline, 50 + 2 * tables.steps.size * ENTRY)
        factorials, inverses = _factorials(max(model.sizes, default=0), prime)
        ways, sums = _sums(tables.table_starts, tables.firsts, tables.lows, tables.steps, inverses, prime)
        dealt = 1
        for size in model.sizes:
            dealt = dealt * int(factorials[size]) % prime
        lift = pow(modulus, -1, prime)
        residue = dict(zip(tables.order, sums.tolist(), strict=True))
        total += modulus * ((int(ways) * dealt - total) * lift % prime)
        for size, (start, stop) in zip(model.sizes, pairwise(equations.class_starts.tolist()), strict=True):
            need_time(deadline, 2 + stop - start)
            each = dealt * pow(size, -1, prime)
            for unknown in range(start, stop):
                marginals[unknown] += modulus * ((residue[unknown] * each - marginals[unknown]) * lift % prime)
        modulus *= prime
    return total, marginals


@kernel
def _factorials(most: int, prime: int) -> Any:
    """The factorials of the numbers from 0 to `most`, which is below the prime, modulo it, and their inverses."""
    factorials = np.ones(most + 1, np.int64)
    for number in range(1, most + 1):
        factorials[number] = factorials[number - 1] * number % prime
    inverses = np.ones(most + 1, np.int64)
    # Fermat: the inverse is the power of prime - 2.
    base, power = factorials[most], prime - 2
    while power > 0:
        if power & 1:
            inverses[most] = inverses[most] * base % prime
        base = base * base % prime
        power >>= 1
    for number in range(most, 0, -1):
        inverses[number - 1] = inverses[number] * number % prime
    return factorials, inverses


@kernel
def _sums(table_starts: Any, firsts: Any, lows: Any, steps: Any, weights: Any, prime: int) -> Any:
    """Modulo a prime: the weight of all ways through the tables, and at each table that weight times its numbers."""
    tables = table_starts.size - 2
    entries = table_starts[-1]
    before = np.zeros(entries, np.int64)
    after = np.zeros(entries, np.int64)
    sums = np.zeros(tables, np.int64)
    before[0] = 1
    last = table_starts[tables]
    for at in range(last):
        if before[at]:
            for step in range(firsts[at], firsts[at + 1]):
                goal = steps[step]
                before[goal] = (before[goal] + before[at] * weights[lows[at] + step - firsts[at]]) % prime
    for at in range(last, entries):
        after[at] = 1
    for table in range(tables - 1, -1, -1):
        for at in range(table_starts[table], table_starts[table + 1]):
            plain = taken = 0
            for step in range(firsts[at], firsts[at + 1]):
                number = lows[at] + step - firsts[at]
                beyond = after[steps[step]]
                if beyond:
                    beyond = beyond * weights[number] % prime
                    plain += beyond
                    taken += beyond * number
            after[at] = plain % prime
            sums[table] = (sums[table] + before[at] * (taken % prime)) % prime
    return (before[last] if last < entries else 0), sums


def _primes() -> Iterator[int]:
    """Primes of 31 bits, descending."""
    at = 0
    while True:
        yield _prime(at)
        at += 1


@cache
def _prime(at: int) -> int:
    """The primes below 2^31, counted from above."""
    candidate = (1 << 31) - 1 if at == 0 else _prime(at - 1) - 2
    divisors = np.arange(3, 46342, 2)
    while not (candidate % divisors).all():
        candidate -= 2
    return candidate
