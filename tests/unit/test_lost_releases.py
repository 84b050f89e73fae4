"""A series that goes on after releases of which nobody knows the members: no promise spans them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.errors import ParameterError, Unprotected
from reissue.guarantees import SeriesGuarantee
from reissue.ledger.anchor import STATE


def _policy(method: Any, **schema: Any) -> ri.Policy:
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical()}
    form = "anatomised" if isinstance(method, ri.EEquivalence) else "generalised"
    return ri.Policy(ri.Schema("person", quasi, "illness", **schema), method, form=form)


METHODS: dict[str, tuple[ri.Policy, bool]] = {
    "MInvariance": (_policy(ri.MInvariance(m=2)), False),
    "EEquivalence": (_policy(ri.EEquivalence(m=2, e=2)), False),
    "CorSplit": (_policy(ri.CorSplit(m=2, n=2)), False),
    "Incremental": (_policy(ri.Incremental(l=2)), True),
    "StaticII": (_policy(ri.StaticII(l=2)), True),
    "HDComposition": (_policy(ri.HDComposition(l=2), permanent=["HIV"]), False),
}
"""By name: a policy with each method that protects a series, and whether its tables may only grow."""


def month(number: int, grows: bool) -> pl.DataFrame:
    people = [n for n in range(60 + 12 * number) if grows or (n + number) % 7]
    return pl.DataFrame(
        {
            "person": people,
            "age": [20 + n * 7 % 60 for n in people],
            "sex": ["female" if n % 2 else "male" for n in people],
            "illness": [["flu", "asthma", "cancer", "measles", "gout", "HIV"][n * 5 % 6] for n in people],
        }
    )


def published(series: ri.Series, number: int, grows: bool) -> ri.Release:
    table = month(number, grows)
    registry = table.drop("illness") if series.policy.method.takes.registry else None
    return series.publish(table, seed=number, registry=registry, allow=["few-groups"], reason="so it is here")


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))


def with_gap(folder: Path, policy: ri.Policy, grows: bool, *, known: int = 2, out: int = 3) -> Path:
    """An older copy of a series that goes on with the public files of the releases since."""
    with ri.open(folder / "newer", policy) as series:
        for number in range(1, out + 1):
            if number == known + 1:
                shutil.copytree(folder / "newer", folder / "older")
            published(series, number, grows)
    missing = [folder / "newer" / "public" / f"{number:04}" for number in range(known + 1, out + 1)]
    ri.resume(folder / "older", out=out, reason="the newer copy is gone", releases=missing).close()
    return folder / "older"


def series_promises(policy: ri.Policy) -> set[str]:
    return {one.title for one in policy.guarantees() if isinstance(one, SeriesGuarantee)}


@pytest.mark.parametrize("name", list(METHODS))
def test_no_promise_spans_the_gap(name: str, tmp_path: Path) -> None:
    policy, grows = METHODS[name]
    folder = with_gap(tmp_path, policy, grows)
    with ri.open(folder) as series:
        assert series.policy.series == "unprotected"
        assert series_promises(series.policy), "the test is about promises of series"
        for number in (4, 5):
            release = published(series, number, grows)
            assert release.number == number
            assert release.manifest["series"] == "unprotected"
            assert "nothing is promised of all releases together" in release.manifest["warnings"][-1]
            claimed = {*release.manifest["guarantees"], *release.summary["guarantees"]}
            assert not claimed & series_promises(policy)
            assert "unprotected" in " ".join(release.summary["notes"])
            record = json.loads((folder / "public" / f"{number:04}" / "release.json").read_text())
            assert record["series"] == "unprotected"
        assert series.verify() == []
        # Nor can it be made to promise again.
        series.amend(ri.Policy(policy.schema, policy.method, form=policy.form), "back to normal")
        assert series.in_the_way()
        with pytest.raises(Unprotected, match="comparing releases"):
            published(series, 6, grows)


def _asking() -> dict[str, Callable[[ri.Series], object]]:
    return {
        "members": lambda series: series.private.members(3),
        "held_back": lambda series: series.private.held_back(3),
        "replaced": lambda series: series.private.replaced(3),
        "roles": lambda series: series.private.roles(3),
        "utility": lambda series: series.utility(3),
        "published": lambda series: series.published(),
        "audit": lambda series: series.audit(),
        "audit with a draft": lambda series: series.audit(draft=series.draft(month(4, False))),
    }


@pytest.mark.parametrize("what", list(_asking()))
def test_what_needs_the_members_says_that_nobody_knows_them(what: str, tmp_path: Path) -> None:
    with ri.open(with_gap(tmp_path, *METHODS["MInvariance"])) as series:
        with pytest.raises(ParameterError, match="Who is in release 3 is not known here"):
            _asking()[what](series)
        assert series.private.members(2).height


def test_what_does_not_need_them_works(tmp_path: Path) -> None:
    folder = with_gap(tmp_path, *METHODS["MInvariance"])
    with ri.open(folder) as series:
        release = series.release(3)
        newer = pl.read_parquet(tmp_path / "newer" / "public" / "0003" / "table.parquet")
        assert release.tables["table"].equals(newer)
        assert release.summary["lost"] is True
        assert [event.kind for event in series._ledger.events()][-3:] == ["taken in", "amended", "resumed"]
        assert series.policies()[-1].reason == "the newer copy is gone"
        series.forget(3)  # before anything else is published: the last release has no tables of its own
        assert series.private.id_from_text("4") == 4
        release = published(series, 4, False)
        assert series.private.members(4).height
        assert series.utility(4) is not None
        assert (
            json.loads((release.folder / "release.json").read_text())["previous"]
            == json.loads((folder / "public" / "0003" / "release.json").read_text())["chain"]
        )
    assert ri.verify(folder).intact


def test_a_gate_cannot_judge_what_it_does_not_see(tmp_path: Path) -> None:
    policy = _policy(ri.MInvariance(m=2))
    gated = ri.Policy(policy.schema, policy.method, gate=ri.Gate(attacks=["Worlds"], limit="1/2", accept=["undecided"]))
    with ri.open(with_gap(tmp_path, gated, False)) as series, pytest.raises(ParameterError, match="not known here"):
        published(series, 4, False)


def test_several_lost_releases_and_a_second_gap(tmp_path: Path) -> None:
    policy, grows = METHODS["MInvariance"]
    folder = with_gap(tmp_path, policy, grows, known=1, out=3)
    with ri.open(folder) as series:
        assert published(series, 4, grows).summary["lost_releases"] == [2, 3]
    shutil.copytree(folder, tmp_path / "oldest")
    with ri.open(folder) as series:
        published(series, 5, grows)
    again = ri.resume(tmp_path / "oldest", out=5, reason="and again", releases=[folder / "public" / "0005"])
    with again as series:
        release = published(series, 6, grows)
        assert release.summary["lost_releases"] == [2, 3, 5]
        assert "Releases 2, 3, 5 of this series" in release.manifest["warnings"][-1]
        assert series.policies()[-1].version == 2  # it was unprotected already


def test_all_releases_lost(tmp_path: Path) -> None:
    policy, grows = METHODS["MInvariance"]
    ri.open(tmp_path / "newer", policy).close()
    ri.backup(tmp_path / "newer", tmp_path / "early.tar")
    with ri.open(tmp_path / "newer") as series:
        published(series, 1, grows)
    ri.restore(tmp_path / "early.tar", tmp_path / "back").close()
    resumed = ri.resume(
        tmp_path / "back", out=1, reason="nothing else is left", releases=[tmp_path / "newer" / "public" / "0001"]
    )
    with resumed as series:
        assert series.private.id_from_text("4") == "4"
        release = published(series, 2, grows)
        assert release.manifest["series"] == "unprotected"
        assert not {*release.manifest["guarantees"], *release.summary["guarantees"]} & series_promises(policy)
        release = published(series, 3, grows)
        assert not {*release.manifest["guarantees"], *release.summary["guarantees"]} & series_promises(policy)
        assert series.verify() == []


def test_hd_composition_after_releases_of_another_method(tmp_path: Path) -> None:
    """It counts releases as the series does, and not from the first one that it remembers."""
    policy, grows = METHODS["HDComposition"]
    first = ri.Policy(_policy(ri.Mondrian(k=3)).schema, ri.Mondrian(k=3), series="unprotected")
    with ri.open(tmp_path / "series", first) as series:
        published(series, 1, grows)
        series.amend(ri.Policy(policy.schema, policy.method, series="unprotected"), "some values are for ever")
        for number in (2, 3, 4):
            assert published(series, number, grows).number == number
