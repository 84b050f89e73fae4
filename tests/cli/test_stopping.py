"""Ctrl-C at every stage: the line that is told is what the disk says, and the process does end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command_line import Ran, Run

import reissue as ri
from reissue.cli import app
from reissue.cli.output import Stages
from reissue.cli.stopping import WATCHED
from reissue.ledger import Ledger

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
[checks]
same_state = "accept"
"""
FIRST = ("publish", "clinic", "table.csv", "--policy", "policy.toml")
NEXT = ("publish", "clinic", "table.csv")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY.replace("[schema]", 'series = "unprotected"\n[schema]', 1))
    rows = range(60)
    table = {"patient": [f"p{n}" for n in rows], "age": [20 + n % 40 for n in rows], "diagnosis": ["a", "b", "c"] * 20}
    pl.DataFrame(table).write_csv(tmp_path / "table.csv")
    return tmp_path


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Also where tests run in the background, where Ctrl-C is not for them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed_at(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """Press Ctrl-C when a stage begins."""
    usual = Stages.__call__

    def begin(self: Stages, stage: str) -> None:
        usual(self, stage)
        if stage == wanted:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Stages, "__call__", begin)


def out(folder: Path) -> int:
    """How many releases there are."""
    with Ledger.open(folder, check=False) as ledger:
        return len(ledger.releases())


@pytest.mark.parametrize(
    "stage",
    ["Reading the table", "Reading columns", "Grouping people", "Recoding", "Checking guarantees", "Committing"],
)
def test_nothing_is_published_before_the_commit(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    with monkeypatch.context() as patch:
        pressed_at(patch, stage)
        ran = run(*FIRST)
        assert ran.code == 130
        assert ran.err == "Stopped by Ctrl-C. Nothing was published: there is no series in 'clinic' yet.\n"
    assert run(*FIRST).code == 0
    pressed_at(monkeypatch, stage)
    ran = run(*NEXT, "--json")
    assert ran.data["error"] == {
        "kind": "Stopped",
        "what": "Stopped by Ctrl-C. Nothing was published: the series has 1 release, as before.",
        "problems": [],
        "next_step": None,
    }
    assert ran.code == ran.data["exit_code"] == 130
    assert out(files / "clinic") == 1


def test_what_is_committed_is_out(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*FIRST).code == 0
    usual = Ledger.commit

    def committed(self: Ledger, *args: Any, **named: Any) -> Any:
        made = usual(self, *args, **named)
        signal.raise_signal(signal.SIGINT)
        return made

    monkeypatch.setattr(Ledger, "commit", committed)
    ran = run(*NEXT)
    assert ran.code == 130
    assert ran.err == "Stopped by Ctrl-C. Release 2 is out, entirely: clinic/public/0002\n"
    assert out(files / "clinic") == 2


def interrupted(monkeypatch: pytest.MonkeyPatch, at: int, call: Callable[[], Ran]) -> tuple[Ran, int]:
    """Press Ctrl-C when a commit changes the disk for the how-manieth time; what came of it, and how often it did."""
    times = count()
    committing: list[bool] = []
    usual_stage = Stages.__call__

    def begin(self: Stages, stage: str) -> None:
        usual_stage(self, stage)
        committing.extend([True] * (stage == "Committing"))

    with monkeypatch.context() as patch:
        patch.setattr(Stages, "__call__", begin)
        for name in ("fsync", "mkdir", "open", "rename", "unlink", "rmdir", "chmod"):
            usual = getattr(os, name)

            def pressed(*args: Any, usual: Any = usual, **named: Any) -> Any:
                done = usual(*args, **named)
                if committing and next(times) == at:
                    signal.raise_signal(signal.SIGINT)
                return done

            patch.setattr(os, name, pressed)
        ran = call()
    return ran, next(times)


def test_the_line_is_true_wherever_a_commit_is_stopped(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*FIRST).code == 0
    stopped: set[str] = set()
    before = 1
    for at in range(1_000):
        ran, times = interrupted(monkeypatch, at, lambda: run(*NEXT))
        now = out(files / "clinic")
        if times <= at + 1:
            break
        assert ran.code == 130, ran
        line = ran.err.splitlines()[-1]  # after a note on what the one before left
        if now == before:
            assert line == f"Stopped by Ctrl-C. Nothing was published: the series has {words(now)}, as before."
        else:
            assert now == before + 1
            assert line.startswith(f"Stopped by Ctrl-C. Release {now} is ")
        stopped.add("out" if now > before else "not out")
        before = now
    assert stopped == {"out", "not out"}
    assert run("verify", "clinic").code == 0


def words(releases: int) -> str:
    return "1 release" if releases == 1 else f"{releases} releases"


def test_who_only_looks_changes_nothing(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*FIRST).code == 0
    pressed_at(monkeypatch, "Attacking with Worlds")
    for as_json in ((), ("--json",)):
        ran = run("audit", "clinic", "--limit", "1/2", "--html", "report.html", *as_json)
        assert ran.code == 130
        assert "Stopped by Ctrl-C. Nothing was changed." in ran.out + ran.err
    assert not (files / "report.html").exists()


def test_files_that_are_half_written_are_named(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Path.write_text

    def half(self: Path, *args: Any, **named: Any) -> int:
        if self.name != "mine.toml":
            return usual(self, *args, **named)
        self.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", half)
    ran = run("init", "table.csv", "--out", "mine.toml")
    assert ran.code == 130
    assert ran.err == "Stopped by Ctrl-C. 'mine.toml' may be incomplete, and nothing else was changed.\n"


def test_every_command_says_what_it_leaves() -> None:
    named = {command.callback.__name__ for command in app.registered_commands if command.callback}
    assert {*WATCHED} == named - {"study"}  # which is another program's


EARLY = """
import sys
class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "reissue.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from reissue.__main__ import main
main()
"""


def test_while_it_is_loaded_ctrl_c_is_one_line_too() -> None:
    ran = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "Stopped by Ctrl-C. Nothing was changed.\n")


def test_shares_that_were_counted_are_recorded_or_not(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = POLICY.replace("Mondrian", "Alternatives").replace("k = 3", "m = 2\nreference = { a = 1, b = 1, c = 1 }")
    (files / "policy.toml").write_text(sets)
    assert run(*FIRST).code == 0
    policy = ri.open("clinic").policies()
    pressed_at(monkeypatch, "Reading the table")
    ran = run("shares", "clinic", "table.csv", "--reason", "spring")
    assert (ran.code, ran.err) == (130, "Stopped by Ctrl-C. Nothing was changed.\n")
    assert ri.open("clinic").policies() == policy


LONG = """
import signal, sys, numpy as np, reissue as ri
signal.signal(signal.SIGINT, signal.default_int_handler)
from reissue.model.published import Published
rng = np.random.default_rng(1)
people = 4_000
releases = []
for _ in range(14):
    order = rng.permutation(people)
    groups = np.split(order, people // 8)
    releases.append([([int(p) for p in group], [f"v{(p * 7) % 23}" for p in group]) for group in groups])
print("here", flush=True)
ri.audit(Published.from_groups(releases), limit=1/2, seconds=60)
"""


def test_a_long_audit_ends_soon() -> None:
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1.5)
        if process.poll() is None:
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            assert time.monotonic() - began < 10  # a busy machine, and kernels that are loaded


def test_on_a_terminal_there_is_a_bar_with_the_time_that_is_left(files: Path) -> None:
    import pty

    theirs, ours = pty.openpty()
    slow = (
        "import time\nfrom reissue.model.telling import tell\nimport reissue.publishing.custody as custody\n"
        "usual = custody.verify_path\n"
        "def slow(*a, **k):\n    for at in range(8):\n        tell(at, 8); time.sleep(0.3)\n    return usual(*a, **k)\n"
        "custody.verify_path = slow\n"
    )
    code = f"{slow}import sys\nfrom reissue.cli import main; main()"
    subprocess.run([sys.executable, "-c", "from reissue.cli import main; main()", *FIRST], cwd=files, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", code, "verify", "clinic", "--json"],
        cwd=files,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=ours,
    ) as process:
        os.close(ours)
        shown = b""
        while True:
            try:
                part = os.read(theirs, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["intact"] is True
    os.close(theirs)
    assert b"Checking every file" in shown
    assert b"about 0:00:0" in shown and b"left" in shown
