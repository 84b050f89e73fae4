"""Columns that are no quasi-identifiers unless somebody says so.

| A column                                             | would                                                   |
|------------------------------------------------------|---------------------------------------------------------|
| that tells every row apart: a row number, an id      | make a group of every row                               |
| that is the same in every row of each release        | tell nothing, or no more than which release it is       |
| that another column determines: an address, a city   | tell nothing more                                       |
| that counts                                          | say of how many a row tells, and of nobody who they are |

Small tables say little about their columns: there only names that speak for themselves count. To leave a column out
makes groups larger and hides something; it never makes anything false.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from reissue.errors import TableError, listed
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.headers import as_option, folded
from reissue.foreign.intervals import interval_of
from reissue.foreign.option_texts import names_text
from reissue.foreign.wordings import in_signs

ENOUGH = 50
"""A release with fewer rows does not show what a column does."""
NEARLY = 0.95
"""So large a share of rows that differ tells nearly every row apart."""
ROWS_EACH = 5
"""So many rows a value must have, on average, to say that it determines others."""
_ID = {
    "id", "rowid", "index", "row", "rownumber", "rownum", "rowno", "objectid", "fid", "uid", "uuid", "guid", "recordid",
    "recordnumber", "caseid", "casenumber", "assignedid", "key", "serial", "serialnumber", "unnamed0", "x1", "nr",
    "number", "no",
}  # fmt: skip
_COUNT = {"count", "counts", "n", "total", "cases", "freq", "frequency", "numberof", "casecount", "anzahl"}
_COUNTING = re.compile(
    r"(?i)(?:^(?:n|num|number of|count of|total|anzahl)[ _.-])|(?:[ _.-](?:count|counts|total|freq)$)"
)


def is_count_name(name: str) -> bool:
    """Whether a column is called as one that counts."""
    return folded(name) in _COUNT or _COUNTING.search(name.strip()) is not None


def is_id_name(name: str) -> bool:
    """Whether a column is called as one that numbers rows."""
    words = re.split(r"[\s_.-]+", name.strip().lower())
    return folded(name) in _ID or (len(words) > 1 and words[-1] in ("id", "uuid", "guid"))


def refuse_counts(files: Sequence[ReleaseFiles], columns: Sequence[str]) -> None:
    """Refuse what looks like a table of counts: a column that counts, beside combinations that come once each."""
    for name in columns:
        if not is_count_name(name):
            continue
        having = [one.tables["table"] for one in files if name in one.tables.get("table", pl.DataFrame()).columns]
        if not having or not all(_whole_numbers(table[name]) for table in having):
            continue
        if sum(int(table[name].cast(pl.Int64, strict=False).sum() or 0) for table in having) <= sum(map(len, having)):
            continue
        others = [table.drop(name) for table in having]
        if all(_distinct(table) >= NEARLY * table.height for table in others if table.width):
            raise TableError(
                f"This looks like a table of counts: '{name}' counts, and what stands beside it comes once each.",
                problems=["read as it is, every row would be taken for one person"],
                hint=f"say that each row stands for so many people ({as_option('counts', name)}), or that '{name}' is "
                f"a column like others ({as_option('keep', name)}), or leave it out ({as_option('drop', name)}).",
            )


def questioned(
    files: Sequence[ReleaseFiles], columns: Sequence[str], keep: Collection[str] = (), *, registry: bool = False
) -> Mapping[str, str]:
    """The columns, of those that have no role, to leave out of the quasi-identifiers: each with the reason.

    Beside a registry, what tells nothing in the files stays: people may differ in it, and whoever has it of them can
    use it.
    """
    tables = [one.tables["table"] for one in files if one.form == "generalised"]
    if len(tables) < len(files):
        return {}
    asked = [name for name in columns if name not in keep]
    found: dict[str, str] = {}
    for name in asked:
        having = [table for table in tables if name in table.columns]
        if not having:
            continue  # a pair of ends is no column by itself
        if is_count_name(name) and all(_whole_numbers(table[name]) for table in having):
            found[name] = f"counts something; {as_option('counts', name)} if a row stands for so many people"
        elif _tells_rows_apart(name, having):
            found[name] = f"tells every row apart, or nearly; {as_option('person', name)} if it says who a row is about"
        elif (same := _same_in_all(name, having)) is not None and not (registry and same == _CONSTANT):
            found[name] = same
    left = [name for name in columns if name not in found]
    # What is the same in all rows tells nothing, and does no harm where there is nothing else.
    for name in [name for name in found if not left and name in asked and found[name] == _CONSTANT]:
        del found[name]
        left.append(name)
    if not registry:
        found |= _determined(tables, [name for name in left if name in asked], left)
    return {
        name: f"{why}{',' if ';' in why else ';'} {as_option('keep', name)} if an outsider may know it"
        for name, why in found.items()
    }


def left_out(found: Mapping[str, str]) -> list[str]:
    """Notes for questioned columns; those with the same reason share one."""
    by_reason: dict[str, list[str]] = {}
    for name, why in found.items():
        reason, _, _ = why.rpartition(", --keep" if "; --keep" not in why else "; --keep")
        by_reason.setdefault(reason, []).append(name)
    notes = []
    for reason, names in by_reason.items():
        if len(names) == 1:
            notes.append(f"'{names[0]}' is no quasi-identifier: it {found[names[0]]}")
        else:
            keep = as_option("keep", names_text(names))
            notes.append(
                f"{listed(names)} are no quasi-identifiers: each {reason}; {keep} if an outsider may know them"
            )
    return notes


_CONSTANT = "is the same in every row"


def _whole_numbers(cells: pl.Series) -> bool:
    held = cells.drop_nulls().str.strip_chars()
    return bool(held.len()) and bool(held.str.contains(r"^\d{1,15}$").all())


def _distinct(table: pl.DataFrame) -> int:
    return table.n_unique() if table.width else 0


def _tells_rows_apart(name: str, having: Sequence[pl.DataFrame]) -> bool:
    large = [table for table in having if table.height >= ENOUGH]
    shares = []
    for table in large or [table for table in having if table.height > 1]:
        held = table[name].drop_nulls()
        if held.len() < table.height / 2:
            return False
        shares.append(held.n_unique() / held.len())
    if not shares:
        return False
    return min(shares) >= NEARLY if large else is_id_name(name) and min(shares) == 1


def _same_in_all(name: str, having: Sequence[pl.DataFrame]) -> str | None:
    """Why a column tells nothing: one text in all releases, or one in each."""
    if any(table.height < 2 or table[name].n_unique() > 1 for table in having):
        return None
    texts = {table[name][0] for table in having}
    if len(texts) == 1:
        return _CONSTANT
    # Intervals and sets may be one in each release because everything was made so coarse.
    coarse = any(text is None or text.startswith(("{", "[")) or "*" in text or _is_interval(text) for text in texts)
    return None if coarse else "is the same in every row of each release and differs between them, as a period does"


def _is_interval(text: str) -> bool:
    found = interval_of(in_signs(text.strip()))
    return found is not None and found.low != found.high


def _determined(tables: Sequence[pl.DataFrame], asked: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Columns that follow from another one that stays, in the first, the last and the largest release."""
    largest = max(tables, key=len)
    looked = list({id(table): table for table in (largest, tables[0], tables[-1])}.values())
    looked = [table for table in looked if table.height >= ENOUGH]
    if not looked:
        return {}
    everywhere = {name for name in columns if all(name in table.columns for table in tables)}
    coded = [table.select(pl.col(name).rank("dense") for name in columns if name in table.columns) for table in looked]
    sizes = [{name: table[name].n_unique() for name in table.columns} for table in coded]

    def follows(name: str, other: str) -> bool:
        for table, size in zip(coded, sizes, strict=True):
            if name not in size:
                continue
            if size[name] > size[other] or size[other] * ROWS_EACH > table.height or size[name] < 2:
                return False
            if table.select(name, other).n_unique() != size[other]:
                return False
        return any(name in size for size in sizes)

    found: dict[str, str] = {}
    for at, name in enumerate(columns):
        if name not in asked:
            continue
        # Of two that determine each other the first stays.
        earlier = [other for other in columns[:at] if other not in found]
        later = [other for other in columns[at + 1 :] if any(size.get(other, 0) > size.get(name, 0) for size in sizes)]
        other = next((one for one in (*earlier, *later) if one in everywhere and follows(name, one)), None)
        if other is not None:
            found[name] = f"follows from '{other}'"
    return found
