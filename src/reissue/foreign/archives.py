"""Tables in a zip archive: one, or several that are releases in the order of their names."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from reissue.errors import TableError
from reissue.foreign.release_order import in_order
from reissue.tables.frames import READABLE
from reissue.tables.room import unpacked

ZIP = ".zip"


def tables_in(path: Path, into: Path) -> list[tuple[str, Path]]:
    """Unpack the tables of an archive into a folder: their names, in order, and where they are now."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if _is_table(one.filename)]
            if not members:
                raise TableError(f"'{path.name}' has no table in it.", hint=f"put files in it: {', '.join(READABLE)}.")
            found: list[tuple[str, Path]] = []
            for at in in_order([one.filename for one in members])[0]:
                name = PurePosixPath(members[at].filename).name
                # By number: names in an archive may say any place.
                target = into / str(len(found)) / name
                target.parent.mkdir()
                with archive.open(members[at]) as packed:
                    target.write_bytes(unpacked(packed, f"{path.name}/{name}"))
                found.append((path.name if len(members) == 1 else f"{path.name}/{members[at].filename}", target))
            return found
    except (zipfile.BadZipFile, OSError, EOFError, ValueError):
        failure = TableError(f"'{path.name}' cannot be read as an archive.", hint="check that it is complete.")
    except RuntimeError:  # that is what `zipfile` says of both
        failure = TableError(
            f"'{path.name}' is locked by a password, or packed in another way than usual.", hint="unpack it yourself."
        )
    raise failure


def _is_table(name: str) -> bool:
    """Whether it is a file that is read, and not one that systems put beside others."""
    parts = PurePosixPath(name).parts
    hidden = any((part.startswith(".") and part != "..") or part == "__MACOSX" for part in parts)
    return name.lower().endswith(READABLE) and not name.endswith("/") and not hidden
