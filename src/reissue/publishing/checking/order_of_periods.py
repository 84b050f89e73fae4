"""The checks of periods: releases are of one after the other, and none is left out."""

from __future__ import annotations

from reissue.model.period import FORMS, Period
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks

PERIOD, GAP = "period", "gap"


def out_of_order(period: str | None, corrects: int | None, latest: str | None, checks: Checks) -> list[Failed]:
    """What is wrong with the period of a release after others, of which one reaches until `latest`.

    Nothing where no release had a period so far; a correction is of the period that it corrects.
    """
    if latest is None or corrects is not None:
        return []
    if period is None:
        what = f"this release has no period, and releases up to {latest} have one"
        return [Failed(PERIOD, what, f"say what it is of: --period {FORMS}")]
    this, last = Period.parse(period), Period.parse(latest)
    if problem := this.problem_after(last):
        return [Failed(PERIOD, problem, "check that it is the right file; of a correction say --corrects N")]
    if checks.gap == "refuse" and (left_out := this.gap_after(last)):
        step = 'publish what was left out first; where states are taken now and then, set gap = "accept"'
        return [Failed(GAP, left_out, step)]
    return []
