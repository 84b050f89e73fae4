"""Limits of several sensitive columns: how many of the m records of a set may have each value of each column.

A column's limit is the schema's, or else the method's, or 1/m. A frequent value, which wants more than one place, may
take as much room as that: the more its number varies, the more it tells. A rare one takes one place, so that it stays
at 1/m, and one with a limit of its own takes that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from reissue.arrays.exact import probability_of
from reissue.errors import Infeasible, Refused, count_of, listed
from reissue.methods.alternatives.record_reference import RecordReference
from reissue.methods.alternatives.reference import OTHERS
from reissue.model.schema import Schema
from reissue.model.sets import SetDesigns
from reissue.reasoning.alternatives.record_designing import record_design_of, wanted_room, with_factor


@dataclass(frozen=True)
class ColumnRoom:
    """What the values of one column may take of a set."""

    name: str
    limit: Fraction
    """The largest probability of a value without a limit of its own."""
    own: Mapping[str, Fraction]
    """The limits of single values; 1 where they have none."""

    @property
    def largest(self) -> Fraction:
        """The largest probability of any value that has a limit."""
        return max([self.limit, *(limit for limit in self.own.values() if limit < 1)])


def column_rooms(
    schema: Schema, m: int, limit: Any, limits: Mapping[str, Any], harmless: Mapping[str, Sequence[str]]
) -> list[ColumnRoom]:
    """The rules for every sensitive column."""
    usual = Fraction(1, m) if limit is None else probability_of(limit) or Fraction(1, m)
    found = []
    for name in schema.sensitive_columns:
        own = {value: probability_of(one) or Fraction(1) for value, one in limits.get(name, {}).items()}
        own |= dict.fromkeys(harmless.get(name, ()), Fraction(1))
        found.append(ColumnRoom(name, schema.limit_of(name) or usual, own))
    return found


def room_problems(
    schema: Schema, m: int, limits: Mapping[str, Any], harmless: Mapping[str, Any] | Sequence[str]
) -> list[str]:
    """What is wrong with limits where several columns are sensitive: they are said column by column."""
    problems = []
    for name, given in {"limits": limits, "harmless": harmless}.items():
        if not given:
            continue
        if not isinstance(given, Mapping) or not all(
            isinstance(one, Mapping if name == "limits" else list | tuple) for one in given.values()
        ):
            wanted = '{"column": {"value": "1/2"}}' if name == "limits" else '{"column": ["value"]}'
            whole = "; the limit of a whole column is the schema's" if name == "limits" else ""
            problems.append(f"with several sensitive columns '{name}' is said column by column: {wanted}{whole}")
        elif unknown := [column for column in given if column not in schema.sensitive_columns]:
            problems.append(f"'{name}' names what is no sensitive column: {listed(unknown)}")
    low = [name for name in schema.limits if (schema.limit_of(name) or 1) < Fraction(1, m)]
    if low:
        problems.append(f"the limit of {listed(low)} is below 1/m, which is what a value in a set of m records has")
    return problems


def record_designs(reference: RecordReference, m: int, rooms: Sequence[ColumnRoom]) -> SetDesigns:
    """The design of a version of the reference, or what keeps it from being made."""
    if len(reference.records) < m:
        raise Infeasible(
            f"Sets of {m} records are made of at least as many, and there are {len(reference.records)}.",
            hint="choose a smaller m, or finer columns.",
        )
    own, most, problems = [], [], []
    for at, (room, labels) in enumerate(zip(rooms, reference.labels, strict=True)):
        place = {label: code for code, label in enumerate(labels)}
        if lost := len(room.own.keys() - place.keys()):
            named = count_of(lost, "value named in 'limits' or 'harmless' has", "values named there have")
            raise Refused(
                f"{named} no share of their own in column '{room.name}', so that nothing would follow from it.",
                hint="check the spelling, or leave them out: rare values are published as one, "
                f"'{OTHERS}', which can have a limit as well.",
            )
        own.append({place[value]: int(m * limit) for value, limit in room.own.items()})
        most.append(int(m * room.limit))
        problems += _too_frequent(reference, at, m, room, own[-1], most[-1])
    if problems:
        raise Infeasible(
            f"Some values are more frequent than their limit, and sets of {m} records cannot make them less likely "
            "than that.",
            problems=problems,
            hint="give the column a limit that it can keep ([schema.sensitive.COLUMN] limit), or single values of it "
            "('limits'); or name them in 'harmless'; or choose another m.",
        )
    design = record_design_of(reference.records, reference.shares, m, [len(one) for one in reference.labels], own, most)
    places = (np.arange(len(reference.records), dtype=np.int64),)
    return SetDesigns(reference.texts, (with_factor(design),), places, (1,), columns=reference.columns)


def _too_frequent(
    reference: RecordReference, at: int, m: int, room: ColumnRoom, own: Mapping[int, int], most: int
) -> list[str]:
    """The values of a column that are more frequent than they may be."""
    labels = reference.labels[at]
    shares = np.bincount(reference.records[:, at], weights=reference.shares, minlength=len(labels))
    shares = shares / shares.sum()
    allowed = np.array([own.get(code, most) for code in range(len(labels))])
    over = np.flatnonzero(m * shares > allowed * (1 + 1e-12))
    if not over.size:
        return []
    needed = int(wanted_room(shares[over], m).max())
    rare = OTHERS in (labels[code] for code in over.tolist())
    others = f"; one of them is '{OTHERS}', which stands for rare values" if rare else ""
    return [
        f"column '{room.name}': {count_of(over.size, 'value')} with a share of up to {shares[over].max():.1%}, and of "
        f'{m} records {int(allowed[over].max())} may have it; limit = "{Fraction(needed, m)}" would do{others}'
    ]
