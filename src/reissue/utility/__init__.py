"""What a release still tells: information loss, group sizes, and the error of COUNT queries.

- What generalisation takes from the quasi-identifiers: `information_loss`, `distortion`, `certainty_penalty`.
- How large the groups are: `discernibility`, `average_class_size`, `normalised_class_size`.
- How far off an analyst's counts are: `query_error` with a `Workload`.
- Whether values still depend on quasi-identifiers as they did: `Gradients`.
- What an analyst's own questions (`Ask`) are answered, beside the truth: `Answers`.
- All of it at once: `measure`, which gives a `Utility`.
- Of sets of values: how exactly shares can be estimated, and the error of counts: `measure_sets`, a `SetUtility`.

Everything here looks at the private table, so that it can compare; figures are averages and totals, but
`QueryError.queries` holds exact counts, `Gradients.each` exact slopes and `Answers.each` exact answers; they stay on
the private side.
"""

from __future__ import annotations

from reissue.utility.answers import Answers
from reissue.utility.asks import Ask
from reissue.utility.gradients import Gradients
from reissue.utility.group_sizes import average_class_size, discernibility, normalised_class_size
from reissue.utility.loss import (
    CertaintyPenalty,
    InformationLoss,
    certainty_penalty,
    distortion,
    information_loss,
)
from reissue.utility.measuring import Utility, measure
from reissue.utility.queries import QueryError, query_error
from reissue.utility.set_measuring import SetUtility, measure_sets
from reissue.utility.set_queries import SetQueryError
from reissue.utility.workload import Workload

__all__ = [
    "Answers",
    "Ask",
    "CertaintyPenalty",
    "Gradients",
    "InformationLoss",
    "QueryError",
    "SetQueryError",
    "SetUtility",
    "Utility",
    "Workload",
    "average_class_size",
    "certainty_penalty",
    "discernibility",
    "distortion",
    "information_loss",
    "measure",
    "measure_sets",
    "normalised_class_size",
    "query_error",
]
