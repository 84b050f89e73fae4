"""Who a row is about, and which of somebody's rows stands for them.

The person is a column of ids. If it does not tell all rows apart, a row is an event, and a column must say when it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from reissue.errors import TableError, count_of
from reissue.model.events import Events
from reissue.model.schema import Categorical, Schema
from reissue.publishing.proposals.column_facts import Facts
from reissue.publishing.proposals.column_names import QUASI, SENSITIVE, meaning_of
from reissue.publishing.proposals.proposal_questions import Asking, Question
from reissue.tables.one_event import one_event_each

MOST_PERIODS = 60
"""A table with more states of itself is rather one of events."""
_OFFERED = 6


@dataclass(frozen=True)
class Who:
    """The person column, and the order of their events where there are several of each."""

    person: str
    confidence: str
    why: str
    events: Events | None
    order_confidence: str
    order_why: str
    people: int
    """How many people are in the first table."""
    stacked: bool
    """Whether the table looks like several states of one, a row for each person and state."""


def find_people(frames: Sequence[pl.DataFrame], facts: Mapping[str, Facts], asking: Asking) -> Who:
    """The person column and, where it does not tell the rows of a table apart, the order of events."""
    first = frames[0]
    person, confidence = _person(facts, asking)
    rows, people = first.height, first[person].n_unique()
    why = f"{count_of(people, 'distinct value')} in {count_of(rows, 'row')}"
    if "row" in meaning_of(person):
        why += "; it looks like a row number: is it the same for the same person in every release?"
        confidence = "low"
    if all(frame[person].n_unique() == frame.height for frame in frames):
        return Who(person, confidence, why, None, "", "", people, False)
    why += ": a row is an event, not a person"
    order, sure, reason = _order(first, facts, person, asking)
    keep = asking.ask(
        Question(
            "keep",
            f"Which event of a table stands for a person, by '{order}'?",
            (("last", "the last one"), ("first", "the first one")),
            "last",
            taken=f"{rows - people:,} of {rows:,} rows are events of people whose last one, by '{order}', is "
            "published instead",
        )
    )
    events = Events(order, "first" if keep == "first" else "last")
    few = first[order].n_unique() <= MOST_PERIODS
    stacked = few and first.select(person, order).n_unique() == rows and first[order].n_unique() < 0.5 * people
    return Who(person, confidence, why, events, sure, reason, people, stacked)


def one_row_each(frame: pl.DataFrame, who: Who) -> pl.DataFrame:
    """The rows that stand for people."""
    if who.events is None:
        return frame
    any_other = next(name for name in frame.columns if name != who.person)
    schema = Schema(who.person, {any_other: Categorical()}, f"{any_other} ", events=who.events)
    return one_event_each(frame, schema)[0]


def _person(facts: Mapping[str, Facts], asking: Asking) -> tuple[str, str]:
    scored = [(score, name) for name, one in facts.items() if (score := _score(one)) > 0]
    if not scored:
        empty = [one.name for one in facts.values() if one.missing and {"id", "person"} & meaning_of(one.name).senses]
        problems = [f"'{name}' looks like ids, but is empty in some rows" for name in empty]
        raise TableError(
            "No column tells people apart, so none can be the person.",
            problems=problems,
            hint="the table needs a column with an id for each person, the same in every release. For one release "
            "that is never repeated, a column of row numbers will do.",
        )
    scored.sort(key=lambda pair: -pair[0])
    best, name = scored[0]
    near = [other for score, other in scored if score > best - 2][:_OFFERED]
    clear = len(near) == 1 and best >= 3
    sure = "high" if clear or best >= 5 else "medium" if best >= 3 else "low"
    if sure == "high":
        return name, sure
    words = tuple((other, f"{facts[other].distinct:,} distinct values") for other in near)
    asked = Question("person", "Which column tells people apart?", words, name, taken=f"'{name}' tells people apart")
    answer = asking.ask(asked)
    return answer, sure if answer == name and asking.answer is None else "high"


def _score(facts: Facts) -> float:
    """How much speaks for a column as the person; 0 or less: nothing, or something is in the way."""
    if not facts.like_ids or facts.missing or facts.dates is not None or not facts.everywhere or facts.free_text:
        return 0
    name = meaning_of(facts.name)
    named = ("person" in name) * 3 + ("id" in name) * 2 - ("event" in name) * 3 - ("direct" in name) * 1.5
    other = any(sense in name for sense in (*QUASI, *SENSITIVE)) and "person" not in name
    named -= other * 3
    if facts.unique:
        return (
            max(named, 0) + 1.5 - (other and "id" not in name) * 1.5 - ("direct" in name) * 0.5 - ("row" in name) * 0.5
        )
    # A code such as admission_type_id has few values; an id has many.
    return named if named > 0 and facts.distinct >= max(2.0, 1.5 * facts.rows**0.5, 0.02 * facts.rows) else 0


def _order(first: pl.DataFrame, facts: Mapping[str, Facts], person: str, asking: Asking) -> tuple[str, str, str]:
    """The column that says when an event was."""
    ranked = sorted(((_when(facts[name]), name) for name in first.columns if name != person), key=lambda pair: -pair[0])
    able = [(score, name) for score, name in ranked if score > 0]
    if not able:
        unreadable = [name for name, one in facts.items() if one.dates is not None]
        hint = "add a column of dates or numbers that says when each event was, or leave one row for each person."
        if unreadable:
            hint = f"write the dates of '{unreadable[0]}' as 2026-03-31: other ways are ambiguous, and are not read."
        raise TableError(
            f"People have several rows, by '{person}', and no column says which came first, so that none can stand "
            "for the person.",
            hint=hint,
        )
    score, name = able[0]
    sure = "high" if score >= 5 else "medium" if score >= 3 else "low"
    reason = "dates" if facts[name].sort in ("date", "time") or facts[name].dates else "numbers"
    if score < 3:
        reason += ", taken for want of anything better: do they grow with time?"
    if sure != "high":
        words = tuple((other, f"{facts[other].distinct:,} distinct values") for _, other in able[:_OFFERED])
        asked = Question("order", "Which column says when an event was?", words, name,
                         taken=f"'{name}' says when an event was", loud=sure == "low")  # fmt: skip
        name = asking.ask(asked)
    return name, sure, reason


def _when(facts: Facts) -> float:
    """How well a column says when something was; 0: it cannot."""
    meaning = meaning_of(facts.name)
    if facts.missing or facts.distinct < 2 or not facts.everywhere or "birth" in meaning:
        return 0
    named = ("when" in meaning) * 2 + ("period" in meaning) * 1.5 + ("outcome" in meaning) * -1
    if facts.sort in ("date", "time"):
        return 4 + named
    if facts.dates is not None:
        return 4 + named if facts.dates.style in ("%Y-%m-%d", "%Y%m%d") else 0
    if facts.sort != "number":
        return 0
    if any(sense in meaning for sense in SENSITIVE):  # time_in_hospital is how long, not when
        return 0.2 if facts.whole else 0
    if "when" in meaning:
        return 3 + named if facts.whole else 2.5
    if "event" in meaning and facts.unique:
        return 2.5
    return 1.0 if facts.whole and facts.distinct > 10 else 0.5
