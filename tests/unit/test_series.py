"""A series from the outside: tables in and out, people, policies, what is kept."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import NotContinued, ReissueWarning
from reissue.ledger.anchor import STATE
from reissue.publishing import archive
from reissue.publishing.series import draft


def test_publish_look_and_reopen(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        release = series.publish(patients)
        assert repr(release) == f"Release(1: 24 rows in {release.manifest['groups']} groups, generalised)"
    with ri.open(folder) as series:
        assert series.policy.to_toml() == policy.to_toml()
        (again,) = series.releases
        assert again.tables["table"].equals(release.tables["table"])
        assert again.tables["table"].columns == ["group", "age_low", "age_high", "sex", "diagnosis"]
        members = series.private.members(1)
        assert sorted(members["person"].to_list()) == sorted(patients["patient"].to_list())
        assert members.columns == ["person", "group", "counterfeit"]
        assert series.verify() == []


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb", "polars", "lazy", "csv", "csv.gz", "parquet"])
def test_tables_come_in_and_go_out_in_the_callers_library(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, tmp_path: Path, library: str
) -> None:
    table: Any
    if library == "pandas":
        table = patients.to_pandas()
    elif library == "pyarrow":
        table = patients.to_arrow()
    elif library == "duckdb":
        import duckdb

        table = duckdb.from_arrow(patients.to_arrow())
    elif library == "lazy":
        table = patients.lazy()
    elif library == "polars":
        table = patients
    else:
        table = tmp_path / f"patients.{library}"
        if library == "parquet":
            patients.write_parquet(table)
        elif library == "csv":
            patients.write_csv(table, separator=";")
        else:
            import gzip

            table.write_bytes(gzip.compress(patients.write_csv().encode()))
    with ri.open(folder, policy) as series:
        out = series.publish(table).tables["table"]
    expected = draft(patients, policy).tables["table"].with_columns(pl.col("sex", "diagnosis").cast(pl.String))
    kinds = {"pandas": "pandas", "pyarrow": "pyarrow", "duckdb": "duckdb"}
    assert type(out).__module__.split(".")[0].lstrip("_") == kinds.get(library, "polars")
    back = out.pl() if library == "duckdb" else pl.from_pandas(out) if library == "pandas" else pl.DataFrame(out)
    assert back.select(pl.all().cast(pl.String)).equals(expected.select(pl.all().cast(pl.String)))


def test_ids_of_a_csv_file_stay_as_they_are_written(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, tmp_path: Path
) -> None:
    ids = [f"{n:05}" for n in range(24)]
    patients.with_columns(pl.Series("patient", ids)).write_csv(tmp_path / "t.csv")
    with ri.open(folder, policy) as series:
        series.publish(tmp_path / "t.csv")
        assert sorted(series.private.members(1)["person"].to_list()) == ids


def test_delta_counts_who_came_went_returned_and_changed(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    with ri.open(folder, policy) as series:
        assert series.publish(patients.head(20)).summary["changes"] == {
            "arrived": 20, "returned": 0, "stayed": 0, "gone": 0, "changed_quasi": 0, "changed_value": 0,
        }  # fmt: skip
        second = patients[4:22].with_columns(
            pl.when(pl.col("patient") == "p05").then(pl.col("age") + 1).otherwise("age").alias("age"),
            pl.when(pl.col("patient").is_in(["p05", "p06"]))
            .then(pl.lit("flu"))
            .otherwise("diagnosis")
            .alias("diagnosis"),
        )
        changed = (patients.filter(pl.col("patient").is_in(["p05", "p06"]))["diagnosis"] != "flu").sum()
        assert series.publish(second.sample(fraction=1, shuffle=True, seed=1)).summary["changes"] == {
            "arrived": 2, "returned": 0, "stayed": 16, "gone": 4, "changed_quasi": 1, "changed_value": changed,
        }  # fmt: skip
        assert series.publish(patients).summary["changes"]["returned"] == 4
        members = [dict(series.private.members(n).select("person", "group").rows()) for n in (1, 2, 3)]
        assert [len(m) for m in members] == [20, 18, 24]


def test_a_forgotten_person_who_comes_back_is_somebody_new(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        series.forget("p03")
        with pytest.raises(ri.errors.ParameterError, match="The id given is not in the series"):
            series.forget("p03")
        changes = series.publish(patients).summary["changes"]
        assert (changes["arrived"], changes["gone"], changes["stayed"]) == (1, 1, 23)
        assert series.verify() == []
        numbers = [release.members for release in series.published().releases]
        assert max(numbers[0]) == 23
        assert max(numbers[1]) == 24


def test_whole_number_ids(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    numbered = patients.with_columns(pl.int_range(100, 124).alias("patient"))
    with ri.open(folder, policy) as series:
        series.publish(numbered)
        assert series.private.id_from_text("105") == 105
        series.forget(105)
        assert series.publish(numbered).summary["changes"]["arrived"] == 1


def test_the_outsiders_view_says_what_was_published(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, policy) as series:
        series.publish(patients)
        series.publish(patients.tail(18))
        view = series.published()
        for release in view.releases:
            table = series.release(release.number).tables["table"]
            assert release.region is not None
            assert release.region.rows() == table.drop("diagnosis").unique().sort("group").drop("group").rows()
            truth = dict(series.private.members(release.number).select("person", "group").rows())
            for group in range(release.group_count):
                codes = slice(release.value_starts[group], release.value_starts[group + 1])
                counted = dict(
                    zip((view.values[c] for c in release.values[codes]), release.counts[codes].tolist(), strict=True)
                )
                assert counted == Counter(table.filter(pl.col("group") == group + 1)["diagnosis"].to_list())
                who = release.members[release.member_starts[group] : release.member_starts[group + 1]]
                assert {series.private.name_of(int(n)) for n in who} == {p for p, g in truth.items() if g == group + 1}
        for guarantee in policy.guarantees():
            assert guarantee.check(view).holds


def test_dates_and_times_are_numeric(folder: Path, patients: pl.DataFrame) -> None:
    days = [datetime.date(1970, 1, 1) + datetime.timedelta(days=37 * n) for n in range(24)]
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=7 * n) for n in range(24)]
    table = patients.select("patient", "diagnosis", pl.Series("born", days), pl.Series("seen", moments))
    schema = ri.Schema(person="patient", quasi={"born": ri.Numeric(), "seen": ri.Numeric()}, sensitive="diagnosis")
    with ri.open(folder, ri.Policy(schema, ri.Mondrian(k=5))) as series:
        out = series.publish(table).tables["table"]
        assert out["born_low"].dtype == pl.Date
        assert out["seen_high"].dtype == pl.Datetime("us")
        assert out["born_low"].min() == days[0]
        assert out["seen_high"].max() == moments[-1]
        assert series.utility(1).average_class_size >= 5


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_what_is_kept_gives_the_same_snapshot_back(folder: Path, form: str) -> None:
    """Utility is measured on the kept rows: they must code to exactly what was published."""
    table = pl.DataFrame(
        {
            "who": range(30),
            "age": [None if n % 7 == 0 else n * 3 % 50 for n in range(30)],
            "size": [n * 0.37 % 5 for n in range(30)],
            "town": [f"t{n % 4}" for n in range(30)],
            "flag": [n % 3 == 0 for n in range(30)],
            "ward": [n // 15 for n in range(30)],
            "value": [None if n % 11 == 0 else f"v{n % 5}" for n in range(30)],
        }
    )
    schema = ri.Schema(
        person="who",
        quasi={
            "age": ri.Numeric(missing="value"),
            "size": ri.Numeric(low=-1, high=10),
            "town": ri.Hierarchy.from_nested({"*": {"a": ["t3", "t1"], "b": ["t0", "t2"]}}),
            "flag": ri.Categorical(values=("true", "false")),
        },
        sensitive={"value": ri.Categorical(missing="value", values=("v4", "v0"), new="accept")},
        as_is=["ward"],
    )
    policy = ri.Policy(schema, ri.Mondrian(k=3), form=form, series="unprotected")  # type: ignore[arg-type]
    with ri.open(folder, policy) as series:
        made = series.draft(table, seed=1)
        series.commit(made)
        snapshot, grouping = archive.snapshot(series._ledger, 1, series.policy)
        columns = [*snapshot.quasi, *snapshot.as_is, snapshot.values]
        drafted = [*made.snapshot.quasi, *made.snapshot.as_is, made.snapshot.values]
        for kept, was in zip(columns, drafted, strict=True):
            assert kept.name == was.name
            assert kept.codes.tolist() == was.codes.tolist()
            assert kept.decode().equals(was.decode(), null_equal=True)
        assert (grouping.group + 1).tolist() == made.recoded.group.tolist()
        # The same table again: nothing has changed, whatever the types.
        changes = series.publish(table, allow=["same-state"], reason="so it is here").summary["changes"]
        assert (changes["stayed"], changes["changed_quasi"], changes["changed_value"]) == (30, 0, 0)


def test_policies_go_through_toml_unchanged(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    policy = ri.Policy(
        ri.Schema(
            person="id",
            quasi={
                "age": ri.Numeric(low=0, high=120, wider="refuse"),
                "town": ri.Hierarchy.read(tmp_path / "h.csv", missing="value"),
                "sex": ri.Categorical(values=("f", "m"), missing="value"),
            },
            sensitive={"illness": ri.Categorical(values=("HIV", "flu", "hepatitis"), new="accept")},
            as_is={"year": ri.Numeric(), "ward": ri.Categorical()},
            drop=["name"],
            protect=[["HIV", "hepatitis"]],
        ),
        ri.Mondrian(
            k=5,
            l=2,
            split="relaxed",
            constraints=[
                ri.guarantees.ShareDiverse(2),
                ri.guarantees.TClose(0.4, "ordered"),
                ri.guarantees.RecursiveDiverse(2, 3),
                ri.guarantees.EntropyDiverse(1.5),
            ],
        ),
        form="anatomised",
        series="unprotected",
        people=ri.Ids("hashed", "somewhere.key"),
    )
    again = ri.Policy.from_toml(policy.to_toml())
    assert again == policy
    assert again.to_toml() == policy.to_toml()
    assert policy.differences(again) == []
    assert [g.title for g in again.guarantees()] == [g.title for g in policy.guarantees()]
    protected = next(g for g in policy.guarantees() if g.name == "share-l-diversity")
    assert protected.parameters["protect"] == (("HIV", "hepatitis"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "there is no [schema]"),
        ("form = 1\nschem = 2", "no entry 'schem'; did you mean 'schema'?"),
        ('[schema]\nperson = "p"\n[schema.quasi.a]\nkind = "number"', '[schema.quasi.a] needs kind = "numeric"'),
        ('[schema]\nperson = "p"\n[schema.quasi.a]\nkind = "numeric"\nmising = "x"', "did you mean 'missing'?"),
        ('[method]\nname = "Mondrain"', "There is no method called 'Mondrain'; near it: 'Mondrian'"),
        ('[method]\nname = "Mondrian"\nkk = 1', "'kk' is not a parameter of 'Mondrian'; near it: 'k'"),
        ("[schema\nperson =", "not valid TOML"),
        ('[method]\nname = "Mondrian"\n[[method.constraints]]\nname = "t-closenes"\nt = 0.1', "t-closeness"),
    ],
)
def test_policy_files_say_everything_that_is_wrong(text: str, expected: str) -> None:
    with pytest.raises(ri.errors.PolicyError) as error:
        ri.Policy.from_toml(text)
    assert expected in str(error.value)


def test_hierarchy_paths_are_relative_to_the_policy_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "h.csv").write_text("a;*\nb;*\n")
    (tmp_path / "sub" / "policy.toml").write_text(
        '[schema]\nperson = "p"\n[schema.quasi.t]\nkind = "hierarchy"\nfile = "h.csv"\n'
        '[schema.sensitive.s]\nkind = "categorical"\n[method]\nname = "Mondrian"\nk = 2\n'
    )
    policy = ri.Policy.read(tmp_path / "sub" / "policy.toml")
    assert policy.schema.quasi["t"] == ri.Hierarchy.from_nested({"*": ["a", "b"]})


def test_the_wrong_key_and_a_key_inside_the_series(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, tmp_path: Path
) -> None:
    from reissue.tables.identities import make_key

    make_key(tmp_path / "key")
    with pytest.raises(ri.errors.PolicyError, match="never replaced"):
        make_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    hashed = ri.Policy(
        policy.schema, policy.method, series="unprotected", people=ri.Ids("hashed", str(tmp_path / "key"))
    )
    with ri.open(folder, hashed) as series:
        series.publish(patients)
        (tmp_path / "key").rename(tmp_path / "old")
        with pytest.raises(ri.errors.PolicyError, match="cannot be read"):
            series.publish(patients)
        make_key(tmp_path / "key")
        with pytest.raises(ri.errors.PolicyError, match="not the key"):
            series.publish(patients)
        (tmp_path / "key").write_text("nonsense")
        with pytest.raises(ri.errors.PolicyError, match="does not hold a key"):
            series.publish(patients)
    inside = ri.Policy(policy.schema, policy.method, people=ri.Ids("hashed", str(tmp_path / "other" / "key")))
    with ri.open(tmp_path / "other", inside) as series:
        make_key(tmp_path / "other" / "key")
        with pytest.raises(ri.errors.PolicyError, match="inside the series' folder"):
            series.publish(patients)


def test_each_version_of_the_policy_is_parsed_once(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many releases there are: an audit asks for the policy of each of them several times."""
    with ri.open(folder, policy) as series:
        series.publish(patients)
        series.publish(patients, allow=["same-state"], reason="so it is here")
        series.amend(ri.Policy(policy.schema, ri.Mondrian(k=4, l=2), series="unprotected"), "larger groups")
        series.publish(patients, allow=["same-state"], reason="so it is here")
    parsed: list[str] = []
    from_toml = ri.Policy.from_toml
    monkeypatch.setattr(ri.Policy, "from_toml", lambda text: parsed.append(text) or from_toml(text))
    with ri.open(folder) as series:
        for _ in range(2):
            series.audit(attacks=["Worlds"], limit=1)
            series.utility(1)
        assert [series._policy_of(record).method.parameters["k"] for record in series._ledger.releases()] == [3, 3, 4]
    assert len(parsed) == len(set(parsed)) == 2


def files_under(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def invariant(policy: ri.Policy) -> ri.Policy:
    return ri.Policy(policy.schema, ri.MInvariance(m=2))


@pytest.mark.parametrize(
    ("kind", "attribute", "owner"),
    [(ri.MInvariance, "memory_format", "MInvariance"), (ri.guarantees.MInvariant, "state_format", "m-invariance")],
)
def test_what_a_newer_version_remembers_is_refused(
    folder: Path, invariant: ri.Policy, patients: pl.DataFrame, kind: type, attribute: str, owner: str
) -> None:
    with pytest.MonkeyPatch.context() as later, ri.open(folder, invariant) as series:
        later.setattr(kind, attribute, 2)
        series.publish(patients)
        assert series.publish(patients.head(20)).summary["formats"][owner if "state" in attribute else "memory"] == 2
    before = files_under(folder)
    with ri.open(folder) as series:
        for refused in (lambda: series.publish(patients), lambda: series.draft(patients), series.in_the_way):
            with pytest.raises(ri.errors.SeriesError, match=rf"newer version: what {owner} .* format 2") as error:
                refused()
            assert "upgrade reissue" in str(error.value)
        assert series.verify() == []
        assert [release.number for release in series.releases] == [1, 2]
        assert series.audit(attacks=["Worlds"]).judgements
    with pytest.raises(ri.errors.SeriesError, match="newer version"):
        ri.publish(folder, patients)
    assert files_under(folder) == before


def test_what_versions_before_remember_is_read(folder: Path, invariant: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, invariant) as series:
        assert series.publish(patients).summary["formats"] == {"memory": 1, "m-invariance": 1}
    connection = sqlite3.connect(folder / "private" / "catalog.sqlite")
    ((summary,),) = connection.execute("SELECT summary FROM releases")
    kept = {name: value for name, value in json.loads(summary).items() if name != "formats"}
    connection.execute("UPDATE releases SET summary = ?", (json.dumps(kept),))
    for chain in ("DROP TABLE seals", "DROP TABLE links", "DELETE FROM migrations WHERE number > 3"):  # which they lack
        connection.execute(chain)
    connection.commit()
    connection.close()
    with ri.open(folder) as series, pytest.raises(NotContinued, match="has no chain, but had one"):
        series.publish(patients)
    with pytest.MonkeyPatch.context() as later, ri.open(folder) as series:
        later.setenv(STATE, str(folder / "of another user"))
        later.setattr(ri.MInvariance, "memory_format", 2)
        with pytest.warns(ReissueWarning, match="a version that sealed nothing"):
            release = series.publish(patients, allow=["same-state"], reason="so it is here")
        assert release.summary["formats"] == {"memory": 2, "m-invariance": 1}


def test_formats_of_what_is_not_read_do_not_matter(folder: Path, invariant: ri.Policy, patients: pl.DataFrame) -> None:
    """Another method begins anew: what the one before remembers is not given to it."""
    with pytest.MonkeyPatch.context() as later, ri.open(folder, invariant) as series:
        later.setattr(ri.MInvariance, "memory_format", 2)
        later.setattr(ri.guarantees.MInvariant, "state_format", 2)
        series.publish(patients)
    with ri.open(folder) as series:
        series.amend(ri.Policy(invariant.schema, ri.Mondrian(k=3, l=2), series="unprotected"), "another method")
        assert series.publish(patients, allow=["same-state"], reason="so it is here").summary["formats"] == {
            "memory": 1
        }
