"""A backup is consistent while somebody writes, holds what is needed and no more, and is believed by nobody."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_process import ENVIRONMENT, run
from ledger_story import (
    POLICY,
    accidents,
    anchor_of,
    back_up,
    backed_up,
    chosen,
    commit,
    copied,
    created,
    entry,
    files_under,
    forget,
    full_disk,
    opened,
    restore,
    state,
    unchain,
)
from profiles import sized
from test_full_disk import FROM_THEN_ON, ONCE
from test_kill import killed_everywhere

from reissue.errors import (
    NotContinued,
    ParameterError,
    ReissueWarning,
    SeriesDamaged,
    SeriesError,
    SeriesLocked,
    StorageError,
)
from reissue.ledger import Ledger, Resumption, backups, chain, verify, verify_path
from reissue.ledger.durable import sha256_of


@pytest.fixture
def clinic(base: Path, quick_path: Path) -> Path:
    return copied(base, quick_path / "clinic")


@pytest.fixture
def archive(clinic: Path) -> Path:
    back_up(clinic)
    return backed_up(clinic)


def restored(archive: Path, folder: Path) -> Path:
    Ledger.restore(archive, folder).close()
    return folder


def without_restoring(told: dict[str, object]) -> dict[str, object]:
    return {**told, "events": [event for event in told["events"] if event[0] != "restored"]}


def test_what_comes_back_is_what_there_was(clinic: Path, archive: Path) -> None:
    back = restored(archive, clinic.with_name("back"))
    assert without_restoring(state(back)) == state(clinic)
    assert verify(back) == []
    for path in [back / "private", *(back / "private").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert sorted(path.name for path in back.iterdir()) == ["policy.toml", "private", "public"]
    assert not any((back / "private" / "staging").iterdir())


def test_the_file_itself(clinic: Path, archive: Path) -> None:
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        assert names[:3] == ["backup.json", "private/catalog.sqlite", "policy.toml"]
        assert all(member.isreg() and member.mode in (0o600, 0o644) for member in tar)
        facts = json.load(tar.extractfile("backup.json"))
        tar.extractall(clinic.with_name("by hand"), filter="data")
    with opened(clinic) as ledger:
        assert facts["head"] == str(ledger.head())
    needed = {*files_under(clinic)} - {"private/lock"}
    assert {*names} - {"backup.json"} == needed
    assert not list(clinic.with_name("by hand").rglob("*-wal"))


def test_superseded_files_are_not_in_it(clinic: Path) -> None:
    """A file that a writer could not remove any more, with the id of somebody forgotten, is not copied."""
    before = files_under(clinic / "private" / "blobs")
    forget(clinic)
    for name, content in before.items():
        (clinic / "private" / "blobs" / name).write_bytes(content)
    back_up(clinic)
    back = restored(backed_up(clinic), clinic.with_name("back"))
    text = b"".join(files_under(back).values())
    assert b"canary-1-3" not in text
    assert {*files_under(back / "private" / "blobs")} < {*files_under(clinic / "private" / "blobs")}


def test_it_is_refused_until_it_is_said_what_is_out(clinic: Path, archive: Path) -> None:
    back = restored(archive, clinic.with_name("back"))
    shutil.copy(anchor_of(clinic), anchor_of(back))
    with opened(back) as ledger:
        assert ledger.links()[-1].kind == chain.RESTORED
        assert ledger.people().height == 80
        for change in (
            lambda: ledger.commit(entry(3), parent=2),
            lambda: ledger.forget([1]),
            lambda: ledger.amend(POLICY, "why", anchor=ledger.anchor_file),
            lambda: ledger.finish(),
        ):
            with pytest.raises(NotContinued, match="was restored from a backup"):
                change()
        ledger.resume(Resumption(2, "the disk failed"))
        ledger.commit(entry(3), parent=2)
    assert verify(back) == []
    # It can be backed up and restored again, also before it goes on.
    back_up(back)
    twice = restored(backed_up(back), clinic.with_name("twice"))
    assert verify_path(twice).remarks[0].startswith("The series in ")


def test_a_restored_series_is_backed_up_once_it_goes_on(clinic: Path, archive: Path) -> None:
    """Before, its backup could take the place of one that has releases which it does not know."""
    back = restored(archive, clinic.with_name("back"))
    with pytest.raises(NotContinued, match="was restored from a backup"):
        back_up(back)
    assert not backed_up(back).exists()
    with opened(back) as ledger:
        ledger.resume(Resumption(2, "nothing was published since"))
    back_up(back)
    assert verify(restored(backed_up(back), clinic.with_name("twice"))) == []


def test_a_series_without_releases_and_one_without_a_chain(quick_path: Path, clinic: Path) -> None:
    created(quick_path / "new").close()
    back_up(quick_path / "new")
    assert state(restored(backed_up(quick_path / "new"), quick_path / "new again"))["releases"] == []
    unchain(clinic)
    with opened(clinic) as ledger:
        assert ledger.back_up(backed_up(clinic)).head is None
    back = restored(backed_up(clinic), quick_path / "old again")
    with opened(back) as ledger:
        assert [link.kind for link in ledger.links()] == [chain.BEGAN, chain.RESTORED]
    assert verify(back) == []


def test_an_unfinished_move_is_copied_from_where_it_lies(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("reissue.ledger.recovery._finish_moves", lambda *_: (_ for _ in ()).throw(OSError(5, "no")))
        with opened(clinic) as ledger, pytest.raises(StorageError, match="is committed, but"):
            ledger.commit(entry(3), parent=2)
    assert not (clinic / "public" / "0003").exists()
    with pytest.warns(ReissueWarning, match="not in public/ yet"):
        back_up(clinic)
    back = restored(backed_up(clinic), clinic.with_name("back"))
    assert len(state(back)["releases"]) == 3
    assert verify(back) == []


def test_an_edited_policy_is_said_and_the_recorded_one_copied(clinic: Path) -> None:
    (clinic / "policy.toml").write_text("something else")
    with pytest.warns(ReissueWarning, match="the backup has the recorded one"):
        back_up(clinic)
    assert state(restored(backed_up(clinic), clinic.with_name("back")))["policy.toml"] == POLICY


@pytest.mark.parametrize("kind", ["blob", "public", "catalog", "missing", "link"])
def test_a_damaged_series_is_not_backed_up(kind: str, clinic: Path) -> None:
    blob = sorted((clinic / "private" / "blobs").iterdir())[0]
    if kind == "blob":
        blob.write_bytes(blob.read_bytes()[:-1] + b"x")
    elif kind == "public":
        (clinic / "public" / "0002" / "table.parquet").write_bytes(b"x")
    elif kind == "catalog":
        connection = sqlite3.connect(clinic / "private" / "catalog.sqlite")
        connection.execute("UPDATE releases SET seed = '7' WHERE number = 1")
        connection.commit()
        connection.close()
    elif kind == "missing":
        blob.unlink()
    else:
        blob.rename(clinic.with_name("elsewhere"))
        blob.symlink_to(clinic.with_name("elsewhere"))
    with pytest.raises(SeriesDamaged, match="was not backed up"):
        back_up(clinic)
    assert list(clinic.parent.glob("clinic.tar*")) == []


def test_targets(clinic: Path) -> None:
    with opened(clinic) as ledger:
        ledger.back_up(backed_up(clinic))
        before = sha256_of(backed_up(clinic))
        with pytest.raises(ParameterError, match="already"):
            ledger.back_up(backed_up(clinic))
        with pytest.raises(ParameterError, match="already"):
            ledger.back_up(clinic.parent, force=True)
        with pytest.raises(ParameterError, match="inside the folder of the series"):
            ledger.back_up(clinic / "public" / "backup.tar")
        with pytest.raises(ParameterError, match="There is no folder"):
            ledger.back_up(clinic.with_name("absent") / "backup.tar")
    assert sha256_of(backed_up(clinic)) == before
    assert verify(clinic) == []


def test_what_a_killed_backup_left_is_removed_and_what_is_being_written_is_not(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = clinic.with_name(f"clinic.tar.{'0' * 16}.part")
    left.write_text("half a backup")
    mine = clinic.with_name("clinic.tar.mine.part")
    mine.write_text("mine")
    seen = []
    write = backups._write

    def meanwhile(*arguments: object) -> object:
        if not seen:  # another backup to the same file, while this one is being written
            seen.append(sorted(path.name for path in clinic.parent.glob("clinic.tar.*")))
            back_up(clinic)
        return write(*arguments)

    monkeypatch.setattr(backups, "_write", meanwhile)
    back_up(clinic)
    assert len(seen[0]) == 2 and left.name not in seen[0]
    assert sorted(path.name for path in clinic.parent.glob("clinic.tar*")) == ["clinic.tar", mine.name]


def test_ids_that_are_replaced_meanwhile_are_copied_anew(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is forgotten when the catalog has been copied: the file of ids is gone, and the copy begins again."""
    write, turns = backups._write, []

    def forgetting(*arguments: object) -> object:
        turns.append(1)
        if len(turns) == 1:
            forget(clinic)
        return write(*arguments)

    monkeypatch.setattr(backups, "_write", forgetting)
    back_up(clinic)
    assert len(turns) == 2
    back = restored(backed_up(clinic), clinic.with_name("back"))
    assert without_restoring(state(back)) == state(clinic)
    assert b"canary-1-3" not in b"".join(files_under(back).values())


def test_who_is_forgotten_at_the_very_end_is_not_in_it(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files had been copied: the copy would be sound, and would still know them."""
    write, turns = backups._write, []

    def forgetting(*arguments: object) -> object:
        written = write(*arguments)
        turns.append(1)
        if len(turns) == 1:
            forget(clinic)
        return written

    monkeypatch.setattr(backups, "_write", forgetting)
    back_up(clinic)
    assert len(turns) == 2
    assert b"canary-1-3" not in backed_up(clinic).read_bytes()


def test_it_does_not_begin_again_for_ever(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, number = backups._write, iter(range(80))

    def forgetting(*arguments: object) -> object:
        with opened(clinic) as ledger:
            ledger.forget([next(number)])
        return write(*arguments)

    monkeypatch.setattr(backups, "_write", forgetting)
    with pytest.raises(SeriesLocked, match="kept being replaced"):
        back_up(clinic)
    assert list(clinic.parent.glob("clinic.tar*")) == []


WRITER = """
import sys
from pathlib import Path
from ledger_story import entry, opened
from reissue.ledger import people_parts

people_parts.MANY = 2  # so that files of ids are merged, and those before removed, every other time
folder, stop = Path(sys.argv[1]), Path(sys.argv[2])
with opened(folder) as ledger:
    number = len(ledger.releases())
    while not stop.exists():
        number += 1
        ledger.commit(entry(number), parent=number - 1)
        if number % 3 == 0:
            ledger.forget([40 * number - 7])
        print(number, flush=True)
"""


def test_while_somebody_publishes_in_a_loop(clinic: Path) -> None:
    stop = clinic.with_name("stop")
    command = [sys.executable, "-c", WRITER, str(clinic), str(stop)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "3\n"
        copies = []
        for turn in range(sized(8, 60)):
            with Ledger.open(clinic, anchor=anchor_of(clinic), check=False) as ledger:
                copies.append(ledger.back_up(clinic.with_name(f"copy-{turn}.tar")))
            assert writer.poll() is None, "nobody was writing any more"
    finally:
        stop.touch()
        _, told = writer.communicate(timeout=60)
    assert writer.returncode == 0, told
    counts = [copy.releases for copy in copies]
    assert counts == sorted(counts) and counts[-1] > counts[0] >= 3
    for copy in copies:
        back = restored(copy.file, clinic.with_name(f"back of {copy.file.name}"))
        found = verify_path(back, expect=copy.head)
        assert found.intact and len(found.releases) == copy.releases
        shutil.rmtree(back)
    assert verify(clinic) == []


def test_a_size_limit_leaves_nothing(clinic: Path) -> None:
    for limit in (0, 4_000, 60_000):
        done = run(LIMITED, clinic, limit)
        assert done.returncode == 0, done.stderr
        assert "was not backed up" in done.stdout
        assert list(clinic.parent.glob("clinic.tar*")) == []


LIMITED = """
import resource, sys
from pathlib import Path
from ledger_story import back_up
from reissue.errors import StorageError

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    back_up(Path(sys.argv[1]))
except StorageError as error:
    print(error)
"""


# Kills and full disks


def test_a_killed_backup_leaves_the_series_and_the_old_backup(base: Path, quick_path: Path) -> None:
    work = quick_path / "work"
    operations, folders = killed_everywhere("back up", base, work)
    before = files_under(base)
    for turn, folder in folders.items():
        where = f"killed at operation {turn} ({operations[turn - 1]})"
        assert files_under(folder) == before, where
        if backed_up(folder).exists():
            assert turn > operations.index("replace"), where
        parts = list(work.glob(f"{turn}.tar.*"))
        assert all(part.stat().st_mode & 0o777 == 0o600 for part in parts), where
        back_up(folder)
        assert list(work.glob(f"{turn}.tar*")) == [backed_up(folder)], where
    assert verify(restored(backed_up(folders[1]), quick_path / "back")) == []


@pytest.mark.parametrize("happens", [ONCE, FROM_THEN_ON], ids=["once", "from then on"])
def test_a_full_disk_and_a_backup(happens: Callable[[int, int], bool], clinic: Path) -> None:
    with accidents(lambda number, _: False, full_disk) as operations:
        back_up(clinic)
    before, good = files_under(clinic), backed_up(clinic).read_bytes()
    for turn in chosen(operations, sized(2, 1)):
        backed_up(clinic).unlink()
        with accidents(lambda number, _, turn=turn: happens(number, turn), full_disk) as seen:
            try:
                back_up(clinic)
                failed = False
            except StorageError as error:
                failed = True
                assert "was not backed up" in str(error)
        where = f"operation {turn} ({seen[turn - 1]})"
        assert failed or seen[turn - 1] in ("unlink", "sqlite closed"), where
        assert files_under(clinic) == before, where
        if happens is ONCE and seen[turn - 1] != "unlink":
            assert list(clinic.parent.glob("*.part")) == [], where
        if not backed_up(clinic).exists():
            back_up(clinic)
        assert list(clinic.parent.glob("*.part")) == [], where
        assert len(backed_up(clinic).read_bytes()) == len(good), where


def test_a_killed_restore_is_nothing_or_whole(base: Path, quick_path: Path) -> None:
    work = quick_path / "work"
    work.mkdir()
    folder = copied(base, quick_path / "clinic")
    back_up(folder)
    shutil.move(backed_up(folder), work / "clinic.tar")
    restore(work / "whole")
    whole = without_restoring(state(work / "whole"))
    operations, folders = killed_everywhere("restore", quick_path / "no base", work)
    outcomes = []
    for turn, folder in folders.items():
        where = f"killed at operation {turn} ({operations[turn - 1]})"
        outcomes.append((folder / "private").exists())
        if not outcomes[-1]:
            restore(folder)
        with Ledger.open(folder, check=False) as ledger:
            with pytest.raises(NotContinued, match="was restored"):
                ledger.finish()
            ledger.anchor_file = anchor_of(folder)
            ledger.resume(Resumption(2, "it was stopped"))
        told = state(folder)
        assert told["events"][-1][0] == "resumed", where
        assert without_restoring({**told, "events": told["events"][:-1]}) == whole, where
        assert sorted(path.name for path in folder.iterdir()) == ["policy.toml", "private", "public"], where
        assert not any((folder / "private" / "staging").iterdir()), where
        assert verify(folder) == [], where
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {True, False}


@pytest.mark.parametrize("happens", [ONCE, FROM_THEN_ON], ids=["once", "from then on"])
def test_a_full_disk_and_a_restore(happens: Callable[[int, int], bool], archive: Path) -> None:
    with accidents(lambda number, _: False, full_disk) as operations:
        restore(archive.with_name("counted"))
    for turn in chosen(operations, sized(8, 1)):
        folder = archive.with_name(str(turn))
        message = ""
        with accidents(lambda number, _, turn=turn: happens(number, turn), full_disk) as seen:
            try:
                restore(folder)
            except StorageError as error:
                message = str(error)
        where = f"operation {turn} ({seen[turn - 1]}): {message}"
        there = (folder / "private").exists()
        assert message or (there and verify(folder) == []), where
        assert not message or ("is restored, but" in message) == there, where
        assert not message or ("was not restored" in message) != there, where
        if happens is ONCE and not there:
            assert not folder.exists(), f"{where}: private files were left"
        if not there:
            restore(folder)
        assert verify(folder) == [], where


# Hostile backups


def changed(archive: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]) -> Path:
    """A backup with other entries: the list may be edited in place, or another one given."""
    with tarfile.open(archive) as tar:
        entries = [(member, tar.extractfile(member).read()) for member in tar]
    entries = change(entries) or entries
    target = archive.with_name("hostile.tar")
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for member, content in entries:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return target


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


def refused(archive: Path, match: str) -> None:
    """Nothing appears where it would have been restored, and nothing is touched elsewhere."""
    target = archive.with_name("victim")
    around = sorted(path.name for path in archive.parent.iterdir())
    with pytest.raises(SeriesError, match=match):
        Ledger.restore(archive, target)
    assert not target.exists()
    assert sorted(path.name for path in archive.parent.iterdir()) == around


def test_a_backup_that_was_only_written_anew_is_taken(archive: Path) -> None:
    assert verify(restored(changed(archive, lambda entries: None), archive.with_name("victim"))) == []


@pytest.mark.parametrize(
    "name",
    [
        "../escaped", "/tmp/escaped", "private/../../escaped", "public/0001/../../../escaped", "private/lock",
        "private/blobs/x.parquet", f"private/blobs/{'0' * 64}.parquet", "public/0003/table.parquet",
        "public/0001/more.parquet", "private/staging/x", "private/catalog.sqlite", "policy.toml", "backup.json",
        "public/0001/release.json", "", "public//0001/table.parquet", "./policy.toml",
    ],
)  # fmt: skip
def test_names_that_the_catalog_does_not_know_or_twice(name: str, archive: Path) -> None:
    refused(changed(archive, lambda entries: entries.append((member(name), b"x"))), "is damaged")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_entries_that_are_not_plain_files(kind: bytes, archive: Path) -> None:
    def put(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        name = entries.pop()[0].name
        entries.append((member(name, kind, "/etc/passwd"), b""))

    refused(changed(archive, put), "is not a plain file")


@pytest.mark.parametrize("place", range(15))
def test_a_file_that_is_missing_or_another(place: int, archive: Path) -> None:
    refused(changed(archive, lambda entries: entries[:place] + entries[place + 1 :]), "backup")

    def flip(entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        header, content = entries[place]
        entries[place] = header, content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]

    if place:  # of backup.json only what is needed is believed
        refused(changed(archive, flip), "damaged|not as it was")


def test_the_order_of_the_first_two(archive: Path) -> None:
    refused(changed(archive, lambda entries: [entries[1], entries[0], *entries[2:]]), "is not a backup of a series")


def test_cut_short_or_longer_or_nothing_at_all(archive: Path) -> None:
    content = archive.read_bytes()
    for end in [0, 1, 511, 512, 700, 2000, *range(0, len(content) - 20480, sized(9973, 997)), len(content) - 10240]:
        archive.write_bytes(content[:end])
        refused(archive, "damaged|not a backup")
    for more in (b"x", b"x" * 512, bytes(20480), content):
        archive.write_bytes(content + more)
        refused(archive, "damaged")
    for other in (b"x" * 20480, bytes(20480), b"SQLite format 3\0" * 2000):
        archive.write_bytes(other)
        refused(archive, "damaged|not a backup")


def test_a_header_that_lies_about_the_size(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    header = tarfile.TarInfo.frombuf(bytes(content[:512]), "ascii", "strict")
    header.size = 1 << 40
    content[:512] = header.tobuf(tarfile.GNU_FORMAT)
    archive.write_bytes(content)
    refused(archive, "cut short")


def with_facts(archive: Path, facts: bytes) -> Path:
    return changed(archive, lambda entries: [(entries[0][0], facts), *entries[1:]])


def test_backups_of_other_formats(archive: Path) -> None:
    for facts in (b"", b"[]", b"{}", b'{"format": "1", "catalog": "x"}', b'{"format": 1}', b"[" * 60_000):
        refused(with_facts(archive, facts), "cannot be understood")
    refused(with_facts(archive, b" " * (1 << 17)), "too large")
    refused(with_facts(archive, b'{"format": 2, "catalog": "x"}'), "newer version")


@pytest.mark.parametrize(
    "statements",
    [
        ["UPDATE releases SET staged = '../../../public'"],
        ["UPDATE releases SET staged = (SELECT staged FROM policies)"],
        ["UPDATE blobs SET sha256 = '../../../../etc/passwd'"],
        ["UPDATE people SET sha256 = 'pack:x'"],
        ["UPDATE releases SET record = replace(record, 'table.parquet', '../table.parquet')"],
        ["UPDATE releases SET record = 'x'"],
        ["CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM releases; END"],
        ["CREATE VIEW v AS SELECT 1"],
        ["CREATE TABLE more (x)"],
        ["DELETE FROM policies"],
        ["DROP TABLE seals"],
        ["INSERT INTO migrations VALUES (99, 'x')"],
    ],
    ids=lambda statements: statements[0][:40],
)
def test_catalogs_whose_rows_lead_elsewhere(statements: list[str], archive: Path) -> None:
    """Sealed anew from beginning to end, as somebody does who makes a backup by hand."""

    def put(entries: list[tuple[tarfile.TarInfo, bytes]]) -> list[tuple[tarfile.TarInfo, bytes]]:
        path = archive.with_name("catalog.sqlite")
        path.write_bytes(entries[1][1])
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        if "seals" not in statements[0] and "migrations" not in statements[0] and "policies" not in statements[0][:25]:
            reseal_file(path)
        facts = json.loads(entries[0][1]) | {"catalog": sha256_of(path)}
        made = [(entries[0][0], json.dumps(facts).encode()), (entries[1][0], path.read_bytes()), *entries[2:]]
        path.unlink()
        for beside in archive.parent.glob("catalog.sqlite-*"):
            beside.unlink()
        return made

    refused(changed(archive, put), r"damaged|not as it was|in a way that is not|cannot be understood|newer version")


def reseal_file(path: Path) -> None:
    import sqlalchemy as sa

    from reissue.ledger.sqlite import Database

    def anew(connection: sa.Connection) -> None:
        for table in ("seals", "links"):
            connection.execute(sa.text(f"DELETE FROM {table}"))
        chain.append_all(connection, chain.CREATED)

    Database(path, "x").write(anew)


def test_folders_that_are_not_empty_and_files(archive: Path) -> None:
    folder = archive.with_name("taken")
    folder.mkdir()
    restored(archive, folder)  # an empty one will do
    for name in ("taken", "full"):
        target = archive.with_name(name)
        target.mkdir(exist_ok=True)
        (target / "mine").write_text("mine")
        before = files_under(target)
        with pytest.raises(SeriesError, match="is not empty"):
            Ledger.restore(archive, target)
        assert files_under(target) == before
    archive.with_name("file").write_text("mine")
    with pytest.raises(SeriesError, match="is a file"):
        Ledger.restore(archive, archive.with_name("file"))
    with pytest.raises(SeriesError, match="is not there"):
        Ledger.restore(archive.with_name("absent.tar"), archive.with_name("x"))
    assert not archive.with_name("x").exists()


def test_a_link_to_a_folder_and_the_current_one(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (there := archive.with_name("there")).mkdir()
    (link := archive.with_name("link")).symlink_to(there)
    assert verify(restored(archive, link)) == []
    (here := archive.with_name("here")).mkdir()
    monkeypatch.chdir(here)
    assert verify(restored(archive, Path())) == []
    assert (here / "private").is_dir()


def test_publishing_goes_on_where_the_original_would_be_refused(clinic: Path, archive: Path) -> None:
    """Of the folder and the one restored from its backup only one can be the series; with one anchor for both."""
    back = restored(archive, clinic.with_name("back"))
    with Ledger.open(back, anchor=anchor_of(clinic)) as ledger:
        ledger.resume(Resumption(2, "the other one is given up"))
        ledger.commit(entry(3), parent=2)
    with pytest.raises(NotContinued, match="does not go on from its anchor"):
        commit(clinic)
