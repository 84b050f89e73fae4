"""Worlds with values that change, against every course of values of small series."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from courses import by_force, changed, changing_series, least_changes
from profiles import seeds
from worlds import view, worlds

from reissue import Knowledge, ValueChange
from reissue.attacks.worlds.worlds import Worlds, WorldsFindings
from reissue.attacks.worlds.worlds_changing import ChangingFindings
from reissue.reasoning.worlds import changing_worlds as searching
from reissue.reasoning.worlds.change_program import IMPOSSIBLE, POSSIBLE

FOLLOWS: dict[str, list[str]] = {"a": ["b"], "c": []}


def attacked(series: Any, change: ValueChange, **known: Any) -> ChangingFindings:
    published = view(series, ["a", "b", "c"])
    found = Worlds(seconds=None).run(published, Knowledge(change=change, **known))
    assert isinstance(found, ChangingFindings)
    return found


def told(found: ChangingFindings) -> dict[tuple[int, int], dict[str, Fraction]]:
    """The exact posteriors, by person and release counted from 0."""
    table: dict[tuple[int, int], dict[str, Fraction]] = {}
    for row in found.posteriors.iter_rows(named=True):
        assert row["kind"] == "exact"
        table.setdefault((row["person"], row["release"] - 1), {})[row["value"]] = Fraction(row["fraction"])
    return {place: {value: chance for value, chance in held.items() if chance} for place, held in table.items()}


def sure(expected: dict[tuple[int, int], dict[str, Fraction]]) -> set[tuple[int, int, str]]:
    return {(who, at, next(iter(held))) for (who, at), held in expected.items() if len(held) == 1}


def claims(found: ChangingFindings) -> set[tuple[int, int, str]]:
    rows = found.certain_values.iter_rows()
    return {(who, release - 1, str(found.published.values[value])) for who, release, value in rows}


@pytest.mark.parametrize("seed", seeds(12, 200))
@pytest.mark.parametrize("people", [None, 0, 1, 2])
@pytest.mark.parametrize("follows", [None, FOLLOWS])
def test_every_figure_is_that_of_all_courses(seed: int, people: int | None, follows: Any) -> None:
    series, _ = changing_series(random.Random(seed))
    expected = by_force(series, people=people, follows=follows)
    found = attacked(series, ValueChange(people=people, follows=follows))
    assert found.refuted == (not expected)
    if expected:
        assert told(found) == expected
        assert claims(found) == sure(expected)
        assert set(found.certain) == {who for who, _, _ in sure(expected)}
    else:
        assert not found.certain and not found.posteriors.height


@pytest.mark.parametrize("seed", seeds(8, 100))
@pytest.mark.parametrize("people", [None, 1])
@pytest.mark.parametrize("follows", [None, FOLLOWS])
def test_a_rate_weighs_courses(seed: int, people: int | None, follows: Any) -> None:
    series, _ = changing_series(random.Random(1000 + seed))
    expected = by_force(series, people=people, rate=Fraction(1, 50), follows=follows)
    found = attacked(series, ValueChange(people=people, rate=0.02, follows=follows))
    assert found.refuted == (not expected)
    if expected:
        assert told(found) == expected
        assert claims(found) == sure(by_force(series, people=people, follows=follows))


@pytest.mark.parametrize("seed", seeds(10, 100))
@pytest.mark.parametrize("follows", [None, FOLLOWS])
def test_what_is_known_is_of_the_last_release(seed: int, follows: Any) -> None:
    series, truth = changing_series(random.Random(2000 + seed))
    last = {who: value for (who, _), value in sorted(truth.items())}
    known = {who: last[who] for who in list(last)[:2]}
    for people in (None, 2):
        expected = by_force(series, people=people, follows=follows, known=known)
        found = attacked(series, ValueChange(people=people, follows=follows), compromised=known)
        assert found.refuted == (not expected)
        if expected:
            assert told(found) == expected
            assert not {who for who, _, _ in claims(found)} & known.keys()


@pytest.mark.parametrize("seed", seeds(15, 200))
@pytest.mark.parametrize("people", [None, 1, 2, 3])
@pytest.mark.parametrize("follows", [None, FOLLOWS])
def test_programs_say_the_same_where_nothing_is_counted(
    seed: int, people: int | None, follows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "COUNTED_PEOPLE", 0)
    series, _ = changing_series(random.Random(3000 + seed), people=6)
    expected = by_force(series, people=people, follows=follows)
    found = attacked(series, ValueChange(people=people, follows=follows))
    assert found.refuted == (not expected)
    if not expected:
        return
    assert claims(found) <= sure(expected)
    courses = found.courses
    undecided = 0
    for who, one in zip(courses.people.tolist(), courses.of_class.tolist(), strict=True):
        for slot in range(*courses.class_starts[one : one + 2].tolist()):
            held = expected[who, int(courses.position[slot])]
            for entry in range(*courses.starts[slot : slot + 2].tolist()):
                value = str(found.published.values[courses.value[entry]])
                low, high = found.figures.low[entry], found.figures.high[entry]
                assert low - 1e-12 <= held.get(value, 0) <= high + 1e-12
                undecided += found.possible[entry] not in (POSSIBLE, IMPOSSIBLE)
                assert found.possible[entry] != IMPOSSIBLE or value not in held
                assert found.possible[entry] != POSSIBLE or value in held
    assert undecided == 0
    assert claims(found) == sure(expected)


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_the_least_number_of_changes(seed: int) -> None:
    series, truth = changing_series(random.Random(4000 + seed), change=0.4)
    found = attacked(series, ValueChange())
    assert found.least.low == found.least.high == least_changes(series) <= changed(truth)
    assert attacked(series, ValueChange(people=found.least.low)).refuted is False
    if found.least.low:
        refuted = attacked(series, ValueChange(people=found.least.low - 1))
        assert refuted.refuted and refuted.certain == {} and refuted.undecided[0].startswith("The model is refuted")


@pytest.mark.parametrize("counted", [0, 60])
def test_somebody_who_was_away_may_have_had_another_value_between(
    counted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "COUNTED_PEOPLE", counted)
    # Person 0 is in releases 1 and 3, person 1 in all: a, then b, then c is two steps; a, then c is not one.
    series = [[([0], ["a"]), ([1], ["b"])], [([1], ["b"])], [([0, 1], ["b", "c"])]]
    follows = {"a": ["b"], "b": ["c"], "c": []}
    expected = by_force(series, follows=follows)
    found = attacked(series, ValueChange(follows=follows))
    assert expected[0, 2].keys() == {"b", "c"} and expected[1, 2].keys() == {"b", "c"}
    assert claims(found) == sure(expected) == {(0, 0, "a"), (1, 0, "b"), (1, 1, "b")}
    near = [series[0], series[2]]
    assert claims(attacked(near, ValueChange(follows=follows))) == sure(by_force(near, follows=follows))
    assert sure(by_force(near, follows=follows)) == {(0, 0, "a"), (0, 1, "b"), (1, 0, "b"), (1, 1, "c")}
    # What lies between may be a value that no release shows.
    hidden = {"a": ["x"], "x": ["c"], "b": ["b", "c"], "c": []}
    found = attacked([[([0], ["a"])], [([1], ["b"])], [([0, 1], ["b", "c"])]], ValueChange(rate=0.1, follows=hidden))
    assert not found.refuted and (0, 2, "c") in claims(found)


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_nobody_changes_is_static(seed: int) -> None:
    series, _ = changing_series(random.Random(5000 + seed), change=0.0)
    published = view(series, ["a", "b", "c"])
    static = Worlds(seconds=None).run(published)
    assert isinstance(static, WorldsFindings)
    found = attacked(series, ValueChange(people=0))
    assert found.certain == static.certain
    all_worlds = list(worlds(series))
    for (who, at), held in told(found).items():
        for value in "abc":
            expected = Fraction(sum(world[who] == value for world in all_worlds), len(all_worlds))
            assert held.get(value, 0) == expected == static.probability(who, value)
            assert found.probability(who, value, at + 1) == expected


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_freely_is_each_release_alone(seed: int) -> None:
    series, _ = changing_series(random.Random(6000 + seed))
    expected = {
        (who, at): {value: Fraction(values.count(value), len(values)) for value in set(values)}
        for at, release in enumerate(series)
        for members, values in release
        for who in members
    }
    assert told(attacked(series, ValueChange())) == expected


@pytest.mark.parametrize("seed", seeds(10, 100))
@pytest.mark.parametrize("follows", [None, FOLLOWS])
def test_more_changes_leave_less_certain(seed: int, follows: Any) -> None:
    series, _ = changing_series(random.Random(7000 + seed), people=7, change=0.1)
    least = attacked(series, ValueChange(follows=follows)).least
    if least.infeasible:
        return
    before: set[tuple[int, int, str]] | None = None
    for people in (*range(least.low, least.low + 3), None):
        now = claims(attacked(series, ValueChange(people=people, follows=follows)))
        assert before is None or now <= before
        before = now
    assert claims(attacked(series, ValueChange())) <= (before or set())


@pytest.mark.parametrize("seed", seeds(6, 60))
@pytest.mark.parametrize("counted", [0, 60])
def test_no_claim_is_false_where_the_model_is_true(seed: int, counted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "COUNTED_PEOPLE", counted)
    series, truth = changing_series(random.Random(8000 + seed), people=30, releases=4, values="abcdef", change=0.03)
    published = view(series, list("abcdef"))
    found = Worlds(seconds=20).run(published, Knowledge(change=ValueChange(people=changed(truth))))
    assert isinstance(found, ChangingFindings) and not found.refuted
    for who, at, value in claims(found):
        assert truth[who, at] == value
    for row in found.posteriors.iter_rows(named=True):
        assert row["high"] > 0 or truth[row["person"], row["release"] - 1] != row["value"]
