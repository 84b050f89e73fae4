"""m-confidentiality: the paper's tables, a limit that is met exactly, and every assignment listed."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import reissue as ri
from reissue.errors import ParameterError

HIV = [["HIV"]]


def view(*groups: tuple[dict[str, int], int]) -> ri.Published:
    """Groups by how many people of each class they have, and how many of all have HIV."""
    released, registry = [], {}
    for at, (classes, held) in enumerate(groups):
        people = [(f"{name}-{at}-{one}", name) for name, size in classes.items() for one in range(size)]
        registry.update(people)
        values = ["HIV"] * held + ["none"] * (len(people) - held)
        released.append(([person for person, _ in people], values))
    return ri.Published.from_groups([released], registry=registry)


def listed(classes: dict[str, int], held: int, m: int, k: int) -> dict[str, Fraction]:
    """Credibilities by listing who may have HIV, where some class of its own would not have been allowed."""
    people = [name for name, size in classes.items() for _ in range(size)]
    kept = []
    for chosen in combinations(range(len(people)), held):
        counts = {name: sum(people[one] == name for one in chosen) for name in classes}
        if any(counts[name] * m > size or size < k for name, size in classes.items()):
            kept.append(counts)
    if not kept:
        return {name: Fraction(held, len(people)) for name in classes}
    return {name: Fraction(sum(one[name] for one in kept), len(kept) * size) for name, size in classes.items()}


def test_the_papers_tables() -> None:
    good = view(({"q1": 2}, 1), ({"q2": 5}, 1))
    bad = view(({"q1": 2, "q2": 5}, 2))
    guarantee = ri.guarantees.MConfidential(2, protect=HIV)
    assert guarantee.check(good).holds
    verdict = guarantee.check(bad)
    assert (verdict.holds, verdict.worst, verdict.violations) == (False, 1.0, 1)
    assert "somebody tied to a protected set with a probability of 1, at most 1/2 is allowed" in verdict.explanation
    # Section 4.3: something is excluded, and nobody is surer than one half, exactly.
    met = guarantee.check(view(({"q1": 4, "q2": 2}, 3)))
    assert met.holds
    assert met.worst == pytest.approx(0.5)
    # Groups that k explains give nothing away.
    assert ri.guarantees.MConfidential(2, 3, protect=HIV).check(bad).holds


def test_as_by_listing_every_way() -> None:
    rng = np.random.default_rng(3)
    broken = 0
    for _ in range(150):
        classes = {f"q{one}": int(size) for one, size in enumerate(rng.integers(1, 5, rng.integers(2, 4)))}
        rows = sum(classes.values())
        m, k = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        held = int(rng.integers(0, rows // m + 1))
        expected = max(listed(classes, held, m, k).values())
        verdict = ri.guarantees.MConfidential(m, k, protect=HIV).check(view((classes, held)))
        assert verdict.worst == pytest.approx(float(expected))
        assert verdict.holds == (expected <= Fraction(1, m))
        broken += not verdict.holds
    assert 10 < broken < 140


def test_it_must_be_known_who_has_equal_quasi_identifiers() -> None:
    unknown = ri.Published.from_groups([[(["a", "b"], ["HIV", "none"])]])
    with pytest.raises(ParameterError, match="only where it is known who has the same quasi-identifiers"):
        ri.guarantees.MConfidential(2, protect=HIV).check(unknown)
    with pytest.raises(ParameterError, match="must have everybody: 1 of 2 people are not in it"):
        ri.Published.from_groups([[(["a", "b"], ["HIV", "none"])]], registry={"a": 1})
    assert (
        "HIV"
        not in repr(ri.guarantees.MConfidential(2, protect=HIV)) + ri.guarantees.MConfidential(2, protect=HIV).title
    )


def test_every_value_by_itself_where_no_set_is_named() -> None:
    def verdict(second: int) -> object:
        registry = {"a": "q1", "b": "q1", **{f"other {one}": "q2" for one in range(second)}}
        values = ["HIV", "HIV", *(f"disease {one}" for one in range(second))]
        found = ri.guarantees.MConfidential(2).check(
            ri.Published.from_groups([[(list(registry), values)]], registry=registry)
        )
        return found.holds, found.worst

    # Both of q1 have HIV, the only value that two can share (Table 3); unless two of three of q2 may.
    assert verdict(5) == (False, 1.0)
    assert verdict(3) == (True, pytest.approx(Fraction(3, 4) * Fraction(2, 3)))
