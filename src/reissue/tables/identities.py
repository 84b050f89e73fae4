"""Keyed hashes in place of people's ids, for policies that keep no ids at all.

The key lies outside the series' folder. Whoever has the folder alone cannot tell which id a hash came
from, even by trying all ids there are.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from numbers import Integral
from pathlib import Path

import polars as pl

from reissue.errors import ParameterError, PolicyError

KEY_BYTES = 32


def make_key(path: str | Path) -> None:
    """Write a new random key to a file that only its owner can read; an existing file is never replaced."""
    path = Path(path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise PolicyError(f"There is a file '{path}' already; a key is never replaced.") from None
    except OSError as error:
        raise PolicyError(f"The key file '{path}' cannot be written: {error.strerror}.") from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(KEY_BYTES) + "\n")


def read_key(path: str | Path, *, outside: str | Path | None) -> bytes:
    """The key in a file, which must not lie inside the folder of the series."""
    path = Path(path).expanduser()
    if outside is not None and path.resolve().is_relative_to(Path(outside).resolve()):
        raise PolicyError(
            f"The key file '{path}' lies inside the series' folder, where it protects nothing.",
            hint="move it elsewhere and change key_file in the policy.",
        )
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise PolicyError(
            f"The key file '{path}' cannot be read: {error.strerror}.",
            hint="restore it from a backup: a series cannot be continued with another key. For a new series, "
            "`reissue key <file>` makes one.",
        ) from error
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise PolicyError(f"The file '{path}' does not hold a key.", hint="make a key with: reissue key <file>")
    return key


def plain_id(person: object) -> str | int:
    """An id as tables have it: text or a whole number, whatever library the number came from."""
    if isinstance(person, str):
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
