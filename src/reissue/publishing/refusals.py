"""Why a table must not be published: reasons that are clear before anybody is grouped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reissue.errors import Infeasible, ParameterError, PolicyChanged, Refused, SeriesError, Unprotected, count_of
from reissue.guarantees import GroupGuarantee, Guarantee, Verdict
from reissue.methods import METHODS
from reissue.methods.base import Method
from reissue.model.snapshot import Delta, People, Snapshot, strata
from reissue.publishing.policy import Policy
from reissue.tables.recode import whole

if TYPE_CHECKING:
    from reissue.publishing.history import History


def check_amendment(mine: Policy, theirs: Policy) -> None:
    """What a series with releases cannot change about its policy."""
    fixed = [
        what
        for what, changed in {
            "the person column": mine.schema.person != theirs.schema.person,
            "the sensitive column": mine.schema.sensitive != theirs.schema.sensitive,
            "the kind of a sensitive column": [*map(type, mine.schema.sensitive_columns.values())]
            != [*map(type, theirs.schema.sensitive_columns.values())],
            "how ids are kept": mine.people.ids != theirs.people.ids,
        }.items()
        if changed
    ]
    if fixed:
        raise PolicyChanged(
            f"A series cannot change {' or '.join(fixed)}: its history would no longer fit.",
            hint="start a new series in another folder.",
        )


def release_time(given: datetime | None, last: tuple[int, datetime] | None) -> datetime:
    """When a release happens: as given or, without that, now; refused before the last one, of this number and time."""
    if given is not None and given.tzinfo is None:
        raise ParameterError("The 'time' parameter of a release must have a time zone.")
    time = given or datetime.now(UTC)
    if last is None or time >= last[1]:
        return time
    number, before = last[0], f"{last[1]:%Y-%m-%d %H:%M:%S} UTC"
    if given is not None:
        raise ParameterError(
            f"The 'time' parameter of a release must not be before the last release. Release {number} is of {before}.",
            hint="give the time at which the release happens, or leave it out.",
        )
    raise SeriesError(
        f"The clock of this machine says {time:%Y-%m-%d %H:%M:%S} UTC, and release {number} is of {before}: the clock "
        "went back, or was ahead then. Nothing was published.",
        hint="set the clock, and publish again. If it is right now, and was ahead when the last release was made, give "
        "a time in Python that is not before that one: series.publish(table, time=...).",
    )


def check_protection(policy: Policy, history: History, protected: bool, obstacles: list[str]) -> None:
    """A second release needs a method that protects a series and can go on from the first, or a policy that says so."""
    if not history.number or protected or policy.series == "unprotected":
        return
    if not policy.method.protects_series:
        problem = (
            f"{policy.method.name} protects each release alone, not the series, and release {history.number} is out "
            "already: comparing them could expose the people who are in both."
        )
        hint = "choose a method that protects a series, or accept the risk:"
    else:
        problem = (
            f"{policy.method.name} protects a series from its first release on, and under this policy it cannot: "
            "comparing releases could expose the people who are in earlier ones too."
        )
        hint = "go back to the earlier method and parameters, or accept the risk:"
    unknown = [f"nobody here knows who is in release {number}" for number in history.lost]
    raise Unprotected(
        problem,
        problems=[*obstacles, *unknown] if policy.method.protects_series else [],
        hint=f'{hint} set series = "unprotected" in the policy and record that with `reissue amend`; the public '
        "record then says so.",
    )


def check_registry(method: Method, given: bool) -> None:
    """Not every method knows of people who are not in the table."""
    if given and not method.takes.registry:
        raise ParameterError(
            f"{method.name} takes no registry: it does not consider people who are not in the table.",
            hint="leave 'registry' and 'extinct' out.",
        )


def check_changes(method: Method, delta: Delta, history: History) -> None:
    """Not every method can take deletions, returns and changed columns.

    Whoever was never published may come, go and change: that shows in no release.
    """
    if method.takes.deletions and method.takes.changes and method.takes.returns:
        return
    unseen = _unseen(method, delta, history)
    gone, returned, quasi, value = (
        np.setdiff1d(people, unseen).size
        for people in (delta.gone, delta.returned, delta.changed_quasi, delta.changed_value)
    )
    happened = {"deletions": gone, "returns": returned, "changes": quasi + value}
    if all(getattr(method.takes, kind) for kind, people in happened.items() if people):
        return
    problems = []
    if gone and not method.takes.deletions:
        problems.append(f"deletions: {count_of(gone, 'person is', 'people are')} gone since the last release")
    if returned and not method.takes.returns:
        problems.append(f"returns: {count_of(returned, 'person', 'people')} came back")
    if quasi and not method.takes.changes:
        problems.append(f"changes: {count_of(quasi, 'person', 'people')} with other quasi-identifiers")
    if value and not method.takes.changes:
        problems.append(f"changes: {count_of(value, 'person', 'people')} with another sensitive value")
    raise Refused(
        f"{method.name} cannot take what changed since the last release.",
        problems=problems,
        hint=_instead([kind for kind, people in happened.items() if people], history),
    )


def _unseen(method: Method, delta: Delta, history: History) -> People:
    """Those whom no release showed, as far as that is certain, and those whom none will show again."""
    unseen = [] if history.barred is None else [_numbers(history.barred)]
    alone = history.protected and history.method == method.name and not history.adopted
    # A series that was always made by a method without deletions shows everybody again whom it once showed. So who
    # was held back last was never shown, and neither was who left and came back: others could not have left.
    if alone and not method.takes.deletions:
        unseen += [delta.returned, *([] if history.last.held_back is None else [_numbers(history.last.held_back)])]
    return np.concatenate([np.empty(0, dtype=np.int64), *unseen])


def _numbers(people: pl.DataFrame) -> People:
    return people["person"].to_numpy().astype(np.int64)


def _instead(happened: list[str], history: History) -> str:
    """What to do about it: a method cannot be changed in the middle of a protected series."""
    words = {"deletions": "people who leave", "returns": "people who return", "changes": "people who change"}
    what = _joined([words[kind] for kind in happened])
    able = [kind for kind in METHODS.values() if all(getattr(kind.takes, change) for change in happened)]
    correct = "if the table should have stayed as it was, correct it."
    if "deletions" in happened:
        correct = "a release takes the whole table, not only the newcomers; if nobody should be gone, correct it."
    if not history.protected:
        names = _joined([kind.name for kind in able])
        return (
            f"{correct} {names} take {what}: `reissue amend` changes the method. The series is unprotected already, "
            "and the public record will go on saying so."
        )
    names = _joined([kind.name for kind in able if kind.protects_series])
    return (
        f"{correct} {names} take {what}, but they protect a series from its first release on: start a new series "
        'under one of them, or go on here with series = "unprotected" and `reissue amend`. Either way comparing '
        "releases could expose the people who were published before; no method prevents that."
    )


def never_without(method: Method) -> tuple[str, ...]:
    """What to say when ids are forgotten: what becomes of those who come back, or of every table without them."""
    if method.takes.deletions and not method.protects_series:
        return ()
    if method.takes.deletions:
        return (
            "whoever of those forgotten comes back is published as somebody new, and the values that their old and new "
            "sets or groups have in common may give them away: leave them out of later tables",
        )
    return (
        f"{method.name} takes no deletions: if those forgotten were published, every later table will be refused, "
        "without them because they are gone, and with them because they are not recognised",
    )


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def check_columns(method: Method, guarantees: Sequence[Guarantee], verdicts: Sequence[Verdict]) -> None:
    """A method that hides records may leave one of their columns bare, or nearly: that is refused."""
    bare = [
        f"{verdict.guarantee}: {verdict.explanation}"
        for guarantee, verdict in zip(guarantees, verdicts, strict=True)
        if isinstance(guarantee, GroupGuarantee) and guarantee.bounds.columns and not verdict.holds
    ]
    if bare:
        raise Refused(
            f"{method.name} takes the sensitive columns as one value, and does not hide each of them by itself.",
            problems=bare,
            hint="Alternatives hides every column by its own limit, and Mondrian keeps to such limits; or raise the "
            "limit of the column, make it coarser, or publish fewer sensitive columns.",
        )


def check_feasible(snapshot: Snapshot, guarantees: tuple[Any, ...], *, goes_on: bool) -> None:
    """What the whole table fails as one group, every grouping of it fails in some group.

    Columns published as they are keep their values apart, so there each combination is a table of its own. A method
    that goes on from earlier releases judges by itself: it may publish some people and let others wait.
    """
    if goes_on:
        return
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
        hint="make a column that is clinical or financial sensitive too, another one a quasi-identifier, or drop it; "
        "lower the parameters, or wait for more people.",
    )
