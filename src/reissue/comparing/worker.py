"""What a process of the crew does: one job after the other, from standard input to standard output."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from typing import Any, BinaryIO

from reissue.errors import GuaranteeBroken, InternalError, ReissueError

Reply = tuple[str | None, bool, Any]
"""Why it failed, or None; whether that is a mistake of the package; and the result."""


def work() -> None:
    """Work until nobody hands anything over any more."""
    inside, outside = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what a library prints is no result
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(inside, jobs), daemon=True).start()
    shared = jobs.get()
    while True:
        pickle.dump(done(jobs.get(), shared), outside, protocol=pickle.HIGHEST_PROTOCOL)
        outside.flush()


def _read(inside: BinaryIO, jobs: queue.SimpleQueue[Any]) -> None:
    """Take in what comes; whoever started this process is gone where nothing does, and then it ends at once."""
    try:
        while True:
            jobs.put(pickle.load(inside))
    finally:
        os._exit(0)


def done(job: bytes, shared: Any) -> Reply:
    """The result of one job; what fails is told without a word of the table."""
    from reissue.comparing.rehearsed import rehearsed

    try:
        return None, False, rehearsed(pickle.loads(job), *shared)
    except (InternalError, GuaranteeBroken) as error:
        return f"{type(error).__name__}: {error.what}", True, None
    except ReissueError as error:
        return f"{type(error).__name__}: {error.what}", False, None
    except MemoryError:
        return "there was not enough memory", False, None
    except Exception as error:  # noqa: BLE001  (whoever started this process must hear of it)
        return f"something failed that should not have ({type(error).__name__}); report it", True, None
