"""Random streams of arrivals, departures, returns and changes through a series, judged from outside."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.samples.census import census
from reissue.samples.streams import churn

SCHEMA = ri.Schema(
    person="person",
    quasi={"age": ri.Numeric(), "gender": ri.Categorical(), "birthplace": ri.Categorical(new="accept")},
    sensitive={"occupation": ri.Categorical(new="accept")},
    drop=["education"],
)


@examples(5)
@given(
    seed=st.integers(0, 10_000),
    arrivals=st.integers(0, 15),
    departures=st.integers(0, 15),
    returns=st.integers(0, 5),
    changes=st.integers(0, 8),
    form=st.sampled_from(["generalised", "anatomised"]),
)
def test_every_state_of_a_stream_is_published_whole(
    memory: Path, seed: int, arrivals: int, departures: int, returns: int, changes: int, form: str
) -> None:
    stream = churn(
        census(300, seed=seed), initial=60, arrivals=arrivals, departures=departures, returns=returns,
        changes=changes, releases=4, seed=seed,
    )  # fmt: skip
    # A stream at random may stand still, or have others each time.
    checks = ri.Checks(ids_return=0, newcomers_leavers=1, same_state="accept", telling_column=1)
    policy = ri.Policy(SCHEMA, ri.Mondrian(k=3, l=2), form=form, series="unprotected", checks=checks)  # type: ignore[arg-type]
    ever: set[int] = set()
    last: dict[int, tuple[Any, ...]] = {}
    with TemporaryDirectory(dir=memory) as folder, ri.open(Path(folder) / "s", policy) as series:
        for number, table in enumerate(stream, start=1):
            release = series.publish(table)
            now = {
                row[0]: row[1:] for row in table.select("person", "age", "gender", "birthplace", "occupation").rows()
            }
            stayed = now.keys() & last.keys()
            assert release.summary["changes"] == {
                "arrived": len(now.keys() - ever),
                "returned": len((now.keys() & ever) - last.keys()),
                "stayed": len(stayed),
                "gone": len(last.keys() - now.keys()),
                "changed_quasi": sum(now[p][:3] != last[p][:3] for p in stayed),
                "changed_value": sum(now[p][3] != last[p][3] for p in stayed),
            }
            members = series.private.members(number)
            assert sorted(members["person"].to_list()) == sorted(now)
            ever |= now.keys()
            last = now
            name = "table" if form == "generalised" else "sensitive"
            published = release.tables[name]
            often = pl.len() if form == "generalised" else pl.col("count").sum()
            counts = dict(published.group_by("occupation").agg(often).rows())
            assert counts == dict(table["occupation"].value_counts().rows())
        view = series.published()
        assert [release.members.size for release in view.releases] == [r.manifest["rows"] for r in series.releases]
        assert all(guarantee.check(view).holds for guarantee in policy.guarantees())
        assert series.verify() == []
    with_numbers = [set(release.members.tolist()) for release in view.releases]
    assert max(map(max, with_numbers)) == len(ever) - 1, "numbers are dense: nobody gets two"
