"""One candidate on one series: rehearsed, measured and attacked, as a row of figures.

| column                            | what it is                                                                       |
|-----------------------------------|----------------------------------------------------------------------------------|
| `method`, `parameters`, `form`    | what was tried                                                                   |
| `promise`                         | what holds of all releases together, in words; "each release alone" where not    |
| `protects`, `bound`               | whether it does, for people; the largest probability that it promises            |
| `refused`                         | why a method does not take the series; then there is nothing else                |
| `withheld`                        | people who should be in a release and are not: the largest share of any release  |
| `counterfeit`                     | rows that are nobody, likewise                                                   |
| `replaced`                        | people published with another value, likewise                                    |
| `smallest`                        | the people of the smallest group of any release                                  |
| `counts`                          | median relative error of COUNT queries on the last release                       |
| `shares`                          | how far shares of values in groups of people are off there, the mean             |
| `slopes`, `kept`, `turned`        | slopes and differences beyond chance; how many keep their sign, how many turn    |
| `size`                            | what is left of their size, the median                                           |
| `above`, `far_above`, `undecided` | people tied to a value with more than its limit, and far more; and not decided   |
| `certain`, `certain_false`        | people left with one value if values are fixed; how many of these never had it   |
| `right`, `without`, `advantage`   | `Likelihood` on the last release: right guesses, with and without own rows       |
| `changed`                         | what the method makes of values that change                                      |
| `note`                            | what could not be measured, and why                                              |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.comparing.attacked import attacked, without_a_link
from reissue.comparing.series_tables import SeriesTables, by_id
from reissue.comparing.suggested import NO_LINK, Candidate, in_one_line
from reissue.comparing.truth_behind import TruthBehind, renumbered
from reissue.errors import GuaranteeBroken, ParameterError, PolicyError, Refused, TableError
from reissue.methods.alternatives.alternatives import Alternatives
from reissue.model.domain import GROUP, PERSON
from reissue.model.grouping import Grouping
from reissue.publishing.checking.costs import costs
from reissue.publishing.draft import Draft
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal, everyone, seen
from reissue.utility import SetUtility, Utility, Workload, measure, measure_sets
from reissue.utility.gradients import Gradients

ROW = pl.Schema(
    {
        "method": pl.String,
        "kind": pl.String,
        "parameters": pl.String,
        "form": pl.String,
        "promise": pl.String,
        "protects": pl.Boolean,
        "bound": pl.Float64,
        "rare": pl.Float64,
        "refused": pl.String,
        "withheld": pl.Float64,
        "counterfeit": pl.Float64,
        "replaced": pl.Float64,
        "smallest": pl.Int64,
        "counts": pl.Float64,
        "shares": pl.Float64,
        "slopes": pl.Int64,
        "kept": pl.Int64,
        "turned": pl.Int64,
        "size": pl.Float64,
        "above": pl.Float64,
        "far_above": pl.Float64,
        "undecided": pl.Float64,
        "certain": pl.Float64,
        "certain_false": pl.Float64,
        "right": pl.Float64,
        "without": pl.Float64,
        "advantage": pl.Float64,
        "changed": pl.String,
        "note": pl.String,
    }
)
DIMENSIONS, SELECTIVITY = 2, 0.05
"""COUNT queries restrict so many quasi-identifiers and the value, and ask for so many of the people."""
UNPROTECTED = "each release alone"

Row = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is asked of each candidate: the same for all."""

    queries: int
    seed: int

    def workload(self, tables: SeriesTables) -> Workload:
        """The queries."""
        return Workload(min(DIMENSIONS, len(tables.schema.quasi)), SELECTIVITY, self.queries, seed=self.seed)

    def release_seed(self, number: int) -> int:
        """The seed of the random choices of a method for a release."""
        return self.seed + number


@dataclass(frozen=True, repr=False)
class Found:
    """What came out of a candidate."""

    row: Row
    policy: Policy | None = None
    """The setting that was taken; None where it was refused, and for no link at all."""


def rehearsed(candidate: Candidate, tables: SeriesTables, bound: float, effort: Effort) -> Found:
    """Publish the series in memory as a candidate says, and measure it; who promises no bound is held to `bound`."""
    head = {"method": candidate.name, "kind": candidate.kind, "changed": candidate.changed or None}
    if not candidate.settings:
        return Found({**head, "refused": candidate.why_not})
    try:
        policy, drafts, rehearsal = _first_that_works(candidate.settings, tables, effort)
    except GuaranteeBroken:
        raise
    except (Refused, PolicyError, TableError) as error:
        return Found({**head, "refused": in_one_line(error)})
    head |= promised(policy, bound)
    notes: list[str] = []
    row = {**head, **_costs(drafts), **_left(drafts[-1], effort.workload(tables), notes)}
    row |= _taken(drafts, rehearsal, tables, float(row["bound"]), notes)
    row["checks"] = "; ".join(_too_dear(drafts)) or None
    return Found({**row, "note": "; ".join(notes) or None}, policy)


def promised(policy: Policy, bound: float) -> Row:
    """What a policy promises, for the head of its row."""
    method: Any = policy.method
    given = [promise.bounds.value for promise in policy.promises if promise.bounds.value is not None]
    columns = [limit for promise in policy.promises for _, limit in promise.bounds.columns if limit is not None]
    most = min(given, default=None) if not columns else max(columns)
    people = method.protects_series and getattr(method, "changed", None) != "reinsert"
    if not method.protects_series:
        words = UNPROTECTED
    elif most is None:
        counted = max((p.bounds.history or p.bounds.pairs or p.bounds.alone or 0 for p in policy.promises), default=0)
        words = f"{counted} values" if counted else method.name
    else:
        words = f"at most {most}" + ("" if people else " a record")
    most_likely = float(most) if most is not None else bound
    return {
        "parameters": ", ".join(f"{name} = {_text(value)}" for name, value in method.parameters.items()),
        "form": policy.form,
        "promise": words,
        "protects": people,
        "bound": most_likely,
        # A limit is for frequent values: of sets every other has one of m places.
        "rare": min(most_likely, 1 / method.m) if isinstance(method, Alternatives) else most_likely,
    }


def _text(value: object) -> str:
    """A parameter in a few words; tables of values are not shown."""
    if isinstance(value, dict):
        return "given"
    if isinstance(value, list | tuple):
        return " and ".join(map(str, value))
    return str(value)


def _first_that_works(
    settings: Sequence[Policy], tables: SeriesTables, effort: Effort
) -> tuple[Policy, list[Draft], Rehearsal]:
    """The first setting whose first release is not refused, and all releases under it."""
    for last, policy in enumerate(settings, start=1 - len(settings)):
        rehearsal = Rehearsal(policy)
        try:
            drafts = [_release(rehearsal, tables, 1, effort)]
        except Refused:
            if last < 0:
                continue
            raise
        for number in range(2, len(tables.frames) + 1):
            try:
                drafts.append(_release(rehearsal, tables, number, effort))
            except Refused as error:
                error.what = f"release {number}: {error.what}"
                raise
        return policy, drafts, rehearsal
    raise ParameterError("A candidate has no settings.")


def _release(rehearsal: Rehearsal, tables: SeriesTables, number: int, effort: Effort) -> Draft:
    registry = None
    if rehearsal.policy.method.takes.registry and tables.registries:
        registry = tables.registries[min(number, len(tables.registries)) - 1]
    table = tables.frames[number - 1]
    return rehearsal.publish(table, registry=registry, seed=effort.release_seed(number))


def _costs(drafts: Sequence[Draft]) -> Row:
    """What releases cost, at most."""
    each = [draft.summary for draft in drafts]
    return {
        "withheld": max(sum(why["people"] for why in one["held_back"].values()) / one["people"] for one in each),
        "counterfeit": max(one["counterfeits"] / max(one["rows"], 1) for one in each),
        "replaced": max(one["replaced"] / one["people"] for one in each),
        "smallest": min(
            int(draft.grouping.sizes().min(initial=one["people"])) for draft, one in zip(drafts, each, strict=True)
        ),
    }


def _too_dear(drafts: Sequence[Draft]) -> list[str]:
    """What checks of costs would refuse, each once."""
    found = {failed.name: f"release {one.number}: {failed.what}" for one in reversed(drafts) for failed in costs(one)}
    return [f"'{name}' refuses {what}" for name, what in found.items()]


# What is left to analysts


def _left(draft: Draft, workload: Workload, notes: list[str]) -> Row:
    found: Utility | SetUtility
    if draft.policy.form == "alternatives":
        place = draft.rows[GROUP].cast(pl.Int64).fill_null(0).to_numpy().astype(np.int32) - 1
        held = np.flatnonzero(place < 0)
        # Each has a row of their own in the public table, also where regions put several people together.
        grouping = Grouping(place, draft.tables["table"].height, held_back={"withheld": held} if held.size else {})
        found = measure_sets(draft.number, draft.snapshot, grouping, draft.tables, draft.manifest, workload=workload)
        if found.unanswered is not None:
            notes.append(f"counts cannot be estimated: {found.unanswered}")
    else:
        snapshot, grouping = everyone(draft)
        form: Any = draft.policy.form
        found = measure(
            snapshot.quasi, snapshot.values, grouping, form=form, workload=workload,
            counterfeit=snapshot.people < 0, owner=snapshot.owner,
        )  # fmt: skip
    error = found.query_error
    told = {} if error is None or not error.answered else {"counts": error.median}
    return {**told, **({} if found.gradients is None else slopes(found.gradients))}


def slopes(gradients: Gradients) -> Row:
    """How far shares are off; how many slopes are beyond chance, keep their sign or turn round, and their size left."""
    return {
        "shares": gradients.off,
        "slopes": gradients.sure,
        "kept": gradients.kept,
        "turned": gradients.turned,
        "size": gradients.ratio,
    }


def unlinked(tables: SeriesTables, bound: float, effort: Effort) -> Found:
    """The last table as two, quasi-identifiers and values, that nothing links: everybody in one group. What counts tell
    from release to release is held against `bound`."""
    from reissue.tables.coding import code_table

    head = {"method": NO_LINK, "kind": NO_LINK, "form": "two tables", "promise": "nothing is tied", "protects": True}
    nothing = dict.fromkeys(("withheld", "counterfeit", "replaced"), 0.0)
    if not tables.states:
        return Found({**head, **nothing, "note": f"not measured: {tables.several_rows}"})
    snapshot = code_table(tables.frames[-1], tables.schema).snapshot
    one = Grouping(np.zeros(len(snapshot), dtype=np.int32), 1)
    found = measure(snapshot.quasi, snapshot.values, one, form="anatomised", workload=effort.workload(tables))
    counts = found.query_error.median if found.query_error is not None and found.query_error.answered else None
    # No group differs from any other: what is left of each slope is 0 by definition, not a ratio of roundings.
    told = {**slopes(found.gradients), "kept": 0, "turned": 0, "size": 0.0 if found.gradients.sure else None}
    return Found({**head, **nothing, "counts": counts, **told, **without_a_link(tables.states, bound)})


# What attacks get


def _taken(drafts: Sequence[Draft], rehearsal: Rehearsal, tables: SeriesTables, bound: float, notes: list[str]) -> Row:
    if not tables.states:
        notes.append("attacks were not rehearsed, as people have several values: `reissue audit` has Permanence")
        return {}
    order = by_id(rehearsal.ids)
    view = renumbered(seen(drafts, quasi=True), order)
    shown = pl.concat(_shown(one, order) for one in drafts)
    if not view.single:
        notes.append("attacks were not rehearsed, as a group may hold more values than people")
        return {}
    return attacked(view, TruthBehind.of(shown, view), tables.states, bound)


def _shown(draft: Draft, order: Ints) -> pl.DataFrame:
    """Who is in a release, with their true values; of sets, as these call them."""
    rows, sets = draft.rows, draft.grouping.sets
    if sets is None:
        value = rows[draft.policy.schema.sensitive].cast(pl.String)
    else:
        value = pl.Series([str(label) for label in sets.designs.labels], dtype=pl.String).gather(sets.own)
    found = pl.DataFrame({"person": order[rows[PERSON].to_numpy()], "value": value, GROUP: rows[GROUP]})
    number = pl.lit(draft.number, dtype=pl.Int64).alias("release")
    return found.drop_nulls(GROUP).select("person", number, "value")
