"""Every way of writing a cell, and what a column of them is."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from reissue.foreign.foreign_cells import ForeignColumn, SourceColumn, labels_of, read_column
from reissue.foreign.intervals import interval_of
from reissue.model.attributes import EVERYTHING, Intervals, Patterns, Sets
from reissue.model.hierarchy import Hierarchy
from reissue.tables.recode import set_text

INFINITE = float("inf")

INTERVALS = {
    "21": (21, 21, False, False),
    "-3.5": (-3.5, -3.5, False, False),
    "1e3": (1000, 1000, False, False),
    "[21]": (21, 21, False, False),
    "[21-25]": (21, 25, False, False),
    "[21, 25]": (21, 25, False, False),
    "[21, 25[": (21, 25, False, True),
    "]21, 25]": (21, 25, True, False),
    "]21;25[": (21, 25, True, True),
    "[21,25)": (21, 25, False, True),
    "(21,25]": (21, 25, True, False),
    "(20.5, 25.0]": (20.5, 25, True, False),
    "21-25": (21, 25, False, False),
    "21–25": (21, 25, False, False),
    "21 - 25": (21, 25, False, False),
    "[-5 - 3]": (-5, 3, False, False),
    "[-5--3]": (-5, -3, False, False),
    "-5-3": (-5, 3, False, False),
    "05-09": (5, 9, False, False),
    "[02100-2199]": (2100, 2199, False, False),
    "<30": (-INFINITE, 30, True, True),
    "< 30": (-INFINITE, 30, True, True),
    "<=30": (-INFINITE, 30, True, False),
    "≤30": (-INFINITE, 30, True, False),
    ">=60": (60, INFINITE, False, True),
    ">60": (60, INFINITE, True, True),
    ">-60": (-60, INFINITE, True, True),
    "60+": (60, INFINITE, False, True),
    "[60, Inf)": (60, INFINITE, False, True),
    "(-Inf,30]": (-INFINITE, 30, True, False),
}


@pytest.mark.parametrize("text", INTERVALS)
def test_intervals_as_tools_write_them(text: str) -> None:
    assert interval_of(text) == INTERVALS[text]


@pytest.mark.parametrize(
    "text",
    [
        "male",
        "25-21",
        "[25, 21]",
        "]21, 21]",
        "[21",
        "21-",
        "5371*",
        "1-2-3",
        "2024-01-31",
        "2024-01",
        "",
        "*",
        "{1,2}",
        "1,5",
        "10,500",
        "1;5",
        "02139-4307",
        "03-2024",
        "555-0199",
        "1e400",
        "[1,5; 2,5]",
    ],
)
def test_what_is_no_interval(text: str) -> None:
    assert interval_of(text) is None


def test_dates() -> None:
    def at(text: str) -> float:
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds() * 1e6

    first, last = at("2024-01-31"), at("2024-03-31")
    assert interval_of("2024-01-31", "dates") == (first, first, False, False)
    assert interval_of("[2024-01-31, 2024-03-31[", "dates") == (first, last, False, True)
    assert interval_of("2024-01-31 - 2024-03-31", "dates") == (first, last, False, False)
    assert interval_of(">=2024-01-31", "dates") == (first, INFINITE, False, True)
    noon = at("2024-01-31T12:00")
    assert interval_of("2024-01-31 12:00:00", "dates") == (noon, noon, False, False)
    assert interval_of("2024-02-31", "dates") is None


@pytest.mark.parametrize("labels", [["a", "b"], ["a, b", "c"], ['"x"', "{y}"], ["{z"]])
def test_sets_as_our_own_releases_write_them(labels: list[str]) -> None:
    assert labels_of(set_text(labels)) == labels


def test_sets_with_spaces_and_broken_ones() -> None:
    assert labels_of("{a, b}") == ["a", "b"]
    assert labels_of("{1,2}") == ["1", "2"]
    assert labels_of("{}") is None
    assert labels_of("{a,}") is None
    assert labels_of("a") is None
    assert labels_of('{ "a, b" , "c"}') == ["a, b", "c"]


@pytest.mark.parametrize("text", ['{a,b"c}', '{"a","b}', '{a"b",c}', '{"a"b,c}', "{a,{b}}", "{a,b},{c}", "{a,b"])
def test_a_set_that_cannot_be_read_to_its_end_may_be_anything(text: str) -> None:
    assert labels_of(text) is None
    found = read(["a", text, text])
    (doubt,) = found.doubts
    assert doubt.startswith("'x': 2 cells of 3, in release 1, cannot be read as a set of labels, and may be anything")
    assert isinstance(found.parts[0], Sets)
    assert [held(found.parts[0], box) for box in range(3)] == [{"a"}, None, None]


def source(where: str, cells: list[str | None]) -> SourceColumn:
    return SourceColumn(where, pl.Series("x", cells, dtype=pl.String), np.arange(len(cells)))


def read(*columns: list[str | None], hierarchy: Hierarchy | None = None) -> ForeignColumn:
    found = read_column("x", [source(f"release {n}", cells) for n, cells in enumerate(columns, 1)], hierarchy)
    assert isinstance(found, ForeignColumn), found
    return found


def wrong(*columns: list[str | None], hierarchy: Hierarchy | None = None, show_values: bool = False) -> list[str]:
    sources = [source(f"release {n}", cells) for n, cells in enumerate(columns, 1)]
    found = read_column("x", sources, hierarchy, show_values=show_values)
    assert isinstance(found, list)
    return found


def held(part: Sets, box: int) -> set[str] | None:
    which = part.which[box]
    if which == EVERYTHING:
        return None
    return {part.labels[code] for code in part.codes[part.starts[which] : part.starts[which + 1]]}


def test_a_column_of_numbers() -> None:
    part = read(["21", "[21-25]", "*", "NULL", None, "", "NA", " 7 ", "007"]).parts[0]
    assert isinstance(part, Intervals)
    assert part.low.tolist() == [21, 21, *[-INFINITE] * 5, 7, 7]
    assert part.high.tolist() == [21, 25, *[INFINITE] * 5, 7, 7]
    assert part.missing.tolist() == [False, False, *[True] * 5, False, False]


def test_missing_values_that_the_file_speaks_of() -> None:
    cells = pl.Series("x", ["[1, 2]", "[1, 2]", None, None], dtype=pl.String)
    flags = np.array([False, True, True, False])
    found = read_column("x", [SourceColumn("release 1", cells, np.arange(4), flags)])
    assert isinstance(found, ForeignColumn)
    part = found.parts[0]
    assert isinstance(part, Intervals)
    assert part.missing.tolist() == [False, True, True, True]
    assert np.isnan(part.low).tolist() == [False, False, True, False]
    assert part.low[3] == -INFINITE


def test_a_column_of_dates() -> None:
    part = read(["2024-01-31", "*"], ["[2024-01-01, 2024-03-31]"]).parts[0]
    assert isinstance(part, Intervals)


def test_codes_that_begin_with_zero_are_texts() -> None:
    part = read(["0101", "101"]).parts[0]
    assert isinstance(part, Sets)
    assert part.labels == ("0101", "101")


def test_codes_that_lost_their_zeros_in_one_file_are_numbers() -> None:
    """As texts `05` and `5` would exclude one another, and all people of one file be gone in the next."""
    found = read(["05", "11", "76"], ["5", "11", "76"])
    first, second = found.parts
    assert isinstance(first, Intervals)
    assert isinstance(second, Intervals)
    assert first.low.tolist() == second.low.tolist() == [5, 11, 76]
    assert found.asides == ("the same numbers with zeros before them in some files and without in others",)
    for other in (["05", "5", "11"], ["7", "11"]):
        assert all(isinstance(part, Sets) for part in read(["05", "11"], other).parts)


def test_bare_dashes_between_numbers_are_intervals() -> None:
    """Also where nothing else speaks for numbers: labels would exclude one another, and these two do not."""
    found = read(["20-30"], ["25-35"])
    assert found.how.startswith("intervals of numbers, all with a bare dash")
    assert all(isinstance(part, Intervals) for part in found.parts)
    assert isinstance(read(["00-04", "05-09", "10-14"]).parts[0], Intervals)
    assert isinstance(read(["02100-02199"], ["02139"]).parts[0], Intervals)


def test_codes_with_dashes_are_labels() -> None:
    assert isinstance(read(["02139-4307", "10001-2345"]).parts[0], Sets)
    found = read(["555-1234", "555-0199"], ["03-2024"])
    assert found.how.startswith("codes with dashes, not intervals")
    assert isinstance(found.parts[0], Sets)
    assert found.parts[0].labels == ("03-2024", "555-0199", "555-1234")
    # A mistake in an interval does not make labels of the others, and neither do numbers beside codes.
    for cells in (["20-30", "30-20"], ["555-1234", "555-0199", "7"]):
        found = read(cells)
        assert "cannot be read as numbers or an interval of them" in found.doubts[0]
        assert isinstance(found.parts[0], Intervals)
        assert found.parts[0].low[1] == -INFINITE


def test_codes_of_which_few_look_like_intervals_are_labels() -> None:
    found = read(["250-259", "V01", "E800", "E810"])
    assert isinstance(found.parts[0], Sets)
    assert "taken for codes" in found.doubts[0]


@pytest.mark.parametrize(
    "cells", [["1,5", "*"], ["10,500", "7"], ["[1,5; 2,5]", "[3; 4,5]"], ["<1,5", "[10, 20]"], ["1,5-2,5", "3-4"]]
)
def test_numbers_with_a_comma_are_doubted(cells: list[str | None]) -> None:
    """Labels where there are no intervals; beside intervals they may be anything."""
    found = read(cells)
    (doubt,) = found.doubts
    if isinstance(found.parts[0], Sets):
        assert "which may stand before decimals or between thousands" in doubt
        assert "write 1.5" in doubt
    else:
        assert "cannot be read as numbers or an interval of them, and may be anything" in doubt
        assert found.parts[0].low.min() == -INFINITE
    assert "7" not in doubt


def test_labels_may_have_commas() -> None:
    part = read(["1,5", "some"]).parts[0]
    assert isinstance(part, Sets)
    assert part.labels == ("1,5", "some")


def test_a_column_of_labels_and_sets() -> None:
    first, second = read(["male", "{male,female}", "*"], ["female", "{x}", None]).parts
    assert isinstance(first, Sets)
    assert isinstance(second, Sets)
    assert [held(first, box) for box in range(3)] == [{"male"}, {"male", "female"}, None]
    assert [held(second, box) for box in range(3)] == [{"female"}, {"x"}, None]


def test_numbers_in_sets_are_labels() -> None:
    first, second = read(["1", "{1,2}"], ["2"]).parts
    assert isinstance(first, Sets)
    assert isinstance(second, Sets)
    assert [held(first, 1), held(second, 0)] == [{"1", "2"}, {"2"}]


def test_masked_texts_in_one_release_make_texts_of_numbers_in_another() -> None:
    first, second = read(["537**", "*****", "*"], ["53711", "01234"]).parts
    assert isinstance(first, Patterns)
    assert isinstance(second, Patterns)
    assert [first.texts[at] if at != EVERYTHING else None for at in first.which] == ["537**", "*****", None]
    assert [second.texts[at] for at in second.which] == ["53711", "01234"]


def test_labels_of_a_hierarchy_at_any_level() -> None:
    tree = Hierarchy.from_rows([["21", "[20-25]", "*"], ["23", "[20-25]", "*"], ["31", "[30-35]", "*"]])
    part = read(["21", "[20-25]", "*", None, "{21,[30-35]}"], hierarchy=tree).parts[0]
    assert isinstance(part, Sets)
    assert [held(part, box) for box in range(5)] == [{"21"}, {"21", "23"}, None, None, {"21", "31"}]


def test_hierarchies_in_which_labels_have_several_parents() -> None:
    graph = Hierarchy("any", {"any": ["a", "b"], "a": ["1", "2"], "b": ["2", "3"]})
    part = read(["a", "b", "any", "2"], hierarchy=graph).parts[0]
    assert isinstance(part, Sets)
    assert [held(part, box) for box in range(4)] == [{"1", "2"}, {"2", "3"}, {"1", "2", "3"}, {"2"}]


def test_cells_that_cannot_be_understood_may_be_anything() -> None:
    canary = "canary-5f1c"
    found = read(["[21-25]", canary, canary, "*"], ["[30-35]", "{a,b}"])
    (doubt,) = found.doubts
    assert doubt.startswith(
        "'x': 3 cells of 6, in release 1 and 1 more, cannot be read as numbers or an interval of them, and may be any"
    )
    assert "--missing 'x=...'" in doubt
    first, second = found.parts
    assert isinstance(first, Intervals)
    assert isinstance(second, Intervals)
    assert first.low.tolist() == [21, -INFINITE, -INFINITE, -INFINITE]
    assert second.high.tolist() == [35, INFINITE]
    shown = read_column("x", [source("release 1", ["[21-25]", canary])], show_values=True)
    assert isinstance(shown, ForeignColumn)
    assert canary in shown.doubts[0]
    assert canary not in doubt
    assert "a masked text" in read(["537**", "{a,b}"]).doubts[0]
    assert "a set of labels" in read(["a", "{a,}"]).doubts[0]
    assert "dates or an interval of them" in read(["[2024-01-01, 2024-02-01]", "5"]).doubts[0]


def test_cells_that_are_not_of_their_hierarchy_are_refused() -> None:
    tree = Hierarchy.from_rows([["a", "*"], ["b", "*"]])
    assert wrong(["a", "canary-5f1c", "{a,z}"], ["z"], ["b"], hierarchy=tree) == [
        "'x' in release 1 and 1 more: 3 cells of 4 cannot be read as a label of its hierarchy or *"
    ]


def test_columns_that_are_not_the_same_thing_in_all_releases() -> None:
    _, second = read(["[21-25]"], ["young"]).parts
    assert isinstance(second, Intervals)
    assert second.low.tolist() == [-INFINITE]
    found = read(["1", "2"], ["*"], ["low", "high"])
    assert found.doubts[0].startswith("'x' holds numbers alone in release 1, and labels alone in release 3: it may be")
    assert all(isinstance(part, Sets) and set(part.which.tolist()) == {EVERYTHING} for part in found.parts)
