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
| HD-composition | `Permanence` on the people there | `Permanence` on the registry, the mechanism not known        |

That somebody knows the mechanism and nobody's participation is for the audit of a series: here it would take hours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import polars as pl

from reissue.attacks.permanence.permanence import Permanence
from reissue.model.domain import COUNTERFEIT, GROUP, PERSON
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.publishing.archive import as_published
from reissue.publishing.draft import Draft
from reissue_studies.bu.experiments import DIVERSITY, INVARIANCE, OURS, diverse
from reissue_studies.bu.people import PERMANENT
from reissue_studies.bu.setting import SENSITIVE, Run, Setting
from reissue_studies.bu.stream import State
from reissue_studies.bu.views import VALUES, Groups, known_release, unknown_risks
from reissue_studies.progress import Progress, silent

ROUNDING = 1e-9
"""A bound is above 1/l if it is so by more than this: it is a float."""
SECONDS = 10.0
"""The time for what is too large to count, of one judgement."""
NOW_AND_THEN = (1, 2, 3, 5, 10, 15, 20)
METHODS = (DIVERSITY, INVARIANCE, OURS)


def breaches(setting: Setting, *, progress: Progress = silent) -> pl.DataFrame:
    """For each method, l, vol and round, and either participation: `linkable`, `vulnerable` people, and their `rate`.

    HD-composition's with participation known is judged now and then only, as that takes long. `certain` and `excluded`
    are proven, of those `undecided` nothing is, and they count as not vulnerable. `united` counts groups that were put
    together for the view because a person is in several of them. `seconds` is the judgement alone.
    """
    rows = []
    for volatile in setting.volatile:
        for l in setting.l:  # noqa: E741
            for method in METHODS:
                key = {"method": method, "l": l, "volatile": volatile}
                judges = _Known(l), _Composed(l) if method == OURS else _Unknown(l)
                for step in _steps(setting, method, l, volatile, progress):
                    for judge in judges:
                        judge.learn(step)
                        if _asked(setting, method, judge, step.groups.number):
                            rows.append({**key, **judge.says()})
    keys = {"method": pl.String, "l": pl.Int64, "volatile": pl.Float64}
    counts = ("linkable", "vulnerable", "certain", "excluded", "undecided", "united")
    schema: dict[str, type[pl.DataType]] = {**keys, "participation": pl.String, "round": pl.Int64}
    measures = {**dict.fromkeys(counts, pl.Int64), "rate": pl.Float64, "seconds": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, **measures})


def _asked(setting: Setting, method: str, judge: _Judge, number: int) -> bool:
    """After every round, but where it takes long and the paper does not ask: now and then."""
    return method != OURS or isinstance(judge, _Composed) or number in NOW_AND_THEN or number == setting.rounds


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
    """What HD-composition published: `group`, `person` (a number), `diagnosis`; of those who are in the table.

    A value may be shown in another group than its person's. Who knows everybody's participation is taken to know that
    too, so that the truth is among the worlds he considers.
    """
    assert draft.facts is not None  # there is a registry
    shown = as_published(draft.facts, draft.changed, SENSITIVE)
    return shown.select(pl.col(GROUP).alias("group"), pl.col(PERSON).alias("person"), SENSITIVE)


def _judged(view: Published, l: int) -> dict[str, object]:  # noqa: E741
    begun = time.perf_counter()
    found = Permanence(seconds=SECONDS, seed=0).run(view, Knowledge(permanent=list(PERMANENT))).vulnerable(l)
    return {
        "linkable": found.linkable,
        "vulnerable": found.vulnerable,
        "certain": found.certain,
        "excluded": found.excluded,
        "undecided": found.undecided,
        "rate": found.rate if found.linkable else None,
        "seconds": time.perf_counter() - begun,
    }


class _Judge(Protocol):
    """Who learns of one release after the other, and says what he has found out."""

    def learn(self, step: _Step) -> None:
        """See one more release."""

    def says(self) -> dict[str, object]:
        """How many people are linkable, and how many of them vulnerable."""


class _Known:
    """Who knows everybody's participation."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.releases, self.united = l, list[PublishedGroups](), 0

    def learn(self, step: _Step) -> None:
        release, united = known_release(step.groups)
        self.releases.append(release)
        self.united += united

    def says(self) -> dict[str, object]:
        view = Published(tuple(self.releases), VALUES, single=False)
        told = {"participation": "known", "round": self.releases[-1].number, "united": self.united}
        return {**told, **_judged(view, self.l)}


class _Composed:
    """Who knows nobody's participation, of releases that show everybody registered in their groups."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.releases, self.values = l, list[PublishedGroups](), tuple[object, ...]()

    def learn(self, step: _Step) -> None:
        assert step.view is not None  # it is HD-composition's
        self.releases.append(step.view.releases[0])
        # The domain of the sensitive column is declared, so all releases number its values alike.
        self.values = step.view.values

    def says(self) -> dict[str, object]:
        view = Published(tuple(self.releases), self.values, single=False)
        told = {"participation": "unknown", "round": self.releases[-1].number, "united": 0}
        return {**told, **_judged(view, self.l)}


class _Unknown:
    """Who knows nobody's participation, of releases that were not made with a registry in mind."""

    def __init__(self, l: int) -> None:  # noqa: E741
        self.l, self.number, self.seconds = l, 0, 0.0
        self.risks = pl.DataFrame(schema={"person": pl.Int64, "risk": pl.Float64})

    def learn(self, step: _Step) -> None:
        assert step.registry is not None  # it is not HD-composition's
        begun = time.perf_counter()
        new = unknown_risks(step.groups, step.registry).select("person", "risk")
        self.risks = pl.concat([self.risks, new]).group_by("person").agg(pl.col("risk").max())
        self.number, self.seconds = step.groups.number, time.perf_counter() - begun

    def says(self) -> dict[str, object]:
        """What he can believe at most. What is certain is not asked: a bound cannot tell."""
        linkable, vulnerable = self.risks.height, int((self.risks["risk"] > 1 / self.l + ROUNDING).sum())
        return {
            "participation": "unknown",
            "round": self.number,
            "united": 0,
            "linkable": linkable,
            "vulnerable": vulnerable,
            "certain": None,
            "excluded": None,
            "undecided": 0,
            "rate": vulnerable / linkable if linkable else None,
            "seconds": self.seconds,
        }
