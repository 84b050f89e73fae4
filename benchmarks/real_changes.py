"""Real tables whose values change, published as sets: what somebody learns who knows how people move.

Half of the people of each table are published release by release with `Alternatives`: with one rate of change, with a
table of transitions counted of them with noise by `ri.moves` (epsilon = 1, and 4), and with their exact one. Then
`Tracking` follows everybody with a chain of the adversary's own: that of the *other* half, which is what somebody with
a similar table has; and that of the published half itself, which nobody has who has not seen the table.

For each person the value and the time count at which its posterior is the largest multiple of its limit. `claimed` is
how many people have more than 1.5 times the limit there; `right` how often that value is the true one, over what the
limits say: 1 is as promised.

python benchmarks/real_changes.py --json figures.json
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    """What the most frequent values need, and those that lives crowd at."""

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
    return Stream("women's occupations", one_each(rows), 8, "7/8")


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
    return Stream("diabetes patients' diagnoses", one_each(rows), 4, "3/4")


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
    return Stream("Medicare stays' diagnoses (synthetic people)", one_each(rows), 5, "3/5")


def moves(stream: Stream, labels: list[str] | None) -> tuple[list[str], np.ndarray, np.ndarray, float]:
    """The labels, their shares, the chances of all moves from one release to the next, and how many changed."""
    labels = labels or sorted(stream.rows[VALUE].unique().to_list())
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


def schema_of(reference: Mapping[str, float]) -> ri.Schema:
    """The same for all of them."""
    labels = ri.Categorical(values=[*reference])
    return ri.Schema(person=PERSON, quasi={COHORT: ri.Categorical(new="accept")}, sensitive={VALUE: labels})


def published(stream: Stream, folder: Path, change: object, limit: str, reference: Mapping[str, float]) -> ri.Series:
    """The whole series."""
    method = ri.Alternatives(m=stream.m, change=change, limit=limit, reference=reference)
    series = ri.open(
        folder, ri.Policy(schema_of(reference), method, checks=ri.Checks(counterfeit=1, few_groups=1, withheld=1))
    )
    for state in stream.states():
        series.publish(state)
    return series


def half(stream: Stream, which: int) -> Stream:
    """Half of the people, chosen by their numbers alone."""
    return replace(stream, rows=stream.rows.filter(pl.col(PERSON).hash(7) % 2 == which))


def figures(stream: Stream, folder: Path) -> Iterator[dict[str, object]]:
    """For each rule of change what it comes to."""
    labels, shares, _, _ = moves(stream, None)
    reference = dict(zip(labels, map(float, shares), strict=True))
    ours, others = half(stream, 1), half(stream, 0)
    _, own_shares, own, changed = moves(ours, labels)
    _, _, similar, _ = moves(others, labels)
    # The rate at which redraws give as many changes as there were.
    rate = round(min(1.0, changed / (1 - float((own_shares**2).sum()))), 3)
    rules: dict[str, object] = {"one rate": rate}
    for epsilon in (1, 4):
        counted = ri.moves([*ours.states()], schema_of(reference), epsilon=epsilon, most=1, reference=reference)
        rules[f"table counted with epsilon = {epsilon}"] = counted.change
    rules["exact table"] = as_table(labels, own)
    for number, (name, change) in enumerate(rules.items()):
        with published(ours, folder / str(number), change, stream.limit, reference) as series:
            withheld = sum(len(one.summary["held_back"]) for one in series.releases)
            view, people = series.published(), series._ledger.people()
        told: dict[str, float] = {}
        for whose, chain in (("other", similar), ("same", own)):
            found = attacks.Tracking(change=as_table(labels, chain)).run(view)
            claimed, right = judged(found, ours, people)
            told |= {f"claimed, {whose} half's chain": claimed, f"right, {whose} half's chain": right}
        yield {
            "table": stream.name,
            "rule": name,
            "people": len(people),
            "releases": int(stream.rows[TIME].max()) + 1,  # type: ignore[arg-type]
            "values": len(labels),
            "m": stream.m,
            "changed": changed,
            "withheld": withheld,
            **told,
        }


def judged(found: Any, stream: Stream, people: pl.DataFrame) -> tuple[float, float]:
    """How many people have a posterior of more than 1.5 limits at their worst time, and how often what is likeliest
    there is true, over the limits."""
    followed = found.followed
    histories = followed.histories
    limit = histories.slots[histories.design[:, None], histories.codes] / histories.m[histories.design][:, None]
    times = np.where(histories.codes >= 0, followed.posterior / limit, 0.0)
    rows = np.lexsort((-times.max(axis=1), histories.owner))[histories.starts[:-1]]
    place = times[rows].argmax(axis=1)
    values = pl.Series([str(value) for value in found.published.values]).gather(histories.codes[rows, place])
    worst = pl.DataFrame({"number": histories.people, TIME: histories.release[rows], "guess": values})
    named = worst.join(people.cast({"number": pl.Int64}), on="number", maintain_order="left")
    true = named.join(stream.rows.rename({PERSON: "id"}), on=["id", TIME], maintain_order="left")
    hits = float((true["guess"] == true[VALUE]).mean())  # type: ignore[arg-type]
    return float((times[rows, place] > 1.5).mean()), hits / float(limit[rows, place].mean())


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
