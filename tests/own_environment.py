"""A virtual environment of a test's own: with everything that is installed here, and what the test installs in it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import reissue as ri


class Environment(NamedTuple):
    python: Path
    site: Path
    """Where its packages are installed."""

    def run(self, *arguments: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run its interpreter with these arguments."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [self.python, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**kept, "COLUMNS": "200", **variables},
            check=False,
        )

    def install(self, name: str, modules: dict[str, str], entry_points: str) -> None:
        """Put modules there and say what they are, as pip does."""
        plant(self.site, name, modules, entry_points)


def make(folder: Path) -> Environment:
    """A new environment, which finds the packages of this one by a file of paths, as an editable install does."""
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    source = Path(ri.__file__).parents[1]
    (site / "here.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return Environment(folder / "bin" / "python", site)


def plant(folder: Path, name: str, modules: dict[str, str], entry_points: str) -> None:
    """Modules in a folder, and beside them what an installer writes about them."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    facts = folder / f"{name}-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(entry_points)
