"""From a table and a registry to a Snapshot: everybody registered, and the values of those who are in the table.

The registry says who there is and what his quasi-identifiers are now. The table says who has which sensitive values,
several or one; who is not in it is absent. Without a registry everybody ever seen is registered, with the
quasi-identifiers he had last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from reissue.errors import NOT_TEXT, ParameterError, TableError, count_of, is_text
from reissue.model.domain import PERSON, Domain
from reissue.model.schema import Schema
from reissue.model.showing import appended, only
from reissue.model.snapshot import Column, People, Snapshot
from reissue.tables.coding import CodedTable, Coder, KnownBefore, new_plain, numbered, role_problems, snapshot_of, unfit
from reissue.tables.frames import read_table

Extinct = Iterable[object] | Path | None
"""Those who have died or left for ever: their ids, or the path of a file with the person column."""


@dataclass(frozen=True, repr=False)
class Registry:
    """Who is registered, as it was given."""

    people: pl.DataFrame | None = None
    """One row for each person, with the quasi-identifiers; None: those of the table and of earlier ones."""
    extinct: pl.Series | None = None
    """Ids of those who have died or left for ever."""


def read_registry(registry: object, extinct: Extinct, schema: Schema) -> Registry:
    """What is given beside the table."""
    people = None if registry is None else read_table(registry, text=schema.texts)[0]
    if extinct is None:
        return Registry(people)
    if isinstance(extinct, Path):
        return Registry(people, _column_of(extinct, schema))
    if isinstance(extinct, str) or not isinstance(extinct, Iterable) or hasattr(extinct, "columns"):
        raise ParameterError("The 'extinct' parameter must be a list of ids, text or whole numbers.")
    ids = [person.item() if isinstance(person, np.generic) else person for person in extinct]
    if not all(isinstance(person, str | int) and not isinstance(person, bool) for person in ids):
        raise ParameterError("The 'extinct' parameter must be a list of ids, text or whole numbers.")
    if not all(is_text(person) for person in ids if isinstance(person, str)):
        raise ParameterError(f"The 'extinct' parameter holds {NOT_TEXT}.")
    if len({type(person) for person in ids}) > 1:
        raise ParameterError("The 'extinct' parameter holds ids of several types.", hint="give all as text, or none.")
    return Registry(people, pl.Series(schema.person, ids))


def _column_of(path: Path, schema: Schema) -> pl.Series:
    frame, _ = read_table(path, text=schema.texts)
    if schema.person not in frame.columns:
        raise TableError(f"The file '{path}' has no column '{schema.person}'.", hint="name it as in the table.")
    return frame[schema.person]


def with_values(people: pl.DataFrame, facts: pl.DataFrame, sensitive: str) -> pl.DataFrame:
    """Those who are in the table, one row each, with a number that changes when any of a person's values does."""
    own = facts.group_by(PERSON).agg(pl.col(sensitive).cast(pl.String).hash().sum())
    return people.join(own.cast({PERSON: people.schema[PERSON]}), on=PERSON)


def code_registered(
    frame: pl.DataFrame,
    registry: Registry,
    schema: Schema,
    known: KnownBefore = KnownBefore(),
    *,
    last: pl.DataFrame | None = None,
    dead: pl.DataFrame | None = None,
    show_values: bool = False,
) -> CodedTable:
    """Check and code a table with its registry; raise one TableError with everything that is wrong with them.

    `last` are the people registered at the last release, `dead` those who were given as extinct before: `person`, a
    number.
    """
    coder = Coder(known.domain, show_values, known.people)
    listed = registry.people
    coder.problems += role_problems(frame, schema, needless=() if listed is None else tuple(schema.quasi))
    if listed is not None:
        found = role_problems(listed, schema, needless=(schema.sensitive,))
        found += [f"it holds the sensitive column '{schema.sensitive}'"] if schema.sensitive in listed.columns else []
        coder.problems += [f"the registry: {problem}" for problem in found]
    if frame.height == 0:
        raise unfit([*coder.problems, "it has no rows"], 0)
    if coder.problems:
        lacking = listed is None and any(name not in frame.columns for name in schema.quasi)
        advice = (
            ["quasi-identifiers come from a registry, or stand in the table: give one (--registry)"] if lacking else []
        )
        raise unfit([*coder.problems, *advice], frame.height)
    if listed is None:
        listed = frame.select(schema.person, *schema.quasi).unique(maintain_order=True)
        twice = int(listed.group_by(schema.person).len().filter(pl.col("len") > 1).height)
        if twice:
            people_differ = count_of(twice, "person has", "people have")
            raise unfit([f"{people_differ} rows with different quasi-identifiers"], frame.height)
    whose = coder.people(frame[schema.person], known.key, once=False)
    there = len(coder.problems)
    ids = coder.people(listed[schema.person], known.key)
    if registry.people is not None:
        coder.problems[there:] = [f"the registry: {problem}" for problem in coder.problems[there:]]
    gone = _extinct(coder, registry.extinct, known.key)
    columns: dict[str, Column | None] = {schema.sensitive: coder.column(frame[schema.sensitive], schema.sensitive_kind)}
    there = len(coder.problems)
    columns |= {name: coder.column(listed[name], kind) for name, kind in schema.quasi.items()}
    if registry.people is not None:
        coder.problems[there:] = [f"the registry: {problem}" for problem in coder.problems[there:]]
    coded = {name: column for name, column in columns.items() if column is not None}
    if coder.problems or whose is None or ids is None:
        raise unfit(coder.problems, frame.height)
    if whose.dtype != ids.dtype:
        raise unfit(["the table and the registry have ids of different types: make both text"], frame.height)
    numbers = known.numbers(ids)
    buried = np.empty(0, dtype=np.int64) if dead is None else dead["person"].to_numpy().astype(np.int64)
    owner = _owners(whose, ids)
    if gone is not None and gone.dtype != ids.dtype:
        raise unfit(["those extinct: their ids are of another type than those of the registry"], frame.height)
    never = 0 if gone is None else _never_registered(gone, ids, known)
    lost = np.isin(numbers, buried) & (numbers >= 0)
    if gone is not None:
        lost |= ids.is_in(gone.implode()).to_numpy()
    problems = _fact_problems(owner, coded[schema.sensitive], lost, never)
    if problems:
        raise unfit(problems, frame.height)
    numbers, new_ids = numbered(numbers, ids, known.next_number)
    everybody = snapshot_of(numbers, coded, schema)
    snapshot = replace(everybody, owner=owner)
    if lost.any():
        snapshot = only(snapshot, np.flatnonzero(~lost))
    given = np.empty(0, dtype=np.int64)
    if gone is not None:
        earlier = known.numbers(gone)
        given = np.concatenate([numbers[ids.is_in(gone.implode()).to_numpy()], earlier[earlier >= 0]])
    buried = np.union1d(buried, given)
    if registry.people is None and last is not None:
        snapshot = _with_earlier(snapshot, last, buried)
    return CodedTable(
        snapshot,
        new_ids,
        Domain(coder.domain),
        pl.DataFrame({"person": buried.astype(np.uint32)}),
        new_plain(listed[schema.person], numbers, known),
    )


def _extinct(coder: Coder, extinct: pl.Series | None, key: bytes | None) -> pl.Series | None:
    if extinct is None or not extinct.len():
        return None
    before = len(coder.problems)
    ids = coder.people(extinct, key, once=False)
    coder.problems[before:] = [f"those extinct: {problem}" for problem in coder.problems[before:]]
    return None if ids is None else ids.unique()


def _never_registered(gone: pl.Series, ids: pl.Series, known: KnownBefore) -> int:
    """How many of those extinct nobody ever heard of."""
    strange = gone.filter(~gone.is_in(ids.implode()))
    return int(np.count_nonzero(known.numbers(strange) < 0))


def _owners(whose: pl.Series, ids: pl.Series) -> People:
    """The row in the registry of each value's person; -1 where he is not in it."""
    if whose.dtype != ids.dtype:
        raise TableError(
            "The person column holds text in the table and whole numbers in the registry, or the other way round.",
            hint="give ids in one type.",
        )
    rows = pl.DataFrame({"id": ids}).with_row_index("row")
    found = pl.DataFrame({"id": whose}).join(rows, on="id", how="left", maintain_order="left")
    return found["row"].cast(pl.Int64).fill_null(-1).to_numpy()


def _fact_problems(owner: People, values: Column, dead: np.ndarray, never: int) -> list[str]:
    """What is wrong with how table, registry and those extinct go together."""
    problems = []
    strangers = int(np.unique(np.flatnonzero(owner < 0)).size)
    if strangers:
        problems.append(f"{count_of(strangers, 'row')} about people who are not in the registry")
    risen = int(np.count_nonzero(dead[owner[owner >= 0]]))
    if risen:
        problems.append(f"{count_of(risen, 'row')} about people who are given as extinct")
    if never:
        problems.append(f"{count_of(never, 'person', 'people')} given as extinct who were never registered")
    pairs = pl.Series(owner * (int(values.codes.max(initial=0)) + 1) + values.codes)
    repeated = pairs.len() - pairs.n_unique()
    if repeated and not strangers:
        problems.append(f"{count_of(repeated, 'row')} too many: a person has the same value twice; keep it once")
    return problems


def _with_earlier(snapshot: Snapshot, last: pl.DataFrame, gone: People) -> Snapshot:
    """With those of the last release who are not in the table, as they were."""
    numbers = last[PERSON].to_numpy().astype(np.int64)
    earlier = last.filter(~np.isin(numbers, snapshot.people) & ~np.isin(numbers, gone))
    if not earlier.height:
        return snapshot

    def longer(column: Column) -> Column:
        return appended(column, earlier[column.name])

    return replace(
        snapshot,
        people=np.concatenate([snapshot.people, earlier[PERSON].to_numpy().astype(np.int64)]),
        quasi=tuple(map(longer, snapshot.quasi)),
        as_is=tuple(map(longer, snapshot.as_is)),
    )
