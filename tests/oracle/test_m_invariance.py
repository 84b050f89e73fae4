"""m-uniqueness, m-invariance and weak m-invariance against the bare definitions in plain sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from profiles import examples
from worlds import view, views_one_by_one

from reissue.errors import ParameterError
from reissue.guarantees import GroupGuarantee, MInvariant, MUnique, SeriesGuarantee, WeakMInvariant, build
from reissue.guarantees.series.m_invariant import SameSignature
from reissue.model.memory import Kept, Memory, Remembered
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.history import signatures
from reissue.reasoning.history.signatures import signatures_of

Group = tuple[list[int], list[str]]
"""Members (negative: counterfeits) and values; who has which is not said."""
Series = list[list[Group]]

LETTERS = "abcdef"


def mixed(series: Series) -> Published:
    return view(series, rng=np.random.default_rng(0))


def resolved(remembered: Remembered, before: Memory) -> Memory:
    return {name: before[name] if isinstance(table, Kept) else table for name, table in remembered.items()}


def sound(values: list[str], m: int, weak: bool) -> bool:
    """Definition 3 of He et al. 2011; Definition 5 of Riboni & Bettini 2009."""
    often = Counter(values).values()
    return len(often) >= m and (len(set(often)) == 1 if weak else set(often) == {1})


def holds(series: Series, m: int, weak: bool) -> bool:
    """Definition 4 of He et al.; Definition 6 of Riboni & Bettini: pair by pair."""
    places = [(person, set(held)) for groups in series for members, held in groups for person in members if person >= 0]
    return all(sound(held, m, weak) for groups in series for _, held in groups) and all(
        one == other for person, one in places for same, other in places if person == same
    )


def broken(series: Series, m: int, weak: bool, anew: Mapping[int, Iterable[int]]) -> list[list[bool]]:
    """Group by group: not sound, or somebody in it whose last group had another signature."""
    last: dict[int, set[str]] = {}
    found = []
    for number, groups in enumerate(series, 1):
        found.append(
            [
                not sound(held, m, weak)
                or any(
                    last.get(person, set(held)) != set(held) and person not in anew.get(number, ())
                    for person in members
                    if person >= 0
                )
                for members, held in groups
            ]
        )
        last |= {person: set(held) for members, held in groups for person in members if person >= 0}
    return found


def agrees(guarantee: SameSignature, series: Series, secret: Mapping[int, list[int]] | None) -> bool:
    """The verdict over all releases, and release by release, counts and points as the definitions do."""
    weak = isinstance(guarantee, WeakMInvariant)
    anew = secret or {} if guarantee.per == "record" else {}
    bad = broken(series, guarantee.m, weak, anew)
    verdict = guarantee.check(mixed(series), secret)
    assert verdict.holds is not any(any(groups) for groups in bad)
    if not anew:
        assert verdict.holds is holds(series, guarantee.m, weak)
    compare(verdict, series, bad, range(len(series)))

    state: Memory = {}
    for at, one in enumerate(views_one_by_one(series, rng=np.random.default_rng(1))):
        step, remembered = guarantee.follow(one, state, secret)
        state = resolved(remembered, state)
        compare(step, series, bad, [at])
        if len(series) == 1:
            assert step == verdict
    return verdict.holds


def compare(verdict: object, series: Series, bad: list[list[bool]], looked_at: Iterable[int]) -> None:
    groups = [
        (len(set(held)), at + 1, place + 1, bad[at][place])
        for at in looked_at
        for place, (_, held) in enumerate(series[at])
    ]
    assert verdict.groups == len(groups)
    assert verdict.violations == sum(breaks for *_, breaks in groups)
    assert verdict.holds is (verdict.violations == 0)
    pool = [group for group in groups if group[3]] or groups
    if not pool:
        assert math.isnan(verdict.worst) and verdict.release is None and verdict.group is None
    else:
        assert (verdict.worst, verdict.release, verdict.group) == min(pool)[:3]


@st.composite
def kept_series(draw: st.DrawFn) -> tuple[int, int, Series]:
    """Releases that keep weak m-invariance; m-invariance where the largest multiple is 1."""
    m = draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    multiple = draw(st.integers(1, 2))
    signatures = [sorted(rng.permutation(list(LETTERS))[: rng.integers(m, m + 2)].tolist()) for _ in range(3)]
    people = [(person, signatures[rng.integers(3)]) for person in range(12)]
    value = {person: str(rng.choice(signature)) for person, signature in people}
    series: Series = []
    counterfeit = 0
    for _ in range(draw(st.integers(0, 5))):
        present = [(person, signature) for person, signature in people if rng.random() < 0.6]
        groups: list[Group] = []
        for signature in signatures:
            waiting = {v: [p for p, s in present if s == signature and value[p] == v] for v in signature}
            while any(waiting.values()):
                each = int(rng.integers(1, multiple + 1))
                members = []
                for v in signature:
                    members += [waiting[v].pop() for _ in range(min(each, len(waiting[v])))]
                while len(members) < each * len(signature):
                    counterfeit -= 1
                    members.append(counterfeit)
                groups.append((members, [v for v in signature for _ in range(each)]))
            present = [(p, s) for p, s in present if s != signature]
        series.append([groups[at] for at in rng.permutation(len(groups))])
    return m, multiple, series


@examples(30)
@given(kept_series())
def test_series_that_keep_it(drawn: tuple[int, int, Series]) -> None:
    m, multiple, series = drawn
    assert agrees(WeakMInvariant(m), series, None)
    assert agrees(MInvariant(m), series, None) or multiple > 1
    assert MUnique(m).check(mixed(series)).holds or multiple > 1
    agrees(WeakMInvariant(m + 1), series, None)
    agrees(MInvariant(m + 1), series, None)


@examples(20)
@given(kept_series(), st.data())
def test_series_with_something_wrong(drawn: tuple[int, int, Series], data: st.DataObject) -> None:
    m, _, series = drawn
    places = [(at, g) for at, groups in enumerate(series) for g in range(len(groups))]
    assume(places)
    for _ in range(data.draw(st.integers(1, 3))):
        at, g = data.draw(st.sampled_from(places))
        members, held = series[at][g]
        if data.draw(st.booleans()):  # another value in the place of one
            place = data.draw(st.integers(0, len(held) - 1))
            held = [*held[:place], data.draw(st.sampled_from(LETTERS)), *held[place + 1 :]]
            series[at][g] = (members, held)
        else:  # two members of different groups change places
            other = data.draw(st.sampled_from([h for a, h in places if a == at]))
            if other != g:
                theirs = series[at][other][0]
                members[0], theirs[0] = theirs[0], members[0]
    secret = data.draw(st.dictionaries(st.integers(1, 5), st.lists(st.integers(0, 11)), max_size=5))
    for per in ("person", "record"):
        for weak in (MInvariant, WeakMInvariant):
            agrees(weak(m, per=per), series, secret)
            agrees(weak(m, per=per), series, None)
    unique = MUnique(m).check(mixed(series))
    compare(
        unique, series, [[not sound(held, m, False) for _, held in groups] for groups in series], range(len(series))
    )


groups_of_letters = st.lists(st.lists(st.sampled_from(LETTERS), max_size=5), max_size=12)


@examples(30)
@given(groups_of_letters)
def test_signatures(groups: list[list[str]]) -> None:
    published = mixed([[(list(range(len(held))), held) for held in groups]])
    found = signatures_of(published.releases[0])
    sets = [frozenset(published.values[code] for code in codes.tolist()) for codes in found.sets]
    assert len(set(sets)) == len(sets)
    assert [sets[number] for number in found.number.tolist()] == [frozenset(held) for held in groups]


@pytest.mark.parametrize(
    ("bits", "groups"),
    [
        ([0, 0, 0, 0], ["ad", "bc", "ad", "bc"]),  # the same size
        ([1, 2, 3, 4], ["ad", "bc", "ad", "abc", "cb", "ac"]),  # the same sum
        ([1, 2, 0, 4], ["abc", "ab", "ab"]),  # one begins like the other
        ([1, 2, 0, 4], ["ab", "cd", "abc"]),  # one is the other and what happens to stand behind it
    ],
)
def test_signatures_whose_hashes_collide(bits: list[int], groups: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    right = signatures._mixed
    asked = []

    def poor(values: np.ndarray, salt: int) -> np.ndarray:
        asked.append(salt)
        return right(values, salt) if salt > 1 else np.array(bits, dtype=np.uint64)[values]

    monkeypatch.setattr(signatures, "_mixed", poor)
    published = mixed([[(list(range(len(held))), list(held)) for held in groups]])
    found = signatures_of(published.releases[0])
    sets = ["".join(str(published.values[code]) for code in codes.tolist()) for codes in found.sets]
    assert [sets[number] for number in found.number.tolist()] == ["".join(sorted(held)) for held in groups]
    assert len(set(sets)) == len(sets)
    assert asked == [0, 1, 2]


# He et al. 2011, Tables Ib, IIb and IIIb: c1 is a counterfeit.
FIRST = [
    (["Alice", "Bob"], ["cancer", "flu"]),
    (["Chris", "Dan"], ["cancer", "flu"]),
    (["Ellen", "Frank"], ["measles", "cancer"]),
]
SECOND = [
    (["Alice", "Greg"], ["cancer", "flu"]),
    (["Chris", "c1"], ["cancer", "flu"]),
    (["Ellen", "Harry"], ["measles", "cancer"]),
    (["Ian", "Jane"], ["measles", "cancer"]),
]
NOT_INVARIANT = [
    (["Alice", "Ellen"], ["cancer", "measles"]),
    (["Chris", "Greg", "Harry", "Ian", "Jane"], ["cancer", "flu", "cancer", "measles", "cancer"]),
]


def test_the_papers_example() -> None:
    assert MInvariant(2).check(Published.from_groups([FIRST, SECOND])).holds
    assert WeakMInvariant(2).check(Published.from_groups([FIRST, SECOND])).holds
    verdict = MInvariant(2).check(Published.from_groups([FIRST, NOT_INVARIANT]))
    assert (verdict.holds, verdict.worst, verdict.release, verdict.group) == (False, 2, 2, 1)
    assert (verdict.violations, verdict.groups) == (2, 5)
    assert verdict.guarantee == "m-invariance (m = 2)"
    assert verdict.explanation == (
        "2 of 5 groups break it. The worst, group 1 of release 2, has 2 members with 2 distinct values, at least "
        "2 members and no value twice are needed; 1 person in it had another signature before."
    )


def test_whoever_comes_back_keeps_the_signature() -> None:
    away: list[tuple[list[str], list[object]]] = [(["p", "q"], ["x", "y"])]
    back = [(["Alice", "Greg"], ["cancer", "measles"])]
    for guarantee in (MInvariant(2), WeakMInvariant(2)):
        assert guarantee.check(Published.from_groups([FIRST, away, away, SECOND])).holds
        verdict = guarantee.check(Published.from_groups([FIRST, away, away, back]))
        assert (verdict.violations, verdict.release, verdict.group) == (1, 4, 1)


def test_beginning_anew() -> None:
    back = [(["Alice", "Greg"], ["cancer", "measles"])]
    published = Published.from_groups([FIRST, back, back])  # Alice is number 0
    assert MInvariant(2, per="record").check(published, {2: np.array([0])}).holds
    assert not MInvariant(2, per="record").check(published, {3: np.array([0])}).holds
    assert not MInvariant(2, per="record").check(published, {2: [1]}).holds
    assert not MInvariant(2, per="record").check(published).holds
    assert not MInvariant(2).check(published, {2: [0]}).holds
    assert MInvariant(2, per="record").title == "m-invariance (m = 2, per record)"
    assert WeakMInvariant(4, per="record").title == "weak-m-invariance (m = 4, per record)"
    with pytest.raises(ParameterError, match="must be a mapping"):
        MInvariant(2, per="record").check(published, [0])


def test_numbers_and_dates_go_by_their_magnitude() -> None:
    def one(number: int, values: tuple[object, ...], magnitudes: list[float], codes: list[int]) -> Published:
        groups = PublishedGroups(
            number, np.arange(2), np.array([0, 2]), np.array(codes), np.array([1, 1]), np.array([0, 2])
        )
        return Published((groups,), values, np.array(magnitudes))

    guarantee = MInvariant(2)
    views = [
        one(1, (None, "1 May", "2 May"), [math.nan, 1.0, 2.0], [0, 2]),
        one(2, (None, "2 May"), [math.nan, 2.0], [1, 0]),
        one(3, (None, "2 May", "3 May"), [math.nan, 2.0, 3.0], [1, 2]),
    ]
    held, state = [], {}
    for published in views:
        verdict, remembered = guarantee.follow(published, state)
        state = resolved(remembered, state)
        held.append(verdict.holds)
    assert held == [True, True, False]
    with pytest.raises(ParameterError, match="64-bit"):
        guarantee.check(one(1, (2**53, 2**53 + 1), [2.0**53, 2.0**53], [0, 1]))


def test_views_that_cannot_be_judged() -> None:
    several = Published.from_groups([[(["p"], ["a", "b"])]], single=False)
    twice = Published.from_groups([[(["p", "q"], ["a", "b"]), (["p", "r"], ["a", "b"])]])
    pair = Published.from_groups([FIRST, SECOND])
    for guarantee in (MInvariant(2), WeakMInvariant(2)):
        with pytest.raises(ParameterError, match="exactly one value"):
            guarantee.check(several)
        with pytest.raises(ParameterError, match="Release 1 has 1 person in more than one place"):
            guarantee.check(twice)
        with pytest.raises(ParameterError, match="a view of 2 releases instead of one"):
            guarantee.follow(pair, {})
        with pytest.raises(ParameterError, match="Release 1 cannot follow release 2"):
            guarantee.check(Published(pair.releases[::-1], pair.values))
    with pytest.raises(ParameterError, match="exactly one value"):
        MUnique(2).check(several)


def test_nothing_published() -> None:
    empty = mixed([[], []])
    for guarantee in (MUnique(2), MInvariant(2), WeakMInvariant(2)):
        for published in (Published((), ()), empty):
            verdict = guarantee.check(published)
            assert verdict.holds and math.isnan(verdict.worst) and verdict.groups == 0
    assert agrees(MInvariant(2), [[], [([0, 1], ["a", "b"])], [], [([0, -1], ["a", "b"])]], None)
    # A group that publishes nothing, and one of counterfeits alone.
    assert not agrees(MInvariant(2), [[([], []), ([-1, -2], ["a", "b"])]], None)
    assert not agrees(WeakMInvariant(2), [[([], [])]], None)


@pytest.mark.parametrize("kind", [MUnique, MInvariant, WeakMInvariant])
@pytest.mark.parametrize("m", [1, 0, 2.0, True, "3"])
def test_m_is_a_whole_number_of_at_least_2(kind: type[MInvariant], m: object) -> None:
    message = f"The 'm' parameter of {kind.__name__} must be a whole number of at least 2. Got {m!r} instead."
    with pytest.raises(ParameterError) as caught:
        kind(m)
    assert str(caught.value) == message


def test_parameters_and_names() -> None:
    with pytest.raises(ParameterError, match="The 'per' parameter of MInvariant must be 'person' or 'record'"):
        MInvariant(2, per="tuple")
    for guarantee in (MUnique(4), MInvariant(4), WeakMInvariant(3, per="record")):
        assert build(guarantee.name, **guarantee.parameters) == guarantee
        # Merging groups may break all of them, so what the whole table is as one group says nothing.
        assert not isinstance(guarantee, GroupGuarantee)
    assert MUnique(4).title == "m-uniqueness (m = 4)"
    assert isinstance(MInvariant(4), SeriesGuarantee) and not isinstance(MUnique(4), SeriesGuarantee)
    assert MInvariant(2) != WeakMInvariant(2)


def test_values_stay_out_of_the_words() -> None:
    published = Published.from_groups(
        [[(["ANN", "BEN"], ["SECRET", "HIDDEN"])], [(["ANN", "BEN"], ["SECRET", "SECRET"])]]
    )
    for guarantee in (MUnique(2), MInvariant(2), WeakMInvariant(2)):
        verdict = guarantee.check(published)
        assert not verdict.holds
        assert not any(word in repr(verdict) for word in ("SECRET", "HIDDEN", "ANN", "BEN"))
