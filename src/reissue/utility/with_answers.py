"""A measured release with answers: to shares and means of random parts of its table, and to questions given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from reissue.model.release import Release
from reissue.model.snapshot import Snapshot
from reissue.utility.answers import Asking, hierarchies_of
from reissue.utility.asks import Ask
from reissue.utility.made_questions import made_questions
from reissue.utility.measuring import Utility
from reissue.utility.set_measuring import SetUtility
from reissue.utility.workload import Workload

Measured = TypeVar("Measured", Utility, SetUtility)


def with_answers(
    measured: Measured,
    snapshot: Snapshot,
    release: Release,
    *,
    workload: Workload | None,
    questions: Sequence[Ask],
) -> Measured:
    """Ask a release as `analyse` would, and hold its answers against the table."""
    asking = Asking(snapshot, release, hierarchies_of(snapshot))
    if workload is not None:
        shares, means = made_questions(snapshot, workload)
        measured = replace(measured, shares=asking.answers(shares) if shares else None)
        measured = replace(measured, means=asking.answers(means) if means else None)
    if questions:
        measured = replace(measured, answers=asking.answers(questions))
    return measured
