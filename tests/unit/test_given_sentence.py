"""Which choice of `given` is recommended, and in what words: by hand, from figures made up."""

from __future__ import annotations

import inspect

import pytest

import reissue as ri
from reissue.publishing import measuring_given
from reissue.publishing.given_choices import Cells, GivenChoice, GivenChoices, Guesses

CELLS = Cells(2, 100, 0, 0)


def guesses(advantage: float, right: float = 0.4) -> Guesses:
    """An advantage with half a point to each side."""
    low, high = advantage - 0.005, advantage + 0.005
    return Guesses(right, right - 0.01, right + 0.01, right - advantage, advantage, low, high, 0.1, 0.01)


def choice(
    given: str, advantage: float, error: float | None, *, elsewhere: float | None = None, others: int = 0
) -> GivenChoice:
    outside = None if elsewhere is None else guesses(elsewhere)
    columns = tuple(given.split())
    return GivenChoice(columns, CELLS, None, guesses(advantage), outside, 0.1, 1, 3.0, others, (error, error))


def of(*choices: GivenChoice) -> GivenChoices:
    return GivenChoices(1_000, 1_000, choices, (0.05, 0.01), ())


def test_the_least_product_of_advantage_and_error() -> None:
    """0.21 at error 1, 0.12 at 1.08, 0.10 at 2: as products, with upper ends, 0.215, 0.135, 0.21."""
    found = of(choice("", 0.21, 0.1), choice("sex", 0.12, 0.108), choice("sex age", 0.10, 0.2))
    assert found.best is found.choices[1]
    assert found.sentence == (
        'given = ["sex"] takes the advantage from 21.0 to 12.0 points, and makes counts 8% less exact; more columns '
        "gain less than they cost."
    )
    assert repr(found) == "GivenChoices(3 of 3 choices measured; best: sex)"


def test_what_chance_alone_tells_apart_goes_to_fewer_columns() -> None:
    """0.115 and 0.12 are within half a point to each side; 0.10 would not be."""
    found = of(choice("", 0.21, 0.1), choice("sex", 0.12, 0.1), choice("sex age", 0.115, 0.1))
    assert found.best is found.choices[1]
    assert found.sentence.endswith("and counts stay as exact as they are; more columns do not take it down further.")
    found = of(choice("", 0.21, 0.1), choice("sex", 0.12, 0.1), choice("sex age", 0.10, 0.095))
    assert found.best is found.choices[2]
    assert found.sentence == (
        'given = ["sex", "age"] takes the advantage from 21.0 to 10.0 points, and makes counts 5% more exact.'
    )


def test_nothing_where_nothing_is_gained() -> None:
    found = of(choice("", 0.21, 0.1), choice("sex", 0.205, 0.05))
    assert found.best is found.choices[0]
    assert found.sentence == (
        "Leave `given` out: the advantage is 21.0 points, and no choice takes it down beyond chance."
    )
    found = of(choice("", 0.21, 0.1), choice("sex", 0.18, 0.2))
    assert found.best is found.choices[0]
    assert found.sentence == (
        'Leave `given` out: the advantage is 21.0 points; given = ["sex"] takes the advantage from 21.0 to 18.0 '
        "points, and makes counts 100% less exact, which is more than it gains."
    )


def test_below_a_point_there_is_nothing_to_gain() -> None:
    """From half a point above nothing to a tenth: not for an error a tenth larger."""
    found = of(choice("", 0.02, 0.1), choice("sex", 0.004, 0.1), choice("sex age", -0.006, 0.11))
    assert found.best is found.choices[1]


def test_the_worse_of_two_models_counts() -> None:
    found = of(choice("", 0.10, 0.1, elsewhere=0.20), choice("sex", 0.04, 0.1, elsewhere=0.199))
    assert found.best is found.choices[0]
    found = of(choice("", 0.10, 0.1, elsewhere=0.20), choice("sex", 0.04, 0.1, elsewhere=0.15))
    assert found.sentence.startswith(
        'given = ["sex"] takes the advantage from 10.0 to 4.0 points and from 20.0 to 15.0 points for whoever has the '
        "model given, and counts"
    )


def test_what_else_is_to_be_said() -> None:
    refused = GivenChoice(("sex", "age"), CELLS, "too frequent.")
    found = of(choice("", 0.21, 0.1), choice("sex", 0.12, 0.1, others=30), refused)
    assert found.sentence.endswith(
        'with the rare values of 30 more people published as one; given = ["sex", "age"] could not be measured.'
    )
    # All that is left is what the slots say: 0.1 openly, and 0.105 right.
    open_only = GivenChoice(("sex",), CELLS, None, guesses(0.05, 0.105), None, 0.1, 1, 3.0, 0, (0.1, 0.1))
    found = of(choice("", 0.21, 0.1), open_only)
    assert found.sentence.endswith("; what is left is what the slots say openly, which is right for 10%.")


@pytest.mark.parametrize(("before", "after"), [(0.1, None), (None, 0.1), (None, None)])
def test_counts_that_cannot_be_estimated(before: float | None, after: float | None) -> None:
    """A choice by which counts cannot be estimated any more is never recommended."""
    found = of(choice("", 0.21, before), choice("sex", 0.12, after))
    assert found.best is found.choices[0 if before is not None else 1]
    told = {
        (0.1, None): "counts cannot be estimated any more, which is more than it gains.",
        (None, 0.1): "counts can be estimated, which they cannot without it.",
        (None, None): "counts cannot be estimated either way.",
    }
    assert found.sentence.endswith(told[before, after])


def test_the_table_has_a_type_for_every_column() -> None:
    found = of(choice("", 0.21, 0.1), GivenChoice(("sex",), CELLS, "refused."))
    table = found.table
    assert table["given"].to_list() == ["none", "sex"]
    assert table["elsewhere_advantage"].to_list() == [None, None]
    assert table["error_0.05"].to_list() == [0.1, None]
    assert table["why_not"].to_list() == [None, "refused."]
    assert not [name for name, kind in table.schema.items() if str(kind) == "Null"]
    assert found.to_dict()["choices"][1]["given"] == ["sex"]


def test_a_series_asks_for_the_same_by_default() -> None:
    own, other = (inspect.signature(one).parameters for one in (ri.given_choices, ri.Series.given_choices))
    assert {name: own[name].default for name in ("sample", "seconds")} == {
        name: other[name].default for name in ("sample", "seconds")
    }
    assert own["sample"].default == measuring_given.SAMPLE
