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
_NUMBERED = re.compile(
    r"(?:patient|person|member|subject|case|client|beneficiary|record|encounter|visit|caso|paciente)"
    r"(?:id|nbr|number|num|no|nr|key|code|ref)"
)
_PERSONAL = re.compile(r"patient|person|member|subject|client|beneficiary|paciente|persona")
_COUNT = {"count", "counts", "n", "total", "cases", "freq", "frequency", "numberof", "casecount", "anzahl"}
_COUNTING = re.compile(
    r"(?i)(?:^(?:n|num|number of|count of|total|anzahl)[ _.-])|(?:[ _.-](?:count|counts|total|freq)$)"
)
_MANY = (
    r"cases|deaths|patients|people|persons|individuals|population|confirmed|recovered|deceased|hospitali[sz](?:ed|ations)"
    r"|f[aä]lle|todesf[aä]lle|genesene|personen|einwohner|casos|muertes|fallecidos|recuperados|confirmados|personas"
    r"|poblaci[oó]n|[oó]bitos|mortes|pessoas|d[eé]c[eè]s|personnes"
)
"""What tables of counts count: people, and what each of them has at most one of."""
_ONE = r"case|death|patient|person|individual|fall|todesfall|genesen"
"""The same, where another word says that it counts: alone, `patient` is somebody's number."""
_OF_PEOPLE = re.compile(
    rf"(?i)(?:cum(?:ulative)?|new|covid(?:[ _.-]*19)?|[ _.-])*(?:{_MANY})"
    rf"|(?:n|num|number of|count of|total|anzahl|nombre de|n[uú]mero de|sum of)(?:covid|[ _.-])*(?:{_MANY}|{_ONE})"
)
_LEFT_OUT = r"^(?:[<≤]\s*=?\s*\d+|\d+\s*(?:-|to)\s*\d+|\**|suppressed|redacted|masked|n/?a|nan|null|[-–.sc])$"
_SUFFIXED = re.compile(r"(?i)[ _.-](?:count|counts|freq)$")


def is_count_name(name: str) -> bool:
    """Whether a column is called as one that counts."""
    return folded(name) in _COUNT or _COUNTING.search(name.strip()) is not None or counts_people(name)


def counts_people(name: str) -> bool:
    """Whether a column is called as one that says how many people, cases or deaths a row stands for.

    `num_procedures` counts too, and nobody.
    """
    bare = name.strip()
    return folded(bare) in _COUNT or _OF_PEOPLE.fullmatch(bare) is not None or _SUFFIXED.search(bare) is not None


def is_id_name(name: str) -> bool:
    """Whether a column is called as one that numbers rows."""
    words = re.split(r"[\s_.-]+", name.strip().lower())
    if len(words) > 1 and (words[-1] in ("id", "uuid", "guid") or words[0] == "id"):
        return True
    return folded(name) in _ID or _NUMBERED.fullmatch(folded(name)) is not None


def refuse_counts(files: Sequence[ReleaseFiles], columns: Sequence[str], sensitive: Sequence[str] = ()) -> None:
    """Refuse what looks like a table of counts: a column that counts, beside combinations that come once each.

    Row numbers stand apart: with them, everything comes once.
    """
    for name in (*columns, *sensitive):
        if not counts_people(name):
            continue
        having = [one.tables["table"] for one in files if name in one.tables.get("table", pl.DataFrame()).columns]
        counts = [_counts_of(table[name]) for table in having]
        if not counts or any(one is None for one in counts):
            continue
        if sum(one or 0 for one in counts) <= sum(map(len, having)):
            continue
        others = [
            table.select(one for one in table.columns if one != name and not is_count_name(one)) for table in having
        ]
        numbers = [
            [
                one
                for one in table.columns
                if (is_id_name(one) or _whole_numbers(table[one])) and _tells_rows_apart(one, [table])
            ]
            for table in others
        ]
        bare = [table.drop(some) for table, some in zip(others, numbers, strict=True)]
        others = [table if table.width else whole for table, whole in zip(bare, others, strict=True)]
        if all(_distinct(table) >= NEARLY * table.height for table in others if table.width):
            how = [f"that each row stands for so many people ({as_option('counts', name)})"] * (name in columns)
            how += [f"that '{name}' is a column like others ({as_option('keep', name)})"] * (name in columns)
            how += [f"which columns are about people, if rows are ({as_option('quasi', 'age,sex')})"] * (not how)
            less = f", or leave it out ({as_option('drop', name)})" if name in columns else ""
            raise TableError(
                f"This looks like a table of counts: '{name}' counts, and what stands beside it comes once each.",
                problems=["read as it is, every row would be taken for one person"],
                hint=f"say {', or '.join(how)}{less}.",
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
            found[name] = _APART
            if not _decimals(having[-1][name]):
                found[name] += f"; {as_option('person', name)} if it says who a row is about"
        elif (is_id_name(name) or _PERSONAL.fullmatch(folded(name))) and _mostly_differs(name, having):
            found[name] = (
                f"numbers people or rows, by its name; {as_option('person', name)} if it says who a row is about"
            )
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


_APART = "tells every row apart, or nearly"
_CONSTANT = "is the same in every row"


def _whole_numbers(cells: pl.Series) -> bool:
    held = cells.drop_nulls().str.strip_chars()
    return bool(held.len()) and bool(held.str.contains(r"^\d{1,15}$").all())


def _counts_of(cells: pl.Series) -> int | None:
    """What the counts of a column come to; None if it has anything but whole numbers and small ones left out.

    Corrections may be below 0, and small counts `<5`.
    """
    held = cells.drop_nulls().str.strip_chars().str.to_lowercase()
    held = held.filter(~held.str.contains(_LEFT_OUT)).str.replace_all(",", "")
    if held.len() * 2 < cells.len() or not held.str.contains(r"^-?\d{1,15}(\.0)?$").all():
        return None
    return int(held.cast(pl.Float64).sum())


def _decimals(cells: pl.Series) -> bool:
    """Whether it is of numbers with decimals, as amounts and places are, and names of people are not."""
    held = cells.drop_nulls().str.strip_chars()
    return (held.str.contains(r"^[^\d]?-?[\d,]+[.,]\d+$").sum() or 0) > 0.9 * held.len()


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


def _mostly_differs(name: str, having: Sequence[pl.DataFrame]) -> bool:
    """Whether a column has as many values as numbers of people have who come more than once."""
    large = [table for table in having if table.height >= ENOUGH]
    of_people = _PERSONAL.match(folded(name)) is not None
    least = [min(ENOUGH, table.height / 2) if of_people else table.height / 2 for table in large]
    return bool(large) and all(table[name].n_unique() >= one for table, one in zip(large, least, strict=True))


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
