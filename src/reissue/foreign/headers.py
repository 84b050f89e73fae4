"""Names of columns over time: the same but for case and signs, or another name at the same place.

`Row_ID`, `ROW ID` and `row-id` are one name, and so are `Código` and `Codigo`, which is certain enough to go by, and is
noted. Between digits signs stay: `v1_2` is not `v12`. Two columns of one file that would be one name are refused.

That `RESOLVED` became `Outcome1` is a guess: it is proposed, and taken only where somebody says so.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from reissue.errors import TableError, listed
from reissue.foreign.where import of_releases
from reissue.foreign.wordings import without_accents

if TYPE_CHECKING:
    from reissue.foreign.files import ReleaseFiles

_SIGNS = r"[\s_\-./:,;'\"()\[\]]+"
_BETWEEN_DIGITS = re.compile(rf"(?<=\d){_SIGNS}(?=\d)")
_ANY = re.compile(_SIGNS)
SURE = 0.8
"""So large a share of cells in common lets two columns be one, wherever they stand."""


def folded(name: str) -> str:
    """A name without case, without accents on Latin letters and without signs between words; signs alone stay."""
    text = unicodedata.normalize("NFKC", name).casefold().strip()
    text = without_accents(text)
    return _ANY.sub("", _BETWEEN_DIGITS.sub("\0", text)) or text


def as_option(name: str, *values: str) -> str:
    """An option of the command line, quoted for a shell."""
    return " ".join([f"--{name}", *map(shlex.quote, values)])


@dataclass(frozen=True)
class Proposal:
    """A column that may be another one under an earlier or later name."""

    old: str
    new: str
    why: str

    @property
    def option(self) -> str:
        """What says so on the command line."""
        return as_option("rename", f"{self.old}={self.new}")


@dataclass(frozen=True, repr=False)
class Matched:
    """Files whose columns are called alike."""

    files: list[ReleaseFiles]
    names: dict[str, str]
    """How each name, folded, is spelt now."""
    notes: list[str]

    def spelt(self, name: str) -> str:
        """How the files spell a name that somebody gave."""
        return self.names.get(folded(name), name)


def renamed(files: Sequence[ReleaseFiles], rename: Mapping[str, str]) -> list[ReleaseFiles]:
    """The files with columns renamed, old name to new."""
    if not rename:
        return list(files)
    every = list(dict.fromkeys(name for one in files for table in one.tables.values() for name in table.columns))
    alike = {folded(name) for name in every}
    # What has its new name everywhere already needs none.
    unknown = [old for old, new in rename.items() if not {folded(old), folded(new)} & alike]
    by_fold = {folded(old): new for old, new in rename.items() if old not in every}
    if unknown:
        near = [close for name in unknown for close in get_close_matches(name, every, 1)]
        raise TableError(
            f"None of the releases has a column {listed(unknown)} to rename.",
            hint=f"did you mean {listed(near)}?" if near else f"they have {listed(every)}.",
        )
    made, twice = [], []
    for one in files:
        tables = {}
        for part, table in one.tables.items():
            names = [rename.get(name) or by_fold.get(folded(name), name) for name in table.columns]
            if len(set(names)) < len(names):
                both = listed([name for name, often in Counter(names).items() if often > 1])
                twice.append((one.name, f"has {both} already, beside the column that is to be called so"))
                names = table.columns
            tables[part] = table.rename(dict(zip(table.columns, names, strict=True)))
        made.append(replace(one, tables=tables))
    if twice:
        raise TableError(
            "Columns cannot be renamed like this.", problems=of_releases(twice), hint="check the new names."
        )
    return made


def without(files: Sequence[ReleaseFiles], drop: Iterable[str]) -> tuple[list[ReleaseFiles], set[str]]:
    """The files without columns to leave out that would be mistaken for others beside them; and which these are."""
    wanted = set(drop)
    mistaken: set[str] = set()
    for table in (table for one in files for table in one.tables.values()):
        alike = Counter(map(folded, table.columns))
        mistaken |= {name for name in table.columns if name in wanted and alike[folded(name)] > 1}
    if not mistaken:
        return list(files), mistaken
    return [
        replace(one, tables={part: table.drop(mistaken, strict=False) for part, table in one.tables.items()})
        for one in files
    ], mistaken


def matched(files: Sequence[ReleaseFiles], spoken: Iterable[str] = ()) -> Matched:
    """Call columns alike that differ in case and signs alone: as somebody spoke of them, else as most files do."""
    spellings: dict[str, Counter[str]] = {}
    clashes: list[tuple[str, str]] = []
    for one in files:
        for table in one.tables.values():
            alike: dict[str, list[str]] = {}
            for name in table.columns:
                alike.setdefault(folded(name), []).append(name)
                spellings.setdefault(folded(name), Counter())[name] += 1
            clashes += [
                (one.name, f"has the columns {listed(names)}, which differ in case or signs alone")
                for names in alike.values()
                if len(names) > 1
            ]
    if clashes:
        raise TableError(
            "Columns cannot be told apart over the releases.",
            problems=of_releases(clashes),
            hint="rename one of them (--rename old=new), or leave it out (--drop).",
        )
    spelt = {key: max(reversed(often), key=often.__getitem__) for key, often in spellings.items()}
    for name in spoken:
        if name in spellings.get(folded(name), ()):
            spelt[folded(name)] = name
    changed = {name: spelt[key] for key, often in spellings.items() for name in often if name != spelt[key]}
    made = [
        replace(
            one,
            tables={
                part: table.rename({name: changed[name] for name in table.columns if name in changed})
                for part, table in one.tables.items()
            },
        )
        for one in files
    ]
    notes = []
    if changed:
        also: dict[str, list[str]] = {}
        for name, new in changed.items():
            also.setdefault(new, []).append(name)
        told = [f"'{new}' (also {listed(others)})" for new, others in also.items()]
        more = f" and {len(told) - 8} more" if len(told) > 8 else ""
        notes.append(f"names that differ in case or signs alone are one column: {', '.join(told[:8])}{more}")
    return Matched(made, spelt, notes)


def proposals(files: Sequence[ReleaseFiles], spoken: Iterable[str] = ()) -> list[Proposal]:
    """Columns that are in some releases where another one is in the others, and may be the same."""
    tables = [one.tables.get("quasi", one.tables.get("table", pl.DataFrame())) for one in files]
    having: dict[str, list[int]] = {}
    for at, table in enumerate(tables):
        for name in table.columns:
            having.setdefault(name, []).append(at)
    partly = [name for name, where in having.items() if len(where) < len(tables)]
    said = set(spoken)
    found: list[tuple[float, Proposal]] = []
    for old in partly:
        for new in partly:
            rather = (len(having[new]), having[new][-1]) > (len(having[old]), having[old][-1])
            kept = new in said if (new in said) != (old in said) else rather
            if not kept or set(having[old]) & set(having[new]):
                continue
            place = bool(_places(old, having[old], tables) & _places(new, having[new], tables))
            share = _in_common(old, having[old], new, having[new], tables)
            if not place and share < SURE:
                continue
            where = "stands at the same place" if place else "stands elsewhere"
            why = f"it {where}, {share:.0%} of its cells are among the other's, and no file has both"
            if share < 0.5:
                why += ". Its words are others: what seems to change where the name does may be the words alone"
            found.append((place + share, Proposal(old, new, why)))
    taken: set[str] = set()
    best = []
    for _, one in sorted(found, key=lambda pair: -pair[0]):
        if one.old not in taken and one.new not in taken:
            taken |= {one.old, one.new}
            best.append(one)
    return best


def _places(name: str, where: Sequence[int], tables: Sequence[pl.DataFrame]) -> set[tuple[str | None, str | None]]:
    """Between which columns it stands."""
    found = set()
    for at in where:
        columns = [None, *tables[at].columns, None]
        place = columns.index(name)
        if columns[place - 1] is not None or columns[place + 1] is not None:
            found.add((columns[place - 1], columns[place + 1]))
    return found


def _in_common(old: str, mine: Sequence[int], new: str, theirs: Sequence[int], tables: Sequence[pl.DataFrame]) -> float:
    """The share of the one's cells whose text the other has too, in the two releases that are nearest."""
    first, second = min(((a, b) for a in mine for b in theirs), key=lambda pair: abs(pair[0] - pair[1]))
    cells = tables[first][old].drop_nulls()
    if not cells.len():
        return 0.0
    return int(cells.is_in(tables[second][new].drop_nulls().unique().implode()).sum()) / cells.len()
