"""Values that differ in case alone, and the same file twice, are noted: nobody should take them for change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import reissue as ri

FIRST = "age,illness\n30,flu\n30,gout\n40,flu\n40,gout\n"


def notes(folder: Path, second: str) -> str:
    (folder / "1.csv").write_text(FIRST)
    (folder / "2.csv").write_text(second)
    read = ri.read_releases([folder / "1.csv", folder / "2.csv"], sensitive="illness")
    report = replace(ri.audit(read.published, limit=1 / 2), remarks=read.notes)
    return " ".join(report.notes)


def test_case_alone(tmp_path: Path) -> None:
    told = notes(tmp_path, FIRST.replace("flu", "FLU"))
    assert "2 sensitive values differ from another in case alone" in told and "say the same" not in told


def test_the_same_file_twice(tmp_path: Path) -> None:
    told = notes(tmp_path, FIRST)
    assert "Releases 1 and 2 say the same" in told and "case alone" not in told
