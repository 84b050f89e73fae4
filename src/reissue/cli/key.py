"""`reissue key`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reissue.cli.output import AsJson, print_json, say


def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the key; outside any series' folder.")],
    as_json: AsJson = False,
) -> None:
    """Make a key for a policy that keeps hashed ids (ids = "hashed" in its table of people).

    Example:

      reissue key ~/keys/clinic.key
    """
    from reissue.tables.identities import make_key

    make_key(file)
    if as_json:
        print_json({"key_file": str(file)})
        return
    say(f'wrote {file}; name it in the policy: [people] ids = "hashed", key_file = "{file}"')
