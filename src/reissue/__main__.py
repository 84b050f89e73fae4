"""The command line: `reissue`, and `python -m reissue`."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

HERE, START = Path(__file__).resolve().parent, Path.cwd()
AS_MODULE = __name__ == "__main__" and not sys.flags.safe_path
if AS_MODULE and Path(sys.path[0]).resolve() == START and not HERE.is_relative_to(START):
    # With -m the current folder comes first, and a file in it would be taken for a library of the same name.
    sys.path.pop(0)


def main() -> None:
    """Load the commands and run one. To load them takes a moment, in which Ctrl-C is answered in one line too, and
    which counts for those that may take so many seconds."""
    began = monotonic()
    try:
        from reissue.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Stopped by Ctrl-C. Nothing was changed.\n")
        sys.exit(130)  # as everywhere else
    run(began)


if __name__ == "__main__":
    main()
