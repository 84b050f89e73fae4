"""Whether sets are kept, and renewed by the rule of change.

Between releases a value is redrawn from the reference shares with chance c. Whoever's value changed gets a new set;
whoever's did not with the chance that it was redrawn and came out the same. For somebody last seen before steps 1 to k,
with chances c_j and shares p_j, both are worked out step by step:

    kept <- kept (1 - c_j)                            nothing was redrawn
    h(v) <- h(v) (1 - c_j) + c_j p_j(v) free          redrawn, and v now; without the first (1 - c_j) if v is permanent
    coin  = h(v) / (kept + h(v)), or 1 - kept for somebody with a permanent value

where `free` is the chance not to have caught a permanent value, 1 where there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import count_of
from reissue.guarantees.series.last_sets import LastSets, Step
from reissue.model.change import Change, Rates, Renewal, Static, Transitions
from reissue.model.sets import SetDesigns
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise, surprise_of_wager, wagered

COIN_ERROR = 1e-9
"""A false alarm about coins has this probability at most, half of it in a release and half in a whole series."""
FEW_VALUES = 512
"""What can follow after several steps of a table of transitions is worked out for so many values."""


class Coins(NamedTuple):
    """For each gap, a row, and each value, a column: the chance of a new set if the value stays."""

    low: Floats
    high: Floats
    """They differ where shares do by cell, and it is not known in which cell somebody was at a redraw."""
    versions: Floats | None
    """(gaps, versions): the chance that the last redraw was by this version; None where values are permanent."""


def coins(designs: SetDesigns, steps: tuple[Step, ...], since: Ints, permanent: Bools) -> Coins:
    """The coins for people last seen in the steps `since`, positions in `steps`; the last of these is the release."""
    lows, highs = [], []
    versions = np.zeros((since.size, max(designs.version) + 1))
    for share in shares_by_cell(designs):
        kept, h, versions = redrawn(share, steps, since, permanent)
        # Nothing is said of a value that has no share though everything was redrawn.
        with np.errstate(invalid="ignore"):
            coin = np.where(permanent, 1 - kept, h / (kept + h))
        lows.append(np.nan_to_num(coin, nan=0.0))
        highs.append(np.nan_to_num(coin, nan=1.0))
    return Coins(np.min(lows, axis=0), np.max(highs, axis=0), None if permanent.any() else versions)


def redrawn(share: Floats, steps: tuple[Step, ...], since: Ints, permanent: Bools) -> tuple[Floats, Floats, Floats]:
    """For each gap, by the shares of one cell: `kept`, h of each label, and of each version the chance that the last
    redraw was by it."""
    kept = np.ones((since.size, 1))
    h = np.zeros((since.size, permanent.size))
    versions = np.zeros((since.size, len(share)))
    for at in range(int(since.min(initial=len(steps))) + 1, len(steps)):
        after = (since < at)[:, None]
        rate, version = steps[at].rate * after, steps[at].version
        free = 1 - h[:, permanent].sum(axis=1, keepdims=True)
        h = np.where(permanent, h, h * (1 - rate)) + rate * share[version] * free
        kept = kept * (1 - rate)
        versions *= 1 - rate
        versions[:, version] += rate[:, 0]
    return kept, h, versions


def shares_by_cell(designs: SetDesigns) -> list[Floats]:
    """For each cell a row for each version, counted from 1, and a column for each label."""
    cell = cell_of(designs)
    found = [np.zeros((max(designs.version) + 1, len(designs.labels))) for _ in range(max(cell) + 1)]
    for at, number in enumerate(cell):
        found[number][designs.version[at], designs.places[at]] = designs.designs[at].shares
    return found


def cell_of(designs: SetDesigns) -> list[int]:
    """For each design the number of its cell; 0 where shares do not differ by cell."""
    if designs.cells is None:
        return [0] * len(designs.designs)
    number: dict[object, int] = {}
    return [number.setdefault(cell, len(number)) for cell in designs.cells.rows()]


@dataclass(frozen=True, repr=False)
class Returned:
    """Those of a release who were published before."""

    own: Ints
    same_own: Bools
    """Whose value is what it was; nobody whose value was not known."""
    drawn: Bools
    design: Ints
    since: Ints
    """The step that they were last in, by position."""


def flipped(
    back: Returned, designs: SetDesigns, last: LastSets, step: Step, permanent: Bools
) -> tuple[list[str], Floats]:
    """Whether as many people whose value stayed have new sets as the coin says, and what bets are worth now."""
    steps, labels = (*last.steps, step), len(designs.labels)
    stay = np.flatnonzero(back.same_own)
    often = np.bincount(back.since[stay], minlength=len(steps))
    since = np.flatnonzero(often)
    if not since.size:
        return [], last.wealth
    gap = np.cumsum(often > 0) - 1
    key = gap[back.since[stay]] * labels + back.own[stay]
    shape = (since.size, labels)
    trials = np.bincount(key, minlength=since.size * labels).reshape(shape)
    seen = np.bincount(key[back.drawn[stay]], minlength=since.size * labels).reshape(shape)
    table = coins(designs, steps, since, permanent)
    low, high = trials * table.low, trials * table.high
    found = []
    for axis, whom in ((None, "people"), (0, "people with one value"), (1, "people who were away for as long")):
        up, of = np.atleast_1d(seen.sum(axis=axis)), np.atleast_1d(trials.sum(axis=axis))
        few, many = np.atleast_1d(low.sum(axis=axis)), np.atleast_1d(high.sum(axis=axis))
        surprises = surprise(up, of, np.clip(up, few, many))
        if surprises.max() > allowed(COIN_ERROR / 6, up.size):
            at = int(np.argmax(surprises))
            found.append(
                f"Sets are not renewed by the rule of change: {int(up[at]):,} of {int(of[at]):,} {whom} whose value "
                f"stayed have a new set, and {few[at]:,.1f} are expected."
            )
            break
    if designs.cells is not None:
        return found, last.wealth
    wealth = wagered(last.wealth, int(seen.sum()), trials.ravel().astype(np.float64), table.low.ravel())
    if not found and surprise_of_wager(wealth) > np.log(2 / COIN_ERROR):
        found.append("Sets are not renewed by the rule of change: over all releases, too many or too few were renewed.")
    return found, wealth


def from_versions(
    back: Returned, designs: SetDesigns, last: LastSets, step: Step, permanent: Bools, error: float
) -> list[str]:
    """Whether new sets are from the versions in force when values were redrawn."""
    steps, renewed = (*last.steps, step), np.flatnonzero(back.drawn)
    often = np.bincount(back.since[renewed], minlength=len(steps))
    since = np.flatnonzero(often)
    if not since.size or max(designs.version) == 1:
        return []
    table = coins(designs, steps, since, permanent)
    gap = (np.cumsum(often > 0) - 1)[back.since[renewed]]
    used = np.array(designs.version)[back.design[renewed]]
    weights = table.versions
    if weights is None:
        return []
    wrong = int(np.count_nonzero(weights[gap, used] == 0))
    if wrong:
        return [
            f"{count_of(wrong, 'new set')} from a version of the reference that was not in force since the last one."
        ]
    shares = shares_by_cell(designs)
    several = np.flatnonzero(np.count_nonzero(weights[gap], axis=1) > 1)
    if len(shares) > 1 or not several.size:
        return []
    odds = weights[gap[several]] * shares[0][:, back.own[renewed[several]]].T
    odds /= odds.sum(axis=1, keepdims=True)
    seen = np.bincount(used[several], minlength=odds.shape[1])
    surprises = surprise(seen, several.size, odds.sum(axis=0))
    if surprises.max() <= allowed(error, seen.size):
        return []
    at = int(np.argmax(surprises))
    return [
        f"New sets are not from versions as often as the rule of change says: {int(seen[at]):,} from one, and "
        f"{odds.sum(axis=0)[at]:,.1f} are expected."
    ]


def impossible_moves(
    before: npt.NDArray[np.integer],
    now: npt.NDArray[np.integer],
    steps: Ints,
    designs: SetDesigns,
    change: Change,
) -> Bools:
    """For each person whether a life moved where the chain does not lead, in so many steps."""
    labels = tuple(str(label) for label in designs.labels)
    size = len(labels)
    moved = np.zeros(before.shape[1], dtype=np.bool_)
    match change:
        case Transitions(table):
            place = {label: at for at, label in enumerate(labels)}
            pairs = [
                place[one] * size + place[other]
                for one, row in table.items()
                for other, chance in row.items()
                if chance > 0 and one in place and other in place
            ]
            for length in np.flatnonzero(np.bincount(steps)).tolist():
                mine = np.flatnonzero(steps == length)
                keys = _reached(np.unique(pairs), size, length)
                for one, other in zip(before, now, strict=True):
                    away = np.isin(one[mine].astype(np.int64) * size + other[mine], keys, invert=True)
                    moved[mine] |= away if keys.size else False
            return moved
        case Static():
            leaves = np.zeros(size, dtype=np.bool_)
        case Renewal():
            leaves = np.ones(size, dtype=np.bool_)
        case Rates(rates):
            leaves = np.array([rates.get(label, 0.0) > 0 for label in labels], dtype=np.bool_)
    entered = np.zeros(size, dtype=np.bool_)
    for places in designs.places:
        entered[places] = True
    leaves, entered = np.append(leaves, True), np.append(entered, False)
    for one, other in zip(before, now, strict=True):
        first, second = np.minimum(one, size), np.minimum(other, size)
        moved |= (one != other) & ~(leaves[first] & entered[second])
    return moved


def _reached(pairs: Ints, size: int, length: int) -> Ints:
    """The pairs that so many steps lead from one to the other of; none where that is too much to work out."""
    if length == 1:
        return pairs
    if size > FEW_VALUES:
        return np.zeros(0, dtype=np.int64)
    one = np.zeros((size, size), dtype=np.float32)
    one.ravel()[pairs] = 1
    found = one
    for _ in range(length - 1):
        found = ((found @ one) > 0).astype(np.float32)
    return np.flatnonzero(found)
