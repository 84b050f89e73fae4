"""Random streams through Alternatives: everybody is published, with a set that has their value, kept by the rule."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import reissue as ri
from reissue.errors import Refused
from reissue.publishing.checking.thresholds import NOTHING_ASKED

policy_of = partial(ri.Policy, checks=NOTHING_ASKED)
"""What checks would ask about random tables is not the matter here."""

VALUES = [f"value {number}" for number in range(8)]
SHARES = dict(zip(VALUES, [0.2, 0.17, 0.15, 0.13, 0.12, 0.1, 0.08, 0.05], strict=True))


def schema(permanent: list[str] | None = None) -> ri.Schema:
    return ri.Schema(
        "person",
        {"age": ri.Numeric(), "town": ri.Categorical()},
        {"illness": ri.Categorical(values=VALUES)},
        permanent=permanent or [],
    )


class Stream:
    """People who come, go and return; values are redrawn at a rate, but for the permanent ones."""

    def __init__(self, seed: int, rate: float, permanent: tuple[str, ...] = ()) -> None:
        self.rng, self.rate, self.permanent = np.random.default_rng(seed), rate, permanent
        self.illness = self.rng.choice(VALUES, 60, p=list(SHARES.values()))

    def table(self) -> pl.DataFrame:
        here = np.flatnonzero(self.rng.random(60) < 0.7)
        table = pl.DataFrame(
            {
                "person": [f"P-{number}" for number in here],
                "age": 20 + here % 50,
                "town": [("north", "south")[number % 2] for number in here],
                "illness": self.illness[here],
            }
        )
        again = (self.rng.random(60) < self.rate) & ~np.isin(self.illness, self.permanent)
        self.illness = np.where(again, self.rng.choice(VALUES, 60, p=list(SHARES.values())), self.illness)
        return table


def values_of(table: pl.DataFrame) -> dict[str, str]:
    return dict(table.select("person", "illness").rows())


@examples(6)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(2, 4),
    rate=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    k=st.sampled_from([None, 5]),
    permanent=st.sampled_from([(), ("value 5",), ("value 3", "value 7")]),
)
def test_everybody_is_published_with_their_value_among_others(
    memory: Path, seed: int, m: int, rate: float, k: int | None, permanent: tuple[str, ...]
) -> None:
    if not rate:
        permanent = ()
    stream = Stream(seed, rate, permanent)
    method = ri.Alternatives(m=m, reference=SHARES, change=rate or None, k=k)
    policy = policy_of(schema(list(permanent)), method)
    last: dict[str, tuple[str, list[str]]] = {}
    with TemporaryDirectory(dir=memory) as folder, ri.open(Path(folder) / "s", policy) as series:
        for number in range(1, 5):
            table = stream.table()
            release = series.publish(table)
            assert release.summary["held_back"] == {} and release.summary["counterfeits"] == 0
            own = values_of(table)
            sets = dict(series.private.members(number).rows())
            assert sets.keys() == own.keys()
            assert all(len(values) == m == len(set(values)) and values == sorted(values) for values in sets.values())
            assert all(own[person] in values for person, values in sets.items())
            for person in sets.keys() & last.keys():
                value, values = last[person]
                if not rate:
                    assert sets[person] == values
                # Whatever is permanent and once in a set stays in it.
                assert {*values} & {*permanent} <= {*sets[person]}
                if value == own[person] and rate == 0:
                    assert sets[person] == values
            last |= {person: (own[person], values) for person, values in sets.items()}
            published = release.tables["table"]
            assert sorted(map(tuple, published["illness"].to_list())) == sorted(map(tuple, sets.values()))
            assert published.columns[-1] == "illness" and "group" not in published.columns
        assert series.verify() == []
        view = series.published()
        assert [one.people.size for one in view.sets] == [one.manifest["rows"] for one in series.releases]


def test_the_order_of_rows_does_not_show(tmp_path: Path) -> None:
    """Rows are sorted by what they publish, so that neither their order nor that of values in a set tells anything."""
    table = Stream(1, 0.0).table()
    with ri.open(tmp_path / "s", policy_of(schema(), ri.Alternatives(m=3, reference=SHARES))) as series:
        release = series.publish(table.reverse())
        published = release.tables["table"]
        assert published.rows() == sorted(published.rows(), key=lambda row: (row[0], row[1], row[2]))


@pytest.mark.parametrize("seed", range(2))
def test_a_seed_gives_the_same_bytes(tmp_path: Path, seed: int) -> None:
    found = []
    for name in ("one", "other"):
        stream = Stream(seed, 0.3)
        policy = policy_of(schema(), ri.Alternatives(m=3, reference=SHARES, change=0.3))
        with ri.open(tmp_path / name, policy) as series:
            releases = [series.publish(stream.table(), seed=7 + at) for at in range(3)]
            found.append([path.read_bytes() for one in releases for path in sorted(one.folder.glob("*.parquet"))])
    assert found[0] == found[1]


def test_a_changed_value_is_refused_or_withheld_where_values_are_static(tmp_path: Path) -> None:
    stream = Stream(3, 0.0)
    first = stream.table()
    other = first.with_columns(
        illness=pl.when(pl.col("person") == first["person"][0])
        .then(pl.lit("value 7" if first["illness"][0] != "value 7" else "value 6"))
        .otherwise("illness")
    )
    with ri.open(tmp_path / "refuses", policy_of(schema(), ri.Alternatives(m=3, reference=SHARES))) as series:
        series.publish(first)
        with pytest.raises(Refused, match=r"1 person changed.*static") as refused:
            series.publish(other)
        assert "value" not in str(refused.value).replace("value of", "").replace("values", "")
        assert len(series.releases) == 1
    method = ri.Alternatives(m=3, reference=SHARES, changed="withhold")
    with ri.open(tmp_path / "withholds", policy_of(schema(), method)) as series:
        series.publish(first)
        release = series.publish(other)
        assert release.manifest["rows"] == first.height - 1
        assert series.private.held_back(2)["person"].to_list() == [first["person"][0]]
        back = series.publish(
            first, allow=["same-state"], reason="so it is here"
        )  # with the value of before they are published again, with the set of before
        assert back.manifest["rows"] == first.height
        sets = [dict(series.private.members(number).rows()) for number in (1, 3)]
        assert sets[0] == sets[1]


def published_once(folder: Path, method: ri.Alternatives, values: list[str], **more: object) -> ri.Release:
    table = pl.DataFrame({"person": range(len(values)), "age": [20] * len(values), "illness": values})
    sensitive = {"illness": ri.Categorical(new="accept")}
    policy = policy_of(ri.Schema("person", {"age": ri.Numeric()}, sensitive, **more), method)  # type: ignore[arg-type]
    with ri.open(folder, policy) as series:
        return series.publish(table)


def test_a_table_that_does_not_fit_the_reference_is_told(tmp_path: Path) -> None:
    shares = dict.fromkeys("abcdefgh", 1.0)
    fits = published_once(tmp_path / "fits", ri.Alternatives(m=3, reference=shares), list("abcdefgh") * 50)
    assert not any("reference" in note for note in fits.summary["notes"])
    often = published_once(
        tmp_path / "often", ri.Alternatives(m=3, reference=shares), list("abcdefgh") * 20 + ["a"] * 200
    )
    (note,) = [note for note in often.summary["notes"] if "reference" in note]
    # 220 of 360 in place of 45: a factor of 4.89; 20 in place of 45 for the two others: 4.89 / (4.89 + 2 x 0.44).
    assert "1 value is more frequent" in note and "4.9 times" in note and "0.85" in note
    misspelt = ri.Alternatives(m=3, reference=shares, harmless=["aa"])
    with pytest.raises(Refused, match="check the spelling"):
        published_once(tmp_path / "misspelt", misspelt, list("abcdefgh") * 50)


def test_a_reference_that_fits_those_who_come_is_not_called_wrong(tmp_path: Path) -> None:
    """Sets that are kept were drawn by the shares of their time: only those drawn now are held against the new ones."""
    even, shifted = dict.fromkeys("abcdefgh", 1.0), {**dict.fromkeys("abcdefgh", 1.0), "a": 2.0}
    columns = ({"age": ri.Numeric()}, {"illness": ri.Categorical()})
    policy = ri.Policy(ri.Schema("person", *columns), ri.Alternatives(m=3, reference=even))
    first = pl.DataFrame({"person": range(800), "age": 20, "illness": list("abcdefgh") * 100})
    more = pl.DataFrame({"person": range(800, 1_700), "age": 20, "illness": list("aabcdefgh") * 100})
    with ri.open(tmp_path / "s", policy) as series:
        series.publish(first)
        series.amend(replace(policy, method=replace(policy.method, reference=shifted)), "as those who come")
        release = series.publish(pl.concat([first, more]))
        assert not any("than the reference says" in note for note in release.summary["notes"])
        # Now others than that come: 284 of 900 are 'h', and 100 were expected.
        odd = more.with_columns(pl.col("person") + 1_000, illness=pl.Series(list("aabcdefgh") * 77 + ["h"] * 207))
        (note,) = [
            one
            for one in series.draft(pl.concat([first, odd]), allow=["outgrown-shares"], reason="here").notes
            if "than the reference says" in one
        ]
        assert f"up to {(77 + 207) / (900 / 9):.1f} times" in note


@pytest.mark.parametrize(
    ("method", "values", "more", "message"),
    [
        (ri.Alternatives(m=5, epsilon=1), [*"abc"] * 100, {}, "at least as many"),
        (ri.Alternatives(m=3, epsilon=1), ["a"] * 300 + [*"bcde"] * 40, {}, "more frequent than the limit"),
        (ri.Alternatives(m=3, epsilon=0.5), [*"abcdef"] * 100 + [f"r{n}" for n in range(400)], {}, "rare"),
        (ri.Alternatives(m=2, epsilon=1, change=0.1), [*"abcdef"] * 60 + ["HIV"], {"permanent": ["HIV"]}, "permanent"),
        (ri.Alternatives(m=2, epsilon=1), [*"abcdef"] * 60 + ["(other values)"], {}, "another name"),
        (ri.Alternatives(m=2, reference={"a": 1, "b": 1, "c": 1}), [*"abcd"] * 9, {}, "9 people have 1 value"),
    ],
)  # fmt: skip
def test_what_cannot_be_hidden_is_refused(
    tmp_path: Path, method: ri.Alternatives, values: list[str], more: dict[str, object], message: str
) -> None:
    with pytest.raises(ri.errors.ReissueError) as refused:
        published_once(tmp_path / "s", method, values, **more)
    assert message in str(refused.value)


def amended(folder: Path, first: ri.Alternatives, second: ri.Alternatives, releases: int = 2) -> ri.Release:
    """A series that goes on under another method of the same name."""
    stream = Stream(11, 0.0)
    with ri.open(folder, policy_of(schema(), first)) as series:
        for _ in range(releases - 1):
            series.publish(stream.table())
        series.amend(policy_of(schema(), second), "it is time")
        return series.publish(stream.table())


LOUD = {"epsilon": 5.0, "merge": 1.0, "limit": "2/3"}
MOVES = {one: {other: 0.86 if one == other else 0.02 for other in VALUES} for one in VALUES}
LABELLED = {**dict.fromkeys(VALUES[:6], 1.0), "(other values)": 1.0}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (ri.Alternatives(m=3, reference=SHARES, change=0.2), ri.Alternatives(m=3, reference=SHARES), "declared static"),
        (ri.Alternatives(m=2, reference=SHARES), ri.Alternatives(m=3, reference=SHARES), "m = 3"),
        (
            ri.Alternatives(m=2, reference=SHARES, change=0.2),
            ri.Alternatives(m=2, reference=SHARES, change=MOVES),
            "a table of change",
        ),
        (
            ri.Alternatives(m=3, change=0.1, **LOUD),
            ri.Alternatives(m=3, change=0.1, **{**LOUD, "merge": 2.0}),
            "drawn once",
        ),
        (ri.Alternatives(m=3, **LOUD), ri.Alternatives(m=3, given=["town"], **LOUD), "'given'"),
        (ri.Alternatives(m=3, reference=LABELLED), ri.Alternatives(m=3, reference=SHARES), "a name of its own"),
        (
            ri.Alternatives(m=3, reference=SHARES),
            ri.Alternatives(m=3, reference={"(other values)": 1.0, **dict.fromkeys(VALUES[:7], 1.0)}),
            "a name of its own",
        ),
    ],
)
def test_amendments_that_would_tell_are_refused(
    tmp_path: Path, first: ri.Alternatives, second: ri.Alternatives, message: str
) -> None:
    """Sets that are out were drawn by other rules: comparing them with new ones would give values away."""
    with pytest.raises(Refused) as refused:
        amended(tmp_path / "s", first, second, releases=3)
    assert message in str(refused.value)


def test_amendments_of_rates_and_shares_go_on(tmp_path: Path) -> None:
    rate = ri.Alternatives(m=3, reference=SHARES, change=0.2)
    other = ri.Alternatives(m=3, reference=dict.fromkeys(VALUES, 1.0), change=0.1)
    assert amended(tmp_path / "reference", rate, other).tables["design"]["version"].unique().to_list() == [1, 2]
    noised = ri.Alternatives(m=3, change=0.1, **LOUD)  # type: ignore[arg-type]
    lower = ri.Alternatives(m=3, change=0.05, **LOUD)  # type: ignore[arg-type]
    release = amended(tmp_path / "rate", noised, lower)
    assert "version" not in release.tables["design"].columns, "the table is not asked again"


def test_shares_with_noise_do_not_show_whether_anybody_is_rare(tmp_path: Path) -> None:
    """There is always a share for rare values."""
    everybody = [*"abcdef"] * 60
    for name, values in {"none": everybody, "one": [*everybody, "rare"]}.items():
        release = published_once(tmp_path / name, ri.Alternatives(m=2, epsilon=1), values)
        assert release.tables["design"]["illness"].to_list() == [*"abcdef", "(other values)"]


def test_moves_that_the_table_of_change_does_not_have(tmp_path: Path) -> None:
    here = {one: dict.fromkeys((one, VALUES[at ^ 1]), 0.5) for at, one in enumerate(VALUES)}
    first = pl.DataFrame({"person": range(80), "age": 30, "town": "north", "illness": VALUES * 10})
    moved = first.with_columns(illness=pl.when(pl.col("person") == 0).then(pl.lit(VALUES[5])).otherwise("illness"))
    for changed, rows in {"refuse": 0, "withhold": 79}.items():
        method = ri.Alternatives(m=2, reference=dict.fromkeys(VALUES, 1.0), change=here, changed=changed)  # type: ignore[arg-type]
        with ri.open(tmp_path / changed, policy_of(schema(), method)) as series:
            series.publish(first)
            if not rows:
                with pytest.raises(Refused, match="moved as the table"):
                    series.publish(moved)
                continue
            assert series.publish(moved).manifest["rows"] == rows


def test_regions_of_columns_that_share_labels(tmp_path: Path) -> None:
    """Two columns with the same labels are cut each by its own."""
    table = pl.DataFrame({"person": range(400), "sex": ["f", "m"] * 200, "town": ["f", "f", "m", "n"] * 100})
    table = table.with_columns(illness=pl.Series(VALUES * 50))
    columns = {"sex": ri.Categorical(), "town": ri.Categorical()}
    policy = policy_of(
        ri.Schema("person", columns, {"illness": ri.Categorical(values=VALUES)}),
        ri.Alternatives(m=3, reference=dict.fromkeys(VALUES, 1.0), k=5),
    )
    with ri.open(tmp_path / "s", policy) as series:
        first = series.publish(table)
        second = series.publish(table, allow=["same-state"], reason="so it is here")
    for release in (first, second):
        assert release.tables["table"].select("sex", "town").n_unique() == 4
