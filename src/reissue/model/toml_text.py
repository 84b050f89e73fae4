"""Files that people write, policies and hierarchies: read up to a size, and parsed up to a depth.

A parser that goes down with every bracket runs out of stack, and one that walks down a dotted name again at every part
takes hours for a long one. Neither is anything that somebody meant.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

MOST = 64 << 20
"""How many bytes a file may have: a million labels on five levels."""
DEEPEST = 100
"""How many levels there may be, of a hierarchy too."""

_NAME = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DOTTED = re.compile(rf"^[ \t\[]*+(?:{_NAME}\.[ \t]*+){{{DEEPEST + 30}}}", re.M)
"""A name of more parts than levels and what stands above them in a policy."""


class Unwieldy(ValueError):
    """A text that is too large, or nested too deeply."""


def bounded(path: Path) -> bytes:
    """The content of a file that is not too large."""
    with path.open("rb") as file:
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise Unwieldy(f"it is larger than {MOST >> 20} MB")
    return content


def parsed(text: str) -> dict[str, Any]:
    """TOML as nested dictionaries."""
    if len(text) > MOST:
        raise Unwieldy(f"it is larger than {MOST >> 20} MB")
    if _DOTTED.search(text):
        raise Unwieldy(f"it is nested too deeply: a name has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        failure = Unwieldy("it is nested too deeply")
    raise failure


def quoted(text: str) -> str:
    """A text as TOML has it."""
    # A JSON string is a TOML string too, but for one sign that TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
