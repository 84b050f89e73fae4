"""A browser for tests: the system's chromium, started once; where there is none, one line says so."""

from __future__ import annotations

import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NOT_HERE = "no chromium is on the path; `make test-browser` installs it where that is permitted"


def executable() -> str | None:
    """Where the system's browser is; None where it has none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def pages_of(pdf: Path) -> int:
    """How many pages a PDF file has, by its page objects."""
    content = pdf.read_bytes().replace(b"/Type /Pages", b"")
    return content.count(b"/Type /Page")
