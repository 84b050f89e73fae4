"""The book: what a series of sets is drawn by, version after version, as it is kept from release to release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.methods.alternatives.record_reference import RecordReference, every_column
from reissue.methods.alternatives.reference import OTHERS, Reference, names_of, places_of
from reissue.model.design import Design
from reissue.model.memory import Memory
from reissue.model.record_design import RecordDesign
from reissue.model.records import Records, record_cells
from reissue.model.sets import SetDesigns
from reissue.model.snapshot import Column

BOOK = "book"
"""The table of the memory that it is kept in."""


@dataclass(frozen=True, repr=False)
class Book:
    """The designs of all versions, which of them is in force, and which rate of change led into each release."""

    designs: SetDesigns
    merged: tuple[bool, ...]
    """For each sensitive column whether the last version has a label for everything that it does not name."""
    source: tuple[str, str]
    """What shares and limits of the last version were made of, so that other ones make another version."""
    noised: str | None
    """What the shares were made of that a table gave, with noise, in whatever version; None: none did."""
    epsilon: float | None
    """How much noise they had."""
    spent: float
    """The epsilon of all files counted from people of the series, in whatever version."""
    rates: tuple[float, ...]
    """For each release the chance of a redraw in the step into it, the first one's is 0."""
    steps: tuple[int, ...]
    """For each release the version in force, counted from 1."""

    def __repr__(self) -> str:
        return f"Book({self.designs!r}, {len(self.steps):,} releases)"

    @property
    def version(self) -> int:
        """The version in force."""
        return self.designs.version[-1]

    @property
    def cells(self) -> pl.DataFrame | None:
        """The cells that there are designs for, the same in all versions."""
        return None if self.designs.cells is None else self.designs.cells.head(self.designs.version.count(1))

    def positions(self, values: Column) -> Ints:
        """For each code of a column the position of its value among the labels of the version in force; -1: none."""
        if isinstance(values.levels, Records):
            for column in every_column(values):
                names_of(column)  # refuses what cannot stand in sets
            return self.designs.labels_of(values.levels)
        held = self.designs.places[-1].tolist()
        place = {self.designs.labels[at]: at for at in held}
        return places_of(names_of(values), place, place[OTHERS] if self.merged[0] else -1)

    def reference(self) -> Reference | RecordReference:
        """The shares of the version in force."""
        current = [at for at, version in enumerate(self.designs.version) if version == self.version]
        held = self.designs.places[current[0]]
        if self.designs.columns:
            design = self.designs.of_records[current[0]]
            texts = [record_cells(str(self.designs.labels[at]), len(self.designs.columns)) for at in held.tolist()]
            labels = []
            for column, room in enumerate(design.room):
                names = [""] * room.size
                for cells, code in zip(texts, design.records[:, column].tolist(), strict=True):
                    names[code] = cells[column]
                labels.append(tuple(names))
            return RecordReference(self.designs.columns, tuple(labels), self.merged, design.records, design.shares)
        rows = np.stack([self.designs.designs[at].shares for at in current])
        return Reference(tuple(self.designs.labels[at] for at in held), rows, self.merged[0])

    def with_step(self, rate: float) -> Book:
        """With one release more."""
        return replace(self, rates=(*self.rates, rate), steps=(*self.steps, self.version))

    def with_version(self, version: Book) -> Book:
        """With a later version, which has labels, designs and cells of its own."""
        labels = _united(self.designs.labels, version.designs.labels)
        place = {label: at for at, label in enumerate(labels)}

        def moved(designs: SetDesigns) -> tuple[Ints, ...]:
            there = np.array([place[label] for label in designs.labels], dtype=np.int64)
            return tuple(there[places] for places in designs.places)

        before, after = self.designs, version.designs
        cells = None if before.cells is None or after.cells is None else pl.concat([before.cells, after.cells])
        designs = SetDesigns(
            labels,
            (*before.designs, *after.designs),
            (*moved(before), *moved(after)),
            (*before.version, *(self.version + 1 for _ in after.version)),
            cells,
            after.change,
            after.linked,
            after.room,
            after.columns,
        )
        told = version if version.noised else self
        return Book(
            designs, version.merged, version.source, told.noised, told.epsilon, version.spent, self.rates, self.steps
        )

    def frame(self) -> pl.DataFrame:
        """As it is kept."""
        designs = self.designs
        written = {
            "labels": list(designs.labels),
            "designs": [design.to_dict() for design in designs.designs],
            "places": [places.tolist() for places in designs.places],
            "version": designs.version,
            "cells": None if designs.cells is None else [list(row) for row in designs.cells.rows()],
            "given": None if designs.cells is None else designs.cells.columns,
            "change": designs.change,
            "linked": designs.linked,
            **({} if designs.room is None else {"room": designs.room.tolist()}),
            **({"columns": designs.columns} if designs.columns else {}),
            "merged": self.merged if designs.columns else self.merged[0],
            "source": self.source,
            "noised": self.noised,
            "epsilon": self.epsilon,
            "spent": self.spent,
            "rates": self.rates,
            "steps": self.steps,
        }
        return pl.DataFrame({BOOK: [json.dumps(written)]})

    @classmethod
    def read(cls, memory: Memory) -> Book | None:
        """What `frame` wrote; None before the first release."""
        if BOOK not in memory:
            return None
        written: dict[str, Any] = json.loads(memory[BOOK][BOOK].item())
        cells, columns = written["cells"], tuple(written.get("columns", ()))
        read: Any = RecordDesign.from_dict if columns else Design.from_dict
        designs = SetDesigns(
            tuple(written["labels"]),
            tuple(read(one) for one in written["designs"]),
            tuple(np.array(places, dtype=np.int64) for places in written["places"]),
            tuple(written["version"]),
            None if cells is None else pl.DataFrame(cells, schema=written["given"], orient="row"),
            written["change"],
            written["linked"],
            np.array(written["room"], dtype=np.int64) if "room" in written else None,
            columns,
        )
        merged = tuple(written["merged"]) if columns else (written["merged"],)
        rates, steps = tuple(written["rates"]), tuple(written["steps"])
        noise = written["noised"], written.get("epsilon"), written.get("spent", 0.0)
        return cls(designs, merged, tuple(written["source"]), *noise, rates, steps)


def _united(one: Sequence[object], other: Sequence[object]) -> tuple[object, ...]:
    """The labels of both in one order: numbers ascending, then text, and what stands for others last."""
    both = dict.fromkeys([*one, *other])
    numbers = sorted(label for label in both if isinstance(label, int | float))
    texts = sorted(str(label) for label in both if isinstance(label, str) and label != OTHERS)
    rest = [label for label in both if label is None or label == OTHERS]
    return (*numbers, *texts, *rest)
