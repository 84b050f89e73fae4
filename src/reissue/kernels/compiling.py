"""How kernels are compiled: by numba, with what was compiled kept in a way of our own.

numba keeps what it compiles, too, and is wrong in ways that matter here: it looks at one file only, although a kernel
calls those of others; it numbers its files, so that two processes write different things to the same one; and it fails
where something it once wrote can no longer be read.
"""

from __future__ import annotations

import gc
import pickle
import secrets
import signal
import threading
from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeVar

import numba
from numba import njit
from numba.core import bytecode, config, event, sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from reissue.errors import InternalError
from reissue.kernels import announcing, keeping
from reissue.kernels.fingerprint import digest, in_words, made_of, maker, name_of, signature

Function = TypeVar("Function", bound=Callable[..., object])

KERNELS: list[Dispatcher] = []
"""All kernels of the modules that were imported."""

UNREADABLE = (pickle.UnpicklingError, ImportError, AttributeError, LookupError, TypeError, ValueError, EOFError)
"""How reading a kernel back can fail that was made by something whose name does not say enough."""

# The names of functions in compiled code have a number, by which numba tells functions apart that are otherwise called
# the same, as parts of its sorting are. It counts from 1 in every process, so that two of different processes can have
# one name; loaded into a third, one is called for the other (numba's issue 10486). Numbers drawn at random never meet.
bytecode.FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 62), -1)


def _numbered_at_random() -> bool:
    """Whether numba takes the numbers of functions from where they are put here; another version of it may not."""
    one, other = (bytecode.FunctionIdentity.from_function(_numbered_at_random) for _ in range(2))
    return bool(abs(one.unique_id - other.unique_id) > 1)


KEEPS = _numbered_at_random()
"""Whether what is compiled can be kept at all. If not, every process compiles for itself."""


READY_WITH_LITTLE = ("0.68.",)
"""The versions of numba of which it is known that what was compiled runs without all that it was compiled by."""


class Inner(CPUDispatcher):  # type: ignore[misc]
    """A function that only kernels call."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Refuse: there is no way in, and numba would not look."""
        raise InternalError(f"{name_of(self.py_func)} is called by kernels only")


def compiled(function: Function, *, from_python: bool = True) -> Function:
    """The function as numba compiles it; as it is, where numba is told not to compile."""
    if config.DISABLE_JIT:
        return function
    without = {} if from_python else {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    one = njit(nogil=True, **without)(function)
    if not from_python:
        one.__class__ = Inner
    one._cache = Kept(one)
    KERNELS.append(one)
    return one  # type: ignore[no-any-return]


def _make_ready(target_context: Any) -> None:
    """Make numba ready to run what was kept.

    It would load all that it can compile, which takes longer than what is run. What was compiled needs no more than
    numba's memory; another version of numba might need more, and is not asked to do without.
    """
    if numba.__version__.startswith(READY_WITH_LITTLE):
        rtsys.initialize(target_context)
    else:
        target_context.refresh()


class Kept(_Cache):  # type: ignore[misc]
    """What was compiled of one kernel, as numba asks for it."""

    def __init__(self, kernel: Dispatcher) -> None:
        self.kernel = kernel

    @cached_property
    def needs(self) -> dict[str, str]:
        """What this kernel and those behind it are made of, by their names."""
        return made_of(self.kernel)

    @cached_property
    def name(self) -> str:
        """Which kernel, and what it is made of."""
        return f"{name_of(self.kernel.py_func)}-{digest(maker(), sorted(self.needs.items()))}"

    def named(self, sig: Any, codegen: Any) -> str:
        """Under which name it is kept for arguments of some types, and this processor."""
        arguments, _ = sigutils.normalize_signature(sig)
        return f"{self.name}-{digest(signature(arguments), codegen.magic_tuple())}"

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """What was kept for arguments of some types."""
        _make_ready(target_context)
        body = keeping.read(self.named(sig, target_context.codegen())) if KEEPS else None
        if body is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(body))
        except UNREADABLE:
            return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep what was compiled for arguments of some types."""
        if data.lifted or data.library.has_dynamic_globals:
            raise InternalError(f"{name_of(self.kernel.py_func)} cannot be kept, as it uses what only this process has")
        if KEEPS:
            keeping.write(self.named(sig, data.codegen), dumps(data._reduce()))
        else:
            announcing.say_once(f"what is compiled is not kept: numba {numba.__version__} is not known well enough")

    @property
    def cache_path(self) -> str | None:
        """Where it is kept."""
        folder = keeping.places().write
        return str(folder) if folder else None

    def enable(self) -> None:
        """It is always kept."""

    def disable(self) -> None:
        """It is always kept."""

    def flush(self) -> None:
        """What is kept is right, so there is nothing to forget."""


class Compilation(event.Listener):  # type: ignore[misc]
    """Follows numba while it compiles a kernel and everything that it needs for that."""

    def __init__(self) -> None:
        self.running: list[Dispatcher] = []
        self.done = 0
        self.count: Counter[str] = Counter()
        """How many versions of each kernel were compiled."""
        self.collecting = False
        self.interrupted = False
        self.handler: Any = None
        """What Ctrl-C did before."""

    def on_start(self, event: event.Event) -> None:
        """A function is going to be compiled, perhaps for another one."""
        one = event.data["dispatcher"]
        self.running.append(one)
        if len(self.running) == 1:
            self.done = 0
            # The compiler makes many objects and leaves little to collect; looking for it takes a fifth of the time.
            self.collecting = gc.isenabled()
            gc.disable()
            self._put_off_interrupts()
        if isinstance(one._cache, Kept) and isinstance(self.running[0]._cache, Kept):
            self.done += 1
            self.count[name_of(one.py_func)] += 1
            needed, so_far = len(self.running[0]._cache.needs), self.count.total()
            announcing.begin(in_words(one.py_func), self.done, needed, so_far)

    def on_end(self, event: event.Event) -> None:
        """It was compiled, or could not be."""
        self.running.pop()
        if not self.running:
            if self.collecting:
                gc.enable()
            announcing.end()
            self._interrupt_now()

    def _put_off_interrupts(self) -> None:
        """In the middle of compiling Ctrl-C would be lost, or leave the compiler with something half done."""
        if threading.current_thread() is not threading.main_thread():
            return  # interrupts reach the main thread, which is not compiling
        self.interrupted, self.handler = False, signal.getsignal(signal.SIGINT)
        if callable(self.handler):
            signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: object) -> None:
        self.interrupted = True

    def _interrupt_now(self) -> None:
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self.handler)
            if self.interrupted:
                signal.raise_signal(signal.SIGINT)


COMPILATION = Compilation()
event.register("numba:compile", COMPILATION)
