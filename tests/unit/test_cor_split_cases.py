"""Cases of Cor-Split that are easily got wrong: adoption, processors, amendments, what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import Infeasible, PolicyError, Unprotected
from reissue.methods.cor_split import cor_partition
from reissue.publishing.adoption import adopt

LETTERS = "abcdefgh"
SCHEMA = ri.Schema(person="who", quasi={"age": ri.Numeric()}, sensitive={"ill": ri.Categorical(values=list(LETTERS))})


def states(seed: int, people: int, values: int, releases: int, leave: float) -> list[pl.DataFrame]:
    """Tables of so many people, of whom a share leaves each time and is replaced."""
    rng = np.random.default_rng(seed)
    there: dict[int, tuple[str, int]] = {}
    tables, born = [], 0
    for _ in range(releases):
        there = {who: cells for who, cells in there.items() if rng.random() >= leave}
        while len(there) < people:
            there[born] = (str(rng.choice(list(LETTERS[:values]))), int(rng.integers(60)))
            born += 1
        ill, age = zip(*there.values(), strict=True)
        tables.append(pl.DataFrame({"who": [f"p{who}" for who in there], "age": age, "ill": ill}))
    return tables


def test_groups_of_few_values_are_no_obstacle_to_adopting(tmp_path: Path) -> None:
    """The formula is asked about groups of at least m values only; in smaller ones everybody is lost anyway."""
    groups = [(["a", "b"], ["flu", "cold"]), (list("cdefgh"), list("uvwxyz"))]
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"ill": ri.Categorical(new="accept")})
    policy = ri.Policy(schema, ri.CorSplit(m=6, p=0.04, L=24, h=0.1))
    series = adopt(tmp_path / "series", policy, ri.Published.from_groups([groups]))
    assert any("6 people can be published again" in note for note in series.releases[0].summary["notes"])


@pytest.mark.parametrize(("people", "m", "n"), [(40, 2, 2), (100, 4, 3), (200, 3, 3)])
def test_counterfeits_do_not_depend_on_the_number_of_processors(
    chain: Any, monkeypatch: pytest.MonkeyPatch, people: int, m: int, n: int
) -> None:
    tables = states(0, people, 8, 8, 0.3)
    monkeypatch.setattr(cor_partition, "PARALLEL_FROM", 0)
    found = []
    for processors in (1, 2, 8):
        monkeypatch.setattr(cor_partition, "cores", lambda count=processors: count)
        series = chain(ri.Policy(SCHEMA, ri.CorSplit(m, n)))
        drafts = [series.publish(table, seed=3) for table in tables]
        made = [draft.grouping.counterfeits for draft in drafts]
        found.append(
            [(draft.grouping.group.tolist(), one and (one.number.tolist(), one.rows.rows())) for draft, one in
             zip(drafts, made, strict=True)]
        )  # fmt: skip
    assert found[0] == found[1] == found[2]
    assert any(one for _, one in found[0])


def test_a_larger_l_is_refused_when_wide_signatures_would_need_a_larger_n(chain: Any) -> None:
    """The n of m is the same for L = 5 and 8; that of five values is not, and what is correlated is out."""
    tables = states(0, 20, 5, 9, 0.15)
    series = chain(ri.Policy(SCHEMA, ri.CorSplit(3, 1, p=0.04, L=5, h=0.4)))
    for table in tables[:5]:
        series.publish(table, seed=0)
    series.policy = replace(series.policy, method=ri.CorSplit(3, 1, p=0.04, L=8, h=0.4))
    with pytest.raises((Unprotected, Infeasible)) as caught:
        for table in tables[5:]:
            series.publish(table, seed=0)
    assert isinstance(caught.value, Unprotected)
    assert "published 8 times among" in str(caught.value)


def test_a_policy_file_says_what_would_do_instead(tmp_path: Path) -> None:
    """The next step of a wrong parameter is not lost on the way through the policy."""
    text = ri.Policy(SCHEMA, ri.CorSplit(4, 2, p=0.04, L=24, h=0.3)).to_toml()
    wrong = tmp_path / "policy.toml"
    wrong.write_text(text.replace("h = 0.3", "h = 0.01"))
    with pytest.raises(PolicyError) as caught:
        ri.Policy.read(wrong)
    assert "each of these would do by itself: L = 5, m = 11, h = 0.244" in str(caught.value)
    wrong.write_text(text.replace("L = 24", "l = 24"))
    with pytest.raises(PolicyError, match="near it: 'L'"):
        ri.Policy.read(wrong)


def test_a_series_that_begins_anew_says_so_and_claims_nothing(chain: Any) -> None:
    tables = states(0, 30, 5, 2, 0.3)
    series = chain(ri.Policy(SCHEMA, ri.CorSplit(3, 2)))
    series.publish(tables[0], seed=0)
    series.policy = ri.Policy(SCHEMA, ri.CorSplit(3, 2, combinations=True), series="unprotected")
    draft = series.publish(tables[1], seed=0)
    assert draft.summary["guarantees"] == {}
    assert any("nothing of the earlier ones was taken into account" in note for note in draft.notes)
    assert series.drafts[0].summary["guarantees"]


def test_an_amendment_that_ends_the_series_is_told_at_once(tmp_path: Path) -> None:
    tables = states(0, 30, 5, 2, 0.3)
    with ri.open(tmp_path / "series", ri.Policy(SCHEMA, ri.CorSplit(3, 2))) as series:
        assert series.in_the_way() == ()
        series.publish(tables[0], seed=0)
        assert series.in_the_way() == ()
        series.amend(ri.Policy(SCHEMA, ri.CorSplit(3, 3)), "a trial")
        assert series.in_the_way() == ("n = 3 is more than the n = 2 of an earlier release, and what is out stays out",)
        with pytest.raises(Unprotected):
            series.publish(tables[1], seed=0)
        series.amend(ri.Policy(SCHEMA, ri.Mondrian(k=2)), "a trial")
        assert "protects each release alone" in series.in_the_way()[0]
        series.amend(ri.Policy(SCHEMA, ri.CorSplit(3, 2)), "back again")
        assert series.in_the_way() == ()
        series.publish(tables[1], seed=0, allow=["counterfeit"], reason="so it is here")
