"""The taxonomies of the nine attributes of Adult, with the heights of Table 12 of Wong, Fu, Wang & Pei (2007).

| attribute      | values | height | paper                   |
|----------------|--------|--------|-------------------------|
| age            |     74 |      4 | 5-, 10-, 20-year ranges |
| workclass      |      7 |      3 | taxonomy tree           |
| marital-status |      7 |      3 | taxonomy tree           |
| occupation     |     14 |      2 | taxonomy tree           |
| race           |      5 |      2 | taxonomy tree           |
| sex            |      2 |      1 | suppression             |
| native-country |     41 |      3 | taxonomy tree           |
| salary-class   |      2 |      1 | suppression             |
| education      |     16 |      4 | taxonomy tree           |

The paper prints its trees for education in part only (Figure 1), and says of work class that "private" and
"self-emp-not-inc" meet in "with-pay". The trees here are our own, and keep to that. All leaves of a tree have the same
depth, so that a level means the same everywhere; where a label has nobody beside it, a node has one child.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from reissue.model.hierarchy import Hierarchy

YOUNGEST, OLDEST = 17, 90
AGE_RANGES = (5, 10, 20)
SENSITIVE = "education"
QUASI = (
    "age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "salary-class",
)  # fmt: skip
"""In the order of Table 12: a quasi-identifier of size q takes the first q."""
HEIGHTS = (4, 3, 3, 2, 2, 1, 3, 1)
PROTECTED = ("Preschool", "1st-4th", "5th-6th", "7th-8th")
"""Everything below "9th". In Adult's 45,222 complete rows these are 72, 222, 449 and 823: the paper's 1,566 tuples."""

TREES: Mapping[str, Mapping[str, Any]] = {
    "workclass": {
        "*": {
            "With pay": {
                "Private sector": ["Private"],
                "Self-employed": ["Self-emp-not-inc", "Self-emp-inc"],
                "Government": ["Federal-gov", "State-gov", "Local-gov"],
            },
            "Unpaid": {"Unpaid work": ["Without-pay"]},
        }
    },
    "marital-status": {
        "*": {
            "Married": {
                "Spouse present": ["Married-civ-spouse", "Married-AF-spouse"],
                "Spouse away": ["Married-spouse-absent", "Separated"],
            },
            "Not married": {"Once married": ["Divorced", "Widowed"], "Single": ["Never-married"]},
        }
    },
    "occupation": {
        "*": {
            "Office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Sales", "Tech-support"],
            "Manual": ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"],
            "Service": ["Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv"],
        }
    },
    "race": {
        "*": {
            "Majority": ["White"],
            "Minority": ["Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
        }
    },
    "sex": {"*": ["Female", "Male"]},
    "native-country": {
        "*": {
            "Americas": {
                "North America": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)"],
                "Central America": ["Mexico", "El-Salvador", "Guatemala", "Honduras", "Nicaragua"],
                "Caribbean": [
                    "Cuba", "Dominican-Republic", "Haiti", "Jamaica", "Puerto-Rico", "Trinadad&Tobago",
                ],
                "South America": ["Columbia", "Ecuador", "Peru"],
            },
            "Europe": {
                "Western Europe": [
                    "England", "France", "Germany", "Holand-Netherlands", "Ireland", "Scotland",
                ],
                "Southern Europe": ["Greece", "Italy", "Portugal"],
                "Eastern Europe": ["Hungary", "Poland", "Yugoslavia"],
            },
            "Asia": {
                # "South" is read as South Korea, "Hong" as Hong Kong.
                "East Asia": ["China", "Hong", "Japan", "South", "Taiwan"],
                "South-east Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
                "South and West Asia": ["India", "Iran"],
            },
        }
    },
    "salary-class": {"*": ["<=50K", ">50K"]},
    "education": {
        "*": {
            "School not finished": {
                "Elementary": {"Up to 4th": ["Preschool", "1st-4th"], "5th to 8th": ["5th-6th", "7th-8th"]},
                "Secondary": {"9th and 10th": ["9th", "10th"], "11th and 12th": ["11th", "12th"]},
            },
            "School finished": {
                "No degree": {"High school": ["HS-grad"], "College": ["Some-college"]},
                "Associate": {"Vocational": ["Assoc-voc"], "Academic": ["Assoc-acdm"]},
                "University": {"Undergraduate": ["Bachelors"], "Postgraduate": ["Masters", "Prof-school", "Doctorate"]},
            },
        }
    },
}  # fmt: skip


@cache
def taxonomies() -> dict[str, Hierarchy]:
    """The taxonomy of every attribute, by its name: the eight of the quasi-identifier in order, then education."""
    age = Hierarchy.intervals(YOUNGEST, OLDEST, AGE_RANGES)
    return {"age": age, **{name: Hierarchy.from_nested(TREES[name]) for name in (*QUASI[1:], SENSITIVE)}}


def labels(name: str) -> tuple[str, ...]:
    """The values an attribute can have, in the order of its taxonomy."""
    return taxonomies()[name].leaves
