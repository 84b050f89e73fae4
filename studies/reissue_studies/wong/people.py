"""A stand-in for Adult: invented people with the nine attributes of Table 12 of Wong, Fu, Wang & Pei (2007).

The domains are Adult's; what depends on what is a model with rounded numbers, so nobody is described:

- age: a working population from 17 to 90; sex: two thirds are men.
- race, then native country by race: nine in ten were born in the United States.
- education by age and by where somebody was born: 3 to 4 % have less than "9th", a third of those from Central America.
- marital status by age and sex; work class by age; occupation by education and sex; salary by education, age and sex.

As in Adult, most combinations of eight attributes have one person only, and a few have many.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.samples.census import draw_given, whole_numbers
from reissue_studies.wong.taxonomies import OLDEST, YOUNGEST, labels

Floats = npt.NDArray[np.float64]

LEVELS = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th",
    "HS-grad", "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
"""From the lowest to the highest; Adult numbers them so."""
SCHOOLING = (0.8, 2, 4.2, 14, 13, 26, 36, 12, 335, 224, 44, 34, 172, 56, 18, 12)
"""How many in a thousand have each."""
RACES = {"White": 860, "Black": 93, "Asian-Pac-Islander": 29, "Amer-Indian-Eskimo": 10, "Other": 8}
BORN = {
    "United-States": 9130, "Mexico": 200, "Philippines": 63, "Germany": 43, "Puerto-Rico": 39, "Canada": 36,
    "India": 33, "El-Salvador": 33, "Cuba": 29, "England": 26, "China": 25, "Jamaica": 23, "South": 22, "Italy": 22,
    "Dominican-Republic": 21, "Japan": 20, "Guatemala": 19, "Vietnam": 18, "Columbia": 18, "Poland": 18, "Haiti": 15,
    "Portugal": 14, "Iran": 12, "Taiwan": 12, "Greece": 11, "Nicaragua": 11, "Peru": 10, "Ecuador": 9, "Ireland": 8,
    "France": 8, "Thailand": 6, "Hong": 6, "Cambodia": 6, "Trinadad&Tobago": 6, "Outlying-US(Guam-USVI-etc)": 5,
    "Yugoslavia": 5, "Laos": 5, "Scotland": 4, "Honduras": 4, "Hungary": 4, "Holand-Netherlands": 1,
}  # fmt: skip
"""How many in ten thousand were born there."""
CENTRAL = ("Mexico", "El-Salvador", "Guatemala", "Honduras", "Nicaragua")
ASIAN = (
    "Philippines", "India", "China", "South", "Japan", "Vietnam", "Iran", "Taiwan", "Thailand", "Hong", "Cambodia",
    "Laos",
)  # fmt: skip
ISLANDS = ("Jamaica", "Haiti", "Dominican-Republic", "Trinadad&Tobago")
CLASSES = {
    "Private": 735, "Self-emp-not-inc": 84, "Self-emp-inc": 36, "Federal-gov": 31, "State-gov": 43, "Local-gov": 69,
    "Without-pay": 0.5,
}  # fmt: skip
JOBS = {
    "Craft-repair": (133, 8, -2.6), "Prof-specialty": (133, 13, -0.1), "Exec-managerial": (132, 12, -0.4),
    "Adm-clerical": (123, 9, 1.4), "Sales": (119, 10, -0.1), "Other-service": (106, 7, 0.9),
    "Machine-op-inspct": (66, 6, -0.4), "Transport-moving": (51, 7, -2.4), "Handlers-cleaners": (45, 6, -1.4),
    "Farming-fishing": (33, 5, -2.2), "Tech-support": (31, 10, 0.0), "Protective-serv": (22, 9, -1.5),
    "Priv-house-serv": (5, 4, 3.0), "Armed-Forces": (0.3, 8, -3.0),
}  # fmt: skip
"""How many in a thousand, the level of education typical for it, how much likelier a woman is to do it (logarithm)."""
TYPICAL_WIDTH = 2.5
SEXES = ("Female", "Male")
SALARIES = ("<=50K", ">50K")
ORIGINS = 3
"""Home, Central America, elsewhere."""


def people(rows: int, *, seed: int | None = None) -> pl.DataFrame:
    """A table of invented people: `person`, the eight attributes of the quasi-identifier, and `education`."""
    whole_numbers("people", seed, rows=(rows, 0))
    rng, model = np.random.default_rng(seed), _model()
    everyone = np.zeros(rows, dtype=np.int64)
    age = draw_given(rng, model.age, everyone)
    sex = draw_given(rng, model.sex, everyone)
    race = draw_given(rng, model.race, everyone)
    country = draw_given(rng, model.country, race)
    education = draw_given(rng, model.education, age * ORIGINS + model.origin[country])
    marital = draw_given(rng, model.marital, age * 2 + sex)
    work = draw_given(rng, model.work, age)
    job = draw_given(rng, model.job, education * 2 + sex)
    salary = draw_given(rng, model.salary, (age * len(LEVELS) + education) * 2 + sex)
    return pl.DataFrame(
        {
            "person": np.arange(1, rows + 1),
            "age": age + YOUNGEST,
            "workclass": _named(tuple(CLASSES), work),
            "marital-status": _named(labels("marital-status"), marital),
            "occupation": _named(tuple(JOBS), job),
            "race": _named(tuple(RACES), race),
            "sex": _named(SEXES, sex),
            "native-country": _named(tuple(BORN), country),
            "salary-class": _named(SALARIES, salary),
            "education": _named(LEVELS, education),
        }
    )


class _Model(NamedTuple):
    """Weights of the values of each attribute, one row for each combination of what it depends on."""

    age: Floats
    sex: Floats
    race: Floats
    country: Floats
    origin: npt.NDArray[np.int64]
    """For each country whether it is home, in Central America or elsewhere."""
    education: Floats
    marital: Floats
    work: Floats
    job: Floats
    salary: Floats


@cache
def _model() -> _Model:
    ages = np.arange(YOUNGEST, OLDEST + 1)
    age = np.clip((ages - 13) / 9, 0.3, 1) / (1 + np.exp((ages - 53) / 7.5))
    origin = np.array([0 if place == "United-States" else 1 if place in CENTRAL else 2 for place in BORN])
    salary = -3.2 + 0.32 * (np.arange(len(LEVELS))[:, None] - 8) + 0.55 * np.array([-1.6, 1.0])
    by_age = 2.4 - ((ages - 50) / 17.0) ** 2
    odds = np.exp(np.clip(salary[None] + by_age[:, None, None], -8, 4)).reshape(-1)
    return _Model(
        age=age[None],
        sex=np.array([[0.325, 0.675]]),
        race=np.array([[*RACES.values()]], dtype=np.float64),
        country=_country(),
        origin=origin,
        education=_education(ages),
        marital=_marital(ages),
        work=_work(ages),
        job=_job(),
        salary=np.column_stack([np.ones_like(odds), odds]),
    )


def _country() -> Floats:
    """Rows: race. Where most people of a race come from is made likelier, the others rarer."""
    likelier = {"Black": (ISLANDS, 8.0), "Asian-Pac-Islander": (ASIAN, 90.0), "Other": ((*CENTRAL, *ISLANDS), 12.0)}
    rarer = {"White": (*ASIAN, *ISLANDS), "Black": (*ASIAN, *CENTRAL), "Amer-Indian-Eskimo": tuple(BORN)[1:]}
    rows = []
    for race in RACES:
        places, often = likelier.get(race, ((), 1.0))
        few = {*rarer.get(race, ())} - {*places}
        rows.append([share * (often if p in places else 0.15 if p in few else 1.0) for p, share in BORN.items()])
    return np.array(rows, dtype=np.float64)


def _education(ages: npt.NDArray[np.int64]) -> Floats:
    """Rows: age, then where somebody was born."""
    level = np.arange(len(LEVELS))
    low = level < LEVELS.index("9th")
    # The old went to school for a shorter time; the young have not yet done what takes long.
    shorter = np.where(low, np.exp(np.clip((ages - 45) / 14, -0.8, 2))[:, None], 1.0)
    youngest = np.array([17] * 8 + [18, 18, 20, 20, 21, 23, 25, 27])
    allowed = np.where(ages[:, None] >= youngest, 1.0, 0.0)
    home = np.array(SCHOOLING) * shorter * allowed
    central = home * np.where(low, 24.0, np.where(level > 9, 0.4, 1.0))
    elsewhere = home * np.where(low, 2.6, np.where(level > 11, 1.6, 1.0))
    return np.stack([home, central, elsewhere], axis=1).reshape(-1, len(LEVELS))


def _marital(ages: npt.NDArray[np.int64]) -> Floats:
    """Rows: age, then sex (Female, Male)."""
    single = 1 / (1 + np.exp((ages - 27) / 4.5))
    later = np.clip((ages - 22) / 30, 0, 1)
    weights = {
        "Married-civ-spouse": ([0.25, 0.75], (1 - single)),
        "Married-AF-spouse": ([0.001, 0.0005], (1 - single)),
        "Married-spouse-absent": ([0.015, 0.012], (1 - single)),
        "Separated": ([0.06, 0.02], (1 - single)),
        "Divorced": ([0.33, 0.13], later * (1 - single)),
        "Widowed": ([0.25, 0.03], later**3),
        "Never-married": ([1.0, 1.1], single + 0.08),
    }
    columns = [np.multiply.outer(by_age, by_sex) for by_sex, by_age in (weights[n] for n in labels("marital-status"))]
    stacked: Floats = np.stack(columns, axis=-1).reshape(-1, len(columns))
    return stacked + 1e-6


def _work(ages: npt.NDArray[np.int64]) -> Floats:
    """Rows: age. Working for oneself comes with the years."""
    years = np.clip((ages - 20) / 25, 0.1, 2)[:, None]
    own = np.array([name.startswith("Self-emp") for name in CLASSES])
    return np.where(own, np.array([*CLASSES.values()]) * years, np.array([*CLASSES.values()]))


def _job() -> Floats:
    """Rows: education, then sex (Female, Male)."""
    share, typical, women = np.array([*JOBS.values()]).T
    level = np.arange(len(LEVELS))[:, None]
    near = share * (np.exp(-(((level - typical) / TYPICAL_WIDTH) ** 2) / 2) + 0.01)
    weights: Floats = (near[:, None, :] * np.exp(np.stack([women, -women]) / 4)).reshape(-1, len(JOBS))
    return weights


def _named(names: tuple[str, ...], codes: npt.NDArray[np.int64]) -> pl.Series:
    return pl.Series(names, dtype=pl.String).gather(codes)
