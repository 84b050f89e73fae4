"""The lock of the one writer.

It is a `flock` on `private/lock`: the kernel lets go of it when the process that holds it dies, however
it dies, and it keeps out a second ledger of the same process too. The file itself stays for ever and says
nothing; removing it would let two writers in.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
import weakref
from pathlib import Path

from reissue.errors import SeriesLocked, StorageError
from reissue.ledger.durable import PRIVATE_FILE

_PATIENCE = 0.1
"""Seconds. A reader that finds leftovers of a dead writer holds the lock for a moment to tidy up; that
moment should not turn a writer away."""


class WriterLock:
    """An exclusive lock, re-entrant for the thread that holds it."""

    def __init__(self, path: Path, shown: str) -> None:
        self._path = path
        self._shown = shown
        self._thread = threading.RLock()
        self._depth = 0
        self._descriptor: int | None = None
        _LOCKS.add(self)

    @property
    def held(self) -> bool:
        """Whether this ledger is the writer."""
        return self._descriptor is not None

    def acquire(self) -> None:
        """Become the writer or raise SeriesLocked; does not wait for another writer."""
        if not self._thread.acquire(blocking=False):
            raise self._locked()
        try:
            if self._descriptor is None:
                self._descriptor = self._take()
            self._depth += 1
        except BaseException:
            self._thread.release()
            raise

    def release(self) -> None:
        """Undo one `acquire`; the last one frees the lock."""
        self._depth -= 1
        if self._depth == 0:
            self._drop()
        self._thread.release()

    def _take(self) -> int:
        # O_RDWR, because network file systems grant an exclusive lock only on a writable descriptor.
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        deadline = time.monotonic() + _PATIENCE
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return descriptor
                except OSError as error:
                    if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                        raise StorageError(
                            f"The series in '{self._shown}' cannot be locked: {os.strerror(error.errno or 0)}.",
                            hint="keep the series on a file system that supports file locks.",
                        ) from error
                if time.monotonic() >= deadline:
                    raise self._locked()
                time.sleep(_PATIENCE / 10)
        except BaseException:
            os.close(descriptor)
            raise

    def _drop(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _locked(self) -> SeriesLocked:
        return SeriesLocked(
            f"The series in '{self._shown}' is being written to by somebody else.",
            hint="wait until the other publication has finished, then try again. Reading is possible meanwhile.",
        )


_LOCKS: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _forget_in_child() -> None:
    """A forked child shares the lock; if it outlived its parent, a dead process would keep it."""
    for lock in _LOCKS:
        lock._drop()


os.register_at_fork(after_in_child=_forget_in_child)
