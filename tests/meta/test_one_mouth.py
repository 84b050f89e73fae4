"""Commands print through `cli/output.py` and nowhere else: what would steer the terminal is escaped there."""

from __future__ import annotations

import ast
from pathlib import Path

import reissue as ri

SOURCE = Path(ri.__file__).parent
ALLOWED = {
    ("cli/__init__.py", "echo"): "the version, which is our own",
    ("cli/study.py", "echo"): "the help, which is our own",
    ("__main__.py", "write"): "before that is loaded: words of our own",
    ("cli/warm_up.py", "write"): "names of methods that are built in",
    ("cli/output.py", "write"): "JSON, escaped above",
    ("cli/output.py", "print"): "escaped above",
    ("kernels/announcing.py", "write"): "names of kernels, and what is escaped there",
}


def test_nothing_else_prints() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            stream = owner in ("sys.stdout", "sys.stderr") and name == "write"
            if name in ("echo", "secho", "print") or stream:
                found.add((path.relative_to(SOURCE).as_posix(), name))
    assert found == set(ALLOWED)
