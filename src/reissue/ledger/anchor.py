"""The anchor: the last head of the chain, kept outside the folder of the series.

A folder can be put back to what it was, or written from beginning to end, and be sound in itself. So whoever publishes
keeps the number and the head of the last link elsewhere: by default in the user's state folder, better where the policy
says. A series must contain the link that its anchor knows; it may be further on, when somebody died before the anchor
was written. A series that does not is an older copy, or another one: a second release of a number that is out already
would be made from it, so it is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reissue.errors import NotContinued, SeriesError, StorageError
from reissue.ledger.chain import ADOPTED, BEGAN, CREATED, RESTORED, RESUMED, Link
from reissue.ledger.durable import PRIVATE_FILE, move, storage, write_text
from reissue.ledger.record import canonical

FORMAT = 1
STATE = "REISSUE_STATE"
"""Names the folder for what Reissue keeps of the user, in place of `reissue` in XDG_STATE_HOME."""


class Known(NamedTuple):
    """What an anchor knows of a series."""

    series: str
    """The head of the first link: no two series have the same."""
    link: int
    head: str
    release: int
    """The number of the last release."""


@dataclass(frozen=True)
class Anchor:
    """Where the last head of a series is kept."""

    place: Path | None
    """None where there is no place: a user without a home."""
    asked: bool
    """Whether the policy names it. By default a missing one is said; one that the policy names must be there."""

    @classmethod
    def of(cls, series: str, asked: str | None) -> Anchor:
        """The anchor of a series, at the place that the policy asks for or in the state folder of the user."""
        if asked is not None:
            return cls(Path(asked).expanduser(), asked=True)
        state = state_folder()
        return cls(state and state / "anchors" / f"{series[:32]}.json", asked=False)

    def read(self) -> Known | None:
        """What it knows; None where there is none."""
        if self.place is None:
            raise _NOWHERE
        with storage(f"The anchor '{self.place}' could not be read"):
            try:
                text = self.place.read_bytes()
            except FileNotFoundError:
                return None
        try:
            body = json.loads(text)
            if body["format"] > FORMAT:
                raise NotContinued(
                    f"The anchor '{self.place}' was written by a newer version of Reissue.", hint="upgrade reissue."
                )
            return Known(str(body["series"]), int(body["link"]), str(body["head"]), int(body["release"]))
        except (ValueError, KeyError, TypeError):
            raise NotContinued(
                f"The file '{self.place}' is not the anchor of a series, or is damaged.", hint=_SETTLE
            ) from None

    def write(self, series: str, last: Link, release: int, folder: Path) -> None:
        """Keep the last head, in place of the one before. `folder` is where the series lies, by now."""
        body = {"format": FORMAT, "series": series, "link": last.number, "head": last.head, "release": release}
        if not self.asked:  # found again by it, should the chain be gone
            body["folder"] = str(folder)
        if self.place is None:
            raise _NOWHERE
        with storage(f"The anchor '{self.place}' could not be written"):
            if not self.asked:
                self.place.parent.mkdir(parents=True, exist_ok=True)
            new = self.place.with_name(f"{self.place.name}.new")
            new.unlink(missing_ok=True)  # of somebody who died; there is one writer
            write_text(new, canonical(body), PRIVATE_FILE)
            move(new, self.place)

    def check(self, links: Sequence[Link], release: int, shown: str) -> str | None:
        """Raise NotContinued unless the series goes on from what the anchor knows; what there is to say, if anything.

        `release` is the number of the last release of the series in the folder `shown`.
        """
        try:
            known = self.read()
        except StorageError as error:
            if self.asked:
                raise
            return f"{error.what} An older copy of the series would not be noticed."
        if known is None:
            if all(link.kind in (CREATED, ADOPTED, BEGAN) for link in links):
                return None  # the chain has just begun: there was nothing to be kept
            if self.asked or self.place is None:
                raise NotContinued(
                    f"The series in '{shown}' has no anchor: there is no file '{self.place}', which its policy names.",
                    hint=f"put it back where it was. {_SETTLE}",
                )
            return (
                f"No anchor of this series was found in '{self.place.parent}', so nothing vouches for what it was "
                "before now: an older copy would not be noticed. One is kept there from now on."
            )
        if known.series != links[0].head:
            raise NotContinued(
                f"The anchor '{self.place}' is that of another series than the one in '{shown}'.",
                hint="name another file in the policy of one of them: each series has an anchor of its own.",
            )
        if known.link > len(links) or links[known.link - 1].head != known.head:
            raise NotContinued(
                f"The series in '{shown}' does not go on from its anchor '{self.place}'.",
                problems=[
                    f"the anchor knows {known.link:,} changes and {_releases(known.release)}",
                    f"the folder has {len(links):,} changes and {_releases(release)}"
                    + (", which differ from those" if known.link <= len(links) else ""),
                    "so it is an older copy, or was changed: published from here, a release could go out twice",
                ],
                hint=f"go on with the folder that was published from last. {_SETTLE}",
            )
        return None


def refuse_taken(asked: str | None) -> None:
    """Raise SeriesError if the file that a policy names as its anchor is there before the series has one."""
    if asked is not None and (place := Path(asked).expanduser()).exists():
        raise SeriesError(
            f"There is a file '{place}' already, so it cannot become the anchor of this series.",
            hint="name a file that does not exist yet: each series has an anchor of its own.",
        )


def refuse_restored(links: Sequence[Link], shown: str) -> None:
    """Raise NotContinued for a series that was restored from a backup, until it is said what has happened since."""
    last = next((link.kind for link in reversed(links) if link.kind in (RESTORED, RESUMED)), None)
    if last == RESTORED:
        raise NotContinued(
            f"The series in '{shown}' was restored from a backup, and releases may be out that it does not know.",
            hint="say which are: `reissue resume <series> --out <number of the last one> --reason <why>`.",
        )


def refuse_unchained(folder: Path, shown: str) -> None:
    """Raise NotContinued for a series without a chain, as old versions made them, in a folder that had one with it."""
    state = state_folder()
    for place in sorted((state / "anchors").glob("*.json")) if state else ():
        try:
            body = json.loads(place.read_bytes())
        except (OSError, ValueError):
            continue  # said when that series is written to
        if isinstance(body, dict) and body.get("folder") == str(folder):
            raise NotContinued(
                f"The series in '{shown}' has no chain, and the anchor '{place}' knows that there was one.",
                hint=f"go on with the folder that was published from last. {_SETTLE}",
            )


def state_folder() -> Path | None:
    """The folder for what Reissue keeps of the user; None for a user without a home."""
    if own := os.environ.get(STATE):
        return Path(own)
    base = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state")
    try:
        base = base.expanduser()
    except RuntimeError:  # nobody's home
        return None
    return base / "reissue" if base.is_absolute() else None


def _releases(number: int) -> str:
    return f"releases up to {number}" if number else "no release"


_NOWHERE = StorageError(
    "There is no folder to keep the anchor of the series in.",
    hint=f"name a file with `anchor` in the policy, or a folder with {STATE} in the environment.",
)
_SETTLE = (
    "If it is gone for good, say which releases are out: `reissue resume <series> --out <number> --reason <why>` takes "
    "the folder as it is and writes the anchor anew."
)
