"""What "this class violates" means agrees with the checkers of the guarantees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from promises import promise

from reissue.arrays.exact import probability_of
from reissue.errors import ParameterError
from reissue.guarantees.base import Groupwise
from reissue.guarantees.single.alpha_k_anonymity import AlphaKAnonymous
from reissue.guarantees.single.distinct_diversity import LDiverse
from reissue.guarantees.single.entropy_diversity import EntropyDiverse
from reissue.guarantees.single.k_anonymity import KAnonymous
from reissue.guarantees.single.ke_anonymity import KEAnonymous
from reissue.guarantees.single.recursive_diversity import RecursiveDiverse
from reissue.guarantees.single.share_diversity import ShareDiverse
from reissue.guarantees.single.t_closeness import TClose
from reissue.model.promise import rules_of
from reissue.model.published import Published, PublishedGroups
from reissue.reasoning.minimality.requirements import requirement_of

NUMBERS = (10.0, 12.0, 17.0, 20.5, 30.0)


@pytest.fixture(scope="module")
def view() -> tuple[Published, np.ndarray]:
    """A release of 3,000 groups with random counts of five numbers, and the same counts as a table."""
    rng = np.random.default_rng(5)
    table = rng.integers(0, 5, (3_000, 5)) * (rng.random((3_000, 5)) < 0.6)
    table[table.sum(axis=1) == 0, 2] = 1
    group, value = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(table.sum(axis=1))])
    release = PublishedGroups(
        1,
        np.arange(int(table.sum())),
        starts,
        value.astype(np.int64),
        table[group, value],
        np.searchsorted(group, np.arange(3_001)),
    )
    return Published((release,), NUMBERS, np.array(NUMBERS)), table


@pytest.mark.parametrize(
    "guarantee",
    [
        KAnonymous(6),
        ShareDiverse(2),
        ShareDiverse(2.5),
        ShareDiverse(2, [[10.0, 12.0], [30.0]]),
        AlphaKAnonymous(1 / 3, 4),
        AlphaKAnonymous("2/5", 1, [[10.0, 17.0]]),
        AlphaKAnonymous(0.123456789, 2, [[10.0]]),
        LDiverse(3),
        EntropyDiverse(2),
        EntropyDiverse(2.7),
        RecursiveDiverse(2, 2),
        RecursiveDiverse(1.5, 3),
        TClose(0.3),
        TClose(0.15, "ordered"),
        KEAnonymous(2, 7.5),
        KEAnonymous(3, 0),
    ],
    ids=lambda guarantee: guarantee.title,
)
def test_the_checkers_agree(guarantee: Groupwise, view: tuple[Published, np.ndarray]) -> None:
    published, table = view
    release = published.releases[0]
    requirement = requirement_of(guarantee.rules, published, release)
    kept = guarantee.measure(published, release).kept
    assert (requirement.kept(table) == kept).all()
    assert kept.any() and not kept.all()
    # Lumps of values that it cannot tell apart are judged alike.
    lump, lumped = requirement.lumped()
    together = np.zeros((table.shape[0], lumped.width), dtype=np.int64)
    for value in range(5):
        together[:, lump[value]] += table[:, value]
    assert (lumped.kept(together) == kept).all()


def test_what_a_requirement_knows_of_itself(view: tuple[Published, np.ndarray]) -> None:
    published, _ = view
    sets = [[10.0, 12.0], [30.0, "never published"]]
    several = requirement_of(rules_of([ShareDiverse(2, sets), KAnonymous(3), KAnonymous(2)]), published)
    assert several.sets == ((0, 1), (4,))
    assert several.smallest == 3
    assert several.counts_only
    assert several.lumped()[1].width == 3
    one = requirement_of(AlphaKAnonymous("1/2", 2, [[10.0, 12.0]]).rules, published)
    assert one.lumped()[1].width == 2
    assert requirement_of(LDiverse(2).rules, published).sets == ()
    assert not requirement_of(LDiverse(2).rules, published).counts_only
    assert requirement_of(ShareDiverse(2).rules, published).sets == ((0,), (1,), (2,), (3,), (4,))


def test_what_is_no_requirement() -> None:
    labels = Published.from_groups([[(["Alice"], ["flu"])]])
    with pytest.raises(ParameterError, match="by itself keeps 'm-invariance'"):
        rules_of([promise("m-invariance", {"m": 2})])
    with pytest.raises(ParameterError, match="not a guarantee"):
        rules_of(["share-l-diversity"])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="the one published is not numeric"):
        requirement_of(KEAnonymous(2, 5).rules, labels)
    with pytest.raises(ParameterError, match="no requirement"):
        requirement_of([], labels)


def test_shares_are_read_exactly() -> None:
    assert probability_of(1 / 3) == probability_of("1/3") == Fraction(1, 3)
    assert probability_of(0.09) == Fraction(9, 100)
    assert probability_of(1) == 1
    assert [probability_of(wrong) for wrong in (0, 1.5, "x", "1/0", True, None, float("nan"))] == [None] * 7
