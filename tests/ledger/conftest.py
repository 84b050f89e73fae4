from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ledger_story, which is a program too

from ledger_story import series


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with two releases; copy it before changing it."""
    return series(tmp_path_factory.mktemp("base") / "clinic")
