"""Files as offices and spreadsheets leave them: encodings, titles, totals and remarks around a table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from reissue.errors import ReissueError
from reissue.foreign import Foreign, read_releases

HEADER = ["Date", "Age", "City", "Outcome"]
ROWS = [
    [
        f"2020-03-{1 + at % 7:02}",
        f"{at % 5}0-{at % 5}9",
        ("Ávila", "Köln", "Roma", "Bern")[at // 3 % 4],
        ("Fatal", "Resolved")[at % 2],
    ]
    for at in range(60)
]
PLAIN = "\n".join(",".join(row) for row in [HEADER, *ROWS]) + "\n"
CANARY = "canary-7d11"


def read(tmp_path: Path, content: str | bytes, name: str = "1.csv") -> Foreign:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return read_releases([tmp_path / name], sensitive="Outcome")


def cells_of(foreign: Foreign) -> tuple[object, ...]:
    (release,) = foreign.published.releases
    assert release.region is not None
    return foreign.published.values, release.region.rows(), release.counts.tolist(), foreign.quasi


@pytest.mark.parametrize(
    ("content", "told", "above"),
    [
        (PLAIN.encode("latin-1"), "is not UTF-8 and is read as Windows-1252", 0),
        (PLAIN.replace("Köln", "Köln – “Süd”").encode("cp1252"), "is not UTF-8 and is read as Windows-1252", 0),
        (PLAIN.encode("utf-16-le"), "is UTF-16 without the mark", 0),
        (PLAIN.encode("utf-16-be"), "is UTF-16 without the mark", 0),
        ("Cases, by day, of all\n" + PLAIN, "has 1 line above its header, which was passed over", 1),
        ("Cases\n\nas of today\n" + PLAIN, "has 3 lines above its header, which were passed over", 3),
        ("Cases,,,\n" + PLAIN, "has 1 line above its header", 1),
        ('"Cases,\nall of them",,,\n' + PLAIN, "has 2 lines above its header", 2),
        ("sep=,\n" + PLAIN, "has 1 line above its header", 1),
        (PLAIN + "Total: 60\n", "has 1 line below its rows with another number of cells", 0),
        (PLAIN + "\nSource: the ministry\nas of today\n", "has 2 lines below its rows", 0),
        (PLAIN + "Total,,,60\n", "ends with 1 total, which was passed over", 0),
        (PLAIN + "Source: the ministry,,,\n*provisional,,,\n", "ends with 2 remarks, which were passed over", 0),
        (PLAIN + "Grand total,,,60\nSource: us,,,\n", "ends with 1 total and 1 remark, which were passed over", 0),
        (
            ("Cases\n" + PLAIN + "Total: 60\n").encode("latin-1"),
            "has 1 line above its header, which was passed over",
            1,
        ),
    ],
)
def test_what_stands_around_a_table_is_passed_over_and_told(
    content: str | bytes, told: str, above: int, tmp_path: Path
) -> None:
    found = read(tmp_path, content)
    plain = read(tmp_path, PLAIN, "plain.csv")
    assert told in "\n".join(found.notes[:3])
    assert found.notes[0].startswith("release '1.csv' ")
    if "“Süd”" not in str(cells_of(found)):
        assert cells_of(found) == cells_of(plain)
    # Lines are those of the file.
    (release,) = found.published.releases
    assert release.lines is not None
    assert sorted(release.lines.tolist()) == list(range(2 + above, 62 + above))


def test_columns_without_a_name_get_one(tmp_path: Path) -> None:
    numbered = [["", *HEADER, ""], *([str(at), *row, ""] for at, row in enumerate(ROWS))]
    found = read(tmp_path, "\n".join(",".join(row) for row in numbered) + "\n")
    assert found.notes[0] == "release '1.csv' has 1 column without a name, called 'column 1'"
    assert any("'column 1' is no quasi-identifier: it tells every row apart" in note for note in found.notes)
    assert found.quasi == tuple(HEADER[:3])
    # R leaves out the name of its row names altogether.
    by_r = [HEADER, *([f'"{at}"', *row] for at, row in enumerate(ROWS))]
    assert read(tmp_path, "\n".join(",".join(row) for row in by_r) + "\n", "2.csv").quasi == found.quasi


def test_spaces_around_names_are_no_part_of_them(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    found = read(tmp_path, PLAIN.replace("City", " City ").replace("Outcome\n", "Outcome \n"))
    assert found.quasi == tuple(HEADER[:3])
    assert found.sensitive == ("Outcome",)
    assert not recwarn.list


def test_rows_are_no_remarks(tmp_path: Path) -> None:
    """A suppressed row at the end, and one of which only a cell is known that others have too."""
    ends = ["*,*,*,Fatal", "*,*,*,*", ",,,Fatal", "2020-03-01,,,", "2020-03-09,,,"]
    for at, end in enumerate(ends):
        (release,) = read(tmp_path, PLAIN + end + "\n", f"{at}.csv").published.releases
        assert int(release.rows.sum()) == 61


def test_a_title_above_a_sheet(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    book = xlsxwriter.Workbook(tmp_path / "1.xlsx")
    sheet = book.add_worksheet()
    for at, row in enumerate([["Cases as of today"], HEADER, *ROWS]):
        sheet.write_row(at, 0, row)
    book.close()
    found = read_releases([tmp_path / "1.xlsx"], sensitive="Outcome")
    assert found.notes[0] == "release '1.xlsx' has 1 line above its header, which was passed over"
    assert cells_of(found) == cells_of(read(tmp_path, PLAIN))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"<!DOCTYPE html>\n<html><body>{CANARY}</body></html>", "is a web page, not a table"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n", r"only says where the table is kept"),
        (PLAIN + f"2020-03-01,20-29,{CANARY},Fatal,x\n" + PLAIN.partition("\n")[2], "Line 62 of '1.csv' has 5 cells"),
        (f"1,{CANARY},3\n2,x\n3,y\n4,z\n", "and the header has 3"),
        (f"23,m,flu\n24,{CANARY}\n25,m\n26,f\n", "and the header has 3"),
        (PLAIN.encode() + b"2020-03-01,20-29,\xff" + CANARY.encode() + b",Fatal\n", "is not UTF-8: line 62"),
        (f"a;b,c\n1;2,{CANARY}\n2;3,4\n", "cannot be told"),
    ],
)
def test_what_cannot_be_mended_is_refused_as_it_is(content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ReissueError, match=message) as caught:
        read(tmp_path, content)
    assert CANARY not in str(caught.value)
    assert "Next step:" in str(caught.value)


def test_parquet_may_end_with_a_total_too(tmp_path: Path) -> None:
    table = pl.DataFrame([*ROWS, ["Total", None, None, "60"]], schema=HEADER, orient="row")
    table.write_parquet(tmp_path / "1.parquet")
    found = read_releases([tmp_path / "1.parquet"], sensitive="Outcome")
    assert found.published.values == ("Fatal", "Resolved")


@pytest.mark.parametrize("empty", [";;\n", "; ;\n\n;;\n"])
def test_empty_rows_at_the_end_are_nobody(empty: str, tmp_path: Path) -> None:
    """As spreadsheets leave them: they would be suppressed rows of people without a value."""
    (tmp_path / "1.csv").write_text("age;sex;d\n20-29;f;flu\n20-29;f;hiv\n" + empty)
    foreign = read_releases(tmp_path, sensitive="d")
    assert int(foreign.published.releases[0].rows.sum()) == 2
    assert any("empty row" in note and "passed over" in note for note in foreign.notes)
    assert not any("suppressed" in note for note in foreign.notes)
    # A row of stars is somebody's, and so is one in which the value stands alone.
    (tmp_path / "1.csv").write_text("age;sex;d\n20-29;f;flu\n20-29;f;hiv\n;;flu\n*;*;*\n")
    assert int(read_releases(tmp_path, sensitive="d").published.releases[0].rows.sum()) == 4
