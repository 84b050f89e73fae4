"""What attacks rule out, as one table: the same as person by person."""

from __future__ import annotations

import random

import pytest
from profiles import seeds
from worlds import random_series, view, worlds

from reissue import attacks
from reissue.model.knowledge import Knowledge


@pytest.mark.parametrize("seed", seeds(40, 1_000))
def test_one_table_for_everybody(seed: int) -> None:
    rng = random.Random(seed)
    values = [f"v{n}" for n in range(rng.choice([3, 6, 90]))]
    series = random_series(rng, list(range(rng.randint(3, 14))), values, releases=rng.randint(1, 4))
    if rng.random() < 0.3:  # somebody's value changes, so that releases contradict each other
        series[-1] = [(who, [rng.choice(values) for _ in who]) for who, _ in series[-1]]
    published = view(series)
    world = next(worlds(series), {})
    known: dict[str | int, object] = {0: world[0]} if rng.random() < 0.5 and 0 in world else {}
    for attack in (attacks.Worlds(seconds=None), attacks.Correlation(), attacks.Channels()):
        found = attack.run(published, Knowledge(compromised=known))
        pairs = {(who, value) for who, some in found.excluded.items() for value in some}
        table = found.ruled_out
        if table is None:
            assert not pairs
            continue
        told = [(who, published.values[at]) for who, at in table.select("person", "position").iter_rows()]
        assert len(told) == len({*told}) and {*told} == pairs, attack.name
        assert table["claim"].n_unique() == table.height
