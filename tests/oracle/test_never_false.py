"""No audit claims what is false: series of known people by four anonymisers, read by somebody who knows much or little.

People come, leave, return, change, are corrected and lack cells; rows are suppressed. Every claim of an attack is held
against the truth, under the default options and under each wrong option that a user may give. A claim that is false
under a wrong option names what it rests on, or the option was refuted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from all_there_is import certain_of, intersected
from anonymisers import ANONYMISERS
from known_truth import KNOWING, PERSON, Knowing, KnownSeries, all_clear, told
from lives import Lives, adult_people, calm, made_up_people, random_lives, released
from profiles import seeds
from real_data import FOLDER, needs

import reissue as ri
from reissue.auditing.report import AuditReport

LIMIT = 0.5
SECONDS, STEPS = 30.0, 300_000
"""So many steps for each audit: what it finds is then the same on every machine."""
ADULT = "adult/adult.data.gz"
OVERLAPPING = ("clusters", "cells")
"""The anonymisers by whose cells somebody may fit several groups."""
People = Callable[[np.random.Generator, int], pl.DataFrame]


def adult(rng: np.random.Generator, count: int) -> pl.DataFrame:
    return adult_people(FOLDER / ADULT, rng, count)


def series_of(seed: int, anonymiser: str, people: People) -> KnownSeries:
    rng = np.random.default_rng([seed, *anonymiser.encode()])
    lives = random_lives(rng)
    return released(rng, people(rng, lives.people), lives, anonymiser, int(rng.integers(2, 6)))


def audited(series: KnownSeries, knowing: Knowing, knowledge: ri.Knowledge | None = None) -> AuditReport:
    return ri.audit(series.view(knowing).published, knowledge, limit=LIMIT, seconds=SECONDS, steps=STEPS)


def assert_true(series: KnownSeries, report: AuditReport, knowing: Knowing, people: pl.DataFrame | None = None) -> None:
    verdict = series.judged(report, knowing=knowing, people=people)
    assert not verdict.breaches, told(verdict)
    refuted = {one.name for one in report.assumptions if one.status == "refuted"}
    assert verdict.false or not refuted, f"{sorted(refuted)} are said to be refuted, and everything holds"


def assert_no_all_clear(series: KnownSeries, report: AuditReport) -> None:
    assert not all_clear(report, series, LIMIT)


def default_options(seed: int, anonymiser: str, people: People) -> None:
    series = series_of(seed, anonymiser, people)
    for knowing in KNOWING:
        report = audited(series, knowing)
        assert_true(series, report, knowing)
        assert_no_all_clear(series, report)


def wrong_options(seed: int, anonymiser: str, people: People) -> None:
    series = series_of(seed, anonymiser, people)
    for knowing in ("unknown", "nobody"):
        report = audited(series, knowing, ri.Knowledge(growing=True))
        assert_true(series, report, knowing)
    # The first half of the alphabet of people is registered.
    few = series.people.filter(pl.col(PERSON).rank() <= pl.len() * 0.7)
    for knowing in ("all", "table", "unknown"):
        view = series.view(knowing, people=few)
        assert_true(series, ri.audit(view.published, limit=LIMIT, seconds=SECONDS, steps=STEPS), knowing, few)
    lasting = sorted({value for had in series.truth.values() for value in had.values()})[:2]
    for knowing in ("ids", "table"):
        report = audited(series, knowing, ri.Knowledge(permanent=lasting))
        assert_true(series, report, knowing)


@pytest.mark.parametrize("anonymiser", ANONYMISERS)
@pytest.mark.parametrize("seed", seeds(2, 100))
def test_default_options(seed: int, anonymiser: str) -> None:
    default_options(seed, anonymiser, made_up_people)


@pytest.mark.parametrize("anonymiser", ANONYMISERS)
@pytest.mark.parametrize("seed", seeds(2, 100))
def test_wrong_options(seed: int, anonymiser: str) -> None:
    wrong_options(seed, anonymiser, made_up_people)


@needs(ADULT, stand_in="test_default_options")
@pytest.mark.parametrize("anonymiser", ANONYMISERS)
@pytest.mark.parametrize("seed", seeds(2, 100, first=1000))
def test_default_options_on_adult(seed: int, anonymiser: str) -> None:
    default_options(seed, anonymiser, adult)


@needs(ADULT, stand_in="test_wrong_options")
@pytest.mark.parametrize("anonymiser", ANONYMISERS)
@pytest.mark.parametrize("seed", seeds(2, 100, first=1000))
def test_wrong_options_on_adult(seed: int, anonymiser: str) -> None:
    wrong_options(seed, anonymiser, adult)


@pytest.mark.parametrize("anonymiser", ANONYMISERS)
@pytest.mark.parametrize("seed", seeds(2, 40))
def test_nothing_is_lost_where_everything_holds(seed: int, anonymiser: str) -> None:
    """Static values, a true registry and true presence: what is certain is all there is, as a solver proves."""
    all_of_it_is_found(seed, anonymiser, 120, made_up_people)


@needs(ADULT, stand_in="test_nothing_is_lost_where_everything_holds")
@pytest.mark.parametrize(("anonymiser", "people"), [("local", 1500), ("full-domain", 600)])
def test_nothing_is_lost_on_adult(anonymiser: str, people: int) -> None:
    all_of_it_is_found(3, anonymiser, people, adult)


def all_of_it_is_found(seed: int, anonymiser: str, count: int, people: People) -> None:
    rng = np.random.default_rng(seed)
    lives = Lives(people=count, releases=3, coming=0.3, leaving=0.15, returning=0.3)
    series = released(rng, people(rng, lives.people), calm(lives), anonymiser)
    all_there_is = certain_of(series)
    assert len(all_there_is) > len(intersected(series)), "there must be more than anybody sees"
    for knowing in ("ids", "table"):
        report = ri.audit(series.view(knowing).published, limit=LIMIT, seconds=120, steps=3_000_000)
        assert_true(series, report, knowing)
        found = {who: what for run in report.runs if run.findings for who, what in run.findings.certain.items()}
        if knowing == "table" and anonymiser in OVERLAPPING:
            # Nobody but the files says in which of several groups people are who fit them all.
            assert found.items() <= all_there_is.items()
            continue
        assert found == all_there_is
        assert report.disclosure.certain == len(all_there_is)
