"""What an audit is of: which series or files, with which columns, and what each release is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from reissue.errors import listed


@dataclass(frozen=True)
class Subject:
    """What was audited, as its owner calls it."""

    name: str
    """The folder of the series, or what the files lie in."""
    quasi: tuple[str, ...]
    """The columns that an outsider may know."""
    sensitive: tuple[str, ...]
    """The columns that must not be tied to anybody."""
    releases: Mapping[int, str]
    """What each release is called: its period, or its file."""
    files: Mapping[int, str] = field(default_factory=dict)
    """The file or folder that each release was read from, where it is known."""
    doubts: tuple[str, ...] = ()
    """What may have been read wrongly, or is to be asked, in the order of its weight."""

    @property
    def words(self) -> str:
        """In one line."""
        numbers = sorted(self.releases)
        # A correction is called as what it corrects.
        called = [*dict.fromkeys(self.releases[number] for number in numbers)]
        which = " to ".join(one for one in (called if len(called) == 1 else [called[0], called[-1]]) if one)
        many = "1 release" if len(numbers) == 1 else f"{len(numbers):,} releases"
        about = f"{self.name}: {many}{f' ({which})' if which else ''}"
        return f"{about}; {listed(self.sensitive)} by {listed(self.quasi, 8)}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data; doubts are among the notes of a report."""
        numbered = {name: getattr(self, name) for name in ("releases", "files")}
        texts = {name: {str(number): called for number, called in of.items()} for name, of in numbered.items()}
        return {name: one for name, one in {**asdict(self), **texts}.items() if name != "doubts"}
