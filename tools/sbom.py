"""The bill of materials: what a user installs with the library, as CycloneDX, made from the lock and nothing else.

.venv-lock/bin/python tools/sbom.py                # or `make sbom`; writes requirements/reissue.cdx.json

The same lock gives the same bytes: the serial number is worked out from the lock, and there is no time and no path.
Required is what `dependencies` of pyproject.toml lead to, optional what only its extras do.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
RUNTIME = ROOT / "requirements" / "runtime.txt"
WRITTEN = ROOT / "requirements" / "reissue.cdx.json"

PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+))?(?: \\)?")
HASH = re.compile(r" {4}--hash=sha256:(?P<hash>[0-9a-f]{64})(?: \\)?")
ASKED_BY = re.compile(r" {4}# (?:via| ) ?(?P<who>.*)")


@dataclass(frozen=True)
class Pin:
    """One version of one package in a lock."""

    name: str
    version: str
    marker: str | None
    """Where it is wanted; everywhere, if there is none."""
    hashes: tuple[str, ...]
    asked_by: tuple[str, ...]
    """Packages, or `reissue (pyproject.toml)`, which may name a group."""


def read_lock(path: Path) -> list[Pin]:
    """The pins of a lock. A line that is no part of a pin is refused: pip takes options there, addresses among them."""
    pins: list[Pin] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            continue
        if pin := PIN.fullmatch(line):
            pins.append(Pin(pin["name"], pin["version"], pin["marker"] and pin["marker"].strip(), (), ()))
        elif pins and (found := HASH.fullmatch(line)):
            pins[-1] = _with(pins[-1], hashes=[found["hash"]])
        elif pins and (found := ASKED_BY.fullmatch(line)):
            pins[-1] = _with(pins[-1], asked_by=[found["who"].strip()] if found["who"] else [])
        else:
            raise ValueError(f"{path.name}, line {number}: not a pin, a hash or who asked for it. Run: make lock")
    return pins


def _with(pin: Pin, hashes: Iterable[str] = (), asked_by: Iterable[str] = ()) -> Pin:
    return Pin(pin.name, pin.version, pin.marker, (*pin.hashes, *hashes), (*pin.asked_by, *asked_by))


def required(pins: Iterable[Pin], roots: Iterable[str]) -> set[str]:
    """The names of all packages that some lead to, themselves included."""
    leads_to: dict[str, set[str]] = {}
    for pin in pins:
        for name in pin.asked_by:
            leads_to.setdefault(name, set()).add(pin.name)
    found: set[str] = set()
    left = list(roots)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(leads_to.get(name, ()))
    return found


def bill() -> str:
    """The bill of materials of the lock, as JSON."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = read_lock(RUNTIME)
    always = required(pins, (canonicalize_name(Requirement(one).name) for one in project["dependencies"]))
    purl = PackageURL("pypi", name=project["name"], version=project["version"])
    lock = sha256(RUNTIME.read_bytes()).hexdigest()
    ourselves = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.LIBRARY,
        description=project["description"],
        licenses=[LicenseExpression(project["license"], acknowledgement=LicenseAcknowledgement.DECLARED)],
        purl=purl,
        bom_ref=str(purl),
        external_references=[
            ExternalReference(
                type=ExternalReferenceType.BUILD_META,
                url=XsUri(RUNTIME.relative_to(ROOT).as_posix()),
                comment="the lock that this was made from",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=lock)],
            )
        ],
    )
    made = Bom(
        serial_number=uuid5(NAMESPACE_URL, f"{purl}#{lock}"),
        components=[_component(pin, pin.name in always) for pin in pins],
        metadata=BomMetaData(component=ourselves, properties=[Property(name="cdx:reproducible", value="true")]),
    )
    made.metadata.timestamp = None  # type: ignore[assignment]
    refs = {f"{project['name']} (pyproject.toml)": [ourselves]}
    for component in made.components:
        refs.setdefault(component.name, []).append(component)
    for pin in pins:
        mine = [one for one in refs[pin.name] if one.version == pin.version]
        for name in pin.asked_by:
            for one in refs[name]:
                made.register_dependency(one, mine)
    return f"{JsonV1Dot6(made).output_as_string(indent=1)}\n"


def _component(pin: Pin, always: bool) -> Component:
    purl = PackageURL("pypi", name=pin.name, version=pin.version)
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        scope=ComponentScope.REQUIRED if always else ComponentScope.OPTIONAL,
        purl=purl,
        bom_ref=str(purl),
        external_references=[
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(str(purl)),
                comment="its files for all platforms; an installation has one of them",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one) for one in pin.hashes],
            )
        ],
        properties=[Property(name="reissue:where", value=pin.marker)] if pin.marker else [],
    )


if __name__ == "__main__":
    WRITTEN.write_text(bill(), encoding="utf-8")
    print(f"wrote {WRITTEN.relative_to(ROOT)}")
