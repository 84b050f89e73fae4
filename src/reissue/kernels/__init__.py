"""The compiled loops: plain arrays in, plain arrays out.

There is one way to compile: `kernel` for what is called from Python, `inner` for what only kernels call. What was
compiled is kept (`keeping`) under a name that says what it was made of (`fingerprint`), so nobody has to remember
anything when a kernel changes. While something is compiled, people are told (`announcing`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile a function when it is first called with arguments of some types, and keep what was compiled."""
    from reissue.kernels.compiling import compiled

    return compiled(function)


def inner(function: Function) -> Function:
    """The same for a function that only kernels call. It has no way in from Python, which takes long to compile."""
    from reissue.kernels.compiling import compiled

    return compiled(function, from_python=False)
