"""Why a table must not be published: reasons that are clear before anybody is grouped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reissue.errors import Infeasible, Refused, Unprotected, count_of
from reissue.guarantees import GroupGuarantee
from reissue.methods.base import Method
from reissue.policy import Policy
from reissue.recode import whole
from reissue.snapshot import Delta, Snapshot, strata

if TYPE_CHECKING:
    from reissue.drafting import History


def check_protection(policy: Policy, history: History, protected: bool, obstacles: list[str]) -> None:
    """A second release needs a method that protects a series and can go on from the first, or a policy that says so."""
    if not history.number or protected or policy.series == "unprotected":
        return
    if not policy.method.protects_series:
        problem = (
            f"{policy.method.name} protects each release alone, not the series, and release {history.number} is out "
            "already: whoever is in both could be betrayed by comparing them."
        )
        hint = "choose a method that protects a series, or accept the risk:"
    else:
        problem = (
            f"{policy.method.name} protects a series from its first release on, and under this policy it cannot: "
            "whoever is in earlier releases too could be betrayed by comparing them."
        )
        hint = "go back to the method and parameters of before, or accept the risk:"
    raise Unprotected(
        problem,
        problems=obstacles if policy.method.protects_series else [],
        hint=f'{hint} set series = "unprotected" in the policy and record that with `reissue amend`; the public '
        "record then says so.",
    )


def check_changes(method: Method, delta: Delta) -> None:
    """Not every method can take deletions, returns and changed columns."""
    problems = []
    if delta.gone.size and not method.takes.deletions:
        problems.append(f"{count_of(delta.gone.size, 'person', 'people')} gone since the last release")
    if delta.returned.size and not method.takes.returns:
        problems.append(f"{count_of(delta.returned.size, 'person', 'people')} came back")
    changed = np.union1d(delta.changed_quasi, delta.changed_value).size
    if changed and not method.takes.changes:
        problems.append(f"{count_of(changed, 'person', 'people')} with changed columns")
    if problems:
        raise Refused(f"{method.name} cannot take what changed since the last release.", problems=problems)


def check_feasible(snapshot: Snapshot, guarantees: tuple[Any, ...]) -> None:
    """What the whole table fails as one group, every grouping of it fails in some group.

    Columns published as they are keep their values apart, so there each combination is a table of its own.
    """
    groupwise = [guarantee for guarantee in guarantees if isinstance(guarantee, GroupGuarantee)]
    if not groupwise:
        return
    stratum = strata(snapshot)
    view = whole(snapshot, stratum)
    failed = {g: verdict for g in groupwise if not (verdict := g.check(view)).holds}
    if not failed:
        return
    if view.releases[0].group_count == 1:
        raise Infeasible(
            f"No grouping of this table ({count_of(len(snapshot), 'row')}) can satisfy the policy.",
            problems=[f"{g.title}: {g.advice(view)}" for g in failed],
            hint="lower the parameters, or publish when there are more people.",
        )
    names = ", ".join(f"'{column.name}'" for column in snapshot.as_is)
    raise Infeasible(
        f"The columns published as they are ({names}) divide the table into parts that cannot satisfy the policy.",
        problems=[
            f"{g.title}: {v.violations:,} of {v.groups:,} combinations of their values fail, the worst with {v.worst:g}"
            for g, v in failed.items()
        ],
        hint="make such a column a quasi-identifier or drop it, lower the parameters, or wait for more people.",
    )
