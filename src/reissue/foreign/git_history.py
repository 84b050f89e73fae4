"""The states of a file in a git repository, one for each commit that changed it, the oldest first.

git is asked, never a shell: the folder and the file are arguments of their own, names are taken as they are, and
nothing that the repository sets up is run.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from reissue.errors import MissingExtra, TableError

_POINTER = b"version https://git-lfs"
_SECONDS = 120


class State(NamedTuple):
    """A file as a commit left it."""

    name: str
    """The day of the commit and the beginning of its number."""
    content: bytes


def history_of(folder: Path, file: str) -> list[State]:
    """Every state of a file, in the order of its commits."""
    if not folder.is_dir():
        raise TableError(f"There is no folder '{folder}'.", hint="name the folder of a git repository: --git PATH")
    told = _git(folder, "log", "--reverse", "--date-order", "--format=%H %cs", "--end-of-options", "HEAD", "--", file)
    if told is None:
        raise TableError(
            f"The history of '{file}' in '{folder}' cannot be read: it is no git repository, or git may not read it.",
            hint="name the folder of a repository that belongs to you (--git PATH), with at least one commit.",
        )
    states: list[State] = []
    for line in told.decode("ascii", "replace").splitlines():
        commit, _, day = line.partition(" ")
        content = _git(folder, "cat-file", "blob", f"{commit}:./{file}")
        if content is None:
            continue  # the commit that removed it
        if content.startswith(_POINTER):
            raise TableError(
                f"'{file}' is kept outside of the repository (Git LFS).", hint="check the versions out as files."
            )
        if not states or states[-1].content != content:
            states.append(State(f"{day} {commit[:8]}", content))
    if not states:
        raise TableError(
            f"No commit of '{folder}' has a file '{file}'.", hint="name it from the folder on: --file data/cases.csv"
        )
    return states


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git answers; None where it fails."""
    settings = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"]
    command = ["git", "--no-pager", "--literal-pathspecs", *settings, "-C", str(folder), *arguments]
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, **quiet},
        )
    except FileNotFoundError:
        failure: TableError | MissingExtra = MissingExtra(
            "Reading the history of a file needs the program 'git', which is not there.",
            hint="install git, or check the versions out as files of a folder.",
        )
    except (subprocess.TimeoutExpired, OSError):
        failure = TableError(f"git did not answer about '{folder}'.", hint="check the versions out as files.")
    else:
        return done.stdout if done.returncode == 0 else None
    raise failure
