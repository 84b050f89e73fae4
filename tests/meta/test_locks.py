"""What is installed is locked: every dependency within its bounds, every file by its hash, no address; and its bill."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (("Linux", "linux"), ("Darwin", "darwin"))
ADDRESS = re.compile(r"://|^\s*-(?!-hash=)|@|\bfile:|(?:^|\s)\.{0,2}/", re.M)
"""What leads somewhere, and every option other than a hash."""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


sbom = load("sbom")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
STUDIES = tomllib.loads((ROOT / "studies" / "pyproject.toml").read_text())


def group(name: str) -> Iterator[str]:
    for one in PROJECT["dependency-groups"][name]:
        if isinstance(one, str):
            yield one
        else:
            yield from group(one["include-group"])


def of(extras: tuple[str, ...], groups: tuple[str, ...], *, ours: bool = True) -> list[Requirement]:
    """What is asked for: by the library itself, by some of its extras, and by some groups."""
    asked = list(PROJECT["project"]["dependencies"]) if ours else []
    for extra in extras:
        asked += PROJECT["project"]["optional-dependencies"][extra]
    for name in groups:
        asked += group(name)
    return [Requirement(one) for one in asked]


EXTRAS = tuple(PROJECT["project"]["optional-dependencies"])
ASKED = {
    "runtime.txt": of(EXTRAS, ()),
    "development.txt": of(EXTRAS, ("build", "test")),
    "bench.txt": of(("pandas",), ("build", "bench")),
    "locking.txt": of((), ("lock",), ours=False),
    "installer.txt": of((), ("installer",), ours=False),
}


def wanted(marker: str | None, python: str, platform: tuple[str, str]) -> bool:
    system, sys_platform = platform
    environment = {"python_version": python, "python_full_version": f"{python}.9", "implementation_name": "cpython"}
    environment |= {"platform_system": system, "sys_platform": sys_platform, "os_name": "posix"}
    environment |= {"platform_python_implementation": "CPython"}
    return marker is None or Marker(marker).evaluate(environment)


def test_every_lock_is_looked_at() -> None:
    assert {path.name for path in LOCKS.glob("*.txt")} == {*ASKED, "bench-overrides.txt"}
    assert set(PROJECT["dependency-groups"]) == {"build", "sbom", "test", "bench", "installer", "lock"}


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one[0])
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("lock", ASKED)
def test_every_dependency_is_locked_within_its_bounds(lock: str, python: str, platform: tuple[str, str]) -> None:
    pins = [pin for pin in sbom.read_lock(LOCKS / lock) if wanted(pin.marker, python, platform)]
    version_of = {pin.name: pin.version for pin in pins}
    assert len(version_of) == len(pins), "one version of each"
    for one in ASKED[lock]:
        version = version_of.get(canonicalize_name(one.name))
        assert version is not None, f"{lock} has no {one.name}; run: make lock"
        assert one.specifier.contains(version, prereleases=True), f"{lock} does not fit {one}; run: make lock"


@pytest.mark.parametrize("lock", ASKED)
def test_nothing_is_locked_that_nobody_asks_for(lock: str) -> None:
    pins = sbom.read_lock(LOCKS / lock)
    roots = {canonicalize_name(one.name) for one in ASKED[lock]}
    assert {pin.name for pin in pins} == sbom.required(pins, roots), "run: make lock"


@pytest.mark.parametrize("lock", ASKED)
def test_every_entry_has_hashes_and_there_is_no_address(lock: str) -> None:
    for pin in sbom.read_lock(LOCKS / lock):
        assert pin.hashes, pin.name
        assert len(set(pin.hashes)) == len(pin.hashes), pin.name
    assert ADDRESS.search((LOCKS / lock).read_text()) is None


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "--find-links ../wheels",
        "numpy @ file:///wheels/numpy.whl",
        "numpy>=2.0",
        "numpy",
        "-e .",
        "    --hash=md5:00",
    ],
)
def test_what_is_no_pin_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text(f"rich==15.0.0 \\\n    --hash=sha256:{'0' * 64}\n    # via typer\n{line}\n")
    with pytest.raises(ValueError, match=r"lock.txt, line 4"):
        sbom.read_lock(tmp_path / "lock.txt")


def test_a_user_gets_the_versions_that_are_tested() -> None:
    tested = {(pin.name, pin.version): pin.hashes for pin in sbom.read_lock(LOCKS / "development.txt")}
    for pin in sbom.read_lock(LOCKS / "runtime.txt"):
        assert tested[pin.name, pin.version] == pin.hashes, pin.name


def test_what_builds_the_packages_is_locked() -> None:
    build = list(group("build"))
    for project in (PROJECT, STUDIES):
        assert set(project["build-system"]["requires"]) <= set(build)
    assert {Requirement(one).name for one in STUDIES["project"]["dependencies"]} == {"reissue"}


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    assert sbom.WRITTEN.read_text(encoding="utf-8") == sbom.bill(), "run: make sbom"


def test_the_bill_of_materials_is_valid() -> None:
    text = sbom.WRITTEN.read_text(encoding="utf-8")
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert problem is None, problem
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"scope"', '"scop"')) is not None


def test_the_bill_of_materials_says_who_needs_what() -> None:
    made: dict[str, Any] = json.loads(sbom.bill())
    scope_of = {one["name"]: one["scope"] for one in made["components"]}
    assert scope_of["numba"] == scope_of["llvmlite"] == "required"
    assert scope_of["pandas"] == scope_of["vl-convert-python"] == "optional"
    leads_to = {one["ref"].partition("@")[0]: one.get("dependsOn", []) for one in made["dependencies"]}
    direct = {canonicalize_name(one.name) for one in ASKED["runtime.txt"]}
    ours = {ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in leads_to["pkg:pypi/reissue"]}
    assert direct <= ours
    assert any(ref.startswith("pkg:pypi/llvmlite@") for ref in leads_to["pkg:pypi/numba"])
    assert "timestamp" not in made["metadata"]
