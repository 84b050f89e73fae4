"""A package for recipients: public tables, codebook, README, datapackage.json and export.json, in one folder.

It is a function of the public folders and of what the sender says: nothing private is read, and the time in it is that
of the last release. So whoever has the public files can make the same bytes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

import reissue
from reissue.errors import ParameterError, TableError, listed
from reissue.exporting.about import About
from reissue.exporting.codebook import (
    CODEBOOK_TOLD,
    LABELS_TOLD,
    ColumnNote,
    codebook_frame,
    labels_frame,
    merged,
    notes_of,
)
from reissue.exporting.descriptor import package_descriptor, table_resource, title_of, told_of
from reissue.exporting.placing import Staged, check_free, put_in_place, staged
from reissue.exporting.public_releases import ReleaseToSend, releases_to_send
from reissue.exporting.reading_guide import Sent, guide, protection, spreadsheet_formulas
from reissue.exporting.sent_hierarchies import Hierarchies, content_of, file_names, hierarchies_to_send, resource_of
from reissue.ledger.layout import PARQUET, RECORD
from reissue.ledger.sent_packages import DESCRIPTION, EXPORT, SentFile, SentRelease, export_json
from reissue.model.hierarchy import Hierarchy
from reissue.tables.sent_csv import csv_bytes
from reissue.tables.sent_workbook import problems_of_sheet, workbook_bytes

Format = Literal["csv", "parquet", "excel"]
FORMATS = ("csv", "parquet", "excel")
README, CODEBOOK, LABELS, WORKBOOK = "README.md", "codebook", "labels", "tables.xlsx"


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    """The folder of the package."""
    releases: tuple[int, ...]
    """The numbers of the releases in it."""
    files: tuple[Path, ...]
    """Every file: tables first, then what describes them."""
    chain: str
    """What stands for all of it, as export.json has it."""
    unsent: tuple[str, ...] = ()
    """Columns that were generalised along hierarchies that are not in it: whoever counts by them needs these."""


def write_package(
    folders: Sequence[Path],
    target: Path,
    *,
    format: Format,
    about: About,
    hierarchies: Hierarchies,
    force: bool,
    progress: Callable[[int, int], None],
) -> Exported:
    """Write the releases in these public folders to a target, entirely or not at all."""
    if format not in FORMATS:
        raise ParameterError(
            f"The 'format' parameter of export must be one of {listed(FORMATS)}. Got {format!r} instead."
        )
    check_free(target, force=force)
    releases = releases_to_send(folders)
    with staged(target) as made:
        package = _Package(releases, about, format, made, hierarchies_to_send(hierarchies, releases))
        for done, release in enumerate(releases):
            progress(done, len(releases))
            package.add(release)
        chain = package.finish()
        names = [*(name for name in made.files if name != EXPORT), EXPORT]
        check_free(target, force=force)  # somebody else may have been faster
        put_in_place(made, target)
    lacking = {
        name: None
        for one in releases
        if one.public.has_regions
        for name, kind in one.public.kinds.items()
        if kind == "hierarchy" and name not in (hierarchies or {})
    }
    numbers = tuple(one.number for one in releases)
    return Exported(target, numbers, tuple(target / name for name in names), chain, tuple(lacking))


class _Package:
    """A package in the making."""

    def __init__(
        self,
        releases: Sequence[ReleaseToSend],
        about: About,
        kind: Format,
        made: Staged,
        hierarchies: Mapping[str, Hierarchy],
    ) -> None:
        self._releases = releases
        self._hierarchies = hierarchies
        self._places = file_names(hierarchies)
        self._about = about
        self._kind = kind
        self._made = made
        self._resources: list[dict[str, Any]] = []
        self._notes: list[ColumnNote] = []
        self._counterfeits: dict[int, int] = {}
        self._formulas: dict[str, list[str]] = {}

    def add(self, release: ReleaseToSend) -> None:
        """Write the tables and the record of a release."""
        tables = {name: release.table(name) for name in release.names}
        notes = {name: notes_of(release, name, frame, self._places) for name, frame in tables.items()}
        if "counterfeits" in tables:
            self._counterfeits[release.number] = int(tables["counterfeits"]["count"].sum())
        if self._kind == "excel":
            facts = dict.fromkeys(tables, self._workbook(release, tables, notes))
        else:
            facts = {name: self._file(release, name, frame) for name, frame in tables.items()}
        for name, frame in tables.items():
            self._notes += notes[name]
            self._note_formulas(frame)
            self._resources.append(self._resource(release, name, frame, notes[name], facts[name]))
        self._made.add(f"{release.place}{RECORD}", release.own.record)

    def _file(self, release: ReleaseToSend, name: str, frame: pl.DataFrame) -> SentFile:
        if self._kind == "csv":
            return self._made.add(f"{release.place}{name}.csv", csv_bytes(frame))
        content = (release.own.path / f"{name}{PARQUET}").read_bytes()
        return self._made.add(f"{release.place}{name}{PARQUET}", content)

    def _workbook(
        self, release: ReleaseToSend, tables: Mapping[str, pl.DataFrame], notes: Mapping[str, list[ColumnNote]]
    ) -> SentFile:
        own = merged(note for every in notes.values() for note in every)
        sheets = {**tables, CODEBOOK: codebook_frame(own), LABELS: labels_frame(own)}
        if problems := [problem for name, frame in sheets.items() for problem in problems_of_sheet(name, frame)]:
            raise TableError(
                f"Release {release.number} does not fit into an Excel workbook.",
                problems=problems,
                hint="export it as csv or parquet.",
            )
        return self._made.add(f"{release.place}{WORKBOOK}", workbook_bytes(sheets, release.time))

    def _resource(
        self, release: ReleaseToSend, name: str, frame: pl.DataFrame, notes: list[ColumnNote], facts: SentFile
    ) -> dict[str, Any]:
        kind = "xlsx" if self._kind == "excel" else self._kind
        file = WORKBOOK if self._kind == "excel" else f"{name}.{kind}"
        prefix = release.place.rstrip("/").lower()
        period = f", {release.period}" if release.period else ""
        return table_resource(
            f"{prefix}-{name}" if prefix else name,
            f"{release.place}{file}",
            kind,
            frame,
            told_of(notes),
            facts,
            title=f"The table '{name}' of release {release.number}{period}",
            sheet=name if self._kind == "excel" else None,
            own={"release": release.number, "table": name},
        )

    def _note_formulas(self, frame: pl.DataFrame) -> None:
        """Look for texts that a spreadsheet could take for formulas; a list begins with a brace, and never is one."""
        for column in frame.select(pl.col(pl.String, pl.Categorical, pl.Enum)):
            self._formulas.setdefault(column.name, []).extend(column.unique().cast(pl.String).drop_nulls().to_list())

    def finish(self) -> str:
        """Write what describes the tables, and last the list of all files; the chain of that list."""
        notes = merged(self._notes)
        described = {
            CODEBOOK: (codebook_frame(notes), CODEBOOK_TOLD, "What every column is"),
            LABELS: (labels_frame(notes), LABELS_TOLD, "Every label that occurs"),
        }
        for name, (frame, told, title) in described.items():
            facts = self._made.add(f"{name}.csv", csv_bytes(frame))
            self._resources.append(table_resource(name, f"{name}.csv", "csv", frame, told, facts, title=title))
        for column, path in self._places.items():
            facts = self._made.add(path, content_of(self._hierarchies[column]))
            self._resources.append(resource_of(column, path, facts))
        formulas = spreadsheet_formulas(self._formulas)
        sent = Sent(self._releases, self._about, self._kind, notes, self._counterfeits, formulas, self._places)
        self._made.add(README, guide(sent).encode())
        title = title_of(self._releases, self._about)
        words = f"{title}: data about people{protection(self._releases)}. README.md says what was done."
        descriptor = package_descriptor(self._releases, self._about, words, self._resources)
        self._made.add(DESCRIPTION, (json.dumps(descriptor, indent=2, ensure_ascii=False) + "\n").encode())
        text = export_json(
            [SentRelease(one.number, one.own.chain, f"{one.place}{RECORD}") for one in self._releases],
            self._made.files,
            kind=self._kind,
            time=str(self._releases[-1].record["time"]),
            version=reissue.__version__,
        )
        self._made.add(EXPORT, text.encode())
        return str(json.loads(text)["chain"])
