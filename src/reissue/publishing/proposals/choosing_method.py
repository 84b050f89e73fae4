"""The method: sets of values that the table can keep; else groups that protect a series; else groups of one release.

For `Alternatives` the table must give reference shares with noise: its frequent values must stand out from the noise,
and none of them may be so frequent that no limit below 1 holds it. That is worked out from counts, with some room, as
the noise of the release will be another one. With several columns the shares are of whole records. Columns are taken in
one after the other, what matters most first, as long as the records still stand out; what does not fit is left over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.randomness import generator
from reissue.errors import ReissueError
from reissue.methods.alternatives.record_reference import RecordReference, noised_records
from reissue.model.hierarchy import MISSING
from reissue.model.record_design import RecordDesign
from reissue.model.snapshot import Column, Labels, smallest_unsigned
from reissue.reasoning.alternatives.record_designing import record_design_of
from reissue.reasoning.alternatives.record_excess import excess
from reissue.reasoning.alternatives.record_flight import public_words, walk_ends
from reissue.reasoning.alternatives.record_scoring import RecordPairs

USUAL_M = 4
EPSILONS = (0.1, 1.0)
"""How much noise is proposed for reference shares of one column: much, and where the table is too small, less."""
RECORDS_EPSILON = 1.0
FEW_SCALES = 10
"""Values with fewer people than so many scales of the noise are published as one, as Alternatives does by default."""
ROOM = 1.5
"""So many times as many people a value must have to count as frequent here."""
NAMED = 2 / 3
"""So large a share of the people of every table must have a value of its own name; else sets say `(other values)` of
too many."""
MOST_LIMIT = Fraction(3, 4)
"""Above this a limit hides little; it is proposed only where nothing else is possible."""
TOLD = 0.8
"""So large a share of people must have records that stand out from noise; 0.75 is what the method asks for."""
MOST_COLUMNS = 6
MOST_TRIES = 9
MOST_RECORDS = 4_000
"""Of more records estimates are refused."""
WALKS, SELDOM = 100, 0.03
"""So many walks are tried for each value, and so many of them may end beyond a limit; 0.05 is what the method bears."""
SIZES = (4, 5, 6, 8)
"""m for several columns: a column with a frequent value needs a larger one."""


@dataclass(frozen=True)
class Sets:
    """Sets of values that the table can keep."""

    columns: tuple[str, ...]
    m: int
    limits: Mapping[str, Fraction]
    """The limit of each column; 1/m where no value is frequent."""
    epsilon: float


def coded(values: pl.Series) -> Column:
    """A column of labels, as methods have it."""
    texts = values.cast(pl.String).fill_null(MISSING)
    labels = texts.unique().sort()
    codes = texts.cast(pl.Enum(labels)).to_physical().to_numpy()
    return Column(values.name, codes.astype(smallest_unsigned(labels.len())), Labels(tuple(labels.to_list())))


def single_sets(values: pl.Series, later: Sequence[pl.Series] = ()) -> Sets | None:
    """Sets of the values of one column of labels; None where the table is too small, one value too frequent, or where
    too many people have a rare value, here or in a `later` table."""
    counts = values.alias("value").value_counts(sort=True)
    for epsilon in EPSILONS:
        found = _sizes(counts["count"].to_list(), epsilon)
        few = ROOM * FEW_SCALES * 2 / epsilon
        if found is not None and _named_later(counts.filter(pl.col("count") >= few)["value"], later) >= NAMED:
            m, slots = found
            return Sets((values.name,), m, {values.name: Fraction(slots, m)}, epsilon)
    return None


def rare_share(values: pl.Series) -> float:
    """The share of people whose value sets would publish as `(other values)`, with as little noise as is proposed."""
    counts = values.alias("value").value_counts()["count"]
    return float(counts.filter(counts < ROOM * FEW_SCALES * 2 / EPSILONS[-1]).sum()) / max(values.len(), 1)


def _named_later(named: pl.Series, later: Sequence[pl.Series]) -> float:
    """The least share of the people of later tables who have one of some values."""
    known = named.cast(pl.String).fill_null(MISSING).implode()
    shares = [one.cast(pl.String).fill_null(MISSING).is_in(known).mean() for one in later if one.len()]
    return min((float(share or 0.0) for share in shares), default=1.0)  # type: ignore[arg-type]


def _sizes(counts: Sequence[int], epsilon: float) -> tuple[int, int] | None:
    """m and the slots of the most frequent value, where shares with this noise can be had; with some room."""
    scale, total = 2 / epsilon, sum(counts)
    few = ROOM * FEW_SCALES * scale
    kept = [count for count in counts if count >= few]
    if sum(kept) < NAMED * total:
        return None
    near = 1.25 * FEW_SCALES * scale  # what has fewer people may or may not get a name
    rare = max(sum(count for count in counts if count < near), FEW_SCALES * scale)
    shares = [count / total for count in (*kept, rare)]
    for m in (USUAL_M, 3, 2):
        slots = max(_slots(share, m, FEW_SCALES * scale / total) for share in shares)
        if len(shares) > m + 1 and slots < m:
            return m, slots
    return None


def _slots(share: float, m: int, noise: float) -> int:
    """How many of m slots a value takes, if its share came out as high as noise can make it."""
    high = min(1.0, share + noise)
    return math.ceil(m * high + (1 - high) / 2)


def several_sets(
    people: pl.DataFrame, ranked: Sequence[str], later: Sequence[pl.DataFrame] = (), most: Fraction = MOST_LIMIT
) -> Iterator[Sets]:
    """Sets of records of as many of these columns as fit, what comes first rather; then with the last ones left out,
    one after the other, should those not be wanted. Nothing where no two columns fit. No limit is above `most`, and in
    no table, nor in `later` ones, has any column too many rare values."""
    usable = [name for name in ranked if _usable(people[name], [one[name] for one in later], most)][: MOST_TRIES + 1]
    columns = {name: coded(people[name]) for name in usable}
    chosen, found = usable[:1], []
    for name in usable[1:]:
        if len(chosen) == MOST_COLUMNS:
            break
        together = _together([columns[one] for one in (*chosen, name)], later, most)
        if together is not None:
            chosen = [*chosen, name]
            found.append(together)
    for reference, sizes in reversed(found):
        for m, slots in sizes:
            design = _design(reference, m, slots)
            values = [len(labels) for labels in reference.labels]
            if design is not None and _walks_end_well(design, values) and _good_for_analysts(design):
                limits = {name: Fraction(own, m) for name, own in zip(reference.columns, slots, strict=True)}
                yield Sets(reference.columns, m, limits, RECORDS_EPSILON)
                break


def _usable(values: pl.Series, later: Sequence[pl.Series], most: Fraction) -> bool:
    """Whether some limit can hold the most frequent value of a column, and values are not too rare beside another."""
    counts = values.alias("value").value_counts()
    share = float(counts["count"].max() or 0) / values.len()  # type: ignore[arg-type]
    if counts.height < 2 or not any(_holds([_slots(share, m, 0.005)], m, most) for m in SIZES):
        return False
    few = FEW_SCALES * 8 * 2 / RECORDS_EPSILON / ROOM  # by chance somewhat fewer may do
    return _named_later(counts.filter(pl.col("count") >= few)["value"], [values, *later]) >= NAMED


def _holds(slots: Sequence[int], m: int, most: Fraction) -> bool:
    return max(slots) < m and Fraction(max(slots), m) <= most


def _together(
    columns: Sequence[Column], later: Sequence[pl.DataFrame], most: Fraction
) -> tuple[RecordReference, list[tuple[int, list[int]]]] | None:
    """Shares of records of exactly these columns, by one noise, which is thrown away; and with each m that limits can
    be had for, how many of m records the values of each column take."""
    people = columns[0].codes.size
    # What each column has of epsilon, as `record_reference` deals it out.
    few = FEW_SCALES * 8 * len(columns) / RECORDS_EPSILON
    kept = [int(np.count_nonzero(np.bincount(column.codes) >= few)) + 1 for column in columns]
    if math.prod(kept) > MOST_RECORDS:
        return None
    try:
        reference = noised_records(columns, Fraction(RECORDS_EPSILON), FEW_SCALES, generator(0))
    except ReissueError:
        return None
    if reference.told < TOLD:
        return None
    for column, labels in zip(columns, reference.labels, strict=True):
        named = pl.Series(labels, dtype=pl.String)
        if min(_named(column, labels), _named_later(named, [one[column.name] for one in later])) < NAMED:
            return None
    shares = [
        float(np.bincount(codes, weights=reference.shares).max()) for codes in reference.records.T
    ]  # `(other values)` among them, which can be the most frequent
    sizes = [(m, [_slots(share, m, few / 2 / people) for share in shares]) for m in SIZES]
    sizes = [(m, slots) for m, slots in sizes if _holds(slots, m, most)]
    return (reference, sizes) if sizes else None


def _good_for_analysts(design: RecordDesign) -> bool:
    """Whether shares can be estimated from sets of so many records: `publish` refuses a policy where they cannot."""
    try:
        RecordPairs(design)
    except ReissueError:
        return False
    return True


def _design(reference: RecordReference, m: int, slots: Sequence[int]) -> RecordDesign | None:
    values = [len(labels) for labels in reference.labels]
    try:
        return record_design_of(reference.records, reference.shares, m, values, [{}] * len(values), slots)
    except ReissueError:
        return None


def _walks_end_well(design: RecordDesign, values: Sequence[int]) -> bool:
    """Whether hardly a set of so many records goes beyond a limit, for people with any value; from a few walks each."""
    if not design.yielding:
        return True
    true = []
    for codes, count in zip(design.records.T, values, strict=True):
        for value in range(count):
            mine = np.flatnonzero(codes == value)
            added = np.cumsum(design.shares[mine])
            at = np.searchsorted(added, (np.arange(WALKS) + 0.5) / WALKS * added[-1])
            true.append(mine[np.minimum(at, mine.size - 1)])
    beyond = excess(design, walk_ends(design, np.concatenate(true), public_words)).any(axis=1)
    return int(beyond.reshape(-1, WALKS).sum(axis=1).max()) <= SELDOM * WALKS


def _named(column: Column, labels: Sequence[str]) -> float:
    """The share of people whose value has a name of its own."""
    levels = column.levels
    assert isinstance(levels, Labels)
    own = set(labels)
    named = np.array([label in own for label in levels.labels])
    return float(named[column.codes].mean())


def largest_m(values: pl.Series) -> int:
    """The largest m that m-invariance can have without counterfeits for want of other values, up to the usual one."""
    return min(USUAL_M, values.len() // int(values.alias("value").value_counts()["count"].max()))  # type: ignore[arg-type]
