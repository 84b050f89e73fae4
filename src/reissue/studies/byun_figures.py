"""Figure 8 of Byun, Sohn, Bertino & Li (2006), drawn from our own runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from reissue.charts import Chart, load_altair
from reissue.studies import byun
from reissue.studies.byun import Progress, Setting
from reissue.studies.drawing import finished, lines


@dataclass(frozen=True)
class Vulnerabilities:
    """Records made vulnerable by comparing releases, against the size of the table."""

    number: int = 8
    title: str = "vulnerable records"

    def steps(self, setting: Setting) -> int:
        """How often `measure` calls its progress."""
        return byun.steps(setting)

    def measure(self, setting: Setting, progress: Progress) -> pl.DataFrame:
        """Publish and attack."""
        return byun.vulnerable(setting, progress=progress)

    def summary(self, found: pl.DataFrame) -> pl.DataFrame:
        """One row for each l: the last release."""
        return found.group_by("l", maintain_order=True).last()

    def tables(self, summary: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The summary for people, by title."""
        return {"the last release": summary.select("l", "records", "vulnerable", "share", "narrow", "certain")}

    def draw(self, found: pl.DataFrame, setting: Setting) -> Chart:
        """Figure 8: the share of vulnerable records, and how many people are certain."""
        altair = load_altair()
        data = found.with_columns(series=pl.format("l = {}", "l"), narrow_share=pl.col("narrow") / pl.col("records"))
        panels = {
            "share": "Share of records in a set of fewer than l values",
            "narrow_share": "The same, from classes that overlap at most two later ones",
        }
        drawn = [
            lines(
                data,
                altair.X("records:Q", title="records", scale=altair.Scale(zero=False, nice=False, padding=8)),
                altair.Y(f"{column}:Q", title=None, axis=altair.Axis(format="~%")),
                title=title,
                width=360,
                height=260,
            )
            for column, title in panels.items()
        ]
        table = "a generated census" if setting.path is None else "Adult"
        said = [
            f"{table}, education sensitive; {setting.initial:,} records at first, {setting.step:,} more each time",
            "everything anonymised anew each time (Static I) by Mondrian with at least l distinct values in a group",
            f"seed {setting.seed}",
        ]
        return Chart(found, finished(altair.hconcat(*drawn), 8, "Records vulnerable to comparing releases", said))


FIGURES: Mapping[int, Vulnerabilities] = {8: Vulnerabilities()}
"""The figures that can be drawn, by their number in the paper."""
