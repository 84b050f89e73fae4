"""What a release answers to questions, beside the truth of the private table and beside no link at all.

The release is asked through `analyse`, as its recipients would. The truth is what the same code says of the table
itself. With no link at all quasi-identifiers and values are published apart, both exactly: a share or mean is that of
everybody, a count the number of people who satisfy the conditions times that, a contrast or slope 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from reissue.errors import Infeasible, ParameterError, ReissueError
from reissue.model.hierarchy import Hierarchy
from reissue.model.records import Records
from reissue.model.release import Release
from reissue.model.snapshot import Leaves, Snapshot
from reissue.utility.analysing.analysis import Analysis, analyse
from reissue.utility.analysing.breakdown import cuts_of, group_name
from reissue.utility.analysing.conditions import QuasiColumns
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.asks import Ask, AskKind

LEAST_GROUPS = 3
"""An order of fewer groups says nothing."""


@dataclass(frozen=True, repr=False)
class Answers:
    """The answers to some questions. The truth stands beside them, so they are private."""

    each: pl.DataFrame
    """Private, a row for each question and group of it: `question`, `kind`, `value`, `group`, `people`, `truth`,
    `estimate`, `error` (standard), `low`, `high`, `interval` (what these are: 95 %, at least 95 %, certain
    or none), `inside`
    (whether they hold the truth; null where there are none), `no_link`, `unanswered` (why there is no estimate; null
    where there is)."""

    @cached_property
    def questions(self) -> pl.DataFrame:
        """A row for each question: `question`, `groups`, `answered`, `bias` (the mean of estimate minus truth), `off`
        (the mean size of it), `off_no_link`, `inside` (the share of intervals that hold the truth), `rank` (the
        correlation of the order of three groups or more, estimated and true), `unanswered`."""
        away = pl.col("estimate") - pl.col("truth")
        found = self.each.group_by("question", maintain_order=True).agg(
            pl.len().alias("groups"),
            away.is_not_null().sum().alias("answered"),
            away.mean().alias("bias"),
            away.abs().mean().alias("off"),
            (pl.col("no_link") - pl.col("truth")).abs().mean().alias("off_no_link"),
            pl.col("inside").mean().alias("inside"),
            pl.col("unanswered").drop_nulls().first(),
        )
        ranks = [_rank(part) for _, part in self.each.group_by("question", maintain_order=True)]
        return found.with_columns(pl.Series("rank", ranks, dtype=pl.Float64)).select(
            pl.exclude("unanswered"), "unanswered"
        )

    @property
    def answered(self) -> int:
        """How many answers there are that have a truth to be held against."""
        return self._both.height

    @property
    def bias(self) -> float | None:
        """The mean of estimate minus truth; None where there is no answer."""
        away = self._away
        return float(away.mean()) if away.size else None

    @property
    def bias_error(self) -> float | None:
        """Its standard error, as if answers about different values (of means: all) were independent; None below two."""
        away, values = self._away, self._both["value"]
        if away.size < 2:
            return None
        which = values.rank("dense").to_numpy() - 1 if values.null_count() == 0 else np.arange(away.size)
        sums = np.bincount(which.astype(np.int64), away - away.mean())
        if sums.size < 2:
            return None
        return float(np.sqrt(sums.size / (sums.size - 1) * (sums**2).sum()) / away.size)

    @property
    def kept(self) -> float | None:
        """How much is left of what sets the truth apart from no link: 1 all of it, 0 nothing; None where nothing does.

        The slope, through 0, of estimate minus no link on truth minus no link.
        """
        truth, estimate, no_link = (self._both[name].to_numpy() for name in ("truth", "estimate", "no_link"))
        apart = truth - no_link
        size = float(apart @ apart)
        return float(apart @ (estimate - no_link)) / size if size > 0 else None

    @property
    def coverage(self) -> float | None:
        """The share of intervals of 95 %, or of bounds that are certain, that hold the truth; None without any."""
        inside = self.each["inside"].drop_nulls()
        return float(inside.cast(pl.Float64).to_numpy().mean()) if len(inside) else None

    @property
    def intervals(self) -> int:
        """How many intervals there are."""
        return int(self.each["inside"].is_not_null().sum())

    @property
    def certain(self) -> bool:
        """Whether what there is of intervals are bounds that are certain."""
        return bool((self.each["interval"] == "certain").any())

    @property
    def unanswered(self) -> str | None:
        """Why questions have no answer, the first reason; None where all have one."""
        reasons = self.each["unanswered"].drop_nulls()
        return str(reasons[0]) if len(reasons) else None

    @cached_property
    def _both(self) -> pl.DataFrame:
        return self.each.filter(pl.col("truth").is_not_null() & pl.col("estimate").is_not_null())

    @property
    def _away(self) -> Any:
        return (self._both["estimate"] - self._both["truth"]).to_numpy()

    def to_dict(self) -> dict[str, Any]:
        """The figures over all answers, without values; None stands for one that is undefined."""
        return {
            "answered": self.answered,
            "bias": self.bias,
            "bias_error": self.bias_error,
            "kept": self.kept,
            "intervals": self.intervals,
            "coverage": self.coverage,
            "unanswered": self.unanswered,
        }

    def lines(self, what: str) -> list[tuple[str, float, str]]:
        """The figures there are, with what they mean; `what` is asked for: shares, means."""
        if self.bias is None:
            return [(f"{what} answered", 0, self.unanswered or "nobody is asked about")]
        spread = "" if self.bias_error is None else f" (± {self.bias_error:.2g})"
        lines = [(f"bias of {what}", self.bias, f"mean of estimate minus truth{spread}, over {self.answered:,}")]
        if self.kept is not None:
            lines.append(("  difference kept", self.kept, "from no link at all, least squares; 1 all of it, 0 nothing"))
        if self.coverage is None:
            return [*lines, ("  intervals", 0, "no interval: nothing says how far off they are")]
        wide = (self.each["interval"] == "at least 95 %").any()
        kind = "bounds" if self.certain else f"intervals of {'at least ' * wide}95 %"
        return [*lines, ("  intervals that hold it", self.coverage, f"the truth: of {self.intervals:,} {kind}")]

    def __repr__(self) -> str:
        return f"Answers({self.answered:,} of {self.each.height:,})"


class Asking:
    """A private table and its release, ready for questions."""

    def __init__(self, snapshot: Snapshot, release: Release, hierarchies: Mapping[str, Hierarchy]) -> None:
        self._truth = Analysis([_Table(release.number, snapshot, release.manifest)], {}, "polars")
        self._released = analyse(release, hierarchies=hierarchies, frames="polars")

    def answers(self, questions: Sequence[Ask]) -> Answers:
        """Ask them all; those that the table itself cannot answer are refused, all at once."""
        parts, problems = [], []
        for at, ask in enumerate(questions, 1):
            try:
                parts.append(self._answered(ask, at))
            except (ParameterError, Infeasible) as error:
                problems.append((at, error))
        if problems:
            lines = [f"question {at}: {error.what} {error.hint or ''}".rstrip() for at, error in problems]
            raise ParameterError(
                f"{len(lines):,} of {len(questions):,} questions cannot be asked of the table.",
                problems=lines,
                hint="put them right, or leave them out.",
            )
        return Answers(pl.concat(parts) if parts else pl.DataFrame(schema=_SCHEMA))

    def _answered(self, ask: Ask, at: int) -> pl.DataFrame:
        truth = _asked(self._truth, ask)
        names = [group_name(name) for name in cuts_of(ask.by)]
        everybody = None
        if ask.kind not in ("contrast", "slope") and not (ask.kind == "count" and ask.value is None):
            kind: AskKind = "mean" if ask.kind == "mean" else "share"
            everybody = _asked(self._truth, Ask(kind, ask.value, column=ask.column))["estimate"][0]
        unanswered = None
        try:
            found = _asked(self._released, ask)
        except ReissueError as error:
            unanswered, found = error.what, truth.clear()
        key = pl.concat_str([pl.col(name).cast(pl.String).fill_null("-") for name in names], separator=", ")
        group = (key if names else pl.lit("all")).alias("group")
        true = truth.select(group, pl.col("people"), pl.col("estimate").alias("truth"))
        said = found.select(group, *(name for name in ("estimate", "error", "low", "high", "interval")))
        both = true.join(said, on="group", how="full", coalesce=True, maintain_order="left_right")
        people = pl.col("people").fill_null(0.0)
        no_link: pl.Expr
        if ask.kind in ("contrast", "slope"):
            no_link = pl.lit(0.0)
        elif ask.kind == "count":
            no_link = people if everybody is None else people * everybody
        else:
            no_link = pl.lit(everybody, dtype=pl.Float64)
        none = pl.lit(0.0) if ask.kind == "count" else pl.lit(None, dtype=pl.Float64)
        both = both.with_columns(pl.col("truth").fill_null(none), people=people, no_link=no_link)
        # Sums of many figures: what differs by rounding alone is the same.
        near = 1e-9 * (1 + pl.col("truth").abs())
        inside = (pl.col("low") - near <= pl.col("truth")) & (pl.col("truth") <= pl.col("high") + near)
        lacking = unanswered or "nobody of this group is published"
        return both.select(
            pl.lit(str(ask)).alias("question"),
            pl.lit(ask.kind).alias("kind"),
            pl.lit(None if ask.value is None else str(ask.value), dtype=pl.String).alias("value"),
            "group",
            "people",
            "truth",
            "estimate",
            "error",
            "low",
            "high",
            pl.col("interval").fill_null("none"),
            inside.alias("inside"),
            "no_link",
            pl.when(pl.col("estimate").is_null()).then(pl.lit(lacking)).alias("unanswered"),
        ).cast(_SCHEMA)  # type: ignore[arg-type]


_SCHEMA = {
    "question": pl.String, "kind": pl.String, "value": pl.String, "group": pl.String, "people": pl.Float64,
    "truth": pl.Float64, "estimate": pl.Float64, "error": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "interval": pl.String, "inside": pl.Boolean, "no_link": pl.Float64, "unanswered": pl.String,
}  # fmt: skip


def _asked(analysis: Analysis, ask: Ask) -> pl.DataFrame:
    """The answer to a question."""
    some: dict[str, Any] = {"by": ask.by, "where": ask.where}
    column: dict[str, Any] = {} if ask.column is None else {"column": ask.column}
    found: pl.DataFrame
    if ask.kind == "count":
        found = analysis.count(ask.value, **some)
    elif ask.kind == "share":
        found = analysis.share(ask.value, **some)
    elif ask.kind == "mean":
        found = analysis.mean(**some, **column)
    elif ask.kind == "contrast":
        found = analysis.contrast(ask.value, between=ask.between, **some, **column)
    else:
        assert ask.on is not None
        found = analysis.slope(ask.value, on=ask.on, **some, **column)
    return found


def hierarchies_of(snapshot: Snapshot) -> dict[str, Hierarchy]:
    """The hierarchies that columns were generalised along."""
    columns = (*snapshot.quasi, *snapshot.as_is)
    return {column.name: column.levels.hierarchy for column in columns if isinstance(column.levels, Leaves)}


class _Table(PublicRelease):
    """The private table, asked like a release in which everybody shows everything; people withheld are in it."""

    def __init__(self, number: int, snapshot: Snapshot, manifest: Mapping[str, Any]) -> None:
        owners = snapshot.owners
        people = np.flatnonzero(snapshot.people[owners] >= 0)
        values = snapshot.values
        levels = values.levels
        apart = levels.columns(values.codes[people]) if isinstance(levels, Records) else None
        sensitive = (
            [values.levels.decode(values.codes[people]).alias(values.name)]
            if apart is None
            else [column.decode() for column in apart]
        )
        known = [
            column.levels.decode(column.codes[owners[people]]).alias(column.name)
            for column in (*snapshot.quasi, *snapshot.as_is)
        ]
        record = {**manifest, "method": {"name": "the table itself"}, "rows": people.size, "groups": people.size}
        record["columns"] = {column.name: "as it is" for column in known}
        record["sensitive"] = manifest.get("sensitive", [{"column": values.name, "kind": ""}])
        super().__init__(number, {"table": pl.DataFrame([*known, *sensitive])}, record)
        self._known = tuple(column.name for column in known)

    def published(self, hierarchies: Mapping[str, Hierarchy]) -> QuasiColumns:
        """Every column as it is."""
        return QuasiColumns(self._known, frozenset(), frozenset(self._known), {})


def _rank(part: pl.DataFrame) -> float | None:
    """The rank correlation of a question's groups, estimated and true; 0 where the estimates have no order."""
    both = part.select("truth", "estimate").drop_nulls()
    if both.height < LEAST_GROUPS:
        return None
    one, other = (both[name].round(12).rank().to_numpy() for name in ("truth", "estimate"))
    if not np.ptp(one):
        return None
    return float(np.corrcoef(one, other)[0, 1]) if np.ptp(other) else 0.0
