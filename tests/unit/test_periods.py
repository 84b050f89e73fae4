"""What a release is of, what it corrects, and releases that are not handed out."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.errors import ChecksFailed, ParameterError
from reissue.model.period import Period, latest_of


@pytest.mark.parametrize(
    ("text", "begin", "end", "written"),
    [
        ("2026", date(2026, 1, 1), date(2026, 12, 31), "2026"),
        ("2026-Q1", date(2026, 1, 1), date(2026, 3, 31), "2026-Q1"),
        ("2026q4", date(2026, 10, 1), date(2026, 12, 31), "2026-Q4"),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29), "2024-02"),
        ("2026-12", date(2026, 12, 1), date(2026, 12, 31), "2026-12"),
        ("2026-W01", date(2025, 12, 29), date(2026, 1, 4), "2026-W01"),
        ("2026w53", date(2026, 12, 28), date(2027, 1, 3), "2026-W53"),
        ("2026-03-15", date(2026, 3, 15), date(2026, 3, 15), "2026-03-15"),
        (" 2026-01/2026-03 ", date(2026, 1, 1), date(2026, 3, 31), "2026-01/2026-03"),
        ("2025-Q4..2026-01-15", date(2025, 10, 1), date(2026, 1, 15), "2025-Q4/2026-01-15"),
    ],
)
def test_how_periods_are_written(text: str, begin: date, end: date, written: str) -> None:
    period = Period.parse(text)
    assert (period.begin, period.end, str(period)) == (begin, end, written)
    assert Period.parse(written) == period  # what is recorded can be read again
    assert "/" not in period.in_names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "March",
        "2026-13",
        "2026-02-30",
        "2026-W54",
        "2026-Q5",
        "26-03",
        "2026/03",
        "2026-01/",
        "2026-01/2026-02/2026-03",
    ],
)
def test_what_is_no_period(text: str) -> None:
    with pytest.raises(ParameterError, match="period") as caught:
        Period.parse(text)
    assert caught.value.hint


def test_ranges_go_forward() -> None:
    for text in ("2026-03/2026-01", "2026-03/2026-03", "2026/2026-03"):
        with pytest.raises(ParameterError, match="end after it begins"):
            Period.parse(text)


@examples(200)
@given(st.dates(date(1990, 1, 1), date(2060, 12, 31)), st.integers(0, 400), st.integers(-400, 400))
def test_order_and_gaps_by_counting_days(first: date, length: int, shift: int) -> None:
    def days(begin: date, many: int) -> Period:
        last = begin + timedelta(days=many)
        return Period.parse(f"{begin}/{last}" if many else f"{begin}")

    earlier, later = days(first, length), days(first + timedelta(days=shift), length)
    covered = {earlier.begin + timedelta(days=at) for at in range((earlier.end - earlier.begin).days + 1)}
    follows = later.end not in covered and later.end > earlier.begin and later.begin >= earlier.begin
    assert (later.problem_after(earlier) is None) == follows
    assert (later.gap_after(earlier) is not None) == (shift > length + 1)


def test_windows_that_overlap_may_follow() -> None:
    year = Period.parse("2025-04/2026-03")
    assert Period.parse("2025-05/2026-04").problem_after(year) is None
    assert Period.parse("2025-04/2026-04").problem_after(year) is None  # a register that goes further each time
    assert Period.parse("2025-04/2026-03").problem_after(year)
    assert Period.parse("2025-01/2026-04").problem_after(year)  # begins earlier
    assert Period.parse("2026-04").gap_after(year) is None
    assert "2026-04-01 to 2026-04-30" in str(Period.parse("2026-05").gap_after(year))


def test_the_latest() -> None:
    assert latest_of(None, None) is None
    assert latest_of("2026-03", None, "2026-Q1", "2025") == "2026-03"
    assert latest_of("2026-01", "2026-Q1") == "2026-Q1"


def test_records_carry_it(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        first = series.publish(patients, period="2026-q1")
        assert (first.period, first.corrects) == ("2026-Q1", None)
        assert repr(first).startswith("Release(1 of 2026-Q1: ")
        draft = series.draft(patients.tail(20), period="2026-Q2")
        assert draft.summary["period"] == "2026-Q2"
        record = json.loads((folder / "public" / "0001" / "release.json").read_text())
        assert record["period"] == "2026-Q1" and "corrects" not in record
        assert series.verify() == []
    again = ri.open(folder).release(1)
    assert again.period == "2026-Q1"


def test_a_release_without_one(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        release = series.publish(patients)
    assert release.period is None
    assert "period" not in json.loads((folder / "public" / "0001" / "release.json").read_text())
    assert repr(release).startswith("Release(1: ")


def test_a_wrong_period_leaves_nothing(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with pytest.raises(ParameterError, match="period"):
        ri.publish(folder, patients, policy, period="last month")
    assert not folder.exists()


def test_a_correction_is_of_the_same_period(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients, period="2026-01")
        with pytest.raises(ParameterError, match="is of 2026-01, not of 2026-02"):
            series.draft(patients, corrects=1, period="2026-02")
        with pytest.raises(ParameterError, match="no release 5"):
            series.draft(patients, corrects=5)
        draft = series.draft(patients.tail(20), corrects=1)
        assert (draft.manifest["period"], draft.manifest["corrects"]) == ("2026-01", 1)


def test_the_first_release_corrects_nothing(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with pytest.raises(ParameterError, match="first one"):
        ri.publish(folder, patients, policy, corrects=1)
    assert not folder.exists()


def test_a_retracted_release_stays(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        before = sorted(path.read_bytes() for path in (folder / "public" / "0001").iterdir())
        told = series.retract(1, "made from the\nwrong extract")
        assert any("cannot be taken back" in one for one in told)
        assert any("protected together with it" in one for one in told)
        assert series.retracted == {1: "made from the wrong extract"}
        assert sorted(path.read_bytes() for path in (folder / "public" / "0001").iterdir()) == before
        assert series.verify() == []
        # Whoever reads a later record learns it, and what is published is protected together with it.
        later = series.draft(patients.tail(20))
        assert later.manifest["retracted"] == [1]
        assert later.parent == 1
    assert ri.open(folder).retracted == {1: "made from the wrong extract"}


@pytest.mark.parametrize("number", [0, 2, -1])
def test_only_what_was_published_is_retracted(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, number: int
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        head = series.head
        with pytest.raises(ParameterError, match=f"no release {number}"):
            series.retract(number, "wrong")
        with pytest.raises(ParameterError, match="must say why"):
            series.retract(1, "  ")
        assert series.head == head
        series.retract(1, "wrong")
        with pytest.raises(ParameterError, match="already"):
            series.retract(1, "wrong again")
        assert series.retracted == {1: "wrong"}


def test_releases_made_elsewhere_have_periods_too(tmp_path: Path) -> None:
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")})
    view = ri.Published.from_groups([[(["a", "b"], ["flu", "cold"])], [(["a", "b"], ["flu", "cold"])]])
    policy = ri.Policy(schema, ri.MInvariance(m=2))
    for wrong, match in ((["2024"], "for each of the 2"), ("2024", "a list"), (["2025", "2024"], "order of time")):
        with pytest.raises(ParameterError, match=match):
            ri.adopt(tmp_path / "clinic", policy, view, periods=wrong)
    assert not (tmp_path / "clinic").exists()
    with ri.adopt(tmp_path / "clinic", policy, view, periods=["2024", "2025"]) as series:
        assert [release.period for release in series.releases] == ["2024", "2025"]
        assert series._history().latest == "2025"
        assert series.verify() == []


def test_periods_are_checked(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    others = patients.tail(20)
    with ri.open(folder, policy) as series:
        series.publish(patients, period="2026-02")
        for period in ("2026-01", "2026-02", None):
            with pytest.raises(ChecksFailed) as caught:
                series.publish(others, period=period)
            assert [problem.split(":")[0] for problem in caught.value.problems] == ["period"]
            assert "--allow period" in str(caught.value.hint)
        with pytest.raises(ChecksFailed) as caught:
            series.publish(others, period="2026-04")
        assert "gap: between 2026-02" in caught.value.problems[0]
        assert "2026-03-01 to 2026-03-31" in caught.value.problems[0]
        assert [release.number for release in series.releases] == [1]
        series.publish(others, period="2026-04", allow=["gap"], reason="the ward was closed in March")
        assert series.release(2).summary["checks"]["allowed"].keys() == {"gap"}
        # A correction of the first is older, and may be; what follows still has to go on from April.
        series.publish(patients.tail(18), corrects=1)
        assert series.release(3).period == "2026-02"
        with pytest.raises(ChecksFailed, match="1 check"):
            series.publish(patients.tail(19), period="2026-03")
        assert series.publish(patients.tail(19), period="2026-05").number == 4


def test_a_series_without_periods_may_begin_to_have_them(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        series.publish(patients.tail(20), period="2026-02")
        with pytest.raises(ChecksFailed, match="1 check"):
            series.publish(patients.tail(19))


def test_the_last_days_of_the_calendar_are_no_crash() -> None:
    with pytest.raises(ParameterError, match="period"):
        Period.parse("9999-W52")  # it ends in the year 10000
    assert Period.parse("9999-12").gap_after(Period.parse("9999")) is None


def test_true_is_no_number_of_a_release(tmp_path: Path) -> None:
    table = pl.DataFrame({"p": range(8), "age": range(8), "d": ["a", "b"] * 4})
    schema = ri.Schema(person="p", quasi={"age": ri.Numeric()}, sensitive="d")
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Mondrian(k=2), series="unprotected")) as series:
        series.publish(table)
        with pytest.raises(ParameterError, match="no release True"):
            series.publish(table.head(7), corrects=True)
        with pytest.raises(ParameterError, match="no release True"):
            series.retract(True, "why")
