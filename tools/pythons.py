"""A short check on every version of Python that is asked for and installed; one line for each that is not.

python3 tools/pythons.py 3.11 3.12 3.13            # or `make test-pythons`

Each gets a new environment in build/pythons with exactly what is locked, and the library as a user installs it: not the
folder it is made in. There the demo publishes and audits small series, and the tests of SMOKE run, the recorded
tables among them: the same bytes from every Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "pythons"
SMOKE = [
    "tests/compatibility",
    *(f"tests/unit/test_{name}.py" for name in ("arrays", "audit", "bad_input", "hierarchy", "kept_kernels", "labels")),
    *(f"tests/unit/test_{name}.py" for name in ("people", "publish", "refusals", "series", "static", "stays")),
]
"""Every method by the recorded tables, every kind of table and column, and the private parts of numba."""

LOCKED = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
OURSELVES = ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]

WHO = "import ensurepip, platform, venv; print(platform.python_implementation(), platform.python_version())"


def candidates(version: str) -> Iterator[Path]:
    """Where an interpreter may be: on the path, and where tools that install several keep them."""
    for folder in os.get_exec_path():
        yield Path(folder) / f"python{version}"
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    kept = [
        (Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions", f"{version}.*"),
        (Path(os.environ.get("ASDF_DATA_DIR") or Path.home() / ".asdf") / "installs" / "python", f"{version}.*"),
        (data / "mise" / "installs" / "python", f"{version}.*"),
        (data / "uv" / "python", f"cpython-{version}.*"),
    ]
    for installed, pattern in kept:
        for found in sorted(installed.glob(pattern)):
            yield found / "bin" / f"python{version}"


def interpreter(version: str) -> tuple[Path, str] | None:
    """The first that answers with the version that it should have, and that version in full."""
    for path in candidates(version):
        if not os.access(path, os.X_OK):
            continue
        # What stands on the path may be a stand-in for a version that is not chosen, and fail.
        answer = subprocess.run([path, "-c", WHO], capture_output=True, text=True, check=False)
        who, _, full = answer.stdout.strip().partition(" ")
        if answer.returncode == 0 and who == "CPython" and full.startswith(f"{version}."):
            return path, full
    return None


def check(version: str, python: Path) -> None:
    """Set up an environment of its own, and run what is to be run there."""
    folder = FOLDER / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    own = folder / "venv" / "bin"
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
    environment["PIP_CACHE_DIR"] = _pip_cache(python)
    environment["PATH"] = os.pathsep.join([str(own), *os.get_exec_path()])
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "REISSUE_KERNELS"):
        environment.pop(name, None)
    pip: list[str | Path] = [own / "python", "-m", "pip"]
    commands: list[list[str | Path]] = [
        [python, "-m", "venv", folder / "venv"],
        [*pip, *LOCKED, "--requirement", "requirements/installer.txt"],
        [*pip, *LOCKED, "--requirement", "requirements/development.txt"],
        [*pip, *OURSELVES, ".", "./studies"],
        [*pip, "check", "--disable-pip-version-check"],
        [own / "reissue", "demo", folder / "demo"],
        [own / "python", "-m", "pytest", "--quiet", "-n", "auto", "--dist", "worksteal", *SMOKE],
    ]
    for command in commands:
        subprocess.run(
            command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )


def _pip_cache(python: Path) -> str:
    """Where pip keeps what it has fetched: that of the user serves here, too."""
    asked: list[str | Path] = [python, "-m", "pip", "cache", "dir"]
    return subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main(versions: list[str]) -> int:
    """Check each; 1 if any failed."""
    failed = False
    for version in versions:
        found = interpreter(version)
        if found is None:
            print(f"Python {version}: not installed, so not checked", flush=True)
            continue
        python, full = found
        begun = time.monotonic()
        try:
            check(version, python)
        except subprocess.CalledProcessError as error:
            failed = True
            print(f"{error.stdout}\nPython {full}: failed at {' '.join(map(str, error.cmd))}", flush=True)
        else:
            print(f"Python {full}: passed in {time.monotonic() - begun:.0f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
