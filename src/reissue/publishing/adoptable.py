"""Releases made elsewhere, as they are given: tables with the people who were in them, or a view that knows them.

All come down to the same: for each release who was in which group, how often each group has each value, and what
was published. Who has which value is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue.errors import ParameterError, TableError, count_of, listed
from reissue.model.published import Published
from reissue.model.schema import Numeric, Schema
from reissue.tables.frames import read_table

GROUP = "group"


@dataclass(frozen=True, repr=False)
class Given:
    """One release made elsewhere."""

    members: pl.DataFrame
    """Who was in it: `person` (an id), `group` (counted from 1)."""
    values: pl.DataFrame
    """What each group shows: `group`, the sensitive column, `count`."""
    public: dict[str, pl.DataFrame]
    """What was published, as it is kept."""

    @property
    def form(self) -> str:
        """Whether regions were published, or nothing but groups and their values is known."""
        return "generalised" if "table" in self.public else "anatomised"


def given_view(published: Published, schema: Schema) -> list[Given]:
    """The releases of a view that knows by name who is in which group."""
    names = published.people
    problems = []
    if not published.releases:
        problems.append("it has no releases")
    if names is None:
        problems.append("it does not name people")
    if not published.exact or not published.single:
        problems.append("it does not say for every row who it may be about, one row for each")
    made_up = sum(int(np.count_nonzero(release.members < 0)) for release in published.releases)
    if made_up:
        problems.append(f"{count_of(made_up, 'row')} are about nobody")
    if problems or names is None:
        raise ParameterError(
            "Releases made elsewhere can be adopted only if it is known who was in every group of them.",
            problems=problems,
            hint="give the releases as tables, together with a table of members: person, release, group.",
        )
    people = pl.Series("person", names, dtype=pl.String)
    values = _value_column(published, schema)
    given = []
    for release in published.releases:
        groups = np.arange(1, release.group_count + 1, dtype=np.uint32)
        members = pl.DataFrame(
            {"person": people.gather(release.members), GROUP: np.repeat(groups, release.sizes)}, strict=False
        )
        shown = pl.DataFrame(
            {
                GROUP: np.repeat(groups, np.diff(release.value_starts)),
                schema.sensitive: values.gather(release.values),
                "count": release.counts.astype(np.uint32),
            }
        )
        given.append(_given(members, shown, _region(release.region, groups, schema), schema))
    return given


def _value_column(published: Published, schema: Schema) -> pl.Series:
    if isinstance(schema.sensitive_kind, Numeric):
        if published.magnitudes is None:
            raise TableError(
                f"The releases show labels, but '{schema.sensitive}' is numeric in the policy.",
                hint="make it categorical in the policy, or give the releases with numbers.",
            )
        return pl.Series(schema.sensitive, list(published.values), strict=False)
    return pl.Series(schema.sensitive, [None if v is None else str(v) for v in published.values], dtype=pl.String)


def _region(region: pl.DataFrame | None, groups: np.ndarray, schema: Schema) -> pl.DataFrame | None:
    if region is None:
        return None
    own = [name for name in region.columns if name not in (GROUP, schema.sensitive, schema.person)]
    return region.select(own).insert_column(0, pl.Series(GROUP, groups)) if own else None


def given_tables(
    tables: Sequence[object], members: object | None, schema: Schema, *, group: str | None = None
) -> list[Given]:
    """Releases given as tables or files, one for each in their order.

    Rows are of one group if they have the same entry in the column that `group` names (by default "group") or, without
    such a column, in all columns but the sensitive one: the same text, for 1 and 01 are two groups. Who was in the
    groups stands in the schema's person column of the tables themselves, or in a table of members with the columns
    `person` (or as the schema calls it), `release` (counted from 1) and `group`.
    """
    if not tables:
        raise ParameterError("There is no release to adopt.", hint="name at least one table.")
    listing = None if members is None else _listing(members, schema, len(tables))
    return [_given_table(number, table, listing, schema, group) for number, table in enumerate(tables, start=1)]


def _given_table(number: int, table: object, listing: pl.DataFrame | None, schema: Schema, group: str | None) -> Given:
    numeric = isinstance(schema.sensitive_kind, Numeric)
    text = {schema.person, *([] if numeric else [schema.sensitive]), group or GROUP}
    frame, _ = read_table(table, text=text)
    frame = frame.drop([name for name in schema.drop if name in frame.columns])
    if group is None and GROUP in frame.columns:
        group = GROUP
    if group is None and isinstance(table, str | Path):
        # Cells tell groups apart, so they are read as they are written.
        text = set(frame.columns) - ({schema.sensitive} if numeric else set())
        frame = read_table(table, text=text)[0].select(frame.columns)
    _check_columns(number, frame, listing, schema, group)
    cells = [name for name in frame.columns if name not in (schema.person, schema.sensitive, group)]
    _check_constant(number, frame, cells, group)
    labels = _labels(frame, cells, group)
    frame = frame.with_columns(labels["number"].alias(_NUMBER))
    people = _own_members(frame, schema) if listing is None else _members(number, listing, labels)
    shown = frame.group_by(pl.col(_NUMBER).alias(GROUP), schema.sensitive).len("count").sort(GROUP, schema.sensitive)
    region = frame.select(pl.col(_NUMBER).alias(GROUP), *(name for name in cells if name != GROUP)).unique(GROUP)
    return _given(people, shown, region.sort(GROUP) if region.width > 1 else None, schema)


_NUMBER = "reissue.number"


def _check_columns(
    number: int, frame: pl.DataFrame, listing: pl.DataFrame | None, schema: Schema, group: str | None
) -> None:
    problems = []
    if not frame.height:
        problems.append("it has no rows")
    if schema.sensitive not in frame.columns:
        problems.append(f"there is no column '{schema.sensitive}', the sensitive one of the policy")
    if group is not None and group not in frame.columns:
        problems.append(f"there is no column '{group}' for the groups")
    if listing is None and schema.person not in frame.columns:
        problems.append(f"there is no column '{schema.person}' that says who it is, and no table of members was given")
    if listing is not None and group is None:
        problems.append("a table of members was given, and there is no column that names the groups")
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        problems.append(f"columns that hold lists or structures: {listed(nested)}")
    if problems:
        raise TableError(
            f"Release {number} cannot be adopted as it is given.",
            problems=problems,
            hint="give each release with a column for the groups and the sensitive column, and say who was in them: in "
            "the person column, or in a table of members with person, release, group.",
        )


def _check_constant(number: int, frame: pl.DataFrame, cells: list[str], group: str | None) -> None:
    """Cells that differ within a group, beside the value, would tie values to them: that was hardly published."""
    if group is None or not cells:
        return
    differing = frame.group_by(group).agg(pl.col(cells).n_unique()).select(pl.col(cells).max())
    varied = [name for name in cells if differing[name].item() > 1]
    if varied:
        raise TableError(
            f"Release {number} cannot be adopted as it is given.",
            problems=[f"columns that differ within groups, beside the sensitive one: {listed(varied)}"],
            hint="leave out of the table what was not published like this; of a release in two tables (quasi-"
            "identifiers, sensitive values) give groups and sensitive values only.",
        )


def _labels(frame: pl.DataFrame, cells: list[str], group: str | None) -> pl.DataFrame:
    """For each row the name of its group, where it has one, and its number: groups in the order of their names."""
    if group is not None:
        # Names that are whole numbers are ordered as such; what differs as text, as 1 and 01, differs all the same.
        name = frame[group].cast(pl.String)
        whole = name.cast(pl.Int64, strict=False)
        return pl.DataFrame({"name": name, "number": _ranked([name] if whole.has_nulls() else [whole, name])})
    return pl.DataFrame({"number": _ranked([frame[name] for name in cells])}).with_columns(
        name=pl.lit(None, dtype=pl.String)
    )


def _ranked(columns: Sequence[pl.Series]) -> pl.Series:
    """Numbers from 1 for rows, the same where all columns are, in the order of the columns."""
    if not columns:
        raise TableError(
            "A release has no columns beside the sensitive one, so that its groups cannot be told apart.",
            hint="give it with a column that names the groups.",
        )
    frame = pl.DataFrame([column.alias(str(at)) for at, column in enumerate(columns)])
    places = frame.unique().sort(pl.all(), nulls_last=False).with_row_index("number", offset=1)
    joined = frame.join(places, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].cast(pl.UInt32)


def _listing(members: object, schema: Schema, releases: int) -> pl.DataFrame:
    """Members: `person`, `release`, `name` (of the group, as text, character by character as in the release)."""
    frame, _ = read_table(members, text={"person", schema.person, GROUP})
    person = next((name for name in ("person", schema.person) if name in frame.columns), "person")
    form = "let it say who was in which group of which release: person, release (counted from 1), group."
    lacking = [name for name in (person, "release", GROUP) if name not in frame.columns]
    if lacking:
        raise TableError(f"The table of members has no columns {listed(lacking)}.", hint=form)
    empty = sum(frame[name].null_count() for name in (person, "release", GROUP))
    numbers = _whole(frame["release"])
    outside = int((~numbers.is_between(1, releases)).fill_null(True).sum())
    problems = [f"{count_of(empty, 'cell is', 'cells are')} empty"] if empty else []
    if outside:
        problems.append(f"{count_of(outside, 'row names', 'rows name')} no release from 1 to {releases}")
    if problems:
        raise TableError(
            f"The table of members ({count_of(frame.height, 'row')}) cannot be used.",
            problems=problems,
            hint=f"{form} No cell is empty, and releases are whole numbers.",
        )
    return pl.DataFrame({"person": frame[person], "release": numbers, "name": frame[GROUP].cast(pl.String)})


def _whole(column: pl.Series) -> pl.Series:
    """Whole numbers; null for everything else, such as 1.5, which is not release 1."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return column.str.strip_chars().cast(pl.Int64, strict=False)
    if not column.dtype.is_numeric():
        return pl.Series(column.name, [None], dtype=pl.Int64).new_from_index(0, column.len())
    numbers = column.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.Float64) != column.cast(pl.Float64), None)


def _own_members(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    return frame.select(person=schema.person, group=_NUMBER)


def _members(number: int, listing: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    own = listing.filter(pl.col("release") == number)
    found = own.join(labels.unique("name"), on="name", how="left", maintain_order="left")
    strangers = found["number"].null_count()
    if strangers:
        raise TableError(
            f"Release {number} has no such groups as {count_of(strangers, 'row')} of the table of members name.",
            hint="name groups as the column of the release does, character by character: 1 and 01 are two groups.",
        )
    return found.select("person", group="number")


def _given(members: pl.DataFrame, values: pl.DataFrame, region: pl.DataFrame | None, schema: Schema) -> Given:
    if region is None:
        return Given(members, values, {"sensitive": values.sort(GROUP, schema.sensitive)})
    each = values.select(pl.col(GROUP, schema.sensitive).repeat_by("count").explode())
    table = region.join(each, on=GROUP, how="left").sort(GROUP, schema.sensitive)
    return Given(members, values, {"table": table})


def check_members(given: Iterable[Given]) -> None:
    """Every group has as many members as values, and everybody is in one: others could come back as somebody new."""
    problems = []
    for number, release in enumerate(given, start=1):
        named = release.members["person"].drop_nulls()
        again = int((named.value_counts()["count"] > 1).sum())
        if again:
            problems.append(f"release {number}: {count_of(again, 'person is', 'people are')} named more than once")
        nameless = release.members.height - named.len()
        if nameless:
            problems.append(f"release {number}: {count_of(nameless, 'member has', 'members have')} no name")
        sizes = release.members.group_by(GROUP).len("people")
        held = release.values.group_by(GROUP).agg(pl.col("count").sum())
        both = held.join(sizes, on=GROUP, how="full", coalesce=True).fill_null(0)
        unequal = int((both["people"] != both["count"]).sum())
        if unequal:
            problems.append(
                f"release {number}: {unequal:,} of {count_of(both.height, 'group')} show more or fewer values than "
                "they have members"
            )
    if problems:
        raise TableError(
            "It is not known of everybody in these releases who it is.",
            problems=problems,
            hint="name everybody who was in a release once, in one group of it, and all members of every group: "
            "somebody who is not named could be published as a new person.",
        )
