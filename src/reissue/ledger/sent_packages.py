"""export.json: what was sent to a recipient, file by file, tied to the records of the releases it comes from.

`export.json` is canonical JSON, as release.json is. It has the SHA-256 of every other file as sent. Its `chain` is the
SHA-256 of the chains of its releases, one after the other, followed by the canonical JSON of everything else in it. The
chain of a release stands for every public byte of the series up to it, so one value says what was sent and of what.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from reissue.ledger.durable import names_in, sha256_of
from reissue.ledger.layout import RECORD
from reissue.ledger.public_folders import PublicFolder, ReleaseFolder, release_folder
from reissue.ledger.record import canonical, newer
from reissue.ledger.verify import Discrepancy

EXPORT = "export.json"
DESCRIPTION = "datapackage.json"
FORMAT = 1
"""The format of export.json that is written now."""


class SentRelease(NamedTuple):
    """A release in a package."""

    number: int
    chain: str
    record: str
    """Where its release.json lies in the package."""


class SentFile(NamedTuple):
    """A file as sent."""

    sha256: str
    size: int


def export_json(
    releases: Sequence[SentRelease], files: Mapping[str, SentFile], *, kind: str, time: str, version: str
) -> str:
    """The text of export.json."""
    body: dict[str, object] = {
        "format": FORMAT,
        "kind": kind,
        "time": time,
        "tool": {"name": "reissue", "version": version},
        "releases": [one._asdict() for one in releases],
        "files": {name: {"bytes": facts.size, "sha256": facts.sha256} for name, facts in files.items()},
    }
    return canonical({**body, "chain": export_chain([one.chain for one in releases], body)})


def export_chain(chains: Sequence[str], body: Mapping[str, object]) -> str:
    """The chain value of a package whose export.json holds `body` besides the chain."""
    return hashlib.sha256(("".join(chains) + canonical(body)).encode()).hexdigest()


@dataclass(frozen=True, repr=False)
class SentPackage:
    """What an export.json says."""

    body: dict[str, Any]
    chain: str

    @property
    def files(self) -> dict[str, SentFile]:
        """Every file but export.json, by its path in the package."""
        return {name: SentFile(one["sha256"], one["bytes"]) for name, one in self.body["files"].items()}

    @property
    def releases(self) -> list[SentRelease]:
        """The releases, in their order."""
        return [SentRelease(one["number"], one["chain"], one["record"]) for one in self.body["releases"]]


def sent_package(folder: Path) -> SentPackage | None:
    """The package in a folder; None if there is no export.json that can be understood."""
    file = folder / EXPORT
    if not file.is_file() or file.is_symlink():
        return None
    try:
        body = json.loads(file.read_bytes())
        if type(body["format"]) is int and body["format"] > FORMAT:
            raise newer(folder.name, f"{EXPORT} of format {body['format']}; this version knows formats up to {FORMAT}")
        package = SentPackage(body, body.pop("chain"))
        sound = all(map(_is_inside, (*package.files, *(one.record for one in package.releases))))
        texts = (package.chain, *(one.chain for one in package.releases), *(one[0] for one in package.files.values()))
        if sound and package.releases and all(isinstance(text, str) for text in texts):
            return package
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return None


def _is_inside(name: object) -> bool:
    """Whether a path is one below the package: at most one folder down, and by no detour."""
    path = PurePosixPath(str(name))
    return isinstance(name, str) and str(path) == name and not path.is_absolute() and ".." not in path.parts


def release_findings(release: ReleaseFolder) -> list[Discrepancy]:
    """What is not as the record of a release says, where it may lie in a package: what is beside it there belongs."""
    package = sent_package(release.path)
    beside = set() if package is None else {EXPORT, *package.files} - {RECORD, *release.files}
    return [one for one in release.findings() if one.file.removeprefix(f"{release.shown}/") not in beside]


def package_at(folder: Path) -> Path | None:
    """The folder of the package that a folder is, or that it is one release of; None if it is neither.

    A package whose export.json is missing is one as well: it was not finished, or is not whole.
    """
    names = names_in(folder)
    if EXPORT in names:
        return folder
    if DESCRIPTION in names and (RECORD in names or any((folder / name / RECORD).is_file() for name in names)):
        return folder
    above = folder.resolve().parent
    if RECORD in names and EXPORT in names_in(above):
        package = sent_package(above)
        if package is not None and f"{folder.resolve().name}/{RECORD}" in package.files:
            return above
    return None


def check_package(folder: Path, shown: str) -> PublicFolder:
    """Check every file of a package as it was sent, and that it goes back to the records of its releases."""
    found = PublicFolder()
    package = sent_package(folder)
    if package is None:
        missing = EXPORT not in names_in(folder)
        found.findings.append(
            Discrepancy(f"{shown}/{EXPORT}", "it is missing" if missing else "it cannot be understood")
        )
        return found
    if package.chain != export_chain([one.chain for one in package.releases], package.body):
        found.findings.append(Discrepancy(f"{shown}/{EXPORT}", "its chain does not fit its content"))
    found.findings += _check_files(folder, shown, package)
    records = [_check_record(folder, shown, package, one, found) for one in package.releases]
    for before, after in itertools.pairwise(records):
        if before and after and after.number == before.number + 1 and after.previous != before.chain:
            where = next(one.record for one in package.releases if one.number == after.number)
            found.findings.append(Discrepancy(f"{shown}/{where}", "it does not follow the release before it"))
    if package.body.get("kind") != "parquet" and not found.findings:
        found.remarks.append(
            "The hashes of release.json are those of Parquet files. That these tables say the same rests on whoever "
            "made the package: with the public files of the series the same command gives the same bytes."
        )
    return found


def _check_files(folder: Path, shown: str, package: SentPackage) -> Iterator[Discrepancy]:
    files = package.files
    present = set(_files_below(folder)) - {EXPORT}
    for name in sorted(present - set(files)):
        yield Discrepancy(f"{shown}/{name}", "it does not belong to the package")
    for name, facts in sorted(files.items()):
        path = folder / name
        if name not in present:
            yield Discrepancy(f"{shown}/{name}", "it is missing")
        elif path.is_symlink() or not path.is_file():
            yield Discrepancy(f"{shown}/{name}", "it is no file")
        elif path.stat().st_size != facts.size or sha256_of(path) != facts.sha256:
            yield Discrepancy(f"{shown}/{name}", "its bytes have changed since it was sent (its SHA-256 is another)")


def _files_below(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        links = [name for name in folders if (Path(where) / name).is_symlink()]
        for name in (*names, *links):
            yield (Path(where) / name).relative_to(folder).as_posix()


def _check_record(
    folder: Path, shown: str, package: SentPackage, sent: SentRelease, found: PublicFolder
) -> ReleaseFolder | None:
    """Check the record of a release: its own chain, and that the package is about it."""
    where = f"{shown}/{sent.record}"
    release = release_folder((folder / sent.record).parent, shown) if sent.record.endswith(RECORD) else None
    if release is None:
        if (folder / sent.record).exists():
            found.findings.append(Discrepancy(where, "the record of the release cannot be understood"))
        return None
    found.findings += [Discrepancy(where, one.problem) for one in release.broken_chain()]
    if (release.number, release.chain) != (sent.number, sent.chain):
        found.findings.append(Discrepancy(where, f"it is not the record that {EXPORT} was made from"))
        return None
    if package.body.get("kind") == "parquet":
        for name, facts in release.files.items():
            path = (PurePosixPath(sent.record).parent / name).as_posix()
            if path not in package.files or package.files[path].sha256 != facts.get("sha256"):
                found.findings.append(Discrepancy(f"{shown}/{path}", "it is not the file that the record names"))
    found.chains[release.number] = release.chain
    return release
