"""The judgement of one release of sets: form, truth, the rule of change, draws; and what is remembered of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Bools, Ints
from reissue.errors import count_of
from reissue.guarantees.series.carried_draws import Carried, Single, beside, unlikely_beside
from reissue.guarantees.series.last_sets import UNKNOWN, LastSets, Step, digests_of, marks_of, numbers_of
from reissue.guarantees.series.record_draws import (
    DrawnRecords,
    beyond_columns,
    dependent_records,
    misshapen_records,
    unlikely_records,
    unsound_records,
)
from reissue.guarantees.series.set_draws import PAIRED, Drawn, unlikely
from reissue.guarantees.series.set_forms import beyond, crowded, misshapen, unsound
from reissue.guarantees.series.set_moves import Moved, unlikely_moves
from reissue.guarantees.series.set_renewals import (
    Returned,
    cell_of,
    flipped,
    from_versions,
    impossible_moves,
    redrawn,
    shares_by_cell,
)
from reissue.guarantees.series.set_spells import Former, Spell, dependent, former, in_common, single_in_common
from reissue.model.change import Change, Rates, Renewal, Static, Transitions, change_from_dict
from reissue.model.design import Design
from reissue.model.sets import PublishedSets, Sets
from reissue.model.snapshot import smallest_unsigned
from reissue.reasoning.alternatives.set_probabilities import probability_given
from reissue.reasoning.alternatives.tail_bounds import allowed, surprise

ERROR = 1e-6
"""The probability of a false alarm in a release, at most.

Half of it for draws, a tenth each for versions, old sets that come again, the order of lives and draws beside permanent
values, a twentieth for what depends on sets before; coins have a thousandth.
"""


@dataclass(frozen=True)
class Promised:
    """What a release is judged by."""

    m: int
    largest: Fraction
    """The largest posterior of a value that is not harmless."""
    harmless: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    """Values without a limit; by column where several are sensitive."""
    permanent: tuple[str, ...]
    change: Change | None
    """The rule of change that the release must state; None: any."""
    columns: Mapping[str, Fraction] = field(default_factory=dict)
    """The limit of each sensitive column, where several are."""


@dataclass(frozen=True)
class Found:
    """What was found in one release."""

    number: int
    sets: int
    worst: float
    """The largest posterior of a value that has a limit."""
    problems: tuple[str, ...]
    violations: int
    """How many sets, values or people are not as they should be; one for each test of draws that fails."""


def judge(promised: Promised, release: PublishedSets, before: LastSets, secret: Sets | None) -> tuple[Found, LastSets]:
    """Judge a release by everybody's last set; also everybody's last set with it."""
    judging = _Judging(promised, release, before, secret)
    return judging.found(), judging.remembered()


class _Judging:
    """The judgement of one release. Rows are sets; `again` are those of people who were published before."""

    def __init__(self, promised: Promised, release: PublishedSets, before: LastSets, secret: Sets | None) -> None:
        self._promised, self._release, self._secret = promised, release, secret
        self._designs, self._design = release.designs, release.design
        labels = self._designs.labels
        self._labels = numbers_of(labels)
        self._columns = _columns(release, len(labels))
        self._marks = marks_of(self._columns, np.append(self._labels, np.uint64(0)), ordered=self._designs.linked)
        self._used = np.flatnonzero(np.bincount(release.design)).tolist()
        digests = digests_of(self._designs, self._labels)
        self._known = np.isin(digests, before.designs)
        self._before = before.with_labels(self._labels, digests)
        self._twice = _in_several_rows(release.people)
        self._place = before.rows_of(release.people)
        self._again = np.flatnonzero(self._place >= 0)
        self._row = self._place[self._again]
        self._own = None if secret is None else secret.own
        names = np.array([str(label) for label in labels])
        self._permanent = np.isin(names, promised.permanent) if promised.permanent else np.zeros(names.size, np.bool_)
        values = () if isinstance(promised.harmless, Mapping) else promised.harmless
        self._harmless = np.isin(names, values) if values else np.zeros(names.size, np.bool_)
        self._change = Static() if self._designs.change is None else change_from_dict(self._designs.change)
        rate = self._change.rate if isinstance(self._change, Renewal) and before.steps else 0.0
        limit = float(promised.largest)
        self._step = Step(release.number, rate, max(self._designs.version), promised.m, limit)
        self._steps = np.zeros(release.number + 1, dtype=np.int64)
        for at, step in enumerate((*before.steps, self._step)):
            self._steps[step.number] = at
        self._wealth = before.wealth
        self._spells: list[Spell] = []
        self._formers: list[Former] = []
        self._problems: list[str] = []
        self._violations = 0

    def found(self) -> Found:
        """What is found."""
        over, worst = self._beyond()
        self._note(over, f"{count_of(over, 'value takes', 'values take')} more slots than the limit allows.")
        if self._readable():
            sound = self._forms() & self._truth()
            self._rule()
            self._draws(sound)
        rows = self._release.people.size
        return Found(self._release.number, rows, worst, tuple(self._problems), self._violations)

    def _beyond(self) -> tuple[int, float]:
        """How many values are beyond their limit by the designs, and the largest posterior of any that has one."""
        if bool(self._designs.columns) != bool(self._promised.columns):
            self._note(1, "The release has sets of records, or of values, and the other is promised.")
            return 0, 1.0
        if not self._designs.columns:
            return beyond(self._designs, self._used, self._promised.largest, self._harmless)
        harmless = self._promised.harmless if isinstance(self._promised.harmless, Mapping) else {}
        return beyond_columns(self._designs, self._used, self._promised.columns, harmless)

    def remembered(self) -> LastSets:
        """Everybody's last set; of somebody who is there twice, which is told, the last one."""
        keeps = (self._designs.linked or self._permanent.any()) and len(self._columns) == self._promised.m
        place, people = self._place, self._release.people
        some = isinstance(self._change, Renewal) and self._own is not None and not keeps and len(self._columns) > 0
        rows: Ints | slice = slice(None)
        if self._twice:
            people, rows = np.unique(people, return_index=True)
            place = place[rows]
        return self._before.after(
            place,
            people,
            None if self._own is None else self._own[rows],
            self._design[rows],
            self._marks[rows],
            self._columns[:, rows] if keeps else None,
            self._step,
            self._wealth,
            self._columns[:, rows] if some else None,
        )

    def _note(self, count: int, words: str) -> None:
        if count:
            self._problems.append(words)
            self._violations += count

    # Form and truth

    def _readable(self) -> bool:
        """Whether rows can be looked at one by one."""
        promised = self._promised.change
        if promised is not None and self._change.to_dict() != promised.to_dict():
            self._note(1, "The release states another rule of change than is promised.")
        if isinstance(self._change, Rates | Transitions) and not self._designs.linked:
            self._note(1, "Values change by a table, and sets are not linked lives.")
        self._note(self._twice, f"{count_of(self._twice, 'person is', 'people are')} in more than one row.")
        if bool(self._designs.columns) != bool(self._promised.columns):
            return False
        if self._designs.columns:
            wrong = unsound_records(self._designs, self._used, self._promised.m, lambda at: not self._known[at])
        else:
            wrong = unsound(self._designs, self._used, self._promised.m)
        for words in wrong:
            self._note(1, words)
        count, slots = self._release.people.size, len(self._columns)
        if slots != self._promised.m:
            self._note(count, f"{count_of(count, 'set')} with {slots} slots instead of {self._promised.m}.")
        return bool(count) and not self._twice and not wrong and slots == self._promised.m

    def _forms(self) -> Bools:
        """Which sets have the form that their design says."""
        sound = np.ones(self._release.people.size, dtype=np.bool_)
        carried = None
        if self._permanent.any():
            carried = np.zeros(sound.size, dtype=np.bool_)
            carried[self._again] = self._marks[self._again] != self._before.mark[self._row]
        moved = self._place >= 0 if self._designs.linked else None
        for at, rows in self._by_design(sound):
            if self._designs.columns:
                broken, wrong = misshapen_records(self._designs.of_records[at], self._own_numbers(at, rows))
                for count, words in wrong:
                    self._note(count, f"{count_of(count, 'set')} {words}.")
                sound[rows] &= ~broken
                continue
            broken, wrong = misshapen(
                self._designs.of_values[at],
                self._designs.places[at],
                len(self._designs.labels),
                self._columns[:, rows],
                linked=self._designs.linked,
                carried=None if carried is None else carried[rows],
                moved=None if moved is None else moved[rows],
                room=self._designs.most(at),
            )
            for count, words in wrong:
                self._note(count, f"{count_of(count, 'set')} {words}.")
            sound[rows] &= ~broken
        return sound

    def _truth(self) -> Bools:
        """Which sets have the true value, as far as it is known."""
        inside = np.full(self._release.people.size, self._own is None)
        if self._own is None:
            return inside
        own = self._own.astype(self._columns.dtype)
        for column in self._columns:
            inside |= column == own
        missing = int(np.count_nonzero(~inside))
        self._note(missing, f"{count_of(missing, 'set')} without the true value.")
        return inside

    def _by_design(self, chosen: Bools) -> list[tuple[int, Ints | slice]]:
        """For each design that is used its rows, of those chosen; all of them as a slice, which copies nothing."""
        if len(self._used) == 1 and chosen.all():
            return [(self._used[0], slice(None))]
        order = np.flatnonzero(chosen)
        order = order[np.argsort(self._design[order], kind="stable")]
        ends = np.searchsorted(self._design[order], self._used, side="right").tolist()
        spans = zip(self._used, [0, *ends], ends, strict=False)
        return [(at, order[begin:end]) for at, begin, end in spans if begin < end]

    # The rule of change

    def _rule(self) -> None:
        """Whether sets are kept and renewed as they should be."""
        before, again, row = self._before, self._again, self._row
        self._holding = self._permanent_values()
        if not again.size:
            return
        every = before.designs
        number = np.searchsorted(np.unique(every), every)  # equal designs count as one, whichever a row names
        same_design = number[self._design[again]] == number[before.design[row]]
        same = same_design & (self._marks[again] == before.mark[row])
        if self._designs.linked:
            self._lives()
        elif isinstance(self._change, Static):
            self._static(same)
        elif self._secret is not None and self._own is not None:
            own = self._own[again].astype(np.int64)
            since = self._steps[before.release[row]]
            design = self._design[again].astype(np.int64)
            back = Returned(own, before.own[row] == own, self._secret.drawn[again], design, since)
            stale = int(np.count_nonzero((before.own[row] != UNKNOWN) & ~back.same_own & ~back.drawn))
            keep = count_of(stale, "person keeps", "people keep")
            self._note(stale, f"{keep} the set of a value that they no longer have.")
            other = int(np.count_nonzero(~back.drawn & ~same))
            have = count_of(other, "person has", "people have")
            self._note(other, f"{have} another set than before, though none was drawn for them.")
            found, self._wealth = flipped(back, self._designs, before, self._step, self._permanent)
            found += from_versions(back, self._designs, before, self._step, self._permanent, ERROR / 10)
            found += self._repeats(back, same, same_design)
            for words in found:
                self._note(1, words)

    def _static(self, same: Bools) -> None:
        moved = int(np.count_nonzero(~same))
        have = count_of(moved, "person has", "people have")
        self._note(moved, f"{have} another set than before, and values are static.")
        if self._own is not None:
            last = self._before.own[self._row]
            changed = int(np.count_nonzero((last != UNKNOWN) & (last != self._own[self._again])))
            have = count_of(changed, "person has", "people have")
            self._note(changed, f"{have} another value than before, and values are static.")

    def _permanent_values(self) -> Bools:
        """Whose last set had permanent values; says who lost one."""
        again, row, slots = self._again, self._row, self._before.slots
        holding, lost = np.zeros(again.size, dtype=np.bool_), np.zeros(again.size, dtype=np.bool_)
        if slots is None or not self._permanent.any():
            return holding
        permanent = np.zeros(self._before.labels.size + 1, dtype=np.bool_)
        permanent[: self._permanent.size] = self._permanent
        for column in slots:
            value = column[row]
            mine = np.flatnonzero(permanent[value])
            there = np.zeros(mine.size, dtype=np.bool_)
            for now in self._columns:
                there |= now[again[mine]] == value[mine]
            holding[mine] = True
            lost[mine] |= ~there
        count = int(lost.sum())
        self._note(count, f"{count_of(count, 'set')} without a permanent value that the last one had.")
        return holding

    def _lives(self) -> None:
        """Lives move where the chain leads, and the true one with the true value.

        Where that leaves the chain new lives begin. From outside nobody can tell, so that nothing is judged there.
        """
        slots = self._before.slots
        if slots is None or self._secret is None or self._own is None:
            return
        known = self._before.own[self._row] != UNKNOWN
        again, row = self._again[known], self._row[known]
        before, now = slots[:, row], self._columns[:, again]
        own, last = self._own[again].astype(np.int64), self._before.own[row].astype(np.int64)
        length = self._steps[self._step.number] - self._steps[self._before.release[row]]
        away = impossible_moves(last[None], own[None], length, self._designs, self._change)
        begun = self._secret.drawn[again]
        early = int(np.count_nonzero(begun & ~away))
        have = count_of(early, "person has", "people have")
        self._note(early, f"{have} new lives, though the chain leads to where their value went.")
        moved = impossible_moves(before, now, length, self._designs, self._change) & ~begun
        have = count_of(int(moved.sum()), "person has", "people have")
        self._note(int(moved.sum()), f"{have} lives that moved where the chain does not lead.")
        together = begun.copy()
        for one, other in zip(before, now, strict=True):
            together |= (one == last) & (other == own)
        torn = int(np.count_nonzero(~together))
        have = count_of(torn, "person has", "people have")
        self._note(torn, f"{have} a true value in another life than before.")
        sound = np.flatnonzero(~away & ~begun & ~moved & together)
        room = self._designs.most(0)
        if (
            sound.size
            and room.size == len(self._designs.labels)
            and not crowded(room, np.sort(now[:, sound], axis=0)).any()
        ):
            labels = [str(label) for label in self._designs.labels]
            table = self._change.matrix(labels, self._designs.designs[0].shares)
            lives = Moved(before.T[sound], now.T[sound], last[sound], own[sound], length[sound])
            for words in unlikely_moves(lives, table, room, ERROR / 10):
                self._note(1, words)

    # Draws

    def _draws(self, sound: Bools) -> None:
        """Whether new sets are from the design in force, and drawn with its probabilities."""
        if self._secret is None or self._own is None:
            return
        drawn = self._secret.drawn
        if self._again.size < self._place.size:
            new = self._place < 0
            undrawn = int(np.count_nonzero(new & ~drawn))
            self._note(undrawn, f"{count_of(undrawn, 'set')} of newcomers that were not drawn for them.")
            version = np.array(self._designs.version)
            old = int(np.count_nonzero(version[self._design[new]] != version.max()))
            self._note(
                old, f"{count_of(old, 'set')} of newcomers from a version of the reference that is not in force."
            )
        if self._designs.columns:
            self._records(drawn & sound)
            return
        alone = self._by_design_alone()
        jobs = self._by_design(drawn & sound & alone)
        for at, rows in jobs:
            design, places = self._designs.of_values[at], self._designs.places[at]
            columns, own, marks = self._columns[:, rows], self._own[rows], self._marks[rows]
            if places.size < len(self._designs.labels):
                local = self._local(at).astype(smallest_unsigned(len(self._designs.labels)))
                columns, own = local[columns], local[own]
            if self._designs.linked:
                self._order_of_lives(design, columns, own, ERROR / 10 / len(jobs))
                marks = marks_of(columns, self._labels[places], ordered=False)
            part = Drawn(design, columns, own, marks, self._labels[places], places)
            for words in unlikely([part], ERROR / 2 / len(jobs)):
                self._note(1, words)
            self._compare(part, np.arange(drawn.size)[rows])
        if self._permanent.any() and isinstance(self._change, Renewal) and self._before.slots is not None:
            self._draws_beside(drawn & sound & ~alone)
        for words in dependent(self._spells, self._formers, ERROR / 20):
            self._note(1, words)

    def _records(self, drawn: Bools) -> None:
        """The same for sets of records."""
        assert self._own is not None
        jobs = self._by_design(drawn)
        for at, rows in jobs:
            design, sets = self._designs.of_records[at], self._own_numbers(at, rows)
            own = self._numbers(at)[self._own[rows]]
            error = ERROR / 2 / len(jobs)
            found = unlikely_records(DrawnRecords.of(design, sets, own), error)
            every = np.arange(drawn.size)[rows]
            back = np.flatnonzero(self._place[every] >= 0)
            mine, old = self._before.old_sets(self._place[every[back]])
            chosen = mine[:PAIRED]
            before = self._numbers(at)[np.minimum(old.T[: chosen.size], len(self._designs.labels))]
            found += dependent_records(design, before, sets[back[chosen]], own[back[chosen]], error / 5)
            for words in found:
                self._note(1, words)

    def _numbers(self, at: int) -> Ints:
        """For each label its number in a design; -1 for those that it does not have."""
        local = np.full(len(self._designs.labels) + 1, -1, dtype=np.int64)
        local[self._designs.places[at]] = np.arange(self._designs.places[at].size)
        return local

    def _own_numbers(self, at: int, rows: Ints | slice) -> Ints:
        """Some sets as rows of numbers in a design."""
        return np.asarray(self._numbers(at)[self._columns[:, rows]].T)

    def _compare(self, part: Drawn | Single, rows: Ints) -> None:
        """Set those who were published before beside their old sets and values."""
        if not isinstance(self._change, Renewal) or self._own is None:
            return
        back = np.flatnonzero(self._place[rows] >= 0)
        place, own = self._place[rows[back]], self._own[rows[back]].astype(np.int64)
        last = self._before.own[place].astype(np.int64)
        mine, old = self._before.old_sets(place)
        stayed = (last == own)[mine]
        if isinstance(part, Single):
            self._spells.append(single_in_common(part, back[mine], old, stayed))
            return
        self._spells.append(in_common(part, back[mine], old, stayed))
        changed = np.flatnonzero((last != UNKNOWN) & (last != own))[:PAIRED]
        self._formers.append(former(part, back[changed], last[changed]))

    def _draws_beside(self, chosen: Bools) -> None:
        """Whether what stands beside permanent values is drawn as it should be, and what is drawn after absences."""
        mine = np.flatnonzero(chosen[self._again])
        assert self._own is not None
        assert self._before.slots is not None
        rows, row = self._again[mine], self._row[mine]
        version = np.array(self._designs.version)
        old = int(np.count_nonzero(version[self._design[rows]] != version.max()))
        self._note(old, f"{count_of(old, 'new set')} from a version of the reference that is not in force.")
        if old or not rows.size:
            return
        # A law for each cell and gap.
        steps = (*self._before.steps, self._step)
        since, gap = np.unique(self._steps[self._before.release[row]], return_inverse=True)
        cell = np.array(cell_of(self._designs))[self._design[rows]]
        laws = [redrawn(share, steps, since, self._permanent)[1] for share in shares_by_cell(self._designs)]
        values = np.flatnonzero(self._permanent)
        before = self._before.slots[:, row]
        held = np.stack([(before == value).any(axis=0) for value in values], axis=1)
        carried = Carried(
            self._columns[:, rows], self._own[rows].astype(np.int64), held, cell * since.size + gap.ravel()
        )
        judged = beside(carried, np.concatenate(laws), values, self._labels)
        count = judged.strange
        self._note(
            count, f"{count_of(count, 'new set')} without a value that is carried on, or with one that has no share."
        )
        for part in judged.parts:
            self._compare(part.drawn, rows[part.rows])
        for single in judged.singles:
            self._compare(single, rows[single.rows])
        for words in unlikely_beside(judged, len(self._designs.labels), ERROR / 10):
            self._note(1, words)

    def _by_design_alone(self) -> Bools:
        """Whose new set has nothing but a design behind it."""
        alone = np.ones(self._place.size, dtype=np.bool_)
        if self._permanent.any() and self._again.size:
            # Beside values that are carried on, and after longer absences, sets are drawn by other shares.
            plain = np.array([int(design.slots.max()) == 1 for design in self._designs.of_values])
            alone[self._again] = ~self._holding & self._recent() & plain[self._design[self._again]]
            if self._before.slots is None:  # whether they held permanent values is not known
                alone[self._again] = False
        return alone

    def _recent(self) -> Bools:
        """Who was in the release before this one."""
        return np.asarray(self._before.release[self._row] == self._before.steps[-1].number)

    def _local(self, at: int) -> Ints:
        """For each label its number in a design; anything for those that it does not have."""
        local = np.zeros(len(self._designs.labels) + 1, dtype=np.int64)
        local[self._designs.places[at]] = np.arange(self._designs.places[at].size)
        return local

    def _order_of_lives(
        self, design: Design, columns: npt.NDArray[np.integer], own: npt.NDArray[np.integer], error: float
    ) -> None:
        """Whether the true life comes first, or last, more often than others; ascending ones are judged by value."""
        if (columns[1:] > columns[:-1]).all():
            return
        seen = np.array([np.count_nonzero(column == own) for column in columns])
        expected = float(design.slots[own].sum()) / design.m
        if surprise(seen, own.size, expected).max() > allowed(error, seen.size):
            self._note(1, "The order of lives tells which is true.")

    def _repeats(self, back: Returned, same: Bools, same_design: Bools) -> list[str]:
        """Whether new sets for a value that stayed are the old ones more often than by chance."""
        if self._designs.columns:
            return []  # what new sets have in common with old ones is asked beside a second draw
        chosen = back.drawn & back.same_own & same_design & ~self._holding
        slots = self._before.slots
        if self._permanent.any():
            if slots is None:
                return []
            chosen &= self._recent()
        rows = np.flatnonzero(chosen)
        used = np.flatnonzero(np.bincount(back.design[rows])).tolist()
        found = []
        for at in used:
            mine = rows[back.design[rows] == at][:PAIRED]
            local = self._local(at)
            # Either of the two could be given, unless old ones are looked at for not having permanent values.
            given = self._columns[:, self._again[mine]] if slots is None else slots[:, self._row[mine]]
            expected = probability_given(self._designs.of_values[at], local[given].T, local[back.own[mine]]).sum()
            seen = int(np.count_nonzero(same[mine]))
            if surprise(seen, mine.size, expected) > allowed(ERROR / 10 / len(used), 1):
                found.append(
                    f"{seen:,} of {mine.size:,} new sets for a value that stayed are the old ones, and "
                    f"{expected:,.3g} are expected."
                )
        return found


def _in_several_rows(people: Ints) -> int:
    """How many people are in more than one row."""
    there = np.zeros(int(people.max(initial=-1)) + 1, dtype=np.bool_)
    there[people] = True
    if np.count_nonzero(there) == people.size:
        return 0
    return int((np.bincount(people) > 1).sum())


def _columns(release: PublishedSets, labels: int) -> npt.NDArray[np.integer]:
    """A row for each slot: positions among the labels of the design, or their number for what is none of them."""
    codes = release.codes.T
    if np.array_equal(release.values, np.arange(labels)) and int(codes.max(initial=0)) < labels:
        return codes
    place = np.full(int(max(release.values.max(initial=0), codes.max(initial=0))) + 1, labels, dtype=np.int64)
    place[release.values] = np.arange(labels)
    return place[codes]
