"""What the argument from minimality found: credibilities of classes, and whom they are about."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import POSTERIORS, Finding, Findings, Judgement, Limits
from reissue.attacks.figures import KINDS, Figures, called, far_beyond, kinds
from reissue.attacks.minimality.minimality_witness import of_class
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import tied_to, tied_together
from reissue.errors import ParameterError, count_of
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.minimality.credibility import Credibility
from reissue.reasoning.minimality.minimality_work import EXACT, SAMPLED, UNDECIDED

EXPLAINED = 100
"""So many classes at most have their derivation among the witnesses."""
NEAR = 1e-9
KIND = np.zeros(3, dtype=np.int8)
KIND[[EXACT, SAMPLED, UNDECIDED]] = [KINDS.index(kind) for kind in ("exact", "sampled", "bounded")]
"""How sure the figure of a class is; bounded where it could not be worked out."""


@dataclass(frozen=True, repr=False)
class Attacked:
    """A release that was attacked, and what came out."""

    release: PublishedGroups
    found: Credibility

    @cached_property
    def _by_row(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.found.row_of_entry, kind="stable")
        return order, np.searchsorted(self.found.row_of_entry[order], np.arange(self.found.classes.size + 1))

    def members(self, rows: Bools) -> Ints:
        """The people of some classes by number, each once."""
        return np.unique(self.release.members[rows[self.found.row_of_entry]])

    def people(self, row: int) -> tuple[int, ...]:
        """The people of a class by number, ascending."""
        order, starts = self._by_row
        members = np.unique(self.release.members[order[starts[row] : starts[row + 1]]])
        return tuple(members.tolist())


@dataclass(frozen=True)
class Problematic:
    """Classes with a credibility above 1/m, as in Figure 2 of Wong et al., and how many rows that concerns."""

    classes: int
    people: int
    """How many people they have."""
    sensitive: float
    """How many of them are expected to have a value of the set, all sets together."""
    all_sensitive: int
    """How many rows of the releases do."""
    mean: float
    """The mean credibility of those people, 0 where there are none."""
    mean_of_sensitive: float
    """The same, weighed by how likely they have the value: the mean over the rows that do, as it is expected."""
    undecided: int = 0
    """How many people have a figure that could not be held against 1/m."""

    @property
    def share(self) -> float:
        """The part of all sensitive rows that is expected in these classes."""
        return self.sensitive / self.all_sensitive if self.all_sensitive else 0.0


class MinimalityFindings(Findings):
    """What minimality gives away in each release by itself."""

    attack: ClassVar[str] = "Minimality"

    def __init__(
        self, published: Published, attacked: list[Attacked], refused: tuple[str, ...], unused: tuple[str, ...] = ()
    ) -> None:
        self.published = published
        self.attacked = attacked
        """The releases that were looked at, with their credibilities in compact form."""
        self.refused = bool(refused)
        """Whether a release should have been looked at and could not be."""
        self.unused = bool(unused)
        """Whether something is known that the argument does not use: then nothing is proven to be within a limit."""
        searched, more = [], [*refused, *unused]
        for one in attacked:
            found = one.found
            told = [count_of(found.generalised, "generalised group")]
            if found.nothing_excluded:
                told.append(f"nothing is excluded in {found.nothing_excluded:,} of them")
            if found.contrary:
                told.append(f"in {found.contrary:,} no class can have violated: something else was the reason")
            if found.sampled:
                told.append(f"{found.sampled:,} estimated by dealing values")
            searched.append(f"release {one.release.number:,}: {', '.join(told)}")
            if found.undecided:
                groups = count_of(found.undecided, "group")
                more.append(f"release {one.release.number:,}: {groups} with too many cases, or too little known")
        self.searched, self.undecided = tuple(searched), tuple(more)

    def __repr__(self) -> str:
        changed = sum(int(one.found.people[one.found.changed.any(axis=1)].sum()) for one in self.attacked)
        return f"MinimalityFindings({count_of(len(self.attacked), 'release')}, {changed:,} people concerned)"

    # Tables

    def label(self, members: tuple[int, ...]) -> str:
        """A set of values as it stands in tables: the value itself, or `{a, b}`."""
        names = [str(self.published.values[value]) for value in members]
        return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"

    @cached_property
    def classes(self) -> pl.DataFrame:
        """For each class and set: `release`, `class`, `people`, `value`, `credibility`, `plain` and `kind`.

        `plain` is the share of the groups, without the argument. Where `kind` is bounded the figure could not be worked
        out, and is the largest it can be.
        """
        return pl.concat([_CLASSES, *map(self._rows, self.attacked)])

    def _labels(self, one: Attacked) -> pl.Series:
        return pl.Series([self.label(members) for members in one.found.sets], dtype=pl.String)

    def _rows(self, one: Attacked) -> pl.DataFrame:
        found = one.found
        rows, at = np.nonzero(np.ones_like(found.changed))
        return pl.DataFrame(
            {
                "release": np.full(rows.size, one.release.number),
                "class": found.classes[rows],
                "people": found.people[rows],
                "value": self._labels(one).gather(at),
                "credibility": found.probability[rows, at],
                "plain": found.plain[rows, at],
                "kind": kinds(KIND[found.kind[rows]]),
            }
        )

    @cached_property
    def posteriors(self) -> pl.DataFrame:
        """Everybody in a class whose credibility the argument changed; with the number of the release."""
        person = pl.Int64 if self.published.people is None else pl.String
        parts = [pl.DataFrame(schema={**POSTERIORS, "person": person, "release": pl.Int64})]
        for one in self.attacked:
            rows, at = np.nonzero(one.found.changed)
            told = pl.DataFrame({"row": rows, "set": at, "figure": np.arange(rows.size)})
            entries = pl.DataFrame({"person": one.release.members, "row": one.found.row_of_entry}).unique()
            table = entries.join(told, on="row").sort("person", "set")
            who, figure = called(self.published, table["person"].to_numpy()), table["figure"].to_numpy()
            release = pl.repeat(one.release.number, figure.size, dtype=pl.Int64, eager=True)
            value = self._labels(one).gather(at[figure])
            parts.append(_figures(one.found, rows, at).posteriors(who, value, figure, release=release))
        return pl.concat(parts)

    # What is proven

    def _proven(self, figure: int) -> list[tuple[Attacked, int, int]]:
        """Classes and single values whose credibility the argument brought to 0, or to 1."""
        proven = []
        for one in self.attacked:
            found = one.found
            for at, members in enumerate(found.sets):
                if len(members) > 1:
                    continue
                near = np.abs(found.probability[:, at] - figure) < NEAR
                rows = np.flatnonzero(near & found.changed[:, at] & (found.kind == EXACT))
                exact = found.fractions(rows, at)
                proven += [(one, row, at) for row, share in zip(rows.tolist(), exact, strict=True) if share == figure]
        return proven

    @cached_property
    def certain(self) -> dict[str | int, object]:
        """The people whom the argument leaves one value only, with that value: proven."""
        return {
            self.published.name(person): self.published.values[one.found.sets[at][0]]
            for one, row, at in self._proven(1)
            for person in one.people(row)
        }

    @cached_property
    def excluded(self) -> dict[str | int, list[object]]:
        """For people the values that the argument rules out: proven."""
        ruled_out: dict[str | int, list[object]] = {}
        for one, row, at in self._proven(0):
            value = self.published.values[one.found.sets[at][0]]
            for person in one.people(row):
                held = ruled_out.setdefault(self.published.name(person), [])
                if value not in held:
                    held.append(value)
        return ruled_out

    # Whether it is too much

    def problematic(self, m: float) -> Problematic:
        """Classes with a credibility above 1/m; where several sets are protected, each counts."""
        if not isinstance(m, int | float) or isinstance(m, bool) or not m >= 1:
            raise ParameterError("The 'm' parameter of problematic must be a number of at least 1.")
        limit = 1 / Fraction(m).limit_denominator(10**9)
        classes = people = undecided = total = 0
        sensitive = squares = 0.0
        for one in self.attacked:
            found = one.found
            for at, members in enumerate(found.sets):
                above, unknown = _beyond(found, limit, at)
                size, chance = found.people[above], found.probability[above, at]
                classes += int(np.count_nonzero(above))
                people += int(size.sum())
                undecided += int(found.people[unknown].sum())
                sensitive += float((size * chance).sum())
                squares += float((size * chance**2).sum())
                inside = np.isin(one.release.values, np.array(members, dtype=np.int64))
                total += int(one.release.counts[inside].sum())
        mean = sensitive / people if people else 0.0
        return Problematic(
            classes, people, sensitive, total, mean, squares / sensitive if sensitive else 0.0, undecided
        )

    @cached_property
    def _ranked(self) -> list[tuple[float, int, int, int]]:
        """Classes that the argument says something of, the most exposed first: figure, release, class and set."""
        ranked = []
        for number, one in enumerate(self.attacked):
            found = one.found
            rows = np.flatnonzero(found.changed.any(axis=1) & (found.kind != UNDECIDED))
            if not rows.size:
                continue
            rise = np.where(found.changed[rows], found.probability[rows], -1.0)
            worst = rise.argmax(axis=1)
            figure = rise[np.arange(rows.size), worst]
            order = np.lexsort((rows, -figure))[:EXPLAINED]
            ranked += [(float(figure[at]), number, int(rows[at]), int(worst[at])) for at in order.tolist()]
        return sorted(ranked, key=lambda one: (-one[0], one[1:]))[:EXPLAINED]

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the classes with the highest credibility have it."""
        return tuple(self._finding(self.attacked[number], row, at).witness for _, number, row, at in self._ranked)

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold credibilities against the limit for them, or else for probabilities."""
        limit = limits.probability if limits.credibility is None else limits.credibility
        if limit is None:
            return Judgement("not asked", "No limit for credibilities or probabilities was given.")
        if not self.attacked and not self.refused:
            return Judgement("not asked", "It is not known of any release what it had to satisfy.")
        hits: list[tuple[float, int, int, int]] = []
        concerned, everybody, unsettled, estimated = ([np.zeros(0, dtype=np.int64)] for _ in range(4))
        highest = 0.0
        for number, one in enumerate(self.attacked):
            found = one.found
            rows = found.classes.size
            above, unknown = np.zeros((2, rows, len(found.sets)), dtype=bool)
            for at in range(len(found.sets)):
                above[:, at], unknown[:, at] = _beyond(found, limit, at)
            is_hit: Bools = np.asarray(above.any(axis=1))
            lost: Bools = np.asarray(unknown.any(axis=1) & ~is_hit)
            hit = np.flatnonzero(is_hit)
            figure = np.where(above[hit], found.probability[hit], -1.0)
            worst = figure.argmax(axis=1) if hit.size else np.zeros(0, dtype=np.int64)
            highest = max(highest, float(found.probability[found.kind != UNDECIDED].max(initial=0.0)))
            concerned.append(one.members(is_hit))
            everybody.append(one.members(np.ones(rows, dtype=bool)))
            unsettled.append(one.members(lost))
            by_estimate = found.probability.max(axis=1, initial=0.0) <= float(limit)
            estimated.append(one.members(lost & (found.kind == SAMPLED) & by_estimate))
            top = figure.max(axis=1, initial=-1.0)
            hits += [(float(top[at]), number, int(hit[at]), int(worst[at])) for at in range(hit.size)]
        bar = str(limit)
        who = count_of(_number(everybody), "person", "people")
        if hits:
            hits.sort(key=lambda one: (-one[0], one[1:]))
            findings = tuple(
                self._finding(self.attacked[number], row, at) for _, number, row, at in hits[: max(most, 0)]
            )
            classes = count_of(len(hits), "class", "classes")
            words = (
                f"{_number(concerned):,} of {who}, in {classes} of equal quasi-identifiers, "
                f"have a credibility above {bar} for somebody who knows that nothing was generalised needlessly; "
                f"the highest is {highest:.3g}."
            )
            return Judgement("beyond", words, findings, len(hits))
        open_people = _number(unsettled)
        if open_people or self.refused or self.unused:
            guessed = open_people == _number(estimated) and not self.refused and not self.unused
            status: Literal["sampled", "undecided"] = "sampled" if guessed else "undecided"
            words = f"Nobody is proven to have a credibility above {bar}."
            if open_people:
                words += f" It is not proven that {open_people:,} of {who} are within it."
            if self.undecided:
                words += f" Not decided: {'; '.join(self.undecided)}."
            return Judgement(status, words)
        return Judgement("within", f"Nobody of {who} has a credibility above {bar}; the highest is {highest:.3g}.")

    def tied(self, limits: Limits) -> pl.DataFrame:
        """Everybody in a class whose credibility is above the limit, for each set by itself."""
        limit = limits.probability if limits.credibility is None else limits.credibility
        frames: list[pl.DataFrame] = []
        if limit is None:
            return tied_together(frames)
        for one in self.attacked:
            for at, (first, *others) in enumerate(one.found.sets):
                above, _ = _beyond(one.found, limit, at)
                frames.append(tied_to(one.members(above), first, one.release.number, others=others))
        return tied_together(frames)

    def _finding(self, one: Attacked, row: int, at: int) -> Finding:
        found = one.found
        members = found.sets[at]
        people = one.people(row)
        return Finding(
            self.attack,
            "value",
            people,
            one.release.number,
            members[0] if len(members) == 1 else None,
            float(found.probability[row, at]),
            KINDS[KIND[found.kind[row]]],
            of_class(one.release, found, row, at, people),
            among=tuple(members),
        )


def _number(parts: list[Ints]) -> int:
    """How many people there are in several releases, each once."""
    return int(np.unique(np.concatenate(parts)).size)


def _figures(found: Credibility, rows: Ints, at: Ints) -> Figures:
    """The figures of some classes, each for a set."""
    exact: list[Fraction | None] = [None] * rows.size
    for number in np.unique(at).tolist():
        where = np.flatnonzero(at == number)
        for place, share in zip(where.tolist(), found.fractions(rows[where], number), strict=True):
            exact[place] = share
    told = (found.probability, found.low, found.high, found.standard_error)
    probability, low, high, error = (column[rows, at] for column in told)
    return Figures.of(KIND[found.kind[rows]], probability, low, high, error, exact)


def _beyond(found: Credibility, limit: Fraction, at: int) -> tuple[Bools, Bools]:
    """The classes beyond a limit, proven or far beyond by estimate, and those of which it is not known."""
    told = found.above(limit, at)
    above = told == 1
    above |= (found.kind == SAMPLED) & far_beyond(found.probability[:, at], found.standard_error[:, at], limit)
    return above, (told == -1) & ~above


_CLASSES = pl.DataFrame(
    schema={
        "release": pl.Int64,
        "class": pl.Int64,
        "people": pl.Int64,
        "value": pl.String,
        "credibility": pl.Float64,
        "plain": pl.Float64,
        "kind": pl.String,
    }
)
