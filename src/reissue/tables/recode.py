"""From groups to tables that may leave the building: generalised or anatomised.

The public tables are a canonical function of what they say. Groups are numbered in the order of their
published columns and rows sorted by them, so that neither the order of the input nor the numbers a
method gave its groups nor unused labels show through. Where groups agree in everything that orders
them, a hash of what they publish decides, which is again content alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.cores import COLUMNS_FROM, at_once
from reissue.arrays.dense import in_order, often
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints, Words
from reissue.errors import InternalError
from reissue.kernels import grouped
from reissue.model import pieces
from reissue.model.grouping import Grouping
from reissue.model.pieces import Table
from reissue.model.published import Published, PublishedGroups
from reissue.model.records import Records, ValueColumn, value_columns
from reissue.model.sets import Bridged, PublishedSets
from reissue.model.snapshot import Coded, Column, Labels, Leaves, Numbers, Snapshot, decoded, smallest_unsigned
from reissue.tables.counting import GroupCounts, mixed

DENSE = 1 << 22
"""Combinations of codes are ranked by a table of so many places, or four for each row; beyond, by sorting."""

Part = TypeVar("Part")
Result = TypeVar("Result")

_MEMBER = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^",{}]*))(,|\Z)')
"""One label of a published set, in double quotes or bare, and what comes behind it."""


@dataclass(frozen=True, repr=False)
class Recoded:
    """The public tables, and the private key to them."""

    made: dict[str, Table]
    """What is published: `table`, or `quasi` and `sensitive`; large ones are made as they are gone through."""
    group: npt.NDArray[np.uint32]
    """The public group number of each row of the snapshot, counted from 1."""
    groups: PublishedGroups | PublishedSets
    """The release as an outsider sees it at worst, with person numbers."""

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """What is published, in memory."""
        return {name: pieces.whole(table) for name, table in self.made.items()}

    @property
    def written(self) -> Mapping[str, Table]:
        """What is published, to be written: where somebody has the tables in hands, those."""
        return self.tables if "tables" in self.__dict__ else self.made

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return self.groups.people.size if isinstance(self.groups, PublishedSets) else int(self.groups.rows.sum())


def generalise(snapshot: Snapshot, grouping: Grouping, number: int = 1, *, classes: bool = False) -> Recoded:
    """One table: every quasi-identifier as the smallest region that holds all of its group.

    With `classes` the outsider's view says who has the same quasi-identifiers.
    """
    columns = region_columns(snapshot, grouping)
    columns += [_constant(column, grouping) for column in snapshot.as_is]
    rank = _rank([column.codes for column in columns], lambda: _counted(snapshot, grouping).content_hash())
    order = np.argsort(rank)
    people = _renumbered(grouping, rank)
    renumbered = _counted(snapshot, people)
    region = decoded(column.to_decode(order) for column in columns)
    group = np.repeat(np.arange(grouping.count, dtype=np.uint32), np.diff(renumbered.starts))
    values = _used(snapshot.values, renumbered.in_order)

    def table(rows: slice) -> pl.DataFrame:
        own = group[rows]
        return decoded(
            [
                pl.Series("group", own + np.uint32(1)),
                *region.select(pl.all().gather(pl.Series(own))),
                values.to_decode(rows),
            ]
        )

    if snapshot.owner is None:
        own = _classes(snapshot) if classes else None
        view = renumbered.view(snapshot.people, number, region, own)
    else:
        view = renumbered.view(snapshot.people, number, region, registered=people)
    tables = {"table": pieces.made(group.size, table, every_label=True)}
    return Recoded(tables, (people.group + 1).astype(np.uint32), view)


def region_columns(snapshot: Snapshot, grouping: Grouping) -> list[_GroupColumn]:
    """Every quasi-identifier as the smallest region that holds all of each group."""
    regions = _several(lambda column: _region(column, grouping, snapshot), snapshot.quasi, len(snapshot))
    return [made for region in regions for made in region]


def _several(work: Callable[[Part], Result], parts: Sequence[Part], rows: int) -> list[Result]:
    """The results of all parts; of a large table at once."""
    return at_once(work, parts) if rows >= COLUMNS_FROM else [work(part) for part in parts]


def _counted(snapshot: Snapshot, grouping: Grouping) -> GroupCounts:
    """How often each group has each value."""
    if snapshot.owner is None:
        return GroupCounts.of(snapshot.values.codes, grouping)
    return GroupCounts.of(snapshot.values.codes, grouping.of_values(snapshot.owner))


def _renumbered(grouping: Grouping, rank: npt.NDArray[np.int32]) -> Grouping:
    """The same groups by other numbers."""
    elsewhere = grouping.elsewhere and replace(grouping.elsewhere, group=rank[grouping.elsewhere.group])
    return Grouping(rank[grouping.group], grouping.count, elsewhere=elsewhere)


def anatomise(snapshot: Snapshot, grouping: Grouping, number: int = 1, *, classes: bool = False) -> Recoded:
    """Two tables: quasi-identifiers exactly, and how often each group has each sensitive value.

    Xiao & Tao, Anatomy (VLDB 2006). With `classes` the outsider's view says who has the same quasi-identifiers.
    """
    row_rank, distinct = _row_rank(snapshot)
    first_row, _ = _extents(grouping, row_rank.astype(np.uint32))

    def content() -> Words:
        rows = np.zeros(grouping.count, dtype=np.uint64)
        np.add.at(rows, grouping.group, mixed(row_rank))
        return rows ^ GroupCounts.of(snapshot.values.codes, grouping).content_hash()

    rank = _rank([first_row], content)
    renumbered = GroupCounts.of(snapshot.values.codes, Grouping(rank[grouping.group], grouping.count))
    group = rank[grouping.group].astype(np.int64)
    # Two counting sorts, the less important key first.
    order = in_order(row_rank, distinct)
    order = order[in_order(group[order], grouping.count)].astype(np.uint32)
    del group
    public = (rank[grouping.group] + np.int32(1)).astype(np.uint32)
    columns = [_used(column, column.codes) for column in snapshot.quasi]
    values = _used(snapshot.values, renumbered.codes)
    run_group = np.repeat(np.arange(1, grouping.count + 1, dtype=np.uint32), np.diff(renumbered.run_starts))

    def quasi(rows: slice) -> pl.DataFrame:
        own = order[rows]
        return decoded([pl.Series("group", public[own]), *(column.to_decode(own) for column in columns)])

    def sensitive(rows: slice) -> pl.DataFrame:
        counts = pl.Series("count", renumbered.counts[rows].astype(np.uint32))
        return decoded([pl.Series("group", run_group[rows]), values.to_decode(rows), counts])

    tables = {
        "quasi": pieces.made(order.size, quasi, every_label=True),
        "sensitive": pieces.made(run_group.size, sensitive, every_label=True),
    }
    view = renumbered.view(snapshot.people, number, None, _classes(snapshot) if classes else None)
    return Recoded(tables, public, view)


def _classes(snapshot: Snapshot) -> Ints:
    """The number of each row's quasi-identifiers, with what is published as it is; below 0 for counterfeits."""
    rank, _ = _row_rank(snapshot, snapshot.as_is)
    return np.where(snapshot.people < 0, -1 - rank, rank)


def _row_rank(snapshot: Snapshot, further: tuple[Column, ...] = ()) -> tuple[Ints, int]:
    """The place of each row's quasi-identifiers among all that occur, in the order of codes, and how many there are."""
    rank = np.zeros(len(snapshot), dtype=np.int64)
    possible = 1
    for column in (*snapshot.quasi, *further):
        size = int(column.codes.max(initial=0)) + 1
        rank = rank * size + column.codes
        possible *= size
        if possible > max(DENSE, 4 * rank.size):
            rank = (pl.Series(rank).rank("dense") - 1).cast(pl.Int64).to_numpy()
            possible = int(rank.max(initial=0)) + 1
    occurs = np.zeros(possible, dtype=np.bool_)
    occurs[rank] = True
    places = np.cumsum(occurs) - 1
    return places[rank], int(places[-1]) + 1


def whole(snapshot: Snapshot, stratum: Ints, number: int = 1) -> Published:
    """The coarsest release there is: one group for each stratum. What fails here fails everywhere."""
    if not snapshot.as_is and snapshot.owner is None:
        # One group needs no order.
        often = np.bincount(snapshot.values.codes)
        values = np.flatnonzero(often)
        starts, runs = starts_of([len(snapshot)]), starts_of([values.size])
        return view_of(snapshot, PublishedGroups(number, snapshot.people, starts, values, often[values], runs))
    group = stratum.astype(np.int32)
    counted = GroupCounts.of(snapshot.values.codes, Grouping(group, int(group.max()) + 1))
    return view_of(snapshot, counted.view(snapshot.people, number))


def view_of(snapshot: Snapshot, *releases: PublishedGroups | PublishedSets) -> Published:
    """The outsider's view of releases whose values are coded as in this snapshot."""
    if any(isinstance(release, PublishedSets) for release in releases):
        sets = tuple(release for release in releases if isinstance(release, PublishedSets))
        labels = sets[-1].designs.labels
        names = snapshot.values.levels.names if isinstance(snapshot.values.levels, Records) else ()
        columns = value_columns(names, list(map(str, labels))) if names else ()
        return Published(Bridged(releases), labels, sets=sets, columns=columns)
    levels = snapshot.values.levels
    if isinstance(levels, Numbers):
        values = tuple(levels.decode(np.arange(levels.values.size)).to_list())
        return Published(_groups(releases), values, levels.values)
    return Published(_groups(releases), levels.labels, single=snapshot.owner is None, columns=_columns(snapshot))


def _columns(snapshot: Snapshot) -> tuple[ValueColumn, ...]:
    """The columns that the values of a snapshot are records of, where several are sensitive."""
    levels = snapshot.values.levels
    return value_columns(levels.names, levels.labels) if isinstance(levels, Records) else ()


def _groups(releases: Sequence[PublishedGroups | PublishedSets]) -> tuple[PublishedGroups, ...]:
    return tuple(release for release in releases if isinstance(release, PublishedGroups))


@dataclass(frozen=True, repr=False)
class _GroupColumn:
    """One public column: a code for each group, and what the codes stand for."""

    name: str
    codes: npt.NDArray[np.integer]
    levels: Numbers | tuple[str, ...] | None
    """None: the codes are truth values."""

    def to_decode(self, order: Ints) -> pl.Series | Coded:
        codes = self.codes[order]
        if self.levels is None:
            return pl.Series(self.name, codes.astype(np.bool_))
        if isinstance(self.levels, Numbers):
            return self.levels.decode(codes).alias(self.name)
        return Coded(self.name, codes, self.levels)


def _extents(grouping: Grouping, codes: npt.NDArray[np.unsignedinteger]) -> tuple[Ints, Ints]:
    least = np.full(grouping.count, codes.max(initial=0), dtype=codes.dtype)
    most = np.zeros(grouping.count, dtype=codes.dtype)
    grouped.extents(grouping.group, grouped.unwritten(codes), least, most)
    return least.astype(np.int64), most.astype(np.int64)


def _region(column: Column, grouping: Grouping, snapshot: Snapshot) -> list[_GroupColumn]:
    levels = column.levels
    if isinstance(levels, Numbers):
        return _interval(column, levels, grouping, snapshot)
    if isinstance(levels, Leaves):
        tree = levels.hierarchy
        if tree.is_tree:
            nodes = tree.lowest_common(*_extents(grouping, column.codes))
        else:
            starts = starts_of(grouping.sizes())
            order = np.empty(column.codes.size, dtype=np.int64)
            grouped.order_by_group(grouping.group, starts, order)
            nodes = tree.nearest(column.codes[order], starts)
        return [_labelled(column.name, nodes, tree.labels)]
    return [_labelled(column.name, *_label_sets(column.codes, levels, grouping))]


def _interval(column: Column, levels: Numbers, grouping: Grouping, snapshot: Snapshot) -> list[_GroupColumn]:
    least, most = _extents(grouping, column.codes)
    if levels.missing:
        # Missing has code 0, below all numbers: the interval is that of the others, where there are any.
        lacking = least == 0
        present = np.flatnonzero(column.codes)
        rest = Grouping(grouping.group[present], grouping.count)
        least, _ = _extents(rest, column.codes[present])
        least[most == 0] = 0
    else:
        lacking = np.zeros(grouping.count, dtype=np.bool_)
    kind = snapshot.schema.quasi.get(column.name)
    columns = [
        _GroupColumn(f"{column.name}_low", least, levels),
        _GroupColumn(f"{column.name}_high", most, levels),
    ]
    if getattr(kind, "missing", "refuse") == "value":
        columns.append(_GroupColumn(f"{column.name}_missing", lacking, None))
    return columns


def _label_sets(
    codes: npt.NDArray[np.unsignedinteger], levels: Labels, grouping: Grouping
) -> tuple[npt.NDArray[np.integer], tuple[str, ...]]:
    words = (len(levels.labels) + 63) // 64
    sets = np.zeros((grouping.count, words), dtype=np.uint64)
    grouped.code_sets(grouping.group, grouped.unwritten(codes), sets)
    # Few labels are one number, which is compared in a fraction of the time; the order of sets does not matter.
    rows = sets.view(np.dtype((np.void, 8 * words))).ravel() if words > 1 else sets.ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)

    chosen = np.unpackbits(np.ascontiguousarray(sets[first]).view(np.uint8), axis=1, bitorder="little")
    place, code = np.nonzero(chosen)
    names = [quoted(label) for label in levels.labels]
    codes_of_sets = code.tolist()

    def text(codes: list[int]) -> str:
        return set_text([levels.labels[codes[0]]]) if len(codes) == 1 else _braced([names[code] for code in codes])

    ends = np.cumsum(np.bincount(place, minlength=first.size)).tolist()
    return which, tuple(text(codes_of_sets[begin:end]) for begin, end in pairwise([0, *ends]))


def set_text(labels: list[str]) -> str:
    """`a` for one label, `{a,b}` for several; a label that could be mistaken is put in double quotes."""
    if len(labels) == 1 and not labels[0].startswith(("{", '"')):
        return labels[0]
    return _braced([quoted(label) for label in labels])


def _braced(quoted: list[str]) -> str:
    return "{" + ",".join(quoted) + "}"


def quoted(label: str) -> str:
    """A label as it stands in a set: in double quotes where it could be mistaken."""
    if any(mark in label for mark in ',{}"') or label != label.strip() or not label:
        return '"' + label.replace('"', '""') + '"'
    return label


def set_labels(text: str) -> list[str]:
    """The labels of a published set: the way back from `set_text`. What is not a set throughout is one label."""
    if not (text.startswith("{") and text.endswith("}") and len(text) > 1):
        return [text]
    inside, labels, at = text[1:-1], [], 0
    while match := _MEMBER.match(inside, at):
        quoted, bare, behind = match.groups()
        labels.append(bare if quoted is None else quoted.replace('""', '"'))
        at = match.end()
        if not behind:
            return labels
    return [text]


def _labelled(name: str, which: npt.NDArray[np.integer], texts: tuple[str, ...]) -> _GroupColumn:
    """A column of labels, coded in alphabetical order over the labels that are used."""
    used = sorted({texts[place] for place in np.unique(which)})
    place_of = {text: place for place, text in enumerate(used)}
    codes = np.array([place_of.get(text, 0) for text in texts], dtype=np.int64)
    return _GroupColumn(name, codes[which], tuple(used))


def _constant(column: Column, grouping: Grouping) -> _GroupColumn:
    least, most = _extents(grouping, column.codes)
    if (least != most).any():
        raise InternalError(f"groups mix values of '{column.name}', which is to be published as it is")
    if isinstance(column.levels, Numbers):
        return _GroupColumn(column.name, least, column.levels)
    if isinstance(column.levels, Leaves):
        raise InternalError("a column published as it is has no hierarchy")
    return _labelled(column.name, least, column.levels.labels)


@dataclass(frozen=True, repr=False)
class _Cells:
    """The cells of a public column, to be decoded some at a time."""

    name: str
    codes: npt.NDArray[np.integer]
    levels: Numbers | tuple[str, ...]

    def to_decode(self, rows: slice | npt.NDArray[np.integer]) -> pl.Series | Coded:
        if isinstance(self.levels, Numbers):
            return self.levels.decode(self.codes[rows]).alias(self.name)
        return Coded(self.name, self.codes[rows], self.levels)


def _used(column: Column, codes: npt.NDArray[np.integer]) -> _Cells:
    """A column with other codes, without the labels that no row has; the others keep their order."""
    if isinstance(column.levels, Numbers):
        return _Cells(column.name, codes, column.levels)
    labels = column.levels.labels
    used = np.flatnonzero(often(codes, len(labels)))
    if used.size < len(labels):
        table = np.zeros(len(labels), dtype=smallest_unsigned(used.size))
        table[used] = np.arange(used.size)
        codes, labels = table[codes], tuple(labels[code] for code in used.tolist())
    return _Cells(column.name, codes, labels)


def _rank(keys: list[npt.NDArray[np.integer]], content: Callable[[], Words]) -> npt.NDArray[np.int32]:
    """The place of each group when groups are sorted by the keys, the first counting most.

    `content` tells groups apart that agree in all keys; it is asked for only when there are such.
    """
    order, alike = _sorted_by(keys)
    if alike:
        order, _ = _sorted_by([*keys, content()])
    rank = np.empty(order.size, dtype=np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    return rank


def _sorted_by(keys: Sequence[npt.NDArray[Any]]) -> tuple[Ints, bool]:
    """The groups in the order of the keys, the first counting most, and whether any agree in all of them."""
    one = np.zeros(keys[0].size, dtype=np.int64)
    possible = 1
    for key in keys:
        size = int(key.max(initial=0)) + 1
        possible *= size
        if possible >= 1 << 62:
            break
        one = one * size + key
    else:
        order = np.argsort(one)
        return order, bool((np.diff(one[order]) == 0).any())
    frame = pl.DataFrame([pl.Series(str(place), key) for place, key in enumerate(keys)])
    order = frame.select(pl.arg_sort_by(frame.columns)).to_series().to_numpy()
    alike = np.ones(max(order.size - 1, 0), dtype=np.bool_)
    for key in keys:
        alike &= key[order[1:]] == key[order[:-1]]
    return order, bool(alike.any())
