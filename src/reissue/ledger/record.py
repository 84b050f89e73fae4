"""What a ledger takes and gives: entries, records, policy versions, events; and the chain of releases.

`release.json` is canonical JSON: keys sorted, indented by two, a newline at the end. Its `chain` is the
SHA-256 of the chain before it (nothing for the first release) followed by the canonical JSON of
everything else in the file. The file holds the SHA-256 of every public file, so one chain value stands
for every public byte of the series so far, and anybody can recompute it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from reissue.errors import InternalError, SeriesError
from reissue.ledger.parquet import FileFacts
from reissue.model.memory import Kept, Remembered
from reissue.model.pieces import Table

OWN_FIELDS = frozenset({"format", "number", "time", "files", "previous", "chain"})

FORMAT = 2
"""The format of release.json that is written now; those before are read. A file that does not say is of format 1."""

LOST = "lost"
"""In the private summary of a release: whether its private tables are lost, and those it has are of the one before."""

NUMBER, ID = "number", "id"
"""The columns of the table of ids."""
PLAIN = "plain"
"""One more, where ids are hashed: the hash of an id without what is written now so, now otherwise."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, repr=False)
class Entry:
    """Everything that one commit makes durable."""

    policy_version: int
    """The version of the policy that the draft was made under."""
    manifest: Mapping[str, object]
    """Public facts for release.json: method, parameters, rows, groups ... as JSON values."""
    public: Mapping[str, Table]
    """The published tables, by the stem of their file name."""
    private: Remembered
    """The private tables of the release, by name. They speak of people by number only. For `KEPT` the release
    refers to the table that its parent has under the name."""
    people: pl.DataFrame | None
    """Those who are new: `number`, going on from the people known without gaps, and `id`; None when nobody is."""
    summary: Mapping[str, object]
    """Private facts as JSON values."""
    seed: str
    """The seed of the method's randomness; private."""
    time: datetime
    """When the release was made, with a time zone."""
    events: Sequence[tuple[str, str]] = ()
    """What else is to be recorded with the release: kinds and details, as of an `Event`."""

    def __post_init__(self) -> None:
        problems = []
        names = [*self.public, *self.private]
        misnamed = sum(_NAME.fullmatch(name) is None for name in names)
        if misnamed:
            problems.append(f"{misnamed} tables are not named in small letters, digits, '_' and '-'")
        if not self.public:
            problems.append("there is no public table")
        if taken := OWN_FIELDS & set(self.manifest):
            problems.append(f"the manifest uses the ledger's own fields: {', '.join(sorted(taken))}")
        if self.time.tzinfo is None:
            problems.append("the time has no time zone")
        if self.people is not None:
            problems += _problems_of_people(self.people)
        if problems:
            raise InternalError("This entry cannot be committed.", problems=problems)

    def __repr__(self) -> str:
        return f"Entry({len(self.public)} public and {len(self.private)} private tables)"

    @property
    def written(self) -> dict[str, Table]:
        """The private tables that are not kept from the parent."""
        return {name: table for name, table in self.private.items() if not isinstance(table, Kept)}

    @property
    def kept(self) -> set[str]:
        """The names of the private tables that are kept from the parent."""
        return {name for name, table in self.private.items() if isinstance(table, Kept)}


def _problems_of_people(people: pl.DataFrame) -> list[str]:
    if set(people.columns) - {PLAIN} != {NUMBER, ID}:
        return [f"the table of people must have the columns '{NUMBER}' and '{ID}', and no others but '{PLAIN}'"]
    if people.height == 0:
        return ["the table of people is empty"]
    if people[NUMBER].has_nulls() or (np.diff(people[NUMBER].to_numpy().astype(np.int64)) != 1).any():
        return ["the table of people leaves out numbers or is not sorted by them"]
    return []


@dataclass(frozen=True, repr=False)
class Record:
    """A committed release."""

    number: int
    time: datetime
    policy_version: int
    manifest: dict[str, object]
    files: dict[str, str]
    """The SHA-256 of each public file, by file name."""
    chain: str
    summary: dict[str, object]
    """Private."""
    seed: str
    """Private."""
    mark: str
    """A random name that no other release of any series has; private."""
    path: Path
    """The folder with the public files; in `private/staging` as long as the move is unfinished."""

    @property
    def lost(self) -> bool:
        """Whether nobody here knows who is in it."""
        return self.summary.get(LOST) is True

    def __repr__(self) -> str:
        return f"Record(release {self.number} of {utc_text(self.time)})"


@dataclass(frozen=True, repr=False)
class PolicyVersion:
    """The text of the policy from one moment on."""

    version: int
    toml: str
    reason: str
    time: datetime

    def __repr__(self) -> str:
        return f"PolicyVersion({self.version} of {utc_text(self.time)})"


@dataclass(frozen=True)
class Event:
    """Something that happened to the series besides its releases."""

    time: datetime
    kind: str
    """`created`, `adopted`, `allowed`, `amended`, `forgot`, `overrode`, `restored`, `resumed`, `retracted` or
    `taken in`."""
    detail: str
    """Counts and versions, never an id."""


def canonical(value: Mapping[str, object]) -> str:
    """The one JSON text of a value."""
    try:
        text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        text.encode()
        return text
    except (TypeError, ValueError):  # also a text that is not valid Unicode
        raise InternalError("A manifest or summary holds something that JSON cannot express.") from None


def release_json(
    number: int, time: datetime, manifest: Mapping[str, object], files: Mapping[str, FileFacts], previous: str | None
) -> tuple[str, str]:
    """The text of release.json and its chain value."""
    body: dict[str, object] = {
        **manifest,
        "format": FORMAT,
        "number": number,
        "time": utc_text(time),
        "files": {name: {"sha256": facts.sha256, "bytes": facts.size} for name, facts in files.items()},
        "previous": previous,
    }
    chain = chain_value(previous, body)
    return canonical({**body, "chain": chain}), chain


def format_of(body: object) -> int | None:
    """The format of a release.json that holds `body`; None if what it says is no format."""
    found = body.get("format", 1) if isinstance(body, dict) else None
    return found if type(found) is int and found > 0 else None


def check_format(found: int | None, shown: str) -> None:
    """Refuse a release.json that this version of Reissue cannot know how to read."""
    if found is not None and found > FORMAT:
        raise newer(shown, f"release.json of format {found}; this version knows formats up to {FORMAT}")


def newer(shown: str, what: str) -> SeriesError:
    """The refusal of a series that a later version has written to."""
    return SeriesError(
        f"The series in '{shown}' was written by a newer version of Reissue ({what}).",
        hint="upgrade reissue: `pip install --upgrade reissue`.",
    )


def chain_value(previous: str | None, body: Mapping[str, object]) -> str:
    """The chain value of a release whose release.json holds `body` besides the chain."""
    return hashlib.sha256(((previous or "") + canonical(body)).encode()).hexdigest()


def utc_text(time: datetime) -> str:
    """`2026-01-31T09:30:00Z`: a moment to the second, in UTC."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def utc_time(text: str) -> datetime:
    """The moment behind a text of `utc_text`."""
    return datetime.fromisoformat(text)


def now() -> datetime:
    """The present moment, to the second."""
    return datetime.now(UTC).replace(microsecond=0)
