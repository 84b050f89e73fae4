"""The compiled loops: plain arrays in, plain arrays out.

They are compiled once for each installation and kept in numba's cache; while they are compiled, which
takes some seconds, a line says so. The cache looks only at the file of the kernel that is called, so that a change in
another one that it calls would go unnoticed, also after an upgrade. Therefore a file names, in `CALLED`, the others
that it calls, with a digest of each; a test checks them. What another version of Reissue compiled is removed: numba
reads its index before it looks whether it is stale, and fails where a module in it has moved since.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Timer

from reissue import __version__

_said = False
_ready: set[tuple[object, ...]] = set()


def discard_other_versions(folder: Path, version: str = __version__) -> None:
    """Remove compiled kernels from a cache that was filled by another version, and say in it which one fills it now."""
    stamp = folder / "compiled-by-reissue"
    # Where nothing may be written here, numba has its cache elsewhere.
    with suppress(OSError):
        if stamp.is_file() and stamp.read_text() == version:
            return
        folder.mkdir(exist_ok=True)
        for compiled in [*folder.glob("*.nbi"), *folder.glob("*.nbc")]:
            compiled.unlink(missing_ok=True)
        stamp.write_text(version)


discard_other_versions(Path(__file__).parent / "__pycache__")


def warm_up(call: Callable[[], object], *kernel: object) -> None:
    """Make a small first call of a kernel; if it takes long, it is being compiled: say so.

    A kernel that is in the cache answers within a fraction of the second that is waited. One that is named, with the
    types it is called with, is waited for once only.
    """
    if kernel in _ready:
        call()
        return

    def say() -> None:
        global _said
        if _said:
            return
        _said = True
        sys.stderr.write("reissue: compiling kernels, once for this installation; this takes some seconds\n")

    timer = Timer(1.0, say)
    timer.start()
    try:
        call()
    finally:
        timer.cancel()
    if kernel:
        _ready.add(kernel)
