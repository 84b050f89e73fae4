"""Real data sets, which are not part of this repository: where they are, and what happens to tests without them.

A test that needs one says so, and names a test of the same file that shows the same in small and always runs:

    @needs("adult/adult.data.gz", stand_in="test_adult_in_small")

The files are looked for in the folder that the variable REISSUE_DATA names, or else in `shared/data` beside the
checkout. Where they are missing, all these tests are skipped with one line.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("REISSUE_DATA") or Path(__file__).parents[2] / "shared" / "data")


def needs(file: str, *, stand_in: str) -> pytest.MarkDecorator:
    """Run a test only where a real file, or a folder of them, is at hand; `stand_in` is the test for everywhere."""
    return pytest.mark.real_data(file, stand_in=stand_in)


def require(item: pytest.Item) -> None:
    """Skip a test whose real data is not here, or complain of a mark that is not whole."""
    for mark in item.iter_markers("real_data"):
        stand_in = getattr(item, "module", None) and getattr(item.module, mark.kwargs["stand_in"], None)  # type: ignore[attr-defined]
        if not callable(stand_in):
            pytest.fail(f"{item.nodeid} names '{mark.kwargs['stand_in']}' as its stand-in, which is no test beside it")
        if not all((FOLDER / file).exists() for file in mark.args):
            pytest.skip("real data sets are not here (REISSUE_DATA may name their folder); stand-ins ran instead")
