"""What a compiled kernel was made of, as a digest: everything that decides what the compiler makes of it.

That is the kernel's own code, the kernels that it calls, and those that they call; the constants all of them read; the
options, Python, numba, llvmlite and what numba looks at of NumPy. Nothing else: not when a file was written, not what
other packages are installed, not comments, docstrings or the lines on which things stand.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher
from numba.np import numpy_support

FORMAT = 1
"""To be raised when what is kept of a kernel is written otherwise."""
LENGTH = 16
"""So many letters of a digest go into the name of a file."""
SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")
"""numba's settings that change what it makes of the same function."""
KNOWN = (np, math)
"""Modules that kernels may use: numba knows them, and its version is part of the digest."""


def maker() -> str:
    """Who compiles, and how."""
    settings = [f"{name}={getattr(config, name, None)!r}" for name in SETTINGS]
    versions = (FORMAT, sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    return repr((versions, numpy_support.numpy_version, settings))


def digest(*parts: object) -> str:
    """A few letters that stand for these parts."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:LENGTH]


def name_of(function: Callable[..., Any]) -> str:
    """A kernel's full name."""
    return f"{function.__module__}.{function.__qualname__}"


def in_words(function: Callable[..., Any]) -> str:
    """A kernel's name as people are told it: where it is, then what it does."""
    module = function.__module__.rpartition(".")[2]
    return f"{module}, {function.__name__.strip('_')}".replace("_", " ")


def made_of(kernel: Dispatcher) -> dict[str, str]:
    """What the kernel and all kernels behind it consist of, by their names."""
    found: dict[str, str] = {}
    waiting = [kernel]
    while waiting:
        one = waiting.pop()
        function = one.py_func
        if name_of(function) in found:
            continue
        known = function.__globals__
        reads = {name: known[name] for name in _globals(function.__code__) if name in known}
        held = inspect.getclosurevars(function).nonlocals
        waiting += [value for value in (*reads.values(), *held.values()) if isinstance(value, Dispatcher)]
        found[name_of(function)] = repr(
            (
                _code(function.__code__, function.__doc__),
                [(name, _value(value, function)) for name, value in sorted((*reads.items(), *held.items()))],
                [_value(value, function) for value in function.__defaults__ or ()],
                sorted((name, repr(value)) for name, value in one.targetoptions.items()),
            )
        )
    return found


def signature(arguments: tuple[types.Type, ...]) -> str:
    """The types of arguments; a tuple with names is told by its class and fields too."""
    return repr([_type(argument) for argument in arguments])


def _type(one: types.Type) -> str:
    if isinstance(one, types.BaseNamedTuple):
        about = one.instance_class
        return f"{about.__module__}.{about.__qualname__}{[*zip(one.fields, map(_type, one.types), strict=True)]}"
    if isinstance(one, types.BaseTuple):
        return f"({', '.join(map(_type, one.types))})"
    return str(one)


def _globals(code: CodeType) -> Iterator[str]:
    """The global names that some code reads, functions inside it included."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _code(code: CodeType, documentation: str | None = None) -> object:
    """What some code does, without where it stands and what is said about it."""
    constants = [
        _code(one) if isinstance(one, CodeType) else None if place == 0 and one == documentation else _constant(one)
        for place, one in enumerate(code.co_consts)
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, constants, names, code.co_flags, code.co_exceptiontable


def _constant(value: object) -> object:
    """A constant; sets in an order of their own."""
    return ("set", sorted(map(repr, value))) if isinstance(value, frozenset) else (type(value).__name__, repr(value))


def _value(value: Any, reader: Callable[..., Any]) -> object:
    """A global or default value that a kernel reads, or what stands for it."""
    if isinstance(value, Dispatcher):
        return name_of(value.py_func)
    if value is None or isinstance(value, (bool, int, float, str)):
        return _constant(value)
    if isinstance(value, tuple):
        return [_value(one, reader) for one in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}", getattr(value, "_fields", ())
    if isinstance(value, ModuleType) and value in KNOWN:
        return value.__name__
    # Whoever writes a kernel sees this at its first call.
    raise TypeError(f"{name_of(reader)} reads a {type(value).__name__}, of which it cannot be told when it changes")
