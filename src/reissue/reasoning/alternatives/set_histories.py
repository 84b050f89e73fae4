"""Histories of sets: everybody's sets over all releases, and what the declared mechanism makes of them.

A row is one person in one release. From a row of somebody to their next the mechanism either keeps the set or draws a
new one, and the chance of what it did is, for a value v before and v' after,

    v' != v    D(v')                                       a new set, drawn given the new value
    v' = v     coin(v) D(v) + (1 - coin(v)) [set is kept]  redrawn and come out the same, or not redrawn

with D(v) = w_j P_j(S) slots_j(v) / m / h(v) for a set of version j, and coin and h as `renewing` has them. P_j(S) is
the same for all values, so it is left out where a set is new for certain.

Where values are declared to be static the mechanism draws one set for everybody. If somebody has two, one who takes
that for true concludes that it was drawn twice for one value; one who takes values to change, that it was drawn anew
because the value changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reissue.arrays.cores import at_once_in_time
from reissue.arrays.dense import numbered
from reissue.arrays.types import Bools, Codes, Floats, Ints
from reissue.errors import ParameterError
from reissue.model.change import Change, Renewal, Static, change_from_dict
from reissue.model.design import Design
from reissue.model.record_design import RecordDesign
from reissue.model.sets import PublishedSets
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.record_flight import record_chances
from reissue.reasoning.alternatives.redraws import Laws, Moving, Redrawn
from reissue.reasoning.alternatives.renewing import carried_on
from reissue.reasoning.alternatives.set_probabilities import probability
from reissue.reasoning.alternatives.smoothing import SetSteps, smoothed

CHUNK = 1 << 16
"""So many rows are worked on at once."""


@dataclass(frozen=True, repr=False)
class Histories:
    """Everybody's sets, person after person and release after release."""

    people: Ints
    """Person numbers, ascending."""
    starts: Ints
    """Where the rows of each person begin; one entry more than there are people."""
    release: Ints
    """For each row its release, counted from 0 among those of sets."""
    numbers: Ints
    """The numbers of those releases."""
    codes: Codes
    """For each row its different values, ascending, and then -1. Where lives are linked: in their order."""
    design: Ints
    """For each row the design of its set, by position in `designs`."""
    kept: Bools
    """Which rows have the same set, of the same design, as the person's row before."""
    designs: tuple[Design | RecordDesign, ...]
    laws: Laws
    """The shares of the designs, and which of them are of which version and cell."""
    slots: Ints
    """(designs, values): how many slots a value takes; how many at most, where they are lives or records."""
    m: Ints
    """How many slots the sets of each design have."""
    version: Ints
    """The version of each design, counted from 0."""
    cell: Ints
    """Its cell."""
    changes: tuple[Change, ...]
    """For each release how values are declared to change in the step into it."""
    linked: bool
    known_chance: tuple[Floats, Floats] | None = None
    """`chance` and `chance_at_most`, where these were worked out before."""
    taken: Ints | None = None
    """(rows, width): how many places each value takes, where that differs from set to set: of records."""

    def __repr__(self) -> str:
        return f"Histories({self.people.size:,} people, {self.release.size:,} rows)"

    @classmethod
    def of(cls, releases: Sequence[PublishedSets], values: int) -> Histories:
        """The histories of a view with so many values."""
        designs = _Designs.of(releases, values)
        people, owner = numbered(np.concatenate([one.people for one in releases]).astype(np.int64))
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=people.size))])
        linked = any(one.designs.linked for one in releases)
        width = max(one.m for one in releases)
        release, design = np.empty(owner.size, dtype=np.int64), np.empty(owner.size, dtype=np.int64)
        codes = np.empty((owner.size, width), dtype=np.int32)
        records = any(one.designs.columns for one in releases)
        taken = np.zeros(codes.shape, dtype=np.int64) if records else None
        # Release after release, everybody's row behind those that they have already: nothing has to be sorted.
        upto, begin = starts[:-1].copy(), 0
        for at, one in enumerate(releases):
            mine = owner[begin : begin + one.people.size]
            begin += mine.size
            if np.bincount(mine, minlength=1).max() > 1:
                raise ParameterError(
                    "Somebody has two sets in one release, which these histories do not have a place for."
                )
            rows = upto[mine]
            upto[mine] += 1
            release[rows], design[rows] = at, designs.place[at][one.design]
            if taken is None:
                codes[rows] = _wide(one, width, linked)
            else:
                codes[rows], taken[rows] = _with_places(one, width)
        kept = np.zeros(owner.size, dtype=np.bool_)
        for first, last in _chunks(owner.size):
            now, before = slice(max(first, 1), last), slice(max(first, 1) - 1, last - 1)
            kept[now] = (design[now] == design[before]) & (codes[now] == codes[before]).all(axis=1)
            if taken is not None:
                kept[now] &= (taken[now] == taken[before]).all(axis=1)
        kept[starts[:-1]] = False
        numbers = np.array([one.number for one in releases], dtype=np.int64)
        changes = tuple(
            Static() if one.designs.change is None else change_from_dict(one.designs.change) for one in releases
        )
        return cls(
            people=people,
            starts=starts,
            release=release,
            numbers=numbers,
            codes=codes,
            design=design,
            kept=kept,
            designs=designs.designs,
            laws=Laws(designs.shares, designs.of_cell, designs.in_force),
            slots=designs.slots,
            m=designs.m,
            version=designs.version,
            cell=designs.cell,
            changes=changes,
            linked=linked,
            taken=taken,
        )

    @property
    def factor(self) -> float:
        """So many times what a set shows a posterior may be, where sets of records were drawn again."""
        return max((one.factor for one in self.designs if isinstance(one, RecordDesign)), default=1.0)

    @property
    def doubt(self) -> Floats:
        """By row: how far, relative to it, a figure may be off because P(S) of a set that was kept is an estimate."""
        unsure = np.where(self.kept, self.chance_at_most - self.chance, 0.0)
        if not unsure.any():
            return unsure
        share = self.laws.shares[self.design[:, None], self.codes]
        with np.errstate(divide="ignore", invalid="ignore"):
            given = np.where((self.codes >= 0) & (share > 0), self.limits() / share, 0.0)
        return np.asarray(unsure * given.max(axis=1))

    def limits(self) -> Floats:
        """(rows, width): for each value of each row its places / m, which the declared model leads to."""
        taken = self.slots[self.design[:, None], self.codes] if self.taken is None else self.taken
        return np.asarray(taken / self.m[self.design][:, None])

    @property
    def opening(self) -> Bools:
        """Which rows are somebody's first."""
        first = np.zeros(self.release.size, dtype=np.bool_)
        first[self.starts[:-1]] = True
        return first

    @cached_property
    def owner(self) -> Ints:
        """For each row the place of its person among the people."""
        return np.repeat(np.arange(self.people.size), np.diff(self.starts))

    @property
    def renewed(self) -> Bools:
        """Which rows have another set than the person's row before."""
        return ~self.kept & ~self.opening

    @cached_property
    def rates(self) -> Floats:
        """For each release the declared chance of a redraw in the step into it, the first one's is 0.

        Not a number where another rule of change is declared.
        """
        known = [
            0.0 if isinstance(one, Static) else one.rate if isinstance(one, Renewal) else np.nan for one in self.changes
        ]
        known[0] = 0.0
        return np.array(known)

    def rows_of(self, people: Ints) -> tuple[Ints, Ints]:
        """The rows of some people, and where each begins among them."""
        sizes = self.starts[people + 1] - self.starts[people]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.repeat(self.starts[people] - starts[:-1], sizes) + np.arange(int(starts[-1]))
        return rows, starts

    def only(self, people: Ints) -> Histories:
        """Those of some people, by place."""
        rows, starts = self.rows_of(people)
        return replace(
            self,
            people=self.people[people],
            starts=starts,
            release=self.release[rows],
            codes=self.codes[rows],
            design=self.design[rows],
            kept=self.kept[rows],
            known_chance=(self.chance[rows], self.chance_at_most[rows]),
            taken=None if self.taken is None else self.taken[rows],
        )

    def span(self, begin: int, end: int) -> Histories:
        """Those of the people from one place to before another, without a copy."""
        rows = slice(int(self.starts[begin]), int(self.starts[end]))
        return replace(
            self,
            people=self.people[begin:end],
            starts=self.starts[begin : end + 1] - self.starts[begin],
            release=self.release[rows],
            codes=self.codes[rows],
            design=self.design[rows],
            kept=self.kept[rows],
            known_chance=(self.chance[rows], self.chance_at_most[rows]),
            taken=None if self.taken is None else self.taken[rows],
        )

    @property
    def chance(self) -> Floats:
        """P(S) of each row's set by its design, whatever the value; 0 where the design has no such set."""
        return self._chances[0]

    @property
    def chance_at_most(self) -> Floats:
        """The largest that P(S) can be: of sets of records it is an estimate where there are many."""
        return self._chances[1]

    @cached_property
    def _chances(self) -> tuple[Floats, Floats]:
        if self.known_chance is not None:
            return self.known_chance
        found, most = np.zeros(self.release.size), np.zeros(self.release.size)

        def fill(fresh: tuple[int, Ints]) -> None:
            at, rows = fresh
            taken = None if self.taken is None else self.taken[rows]
            found[rows], most[rows] = self._chance(at, self.designs[at], self.codes[rows], taken)

        parts = []
        for at in range(len(self.designs)):
            fresh = np.flatnonzero((self.design == at) & ~self.kept)
            parts += [(at, fresh[first:last]) for first, last in _chunks(fresh.size)]
        at_once_in_time(fill, parts)
        last = np.maximum.accumulate(np.where(self.kept, 0, np.arange(found.size)))
        return found[last], most[last]

    def _chance(
        self, at: int, design: Design | RecordDesign, codes: Codes, places: Ints | None
    ) -> tuple[Floats, Floats]:
        law = self.laws.shares[at]
        place = np.full(law.size + 1, -1, dtype=np.int64)
        place[np.flatnonzero(law > 0)] = np.arange(design.values)
        local = place[codes]
        foreign = (local < 0) & (codes >= 0)
        own = self.slots[at][np.flatnonzero(law > 0)][np.maximum(local, 0)] if places is None else places
        taken = np.where(codes >= 0, own, 0)
        sound = ~foreign.any(axis=1) & (taken.sum(axis=1) == design.m)
        found, most = np.zeros(len(codes)), np.zeros(len(codes))
        if sound.any():
            full = np.repeat(local[sound].ravel(), taken[sound].ravel()).reshape(-1, design.m)
            if isinstance(design, RecordDesign):
                found[sound], most[sound] = record_chances(design, full)
            else:
                found[sound] = most[sound] = probability(design, full)
        return found, most


def any_renewed(releases: Sequence[PublishedSets]) -> bool:
    """Whether somebody has another set in one release than in another."""
    return len(releases) > 1 and bool(
        Histories.of(releases, 1 + max(int(one.values.max()) for one in releases)).renewed.any()
    )


def _chunks(count: int) -> list[tuple[int, int]]:
    return [(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]


def _with_places(one: PublishedSets, width: int) -> tuple[Codes, Ints]:
    """The different records of each set, ascending and then -1, and how many places each takes."""
    codes = np.sort(one.codes.astype(np.int32), axis=1)
    first = np.ones(codes.shape, dtype=np.bool_)
    first[:, 1:] = codes[:, 1:] != codes[:, :-1]
    rank = np.cumsum(first, axis=1) - 1
    rows = np.repeat(np.arange(len(codes)), codes.shape[1])
    found = np.full((len(codes), width), -1, dtype=np.int32)
    taken = np.zeros((len(codes), width), dtype=np.int64)
    found[rows, rank.ravel()] = codes.ravel()
    np.add.at(taken, (rows, rank.ravel()), 1)
    return found, taken


def _wide(one: PublishedSets, width: int, linked: bool) -> Codes:
    """The different values of each set, ascending and then -1."""
    codes = one.codes.astype(np.int32)
    if linked:
        return codes
    if not (codes[:, 1:] > codes[:, :-1]).all():
        codes.sort(axis=1)
        again = np.zeros(codes.shape, dtype=np.bool_)
        again[:, 1:] = codes[:, 1:] == codes[:, :-1]
        if again.any():
            beyond = np.iinfo(np.int32).max
            codes[again] = beyond
            codes.sort(axis=1)
            codes[codes == beyond] = -1
    left = np.full((len(codes), width - codes.shape[1]), -1, dtype=np.int32)
    return np.concatenate([codes, left], axis=1)


@dataclass(frozen=True, repr=False)
class _Designs:
    """The designs of all releases, each once."""

    designs: tuple[Design | RecordDesign, ...]
    place: tuple[Ints, ...]
    shares: Floats
    slots: Ints
    version: Ints
    cell: Ints
    of_cell: Ints
    in_force: Ints

    @property
    def m(self) -> Ints:
        return np.array([design.m for design in self.designs], dtype=np.int64)

    @classmethod
    def of(cls, releases: Sequence[PublishedSets], values: int) -> _Designs:
        known: dict[tuple[Design | RecordDesign, bytes, int, int], int] = {}
        most: dict[tuple[Design | RecordDesign, bytes, int, int], Ints] = {}
        place = []
        for one in releases:
            cells = _cells(one.designs.version)
            every = zip(one.designs.designs, one.designs.places, one.designs.version, cells, strict=True)
            keys = [(design, one.values[places].tobytes(), version, cell) for design, places, version, cell in every]
            for at, key in enumerate(keys):
                most[key] = one.designs.most(at)
            place.append(np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64))
        shares = np.zeros((len(known), values))
        slots = np.ones((len(known), values), dtype=np.int64)
        for key, at in known.items():
            held = np.frombuffer(key[1], dtype=np.int64)
            shares[at, held], slots[at, held] = key[0].shares, most[key]
        names = sorted({version for _, _, version, _ in known})
        version = np.array([names.index(number) for _, _, number, _ in known], dtype=np.int64)
        cell = np.array([cell for _, _, _, cell in known], dtype=np.int64)
        of_cell = np.full((len(names), int(cell.max()) + 1), -1, dtype=np.int64)
        for at, (row, column) in enumerate(zip(version.tolist(), cell.tolist(), strict=True)):
            if of_cell[row, column] >= 0:
                raise ParameterError("Releases say different things about one version of the reference.")
            of_cell[row, column] = at
        # A cell that a version does not have has the law of any other; nobody is in it.
        of_cell = np.where(of_cell < 0, of_cell.max(axis=1, keepdims=True), of_cell)
        in_force = np.array([names.index(max(one.designs.version)) for one in releases], dtype=np.int64)
        return cls(tuple(key[0] for key in known), tuple(place), shares, slots, version, cell, of_cell, in_force)


def _cells(versions: Iterable[int]) -> list[int]:
    """For each design its number among those of its version."""
    seen: dict[int, int] = {}
    cells = []
    for version in versions:
        cells.append(seen.get(version, 0))
        seen[version] = cells[-1] + 1
    return cells


def set_steps(
    histories: Histories,
    moving: Moving,
    prior: Floats | None = None,
    *,
    still: bool,
    permanent: Bools | None = None,
    known: Ints | None = None,
) -> SetSteps:
    """The steps of people's sets, drawn as declared, for somebody who takes values to move so.

    `prior` has another share for each value than the reference; `still` says that they take all values to be static.
    """
    if np.isnan(histories.rates).any():
        raise ParameterError(
            "Sets that are kept or renewed come with one rate of change; these were declared with another rule.",
            hint="only linked lives follow a table.",
        )
    codes, release, design = histories.codes, histories.release, histories.design
    there, opening = codes >= 0, histories.opening
    since = np.where(opening, release, np.roll(release, 1))
    cell = histories.cell[design]
    shares, limit = histories.laws.shares[design[:, None], codes], histories.limits()
    declared = Redrawn(histories.rates, histories.laws, permanent)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.where(there & (shares > 0), limit / shares, 0.0)
    coin = np.zeros(codes.shape)
    later = np.flatnonzero(~opening)
    if later.size:
        again, tossed = _again(histories, declared, later, since[later], limit[later])
        # Where no redraw is declared, another set is one for another value, or a second one for the same.
        redraws = np.cumsum(histories.rates)
        never = redraws[release[later]] == redraws[since[later]]
        chance = np.where(histories.kept[later], histories.chance[later], 1.0)
        again[never] = (drawn[later] * chance[:, None])[never]
        tossed[never] = np.where(histories.kept[later], 0.0, float(still))[never][:, None]
        drawn[later], coin[later] = np.where(there[later], again, 0.0), tossed
    impossible = histories.chance <= 0
    if permanent is not None:
        impossible &= opening
    drawn[impossible] = 0.0
    before = shares if prior is None else prior[codes]
    return SetSteps(
        codes, release, cell, since, np.where(there, before, 0.0), drawn, coin, histories.kept, moving, known
    )


def sole_values(histories: Histories, steps: SetSteps, posterior: Floats) -> Bools:
    """By row: whether one value only is possible.

    Where the sums leave one, they are done again with every chance that is not 0 as good as even, so that nothing is
    taken for impossible that is only too small to write down.
    """
    found: Bools = (posterior > 0).sum(axis=1) == 1
    people = np.unique(histories.owner[found])
    if not people.size:
        return found
    rows, starts = histories.rows_of(people)

    def even(chance: Floats) -> Floats:
        return np.where((chance > 0) & (chance < 1), 0.5, chance)

    coarse = SetSteps(
        steps.codes[rows],
        steps.release[rows],
        steps.cell[rows],
        steps.since[rows],
        np.sign(steps.prior[rows]),
        np.where(steps.drawn[rows] > 0, 0.5, 0.0),
        even(steps.coin[rows]),
        steps.kept[rows],
        steps.moving.even(),
        None if steps.known is None else steps.known[rows],
    )
    found[rows] = (smoothed(starts, coarse).posterior > 0).sum(axis=1) == 1
    return found


def _again(histories: Histories, declared: Redrawn, rows: Ints, since: Ints, limit: Floats) -> tuple[Floats, Floats]:
    """D and the coin of rows that are not somebody's first."""
    codes, design, release = histories.codes[rows], histories.design[rows], histories.release[rows]
    cell, version = histories.cell[design], histories.version[design]
    stay, land = declared.parts(codes, since, release, cell)
    found, which = declared.passed(since, release)
    weight = np.stack([gap.moving for gap in found])[cell, which, version]
    chance = np.where(histories.kept[rows], histories.chance[rows], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = np.nan_to_num(weight[:, None] * limit * chance[:, None] / land, posinf=0.0)
        coin = np.nan_to_num(land / (stay[:, None] + land))
    if declared.permanent is None:
        return drawn, coin
    # The bell rings for permanent values as for all others, and what was in the set before stays in it.
    kept = np.stack([gap.kept for gap in found])[cell, which]
    coin = np.where(declared.permanent[codes], (1 - kept)[:, None], coin)
    before = histories.codes[rows - 1]
    for kind, mine in _kinds(declared.permanent, before, cell, which):
        held, rest = carried_on(found[kind.cell].law(kind.gap), kind.held, int(histories.m[0]))
        drawn[mine] = _beside(codes[mine], held, rest, histories.kept[rows[mine]], int(histories.m[0]))
    return drawn, coin


@dataclass(frozen=True)
class _Kind:
    """People alike in what a new set of theirs is drawn by."""

    cell: int
    gap: int
    held: Ints


def _kinds(permanent: Bools, before: Codes, cell: Ints, gap: Ints) -> list[tuple[_Kind, Ints]]:
    values = np.flatnonzero(permanent)
    held = np.stack([(before == value).any(axis=1) for value in values], axis=1).astype(np.int64)
    kinds, kind = np.unique(np.column_stack([cell, gap, held]), axis=0, return_inverse=True)
    return [
        (_Kind(int(row[0]), int(row[1]), values[row[2:] == 1]), np.flatnonzero(kind.ravel() == at))
        for at, row in enumerate(kinds)
    ]


def _beside(codes: Codes, held: Ints, rest: Floats, kept: Bools, m: int) -> Floats:
    """D where new sets carry permanent values: those of the set before, and others drawn by the rest."""
    inside = np.isin(codes, held)
    left = m - held.size
    sound = (inside.sum(axis=1) == held.size) & ((codes >= 0).sum(axis=1) == m)
    with np.errstate(divide="ignore", invalid="ignore"):
        given = np.nan_to_num(1 / (left * rest[codes]), posinf=0.0)
    drawn = np.where(inside, 1.0, given) * sound[:, None]
    if kept.any() and left:
        places = np.flatnonzero(rest > 0)
        among = np.searchsorted(places, codes[kept][~inside[kept]]).reshape(-1, left)
        if left > 1:
            design = design_of(
                rest[places], left, dict.fromkeys(np.flatnonzero(rest[places] * (2 * left - 1) > 1).tolist(), 1)
            )
            drawn[kept] *= probability(design, among)[:, None]
        else:
            drawn[kept] *= rest[places][among]
    return np.asarray(drawn)
