"""Names and labels are other people's: none of them steers the terminal, or a page."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_line import Ran, Run

from reissue.errors import ReissueError, TableError, printable

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200f\rintact\x00\x7f\u2028"
"""Sets a title, clears the screen, paints, turns the direction round, goes back to the beginning of a line."""
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u200f\rintact\x00\x7f\u2028"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
COLUMN = f"zip{EVIL}".replace("\x00", "")


def test_what_is_shown() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("a\nb\tc") == r"a\nb\tc"
    assert printable("\ud800 \udcff") == r"\ud800 \udcff"
    for plain in ("Ängste, 50 %", "日本語", "می\u200cخواهم", "👩\u200d🔬", "a\u00a0b"):
        assert printable(plain) == plain


def test_errors_in_python_are_shown_escaped_too() -> None:
    error: ReissueError = TableError(f"No '{EVIL}'.", problems=[f"x\n{EVIL}"], hint=EVIL)
    assert not STEERING.search(str(error))
    assert str(error).count("\n") == 2
    assert EVIL in error.what  # as it is for programs


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = range(60)
    pl.DataFrame(
        {
            "patient": [f"p{n}{EVIL}" for n in rows],
            COLUMN: [20 + n % 40 for n in rows],
            "sex": [f"f{EVIL}" if n % 2 else "m" for n in rows],
            "diagnosis": ["flu", f"a\n{EVIL}", f"b{EVIL}"] * 20,
        }
    ).write_parquet(tmp_path / "table.parquet")
    (tmp_path / "policy.toml").write_text(
        f'[schema]\nperson = "patient"\n[schema.quasi.{json.dumps(COLUMN)}]\nkind = "numeric"\n[schema.quasi.sex]\n'
        'kind = "categorical"\n[schema.sensitive.diagnosis]\nkind = "categorical"\n[method]\nname = "Mondrian"\nk = 3\n'
    )
    return tmp_path


def quiet(ran: Ran) -> Ran:
    assert not STEERING.search(ran.out + ran.err), repr(ran)
    return ran


def test_every_command_is_quiet(run: Run, files: Path) -> None:
    folder = f"cli{EVIL}nic".replace("\x00", "")
    table = f"ta{EVIL}ble.parquet".replace("\x00", "")
    (files / "table.parquet").rename(files / table)
    assert quiet(run("init", table, "--out", f"p{EVIL}.toml".replace("\x00", ""))).code == 0
    assert quiet(run("publish", folder, table, "--policy", "policy.toml", "--dry-run")).code == 0
    assert r"\x1b]0;owned" in run("publish", folder, table, "--policy", "policy.toml", "--dry-run").out
    assert quiet(run("publish", folder, table, "--policy", "policy.toml", "--override", EVIL[:5])).code in (0, 2)
    assert quiet(run("publish", folder, table, "--policy", "policy.toml")).code == 0
    assert quiet(run("publish", folder, table)).code == 1
    assert quiet(run("amend", folder, "--policy", "policy.toml", "--reason", f"because\n{EVIL}")).code == 2
    Path(files / "policy.toml").write_text((files / "policy.toml").read_text().replace("k = 3", "k = 4"))
    assert quiet(run("amend", folder, "--policy", "policy.toml", "--reason", "x\n\x1b[31m\u202ey")).code == 0
    for command in ("show", "log", "utility"):
        for option in ((), ("--json",)):
            ran = quiet(run(command, folder, *option))
            assert ran.code == 0
            assert not option or ran.data
    ran = quiet(run("audit", folder, "--show-values", "--show-people", "--limit", "1/9", "--html", "r.html"))
    assert ran.code == 1
    assert not STEERING.search((files / "r.html").read_text())
    assert SHOWN in (files / "r.html").read_text()
    assert quiet(run("audit", folder, "--show-values", "--show-people", "--limit", "1/9", "--json")).code == 1
    assert quiet(run("export", folder, f"out{EVIL}".replace("\x00", ""))).code == 0
    assert quiet(run("audit", "x", "--sensitive", EVIL, "--limit", "1/2")).code == 2
    assert quiet(run("audit", table, "--sensitive", EVIL, "--limit", "1/2")).code == 2
    assert quiet(run("publish", folder, f"--{EVIL}")).code == 2
    assert quiet(run(f"pub{EVIL}")).code == 2
    assert quiet(run("key", f"k{EVIL}".replace("\x00", ""))).code == 0


def test_json_keeps_what_it_escapes(run: Run, files: Path) -> None:
    assert run("publish", "clinic", "table.parquet", "--policy", "policy.toml").code == 0
    ran = quiet(run("show", "clinic", "--json", "--rows", "60"))
    values = {row["diagnosis"] for row in ran.data["tables"]["table"]}
    assert values == {"flu", f"a\n{EVIL}", f"b{EVIL}"}


def test_a_file_in_brackets_is_no_style_for_the_bar(files: Path) -> None:
    """On a terminal, where there are bars: neither a failure nor what the name says."""
    name = "[red]a\x1b[5m.parquet"
    (files / "table.parquet").rename(files / name)
    theirs, ours = pty.openpty()
    code = "from reissue.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "init", name, "--json", "--force"],
        cwd=files,
        env={**os.environ, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=ours,
    ) as process:
        os.close(ours)
        seen = b""
        while True:
            try:
                piece = os.read(theirs, 4096)
            except OSError:  # nobody holds the other end any more
                break
            seen += piece
            if not piece:
                break
        process.communicate()
    os.close(theirs)
    assert process.returncode == 0, seen
    assert b"\x1b[5m" not in seen
    assert b"[red]a\\x1b[5m" in seen
