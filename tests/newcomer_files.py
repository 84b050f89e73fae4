"""Six real tables as somebody has them: a file for each period, as an export of their own system wrote it.

Nothing is tidied: ids as they come, several rows for a person, dates as text, codes that look like numbers, semicolons,
empty cells, more columns than anybody needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from real_data import FOLDER


@dataclass(frozen=True)
class Stream:
    """The files of one table, in the order of time, and what an analyst wants to know of it."""

    name: str
    source: str
    """The file of the data set, under the folder of all."""
    write: Callable[[Path, Path], list[tuple[Path, str]]]
    """Writes the files to a folder; gives each with its period."""


def _stays(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """Encounters of diabetic patients, by quarters of their order: 50 columns, `?` for what is missing."""
    table = pl.read_csv(data, infer_schema_length=None).sort("encounter_id")
    table = table.filter(pl.col("patient_nbr") % 4 == 0)
    files = []
    for at in range(4):
        part = table.slice(at * table.height // 4, table.height // 4)
        file = folder / f"encounters_2008_Q{at + 1}.csv"
        part.write_csv(file)
        files.append((file, f"2008-Q{at + 1}"))
    return files


def _admissions(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """Stays with a row each, separated by semicolons; dates such as 20080312; codes of groups and diagnoses."""
    stays = pl.read_parquet(data)
    people = pl.read_parquet(data.with_name("beneficiary_2008_2010.parquet")).unique("person", keep="first")
    wanted = ["person", "BENE_BIRTH_DT", "BENE_SEX_IDENT_CD", "BENE_RACE_CD", "SP_STATE_CODE"]
    table = stays.join(people.select(wanted), on="person").filter(pl.col("person") % 4 == 0)
    wide = ["ICD9_DGNS_CD_3", "ICD9_DGNS_CD_4", *(f"ICD9_DGNS_CD_{at}" for at in range(5, 11))]
    table = table.drop(wide).with_columns(pl.col(pl.Categorical).cast(pl.String))
    files = []
    for at, (first, last) in enumerate(((1, 3), (4, 6), (7, 9), (10, 12)), 1):
        inside = pl.col("CLM_ADMSN_DT").is_between(20080000 + first * 100, 20080000 + last * 100 + 31)
        file = folder / f"admissions-2008-Q{at}.csv"
        table.filter(inside).write_csv(file, separator=";")
        files.append((file, f"2008-Q{at}"))
    return files


def _women(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """A panel as pandas writes it: whole numbers with `.0` where a wave has gaps."""
    table = pl.read_parquet(data)
    files = []
    for year in (83, 85, 87, 88):
        file = folder / f"wave19{year}.csv"
        table.filter(pl.col("year") == year).write_csv(file)
        files.append((file, f"19{year}"))
    return files


def _cases(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """A line list as it was published on three days: one row for each case, dates as text, outcomes that change."""
    table = pl.read_parquet(data).with_columns(pl.col(pl.Categorical).cast(pl.String))
    files = []
    for day in table["release"].unique().sort():
        file = folder / f"cases {day}.parquet"
        table.filter(pl.col("release") == day).drop("release").write_parquet(file)
        files.append((file, str(day)))
    return files


def _liver(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """People of a liver clinic with the last thing that happened to them so far, as Excel files."""
    people, events = pl.read_parquet(data), pl.read_parquet(data.with_name("nafld3.parquet"))
    files = []
    for at, until in enumerate((2_500, 3_500, 4_500), 1):
        last = events.filter(pl.col("days") <= until).sort("days").unique("id", keep="last").drop("days")
        state = people.select("id", "age", "male", "weight", "height", "bmi").join(last, on="id").sort("id")
        file = folder / f"clinic{2010 + at}.xlsx"
        state.write_excel(file)
        files.append((file, str(2010 + at)))
    return files


def _benefits(data: Path, folder: Path) -> list[tuple[Path, str]]:
    """A survey of coverage and income: a tenth of the people is replaced from one year to the next."""
    table = pl.read_parquet(data).filter(pl.col("row") % 12 < 2)
    files = []
    for at, year in enumerate(("2018", "2019", "2020")):
        file = folder / f"coverage_{year}.csv.gz"
        kept = table.filter((pl.col("row") // 12 % 10 != at) & (pl.col("row") // 12 % 10 != (at + 5) % 10))
        kept.write_csv(file, compression="gzip")
        files.append((file, year))
    return files


STREAMS = (
    Stream("stays", "diabetes130/diabetic_data.csv.gz", _stays),
    Stream("admissions", "cms_desynpuf/inpatient_2008_2010.parquet", _admissions),
    Stream("women", "panels/nlswork.parquet", _women),
    Stream("cases", "covid_linelists/toronto_releases.parquet", _cases),
    Stream("liver", "panels/nafld1.parquet", _liver),
    Stream("benefits", "acs2018/acs_pubcov_2018.parquet", _benefits),
)


def written(stream: Stream, folder: Path) -> list[tuple[Path, str]]:
    """The files of a stream, each with its period."""
    return stream.write(FOLDER / stream.source, folder)
