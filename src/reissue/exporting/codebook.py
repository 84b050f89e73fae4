"""The codebook: of every public column what it is, how it was coarsened, and what is missing.

It is made from public files alone: labels are those that occur in them, never those of the private table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from reissue.exporting.public_releases import ReleaseToSend
from reissue.model.hierarchy import MISSING
from reissue.model.sets import OTHERS
from reissue.tables.recode_sets import COMBINATIONS, DESIGN, PLACES, ROOM, ROOMS
from reissue.tables.sent_types import plain_types, type_name
from reissue.tables.set_texts import label_lists
from reissue.tables.set_views import FORM
from reissue.utility.analysing.public_files import PublicRelease

GROUP, QUASI, SENSITIVE = "group number", "quasi-identifier", "sensitive"
COUNT, DRAWN, OTHER = "count", "design", "other"
NONE_MISSING = "none is missing"
EMPTY = "an empty cell: no value"
_WORDS = {"string": "text", "boolean": "yes or no (true, false)", "date": "date"}


@dataclass(frozen=True)
class ColumnNote:
    """What there is to know of a public column, in one release or in several that say the same of it."""

    table: str
    column: str
    role: str
    type: str
    """In words."""
    content: str
    """What stands in it, and how it was coarsened."""
    missing: str
    """What stands for no value."""
    low: Any = None
    high: Any = None
    labels: tuple[str, ...] | None = None
    """The labels that occur, of a column of labels."""
    releases: tuple[int, ...] = ()


def notes_of(
    release: ReleaseToSend, name: str, frame: pl.DataFrame, hierarchies: Mapping[str, str]
) -> list[ColumnNote]:
    """What there is to know of the columns of one table; `hierarchies` has the files of those that are sent."""
    plain = plain_types(frame)
    about = _About(release.public, name, plain, hierarchies)
    return [replace(about.note(column), releases=(release.number,)) for column in plain.columns]


@dataclass(frozen=True)
class _About:
    release: PublicRelease
    table: str
    frame: pl.DataFrame
    hierarchies: Mapping[str, str]

    def note(self, name: str) -> ColumnNote:
        column = self.frame[name]
        role, content, missing = self._said(name)
        low, high = _ends(column)
        labels = self._labels(name, column) if role in (QUASI, SENSITIVE) else None
        if labels is not None and MISSING in labels:
            missing = f"the label {MISSING}: no value"
        if labels is not None and OTHERS in labels and self.release.form == FORM:
            content += f" {OTHERS} stands for every value that is not listed."
        if not missing:
            missing = EMPTY if column.null_count() else NONE_MISSING
        return ColumnNote(self.table, name, role, type_words(column.dtype), content, missing, low, high, labels)

    def _said(self, name: str) -> tuple[str, str, str]:
        """Role, content and what is missing; the last is empty where the cells say it."""
        release = self.release
        own = {
            "main": self._main,
            "sensitive": self._values,
            DESIGN: self._design,
            COMBINATIONS: self._combinations,
            ROOMS: self._rooms,
            "counterfeits": self._counterfeits,
        }
        told = own.get("main" if self.table == release.main else self.table)
        return (told and told(name)) or (OTHER, "The record of the release does not say what it is.", "")

    def _main(self, name: str) -> tuple[str, str, str] | None:
        release = self.release
        if name in release.sensitive_columns:
            return SENSITIVE, self._sensitive(), ""
        if name == "group" and release.form != FORM:
            return GROUP, _GROUP, ""
        if name == DESIGN and release.form == FORM:
            return DRAWN, "The number of the design, in the table 'design', that the set of the row was drawn by.", ""
        for quasi, kind in release.kinds.items():
            if found := self._quasi(name, quasi, kind):
                return found
        return None

    def _quasi(self, name: str, quasi: str, kind: str) -> tuple[str, str, str] | None:
        regions = self.release.has_regions
        if regions and kind == "numeric" and name in (f"{quasi}_low", f"{quasi}_high", f"{quasi}_missing"):
            return QUASI, *self._interval(name, quasi)
        if name != quasi:
            return None
        if kind == "as given":
            return QUASI, "As whoever made the release gave it; how it was coarsened is not known here.", ""
        if kind == "as it is":
            return QUASI, "Published as it is in the table: not coarsened.", ""
        if not regions:
            return QUASI, "Exact: as in the table, not coarsened.", ""
        if kind == "hierarchy":
            where = self.hierarchies.get(name)
            lies = "is not part of the release: ask the publisher for it" if where is None else f"is in {where}"
            return (
                QUASI,
                "Coarsened along a hierarchy: one label for the whole group, the nearest that stands above the "
                f"labels of everybody in it. The hierarchy {lies}.",
                "",
            )
        return (
            QUASI,
            "Coarsened to sets of labels: the label if everybody in the group has the same, else {a,b}: each person "
            "has one of them. A label with a comma, brace or quote in it stands in double quotes within the braces.",
            "",
        )

    def _interval(self, name: str, quasi: str) -> tuple[str, str]:
        lacks = f"{quasi}_missing"
        if name == lacks:
            return f"Whether somebody in the group has no value of '{quasi}'.", NONE_MISSING
        end = "lowest" if name.endswith("_low") else "highest"
        content = f"Coarsened to intervals: the {end} '{quasi}' in the group, which belongs to the interval."
        if lacks not in self.frame.columns:
            return content, ""
        return content, f"an empty cell: nobody in the group has a value; '{lacks}' says where somebody has none"

    def _sensitive(self) -> str:
        if self.release.form == FORM:
            together = (
                " The places of the sensitive columns belong together: the first value of each is one record, and "
                "one of the records is true."
                if len(self.release.sensitive_columns) > 1
                else ""
            )
            return f"A set of values of which one is true. Nothing says which.{together}"
        return "The value of one person in the group. Nothing says whose it is."

    def _values(self, name: str) -> tuple[str, str, str] | None:
        if name in self.release.sensitive_columns:
            return SENSITIVE, "A value that occurs in the group. Nothing says whose it is.", ""
        return {
            "group": (GROUP, _GROUP, ""),
            "count": (COUNT, "How many rows of the group have this value, or this record.", ""),
        }.get(name)

    def _design(self, name: str) -> tuple[str, str, str] | None:
        if name in self.release.sensitive_columns:
            return DRAWN, "A value, or the part of a record, that sets are made of.", ""
        if name in self.release.kinds:
            return DRAWN, "The cell of quasi-identifiers that the design is for.", ""
        return {
            DESIGN: (DRAWN, "The number of the design.", ""),
            "version": (DRAWN, "The version of the reference that the design was made from.", ""),
            "share": (DRAWN, "The reference share: how frequent it was taken to be when sets were drawn.", ""),
            "slots": (DRAWN, "How many of the slots of a set the value takes.", ""),
            ROOM: (DRAWN, "How many lives of a set may be at the value.", ""),
            PLACES: (DRAWN, "How many places of a set the record takes at most.", ""),
        }.get(name)

    def _combinations(self, name: str) -> tuple[str, str, str] | None:
        return {
            DESIGN: (DRAWN, "The number of the design.", ""),
            "combination": (DRAWN, "Frequent values that are drawn together, before all others.", ""),
            "probability": (DRAWN, "How often they are.", ""),
        }.get(name)

    def _rooms(self, name: str) -> tuple[str, str, str] | None:
        return {
            DESIGN: (DRAWN, "The number of the design.", ""),
            "column": (DRAWN, "The name of a sensitive column.", ""),
            "value": (DRAWN, "A value of it, as text.", ""),
            ROOM: (DRAWN, "How many of the records of a set have the value, at most.", ""),
        }.get(name)

    def _counterfeits(self, name: str) -> tuple[str, str, str] | None:
        return {
            "group": (GROUP, _GROUP, ""),
            "count": (COUNT, "How many rows of the group are counterfeits.", ""),
        }.get(name)

    def _labels(self, name: str, column: pl.Series) -> tuple[str, ...] | None:
        """The labels that occur; of sets those of the design, of regions those within."""
        if isinstance(column.dtype, pl.List):
            if not isinstance(column.dtype.inner, pl.String):
                return None
            values = self.release.table(DESIGN)[name].cast(pl.String)
        elif column.dtype != pl.String:
            return None
        elif self.release.has_regions and self.release.kinds.get(name) == "categorical":
            values = label_lists(column.unique()).explode()
        else:
            values = column
        return tuple(sorted(values.unique().drop_nulls().to_list()))


_GROUP = (
    "The group, counted from 1 in this release. The same number in another release is another group: groups cannot "
    "be joined across releases."
)


def type_words(dtype: Any) -> str:
    """A type as a reader would say it."""
    if isinstance(dtype, pl.List):
        return f"set of values, each: {type_words(dtype.inner)}"
    name = type_name(dtype)
    if "int" in name:
        return "whole number"
    if name.startswith("float"):
        return "decimal number"
    return "time" if name.startswith("datetime") else _WORDS[name]


def _ends(column: pl.Series) -> tuple[Any, Any]:
    """The lowest and the highest, of numbers, dates and times; of sets, of all values in them."""
    if isinstance(column.dtype, pl.List):
        column = column.explode().drop_nulls()
    if column.dtype in (pl.String, pl.Boolean):
        return None, None
    return column.min(), column.max()


def merged(notes: Iterable[ColumnNote]) -> list[ColumnNote]:
    """One note for all releases that say the same of a column."""
    found: dict[tuple[str, ...], ColumnNote] = {}
    for note in notes:
        key = (note.table, note.column, note.role, note.type, note.content, note.missing)
        before = found.get(key)
        if before is not None:
            labels = None
            if before.labels is not None or note.labels is not None:
                labels = tuple(sorted({*(before.labels or ()), *(note.labels or ())}))
            note = replace(
                note,
                low=min((one for one in (before.low, note.low) if one is not None), default=None),
                high=max((one for one in (before.high, note.high) if one is not None), default=None),
                labels=labels,
                releases=(*before.releases, *note.releases),
            )
        found[key] = note
    return list(found.values())


def codebook_frame(notes: Sequence[ColumnNote]) -> pl.DataFrame:
    """The codebook as a table: a row for each column."""
    rows = [
        {
            "table": note.table,
            "column": note.column,
            "role": note.role,
            "type": note.type,
            "content": note.content,
            "missing": note.missing,
            "lowest": _shown(note.low),
            "highest": _shown(note.high),
            "labels": None if note.labels is None else len(note.labels),
            "releases": ", ".join(map(str, note.releases)),
        }
        for note in notes
    ]
    names = ("table", "column", "role", "type", "content", "missing", "lowest", "highest", "labels", "releases")
    return pl.DataFrame(rows, {name: pl.Int64 if name == "labels" else pl.String for name in names})


def labels_frame(notes: Sequence[ColumnNote]) -> pl.DataFrame:
    """Every label that occurs in a public column of labels, a row each."""
    parts = [
        pl.DataFrame({"label": note.labels}, {"label": pl.String}).select(
            pl.lit(note.table).alias("table"), pl.lit(note.column).alias("column"), "label"
        )
        for note in notes
        if note.labels is not None
    ]
    return pl.concat([pl.DataFrame(schema=dict.fromkeys(("table", "column", "label"), pl.String)), *parts]).unique(
        maintain_order=True
    )


def _shown(value: Any) -> str | None:
    return None if value is None else str(value)


LABELS_TOLD: Mapping[str, str] = {
    "table": "The table that the column is in.",
    "column": "The column.",
    "label": "A label that occurs in it; of sets and regions, within them.",
}
CODEBOOK_TOLD: Mapping[str, str] = {
    "table": "The table that the column is in.",
    "column": "The column.",
    "role": "What the column is for.",
    "type": "What its values are.",
    "content": "What stands in it, and how it was coarsened.",
    "missing": "What stands for no value.",
    "lowest": "The lowest value that occurs, of numbers and dates. Units are not recorded.",
    "highest": "The highest value that occurs.",
    "labels": "How many labels occur, of columns of labels; labels.csv has them.",
    "releases": "The releases that this is true of.",
}
