"""Budgets in steps: the same input stops at the same place, however slow the machine; the clock is the outer limit."""

from __future__ import annotations

import random
import time
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.arrays import budget
from reissue.arrays.budget import (
    A_SECOND,
    Budget,
    OutOfTime,
    clock_left,
    ends_after,
    moment,
    need_time,
    passed,
    share_of,
    spend,
    steps_in,
    steps_left,
    stop,
    working,
)
from reissue.attacks import Channels, Correlation, Equivalence, Limits, Minimality, Permanence, Tracking, Worlds
from reissue.auditing import sharing
from reissue.auditing.sharing import Sharing
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.model.telling import listening, tell, told

Groups = list[tuple[list[str], list[str]]]


def mixed(people: int, releases: int, size: int, seed: int = 1) -> Published:
    """Everybody's value stays and groups are dealt anew: hard to take apart."""
    rng = random.Random(seed)
    value = {f"p{n}": f"v{rng.randrange(7)}" for n in range(people)}
    series: list[Groups] = []
    for _ in range(releases):
        names = list(value)
        rng.shuffle(names)
        cut = [names[at : at + size] for at in range(0, people, size)]
        series.append([(group, [value[name] for name in group]) for group in cut])
    return Published.from_groups(series)


def figures(report: ri.AuditReport) -> dict[str, Any]:
    """What a report says, without what the clock says."""
    data = report.to_dict(show_people=True, show_values=True)
    data.pop("time")
    for attack in data["attacks"]:
        attack.pop("seconds")
    return data


class Slow:
    """A clock that runs faster than that of the wall, so that everything seems to take longer."""

    def __init__(self, times: float) -> None:
        self._times, self._began = times, time.monotonic()

    def monotonic(self) -> float:
        return self._began + self._times * (time.monotonic() - self._began)


def test_steps_are_counted_and_end_at_a_deadline() -> None:
    with Budget().spending() as one:
        deadline = ends_after(2.0)
        assert deadline == 2.0
        assert steps_left(deadline) == 2 * A_SECOND == steps_in(2.0)
        assert not passed(deadline, A_SECOND)
        assert moment() == 1.0
        assert share_of(deadline, 0.5) == 1.5
        spend(A_SECOND - 1)
        assert not passed(deadline, 0) and one.stopped is None
        assert passed(deadline) and one.stopped == "steps"
        with pytest.raises(OutOfTime):
            need_time(deadline)
        assert one.spent == 2 * A_SECOND + 1
        assert steps_left(deadline) == 0


def test_the_clock_ends_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    with Budget(time.monotonic() + 100).spending() as one:
        far = ends_after(1e6)
        assert not passed(far) and not passed(None)
        assert 99 < clock_left(far) <= 100
        monkeypatch.setattr(budget, "time", Slow(1e12))
        assert passed(far) and passed(None) and one.over and one.stopped == "clock"
        # Also what is begun afterwards, and shares of nothing.
        assert passed(ends_after(1e6)) and passed(share_of(far, 0.5))
        need_time(None)  # what has no deadline comes to its end
        assert clock_left(far) == 0.0
        stop()
        assert one.stopped == "clock"


def test_without_a_budget_moments_are_those_of_the_clock() -> None:
    assert abs(moment() - time.monotonic()) < 1
    assert not passed(None) and not passed(ends_after(100)) and passed(moment() - 1)
    assert steps_left(ends_after(1)) is None and ends_after(None) is None and share_of(None, 0.5) is None
    spend(10)
    stop()
    with working(None) as seconds:
        assert seconds is None


def test_work_joins_the_budget_that_is_being_spent() -> None:
    with Budget().spending() as one:
        with working(5.0) as seconds:
            assert seconds == 5.0
            spend(7)
        assert one.spent == 7


def test_telling() -> None:
    heard: list[float] = []
    tell(1, 2)  # nobody listens
    with listening(heard.append), listening(None):
        assert list(told("abcd")) == [*"abcd"]
        tell(3, 2)
        tell(1, 0)
    assert heard == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("steps", [2_000, 60_000, 600_000])
def test_the_same_steps_give_the_same_figures_on_a_slow_machine(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    view = mixed(240, 5, 6)
    found = []
    for times in (1, 40):
        with monkeypatch.context() as patch:
            patch.setattr(budget, "time", Slow(times))
            report = ri.audit(view, limit=1 / 2, seconds=100_000, steps=steps)
        assert all(run.stopped != "clock" for run in report.runs)
        found.append(figures(report))
    assert found[0] == found[1]
    assert steps > 100_000 or any(run.stopped == "steps" for run in report.runs)


@pytest.mark.parametrize(
    "attack",
    [Worlds(seconds=0.05), Equivalence(seconds=0.05), Correlation(seconds=0.05), Channels(l=2, seconds=0.05)],
)
def test_an_attack_by_itself_gives_the_same_again(monkeypatch: pytest.MonkeyPatch, attack: Any) -> None:
    view = mixed(300, 5, 6, seed=2)
    limits = Limits(probability=ri.audit(view, limit=1 / 2, steps=1, attacks=["Channels"]).limits.probability)
    monkeypatch.setattr(budget, "time", Slow(1e-6))  # the clock stands still: only steps count
    first, second = (attack.run(view) for _ in range(2))
    assert first.judge(limits) == second.judge(limits)
    assert first.undecided == second.undecided


def test_more_steps_lose_nothing() -> None:
    view = mixed(36, 3, 4, seed=3)
    few, many = (ri.audit(view, limit=1 / 2, seconds=1e6, steps=steps) for steps in (2_000, 50_000_000))
    without = Worlds(seconds=None).run(view).judge(many.limits)
    assert many.judgements["Worlds"].status == without.status
    assert many.judgements["Worlds"].count == without.count >= few.judgements["Worlds"].count


def test_where_the_clock_is_first_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    view = mixed(240, 5, 6)
    monkeypatch.setattr(budget, "time", Slow(1e9))
    report = ri.audit(view, limit=1 / 2, seconds=60)
    runs = {run.attack: run for run in report.runs}
    assert runs["Worlds"].stopped == "clock"
    assert "The time was over" in runs["Worlds"].judgement.words or "not begun" in runs["Worlds"].judgement.words
    assert not report.passed
    told_of = {one["attack"]: one["stopped"] for one in report.to_dict()["attacks"]}
    assert told_of["Worlds"] == "clock"


def test_seconds_are_those_of_the_whole_audit() -> None:
    view = mixed(3_000, 12, 10)
    began = time.monotonic()
    report = ri.audit(view, limit=1 / 2, seconds=3)
    report.to_dict()
    assert time.monotonic() - began < 9  # a busy machine; by itself it takes less than 3.6
    assert {run.attack for run in report.runs} >= {"Worlds", "Equivalence", "Channels"}


def test_what_proves_a_limit_comes_first_and_keeps_its_place_in_the_report() -> None:
    begun: list[str] = []
    names = ["Correlation", "Equivalence", "Minimality", "Permanence", "Worlds"]
    report = ri.audit(mixed(40, 2, 4), limit=1 / 2, attacks=names, progress=begun.append)
    assert [run.attack for run in report.runs] == names
    assert begun[0] == "Testing assumptions"
    assert begun[1].endswith(("Worlds", "Permanence"))
    chosen = [Correlation(), Worlds(), Minimality(), Permanence()]
    shared = Sharing(10.0, 1_000_000)
    seconds = []
    for _ in shared.in_order(chosen, Limits(equivalence=3)):
        seconds.append(shared.next_seconds)
        with shared.spending() as spent:
            spent.spent += 1
    assert seconds[-1] * A_SECOND == pytest.approx(1_000_000 - 3)
    assert shared.steps == 1_000_000 - 4


class Still:
    """A clock that stands still."""

    def monotonic(self) -> float:
        return 1000.0


@pytest.mark.parametrize(
    ("left", "asked", "unasked"),
    [(10.0, 1009.0, 1009.0), (4.0, 1003.0, 1003.0), (1.5, 1000.75, 1000.75), (0.8, 1000.4, 1000.0)],
)
def test_time_is_kept_back_for_the_report(
    left: float, asked: float, unasked: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of ten seconds, or half of what reading left; what nobody asked about needs half a second to begin."""
    monkeypatch.setattr(budget, "time", Still())
    monkeypatch.setattr(sharing, "time", Still())
    for limits, until in ((Limits(equivalence=3), asked), (Limits(diversity=2), unasked)):
        with Budget(1000.0 + left).spending():
            shared = Sharing(10.0, 1_000)
            assert list(shared.in_order([Equivalence()], limits)) == [0]
            with shared.spending() as spent:
                assert spent.until == pytest.approx(until)
                assert spent.over == (until == 1000)


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 1e-9])
def test_any_time_will_do(seconds: float) -> None:
    report = ri.audit(mixed(24, 2, 4), limit=1 / 2, seconds=seconds)
    report.to_dict()
    assert [run.stopped for run in report.runs if run.attack == "Worlds"] == ["clock" if seconds < 1 else None]
    assert Worlds(seconds=seconds).run(mixed(24, 2, 4)).found.people.size == 24


def test_progress_hears_how_much_of_an_attack_is_done() -> None:
    class Bar:
        def __init__(self) -> None:
            self.stages: list[str] = []
            self.parts: list[float] = []

        def __call__(self, stage: str) -> None:
            self.stages.append(stage)

        def part(self, share: float) -> None:
            self.parts.append(share)

    bar = Bar()
    ri.audit(mixed(40, 3, 4), limit=1 / 2, steps=200_000, progress=bar)
    assert len(bar.stages) == 8 and bar.parts and all(0 <= part <= 1 for part in bar.parts)


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, "many"])
def test_steps_are_checked(steps: Any) -> None:
    with pytest.raises(ParameterError, match="'steps' must be a whole number"):
        ri.audit(mixed(8, 1, 4), limit=1 / 2, steps=steps)


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> ri.Series:
    """Two releases of sets of 3,000 people."""
    values = ["asthma", "flu", "gout", "ulcer"]
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"ill": ri.Categorical()})
    table = pl.DataFrame({"id": range(3_000), "age": [n % 59 for n in range(3_000)], "ill": values * 750})
    method = ri.Alternatives(m=2, reference=dict.fromkeys(values, 1.0), change=0.1)
    series = ri.open(tmp_path_factory.mktemp("sets") / "s", ri.Policy(schema, method))
    series.publish(table)
    series.publish(table.head(2_900))
    return series


def test_sets_are_followed_within_the_time(sets: ri.Series) -> None:
    """It went on to the end, whatever the time: of ten million sets for minutes."""
    view = sets.published()
    with Budget(until=time.monotonic() - 1).spending(), pytest.raises(OutOfTime):
        Tracking().run(view)
    with Budget(until=time.monotonic() + 1_000).spending():
        assert Tracking().run(view).followed is not None
    assert Tracking().run(view).followed is not None  # without a budget there is no time to keep to
    report = sets.audit(seconds=0.001)
    (run,) = (one for one in report.runs if one.attack == "Tracking")
    assert run.judgement.status == "undecided" and "came to no result" in run.judgement.words
    assert not report.passed
