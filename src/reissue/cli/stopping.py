"""What Ctrl-C leaves behind: one line that says what is out and what is not, from a look at the disk afterwards."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from reissue.ledger import Ledger

NOTHING = "Nothing was changed."
UNKNOWN = "What was written until then stays."

Command = TypeVar("Command", bound=Callable[..., Any])
Given = Mapping[str, Any]
"""The arguments of a command, by their names."""

_left: str | None = None


class _State(NamedTuple):
    """How a series stands."""

    releases: int
    head: str


def take() -> str | None:
    """What the command that was stopped left behind, once; None where it has not said."""
    global _left
    said, _left = _left, None
    return said


@contextmanager
def leaving(told: Callable[[], str]) -> Iterator[None]:
    """If Ctrl-C is pressed inside, this says what was done."""
    global _left
    _left = None
    try:
        yield
    except KeyboardInterrupt:
        with _undisturbed():
            _left = _left or told()
        raise


@contextmanager
def publishing(series: Path) -> Iterator[None]:
    """Inside, a release may be added to a series."""
    before = _state(series)
    with leaving(lambda: _published(series, before)):
        yield


@contextmanager
def changing(series: Path, done: str) -> Iterator[None]:
    """Inside, something else is done to a series; `done` says it."""
    before = _state(series)
    with leaving(lambda: _changed(series, before, done)):
        yield


@contextmanager
def writing(*files: Path | None) -> Iterator[None]:
    """Inside, files are written and nothing else is changed."""
    named = [path for path in files if path is not None]
    before = [_stamp(path) for path in named]
    with leaving(lambda: _written(named, before)):
        yield


def _published(series: Path, before: _State | None) -> str:
    from reissue.errors import count_of

    now = _state(series)
    if now is None and before is None and not (series / "private").exists():
        return f"Nothing was published: there is no series in '{series}' yet."
    if now is None:
        return f"What is out could not be looked up: `reissue log {series}` says it."
    ever = 0 if before is None else before.releases
    if now.releases > ever:
        from reissue.ledger.layout import release_name

        folder = series / "public" / release_name(now.releases)
        if folder.is_dir():
            return f"Release {now.releases} is out, entirely: {folder}"
        return (
            f"Release {now.releases} is recorded, and its files are not in their place yet: "
            f"`reissue resume {series}` puts them there."
        )
    return f"Nothing was published: the series has {count_of(now.releases, 'release')}, as before."


def _changed(series: Path, before: _State | None, done: str) -> str:
    now = _state(series)
    if now is None and before is not None:
        return f"What was done could not be looked up: `reissue log {series}` says it."
    return NOTHING if now == before else done


def _written(files: Sequence[Path], before: Sequence[object]) -> str:
    from reissue.errors import listed

    changed = [path for path, was in zip(files, before, strict=True) if _stamp(path) != was]
    if not changed:
        return NOTHING
    return f"{listed(list(map(str, changed)))} may be incomplete, and nothing else was changed."


def _state(series: Path) -> _State | None:
    """How a series stands now; None where there is none, or none that can be read."""
    from reissue.errors import ReissueError

    with suppress(ReissueError, OSError):
        if series.is_dir():
            with _opened(series) as ledger:
                last = ledger.last()
                return _State(last.number if last else 0, str(ledger.head()))
    return None


def _opened(series: Path) -> Ledger:
    from reissue.ledger import Ledger

    return Ledger.open(series, check=False)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size, seen.st_ino


@contextmanager
def restoring(series: Path) -> Iterator[None]:
    """Inside, a series is made from a backup."""
    done = f"The series is restored in '{series}', entirely."
    with leaving(lambda: "Nothing was restored." if _state(series) is None else done):
        yield


def _publishes(given: Given) -> AbstractContextManager[None]:
    return writing(given["report"]) if given["dry_run"] else publishing(given["series"])


WATCHED: dict[str, Callable[[Given], AbstractContextManager[None]]] = {
    "publish": _publishes,
    "adopt": lambda given: publishing(given["series"]),
    "amend": lambda given: changing(given["series"], "The new version of the policy is recorded."),
    "forget": lambda given: changing(given["series"], "The ids are erased."),
    "resume": lambda given: changing(given["series"], "The series is resumed."),
    "restore": lambda given: restoring(given["series"]),
    "backup": lambda given: writing(given["file"]),
    "audit": lambda given: writing(given["html"]),
    "estimate": lambda given: writing(given["scores"], given["out"]),
    "compare": lambda given: writing(given["chart"], given["out"], given["write"]),
    "shares": lambda given: changing(given["series"], "The shares are recorded."),
    "retract": lambda given: changing(given["series"], "The release is marked as retracted."),
    "moves": lambda given: writing(given["out"], given["shares"]),
    "init": lambda given: writing(given["out"]),
    "key": lambda given: writing(given["file"]),
    "datasets": lambda given: writing(given["out"]),
    "export": lambda given: writing(given["target"]),
    "demo": lambda given: writing(given["folder"]),
    "warm_up": lambda given: leaving(lambda: "What was compiled until then is kept."),
    **dict.fromkeys(("log", "show", "utility", "verify"), lambda given: leaving(lambda: NOTHING)),
}
"""What each command does, by its name and arguments. Of one that is not here it is said that what it wrote stays."""


def watched(command: Command) -> Command:
    """The command, which says what it leaves behind if Ctrl-C is pressed."""

    @wraps(command)
    def run(**given: Any) -> Any:
        watch = WATCHED.get(command.__name__)
        with leaving(lambda: UNKNOWN) if watch is None else watch(given):
            return command(**given)

    return cast(Command, run)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Whoever presses Ctrl-C again must not take the answer away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
