from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ledger_story, which is a program too

from ledger_story import series


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with two releases; copy it before changing it."""
    return series(tmp_path_factory.mktemp("base") / "clinic")


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """A folder in memory where there is such a thing: hundreds of syncs, and no power cut to test."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
