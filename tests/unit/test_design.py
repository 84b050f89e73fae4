"""Design: what it must be, and what is written of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from reissue.errors import ParameterError
from reissue.model.design import Design
from reissue.reasoning.alternatives.designing import design_of

SOUND: dict[str, Any] = {
    "m": 4,
    "shares": [0.285, *[0.715 / 10] * 10],
    "slots": [2] + [1] * 10,
    "large": [0],
    "joint": [[], [0]],
    "weights": [0.43, 0.57],
}


def test_what_follows_from_it() -> None:
    design = Design.from_dict(SOUND)
    assert design.values == 11
    assert design.inclusion[:2] == pytest.approx([0.57, 0.286])
    assert design.limit.tolist() == [0.5] + [0.25] * 10
    assert design.small.tolist() == [*range(1, 11)]
    assert design.remaining.tolist() == [4, 2]
    assert design.joint.tolist() == [[False], [True]]
    assert repr(design) == "Design(11 values, m=4, 1 drawn first)"


@pytest.mark.parametrize("shares", [[1] * 20, 1 / np.arange(1, 31), [0.3, 0.2, *[0.05] * 10]])
def test_written_and_read_it_is_the_same_to_the_last_bit(shares: Any) -> None:
    design = design_of(shares, 4)
    again = Design.from_dict(json.loads(json.dumps(design.to_dict())))
    assert again == design
    assert hash(again) == hash(design)
    assert again.weights.tobytes() == design.weights.tobytes()


def test_equal_by_content() -> None:
    one = Design.from_dict(SOUND)
    assert one == Design.from_dict(SOUND)
    assert one != Design.from_dict(SOUND | {"shares": [0.285, *[0.715 / 11] * 11], "slots": [2] + [1] * 11})
    assert one != SOUND


def test_nobody_can_change_it() -> None:
    shares = np.full(20, 0.05)
    design = design_of(shares, 4)
    shares[0] = 1
    assert design.shares[0] == 0.05
    with pytest.raises(ValueError, match="read-only"):
        design.shares[0] = 1


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"m": 1}, "m"),
        ({"shares": [0.5, *[0.715 / 10] * 10]}, "shares"),
        ({"shares": [0.285, *[0.715 / 9] * 9, 0]}, "shares"),
        ({"slots": [2] + [1] * 9}, "slots"),
        ({"slots": [5] + [1] * 10}, "slots"),
        ({"slots": [1.5] + [1] * 10}, "slots"),
        ({"large": [], "joint": [[]], "weights": [1.0]}, "large"),
        ({"large": [11], "joint": [[], [11]]}, "large"),
        ({"joint": [[], []]}, "joint"),
        ({"weights": [0.5, 0.5]}, "weights"),
        ({"weights": [0.43, 0.57, 0.1]}, "weights"),
        ({"weights": [-0.43, 1.43]}, "weights"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"'{parameter}' parameter of Design must be"):
        Design.from_dict(SOUND | change)


def test_slots_that_nobody_can_fill() -> None:
    """Three values cannot fill four slots."""
    with pytest.raises(ParameterError, match="can fill"):
        Design(4, [0.4, 0.2, 0.2, 0.2], [2, 1, 1, 1], [0], [[False], [True]], [0.2, 0.8])


@pytest.mark.parametrize("written", [{}, SOUND | {"joint": [[], [7]]}, SOUND | {"m": None}, SOUND | {"shares": "x"}])
def test_a_file_that_is_none(written: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Design.from_dict(written)
