"""All measures of one release together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import ParameterError, count_of
from reissue.model.grouping import Grouping
from reissue.model.libraries import Library, to_library
from reissue.model.snapshot import Column
from reissue.utility.answers import Answers
from reissue.utility.extents import Extents
from reissue.utility.gradients import Gradients, group_gradients
from reissue.utility.group_sizes import average_class_size, check_whole, discernibility, normalised_class_size
from reissue.utility.in_words import in_words
from reissue.utility.loss import (
    CertaintyPenalty,
    InformationLoss,
    certainty_penalty_of,
    check_weights,
    distortion_of,
    information_loss_of,
)
from reissue.utility.queries import Form, Progress, QueryError, check_form, query_error
from reissue.utility.rows import PublishedRows, RowCounts, of_values
from reissue.utility.sizes_of_counts import narrower
from reissue.utility.workload import Workload


@dataclass(frozen=True, repr=False)
class Utility:
    """What one release still tells. Measures of generalisation are None where nothing is generalised."""

    form: Form
    rows: int
    """How many were published, counterfeits included."""
    groups: int
    counterfeits: int
    """How many of the rows are nobody."""
    held_back: int
    """How many people of the private table were not published."""
    replaced: int
    """How many sensitive values were published as another."""
    information_loss: InformationLoss | None
    """Byun's; None in the anatomised form, which publishes quasi-identifiers exactly."""
    distortion: float | None
    """Wong's; None in the anatomised form."""
    certainty_penalty: CertaintyPenalty | None
    """None in the anatomised form."""
    discernibility: int
    average_class_size: float
    normalised_class_size: float | None
    """None where no k was given."""
    query_error: QueryError | None
    """None where no workload was given."""
    gradients: Gradients
    """How values depend on quasi-identifiers, in the release against the table."""
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
        return in_words(self.gradients, self.query_error)

    def to_dict(self) -> dict[str, Any]:
        """The figures, ready for JSON."""
        loss, penalty = self.information_loss, self.certainty_penalty
        return {
            "form": self.form,
            "rows": self.rows,
            "groups": self.groups,
            "counterfeits": self.counterfeits,
            "held_back": self.held_back,
            "replaced": self.replaced,
            "information_loss": loss
            and {"total": loss.total, "average": loss.average, "attributes": dict(loss.attributes)},
            "distortion": self.distortion,
            "certainty_penalty": penalty and {"total": penalty.total, "attributes": dict(penalty.attributes)},
            "discernibility": self.discernibility,
            "average_class_size": self.average_class_size,
            "normalised_class_size": self.normalised_class_size,
            "query_error": self.query_error and self.query_error.to_dict(),
            "gradients": self.gradients.to_dict(),
            "shares": self.shares and self.shares.to_dict(),
            "means": self.means and self.means.to_dict(),
            "answers": self.answers and self.answers.each.to_dicts(),
            "sentence": self.sentence,
        }

    def details(self) -> dict[str, Any]:
        """The tables behind the figures, as far as there are any: `gradients`, `queries`, `by_size`,
        `answers`.

        Private: their counts are exact.
        """
        each = None if self.gradients is None else self.gradients.each
        found = {"gradients": each}
        if self.query_error is not None:
            found |= {"queries": self.query_error.queries, "by_size": self.query_error.by_size}
        if self.answers is not None:
            found["answers"] = self.answers.each
        return {name: to_library(table, self.library) for name, table in found.items() if table is not None}

    def frame(self) -> Any:
        """One row for each figure there is: `measure`, `value`, `meaning`."""
        lines: list[tuple[str, float, str]] = [
            *self._sorts(),
            *self._generalisation(),
            ("discernibility", self.discernibility, "how many rows each one cannot be told from, added up"),
            ("average class size", self.average_class_size, "rows per group"),
        ]
        if self.normalised_class_size is not None:
            lines.append(
                ("normalised class size", self.normalised_class_size, "rows per group over k; 1 is best (C_AVG)")
            )
        if self.query_error is not None:
            lines += _query_lines(self.query_error)
        lines += [
            *(self.shares.lines("shares") if self.shares else []),
            *(self.means.lines("means") if self.means else []),
        ]
        lines += self.gradients.lines()
        schema = {"measure": pl.String, "value": pl.Float64, "meaning": pl.String}
        return to_library(pl.DataFrame(lines, schema=schema, orient="row"), self.library)

    def _sorts(self) -> list[tuple[str, float, str]]:
        sorts = [
            ("counterfeits", self.counterfeits, f"of {self.rows:,} rows published; nobody's"),
            ("withheld", self.held_back, "people of the table who were not published"),
            ("values replaced", self.replaced, "published with another sensitive value"),
        ]
        return [line for line in sorts if line[1]]

    def _generalisation(self) -> list[tuple[str, float, str]]:
        loss, penalty = self.information_loss, self.certainty_penalty
        if loss is None or penalty is None or self.distortion is None:
            return []
        return [
            ("information loss", loss.total, "shares of the domains covered, over all rows (Byun)"),
            ("information loss per row", loss.average, f"0 to {len(loss.attributes)}, one for each attribute"),
            ("distortion", self.distortion, "0 nothing lost, 1 everything, weighted (Wong)"),
            ("certainty penalty", penalty.total, "0 every cell exact, 1 every cell its whole domain (GCP)"),
            *(
                (f"certainty penalty of {name}", value, "the same for this attribute alone (NCP)")
                for name, value in penalty.attributes.items()
            ),
        ]

    def __repr__(self) -> str:
        figures = [f"{self.rows:,} rows in {self.groups:,} groups"]
        if self.counterfeits:
            figures.append(count_of(self.counterfeits, "counterfeit"))
        if self.held_back:
            figures.append(f"{self.held_back:,} withheld")
        if self.replaced:
            figures.append(f"{count_of(self.replaced, 'value')} replaced")
        if self.certainty_penalty is not None:
            figures.append(f"certainty penalty {self.certainty_penalty.total:.4f}")
        figures.append(f"average class size {self.average_class_size:.2f}")
        if self.query_error is not None and self.query_error.answered:
            figures.append(f"median query error {self.query_error.median:.2%}")
        return f"Utility({self.form}: {', '.join(figures)})"


def measure(
    quasi: Sequence[Column],
    values: Column,
    grouping: Grouping,
    *,
    form: Form,
    k: int | None = None,
    weights: Mapping[str, float] | None = None,
    workload: Workload | None = None,
    counterfeit: Bools | None = None,
    owner: Ints | None = None,
    progress: Progress | None = None,
) -> Utility:
    """Measure a release: what its groups cover, how large they are, what gradients are left and, with a workload, the
    error of queries.

    The columns and the grouping hold all rows: of people published, of people held back, and of counterfeits,
    which `counterfeit` flags. Where the rows are everybody registered, `owner` says for each value whose it is: what is
    published and counted are then values, in regions that cover everybody. `k` normalises the class size, `weights` are
    Wong's, and `progress` is called while queries are asked.
    """
    check_form("measure", form)
    if k is not None:
        check_whole("k", "measure", k, least=1)
    if weights is not None:
        if form == "anatomised":
            raise ParameterError(
                "The 'weights' parameter of measure must be left out in the anatomised form, which publishes "
                "quasi-identifiers exactly, so that there is no loss to weigh."
            )
        check_weights("measure", weights, [column.name for column in quasi])
    extents = None
    if form == "generalised":
        extents = Extents.of(quasi, grouping, counterfeit if owner is None else None)
    if owner is not None:
        quasi, grouping, counterfeit = of_values(quasi, grouping, owner)
        extents = extents and replace(extents, rows=PublishedRows.of(grouping))
    tally = RowCounts.of(grouping, counterfeit)
    error = None
    if workload is not None:

        def ask(asked: Workload, told: Progress | None = None) -> QueryError:
            return query_error(quasi, values, grouping, asked, form, told, counterfeit=counterfeit, extents=extents)

        error = ask(workload, progress)
        error = replace(error, narrower=narrower(workload, ask))
    return Utility(
        form=form,
        rows=tally.published,
        groups=grouping.count,
        counterfeits=tally.counterfeits,
        held_back=tally.held_back,
        replaced=0 if grouping.changed is None else len(grouping.changed),
        information_loss=None if extents is None else information_loss_of(extents),
        distortion=None if extents is None else distortion_of(extents, weights),
        certainty_penalty=None if extents is None else certainty_penalty_of(extents),
        discernibility=discernibility(grouping, counterfeit=counterfeit),
        average_class_size=average_class_size(grouping),
        normalised_class_size=None if k is None else normalised_class_size(grouping, k),
        query_error=error,
        gradients=group_gradients(quasi, values, grouping, counterfeit=counterfeit, extents=extents),
    )


def _query_lines(error: QueryError) -> list[tuple[str, float, str]]:
    workload = error.workload
    restricted = f"{workload.dimensions} quasi-identifiers" + (" and the value" if workload.sensitive else "")
    figures = (
        [
            ("median query error", error.median, f"half of the queries are further off than this; {restricted}"),
            *error.lines_beside_no_link(),
            ("mean query error", error.mean, f"relative error, average; selectivity {workload.selectivity:g}"),
        ]
        if error.answered
        else []
    )
    return [
        *figures,
        ("queries answered", error.answered, f"of {workload.count:,} asked"),
        ("queries redrawn", error.redrawn, "nobody matched, so that they have no relative error"),
    ]
