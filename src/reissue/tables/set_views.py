"""The outsider's view of a release of sets, from its public tables; only the private side knows who is behind a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints
from reissue.errors import SeriesDamaged
from reissue.model.design import Design
from reissue.model.domain import GROUP, PERSON
from reissue.model.hierarchy import MISSING
from reissue.model.record_design import RecordDesign
from reissue.model.records import ValueColumn, record_text
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
        factors = record.get("factors")
        most, factor = own[PLACES].to_numpy().astype(np.int64), float(factors[len(designs)]) if factors else 1.0
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
    lengths = lists.list.len().fill_null(0)
    if (lengths == 0).any():
        raise _slots_differ()
    starts = starts_of(lengths.to_numpy())
    several = len(designs.designs) > 1
    design = table[DESIGN].to_numpy().astype(np.int64) - 1 if several else np.zeros(table.height, dtype=np.int64)
    made = SetLists(_all_codes(lists, designs), starts, design)
    if (_slots_taken(made, designs) != designs.m).any():
        raise _slots_differ()
    return made


def _record_lists(table: pl.DataFrame, designs: SetDesigns) -> SetLists:
    """Sets of records: the lists of all columns, place by place."""
    several = len(designs.designs) > 1
    design = table[DESIGN].to_numpy().astype(np.int64) - 1 if several else np.zeros(table.height, dtype=np.int64)
    number = np.zeros(table.height * designs.m, dtype=np.int64)
    known = np.zeros(len(designs.labels), dtype=np.int64)
    for own in designs.value_columns:
        lists = table[own.name]
        if lists.list.len().fill_null(0).ne(designs.m).any():
            raise _slots_differ()
        number = number * len(own.values) + _column_codes(lists, own)
        known = known * len(own.values) + own.of
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, number, sorter=order), known.size - 1)
    if (known[order[at]] != number).any():
        raise SeriesDamaged("A public table of sets has records that its design does not have.")
    codes: SetCodes = order[at].astype(np.uint16 if len(designs.labels) < 1 << 16 else np.uint32)
    return SetLists(codes, np.arange(table.height + 1, dtype=np.int64) * designs.m, design)


def _column_codes(lists: pl.Series, own: ValueColumn) -> Ints:
    """The positions of all values of lists among those of a column."""
    values = pl.DataFrame({"text": own.values}).with_row_index("at")
    cells = lists.explode().cast(pl.String).alias("text").to_frame()
    codes = cells.join(values, on="text", how="left", maintain_order="left")["at"]
    if codes.null_count():
        raise SeriesDamaged("A public table of sets has values that its design does not have.")
    return codes.to_numpy().astype(np.int64)


def _slots_differ() -> SeriesDamaged:
    return SeriesDamaged("A public table of sets does not have as many slots in each row as its record says.")


def _slots_taken(lists: SetLists, designs: SetDesigns) -> npt.NDArray[Any]:
    """For each row how many slots its values take."""
    slots = slots_of(designs)
    if designs.linked or int(slots.max()) == 1:
        return lists.lengths
    return lists.sums(slots.reshape(-1, 1).astype(np.float64), np.arange(len(slots)) * slots.shape[1])[:, 0]


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


def _all_codes(lists: pl.Series, designs: SetDesigns) -> SetCodes:
    """The positions of the values of all lists among the labels."""
    code = _coding(designs, lists.dtype.inner)  # type: ignore[attr-defined]
    # Values that lie together are there already; those of a column in several pieces would first be copied together.
    pieces = [code(piece.explode()) for piece in lists.get_chunks()]
    if any(piece.null_count() for piece in pieces):
        raise SeriesDamaged("A public table of sets has values that its design does not have.")
    # Two types of codes and not three: kernels are compiled for each. There is room for one code that is no label.
    smallest = np.uint16 if len(designs.labels) < 1 << 16 else np.uint32
    return np.concatenate([piece.to_numpy().astype(smallest) for piece in pieces])


def _coding(designs: SetDesigns, dtype: pl.DataType) -> Callable[[pl.Series], pl.Series]:
    """What gives the positions of values among the labels, and nothing for values that are not among them."""
    if all(isinstance(label, str) for label in designs.labels):
        labels = pl.Enum(list(map(str, designs.labels)))
        return lambda values: values.cast(labels, strict=False).to_physical()
    known = pl.DataFrame({"value": pl.Series(list(designs.labels), dtype=dtype)}).with_row_index("at")
    return lambda values: (
        values.alias("value").to_frame().join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    )["at"]


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
