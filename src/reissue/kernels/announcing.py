"""What people are told while kernels are compiled: which, and how many of those that a call needs are left.

On a terminal that is one line, which changes and goes; elsewhere one line at the first. It goes to standard error, or
to whoever asks to be told instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

TEXT = "compiling kernels, once for this installation"
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


def begin(kernel: str, number: int, needed: int) -> None:
    """A kernel is going to be compiled: the how-manieth of those that are needed now."""
    text = f"{TEXT}: {kernel} ({min(number, needed)} of {needed})"
    if _listeners:
        _listeners[-1](text)
    elif sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[Kreissue: {text}")
        sys.stderr.flush()
    else:
        global _said
        if not _said:
            sys.stderr.write(f"reissue: {TEXT}; `reissue warm-up` does it ahead\n")
        _said = True


@cache
def say_once(text: str) -> None:
    """Tell something that people should know, once."""
    sys.stderr.write(f"reissue: {text}\n")


def end() -> None:
    """Everything that a call needs is compiled."""
    if _listeners:
        _listeners[-1](None)
    elif sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
