"""Custody: is a series still what it was? Copy it while it is in use, bring it back, and say how it goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reissue.errors import NotContinued, ParameterError, SeriesError, StorageError
from reissue.ledger import Backup, Ledger, Record, Resumption, Verification, verify_path
from reissue.ledger.anchor import anchor_in
from reissue.publishing import archive
from reissue.publishing.draft import LOST_RELEASES
from reissue.publishing.policy import Policy
from reissue.publishing.series import Series
from reissue.publishing.series import open as open_series

Steps = Callable[[int, int], None]
"""Called with how many files are done, and how many there are."""


def verify(path: str | os.PathLike[str], *, expect: str | None = None) -> Verification:
    """Check a series, a public folder with releases, the folder of one, or what `export` wrote; nothing is changed.

    Of a series everything is checked: public files, private tables, every row of the catalog, and that it goes on from
    its anchor. `expect` is a head that was written down, as `series.head` gives it, or its first 16 digits or more:
    then it must be in the chain.
    """
    return verify_path(path, expect=expect)


def backup(
    folder: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    force: bool = False,
    progress: Steps = lambda done, total: None,
) -> Backup:
    """Copy the series in a folder to one file, consistent while somebody publishes, and verified.

    The file is private: it holds everything of the series, ids included. One that is there already is replaced only
    with `force`. A copy of the series that does not go on from its anchor, or was restored and not resumed, is refused.
    """
    with Ledger.open(folder) as ledger:
        ledger.anchor_file = anchor_in(ledger.policy.toml)
        return ledger.back_up(file, force=force, progress=progress)


def not_continued(folder: str | os.PathLike[str]) -> str | None:
    """Why nothing would be published from a folder because it is not, or not surely, the last word; None if it is."""
    with Ledger.open(folder, check=False) as ledger:
        ledger.anchor_file = anchor_in(ledger.policy.toml)
        try:
            ledger.require_continued()
        except (NotContinued, StorageError) as error:
            return " ".join([error.what, *(f"{problem[0].upper()}{problem[1:]}." for problem in error.problems)])
    return None


def restore(
    file: str | os.PathLike[str], folder: str | os.PathLike[str], *, progress: Steps = lambda done, total: None
) -> Series:
    """Make a series from a backup, in a folder that is absent or empty, with everything checked, or not at all.

    It can be read. It publishes again once `resume` was told which releases are out.
    """
    Ledger.restore(file, folder, progress=progress).close()
    return open_series(Path(folder))


def resume(
    folder: str | os.PathLike[str],
    *,
    out: int | None = None,
    reason: str | None = None,
    releases: Sequence[str | os.PathLike[str]] = (),
) -> Series:
    """Say how a series goes on: restored from a backup, an older copy, or one whose anchor is gone.

    `out` is the number of the last release that is out. `releases` are the public folders of those that the series does
    not have; who is in them is lost, so from then on the series is unprotected. Without `out` only that is done which
    needs no word: what a writer left who was stopped is finished, and a series of an older version is brought up to
    date.
    """
    with Ledger.open(folder, check=False) as ledger:
        toml = ledger.policy.toml
        ledger.anchor_file = anchor_in(toml)
        if out is None:
            if releases:
                raise ParameterError(
                    "Releases are given, and not which one is the last that is out.", hint="say 'out'."
                )
            ledger.finish(reason)
        else:
            policy = Policy.from_toml(toml) if releases else None
            ledger.resume(
                Resumption(
                    out,
                    reason or "",
                    releases,
                    None if policy is None or policy.series == "unprotected" else _unprotected(policy),
                    _Lost(ledger),
                )
            )
    return open_series(Path(folder))


def _unprotected(policy: Policy) -> str:
    return replace(policy, series="unprotected").to_toml()


class _Lost:
    """The private summaries of releases whose members are lost, one after the other."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers: list[int] = []

    def __call__(self, facts: Mapping[str, Any]) -> dict[str, object]:
        """What is known of the release that has these public facts, after those before it."""
        before = self._ledger.last()
        earlier: Any = [] if before is None else before.summary.get(LOST_RELEASES, [])
        method = facts.get("method")
        told = {name: facts.get(name) for name in ("form", "rows", "groups", "series")}
        if None in told.values() or not isinstance(method, dict) or not isinstance(method.get("name"), str):
            raise SeriesError(
                f"The record of release {facts['number']} is not one that Reissue wrote.",
                hint="give the folder as it was published; a recipient may have it.",
            )
        self._numbers.append(int(facts["number"]))
        return {
            "number": facts["number"],
            "method": method["name"],
            **told,
            LOST_RELEASES: [*earlier, *self._numbers],
            **_goes_on_from(before),
            "notes": ["published from a copy of the series whose private part is lost: nobody here knows who is in it"],
        }


def _goes_on_from(before: Record | None) -> dict[str, object]:
    """What the next release must know of the private tables that a lost one keeps."""
    if before is None:
        return {}
    formats = {archive.FORMATS: before.summary[archive.FORMATS]} if archive.FORMATS in before.summary else {}
    return {archive.MADE_BY: archive.made_by(before), **formats}
