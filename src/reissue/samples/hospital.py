"""The little hospital of the demo: who lies in it, month by month.

Everybody in it is invented. Diagnoses depend on age; the most frequent has a share of about an eighth.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from reissue.samples.census import draw_given, whole_numbers

TURNOVER = 0.15
FIRST_NUMBER = 421
SEXES = ("female", "male")
OLDEST = 95

# Three towns, from the largest to the smallest: where their postal codes begin, how many there are, and the
# share of the patients who live there.
TOWNS = ((53110, 16, 0.55), (53140, 10, 0.30), (53170, 6, 0.15))

# Weights among the young, the grown-up and the old.
DIAGNOSES = {
    "influenza": (14, 12, 11),
    "pneumonia": (10, 10, 14),
    "heart disease": (2, 9, 17),
    "diabetes": (5, 11, 12),
    "fracture": (14, 9, 10),
    "asthma": (16, 8, 4),
    "gastritis": (10, 10, 6),
    "cancer": (3, 8, 9),
    "appendicitis": (14, 7, 2),
    "depression": (7, 9, 5),
    "hepatitis": (3, 4, 3),
    "HIV": (2, 3, 1),
}
GROWN_UP, OLD = 25, 60

SHARES = {
    "influenza": 0.121,
    "pneumonia": 0.120,
    "heart disease": 0.119,
    "diabetes": 0.110,
    "fracture": 0.103,
    "gastritis": 0.085,
    "cancer": 0.080,
    "asthma": 0.074,
    "depression": 0.072,
    "appendicitis": 0.059,
    "hepatitis": 0.036,
    "HIV": 0.021,
}
"""How frequent diagnoses are among all who could come, as a statistic of the country would say: not counted here."""


def hospital(months: int = 4, *, patients: int = 240, seed: int | None = 2011) -> Iterator[pl.DataFrame]:
    """The patients of each month: patient, age, zip, sex and diagnosis.

    From month to month 15 % are discharged and as many admitted; nobody comes back, and nothing about
    a patient changes. Patients are numbered as they come. Leave the seed alone to get the same hospital every
    time; more months begin with the same ones.
    """
    whole_numbers("hospital", seed, months=(months, 1), patients=(patients, 1))
    return _months(months, patients, np.random.default_rng(seed))


def _months(months: int, patients: int, rng: np.random.Generator) -> Iterator[pl.DataFrame]:
    turnover = max(1, round(TURNOVER * patients))
    number = FIRST_NUMBER + patients
    state = _admitted(FIRST_NUMBER, number, rng)
    yield state
    for _ in range(months - 1):
        staying = state[np.sort(rng.permutation(patients)[turnover:])]
        state = pl.concat([staying, _admitted(number, number + turnover, rng)], rechunk=True)
        number += turnover
        yield state


def _admitted(first: int, end: int, rng: np.random.Generator) -> pl.DataFrame:
    people = end - first
    age = np.clip(np.rint(OLDEST * rng.beta(2.0, 1.6, size=people)), 1, OLDEST).astype(np.int64)
    start, size, share = (np.array(column) for column in zip(*TOWNS, strict=True))
    town = draw_given(rng, share[None, :], np.zeros(people, dtype=np.int64))
    sex = draw_given(rng, np.array([[0.52, 0.48]]), np.zeros(people, dtype=np.int64))
    stage = np.searchsorted([GROWN_UP, OLD], age, side="right")
    diagnosis = draw_given(rng, np.array(tuple(DIAGNOSES.values()), dtype=np.float64).T, stage)
    return pl.DataFrame(
        {
            "patient": "P-" + pl.Series(np.arange(first, end)).cast(pl.String).str.zfill(4),
            "age": age,
            "zip": start[town] + rng.integers(size[town]),
            "sex": pl.Series(SEXES).gather(sex),
            "diagnosis": pl.Series(tuple(DIAGNOSES)).gather(diagnosis),
        }
    )
