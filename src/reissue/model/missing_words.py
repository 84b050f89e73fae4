"""Cells that say that something is not known, in words or by a date that is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from reissue.arrays.types import Bools
from reissue.model.hierarchy import MISSING

if TYPE_CHECKING:
    from reissue.model.published import Published

MISSING_WORDS = frozenset(
    {
        "unknown", "not reported", "not stated", "not available", "not specified", "unspecified", "missing", "n/a",
        "n.a.", "#n/a", "undisclosed", "not disclosed", "no data", "not known", "unknown/missing", "not recorded",
        "information pending", "under investigation", "?", "-", "--", "–", ".", "..", "suppressed", "redacted",
        "masked", MISSING,
        "unbekannt", "keine angabe", "ohne angabe", "nicht erhoben", "k.a.", "desconocido", "sin información",
        "sin informacion", "sin dato", "sin datos", "sin especificar", "no especificado", "no reportado", "no consta",
        "en investigación", "se ignora", "s/d", "ignorado", "desconhecido", "não informado", "nao informado",
        "sem informação", "inconnu", "inconnue", "non précisé", "non renseigné", "non noto",
    }
)  # fmt: skip
"""What people write where they do not know a value; in small letters."""
ANSWERS = frozenset({"none", "refused", "declined", "pending"})
"""What says so beside numbers and dates; elsewhere it may be an answer like others."""

_NO_DATE = re.compile(r"([09])\1(?:\1\1)?([/.-])\1\1\2\1\1(?:\1\1)?")
"""`9999-99-99`, `00/00/0000`: what is written where there is no date."""


def says_missing(text: str) -> bool:
    """Whether a cell says in words, or by a date that is none, that something is not known."""
    text = text.strip()
    return text.casefold() in MISSING_WORDS or _NO_DATE.fullmatch(text) is not None


def no_number(text: str) -> bool:
    """The same of a cell beside numbers or dates."""
    return says_missing(text) or text.strip().casefold() in ANSWERS


def nothing_known(published: Published, column: str | None = None) -> Bools:
    """Which sensitive values, or of one of several columns, say that nothing is known, as `Unknown` does."""
    columns = {one.name: one for one in published.columns}
    if column is not None:
        return _missing(columns[column].values)
    if not columns:
        return _missing(published.values)
    whole = [_missing(one.values)[one.of] for one in columns.values()]
    return np.asarray(np.logical_and.reduce(whole), dtype=np.bool_)


def _missing(values: tuple[object, ...]) -> Bools:
    return np.array([says_missing(str(value)) for value in values], dtype=np.bool_)
