"""Where compiled kernels are kept: a folder of the installation, of the user, or a private one for now.

Each lies in a file of its own whose name says what it was made of and for which arguments. So nothing is ever
overwritten with anything else, however many processes compile at once, and nothing that is read can be out of date. A
file begins with a digest of the rest: one that was cut short is as good as none.

What is read back is executed. So a folder counts only if nobody but its user and root can put anything into it; one
inside the installation, if nobody can who could not change the installation itself.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reissue.kernels.announcing import say_once

VARIABLE = "REISSUE_KERNELS"
"""The variable that names a folder for compiled kernels."""
PACKAGE = Path(__file__).parents[1]
SUFFIX = ".compiled"
ROOT = 0
READ_BY_ALL = 0o755
"""The mode of a folder that was named: whoever named it may have done so for everybody."""
DIGEST = hashlib.sha256().digest_size
OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Folder(NamedTuple):
    """A folder of compiled kernels."""

    path: Path
    like: Path | None = None
    """The folder of the installation it is part of."""

    @contextmanager
    def opened(self) -> Iterator[int | None]:
        """The folder held open; None if it is not there, or others could have put something into it.

        As long as it is open, what was found out about it holds for what is read from it.
        """
        try:
            place = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            yield None
            return
        try:
            owners, writers = {os.geteuid(), ROOT}, 0
            if self.like is not None:
                installation = self.like.stat()
                owners.add(installation.st_uid)
                writers = installation.st_mode & OTHERS
            found = os.fstat(place)
            yield place if found.st_uid in owners and not found.st_mode & OTHERS & ~writers else None
        finally:
            os.close(place)

    def trusted(self) -> bool:
        """Whether what is in it can be loaded."""
        with self.opened() as place:
            return place is not None

    def writable(self) -> bool:
        """Whether it can be loaded from and written to."""
        return self.trusted() and os.access(self.path, os.W_OK | os.X_OK)


class Places(NamedTuple):
    """The folders of compiled kernels."""

    read: tuple[Folder, ...]
    """Where they are looked for, one after the other."""
    write: Path | None
    """Where new ones go; None if there is nowhere."""


@cache
def places() -> Places:
    """Where this process looks for compiled kernels and puts them."""
    return choose(PACKAGE, os.environ.get(VARIABLE))


def choose(package: Path, named: str | None) -> Places:
    """The folders for an installation, and for a folder that was named, which then comes first."""
    # Installations that share a folder do not get into each other's way.
    own = f"{sys.implementation.cache_tag}-{hashlib.sha256(os.fsencode(package)).hexdigest()[:12]}"
    if named:
        first = Folder(Path(named) / own)
        _made(first.path, READ_BY_ALL)
        if not first.trusted():
            say_once(
                f"nothing is loaded from {first.path}, nor kept there: it cannot be made or read, or others than you "
                f"and root own it or can write to it. Name another folder in {VARIABLE}."
            )
    else:
        first = Folder(package / "kernels" / "__pycache__" / f"compiled-{sys.implementation.cache_tag}", package)
        _made(first.path, stat.S_IMODE(package.stat().st_mode))
    if first.writable():
        return Places((first,), first.path)
    readable = (first,) if first.trusted() else ()
    for path in (*_of_user(own), Path(tempfile.gettempdir()) / f"reissue-{os.geteuid()}" / own):
        if _made(path) and Folder(path).writable():
            return Places((*readable, Folder(path)), path)
    try:
        private = Path(tempfile.mkdtemp(prefix="reissue-"))
    except OSError:
        return Places(readable, None)
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return Places((*readable, Folder(private)), private)


def read(name: str) -> bytes | None:
    """What is kept under a name, or None if there is nothing, or nothing whole."""
    for folder in places().read:
        with folder.opened() as place:
            if place is None:
                continue
            try:
                with os.fdopen(os.open(name + SUFFIX, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=place), "rb") as file:
                    content = file.read()
            except OSError:
                continue
        body = content[DIGEST:]
        if hashlib.sha256(body).digest() == content[:DIGEST]:
            return body
    return None


def write(name: str, body: bytes) -> None:
    """Keep something under a name, whole or not at all.

    A name is a kernel, what it was made of and for what, with dashes between them. What the same kernel was before is
    removed. Where it cannot be written nothing is kept, and it is said.
    """
    folder = places().write
    if folder is None:
        return
    kernel, made_of, _ = name.rsplit("-", 2)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{kernel}-", suffix=".new", delete=False) as file:
            try:
                file.write(hashlib.sha256(body).digest() + body)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                Path(file.name).replace(folder / (name + SUFFIX))
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        say_once(f"what was compiled cannot be kept in {folder}: {error.strerror}")
        return
    for old in folder.glob(f"{kernel}-*{SUFFIX}"):
        if old.name.rsplit("-", 2)[:2] != [kernel, made_of]:
            with suppress(FileNotFoundError):  # another process did the same
                old.unlink()


def size() -> int:
    """How many bytes are kept where new ones go."""
    folder = places().write
    return sum(file.stat().st_size for file in folder.glob(f"*{SUFFIX}")) if folder else 0


def _of_user(own: str) -> Iterator[Path]:
    """The user's folder for such things, if there is such a user."""
    if given := os.environ.get("XDG_CACHE_HOME"):
        yield Path(given) / "reissue" / "kernels" / own
    else:
        with suppress(RuntimeError):  # nobody knows where they are at home
            yield Path.home() / ".cache" / "reissue" / "kernels" / own


def _made(folder: Path, mode: int = 0o700) -> bool:
    """Make a folder if need be; whether it is there. What is made above it is no more open, whatever the umask."""
    try:
        for above in reversed(folder.parents):
            if not above.exists():
                above.mkdir(mode=mode, exist_ok=True)
        folder.mkdir(mode=mode, exist_ok=True)
    except OSError:
        return folder.is_dir()
    return True
