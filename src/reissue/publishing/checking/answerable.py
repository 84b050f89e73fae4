"""The check whether anything can be estimated from sets: a design can hide values so well that no count is left."""

from __future__ import annotations

from reissue.errors import Infeasible
from reissue.model.record_design import RecordDesign
from reissue.model.sets import PublishedSets
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.draft import Draft

UNANSWERABLE = "unanswerable"


def unanswerable(draft: Draft, checks: Checks) -> Failed | None:
    """Of the first release, by whose design all later sets are drawn."""
    release = draft.recoded.groups
    if checks.unanswerable == "accept" or draft.number > 1 or not isinstance(release, PublishedSets):
        return None
    from reissue.reasoning.alternatives.record_scoring import RecordPairs, enough_draws  # only sets need them
    from reissue.reasoning.alternatives.scoring import Scores

    try:
        for design in release.designs.designs:
            if isinstance(design, RecordDesign):
                RecordPairs(design, enough_draws(design, draft.recoded.rows))
            else:
                Scores(design)
    except Infeasible as error:
        what = f"recipients can estimate nothing from these sets ({error.what.rstrip('.')})"
        step = "take fewer sensitive columns, such that none follows from another, or allow values a larger limit"
        return Failed(UNANSWERABLE, what[:1].lower() + what[1:], step)
    return None
