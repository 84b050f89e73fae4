"""Which releases are out: what is said is held against everything that is known, and a refusal changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ledger_story import (
    AMENDED,
    amend,
    anchor_of,
    back_up,
    backed_up,
    commit,
    copied,
    entry,
    files_under,
    given,
    opened,
    state,
    take,
    unchain,
)

from reissue.errors import (
    NotContinued,
    ParameterError,
    ReissueError,
    ReissueWarning,
    SeriesDamaged,
    SeriesError,
    StorageError,
)
from reissue.ledger import Ledger, Resumption, chain, verify
from reissue.ledger.record import canonical, chain_value


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


@pytest.fixture
def older(clinic: Path, tmp_path: Path) -> Path:
    """A copy of a series taken at release 2, with the anchor of the series, which has release 3."""
    folder = copied(clinic, tmp_path / "older")
    commit(clinic)
    shutil.copy(anchor_of(clinic), anchor_of(folder))
    return folder


def resumed(folder: Path, out: int, *releases: Path, **options: Any) -> list[int]:
    with opened(folder, check=False) as ledger:
        return ledger.resume(Resumption(out, "because", releases, **options))


def refused(folder: Path, kind: type[ReissueError], match: str, out: int, *releases: Path) -> ReissueError:
    """With nothing changed."""
    before = files_under(folder) | {"anchor": Path(anchor_of(folder)).read_bytes()}
    with pytest.raises(kind, match=match) as error:
        resumed(folder, out, *releases)
    assert "was not resumed" in str(error.value)
    assert files_under(folder) | {"anchor": Path(anchor_of(folder)).read_bytes()} == before
    return error.value


def rewritten(folder: Path, **changes: object) -> Path:
    """A release with another record, whose chain is right."""
    record = folder / "release.json"
    body = json.loads(record.read_text())
    body.pop("chain")
    body = {name: value for name, value in {**body, **changes}.items() if value != "left out"}
    record.write_text(canonical({**body, "chain": chain_value(body["previous"], body)}))
    return folder


def test_an_older_copy_is_refused_by_every_writer(older: Path) -> None:
    before = files_under(older)
    with opened(older) as ledger:
        for change in (
            lambda: ledger.commit(entry(3), parent=2),
            lambda: ledger.forget([1]),
            lambda: ledger.amend(AMENDED, "why", anchor=ledger.anchor_file),
            lambda: ledger.finish(),
        ):
            with pytest.raises(NotContinued, match="does not go on from its anchor"):
                change()
    assert files_under(older) == before


def test_the_last_release_is_out(clinic: Path) -> None:
    Path(anchor_of(clinic)).unlink()
    with opened(clinic) as ledger, pytest.raises(NotContinued, match="has no anchor"):
        ledger.commit(entry(3), parent=2)
    assert resumed(clinic, 2) == []
    with opened(clinic) as ledger:
        assert ledger.links()[-1].kind == chain.RESUMED
        assert ledger.events()[-1].kind == "resumed"
        assert ledger.events()[-1].detail == "release 2 is the last one out: because"
        assert len(ledger.policies()) == 1
        assert ledger.verify() == []
    commit(clinic)
    assert verify(clinic) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"format": 1, "series": 1}'])
def test_an_anchor_that_cannot_be_understood_is_written_anew(clinic: Path, content: bytes) -> None:
    Path(anchor_of(clinic)).write_bytes(content)
    assert resumed(clinic, 2) == []
    commit(clinic)


def test_what_the_series_has_counts_as_out(clinic: Path) -> None:
    refused(clinic, SeriesError, "what it has counts as out", 1)
    refused(clinic, SeriesError, "what it has counts as out", 0)
    for out in (-1, True, "2", None):
        with pytest.raises(ParameterError, match="the number of the last release"):
            resumed(clinic, out)
    with opened(clinic) as ledger, pytest.raises(ParameterError, match="must say why"):
        ledger.resume(Resumption(2, " "))


def test_the_anchor_knows_better(older: Path) -> None:
    refused(older, NotContinued, "Release 3 is out: the anchor", 2)


def test_an_anchor_of_another_series_or_a_newer_version(clinic: Path) -> None:
    anchor = Path(anchor_of(clinic))
    known = json.loads(anchor.read_text())
    anchor.write_text(json.dumps({**known, "series": "0" * 64}))
    refused(clinic, NotContinued, "another series", 2)
    anchor.write_text(json.dumps({**known, "format": 99}))
    refused(clinic, NotContinued, "newer version", 2)


def test_an_anchor_that_cannot_be_reached(clinic: Path) -> None:
    anchor = Path(anchor_of(clinic))
    anchor.unlink()
    anchor.mkdir()
    with pytest.raises(StorageError, match="was not resumed"):
        resumed(clinic, 2)


def test_another_release_of_the_same_number(clinic: Path, tmp_path: Path) -> None:
    """Two folders made a release 3 each; the anchor saw one of them, and the other cannot be passed off as it."""
    other = copied(clinic, tmp_path / "other")
    commit(clinic)
    with opened(other) as ledger:
        ledger.commit(entry(3, rows=44), parent=2)
    shutil.copy(anchor_of(clinic), anchor_of(other))
    refused(other, NotContinued, "knows another release 3 than the one that is here", 3)
    refused(other, SeriesError, "another release 3 than the one that the series has", 3, clinic / "public" / "0003")
    again = copied(other, tmp_path / "again")
    Path(anchor_of(again)).unlink()
    assert resumed(again, 3) == []  # somebody who gives up the other one says so by removing the anchor


def test_changes_that_were_no_releases_are_lost_and_that_is_said(clinic: Path, tmp_path: Path) -> None:
    older = copied(clinic, tmp_path / "older")
    amend(clinic)
    shutil.copy(anchor_of(clinic), anchor_of(older))
    with opened(older) as ledger, pytest.raises(NotContinued):
        ledger.commit(entry(3), parent=2)
    with pytest.warns(ReissueWarning, match="not all of them are releases"):
        assert resumed(older, 2) == []
    commit(older)


def test_a_missing_release_is_taken_in(older: Path, clinic: Path) -> None:
    assert resumed(older, 3, clinic / "public" / "0003", unprotected=AMENDED) == [3]
    with opened(older) as ledger:
        record = ledger.releases()[-1]
        assert (record.number, record.lost, record.seed) == (3, True, "")
        assert record.path == older.resolve() / "public" / "0003"
        assert [event.kind for event in ledger.events()][-3:] == ["taken in", "amended", "resumed"]
        assert ledger.policy.toml == AMENDED and ledger.policy.reason == "because"
        assert ledger.links()[-1].kind == chain.RESUMED
        for name in ("snapshot", "memory", "kept"):
            with pytest.raises(ParameterError, match="Who is in release 3 is not known here"):
                ledger.table(3, name)
        assert ledger.tables(3, inherited=True)["snapshot"].equals(ledger.tables(2)["snapshot"])
        assert ledger.public_table(3, "table").height == 40
        ledger.check_public(3)
        ledger.commit(entry(4, policy_version=2, people=False), parent=3)  # which keeps a table of its parent
        assert ledger.table(4, "kept").equals(ledger.table(2, "kept"))
        assert ledger.verify() == []
    assert files_under(older / "public" / "0003") == files_under(clinic / "public" / "0003")
    assert (older / "policy.toml").read_text() == AMENDED
    assert not any((older / "private" / "staging").iterdir())
    with pytest.raises(NotContinued), Ledger.open(clinic, anchor=anchor_of(older)) as ledger:
        ledger.commit(entry(4), parent=3)


def test_several_in_any_order(clinic: Path, tmp_path: Path) -> None:
    older = copied(clinic, tmp_path / "older")
    commit(clinic)
    with opened(clinic) as ledger:
        ledger.commit(entry(4), parent=3)
    shutil.copy(anchor_of(clinic), anchor_of(older))
    third, fourth = clinic / "public" / "0003", clinic / "public" / "0004"
    error = refused(older, SeriesError, "must be given the public files", 4, fourth)
    assert error.problems == ("release 3 is not given",)
    refused(older, SeriesError, "must be given the public files", 4)
    refused(older, ParameterError, "given and not said to be out", 3, third, fourth)
    refused(older, ParameterError, "is given twice", 4, third, fourth, third)
    assert resumed(older, 4, fourth, third) == [3, 4]
    assert verify(older) == []
    # Said again, as after a crash just before the anchor was written, it changes nothing but for the record of it.
    assert resumed(older, 4, fourth, third) == []
    assert [event.kind for event in Ledger.open(older).events()][-2:] == ["resumed", "resumed"]


def test_releases_that_do_not_continue(clinic: Path, older: Path, tmp_path: Path) -> None:
    third = Path(shutil.copytree(clinic / "public" / "0003", tmp_path / "third"))
    refused(older, SeriesError, "does not continue this series", 3, rewritten(third, previous="0" * 64))
    refused(older, SeriesError, "another release 2 than the one that the series has", 3, rewritten(third, number=2))
    refused(older, ParameterError, "given and not said to be out", 3, rewritten(third, number=4))


@pytest.mark.parametrize(
    "changes",
    [{"time": "left out"}, {"time": "soon"}, {"time": 7}, {"files": {"../../x": {"sha256": "0" * 64, "bytes": 1}}}],
)
def test_records_that_are_not_ours(changes: dict[str, object], clinic: Path, older: Path, tmp_path: Path) -> None:
    third = rewritten(Path(shutil.copytree(clinic / "public" / "0003", tmp_path / "third")), **changes)
    refused(older, SeriesError, "not one that Reissue wrote|not as its record says", 3, third)


def test_the_wrong_folder(clinic: Path, older: Path, tmp_path: Path) -> None:
    for wrong in (tmp_path, clinic, clinic / "public", tmp_path / "absent", clinic / "policy.toml"):
        refused(older, SeriesError, "There is no release in", 3, wrong)
    third = Path(shutil.copytree(clinic / "public" / "0003", tmp_path / "third"))
    (third / "notes.txt").write_text("x")
    refused(older, SeriesError, "not as its record says", 3, third)
    (third / "notes.txt").unlink()
    table = third / "table.parquet"
    content = table.read_bytes()
    table.write_bytes(content[:-1])
    refused(older, SeriesError, "not as its record says", 3, third)
    table.unlink()
    refused(older, SeriesError, "not as its record says", 3, third)
    (tmp_path / "elsewhere").write_bytes(content)
    table.symlink_to(tmp_path / "elsewhere")
    refused(older, SeriesError, "not as its record says", 3, third)
    table.unlink()
    table.write_bytes(content)
    assert resumed(older, 3, third) == [3]


def test_private_is_older_than_public(older: Path, clinic: Path) -> None:
    """As after restoring private/ alone: the releases are in public/ already, and stay there."""
    shutil.copytree(clinic / "public" / "0003", older / "public" / "0003")
    with pytest.raises(SeriesDamaged, match="public releases that its catalog does not know"):
        Ledger.open(older)
    refused(older, SeriesDamaged, "public releases that its catalog does not know", 2)
    in_place = older / "public" / "0003"
    inode = (in_place / "table.parquet").stat().st_ino
    assert resumed(older, 3, in_place) == [3]
    assert (in_place / "table.parquet").stat().st_ino == inode
    assert verify(older) == []
    with opened(older) as ledger:
        ledger.commit(entry(4, people=False), parent=3)


def test_another_folder_in_the_place_of_the_release(older: Path, clinic: Path) -> None:
    third = clinic / "public" / "0003"
    there = Path(shutil.copytree(third, older / "public" / "0003"))
    (there / "table.parquet").write_bytes(b"x")
    refused(older, SeriesDamaged, "is not the release that is given", 3, third)
    shutil.copy(third / "table.parquet", there)
    rewritten(there, rows=1)
    refused(older, SeriesDamaged, "is not the release that is given", 3, third)
    shutil.copytree(third, older / "public" / "0009")
    refused(older, SeriesDamaged, "does not know: 'public/0009'", 3, third)


def test_restored_from_a_backup_that_is_older_than_the_anchor(clinic: Path, tmp_path: Path) -> None:
    back_up(clinic)
    commit(clinic)
    back = tmp_path / "back"
    Ledger.restore(backed_up(clinic), back).close()
    shutil.copy(anchor_of(clinic), anchor_of(back))
    refused(back, NotContinued, "Release 3 is out", 2)
    assert resumed(back, 3, clinic / "public" / "0003") == [3]
    with opened(back) as ledger:
        kinds = [link.kind for link in ledger.links()]
        assert kinds[-2:] == [chain.RESTORED, chain.RESUMED]
        ledger.commit(entry(4, people=False), parent=3)
        assert ledger.verify() == []


def test_finishing_needs_no_word(clinic: Path) -> None:
    before = state(clinic)
    with opened(clinic) as ledger:
        head = ledger.head()
        ledger.finish()
        assert ledger.head() == head
    assert state(clinic) == before
    unchain(clinic)
    with opened(clinic, check=False) as ledger:
        with pytest.warns(ReissueWarning, match="by a version that sealed nothing"):
            ledger.finish()
        assert [link.kind for link in ledger.links()] == [chain.BEGAN]
        ledger.finish("looked at it")
        assert ledger.events()[-1].detail == "looked at it"
    assert Path(anchor_of(clinic)).exists()


def test_taking_in_says_nothing_private(clinic: Path) -> None:
    take(clinic)
    public = b"".join(files_under(clinic / "public").values())
    assert b"canary" not in public
    assert given(clinic).exists()
