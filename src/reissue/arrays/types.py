"""The kinds of arrays that the package works with, by their short names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
"""Sets of up to 64 things a word, one bit each."""
Codes = npt.NDArray[np.int32]
"""Values by number, -1 for none, where there are very many of them."""
Bytes = npt.NDArray[np.int8]
"""Small numbers, such as states and kinds."""
