"""What choices of `given` cost and gain: the figures of each, and one sentence that says which to take.

The advantage of whoever knows which values are likely for whom is what `given` is to take away; what it may cost is
that counts become less exact. The sentence goes by the product of the two: another column is worth it if it takes away
a larger part of the advantage than it adds to the error. Of choices that only chance tells apart from the best it takes
the one with the fewest columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue.errors import count_of
from reissue.model.toml_text import quoted
from reissue.tables.frames import Library, to_library

POINT = 0.01
"""An advantage below this counts as this: what is less is as good as none."""
SAME = 0.01
"""Errors that differ by less than this are as large as each other."""
MANY = 0.01
"""Of so many more people rare values must be published as one for the sentence to say so."""


@dataclass(frozen=True)
class Cells:
    """The people of the whole table by the cells of a choice."""

    count: int
    """How many cells there are."""
    smallest: int
    """How many people the smallest has."""
    thin: int
    """How many people are in cells too small for shares of their own: more than half of these is the whole table's."""
    alone: int
    """How many are the only ones in their cell. About so many of as many newcomers would be in a cell that this table
    does not have (Good 1953), and a later table with one of them is refused."""
    new: int | None = None
    """How many people of the other table are in such cells; None where there is none."""


@dataclass(frozen=True)
class Guesses:
    """How often the top guesses of an attack are right, with intervals of 95 %."""

    right: float
    """The share of people whose likeliest value is theirs."""
    right_low: float
    right_high: float
    without: float
    """The same without their own row, by their quasi-identifiers alone."""
    advantage: float
    """The difference: what the release adds about the person."""
    advantage_low: float
    advantage_high: float
    gain: float
    """How much better the model predicts sets than none does; near 0 it is worth nothing any more."""
    gain_error: float
    """Its standard error."""


@dataclass(frozen=True)
class GivenChoice:
    """One choice of `given`: what was measured, or why nothing was."""

    given: tuple[str, ...]
    """The columns; none, to begin with."""
    cells: Cells
    why_not: str | None = None
    """Why nothing was measured: the method refuses it, its cells are too small, or the time was up."""
    learnt: Guesses | None = None
    """By a model learnt from the release itself."""
    elsewhere: Guesses | None = None
    """By the model that was given; None where there was none."""
    openly: float | None = None
    """How often a guess is right by the sets alone, without any model: what the slots say openly."""
    most_slots: int | None = None
    """How many slots a value takes at most."""
    wider: float | None = None
    """How many times as large the standard error of a share in the whole table is as if everybody showed their value;
    median over values, worked out from the designs. None where it cannot be estimated."""
    others: int | None = None
    """How many people have a rare value that is published as one with others."""
    errors: tuple[float | None, ...] = ()
    """The median relative error of counts that is to be expected, for each workload; None where they cannot be
    estimated, as a value is in every set."""

    @property
    def worst(self) -> Guesses | None:
        """The guesses with the larger advantage."""
        made = [one for one in (self.learnt, self.elsewhere) if one is not None]
        return max(made, key=lambda one: one.advantage, default=None)

    @property
    def price(self) -> tuple[float, float]:
        """Advantage times the first error, for both ends of the advantage's interval: the less, the better.

        Counts that cannot be estimated are wholly off.
        """
        if self.worst is None:
            return float("inf"), float("inf")
        error = 1.0 if self.errors[0] is None else self.errors[0]
        return max(self.worst.advantage_low, POINT) * error, max(self.worst.advantage_high, POINT) * error


@dataclass(frozen=True, repr=False)
class GivenChoices:
    """Choices of `given`, measured. Private: the figures are of the private table."""

    people: int
    """How many people the table has."""
    sample: int
    """On how many of them the attacks and the counts were tried."""
    choices: tuple[GivenChoice, ...]
    """Each choice that was asked for; without any column first."""
    selectivities: tuple[float, ...]
    """Those of the counts in `errors`."""
    notes: tuple[str, ...]
    """What to know when reading the figures."""
    library: Library = "polars"

    @property
    def without(self) -> GivenChoice:
        """What the others are compared with: no column at all."""
        return self.choices[0]

    @cached_property
    def best(self) -> GivenChoice | None:
        """The choice that the sentence recommends; None where nothing could be measured without `given`."""
        if self.without.worst is None:
            return None
        able = [self.without, *self._lower()]
        able = [one for one in able if one.errors[0] is not None] or able
        least = min(one.price[1] for one in able)
        return min((one for one in able if one.price[0] <= least), key=lambda one: (len(one.given), one.price[1]))

    def _lower(self) -> list[GivenChoice]:
        """The choices that lower the advantage beyond chance."""
        return [one for one in self.choices[1:] if _lower(one, self.without)]

    @cached_property
    def table(self) -> Any:
        """A row for each choice, in the library of the table that was given."""
        rows = [self._row(one) for one in self.choices]
        figures = {name: pl.Float64 for name in rows[0] if name.startswith(("learnt_", "elsewhere_", "error_"))}
        counts = dict.fromkeys(("new", "most_slots", "others"), pl.Int64)
        types = {**figures, **counts, "openly": pl.Float64, "wider": pl.Float64, "why_not": pl.String}
        return to_library(pl.DataFrame(rows, schema_overrides=types), self.library)

    def _row(self, choice: GivenChoice) -> dict[str, Any]:
        names = list(Guesses.__dataclass_fields__)
        guesses = {
            f"{name}_{field}": None if made is None else getattr(made, field)
            for name, made in (("learnt", choice.learnt), ("elsewhere", choice.elsewhere))
            for field in names
        }
        errors = choice.errors or (None,) * len(self.selectivities)
        cells = asdict(choice.cells)
        return {
            "given": named(choice.given),
            "cells": cells.pop("count"),
            **cells,
            **guesses,
            "openly": choice.openly,
            "most_slots": choice.most_slots,
            "wider": choice.wider,
            "others": choice.others,
            **{f"error_{at:g}": error for at, error in zip(self.selectivities, errors, strict=True)},
            "why_not": choice.why_not,
        }

    @property
    def sentence(self) -> str:
        """Which choice to take, and what it does, in words."""
        best, before = self.best, self.without.worst
        if best is None or before is None:
            return f"Nothing could be compared, as nothing can be published without `given`: {self.without.why_not}"
        if best.given:
            return f"{_written(best.given)} {self._effect(best)}{self._beyond(best)}."
        told = f"Leave `given` out: the advantage is {_points(before.advantage)} points"
        if not any(one.worst is not None for one in self.choices[1:]):
            return f"{told}, and no other choice could be measured."
        if not (lower := self._lower()):
            return f"{told}, and no choice takes it down beyond chance."
        other = min(lower, key=lambda one: one.price[1])
        return f"{told}; {_written(other.given)} {self._effect(other)}, which is more than it gains."

    def _effect(self, choice: GivenChoice) -> str:
        """What a choice does to advantage and exactness."""
        pairs = [(self.without.learnt, choice.learnt, "")]
        pairs.append((self.without.elsewhere, choice.elsewhere, " for whoever has the model given"))
        fell = [
            f"from {_points(before.advantage)} to {_points(after.advantage)} points{who}"
            for before, after, who in pairs
            if before is not None and after is not None
        ]
        told = f"takes the advantage {' and '.join(fell)}, and {self._exactness(choice)}"
        more = (choice.others or 0) - (self.without.others or 0)
        if more >= MANY * self.people:
            told += f", with the rare values of {count_of(more, 'more person', 'more people')} published as one"
        return told

    def _exactness(self, choice: GivenChoice) -> str:
        before, after = self.without.errors[0], choice.errors[0]
        if after is None:
            return f"counts cannot be estimated {'either way' if before is None else 'any more'}"
        if before is None:
            return "counts can be estimated, which they cannot without it"
        ratio = after / before
        if abs(ratio - 1) < SAME:
            return "counts stay as exact as they are"
        return f"makes counts {abs(ratio - 1):.0%} {'less' if ratio > 1 else 'more'} exact"

    def _beyond(self, best: GivenChoice) -> str:
        """What is to be said of choices with more columns than the best, or of what is left to take away."""
        more = [one for one in self.choices if set(best.given) < set(one.given)]
        measured = [one for one in more if one.worst is not None]
        left = best.worst
        if left is not None and best.openly is not None and left.right - best.openly < POINT:
            return f"; what is left is what the slots say openly, which is right for {best.openly:.0%}"
        if any(_lower(one, best) for one in measured):
            return "; more columns gain less than they cost"
        if measured:
            return "; more columns do not take it down further"
        return f"; {_written(more[0].given)} could not be measured" if more else ""

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        best = self.best
        return {
            "people": self.people,
            "sample": self.sample,
            "choices": [{**self._row(one), "given": list(one.given)} for one in self.choices],
            "best": None if best is None else list(best.given),
            "sentence": self.sentence,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        measured = sum(one.worst is not None for one in self.choices)
        best = "nothing to compare with" if self.best is None else f"best: {named(self.best.given)}"
        return f"GivenChoices({measured} of {count_of(len(self.choices), 'choice')} measured; {best})"


def named(given: Sequence[str]) -> str:
    """The columns of a choice, for a table or a stage."""
    return ", ".join(given) if given else "none"


def wider_than_plain(values: pl.DataFrame, people: Sequence[int]) -> float | None:
    """How many times as large the standard error of a value's share is as in the plain table; the median over values.

    `values` has for each value of each design its `share` and `design_effect`; `people` says how many have a set of
    each design, by its number less 1. Over all cells the variance of a score is what it is within cells, on average,
    and what shares differ between them. None where a value cannot be estimated, or none is in all designs.
    """
    used = [at for at, count in enumerate(people) if count]
    weight = pl.DataFrame({"design": [at + 1 for at in used], "weight": [people[at] / sum(people) for at in used]})
    p, w = pl.col("share"), pl.col("weight")
    by_value = (
        values.join(weight.with_columns(pl.col("design").cast(values.schema["design"])), on="design")
        .group_by("value")
        .agg(
            designs=pl.len(),
            within=(w * pl.col("design_effect") * p * (1 - p)).sum(),
            mean=(w * p).sum(),
            square=(w * p**2).sum(),
        )
        .filter(pl.col("designs") == len(used))
    )
    mean = by_value["mean"].to_numpy()
    between = by_value["square"].to_numpy() - mean**2
    effect = (by_value["within"].to_numpy() + between) / (mean * (1 - mean))
    return float(np.median(np.sqrt(effect))) if effect.size and np.isfinite(effect).all() else None


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _written(given: Sequence[str]) -> str:
    """As a policy file has it."""
    return f"given = [{', '.join(map(quoted, given))}]"


def _lower(one: GivenChoice, other: GivenChoice) -> bool:
    """Whether the advantage of one is below that of the other, beyond chance."""
    if one.worst is None or other.worst is None:
        return False
    return one.worst.advantage_high < other.worst.advantage_low
