"""All cut graphs of a series at once, against one `CutGraph` for each signature."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from profiles import seeds

from reissue.errors import InternalError
from reissue.reasoning.equality import cut_graphs
from reissue.reasoning.equality.cut_graph import CutGraph
from reissue.reasoning.equality.cut_graphs import Counts, CutGraphs, Turnover

NOBODY = Counts(*(np.empty(0, dtype=np.int64),) * 3)


def counts(by_bucket: dict[int, Counter[int]]) -> Counts:
    rows = [(s, came, n) for s, leaving in sorted(by_bucket.items()) for came, n in sorted(leaving.items()) if n]
    return Counts(*np.array(rows, dtype=np.int64).reshape(-1, 3).T) if rows else NOBODY


def turnover_of(number, entering, leaving, back, back_leaving) -> Turnover:
    touched = {
        s for s in entering if entering[s] or back[s] or any(leaving[s].values()) or any(back_leaving[s].values())
    }
    signature = np.array(sorted(touched), dtype=np.int64)
    return Turnover(
        number,
        signature,
        np.array([entering[s] for s in signature], dtype=np.int64),
        counts({s: leaving[s] for s in touched}),
        np.array([back[s] for s in signature], dtype=np.int64),
        counts({s: back_leaving[s] for s in touched}),
    )


@pytest.mark.parametrize("seed", seeds(4, 60))
@pytest.mark.parametrize("returns", [False, True])
def test_the_same_as_one_by_one(seed, returns, monkeypatch):
    rng = np.random.default_rng([seed, returns])
    e = int(rng.integers(1, 5))
    many, single = CutGraphs(e), {s: CutGraph(e) for s in range(5)}
    living: dict[int, Counter[int]] = {s: Counter() for s in range(5)}
    again: dict[int, Counter[int]] = {s: Counter() for s in range(5)}
    gone: dict[int, list[tuple[int, int]]] = {s: [] for s in range(5)}
    if returns:
        # Of merged nodes fewer may return, and a graph alone merges from 16 nodes on: here none does.
        monkeypatch.setattr(cut_graphs, "EARLY", 16)
    for number in range(1, 13 if returns else 40):
        back = Counter()
        if returns:
            asked = {s: gone[s][:1] for s in range(5) if gone[s] and rng.random() < 0.3}
            stays = [(s, *stay) for s, given in asked.items() for stay in given]
            columns = np.array(stays, dtype=np.int64).reshape(-1, 3).T
            admitted = many.admit(*columns).tolist()
            assert admitted == [single[s].admit([(came, left)])[0] for s, came, left in stays]
            for (s, came, left), yes in zip(stays, admitted, strict=True):
                if yes:
                    gone[s].remove((came, left))
                    back[s] += 1
        leaving, back_leaving, entering = {}, {}, {}
        for s in range(5):
            rate = 0.0 if rng.random() < 0.3 else rng.random() * 0.5
            leaving[s] = Counter({came: int(rng.binomial(n, rate)) for came, n in living[s].items()})
            back_leaving[s] = Counter({came: int(rng.binomial(n, rate)) for came, n in again[s].items()})
            entering[s] = int(rng.integers(0, 12)) if number == 1 or rng.random() < 0.8 else 0
        alive = [s for s in range(5) if living[s].total() + again[s].total() > 0]
        ended = [
            s
            for s in alive
            if leaving[s] == living[s] and back_leaving[s] == again[s] and not entering[s] and not back[s]
        ]
        many.end(np.array(ended, dtype=np.int64), number)
        for s in ended:
            single[s].end(number)
            gone[s] += [(came, number) for came in living[s].elements()]
            living[s], again[s] = Counter(), Counter()
            leaving[s], back_leaving[s] = Counter(), Counter()
        turnover = turnover_of(number, entering, leaving, back, back_leaving)
        missing = dict(zip(turnover.signature.tolist(), many.missing(turnover).tolist(), strict=True))
        for s in missing:
            arguments = {"returners_leaving": back_leaving[s], "returners_entering": back[s]}
            assert missing[s] == single[s].missing(number, leaving[s], entering[s], **arguments)
            entering[s] += missing[s]
            single[s].step(number, leaving[s], entering[s], **arguments)
        many.step(turnover_of(number, entering, leaving, back, back_leaving))
        for s in missing:
            gone[s] += [(came, number) for came in leaving[s].elements()]
            living[s] -= leaving[s]
            again[s] -= back_leaving[s]
            living[s][number] += entering[s]
            again[s][number] += back[s]
            assert many.graph(s).living == single[s].living
        assert many.living().tolist() == [s for s in range(5) if living[s].total() + again[s].total() > 0]
        many = CutGraphs.read(many.tables(), e)
    assert all((cut := many.graph(s).cut()) is None or cut >= 2 * e - 1 for s in range(5))


def test_e_can_fall_but_not_rise():
    graphs = CutGraphs(3)
    graphs.step(Turnover(1, np.array([0]), np.array([7]), NOBODY, np.array([0]), NOBODY))
    assert CutGraphs.read(graphs.tables(), 2).threshold == 5
    with pytest.raises(InternalError, match="kept for e = 3"):
        CutGraphs.read(graphs.tables(), 4)


def test_many_buckets_stay_small_over_many_releases():
    """A hundred buckets over a hundred releases: the tables do not grow with the history."""
    rng = np.random.default_rng(9)
    graphs, living = CutGraphs(5), {s: Counter() for s in range(100)}
    rows = []
    nothing = {s: Counter() for s in range(100)}
    for number in range(1, 101):
        leaving = {s: Counter({c: int(rng.binomial(n, 0.1)) for c, n in living[s].items()}) for s in range(100)}
        entering = {s: (40 if number == 1 else leaving[s].total()) for s in range(100)}
        turnover = turnover_of(number, entering, leaving, Counter(), nothing)
        for s, more in zip(turnover.signature.tolist(), graphs.missing(turnover).tolist(), strict=True):
            entering[s] += more
        graphs.step(turnover_of(number, entering, leaving, Counter(), nothing))
        for s in range(100):
            living[s] -= leaving[s]
            if entering[s]:
                living[s][number] += entering[s]
        rows.append(graphs.tables()["edges"].height)
    assert max(rows[50:]) < 1.5 * max(rows[:50])
