"""Releases that other tools made, as an outsider sees them.

    foreign = read_releases("releases/", sensitive="diagnosis", registry="people.csv", person="name", present="all")
    ri.audit(foreign.published, limit=1/2)

Three ways, from the most knowledge to the least: the files name the people themselves; a registry has everybody's
exact quasi-identifiers, and who may be in which group is computed; or nobody is known, and groups are compared by
their regions. A registry that turns out to lack people leaves only the third.

Nothing is guessed in silence: every decision is among the notes, with the option that changes it, and all of them are
in `decisions`, by which the same is read again without guessing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reissue.errors import ParameterError, TableError, count_of, listed
from reissue.foreign.asked_columns import code_notes, codes_apart, telling_notes
from reissue.foreign.called_columns import called_alike, check_named
from reissue.foreign.files import ReleaseFiles, read_cells, read_files
from reissue.foreign.float_texts import without_point_zero
from reissue.foreign.foreign_cells import SourceColumn, read_column
from reissue.foreign.foreign_registry import ForeignRegistry
from reissue.foreign.foreign_tables import (
    GROUP,
    ColumnRoles,
    Grouped,
    attribute_names,
    group_column,
    grouped,
)
from reissue.foreign.foreign_views import UNMATCHED, by_name, by_region, by_registry, value_doubts, value_notes
from reissue.foreign.headers import folded
from reissue.foreign.questioned import left_out, questioned, refuse_counts
from reissue.foreign.release_order import order_notes
from reissue.foreign.spoken_columns import ToldColumns
from reissue.foreign.suppression import Suppression, check_suppression, marked, suppression_notes, with_rest
from reissue.foreign.where import of_releases
from reissue.model.attributes import Attribute, Intervals
from reissue.model.hierarchy import MISSING, Hierarchy
from reissue.model.published import Published
from reissue.model.records import value_columns
from reissue.model.regions import Regions
from reissue.tables.plain_ids import plain_forms

COUNT = "count"
MANY, FEW_TOGETHER = 6, 0.1
"""From so many quasi-identifiers on it is asked which are known, if no larger share of rows is like another."""
SLIPS = 0.01
"""So large a share of days may be written wrongly."""


@dataclass(frozen=True, repr=False)
class Foreign:
    """Releases made elsewhere."""

    published: Published
    """What an outsider sees of them."""
    notes: tuple[str, ...]
    """How they were understood, in plain words."""
    unmatched: pl.DataFrame
    """What did not fit: `release`, `what`, `count`."""
    names: tuple[str, ...]
    """The file or folder of each release."""
    quasi: tuple[str, ...]
    """The columns that an outsider may know of people."""
    form: str
    """`generalised`, or `anatomised` where exact quasi-identifiers are published beside the values."""
    sensitive: tuple[str, ...] = ()
    """The sensitive columns; where there are several, values are records of them."""
    decisions: Mapping[str, Any] = field(default_factory=dict)
    """What was said and decided about columns, as parameters of `read_releases`."""
    doubts: tuple[str, ...] = ()
    """The notes that ask for something, or tell what may have been read wrongly; they are the first ones."""

    def __repr__(self) -> str:
        unmatched = int(self.unmatched["count"].sum())
        return f"Foreign({count_of(len(self.names), 'release')}, {self.form}, {unmatched:,} things unmatched)"


def read_releases(
    releases: str | Path | Sequence[object] | None = None,
    *,
    sensitive: str | Sequence[str],
    quasi: Collection[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    registry: object | None = None,
    person: str | None = None,
    present: object | None = None,
    drop: Collection[str] = (),
    group: str | None = None,
    keep: Collection[str] = (),
    labels: Collection[str] = (),
    missing: Collection[str] | Mapping[str, Collection[str]] = (),
    rename: Mapping[str, str] | None = None,
    accept_proposals: bool = False,
    counts: str | None = None,
    git: str | Path | None = None,
    file: str | None = None,
    sheet: str | Sequence[str] = (),
    suppressed: Suppression | None = None,
    show_values: bool = False,
) -> Foreign:
    """Read releases that were made elsewhere.

    `releases` is a folder with one file (or one folder) for each release, in the order of the dates or numbers in
    their names, a zip archive of such files, or files and tables in their order. With `git`, a folder of a repository,
    they are the states of its `file`; else `file` is what is read in the folder of each release. `sheet` is what is
    read of Excel files with several sheets, one name or those that may be there; by default the one that has the
    sensitive columns.

    `sensitive` is the sensitive column, or several: then values are records of them. `quasi` are the columns an
    outsider may know of people; by default all that have no other role, but for those that tell every row apart, are
    the same everywhere, count or follow from others, unless `keep` names them. `group` names a column that says which
    rows belong together; by default a column that is called so, else rows with equal quasi-identifiers do. With
    `counts`, a column, each row stands for so many people.

    `registry` is a table of people with exact quasi-identifiers; `person` is its column of names, or that of the
    releases where they have one. `present` says who is known to be in the releases: "all" of the registry in every
    release, a table of `person` and `release` (its number or its file), or nobody (None).

    `labels` are columns whose cells are labels, whatever they look like. `missing` are texts that mean a missing value,
    in all columns or, by column, in one. `rename` gives columns another name; names that differ in case and signs alone
    are one column anyway, and with `accept_proposals` so are those that only seem to be.

    `suppressed` says what rows are that show no quasi-identifier at all: "class", somebody's who fits no class that the
    release publishes, as with full-domain recoding; "anywhere", anybody's; None: nobody knows, and what they may hide
    is not called proven.
    """
    told = ToldColumns.of(sensitive, quasi, drop, keep, labels, missing, group, person, counts)
    told.check(registry, present, git, releases)
    hierarchies = dict(hierarchies or {})
    if problems := check_suppression(suppressed):
        raise ParameterError("The releases cannot be read like this.", problems=problems)
    # What may have been read wrongly comes before what is as it seems.
    first: list[str] = []
    later: list[str] = []
    sheets = (sheet,) if isinstance(sheet, str) else tuple(sheet)
    new = dict(rename or {})
    columns = [next((old for old, name in new.items() if name == column), column) for column in told.sensitive]
    files, sheets = read_files(releases, git=git, file=file, columns=columns, sheets=sheets, notes=first)
    files, told, rename = called_alike(files, told, new, accept_proposals, first, later)
    check_named(files, told)
    compared = [*told.sensitive, *([] if told.person is None else [told.person])]
    files, more = without_point_zero(files, compared)
    later += more
    asked = {folded(name): folder for name, folder in hierarchies.items()}
    known = None if registry is None or person is None else read_cells(registry)
    if known is not None:
        known = _as_the_files(known, files, told)
    told = replace(told, plain_group=GROUP in told.keep)
    files, told = _chosen(files, told, [] if known is None else known.columns, later)
    roles = told.roles()
    tables = _grouped(files, roles)
    names = list(dict.fromkeys(name for table in tables for name in table.cells.columns))
    hierarchies = {name: asked.pop(folded(name)) for name in names if folded(name) in asked}
    _check_hierarchies(list(asked), names)
    named = [table for table in tables if table.people is not None]
    people = None
    if known is not None and told.person is not None:
        people = ForeignRegistry.read(known, told.person, names)
    elif told.person is not None and not named:
        raise TableError(
            f"None of the releases has a column '{person}'.",
            hint=f"they have {listed(names)}; or name a registry that has it.",
        )
    if named and len(named) != len(tables):
        raise TableError(
            f"{len(named):,} of {len(tables):,} releases have a column '{person}'.",
            hint=f"let all of them have it, or leave it out (--drop, drop=['{person}']); a number that is given anew "
            "in every release says nothing of who a row is about.",
        )
    read = _regions(tables, people, names, hierarchies, told, show_values)
    regions, of_people = read.regions, read.of_people
    told = told.with_missing(read.guessed)
    value = " and ".join(told.sensitive)
    asked_about = [*value_doubts(tables, value), *value_notes(tables, value), *_group_doubts(tables, roles)]
    if not named and people is None:
        asked_about += telling_notes(files, names, told.sensitive)
        asked_about += [] if roles.quasi is not None else _many_notes(tables[-1], names)
    of_rows = suppression_notes(tables, regions, suppressed)
    doubts = [*asked_about, *first, *read.doubts, *(of_rows if suppressed is None else [])]
    notes = [*doubts, *(of_rows if suppressed is not None else []), *_hidden_notes(tables, told.sensitive)]
    notes += [*later, *read.asides]
    notes += [*_role_notes(tables, roles, names), *read.hows]
    regions = with_rest(tables, regions, suppressed)
    if named:
        published, unmatched = by_name(tables, people)
        notes.append("the files say who is in which group")
        notes += _alike(named)
    elif people is not None and of_people is not None:
        published, unmatched, more = by_registry(tables, regions, people, of_people, people.present(present, files))
        notes += more
    else:
        published, unmatched = by_region(tables, regions)
        notes.append("nobody is known by name: groups are compared by what their quasi-identifiers have in common")
    if len(told.sensitive) > 1:
        records = [str(value) for value in published.values]
        published = replace(published, columns=value_columns(told.sensitive, records))
    published = marked(published, tables, suppressed)
    unmatched += _row_mismatches(tables)
    form = "anatomised" if any(one.form == "anatomised" for one in files) else "generalised"
    frame = pl.DataFrame(sorted(unmatched, key=lambda row: row[0]), schema=UNMATCHED, orient="row")
    return Foreign(
        published,
        tuple(notes),
        frame,
        tuple(one.name for one in files),
        tuple(names),
        form,
        told.sensitive,
        told.decisions(names, rename, git, file, sheets),
        tuple(doubts),
    )


def _as_the_files(registry: pl.DataFrame, files: Sequence[ReleaseFiles], told: ToldColumns) -> pl.DataFrame:
    """A registry whose columns are called as those of the files are, where they differ in case and signs alone."""
    names = {folded(name): name for one in files for table in one.tables.values() for name in table.columns}
    names |= {folded(name): name for name in told.columns}
    new = [names.get(folded(name), name) for name in registry.columns]
    return registry if len(set(new)) < len(new) else registry.rename(dict(zip(registry.columns, new, strict=True)))


def _chosen(
    files: list[ReleaseFiles], told: ToldColumns, registered: Sequence[str], notes: list[str]
) -> tuple[list[ReleaseFiles], ToldColumns]:
    """What becomes of columns of which nothing was said."""
    roles = told.roles()
    tables = [one.tables.get("quasi", one.tables.get("table", pl.DataFrame())) for one in files]
    free = list(dict.fromkeys(name for table in tables for name in attribute_names(table, replace(roles, quasi=None))))
    told = _with_anonypys_count(files, told, free, notes)
    if told.counts is not None:
        notes.append(f"each row stands for as many people as '{told.counts}' says")
        free = [name for name in free if name != told.counts]
    elif told.quasi is None:
        refuse_counts(files, [name for name in free if name not in told.keep], told.sensitive)
    if told.quasi is not None:
        return files, told
    found = questioned(files, free, {*told.keep, *registered}, registry=bool(registered))
    if found and len(found) == len(free) and group_column(tables[0], roles) is None:
        raise TableError(
            "No column is left that an outsider may know of people.",
            problems=left_out(found),
            hint="say which are quasi-identifiers: --quasi, or --keep.",
        )
    notes += left_out(found)
    return files, replace(told, left=tuple(found))


def _with_anonypys_count(
    files: Sequence[ReleaseFiles], told: ToldColumns, free: Sequence[str], notes: list[str]
) -> ToldColumns:
    """anonypy writes cells as lists, and how many rows each one stands for as `count`."""
    if told.counts is not None or COUNT not in free or COUNT in (*told.keep, *(told.quasi or ())):
        return told
    tables = [one.tables.get("table", pl.DataFrame()) for one in files]
    listing = all(
        COUNT in table.columns
        and any(table[name].str.starts_with("['").any() for name in table.columns if name != COUNT)
        for table in tables
    )
    if not listing:
        return told
    notes.append(f"the files look like anonypy's, of which each row stands for '{COUNT}' rows; --keep {COUNT} if not")
    return replace(told, counts=COUNT)


def _check_hierarchies(unused: Sequence[str], names: Sequence[str]) -> None:
    if unused:
        raise ParameterError(
            f"There are hierarchies for {listed(sorted(unused))}, which the releases do not have as quasi-identifiers.",
            hint=f"quasi-identifiers are {listed(list(names))}.",
        )


def _grouped(files: Sequence[ReleaseFiles], roles: ColumnRoles) -> list[Grouped]:
    tables: list[Grouped] = []
    problems: list[tuple[str, str]] = []
    for one in files:
        made = grouped(one, roles)
        if isinstance(made, list):
            problems += [(one.name, problem) for problem in made]
        else:
            tables.append(made)
    if problems:
        doubled = all(" of people who have one already" in problem for _, problem in problems)
        by_person = f"'{roles.person}' does not tell people apart: leave it out, or keep one row for each of them."
        by_columns = "name the columns as the files do (sensitive, quasi, person, group), or correct the files."
        raise TableError(
            "The releases do not fit what was said about them.",
            problems=of_releases(problems),
            hint=by_person if doubled else by_columns,
        )
    return tables


@dataclass(frozen=True, repr=False)
class _ReadColumns:
    """The quasi-identifiers as they were read."""

    regions: list[Regions]
    """Those of the groups of each release."""
    of_people: Regions | None
    """What is known of registered people."""
    guessed: dict[str, tuple[str, ...]]
    """By column, texts that were taken to mean that nothing is known."""
    doubts: list[str]
    """What was not understood, or guessed."""
    asides: list[str]
    """What all cells of a column have in common."""
    hows: list[str]
    """What columns are."""


def _regions(
    tables: Sequence[Grouped],
    people: ForeignRegistry | None,
    names: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    told: ToldColumns,
    show_values: bool,
) -> _ReadColumns:
    """Read every quasi-identifier of all releases together."""
    parts: list[dict[str, Attribute]] = [{} for _ in tables]
    known: dict[str, Attribute] = {}
    problems: list[str] = []
    doubts: list[str] = []
    guessed: dict[str, tuple[str, ...]] = {}
    hows: dict[str, list[str]] = {}
    asides: dict[str, list[str]] = {}
    partly: dict[str, list[str]] = {}
    codes: dict[str, tuple[int, ...]] = {}
    newest: dict[str, list[float | None]] = {}
    for name in names:
        having = [at for at, table in enumerate(tables) if name in table.cells.columns]
        sources = [
            SourceColumn(
                f"release '{tables[at].name}'", tables[at].cells[name], tables[at].take, tables[at].missing.get(name)
            )
            for at in having
        ]
        if people is not None and name in people.table.columns:
            cells = people.table[name]
            sources.append(SourceColumn("the registry", cells, np.arange(cells.len())))
        column = read_column(
            name,
            sources,
            hierarchies.get(name),
            labels=name in told.labels,
            missing=told.unknown(name),
            show_values=show_values,
        )
        if isinstance(column, list):
            problems += column
            continue
        for at, part in zip(having, column.parts, strict=False):
            parts[at][name] = part
        if len(column.parts) > len(having):
            known[name] = column.parts[-1]
        hows.setdefault(column.how, []).append(name)
        for aside in column.asides:
            asides.setdefault(aside, []).append(name)
        doubts += column.doubts
        guessed[name] = column.missing
        if column.kind == "numbers":
            codes[name] = codes_apart(column.parts[: len(having)])
        if column.kind == "dates":
            found = dict(zip(having, map(_newest, column.parts), strict=False))
            newest[name] = [found.get(at) for at in range(len(tables))]
        if len(having) < len(tables):
            partly.setdefault(f"in {len(having):,} of {len(tables):,} releases", []).append(name)
    if problems:
        raise TableError(
            "Some columns cannot be understood.",
            problems=problems,
            hint="give a hierarchy for a column whose labels stand for others, or leave the column out with drop=.",
        )
    doubts = order_notes([table.name for table in tables], newest) + doubts
    doubts += code_notes({name: found for name, found in codes.items() if name not in told.missing_in}, told.missing)
    verb = {True: "is", False: "are"}
    for where, some in partly.items():
        doubts.append(f"{listed(some)} {verb[len(some) == 1]} {where}, and may be anything in the others")
    return _ReadColumns(
        [Regions(table.count, part, table.owner) for table, part in zip(tables, parts, strict=True)],
        None if people is None else Regions(people.table.height, known),
        guessed,
        doubts,
        [f"{listed(some)}: {aside}" for aside, some in asides.items()],
        [f"{listed(some)} {verb[len(some) == 1]} read as {how}" for how, some in hows.items()],
    )


def _newest(days: Attribute) -> float | None:
    """The newest day of a release, but for a few that may be slips; None where it has none."""
    if not isinstance(days, Intervals):
        return None
    known = days.high[np.isfinite(days.high) & (days.low == days.high)]
    return float(np.quantile(known, 1 - SLIPS, method="lower")) if known.size else None


def _many_notes(last: Grouped, names: Sequence[str]) -> list[str]:
    """Whether so much counts as known that nearly all rows stand alone, whatever an outsider really knows."""
    alone, rows = int(np.count_nonzero(last.rows == 1)), int(last.rows.sum())
    if len(names) < MANY or alone < (1 - FEW_TOGETHER) * rows:
        return []
    return [
        f"{len(names):,} columns count as known to an outsider, and with all of them {alone:,} of {rows:,} rows of "
        f"release '{last.name}' stand alone; name those that are known (--quasi), or leave out what is not (--drop)"
    ]


def _group_doubts(tables: Sequence[Grouped], roles: ColumnRoles) -> list[str]:
    """Whether a column called `group` may be one like others: its cells are labels, or rows of one group differ."""
    if not _by_called_group(tables, roles):
        return []
    why = "its cells are no whole numbers" if any(table.by_words for table in tables) else ""
    if any(table.owner is not None for table in tables):
        why = "rows of one group have different cells"
    told = f"the column '{GROUP}' is taken to say which rows belong together, and {why}"
    return [f"{told}; --keep {GROUP} if it is a column like others"] if why else []


def _role_notes(tables: Sequence[Grouped], roles: ColumnRoles, names: Sequence[str]) -> list[str]:
    notes = (
        [] if roles.quasi is not None else [f"quasi-identifiers are all columns without another role: {listed(names)}"]
    )
    if _by_called_group(tables, roles) and not _group_doubts(tables, roles):
        notes.append(
            f"the column '{GROUP}' says which rows belong together; --keep {GROUP} if it is a column like others"
        )
    return notes


def _by_called_group(tables: Sequence[Grouped], roles: ColumnRoles) -> bool:
    """Whether rows belong together by a column that nobody named, but that is called so."""
    return roles.group is None and any(table.by_label for table in tables)


def _hidden_notes(tables: Sequence[Grouped], sensitive: Sequence[str]) -> list[str]:
    hidden = sum(table.hidden for table in tables)
    if not hidden:
        return []
    having = sum(table.hidden > 0 for table in tables)
    return [
        f"{count_of(hidden, 'cell')} of {listed(sensitive)}, in {having:,} of {len(tables):,} releases, without a "
        f"value: '{MISSING}' is a value of its own, which stays like others where values do"
    ]


def _alike(tables: Sequence[Grouped]) -> list[str]:
    """People who may be the same in two releases, but for how they are written there."""
    names = [table.people.cast(pl.String).unique() for table in tables if table.people is not None]
    every = pl.concat(names).unique()
    forms = plain_forms(every)
    same = forms.drop_nulls().len() - forms.drop_nulls().n_unique()
    if not same:
        return []
    return [
        f"{count_of(same, 'name differs', 'names differ')} from another in case, punctuation or leading zeros alone: "
        "they are taken for other people; write them the same way in all releases if they are not"
    ]


def _row_mismatches(tables: Sequence[Grouped]) -> list[tuple[int, str, int]]:
    """Groups of anatomised releases that do not publish as many values as they list people."""
    found = []
    for number, table in enumerate(tables, start=1):
        if table.weights is not None:
            continue
        people = np.bincount(table.of_row, minlength=table.count)
        wrong = int(np.count_nonzero(people != table.rows))
        if wrong:
            found.append((number, "groups that list more or fewer people than they publish values", wrong))
    return found
