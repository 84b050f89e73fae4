"""What would not fit into memory is refused before it is read, with figures; so are texts of any size or depth."""

from __future__ import annotations

import gzip
import os
import resource
import zipfile
from pathlib import Path

import polars as pl
import pytest
from command_line import Run, run

import reissue as ri
from reissue.errors import HierarchyError, PolicyError, TableError
from reissue.model import toml_text
from reissue.tables import room
from reissue.tables.frames import read_table
from reissue.tables.parquet_account import parquet_extent
from reissue.tables.room import Extent, check_room, memory
from reissue.tables.thrift import structure_at

__all__ = ["run"]


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 100 MB, of which any reading that begins is a failure."""
    monkeypatch.setenv("REISSUE_MEMORY", "200MB")

    def reading(*arguments: object, **options: object) -> object:
        raise AssertionError("it was read")

    for reader in ("read_parquet", "read_csv", "read_excel"):
        monkeypatch.setattr(pl, reader, reading)


def written(frame: pl.DataFrame, folder: Path, **options: object) -> Path:
    frame.write_parquet(folder / "table.parquet", **options)  # type: ignore[arg-type]
    return folder / "table.parquet"


def repeated(rows: int) -> pl.DataFrame:
    return pl.select(
        patient=pl.repeat("p", rows), age=pl.repeat(1, rows, dtype=pl.Int64), diagnosis=pl.repeat("a", rows)
    )


def test_few_bytes_with_many_rows(tmp_path: Path, little: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(repeated(2_000_000), tmp_path)
    assert path.stat().st_size < 100_000
    with pytest.raises(TableError) as caught:
        read_table(path)
    told = str(caught.value)
    assert "'table.parquet' is too large: as a table (2,000,000 rows, 3 columns) it takes about 80" in told
    assert "There are 200.0 MB." in told
    assert "REISSUE_MEMORY=32" in told
    monkeypatch.undo()
    monkeypatch.setenv("REISSUE_MEMORY", "500 MB")
    assert read_table(path)[0].height == 2_000_000


@pytest.mark.parametrize("options", [{"compression": "zstd"}, {"compression": "snappy"}, {"row_group_size": 100}])
def test_large_cells(tmp_path: Path, little: None, options: dict[str, object]) -> None:
    """Long texts that can be packed well, none twice."""
    path = written(pl.DataFrame({"text": [f"{n}" + "x" * 100_000 for n in range(600)]}), tmp_path, **options)
    assert path.stat().st_size < 6_000_000
    with pytest.raises(TableError, match="too large"):
        read_table(path)


def test_nested_cells(tmp_path: Path, little: None) -> None:
    path = written(pl.DataFrame({"list": [[0] * 100_000] * 100}), tmp_path)
    assert path.stat().st_size < 100_000
    with pytest.raises(TableError, match=r"too large: as a table \(100 rows, 1 column\)"):
        read_table(path)


def test_wide_lines_and_many_of_them(tmp_path: Path, little: None) -> None:
    """Lines without cells are rows all the same."""
    for name, separator in (("a.csv", ","), ("b.csv", ";")):
        (tmp_path / name).write_text(separator.join(f"c{n}" for n in range(3_000)) + "\n" * 3_000)
        with pytest.raises(TableError, match=r"too large: as a table \(2,999 rows, 3,000 columns\)"):
            read_table(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_more_columns_than_any_table_has(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bytes, and gigabytes of memory for what belongs to each column."""
    path = tmp_path / f"wide.{ending}"
    if ending == "csv":
        path.write_text(",".join(f"c{n}" for n in range(room.MOST_COLUMNS + 1)) + "\n")
    else:
        monkeypatch.setattr(room, "MOST_COLUMNS", 20)
        pl.DataFrame({f"c{n}": [n] for n in range(21)}).write_parquet(path)
    with pytest.raises(TableError, match=f"has {room.MOST_COLUMNS + 1:,} columns, and a table may have at most"):
        read_table(path)


def test_a_packed_file_is_unpacked_as_far_as_it_fits(
    tmp_path: Path, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"patient,age\n")
        for _ in range(120):
            file.write(b"p,1\n" * 1_000_000)
    assert path.stat().st_size < 3_000_000
    pieces = []
    real = gzip.GzipFile.read

    def read(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        pieces.append(real(self, size))
        return pieces[-1]

    monkeypatch.setattr(gzip.GzipFile, "read", read)
    for reading in (lambda: read_table(path), lambda: ri.read_releases([path], sensitive="age")):
        pieces.clear()
        with pytest.raises(TableError, match="too large"):
            reading()
        assert sum(map(len, pieces)) < 80_000_000


CONTENT = "http://schemas.openxmlformats.org"


def excel(path: Path, sheet: str) -> Path:
    """The least that is an Excel file."""
    main, relations = f"{CONTENT}/spreadsheetml/2006/main", f"{CONTENT}/officeDocument/2006/relationships"
    packages = f"{CONTENT}/package/2006"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{packages}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" Type="{relations}/worksheet" '
            'Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>'
        )
    return path


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def test_an_excel_file_is_read(tmp_path: Path) -> None:
    rows = [f'<row r="1">{cell("A1", "age")}{cell("B1", "diagnosis")}</row>']
    rows += [f'<row r="{n}">{cell(f"A{n}", "30")}{cell(f"B{n}", "ab"[n % 2])}</row>' for n in range(2, 8)]
    path = excel(tmp_path / "a.xlsx", "".join(rows))
    assert room.excel_extent(path) == Extent(
        7, 2, 7 * 2 * 32 + sum(m.file_size for m in zipfile.ZipFile(path).infolist())
    )
    foreign = ri.read_releases([path], sensitive="diagnosis")
    assert foreign.published.releases[0].group_count == 1


def test_a_cell_far_away(tmp_path: Path, little: None) -> None:
    """A sheet is read as all cells up to the last."""
    path = excel(
        tmp_path / "a.xlsx", f'<row r="1">{cell("A1", "x")}</row><row r="1048576">{cell("XFD1048576", "y")}</row>'
    )
    with pytest.raises(TableError, match="The releases cannot be read") as caught:
        ri.read_releases([path], sensitive="x")
    assert "1,048,576 rows, 16,384 columns" in str(caught.value)


def test_an_archive_that_unpacks_to_much(tmp_path: Path, little: None) -> None:
    path = excel(tmp_path / "a.xlsx", f'<row r="1">{cell("A1", "x" * 60_000_000)}</row>')
    assert path.stat().st_size < 200_000
    with pytest.raises(TableError) as caught:
        ri.read_releases([path], sensitive="x")
    assert "too large" in str(caught.value)


def test_registries_and_lists_are_looked_at_too(tmp_path: Path, little: None) -> None:
    path = written(repeated(2_000_000), tmp_path)
    table = pl.DataFrame({"age": [1], "diagnosis": ["a"]})
    with pytest.raises(TableError, match="too large"):
        ri.read_releases([table], sensitive="diagnosis", registry=path, person="patient")
    permanent = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="diagnosis", permanent=["a"])
    policy = ri.Policy(permanent, ri.HDComposition(2))
    for given in ({"registry": path}, {"extinct": path}):
        with pytest.raises(TableError, match="too large"):
            ri.publish(tmp_path / "new", table.with_columns(patient=pl.lit("p")), policy, **given)  # type: ignore[arg-type]
    assert not (tmp_path / "new").exists()


def test_the_command_line_says_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(repeated(2_000_000), tmp_path)
    monkeypatch.setenv("REISSUE_MEMORY", "200MB")
    ran = run("init", "table.parquet", "--json")
    assert ran.code == 2
    assert "too large" in ran.data["error"]["what"]
    monkeypatch.setenv("REISSUE_MEMORY", "much")
    ran = run("init", "table.parquet")
    assert ran.code == 2
    assert "REISSUE_MEMORY takes an amount of memory, such as 8GB" in ran.err


@pytest.mark.parametrize(
    ("text", "size"), [("8GB", 8 * 10**9), ("1.5 g", 15 * 10**8), ("700", 700), ("3 TB", 3 * 10**12), ("2kb", 2000)]
)
def test_amounts(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("REISSUE_MEMORY", text)
    assert memory() == size


def test_what_is_told_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The amount in the advice is enough."""
    for size in (33_554_432, 123_456_789, 98_765_432_100, 5 * 10**12):
        monkeypatch.setenv("REISSUE_MEMORY", "1")
        with pytest.raises(TableError) as caught:
            check_room("a", Extent(1, 1, size))
        assert caught.value.hint is not None
        monkeypatch.setenv("REISSUE_MEMORY", caught.value.hint.rpartition("=")[2])
        check_room("a", Extent(1, 1, size))


def test_the_tightest_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REISSUE_MEMORY", raising=False)
    monkeypatch.setattr(room, "_control_groups", lambda: iter(()))
    free = memory()
    assert 10**8 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "memory.max").write_text("60000000\n")
    (tmp_path / "memory.current").write_text("50000000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 20000000\n")
    monkeypatch.setattr(room, "_control_groups", lambda: iter([tmp_path]))
    assert memory() == 30_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory() > 30_000_000
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 20, resource.RLIM_INFINITY))
    assert memory() < 1 << 20


def test_control_groups_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "cgroup"
    given.write_text("5:cpu,memory:/docker/abc\n0::/user.slice/session\n")
    real = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, *a, **k: real(given if str(self) == "/proc/self/cgroup" else self, *a, **k)
    )
    root = Path("/sys/fs/cgroup")
    assert list(room._control_groups()) == [
        root / "memory/docker/abc", root / "memory/docker", root / "memory",
        root / "user.slice/session", root / "user.slice", root,
    ]  # fmt: skip


def test_footers_are_understood(tmp_path: Path) -> None:
    """As polars and pyarrow write them; the sizes are those of plain values."""
    import pyarrow.parquet

    frame = pl.DataFrame({"a": range(1000), "b": [n / 2 for n in range(1000)], "c": [f"text {n}" for n in range(1000)]})
    path = written(frame, tmp_path, row_group_size=300)
    other = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(frame.to_arrow(), other, row_group_size=128)
    letters = sum(map(len, frame["c"]))
    for file in (path, other):
        extent = parquet_extent(file)
        assert extent[:2] == (1000, 3)
        assert 1000 * (8 + 8 + 16) + letters <= extent.size <= 1000 * (8 + 8 + 16) + letters + 20_000


def test_a_footer_that_is_none(tmp_path: Path) -> None:
    for none in (b"", b"\x1c" * 10_000, b"\x19" * 10_000, b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x16" + b"\xff" * 20):
        with pytest.raises((ValueError, IndexError)):
            structure_at(none, 0)
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1", b"x" * 100, b"PAR1" * 5):
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(TableError, match="cannot be read as a Parquet table"):
            read_table(tmp_path / "a.parquet")


# Policies and hierarchies


@pytest.mark.parametrize("deep", [150, 500, 100_000])
@pytest.mark.parametrize("kind", ["arrays", "inline tables", "tables", "dotted names", "quoted names", "parameters"])
def test_deep_policies(kind: str, deep: int) -> None:
    text = {
        "arrays": "x = " + "[" * deep + "]" * deep,
        "inline tables": "x = " + "{a = " * deep + "1" + "}" * deep,
        "tables": "[" + ".".join(["a"] * deep) + "]",
        "dotted names": " . ".join(["a"] * deep) + " = 1",
        "quoted names": ".".join(['"a b"', "'c'"] * (deep // 2)) + " = 1",
        "parameters": '[method]\nname = "Mondrian"\nk = ' + "[" * deep + "]" * deep,
    }[kind]
    with pytest.raises(PolicyError):
        ri.Policy.from_toml(text)


def test_deep_hierarchies(tmp_path: Path) -> None:
    def nested(levels: int) -> dict[str, object]:
        inner: dict[str, object] = {"n": ["a", "b"]}
        for level in range(levels - 2):
            inner = {f"n{level}": inner}
        return inner

    schema = ri.Schema(person="p", quasi={"q": ri.Hierarchy.from_nested(nested(101))}, sensitive="s")
    policy = ri.Policy(schema, ri.Mondrian(k=2))
    assert ri.Policy.from_toml(policy.to_toml()) == policy
    for levels in (102, 1000, 20_000):
        with pytest.raises(HierarchyError, match="levels; more than 100 cannot be kept"):
            ri.Hierarchy.from_nested(nested(levels))
    (tmp_path / "h.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(HierarchyError, match="nested too deeply"):
        ri.Hierarchy.read(tmp_path / "h.toml")


def test_large_policies_and_hierarchies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_text, "MOST", 1 << 20)
    for name in ("p.toml", "h.toml", "h.json", "h.csv"):
        (tmp_path / name).write_text("#" * (1 << 20) + "\n")
    with pytest.raises(PolicyError, match="larger than 1 MB"):
        ri.Policy.read(tmp_path / "p.toml")
    with pytest.raises(PolicyError, match="larger than 1 MB"):
        ri.Policy.from_toml((tmp_path / "p.toml").read_text())
    for name in ("h.toml", "h.json", "h.csv"):
        with pytest.raises(HierarchyError, match="larger than 1 MB"):
            ri.Hierarchy.read(tmp_path / name)
    (tmp_path / "endless.toml").symlink_to("/dev/zero")
    with pytest.raises(PolicyError, match="larger than 1 MB"):
        ri.Policy.read(tmp_path / "endless.toml")
