"""Findings that are so only if what they rest on holds, where that is in doubt: nothing among them is certain.

Where values contradict each other and nobody said why, cells may have been perturbed. What a release shows is worth
telling then, and is no proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from reissue.arrays.types import Ints
from reissue.attacks.base import Finding, Findings, Judgement, Limits
from reissue.attacks.sentences import Witness
from reissue.attacks.tied import TIED
from reissue.model.assumptions import Assumption, AssumptionName

DOUBTED = "if nothing was perturbed, which is in doubt"
PERTURBED = "Cells were perturbed: nothing that is shown is certain, and figures are those of the cells as published."


class ConditionalFindings(Findings):
    """What an attack found, each with what it rests on; nothing is certain, and nothing is ruled out."""

    def __init__(
        self,
        findings: Findings,
        rests_on: tuple[AssumptionName, ...],
        *,
        known: bool,
        beside: tuple[AssumptionName, ...] = (),
    ) -> None:
        self.findings = findings
        """What was found, taken as it is published."""
        self.published = findings.published
        self.rests_on = rests_on
        self.beside = beside
        """What findings that do not say it rest on beside it."""
        self.known = known
        """Whether the assumption is known not to hold, and not in doubt only."""
        self.dated = findings.dated
        self.searched = findings.searched
        told = PERTURBED if known else f"Everything is so {DOUBTED}."
        self.undecided = (*findings.undecided, told)

    def __repr__(self) -> str:
        return f"ConditionalFindings({self.findings!r})"

    @property
    def posteriors(self) -> pl.DataFrame:
        """How likely values would be; no bound is proven."""
        return _loosened(self.findings.posteriors)

    def posteriors_in(self, release: int, people: Ints) -> pl.DataFrame | None:
        """The same of some people in one release."""
        told = self.findings.posteriors_in(release, people)
        return None if told is None else _loosened(told)

    @property
    def risks(self) -> pl.DataFrame | None:
        """For each person the largest figure, where the attack has a table of them."""
        told = getattr(self.findings, "risks", None)
        return _loosened(told) if isinstance(told, pl.DataFrame) else None

    @property
    def ruled_out(self) -> pl.DataFrame:
        """Nothing is."""
        return pl.DataFrame(schema=TIED)

    def tied(self, limits: Limits) -> pl.DataFrame | None:
        """Who would be tied to which value beyond the limits."""
        return self.findings.tied(limits)

    @property
    def as_published(self) -> Findings:
        """What was found, taken as it is published."""
        return self.findings

    @property
    def disproved(self) -> tuple[Assumption, ...]:
        """What the releases contradict."""
        return self.findings.disproved

    @property
    def supposed(self) -> pl.DataFrame:
        """Those of whom what is told supposes that they are in a release."""
        return self.findings.supposed

    def column_figures(self, column: str) -> pl.DataFrame | None:
        """How likely a value of a column would be; no bound is proven."""
        told = self.findings.column_figures(column)
        return None if told is None else _loosened(told)

    def tables(self, limits: Limits) -> Mapping[str, pl.DataFrame]:
        """None: their figures would be read as facts."""
        return {}

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """Why it would follow."""
        return tuple(_doubted(witness, self.known) for witness in self.findings.witnesses)

    def findings_about(self, people: Sequence[int], limits: Limits) -> tuple[Finding, ...]:
        """The findings about some people, as they may be told."""
        return tuple(map(self._doubted, self.findings.findings_about(people, limits)))

    def _doubted(self, one: Finding) -> Finding:
        return replace(
            one,
            kind="conditional",
            rests_on=tuple(dict.fromkeys((*(one.rests_on or self.beside), *self.rests_on))),
            witness=_doubted(one.witness, self.known),
        )

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        """Nothing is within by it; beyond is only what would be, unless it is known that cells were perturbed."""
        judged = self.findings.judge(limits, most=most)
        if judged.status == "not asked":
            return judged
        findings = tuple(map(self._doubted, judged.findings))
        words = f"If nothing was perturbed: {judged.words}"
        if self.known:
            words = f"{PERTURBED} Taken as they are: {judged.words}"
        doubtful = self.known or judged.status in ("within", "sampled", "undecided")
        status = "undecided" if doubtful else judged.status
        return replace(judged, status=status, words=words, findings=findings)


def _doubted(witness: Witness, known: bool) -> Witness:
    """A derivation that begins with what it rests on."""
    first = "If these cells are true, though cells were perturbed:" if known else "If nothing was perturbed:"
    return Witness(((first,), *witness.sentences))


def _loosened(table: pl.DataFrame) -> pl.DataFrame:
    """Figures of which nothing is proven."""
    columns = {name: column for name, column in _LOOSE.items() if name in table.columns}
    return table.with_columns(**columns)


_LOOSE = {
    "kind": pl.lit("conditional"),
    "low": pl.lit(0.0),
    "high": pl.lit(1.0),
    "fraction": pl.lit(None, pl.String),
}
