"""Releases that other tools made, as an outsider sees them.

    foreign = read_releases("releases/", sensitive="diagnosis", registry="people.csv", person="name", present="all")
    ri.audit(foreign.published, limit=1/2)

Three ways, from the most knowledge to the least: the files name the people themselves; a registry has everybody's
exact quasi-identifiers, and who may be in which group is computed; or nobody is known, and groups are compared by
their regions. A registry that turns out to lack people leaves only the third. Cells are understood as `cells` says,
files as `files` says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue.errors import ParameterError, TableError, count_of, listed
from reissue.foreign.files import ReleaseFiles, read_files
from reissue.foreign.foreign_cells import SourceColumn, read_column
from reissue.foreign.foreign_registry import ForeignRegistry
from reissue.foreign.foreign_tables import ColumnRoles, Grouped, attribute_names, grouped
from reissue.foreign.foreign_views import UNMATCHED, by_name, by_region, by_registry, value_notes
from reissue.foreign.suppression import Suppression, check_suppression, marked, suppression_notes, with_rest
from reissue.model.attributes import Attribute
from reissue.model.hierarchy import Hierarchy
from reissue.model.published import Published
from reissue.model.regions import Regions


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

    def __repr__(self) -> str:
        unmatched = int(self.unmatched["count"].sum())
        return f"Foreign({count_of(len(self.names), 'release')}, {self.form}, {unmatched:,} things unmatched)"


def read_releases(
    releases: str | Path | Sequence[object],
    *,
    sensitive: str,
    quasi: Collection[str] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    registry: object | None = None,
    person: str | None = None,
    present: object | None = None,
    drop: Collection[str] = (),
    group: str | None = None,
    suppressed: Suppression | None = None,
    show_values: bool = False,
) -> Foreign:
    """Read releases that were made elsewhere.

    `releases` is a folder with one file (or one folder of two tables) for each release, in the order of their
    names, or files and tables in their order. `quasi` are the columns an outsider may know of people; by default all
    that have no other role. `group` names a column that says which rows belong together; by default a column that
    is called so, else rows with equal quasi-identifiers do. `registry` is a table of people with exact
    quasi-identifiers; `person` is its column of names, or that of the releases where they have one. `present` says
    who is known to be in the releases: "all" of the registry in every release, a table of `person` and `release`
    (its number or its file), or nobody (None). `suppressed` says what rows are that show no quasi-identifier at all:
    "class", somebody's who fits no class that the release publishes, as with full-domain recoding; "anywhere",
    anybody's; None: nobody knows, and what they may hide is not called proven.
    """
    hierarchies = dict(hierarchies or {})
    _check_parameters(sensitive, quasi, registry, person, present, drop, group, suppressed)
    roles = ColumnRoles(sensitive, None if quasi is None else tuple(quasi), person, group, frozenset(drop))
    files = read_files(releases)
    _check_drop(drop, files)
    tables = _grouped(files, roles)
    names = list(dict.fromkeys(name for table in tables for name in table.cells.columns))
    _check_hierarchies(hierarchies, names)
    named = [table for table in tables if table.people is not None]
    people = None
    if registry is not None and person is not None:
        people = ForeignRegistry.read(registry, person, names)
    elif person is not None and not named:
        raise TableError(f"None of the releases has a column '{person}'.", hint="name a registry that has it.")
    if named and len(named) != len(tables):
        raise TableError(
            f"{len(named):,} of {len(tables):,} releases have a column '{person}'.",
            hint=f"let all of them have it, or none (drop=['{person}']).",
        )
    regions, known, notes = _regions(tables, people, names, hierarchies, show_values)
    notes = [*_role_notes(files, roles, names), *notes, *value_notes(tables, sensitive)]
    notes += suppression_notes(tables, regions, suppressed)
    regions = with_rest(tables, regions, suppressed)
    if named:
        published, unmatched = by_name(tables, people)
        notes.append("the files say who is in which group")
    elif people is not None and known is not None:
        published, unmatched, more = by_registry(tables, regions, people, known, people.present(present, files))
        notes += more
    else:
        published, unmatched = by_region(tables, regions)
        notes.append("nobody is known by name: groups are compared by what their quasi-identifiers have in common")
    published = marked(published, tables, suppressed)
    unmatched += _row_mismatches(tables)
    form = "anatomised" if any(one.form == "anatomised" for one in files) else "generalised"
    frame = pl.DataFrame(sorted(unmatched, key=lambda row: row[0]), schema=UNMATCHED, orient="row")
    return Foreign(published, tuple(notes), frame, tuple(one.name for one in files), tuple(names), form)


def _check_drop(drop: Collection[str], files: Sequence[ReleaseFiles]) -> None:
    """A column to leave out that is nowhere is misspelt, and the one that was meant would stay in."""
    columns = list(dict.fromkeys(name for one in files for table in one.tables.values() for name in table.columns))
    lacking = [name for name in drop if name not in columns]
    if lacking:
        raise TableError(
            f"None of the releases has a column {listed(lacking)} to leave out.", hint=f"they have {listed(columns)}."
        )


def _check_parameters(
    sensitive: str,
    quasi: Collection[str] | None,
    registry: object | None,
    person: str | None,
    present: object | None,
    drop: Collection[str],
    group: str | None,
    suppressed: object,
) -> None:
    problems = check_suppression(suppressed)
    for name, value in (("quasi", quasi), ("drop", drop)):
        if isinstance(value, str):
            problems.append(f"The '{name}' parameter of read_releases must be a list of columns. Got text instead.")
    if problems:
        raise ParameterError("The releases cannot be read like this.", problems=problems)
    roles = [("sensitive", sensitive), ("person", person), ("group", group)]
    columns = [column for _, column in roles if column is not None] + list(quasi or ()) + list(drop)
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        problems.append(f"{listed(twice)} cannot be two of sensitive, quasi, person, group and drop.")
    if registry is not None and person is None:
        problems.append("A registry needs the 'person' parameter: the column with the names of people.")
    if present is not None and registry is None:
        problems.append("The 'present' parameter of read_releases needs a registry.")
    if isinstance(present, str) and present != "all" and not Path(present).exists():
        problems.append("The 'present' parameter of read_releases must be 'all', a table or a file that exists.")
    if problems:
        raise ParameterError("The releases cannot be read like this.", problems=problems)


def _check_hierarchies(hierarchies: Mapping[str, Hierarchy], names: Sequence[str]) -> None:
    unused = sorted(set(hierarchies) - set(names))
    if unused:
        raise ParameterError(
            f"There are hierarchies for {listed(unused)}, which the releases do not have as quasi-identifiers.",
            hint=f"quasi-identifiers are {listed(list(names))}.",
        )


def _grouped(files: Sequence[ReleaseFiles], roles: ColumnRoles) -> list[Grouped]:
    tables, problems = [], []
    for one in files:
        made = grouped(one, roles)
        if isinstance(made, list):
            problems += made
        else:
            tables.append(made)
    if problems:
        raise TableError(
            "The releases do not fit what was said about them.",
            problems=problems,
            hint="name the columns as the files do (sensitive, quasi, person, group), or correct the files.",
        )
    return tables


def _regions(
    tables: Sequence[Grouped],
    people: ForeignRegistry | None,
    names: Sequence[str],
    hierarchies: Mapping[str, Hierarchy],
    show_values: bool,
) -> tuple[list[Regions], Regions | None, list[str]]:
    """The regions of the groups of each release, what is known of people, and how columns were read."""
    parts: list[dict[str, Attribute]] = [{} for _ in tables]
    known: dict[str, Attribute] = {}
    problems: list[str] = []
    notes = []
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
        column = read_column(name, sources, hierarchies.get(name), show_values=show_values)
        if isinstance(column, list):
            problems += column
            continue
        for at, part in zip(having, column.parts, strict=False):
            parts[at][name] = part
        if len(column.parts) > len(having):
            known[name] = column.parts[-1]
        notes.append(f"'{name}' is read as {column.how}")
        if len(having) < len(tables):
            notes.append(
                f"'{name}' is in {len(having):,} of {len(tables):,} releases, and may be anything in the others"
            )
    if problems:
        raise TableError(
            "Some columns cannot be understood.",
            problems=problems,
            hint="give a hierarchy for a column whose labels stand for others, or leave the column out with drop=.",
        )
    regions = [Regions(table.count, part, table.owner) for table, part in zip(tables, parts, strict=True)]
    return regions, None if people is None else Regions(people.table.height, known), notes


def _role_notes(files: Sequence[ReleaseFiles], roles: ColumnRoles, names: Sequence[str]) -> list[str]:
    notes = (
        [] if roles.quasi is not None else [f"quasi-identifiers are all columns without another role: {listed(names)}"]
    )
    first = files[0].tables.get("quasi", files[0].tables.get("table", pl.DataFrame()))
    if roles.group is None and "group" in first.columns and "group" not in attribute_names(first, roles):
        notes.append("the column 'group' says which rows belong together")
    return notes


def _row_mismatches(tables: Sequence[Grouped]) -> list[tuple[int, str, int]]:
    """Groups of anatomised releases that do not publish as many values as they list people."""
    found = []
    for number, table in enumerate(tables, start=1):
        people = np.bincount(table.of_row, minlength=table.count)
        wrong = int(np.count_nonzero(people != table.rows))
        if wrong:
            found.append((number, "groups that list more or fewer people than they publish values", wrong))
    return found
