"""Whether gradients survive: how values depend on quasi-identifiers, in the release against the table.

For each quasi-identifier and each of the most frequent sensitive values: of a numeric column the slope of "has this
value" on the number, by least squares; of any other the difference of the value's shares between its two largest
labels. And the rank order of the value's shares over ranges or labels of the column. Where several columns are
sensitive, the most frequent values of each of them.

The release stands for the table that an analyst would make of it: anatomised, everybody of a group has each value by
its share in the group; generalised, everybody is spread evenly over the region of their group; of sets, everybody has a
value by their score. With no link at all every slope and difference is 0.

A gradient of the table is beyond chance where it is more than 3 standard errors from 0, as if values had been dealt
out at random: only of these it is asked whether they survive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Floats, Ints
from reissue.model.grouping import HELD_BACK, Grouping
from reissue.model.records import Records
from reissue.model.sets import OTHERS
from reissue.model.showing import with_changed
from reissue.model.snapshot import Column, Numbers
from reissue.utility.extents import Extents
from reissue.utility.places import Cells, Places
from reissue.utility.row_scores import RowScores
from reissue.utility.set_queries import SetRows

MOST_COLUMNS = 12
"""So many quasi-identifiers are looked at, the first ones."""
MOST_VALUES = 6
"""So many sensitive values are looked at, the most frequent ones."""
SURE = 3.0
"""A gradient is beyond chance from so many standard errors on."""
Z = 1.96
LEAST_CELLS = 3
"""An order of fewer shares says nothing."""

Line = tuple[str, float, str]


@dataclass(frozen=True, repr=False)
class Gradients:
    """How gradients of the table come out of the release."""

    each: pl.DataFrame
    """Private, a row for each quasi-identifier (`column`) and sensitive value (`value`): `kind` (slope or difference),
    `truth`, `beyond_chance`, `released`, `error` (of sets, standard; null where regions leave open who is where),
    `ratio`, `holds` (whether 1.96 of these errors hold the truth), `rank` (correlation of the order of shares; null
    where they do not differ beyond chance), `off` (how far the value's share is off in a range or label of the column,
    the mean over people) and `off_no_link` (the same where the share among all people stands for it)."""
    columns_left_out: tuple[str, ...] = ()
    """The quasi-identifiers that were not looked at: those after the first 12."""
    values_left_out: int = 0
    """How many sensitive values were not looked at: those that are not among the 6 most frequent."""

    @property
    def sure(self) -> int:
        """How many gradients of the table are beyond chance."""
        return self._sure().height

    @property
    def kept(self) -> int:
        """How many of these keep their sign in the release."""
        return int((self._sure()["ratio"] > 0).sum())

    @property
    def turned(self) -> int:
        """How many of these are turned round in the release; what is neither kept nor turned is gone."""
        return int((self._sure()["ratio"] < 0).sum())

    @property
    def ratio(self) -> float | None:
        """What is left of their size, the median: 1 all of it, 0 nothing, below 0 it is turned round."""
        return _median(self._sure()["ratio"])

    @property
    def noise(self) -> float | None:
        """By how much of its size one of them is off by the draw of sets, the median; None where that is not known."""
        sure = self._sure()
        return _median((sure["error"] / sure["truth"].abs()).drop_nulls())

    @property
    def coverage(self) -> float | None:
        """How often 1.96 standard errors hold the truth, of all gradients; None where there are none."""
        holds = self.each["holds"].drop_nulls()
        return float(holds.cast(pl.Float64).to_numpy().mean()) if len(holds) else None

    @property
    def rank(self) -> float | None:
        """Rank correlation of a value's shares by range or label, the median; None where no shares differ."""
        return _median(self.each["rank"].drop_nulls())

    @property
    def off(self) -> float | None:
        """How far shares by range or label, the means of having a value, are off; the mean. None without any."""
        return _mean(self.each["off"])

    @property
    def off_no_link(self) -> float | None:
        """The same with no link at all, where everybody is taken to be like all people together."""
        return _mean(self.each["off_no_link"])

    def _sure(self) -> pl.DataFrame:
        return self.each.filter("beyond_chance")

    def _columns(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for (name,), part in self._sure().group_by("column", maintain_order=True):
            kept = int((part["ratio"] > 0).sum())
            found[str(name)] = {"beyond_chance": part.height, "kept": kept, "ratio": _median(part["ratio"])}
        return found

    def to_dict(self) -> dict[str, Any]:
        """The figures without values, ready for JSON; None stands for one that is undefined."""
        return {
            "looked_at": self.each.height,
            "columns_left_out": list(self.columns_left_out),
            "values_left_out": self.values_left_out,
            "beyond_chance": self.sure,
            "kept": self.kept,
            "turned": self.turned,
            "ratio": self.ratio,
            "coverage": self.coverage,
            "rank": self.rank,
            "off": self.off,
            "off_no_link": self.off_no_link,
            "columns": self._columns(),
        }

    @property
    def left_out(self) -> str | None:
        """What was not looked at, in words; None where everything was."""
        parts = [
            f"{len(self.columns_left_out):,} quasi-identifiers after the first {MOST_COLUMNS}"
            * bool(self.columns_left_out),
            f"{self.values_left_out:,} values that are not among the {MOST_VALUES} most frequent"
            * bool(self.values_left_out),
        ]
        return " and ".join(part for part in parts if part) or None

    def lines(self) -> list[Line]:
        """The figures there are, with what they mean."""
        lines: list[Line] = []
        if self.ratio is not None:
            pairs = f"of {self.each.height:,} of a quasi-identifier and a frequent value; slopes, differences of shares"
            lines += [
                ("gradients beyond chance", self.sure, pairs),
                ("  sign kept", self.kept, f"in the release; {self.turned:,} turned round. No link at all: none kept"),
                ("  size kept", self.ratio, "median; 1 all of it, 0 gone, below 0 turned round"),
                *(
                    (f"  size kept of {name}", one["ratio"], f"{one['kept']} of {one['beyond_chance']} keep their sign")
                    for name, one in self._columns().items()
                ),
            ]
        if self.rank is not None:
            lines.append(("rank order kept", self.rank, "of a value's shares by group; 1 the same, 0 none; median"))
        if self.coverage is not None:
            lines.append(
                ("gradients near the truth", self.coverage, "within 1.96 standard errors; 95 % where these are right")
            )
        if lines and self.left_out is not None:
            lines.append(
                (
                    "gradients not looked at",
                    len(self.columns_left_out) + self.values_left_out,
                    f"{self.left_out}; ask for them",
                )
            )
        return lines

    def __repr__(self) -> str:
        return f"Gradients({self.kept} of {self.sure} keep their sign)"


@dataclass(frozen=True, repr=False)
class Tally:
    """Who is at the places of a column."""

    people: Floats
    """How many at each place."""
    having: Floats
    """For each place (lines) how many have each value (columns); of sets, their scores."""
    noise: Floats | None = None
    """The variance of each of these, where they are estimates with intervals; there it is known who is where."""


Released = Callable[[Cells], tuple[Places, Tally]]


def group_gradients(
    quasi: Sequence[Column],
    values: Column,
    grouping: Grouping,
    *,
    counterfeit: Bools | None,
    extents: Extents | None,
) -> Gradients:
    """Those of a release of groups; `extents` are their regions, None in the anatomised form."""
    real = np.arange(values.codes.size) if counterfeit is None else np.flatnonzero(~counterfeit)
    chosen = Asked.of(values, real)
    shown = np.flatnonzero(grouping.group != HELD_BACK)
    group = grouping.group[shown].astype(np.int64)
    published = values if grouping.changed is None else with_changed(values, grouping.changed)
    having = _by_place(group, chosen.having[published.codes[shown]], grouping.count)
    sizes = np.bincount(group, minlength=grouping.count).astype(np.float64)
    shares = None if extents else (having / sizes[:, None])[group]

    def released(cells: Cells) -> tuple[Places, Tally]:
        if extents is not None:
            return cells.of_regions(extents), Tally(sizes, having)
        assert shares is not None
        codes = cells.column.codes[shown].astype(np.int64)
        people = np.bincount(codes, minlength=cells.cell.size).astype(np.float64)
        return cells.of_codes, Tally(people, _by_place(codes, shares, cells.cell.size))

    return _gradients(quasi, values, real, chosen, released)


def set_gradients(rows: SetRows) -> Gradients:
    """Those of a release of sets, by scores."""
    shown = rows.shown
    everybody = np.arange(rows.values.codes.size)
    chosen = Asked.of(rows.values, everybody, rows)
    at = rows.place[shown]
    scores = RowScores(rows.codes[at], rows.design[at], rows.designs)
    score = scores.of(scores.weights(chosen.of_labels))

    def released(cells: Cells) -> tuple[Places, Tally]:
        if rows.extents is not None and rows.region is not None:
            place, count, places = rows.region, rows.extents.rows.sizes.size, cells.of_regions(rows.extents)
        else:
            place, count, places = cells.column.codes[shown].astype(np.int64), cells.cell.size, cells.of_codes
        people = np.bincount(place, minlength=count).astype(np.float64)
        # The mean of y^2 - y, for whoever has whichever value, is the variance of their score y. Where it is not known
        # who is where, that is not all there is to an error.
        noise = _by_place(place, score**2 - score, count) if places.exact else None
        return places, Tally(people, _by_place(place, score, count), noise)

    return _gradients(rows.quasi, rows.values, everybody, chosen, released)


def _gradients(quasi: Sequence[Column], values: Column, real: Ints, chosen: Asked, released: Released) -> Gradients:
    true = chosen.having[values.codes[real]]
    parts: list[dict[str, Any]] = []
    for column in quasi[:MOST_COLUMNS]:
        codes, count = column.codes[real].astype(np.int64), _code_count(column)
        people = np.bincount(codes, minlength=count)
        cells = Cells.of(column, people)
        if cells.count < 2:
            continue
        table = Tally(people.astype(np.float64), _by_place(codes, true, count))
        places, tally = released(cells)
        truth, chance, _ = _gradient(cells.of_codes, table)
        found, _, error = _gradient(places, tally)
        shares, told = _cell_shares(cells.of_codes, table), _cell_shares(places, tally)
        ranks = _ranks(shares, told)
        inside = cells.of_codes.shares.T @ table.people
        off, off_no_link = (_off(shares, guess, inside) for guess in (_filled(told, tally), _overall(table)))
        differ = _shares_differ(cells.of_codes, table)
        sure = np.abs(truth) > SURE * chance
        holds = None if error is None else np.abs(found - truth) <= Z * error
        for at, name in enumerate(chosen.names):
            parts.append(
                {
                    "column": column.name,
                    "value": name,
                    "kind": "slope" if places.mean is not None else "difference",
                    "truth": float(truth[at]),
                    "beyond_chance": bool(sure[at]),
                    "released": float(found[at]),
                    "error": None if error is None else float(error[at]),
                    "ratio": float(found[at] / truth[at]) if truth[at] else None,
                    "holds": None if holds is None else bool(holds[at]),
                    "rank": float(ranks[at]) if differ[at] else None,
                    "off": float(off[at]),
                    "off_no_link": float(off_no_link[at]),
                }
            )
    schema = {
        "column": pl.String, "value": pl.String, "kind": pl.String, "truth": pl.Float64, "beyond_chance": pl.Boolean,
        "released": pl.Float64, "error": pl.Float64, "ratio": pl.Float64, "holds": pl.Boolean, "rank": pl.Float64,
        "off": pl.Float64, "off_no_link": pl.Float64,
    }  # fmt: skip
    beyond = tuple(column.name for column in quasi[MOST_COLUMNS:])
    return Gradients(pl.DataFrame(parts, schema=schema), beyond, chosen.left_out)


def _gradient(places: Places, tally: Tally) -> tuple[Floats, Floats, Floats | None]:
    """The slope or difference for each value, its error if values were dealt out at random, and that of the release.

    One that cannot be had, since nobody is left to compare, is 0: it is gone.
    """
    return _slope(places, tally) if places.mean is not None else _difference(places, tally)


def _slope(places: Places, tally: Tally) -> tuple[Floats, Floats, Floats | None]:
    assert places.mean is not None
    there = ~np.isnan(places.mean)
    x, within, n = places.mean[there], places.variance[there], tally.people[there]
    having, people = tally.having[there], max(float(n.sum()), 1.0)
    x = x - float(n @ x) / people
    spread = float(n @ (within + x**2))
    if not spread > 0:
        nothing = np.zeros(having.shape[1])
        return nothing, nothing, None if tally.noise is None else nothing
    share = having.sum(axis=0) / people
    chance = np.sqrt(np.maximum(share * (1 - share), 0.0) / spread)
    if tally.noise is None:
        return x @ having / spread, chance, None
    variance = (x**2) @ tally.noise[there]
    return x @ having / spread, chance, np.sqrt(np.maximum(variance, 0.0)) / spread


def _difference(places: Places, tally: Tally) -> tuple[Floats, Floats, Floats | None]:
    shares, n = _cell_shares(places, tally)[:2], places.shares[:, :2].T @ tally.people
    if not n.all():
        nothing = np.zeros(shares.shape[1])
        return nothing, nothing, None if tally.noise is None else nothing
    both = n @ shares / n.sum()
    chance = np.sqrt(np.maximum(both * (1 - both), 0.0) * (1 / n).sum())
    if tally.noise is None:
        return shares[0] - shares[1], chance, None
    w = places.shares[:, :2]
    variance = (w[:, 0] / n[0] - w[:, 1] / n[1]) ** 2 @ tally.noise
    return shares[0] - shares[1], chance, np.sqrt(np.maximum(variance, 0.0))


def _cell_shares(places: Places, tally: Tally) -> Floats:
    """For each cell (lines) the share of its people who have each value; NaN where nobody is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((places.shares.T @ tally.having) / (places.shares.T @ tally.people)[:, None])


def _overall(tally: Tally) -> Floats:
    """The share of all people who have each value."""
    return np.asarray(tally.having.sum(axis=0) / max(float(tally.people.sum()), 1.0))


def _filled(shares: Floats, tally: Tally) -> Floats:
    """Shares by cell; where nobody of a cell was published, those of all people."""
    return np.where(np.isnan(shares), _overall(tally), shares)


def _off(truth: Floats, told: Floats, people: Floats) -> Floats:
    """For each value how far its shares by cell are off, the mean over people."""
    return np.asarray(people @ np.abs(np.nan_to_num(truth - told)) / max(float(people.sum()), 1.0))


def _shares_differ(places: Places, tally: Tally) -> Bools:
    """For each value whether its shares differ between cells beyond chance, by the chi-squared statistic."""
    n, shares = places.shares.T @ tally.people, _cell_shares(places, tally)
    freedom = n.size - 1
    if n.size < LEAST_CELLS:
        return np.zeros(shares.shape[1], dtype=np.bool_)
    share = n @ shares / n.sum()
    statistic = n @ (shares - share) ** 2
    return np.asarray(statistic > share * (1 - share) * (freedom + SURE * np.sqrt(2 * freedom)))


def _ranks(truth: Floats, found: Floats) -> Floats:
    """For each value the rank correlation of two lists of shares; 0 where one of them has no order."""
    ranks = np.zeros(truth.shape[1])
    there = ~np.isnan(found).any(axis=1)
    for value in range(truth.shape[1]):
        # What differs by rounding alone has no order.
        one, other = (pl.Series(part[there, value].round(12)).rank().to_numpy() for part in (truth, found))
        if there.sum() >= LEAST_CELLS and np.ptp(one) and np.ptp(other):
            ranks[value] = np.corrcoef(one, other)[0, 1]
    return ranks


@dataclass(frozen=True, repr=False)
class Asked:
    """The values whose gradients are looked at."""

    names: tuple[str, ...]
    having: Floats
    """For each code of the sensitive column (lines) whether it is each of them (columns): 1 or 0."""
    of_labels: Floats
    """The same for the labels that sets are made of; nothing where there are no sets."""
    left_out: int = 0
    """How many values that people have are not among them."""

    @classmethod
    def of(cls, values: Column, rows: Ints, sets: SetRows | None = None) -> Asked:
        """The most frequent values of each sensitive column, without those that sets have under a common name."""
        levels = values.levels
        columns = levels.columns(values.codes[rows]) if isinstance(levels, Records) else [values]
        names: list[str] = []
        having, of_labels, there = [], [], 0
        for at, column in enumerate(columns):
            own = _code_count(column)
            codes = column.codes if isinstance(levels, Records) else column.codes[rows]
            count = np.bincount(codes, minlength=own)
            there += int(np.count_nonzero(count))
            texts = column.levels.decode(np.arange(own)).cast(pl.String).fill_null("").to_list()
            labels = _texts_of_labels(sets, at) if sets is not None else []
            if sets is not None:
                count = count * np.isin(texts, labels)
            for code in np.argsort(-count, kind="stable")[:MOST_VALUES].tolist():
                if not count[code]:
                    continue
                names.append(texts[code] if len(columns) == 1 else f"{column.name} = {texts[code]}")
                cells = levels.cells[:, at] if isinstance(levels, Records) else np.arange(own)
                having.append((cells == code).astype(np.float64))
                of_labels.append(np.array([text == texts[code] for text in labels], dtype=np.float64))
        size = _code_count(values)
        nothing = np.zeros((0 if sets is None else len(sets.designs.labels), 0))
        return cls(
            tuple(names),
            np.stack(having, axis=1) if having else np.zeros((size, 0)),
            np.stack(of_labels, axis=1) if of_labels else nothing,
            there - len(names),
        )


def _texts_of_labels(sets: SetRows, column: int) -> list[str]:
    """For each label that sets are made of its value in a sensitive column, as text; nothing like it for rare ones."""
    designs = sets.designs
    if designs.columns:
        own = designs.value_columns[column]
        return [own.values[at] for at in own.of.tolist()]
    texts = pl.Series(list(designs.labels)).cast(pl.String).fill_null("").to_list()
    return ["\0" if text == OTHERS else text for text in texts]


def _by_place(place: Ints, figures: Floats, count: int) -> Floats:
    """Sums of each column of figures over the rows of each place."""
    found = np.empty((count, figures.shape[1]))
    for at in range(figures.shape[1]):
        found[:, at] = np.bincount(place, figures[:, at], minlength=count)
    return found


def _code_count(column: Column) -> int:
    return column.levels.values.size if isinstance(column.levels, Numbers) else len(column.levels.labels)


def _median(figures: pl.Series) -> float | None:
    return float(np.median(figures.to_numpy())) if len(figures) else None


def _mean(figures: pl.Series) -> float | None:
    return float(figures.to_numpy().mean()) if len(figures) else None
