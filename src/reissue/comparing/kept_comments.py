"""A policy file with another form and method, and all else as somebody wrote it, comments included.

`reissue init` says of every line why it is there, and of columns that are left out that they look sensitive. Whoever
takes the method that `reissue compare` recommends still has all of that to confirm.
"""

from __future__ import annotations

import re
from pathlib import Path

import tomli_w

from reissue.errors import ReissueError
from reissue.publishing.policy import Policy

_TABLE = re.compile(r"\s*\[")
_METHOD = re.compile(r"\s*\[\s*[\"']?method[\"']?\s*[\].]")
_ABOVE = re.compile(r"\s*(series|form)\s*=|# Note: `publish` will refuse ")
"""What is not kept above all tables: it is of the method that is not taken."""


def with_comments(text: str, policy: Policy, folder: Path) -> str | None:
    """`text` with the form and the method of `policy`, to lie in `folder`; None where that would not say `policy`:
    files that it names lie elsewhere, or it is written in a way that is not taken apart here."""
    said = policy.to_dict()
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if _TABLE.match(line)), len(lines))
    above = [line for line in lines[:first] if not _ABOVE.match(line)]
    head, rest = _trimmed(above), []
    ours = False
    for line in lines[first:]:
        if _TABLE.match(line):
            ours = _METHOD.match(line) is not None
        if not ours:
            rest.append(line)
    names = tomli_w.dumps({name: said[name] for name in ("series", "form")}).rstrip()
    method = tomli_w.dumps({"method": said["method"]}).rstrip()
    written = "\n".join([*head, *([""] if head else []), names, "", *_trimmed(rest), "", method, ""])
    try:
        same = Policy.from_toml(written, folder=folder).to_dict() == said
    except ReissueError:
        return None
    return written if same else None


def _trimmed(lines: list[str]) -> list[str]:
    """Without empty lines at both ends."""
    there = [at for at, line in enumerate(lines) if line.strip()]
    return lines[there[0] : there[-1] + 1] if there else []
