"""The series that the tests of breaking in attack: a real one, published by m-invariance, with everything in it.

Newcomers and leavers, counterfeits, an amended policy, somebody forgotten, tables in files of their own and tables that
share one, ids in several files, and an anchor beside the folder. All cells begin with CANARY: no error may quote one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

import reissue as ri
from reissue.ledger import staging

M = 4
VALUES = 8
NEXT = 4
"""The number of the release that is published after an attack."""


def table(number: int) -> pl.DataFrame:
    """The table of a month: 30 people come each time, and a third of those who were there has left."""
    people = [n for n in range(90 + 30 * number) if n % 3 or n // 30 >= number]
    return pl.DataFrame(
        {
            "person": [f"CANARY-{n}" for n in people],
            "age": [20 + n * 7 % 60 for n in people],
            "town": [f"CANARY town {n * 5 % 7}" for n in people],
            "value": [f"CANARY value {_value(n)}" for n in people],
        }
    )


def _value(person: int) -> int:
    """Some values are rare, so that counterfeits are needed when people leave."""
    return min(person * 13 % 23 // 2, VALUES - 1)


def policy(anchor: Path | None, *, disclose: tuple[str, ...] = ()) -> ri.Policy:
    schema = ri.Schema(person="person", quasi={"age": ri.Numeric(), "town": ri.Categorical()}, sensitive="value")
    many = ri.Checks(counterfeit=1, same_state="accept")  # they are wanted here, and two writers with one table
    return ri.Policy(schema, ri.MInvariance(m=M), anchor=anchor and str(anchor), disclose=disclose, checks=many)


def time(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


@contextmanager
def several_files() -> Iterator[None]:
    """Let large private tables have files of their own, although these are small."""
    before, staging.SMALL = staging.SMALL, 1500
    try:
        yield
    finally:
        staging.SMALL = before


def published(folder: Path, number: int, policy: ri.Policy | None = None) -> ri.Release:
    """Publish the table of a month: with the same history the same public files to the byte."""
    with several_files():
        return ri.publish(folder, table(number), policy, seed=number, time=time(number))


class Scene:
    """A series and its anchor, as they are before an attack; put back as often as is needed."""

    def __init__(self, work: Path, *, anchored: bool = True) -> None:
        self.folder = work / "clinic"
        self.anchor = work / "elsewhere" / "clinic.anchor"
        self.anchor.parent.mkdir()
        self._anchored = anchored
        self._make()
        self._before = self.bytes()
        published(self.folder, NEXT)
        published(self.folder, NEXT + 1)
        self.sound = [files_under(self.folder / "public" / f"{number:04}") for number in (NEXT, NEXT + 1)]
        """The public files of the next two releases, as they come without an attack."""
        self.restore()
        self.forget_state()

    def forget_state(self) -> None:
        """Let the state folder of the user know what the folder is now: it was put back, which no user should do."""
        with ri.open(self.folder) as series, series._ledger.writing(settling=True):
            series._ledger._keep_outside()

    def _make(self) -> None:
        place = self.anchor if self._anchored else None
        published(self.folder, 1, policy(place))
        published(self.folder, 2)
        with ri.open(self.folder) as series:
            series.amend(policy(place, disclose=("counterfeits",)), "how many there are is told from now on")
        published(self.folder, 3)
        with ri.open(self.folder) as series:
            series.forget("CANARY-1", "CANARY-95")

    def bytes(self) -> dict[Path, bytes]:
        """Every file of the series, and the anchor; not the index of the log, which says nothing."""
        files = {path for path in self.folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")}
        return {path: path.read_bytes() for path in sorted(files | set(self.anchor.parent.iterdir()))}

    @property
    def before(self) -> dict[Path, bytes]:
        return self._before

    def restore(self) -> None:
        """Undo whatever was done to the series."""
        now = self.bytes()
        for path in (*now, *self.folder.rglob("*-shm")):
            if path not in self._before:
                path.unlink()
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()) and path.name != "staging":
                path.rmdir()
        for path, content in self._before.items():
            if now.get(path) != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o644 if path.is_relative_to(self.folder / "public") else 0o600)

    def rebuild(self) -> None:
        """Undo it whatever it was: links, pipes and other folders beside."""
        for path in self.folder.parent.iterdir():
            if path not in (self.folder, self.anchor.parent):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(self.folder)
        for folder in ("private/staging", "private/blobs", "public"):
            (self.folder / folder).mkdir(parents=True)
        (self.folder / "private").chmod(0o700)
        self.restore()
        self.forget_state()

    def shown(self, path: Path) -> str:
        """A file as messages name it."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def files_under(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
