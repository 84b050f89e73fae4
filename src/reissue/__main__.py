"""`python -m reissue`: the command line."""

from __future__ import annotations

import sys
from pathlib import Path

HERE, START = Path(__file__).resolve().parent, Path.cwd()
if not sys.flags.safe_path and Path(sys.path[0]).resolve() == START and not HERE.is_relative_to(START):
    # With -m the current folder comes first, and a file in it would be taken for a library of the same name.
    sys.path.pop(0)

from reissue.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
