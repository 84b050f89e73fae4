"""Series that 0.1 wrote are opened, found intact, read, audited and continued as they are."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import recorded_series
from make_series import FOLDER, STORED, what_comes_next
from recorded_series import copied, third

import reissue as ri

pytestmark = pytest.mark.filterwarnings("ignore:.*by a version that sealed nothing:reissue.errors.ReissueWarning")
RECORDED = recorded_series.recorded()
UNTOUCHED = "ccdf428fe6e401e0236f8fcd18a65582484d486fdac7b8e7debd891982ae4514"
"""One hash of all their files."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of copies counts as the home folder: that is where the key for hashed ids is looked for."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_nobody_has_rewritten_them() -> None:
    digest = hashlib.sha256()
    for path in sorted(path for path in FOLDER.rglob("*") if path.is_file()):
        digest.update(
            f"{path.relative_to(FOLDER).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    assert digest.hexdigest() == UNTOUCHED


def test_all_are_there() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(STORED) == set(RECORDED)
    assert {stored.policy.form for stored in STORED.values()} == {"generalised", "anatomised"}


@pytest.mark.parametrize("name", STORED)
def test_is_intact_and_can_be_read(name: str, home: Path) -> None:
    stored = STORED[name]
    with ri.open(copied(name, home), stored.policy) as series:
        assert series.verify() == []
        assert series.policy == stored.policy
        assert series.in_the_way() == ()
        releases = series.releases
        assert [release.number for release in releases] == [1, 2]
        for release in releases:
            rows = release.tables.get("table", release.tables.get("quasi"))
            assert rows.height == release.manifest["rows"] == release.summary["rows"]
            assert rows["group"].n_unique() == release.manifest["groups"]
            members, held = series.private.members(release.number), series.private.held_back(release.number)
            assert members.height
            assert held.height == sum(one["people"] for one in release.summary["held_back"].values())
            if release.manifest["series"] != "adopted":  # whose table is not known here
                assert series.private.replaced(release.number).columns == ["person", "value", "published"]
                assert series.utility(release.number).rows == rows.height
        view = series.published()
        assert [release.number for release in view.releases] == [1, 2]
        assert [release.group_count for release in view.releases] == [one.manifest["groups"] for one in releases]


def test_can_be_read_where_nothing_may_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied("m-invariance", home)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setattr(os, "access", lambda *_: False)
    with ri.open(folder) as series:
        assert series.verify() == []
        assert len(series.releases) == 2
        assert series.audit(limit=1 / 2).passed
        with pytest.raises(ri.errors.StorageError, match="read-only"):
            third(series, "m-invariance")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", STORED)
def test_goes_on_as_recorded(name: str, home: Path) -> None:
    found = recorded_series.computed(name, home)
    assert set(found) == set(RECORDED[name])
    for what, recorded in RECORDED[name].items():
        assert found[what] == recorded, what
    with ri.open(home / name) as series:
        assert series.verify() == []
        releases = series.releases
    records = [json.loads((release.folder / "release.json").read_text(encoding="utf-8")) for release in releases]
    assert [record.get("format") for record in records] == [None, None, 2]
    assert ["formats" in release.summary for release in releases] == [False, False, True]


def refused(series: ri.Series, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        series.publish(**what_comes_next(name), seed=3)
    assert len(series.releases) == 2


def test_the_key_is_needed(home: Path) -> None:
    with ri.open(copied("hashed", home)) as series:
        assert series.private.pseudonym("P-0010") in series.private.members(2)["person"].to_list()
        (home / "hashed.key").write_text("ab" * 32 + "\n")
        (home / "hashed.key").chmod(0o600)
        refused(series, "hashed", ri.errors.PolicyError)


def test_gates_are_kept(home: Path) -> None:
    with ri.open(copied("gated", home)) as series:
        assert [release.summary["gate"]["verdict"] for release in series.releases] == ["passed", "passed"]
        assert third(series, "gated").summary["gate"]["verdict"] == "passed"
    with ri.open(copied("overridden", home)) as series:
        gates: list[dict[str, Any]] = [release.summary["gate"] for release in series.releases]
        assert gates[1]["verdict"] == "closed"
        assert gates[1]["override"] == "Agreed at a meeting in February"
        refused(series, "overridden", ri.errors.GateClosed)


def test_amendments_and_forgotten_people_are_kept(home: Path) -> None:
    with ri.open(copied("amended", home)) as series:
        assert [version.reason for version in series.policies()][1:] == ["fewer rows to make up"]
        assert [release.manifest["policy_version"] for release in series.releases] == [1, 2]
        assert [release.manifest["method"]["m"] for release in series.releases] == [4, 3]
        people = series.private.members(1)
        assert people["person"].null_count() == 3
        assert not {"P-0007", "P-0002", "P-0031"} & set(people["person"].to_list())
        third(series, "amended")
        assert {"P-0002", "P-0031"} <= set(series.private.members(3)["person"].to_list()), "they count as new"


def test_adopted_releases_are_kept(home: Path) -> None:
    with ri.open(copied("adopted", home)) as series:
        assert [release.manifest["series"] for release in series.releases] == ["adopted", "adopted"]
        assert series.releases[1].summary["barred"] == 3
        assert third(series, "adopted").manifest["series"] == "protected"
        barred = series.private.held_back(3).filter(
            reason="was in groups of adopted releases that the method cannot go on from"
        )
        assert barred.height == 3


def test_roles_and_replaced_values_are_kept(home: Path) -> None:
    with ri.open(copied("hd-composition", home)) as series:
        roles = series.private.roles(2)
        assert {"P-0040", "P-0071"} <= set(roles.filter(role="holder")["person"].to_list())
        assert roles.filter(role="decoy").height
    with ri.open(copied("mask", home)) as series:
        assert [series.private.replaced(number).height for number in (1, 2)] == [1, 2]
