"""HD-composition over random streams: values appear, people leave, return, move, die; decoys become holders."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds

import reissue as ri
from reissue.attacks.permanence.permanence import Permanence
from reissue.errors import Infeasible
from reissue.guarantees import CohortBased, LScarce, RoleBased
from reissue.model.domain import OWN
from reissue.model.published import Published
from reissue.publishing.draft import Draft
from reissue.publishing.rehearsal import Rehearsal

PERMANENT = ("A", "B")


@dataclass
class World:
    """People on a plane who come, go, move, die and fall ill for ever."""

    rng: np.random.Generator
    l: int  # noqa: E741
    known: int
    permanent: tuple[str, ...]

    def __post_init__(self) -> None:
        rng = self.rng
        self.people = list(range(int(rng.integers(20, 70))))
        self.next = len(self.people)
        self.rate, self.move, self.die, self.flip = (float(rng.choice(some)) for some in RATES)
        self.place = {person: self._anywhere() for person in self.people}
        self.has: dict[int, set[str]] = defaultdict(set)
        for person in self.people:
            self._fall_ill(person, self.rate)
        self.present = {person for person in self.people if rng.random() < 0.6}
        self.values = [f"v{number}" for number in range(5 * self.l)]

    def _anywhere(self) -> tuple[int, str]:
        return int(self.rng.integers(0, 20)), "abcd"[self.rng.integers(0, 4)]

    def _fall_ill(self, person: int, rate: float) -> None:
        self.has[person] |= {value for value in self.permanent if self.rng.random() < rate}

    def step(self) -> None:
        rng = self.rng
        gone = {person for person in self.people if rng.random() < self.die}
        self.people = [person for person in self.people if person not in gone]
        self.present -= gone
        for person in self.people:
            if rng.random() < self.move:
                self.place[person] = self._anywhere()
            if rng.random() < self.flip:
                self.present ^= {person}
            self._fall_ill(person, self.rate / 3)
        for _ in range(int(rng.integers(0, 3))):
            self.place[self.next] = self._anywhere()
            self.people.append(self.next)
            self.present.add(self.next)
            self.next += 1

    def table(self) -> pl.DataFrame:
        rows = []
        for person in self.present:
            own = self.rng.choice(self.values, int(self.rng.integers(0 if self.has[person] else 1, 3)))
            rows += [(person, value) for value in sorted({*own.tolist(), *self.has[person]})]
        return pl.DataFrame(rows, schema={"id": pl.Int64, "d": pl.String}, orient="row")

    def registry(self) -> pl.DataFrame:
        rows = [(person, *self.place[person]) for person in self.people]
        return pl.DataFrame(rows, schema={"id": pl.Int64, "x": pl.Int64, "y": pl.String}, orient="row")

    def policy(self, container: int) -> ri.Policy:
        labels = ri.Categorical(values=(*self.values, *PERMANENT))
        quasi: Any = {"x": ri.Numeric(low=0, high=20), "y": ri.Categorical(values=tuple("abcd"))}
        schema = ri.Schema("id", quasi, {"d": labels}, permanent=self.permanent)
        return ri.Policy(schema, ri.HDComposition(l=self.l, container=container, known=self.known))


RATES = ([0.02, 0.05, 0.12], [0.0, 0.05, 0.25], [0.0, 0.03, 0.1], [0.1, 0.3, 0.6])


def told(world: World, container: int, releases: int, seed: int) -> list[Draft]:
    """The drafts of a stream; it ends early where a table cannot be published."""
    rehearsal = Rehearsal(world.policy(container))
    drafts = []
    for number in range(releases):
        try:
            drafts.append(rehearsal.publish(world.table(), registry=world.registry(), seed=seed + number))
        except Infeasible:
            break
        world.step()
    return drafts


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_the_principles_hold_and_nobody_is_certain_or_excluded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    l = int(rng.integers(2, 4))  # noqa: E741
    permanent = PERMANENT[: int(rng.integers(1, 3))]
    drafts = told(World(rng, l, 0, permanent), int(rng.integers(2, 7)), 5, seed)
    if not drafts:
        pytest.skip("the first table of this stream cannot be published")
    # Each release was judged by itself as it was made; here the series is judged as a whole.
    view = Published(tuple(draft.view.releases[0] for draft in drafts), drafts[0].view.values, single=False)
    roles = {draft.number: draft.grouping.roles for draft in drafts}
    for guarantee, secret in ((RoleBased(l), roles), (CohortBased(l), roles), (LScarce(l, 0, permanent), None)):
        verdict = guarantee.check(view, secret)
        assert verdict.holds, verdict.explanation
    found = Permanence(seconds=1, seed=1).run(view, ri.Knowledge(permanent=permanent, cohorts=l))
    assert not found.certain
    # Whoever plays a role now is not excluded.
    playing = {
        (owner, value)
        for owner, value in drafts[-1].grouping.roles.instances.filter("awake").select("owner", "value").rows()  # type: ignore[union-attr]
    }
    excluded = {(person, value) for person, values in found.excluded.items() for value in values}
    assert not playing & excluded
    assert found.risks["high"].max() is None or found.risks["high"].max() <= 1 / l + 1e-12
    # What is shown of permanent values is what the table has, but for those replaced and those of heirs.
    for draft in drafts:
        for value in permanent:
            code = draft.view.values.index(value)
            shown = int(draft.view.releases[0].counts[draft.view.releases[0].values == code].sum())
            held = int((draft.snapshot.values.codes == code).sum())
            hidden, inherited = 0, 0
            if draft.changed is not None:
                hidden = draft.changed.filter(pl.col(OWN).cast(pl.String) == value).height
                inherited = draft.changed.filter(pl.col("d").cast(pl.String) == value).height
            assert shown == held - hidden + inherited


@pytest.mark.parametrize("seed", seeds(2, 12, first=100))
def test_whoever_is_known_learns_no_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    l, known = int(rng.integers(2, 4)), int(rng.integers(1, 3))  # noqa: E741
    drafts = told(World(rng, l, known, PERMANENT[:1]), 4, 4, seed)
    if not drafts:
        pytest.skip("the first table of this stream cannot be published")
    view = Published(tuple(draft.view.releases[0] for draft in drafts), drafts[0].view.values, single=False)
    assert LScarce(l, known, PERMANENT[:1]).check(view).holds
    everybody = np.unique(np.concatenate([release.members for release in view.releases]))
    here = {
        int(person): [d.number for d in drafts if d.grouping.roles and person in d.grouping.roles.present]
        for person in everybody
    }
    for attempt in range(4):
        chosen = np.random.default_rng(attempt).choice(everybody, known, replace=False)
        present = {int(person): here[int(person)] for person in chosen}
        found = Permanence(seconds=1, seed=1).run(view, ri.Knowledge(permanent=PERMANENT[:1], present=present))
        assert not found.certain
        exact = found.risks.filter(pl.col("kind") == "exact")["probability"]
        assert exact.is_empty() or float(exact.max()) <= 1 / l + 1e-12  # type: ignore[arg-type]


def test_on_tiny_registries_the_exact_risk_is_at_most_one_in_l() -> None:
    exact = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        l = 2 + seed % 2  # noqa: E741
        size = int(rng.integers(2 * l + 2, 10))
        values = (*(f"v{number}" for number in range(size)), "A")
        schema = ri.Schema("id", {"x": ri.Numeric(low=0, high=9)}, {"d": ri.Categorical(values)}, permanent=["A"])
        rehearsal = Rehearsal(ri.Policy(schema, ri.HDComposition(l, 2)))
        people, ill = pl.DataFrame({"id": np.arange(size), "x": rng.permutation(size)}), int(rng.integers(size))
        drafts = []
        for number in range(3):
            here = [person for person in range(size) if person == 0 or rng.random() < 0.8]
            rows = [(person, f"v{person}") for person in here] + ([(ill, "A")] if ill in here else [])
            table = pl.DataFrame(rows, schema={"id": pl.Int64, "d": pl.String}, orient="row")
            drafts.append(rehearsal.publish(table, registry=people, seed=seed + number))
        view = Published(tuple(draft.view.releases[0] for draft in drafts), values, single=False)
        found = Permanence(seconds=2, seed=1).run(view, ri.Knowledge(permanent=["A"], cohorts=l))
        told = found.posteriors.filter(pl.col("kind") == "exact")["fraction"]
        assert all(Fraction(share) <= Fraction(1, l) for share in told)
        exact += told.len()
    assert exact > 10
