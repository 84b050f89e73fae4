"""A first policy for a table nobody has described yet: guesses, each marked as one.

Guesses are made from names, types and how many distinct values a column has. They are a start for a
person who knows the data; nothing is published under a policy that nobody wrote down as theirs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from reissue.errors import TableError, count_of, printable
from reissue.model.toml_text import quoted

_PERSON = re.compile(
    r"(^|_|\b)(id|nr|no|number|patient|person|subject|citizen|customer|employee|ssn|mrn|pid|uid|owner)s?($|_|\b)", re.I
)
_DIRECT = re.compile(r"name|mail|phone|street|address|url|comment|note|text", re.I)
_SENSITIVE = (
    r"diagnos|disease|illness|icd|drg|hiv",
    r"condition|treatment|drug|crime|offen[cs]e|verdict|religion",
    r"salary|income|wage",
)
"""Names of sensitive columns; what comes earlier counts more."""
_USUAL_M = 4
_EPSILONS = (0.1, 1.0)
"""How much noise is proposed for reference shares: much, and where the table is too small for that, less."""
_FEW_SCALES = 10
"""Values with fewer people than so many scales of the noise are published as one, as Alternatives does by default."""
_MOVES_EPSILON = 1.0
"""How much counting moves is proposed to tell; half of it is for the shares that go with them."""
_FEW = 400
"""A column with more distinct labels is hardly a quasi-identifier as it stands."""


@dataclass(frozen=True)
class Guess:
    """What a column may be, and why."""

    column: str
    role: str
    kind: str
    why: str


@dataclass(frozen=True)
class Changes:
    """How values change through several states of a table."""

    people: int
    """How often somebody is in one state and in the next."""
    changed: int
    """How often their value is then another one."""
    command: str
    """What counts the moves, for the policy."""

    @property
    def words(self) -> str:
        """How often values change."""
        if not self.changed:
            return "nobody's value changed from one table to the next"
        return f"{self.changed / self.people:.0%} of values differ from one table to the next"


def changes_in(frames: Sequence[pl.DataFrame], guesses: Collection[Guess], command: str) -> Changes:
    """How often the values of people differ from one table to the next."""
    named = {guess.role: guess for guess in guesses if guess.role in ("person", "sensitive")}
    person, value = named["person"].column, named["sensitive"].column
    states = []
    for number, frame in enumerate(frames, 1):
        if lacking := [name for name in (person, value) if name not in frame.columns]:
            raise TableError(f"Table {number} of {len(frames)} has no column '{lacking[0]}'.")
        if frame[person].n_unique() < frame.height:
            raise TableError(f"Table {number} of {len(frames)} has more than one row for a person.")
        plain = named["sensitive"].kind == "numeric" and frame[value].dtype.is_numeric()
        states.append(
            frame.select(pl.col(person).cast(pl.String), pl.col(value).cast(pl.Float64 if plain else pl.String))
        )
    both = pl.concat([one.join(other, on=person, suffix=" after") for one, other in pairwise(states)])
    if not both.height:
        raise TableError(
            "Nobody is in two tables one after the other.",
            hint="give tables with the same people and the same ids, in the order of time.",
        )
    differs = both.select(pl.col(value).ne_missing(pl.col(f"{value} after")).sum()).item()
    return Changes(both.height, int(differs), command)


def guess_roles(frame: pl.DataFrame, labels: Collection[str] = ()) -> list[Guess]:
    """A role for every column; exactly one person and one sensitive column.

    `labels` are columns that look like numbers and are none: codes with leading zeros.
    """
    if frame.height == 0:
        raise TableError("The table has no rows to guess from.")
    person = _person(frame)
    sensitive = _sensitive(frame, person)
    guesses = []
    for series in frame:
        name = series.name
        kind = "numeric" if _is_numeric(series) and name not in labels else "categorical"
        distinct = series.n_unique()
        values = count_of(distinct, "distinct value")
        if name == person:
            guesses.append(Guess(name, "person", "", f"{values} in {count_of(frame.height, 'row')}"))
        elif name == sensitive:
            guesses.append(Guess(name, "sensitive", kind, f"by its name and its {values}"))
        elif name in ("group", "count"):
            guesses.append(Guess(name, "drop", "", "published tables have a column of this name: rename it to keep it"))
        elif _DIRECT.search(name) and kind == "categorical" and distinct > _FEW // 4:
            guesses.append(Guess(name, "drop", "", "looks like a direct identifier or free text"))
        elif distinct == frame.height > (100 if kind == "numeric" else 20) and _is_id(series):
            guesses.append(Guess(name, "drop", "", "different in every row, like an identifier"))
        elif kind == "categorical" and distinct > _FEW:
            guesses.append(Guess(name, "drop", "", f"{distinct:,} distinct labels: give it a hierarchy to keep it"))
        else:
            guesses.append(Guess(name, "quasi", kind, f"an outsider may know it; {values}"))
    return guesses


def propose_policy(
    frame: pl.DataFrame, source: str, labels: Collection[str] = (), changes: Changes | None = None
) -> str:
    """A policy file with the guesses in it, ready to be read, corrected and used."""
    guesses = guess_roles(frame, labels)
    missing = {s.name for s in frame if s.null_count() or (s.dtype.is_float() and s.is_nan().any())}
    by_role = {role: [g for g in guesses if g.role == role] for role in ("person", "quasi", "sensitive", "drop")}
    (person,), (sensitive,) = by_role["person"], by_role["sensitive"]
    lines = [
        f"# A policy for {source}, proposed by `reissue init`.",
        "# Every line marked GUESS was guessed from names and types. Confirm or correct each one: the person",
        "# who publishes under this file answers for it. Roles: person, quasi, sensitive, as_is, drop.",
        "",
        'series = "protected"  # a method that protects single releases only may then publish just once',
        'form = "generalised"  # or "anatomised": exact quasi-identifiers, sensitive values by group',
        "",
        "[people]",
        'ids = "plain"  # or "hashed", with key_file = "..." (reissue key makes one)',
        "",
        "[schema]",
        f"person = {quoted(person.column)}  # GUESS: {person.why}",
    ]
    if by_role["drop"]:
        lines += ["drop = ["]
        lines += [f"    {quoted(g.column)},  # GUESS: {g.why}" for g in by_role["drop"]]
        lines += ["]"]
    for guess in by_role["quasi"]:
        lines += ["", f"[schema.quasi.{quoted(guess.column)}]  # GUESS: {guess.why}", f'kind = "{guess.kind}"']
        if guess.kind == "numeric":
            lines.append('wider = "accept"  # later tables may go beyond the range seen so far')
        else:
            lines.append('new = "refuse"  # a label never seen before is an error; "accept" takes it')
        lines.append(_missing_line(guess.column in missing))
    lines += ["", f"[schema.sensitive.{quoted(sensitive.column)}]  # GUESS: {sensitive.why}"]
    lines.append(f'kind = "{sensitive.kind}"')
    if sensitive.kind == "categorical":
        lines.append('new = "accept"  # later tables may bring values never seen before')
    lines.append(_missing_line(sensitive.column in missing))
    lines += [
        "",
        *_method_lines(frame[sensitive.column]),
        *_alternatives_lines(frame[sensitive.column], sensitive.kind, changes),
        "",
    ]
    return "\n".join(lines)


def _method_lines(values: pl.Series) -> list[str]:
    """A method that protects a series, where the table has enough different values for one."""
    m = min(_USUAL_M, values.len() // int(values.value_counts()["count"].max()))  # type: ignore[arg-type]
    growing = [
        "# For a table that only grows, in which nobody leaves and nothing changes:",
        '# name = "Incremental"',
        f"# l = {_largest_l(values)}",
        "# strict = true",
    ]
    if m < 2:
        return [
            "[method]",
            'name = "Mondrian"  # protects each release alone: one value is too frequent for MInvariance',
            "k = 10  # GUESS: at least 10 people in a group",
            f"l = {_largest_l(values)}  # GUESS: so many distinct sensitive values in a group",
            *growing,
        ]
    return [
        "[method]",
        'name = "MInvariance"  # protects the series: everybody keeps one set of m values in all releases',
        f"m = {m}  # GUESS: nobody can be tied to a value with more than 1/m; common values cost counterfeits",
        *growing,
    ]


def _alternatives_lines(values: pl.Series, kind: str, changes: Changes | None) -> list[str]:
    """Sets of values instead of groups, with figures that the table can keep; where it is too small, shares from
    outside."""
    counts = sorted(values.value_counts()["count"].to_list(), reverse=True)
    moving = changes is not None and changes.changed > 0
    epsilons = (_MOVES_EPSILON / 2,) if moving else _EPSILONS
    found = next((sizes for epsilon in epsilons if (sizes := _set_sizes(counts, epsilon, kind))), None)
    m, slots, epsilon = found or (_USUAL_M, 2, 0.0)
    shares = '# reference = "shares.csv"  # values and shares from outside: the table is too small to give its own'
    if moving:
        shares = '# reference = "shares.csv"  # the shares of values, which the command below writes as well'
    elif epsilon:
        shares = f"# epsilon = {epsilon:g}  # GUESS: the noise of the shares that sets are drawn by; less hides more"
    return [
        "# For sets instead of groups: everybody with m values of which one is true, nobody withheld, nobody made up.",
        "# In place of the lines above: 'name' and what follows it, and the line 'form' at the top, have to go.",
        '# name = "Alternatives"',
        f"# m = {m}  # GUESS: nobody can be tied to a value with more than 1/m",
        *(
            [f'# limit = "{slots}/{m}"  # GUESS: but for frequent values, which may be as likely as this']
            if slots > 1
            else []
        ),
        shares,
        *_change_lines(changes),
    ]


def _change_lines(changes: Changes | None) -> list[str]:
    if changes is None:
        static = (
            "Values are taken to be static. If they change, 'change' says how often, rather too seldom than too often."
        )
        return [f"# # {static}"]
    if not changes.changed:
        return [f"# # Values are taken to be static: {changes.words}."]
    return [
        f'# change = "moves.csv"  # {changes.words}; how, this counts with noise:',
        f"# #   {printable(changes.command)}",
    ]


def _set_sizes(counts: list[int], epsilon: float, kind: str) -> tuple[int, int, float] | None:
    """m, the slots of the most frequent value, and epsilon, where shares with this noise can be had; with some room."""
    few = 1.5 * _FEW_SCALES * 2 / epsilon
    kept = [count for count in counts if count >= few]
    rare = sum(counts) - sum(kept)
    if rare and kind == "numeric":  # rare numbers have no name together
        return None
    shares = [count / sum(counts) for count in (*kept, *([max(rare, few)] if rare else []))]
    for m in (_USUAL_M, 3, 2):
        slots = [math.ceil(1.1 * m * share + (1 - share) / 2) for share in shares]
        if len(shares) > m + 1 and max(slots) < m:
            return m, max(slots), epsilon
    return None


def _missing_line(has_missing: bool) -> str:
    if has_missing:
        return 'missing = "value"  # GUESS: the table has missing values here; "refuse" makes them an error'
    return 'missing = "refuse"  # or "value": missing counts as a value of its own'


def _largest_l(values: pl.Series) -> int:
    return min(3, values.n_unique())


def _is_id(series: pl.Series) -> bool:
    """Whether a column is of a type that ids have."""
    return series.dtype.is_integer() or series.dtype in (pl.String, pl.Categorical, pl.Enum)


def _is_numeric(series: pl.Series) -> bool:
    return series.dtype.is_numeric() or series.dtype in (pl.Date, pl.Datetime)


def _person(frame: pl.DataFrame) -> str:
    unique = [s.name for s in frame if _is_id(s) and s.n_unique() == frame.height and not s.null_count()]
    unique.sort(key=lambda name: _DIRECT.search(name) is not None)  # an address is an id only if nothing else is
    named = [name for name in unique if _PERSON.search(name)]
    if not unique:
        raise TableError(
            "No column tells all rows apart, so none can be the person.",
            hint="the table needs a column with one id per person, the same in every release.",
        )
    return (named or unique)[0]


def _sensitive(frame: pl.DataFrame, person: str) -> str:
    others = [name for name in frame.columns if name != person]
    named = next((found for words in _SENSITIVE if (found := [n for n in others if re.search(words, n, re.I)])), [])
    # Without a telling name: the last column with a handful of labels, where tables often have it.
    labelled = [n for n in others if not _is_numeric(frame[n]) and 2 <= frame[n].n_unique() <= _FEW]
    candidates = named or labelled or others
    if not candidates or len(others) < 2:
        raise TableError("A policy needs a person, a quasi-identifier and a sensitive column: three columns at least.")
    return candidates[-1]
