"""One name for each column over all releases, and errors for names that fit nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NoReturn

from reissue.errors import ParameterError, TableError, listed
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.foreign_tables import headless, only
from reissue.foreign.headers import Proposal, matched, proposals, renamed, without
from reissue.foreign.spoken_columns import ROLES, ToldColumns
from reissue.foreign.where import of_releases


def called_alike(
    files: list[ReleaseFiles],
    told: ToldColumns,
    rename: dict[str, str],
    accept: bool,
    notes: list[str],
    asides: list[str],
) -> tuple[list[ReleaseFiles], ToldColumns, dict[str, str]]:
    """The files with one name for each column, what was said in these names, and all that was renamed.

    What is proposed goes to `notes`, what is certain enough to `asides`.
    """
    files, dropped = without(renamed(files, rename), told.drop)
    told = replace(
        told, drop=tuple(name for name in told.drop if name not in dropped), mistakable=tuple(sorted(dropped))
    )
    alike = matched(files, told.columns)
    spelt = told.spelt(alike)
    asides += [f"'{old}' is called '{new}', as was said" for old, new in rename.items()] + alike.notes
    spoken = spelt.columns
    cells = _first_records(alike.files)
    every = [one for one in proposals(alike.files, spoken) if not {one.old, one.new} & cells]
    if every and accept:
        more = {one.old: one.new for one in every}
        notes += [f"'{one.old}' is taken for '{one.new}', as proposed ({one.option}): {one.why}" for one in every]
        return renamed(alike.files, more), spelt, {**rename, **more}
    lacking = _lacking(alike.files, spelt)
    if lacking:
        _refuse(lacking, alike.files, [one for one in every if one.new in spoken], spelt.sensitive)
    notes += [f"'{one.old}' may be '{one.new}' ({one.option}, or --yes): {one.why}" for one in every]
    return alike.files, spelt, rename


def _first_records(files: Sequence[ReleaseFiles]) -> set[str]:
    """What only files without a header have as names: cells of somebody's record, which are not told."""
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for one in files:
        for table in one.tables.values():
            names[headless(table.columns)].update(table.columns)
    return names[True] - names[False] if names[False] else set()


def _lacking(files: Sequence[ReleaseFiles], told: ToldColumns) -> list[tuple[str, str]]:
    """The releases without a sensitive column, and which."""
    found = []
    for one in files:
        table = one.tables["sensitive"] if one.form == "anatomised" else one.tables["table"]
        absent = [name for name in told.sensitive if name not in table.columns]
        if absent:
            found.append((one.name, f"has no column {listed(absent)}"))
    return found


def _refuse(
    lacking: list[tuple[str, str]],
    files: Sequence[ReleaseFiles],
    proposed: Sequence[Proposal],
    wanted: Sequence[str],
) -> NoReturn:
    """Say which releases lack a sensitive column, and what may be meant."""
    first = {name: table for one in files for name, table in [(one.name, next(iter(one.tables.values())))]}
    shown = {what: only(first[name].columns) for name, what in reversed(lacking)}
    problems = of_releases((name, f"{what}{shown[what]}") for name, what in lacking)
    if proposed:
        told = [f"'{one.old}' may be '{one.new}': {one.why}" for one in proposed]
        options = " ".join(one.option for one in proposed)
        raise TableError(
            "The releases do not fit what was said about them.",
            problems=[*problems, *told],
            hint=f"if that is so, add {options}, or accept everything that is proposed with --yes.",
        )
    every = list(dict.fromkeys(name for table in first.values() for name in table.columns))
    near = list(dict.fromkeys(close for name in wanted for close in get_close_matches(name, every, 2)))
    near = [name for name in near if name not in wanted and name not in _first_records(files)]
    meant = f"did you mean {listed(near)}? " if near else ""
    without = {name for name, _ in lacking}
    others = {name for one, table in first.items() if one not in without for name in table.columns}
    if others and not any(others & {*first[name].columns} for name in without):
        hint = (
            "they have no column of the others, and may be no releases: name the other files in place of the folder; "
            "those of an archive have to be unpacked for that."
        )
    else:
        hint = f"{meant}name the columns as the files do (--sensitive, --rename old=new), or leave these files out."
    raise TableError("The releases do not fit what was said about them.", problems=problems, hint=hint)


def check_named(files: Sequence[ReleaseFiles], told: ToldColumns) -> None:
    """A column that was spoken of and is nowhere is misspelt, and the one that was meant would be read wrongly."""
    columns = list(dict.fromkeys(name for one in files for table in one.tables.values() for name in table.columns))
    pairs = {name.removesuffix("_low") for name in columns if f"{name.removesuffix('_low')}_high" in columns}
    for what, names in (
        ("to leave out", told.drop),
        ("to keep", told.keep),
        ("of labels", told.labels),
        ("of missing texts", tuple(told.missing_in)),
        ("of quasi-identifiers", told.quasi or ()),
        ("that counts", () if told.counts is None else (told.counts,)),
    ):
        lacking = [name for name in names if name not in columns and name not in pairs]
        if lacking:
            near = list(dict.fromkeys(close for name in lacking for close in get_close_matches(name, columns, 1)))
            raise TableError(
                f"None of the releases has a column {listed(lacking)} {what}.",
                hint=f"did you mean {listed(near)}?" if near else f"they have columns of other names{only(columns)}.",
            )
    spoken = [*told.sensitive, *(told.quasi or ()), *told.drop]
    spoken += [name for name in (told.group, told.person, told.counts) if name is not None]
    twice = sorted({name for name in spoken if spoken.count(name) > 1})
    if twice:
        raise ParameterError(f"{listed(twice)} cannot be {ROLES}.")
