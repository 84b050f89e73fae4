"""Engines: tables in parts, worked on part by part, and what happens when a disk fails or a process is killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reissue.errors import InternalError, ParameterError, StorageError
from reissue.model.pieces import Slices, whole
from reissue.parts.engine import TO, Engine, parts_for, whole_of
from reissue.parts.engines import MEMORY, NAMES, PARTS, check_engine, engine_of
from reissue.parts.local_engine import LocalEngine
from tests.profiles import examples

ROWS = 100


def table(rows: int = ROWS) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "number": np.arange(rows, dtype=np.uint32),
            "label": pl.Series(["ab"[at % 2] for at in range(rows)], dtype=pl.Enum(["a", "b"])),
            "text": [None if at % 7 == 0 else f"a text that is longer than a word {at}" for at in range(rows)],
        }
    )


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with LocalEngine(tmp_path / "parts", rows=30) as made:
        yield made


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.arrow"))


def test_a_table_is_kept_in_parts_of_so_many_rows(engine: Engine) -> None:
    kept = engine.keep(table())
    assert (kept.height, kept.heights, kept.starts) == (100, (30, 30, 30, 10), (0, 30, 60, 90))
    assert whole(engine.read(kept)).equals(table())
    assert whole_of(engine, kept.only("text", "number")).equals(table().select("text", "number"))
    assert repr(kept) == "Parts(100 rows, 3 columns, 4 parts)"
    assert [parts_for(height, engine) for height in (0, 30, 31)] == [1, 1, 2]


@pytest.mark.parametrize("pieces", [1, 7, 30, 45, 1000])
def test_how_frames_come_does_not_matter(engine: Engine, pieces: int) -> None:
    for given_table in (Slices(table(), pieces), iter(Slices(table(), pieces))):
        kept = engine.keep(given_table)
        assert kept.heights == (30, 30, 30, 10)
        assert whole_of(engine, kept).equals(table())


def test_without_frames_there_is_no_part_and_without_rows_one(engine: Engine) -> None:
    assert len(engine.keep([])) == 0
    kept = engine.keep(table(0))
    assert kept.heights == (0,)
    assert whole_of(engine, kept).equals(table(0))


def test_frames_that_differ_are_refused_by_the_names_of_their_columns(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match=r"differ in their columns: 'number'\.$"):
        engine.keep([table(), table().with_columns(pl.col("number").cast(pl.Int64))])
    kept = engine.keep(table())
    with pytest.raises(InternalError, match=r"differ in their columns: 'more'\.$"):
        engine.map(lambda number, frame: frame if number else frame.with_columns(more=1), kept)
    assert len(files(tmp_path)) == 4  # of the table that was kept


def test_work_is_done_part_by_part(engine: Engine) -> None:
    one = engine.keep(table())
    other = engine.map(lambda number, frame: frame.select(pl.col("number") + number), one)
    assert whole_of(engine, other)["number"].to_list() == [at + at // 30 for at in range(ROWS)]
    both, told = engine.map_and_tell(
        lambda number, left, right: (pl.concat([left, right.rename({"number": "moved"})], how="horizontal"), number),
        one,
        other,
    )
    assert both.schema.names() == ["number", "label", "text", "moved"]
    assert told == [0, 1, 2, 3]
    assert engine.tell(lambda _, frame: int(frame["moved"].sum()), both) == [
        sum(at + at // 30 for at in range(first, min(first + 30, ROWS))) for first in (0, 30, 60, 90)
    ]


@examples(25)
@given(st.integers(1, 60), st.integers(1, 9), st.lists(st.integers(0, 8), max_size=80))
def test_an_exchange_brings_rows_together_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, rows: int, into: int, sent: list[int]
) -> None:
    frame = pl.DataFrame(
        {"at": range(len(sent)), "to": [to % into for to in sent]}, schema={"at": pl.UInt32, "to": pl.Int64}
    )
    with LocalEngine(tmp_path_factory.mktemp("engine") / "parts", rows=rows) as engine:
        new = engine.exchange(lambda _, part: part.with_columns(pl.col("to").alias(TO)), into, engine.keep(frame))
        assert len(new) == into
        assert new.schema == frame.schema
        for number, part in enumerate(engine.read(new)):
            assert part.equals(frame.filter(pl.col("to") == number))
        # New parts are parts like others, also to be read by columns.
        again = engine.map(lambda number, part: part.with_columns(number=number), new.only("at"))
        assert whole_of(engine, again).equals(
            pl.concat([frame.filter(pl.col("to") == number).select("at", number=number) for number in range(into)])
        )


def test_rows_stand_by_old_part_and_place_whatever_the_order_of_work(engine: Engine) -> None:
    """The first part is the last to be ready."""
    others = threading.Event()

    def work(number: int, frame: pl.DataFrame) -> pl.DataFrame:
        if number:
            others.set()
        else:
            others.wait(5)
        return frame.with_columns((pl.col("number") % 2).alias(TO)).reverse()

    new = engine.exchange(work, 2, engine.keep(table()))
    even, odd = engine.read(new)
    expected = [at for first in (0, 30, 60, 90) for at in range(min(first + 30, ROWS) - 1, first - 1, -1)]
    assert even["number"].to_list() == [at for at in expected if at % 2 == 0]
    assert odd["number"].to_list() == [at for at in expected if at % 2]


@pytest.mark.parametrize("to", [-1, 3, None])
def test_rows_cannot_be_sent_nowhere(engine: Engine, to: int | None) -> None:
    kept = engine.keep(table())
    with pytest.raises(InternalError, match="a part that there is not"):
        engine.exchange(lambda _, frame: frame.with_columns(pl.lit(to, dtype=pl.Int64).alias(TO)), 3, kept)


def test_tables_that_are_worked_on_together_have_as_many_parts(engine: Engine) -> None:
    with pytest.raises(InternalError, match="the same number of parts"):
        engine.tell(lambda *_: 0, engine.keep(table()), engine.keep(table(10)))


def test_long_texts_are_written_once_however_small_the_new_parts(engine: Engine, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["a long text, " * 100] * 30, "at": range(30)})
    kept = engine.keep(frame)
    size = sum(file.stat().st_size for file in files(tmp_path))
    engine.exchange(lambda _, part: part.with_columns(pl.col("at").alias(TO)), 30, kept)
    assert sum(file.stat().st_size for file in files(tmp_path)) < 3 * size + 30 * 2000


def test_what_is_dropped_is_removed_and_cannot_be_read(engine: Engine, tmp_path: Path) -> None:
    kept = engine.keep(table())
    sent = engine.exchange(lambda _, frame: frame.with_columns(pl.lit(0).alias(TO)), 2, kept)
    engine.drop(kept.only("text"), sent)
    assert files(tmp_path) == []
    with pytest.raises(InternalError, match="keeps no longer"):
        whole_of(engine, kept)


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        engine = LocalEngine(tmp_path / "parts", rows=30)
        kept = engine.keep(table())
        engine.exchange(lambda _, frame: frame.with_columns(pl.lit(0).alias(TO)), 2, kept)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "parts").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files(tmp_path)} == {0o600}
    engine.close()
    engine.close()
    assert not (tmp_path / "parts").exists()


def test_an_error_in_the_work_leaves_nothing_of_the_new_table(engine: Engine, tmp_path: Path) -> None:
    """Of several errors it is always that of the first part."""
    kept = engine.keep(table())

    def failing(number: int, frame: pl.DataFrame) -> pl.DataFrame:
        if number in (1, 3):
            raise ParameterError(f"part {number}")
        return frame.with_columns(pl.lit(0).alias(TO))

    for _ in range(5):
        with pytest.raises(ParameterError, match="part 1"):
            engine.map(failing, kept)
        with pytest.raises(ParameterError, match="part 1"):
            engine.exchange(failing, 3, kept)
        with pytest.raises(ParameterError, match="part 1"):
            engine.tell(failing, kept)
    assert len(files(tmp_path)) == 4

    def broken() -> Iterator[pl.DataFrame]:
        yield table()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.keep(broken())
    assert len(files(tmp_path)) == 4
    assert whole_of(engine, kept).equals(table())


def test_a_part_that_disappears_is_said(engine: Engine, tmp_path: Path) -> None:
    kept = engine.keep(table())
    files(tmp_path)[2].unlink()
    with pytest.raises(StorageError, match="has disappeared") as caught:
        whole_of(engine, kept)
    assert caught.value.hint is not None
    engine.drop(kept)


@pytest.mark.parametrize("left", [0, 0.5, 0.99])
@pytest.mark.parametrize("sent", [False, True])
def test_a_part_that_is_cut_off_is_said(engine: Engine, tmp_path: Path, left: float, sent: bool) -> None:
    kept = engine.keep(table())
    if sent:
        kept, old = (
            engine.exchange(lambda number, frame: frame.with_columns(pl.lit(number % 2).alias(TO)), 2, kept),
            kept,
        )
        engine.drop(old)
    file = files(tmp_path)[0]
    os.truncate(file, int(file.stat().st_size * left))
    with pytest.raises(StorageError, match="is not as it was written"):
        engine.map(lambda _, frame: frame, kept)


def test_a_part_with_other_contents_is_said(engine: Engine, tmp_path: Path) -> None:
    kept = engine.keep(table())
    for file in files(tmp_path):
        file.write_bytes(b"\0" * file.stat().st_size)
    with pytest.raises(StorageError, match="is not as it was written"):
        whole_of(engine, kept)


def test_a_part_that_another_holds_is_said(engine: Engine, tmp_path: Path) -> None:
    """What another table has in its place has other rows."""
    kept, other = engine.keep(table(10)), engine.keep(table(20))
    one, two = files(tmp_path)
    two.replace(one)
    with pytest.raises(StorageError, match="is not as it was written"):
        whole_of(engine, kept)
    with pytest.raises(StorageError, match="has disappeared"):
        whole_of(engine, other)


FULL = """
import resource, signal, sys
import polars as pl
from pathlib import Path
from reissue.errors import StorageError
from reissue.parts.engine import TO
from reissue.parts.local_engine import LocalEngine
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
frame = pl.DataFrame({"a": range(200_000), "canary": ["a cell that nobody may see" * 5] * 200_000})
with LocalEngine(folder, rows=1_000) as engine:
    kept = engine.keep(frame.head(3_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
    steps = [
        lambda: engine.keep(frame),
        lambda: engine.map(lambda _, part: pl.concat([part] * 100), kept),
        lambda: engine.exchange(lambda _, part: pl.concat([part] * 100).with_columns(pl.lit(0).alias(TO)), 2, kept),
    ]
    for step in steps:
        try: step()
        except StorageError as error: print(error)
        else: print("no error")
    print(len([*folder.iterdir()]), engine.map(lambda _, part: part, kept.only("a")).height)
print(folder.exists())
"""


def test_a_full_disk_is_said_and_what_was_there_goes_on(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "parts")], capture_output=True, text=True, check=True
    )
    said = ran.stdout.splitlines()
    assert said.count("A part of the table could not be written: File too large.") == 3
    assert said[-2:] == ["3 3000", "False"]
    assert "canary" not in ran.stdout + ran.stderr
    assert "nobody may see" not in ran.stdout + ran.stderr


LEFT = """
import sys
import polars as pl
from pathlib import Path
from reissue.parts.local_engine import LocalEngine
engine = LocalEngine(Path(sys.argv[1]), rows=10)
engine.keep(pl.DataFrame({"a": range(100)}))
print("ready", flush=True)
exec(sys.argv[2])
"""


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("pass", False),
        ("raise ValueError", False),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", False),
        ("del engine; import os; os._exit(0)", False),
        ("import os\nif os.fork() == 0: sys.exit()\nos.wait(); print(len([*Path(sys.argv[1]).iterdir()]))", False),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", True),
    ],
)
def test_nothing_is_left_unless_the_process_is_killed(tmp_path: Path, end: str, left: bool) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT, str(tmp_path / "parts"), end], capture_output=True, text=True
    )
    assert ran.stdout.splitlines()[0] == "ready"
    assert (tmp_path / "parts").exists() == left
    if "fork" in end:
        assert ran.stdout.splitlines()[-1] == "10"


def test_a_folder_that_is_there_already_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not be made"):
        LocalEngine(tmp_path)
    assert tmp_path.exists()


def test_engines_by_name(tmp_path: Path) -> None:
    assert NAMES == (MEMORY, PARTS)
    assert engine_of(MEMORY, tmp_path / "parts") is None
    made = engine_of(PARTS, tmp_path / "parts", 7)
    assert isinstance(made, LocalEngine)
    assert (made.rows, repr(made)) == (7, "LocalEngine(0 tables, 7 rows a part)")
    made.close()
    for name in ("cluster", "", None, 3):
        with pytest.raises(ParameterError, match=r"The 'engine' parameter must be 'memory' or 'parts'\. Got"):
            check_engine(name)
    for rows in (0, -1, 2.5, True):
        with pytest.raises(ParameterError, match="The 'rows' parameter of an engine must be a whole number"):
            LocalEngine(tmp_path / "other", rows=rows)  # type: ignore[arg-type]
