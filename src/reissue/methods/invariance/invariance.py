"""What m-invariance and the methods that build on it share: one release, from the people known to the groups.

Rows fall into three sorts. People published before keep their signature if their value allows it
(*division*). The others arrive. Those whose value has left their signature are held back, or arrive anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.arrays.dense import often
from reissue.arrays.runs import owners
from reissue.arrays.types import Bools, Ints
from reissue.errors import Infeasible, count_of
from reissue.methods.invariance.buckets import BucketCounts
from reissue.methods.invariance.counterfeits import MadeCounterfeits
from reissue.methods.invariance.counts import eligible
from reissue.methods.invariance.value_space import SignatureNumbers, ValueSpace
from reissue.model.grouping import HELD_BACK, Counterfeits, Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.showing import shown
from reissue.model.snapshot import Snapshot, smallest_unsigned
from reissue.reasoning.history.stays import Stays

if TYPE_CHECKING:
    from reissue.kernels.halving import Lines


Shortage = Literal["counterfeit", "withhold", "refuse"]
Changed = Literal["withhold", "reinsert"]
Choice = Literal["random", "near"]

WAITING = "arrivals that are not m-eligible"
CHANGED = "value changed to one outside the signature"


@dataclass
class Round:
    """One release of a series in the making."""

    snapshot: Snapshot
    number: int
    """The number of the release."""
    m: int
    rng: np.random.Generator
    signatures: SignatureNumbers
    space: ValueSpace
    made: MadeCounterfeits
    """The counterfeits of the release before."""
    place: Ints
    """For each row the place of its person among those of the release before; -1 for those who were not in it."""
    before: Ints
    """For each row the signature its person had, -1 for those never published."""
    slot: Ints
    """For each row its slot in the bucket of that signature; -1 where there is none."""
    slot_signature: Ints
    """For each slot of the signatures in use, its signature."""
    slot_value: Ints
    """And its value."""
    held_back: dict[str, Ints] = field(default_factory=dict)
    """Rows held back, by reason."""
    anew: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Rows of people who were published before and arrive as if they were new."""

    @classmethod
    def begin(cls, snapshot: Snapshot, number: int, memory: Memory, m: int, rng: np.random.Generator) -> Round:
        """Look up what is known about the people of a snapshot."""
        stays = Stays.read(memory)
        place = stays.places(snapshot.people)
        before = stays.known_at(place, snapshot.people)
        used = np.flatnonzero(np.bincount(before + 1)[1:])
        space = ValueSpace.of(snapshot.values, [stays.signatures[signature] for signature in used])
        signatures = SignatureNumbers(stays, space)
        orders = [signatures.order(signature) for signature in used.tolist()]
        sizes = np.array([order.size for order in orders], dtype=np.int64)
        # One row more, at the end, for people who were never published.
        table = np.full((used.size + 1, len(space)), -1, dtype=np.int64)
        for row, start, order in zip(table, np.cumsum(sizes) - sizes, orders, strict=False):
            row[order] = start + np.arange(order.size)
        first = np.full(len(stays.signatures) + 1, used.size * len(space), dtype=np.int64)
        first[used] = np.arange(used.size) * len(space)
        return cls(
            snapshot=snapshot,
            number=number,
            m=m,
            rng=rng,
            signatures=signatures,
            space=space,
            made=MadeCounterfeits.read(memory).fitted(snapshot, rng),
            place=place,
            before=before,
            slot=table.ravel()[first[before] + space.rows],
            slot_signature=np.repeat(used, sizes),
            slot_value=np.concatenate([np.empty(0, dtype=np.int64), *orders]),
        )

    def give_up_rows(self) -> None:
        """Forget what was known of rows one by one: they are settled, and a large table has many."""
        self.place = self.before = self.slot = np.empty(0, dtype=np.int64)
        self.space = replace(self.space, rows=self.slot)
        for rows in ("keeping", "arriving"):
            self.__dict__.pop(rows, None)

    def part_changed(self, changed: Changed) -> None:
        """Deal with people whose value is no longer in their signature."""
        rows = np.flatnonzero((self.before >= 0) & (self.slot < 0))
        if changed == "withhold":
            self.hold_back(CHANGED, rows)
        else:
            self.anew = rows

    def hold_back(self, reason: str, rows: Ints) -> None:
        """Do not publish these rows; one that is held back already keeps its reason."""
        for held in self.held_back.values():
            rows = np.setdiff1d(rows, held, assume_unique=True)
        if rows.size:
            self.held_back[reason] = np.sort(rows)
            self.__dict__.pop("keeping", None)
            self.__dict__.pop("arriving", None)

    def _sorted_out(self, rows: Bools) -> Ints:
        """These rows, without those that are held back."""
        for held in self.held_back.values():
            rows[held] = False
        return np.flatnonzero(rows)

    @cached_property
    def keeping(self) -> Ints:
        """The rows of people who keep the signature of before."""
        return self._sorted_out(self.slot >= 0)

    @cached_property
    def arriving(self) -> Ints:
        """The rows of people who need a signature."""
        return self._sorted_out(self.slot < 0)

    def divide(self) -> BucketCounts:
        """Phase one: the buckets of the people who keep their signatures."""
        real = np.bincount(self.slot[self.keeping], minlength=self.slot_signature.size).astype(np.int64)
        # A bucket whose people have all left is gone, and so are its counterfeits.
        used, bucket = np.unique(self.slot_signature, return_inverse=True)
        lives = np.bincount(bucket, weights=real, minlength=used.size)[bucket] > 0
        buckets = BucketCounts(
            m=self.m,
            values=len(self.space),
            signature=self.slot_signature[lives],
            value=self.slot_value[lives],
            real=real[lives],
            arrivals=np.bincount(self.space.rows[self.arriving], minlength=len(self.space)).astype(np.int64),
        )
        _, slots = self._slots_of_made(buckets)
        np.add.at(buckets.before, slots, 1)
        return buckets

    def _slots_of_made(self, buckets: BucketCounts) -> tuple[Ints, Ints]:
        """The counterfeits of the release before whose buckets live, and the slot of each."""
        start = buckets.slots_from(self.made.signature)
        there = np.flatnonzero(start >= 0)
        return there, start[there] + self.made.place[there]

    def assign(self, buckets: BucketCounts, shortage: Shortage, *, least: int = 1) -> None:
        """Phase three: buckets for the arrivals that balancing did not use; what to do if they are not m-eligible."""
        fits = eligible(buckets.arrivals, self.m)
        if fits:
            buckets.join()
        if buckets.crowded and (fits or shortage == "counterfeit"):
            # What remained of an eligible batch might not be: then somebody would wait for having a certain value.
            buckets.cover(partly=shortage == "counterfeit")
        if not buckets.arrivals.any():
            return
        if eligible(buckets.arrivals, self.m):
            buckets.assign(np.zeros(buckets.values, dtype=np.int64), self.signatures, least)
            return
        if shortage == "refuse":
            left, largest = int(buckets.arrivals.sum()), int(buckets.arrivals.max())
            raise Infeasible(
                f"The arrivals are not {self.m}-eligible: of {count_of(left, 'row')} that balancing did not use, "
                f"{largest:,} have the same sensitive value, and at most one in {self.m} may.",
                hint='lower m, publish when more people have arrived, or set shortage = "counterfeit" or "withhold".',
            )
        if shortage == "counterfeit":
            familiar = np.bincount(self.space.rows, minlength=buckets.values).astype(np.int64)
            np.maximum.at(familiar, buckets.value, 1)
            added = buckets.complete(familiar)
            if added is None:
                raise self.too_few_values()
            buckets.assign(added, self.signatures, least)

    def too_few_values(self) -> Infeasible:
        """Nothing can be published with so few different values."""
        distinct = int(np.unique(self.space.rows).size)
        return Infeasible(
            f"The table has {count_of(distinct, 'distinct sensitive value')}; m = {self.m} needs at least {self.m}.",
            hint="lower m, or publish when there are more values.",
        )

    def settle(self, buckets: BucketCounts, choice: Choice) -> Settled:
        """Move the rows: every arrival to a bucket or back to wait; counterfeits kept, dropped and made."""
        signature = np.full(len(self.snapshot), HELD_BACK, dtype=np.int64)
        keeping = self.keeping
        signature[keeping] = self.before[keeping]
        rows, slots = self._placed(buckets, choice)
        signature[rows] = buckets.signature[slots]
        del rows, slots
        arriving = self.arriving
        self.hold_back(WAITING, arriving[signature[arriving] == HELD_BACK])
        self.anew = self.anew[signature[self.anew] != HELD_BACK]
        if (signature == HELD_BACK).all():
            raise Infeasible(
                f"Nobody can be published: {count_of(len(self.snapshot), 'row')} would all be withheld.",
                hint='publish when more people have arrived, lower m, or set shortage = "counterfeit".',
            )
        return Settled(self, signature, *self._counterfeits(buckets, signature))

    def _placed(self, buckets: BucketCounts, choice: Choice) -> tuple[Ints, npt.NDArray[np.integer]]:
        """Which arrival goes to which slot: of each value as many as planned, at random or evenly along a curve."""
        rows = self.rng.permutation(self.arriving)
        value = self.space.rows[rows].astype(smallest_unsigned(buckets.values))
        have = often(value, buckets.values)
        rows = rows[np.argsort(value, kind="stable")]
        slot_by_value = np.argsort(buckets.value, kind="stable")
        slots = np.repeat(slot_by_value.astype(np.int32), buckets.fresh[slot_by_value])
        need = np.bincount(buckets.value, buckets.fresh, minlength=buckets.values).astype(np.int64)
        # The first rows of each value go to its slots; rows beyond them wait, whoever that is.
        if (need < have).any():
            rank = np.arange(rows.size) - np.repeat(np.cumsum(have) - have, have)
            rows = rows[rank < np.repeat(need, have)]
        return (rows, slots) if choice == "random" else self._along_a_curve(rows, slots, buckets)

    def _along_a_curve(
        self, rows: Ints, slots: npt.NDArray[np.integer], buckets: BucketCounts
    ) -> tuple[Ints, npt.NDArray[np.integer]]:
        """Both in the order of values, and within a value so that every bucket gets rows at even distances.

        Then the i-th rows of all values of a bucket lie near each other. Where a bucket begins is drawn at random.
        """
        from reissue.kernels.curve import near_order
        from reissue.methods.invariance.splitting import QuasiSpace

        space = QuasiSpace.of(self.snapshot.quasi, self.snapshot.schema)
        cells = space.cells([column.codes[rows] for column in self.snapshot.quasi])
        rows = rows[near_order(cells, self.space.rows[rows].astype(np.int64), space.lines, self.rng)]
        rows = rows[np.argsort(self.space.rows[rows], kind="stable")]
        first = buckets.spread(self.rng.random(buckets.starts.size))
        run = np.concatenate([[0], np.flatnonzero(np.diff(slots)) + 1]).astype(np.int64)[: slots.size]
        within = np.arange(slots.size) - np.repeat(run, np.diff(run, append=slots.size))
        distance = (within + first[slots]) / np.maximum(buckets.fresh[slots], 1)
        return rows, slots[np.lexsort((distance, buckets.value[slots]))]

    def _kept(self, buckets: BucketCounts) -> tuple[Ints, Ints]:
        """The counterfeits of the release before that stay, the oldest of each slot, and the slot of each."""
        there, slot = self._slots_of_made(buckets)
        order = np.lexsort((self.made.number[there], slot))
        there, slot = there[order], slot[order]
        rank = np.arange(slot.size) - np.searchsorted(slot, slot)
        stay = rank < buckets.kept[slot]
        return there[stay], slot[stay]

    def dropped(self, buckets: BucketCounts) -> Ints:
        """The counterfeits of the release before that leave buckets which live on."""
        there, _ = self._slots_of_made(buckets)
        return np.setdiff1d(there, self._kept(buckets)[0], assume_unique=True)

    def _counterfeits(self, buckets: BucketCounts, published: Ints) -> tuple[MadeCounterfeits, Ints]:
        """The counterfeits of this release, and the value of each."""
        old, slot = self._kept(buckets)
        fresh = owners(buckets.made)
        place = np.arange(buckets.signature.size) - buckets.spread(buckets.starts)
        made = self.made.only(old).and_new(
            buckets.signature[fresh], place[fresh], self.number, self.snapshot, published, self.rng
        )
        return made, buckets.value[np.concatenate([slot, fresh])]


class SplitRows(NamedTuple):
    """The rows that a release shows, people before counterfeits, in buckets that have been split."""

    people: Ints
    """The number of each person, below 0 for a counterfeit."""
    bucket: npt.NDArray[np.integer]
    value: npt.NDArray[np.integer]
    """The code of each row's value; its own within the release."""
    cells: npt.NDArray[np.unsignedinteger]
    """The places of each row along the lines."""
    lines: Lines
    group: npt.NDArray[np.int32]
    """The groups, numbered bucket after bucket, those near each other in space with numbers near each other."""
    groups: int
    """How many there are."""


@dataclass(frozen=True)
class Settled:
    """One release whose people and counterfeits are in their buckets."""

    round: Round
    signature: Ints
    """For each row the signature of its bucket, -1 for rows held back."""
    made: MadeCounterfeits
    """The counterfeits."""
    made_value: Ints
    """The place of each one's value."""

    def memory(self) -> Remembered:
        """What to know again at the next release: everybody's stays, this release included, and the counterfeits."""
        held = self.signature == HELD_BACK
        published: Ints | slice = np.flatnonzero(~held) if held.any() else slice(None)
        people = self.round.snapshot.people[published]
        stays, _ = self.round.signatures.stays.advance(self.round.number, people, self.signature[published])
        return {**stays.tables(), "counterfeits": self.made.table()}

    def merged(self) -> Grouping:
        """One group for each bucket."""
        used = np.flatnonzero(np.bincount(self.signature[self.signature != HELD_BACK]))
        # One place more, at the end, for rows that are held back.
        group = np.full(int(used[-1]) + 2, HELD_BACK, dtype=np.int64)
        group[used] = np.arange(used.size)
        return self._grouping(group[self.signature], group[self.made.signature], used.size)

    def split(self) -> Grouping:
        """Phase four: groups in which every value of the signature occurs once."""
        parts = self.parts()
        return self.grouped(parts.group, parts.groups)

    def parts(self) -> SplitRows:
        """The buckets, split into groups in which every value of the signature occurs once."""
        from reissue.methods.invariance.splitting import QuasiSpace, split

        snapshot, buckets = shown(self.round.snapshot, self.merged())
        space = QuasiSpace.of(snapshot.quasi, snapshot.schema)
        cells = space.cells([column.codes for column in snapshot.quasi])
        value = snapshot.values.codes
        group, count = split(cells, buckets.group, value, space.lines, self.round.rng)
        return SplitRows(snapshot.people, buckets.group, value, cells, space.lines, group, count)

    def with_made(self, signature: Ints, place: Ints, rows: Ints) -> Settled:
        """With further counterfeits, whose quasi-identifiers are like those of these rows of the snapshot."""
        if not signature.size:
            return self
        release = self.round
        donors = np.flatnonzero(self.signature != HELD_BACK)
        made = self.made.and_like(signature, place, release.number, release.snapshot, rows, donors, release.rng)
        orders = {number: release.signatures.order(number) for number in np.unique(signature).tolist()}
        values = [orders[number][at] for number, at in zip(signature.tolist(), place.tolist(), strict=True)]
        return replace(self, made=made, made_value=np.concatenate([self.made_value, values]))

    def grouped(self, group: npt.NDArray[np.integer], count: int) -> Grouping:
        """The groups of the rows that are shown, people before counterfeits, as a grouping of the snapshot."""
        real = np.flatnonzero(self.signature != HELD_BACK)
        of_rows = np.full(self.signature.size, HELD_BACK, dtype=np.int64)
        of_rows[real] = group[: real.size]
        return self._grouping(of_rows, group[real.size :], count)

    def _grouping(self, group: npt.NDArray[np.integer], of_made: npt.NDArray[np.integer], count: int) -> Grouping:
        made = None
        if len(self.made):
            values = self.round.space.decode(self.made_value).alias(self.round.snapshot.values.name)
            made = Counterfeits(self.made.number, of_made.astype(np.int32), self.made.cells.with_columns(values))
        return Grouping(group.astype(np.int32), count, made, self.round.held_back, self.round.anew)
