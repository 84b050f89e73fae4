"""Riboni & Bettini 2009: Example 1 as the paper publishes it, and as m-invariance and Cor-Split do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from profiles import seeds, sized
from worked_examples import worked_examples
from worlds import possible

import reissue as ri
from reissue.attacks import Correlation, Worlds

SCHEMA = ri.Schema(
    person="name",
    quasi={
        "age": ri.Numeric(),
        "gender": ri.Hierarchy.from_nested({"Person": ["Male", "Female"]}),
        "zip": ri.Numeric(),
    },
    sensitive="disease",
)
CARL = ri.Knowledge(compromised={"Carl": "AIDS"})
Groups = list[tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def paper() -> Any:
    return worked_examples("riboni-2009")


def publish(paper: Any, chain: Any, method: object, seed: int, form: str = "generalised") -> Any:
    series = chain(ri.Policy(SCHEMA, method, form=form))  # type: ignore[arg-type]
    for time in ("T1", "T2"):
        rows = paper["microdata"][time]
        table = pl.DataFrame(rows, schema=["name", "age", "gender", "zip", "disease"], orient="row")
        series.publish(table, seed=seed)
    return series


def test_example_1_carl_gives_erica_away(paper: Any) -> None:
    view = ri.Published.from_groups(paper["series"])
    expected = paper["expect"]["with_compromised"]
    assert ri.guarantees.MInvariant(3).check(view).holds
    everyone = Worlds().run(view)
    assert {str(row["probability"])[:6] for row in everyone.posteriors.iter_rows(named=True)} == {"0.3333"}
    assert not everyone.certain
    for attack in (Correlation(), Worlds()):
        found = attack.run(view, CARL)
        assert found.certain == expected["certain"]
        left = {who: sorted({"AIDS", "bronchitis", "cancer"} - set(values)) for who, values in found.excluded.items()}
        assert left == {**expected["restricted"], "Erica": ["AIDS"]}
    by_hand = possible(paper["series"], {"Carl": "AIDS"})
    assert set(by_hand["Erica"]) == {"AIDS"}
    assert {who: sorted(values) for who, values in by_hand.items() if len(values) == 2} == expected["restricted"]
    pairs = {frozenset(map(frozenset, pair)) for pair in Correlation().run(view).correlations}
    assert pairs == {frozenset(map(frozenset, pair)) for pair in paper["expect"]["historical_correlations"]}
    # Of degree 2 and no more: Carl and Erica are tied.
    assert not ri.guarantees.HistoricallySafe(3, 2).check(view).holds
    assert ri.guarantees.HistoricallySafe(3, 1).check(view).holds


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("combined", [False, True])
def test_cor_split_on_the_same_tables_never_gives_erica_away(paper: Any, chain: Any, n: int, combined: bool) -> None:
    for seed in seeds(6, 60):
        series = publish(paper, chain, ri.CorSplit(3, n, combinations=combined), seed)
        groups, view = series.groups(), series.published()
        assert ri.guarantees.HistoricallySafe(3, n).check(view).holds
        left = possible(groups, {"Carl": "AIDS"})
        # They have the same value, so wherever both are in a group it has two of it: knowing Carl rules nothing out.
        assert set(left["Erica"]) == {"AIDS", "bronchitis", "cancer"}
        assert {who for who, values in left.items() if len(values) == 1} == {"Carl"}
        for attack in (Correlation(), Worlds()):
            found = attack.run(view, CARL)
            assert not found.certain
            assert "Erica" not in found.excluded


def test_m_invariance_on_the_same_tables_gives_somebody_away_to_whoever_knows_one(paper: Any, chain: Any) -> None:
    """The control: for some draws one person known makes another certain; by Cor-Split that is so for none."""
    value = {row[0]: row[4] for time in ("T1", "T2") for row in paper["microdata"][time]}
    exposed = Counter[str]()
    for seed in seeds(10, 60):
        for method in (ri.MInvariance(3), ri.CorSplit(3, 2), ri.CorSplit(3, 3)):
            groups = publish(paper, chain, method, seed).groups()
            for who in value:
                left = possible(groups, {who: value[who]})
                certain = [other for other in value if other != who and len(left[other]) == 1]
                exposed[method.name] += len(certain)
                exposed["Erica by Carl"] += method.name == "MInvariance" and who == "Carl" and "Erica" in certain
    assert exposed["MInvariance"] > sized(5, 20)
    assert exposed["Erica by Carl"] > 0
    assert exposed["CorSplit"] == 0


def test_the_papers_settings(paper: Any) -> None:
    for setting in paper["n_choose"]:
        p, L, m, h, n = (setting[name] for name in ("p", "L", "m", "h", "n"))
        assert ri.CorSplit(m, p=p, L=L, h=h).n == n
        assert ri.CorSplit(m, n, p=p, L=L, h=h).n == n
        # What the paper uses in both settings is allowed in both.
        assert ri.CorSplit(m, 3, p=p, L=L, h=h).n == 3
