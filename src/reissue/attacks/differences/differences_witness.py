"""Why something can be read off releases in which nobody is known by name, told step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from reissue.arrays.dense import numbered
from reissue.arrays.types import Ints
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


def of_classes(shares: ClassShares, groups: Ints) -> pl.DataFrame:
    """The same of many classes at once, with what stands before, between and after their values; see `OF_GROUPS`."""
    same = np.zeros(groups.size, dtype=np.int64)
    for amounts in (shares.rows, shares.often, shares.beside, shares.alone):
        own = amounts[groups].astype(np.int64)
        same = numbered(same * (int(own.max(initial=0)) + 1) + own)[1]
    kinds, first = np.unique(same, return_index=True)
    # Those with the same counts are told in the same words, each with its own place.
    words = [_words_around(of_class(shares, group, Value(0))) for group in groups[first].tolist()]
    told = pl.DataFrame(words, schema=dict.fromkeys(("then", "goes_on", "ends"), pl.String), orient="row")
    places = pl.Series([str(Place(shares.number, group + 1)) for group in groups.tolist()], dtype=pl.String)
    assert kinds.size == told.height
    return told[same].select((places + pl.col("then")).alias("begins"), "goes_on", "ends")


def _words_around(witness: Witness) -> tuple[str, str, str | None]:
    """What stands between the place at the beginning and the value, and after each time that the value is told."""
    around = [""]
    for at, sentence in enumerate(witness.sentences):
        around[-1] += " " if at else ""
        for part in sentence:
            if isinstance(part, Value):
                around.append("")
            elif isinstance(part, str):
                around[-1] += part
    then, goes_on, *ends = around
    return then, goes_on, ends[0] if ends else None


def of_event(one: PublishedGroups, two: PublishedGroups, row: dict[str, Any], *, sure: bool) -> Witness:
    """Somebody who came, left or changed, as the counts of two releases show it."""
    before = _where(one.number, row["group_before"], row["groups"])
    after = _where(two.number, row["group_after"], row["groups"])
    people, often = row["people"], row["often"]
    told: list[Part] = []
    if row["what"] == "newcomer":
        told = [f"There {_rows(row['after'])} in ", *after, f", and there {_rows(row['before'], 'was', 'were')} in "]
        told += [*(before or (f"release {one.number:,}",)), f": {_more(often, 'more')} with ", Value(row["gained"])]
        told += ["." if often == people else f", of {people:,} more."]
        whom = "Who came there" if people == 1 else f"Of {people:,} who came there {often:,}"
        so: Sentence = (f"{whom} {'has' if often == 1 else 'have'} ", Value(row["gained"]), ".")
    elif row["what"] == "leaver":
        told = [f"There {_rows(row['before'], 'was', 'were')} in ", *before, f", and there {_rows(row['after'])} in "]
        told += [*(after or (f"release {two.number:,}",)), f": {_more(often, 'fewer')} with ", Value(row["lost"]), "."]
        whom = "Who left" if people == 1 else f"Of {people:,} who left {often:,}"
        so = (f"{whom} had ", Value(row["lost"]), ", if nobody came in their place and nobody changed.")
    else:
        told = [f"There {_rows(row['before'], 'was', 'were')} in ", *before, " and as many in ", *after]
        told += [": one fewer with ", Value(row["lost"]), ", one more with ", Value(row["gained"]), "."]
        so = ("Most simply, one person changed; or one left and another came.",)
    if row["what"] == "newcomer" and not sure:
        return Witness((tuple(told), so, (ASSUMED,)))
    return Witness((tuple(told), so))


def _where(release: int, group: int, groups: int) -> Sentence:
    """A group, or those that hang together with it because they overlap; nothing where the part has none."""
    if group < 0:
        return ()
    place = Place(release, group + 1)
    return (place,) if groups == 1 else (place, " and the groups that overlap with it")


def _rows(count: int, one: str = "is", several: str = "are") -> str:
    return f"{one} 1 row" if count == 1 else f"{several} {count:,} rows" if count else f"{several} no rows"


def _more(count: int, word: str) -> str:
    return f"one {word}" if count == 1 else f"{count:,} {word}"
