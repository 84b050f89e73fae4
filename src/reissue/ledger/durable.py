"""Durable file operations: what is done here survives a power cut once the call has returned.

Two rules run through the ledger. A file is complete and synced before anything refers to it, and it
comes into its final place by a rename, which happens entirely or not at all. A new name lasts only when
its directory has been synced too.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from reissue.errors import ReissueError, StorageError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
PUBLIC_FILE = 0o666
PUBLIC_FOLDER = 0o777

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
_ELSEWHERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)


@contextmanager
def storage(what: str, hint: str | None = None) -> Iterator[None]:
    """Turn an OSError of the block into a StorageError that begins with `what`."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise storage_error(what, error.errno, hint) from error


def storage_error(what: str, code: int | None, hint: str | None = None) -> StorageError:
    """A StorageError for an error number of the operating system."""
    if code in _FULL:
        remedy = "free some space (or raise the quota or size limit) and try again."
    elif code in _FORBIDDEN:
        remedy = "check that the folder may be written to and is not mounted read-only, then try again."
    elif code in _ELSEWHERE:
        remedy = "check the path, and that every folder in it is there."
    else:
        remedy = "check the disk or the network drive, then try again."
    why = os.strerror(code) if code else "the operating system refused"
    return StorageError(f"{what}: {why}.", hint=hint or remedy)


@contextmanager
def saying(outcome: str, *, unless: str | None = None) -> Iterator[None]:
    """Let errors of ours in the block begin with the outcome, unless they say it already, or that it is another."""
    try:
        yield
    except ReissueError as error:
        if outcome not in error.what and (unless is None or unless not in error.what):
            error.what = f"{outcome}. {error.what}"
            error.args = (error.what,)
        raise


def sync(descriptor: int) -> None:
    """Wait until what was written to an open file is on the medium."""
    full = getattr(fcntl, "F_FULLFSYNC", None)  # on macOS fsync stops at the drive's own cache
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(descriptor)
    except OSError as error:
        # Some network and user-space file systems cannot sync a directory and say so with EINVAL;
        # there the order of operations is all there is to be had.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


@contextmanager
def new_file(path: Path, mode: int) -> Iterator[BinaryIO]:
    """Create a file that does not exist yet, and sync it at the end of the block.

    Private files have their mode from the first moment and whatever the umask; public ones obey the umask.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "r+b") as file:
        if mode == PRIVATE_FILE:
            os.fchmod(descriptor, mode)
        yield file
        file.flush()
        sync(descriptor)


def new_folder(path: Path, mode: int) -> None:
    """Create a folder; a private one has its mode whatever the umask."""
    path.mkdir(mode=mode)
    if mode == PRIVATE_FOLDER:
        path.chmod(mode)


def write_text(path: Path, text: str, mode: int) -> None:
    """Write a new text file and sync it."""
    with new_file(path, mode) as file:
        file.write(text.encode())


def move(source: Path, target: Path) -> None:
    """Rename a file or folder and make its new place last; an old file at the target is replaced."""
    source.replace(target)
    sync_folder(target.parent)


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder, itself or on the way no link."""
    return path.is_dir() and not path.is_symlink() and not path.parent.is_symlink()


def is_own_file(path: Path) -> bool:
    """The same of a file."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def remove_file(path: Path) -> None:
    """Remove a file, if it is there, for good."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_tree(path: Path) -> None:
    """Remove a folder and everything in it; links in it are removed, not followed."""
    shutil.rmtree(path)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, read in small pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none when there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries)
    except FileNotFoundError:
        return []
