"""A comparison: a row of figures for every method, one recommendation, one picture. Private, as the tables are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reissue.charts import Chart
from reissue.comparing.kept_comments import with_comments
from reissue.comparing.picture import BLUE, GREEN, GREY, SUFFIXES, Panel, drawn
from reissue.comparing.recommending import Recommendation, Situation, recommended
from reissue.comparing.rehearsed import ROW
from reissue.comparing.suggested import NO_LINK
from reissue.errors import ParameterError, PolicyError, StorageError, count_of, printable
from reissue.model.csv_files import write_csv
from reissue.publishing.policy import Policy
from reissue.tables.frames import Library, to_library

HEAD = "reissue compare"


@dataclass(frozen=True, repr=False)
class Comparison:
    """The same series under every method that was tried."""

    rows: tuple[Mapping[str, Any], ...]
    """A row for each method in the order in which they were to be tried, and no link at all as the last."""
    situation: Situation
    """What is known of the tables."""
    releases: int
    seed: int
    given: Policy
    """The policy that it was asked under."""
    settings: Mapping[str, Policy] = field(default_factory=dict)
    """The policy that each method was rehearsed under, by the name of its row."""
    notes: tuple[str, ...] = ()
    """What to know when reading the figures."""
    stopped: tuple[str, ...] = ()
    """What `publish` will refuse some of these tables for, whichever method is taken: checks before a commit."""
    library: Library = "polars"
    written: str | None = None
    """The policy file that it was asked under, as it is written; None where there was none."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All figures, as a polars frame: a row for each method."""
        against = self.recommendation.against
        rows = [{name: row.get(name) for name in ROW} for row in self.rows]
        frame = pl.DataFrame(rows, schema=ROW)
        why = ["; ".join(against.get(row["method"], ())) or None for row in self.rows]
        chosen = [row["method"] == self.recommendation.method for row in self.rows]
        return frame.with_columns(
            pl.Series("against", why, dtype=pl.String), pl.Series("recommended", chosen, dtype=pl.Boolean)
        )

    @property
    def table(self) -> Any:
        """All figures, in the library of the tables that were given."""
        return to_library(self.frame, self.library)

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which method to take and why; as text with `str`."""
        return recommended(self.rows, self.situation)

    @property
    def policy(self) -> Policy | None:
        """The policy with the method to take, and all else as in the policy given; None where none is fit, or where
        checks before a commit would refuse the tables under it."""
        chosen = self.recommendation.method
        if chosen is None or self.stopped:
            return None
        taken = self.settings[chosen]
        whole = replace(taken, people=self.given.people, anchor=self.given.anchor)
        try:
            return replace(whole, gate=self.given.gate)
        except PolicyError:
            return whole

    @property
    def loses_gate(self) -> bool:
        """Whether the gate of the policy given does not go with the method to take."""
        return self.given.gate is not None and self.policy is not None and self.policy.gate is None

    def policy_text(self, folder: str | Path = ".") -> str:
        """The policy to take as a file, to lie in `folder`, with the reasons in comments.

        Of the policy file that was given all comments stay but those of the method. Where that cannot be, as when
        hierarchies lie in another folder, the policy is written out whole, and the first lines say so.
        """
        policy = self.policy
        if policy is None:
            why = "Checks would refuse these tables" if self.stopped else "No method is recommended"
            raise ParameterError(f"{why}, so there is no policy to write.", problems=self.stopped)
        told = [f"Proposed by `{HEAD}`.", *str(self.recommendation).splitlines(), *self.notes]
        if self.loses_gate:
            told.append("The gate of the policy it was asked under does not go with this method, and was left out.")
        if isinstance(getattr(policy.method, "change", None), float):
            told.append("'change' is the least rate seen between two tables, rounded down, and will be public.")
        kept = None if self.written is None else with_comments(self.written, policy, Path(folder))
        if self.written is not None and kept is None:
            told.append("The comments of the policy it was asked under could not be kept: read them there.")
        told.append("Read every line before you publish under it: what is published stays published.")
        return "\n".join([*(f"# {printable(line)}" for line in told), "", policy.to_toml() if kept is None else kept])

    def chart(self) -> Chart:
        """The picture: what each method costs, leaves to analysts, and gives to attacks."""
        shown = [row for row in self.rows if row.get("withheld") is not None and row["method"] != NO_LINK]
        beside: Mapping[str, Any] = next((row for row in self.rows if row["method"] == NO_LINK), {})
        names = [str(row["method"]) for row in shown]
        colours = {row["method"]: BLUE if row["protects"] else GREY for row in shown}
        if self.recommendation.method is not None:
            colours[self.recommendation.method] = GREEN
        lost = [sum(row.get(name) or 0.0 for name in ("withheld", "counterfeit", "replaced")) for row in shown]
        kept = [row["kept"] / row["slopes"] if row.get("slopes") else None for row in shown]
        panels = [
            Panel("Lost", "withheld, counterfeit, replaced", lost),
            Panel("Error of counts", "dashed: no link at all", _figures(shown, "counts"), beside.get("counts")),
            Panel("Error of shares", "dashed: no link at all", _figures(shown, "shares"), beside.get("shares")),
            Panel("Slopes that keep their sign", "half by chance", kept),
            Panel("Above the limit", "people, at least", _figures(shown, "above")),
            Panel("Own row adds to guesses", "points of right guesses", _figures(shown, "advantage")),
        ]
        title = f"Methods compared over {count_of(self.releases, 'release')} (green: to take; grey: unprotected)"
        data = pl.DataFrame([{name: row.get(name) for name in ROW} for row in shown], schema=ROW)
        return Chart(data, drawn(title, names, panels, colours))

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        told = self.recommendation
        policy = self.policy
        return {
            "releases": self.releases,
            "people": self.situation.people,
            "people_in_last_table": self.situation.whole,
            "seed": self.seed,
            "asked": self.situation.asked,
            "rows": self.frame.to_dicts(),
            "recommendation": {"method": told.method, "sentence": told.sentence, "reasons": list(told.reasons)},
            "policy": None if policy is None else policy.to_dict(),
            "notes": list(self.notes),
            "stopped": list(self.stopped),
        }

    def save(self, path: str | Path) -> Path:
        """Write it to a file: the figures (.csv, .parquet), all of it (.json), the picture (.html, .svg, .png) or the
        policy to take (.toml)."""
        path = Path(path)
        try:
            if path.suffix in SUFFIXES:
                self.chart().save(path)
            elif path.suffix == ".csv":
                write_csv(self.frame, path)
            elif path.suffix == ".parquet":
                self.frame.write_parquet(path)
            elif path.suffix == ".json":
                path.write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False), encoding="utf-8")
            elif path.suffix == ".toml":
                path.write_text(self.policy_text(path.parent), encoding="utf-8")
            else:
                raise ParameterError(
                    "A comparison is saved as .csv, .parquet, .json, .html, .svg, .png or .toml. "
                    f"Got '{path.suffix or path.name}' instead."
                )
        except OSError as error:
            raise StorageError(f"'{path}' cannot be written: {error.strerror}.") from error
        return path

    def __repr__(self) -> str:
        measured = sum(row.get("withheld") is not None for row in self.rows) - 1
        chosen = self.recommendation.method
        told = "none is fit" if chosen is None else f"take {chosen}"
        return f"Comparison({measured} of {count_of(len(self.rows) - 1, 'candidate')} measured: {told})"


def _figures(rows: list[Mapping[str, Any]], name: str) -> list[float | None]:
    return [row.get(name) for row in rows]
