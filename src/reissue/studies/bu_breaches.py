"""Figures 2 and 3 of Bu, Fu, Wong, Chen & Li (2008): the rate of privacy breach, round by round.

Linkable is who was once in a group that shows a permanent value; vulnerable who then has a risk above 1/l by all
releases so far, or is excluded from it now. The rate is the share of the vulnerable among the linkable.

What is judged depends on what the adversary knows beside the registry, and the paper's comparison does not treat all
methods alike: of the others' releases he knows who is in them, of HD-composition's he does not. Here every method is
judged both ways (`participation`):

| method         | everybody's participation known  | nobody's known                                               |
|----------------|----------------------------------|--------------------------------------------------------------|
| l-diversity    | `Permanence` on the people there | count / everybody whom the region of a group admits: exact   |
| m-invariance   | `Permanence` on the people there | the same, regions overlap: at most so many (`unknown_risks`) |
| HD-composition | `Permanence` on the people there | `Permanence` on the registry, with the mechanism known       |
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from reissue.archive import shown_facts
from reissue.attacks.permanence import Permanence
from reissue.domain import COUNTERFEIT, GROUP, PERSON
from reissue.drafting import Draft
from reissue.knowledge import Knowledge
from reissue.release import Published, PublishedGroups
from reissue.studies.bu import DIVERSITY, INVARIANCE, OURS, diverse
from reissue.studies.bu_people import PERMANENT
from reissue.studies.bu_setting import SENSITIVE, Progress, Run, Setting
from reissue.studies.bu_stream import State
from reissue.studies.bu_views import VALUES, Groups, known_release, unknown_risks

ROUNDING = 1e-9
"""A bound is above 1/l if it is so by more than this: it is a float."""
SECONDS = 60.0
"""The time for what is too large to count, of one judgement."""
METHODS = (DIVERSITY, INVARIANCE, OURS)


def _silent(step: str) -> None:
    return None


def breaches(setting: Setting, *, progress: Progress = _silent) -> pl.DataFrame:
    """For each method, l, vol and round, and either participation: `linkable`, `vulnerable` people, and their `rate`.

    `certain` and `excluded` are proven, of those `undecided` nothing is. `united` counts groups that were put together
    for the view because a person is in several of them. `seconds` is the judgement alone.
    """
    rows = []
    for volatile in setting.volatile:
        for l in setting.l:  # noqa: E741
            for method in METHODS:
                key = {"method": method, "l": l, "volatile": volatile}
                judges = _Known(l), _Composed(l) if method == OURS else _Unknown(l)
                for step in _steps(setting, method, l, volatile, progress):
                    for judge in judges:
                        rows.append({**key, **judge.after(step)})  # noqa: PERF401  (a judge remembers)
    keys = {"method": pl.String, "l": pl.Int64, "volatile": pl.Float64}
    counts = ("linkable", "vulnerable", "certain", "excluded", "undecided", "united")
    schema: dict[str, type[pl.DataType]] = {**keys, "participation": pl.String, "round": pl.Int64}
    measures = {**dict.fromkeys(counts, pl.Int64), "rate": pl.Float64, "seconds": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, **measures})


def breach_steps(setting: Setting) -> int:
    """How often `breaches` calls its progress."""
    return len(METHODS) * len(setting.volatile) * len(setting.l) * setting.rounds


class _Step(NamedTuple):
    """One release, in the ways in which it is looked at."""

    groups: Groups
    """Those who are in it."""
    registry: pl.DataFrame | None
    """Everybody registered, where the release does not say it itself."""
    view: Published | None
    """The release with everybody registered in its groups, where it says so."""


def _steps(
    setting: Setting,
    method: str,
    l: int,  # noqa: E741
    volatile: float,
    progress: Progress,
) -> Iterator[_Step]:
    def told(step: str) -> None:
        progress(f"vol = {volatile:g}, {step}")

    if method == DIVERSITY:
        for state, group in diverse(setting, l, told, volatile):
            tuples = state.tuples.with_columns(group=pl.Series(group))
            yield _Step(Groups.of(state.number, tuples), state.registry, None)
    elif method == INVARIANCE:
        for state, draft, records in setting.rehearse_records(l, told, volatile):
            yield _Step(Groups.of(state.number, published_records(state, draft, records)), state.registry, None)
    else:
        run = Run(l, setting.containers[0], setting.known[0])
        for draft, _ in setting.rehearse(run, told, volatile):
            yield _Step(Groups.of(draft.number, published_facts(draft)), None, draft.view)


def published_records(state: State, draft: Draft, records: pl.Series) -> pl.DataFrame:
    """What m-invariance published, tuple by tuple: `group`, `person` (negative for counterfeits), `diagnosis`."""
    shown = draft.rows.drop_nulls(GROUP)
    rows = pl.DataFrame({"record": records.gather(shown[PERSON]), "group": shown[GROUP], SENSITIVE: shown[SENSITIVE]})
    rows = rows.join(state.tuples.select("record", "person"), on="record", how="left", maintain_order="left")
    rows = rows.select("group", "person", pl.col(SENSITIVE).cast(pl.String))
    if draft.counterfeits is None:
        return rows
    made = draft.counterfeits.select(
        pl.col(GROUP).alias("group").cast(rows.schema["group"]),
        -pl.col(COUNTERFEIT).cast(pl.Int64).alias("person"),
        pl.col(SENSITIVE).cast(pl.String),
    )
    return pl.concat([rows, made])


def published_facts(draft: Draft) -> pl.DataFrame:
    """What HD-composition published: `group`, `person` (a number), `diagnosis`; of those who are in the table."""
    assert draft.facts is not None  # there is a registry
    shown = shown_facts(draft.rows, draft.facts, draft.changed, SENSITIVE)
    return shown.select(pl.col(GROUP).alias("group"), pl.col(PERSON).alias("person"), SENSITIVE)


def _judged(view: Published, knowledge: Knowledge, l: int) -> dict[str, object]:  # noqa: E741
    begun = time.perf_counter()
    found = Permanence(seconds=SECONDS, seed=0).run(view, knowledge).vulnerable(l)
    return {
        "linkable": found.linkable,
        "vulnerable": found.vulnerable,
        "certain": found.certain,
        "excluded": found.excluded,
        "undecided": found.undecided,
        "rate": found.rate if found.linkable else None,
        "seconds": time.perf_counter() - begun,
    }


class _Known:
    """Who knows everybody's participation."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.releases, self.united = l, list[PublishedGroups](), 0

    def after(self, step: _Step) -> dict[str, object]:
        """What he has found out after one more release."""
        release, united = known_release(step.groups)
        self.releases.append(release)
        self.united += united
        view = Published(tuple(self.releases), VALUES, single=False)
        found = _judged(view, Knowledge(permanent=list(PERMANENT)), self.l)
        return {"participation": "known", "round": release.number, "united": self.united, **found}


class _Composed:
    """Who knows nobody's participation, and that HD-composition made the releases."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.releases = l, list[PublishedGroups]()

    def after(self, step: _Step) -> dict[str, object]:
        """What he has found out after one more release."""
        assert step.view is not None  # it is HD-composition's
        self.releases.append(step.view.releases[0])
        # The domain of the sensitive column is declared, so all releases number its values alike.
        view = Published(tuple(self.releases), step.view.values, single=False)
        found = _judged(view, Knowledge(permanent=list(PERMANENT), cohorts=self.l), self.l)
        return {"participation": "unknown", "round": self.releases[-1].number, "united": 0, **found}


class _Unknown:
    """Who knows nobody's participation, of releases that were not made with a registry in mind."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.risks = l, pl.DataFrame(schema={"person": pl.Int64, "risk": pl.Float64, "value": pl.String})

    def after(self, step: _Step) -> dict[str, object]:
        """What he can believe at most after one more release. What is certain is not asked: a bound cannot tell."""
        assert step.registry is not None  # it is not HD-composition's
        begun = time.perf_counter()
        new = unknown_risks(step.groups, step.registry)
        self.risks = pl.concat([self.risks, new]).group_by("person", "value").agg(pl.col("risk").max())
        self.risks = self.risks.select("person", "risk", "value")
        worst = self.risks.group_by("person").agg(pl.col("risk").max())
        linkable, vulnerable = worst.height, int((worst["risk"] > 1 / self.l + ROUNDING).sum())
        return {
            "participation": "unknown",
            "round": step.groups.number,
            "united": 0,
            "linkable": linkable,
            "vulnerable": vulnerable,
            "certain": None,
            "excluded": None,
            "undecided": 0,
            "rate": vulnerable / linkable if linkable else None,
            "seconds": time.perf_counter() - begun,
        }
