"""Before time is taken, everything that is timed has run once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from reissue_studies.bu.setting import Setting as Bu
from reissue_studies.byun.setting import Setting as Byun
from reissue_studies.riboni.setting import Setting as Riboni
from reissue_studies.stopwatch import Stopwatch, Timed
from reissue_studies.wong.setting import Setting as Wong

from reissue.publishing.draft import Draft

SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "bu": (Bu(people=300, rounds=3, l=(2,), containers=(3,), known=(0,), queries=20),),
    "byun": (Byun(rows=400, initial=300, step=100, l=(3,)),),
    "he": (),
    "riboni": (Riboni(rows=300, releases=4, m=4, n=2),),
    "wong": (Wong(rows=250, m=(2, 5), k=(2,), sizes=(2, 4)),),
}
METHODS = {
    "bu": {"HDComposition": 2},
    "byun": {"StaticI": 3, "StaticII": 3, "Incremental": 6},
    "he": {"MInvariance": 6, "EEquivalence": 3},
    "riboni": {"MInvariance": 6, "CorSplit": 6},
    "wong": {"Mask": 1, "AlphaK": 2},
}
"""How many releases each method makes."""


@pytest.mark.parametrize("paper", METHODS)
def test_every_method_that_is_timed_has_run(
    paper: str, warm_ups: Mapping[str, Callable[..., None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    taken = Stopwatch.timed

    def counted(stopwatch: Stopwatch, draft: Draft) -> Timed:
        made.append(draft.policy.method.name)
        return taken(stopwatch, draft)

    monkeypatch.setattr(Stopwatch, "timed", counted)
    warm_ups[paper](*SETTINGS[paper])
    assert {name: made.count(name) for name in dict.fromkeys(made)} == METHODS[paper]
