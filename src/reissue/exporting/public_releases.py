"""Releases that are to be sent, from their public folders alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from reissue.errors import ParameterError, SeriesDamaged, SeriesError
from reissue.ledger.durable import names_in, storage
from reissue.ledger.layout import PARQUET, RECORD, is_release_name, release_name
from reissue.ledger.public_folders import ReleaseFolder, release_folder
from reissue.ledger.record import utc_time
from reissue.ledger.sent_packages import release_findings
from reissue.utility.analysing.public_files import PublicRelease, read_public

ORDER = ("table", "quasi", "sensitive", "design", "combinations", "rooms", "counterfeits")
"""The order in which tables are told of: people first, then values, then how they were drawn."""


@dataclass(frozen=True, repr=False)
class ReleaseToSend:
    """One release."""

    own: ReleaseFolder
    place: str
    """Its folder in the package, with a slash at the end; nothing where it lies on top."""

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.own.number

    @property
    def record(self) -> Mapping[str, Any]:
        """What its release.json says."""
        return self.own.body

    @property
    def time(self) -> datetime:
        """When it was made."""
        return utc_time(str(self.record["time"]))

    @property
    def period(self) -> str | None:
        """What time it is about, where the record says it."""
        found = self.record.get("period")
        return None if found is None else str(found)

    @cached_property
    def public(self) -> PublicRelease:
        """As a recipient would read it."""
        (found,) = read_public(self.own.path)
        return found

    @property
    def names(self) -> list[str]:
        """The names of its tables."""
        found = [name.removesuffix(PARQUET) for name in self.own.files if name.endswith(PARQUET)]
        return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))

    def table(self, name: str) -> pl.DataFrame:
        """A table just as it was published."""
        return pl.read_parquet(self.own.path / f"{name}{PARQUET}", glob=False, hive_partitioning=False)


def releases_to_send(folders: Sequence[Path]) -> list[ReleaseToSend]:
    """The releases in these public folders, each checked against its own record."""
    found, problems = [], []
    with storage("The public files could not be read"):
        for folder in folders:
            release = release_folder(folder, folder.name)
            if release is None:
                problems.append(f"{folder.name}/{RECORD}: it cannot be understood")
                continue
            problems += map(str, release_findings(release))
            found.append(release)
    if problems:
        raise SeriesDamaged(
            "Public files are not as they were published: nothing was exported.",
            problems=problems,
            hint="`reissue verify` checks a series, and the folder public of one, and says what to do.",
        )
    found.sort(key=lambda release: release.number)
    if len({release.number for release in found}) < len(found):
        raise ParameterError("A release is given more than once.", hint="name each once.")
    for before, after in itertools.pairwise(found):
        if after.number == before.number + 1 and after.previous != before.chain:
            raise SeriesDamaged(
                f"Release {after.number} does not follow release {before.number}: they are of different series.",
                hint="export the releases of one series.",
            )
    return [ReleaseToSend(one, _place(one) if len(found) > 1 or _period(one) else "") for one in found]


def _place(release: ReleaseFolder) -> str:
    """`0001/`, or `0001-2026-03/` where the record says what time it is about."""
    period = _period(release)
    return f"{release_name(release.number)}{'-' + period if period else ''}/"


def _period(release: ReleaseFolder) -> str:
    """The period of a release as names of files have it; nothing where there is none."""
    return re.sub(r"[^0-9A-Za-z.-]+", "_", str(release.body.get("period", ""))).strip("-._")


def public_folders(source: Path) -> dict[int, Path]:
    """The releases in a folder, by number: the folder `public` of a series, or that of one release."""
    with storage(f"'{source}' could not be read"):
        names = names_in(source) if source.is_dir() else []
        if RECORD in names:
            release = release_folder(source, source.name)
            return {1 if release is None else release.number: source}
        found = {int(name): source / name for name in names if is_release_name(name)}
    if not found:
        raise SeriesError(
            f"There is no release in '{source}'.", hint="name the folder of a series, its folder public, or a release."
        )
    return found
