"""All findings as one table: everybody who can be tied to a value, and where in the files; written as CSV or Parquet.

A page tells the worst. This lists everybody, a row for each person and what they are tied to, the worst first, and
below them what was found of groups in which nobody is known, and of sets of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reissue.arrays.budget import afresh
from reissue.arrays.types import Bools, Ints
from reissue.attacks.sentences import Cell, Value, Witness
from reissue.attacks.tied import UNSEEN
from reissue.auditing import whereabouts
from reissue.auditing.naming import Naming
from reissue.errors import ParameterError, StorageError, check_text, is_text, printable
from reissue.model.csv_files import write_csv
from reissue.model.published import Published

if TYPE_CHECKING:
    from reissue.attacks.base import Finding
    from reissue.auditing.report import AuditReport, Run
    from reissue.model.assumptions import AssumptionName

COLUMNS = pl.Schema(
    {
        "person": pl.String,
        "release": pl.Int64,
        "file": pl.String,
        "group": pl.Int64,
        "lines": pl.String,
        "column": pl.String,
        "value": pl.String,
        "probability": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "kind": pl.String,
        "what": pl.String,
        "attack": pl.String,
        "rests_on": pl.String,
        "witness": pl.String,
    }
)
"""The columns of the table. `release`, `file`, `group` and `lines` say where: the release that completes it or, where
that was not worked out or does not certainly show the person, the last that does; the lines are those of the person's
group in its file. Group and lines are null where it is not known which group it is, `value` unless values are asked
for; `witness` has the derivation of the worst."""
LINES = 40
"""So many lines, or runs of lines, are told of one group."""
SUFFIXES = (".csv", ".parquet")


def finding_table(report: AuditReport, naming: Naming) -> pl.DataFrame:
    """The table of all findings; see `COLUMNS`."""
    told = {_key(report, finding): finding for finding in reversed(report.findings) if finding.people}
    claims = report.claims.with_row_index("at")
    parts = [pl.DataFrame(schema=COLUMNS)]
    if claims.height:
        parts.append(_of_claims(report, naming, claims, told))
    counted = {_key(report, finding) for finding in told.values()} & {*_keys(claims)}
    of_groups, names = _of_groups(report, naming)
    parts += of_groups
    others = [one for one in report.findings if one.attack not in names and _key(report, one) not in counted]
    parts += [_of_findings(report, naming, others)] if others else []
    return pl.concat(parts)


def _of_groups(report: AuditReport, naming: Naming) -> tuple[list[pl.DataFrame], set[str]]:
    """Where nobody is known by name, all groups that tell and not only the worst: rows of the table, and whose."""
    parts, names = [], set[str]()
    for run in report.runs:
        beyond = run.judgement.status == "beyond" and run.by.nameless and run.findings is not None
        if not beyond or run.findings is None or run.judgement.count <= len(run.judgement.findings):
            continue
        names.add(run.attack)
        with afresh():
            groups = run.findings.of_groups(report.limits)
            if groups is None:
                most = run.judgement.count + len(run.judgement.findings)
                judged = run.findings.judge(report.limits, most=most)
            else:
                judged = replace(run.judgement, findings=run.findings.beside_groups(report.limits))
        told = _of_findings(report, naming, [*report.leaning.resting(run.by, judged).findings])
        if groups is not None:
            every = pl.concat([_of_telling(report, naming, groups, run.attack), told])
            told = every.sort("probability", descending=True, nulls_last=True, maintain_order=True)
        parts.append(told)
    return parts, names


def check_file(path: str | Path) -> Path:
    """Refuse a file that findings cannot be written to."""
    path = Path(path)
    check_text("The name of the file of findings", path)
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(
            f"Findings are written as CSV or Parquet. Got '{path.name}' instead.",
            hint="name a file that ends in .csv or .parquet.",
        )
    return path


def write_findings(frame: pl.DataFrame, path: Path) -> Path:
    """Write the table to a file that nobody else on the machine can read."""
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        if path.suffix.lower() == ".csv":
            write_csv(frame, path)
        else:
            frame.write_parquet(path)
    except OSError as error:
        raise StorageError(f"'{path}' cannot be written: {error.strerror or error}.") from error
    return path


# Claims about people


def _of_claims(report: AuditReport, naming: Naming, claims: pl.DataFrame, told: dict[object, Finding]) -> pl.DataFrame:
    """A row for each claim about somebody's value."""
    rests = {run.attack: ", ".join(_resting(report, run)) for run in report.runs}
    findings = [told.get(key) for key in _keys(claims)] if told else [None] * claims.height
    at = [row for row, finding in enumerate(findings) if finding is not None]
    releases = np.full(claims.height, -1, dtype=np.int64)
    releases[at] = [finding.release or -1 for finding in findings if finding is not None]
    said = claims["release"].fill_null(-1).to_numpy()
    places = _Places(report)
    people, supposed = claims["person"].to_numpy(), claims["supposed"].to_numpy()
    releases = places.last(people, np.where(releases < 0, said, releases), supposed)
    groups = places.groups(people, releases, supposed)
    witnesses: list[str | None] = [None] * claims.height
    resting: list[str | None] = [None] * claims.height
    for row, finding in enumerate(findings):
        if finding is not None:
            witnesses[row] = _text(naming.witness(finding))
            resting[row] = ", ".join(finding.rests_on) or None
    first = claims["attack"].str.split(", ").list.first().replace_strict(rests, default=None, return_dtype=pl.String)
    resting_on = pl.Series(resting, dtype=pl.String).fill_null(first.replace("", None))
    # Of each of these people it is not known whether they are in a release.
    unsaid = claims["supposed"] & ~resting_on.fill_null("").str.contains("presence", literal=True)
    more = pl.concat_str(resting_on, pl.lit("presence"), separator=", ", ignore_nulls=True)
    resting_on = pl.select(pl.when(unsaid).then(more).otherwise(resting_on)).to_series()
    several = claims["positions"].list.len() > 1
    return pl.DataFrame(
        {
            "person": _people(naming, claims["person"].to_numpy()),
            "release": pl.Series(np.where(releases < 0, 0, releases)).replace(0, None),
            "file": _files(report, releases),
            "group": pl.Series(groups).replace(0, None),
            "lines": places.lines(groups, releases),
            "column": claims["column"].fill_null(pl.lit(_column(report), pl.String)),
            "value": _values(report.published, naming, claims),
            # Of what is bounded only, what is proven.
            "probability": claims.select(
                pl.when(pl.col("kind") == "bounded").then(pl.col("low")).otherwise(pl.col("probability"))
            ).to_series(),
            "low": claims["low"],
            "high": claims["high"],
            "kind": claims["kind"],
            "what": pl.select(pl.when(several).then(pl.lit("excluded")).otherwise(pl.lit("value"))).to_series(),
            "attack": claims["attack"],
            "rests_on": resting_on,
            "witness": pl.Series(witnesses, dtype=pl.String),
        },
        schema_overrides=dict(COLUMNS),
    ).select(*COLUMNS)


def _resting(report: AuditReport, run: Run) -> tuple[AssumptionName, ...]:
    """What the claims of an attack rest on, as its findings say."""
    told = next((one.rests_on for one in run.judgement.findings if one.people and not one.supposed), None)
    return report.leaning.carrying(run.by) if told is None else told


def _key(report: AuditReport, finding: Finding) -> object:
    values = finding.among or (() if finding.value is None else (finding.value,))
    return finding.person, finding.column, tuple(sorted(values))


def _keys(claims: pl.DataFrame) -> list[object]:
    return [
        (person, column, tuple(positions))
        for person, column, positions in claims.select("person", "column", "positions").iter_rows()
    ]


def _people(naming: Naming, people: Ints) -> pl.Series:
    numbers, place = np.unique(people, return_inverse=True)
    return pl.Series([_text(naming.person(number)) for number in numbers.tolist()], dtype=pl.String).gather(place)


def _text(thing: object) -> str:
    """As it is; what no file can hold is escaped."""
    text = str(thing)
    return text if is_text(text) else printable(text)


def _column(report: AuditReport) -> str | None:
    """What the sensitive column is called; of several, all of them."""
    return None if report.subject is None else "; ".join(report.subject.sensitive)


def _files(report: AuditReport, releases: Ints) -> pl.Series:
    files = {} if report.subject is None else dict(report.subject.files)
    return pl.Series(releases).replace_strict(files, default=None, return_dtype=pl.String)


def _values(published: Published, naming: Naming, claims: pl.DataFrame) -> pl.Series:
    """The values, of several all of them; nothing unless values are asked for."""
    if not naming.show_values:
        return pl.Series([None], dtype=pl.String).new_from_index(0, claims.height)
    own: dict[str | None, Sequence[object]] = {None: published.values}
    own |= {column.name: column.values for column in published.columns}
    texts = [
        " or ".join("a value that no release shows" if at == UNSEEN else _text(own[column][at]) for at in positions)
        for column, positions in claims.select("column", "positions").iter_rows()
    ]
    return pl.Series(texts, dtype=pl.String)


class _Places:
    """Where people are in the files, worked out for all of them at once."""

    def __init__(self, report: AuditReport) -> None:
        self._published = report.published
        self._numbers = np.array([release.number for release in report.published.plain], dtype=np.int64)
        self._known = not report.published.sets and report.named

    def last(self, people: Ints, releases: Ints, supposed: Bools) -> Ints:
        """For each of people the release that is said or, where they are not known to be in it, the last that they are
        known to be in; `supposed` are those of whom it is told what is so if they are in a release."""
        if not self._known or not people.size:
            return releases
        known = np.where(self.groups(people, releases, supposed) > 0, releases, 0)
        places = self._published.index.places(people)
        for at in reversed(range(self._numbers.size)):
            there = (known == 0) & (self._in(at, places, supposed) > 0)
            known[there] = self._numbers[at]
        return np.where(known > 0, known, releases)

    def groups(self, people: Ints, releases: Ints, supposed: Bools) -> Ints:
        """The group of each person in a release, counted from 1; 0 where it is not known."""
        groups = np.zeros(people.size, dtype=np.int64)
        if self._known and people.size:
            places = self._published.index.places(people)
            for at, number in enumerate(self._numbers.tolist()):
                rows = np.flatnonzero(releases == number)
                groups[rows] = self._in(at, places[rows], supposed[rows])
        return groups

    def _in(self, at: int, places: Ints, supposed: Bools) -> Ints:
        """The group of everybody in the release at a position."""
        index = self._published.index
        group = index.sure_place[at, places].astype(np.int64)
        if supposed.any():
            group = np.where((group < 0) & supposed, index.only_place[at, places], group)
        return np.where(places >= 0, group + 1, 0)

    def lines(self, groups: Ints, releases: Ints) -> pl.Series:
        """The lines of groups in the files of their releases; null where they are not known."""
        texts = pl.Series([None], dtype=pl.String).new_from_index(0, groups.size)
        for release in self._published.plain if self._known else ():
            rows = np.flatnonzero((releases == release.number) & (groups > 0))
            if release.lines is not None and rows.size:
                each, which = np.unique(groups[rows], return_inverse=True)
                texts = texts.scatter(rows, whereabouts.lines_of_all(release, each, LINES).gather(which))
        return texts


# Findings that are no claims about one person


def _of_telling(report: AuditReport, naming: Naming, groups: pl.DataFrame, attack: str) -> pl.DataFrame:
    """A row for each group that tells by itself; see `OF_GROUPS`."""
    releases, numbers = groups["release"].to_numpy(), groups["group"].to_numpy()
    lines = pl.Series([None], dtype=pl.String).new_from_index(0, groups.height)
    for release in report.published.plain:
        rows = np.flatnonzero(releases == release.number)
        lines = lines.scatter(rows, whereabouts.lines_of_all(release, numbers[rows], LINES)) if rows.size else lines
    values = groups.select("column", "value").unique(maintain_order=True)
    named = [_value(report, naming, column, at) for column, at in values.iter_rows()]
    schema = {"shown": pl.String, "called": pl.String}
    values = values.hstack(pl.DataFrame(named, schema=schema, orient="row"))
    exact = pl.when(pl.col("kind") == "exact").then(pl.col("probability"))
    again = pl.when(pl.col("ends").is_null()).then(pl.lit("")).otherwise(pl.col("called") + pl.col("ends"))
    return (
        groups.join(values, on=["column", "value"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            lines.alias("lines"),
            _files(report, releases).alias("file"),
            pl.lit(None, pl.String).alias("person"),
            pl.col("shown").alias("value"),
            pl.col("column").fill_null(pl.lit(_column(report), pl.String)),
            pl.lit(attack).alias("attack"),
            low=exact,
            high=exact,
            witness=pl.col("begins") + pl.col("called") + pl.col("goes_on") + again,
        )
        .select(COLUMNS.names())
    )


def _value(report: AuditReport, naming: Naming, column: str | None, at: int) -> tuple[str | None, str]:
    """How a value is shown, where it is, and how a derivation calls it that tells of no other."""
    part = Value(at) if column is None else Cell(column, at)
    called = _text(naming.told(Witness(((part,),))))
    own = next((one.values for one in report.published.columns if one.name == column), report.published.values)
    return _text(own[at]) if naming.show_values else None, called


def _of_findings(report: AuditReport, naming: Naming, findings: list[Finding]) -> pl.DataFrame:
    """A row for each finding, as its attack tells it."""
    rows = []
    plain = {release.number: release for release in report.published.plain}
    for finding in findings:
        places = [one for one in whereabouts.places_in(finding.witness) if one.release in plain]
        here = [one for one in places if one.release == finding.release] or places[:1]
        number = here[0].release if here else finding.release
        lines = [whereabouts.lines_of(plain[one.release], one.group, LINES) for one in here[:1]]
        values = finding.among or (() if finding.value is None else (finding.value,))
        own = next((one.values for one in report.published.columns if one.name == finding.column), None)
        shown = [_text((own or report.published.values)[at]) for at in values] if naming.show_values else []
        exact = finding.kind == "exact" and finding.probability is not None
        rows.append(
            {
                "person": ", ".join(_text(naming.person(one)) for one in finding.people) or None,
                "release": number,
                "file": None if number is None else whereabouts.file_of(report.subject, number),
                "group": here[0].group if here else None,
                "lines": lines[0] if lines else None,
                "column": finding.column or _column(report),
                "value": " or ".join(shown) or None,
                "probability": finding.probability,
                "low": finding.probability if exact else None,
                "high": finding.probability if exact else None,
                "kind": finding.kind,
                "what": finding.what,
                "attack": finding.attack,
                "rests_on": ", ".join(finding.rests_on) or None,
                "witness": _text(naming.witness(finding)),
            }
        )
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")
