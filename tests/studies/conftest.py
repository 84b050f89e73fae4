"""What tests of the studies share: the command line, and no time lost on warming up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from command_line import run
from reissue_studies.bu import experiments as bu
from reissue_studies.byun import experiments as byun
from reissue_studies.he import experiments as he
from reissue_studies.riboni import experiments as riboni
from reissue_studies.wong import experiments as wong

__all__ = ["run"]

WARM_UPS: Mapping[str, Callable[..., None]] = {
    paper.__name__.split(".")[1]: paper._warm_up for paper in (bu, byun, he, riboni, wong)
}


@pytest.fixture(scope="session")
def warm_ups() -> Mapping[str, Callable[..., None]]:
    """What each study does before it takes the time."""
    return WARM_UPS


@pytest.fixture(scope="session", autouse=True)
def cold() -> Iterator[None]:
    """Warming up makes times fair, which no test looks at; that it does is tested once, in `test_warming_up.py`."""

    def no_warming(*setting: Any) -> None:
        return None

    with pytest.MonkeyPatch.context() as patch:
        for paper in (bu, byun, he, riboni, wong):
            patch.setattr(paper, "_warm_up", no_warming)
        yield
