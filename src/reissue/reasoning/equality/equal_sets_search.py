"""The whole search for equal sets: certificates first, then structure, then exactly what is small enough.

    1. The cut of every bucket. If none is below the size asked for, there is nothing to find.
    2. `equal_sets`: differences of groups, their sums, and equal people taken as one.
    3. `smallest_sets`: exactly, in each part that is small enough, for everybody who is in no smaller set yet.
    4. `equal_pairs`: in the other parts all pairs of people that any combination ties together, by projection.

`Equalities` says what was found, and what of it is proven to be all there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from reissue.arrays.budget import moment, passed, spend
from reissue.arrays.types import Ints
from reissue.kernels.near_sets import holds_another
from reissue.model.published import Published
from reissue.reasoning.equality.equal_sets import FAR, EqualSets, equal_sets
from reissue.reasoning.equality.equal_sets_exact import ExactSets
from reissue.reasoning.equality.equal_sets_parts import CELLS, SHARE, Component, Components
from reissue.reasoning.equality.equal_sets_projection import EqualPairs, equal_pairs
from reissue.reasoning.equality.equal_sets_vectors import Vectors
from reissue.reasoning.equality.minimum_equivalence import minimum_attack_of_matrices, verified
from reissue.reasoning.history.trajectories import Trajectories

WHOLE = 20_000
"""A series of at most so many groups by trajectories is searched exactly as a whole."""
BUCKET = 200
"""How many steps it takes to bound what touches a bucket."""
USUAL = 5
"""Attacks below this are looked for where the smallest cannot be."""


class Source(NamedTuple):
    """What an equality comes from: a step of the search by structure, weights, or a part and the sides in it."""

    step: int | None = None
    weights: dict[int, Fraction] | None = None
    part: Component | None = None
    sides: Ints | None = None


@dataclass(frozen=True, repr=False)
class Equalities:
    """Sets of members that were found to have the same values. Members are positions in `ways.numbers`."""

    parts: Components
    below: int
    """Sets of fewer were looked for."""
    names: Ints
    """For each member the first of those it was found equal to, perhaps itself."""
    pairs: list[tuple[int, int, Source]]
    """The pairs from which that follows."""
    sets: Vectors
    """Larger sets, smallest first, on the first of each class."""
    sources: list[Source]
    best: Ints
    """For each member the size of the smallest set it is in; FAR if it is in none."""
    bound: int | None
    """Nothing below this was missed; None: there is nothing else of any size."""
    certified: int
    """How many buckets the cut certified."""
    exact: int
    """How many parts were searched exactly to the end."""
    open: int
    """How many were not."""
    together: bool
    """Whether the part is the whole series, because buckets cannot be told apart or because it is small."""
    structure: EqualSets | None
    """The search by structure; None where certificates made it needless."""
    projection: EqualPairs | None
    """The search for pairs by projection; None where the exact search made it needless."""

    def __repr__(self) -> str:
        return f"Equalities({len(self.pairs):,} pairs, {len(self.sets):,} larger sets below {self.below})"

    @property
    def ways(self) -> Trajectories:
        """Everybody's way through the groups."""
        return self.parts.ways

    @property
    def smallest(self) -> int | None:
        """The size of the smallest set found."""
        least = int(self.best.min(initial=FAR))
        return None if least == FAR else least

    def weights(self, source: Source) -> dict[int, Fraction]:
        """The weight of each group from which an equality follows, equal people taken as one."""
        if source.step is not None and self.structure is not None:
            return self.structure.weights(source.step)
        if source.weights is not None:
            return source.weights
        assert source.part is not None
        assert source.sides is not None
        values = self.parts.values(source.part)
        attack = verified(source.part.bucket.presence(), source.part.bucket.people, values, source.sides)
        groups = source.part.groups.tolist()
        return {group: weight for group, weight in zip(groups, attack.weights, strict=True) if weight}


def find_equalities(
    published: Published, e: int | None, seconds: float, exact_seconds: float | None = None
) -> Equalities:
    """Look for all sets of fewer than e; without e for the smallest, or below `USUAL` where that takes too long.

    The exact search gets what the search by structure leaves of the time, and at most `exact_seconds`.
    """
    deadline = moment() + seconds
    parts = Components(Trajectories.of(published))
    if not parts.buckets:
        return _Collected(parts, USUAL).equalities(None)
    small = parts.whole.bucket.cells <= WHOLE
    wanted = _Wanted(e, 1) if e is not None else _smallest(parts, small, deadline)
    if wanted.below is None:
        return _Collected(parts, USUAL).equalities(None)
    result = _Collected(parts, wanted.below)
    for part, sides in wanted.attacks:
        result.add_sides(part, sides)
    cuts = _cuts(parts, wanted.least, deadline)
    low = [(part, cut) for part, cut in zip(parts.buckets, cuts, strict=True) if cut < wanted.below]
    result.certified = len(cuts) - len(low)
    if not low:
        return result.equalities(min(cuts))
    result.add_structure(equal_sets(published, wanted.below, deadline))
    if exact_seconds is not None:
        deadline = min(deadline, moment() + exact_seconds)
    result.together = small or not parts.apart(wanted.below, deadline)
    if result.together:
        low = [(parts.whole, min(cuts))]
    # Half of the time that is left, since parts that are too large for it may use up what they get.
    half = moment() + max(deadline - moment(), 0.0) / 2
    bounds = [result.add_exactly(part, cut, half) for part, cut in low]
    if result.open:
        result.add_projection(deadline)
    return result.equalities(min(bounds))


def _cuts(parts: Components, least: int, deadline: float) -> list[int]:
    """For each bucket what no attack that touches it is below; what there is no time to cut is bounded by nothing."""
    cuts = []
    for part in parts.buckets:
        late = passed(deadline)
        cuts.append(max(1 if late else parts.least_by_cut(part), least))
        spend(0 if late else BUCKET + part.groups.size)
    return cuts


class _Wanted(NamedTuple):
    """The sizes of interest."""

    below: int | None
    """Below what; None: there is no attack at all."""
    least: int
    """Nothing is below this."""
    attacks: tuple[tuple[Component, Ints], ...] = ()
    """The smallest attack so far, where there is one."""


def _smallest(parts: Components, small: bool, deadline: float) -> _Wanted:
    """The sizes up to that of the smallest attack, if it can be found."""
    whole = small or parts.tangled is not None
    searched = [parts.whole] if whole else parts.buckets
    if any(part.bucket.cells > CELLS for part in searched):
        return _Wanted(USUAL, 1)
    best: int | None = None
    attacks: tuple[tuple[Component, Ints], ...] = ()
    bounds: list[int] = []
    decided = True
    for part in searched:
        if best == 1:
            break
        left = max((deadline - moment()) * SHARE, 0.01)
        presence, people = part.bucket.presence(), part.bucket.people
        search = minimum_attack_of_matrices(presence, people, parts.values(part), below=best, seconds=left)
        decided &= search.decided
        bounds += [] if search.bound is None else [search.bound]
        if search.attack is not None:
            best, attacks = search.attack.size, ((part, search.attack.sides),)
    if not whole and not parts.apart(FAR, deadline):
        # Buckets together may hold attacks as large as the smallest of their sets of values.
        bounds.append(min(values.size for values in parts.signatures.sets if values.size))
    least = min(bounds, default=1)
    if best is not None:
        return _Wanted(best + 1, min(best, least), attacks)
    if not decided:
        return _Wanted(max(USUAL, least), least)
    return _Wanted(least, least) if bounds else _Wanted(None, 1)


class _Collected:
    """What has been found so far."""

    def __init__(self, parts: Components, below: int) -> None:
        self.parts, self.below = parts, below
        width = parts.ways.numbers.size
        self.names, self.best = np.arange(width), np.full(width, FAR)
        self.pairs: list[tuple[int, int, Source]] = []
        self.sets, self.sources = Vectors.none(width), list[Source]()
        self.certified = self.exact = 0
        self.open: list[Component] = []
        self.together = False
        self.by_structure: EqualSets | None = None
        self.by_projection: EqualPairs | None = None

    def add_structure(self, found: EqualSets) -> None:
        """What the search by structure found."""
        self.by_structure = found
        if self.pairs:
            for one, other, step in found.edges:
                self._add_pair(one, other, Source(step))
        else:
            self.names = found.names.copy()
            self.pairs = [(one, other, Source(step)) for one, other, step in found.edges]
        self.sets = self.sets.followed_by(found.sets)
        self.sources += [Source(step) for step in found.steps.tolist()]
        self.best = np.minimum(self.best, found.best)

    def add_projection(self, deadline: float) -> None:
        """Pairs in the open parts that only the projection finds, with people known to be equal under one name."""
        assert self.by_structure is not None
        ways, places = self.parts.ways, np.sort(np.concatenate([part.groups for part in self.open]))
        places = places[np.diff(self.by_structure.groups.starts)[places] > 0]
        rows = self.by_structure.groups.chosen(places).renamed(self.names)
        values = Vectors(ways.values, ways.counts, ways.value_starts, int(ways.values.max(initial=-1)) + 1)
        self.by_projection = found = equal_pairs(rows, values.chosen(places), deadline)
        for one, other, weights in found.proven:
            named = {int(places[row]): weight for row, weight in weights.items()}
            self._add_pair(one, other, Source(weights=named))

    def add_exactly(self, part: Component, cut: int, deadline: float) -> int:
        """Search a part exactly if it is small enough; nothing below the size returned was missed in it."""
        found = self.parts.search(part, self.below, self.best, deadline)
        if found is not None:
            self._add(part, found)
        if found is None or found.bound < self.below:
            self.open.append(part)
        else:
            self.exact += 1
        return max(cut, 1 if found is None else found.bound)

    def _add(self, part: Component, found: ExactSets) -> None:
        for columns in found.classes:
            members = [int(self.parts.members(part.trajectories[[column]])[0][0]) for column in columns.tolist()]
            for column, member in zip(columns.tolist()[1:], members[1:], strict=True):
                sides = np.zeros(part.trajectories.size, dtype=np.int64)
                sides[[columns[0], column]] = 1, -1
                self._add_pair(members[0], member, Source(part=part, sides=sides))
        for sides in found.sides:
            self.add_sides(part, sides)

    def add_sides(self, part: Component, sides: Ints) -> None:
        """An attack on a part, by how often the people of each of its trajectories take part."""
        used = np.flatnonzero(sides)
        members = self.parts.members(part.trajectories[used])
        places = np.concatenate(members)
        counts = np.repeat(sides[used], [each.size for each in members])
        source = Source(part=part, sides=sides)
        vector = Vectors.summed(np.zeros(places.size, dtype=np.int64), places, counts, 1, self.names.size)
        size = int(vector.norms[0]) // 2
        self.best[places] = np.minimum(self.best[places], size)
        if size == 1:
            self._add_pair(int(vector.places[0]), int(vector.places[1]), source)
        else:
            self.sets = self.sets.followed_by(vector)
            self.sources.append(source)

    def _add_pair(self, one: int, other: int, source: Source) -> None:
        first, second = int(self.names[one]), int(self.names[other])
        if first != second:
            self.names[self.names == max(first, second)] = min(first, second)
            self.pairs.append((one, other, source))
            self.best[[one, other]] = 1

    def equalities(self, bound: int | None) -> Equalities:
        """With equal people under one name, without sets that hold smaller ones."""
        sets = self._renamed()
        np.minimum.at(self.best, sets.places, np.where(sets.norms > 0, sets.norms // 2, FAR)[sets.which])
        together = np.bincount(self.names, minlength=self.names.size)
        self.best = np.where(together[self.names] > 1, 1, self.best)
        order = np.argsort(sets.norms, kind="stable")
        order = order[sets.norms[order] > 2]
        order = order[sets.chosen(order).distinct()]
        sets = sets.chosen(order)
        alone = np.flatnonzero(~holds_another(sets.places, sets.counts, sets.starts, *sets.across, sets.norms))
        return Equalities(
            self.parts,
            self.below,
            self.names,
            self.pairs,
            sets.chosen(alone),
            [self.sources[at] for at in order[alone].tolist()],
            self.best,
            bound,
            self.certified,
            self.exact,
            len(self.open),
            self.together,
            self.by_structure,
            self.by_projection,
        )

    def _renamed(self) -> Vectors:
        """The sets with equal people under one name; where that leaves two people, they are equal too."""
        while True:
            sets, _ = self.sets.renamed(self.names).reduced()
            two = np.flatnonzero(sets.norms == 2)
            if not two.size:
                return sets
            for at in two.tolist():
                one, other = sets.places[sets.starts[at] : sets.starts[at + 1]].tolist()
                self._add_pair(one, other, self.sources[at])
