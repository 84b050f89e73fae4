"""Verifying what lies at a path: a whole series with its anchor, or public files alone; and whether a head is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from reissue.errors import NotASeries, NotContinued, ParameterError, SeriesDamaged, SeriesError, StorageError
from reissue.ledger import chain
from reissue.ledger.anchor import Anchor, anchor_in, refuse_known, refuse_restored
from reissue.ledger.backups import FIRST, is_backup
from reissue.ledger.chain import Link
from reissue.ledger.durable import names_in, storage
from reissue.ledger.layout import RECORD, Layout, is_release_name
from reissue.ledger.public_folders import CSV, PublicFolder, check_public
from reissue.ledger.recovery import Known, unfinished
from reissue.ledger.sent_packages import check_package, package_at
from reissue.ledger.sqlite import Database
from reissue.ledger.transactions import last_policy_row, last_release
from reissue.ledger.verify import Discrepancy, verify

_EXPECTED = re.compile(r"(?:([0-9]{1,9}):)?([0-9a-f]{16,64})")


@dataclass(frozen=True)
class Verification:
    """What `verify` has found."""

    path: str
    kind: str
    """`series`, `public` (a folder with releases), `release` (the folder of one), `export` (what `export` wrote) or
    `csv` (a release that an older version exported as CSV)."""
    findings: tuple[Discrepancy, ...]
    """What is not as it was written; nothing if all is well."""
    remarks: tuple[str, ...]
    """What there is to know besides."""
    head: str | None
    """The head of the chain of a series, as `expect` takes it."""
    releases: tuple[int, ...]
    """The numbers of the releases."""

    @property
    def intact(self) -> bool:
        """Whether everything that can be checked is as it was written; of a release as CSV that is its record alone."""
        return not self.findings


class Expected(NamedTuple):
    """A head that somebody wrote down."""

    number: int | None
    head: str
    """The head, or how it begins."""

    @classmethod
    def parse(cls, text: str) -> Expected:
        """From `4:` and 64 hexadecimal digits, these alone, or at least the first 16 of them."""
        found = _EXPECTED.fullmatch(text.strip().lower())
        if found is None:
            raise ParameterError(
                "The 'expect' parameter must be a head as it is printed: a number, a colon and 64 hexadecimal digits; "
                "the digits alone, or the first 16 of them or more, will do.",
                hint="`reissue publish` and `reissue log` print the head.",
            )
        return cls(None if found[1] is None else int(found[1]), found[2])

    def missing(self, heads: Mapping[int, str], link: str) -> str | None:
        """What is wrong if heads, by the numbers of their links, do not have it."""
        if self.number is None:
            there = any(head.startswith(self.head) for head in heads.values())
            return None if there else f"no {link} has the head that is expected"
        if self.number not in heads:
            return f"{link} {self.number}, whose head is expected, is not there"
        return None if heads[self.number].startswith(self.head) else f"{link} {self.number} has another head"


@dataclass
class _Found:
    """What was found so far."""

    findings: list[Discrepancy] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def verify_path(path: str | os.PathLike[str], *, expect: str | None = None) -> Verification:
    """Check the series in a folder, a public folder with releases, the folder of one release, or a sent package."""
    shown, wanted = os.fspath(path), None if expect is None else Expected.parse(expect)
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise _no_folder(folder, shown)
    with storage(f"'{shown}' could not be read"):
        layout = Layout.of(folder.resolve())
        if layout.catalog.is_file():
            return verify_series(path, expect=wanted)
        if (package := package_at(folder)) is not None:
            return _public(shown, "export", check_package(package, package.resolve().name), wanted)
        if RECORD in names_in(folder):
            found = check_public(folder, folder.resolve().name)
            return _public(shown, CSV if found.as_csv else "release", found, wanted)
        if any(map(is_release_name, names_in(folder))):
            return _public(shown, "public", check_public(folder, folder.resolve().name), wanted)
        if not any(map(is_release_name, names_in(layout.public))):
            raise NotASeries(
                f"There is neither a series nor a release in '{shown}'.",
                hint="name the folder of a series, its folder public, or the folder of one release.",
            )
        found = check_public(layout.public, "public")
        found.findings.insert(0, Discrepancy(layout.relative(layout.catalog), "it is missing"))
        return _public(shown, "series", found, wanted)


def _no_folder(file: Path, shown: str) -> SeriesError:
    with storage(f"'{shown}' could not be read"):
        if file.is_file():
            with file.open("rb") as opened:
                if (beginning := opened.read(FIRST)) and is_backup(beginning):
                    return NotASeries(
                        f"'{shown}' is a backup, or another tar file, and no folder.",
                        hint=f"`reissue restore {shown} <new folder>` checks every byte of it, and makes a series only "
                        "if all is well; verify that one, and remove it if it was only to see.",
                    )
    return NotASeries(
        f"'{shown}' is a file, not a folder.",
        hint="name the folder of a series, its folder public, or the folder of one release.",
    )


def verify_series(
    folder: str | os.PathLike[str], *, expect: Expected | None = None, anchor: str | None = None
) -> Verification:
    """Check a series, its anchor (the one that its policy names, unless another one is given) and the head expected."""
    shown = os.fspath(folder)
    layout = Layout.of(Path(folder).resolve())
    database = Database(layout.catalog, shown, read_only=True)
    found = _Found(verify(folder))
    own_name = layout.relative(layout.catalog)
    head: str | None = None
    releases: tuple[int, ...] = ()
    try:
        with chain.explaining(database, shown):
            present = database.read(_Present.read)
            said = unfinished(layout, database.read(Known.read))
            asked = anchor_in(present.policy) if anchor is None else anchor
        found.remarks += [said] if said else []
        head, releases = str(present.links[-1]) if present.links else None, present.releases
        _check_outside(found, database, present.links, asked, layout.root, shown)
        problem = expect and expect.missing({link.number: link.head for link in present.links}, "link")
    except SeriesDamaged as damage:
        if not found.findings:
            found.findings.append(Discrepancy(own_name, damage.what))
        problem = expect and "it cannot be read, so the head that is expected is not found"
        if not releases:  # those that can be seen
            releases = tuple(int(name) for name in names_in(layout.public) if is_release_name(name))
    if problem:
        found.findings.append(Discrepancy(own_name, problem))
    return Verification(shown, "series", tuple(found.findings), tuple(found.remarks), head, releases)


class _Present(NamedTuple):
    """What a catalog has, as far as it is needed here."""

    links: list[Link]
    policy: str
    releases: tuple[int, ...]

    @classmethod
    def read(cls, connection: sa.Connection) -> _Present:
        last, _ = last_release(connection)
        return cls(chain.every(connection), last_policy_row(connection).toml, tuple(range(1, last + 1)))


def _check_outside(
    found: _Found, database: Database, links: Sequence[Link], asked: str | None, root: Path, shown: str
) -> None:
    """Compare a series with its anchor, and say what its chain vouches for."""

    def differs(where: object, error: SeriesError) -> None:
        found.findings.append(Discrepancy(str(where), "; ".join([error.what.rstrip("."), *error.problems])))

    if not links:
        found.remarks.append(
            "This series was last written to by a version that kept no chain: its catalog is not sealed. The next "
            "publication, or `reissue resume`, begins one."
        )
        try:
            refuse_known(asked, root, shown)
        except NotContinued as error:
            differs("private/catalog.sqlite", error)
        return
    if links[0].kind == chain.BEGAN:
        found.remarks.append(
            f"The chain of this series began on {links[0].time}, later than the series: an older version kept none. It "
            "vouches for everything as it was found that day, and not for how it came about."
        )
    try:
        refuse_restored(links, shown)
    except NotContinued as error:
        found.remarks.append(error.what)
    anchor = Anchor.of(links[0].head, asked, root)

    def present() -> tuple[list[Link], int]:
        return database.read(lambda connection: (chain.every(connection), last_release(connection)[0]))

    try:
        said = anchor.check(present, shown, writing=False) or anchor.behind(links, shown)
        found.remarks += [said] if said else []
    except (NotContinued, StorageError) as error:
        differs(anchor.place, error)


def _public(shown: str, kind: str, found: PublicFolder, expect: Expected | None) -> Verification:
    problem = expect and expect.missing(found.chains, "release")
    findings = found.findings
    if problem:
        findings = [
            *findings,
            Discrepancy(shown, f"{problem} (of public files alone that is the `chain` of a release)"),
        ]
    return Verification(shown, kind, tuple(findings), tuple(found.remarks), None, tuple(sorted(found.chains)))
