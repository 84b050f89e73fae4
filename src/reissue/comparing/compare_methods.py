"""Comparing methods: rehearse the whole series under each that fits, on all cores, within a time.

found = ri.compare(["january.csv", "february.csv", "march.csv"], "policy.toml")
found.table, print(found.recommendation), found.policy, found.chart().save("compare.html")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from reissue.arrays.cores import cores
from reissue.arrays.randomness import check_seed
from reissue.comparing.comparison import Comparison
from reissue.comparing.crew import Outcome, worked_through
from reissue.comparing.proposed import proposed_policy
from reissue.comparing.recommending import Situation
from reissue.comparing.rehearsed import Effort, Found, promised, rehearsed, unlinked
from reissue.comparing.series_tables import SeriesTables, read_series
from reissue.comparing.suggested import Candidate, asked_m, suggested
from reissue.errors import InternalError, ParameterError, listed
from reissue.methods.alternatives.alternatives import Alternatives
from reissue.publishing.checking.looking_ahead import looking_ahead
from reissue.publishing.policy import Ids, Policy

SECONDS = 120.0
"""The time for all of it."""
PEOPLE = 100_000
"""A table with more people is rehearsed with so many of them."""
QUERIES = 1_000
"""So many counts are asked of each release."""
SEED = 1
"""The same figures every time, unless another seed is asked for."""
LATE = "not tried: the time was up. Allow more seconds"

Progress = Callable[[int, int, str], None]
"""Called with how many candidates are done, how many there are, and what is being done."""


def compare(
    tables: Sequence[object],
    policy: Policy | str | Path | None = None,
    *,
    methods: Sequence[str] | None = None,
    seconds: float | None = SECONDS,
    people: int | None = PEOPLE,
    queries: int = QUERIES,
    seed: int = SEED,
    processes: int | None = None,
    registry: object = None,
    progress: Progress = lambda done, total, what: None,
) -> Comparison:
    """Publish tables, in the order of time, by every method that may fit them; in memory, and nothing is kept.

    The `policy` says what the columns are and what is asked for: its m, l or limit is that of all methods. Without one
    it is proposed as `reissue init` does, which is a guess. `methods` names those to try, such as "Alternatives"; by
    default all. `registry` is everybody registered, for methods that take that: one for all tables, or a list.

    `seconds` is for all of it: when they have passed, nothing else is begun. The clock decides which candidates are
    tried, and nothing of what is measured of them: with the same `seed` that is the same on every machine. Tables with
    more than `people` people are rehearsed with so many of them, the same in all tables. `processes` is how many run at
    once, by default one for each core; 0: none but this one, where nothing that has begun is stopped.

    The result is private: it was measured beside the truth.
    """
    began = monotonic()
    _check(tables, methods, seconds, people, queries, processes)
    check_seed(seed, "compare")
    progress(0, 1, "Reading the tables")
    written = None
    if policy is None:
        policy = proposed_policy(tables)
    elif not isinstance(policy, Policy):
        path, policy = Path(policy), Policy.read(policy)
        written = path.read_text(encoding="utf-8")
    lists = registry if isinstance(registry, list | tuple) else [] if registry is None else [registry]
    series = read_series(tables, policy.schema, people, seed, lists)
    tried = _chosen(suggested(series, policy), methods)
    effort = Effort(queries, seed)
    bound = _asked(policy)
    ends = None if seconds is None else began + seconds
    beside = unlinked(series, bound, effort)
    found = _all(tried, series, bound, effort, processes, ends, seconds, progress)
    return Comparison(
        rows=(*(one.row for one in found), beside.row),
        situation=_situation(series, policy, bound),
        releases=len(series.frames),
        seed=seed,
        given=policy,
        settings={one.row["method"]: one.policy for one in found if one.policy is not None},
        notes=tuple(_notes(series)),
        stopped=_stopped(series, policy),
        library=series.library,
        written=written,
    )


def _asked(policy: Policy) -> float:
    """The largest probability that the policy promises, or that its m stands for."""
    usual = 1 / asked_m(policy)
    return float(promised(policy, usual)["bound"]) if policy.method.protects_series else usual


def _all(
    tried: Sequence[Candidate],
    series: SeriesTables,
    bound: float,
    effort: Effort,
    processes: int | None,
    ends: float | None,
    seconds: float | None,
    progress: Progress,
) -> list[Found]:
    """What came out of each candidate, in their order."""
    found: dict[int, Found] = {}
    jobs = [at for at, one in enumerate(tried) if one.settings]
    for at, one in enumerate(tried):
        if not one.settings:
            found[at] = rehearsed(one, series, bound, effort)

    def tell(job: int) -> None:
        progress(len(found), len(tried), tried[jobs[job]].name)

    with closing(_outcomes(tried, jobs, (series, bound, effort), processes, ends, seconds, tell)) as outcomes:
        for outcome in outcomes:
            found[jobs[outcome.job]] = _of(outcome, tried[jobs[outcome.job]])
            progress(len(found), len(tried), tried[jobs[outcome.job]].name)
    return [found[at] for at in range(len(tried))]


def _outcomes(
    tried: Sequence[Candidate],
    jobs: Sequence[int],
    shared: tuple[SeriesTables, float, Effort],
    processes: int | None,
    ends: float | None,
    seconds: float | None,
    tell: Callable[[int], None],
) -> Any:
    if processes != 0:
        work = [tried[at] for at in jobs]
        return worked_through(shared, work, processes=processes or cores(), ends=ends, seconds=seconds, begun=tell)
    return _one_by_one(tried, jobs, shared, ends, tell)


def _one_by_one(
    tried: Sequence[Candidate],
    jobs: Sequence[int],
    shared: tuple[SeriesTables, float, Effort],
    ends: float | None,
    tell: Callable[[int], None],
) -> Any:
    for job, at in enumerate(jobs):
        if ends is not None and monotonic() >= ends:
            yield Outcome(job, late=True)
            continue
        tell(job)
        yield Outcome(job, rehearsed(tried[at], *shared))


def _of(outcome: Outcome, candidate: Candidate) -> Found:
    if outcome.broken:
        raise InternalError(
            f"{candidate.name} could not be rehearsed: {str(outcome.failed).rstrip('.')}.",
            hint="this is a mistake of Reissue, not of the tables; please report it. Other methods can be compared by "
            "name (--method).",
        )
    if outcome.result is not None:
        result: Found = outcome.result
        return result
    why = LATE if outcome.late else f"failed: {str(outcome.failed).rstrip('.')}"
    head = {"method": candidate.name, "kind": candidate.kind, "changed": candidate.changed or None}
    return Found({**head, "refused": why, "late": outcome.late})


def _chosen(tried: list[Candidate], methods: Sequence[str] | None) -> list[Candidate]:
    if methods is None:
        return tried
    kinds = list(dict.fromkeys(one.kind for one in tried))
    by_word = {kind.lower(): kind for kind in kinds}
    unknown = [name for name in methods if str(name).lower() not in by_word]
    if unknown or not methods:
        raise ParameterError(
            f"The 'methods' parameter of compare must name methods among {listed(kinds)}. "
            f"Got {listed(list(map(str, unknown))) or 'none'} instead."
        )
    wanted = {by_word[name.lower()] for name in methods}
    return [one for one in tried if one.kind in wanted]


def _situation(series: SeriesTables, policy: Policy, bound: float) -> Situation:
    return Situation(
        asked=bound,
        people=series.people[-1],
        whole=series.whole[-1],
        largest_share=series.largest_share,
        changed=series.changed / series.stayed if series.states and series.stayed else 0.0,
        several_rows=series.several_rows is not None,
        several_columns=len(policy.schema.sensitive_columns) > 1,
        regions=getattr(policy.method, "k", None) if isinstance(policy.method, Alternatives) else None,
        asked_rare=min(bound, 1 / asked_m(policy)) if isinstance(policy.method, Alternatives) else bound,
        moves_given=isinstance(policy.method, Alternatives) and isinstance(policy.method.change, Mapping),
    )


def _stopped(series: SeriesTables, policy: Policy) -> tuple[str, ...]:
    """What checks before a commit will refuse these tables for, whichever method is taken."""
    if policy.method.takes.registry or not series.states:
        return ()
    plain = replace(policy, people=Ids(), gate=None, anchor=None)
    found = looking_ahead(series.frames, plain)
    # Of a sample nobody knows whether all the others are as they were.
    return tuple(f"table {number}: {one}" for number, one in found if one.name != "same-state" or not series.sampled)


def _notes(series: SeriesTables) -> list[str]:
    notes = []
    if series.sampled:
        notes.append(
            f"Rehearsed with {series.people[-1]:,} of {series.whole[-1]:,} people of the last table, drawn at random, "
            "the same in all tables. With all of them counts from sets are nearer: their error falls with the root of "
            "how many there are."
        )
    if len(series.frames) == 1:
        notes.append("There is one table, so that nothing is known of how people come, go and change: give several.")
    elif series.states:
        notes.append(_moves(series))
    return notes


def _moves(series: SeriesTables) -> str:
    if not series.stayed:
        return "Nobody is in two tables one after the other: check that ids are written the same way in all of them."
    left = series.gone / (series.gone + series.stayed)
    differ = series.changed / series.stayed
    changed = "nobody's value changes" if not series.changed else f"{differ:.1%} of values change"
    leave = "nobody leaves" if not series.gone else f"{left:.1%} of people leave"
    return f"From one table to the next {leave}, and {changed} among those who stay."


def _check(
    tables: object,
    methods: object,
    seconds: object,
    people: object,
    queries: object,
    processes: object,
) -> None:
    problems = []
    if isinstance(tables, str | Path | Mapping) or not isinstance(tables, Sequence) or not tables:
        problems.append("The 'tables' parameter of compare must be a list of tables, in the order of time.")
    if methods is not None and (isinstance(methods, str) or not isinstance(methods, Sequence)):
        problems.append("The 'methods' parameter of compare must be a list of names.")
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
    if seconds is not None and not number:
        problems.append(f"The 'seconds' parameter of compare must be a number above 0. Got {seconds!r} instead.")
    for name, value, least, optional in (
        ("people", people, 2, True),
        ("queries", queries, 1, False),
        ("processes", processes, 0, True),
    ):
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not whole and not (optional and value is None):
            problems.append(
                f"The '{name}' parameter of compare must be a whole number of at least {least}. Got {value!r} instead."
            )
    if len(problems) == 1:
        raise ParameterError(problems[0])
    if problems:
        raise ParameterError(f"{len(problems)} parameters of compare do not fit.", problems=problems)
