"""The shape of the package: public names, who imports whom, and what starting up costs."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import reissue as ri
from reissue import _MOVED

SOURCE = Path(ri.__file__).parent
PROJECT = SOURCE.parent.parent

PUBLIC = [
    "AlphaK", "Alternatives", "Analysis", "Ask", "AuditReport", "Categorical", "Checks", "Comparison", "CorSplit",
    "Draft", "EEquivalence", "Events", "Gate",
    "GivenChoices", "HDComposition", "Hierarchy", "Ids", "Incremental", "Knowledge", "MInvariance", "Mask", "Minimal",
    "Mondrian", "Numeric",
    "Policy", "Published", "Query", "Release", "Schema", "Series", "StaticI", "StaticII", "ValueChange", "Workload",
    "adopt", "analyse",
    "attacks", "audit", "backup", "compare", "errors", "estimate", "export", "given_choices", "guarantees", "moves",
    "open", "preview", "publish", "read_releases", "restore", "resume", "verify",
]  # fmt: skip


def test_public_names() -> None:
    assert ri.__all__ == PUBLIC
    for name in PUBLIC:
        assert getattr(ri, name) is not None
    assert set(PUBLIC) <= set(dir(ri))
    with pytest.raises(AttributeError, match="Anything"):
        _ = ri.Anything


def test_names_of_0_1_still_work_and_say_the_new_one() -> None:
    assert len(_MOVED) == 20
    for name in _MOVED:
        with pytest.warns(DeprecationWarning, match=rf"ri\.guarantees\.{name}"):
            assert getattr(ri, name) is getattr(ri.guarantees, name)


def imported(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside functions; not what is for type checkers only."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


ORDER = (
    "errors", "charts", "pages", "kernels", "arrays", "model", "tables", "reasoning", "utility", "guarantees",
    "methods", "attacks", "ledger", "parts", "foreign", "auditing", "exporting", "publishing", "comparing", "samples",
    "demonstrating", "cli",
)  # fmt: skip
"""The parts of the package from the basement to the roof: each may import those before it, but for what is closed."""
CLOSED = {
    "charts": {"kernels"},
    "pages": {"charts"},
    "arrays": {"charts", "pages"},
    "model": {"charts", "pages"},
    "tables": {"charts", "pages"},
    "reasoning": {"charts", "pages", "tables"},
    "utility": {"charts", "pages"},
    "guarantees": {"charts", "pages", "tables", "utility"},
    "methods": {"charts", "pages", "tables", "guarantees"},
    "attacks": {"charts", "pages", "utility", "guarantees", "methods"},
    "ledger": {
        "charts",
        "pages",
        "kernels",
        "arrays",
        "tables",
        "reasoning",
        "utility",
        "guarantees",
        "methods",
        "attacks",
    },
    "parts": {"charts", "pages", "reasoning", "utility", "guarantees", "methods", "attacks"},
    "foreign": {"charts", "pages", "reasoning", "utility", "guarantees", "methods", "attacks", "ledger", "parts"},
    "auditing": {"tables", "utility", "guarantees", "methods", "ledger", "parts", "foreign"},
    "exporting": {"charts", "pages", "attacks", "parts", "foreign", "auditing"},
    "publishing": {"charts", "pages"},
    "samples": {
        "charts",
        "pages",
        "guarantees",
        "methods",
        "attacks",
        "ledger",
        "parts",
        "foreign",
        "auditing",
        "publishing",
    },
    "demonstrating": {"charts", "kernels", "guarantees", "ledger", "parts", "foreign", "exporting", "comparing"},
    "cli": set(),
}
"""What a part may not import although it comes before. Guarantees, methods and attacks never import each other."""


def part_of(module: str) -> str:
    return module.removeprefix("reissue.").split(".")[0] if module.startswith("reissue.") else ""


def test_every_part_has_its_place() -> None:
    found = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    found |= {path.stem for path in SOURCE.glob("*.py") if path.stem not in ("__init__", "__main__")}
    assert found == set(ORDER)


@pytest.mark.parametrize("part", ORDER)
def test_parts_import_what_comes_before_them(part: str) -> None:
    allowed = set(ORDER[: ORDER.index(part) + 1]) - CLOSED.get(part, set())
    files = [SOURCE / f"{part}.py"] if (SOURCE / f"{part}.py").exists() else [*(SOURCE / part).rglob("*.py")]
    for path in files:
        for module in imported(path):
            below = part_of(module)
            fits = not below or below in allowed or below.startswith("__")
            assert fits, f"{path.relative_to(SOURCE)} imports {module}"


def test_few_modules_in_the_root() -> None:
    assert len([*SOURCE.glob("*.py")]) <= 6


def test_no_module_name_twice() -> None:
    """So that a name in a traceback, a search or a sentence means one file."""
    names = [path.stem for path in SOURCE.rglob("*.py") if path.stem not in ("__init__", "base")]
    assert sorted(names) == sorted(set(names)), {name for name in names if names.count(name) > 1}


def modules_after(code: str) -> list[str]:
    program = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return list(json.loads(ran.stdout.splitlines()[-1]))


HEAVY = ("polars", "numba", "numpy", "sqlalchemy", "narwhals", "altair", "pandas", "pyarrow", "duckdb", "randomgen")


def test_importing_the_package_loads_nothing() -> None:
    loaded = modules_after("import reissue")
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
    assert [name for name in loaded if name.startswith("reissue.")] == []


def test_help_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys; sys.argv = ['reissue', '--help']\n"
        "from reissue.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    loaded = modules_after(code)
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
    # A number of modules, not a time, so that a busy machine cannot fail the test.
    assert len(loaded) < 500


def test_the_ledger_runs_without_the_kernels() -> None:
    assert "numba" not in modules_after("import reissue.ledger")


PUBLISHING = """
import sys
from reissue.cli import main
sys.argv = ["reissue", "publish", FOLDER + "/series", FOLDER + "/table.csv", "--policy", FOLDER + "/policy.toml"]
try: main()
except SystemExit as end: assert not end.code, end.code
print()
"""
POLICY = """
[schema]
person = "person"
[schema.quasi.age]
kind = "numeric"
[schema.sensitive.value]
kind = "categorical"
[method]
name = "Mondrian"
k = 2
"""
NEEDED = {
    "methods": {"base", "partition", "incremental"},
    "methods.partition": {"alike", "axes", "cutting", "mondrian"},
    "methods.incremental": set(),
    "guarantees": {"base", "single"},
    "guarantees.single": {"k_anonymity"},
    "kernels": {
        *{"announcing", "compiling", "fingerprint", "keeping"},
        *{"group_rules", "grouped", "median_cuts", "past", "sorting"},
    },
    "attacks": {"base", "sentences"},
    "auditing": {"limits"},
    "reasoning": set(),
    "utility": set(),
    "parts": set(),
    "foreign": set(),
    "samples": set(),
}
"""What publishing with Mondrian loads of the folders with many things to choose from."""


def test_publishing_loads_what_the_policy_names(tmp_path: Path) -> None:
    """Everything else costs processor time in every process that publishes once."""
    (tmp_path / "policy.toml").write_text(POLICY)
    rows = "".join(f"p{row},{20 + row // 2},{'ab'[row % 2]}\n" for row in range(12))
    (tmp_path / "table.csv").write_text(f"person,age,value\n{rows}")
    loaded = modules_after(f"FOLDER = {str(tmp_path)!r}\n{PUBLISHING}")
    for folder, needed in NEEDED.items():
        within = f"reissue.{folder}."
        found = {name.removeprefix(within).split(".")[0] for name in loaded if name.startswith(within)}
        assert found <= needed, f"of {folder}: {sorted(found - needed)}"
    # Of other libraries those for charts, frames of others, graphs and programs stay away.
    foreign = ("altair", "narwhals", "pandas", "pyarrow", "duckdb", "igraph", "highspy", "statsmodels")
    assert [name for name in loaded if name.split(".")[0] in foreign] == []
    # numba looks at the version of scipy where it is installed; of its parts nothing is loaded.
    assert not {f"scipy.{part}" for part in ("linalg", "optimize", "sparse", "stats", "special")} & {*loaded}


@pytest.mark.parametrize("family", ["guarantees", "methods", "attacks"])
def test_what_is_loaded_by_name_has_that_name(family: str) -> None:
    listed = getattr(importlib.import_module(f"reissue.{family}"), family.upper())
    for name, kind in listed.items():
        assert kind.name == name
        assert getattr(importlib.import_module(f"reissue.{family}"), kind.__name__) is kind
    with pytest.raises(AttributeError, match="Anything"):
        _ = importlib.import_module(f"reissue.{family}").Anything


def test_no_grab_bags() -> None:
    for path in SOURCE.rglob("*.py"):
        assert path.name not in ("utils.py", "helpers.py", "common.py")


def test_the_version_is_said_once_more() -> None:
    import tomllib

    assert tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"] == ri.__version__
