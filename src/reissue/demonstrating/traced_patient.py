"""One patient to tell of: who is exposed by the releases of a series together and by none of them alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reissue.errors import InternalError
from reissue.model.published import Published
from reissue.publishing.series import Series
from reissue.reasoning.worlds.candidates import candidates

STOPS = 4
"""So many months are told of at most."""


@dataclass(frozen=True)
class Stop:
    """What a release shows of the patient: whom they are among, and which diagnoses."""

    month: int
    age: tuple[int, int]
    zip: tuple[int, int]
    sex: str
    """The quasi-identifiers as published."""
    rows: int
    """How many rows are published with them."""
    fitting: int
    """How many groups the patient fits, or rows where there are no groups; one of them is theirs."""
    diagnoses: Mapping[str, int]
    """What stands in the rows of their group, and in how many; of a set of alternatives its diagnoses, each once."""
    left: tuple[str, ...]
    """Which of them were in all releases so far."""


@dataclass(frozen=True)
class Traced:
    """The patient, and what each way to publish them shows, month by month."""

    patient: str
    age: int
    zip: int
    sex: str
    diagnosis: str
    """The true one."""
    ways: tuple[tuple[Stop, ...], ...]


def traced(tables: Sequence[pl.DataFrame], unprotected: Series, *others: Series) -> Traced | None:
    """Somebody whose diagnosis crossing out alone gives away in the first series; None where there is nobody.

    Taken is who needed most months for it, up to `STOPS`; of these who lost diagnoses in every month, has the rarest
    diagnosis, and was shown with the fewest. Before all others comes who fits a single group in every month: their
    group can be found in the public files.
    """
    first = None
    for person, months in _ranked(unprotected.published()):
        name = unprotected.private.name_of(person)
        own = tables[months[-1] - 1].row(by_predicate=pl.col("patient") == name, named=True)
        stops = tuple(_stops(unprotected, own, months))
        if stops[-1].left != (own["diagnosis"],):
            raise InternalError("what is left of a diagnosis that never changes is not the true one")
        alone = all(stop.fitting == 1 for stop in stops)
        if first is None or alone:
            first = own, months, stops
        if alone:
            break
    if first is None:
        return None
    own, months, stops = first
    ways = (stops, *(tuple(_stops(series, own, months)) for series in others))
    return Traced(own["patient"], own["age"], own["zip"], own["sex"], own["diagnosis"], ways)


def _ranked(view: Published) -> list[tuple[int, list[int]]]:
    """People by number, with the months from their first to the one that gave them away; the best to tell of first."""
    found = candidates(view, each=True)
    after = np.zeros((0, 0), dtype=np.int64) if found.only_after is None else found.only_after
    where = view.index
    there = where.place[:, where.made_up :] >= 0
    known = after >= 0
    given = np.argmax(known, axis=0)  # the release after which one diagnosis is left
    needed = np.cumsum(there, axis=0)[given, np.arange(given.size)]
    fit = known.any(axis=0) & (needed > 1) & (needed <= STOPS)
    if not fit.any():
        return []
    often = np.bincount(found.only[found.only >= 0], minlength=len(view.values))
    ranked = []
    for at in np.flatnonzero(fit & (needed == needed[fit].max())).tolist():
        places = np.flatnonzero(there[: given[at] + 1, at]).tolist()
        groups = [int(where.place[place, where.made_up + at]) for place in places]
        shown = [
            set(view.releases[place].values_of(group)[0].tolist()) for place, group in zip(places, groups, strict=True)
        ]
        left = [len(set.intersection(*shown[: so_far + 1])) for so_far in range(len(shown))]
        idle = sum(before == now for before, now in pairwise(left))
        rank = idle, int(often[found.only[at]]), sum(map(len, shown)), int(found.people[at])
        ranked.append((rank, [view.releases[place].number for place in places]))
    return [(rank[-1], months) for rank, months in sorted(ranked)]


def _stops(series: Series, own: Mapping[str, Any], months: Sequence[int]) -> Iterator[Stop]:
    """What the public files of a series show of somebody in some months; a month in which they are withheld is none."""
    left: list[str] | None = None
    for month in months:
        table = series.release(month).tables["table"]
        theirs = series.private.members(month).filter(pl.col("person") == own["patient"])
        if theirs.is_empty():
            continue
        if "group" in table.columns:
            rows = table.filter(pl.col("group") == theirs["group"][0])
            shown = dict(rows["diagnosis"].value_counts().sort("diagnosis").iter_rows())
            fits = (
                pl.lit(own["age"]).is_between("age_low", "age_high")
                & pl.lit(own["zip"]).is_between("zip_low", "zip_high")
                & pl.col("sex").str.strip_chars("{}").str.split(",").list.contains(own["sex"])
            )
            fitting = table.filter(fits)["group"].n_unique()
        else:
            rows = table.filter(pl.all_horizontal(pl.col(name) == own[name] for name in ("age", "zip", "sex")))
            shown, fitting = dict.fromkeys(theirs["alternatives"][0].to_list(), 1), rows.height
        left = [value for value in shown if left is None or value in left]
        yield Stop(month, *_region(rows.row(0, named=True)), rows.height, fitting, shown, tuple(left))


def _region(row: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The quasi-identifiers of a row: those of its group, or its own."""
    age, zip_code = (
        (row.get(f"{name}_low", row.get(name)), row.get(f"{name}_high", row.get(name))) for name in ("age", "zip")
    )
    return age, zip_code, " or ".join(row["sex"].strip("{}").split(","))
