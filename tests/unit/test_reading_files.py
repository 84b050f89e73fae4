"""The files of releases made elsewhere: archives, folders by date, the history of a repository, encodings."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import polars as pl
import pytest

from reissue.errors import MissingExtra, ReissueError, TableError
from reissue.foreign import read_releases
from reissue.foreign.release_order import in_order

TABLE = "age,d\n1-5,flu\n1-5,hiv\n"


@pytest.mark.parametrize(
    "names",
    [
        ["2020-04-02.csv", "2020-04-10.csv", "2020-11-01.csv"],
        ["cases_20200402.csv", "cases_20200410.csv"],
        ["31-12-2019.csv", "01-02-2020.csv"],
        ["cases December 2019.csv", "cases March 2020.csv", "cases April 2020.csv"],
        ["2019-dec", "2020-jan", "2020-feb"],
        ["1 March 2020", "2 March 2020", "10 March 2020", "1 April 2020"],
        ["Mar 1, 2020", "Apr 1, 2020", "Jan 1, 2021"],
        ["2019Q4.csv", "2020Q1.csv"],
        ["2019-12/x", "2020-01/a"],
        ["release2.csv", "release10.csv"],
        ["marching.csv", "mayor.csv"],
        ["cases 1 April.csv", "cases 20 April.csv", "cases 10 May.csv"],
        ["april 1.csv", "april 20.csv", "may 10.csv"],
        ["010420.csv", "200420.csv", "100520.csv"],
        ["200419COVID.csv", "200501COVID.csv"],
        ["Line_12312020.csv", "Line_01152021.csv"],
        ["1 marzo 2020.csv", "15 abril 2020.csv", "2 agosto 2020.csv"],
        ["data set 1.csv", "data set 2.csv"],
        ["Mar20.csv", "Apr20.csv", "Jan21.csv"],
        ["Q4 2019.csv", "Q1 2020.csv"],
        ["3T2019.csv", "4T2019.csv", "1T2020.csv"],
        ["T4 2019.csv", "T1 2020.csv"],
        ["H2 2019.csv", "H1 2020.csv"],
        ["KW52-2019.csv", "KW02-2020.csv", "KW10-2020.csv"],
        ["cases_wk9_2019.csv", "cases_wk10_2019.csv", "cases_wk1_2020.csv"],
        ["PUDF_1q2019.csv", "PUDF_2q2019.csv", "PUDF_1q2020.csv"],
        ["cases.csv", "cases (1).csv", "cases (2).csv", "cases (10).csv"],
        ["cases.csv", "cases_final.csv", "cases_final_v2.csv"],
    ],
)
def test_releases_are_in_the_order_of_dates_and_numbers(names: list[str]) -> None:
    backwards = names[::-1]
    order, _ = in_order(backwards)
    assert [backwards[at] for at in order] == names


def test_dates_whose_order_cannot_be_told_do_not_decide() -> None:
    names = ["01-02-2020", "02-01-2020"]
    assert in_order(names) == ([0, 1], None)
    assert in_order(["feb.csv", "jan.csv"])[0] == [1, 0]
    assert in_order(["jan-a.csv", "jan-b.csv"])[1] == (
        "releases are in alphabetical order: their names have no dates or numbers"
    )
    assert in_order(["April 2020", "March 2020"]) == ([1, 0], "releases are in the order of the dates in their names")


def test_what_is_told_about_the_order() -> None:
    order, note = in_order(["010420.csv", "100520.csv", "200420.csv"])
    assert order == [0, 2, 1]
    assert note is not None
    assert note.startswith("releases are in the order of the dates in their names, read as day, month, year; name the")
    _, note = in_order(["Drop_20200510 batch_0.csv", "Drop_20200510 batch_1.csv"])
    assert note is not None
    assert "are two releases of the same date; put them together in one file if they are parts of one" in note


def test_days_that_go_backwards_are_told(tmp_path: Path) -> None:
    for name, month in (("a1.csv", 3), ("a2.csv", 6), ("a3.csv", 4)):
        rows = "".join(f"2020-{month:02}-{day:02},x\n2020-{month:02}-{day:02},y\n" for day in range(1, 29))
        (tmp_path / name).write_text(f"day,d\n{rows}")
    (told,) = [note for note in read_releases(tmp_path, sensitive="d").notes if "newest days" in note]
    assert told.startswith("the newest days of 'day' in 'a3.csv' are before those in 'a2.csv'")
    files = [tmp_path / name for name in ("a1.csv", "a3.csv", "a2.csv")]
    assert not [note for note in read_releases(files, sensitive="d").notes if "newest days" in note]


def archive(path: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in members.items():
            packed.writestr(name, text)
    return path


def test_an_archive_is_one_release_or_several(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.zip", {"cases.csv": TABLE, "readme.txt": "nothing", "__MACOSX/._cases.csv": "x"})
    assert read_releases([one], sensitive="d").names == ("one.zip",)
    several = archive(tmp_path / "several.zip", {f"r{at}.csv": TABLE for at in (10, 2, 1)})
    names = ("several.zip/r1.csv", "several.zip/r2.csv", "several.zip/r10.csv")
    assert read_releases(several, sensitive="d").names == names
    assert read_releases([one, several], sensitive="d").names == ("one.zip", *names)


@pytest.mark.parametrize(("offset", "what"), [(6, 1), (8, 99)], ids=["password", "way of packing"])
def test_archives_that_cannot_be_unpacked_say_so(tmp_path: Path, offset: int, what: int) -> None:
    """The two fields of a member's headers: its flags and how it is packed; both stand two bytes later in the list."""
    path = archive(tmp_path / "closed.zip", {"cases.csv": TABLE})
    content = bytearray(path.read_bytes())
    listed = content.index(b"PK\x01\x02")
    content[offset], content[listed + offset + 2] = what, what
    path.write_bytes(content)
    with pytest.raises(TableError, match="locked by a password, or packed in another way"):
        read_releases([path], sensitive="d")


def test_an_archive_writes_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "inner" / "folder"
    folder.mkdir(parents=True)
    path = archive(folder / "evil.zip", {"../../evil.csv": TABLE, "/evil.csv": TABLE})
    assert len(read_releases(path, sensitive="d").names) == 2
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["evil.zip", "folder", "inner"]


@pytest.mark.parametrize("content", [b"no archive", b"PK\x03\x04", b""])
def test_what_is_no_archive(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(TableError, match="cannot be read as an archive"):
        read_releases(tmp_path / "a.zip", sensitive="d")


def test_an_archive_without_a_table(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="has no table in it"):
        read_releases(archive(tmp_path / "a.zip", {"readme.txt": "x"}), sensitive="d")


def test_compressed_files_parquet_and_encodings(tmp_path: Path) -> None:
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    pl.DataFrame({"age": ["1-5"], "d": ["flu"]}).write_parquet(tmp_path / "2.parquet")
    (tmp_path / "3.csv").write_bytes(TABLE.encode("utf-16"))
    (tmp_path / "4.csv").write_bytes(TABLE.encode("utf-8-sig"))
    foreign = read_releases(tmp_path, sensitive="d")
    assert [int(one.rows.sum()) for one in foreign.published.releases] == [2, 1, 2, 2]
    (tmp_path / "5.csv").write_bytes(b"age,d\n1,\x81\n")
    with pytest.raises(TableError, match="is not UTF-8"):
        read_releases(tmp_path, sensitive="d")


def test_folders_by_date(tmp_path: Path) -> None:
    for day in ("2020/04/10", "2020/04/9", "2020/12/1"):
        (tmp_path / day).mkdir(parents=True)
        (tmp_path / day / "cases.csv").write_text(TABLE)
    (tmp_path / "empty").mkdir()
    assert read_releases(tmp_path, sensitive="d").names == ("2020/04/9", "2020/04/10", "2020/12/1")
    (tmp_path / "2020/04/9/notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match=r"1 folder in .* with more than one table: '2020/04/9'") as caught:
        read_releases(tmp_path, sensitive="d")
    assert "--file NAME" in str(caught.value)
    assert len(read_releases(tmp_path, sensitive="d", file="cases.csv").names) == 3
    with pytest.raises(TableError, match="is a folder without a table, or with several"):
        read_releases([tmp_path / "2020/04/9"], sensitive="d")


def test_files_go_before_folders_beside_them(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(TABLE)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "0.csv").write_text(TABLE)
    foreign = read_releases(tmp_path, sensitive="d")
    assert foreign.names == ("1.csv",)
    assert any("1 folder with tables beside the files" in note for note in foreign.notes)


def test_tables_that_are_called_texts_are_told_what_to_be_called(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text(TABLE)
    with pytest.raises(TableError, match=r"A table in a \.txt file is read if the file is called \.csv"):
        read_releases(tmp_path, sensitive="d")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which a file changes three times, and is away once."""
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    folder = tmp_path / "repository"
    (folder / "data").mkdir(parents=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*arguments: str, day: int = 1) -> None:
        date = f"2020-01-{day:02}T12:00:00Z"
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(
            ["git", *settings, *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            env={**environment, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )

    git("init", "-q")
    file = folder / "data" / "cases.csv"
    for day, values in enumerate((["flu", "hiv"], ["flu"], None, ["gout"]), start=1):
        if values is None:
            file.unlink()
        else:
            file.write_text("age,d\n" + "".join(f"1-5,{value}\n" for value in values))
        git("add", "-A")
        git("commit", "-q", "-m", "cases", day=day)
        (folder / "other").write_text(str(day))
        git("add", "-A")
        git("commit", "-q", "-m", "other", day=day)
    return folder


def test_the_history_of_a_file(repository: Path) -> None:
    foreign = read_releases(git=repository, file="data/cases.csv", sensitive="d")
    assert [name[:10] for name in foreign.names] == ["2020-01-01", "2020-01-02", "2020-01-04"]
    assert [int(one.rows.sum()) for one in foreign.published.releases] == [2, 1, 1]
    assert any("the releases are 3 states of 'data/cases.csv'" in note for note in foreign.notes)
    assert foreign.decisions["file"] == "data/cases.csv"
    within = read_releases(git=repository / "data", file="cases.csv", sensitive="d")
    assert within.names == foreign.names


@pytest.mark.parametrize("file", ["nothing.csv", "--output=x", "*.csv", "../data/cases.csv", "data"])
def test_files_that_the_repository_does_not_have(file: str, repository: Path) -> None:
    with pytest.raises(ReissueError, match=r"No commit of|cannot be read"):
        read_releases(git=repository, file=file, sensitive="d")


def test_no_repository_and_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TableError, match="There is no folder"):
        read_releases(git=tmp_path / "nowhere", file="x.csv", sensitive="d")
    with pytest.raises(TableError, match="Which file of the repository"):
        read_releases(git=tmp_path, sensitive="d")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtra, match="needs the program 'git'"):
        read_releases(git=tmp_path, file="x.csv", sensitive="d")


ROWS = [["age", "d"], ["1-5", "flu"], ["1-5", "hiv"]]
NOTES = [["Notes"], ["What this is"], ["d: as the lab says"]]
CODES = [["Field", "Meaning"], ["age", "years"], ["d", "diagnosis"]]
TITLED = [["Cases of April"], [], *ROWS]


def workbook(path: Path, *sheets: tuple[str, list[list[str]]], hidden: str = "") -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    book = xlsxwriter.Workbook(path)
    for name, rows in sheets:
        sheet = book.add_worksheet(name)
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
        if name == hidden:
            sheet.hide()
    book.close()
    return path


@pytest.mark.parametrize("beside", [NOTES, CODES])
@pytest.mark.parametrize("rows", [ROWS, TITLED])
def test_the_sheet_with_the_sensitive_column_is_read(
    tmp_path: Path, beside: list[list[str]], rows: list[list[str]]
) -> None:
    for month in ("2020-01.xlsx", "2020-02.xlsx"):
        workbook(tmp_path / month, ("About", beside), ("Data", rows))
    found = read_releases(tmp_path, sensitive="D")
    assert found.published.values == ("flu", "hiv")
    told = (
        "each of 2 releases ('2020-01.xlsx' to '2020-02.xlsx') has several sheets: 'Data' is read, and 'About' is not"
    )
    assert told in found.doubts
    assert found.decisions["sheet"] == ["Data"]
    again = read_releases(tmp_path, **found.decisions)
    assert again.published.values == ("flu", "hiv")


def test_a_sheet_that_is_called_otherwise_over_time(tmp_path: Path) -> None:
    workbook(tmp_path / "1.xlsx", ("About", NOTES), ("Data", ROWS))
    workbook(tmp_path / "2.xlsx", ("About", NOTES), ("Data", [["age", "diag"], ["1-5", "flu"], ["1-5", "hiv"]]))
    found = read_releases(tmp_path, sensitive="d", rename={"diag": "d"})
    assert found.decisions["sheet"] == ["Data"]
    with pytest.raises(TableError, match=r"release '2\.xlsx' has no column 'd'"):
        read_releases(tmp_path, sensitive="d")


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "1.xlsx", ("Jan", ROWS), ("Feb", [*ROWS, ["1-5", "tb"]]))
    with pytest.raises(TableError) as caught:
        read_releases([path], sensitive="d")
    assert "release '1.xlsx' has several sheets with the column 'd': 'Jan', 'Feb'" in str(caught.value)
    assert "--sheet Jan. If each sheet is a release, name all of them in their order: '1.xlsx#Jan' '1.xlsx#Feb'" in str(
        caught.value
    )
    assert read_releases([path], sensitive="d", sheet="Feb").published.values == ("flu", "hiv", "tb")
    assert len(read_releases([f"{path}#Jan", f"{path}#Feb"], sensitive="d").names) == 2
    with pytest.raises(TableError, match="has no sheet 'March' with cells, only 'Jan', 'Feb'"):
        read_releases([path], sensitive="d", sheet="March")
    with pytest.raises(TableError, match="none of them with the column 'x': 'Jan', 'Feb'"):
        read_releases([path], sensitive="x")


def test_a_sheet_is_no_part_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(TABLE)
    with pytest.raises(TableError, match="None of the releases is an Excel file"):
        read_releases(tmp_path, sensitive="d", sheet="Data")


def test_hidden_sheets_are_told_of(tmp_path: Path) -> None:
    workbook(tmp_path / "1.xlsx", ("Data", ROWS), ("Names", ROWS), hidden="Names")
    found = read_releases(tmp_path, sensitive="d")
    assert found.doubts == (
        "release '1.xlsx' has 1 hidden sheet ('Names'), not read here: whoever has the file can read what is in it",
    )
