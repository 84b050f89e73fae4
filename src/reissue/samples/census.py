"""Census-like tables of any size.

Y. He, S. Barman, J. F. Naughton: Preventing Equivalence Attacks in Updated, Anonymized Data (ICDE 2011)
use two census extracts, OCC and SAL, that may not be passed on. The tables made here have the same
attribute domains (their Table VIII) and are drawn from a model, so nobody is described by them.

    attribute      age   gender   education   birthplace   occupation   salary
    domain size     79        2          17           57           50       50

How the model hangs together:

- age: a working population, thinning out after 60; 15 to 93.
- gender: a little under half are women, more among the old.
- birthplace: Zipf's law over 57 places; the most frequent are the twelve regions of the United Kingdom.
- education: what age allows, less of it among the old, both extremes more frequent among people from abroad.
- occupation: depends on education and gender; each occupation is 8 % rarer than the one before it.
- salary: depends on age and education; the midpoint of one of 50 bins.

The most frequent occupation has a share of 8.1 % in the model (the least frequent 0.14 %) and the most
frequent salary 5.9 %, so the largest m or l that a large table allows is 12 for occupation and 16 for salary.
A small table strays from the model by chance: with 1,000 rows the most frequent occupation can reach a tenth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from reissue.arrays.types import Floats, Ints
from reissue.errors import ParameterError, listed

Nested: TypeAlias = "Mapping[str, Nested] | Sequence[str]"

SENSITIVE = ("occupation", "salary")
GENDERS = ("female", "male")
YOUNGEST, OLDEST = 15, 93
SALARY_BIN = 2_000
SALARY_BINS = 50

EDUCATION_TREE: Mapping[str, Nested] = {
    "*": {
        "Basic": {
            "Up to primary": ["No schooling", "Some primary", "Primary"],
            "Some secondary": [
                "Secondary year 1",
                "Secondary year 2",
                "Secondary year 3",
                "Secondary year 4",
            ],
        },
        "Middle": {
            "School leaving": ["School certificate", "School diploma"],
            "Vocational": ["Apprenticeship", "Vocational diploma"],
        },
        "Higher": {
            "College": ["Some college", "College diploma"],
            "University": ["Bachelor", "Master"],
            "Advanced degree": ["Professional degree", "Doctorate"],
        },
    }
}

# For each level of education its weight among people of 40 born at home, and the youngest age to have it.
SCHOOLING = (
    (6, 15),
    (8, 15),
    (15, 15),
    (20, 15),
    (22, 15),
    (28, 15),
    (35, 16),
    (150, 16),
    (140, 18),
    (100, 18),
    (70, 20),
    (90, 18),
    (80, 20),
    (140, 21),
    (60, 23),
    (20, 24),
    (12, 26),
)

BIRTHPLACE_TREE: Mapping[str, Nested] = {
    "*": {
        "United Kingdom": {
            "Southern Britain": ["London", "South East", "East of England", "South West"],
            "Midlands and Wales": ["West Midlands", "East Midlands", "Wales"],
            "Northern Britain": ["North West", "Yorkshire", "Scotland", "North East", "Northern Ireland"],
        },
        "Europe": {
            "Western Europe": ["Ireland", "France", "Germany", "Netherlands", "Belgium"],
            "Southern Europe": ["Italy", "Spain", "Portugal", "Greece", "Cyprus"],
            "Eastern Europe": ["Poland", "Romania", "Lithuania", "Hungary", "Bulgaria", "Ukraine"],
        },
        "Asia": {
            "South Asia": ["India", "Pakistan", "Bangladesh", "Sri Lanka", "Nepal"],
            "East Asia": ["China", "Hong Kong", "Philippines", "Malaysia", "Japan"],
            "West Asia": ["Turkey", "Iran", "Iraq", "Afghanistan"],
        },
        "Africa": {
            "West Africa": ["Nigeria", "Ghana", "Sierra Leone"],
            "East Africa": ["Kenya", "Somalia", "Uganda", "Ethiopia"],
            "Southern Africa": ["South Africa", "Zimbabwe"],
        },
        "Americas and Oceania": {
            "Americas": ["Jamaica", "United States", "Canada", "Brazil"],
            "Oceania": ["Australia", "New Zealand"],
        },
    }
}

# From the most to the least frequent: the level of education typical for it (0 to 16), and how much
# likelier a woman is to do it than a man (as a logarithm).
OCCUPATIONS = {
    "Shop assistant": (8, 0.5),
    "Office clerk": (10, 0.9),
    "Cleaner": (4, 0.8),
    "Driver": (7, -1.6),
    "Manager": (13, -0.3),
    "Care worker": (8, 1.3),
    "Teacher": (14, 0.8),
    "Warehouse worker": (6, -0.9),
    "Nurse": (12, 1.5),
    "Construction labourer": (5, -2.2),
    "Cook": (6, -0.1),
    "Accountant": (13, 0.1),
    "Software developer": (13, -1.1),
    "Machine operator": (7, -1.0),
    "Electrician": (9, -2.4),
    "Waiter": (8, 0.3),
    "Secretary": (10, 1.8),
    "Engineer": (14, -1.2),
    "Childcare worker": (9, 2.2),
    "Mechanic": (9, -2.4),
    "Farm worker": (3, -0.6),
    "Security guard": (7, -1.2),
    "Bank clerk": (11, 0.4),
    "Carpenter": (9, -2.4),
    "Hairdresser": (9, 1.7),
    "Civil servant": (12, 0.2),
    "Plumber": (9, -2.4),
    "Sales agent": (11, -0.3),
    "Police officer": (11, -0.7),
    "Receptionist": (9, 1.8),
    "Social worker": (13, 1.1),
    "Physician": (15, 0.0),
    "Packer": (4, 0.2),
    "Lawyer": (15, -0.1),
    "Laboratory technician": (12, 0.2),
    "Postal worker": (8, -0.6),
    "Designer": (12, 0.1),
    "Gardener": (6, -1.2),
    "Researcher": (16, -0.1),
    "Butcher": (7, -1.5),
    "Pharmacist": (15, 0.5),
    "Tailor": (5, 0.8),
    "Journalist": (13, 0.0),
    "Firefighter": (10, -1.9),
    "Librarian": (13, 1.0),
    "Musician": (12, -0.3),
    "Fisher": (4, -2.2),
    "Veterinarian": (15, 0.5),
    "Clergy": (14, -0.9),
    "Pilot": (13, -1.9),
}
RARER = 0.92

BLOCK = 65_536

HOME_REGIONS = 3


def _regions(tree: Nested) -> list[Sequence[str]]:
    """The lists of leaves, from left to right."""
    if isinstance(tree, Mapping):
        return [region for child in tree.values() for region in _regions(child)]
    return [tree]


def _by_frequency(tree: Mapping[str, Nested]) -> tuple[str, ...]:
    """Home places first, then the first place of every region abroad, then the second, and so on."""
    regions = _regions(tree)
    home, abroad = regions[:HOME_REGIONS], regions[HOME_REGIONS:]
    return (*chain(*home), *(place for places in zip_longest(*abroad) for place in places if place))


EDUCATIONS: tuple[str, ...] = tuple(chain.from_iterable(_regions(EDUCATION_TREE)))
BIRTHPLACES: tuple[str, ...] = _by_frequency(BIRTHPLACE_TREE)
HOME_PLACES = sum(len(region) for region in _regions(BIRTHPLACE_TREE)[:HOME_REGIONS])


def census(
    rows: int, *, sensitive: Literal["occupation", "salary"] = "occupation", seed: int | None = None
) -> pl.DataFrame:
    """A table of invented people: person, age, gender, education, birthplace and the sensitive column.

    The same seed gives the same table, and the same people whichever sensitive column is asked for.
    """
    whole_numbers("census", seed, rows=(rows, 0))
    if sensitive not in SENSITIVE:
        raise ParameterError(f"The 'sensitive' parameter of census must be one of {listed(SENSITIVE)}.")
    rng = np.random.default_rng(seed)
    model = _model()
    everyone = np.zeros(rows, dtype=np.int64)
    age = draw_given(rng, model.age, everyone)
    gender = draw_given(rng, model.gender, age)
    birthplace = draw_given(rng, model.birthplace, everyone)
    abroad = (birthplace >= HOME_PLACES).astype(np.int64)
    education = draw_given(rng, model.education, age * 2 + abroad)
    if sensitive == "occupation":
        occupation = draw_given(rng, model.occupation, education * len(GENDERS) + gender)
        last = _labelled(tuple(OCCUPATIONS), occupation)
    else:
        salary = draw_given(rng, model.salary, age * len(EDUCATIONS) + education)
        last = pl.Series(salary * SALARY_BIN + SALARY_BIN // 2)
    return pl.DataFrame(
        {
            "person": np.arange(1, rows + 1),
            "age": age + YOUNGEST,
            "gender": _labelled(GENDERS, gender),
            "education": _labelled(EDUCATIONS, education),
            "birthplace": _labelled(BIRTHPLACES, birthplace),
            sensitive: last,
        }
    )


def census_hierarchies() -> dict[str, Mapping[str, Nested]]:
    """Taxonomies for education and birthplace as nested dicts, leaves in lists, with the root `*`."""
    return {"education": EDUCATION_TREE, "birthplace": BIRTHPLACE_TREE}


def draw_given(rng: np.random.Generator, shares: Floats, given: Ints) -> Ints:
    """For each entry of `given` draw a position, with the weights in that row of `shares`."""
    values = shares.shape[1]
    kept, other = (table.ravel() for table in _aliases(shares))
    drawn = np.empty(given.size, dtype=np.int64)
    # Block by block, so that what is in between stays in the processor's cache: five times as fast.
    for start in range(0, given.size, BLOCK):
        rows = given[start : start + BLOCK]
        exact = rng.random(rows.size) * values
        position = exact.astype(np.int64)
        place = rows * values + position
        drawn[start : start + BLOCK] = np.where(exact - position < kept[place], position, other[place])
    return drawn


def _aliases(shares: Floats) -> tuple[Floats, Ints]:
    """Walker's alias tables, a row for each row of shares.

    All positions are drawn alike; position p then stands with chance `kept[p]`, else it gives way to
    `other[p]`.
    """
    left = shares / shares.sum(axis=1, keepdims=True) * shares.shape[1]
    kept, other = np.ones_like(left), np.zeros(left.shape, dtype=np.int64)
    unset = np.ones(left.shape, dtype=np.bool_)
    row = np.arange(len(left))
    for _ in range(left.shape[1]):
        least = np.where(unset, left, np.inf).argmin(axis=1)
        most = np.where(unset, left, -np.inf).argmax(axis=1)
        kept[row, least] = np.minimum(left[row, least], 1.0)
        other[row, least] = most
        left[row, most] -= 1.0 - kept[row, least]
        unset[row, least] = False
    return kept, other


def whole_numbers(owner: str, seed: object, **bounds: tuple[object, int]) -> None:
    """Refuse parameters (name to value and least value) and a seed that are not whole numbers in range."""
    ranges = [(name, value, f"a whole number of at least {least}", least) for name, (value, least) in bounds.items()]
    if seed is not None:
        ranges.append(("seed", seed, "None or a whole number of at least 0", 0))
    problems = [
        f"The '{name}' parameter of {owner} must be {wanted}. Got {value!r} instead."
        for name, value, wanted, least in ranges
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least
    ]
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{len(problems)} parameters of {owner} are out of range.", problems=problems)


class _Model(NamedTuple):
    """Weights of the values of each attribute, one row for each combination of what it depends on."""

    age: Floats
    gender: Floats
    birthplace: Floats
    education: Floats
    occupation: Floats
    salary: Floats


@cache
def _model() -> _Model:
    ages = np.arange(YOUNGEST, OLDEST + 1)
    age = np.minimum(1.0, (ages - 14) / 10) / (1 + np.exp((ages - 62) / 7))
    women = 0.47 + 0.15 * np.clip((ages - 60) / 33, 0, 1)
    gender = np.column_stack([women, 1 - women])
    birthplace = 1 / np.arange(1, len(BIRTHPLACES) + 1)
    education = _education(ages)

    from_abroad = birthplace[HOME_PLACES:].sum() / birthplace.sum()
    of_birth = np.array([1 - from_abroad, from_abroad])
    educated = education / education.sum(axis=1, keepdims=True)
    by_age = np.einsum("b,abe->ae", of_birth, educated.reshape(len(ages), 2, -1))
    cells = np.einsum("a,ag,ae->eg", age / age.sum(), gender, by_age).ravel()
    return _Model(age[None, :], gender, birthplace[None, :], education, _occupation(cells), _salary(ages))


def _education(ages: Ints) -> Floats:
    """Rows: age, then born in the country or abroad."""
    level = np.arange(len(SCHOOLING)) / 8 - 1
    weight, youngest = np.array(SCHOOLING, dtype=np.float64).T
    less_when_old = np.exp(-np.clip((ages - 40) / 30, 0, None)[:, None] * level)
    allowed = ages[:, None] >= youngest
    at_home: Floats = weight * np.where(allowed, less_when_old, 0.0)
    from_abroad = at_home * np.exp(0.6 * np.abs(level))
    return np.stack([at_home, from_abroad], axis=1).reshape(-1, len(SCHOOLING))


def _occupation(cells: Floats) -> Floats:
    """Rows: education, then gender, whose joint shares are `cells`.

    Affinities are scaled in turn to the shares of the rows and of the occupations (iterative proportional
    fitting), so that the frequencies of the occupations are as promised whatever the affinities.
    """
    typical, women = np.array(tuple(OCCUPATIONS.values())).T
    level = np.arange(len(EDUCATIONS))[:, None]
    by_level = np.exp(-(((level - typical) / 1.8) ** 2) / 2) + 1e-4
    joint: Floats = (by_level[:, None, :] * np.exp(np.stack([women, -women]) / 2)).reshape(cells.size, -1)
    wanted = RARER ** np.arange(len(OCCUPATIONS))
    wanted /= wanted.sum()
    for _ in range(200):
        joint *= (cells / joint.sum(axis=1))[:, None]
        joint *= wanted / joint.sum(axis=0)
    return joint


def _salary(ages: Ints) -> Floats:
    """Rows: age, then education. Log-normal up to the highest bin, but 3 % earn anything at all."""
    level = np.arange(len(EDUCATIONS))
    usual = np.log(26_000) - 0.8 * ((ages[:, None] - 48) / 40) ** 2 + 0.09 * (level - 8)
    middle = (np.arange(SALARY_BINS) + 0.5) * SALARY_BIN
    spread: Floats = np.exp(-(((np.log(middle) - usual.reshape(-1, 1)) / 0.55) ** 2) / 2) / middle
    spread /= spread.sum(axis=1, keepdims=True)
    return 0.97 * spread + 0.03 / SALARY_BINS


def _labelled(labels: Sequence[str], codes: Ints) -> pl.Series:
    return pl.Series(labels, dtype=pl.String).gather(codes)
