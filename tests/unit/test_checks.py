"""Checks before the commit: each fires on what it is for, is silent on sound tables, and is lifted with a reason."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from real_data import FOLDER, needs

import reissue as ri
from reissue.errors import ChecksFailed, ParameterError, PolicyError, SeriesDamaged
from reissue.model.domain import PERSON
from reissue.publishing.checking.known_states import state_of
from reissue.publishing.checking.outgrown_shares import far_above
from reissue.publishing.checking.telling_columns import people_told
from reissue.publishing.rehearsal import Rehearsal
from reissue.publishing.series import draft
from reissue.samples.hospital import hospital
from reissue.tables.identities import make_key
from reissue.tables.plain_ids import plain_forms

WHY = "it is meant to be so"
SCHEMA = ri.Schema(
    person="patient",
    quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
    sensitive={"diagnosis": ri.Categorical(new="accept")},
)


def policy(method: Any = None, schema: ri.Schema = SCHEMA, **rest: Any) -> ri.Policy:
    return ri.Policy(schema, method or ri.Mondrian(k=5, l=2), series="unprotected", **rest)


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    return list(hospital(4))


@pytest.fixture
def clinic(tmp_path: Path, months: list[pl.DataFrame]) -> Iterator[ri.Series]:
    """A series with the first month."""
    with ri.open(tmp_path / "clinic", policy()) as series:
        series.publish(months[0])
        yield series


def failing(call: Any, *arguments: Any, **options: Any) -> dict[str, str]:
    """The checks that fail, with what they say."""
    with pytest.raises(ChecksFailed) as caught:
        call(*arguments, **options)
    return dict(problem.split(": ", 1) for problem in caught.value.problems)


def renamed(table: pl.DataFrame, *expressions: pl.Expr) -> pl.DataFrame:
    return table.with_columns(*(expression.alias("patient") for expression in expressions))


# Who people are


def test_sound_months_pass(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    for month in months[1:]:
        release = clinic.publish(month)
        assert "checks" not in release.summary
    assert [event.kind for event in clinic._ledger.events()] == ["created"]


def test_ids_written_in_another_way(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    """The field report's case: `P-0421`, then `p0421`: 240 arrived, 240 gone, and nobody asked."""
    small = renamed(months[1], pl.col("patient").str.replace("P-", "p"))
    found = failing(clinic.publish, small)
    assert set(found) == {"ids-return", "ids-alike", "newcomers-leavers"}
    assert found["ids-return"].startswith("of 240 people in the table of release 1, 0 are in this one")
    assert found["ids-alike"].startswith("204 newcomers have ids that somebody else")
    assert found["newcomers-leavers"].startswith("204 of 240 newcomers equal one of 240 leavers")
    assert len(clinic.releases) == 1
    for wording in ("P_0{}", "p{}", "P-{}", "{}-P".replace("{}-P", "P 00{}")):
        one = months[1].with_columns(
            pl.when(pl.int_range(pl.len()) == 0)
            .then(pl.lit(wording.format(months[1]["patient"][0][3:])))
            .otherwise("patient")
            .alias("patient")
        )
        assert set(failing(clinic.draft, one)) == {"ids-alike"}


def test_new_ids_for_everybody(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    other = renamed(months[1], pl.concat_str(pl.lit("new"), pl.col("patient").str.slice(2)))
    assert set(failing(clinic.draft, other)) == {"ids-return", "newcomers-leavers"}


def test_new_ids_for_some(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    """A hundred of 240 people got another id: two in three newcomers look like somebody who left."""
    some = months[1].with_columns(
        pl.when(pl.int_range(pl.len()) < 100)
        .then(pl.concat_str(pl.lit("x"), pl.col("patient").str.slice(2)))
        .otherwise("patient")
        .alias("patient")
    )
    assert failing(clinic.draft, some).keys() == {"newcomers-leavers"}


def test_newcomers_who_are_like_leavers_by_chance(tmp_path: Path) -> None:
    """In a coarse table everybody has many equals; then a newcomer who equals a leaver says nothing."""
    rng = np.random.default_rng(5)
    people = 400

    def month(first: int) -> pl.DataFrame:
        own = np.random.default_rng(1).integers(0, 2, people + 400)
        return pl.DataFrame(
            {
                "patient": [f"p{n}" for n in range(first, first + people)],
                "age": (own[first : first + people] * 40).tolist(),
                "zip": [1] * people,
                "sex": ["female", "male"] * (people // 2),
                "diagnosis": rng.choice(["a", "b", "c", "d"], people).tolist(),
            }
        )

    with ri.open(tmp_path / "s", policy(checks=ri.Checks(few_groups=1))) as series:
        series.publish(month(0))
        series.publish(month(100))


def test_few_people_are_judged_by_counts(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Of a handful it is no wonder that nobody comes back; four are not yet five."""
    tiny = policy(ri.Mondrian(k=2))
    for people in (4, 5):
        with ri.open(tmp_path / f"of {people}", tiny) as series:
            series.publish(months[0].head(people))
            others = renamed(months[0].tail(people), pl.concat_str(pl.lit("x"), "patient"))
            if people < 5:
                series.publish(others)
            else:
                assert set(failing(series.publish, others)) == {"ids-return"}


def test_thresholds_of_the_policy(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Where every month has other people, the policy says so once."""
    lenient = policy(checks=ri.Checks(ids_return=0, ids_alike=300, newcomers_leavers=1, same_state="accept"))
    with ri.open(tmp_path / "s", lenient) as series:
        series.publish(months[0])
        series.publish(renamed(months[1], pl.col("patient").str.replace("P-", "p")))
        series.publish(renamed(months[1], pl.col("patient").str.replace("P-", "p")))
        assert "checks" not in series.releases[-1].summary


def test_ids_alike_within_one_table(months: list[pl.DataFrame]) -> None:
    twice = pl.concat([months[0], months[0].head(2).with_columns(pl.col("patient").str.to_lowercase())])
    assert failing(draft, twice, policy())["ids-alike"].startswith("4 newcomers have ids")


def test_random_codes_of_one_length_are_nobody_elses() -> None:
    """By chance some of 150,000 codes of eight hexadecimal digits are one text when all zeros after letters go."""
    rng = np.random.default_rng(3)
    codes = {f"{number:08x}" for number in rng.integers(0, 1 << 32, 150_000).tolist()}
    assert len({re.sub("(^|[^0-9])0+([0-9])", r"\1\2", code) for code in codes}) < len(codes)
    assert plain_forms(pl.Series(sorted(codes))).n_unique() == len(codes)


def test_whole_numbers_are_written_in_one_way(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    numbers = [renamed(month, pl.col("patient").str.slice(2).cast(pl.Int64)) for month in months]
    with ri.open(tmp_path / "s", policy()) as series:
        for month in numbers:
            series.publish(month)


def test_plain_forms() -> None:
    same = ["P-0421", "p0421", "P_421", " p 000421 ", "Ｐ４２１", "P.04-21".replace("04-21", "0421")]
    assert plain_forms(pl.Series(same)).unique().to_list() == ["p421"]
    assert plain_forms(pl.Series(["P-٠٤٢١", "P४२१", "P421"])).unique().to_list() == ["p421"]  # figures of other scripts
    assert plain_forms(pl.Series(["Straße 1", "STRASSE1", "STRAẞE-01"])).to_list() == [
        "strasse1",
        "strasse1",
        "strasse1",
    ]
    assert plain_forms(pl.Series(["ΟΔΟΣ7", "οδος7"])).n_unique() == 1
    hexadecimal = pl.Series(["a01b0002", "a1b00002", "0a0b0c01", "a0b0c010", "01-12", "11-02"])  # all of one length
    assert plain_forms(hexadecimal).n_unique() == 6
    other = pl.Series(["0", "00", "a0", "a00", "10", "100", "---", "", "é1", "e1", "日本", "日-本", None])
    expected = ["0", "0", "a0", "a0", "10", "100", None, None, "é1", "e1", "日本", "日本", None]
    assert plain_forms(other).to_list() == expected


@pytest.fixture
def hashed(tmp_path: Path) -> ri.Policy:
    make_key(tmp_path / "key")
    return policy(people=ri.Ids("hashed", str(tmp_path / "key")))


def test_hashed_ids_are_compared_too(tmp_path: Path, hashed: ri.Policy, months: list[pl.DataFrame]) -> None:
    small = renamed(months[1], pl.col("patient").str.replace("P-", "p"))
    with ri.open(tmp_path / "s", hashed) as series:
        series.publish(months[0])
        assert set(failing(series.publish, small)) == {"ids-return", "ids-alike", "newcomers-leavers"}
        assert "--show-values" not in str(failing(series.publish, small, show_values=True))
        series.publish(months[1])
        assert series._ledger.plain_ids().null_count() == 0
        # What is left of somebody forgotten is nothing, neither the hash of the id nor of its plain form.
        gone = months[0]["patient"][0]
        number = series.private.members(1)["person"].to_list().index(series.private.pseudonym(gone))
        assert number >= 0
        before = set(series._ledger.plain_ids().to_list())
        series.forget(gone)
        after = series._ledger.plain_ids()
        assert after.null_count() == 1 and series._ledger.ids().null_count() == 1
        (lost,) = before - set(after.drop_nulls().to_list())
        assert not any(lost.encode() in path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
        assert "checks" not in series.publish(months[2]).summary
    assert ri.verify(tmp_path / "s").findings == ()


def test_hashed_ids_of_before_are_not_compared_and_that_is_said(
    tmp_path: Path, hashed: ri.Policy, months: list[pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ri.open(tmp_path / "s", hashed) as series:
        with monkeypatch.context() as older:
            older.setattr("reissue.tables.coding.plain_pseudonyms", lambda ids, key: None)
            series.publish(months[0])
        assert series._ledger.plain_ids().null_count() == 240
        release = series.publish(months[1])
        assert release.summary["checks"]["unchecked"] == [
            "ids-alike was not checked for 240 people of earlier releases: their hashed ids were kept without plain "
            "forms"
        ]
        assert release.summary["checks"]["unchecked"][0] in release.summary["notes"]
        small = renamed(months[2], pl.col("patient").str.replace("P-", "p"))
        known = set(months[1]["patient"]) - set(months[0]["patient"])
        again = len(known & set(months[2]["patient"]))
        assert failing(series.publish, small)["ids-alike"].startswith(f"{again} newcomers have ids")


def test_a_registry_with_other_ids(tmp_path: Path) -> None:
    """Without a registry everybody ever seen goes on being registered; those in the table are compared."""
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"ill": ri.Categorical(new="accept")}, permanent=["hiv"]
    )

    def table(prefix: str) -> pl.DataFrame:
        values = ["hiv", *(f"v{n % 9}" for n in range(1, 60))]
        return pl.DataFrame({"person": [f"{prefix}{n}" for n in range(60)], "age": [*range(60)], "ill": values})

    with ri.open(tmp_path / "s", ri.Policy(schema, ri.HDComposition(l=2), checks=ri.Checks(few_groups=1))) as series:
        series.publish(table("a"))
        assert set(failing(series.draft, table("b"))) >= {"ids-return"}
        assert set(failing(series.draft, table("A"))) >= {"ids-return", "ids-alike"}
        assert set(failing(series.draft, table("a"))) == {"same-state"}


# States


def test_the_same_state_again_however_long_ago(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    shuffled = months[0].sample(fraction=1.0, shuffle=True, seed=3)
    found = failing(clinic.publish, shuffled)
    assert found == {
        "same-state": "nothing in the table differs from that of release 1: the same state would be published once "
        "more; check that it is the right file"
    }
    clinic.publish(months[1])
    assert set(failing(clinic.publish, months[0])) == {"same-state"}, "an older month after a newer one"
    changed = months[0].with_columns(
        pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("flu")).otherwise("diagnosis").alias("diagnosis")
    )
    clinic.publish(changed)


def test_releases_of_before_are_compared_by_their_tables(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    """A release that kept no state, as those of 0.1 did not, is read again if it has as many people."""
    clinic._ledger.close()
    with ri.open(clinic.folder) as series:
        records = series._ledger.releases()
        assert records[0].summary.pop("state")
        series._ledger.releases = lambda: records  # type: ignore[method-assign]
        assert set(failing(series.draft, months[0])) == {"same-state"}
        series.draft(months[1])


def test_states_tell_cells_apart() -> None:
    frame = pl.DataFrame(
        {
            PERSON: pl.Series([3, 1, 2], dtype=pl.UInt32),
            "a": pl.Series(["x", "y", "x"], dtype=pl.Enum(["x", "y"])),
            "b": [1.5, None, 0.0],
            "c": [1, None, 3],
        }
    )
    state = state_of(frame)
    assert state == state_of(frame.reverse())
    assert state == state_of(frame.with_columns(pl.col("a").cast(pl.String).cast(pl.Enum(["w", "y", "x"]))))
    assert state == state_of(frame.with_columns(pl.col("b").replace(0.0, -0.0)))
    others = [
        frame.with_columns(pl.Series("a", ["x", "x", "y"]).cast(pl.Enum(["x", "y"]))),
        frame.with_columns(b=pl.Series([1.5, 2.0, 0.0])),
        frame.with_columns(c=pl.Series([1, 0, 3])),
        frame.rename({"c": "d"}),
        frame.head(2),
    ]
    assert len({state, *map(state_of, others)}) == 6


# Columns and values


def test_a_column_that_tells_the_sensitive_one(months: list[pl.DataFrame]) -> None:
    wards = {name: f"ward {place // 3}" for place, name in enumerate(sorted(months[0]["diagnosis"].unique()))}
    schema = replace_schema(quasi={**SCHEMA.quasi, "ward": ri.Categorical()})
    coarse = months[0].with_columns(ward=pl.col("diagnosis").replace(wards))
    draft(coarse, policy(schema=schema))  # three diagnoses in each ward
    fine = months[0].with_columns(ward=pl.col("diagnosis").replace({**wards, "influenza": "fever", "asthma": "lungs"}))
    found = failing(draft, fine, policy(schema=schema))
    people = int(months[0]["diagnosis"].is_in(["influenza", "asthma"]).sum())
    assert found["telling-column"].startswith(f"'ward' tells 'diagnosis' of {people} of 240 people nearly for certain")
    as_is = replace_schema(as_is={"ward": ri.Categorical()})
    assert "telling-column" in failing(draft, fine, policy(ri.Mondrian(k=2), schema=as_is))
    draft(fine, policy(schema=schema, checks=ri.Checks(telling_column=1)))


def test_numbers_that_tell(months: list[pl.DataFrame]) -> None:
    """A bill in cents that follows from the diagnosis: hardly two are equal, but ranges of it are pure."""
    many = pl.concat(list(hospital(1, patients=3000)))
    place = {name: at for at, name in enumerate(sorted(many["diagnosis"].unique()))}
    noise = np.random.default_rng(1).integers(0, 90_000, many.height)
    bill = many.with_columns(bill=many["diagnosis"].replace_strict(place, return_dtype=pl.Int64) * 100_000 + noise)
    schema = replace_schema(quasi={**SCHEMA.quasi, "bill": ri.Numeric()})
    assert "telling-column" in failing(draft, bill, policy(schema=schema))
    unrelated = many.with_columns(bill=pl.Series(noise))
    draft(unrelated, policy(schema=schema))


def replace_schema(**parts: Any) -> ri.Schema:
    given = {"quasi": dict(SCHEMA.quasi), "sensitive": dict(SCHEMA.sensitive_columns), **parts}
    return ri.Schema(person="patient", **given)


@pytest.mark.parametrize("seed", range(5))
def test_chance_tells_nothing(seed: int) -> None:
    """20,000 categories, rare and frequent values, small and large tables: nothing is told by columns at random."""
    rng = np.random.default_rng(seed)
    for people in (12, 50, 1000, 30_000):
        for categories in (2, 10, 300, 20_000):
            cells = rng.integers(0, categories, people)
            for shares in ([0.5, 0.5], [0.9, 0.1], [0.97, 0.02, 0.01], np.full(200, 1 / 200)):
                values = rng.choice(len(shares), people, p=shares)
                assert people_told(cells, values) <= 0.01 * people


def test_what_is_told_by_hand() -> None:
    """Half of 160 people have value 1. Of a cell that tells, at most an eighth has another value."""
    cells = np.repeat([0, 1, 2], [40, 40, 80])
    values = np.concatenate([[1] * 38 + [0] * 2, [1] * 34 + [0] * 6, [1] * 8 + [0] * 72])
    # 38 of 40 have value 1, and 72 of 80 value 0, which is nine in ten; 34 of 40 are fewer.
    assert people_told(cells, values) == 38 + 72
    # 19 heads in a row come once in 524,288 times, 20 once in 1,048,576.
    assert people_told(np.repeat([0, 1], 19), np.repeat([0, 1], 19)) == 0
    assert people_told(np.repeat([0, 1], 20), np.repeat([0, 1], 20)) == 40
    assert people_told(np.repeat([0, 1], 9), np.repeat([0, 1], 9)) == 0, "fewer than ten are nothing"
    assert people_told(np.zeros(50, dtype=np.int64), np.zeros(50, dtype=np.int64)) == 0, "there is nothing to tell"


def test_several_sensitive_columns(months: list[pl.DataFrame]) -> None:
    schema = ri.Schema(
        person="patient",
        quasi={"age": ri.Numeric(), "zip": ri.Numeric(), "sex": ri.Categorical()},
        sensitive={"diagnosis": ri.Categorical(), "drug": ri.Categorical()},
        limits={"drug": "9/10"},
    )
    follows = months[0].with_columns(drug=pl.when(pl.col("sex") == "male").then(pl.lit("x")).otherwise(pl.lit("y")))
    found = failing(draft, follows, ri.Policy(schema, ri.Mondrian(k=5, l=2)))
    assert found["telling-column"].startswith("'sex' tells 'drug' of 240 of 240 people")


def test_values_that_occur_nowhere(months: list[pl.DataFrame]) -> None:
    """Named in the policy and misspelt, a value would have been protected in words only."""
    schema = replace_schema(permanent=["Hiv "])
    alternatives = ri.Alternatives(m=2, change=0.1, harmless=["influensa", "plague"])
    found = failing(draft, months[0], ri.Policy(schema, alternatives))
    said = (
        "3 values that the policy names have occurred in no table so far (1 permanent, 2 harmless); 2 are spelt nearly"
    )
    assert found["unused-value"].startswith(said)
    assert "nfluen" not in str(found) and "plague" not in str(found)
    shown = failing(draft, months[0], ri.Policy(schema, alternatives), show_values=True)["unused-value"]
    assert "'influensa' (near: 'influenza')" in shown and "'Hiv ' (near: 'HIV')" in shown and "'plague'" in shown
    protect = ri.Mondrian(k=5, constraints=[ri.guarantees.ShareDiverse(2, [["cancre", "HIV"]])])
    assert failing(draft, months[0], policy(protect))["unused-value"].startswith("1 value that the policy")
    draft(months[0], policy(protect, checks=ri.Checks(unused_value=1)))


def test_a_value_that_occurred_once_has_occurred(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    protect = ri.Mondrian(k=5, constraints=[ri.guarantees.ShareDiverse(2, [["HIV"]])])
    with ri.open(tmp_path / "s", policy(protect)) as series:
        series.publish(months[0])
        for month in months[1:3]:
            series.publish(month.filter(pl.col("diagnosis") != "HIV"))


# What it costs


def changing(table: pl.DataFrame, share: float, seed: int = 1) -> pl.DataFrame:
    """The same people, a share of whom has another diagnosis."""
    rng = np.random.default_rng(seed)
    other = table["diagnosis"].shuffle(seed)
    return table.with_columns(
        pl.when(pl.Series(rng.random(table.height) < share)).then(other).otherwise("diagnosis").alias("diagnosis")
    )


def test_many_withheld_are_refused(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """The field report's case in small: people whose value changed vanish from an m-invariant release."""
    with ri.open(tmp_path / "s", policy(ri.MInvariance(m=3))) as series:
        series.publish(months[0])
        found = failing(series.publish, changing(months[0], 0.5))
        assert "withheld" in found and "of 240 people" in found["withheld"]
        series.publish(changing(months[0], 0.02))
    lenient = policy(ri.MInvariance(m=3), checks=ri.Checks(withheld=1, counterfeit=1))
    with ri.open(tmp_path / "t", lenient) as series:
        series.publish(months[0])
        assert series.publish(changing(months[0], 0.5)).summary["held_back"]


def test_a_few_withheld_of_few_people(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    """Four of twenty are a fifth, and four people."""
    table = (
        months[0]
        .head(20)
        .with_columns(diagnosis=pl.Series(["a", "b"] * 10), age=pl.Series(range(20)), zip=pl.lit(1), sex=pl.lit("male"))
    )
    for number, fails in ((4, False), (6, True)):
        with ri.open(tmp_path / f"{number}", policy(ri.MInvariance(m=2), checks=ri.Checks(counterfeit=1))) as series:
            series.publish(table)
            new = ["c" if at < number else value for at, value in enumerate(table["diagnosis"])]
            later = table.with_columns(diagnosis=pl.Series(new))
            if fails:
                assert failing(series.publish, later)["withheld"].startswith(
                    f"{number} of 20 people (30%) are withheld"
                )
            else:
                assert sum(held["people"] for held in series.publish(later).summary["held_back"].values()) == number


def test_many_counterfeits_and_replaced_values(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {
            "patient": [f"p{n}" for n in range(60)],
            "age": [*range(60)],
            "zip": [1] * 60,
            "sex": ["male"] * 60,
            "diagnosis": [f"v{n % 3}" for n in range(60)],
        }
    )
    with ri.open(tmp_path / "s", policy(ri.MInvariance(m=3))) as series:
        series.publish(rows)
        fewer = rows.filter((pl.col("diagnosis") != "v2") | (pl.int_range(pl.len()) > 45))
        assert "counterfeit" in failing(series.publish, fewer)
    protect, schema = ri.Mask(k=2, l=2), replace_schema(protect=[["v0"]])
    crowded = rows.with_columns(diagnosis=pl.Series(["v0"] * 28 + ["v1"] * 32))
    masked = Rehearsal(policy(protect, schema)).publish(crowded, seed=1)
    assert masked.summary["replaced"] >= 5
    assert "replaced" in failing(draft, crowded, policy(protect, schema), seed=1)


def test_too_few_groups(months: list[pl.DataFrame]) -> None:
    """Of HDComposition on real patients the field report had 2 groups, ages 0 to 108: a count of values."""
    assert failing(draft, months[0], policy(ri.Mondrian(k=100)))["few-groups"].startswith(
        "240 people are published in 2 groups"
    )
    draft(months[0], policy(ri.Mondrian(k=20)))
    draft(months[0].head(99), policy(ri.Mondrian(k=99)))
    draft(months[0], policy(ri.Mondrian(k=100), checks=ri.Checks(few_groups=1)))


# What lifts them


def test_allowed_with_a_reason_and_kept(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    release = clinic.publish(months[0], allow=["same-state", "withheld"], reason=f" {WHY} ")
    said = release.summary["checks"]
    assert set(said["allowed"]) == {"same-state"} and said["reason"] == WHY
    assert "'withheld' was allowed, and did not fail" in release.summary["notes"]
    events = [(event.kind, event.detail) for event in clinic._ledger.events()]
    assert events[-1] == ("allowed", "same-state in release 2")
    assert clinic.verify() == []
    assert WHY not in json.dumps(release.manifest)


def test_what_is_allowed_must_be_said_why(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    for reason in (None, "", "  "):
        with pytest.raises(ParameterError, match="needs a 'reason'"):
            clinic.publish(months[0], allow=["same-state"], reason=reason)
    with pytest.raises(ParameterError, match="nothing that it is the reason for"):
        clinic.publish(months[1], reason=WHY)
    with pytest.raises(ParameterError) as caught:
        clinic.publish(months[0], allow=["same_state", "anything"], reason=WHY)
    assert caught.value.problems == ("'same_state'; did you mean 'same-state'?", "'anything'")
    assert caught.value.hint is not None and "ids-return" in caught.value.hint
    with pytest.raises(ParameterError, match="list of names"):
        clinic.publish(months[0], allow=[3], reason=WHY)  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="must be text"):
        clinic.publish(months[0], allow="same-state", reason=3)  # type: ignore[arg-type]
    clinic.publish(months[0], allow="same-state", reason=WHY)


def test_all_that_fails_is_told_at_once(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    with ri.open(tmp_path / "s", policy(ri.MInvariance(m=3))) as series:
        series.publish(months[0])
        with pytest.raises(ChecksFailed) as caught:
            series.publish(renamed(months[0], pl.col("patient").str.to_lowercase()))
        assert caught.value.hint is not None
        for name in ("ids-return", "ids-alike", "newcomers-leavers"):
            assert f"--allow {name}" in caught.value.hint
        assert "looked at after that" in caught.value.hint
        # What was allowed already stays in the list, so that it can be copied.
        with pytest.raises(ChecksFailed) as caught:
            series.publish(changing(months[0], 0.6), allow=["counterfeit"], reason=WHY)
        assert [problem.split(":")[0] for problem in caught.value.problems] == ["withheld"]


def test_previews_and_first_drafts_are_checked(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    strict = policy(ri.Mondrian(k=100))
    assert set(failing(ri.preview, tmp_path / "s", months[0], strict)) == {"few-groups"}
    assert set(failing(ri.publish, tmp_path / "s", months[0], strict)) == {"few-groups"}
    assert not (tmp_path / "s").exists()
    assert ri.preview(tmp_path / "s", months[0], strict, allow=["few-groups"], reason=WHY).summary["checks"]
    assert ri.publish(tmp_path / "s", months[0], strict, allow=["few-groups"], reason=WHY).number == 1
    assert set(failing(ri.preview, tmp_path / "s", months[0])) == {"same-state"}


def test_a_draft_in_hands_goes_round_no_check(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    """Neither one that was never checked, nor one that borrows what was said about another."""
    sound = clinic.draft(months[1])
    again = clinic.draft(months[0], allow=["same-state"], reason=WHY)
    unchecked = replace(sound, judged=replace(sound.judged, looked=None))
    with pytest.raises(ChecksFailed, match="not asked about this draft"):
        clinic.commit(unchecked)
    borrowed = replace(again, judged=replace(again.judged, looked=sound.judged.looked))
    with pytest.raises(ChecksFailed, match="not the one that the checks were asked about"):
        clinic.commit(borrowed)
    looked = again.judged.looked
    assert looked is not None
    for other in (replace(looked, failed=(), reason=None), replace(looked, reason="other"), replace(looked, state="")):
        with pytest.raises(ChecksFailed, match="what they said is changed"):
            clinic.commit(replace(again, judged=replace(again.judged, looked=other)))
    for moved in ({"period": "2020"}, {"corrects": 1}, {"latest": "2020"}):
        with pytest.raises(ChecksFailed, match="not the one"):
            clinic.commit(replace(again, continues=replace(again.continues, **moved)))
    assert len(clinic.releases) == 1
    release = clinic.commit(again)
    assert release.summary["checks"]["reason"] == WHY
    assert clinic._ledger.events()[-1].kind == "allowed"


def test_a_preview_is_committed_as_it_is(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    made = ri.preview(tmp_path / "s", months[0], policy(), period="2026-01")
    with ri.open(tmp_path / "s", policy()) as series:
        assert series.commit(made).period == "2026-01"


def test_rehearsals_are_not_stopped(months: list[pl.DataFrame]) -> None:
    rehearsal = Rehearsal(policy(ri.Mondrian(k=100)))
    for _ in range(2):
        rehearsal.publish(months[0])
    with pytest.raises(ChecksFailed, match="not asked"):
        commit_rehearsed(rehearsal, months[0])


def commit_rehearsed(rehearsal: Rehearsal, table: pl.DataFrame) -> None:
    import tempfile

    first = Rehearsal(rehearsal.policy).publish(table).handed_out()
    with tempfile.TemporaryDirectory() as folder, ri.open(Path(folder) / "s", rehearsal.policy) as series:
        series.commit(first)


# Public files


def test_public_files_that_are_gone_or_changed(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    clinic.publish(months[1])
    first = clinic.folder / "public" / "0001"
    (first / "notes.txt").write_text("of somebody who looked at it")
    clinic.draft(months[2])  # which changes nothing that was published
    (first / "notes.txt").unlink()
    kept = (first / "table.parquet").read_bytes()
    (first / "table.parquet").write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    for call in (clinic.draft, clinic.publish):
        with pytest.raises(SeriesDamaged, match="not as they were committed") as caught:
            call(months[2])
        assert caught.value.hint is not None and "--allow public-files" in caught.value.hint
    shutil.rmtree(first)
    for call in (clinic.draft, clinic.publish):
        with pytest.raises(SeriesDamaged, match="missing"):
            call(months[2])
    draft = clinic.draft(months[2], allow=["public-files"], reason=WHY)
    release = clinic.commit(draft)
    assert release.number == 3 and (clinic.folder / "public" / "0003" / "table.parquet").is_file()
    assert release.summary["checks"]["allowed"] == {
        "public-files": "public/0001: the release was committed, but its folder is missing"
    }
    with pytest.raises(SeriesDamaged):  # it was allowed once
        clinic.publish(months[3])
    clinic.publish(months[3], allow=["public-files"], reason=WHY)
    assert [str(one) for one in clinic.verify()] == [
        "public/0001: the release was committed, but its folder is missing"
    ]
    assert [event.detail for event in clinic._ledger.events()][1:] == [
        "public-files in release 3", "public-files in release 4"
    ]  # fmt: skip


def test_all_public_files_are_gone(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    shutil.rmtree(clinic.folder / "public")
    with pytest.raises(SeriesDamaged):
        clinic.publish(months[1])
    assert clinic.publish(months[1], allow=["public-files"], reason=WHY).number == 2


def test_other_damage_is_not_lifted(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    """A release that the catalog does not know, and a record of another series."""
    shutil.copytree(clinic.folder / "public" / "0001", clinic.folder / "public" / "0002")
    with pytest.raises(SeriesDamaged, match="does not know"):
        clinic.publish(months[1], allow=["public-files"], reason=WHY)
    shutil.rmtree(clinic.folder / "public" / "0002")
    record = clinic.folder / "public" / "0001" / "release.json"
    record.write_text(record.read_text().replace("Mondrian", "Mondriaan"))
    with pytest.raises(SeriesDamaged, match="not the record of release 1"):
        clinic.publish(months[1], allow=["public-files"], reason=WHY)


# In the policy


def test_thresholds_are_part_of_the_policy(tmp_path: Path, months: list[pl.DataFrame]) -> None:
    own = policy(checks=ri.Checks(withheld=0.3, ids_alike=2, same_state="accept"))
    assert ri.Policy.from_toml(own.to_toml()) == own
    assert policy().differences(own) == ["checks.ids_alike", "checks.same_state", "checks.withheld"]
    written = policy().to_toml()
    assert "[checks]" in written
    without = written[: written.index("[checks]")]
    assert ri.Policy.from_toml(without) == policy(), "a policy of before has the thresholds of now"
    with ri.open(tmp_path / "s", policy()) as series:
        series.publish(months[0])
        series.amend(own, "we publish every month, changed or not")
        series.publish(months[0])


def test_wrong_thresholds_are_told() -> None:
    with pytest.raises(ParameterError) as caught:
        ri.Checks(withheld=2, ids_alike=-1, few=0, same_state="perhaps")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 4
    with pytest.raises(PolicyError) as wrong:
        ri.Policy.from_toml(policy().to_toml().replace("ids_return", "ids_retrun"))
    assert "[checks] has no entry 'ids_retrun'; did you mean 'ids_return'?" in str(wrong.value)
    with pytest.raises(PolicyError, match="contradicts") as wrong:
        policy(checks={"withheld": 1})
    assert "'checks' must be checks" in str(wrong.value)


# No values


def test_refusals_name_no_ids_and_no_values(clinic: ri.Series, months: list[pl.DataFrame]) -> None:
    planted = months[1].with_columns(
        patient=pl.concat_str(pl.lit("p-00"), pl.col("patient").str.slice(2)),
        diagnosis=pl.concat_str(pl.lit("CANARY-"), "diagnosis"),
    )
    with pytest.raises(ChecksFailed) as caught:
        clinic.publish(planted)
    said = str(caught.value) + repr(caught.value) + repr(vars(caught.value))
    assert "CANARY" not in said and "p-00" not in said and "0421" not in said
    with pytest.raises(ChecksFailed) as caught:
        clinic.publish(planted, show_values=True)
    assert "'p-00" in str(caught.value)
    allow = ["ids-return", "ids-alike", "newcomers-leavers"]
    release = clinic.publish(planted.drop("diagnosis").with_columns(months[1]["diagnosis"]), allow=allow, reason=WHY,
                             show_values=True)  # fmt: skip
    assert "p-00" not in json.dumps(release.summary)


# Real tables


def test_a_quarter_of_stays_in_small(tmp_path: Path) -> None:
    """What CMS's stays did: half of those who come back have another reason, and m-invariance withholds them."""
    rng = np.random.default_rng(4)

    def quarter() -> pl.DataFrame:
        return pl.DataFrame(
            {
                "patient": [f"p{n}" for n in range(1000)],
                "age": np.arange(1000) % 60,
                "zip": np.arange(1000) % 50,
                "sex": ["female", "male"] * 500,
                "diagnosis": [f"v{n}" for n in rng.integers(0, 40, 1000)],
            }
        )

    with ri.open(tmp_path / "s", policy(ri.MInvariance(m=5))) as series:
        series.publish(quarter())
        assert "withheld" in failing(series.publish, quarter())


@needs("panels/nlswork.parquet", stand_in="test_a_quarter_of_stays_in_small")
def test_waves_of_a_panel_that_withhold_nearly_everybody(tmp_path: Path) -> None:
    """nlswork, where 1,694 of 1,981 were withheld, unasked."""
    waves = pl.read_parquet(FOLDER / "panels" / "nlswork.parquet").filter(pl.col("occ_code").is_not_null())
    schema = ri.Schema(
        person="idcode",
        quasi={"age": ri.Numeric(missing="value"), "race": ri.Categorical()},
        sensitive={"occ_code": ri.Categorical(new="accept")},
    )
    years = [waves.filter(pl.col("year") == year).select(*schema.roles) for year in (87, 88)]
    years = [year.with_columns(pl.col("occ_code", "race").cast(pl.String)) for year in years]
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.MInvariance(m=2))) as series:
        series.publish(years[0], allow=["withheld", "counterfeit"], reason=WHY)
        assert "withheld" in failing(series.publish, years[1])


@needs("cms_desynpuf", stand_in="test_a_quarter_of_stays_in_small")
def test_quarters_of_cms_stays(tmp_path: Path) -> None:
    stays = pl.read_parquet(FOLDER / "cms_desynpuf" / "inpatient_2008_2010.parquet")
    people = pl.read_parquet(FOLDER / "cms_desynpuf" / "beneficiary_2008_2010.parquet").unique("person")
    joined = stays.join(people, on="person").with_columns(day=pl.col("CLM_ADMSN_DT").cast(pl.String).str.slice(0, 7))
    joined = joined.with_columns(pl.col("CLM_DRG_CD").cast(pl.String).str.slice(0, 1).fill_null("?").alias("drg"))
    joined = joined.with_columns(pl.col("BENE_SEX_IDENT_CD", "SP_STATE_CODE").cast(pl.String))
    states = [
        joined.filter(pl.col("day").str.slice(0, 4) == year)
        .unique("person", keep="first", maintain_order=True)
        .select("person", "BENE_SEX_IDENT_CD", "SP_STATE_CODE", "drg")
        for year in ("2008", "2009")
    ]
    states = [table if table.height else joined.select("person", "BENE_SEX_IDENT_CD", "SP_STATE_CODE", "drg")
              for table in states]  # fmt: skip
    schema = ri.Schema(
        person="person",
        quasi={"BENE_SEX_IDENT_CD": ri.Categorical(), "SP_STATE_CODE": ri.Categorical(new="accept")},
        sensitive={"drg": ri.Categorical(new="accept")},
    )
    both = sorted(set(states[0]["person"]) & set(states[1]["person"]))
    states = [table.filter(pl.col("person").is_in(both)).sort("person") for table in states]
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.MInvariance(m=5))) as series:
        series.publish(states[0], allow=["withheld", "counterfeit"], reason=WHY)
        assert "withheld" in failing(series.publish, states[1])


def test_sets_from_which_nothing_can_be_estimated() -> None:
    """A value whose limit is its share is in every set, and then no count can be told from the sets."""
    rng = np.random.default_rng(8)
    shares = {"a": 0.5, "b": 0.2, "c": 0.1, "d": 0.1, "e": 0.1}
    ward = rng.choice(list(shares), 3_000, p=list(shares.values()))
    table = pl.DataFrame({"id": range(3_000), "age": rng.integers(20, 80, 3_000), "ward": ward})
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive="ward")
    tight = ri.Alternatives(m=4, limits={"a": "1/2", "b": "1/2"}, reference=shares)
    assert failing(draft, table, policy(tight, schema)).keys() == {"unanswerable"}
    draft(table, policy(tight, schema, checks=ri.Checks(unanswerable="accept")))
    draft(table, policy(ri.Alternatives(m=4, limit="3/4", reference=shares), schema))


def test_values_that_outgrew_their_shares(tmp_path: Path) -> None:
    """A value three times as frequent as at first: by hand what whoever knows it gives everybody's set."""
    rng = np.random.default_rng(9)
    labels = list("abcdefgh")
    shares = dict.fromkeys(labels, 0.125)

    def table(often: float, first: int) -> pl.DataFrame:
        chances = [often, *[(1 - often) / 7] * 7]
        return pl.DataFrame(
            {
                "id": range(first, first + 2_000),
                "age": rng.integers(20, 80, 2_000),
                "ill": rng.choice(labels, 2_000, p=chances),
            }
        )

    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive="ill")
    rules = ri.Policy(schema, ri.Alternatives(m=4, reference=shares), checks=ri.Checks(ids_return=0))
    with ri.open(tmp_path / "s", rules) as series:
        series.publish(table(0.125, 0))
        later = table(0.45, 5_000)
        said = failing(series.draft, later)
        assert said.keys() == {"outgrown-shares"}
        counts = dict(later["ill"].value_counts().iter_rows())
        made = series.draft(later, allow=["outgrown-shares"], reason=WHY)
        beyond, highest = 0, 0.0
        for shown in made.tables["table"]["ill"].to_list():
            weights = {value: counts[value] / (2_000 * shares[value]) for value in shown}
            top = max(weights.values()) / sum(weights.values())
            beyond += top > 1.5 / 4
            highest = max(highest, top if top > 1.5 / 4 else 0.0)
        assert far_above(made.grouping.sets) == (beyond, pytest.approx(highest))
        told = series.audit(draft=made).notes[0]
        assert told.startswith("Release 2 was allowed although values are no longer as frequent")
        series.publish(table(0.14, 9_000))  # as chance has it
        assert not any("allowed although" in note for note in series.audit().notes)
        series.publish(later.with_columns(pl.col("id") + 20_000), allow=["outgrown-shares"], reason=WHY)
        assert "Release 3 was allowed although" in series.audit().text()


def test_values_that_outgrew_the_shares_of_a_cell(tmp_path: Path) -> None:
    """Only among women is a value four times as frequent: whoever knows it is above the limit for women, by hand."""
    labels = list("abcdefgh")

    def table(often: int, first: int) -> pl.DataFrame:
        women = ["a"] * often + labels[1:] * ((3_500 - often) // 7)  # all others equally often
        men = labels * 375
        ids, sexes = range(first, first + len(women) + len(men)), ["f"] * len(women) + ["m"] * len(men)
        return pl.DataFrame({"id": ids, "age": [number % 40 for number in ids], "sex": sexes, "ill": women + men})

    schema = ri.Schema("id", {"age": ri.Numeric(), "sex": ri.Categorical()}, {"ill": ri.Categorical()})
    rules = ri.Policy(schema, ri.Alternatives(m=4, given=["sex"], epsilon=1.0), checks=ri.Checks(ids_return=0))
    with ri.open(tmp_path / "s", rules) as series:
        series.publish(table(434, 0))  # nearly one in eight
        series.draft(table(490, 10_000))  # as chance may have it
        later = table(1_750, 20_000)
        assert failing(series.draft, later).keys() == {"outgrown-shares"}
        made = series.draft(later, allow=["outgrown-shares"], reason=WHY)
        counts = dict(later.filter(sex="f")["ill"].value_counts().iter_rows())
        whole = sum(counts.values())
        design = made.tables["design"].filter(sex="f", version=1)
        weight = {value: counts.get(value, 0) / (whole * share) for value, share in design["ill", "share"].iter_rows()}
        weight["(other values)"] = 1.0
        beyond, highest = 0, 0.0
        for shown in made.tables["table"].filter(sex="f")["ill"].to_list():
            top = max(weight[value] for value in shown) / sum(weight[value] for value in shown)
            beyond += top > 1.5 / 4
            highest = max(highest, top)
        assert far_above(made.grouping.sets) == (beyond, pytest.approx(highest))


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_values_that_outgrew_their_shares")
def test_a_source_of_infection_that_outgrew_its_share(tmp_path: Path) -> None:
    table = pl.read_parquet(FOLDER / "covid_linelists/toronto_releases.parquet")
    table = table.select(
        "release", "Assigned_ID", *(pl.col(name).cast(pl.String) for name in ("Age Group", "Source of Infection"))
    )
    columns = {"Age Group": ri.Categorical(missing="value", new="accept")}
    schema = ri.Schema("Assigned_ID", columns, {"Source of Infection": ri.Categorical(new="accept")})
    rules = ri.Policy(schema, ri.Alternatives(m=4, limit="2/4", change=0.01, epsilon=1.0))
    with ri.open(tmp_path / "s", rules) as series:
        states = [one.drop("release") for _, one in sorted(table.group_by("release"), key=lambda one: str(one[0][0]))]
        series.publish(states[0])
        series.publish(states[1])
        assert "outgrown-shares" in failing(series.publish, states[2])
