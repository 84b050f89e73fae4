"""`audit.toml`: how releases made elsewhere are read and judged, kept for the next time.

Its entries are called as the options of `reissue audit`. Lists are lists; what belongs to columns has a table:
`rename`, `missing`, `hierarchy`. Files are named from where `audit.toml` lies.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from reissue.errors import ParameterError, StorageError
from reissue.model.toml_text import Unwieldy, bounded, parsed

ABOUT = """\
# How `reissue audit` reads and judges these releases: what it was told, and what it decided by itself.
# Check it, correct it, and use it again: reissue audit <releases> --options {name}
# Options on the command line go before what stands here.

"""


def write_options(path: Path, options: Mapping[str, Any], *, replace: bool = False) -> None:
    """Write options, by name; what is empty is left out."""
    if path.exists() and not replace:
        raise ParameterError(f"There is a file '{path}' already.", hint="name another file, or pass --force.")
    kept = {name: value for name, value in options.items() if value not in (None, [], {}, "", False)}
    plain = {name: value for name, value in kept.items() if not isinstance(value, Mapping)}
    tables = {name: dict(value) for name, value in kept.items() if isinstance(value, Mapping)}
    text = ABOUT.format(name=path.name) + tomli_w.dumps({**plain, **tables})
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        failure = StorageError(
            f"'{path}' cannot be written: {error.strerror}.", hint="name a file in a folder of yours."
        )
    else:
        return
    raise failure


def read_options(path: Path) -> dict[str, Any]:
    """Options that were written, by name."""
    try:
        found = parsed(bounded(path).decode("utf-8"))
    except OSError as error:
        failure = ParameterError(f"'{path}' cannot be read: {error.strerror}.", hint="check where it lies.")
    except (Unwieldy, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        where = f": {error}" if isinstance(error, Unwieldy | tomllib.TOMLDecodeError) else ", as it is not UTF-8"
        failure = ParameterError(f"'{path}' is no file of options{where}.", hint="write one with --save.")
    else:
        return found
    raise failure
