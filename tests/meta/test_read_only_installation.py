"""Where only the folder that one works in can be written to, and nobody has a home, everything works all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import reissue as ri

PRELUDE = """
import errno, os, pwd, sys
WORK = os.path.realpath({work!r})

def nobody(user):
    raise KeyError("there is no such user")

pwd.getpwuid = nobody  # as in a container that runs under a number
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PLACES = {{"os.mkdir": 0, "os.rename": 1, "os.remove": 0, "os.rmdir": 0, "os.link": 1, "os.symlink": 1}}

def read_only(event, arguments):
    if event == "open":
        path, _, flags = arguments
        if not isinstance(path, (str, bytes)) or not flags & WRITES:
            return
    elif event in PLACES:
        path = arguments[PLACES[event]]
        if len(arguments) > 2 and isinstance(arguments[-1], int) and arguments[-1] >= 0:
            return  # relative to a folder that is open
    else:
        return
    path = os.path.realpath(os.fsdecode(path))
    if not path.startswith((WORK + "/", "/proc/")) and path not in (WORK, "/dev/null", "/dev/tty"):
        REFUSED.append(path)
        raise OSError(errno.EROFS, "Read-only file system", path)

REFUSED = []
sys.addaudithook(read_only)
"""
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
l = 2
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    rows = "".join(f"p{n},{20 + n},{'abc'[n % 3]}\n" for n in range(24))
    (tmp_path / "table.csv").write_text(f"patient,age,diagnosis\n{rows}")
    return tmp_path


def ran(work: Path, *arguments: str, then: str = "") -> subprocess.CompletedProcess[str]:
    """A command with nothing in its environment, as `env -i` starts it."""
    program = (
        f"{PRELUDE.format(work=str(work))}\nfrom reissue.cli import main\ntry: main()\nfinally:\n    {then or 'pass'}"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=work,
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(ri.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_publish_and_audit(work: Path) -> None:
    done = ran(work, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    done = ran(work, "publish", "clinic", "table.csv", "--policy", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    done = ran(work, "audit", "clinic", "--limit", "1/2", "--attacks", "Worlds", "--html", "report.html")
    assert done.returncode in (0, 1), done.stderr
    assert "Passed: None of 24 people can be tied to a diagnosis" in done.stdout
    assert (work / "report.html").is_file()
    for command in (["log", "clinic", "--verify"], ["show", "clinic"], ["export", "clinic", "out"]):
        done = ran(work, *command)
        assert done.returncode == 0, done.stderr


def test_a_home_that_is_not_there_is_said(work: Path) -> None:
    for arguments in (["key", "~/clinic.key"], ["publish", "clinic", "table.csv", "--policy", "hashed.toml"]):
        (work / "hashed.toml").write_text(f'{POLICY}[people]\nids = "hashed"\nkey_file = "~/clinic.key"\n')
        done = ran(work, *arguments)
        assert done.returncode == 2
        assert "nobody knows where that is" in done.stderr


def test_the_file_system_of_the_test_is_read_only(work: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Otherwise the test above would show nothing."""
    outside = tmp_path_factory.mktemp("outside") / "key"
    done = ran(work, "key", str(outside), then="print(REFUSED[-1:])")
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr
    assert str(outside) in done.stdout
    assert not outside.exists()
