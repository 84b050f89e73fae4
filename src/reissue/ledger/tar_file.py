"""Plain tar files of plain files: what a backup is written as, so that nothing of ours is needed to look into it.

Python's own reader follows many kinds of entries, some of which lead elsewhere or are larger than they look. Here an
entry is a regular file with its name and size in one header, or the whole file is refused.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from reissue.errors import SeriesDamaged

PIECE = 1 << 20
_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)


def add_file(tar: BinaryIO, name: str, content: BinaryIO, size: int, mode: int) -> str:
    """Append a file of so many bytes; gives the SHA-256 of what was written, which is less if there was not more."""
    header = tarfile.TarInfo(name)
    header.size, header.mode = size, mode
    tar.write(header.tobuf(tarfile.GNU_FORMAT, "ascii", "strict"))
    sha256, left = hashlib.sha256(), size
    while left and (piece := content.read(min(PIECE, left))):
        tar.write(piece)
        sha256.update(piece)
        left -= len(piece)
    tar.write(bytes(-(size - left) % _BLOCK))
    return sha256.hexdigest()


def end_tar(tar: BinaryIO) -> None:
    """Mark the end, as tar files have it."""
    tar.write(_END)
    tar.write(bytes(-tar.tell() % tarfile.RECORDSIZE))


@dataclass(repr=False)
class Member:
    """A file in a tar file. Its content can be read once, before the next one is asked for."""

    name: str
    size: int
    _tar: BinaryIO

    def pieces(self) -> Iterator[bytes]:
        """The content, in pieces that fit into memory."""
        left = self.size
        while left:
            piece = self._tar.read(min(PIECE, left))
            if not piece:
                raise _cut_short()
            left -= len(piece)
            yield piece

    def copy_to(self, target: BinaryIO | None = None) -> str:
        """Write the content somewhere, if wanted; gives its SHA-256."""
        sha256 = hashlib.sha256()
        for piece in self.pieces():
            sha256.update(piece)
            if target is not None:
                target.write(piece)
        return sha256.hexdigest()


def members_of(tar: BinaryIO, size: int) -> Iterator[Member]:
    """The files in a tar file of so many bytes, one after the other; SeriesDamaged if it holds anything else."""
    while True:
        block = tar.read(_BLOCK)
        if len(block) < _BLOCK:
            raise _cut_short()
        if block == bytes(_BLOCK):
            break
        try:
            header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError):
            raise _damaged("an entry in it cannot be understood") from None
        if header.type != tarfile.REGTYPE or header.linkname:
            raise _damaged("an entry in it is not a plain file")
        content = tar.tell()
        if not 0 <= header.size <= size - content:
            raise _cut_short()
        yield Member(header.name, header.size, tar)
        tar.seek(content + header.size + -header.size % _BLOCK)
    rest = tar.read(tarfile.RECORDSIZE + 1)
    if len(rest) < _BLOCK or len(rest) > tarfile.RECORDSIZE or any(rest):
        raise _damaged("it does not end where its files do")


def _cut_short() -> SeriesDamaged:
    return _damaged("it is cut short")


def _damaged(why: str) -> SeriesDamaged:
    return SeriesDamaged(f"The backup is damaged: {why}.", hint="use another one.")
