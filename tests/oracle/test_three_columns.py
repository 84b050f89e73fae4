"""Three sensitive columns at size: nobody is tied to a value of any with more than its limit times the stated factor.

What is likely is counted here by a few lines of numpy from the public design and sets, not by the library. By the
reference shares a value that stands in k of the m places of somebody's list has the probability k/m. For whoever knows
how frequent records really are, a place counts by how many times more frequent its record is than the design says. What
that comes to for all values with k places is held against how many of them are true.
"""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import reissue as ri
from reissue.model.sets import OTHERS
from tests.real_data import FOLDER, needs

LIMITS = {"diagnosis": "1/2", "readmitted": "3/4", "A1Cresult": "7/8"}
M = 8
SURE = 4.5
"""So many standard errors; with some 20 comparisons the chance of a false alarm is below 1 in 7,000."""


def check(folder: Path, table: pl.DataFrame) -> None:
    schema = ri.Schema(
        "id",
        {"age": ri.Numeric(), "sex": ri.Categorical()},
        {name: ri.Categorical() for name in LIMITS},
        limits=LIMITS,
    )
    with ri.open(folder, ri.Policy(schema, ri.Alternatives(m=M, epsilon=1.0))) as series:
        release = series.publish(table, seed=1)
        report = series.audit(attacks=["Tracking", "Worlds"])
        members = series.private.members(1)
    assert {name: one.status for name, one in report.judgements.items()} == {"Tracking": "within", "Worlds": "within"}
    factor = max(release.manifest["design"]["factors"])
    assert 1 <= factor < 1.1
    public = release.tables["table"]
    names = [f"{name}_alternatives" for name in LIMITS]
    kept = members.select(pl.col(one).list.join("\0") for one in names).sort(names).rows()
    shown = public.select(pl.col(one).cast(pl.List(pl.String)).list.join("\0") for one in LIMITS)
    assert kept == shown.sort(list(LIMITS)).rows()  # what is looked at below is what is public

    true = members.select(pl.col("person").cast(pl.Int64)).join(
        table, left_on="person", right_on="id", how="left", maintain_order="left"
    )
    rare = {name: {*release.tables["design"][name].to_list()} for name in LIMITS}
    held = np.array(
        [[value if value in rare[name] else OTHERS for value in true[name].to_list()] for name in LIMITS], dtype=object
    )
    reference = {row[:-1]: row[-1] for row in release.tables["design"].select(*LIMITS, "share").rows()}
    people = len(members)
    actual = dict.fromkeys(reference, 0.0)
    for record in zip(*held, strict=True):
        actual[record] += 1 / people
    lists = zip(*(members[one].to_list() for one in names), strict=True)
    weight = np.array([[actual[record] / reference[record] for record in zip(*own, strict=True)] for own in lists])
    weight /= weight.sum(axis=1, keepdims=True)
    for at, (name, limit) in enumerate(LIMITS.items()):
        width = {value: code for code, value in enumerate(sorted(rare[name]))}
        codes = np.array([[width[value] for value in row] for row in members[names[at]].to_list()])
        count, likely = np.zeros((people, len(width)), dtype=np.int64), np.zeros((people, len(width)))
        for place in range(M):
            np.add.at(count, (np.arange(people), codes[:, place]), 1)
            np.add.at(likely, (np.arange(people), codes[:, place]), weight[:, place])
        assert codes.shape[1] == M and count.max() / M <= float(Fraction(limit)) * factor
        own = np.array([width[value] for value in held[at]])
        assert (count[np.arange(people), own] > 0).all()  # the true one is always there
        is_true = np.zeros(count.shape, dtype=np.bool_)
        is_true[np.arange(people), own] = True
        for k in range(1, M + 1):
            those = count == k
            if those.sum() < 1_000:
                continue
            told, found = likely[those], float(is_true[those].sum())
            error = SURE * float(np.sqrt((told * (1 - told)).sum())) + float(told.sum()) * (factor - 1)
            assert abs(found - told.sum()) <= error, (name, k)
            assert error < 0.2 * told.sum()  # it would be seen


def invented(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    diagnosis = rng.choice(
        ["asthma", "diabetes", "fracture", "heart", "kidney", "lung"], count, p=[0.1, 0.1, 0.15, 0.3, 0.15, 0.2]
    )
    again = np.where(
        diagnosis == "heart",
        rng.choice(["NO", "<30", ">30"], count, p=[0.4, 0.2, 0.4]),
        rng.choice(["NO", "<30", ">30"], count, p=[0.65, 0.1, 0.25]),
    )
    tested = np.where(diagnosis == "diabetes", 0.5, 0.85)
    return pl.DataFrame(
        {
            "id": np.arange(count),
            "age": rng.integers(20, 90, count),
            "sex": rng.choice(["female", "male"], count),
            "diagnosis": diagnosis,
            "readmitted": again,
            "A1Cresult": np.where(rng.random(count) < tested, "None", rng.choice(["Norm", ">7", ">8"], count)),
        }
    )


def test_three_columns_of_invented_patients(tmp_path: Path) -> None:
    check(tmp_path / "s", invented(6_000))


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_three_columns_of_invented_patients")
def test_three_columns_of_real_patients(tmp_path: Path) -> None:
    with gzip.open(FOLDER / "diabetes130/diabetic_data.csv.gz") as file:
        raw = pl.read_csv(file.read(), infer_schema=False)
    raw = raw.unique("patient_nbr", keep="first", maintain_order=True).filter(pl.col("gender") != "Unknown/Invalid")
    code = pl.col("diag_1").str.extract(r"^(\d+)").cast(pl.Int64)
    group = pl.when(code == 250).then(pl.lit("diabetes"))
    for first, last, name in (
        (140, 239, "neoplasms"), (390, 459, "circulatory"), (460, 519, "respiratory"), (520, 579, "digestive"),
        (580, 629, "genitourinary"), (710, 739, "musculoskeletal"), (800, 999, "injury"),
    ):  # fmt: skip
        group = group.when(code.is_between(first, last)).then(pl.lit(name))
    table = raw.select(
        pl.col("patient_nbr").cast(pl.Int64).alias("id"),
        pl.col("age").str.extract(r"(\d+)").cast(pl.Int64),
        pl.col("gender").alias("sex"),
        group.otherwise(pl.lit("other")).alias("diagnosis"),
        "readmitted",
        "A1Cresult",
    )
    check(tmp_path / "s", table)
