"""From sets to a table that may leave the building: one row for each person, a list of values in place of one.

The table is a canonical function of what it says: rows are sorted by their published columns, the list included, which
is in the order of values, so that nothing tells the true value from the others. The design that sets were drawn by is
published beside it, in tables that can be read without us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import InternalError
from reissue.model.grouping import Grouping
from reissue.model.pieces import made
from reissue.model.records import Records, ValueColumn
from reissue.model.sets import PublishedSets, SetDesigns
from reissue.model.snapshot import Column, Snapshot, decoded, enum_of
from reissue.tables.joining import typed_cells
from reissue.tables.recode import Recoded, region_columns

DESIGN = "design"
"""The public table with the shares and slots of every value; the column that says which of several a row is from."""
ROOM = "room"
"""The column of `design` that says how many lives may come to be at a value, where that is more than its slots."""
PLACES = "places"
"""The column of `design` that says how many places of a set a record may take, where several columns are sensitive."""
STRETCH, STRETCHES = 1 << 20, 64
"""About so many rows are put in order at a time, in at most so many stretches."""
SAMPLED = 1 << 16
"""Of about so many rows it is seen where stretches begin."""
ROOMS = "rooms"
"""The public table with how many places of a set each value of each of several columns may take."""
COMBINATIONS = "combinations"
"""The public table with the combinations of frequent values that sets can have, where there are any."""


def alternatives(snapshot: Snapshot, grouping: Grouping, number: int = 1, *, classes: bool = False) -> Recoded:
    """One table: quasi-identifiers of each row, exactly or as the region of its group, and its set of values."""
    sets = grouping.sets
    if sets is None:
        raise InternalError("the form is for methods that draw sets")
    columns = _quasi(snapshot, grouping)
    several = len(sets.designs.designs) > 1
    keys = [codes for _, codes in columns]
    keys += [sets.design] if several else []
    order = _order([*keys, *(sets.codes[:, slot] for slot in range(sets.codes.shape[1]))])
    designs, values = sets.designs, snapshot.values

    def table(rows: slice) -> pl.DataFrame:
        own = order[rows]
        codes = sets.codes[own]
        shown = record_lists(codes, designs, values) if designs.columns else [listed(codes, designs).alias(values.name)]
        design = [pl.Series(DESIGN, sets.design[own].astype(np.uint32) + np.uint32(1))] if several else []
        return pl.DataFrame([*decoded(cells(own) for cells, _ in columns), *design, *shown])

    place = np.empty(order.size, dtype=np.uint32)
    place[order] = np.arange(1, order.size + 1, dtype=np.uint32)
    view = PublishedSets(
        number=number,
        people=snapshot.people,
        codes=sets.codes,
        design=sets.design,
        designs=sets.designs,
        values=np.arange(len(sets.designs.labels)),
        group=grouping.group,
    )
    drawn = record_tables(designs, values) if designs.columns else design_tables(designs, values.name)
    return Recoded({"table": made(order.size, table), **drawn}, place, view)


def record_lists(codes: npt.NDArray[np.unsignedinteger], designs: SetDesigns, values: Column) -> list[pl.Series]:
    """Sets of records as one list for each column, in which the same places go together."""
    flat = codes.ravel().astype(np.int64)
    return [
        typed.gather(pl.Series(own.of[flat].astype(np.uint32))).reshape(codes.shape).arr.to_list().alias(own.name)
        for own, typed in _typed_columns(designs, values)
    ]


def _typed_columns(designs: SetDesigns, values: Column) -> list[tuple[ValueColumn, pl.Series]]:
    """Each column of records with its values in their own type: text as an enumeration, numbers as numbers."""
    levels = values.levels
    assert isinstance(levels, Records)
    found = []
    for own, kind in zip(designs.value_columns, levels.levels, strict=True):
        typed = typed_cells(own.values, kind)
        found.append((own, typed.cast(pl.Enum(list(own.values))) if typed.dtype == pl.String else typed))
    return found


def _quasi(snapshot: Snapshot, grouping: Grouping) -> list[tuple[Any, npt.NDArray[np.integer]]]:
    """For each published column a way to get its cells in an order, and codes whose order is that of the cells."""

    def exact(column: Column) -> tuple[Any, npt.NDArray[np.integer]]:
        return lambda order: column.levels.decode(column.codes[order]).alias(column.name), column.codes

    if grouping.count == len(snapshot):
        return [exact(column) for column in (*snapshot.quasi, *snapshot.as_is)]
    regions = region_columns(snapshot, grouping)

    def of_group(region: Any) -> tuple[Any, npt.NDArray[np.integer]]:
        return lambda order: region.to_decode(grouping.group[order]), region.codes[grouping.group]

    return [*(of_group(region) for region in regions), *(exact(column) for column in snapshot.as_is)]


def _order(keys: list[npt.NDArray[np.integer]]) -> npt.NDArray[np.uint32]:
    """The order of rows by the keys, the first counting most; rows that agree in all of them are the same."""
    packs = _packs(keys)
    first = _packed(packs[0])
    if len(packs) == 1:
        return np.argsort(first, kind="stable").astype(np.uint32)
    # Stretches of the first numbers one after another: to sort takes several times the room of what is sorted.
    count = min(-(-first.size // STRETCH), STRETCHES)
    sample = np.sort(first[:: max(first.size // SAMPLED, 1)])
    bounds = sample[np.arange(1, count) * sample.size // count]
    stretch = np.empty(first.size, dtype=np.uint8)
    for begin in range(0, first.size, STRETCH):
        stretch[begin : begin + STRETCH] = np.searchsorted(bounds, first[begin : begin + STRETCH], side="right")
    order = np.empty(first.size, dtype=np.uint32)
    done = 0
    for at in range(count):
        rows = np.flatnonzero(stretch == at).astype(np.uint32)
        columns = [first[rows], *(_packed([(key[rows], size) for key, size in pack]) for pack in packs[1:])]
        frame = pl.DataFrame([pl.Series(str(place), column) for place, column in enumerate(columns)])
        sorted_rows = frame.select(pl.arg_sort_by(frame.columns)).to_series().to_numpy()
        order[done : done + rows.size] = rows[sorted_rows]
        done += rows.size
    return order


def _packs(keys: list[npt.NDArray[np.integer]]) -> list[list[tuple[npt.NDArray[np.integer], int]]]:
    """Keys that fit into one number together, each with how many codes it has."""
    packs: list[list[tuple[npt.NDArray[np.integer], int]]] = [[]]
    possible = 1
    for key in keys:
        size = int(key.max(initial=0)) + 1
        if possible * size >= 1 << 63:
            packs.append([])
            possible = 1
        packs[-1].append((key, size))
        possible *= size
    return packs


def _packed(pack: list[tuple[npt.NDArray[np.integer], int]]) -> npt.NDArray[np.uint64]:
    """Keys as one number for each row, the first counting most."""
    one = np.zeros(pack[0][0].size if pack else 0, dtype=np.uint64)
    for key, size in pack:
        one *= np.uint64(size)
        np.add(one, key, out=one, casting="unsafe")  # codes are never below 0
    return one


def listed(codes: npt.NDArray[np.unsignedinteger], designs: SetDesigns) -> pl.Series:
    """Sets as lists of values; one that takes several slots stands once, but for lives, which have a place each."""
    flat = codes.ravel()
    values = values_of(flat, designs.labels)
    if not designs.linked and any(int(design.slots.max()) > 1 for design in designs.of_values):
        again = np.zeros(codes.shape, dtype=np.bool_)
        again[:, 1:] = codes[:, 1:] == codes[:, :-1]
        values = values.set(pl.Series(again.ravel()), None)
        return values.reshape(codes.shape).arr.to_list().list.drop_nulls()
    return values.reshape(codes.shape).arr.to_list()


def values_of(codes: npt.NDArray[np.integer], labels: tuple[object, ...]) -> pl.Series:
    """The values at positions among labels: text as an enumeration, numbers as numbers."""
    if all(isinstance(label, str) for label in labels):
        return enum_of(codes if codes.dtype.kind == "u" else codes.astype(np.uint32), tuple(map(str, labels)))
    return pl.Series(labels).gather(pl.Series(codes.astype(np.uint32)))


def design_tables(designs: SetDesigns, sensitive: str) -> dict[str, pl.DataFrame]:
    """The design as tables: `design` has the share and slots of every value, `combinations` those drawn first."""
    several = len(designs.designs) > 1
    shares, joint = [], []
    for at, (design, places) in enumerate(zip(designs.of_values, designs.places, strict=True)):
        cell = {} if designs.cells is None else designs.cells.row(at, named=True)
        head = {DESIGN: at + 1, "version": designs.version[at], **cell} if several else {}
        shares.append(
            pl.DataFrame(
                {
                    sensitive: values_of(places, designs.labels),
                    "share": design.shares,
                    "slots": design.slots.astype(np.uint32),
                    **({} if designs.room is None else {ROOM: designs.room[places].astype(np.uint32)}),
                }
            )
            .select(*(pl.lit(value).alias(name) for name, value in head.items()), pl.all())
            .cast(dict.fromkeys(head.keys() & {DESIGN, "version"}, pl.UInt32))
        )
        if design.large.size:
            rows = [places[design.large[row]].astype(np.int64).tolist() for row in design.joint]
            labels = [[designs.labels[code] for code in row] for row in rows]
            joint.append(
                pl.DataFrame(
                    {"combination": labels, "probability": design.weights},
                    schema_overrides={"combination": pl.List(_dtype(designs.labels))},
                ).select(*([pl.lit(at + 1, dtype=pl.UInt32).alias(DESIGN)] if several else []), pl.all())
            )
    tables = {DESIGN: pl.concat(shares)}
    return {**tables, COMBINATIONS: pl.concat(joint)} if joint else tables


def record_tables(designs: SetDesigns, values: Column) -> dict[str, pl.DataFrame]:
    """The design of records: `design` has the share of every record, `rooms` what each value of a column may take."""
    several = len(designs.designs) > 1
    shares, rooms = [], []
    for at, (design, places) in enumerate(zip(designs.of_records, designs.places, strict=True)):
        head = {DESIGN: at + 1, "version": designs.version[at]} if several else {}
        named = [pl.lit(value, dtype=pl.UInt32).alias(name) for name, value in head.items()]
        cells = [
            typed.gather(pl.Series(own.of[places].astype(np.uint32))).alias(own.name)
            for own, typed in _typed_columns(designs, values)
        ]
        figures = [pl.Series("share", design.shares), pl.Series(PLACES, design.most.astype(np.uint32))]
        shares.append(pl.DataFrame([*cells, *figures]).select(*named, pl.all()))
        for column, own in enumerate(designs.value_columns):
            used = np.unique(own.of[places])
            room = pl.DataFrame(
                {
                    "column": [own.name] * used.size,
                    "value": [own.values[value] for value in used.tolist()],
                    ROOM: designs.room_of(at, column)[used].astype(np.uint32),
                }
            )
            rooms.append(room.select(*named[:1], pl.all()))
    return {DESIGN: pl.concat(shares), ROOMS: pl.concat(rooms)}


def _dtype(labels: tuple[object, ...]) -> Any:
    return pl.String if all(isinstance(label, str) for label in labels) else pl.Series(labels).dtype
