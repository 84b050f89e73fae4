"""The policy as a file: every guess marked with how sure it is and why, and what could stand there instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from reissue.errors import printable
from reissue.model.events import Events
from reissue.model.toml_text import quoted
from reissue.publishing.proposals.drawn_hierarchies import Drawn
from reissue.publishing.proposals.judging import Guess


@dataclass(frozen=True)
class Method:
    """A method with its parameters, each with a comment, and what speaks for it."""

    name: str
    why: str
    parameters: Mapping[str, tuple[str, str]]
    """For each parameter how TOML writes it, and a comment."""
    limits: Mapping[str, Fraction] = field(default_factory=dict)
    """Of several sensitive columns the limit of each."""
    instead: tuple[str, ...] = ()
    """Comments below: what else could be chosen."""


@dataclass(frozen=True)
class Draught:
    """All that a policy file is written from."""

    source: str
    guesses: Sequence[Guess]
    events: Events | None
    missing: Collection[str]
    unseen: Collection[str]
    """Columns to which later tables bring labels that the first does not have."""
    hierarchies: Mapping[str, tuple[str, Drawn]]
    """For each column the file of its hierarchy."""
    method: Method
    notes: Sequence[str]
    checks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For each threshold of a check that is not the usual one how TOML writes it, and why."""

    def of(self, role: str) -> list[Guess]:
        """The columns of a role."""
        return [guess for guess in self.guesses if guess.role == role]


def policy_text(draught: Draught) -> str:
    """The file."""
    (person,) = draught.of("person")
    lines = [
        f"# A policy for {printable(draught.source)}, proposed by `reissue init`.",
        "# Every line marked GUESS was guessed, and says how sure that is. Confirm or correct each one: the person",
        "# who publishes under this file answers for it. Roles: person, quasi, sensitive, as_is, drop.",
        *(f"# Note: {printable(note)}" for note in draught.notes),
        "",
        'series = "protected"  # a method that protects single releases only may then publish just once',
    ]
    if draught.method.name != "Alternatives":
        lines.append('form = "generalised"  # or "anatomised": exact quasi-identifiers, sensitive values by group')
    lines += [
        "",
        "[people]",
        'ids = "plain"  # or "hashed", with key_file = "..." (reissue key makes one)',
        "",
        "[schema]",
        f"person = {quoted(person.column)}  {_mark(person)}",
        *_dropped(draught.of("drop")),
        *_events(draught),
    ]
    for guess in draught.of("quasi"):
        lines += ["", f"[schema.quasi.{quoted(guess.column)}]  {_mark(guess)}", *_quasi_kind(guess, draught)]
    for guess in draught.of("sensitive"):
        lines += ["", f"[schema.sensitive.{quoted(guess.column)}]  {_mark(guess)}", *_sensitive_kind(guess, draught)]
    return "\n".join([*lines, "", *_checks(draught.checks), *_method(draught.method), ""])


def file_name(stem: str, column: str, taken: Collection[str]) -> str:
    """A name for the hierarchy of a column, beside the policy."""
    plain = re.sub(r"[^\w-]+", "_", column).strip("_")[:60] or "column"
    name = f"{stem}.{plain}.csv"
    number = 2
    while name.lower() in {other.lower() for other in taken}:
        name, number = f"{stem}.{plain}-{number}.csv", number + 1
    return name


def _mark(guess: Guess) -> str:
    return f"# GUESS ({guess.confidence}): {printable(guess.why)}"


def _dropped(guesses: Sequence[Guess]) -> list[str]:
    if not guesses:
        return []
    lines = ["drop = ["]
    if any(guess.lost for guess in guesses):
        lines.append(
            "    # NOT PUBLISHED marks what looks sensitive and has no place in this policy. Decide about each."
        )
    for guess in guesses:
        loud = "NOT PUBLISHED: " if guess.lost else ""
        lines.append(f"    {quoted(guess.column)},  # {loud}GUESS ({guess.confidence}): {printable(guess.why)}")
    return [*lines, "]"]


def _events(draught: Draught) -> list[str]:
    if draught.events is None:
        return []
    confidence = next((guess.confidence for guess in draught.guesses if guess.column == draught.events.order), "low")
    return [
        "",
        "[schema.events]  # somebody can have several rows: one of them stands for the person",
        f"order = {quoted(draught.events.order)}  # GUESS ({confidence}): says when an event was",
        f'keep = "{draught.events.keep}"  # or "{"first" if draught.events.keep == "last" else "last"}"',
    ]


def _quasi_kind(guess: Guess, draught: Draught) -> list[str]:
    file, drawn = draught.hierarchies.get(guess.column, ("", None))
    lines = []
    if drawn is not None and drawn.used:
        lines += ['kind = "hierarchy"', f"file = {quoted(file)}  # {drawn.words}; the file has labels of the column"]
        if drawn.days:
            lines += [
                "# These are labels: no slope can be estimated on them. To make them days, write them as 2026-03-31 in",
                '# every table (in Excel: as dates), and here kind = "numeric" in place of kind and file.',
            ]
    elif guess.kind == "numeric":
        lines += ['kind = "numeric"', 'wider = "accept"  # later tables may go beyond the range seen so far']
    elif guess.column in draught.unseen:
        lines += ['kind = "categorical"', 'new = "accept"  # the tables given bring labels never seen before']
    else:
        lines += ['kind = "categorical"', 'new = "refuse"  # a label never seen before is an error; "accept" takes it']
    lines.append(_missing(guess.column in draught.missing))
    if drawn is not None and not drawn.used:
        lines += [
            f"# Fixed steps instead ({drawn.words}), which say less about people; in place of kind and wider:",
            '# kind = "hierarchy"',
            f"# file = {quoted(file)}",
        ]
    return lines


def _sensitive_kind(guess: Guess, draught: Draught) -> list[str]:
    lines = [f'kind = "{guess.kind}"']
    if guess.kind == "categorical":
        lines.append('new = "accept"  # later tables may bring values never seen before')
    lines.append(_missing(guess.column in draught.missing))
    if guess.column in draught.method.limits:
        limit = draught.method.limits[guess.column]
        lines.append(f'limit = "{limit}"  # GUESS: no value of it may become likelier than this for anybody')
    return lines


def _missing(has_missing: bool) -> str:
    if has_missing:
        return 'missing = "value"  # GUESS: the table has missing values here; "refuse" makes them an error'
    return 'missing = "refuse"  # or "value": missing counts as a value of its own'


def _checks(checks: Mapping[str, tuple[str, str]]) -> list[str]:
    if not checks:
        return []
    told = [f"{name} = {value}  # GUESS: {printable(why)}" for name, (value, why) in checks.items()]
    return ["[checks]  # what may pass without a question; what is not named here is as usual", *told, ""]


def _method(method: Method) -> list[str]:
    return [
        "[method]",
        f'name = "{method.name}"  # {printable(method.why)}',
        *(f"{name} = {value}  # {printable(comment)}" for name, (value, comment) in method.parameters.items()),
        *(f"# {printable(line)}" if line else "#" for line in method.instead),
    ]
