"""Transitions: how values move from one state of a table to the next, counted with noise.

What is counted. Everybody brings at most so many moves (`most`), drawn from theirs at random; a move is a value in one
state and the value in the next, the same one or another. Two families of counts get discrete Laplace noise: how many
stay with each value and how many leave it (2V counts), and where those go who leave it (V(V - 1) counts).

What that tells. One person with another history takes away at most `most` moves and brings at most as many others, so
that the counts of each family change by at most 2 most in all. With a scale of 2 most / (epsilon/2) in each, the odds
of whatever is seen change by at most e^(epsilon/2) twice, e^epsilon together: for a whole history, not for one move.
What follows is made of noisy counts and of shares that are known anyway, and tells nothing more.

Stays and leavers apart, since how long values stay is what sets that are kept for long give away: 2V counts have little
noise between them. One table of V x V counts is about as good at epsilon = 1, and at 0.1 the sum of its noise drowns
how many moves there are at all.

From counts to chances. Noise takes counts below 0 and brings people where nobody goes. Of those who leave a value the
counts are taken down by one amount, and at 0 there is an end, so that they add up to as many as left it (the nearest
such counts). Then each row is put together with what would be expected without it: staying as values do on the whole,
else moving by the shares. The expectation weighs as many moves as the noise of a row adds up to on average, the number
of its counts times the scale, and twice that (`WEIGHT`), so that a value that nobody has does not go where the noise
points. A row with more moves than that rests on them, and one with fewer on the expectation; with many moves, or
little noise, the chances become those that were counted. At last every chance is kept above 0, since a move without
one is refused: one value in a thousand (`FLOOR`) is taken to be drawn by the shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reissue.arrays.types import Bools, Floats, Ints
from reissue.errors import ParameterError, count_of
from reissue.methods.alternatives.noise import discrete_laplace
from reissue.methods.alternatives.reference import read_columns

WEIGHT = 2
"""So many times the noise of a row the expectation weighs."""
FLOOR = 0.001
"""So many values are taken to be drawn by the shares, whatever was counted."""


@dataclass(frozen=True, repr=False)
class Counted:
    """Chances to move, and what they rest on; nothing in here is more exact than the noise lets it be."""

    chances: Floats
    """A row for each value, a column for each next one; rows add up to 1, and no chance is 0."""
    staying: float
    """The share of moves, on the whole, that leave a value as it is."""
    error: Floats
    """How far, at most, the noise is expected to take each row: half the sum of differences."""
    thin: Bools
    """The rows of which more than half is expectation, and not counted."""


def at_most(most: int, person: Ints, rng: np.random.Generator) -> Ints:
    """Places of moves, at most so many of each person, drawn at random from theirs; in ascending order."""
    order = rng.permutation(person.size)
    order = order[np.argsort(person[order], kind="stable")]
    mine = person[order]
    first = np.flatnonzero(np.concatenate([[True], mine[1:] != mine[:-1]])) if mine.size else np.zeros(0, np.int64)
    rank = np.arange(mine.size) - np.repeat(first, np.diff(np.append(first, mine.size)))
    return np.sort(order[rank < most])


def with_noise(
    before: Ints, after: Ints, shares: Floats, most: int, epsilon: Fraction, rng: np.random.Generator
) -> Counted:
    """The chances of moves from values `before` to values `after`, of which nobody brings more than `most`."""
    scale = Fraction(2 * most) / (epsilon / 2)
    ways, cells = (
        (counts + discrete_laplace(scale, counts.size, rng).reshape(counts.shape)).astype(np.float64)
        for counts in families(before, after, shares.size)
    )
    return _chances(ways, cells, shares, float(scale))


def families(before: Ints, after: Ints, values: int) -> tuple[Ints, Ints]:
    """How many stay with each value and how many leave it, a row each; and for each value where those go who leave it,
    a column for each of the other values in their order."""
    counts = np.zeros((values, values), dtype=np.int64)
    np.add.at(counts, (before, after), 1)
    stays = counts.diagonal()
    cells = counts[~np.eye(values, dtype=np.bool_)].reshape(values, values - 1)
    return np.stack([stays, counts.sum(axis=1) - stays]), cells


def _chances(ways: Floats, cells: Floats, shares: Floats, scale: float) -> Counted:
    values = shares.size
    away = ~np.eye(values, dtype=np.bool_)
    kept, left = np.maximum(ways, 0)
    total = np.maximum(ways.sum(axis=1), 0)
    staying = float((total[0] + 1) / (total.sum() + 2))
    weight = WEIGHT * 2 * scale
    stay = (kept + weight * staying) / (kept + left + weight)
    expected = np.broadcast_to(shares, (values, values))[away].reshape(values, values - 1)
    expected = expected / expected.sum(axis=1, keepdims=True)
    among = WEIGHT * (values - 1) * scale
    went = (nearest(cells, left) + among * expected) / (left + among)[:, None]
    chances = np.diag(stay)
    chances[away] = ((1 - stay)[:, None] * went).ravel()
    chances = (1 - FLOOR) * chances + FLOOR * shares / shares.sum()
    # A noisy count is off by about the scale, and half of what is too much in some places is too little in others.
    error = scale / (kept + left + weight) + (1 - stay) * among / WEIGHT / 2 / (left + among)
    lent = weight / (kept + left + weight)
    thin = lent + (1 - lent) * (1 - stay) * among / (left + among) > 1 / 2
    return Counted(chances / chances.sum(axis=1, keepdims=True), staying, error, thin)


def nearest(counts: Floats, totals: Floats) -> Floats:
    """For each row the nearest numbers, none below 0, that add up to its total: less by one amount, and 0 at least."""
    ranked = -np.sort(-counts, axis=1)
    over = (np.cumsum(ranked, axis=1) - totals[:, None]) / np.arange(1, counts.shape[1] + 1)
    last = np.count_nonzero(ranked > over, axis=1) - 1
    found = np.maximum(counts - over[np.arange(len(counts)), np.maximum(last, 0)][:, None], 0)
    return np.where(totals[:, None] > 0, found, 0.0)


def read_moves(path: str) -> tuple[dict[str, dict[str, float]], float]:
    """A table of transitions from a CSV file with a value, the next one and its chance in each line; and the epsilon
    that the file says it was counted with, 0 where it says none."""
    frame, spent = read_columns(path, "change", ("values", "next values", "chances"), "value,next,chance")
    table: dict[str, dict[str, float]] = {}
    for value, after, chance in frame.iter_rows():
        table.setdefault(value, {})[after] = chance
    if wrong := sum(not np.isclose(sum(row.values()), 1, rtol=0, atol=1e-9) for row in table.values()):
        raise ParameterError(
            f"In the 'change' file '{path}' {count_of(wrong, 'value')} of {len(table):,} have chances that do not "
            "add up to 1.",
            hint="every value needs a line for each next one, itself among them; `reissue moves` writes such files.",
        )
    return table, spent
