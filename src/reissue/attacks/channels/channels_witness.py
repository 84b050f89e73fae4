"""Why somebody's value is one of few, by comparison of two releases, told in sentences."""

from __future__ import annotations

from typing import Any

from reissue.attacks.sentences import Part, Person, Place, Sentence, Value, Witness, one_of, shortened, some_values
from reissue.errors import count_of
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.channels.channel_people import Exposure, Step
from reissue.reasoning.channels.channel_sets import Comparison, Newcomers
from reissue.reasoning.channels.waiting_lists import Batches

SHOWN = 6
"""So many groups or values at most are enumerated."""


def of_person(
    published: Published, exposure: Exposure, at: int, comparisons: list[Comparison], left: set[int] | None
) -> tuple[Witness, set[int], int]:
    """Why a person can have few values, which, and the release that completes it.

    `left` is what all comparisons leave; the smallest set alone is told where nothing more follows from others.
    """
    person = Person(int(exposure.people[at]))
    steps = exposure.steps(at, comparisons)
    values = set(steps[0].values)
    used = [steps[0]]
    if left is not None and len(left) == 1:
        for step in steps[1:]:
            if not values <= step.values:
                values &= step.values
                used.append(step)
    sentences: list[Sentence] = []
    for step in used:
        sentences += _told(published, exposure, at, person, step)
    sentences.append(("So ", person, " has ", *one_of(sorted(values), SHOWN), "."))
    releases = [published.releases[step.compared.later].number for step in used]
    return Witness(tuple(sentences)), values, max(releases)


def of_channel(published: Published, compared: Comparison, row: dict[str, Any]) -> Witness:
    """Why whoever is concerned can have few values, where nobody is known; `row` is one of the table of channels."""
    one, two = published.releases[compared.earlier], published.releases[compared.later]
    if row["kind"] == "both":
        first, second = Place(row["release_i"], row["group_i"]), Place(row["release_j"], row["group_j"])
        shared = sorted({*_of(one, row["group_i"] - 1)} & {*_of(two, row["group_j"] - 1)})
        told: list[Sentence] = [("Whoever is in ", first, " and in ", second, " has ", *one_of(shared, SHOWN), ".")]
    else:
        group = row["group_j"] - 1
        values = _left_for_new(two, group, compared.new)
        told = _taken_away(published, compared, "new", group)
        told.append(("Whoever is new in ", Place(two.number, group + 1), " has ", *one_of(sorted(values), SHOWN), "."))
    surely = row["people_least"]
    told.append(
        (
            f"That is at least {count_of(surely, 'person', 'people')}."
            if surely
            else "It is not known whether anybody is.",
        )
    )
    return Witness(tuple(told))


def _told(published: Published, exposure: Exposure, at: int, person: Person, step: Step) -> list[Sentence]:
    compared = step.compared
    one, two = published.releases[compared.earlier], published.releases[compared.later]
    if step.kind == "both":
        first, second = Place(one.number, step.first + 1), Place(two.number, step.second + 1)
        common = (", which have only ", *some_values(sorted(step.values), SHOWN), " in common.")
        return [(person, " is in ", first, " and in ", second, *common)]
    here, group = (one, step.first) if step.kind == "gone" else (two, step.second)
    missing = compared.later if step.kind == "gone" else compared.earlier
    number = published.releases[missing].number
    waited = bool(exposure.waited[missing, at])
    absent = f" was waiting when release {number:,} came out" if waited else f" is not in release {number:,}"
    sentences: list[Sentence] = [(person, absent, " and is in ", Place(here.number, group + 1), ".")]
    sentences += _taken_away(published, compared, "gone" if step.kind == "gone" else "new", group)
    if step.batch is not None:
        sentences += _waited(published, step.batch, group)
    return [*sentences, ("That leaves ", *some_values(sorted(step.values), SHOWN), " for ", person, ".")]


def _taken_away(published: Published, compared: Comparison, kind: str, group: int) -> list[Sentence]:
    one, two = published.releases[compared.earlier], published.releases[compared.later]
    here, other = (two, one) if kind == "new" else (one, two)
    together, away = compared.put_together(kind, group)
    if not away:
        return []
    return [
        ("Everybody in ", *_places(other, away), " is in ", *_places(here, together, "or"), "."),
        ("So their values can be taken from those of ", *_places(here, together), "."),
    ]


def _waited(published: Published, batch: Batches, group: int) -> list[Sentence]:
    """What those have together who are new in a class, and that some of them waited."""
    number, two = published.releases[batch.compared.earlier].number, published.releases[batch.compared.later]
    arrived, waited = int(batch.arrived[group]), int(batch.waited[group])
    values = _amounts(two, group, batch.compared.new)
    who = "All of them were" if waited == arrived else f"{waited:,} of them {'was' if waited == 1 else 'were'}"
    told: list[Sentence] = [(f"Those who are new there, {count_of(arrived, 'person', 'people')}, have ", *values, ".")]
    told.append((f"{who} waiting when release {number:,} came out, in one list as it is taken here.",))
    if waited > 1:
        told.append((f"With {batch.l:,} different values they would have been published, so they have fewer.",))
    return told


def _amounts(release: PublishedGroups, group: int, found: Newcomers | None) -> Sentence:
    """Values of newcomers with how often they have them, the most frequent first."""
    entries = slice(*release.value_starts[group : group + 2].tolist())
    amounts = (release.counts if found is None else found.amounts)[entries].tolist()
    ranked = sorted((-amount, value) for amount, value in zip(amounts, release.values[entries].tolist(), strict=True))
    ranked = [(amount, value) for amount, value in ranked if amount]
    told: list[Part] = []
    for at, (amount, value) in enumerate(ranked[:SHOWN]):
        told += [", " if at else "", Value(value), " once" if amount == -1 else f" {-amount:,} times"]
    return (*told, f" and {len(ranked) - SHOWN:,} others") if len(ranked) > SHOWN else tuple(told)


def _left_for_new(release: PublishedGroups, group: int, found: Newcomers | None) -> set[int]:
    begin, end = release.value_starts[group : group + 2].tolist()
    shown = release.values[begin:end]
    return set((shown if found is None else shown[found.amounts[begin:end] > 0]).tolist())


def _of(release: PublishedGroups, group: int) -> list[int]:
    values: list[int] = release.values[slice(*release.value_starts[group : group + 2].tolist())].tolist()
    return values


def _places(release: PublishedGroups, groups: list[int], word: str = "and") -> Sentence:
    return shortened([Place(release.number, group + 1) for group in groups[:SHOWN]], len(groups), word)
