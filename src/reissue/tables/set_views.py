"""The outsider's view of a release of sets, from its public tables; only the private side knows who is behind a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import SeriesDamaged
from reissue.model.design import Design
from reissue.model.domain import GROUP, PERSON
from reissue.model.hierarchy import MISSING
from reissue.model.record_design import RecordDesign
from reissue.model.records import record_text
from reissue.model.sets import PublishedSets, SetCodes, SetDesigns, SetLists
from reissue.model.snapshot import smallest_unsigned
from reissue.tables.recode_sets import COMBINATIONS, DESIGN, PLACES, ROOM, ROOMS

FORM = "alternatives"
"""The form of such releases."""
_OWN = (DESIGN, "version", "share", "slots", ROOM)


def read_designs(
    tables: Mapping[str, pl.DataFrame],
    record: Mapping[str, Any],
    sensitive: str,
    order: Mapping[object, int] | None = None,
) -> SetDesigns:
    """How the sets of a release were drawn, from its public tables and its public record.

    Labels come in this order; without one, as the table has them.
    """
    if names := tuple(record.get("columns", ())):
        return _record_designs(tables, record, names, order)
    table, joint = tables[DESIGN], tables.get(COMBINATIONS)
    m, said = int(record["slots"]), record.get("change")
    number = table[DESIGN].to_numpy() if DESIGN in table.columns else np.ones(table.height, dtype=np.uint32)
    labels = table[sensitive].unique(maintain_order=True).to_list()
    if order is not None:
        labels.sort(key=order.__getitem__)
    place = {label: at for at, label in enumerate(labels)}
    designs, places, versions = [], [], []
    for at in np.unique(number).tolist():
        own = table.filter(number == at)
        named = np.array([place[label] for label in own[sensitive].to_list()], dtype=np.int64)
        by_place = np.argsort(named)
        own, named = own[by_place], named[by_place]
        large, combinations, weights = _combinations(joint, at, named, place)
        designs.append(
            Design(m, own["share"].to_numpy(), own["slots"].to_numpy().astype(np.int64), large, combinations, weights)
        )
        places.append(named)
        versions.append(int(own["version"][0]) if "version" in own.columns else 1)
    columns = [name for name in table.columns if name not in (*_OWN, sensitive)]
    cells = table.filter(pl.Series(np.diff(number, prepend=0) != 0)).select(columns) if columns else None
    linked = bool(record.get("linked", False))
    room = None
    if ROOM in table.columns:
        room = np.zeros(len(labels), dtype=np.int64)
        room[[place[label] for label in table[sensitive].to_list()]] = table[ROOM].to_numpy()
    return SetDesigns(tuple(labels), tuple(designs), tuple(places), tuple(versions), cells, said, linked, room)


def record_labels(table: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The records of a table as text, row by row."""
    cells = [texts_of_cells(table[name]) for name in columns]
    return [record_text(row) for row in zip(*cells, strict=True)]


def texts_of_cells(column: pl.Series) -> list[str]:
    """The cells of a column as they stand in records."""
    return column.cast(pl.String).fill_null(MISSING).to_list()


def _record_designs(
    tables: Mapping[str, pl.DataFrame],
    record: Mapping[str, Any],
    columns: tuple[str, ...],
    order: Mapping[object, int] | None,
) -> SetDesigns:
    """The designs of records, where several columns are sensitive."""
    table, rooms = tables[DESIGN], tables[ROOMS]
    m = int(record["slots"])
    number = table[DESIGN].to_numpy() if DESIGN in table.columns else np.ones(table.height, dtype=np.uint32)
    texts = record_labels(table, columns)
    labels = sorted(set(texts), key=None if order is None else order.__getitem__)
    place = {label: at for at, label in enumerate(labels)}
    designs: list[RecordDesign] = []
    places, versions = [], []
    for at in np.unique(number).tolist():
        rows = np.flatnonzero(number == at)
        named = np.array([place[texts[row]] for row in rows.tolist()], dtype=np.int64)
        rows, named = rows[np.argsort(named)], np.sort(named)
        own = table[rows]
        room = rooms.filter(pl.col(DESIGN) == at) if DESIGN in rooms.columns else rooms
        codes, limits = [], []
        for column in columns:
            mine = room.filter(pl.col("column") == column)
            code = {value: number for number, value in enumerate(mine["value"].cast(pl.String).to_list())}
            codes.append([code[text] for text in texts_of_cells(own[column])])
            limits.append(mine[ROOM].to_numpy().astype(np.int64))
        records = np.array(codes, dtype=np.int64).T
        most, factor = own[PLACES].to_numpy().astype(np.int64), float(record["factors"][len(designs)])
        designs.append(RecordDesign(m, records, own["share"].to_numpy(), most, tuple(limits), factor))
        places.append(named)
        versions.append(int(own["version"][0]) if "version" in own.columns else 1)
    said = record.get("change")
    return SetDesigns(tuple(labels), tuple(designs), tuple(places), tuple(versions), change=said, columns=columns)


def _combinations(joint: pl.DataFrame | None, number: int, named: Ints, place: Mapping[object, int]) -> tuple[Any, ...]:
    """The large values of a design by position among its own, which of them come together, and how often."""
    if joint is not None and DESIGN in joint.columns:
        joint = joint.filter(pl.col(DESIGN) == number)
    if joint is None or not joint.height:
        return np.zeros(0, dtype=np.int64), np.zeros((1, 0), dtype=np.bool_), np.ones(1)
    rows = [[place[label] for label in labels] for labels in joint["combination"].to_list()]
    used = np.unique(np.array([at for row in rows for at in row], dtype=np.int64))
    together = np.array([np.isin(used, row) for row in rows], dtype=np.bool_).reshape(len(rows), used.size)
    return np.searchsorted(named, used), together, joint["probability"].to_numpy()


def read_lists(table: pl.DataFrame, designs: SetDesigns, sensitive: str) -> SetLists:
    """The sets of a public table as they stand there."""
    if designs.columns:
        return _record_lists(table, designs)
    lists = table[sensitive]
    lengths = lists.list.len().to_numpy().astype(np.int64)
    several = len(designs.designs) > 1
    design = table[DESIGN].to_numpy().astype(np.int64) - 1 if several else np.zeros(table.height, dtype=np.int64)
    made = SetLists(_codes(lists.explode(), designs), lengths, design)
    if (_slots_taken(made, designs) != designs.m).any():
        raise SeriesDamaged("A public table of sets does not have as many slots in each row as its record says.")
    return made


def _record_lists(table: pl.DataFrame, designs: SetDesigns) -> SetLists:
    """Sets of records: the lists of all columns, place by place."""
    several = len(designs.designs) > 1
    design = table[DESIGN].to_numpy().astype(np.int64) - 1 if several else np.zeros(table.height, dtype=np.int64)
    number = np.zeros(table.height * designs.m, dtype=np.int64)
    known = np.zeros(len(designs.labels), dtype=np.int64)
    sound = np.ones(number.size, dtype=np.bool_)
    for own in designs.value_columns:
        lists = table[own.name]
        if lists.list.len().ne(designs.m).any():
            raise SeriesDamaged("A public table of sets does not have as many slots in each row as its record says.")
        values = pl.DataFrame({"text": own.values}).with_row_index("at")
        cells = lists.explode().cast(pl.String).alias("text").to_frame()
        codes = cells.join(values, on="text", how="left", maintain_order="left")["at"]
        sound &= codes.is_not_null().to_numpy()
        number = number * len(own.values) + codes.fill_null(0).to_numpy().astype(np.int64)
        known = known * len(own.values) + own.of
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, number, sorter=order), known.size - 1)
    if not sound.all() or (known[order[at]] != number).any():
        raise SeriesDamaged("A public table of sets has records that its design does not have.")
    return SetLists(order[at], np.full(table.height, designs.m), design)


def _slots_taken(lists: SetLists, designs: SetDesigns) -> Ints:
    """For each row how many slots its values take."""
    slots = slots_of(designs)
    if designs.linked or int(slots.max()) == 1 or not lists.lengths.all():
        return lists.lengths
    each = slots[0][lists.codes] if len(slots) == 1 else slots[np.repeat(lists.design, lists.lengths), lists.codes]
    return np.add.reduceat(each, lists.starts[:-1]) if each.size else lists.lengths


def read_sets(table: pl.DataFrame, designs: SetDesigns, sensitive: str) -> tuple[SetCodes, Ints]:
    """The sets of a public table with as many columns as they have slots, and the design of each row."""
    lists = read_lists(table, designs, sensitive)
    flat = lists.codes
    slots = np.ones((1, 1), dtype=np.int64) if designs.columns else slots_of(designs)
    if not designs.linked and int(slots.max()) > 1:
        flat = np.repeat(flat, slots[np.repeat(lists.design, lists.lengths), flat])
    return flat.astype(smallest_unsigned(len(designs.labels))).reshape(table.height, designs.m), lists.design


def slots_of(designs: SetDesigns) -> Ints:
    """For each design (lines) and label how many slots it takes; 1 for those that a design does not have."""
    slots = np.ones((len(designs.designs), len(designs.labels)), dtype=np.int64)
    for at, (one, places) in enumerate(zip(designs.of_values, designs.places, strict=True)):
        slots[at, places] = one.slots
    return slots


def _codes(values: pl.Series, designs: SetDesigns) -> Ints:
    """The positions of values among the labels."""
    if all(isinstance(label, str) for label in designs.labels):
        return values.cast(pl.Enum(list(map(str, designs.labels)))).to_physical().to_numpy().astype(np.int64)
    known = pl.DataFrame({"value": pl.Series(list(designs.labels), dtype=values.dtype)}).with_row_index("at")
    rows = values.alias("value").to_frame()
    joined = rows.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return joined["at"].to_numpy().astype(np.int64)


def published_sets(
    number: int,
    tables: Mapping[str, pl.DataFrame],
    record: Mapping[str, Any],
    rows: pl.DataFrame,
    sensitive: str,
    place: Mapping[object, int],
) -> PublishedSets:
    """One release of sets; `rows` says privately who is behind which row, `place` where values stand in the view."""
    designs = read_designs(tables, record["design"], sensitive, place)
    codes, design = read_sets(tables["table"], designs, sensitive)
    if not designs.linked:
        codes = np.sort(codes, axis=1)
    shown = rows.drop_nulls(GROUP)
    at = shown[GROUP].to_numpy().astype(np.int64) - 1
    values = np.array([place[label] for label in designs.labels], dtype=np.int64)
    region = tables["table"].drop(sensitive, *designs.columns, DESIGN, strict=False)[at]
    return PublishedSets(
        number=number,
        people=shown[PERSON].to_numpy().astype(np.int64),
        codes=values.astype(smallest_unsigned(len(place)))[codes[at]],
        design=design[at],
        designs=designs,
        values=values,
        region=region,
    )
