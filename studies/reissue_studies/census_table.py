"""The schema of the generated census, for the studies that publish it."""

from __future__ import annotations

from typing import Literal

from reissue.model.hierarchy import Hierarchy
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.samples.census import (
    GENDERS,
    OCCUPATIONS,
    OLDEST,
    SALARY_BIN,
    SALARY_BINS,
    YOUNGEST,
    census_hierarchies,
)

Sensitive = Literal["occupation", "salary"]


def census_schema(sensitive: Sensitive) -> Schema:
    """What the columns are, with their whole domains, so that no release has labels of its own."""
    quasi: dict[str, Kind] = {
        "age": Numeric(low=YOUNGEST, high=OLDEST),
        "gender": Categorical(GENDERS),
        **{name: Hierarchy.from_nested(tree) for name, tree in census_hierarchies().items()},
    }
    return Schema(person="person", quasi=quasi, sensitive={sensitive: census_values(sensitive)})


def census_values(sensitive: Sensitive) -> Categorical:
    """The domain of a sensitive column."""
    if sensitive == "occupation":
        return Categorical(tuple(OCCUPATIONS))
    return Categorical(tuple(str(place * SALARY_BIN + SALARY_BIN // 2) for place in range(SALARY_BINS)))
