"""Private files are their owner's alone whatever the umask; public ones are as the umask says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from command_line import Run, run

import reissue as ri
from reissue.errors import PolicyError
from reissue.kernels.keeping import choose
from reissue.tables.identities import make_key, read_key

__all__ = ["run"]

UMASKS = [0o000, 0o022, 0o077, 0o277]


@pytest.fixture(params=UMASKS, ids=lambda umask: f"{umask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key(tmp_path: Path, umask: int) -> None:
    make_key(tmp_path / "key")
    assert mode(tmp_path / "key") == 0o600
    assert len(read_key(tmp_path / "key", outside=None)) == 32


@pytest.fixture
def series(run: Run, tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> Path:
    before = os.umask(0o022)
    gated = ri.Policy(policy.schema, ri.Mondrian(k=3, l=2), series="unprotected", gate=ri.Gate(accept=["undecided"]))
    (tmp_path / "policy.toml").write_text(gated.to_toml())
    patients.write_csv(tmp_path / "january.csv")
    assert run("publish", "clinic", "january.csv", "--policy", "policy.toml").code == 0
    os.umask(before)
    return tmp_path


def test_reports_are_private_and_exports_are_not(run: Run, series: Path, umask: int) -> None:
    (series / "old.html").touch(mode=0o666)
    (series / "old.html").chmod(0o666)
    assert run("audit", "clinic", "--limit", "1/2", "--html", "new.html").code in (0, 1)
    assert run("audit", "clinic", "--limit", "1/2", "--html", "old.html", "--force").code in (0, 1)
    gate = run("publish", "clinic", "january.csv", "--dry-run", "--report", "gate.html", "--override", "to see it",
               "--allow", "same-state", "--reason", "so it is here")  # fmt: skip
    assert gate.code in (0, 1)
    with ri.open(series / "clinic") as opened:
        opened.audit().to_json(series / "new.json")
    assert {name: mode(series / name) for name in ("new.html", "old.html", "gate.html", "new.json")} == dict.fromkeys(
        ("new.html", "old.html", "gate.html", "new.json"), 0o600
    )
    if umask != 0o277:  # nothing can be put into such a folder, but by root
        assert run("export", "clinic", "out").code == 0
        assert mode(series / "out") == 0o777 & ~umask
        assert {mode(path) for path in (series / "out").iterdir()} == {0o666 & ~umask}
        assert run("init", "january.csv", "--out", "proposed.toml").code == 0
        assert mode(series / "proposed.toml") == 0o666 & ~umask


@pytest.mark.parametrize("umask", UMASKS[:-1], indirect=True)  # the last one is too tight for folders
def test_the_folder_of_kernels(tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can write to a folder above it can put another one in its place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    package = tmp_path / "package"  # which has no folder that could be written to
    package.mkdir()
    (package / "kernels").write_text("not a folder")
    places = choose(package, None)
    assert places.write is not None
    assert places.write.is_relative_to(tmp_path / "cache")
    made = [path for path in (places.write, *places.write.parents) if path.is_relative_to(tmp_path / "cache")]
    assert len(made) == 4
    assert {mode(path) for path in made} == {0o700}


@pytest.mark.parametrize("wrong", [0o644, 0o640, 0o604, 0o620, 0o602, 0o666, 0o610])
def test_a_key_open_to_others_is_refused(tmp_path: Path, wrong: int) -> None:
    path = tmp_path / "key"
    make_key(path)
    path.chmod(wrong)
    with pytest.raises(PolicyError, match=rf"open to others \(its mode is {wrong:04o}\)") as caught:
        read_key(path, outside=None)
    assert f"chmod 600 {path}" in str(caught.value)


@pytest.mark.parametrize("sound", [0o600, 0o400, 0o700])
def test_a_key_that_is_its_users_alone_is_taken(tmp_path: Path, sound: int) -> None:
    path = tmp_path / "key"
    make_key(path)
    path.chmod(sound)
    assert len(read_key(path, outside=None)) == 32


def test_a_key_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    make_key(path)
    owner = path.stat().st_uid
    if owner == 0:
        os.chown(path, 4321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PolicyError, match="belongs to another user"):
        read_key(path, outside=None)


def test_a_link_to_a_key_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    path, link = tmp_path / "key", tmp_path / "link"
    make_key(path)
    link.symlink_to(path)
    assert read_key(link, outside=None) == read_key(path, outside=None)
    path.chmod(0o644)
    with pytest.raises(PolicyError, match="open to others"):
        read_key(link, outside=None)
    inside = tmp_path / "series"
    inside.mkdir()
    path.chmod(0o600)
    path.rename(inside / "key")
    link.unlink()
    link.symlink_to(inside / "key")
    with pytest.raises(PolicyError, match="inside the series"):
        read_key(link, outside=inside)


def test_what_is_no_key_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(PolicyError, match="is not a file"):
        read_key(tmp_path / "pipe", outside=None)
    (tmp_path / "long").write_text("ab" * 10_000)
    (tmp_path / "long").chmod(0o600)
    with pytest.raises(PolicyError, match="does not hold a key"):
        read_key(tmp_path / "long", outside=None)


def test_publishing_refuses_such_a_key(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> None:
    path = tmp_path / "key"
    make_key(path)
    hashed = ri.Policy(policy.schema, ri.Mondrian(k=3), people=ri.Ids("hashed", key_file=str(path)))
    path.chmod(0o644)
    with pytest.raises(PolicyError, match="open to others"):
        ri.publish(tmp_path / "series", patients, hashed)
    assert not (tmp_path / "series").exists()
