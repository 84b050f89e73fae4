"""Files into a folder, all or none: they are written beside it, and come into their places by renaming.

The folder appears at once, complete. Where a former export is to be replaced, it is moved aside first: at no time is
there a folder of its name with a part of either.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reissue.errors import ParameterError
from reissue.ledger.durable import (
    PUBLIC_FILE,
    PUBLIC_FOLDER,
    names_in,
    new_file,
    new_folder,
    remove_tree,
    storage,
    sync_folder,
)
from reissue.ledger.layout import PARQUET, RECORD
from reissue.ledger.public_folders import release_folder
from reissue.ledger.sent_packages import EXPORT, SentFile, sent_package

INCOMPLETE = ".incomplete-"
JUST_MADE = 5.0
"""So many seconds a new folder has until it is locked, before it counts as left behind."""


class Staged:
    """Files that are written and not in their places yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, SentFile] = {}
        """Every file so far, by its path in the package."""

    def add(self, name: str, content: bytes) -> SentFile:
        """Write a file."""
        path = self.folder / name
        if not path.parent.is_dir():
            new_folder(path.parent, PUBLIC_FOLDER)
        with new_file(path, PUBLIC_FILE) as file:
            file.write(content)
        self.files[name] = SentFile(hashlib.sha256(content).hexdigest(), len(content))
        return self.files[name]


@contextmanager
def staged(target: Path) -> Iterator[Staged]:
    """A place beside the target to write to; it is gone at the end of the block, whatever happens."""
    with storage(f"Nothing was exported: '{target}' cannot be written"):
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        beside = target.parent / f"{target.name}{INCOMPLETE}{secrets.token_hex(4)}"
        new_folder(beside, PUBLIC_FOLDER)
        held = os.open(beside, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Staged(beside)
        finally:
            os.close(held)
            if beside.exists():
                with suppress(OSError):
                    remove_tree(beside)


def _sweep(target: Path) -> None:
    """Remove what exports to this place left that were killed; who is writing holds a lock on theirs."""
    name = re.compile(re.escape(f"{target.name}{INCOMPLETE}") + "[0-9a-f]{8}")
    for one in names_in(target.parent):
        left = target.parent / one
        if not name.fullmatch(one) or left.is_symlink() or not left.is_dir():
            continue
        with suppress(OSError):  # it may be somebody else's, or gone already
            held = os.open(left, os.O_RDONLY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(held).st_mtime > JUST_MADE:
                    remove_tree(left)
            finally:
                os.close(held)


def former_files(target: Path) -> set[str]:
    """The files of an export that is in a folder, by their paths in it; also of one without a list of them."""
    package = sent_package(target)
    if package is not None:
        return {EXPORT, *package.files}
    release = release_folder(target, target.name)
    if release is None:
        return set()
    stems = [name.removesuffix(PARQUET) for name in release.files]
    return {RECORD, *(f"{stem}{ending}" for stem in stems for ending in (PARQUET, ".csv"))}


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a folder that has something in it, unless it is a former export that is to be replaced."""
    with storage(f"'{target}' could not be read"):
        if target.exists() and not target.is_dir():
            raise ParameterError(f"'{target}' is a file.", hint="name a folder.")
        names = names_in(target)
        if not names:
            return
        former = former_files(target)
        foreign = [name for name in names if not _is_former(target, name, former)]
    if foreign:
        shown = ", ".join(f"'{name}'" for name in foreign[:5]) + (" and more" if len(foreign) > 5 else "")
        raise ParameterError(
            f"'{target}' holds what is no export of Reissue: {shown}.",
            hint="choose another folder; nothing was changed.",
        )
    if not force:
        raise ParameterError(
            f"'{target}' already holds an export.", hint="choose another folder, or pass force (--force)."
        )


def _is_former(target: Path, name: str, former: set[str]) -> bool:
    path = target / name
    if path.is_dir() and not path.is_symlink():
        return all(f"{name}/{inside}" in former for inside in names_in(path)) and bool(names_in(path))
    return name in former


def put_in_place(made: Staged, target: Path) -> None:
    """Let the staged files be the folder; a former export there goes when they are in its place."""
    target = target.resolve()
    if not target.is_dir():
        _rename(made.folder, target)
        return
    made.folder.chmod(stat.S_IMODE(target.stat().st_mode))
    aside = target.with_name(f"{target.name}.replaced-{secrets.token_hex(4)}")
    _rename(target, aside)
    try:
        _rename(made.folder, target)
    except BaseException:
        if not target.exists():
            _rename(aside, target)
        raise
    # What somebody put there meanwhile stays where it is; and what cannot be removed has a name that says what it is.
    with suppress(OSError):
        for name in former_files(aside):
            (aside / name).unlink(missing_ok=True)
        for name in names_in(aside):
            (aside / name).rmdir()
        aside.rmdir()


def _rename(source: Path, target: Path) -> None:
    source.rename(target)
    sync_folder(target.parent)
