"""One stream published in one way: a series in a folder of its own, and what the private side knows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import polars as pl

from reissue.comparing.series_tables import by_id
from reissue.comparing.truth_behind import renumbered
from reissue.errors import PolicyError, Refused
from reissue.model.domain import GROUP
from reissue.model.domain import PERSON as NUMBER
from reissue.model.published import Published
from reissue.publishing.checking.thresholds import NOTHING_ASKED
from reissue.publishing.policy import Policy
from reissue.publishing.series import Series
from reissue.publishing.series import open as open_series
from reissue_studies.methods.setting import Setting
from reissue_studies.methods.streams import Stream
from reissue_studies.methods.ways import Way


class NotPublished(Exception):
    """A method does not take a stream; the reason in words."""


@dataclass(frozen=True, repr=False)
class Released:
    """A whole series, with the truth behind it."""

    stream: Stream
    m: int
    series: Series
    truth: pl.DataFrame
    """Private, a row for everybody in each release: `person` (a number of `view`), `release`, `value`."""
    view: Published
    """What an outsider sees, with everybody's quasi-identifiers. People have the same numbers in every run: a series
    itself numbers newcomers in an order that it draws in secret."""
    last: Mapping[str, Any]
    """The private summary of the last release."""

    @property
    def public(self) -> Path:
        """The folder with what recipients get."""
        return self.series.folder / "public"

    @property
    def number(self) -> int:
        """The number of the last release."""
        return len(self.stream.states)

    def shares(self) -> dict[str, float]:
        """What the last release cost, of the people who should be in it, and of its rows."""
        withheld = sum(reason["people"] for reason in self.last["held_back"].values())
        return {
            "withheld": withheld / self.last["people"],
            "counterfeit": self.last["counterfeits"] / self.last["rows"],
            "replaced": self.last["replaced"] / self.last["people"],
        }


@contextmanager
def released(setting: Setting, stream: Stream, way: Way) -> Iterator[Released]:
    """Publish a stream; NotPublished is raised where a method does not take it."""
    with TemporaryDirectory() as folder, ExitStack() as opened:
        yield _published(setting, stream, way, Path(folder), opened)


def _published(setting: Setting, stream: Stream, way: Way, folder: Path, opened: ExitStack) -> Released:
    m, number = setting.m_of(stream.name), 0
    truth: list[pl.DataFrame] = []
    people: list[pl.DataFrame] = []
    summary: dict[str, Any] = {}
    try:
        method = way.method(stream, m)
        kind: Literal["protected", "unprotected"] = "protected" if method.protects_series else "unprotected"
        # What it costs is what is measured.
        anchor = str(folder / "anchor")
        policy = Policy(stream.schema, method, way.form, series=kind, anchor=anchor, checks=NOTHING_ASKED)
        series = opened.enter_context(open_series(folder / "series", policy))
        for number, table in enumerate(stream.states, start=1):
            draft = series.draft(table, seed=setting.release_seed(number))
            truth.append(_shown(draft.rows, stream.sensitive, number))
            people.append(draft.new_people)
            summary = draft.summary
            series.commit(draft)
    except (Refused, PolicyError) as error:
        where = f"release {number}: " if number else ""
        raise NotPublished(where + "; ".join([error.what.rstrip("."), *error.problems])) from error
    order = by_id(pl.concat(people).sort("number")["id"])
    shown = pl.concat(truth)
    shown = shown.with_columns(person=pl.Series(order[shown["person"].to_numpy()]))
    view = renumbered(series.published(quasi=True), order)
    return Released(stream, m, series, shown, view, summary)


def _shown(rows: pl.DataFrame, sensitive: str, number: int) -> pl.DataFrame:
    """Who is in a release, with their true values."""
    return rows.drop_nulls(GROUP).select(
        pl.col(NUMBER).cast(pl.Int64).alias("person"),
        pl.lit(number, dtype=pl.Int64).alias("release"),
        pl.col(sensitive).cast(pl.String).alias("value"),
    )
