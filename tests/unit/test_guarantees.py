"""Hand-computed verdicts of every guarantee, its parameters, its words and the way it is built by name."""

from __future__ import annotations

import dataclasses
import math
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from reissue.errors import ParameterError
from reissue.guarantees import (
    GUARANTEES,
    AlphaKAnonymous,
    CohortBased,
    ColumnLimits,
    EntropyDiverse,
    EquivalenceSafe,
    HistoricallySafe,
    HistoryDiverse,
    InferenceFree,
    KAnonymous,
    KEAnonymous,
    LDiverse,
    LScarce,
    MConfidential,
    MInvariant,
    MUnique,
    OneAmong,
    RecursiveDiverse,
    RestrictionSafe,
    RoleBased,
    ShareDiverse,
    TClose,
    Verdict,
    WeakMInvariant,
    build,
)
from reissue.model.published import Published
from reissue.reasoning.history import diversity

# Machanavajjhala et al. 2006, Figure 2: four of a kind in the third group.
FOUR_ANONYMOUS = [
    ["heart", "heart", "viral", "viral"],
    ["cancer", "heart", "viral", "viral"],
    ["cancer", "cancer", "cancer", "cancer"],
]
# The same paper, Figure 3: every group has counts 2, 1, 1.
THREE_DIVERSE = [
    ["heart", "viral", "cancer", "cancer"],
    ["cancer", "heart", "viral", "viral"],
    ["heart", "viral", "cancer", "cancer"],
]
# Li et al. 2007, the salaries from 3k to 11k and the three groups of their example.
SALARIES = [[3000, 4000, 5000], [6000, 8000, 11000], [7000, 9000, 10000]]


def view(*releases: list[list[object]]) -> Published:
    """Groups of values, with people nobody needs to know."""
    return Published.from_groups(
        [
            [([f"p{g}.{i}" for i in range(len(values))], values) for g, values in enumerate(release)]
            for release in releases
        ]
    )


def counted(*counts: int) -> Published:
    """One group with values a, b, c ... so many times."""
    return view([[chr(97 + at) for at, count in enumerate(counts) for _ in range(count)]])


def test_k_anonymity_counts_members() -> None:
    published = view(FOUR_ANONYMOUS)
    assert KAnonymous(4).check(published).holds
    verdict = KAnonymous(5).check(published)
    assert (verdict.holds, verdict.worst, verdict.violations, verdict.groups) == (False, 4, 3, 3)


def test_distinct_diversity_sees_the_homogeneous_group() -> None:
    verdict = LDiverse(2).check(view(FOUR_ANONYMOUS))
    assert (verdict.holds, verdict.worst, verdict.release, verdict.group) == (False, 1, 1, 3)
    assert verdict.violations == 1
    assert LDiverse(3).check(view(THREE_DIVERSE)).holds
    assert not LDiverse(4).check(view(THREE_DIVERSE)).holds


def test_entropy_diversity_of_the_papers_table() -> None:
    # Counts 2, 1, 1: entropy 1.5 log 2, so the table is 2.828...-diverse.
    published = view(THREE_DIVERSE)
    assert EntropyDiverse(2.8).check(published).holds
    assert EntropyDiverse(2**1.5).check(published).holds
    assert not EntropyDiverse(2.83).check(published).holds
    assert EntropyDiverse(2).check(published).worst == pytest.approx(1.5 * math.log(2))


@pytest.mark.parametrize("length", [1, 2, 3, 5, 6, 7, 10, 11, 49, 97])
@pytest.mark.parametrize("each", [1, 3, 7])
def test_equally_frequent_values_reach_their_entropy(length: int, each: int) -> None:
    published = view([[value for value in range(length) for _ in range(each)]])
    assert EntropyDiverse(length).check(published).holds
    assert not EntropyDiverse(length + 0.001).check(published).holds


@pytest.mark.parametrize(
    ("counts", "c", "l", "holds"),
    [
        ((4, 3, 2, 1), 1, 2, True),  # 4 < 6
        ((4, 3, 2, 1), 1, 3, False),  # 4 < 3
        ((4, 3, 2, 1), 2, 3, True),  # 4 < 6
        ((4, 3, 2, 1), 4, 4, False),  # 4 < 4: a tie fails
        ((4, 3, 2, 1), 4.001, 4, True),
        ((4, 3, 2, 1), 1000, 5, False),  # only four values
        ((2, 1, 1), 2, 3, False),  # the papers' table: 2 < 2
        ((2, 1, 1), 3, 3, True),
        ((2, 1, 1), 1, 2, False),
        ((5,), 1, 1, False),  # 5 < 5
        ((5,), 2, 1, True),
        ((1,), 1.5, 1, True),
        ((7, 50, 43), 0.5, 1, False),  # 50 < 50
        ((30, 70), 0.7, 1, False),  # 70 < 0.7 * 100, a tie
        ((7, 2, 91), 0.91, 1, False),
    ],
)
def test_recursive_diversity(counts: tuple[int, ...], c: float, l: int, holds: bool) -> None:  # noqa: E741
    assert RecursiveDiverse(c, l).check(counted(*counts)).holds is holds


def test_recursive_tie_with_a_factor_that_floats_round_up() -> None:
    assert 0.07 * 100 > 7  # why the tolerance is there
    assert (
        not RecursiveDiverse(0.07, 1).check(view([[value for value in range(14) for _ in range(7)] + [99, 98]])).holds
    )


@pytest.mark.parametrize(
    ("counts", "l", "holds"),
    [
        ((5, 5), 2, True),
        ((6, 4), 2, False),
        ((2, 1, 1), 2, True),
        ((3, 3, 4), 2.5, True),  # 4 * 2.5 = 10
        ((3, 2, 5), 2.1, False),
        ((9,), 1, True),
        ((9,), 1.0, True),
        ((9,), 1.01, False),
        ((1,), 2, False),
        ((10, 1), 1.1, True),
    ],
)
def test_share_diversity(counts: tuple[int, ...], l: float, holds: bool) -> None:  # noqa: E741
    assert ShareDiverse(l).check(counted(*counts)).holds is holds


def test_share_diversity_of_protected_sets() -> None:
    published = counted(6, 2, 2)  # a six times, b and c twice
    assert not ShareDiverse(2).check(published).holds
    assert ShareDiverse(2, protect=[["b", "c"]]).check(published).holds
    assert ShareDiverse(2.5, protect=[["b", "c"]]).check(published).holds
    assert not ShareDiverse(3, protect=[["b", "c"]]).check(published).holds
    assert ShareDiverse(3, protect=[["b"], ["c"]]).check(published).holds
    assert ShareDiverse(5, protect=[["b", "never seen"], ["unheard of"]]).check(published).holds
    assert not ShareDiverse(5, protect=[["b"], ["c", "a"]]).check(published).holds


def test_share_diversity_takes_the_stricter_base() -> None:
    several = Published.from_groups([[(["p", "q"], ["a", "a", "b", "c"])]], single=False)
    assert ShareDiverse(2).check(several).worst == 1.0  # both members may have a
    absent = Published.from_groups([[(["p", "q", "r", "s"], ["a", "b"])]], single=False)
    assert ShareDiverse(2).check(absent).worst == 0.5


def test_t_closeness_measures_each_release_against_itself() -> None:
    # Values that occur only in another release neither add to m nor to the distribution.
    published = view([["a", "b"], ["a", "b"]], [["x", "x"], ["y", "z"]])
    assert diversity.ordered_distance(published.releases[0]).tolist() == [0.0, 0.0]
    # x, y, z with 2, 1, 1: cumulative 1/2, 3/4, 1. The group {x, x} is off by 1/2 and 1/4, over m - 1 = 2.
    assert diversity.ordered_distance(published.releases[1]) == pytest.approx([0.375, 0.375])
    assert TClose(0, distance="ordered").check(view([["a", "b"], ["a", "b"]])).holds
    assert TClose(0).check(view([["a", "a"]])).holds
    assert TClose(0, distance="ordered").check(view([["a"], ["a", "a"]])).holds


def test_ke_anonymity_needs_both() -> None:
    published = view(SALARIES)
    assert KEAnonymous(3, 2000).check(published).holds
    verdict = KEAnonymous(3, 2001).check(published)
    assert (verdict.holds, verdict.group, verdict.violations) == (False, 1, 1)
    assert verdict.worst == pytest.approx(2000 / 2001)
    verdict = KEAnonymous(4, 0).check(published)
    assert (verdict.violations, verdict.worst) == (3, 0.75)
    assert KEAnonymous(1, 0).check(view([[5]])).holds
    assert 0.3 - 0.1 < 0.2
    assert KEAnonymous(2, 0.2).check(view([[0.1, 0.3]])).holds
    assert not KEAnonymous(2, 0.2001).check(view([[0.1, 0.3]])).holds


def test_ke_anonymity_refuses_labels() -> None:
    with pytest.raises(ParameterError, match="numeric sensitive column"):
        KEAnonymous(2, 1).check(view(THREE_DIVERSE))
    with pytest.raises(ParameterError, match="numeric sensitive column"):
        KEAnonymous(2, 1).advice(counted(1, 2))


def test_verdict_names_the_worst_group_of_all_releases() -> None:
    published = view([["a", "b", "c"], ["a", "b"]], [["a", "b", "c"]], [["a"] * 4, ["a"], ["b"] * 2])
    assert KAnonymous(3).check(published) == Verdict(
        holds=False,
        guarantee="k-anonymity (k = 3)",
        worst=1.0,
        release=3,
        group=2,
        violations=3,
        groups=6,
        explanation=("3 of 6 groups break it. The worst, group 2 of release 3, has 1 member, at least 3 are needed."),
    )
    kept = KAnonymous(1).check(published)
    assert (kept.holds, kept.worst, kept.release, kept.group) == (True, 1.0, 3, 2)
    assert kept.explanation.startswith("It holds in all of 6 groups. The closest to the limit, group 2 of release 3,")


def test_worst_is_the_largest_share_or_distance() -> None:
    published = view([["a", "b"], ["a", "a", "b"]], [["a", "b"], ["a", "a", "a", "b"], ["b", "a", "b"]])
    verdict = ShareDiverse(2).check(published)
    assert (verdict.worst, verdict.release, verdict.group, verdict.violations) == (0.75, 2, 2, 3)
    verdict = ShareDiverse(1).check(published)
    assert (verdict.worst, verdict.release, verdict.group, verdict.violations) == (0.75, 2, 2, 0)
    assert RecursiveDiverse(9, 2).check(published).worst == 3.0
    # Release 2 has five a and four b: 3/4 - 5/9 is more than 1/2 - 5/9 and 2/3 - 4/9 is more still.
    assert TClose(1).check(view([["a", "b"], ["a", "a", "a", "b"], ["b", "a", "b"]])).group == 3


def test_a_group_that_fails_is_named_before_one_with_the_same_figure_that_holds() -> None:
    # Entropy 0 is enough for l = 1, but not when it comes from having no values at all.
    held: list[tuple[list[str], list[object]]] = [(["p"], ["a"])]
    bare: list[tuple[list[str], list[object]]] = [(["q"], [])]
    together = EntropyDiverse(1).check(Published.from_groups([held + bare], single=False))
    assert (together.violations, together.worst, together.release, together.group) == (1, 0.0, 1, 2)
    apart = EntropyDiverse(1).check(Published.from_groups([held, bare, held], single=False))
    assert (apart.violations, apart.worst, apart.release, apart.group) == (1, 0.0, 2, 1)


def test_nothing_published_holds() -> None:
    verdict = KAnonymous(2).check(Published((), ()))
    assert verdict.holds and math.isnan(verdict.worst) and verdict.groups == 0 and verdict.group is None


def test_groups_without_values() -> None:
    published = Published.from_groups([[(["p"], ["a"]), (["q", "r"], []), (["s"], ["b"]), (["t"], [])]], single=False)
    release = published.releases[0]
    assert diversity.distinct(release).tolist() == [1, 0, 1, 0]
    assert diversity.entropy(release).tolist() == [0.0] * 4
    assert diversity.largest(release).tolist() == [1, 0, 1, 0]
    assert diversity.variation_distance(release).tolist() == [0.5, 0.0, 0.5, 0.0]
    assert diversity.ordered_distance(release).tolist() == [0.5, 0.0, 0.5, 0.0]
    assert LDiverse(1).check(published).violations == 2
    assert ShareDiverse(1).check(published).holds


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: KAnonymous(0),
            "The 'k' parameter of KAnonymous must be a whole number of at least 1. Got 0 instead.",
        ),
        (lambda: KAnonymous(True), "Got True instead."),
        (lambda: KAnonymous(2.0), "Got 2.0 instead."),
        (
            lambda: LDiverse("3"),
            "The 'l' parameter of LDiverse must be a whole number of at least 1. Got '3' instead.",
        ),
        (
            lambda: EntropyDiverse(0.9),
            "The 'l' parameter of EntropyDiverse must be a number of at least 1. Got 0.9",
        ),
        (lambda: EntropyDiverse(math.nan), "Got nan instead."),
        (lambda: EntropyDiverse(math.inf), "Got inf instead."),
        (
            lambda: RecursiveDiverse(0, 2),
            "The 'c' parameter of RecursiveDiverse must be a number above 0. Got 0",
        ),
        (
            lambda: ShareDiverse(0.5),
            "The 'l' parameter of ShareDiverse must be a number of at least 1. Got 0.5",
        ),
        (lambda: TClose(1.5), "The 't' parameter of TClose must be a number from 0 to 1. Got 1.5 instead."),
        (lambda: TClose(-0.1), "Got -0.1 instead."),
        (
            lambda: TClose(0.1, "emd"),
            "The 'distance' parameter of TClose must be 'variation' or 'ordered'. Got 'emd'",
        ),
        (
            lambda: KEAnonymous(2, -1),
            "The 'e' parameter of KEAnonymous must be a number of at least 0. Got -1",
        ),
        (lambda: KAnonymous([1]), "Got a list instead."),
        (
            lambda: ShareDiverse(2, ["SECRET"]),
            "a list of lists of values, none of them empty. Got a list with a str",
        ),
        (lambda: ShareDiverse(2, "SECRET"), "Got a str instead."),
        (lambda: ShareDiverse(2, [["SECRET"], []]), "Got a list with an empty list in it instead."),
        (lambda: ShareDiverse(2, [[["SECRET"]]]), "something in it that is not a plain value"),
        (lambda: ShareDiverse(2, 7), "Got a int instead."),
    ],
)
def test_parameters_out_of_range(make: object, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()  # type: ignore[operator]
    assert message in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_all_problems_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        RecursiveDiverse(-1, 0)
    assert len(caught.value.problems) == 2
    assert "'c'" in str(caught.value) and "'l'" in str(caught.value)


def test_protected_values_are_kept_from_words() -> None:
    guarantee = ShareDiverse(2, protect=[["SECRET", "other"]])
    published = view([["SECRET", "SECRET", "other"], ["SECRET", "x"]])
    verdict = guarantee.check(published)
    assert not verdict.holds
    assert "SECRET" not in repr(guarantee) + repr(verdict) + guarantee.advice(view([["SECRET", "SECRET"]]))
    assert verdict.guarantee == "share-l-diversity (l = 2, 1 protected set)"


EXAMPLES = [
    KAnonymous(10),
    LDiverse(6),
    EntropyDiverse(2.5),
    RecursiveDiverse(2, 3),
    ShareDiverse(2, protect=[["a", "b"], ["c"]]),
    ShareDiverse(1.5),
    TClose(0.2, distance="ordered"),
    KEAnonymous(3, 100.0),
    AlphaKAnonymous("1/3", 2, protect=[["a", "b"], ["c"]]),
    ColumnLimits({"diagnosis": "1/4", "ward": None}),
    MConfidential(3, 2, protect=[["a"]]),
    MUnique(4),
    MInvariant(4),
    WeakMInvariant(4, per="record"),
    HistoricallySafe(4, 2),
    RestrictionSafe(0.1, 0.04, 24),
    EquivalenceSafe(3),
    InferenceFree(3),
    HistoryDiverse(3),
    HistoryDiverse(2.5, diversity="share"),
    RoleBased(3),
    CohortBased(3),
    LScarce(3, 1, ("HIV",)),
    OneAmong(4, limit="1/2", harmless=("other",), change={"flu": 0.5, "HIV": 0.0}, permanent=("HIV",), epsilon=0.1),
]


@pytest.mark.parametrize("guarantee", EXAMPLES, ids=lambda guarantee: guarantee.name)
def test_built_from_their_own_parameters(guarantee: KAnonymous) -> None:
    assert build(guarantee.name, **guarantee.parameters) == guarantee
    assert GUARANTEES[guarantee.name] is type(guarantee)
    assert hash(guarantee) == hash(build(guarantee.name, **guarantee.parameters))
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.k = 1  # type: ignore[misc]


def test_numpy_numbers_become_plain_ones() -> None:
    assert type(KAnonymous(np.int64(3)).k) is int
    assert type(TClose(np.float64(0.25)).t) is float
    assert type(ShareDiverse(np.int32(3)).l) is int


def test_every_example_is_registered() -> None:
    assert {guarantee.name for guarantee in EXAMPLES} == set(GUARANTEES)


def test_unknown_names_list_near_ones() -> None:
    with pytest.raises(ParameterError) as caught:
        build("k-anonimity", k=3)
    assert "There is no guarantee called 'k-anonimity'; near it: 'k-anonymity'" in str(caught.value)


def test_unknown_and_missing_parameters_are_gathered() -> None:
    with pytest.raises(ParameterError) as caught:
        build("t-closeness", tt=0.1, metric="ordered")
    assert caught.value.problems == (
        "'tt' is not a parameter of 't-closeness'; near it: 't'",
        "'metric' is not a parameter of 't-closeness'",
        "the parameter 't' is missing",
    )
    assert "it takes 't', 'distance'" in str(caught.value)


class Borrowed(KAnonymous):
    """A guarantee of another package."""

    name = "borrowed"


def test_other_packages_add_guarantees(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def entry_points(group: str) -> tuple[dict[str, EntryPoint], dict[str, str]]:
        asked.append(group)
        points = [
            EntryPoint("borrowed", f"{Borrowed.__module__}:Borrowed", group),
            EntryPoint("renamed", "reissue.guarantees.single.k_anonymity:KAnonymous", group),
            EntryPoint("hollow", "math:pi", group),
        ]
        return {point.name: point for point in points}, {}

    monkeypatch.setattr("reissue.model.plugins._entry_points", entry_points)
    assert build("k-anonymity", k=2) == KAnonymous(2)
    assert asked == []  # a known name does not look for packages
    assert build("borrowed", k=2) == Borrowed(2)
    assert build("borrowed", k=3) == Borrowed(3)
    assert set(asked) == {"reissue.guarantees"}
    assert "borrowed" not in GUARANTEES  # nothing is registered behind anybody's back
    with pytest.raises(ParameterError, match="does not lead to a guarantee"):
        build("hollow")
    with pytest.raises(ParameterError, match="a guarantee of another name"):
        build("renamed", k=2)
    with pytest.raises(ParameterError, match="near it: 'borrowed'"):
        build("borowed")
