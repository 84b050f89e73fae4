"""Measure earlier versions by today's program, and put them into the history.

python benchmarks/versions.py

Each is taken from git into a temporary folder and measured there, with the packages of this environment. Before each
it waits for a quiet machine. This takes some twenty minutes for each version.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
COMMITS = {
    "0.1.0": "159c693",  # the last one before modules moved into folders
    "0.2.0.dev0": "625d723",  # before fixed costs, cores and kernels were worked on
}
"""Versions by the names they have in the history; each sorts as PEP 440 says."""


def check_out(commit: str, folder: Path) -> None:
    """Put the files of a commit into a folder; nothing is left in the repository."""
    archive = folder / "source.tar"
    subprocess.run(["git", "-C", str(HERE.parent), "archive", "--output", str(archive), commit], check=True)
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    archive.unlink()


def measure(version: str, options: list[str]) -> None:
    """Measure one version in a process that sees its packages before any other."""
    with tempfile.TemporaryDirectory(prefix="reissue-version-") as name:
        folder = Path(name)
        check_out(COMMITS[version], folder)
        places = [folder / "src", folder / "studies"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(place) for place in places if place.exists())}
        _check(version, folder, environment)
        subprocess.run([sys.executable, str(HERE / "near_the_floor.py"), *options], env=environment, check=True)


def _check(version: str, folder: Path, environment: dict[str, str]) -> None:
    """Whether it really is that version which is going to be measured."""
    command = [sys.executable, "-c", "import reissue; print(reissue.__version__, reissue.__file__)"]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
    if not version.startswith(found[0]) or not Path(found[1]).is_relative_to(folder):
        raise SystemExit(f"Version {version} was to be measured, and {found[0]} would be.")


def main() -> None:
    """Measure what was asked for, one version after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("versions", nargs="*", default=list(COMMITS), help=f"of {', '.join(COMMITS)} (default all)")
    parser.add_argument("--rows", help="only these rows, as near_the_floor.py names them")
    parser.add_argument("--wait", default="10", help="minutes to wait for a low load before each (default 10)")
    parser.add_argument("--quick", action="store_true", help="see that it works: small tables, nothing is recorded")
    given = parser.parse_args()
    if unknown := set(given.versions) - set(COMMITS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(COMMITS)}")
    chosen = ["--rows", given.rows] if given.rows else []
    for version in given.versions:
        how = ["--quick"] if given.quick else ["--wait", given.wait, "--record", version]
        measure(version, [*chosen, *how])


if __name__ == "__main__":
    main()
