"""What all tests share."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))  # for what lies beside this file

import polars as pl
import profiles
import pytest
import real_data
import vl_convert
from chance import CHANCE
from hypothesis import settings

import reissue as ri
from reissue.ledger.anchor import STATE
from reissue.publishing.drafting import Progress
from reissue.publishing.rehearsal import Rehearsal

settings.load_profile("quick")  # unless --hypothesis-profile says otherwise

# Series sync often, and no test cuts the power: where memory can hold files, and many, all folders of tests are there.
MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of real data sets run where these are; what every test draws follows from its name."""
    if not profiles.thorough():
        CHANCE.begin(item.nodeid)
    real_data.require(item)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Generator[None]:
    """What a fixture draws for several tests does not depend on which of them asks for it first."""
    if fixturedef.scope == "function" or profiles.thorough():
        return (yield)
    param = getattr(request, "param", "")
    before = CHANCE.begin(f"{fixturedef.baseid}::{fixturedef.argname}[{param}]")
    try:
        return (yield)
    finally:
        CHANCE.back_to(before)


@pytest.fixture(scope="session", autouse=True)
def same_chance() -> Iterator[None]:
    """Let what is drawn in tests be the same every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "randbits", CHANCE)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is kept of the user, such as the anchors of series, out of their own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE, str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def one_bundle() -> Iterator[None]:
    """Put the script that every page with charts holds, always the same, together once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "javascript_bundle", cache(vl_convert.javascript_bundle))
        yield


@pytest.fixture
def patients() -> pl.DataFrame:
    """Twenty-four patients, small enough to look at."""
    return pl.DataFrame(
        {
            "patient": [f"p{n:02}" for n in range(24)],
            "age": [20 + n * 7 % 60 for n in range(24)],
            "sex": ["female" if n % 2 else "male" for n in range(24)],
            "diagnosis": [["flu", "asthma", "cancer", "measles"][n * 5 % 4] for n in range(24)],
        }
    )


@pytest.fixture
def policy() -> ri.Policy:
    """A policy for them under which a second release is allowed."""
    return ri.Policy(
        ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="diagnosis"),
        ri.Mondrian(k=3, l=2),
        series="unprotected",
    )


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where there is such a thing, for tests that sync often and lose no power."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path_factory.mktemp("memory")
        return
    with TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test may make a series."""
    return tmp_path / "series"


class Chain(Rehearsal):
    """A series in memory, with all its drafts and the outsider's view of them by name."""

    def __init__(self, policy: ri.Policy) -> None:
        super().__init__(policy)
        self.drafts: list[ri.Draft] = []

    def publish(self, table: object, *, seed: int | None = None, progress: Progress = lambda stage: None) -> ri.Draft:
        self.drafts.append(super().publish(table, seed=seed, progress=progress))
        return self.drafts[-1]

    def name(self, number: int) -> str:
        """The id behind a person number; counterfeits have numbers below 0."""
        return f"counterfeit {-number}" if number < 0 else str(self.ids[number])

    def groups(self) -> list[list[tuple[list[str], list[object]]]]:
        """What an outsider sees: releases, groups, (members, values)."""
        return [self._groups(draft) for draft in self.drafts]

    def _groups(self, draft: ri.Draft) -> list[tuple[list[str], list[object]]]:
        view, release = draft.published(), draft.recoded.groups
        return [
            (
                [
                    self.name(n)
                    for n in release.members[release.member_starts[g] : release.member_starts[g + 1]].tolist()
                ],
                [
                    view.values[value]
                    for at in range(release.value_starts[g], release.value_starts[g + 1])
                    for value in [release.values[at]] * int(release.counts[at])
                ],
            )
            for g in range(release.group_count)
        ]

    def published(self) -> ri.Published:
        """The outsider's view of everything, with people by name."""
        return ri.Published.from_groups(self.groups())


@pytest.fixture(scope="session")
def chain() -> type[Chain]:
    """Series in memory, for tests of methods."""
    return Chain


class Watched(Mapping[str, pl.DataFrame]):
    """A memory that notes which tables are read."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.tables = tables
        self.read: list[str] = []

    def __getitem__(self, name: str) -> pl.DataFrame:
        self.read.append(name)
        return self.tables[name]

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)


@pytest.fixture(scope="session")
def watched() -> type[Watched]:
    """Memories that tell what was read of them."""
    return Watched
