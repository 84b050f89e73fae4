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
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.dense import often
from reissue.arrays.types import Floats, Ints
from reissue.errors import Infeasible, ParameterError, Refused, TableError, count_of
from reissue.methods.alternatives.noise import discrete_laplace
from reissue.model.csv_files import decimals, read_text
from reissue.model.records import record_text
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


def places_of(names: Sequence[object], place: Mapping[Any, int], otherwise: int) -> Ints:
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


def by_text(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Shares by what values are called in a policy file: numbers as they are written."""
    numbers = (int, float, np.integer, np.floating)
    return {str(label) if isinstance(label, numbers) else label: share for label, share in given.items()}


def are_shares(given: object) -> bool:
    """Whether it is a mapping from at least two values, as text, to numbers above 0."""
    if not isinstance(given, Mapping) or len(given) < 2:
        return False
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in given.values())
    return (
        numbers and all(isinstance(label, str) for label in given) and all(0 < one < np.inf for one in given.values())
    )


def what_is_wrong(given: object) -> str:
    """What keeps it from being shares, in counts."""
    if not isinstance(given, Mapping):
        return f"a {type(given).__name__}"
    bad = sum(
        isinstance(one, bool) or not isinstance(one, int | float) or not 0 < one < np.inf or not isinstance(label, str)
        for label, one in given.items()
    )
    return f"{count_of(len(given), 'value')}, {bad:,} of them with something else"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def given(shares: Mapping[str, float], values: Column) -> Reference:
    """The reference that the policy gives, in the order of the column's values."""
    known = names_of(values)
    texts: dict[object, object] = {str(name): name for name in known}
    if is_number(values):
        # A policy file has text only: a number is meant however it is written.
        numbers: dict[float | None, object] = {float(str(name)): name for name in known}
        texts = {label: numbers.get(_number(label), label) for label in shares}
    named: dict[object, float] = {texts.get(str(label), label): share for label, share in shares.items()}
    order = [name for name in known if name in named]
    rest = sorted(({*named} - {*order, OTHERS}), key=str)
    own = [*order, *rest]
    if order == sorted(order, key=str):  # labels in no order of their own
        own.sort(key=str)
    labels = [*own, *([OTHERS] if OTHERS in named else [])]
    column = np.array([float(named[label]) for label in labels])
    return Reference(tuple(labels), (column / column.sum())[None, :], OTHERS in named)


def noised(
    values: Column,
    codes: npt.NDArray[np.integer],
    cell: npt.NDArray[np.integer],
    cells: int,
    epsilon: Fraction,
    merge: float,
    rng: np.random.Generator,
    *,
    absent: int | None = None,
) -> Reference:
    """The shares in a table with noise. `codes` and `cell` are those of rows; fewer than `merge` scales are few.

    `absent`: how many people could be in the table and are not. Then how many are gets noise as well; else it is
    public, as the number of rows of a release is.
    """
    scale = Fraction(2) / epsilon
    names = names_of(values)
    kinds = cells * len(names)
    counts = often(codes if cells == 1 else cell.astype(np.int64) * len(names) + codes, kinds).reshape(cells, -1)
    noisy = counts + discrete_laplace(scale, counts.size, rng).reshape(counts.shape)
    total = noisy.sum(axis=0)
    few = too_few(epsilon, merge, cells)
    occurs = counts.sum(axis=0) > 0
    kept = occurs & (total >= few)
    rare = occurs & ~kept
    if not kept.any() or (rare.any() and is_number(values)):
        what = "all values are" if not kept.any() else f"{count_of(int(rare.sum()), 'value is', 'values are')}"
        raise Infeasible(
            f"Of {count_of(int(occurs.sum()), 'value')} in the table {what} too rare for reference shares with noise: "
            f"fewer than about {few:,.0f} people have each, with epsilon = {float(epsilon):g}.",
            hint="give the shares as 'reference', from outside; or a larger epsilon, which promises less; or make the "
            "column coarser" + (": numbers that are rare cannot be published as one." if is_number(values) else "."),
        )
    labels = [name for name, keep in zip(names, kept.tolist(), strict=True) if keep]
    columns = noisy[:, kept].astype(np.float64)
    # Whether anybody has a rare value must not show: there is always a share for them, but for numbers.
    merged = not is_number(values)
    if merged:
        labels.append(OTHERS)
        # Those who have none of the values named, of how many there are: the noise of these values and no other. With
        # noise of its own for each rare value, how many of these there are would show, and one person can be one more.
        people = counts.sum(axis=1)
        if absent is not None:
            people = people - discrete_laplace(scale, 1, rng)  # as of everybody those who are absent, with noise
        columns = np.column_stack([columns, people - columns.sum(axis=1)])
    overall = np.maximum(columns.sum(axis=0), few)
    if cells == 1:
        return Reference(tuple(labels), (overall / overall.sum())[None, :], merged)
    # A cell has few people of most values: its own counts, and so many people as in the whole table beside them.
    shares = overall / overall.sum()
    mixed = np.maximum(columns, 0) + few * shares
    return Reference(tuple(labels), mixed / mixed.sum(axis=1, keepdims=True), merged)


def recounted(counts: Ints, epsilon: Fraction, merge: float, rng: np.random.Generator) -> Floats:
    """Shares of the same values once more, with noise: `counts` of the people whose sets are drawn now. Which values
    have a name was said before, so that a value that hardly anybody has now keeps the share of `merge` scales."""
    noisy = counts + discrete_laplace(Fraction(2) / epsilon, counts.size, rng)
    overall = np.maximum(noisy.astype(np.float64), too_few(epsilon, merge, 1))
    return np.asarray(overall / overall.sum())


def too_few(epsilon: Fraction, merge: float, cells: int) -> float:
    """Fewer people than this are too few: a value for a share of its own, a cell for shares that are mostly its own."""
    return float(merge * (Fraction(2) / epsilon) * np.sqrt(cells))


def read_shares(path: str) -> tuple[dict[str, float], float]:
    """Reference shares from a CSV file with a column for values and one for shares or counts; and the epsilon that the
    file says they were counted with, 0 where it says none.

    Of several sensitive columns it has a column for each, and then one called `share`: the shares of whole records.
    """
    names = _header(path)
    if len(names) > 2 and names[-1].lower() == "share":
        cells = tuple(f"values of '{name}'" for name in names[:-1])
        frame, spent = read_columns(path, "reference", (*cells, "shares"), ",".join(names))
        return {record_text(row[:-1]): row[-1] for row in frame.iter_rows()}, spent
    frame, spent = read_columns(path, "reference", ("values", "shares"), "value,share")
    return dict(frame.iter_rows()), spent


def _header(path: str) -> list[str]:
    """The columns of a CSV file but `epsilon`; none where it cannot be read, which others say."""
    try:
        names = read_text(path).columns
    except (OSError, TableError):
        return []
    return [name for name in names if name != "epsilon"]


def read_columns(path: str, parameter: str, columns: Sequence[str], header: str) -> tuple[pl.DataFrame, float]:
    """The first columns of a CSV file, the last of them numbers, and what its column `epsilon` says, 0 without one.

    What stands before the number is there once.
    """
    what = f"The '{parameter}' file '{path}'"
    try:
        frame = read_text(path)
    except FileNotFoundError:
        raise ParameterError(
            f"{what} is not there.", hint="`reissue moves` writes such files from past tables."
        ) from None
    except OSError as error:
        raise ParameterError(f"{what} cannot be read: {error.strerror or 'the system refuses it'}.") from error
    except TableError as error:
        raise ParameterError(
            f"{what} is not CSV. {error.what}", hint=f"it needs a line `{header}` and a line for each. {error.hint}"
        ) from None
    spent = _spent(what, frame["epsilon"]) if "epsilon" in frame.columns else 0.0
    frame = frame.drop("epsilon", strict=False)
    if frame.width > len(columns):
        # A column that is misspelt could be the one that says what was told of people.
        raise ParameterError(
            f"{what} has {count_of(frame.width - len(columns), 'column')} that nothing is known of.",
            hint=f"its columns are `{header}`, and `epsilon` if it was counted with noise.",
        )
    if frame.width < len(columns):
        raise ParameterError(
            f"{what} must have {len(columns)} columns, {', '.join(columns[:-1])} and {columns[-1]}. "
            f"It has {frame.width}.",
            hint=f"write a file with a line `{header}` and one for each of them.",
        )
    *named, number = frame.columns[: len(columns)]
    if pl.Series([number]).cast(pl.Float64, strict=False).null_count() == 0:
        raise ParameterError(
            f"{what} has no header: its first line has a number where a name should be.",
            hint=f"put a line `{header}` before the others; `{header},epsilon` if it was counted with noise.",
        )
    found = frame.select(*(frame[name].fill_null("") for name in named), decimals(frame[number]))
    twice = found.height - found.select(named).n_unique()
    if found[number].null_count() or twice:
        raise ParameterError(
            f"{what} must have every {'value' if len(named) == 1 else 'move'} once, with a number. "
            f"{count_of(found[number].null_count(), 'line')} without one, "
            f"{count_of(twice, 'line')} with what was there before.",
            hint=f"correct them; `{header}` is what a line says.",
        )
    return found, spent


def _spent(what: str, column: pl.Series) -> float:
    """What a file says its figures were counted with: one number, in every line."""
    numbers = decimals(column).unique()
    if numbers.len() != 1 or numbers.null_count() or not 0 < numbers[0] < np.inf:
        raise ParameterError(
            f"{what} must say one number above 0 in its column 'epsilon', the same in every line.",
            hint="take the file as `reissue moves` wrote it; leave the column out where nobody of the series was "
            "counted.",
        )
    return float(numbers[0])


def need_known(place: Ints, codes: npt.NDArray[np.integer]) -> None:
    """Refuse a table with values that the reference does not have."""
    counts = often(codes, place.size)
    lacking = int(counts[place < 0].sum())
    if lacking:
        values = int(np.count_nonzero(counts[place < 0]))
        raise Refused(
            f"{count_of(lacking, 'person has', 'people have')} {count_of(values, 'value')} that the reference does not "
            "have: a set with it would give it away.",
            hint="give a reference that has it; in a running series record it with `reissue amend`, and nobody's set "
            f"changes by that before their value does. Shares for all that is not named stand under '{OTHERS}'.",
        )
