"""Where what is published is decided, nothing draws but from the cryptographic generator."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import reissue as ri

SOURCE = Path(ri.__file__).parent
DECIDING = ("arrays", "model", "tables", "kernels", "methods", "ledger", "publishing")
"""The folders whose draws can reach a release."""
ALLOWED = {"Generator"}
"""What may be named of `numpy.random`: what is drawn from, which says nothing about where it comes from."""
OWN = Path("arrays/randomness.py")
"""The one file that makes a generator."""


def other_sources(tree: ast.AST) -> list[str]:
    """Everything in a file that makes or is a source of randomness other than the one generator."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if _is_source(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
            found += [name for name in (module, *names) if _is_source(name)]
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            parts = name.split(".")
            if parts[:2] in (["np", "random"], ["numpy", "random"]) and len(parts) == 3 and parts[2] not in ALLOWED:
                found.append(name)
        elif isinstance(node, ast.Call) and _makes_or_draws(node.func):
            found.append(ast.unparse(node.func))
    return found


def _makes_or_draws(function: ast.expr) -> bool:
    """Whether it makes a generator, or is a method by which frames draw, from a generator of polars' own."""
    if not isinstance(function, ast.Attribute):
        return False
    drawn = function.attr in ("sample", "shuffle") and ast.unparse(function.value) != "rng"
    return drawn or function.attr == "Generator"


def _is_source(module: str) -> bool:
    return module.split(".")[0] in ("random", "randomgen") or module.startswith("numpy.random")


def files() -> list[Path]:
    return [path for folder in DECIDING for path in sorted((SOURCE / folder).rglob("*.py"))]


def test_nothing_else_draws() -> None:
    assert len(files()) > 100
    found = {
        str(path.relative_to(SOURCE)): sources
        for path in files()
        if path.relative_to(SOURCE) != OWN and (sources := other_sources(ast.parse(path.read_text())))
    }
    assert found == {}


def test_the_one_file_is_found() -> None:
    assert other_sources(ast.parse((SOURCE / OWN).read_text()))


@pytest.mark.parametrize(
    "text",
    [
        "np.random.default_rng(1)",
        "np.random.seed(1)",
        "np.random.SeedSequence()",
        "rng = np.random.Generator(bits)",
        "import random",
        "from random import shuffle",
        "from numpy.random import default_rng",
        "from numpy import random",
        "import numpy.random",
        "from randomgen import ChaCha",
        "frame.sample(fraction=1.0, shuffle=True)",
        "series.shuffle()",
    ],
)
def test_other_sources_would_be_found(text: str) -> None:
    assert other_sources(ast.parse(text))


@pytest.mark.parametrize("text", ["def draw(rng: np.random.Generator): rng.shuffle(order)", "import secrets"])
def test_drawing_from_what_is_given_is_none(text: str) -> None:
    assert other_sources(ast.parse(text)) == []
