"""Three sensitive columns at size: nobody is tied to a value of any with more than its limit times the stated factor.

What is likely is counted here by a few lines of numpy from the public sets, not by the library: a value that stands in
k of the m places of somebody's list has the probability k/m. That this is so is held against the true values: of all
values that stand in k places of a list about k/m must be true.
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


def places(lists: pl.Series, width: dict[str, int]) -> np.ndarray:
    """For each row (lines) in how many of its places each value (columns) stands."""
    codes = np.array([[width[value] for value in row] for row in lists.to_list()])
    assert codes.shape[1] == M
    found = np.zeros((codes.shape[0], len(width)), dtype=np.int64)
    for place in range(M):
        np.add.at(found, (np.arange(codes.shape[0]), codes[:, place]), 1)
    return found


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
    for name, limit in LIMITS.items():
        lists = members[f"{name}_alternatives"]
        width = {value: at for at, value in enumerate(sorted(lists.explode().unique().to_list()))}
        count = places(lists, width)
        assert count.max() / M <= float(Fraction(limit)) * factor
        own = np.array([width.get(value, width.get(OTHERS, -1)) for value in true[name].to_list()])
        assert (own >= 0).all() and (count[np.arange(own.size), own] > 0).all()  # the true one is always there
        is_true = np.zeros(count.shape, dtype=np.bool_)
        is_true[np.arange(own.size), own] = True
        for k in range(1, M + 1):
            at = count == k
            number = int(at.sum())
            if number < 200:
                continue
            found, told = float(is_true[at].mean()), k / M
            assert abs(found - told) <= SURE * np.sqrt(told * (1 - told) / number) + told * (factor - 1), (name, k)
            assert found <= float(Fraction(limit)) * factor + SURE * np.sqrt(told * (1 - told) / number)


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
