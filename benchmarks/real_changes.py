"""Real tables whose values change, published as sets: what somebody learns who knows how people really move.

Each table is published release by release with `Alternatives`, once with one rate of change and once with a table of
transitions. Then `Tracking` follows everybody with the table of all moves in the data itself: with what no steward
would publish and every adversary would like to have. A figure is how many times its own limit somebody's likeliest
value has.

python benchmarks/real_changes.py --json figures.json
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from measuring import console, save

import reissue as ri
from reissue import attacks

DATA = Path(os.environ.get("REISSUE_DATA") or Path(__file__).parents[2] / "shared" / "data")
PERSON, TIME, VALUE, COHORT = "person", "time", "value", "cohort"
OTHER = "other"
NEVER = 0.02
"""What a chance is mixed with, of the shares, so that no move is impossible."""


@dataclass(frozen=True)
class Stream:
    """A person's value at each time, and how it is to be published."""

    name: str
    rows: pl.DataFrame
    m: int
    limit: str
    limit_by_table: str
    """What the values need whose slots lives have to share."""

    def states(self) -> Iterator[pl.DataFrame]:
        """The table of each time."""
        for time in range(int(self.rows[TIME].max()) + 1):  # type: ignore[arg-type]
            yield self.rows.filter(pl.col(TIME) == time).drop(TIME)


def frequent(column: str, most: int) -> pl.Expr:
    """The most frequent labels of a column, and one for the rest."""
    often = pl.col(column).len().over(column).rank("dense", descending=True) <= most
    return pl.when(often).then(pl.col(column)).otherwise(pl.lit(OTHER)).alias(VALUE)


def one_each(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for a person and time, without those that have no value."""
    return (
        rows.drop_nulls().unique([PERSON, TIME], keep="first", maintain_order=True).select(PERSON, TIME, COHORT, VALUE)
    )


def women() -> Stream:
    """Occupations over fifteen waves."""
    table = pl.read_parquet(DATA / "panels" / "nlswork.parquet")
    rows = table.select(
        pl.col("idcode").alias(PERSON),
        (pl.col("year").rank("dense") - 1).cast(pl.Int64).alias(TIME),
        pl.col("birth_yr").alias(COHORT),
        pl.col("occ_code").cast(pl.Int64).cast(pl.String).alias(VALUE),
    )
    return Stream("women's occupations", one_each(rows), 8, "5/8", "3/4")


def patients() -> Stream:
    """Main diagnoses of the first five stays; a release for each stay."""
    table = pl.read_csv(DATA / "diabetes130" / "diabetic_data.csv.gz", infer_schema_length=0)
    rows = (
        table.with_columns(pl.col("encounter_id", "patient_nbr").cast(pl.Int64), code=pl.col("diag_1").str.slice(0, 3))
        .sort("encounter_id")
        .select(
            pl.col("patient_nbr").alias(PERSON),
            pl.int_range(pl.len()).over("patient_nbr").alias(TIME),
            pl.col("age").alias(COHORT),
            frequent("code", 39),
        )
        .filter(pl.col(TIME) < 5)
    )
    return Stream("diabetes patients' diagnoses", one_each(rows), 4, "1/2", "1/2")


def stays() -> Stream:
    """Main diagnoses of hospital stays, quarter by quarter; of several in a quarter the first."""
    table = pl.read_parquet(DATA / "cms_desynpuf" / "inpatient_2008_2010.parquet")
    date = pl.col("CLM_ADMSN_DT")
    quarter = (date // 10_000 - 2008) * 4 + (date // 100 % 100 - 1) // 3
    rows = (
        table.with_columns(code=pl.col("ICD9_DGNS_CD_1").cast(pl.String).str.slice(0, 3))
        .drop_nulls("code")
        .sort("CLM_ADMSN_DT")
        .select(pl.col(PERSON), quarter.clip(0).alias(TIME), pl.lit("all").alias(COHORT), frequent("code", 49))
    )
    return Stream("Medicare stays' diagnoses (synthetic people)", one_each(rows), 5, "3/5", "3/5")


def moves(stream: Stream) -> tuple[list[str], np.ndarray, np.ndarray, float]:
    """The labels, their shares, the chances of all moves from one release to the next, and how many changed."""
    labels = sorted(stream.rows[VALUE].unique().to_list())
    place = {label: at for at, label in enumerate(labels)}
    rows = stream.rows.sort(PERSON, TIME).with_columns(at=pl.col(VALUE).replace_strict(place))
    person, time, at = (rows[name].to_numpy() for name in (PERSON, TIME, "at"))
    shares = np.bincount(at, minlength=len(labels)) / at.size
    going = (person[1:] == person[:-1]) & (time[1:] == time[:-1] + 1)
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (at[:-1][going], at[1:][going]), 1.0)
    chances = (counts + shares) / (counts + shares).sum(axis=1, keepdims=True)
    changed = 1 - np.trace(counts) / counts.sum()
    return labels, shares, (1 - NEVER) * chances + NEVER * shares, float(changed)


def as_table(labels: list[str], chances: np.ndarray) -> dict[str, dict[str, float]]:
    """A table of transitions as a policy has it."""
    return {one: dict(zip(labels, map(float, row), strict=True)) for one, row in zip(labels, chances, strict=True)}


def published(stream: Stream, folder: Path, change: object, limit: str, reference: Mapping[str, float]) -> ri.Series:
    """The whole series."""
    method = ri.Alternatives(m=stream.m, change=change, limit=limit, reference=reference)
    labels = ri.Categorical(values=[*reference])
    schema = ri.Schema(person=PERSON, quasi={COHORT: ri.Categorical(new="accept")}, sensitive={VALUE: labels})
    series = ri.open(folder, ri.Policy(schema, method))
    for state in stream.states():
        series.publish(state)
    return series


def figures(stream: Stream, folder: Path) -> Iterator[dict[str, object]]:
    """For each rule of change what it comes to."""
    labels, shares, chances, changed = moves(stream)
    reference = dict(zip(labels, map(float, shares), strict=True))
    chain = as_table(labels, chances)
    # The rate at which redraws give as many changes as there were.
    rate = round(changed / (1 - float((shares**2).sum())), 3)
    rules: dict[str, tuple[object, str]] = {
        "one rate": (min(rate, 1.0), stream.limit),
        "table of transitions": (chain, stream.limit_by_table),
    }
    for name, (change, limit) in rules.items():
        with published(stream, folder / name.replace(" ", "-"), change, limit, reference) as series:
            left_out = sum(len(one.summary["held_back"]) for one in series.releases)
            found = attacks.Tracking(change=chain).run(series.published())
        times = over_limit(found)
        yield {
            "table": stream.name,
            "rule": name,
            "people": int(times.size),
            "releases": int(stream.rows[TIME].max()) + 1,  # type: ignore[arg-type]
            "values": len(labels),
            "m": stream.m,
            "limit": limit,
            "changed": changed,
            "withheld": left_out,
            "beyond": float((times > 1 + 1e-9).mean()),
            "beyond_half_as_much_again": float((times > 1.5).mean()),
            **{f"at_{share:g}": float(np.quantile(times, share / 100)) for share in (50, 90, 99)},
            "largest": float(times.max()),
        }


def over_limit(found: attacks.TrackingFindings) -> np.ndarray:  # type: ignore[name-defined]
    """For each person the largest posterior of a value at any time, over what its design allows it."""
    followed = found.followed
    design = followed.histories.design
    limit = followed.histories.slots[design[:, None], followed.histories.codes] / followed.histories.m[design][:, None]
    times = np.where(followed.histories.codes >= 0, followed.posterior / limit, 0.0).max(axis=1)
    return np.maximum.reduceat(times, followed.histories.starts[:-1])


def main() -> int:
    """Publish and follow all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    asked = parser.parse_args()
    if not DATA.is_dir():
        console().print(f"There is no folder {DATA} with the tables; REISSUE_DATA may name it.")
        return 1
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number, stream in enumerate((women(), patients(), stays())):
            for row in figures(stream, Path(folder) / str(number)):
                results.append(row)
                console().print(row)
    save(asked.json, {"real_changes": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
