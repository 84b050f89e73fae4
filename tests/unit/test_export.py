"""What is handed to recipients: everything they need, nothing that is not public, complete or not there."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from frictionless import validate

import reissue as ri
from reissue.errors import MissingExtra, ParameterError, Refused, SeriesDamaged, StorageError, TableError
from reissue.exporting import placing
from reissue.ledger.record import canonical, chain_value
from reissue.publishing.checking.thresholds import NOTHING_ASKED

FORMATS = ("csv", "parquet", "excel")


def patients(count: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [f"id-{n}" for n in range(count)],
            "age": [20 + n % 40 for n in range(count)],
            "sex": [["female", "male"][n % 2] for n in range(count)],
            "town": [f"town, {n % 4}" for n in range(count)],
            "illness": [["flu", "=gout", "asthma", "angina", "ulcer"][n % 5] for n in range(count)],
        }
    )


TOWNS = ri.Hierarchy.from_nested({"everywhere": {"north": ["town, 0", "town, 1"], "south": ["town, 2", "town, 3"]}})
SCHEMA = ri.Schema(
    person="id",
    quasi={"age": ri.Numeric(), "sex": ri.Categorical(), "town": TOWNS},
    sensitive={"illness": ri.Categorical(new="accept")},
)
POLICIES = {
    "Mondrian": lambda: ri.Policy(SCHEMA, ri.Mondrian(k=6, l=2), series="unprotected"),
    "anatomised": lambda: ri.Policy(SCHEMA, ri.MInvariance(m=3), form="anatomised"),
    "disclosed": lambda: ri.Policy(SCHEMA, ri.MInvariance(m=3), disclose=["counterfeits"]),
    "Mask": lambda: ri.Policy(
        ri.Schema(
            person="id", quasi={"age": ri.Numeric()}, sensitive="illness", drop=["sex", "town"], protect=[["=gout"]]
        ),
        ri.Mask(k=4, l=3),
        series="unprotected",
    ),
    "sets": lambda: ri.Policy(SCHEMA, ri.Alternatives(m=3, epsilon=4, limit="2/3", change=0.1)),
}  # fmt: skip


@pytest.fixture(scope="module", params=POLICIES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series of two releases."""
    folder = tmp_path_factory.mktemp(request.param) / "clinic"
    with ri.open(folder, POLICIES[request.param]()) as series:
        series.publish(patients(60))
        series.publish(patients(57))
    return folder


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    with ri.open(tmp_path / "clinic", POLICIES["Mondrian"]()) as series:
        series.publish(patients(60))
        series.publish(patients(50))
    return tmp_path / "clinic"


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


ABOUT: dict[str, Any] = {
    "title": "Clinic, monthly",
    "publisher": "City Hospital",
    "licence": "CC-BY-4.0",
    "contact": "data@hospital.example",
}


@pytest.mark.parametrize("kind", FORMATS)
def test_public_files_alone_give_the_same_bytes(made: Path, kind: Any, tmp_path: Path) -> None:
    shutil.copytree(made / "public", tmp_path / "elsewhere" / "public")
    for number, name in ((1, "one"), ([1, 2], "both")):
        ri.export(made, tmp_path / name, number, format=kind, **ABOUT)
        wanted = files_in(tmp_path / name)
        ri.export(tmp_path / "elsewhere", tmp_path / f"{name} again", number, format=kind, **ABOUT)
        assert files_in(tmp_path / f"{name} again") == wanted
        ri.export(tmp_path / "elsewhere" / "public", tmp_path / f"{name} once more", number, format=kind, **ABOUT)
        assert files_in(tmp_path / f"{name} once more") == wanted
    ri.export(made / "public" / "0001", tmp_path / "alone", format=kind, **ABOUT)
    assert files_in(tmp_path / "alone") == files_in(tmp_path / "one")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_package_is_a_data_package(made: Path, kind: Any, tmp_path: Path) -> None:
    """The rules of version 2 of the standard that matter here, and what its reference implementation says."""
    ri.export(made, tmp_path / "sent", "all", format=kind, **ABOUT)
    file = tmp_path / "sent" / "datapackage.json"
    package = json.loads(file.read_text())
    assert package["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert re.fullmatch(r"[-a-z0-9._/]+", package["name"])
    assert package["title"] == ABOUT["title"] and package["version"] == "2"
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", package["created"])
    assert package["licenses"] == [{"name": "CC-BY-4.0"}]
    assert package["contributors"] == [{"title": "City Hospital", "roles": ["publisher"], "email": ABOUT["contact"]}]
    names = [resource["name"] for resource in package["resources"]]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[-a-z0-9._/]+", name) for name in names)
    for resource in package["resources"]:
        assert resource["type"] == "table"
        path = tmp_path / "sent" / resource["path"]
        assert not resource["path"].startswith(("/", ".")) and path.is_file()
        assert resource["hash"] == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        if resource["format"] == "csv":
            assert resource["bytes"] == path.stat().st_size and resource["encoding"] == "utf-8"
            assert resource["mediatype"] == "text/csv" and resource["dialect"]["delimiter"] == ","
            fields = [field["name"] for field in resource["schema"]["fields"]]
            assert fields == pl.read_csv(path, n_rows=0).columns
        assert resource["schema"]["missingValues"] == [""]
        for field in resource["schema"]["fields"]:
            assert field["type"] in ("string", "integer", "number", "boolean", "date", "datetime", "any")
            assert isinstance(field.get("constraints", {}), dict)
    report = validate(file)
    assert report.valid, report.flatten(["type", "message"])
    assert [task.stats.get("rows") for task in report.tasks][: len(names)]


def test_a_wrong_cell_or_byte_is_found_by_the_reference_implementation(clinic: Path, tmp_path: Path) -> None:
    """So that the test above can fail."""
    ri.export(clinic, tmp_path / "sent")
    table = tmp_path / "sent" / "table.csv"
    table.write_text(table.read_text().replace("\n1,", "\none,", 1))
    found = {error for (error,) in validate(tmp_path / "sent" / "datapackage.json").flatten(["type"])}
    assert {"type-error", "hash-count"} <= found


@pytest.mark.parametrize("kind", FORMATS)
def test_verify_checks_every_file_as_sent(made: Path, kind: Any, tmp_path: Path) -> None:
    for number, folder in ((2, tmp_path / "one"), ("all", tmp_path / "both")):
        exported = ri.export(made, folder, number, format=kind)  # type: ignore[arg-type]
        found = ri.verify(folder)
        assert (found.kind, found.findings) == ("export", ())
        assert found.releases == exported.releases
        assert {str(path.relative_to(folder)) for path in exported.files} == set(files_in(folder))
        assert bool(found.remarks) == (kind != "parquet")
        for name in files_in(folder):
            path = folder / name
            content = path.read_bytes()
            path.write_bytes(content[:-2] + bytes([content[-2] ^ 1]) + content[-1:])
            assert [one.file for one in ri.verify(folder).findings][:1] == [f"{folder.name}/{name}"], name
            path.unlink()
            assert any(one.file == f"{folder.name}/{name}" for one in ri.verify(folder).findings), name
            path.write_bytes(content)
        (folder / "more.txt").touch()
        assert [str(one) for one in ri.verify(folder).findings] == [
            f"{folder.name}/more.txt: it does not belong to the package"
        ]
        (folder / "more.txt").unlink()
        assert ri.verify(folder).intact
    assert ri.verify(tmp_path / "both" / "0001").intact


def test_export_json_is_tied_to_the_record(clinic: Path, tmp_path: Path) -> None:
    """Whoever replaces a record, a list or a table, and the hashes too, must break one of the chains."""
    ri.export(clinic, tmp_path / "sent", 2)
    ri.export(clinic, tmp_path / "other", 1)
    said = json.loads((tmp_path / "sent" / "export.json").read_text())
    record = json.loads((tmp_path / "sent" / "release.json").read_text())
    assert said["releases"] == [{"number": 2, "chain": record["chain"], "record": "release.json"}]
    assert said["time"] == record["time"]
    body = {name: value for name, value in said.items() if name != "chain"}
    # As the page on the format says, in other words than the code's.
    text = json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    assert said["chain"] == hashlib.sha256((record["chain"] + text).encode()).hexdigest()

    def problems() -> str:
        return "\n".join(map(str, ri.verify(tmp_path / "sent").findings))

    record_of_1 = (tmp_path / "other" / "release.json").read_bytes()
    (tmp_path / "sent" / "release.json").write_bytes(record_of_1)
    assert "not the record that export.json was made from" in problems()
    said["files"]["release.json"] = {"bytes": len(record_of_1), "sha256": hashlib.sha256(record_of_1).hexdigest()}
    (tmp_path / "sent" / "export.json").write_text(canonical(said))
    assert "its chain does not fit its content" in problems()
    assert "not the record that export.json was made from" in problems()
    for nonsense in ("{", "[]", '{"format": 1}', '{"format": 1, "chain": 1, "files": {"../x": {}}, "releases": []}'):
        (tmp_path / "sent" / "export.json").write_text(nonsense)
        assert "export.json: it cannot be understood" in problems()


def test_parquet_is_what_the_record_names(clinic: Path, tmp_path: Path) -> None:
    ri.export(clinic, tmp_path / "sent", 1, format="parquet")
    assert (tmp_path / "sent" / "table.parquet").read_bytes() == (clinic / "public/0001/table.parquet").read_bytes()
    said = json.loads((tmp_path / "sent" / "export.json").read_text())
    forged = pl.read_parquet(tmp_path / "sent" / "table.parquet").head(3)
    forged.write_parquet(tmp_path / "sent" / "table.parquet")
    content = (tmp_path / "sent" / "table.parquet").read_bytes()
    said["files"]["table.parquet"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    from reissue.ledger.sent_packages import export_chain

    del said["chain"]
    said["chain"] = export_chain([one["chain"] for one in said["releases"]], said)
    (tmp_path / "sent" / "export.json").write_text(canonical(said))
    assert [str(one) for one in ri.verify(tmp_path / "sent").findings] == [
        "sent/table.parquet: it is not the file that the record names"
    ]


def test_the_codebook_has_every_column_and_published_labels_alone(made: Path, tmp_path: Path) -> None:
    ri.export(made, tmp_path / "sent", "all")
    book = pl.read_csv(tmp_path / "sent" / "codebook.csv")
    labels = pl.read_csv(tmp_path / "sent" / "labels.csv")
    described = set(book.select("table", "column").rows())
    shown: set[str] = set()
    for path in (made / "public").glob("*/*.parquet"):
        frame = pl.read_parquet(path)
        assert {(path.stem, name) for name in frame.columns} <= described
        shown.add(str(frame.to_dicts()))
    assert "other" not in book["role"].to_list()
    for label in labels["label"]:
        assert any(label in text for text in shown), label
    assert set(labels.filter(pl.col("column") == "sex")["label"]) <= {"female", "male"}
    # What nobody of a release has any more is not in the package of that release.
    kinds = dict(book.select("column", "role").rows())
    assert kinds.get("illness") in ("sensitive", "design")


def test_labels_of_the_private_table_stay_private(tmp_path: Path) -> None:
    """A hierarchy hides the labels below those that are published; later ones are not in an earlier release."""
    with ri.open(tmp_path / "clinic", ri.Policy(SCHEMA, ri.Mondrian(k=60), series="unprotected")) as series:
        series.publish(patients(60))
        series.publish(patients(60).with_columns(illness=pl.lit("newcomer")))
        for kind in FORMATS:
            series.export(tmp_path / kind, 1, format=kind)
    for kind in FORMATS:
        for name, content in files_in(tmp_path / kind).items():
            assert b"town, 1" not in content and b"newcomer" not in content and b"id-7" not in content, name
        for path in (tmp_path / kind).rglob("*.xlsx"):
            import zipfile

            with zipfile.ZipFile(path) as book:
                assert not any(b"town, 1" in book.read(one) or b"id-7" in book.read(one) for one in book.namelist())


def readme(source: Path, target: Path, *numbers: int, **more: Any) -> str:
    ri.export(source, target, list(numbers) or None, **more)
    return (target / "README.md").read_text()


def test_the_readme_says_what_may_not_be_true(tmp_path: Path) -> None:
    said = {}
    for name, policy in POLICIES.items():
        with ri.open(tmp_path / name, replace(policy(), checks=NOTHING_ASKED)) as series:
            series.publish(patients(60))
            # Whoever had one illness left: their groups lack it.
            series.publish(patients(60).filter(pl.col("illness") != "flu"))
            counterfeits = series.release(2).summary["counterfeits"]
        said[name] = readme(tmp_path / name, tmp_path / f"{name} sent")
        if name == "disclosed":
            rows = pl.read_parquet(tmp_path / name / "public/0002/table.parquet").height
            assert counterfeits > 0
            assert f"{counterfeits} rows of {rows} ({counterfeits / rows:.1%}) are counterfeits" in said[name]
        if name == "anatomised":
            assert str(counterfeits) not in said[name].partition("## What may")[2].partition("## Reading")[0]
    assert "every sensitive value is somebody's own" in said["Mondrian"]
    assert "hold for this release alone" in said["Mondrian"]
    assert "protects them in each release alone." in said["Mondrian"]
    assert "somebody who has one release and no other" in said["Mondrian"]
    for name, text in said.items():
        assert ("because a row is not true" in text) == (name not in ("Mondrian", "sets"))
        assert ("it need not be theirs: values change between them" in text) == (name == "sets")
    assert "Rows may be counterfeits" in said["anatomised"] and "How many is not disclosed" in said["anatomised"]
    assert "hold over all releases of the series so far together" in said["anatomised"]
    assert "m-invariance (m = 3): every group has at least m members with different values" in said["anatomised"]
    assert "may have been replaced by others" in said["Mask"] and "Do not count sensitive values" in said["Mask"]
    assert "one is true and all others are not" in said["sets"] and "--scores" in said["sets"]
    for name, text in said.items():
        assert ("tell counterfeits from people" in text) == (name in ("anatomised", "disclosed"))
        assert ("bounds no probability" in text) == (name != "sets")
    assert "only as the outcome" in said["sets"] and "The public record warns" in said["sets"]
    for name, text in said.items():
        assert ("Group numbers cannot be joined across releases" in text) == (name != "sets")
        assert "Careful with spreadsheets" in text or name == "sets"
        assert "How to cite it" in text and "no licence was named" in text.lower()
        assert "## Columns" in text and "```sh" in text


def test_the_commands_of_the_readme_run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shlex

    from reissue.cli import main

    text = readme(made, tmp_path / "sent", 1, 2)
    commands = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert commands
    monkeypatch.chdir(tmp_path / "sent")
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        main()


def test_what_the_sender_says_is_said_once_and_cannot_break_out(clinic: Path, tmp_path: Path) -> None:
    text = readme(
        clinic, tmp_path / "sent", title="A *nice* `title` [x](y)", publisher="P", contact="ask Jo", licence="As agreed"
    )
    assert text.startswith("# A \\*nice\\* \\`title\\` \\[x\\](y)\n")
    package = json.loads((tmp_path / "sent" / "datapackage.json").read_text())
    assert package["name"] == "a-nice-title-x-y"
    assert package["licenses"] == [{"name": "as-agreed", "title": "As agreed"}]
    assert package["contributors"] == [
        {"title": "P", "roles": ["publisher"]},
        {"title": "ask Jo", "roles": ["contact"]},
    ]
    assert "> P. *A" in text and "Release 2, " in text
    for wrong in ({"title": ""}, {"publisher": "a\nb"}, {"licence": 3}, {"contact": "\x1b[1m"}):
        with pytest.raises(ParameterError, match="cannot be written"):
            ri.export(clinic, tmp_path / "no", **wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "no").exists()
    ri.export(clinic, tmp_path / "web", licence="https://example.org/l", contact="https://example.org/c")
    package = json.loads((tmp_path / "web" / "datapackage.json").read_text())
    assert package["licenses"] == [{"path": "https://example.org/l"}]
    assert package["contributors"] == [
        {"title": "https://example.org/c", "roles": ["contact"], "path": "https://example.org/c"}
    ]
    assert package["name"] == "release-2"


def with_periods(public: Path, *periods: str) -> None:
    """Releases whose records say what time they are about, as if they had been published so."""
    previous = None
    for number, period in enumerate(periods, 1):
        file = public / f"{number:04}" / "release.json"
        record = {**json.loads(file.read_text()), "period": period, "previous": previous}
        if number == len(periods):
            record["corrects"] = number - 1
        del record["chain"]
        previous = chain_value(record["previous"], record)
        file.write_text(canonical({**record, "chain": previous}))


def test_periods_are_in_names_and_words(clinic: Path, tmp_path: Path) -> None:
    shutil.copytree(clinic / "public", tmp_path / "public")
    with_periods(tmp_path / "public", "2026-01/2026-03", "2026-03")
    text = readme(tmp_path / "public", tmp_path / "sent", 1, 2)
    assert {path.name for path in (tmp_path / "sent").iterdir() if path.is_dir()} == {
        "0001-2026-01_2026-03",
        "0002-2026-03",
    }
    assert "| 1 | 2026-01/2026-03 |" in text and "Release 2, 2026-03, " in text
    assert "**Release 2 corrects release 1: use release 2 in its place.**" in text
    assert ri.analyse(tmp_path / "sent").count()["release"].to_list() == [1, 2]
    assert ri.verify(tmp_path / "sent").intact
    assert validate(tmp_path / "sent" / "datapackage.json").valid
    text = readme(tmp_path / "public", tmp_path / "alone", 2)
    assert "Release 2 (2026-03) of a table" in text and "in `0002-2026-03/`, as CSV" in text
    assert (tmp_path / "alone" / "0002-2026-03" / "table.csv").exists()
    assert ri.analyse(tmp_path / "alone").count().height == 1
    assert ri.verify(tmp_path / "alone").intact
    assert validate(tmp_path / "alone" / "datapackage.json").valid


def test_a_corrected_correction_is_not_the_one_to_use(tmp_path: Path) -> None:
    with ri.open(tmp_path / "s", replace(POLICIES["Mondrian"](), checks=NOTHING_ASKED)) as series:
        series.publish(patients(60), period="2026-01")
        for wrong in (1, 2, 2):
            series.publish(patients(60), corrects=wrong)
        series.export(tmp_path / "sent", "all")
    text = (tmp_path / "sent" / "README.md").read_text()
    assert "**Release 2 corrects release 1: use release 4 in its place.**" in text
    assert "**Releases 3 and 4 correct release 2: use release 4 in its place.**" in text


def test_a_retracted_release_does_not_go_out(clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ri.Series, "retracted", {1: "the wrong month"}, raising=False)
    with pytest.raises(Refused, match="not given out any more") as refused:
        ri.export(clinic, tmp_path / "sent", [1, 2])
    assert refused.value.problems == ("release 1 was retracted: the wrong month",)
    assert not (tmp_path / "sent").exists()
    assert ri.export(clinic, tmp_path / "sent", "all").releases == (2,)
    monkeypatch.setattr(ri.Series, "retracted", {1: "x", 2: "y"}, raising=False)
    with pytest.raises(Refused, match="Every release"):
        ri.export(clinic, tmp_path / "none", "all")


def test_wrong_requests_say_what_to_do(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"number": 3}, "There is no release 3"),
        ({"number": [1, 9, 8]}, "There is no release 9, 8"),
        ({"number": []}, "No release is named"),
        ({"number": "last"}, "numbers or 'all'"),
        ({"format": "xls"}, "must be one of 'csv', 'parquet', 'excel'"),
        ({"folder": tmp_path / "file"}, "is a file"),
        ({"folder": clinic / "public" / "0009"}, "inside what is exported"),
        ({"folder": tmp_path / "mine"}, "'letter.txt'"),
        ({"folder": tmp_path / "mine", "force": True}, "'letter.txt'"),
        ({"source": tmp_path / "empty"}, "There is no release in"),
        ({"source": tmp_path / "nowhere"}, "There is no release in"),
    ]
    for case, message in cases:
        given = {"source": clinic, "folder": tmp_path / "out", **case}
        with pytest.raises(ri.errors.UserError, match=re.escape(message)):
            ri.export(given.pop("source"), given.pop("folder"), **given)
    assert not (tmp_path / "out").exists()
    assert files_in(tmp_path / "mine") == {"letter.txt": b"dear"}
    assert not [path for path in tmp_path.iterdir() if "incomplete" in path.name]


def test_forged_public_files_are_not_exported(clinic: Path, tmp_path: Path) -> None:
    shutil.copytree(clinic / "public", tmp_path / "public")
    table = tmp_path / "public" / "0002" / "table.parquet"
    pl.read_parquet(table).head(5).write_parquet(table)
    (tmp_path / "public" / "0001" / "release.json").write_text("{}")
    with pytest.raises(SeriesDamaged, match="not as they were published") as damaged:
        ri.export(tmp_path / "public", tmp_path / "sent", "all")
    assert len(damaged.value.problems) >= 2
    assert not (tmp_path / "sent").exists()


def test_only_a_former_export_is_replaced(clinic: Path, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    ri.export(clinic, sent, "all", format="csv")
    with pytest.raises(ParameterError, match="already holds an export"):
        ri.export(clinic, sent)
    ri.export(clinic, sent, 1, format="excel", force=True)
    assert ri.verify(sent).intact and not (sent / "0001").exists() and (sent / "tables.xlsx").is_file()
    before = files_in(sent)
    (sent / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match=r"'notes.txt'"):
        ri.export(clinic, sent, force=True)
    (sent / "notes.txt").unlink()
    assert files_in(sent) == before
    # What an older version wrote has no list of its files: the tables and the record.
    for path in sent.iterdir():
        path.unlink()
    (sent / "table.csv").write_text("a\n")
    shutil.copy(clinic / "public" / "0001" / "release.json", sent)
    sent.chmod(0o750)
    ri.export(clinic, sent, force=True)
    assert ri.verify(sent).intact and sent.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("sent")] == ["sent"]


@pytest.mark.parametrize("former", [False, True])
def test_a_full_disk_leaves_nothing(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: bool
) -> None:
    """At every file in turn, also when it takes the place of a former export."""
    target = tmp_path / "sent"
    if former:
        ri.export(clinic, target, 1)
    before = files_in(target)
    add, rename, turn = placing.Staged.add, placing._rename, [0]

    def fails_in_its_turn(work: Any) -> Any:
        def done(*given: Any) -> Any:
            turn[0] -= 1
            if not turn[0]:
                raise OSError(errno.ENOSPC, "No space left on device")
            return work(*given)

        return done

    monkeypatch.setattr(placing.Staged, "add", fails_in_its_turn(add))
    monkeypatch.setattr(placing, "_rename", fails_in_its_turn(rename))
    for step in range(1, 12 if former else 11):  # nine files, then the renaming
        turn[0] = step
        with pytest.raises(StorageError, match="Nothing was exported") as failed:
            ri.export(clinic, target, "all", force=True)
        assert "free some space" in str(failed.value)
        assert files_in(target) == before
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("sent")] == ["sent"] * former
    ri.export(clinic, target, "all", force=True)
    assert ri.verify(target).intact


KILLED = """
import os, signal, sys
import reissue as ri
from reissue.exporting import placing
add, turn = placing.Staged.add, [int(sys.argv[3])]
def kill(folder, name, content):
    turn[0] -= 1
    if not turn[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return add(folder, name, content)
placing.Staged.add = kill
ri.export(sys.argv[1], sys.argv[2], "all")
"""


@pytest.mark.parametrize("turn", [1, 4, 9])
def test_killed_half_way_nothing_looks_complete(clinic: Path, tmp_path: Path, turn: int) -> None:
    target = tmp_path / "sent"
    ran = subprocess.run([sys.executable, "-c", KILLED, str(clinic), str(target), str(turn)], check=False)
    assert ran.returncode == -signal.SIGKILL
    assert not target.exists()
    for left in tmp_path.glob("sent.incomplete-*"):
        assert not (left / "export.json").exists()
        os.utime(left, (0, 0))
    ri.export(clinic, target, "all")
    assert ri.verify(target).intact
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("sent")) == ["sent"]


def test_what_is_being_written_or_is_no_export_is_not_swept(clinic: Path, tmp_path: Path) -> None:
    for name in ("sent.incomplete-0123456x", "other.incomplete-01234567", "sent.incomplete-01234567"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / "sent.incomplete-89abcdef").symlink_to(clinic)
    with placing.staged(tmp_path / "sent") as writing:
        os.utime(writing.folder, (0, 0))
        ri.export(clinic, tmp_path / "sent", "all")
        assert writing.folder.is_dir()
    left = sorted(path.name for path in tmp_path.iterdir() if ".incomplete-" in path.name)
    assert left == ["other.incomplete-01234567", "sent.incomplete-0123456x", "sent.incomplete-89abcdef"]


def test_a_package_without_its_list_is_not_complete(clinic: Path, tmp_path: Path) -> None:
    for number in (1, "all"):
        ri.export(clinic, tmp_path / "sent", number, force=True)  # type: ignore[arg-type]
        (tmp_path / "sent" / "export.json").rename(tmp_path / "kept.json")
        assert [str(one) for one in ri.verify(tmp_path / "sent").findings] == ["sent/export.json: it is missing"]
        (tmp_path / "kept.json").rename(tmp_path / "sent" / "export.json")


def test_excel_says_what_does_not_fit(tmp_path: Path) -> None:
    with ri.open(tmp_path / "clinic", POLICIES["Mondrian"]()) as series:
        series.publish(
            patients(60).with_columns(
                illness=pl.when(pl.col("age") < 40).then(pl.lit("x" * 40_000)).otherwise("illness")
            )
        )
        with pytest.raises(TableError, match="does not fit into an Excel workbook") as refused:
            series.export(tmp_path / "sent", format="excel")
        assert "the column 'illness' of 'table'" in str(refused.value) and "xxx" not in str(refused.value)
        assert not (tmp_path / "sent").exists()
        series.export(tmp_path / "sent")


def test_without_the_extra_it_is_named(clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reissue.tables import sent_workbook

    ri.export(clinic, tmp_path / "book", format="excel")
    sent_workbook._writer.cache_clear()
    for module in ("xlsxwriter", "fastexcel"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match="xlsxwriter") as missing:
        ri.export(clinic, tmp_path / "sent", format="excel")
    assert "extra excel" in str(missing.value) and not (tmp_path / "sent").exists()
    with pytest.raises(MissingExtra, match="fastexcel"):
        ri.analyse(tmp_path / "book").count()


def test_texts_that_look_like_formulas_are_texts_in_excel(clinic: Path, tmp_path: Path) -> None:
    import zipfile

    ri.export(clinic, tmp_path / "sent", format="excel")
    with zipfile.ZipFile(tmp_path / "sent" / "tables.xlsx") as book:
        sheets = [book.read(name) for name in book.namelist() if "worksheets/sheet" in name]
        assert len(sheets) == 3 and not any(b"<f>" in sheet for sheet in sheets)
        assert b"=gout" in book.read("xl/sharedStrings.xml")


def test_data_packages_of_others_are_left_alone(clinic: Path, tmp_path: Path) -> None:
    """Above or beside the tables may lie any datapackage.json; one of ours that is damaged is named."""
    ri.export(clinic, tmp_path / "sent")
    wanted = ri.analyse(tmp_path / "sent").count().rows()
    for nonsense in ("{", "[]", '{"resources": 3}', '{"resources": ["x", {"reissue": 1}]}'):
        (tmp_path / "datapackage.json").write_text(nonsense)
        assert ri.analyse(tmp_path / "sent").count().rows() == wanted
        assert ri.analyse(clinic / "public" / "0002").count().rows() == wanted
    (tmp_path / "sent" / "datapackage.json").write_text('{"resources": ["x", {"name": "table", "path": "table.csv"}]}')
    assert ri.analyse(tmp_path / "sent").count().rows() == wanted
    outside = {"path": "../clinic/x.csv", "format": "csv", "reissue": {"table": "table"}, "schema": {"fields": []}}
    (tmp_path / "sent" / "datapackage.json").write_text(json.dumps({"resources": [outside]}))
    assert ri.analyse(tmp_path / "sent").count().rows() == wanted
    (tmp_path / "sent" / "datapackage.json").write_text("{")
    with pytest.raises(TableError, match=r"'datapackage.json' beside the tables"):
        ri.analyse(tmp_path / "sent")


@pytest.mark.parametrize("place", ["public/0001", "public/0002", "public/0009", "sent", "private/sent"])
def test_nothing_is_exported_into_a_series(clinic: Path, tmp_path: Path, place: str) -> None:
    """Least of all in the place of one of its releases, which looks like a former export."""
    before = files_in(clinic)
    with ri.open(tmp_path / "another", POLICIES["Mondrian"]()) as series:
        series.publish(patients(60))
    for source in (clinic / "public" / "0001", clinic / "public", clinic, tmp_path / "another"):
        with pytest.raises(ParameterError, match="lies inside"):
            ri.export(source, clinic / place, 1, force=True)
    shutil.copytree(clinic / "public", tmp_path / "received")
    with pytest.raises(ParameterError, match="lies inside"):
        ri.export(tmp_path / "received" / "0001", tmp_path / "received" / "0002", force=True)
    assert files_in(clinic) == before


def test_a_promise_about_two_releases_is_not_told_of_all(tmp_path: Path) -> None:
    policy = replace(POLICIES["Mondrian"](), method=ri.Incremental(l=2), series="protected", checks=NOTHING_ASKED)
    with ri.open(tmp_path / "s", policy) as series:
        series.publish(patients(60))
    text = readme(tmp_path / "s", tmp_path / "sent")
    assert "hold over any two releases of the series so far, not over more of them together" in text
    assert "all releases of the series so far together" not in text


@pytest.mark.parametrize("foreign", [False, True])
def test_what_came_into_the_place_meanwhile_stays(clinic: Path, tmp_path: Path, foreign: bool) -> None:
    def meanwhile(done: int, total: int) -> None:
        if foreign:
            (tmp_path / "sent").mkdir()
            (tmp_path / "sent" / "thesis.txt").write_text("mine")
        else:
            ri.export(clinic, tmp_path / "sent", 1, title="The first")

    with pytest.raises(ParameterError, match="no export of Reissue" if foreign else "already holds an export"):
        ri.export(clinic, tmp_path / "sent", 1, force=foreign, progress=meanwhile)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("sent")) == ["sent"]
    name = "thesis.txt" if foreign else "README.md"
    assert ("mine" if foreign else "The first") in (tmp_path / "sent" / name).read_text()
