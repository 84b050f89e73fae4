"""What the settings of all papers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from reissue_studies.setting import StudySetting, one_share, refuse, several_shares, several_wholes

from reissue.errors import ParameterError


@dataclass(frozen=True)
class Small(StudySetting):
    rows: Any = 5
    releases: Any = None
    seed: Any = 1

    def __post_init__(self) -> None:
        self.check_sizes(rows=2, releases=1)


def test_seeds_are_those_of_one_sequence() -> None:
    expected = np.random.SeedSequence(7).generate_state(4).tolist()
    assert [Small(seed=7).seed_of(number) for number in range(4)] == expected


def test_only_what_is_left_out_by_default_may_be_left_out() -> None:
    assert Small(releases=None).releases is None
    for wrong in ({"rows": None}, {"rows": 1}, {"rows": True}, {"releases": 0}, {"seed": -1}):
        (name,) = wrong
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of Small must be"):
            Small(**wrong)


@pytest.mark.parametrize("given", [(), (1,), (2, 2), (2.0,), (True, 3), (2, 9), ("2",)])
def test_wholes_that_do_not_fit(given: Sequence[object]) -> None:
    said = f"The 'm' parameter of X must be different whole numbers from 2 to n = 8. Got {given!r} instead."
    assert several_wholes("X", "m", given, 2, 8, because="n = ") == [said]


def test_wholes_that_fit() -> None:
    assert several_wholes("X", "m", (8, 2), 2, 8) == []
    assert several_wholes("X", "m", (2, 80), 2, ascending=True) == []
    assert several_wholes("X", "m", (8, 2), 2, ascending=True) == [
        "The 'm' parameter of X must be ascending whole numbers of at least 2. Got (8, 2) instead."
    ]


def test_shares() -> None:
    for fits in (0, 0.5, 1):
        assert one_share("X", "p", fits) == []
    for wrong in (-0.1, 1.1, float("nan"), True, "0.5", None):
        said = f"The 'p' parameter of X must be a number from 0 to 1. Got {wrong!r} instead."
        assert one_share("X", "p", wrong) == [said]
    for edge in (0, 1, 0.0, 1.0):
        assert one_share("X", "p", edge, within=True)
    assert several_shares("X", "p", (0, 0.5)) == []
    for together in ((), (0.5, 0.5), (0.5, 2)):
        assert several_shares("X", "p", together)


def test_all_problems_are_told_at_once() -> None:
    refuse("X", [])
    with pytest.raises(ParameterError, match=r"^one$"):
        refuse("X", ["one"])
    with pytest.raises(ParameterError, match="2 parameters of X do not fit") as told:
        refuse("X", ["one", "two"])
    assert told.value.problems == ("one", "two")
