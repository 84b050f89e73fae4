"""Made-up people, simple enough to stay the same for ever, and hashes of tables that do not depend on files.

Nothing here uses Reissue, numpy or anything else that may change: everybody follows from a number and Python's own
generator, whose `random()` is documented to stay as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import date, timedelta
from random import Random

import polars as pl

DIAGNOSES = (
    "angina", "asthma", "bronchitis", "cancer", "diabetes", "flu",
    "gastritis", "gout", "hepatitis", "measles", "migraine", "ulcer",
)  # fmt: skip
EDUCATION = {
    "any": ["school", "university"],
    "school": ["primary", "secondary"],
    "university": ["bachelor", "master", "doctorate"],
}
LEAVES = ("primary", "secondary", "bachelor", "master", "doctorate")
INSURANCE = ("public", "private", "none")

COLUMNS = {
    "patient": pl.String,
    "age": pl.Int64,
    "sex": pl.String,
    "zip": pl.Int64,
    "weight": pl.Float64,
    "admitted": pl.Date,
    "education": pl.String,
    "insurance": pl.String,
    "ward": pl.String,
    "diagnosis": pl.String,
    "cost": pl.Int64,
}


def person(number: int, *, moved: bool = False, changed: bool = False) -> dict[str, object]:
    """One patient; `moved` with other quasi-identifiers than at first, `changed` with another diagnosis."""
    draws = Random(f"patient {number}")

    def draw(many: int) -> int:
        return int(draws.random() * many)

    found: dict[str, object] = {
        "patient": f"P-{number:04}",
        "age": 18 + draw(40) + draw(35),
        "sex": ("female", "male")[draw(2)],
        "zip": 53100 + 10 * draw(8) + draw(4),
        "weight": None if draw(12) == 0 else 50 + draw(100) / 2,
        "admitted": date(2023, 1, 1) + timedelta(days=draw(300)),
        "education": LEAVES[draw(len(LEAVES))],
        "insurance": None if draw(10) == 0 else INSURANCE[draw(len(INSURANCE))],
        "ward": ("north", "south")[draw(2)],
        "diagnosis": DIAGNOSES[draw(len(DIAGNOSES))],
        "cost": 100 * (1 + draw(60)),
    }
    if moved:
        found |= {"age": 20 + draw(60), "zip": 53100 + draw(80)}
    if changed:
        found |= {"diagnosis": DIAGNOSES[draw(len(DIAGNOSES))], "cost": 100 * (1 + draw(60))}
    return found


def patients(numbers: Iterable[int], *, moved: Iterable[int] = (), changed: Iterable[int] = ()) -> pl.DataFrame:
    """The patients with these numbers, with all their columns."""
    moved, changed = set(moved), set(changed)
    rows = [person(number, moved=number in moved, changed=number in changed) for number in numbers]
    return pl.DataFrame(rows, schema=COLUMNS)


def registry(numbers: Iterable[int], *, moved: Iterable[int] = ()) -> pl.DataFrame:
    """Everybody there is, in the table or not."""
    return patients(numbers, moved=moved).select("patient", "age", "zip")


def facts(numbers: Iterable[int], month: int, *, carriers: Iterable[int] = ()) -> pl.DataFrame:
    """The illnesses of those who came in a month, one or two for each, and of carriers the permanent one too."""
    carriers = set(carriers)
    rows = []
    for number in numbers:
        draws = Random(f"month {month} of patient {number}")
        many = 1 + int(draws.random() * 2)
        ill = sorted({int(draws.random() * len(DIAGNOSES)) for _ in range(many)})
        rows += [(f"P-{number:04}", DIAGNOSES[one]) for one in ill]
        rows += [(f"P-{number:04}", "HIV")] if number in carriers else []
    return pl.DataFrame(rows, schema={"patient": pl.String, "diagnosis": pl.String}, orient="row")


def canonical_hash(frame: pl.DataFrame) -> str:
    """SHA-256 of the names, the types and the values of a table, row after row; not of the bytes of any file."""
    types = [[name, str(dtype)] for name, dtype in frame.schema.items()]
    text = json.dumps([types, frame.rows()], default=str, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def hashes(tables: dict[str, pl.DataFrame]) -> dict[str, str]:
    """The hash of each table by its name."""
    return {name: canonical_hash(table) for name, table in sorted(tables.items())}
