"""The studies are a package of their own: who imports whom, and what a user meets who has only the library."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import reissue_studies

import reissue as ri

SOURCE = Path(ri.__file__).parent
STUDIES = Path(reissue_studies.__file__).parent
PROJECT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in STUDIES.iterdir() if (path / "__init__.py").exists())


def imported(path: Path) -> set[str]:
    """Every module of the studies that a file imports, for type checkers or not."""
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text))) if "reissue_studies" in text else []
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "reissue_studies"}


def test_one_command_of_the_product_hands_over_to_the_studies() -> None:
    importing = {path.relative_to(SOURCE).as_posix(): imported(path) for path in SOURCE.rglob("*.py")}
    assert {name: found for name, found in importing.items() if found} == {
        "cli/study.py": {"reissue_studies.command.app"}
    }
    assert not [path for path in SOURCE.rglob("*.py") if "studies" in path.relative_to(SOURCE).parts]


def test_there_are_five_papers_and_one_comparison() -> None:
    assert NAMES == ["bu", "byun", "he", "methods", "riboni", "wong"]


@pytest.mark.parametrize("study", NAMES)
def test_no_study_imports_another(study: str) -> None:
    others = {name for name in NAMES if name != study}
    for path in (STUDIES / study).rglob("*.py"):
        borrowed = {module for module in imported(path) if module.split(".")[1] in others}
        assert not borrowed, f"{path.relative_to(STUDIES)} imports {borrowed}"


def test_what_studies_share_knows_none_of_them() -> None:
    for path in STUDIES.glob("*.py"):
        known = {module.split(".")[1] for module in imported(path)} & {*NAMES}
        assert known == ({*NAMES} if path.name == "command.py" else set()), path.name


def test_one_figure_and_one_base_of_settings() -> None:
    """No study has a figure or a stopwatch of its own, and every setting has the same base."""
    defined: dict[str, list[str]] = {}
    for path in STUDIES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined.setdefault(node.name, []).append(path.relative_to(STUDIES).as_posix())
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                assert node.name != "Setting" or bases == ["StudySetting"], path
    for name, home in {"Figure": "figure.py", "StudySetting": "setting.py", "Stopwatch": "stopwatch.py"}.items():
        assert defined[name] == [home]


def test_the_wheel_holds_the_library_alone() -> None:
    def packages(file: Path) -> list[str]:
        build = tomllib.loads(file.read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
        return list(build["targets"]["wheel"]["packages"])

    assert packages(PROJECT / "pyproject.toml") == ["src/reissue"]
    assert packages(PROJECT / "studies" / "pyproject.toml") == ["reissue_studies"]


def test_help_starts_without_the_heavy_libraries() -> None:
    program = (
        "import sys; sys.argv = ['reissue', 'study', '--help']\n"
        "from reissue.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'numba', 'numpy', 'sqlalchemy', 'altair'}\n"
        "print(sorted(heavy & {*sys.modules}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "--figures" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "[]"


def without_studies(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line where the studies cannot be imported."""
    program = (
        "import sys; sys.modules['reissue_studies'] = None; sys.argv[0] = 'reissue'\n"
        "from reissue.cli import main\n"
        "main()"
    )
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_without_the_studies_a_user_is_told_how_to_get_them() -> None:
    ran = without_studies("study", "he", "--full", "--figures", "7")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.splitlines() == [
        "Error: The studies are not part of the installed package, but a package of their own.",
        "Next step: get the repository of Reissue, and run `pip install ./studies` there.",
    ]
    told = json.loads(without_studies("study", "he", "--json").stdout)
    assert (told["error"]["kind"], told["exit_code"]) == ("MissingExtra", 2)


def test_without_the_studies_help_explains() -> None:
    assert "study" in without_studies("--help").stdout
    ran = without_studies("study", "--help")
    assert ran.returncode == 0
    assert "pip install ./studies" in " ".join(ran.stdout.split())
    assert "--figures" not in ran.stdout
