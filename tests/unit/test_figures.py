"""What all attacks tell their findings with: figures held against limits, and sentences."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reissue.attacks.base import POSTERIORS, Finding, Judgement, need_whole, together
from reissue.attacks.figures import (
    BOUNDED,
    EXACT,
    KINDS,
    RISKS,
    SAMPLED,
    UNDECIDED,
    Figures,
    called,
    worst_of_each,
)
from reissue.attacks.sentences import (
    Person,
    Place,
    Sentence,
    Value,
    Witness,
    enumeration,
    going_on,
    holding,
    is_known,
    one_of,
    some_people,
    some_values,
)
from reissue.errors import ParameterError
from reissue.model.published import Published
from reissue.reasoning.permanence import permanence_cells
from reissue.reasoning.worlds import posteriors

THIRD = Fraction(1, 3)
CLOSE = THIRD + Fraction(1, 10**30)
"""As a float it is a third."""


def figures() -> Figures:
    """A third; hardly more than a third; an estimate; another that is far above; nothing known; a bound in floats."""
    return Figures.of(
        np.array([EXACT, EXACT, SAMPLED, SAMPLED, UNDECIDED, BOUNDED], dtype=np.int8),
        np.array([1 / 3, 1 / 3, 0.4, 0.9, 1.0, 0.3]),
        np.array([1 / 3, 1 / 3, 0.0, 0.0, 0.0, 0.1]),
        np.array([1 / 3, 1 / 3, 1.0, 1.0, 1.0, 0.3]),
        np.array([np.nan, np.nan, 0.1, 0.1, np.nan, np.nan]),
        [THIRD, CLOSE, None, None, None, None],
    )


def test_kinds_are_those_of_the_reasoning() -> None:
    """Arrays of kinds are taken over as they are."""
    assert KINDS[: len(posteriors.KINDS)] == posteriors.KINDS
    assert permanence_cells.KINDS == KINDS
    assert (posteriors.EXACT, posteriors.BOUNDED, posteriors.SAMPLED) == (EXACT, BOUNDED, SAMPLED)
    found = permanence_cells
    assert (found.EXACT, found.BOUNDED, found.SAMPLED, found.UNDECIDED) == (EXACT, BOUNDED, SAMPLED, UNDECIDED)


def test_limits_are_held_against_fractions() -> None:
    found = figures()
    assert found.above(THIRD).tolist() == [False, True, False, False, False, False]
    assert found.within(THIRD).tolist() == [True, False, False, False, False, True]
    assert found.beyond(THIRD).tolist() == [False, True, False, True, False, False]
    assert found.within(Fraction(1)).all() and not found.beyond(Fraction(1)).any()
    assert [found.exact(row) for row in range(3)] == [THIRD, CLOSE, None]


def test_an_estimate_without_an_error_is_not_far_beyond() -> None:
    one = np.ones(1)
    found = Figures.of(np.full(1, SAMPLED, dtype=np.int8), one, 0 * one, one, one * np.nan, [None])
    assert not found.beyond(Fraction(1, 2)).any()


def test_runs_of_rows_have_a_worst() -> None:
    found, starts = figures(), np.array([0, 2, 2, 5, 6])
    assert found.likeliest(starts).tolist() == [0, 0, 4, 5]
    worst = found.largest(starts)
    assert worst.kind.tolist() == [EXACT, 0, UNDECIDED, BOUNDED]
    assert worst.low.tolist() == [1 / 3, 0, 0, 0.1] and worst.high.tolist() == [1 / 3, 0, 1, 0.3]
    assert worst.probability.tolist() == [1 / 3, 0, 1, 0.3]


def test_figures_as_tables() -> None:
    view = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])]])
    people = np.array([0, 1, 1])
    rows = np.array([0, 2, 4])
    names = called(view, people)
    table = figures().posteriors(names, names.rename("value"), rows, release=names.rename("release"))
    assert table.columns == [*POSTERIORS, "release"]
    assert table["person"].to_list() == ["Alice", "Bob", "Bob"]
    assert table["kind"].to_list() == ["exact", "sampled", "undecided"]
    assert table["fraction"].to_list() == ["1/3", None, None]
    assert table["standard_error"].to_list() == [None, 0.1, None]
    risks = worst_of_each(figures().risks(people, rows))
    assert risks.schema == RISKS
    assert risks.rows() == [(0, 1 / 3, "exact", 1 / 3, 1 / 3), (1, 1.0, "undecided", 0.0, 1.0)]


def test_phrases() -> None:
    view = Published.from_groups([[(["Alice", "Bob", "Cora", "Dora"], ["a", "b", "c", "d"])]])

    def text(*sentences: Sentence) -> str:
        return Witness(sentences).text(view)

    assert text(enumeration([])) == ""
    assert text(enumeration(["x"])) == "x"
    assert text(enumeration(["x", ("y", " twice"), "z"], "or")) == "x, y twice or z"
    assert text(some_people([0, 1, 2, 3], 2)) == "Alice, Bob and 2 more"
    assert text(some_people([0, 1], 2)) == "Alice and Bob"
    assert text(some_values([0, 1, 2], 3, "or")) == "a, b or c"
    assert text(one_of([3], 2)) == "d"
    assert text(one_of([0, 1, 2], 2)) == "one of a, b and 1 more"
    assert text(is_known(1, 2)) == "Bob is known to have c."
    assert text(holding(Place(2, 5), [0], False, 3)) == "release 2 group 5 may hold Alice"
    assert text(*going_on(14, 12)) == "So it goes on for 2 more groups." and going_on(12, 12) == []
    assert Witness(((Person(0), " has ", Value(1)),)).text(view, show_values=False) == "Alice has value A"


def test_few_values_left() -> None:
    witness = Witness(())
    one = Finding.of_few("A", 7, 2, {4}, witness)
    assert (one.what, one.value, one.probability, one.kind) == ("value", 4, 1.0, "exact")
    assert Finding.of_few("A", 7, 2, {4}, witness, proven=False).kind == "bounded"
    some = Finding.of_few("A", 7, 2, [4, 5], witness, several="channel")
    assert (some.what, some.value, some.probability, some.kind) == ("channel", None, 0.5, "bounded")


def test_the_worst_judgement_counts() -> None:
    whole = together([Judgement("within", "Fine."), Judgement("sampled", "Perhaps."), Judgement("within", "Good.")], 3)
    assert (whole.status, whole.words, whole.count) == ("sampled", "Fine. Perhaps. Good.", 0)


@pytest.mark.parametrize("wrong", [0, True, 1.5, "2", None])
def test_whole_numbers(wrong: object) -> None:
    need_whole(1, "l", "vulnerable")
    with pytest.raises(ParameterError, match=r"The 'l' parameter of vulnerable must be a whole number"):
        need_whole(wrong, "l", "vulnerable")
