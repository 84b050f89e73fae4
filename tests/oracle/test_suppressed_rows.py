"""Suppressed rows: what follows if they belong to no published class, against brute force and against known truth."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from profiles import seeds

import reissue as ri
from reissue.attacks import Channels, Differences, Limits, Worlds
from reissue.foreign.reading import read_releases
from reissue.model.knowledge import Knowledge

People = pl.DataFrame
"""`name`, `age`, `sex`, `value`: the truth."""


def full_domain(people: People, width: int, k: int) -> pl.DataFrame:
    """One width of ages for all; classes of fewer than k are suppressed as a whole, as ARX does it."""
    low = pl.col("age") // width * width
    cells = people.select(age=pl.format("[{}, {}[", low, low + width), sex="sex", value="value")
    small = pl.len().over("age", "sex") < k
    return cells.with_columns(
        pl.when(small).then(pl.lit("*")).otherwise(pl.col(name)).alias(name) for name in ("age", "sex")
    )


def people_of(rng: np.random.Generator, count: int, ages: int, values: str, start: int = 0) -> People:
    return pl.DataFrame(
        {
            "name": [f"p{start + n}" for n in range(count)],
            "age": rng.integers(0, ages, count),
            "sex": rng.choice(["F", "M"], count),
            "value": rng.choice([*values], count),
        }
    )


# Who can have which value, by brute force


def possible_values(
    releases: list[pl.DataFrame], present: list[list[int]], people: People, width: int
) -> list[set[str]]:
    """For everybody the values that they have in some world; a starred row is of somebody who fits no class."""
    cells = []
    for release, there in zip(releases, present, strict=True):
        shown = {*release.select("age", "sex").iter_rows()} - {("*", "*")}
        cell = {}
        for person in there:
            age, sex = people["age"][person], people["sex"][person]
            low = age // width * width
            own = (f"[{low}, {low + width}[", sex)
            cell[person] = own if own in shown else ("*", "*")
        cells.append(cell)
    counts = [Counter(release.iter_rows()) for release in releases]
    everybody = sorted({person for there in present for person in there})
    values = sorted({value for release in releases for value in release["value"]})
    found: list[set[str]] = [set() for _ in range(people.height)]

    def fits(given: dict[int, str], *, whole: bool) -> bool:
        for cell, count in zip(cells, counts, strict=True):
            held = Counter((*cell[person], value) for person, value in given.items() if person in cell)
            if any(often > count[row] for row, often in held.items()) or (whole and held != count):
                return False
        return True

    def go_on(given: dict[int, str]) -> None:
        if len(given) == len(everybody):
            if fits(given, whole=True):
                for person, value in given.items():
                    found[person].add(value)
            return
        person = everybody[len(given)]
        for value in values:
            if fits(more := {**given, person: value}, whole=False):
                go_on(more)

    go_on({})
    return found


@pytest.mark.parametrize("seed", seeds(30, 300))
def test_worlds_with_suppressed_classes_know_what_brute_force_knows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    releases: list[pl.DataFrame] = []
    while not releases or any(set(release["age"]) == {"*"} for release in releases):
        people = people_of(rng, 7, 6, "abc")
        width = int(rng.integers(1, 4))
        first = sorted(rng.choice(7, int(rng.integers(3, 7)), replace=False).tolist())
        present = [first, [*range(7)]]
        releases = [full_domain(people[there], width, 2) for there in present]
    there = pl.DataFrame(
        [(f"p{person}", str(at)) for at, some in enumerate(present, 1) for person in some],
        schema=["person", "release"],
        orient="row",
    )
    read = read_releases(
        releases,
        sensitive="value",
        registry=people.select("name", pl.col("age").cast(pl.String), "sex"),
        person="name",
        present=there,
        suppressed="class",
    )
    possible = possible_values(releases, present, people, width)
    certain = {f"p{person}": next(iter(some)) for person, some in enumerate(possible) if len(some) == 1}
    assert Worlds().run(read.published).certain == certain
    assert all(people["value"][int(name[1:])] == value for name, value in certain.items())


# Newcomers, read off by subtracting classes


def newcomers() -> tuple[list[pl.DataFrame], People, int]:
    """Two releases with suppressed classes, and the newcomers of the second by name and cell."""
    rng = np.random.default_rng(5)
    people = people_of(rng, 1_512, 72, "abcdefgh")
    more = people_of(rng, 60, 72, "abcdefgh", start=1_512)
    everybody = pl.concat([people, more])
    return [full_domain(people, 3, 25), full_domain(everybody, 3, 25)], more, 3


def test_newcomers_are_found_class_by_class_and_are_true() -> None:
    releases, more, width = newcomers()
    assert all(50 < (release["age"] == "*").sum() < 200 for release in releases)
    # By hand: classes in both releases, with one row more.
    before, after = (release.group_by("age", "sex").len() for release in releases)
    both = before.join(after, on=["age", "sex"], suffix="_after").filter(pl.col("age") != "*")
    single = both.filter(pl.col("len_after") == pl.col("len") + 1)
    low = pl.col("age") // width * width
    truth = more.with_columns(cell=pl.format("[{}, {}[", low, low + width)).join(
        single, left_on=["cell", "sex"], right_on=["age", "sex"]
    )
    assert truth.height == single.height > 10
    told = {(cell, sex): value for cell, sex, value in truth.select("cell", "sex", "value").iter_rows()}

    limits = Limits(probability=Fraction(1, 2), diversity=2)
    blind = read_releases(releases, sensitive="value")
    assert any("--suppressed class" in note and "full-domain" in note for note in blind.notes)
    found = Differences().run(blind.published, Knowledge(growing=True))
    judged = found.judge(limits)
    assert judged.status == "undecided" and "suppressed row" in judged.words and not judged.findings
    assert found.ledger["newcomers"].to_list() == [0]

    seen = read_releases(releases, sensitive="value", suppressed="class")
    assert not any("--suppressed" in note for note in seen.notes)
    found = Differences().run(seen.published, Knowledge(growing=True))
    judged = found.judge(limits, most=1_000)
    assert judged.status == "beyond"
    isolated = found.events.filter(what="newcomer", people=1)
    cells = [*dict.fromkeys(releases[1].select("age", "sex").iter_rows())]
    # Somebody may also be new among the suppressed rows.
    assert {cells[group - 1] for group in isolated["group_after"]} - {("*", "*")} == {*told}
    events = found.steps[0].events.filter((pl.col("what") == "newcomer") & (pl.col("people") == 1))
    for row in events.iter_rows(named=True):
        cell = cells[row["group_after"]]
        assert cell == ("*", "*") or seen.published.values[row["gained"]] == told[cell]
    certain = [one for one in judged.findings if one.what == "newcomer" and one.probability == 1]
    assert len(certain) >= truth.height and all("suppressed-class" in one.rests_on for one in certain)
    # The attack on pairs of releases reads off the same.
    channels = Channels(l=2).run(seen.published, Knowledge(growing=True)).judge(limits)
    assert channels.status == "beyond"
    assert Channels(l=2).run(blind.published, Knowledge(growing=True)).judge(limits).status == "within"


def test_nothing_is_called_proven_where_suppressed_rows_may_hide_anybody() -> None:
    releases, _, _ = newcomers()
    statuses = {}
    for said in (None, "anywhere", "class"):
        view = read_releases(releases, sensitive="value", suppressed=said).published  # type: ignore[arg-type]
        report = ri.audit(view, Knowledge(growing=True), limit=1 / 2, attacks=["Channels", "Differences"])
        statuses[said] = [run.judgement.status for run in report.runs]
        if said is None:
            assert "--suppressed class" in report.judgements["Channels"].words
            rows = sum(int((release["age"] == "*").sum()) for release in releases)
            assert report.verdict.startswith(f"Not passed: {rows} suppressed rows may be anybody's, and may hide")
            assert report.headline.sentence.startswith("What can be learnt from releases 1 and 2 together is not known")
        told = f"{report.verdict} {report.headline.sentence}".lower()
        assert ("nothing beyond the limits was found" in told) == (said == "anywhere")
    assert statuses == {
        None: ["undecided", "undecided"],
        "anywhere": ["within", "undecided"],
        "class": ["beyond", "beyond"],
    }


def test_whoever_fits_a_class_is_not_suppressed() -> None:
    """Ann fits the class that is published; only Bob is left for the starred row."""
    release = pl.DataFrame({"age": ["[20-29]", "[20-29]", "*"], "value": ["a", "b", "c"]})
    registry = pl.DataFrame({"name": ["Ann", "Eve", "Bob"], "age": ["25", "26", "70"]})
    more = {"sensitive": "value", "registry": registry, "person": "name"}
    for said, certain in (("class", {"Bob": "c"}), ("anywhere", {"Bob": "c"})):
        view = read_releases([release], suppressed=said, present="all", **more).published  # type: ignore[arg-type]
        assert Worlds().run(view).certain == certain
    wider = pl.concat([registry, pl.DataFrame({"name": ["Kim"], "age": ["27"]})])
    for said, present in (("class", {"Bob"}), (None, set())):
        view = read_releases([release], suppressed=said, **{**more, "registry": wider}).published  # type: ignore[arg-type]
        one = view.releases[0]
        sure = one.members[one.sure] if one.sure is not None else one.members
        assert {str(view.name(int(person))) for person in sure} >= present


def test_all_orders_of_rows_give_the_same() -> None:
    rows = [("[20-29]", "a"), ("[20-29]", "b"), ("*", "c"), ("*", "c")]
    words = set()
    for order in permutations(rows):
        frame = pl.DataFrame(order, schema=["age", "value"], orient="row")
        view = read_releases([frame], sensitive="value", suppressed="class").published
        words.add(Differences().run(view).judge(Limits(probability=Fraction(1, 2))).words)
    assert len(words) == 1
