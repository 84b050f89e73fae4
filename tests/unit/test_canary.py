"""Strings planted in every cell appear nowhere but where they are published on purpose."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri

PEOPLE = 40


def planted() -> pl.DataFrame:
    """Every cell of every text column is unmistakable; numbers too."""
    return pl.DataFrame(
        {
            "person": [f"CANARY-id-{n}" for n in range(PEOPLE)],
            "name": [f"CANARY-name-{n}" for n in range(PEOPLE)],
            "town": [f"CANARY-town-{n % 8}" for n in range(PEOPLE)],
            "colour": [f"CANARY-colour-{n % 3}" for n in range(PEOPLE)],
            "age": [7_700_000 + n for n in range(PEOPLE)],
            "value": [f"CANARY-value-{n % 5}" for n in range(PEOPLE)],
        }
    )


def towns() -> ri.Hierarchy:
    regions = {f"region {r}": [f"CANARY-town-{n}" for n in range(8) if n % 2 == r] for r in range(2)}
    return ri.Hierarchy.from_nested({"everywhere": regions})


def policy(form: str = "generalised", **people: Any) -> ri.Policy:
    return ri.Policy(
        ri.Schema(
            person="person",
            quasi={"town": towns(), "colour": ri.Categorical(), "age": ri.Numeric()},
            sensitive="value",
            drop=["name"],
        ),
        ri.Mondrian(k=PEOPLE),
        form=form,  # type: ignore[arg-type]
        series="unprotected",
        people=ri.Ids(**people),
    )


def words_in(path: Path) -> str:
    """All text of a file: its bytes and, for Parquet, every cell and the footer's metadata."""
    text = path.read_bytes().decode("latin-1")
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path, glob=False)
        text += str(frame.schema) + str(frame.to_dicts())
        text += str(pl.read_parquet_metadata(path))
    return text


def holding(folder: Path, canary: str) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and canary in words_in(path)]


@pytest.fixture
def series_folder(tmp_path: Path) -> Path:
    with ri.open(tmp_path / "s", policy()) as series:
        series.publish(planted())
        series.publish(planted().head(PEOPLE), allow=["same-state"], reason="so it is here")
    return tmp_path / "s"


def test_public_files_hold_only_what_is_published(series_folder: Path) -> None:
    public = series_folder / "public"
    # One group of all: towns became their common ancestor, ages the interval, ids and names nothing.
    for hidden in ("CANARY-id", "CANARY-name", "CANARY-town", "7700001", "7700020"):
        assert holding(public, hidden) == [], hidden
    for shown in ("CANARY-value-3", "CANARY-colour-1", "everywhere", "7700000", "7700039"):
        assert len(holding(public, shown)) == 2, shown


def test_a_label_no_row_has_is_in_no_dictionary(tmp_path: Path) -> None:
    """A label of an earlier release, or declared and never used, must not travel in the file's dictionaries."""
    schema = ri.Schema(
        person="person",
        quasi={"colour": ri.Categorical(values=("CANARY-unused", *(f"CANARY-colour-{n}" for n in range(3))))},
        sensitive={"value": ri.Categorical(new="accept")},
        drop=["name", "town", "age"],
    )
    for form in ("generalised", "anatomised"):
        with ri.open(tmp_path / form, ri.Policy(schema, ri.Mondrian(k=2), form=form, series="unprotected")) as series:  # type: ignore[arg-type]
            series.publish(planted())
            later = planted().with_columns(pl.col("value").replace("CANARY-value-4", "CANARY-value-0"))
            release = series.publish(later)
        assert holding(release.folder, "CANARY-unused") == []
        assert holding(release.folder, "CANARY-value-4") == []


def test_ids_live_in_exactly_one_private_file(series_folder: Path) -> None:
    files = holding(series_folder, "CANARY-id-17")
    assert len(files) == 1
    assert files[0].parent == series_folder / "private" / "blobs"
    with ri.open(series_folder) as series:
        series.forget("CANARY-id-17")
        assert holding(series_folder, "CANARY-id-17") == []
        assert len(holding(series_folder, "CANARY-id-18")) == 1
        assert series.private.members(1)["person"].null_count() == 1
    assert holding(series_folder, "CANARY-name") == []


def test_hashed_ids_are_nowhere(tmp_path: Path) -> None:
    from reissue.tables.identities import make_key

    make_key(tmp_path / "key")
    with ri.open(tmp_path / "s", policy(ids="hashed", key_file=str(tmp_path / "key"))) as series:
        series.publish(planted())
        series.publish(planted(), allow=["same-state"], reason="so it is here")
        assert series.releases[1].summary["changes"]["stayed"] == PEOPLE
        pseudonym = series.private.pseudonym("CANARY-id-3")
        assert pseudonym in series.private.members(2)["person"].to_list()
        assert holding(tmp_path / "s", "CANARY-id") == []
        series.forget("CANARY-id-3")
        assert holding(tmp_path / "s", pseudonym) == []


def test_messages_reprs_logs_and_leftovers_are_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Provoke every kind of refusal and look at everything it says and leaves behind."""
    leftovers = tmp_path / "tmp"
    leftovers.mkdir()
    monkeypatch.setenv("TMPDIR", str(leftovers))
    good = planted()
    bad_tables = [
        good.head(0),
        good.head(1),
        pl.concat([good, good.head(3)]),
        good.with_columns(pl.col("value").replace("CANARY-value-1", "CANARY-new")),
        good.with_columns(pl.col("town").replace("CANARY-town-1", "CANARY-elsewhere")),
        good.with_columns(pl.col("age").cast(pl.String)),
        good.with_columns(pl.col("age") / 3),
        good.with_columns(pl.col("colour").replace("CANARY-colour-1", None)),
        good.drop("colour").with_columns(pl.lit("CANARY-x").alias("color")),
        good.with_columns(pl.col("person").replace("CANARY-id-1", None)),
    ]
    broken = tmp_path / "broken.csv"
    broken.write_text(
        "person,name,town,colour,age,value\nCANARY-id-1,CANARY-name-1\nCANARY,CANARY,CANARY,C,CANARY,C,C,C\n"
    )
    said = io.StringIO()
    with (
        caplog.at_level(logging.DEBUG),
        redirect_stdout(said),
        redirect_stderr(said),
        ri.open(tmp_path / "s", policy()) as series,
    ):
        release = series.publish(good)
        for table in [*bad_tables, broken, object()]:
            with pytest.raises(ri.errors.ReissueError) as caught:
                series.publish(table)
            error: BaseException | None = caught.value
            while error is not None:
                said.write(str(error) + repr(error) + repr(vars(error)))
                error = error.__cause__ or error.__context__
        with pytest.raises(ri.errors.ParameterError) as unknown:
            series.forget("CANARY-nobody")
        said.write(str(unknown.value))
        draft = series.draft(good, allow=["same-state"], reason="so it is here")
        objects = [
            series, release, draft, draft.snapshot, draft.grouping, draft.recoded, draft.delta, draft.private,
            draft.private.domain, draft.continues, draft.judged, series._history(), series._history().known,
            draft.snapshot.quasi[0], draft.snapshot.values.levels, series.published(),
            series.published().releases[0], series._ledger, *series._ledger.releases(), series.utility(1),
        ]  # fmt: skip
        said.write("".join(map(repr, objects)))
        said.write(str(release.manifest) + str(release.summary))
    everything = said.getvalue() + caplog.text + "".join(map(str, sys.exc_info()))
    assert "CANARY" not in everything
    assert "77000" not in everything
    assert list(leftovers.rglob("*")) == []


def test_values_are_shown_when_asked_for(tmp_path: Path) -> None:
    bad = planted().with_columns(pl.col("town").replace("CANARY-town-1", "CANARY-elsewhere"))
    with ri.open(tmp_path / "s", policy()) as series, pytest.raises(ri.errors.TableError) as error:
        series.publish(bad, show_values=True)
    assert "CANARY-elsewhere" in str(error.value)


@pytest.mark.parametrize(
    "lines",
    [
        "CANARY-id-1,CANARY-town-1,7700001,CANARY-value-1\nCANARY-id-2,CANARY-town-1,7700002,CANARY-value-1\n",
        "CANARY-id-1,CANARY-same,CANARY-same,CANARY-value-1\nCANARY-id-2,b,7700002,CANARY-value-1\n",
        " CANARY-id-1,CANARY-town-1\nCANARY-id-2,b\n",
    ],
)
def test_the_first_record_of_a_file_without_a_header_is_not_told(
    tmp_path: Path, lines: str, recwarn: pytest.WarningsRecorder
) -> None:
    (tmp_path / "table.csv").write_text(lines)
    with pytest.raises(ri.errors.TableError) as error:
        ri.publish(tmp_path / "s", tmp_path / "table.csv", policy())
    said = str(error.value) + "".join(str(one.message) for one in recwarn)
    assert "CANARY" not in said and "77000" not in said
