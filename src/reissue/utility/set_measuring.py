"""What a release of sets still tells: how exactly shares can be estimated, and the error of COUNT queries.

Nobody is generalised away and nobody is made up: the price of sets is variance. The *design effect* of a value is how
many times larger the variance of its estimated share is than if everybody showed their value. No mechanism whose
largest posterior is L has less than (1 - p) / (L - p), which stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, ParameterError
from reissue.model.grouping import Grouping
from reissue.model.libraries import Library, to_library
from reissue.model.records import Records
from reissue.model.sets import OTHERS, SetDesigns
from reissue.model.snapshot import Column, Labels, Numbers, Snapshot
from reissue.reasoning.alternatives.record_scoring import RecordPairs, column_scores, enough_draws
from reissue.reasoning.alternatives.scoring import bounds, effects
from reissue.tables.recode_sets import DESIGN
from reissue.tables.set_views import read_designs, read_sets
from reissue.utility.answers import Answers
from reissue.utility.extents import Extents
from reissue.utility.gradients import Gradients, set_gradients
from reissue.utility.in_words import in_words
from reissue.utility.queries import Progress
from reissue.utility.row_scores import why_not_by_design
from reissue.utility.set_queries import SetQueryError, SetRows, set_query_error
from reissue.utility.sizes_of_counts import narrower
from reissue.utility.workload import Workload

GROUP_SIZE = 1_000
"""For a group of so many people it is said how exact an estimated share is."""


@dataclass(frozen=True, repr=False)
class SetUtility:
    """What one release of sets still tells."""

    rows: int
    """How many people were published, each with a set."""
    held_back: int
    """How many people of the private table were not published."""
    m: int
    """How many slots a set has."""
    values: pl.DataFrame
    """A row for each value of each design in use: `value`, `design`, `share`, `slots`, `design_effect`, `bound`,
    `standard_error` of its share in a group of 1,000 people. Of designs with very many values it has some of them.
    Where several columns are sensitive, the values of each: `ward = surgery`."""
    distinct: int
    """How many values sets are made of."""
    others: int
    """How many people have a rare value, published as one with all others."""
    query_error: SetQueryError | None
    """None where no workload was given, and where queries cannot be answered."""
    unanswered: str | None = None
    """Why queries cannot be answered by scores; None where they can."""
    gradients: Gradients | None = None
    """How values depend on quasi-identifiers, in the release against the table; None where `unanswered` says why."""
    shares: Answers | None = None
    """Shares of values in random parts of the table, as `analyse` estimates them; None without a workload."""
    means: Answers | None = None
    """The same of means, where a sensitive column has numbers."""
    answers: Answers | None = None
    """The answers to the questions that were given; None where none were."""
    library: Library = "polars"
    """The library that `frame` and `details` come back in."""

    @property
    def sentence(self) -> str:
        """What the release is worth beside no link at all, in words."""
        return in_words(self.gradients, self.query_error, self.unanswered)

    @property
    def design_effect(self) -> tuple[float, float]:
        """The median and the largest."""
        return self._middle_and_most("design_effect")

    @property
    def bound(self) -> tuple[float, float]:
        """The median and the largest design effect that no mechanism with these limits goes below."""
        return self._middle_and_most("bound")

    @property
    def standard_error(self) -> tuple[float, float]:
        """Of a share in a group of 1,000 people, the median and the largest."""
        return self._middle_and_most("standard_error")

    def _middle_and_most(self, name: str) -> tuple[float, float]:
        column = self.values[name].to_numpy()
        return float(np.median(column)), float(column.max())

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON; None stands for one without end."""
        return {
            "form": "alternatives",
            "rows": self.rows,
            "held_back": self.held_back,
            "m": self.m,
            "values": self.distinct,
            "design_effect": _pair(self.design_effect),
            "bound": _pair(self.bound),
            "standard_error": {"people": GROUP_SIZE, **_pair(self.standard_error)},
            "others": self.others,
            "query_error": self.query_error and self.query_error.to_dict(),
            "unanswered": self.unanswered,
            "gradients": self.gradients and self.gradients.to_dict(),
            "shares": self.shares and self.shares.to_dict(),
            "means": self.means and self.means.to_dict(),
            "answers": self.answers and self.answers.each.to_dicts(),
            "sentence": self.sentence,
        }

    def details(self) -> dict[str, Any]:
        """The tables behind the figures, as far as there are any: `values`, `gradients`, `queries`, `by_size`,
        `answers`.

        Private: their counts are exact.
        """
        each = None if self.gradients is None else self.gradients.each
        found = {"values": self.values, "gradients": each}
        if self.query_error is not None:
            found |= {"queries": self.query_error.queries, "by_size": self.query_error.by_size}
        if self.answers is not None:
            found["answers"] = self.answers.each
        return {name: to_library(table, self.library) for name, table in found.items() if table is not None}

    def frame(self) -> Any:
        """One row for each figure there is: `measure`, `value`, `meaning`."""
        (effect, worst), (bound, most), (error, largest) = self.design_effect, self.bound, self.standard_error
        lines: list[tuple[str, float, str]] = [
            ("rows", self.rows, f"each with a set of {self.m} slots, one value of it true"),
            ("withheld", self.held_back, "people of the table who were not published"),
            ("values", self.distinct, "that sets are made of"),
            ("people with a rare value", self.others, f"published as '{OTHERS}'"),
            ("design effect", effect, "variance of a value's share, 1 if all showed theirs; median over values"),
            ("  the least there is", bound, "for the same largest probability, by any mechanism; median"),
            ("largest design effect", worst, "of any value"),
            ("  the least there is", most, "the largest of these"),
            ("standard error of a share", error, f"in a group of {GROUP_SIZE:,} people; median over values"),
            ("largest standard error", largest, f"in a group of {GROUP_SIZE:,} people, of any value"),
        ]
        if self.query_error is not None:
            lines += _query_lines(self.query_error)
        elif self.unanswered is not None:
            lines.append(("queries answered", 0, f"no counts by scores: {self.unanswered}"))
        lines += [
            *(self.shares.lines("shares") if self.shares else []),
            *(self.means.lines("means") if self.means else []),
        ]
        if self.gradients is not None:
            lines += self.gradients.lines()
        schema = {"measure": pl.String, "value": pl.Float64, "meaning": pl.String}
        return to_library(pl.DataFrame(lines, schema=schema, orient="row"), self.library)

    def __repr__(self) -> str:
        figures = [f"{self.rows:,} rows with sets of {self.m} slots"]
        if self.held_back:
            figures.append(f"{self.held_back:,} withheld")
        figures.append(f"design effect {self.design_effect[0]:.2f} (no less than {self.bound[0]:.2f})")
        if self.query_error is not None and self.query_error.answered:
            both = self.query_error
            figures.append(f"median query error {both.median:.2%} (no link at all: {both.median_no_link:.2%})")
        return f"SetUtility({', '.join(figures)})"


def measure_sets(
    number: int,
    snapshot: Snapshot,
    grouping: Grouping,
    tables: Mapping[str, pl.DataFrame],
    record: Mapping[str, Any],
    *,
    weights: Mapping[str, float] | None = None,
    workload: Workload | None = None,
    progress: Progress | None = None,
) -> SetUtility:
    """Measure a release of sets.

    `grouping` says for each row of the snapshot which row of the public `tables` it is; `record` is the public record
    of the release with this number.
    """
    if weights is not None:
        raise ParameterError(
            "The 'weights' parameter of utility must be left out where sets of values are published: it weighs what "
            "generalisation takes away."
        )
    sensitive = snapshot.values.name
    designs = read_designs(tables, record["design"], sensitive)
    codes, design = read_sets(tables["table"], designs, sensitive)
    place = grouping.group.astype(np.int64)
    label = _labels_of(snapshot.values, designs)
    values = _values(designs, np.unique(design[place[place >= 0]]), int(np.count_nonzero(place >= 0)))
    error, gradients, unanswered = None, None, why_not_by_design(number, record["design"])
    if not np.isfinite(values["design_effect"].to_numpy()).all():
        unanswered = "a value is in every set"
    if unanswered is None:
        extents, region = _regions(snapshot, place, tables["table"], record)
        rows = SetRows(snapshot.quasi, snapshot.values, place, codes, design, designs, label, extents, region)
        gradients = set_gradients(rows)
        if workload is not None:
            error = set_query_error(rows, workload, progress)
            error = replace(error, narrower=narrower(workload, lambda asked: set_query_error(rows, asked)))
    return SetUtility(
        rows=int(np.count_nonzero(place >= 0)),
        held_back=int(np.count_nonzero(place < 0)),
        m=designs.m,
        values=values,
        distinct=len(designs.labels),
        others=int(np.count_nonzero(_rare(designs)[label[snapshot.values.codes[place >= 0]]])),
        query_error=error,
        unanswered=unanswered,
        gradients=gradients,
    )


def _labels_of(values: Column, designs: SetDesigns) -> Ints:
    """For each code of a column the label of the designs that stands for it."""
    levels = values.levels
    if isinstance(levels, Records):
        return np.maximum(designs.labels_of(levels), 0)
    if isinstance(levels, Numbers):
        names: list[object] = levels.decode(np.arange(levels.values.size)).to_list()
    else:
        names = list(levels.labels if isinstance(levels, Labels) else levels.hierarchy.leaves)
    place = {name: at for at, name in enumerate(designs.labels)}
    # A code that no table has had needs no label of its own.
    return np.array([place.get(name, place.get(OTHERS, 0)) for name in names], dtype=np.int64)


def _rare(designs: SetDesigns) -> Bools:
    """Which labels stand for rare values, in some column."""
    if not designs.columns:
        return np.array([label == OTHERS for label in designs.labels], dtype=np.bool_)
    rare = [np.array([value == OTHERS for value in own.values])[own.of] for own in designs.value_columns]
    return np.asarray(np.logical_or.reduce(rare))


def _record_values(designs: SetDesigns, at: int, people: int) -> pl.DataFrame:
    """The same for the values of several columns, of which a set has as many as there is room."""
    design, parts = designs.of_records[at], []
    try:
        pairs = RecordPairs(design, enough_draws(design, people))
    except Infeasible:
        pairs = None
    for column, own in enumerate(designs.value_columns):
        found = None if pairs is None else column_scores(design, column, pairs)
        codes = np.unique(own.of[designs.places[at]])
        share = np.bincount(own.of[designs.places[at]], weights=design.shares, minlength=len(own.values))[codes]
        effect = np.full(codes.size, np.inf)
        if found is not None:
            # Scores go by the design's own codes of values.
            order = [own.of[designs.places[at]][np.argmax(found.cell_of == cell)] for cell in range(found.shares.size)]
            effect = found.effects[np.argsort(order)]
        room = designs.room_of(at, column)[codes]
        spare = room / designs.m - share
        with np.errstate(divide="ignore"):
            least = np.where(spare > 1e-12, (1 - share) / spare, np.inf)
        parts.append(
            pl.DataFrame(
                {
                    "value": [f"{own.name} = {own.values[code]}" for code in codes.tolist()],
                    "design": np.full(codes.size, at + 1),
                    "share": share,
                    "slots": room,
                    "design_effect": effect,
                    "bound": least,
                    "standard_error": np.sqrt(effect * share * (1 - share) / GROUP_SIZE),
                }
            )
        )
    return pl.concat(parts)


def _values(designs: SetDesigns, used: Ints, people: int) -> pl.DataFrame:
    """Design effects and what no mechanism goes below, for the values of the designs that are in use."""
    parts = []
    for at in used.tolist():
        if designs.columns:
            parts.append(_record_values(designs, at, people))
            continue
        design, places = designs.of_values[at], designs.places[at]
        try:
            chosen, effect = effects(design)
        except Infeasible:
            chosen, effect = np.arange(design.values), np.full(design.values, np.inf)
        p = design.shares[chosen]
        parts.append(
            pl.DataFrame(
                {
                    "value": [str(designs.labels[places[value]]) for value in chosen],
                    "design": np.full(chosen.size, at + 1),
                    "share": p,
                    "slots": design.slots[chosen],
                    "design_effect": effect,
                    "bound": bounds(design)[chosen],
                    "standard_error": np.sqrt(effect * p * (1 - p) / GROUP_SIZE),
                }
            )
        )
    return pl.concat(parts)


def _regions(
    snapshot: Snapshot, place: Ints, table: pl.DataFrame, record: Mapping[str, Any]
) -> tuple[Extents | None, Ints | None]:
    """What regions cover and which one each published row is in; nothing where quasi-identifiers are exact."""
    if record["groups"] >= record["rows"]:
        return None, None
    sensitive = list(snapshot.schema.sensitive_columns)
    public = table.drop(*sensitive, DESIGN, *(column.name for column in snapshot.as_is), strict=False)
    number = public.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int32) - 1
    group = np.where(place >= 0, number[np.maximum(place, 0)], -1).astype(np.int32)
    held = np.flatnonzero(group < 0)
    grouping = Grouping(group, int(number.max()) + 1, held_back={"withheld": held} if held.size else {})
    return Extents.of(snapshot.quasi, grouping), group[group >= 0].astype(np.int64)


def _pair(found: tuple[float, float]) -> dict[str, float | None]:
    median, most = (figure if np.isfinite(figure) else None for figure in found)
    return {"median": median, "largest": most}


def _query_lines(error: SetQueryError) -> list[tuple[str, float, str]]:
    workload = error.workload
    restricted = f"{workload.dimensions} quasi-identifiers" + (" and the value" if workload.sensitive else "")
    figures = (
        [
            ("median query error", error.median, f"by scores; {restricted}, selectivity {workload.selectivity:g}"),
            *([("  to be expected", error.usual, "over all draws of sets")] if np.isfinite(error.usual) else []),
            *error.lines_beside_no_link(),
        ]
        if error.answered
        else []
    )
    return [
        *figures,
        ("queries answered", error.answered, f"of {workload.count:,} asked"),
        ("queries redrawn", error.redrawn, "nobody matched, so that they have no relative error"),
    ]
