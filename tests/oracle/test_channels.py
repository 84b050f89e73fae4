"""Inference-enabling sets against their definition with plain lists, and against every possible world."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from profiles import seeds
from worked_examples import worked_examples
from worlds import worlds

from reissue.arrays import budget
from reissue.attacks.base import Limits
from reissue.attacks.channels.channels import Channels, ChannelsFindings
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups
from reissue.model.regions import Intervals, Regions, Sets

Group = tuple[list[str], list[str]]
Releases = list[list[Group]]


def byun(paper: dict[str, Any]) -> Releases:
    return [[(who, values) for who, _, values in paper["published"][table]] for table in ("T0", "T1")]


# Where members are known


def random_series(rng: random.Random, *, growing: bool) -> tuple[Releases, dict[str, str]]:
    letters = "abcd"[: rng.randint(2, 4)]
    people = [f"p{n}" for n in range(rng.randint(4, 8))]
    truth = {person: rng.choice(letters) for person in people}
    here = people[: rng.randint(2, 4)]
    series: Releases = []
    for _ in range(rng.randint(2, 3)):
        order, size = here[:], rng.randint(2, 4)
        if rng.random() < 0.5:
            rng.shuffle(order)
        groups = [order[at : at + size] for at in range(0, len(order), size)]
        series.append([(group, [truth[person] for person in group]) for group in groups])
        stay = here if growing else [person for person in here if rng.random() < 0.8]
        here = stay + [person for person in people if person not in here and rng.random() < 0.5]
        here = here or people[:1]
    return series, truth


def newcomer_set(group: Group, release: list[Group], other: list[Group]) -> set[str]:
    """The smallest of the sets for those of a group who are not in the other release, by the definition."""
    members = {who: at for at, (people, _) in enumerate(release) for who in people}
    mine = release.index(group)
    choices = [{mine}]
    for people, _ in other:
        if compatible := {members[who] for who in people if who in members}:
            choices.append(compatible)
    component = {mine}
    while True:
        wider = set(component)
        for people, _ in other:
            touched = {members[who] for who in people if who in members}
            if touched & component:
                wider |= touched
        if wider == component:
            break
        component = wider
    smallest = None
    for classes in [*choices, component]:
        if mine not in classes:
            continue
        inside = {who for at in classes for who in release[at][0]}
        values = Counter(value for at in classes for value in release[at][1])
        for people, theirs in other:
            if set(people) <= inside:
                values -= Counter(theirs)
        found = set(values) & set(group[1])
        if smallest is None or len(found) < len(smallest):
            smallest = found
    assert smallest is not None
    return smallest


def sets_of(series: Releases, person: str) -> Iterator[tuple[int, int, str, set[str]]]:
    """Earlier and later release, kind and size; for `new` and `gone` several sets may be smallest."""
    at = [next((group for group in release if person in group[0]), None) for release in series]
    for later in range(len(series)):
        for earlier in range(later):
            one, two = at[earlier], at[later]
            if one and two:
                yield earlier, later, "both", set(one[1]) & set(two[1])
            elif two:
                yield earlier, later, "new", newcomer_set(two, series[later], series[earlier])
            elif one:
                yield earlier, later, "gone", newcomer_set(one, series[earlier], series[later])


@pytest.mark.parametrize("growing", [True, False])
def test_definition_and_worlds(growing: bool) -> None:
    for seed in seeds(30, 400):
        agrees_with_definition_and_worlds(seed, growing)


def agrees_with_definition_and_worlds(seed: int, growing: bool) -> None:
    series, _ = random_series(random.Random(seed), growing=growing)
    published = Published.from_groups(series)
    found = Channels().run(published)
    people = published.people
    assert people is not None and found.undecided == ()
    expected = {person: list(sets_of(series, person)) for person in people}
    for l in (2, 3, 4):  # noqa: E741
        few = {person for person in people if any(len(found) < l for *_, found in expected[person])}
        assert {people[number] for number in found.vulnerable(l)} == few
        judged = found.judge(Limits(diversity=l))
        beyond = few | set(found.certain)
        assert judged.status == ("beyond" if beyond else "within") and judged.count == len(beyond)
        counts = found.vulnerable_counts(l)
        for at, release in enumerate(series):
            there = {person for members, _ in release for person in members}
            now = {p for p in people if any(later == at and len(s) < l for _, later, _, s in expected[p])}
            ever = {p for p in people if any(later <= at and len(s) < l for _, later, _, s in expected[p])}
            assert counts.row(at) == (at + 1, len(there), len(now & there), len(now - there), len(ever))

    told = Counter((row[0], row[2], row[4], row[5]) for row in found.channels.rows() for _ in range(row[6]))
    assert told == Counter(
        (earlier + 1, later + 1, kind, len(one)) for p in people for earlier, later, kind, one in expected[p]
    )

    possible: dict[str, set[str]] = {person: set() for person in people}
    for world in worlds(series):
        for person, value in world.items():
            possible[person].add(value)
    for person, value in found.certain.items():
        assert possible[str(person)] == {value}
    for person, values in found.excluded.items():
        assert not possible[str(person)] & {str(value) for value in values}
    for finding in judged.findings:
        text = finding.witness.text(published)
        assert text.endswith(".") and f"So {people[finding.person]} has " in text
        if finding.value is not None:
            assert possible[people[finding.person]] == {published.values[finding.value]}


def test_the_papers_example() -> None:
    paper = worked_examples("byun-2006")
    published = Published.from_groups(byun(paper))
    found = Channels().run(published)
    assert found.certain == paper["expect"]["certain"]
    assert not {"Tom", "r2"} & found.certain.keys()
    assert found.channels.filter(distinct=2).rows() == [(1, 1, 2, 1, "both", 2, 2, 2)]
    judged = found.judge(Limits(diversity=2))
    assert (judged.status, judged.count) == ("beyond", 5)
    assert found.judge(Limits(probability=Fraction(1, 2))).status == "not asked"
    texts = {published.name(finding.person): finding.witness.text(published) for finding in judged.findings}
    assert texts["Bob"] == (
        "Bob is in release 1 group 2 and in release 2 group 2, which have only Alzheimer in common. "
        "So Bob has Alzheimer."
    )
    assert texts["r7"] == (
        "r7 is not in release 1 and is in release 2 group 3. Everybody in release 1 group 2 is in release 2 group 2 or "
        "release 2 group 3. So their values can be taken from those of release 2 group 2 and release 2 group 3. "
        "That leaves Flu for r7. So r7 has Flu."
    )


def test_somebody_known_to_wait() -> None:
    published = Published.from_groups(byun(worked_examples("byun-2006")))
    found = Channels().run(published, Knowledge(waiting={1: ["Alice"]}))
    assert found.certain["Alice"] == "Cancer"
    assert any("Alice was waiting when release 1 came out" in witness.text(published) for witness in found.witnesses)
    with pytest.raises(ParameterError) as raised:
        Channels().run(published, Knowledge(waiting={1: ["Bob"], 7: ["Alice"]}))
    assert len(raised.value.problems) == 2 and "Bob" not in str(raised.value)


def test_known_people_are_not_at_risk() -> None:
    published = Published.from_groups(byun(worked_examples("byun-2006")))
    found = Channels().run(published, Knowledge(compromised={"Bob": "Alzheimer"}))
    assert "Bob" not in found.certain and len(found.certain) == 4


def test_more_than_two_classes() -> None:
    """One class of the first release falls into three of the second."""
    series: Releases = [
        [(["p", "q", "r"], ["a", "b", "c"])],
        [(["p", "x"], ["a", "d"]), (["q", "y"], ["b", "e"]), (["r", "z"], ["c", "d"])],
    ]
    found = Channels(l=2).run(Published.from_groups(series))
    assert found.certain == {"p": "a", "q": "b", "r": "c", "x": "d", "y": "e", "z": "d"}
    assert found.judge(Limits()).count == 6


def test_who_left() -> None:
    """What is gone from the first release is the value of who left; only where members are known."""
    series: Releases = [[(["p", "q", "x"], ["a", "b", "c"])], [(["p", "q"], ["a", "b"])]]
    found = Channels().run(Published.from_groups(series))
    assert found.certain == {"x": "c"}
    assert found.vulnerable_counts(2).row(1) == (2, 2, 0, 1, 1)


def test_values_that_changed() -> None:
    series: Releases = [[(["p", "q"], ["a", "b"])], [(["p", "q"], ["c", "d"])]]
    found = Channels(l=2).run(Published.from_groups(series))
    assert found.certain == {} and found.contradictory == 2
    assert found.judge(Limits()).status == "undecided"


def test_counterfeits_are_nobody() -> None:
    values, starts, ones = np.array([0, 1]), np.array([0, 2]), np.ones(2, dtype=np.int64)
    one = PublishedGroups(1, np.array([0, -1]), starts, values, ones, starts)
    two = PublishedGroups(2, np.array([0, -1]), starts, values, ones, starts)
    three = PublishedGroups(3, np.array([0, -2]), starts, np.array([0, 2]), ones, starts)
    found = Channels(l=2).run(Published((one, two, three), ("a", "b", "c")))
    assert found.certain == {0: "a"}
    assert found.channels["people"].sum() == 3
    assert found.channels["kind"].unique().to_list() == ["both"]


# Where only regions are known


def region_release(
    rng: random.Random, number: int, people: dict[str, tuple[int, str]], sharp: bool
) -> tuple[PublishedGroups, list[list[str]]]:
    """People in order of age or nearly so, with the hull of their ages as region; and who is in which group."""
    order = sorted(people, key=lambda person: people[person][0] + (0 if sharp else rng.randint(0, 4)))
    size = rng.randint(2, 4)
    groups = [order[at : at + size] for at in range(0, len(order), size)]
    codes, counts, starts = [], [], [0]
    for group in groups:
        held = Counter(ord(people[person][1]) - ord("a") for person in group)
        codes += sorted(held)
        counts += [held[code] for code in sorted(held)]
        starts.append(len(codes))
    ages = [[people[person][0] for person in group] for group in groups]
    low, high = (np.array([end(group) for group in ages], dtype=np.float64) for end in (min, max))
    everywhere = Sets.of(["yes", "no"], [["yes", "no"]], np.zeros(len(groups), dtype=np.int64))
    return PublishedGroups(
        number,
        np.zeros(0, dtype=np.int64),
        np.zeros(len(groups) + 1, dtype=np.int64),
        np.array(codes, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        space=Regions(len(groups), {"age": Intervals.between(low, high), "other": everywhere}),
    ), groups


def region_series(rng: random.Random) -> tuple[Published, list[list[list[str]]], dict[str, tuple[int, str]]]:
    letters = "abcd"[: rng.randint(2, 4)]
    everybody = {f"p{n}": (rng.randint(20, 40), rng.choice(letters)) for n in range(14)}
    names, sharp = list(everybody), rng.random() < 0.5
    built, truth, here = [], [], rng.randint(3, 7)
    for number in range(1, rng.randint(3, 4)):
        release, groups = region_release(rng, number, {name: everybody[name] for name in names[:here]}, sharp)
        built.append(release)
        truth.append(groups)
        here = min(here + rng.randint(0, 4), len(names))
    return Published(tuple(built), tuple("abcd"), None, False), truth, everybody


def region_sets(found: ChannelsFindings, kind: str) -> Iterator[tuple[dict[str, Any], set[str]]]:
    """Rows of the table of channels, and the set behind each, worked out from the published values again."""
    published = found.published
    for row in found.channels.filter(kind=kind).iter_rows(named=True):
        one, two = published.releases[row["release_i"] - 1], published.releases[row["release_j"] - 1]
        later = slice(*two.value_starts[row["group_j"] - 1 :][:2])
        if kind == "both":
            earlier = slice(*one.value_starts[row["group_i"] - 1 :][:2])
            values = set(one.values[earlier].tolist()) & set(two.values[later].tolist())
        else:
            compared = next(
                c for c in found.comparisons if (c.earlier + 1, c.later + 1) == (row["release_i"], row["release_j"])
            )
            assert compared.new is not None
            values = set(two.values[later][compared.new.amounts[later] > 0].tolist())
        assert len(values) == row["distinct"]
        yield row, {str(published.values[value]) for value in values}


def test_regions_never_say_what_is_not_so() -> None:
    for seed in range(120):
        regions_say_what_is_so(seed)


def regions_say_what_is_so(seed: int) -> None:
    """The sets contain the values of those they are about, and they are as many as is said."""
    rng = random.Random(seed)
    published, truth, everybody = region_series(rng)
    growing = rng.choice([None, True])
    found = Channels().run(published, Knowledge(growing=growing))
    new = {}
    for row, values in region_sets(found, "both"):
        first = truth[row["release_i"] - 1][row["group_i"] - 1]
        both = [person for person in first if person in truth[row["release_j"] - 1][row["group_j"] - 1]]
        assert all(everybody[person][1] in values for person in both)
        assert row["people_least"] <= len(both) <= row["people"]
    for row, values in region_sets(found, "new"):
        before = {person for group in truth[row["release_i"] - 1] for person in group}
        fresh = [person for person in truth[row["release_j"] - 1][row["group_j"] - 1] if person not in before]
        assert all(everybody[person][1] in values for person in fresh)
        assert row["people_least"] <= len(fresh) <= row["people"]
        new[row["release_i"], row["release_j"], row["group_j"]] = values
    # Whoever is new is covered by a set.
    for later, groups in enumerate(truth):
        for earlier in range(later):
            before = {person for group in truth[earlier] for person in group}
            for at, group in enumerate(groups):
                assert not set(group) - before or (earlier + 1, later + 1, at + 1) in new
    assert found.certain == {}
    assert "nobody leaves" in found.searched[1] if growing else "nobody said" in found.undecided[0]
    judged = found.judge(Limits(diversity=2))
    few = found.channels.filter(distinct=1)
    sure = bool(growing) and (few["people_least"] > 0).any()
    status = "beyond" if sure else "undecided" if few.height else "within"
    # What a group tells alone is no finding of a comparison, unless it is proven that there is somebody.
    shown = {
        (one.number, at + 1): one.values_of(at)[0].size for one in published.releases for at in range(one.group_count)
    }
    compared = [
        row
        for row in few.iter_rows(named=True)
        if shown[row["release_j"], row["group_j"]] > 1
        and (row["kind"] == "new" or shown[row["release_i"], row["group_i"]] > 1)
    ]
    assert judged.status == status and judged.count == (few.height if sure else len(compared))
    for finding in judged.findings:
        assert finding.people == () and finding.witness.text(published)
    exposed: dict[int, set[str]] = {at: set() for at in range(1, len(truth) + 1)}
    for row, _ in region_sets(found, "both"):
        if row["distinct"] < 2:
            first = set(truth[row["release_i"] - 1][row["group_i"] - 1])
            exposed[row["release_j"]] |= first & set(truth[row["release_j"] - 1][row["group_j"] - 1])
    for release, records, vulnerable, gone, cumulative in found.vulnerable_counts(2).rows():
        assert len(exposed[release]) <= vulnerable <= records and gone is cumulative is None


def test_the_papers_example_by_regions() -> None:
    paper = worked_examples("byun-2006")
    values = sorted({value for release in byun(paper) for _, shown in release for value in shown})
    built = []
    for number, table in enumerate(("T0", "T1"), start=1):
        groups = paper["published"][table]
        low, high = (np.array([region["age"][end] for _, region, _ in groups], dtype=np.float64) for end in (0, 1))
        genders = [region["gender"] for _, region, _ in groups]
        which = np.arange(len(groups))
        built.append(
            PublishedGroups(
                number,
                np.zeros(0, dtype=np.int64),
                np.zeros(len(groups) + 1, dtype=np.int64),
                np.array([code for *_, shown in groups for code in sorted(values.index(value) for value in shown)]),
                np.ones(sum(len(shown) for *_, shown in groups), dtype=np.int64),
                np.cumsum([0, *(len(shown) for *_, shown in groups)]),
                space=Regions(
                    len(groups),
                    {"age": Intervals.between(low, high), "gender": Sets.of(["Male", "Female"], genders, which)},
                ),
            )
        )
    published = Published(tuple(built), tuple(values), None, False)
    found = Channels(l=2).run(published, Knowledge(growing=True))
    assert found.channels.rows() == [
        (1, 1, 2, 1, "both", 2, 2, 2),
        (1, 2, 2, 2, "both", 1, 1, 1),
        (1, 2, 2, 3, "both", 1, 1, 1),
        (1, None, 2, 1, "new", 1, 1, 1),
        (1, 2, 2, 2, "new", 1, 1, 1),
        (1, 2, 2, 3, "new", 1, 1, 1),
    ]
    judged = found.judge(Limits())
    assert (judged.status, judged.count) == ("beyond", 5)
    assert found.vulnerable_counts(2).row(1) == (2, 7, 5, None, None)
    assert judged.findings[0].witness.text(published) == (
        "Whoever is in release 1 group 2 and in release 2 group 2 has Alzheimer. That is at least 1 person."
    )
    supposed = Channels(l=2).run(published)
    assert supposed.channels.equals(found.channels)
    assert supposed.judge(Limits()).status == "undecided"
    assert "if nobody who is in a release is missing from a later one" in supposed.judge(Limits()).words
    leaving = Channels(l=2).run(published, Knowledge(growing=False))
    assert leaving.channels["kind"].unique().to_list() == ["both"]
    assert leaving.judge(Limits()).status == "undecided"
    turned = Published((replaced(built[1], 1), replaced(built[0], 2)), tuple(values), None, False)
    shrunk = Channels(l=2).run(turned)
    assert "fewer rows" in shrunk.undecided[1] and shrunk.channels["kind"].unique().to_list() == ["both"]


def replaced(release: PublishedGroups, number: int) -> PublishedGroups:
    return PublishedGroups(
        number, release.members, release.member_starts, release.values, release.counts, release.value_starts,
        space=release.space,
    )  # fmt: skip


def test_possible_members_are_compared_by_who_may_be_in_them() -> None:
    """Person 0 is certainly in both; 1 and 2 may be in either class of the first release."""
    ones = np.ones(4, dtype=np.int64)
    one = PublishedGroups(
        1, np.array([0, 1, 2, 1, 2, 3]), np.array([0, 3, 6]), np.array([0, 1, 2, 3]), ones, np.array([0, 2, 4]),
        sure=np.array([True, False, False, False, False, True]),
    )  # fmt: skip
    two = PublishedGroups(
        2, np.array([0, 4, 1, 2, 3]), np.array([0, 2, 5]), np.array([0, 4, 1, 2, 3]),
        np.ones(5, dtype=np.int64), np.array([0, 2, 5]),
    )  # fmt: skip
    assert Channels(l=2).run(Published((one, two), tuple("abcde"))).certain == {0: "a"}
    found = Channels(l=2).run(Published((one, two), tuple("abcde")), Knowledge(growing=True))
    # Nobody leaves: 4 is listed nowhere in the first release, and the component has only e that is not in it.
    assert found.certain == {0: "a", 4: "e"}
    assert found.judge(Limits()).status == "beyond"
    listed = PublishedGroups(
        1, np.array([0, 4, 1, 2, 1, 2, 3]), np.array([0, 4, 7]), np.array([0, 1, 2, 3]), ones, np.array([0, 2, 4]),
        sure=np.array([True, False, False, False, False, False, True]),
    )  # fmt: skip
    assert Channels().run(Published((listed, two), tuple("abcde"))).certain == {0: "a"}
    waits = Channels().run(Published((listed, two), tuple("abcde")), Knowledge(waiting={1: [4]}, growing=True))
    assert waits.certain == {0: "a", 4: "e"}


class Clock:
    """A clock that goes on by a second whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0

    def monotonic(self) -> int:
        self.now += 1
        return self.now


@pytest.mark.parametrize(("leak", "status"), [(0, "beyond"), (1, "beyond"), (3, "undecided")])
def test_what_there_was_no_time_for_is_said(leak: int, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six pairs of four releases the first three are compared: those of the first three releases."""
    safe: list[Group] = [(["p", "q"], ["a", "b"]), (["r", "s"], ["a", "b"])]
    series: Releases = [safe, safe, safe, safe]
    series[leak] = [(["p", "r"], ["a", "a"]), (["q", "s"], ["b", "b"])]
    published = Published.from_groups(series)
    for seconds, late in ((None, 0), (100, 0), (8, 3)):
        clock = Clock()
        monkeypatch.setattr(budget, "time", clock)
        found = Channels(l=2, seconds=seconds).run(published)
        assert len(found.comparisons) == 6 - late
        assert found.undecided == (("3 pairs of releases: the time ran out before they were compared",) * bool(late))
        judged = found.judge(Limits())
        assert judged.status == (status if late else "beyond")
        assert "3 pairs" in judged.words or judged.status == "beyond"


def test_what_is_kept_of_all_comparisons_takes_little_memory() -> None:
    """A series of many releases has very many pairs of them, and all are kept until the attack is over."""
    rng = random.Random(6)
    values = [rng.choice("abcd") for _ in range(300)]
    series: Releases = []
    for _ in range(4):
        people = rng.sample(range(300), 300)
        groups = [people[at : at + 3] for at in range(0, 300, 3)]
        series.append([([f"p{one}" for one in group], [values[one] for one in group]) for group in groups])
    found = Channels(l=2).run(Published.from_groups(series))
    for compared in found.comparisons:
        kept = [*vars(compared).values(), *vars(compared.new).values(), *vars(compared.gone).values()]
        arrays = [one for one in kept if isinstance(one, np.ndarray)]
        # A byte for each number of a pair, of a class or of a value of a class: in int64 it would be eight times that.
        numbers = 6 * compared.first.size + 2 * 100 + 2 * (5 * 100 + 300)
        assert sum(one.nbytes for one in arrays) <= numbers


def test_parameters() -> None:
    with pytest.raises(ParameterError, match=r"'l' parameter of Channels must be .* Got 0 instead\."):
        Channels(l=0)
    with pytest.raises(ParameterError, match=r"'seconds' parameter of Channels must be .* Got 0 instead\."):
        Channels(seconds=0)
    with pytest.raises(ParameterError, match="exactly one value"):
        Channels().run(Published.from_groups([[(["x"], ["a", "b"])]], single=False))
    with pytest.raises(ParameterError, match="at most"):
        Channels().run(Published.from_groups([[(["x"], ["a"]), (["x"], ["b"])]]))
    assert Channels(l=2).run(Published.from_groups([[(["x"], ["a"])]])).judge(Limits()).status == "within"


def test_growth_that_is_none_is_refused() -> None:
    one = Published.from_groups([[(["a", "b"], ["x", "y"])], [(["a", "c"], ["x", "z"])]])
    with pytest.raises(ParameterError, match="Somebody left"):
        Channels().run(one, Knowledge(growing=True))
    assert Channels().run(one, Knowledge(growing=None)).certain
    more = Published.from_groups([[(["a", "b"], ["x", "y"])], [(["a", "b", "c"], ["x", "y", "z"])]])
    assert Channels().run(more, Knowledge(growing=True)).certain == {"c": "z"}
