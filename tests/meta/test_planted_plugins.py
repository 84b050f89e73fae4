"""A policy names what is run. Only installed packages say what that is, never the folder that somebody is in."""

from __future__ import annotations

import os
from pathlib import Path

import own_environment
import pytest
from own_environment import Environment, plant

METHOD = """
from pathlib import Path

Path("ran").write_text("by {who}")

from reissue.methods import Mondrian


class Innocent(Mondrian):
    name = "Innocent"
"""
ENTRY_POINTS = "[reissue.methods]\nInnocent = innocent:Innocent\n"
POLICY = """
[schema]
person = "person"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.value]
kind = "categorical"
[method]
name = "Innocent"
k = 2
"""
PUBLISH = ("publish", "series", "table.csv", "--policy", "policy.toml", "--dry-run")
SCRIPT = "import reissue as ri\nri.preview('series', 'table.csv', 'policy.toml')\n"
STARTS = {
    "python -m": ("-m", "reissue", *PUBLISH),
    "the command": ("COMMAND", *PUBLISH),
    "a script in the folder": ("script.py",),
    "python -c": ("-c", SCRIPT),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return own_environment.make(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = own_environment.make(tmp_path_factory.mktemp("with-plugin"))
    made.install("innocent", {"innocent": METHOD.format(who="the installed one")}, ENTRY_POINTS)
    return made


def in_folder(folder: Path) -> Path:
    rows = "".join(f"p{row},{20 + row // 2},{'ab'[row % 2]}\n" for row in range(12))
    (folder / "table.csv").write_text(f"person,age,value\n{rows}")
    (folder / "policy.toml").write_text(POLICY)
    (folder / "script.py").write_text(SCRIPT)
    return folder


@pytest.mark.parametrize("start", STARTS)
def test_what_is_planted_is_not_run(environment: Environment, tmp_path: Path, start: str) -> None:
    folder = in_folder(tmp_path)
    plant(folder, "evil", {"innocent": METHOD.format(who="the planted one")}, ENTRY_POINTS)
    arguments = STARTS[start]
    if arguments[0] == "COMMAND":
        # As a command is installed: a file in the folder of the interpreter, which then comes first.
        command = environment.python.parent / "reissue-command"
        command.write_text("from reissue.cli import main\nmain()\n")
        arguments = (str(command), *arguments[1:])
    done = environment.run(*arguments, cwd=folder)
    assert done.returncode != 0
    assert not (folder / "ran").exists()
    assert "Innocent" in done.stderr
    assert start in ("python -m", "the command") or "no packages are installed" in done.stderr


@pytest.mark.parametrize("path", ["", ".", "HERE"])
def test_nor_by_way_of_a_variable(environment: Environment, tmp_path: Path, path: str) -> None:
    folder = in_folder(tmp_path)
    plant(folder, "evil", {"innocent": METHOD.format(who="the planted one")}, ENTRY_POINTS)
    given = os.pathsep.join([str(folder) if path == "HERE" else path, "/nowhere"])
    done = environment.run("-m", "reissue", *PUBLISH, cwd=folder, PYTHONPATH=given)
    assert done.returncode == 2
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("start", ["python -m", "a script in the folder", "python -c"])
def test_what_is_installed_is_run_whatever_lies_in_the_folder(
    with_plugin: Environment, tmp_path: Path, start: str
) -> None:
    """Also where a file of the same name would come first."""
    folder = in_folder(tmp_path)
    plant(folder, "evil", {"innocent": METHOD.format(who="the planted one")}, ENTRY_POINTS)
    done = with_plugin.run(*STARTS[start], cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "ran").read_text() == "by the installed one"


def test_no_library_comes_from_the_folder_either(environment: Environment, tmp_path: Path) -> None:
    folder = in_folder(tmp_path)
    (folder / "policy.toml").write_text(POLICY.replace("Innocent", "Mondrian"))
    for library in ("tomli_w", "numba", "altair", "reissue_studies"):
        (folder / f"{library}.py").write_text("open('ran', 'w')\nraise SystemExit(7)\n")
    done = environment.run("-m", "reissue", *PUBLISH, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not (folder / "ran").exists()
