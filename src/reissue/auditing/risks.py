"""Risks in figures, release by release: for the release alone, and for all releases up to it.

Three kinds are kept apart. *Re-identification*: finding the row of somebody one is looking for (prosecutor: they are
known to be in it; journalist: they are in a register of more people; marketer: the share found when guessing
everywhere). *Presence*: being sure that somebody is in it at all. *Attribute disclosure*: learning a value, whichever
row it is in.

For all releases together it counts who has the same history as whom: people who were in the same groups of the same
releases cannot be told apart by someone who knows when they were there. The fewer share a history, the better its owner
can be followed through the series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.arrays.runs import totals
from reissue.arrays.types import Bools, Ints
from reissue.auditing.compared import Knowing
from reissue.model.memberships import Memberships
from reissue.model.published import Published, PublishedGroups
from reissue.model.sets import PublishedSets
from reissue.reasoning.history import diversity
from reissue.reasoning.worlds.candidates import Candidates, candidates

RISKS = pl.Schema(
    {
        "release": pl.Int64,
        "rows": pl.Int64,
        "groups": pl.Int64,
        "smallest_group": pl.Int64,
        "prosecutor_highest": pl.Float64,
        "prosecutor_at_risk": pl.Float64,
        "prosecutor_success": pl.Float64,
        "journalist_highest": pl.Float64,
        "journalist_at_risk": pl.Float64,
        "marketer_success": pl.Float64,
        "presence_certain": pl.Int64,
        "presence_possible": pl.Int64,
        "attribute_highest": pl.Float64,
        "attribute_mean": pl.Float64,
        "attribute_above": pl.Int64,
        "cumulative_people": pl.Int64,
        "cumulative_highest": pl.Float64,
        "cumulative_at_risk": pl.Float64,
        "cumulative_success": pl.Float64,
        "cumulative_presence": pl.Int64,
        "cumulative_exposed": pl.Int64,
    }
)
"""The columns of `Risks.table`. `highest` and `success` are probabilities, `at_risk` is a share of the rows or people,
the rest are counts. Null: the view does not tell."""


@dataclass(frozen=True, repr=False)
class Risks:
    """The figures, with what is needed to judge them."""

    table: pl.DataFrame
    """One row for each release; see `RISKS`."""
    alone: int
    """How many rows stand alone in a group of one, over all releases."""
    followed: tuple[int, int] | None
    """How many people in several releases have a history of their own, and how many are in several releases at all.
    None where it is not known who is where."""
    contradictory: int
    """How many people are left with no value at all when their groups are compared."""
    candidates_known: bool
    """Whether the view lists more people than rows, as with a register of candidates."""

    def __repr__(self) -> str:
        return f"Risks({self.table.height} releases)"


def risks_of(
    published: Published,
    *,
    threshold: float,
    limit: Fraction | None,
    anatomised: bool = False,
    knowing: Knowing | None = None,
    together: bool = True,
) -> Risks:
    """Measure a series.

    `threshold` is the re-identification risk above which a row is at risk, `limit` the probability above which a
    value is disclosed, None where no limit says that. Anatomised releases show the quasi-identifiers of every row
    exactly, so that everybody is found. Who is left with one value that they never had, as `knowing` knows, is not
    exposed. Without `together` values are not taken to stay: who is left with one over the releases is not told.
    """
    if published.sets:
        return risks_of_sets(published, threshold, limit, anatomised)
    placed = one_place_each(published)
    so_far: list[SharedHistories] = list(histories(published)) if placed else []
    left = candidates(published, each=knowing is not None) if placed and published.single else None
    rows = []
    ever = np.zeros(published.index.people.size, dtype=np.bool_)
    for at, release in enumerate(published.releases):
        apart = not published.single and release.sure is not None and release.members.size > 0
        row = _registered(release, threshold, limit) if apart else _alone(release, threshold, limit, anatomised)
        certain, possible = _present(published.index, at)
        if possible.any():
            ever |= certain
            row["presence_certain"] = int(np.count_nonzero(certain))
            row["presence_possible"] = int(np.count_nonzero(possible))
            row["cumulative_presence"] = int(np.count_nonzero(ever))
        if placed:
            row |= _together(so_far[at], threshold, anatomised)
        if left is not None and together:
            row["cumulative_exposed"] = int(left.exposed_after[at]) - _mistaken(left, at, knowing)
        rows.append(row)
    return Risks(
        pl.DataFrame(rows, schema=RISKS),
        alone=sum(int(np.count_nonzero(release.rows == 1)) for release in published.releases),
        followed=(so_far[-1].alone, so_far[-1].several) if so_far else None,
        contradictory=0 if left is None else int(left.contradictory.size),
        candidates_known=any(release.sure is not None for release in published.releases),
    )


def risks_of_sets(published: Published, threshold: float, limit: Fraction | None, anatomised: bool) -> Risks:
    """Measure a series in which everybody is shown with a set of values.

    Rows hide among those alike in their quasi-identifiers; a value is disclosed by its slots among those of its set.
    What sets of several releases tell together is for an attack.
    """
    rows = {release.number: _alone(release, threshold, limit, anatomised) for release in published.plain}
    seen = _Seen(published.sets if not published.plain else ())
    alone = sum(int(np.count_nonzero(release.rows == 1)) for release in published.plain)
    for one in published.sets:
        row, single = _of_sets(one, threshold, limit)
        alone += single
        rows[one.number] = row | seen.after(one, threshold)
    return Risks(
        pl.DataFrame([rows[number] for number in sorted(rows)], schema=RISKS),
        alone=alone,
        followed=seen.followed,
        contradictory=0,
        candidates_known=any(release.sure is not None for release in published.plain),
    )


def _mistaken(left: Candidates, at: int, knowing: Knowing | None) -> int:
    """How many are left with one value, by a release and those before it, that they never had."""
    if knowing is None or left.only_after is None:
        return 0
    alone = np.flatnonzero(left.only_after[at] >= 0)
    return int(knowing.refuted(left.people[alone], left.only_after[at, alone]).sum())


Row = dict[str, int | float | None]


def _alone(release: PublishedGroups, threshold: float, limit: Fraction | None, anatomised: bool) -> Row:
    held = release.rows
    filled = held > 0
    sizes, people = _sizes(release)[filled], _people(release)[filled]
    row: Row = {
        "release": release.number,
        "rows": int(held.sum()),
        "groups": release.group_count,
        "smallest_group": int(sizes.min()) if sizes.size else None,
    }
    at_stake = people > 0
    if not at_stake.any():
        return row
    sizes, people = sizes[at_stake], people[at_stake]
    listed = release.sizes[filled][at_stake] if release.sure is not None else sizes
    for who, among in (("prosecutor", sizes), ("journalist", np.maximum(listed, sizes))):
        risk = np.ones(among.size) if anatomised else 1 / among
        row[f"{who}_highest"] = float(risk.max())
        row[f"{who}_at_risk"] = float(people[risk > threshold].sum() / people.sum())
        # The marketer guesses everywhere, among as many as the journalist.
        found = "prosecutor_success" if who == "prosecutor" else "marketer_success"
        row[found] = float((risk * people).sum() / people.sum())
    top = diversity.largest(release)[filled][at_stake]
    base = diversity.totals(release)[filled][at_stake]
    share = top / base
    row["attribute_highest"] = float(share.max())
    row["attribute_mean"] = float((share * people).sum() / people.sum())
    if limit is not None:
        beyond = top * limit.denominator > base * limit.numerator
        row["attribute_above"] = int(people[beyond].sum())
    return row


def _of_sets(one: PublishedSets, threshold: float, limit: Fraction | None) -> tuple[Row, int]:
    """The figures of one release of sets, and how many rows have quasi-identifiers that no other has."""
    row: Row = {"release": one.number, "rows": one.people.size}
    row["presence_certain"] = row["presence_possible"] = one.people.size
    alone = 0
    if one.people.size and _has_regions(one):
        sizes = np.bincount(one.regions)
        among, alone = sizes[one.regions], int(np.count_nonzero(sizes == 1))
        row |= {"groups": int(np.count_nonzero(sizes)), "smallest_group": int(among.min())}
        for who in ("prosecutor", "journalist"):
            row |= {f"{who}_highest": float(1 / among.min()), f"{who}_at_risk": float(np.mean(1 / among > threshold))}
        row |= {"prosecutor_success": float(np.mean(1 / among)), "marketer_success": float(np.mean(1 / among))}
    if one.people.size:
        top = _most_slots(one)
        row |= {"attribute_highest": float(top.max() / one.m), "attribute_mean": float(top.mean() / one.m)}
        if limit is not None:
            row["attribute_above"] = int(np.count_nonzero(top * limit.denominator > one.m * limit.numerator))
    return row, alone


def _has_regions(one: PublishedSets) -> bool:
    return one.group is not None or (one.region is not None and one.region.width > 0)


def _most_slots(one: PublishedSets) -> Ints:
    """For each row the most slots of any value with a limit; one that takes all has none."""
    held = np.sort(one.codes.astype(np.int64), axis=1)
    longest = np.ones(len(held), dtype=np.int64)
    run = np.ones(len(held), dtype=np.int64)
    for slot in range(1, one.m):
        run = np.where(held[:, slot] == held[:, slot - 1], run + 1, 1)
        longest = np.maximum(longest, run)
    return np.where(longest == one.m, 0, longest)


class _Seen:
    """Who has the same quasi-identifiers as whom in all releases up to one, and with them the same sets."""

    def __init__(self, releases: Sequence[PublishedSets]) -> None:
        self._asked = bool(releases) and all(map(_has_regions, releases))
        self._people = (
            np.unique(np.concatenate([one.people for one in releases])) if self._asked else np.zeros(0, np.int64)
        )
        self._alike = np.zeros(self._people.size, dtype=np.int64)
        self._rows = np.zeros(self._people.size, dtype=np.int64)
        self._stays = np.zeros(self._people.size, dtype=np.int64)

    @property
    def followed(self) -> tuple[int, int] | None:
        """How many people in several releases have rows that nobody else has, and how many are in several at all."""
        if not self._asked:
            return None
        several = self._stays > 1
        count = np.bincount(self._rows)[self._rows]
        return int(np.count_nonzero(several & (count == 1))), int(np.count_nonzero(several))

    def after(self, one: PublishedSets, threshold: float) -> Row:
        """What a release adds."""
        if not self._asked:
            return {}
        at = np.searchsorted(self._people, one.people)
        self._stays[at] += 1
        regions = one.regions.astype(np.int64, copy=False)
        _, kind = np.unique(np.column_stack([regions, one.design, one.codes]), axis=0, return_inverse=True)
        self._alike, self._rows = (
            _refined(history, at, told) for history, told in ((self._alike, regions), (self._rows, kind.ravel()))
        )
        seen = self._stays > 0
        count = np.bincount(self._alike[seen], minlength=self._alike.max(initial=0) + 1)[self._alike[seen]]
        return {
            "cumulative_people": int(seen.sum()),
            "cumulative_highest": float(1 / count.min()),
            "cumulative_at_risk": float(np.mean(1 / count > threshold)),
            "cumulative_success": float(np.mean(1 / count)),
            "cumulative_presence": int(seen.sum()),
        }


def _refined(history: Ints, at: Ints, told: Ints) -> Ints:
    """Histories, by number, told apart further by what some people have now; 0 is for the others."""
    now = np.zeros(history.size, dtype=np.int64)
    now[at] = told + 1
    _, refined = np.unique(history * (int(now.max(initial=0)) + 1) + now, return_inverse=True)
    return np.asarray(refined, dtype=np.int64).ravel()


def _registered(release: PublishedGroups, threshold: float, limit: Fraction | None) -> Row:
    """Where people have several values or none: rows are values, and hide behind everybody who may be in the group."""
    shown = release.rows > 0
    sizes, rows = release.sizes[shown], release.rows[shown]
    row: Row = {"release": release.number, "rows": int(rows.sum()), "groups": release.group_count}
    if not sizes.size or not sizes.all():
        return row
    risk = 1 / sizes
    top = diversity.largest(release)[shown]
    row |= {
        "smallest_group": int(sizes.min()),
        "journalist_highest": float(risk.max()),
        "journalist_at_risk": float(rows[risk > threshold].sum() / rows.sum()),
        "marketer_success": float((risk * rows).sum() / rows.sum()),
        "attribute_highest": float((top / sizes).max()),
        "attribute_mean": float((top / sizes * sizes).sum() / sizes.sum()),
    }
    if limit is not None:
        row["attribute_above"] = int(sizes[top * limit.denominator > sizes * limit.numerator].sum())
    return row


def _together(seen: SharedHistories, threshold: float, anatomised: bool) -> Row:
    if not seen.alike.size:
        return {"cumulative_people": 0}
    if anatomised:
        found = {"cumulative_highest": 1.0, "cumulative_at_risk": 1.0, "cumulative_success": 1.0}
        return {"cumulative_people": seen.alike.size, **found}
    return {
        "cumulative_people": seen.alike.size,
        "cumulative_highest": float(1 / seen.alike.min()),
        "cumulative_at_risk": float(np.mean(1 / seen.alike > threshold)),
        "cumulative_success": seen.success,
    }


def _sizes(release: PublishedGroups) -> Ints:
    """Among how many each group hides its members: the people in it where they are known, else its rows."""
    known = release.sizes if release.sure is None else np.zeros(release.group_count, dtype=np.int64)
    return np.where(known > 0, np.minimum(known, release.rows), release.rows)


def _people(release: PublishedGroups) -> Ints:
    """How many rows of each group may be somebody's: all but the counterfeits."""
    made_up = totals(release.members < 0, release.member_starts)
    people: Ints = np.maximum(release.rows - made_up, 0)
    return people


def _present(where: Memberships, at: int) -> tuple[Bools, Bools]:
    """Who of all members, by place, is certainly in a release, and who may be; counterfeits are nobody."""
    release, members = where.releases[at], where.member[where.entries(at)]
    possible = np.zeros(where.people.size, dtype=np.bool_)
    possible[members] = True
    possible[: where.made_up] = False
    if release.sure is None:
        return possible, possible
    certain = np.zeros(where.people.size, dtype=np.bool_)
    certain[members[release.sure]] = True
    if release.present is not None:
        there = where.places(release.present)
        certain[there[there >= 0]] = True
    return certain & possible, possible


@dataclass(frozen=True, repr=False)
class SharedHistories:
    """Everybody seen up to a release, and how many have the same history. Counterfeits count, but are nobody here."""

    alike: Ints
    """For each person seen so far how many members have the same history, the person included."""
    stays: Ints
    """For each of them in how many releases."""

    def __repr__(self) -> str:
        return f"SharedHistories({self.alike.size:,} people)"

    @property
    def smallest(self) -> int | None:
        """How many share the rarest history; None where nobody was seen."""
        return int(self.alike.min()) if self.alike.size else None

    @property
    def success(self) -> float | None:
        """The share of people somebody finds who guesses among those alike."""
        return float(np.mean(1 / self.alike)) if self.alike.size else None

    @property
    def alone(self) -> int:
        """How many in several releases have a history of their own."""
        return int(np.count_nonzero((self.alike == 1) & (self.stays > 1)))

    @property
    def several(self) -> int:
        """How many were in several releases."""
        return int(np.count_nonzero(self.stays > 1))


def one_place_each(published: Published) -> bool:
    """Whether it is known where everybody is, and nobody is in two places of a release."""
    return published.exact and not published.index.again[0].any()


def histories(published: Published) -> Iterator[SharedHistories]:
    """The histories up to each release, of a view in which everybody is known to be in one place."""
    where, tree = published.index, published.index.histories
    people = np.arange(where.people.size) >= where.made_up
    history = np.zeros(where.people.size, dtype=np.int64)
    stays = np.zeros(where.people.size, dtype=np.int64)
    for at in range(len(published.releases)):
        entries = where.entries(at)
        history[where.member[entries]] = tree.after[entries]
        stays[where.member[entries]] += 1
        seen = people & (history > 0)
        yield SharedHistories(np.bincount(history)[history[seen]], stays[seen])
