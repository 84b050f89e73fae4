"""What can be loaded by name, and any table by its path."""

from __future__ import annotations

import gzip
import urllib.request
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from http.client import HTTPException
from pathlib import Path
from typing import Literal

import polars as pl

from reissue.errors import ParameterError, TableError, UserError, count_of, listed
from reissue.samples.census import census, whole_numbers
from reissue.samples.hospital import hospital
from reissue.tables.frames import READABLE, read_table

Role = Literal["person", "quasi", "sensitive", "drop"]

ADULT_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data"
SECONDS = 30
CENSUS_ROWS = 600_000
HOSPITAL_PATIENTS = 240
GZIP = b"\x1f\x8b"

# In the order of the headerless file; the flag says which hold whole numbers.
ADULT_COLUMNS = {
    "age": True,
    "workclass": False,
    "fnlwgt": True,
    "education": False,
    "education-num": True,
    "marital-status": False,
    "occupation": False,
    "relationship": False,
    "race": False,
    "sex": False,
    "capital-gain": True,
    "capital-loss": True,
    "hours-per-week": True,
    "native-country": False,
    "salary-class": False,
}


@dataclass(frozen=True)
class Dataset:
    """A table that `load` knows by name."""

    name: str
    what: str
    """One line for people."""
    rows: int | None
    """How many rows it has; for a generated one, how many it has when nothing else is asked for."""
    source: str
    """Where it comes from."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """A role for every column, as a hint: person, quasi, sensitive or drop."""


def datasets() -> list[Dataset]:
    """Everything that `load` knows by name. It takes the path of any other table as well."""
    quasi: dict[str, Role] = {"age": "quasi", "gender": "quasi", "education": "quasi", "birthplace": "quasi"}
    generated = "generated, with the attribute domains of He et al. 2011, Table VIII"
    return [
        Dataset(
            "census",
            "Census-like people and their occupations, as many as you like",
            CENSUS_ROWS,
            generated,
            {"person": "person", **quasi, "occupation": "sensitive"},
        ),
        Dataset(
            "census-salary",
            "The same people and their salaries",
            CENSUS_ROWS,
            generated,
            {"person": "person", **quasi, "salary": "sensitive"},
        ),
        Dataset(
            "hospital",
            "The first month of the demo's little hospital",
            HOSPITAL_PATIENTS,
            "generated",
            {"patient": "person", "age": "quasi", "zip": "quasi", "sex": "quasi", "diagnosis": "sensitive"},
        ),
        Dataset(
            "adult",
            "UCI Adult (census income, 1994), downloaded or from a path; ARX's version of it from a path",
            32_561,
            ADULT_ADDRESS,
            {
                "person": "person",
                "age": "quasi",
                "workclass": "quasi",
                "fnlwgt": "drop",
                "education": "quasi",
                "education-num": "drop",
                "marital-status": "quasi",
                "occupation": "sensitive",
                "relationship": "drop",
                "race": "quasi",
                "sex": "quasi",
                "capital-gain": "drop",
                "capital-loss": "drop",
                "hours-per-week": "drop",
                "native-country": "quasi",
                "salary-class": "quasi",
            },
        ),
    ]


def load(
    name: str | Path, *, path: str | Path | None = None, rows: int | None = None, seed: int | None = None
) -> pl.DataFrame:
    """A table by its name (see `datasets`), or by its path (CSV, Parquet or Excel).

    `path` is where the file of a named dataset lies, for `adult` only: `adult.data` or `adult.test` as UCI
    has them, or ARX's `adult.csv`, each also gzipped. Left out, `adult` is downloaded; nothing is kept of it.
    `rows` is the number of rows of a generated table, and of any other the number of rows to take from its
    beginning, or all when there are fewer. `seed` is for generated tables only.
    """
    name = str(name)
    if rows is None:
        whole_numbers("load", seed)
    else:
        whole_numbers("load", seed, rows=(rows, 1 if name == "hospital" else 0))
    _check_use(name, path=path is not None, seed=seed is not None)
    if name == "census":
        return census(CENSUS_ROWS if rows is None else rows, seed=seed)
    if name == "census-salary":
        return census(CENSUS_ROWS if rows is None else rows, sensitive="salary", seed=seed)
    if name == "hospital":
        patients = HOSPITAL_PATIENTS if rows is None else rows
        return next(hospital(1, patients=patients) if seed is None else hospital(1, patients=patients, seed=seed))
    if name == "adult":
        table = _adult(_download(ADULT_ADDRESS) if path is None else _content(Path(path)))
    else:
        table = _table(name)
    return table if rows is None else table.head(rows)


def _check_use(name: str, *, path: bool, seed: bool) -> None:
    problems = []
    if path and name != "adult":
        problems.append("The 'path' parameter of load is for the dataset 'adult' only.")
    if seed and name not in ("census", "census-salary", "hospital"):
        problems.append("The 'seed' parameter of load is for generated tables only.")
    if problems:
        raise ParameterError(" ".join(problems), hint="leave it out; a table of your own is load('its/path.csv').")


def _table(name: str) -> pl.DataFrame:
    path = Path(name)
    if path.parent == Path() and not path.suffix and not path.exists():
        names = [dataset.name for dataset in datasets()]
        near = get_close_matches(name, names)
        raise UserError(
            f"There is no dataset named '{name}'. "
            + (f"Near it: {listed(near)}." if near else f"There are: {listed(names)}."),
            hint=f"give one of these names, or the path of a file that ends in {listed(READABLE)}.",
        )
    table, _ = read_table(path)
    return table


def _content(path: Path) -> bytes:
    """What a file holds, without its gzip wrapping."""
    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"The file '{path}' could not be read: {error.strerror}."
        raise UserError(what, hint="check the path.") from error
    if not content.startswith(GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        what = f"The file '{path.name}' is gzipped, but damaged or cut short."
        raise UserError(what, hint="fetch it again.") from error


def _download(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (OSError, HTTPException) as error:
        raise UserError(
            f"UCI Adult could not be downloaded from {address} ({str(error) or type(error).__name__}).",
            hint="fetch adult.data yourself and give its path: load('adult', path='adult.data').",
        ) from error
    return content


def _adult(content: bytes) -> pl.DataFrame:
    """UCI's headerless file, or ARX's with `;` and a header: stripped, numbered, whole numbers as such."""
    header = b";" in content.split(b"\n", 1)[0]
    raw = pl.DataFrame()
    # The parser's message quotes cells, and a chained exception would carry it: what it cannot read stays
    # empty here, and is refused below.
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raw = pl.read_csv(
            content,
            separator=";" if header else ",",
            has_header=header,
            infer_schema=False,
            quote_char=None,
            # adult.test begins with a line of its own, marked by a bar.
            comment_prefix="|",
        )
    if not header and raw.width == len(ADULT_COLUMNS):
        raw.columns = list(ADULT_COLUMNS)
    if "age" not in raw.columns or not set(raw.columns) <= set(ADULT_COLUMNS):
        raise _not_adult(["It has neither UCI's 15 fields without a header, nor ARX's header with ';'."])
    # Both files of UCI end with a blank line.
    stripped = raw.select(pl.all().str.strip_chars().replace("", None))
    stripped = stripped.filter(pl.any_horizontal(pl.all().is_not_null()))
    if "salary-class" in stripped.columns:
        # adult.test ends every line with a dot.
        stripped = stripped.with_columns(pl.col("salary-class").str.strip_suffix("."))
    numbers = [name for name in stripped.columns if ADULT_COLUMNS[name]]
    table = stripped.with_columns(pl.col(numbers).cast(pl.Int64, strict=False))
    problems = [
        f"Column '{name}' is {'not a number' if name in numbers else 'empty'} in {count_of(failed, 'row')}."
        for name in table.columns
        if (failed := table[name].null_count())
    ]
    if problems:
        raise _not_adult(problems)
    return table.select(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("person"), pl.all())


def _not_adult(problems: list[str]) -> TableError:
    return TableError(
        "This is not the Adult table.",
        problems=problems,
        hint="fetch adult.data from UCI and give its path: load('adult', path='adult.data').",
    )
