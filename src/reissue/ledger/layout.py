"""Where everything of a series lies in its folder.

clinic/
  policy.toml
  public/0001/     the Parquet files and release.json: what may leave the building
  private/         mode 0700, every file in it 0600
    catalog.sqlite
    lock
    blobs/         private tables, small ones several to a file; each file is named by the SHA-256 of its bytes
    staging/       work under way; whatever a dead process left there is swept by the next writer
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reissue.errors import SeriesDamaged

RECORD = "release.json"
POLICY = "policy.toml"
PARQUET = ".parquet"

_BLOB = re.compile(r"[0-9a-f]{64}\.parquet")
_STAGED = re.compile(r"[0-9a-f]{16}")
_PUBLIC = re.compile(r"[a-z][a-z0-9_-]{0,63}\.parquet")
_RELEASE = re.compile(r"[0-9]{4,}")
_PACK = "pack:"


class Blob(NamedTuple):
    """The file that a private table is in."""

    sha256: str
    packed: bool = False
    """Whether other tables may be in it too."""

    @classmethod
    def parse(cls, text: str) -> Blob:
        """From the text that the catalog keeps of it."""
        return cls(text.removeprefix(_PACK), text.startswith(_PACK))

    def __str__(self) -> str:
        return f"{_PACK if self.packed else ''}{self.sha256}"


@dataclass(frozen=True)
class Layout:
    """The paths of one series."""

    root: Path
    private: Path

    @classmethod
    def of(cls, root: Path) -> Layout:
        """The layout of the series in `root`."""
        return cls(root, root / "private")

    @property
    def policy(self) -> Path:
        """The policy as a file for people to read and edit."""
        return self.root / POLICY

    @property
    def public(self) -> Path:
        """The folder of all releases."""
        return self.root / "public"

    @property
    def catalog(self) -> Path:
        """The database that says what has been committed."""
        return self.private / "catalog.sqlite"

    @property
    def lock(self) -> Path:
        """The file that the one writer holds locked."""
        return self.private / "lock"

    @property
    def blobs(self) -> Path:
        """The folder of the private tables."""
        return self.private / "blobs"

    @property
    def staging(self) -> Path:
        """The folder of work under way."""
        return self.private / "staging"

    def release(self, number: int) -> Path:
        """The public folder of a release."""
        return self.public / release_name(number)

    def staged_release(self, staged: str) -> Path:
        """Where the public files of a release wait for their move."""
        return self._staged(staged) / "public"

    def staged_policy(self, staged: str) -> Path:
        """Where the text of an amended policy waits for its move."""
        return self._staged(staged) / POLICY

    def _staged(self, name: str) -> Path:
        """A folder of work under way. Its name may come from the catalog: then it must not lead anywhere else."""
        if not is_staged_name(name):
            raise _foreign("a folder of work under way")
        return self.staging / name

    def blob(self, sha256: str) -> Path:
        """The file of a private table."""
        name = f"{sha256}{PARQUET}"
        if not is_blob_name(name):
            raise _foreign("a private table")
        return self.blobs / name

    def name_of_blob(self, sha256: str) -> str:
        """The file of a private table as messages show it, wherever private/ lies now."""
        return f"private/blobs/{self.blob(sha256).name}"

    def relative(self, path: Path) -> str:
        """The path as messages show it, from the folder of the series."""
        return path.relative_to(self.root).as_posix()


def release_name(number: int) -> str:
    """`0001`: the folder name of a release."""
    return f"{number:04d}"


def _foreign(what: str) -> SeriesDamaged:
    return SeriesDamaged(
        f"The catalog names {what} in a way that is not the ledger's own.",
        hint="run `reissue verify` to see what has changed, then restore the series from a backup.",
    )


def is_staged_name(name: str) -> bool:
    """Whether a name is one that the ledger gives to folders of work under way."""
    return _STAGED.fullmatch(name) is not None


def is_release_name(name: str) -> bool:
    """Whether a name is that of the folder of a release."""
    return _RELEASE.fullmatch(name) is not None and name == release_name(int(name))


def is_public_name(name: str) -> bool:
    """Whether a name is that of a file that a release may have beside its record."""
    return _PUBLIC.fullmatch(name) is not None


def is_blob_name(name: str) -> bool:
    """Whether a file name is a SHA-256 with the ending of a Parquet file."""
    return _BLOB.fullmatch(name) is not None
