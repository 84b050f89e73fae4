"""Draw the picture of the demo that stands in the README, from a run of the demo: no browser is needed.

    python docs/generate_demo_picture.py

The picture is `docs/img/demo.svg`. The same code gives the same file, which a test checks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from reissue.demonstrating.demo_page import demo_picture
from reissue.demonstrating.demo_run import run_demo

PICTURE = Path(__file__).parent / "img" / "demo.svg"


def drawn() -> str:
    """The picture of the demo as it runs by itself."""
    with TemporaryDirectory() as folder:
        return demo_picture(run_demo(Path(folder) / "demo"))


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn(), encoding="utf-8")
    sys.stdout.write(f"wrote {PICTURE}\n")
