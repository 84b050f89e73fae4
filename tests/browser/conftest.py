"""What tests in a browser share: one browser for all of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from chromium import NOT_HERE, executable


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    found = executable()
    if found is None:
        pytest.skip(NOT_HERE)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()
