"""Adoption: a series whose first releases were made elsewhere, so that the next one is safe against those too.

series = ri.adopt("clinic/", policy, ["2024.csv", "2025.csv"], members="members.csv")

The method of the policy says with whom it can go on. Whoever was in groups that it cannot go on from is never published
again (`barred`). Series are created with all adopted releases in one step, or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import GuaranteeBroken, ParameterError, TableError, check_text, count_of, listed
from reissue.foreign.reading import Foreign
from reissue.guarantees import SeriesGuarantee
from reissue.ledger import Entry, Ledger
from reissue.methods import METHODS
from reissue.model.domain import GROUP, PERSON, Domain
from reissue.model.memory import Memory, Remembered, resolved
from reissue.model.period import Period
from reissue.model.published import Published
from reissue.model.release import Release
from reissue.model.schema import Numeric, Schema
from reissue.model.snapshot import Delta
from reissue.model.telling import told
from reissue.publishing import archive
from reissue.publishing.adoptable import GROUP as GROUP_NUMBER
from reissue.publishing.adoptable import Given, check_members, given_tables, given_view
from reissue.publishing.draft import LATEST_PERIOD
from reissue.publishing.inspection import without_people
from reissue.publishing.policy import Policy, key_of, with_absolute_paths
from reissue.publishing.series import Series
from reissue.tables.coding import KnownBefore, code_table
from reissue.tables.frames import Library
from reissue.tables.people import KnownPeople
from reissue.tables.views import published_view

ADOPTED = "adopted"


@runtime_checkable
class Adopting(Protocol):
    """A method that can go on from releases made elsewhere."""

    def adopt(self, published: Published) -> tuple[Remembered, Ints]:
        """What to remember of the releases, and the people who cannot go on: with all who share groups with them."""


def adopt(
    folder: str | os.PathLike[str],
    policy: Policy | str | Path,
    releases: object,
    *,
    members: object | None = None,
    group: str | None = None,
    periods: Sequence[str] | None = None,
    frames: Library = "polars",
) -> Series:
    """Start a series in a new folder with releases made elsewhere.

    `releases` are tables or files, one for each release in their order, or a Published view that names people (or
    what `read_releases` gave). Of tables, `group` is the column that names the groups, by default "group"; without
    such a column rows with the same cells are one. Who was in them stands in the policy's person column, if the
    tables have it (it is not kept with what was published), or in the table `members`: person, release, group.
    `periods` say what each release is of.
    """
    check_text("The folder of a series", Path(folder).absolute())
    policy = with_absolute_paths(Policy.read(policy) if isinstance(policy, str | Path) else policy)
    method = _adopting(policy)
    given = _given(releases, members, group, policy.schema)
    check_members(given)
    past = _Adopted.of(given, policy, key_of(policy, Path(folder)))
    memory, lost = method.adopt(past.view)
    checks = _followed(policy, past.view, lost)
    entries = _of_periods([past.entry(number, policy) for number in range(1, len(given) + 1)], periods)
    entries[-1] = _with_memory(entries[-1], memory, checks, lost, past.next_number)
    entries[-1] = replace(entries[-1], summary={**entries[-1].summary, archive.FORMATS: archive.formats(policy)})
    return Series(Path(folder), Ledger.create(folder, policy.to_toml(), entries, anchor=policy.anchor), frames)


def _of_periods(entries: list[Entry], periods: Sequence[str] | None) -> list[Entry]:
    """Releases with what they are of, each after the one before."""
    if periods is None:
        return entries
    if isinstance(periods, str) or len(periods) != len(entries):
        raise ParameterError(
            f"The 'periods' parameter of adopt must be a list with a period for each of the {len(entries)} releases."
        )
    of = [Period.parse(period) for period in periods]
    problems = [problem for one, following in pairwise(of) if (problem := following.problem_after(one))]
    if problems:
        raise ParameterError("Releases are adopted in the order of time.", problems=problems)
    return [
        replace(
            entry,
            manifest={**entry.manifest, "period": str(period)},
            summary={**entry.summary, "period": str(period), LATEST_PERIOD: str(period)},
        )
        for entry, period in zip(entries, of, strict=True)
    ]


def _adopting(policy: Policy) -> Adopting:
    if isinstance(policy.method, Adopting):
        return policy.method
    able = [name for name, kind in METHODS.items() if hasattr(kind, "adopt")]
    raise ParameterError(
        f"{policy.method.name} cannot go on from releases made elsewhere.", hint=f"choose one that can: {listed(able)}."
    )


def _given(releases: object, members: object | None, group: str | None, schema: Schema) -> list[Given]:
    view = releases.published if isinstance(releases, Foreign) else releases
    if isinstance(view, Published):
        if members is not None or group is not None:
            raise ParameterError("A view says already who is in which group: leave 'members' and 'group' out.")
        if isinstance(releases, Foreign):
            view = _certain(releases)
        return given_view(view, schema)
    if not isinstance(releases, Sequence) or isinstance(releases, str):
        raise ParameterError(
            "The 'releases' parameter of adopt must be a list of tables or files, or a Published view. "
            f"Got a {type(releases).__name__} instead."
        )
    return given_tables(releases, members, schema, group=group)


def _certain(foreign: Foreign) -> Published:
    """The view of releases read from files, if they fit what is known of people without a rest."""
    if foreign.unmatched.height:
        raise TableError(
            "It is not known of everybody in these releases who it is.",
            problems=[f"release {number}: {count:,} {what}" for number, what, count in foreign.unmatched.iter_rows()],
            hint="give the releases as tables, together with a table of members: person, release, group.",
        )
    if foreign.form != "anatomised":
        return foreign.published
    # Exact quasi-identifiers stand for people, not for groups: there is no region to keep.
    plain = tuple(replace(release, region=None) for release in foreign.published.releases)
    return replace(foreign.published, releases=plain)


@dataclass(repr=False)
class _Adopted:
    """Releases made elsewhere, with people by number and values as the policy has them."""

    given: list[Given]
    rows: list[pl.DataFrame] = field(default_factory=list)
    """For each release its members: person number, group."""
    values: list[pl.DataFrame] = field(default_factory=list)
    """For each release the group, the value and its count."""
    new: list[pl.DataFrame] = field(default_factory=list)
    """For each release those who are in it for the first time: `number`, `id`."""
    domains: list[Domain] = field(default_factory=list)
    next_number: int = 0
    view: Published = field(init=False)

    @classmethod
    def of(cls, given: list[Given], policy: Policy, key: bytes | None) -> _Adopted:
        past = cls(given)
        schema = policy.schema
        ids = pl.Series("id", [], dtype=pl.String)
        for number, release in enumerate(told(given), start=1):
            ids = past._add(number, release, schema, key, ids)
        shown = [
            (_release(number, release), archive.dealt_out(rows, values, schema.sensitive), None, None)
            for number, (release, rows, values) in enumerate(zip(given, past.rows, past.values, strict=True), start=1)
        ]
        past.view = published_view(shown, schema)
        return past

    def _add(self, number: int, release: Given, schema: Schema, key: bytes | None, ids: pl.Series) -> pl.Series:
        """Number the people of a release and take in its values; gives everybody's ids, with those before."""
        people = KnownPeople(lambda: ids, ids.len(), self.rows[-1][PERSON]) if self.rows else None
        stub, extra = _stub(schema)
        # Who has which value is not known; for reading the column that does not matter.
        frame = release.members.sort(GROUP_NUMBER).select(pl.col("person").alias(schema.person), GROUP_NUMBER)
        values = release.values.sort(GROUP_NUMBER, schema.sensitive)
        each = values.select(pl.col(schema.sensitive).repeat_by("count").explode())
        frame = frame.rename({GROUP_NUMBER: extra}).with_columns(each[schema.sensitive])
        seen = self.domains[-1] if self.domains else Domain()
        try:
            coded = code_table(frame, stub, KnownBefore(people, self.next_number, seen, key))
        except TableError as error:
            hint = error.hint or "give the releases and their members as they were, and fit the policy to them."
            raise TableError(f"Release {number}: {error.what}", problems=error.problems, hint=hint) from None
        snapshot = coded.snapshot
        groups = frame[extra].cast(pl.UInt32).alias(GROUP)
        kept = pl.DataFrame([pl.Series(PERSON, snapshot.people.astype(np.uint32)), groups, snapshot.values.decode()])
        self.rows.append(kept.select(PERSON, GROUP).sort(PERSON))
        self.values.append(kept.group_by(GROUP, schema.sensitive).len("count").sort(GROUP, schema.sensitive))
        numbers = np.arange(self.next_number, self.next_number + coded.new_ids.len(), dtype=np.uint32)
        self.new.append(pl.DataFrame({"number": numbers, "id": coded.new_ids}))
        self.next_number += numbers.size
        self.domains.append(Domain({name: one for name, one in coded.domain.columns.items() if name != extra}))
        return pl.concat([ids, coded.new_ids]) if ids.len() else coded.new_ids

    def entry(self, number: int, policy: Policy) -> Entry:
        """One release as the ledger takes it."""
        at = number - 1
        rows, new = self.rows[at], self.new[at]
        last = self.rows[at - 1].drop(GROUP) if at else None
        known = self.next_number - sum(new.height for new in self.new[at:])
        delta = Delta.between(last, rows.drop(GROUP), policy.schema.sensitive, known=known, since=at)
        sizes = rows[GROUP].value_counts()["count"]
        release = self.given[at]
        return Entry(
            policy_version=1,
            manifest=_manifest(number, release, rows.height, sizes.len()),
            public=release.public,
            private={
                archive.SNAPSHOT: rows,
                archive.DOMAIN: self.domains[at].frame(),
                archive.VALUES: self.values[at],
            },
            people=new if new.height else None,
            summary={
                "number": number,
                "method": ADOPTED,
                "adopted_by": policy.method.name,
                "form": release.form,
                "people": rows.height,
                "rows": rows.height,
                "groups": sizes.len(),
                "smallest_group": sizes.min(),
                "average_group": round(rows.height / sizes.len(), 3),
                "largest_group": sizes.max(),
                "counterfeits": 0,
                "held_back": {},
                "changes": delta.counts(),
                "guarantees": {},
                "notes": ["made elsewhere and adopted"],
            },
            seed="",
            time=datetime.now(UTC),
            events=[(ADOPTED, f"release {number}, made elsewhere")],
        )


def _manifest(number: int, release: Given, rows: int, groups: int) -> dict[str, Any]:
    names = [name for frame in release.public.values() for name in frame.columns]
    return {
        "method": {"name": ADOPTED},
        "form": release.form,
        "columns": {name: "as given" for name in names if name not in (GROUP_NUMBER, "count")},
        "series": ADOPTED,
        "guarantees": [],
        "policy_version": 1,
        "rows": rows,
        "groups": groups,
        "adopted": number,
    }


def _release(number: int, given: Given) -> Release:
    manifest = {"form": given.form}
    return Release(number, datetime.now(UTC), Path(), manifest, {}, lambda: dict[str, Any](given.public))


def _stub(schema: Schema) -> tuple[Schema, str]:
    """A schema with the person and the sensitive column of this one, and the group as the only other column.

    What was published elsewhere is out: labels that are new and numbers in a wider range are taken as they are.
    """
    kind = schema.sensitive_kind
    kind = replace(kind, wider="accept") if isinstance(kind, Numeric) else replace(kind, new="accept")
    extra = f"group of {schema.person} and {schema.sensitive}"
    return Schema(person=schema.person, quasi={extra: Numeric()}, sensitive={schema.sensitive: kind}), extra


def _followed(policy: Policy, view: Published, lost: Ints) -> Remembered:
    """What the checkers of the policy's promises remember of the releases, as far as the method goes on from them."""
    rest, _ = without_people(view, lost)
    remembered: dict[str, pl.DataFrame] = {}
    for guarantee in policy.guarantees():
        if not isinstance(guarantee, SeriesGuarantee):
            continue
        state: Memory = {}
        for release in rest.releases:
            verdict, tables = guarantee.follow(replace(rest, releases=(release,)), state)
            if not verdict.holds:
                raise GuaranteeBroken(
                    f"{policy.method.name} would go on from releases that break its own promises; nothing is adopted.",
                    problems=[f"{verdict.guarantee}: {verdict.explanation}"],
                    hint="this is a mistake in the method, not in the releases; please report it.",
                )
            state = resolved(tables, state)
        remembered |= {f"{guarantee.name}_{name}": table for name, table in state.items()}
    return remembered


def _with_memory(entry: Entry, memory: Remembered, checks: Remembered, lost: Ints, everybody: int) -> Entry:
    """The last adopted release, with what the next one goes on from."""
    barred = {archive.BARRED: pl.DataFrame({"person": lost.astype(np.uint32)})} if lost.size else {}
    private = {
        **entry.private,
        **barred,
        **{archive.MEMORY + name: table for name, table in memory.items()},
        **{archive.CHECKS + name: table for name, table in checks.items()},
    }
    notes = [
        f"made elsewhere and adopted: {count_of(everybody - lost.size, 'person', 'people')} can be published again"
    ]
    if lost.size:
        notes.append(f"{count_of(lost.size, 'person', 'people')} will be withheld from every later release")
    return replace(
        entry,
        private=private,
        summary={**entry.summary, "go_on": everybody - lost.size, "barred": lost.size, "notes": notes},
    )
