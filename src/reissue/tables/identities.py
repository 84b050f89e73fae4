"""Keyed hashes in place of people's ids, for policies that keep no ids at all.

The key lies outside the series' folder. Whoever has the folder alone cannot tell which id a hash came
from, even by trying all ids there are.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from numbers import Integral
from pathlib import Path

import polars as pl

from reissue.errors import NOT_TEXT, ParameterError, PolicyError, check_text, is_text

KEY_BYTES = 32
MOST_BYTES = 1 << 10
"""A file that is longer is no key, and not read to its end."""
ROOT = 0
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_key(path: str | Path) -> None:
    """Write a new random key to a file that only its owner can read; an existing file is never replaced."""
    path = at_home(path)
    check_text("The name of the key file", path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise PolicyError(f"There is a file '{path}' already; a key is never replaced.") from None
    except OSError as error:
        raise PolicyError(f"The key file '{path}' cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        os.fchmod(descriptor, 0o600)  # a umask takes away from what was asked for, perhaps too much
        file.write(secrets.token_hex(KEY_BYTES) + "\n")


def read_key(path: str | Path, *, outside: str | Path | None) -> bytes:
    """The key in a file, which must not lie inside the folder of the series."""
    path = at_home(path)
    if outside is not None and path.resolve().is_relative_to(Path(outside).resolve()):
        raise PolicyError(
            f"The key file '{path}' lies inside the series' folder, where it protects nothing.",
            hint="move it elsewhere and change key_file in the policy.",
        )
    try:
        text = _private_text(path)
    except OSError as error:
        raise PolicyError(
            f"The key file '{path}' cannot be read: {error.strerror}.",
            hint="restore it from a backup: a series cannot be continued with another key. For a new series, "
            "`reissue key <file>` makes one.",
        ) from error
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise PolicyError(f"The file '{path}' does not hold a key.", hint="make a key with: reissue key <file>")
    return key


def at_home(path: str | Path) -> Path:
    """The path of a key file; `~` stands for the home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise PolicyError(
            f"The key file '{path}' lies in a home folder, and nobody knows where that is.",
            hint="set HOME, or name the file by its whole path.",
        ) from None


def _private_text(path: Path) -> bytes:
    """The beginning of a file that is its user's alone, or root's; a link may lead to it."""
    # Not to wait at a pipe that nobody writes to.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise PolicyError(f"'{path}' is not a file.", hint="make a key with: reissue key <file>")
        if found.st_uid not in (os.geteuid(), ROOT):
            raise PolicyError(
                f"The key file '{path}' belongs to another user, who can read and replace it.",
                hint="let it belong to you (chown), or to root.",
            )
        if found.st_mode & OTHERS:
            raise PolicyError(
                f"The key file '{path}' is open to others (its mode is {stat.S_IMODE(found.st_mode):04o}), so it "
                "protects nothing.",
                hint=f"close it with `chmod 600 {path}`. If others may have read it, make a new key and a new series.",
            )
        return file.read(MOST_BYTES)


def plain_id(person: object) -> str | int:
    """An id as tables have it: text or a whole number, whatever library the number came from."""
    if isinstance(person, str):
        if not is_text(person):
            raise ParameterError(f"An id holds {NOT_TEXT}.")
        return person
    if isinstance(person, Integral) and not isinstance(person, bool):
        return int(person)
    raise ParameterError(f"An id is text or a whole number, not a {type(person).__name__}.")


def pseudonym(person: str | int, key: bytes) -> str:
    """The keyed hash of one id; whole numbers and text never collide."""
    kind = "number" if isinstance(person, int) else "text"
    return hashlib.blake2b(f"{kind}:{person}".encode(), key=key, digest_size=16).hexdigest()


def pseudonyms(ids: pl.Series, key: bytes) -> pl.Series:
    """The keyed hash of every id; missing ids stay missing."""
    # No vectorised library offers a keyed cryptographic hash; this is about a microsecond for each id.
    hashed = [None if person is None else pseudonym(person, key) for person in ids]
    return pl.Series(ids.name, hashed, dtype=pl.String)
