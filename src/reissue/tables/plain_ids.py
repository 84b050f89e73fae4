"""Plain forms of ids: what is left of `P-0421`, `p0421` and `P_421` when they are taken for the same.

Case, punctuation, spaces and leading zeros are what changes when another program writes a table. Two ids with one plain
form need not be one person; but who was published under one and comes back under the other is not protected. Zeros are
left out before the first figure only: ids of one length, such as the hexadecimal digits of a hash, stay apart by that.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import cache
from unicodedata import decimal

import polars as pl


def plain_forms(ids: pl.Series) -> pl.Series:
    """The plain form of each id that is text; null where nothing is left of it."""
    texts = ids.cast(pl.String)
    if not (texts.str.len_bytes() == texts.str.len_chars()).all():  # to normalise takes longest, and ASCII is normal
        texts = texts.str.normalize("NFKC").str.to_lowercase().str.replace_many(_otherwise_written())
    letters = texts.str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]", "")
    forms = letters.str.replace(r"^([^0-9]*)0+([0-9])", "${1}${2}")
    return forms.replace("", None).alias("plain")


@cache
def _otherwise_written() -> dict[str, str]:
    """Figures of other scripts, and small letters that are others when written as capitals and back."""
    figures = re.findall(r"\d", "".join(map(chr, range(128, sys.maxunicode))))
    return {**{sign: str(decimal(sign)) for sign in figures}, "ß": "ss", "ς": "σ"}


def plain_pseudonyms(ids: pl.Series, key: bytes) -> pl.Series:
    """The keyed hash of the plain form of each id; it is never the hash of an id."""
    hashed = [None if form is None else _hashed(form, key) for form in plain_forms(ids)]
    return pl.Series("plain", hashed, dtype=pl.String)


def _hashed(form: str, key: bytes) -> str:
    return hashlib.blake2b(f"plain:{form}".encode(), key=key, digest_size=16).hexdigest()
