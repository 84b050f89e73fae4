"""Series whose truth is known, and a judge that holds every claim of an audit against it.

    series = KnownSeries(rows, quasi=("age", "zip"), sensitive="diagnosis")
    report = ri.audit(series.view("all").published, limit=1 / 2)
    assert not series.judged(report).breaches

The judge knows what everybody had in every release. It asks the library what it claims, never what follows.

A claim that somebody has a value is true if they have it in every release that the claim covers: where values are
taken to stay, in all that they are in; otherwise in the release that it names. A false claim is a breach, unless it
names an assumption to rest on that is in truth not so: then it is conditional, and it was the reader's to weigh.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

import polars as pl

import reissue as ri
from reissue.attacks.base import Finding, Findings
from reissue.attacks.sentences import Place
from reissue.auditing.report import AuditReport, Run
from reissue.foreign import Foreign

Scope = Literal["always", "once", "last"]
"""When somebody is said to have a value: in all releases that they are in, in some, in the last of them."""

PERSON, TRUE = "person", "true value"
"""The columns of a release's rows that are not published: who it is, and what they have."""

Knowing = Literal["ids", "all", "table", "unknown", "nobody"]
"""What is known of people: the files name them; a registry says where everybody is taken to be in all releases,
where a table says who is in which, where that is unknown; nobody is known at all."""
KNOWING: tuple[Knowing, ...] = get_args(Knowing)


@dataclass(frozen=True)
class Wrong:
    """A claim that is not so."""

    by: str
    """Which attack, and where it says so."""
    what: str
    rests_on: frozenset[str] = frozenset()
    """The assumptions that the claim names."""


@dataclass(frozen=True)
class Verdict:
    """What the judge says of a report."""

    claims: int
    """How many claims were held against the truth."""
    wrong: tuple[Wrong, ...]
    false: frozenset[str]
    """The assumptions that are in truth not so."""

    @property
    def breaches(self) -> tuple[Wrong, ...]:
        """False claims that name nothing that is not so."""
        return tuple(one for one in self.wrong if not one.rests_on & self.false)

    @property
    def conditional(self) -> tuple[Wrong, ...]:
        """False claims that name what is not so."""
        return tuple(one for one in self.wrong if one.rests_on & self.false)

    @property
    def told(self) -> dict[str, int]:
        """How many breaches there are, by who claims them."""
        return dict(Counter(one.by for one in self.breaches))


@dataclass(frozen=True)
class KnownSeries:
    """Releases with who is in them and what they have."""

    rows: tuple[pl.DataFrame, ...]
    """The rows of each release: `PERSON`, the quasi-identifiers and the value as published, and `TRUE`."""
    quasi: tuple[str, ...]
    sensitive: str
    registry: pl.DataFrame = field(default_factory=pl.DataFrame)
    """People by `PERSON` with exact quasi-identifiers; empty: their cells where they first appear."""
    false: frozenset[str] = frozenset()
    """Assumptions that are in truth not so, beside those that the rows show themselves."""
    exact: tuple[pl.DataFrame, ...] = ()
    """The exact cells of the people of each release, with `PERSON`; none: what is published is exact."""

    @cached_property
    def truth(self) -> dict[str, dict[int, str]]:
        """For everybody what they have in the releases that they are in, by number."""
        found: dict[str, dict[int, str]] = {}
        for number, rows in enumerate(self.rows, start=1):
            for person, value in rows.select(PERSON, TRUE).iter_rows():
                found.setdefault(person, {})[number] = value
        return found

    @property
    def published(self) -> list[pl.DataFrame]:
        """What everybody sees."""
        return [rows.select(*self.quasi, self.sensitive) for rows in self.rows]

    @property
    def named(self) -> list[pl.DataFrame]:
        """The same with who it is."""
        return [rows.select(PERSON, *self.quasi, self.sensitive) for rows in self.rows]

    @cached_property
    def people(self) -> pl.DataFrame:
        """The registry, or else everybody's cells where they first appear."""
        if self.registry.width:
            return self.registry
        every = pl.concat([rows.select(PERSON, *self.quasi) for rows in self.rows])
        return every.unique(PERSON, keep="first", maintain_order=True)

    @property
    def present(self) -> pl.DataFrame:
        """Who is in which release."""
        return pl.concat(
            [rows.select(pl.col(PERSON), pl.lit(at).alias("release")) for at, rows in enumerate(self.rows, start=1)]
        )

    def view(self, knowing: Knowing, *, people: pl.DataFrame | None = None, **more: Any) -> Foreign:
        """The releases as somebody sees them who knows so much."""
        if knowing == "nobody":
            return ri.read_releases(self.published, sensitive=self.sensitive, quasi=self.quasi, **more)
        if knowing == "ids":
            return ri.read_releases(self.named, sensitive=self.sensitive, quasi=self.quasi, person=PERSON, **more)
        present = {"all": "all", "table": self.present, "unknown": None}[knowing]
        if people is not None and knowing == "table":
            present = self.present.filter(pl.col(PERSON).is_in(people[PERSON].implode()))
        return ri.read_releases(
            self.published,
            sensitive=self.sensitive,
            quasi=self.quasi,
            registry=self.people if people is None else people,
            person=PERSON,
            present=present,
            **more,
        )

    # What is not so

    @cached_property
    def changed(self) -> int:
        """How many people have another value in one release than in another."""
        return sum(len({*had.values()}) > 1 for had in self.truth.values())

    @cached_property
    def left(self) -> int:
        """How many people are missing from a release after one that they are in."""
        last = len(self.rows)
        return sum(any(at not in had for at in range(min(had), last + 1)) for had in self.truth.values())

    @cached_property
    def perturbed(self) -> int:
        """How many rows show another value than the person has."""
        return sum(int((rows[self.sensitive] != rows[TRUE]).sum()) for rows in self.rows)

    def loses(self, values: set[str]) -> bool:
        """Whether somebody has one of these values, and another in a later release."""
        courses = ([had[at] for at in sorted(had)] for had in self.truth.values())
        return any(before in values and before != after for had in courses for before, after in pairwise(had))

    def not_so(self, knowing: Knowing, people: pl.DataFrame | None = None) -> frozenset[str]:
        """The assumptions that are in truth not so for somebody who knows so much."""
        registered = {*(self.people if people is None else people)[PERSON].to_list()}
        found = {*self.false}
        found |= {"values-stay"} if self.changed else set()
        found |= {"nobody-leaves"} if self.left else set()
        found |= {"unperturbed"} if self.perturbed else set()
        found |= {"registry-complete"} if not {*self.truth} <= registered else set()
        absent = any(len(self.truth.get(person, ())) < len(self.rows) for person in registered)
        found |= {"presence"} if knowing == "all" and absent else set()
        return frozenset(found)

    # The judge

    def judged(self, report: AuditReport, *, knowing: Knowing = "ids", people: pl.DataFrame | None = None) -> Verdict:
        """Hold everything that a report claims against the truth."""
        judge = _Judge(self, report)
        for run in report.runs:
            if run.findings is not None:
                judge.attack(run, run.findings)
        judge.headline()
        judge.lines()
        judge.rows()
        false = self.not_so(knowing, people)
        lasting = {str(value) for value in (report.knowledge.permanent if report.knowledge else ())}
        false |= {"permanent"} if self.loses(lasting) else set()
        return Verdict(judge.claims, tuple(judge.wrong), false)


class _Judge:
    """Holds the claims of one report against the truth, and keeps what is wrong."""

    def __init__(self, series: KnownSeries, report: AuditReport) -> None:
        self.series, self.report = series, report
        self.truth: Mapping[str, Mapping[int, str]] = series.truth
        self.claims = 0
        self.wrong: list[Wrong] = []
        self.right_certain: set[str] = set()
        self.stay = next((one.carries for one in report.assumptions if one.name == "values-stay"), True)
        """Whether what an attack says of somebody it says of all releases that they are in."""
        self.said = frozenset(one.name for one in report.assumptions if one.carries)
        self.told = self.said | (
            {"permanent"} if report.knowledge is not None and report.knowledge.permanent else set()
        )
        """What figures on top rest on: the assumptions, and the values that are told to be permanent."""

    def attack(self, run: Run, findings: Findings) -> None:
        """Everything that one attack claims."""
        rests = frozenset(run.by.rests_on) & self.said if self.said else frozenset(run.by.rests_on)
        scope = self._scope(run, findings)
        # What it says of a value it says of one that was named as permanent: its words are about nothing else.
        rests |= {"permanent"} if scope == "last" else set()
        for person, value in findings.certain.items():
            self._has(f"{run.attack} certain", str(person), {str(value)}, None, rests, scope, must_be=True)
        for person, values in findings.excluded.items():
            self._has_not(f"{run.attack} excluded", str(person), {str(value) for value in values}, rests)
        for one in run.judgement.findings:
            self._finding(run, one, rests, scope)
        for sets in ("equivalent", "correlations"):
            for some, others in getattr(findings, sets, ()):
                self._same(f"{run.attack} {sets}", some, others, rests)
        self._posteriors(run, findings, rests, scope)
        if hasattr(findings, "channels") and self.report.published.people is None:
            self._channels(run, findings, rests)

    def _scope(self, run: Run, findings: Findings) -> Scope:
        if getattr(findings, "dated", False):
            return "once"
        return "last" if run.attack.startswith("Permanence") else "always"

    def headline(self) -> None:
        """The figures on top may not count more people than can be right."""
        self.claims += 1
        certain = self.report.disclosure.certain
        if certain > len(self.right_certain):
            what = f"{certain} people are counted as certain, {len(self.right_certain)} of them can be right"
            self.wrong.append(Wrong("disclosure certain", what, self.told))

    def lines(self) -> None:
        """Where the table of findings says that somebody's row is, it is."""
        table = self.report.findings_table(show_people=True, show_values=True)
        sure = table.filter(pl.col("lines").is_not_null() & (pl.col("probability") == 1) & (pl.col("what") == "value"))
        for person, release, told, resting in sure.select("person", "release", "lines", "rests_on").iter_rows():
            rows = self.series.rows[release - 1]
            own = {at for at, who in enumerate(rows[PERSON].to_list(), start=2) if who == person}
            if person is None or not own or "more" in told:
                continue
            self.claims += 1
            if not own & {*lines_of(told)}:
                self.wrong.append(Wrong("lines", f"{person} is on {own}, not {told}", frozenset(resting.split(", "))))

    def rows(self) -> None:
        """How many rows of the last release tell the value of whoever is in them is what counting by hand gives."""
        counted = COUNTED.search(self.report.headline.sentence)
        if counted is None or self.report.published.people is not None:
            return
        self.claims += 1
        at, many = int(counted[1] or 1), int(counted[2].replace(",", ""))
        apart = "suppressed-class" in self.said
        by_hand = rows_that_tell(self.series.published[at - 1], self.series.quasi, self.series.sensitive, apart=apart)
        if many != by_hand:
            self.wrong.append(Wrong("headline rows", f"release {at}: {many} rows are told, and by hand {by_hand}"))

    def _finding(self, run: Run, one: Finding, rests: frozenset[str], scope: Scope) -> None:
        if one.column is not None or one.kind not in ("exact", "bounded"):
            return
        if one.what in ("class", "newcomer"):
            self._unnamed(run, one, frozenset(one.rests_on) or rests)
            return
        if not one.people or one.what not in ("value", "excluded", "channel"):
            return
        said = frozenset(one.rests_on) | rests
        values = self.report.published.values
        few = {str(values[at]) for at in (one.among or (() if one.value is None else (one.value,)))}
        person = str(self.report.published.name(one.people[0]))
        proven = (one.kind == "exact" and one.probability == 1) or one.among
        if proven and few:
            release = one.release if scope == "once" or not self.stay else None
            self._has(f"{run.attack} finding", person, few, release, said, scope, must_be=False)

    def _has(
        self,
        by: str,
        person: str,
        values: set[str],
        release: int | None,
        rests: frozenset[str],
        scope: Scope,
        *,
        must_be: bool,
    ) -> None:
        """Somebody has one of some values, in the release that is named or as `scope` says; `must_be`: and is there."""
        self.claims += 1
        had = self.truth.get(person, {})
        if not had:
            right = not must_be
        elif release is not None:
            right = had[release] in values if release in had else not must_be
        elif scope == "last":
            right = had[max(had)] in values
        elif scope == "once":
            right = bool({*had.values()} & values)
        else:
            right = {*had.values()} <= values
        if not right:
            self.wrong.append(Wrong(by, f"{person} has one of {sorted(values)}; they had {dict(had)}", rests))
        elif must_be:
            self.right_certain.add(person)

    def _has_not(self, by: str, person: str, values: set[str], rests: frozenset[str]) -> None:
        self.claims += 1
        had = self.truth.get(person, {})
        if {*had.values()} & values:
            self.wrong.append(Wrong(by, f"{person} has none of {sorted(values)}; they had {dict(had)}", rests))

    def _same(self, by: str, some: Sequence[Any], others: Sequence[Any], rests: frozenset[str]) -> None:
        """Two sets of people have the same values: whichever of those that they had."""
        self.claims += 1
        if any(isinstance(one, int) and one < 0 for one in (*some, *others)):
            return
        held = [[self.truth.get(str(one), {}) for one in side] for side in (some, others)]
        if any(not had for side in held for had in side):
            self.wrong.append(Wrong(by, f"{some} and {others}: somebody is in no release", rests))
            return
        first, second = (Counter(had[max(had)] for had in side) for side in held)
        constant = all(len({*had.values()}) == 1 for side in held for had in side)
        if first != second or not constant:
            self.wrong.append(Wrong(by, f"{some} have what {others} have; they had {held}", rests))

    def _posteriors(self, run: Run, findings: Findings, rests: frozenset[str], scope: Scope) -> None:
        """Values that are told with a probability of 1, in a release where the table names one."""
        frame = findings.posteriors
        if not frame.height or frame.schema["person"] != pl.String:
            return
        sure = frame.filter((pl.col("kind") == "exact") & (pl.col("probability") == 1))
        dated = sure if "release" in sure.columns else sure.with_columns(release=pl.lit(None, pl.Int64))
        for person, value, release in dated.select("person", "value", "release").iter_rows():
            self._has(f"{run.attack} posteriors", person, {value}, release, rests, scope, must_be=True)

    def _channels(self, run: Run, findings: Any, rests: frozenset[str]) -> None:
        """Sets of values where nobody is known, as far as they are proven to be about somebody."""
        if not (self.report.knowledge is not None and self.report.knowledge.growing):
            return
        members = [self._members(at) for at in range(len(self.series.rows))]
        for row in findings.channels.filter(pl.col("people_least") > 0).iter_rows(named=True):
            self.claims += 1
            at, later = row["release_i"] - 1, row["release_j"] - 1
            if row["kind"] == "both":
                about = members[at][row["group_i"] - 1] & members[later][row["group_j"] - 1]
            elif row["kind"] == "new":
                there = {*self.series.rows[at][PERSON].to_list()}
                about = members[later][row["group_j"] - 1] - there
            else:
                continue
            held = {self.truth[one][row["release_j"]] for one in about}
            if len(about) < row["people_least"] or len(held) > row["distinct"]:
                what = f"{row}: {len(about)} people with {len(held)} values"
                self.wrong.append(Wrong(f"{run.attack} channels", what, rests))

    def _unnamed(self, run: Run, one: Finding, rests: frozenset[str]) -> None:
        """What a group tells of whoever is in it, or of whoever is new there."""
        self.claims += 1
        assert one.release is not None and one.value is not None and one.probability is not None
        places = [part for sentence in one.witness.sentences for part in sentence if isinstance(part, Place)]
        if any("groups that overlap" in str(part) for sentence in one.witness.sentences for part in sentence):
            return  # it is about several groups, and names one of them
        groups = {place.group - 1 for place in places if place.release == one.release}
        members = self._members(one.release - 1)
        about = set.union(set(), *(members[group] for group in groups))
        if one.what == "newcomer":
            about -= {*self.series.rows[one.release - 2][PERSON].to_list()}
        elif one.kind == "exact":
            # Whoever fits the cells is in the group: nobody who fits has another row.
            about |= {person for group in groups for person in self._fitting(one.release - 1, group)}
        value = str(self.report.published.values[one.value])
        held = sum(self.truth[person][one.release] == value for person in about)
        share = held / len(about) if about else 0.0
        right = abs(share - one.probability) < 1e-9 if one.kind == "exact" else share >= one.probability - 1e-9
        if not right:
            what = (
                f"whoever is in {sorted(groups)} of release {one.release} has {value} with {one.probability}: {share}"
            )
            self.wrong.append(Wrong(f"{run.attack} {one.what}", what, rests))

    def _fitting(self, at: int, group: int) -> set[str]:
        """The people of a release whose exact cells fit those of a group."""
        if not self.series.exact:
            return set()
        region = self.report.published.releases[at].region
        assert region is not None
        asked = region.select(self.series.quasi).row(group)
        if all(cell in (None, "*") for cell in asked):
            return set()
        cells = self.series.exact[at].select(PERSON, *self.series.quasi)
        return {person for person, *own in cells.iter_rows() if all(map(fits, own, asked))}

    def _members(self, at: int) -> list[set[str]]:
        """The people of each group of a release, in the order of its groups."""
        rows, quasi = self.series.rows[at], list(self.series.quasi)
        region = self.report.published.releases[at].region
        assert region is not None
        names = rows.group_by(quasi, maintain_order=True).agg(PERSON)
        joined = region.select(quasi).join(names, on=quasi, how="left", nulls_equal=True, maintain_order="left")
        return [set(some) for some in joined[PERSON].to_list()]


COUNTED = re.compile(r"(?:[Ii]n release ([0-9,]+)(?:, the last)?, )?[Tt]he \w+ of whoever is in ([0-9,]+) of")
"""How headlines tell of the rows of a release, or of the only one."""


def lines_of(told: str) -> list[int]:
    """Lines as they are told: `2, 5-7`."""
    runs = [part.split("-") for part in told.split(", ")]
    return [line for run in runs for line in range(int(run[0]), int(run[-1]) + 1)]


def rows_that_tell(rows: pl.DataFrame, quasi: Sequence[str], sensitive: str, *, apart: bool) -> int:
    """How many rows all show one value, together with all rows whose cells have a point in common with theirs; `apart`:
    rows with nothing but stars are nobody's who fits other cells."""
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for *cells, value in rows.select(*quasi, sensitive).iter_rows():
        groups.setdefault(tuple(cells), Counter())[value] += 1
    told = 0
    for own, values in groups.items():
        hidden = all(cell == "*" for cell in own)
        near = [
            other
            for cells, other in groups.items()
            if all(map(overlap, own, cells)) and not (apart and hidden != all(cell == "*" for cell in cells))
        ]
        told += values.total() if len(set().union(*near)) == 1 else 0
    return told


def overlap(one: str | None, other: str | None) -> bool:
    """Whether two cells have a point in common, in the writing of `anonymisers`."""
    if one in (None, "*") or other in (None, "*"):
        return True
    first, second = ({*_points(cell)} for cell in (one, other))
    return bool(first & second)


def _points(shown: str) -> list[str]:
    if shown.startswith("["):
        low, high = shown[1:-1].split("-")
        return [str(at) for at in range(int(low), int(high) + 1)]
    return shown[1:-1].replace('"', "").split(",") if shown.startswith("{") else [shown]


def fits(own: object, shown: str | None) -> bool:
    """Whether an exact cell is among what a published one stands for, in the writing of `anonymisers`."""
    if shown in (None, "*") or own is None:
        return True
    if shown.startswith("["):
        low, high = shown[1:-1].split("-")
        return int(low) <= int(str(own)) <= int(high)
    if shown.startswith("{"):
        return f'"{own}"' in shown
    return str(own) == shown


# What must not stand beside figures above the limit


def all_clear(report: AuditReport, series: KnownSeries, limit: float) -> list[str]:
    """What a report says of nothing being there, where one release alone shows a value to be likelier than the limit.

    Rows with the same cells can be told apart by nobody, and whoever is in them has the value of that share. Where
    a registry leaves open who is in them, it is less for each of those who may be, and nothing is asked.
    """
    if report.published.people is not None and not report.published.exact:
        return []
    worst = max(_largest_share(rows, series) for rows in series.published)
    if worst <= limit:
        return []
    said = [report.verdict, *(run.judgement.words for run in report.runs)]
    problems = [f"passed, though a class shows a share of {worst:.3g}"] if report.passed else []
    if "nothing beyond the limits was found" in report.verdict:
        problems.append(f"'{report.verdict}' beside a class with a share of {worst:.3g}")
    problems += [f"'{words}'" for words in said[1:] if words.startswith("Nobody of") and "is tied" in words]
    inference = next(one for one in report.criteria if one.name == "inference")
    if inference.verdict == "met":
        problems.append(f"inference is met beside a class with a share of {worst:.3g}")
    return problems


def _largest_share(rows: pl.DataFrame, series: KnownSeries) -> float:
    """Of all classes of a release that are not suppressed the largest share of one value."""
    quasi = list(series.quasi)
    shown = rows.filter(~pl.all_horizontal(pl.col(quasi).is_null() | (pl.col(quasi) == "*")))
    if not shown.height:
        return 0.0
    counts = shown.group_by(*quasi, series.sensitive).len()
    shares = counts.select(pl.col("len") / pl.col("len").sum().over(quasi))
    return float(shares.to_series().max() or 0)  # type: ignore[arg-type]


# Telling of it


def told(verdict: Verdict, most: int = 5) -> str:
    """What is wrong, in a few lines."""
    lines = [f"{verdict.claims:,} claims, {len(verdict.breaches):,} breaches, {len(verdict.conditional):,} conditional"]
    lines += [f"  {by}: {count:,}" for by, count in sorted(verdict.told.items())]
    lines += [f"    {one.by}: {one.what}"[:300] for one in verdict.breaches[:most]]
    return "\n".join(lines)
