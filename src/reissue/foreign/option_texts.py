"""Names and pairs as one text, as options have them: `age,zip`, `old=new`.

A name with a comma, an equals sign or a double quote in it stands in double quotes, and double quotes in it are
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reissue.errors import ParameterError

_PART = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^",=]*))\s*(,|=|\Z)')


def names_text(names: Iterable[str]) -> str:
    """Names with commas between them."""
    return ",".join(map(_quoted, names))


def pair_text(old: str, new: str) -> str:
    """`old=new`."""
    return f"{_quoted(old)}={_quoted(new)}"


def names_of(text: str) -> list[str]:
    """The names in a text; the way back from `names_text`. An equals sign is part of a name."""
    parts = _parts(text)
    names: list[str] = []
    joined = ""
    for name, behind in parts:
        joined += name
        if behind == "=":
            joined += "="
            continue
        names.append(joined.strip())
        joined = ""
    return [name for name in names if name]


def pair_of(text: str) -> tuple[str, str] | None:
    """The two sides of `old=new`, the second as it is written; None where there is no equals sign outside of quotes."""
    match = _PART.match(text)
    if match is None or match[3] != "=":
        return None
    name = match[2].strip() if match[1] is None else match[1].replace('""', '"')
    return (name, text[match.end() :].strip()) if name else None


def _parts(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            raise ParameterError("A double quote is not closed, or stands inside of a name.", hint='write "a ""b""", c')
        quoted, bare, behind = match.groups()
        found.append((bare.strip() if quoted is None else quoted.replace('""', '"'), behind))
        at = match.end()
        if not behind:
            return found


def _quoted(name: str) -> str:
    if name and name == name.strip() and not any(sign in name for sign in ',="'):
        return name
    return '"' + name.replace('"', '""') + '"'
