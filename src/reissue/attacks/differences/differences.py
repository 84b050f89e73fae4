"""Differences: what can be read off releases in which nobody is known by name, each alone and from one to the next.

Who attacks: somebody who has the releases, and no register. What they do: they look at each group by itself (does
nearly everybody in it have one value, is it a single row?), and subtract each release from the next, part by part
(`reasoning.differences.release_steps`): which rows are new, which are gone, which show another value now.

What they learn is about whoever it is: "whoever has these quasi-identifiers and is in release 2 has flu". Who knows
somebody's quasi-identifiers knows then whom it is about.

What needs no assumption: the groups of one release, that so many rows are new, gone or different, and that something
was seen at all. What a newcomer has, in a group where others were before, rests on nobody leaving, and on values and
quasi-identifiers that stay: it is concluded where somebody said that nobody leaves and no count contradicts it, and
told as a difference otherwise. What a leaver had would need that nobody came either, which nobody can say: it is never
concluded.

What it does not cover: what follows from more than two releases at once, and from releases that are not next to each
other. It proves nothing to be safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reissue.arrays.budget import budgeted, ends_after, passed
from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import OF_GROUPS, Attack, Finding, Findings, Judgement, Kind, Limits, OfSets
from reissue.attacks.differences.differences_ledger import CLASSES, ledger_of, rows_told, steps_told
from reissue.attacks.differences.differences_witness import of_class, of_classes, of_event
from reissue.attacks.figures import limit_told
from reissue.attacks.sentences import Cell, Value, Witness
from reissue.errors import ParameterError, count_of
from reissue.model.assumptions import AssumptionName
from reissue.model.knowledge import Knowledge
from reissue.model.missing_words import nothing_known
from reissue.model.parameters import Validation
from reissue.model.published import Published
from reissue.model.regions import Pairs, Regions
from reissue.model.telling import tell
from reissue.reasoning.differences.cell_numbers import CellNumbers, cell_numbers
from reissue.reasoning.differences.class_shares import ClassShares, class_shares, of_column
from reissue.reasoning.differences.corrections import corrections
from reissue.reasoning.differences.release_steps import ReleaseStep, release_step, uncompared

__all__ = ["Differences", "DifferencesFindings"]

EXPLAINED = 100
"""So many witnesses at most."""
PAIRS = 20_000_000
"""Of two releases so many pairs of classes that meet are looked at; beyond that only totals are compared."""
BESIDE = 5
"""So many differences of each kind are told beside groups that tell by themselves."""
STEPS = 3.0
"""How many steps of work a class takes."""
CERTAIN = 1 - Fraction(1, 10**12)
"""The limit where none is set: nobody may be certain."""
NEWCOMERS: tuple[AssumptionName, ...] = ("nobody-leaves", "values-stay", "cells-stay")
"""What it rests on that newcomers have what a part has more than before."""


@dataclass(frozen=True)
class Differences(Attack):
    """Groups that tell by themselves, and what changes from one release to the next."""

    name: ClassVar[str] = "Differences"
    words: ClassVar[str] = (
        "Releases in which nobody is known by name: groups that tell a value by themselves, rows that stand alone, and "
        "what is new, gone or different from one release to the next."
    )
    judges: ClassVar[tuple[str, ...]] = ("probability",)
    sets: ClassVar[OfSets] = "none"
    by_default: ClassVar[bool] = True
    nameless: ClassVar[bool] = True

    seconds: float | None = None
    """The time for it, looked at before each release; None: until all were compared."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.seconds()
        validation.finish()

    @budgeted
    def run(self, published: Published, knowledge: Knowledge | None = None) -> DifferencesFindings:
        """Look at every release, and at every two that follow each other."""
        spaces = [release.space for release in published.plain if release.space is not None]
        if len(spaces) < len(published.releases):
            raise ParameterError(
                "Differences is for releases in which nobody is known by name, and compares the regions of groups.",
                hint="leave it out: Worlds, Correlation and Channels look at people.",
            )
        return DifferencesFindings(published, spaces, knowledge or Knowledge(), ends_after(self.seconds))


class DifferencesFindings(Findings):
    """What was read off."""

    attack: ClassVar[str] = Differences.name

    def __init__(
        self, published: Published, spaces: list[Regions], knowledge: Knowledge, deadline: float | None
    ) -> None:
        self.published = published
        self.cells: CellNumbers = cell_numbers(spaces)
        """The groups of all releases by their cells."""
        self.shares: list[ClassShares] = []
        """What each release tells by itself."""
        self.columns: dict[str, list[ClassShares]] = {column.name: [] for column in published.columns}
        """The same for each of several sensitive columns."""
        self.steps: list[ReleaseStep] = []
        """What is different from each release to the next."""
        self.corrected: list[int] = []
        """For each step how many lone rows may be those of people whose quasi-identifiers were corrected."""
        self._knowledge = knowledge
        self._crowded = 0
        self._late = 0
        self._look(spaces, deadline)
        self.searched, self.undecided = self._told()

    def __repr__(self) -> str:
        return f"DifferencesFindings({len(self.shares)} releases, {len(self.steps)} steps)"

    def _look(self, spaces: list[Regions], deadline: float | None) -> None:
        before: Pairs | None = None
        releases = self.published.releases
        nothing = {name: nothing_known(self.published, name) for name in (None, *self.columns)}
        for at, (release, space) in enumerate(zip(releases, spaces, strict=True)):
            tell(at, len(releases))
            late = passed(deadline, STEPS * release.group_count)
            within = None if late else space.meets_at_most(space, PAIRS)
            self._late += late
            self._crowded += within is None and not late
            self.shares.append(class_shares(release, within, nothing[None]))
            for column in self.published.columns:
                own = class_shares(of_column(release, column), within, nothing[column.name])
                self.columns[column.name].append(own)
            if at:
                between = None if before is None or within is None else spaces[at - 1].meets_at_most(space, PAIRS)
                self._step(at, before, within, between)
            before = within

    def _step(self, at: int, before: Pairs | None, within: Pairs | None, between: Pairs | None) -> None:
        one, two = self.published.releases[at - 1], self.published.releases[at]
        if before is None or within is None or between is None:
            self.steps.append(uncompared(at - 1, at, one, two))
            self.corrected.append(0)
            return
        self.steps.append(release_step(at - 1, at, one, two, (before, within), between))
        numbers, parts = self.cells.cell, self.cells.parts
        found = 0
        if parts is not None:
            found = corrections(one, two, numbers[at - 1], numbers[at], (parts[at - 1], parts[at]))
        self.corrected.append(found)

    def _told(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        searched = [f"the groups of {count_of(len(self.shares), 'release')}, each by itself"]
        compared = sum(step.whole for step in self.steps)
        if compared:
            searched.append(f"the differences of {count_of(compared, 'release')} from the one before, part by part")
        undecided = []
        if self._late:
            undecided.append(f"the time ran out before the groups of {count_of(self._late, 'release')} were compared")
        if self._crowded or compared < len(self.steps) - self._late:
            undecided.append("so many groups overlap that they could not be compared one by one")
        if self._hidden:
            undecided.append(
                f"{count_of(self._hidden, 'suppressed row')} may be anybody's, and every group may lack people who are "
                "in them; if a suppressed row belongs to no published class, say so: --suppressed class"
            )
        elif overlapping := sum(int(np.count_nonzero(~one.alone)) for one in self.shares):
            undecided.append(f"{count_of(overlapping, 'group')} overlap others, so that somebody may be in either")
        if self.steps and not self._sure and (events := self._newcomers.height):
            undecided.append(f"what newcomers have ({count_of(events, 'component')}): {self._why_not}")
        return tuple(searched), tuple(undecided)

    # What may be concluded

    @cached_property
    def _hidden(self) -> int:
        """How many rows are suppressed, of which nobody said whether they belong to no class."""
        return sum(
            int(release.rows[release.suppressed].sum())
            for release in self.published.releases
            if release.suppressed is not None
        )

    @property
    def _dropped(self) -> frozenset[str]:
        """The assumptions that somebody said do not hold."""
        changing = bool(self._knowledge.permanent) or self._knowledge.change is not None
        return frozenset(self._knowledge.dropped) | ({"values-stay"} if changing else set())

    @property
    def _growing(self) -> bool:
        """Whether somebody said that nobody leaves."""
        said = "nobody-leaves" in self._knowledge.said
        return (self._knowledge.growing is True or said) and "nobody-leaves" not in self._dropped

    @property
    def contradictions(self) -> int:
        """How many counts of a value in a part are lower than before: somebody left, changed, or was corrected."""
        return sum(step.fallen for step in self.steps)

    @property
    def _sure(self) -> bool:
        """Whether what newcomers have may be concluded."""
        return self._growing and not self.contradictions and not self._dropped & {*NEWCOMERS, "unperturbed"}

    @property
    def _why_not(self) -> str:
        if self.contradictions:
            fewer = count_of(self.contradictions, "count of a value is", "counts of a value are")
            return f"somebody left, changed or was corrected, as {fewer} lower than before"
        return "it rests on nobody leaving, and on values and quasi-identifiers that stay, which was not said"

    @property
    def _perturbed(self) -> bool:
        return "unperturbed" in self._dropped

    @property
    def _rest(self) -> bool:
        """Whether somebody said of a release that its suppressed rows belong to no published class."""
        return any(one.space is not None and one.space.rest is not None for one in self.published.releases)

    def _rests(self, number: int) -> tuple[AssumptionName, ...]:
        """What it rests on that whoever fits a class of a release is in it."""
        space = self.published.releases[number].space
        rest = space is not None and space.rest is not None
        return ("unperturbed", "suppressed-class") if rest else ("unperturbed",)

    # As tables

    @cached_property
    def _newcomers(self) -> pl.DataFrame:
        """The parts with rows more and no value rarer, of all steps."""
        return self._events.filter(pl.col("what") == "newcomer")

    @cached_property
    def _events(self) -> pl.DataFrame:
        """What stands out in all steps, with the `step`; see `release_steps.EVENTS`."""
        empty = pl.DataFrame(schema={"step": pl.Int64})
        frames = [step.events.with_columns(step=pl.lit(at, pl.Int64)) for at, step in enumerate(self.steps)]
        return pl.concat([empty, *frames], how="diagonal") if frames else empty.with_columns(what=pl.lit(""))

    @property
    def events(self) -> pl.DataFrame:
        """What stands out from one release to the next, with the numbers of the releases; groups are counted from 1."""
        number = pl.Series([release.number for release in self.published.releases], dtype=pl.Int64)
        if not self.steps:
            return pl.DataFrame(schema={"since": pl.Int64, "release": pl.Int64, "what": pl.String})
        return self._events.select(
            since=number.gather(self._events["step"]),
            release=number.gather(self._events["step"] + 1),
            what="what",
            people="people",
            before="before",
            after="after",
            group_before=pl.when(pl.col("group_before") >= 0).then(pl.col("group_before") + 1),
            group_after=pl.when(pl.col("group_after") >= 0).then(pl.col("group_after") + 1),
        )

    @cached_property
    def ledger(self) -> pl.DataFrame:
        """What came, went and changed from each release to the next; see `differences_ledger.LEDGER`."""
        return ledger_of(self.published, self.steps, self.corrected)

    def classes(self, limit: Fraction, column: str | None = None) -> pl.DataFrame:
        """For each release how many rows are in groups that tell by themselves, of whole records or of a `column`
        alone; see `differences_ledger.CLASSES`."""
        shares = self.shares if column is None else self.columns[column]
        return pl.DataFrame([rows_told(one, limit) for one in shares], schema=CLASSES, orient="row")

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """The groups of each release by themselves, and the ledger of steps."""
        if limits.probability is None:
            return {}
        found = {
            f"Rows in groups that tell by themselves (limit {limit_told(limits.probability)})": self.classes(
                limits.probability
            )
        }
        for column, limit in _of_columns(limits):
            told = limit_told(limit) if limit < CERTAIN else "certainty"
            found[f"Rows in groups that tell of '{column}' by themselves (limit {told})"] = self.classes(limit, column)
        return {**found, "From each release to the next, at least": self.ledger} if self.steps else found

    @property
    def linked_rows(self) -> tuple[int, int]:
        """How many rows are alone with their quasi-identifiers in two releases that follow each other, of how many."""
        return sum(step.links for step in self.steps), sum(step.rows_before for step in self.steps)

    # Why, and whether it is too much

    @cached_property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why the groups tell that tell most."""
        findings, _ = self._of_classes(Limits(probability=Fraction(0)), EXPLAINED)
        return tuple(finding.witness for finding in findings)

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Hold the groups, and what newcomers have, against the largest probability of a value."""
        limit = limits.probability
        if limit is None:
            return Judgement("not asked", "No limit was given that this attack could be held against.")
        classes = self.classes(limit)
        words = steps_told(self.ledger, rest=self._rest) if self.steps else []
        doubtful = int(classes["not_known"].sum())
        if self._perturbed:
            words.insert(0, "Cells are said to be perturbed: what groups show tells nobody's value for certain.")
            return Judgement("undecided", " ".join(words))
        findings, count = self._of_classes(limits, most)
        newcomers, new_count = self._of_newcomers(limit, most)
        words = [*self._in_words(classes, limit), *self._of_columns_in_words(limits), *words]
        if new_count and self._sure:
            people = int(self._too_likely(limit)["people"].sum())
            words.append(f"{count_of(people, 'newcomer')} can be tied to a value beyond the limit.")
        elif new_count:
            words.append(f"What they have is not concluded: {self._why_not}.")
        if count or (new_count and self._sure):
            sure = newcomers if self._sure else []
            ranked = sorted([*findings, *sure], key=lambda finding: -(finding.probability or 0.0))
            beside = self._seen(BESIDE)[: max(most, 0)]
            told = (*ranked[: most - len(beside)], *beside)
            return Judgement("beyond", " ".join(words), told, count + (new_count if self._sure else 0))
        seen = self._seen(BESIDE)
        if doubtful or new_count or seen or self._crowded or self._late:
            told = (*newcomers, *(one for one in seen if one.what != "newcomer"))[: max(most, 0)]
            return Judgement("undecided", " ".join(words), told, max(new_count, len(told)))
        return Judgement("within", " ".join(words))

    def _in_words(self, classes: pl.DataFrame, limit: Fraction) -> Iterator[str]:
        rows, above, single, alone, doubtful = (
            int(classes[name].sum()) for name in ("rows", "above", "one_value", "alone", "not_known")
        )
        of = f"{rows:,} rows" if classes.height == 1 else f"{rows:,} rows of {classes.height:,} releases"
        told = limit_told(limit)
        if above:
            yield (
                f"{above:,} of {of} are in groups in which one value is likelier than {told} for whoever is in them: "
                f"{single:,} with one value only. {count_of(alone, 'row is', 'rows are')} alone in a group."
            )
        else:
            yield f"In no group of {of} is a value proven to be likelier than {told} for whoever is in it."
        more = " more" if above else ""
        if doubtful and self._hidden:
            yield (
                f"Of {doubtful:,}{more} it is not known: {count_of(self._hidden, 'suppressed row')} may be anybody's "
                "(--suppressed class says that they belong to no published class)."
            )
        elif doubtful:
            yield f"Of {doubtful:,}{more} it is not known, as their groups overlap others."

    def _of_columns_in_words(self, limits: Limits) -> Iterator[str]:
        """What groups tell of single columns, where several are sensitive."""
        for column, limit in _of_columns(limits):
            classes = self.classes(limit, column)
            rows, above, single = (int(classes[name].sum()) for name in ("rows", "above", "one_value"))
            if above:
                told = f"likelier than {limit_told(limit)}" if limit < CERTAIN else "certain"
                yield (
                    f"Of '{column}' alone {above:,} of {rows:,} rows are in groups in which one value is {told} for "
                    f"whoever is in them: {single:,} with one value only."
                )

    def _of_classes(self, limits: Limits, most: int) -> tuple[list[Finding], int]:
        """The groups that tell most, each cell once, and how many cells there are."""
        found: list[tuple[float, int, int, int, str | None, ClassShares]] = []
        count = 0
        for column, at, one, groups in self._telling(limits):
            count += groups.size
            told, rows = one.told[groups], one.rows[groups]
            worst = np.lexsort((groups, rows, -told))[: max(most, 0)]
            found += [(-float(told[w]), int(rows[w]), at, int(groups[w]), column, one) for w in worst]
        found.sort(key=lambda item: item[:4])
        return [
            self._class_finding(at, group, column, one) for _, _, at, group, column, one in found[: max(most, 0)]
        ], count

    def _telling(self, limits: Limits) -> Iterator[tuple[str | None, int, ClassShares, Ints]]:
        """The groups that tell, each cell once, of whole records and of single columns, release by release."""
        asked = CERTAIN if limits.probability is None else limits.probability
        views = [(None, self.shares, asked), *((name, self.columns[name], own) for name, own in _of_columns(limits))]
        for column, shares, limit in views:
            chosen = [np.flatnonzero(one.above(limit)) for one in shares]
            first = _newest(
                [self.cells.cell[at][groups] for at, groups in enumerate(chosen)],
                [one.value[groups] for one, groups in zip(shares, chosen, strict=True)],
            )
            for at, (one, groups, keep) in enumerate(zip(shares, chosen, first, strict=True)):
                yield column, at, one, groups[keep]

    def of_groups(self, limits: Limits) -> pl.DataFrame | None:
        """All groups that tell, the worst first."""
        parts = [
            of_classes(one, groups).with_columns(
                pl.Series("told", -one.told[groups]),
                pl.Series("rows", one.rows[groups]),
                pl.Series("group", groups + 1),
                pl.Series("value", one.value[groups]),
                pl.Series("probability", one.probability[groups]),
                pl.Series("exact", one.alone[groups] | one.single[groups]),
                at=pl.lit(at, pl.Int64),
                release=pl.lit(one.number, pl.Int64),
                column=pl.lit(column, pl.String),
                rests_on=pl.lit(", ".join(self._rests(at))),
            )
            for column, at, one, groups in self._telling(limits)
        ]
        kind = pl.when(pl.col("exact")).then(pl.lit("exact")).otherwise(pl.lit("bounded"))
        every = pl.concat(parts).sort("told", "rows", "at", "group", maintain_order=True)
        return every.with_columns(kind=kind, what=pl.lit("class")).select(OF_GROUPS.names())

    def beside_groups(self, limits: Limits) -> tuple[Finding, ...]:
        """What newcomers have, where that may be concluded, and what else stands out."""
        newcomers: list[Finding] = []
        if self._sure and limits.probability is not None:
            newcomers, _ = self._of_newcomers(limits.probability, self._newcomers.height)
        return (*newcomers, *self._seen(BESIDE))

    def _class_finding(self, at: int, group: int, column: str | None, shares: ClassShares) -> Finding:
        value = int(shares.value[group])
        part = Value(value) if column is None else Cell(column, value)
        sure = bool(shares.alone[group]) or bool(shares.single[group])
        kind: Kind = "exact" if sure else "bounded"
        return Finding(
            Differences.name,
            "class",
            (),
            shares.number,
            value if column is None else None,
            float(shares.probability[group]),
            kind,
            of_class(shares, group, part),
            column=column,
            among=() if column is None else (value,),
            rests_on=self._rests(at),
        )

    def _too_likely(self, limit: Fraction) -> pl.DataFrame:
        """The newcomers of whom one value is too frequent; those told by their own group alone are not among them."""
        if not self.steps:
            return self._newcomers
        likely = pl.col("often") * limit.denominator > pl.col("people") * limit.numerator
        return self._newcomers.filter(likely & (pl.col("before") > 0))

    def _of_newcomers(self, limit: Fraction, most: int) -> tuple[list[Finding], int]:
        found = self._too_likely(limit)
        if not found.height:
            return [], 0
        told = (pl.col("often") / pl.col("people") / pl.col("rarity")).log(2)
        worst = found.sort(told, "people", "step", "group_after", descending=[True, False, False, False]).head(
            max(most, 0)
        )
        return [self._newcomer(row) for row in worst.iter_rows(named=True)], found.height

    def _seen(self, most: int) -> list[Finding]:
        """Differences that stand out and prove nobody's value, the rarest of each kind: told beside what is proven."""
        if not self.steps:
            return []
        kinds = [kind for kind in ("change", "leaver", "newcomer") if not (kind == "newcomer" and self._sure)]
        order = ["rarity", "people", "step", "group_after", "group_before"]
        # Who came where no row was before is told by their group alone.
        single = self._events.filter(
            (pl.col("people") == 1) & ((pl.col("what") != "newcomer") | (pl.col("before") > 0))
        )
        worst = [single.filter(pl.col("what") == kind).sort(order).head(most) for kind in kinds]
        return [self._difference(row) for frame in worst for row in frame.iter_rows(named=True)]

    def _difference(self, row: dict[str, Any]) -> Finding:
        one, two = self.published.releases[row["step"]], self.published.releases[row["step"] + 1]
        value = row["lost"] if row["what"] == "leaver" else row["gained"]
        witness = of_event(one, two, row, sure=False)
        rests: tuple[AssumptionName, ...] = NEWCOMERS if row["what"] == "newcomer" else NEWCOMERS[1:]
        if row["what"] == "change":
            rests = ("nobody-leaves", "cells-stay")
        return Finding(Differences.name, row["what"], (), two.number, value, None, "undecided", witness, rests_on=rests)

    def _newcomer(self, row: dict[str, Any]) -> Finding:
        one, two = self.published.releases[row["step"]], self.published.releases[row["step"] + 1]
        kind: Kind = "exact" if self._sure else "undecided"
        return Finding(
            Differences.name,
            "newcomer",
            (),
            two.number,
            row["gained"],
            row["often"] / row["people"] if self._sure else None,
            kind,
            of_event(one, two, row, sure=self._sure),
            rests_on=tuple(dict.fromkeys((*NEWCOMERS, *self._rests(row["step"] + 1), *self._rests(row["step"])))),
        )


def _of_columns(limits: Limits) -> list[tuple[str, Fraction]]:
    """Where several columns are sensitive, each with its limit."""
    return [(name, CERTAIN if limit is None else limit) for name, limit in limits.columns or ()]


def _newest(cells: list[Ints], values: list[Ints]) -> list[Bools]:
    """Of pairs of a cell and a value that several releases have, which are the last: later ones hide earlier ones."""
    seen = np.zeros(0, dtype=np.int64)
    width = max((int(value.max(initial=0)) for value in values), default=0) + 1
    kept: list[Bools] = []
    for cell, value in zip(reversed(cells), reversed(values), strict=True):
        keys = cell * width + value
        _, first = np.unique(keys, return_index=True)
        new = np.zeros(keys.size, dtype=np.bool_)
        new[first] = True
        kept.append(new & ~np.isin(keys, seen))
        seen = np.union1d(seen, keys)
    return kept[::-1]
