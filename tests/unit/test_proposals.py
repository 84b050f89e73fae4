"""Proposed policies: every column judged, nothing sensitive lost in silence, and the policy takes its table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from real_data import FOLDER, needs

import reissue as ri
from reissue.errors import ChecksFailed
from reissue.publishing.proposals.cell_patterns import code_pattern, text_dates
from reissue.publishing.proposals.choosing_method import several_sets, single_sets
from reissue.publishing.proposals.column_names import SENSITIVE, meaning_of
from reissue.publishing.proposals.proposal import Proposal, propose
from reissue.publishing.proposals.proposal_questions import Question
from reissue.publishing.proposals.seen_changes import changes_in
from reissue.publishing.series import draft
from reissue.samples.census import census
from reissue.samples.hospital import hospital

DIAGNOSES = ("asthma", "diabetes", "fracture", "heart failure", "pneumonia", "migraine", "gout", "stroke")


def roles(found: Proposal) -> dict[str, str]:
    return {guess.column: guess.role for guess in found.guesses}


def policy_of(found: Proposal, folder: Path) -> ri.Policy:
    """The policy as it would be read from where it was written."""
    for name, text in found.files.items():
        (folder / name).write_text(text)
    (folder / "policy.toml").write_text(found.text)
    return ri.Policy.read(folder / "policy.toml")


def clinic(rows: int = 6_000, seed: int = 1) -> pl.DataFrame:
    """Patients with six clinical columns, two that an outsider may know, and what tells people apart."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "patient_nbr": rng.permutation(rows) + 10_000,
            "gender": rng.choice(["F", "M"], rows),
            "age": rng.integers(18, 95, rows),
            "diag_1": rng.choice(DIAGNOSES, rows),
            "diag_2": rng.choice([f"{n}.{n % 7}" for n in range(250, 700)], rows),
            "A1Cresult": rng.choice(["None", "Norm", ">7", ">8"], rows, p=[0.7, 0.1, 0.1, 0.1]),
            "insulin": rng.choice(["No", "Steady", "Up", "Down"], rows, p=[0.5, 0.3, 0.1, 0.1]),
            "metformin": rng.choice(["No", "Steady", "Up", "Down"], rows, p=[0.8, 0.18, 0.01, 0.01]),
            "readmitted": rng.choice(["NO", "<30", ">30"], rows, p=[0.55, 0.1, 0.35]),
        }
    )


def test_a_hospital_is_guessed_right(tmp_path: Path) -> None:
    table = next(iter(hospital(1))).with_columns(pl.int_range(pl.len()).cast(pl.String).alias("full name"))
    found = propose([table])
    assert roles(found) == {
        "patient": "person", "age": "quasi", "zip": "quasi", "sex": "quasi", "diagnosis": "sensitive",
        "full name": "drop",
    }  # fmt: skip
    assert all(guess.why for guess in found.guesses)
    assert {guess.confidence for guess in found.guesses} <= {"high", "medium", "low"}
    policy = policy_of(found, tmp_path)
    assert isinstance(policy.method, ri.MInvariance)  # 240 people are too few for shares with noise
    assert policy.method.m == 4
    assert "too small" in found.text


def test_the_proposal_is_a_policy_for_its_table(tmp_path: Path) -> None:
    table = census(500, seed=1).with_columns(
        pl.when(pl.col("person") % 9 == 0).then(None).otherwise("age").alias("age"),
        pl.Series('odd "name', ["x", "y"] * 250),
    )
    found = propose([table])
    policy = policy_of(found, tmp_path)
    assert set(policy.schema.roles) == set(table.columns)
    assert draft(table, policy).tables["table"].height == 500 == found.rows
    guessed = [line for line in found.text.splitlines() if "GUESS" in line]
    assert len(guessed) >= table.width


def test_what_looks_clinical_never_becomes_a_quasi_identifier(tmp_path: Path) -> None:
    """The patients of 130 hospitals in small: several columns are published, the others are named, loudly."""
    table = clinic()
    found = propose([table])
    named = roles(found)
    clinical = {"diag_1", "diag_2", "A1Cresult", "insulin", "metformin", "readmitted"}
    assert {name for name, role in named.items() if role == "quasi"} == {"gender", "age"}
    policy = policy_of(found, tmp_path)
    assert policy.schema.several
    assert isinstance(policy.method, ri.Alternatives)
    assert set(policy.schema.sensitive_columns) <= clinical
    assert "diag_1" in policy.schema.sensitive_columns
    assert {guess.column for guess in found.lost} == clinical - set(policy.schema.sensitive_columns)
    for name in (guess.column for guess in found.lost):
        assert re.search(rf'"{name}",  # NOT PUBLISHED: ', found.text)
    assert draft(table, policy, seed=1).tables["table"].height == table.height


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_what_looks_clinical_never_becomes_a_quasi_identifier")
def test_diabetes_patients(tmp_path: Path) -> None:
    found = propose([FOLDER / "diabetes130" / "diabetic_data.csv.gz"])
    assert {name for name, role in roles(found).items() if role == "quasi"} == {"race", "gender", "age"}
    policy = policy_of(found, tmp_path)
    assert policy.schema.person == "patient_nbr"
    assert policy.schema.events == ri.Events("encounter_id", "last")
    # Beside discharge_disposition_id there would be 1,320 records, of which nothing can be estimated.
    assert [*policy.schema.sensitive_columns] == ["diag_1"]
    lost = {guess.column for guess in found.lost}
    assert {"diag_2", "A1Cresult", "insulin", "metformin", "examide"} <= lost


@needs("panels", stand_in="test_events_are_seen_and_ordered")
@pytest.mark.parametrize(
    ("file", "person", "order", "sensitive"),
    [
        ("cms_desynpuf/inpatient_2008_2010.parquet", "person", "CLM_ADMSN_DT", "CLM_DRG_CD"),
        ("panels/nlswork.parquet", "idcode", "year", "ln_wage"),
        ("covid_linelists/toronto_releases.parquet", "Assigned_ID", "release", "Source of Infection"),
        ("synthea/ca1000_conditions.parquet", "PATIENT", "START", "DESCRIPTION"),
    ],
)
def test_real_events(tmp_path: Path, file: str, person: str, order: str, sensitive: str) -> None:
    table = pl.read_parquet(FOLDER / file)
    found = propose([table])
    policy = policy_of(found, tmp_path)
    assert policy.schema.person == person
    assert policy.schema.events == ri.Events(order, "last")
    assert sensitive in policy.schema.sensitive_columns
    assert found.rows == table[person].n_unique()


@pytest.mark.parametrize("name", ["row", "index", "encounter_id", "nr"])
def test_a_number_of_rows_or_events_is_the_person_for_want_of_another(name: str) -> None:
    found = propose([clinic(1_000).rename({"patient_nbr": name})])
    assert roles(found)[name] == "person"
    assert ("row number" in found.text) == (name in ("row", "index"))


def test_events_are_seen_and_ordered(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(0, 1_500, 4_000)
    stays = pl.DataFrame(
        {
            "stay_id": np.arange(4_000),
            "PatientID": people,
            "admitted": [date(2026, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 300, 4_000)],
            "sex": np.where(people % 2, "f", "m"),
            "birth_year": 1930 + people % 70,
            "Hauptdiagnose": rng.choice(DIAGNOSES, 4_000),
        }
    )
    found = propose([stays])
    policy = policy_of(found, tmp_path)
    assert policy.schema.person == "PatientID"
    assert policy.schema.events == ri.Events("admitted", "last")
    assert found.rows == len(set(people.tolist()))
    assert isinstance(policy.method, ri.Alternatives)
    assert policy.method.change == 0.01  # a new event brings a new value
    first = propose([stays], answer=lambda question: "first" if question.key == "keep" else question.default)
    assert policy_of(first, tmp_path).schema.events == ri.Events("admitted", "first")


def test_states_put_together_are_named(tmp_path: Path) -> None:
    table = pl.concat([clinic(800).select("patient_nbr", "age", "diag_1").with_columns(year=pl.lit(y)) for y in (1, 2)])
    found = propose([table.with_columns(pl.col("year") + 2020)])
    assert policy_of(found, tmp_path).schema.events == ri.Events("year", "last")
    assert "2 states of one" in found.notes[0]


def test_without_an_order_of_events_that_is_said() -> None:
    table = pl.DataFrame(
        {"patient": [n // 2 for n in range(36)], "sex": ["f", "f", "m", "m"] * 9, "diagnosis": ["x"] * 36}
    )
    with pytest.raises(ri.errors.TableError, match="no column says which came first"):
        propose([table])
    days = table.with_columns(admitted=pl.Series([f"{n % 28 + 1}.3.2026" for n in range(36)]))
    with pytest.raises(ri.errors.TableError, match="2026-03-31") as caught:
        propose([days])
    assert "admitted" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": ["p", "p"], "b": ["x", "x"], "c": ["x", "x"]}), "tells people apart"),
        (
            pl.DataFrame({"id": [None, "p"], "sex": ["f", "f"], "diagnosis": ["x", "y"]}),
            "'id' looks like ids, but is empty",
        ),
        (pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "three columns"),
        (pl.DataFrame({"a": []}), "no rows"),
        (pl.DataFrame({"id": [1], "age": [3], "diagnosis": ["x"]}), "the same in every row"),
        (pl.DataFrame({"id": [1, 2], "": [3, 4], "diagnosis": ["x", "y"]}), "rename"),
        (pl.DataFrame({"id": range(60), "age": [4] * 60, "sex": ["f"] * 60}), "quasi-identifier"),
    ],
)
def test_tables_nothing_can_be_guessed_from(table: pl.DataFrame, message: str) -> None:
    with pytest.raises(ri.errors.ReissueError, match=message):
        propose([table])


@pytest.mark.parametrize(
    ("name", "sense"),
    [
        ("Hauptdiagnose", "diagnosis"), ("diagnóstico_principal", "diagnosis"), ("ICD10_code", "diagnosis"),
        ("maladie", "diagnosis"), ("Geburtsdatum", "birth"), ("date_de_naissance", "birth"),
        ("fecha_nacimiento", "birth"),
        ("PLZ", "postcode"), ("codePostal", "postcode"), ("codigo_postal", "postcode"), ("ZIP_CD", "postcode"),
        ("Geschlecht", "sex"), ("BENE_SEX_IDENT_CD", "sex"), ("sexo", "sex"), ("SALAIRE", "financial"),
        ("Nettoeinkommen", "financial"), ("atorvastatin", "drug"), ("DEATHDATE", "outcome"), ("religion", "private"),
        ("Patientennummer", "person"), ("PatientID", "id"), ("encounterId", "event"),
    ],
)  # fmt: skip
def test_names_in_several_styles_and_languages(name: str, sense: str) -> None:
    assert sense in meaning_of(name)


@pytest.mark.parametrize("name", ["archive", "marital_status", "education", "today", "custodian", "native-country"])
def test_names_that_only_look_like_it(name: str) -> None:
    assert not any(sense in meaning_of(name) for sense in SENSITIVE)


def test_codes_of_diseases_and_drugs() -> None:
    assert code_pattern(pl.Series(["E11.9", "I10", "J45.0", "C50.911", "F32.1"])) == "ICD-10"
    assert code_pattern(pl.Series(["250.83", "276", "648", "V27", "414"])) == "ICD-9"
    assert code_pattern(pl.Series(["A10BA02", "C09AA05", "N02BE01", "J01CA04", "R03AC02"])) == "ATC"
    assert code_pattern(pl.Series(["101", "102", "205", "310", "999"])) == ""  # three digits can be anything
    assert code_pattern(pl.Series(["north", "south", "east", "west", "centre"])) == ""


@pytest.mark.parametrize(
    ("texts", "style", "ambiguous"),
    [
        (["2026-03-31", "2026-04-01"], "%Y-%m-%d", False),
        (["31.3.2026", "1.4.2026"], "%d.%m.%Y", False),
        (["31/03/2026", "01/04/2026"], "%d/%m/%Y", False),
        (["03/31/2026", "04/01/2026"], "%m/%d/%Y", False),
        (["03/04/2026", "05/06/2026"], "%d/%m/%Y", True),
        (["20260331", "20260401"], "%Y%m%d", False),
    ],
)
def test_days_as_text(texts: list[str], style: str, ambiguous: bool) -> None:
    found = text_dates(pl.Series(texts))
    assert found is not None
    assert (found.style, found.ambiguous) == (style, ambiguous)
    assert text_dates(pl.Series([*texts, "soon"])) is None


def test_hierarchies_for_days_and_postcodes(tmp_path: Path) -> None:
    """They are used where nothing else would do, and hold what later tables may bring."""
    rng = np.random.default_rng(3)
    born = [date(1950, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 20_000, 3_000)]
    table = pl.DataFrame(
        {
            "id": range(3_000),
            "Geburtsdatum": [f"{day.day}.{day.month}.{day.year}" for day in born],
            "PLZ": [f"0{4100 + int(n)}" for n in rng.integers(0, 60, 3_000)],
            "age": [2026 - day.year for day in born],
            "Diagnose": rng.choice(DIAGNOSES, 3_000),
        }
    )
    table.write_csv(tmp_path / "t.csv")
    found = propose([tmp_path / "t.csv"])
    policy = policy_of(found, tmp_path)
    days, codes = policy.schema.quasi["Geburtsdatum"], policy.schema.quasi["PLZ"]
    assert isinstance(days, ri.Hierarchy)
    assert days.ancestors("1.2.1970") == ("1970-02", "1970-Q1", "1970", "1970s", "*")
    assert isinstance(codes, ri.Hierarchy)
    assert codes.ancestors("04199")[0] == "0419*"  # nobody lives there yet
    assert isinstance(policy.schema.quasi["age"], ri.Numeric)
    bands = ri.Hierarchy.read(tmp_path / "policy.age.csv")
    assert bands.ancestors("37") == ("35-39", "30-39", "20-39", "*")
    assert isinstance(policy.method, ri.Alternatives)
    assert policy.method.k == 10  # a day of birth and a postcode are as good as a name
    exactly = propose([tmp_path / "t.csv"], answer=lambda one: "exact" if one.key == "regions" else one.default)
    assert "\nk = " not in exactly.text


def test_coded_categories_are_labels(tmp_path: Path) -> None:
    table = clinic(2_000).with_columns(
        SEX=pl.col("age") % 2 + 1, STATE_CODE=pl.col("age") % 50, hours=pl.col("age") % 41
    )
    quasi = policy_of(propose([table]), tmp_path).schema.quasi
    assert isinstance(quasi["SEX"], ri.Categorical)
    assert isinstance(quasi["STATE_CODE"], ri.Categorical)
    assert isinstance(quasi["hours"], ri.Numeric)


def test_free_text_ids_and_constant_columns_stay_out() -> None:
    rng = np.random.default_rng(4)
    words = np.array(
        ["patient", "reports", "pain", "since", "monday", "left", "knee", "no", "fever", "sleeps", "badly"]
    )
    table = clinic(1_000).with_columns(
        comments=pl.Series([" ".join(rng.choice(words, 9)) for _ in range(1_000)]),
        email=pl.Series([f"{n}@x.example" for n in range(1_000)]),
        token=pl.Series([f"{n * 7919 % 65521:05x}" for n in range(1_000)]),
        country=pl.lit("NL"),
        nothing=pl.lit(None),
        count=pl.Series([1, 2] * 500),
        parts=pl.Series([[1], [2]] * 500),
    )
    named = roles(propose([table]))
    out = ("comments", "email", "token", "country", "nothing", "count", "parts")
    assert {named[name] for name in out} == {"drop"}


def test_columns_of_the_same_make_are_judged_alike() -> None:
    """A drug that nobody has heard of, beside others with the same labels."""
    rng = np.random.default_rng(5)
    drug = ["No", "Steady", "Up", "Down"]
    table = clinic(1_500).with_columns(
        examide=pl.Series(rng.choice(drug, 1_500)), unheard=pl.Series(rng.choice(["No", "Steady"], 1_500))
    )
    named = {guess.column: guess for guess in propose([table]).guesses}
    for name in ("examide", "unheard"):
        assert named[name].role == "sensitive" or named[name].lost


def test_a_code_and_its_name_are_published_once() -> None:
    rng = np.random.default_rng(6)
    number = rng.integers(0, len(DIAGNOSES), 2_000)
    table = clinic(2_000).select("patient_nbr", "gender", "age").with_columns(
        CODE=pl.Series(number + 38_341_003), DESCRIPTION=pl.Series([DIAGNOSES[n] for n in number])
    )  # fmt: skip
    found = propose([table])
    assert roles(found)["DESCRIPTION"] == "sensitive"
    assert [guess.column for guess in found.lost] == ["CODE"]
    # As many values are not the same ones.
    found = propose([table.with_columns(pl.col("CODE").shuffle(seed=1))])
    assert not any("says the same" in guess.why for guess in found.guesses)


@pytest.mark.parametrize("rows", [1_500, 90_000])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_proposed_sets_of_values_can_be_published(rows: int, skewed: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(rows)
    labels, shares = list("abcdefghijkl"), np.linspace(3, 1, 12)
    if skewed:
        shares[0] = 12
    table = pl.DataFrame(
        {
            "person": np.arange(rows),
            "age": rng.integers(20, 60, rows),
            "illness": rng.choice(labels, rows, p=shares / shares.sum()),
        }
    )
    policy = policy_of(propose([table]), tmp_path)
    assert isinstance(policy.method, ri.Alternatives)
    assert policy.method.epsilon == (0.1 if rows > 10_000 else 1.0)
    assert policy.method.change is None
    assert policy.form == "alternatives"
    for seed in range(3):  # whatever the noise is
        assert draft(table, policy, seed=seed).tables["table"].height == rows


def test_limits_of_several_columns_can_be_kept() -> None:
    """Worked out by hand: of m records a value of share p needs the least k with k/m at or above p + (1 - p)/(2m)."""
    table = clinic(8_000)
    sets = next(several_sets(table, ["diag_1", "readmitted", "insulin"]))
    assert sets.columns == ("diag_1", "readmitted", "insulin")
    for name in sets.columns:
        share = table[name].value_counts()["count"].max() / table.height  # type: ignore[operator]
        assert share + (1 - share) / (2 * sets.m) <= sets.limits[name] < 1
    assert list(several_sets(clinic(150), ["diag_1", "readmitted"])) == []
    assert single_sets(pl.Series("x", ["a"] * 990 + ["b"] * 10)) is None
    even = single_sets(pl.Series("x", list(DIAGNOSES) * 4_000))
    assert even is not None
    assert even.limits == {"x": Fraction(1, 4)}


def test_sets_of_many_records_are_tried_for_what_can_be_estimated() -> None:
    """900 records: beside a diagnosis two columns of three equally frequent values each are told by nothing."""
    rng, rows = np.random.default_rng(2), 40_000
    table = pl.DataFrame(
        {
            "patient": [f"P{number:06d}" for number in range(rows)],
            "age": rng.integers(20, 90, rows),
            "sex": rng.choice(["m", "f"], rows),
            "diagnosis": [f"E{10 + min(code, 60)}" for code in rng.geometric(0.06, rows).tolist()],
            "creatinine": rng.choice(["low", "normal", "high"], rows),
            "sodium": rng.choice(["low", "normal", "high"], rows),
        }
    )
    found = propose([table])
    columns = [guess.column for guess in found.guesses if guess.role == "sensitive"]
    assert found.method.name == "Alternatives" and "diagnosis" in columns
    draft(table, found.policy)  # refused before: "recipients can estimate nothing from these sets"


def test_values_that_change_are_declared_at_the_slowest_rate(tmp_path: Path) -> None:
    """Half of the values are redrawn in every state, the others seldom: what is declared fits the latter."""
    rng = np.random.default_rng(7)
    first = clinic(8_000).select("patient_nbr", "age", "gender", "diag_1")
    has, states = first["diag_1"].to_numpy().copy(), [first]
    for _ in range(2):
        often = np.isin(has, DIAGNOSES[:4])
        redrawn = rng.random(8_000) < np.where(often, 0.5, 0.1)
        has = np.where(redrawn, rng.choice(DIAGNOSES, 8_000), has)
        states.append(first.with_columns(diag_1=pl.Series(has)))
    changes = changes_in(states, "patient_nbr", ["diag_1"])
    assert changes.people == 16_000
    assert 0.05 < changes.rate <= 0.1
    found = propose(states, moves="reissue moves ...")
    policy = policy_of(found, tmp_path)
    assert isinstance(policy.method, ri.Alternatives)
    assert policy.method.change == changes.rate
    assert "reissue moves" in found.text
    with ri.open(tmp_path / "series", policy) as series:
        for state in states:
            assert series.publish(state).tables["table"].height == 8_000  # nobody is withheld


def test_nothing_that_changed_and_nobody_who_stayed() -> None:
    table = clinic(1_200).select("patient_nbr", "age", "diag_1")
    found = propose([table, table.head(1_000)])
    assert found.changes is not None
    assert (found.changes.people, found.changes.changed) == (1_000, 0)
    assert "\nchange" not in found.text
    with pytest.raises(ri.errors.TableError, match="Nobody is in two tables"):
        propose([table, table.with_columns(pl.col("patient_nbr") + 10**6)])


def test_labels_and_missing_values_of_later_tables_count(tmp_path: Path) -> None:
    table = clinic(1_200).select("patient_nbr", "age", "gender", "diag_1", race=pl.col("age") % 3)
    later = table.with_columns(
        gender=pl.when(pl.col("age") > 90).then(pl.lit("X")).otherwise("gender"),
        age=pl.when(pl.col("age") > 92).then(None).otherwise("age"),
        race=pl.when(pl.col("age") > 90).then(7).otherwise("race"),  # codes are labels too
    )
    policy = policy_of(propose([table, later]), tmp_path)
    assert policy.schema.quasi["race"] == ri.Categorical(new="accept")
    assert policy.schema.quasi["gender"] == ri.Categorical(new="accept")
    assert policy.schema.quasi["age"] == ri.Numeric(missing="value")
    with ri.open(tmp_path / "series", policy) as series:
        series.publish(table)
        series.publish(later)


def test_labels_that_only_events_of_others_have_count_as_new(tmp_path: Path) -> None:
    """Somebody's first event has a segment 2; no event that stands for a person has, until the next table."""
    first = clinic(1_200).select("patient_nbr", "gender", "diag_1", stay=pl.lit(2), segment=pl.lit(1))
    early = first.head(1).with_columns(stay=pl.lit(1), segment=pl.lit(2))
    tables = [
        pl.concat([first, early]),
        first.with_columns(segment=pl.when(pl.int_range(pl.len()) < 2).then(2).otherwise(1)),
    ]
    found = propose(tables)
    policy = policy_of(found, tmp_path)
    assert policy.schema.events == ri.Events("stay", "last")
    assert policy.schema.quasi["segment"] == ri.Categorical(new="accept")
    assert not any("new label" in line for line in found.warnings)


def test_how_many_people_stand_alone_is_said() -> None:
    table = clinic(1_500).select("patient_nbr", "gender", "diag_1")
    one = table.with_columns(gender=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("X")).otherwise("gender"))
    for own, words in (
        (table, "exactly, and everybody shares theirs with somebody else in the first table; k = 10 makes regions"),
        (one, "exactly, and 1 of 1,500 people is the only one with theirs: whoever knows somebody's finds their row"),
    ):
        (told,) = [one.question.taken for one in propose([own]).answered if one.question.key == "regions"]
        assert words in told


def test_labels_that_differ_in_case_alone_are_told() -> None:
    table = clinic(1_500).select("patient_nbr", "age", "gender", "diag_1")
    mixed = table.with_columns(gender=pl.when(pl.int_range(pl.len()) < 40).then(pl.lit("f ")).otherwise("gender"))
    assert propose([table]).notes == ()
    assert propose([table, mixed]).notes == (
        "'gender': 1 label differs from another in case or blanks alone; write each in one way",
    )


def test_a_file_without_names_of_columns_is_refused(tmp_path: Path) -> None:
    clinic(300).select("patient_nbr", "age", "gender", "diag_1").write_csv(tmp_path / "a.csv", include_header=False)
    with pytest.raises(
        ri.errors.TableError, match=r"The first line of 'a\.csv' seems to be somebody's record"
    ) as caught:
        propose([tmp_path / "a.csv"])
    assert not any(name in str(caught.value) for name in DIAGNOSES)


def test_what_refuses_a_table_altogether_is_said_once() -> None:
    table = clinic(1_200).select("patient_nbr", "age", "gender", "diag_1")
    found = propose([table, table.with_columns(pl.col("age") + 0.5)])
    assert len([line for line in found.warnings if "will refuse" in line]) == 1


def test_hierarchies_of_columns_that_are_left_out_are_not_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    days = [date(2026, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 60, 3_000)]
    table = clinic(3_000).select(
        "patient_nbr", "age", "gender", "diag_1", admitted=pl.Series(days).dt.to_string("%d/%m/%Y")
    )
    kept = propose([table])
    assert [name for name in kept.files if "admitted" in name] == ["policy.admitted.csv"]
    told = table.with_columns(diag_1=pl.Series([DIAGNOSES[day.toordinal() % 8] for day in days]))  # a day tells it
    left = propose([told])
    assert roles(left)["admitted"] == "drop" and [*left.files] == ["policy.age.csv"]


def test_a_column_that_is_not_in_every_table_is_left_out() -> None:
    table = clinic(1_200).select("patient_nbr", "age", "gender", "diag_1", "readmitted")
    found = propose([table, table.drop("readmitted")])
    assert roles(found)["readmitted"] == "drop"
    assert "readmitted" in {guess.column for guess in found.lost}


def test_what_a_known_column_tells_is_not_proposed() -> None:
    """Nobody but women has a pregnancy; and a ward follows from the diagnosis."""
    table = clinic(6_000)
    pregnant = pl.when(pl.col("gender") == "F").then(pl.lit("no")).otherwise(pl.lit("not asked"))
    pregnant = (
        pl.when((pl.col("gender") == "F") & (pl.col("patient_nbr") % 2 == 0)).then(pl.lit("yes")).otherwise(pregnant)
    )
    where = pl.col("diag_1").replace_strict({one: f"w{at // 2}" for at, one in enumerate(DIAGNOSES)})
    found = propose([table.with_columns(pregnancy=pregnant, mystery=pl.col("diag_1").str.slice(0, 1), unit=where)])
    guesses = {guess.column: guess for guess in found.guesses}
    assert guesses["pregnancy"].role == "drop"
    assert guesses["pregnancy"].lost
    assert "'gender', which is published, tells it of 3,0" in guesses["pregnancy"].why
    assert guesses["gender"].role == "quasi"
    assert guesses["diag_1"].role == "sensitive"


def test_a_column_that_follows_from_a_sensitive_one_is_left_out_itself() -> None:
    """Its name does not say what it is, and it tells the diagnosis."""
    table = clinic(6_000).with_columns(mystery=pl.col("readmitted").str.to_lowercase() + "!")
    found = propose([table.drop("diag_1", "diag_2", "A1Cresult", "insulin", "metformin")])
    (guess,) = (one for one in found.guesses if one.column == "mystery")
    assert guess.role == "drop"
    assert "tells 'readmitted', which is sensitive" in guess.why


def test_where_few_people_come_back_that_is_declared_and_said(tmp_path: Path) -> None:
    whole = clinic(8_000)
    tables = [whole.slice(at * 1_800, 2_000) for at in range(3)]
    found = propose(tables)
    policy = policy_of(found, tmp_path)
    assert policy.checks == ri.Checks(ids_return=0.05)
    assert "GUESS: 10.0% of the people of a table are in the next one" in found.text
    assert any("few people come back: 10.0%" in one.assumption for one in found.answered)
    with ri.open(tmp_path / "series", policy) as series:
        for seed, table in enumerate(tables):  # by chance one in some dozens of such small releases outgrows its shares
            series.publish(table, seed=seed)
    assert "[checks]" not in propose([whole, whole.tail(7_000)]).text


def test_tables_that_checks_will_refuse_are_named() -> None:
    table = clinic(3_000)
    found = propose([table, table])
    (warning,) = found.warnings
    assert warning.startswith(
        "`publish` will refuse table 2 under this policy: same-state: nothing in the table differs"
    )
    assert f"# Note: {warning}" in found.text


def test_what_later_tables_would_cost_is_said_before_the_first_is_out(tmp_path: Path) -> None:
    """A value becomes five times as frequent; and of few people half have another value each time."""

    def outgrowing(often: float, first: int) -> pl.DataFrame:
        rng = np.random.default_rng(3)
        chances = [often, *[(1 - often) / 7] * 7]
        rows = {"patient": [f"P{number}" for number in range(first, first + 5_000)], "age": rng.integers(20, 80, 5_000)}
        return pl.DataFrame({**rows, "diagnosis": rng.choice(DIAGNOSES, 5_000, p=chances)})

    def moving(seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        rows = {"patient": [f"P{number}" for number in range(300)], "age": [20 + number % 60 for number in range(300)]}
        return pl.DataFrame(
            {**rows, "diagnosis": [f"E{code}" for code in rng.integers(10, 90, 300)]}
        )  # too rare for sets

    for tables, method, check in (
        ([outgrowing(0.1, 0), outgrowing(0.12, 2_000), outgrowing(0.5, 4_000)], "Alternatives", "outgrown-shares"),
        ([moving(1), moving(2), moving(3)], "MInvariance", "withheld"),
    ):
        found = propose(tables)
        assert found.method.name == method
        refused: dict[str, list[str]] = {}
        with ri.open(tmp_path / method, found.policy) as series:
            for number, table in enumerate(tables, 1):
                try:
                    series.publish(table)
                except ChecksFailed as error:
                    names = [problem.split(":")[0] for problem in error.problems]
                    for name in names:
                        refused.setdefault(name, []).append(str(number))
                    series.publish(table, allow=names, reason="to see what comes after it")
        assert check in refused
        for name, numbers in refused.items():
            which = f"table {numbers[0]} under" if len(numbers) == 1 else f"tables {' and '.join(numbers)} under"
            assert any(f"{name}:" in line and f"will refuse {which}" in line for line in found.warnings), (
                name,
                numbers,
            )
        assert not any("patient" in line or "P1" in line for line in found.warnings)


def test_no_column_of_which_most_values_are_rare() -> None:
    """Codes that are too fine are left out; with what is said of them they are not."""
    rng = np.random.default_rng(5)
    chapter = rng.choice(["25", "41", "42", "78", "V5"], 3_000)
    table = clinic(3_000).select("patient_nbr", "gender", "age", "readmitted", "insulin").with_columns(
        diagnosis=pl.Series([f"{one}{rng.integers(0, 10)}.{rng.integers(0, 10)}" for one in chapter])
    )  # fmt: skip
    found = propose([table])
    (guess,) = (one for one in found.guesses if one.column == "diagnosis")
    assert guess.role == "drop"
    assert guess.lost
    assert guess.why.endswith('pl.col("diagnosis").str.slice(0, 3) in polars, =LEFT(A2, 3) in Excel')
    coarser = propose([table.with_columns(pl.col("diagnosis").str.slice(0, 3))])
    assert roles(coarser)["diagnosis"] == "sensitive"
    assert single_sets(table["diagnosis"].str.slice(0, 3), [table["diagnosis"]]) is None  # a later table is finer


def test_a_column_that_is_too_fine_does_not_keep_others_out() -> None:
    """It comes first by what it means, and cannot be published; flags beside it can."""
    rng = np.random.default_rng(8)
    flags = {f"drug_{at}": pl.Series(rng.choice(["no", "yes"], 12_000, p=[0.6, 0.4])) for at in range(3)}
    fine = pl.Series([f"{code}.{code % 9}" for code in rng.integers(100, 999, 12_000)])
    table = clinic(12_000).select("patient_nbr", "gender", "age").with_columns(diagnosis=fine, **flags)
    found = propose([table])
    assert found.method.name == "Alternatives"
    assert {*found.method.limits} <= {*flags}


def test_high_limits_only_where_nothing_else_is_possible() -> None:
    rng = np.random.default_rng(6)
    flags = {name: rng.choice(["no", "yes"], 8_000, p=[0.82, 0.18]) for name in ("hiv", "cancer", "asthma")}
    table = (
        clinic(8_000).select("patient_nbr", "gender", "age").with_columns(**{k: pl.Series(v) for k, v in flags.items()})
    )
    found = propose([table])
    assert max(found.method.limits.values()) > Fraction(3, 4)
    assert any("limits are as high as 7/8" in one for one in found.warnings)
    better = propose([table.with_columns(clinic(8_000)["diag_1"])])
    assert better.warnings == ()
    assert all(limit <= Fraction(3, 4) for limit in better.method.limits.values())


def test_what_people_do_for_a_living_is_asked() -> None:
    table = clinic(4_000).with_columns(
        occupation=pl.Series(np.random.default_rng(2).choice(list("abcdefgh"), 4_000)),
        hours=pl.Series(np.random.default_rng(3).integers(10, 60, 4_000)),
    )
    asked = []
    propose([table], answer=lambda question: asked.append(question.key) or question.default)  # type: ignore[func-returns-value]
    assert {"role of occupation", "role of hours"} <= {*asked}
    alone = propose([table.select("patient_nbr", "gender", "age", "occupation", hiv=pl.col("hours") == 11)])
    assert roles(alone)["occupation"] == "sensitive"
    assert any("'occupation' is taken for sensitive" in one.assumption for one in alone.answered)


def test_questions_have_defaults_and_answers_count(tmp_path: Path) -> None:
    asked: list[Question] = []

    def other(question: Question) -> str:
        asked.append(question)
        if question.key == "role of mystery":
            return "drop"
        if question.key == "sensitive columns":
            return "readmitted, insulin"
        return question.default

    table = clinic(4_000).with_columns(mystery=pl.Series(["p", "q", "r", "s"] * 1_000))
    by_default = propose([table])
    assert roles(by_default)["mystery"] == "quasi"
    assert any("mystery" in one.assumption for one in by_default.answered)
    found = propose([table], answer=other)
    assert all(question.accepts(question.default) for question in asked)
    assert {"role of mystery", "sensitive columns", "regions"} <= {question.key for question in asked}
    assert roles(found)["mystery"] == "drop"
    assert set(policy_of(found, tmp_path).schema.sensitive_columns) == {"readmitted", "insulin"}


def test_where_a_table_is_too_small_for_shares_they_come_from_outside() -> None:
    text = propose([census(300, seed=1)]).text
    assert '# reference = "shares.csv"' in text


def test_the_alternative_for_growing_tables_is_a_policy_too() -> None:
    """Behind the marks of the comments stand lines that can be used as they are."""
    head, method = propose([census(300, seed=1)]).text.split("[method]\n")
    lines = method.splitlines()
    at = next(number for number, line in enumerate(lines) if "only grows" in line)
    other = [line.removeprefix("# ") for line in lines[at + 1 : at + 4]]
    policy = ri.Policy.from_toml("\n".join([head, "[method]", *other]))
    assert policy.method == ri.Incremental(3, strict=True)


def test_no_id_and_no_value_is_quoted() -> None:
    table = clinic(1_000).with_columns(
        patient_nbr=pl.format("CANARY{}", "patient_nbr"), diag_1=pl.format("CANARY-{}", "diag_1"),
        ward=pl.Series(["CANARY-a", "CANARY-b"] * 500), note=pl.format("CANARY {} x y z", "age"),
    )  # fmt: skip
    found = propose([table])
    said = [found.text, repr(found), *found.files.values(), *(one.assumption for one in found.answered), *found.notes]
    assert not any("CANARY" in text for text in (*said, *(guess.why for guess in found.guesses)))


def test_many_categories_and_columns() -> None:
    """20,000 labels in one column, 200 columns: judged, and none of it is a quasi-identifier by mistake."""
    rng = np.random.default_rng(8)
    rows = 30_000
    wide = {f"x{n}": rng.integers(0, 9, rows) for n in range(190)}
    table = pl.DataFrame(
        {
            "id": np.arange(rows),
            "sex": rng.choice(["f", "m"], rows),
            "diagnosis": rng.zipf(1.3, rows) % 20_000,
            "code": [f"K{n}" for n in rng.integers(0, 20_000, rows)],
            **wide,
        }
    )
    named = roles(propose([table]))
    assert named["diagnosis"] == "sensitive"
    assert named["code"] != "quasi"
    assert len(named) == 194


KINDS = st.sampled_from(["number", "decimal", "text", "day", "german day", "flag", "empty"])
NAMES = st.sampled_from(
    [
        "age",
        "sex",
        "zip",
        "diagnosis",
        "salary",
        "status",
        "Outcome",
        "x",
        "name",
        "group",
        "born",
        "wage_2",
        "ward",
        "id",
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.sampled_from([1, 2, 7, 40, 300, 1_500]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns: dict[str, Sequence[object]] = {"patient": [f"p{n}" for n in range(rows)]}
    if draw(st.booleans()):
        columns["patient"] = [f"p{n}" for n in rng.integers(0, max(1, rows // 2), rows)]
        columns["visit"] = rng.integers(0, 900, rows).tolist()
    for name in draw(st.lists(NAMES, min_size=1, max_size=7, unique=True)):
        kind, many = draw(KINDS), draw(st.sampled_from([1, 2, 5, 30, 2_000]))
        code = rng.integers(0, many, rows)
        days = [date(1990, 1, 1) + timedelta(days=int(one)) for one in code]
        made: dict[str, list[object]] = {
            "number": code.tolist(), "decimal": (code / 4).tolist(), "text": [f"v{one}" for one in code],
            "day": list(days), "german day": [f"{day:%d.%m.%Y}" for day in days],
            "flag": (code % 2 == 0).tolist(), "empty": [None] * rows,
        }  # fmt: skip
        values = made[kind]
        if draw(st.integers(0, 3)) == 0:
            values = [None if one else value for one, value in zip(rng.random(rows) < 0.1, values, strict=True)]
        columns[name] = values
    return pl.DataFrame(columns)


@examples(25)
@given(tables())
def test_any_table_gets_a_policy_that_takes_it_or_words_that_say_why_not(table: pl.DataFrame) -> None:
    try:
        found = propose([table])
    except ri.errors.InternalError:
        raise
    except ri.errors.ReissueError as error:
        assert error.what
        assert error.hint or "three columns" in error.what or "no rows" in error.what
        return
    tomllib.loads(found.text)
    assert set(roles(found)) == set(table.columns)
    assert found.rows <= table.height
    quasi = [guess.column for guess in found.guesses if guess.role == "quasi"]
    assert not any(sense in meaning_of(name) for name in quasi for sense in SENSITIVE)


def test_days_written_as_labels_are_told_how_to_become_days() -> None:
    rng = np.random.default_rng(3)
    days = [date(2025, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 365, 6_000)]
    labels = clinic().with_columns(seen_on=pl.Series([f"{day:%d.%m.%Y}" for day in days]))
    text = propose([labels]).text
    assert 'kind = "hierarchy"' in text.split('[schema.quasi."seen_on"]')[1]
    assert "To make them days, write them as 2026-03-31" in text.split('[schema.quasi."seen_on"]')[1]
    true = propose([labels.with_columns(seen_on=pl.Series(days))]).text
    assert 'kind = "numeric"' in true.split('[schema.quasi."seen_on"]')[1].split("[")[0]
    assert "To make them days" not in true


@pytest.mark.parametrize(
    "name", ["Hämoglobin (g/dl)", "Haemoglobin", "Kreatinin [mmol/l]", "Blutdruck", "creatinine_mg_dl", "Leukozyten"]
)
def test_measurements_of_the_body_are_clinical(name: str) -> None:
    assert {*SENSITIVE} & meaning_of(name).senses
    rng = np.random.default_rng(4)
    table = clinic().with_columns(pl.Series(name, np.round(rng.normal(13.5, 1.6, 6_000), 1)))
    assert roles(propose([table, table.with_columns(age=pl.col("age") + 1)]))[name] != "quasi"


def test_reasons_are_true_of_what_is_proposed() -> None:
    """A flag that the age tells, and a day that tells it too and another one: of the flag it was said that the day
    tells it, "which is published", and the day was not. And what is left out was "taken for sensitive"."""
    rng = np.random.default_rng(5)
    n = 20_000
    age = rng.choice(["child", "adult", "old"], n)
    ward = rng.choice(["w1", "w2", "w3", "w4", "w5", "w6"], n)
    outbreak = np.where((ward == "w1") & (rng.random(n) < 0.98), "yes", np.where(rng.random(n) < 0.15, "yes", "no"))
    died = np.where(age == "child", "no", np.where(rng.random(n) < 0.4, "yes", "no"))
    died = np.where((ward == "w1") & (rng.random(n) < 0.99), "yes", died)
    table = pl.DataFrame(
        {
            "patient": range(n), "age_group": age, "sex": rng.choice(["f", "m"], n), "corner": ward,
            "diagnosis": rng.choice(DIAGNOSES, n), "outbreak": outbreak, "outcome": died,
            "status": rng.choice(["open", "shut"], n, p=[0.9, 0.1]),
        }
    )  # fmt: skip
    found = propose([table])
    made = {guess.column: guess for guess in found.guesses}
    for guess in found.guesses:
        for other in re.findall(r"'([^']+)', which is published", guess.why):
            assert made[other].role != "drop", guess.why
    for one in found.answered:
        if match := re.match(r"'([^']+)' is taken for sensitive", one.assumption):
            assert made[match[1]].role == "sensitive", one.assumption
