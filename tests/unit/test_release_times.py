"""Releases happen one after the other: a time that goes back is refused, whoever gives it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError, SeriesError
from reissue.publishing import refusals
from reissue.publishing.refusals import release_time

NOON = datetime(2030, 3, 1, 12, tzinfo=UTC)


def public(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "public").iterdir())


def test_before_the_last_release(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients, time=NOON)
        waiting = series.draft(patients, allow=["same-state"], reason="so it is here")
        for earlier in (NOON - timedelta(seconds=1), NOON.replace(tzinfo=timezone(timedelta(hours=2)))):
            for publish in (series.publish, lambda table, time: series.commit(waiting, time=time)):
                with pytest.raises(ParameterError, match=r"Release 1 is of 2030-03-01 12:00:00 UTC"):
                    publish(patients, time=earlier)
        with pytest.raises(ParameterError, match="Release 1 is of 2030-03-01"):
            ri.publish(folder, patients, time=NOON - timedelta(days=400))
        assert public(folder) == ["0001"]
        assert (
            series.publish(patients, time=NOON, allow=["same-state"], reason="so it is here").number == 2
        )  # at the same time is not before
        assert (
            series.publish(
                patients,
                time=NOON.astimezone(timezone(timedelta(hours=-5))),
                allow=["same-state"],
                reason="so it is here",
            ).number
            == 3
        )
        assert series.verify() == []


def test_nothing_is_computed_for_it(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients, time=NOON)
        stages: list[str] = []
        with pytest.raises(ParameterError):
            series.publish(patients, time=NOON - timedelta(days=1), progress=stages.append)
        assert stages == []


def test_a_clock_that_went_back(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        shown = NOON

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.shown

    monkeypatch.setattr(refusals, "datetime", Clock)
    with ri.open(folder, policy) as series:
        series.publish(patients)
        Clock.shown = NOON - timedelta(minutes=5)
        with pytest.raises(SeriesError, match=r"clock of this machine says 2030-03-01 11:55:00 UTC") as caught:
            series.publish(patients)
        assert not isinstance(caught.value, ParameterError)
        assert "set the clock" in str(caught.value)
        assert public(folder) == ["0001"]
        assert (
            series.publish(patients, time=NOON, allow=["same-state"], reason="so it is here").number == 2
        )  # by hand it can go on
        Clock.shown = NOON + timedelta(seconds=1)
        assert series.publish(patients, allow=["same-state"], reason="so it is here").number == 3


def test_times_need_a_zone() -> None:
    with pytest.raises(ParameterError, match="time zone"):
        release_time(datetime(2030, 1, 1), None)
    assert release_time(NOON, None) == NOON
