"""What the ledger knows of the true values of a series, and an outsider's conclusions held against it.

That somebody *has* a value, where the attack takes values to be static, is right if they ever had it, in any table that
a release was made from, and wrong if they never had; that they do *not* have it is wrong if they ever had. What is said
of one release is held against the table of that release; a permanent value is kept once somebody has it. True is the
own value, whatever was published in its place, and also where somebody was withheld. Of releases made elsewhere nobody
here knows who had what: what is not right by the others may be right by them.

Attacks have no part in this, and no verdict depends on it: a promise is about what can be concluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reissue.arrays.dense import distinct
from reissue.arrays.types import Bools, Ints
from reissue.attacks.base import Finding
from reissue.attacks.tied import TIED, UNSEEN, tied_to
from reissue.auditing import conclusions
from reissue.auditing.compared import Compared, Counted, Mark, Marked, Truth
from reissue.model.domain import PERSON
from reissue.model.records import record_cells
from reissue.publishing import archive

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport, Run
    from reissue.model.published import Published
    from reissue.model.schema import Schema
    from reissue.publishing.draft import Draft
    from reissue.publishing.inspection import PastReleases

WRONG, UNKNOWN, RIGHT = range(3)
MARKS: tuple[Mark, ...] = ("wrong", "unknown", "right")
JUDGED = pl.Schema({"column": pl.String, "person": pl.Int64, "truth": pl.Int8})
"""Conclusions, each with the person it is about and whether it is true: `WRONG`, `UNKNOWN` or `RIGHT`."""


@dataclass(frozen=True, repr=False)
class TrueValues:
    """Private: who had which value in which table, as far as that is known."""

    view: Published
    had: pl.DataFrame
    """`person`, `release`, `position`: of the value in the view; below 0 for values that no release shows."""
    labels: tuple[object, ...]
    """The values at positions below 0: the first is that of -1."""
    columns: tuple[str, ...]
    """The sensitive columns, where they are several and values are records."""
    permanent: tuple[str, ...]
    elsewhere: Ints
    """People in releases that were made elsewhere, by number."""
    own: tuple[int, ...]
    """The releases whose tables are known."""
    replaced: Ints
    """People who were published with another value than their own, by number."""

    def __repr__(self) -> str:
        return f"TrueValues({len(self.own)} releases)"

    @classmethod
    def of(cls, view: Published, past: PastReleases | None, schema: Schema, draft: Draft | None = None) -> TrueValues:
        """Read them from the ledger, and from a draft after the last release."""
        place = {value: at for at, value in enumerate(view.values)}
        frames, elsewhere, replaced, own = [], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
        for release, tables in () if past is None else past.tables():
            if archive.VALUES in tables:
                elsewhere.append(tables.columns(archive.SNAPSHOT, [PERSON])[PERSON].to_numpy().astype(np.int64))
                continue
            name = archive.FACTS if archive.FACTS in tables else archive.SNAPSHOT
            frames.append(_coded(tables.columns(name, [PERSON, schema.sensitive]), schema, place, release.number))
            own.append(release.number)
            if archive.CHANGED in tables:
                replaced.append(tables[archive.CHANGED]["person"].to_numpy().astype(np.int64))
        if draft is not None:
            rows = draft.rows if draft.facts is None else draft.facts
            frames.append(_coded(rows, schema, place, draft.number))
            own.append(draft.number)
            if draft.changed is not None:
                replaced.append(draft.changed["person"].to_numpy().astype(np.int64))
        return cls(
            view,
            pl.concat([pl.DataFrame(schema=HAD), *frames]),
            tuple(value for value, at in place.items() if at < 0),
            tuple(schema.sensitive_columns) if schema.several else (),
            schema.permanent,
            distinct(np.concatenate(elsewhere)),
            tuple(own),
            distinct(np.concatenate(replaced)),
        )

    # What is known

    @cached_property
    def _ever(self) -> pl.DataFrame:
        """`person`, `position`, the `first` release of it, and how many `times` they had it."""
        return self.had.group_by("person", "position").agg(
            first=pl.col("release").min(), times=pl.col("release").n_unique()
        )

    @cached_property
    def _stays(self) -> pl.DataFrame:
        """`person` and how many `tables` know a value of theirs."""
        return self.had.group_by("person").agg(tables=pl.col("release").n_unique())

    @cached_property
    def changed(self) -> Ints:
        """People whose values were not the same in all tables, by number."""
        both = self._ever.join(self._stays, on="person").filter(pl.col("times") < pl.col("tables"))
        return _people(both)

    def _of_column(self, name: str) -> pl.DataFrame:
        """The position, in one of several columns, of every record's value: `position` and `own`; -1 for none."""
        at, column = self.columns.index(name), next(one for one in self.view.columns if one.name == name)
        place = {value: position for position, value in enumerate(column.values)}
        unseen = [place.get(record_cells(str(label), len(self.columns))[at], -1) for label in self.labels]
        return pl.DataFrame(
            {
                "position": np.concatenate([np.arange(column.of.size), -1 - np.arange(len(unseen))]),
                "own": np.concatenate([column.of, np.array(unseen, dtype=np.int64)]),
            },
            schema={"position": pl.Int64, "own": pl.Int64},
        )

    # Held against it

    def judged(self, claims: pl.DataFrame, *, denied: bool = False) -> pl.DataFrame:
        """Claims, as `TIED` has them, each with whether it is true; `denied`: they say that somebody does *not* have
        a value. See `JUDGED`."""
        parts = [pl.DataFrame(schema={"claim": pl.Int64, **JUDGED})]
        for (column,), some in claims.group_by("column", maintain_order=True):
            parts.append(self._judged(some, None if column is None else str(column)))
        found = pl.concat(parts)
        if denied:
            found = found.with_columns(truth=(RIGHT - pl.col("truth")).cast(pl.Int8))
        return found.drop("claim")

    def _judged(self, claims: pl.DataFrame, column: str | None) -> pl.DataFrame:
        had = self.had.join(claims.select(pl.col("person").cast(pl.UInt32)).unique(), on="person", how="semi")
        had = had.cast(pl.Int64)
        if column is not None:
            had = had.join(self._of_column(column), on="position").drop("position").rename({"own": "position"})
        ever = had.group_by("person", "position").agg(first=pl.col("release").min())
        there = had.unique().with_columns(then=pl.lit(True))
        rows = claims.join(ever, on=["person", "position"], how="left", maintain_order="left").join(
            there, on=["person", "release", "position"], how="left", maintain_order="left"
        )
        lasting = [at for at, value in enumerate(self.view.values) if column is None and value in self.permanent]
        kept = pl.col("position").is_in(lasting) & (pl.col("first") <= pl.col("release"))
        always = pl.col("release").is_null()
        right = (always & pl.col("first").is_not_null()) | pl.col("then").fill_null(False) | kept.fill_null(False)
        foreign = pl.col("person").is_in(pl.Series(self.elsewhere, dtype=pl.Int64).implode())
        stranger = ~pl.col("person").is_in(had["person"].unique().implode())
        # Without a known value somebody may have one: not where people may have none.
        unlisted = foreign | (stranger & self.view.single)
        in_dark = pl.when(always).then(unlisted).otherwise(~pl.col("release").is_in(self.own))
        in_dark |= pl.col("position") == UNSEEN
        truth = pl.when(right).then(RIGHT).when(in_dark).then(UNKNOWN).otherwise(WRONG).cast(pl.Int8)
        judged = rows.select("claim", "column", "person", truth=truth)
        if judged["claim"].n_unique() == judged.height:
            return judged
        # Of a claim about several values one may be right.
        return judged.group_by("claim", "column", "person", maintain_order=True).agg(pl.col("truth").max())

    def refuted(self, people: Ints, positions: Ints) -> Bools:
        """Of people, by number, each with the position of a value in the view: who is known never to have had it."""
        judged = self.judged(tied_to(people, positions))
        wrong: Bools = judged["truth"].to_numpy() == WRONG
        return wrong

    def compare(self, report: AuditReport) -> Truth:
        """Hold what an outsider would conclude from a report against it."""
        compared, certainly, beyond, wrong = [], [], [], {}
        for run in report.runs:
            if run.findings is None:
                continue
            sure = self.judged(conclusions.certain(run.by, run.findings))
            tied = self.judged(conclusions.above(run.findings, report.limits, report.known_people))
            out = self.judged(conclusions.excluded(run.by, run.findings), denied=True)
            compared += _by_column(run.attack, sure, tied, out)
            certainly.append(sure)
            beyond.append(tied)
            wrong[run.attack] = _people(pl.concat([sure, tied]).filter(pl.col("truth") == WRONG))
        certain = _best(certainly)
        above = _best([certain, *beyond])
        misled = _people(above.filter(pl.col("truth") == WRONG))
        unsteady = distinct(np.concatenate([self.changed, self.replaced]))
        falsely = _people(certain.filter(pl.col("truth") == WRONG))
        changed, replaced = np.isin(misled, self.changed), np.isin(misled, self.replaced)
        return Truth(
            attacks=tuple(compared),
            certain=_counted(certain),
            above=_counted(above),
            several=self._stays.filter(pl.col("tables") > 1).height,
            changed=self.changed.size,
            replaced=self.replaced.size,
            misled_changed=int(changed.sum()),
            misled_replaced=int((replaced & ~changed).sum()),
            misled_by_others=int((np.isin(misled, falsely) & ~changed & ~replaced).sum()),
            static=tuple(run.attack for run in report.runs if _static(run, report) and run.findings is not None),
            marks=self._marks(report),
            wrong_people=wrong,
            misled_people=misled,
            unsteady=unsteady,
            shaken={
                release.number: 1 + distinct(release.member_groups[np.isin(release.members, unsteady)])
                for release in self.view.plain
            },
        )

    def _marks(self, report: AuditReport) -> dict[Finding, Marked]:
        """Whether each finding is true: for somebody of those it is about, if they are several."""
        findings = [(_static(run, report), finding) for run in report.runs for finding in run.judgement.findings]
        rows: list[tuple[int, str | None, int, int, int | None]] = []
        owner: list[int] = []
        for at, (static, finding) in enumerate(findings):
            values = finding.among or (() if finding.value is None else (finding.value,))
            for person in finding.people if values else ():
                when = None if static else finding.release
                rows += [(len(owner), finding.column, person, value, when) for value in values]
                owner.append(at)
        claims = pl.DataFrame(rows, schema=TIED, orient="row").filter(pl.col("person") >= 0)
        judged = pl.concat(
            [pl.DataFrame(schema={"claim": pl.Int64, **JUDGED})]
            + [self._judged(some, column) for (column,), some in claims.group_by("column")]
        )
        told: dict[int, dict[int, int]] = {}
        for claim, person, truth in judged.select("claim", "person", "truth").iter_rows():
            told.setdefault(owner[claim], {})[person] = truth
        found: dict[Finding, Marked] = {}
        for at, truths in told.items():
            finding = findings[at][1]
            people = tuple(sorted(finding.people, key=lambda person: -truths.get(person, -1)))
            marked = Marked(MARKS[max(truths.values())], people, sum(truth == RIGHT for truth in truths.values()))
            found[finding] = found[replace(finding, people=people)] = marked
        return found | self._pairs([finding for _, finding in findings])

    def _pairs(self, findings: Sequence[Finding]) -> dict[Finding, Marked]:
        """Whether two people who are said to have the same value ever had."""
        same = ("equivalence", "correlation")
        alike = [one for one in findings if one.what in same and len(one.people) == 2]
        people = {person for one in alike for person in one.people}
        asked = pl.Series([person for person in people if person >= 0], dtype=pl.UInt32)
        mine = self._ever.filter(pl.col("person").is_in(asked.implode()))
        values: dict[int, set[int]] = {}
        for person, position in mine.select("person", "position").iter_rows():
            values.setdefault(person, set()).add(position)
        found: dict[Finding, Marked] = {}
        for one in alike:
            first, second = one.people
            if min(first, second) < 0:
                continue
            if values.get(first, set()) & values.get(second, set()):
                found[one] = Marked("right", one.people, 2)
            elif {first, second} <= values.keys() and not np.isin([first, second], self.elsewhere).any():
                found[one] = Marked("wrong", one.people, 0)
            else:
                found[one] = Marked("unknown", one.people, 0)
        return found


HAD = pl.Schema({"person": pl.UInt32, "release": pl.Int32, "position": pl.Int32})


def _coded(rows: pl.DataFrame, schema: Schema, place: dict[object, int], number: int) -> pl.DataFrame:
    """Who had which value in a table, by position; values that have none yet get one below 0."""
    column, view = rows[schema.sensitive], sum(at >= 0 for at in place.values())

    def position(value: object) -> int:
        return place.setdefault(value, view - len(place) - 1)

    used = column.unique()
    labels = used.cast(pl.String) if isinstance(column.dtype, pl.Enum) else used
    positions = pl.DataFrame(
        {"value": used.to_physical(), "position": pl.Series(map(position, labels.to_list()), dtype=pl.Int32)}
    )
    return (
        pl.DataFrame({"person": rows[PERSON], "value": column.to_physical(), "release": number})
        .join(positions, on="value", nulls_equal=True)
        .select(*HAD)
        .cast(HAD)
    )


def _by_column(attack: str, certain: pl.DataFrame, above: pl.DataFrame, excluded: pl.DataFrame) -> list[Compared]:
    """What one attack concluded, counted for values and for each column; nothing where it concluded nothing."""
    told = (certain, above, excluded)
    names = pl.concat([one["column"] for one in told]).unique(maintain_order=True).to_list()
    return [
        Compared(attack, name, *(_counted(one.filter(pl.col("column").eq_missing(name))) for one in told))
        for name in sorted(names, key=lambda name: name or "")
    ]


def _counted(judged: pl.DataFrame) -> Counted:
    often = np.bincount(judged["truth"].to_numpy(), minlength=3).tolist()
    return Counted(judged.height, often[RIGHT], often[WRONG], often[UNKNOWN])


def _best(judged: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """For each person whether one of the conclusions about them is right, or may be."""
    every = pl.concat([pl.DataFrame(schema=JUDGED), *judged])
    best = every.group_by("person").agg(pl.col("truth").max()).sort("person")
    return best.select(pl.lit(None, pl.String).alias("column"), "person", "truth")


def _people(judged: pl.DataFrame) -> Ints:
    return judged["person"].unique().sort().to_numpy().astype(np.int64)


def _static(run: Run, report: AuditReport) -> bool:
    """Whether an attack took values to be static in this audit."""
    changing = report.knowledge is not None and report.knowledge.change is not None
    return run.by.static and not (changing and run.by.changes)
