"""Why something can be read off releases in which nobody is known by name, told step by step."""

from __future__ import annotations

from typing import Any

from reissue.attacks.sentences import Part, Place, Sentence, Value, Witness
from reissue.errors import count_of
from reissue.model.published import PublishedGroups
from reissue.reasoning.differences.class_shares import ClassShares

ASSUMED = "That is so if nobody left, and nobody's value or quasi-identifiers changed."


def of_class(shares: ClassShares, group: int, value: Part) -> Witness:
    """A class in which a value is too likely, for whoever is in it."""
    place, rows, often = Place(shares.number, group + 1), int(shares.rows[group]), int(shares.often[group])
    beside = int(shares.beside[group])
    if rows == 1:
        told: Sentence = (place, " is a single row, with ", value, ".")
    elif rows == often:
        told = (place, f" has {rows:,} rows, all with ", value, ".")
    else:
        told = (place, f" has {rows:,} rows, {often:,} of them with ", value, ".")
    if beside:
        who = f" {count_of(beside, 'row')} of other groups that overlap it may be meant as well, and"
        others: Sentence = (
            f"{who} show other values: ".lstrip(),
            "so it is at least ",
            f"{often:,} in {rows + beside:,}.",
        )
        return Witness((told, others))
    so = "has " if rows == often else f"has, with a probability of {often:,} in {rows:,}, "
    alone = "No other group that could hold them shows another value. " if not shares.alone[group] else ""
    return Witness((told, (f"{alone}Whoever has these quasi-identifiers and is in the release {so}", value, ".")))


def of_event(one: PublishedGroups, two: PublishedGroups, row: dict[str, Any], *, sure: bool) -> Witness:
    """Somebody who came, left or changed, as the counts of two releases show it."""
    before = Place(one.number, row["group_before"] + 1) if row["group_before"] >= 0 else None
    after = Place(two.number, row["group_after"] + 1) if row["group_after"] >= 0 else None
    people, often = row["people"], row["often"]
    told: list[Part] = []
    if row["what"] == "newcomer":
        was: Sentence = (
            (f"no row in release {one.number:,}",) if before is None else _rows(row["before"], "in ", before)
        )
        told = [f"There are {row['after']:,} rows in " if row["after"] != 1 else "There is 1 row in "]
        told += [after or "the later release", ", and there was " if row["before"] == 1 else ", and there were ", *was]
        told += [f": {often:,} more with " if often > 1 else ": one more with ", Value(row["gained"])]
        told += ["." if often == people else f", of {people:,} more."]
        whom = "Who came" if people == 1 else f"Of {people:,} who came {often:,}"
        so: Sentence = (f"{whom} {'has' if often == 1 else 'have'} ", Value(row["gained"]), ".")
    elif row["what"] == "leaver":
        told = [before or "the earlier release", f" had {count_of(row['before'], 'row')}, and {row['after']:,} "]
        told += ["are left: " if row["after"] != 1 else "is left: "]
        told += [f"{often:,} fewer with " if often > 1 else "one fewer with ", Value(row["lost"]), "."]
        whom = "Who left" if people == 1 else f"Of {people:,} who left {often:,}"
        so = (f"{whom} had ", Value(row["lost"]), ", if nobody came in their place and nobody changed.")
    else:
        told = [before or "the earlier release", " and ", after or "the later release", " have "]
        told += [f"{count_of(row['after'], 'row')} each: one fewer with ", Value(row["lost"])]
        told += [", one more with ", Value(row["gained"]), "."]
        so = ("Somebody there changed from ", Value(row["lost"]), " to ", Value(row["gained"]))
        so = (*so, ", or left and was followed by somebody else.")
    if row["what"] == "newcomer" and not sure:
        return Witness((tuple(told), so, (ASSUMED,)))
    return Witness((tuple(told), so))


def _rows(count: int, word: str, place: Place) -> Sentence:
    return (f"{count:,} {word}", place)
