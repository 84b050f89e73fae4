"""Verifying a series with its anchor, public files alone, and a head that was written down."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ledger_story import anchor_of, commit, copied, opened, unchain

from reissue.errors import NotASeries, ParameterError, ReissueWarning, SeriesError
from reissue.ledger import verify, verify_path
from reissue.ledger.anchor import STATE
from reissue.ledger.record import canonical, chain_value
from reissue.ledger.verification import verify_series


@pytest.fixture
def clinic(base: Path, tmp_path: Path) -> Path:
    return copied(base, tmp_path / "clinic")


def checked(folder: Path, **options: object) -> list[tuple[str, str]]:
    found = verify_series(folder, anchor=anchor_of(folder), **options)
    return [(finding.file, finding.problem) for finding in found.findings]


def test_a_series_with_its_anchor(clinic: Path) -> None:
    found = verify_series(clinic, anchor=anchor_of(clinic))
    assert found.intact and found.remarks == ()
    assert (found.kind, found.releases) == ("series", (1, 2))
    with opened(clinic) as ledger:
        assert found.head == str(ledger.head())
        assert ledger.verify() == []


def test_an_older_copy_is_damage(clinic: Path, tmp_path: Path) -> None:
    older = copied(clinic, tmp_path / "older")
    commit(clinic)
    shutil.copy(anchor_of(clinic), anchor_of(older))
    assert verify(older) == []  # in itself it is sound
    ((file, problem),) = checked(older)
    assert file == anchor_of(older)
    assert "does not go on from its anchor" in problem and "releases up to 3" in problem
    with opened(older) as ledger:
        assert len(ledger.verify()) == 1


def test_a_missing_anchor_is_damage_only_where_the_policy_names_it(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(anchor_of(clinic)).unlink()
    ((file, problem),) = checked(clinic)
    assert file == anchor_of(clinic) and "has no anchor" in problem
    monkeypatch.setenv(STATE, str(tmp_path / "nothing yet"))
    found = verify_path(clinic)
    assert found.intact
    (remark,) = found.remarks
    assert "No anchor of this series was found" in remark and "from now on" not in remark
    assert not (tmp_path / "nothing yet").exists()


def test_an_anchor_that_is_none_or_of_another_series(clinic: Path, tmp_path: Path) -> None:
    anchor = Path(anchor_of(clinic))
    for content, words in {b"{": "is not the anchor of a series", b'{"format": 1}': "is not the anchor"}.items():
        anchor.write_bytes(content)
        ((file, problem),) = checked(clinic)
        assert file == str(anchor) and words in problem
    with_other = json.dumps({"format": 1, "series": "0" * 64, "link": 1, "head": "0" * 64, "release": 0, "chain": None})
    anchor.write_text(with_other)
    assert "that of another series" in checked(clinic)[0][1]


def test_a_chain_that_began_later_says_so(clinic: Path) -> None:
    unchain(clinic)
    found = verify_path(clinic)
    assert found.intact and found.head is None
    assert "is not sealed" in found.remarks[0]
    with pytest.warns(ReissueWarning, match="by a version that sealed nothing"):
        commit(clinic)
    found = verify_series(clinic, anchor=anchor_of(clinic))
    assert found.intact
    (remark,) = found.remarks
    assert remark.startswith("The chain of this series began on 20") and "older version" in remark


def test_the_expected_head(clinic: Path) -> None:
    with opened(clinic) as ledger:
        links = ledger.links()
    for link in links:
        for text in (str(link), link.head, link.head[:16], f"{link.number}:{link.head[:20]}", link.head.upper()):
            assert verify_path(clinic, expect=text).intact, text
    wrong = {
        f"1:{links[1].head}": "link 1 has another head",
        f"9:{links[1].head}": "link 9, whose head is expected, is not there",
        "0" * 64: "no link has the head that is expected",
    }
    for text, problem in wrong.items():
        found = verify_path(clinic, expect=text)
        assert [(one.file, one.problem) for one in found.findings] == [("private/catalog.sqlite", problem)]
    for text in ("", "4", links[0].head[:15], f"x:{links[0].head}", f"{links[0].head}0", "g" * 64):
        with pytest.raises(ParameterError, match="a number, a colon and 64 hexadecimal digits"):
            verify_path(clinic, expect=text)


def test_a_catalog_that_cannot_be_read(clinic: Path) -> None:
    (clinic / "private" / "catalog.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4096))
    found = verify_path(clinic, expect="0" * 64)
    assert {finding.file for finding in found.findings} == {"private/catalog.sqlite"}
    assert found.head is None
    (clinic / "private" / "catalog.sqlite").unlink()
    found = verify_path(clinic)
    assert [(one.file, one.problem) for one in found.findings] == [("private/catalog.sqlite", "it is missing")]
    assert found.kind == "series" and found.releases == (1, 2)


def test_nothing_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(NotASeries, match="neither a series nor a release"):
            verify_path(path)


@pytest.fixture
def received(clinic: Path, tmp_path: Path) -> Path:
    """Three public releases without the series that they came from."""
    commit(clinic)
    return Path(shutil.copytree(clinic / "public", tmp_path / "received"))


def found_in(path: Path, **options: str) -> list[str]:
    return [str(finding) for finding in verify_path(path, **options).findings]


def test_public_releases_alone(received: Path) -> None:
    found = verify_path(received)
    assert found.intact and found.remarks == () and found.head is None
    assert (found.kind, found.releases) == ("public", (1, 2, 3))
    found = verify_path(received / "0003")
    assert found.intact and (found.kind, found.releases) == ("release", (3,))
    assert "alone" in found.remarks[0]
    chain = json.loads((received / "0002" / "release.json").read_text())["chain"]
    assert found_in(received, expect=f"2:{chain}") == found_in(received, expect=chain[:16]) == []
    assert "has another head" in found_in(received, expect=f"3:{chain}")[0]
    assert "no release has" in found_in(received / "0003", expect=chain)[0]
    renamed = received / "from the hospital"
    (received / "0003").rename(renamed)
    assert found_in(renamed) == []
    shutil.rmtree(renamed)
    shutil.rmtree(received / "0001")
    found = verify_path(received)
    assert found.intact and "before 2 are not there" in found.remarks[0]


def test_extra_and_missing_files_are_named(received: Path) -> None:
    (received / "0001" / "notes.txt").write_text("x")
    (received / "0002" / "table.parquet").unlink()
    (received / "readme.md").write_text("x")
    assert found_in(received) == [
        "received/readme.md: it is not a release",
        "received/0001/notes.txt: it does not belong to the release",
        "received/0002/table.parquet: it is missing",
    ]
    shutil.rmtree(received / "0002")
    assert "received/0002: it is missing" in found_in(received)
    (received / "0003" / "release.json").unlink()
    assert "received/0003/release.json: it is missing" in found_in(received)


def test_a_changed_byte_and_a_changed_record(received: Path) -> None:
    table = received / "0001" / "table.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"x")
    assert found_in(received / "0001") == [
        "0001/table.parquet: its bytes have changed since it was written (its SHA-256 is another)"
    ]
    record = received / "0002" / "release.json"
    body = json.loads(record.read_text())
    chain = body.pop("chain")
    record.write_text(canonical({**body, "rows": 1, "chain": chain}))
    assert "0002/release.json: its chain does not fit its content" in found_in(received / "0002")
    # Written anew with its chain it is sound in itself, and the next one does not follow it.
    changed = {**body, "rows": 1}
    record.write_text(canonical({**changed, "chain": chain_value(body["previous"], changed)}))
    assert found_in(received / "0002") == []
    assert "received/0003/release.json: it does not follow the release before it" in found_in(received)


@pytest.mark.parametrize(
    "change",
    [
        {"chain": 4}, {"previous": 7}, {"number": "2"}, {"number": 0}, {"number": True}, {"files": []},
        {"files": {"table.parquet": {}}}, {"format": 0},
    ],
)  # fmt: skip
def test_records_that_are_none(received: Path, change: dict[str, object]) -> None:
    record = received / "0002" / "release.json"
    record.write_text(canonical({**json.loads(record.read_text()), **change}))
    assert "0002/release.json: the record of the release cannot be understood" in found_in(received / "0002")


def test_records_under_other_numbers_and_of_later_versions(received: Path) -> None:
    (received / "0002").rename(received / "0004")
    assert "received/0004/release.json: it is the record of release 2" in found_in(received)
    record = received / "0001" / "release.json"
    record.write_text(canonical({**json.loads(record.read_text()), "format": 99}))
    with pytest.raises(SeriesError, match="newer version"):
        verify_path(received)
    record.write_text("[" * 100_000)
    assert "cannot be understood" in found_in(received / "0001")[0]
    record.unlink()
    record.symlink_to(received / "0003" / "release.json")
    assert "cannot be understood" in found_in(received / "0001")[0]
