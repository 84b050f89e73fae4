"""Publishing in one call, looking before it, and the names of before."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest

import reissue as ri
from reissue.errors import GateClosed, Infeasible, NotASeries, ParameterError, PolicyChanged, TableError


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def strict(policy: ri.Policy) -> ri.Policy:
    """Nobody can be hidden among 100 with four values and 24 patients."""
    return ri.Policy(policy.schema, ri.MInvariance(m=2), gate=ri.Gate(attacks=["Worlds"], limit="1/100"))


def test_one_call_creates_the_series_and_goes_on(
    folder: Path, tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    (tmp_path / "policy.toml").write_text(policy.to_toml())
    first = ri.publish(folder, patients, tmp_path / "policy.toml")
    assert first.number == 1
    second = ri.publish(str(folder), patients.tail(20))
    assert second.number == 2
    assert second.summary["changes"]["gone"] == 4
    # The series is closed, and the tables can be read.
    assert second.tables["table"].height == 20
    assert ri.publish(folder, patients, policy, allow=["same-state"], reason="so it is here").number == 3
    with pytest.raises(PolicyChanged):
        ri.publish(folder, patients, ri.Policy(policy.schema, ri.Mondrian(k=9), series="unprotected"))
    with ri.open(folder) as series:
        assert [release.number for release in series.releases] == [1, 2, 3]


def test_a_first_release_that_fails_makes_nothing(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with pytest.raises(NotASeries):
        ri.publish(folder, patients)
    with pytest.raises(Infeasible):
        ri.publish(folder, patients, ri.Policy(policy.schema, ri.Mondrian(k=300)))
    with pytest.raises(TableError):
        ri.publish(folder, patients.drop("age"), policy)
    with pytest.raises(ParameterError, match="whole number"):
        ri.publish(folder, patients, policy, seed=-1)
    with pytest.raises(ParameterError, match="no gate"):
        ri.publish(folder, patients, policy, override="why not")
    assert not folder.exists()


def test_a_preview_leaves_no_trace(folder: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    made = ri.preview(folder, patients, policy, seed=3)
    assert made.number == 1
    assert not folder.exists()
    release = ri.publish(folder, patients, policy, seed=3)
    assert release.tables["table"].equals(made.tables["table"])
    before = content(folder)
    with ri.open(folder) as series, series.writing():
        # Somebody else is writing: looking does not wait for that.
        assert ri.preview(folder, patients.tail(20)).number == 2
    assert content(folder) == before


def test_a_policy_is_replaced_by_the_first_release_only(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    ri.open(folder, ri.Policy(policy.schema, ri.Mondrian(k=9), series="unprotected")).close()
    assert ri.preview(folder, patients, policy).policy.method.parameters["k"] == 3
    with ri.open(folder) as series:
        assert len(series.policies()) == 1
    ri.publish(folder, patients, policy)
    with ri.open(folder) as series:
        assert [version.version for version in series.policies()] == [1, 2]
        assert series.release(1).manifest["policy_version"] == 2


def test_a_closed_gate_a_report_and_an_override(
    folder: Path, tmp_path: Path, strict: ri.Policy, patients: pl.DataFrame
) -> None:
    for number, call in enumerate((ri.preview, ri.publish)):
        report = tmp_path / f"{number}.html"
        with pytest.raises(GateClosed):
            call(folder, patients, strict, report=report)
        page = report.read_text()
        assert "<html" in page
        assert not any(word in page for word in ("p01", "measles", "asthma"))
    assert not folder.exists()
    assert ri.preview(folder, patients, strict, override="agreed").summary["gate"]["verdict"] == "closed"
    release = ri.publish(folder, patients, strict, override="agreed", report=tmp_path / "third.html")
    assert release.summary["gate"]["override"] == "agreed"
    assert (tmp_path / "third.html").exists()
    with ri.open(folder) as series:
        with pytest.raises(GateClosed):
            series.publish(patients, report=tmp_path / "fourth.html", allow=["same-state"], reason="so it is here")
        assert (tmp_path / "fourth.html").exists()
        with pytest.raises(GateClosed):
            series.draft(patients, report=tmp_path / "fifth.html", allow=["same-state"], reason="so it is here")
        assert (tmp_path / "fifth.html").exists()
        assert (
            series.draft(patients, override="agreed", allow=["same-state"], reason="so it is here").passage is not None
        )
        with pytest.raises(ParameterError, match="not asked"):
            series.draft(patients, gate=False, report=tmp_path / "never.html")
        with pytest.raises(ParameterError, match="empty text"):
            series.draft(patients, override=" ")
    assert not (tmp_path / "never.html").exists()


def test_a_report_needs_a_gate(folder: Path, tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame) -> None:
    for call in (ri.preview, ri.publish):
        with pytest.raises(ParameterError, match="no gate"):
            call(folder, patients, policy, report=tmp_path / "gate.html")
    assert not (tmp_path / "gate.html").exists()


def test_those_extinct_may_stand_in_a_file(folder: Path, tmp_path: Path) -> None:
    people = pl.DataFrame({"id": [f"{n:03}" for n in range(12)], "x": range(12)})
    facts = people.select("id", disease=pl.Series(["HIV", *["flu", "cold"] * 5, "flu"]))
    schema = ri.Schema(person="id", quasi={"x": ri.Numeric()}, sensitive="disease", permanent=["HIV"])
    rules = ri.Policy(schema, ri.HDComposition(2, 2))
    (tmp_path / "gone.csv").write_text("id,when\n011,May\n")
    (tmp_path / "other.csv").write_text("person\n011\n")
    ri.publish(folder, facts, rules, registry=people)
    with pytest.raises(TableError, match="has no column 'id'"):
        ri.preview(folder, facts.head(11), registry=people, extinct=tmp_path / "other.csv")
    from_file = ri.preview(folder, facts.head(11), registry=people, extinct=tmp_path / "gone.csv", seed=1)
    listed = ri.preview(folder, facts.head(11), registry=people, extinct=["011"], seed=1)
    assert from_file.extinct is not None and listed.extinct is not None
    assert from_file.extinct.height == 1
    assert from_file.extinct.equals(listed.extinct)


OLD = {"members": 1, "held_back": 1, "replaced": 1, "name_of": 0, "pseudonym": "p01", "id_from_text": "p01"}


def test_names_of_before_still_work_and_say_the_new_ones(
    folder: Path, tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    from reissue.tables.identities import make_key

    make_key(tmp_path / "key")
    hashed = ri.Policy(
        policy.schema, policy.method, series="unprotected", people=ri.Ids("hashed", key_file=str(tmp_path / "key"))
    )
    with ri.open(folder, hashed) as series:
        series.publish(patients)
        for name, asked in OLD.items():
            with pytest.warns(DeprecationWarning, match=rf"series\.private\.{name}") as caught:
                told = getattr(series, name)(asked)
            assert caught[0].filename == __file__
            again = getattr(series.private, name)(asked)
            assert told.equals(again) if isinstance(told, pl.DataFrame) else told == again
        with (
            pytest.warns(DeprecationWarning, match=r"series\.private\.roles"),
            pytest.raises(ParameterError, match="has no roles"),
        ):
            series.roles(1)
        # What is not private by itself does not warn.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            series.forget("p01")
        assert series.private.members(1)["person"].null_count() == 1
        assert repr(series.private) == f"Private('{folder}')"
