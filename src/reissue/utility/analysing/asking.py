"""The rows of a release, whatever stands for their values: which of them are asked about, and how many there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import polars as pl

from reissue.errors import ParameterError, listed
from reissue.model.hierarchy import Hierarchy
from reissue.utility.analysing.breakdown import Cells, Cuts, breakdown
from reissue.utility.analysing.conditions import Conditions, check_columns, is_number, leaves_of, shares
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.questions import Figures, Question, Target
from reissue.utility.analysing.slopes import Outcomes, positions, slopes


class PublicRows(ABC):
    """One release, asked about quasi-identifiers alone."""

    certain = True
    """Whether each row stands for a person: nobody is made up."""

    def __init__(self, release: PublicRelease, hierarchies: Mapping[str, Hierarchy]) -> None:
        self.release = release
        self.number = release.number
        self.sensitive = release.sensitive
        self.published = release.published(hierarchies)

    def cells(self, cuts: Cuts, where: Conditions) -> Cells:
        """The groups of the rows that satisfy conditions."""
        names = list(dict.fromkeys([*where, *cuts]))
        sensitive = self.release.sensitive_columns
        check_columns(names, [*self.published.columns, *sensitive])
        if asked := [name for name in names if name in sensitive]:
            raise ParameterError(
                f"{listed(asked)} is what is estimated: it can neither select people nor group them.",
                hint="name its values in `value`, or use table() for all of them.",
            )
        lacking = [
            name
            for name in names
            if self.release.kinds.get(name) == "hierarchy"
            and name not in self.published.hierarchies
            and self.release.has_regions
        ]
        if lacking:
            raise ParameterError(
                f"{listed(lacking)} was generalised along a hierarchy, which is needed to count.",
                hint="ask the publisher for it, a file with a line for each label, and pass it: on the command line "
                "--hierarchy column=file, in Python hierarchies={...}.",
            )
        if not names:
            return breakdown(
                self.release.table(self.release.main, []), {}, np.ones(self.release.height), self.published
            )
        table = self.release.table(self.release.main, self.published.needed(names))
        within = {name: where[name] for name in where if name in cuts and not self.published.is_exact(table, name)}
        alone = {name: condition for name, condition in where.items() if name not in within}
        return breakdown(table, cuts, shares(table, alone, self.published), self.published, within)

    def slopes(self, question: Question, cells: Cells, on: str, where: Conditions, target: Target) -> Figures:
        """For each group the slope on a quasi-identifier of numbers or dates; `where` selected the rows."""
        check_columns([on], self.published.columns)
        if question.known is not None:
            raise ParameterError(
                "Some have no number in the sensitive column: there is no slope of its mean.",
                hint="ask for the slope of a range of numbers.",
            )
        table = self.release.table(self.release.main, self.published.needed([on]))
        return slopes(self.outcomes(question), cells, positions(table, on, where, self.published), target)

    @abstractmethod
    def outcomes(self, question: Question) -> Outcomes:
        """What each row has of what is asked for, on average."""

    def labels(self, name: str) -> set[str]:
        """The labels that a quasi-identifier has here, or those that its labels stand for."""
        if name in self.published.intervals or name not in self.published.columns:
            return set()
        column = self.release.table(self.release.main, [name])[name]
        if is_number(column.dtype):
            return set()
        text = column.cast(pl.String)
        if name in self.published.exact:
            return set(text.drop_nulls().unique())
        return {leaf for leaves in leaves_of(text, self.published.hierarchies.get(name)).values() for leaf in leaves}

    def columns(self) -> dict[str, pl.Series]:
        """For each sensitive column which value of it each of `values` has."""
        return self.release.columns_of(self.values)

    @property
    @abstractmethod
    def values(self) -> pl.Series:
        """The sensitive values that there are; records where several columns are sensitive."""

    def people(self, cells: Cells) -> Figures:
        """How many people each group has: counted, but for regions that are only in part in it."""
        people = cells.people
        error = np.sqrt(cells.total(cells.weight * (1 - cells.weight)))
        if not self.certain:
            nothing = np.full(cells.count, np.nan)
            return Figures(people, people, error, nothing, nothing, "none")
        low, high = cells.total((cells.weight == 1).astype(np.float64)), cells.total(np.ones(cells.rows.size))
        return Figures(people, people, error, low, high, "certain")
