"""CSV is read and written in one place, by one rule."""

from __future__ import annotations

import ast
from pathlib import Path

import reissue as ri

SOURCE = Path(ri.__file__).parent
HOME = "model/csv_files.py"
OTHERS = {"samples/collection.py": {"read_csv"}}
"""UCI's adult.data has no header, and its quotes mean nothing."""
NAMES = {"read_csv", "write_csv", "scan_csv", "sink_csv", "read_csv_batched", "from_csv", "to_csv", "read_excel"}


def calls(path: Path) -> set[str]:
    """Names of CSV functions that are called on something of another library, and the module csv."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in NAMES:
            found.add(node.attr)
        if isinstance(node, ast.Import) and any(alias.name == "csv" for alias in node.names):
            found.add("csv")
        if isinstance(node, ast.ImportFrom) and node.module == "csv":
            found.add("csv")
    return found


def test_nothing_else_reads_or_writes_csv() -> None:
    found = {path.relative_to(SOURCE).as_posix(): calls(path) for path in SOURCE.rglob("*.py")}
    assert found.pop(HOME) == {"read_csv", "write_csv"}
    assert found.pop("tables/excel_files.py") == {"read_excel"}
    assert found.pop("tables/sent_workbook.py") == {"read_excel"}  # of a package, by the types that it describes
    assert {path: names for path, names in found.items() if names} == OTHERS
