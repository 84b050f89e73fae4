"""Series of sets of records: Tracking against every course, the checker against planted mistakes, the program."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from profiles import seeds, sized
from real_data import FOLDER, needs

import reissue as ri
from reissue.attacks import Limits, Tracking
from reissue.guarantees import OneAmong
from reissue.methods.alternatives.book import Book
from reissue.model.change import change_of
from reissue.model.published import Published
from reissue.model.record_design import RecordDesign
from reissue.model.records import record_cells, record_text, value_columns
from reissue.model.sets import Bridged, PublishedSets, SetDesigns, Sets
from reissue.publishing import archive
from reissue.reasoning.alternatives.record_designing import record_design_of, stated_factor, with_factor
from reissue.reasoning.alternatives.record_excess import excess
from reissue.reasoning.alternatives.record_flight import draw_records, law_of
from reissue.tables.set_texts import without_lists
from reissue.tables.set_views import read_designs
from reissue.utility.analysing.public_files import PublicRelease
from reissue.utility.analysing.sets_asked import SetsAsked

Set = tuple[int, ...]
NAMES = ("diagnosis", "ward", "outcome")


def designs_of(design: RecordDesign, change: Any = None) -> SetDesigns:
    letters = ("abcdefghijkl", "uvwxyz", "012345")
    labels = [record_text(letters[c][v] for c, v in enumerate(row)) for row in design.records.tolist()]
    order = sorted(range(len(labels)), key=labels.__getitem__)
    ordered = RecordDesign(
        design.m, design.records[order], design.shares[order], design.most[order], design.room, design.factor
    )
    columns = NAMES[: design.columns]
    told = change_of(change).to_dict()
    places = (np.arange(len(order)),)
    return SetDesigns(tuple(labels[at] for at in order), (ordered,), places, (1,), change=told, columns=columns)


def view_of(releases: list[Mapping[int, Set]], designs: SetDesigns) -> Published:
    built = []
    for at, release in enumerate(releases):
        people = np.array(sorted(release), dtype=np.int64)
        codes = np.array([sorted(release[person]) for person in people.tolist()], dtype=np.uint8)
        built.append(
            PublishedSets(
                at + 1, people, codes, np.zeros(people.size, np.int64), designs, np.arange(len(designs.labels))
            )
        )
    columns = value_columns(designs.columns, list(map(str, designs.labels)))
    return Published(Bridged(built), designs.labels, sets=tuple(built), columns=columns)


def small(rng: random.Random, columns: int) -> RecordDesign:
    size = [rng.randint(2, 3) for _ in range(columns)]
    every = list(np.ndindex(*size))
    records = rng.sample(every, min(len(every), rng.randint(4, 6)))
    weights = np.array([rng.randint(1, 4) for _ in records], dtype=float)
    return record_design_of(np.array(records), weights, rng.randint(2, 3), size)


def law(design: RecordDesign) -> dict[Set, float]:
    """P(S) of the sets that are not drawn again."""
    sets, chances = law_of(design)
    within = ~excess(design, sets).any(axis=1)
    whole = chances[within].sum()
    return {tuple(one): chance / whole for one, chance in zip(sets[within].tolist(), chances[within], strict=True)}


class Person:
    """The mechanism with a declared rate, and every course of records through somebody's sets."""

    def __init__(self, design: RecordDesign, declared: float, true: float) -> None:
        self.design, self.declared = design, declared
        self.law = law(design)
        self.chain = (1 - true) * np.eye(design.values) + true * design.shares
        self.whole = [sum(chance * one.count(r) for one, chance in self.law.items()) for r in range(design.values)]

    def given(self, record: int, chosen: Set) -> float:
        return self.law[chosen] * chosen.count(record) / self.whole[record]

    def weight(self, sets: Mapping[int, Set], course: Mapping[int, int]) -> float:
        times = sorted(sets)
        weight = float(self.design.shares[course[times[0]]]) * self.given(course[times[0]], sets[times[0]])
        for before, now in pairwise(times):
            old, new = course[before], course[now]
            weight *= np.linalg.matrix_power(self.chain, now - before)[old, new]
            fresh = self.given(new, sets[now])
            redrawn = 1 - (1 - self.declared) ** (now - before)
            share = self.design.shares[new]
            coin = redrawn * share / (1 - redrawn + redrawn * share)
            weight *= fresh if old != new else coin * fresh + (1 - coin) * (sets[before] == sets[now])
        return weight

    def posterior(self, sets: Mapping[int, Set]) -> dict[int, Any]:
        times = sorted(sets)
        found = {time: np.zeros(self.design.values) for time in times}
        for course in product(*(sorted(set(sets[time])) for time in times)):
            weight = self.weight(sets, dict(zip(times, course, strict=True)))
            for time, record in zip(times, course, strict=True):
                found[time][record] += weight
        return {time: one / one.sum() for time, one in found.items()}


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("seed", seeds(12, 150))
def test_tracking_against_every_course(seed: int, columns: int) -> None:
    rng = random.Random(seed)
    try:
        design = with_factor(small(rng, columns))
    except ri.errors.PolicyError:
        return  # too many sets are beyond a limit
    declared, true = rng.choice([0.1, 0.3]), rng.choice([None, 0.05, 0.5])
    designs = designs_of(design, declared)
    design = designs.of_records[0]
    person = Person(design, declared, declared if true is None else true)
    every = list(person.law)
    releases: list[dict[int, Set]] = [{} for _ in range(3)]
    for number in range(8):
        last: Set | None = None
        for at in range(3):
            if rng.random() < 0.2 and at:
                continue
            last = last if last is not None and rng.random() < 0.5 else rng.choice(every)
            releases[at][number] = last
    published = view_of(releases, designs)
    found = (Tracking() if true is None else Tracking(change=true)).run(published)
    rows = {(r["person"], r["release"], r["value"]): r for r in found.posteriors.iter_rows(named=True)}
    cells = {label: record_cells(str(label), columns) for label in designs.labels}
    for number in range(8):
        sets = {at: release[number] for at, release in enumerate(releases) if number in release}
        for at, chances in person.posterior(sets).items():
            for record, chance in enumerate(chances.tolist()):
                row = rows.get((number, at + 1, designs.labels[record]))
                low, high = (0.0, 0.0) if row is None else (row["low"], row["high"])
                assert low - 1e-9 <= chance <= high + 1e-9
                if design.factor == 1:
                    assert high == pytest.approx(chance, abs=1e-9)
                if row is not None and true is None and columns == 2:
                    assert Fraction(row["fraction"]) == Fraction(sets[at].count(record), design.m)
            # A column is the sum over its records.
            for c, name in enumerate(designs.columns):
                own = found.of_column(name).findings
                for value in {one[c] for one in cells.values()}:
                    expected = sum(chances[r] for r, label in enumerate(designs.labels) if cells[label][c] == value)
                    times = design.factor ** (1 if true is None else len(sets))
                    assert float(own.probability(number, value, at + 1)) <= expected * times + 1e-9
                    assert float(own.probability(number, value, at + 1)) >= expected * (2 - times) - 1e-9


@pytest.mark.parametrize("seed", seeds(20, 300))
def test_the_stated_factor_bounds_what_anybody_makes_of_three_columns(seed: int) -> None:
    """Over all sets of small designs, exactly: no posterior of a value is more than the factor times what is shown."""
    rng = random.Random(1_000 + seed)
    design = small(rng, 3)
    try:
        design = with_factor(design)
    except ri.errors.PolicyError:
        return
    person = Person(design, 0.1, 0.1)
    for chosen in person.law:
        odds = np.array([design.shares[r] * person.given(r, chosen) for r in range(design.values)])
        odds /= odds.sum()
        for c in range(3):
            for value in set(design.records[list(chosen), c].tolist()):
                shown = sum(design.records[r, c] == value for r in chosen)
                assert odds[design.records[:, c] == value].sum() <= design.factor * shown / design.m + 1e-12
                assert shown <= design.room[c][value]


# The checker


def crossed(sizes: tuple[int, ...], m: int, seed: int = 0) -> RecordDesign:
    """Columns that have to do with each other."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(int(np.prod(sizes)), 2.0)) + 1e-3
    records = np.array(list(np.ndindex(*sizes)))
    return with_factor(record_design_of(records, shares, m, list(sizes)))


def words_of(seed: int) -> Any:
    def words(rows: Any, number: int) -> Any:
        every = np.random.default_rng((seed, number)).integers(0, 2**64, (1 << 14, 24), dtype=np.uint64)
        return every[rows]

    return words


def judged(designs: SetDesigns, sets: Any, own: Any, **promised: Any) -> Any:
    people = np.arange(len(own))
    design = np.zeros(people.size, dtype=np.int64)
    view = PublishedSets(1, people, sets.astype(np.uint8), design, designs, np.arange(len(designs.labels)))
    columns = value_columns(designs.columns, list(map(str, designs.labels)))
    secret = Sets(sets.astype(np.uint8), np.ones(people.size, dtype=np.bool_), designs, design, own)
    limits = {
        name: str(Fraction(int(designs.room_of(0, c).max()), designs.m)) for c, name in enumerate(designs.columns)
    }
    promise = OneAmong(designs.m, **{"columns": limits, **promised})
    return promise.check(Published(Bridged([view]), designs.labels, sets=(view,), columns=columns), {1: secret})


@pytest.mark.parametrize("sizes", [(6, 3), (5, 3, 2)])
def test_what_is_drawn_as_it_should_passes(sizes: tuple[int, ...]) -> None:
    designs = designs_of(crossed(sizes, 4))
    design = designs.of_records[0]
    rng = np.random.default_rng(1)
    own = rng.choice(design.values, 6_000, p=rng.dirichlet(np.full(design.values, 1.0)))
    verdict = judged(designs, draw_records(design, own, words_of(2)), own)
    assert verdict.holds, verdict.explanation
    assert verdict.worst == max(float(room.max()) for room in design.room) / 4


def planted(design: RecordDesign, own: Any, mistake: str, rng: np.random.Generator) -> Any:
    """Sets with a mistake in how they were drawn."""
    free = draw_records(design, np.full(own.size, -1), words_of(3)).astype(np.int64)
    right = draw_records(design, own, words_of(4)).astype(np.int64)
    if mistake == "the true record put into any set":
        free[:, rng.integers(0, design.m)] = own
        return np.sort(free, axis=1)
    if mistake == "decoys that like the true ward":
        for row in np.flatnonzero(rng.random(own.size) < 0.3):
            alike = np.flatnonzero(design.records[:, 1] == design.records[own[row], 1])
            at = int(np.flatnonzero(right[row] != own[row])[0]) if (right[row] != own[row]).any() else 0
            right[row, at] = rng.choice(alike)
        return np.sort(right, axis=1)
    if mistake == "one set for each record":
        return right[np.unique(own, return_index=True)[1][np.unique(own, return_inverse=True)[1]]]
    if mistake == "without the true record":
        right[:50] = draw_records(design, (own[:50] + 1) % design.values, words_of(5))
        return right
    if mistake == "out of order":
        return np.concatenate([right[:, 1:], right[:, :1]], axis=1)
    raise AssertionError(mistake)


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("the true record put into any set", "as often as the design says|more places"),
        ("decoys that like the true ward", "stands in sets more often|more places|as often as the design"),
        ("one set for each record", "same set more often"),
        ("without the true record", "without the true value"),
        ("out of order", "out of order"),
    ],
)
def test_planted_mistakes_are_found(mistake: str, told: str) -> None:
    designs = designs_of(crossed((8, 4), 5))
    design = designs.of_records[0]
    rng = np.random.default_rng(5)
    own = rng.choice(design.values, 8_000, p=design.shares)
    verdict = judged(designs, planted(design, own, mistake, rng), own)
    assert not verdict.holds
    assert any(one in verdict.explanation for one in told.split("|")), verdict.explanation


def test_designs_that_promise_too_much() -> None:
    designs = designs_of(crossed((5, 3, 2), 4))
    design = designs.of_records[0]
    own = np.random.default_rng(0).choice(design.values, 2_000, p=design.shares)
    sets = draw_records(design, own, words_of(1))
    assert not judged(designs, sets, own, columns=dict.fromkeys(designs.columns, "1/4")).holds
    assert design.factor > 1
    modest = replace(designs, designs=(replace(design, factor=1.0),))
    assert "states a factor of 1.0000" in judged(modest, sets, own).explanation
    assert stated_factor(design) == design.factor
    crowded = sets.copy()
    crowded[:3] = crowded[:3, :1]
    assert "more places" in judged(designs, crowded, own).explanation
    with pytest.raises(ri.errors.ParameterError, match="from 1/4 to below 1"):
        OneAmong(4, columns={"ward": "1/5"})
    with pytest.raises(ri.errors.ParameterError, match="for one sensitive column"):
        OneAmong(4, columns={"ward": "1/2"}, limit="1/2")


# The program


def people(seed: int, count: int, first: int = 0) -> pl.DataFrame:
    """Diagnoses, wards that follow from them, and days that follow from both."""
    rng = np.random.default_rng(seed)
    diagnosis = rng.choice(10, count, p=rng.dirichlet(np.full(10, 20.0)))
    ward = (diagnosis // 3 + (rng.random(count) < 0.3) * rng.integers(0, 3, count)) % 4
    days = 1 + (ward + rng.integers(0, 2, count)) % 4
    return pl.DataFrame(
        {
            "id": np.arange(first, first + count),
            "age": rng.integers(20, 90, count),
            "diagnosis": [f"d{one}" for one in diagnosis],
            "ward": [f"w{one}" for one in ward],
            "days": days,
        }
    )


def schema(names: tuple[str, ...], **limits: str) -> ri.Schema:
    kinds = {"diagnosis": ri.Categorical(), "ward": ri.Categorical(), "days": ri.Numeric()}
    return ri.Schema(
        "id", {"age": ri.Numeric()}, {name: kinds[name] for name in names}, limits=limits,
        drop=[name for name in kinds if name not in names],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "m"), [(("diagnosis", "ward"), 5), (("diagnosis", "days"), 5), (("diagnosis", "ward", "days"), 8)]
)
def test_true_values_are_as_often_as_sets_say(tmp_path: Path, names: tuple[str, ...], m: int) -> None:
    """The program's own draws: of all who show a value of a column in k of m records, k/m have it."""
    table = people(0, sized(12_000, 100_000))
    limits = {"diagnosis": "2/5", "ward": "4/5", "days": "4/5"}
    # Shares from outside that are the table's own, so that whoever expects them is right.
    counts = Counter(table.select(*names).cast(pl.String).iter_rows())
    reference = {record_text(record): float(often) for record, often in counts.items()}
    policy = ri.Policy(
        schema(names, **{name: limits[name] for name in names}), ri.Alternatives(m=m, reference=reference)
    )
    with ri.open(tmp_path / "s", policy) as series:
        release = series.publish(table)
        shown = series.private.members(1).join(table, left_on="person", right_on="id")
        factor = max(release.manifest["design"]["factors"])
        assert (factor == 1) == (len(names) == 2)
        report = series.audit()
        assert report.passed, report.verdict
        rows = {row["column"]: row for _, _, one in report.sections for row in one.iter_rows(named=True)}
        assert set(rows) == set(names)
    table_of_sets = release.tables["table"]
    assert set(table_of_sets.columns) == {"age", *names}
    assert all(table_of_sets[name].list.len().unique().to_list() == [m] for name in names)
    for name in names:
        often = shown[f"{name}_alternatives"].list.eval(pl.element().cast(pl.String))
        own = shown[name].cast(pl.String)
        every = pl.DataFrame({"own": own, "shown": often}).with_row_index("row").explode("shown")
        counted = every.group_by("row", "own", "shown").len("places")
        calibrated = counted.group_by("places").agg(pl.len(), true=(pl.col("own") == pl.col("shown")).sum())
        for places, size, true in calibrated.iter_rows():
            expected, spread = size * places / m, np.sqrt(size * places / m)
            assert true <= expected * factor + 5.5 * spread + 1
            assert true >= expected * (2 - factor) - 5.5 * spread - 1


@pytest.mark.parametrize("names", [("diagnosis", "days"), ("ward", "diagnosis"), ("diagnosis", "ward", "days")])
def test_whoever_reads_the_public_files_has_the_same_design(tmp_path: Path, names: tuple[str, ...]) -> None:
    """How probable sets are depends on the order of values: from other codes the same shares would give another law."""
    limits = {"diagnosis": "3/8", "ward": "6/8", "days": "6/8"}
    policy = ri.Policy(
        schema(names, **{name: limits[name] for name in names}),
        ri.Alternatives(m=8, epsilon=4.0, merge=2.0),
        checks=ri.Checks(unanswerable="accept"),
    )
    with ri.open(tmp_path / "s", policy) as series:
        release = series.publish(people(4, 6_000))
        drawn = Book.read(archive.memory(series._ledger, 1))
    assert drawn is not None
    tables = {name: pl.read_parquet(tmp_path / "s" / "public" / "0001" / f"{name}.parquet") for name in release.tables}
    csv = {name: pl.read_csv(io.BytesIO(without_lists(one).write_csv().encode())) for name, one in tables.items()}
    record = json.loads((tmp_path / "s" / "public" / "0001" / "release.json").read_text())
    for read in (tables, csv):
        asked = SetsAsked(PublicRelease(1, read, record), {}, {})
        assert asked.release.sensitive_columns == names
        assert asked.designs.labels == drawn.designs.labels
        assert asked.designs.designs == drawn.designs.designs
        found = read_designs(read, record["design"], policy.schema.sensitive)
        assert found.labels == drawn.designs.labels
        assert found.designs == drawn.designs.designs
        assert [one.tolist() for one in found.places] == [one.tolist() for one in drawn.designs.places]


def test_a_series_of_records(tmp_path: Path) -> None:
    """Values change and people come and go: sets are kept, renewed and drawn, and everything is proven in the end."""
    names = ("diagnosis", "ward")
    policy = ri.Policy(
        schema(names, diagnosis="2/5", ward="4/5"),
        ri.Alternatives(m=5, epsilon=4.0, merge=3.0, change=0.2),
        checks=ri.Checks(unanswerable="accept"),
    )
    table = people(1, 6_000)
    rng = np.random.default_rng(2)
    with ri.open(tmp_path / "s", policy) as series:
        for number in range(4):
            release = series.publish(table)
            assert release.manifest["series"] == "protected"
            assert release.manifest["rows"] == table.height
            again = pl.Series(rng.random(table.height) < 0.2)
            others = table.select(names).sample(table.height, shuffle=True, seed=number)
            moved = table.with_columns(
                pl.when(again).then(others[name]).otherwise(pl.col(name)).alias(name) for name in names
            )
            table = pl.concat(
                [moved.sample(fraction=0.9, seed=number), people(10 + number, 300, 10_000 * (number + 1))]
            )
        report = series.audit()
        assert report.passed, report.text()
        assert series.verify() == []
        kept = [one.summary["sets_kept"] for one in series.releases]
        assert kept[0] == 0
        assert all(kept[1:])
    # A tighter limit for a running series is what is out cannot keep.
    with ri.open(tmp_path / "s") as series:
        tighter = replace(policy, schema=schema(names, diagnosis="1/5", ward="4/5"))
        series.amend(tighter, "less")
        with pytest.raises(ri.errors.ReissueError):
            series.publish(table)


def test_what_is_refused_with_several_columns(tmp_path: Path) -> None:
    names = ("diagnosis", "ward")
    for words, more in {
        "'given' is for one sensitive column": {"given": ["age"]},
        "a table of change is for one sensitive column": {"change": {"d1": 0.1}},
        "is said column by column": {"limits": {"d1": "1/2"}},
        "the limit of a whole column is the schema's": {"limits": {"diagnosis": "1/2"}},
        "no sensitive column: 'floor'": {"harmless": {"floor": ["w1"]}},
    }.items():
        with pytest.raises(ri.errors.PolicyError, match=words):
            ri.Policy(schema(names), ri.Alternatives(m=4, **more))  # type: ignore[arg-type]
    with pytest.raises(ri.errors.PolicyError, match="below 1/m"):
        ri.Policy(schema(names, ward="1/5"), ri.Alternatives(m=4))
    with pytest.raises(ri.errors.PolicyError, match="by column are for several"):
        ri.Policy(schema(("ward",)), ri.Alternatives(m=2, harmless={"ward": ["w1"]}))
    table = people(3, 3_000)
    with pytest.raises(ri.errors.Infeasible, match="column 'ward': 3 values with a share of up to") as refused:
        ri.publish(tmp_path / "s", table, ri.Policy(schema(names), ri.Alternatives(m=5, epsilon=4.0, merge=3.0)))
    assert "would do" in str(refused.value)
    with pytest.raises(ri.errors.Infeasible, match=r"too rare for reference shares|too sparse"):
        ri.publish(tmp_path / "s", table, ri.Policy(schema(names, ward="4/5"), ri.Alternatives(m=5, epsilon=0.01)))
    with pytest.raises(ri.errors.Refused, match="no share of their own in column 'ward'"):
        method = ri.Alternatives(m=5, epsilon=4.0, merge=3.0, harmless={"ward": ["wardrobe"]})
        policy = ri.Policy(schema(names, ward="4/5", diagnosis="2/5"), method, checks=ri.Checks(unused_value=1))
        ri.publish(tmp_path / "s", table, policy)
    assert not (tmp_path / "s").exists()


# Likelihoods


def test_what_is_likely_of_each_column(tmp_path: Path) -> None:
    """Given the true p(record | age group) every posterior is the product over the set; a column is the sum of it."""
    rng = np.random.default_rng(0)
    records = [(d, w) for d in "abc" for w in "xy"]
    count = sized(3_000, 20_000)
    old = rng.random(count) < 0.5
    law = {True: np.array([0.3, 0.1, 0.1, 0.1, 0.2, 0.2]), False: np.array([0.05, 0.25, 0.3, 0.1, 0.1, 0.2])}
    own = np.array([rng.choice(6, p=law[bool(one)]) for one in old])
    table = pl.DataFrame(
        {
            "id": np.arange(count),
            "age": np.where(old, "old", "young"),
            "diagnosis": [records[at][0] for at in own],
            "ward": [records[at][1] for at in own],
        }
    )
    mixed = (law[True] + law[False]) / 2
    reference = {record_text(one): float(share) for one, share in zip(records, mixed, strict=True)}
    sensitive = {"diagnosis": ri.Categorical(), "ward": ri.Categorical()}
    limits = {"diagnosis": "2/3", "ward": "2/3"}
    policy = ri.Policy(
        ri.Schema("id", {"age": ri.Categorical()}, sensitive, limits=limits), ri.Alternatives(m=3, reference=reference)
    )
    model = {
        name: {record_text(one): float(chance) for one, chance in zip(records, law[name == "old"], strict=True)}
        for name in ("old", "young")
    }
    with ri.open(tmp_path / "s", policy) as series:
        series.publish(table, seed=3)
        view = series.published()
        found = ri.attacks.Likelihood(model=model, given=["age"]).run(view)
        with pytest.raises(ri.errors.ParameterError, match="lacks 'ward': several columns are sensitive"):
            ri.attacks.Likelihood(model=table.drop("ward")).run(view)
        members = series.private.members(1).join(table, left_on="person", right_on="id").head(200)
        numbers = {series.private.name_of(number): number for number in range(count)} if count < 5_000 else {}
    truth = {number: record_text(table.row(person)[2:]) for person, number in numbers.items()}
    joint = {(r["person"], r["value"]): r["probability"] for r in found.posteriors.iter_rows(named=True)}
    for name in ("diagnosis", "ward"):
        at = ("diagnosis", "ward").index(name)
        column = found.of_column(name)
        alone = {(r["person"], r["value"]): r["probability"] for r in column.posteriors.iter_rows(named=True)}
        for row in members.iter_rows(named=True):
            number = numbers[row["person"]]
            sets = list(zip(row["diagnosis_alternatives"], row["ward_alternatives"], strict=True))
            odds: Counter[tuple[str, str]] = Counter()
            for one in sets:
                place = records.index(one)
                odds[one] += law[row["age"] == "old"][place] / mixed[place]
            for one, weight in odds.items():
                assert joint[number, record_text(one)] == pytest.approx(weight / odds.total(), abs=1e-12)
            for value in {one[at] for one in sets}:
                expected = sum(weight for one, weight in odds.items() if one[at] == value) / odds.total()
                assert alone[number, value] == pytest.approx(expected, abs=1e-12)
        # Without the own row: the likeliest value of the column by the model.
        best = {
            age: max({v: sum(c for (one, c) in zip(records, law[age == "old"], strict=True) if one[at] == v)
                      for v in {one[at] for one in records}}.items(), key=lambda pair: pair[1])[1]
            for age in ("old", "young")
        }  # fmt: skip
        expected = float(np.where(old, best["old"], best["young"]).mean())
        assert column.releases["without"][0] == pytest.approx(expected)
        scored = column.scored({number: record_cells(text, 2)[at] for number, text in truth.items()})
        assert scored["right"][0] == pytest.approx(column.releases["expected"][0], abs=6 * np.sqrt(0.25 / count))
    judged = found.judge(Limits(Fraction(1, 3), columns=(("diagnosis", Fraction(2, 3)), ("ward", Fraction(2, 3)))))
    assert "Of 'ward' alone" in judged.words
    every = found.judge(Limits(columns=(("ward", Fraction(2, 3)),)), most=10**6).findings
    assert every
    assert {one.column for one in every} == {"ward"}
    assert "What is likely for whom: ward" in found.tables(Limits(columns=(("ward", Fraction(1, 2)),)))


# Real patients


def estimates_of_two_columns(folder: Path, table: pl.DataFrame, m: int, limits: dict[str, str]) -> Any:
    """How far estimates from the public files are from the truth, in standard errors: by age, by sex, crossed."""
    sensitive = {"diagnosis": ri.Categorical(), "readmitted": ri.Categorical()}
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical()}
    policy = ri.Policy(ri.Schema("id", quasi, sensitive, limits=limits), ri.Alternatives(m=m, epsilon=1.0))
    with ri.open(folder, policy) as series:
        release = series.publish(table, seed=1)
        assert release.manifest["rows"] == table.height
        report = series.audit(attacks=["Tracking"])
        assert report.passed, report.verdict
    an = ri.analyse(folder / "public")
    z = []
    asked = [{"diagnosis": "heart failure"}, {"diagnosis": "chest pain"}, {"readmitted": "<30"}]
    bands = pl.when(pl.col("age") < 40).then(pl.lit("below 40")).when(pl.col("age") < 60).then(pl.lit("40 to 59"))
    named = table.with_columns(band=bands.when(pl.col("age") < 80).then(pl.lit("60 to 79")).otherwise(pl.lit("80 up")))
    for value in asked:
        ((column, label),) = value.items()
        for by, group in (({"age": [40, 60, 80]}, "band"), ("sex", "sex")):
            found = an.share(value, by=by)
            truth = named.group_by(group).agg((pl.col(column) == label).mean().alias("truth"))
            name = "age" if group == "band" else "sex"
            shown = found.with_columns(pl.col(name).replace({"80 and above": "80 up"}).alias(group))
            both = shown.join(truth, on=group)
            assert both.height == found.height
            z += ((both["estimate"] - both["truth"]) / both["error"]).to_list()
    crossed = an.table().join(table.group_by("diagnosis", "readmitted").len("true"), on=["diagnosis", "readmitted"])
    apart = ((crossed["estimate"] - crossed["true"]) / crossed["error"]).to_numpy()
    return np.array(z), apart


def check_standard_errors(z: Any) -> None:
    """Errors are neither too small nor too large: the squares of so many errors add up to about their number."""
    spread = np.sqrt(2 / z.size)
    assert abs((z**2).mean() - 1) < 5.5 * spread + 0.1
    assert (np.abs(z) < 2).mean() > 0.8


def test_two_columns_of_invented_patients(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    count = 6_000
    names = ["heart failure", "chest pain", "diabetes", "injury", "other", "respiratory", "digestive"]
    table = pl.DataFrame(
        {
            "id": np.arange(count),
            "age": rng.integers(2, 10, count) * 10,
            "sex": rng.choice(["Female", "Male"], count),
            "diagnosis": rng.choice(names, count, p=[0.1, 0.1, 0.15, 0.15, 0.2, 0.15, 0.15]),
            "readmitted": rng.choice(["NO", ">30", "<30"], count, p=[0.55, 0.3, 0.15]),
        }
    )
    z, apart = estimates_of_two_columns(tmp_path / "s", table, 4, {"diagnosis": "1/2", "readmitted": "3/4"})
    check_standard_errors(z)
    check_standard_errors(apart)


GROUPS = [
    (428, 428, "heart failure"), (786, 786, "chest pain"), (414, 414, "ischaemic"), (410, 410, "infarction"),
    (250, 250, "diabetes"), (390, 459, "other circulatory"), (460, 519, "respiratory"), (520, 579, "digestive"),
    (580, 629, "genitourinary"), (800, 999, "injury"), (710, 739, "musculoskeletal"), (140, 239, "neoplasm"),
]  # fmt: skip


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_two_columns_of_invented_patients")
def test_two_columns_of_real_patients(tmp_path: Path) -> None:
    """Heart failure, chest pain and readmission by age and sex, and diagnosis by readmission, from one release."""
    with gzip.open(FOLDER / "diabetes130/diabetic_data.csv.gz") as file:
        raw = pl.read_csv(file.read(), infer_schema=False)
    raw = raw.unique("patient_nbr", keep="first", maintain_order=True).filter(pl.col("gender") != "Unknown/Invalid")
    code = pl.col("diag_1").cast(pl.Float64, strict=False).floor()
    group = pl.when(code.is_null()).then(pl.lit("external"))
    for first, last, name in GROUPS:
        group = group.when(code.is_between(first, last)).then(pl.lit(name))
    table = raw.select(
        pl.col("patient_nbr").alias("id"),
        pl.col("age").str.extract(r"(\d+)").cast(pl.Int64),
        pl.col("gender").alias("sex"),
        group.otherwise(pl.lit("other")).alias("diagnosis"),
        "readmitted",
    )
    z, apart = estimates_of_two_columns(tmp_path / "s", table, 4, {"diagnosis": "1/2", "readmitted": "3/4"})
    check_standard_errors(z)
    check_standard_errors(apart)
