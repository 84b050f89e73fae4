"""How values change, as somebody writes it."""

from __future__ import annotations

import numpy as np
import pytest

from reissue.errors import ParameterError, PolicyError
from reissue.model.change import Change, Rates, Renewal, Static, Transitions, change_from_dict, change_of

LABELS, SHARES = ["flu", "cold"], np.array([0.25, 0.75])
MOVES = {"flu": {"flu": 0.1, "cold": 0.9}, "cold": {"cold": 1}}


@pytest.mark.parametrize(
    ("given", "change", "table"),
    [
        (None, Static(), [[1, 0], [0, 1]]),
        (0.4, Renewal(0.4), [[0.7, 0.3], [0.1, 0.9]]),
        (1, Renewal(1), [[0.25, 0.75], [0.25, 0.75]]),
        ({"flu": 0.4, "cold": 0}, Rates({"flu": 0.4, "cold": 0}), [[0.7, 0.3], [0, 1]]),
        (MOVES, Transitions(MOVES), [[0.1, 0.9], [0, 1]]),
    ],
)
def test_what_is_written(given: object, change: Change, table: list[list[float]]) -> None:
    assert change_of(given) == change
    assert change_of(change) is change
    assert hash(change_of(given)) == hash(change)
    assert change_from_dict(change.to_dict()) == change
    assert change.matrix(LABELS, SHARES) == pytest.approx(np.array(table))


@pytest.mark.parametrize(
    "given",
    [
        *(0, -0.1, 1.1, True, "0.1", float("nan"), []),
        *({}, {"flu": 2}, {"flu": True}, {"flu": 0.1, "cold": {}}, {1: 0.5}),
        *({"flu": {"flu": 0.5}}, {"flu": {"flu": -1, "cold": 2}}, {"flu": {}}, {"flu": {2: 1.0}}),
    ],
)
def test_what_is_no_change(given: object) -> None:
    with pytest.raises(ParameterError, match=r"must be .* instead\.") as raised:
        change_of(given)
    assert "flu" not in str(raised.value)


def test_every_value_has_to_be_covered() -> None:
    with pytest.raises(ParameterError, match="1 of 2 values"):
        Rates({"flu": 0.1}).matrix(LABELS, SHARES)
    with pytest.raises(ParameterError, match="1 of 2 values"):
        Transitions({"flu": {"flu": 1}}).matrix(LABELS, SHARES)
    with pytest.raises(ParameterError, match="1 values without a reference share"):
        Transitions({**MOVES, "cold": {"cough": 1}}).matrix(LABELS, SHARES)
    with pytest.raises(PolicyError, match="'kind' must be"):
        change_from_dict({"kind": "sometimes"})
