"""What somebody does who wants an unsafe release to go out under a safe label, or to lose what was published.

They may write to the folder of the series, and have time. They may not write to the anchor.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import breakin_story as story
import polars as pl
import pytest
import sqlalchemy as sa
from breakin_story import NEXT, Scene
from command_line import Run, run  # noqa: F401
from ledger_process import ENVIRONMENT
from ledger_process import run as run_python

import reissue as ri
from reissue.errors import NotContinued, ReissueWarning, SeriesDamaged, SeriesError, SeriesLocked
from reissue.ledger import chain, verify
from reissue.ledger.anchor import STATE, note_of
from reissue.ledger.sqlite import Database
from reissue.ledger.verification import verify_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("anchored"))


@pytest.fixture(scope="module")
def made_unanchored(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("unanchored"), anchored=False)


@pytest.fixture
def scene(made: Scene) -> Scene:
    made.rebuild()
    return made


@pytest.fixture
def unanchored(made_unanchored: Scene) -> Scene:
    """A series whose anchor is in the state folder of the user."""
    made_unanchored.rebuild()
    return made_unanchored


def catalog(scene: Scene) -> Path:
    return scene.folder / "private" / "catalog.sqlite"


def edit(scene: Scene, script: str) -> None:
    with closing(sqlite3.connect(catalog(scene))) as connection:
        connection.executescript(script)


def asked(scene: Scene, question: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(catalog(scene))) as connection:
        return connection.execute(question).fetchall()


def refuses(scene: Scene, said: str, kind: type[SeriesError] = SeriesDamaged, *, changes: bool = False) -> None:
    """The next table is not published, the reason is given, and unless it `changes` nothing has."""
    before = scene.bytes()
    with warnings.catch_warnings(), pytest.raises(kind) as error:
        warnings.simplefilter("ignore")
        story.published(scene.folder, NEXT)
    assert said in str(error.value)
    assert "CANARY" not in str(error.value)
    assert changes or scene.bytes() == before
    assert not verify_path(scene.folder).intact


SMALLER = "UPDATE policies SET toml = replace(toml, 'm = 4', 'm = 2');"
UNCHAINED = "DROP TABLE seals; DROP TABLE links; DELETE FROM migrations WHERE number > 3;"


def smaller_everywhere(scene: Scene) -> None:
    """The file for people to read as well, as somebody does who has thought of it."""
    file = scene.folder / "policy.toml"
    file.write_text(file.read_text().replace("m = 4", "m = 2"))
    edit(scene, SMALLER)


def change_chain(scene: Scene, work: Callable[[sa.Connection], object]) -> None:
    """Write to the chain as the ledger does."""
    Database(catalog(scene), "here").write(work)


def chained_anew(connection: sa.Connection) -> None:
    for table in ("seals", "links"):
        connection.execute(sa.text(f"DELETE FROM {table}"))
    chain.append_all(connection, chain.CREATED)


# Private tables


def memories(scene: Scene) -> dict[str, str]:
    """The files of the tables that the method remembers."""
    found = asked(scene, "SELECT name, sha256 FROM blobs WHERE release_number = 3 AND name LIKE 'memory-%'")
    return {name: sha256.removeprefix("pack:") for name, sha256 in found}


def emptied(scene: Scene, sha256: str) -> bytes:
    """A valid file with the same columns and no rows: of a file with several tables, all of them."""
    frame = pl.read_parquet(scene.folder / "private" / "blobs" / f"{sha256}.parquet")
    packed = any("/" in column for column in frame.columns)
    frame = frame.with_columns(pl.all().list.head(0)) if packed else frame.head(0)
    target = scene.folder.parent / "emptied"
    frame.write_parquet(target)
    return target.read_bytes()


def test_memory_emptied(scene: Scene) -> None:
    """As the field report did: six tables without a row, and m-invariance would have begun anew."""
    assert len(memories(scene)) >= 6
    for sha256 in set(memories(scene).values()):
        (scene.folder / "private" / "blobs" / f"{sha256}.parquet").write_bytes(emptied(scene, sha256))
    refuses(scene, ".parquet is not as it was written: its SHA-256 is another")


def empty_with_care(scene: Scene) -> None:
    """The files have the names of their new bytes, and the catalog knows them."""
    for sha256 in set(memories(scene).values()):
        content = emptied(scene, sha256)
        other = hashlib.sha256(content).hexdigest()
        (scene.folder / "private" / "blobs" / f"{other}.parquet").write_bytes(content)
        edit(scene, f"UPDATE blobs SET sha256 = replace(sha256, '{sha256}', '{other}') WHERE release_number = 3")


def test_memory_emptied_with_care(scene: Scene) -> None:
    empty_with_care(scene)
    refuses(scene, "the private tables of release 3: it is not as it was written")
    assert any("the private tables of release 3" in str(one) for one in verify(scene.folder))


def test_memory_emptied_and_sealed_by_a_link_more(scene: Scene) -> None:
    """The chain goes on from the anchor; but what has happened is not written anew."""
    empty_with_care(scene)
    change_chain(scene, lambda connection: chain.append(connection, chain.RELEASED, [chain.tables_part(3)]))
    refuses(scene, "the private tables of release 3: link 7 of the chain seals it anew, which nothing may")


def test_memory_emptied_and_everything_sealed_anew(scene: Scene) -> None:
    empty_with_care(scene)
    change_chain(scene, chained_anew)
    assert verify(scene.folder) == []  # nothing inside finds it
    refuses(scene, f"'{scene.anchor}' is that of another series", NotContinued)


def test_a_pipe_for_a_table(scene: Scene) -> None:
    """Whoever opened it would wait for ever."""
    (sha256,) = asked(scene, "SELECT sha256 FROM blobs WHERE release_number = 3 AND name = 'snapshot'")[0]
    path = scene.folder / "private" / "blobs" / f"{sha256}.parquet"
    path.unlink()
    os.mkfifo(path)
    signal.alarm(60)
    try:
        with pytest.raises(SeriesDamaged, match=sha256):
            story.published(scene.folder, NEXT)
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("instead", ["pipe", "link", "folder"])
def test_something_else_for_a_table_is_named_by_verify_and_by_a_backup(instead: str, scene: Scene) -> None:
    """Nobody waits for a pipe, and nothing is copied, or forgotten, through a link."""
    path = next((scene.folder / "private" / "blobs").iterdir())
    elsewhere = path.rename(scene.folder.parent / "table.parquet")
    {"pipe": os.mkfifo, "link": lambda place: place.symlink_to(elsewhere), "folder": Path.mkdir}[instead](path)
    signal.alarm(60)
    try:
        found = [str(one) for one in verify(scene.folder)]
        assert f"private/blobs/{path.name}: it is not a plain file" in found
        with pytest.raises(SeriesDamaged, match=f"{path.name} is not a plain file"):
            ri.backup(scene.folder, scene.folder.parent / "backup")
    finally:
        signal.alarm(0)


@pytest.mark.parametrize("instead", ["nothing", "folder"])
def test_a_series_without_its_catalog_is_damaged(instead: str, scene: Scene) -> None:
    """And not a folder in which one could be created."""
    catalog(scene).unlink()
    if instead == "folder":
        catalog(scene).mkdir()
    before = scene.bytes()
    for given in (None, story.policy(None)):
        with pytest.raises(SeriesDamaged, match=r"private/catalog\.sqlite is missing"):
            story.published(scene.folder, NEXT, given)
    assert scene.bytes() == before


TABLE = "release_number = 2 AND name = 'snapshot'"
MIXED_UP = {
    "another table": f"UPDATE blobs SET sha256 = (SELECT sha256 FROM blobs WHERE name = 'domain') WHERE {TABLE}",
    "that of another release": "UPDATE blobs SET sha256 = (SELECT sha256 FROM blobs WHERE release_number = 1 AND "
    f"name = 'snapshot') WHERE {TABLE}",
    "none": f"DELETE FROM blobs WHERE {TABLE}",
}


@pytest.mark.parametrize("name", MIXED_UP)
def test_readers_believe_no_edited_catalog_either(name: str, scene: Scene, run: Run) -> None:  # noqa: F811
    """An audit of the tables of another release would find nothing, or fail."""
    with ri.open(scene.folder) as series:
        assert series.private.members(2).height
        edit(scene, MIXED_UP[name])
        for read in (series.published, series.audit, lambda: series.private.members(2), lambda: series.utility(2)):
            with pytest.raises(SeriesDamaged, match="the private tables of release 2: it is not as it was written"):
                read()
    for command in ("audit", "utility"):
        told = run(command, scene.folder, "--json")
        assert told.code == 3
        assert told.data["error"]["kind"] == "SeriesDamaged"


def test_rows_missing_from_the_catalog_delete_no_tables(scene: Scene) -> None:
    before = {path: content for path, content in scene.bytes().items() if path.suffix == ".parquet"}
    edit(scene, "DELETE FROM blobs")
    refuses(scene, "the private tables of release 1: it is not as it was written")
    assert {path: content for path, content in scene.bytes().items() if path.suffix == ".parquet"} == before


def test_nor_in_a_series_that_was_never_sealed(scene: Scene) -> None:
    scene.anchor.unlink()
    if note := note_of(scene.folder):
        note.unlink()
    edit(scene, f"{UNCHAINED} DELETE FROM blobs WHERE release_number = 3")
    refuses(scene, "knows nothing of")


@pytest.mark.parametrize("more", [0, 1])
def test_the_private_folder_of_another_series(more: int, tmp_path: Path) -> None:
    """Under the same policy, sound in itself, and the last word of its own anchor; but it knows other people."""
    for name, last in (("north", 2), ("south", 2 + more)):
        for number in range(1, last + 1):
            people = story.table(number).with_columns(pl.col("person") + name)
            ri.publish(tmp_path / name, people, story.policy(None) if number == 1 else None, time=story.time(number))
    shutil.rmtree(tmp_path / "north" / "private")
    shutil.copytree(tmp_path / "south" / "private", tmp_path / "north" / "private")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a release is not in public/ yet
        with pytest.raises(SeriesDamaged, match=r"(?s)public/0002/release\.json is not the record .* of different"):
            ri.publish(tmp_path / "north", story.table(3))
    assert not verify_path(tmp_path / "north").intact


# Readers


def test_log_does_not_follow_a_linked_staging_folder(scene: Scene, run: Run) -> None:  # noqa: F811
    elsewhere = scene.folder.parent / "diary"
    (elsewhere / "0123456789abcdef").mkdir(parents=True)
    (elsewhere / "0123456789abcdef" / "monday").write_text("nothing")
    staging = scene.folder / "private" / "staging"
    staging.rmdir()
    staging.symlink_to(elsewhere)
    told = run("log", scene.folder)
    assert told.code == 0
    assert "note A publication is under way or was stopped" in told.err
    run("log", scene.folder, "--verify")
    refuses(scene, "'private/staging' leads elsewhere, by a link")
    assert (elsewhere / "0123456789abcdef" / "monday").read_text() == "nothing"


@pytest.mark.parametrize("path", ["{}", "../../../diary", "0123456789abcdef/../../../../diary"])
def test_no_path_of_the_catalog_leads_out(path: str, scene: Scene, run: Run) -> None:  # noqa: F811
    """A release whose folder is gone would be looked for where the catalog says."""
    elsewhere = scene.folder.parent / "diary"
    (elsewhere / "public").mkdir(parents=True)
    (elsewhere / "public" / "monday").write_text("nothing")
    shutil.rmtree(scene.folder / "public" / "0003")
    edit(scene, f"UPDATE releases SET staged = '{path.format(elsewhere)}' WHERE number = 3")
    before = scene.bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for arguments in (["log"], ["show"], ["log", "--verify"], ["audit"]):
            assert run(arguments[0], scene.folder, *arguments[1:]).code != 0 or arguments == ["log"]
    assert scene.bytes() == before
    refuses(scene, "release 3: it is not as it was written")
    assert (elsewhere / "public" / "monday").read_text() == "nothing"


KILLED = """
import sys
from pathlib import Path
import breakin_story, ledger_story
with ledger_story.accidents(lambda number, name: name == "sqlite committed", ledger_story.die):
    breakin_story.published(Path(sys.argv[1]), breakin_story.NEXT)
"""


@pytest.fixture
def unfinished(scene: Scene) -> Scene:
    """The next release is committed, in the log of the catalog only, and its files wait."""
    assert run_python(KILLED, scene.folder).returncode == -signal.SIGKILL
    assert (scene.folder / "private" / "catalog.sqlite-wal").stat().st_size
    assert not (scene.folder / "public" / "0004").exists()
    return scene


@pytest.mark.filterwarnings("ignore::reissue.errors.ReissueWarning")
def test_readers_leave_an_unfinished_commit_as_it_was(unfinished: Scene, run: Run) -> None:  # noqa: F811
    before = unfinished.bytes()
    for arguments in (["log"], ["log", "--verify"], ["show"], ["show", 4], ["audit", "--attacks", "Worlds"]):
        assert run(arguments[0], unfinished.folder, *arguments[1:]).code == 0, arguments
        assert unfinished.bytes() == before, arguments
    with ri.open(unfinished.folder) as series:
        assert len(series.releases) == NEXT
        assert all(release.tables for release in series.releases)
        assert series.private.members(NEXT).height
        series.audit(attacks=["Worlds"])
        assert series.verify() == []
    assert verify(unfinished.folder) == []
    assert unfinished.bytes() == before


def test_what_waits_is_not_published_when_it_was_changed(unfinished: Scene) -> None:
    """Between the commit and the move somebody gives the release another table."""
    table = next((unfinished.folder / "private" / "staging").glob("*/public/table.parquet"))
    shutil.copy(unfinished.folder / "public" / "0003" / "table.parquet", table)
    with warnings.catch_warnings(), pytest.raises(SeriesDamaged) as error:
        warnings.simplefilter("ignore")
        story.published(unfinished.folder, NEXT + 1)
    assert "public/0004/table.parquet: its bytes have changed since it was written" in str(error.value)
    assert not (unfinished.folder / "public" / "0004").exists()
    assert table.exists()


@pytest.mark.parametrize("there", ["an empty folder", "another table", "a file"])
def test_what_waits_is_not_swept_when_something_is_in_its_way(there: str, unfinished: Scene) -> None:
    """What waits is all there is of a release that counts as out."""
    place = unfinished.folder / "public" / "0004"
    place.touch() if there == "a file" else place.mkdir()
    if there == "another table":
        for path in (unfinished.folder / "public" / "0003").iterdir():
            shutil.copy(path, place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            SeriesDamaged, match=r"public/0004 is in the way|public/0004/release\.json is not the record"
        ):
            story.published(unfinished.folder, NEXT + 1)
        place.rename(unfinished.folder.parent / "away")
        story.published(unfinished.folder, NEXT + 1)
    assert story.files_under(place) == unfinished.sound[0]
    assert verify(unfinished.folder) == []


def test_what_comes_in_the_way_during_a_publication(scene: Scene) -> None:
    with pytest.raises(SeriesDamaged, match=r"Release 4 is committed, but .* public/0004 is in the way"):
        at_commit(scene, lambda: (scene.folder / "public" / "0004").mkdir())
    assert len(list((scene.folder / "private" / "staging").glob("*/public/table.parquet"))) == 1


def test_what_waits_and_is_in_its_place_too_is_swept(unfinished: Scene) -> None:
    """As in a copy of the folder that was made while the move was under way."""
    (waiting,) = (unfinished.folder / "private" / "staging").glob("*/public")
    shutil.copytree(waiting, unfinished.folder / "public" / "0004")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        story.published(unfinished.folder, NEXT + 1)
    assert story.files_under(unfinished.folder / "public" / "0004") == unfinished.sound[0]


def test_what_waits_goes_out_otherwise(unfinished: Scene) -> None:
    with pytest.warns(ReissueWarning) as said:
        story.published(unfinished.folder, NEXT + 1)
    words = " ".join(str(one.message) for one in said)
    assert "not in public/ yet" in words and "has 1 change that its anchor" in words
    for number, files in zip((NEXT, NEXT + 1), unfinished.sound, strict=True):
        assert story.files_under(unfinished.folder / "public" / f"{number:04}") == files


def test_a_planted_policy_is_not_put_in_place(scene: Scene) -> None:
    ((staged,),) = asked(scene, "SELECT staged FROM policies WHERE version = 2")
    planted = scene.folder / "private" / "staging" / staged / "policy.toml"
    planted.parent.mkdir()
    planted.write_text("m = 2")
    refuses(scene, f"private/staging/{staged}/policy.toml is not the recorded policy")


# The lock, and others who write at the same time

WRITER = """
import sys
from pathlib import Path
import breakin_story, reissue as ri
from reissue.errors import ReissueError
from reissue.ledger.ledger import Ledger

folder, at, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def wait(*_):
    print("waiting", flush=True)
    sys.stdin.readline()

if at == "staged":
    plain = Ledger._commit
    def commit(self, *arguments):
        wait()
        return plain(self, *arguments)
    Ledger._commit = commit
try:
    ri.publish(
        folder, breakin_story.table(number), seed=number, time=breakin_story.time(4),
        progress=lambda stage: wait() if stage == at else None,
    )
    print("published")
except ReissueError as error:
    print(type(error).__name__, error)
"""


@contextmanager
def writer(scene: Scene, at: str, number: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that publishes, and waits for a line at some point."""
    program = [sys.executable, "-c", WRITER, str(scene.folder), at, str(number)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "waiting\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("at", ["Grouping people", "Committing", "staged"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_deleted_lock_and_two_writers(at: str, replaced: bool, scene: Scene) -> None:
    """Exactly one of two writers wins, and the other one says that it did not; nothing is lost."""
    lock = scene.folder / "private" / "lock"
    with writer(scene, at, NEXT) as first:
        lock.unlink()
        if replaced:
            lock.touch(0o600)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a publication is under way
            second = ri.publish(scene.folder, story.table(NEXT + 1), seed=9, time=story.time(4))
        assert second.number == NEXT
        out, _ = first.communicate("go on\n", timeout=120)
    assert "published" not in out
    assert "Release 4 was not committed" in out or "StaleDraft" in out, out
    assert verify(scene.folder) == []
    with ri.open(scene.folder) as series:
        assert len(series.releases) == NEXT
        assert series.releases[-1].manifest == second.manifest
    assert ri.publish(scene.folder, story.table(NEXT + 1), seed=10, time=story.time(5)).number == NEXT + 1


def test_a_deleted_lock_and_one_writer(scene: Scene) -> None:
    """Nobody else came, but could have: the writer does not go on, and frees what it took."""
    before = scene.bytes()
    with writer(scene, "staged", NEXT) as first:
        (scene.folder / "private" / "lock").unlink()
        out, _ = first.communicate("go on\n", timeout=120)
    assert "SeriesLocked Release 4 was not committed" in out
    assert scene.bytes() == {path: content for path, content in before.items() if path.name != "lock"}


def at_commit(scene: Scene, work: Callable[[], object]) -> None:
    """Publish the next table, with somebody else at work after all was checked and read."""

    def progress(stage: str) -> None:
        if stage == "Committing":
            work()

    ri.publish(scene.folder, story.table(NEXT), seed=NEXT, time=story.time(NEXT), progress=progress)


def test_an_edit_during_a_publication(scene: Scene) -> None:
    with pytest.raises(SeriesDamaged, match="Release 4 was not committed") as error:
        at_commit(scene, lambda: edit(scene, "UPDATE releases SET seed = '1' WHERE number = 3"))
    assert "release 3: it is not as it was written" in str(error.value)
    assert not (scene.folder / "public" / "0004").exists()


def test_an_edit_that_is_undone_before_the_commit(scene: Scene) -> None:
    """What was read in between may be anything."""

    def work() -> None:
        edit(scene, "UPDATE releases SET seed = seed || '1'")
        edit(scene, "UPDATE releases SET seed = substr(seed, 1, length(seed) - 1)")

    with pytest.raises(SeriesLocked, match="Somebody else wrote to the catalog"):
        at_commit(scene, work)
    assert story.published(scene.folder, NEXT).number == NEXT


def test_a_catalog_replaced_during_a_publication(scene: Scene) -> None:
    """The writer would commit to a file that has no name any more."""

    def work() -> None:
        other = scene.folder.parent / "other.sqlite"
        shutil.copy(catalog(scene), other)
        other.replace(catalog(scene))

    with pytest.raises(SeriesLocked, match="or replaced it"):
        at_commit(scene, work)
    assert not (scene.folder / "public" / "0004").exists()


def test_a_copy_that_publishes_at_the_same_time(scene: Scene) -> None:
    """Both have seen that they go on from the anchor; the one that comes later finds that it does not any more."""
    copy = scene.folder.parent / "copy"
    shutil.copytree(scene.folder, copy)
    with pytest.raises(NotContinued, match="Release 4 was not committed"):
        at_commit(scene, lambda: story.published(copy, NEXT))
    assert (copy / "public" / "0004").exists()
    assert not (scene.folder / "public" / "0004").exists()


# Older copies, and histories that were written anew


@pytest.mark.parametrize("state", ["as it was", "gone"])
def test_an_older_copy(state: str, scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Taken at release 3 and used again after release 4, with and without the state folder of the user."""
    copy = tmp_path / "copy"
    shutil.copytree(scene.folder, copy)
    story.published(scene.folder, NEXT)
    shutil.rmtree(scene.folder)
    copy.rename(scene.folder)
    if state == "gone":
        monkeypatch.setenv(STATE, str(tmp_path / "nothing"))
    refuses(scene, f"does not go on from its anchor '{scene.anchor}'", NotContinued)


def test_an_older_copy_without_an_anchor_of_its_own(unanchored: Scene, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(unanchored.folder, copy)
    unanchored.forget_state()
    story.published(unanchored.folder, NEXT)
    shutil.rmtree(unanchored.folder)
    copy.rename(unanchored.folder)
    refuses(unanchored, "does not go on from its anchor", NotContinued)


GONE_BACK = {
    "forgot": (
        "DELETE FROM seals WHERE link = 6; DELETE FROM links WHERE number = 6; DELETE FROM events WHERE number = 3;",
        "the files of ids",
    ),
    "released": (
        "DELETE FROM seals WHERE link > 4; DELETE FROM links WHERE number > 4; DELETE FROM events WHERE number = 3;"
        "DELETE FROM blobs WHERE release_number = 3; DELETE FROM releases WHERE number = 3;",
        "the files of ids",
    ),
}


@pytest.mark.parametrize("name", GONE_BACK)
def test_the_last_links_with_their_rows(name: str, scene: Scene) -> None:
    """The salt of what the ids were is gone, so even the older state cannot be made to look whole."""
    script, said = GONE_BACK[name]
    edit(scene, script)
    refuses(scene, said)


def test_the_last_link_with_its_rows_where_nothing_is_lost(scene: Scene) -> None:
    """An amendment is taken back: in itself the series is whole, and the anchor knows better."""
    story.published(scene.folder, NEXT)
    with ri.open(scene.folder) as series:
        series.amend(story.policy(scene.anchor), "how many there are is not told any more")
    file = scene.folder / "policy.toml"
    edit(
        scene,
        "DELETE FROM seals WHERE link = 8; DELETE FROM links WHERE number = 8; DELETE FROM events WHERE number = 4;"
        "DELETE FROM policies WHERE version = 3",
    )
    file.write_text(asked(scene, "SELECT toml FROM policies WHERE version = 2")[0][0])
    with pytest.raises(NotContinued, match="does not go on from its anchor"):
        story.published(scene.folder, NEXT + 1)
    assert not verify_path(scene.folder).intact


def test_a_series_without_its_chain(scene: Scene) -> None:
    """It looks like one of a version that made no chains, whose chain would begin with what is there."""
    smaller_everywhere(scene)
    edit(scene, UNCHAINED)
    refuses(scene, f"has no chain, but had one when it was last published from: '{scene.anchor}'", NotContinued)


@pytest.mark.parametrize("work", ["unchained", "chained anew"])
def test_a_series_that_names_no_anchor_any_more(work: str, scene: Scene) -> None:
    """The state folder of the user knows what was published from the folder."""
    smaller_everywhere(scene)
    toml = asked(scene, "SELECT toml FROM policies WHERE version = 2")[0][0].replace("anchor = ", "# ")
    with closing(sqlite3.connect(catalog(scene))) as connection:
        connection.execute("UPDATE policies SET toml = ?", (toml,))
        connection.commit()
    (scene.folder / "policy.toml").write_text(toml)
    if work == "unchained":
        edit(scene, UNCHAINED)
    else:
        change_chain(scene, chained_anew)
    refuses(scene, str(note_of(scene.folder)), NotContinued)


@pytest.mark.parametrize("work", ["unchained", "chained anew"])
def test_a_series_with_its_anchor_in_the_state_folder(work: str, unanchored: Scene) -> None:
    smaller_everywhere(unanchored)
    if work == "unchained":
        edit(unanchored, UNCHAINED)
    else:
        change_chain(unanchored, chained_anew)
    refuses(unanchored, str(note_of(unanchored.folder)), NotContinued)


@pytest.mark.parametrize("work", ["unchained", "chained anew"])
def test_where_nothing_outside_knows_it_is_said(
    work: str, unanchored: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever can write the folder can write all of it anew; nobody can find that who has nothing to compare."""
    if work == "unchained":
        edit(unanchored, UNCHAINED)
    else:
        smaller_everywhere(unanchored)
        change_chain(unanchored, chained_anew)
        change_chain(unanchored, lambda connection: chain.append(connection, chain.FORGOT, [chain.PEOPLE]))
    monkeypatch.setenv(STATE, str(tmp_path / "nothing"))
    with pytest.warns(ReissueWarning, match="nothing vouches"):
        story.published(unanchored.folder, NEXT)


def test_a_link_that_the_anchor_does_not_know_is_said(scene: Scene) -> None:
    """It could be that of somebody who died before the anchor was written."""
    change_chain(scene, lambda connection: chain.append(connection, chain.FORGOT, [chain.PEOPLE]))
    with pytest.warns(ReissueWarning, match="has 1 change that its anchor .* did not know of"):
        story.published(scene.folder, NEXT)
    story.published(scene.folder, NEXT + 1)  # said once


@pytest.mark.parametrize("place", ["clinic", "elsewhere"])
@pytest.mark.parametrize("formerly", ["in the state folder", "in a file"])
def test_an_older_copy_whose_policy_names_another_anchor(formerly: str, place: str, tmp_path: Path) -> None:
    """It knows nothing of the present anchor, and looks where the former one was."""
    folder, copy = tmp_path / "clinic", tmp_path / "copy"
    former = tmp_path / "former" if formerly == "in a file" else None
    story.published(folder, 1, story.policy(former))
    story.published(folder, 2)
    shutil.copytree(folder, copy)
    with ri.open(folder) as series:
        series.amend(story.policy(tmp_path / "present"), "on another disk")
    story.published(folder, 3)
    if place == "clinic":
        folder.rename(tmp_path / "newest")
    copy.rename(tmp_path / place)
    with pytest.raises(NotContinued, match="does not go on from its anchor"):
        story.published(tmp_path / place, 3)
    assert not verify_path(tmp_path / place).intact
    if former is None:  # the state folder knows how far the series is, and not only that it goes on elsewhere
        with pytest.raises(NotContinued, match="Release 3 is out"):
            ri.resume(tmp_path / place, out=2, reason="it is the only one there is")


def test_the_former_anchor_is_told_by_whoever_comes_after_a_kill(tmp_path: Path) -> None:
    folder, copy, former = tmp_path / "clinic", tmp_path / "copy", tmp_path / "former"
    story.published(folder, 1, story.policy(former))
    shutil.copytree(folder, copy)
    code = """
import sys
from pathlib import Path
import breakin_story, ledger_story, reissue as ri
with ri.open(sys.argv[1]) as series:
    with ledger_story.accidents(lambda number, name: name == "sqlite committed", ledger_story.die):
        series.amend(breakin_story.policy(Path(sys.argv[2])), "on another disk")
"""
    assert run_python(code, folder, tmp_path / "present").returncode == -signal.SIGKILL
    with pytest.warns(ReissueWarning) as said:
        story.published(folder, 2)
    assert f"has 1 change that its anchor '{tmp_path / 'present'}'" in " ".join(str(one.message) for one in said)
    with pytest.raises(NotContinued, match="does not go on from its anchor"):
        story.published(copy, 2)


def test_a_former_anchor_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    """A copy that names it is refused as it is."""
    folder, former, present = tmp_path / "clinic", tmp_path / "former", tmp_path / "present"
    story.published(folder, 1, story.policy(former))
    with ri.open(folder) as series:
        series.amend(story.policy(present), "on another disk")
        former.unlink()
        series.amend(story.policy(tmp_path / "third"), "on yet another disk")
        assert not former.exists()
        series.amend(story.policy(present), "back again: it is an anchor of this very series")
    story.published(folder, 2)
    assert verify_path(folder).intact


@pytest.mark.parametrize("state", ["as it was", "gone"])
def test_a_policy_names_an_anchor_for_the_first_time(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.published(tmp_path / "clinic", 1, story.policy(None))
    story.published(tmp_path / "clinic", 2)
    if state == "gone":
        monkeypatch.setenv(STATE, str(tmp_path / "nothing"))
    with warnings.catch_warnings(), ri.open(tmp_path / "clinic") as series:
        warnings.simplefilter("ignore")  # that no anchor is in the other state folder
        series.amend(story.policy(tmp_path / "anchor"), "now there is another disk")
    assert story.published(tmp_path / "clinic", 3).number == 3
    assert verify_path(tmp_path / "clinic").intact


def test_an_amendment_that_fails_leaves_no_anchor(scene: Scene, tmp_path: Path) -> None:
    edit(scene, "CREATE TRIGGER t BEFORE INSERT ON policies BEGIN SELECT RAISE(ABORT, 'no'); END")
    change_chain(scene, lambda connection: chain.append(connection, chain.MIGRATED, [chain.SCHEMA]))
    with ri.open(scene.folder) as series, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SeriesError, match="The new policy was not recorded"):
            series.amend(story.policy(tmp_path / "anchor"), "now there is another disk")
        assert not (tmp_path / "anchor").exists()
        assert series._ledger.anchor_file == str(scene.anchor)


def test_an_anchor_that_the_policy_names_and_that_is_gone(scene: Scene) -> None:
    """Also where the state folder still knows of the folder: it is never silently made anew."""
    scene.anchor.unlink()
    refuses(scene, "has no anchor: there is no file", NotContinued)
    assert not scene.anchor.exists()


def test_the_anchor_of_a_series_that_has_just_begun_is_said_to_be_missing(tmp_path: Path) -> None:
    """Whoever created it may have been killed before the anchor was written; or it is an older copy."""
    anchor = tmp_path / "anchor"
    ri.open(tmp_path / "clinic", story.policy(anchor)).close()
    anchor.unlink()
    with pytest.warns(ReissueWarning, match="There is no anchor .* or the file was removed"):
        story.published(tmp_path / "clinic", 1)


def test_an_anchor_in_the_folder_would_be_put_back_with_it(tmp_path: Path) -> None:
    with pytest.raises(SeriesError, match="would be in the folder of the series"):
        story.published(tmp_path / "clinic", 1, story.policy(tmp_path / "clinic" / "anchor"))
    assert not (tmp_path / "clinic").exists()


# What is in memory


def test_a_policy_that_was_edited_when_the_series_was_opened(scene: Scene) -> None:
    edit(scene, SMALLER)
    with ri.open(scene.folder) as series:
        assert series.policy.method == ri.MInvariance(m=2)
        edit(scene, SMALLER.replace("m = 4", "x").replace("m = 2", "m = 4").replace("x", "m = 2"))
        with story.several_files():
            release = series.publish(story.table(NEXT), seed=NEXT, time=story.time(NEXT))
        assert release.manifest["method"]["m"] == story.M
    assert story.files_under(scene.folder / "public" / "0004") == scene.sound[0]


def test_no_draft_is_made_of_an_edited_catalog(scene: Scene) -> None:
    """It could be committed when the catalog is as it was again."""
    with ri.open(scene.folder) as series:
        edit(scene, "DELETE FROM blobs WHERE release_number = 3 AND name LIKE 'memory-%'")
        with pytest.raises(SeriesDamaged, match="the private tables of release 3"):
            series.draft(story.table(NEXT))
    with pytest.raises(SeriesDamaged, match="the private tables of release 3"):
        ri.preview(scene.folder, story.table(NEXT))


# The database itself


def test_a_log_with_an_edit_in_it(scene: Scene) -> None:
    code = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA wal_autocheckpoint = 0")
connection.execute("UPDATE policies SET toml = replace(toml, 'm = 4', 'm = 2')")
connection.commit()
os._exit(0)
"""
    assert run_python(code, catalog(scene)).returncode == 0
    assert catalog(scene).with_name("catalog.sqlite-wal").stat().st_size
    assert any("version 2 of the policy" in str(one) for one in verify(scene.folder))
    refuses(scene, "version 2 of the policy: it is not as it was written")


def small_pages(scene: Scene) -> int:
    """Let every table and index have many pages; gives their size."""
    edit(scene, "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL;")
    return 512


def test_pages_that_were_exchanged(scene: Scene) -> None:
    """Every row is there, read from the first to the last; but who looks for one does not find it, or finds another."""
    size = small_pages(scene)
    content = catalog(scene).read_bytes()
    sound, tried = scene.bytes(), 0
    for start in range(0, len(content), size):
        page = start + (100 if start == 0 else 0)
        kind, cells = content[page], int.from_bytes(content[page + 3 : page + 5])
        if kind not in (2, 5) or not 1 <= cells <= 40:
            continue
        cell = start + int.from_bytes(content[page + 12 : page + 14])
        changed = bytearray(content)
        # The child of the first cell, and that to the right of all.
        changed[cell : cell + 4], changed[page + 8 : page + 12] = (
            content[page + 8 : page + 12],
            content[cell : cell + 4],
        )
        catalog(scene).write_bytes(bytes(changed))
        refuses(scene, "private/catalog.sqlite")
        assert any(one.file == "private/catalog.sqlite" for one in verify(scene.folder))
        catalog(scene).write_bytes(content)
        tried += 1
    assert tried >= 5
    assert scene.bytes() == sound
    story.published(scene.folder, NEXT)  # small pages alone do no harm
    assert story.files_under(scene.folder / "public" / "0004") == scene.sound[0]
