"""Mistakes that were made once, each with the smallest case that shows it."""

from __future__ import annotations

import copy
import datetime
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError, PolicyChanged, PolicyError, StaleDraft, TableError
from reissue.publishing.series import draft

NEWCOMER = pl.DataFrame({"patient": ["new"], "age": [40], "sex": ["male"], "diagnosis": ["flu"]})


def bytes_of(table: pl.DataFrame, policy: ri.Policy, folder: Path) -> dict[str, bytes]:
    with ri.open(folder, policy) as series:
        release = series.publish(table, seed=7)
    return {path.name: path.read_bytes() for path in release.folder.glob("*.parquet")}


def test_committing_an_old_draft_does_not_bring_back_a_forgotten_id(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        waiting = series.draft(pl.concat([patients, NEWCOMER]))
        series.forget("p03")
        series.commit(waiting)
        assert "p03" not in series.private.members(1)["person"].to_list()
        assert "new" in series.private.members(2)["person"].to_list()
        assert series.verify() == []


def test_drafts_of_another_policy_or_another_series_are_not_taken(
    tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    other = ri.Policy(policy.schema, ri.Mondrian(k=8), series="unprotected")
    with ri.open(tmp_path / "one", policy) as one, ri.open(tmp_path / "two", policy) as two:
        with pytest.raises(StaleDraft):
            one.commit(draft(patients, other))
        one.publish(patients)
        two.publish(patients.reverse())
        with pytest.raises(StaleDraft):
            two.commit(one.draft(patients, allow=["same-state"], reason="so it is here"))
        assert len(two.releases) == 1


def test_a_draft_made_before_the_series_can_be_its_first_release(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    made = draft(patients, policy)
    with ri.open(folder, policy) as series:
        assert series.commit(made).number == 1
        with pytest.raises(StaleDraft):
            series.commit(made)


def test_the_order_of_members_says_nothing_about_values(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    """Neither places in a group nor person numbers follow the values, even if the table was sorted by them."""
    big = pl.concat([patients.with_columns(pl.col("patient") + f"-{n}") for n in range(20)]).sort("diagnosis")
    with ri.open(folder, ri.Policy(policy.schema, ri.Mondrian(k=len(big)))) as series:
        made = series.draft(big, allow=["ids-alike", "telling-column", "few-groups"], reason="so it is here")
        series.commit(made)
        for view in (series.published(), made.published()):
            (release,) = view.releases
            assert release.members.tolist() == sorted(release.members.tolist())
        truth = dict(big.select("patient", "diagnosis").rows())
        names = dict(series._ledger.people().rows())
        in_order = [truth[names[number]] for number in release.members.tolist()]
    changes = sum(a != b for a, b in pairwise(in_order))
    assert changes > 100, "sorted by value there would be three changes"


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_relaxed_ties_do_not_depend_on_rows_where_columns_are_published_as_they_are(tmp_path: Path, form: str) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "who": range(60),
            "age": rng.integers(0, 3, 60),
            "ward": [f"w{n % 2}" for n in range(60)],
            "value": rng.choice(list("abc"), 60),
        }
    )
    policy = ri.Policy(
        ri.Schema(person="who", quasi={"age": ri.Numeric()}, sensitive="value", as_is=["ward"]),
        ri.Mondrian(k=3, split="relaxed"),
        form=form,  # type: ignore[arg-type]
    )
    first = bytes_of(table, policy, tmp_path / "first")
    for turn in range(5):
        assert bytes_of(table.sample(fraction=1, shuffle=True, seed=turn), policy, tmp_path / f"{turn}") == first


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_the_library_and_width_of_numbers_do_not_show(tmp_path: Path, patients: pl.DataFrame, form: str) -> None:
    """Int8 or UInt64, 0.0 or -0.0, one time zone or another: the same content is the same bytes."""
    when = pl.Series("when", [datetime.datetime(2024, 1, 1, n) for n in range(24)])
    table = patients.with_columns(pl.Series("zero", [0.0, -0.0, 1.5, -0.0] * 6), when.dt.replace_time_zone("UTC"))
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "zero": ri.Numeric(), "when": ri.Numeric(), "sex": ri.Categorical()},
        sensitive="diagnosis",
    )
    policy = ri.Policy(schema, ri.Mondrian(k=5), form=form)  # type: ignore[arg-type]
    first = bytes_of(table, policy, tmp_path / "0")
    for turn, dtype in enumerate((pl.Int8, pl.UInt64, pl.Int32), start=1):
        other = table.reverse().with_columns(
            pl.col("age").cast(dtype), pl.col("when").dt.convert_time_zone("Asia/Tokyo")
        )
        assert bytes_of(other, policy, tmp_path / f"{turn}") == first


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.with_columns(pl.Series("patient", [2**63 + 5 + n for n in range(24)], dtype=pl.UInt64)),
        lambda t: t.with_columns(pl.Series("age", [1e300] * 24)),
        lambda t: t.with_columns(pl.Series("age", [2**60 + n for n in range(24)])),
        lambda t: t.with_columns(pl.Series("age", [f"{2**60 + n}.5" for n in range(24)]).cast(pl.Decimal(30, 2))),
        lambda t: t.with_columns(pl.Series("sex", [["CANARY"]] * 24, dtype=pl.List(pl.Enum(["CANARY"])))),
        lambda t: t.lazy().with_columns(pl.lit("CANARY").cast(pl.Int64).alias("age")),
        lambda t: t.to_pandas().assign(age=[1, "CANARY", *range(22)]),
    ],
)
def test_nothing_private_comes_out_of_other_libraries(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, make: Any
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        with pytest.raises(TableError) as caught:
            series.publish(make(patients))
    error: BaseException | None = caught.value
    while error is not None:
        assert isinstance(error, ri.errors.ReissueError)
        for private in ("CANARY", "9223372036854775", "1.0000e300", "11529215"):
            assert private not in str(error) + repr(error)
        error = error.__cause__ or error.__context__


def test_protected_values_are_labels_that_exist(policy: ri.Policy, patients: pl.DataFrame) -> None:
    with pytest.raises(PolicyError, match="contradicts") as error:
        ri.Policy(policy.schema, ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2, [[5]])]))
    assert "not text" in str(error.value)
    declared = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "sex": ri.Categorical()},
        sensitive={"diagnosis": ri.Categorical(values=("flu", "asthma", "cancer", "measles"))},
    )
    with pytest.raises(PolicyError) as error:
        ri.Policy(declared, ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2, [["cancre"]])]))
    assert "1 labels that the sensitive column's declared values lack" in str(error.value)
    misspelt = ri.Policy(policy.schema, ri.Mondrian(constraints=[ri.guarantees.ShareDiverse(2, [["cancre"]])]))
    with pytest.raises(ri.errors.ChecksFailed, match="unused-value: 1 value that the policy names"):
        draft(patients, misspelt)


def test_missing_values_in_a_hierarchy_can_be_measured_again(folder: Path, patients: pl.DataFrame) -> None:
    sexes = ri.Hierarchy.from_nested({"*": ["female", "male"]}, missing="value")
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": sexes}, sensitive="diagnosis")
    table = patients.with_columns(pl.when(pl.col("age") < 40).then(None).otherwise("sex").alias("sex"))
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(k=3))) as series:
        series.publish(table)
        assert series.utility(1).average_class_size >= 3


def test_a_column_may_become_another_kind(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, tmp_path: Path
) -> None:
    def with_age(kind: Any) -> ri.Policy:
        schema = ri.Schema(person="patient", quasi={"age": kind, "sex": ri.Categorical()}, sensitive="diagnosis")
        return ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")

    patients.write_csv(tmp_path / "t.csv")
    with ri.open(folder, with_age(ri.Numeric(high=10**9))) as series:
        series.publish(tmp_path / "t.csv")
        penalty = series.utility(1).certainty_penalty
        for kind in (ri.Categorical(), ri.Numeric(), ri.Hierarchy.intervals(0, 99, [10])):
            series.amend(with_age(kind), "another kind")
            assert (
                series.publish(tmp_path / "t.csv", allow=["same-state"], reason="so it is here").summary["changes"][
                    "changed_quasi"
                ]
                == 0
            )
        assert len(series.published().releases) == 4
        assert series.utility(1).certainty_penalty == penalty
        # What was only declared, and is declared no more, does not stretch the domain.
        wide, narrow = penalty, series.utility(3).certainty_penalty
        assert wide is not None
        assert narrow is not None
        assert wide.attributes["age"] < 1e-6 < 0.01 < narrow.attributes["age"]


def test_amending_cannot_change_the_kind_of_the_sensitive_column(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    numbered = patients.with_columns(pl.int_range(pl.len()).alias("diagnosis"))
    with ri.open(folder, policy) as series:
        series.publish(numbered)
        schema = ri.Schema(person="patient", quasi=dict(policy.schema.quasi), sensitive={"diagnosis": ri.Numeric()})
        with pytest.raises(PolicyChanged, match="kind of a sensitive column"):
            series.amend(ri.Policy(schema, policy.method), "why not")


def test_sensitive_numbers_may_change_their_width(folder: Path, patients: pl.DataFrame) -> None:
    schema = ri.Schema(
        person="patient", quasi={"age": ri.Numeric()}, sensitive={"n": ri.Numeric()}, drop=["sex", "diagnosis"]
    )
    table = patients.with_columns(pl.int_range(pl.len()).cast(pl.Int32).alias("n"))
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")) as series:
        series.publish(table)
        changes = series.publish(
            table.with_columns(pl.col("n", "age").cast(pl.Int16)), allow=["same-state"], reason="so it is here"
        ).summary["changes"]
        assert changes["changed_value"] == changes["changed_quasi"] == 0
        assert len(series.published().values) == 24


def test_a_zone_where_there_was_none_is_a_changed_type(folder: Path, patients: pl.DataFrame) -> None:
    when = pl.Series("when", [datetime.datetime(2024, 1, 1, n) for n in range(24)])
    schema = ri.Schema(person="patient", quasi={"when": ri.Numeric()}, sensitive="diagnosis", drop=["age", "sex"])
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")) as series:
        series.publish(patients.with_columns(when))
        with pytest.raises(TableError, match="does not fit") as error:
            series.publish(patients.with_columns(when.dt.replace_time_zone("UTC")))
    assert "holds times with a zone, but held times" in str(error.value)


def test_a_first_attempt_that_fails_does_not_bind_the_folder(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    narrow = ri.Schema(person="patient", quasi={"age": ri.Numeric()}, sensitive="diagnosis")
    with ri.open(folder, ri.Policy(narrow, policy.method)) as series, pytest.raises(TableError):
        series.publish(patients)
    with ri.open(folder, policy) as series:
        series.publish(patients)
        assert [version.reason for version in series.policies()][1:] == ["replaced before the first release"]


def test_columns_may_be_called_what_the_ledger_calls_its_own(folder: Path, patients: pl.DataFrame) -> None:
    table = patients.rename({"age": "person", "sex": "(key)"})
    schema = ri.Schema(
        person="patient", quasi={"person": ri.Numeric(), "(key)": ri.Categorical()}, sensitive="diagnosis"
    )
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")) as series:
        series.publish(table)
        assert series.publish(table, allow=["same-state"], reason="so it is here").summary["changes"]["stayed"] == 24
        assert series.utility(2).rows == 24


@pytest.mark.parametrize("name", ["", "*", "^.*$", "a\0b", "reissue.person"])
def test_names_that_cannot_be_used(name: str) -> None:
    with pytest.raises(PolicyError, match="contradicts") as error:
        ri.Schema(person="p", quasi={name: ri.Numeric()}, sensitive="s")
    assert "columns to rename" in str(error.value)


def test_missing_stands_first_in_the_order_of_values(folder: Path) -> None:
    """What the draft's check measured, a check of the whole series measures too."""
    rng = np.random.default_rng(3)
    values = rng.choice(["a", "b", "c", None], 200)  # type: ignore[list-item]
    table = pl.DataFrame(
        {"who": range(200), "x": rng.integers(0, 99, 200), "v": pl.Series(values.tolist(), dtype=pl.String)}
    )
    schema = ri.Schema(
        person="who",
        quasi={"x": ri.Numeric()},
        sensitive={"v": ri.Categorical(values=("c", "a", "b"), missing="value")},
    )
    policy = ri.Policy(schema, ri.Mondrian(constraints=[ri.guarantees.TClose(0.2, "ordered")]))
    with ri.open(folder, policy) as series:
        made = series.draft(table)
        series.commit(made)
        (guarantee,) = policy.guarantees()
        assert series.published().values == ("(missing)", "c", "a", "b")
        assert guarantee.check(series.published()).worst == pytest.approx(made.verdicts[0].worst)


def test_estimates_of_exact_labels(tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"who": range(24), "x": range(24), "ward": ["{a,b}", "b"] * 12, "flag": [True, False] * 12, "n": [1, 2, 3] * 8}
    )
    for form in ("generalised", "anatomised"):
        schema = ri.Schema(
            person="who", quasi={"x": ri.Numeric(), "flag": ri.Categorical()}, sensitive="n", as_is=["ward"]
        )
        with ri.open(tmp_path / form, ri.Policy(schema, ri.Mondrian(k=3), form=form)) as series:  # type: ignore[arg-type]
            release = series.publish(table)
        assert ri.estimate(release, {"ward": "b"}) == pytest.approx(12)
        assert ri.estimate(release, {"ward": "{a,b}"}) == pytest.approx(12)
        assert ri.estimate(release, {"flag": True}) == pytest.approx(12)
        assert ri.estimate(release, {"n": [1, 2]}) == pytest.approx(16)
        with pytest.raises(ParameterError, match="stand nowhere"):
            ri.estimate(release, {"n": 9})


def test_class_sizes_are_normalised_by_the_k_that_was_promised(folder: Path, patients: pl.DataFrame) -> None:
    schema = ri.Schema(person="patient", quasi={"x": ri.Numeric()}, sensitive="diagnosis", drop=["age", "sex"])
    table = patients.with_columns(pl.int_range(pl.len()).alias("x"))
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(constraints=[ri.guarantees.KAnonymous(3)]))) as series:
        series.publish(table)
        assert series.utility(1).normalised_class_size == pytest.approx(1.0)


def test_a_column_without_any_value(folder: Path, policy: ri.Policy, patients: pl.DataFrame, tmp_path: Path) -> None:
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(missing="value"), "sex": ri.Categorical(missing="value")},
        sensitive="diagnosis",
    )
    empty = patients.with_columns(pl.lit(None).alias("age"), pl.lit(None).alias("sex"))
    empty.write_csv(tmp_path / "empty.csv")
    for turn, table in enumerate((empty, tmp_path / "empty.csv")):
        with ri.open(tmp_path / f"s{turn}", ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")) as series:
            out = series.publish(table).tables["table"]
            assert out["age_low"].null_count() == 24
            assert out["age_missing"].all()
            assert series.publish(patients).manifest["rows"] == 24
            assert series.publish(table, allow=["same-state"], reason="so it is here").manifest["rows"] == 24


def test_ids_from_numpy_and_ids_that_are_none(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients.with_columns(pl.int_range(pl.len()).alias("patient")))
        series.forget(np.int64(5))
        for wrong in (True, 6.0, None):
            with pytest.raises(ParameterError, match="text or a whole number"):
                series.forget(wrong)
        with pytest.raises(ParameterError, match="no person number 99"):
            series.private.name_of(99)
        assert series.private.id_from_text("²") == "²"


def test_many_labels_and_many_strata_are_no_special_case() -> None:
    rng = np.random.default_rng(0)
    size = 30_000
    table = pl.DataFrame(
        {
            "who": range(size),
            "label": [f"label {n}" for n in rng.integers(0, 5000, size)],
            "ward": rng.integers(0, 3000, size).astype(str),
            "value": rng.integers(0, 9, size),
        }
    )
    schema = ri.Schema(person="who", quasi={"label": ri.Categorical()}, sensitive="value", as_is=["ward"])
    enough = table.filter(pl.len().over("ward") >= 3)
    published = draft(enough, ri.Policy(schema, ri.Mondrian(k=3))).tables["table"]
    assert published.height == enough.height
    assert (
        published.group_by("group")
        .agg(pl.col("ward").n_unique(), pl.len())
        .filter((pl.col("ward") > 1) | (pl.col("len") < 3))
        .is_empty()
    )


def test_policies_can_be_copied_and_pickled(policy: ri.Policy) -> None:
    assert copy.deepcopy(policy) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_all_problems_are_told_even_when_roles_are_wrong(policy: ri.Policy, patients: pl.DataFrame) -> None:
    with pytest.raises(TableError) as error:
        draft(
            patients.with_columns(
                pl.lit("x").alias("ward"), pl.lit("same").alias("patient"), pl.lit(None).alias("age")
            ),
            policy,
        )
    assert len(error.value.problems) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: ri.Categorical("male"),  # type: ignore[arg-type]
        lambda: ri.Numeric(low=float("nan")),
    ],
)
def test_parameters_of_the_wrong_sort(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()
    assert ri.Categorical(values=(True, False)).values == ("true", "false")  # type: ignore[arg-type]


def test_seeds_and_times_are_checked(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        with pytest.raises(ParameterError, match="'seed'"):
            series.publish(patients, seed=-1)
        with pytest.raises(ParameterError, match="time zone"):
            series.publish(patients, time=datetime.datetime(2024, 1, 1))
        assert series.releases == []
    assert "closed" not in repr(series)


@pytest.mark.parametrize("text", ["constraints = 5", "constraints = [3]"])
def test_constraints_that_are_no_tables(text: str) -> None:
    with pytest.raises(PolicyError):
        ri.Policy.from_toml(f'[schema]\nperson = "p"\n[method]\nname = "Mondrian"\n{text}')
