"""A stand-in for the hospital data of Bu, Fu, Wong, Chen & Li (2008), section 4: invented people and their diagnoses.

The paper takes *Reports* (people) and *Reactions* (person, disease) of a Canadian database of adverse reactions. What
is made here has its sizes; what depends on what is a model with rounded numbers, so nobody is described:

- age: all ages, most between 40 and 80; sex: somewhat more women; province: by its population.
- height by age and sex; weight by height, with a wide spread.
- how many diagnoses somebody has: one at least, 2.6 on average, a few people have twenty and more.
- which: 600 terms by Zipf's law with a flat top; age and sex make some of them likelier.
- the permanent ones: breast cancer among women from 40 on, cavity cancer and diabetes among the older and the heavier.

The commonest diagnosis is about 3 % of all. Nobody has a diagnosis twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.errors import ParameterError
from reissue.samples.census import draw_given, whole_numbers

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PEOPLE = 40_478
DIAGNOSES = 105_420
PERMANENT: Mapping[str, int] = {"Breast cancer": 15, "Cavity cancer": 1, "Diabetes": 60}
"""The values nobody gets rid of, with how often each occurs."""

SEXES = ("female", "male")
PROVINCES = {
    "Ontario": 385, "Quebec": 235, "British Columbia": 132, "Alberta": 108, "Manitoba": 36, "Saskatchewan": 31,
    "Nova Scotia": 28, "New Brunswick": 23, "Newfoundland": 16, "Prince Edward Island": 4, "Northwest Territories": 1.3,
    "Yukon": 1, "Nunavut": 0.9,
}  # fmt: skip
"""How many in a thousand live there."""
OLDEST = 99
HEIGHTS = (45, 205)
WEIGHTS = (2, 180)

SITES = (
    "skin", "scalp", "face", "eye", "ear", "nose", "mouth", "throat", "neck", "chest", "lung", "heart", "stomach",
    "bowel", "liver", "kidney", "bladder", "back", "shoulder", "elbow", "hand", "hip", "knee", "ankle", "foot",
    "muscle", "joint", "nerve", "vein", "gland",
)  # fmt: skip
COMPLAINTS = (
    "pain", "rash", "swelling", "bleeding", "inflammation", "itching", "numbness", "cramp", "infection", "stiffness",
    "discolouration", "ulcer", "burning", "weakness", "dryness", "pressure", "tremor", "cyst", "allergy", "injury",
)  # fmt: skip
TERMS: tuple[str, ...] = tuple(f"{site} {complaint}".capitalize() for site, complaint in product(SITES, COMPLAINTS))
"""The diagnoses that come and go."""
FLAT_TOP, STEEPNESS = 10, 1.15
RANKING = 2008
"""The seed of which diagnosis is how frequent: the same in every table."""
AGE_BANDS = 5
SPREAD = 0.7
"""How unequal people are in the number of their diagnoses: the shape of a gamma distribution."""


def reports(rows: int, *, seed: int | None = None) -> pl.DataFrame:
    """Invented people: `person` (numbered from 1), `age`, `sex`, `province`, `height` in cm, `weight` in kg."""
    whole_numbers("reports", seed, rows=(rows, 0))
    return draw_people(rows, np.random.default_rng(seed))


def reactions(
    people: pl.DataFrame, rows: int, permanent: Mapping[str, int] = PERMANENT, *, seed: int | None = None
) -> pl.DataFrame:
    """Their diagnoses: `person`, `diagnosis`; so many rows, everybody in one at least, the permanent ones counted out.

    Somebody may have several permanent diagnoses. Rows are ordered by person, then in the order of `labels()`.
    """
    least = max(1, people.height + sum(permanent.values()))
    whole_numbers("reactions", seed, rows=(rows, least), permanent=(min(permanent.values(), default=0), 0))
    if (unknown := len(permanent.keys() - PERMANENT.keys())) or max(permanent.values(), default=0) > people.height:
        raise ParameterError(
            f"The 'permanent' parameter of reactions must say how many people have each of {', '.join(PERMANENT)}.",
            problems=[f"{unknown} other names are given."] if unknown else ["There are more than there are people."],
        )
    rng = np.random.default_rng(seed)
    age, sex = people["age"].to_numpy(), _codes(people["sex"], SEXES)
    holders = [
        _chosen(rng, affinity, permanent.get(name, 0))
        for name, affinity in zip(PERMANENT, _affinities(people, age, sex), strict=True)
    ]
    owner = np.concatenate([np.arange(people.height), _others(rng, people.height, rows, sum(map(len, holders)))])
    owner.sort()
    kind = np.minimum(age * AGE_BANDS // (OLDEST + 1), AGE_BANDS - 1) * len(SEXES) + sex
    value = _distinct(rng, owner, kind[owner])
    owner = np.concatenate([owner, *holders])
    value = np.concatenate([value, np.repeat(len(TERMS) + np.arange(len(PERMANENT)), [len(who) for who in holders])])
    order = np.lexsort((value, owner))
    return pl.DataFrame(
        {
            "person": people["person"].gather(owner[order]),
            "diagnosis": pl.Series(labels(), dtype=pl.String).gather(value[order]),
        }
    )


def labels() -> tuple[str, ...]:
    """All diagnoses: those that come and go, then the permanent ones."""
    return (*TERMS, *PERMANENT)


def draw_people(rows: int, rng: np.random.Generator, *, first: int = 1) -> pl.DataFrame:
    """People numbered on from `first`."""
    everyone = np.zeros(rows, dtype=np.int64)
    age = draw_given(rng, _model().age, everyone)
    sex = draw_given(rng, _model().sex, everyone)
    height = draw_heights(rng, age, sex)
    return pl.DataFrame(
        {
            "person": np.arange(first, first + rows),
            "age": age,
            "sex": pl.Series(SEXES, dtype=pl.String).gather(sex),
            "province": draw_provinces(rng, rows),
            "height": height,
            "weight": draw_weights(rng, height),
        }
    )


def draw_provinces(rng: np.random.Generator, rows: int) -> pl.Series:
    """Where people live."""
    drawn = draw_given(rng, _model().province, np.zeros(rows, dtype=np.int64))
    return pl.Series(tuple(PROVINCES), dtype=pl.String).gather(drawn)


def draw_heights(rng: np.random.Generator, age: Ints, sex: Ints) -> Ints:
    """In centimetres, by age and sex: children grow until 17."""
    grown = np.where(sex == 1, 176.0, 163.0)
    usual = 51 + (grown - 51) * np.minimum(age / 17, 1.0) ** 0.75
    spread = 2.5 + 4.5 * np.minimum(age / 17, 1.0)
    return np.clip(np.rint(usual + spread * rng.standard_normal(age.size)), *HEIGHTS).astype(np.int64)


def draw_weights(rng: np.random.Generator, height: Ints) -> Ints:
    """In kilograms, by height: a body-mass index of 16 for the smallest to 26 for the grown, a fifth up or down."""
    index = 16 + 10 * np.clip((height - 100) / 70, 0, 1)
    weight = index * (height / 100) ** 2 * np.exp(0.18 * rng.standard_normal(height.size))
    return np.clip(np.rint(weight), *WEIGHTS).astype(np.int64)


class _Model(NamedTuple):
    """Weights, one row for each combination of what a thing depends on."""

    age: Floats
    sex: Floats
    province: Floats
    term: Floats
    """Rows: band of age, then sex."""


@cache
def _model() -> _Model:
    ages = np.arange(OLDEST + 1)
    age = 0.25 + 0.6 * np.exp(-(((ages - 35) / 14) ** 2) / 2) + np.exp(-(((ages - 62) / 15) ** 2) / 2)
    age[85:] *= 0.75 ** np.arange(OLDEST + 1 - 85)
    rank = np.random.default_rng(RANKING).permutation(len(TERMS))
    usual = (rank + FLAT_TOP) ** -STEEPNESS
    band, sex = np.arange(AGE_BANDS) / (AGE_BANDS - 1) - 0.5, np.array([-0.5, 0.5])
    # Some parts of the body complain later in life, some complaints are rather women's.
    later = np.repeat(np.linspace(-1, 1, len(SITES)), len(COMPLAINTS))
    women = np.tile(np.linspace(0.6, -0.6, len(COMPLAINTS)), len(SITES))
    tilt = later * band[:, None, None] - women * sex[None, :, None]
    return _Model(
        age=age[None],
        sex=np.array([[0.57, 0.43]]),
        province=np.array([[*PROVINCES.values()]], dtype=np.float64),
        term=(usual * np.exp(tilt)).reshape(-1, len(TERMS)),
    )


def _affinities(people: pl.DataFrame, age: Ints, sex: Ints) -> tuple[Floats, Floats, Floats]:
    """How likely everybody is to have each of the permanent diagnoses, in their order."""
    older = 1 / (1 + np.exp((50 - age) / 8))
    index = people["weight"].to_numpy() / (people["height"].to_numpy() / 100) ** 2
    breast = older * np.where(sex == 0, 1.0, 0.01)
    return breast, older + 1e-3, (older + 0.05) * np.exp((index - 25) / 8)


def _chosen(rng: np.random.Generator, weight: Floats, count: int) -> Ints:
    """So many different people, the heavier the likelier: the least of exponential times with these rates."""
    return np.argsort(rng.standard_exponential(weight.size) / weight, kind="stable")[:count].astype(np.int64)


def _others(rng: np.random.Generator, people: int, rows: int, permanent: int) -> Ints:
    """Whose the diagnoses beyond everybody's first are: a few people have many of them."""
    left = rows - permanent - people
    if not left:
        return np.empty(0, dtype=np.int64)
    reach = np.cumsum(rng.gamma(SPREAD, size=people))
    return np.searchsorted(reach / reach[-1], rng.random(left), side="right").clip(max=people - 1).astype(np.int64)


def _distinct(rng: np.random.Generator, owner: Ints, kind: Ints) -> Ints:
    """A diagnosis for each row, by the kind of its person, none twice for the same person."""
    value = draw_given(rng, _model().term, kind)
    while (again := np.flatnonzero(repeated(owner * len(TERMS) + value))).size:
        value[again] = draw_given(rng, _model().term, kind[again])
    return value


def repeated(keys: Ints) -> npt.NDArray[np.bool_]:
    """Which entries have been there before."""
    again = np.ones(keys.size, dtype=np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    return again


def _codes(column: pl.Series, names: tuple[str, ...]) -> Ints:
    return column.replace_strict(list(names), range(len(names)), return_dtype=pl.Int64).to_numpy()
