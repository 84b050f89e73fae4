"""Series that begin with releases made elsewhere: who goes on, who does not, and that nobody is betrayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds
from worlds import components, possible, worlds

import reissue as ri
from reissue.errors import (
    Infeasible,
    NotASeries,
    ParameterError,
    ReissueWarning,
    SeriesError,
    StorageError,
    TableError,
    Unprotected,
)
from reissue.foreign.reading import read_releases
from reissue.ledger import Ledger, creation
from reissue.publishing.adoption import adopt
from reissue.publishing.barred import BARRED
from reissue.publishing.gate import Gate
from reissue.publishing.inspection import without_people

Groups = list[tuple[list[str], list[object]]]

SCHEMA = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")})
POLICY = ri.Policy(SCHEMA, ri.MInvariance(m=2))

FIRST: Groups = [
    (["a", "b"], ["flu", "cold"]),
    (["c", "d"], ["flu", "gout"]),
    (["e", "f", "g"], ["flu", "flu", "cold"]),
]
SECOND: Groups = [(["a", "b"], ["flu", "cold"]), (["c", "e"], ["flu", "gout"])]
TABLE = pl.DataFrame({
    "id": ["a", "b", "c", "d", "e", "f", "g", "x", "y", "z", "w"], "age": list(range(20, 31)),
    "illness": ["flu", "cold", "gout", "flu", "flu", "flu", "cold", "gout", "flu", "cold", "flu"],
})  # fmt: skip


@pytest.fixture
def folder(memory: Path, tmp_path: Path) -> Path:
    """Where a test may make a series; nothing here needs a disk."""
    return memory / tmp_path.name


def view(*releases: Groups) -> ri.Published:
    return ri.Published.from_groups(releases)


def named(series: ri.Series) -> list[Groups]:
    """What an outsider sees of a series: releases, groups, (members, values)."""
    published = series.published()
    names = series._ledger.people()["id"].to_list()
    told = []
    for release in published.releases:
        groups: Groups = []
        for group in range(release.group_count):
            members = release.members[release.member_starts[group] : release.member_starts[group + 1]].tolist()
            at = range(release.value_starts[group], release.value_starts[group + 1])
            values = [published.values[release.values[i]] for i in at for _ in range(release.counts[i])]
            groups.append(([f"made up {-n}" if n < 0 else names[n] for n in members], values))
        told.append(groups)
    return told


def test_what_is_kept_of_adopted_releases(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series:
        assert [release.number for release in series.releases] == [1, 2]
        assert alike(named(series)) == alike([FIRST, SECOND])
        for number, groups in enumerate((FIRST, SECOND), start=1):
            members = series.private.members(number)
            assert sorted(members["person"].to_list()) == sorted(who for people, _ in groups for who in people)
        first = series.release(1)
        assert first.manifest["method"] == {"name": "adopted"}
        assert first.manifest["series"] == "adopted"
        assert first.tables["sensitive"].rows() == [
            (1, "cold", 1), (1, "flu", 1), (2, "flu", 1), (2, "gout", 1), (3, "cold", 1), (3, "flu", 2),
        ]  # fmt: skip
        assert series.release(2).summary["go_on"] == 2
        assert series.release(2).summary["barred"] == 5
        assert series.release(2).summary["formats"] == {"memory": 1, "m-invariance": 1}
        assert "formats" not in series.release(1).summary
        assert series.release(2).summary["changes"]["gone"] == 3
        assert [event.kind for event in series._ledger.events()] == ["created", "adopted", "adopted"]
        assert series.verify() == []
        with pytest.raises(ParameterError, match="made elsewhere"):
            series.utility(1)
    with ri.open(folder, POLICY) as series:
        assert len(series.releases) == 2


def alike(releases: list[Groups]) -> list[dict[frozenset[str], Counter[object]]]:
    """Releases without any order in them."""
    return [{frozenset(members): Counter(values) for members, values in groups} for groups in releases]


def test_what_adopted_releases_replaced_is_not_known(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST)) as series:
        series.publish(TABLE)
        with pytest.raises(ParameterError, match="Release 1 was made elsewhere: which values it replaced is not known"):
            series.private.replaced(1)
        assert series.private.replaced(2).shape == (0, 3)


def test_the_next_release_goes_on_and_holds_back(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series:
        release = series.publish(TABLE, allow=["withheld"], reason="so it is here")
        assert release.number == 3
        assert release.manifest["series"] == "protected"
        assert release.manifest["adopted"] == 2
        assert "came from elsewhere" in release.manifest["warnings"][0]
        held = series.private.held_back(3)
        assert sorted(held["person"].to_list()) == ["c", "d", "e", "f", "g"]
        assert set(held["reason"].to_list()) == {BARRED}
        signature = {who: frozenset(values) for people, values in named(series)[2] for who in people}
        assert signature["a"] == signature["b"] == {"flu", "cold"}
        assert {"x", "y", "z", "w"} <= set(signature)
        # For good: in the releases after, and whatever the policy becomes.
        series.publish(TABLE, allow=["same-state", "withheld"], reason="so it is here")
        assert sorted(series.private.held_back(4)["person"].to_list()) == ["c", "d", "e", "f", "g"]
        assert series.private.held_back(4)["since"].to_list() == [3] * 5
        series.amend(ri.Policy(SCHEMA, ri.Mondrian(k=2), series="unprotected"), "an experiment")
        series.publish(TABLE, allow=["same-state", "withheld"], reason="so it is here")
        assert sorted(series.private.held_back(5)["person"].to_list()) == ["c", "d", "e", "f", "g"]
        assert series.verify() == []


def test_nobody_else_may_be_left(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series, pytest.raises(Infeasible, match="Nobody can be"):
        series.publish(TABLE.filter(pl.col("id").is_in(["c", "d", "e"])))


def test_a_larger_m_than_was_adopted_with_is_refused_later(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST)) as series:
        series.amend(ri.Policy(SCHEMA, ri.MInvariance(m=3)), "stricter")
        with pytest.raises(Unprotected, match="m = 3 is more than the m = 2"):
            series.publish(TABLE)


def test_groups_with_values_several_times_need_merged_buckets(tmp_path: Path) -> None:
    twice: Groups = [(["a", "b", "f", "g"], ["flu", "flu", "cold", "cold"])]
    with adopt(tmp_path / "split", POLICY, view(twice)) as series:
        assert series.release(1).summary["barred"] == 4
    merged = ri.Policy(SCHEMA, ri.MInvariance(m=2, split=False))
    with adopt(tmp_path / "merged", merged, view(twice)) as series:
        assert series.release(1).summary["barred"] == 0
        series.publish(TABLE)
        assert series.private.held_back(2).height == 0


# Brute force


def highest(releases: list[Groups]) -> dict[str, Fraction]:
    """How likely the likeliest value of each person is, part by part."""
    likely = {}
    for part in components(releases):
        own = [[group for group in groups if part & set(group[0])] for groups in releases]
        likely |= {who: Fraction(max(often.values()), often.total()) for who, often in possible(own).items()}
    return likely


def lost(releases: list[Groups], m: int, once: bool) -> set[str]:
    """The people of parts in which some group is uneven or too small, or the sets of values differ."""
    bad: set[str] = set()
    for part in components(releases):
        often = [Counter(values) for groups in releases for members, values in groups if part & set(members)]
        even = all(len(set(counter.values())) == 1 and len(counter) >= m for counter in often)
        alone = not once or all(set(counter.values()) == {1} for counter in often)
        if not (even and alone and len({frozenset(counter) for counter in often}) == 1):
            bad |= part
    return bad


def random_past(rng: np.random.Generator, true: dict[str, str]) -> list[Groups]:
    """One to three releases of people in small groups, often pairs with different values that stay together."""
    people = list(true)
    past: list[Groups] = []
    for _ in range(rng.integers(1, 4)):
        if past and rng.random() < 0.5:
            groups = [members for members, _ in past[-1] if rng.random() < 0.8]
        else:
            order = [str(who) for who in rng.permutation(people)]
            groups = []
            while len(order) > 1 and len(groups) < 4:
                first = order.pop()
                other = next((who for who in order if true[who] != true[first]), order[0])
                order.remove(other)
                group = [first, other]
                while order and rng.random() < 0.25:
                    group.append(order.pop())
                groups.append(group)
        past.append([(members, [true[who] for who in members]) for members in groups])
    return [groups for groups in past if groups]


@pytest.mark.parametrize("seed", seeds(4, 40))
def test_nobody_published_here_is_ever_above_one_in_m(memory: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = ["flu", "cold", "gout"]
    true = {name: str(rng.choice(values)) for name in "abcdefgh"}
    past = random_past(rng, true)
    split = bool(seed % 2)
    policy = ri.Policy(SCHEMA, ri.MInvariance(m=2, split=split))
    bad = lost(past, 2, split)
    newcomers = {name: str(rng.choice(values)) for name in "uvwxyz"}
    with adopt(memory / f"adopted-{seed}", policy, view(*past)) as series:
        assert series.releases[-1].summary["barred"] == len(bad)
        for _ in range(2):
            everybody = {**true, **newcomers}
            here = [who for who in everybody if rng.random() < 0.75]
            here += [who for who in ("y", "z") if who not in here]
            table = pl.DataFrame({
                "id": here, "age": rng.integers(20, 60, len(here)), "illness": [everybody[who] for who in here],
            })  # fmt: skip
            if len({everybody[who] for who in here if who not in bad}) < 2:
                continue
            series.publish(table, seed=seed, allow=["withheld"], reason="so it is here")
            number = len(series.releases)
            assert set(series.private.held_back(number)["person"].to_list()) == bad & set(here)
            published = set(series.private.members(number)["person"].drop_nulls().to_list())
            assert published == set(here) - bad
        seen = named(series)
        likely = highest(seen)
        safe = {who for groups in seen[len(past) :] for members, _ in groups for who in members}
        safe |= {who for groups in past for members, _ in groups for who in members} - bad
        assert {who: likely[who] for who in safe if likely[who] > Fraction(1, 2)} == {}
        # What later releases show is not about those who were held back: they are no worse off than before.
        before = highest(past)
        assert {who: likely[who] for who in bad} == {who: before[who] for who in bad}
        # The checkers, judging from the first release on, agree with what they said release by release.
        names = series._ledger.people()
        barred = names.filter(pl.col("id").is_in(sorted(bad)))["number"].to_numpy().astype(np.int64)
        rest, _ = without_people(series.published(), barred)
        rest = replace(rest, releases=tuple(release for release in rest.releases if release.group_count))
        for guarantee in policy.guarantees():
            assert guarantee.check(rest).holds


EQUIVALENCE = ri.Policy(SCHEMA, ri.EEquivalence(m=2, e=2), form="anatomised")


def test_buckets_that_cannot_be_certified_are_held_back(memory: Path, tmp_path: Path) -> None:
    sound: Groups = [(["a", "b", "f", "g"], ["flu", "flu", "cold", "cold"])]
    # One left and another came: whoever knows the one knows the other.
    swapped: Groups = [(["a", "b", "f", "y"], ["flu", "flu", "cold", "cold"])]
    split: Groups = [(["a", "b"], ["flu", "cold"]), (["f", "g"], ["flu", "cold"])]
    for at, (past, barred) in enumerate([([sound], 0), ([sound, sound], 0), ([sound, swapped], 5), ([split], 4)]):
        with adopt(memory / f"{tmp_path.name}-{at}", EQUIVALENCE, view(*past)) as series:
            assert series.releases[-1].summary["barred"] == barred
            series.publish(TABLE, allow=["withheld"], reason="so it is here")
            assert len(series.private.held_back(len(past) + 1)) == barred
            assert series.published().releases[-1].group_count


@pytest.mark.parametrize("seed", seeds(4, 30))
def test_nobody_published_here_is_found_equal_to_another(memory: Path, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    true = {f"p{n}": ["flu", "cold", "gout"][n % (2 + seed % 2)] for n in range(10)}
    people = list(true)
    past: list[Groups] = []
    for _ in range(rng.integers(1, 4)):
        # A part of the table, balanced over flu and cold: four to six people, some of whom stay.
        each = int(rng.integers(2, 4))
        here = [who for value in ("flu", "cold") for who in _some(rng, [p for p in people if true[p] == value], each)]
        by_value = [[who for who in here if true[who] == value] for value in ("flu", "cold")]
        most = min(map(len, by_value))
        group = [who for own in by_value for who in own[:most]]
        past.append([(group, [true[who] for who in group])])
    with adopt(memory / f"equivalent-{seed}", EQUIVALENCE, view(*past)) as series:
        for _ in range(2):
            here = _some(rng, people, 7)
            table = pl.DataFrame({"id": here, "age": range(len(here)), "illness": [true[who] for who in here]})
            try:
                series.publish(table, seed=seed, allow=["withheld"], reason="so it is here")
            except Infeasible:
                continue
        seen = named(series)
        own = {who for groups in seen[len(past) :] for members, _ in groups for who in members}
        # Whoever is in another part can only be found equal if he is certain to have a value.
        for part in components(seen):
            found = list(worlds([[group for group in groups if part & set(group[0])] for groups in seen]))
            for who in own & part:
                assert max(Counter(world[who] for world in found).values()) <= len(found) / 2
                assert not any(all(w[who] == w[other] for w in found) for other in part - {who})


def _some(rng: np.random.Generator, people: list[str], count: int) -> list[str]:
    return [str(who) for who in rng.choice(people, min(count, len(people)), replace=False)]


def test_the_oracle_itself() -> None:
    # By hand: e shares flu with the second group of release 2 only, so c has gout and d flu; f and g share the rest.
    half = Fraction(1, 2)
    assert highest([FIRST, SECOND]) == {"a": half, "b": half, "c": 1, "d": 1, "e": 1, "f": half, "g": half}
    assert lost([FIRST, SECOND], 2, True) == set("cdefg")
    assert lost([FIRST], 2, True) == set("efg")


# What is given


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two releases as another tool might write them, with a list of members, and a policy."""
    (tmp_path / "r1.csv").write_text(
        "class,age,illness\nA,[20-29],flu\nA,[20-29],cold\nB,[30-39],flu\nB,[30-39],gout\n"
    )
    (tmp_path / "r2.csv").write_text("class,age,illness\n10,20-39,flu\n10,20-39,cold\n9,40-49,gout\n9,40-49,flu\n")
    (tmp_path / "members.csv").write_text(
        "person,release,group\n007,1,A\np2,1,A\np3,1,B\np4,1,B\n007,2,10\np2,2,10\np3,2,9\np4,2,9\n"
    )
    (tmp_path / "policy.toml").write_text(POLICY.to_toml())
    return tmp_path


def test_files_with_a_table_of_members(files: Path, folder: Path) -> None:
    releases = [files / "r1.csv", str(files / "r2.csv")]
    with adopt(folder, files / "policy.toml", releases, members=files / "members.csv", group="class") as series:
        assert sorted(series.private.members(1)["person"].to_list()) == ["007", "p2", "p3", "p4"]
        assert series.release(1).tables["table"].rows() == [
            (1, "[20-29]", "cold"), (1, "[20-29]", "flu"), (2, "[30-39]", "flu"), (2, "[30-39]", "gout"),
        ]  # fmt: skip
        # 9 comes before 10.
        assert series.private.members(2).filter(pl.col("group") == 1)["person"].to_list() == ["p3", "p4"]
        assert series.release(2).summary["barred"] == 0
        assert series.published().releases[1].region is not None


@pytest.mark.parametrize("names", [("1", "01"), ("1", "1.0"), ("A", "A "), (" 7", "7"), ("1", "+1")])
def test_groups_whose_names_differ_as_text_are_different(memory: Path, tmp_path: Path, names: tuple[str, str]) -> None:
    # Each group shows one value: merged they would look balanced, and nobody would be held back.
    one, other = names
    (tmp_path / "release.csv").write_text(f"group,illness\n{one},flu\n{one},flu\n{other},cold\n{other},cold\n")
    (tmp_path / "members.csv").write_text(f"person,release,group\na,1,{one}\nb,1,{one}\nc,1,{other}\nd,1,{other}\n")
    policy = ri.Policy(SCHEMA, ri.MInvariance(m=2, split=False), form="anatomised")
    with adopt(memory / tmp_path.name, policy, [tmp_path / "release.csv"], members=tmp_path / "members.csv") as series:
        assert series.release(1).summary["groups"] == 2
        assert series.release(1).summary["barred"] == 4
        assert alike(named(series)) == alike([[(["a", "b"], ["flu", "flu"]), (["c", "d"], ["cold", "cold"])]])


def test_groups_named_by_numbers_that_are_not_whole(folder: Path) -> None:
    release = pl.DataFrame(
        {"group": [1.0, 1.0, 1.5, 1.5], "id": list("abcd"), "illness": ["flu", "flu", "cold", "cold"]}
    )
    with adopt(folder, POLICY, [release]) as series:
        assert series.release(1).summary["groups"] == 2


def test_rows_without_a_group_are_told_apart_as_they_were_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "release.csv").write_text("id,zip,illness\na,01,flu\nb,01,flu\nc,1,cold\nd,1,cold\n")
    with adopt(folder, POLICY, [tmp_path / "release.csv"]) as series:
        assert series.release(1).summary["groups"] == 2
        assert series.release(1).tables["table"]["zip"].to_list() == ["01", "01", "1", "1"]


def test_the_persons_of_a_table_are_not_published(tmp_path: Path, folder: Path) -> None:
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive="illness", drop=["name"])
    table = pl.DataFrame({
        "id": ["CANARY-1", "CANARY-2"], "name": ["CANARY-3", "CANARY-4"], "age": ["20-29"] * 2,
        "illness": ["flu", "cold"],
    })  # fmt: skip
    with adopt(folder, ri.Policy(schema, ri.MInvariance(m=2)), [table]) as series:
        assert series.private.members(1)["person"].to_list() == ["CANARY-1", "CANARY-2"]
        assert series.release(1).tables["table"].columns == ["group", "age", "illness"]
    for path in (folder / "public").rglob("*"):
        assert not path.is_file() or b"CANARY" not in path.read_bytes()


def test_public_bytes_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    table = pl.DataFrame({
        "id": list("abcdef"), "age": ["1", "1", "2", "2", "3", "3"], "illness": ["flu", "cold", "gout"] * 2
    })  # fmt: skip
    written = []
    for order in range(3):
        folder = tmp_path / str(order)
        adopt(folder, POLICY, [table.sample(fraction=1.0, shuffle=True, seed=order)]).close()
        written.append((folder / "public" / "0001" / "table.parquet").read_bytes())
    assert written[0] == written[1] == written[2]


def test_ids_keep_their_type(folder: Path) -> None:
    members = pl.DataFrame({"id": [1, 2, 3, 4], "release": [1] * 4, "group": [1, 1, 2, 2]})
    release = pl.DataFrame({"group": [1, 1, 2, 2], "age": [5, 5, 6, 6], "illness": ["flu", "cold"] * 2})
    with adopt(folder, POLICY, [release], members=members) as series:
        series.publish(pl.DataFrame({"id": [1, 2, 9, 8], "age": [1, 2, 3, 4], "illness": ["flu", "cold"] * 2}))
        assert sorted(series.private.members(2)["person"].to_list()) == [1, 2, 8, 9]
        assert series.release(2).summary["changes"]["stayed"] == 2


def test_numbers_as_sensitive_values(folder: Path) -> None:
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"income": ri.Numeric()})
    given = view([(["a", "b"], [100, 250]), (["c", "d"], [100, 100])])
    with adopt(folder, ri.Policy(schema, ri.MInvariance(m=2)), given) as series:
        assert series.release(1).summary["barred"] == 2
        table = pl.DataFrame({"id": list("abcdxy"), "age": range(6), "income": [250, 100, 100, 100, 70, 80]})
        series.publish(table)
        assert sorted(series.private.held_back(2)["person"].to_list()) == ["c", "d"]
        assert frozenset([100, 250]) in {frozenset(values) for _, values in named(series)[1]}


def test_hashed_ids(tmp_path: Path, folder: Path) -> None:
    from reissue.tables.identities import make_key

    make_key(tmp_path / "key")
    policy = replace(POLICY, people=ri.Ids("hashed", str(tmp_path / "key")))
    with adopt(folder, policy, view(FIRST)) as series:
        assert series.private.pseudonym("a") in series.private.members(1)["person"].to_list()
        series.publish(TABLE)
        assert series.release(2).summary["changes"]["stayed"] == 7
    assert not any(b"illness-of" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_what_read_releases_gives(files: Path, folder: Path) -> None:
    (files / "named.csv").write_text("who,age,illness\nann,20-29,flu\nben,20-29,cold\n")
    foreign = read_releases([files / "named.csv"], sensitive="illness", person="who")
    with adopt(folder, POLICY, foreign) as series:
        assert series.private.members(1)["person"].to_list() == ["ann", "ben"]
    nobody = read_releases([files / "r1.csv"], sensitive="illness", group="class")
    with pytest.raises(ParameterError, match="known who was in every group"):
        adopt(folder.with_name("other"), POLICY, nobody)


def wrong(files: Path, folder: Path, **changes: Any) -> str:
    given: dict[str, Any] = {
        "releases": [files / "r1.csv", files / "r2.csv"], "members": files / "members.csv", "group": "class",
        "policy": POLICY, **changes,
    }  # fmt: skip
    with pytest.raises((ParameterError, TableError)) as caught:
        adopt(folder, given.pop("policy"), given.pop("releases"), **given)
    assert not folder.exists()
    return str(caught.value)


def test_mistakes_are_told_before_anything_is_made(files: Path, folder: Path) -> None:
    listed = pl.read_csv(files / "members.csv", infer_schema=False)
    assert "no columns 'release'" in wrong(files, folder, members=listed.drop("release"))
    assert "1 row names no release from 1 to 2" in wrong(files, folder, members=_with(listed, "release", "3"))
    assert "no such groups as 1 row" in wrong(files, folder, members=_with(listed, "group", "Z"))
    told = wrong(files, folder, members=listed.head(7))
    assert "release 2: 1 of 2 groups show more or fewer values" in told
    told = wrong(files, folder, members=_with(listed, "person", "p2"))
    assert "release 1: 1 person is named more than once" in told
    assert "Next step: name everybody who was in a release once" in told
    assert "no column 'id' that says who it is" in wrong(files, folder, members=None)
    assert "no column 'cell' for the groups" in wrong(files, folder, group="cell")
    assert "there is no column that names the groups" in wrong(files, folder, group=None)
    assert "no release to adopt" in wrong(files, folder, releases=[])
    assert "list of tables" in wrong(files, folder, releases=str(files / "r1.csv"))
    assert "already who is in" in wrong(files, folder, releases=view(FIRST))
    other = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive="diagnosis")
    assert "no column 'diagnosis'" in wrong(files, folder, policy=ri.Policy(other, ri.MInvariance(m=2)))
    table = pl.read_csv(files / "r1.csv").with_columns(age=pl.Series(["20", "21", "30", "30"]))
    assert "columns that differ within groups, beside the sensitive one: 'age'" in wrong(
        files, folder, releases=[table, files / "r2.csv"]
    )
    uncertain = ri.Published.from_groups([FIRST], single=False)
    assert "who it may be about" in wrong(files, folder, releases=uncertain, members=None, group=None)
    unnamed = replace(view(FIRST), people=None)
    assert "does not name people" in wrong(files, folder, releases=unnamed, members=None, group=None)


def test_mistakes_in_the_list_of_members_come_with_a_next_step(files: Path, folder: Path) -> None:
    listed = pl.read_csv(files / "members.csv", infer_schema=False)
    for column, value in [
        ("release", "0"), ("release", "3"), ("release", "1.5"), ("release", "first"), ("release", "-1"),
        ("release", None), ("group", "Z"), ("group", None), ("person", "p2"), ("person", "p3"), ("person", None),
    ]:  # fmt: skip
        assert "Next step: " in wrong(files, folder, members=_with(listed, column, value)), (column, value)
    assert "Next step: " in wrong(files, folder, members=listed.head(3))
    assert "Next step: " in wrong(files, folder, members=listed.drop("group"))
    # In two groups of one release, and a person who is left out for it.
    assert "Next step: " in wrong(files, folder, releases=view([(["a", "b"], [1, 2]), (["a", "c"], [1, 2])]), **NOTHING)
    assert "Next step: " in wrong(files, folder, members=None)
    assert "Next step: " in wrong(files, folder, group=None)
    empty: Groups = []
    assert "Next step: " in wrong(files, folder, releases=view(empty, FIRST), **NOTHING)


NOTHING: dict[str, Any] = {"members": None, "group": None}


@pytest.mark.parametrize(
    "releases",
    [
        pl.Series([1.5] + [1.0] * 3 + [2.0] * 4),
        pl.Series(["1.5"] + ["1"] * 3 + ["2"] * 4),
        pl.Series([True] * 8),
        pl.Series([1] * 4 + [2] * 4).cast(pl.Date),
        pl.Series([1.0] * 4 + [float("nan")] * 4),
    ],
    ids=["floats", "text", "truth", "dates", "nan"],
)
def test_a_release_is_a_whole_number(files: Path, folder: Path, releases: pl.Series) -> None:
    listed = pl.read_csv(files / "members.csv", infer_schema=False).with_columns(releases.alias("release"))
    assert "no release from 1 to 2" in wrong(files, folder, members=listed)


def test_whole_numbers_of_any_type_name_releases(files: Path, memory: Path, tmp_path: Path) -> None:
    listed = pl.read_csv(files / "members.csv", infer_schema=False)
    releases = [files / "r1.csv", files / "r2.csv"]
    for dtype in (pl.UInt8, pl.Float32, pl.String, pl.Categorical):
        members = listed.with_columns(
            pl.col("release").cast(dtype if dtype != pl.Categorical else pl.String).cast(dtype)
        )
        with adopt(memory / f"{tmp_path.name}-{dtype}", POLICY, releases, members=members, group="class") as series:
            assert series.release(2).summary["barred"] == 0


def _with(listed: pl.DataFrame, column: str, value: str | None) -> pl.DataFrame:
    """The list of members with another entry in its first row."""
    return listed.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


def test_methods_that_cannot_go_on_say_so(folder: Path) -> None:
    with pytest.raises(ParameterError, match="cannot go on") as caught:
        adopt(folder, ri.Policy(SCHEMA, ri.Mondrian(k=2)), view(FIRST))
    assert "'MInvariance', 'EEquivalence'" in str(caught.value)
    assert not folder.exists()


def test_values_never_surface_in_errors(folder: Path) -> None:
    canary: Groups = [(["CANARY-a", "CANARY-a"], ["CANARY-flu", "CANARY-cold"])]
    with pytest.raises(TableError) as caught:
        adopt(folder, POLICY, view(canary))
    assert "CANARY" not in str(caught.value)


# Whole or not at all


def test_a_series_that_is_there_is_left_alone(folder: Path) -> None:
    adopt(folder, POLICY, view(FIRST)).close()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(SeriesError, match="already"):
        adopt(folder, POLICY, view(SECOND))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("step", range(0, 10, 2))
def test_dying_on_the_way_leaves_no_series(folder: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    calls = 0

    def dying(work: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > step:
                raise OSError(28, "No space left on device")
            return work(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("stage_release", "sync_folder", "move", "write_text"):
            patch.setattr(creation, name, dying(getattr(creation, name)))
        with pytest.raises(StorageError):
            adopt(folder, POLICY, view(FIRST, SECOND))
    with pytest.raises(NotASeries):
        ri.open(folder)
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series:
        assert len(series.releases) == 2
        assert series.verify() == []
        assert series.publish(TABLE, allow=["withheld"], reason="so it is here").number == 3


def test_dying_before_files_are_moved_is_finished_by_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "open", classmethod(lambda cls, *a, **k: (_ for _ in ()).throw(KeyboardInterrupt)))
        with pytest.raises(KeyboardInterrupt):
            adopt(folder, POLICY, view(FIRST, SECOND))
    assert not list((folder / "public").iterdir())
    with pytest.warns(ReissueWarning, match="not in public/ yet"), ri.open(folder) as series:
        assert series.verify() == []
        assert series.release(2).tables["sensitive"].height == 4
        assert not list((folder / "public").iterdir())  # readers never write
        with pytest.warns(ReissueWarning, match="No anchor of this series was found"), series.writing():
            assert len(list((folder / "public").iterdir())) == 2


def test_an_interrupted_adoption_is_told_how_to_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(creation, "move", killed)
        with pytest.raises(KeyboardInterrupt):
            adopt(folder, POLICY, view(FIRST))
    assert (folder / creation.CREATING).exists()
    with pytest.raises(NotASeries, match="interrupted") as caught:
        ri.open(folder)
    assert caught.value.hint is not None
    for call in ("reissue publish", "reissue adopt", "ri.open(", "ri.adopt("):
        assert call in caught.value.hint


# Forgetting


def test_forgetting_somebody_who_is_barred_is_told(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series:
        (always,) = series.forget("a")
        assert "leave them out of later tables" in always
        told = series.forget("b", "c", "d")
        assert told[1:] == (always,)
        assert told[0].startswith("2 people of those forgotten must never be published again")
        release = series.publish(TABLE)
        # As said: c and d cannot be recognised any more.
        assert sorted(series.private.held_back(3)["person"].to_list()) == ["e", "f", "g"]
        assert release.summary["changes"]["arrived"] == 8
        # Those who are still known are barred as ever, in later releases too.
        assert series.forget("e")[0].startswith("1 person of those forgotten")


# The gate


def test_the_gate_answers_for_what_is_published_here(folder: Path) -> None:
    policy = replace(POLICY, gate=Gate(attacks=["Worlds"]))
    with adopt(folder, policy, view(FIRST, SECOND)) as series:
        release = series.publish(TABLE, allow=["withheld"], reason="so it is here")
        assert release.summary["gate"]["verdict"] == "passed"
        # Of the first release two groups, of the second one; nobody in them is ever seen again.
        assert release.summary["gate"]["groups_left_out"] == 3
        # The audit of the whole series leaves nobody out.
        report = series.audit(attacks=["Worlds"])
        assert not report.passed
        exposed = {series.private.name_of(finding.person) for finding in report.findings}
        assert exposed <= {"c", "d", "e", "f", "g"}
        likely = highest(named(series))
        assert exposed == {who for who in likely if likely[who] > Fraction(1, 2)}


def test_compromised_people_of_adopted_releases_are_not_made_up(folder: Path) -> None:
    with adopt(folder, POLICY, view(FIRST, SECOND)) as series:
        report = series.audit(attacks=["Worlds"], limit=1, compromised=1.0)
        assert report.knowledge is not None and report.knowledge.compromised == {}
        series.publish(TABLE, allow=["withheld"], reason="so it is here")
        report = series.audit(attacks=["Worlds"], limit=1, compromised=1.0)
        assert report.knowledge is not None
        known = {series.private.name_of(int(who)): value for who, value in report.knowledge.compromised.items()}
        true = dict(zip(TABLE["id"], TABLE["illness"], strict=True))
        assert known == {who: true[who] for who in ("a", "b", "w", "x", "y", "z")}
