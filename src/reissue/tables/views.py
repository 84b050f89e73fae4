"""The outsider's view of a series, built from its private rows."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import at_once
from reissue.arrays.types import Ints
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON, in_order
from reissue.model.grouping import Grouping
from reissue.model.published import Published, PublishedGroups
from reissue.model.records import ValueColumn, value_columns
from reissue.model.release import Release
from reissue.model.schema import Numeric, Schema
from reissue.model.sets import Bridged, PublishedSets
from reissue.tables.counting import GroupCounts
from reissue.tables.frames import read_table
from reissue.tables.set_views import FORM, published_sets, record_labels

Kept = tuple[Release, pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]
"""A release, its rows as published, its counterfeits and, where they are not in the rows, its values."""


def published_view(
    releases: Iterable[Kept], schema: Schema, classes: Container[int] = (), quasi: Container[int] = ()
) -> Published:
    """Who was in which group of which release, and the values published for each group.

    Of the releases numbered in `classes` the view also says who has the same quasi-identifiers, and of those in `quasi`
    which ones.
    """
    releases = list(releases)
    name = schema.sensitive
    if any(kept[0].manifest["form"] == FORM for kept in releases):
        return _with_sets(releases, schema, classes, quasi)
    shown = at_once(lambda kept: _Shown.of(kept, name), releases)
    values = _values([distinct for one in shown for distinct, _ in one.values], schema)
    # As narrow as the codes of a snapshot, for which the kernel that counts them is compiled already.
    narrow = pl.UInt8 if values.len() <= 1 << 8 else pl.UInt16 if values.len() <= 1 << 16 else pl.UInt32
    place = values.to_frame().with_row_index("code").cast({"code": narrow})

    def built(at: int) -> PublishedGroups:
        one, (release, rows, made, facts) = shown[at], releases[at]
        counted = GroupCounts.of(one.codes(place), _grouping(one.group))
        region = _region(release, schema)
        if facts is None:
            numbered = _classes(rows, made, name) if release.number in classes else None
            known = _quasi(rows, made, name) if release.number in quasi else None
            return counted.view(one.people, release.number, region, numbered, quasi=known)
        everybody = rows[PERSON].to_numpy().astype(np.int64)
        return counted.view(everybody, release.number, region, registered=_grouping(rows[GROUP].to_numpy()))

    groups = at_once(built, range(len(releases)))
    numeric = isinstance(schema.sensitive_kind, Numeric)
    magnitudes = values.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy() if numeric else None
    single = all(facts is None for _, _, _, facts in releases)
    shows = tuple(values.to_list())
    return Published(tuple(groups), shows, magnitudes, single, columns=columns_of(shows, schema))


def columns_of(values: Sequence[object], schema: Schema) -> tuple[ValueColumn, ...]:
    """The columns that values are records of, where several are sensitive."""
    return value_columns(tuple(schema.sensitive_columns), list(map(str, values))) if schema.several else ()


def _with_sets(releases: list[Kept], schema: Schema, classes: Container[int], quasi: Container[int]) -> Published:
    """The same where some releases publish sets of values."""
    name = schema.sensitive
    groups = [kept for kept in releases if kept[0].manifest["form"] != FORM]
    view = published_view(groups, schema, classes, quasi)
    tables = {kept[0].number: _public(kept[0]) for kept in releases if kept[0].manifest["form"] == FORM}
    shown = [pl.Series("value", view.values), *(_drawn_from(one["design"], schema) for one in tables.values())]
    every = [column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column for column in shown if len(column)]
    values = _values(every, schema)
    place = {value: at for at, value in enumerate(values.to_list())}
    moved = np.array([place[value] for value in view.values], dtype=np.int64)
    of_groups = {one.number: replace(one, values=moved[one.values]) if moved.size else one for one in view.releases}
    of_sets = {
        release.number: published_sets(release.number, tables[release.number], release.manifest, rows, name, place)
        for release, rows, _, _ in releases
        if release.number in tables
    }
    both: dict[int, PublishedGroups | PublishedSets] = {**of_groups, **of_sets}
    magnitudes = values.cast(pl.Float64).to_numpy() if isinstance(schema.sensitive_kind, Numeric) else None
    return Published(
        Bridged([both[number] for number in sorted(both)]),
        tuple(values.to_list()),
        magnitudes,
        sets=tuple(of_sets[number] for number in sorted(of_sets)),
        columns=columns_of(values.to_list(), schema),
    )


def _drawn_from(design: pl.DataFrame, schema: Schema) -> pl.Series:
    """The values, or records, that the sets of a release are made of."""
    if not schema.several:
        return design[schema.sensitive].alias("value")
    return pl.Series("value", record_labels(design, list(schema.sensitive_columns)))


def _public(release: Release) -> dict[str, pl.DataFrame]:
    return {name: read_table(table)[0] for name, table in release.tables.items()}


@dataclass(frozen=True, repr=False)
class _Shown:
    """The members of a release, people and then counterfeits with negative numbers, and what it shows of them."""

    people: Ints
    group: npt.NDArray[np.integer]
    values: list[tuple[pl.Series, Ints]]
    """Of people and of counterfeits: the distinct values, and for each row the place of its value among them."""

    @classmethod
    def of(cls, kept: Kept, sensitive: str) -> _Shown:
        _, rows, made, facts = kept
        rows = (rows if facts is None else facts).select(PERSON, GROUP, sensitive).drop_nulls(GROUP)
        people, group = rows[PERSON].to_numpy().astype(np.int64), rows[GROUP].to_numpy()
        values = [_distinct(rows[sensitive])]
        if made is not None:
            people = np.concatenate([people, -made[COUNTERFEIT].to_numpy().astype(np.int64)])
            group = np.concatenate([group, made[GROUP].to_numpy()])
            values.append(_distinct(made[sensitive]))
        return cls(people, group, values)

    def codes(self, place: pl.DataFrame) -> npt.NDArray[np.unsignedinteger]:
        """The code of each value, given the `code` of every `value` there is."""
        return np.concatenate([_places(distinct, place, "code")[at] for distinct, at in self.values])


def _places(column: pl.Series, distinct: pl.DataFrame, name: str) -> npt.NDArray[np.unsignedinteger]:
    """What a table of distinct values says, under a name, of each value of a column."""
    rows = column.alias("value").to_frame()
    return rows.join(distinct, on="value", how="left", nulls_equal=True, maintain_order="left")[name].to_numpy()


def _distinct(column: pl.Series) -> tuple[pl.Series, Ints]:
    """The distinct values of a column, labels as text, and for each row the place of its value among them."""
    if not isinstance(column.dtype, pl.Enum):
        known = column.alias("value").unique().to_frame().with_row_index("at")
        return known["value"], _places(column, known, "at").astype(np.int64)
    labels = column.dtype.categories
    codes = column.to_physical().cast(pl.Int64).fill_null(labels.len()).to_numpy()
    occur = np.bincount(codes, minlength=labels.len() + 1) > 0
    distinct = pl.concat([labels, pl.Series([None], dtype=pl.String)]).filter(occur)
    return distinct, (np.cumsum(occur) - 1)[codes]


def _grouping(group: npt.NDArray[np.integer]) -> Grouping:
    numbers = group.astype(np.int32) - 1
    return Grouping(numbers, int(numbers.max()) + 1)


def _region(release: Release, schema: Schema) -> pl.DataFrame | None:
    """The quasi-identifiers of each group as published; None where they are published person by person."""
    if release.manifest["form"] != "generalised":
        return None
    table = read_table(release.tables["table"])[0]
    _, first = np.unique(table["group"].to_numpy(), return_index=True)
    return table.drop("group", *schema.sensitive_columns)[first]


def _classes(rows: pl.DataFrame, made: pl.DataFrame | None, sensitive: str) -> Ints:
    """The number of the quasi-identifiers of each row that is shown; below 0 for counterfeits."""
    shown = rows.drop_nulls(GROUP).drop(PERSON, GROUP, sensitive)
    numbers: npt.NDArray[np.int64] = (
        shown.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series().to_numpy()
    )
    return numbers if made is None else np.concatenate([numbers, -1 - np.arange(made.height)])


def _quasi(rows: pl.DataFrame, made: pl.DataFrame | None, sensitive: str) -> pl.DataFrame:
    """The quasi-identifiers of each row that is shown; nothing is known of counterfeits."""
    shown = rows.drop_nulls(GROUP).drop(PERSON, GROUP, sensitive)
    return shown if made is None else pl.concat([shown, shown.clear(made.height)])


def _values(columns: list[pl.Series], schema: Schema) -> pl.Series:
    """Every value of the series in its order."""
    if not columns:
        return pl.Series("value", [], dtype=pl.String)
    distinct = pl.concat([column.alias("value") for column in columns]).unique().sort()
    if isinstance(schema.sensitive_kind, Numeric):
        return distinct
    return pl.Series("value", in_order(distinct.to_list(), schema.sensitive_kind), dtype=pl.String)
