"""What drifting shares give a value at worst, where some values do not occur."""

from __future__ import annotations

import numpy as np

from reissue.methods.alternatives.alternatives import _at_worst


def test_a_value_that_nobody_has_is_no_share_of_nothing() -> None:
    """Two values that do not occur, one slot each: beside the other, 0 of 0."""
    slots = np.array([1, 1, 1])
    assert _at_worst(np.array([0.0, 0.0, 1.5]), slots, 2) == 1.0  # whoever shows the third has it
    assert _at_worst(np.zeros(3), slots, 2) == 0.0
    assert _at_worst(np.ones(3), slots, 2) == 0.5
