"""The anchor: the last head of the chain, kept outside the folder of the series.

A folder can be put back to what it was, or written from beginning to end, and be sound in itself. So whoever publishes
keeps the number and the head of the last link elsewhere: by default in the user's state folder, better where the policy
says. A series must contain the link that its anchor knows; it may be further on, when somebody died before the anchor
was written, which is said. A series that does not is an older copy, or another one: a second release of a number that
is out already would be made from it, so it is refused.

Which anchor a series has, its own catalog tells. One that lost its chain, or has another one, may name none; so the
state folder notes as well what was last published from which folder. And an older copy has an older policy, which may
name another anchor than the present one: so a series that changes its anchor leaves word at the former one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from reissue.errors import NotContinued, SeriesError, StorageError, count_of, listed
from reissue.ledger.chain import CREATED, RESTORED, RESUMED, Link
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
    chain: str | None
    """The chain value of the last release, as its release.json has it."""

    def within(self, links: Sequence[Link]) -> bool:
        """Whether a chain has the link that is known."""
        return 0 < self.link <= len(links) and links[self.link - 1].head == self.head


Present = tuple[Sequence[Link], int]
"""The links of a series and the number of its last release."""


@dataclass(frozen=True)
class Anchor:
    """Where the last head of a series is kept."""

    place: Path | None
    """None where there is no place: a user without a home."""
    asked: bool
    """Whether the policy names it. By default a missing one is said; one that the policy names must be there."""
    note: Path | None = None
    """Where the state folder has what was last published from the folder of the series."""
    former: Path | None = None
    """Where the anchor was, in the state folder, if the policy has not always named one."""

    @classmethod
    def of(cls, series: str, asked: str | None, root: Path) -> Anchor:
        """The anchor of a series, at the place that the policy asks for or in the state folder of the user."""
        state = state_folder()
        own = state and state / "anchors" / f"{series[:32]}.json"
        if asked is not None:
            return cls(Path(asked).expanduser(), asked=True, note=note_of(root), former=own)
        return cls(own, asked=False, note=note_of(root))

    def read(self) -> Known | None:
        """What it knows; None where there is none."""
        if self.place is None:
            raise _NOWHERE
        return _read(self.place)

    def write(self, last: Known) -> None:
        """Keep the last head, in place of the one before."""
        body = {"format": FORMAT, **last._asdict()}
        if self.place is None:
            raise _NOWHERE
        with storage(f"The anchor '{self.place}' could not be written"):
            if not self.asked:
                self.place.parent.mkdir(parents=True, exist_ok=True)
            new = self.place.with_name(f"{self.place.name}.new")
            new.unlink(missing_ok=True)  # of somebody who died; there is one writer
            write_text(new, canonical(body), PRIVATE_FILE)
            move(new, self.place)
        for note in (self.note, self.former):
            # They are looked at only where there is no anchor, or by an older copy, and need not outlast a power cut.
            with suppress(OSError):
                if note is not None and (note == self.note or note.exists()):
                    note.parent.mkdir(parents=True, exist_ok=True)
                    note.write_text(canonical(body))

    def leave_word(self, last: Known) -> None:
        """Keep the last head where the anchor of the series was formerly, if it is still there."""
        known = None if self.place is None else _read(self.place, or_damaged=True)
        if known is not None and known.series == last.series:
            self.write(last)

    def remove(self) -> None:
        """Take back an anchor that nothing names."""
        if self.asked and self.place is not None:
            with suppress(OSError):
                self.place.unlink(missing_ok=True)

    def check(self, present: Callable[[], Present], shown: str, *, writing: bool = True) -> str | None:
        """Raise NotContinued unless the series goes on from what the anchor knows; what there is to say, if anything.

        `present` gives what the series in the folder `shown` has now, and is asked after the anchor was read: somebody
        may be writing to it meanwhile, unless it is us (`writing`).
        """
        try:
            known = self.read()
        except StorageError as error:
            if self.asked:
                raise
            return f"{error.what} An older copy of the series would not be noticed."
        noted = _read(self.note) if known is None and self.note is not None else None
        links, release = present()
        if known is not None:
            return self._compared(known, links, release, shown)
        if noted is not None:
            replace(self, place=self.note)._compared(noted, links, release, shown)
        anew = " One is kept there from now on." if writing else ""
        if self.asked and not release and all(link.kind == CREATED for link in links):
            return (
                f"There is no anchor '{self.place}', which the policy of the series in '{shown}' names: whoever "
                f"created the series was stopped, or the file was removed.{anew}"
            )
        if self.asked or self.place is None:
            raise NotContinued(
                f"The series in '{shown}' has no anchor: there is no file '{self.place}', which its policy names.",
                hint=f"put it back where it was. {_SETTLE}",
            )
        vouches = (
            "only a note of what was last published from its folder"
            if noted is not None
            else "so nothing vouches for what it was before now: an older copy would not be noticed"
        )
        return f"No anchor of this series was found in '{self.place.parent}', {vouches}.{anew}"

    def known_of(self, links: Sequence[Link], shown: str) -> Known | None:
        """What is known of a series for which it is to be settled how it goes on; NotContinued if it is another one.

        Of an anchor that is damaged nothing is known. What the state folder knows besides counts if it is of this
        series.
        """
        known = None if self.place is None else _read(self.place, or_damaged=True)
        if known is not None:
            self._refuse_of_another(known, links, shown)
            return known
        noted = [_read(place, or_damaged=True) for place in (self.note, self.former) if place is not None]
        own = [one for one in noted if one is not None and one.series == links[0].head]
        return max(own, key=lambda one: one.link, default=None)

    def _refuse_of_another(self, known: Known, links: Sequence[Link], shown: str) -> None:
        if known.series != links[0].head:
            raise NotContinued(
                f"The anchor '{self.place}' is that of another series than the one in '{shown}'.",
                hint="name another file in the policy of one of them: each series has an anchor of its own.",
            )

    def _compared(self, known: Known, links: Sequence[Link], release: int, shown: str) -> str | None:
        self._refuse_of_another(known, links, shown)
        if not known.within(links):
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

    def behind(self, links: Sequence[Link], shown: str) -> str | None:
        """What to say if the series goes on from its anchor, and is further on than it."""
        with suppress(StorageError):
            if (known := self.read()) is not None and known.link < len(links):
                return (
                    f"The series in '{shown}' has {count_of(len(links) - known.link, 'change')} that its anchor "
                    f"'{self.place}' did not know of. Whoever made the last one was stopped, or could not write there; "
                    "if nobody was, somebody else has written to private/: `reissue log` lists what happened."
                )
        return None


def _read(place: Path, *, or_damaged: bool = False) -> Known | None:
    """What an anchor knows; None where there is none, or only a damaged one if that will do."""
    with storage(f"The anchor '{place}' could not be read"):
        try:
            text = place.read_bytes()
        except FileNotFoundError:
            return None
    try:
        body = json.loads(text)
        if body["format"] > FORMAT:
            raise NotContinued(
                f"The anchor '{place}' was written by a newer version of Reissue.", hint="upgrade reissue."
            )
        chain = None if body["chain"] is None else str(body["chain"])
        return Known(str(body["series"]), int(body["link"]), str(body["head"]), int(body["release"]), chain)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        if or_damaged:
            return None
        raise NotContinued(f"The file '{place}' is not the anchor of a series, or is damaged.", hint=_SETTLE) from None


def anchor_in(policy_toml: str) -> str | None:
    """The file that the text of a policy names as its anchor; nothing else of the policy need be understood."""
    try:
        found = tomllib.loads(policy_toml).get("anchor")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def refuse_known(asked: str | None, root: Path, shown: str) -> None:
    """Raise NotContinued if a series without a chain has an anchor, or something was published from its folder."""
    places = [*([] if asked is None else [Path(asked).expanduser()]), *([note] if (note := note_of(root)) else [])]
    known = [str(place) for place in places if place.exists()]
    if known:
        raise NotContinued(
            f"The series in '{shown}' has no chain, but had one when it was last published from: {listed(known)} "
            "knows of it.",
            problems=["so it was changed, or the folder is another one than it was"],
            hint=f"restore the series from a backup with `reissue restore`. {_SETTLE}",
        )


def refuse_taken(asked: str | None, root: Path, links: Sequence[Link] = ()) -> None:
    """Raise SeriesError if the file that a policy names as its anchor is there before the series in a folder has one.

    Or if it would be in that folder: whoever puts an older copy of it in place would put it back as well. One that the
    series, which has these `links`, had formerly will do.
    """
    if asked is None:
        return
    place = Path(asked).expanduser()
    if place.resolve().is_relative_to(root):
        raise SeriesError(
            f"The anchor '{place}' would be in the folder of the series, and be put back with it.",
            hint="name a file elsewhere, best on another disk.",
        )
    if not place.parent.is_dir() and not root.is_relative_to(place.parent.resolve()):  # that one comes with the series
        raise SeriesError(
            f"There is no folder '{place.parent}' for the anchor '{place.name}', which the policy names.",
            hint="make the folder, or name a file in one that is there.",
        )
    if place.parent.exists() and not os.access(place.parent, os.W_OK):
        raise SeriesError(
            f"The anchor '{place}', which the policy names, could not be written: its folder may not be written to.",
            hint="check the permissions of the folder and how it is mounted, or name a file elsewhere.",
        )
    if place.exists() and not _is_of(place, links):
        raise SeriesError(
            f"There is a file '{place}' already, so it cannot become the anchor of this series.",
            hint="name a file that does not exist yet: each series has an anchor of its own.",
        )


def _is_of(place: Path, links: Sequence[Link]) -> bool:
    """Whether a file is an anchor that a series with these links goes on from."""
    known = _read(place, or_damaged=True) if links else None
    return known is not None and known.series == links[0].head and known.within(links)


def refuse_restored(links: Sequence[Link], shown: str) -> None:
    """Raise NotContinued for a series that was restored from a backup, until it is said what has happened since."""
    last = next((link.kind for link in reversed(links) if link.kind in (RESTORED, RESUMED)), None)
    if last == RESTORED:
        raise NotContinued(
            f"The series in '{shown}' was restored from a backup, and releases may be out that it does not know.",
            hint="say which are: `reissue resume <series> --out <number of the last one> --reason <why>`.",
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


def note_of(root: Path) -> Path | None:
    """Where it is noted what was last published from a folder; None for a user without a home."""
    state = state_folder()
    return state and state / "anchors" / "folders" / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:32]}.json"


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
