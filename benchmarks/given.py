"""What choices of `given` do: the figures of the page on Alternatives.

The generated census, and the main diagnoses of first stays in 130 US hospitals (diabetes130) where they are at hand, by
the function that users have. The model from elsewhere is counted from as many other people.

python benchmarks/given.py --json figures.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from measuring import console, save
from real_changes import DATA, frequent
from samples import census

import reissue as ri

SEED = 1


def occupations(rows: int, limit: str) -> tuple[pl.DataFrame, pl.DataFrame, ri.Policy]:
    """The census, as many others, and the policy."""
    quasi = {"age": ri.Numeric(), **dict.fromkeys(("gender", "education", "birthplace"), ri.Categorical())}
    policy = ri.Policy(ri.Schema("person", quasi, "occupation"), ri.Alternatives(m=10, limit=limit, epsilon=1))
    return census(rows, seed=SEED), census(rows, seed=SEED + 1), policy


def diagnoses() -> tuple[pl.DataFrame, pl.DataFrame, ri.Policy]:
    """Half of the patients, the other half, and the policy."""
    table = pl.read_csv(DATA / "diabetes130" / "diabetic_data.csv.gz", infer_schema_length=0)
    stays = table.with_columns(pl.col("encounter_id").cast(pl.Int64), code=pl.col("diag_1").str.slice(0, 3))
    first = stays.sort("encounter_id").unique("patient_nbr", keep="first", maintain_order=True)
    rows = first.select("patient_nbr", "age", "gender", "race", frequent("code", 39).alias("diagnosis"))
    mine = pl.Series(np.random.default_rng(SEED).random(rows.height) < 0.5)
    schema = ri.Schema("patient_nbr", dict.fromkeys(("age", "gender", "race"), ri.Categorical()), "diagnosis")
    return rows.filter(mine), rows.filter(~mine), ri.Policy(schema, ri.Alternatives(m=4, limit="3/4", epsilon=1))


def main() -> int:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000, help="how many people of the census")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    asked = parser.parse_args()
    jobs = {f"census, limit {limit}": occupations(asked.rows, limit) for limit in ("1/2", "4/5")}
    if (DATA / "diabetes130").exists():
        jobs["diabetes130"] = diagnoses()
    results = []
    for name, (table, others, policy) in jobs.items():
        began = perf_counter()
        found = ri.given_choices(table, policy, model=others, seed=SEED)
        results.append({"table": name, "seconds": round(perf_counter() - began, 1), **found.to_dict()})
        console().print(results[-1])
    save(asked.json, {"given": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
