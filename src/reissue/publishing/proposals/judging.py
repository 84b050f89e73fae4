"""Roles: what each column may be, why, and how sure that is.

What must not be tied to a person is looked for first, by the name, by codes of diseases and drugs among the cells, and
by columns of the same make beside it. Such a column never becomes a quasi-identifier, and is never left out in silence.
Then what an outsider may know; then what tells people apart. What is left is judged by whether values of people change:
what is stable an outsider may know, what changes they hardly do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from reissue.errors import count_of
from reissue.publishing.proposals.column_facts import Facts
from reissue.publishing.proposals.column_names import QUASI, SENSITIVE, Meaning, meaning_of
from reissue.publishing.proposals.people_and_events import Who

Role = Literal["person", "quasi", "sensitive", "drop", "order"]
Confidence = Literal["high", "medium", "low"]
MANY = 400
"""Labels of which nobody says what they are; with more of them a column is not a quasi-identifier as it stands."""
CHANGES = 0.15
"""Where so many values differ from one row of a person to the next, an outsider hardly knows them."""
NEARLY_UNIQUE = 0.9
OWN_NAMES = ("group", "count", "design", "version", "share", "slots", "room", "combination", "probability", "places")
"""Columns that published tables have themselves."""
_AMOUNTS = ("hours", "wkhp", "weeks", "wks", "tenure", "height", "years", "yr", "year", "grade", "exp")
_COUNTS = ("num", "number", "count", "anzahl", "nombre", "nb", "numero", "total", "tot", "cnt")
_WORDS = {
    "diagnosis": "names a diagnosis", "outcome": "names an outcome", "clinical": "sounds clinical",
    "drug": "sounds like a drug", "private": "sounds private", "financial": "sounds financial",
}  # fmt: skip


@dataclass(frozen=True)
class Guess:
    """What a column may be, and why."""

    column: str
    role: Role
    kind: str
    """`numeric`, `categorical`, `hierarchy`; empty where it is not published."""
    why: str
    confidence: Confidence
    rank: int = 9
    """Of sensitive columns: what is lower is published rather."""
    lost: bool = False
    """Whether it looks sensitive and is left out, which has to be said."""


def judge(table: pl.DataFrame, facts: Mapping[str, Facts], who: Who, changing: Mapping[str, float]) -> dict[str, Guess]:
    """A role for every column."""
    made = {}
    for name, one in facts.items():
        if name == who.person:
            made[name] = Guess(name, "person", "", who.why, _sure(who.confidence))
        elif who.events is not None and name == who.events.order:
            made[name] = Guess(
                name, "order", "", f"says when an event was: {who.order_why}", _sure(who.order_confidence)
            )
        else:
            made[name] = _judged(one, facts, changing.get(name))
    made = _with_siblings(table, facts, made)
    if not any(guess.role == "sensitive" for guess in made.values()):
        made = _with_one_sensitive(facts, made)
    return made


def _sure(confidence: str) -> Confidence:
    return "high" if confidence == "high" else "medium" if confidence == "medium" else "low"


def _judged(facts: Facts, every: Mapping[str, Facts], changes: float | None) -> Guess:
    name, meaning = facts.name, meaning_of(facts.name)
    kind = kind_of(facts)
    sensitive = _sensitive(facts, meaning, kind)
    if (barrier := _barrier(facts, every)) is not None:
        return Guess(name, "drop", "", barrier, "high", lost=sensitive is not None and facts.distinct > 0)
    if facts.free_text or ("free text" in meaning and facts.sort == "text" and facts.distinct > MANY // 4):
        return Guess(name, "drop", "", "free text, which can say anything about anybody", "high")
    if sensitive is not None and not ("id" in meaning and facts.unique):
        return sensitive
    where = "place" in meaning or "postcode" in meaning
    if (
        "direct" in meaning
        and (facts.sort == "text" or facts.unique)
        and facts.distinct > (0.3 * facts.rows if where else MANY // 4)
    ):
        return Guess(name, "drop", "", "looks like a direct identifier", "high")
    if "weight" in meaning and facts.sort == "number":
        return Guess(name, "drop", "", "looks like a weight of a survey, which tells people apart", "medium")
    named = next((sense for sense in QUASI if sense in meaning), None)
    if named == "work":
        why = f"colleagues and neighbours may know it, or it is what the table is about; {_values(facts)}"
        return Guess(name, "quasi", kind, why, "low")
    if named is not None:
        return Guess(name, "quasi", kind, f"an outsider may know it; {_values(facts)}", "high")
    enough = 100 if facts.sort == "number" else 20
    if facts.like_ids and facts.rows > enough and facts.distinct >= NEARLY_UNIQUE * facts.rows:
        return Guess(name, "drop", "", "different in nearly every row, like an identifier", "medium")
    if "id" in meaning and facts.whole and facts.distinct > 0.05 * facts.rows:
        return Guess(name, "drop", "", "looks like an identifier", "medium")
    return _by_what_it_does(facts, meaning, kind, changes)


def _by_what_it_does(facts: Facts, meaning: Meaning, kind: str, changes: float | None) -> Guess:
    """A column whose name says little or nothing."""
    if "weak" in meaning and "when" not in meaning:
        return Guess(facts.name, "sensitive", kind, f"may be a state or a result; {_values(facts)}", "low", rank=7)
    days = facts.dates is not None or facts.sort in ("date", "time")  # of an event: whoever saw it knows when
    if changes is not None and changes >= CHANGES and not days and "period" not in meaning:
        why = f"{changes:.0%} of values differ from one row of a person to the next; {_values(facts)}"
        return Guess(facts.name, "sensitive", kind, why, "low", rank=8)
    if kind == "categorical" and facts.distinct > MANY and facts.dates is None:
        why = f"{facts.distinct:,} labels of which the name does not say what they are"
        return Guess(facts.name, "drop", "", why, "low")
    known = "stable" if changes is not None and changes < CHANGES else "nothing speaks for anything else"
    return Guess(
        facts.name, "quasi", kind, f"an outsider may know it ({known}); {_values(facts)}",
        "medium" if known == "stable" else "low",
    )  # fmt: skip


def _sensitive(facts: Facts, meaning: Meaning, kind: str) -> Guess | None:
    """The column as a sensitive one, where it looks like one."""
    sense = next((sense for sense in SENSITIVE if sense in meaning), None)
    if "weight" in meaning and sense == "clinical":
        sense = None
    if sense is None and not facts.pattern and not facts.clinical:
        return None
    reasons = [_WORDS[sense]] if sense else []
    if facts.pattern:
        reasons.append(f"has codes of {facts.pattern}")
    if facts.clinical:
        reasons.append("has labels that name illnesses")
    rank = SENSITIVE.index(sense) if sense else 1
    if facts.pattern.startswith("ICD") or facts.clinical:
        rank = 0
    if any(own in meaning for own in ("sex", "age", "postcode", "place")) and not facts.pattern:
        rank = max(rank, 5)  # hospital_state, age_at_diagnosis: private, but not what a release is about
    if {*_COUNTS} & {*meaning.tokens} and facts.sort == "number":
        rank = max(rank, 4)  # how many diagnoses: less than which
    both = sense is not None and (bool(facts.pattern) or facts.clinical)
    sure: Confidence = "high" if both or sense in ("diagnosis", "outcome", "drug") else "medium"
    return Guess(facts.name, "sensitive", kind, f"{' and '.join(reasons)}; {_values(facts)}", sure, rank)


def _barrier(facts: Facts, every: Mapping[str, Facts]) -> str | None:
    """What keeps a column from being published at all."""
    name = facts.name
    if facts.sort == "nothing":
        return "empty in every row"
    if facts.sort == "other":
        return "of a type that is not read: neither text, numbers, dates nor yes and no"
    if not facts.everywhere:
        return "not in every table that was given"
    if facts.distinct == 1 and not facts.missing:
        return "the same in every row, so that it tells nothing of anybody or all of everybody"
    if name in OWN_NAMES:
        return "published tables have a column of this name: rename it to keep it"
    for ending in ("_low", "_high", "_missing"):
        if name.endswith(ending) and name.removesuffix(ending) in every:
            return "the interval of another column would have this name: rename it to keep it"
    return None


def kind_of(facts: Facts) -> str:
    """The kind that a column has as a quasi-identifier, without a hierarchy."""
    if facts.sort not in ("number", "date", "time"):
        return "categorical"
    if not facts.labels or facts.sort != "number":
        return "numeric"
    return "categorical" if _coded(facts) else "numeric"


def _coded(facts: Facts) -> bool:
    """Whether whole numbers stand for categories: 1 and 2 for sexes, the numbers of states."""
    meaning = meaning_of(facts.name)
    if not facts.whole or any(sense in meaning for sense in ("age", "birth", "when", "postcode")):
        return False
    if {*meaning.tokens} & {*_AMOUNTS, *_COUNTS}:
        return False
    named = any(sense in meaning for sense in ("sex", "place", "known", "work")) or {*meaning.tokens} & {
        "cd",
        "code",
        "type",
        "class",
    }
    return facts.distinct <= (1_000 if named else 8)


def _values(facts: Facts) -> str:
    return count_of(facts.distinct, "distinct value")


def _with_siblings(table: pl.DataFrame, facts: Mapping[str, Facts], made: dict[str, Guess]) -> dict[str, Guess]:
    """Columns of the same make as one that sounds sensitive are that as well: `examide` beside `metformin`, `SP_RA_OA`
    beside `SP_CNCR`. Of the same make are those with the same few labels, which are more telling than yes and no, or
    with the same beginning of the name as well."""
    few = [
        name for name, one in facts.items() if 1 <= one.distinct <= 12 and one.sort in ("text", "number", "yes or no")
    ]
    labels = {name: frozenset(map(str, table[name].drop_nulls().unique().to_list())) for name in few}
    named = [name for name in few if made[name].role == "sensitive" and made[name].confidence != "low"]
    makes: Counter[tuple[str, frozenset[str]]] = Counter()
    for name in named:
        makes[(_beginning(name), labels[name])] += 1
        if len(labels[name]) > 2:
            makes[("", labels[name])] += 1
    changed = dict(made)
    for name in few:
        guess = made[name]
        kin = max(makes[(_beginning(name), labels[name])] if _beginning(name) else 0, makes[("", labels[name])])
        # A column with one label of a block of like ones is one of the block.
        part = len(labels[name]) <= 2 and any(
            often >= 3 and len(kind) > 2 and labels[name] < kind for (_, kind), often in makes.items()
        )
        quasi_by_name = guess.role == "quasi" and guess.confidence == "high"
        if (kin >= 2 or part) and not quasi_by_name and guess.role in ("quasi", "sensitive", "drop"):
            if guess.role == "sensitive" and guess.confidence != "low":
                continue
            why = f"of the same make as columns that sound sensitive; {_values(facts[name])}"
            if guess.role == "drop":
                if facts[name].distinct > 0:
                    changed[name] = replace(guess, lost=True)
                continue
            changed[name] = Guess(name, "sensitive", kind_of(facts[name]), why, "medium", rank=4)
    return changed


def _beginning(name: str) -> str:
    tokens = meaning_of(name).tokens
    return tokens[0] if len(tokens) > 1 else ""


def _with_one_sensitive(facts: Mapping[str, Facts], made: dict[str, Guess]) -> dict[str, Guess]:
    """Nothing looks sensitive: what people do for a living, or else the last column with a handful of labels, where
    tables often have it."""
    able = [guess for guess in made.values() if guess.role == "quasi" and facts[guess.column].distinct >= 2]
    hardly = [one for one in able if any(sense in meaning_of(one.column) for sense in QUASI[:5])]  # an age, a place
    able = [one for one in able if one not in hardly] or able
    work = [one for one in able if {"occupation", "occ", "occp", "job", "profession", "beruf"} & {*_tokens(one.column)}]
    labelled = [one for one in able if one.kind == "categorical" and facts[one.column].distinct <= MANY]
    candidates = work or labelled or able
    if not candidates or len([one for one in made.values() if one.role == "quasi"]) < 2:
        return made
    chosen = candidates[-1]
    why = f"no column looks sensitive, and one has to be; {_values(facts[chosen.column])}"
    return {**made, chosen.column: Guess(chosen.column, "sensitive", chosen.kind, why, "low", rank=9)}


def _tokens(name: str) -> tuple[str, ...]:
    return meaning_of(name).tokens
