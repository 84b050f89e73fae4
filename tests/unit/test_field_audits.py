"""What went wrong when real series were first audited, each in its smallest form, and the line lists themselves."""

from __future__ import annotations

from dataclasses import replace

import line_list
import polars as pl
import pytest
from all_there_is import certain_of, intersected
from known_truth import PERSON, TRUE, KnownSeries, told
from polars.testing import assert_frame_equal
from real_data import needs

import reissue as ri
from reissue.attacks.conditional import ConditionalFindings
from reissue.attacks.worlds.worlds_alone import WorldsAlone
from reissue.auditing.report import AuditReport


def named(*releases: dict[str, tuple[str, str]]) -> KnownSeries:
    """Releases of people with a group and a value each."""
    rows = [
        pl.DataFrame({PERSON: [*one], "age": [age for age, _ in one.values()], TRUE: [v for _, v in one.values()]})
        for one in releases
    ]
    return KnownSeries(tuple(part.with_columns(pl.col(TRUE).alias("illness")) for part in rows), ("age",), "illness")


def audited(series: KnownSeries, knowing: str = "ids", knowledge: ri.Knowledge | None = None) -> AuditReport:
    view = series.view(knowing)  # type: ignore[arg-type]
    return ri.audit(view.published, knowledge, limit=1 / 2, seconds=30, steps=1_000_000)


def status(report: AuditReport) -> dict[str, str]:
    return {one.name: one.status for one in report.assumptions}


def assert_true(series: KnownSeries, report: AuditReport, knowing: str = "ids") -> None:
    verdict = series.judged(report, knowing=knowing)  # type: ignore[arg-type]
    assert not verdict.breaches, told(verdict)


def test_values_that_change_leave_nobody_falsely_certain() -> None:
    """Cleo's two groups have nothing in common; what follows for Ann by intersecting hers is withdrawn with it."""
    series = named(
        {"Ann": ("20-29", "flu"), "Ben": ("20-29", "gout"), "Cleo": ("30-39", "HIV"), "Dan": ("30-39", "HIV")},
        {"Ann": ("20-29", "ulcer"), "Ben": ("20-29", "gout"), "Cleo": ("30-39", "flu"), "Dan": ("30-39", "flu")},
    )
    report = audited(series)
    assert_true(series, report)
    assert status(report)["values-stay"] == "refuted"
    assert all("Ann" not in run.findings.certain for run in report.runs if run.findings)


def test_figures_of_everybody_in_all_releases_are_not_held_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 41 releases of 20,000 rows they took a gigabyte."""
    report = audited(line_list.made_up("Outcome"))
    (run,) = (one for one in report.runs if one.attack == "Worlds")
    assert isinstance(run.findings, ConditionalFindings)
    view, every, number = report.published, run.findings.posteriors, pl.Series([1, 5, 8])
    for release in (1, 2, 3):
        told = run.findings.posteriors_in(release, number.to_numpy())
        some = every.filter(pl.col("release") == release, pl.col("person").is_in([view.name(at) for at in number]))
        assert told is not None
        assert_frame_equal(told, some)
    monkeypatch.setattr(WorldsAlone, "posteriors", property(lambda _: pytest.fail("all of them at once")))
    again = audited(line_list.made_up("Outcome"))
    assert again.headline == report.headline
    assert_frame_equal(again.claims, report.claims)


def test_growing_is_refuted_cell_by_cell() -> None:
    """As many rows of every value as before; yet one of a cell is gone, and another cell has one more."""
    series = named(
        {"Ann": ("20-29", "flu"), "Ben": ("20-29", "gout"), "Cleo": ("30-39", "flu")},
        {"Ann": ("20-29", "flu"), "Cleo": ("30-39", "flu"), "Dan": ("30-39", "gout")},
    )
    report = audited(series, "nobody", ri.Knowledge(growing=True))
    assert status(report)["nobody-leaves"] == "refuted"
    assert_true(series, report, "nobody")
    assert not [one for one in report.findings if one.what in ("newcomer", "channel") and one.kind != "undecided"]


def test_four_rows_of_which_three_tell() -> None:
    series = named(
        {"Ann": ("30-39", "HIV"), "Ben": ("30-39", "HIV"), "Cleo": ("30-39", "HIV"), "Dan": ("40-49", "flu")}
    )
    report = audited(series, "nobody")
    assert not report.passed
    assert "nothing" not in report.verdict.lower()
    assert_true(series, report, "nobody")
    told_of = [one for one in report.findings if one.kind == "exact" and one.probability == 1]
    assert len(told_of) == 2
    verdicts = {one.name: one.verdict for one in report.criteria}
    assert verdicts["inference"] == "not met"
    assert verdicts["linkability"] != "met"


def starred(extra: dict[str, tuple[str, str]]) -> KnownSeries:
    before = {"Ann": ("20-29", "flu"), "Ben": ("20-29", "gout"), "Cleo": ("20-29", "ulcer"), "Eve": ("*", "flu")}
    return named(before, before | extra)


def test_suppressed_rows_blind_and_are_said_to() -> None:
    """Whoever is new in a class may have been a starred row before, unless starred rows belong to no class."""
    series = starred({"Dan": ("20-29", "HIV")})
    blind = ri.audit(series.view("nobody").published, ri.Knowledge(growing=True), limit=1 / 2, steps=1_000_000)
    assert not blind.passed
    seeing = ri.audit(
        series.view("nobody", suppressed="class").published, ri.Knowledge(growing=True), limit=1 / 2, steps=1_000_000
    )
    newcomers = [one for one in seeing.findings if one.what == "newcomer" and one.kind == "exact"]
    assert [seeing.published.values[one.value] for one in newcomers if one.value is not None] == ["HIV"]
    assert "suppressed-class" in newcomers[0].rests_on
    assert_true(series, seeing, "nobody")


def test_perturbed_values_are_nobodys_for_certain() -> None:
    series = line_list.drawn_anew(line_list.frozen(line_list.made_up("Outcome")), 0.02, 1)
    report = audited(series, "ids", ri.Knowledge(dropped=frozenset({"unperturbed"})))
    assert not report.disclosure.certain
    assert not series.judged(report).wrong
    # Where nobody says so, the releases contradict each other, or each claim names that it rests on it.
    assert_true(series, audited(series))


@pytest.mark.parametrize("sensitive", line_list.SENSITIVE[:2])
def test_a_line_list_in_small(sensitive: str) -> None:
    series = line_list.made_up(sensitive)
    for knowing in ("ids", "nobody"):
        assert_true(series, audited(series, knowing), knowing)


@needs(line_list.FILE, stand_in="test_a_line_list_in_small")
@pytest.mark.parametrize("sensitive", line_list.SENSITIVE)
def test_a_real_line_list(sensitive: str) -> None:
    series = line_list.toronto(sensitive)
    report = audited(series)
    assert_true(series, report)
    values_stay = next(one for one in report.assumptions if one.name == "values-stay")
    assert (values_stay.status == "refuted") == (values_stay.contradictions > 0)


@needs(line_list.FILE, stand_in="test_perturbed_values_are_nobodys_for_certain")
@pytest.mark.parametrize("rate", [0.005, 0.02, 0.1])
def test_a_real_line_list_perturbed(rate: float) -> None:
    series = line_list.drawn_anew(line_list.toronto("Outcome"), rate, 1)
    report = audited(series, "ids", ri.Knowledge(dropped=frozenset({"unperturbed"})))
    assert not series.judged(report).wrong
    assert_true(series, audited(series))


def nothing_is_lost(series: KnownSeries) -> None:
    """All that follows, as another solver proves, is found: by ids, and by a true registry with who is where, as far as
    that says where everybody belongs."""
    whole = tuple(rows.drop_nulls(series.quasi) for rows in series.rows)
    for some, knowing in ((series, "ids"), (replace(series, rows=whole), "table")):
        all_there_is = certain_of(some)
        assert len(all_there_is) > len(intersected(some)), "there must be more than anybody sees"
        view = some.view(knowing)  # type: ignore[arg-type]
        report = ri.audit(view.published, limit=1 / 2, seconds=120, steps=3_000_000)
        found = {who: what for run in report.runs if run.findings for who, what in run.findings.certain.items()}
        assert found == all_there_is
        assert report.headline.sentence.startswith(f"{len(all_there_is):,} of {len(some.truth):,} people's value")


@pytest.mark.parametrize("sensitive", line_list.SENSITIVE[:2])
def test_nothing_is_lost_of_a_line_list_in_small(sensitive: str) -> None:
    nothing_is_lost(line_list.frozen(line_list.made_up(sensitive)))


@needs(line_list.FILE, stand_in="test_nothing_is_lost_of_a_line_list_in_small")
@pytest.mark.parametrize("sensitive", line_list.SENSITIVE)
def test_nothing_is_lost_of_a_real_line_list(sensitive: str) -> None:
    nothing_is_lost(line_list.frozen(line_list.toronto(sensitive)))


def test_frozen_series_are_true_to_everybody() -> None:
    series = line_list.frozen(line_list.made_up("Outcome"))
    assert not series.changed
    assert replace(series, false=frozenset()).not_so("ids") <= {"nobody-leaves"}
