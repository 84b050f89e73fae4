"""Why somebody has a permanent value, or cannot have it: the fewest groups from which it follows, in words.

As in section 1.1 of the paper: suppose the contrary, and no way is left to say who has the value. Groups around the
person are added until that follows from them alone; then every group that is not needed is taken away again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reissue.arrays.budget import moment, passed
from reissue.attacks.sentences import Person, Place, Sentence, Value, Witness, going_on, holding, is_known
from reissue.errors import count_of
from reissue.model.published import Published
from reissue.reasoning.permanence.permanence_cells import EXACT, SAMPLED
from reissue.reasoning.permanence.permanence_entries import PRESENT, Entries
from reissue.reasoning.permanence.permanence_figures import Chances, Presence
from reissue.reasoning.permanence.permanence_parts import Class, Part
from reissue.reasoning.permanence.permanence_solving import WHOLE, Programme

MOST_GROUPS = 60
MOST_ENTRIES = 2_000
"""Derivations from more are not looked for: nobody could follow them."""
SHOWN = 12
"""More people or groups are not told one by one."""
SECONDS = 5.0
"""For all derivations of one attack together; later ones name the person's own groups only."""
Core = tuple[int, ...]
"""Groups from which something follows, ascending."""


class Explainer:
    """Derives what is certain and what is impossible from few groups."""

    def __init__(self, published: Published, presence: Presence, known: Mapping[int, int]) -> None:
        self._published, self._presence = published, presence
        self._known = known
        """The values of people who are known beforehand."""
        self._entries: dict[int, Entries] = {}
        self._cores: dict[tuple[int, int], Core] = {}
        self._left = SECONDS

    def certain(self, one: Chances, at: int) -> Witness:
        """Why a person has the value."""
        place, value = int(one.at[at]), one.value
        release = int(one.largest.release[place])
        core = self._core_of(one, at)
        if not core:
            return self._without_core(one, at, " must have ")
        who = Person(int(one.people[at]))
        number = self._published.releases[release].number
        return Witness(
            (
                *self._told_groups(one.value, core),
                *self._told_out(one.value, core),
                *self._told_known(one.value, core),
                ("Suppose that ", who, " does not have ", Value(value), f" in release {number}."),
                self._contradiction(value, core),
                ("So ", who, " has ", Value(value), "."),
            )
        )

    def completed_by(self, one: Chances, at: int) -> int | None:
        """The number of the release with which it became certain; None where that is not known."""
        core = self._core_of(one, at)
        last = max((int(self._of(one.value).release[home]) for home in core), default=None)
        return None if last is None else self._published.releases[last].number

    def excluded(self, one: Chances, at: int) -> Witness:
        """Why a person cannot have the value although a group of his shows it."""
        place, value = int(one.at[at]), one.value
        entries = self._of(value)
        mine = np.flatnonzero(entries.person == place)
        who = Person(int(one.people[at]))
        if not mine.size:
            spot = self._last_without(value, place)
            if spot is None:
                return self._without_core(one, at, " cannot have ")
            return Witness((self._told_without(who, value, spot),))
        core = self._core(one.value, mine.tolist(), certain=False)
        if not core:
            return self._without_core(one, at, " cannot have ")
        return Witness(
            (
                *self._told_groups(value, core),
                *self._told_out(value, core),
                *self._told_known(value, core),
                ("Suppose that ", who, " had ", Value(value), "."),
                self._contradiction(value, core),
                ("So ", who, " does not have ", Value(value), "."),
            )
        )

    def likely(self, one: Chances, at: int) -> Witness:
        """Why a value is likely for a person: how the figure was come by."""
        place, value = int(one.at[at]), one.value
        release = int(one.largest.release[place])
        number = self._published.releases[release].number
        group = int(self._of(value).home[self._entry(value, place, release)])
        figure, kind = float(one.largest.probability[place]), one.largest.kind[place]
        if kind == EXACT:
            what = f"Of all ways to say who has it that agree with every release, {one.fraction(at)}"
        elif kind == SAMPLED:
            what = f"Of ways to say who has it that agree with every release, drawn at random, about {figure:.3g}"
        else:
            what = f"At most {figure:.3g} of all ways to say who has it that agree with every release"
        if one.cohorts > 1:
            what = what.replace(
                "ways to say who has it", f"ways to form {one.cohorts} cohorts, one of them its holders,"
            )
        return Witness(
            (
                *self._told_groups(value, (group,)),
                ("Nobody loses ", Value(value), "."),
                (f"{what} give it to ", Person(int(one.people[at])), f" in release {number}."),
            )
        )

    # Sentences

    def _told_groups(self, value: int, core: Sequence[int]) -> list[Sentence]:
        entries = self._of(value)
        told: list[Sentence] = []
        for home in core[:SHOWN]:
            release = self._published.releases[int(entries.release[home])]
            group = int(entries.group[home])
            span = slice(int(release.member_starts[group]), int(release.member_starts[group + 1]))
            members = sorted(release.members[span].tolist(), key=lambda number: (number < 0, abs(number)))
            known = self._presence.known[int(entries.release[home])]
            certainly = known is not None and bool((known[span] == PRESENT).all())
            holds = holding(Place(release.number, group + 1), members, certainly, SHOWN)
            told.append((*holds, "; it shows ", Value(value), f" {count_of(int(entries.count[home]), 'time')}."))
        return [*told, *going_on(len(core), SHOWN)]

    def _told_out(self, value: int, core: Sequence[int]) -> list[Sentence]:
        """Those of the groups who are out because a later group of theirs does not show the value."""
        entries = self._of(value)
        told: list[Sentence] = []
        seen: set[int] = set()
        for home in core:
            at, group = int(entries.release[home]), int(entries.group[home])
            release = self._published.releases[at]
            members = self._presence.places[at][release.member_starts[group] : release.member_starts[group + 1]]
            out = np.setdiff1d(members, entries.person[entries.home == home])
            for place in out.tolist():
                spot = None if place in seen else self._last_without(value, place)
                seen.add(place)
                if spot is not None and len(told) < SHOWN:
                    who = Person(self._number(place))
                    told.append(self._told_without(who, value, spot))
        return told

    def _told_known(self, value: int, core: Sequence[int]) -> list[Sentence]:
        """Those of the groups whose value is known beforehand."""
        if not self._known:
            return []
        entries = self._of(value)
        members = set()
        for home in core:
            release, group = self._published.releases[int(entries.release[home])], int(entries.group[home])
            members |= {*release.members_of(group).tolist()}
        known = sorted(members & self._known.keys())
        return [is_known(number, self._known[number]) for number in known[:SHOWN]]

    def _told_without(self, who: Person, value: int, spot: tuple[int, int]) -> Sentence:
        at, group = spot
        place = Place(self._published.releases[at].number, group + 1)
        return (who, " is present in ", place, ", which does not show ", Value(value), ", so did not have it before.")

    def _contradiction(self, value: int, core: Sequence[int]) -> Sentence:
        where = "this group" if len(core) == 1 else "these groups"
        if len({int(self._of(value).release[home]) for home in core}) == 1:
            return (f"Then no way is left to say who else has it that agrees with {where}.",)
        return (
            f"Then no way is left to say who else has it that agrees with {where}, because everybody who has ",
            Value(value),
            " keeps it.",
        )

    def _without_core(self, one: Chances, at: int, verb: str) -> Witness:
        place = int(one.at[at])
        entries = self._of(one.value)
        own = entries.home[entries.person == place][:3].tolist()
        ending: Sentence = (
            "Together with the groups that share people with these, it follows that ",
            Person(int(one.people[at])),
            verb,
            Value(one.value),
            "; no short derivation was found.",
        )
        return Witness((*self._told_groups(one.value, own), ending))

    # Cores

    def _core_of(self, one: Chances, at: int) -> Core:
        """Groups from which it follows that somebody has the value."""
        place = int(one.at[at])
        key = one.value, place
        if key not in self._cores:
            entry = self._entry(one.value, place, int(one.largest.release[place]))
            self._cores[key] = self._core(one.value, [entry], certain=True)
        return self._cores[key]

    def _core(self, value: int, targets: list[int], *, certain: bool) -> Core:
        """Groups from which it follows that the entry must, or none of the entries can, have the value."""
        began = moment()
        found = self._searched(value, targets, certain, began + self._left) if self._left > 0 else ()
        self._left -= moment() - began
        return found

    def _searched(self, value: int, targets: list[int], certain: bool, deadline: float) -> Core:
        entries = self._of(value)
        core = sorted({int(entries.home[target]) for target in targets})
        while True:
            inside = np.flatnonzero(np.isin(entries.home, core))
            if len(core) > MOST_GROUPS or inside.size > MOST_ENTRIES or passed(deadline, 100 + inside.size):
                return ()
            if self._follows(value, core, targets, certain, deadline):
                break
            around = entries.home[np.isin(entries.person, entries.person[inside])]
            grown = sorted({*core, *around.tolist()})
            if len(grown) == len(core):
                return ()
            core = grown
        for group in reversed(core):
            fewer = [other for other in core if other != group]
            if fewer and self._follows(value, fewer, targets, certain, deadline):
                core = fewer
        return tuple(core)

    def _follows(self, value: int, groups: list[int], targets: list[int], certain: bool, deadline: float) -> bool:
        entries = self._of(value)
        place = {group: at for at, group in enumerate(groups)}
        needs = [int(entries.count[group]) for group in groups]
        rows: dict[int, list[int]] = {}
        for entry in np.flatnonzero(np.isin(entries.home, groups)).tolist():
            if entries.sure[entry] and self._has(value, int(entries.person[entry])):
                needs[place[int(entries.home[entry])]] -= 1
            else:
                rows.setdefault(int(entries.person[entry]), []).append(entry)
        classes, wish = [], []
        for some in rows.values():
            homes = tuple(place[int(entries.home[entry])] for entry in some)
            classes.append(Class(1, homes, tuple(bool(entries.sure[entry]) for entry in some)))
            wish += [float(entry in targets) for entry in some]
        if not any(wish):
            return False
        part = Part(tuple(needs), (0,) * len(groups), tuple(classes), tuple(groups), ())
        worth = np.array([*wish, *([0.0] * len(groups))])
        # Of one entry: can it be without the value? Of several: can any have it?
        _, bound = Programme(part, 1).best(-worth if certain else worth, deadline, 1.0 if certain else 0.0)
        return bound is not None and bound < WHOLE

    # The view

    def _of(self, value: int) -> Entries:
        if value not in self._entries:
            other = [person for person, known in self._known.items() if known != value and self._published.single]
            never = self._presence.at(np.array(other, dtype=np.int64))
            self._entries[value] = Entries.of(self._published, self._presence, value, never)
        return self._entries[value]

    def _has(self, value: int, place: int) -> bool:
        """Whether somebody is known beforehand to have a value."""
        return bool(self._known) and self._known.get(self._number(place)) == value

    def _number(self, place: int) -> int:
        return int(self._presence.numbers[place])

    def _entry(self, value: int, place: int, release: int) -> int:
        entries = self._of(value)
        span = slice(int(entries.starts[release]), int(entries.starts[release + 1]))
        return int(np.flatnonzero(entries.person[span] == place)[0]) + span.start

    def _last_without(self, value: int, place: int) -> tuple[int, int] | None:
        """The last release and group in which somebody is present and that does not show the value."""
        for at in reversed(range(len(self._published.releases))):
            release, known = self._published.releases[at], self._presence.known[at]
            where = np.flatnonzero(self._presence.places[at] == place)
            if known is None or not where.size or known[where[0]] != PRESENT:
                continue
            group = int(np.searchsorted(release.member_starts, where[0], side="right")) - 1
            if value not in release.values_of(group)[0]:
                return at, group
        return None
