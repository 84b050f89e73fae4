from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for ledger_story, which is a program too

from ledger_story import commit, copied, given, series


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with two releases; copy it before changing it. What would be its third one lies beside it."""
    folder = series(tmp_path_factory.mktemp("base") / "clinic")
    further = copied(folder, tmp_path_factory.mktemp("further") / "clinic")
    commit(further)
    shutil.copytree(further / "public" / "0003", given(folder))
    return folder


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """A folder in memory where there is such a thing: hundreds of syncs, and no power cut to test."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
