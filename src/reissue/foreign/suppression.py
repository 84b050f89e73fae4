"""Suppressed rows: those that show no quasi-identifier at all, and whose they may be.

Tools that write `*` into every cell of a row mean one of two things. With full-domain recoding, as ARX does it,
a class that is too small is suppressed as a whole: whoever fits a class that is published is in that class, and a
suppressed row is somebody's who fits none. With suppression row by row it may be anybody's. The releases do not say
which. Nothing that is concluded with "anybody's" is false of "no published class"; what is not found may be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from reissue.arrays.types import Bools
from reissue.errors import ParameterError, count_of, listed
from reissue.foreign.foreign_cells import SUPPRESSED
from reissue.foreign.foreign_tables import Grouped
from reissue.foreign.where import of_releases
from reissue.model.assumptions import Assumption
from reissue.model.attributes import Attribute, Intervals
from reissue.model.published import Published
from reissue.model.regions import Regions

Suppression = Literal["class", "anywhere"]
"""`class`: a suppressed row belongs to no class that its release publishes; `anywhere`: it may be anybody's."""
FEW = 3
"""So many releases are told of one by one."""
SUPPRESSIONS: tuple[Suppression, ...] = get_args(Suppression)


CLASS = Assumption("suppressed-class", "said", evidence="No release tells by itself whose its suppressed rows are.")


def check_suppression(suppressed: object) -> list[str]:
    """What is wrong with what was said of suppressed rows."""
    if suppressed is None or suppressed in SUPPRESSIONS:
        return []
    return [f"The 'suppressed' parameter of read_releases must be one of {listed(SUPPRESSIONS)}, or None."]


def suppressed_groups(table: Grouped) -> Bools:
    """Which groups of a release show nothing in any of their rows."""
    if not table.cells.width:
        return np.zeros(table.count, dtype=np.bool_)
    hidden = pl.all().is_null() | pl.all().str.strip_chars().is_in(sorted(SUPPRESSED))
    rows = table.cells.select(pl.all_horizontal(hidden)).to_series().to_numpy().astype(np.bool_)
    for flagged in table.missing.values():
        # That a cell is missing is told: such a row shows something.
        rows &= ~flagged
    shown = np.zeros(table.count, dtype=np.bool_)
    shown[table.of_row[~rows]] = True
    return ~shown


def with_rest(tables: Sequence[Grouped], regions: Sequence[Regions], suppressed: Suppression | None) -> list[Regions]:
    """The regions, in which suppressed groups are the rest of their release if a suppressed row belongs to no class."""
    if suppressed != "class":
        return [*regions]
    none = [at for at, table in enumerate(tables) if suppressed_groups(table).all()]
    if none:
        names = listed([tables[at].name for at in none])
        raise ParameterError(
            f"Release {names} publishes no class, as all its rows are suppressed: 'class' says nothing about them.",
            hint="leave out suppressed='class' (--suppressed), or the release.",
        )
    made = []
    for table, region in zip(tables, regions, strict=True):
        rest = suppressed_groups(table)
        made.append(replace(region, rest=rest) if rest.any() else region)
    return made


def marked(published: Published, tables: Sequence[Grouped], suppressed: Suppression | None) -> Published:
    """The view, in which suppressed groups are marked where nobody said what they are, nor who is in them.

    Where somebody said that they belong to no class, and it is not the files that name people, that is assumed.
    """
    found = [np.flatnonzero(suppressed_groups(table)) for table in tables]
    if not any(groups.size for groups in found):
        return published
    if suppressed == "class" and (published.tested or any(one.space is not None for one in published.plain)):
        return replace(published, tested=(*published.tested, CLASS))
    if suppressed is not None or published.exact:
        return published
    pairs = zip(published.releases, found, strict=True)
    releases = tuple(replace(one, suppressed=groups) if groups.size else one for one, groups in pairs)
    return replace(published, releases=releases)


def suppression_notes(
    tables: Sequence[Grouped], regions: Sequence[Regions], suppressed: Suppression | None
) -> list[str]:
    """What is to be said of suppressed rows: whose they are taken for, and whether they look like full domains."""
    hidden = [suppressed_groups(table) for table in tables]
    rows = [int(table.rows[groups].sum()) for table, groups in zip(tables, hidden, strict=True)]
    if not any(rows):
        return []
    whose = "of people who fit no class that it publishes" if suppressed == "class" else "that may be anybody's"
    notes = of_releases(
        (table.name, f"has {count_of(count, 'row')} {whose}")
        for table, count in zip(tables, rows, strict=True)
        if count
    )
    if len(notes) > FEW:
        having = sum(count > 0 for count in rows)
        notes = [f"{having:,} of {len(tables):,} releases have {count_of(sum(rows), 'row')} {whose}"]
    alike = all(
        _full_domain(region, groups)
        for region, groups, count in zip(regions, hidden, rows, strict=True)
        if count and not groups.all()
    )
    if suppressed is None and alike and not all(groups.all() for groups in hidden):
        # What to say of them comes before how many there are.
        notes.insert(
            0,
            f"this looks like full-domain recoding with {count_of(sum(rows), 'suppressed row')}: no two different "
            "cells of a column overlap. If a suppressed row belongs to no published class, say so (--suppressed "
            "class): classes can then be subtracted one by one. If it may be anybody's, say --suppressed anywhere",
        )
    return notes


def _full_domain(regions: Regions, hidden: Bools) -> bool:
    """Whether no two different cells of a column overlap, but for their ends, apart from suppressed rows."""
    boxes = ~hidden if regions.owner is None else ~hidden[regions.owner]
    return all(_apart(attribute, boxes) for attribute in regions.attributes.values())


def _apart(attribute: Attribute, boxes: Bools) -> bool:
    if isinstance(attribute, Intervals):
        ends = np.unique(np.column_stack([attribute.low[boxes], attribute.high[boxes]]), axis=0)
        ends = ends[~np.isnan(ends[:, 0])]
        return bool((ends[1:, 0] >= ends[:-1, 1]).all())
    which = np.unique(attribute.which[boxes])
    if which.size <= 1:
        return True
    different = replace(attribute, which=which)
    first, second = Regions(which.size, {"": different}).meets(Regions(which.size, {"": different}))
    return bool((first == second).all())
