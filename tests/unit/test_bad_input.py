"""Wrong input, each kind with its own message; afterwards the series is exactly what it was."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.errors import Infeasible, NotASeries, ParameterError, PolicyChanged, PolicyError, TableError, Unprotected


def digest(folder: Path) -> dict[str, str]:
    """Every file below a folder and a hash of its bytes."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def series(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> Iterator[ri.Series]:
    """A series with one release; whatever a test does to it, no byte of it may change."""
    with ri.open(folder, policy) as series:
        series.publish(patients)
        before = digest(folder)
        yield series
    assert digest(folder) == before


def problems(error: pytest.ExceptionInfo[ri.errors.ReissueError]) -> str:
    return " / ".join(error.value.problems)


def test_no_rows(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError, match="0 rows") as error:
        series.publish(patients.head(0))
    assert "it has no rows" in problems(error)


def test_one_row(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(Infeasible) as error:
        series.publish(patients.head(1), allow=["ids-return"], reason="so it is here")
    assert "k-anonymity (k = 3)" in problems(error)
    assert "distinct-l-diversity (l = 2)" in problems(error)


def test_k_larger_than_the_table_says_by_how_much_and_what_would_do(patients: pl.DataFrame, policy: ri.Policy) -> None:
    from reissue.publishing.series import draft

    with pytest.raises(Infeasible) as error:
        draft(patients, ri.Policy(policy.schema, ri.Mondrian(k=30)))
    assert "24" in problems(error)
    assert "30" in problems(error)
    draft(patients, ri.Policy(policy.schema, ri.Mondrian(k=24)))


def test_missing_column_lists_near_ones(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        series.publish(patients.rename({"diagnosis": "diagnoses"}))
    assert "no column 'diagnosis' (sensitive); near: 'diagnoses'" in problems(error)
    assert "1 column without a role: 'diagnoses'" in problems(error)


def test_columns_without_a_role_are_all_listed(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        series.publish(patients.with_columns(pl.lit(1).alias("ward"), pl.lit(2).alias("bed")))
    assert "2 columns without a role: 'ward', 'bed'" in problems(error)


def test_dropped_columns_may_be_absent(policy: ri.Policy, patients: pl.DataFrame) -> None:
    from reissue.publishing.series import draft

    schema = ri.Schema(
        person="patient", quasi=dict(policy.schema.quasi), sensitive="diagnosis", drop=["name", "address"]
    )
    draft(patients.with_columns(pl.lit("x").alias("name")), ri.Policy(schema, policy.method))


def test_duplicate_people(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        series.publish(pl.concat([patients, patients.head(2)]))
    assert "2 rows too many: a person has more than one row" in problems(error)


def test_people_without_an_id(series: ri.Series, patients: pl.DataFrame) -> None:
    ids = [None, *patients["patient"].to_list()[1:]]
    with pytest.raises(TableError, match="1 problem") as error:
        series.publish(patients.with_columns(pl.Series("patient", ids)))
    assert "the person column is empty in 1 row" in problems(error)


@pytest.mark.parametrize("column", ["age", "sex", "diagnosis"])
def test_nulls(series: ri.Series, patients: pl.DataFrame, column: str) -> None:
    holes = patients.with_columns(pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(column).alias(column))
    with pytest.raises(TableError) as error:
        series.publish(holes)
    assert f"column '{column}': 3 missing values" in problems(error)
    assert 'missing = "value"' in problems(error)


def test_unseen_category(series: ri.Series, patients: pl.DataFrame) -> None:
    changed = patients.with_columns(pl.col("diagnosis").replace("flu", "plague"))
    with pytest.raises(TableError) as error:
        series.publish(changed)
    assert "column 'diagnosis': 1 new label in 6 rows" in problems(error)
    assert "plague" not in str(error.value)
    with pytest.raises(TableError) as error:
        series.publish(changed, show_values=True)
    assert "plague" in str(error.value)


def test_changed_type(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        series.publish(patients.with_columns(pl.col("age") + 0.5))
    assert "column 'age' holds decimals, but held whole numbers in earlier releases" in problems(error)
    with pytest.raises(TableError) as error:
        series.publish(patients.with_columns(pl.int_range(pl.len()).alias("patient")))
    assert "the person column holds whole numbers, but held text in earlier releases" in problems(error)


def test_text_in_a_numeric_column(series: ri.Series, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        series.publish(patients.with_columns(pl.col("age").cast(pl.String)))
    assert "column 'age': holds text" in problems(error)


def test_whole_numbers_stored_as_decimals_are_no_change(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        release = series.publish(
            patients.with_columns(pl.col("age").cast(pl.Float64)), allow=["same-state"], reason="so it is here"
        )
        assert release.summary["changes"]["changed_quasi"] == 0
        assert release.tables["table"]["age_low"].dtype == pl.Int64


def test_infinite_and_huge_numbers(series: ri.Series, policy: ri.Policy, patients: pl.DataFrame) -> None:
    from reissue.publishing.series import draft

    with pytest.raises(TableError) as error:
        draft(patients.with_columns(pl.lit(float("inf")).alias("age")), policy)
    assert "24 numbers not finite" in problems(error)
    with pytest.raises(TableError) as error:
        draft(patients.with_columns(pl.lit(2**60).alias("age")), policy)
    assert "beyond 2^53" in problems(error)


def test_numbers_outside_the_range(patients: pl.DataFrame, policy: ri.Policy, folder: Path) -> None:
    narrow = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(wider="refuse"), "sex": ri.Categorical()},
        sensitive="diagnosis",
    )
    older = patients.with_columns(pl.col("age") + 100)
    with ri.open(folder, ri.Policy(narrow, policy.method, series="unprotected")) as series:
        series.publish(patients)
        with pytest.raises(TableError) as error:
            series.publish(older)
    assert "24 numbers outside the range" in problems(error)


def test_hierarchy_gap(patients: pl.DataFrame) -> None:
    from reissue.publishing.series import draft

    sexes = ri.Hierarchy.from_nested({"*": ["female", "other"]})
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": sexes}, sensitive="diagnosis")
    with pytest.raises(TableError) as error:
        draft(patients, ri.Policy(schema, ri.Mondrian(k=2)))
    assert "column 'sex': 1 label in 12 rows not in the hierarchy" in problems(error)
    assert "'male'" not in str(error.value)


def test_all_problems_at_once(series: ri.Series, patients: pl.DataFrame) -> None:
    bad = pl.concat([patients, patients.head(1)]).with_columns(
        pl.col("sex").replace("male", None), pl.col("diagnosis").replace("flu", "plague")
    )
    with pytest.raises(TableError) as error:
        series.publish(bad)
    assert len(error.value.problems) == 3


def test_not_a_table(series: ri.Series) -> None:
    with pytest.raises(TableError, match="'dict' is not a table"):
        series.publish({"patient": [1]})


@pytest.mark.parametrize("name", ["no-such.csv", "data.xlsx", "broken.parquet", "latin.csv"])
def test_files_that_cannot_be_read(series: ri.Series, tmp_path: Path, name: str) -> None:
    if name != "no-such.csv":
        (tmp_path / name).write_bytes(b"patient,age\nM\xfcller,3\n")
    with pytest.raises(TableError, match=name):
        series.publish(tmp_path / name)


def test_a_folder_that_is_not_a_series(tmp_path: Path, policy: ri.Policy) -> None:
    with pytest.raises(NotASeries):
        ri.open(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(NotASeries):
        ri.open(tmp_path)
    with pytest.raises(ri.errors.SeriesError):
        ri.open(tmp_path, policy)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_policy_that_differs_from_the_series_own(series: ri.Series, folder: Path, policy: ri.Policy) -> None:
    with pytest.raises(PolicyChanged) as error:
        ri.open(folder, ri.Policy(policy.schema, ri.Mondrian(k=4, l=2), series="unprotected"))
    assert "'method.k'" in problems(error)
    ri.open(folder, policy).close()


def test_an_edited_policy_file_is_not_taken_silently(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        text = (folder / "policy.toml").read_text()
        (folder / "policy.toml").write_text(text.replace("k = 3", "k = 2"))
        with pytest.raises(PolicyChanged, match=r"policy\.toml"):
            series.publish(patients)
        changed = ri.Policy.read(folder / "policy.toml")
        with pytest.raises(ParameterError, match="reason"):
            series.amend(changed, "  ")
        series.amend(changed, "smaller groups agreed with the board")
        release = series.publish(patients, allow=["same-state"], reason="so it is here")
        assert release.manifest["policy_version"] == 2
        assert release.manifest["method"]["k"] == 2
        assert [version.reason for version in series.policies()][-1] == "smaller groups agreed with the board"
        assert series.verify() == []


def test_amending_cannot_change_who_the_history_is_about(series: ri.Series, policy: ri.Policy) -> None:
    other = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="sex", drop=["diagnosis"])
    with pytest.raises(PolicyChanged, match="the sensitive column"):
        series.amend(ri.Policy(other, policy.method), "why not")


def test_a_second_writer(series: ri.Series, folder: Path, patients: pl.DataFrame) -> None:
    with ri.open(folder) as other, other._ledger.writing(), pytest.raises(ri.errors.SeriesLocked):
        series.publish(patients)


def test_a_stale_draft(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        first, second = series.draft(patients), series.draft(patients.head(20))
        series.commit(first)
        with pytest.raises(ri.errors.StaleDraft):
            series.commit(second)
        assert len(series.releases) == 1


def test_mondrian_is_refused_a_second_release(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, ri.Policy(policy.schema, policy.method)) as series:
        series.publish(patients)
        before = digest(folder)
        with pytest.raises(Unprotected, match="not the series"):
            series.publish(patients)
        assert digest(folder) == before


def test_there_is_no_such_release(series: ri.Series) -> None:
    for ask in (series.private.members, series.release, series.utility):
        with pytest.raises(ParameterError, match="There is no release 2"):
            ask(2)


def test_no_sensitive_column() -> None:
    with pytest.raises(PolicyError, match=r"at least one sensitive column\. Got none"):
        ri.Schema(person="p", quasi={"a": ri.Numeric()}, sensitive={})


def test_one_of_several_sensitive_columns_is_missing(tmp_path: Path) -> None:
    schema = ri.Schema(person="p", quasi={"a": ri.Numeric()}, sensitive={"x": ri.Numeric(), "y": ri.Categorical()})
    table = pl.DataFrame({"p": [1, 2, 3, 4], "a": [1, 2, 3, 4], "x": [1, 2, 1, None]})
    with pytest.raises(TableError) as error:
        ri.publish(tmp_path / "s", table, ri.Policy(schema, ri.Mondrian(k=2)))
    assert any("no column 'y' (sensitive)" in problem for problem in error.value.problems)
    assert any("column 'x': 1 missing value" in problem for problem in error.value.problems)
    assert not (tmp_path / "s").exists()


def test_a_schema_gathers_its_contradictions() -> None:
    with pytest.raises(PolicyError) as error:
        ri.Schema(person="p", quasi={"p": ri.Numeric(), "v": ri.Categorical()}, sensitive="v", protect=[[]])
    assert len(error.value.problems) >= 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ri.Mondrian(k=0), "'k' parameter of Mondrian must be a whole number of at least 1. Got 0 instead"),
        (lambda: ri.Mondrian(k=2.5), "'k' parameter"),
        (lambda: ri.Mondrian(k=2, l=0), "'l' parameter"),
        (lambda: ri.Mondrian(), "at least one of"),
        (lambda: ri.Mondrian(k=2, split="loose"), "'split' parameter"),
        (
            lambda: ri.Mondrian(k=2, constraints=[object()]),
            "'constraints' parameter of Mondrian must be guarantees .* Got 'object' instead",
        ),
        (lambda: ri.Numeric(low=3, high=1), "'low' parameter of Numeric"),
        (lambda: ri.Numeric(missing="guess"), "'missing' parameter of Numeric must be 'refuse' or 'value'"),
        (lambda: ri.Categorical(values=("a", "a")), "'values' parameter of Categorical"),
        (lambda: ri.Ids("hashed"), "key_file"),
    ],
)
def test_parameters_out_of_range(make: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()  # type: ignore[operator]


def test_ke_anonymity_needs_numbers(policy: ri.Policy) -> None:
    with pytest.raises(PolicyError) as error:
        ri.Policy(policy.schema, ri.Mondrian(constraints=[ri.guarantees.KEAnonymous(2, 1)]))
    assert "ke-anonymity needs a numeric sensitive column" in problems(error)


def test_an_ordered_distance_needs_an_order(policy: ri.Policy) -> None:
    with pytest.raises(PolicyError) as error:
        ri.Policy(policy.schema, ri.Mondrian(constraints=[ri.guarantees.TClose(0.3, "ordered")]))
    assert "declare the values of 'diagnosis' in their order" in problems(error)


def test_the_public_record_does_not_name_protected_values(policy: ri.Policy, patients: pl.DataFrame) -> None:
    from reissue.publishing.series import draft

    made = draft(
        patients,
        ri.Policy(policy.schema, ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2, [["cancer", "flu"]])])),
    )
    assert made.manifest["method"]["constraints"] == [{"name": "share-l-diversity", "l": 2, "protect": 1}]
    assert "cancer" not in str(made.manifest)


def test_an_unknown_library(folder: Path, policy: ri.Policy) -> None:
    with pytest.raises(ParameterError, match="'frames' parameter of open must be one of 'polars'"):
        ri.open(folder, policy, frames="dask")  # type: ignore[arg-type]
    assert not folder.exists()


def test_a_closed_series(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        pass
    with pytest.raises(ri.errors.SeriesError, match="has been closed"):
        series.publish(patients)


def test_a_policy_amended_by_somebody_else_is_taken_up(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as mine, ri.open(folder) as other:
        stale = mine.draft(patients)
        other.amend(ri.Policy(policy.schema, ri.Mondrian(k=4), series="unprotected"), "larger groups")
        with pytest.raises(ri.errors.StaleDraft):
            mine.commit(stale)
        assert mine.publish(patients).manifest["method"]["k"] == 4
