"""What following people through their sets leaves of their secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.dense import numbered
from reissue.arrays.types import Bools, Bytes, Codes, Floats, Ints
from reissue.attacks.base import POSTERIORS, Finding, Findings, Judgement, Kind, Limits, together
from reissue.attacks.figures import EXACT, KINDS, RISKS, SAMPLED, Figures, called, limit_told
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import tied_to, tied_together
from reissue.attacks.tracking import tracking_witness
from reissue.attacks.tracking.tracking_columns import ColumnTracking
from reissue.attacks.tracking.tracking_limits import OwnLimits
from reissue.errors import ParameterError, count_of
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.reasoning.alternatives.rate_check import RateFit
from reissue.reasoning.alternatives.set_histories import Histories
from reissue.reasoning.alternatives.smoothing import rounding

NEAR = 1e-9
"""So near must sums come to slots / m to be taken for it, where theory says that they are."""
FAR = 1.5
"""A declared rate counts as too large where it is so many times what the sets look like at most."""
CHUNK = 1 << 14
"""So many rows are worked on at once."""
EXPLAINED = 50
"""So many people at most have their derivation among the witnesses."""


def _chunks(count: int) -> Iterator[slice]:
    return (slice(begin, min(begin + CHUNK, count)) for begin in range(0, count, CHUNK))


@dataclass(frozen=True, repr=False)
class Followed:
    """How likely each value of each row is, and how sure that is."""

    histories: Histories
    posterior: Floats
    """(rows, width)"""
    lost: Bools
    """By person: whether their rows contradict the model."""
    sole: Bools
    """By row: whether one value only is possible."""
    agrees: bool
    """Whether the adversary's model is the declared one, for which the figures are known to be slots / m."""
    known: Ints | None = None
    """For each row the value that was known beforehand, or -1."""
    open: Bools | None = None
    """By person: whether they were too many to work out."""
    tied: Bools | None = None
    """By person: whether others of their household count."""
    taken: Ints | None = None
    """(rows, width): how many slots each value takes, where that is not what its design says: lives at one value."""

    def __repr__(self) -> str:
        return f"Followed({self.histories.people.size:,} people)"

    @cached_property
    def limits(self) -> Floats:
        """(designs, values): slots / m, the limit that each value has by its design."""
        return np.asarray(self.histories.slots / self.histories.m[:, None])

    @cached_property
    def harmless(self) -> Bools:
        """(designs, values): the values without a limit, which take all slots."""
        return np.asarray(self.histories.slots >= self.histories.m[:, None])

    def furthest(self, limits: Floats) -> tuple[Ints, Ints]:
        """For each person the row and the place of the value that is furthest above what it may have.

        `limits` says that by design and value, but for harmless ones. Who has no other gets a place without a value.
        """
        histories = self.histories
        scale = np.where(self.harmless, -1.0, 1 / limits)
        top, place = np.empty(len(self.posterior)), np.empty(len(self.posterior), dtype=np.int64)
        for rows in _chunks(top.size):
            chance = self.posterior[rows] * scale[histories.design[rows, None], histories.codes[rows]]
            place[rows] = chance.argmax(axis=1)
            top[rows] = chance.max(axis=1)
        highest = np.maximum.reduceat(top, histories.starts[:-1])
        reached = np.flatnonzero(top == highest[histories.owner])
        first = reached[np.searchsorted(reached, histories.starts[:-1])]
        return first, place[first]

    @cached_property
    def compromised(self) -> Bools:
        """By person: whether their value was known beforehand."""
        if self.known is None:
            return np.zeros(self.lost.size, dtype=np.bool_)
        return np.bincount(self.histories.owner, self.known >= 0, minlength=self.lost.size) > 0

    @cached_property
    def exact(self) -> Bools:
        """By row: whether every value has exactly its slots / m, by theory and by sums."""
        if not self.agrees or self.histories.factor > 1:
            return np.zeros(len(self.posterior), dtype=np.bool_)
        histories = self.histories
        off = np.empty(len(self.posterior), dtype=np.bool_)
        for rows in _chunks(off.size):
            codes = histories.codes[rows]
            away = np.abs(self.posterior[rows] - self._expected(rows, codes))
            off[rows] = np.where(codes >= 0, away, 0.0).max(axis=1) > NEAR
        strays = np.logical_or.reduceat(off, histories.starts[:-1]) | self.lost | self.compromised
        return np.asarray(~strays[histories.owner])

    def _expected(self, rows: slice, codes: Codes) -> Floats:
        """What values of rows have by the declared model: slots / m, or as many of the m lives as are there."""
        if self.taken is not None:
            return np.asarray(self.taken[rows] / self.histories.m[self.histories.design[rows, None]])
        return np.asarray(self.limits[self.histories.design[rows, None], codes])

    @cached_property
    def margin(self) -> Floats:
        """By row: how far figures that are not exact may be off, relative to them.

        Where sets of records were drawn again, by the factor that their design states; by anybody's own model that is
        once for each of a person's sets, by the declared one their sets tell nothing of each other.
        """
        lengths = np.diff(self.histories.starts)
        rounded = np.array(
            [rounding(int(length), self.posterior.shape[1]) for length in range(lengths.max(initial=0) + 1)]
        )[lengths]
        if not self.agrees and self.histories.taken is not None:
            rounded += np.expm1(np.add.reduceat(np.log1p(self.histories.doubt), self.histories.starts[:-1]))
        if self.histories.factor > 1:
            sets = np.add.reduceat(~self.histories.kept, self.histories.starts[:-1])
            rounded += self.histories.factor ** (1 if self.agrees else sets) - 1
        return np.asarray(rounded[self.histories.owner])

    @cached_property
    def open_people(self) -> Bools:
        """By person: of whom nothing is known."""
        return self.lost if self.open is None else self.lost | self.open


class TrackingFindings(Findings):
    """What is known of everybody's value at each time."""

    attack: ClassVar[str] = "Tracking"

    def __init__(
        self,
        published: Published,
        knowledge: Knowledge,
        followed: Followed | None,
        *,
        model: str,
        fits: tuple[RateFit, ...] = (),
        estimated: bool = False,
        groups: int = 0,
    ) -> None:
        self.published, self.knowledge, self.followed = published, knowledge, followed
        self.model = model
        """The model of change in a few words."""
        self.fits = fits
        """For each declared rate what the sets look like."""
        self._estimated, self._groups = estimated, groups
        self.searched = tuple(self._searched())
        self.undecided = tuple(self._undecided())

    def __repr__(self) -> str:
        people = 0 if self.followed is None else self.followed.histories.people.size
        return f"TrackingFindings({people:,} people, {len(self.certain):,} certain)"

    def _need(self) -> Followed:
        if self.followed is None:
            raise ParameterError(
                "There is nothing to follow: the releases show no sets of values.",
                hint="for groups say how values change: Tracking(change=0.1).",
            )
        return self.followed

    # Figures

    @cached_property
    def _kind(self) -> Bytes:
        return np.asarray([SAMPLED if self._estimated else EXACT], dtype=np.int8)

    def _figures(self, rows: Ints, places: Ints) -> Figures:
        """Some values of some rows."""
        followed = self._need()
        chance, margin = followed.posterior[rows, places], followed.margin[rows]
        exact = followed.exact[rows]
        codes, design = followed.histories.codes[rows, places], followed.histories.design[rows]
        taken = followed.histories.slots[design, codes] if followed.taken is None else followed.taken[rows, places]
        slots = np.where(codes >= 0, taken, 0)
        most = int(slots.max(initial=0)) + 1
        keys, which = numbered((design * most + slots)[exact])
        at = np.full(rows.size, -1, dtype=np.int64)
        at[exact] = which
        fractions = [Fraction(key % most, int(followed.histories.m[key // most])) for key in keys.tolist()]
        chance = np.where(exact, slots / followed.histories.m[design], chance)
        low = np.where(exact, chance, chance * (1 - margin))
        high = np.where(exact, chance, np.minimum(chance * (1 + margin), 1.0))
        if self._estimated:
            low, high = np.zeros(rows.size), np.ones(rows.size)
        kind = np.repeat(self._kind, rows.size)
        return Figures(kind, chance, low, high, np.full(rows.size, np.nan), at, at, fractions)

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """How likely each value of each set is, in its `release`; nothing for those whose sets contradict the model."""
        person = pl.Int64 if self.published.people is None else pl.String
        empty = pl.DataFrame(schema={**POSTERIORS, "person": person, "release": pl.Int64})
        if self.followed is None:
            return empty
        histories = self.followed.histories
        shown = (histories.codes >= 0) & ~self.followed.open_people[histories.owner][:, None]
        rows, places = np.nonzero(shown & (self.followed.posterior > 0))
        if not rows.size:
            return empty
        values = pl.Series([str(value) for value in self.published.values], dtype=pl.String)
        return self._figures(rows, places).posteriors(
            called(self.published, histories.people[histories.owner[rows]]),
            values.gather(histories.codes[rows, places]),
            np.arange(rows.size),
            release=pl.Series(histories.numbers[histories.release[rows]]),
        )

    @cached_property
    def _worst(self) -> tuple[Ints, Ints]:
        """For each person the row and the place of their likeliest value that has a limit."""
        return self._need().furthest(np.ones(self._need().limits.shape))

    @cached_property
    def risks(self) -> pl.DataFrame:
        """For each person the largest probability of any value with a limit, at any time."""
        if self.followed is None:
            return pl.DataFrame(schema=RISKS)
        told = np.flatnonzero(~self.followed.open_people)
        rows, places = (one[told] for one in self._worst)
        return self._figures(rows, places).risks(self.followed.histories.people[told], np.arange(told.size))

    def probability(self, person: str | int, value: object, release: int) -> Fraction | float:
        """How likely a value was somebody's in a release: a fraction where that is exact."""
        followed = self._need()
        histories, number = followed.histories, self.published.number(person)
        at = int(np.searchsorted(histories.people, number))
        if at == histories.people.size or histories.people[at] != number:
            raise ParameterError("There is no such person in the view.", hint="people are called as in the view.")
        rows = np.arange(*histories.starts[at : at + 2])
        there = rows[histories.numbers[histories.release[rows]] == release]
        if not there.size or value not in self.published.values:
            raise ParameterError("They are not in that release, or no release has such a value.")
        place = np.flatnonzero(histories.codes[there[0]] == self.published.values.index(value))
        if not place.size:
            return Fraction(0)
        figures = self._figures(there[:1], place[:1])
        return figures.exact(0) or float(figures.probability[0])

    @cached_property
    def _sole(self) -> Bools:
        """By row: whether one value only is possible, for somebody who was not known beforehand."""
        followed = self._need()
        owner = followed.histories.owner
        return np.asarray(followed.sole & ~followed.open_people[owner] & ~followed.compromised[owner])

    @property
    def certain(self) -> dict[str | int, object]:
        """The people who can have had one value only in some release, with (the last of) those."""
        if self.followed is None or self._estimated:
            return {}
        followed = self.followed
        found: dict[str | int, object] = {}
        for row in np.flatnonzero(self._sole).tolist():
            person = int(followed.histories.people[followed.histories.owner[row]])
            place = int(followed.posterior[row].argmax())
            found[self.published.name(person)] = self.published.values[int(followed.histories.codes[row, place])]
        return found

    # Witnesses and judgement

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why those who are certain are; a few."""
        if self.followed is None or self._estimated:
            return ()
        people = np.unique(self.followed.histories.owner[self._sole])[:EXPLAINED]
        rows, places = self._worst
        return tuple(self._finding(int(one), int(rows[one]), int(places[one])).witness for one in people)

    def _finding(self, person: int, row: int, place: int) -> Finding:
        followed = self._need()
        histories = followed.histories
        value, chance = int(histories.codes[row, place]), float(followed.posterior[row, place])
        release = int(histories.numbers[histories.release[row]])
        sole = bool(self._sole[row]) and not self._estimated
        tied = followed.tied is not None and bool(followed.tied[person])
        witness = tracking_witness.told(
            histories, person, value, release, chance, model=self.model, one=sole, tied=tied
        )
        kind: Kind = KINDS[int(self._kind[0])]
        return Finding(self.attack, "value", (int(histories.people[person]),), release, value, chance, kind, witness)

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Whether it is proven that nobody is tied to a value, at any time, with more than its limit.

        That is its slots / m by the design, or the probability that is asked for where that is less.
        """
        if self.followed is None:
            return Judgement("not asked", "No release shows sets of values, and nobody said how often values change.")
        judged = [] if limits.probability is None else [self.judge_values(limits.probability, most)]
        judged += [self.of_column(name).judge(limit, most) for name, limit in limits.columns or ()]
        return together(judged, most) if judged else Judgement("not asked", "No limit for probabilities was given.")

    def of_column(self, name: str) -> ColumnTracking:
        """What is known of one of several sensitive columns."""
        for column in self.published.columns:
            if column.name == name:
                return ColumnTracking(column, self)
        raise ParameterError("There is no such sensitive column in the view.", hint="columns are called as published.")

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """What is known of each column, where several are sensitive."""
        if self.followed is None:
            return {}
        rows = [self.of_column(name).row(limit) for name, limit in limits.columns or ()]
        return {"Each sensitive column by itself": pl.DataFrame(rows)} if rows else {}

    def judge_values(self, limit_asked: Fraction, most: int, *, brief: bool = False) -> Judgement:
        """The same for values, or whole records, and one limit; `brief`: without what is said of all columns alike."""
        followed, held = self._need(), self._held_against(limit_asked)
        asked = np.flatnonzero(~followed.open_people & ~followed.compromised)
        rows, places = (one[asked] for one in (self._worst if held.uniform else followed.furthest(held.table)))
        figures = self._figures(rows, places)
        people = count_of(int((~followed.compromised).sum()), "person", "people")
        if self._estimated:
            highest = f"{figures.probability.max(initial=0.0):.4g}"
            return self._judge_estimate(figures, limit_asked, people, highest)
        limit = held.of(followed.histories, rows, places)
        beyond, within = held.judged(figures.beyond, limit), held.judged(figures.within, limit)
        worst = figures if held.uniform else self._figures(*(one[asked] for one in self._worst))
        highest = f"the highest probability is {worst.probability.max(initial=0.0):.4g}"
        aside = "" if brief else "".join(f" {one}" for one in (*held.words, *self._remarks()))
        if beyond.any():
            over = figures.probability / held.floats[limit]
            ranked = np.flatnonzero(beyond)[np.argsort(-over[beyond], kind="stable")]
            if not held.uniform:
                chance, own = figures.probability[ranked[0]], limit_told(held.limits[int(limit[ranked[0]])])
                highest += f", and the furthest above its limit {chance:.4g} where that is {own}"
            findings = tuple(
                self._finding(int(asked[at]), int(rows[at]), int(places[at])) for at in ranked[: max(most, 0)]
            )
            certain = np.unique(followed.histories.owner[self._sole]).size
            words = (
                f"{int(beyond.sum()):,} of {people} are tied to a value with more than {held.bar} in some release, if "
                f"{self.model}; {highest}. {count_of(certain, 'person is', 'people are')} "
                f"certain to have had one value.{aside}"
            )
            return Judgement("beyond", words, findings, int(beyond.sum()))
        open_ = int((followed.open_people & ~followed.compromised).sum())
        unproven = int((~within).sum())
        if open_ or unproven or self._groups or self._overdeclared:
            told = f"Nobody is proven to be beyond {held.bar}, if {self.model}; {highest}."
            reasons = [] if brief else [*self.undecided]
            if unproven:
                reasons.append(f"for {count_of(unproven, 'person', 'people')} it is too near to the limit to say")
            return Judgement("undecided", f"{told}{f' But: {chr(59).join(reasons)}.' if reasons else ''}{aside}")
        exact = "exactly" if bool(followed.exact[rows].all()) else "at most"
        words = (
            f"Everybody is shown with values of which one is true. Of {people} nobody is tied to one with more than "
            f"{held.bar} in any release, if {self.model}; the highest probability is {exact} {self._top(worst)}.{aside}"
        )
        return Judgement("within", words)

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody beyond the limits of values, each with the value and the time that are furthest beyond."""
        if self.followed is None or self._estimated:
            return tied_together([])
        frames = [] if limits.probability is None else [self.tied_values(limits.probability)]
        return tied_together([*frames, *(self.of_column(name).tied(limit) for name, limit in limits.columns or ())])

    def tied_values(self, limit_asked: Fraction, column: str | None = None) -> pl.DataFrame:
        """The same for values, or whole records, and one limit."""
        followed, held = self._need(), self._held_against(limit_asked)
        asked = np.flatnonzero(~followed.open_people & ~followed.compromised)
        rows, places = (one[asked] for one in (self._worst if held.uniform else followed.furthest(held.table)))
        beyond = held.judged(self._figures(rows, places).beyond, held.of(followed.histories, rows, places))
        rows, places, histories = rows[beyond], places[beyond], followed.histories
        people, codes = histories.people[asked[beyond]], histories.codes[rows, places].astype(np.int64)
        return tied_to(people, codes, histories.numbers[histories.release[rows]], column=column)

    def _held_against(self, asked: Fraction) -> OwnLimits:
        if self._estimated or self.knowledge.permanent_values(self.published).size:
            return OwnLimits.same(self._need().limits.shape, asked)
        return OwnLimits.by_design(self._need().histories, asked)

    def _top(self, figures: Figures) -> str:
        at = int(figures.probability.argmax()) if figures.probability.size else -1
        exact = figures.exact(at) if at >= 0 else None
        return str(exact) if exact is not None else f"{figures.high.max(initial=0.0):.4g}"

    def _judge_estimate(self, figures: Figures, limit: Fraction, people: str, highest: str) -> Judgement:
        above = int((figures.probability > float(limit)).sum())
        told = (
            f"Groups taken one by one, as if people were independent, if {self.model}: {above:,} of {people} above "
            f"{limit_told(limit)}, the highest probability is {highest}. That is an estimate, and proves nothing."
        )
        status: Literal["sampled", "undecided"] = "undecided" if above or self.undecided else "sampled"
        return Judgement(status, told)

    # What was done

    @property
    def _overdeclared(self) -> bool:
        return any(fit.declared > FAR * fit.high for fit in self.fits)

    def _searched(self) -> Iterator[str]:
        if self.followed is None:
            return
        histories = self.followed.histories
        people = count_of(histories.people.size, "person", "people")
        if self._estimated:
            yield f"the groups of {people}, one by one, as if people were independent: an estimate"
            return
        yield f"every course of values through the sets of {people}, if {self.model}"
        if self.followed.tied is not None:
            tied = int(self.followed.tied.sum())
            yield f"the households of {count_of(tied, 'person', 'people')}, who may share their value"
        elif self.knowledge.compromised:
            yield "what is known of some people's values, which tells nothing about others: no set depends on them"

    def _undecided(self) -> Iterator[str]:
        if self.followed is None:
            return
        if lost := int(self.followed.lost.sum()):
            yield (
                f"the {'groups' if self._estimated else 'sets'} of {count_of(lost, 'person', 'people')} contradict the "
                "design, the model of change or what is known"
            )
        if self.followed.open is not None and (many := int(self.followed.open.sum())):
            yield f"the households of {count_of(many, 'person', 'people')} have too many courses to write down"
        if self._groups:
            yield f"{count_of(self._groups, 'release')} of groups were not followed"
        for fit in self.fits:
            if fit.declared > FAR * fit.high:
                yield (
                    f"the declared rate of change is {fit.declared:g} and the sets look like {fit.estimate:.3g} "
                    f"({fit.low:.3g} to {fit.high:.3g})"
                )

    def _remarks(self) -> Iterator[str]:
        """What is to be said beside the figures."""
        if self.followed is None or self._estimated:
            return
        for fit in self.fits:
            looks = f"{fit.estimate:.3g} ({fit.low:.3g} to {fit.high:.3g})"
            if fit.over:
                yield (
                    f"Declared {fit.declared:g}, looks like {looks}: the dangerous direction. Somebody who knows that "
                    "values change less often learns from sets that were renewed: "
                    f"Tracking(change={fit.estimate:.2g}) says how much."
                )
            elif fit.under:
                yield f"Declared {fit.declared:g}, looks like {looks}: values change more often than was declared."
        if many := int(self.followed.harmless.any(axis=0).sum()):
            yield f"{count_of(many, 'value is', 'values are')} declared harmless, and no limit was asked there."
        if self.followed.histories.renewed.any():
            yield "That is for each release: that somebody ever had a value is likelier with every new set."
