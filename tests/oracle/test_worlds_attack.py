"""The Worlds attack against every possible world of a few people, and on the papers' examples."""

from __future__ import annotations

import random
import time
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from profiles import seeds
from worked_examples import worked_examples
from worlds import worlds

from reissue.attacks.base import Limits
from reissue.attacks.worlds.worlds import Worlds, WorldsFindings
from reissue.errors import ParameterError
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published, PublishedGroups

Releases = list[list[tuple[list[str], list[object]]]]


def random_series(rng: random.Random, people: int = 8, values: int = 4) -> Releases:
    """Random partitions of those present; often the groups of a release are those before, joined or cut.

    Half of them are such that flows in single groups leave much open: two groups each time, few values.
    """
    tangled = people > 5 and rng.random() < 0.5
    names = [f"p{at}" for at in range(people if tangled else rng.randint(1, people))]
    kinds = rng.randint(2, 3 if tangled else values)
    owned: dict[str, object] = {name: "abcd"[rng.randrange(kinds)] for name in names}
    built: Releases = []
    for _ in range(rng.randint(2, 3) if tangled else rng.randint(1, 4)):
        present = [name for name in names if tangled or rng.random() < 0.8]
        if built and not tangled and rng.random() < 0.4:
            groups = [[name for name in members if name in present] for members, _ in built[-1]]
            new = [name for name in present if not any(name in members for members in groups)]
            groups = [*groups, new]
            if rng.random() < 0.5 and len(groups) > 1:
                groups = [groups[0] + groups[1], *groups[2:]]
        else:
            rng.shuffle(present)
            groups = []
            while present:
                size = rng.randint(3, 5) if tangled and len(present) == people else rng.randint(1, len(present))
                size = len(present) if tangled and len(present) < people else size
                groups.append(present[:size])
                present = present[size:]
        built.append([(members, [owned[name] for name in members]) for members in groups if members])
    return built


def agrees(found: WorldsFindings, every: list[dict[str, object]], known: dict[str, object]) -> Counter[str]:
    """Hold everything that was found against all worlds; return how often each kind of figure occurred."""
    kinds: Counter[str] = Counter()
    rows = {(row["person"], row["value"]): row for row in found.posteriors.iter_rows(named=True)}
    for name in every[0]:
        for value in map(str, found.published.values):
            truth = Fraction(sum(world[name] == value for world in every), len(every))
            row = rows.get((name, value))
            if row is None:
                assert truth == 0
                continue
            kinds[row["kind"]] += 1
            assert row["low"] - 1e-12 <= truth <= row["high"] + 1e-12
            if row["kind"] == "exact":
                assert Fraction(row["fraction"]) == truth
                assert found.probability(name, value) == truth
            elif row["kind"] == "sampled":
                assert abs(row["probability"] - truth) <= 4 * row["standard_error"] + 1e-9
            else:
                assert row["probability"] == row["high"]
    for person, value in found.certain.items():
        assert all(world[str(person)] == value for world in every)
        assert person not in known
    for person, values in found.excluded.items():
        assert not any(world[str(person)] in values for world in every)
    return kinds


def told_truly(found: WorldsFindings, releases: Releases, known: dict[str, object]) -> None:
    """The groups that a witness names are enough: in their worlds nothing else is possible."""
    for person in found.certain_people.tolist():
        witness = found._explainer.certain(person)
        places = found._explainer._core(person)
        if not places:
            assert "no short derivation" in witness.text(found.published)
            continue
        few: Releases = [[releases[at][group]] for at, group in places]
        assert found.published.people is not None
        name = found.published.people[person]
        inside = {other for release in few for members, _ in release for other in members}
        possible = {world[name] for world in worlds(few, {n: v for n, v in known.items() if n in inside})}
        assert possible == {found.certain[name]}
        assert name in witness.text(found.published)


@pytest.mark.parametrize("seed", seeds(1, 10))
def test_every_figure_agrees_with_all_worlds(seed: int) -> None:
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    counted = 0
    for at in range(150):
        releases = random_series(rng)
        if not any(releases):
            continue
        truth = list(worlds(releases))
        names = sorted(truth[0])
        world = truth[rng.randrange(len(truth))]
        known = {name: world[name] for name in rng.sample(names, rng.choice([0, 0, 1, min(2, len(names))]))}
        found = Worlds().run(Published.from_groups(releases), Knowledge(compromised=known))
        left = [each for each in truth if all(each[name] == value for name, value in known.items())]
        kinds += agrees(found, left, known)
        counted += "counted" in found.found.told
        if at % 5 == 0:
            told_truly(found, releases, known)
    assert kinds["exact"] > 500
    assert counted > 15
    assert kinds.keys() == {"exact"}


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_bounds_and_samples_agree_with_all_worlds(seed: int) -> None:
    """With next to no tables allowed, what cannot be counted is sampled or bounded."""
    rng = random.Random(100 + seed)
    kinds: Counter[str] = Counter()
    for at in range(80):
        releases = random_series(rng)
        if not any(releases):
            continue
        attack = Worlds(entries=1, draws=2000 if at % 2 else 0)
        kinds += agrees(attack.run(Published.from_groups(releases)), list(worlds(releases)), {})
    assert kinds["sampled"] > 20
    assert kinds["bounded"] > 20


def test_he_value_association() -> None:
    story = worked_examples("he-2011")["attacks"][0]
    found = Worlds().run(Published.from_groups(story["series"]))
    expected = story["expect"]
    assert found.certain == expected["certain"]
    for person, shares in expected["posterior"].items():
        for value, share in shares.items():
            assert found.probability(person, value) == Fraction(share)
    text = found._explainer.certain(0).text(found.published)
    assert text == (
        "Alice is in release 1 group 1, which shows cancer and flu, and in release 2 group 1, which shows cancer and "
        "measles: only cancer is in both."
    )


def test_he_m_invariant_series_is_within_by_symmetry() -> None:
    story = worked_examples("he-2011")["attacks"][1]
    found = Worlds().run(Published.from_groups(story["series"]))
    assert found.judge(Limits(probability=Fraction(1, 2))).status == "within"
    assert found.judge(Limits(probability=Fraction(49, 100))).status == "beyond"
    assert found.found.told["by symmetry"] == found.found.people.size


def test_byun_example() -> None:
    story = worked_examples("byun-2006")
    series = [[(group[0], group[2]) for group in story["published"][name]] for name in ("T0", "T1")]
    found = Worlds().run(Published.from_groups(series))
    assert found.certain == story["expect"]["certain"]
    assert found.probability("Tom", "Asthma") == found.probability("r2", "Flu") == Fraction(1, 2)
    alice = found.published.people.index("Alice") if found.published.people else -1
    text = found._explainer.certain(alice).text(found.published)
    assert "release 1 group 1 holds Tom and r2" in text
    assert text.endswith("Together they leave Alice no value but Cancer.")
    hidden = found._explainer.certain(alice).text(found.published, name=lambda number: "X", show_values=False)
    assert "Cancer" not in hidden
    assert "Alice" not in hidden


def test_riboni_example() -> None:
    story = worked_examples("riboni-2009")
    view = Published.from_groups(story["series"])
    free = Worlds().run(view)
    assert free.certain == {}
    assert set(free.posteriors["fraction"]) == {"1/3"}
    expected = story["expect"]["with_compromised"]
    found = Worlds().run(view, Knowledge(compromised=expected["known"]))
    assert found.certain == expected["certain"]
    left: dict[str, list[str]] = {}
    for row in found.posteriors.sort("value").iter_rows(named=True):
        left.setdefault(row["person"], []).append(row["value"])
    for person, values in expected["restricted"].items():
        assert left[person] == sorted(values)
        assert found.excluded[person] == ["AIDS"]


def test_a_known_neighbour_is_told() -> None:
    view = Published.from_groups([[(["Alice", "Bob"], ["cancer", "flu"])], [(["Alice", "Greg"], ["cancer", "flu"])]])
    found = Worlds().run(view, Knowledge(compromised={"Bob": "flu"}))
    assert [found._explainer.certain(person).text(view) for person in (0, 2)] == [
        "release 1 group 1 holds Alice and Bob; its values are cancer and flu. Bob is known to have flu. Together they "
        "leave Alice no value but cancer.",
        "release 1 group 1 holds Alice and Bob; its values are cancer and flu. release 2 group 1 holds Alice and Greg; "
        "its values are cancer and flu. Bob is known to have flu. Together they leave Greg no value but flu.",
    ]
    hidden = found._explainer.certain(0).text(view, show_values=False)
    assert "Bob is known to have a certain value." in hidden


def test_judgement_of_a_leak() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"])], [(["A", "C"], ["x", "z"])]])
    found = Worlds().run(view)
    judged = found.judge(Limits(probability=Fraction(1, 2)))
    assert (judged.status, judged.count) == ("beyond", 3)
    assert [finding.person for finding in judged.findings] == [0, 1, 2]
    assert all(finding.kind == "exact" and finding.probability == 1 for finding in judged.findings)
    assert [finding.release for finding in judged.findings] == [2, 2, 2]
    assert found.judge(Limits()).status == "not asked"


def test_undecided_is_said() -> None:
    """Propagation alone cannot bound these; without counting and sampling it must not claim anything."""
    rng = random.Random(5)
    statuses = Counter()
    for _ in range(200):
        releases = random_series(rng)
        if not any(releases):
            continue
        every = list(worlds(releases))
        found = Worlds(entries=1, draws=0).run(Published.from_groups(releases))
        limit = rng.choice([Fraction(1, 4), Fraction(2, 3), Fraction(3, 4), Fraction(9, 10)])
        judged = found.judge(Limits(probability=limit), most=0)
        statuses[judged.status] += 1
        highest = max(
            Fraction(sum(world[name] == value for world in every), len(every))
            for name in every[0]
            for value in map(str, found.published.values)
        )
        if judged.status == "within":
            assert highest <= limit
        elif judged.status == "beyond":
            assert highest > limit
    assert min(statuses["within"], statuses["beyond"], statuses["undecided"]) > 5


def test_a_part_that_contradicts_itself_does_not_spoil_the_others() -> None:
    releases: Releases = [
        [(["A", "B"], ["x", "y"]), (["C", "D"], ["x", "y"]), (["E", "F"], ["x", "z"]), (["P", "Q"], ["x", "y"])],
        [(["A", "B"], ["x", "x"]), (["C", "G"], ["x", "z"]), (["E", "F"], ["z", "z"]), (["P", "R"], ["x", "y"])],
    ]
    found = Worlds().run(Published.from_groups(releases))
    assert found.certain == {"C": "x", "D": "y", "G": "z"}
    assert found.probability("P", "x") == Fraction(1, 2)
    assert found.found.told["contradictory"] == 4
    assert "4 people in groups that contradict each other" in found.undecided[0]
    assert {row["kind"] for row in found.posteriors.iter_rows(named=True) if row["person"] in "ABEF"} == {"bounded"}
    assert found.judge(Limits(probability=Fraction(1))).status == "within"
    # C, D and G are certain; A and B show x twice in release 2, E and F z twice.
    assert found.judge(Limits(probability=Fraction(1, 2)), most=3).count == 7


def test_more_figures_than_memory_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """40,000 people in groups of two who change among 20,000 values would take 400 million figures: 25 GB and more."""
    releases: Releases = [
        [(["A", "B"], ["x", "y"]), (["C", "D"], ["z", "w"])],
        [(["A", "C"], ["u", "v"]), (["B", "D"], ["x", "w"])],
    ]
    assert Worlds().run(Published.from_groups(releases)).found.told["contradictory"] == 4
    monkeypatch.setattr("reissue.reasoning.worlds.posteriors.FIGURES", 11)  # at most 4 units with 6 values each
    with pytest.raises(ParameterError, match="4 people are in groups that contradict each other, and any of 6 values"):
        Worlds().run(Published.from_groups(releases))


def test_where_values_changed_each_release_still_counts_alone() -> None:
    releases: Releases = [[(["A", "B", "C"], ["x", "x", "y"])], [(["A", "B", "C"], ["x", "y", "y"])]]
    found = Worlds().run(Published.from_groups(releases))
    assert found.certain == {}
    judged = found.judge(Limits(probability=Fraction(1, 2)))
    assert (judged.status, judged.count) == ("beyond", 3)
    assert {(finding.kind, finding.probability) for finding in judged.findings} == {("bounded", 2 / 3)}
    assert {finding.release for finding in judged.findings} == {1}
    assert (
        judged.findings[0]
        .witness.text(found.published)
        .endswith(
            "so each is taken alone: of the rows of release 1 group 1, where 0.667 of all have x, one is that of A."
        )
    )
    assert found.judge(Limits(probability=Fraction(2, 3))).status == "undecided"


def test_missing_numbers_are_one_value() -> None:
    view = Published.from_groups([[(["A", "B"], [float("nan"), float("nan")])]])
    assert view.values == (None,)
    assert Worlds().run(view).certain == {"A": None, "B": None}


def test_a_group_of_one_value_betrays_whoever_is_in_it() -> None:
    """Ten people may be in a group of two: nobody is certain to be in it, but whoever is has its value."""
    groups = PublishedGroups(
        1, np.arange(10), np.array([0, 10]), np.array([0]), np.array([2]), np.array([0, 1]),
        sure=np.zeros(10, dtype=bool), present=np.zeros(0, dtype=np.int64),
    )  # fmt: skip
    found = Worlds().run(Published((groups,), ("flu",)))
    assert found.certain == {}
    assert found.probability(3, "flu") == Fraction(1, 5)
    judged = found.judge(Limits(probability=Fraction(1, 2)))
    assert (judged.status, judged.count) == ("beyond", 10)
    text = judged.findings[0].witness.text(found.published)
    assert "may hold person 0" in text
    assert "Suppose that person 0 is in one of the releases." in text


def test_the_time_is_kept() -> None:
    """A tangle that cannot be counted or sampled: the search for it ends when the time does."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 8, 90)
    releases: Releases = []
    for _ in range(4):
        parts = np.array_split(rng.permutation(90), 4)
        releases.append([([f"p{n}" for n in part], [f"v{values[n]}" for n in part]) for part in parts])
    began = time.monotonic()
    found = Worlds(seconds=1).run(Published.from_groups(releases))
    # Far from the minutes it would take; a busy machine and compiling may double or treble it.
    assert time.monotonic() - began < 60
    assert found.judge(Limits(probability=Fraction(1, 100))).status == "undecided"


def test_members_in_two_places_are_refused() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"]), (["A"], ["x"])]])
    with pytest.raises(ParameterError, match="one group of a release"):
        Worlds().run(view)


def test_members_that_are_not_certain_agree_with_all_worlds() -> None:
    """Worlds then also say who is where; a person may be in no release at all."""
    from dataclasses import replace

    rng = random.Random(9)
    looked_at = 0
    for _ in range(250):
        releases = random_series(rng, people=4, values=3)[:2]
        if not all(releases):
            continue
        view = Published.from_groups(releases)
        extra = len(view.people or ())
        changed = []
        lists: list[tuple[list[list[int]], list[list[bool]], list[Counter[int]], set[int]]] = []
        for release in view.releases:
            members = np.split(release.members, release.member_starts[1:-1])
            listed = [list(map(int, some)) for some in members]
            sure = [[rng.random() < 0.6 for _ in some] for some in listed]
            # Somebody who may be in any group, and some of the others listed once more.
            for at, some in enumerate(listed):
                for person in {extra, *(p for other in listed for p in other)}:
                    certain = any(
                        p == person and s for o, f in zip(listed, sure, strict=True) for p, s in zip(o, f, strict=True)
                    )
                    if person not in some and not certain and rng.random() < 0.3:
                        some.append(person)
                        sure[at].append(False)
            unsure = {p for o, f in zip(listed, sure, strict=True) for p, s in zip(o, f, strict=True) if not s}
            present = {person for person in unsure if rng.random() < 0.3}
            counts = [
                Counter(dict(zip(v.tolist(), c.tolist(), strict=True)))
                for v, c in zip(
                    np.split(release.values, release.value_starts[1:-1]),
                    np.split(release.counts, release.value_starts[1:-1]),
                    strict=True,
                )
            ]
            lists.append((listed, sure, counts, present))
            changed.append(
                replace(
                    release,
                    members=np.array([p for some in listed for p in some], dtype=np.int64),
                    member_starts=np.cumsum([0, *(len(some) for some in listed)]),
                    sure=np.array([s for some in sure for s in some], dtype=bool),
                    present=np.array(sorted(present), dtype=np.int64),
                )
            )
        unsure_view = Published(tuple(changed), view.values, people=(*(view.people or ()), "extra"))
        tally = brute_unsure(lists, extra + 1, len(view.values))
        if not tally:
            with pytest.raises(ParameterError, match="No world agrees"):
                Worlds().run(unsure_view)
            continue
        found = Worlds().run(unsure_view)
        total = sum(tally.values())
        highest = Fraction(0)
        for person, name in enumerate(unsure_view.people or ()):
            if not any(person in some for listed, *_ in lists for some in listed):
                continue
            shares = [
                Fraction(sum(n for world, n in tally.items() if world[person] == code), total)
                for code in range(len(view.values))
            ]
            assert [found.probability(name, value) for value in view.values] == shares
            assert (name in found.certain) == (max(shares) == 1)
            if sum(shares):
                highest = max(highest, max(shares) / sum(shares))
        # The judgement is for people who are known to be there.
        for limit in (highest, highest - Fraction(1, 1000)):
            judged = found.judge(Limits(probability=limit), most=2)
            assert judged.status == ("within" if limit == highest else "beyond")
            assert all(finding.witness.text(unsure_view) for finding in judged.findings)
        bounds = Worlds(entries=1, draws=0).run(unsure_view).posteriors
        for row in bounds.iter_rows(named=True):
            person = (unsure_view.people or ()).index(row["person"])
            code = view.values.index(row["value"])
            truth = Fraction(sum(n for world, n in tally.items() if world[person] == code), total)
            assert row["low"] - 1e-12 <= truth <= row["high"] + 1e-12
        looked_at += 1
    assert looked_at > 60


def brute_unsure(
    lists: list[tuple[list[list[int]], list[list[bool]], list[Counter[int]], set[int]]], people: int, values: int
) -> Counter[tuple[int, ...]]:
    """For each assignment of values (-1: in no release) in how many worlds it occurs."""
    options: list[list[list[int]]] = []
    for listed, sure, _, present in lists:
        of_release = []
        for person in range(people):
            certain = [
                g for g, some in enumerate(listed) for p, s in zip(some, sure[g], strict=True) if p == person and s
            ]
            maybe = [
                g for g, some in enumerate(listed) for p, s in zip(some, sure[g], strict=True) if p == person and not s
            ]
            if certain:
                of_release.append(certain)
            else:
                of_release.append(maybe if person in present else [*maybe, -1])
        options.append(of_release)
    tally: Counter[tuple[int, ...]] = Counter()
    for places in product(*(product(*of_release) for of_release in options)):
        inside = [any(where[person] >= 0 for where in places) for person in range(people)]
        choices = [range(values) if there else [-1] for there in inside]
        for world in product(*choices):
            if all(
                Counter(world[p] for p in range(people) if where[p] == g) == counts[g]
                for where, (_, _, counts, _) in zip(places, lists, strict=True)
                for g in range(len(counts))
            ):
                tally[world] += 1
    return tally
