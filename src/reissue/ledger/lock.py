"""The lock of the one writer.

It is a `flock` on `private/lock`: the kernel lets go of it when the process that holds it dies, however
it dies, and it keeps out a second ledger of the same process too. The file itself stays for ever and says
nothing. Should it be removed or replaced, another writer could come in; so whoever holds it looks again, before a
change becomes final, whether the file that is locked is still the one in its place.
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

    def acquire(self) -> bool:
        """Become the writer or raise SeriesLocked; does not wait for another writer. Whether it was not yet."""
        if not self._thread.acquire(blocking=False):
            raise self._locked()
        try:
            if self._descriptor is None:
                self._descriptor = self._take()
            self._depth += 1
        except BaseException:
            self._thread.release()
            raise
        return self._depth == 1

    def require(self) -> None:
        """Raise SeriesLocked unless the file that is locked is still in its place."""
        if self._descriptor is None or not self._in_place(self._descriptor):
            raise SeriesLocked(
                f"The lock of the series in '{self._shown}' was removed or replaced, so somebody else may be writing.",
                hint="find out who removed private/lock, then try again; nothing should ever remove it.",
            )

    def release(self) -> None:
        """Undo one `acquire`; the last one frees the lock."""
        self._depth -= 1
        if self._depth == 0:
            self._drop()
        self._thread.release()

    def _take(self) -> int:
        # O_RDWR, because network file systems grant an exclusive lock only on a writable descriptor.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, PRIVATE_FILE)
        deadline = time.monotonic() + _PATIENCE
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self._in_place(descriptor):
                        return descriptor
                    replaced, descriptor = descriptor, os.open(self._path, flags, PRIVATE_FILE)
                    os.close(replaced)
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

    def _in_place(self, descriptor: int) -> bool:
        """Whether an open file is the one that the path leads to."""
        try:
            there = self._path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(os.fstat(descriptor), there)

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
