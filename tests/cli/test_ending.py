"""However a command ends, there is a line or JSON and an exit code; no traceback, and no cell."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import polars as pl
import pytest
from command_line import Ran, Run
from profiles import sized

import reissue as ri
from reissue.cli import main
from reissue.errors import NotContinued, ReissueWarning, SeriesDamaged, StorageError

CELL = "QUOTEDCELL"
POLICY = """
[schema]
person = "patient"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.diagnosis]
kind = "categorical"
[method]
name = "Mondrian"
k = 3
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    rows = range(60)
    table = pl.DataFrame(
        {
            "patient": [f"{CELL}{n}" for n in rows],
            "age": [20 + n % 40 for n in rows],
            "diagnosis": [f"{CELL}{'abc'[n % 3]}" for n in rows],
        }
    )
    table.write_parquet(tmp_path / "table.parquet")
    table.write_csv(tmp_path / "table.csv")
    return tmp_path


PUBLISH = ("publish", "clinic", "table.parquet", "--policy", "policy.toml")


@pytest.mark.parametrize("kind", [SeriesDamaged, NotContinued])
def test_damage_ends_with_3(run: Run, monkeypatch: pytest.MonkeyPatch, kind: type[SeriesDamaged]) -> None:
    def damaged(folder: object, policy: object = None) -> object:
        raise kind("A page of the catalog is broken.", hint="see docs.")

    monkeypatch.setattr("reissue.publishing.series.open", damaged)
    ran = run("show", "clinic")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "Damaged: A page of the catalog is broken.\nNext step: see docs.\n"
    ran = run("show", "clinic", "--json")
    assert (ran.code, ran.err) == (3, "")
    assert ran.data["error"]["kind"] == kind.__name__
    assert ran.data["exit_code"] == 3


def test_other_errors_of_a_series_end_with_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: object, policy: object = None) -> object:
        raise StorageError("The disk is full.")

    monkeypatch.setattr("reissue.publishing.series.open", full)
    assert run("show", "clinic").code == 2


def whole_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    """Run the command line with what libraries write to the descriptors too."""
    monkeypatch.setattr(sys, "argv", ["reissue", *arguments])
    code = 0
    try:
        main()
    except SystemExit as end:
        code = int(str(end.code))
    return Ran(code, *capfd.readouterr())


def test_a_panic_is_an_answer(files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A panic is no Exception, and is written to descriptor 2 before anybody can catch it."""

    def panics(*arguments: object, **options: object) -> object:
        os.write(2, f"thread panicked: {CELL}\n".encode())
        raise pl.exceptions.PanicException(f"called unwrap on {CELL}")

    monkeypatch.chdir(files)
    for place in ("polars.read_parquet", "reissue.publishing.drafting._delta"):
        with monkeypatch.context() as patch:
            patch.setattr(place, panics)
            for arguments in (PUBLISH, (*PUBLISH, "--json")):
                ran = whole_process(patch, capfd, *arguments)
                assert ran.code == 2
                assert CELL not in ran.out + ran.err
                assert "Traceback" not in ran.err
                assert "next_step" in ran.data["error"] if "--json" in arguments else "Next step" in ran.err
    assert not (files / "clinic").exists()


def test_damaged_tables_are_read_or_refused(
    files: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bits flipped and ends cut off, all the way through the command line."""
    monkeypatch.chdir(files)
    found, codes, whole = random.Random(5), set(), (files / "table.parquet").read_bytes()
    for turn in range(sized(150, 3000)):
        content = bytearray(whole)
        if turn % 10 == 0:
            content = content[: found.randrange(len(whole))]
        else:
            bit = found.randrange(8 * len(whole))
            content[bit // 8] ^= 1 << bit % 8
        (files / "table.parquet").write_bytes(content)
        ran = whole_process(monkeypatch, capfd, *PUBLISH, "--dry-run", "--json")
        codes.add(ran.code)
        assert ran.code in (0, 2), (turn, ran)
        assert ran.err == "", turn
        if ran.code:
            assert CELL not in ran.out
            assert ran.data["error"]["kind"] == "TableError"
    assert codes == {0, 2}


@pytest.mark.parametrize("as_json", [False, True])
def test_no_memory_is_said(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    def greedy(*arguments: object, **options: object) -> object:
        raise MemoryError(CELL)

    monkeypatch.setattr("polars.read_parquet", greedy)
    ran = run(*PUBLISH, *(["--json"] if as_json else []))
    assert ran.code == 2
    assert "not enough memory" in (ran.out if as_json else ran.err)
    assert CELL not in ran.out + ran.err


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_is_said(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    def pressed(*arguments: object, **options: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("polars.read_parquet", pressed)
    ran = run(*PUBLISH, *(["--json"] if as_json else []))
    assert ran.code == 130
    if as_json:
        assert ran.data["error"]["kind"] == "Stopped"
        assert ran.data["exit_code"] == 130
    else:
        assert ran.err == "Stopped by Ctrl-C. Nothing was published: there is no series in 'clinic' yet.\n"
        assert "Traceback" not in ran.err


def test_ctrl_c_of_a_real_process(files: Path) -> None:
    code = "import time, polars; polars.read_parquet = lambda *a, **k: (print('here', flush=True), time.sleep(60))\n"
    arguments = ["reissue", *PUBLISH]
    program = f"{code}import sys; sys.argv = {arguments!r}\nfrom reissue.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "Stopped by Ctrl-C. Nothing was published: there is no series in 'clinic' yet.\n"
    assert "Traceback" not in err


def test_wrong_arguments_are_told_like_everything_else(run: Run) -> None:
    ran = run("publish", "clinic", "table.csv", "--polcy", "x")
    assert ran.code == 2
    assert ran.err.startswith("Error: No such option: --polcy")
    assert "Next step: `reissue publish --help`" in ran.err
    ran = run("publish", "--json")
    assert (ran.code, ran.err) == (2, "")
    assert ran.data["error"]["what"] == "Missing argument 'SERIES'."
    assert run("show", "clinic", "--help").code == 0
    ran = run()
    assert ran.code == 2
    assert "Exit codes" in ran.out + ran.err


def test_warnings_are_notes_once_and_never_on_standard_output(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reissue.tables import parquet_parts

    real = parquet_parts.check_file

    def warns(path: Path) -> None:
        for _ in range(3):
            warnings.warn("the anchor is\x1b[2J missing", ReissueWarning, stacklevel=1)
        real(path)

    monkeypatch.setattr(parquet_parts, "check_file", warns)
    ran = run(*PUBLISH, "--json")
    assert ran.code == 0
    assert ran.err == "note the anchor is\\x1b[2J missing\n"
    assert ran.data["committed"] is True


def test_what_libraries_write_by_themselves_comes_through_when_asked(files: Path) -> None:
    """Without the variable nothing of it is seen; the program's own words are."""
    program = (
        "import os, sys, polars\n"
        "def panics(*a, **k):\n"
        "    os.write(2, b'thread panicked\\n')\n"
        "    raise polars.exceptions.PanicException('x')\n"
        "polars.read_parquet = panics\n"
        f"sys.argv = {['reissue', *PUBLISH]!r}\n"
        "from reissue.cli import main\nmain()"
    )
    seen = {}
    for debug in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=files,
            env={**os.environ, "REISSUE_DEBUG": debug},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "Error: 'table.parquet' cannot be read as a Parquet table." in done.stderr
        seen[debug] = "thread panicked" in done.stderr
    assert seen == {"": False, "1": True}


def test_a_terminal_that_cannot_show_a_letter(files: Path) -> None:
    rows = "".join(f"p{n},{n},{'Ängste' if n % 2 else 'flu'}\n" for n in range(12))
    (files / "table.csv").write_text(f"patient,age,diagnosis\n{rows}", encoding="utf-8")
    ri.publish(files / "clinic", files / "table.csv", files / "policy.toml")
    shown = {}
    for arguments in ((), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-c", "from reissue.cli import main; main()", "show", "clinic", *arguments],
            cwd=files,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=True,
        )
        shown[arguments] = done.stdout.decode("ascii")
    assert "\\xc4ngste" in shown[()]
    assert any(row["diagnosis"] == "Ängste" for row in json.loads(shown["--json",])["tables"]["table"])


def test_the_epilog_names_every_code(run: Run) -> None:
    told = re.sub(r"\s+", " ", run("--help").out)
    assert "3 the series is damaged" in told
