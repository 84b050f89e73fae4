"""What sets of records tell of one sensitive column, where several are.

Somebody has a value of a column with the probability of all records of their set that have it. With the declared model
that is how many of the m records have it, over m, which a limit of its own holds for.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.arrays.types import Codes, Floats, Ints
from reissue.attacks.base import Judgement
from reissue.attacks.figures import limit_told
from reissue.model.records import ValueColumn
from reissue.reasoning.alternatives.set_histories import Histories

if TYPE_CHECKING:
    from reissue.attacks.tracking.tracking_findings import Followed, TrackingFindings


class ColumnTracking:
    """One column, person by person and release by release."""

    def __init__(self, column: ValueColumn, records: TrackingFindings) -> None:
        self.column = column
        published = replace(records.published, values=column.values, columns=())
        followed = records.followed
        assert followed is not None
        rooms = _rooms(records, column)
        self.findings = type(records)(
            published,
            replace(records.knowledge, compromised={}, permanent=()),
            _projected(followed, column, rooms),
            model=records.model,
            fits=records.fits,
        )

    def __repr__(self) -> str:
        return f"ColumnTracking('{self.column.name}')"

    def row(self, limit: Fraction | None) -> dict[str, Any]:
        """The column in figures, for a report."""
        judged, risks = self.findings.judge_values(limit or Fraction(1), 0, brief=True), self.findings.risks
        return {
            "column": self.column.name,
            "limit": "below 1" if limit is None else limit_told(limit),
            "people": risks.height,
            "above the limit": judged.count if judged.status == "beyond" else 0,
            "certain": len(self.findings.certain),
            "highest probability": float(risks["probability"].max() or 0.0) if risks.height else 0.0,  # type: ignore[arg-type]
        }

    def tied(self, limit: Fraction | None) -> pl.DataFrame:
        """Everybody beyond the limit, each with the value of the column and the time that are furthest beyond."""
        return self.findings.tied_values(limit or Fraction(1), self.column.name)

    def judge(self, limit: Fraction | None, most: int) -> Judgement:
        """Whether it is proven that nobody is tied to a value of the column with more than its limit, at any time."""
        judged = self.findings.judge_values(limit or Fraction(1), most, brief=True)
        findings = tuple(one.about(self.column.name) for one in judged.findings)
        return replace(judged, words=f"Of '{self.column.name}' alone: {judged.words}", findings=findings)


def _rooms(records: TrackingFindings, column: ValueColumn) -> Ints:
    """(designs, values): how many places of a set each value of the column may take; m where there is no limit."""
    followed = records.followed
    assert followed is not None
    histories = followed.histories
    found = np.tile(histories.m[:, None], (1, len(column.values)))
    place = {value: at for at, value in enumerate(column.values)}
    for one in records.published.sets:
        for at, own in enumerate(one.designs.value_columns):
            if own.name != column.name:
                continue
            for number, design in enumerate(one.designs.of_records):
                mine = [which for which, known in enumerate(histories.designs) if known == design]
                room = one.designs.room_of(number, at)
                found[np.ix_(mine, [place[value] for value in own.values])] = room
    return found


def _projected(followed: Followed, column: ValueColumn, rooms: Ints) -> Followed:
    """Everybody's figures by the values of the column."""
    histories = followed.histories
    codes, taken, posterior = _summed(column, histories, followed.posterior)
    laws = [np.bincount(column.of, weights=law, minlength=len(column.values)) for law in histories.laws.shares]
    shares = np.stack(laws).astype(np.float64)
    known = None if followed.known is None else np.where(followed.known >= 0, column.of[followed.known], -1)
    sole = followed.sole | (((posterior > 0).sum(axis=1) == 1) if followed.agrees else False)
    own = replace(
        histories,
        codes=codes,
        taken=taken,
        slots=rooms,
        laws=replace(histories.laws, shares=shares),
        known_chance=(histories.chance, histories.chance_at_most),
    )
    return replace(followed, histories=own, posterior=posterior, taken=taken, sole=sole, known=known)


def _summed(column: ValueColumn, histories: Histories, posterior: Floats) -> tuple[Codes, Ints, Floats]:
    """For each row its different values of the column and then -1, with the places and the probability of each."""
    there = histories.codes >= 0
    own = np.where(there, column.of[histories.codes], len(column.values))
    order = np.argsort(own, axis=1, kind="stable")
    ordered = np.take_along_axis(own, order, axis=1)
    first = np.ones(ordered.shape, dtype=np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    rank = (np.cumsum(first, axis=1) - 1).ravel()
    rows = np.repeat(np.arange(len(own)), own.shape[1])
    codes = np.full(own.shape, -1, dtype=np.int32)
    codes[rows, rank] = np.where(ordered < len(column.values), ordered, -1).ravel()
    taken, chance = np.zeros(own.shape, dtype=np.int64), np.zeros(own.shape)
    assert histories.taken is not None
    np.add.at(taken, (rows, rank), np.take_along_axis(histories.taken, order, axis=1).ravel())
    np.add.at(chance, (rows, rank), np.take_along_axis(np.where(there, posterior, 0.0), order, axis=1).ravel())
    return codes, taken, chance
