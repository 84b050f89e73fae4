"""A registry: people with their quasi-identifiers, and who of them is known to be in which release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import TableError, count_of, listed
from reissue.foreign.files import ReleaseFiles, read_cells


@dataclass(frozen=True, repr=False)
class ForeignRegistry:
    """Everybody who may be in a release."""

    people: pl.Series
    """Names, once each."""
    table: pl.DataFrame
    """What is known of them: the quasi-identifiers that releases have too, as text."""
    complete: bool = True
    """Whether it has every quasi-identifier of the releases, for everybody."""

    @classmethod
    def read(cls, registry: object, person: str, names: Sequence[str]) -> ForeignRegistry:
        """Read it; `names` are the quasi-identifiers of the releases."""
        frame = read_cells(registry)
        problems = []
        if frame.is_empty():
            problems.append("it has no rows")
        if person not in frame.columns:
            problems.append(f"it has no column '{person}', only {listed(frame.columns)}")
        else:
            nobody = frame[person].null_count()
            twice = frame.height - nobody - frame[person].drop_nulls().n_unique()
            if nobody:
                problems.append(f"{count_of(nobody, 'row')} of {frame.height:,} without a person in '{person}'")
            if twice:
                problems.append(f"{count_of(twice, 'row')} of {frame.height:,} of people who have one already")
        known = [name for name in names if name in frame.columns and name != person]
        if not known and names:
            problems.append(f"it has none of the quasi-identifiers of the releases: {listed(names)}")
        if problems:
            raise TableError(
                "The registry cannot be used.",
                problems=problems,
                hint="let it have one row for each person: the name, and quasi-identifiers called as in the releases.",
            )
        table = frame.select(known)
        complete = len(known) == len(names) and not any(column.null_count() for column in table)
        return cls(frame[person], table, complete)

    @property
    def classes(self) -> Ints | None:
        """A number for the quasi-identifiers of each person: equal numbers, equal quasi-identifiers.

        None where something is not known: people could differ in that.
        """
        if not self.complete or not self.table.width:
            return None
        rank = self.table.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64))
        return rank.to_series().to_numpy()

    def present(self, present: object | None, files: Sequence[ReleaseFiles]) -> list[Bools]:
        """For each release who is known to be in it."""
        everybody = self.people.len()
        if present is None or (isinstance(present, str) and present == "all"):
            return [np.full(everybody, present is not None, dtype=np.bool_) for _ in files]
        frame = read_cells(present)
        lacking = [name for name in ("person", "release") if name not in frame.columns]
        if lacking:
            raise TableError(
                f"The table of who is present has no column {listed(lacking)}, only {listed(frame.columns)}.",
                hint="let it have one row for each person and release that is known: person, release.",
            )
        place = _called(files)
        named = [place.get(name, set()) for name in frame["release"].to_list()]
        release = np.array([min(one, default=-1) for one in named], dtype=np.int64)
        several = sum(len(one) > 1 for one in named)
        position = pl.DataFrame({"person": self.people, "place": np.arange(everybody)})
        who = frame.select("person").join(position, on="person", how="left", maintain_order="left")["place"]
        strangers, elsewhere = who.null_count(), int(np.count_nonzero(release < 0))
        if strangers or elsewhere or several:
            problems = [f"{count_of(strangers, 'row')} of people who are not in the registry"] if strangers else []
            problems += [f"{count_of(elsewhere, 'row')} of releases that there are not"] if elsewhere else []
            if several:
                rows = count_of(several, "row")
                problems.append(f"{rows} in which 'release' is the number of one release and the name of another")
            raise TableError(
                "The table of who is present does not fit.",
                problems=problems,
                hint="call releases by their number, counted from 1, or by their file with its ending, whatever is "
                "not the name of two.",
            )
        known = [np.zeros(everybody, dtype=np.bool_) for _ in files]
        people = who.to_numpy()
        for at, here in enumerate(known):
            here[people[release == at]] = True
        return known


def _called(files: Sequence[ReleaseFiles]) -> dict[str, set[int]]:
    """What releases may be called by: their number or their file, with or without the ending."""
    place: dict[str, set[int]] = {}
    for at, one in enumerate(files):
        for name in (str(at + 1), one.name, one.name.partition(".")[0]):
            place.setdefault(name, set()).add(at)
    return place
