"""Outcomes of cases that change from release to release: what is certain is true, by the ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from real_data import FOLDER, needs

import reissue as ri
from reissue.attacks import Worlds
from reissue.attacks.worlds.worlds import WorldsFindings
from reissue.attacks.worlds.worlds_changing import ChangingFindings
from reissue.model.published import Published

FOLLOWS = {"ACTIVE": ["RESOLVED", "FATAL"], "RESOLVED": ["FATAL", "ACTIVE"], "FATAL": []}


def viewed(frames: list[pl.DataFrame]) -> tuple[Published, dict[tuple[str, int], str]]:
    """Rows with equal quasi-identifiers are a group; and what everybody had in which release."""
    releases, truth = [], {}
    for number, frame in enumerate(frames, start=1):
        groups = frame.group_by("age", "sex", "area", maintain_order=True).agg("id", "outcome")
        releases.append([(ids, outcomes) for ids, outcomes in groups.select("id", "outcome").iter_rows()])
        truth.update({(who, number): value for who, value in frame.select("id", "outcome").iter_rows()})
    return Published.from_groups(releases), truth


def judged(view: Published, truth: dict[tuple[str, int], str], change: ri.ValueChange) -> ChangingFindings:
    """An attack of which no claim may be false."""
    found = Worlds(seconds=30).run(view, ri.Knowledge(change=change))
    assert isinstance(found, ChangingFindings) and not found.refuted
    claims = found.certain_values
    assert claims.height
    for person, release, value in claims.iter_rows():
        assert truth[str(view.name(person)), release] == view.values[value]
    impossible = found.posteriors.filter(pl.col("high") == 0)
    for row in impossible.iter_rows(named=True):
        assert truth[row["person"], row["release"]] != row["value"]
    return found


def changing_outcomes(frames: list[pl.DataFrame]) -> None:
    view, truth = viewed(frames)
    static = Worlds(seconds=30).run(view)
    assert isinstance(static, WorldsFindings) and any("contradict" in words for words in static.undecided)
    lives: dict[str, list[str]] = {}
    for (who, _), value in sorted(truth.items()):
        lives.setdefault(who, []).append(value)
    changed = sum(len(set(life)) > 1 for life in lives.values())
    free = judged(view, truth, ri.ValueChange())
    assert 0 < free.least.low <= changed and free.least.low == free.least.high
    known = judged(view, truth, ri.ValueChange(follows=FOLLOWS))
    both = judged(view, truth, ri.ValueChange(people=changed, follows=FOLLOWS))
    judged(view, truth, ri.ValueChange(people=changed))
    claims = [set(one.certain_values.iter_rows()) for one in (free, known, both)]
    assert claims[0] < claims[1] <= claims[2], "what may follow what is worth something"
    refuted = Worlds(seconds=30).run(view, ri.Knowledge(change=ri.ValueChange(people=free.least.low - 1)))
    assert isinstance(refuted, ChangingFindings) and refuted.refuted and not refuted.certain


def test_changing_outcomes_in_small() -> None:
    rng = np.random.default_rng(5)
    people = 300
    outcome = rng.choice(["ACTIVE", "RESOLVED", "FATAL"], people, p=[0.3, 0.6, 0.1]).astype(object)
    fixed = {
        "id": np.arange(people).astype(str),
        "age": rng.choice(["young", "middle", "old"], people),
        "sex": rng.choice(["female", "male"], people),
        "area": rng.choice([f"area {n}" for n in range(12)], people),
    }
    frames = []
    for _ in range(3):
        here = rng.random(people) < 0.93
        frames.append(pl.DataFrame({**fixed, "outcome": outcome.astype(str)}).filter(here))
        outcome[(rng.random(people) < 0.15) & (outcome == "ACTIVE")] = "RESOLVED"
        outcome[(rng.random(people) < 0.03) & (outcome == "RESOLVED")] = "FATAL"
    changing_outcomes(frames)


def test_the_ledger_agrees_with_what_is_certain_in_a_release(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    people = 400
    outcome = rng.choice(["active", "resolved", "fatal"], people, p=[0.3, 0.6, 0.1]).astype(object)
    fixed = {
        "id": np.arange(people).astype(str),
        "age": rng.choice(["young", "middle", "old"], people),
        "area": rng.choice([f"area {n}" for n in range(15)], people),
    }
    quasi = {name: ri.Categorical(new="accept") for name in ("age", "area")}
    schema = ri.Schema("id", quasi, {"outcome": ri.Categorical(new="accept")})
    follows = {"active": ["resolved"], "resolved": [], "fatal": []}
    with ri.open(tmp_path / "cases", ri.Policy(schema, ri.Mondrian(k=3), series="unprotected")) as series:
        for number in range(3):
            here = rng.random(people) < 0.93
            series.publish(pl.DataFrame({**fixed, "outcome": outcome.astype(str)}).filter(here), seed=number)
            outcome[(rng.random(people) < 0.1) & (outcome == "active")] = "resolved"
        for change in (ri.ValueChange(), ri.ValueChange(follows=follows)):
            report = series.audit(ri.Knowledge(change=change), limit="99/100", attacks=["Worlds"])
            assert report.truth is not None and report.truth.static == ()
            assert report.truth.certain.right == report.truth.certain.claims > 0
            assert all(report.mark(finding) == "right" for finding in report.findings if finding.probability == 1)


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_changing_outcomes_in_small")
def test_changing_outcomes_of_toronto() -> None:
    every = pl.read_parquet(FOLDER / "covid_linelists/toronto_releases.parquet").select(
        pl.col("release").cast(pl.String),
        id=pl.col("Assigned_ID").cast(pl.String),
        age=pl.col("Age Group").cast(pl.String).fill_null("unknown"),
        sex=pl.col("Client Gender").cast(pl.String).fill_null("unknown"),
        area=pl.col("FSA").cast(pl.String).fill_null("unknown"),
        outcome=pl.col("Outcome").cast(pl.String),
    )
    # A few areas: the whole city takes minutes.
    every = every.filter(pl.col("area").is_in(["M6H", "M6L", "M6M", "M6N"]))
    frames = [every.filter(pl.col("release") == one).drop("release") for one in every["release"].unique().sort()]
    changing_outcomes(frames)
