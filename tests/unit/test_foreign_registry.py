"""Registries that lack people, candidates without number, and values and files that are easily misread."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.base import Limits
from reissue.errors import TableError
from reissue.foreign import foreign_views as views
from reissue.foreign import read_releases
from reissue.foreign.matching import _kinds
from reissue.model.published import Published

LACKING = (
    "not every row can be that of another person in the registry; groups are compared by their regions, and nobody's "
    "place is concluded"
)


def table(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "dx"], orient="row")


def registry(**ages: str) -> pl.DataFrame:
    return pl.DataFrame({"n": list(ages), "age": list(ages.values())})


def is_of_regions(view: Published) -> bool:
    return not view.single and all(one.space is not None and not one.members.size for one in view.releases)


def test_strangers_of_two_releases_may_be_the_same_person() -> None:
    """Nobody registered is in the releases. Whoever is 27 may be in both, and then has b: the only value they share."""
    releases = [table(("20-30", "b"), ("20-30", "c")), table(("27", "b"), ("27", "d"))]
    foreign = read_releases(releases, sensitive="dx", registry=registry(Zoe="70"), person="n")
    assert is_of_regions(foreign.published)
    assert LACKING in foreign.notes
    assert foreign.unmatched.rows() == [
        (1, "people of the registry who fit no group", 1),
        (1, "groups with fewer candidates than rows, alone or together", 1),
        (1, "rows that nobody in the registry accounts for", 2),
        (2, "people of the registry who fit no group", 1),
        (2, "groups with fewer candidates than rows, alone or together", 1),
        (2, "rows that nobody in the registry accounts for", 2),
    ]
    found = ri.attacks.Channels().run(foreign.published)
    both = found.channels.filter(pl.col("kind") == "both").select("group_i", "group_j", "distinct")
    assert both.rows() == [(1, 1, 1)]
    assert found.judge(Limits(diversity=2)).status == "undecided"
    assert not ri.audit(foreign.published, limit=1 / 2).passed


@pytest.mark.parametrize("present", [None, "all"])
def test_a_registry_that_one_release_refutes_is_not_complete_in_another(present: str | None) -> None:
    """The row of the first release is Bob's, who is not registered, and not Ann's."""
    releases = [table(("25", "hiv")), table(("25", "hiv"), ("25", "flu"), ("40", "flu"))]
    foreign = read_releases(releases, sensitive="dx", registry=registry(Ann="25"), person="n", present=present)
    assert is_of_regions(foreign.published)
    assert LACKING in foreign.notes
    assert ri.attacks.Channels().run(foreign.published).certain == {}
    # The second release alone is refuted, the first alone is not.
    alone = read_releases(releases[:1], sensitive="dx", registry=registry(Ann="25"), person="n", present=present)
    assert alone.published.exact
    assert alone.notes[-1] == "everybody in the releases is taken to be in the registry, with one row in each"


def test_rows_that_stand_alone_do_not_pass_for_being_a_strangers() -> None:
    """Three people of 27, one in each release: each is exposed to whoever knows him, registered or not."""
    releases = [table(("27", "hiv")), table(("27", "flu")), table(("27", "gout"))]
    foreign = read_releases(releases, sensitive="dx", registry=registry(Zoe="70"), person="n")
    assert not ri.audit(foreign.published, limit=1 / 2).passed


def placed(ages: list[int], spans: list[tuple[int, int]], rows: list[int]) -> bool:
    """Whether people can be placed so that every row has somebody, by trying all ways."""
    options = [[-1, *(g for g, (low, high) in enumerate(spans) if low <= age <= high)] for age in ages]
    return any(all(way.count(g) >= size for g, size in enumerate(rows)) for way in product(*options))


def test_one_refuted_release_is_enough_in_any_series() -> None:
    seen = set()
    for seed in range(150):
        chance = random.Random(seed)
        ages = [chance.randrange(6) for _ in range(chance.randint(2, 6))]
        tables, complete = [], True
        for _ in range(2):
            ends = [tuple(sorted(chance.choices(range(6), k=2))) for _ in range(2)]
            spans = list(dict.fromkeys((low, high) for low, high in ends))
            rows = [chance.randint(1, 2) for _ in spans]
            complete &= placed(ages, spans, rows)
            cells = [f"[{low}, {high}]" for (low, high), size in zip(spans, rows, strict=True) for _ in range(size)]
            tables.append(pl.DataFrame({"age": cells, "dx": [chance.choice("ab") for _ in cells]}))
        people = pl.DataFrame({"n": [f"p{at}" for at in range(len(ages))], "age": ages})
        present = chance.choice([None, "all"])
        foreign = read_releases(tables, sensitive="dx", registry=people, person="n", present=present)
        assert is_of_regions(foreign.published) == (not complete), seed
        assert (LACKING in foreign.notes) == (not complete), seed
        seen.add(complete)
    assert seen == {True, False}


def test_people_who_fit_the_same_groups_are_taken_together() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        fits = rng.random((12, 4)) < 0.5
        person, group = np.nonzero(fits)
        shuffled = rng.permutation(person.size)
        left, kind, many = _kinds(group[shuffled], person[shuffled])
        kinds = [(frozenset(left[kind == at].tolist()), int(often)) for at, often in enumerate(many)]
        sets = [frozenset(np.flatnonzero(row).tolist()) for row in fits if row.any()]
        assert dict(kinds) == {one: sets.count(one) for one in sets}
        assert len(kinds) == len(set(sets))


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    release = table(("[0, 9]", "a"), ("[0, 9]", "b"), ("[1, 9]", "a"))
    people = registry(**{f"p{at}": str(at) for at in range(5)})
    monkeypatch.setattr(views, "MOST_CANDIDATES", 17)
    with pytest.raises(TableError, match="more than 17 pairs") as caught:
        read_releases([release, release], sensitive="dx", registry=people, person="n")
    assert "release 'table 2'" in caught.value.what
    assert caught.value.hint is not None
    # Five people fit the first group, four the second, in both releases.
    monkeypatch.setattr(views, "MOST_CANDIDATES", 18)
    found = read_releases([release, release], sensitive="dx", registry=people, person="n")
    assert [one.members.size for one in found.published.releases] == [9, 9]


def test_a_million_pairs_too_many_do_not_fill_the_memory() -> None:
    cells = [f"[{low}, {high}]" for low in range(20) for high in range(80, 130)]
    release = pl.DataFrame({"age": cells, "dx": ["a", "b"] * (len(cells) // 2)})
    people = pl.DataFrame({"n": [f"p{at}" for at in range(50_000)], "age": [20 + at % 60 for at in range(50_000)]})
    with pytest.raises(TableError, match="more than 20,000,000 pairs"):
        read_releases([release], sensitive="dx", registry=people, person="n")


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["250.1", "250.10"], ("250.1", "250.10")),
        (["1e2", "100"], ("100", "1e2")),
        (["1e400", "1e401"], ("1e400", "1e401")),
        (["0.1", "0.10000000000000000001"], ("0.1", "0.10000000000000000001")),
        (["9007199254740993", "9007199254740992"], ("9007199254740992", "9007199254740993")),
        (["-0", "0"], ("-0", "0")),
        (["01", "1"], ("01", "1")),
        (["10", "9", "9.5", "-3"], (-3, 9, 9.5, 10)),
    ],
)
def test_values_that_are_written_differently_are_different(texts: list[str], values: tuple[object, ...]) -> None:
    release = pl.DataFrame({"zip": ["1"] * len(texts), "id": [f"p{at}" for at in range(len(texts))], "dx": texts})
    foreign = read_releases([release], sensitive="dx", person="id")
    assert foreign.published.values == values
    numeric = not isinstance(values[0], str)
    assert (foreign.published.magnitudes is not None) == numeric
    assert any("written differently" in note for note in foreign.notes) == (not numeric)


def test_numbers_of_a_table_have_one_writing(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("zip,id,dx\n1,x,9\n1,y,10.5\n")
    typed = pl.DataFrame({"zip": [1, 1], "id": ["x", "y"], "dx": [9.0, 10.5]})
    foreign = read_releases([tmp_path / "1.csv", typed], sensitive="dx", person="id")
    assert foreign.published.values == (9, 10.5)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_every_usual_separator_is_understood(separator: str, tmp_path: Path) -> None:
    rows = [["age", "zip", "d"], ['"[1, 5]"', "537**", "a"], ['"[1, 5]"', "537**", "b"]]
    for name in ("r.csv", "r.tsv"):
        path = tmp_path / name
        path.write_text("\n".join(separator.join(row) for row in rows) + "\n")
        (release,) = read_releases(path, sensitive="d").published.releases
        assert release.region is not None
        assert release.region.rows() == [("[1, 5]", "537**")]


CANARY = "canary-77a0"


@pytest.mark.parametrize(
    ("content", "said", "step"),
    [
        (b"", "'1.csv' is empty", "first line"),
        (b"age,d\n[21, 25]," + CANARY.encode() + b"\n", "Line 2 of '1.csv' has 3 cells", "double quotes"),
        (b"age,d\n1,\x81" + CANARY.encode() + b"\n", "'1.csv' is not UTF-8: line 2", "UTF-8"),
    ],
)
def test_an_unreadable_file_comes_with_a_next_step(content: bytes, said: str, step: str, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_bytes(content)
    with pytest.raises(TableError) as caught:
        read_releases(tmp_path, sensitive="d")
    assert f"release '1.csv': {said}" in str(caught.value)
    assert step in str(caught.value.hint)
    assert CANARY not in str(caught.value)


def test_a_release_that_two_names_fit_is_refused(tmp_path: Path) -> None:
    for name in ("0", "1", "2"):
        (tmp_path / f"{name}.csv").write_text("age,d\n1,a\n1,b\n")
    people = pl.DataFrame({"id": ["x", "y", "z"], "age": [1, 1, 1]})

    def read(release: str) -> list[list[int]]:
        told = pl.DataFrame({"person": ["x"], "release": [release]})
        view = read_releases(tmp_path, sensitive="d", registry=people, person="id", present=told).published
        return [[] if one.sure is None else one.members[one.sure].tolist() for one in view.releases]

    assert read("1.csv") == [[], [0], []]
    assert read("3") == [[], [], [0]]
    assert read("0") == [[0], [], []]
    with pytest.raises(TableError, match="does not fit") as caught:
        read("1")
    assert caught.value.problems == ("1 row in which 'release' is the number of one release and the name of another",)
    assert "by their file with its ending" in str(caught.value.hint)
