"""The ledger in fair weather, and the mistakes of its callers."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest
from ledger_story import AMENDED, KEPT_TABLE, POLICY, copied, created, entry, facts, files_under, opened, series, state
from polars.testing import assert_frame_equal

from reissue.errors import (
    InternalError,
    NotASeries,
    ParameterError,
    SeriesDamaged,
    SeriesError,
    StaleDraft,
)
from reissue.ledger import Entry, Ledger, verify
from reissue.model.memory import KEPT, Prefixed


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def test_what_was_committed_is_read_back(clinic: Path) -> None:
    with opened(clinic) as ledger:
        first, second = ledger.releases()
        assert [first.number, second.number] == [1, 2]
        assert second.time == datetime(2026, 1, 3, tzinfo=UTC)
        assert second.policy_version == 1
        assert second.manifest == {"method": "Mondrian", "parameters": {"k": 4}, "rows": 40}
        assert second.summary == {"waiting": 2}
        assert second.seed == "seed-2"
        assert second.path == clinic.resolve() / "public" / "0002"
        for number in (1, 2):
            expected = entry(number)
            for name, frame in {**expected.private, "kept": KEPT_TABLE}.items():
                assert_frame_equal(ledger.table(number, name), frame)
            for stem, frame in expected.public.items():
                assert_frame_equal(ledger.public_table(number, stem), frame)
            assert list(ledger.tables(number)) == sorted(expected.private)
        assert_frame_equal(ledger.people(), pl.concat([entry(1).people, entry(2).people]))


def test_release_json_can_be_recomputed_by_anybody(clinic: Path) -> None:
    chain = None
    for number in (1, 2):
        folder = clinic / "public" / f"{number:04d}"
        text = (folder / "release.json").read_text()
        record = json.loads(text)
        assert text == json.dumps(record, sort_keys=True, indent=2) + "\n"
        assert set(record) == {"format", "number", "time", "method", "parameters", "rows", "files", "previous", "chain"}
        assert record["time"] == f"2026-01-0{number + 1}T00:00:00Z"
        for name, recorded in record["files"].items():
            content = (folder / name).read_bytes()
            assert recorded == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        assert sorted(record["files"]) == ["extra.parquet", "table.parquet"]
        assert record["previous"] == chain
        rest = {key: value for key, value in record.items() if key != "chain"}
        hashed = (chain or "") + json.dumps(rest, sort_keys=True, indent=2) + "\n"
        chain = hashlib.sha256(hashed.encode()).hexdigest()
        assert record["chain"] == chain


def test_private_digests_stay_private(clinic: Path) -> None:
    private = {path.stem for path in (clinic / "private" / "blobs").iterdir()}
    assert len(private) == 6  # two snapshots, two with small tables, two parts of the table of ids
    for content in files_under(clinic / "public").values():
        assert not any(digest.encode() in content for digest in private)


def test_nothing_stays_open_or_behind(clinic: Path) -> None:
    with opened(clinic) as ledger:
        ledger.commit(entry(3), parent=2)
        ledger.people()
        assert sorted(path.name for path in (clinic / "private").iterdir()) == [
            "blobs",
            "catalog.sqlite",
            "lock",
            "staging",
        ]
    with pytest.raises(SeriesError, match="closed"):
        ledger.releases()


def test_a_draft_from_the_past_is_refused(clinic: Path) -> None:
    before = state(clinic)
    with opened(clinic) as ledger:
        for parent in (0, 1, 3):
            with pytest.raises(StaleDraft, match="2 releases"):
                ledger.commit(entry(3), parent=parent)
        ledger.amend(AMENDED, "more is published", anchor=ledger.anchor_file)
        with pytest.raises(StaleDraft, match="version 1 of the policy"):
            ledger.commit(entry(3), parent=2)
        ledger.commit(entry(3, policy_version=2), parent=2)
    assert before["releases"] == state(clinic)["releases"][:2]
    assert not any((clinic / "private" / "staging").iterdir())


def test_nobody_new_keeps_the_table_of_ids(clinic: Path) -> None:
    with opened(clinic) as ledger:
        ids = ledger.people()
        ledger.commit(entry(3, people=False), parent=2)
        assert_frame_equal(ledger.people(), ids)


def test_a_new_series_has_nobody(tmp_path: Path) -> None:
    with created(tmp_path / "clinic") as ledger:
        assert ledger.releases() == []
        assert ledger.people().height == 0
        assert ledger.people().columns == ["number", "id"]
        with pytest.raises(ParameterError, match="1 person number of 1"):
            ledger.forget([0])


def test_policies_are_versions(clinic: Path) -> None:
    with opened(clinic) as ledger:
        assert ledger.policy.toml == POLICY
        assert not ledger.policy_file_differs()
        (clinic / "policy.toml").write_text(AMENDED)
        assert ledger.policy_file_differs()
        amended = ledger.amend(AMENDED, "the diagnosis is published from now on", anchor=ledger.anchor_file)
        assert (amended.version, amended.toml) == (2, AMENDED)
        assert not ledger.policy_file_differs()
        (clinic / "policy.toml").unlink()
        assert ledger.policy_file_differs()
        ledger.amend(POLICY, "back again", anchor=ledger.anchor_file)
        assert (clinic / "policy.toml").read_text() == POLICY
        assert [policy.version for policy in ledger.policies()] == [1, 2, 3]
        assert [event.kind for event in ledger.events()] == ["created", "amended", "amended"]


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_an_amendment_needs_a_reason(clinic: Path, reason: str) -> None:
    with opened(clinic) as ledger, pytest.raises(ParameterError, match="The 'reason' parameter of amend"):
        ledger.amend(AMENDED, reason, anchor=None)


def test_forgetting(clinic: Path) -> None:
    with opened(clinic) as ledger:
        kept = ledger.people()
        assert ledger.forget([3, 5, 3]) == 2
        people = ledger.people()
        assert people["number"].equals(kept["number"])
        assert people.filter(pl.col("id").is_null())["number"].to_list() == [3, 5]
        others = ~pl.col("number").is_in([3, 5])
        assert_frame_equal(people.filter(others), kept.filter(others))
        assert ledger.forget([5, 6]) == 1
        assert ledger.forget([3, 5, 6]) == 0
        assert ledger.forget([]) == 0
        assert [event.detail for event in ledger.events() if event.kind == "forgot"] == ["2 ids", "1 id"]
        before = ledger.people()
        for unknown in ([80, 81], [-1, 2, -7], [2**40, 2**41, 3]):
            with pytest.raises(ParameterError, match=f"2 person numbers of {len(unknown)}"):
                ledger.forget(unknown)
        assert_frame_equal(ledger.people(), before)


def test_unknown_releases_and_tables(clinic: Path) -> None:
    with opened(clinic) as ledger:
        for number in (0, 3):
            with pytest.raises(ParameterError, match=f"no release {number} .* 2 releases"):
                ledger.table(number, "snapshot")
            with pytest.raises(ParameterError, match=f"no release {number}"):
                ledger.public_table(number, "table")
        with pytest.raises(ParameterError, match="no private table") as private:
            ledger.table(1, "people")
        assert "'kept', 'memory', 'snapshot'" in str(private.value)
        with pytest.raises(ParameterError, match="no public table"):
            ledger.public_table(1, "snapshot")


def test_a_missing_file_is_named(clinic: Path) -> None:
    (clinic / "public" / "0001" / "table.parquet").unlink()
    with opened(clinic) as ledger:
        with pytest.raises(SeriesDamaged, match=r"public/0001/table\.parquet .* is missing"):
            ledger.public_table(1, "table")
        for blob in (clinic / "private" / "blobs").iterdir():
            blob.unlink()
        with pytest.raises(SeriesDamaged, match="is missing"):
            ledger.people()
        with pytest.raises(SeriesDamaged, match="is missing"):
            ledger.table(1, "memory")


def test_a_damaged_file_is_named(clinic: Path) -> None:
    path = clinic / "public" / "0001" / "table.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with (
        opened(clinic) as ledger,
        pytest.raises(SeriesDamaged, match=r"public/0001/table\.parquet is not as it was written"),
    ):
        ledger.public_table(1, "table")


def broken(**changes: object) -> Entry:
    return replace(entry(3), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"public": {}}, "no public table"),
        ({"public": {"../table": pl.DataFrame({"a": [1]})}}, "not named"),
        ({"private": {"Snap": pl.DataFrame({"a": [1]})}}, "not named"),
        ({"manifest": {"chain": 1, "files": 2}}, "own fields: chain, files"),
        ({"time": datetime(2026, 1, 1)}, "no time zone"),
        ({"people": pl.DataFrame({"id": ["a"]})}, "'number' and 'id'"),
        ({"people": pl.DataFrame({"number": [], "id": []})}, "is empty"),
        ({"people": pl.DataFrame({"number": [0, 2], "id": ["a", "b"]})}, "leaves out numbers"),
        ({"people": pl.DataFrame({"number": [1, 0], "id": ["a", "b"]})}, "not sorted"),
        ({"people": pl.DataFrame({"number": [0, None], "id": ["a", "b"]})}, "leaves out numbers"),
    ],
)
def test_entries_that_cannot_be(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InternalError, match=message):
        broken(**changes)


@pytest.mark.parametrize("changes", [{"manifest": {"a": float("nan")}}, {"summary": {"a": object()}}])
def test_facts_must_be_json(clinic: Path, changes: dict[str, object]) -> None:
    before = files_under(clinic)
    with opened(clinic) as ledger, pytest.raises(InternalError, match="JSON"):
        ledger.commit(broken(**changes), parent=2)
    assert {name: content for name, content in files_under(clinic).items() if "sqlite" not in name} == {
        name: content for name, content in before.items() if "sqlite" not in name
    }


def test_times_are_written_in_utc(clinic: Path) -> None:
    moment = datetime(2026, 3, 1, 0, 30, 15, 999, tzinfo=timezone(timedelta(hours=2)))
    with opened(clinic) as ledger:
        record = ledger.commit(replace(entry(3), time=moment), parent=2)
    assert record.time == datetime(2026, 2, 28, 22, 30, 15, tzinfo=UTC)
    assert '"time": "2026-02-28T22:30:15Z"' in (record.path / "release.json").read_text()


def test_a_folder_that_is_no_series(tmp_path: Path) -> None:
    with pytest.raises(NotASeries, match="no such folder"):
        opened(tmp_path / "absent")
    with pytest.raises(NotASeries, match=r"no file private/catalog\.sqlite") as error:
        opened(tmp_path)
    assert "reissue publish" in str(error.value)
    assert "ri.open(folder, policy)" in str(error.value)
    with pytest.raises(NotASeries):
        verify(tmp_path)


def test_creation_only_in_an_empty_place(tmp_path: Path) -> None:
    folder = tmp_path / "clinic"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(SeriesError, match="holds 1 file or folder, but no series"):
        created(folder)
    assert files_under(folder) == {"notes.txt": b"mine"}
    with pytest.raises(SeriesError, match="is a file"):
        Ledger.create(folder / "notes.txt", POLICY)
    (folder / "notes.txt").unlink()
    created(folder).close()
    with pytest.raises(SeriesError, match=r"There is a file .*clinic\.anchor' already"):
        created(folder)
    with pytest.raises(SeriesError, match=r"a series in .* already"):
        Ledger.create(folder, POLICY)


def test_creation_beside_the_same_policy(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("another = 1\n")
    with pytest.raises(SeriesError, match="but no series"):
        created(tmp_path)
    assert (tmp_path / "policy.toml").read_text() == "another = 1\n"
    (tmp_path / "policy.toml").write_text(POLICY)
    created(tmp_path).close()
    assert verify(tmp_path) == []


def test_creation_in_the_current_folder_and_below_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.create("deep/er/clinic", POLICY) as ledger:
        ledger.commit(entry(1), parent=0)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with Ledger.create(".", POLICY) as ledger:
        ledger.commit(entry(1), parent=0)
    assert sorted(path.name for path in Path().iterdir()) == ["policy.toml", "private", "public"]
    (tmp_path / "link").symlink_to(here)
    assert verify(tmp_path / "link") == []


@pytest.mark.parametrize("name", ["a b", "a[1]", "50%", "what?", "a#b", "x=1", "ä"])
def test_folders_with_odd_names(tmp_path: Path, name: str) -> None:
    folder = series(tmp_path / name, releases=1)
    with opened(folder) as ledger:
        assert ledger.table(1, "snapshot").height == 40
        assert ledger.public_table(1, "table").height == 40
    assert verify(folder) == []


def test_empty_folders_that_a_backup_left_out(clinic: Path, tmp_path: Path) -> None:
    (clinic / "private" / "staging").rmdir()
    with opened(clinic) as ledger:
        ledger.commit(entry(3), parent=2)
    fresh = tmp_path / "fresh"
    created(fresh).close()
    for empty in ("public", "private/staging", "private/blobs"):
        (fresh / empty).rmdir()
    with opened(fresh) as ledger:
        ledger.commit(entry(1), parent=0)
    assert verify(clinic) == verify(fresh) == []


def test_public_ahead_of_the_catalog(clinic: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    shutil.copytree(clinic / "private", backup)
    with opened(clinic) as ledger:
        ledger.commit(entry(3), parent=2)
    blobs = files_under(clinic / "private" / "blobs")
    shutil.copy(backup / "catalog.sqlite", clinic / "private" / "catalog.sqlite")
    before = files_under(clinic)
    with pytest.raises(SeriesDamaged, match="'public/0003'") as error:
        opened(clinic)
    assert "backup" in str(error.value)
    with opened(clinic, check=False) as ledger:
        assert [release.number for release in ledger.releases()] == [1, 2]
        with pytest.raises(SeriesDamaged):
            ledger.commit(entry(3), parent=2)
    # Nothing is swept: these blobs may be what the catalog is repaired with.
    assert files_under(clinic / "private" / "blobs") == blobs
    assert {name: content for name, content in files_under(clinic).items() if "lock" not in name} == {
        name: content for name, content in before.items() if "lock" not in name
    }
    findings = {finding.file: finding.problem for finding in verify(clinic)}
    assert "the catalog knows nothing of it" in findings["public/0003"]


def test_reprs_show_no_secrets(clinic: Path) -> None:
    with opened(clinic) as ledger:
        shown = repr([ledger, ledger.releases(), ledger.policies(), ledger.events(), entry(1)])
    for secret in ("canary", "seed-", "waiting", "patient"):
        assert secret not in shown


def test_kept_tables_are_neither_read_nor_written(clinic: Path) -> None:
    blobs = clinic / "private" / "blobs"
    with opened(clinic) as ledger:
        written = {path: path.stat().st_mtime_ns for path in blobs.iterdir()}
        kept = next(path for path in written if "kept/cell" in pl.read_parquet(path).columns)
        content = kept.read_bytes()
        kept.write_bytes(b"")  # whoever reads it now fails, and whoever writes it repairs it
        for number in (3, 4):
            ledger.commit(replace(entry(number), private={"kept": KEPT, "memory": KEPT}), parent=number - 1)
        assert kept.read_bytes() == b""
        kept.write_bytes(content)
        for number in range(1, 5):
            assert_frame_equal(ledger.table(number, "kept"), KEPT_TABLE)
        assert list(ledger.tables(4)) == ["kept", "memory"]
        new = [path for path in blobs.iterdir() if path not in written]
        assert sorted(pl.read_parquet(path)["number"].min() for path in new) == [80, 120]  # ids alone
        # A name that the parent has not is nothing that could be kept, even if an older release had it.
        for names in (["snapshot"], ["kept", "unheard-of"], ["snapshot", "unheard-of"]):
            before = files_under(clinic)
            lacking = len(set(names) - {"kept"})
            with pytest.raises(InternalError, match=f"{lacking} tables? cannot be kept: release 4 has no"):
                ledger.commit(replace(entry(5), private=dict.fromkeys(names, KEPT)), parent=4)
            assert files_under(clinic) == before
        # What nobody keeps any more still belongs to the releases that had it.
        ledger.commit(replace(entry(5), private={}), parent=4)
        assert_frame_equal(ledger.table(4, "kept"), KEPT_TABLE)
    assert verify(clinic) == []


def test_nothing_to_keep_before_the_first_release(tmp_path: Path) -> None:
    with created(tmp_path / "clinic") as ledger, pytest.raises(InternalError, match="cannot be kept"):
        ledger.commit(replace(entry(1), private={"kept": KEPT}), parent=0)


def test_tables_are_read_when_they_are_asked_for(clinic: Path) -> None:
    with opened(clinic) as ledger:
        tables = ledger.tables(2)
        for path in (clinic / "private" / "blobs").iterdir():
            path.unlink()
        assert list(tables) == ["kept", "memory", "snapshot"]
        assert len(tables) == 3 and "memory" in tables and "unheard-of" not in tables
        assert list(Prefixed(tables, "me")) == ["mory"]
        assert repr(tables) == "Tables(kept, memory, snapshot)"
        with pytest.raises(KeyError):
            tables["unheard-of"]
        with pytest.raises(SeriesDamaged, match="is missing"):
            tables["memory"]


def test_the_last_release(clinic: Path, tmp_path: Path) -> None:
    with opened(clinic) as ledger:
        last = ledger.last()
        assert last is not None
        assert (facts(last), last.path, last.mark) == [(facts(r), r.path, r.mark) for r in ledger.releases()][-1]
    with created(tmp_path / "new") as ledger:
        assert ledger.last() is None
