"""What one worker of the tests has compiled, the others take over.

Processes that compile at the same time can spoil numba's cache for each other: two of them write different signatures
of a kernel to a file of the same number. So each worker has a cache of its own, which the processes that it starts
use too. Beside them lies an exchange, where a file's name says what is in it and a file is only ever replaced as a
whole. There a worker looks before it compiles anything, and where another compiles the same kernel, it waits for it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def take_over(exchange: Path) -> None:
    """Compile nothing from now on that lies in this folder, and put there whatever is compiled.

    With a numba that is made otherwise inside, every worker compiles for itself: that takes longer, and nothing else.
    """
    if not _as_expected():
        return
    exchange.mkdir(parents=True, exist_ok=True)
    _exchange_what_is_cached(exchange)
    _take_turns(exchange)


def _as_expected() -> bool:
    """Whether numba has the insides that are taken hold of here."""
    try:
        from numba.core.caching import IndexDataCacheFile
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.dispatcher import Dispatcher
        from numba.core.serialize import dumps
    except ImportError:
        return False
    own = {"_version", "_cache_path", "_index_name", "_source_stamp"}
    names = {*IndexDataCacheFile.__init__.__code__.co_names, *IndexDataCacheFile.__init__.__code__.co_varnames}
    return own <= names and hasattr(Dispatcher, "compile") and callable(dumps) and global_compiler_lock is not None


def _exchange_what_is_cached(exchange: Path) -> None:
    from numba.core.caching import IndexDataCacheFile
    from numba.core.serialize import dumps

    save, load = IndexDataCacheFile.save, IndexDataCacheFile.load

    def place(cache: Any, key: Any) -> Path:
        # Without the stamp of the source, so that a kernel takes the place of what it was before a change.
        named = repr((cache._version, Path(cache._cache_path).name, cache._index_name, key[0]))
        return exchange / hashlib.sha256(named.encode()).hexdigest()

    def save_for_all(cache: Any, key: Any, data: object) -> None:
        save(cache, key, data)
        wanted = place(cache, key)
        draft = wanted.with_suffix(f".{os.getpid()}")
        draft.write_bytes(dumps(((cache._source_stamp, key), data)))
        draft.replace(wanted)

    def load_from_all(cache: Any, key: Any) -> object:
        if (own := load(cache, key)) is not None:
            return own
        try:
            content = place(cache, key).read_bytes()
        except FileNotFoundError:
            return None
        made_of, data = pickle.loads(content)
        if made_of != (cache._source_stamp, key):
            return None
        Path(cache._cache_path).mkdir(parents=True, exist_ok=True)
        save(cache, key, data)
        return data

    IndexDataCacheFile.save, IndexDataCacheFile.load = save_for_all, load_from_all


def _take_turns(exchange: Path) -> None:
    """One process at a time compiles a kernel. Kernels call each other in no circle, so nobody waits for ever."""
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    compile_now = Dispatcher.compile
    mine: set[str] = set()

    @contextmanager
    def turn(name: str) -> Iterator[None]:
        if name in mine:  # it calls itself
            yield
            return
        with (exchange / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            mine.add(name)
            try:
                yield
            finally:
                mine.remove(name)

    def compile_in_turn(kernel: Any, signature: Any) -> Any:
        function = kernel.py_func
        if not function.__module__.startswith(("reissue.", "reissue_studies.")):
            return compile_now(kernel, signature)
        # Threads first: one that had its turn, and waited for this lock, could wait for one that waits for the turn.
        with global_compiler_lock, turn(f"{function.__module__}.{function.__qualname__}"):
            return compile_now(kernel, signature)

    Dispatcher.compile = compile_in_turn
