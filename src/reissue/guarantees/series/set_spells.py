"""Whether new sets depend on those before: given true values they must not, or what two sets have in common tells.

1. how many values a new set has in common with the old one, besides the true value and what is carried on: decoys
   that are used again, or avoided; of all people, of those whose value stayed, of those whose value changed, and of
   those of each design;
2. how often the value that somebody had before is among the others of the new set.

Given old sets and true values, new sets have the probabilities of their designs. So both are sums of independent
numbers from 0 to 1 with known means, whoever is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.guarantees.series.carried_draws import Single
from reissue.guarantees.series.set_draws import Drawn
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise

Columns = npt.NDArray[np.integer]
"""A row for each slot, a column for each set: labels, ascending."""


class Spell(NamedTuple):
    """For some people how many of the values of their old set the new one has, as a part of all it could have."""

    seen: Floats
    expected: Floats
    room: Floats
    """How many it could have."""
    stayed: Bools
    """Whose value is what it was."""


class Former(NamedTuple):
    """For some people whose value changed whether the new set has the old one, and the chance that it does."""

    seen: Bools
    expected: Floats


def in_common(part: Drawn, rows: Ints, old: Columns, stayed: Bools) -> Spell:
    """What new sets have in common with the old ones; `rows` says which sets of the part."""
    place, own = _place(part, int(old.max(initial=0)) + 1), part.own[rows].astype(np.int64)
    new = part.columns[:, rows]
    seen, expected = np.zeros(rows.size), np.zeros(rows.size)
    last = np.full(rows.size, -1)
    for column in old:
        value = place[column]
        there = np.flatnonzero((value >= 0) & (column != last) & (part.free | (value != own)))
        last = column.astype(np.int64)
        asked = value[there]
        seen[there] += (new[:, there] == asked).any(axis=0)
        expected[there] += _chance(part, own[there], asked)
    room = np.full(rows.size, float(part.design.m if part.free else part.design.m - 1))
    return Spell(seen / room, expected / room, room, stayed)


def single_in_common(single: Single, rows: Ints, old: Columns, stayed: Bools) -> Spell:
    """The same where one value stands beside those that are carried on."""
    shares = np.append(single.shares, np.zeros(max(0, int(old.max(initial=0)) + 1 - single.shares.size)))
    seen = (old == single.value[rows]).any(axis=0).astype(np.float64)
    return Spell(seen, np.minimum(shares[old].sum(axis=0), 1.0), np.ones(rows.size), stayed)


def former(part: Drawn, rows: Ints, before: Ints) -> Former:
    """Whether new sets have the values that people had before, where these can be among the others."""
    value = _place(part, int(before.max(initial=0)) + 1)[before]
    mine = np.flatnonzero(value >= 0)
    rows, value = rows[mine], value[mine]
    return Former((part.columns[:, rows] == value).any(axis=0), _chance(part, part.own[rows].astype(np.int64), value))


def dependent(spells: Sequence[Spell], formers: Sequence[Former], error: float) -> list[str]:
    """What depends on sets before, in words; a false alarm has a probability of at most `error`."""
    found = []
    if spells:
        every = Spell(*(np.concatenate(parts) for parts in zip(*spells, strict=True)))
        asked = [(every, "new sets")]
        asked += [(_only(every, every.stayed), "new sets for a value that stayed")]
        asked += [(_only(every, ~every.stayed), "new sets for another value")]
        asked += [(spell, "new sets of one kind") for spell in spells if len(spells) > 1]
        for spell, words in asked:
            if surprise(spell.seen.sum(), spell.seen.size, spell.expected.sum()) > allowed(error / 2, len(asked)):
                common, mean = float(spell.room @ spell.seen), float(spell.room @ spell.expected)
                found.append(
                    f"New sets depend on those before: {spell.seen.size:,} {words} have {common:,.0f} other values in "
                    f"common with the old ones, and {mean:,.1f} are expected."
                )
                break
    if formers:
        had, chance = (np.concatenate(parts) for parts in zip(*formers, strict=True))
        if surprise(np.count_nonzero(had), had.size, chance.sum()) > allowed(error / 2, 1):
            found.append(
                f"New sets depend on values before: {np.count_nonzero(had):,} of {had.size:,} have the value that "
                f"changed among the others, and {chance.sum():,.1f} are expected."
            )
    return found


def _only(spell: Spell, chosen: Bools) -> Spell:
    return Spell(spell.seen[chosen], spell.expected[chosen], spell.room[chosen], spell.stayed[chosen])


def _place(part: Drawn, labels: int) -> Ints:
    """For each label its number in the design; -1 for what cannot be drawn."""
    place = np.full(max(labels, int(part.places[-1]) + 1), -1, dtype=np.int64)
    place[part.places] = np.arange(part.places.size)
    return place


def _chance(part: Drawn, own: Ints, values: Ints) -> Floats:
    """The chance of each value in a set, given the true one."""
    if part.free:
        return np.asarray(part.design.inclusion[values])
    return np.asarray(part.joint.of(own, values) / part.design.inclusion[own])
