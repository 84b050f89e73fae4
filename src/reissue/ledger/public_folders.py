"""Public folders by themselves: releases checked by their own records, without the series that they came from.

A release.json has the hash of every file beside it, and of itself and the release before in its chain. So whoever has
received releases can see that they are complete, unchanged and each the next of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reissue.ledger.durable import names_in
from reissue.ledger.layout import PARQUET, RECORD, is_release_name, release_name
from reissue.ledger.record import chain_value, check_format, format_of
from reissue.ledger.verify import Discrepancy, check_files, parsed_record

CSV = "csv"
"""The kind of a folder that has a release as CSV."""
_CSV_FILE = ".csv"


@dataclass(frozen=True, repr=False)
class ReleaseFolder:
    """The folder of a release, as its release.json describes it."""

    path: Path
    shown: str
    """The folder in messages."""
    record: bytes
    """Its release.json."""
    body: dict[str, Any]
    """What that says, but for the chain."""
    number: int
    previous: str | None
    chain: str

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """What the record says of each file, by its name."""
        found: dict[str, dict[str, Any]] = self.body["files"]
        return found

    def findings(self) -> Iterator[Discrepancy]:
        """What is not as the record says."""
        yield from self.broken_chain()
        yield from check_files(self.path, self.shown, self.record, self.files)

    def broken_chain(self) -> Iterator[Discrepancy]:
        """Whether its record is not what its chain stands for."""
        if self.chain != chain_value(self.previous, self.body):
            yield Discrepancy(f"{self.shown}/{RECORD}", "its chain does not fit its content")

    @property
    def as_csv(self) -> bool:
        """Whether its tables are there as CSV files alone, as `reissue export` writes them."""
        present = names_in(self.path)
        as_csv = {_as_csv(name) for name in self.files}
        return any(name in as_csv for name in present) and not any(name.endswith(PARQUET) for name in present)

    def findings_as_csv(self) -> Iterator[Discrepancy]:
        """What is not as the record says, as far as it can be told of CSV files."""
        yield from self.broken_chain()
        wanted, present = {RECORD, *map(_as_csv, self.files)}, set(names_in(self.path))
        for name in sorted(present - wanted):
            yield Discrepancy(f"{self.shown}/{name}", "it does not belong to the release")
        for name in sorted(wanted - present):
            yield Discrepancy(f"{self.shown}/{name}", "it is missing")


def _as_csv(name: str) -> str:
    """The name that a public table has when it is exported as CSV."""
    return f"{name.removesuffix(PARQUET)}{_CSV_FILE}"


def release_folder(path: Path, shown: str) -> ReleaseFolder | None:
    """The release in a folder; None if there is no release.json that can be understood."""
    file = path / RECORD
    if not file.is_file() or file.is_symlink():
        return None
    record = file.read_bytes()
    body = parsed_record(record)
    if body is None:
        return None
    check_format(format_of(body), shown)
    chain, previous, number = body.pop("chain"), body["previous"], body.get("number")
    if not isinstance(chain, str) or not isinstance(previous, str | None) or type(number) is not int or number < 1:
        return None
    return ReleaseFolder(path, shown, record, body, number, previous, chain)


@dataclass(repr=False)
class PublicFolder:
    """What checking public files alone has found."""

    findings: list[Discrepancy] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    chains: dict[int, str] = field(default_factory=dict)
    """The chain value of each release whose record can be understood."""
    as_csv: bool = False
    """Whether it is a release that was exported as CSV: then its record alone can be checked."""


def check_public(folder: Path, shown: str) -> PublicFolder:
    """Check the folder of one release, or a folder with the folders of several."""
    if RECORD in names_in(folder):
        return _check_one(folder, shown)
    found = PublicFolder()
    names = names_in(folder)
    for name in names:
        if not is_release_name(name):
            found.findings.append(Discrepancy(f"{shown}/{name}", "it is not a release"))
    numbers = sorted(int(name) for name in names if is_release_name(name))
    for number in sorted(set(range(numbers[0], numbers[-1])) - set(numbers)) if numbers else []:
        found.findings.append(Discrepancy(f"{shown}/{release_name(number)}", "it is missing"))
    before: ReleaseFolder | None = None
    for number in numbers:
        before = _check_next(folder / release_name(number), number, before, f"{shown}/{release_name(number)}", found)
    if numbers and numbers[0] > 1:
        found.remarks.append(f"The releases before {numbers[0]} are not there: its chain is taken as it is.")
    return found


def _check_one(folder: Path, shown: str) -> PublicFolder:
    found = PublicFolder()
    name = folder.resolve().name
    number = int(name) if is_release_name(name) else None
    release = _check_next(folder, number, None, shown, found, csv_will_do=True)
    found.as_csv = release is not None and release.as_csv
    if found.as_csv:
        found.remarks.append(
            "The hashes in release.json are those of the Parquet files, and these tables are CSV: release.json was "
            "checked against its own chain, what is in the tables was not. `reissue export --format parquet` gives "
            "files that can be checked."
        )
    if release is not None and release.number > 1:
        found.remarks.append(
            f"Release {release.number} is there alone: what it says of those before is taken as it is."
        )
    return found


def _check_next(
    path: Path,
    number: int | None,
    before: ReleaseFolder | None,
    shown: str,
    found: PublicFolder,
    *,
    csv_will_do: bool = False,
) -> ReleaseFolder | None:
    """Check one release, of this number if there is one, and that it follows the one before."""
    release = release_folder(path, shown)
    record = f"{shown}/{RECORD}"
    if release is None:
        missing = RECORD not in names_in(path)
        found.findings.append(
            Discrepancy(record, "it is missing" if missing else "the record of the release cannot be understood")
        )
        return None
    if number is not None and release.number != number:
        found.findings.append(Discrepancy(record, f"it is the record of release {release.number}"))
        return None
    follows = before is not None and before.number == release.number - 1
    if (follows and before is not None and release.previous != before.chain) or (
        (release.previous is None) != (release.number == 1)
    ):
        found.findings.append(Discrepancy(record, "it does not follow the release before it"))
    found.findings += release.findings_as_csv() if csv_will_do and release.as_csv else release.findings()
    found.chains[release.number] = release.chain
    return release
