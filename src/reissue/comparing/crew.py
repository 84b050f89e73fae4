"""A crew of processes that work through jobs in their order, until they are done or the time is up.

Jobs and results go through pipes, so that no file of the private tables is written anywhere. A process ends with the
one that started it, whatever ends that. What a job finds does not depend on the clock: when the time is up no other is
begun, and one that takes too long is stopped and tells nothing.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from reissue.arrays.cores import cores

BOOT = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); from reissue.comparing.worker import work; work()"
)
"""A process begins without the current folder among the places it loads code from, and then has ours."""
GRACE = 0.05
"""What has begun when the time is up may take so much longer, as a share of the time."""
UNPACKABLE = "it cannot be handed to another process; without other processes it can be tried (processes=0)"
LOST = "its process ended without a word, perhaps for want of memory"


@dataclass(frozen=True)
class Outcome:
    """What became of a job."""

    job: int
    """Its place among the jobs."""
    result: Any = None
    failed: str | None = None
    """Why there is no result, where something failed."""
    broken: bool = False
    """Whether that is a mistake of the package, which must not pass for a word about a method."""
    late: bool = False
    """Whether the time was up: it was not begun, or not ended."""


def worked_through(
    shared: object,
    jobs: Sequence[object],
    *,
    processes: int,
    ends: float | None,
    seconds: float | None,
    begun: Callable[[int], None] = lambda job: None,
) -> Iterator[Outcome]:
    """Do every job, several at once, and yield what became of each as it ends.

    `shared` is handed to every process once. `ends` is a moment of the monotonic clock, and `seconds` the whole time.
    """
    crew = _Crew(shared, jobs, begun)
    last = None if ends is None else ends + GRACE * (seconds or 0.0)
    try:
        crew.start(min(processes, len(jobs)), ends)
        left = set(range(len(jobs)))
        while left:
            outcome = crew.next(last)
            if outcome is None:
                break
            left.discard(outcome.job)
            yield outcome
        crew.stop()
        yield from (Outcome(job, late=True) for job in sorted(left))
    finally:
        crew.stop()


def _packed(job: object) -> bytes | None:
    """A job as bytes; None where a part of it, such as a method that somebody wrote, cannot be handed over."""
    try:
        return pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


class _Crew:
    def __init__(self, shared: object, jobs: Sequence[object], begun: Callable[[int], None]) -> None:
        self._shared = pickle.dumps(shared, protocol=pickle.HIGHEST_PROTOCOL)
        self._jobs = [_packed(job) for job in jobs]
        self._begun = begun
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[bytes]] = []
        for job, packed in enumerate(self._jobs):
            if packed is None:
                self._done.put(Outcome(job, failed=UNPACKABLE))
            else:
                self._waiting.put(job)

    def start(self, count: int, ends: float | None) -> None:
        """Start so many processes, each with a thread that hands it one job after the other."""
        threads = str(max(1, cores() // max(count, 1)))
        for _ in range(count):
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a panic of a library may quote cells
                start_new_session=True,  # Ctrl-C is for us, who then end them
                env={**os.environ, "POLARS_MAX_THREADS": threads},
            )
            self._processes.append(process)
            threading.Thread(target=self._led, args=(process, ends), daemon=True).start()

    def _led(self, process: subprocess.Popen[bytes], ends: float | None) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        job = -1
        try:
            process.stdin.write(pickle.dumps(sys.path) + self._shared)
            while ends is None or monotonic() < ends:
                job = self._waiting.get_nowait()
                self._begun(job)
                pickle.dump(self._jobs[job], process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                failed, broken, result = pickle.load(process.stdout)
                self._done.put(Outcome(job, result, failed, broken))
                job = -1
        except queue.Empty:
            return
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            if job >= 0:
                self._done.put(Outcome(job, failed=LOST))

    def next(self, last: float | None) -> Outcome | None:
        """The next outcome; None when the time is up."""
        while True:
            left = None if last is None else last - monotonic()
            if left is not None and left <= 0:
                return None
            try:
                # Now and then something else may want to be heard, such as Ctrl-C.
                return self._done.get(timeout=0.5 if left is None else min(left, 0.5))
            except queue.Empty:
                if all(process.poll() is not None for process in self._processes) and self._done.empty():
                    return self._unbegun()

    def _unbegun(self) -> Outcome | None:
        """All processes are gone: a job that nobody will do."""
        try:
            return Outcome(self._waiting.get_nowait(), failed=LOST)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                try:
                    if pipe is not None:
                        pipe.close()
                except (OSError, ValueError):
                    pass
        self._processes = []
