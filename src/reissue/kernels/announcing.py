"""What people are told while kernels are compiled: which, and how many of those that a call needs are left.

On a terminal that is one line, which changes and goes; elsewhere one line at the first. It goes to standard error, or
to whoever asks to be told instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from shutil import get_terminal_size

from reissue.errors import printable

TEXT = "compiling kernels, once for this installation"
SHORT = "compiling once"
"""The same where a line has to change and must not be long."""
Told = Callable[[str | None], None]
"""Is called with a text while something is compiled, and with None when that is done."""

_listeners: list[Told] = []
_said = False


@contextmanager
def told(listener: Told) -> Iterator[None]:
    """Tell somebody instead of standard error."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def begin(kernel: str, number: int, needed: int, so_far: int) -> None:
    """A kernel is going to be compiled: the how-manieth of those that are needed now, and of all so far."""
    text = f"{SHORT}: {kernel} ({min(number, needed)} of {needed}, {so_far} so far)"
    if _listeners:
        _listeners[-1](text)
    elif sys.stderr.isatty():
        line = f"reissue: {text}"[: get_terminal_size().columns - 1]  # a line that breaks could not be taken back
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    else:
        global _said
        if not _said:
            sys.stderr.write(f"reissue: {TEXT}; `reissue warm-up` does it ahead\n")
        _said = True


@cache
def say_once(text: str) -> None:
    """Tell something that people should know, once."""
    sys.stderr.write(f"reissue: {printable(text)}\n")


def end() -> None:
    """Everything that a call needs is compiled."""
    if _listeners:
        _listeners[-1](None)
    elif sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
