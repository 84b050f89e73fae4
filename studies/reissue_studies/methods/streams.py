"""The streams that all methods publish: tables one after the other, of the same people as they come, go and change.

| stream      | who is in a table                                    | the sensitive value                           |
|-------------|------------------------------------------------------|-----------------------------------------------|
| census      | generated people; each time 10 % leave, 8 % are new, | occupation; as in the papers it never         |
|             | and 2 % come back                                    | changes, unless that is asked for             |
| diabetes130 | patients with a stay in the last 4 of 12 periods     | main diagnosis of the last stay, in groups    |
| nlswork     | women asked in a wave of a survey                    | occupation, and industry where it is frequent |
| cms         | people with a hospital stay in the last 4 quarters   | main diagnosis of the last stay, in groups    |

The last tables of a stream are published. Those before them are what the publisher had earlier: how values change is
counted from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reissue.errors import ParameterError, count_of
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.samples.census import BIRTHPLACES, EDUCATIONS, GENDERS, OCCUPATIONS, census
from reissue.samples.streams import churn
from reissue_studies.methods.diagnoses import OTHER, grouped

PERSON, TIME = "person", "time"
EARLIER = 2
"""So many generated tables come before those that are published."""
LEAVING, RETURNING = 0.10, 0.02
"""Of the generated people, from one table to the next; those who come make up for those who leave."""
PERIODS, WINDOW = 12, 4
"""Stays fall into so many periods, and a table has everybody with a stay in the last few of them."""
FREQUENT, RARE = 0.02, 0.01
"""A pair of occupation and industry is a value from this share on; an occupation below the second is "other"."""


@dataclass(frozen=True, repr=False)
class Stream:
    """Tables one after the other, and what their columns are."""

    name: str
    schema: Schema
    by: str
    """The column in whose groups trends are looked at."""
    earlier: Sequence[pl.DataFrame]
    """What the publisher had before."""
    states: Sequence[pl.DataFrame]
    """The tables that are published."""

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.schema.sensitive

    def __repr__(self) -> str:
        return f"Stream({self.name}, {count_of(len(self.states), 'release')})"


def generated(rows: int, releases: int, changing: float, seed: int) -> Stream:
    """The census, with so many people in each table; the values of a share of them change each time."""
    leaving, returning, changes = (round(rows * share) for share in (LEAVING, RETURNING, changing))
    tables = EARLIER + releases
    states = churn(
        census(rows + tables * leaving, seed=seed), initial=rows, arrivals=leaving - returning, departures=leaving,
        returns=returning, changes=changes, releases=tables, seed=seed,
    )  # fmt: skip
    quasi: dict[str, Kind] = {
        "age": Numeric(),
        "gender": Categorical(GENDERS),
        "education": Categorical(EDUCATIONS),
        "birthplace": Categorical(BIRTHPLACES),
    }
    schema = Schema(person=PERSON, quasi=quasi, sensitive={"occupation": Categorical(tuple(OCCUPATIONS))})
    return _ended("census", schema, "gender", list(states), releases)


def real(name: str, folder: Path, rows: int | None, releases: int, seed: int) -> Stream:
    """A stream from files; of more people than `rows` in the last table, a draw of them."""
    schema, by, tables = SOURCES[name].read(folder)
    last = tables[-1].height
    if rows is not None and rows < last:
        people = pl.concat([table[PERSON] for table in tables]).unique().sort()
        drawn = np.random.default_rng(seed).random(len(people)) < rows / last
        chosen = pl.DataFrame({PERSON: people.filter(pl.Series(drawn))})
        tables = [table.join(chosen, on=PERSON, how="semi", maintain_order="left") for table in tables]
    return _ended(name, schema, by, tables, releases)


def missing(name: str, folder: Path) -> list[str]:
    """The files that a stream is read from and that are not in the folder."""
    return [file for file in SOURCES[name].files if not (folder / file).is_file()]


def _ended(name: str, schema: Schema, by: str, tables: Sequence[pl.DataFrame], releases: int) -> Stream:
    most = len(tables) - EARLIER
    if releases > most:
        raise ParameterError(
            f"The stream {name} has {len(tables)} tables. {EARLIER} of them are needed to count how values change, so "
            f"that at most {most} can be published. Got {releases} instead."
        )
    return Stream(name, schema, by, tables[:-releases], tables[-releases:])


# What is read from files


Read = tuple[Schema, str, list[pl.DataFrame]]


def _diabetes130(folder: Path) -> Read:
    """Stays in 130 hospitals; their numbers are taken for their order, and the periods have equally many."""
    table = pl.read_csv(folder / "diabetes130/diabetic_data.csv.gz", infer_schema_length=0)
    known = table.filter((pl.col("diag_1") != "?") & pl.col("gender").is_in(["Female", "Male"]))
    stays = known.select(
        pl.col("encounter_id").cast(pl.Int64).alias(TIME),
        pl.col("patient_nbr").cast(pl.Int64).alias(PERSON),
        pl.col("age").str.extract(r"(\d+)").cast(pl.Int64),  # [60-70)
        "gender",
        pl.col("race").replace("?", "unknown"),
        pl.col("time_in_hospital").cast(pl.Int64).alias("days"),
        pl.col("payer_code").replace("?", "unknown").alias("payer"),
        grouped(known["diag_1"]).alias("diagnosis"),
    ).sort(TIME)
    period = pl.int_range(pl.len()) * PERIODS // pl.len()
    return _schema(stays, "diagnosis"), "gender", _windows(stays.with_columns(period.alias(TIME)))


def _nlswork(folder: Path) -> Read:
    """Women of the National Longitudinal Survey, wave after wave."""
    columns = ("idcode", "year", "age", "race", "grade", "south", "occ_code", "ind_code")
    table = pl.read_parquet(folder / "panels/nlswork.parquet", columns=list(columns)).drop_nulls()
    pair = pl.format("occupation {}, industry {}", *(pl.col(name).cast(pl.Int64) for name in columns[-2:]))
    alone = pl.format("occupation {}", pl.col("occ_code").cast(pl.Int64))
    often = pl.len().over("occ_code", "ind_code") / pl.len() >= FREQUENT
    named = table.with_columns(job=pl.when(often).then(pair).otherwise(alone))
    rows = named.select(
        pl.col("year").alias(TIME),
        pl.col("idcode").alias(PERSON),
        *(pl.col(name).cast(pl.Int64) for name in ("age", "grade")),
        *(pl.col(name).cast(pl.Int64).cast(pl.String) for name in ("race", "south")),
        pl.when(pl.len().over("job") / pl.len() >= RARE).then("job").otherwise(pl.lit(OTHER)).alias("job"),
    ).sort(TIME, PERSON)
    waves = [wave.drop(TIME) for wave in rows.partition_by(TIME, maintain_order=True)]
    return _schema(rows, "job"), "south", waves


def _cms(folder: Path) -> Read:
    """Hospital stays of synthetic people insured by Medicare, by quarters of 2008 to 2010."""
    stays = pl.read_parquet(
        folder / "cms_desynpuf/inpatient_2008_2010.parquet", columns=[PERSON, "CLM_ADMSN_DT", "ICD9_DGNS_CD_1"]
    ).drop_nulls()
    people = pl.read_parquet(
        folder / "cms_desynpuf/beneficiary_2008_2010.parquet",
        columns=[PERSON, "BENE_BIRTH_DT", "BENE_SEX_IDENT_CD", "BENE_RACE_CD", "SP_STATE_CODE"],
    ).unique(PERSON, keep="first", maintain_order=True)
    date = pl.col("CLM_ADMSN_DT")
    stays = stays.sort("CLM_ADMSN_DT", PERSON, maintain_order=True).join(people, on=PERSON, maintain_order="left")
    rows = stays.select(
        ((date // 10_000 - 2008) * 4 + (date // 100 % 100 - 1) // 3).clip(0).alias(TIME),
        pl.col(PERSON),
        (2008 - pl.col("BENE_BIRTH_DT") // 10_000).alias("age"),
        pl.col("BENE_SEX_IDENT_CD").cast(pl.String).alias("sex"),
        pl.col("BENE_RACE_CD").cast(pl.String).alias("race"),
        pl.col("SP_STATE_CODE").cast(pl.String).alias("state"),
        grouped(stays["ICD9_DGNS_CD_1"]).alias("diagnosis"),
    )
    return _schema(rows, "diagnosis"), "sex", _windows(rows)


def _windows(stays: pl.DataFrame) -> list[pl.DataFrame]:
    """Of each period everybody with a stay in it or the few before, with their last stay."""
    ends = range(WINDOW - 1, PERIODS)
    recent = [stays.filter(pl.col(TIME).is_between(end - WINDOW + 1, end)) for end in ends]
    return [rows.drop(TIME).unique(PERSON, keep="last", maintain_order=True) for rows in recent]


def _schema(rows: pl.DataFrame, sensitive: str) -> Schema:
    """What the columns are, with all labels that occur, so that no release has labels of its own."""
    kinds: dict[str, Kind] = {
        name: Numeric() if kind.is_numeric() else Categorical(tuple(rows[name].unique().sort()))
        for name, kind in rows.schema.items()
        if name not in (PERSON, TIME, sensitive)
    }
    values = Categorical(tuple(rows[sensitive].unique().sort()))
    return Schema(person=PERSON, quasi=kinds, sensitive={sensitive: values})


@dataclass(frozen=True)
class Source:
    """Where a stream comes from."""

    files: tuple[str, ...]
    """What it is read from, below the folder of data."""
    read: Callable[[Path], Read]
    """Its schema, the column for trends, and all its tables."""


SOURCES: Mapping[str, Source] = {
    "diabetes130": Source(("diabetes130/diabetic_data.csv.gz",), _diabetes130),
    "nlswork": Source(("panels/nlswork.parquet",), _nlswork),
    "cms": Source(("cms_desynpuf/inpatient_2008_2010.parquet", "cms_desynpuf/beneficiary_2008_2010.parquet"), _cms),
}
"""The streams of real people, and of synthetic ones made like real ones."""
GENERATED = "census"
STREAMS = (GENERATED, *SOURCES)
