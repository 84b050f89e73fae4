"""Telling how much of some work is done, to whoever shows it: loops tell, and what they are part of need not know.

with listening(print):
    for at, release in enumerate(releases):
        tell(at, len(releases))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Listener = Callable[[float], None]
"""Is called with the share of the work that is done, from 0 to 1."""
Thing = TypeVar("Thing")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(done: float, total: float) -> None:
    """Say how much of the work at hand is done."""
    listener = _listener.get()
    if listener is not None and total > 0:
        listener(min(max(done / total, 0.0), 1.0))


def told(things: Iterable[Thing], total: int | None = None) -> Iterator[Thing]:
    """The things one after the other, each told as it begins."""
    count = len(things) if total is None and isinstance(things, Sized) else total or 0
    for at, thing in enumerate(things):
        tell(at, count)
        yield thing


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Hear how much of what is done inside is done; None: whoever heard it before goes on."""
    if listener is None:
        yield
        return
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)
