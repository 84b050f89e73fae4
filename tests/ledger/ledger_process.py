"""Running a piece of Python in a process of its own, also where something is mounted for it alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    "PYTHONWARNINGS": "ignore",  # of forking in the presence of threads, which the tests do on purpose
}


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python code that finds `ledger_story` and gets the arguments in sys.argv."""
    return _run([sys.executable, "-c", code, *map(str, arguments)])


def run_unprivileged(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run it without root's power to write everywhere, as the owner of the same files; or skip the test."""
    if os.geteuid() != 0:
        return run(code, *arguments)
    enter = ["unshare", "--user", "--map-user=1000"]
    if shutil.which("unshare") is None or _run([*enter, "true"]).returncode:
        pytest.skip("root may write everywhere, and cannot be made to stop here")
    return _run([*enter, sys.executable, "-c", code, *map(str, arguments)])


def run_mounted(mount: str, code: str, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run it after a shell command that mounts something on "$folder", unseen by others; or skip the test."""
    enter = ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None or _run([*enter, "true"]).returncode:
        pytest.skip("this process may not mount anything")
    script = f'folder="$1"; {mount}; shift; exec "$@"'
    program = [sys.executable, "-c", code, str(folder), *map(str, arguments)]
    return _run([*enter, "sh", "-ec", script, "sh", str(folder), *program])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT)
