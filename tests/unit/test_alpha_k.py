"""AlphaK on tables small enough to work out by hand, and the guarantee that it gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.guarantees.single.alpha_k_anonymity import AlphaKAnonymous
from reissue.methods.partition import alpha_k, full_domain
from reissue.methods.partition.alpha_k import AlphaK, AlphaKBounds
from reissue.methods.partition.taxonomies import BITS, lineages
from reissue.model.snapshot import Numbers
from reissue.publishing.series import draft

PLACES = ri.Hierarchy("Q", {"Q": ["q1", "q2"]})


def patients(places: Sequence[str], values: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"person": range(len(places)), "place": places, "value": values})


def policy(method: AlphaK, tree: Any = PLACES, protect: Sequence[Sequence[str]] = (("HIV",),)) -> ri.Policy:
    return ri.Policy(ri.Schema("person", {"place": tree}, "value", protect=protect), method)


def published(table: pl.DataFrame, given: ri.Policy) -> list[tuple[str, int, int]]:
    """The place, the rows and the rows with HIV of each group."""
    made = draft(table, given, seed=1)
    assert all(guarantee.check(made.published()).holds for guarantee in given.guarantees())
    here = (
        made.tables["table"]
        .group_by("group")
        .agg(
            pl.col("place").cast(pl.String).first(),
            pl.len().alias("rows"),
            (pl.col("value") == "HIV").sum().alias("held"),
        )
    )
    return sorted(here.select("place", "rows", "held").rows())


GOOD = patients(["q1"] * 2 + ["q2"] * 5, ["HIV", "none", "HIV", *["none"] * 4])
BAD = patients(["q1"] * 2 + ["q2"] * 5, ["HIV", "HIV", *["none"] * 5])


@pytest.mark.parametrize("recoding", ["local", "full-domain"])
def test_a_good_table_stays_as_it_is(recoding: Any) -> None:
    """Wong et al. 2007, Table 1(a)."""
    assert published(GOOD, policy(AlphaK(1 / 2, recoding=recoding))) == [("q1", 2, 1), ("q2", 5, 1)]


def test_a_bad_table_is_generalised_no_more_than_needed() -> None:
    """Wong et al. 2007, Table 1(b) to 1(c) and 1(d)."""
    assert published(BAD, policy(AlphaK(1 / 2, recoding="full-domain"))) == [("Q", 7, 2)]
    assert published(BAD, policy(AlphaK(1 / 2))) == [("Q", 4, 2), ("q2", 3, 0)]


def test_a_violating_class_goes_back_as_a_whole() -> None:
    """Table 7 of the paper. Three of five in q1: all of it goes back, and one row of q2 dilutes it."""
    table = patients(["q1"] * 5 + ["q2"] * 8, [*["HIV"] * 3, *["none"] * 2, "HIV", *["none"] * 7])
    assert published(table, policy(AlphaK("1/2"))) == [("Q", 6, 3), ("q2", 7, 1)]


def test_a_class_that_can_spare_nobody_goes_back_as_a_whole() -> None:
    tree = ri.Hierarchy("Q", {"Q": ["q1", "q2", "q3"]})
    table = patients(["q1"] * 2 + ["q2"] * 2 + ["q3"] * 5, ["HIV", "HIV", "none", "none", "HIV", *["none"] * 4])
    # Nobody of q2 can be spared, two or three of q3. Where four are needed, q2 goes back as well.
    assert published(table, policy(AlphaK("1/2", 2), tree)) == [("Q", 4, 2), ("q2", 2, 0), ("q3", 3, 1)]
    assert published(table, policy(AlphaK("1/3", 2), tree)) == [("Q", 6, 2), ("q3", 3, 1)]


def test_rows_go_to_their_class_when_all_levels_are_done() -> None:
    """q1 and q2 together break the requirement, so that the way down ends at the root; q1 by itself does not."""
    tree = ri.Hierarchy("Q", {"Q": ["P", "q3"], "P": ["q1", "q2"]})
    values = ["HIV", "none", "none", "HIV", "HIV", "none", "none", "none", "none"]
    table = patients(["q1"] * 3 + ["q2"] * 5 + ["q3"], values)
    assert published(table, policy(AlphaK("1/3"), tree)) == [("Q", 6, 2), ("q1", 3, 1)]


def test_the_best_attribute_is_the_one_with_most_rows() -> None:
    """On 'a' all rows can go down, on 'b' only six of eight could; with a tie the fewest children, then the first."""
    table = pl.DataFrame(
        {"person": range(8), "b": list("xxxyyyzz"), "a": list("ppppqqqq"), "value": ["n"] * 6 + ["HIV", "n"]}
    )
    schema = ri.Schema("person", {"b": ri.Categorical(), "a": ri.Categorical()}, "value", protect=[["HIV"]])
    made = draft(table, ri.Policy(schema, AlphaK(1, 3))).tables["table"]
    found = made.group_by("group").agg(pl.col("a", "b").cast(pl.String).first(), pl.len().alias("rows"))
    assert sorted(found.select("a", "b", "rows").rows()) == [("p", "{x,y}", 4), ("q", "{y,z}", 4)]


def test_every_value_may_be_protected() -> None:
    """Table 3 of the paper: two of the same in q1 are too many, whatever the value."""
    ills = ["HIV", "HIV", "gallstones", "lung cancer", "ulcer", "alzheimer", "diabetes"]
    table = patients(["q1"] * 2 + ["q2"] * 5, ills)
    assert published(table, policy(AlphaK(1 / 2), protect=())) == [("Q", 4, 2), ("q2", 3, 0)]
    # Two of the same need four others, and q2 can spare two only.
    assert published(table, policy(AlphaK(1 / 3), protect=())) == [("Q", 7, 2)]


def test_numbers_as_sensitive_values() -> None:
    table = patients(["q1"] * 2 + ["q2"] * 5, ["30", "30", "10", "20", "30", "40", "50"]).cast({"value": pl.Int64})
    schema = ri.Schema("person", {"place": PLACES}, {"value": ri.Numeric()})
    made = draft(table, ri.Policy(schema, AlphaK(0.5)))
    sizes = Counter(made.tables["table"]["group"].to_list())
    assert sorted(sizes.values()) == [3, 4]


def test_a_table_that_cannot_is_refused() -> None:
    table = patients(["q1"] * 2 + ["q2"] * 2, ["HIV", "HIV", "HIV", "none"])
    recodings: tuple[Any, ...] = ("local", "full-domain")
    for recoding in recodings:
        with pytest.raises(ri.errors.Infeasible, match=r"alpha = 0\.75 or more") as caught:
            draft(table, policy(AlphaK("1/2", 5, recoding)))
        assert "k = 4 or less" in str(caught.value)


def test_strata_are_kept_apart() -> None:
    table = patients(["q1"] * 2 + ["q2"] * 6, ["HIV", "none"] * 4).with_columns(ward=pl.Series(list("ababbbaa")))
    schema = ri.Schema("person", {"place": PLACES}, "value", as_is=["ward"], protect=[["HIV"]])
    for recoding, expected in {"local": [1, 3, 4], "full-domain": [4, 4]}.items():
        made = draft(table, ri.Policy(schema, AlphaK("3/4", recoding=recoding))).tables["table"]  # type: ignore[arg-type]
        wards = made.group_by("group").agg(pl.col("ward").n_unique(), pl.len().alias("rows"))
        assert wards["ward"].to_list() == [1] * wards.height
        assert sorted(wards["rows"].to_list()) == expected


def test_more_room_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    table = pl.DataFrame(
        {
            "person": range(400),
            **{name: [chance.randrange(20) for _ in range(400)] for name in "abc"},
            "value": [chance.choice(["HIV", "n", "n"]) for _ in range(400)],
        }
    )
    schema = ri.Schema("person", dict.fromkeys("abc", ri.Numeric()), "value", protect=[["HIV"]])
    given = ri.Policy(schema, AlphaK("2/5", 3))
    expected = draft(table, given, seed=1).recoded.group.tolist()
    grown, calls = alpha_k._grown, []

    def tight(state: Any, parcels: int = 0, groups: int = 0) -> Any:
        calls.append(parcels)
        return grown(state, 1, 1)

    monkeypatch.setattr(alpha_k, "_grown", tight)
    assert draft(table, given, seed=1).recoded.group.tolist() == expected
    assert len(calls) > 10


def test_bounds_are_exact() -> None:
    for share in (Fraction(1, 3), Fraction(2, 7), Fraction(1), Fraction(10**30 + 1, 3 * 10**30)):
        bounds = AlphaKBounds.of(share, 1, 50)
        for rows in range(51):
            assert bounds.allowed[rows] == max(held for held in range(rows + 1) if held <= share * rows)
            enough = [size for size in range(51) if rows <= share * size]
            assert bounds.needed[rows] == (enough[0] if enough else 51)


def test_numbers_are_halved_as_the_domain_is() -> None:
    """Of 0 to 16: 1 and 2 part at the third halving of 0 to 4 (a step without both is left out), 9 at the first."""
    numbers = Numbers(np.array([np.nan, 1.0, 2.0, 9.0]), pl.Int64(), missing=True, low=0, high=16)
    path = lineages(numbers).tolist()
    assert [sum(node >= 0 for node in way) for way in path] == [2, 4, 4, 3]
    assert path[1][:3] == path[2][:3] and path[1][:2] == path[3][:2] and path[1][:1] == path[0][:1]
    assert len({tuple(way) for way in path}) == 4
    near = Numbers(np.array([0.5, np.nextafter(0.5, 1), 1.0]), pl.Float64(), missing=False, low=0, high=2.0**BITS)
    assert [sum(node >= 0 for node in way) for way in lineages(near).tolist()] == [3, 3, 2]
    alone = Numbers(np.array([5.0]), pl.Int64(), missing=False, low=5, high=5)
    assert lineages(alone).tolist() == [[0]]


def test_too_many_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_domain, "LARGEST", 1)
    with pytest.raises(ri.errors.Refused, match="2 combinations of levels") as caught:
        draft(BAD, policy(AlphaK(0.5, recoding="full-domain")))
    assert "'place' has 2 levels" in str(caught.value)


def test_parameters() -> None:
    assert AlphaK(Fraction(1, 3)).parameters == {"alpha": "1/3", "k": 1, "recoding": "local"}
    assert AlphaK(1).parameters["alpha"] == 1.0
    assert AlphaK(0.5, recoding="full-domain").minimal_recoding == "full-domain"
    assert "surer of a value than alpha" in AlphaK(0.5).remarks("generalised")[0]
    with pytest.raises(ri.errors.ParameterError) as caught:
        AlphaK("4/3", 0, "global")  # type: ignore[arg-type]
    assert len(caught.value.problems) == 3
    message = "The 'k' parameter of AlphaK must be a whole number of at least 1. Got 0 instead."
    with pytest.raises(ri.errors.ParameterError, match=message):
        AlphaK(0.5, 0)
    for alpha in (0, -0.5, 1.5, float("nan"), True, "x", "1/0", None):
        with pytest.raises(ri.errors.ParameterError, match="'alpha' parameter of AlphaK"):
            AlphaK(alpha)  # type: ignore[arg-type]
        with pytest.raises(ri.errors.ParameterError, match="'alpha' parameter of AlphaKAnonymous"):
            AlphaKAnonymous(alpha)  # type: ignore[arg-type]


def view(*groups: str) -> ri.Published:
    """Groups by the first letters of their values."""
    members = [[f"{group}-{at}" for at in range(len(values))] for group, values in enumerate(groups)]
    return ri.Published.from_groups([[(who, list(values)) for who, values in zip(members, groups, strict=True)]])


@pytest.mark.parametrize("alpha", [1 / 3, "1/3", Fraction(1, 3)])
def test_a_third_is_a_third(alpha: Any) -> None:
    guarantee = AlphaKAnonymous(alpha)
    assert guarantee.check(view("abc", "aabbcc", "abcd")).holds
    verdict = guarantee.check(view("abc", "aabc"))
    assert not verdict.holds and verdict.group == 2 and verdict.worst == 0.5
    assert AlphaKAnonymous(**guarantee.parameters) == guarantee  # type: ignore[arg-type]
    assert isinstance(guarantee.alpha, float | str)
    # As text and beyond what floats tell apart.
    assert not AlphaKAnonymous(Fraction(10**20 - 1, 3 * 10**20)).check(view("abc")).holds


def test_small_groups_and_protected_sets() -> None:
    guarantee = AlphaKAnonymous("1/2", 3, [["a", "b"], ["c", "nobody"]])  # type: ignore[arg-type]
    assert guarantee.check(view("adde", "dddd", "abcd")).holds
    assert not guarantee.check(view("abad")).holds
    verdict = guarantee.check(view("dd", "dddd"))
    assert not verdict.holds and "has 2 members, at least 3 are needed" in verdict.explanation
    assert "nobody" not in repr(guarantee) and "nobody" not in guarantee.title
    assert "alpha = 1/2, k = 3, 2 protected sets" in guarantee.title
    with pytest.raises(ri.errors.ParameterError, match="'protect' parameter of AlphaKAnonymous"):
        AlphaKAnonymous(0.5, 1, [[]])  # type: ignore[arg-type]


def test_it_is_simplified_diversity_and_k_anonymity_together() -> None:
    chance = random.Random(5)
    seen = Counter[bool]()
    for _ in range(300):
        groups = ["".join(chance.choices("abcd", k=chance.randrange(1, 9))) for _ in range(chance.randrange(1, 3))]
        one_in, k = chance.choice([1, 2, 3]), chance.choice([1, 2, 4])
        protect = chance.choice([(), (("a", "b"), ("c",))])
        both = [ri.guarantees.ShareDiverse(one_in, protect), ri.guarantees.KAnonymous(k)]
        expected = all(one.check(view(*groups)).holds for one in both)
        assert AlphaKAnonymous(1 / one_in, k, protect).check(view(*groups)).holds == expected
        seen[expected] += 1
    assert min(seen.values()) > 40
