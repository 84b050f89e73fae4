"""Cells in words, in other tools' brackets, and dates in other orders."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reissue.foreign.date_orders import in_iso, orders_of
from reissue.foreign.foreign_cells import ForeignColumn, SourceColumn, read_column
from reissue.foreign.intervals import interval_of
from reissue.foreign.wordings import in_signs, unwrapped
from reissue.model.attributes import EVERYTHING, Intervals, Sets
from reissue.model.missing_words import says_missing

INFINITE = float("inf")

WORDS = {
    "20s": (20, 30, False, True),
    "90s": (90, 100, False, True),
    "1990s": (1990, 2000, False, True),
    "50 to 59 Years": (50, 59, False, False),
    "50 - 59 yrs": (50, 59, False, False),
    "50-59 years old": (50, 59, False, False),
    "between 50 and 59": (50, 59, False, False),
    "from 50 to 59": (50, 59, False, False),
    "19 and younger": (-INFINITE, 19, True, False),
    "19 or less": (-INFINITE, 19, True, False),
    "19 years and under": (-INFINITE, 19, True, False),
    "up to 19": (-INFINITE, 19, True, False),
    "under 20": (-INFINITE, 20, True, True),
    "Less than 20 years": (-INFINITE, 20, True, True),
    "≤ 17": (-INFINITE, 17, True, False),
    "<20 years": (-INFINITE, 20, True, True),
    "90 and older": (90, INFINITE, False, True),
    "90+": (90, INFINITE, False, True),
    "90+ years": (90, INFINITE, False, True),
    "65 or more": (65, INFINITE, False, True),
    "65 & over": (65, INFINITE, False, True),
    "65 plus": (65, INFINITE, False, True),
    ">=65": (65, INFINITE, False, True),
    "over 64": (64, INFINITE, True, True),
    "older than 64": (64, INFINITE, True, True),
    "aged 30-39": (30, 39, False, False),
    "5 years": (5, 5, False, False),
    "1–4": (1, 4, False, False),
    "[20, 30)": (20, 30, False, True),
    "[20, 30[": (20, 30, False, True),
    "120 +": (120, INFINITE, False, True),
    "65\u201169": (65, 69, False, False),
    "20-29y": (20, 29, False, False),
    "unter 20 Jahre": (-INFINITE, 20, True, True),
    "20 bis 29 Jahren": (20, 29, False, False),
    "80 Jahre und älter": (80, INFINITE, False, True),
    "über 80": (80, INFINITE, True, True),
    "Menores de 20 años": (-INFINITE, 20, True, True),
    "20 a 29 años": (20, 29, False, False),
    "entre 20 y 29": (20, 29, False, False),
    "80 años y más": (80, INFINITE, False, True),
    "80 y mas": (80, INFINITE, False, True),
    "mayor de 80": (80, INFINITE, True, True),
    "20 a 29 anos": (20, 29, False, False),
    "80 anos ou mais": (80, INFINITE, False, True),
    "até 19 anos": (-INFINITE, 19, True, False),
    "moins de 20 ans": (-INFINITE, 20, True, True),
    "20 à 29 ans": (20, 29, False, False),
    "80 ans et plus": (80, INFINITE, False, True),
    "plus de 80 ans": (80, INFINITE, True, True),
}


@pytest.mark.parametrize("text", WORDS)
def test_intervals_in_words(text: str) -> None:
    assert interval_of(in_signs(text)) == WORDS[text]


@pytest.mark.parametrize(
    "text",
    [
        "20a29",
        "6 meses",
        "de 5 a",
        "y 20",
        "M5B 1W2",
        "6 months",
        "1900s",
        "Ward 5",
        "5th",
        "young",
        "2 to go",
        "Vitamin B12",
        "",
        "3rd year",
        "20s and 30s",
    ],
)
def test_what_is_no_interval_in_words_stays(text: str) -> None:
    assert in_signs(text) == text or interval_of(in_signs(text)) is None


def test_cells_in_the_brackets_of_anonypy() -> None:
    assert unwrapped("['17-36']") == "17-36"
    assert unwrapped('["17-36"]') == "17-36"
    assert unwrapped("['a,b']") == "{a,b}"
    assert unwrapped("['a', 'b']") == "{a,b}"
    assert unwrapped("['[1, 2]']") == "[1, 2]"
    assert unwrapped(r"['it\'s']") == "it's"
    for other in ("[17-36]", "[20, 30)", "['a'", "[]", "a"):
        assert unwrapped(other) == other


def test_the_order_of_days_and_months_is_that_of_the_whole_column() -> None:
    assert orders_of([["01/02/2020", "31/12/2020"]]) == ["day first"]
    assert orders_of([["01/02/2020", "12/31/2020"]]) == ["month first"]
    assert orders_of([["01/02/2020"], ["31/12/2020"]]) == ["day first", "day first"]
    assert orders_of([["01/02/2020"]]) == [None]
    # A file that says both says nothing, and neither do files that contradict each other about a third one.
    assert orders_of([["31/12/2020", "12/31/2020"], ["01/02/2020"]]) == [None, None]
    assert orders_of([["31/12/2020"], ["12/31/2020"], ["01/02/2020"]]) == ["day first", "month first", None]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("31/12/2020", "2020-12-31"),
        ("1.2.2020", "2020-02-01"),
        ("2020/12/31", "2020-12-31"),
        ("2020-1-5", "2020-01-05"),
        ("2020-12-31T00:00:00Z", "2020-12-31T00:00:00"),
        ("31/12/2020 1:05 PM", "2020-12-31T13:05:00"),
        ("31 Dec 2020", "2020-12-31"),
        ("31-Dec-2020", "2020-12-31"),
        ("December 31, 2020", "2020-12-31"),
        ("31. Dezember 2020", "2020-12-31"),
        ("2020-02", "[2020-02-01, 2020-03-01)"),
        ("Dec 2020", "[2020-12-01, 2021-01-01)"),
        ("2020/03/25 05:00:00+00", "2020-03-25T05:00:00"),
        ("Mar 10, 2020 12:00 AM", "2020-03-10T00:00:00"),
        ("Tue, 10 Mar 2020 00:00:00 GMT", "2020-03-10T00:00:00"),
        ("10 mar. 2020", "2020-03-10"),
        ("10 de agosto de 2020", "2020-08-10"),
        ("1er février 2020", "2020-02-01"),
        ("5 setembro 2020", "2020-09-05"),
        ("20200310", "2020-03-10"),
        ("20201310", None),
        ("10/03/20", None),
        ("31/02/2020", None),
        ("2020-13", None),
        ("Ward 2020", None),
    ],
)
def test_dates_in_other_orders(text: str, written: str | None) -> None:
    assert in_iso(text, "day first") == written


def read(*columns: list[str | None], labels: bool = False, missing: tuple[str, ...] = ()) -> ForeignColumn:
    sources = [
        SourceColumn(f"release {n}", pl.Series("x", cells, dtype=pl.String), np.arange(len(cells)))
        for n, cells in enumerate(columns, 1)
    ]
    found = read_column("x", sources, labels=labels, missing=missing)
    assert isinstance(found, ForeignColumn)
    return found


def lows(found: ForeignColumn, at: int = 0) -> list[float]:
    part = found.parts[at]
    assert isinstance(part, Intervals)
    low: list[float] = part.low.tolist()
    return low


def test_ages_as_ontario_and_toronto_write_them() -> None:
    found = read(["<20", "20s", "90s", "Unknown"], ["19 and younger", "20 to 29 Years", "90 and older", None])
    assert lows(found) == [-INFINITE, 20, 90, -INFINITE]
    assert lows(found, 1) == [-INFINITE, 20, 90, -INFINITE]
    assert found.missing == ("unknown",)
    assert "--missing 'x=unknown'" in found.doubts[0]
    assert says_missing("  Not Reported ")


def test_a_word_for_what_is_not_known_is_a_label_among_labels() -> None:
    found = read(["male", "female", "Unknown"])
    assert isinstance(found.parts[0], Sets)
    assert "Unknown" in found.parts[0].labels
    assert not found.doubts


def test_texts_that_mean_missing_may_be_anything() -> None:
    (part,) = read(["male", "UNKNOWN", "Not Reported"], missing=("unknown", "not reported")).parts
    assert isinstance(part, Sets)
    assert [which == EVERYTHING for which in part.which] == [False, True, True]


def test_labels_whatever_they_look_like() -> None:
    (part,) = read(["250-259", "7", "*", "20s"], labels=True).parts
    assert isinstance(part, Sets)
    assert part.labels == ("20s", "250-259", "7")
    assert part.which[2] == EVERYTHING


def test_dates_of_files_with_orders_of_their_own() -> None:
    first, second = read(["31/12/2020", "01/02/2020"], ["12/31/2020", "2020-02-01"]).parts
    assert isinstance(first, Intervals)
    assert isinstance(second, Intervals)
    assert first.low.tolist() == second.low.tolist()


def test_dates_whose_order_cannot_be_told_are_labels() -> None:
    found = read(["01/02/2020", "03/04/2020"])
    assert isinstance(found.parts[0], Sets)
    assert "whether day or month comes first cannot be told in release 1" in found.doubts[0]
    # Beside dates that are clear they are not compared: as labels they would exclude what they may be.
    found = read(["01/02/2020"], ["2020-02-01"])
    assert all(isinstance(part, Sets) and set(part.which.tolist()) == {EVERYTHING} for part in found.parts)


def test_school_years_are_no_months() -> None:
    found = read(["2010-11", "2011-12", "2012-13", "2013-14"])
    assert isinstance(found.parts[0], Sets)


def test_lists_around_cells() -> None:
    first, _ = read(["['17-36']", "[20, 30)"], ["['37-50']"]).parts
    assert isinstance(first, Intervals)
    assert first.high.tolist() == [36, 30]
    (part,) = read(["['a,b']", "a"]).parts
    assert isinstance(part, Sets)
    assert part.labels == ("a", "b")


DAYS = [f"2020-03-{day:02}" for day in range(1, 29)]


def test_days_of_files_that_write_them_differently_are_the_same_days() -> None:
    zoned = [f"{day.replace('-', '/')} {'05' if day < '2020-03-08' else '04'}:00:00+00" for day in DAYS]
    found = read(DAYS, zoned, [day.replace("-", "") for day in DAYS])
    assert lows(found) == lows(found, 1) == lows(found, 2)
    assert found.asides == ("the same time of the day everywhere, which is left out",)
    # Times that differ say more than the day, and those of the evening may be another day's elsewhere.
    for times in ([f"{day}T{at % 12:02}:15:00" for at, day in enumerate(DAYS)], [f"{day}T22:00:00" for day in DAYS]):
        found = read(times)
        assert not found.asides
        assert len({low % 86_400e6 for low in lows(found)}) > 1 or lows(found)[0] % 86_400e6


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([*DAYS, "Asymptomatic"], "'x': 1 cell of 29 is no date, so that all are labels; --missing 'x=...'"),
        ([*DAYS, *["2020-99-99"] * 3], "'x': 3 cells of 31 are no dates, so that all are labels"),
        (["104", "105", "107", "OOS"], "'x': 1 cell of 4 is no number, so that all are labels"),
        (["10/03/20", "11/03/20", "13/03/20"], "'x' seems to hold dates without a year, or with half of one: labels"),
        (["10-Mar", "11-Mar", "1-Apr"], "'x' seems to hold dates without a year"),
    ],
)
def test_a_column_of_labels_for_the_sake_of_some_cells_says_so(cells: list[str | None], told: str) -> None:
    found = read(cells)
    assert isinstance(found.parts[0], Sets)
    (doubt,) = found.doubts
    assert doubt.startswith(told)


@pytest.mark.parametrize("code", ["9999-99-99", "99/99/9999", "00.00.0000", "0000-00-00"])
@pytest.mark.parametrize("often", [3, 300])
def test_dates_of_nines_and_noughts_alone_are_no_dates(code: str, often: int) -> None:
    """As in columns of days of death, where most cells are such."""
    found = read([*DAYS, *[code] * often])
    assert lows(found) == [*lows(read(DAYS)), *[-INFINITE] * often]
    assert found.missing == (code,)
    assert found.doubts[0].startswith(f"'x': {often} cells of {28 + often} with a word for what is not known")


def test_bands_that_a_spreadsheet_took_for_days() -> None:
    """5-9 and 10-14, in two of its languages."""
    bands = read(["0-4", "5-9", "10-14", "15-19", "25+"])
    for five, ten in (("05-Sep", "Oct-14"), ("9-May", "14-Oct"), ("09. Mai", "14. Okt")):
        found = read(["0-4", five, ten, "15-19", "25+", "Unknown"])
        assert lows(found)[:-1] == lows(bands)
        assert found.parts[0].high[:-1].tolist() == bands.parts[0].high.tolist()  # type: ignore[union-attr]
        assert found.doubts[0].startswith("'x': 2 cells of 6 with a day and a month beside bands of numbers")
    # Where nothing else is a band, they are days.
    assert "dates without a year" in read(["05-Sep", "Oct-14", "07-Sep"]).doubts[0]


def test_words_for_what_is_not_known_among_labels_are_told() -> None:
    assert any("words for what is not known are labels" in one for one in read(["male", "female", "Missing"]).asides)
    assert not read(["male", "female", "other"]).asides
    assert not read(["male", "Missing"], missing=("missing",)).asides
    # An answer like others.
    assert not read(["insulin", "None"]).asides


@pytest.mark.parametrize("cells", [["104", "OOS", "x", "y"], ["male", "female"], ["Ward 5", "Ward 6"], ["May", "Mar"]])
def test_a_column_of_labels_is_no_matter(cells: list[str | None]) -> None:
    assert not read(cells).doubts


@pytest.mark.parametrize("other", [["20200330", "17"], ["10/03/20"], ["10/03/2020"], ["10-Mar"], ["March"]])
def test_what_cannot_be_compared_with_days_is_not(other: list[str | None]) -> None:
    """As labels they would exclude one another, and all people of one file be gone in the next."""
    found = read(["2020-03-10", "2020-03-11"], other)
    assert all(isinstance(part, Sets) and set(part.which.tolist()) == {EVERYTHING} for part in found.parts)
    assert "as these cannot be compared" in found.doubts[-1]


def test_labels_in_another_case_are_one_label() -> None:
    first, second = read(["Male", "MALE ", "Not  known"], ["male", "not known"]).parts
    assert isinstance(first, Sets)
    assert isinstance(second, Sets)
    assert first.labels == second.labels
    assert len(first.labels) == 2
    assert "labels that differ in case, accents and spaces alone are one" in read(["BOGOTÁ", "Bogota"]).asides
    assert read(["a", "A"], labels=True).parts[0].labels == ("A", "a")  # type: ignore[union-attr]


def test_labels_of_which_not_one_stays_are_not_compared() -> None:
    """Sex as M and F, and then in words: as labels they would exclude one another."""
    first, second = ["M", "F"] * 20, ["Male", "Female"] * 20
    found = read(first, second)
    assert all(isinstance(part, Sets) and set(part.which.tolist()) == {EVERYTHING} for part in found.parts)
    assert found.doubts[0].startswith("'x' has no label in release 2 that it has in release 1: it may be anything")
    # One label that stays, few rows of each, or many labels: nothing speaks for other words.
    for one, other in ((first, [*second, "F"]), (first[:10], second[:10]), (first, [f"L{at}" for at in range(40)])):
        part, *_ = read(one, other).parts
        assert isinstance(part, Sets)
        assert EVERYTHING not in part.which
    assert not read(first, second, labels=True).doubts
