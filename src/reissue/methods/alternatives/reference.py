"""The reference: which values sets are made of, and with what shares.

Shares come from outside, or from the first table with noise. The table's exact shares would give away the last person
to whoever knows all others, and rounding does not help; with discrete Laplace noise of scale 2/epsilon, drawn once, one
person's value changes what is published with odds of at most e^epsilon. Values whose noisy count is low are published
as one, `OTHERS`: a share that is far too small would give away who has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible, Refused, TableError, count_of
from reissue.methods.alternatives.noise import discrete_laplace
from reissue.model.sets import OTHERS as OTHERS
from reissue.model.snapshot import Column, Labels, Leaves, Numbers


@dataclass(frozen=True, repr=False)
class Reference:
    """The values of sets in their order, with their shares; one column of shares for each cell."""

    labels: tuple[object, ...]
    shares: Floats
    """A row for each cell, a column for each label; rows sum to 1."""
    merged: bool
    """Whether the last label stands for all values that are not among the others."""

    def __repr__(self) -> str:
        return f"Reference({len(self.labels):,} values)"

    def places(self, values: Column) -> Ints:
        """For each code of a column the position of its value among the labels; -1 where it has none."""
        place = {label: at for at, label in enumerate(self.labels)}
        return places_of(names_of(values), place, place[OTHERS] if self.merged else -1)


def places_of(names: Sequence[object], place: Mapping[object, int], otherwise: int) -> Ints:
    """The places of names; `otherwise` where there is none."""
    return np.array([place.get(name, otherwise) for name in names], dtype=np.int64)


def names_of(values: Column) -> list[object]:
    """What each code of a column stands for: labels, or numbers as they are."""
    levels = values.levels
    if isinstance(levels, Labels) and OTHERS in levels.labels:
        raise TableError(
            f"Column '{values.name}' holds the label '{OTHERS}', which stands for rare values in sets.",
            hint="give it another name in the table.",
        )
    if isinstance(levels, Numbers):
        if not levels.dtype.is_numeric():
            raise TableError(
                f"Column '{values.name}' holds dates or times, which sets are not made of.",
                hint="make the column categorical, and coarse enough that values come more than once.",
            )
        return levels.decode(np.arange(levels.values.size)).to_list()
    return list(levels.labels if isinstance(levels, Labels) else levels.hierarchy.leaves)


def is_number(values: Column) -> bool:
    """Whether the sensitive column holds numbers, which cannot be put together under a name."""
    return isinstance(values.levels, Numbers) and not isinstance(values.levels, Leaves)


def given(shares: Mapping[object, float], values: Column) -> Reference:
    """The reference that the policy gives, in the order of the column's values."""
    known = names_of(values)
    texts = {str(name): name for name in known}
    # A policy file has text only; a number is meant by how it is written.
    named = {texts.get(str(label), label): share for label, share in shares.items()}
    order = [name for name in known if name in named]
    rest = sorted(({*named} - {*order, OTHERS}), key=str)
    own = [*order, *rest]
    if order == sorted(order, key=str):  # labels in no order of their own
        own.sort(key=str)
    labels = [*own, *([OTHERS] if OTHERS in named else [])]
    column = np.array([float(named[label]) for label in labels])
    return Reference(tuple(labels), (column / column.sum())[None, :], OTHERS in named)


def noised(
    values: Column, codes: Ints, cell: Ints, cells: int, epsilon: Fraction, merge: float, rng: np.random.Generator
) -> Reference:
    """The shares in a table with noise. `codes` and `cell` are those of rows; fewer than `merge` scales are few."""
    scale = Fraction(2) / epsilon
    names = names_of(values)
    counts = np.zeros((cells, len(names)), dtype=np.int64)
    np.add.at(counts, (cell, codes), 1)
    noisy = counts + discrete_laplace(scale, counts.size, rng).reshape(counts.shape)
    total = noisy.sum(axis=0)
    few = float(merge * scale * np.sqrt(cells))
    occurs = counts.sum(axis=0) > 0
    kept = occurs & (total >= few)
    rare = occurs & ~kept
    if not kept.any() or (rare.any() and is_number(values)):
        what = "all values are" if not kept.any() else f"{count_of(int(rare.sum()), 'value is', 'values are')}"
        raise Infeasible(
            f"Of {count_of(int(occurs.sum()), 'value')} in the table {what} too rare for reference shares with noise: "
            f"fewer than about {few:,.0f} people have each, with epsilon = {float(epsilon):g}.",
            hint="give the shares as 'reference', from outside; or a larger epsilon, which promises less"
            + (
                "; or make the column coarser: numbers that are rare cannot be published as one." if rare.any() else "."
            ),
        )
    labels = [name for name, keep in zip(names, kept.tolist(), strict=True) if keep]
    columns = noisy[:, kept].astype(np.float64)
    # Whether anybody has a rare value must not show: there is always a share for them, but for numbers.
    merged = not is_number(values)
    if merged:
        labels.append(OTHERS)
        columns = np.column_stack([columns, noisy[:, rare].sum(axis=1)])
    overall = np.maximum(columns.sum(axis=0), few)
    if cells == 1:
        return Reference(tuple(labels), (overall / overall.sum())[None, :], merged)
    # A cell has few people of most values: its own counts, and so many people as in the whole table beside them.
    shares = overall / overall.sum()
    mixed = np.maximum(columns, 0) + few * shares
    return Reference(tuple(labels), mixed / mixed.sum(axis=1, keepdims=True), merged)


def read_shares(path: str) -> dict[str, float]:
    """Reference shares from a CSV file with a column for values and one for shares or counts."""
    from reissue.errors import ParameterError

    try:
        frame = pl.read_csv(path, infer_schema=False)
    except FileNotFoundError:
        raise ParameterError(f"The 'reference' file '{path}' is not there.") from None
    except OSError as error:
        reason = error.strerror or "the system refuses it"
        raise ParameterError(f"The 'reference' file '{path}' cannot be read: {reason}.") from error
    except pl.exceptions.PolarsError:
        raise ParameterError(f"The 'reference' file '{path}' is not CSV.") from None
    if frame.width < 2:
        raise ParameterError(
            f"The 'reference' file '{path}' must have two columns, values and shares. It has {frame.width}.",
            hint="write a file with a line `value,share` and one for each value.",
        )
    values, numbers = frame.columns[0], frame.columns[1]
    shares = frame[numbers].cast(pl.Float64, strict=False)
    if shares.null_count() or frame[values].n_unique() < frame.height:
        raise ParameterError(
            f"The 'reference' file '{path}' must have every value once, with a number. "
            f"{count_of(shares.null_count(), 'line')} without one, "
            f"{count_of(frame.height - frame[values].n_unique(), 'value')} more than once."
        )
    return dict(zip(frame[values].fill_null("").to_list(), shares.to_list(), strict=True))


def need_known(place: Ints, codes: Ints) -> None:
    """Refuse a table with values that the reference does not have."""
    lacking = int(np.count_nonzero(place[codes] < 0))
    if lacking:
        values = int(np.count_nonzero(np.bincount(codes[place[codes] < 0])))
        raise Refused(
            f"{count_of(lacking, 'person has', 'people have')} {count_of(values, 'value')} that the reference does not "
            "have: a set with it would give it away.",
            hint="give a reference that has it; in a running series record it with `reissue amend`, and nobody's set "
            f"changes by that before their value does. Shares for all that is not named stand under '{OTHERS}'.",
        )
