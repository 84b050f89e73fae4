"""The papers' worked examples, the files in `golden/examples`: the only place where they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden" / "examples"


def worked_examples(paper: str) -> Any:
    """The worked examples of a paper, called by its first author and year: `bu-2008`."""
    return json.loads((FOLDER / f"{paper}.json").read_text(encoding="utf-8"))
