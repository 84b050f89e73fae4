"""How values moved through past tables: noise that fits one person's history, and chances that are found again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples, sized

import reissue as ri
from reissue.methods.alternatives import reference, transitions
from reissue.methods.alternatives.transitions import FLOOR, at_most, families, nearest, with_noise
from reissue.publishing import past_moves

Table = npt.NDArray[np.float64]
LABELS = ["asthma", "burn", "cold", "diabetes", "eczema", "flu"]
SCHEMA = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")})


def chain(seed: int, stay: tuple[float, float] = (0.3, 0.9)) -> Table:
    """A chain in which every value stays for a time of its own, and leads where it likes."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(len(LABELS)), len(LABELS))
    keeps = rng.uniform(*stay, len(LABELS))
    return np.diag(keeps) + (1 - keeps)[:, None] * table


def states(table: Table, people: int, count: int, seed: int) -> list[pl.DataFrame]:
    """States of people who move by a chain, of whom some are away now and then."""
    rng = np.random.default_rng(seed)
    has = rng.integers(0, len(LABELS), people)
    found = []
    for _ in range(count):
        here = rng.permutation(np.flatnonzero(rng.random(people) < 0.9))
        found.append(pl.DataFrame({"id": here, "age": here % 50, "illness": [LABELS[one] for one in has[here]]}))
        has = (rng.random(people)[:, None] > table[has].cumsum(axis=1)).sum(axis=1)
    return found


def matrix(found: past_moves.Moves, labels: list[str]) -> Table:
    return np.array([[found.change[one][other] for other in labels] for one in labels])


def off(one: Table, other: Table) -> Any:
    return np.abs(one - other).sum(axis=1) / 2


# What one person changes


def moves_of(history: tuple[int | None, ...]) -> list[tuple[int, int]]:
    return [(one, other) for one, other in pairwise(history) if one is not None and other is not None]


def counts_of(moves: tuple[tuple[int, int], ...]) -> list[npt.NDArray[np.int64]]:
    before, after = (np.array([move[at] for move in moves], dtype=np.int64) for at in (0, 1))
    return list(families(before, after, 3))


@pytest.mark.parametrize("most", [1, 2])
def test_another_history_changes_what_is_told_by_epsilon_and_no_more(most: int) -> None:
    """All histories of one person over four states of three values, away included; whatever is drawn of their moves."""
    histories = list(product((None, 0, 1, 2), repeat=4))[:: sized(3, 1)]
    drawn = {kept for one in histories for kept in combinations(moves_of(one), min(most, len(moves_of(one))))}
    counts = [counts_of(kept) for kept in drawn]
    worst = [0, 0]
    for one, other in combinations(counts, 2):
        worst = [max(w, int(np.abs(a - b).sum())) for w, a, b in zip(worst, one, other, strict=True)]
    assert worst == [2 * most, 2 * most]


def test_scales_spend_epsilon_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: dict[str, list[Fraction]] = {"moves": [], "shares": []}

    def noted(name: str) -> Any:
        def draw(scale: Fraction, size: int, rng: object) -> npt.NDArray[np.int64]:
            scales[name].append(scale)
            return np.zeros(size, dtype=np.int64)

        return draw

    monkeypatch.setattr(transitions, "discrete_laplace", noted("moves"))
    monkeypatch.setattr(reference, "discrete_laplace", noted("shares"))
    tables = states(chain(1), 5_000, 3, 1)
    found = ri.moves(tables, SCHEMA, epsilon=0.5, most=3)
    # A family of counts of moves changes by 2 most. The counts of values, and of those who are absent, are one family:
    # somebody leaves one of them and comes to another, so that it changes by 2.
    assert sum(6 / scale for scale in scales["moves"]) == 0.25
    assert [2 / scale for scale in scales["shares"]] == [0.25, 0.25]
    assert len(scales["moves"]) == 2
    assert found.epsilon == 0.5
    assert found.shares is not None
    assert set(found.table["epsilon"]) == set(found.shares["epsilon"]) == {0.25}
    scales["moves"].clear()
    found = ri.moves(tables, SCHEMA, epsilon=0.5, most=3, reference=dict.fromkeys(LABELS, 1.0))
    assert sum(6 / scale for scale in scales["moves"]) == 0.5
    assert found.shares is None
    assert found.reference is None
    assert set(found.table["epsilon"]) == {0.5}


def test_nobody_brings_more_than_so_many_moves_and_all_of_theirs_are_as_likely() -> None:
    person = np.repeat([3, 1, 7], [1, 5, 2])
    rng = np.random.default_rng(1)
    seen = np.zeros(person.size)
    rounds = 4_000
    for _ in range(rounds):
        used = at_most(2, person, rng)
        assert np.bincount(person[used]).tolist() == [0, 2, 0, 1, 0, 0, 0, 2]
        seen[used] += 1
    assert seen[[0, 6, 7]].tolist() == [rounds] * 3
    assert np.abs(seen[1:6] - rounds * 2 / 5).max() < 4.5 * np.sqrt(rounds * 0.4 * 0.6)
    assert at_most(2, person[:0], rng).size == 0


def test_moves_are_counted_by_hand() -> None:
    ways, cells = families(np.array([0, 0, 2, 1]), np.array([0, 1, 0, 1]), 3)
    assert ways.tolist() == [[1, 1, 0], [1, 0, 1]]
    assert cells.tolist() == [[1, 0], [0, 0], [1, 0]]  # from the first value to the second; from the third to the first


# From counts to chances


@examples(60)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=7), st.floats(0.01, 100), st.integers(0, 10**6))
def test_no_other_counts_with_the_same_sum_are_nearer(counts: list[float], total: float, seed: int) -> None:
    row = np.array(counts)
    found = nearest(row[None, :], np.array([total]))[0]
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    best = ((found - row) ** 2).sum()
    rng = np.random.default_rng(seed)
    for other in (*rng.dirichlet(np.full(row.size, 0.3), 200) * total, *np.eye(row.size) * total):
        assert best <= ((other - row) ** 2).sum() + 1e-6


def test_nobody_left_means_no_counts() -> None:
    assert nearest(np.array([[4.0, -3.0]]), np.array([0.0])).tolist() == [[0, 0]]


def test_a_value_nobody_had_is_expected_to_do_as_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, by hand: 60 of 98 stay (one more of each counts), and the third value is never seen."""
    monkeypatch.setattr(transitions, "discrete_laplace", lambda scale, size, rng: np.zeros(size, dtype=np.int64))
    shares = np.array([0.5, 0.3, 0.2])
    before, after = np.repeat([0, 0, 1], [60, 30, 8]), np.repeat([0, 1, 0], [60, 30, 8])
    found = with_noise(before, after, shares, 1, Fraction(4), np.random.default_rng(1))
    staying = 61 / 100
    assert found.staying == pytest.approx(staying)
    last = np.array([(1 - staying) * 0.5 / 0.8, (1 - staying) * 0.3 / 0.8, staying])
    assert found.chances[2] == pytest.approx((1 - FLOOR) * last + FLOOR * shares)
    # The scale is 1, of two counts: four moves of expectation for staying, four for where the others go.
    stay = (60 + 4 * staying) / 94
    to = np.array([(30 + 4 * 0.6) / 34, 4 * 0.4 / 34]) * (1 - stay)
    assert found.chances[0] == pytest.approx((1 - FLOOR) * np.array([stay, *to]) + FLOOR * shares)
    # Of the second row a third is expectation, and another third of the four fifths who leave: just more than half.
    assert found.thin.tolist() == [False, True, True]
    assert found.error[2] == pytest.approx(1 / 4 + (1 - staying) / 4)


@pytest.mark.parametrize(
    ("people", "epsilon", "largest"), [(60_000, 1.0, 0.02), (6_000, 10.0, 0.05), (6_000, 1.0, 0.2)]
)
def test_the_chain_is_found_again(people: int, epsilon: float, largest: float) -> None:
    true = chain(2)
    shares, rng = dict.fromkeys(LABELS, 1.0), np.random.default_rng(2)
    found = ri.moves(states(true, people, 4, 2), SCHEMA, epsilon, reference=shares, rng=rng)
    error = off(matrix(found, LABELS), true)
    assert error.max() < largest
    assert not found.rows["thin"].any()
    # What is said of the noise is no less than what it does; sampling comes on top.
    assert error.mean() < found.rows["error"].mean() + 0.03  # type: ignore[operator]


def test_with_much_noise_values_are_taken_to_do_as_all_do() -> None:
    true = chain(3)
    shares, rng = dict.fromkeys(LABELS, 1.0), np.random.default_rng(3)
    found = ri.moves(states(true, 3_000, 3, 3), SCHEMA, 0.02, reference=shares, rng=rng)
    assert found.rows["thin"].any()
    assert found.rows["error"].mean() > 0.2  # type: ignore[operator]
    table = matrix(found, LABELS)
    assert table.sum(axis=1) == pytest.approx(1)
    assert table.min() >= FLOOR / len(LABELS) * 0.99


@st.composite
def some_tables(draw: st.DrawFn) -> list[pl.DataFrame]:
    count = draw(st.integers(2, 4))
    found = []
    for _ in range(count):
        ids = draw(st.lists(st.integers(0, 12), min_size=1, max_size=12, unique=True))
        has = draw(st.lists(st.sampled_from([*LABELS, None]), min_size=len(ids), max_size=len(ids)))
        found.append(pl.DataFrame({"id": ids, "illness": has}, schema={"id": pl.Int64, "illness": pl.String}))
    return found


@examples(40)
@given(some_tables(), st.sampled_from([0.01, 1.0, 50.0]), st.integers(1, 3), st.integers(0, 10**6))
def test_whatever_the_tables_every_move_has_a_chance(
    tables: list[pl.DataFrame], epsilon: float, most: int, seed: int
) -> None:
    kind = ri.Categorical(new="accept", missing="value")
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"illness": kind})
    shares = {**dict.fromkeys(LABELS[:3], 1.0), "(other values)": 0.001}
    held = [dict(zip(table["id"], table["illness"], strict=True)) for table in tables]
    moved = [person for one, other in pairwise(held) for person in one if person in other]
    if not moved:
        with pytest.raises(ri.errors.Infeasible, match="Nobody is in two tables"):
            ri.moves(tables, schema, epsilon, most, reference=shares)
        return
    found = ri.moves(tables, schema, epsilon, most, reference=shares, rng=np.random.default_rng(seed))
    assert found.people == len(set(moved))
    assert found.moves == sum(min(most, moved.count(person)) for person in set(moved))
    assert found.moves + found.left_out == len(moved)
    table = matrix(found, list(shares))
    assert table.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert table.min() > 1e-8
    ri.Alternatives(m=2, reference=shares, change=found.change, spent=found.epsilon)
    again = [table.sample(fraction=1, shuffle=True, seed=seed) for table in tables]
    assert ri.moves(again, schema, epsilon, most, reference=shares, rng=np.random.default_rng(seed)).table.equals(
        found.table
    )


# Names


def test_names_are_those_of_the_last_tables_shares() -> None:
    tables = states(chain(4), 9_000, 3, 4)
    rare = pl.when(pl.col("id") < 20).then(pl.lit("gout")).otherwise("illness").alias("illness")
    tables = [
        tables[0].with_columns(pl.col("illness").replace("burn", "scald")),
        *(t.with_columns(rare) for t in tables[1:]),
    ]
    found = ri.moves(tables, SCHEMA, rng=np.random.default_rng(4))
    assert found.shares is not None
    named = found.shares["value"].to_list()
    assert named == [*LABELS, "(other values)"]
    assert found.table.height == 49
    assert list(found.change) == named


def test_numbers_go_by_how_they_are_written() -> None:
    schema = ri.Schema(person="id", quasi={"age": ri.Numeric()}, sensitive={"score": ri.Numeric()})
    first = pl.DataFrame({"id": range(400), "score": [4, 5, 6, 7] * 100})
    second = pl.DataFrame({"id": range(400), "score": [5, 5, 6, 6] * 100})
    found = ri.moves([first, second], schema, 50, reference={"4": 1, "5": 1, "6": 1, "7": 1})
    assert found.change["4"]["5"] > 0.95
    assert found.change["7"]["6"] > 0.95
    found = ri.moves([second, second], schema, 50)
    assert found.shares is not None
    assert found.shares["value"].to_list() == ["5", "6"]
    with pytest.raises(ri.errors.Refused, match="200 people have 2 values"):  # numbers have no name together
        ri.moves([first, second], schema, 50)


def test_a_value_without_a_share_is_refused_without_a_name() -> None:
    with pytest.raises(ri.errors.Refused, match="the reference does not have") as refused:
        ri.moves(states(chain(4), 900, 2, 4), SCHEMA, reference={"asthma": 1.0, "burn": 1.0})
    assert "cold" not in str(refused.value)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "'epsilon' parameter of moves"),
        ({"epsilon": float("nan")}, "'epsilon' parameter of moves"),
        ({"most": 0}, "'most' parameter of moves"),
        ({"most": 1.5}, "'most' parameter of moves"),
        ({"merge": -1}, "'merge' parameter of moves"),
        ({"reference": {"a": 1}}, "'reference' parameter of moves"),
        ({"most": 0, "merge": -1}, "2 parameters of moves"),
    ],
)
def test_parameters_that_do_not_fit(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ri.errors.ParameterError, match=message):
        ri.moves(states(chain(4), 90, 2, 4), SCHEMA, **parameters)


def test_one_table_is_not_enough() -> None:
    for tables in ("table.csv", [], states(chain(4), 90, 1, 4)):
        with pytest.raises(ri.errors.ParameterError, match="at least two tables"):
            ri.moves(tables, SCHEMA)


def bad_tables() -> Iterator[tuple[list[pl.DataFrame], str]]:
    good = pl.DataFrame({"id": [f"CANARY-{n}" for n in range(9)], "illness": ["CANARY-a", "CANARY-b", "CANARY-c"] * 3})
    yield [good, good.drop("illness")], "Table 2 of 2"
    yield [good, good.head(0)], "no rows"
    yield [good, pl.concat([good, good.head(2)])], "more than one row"
    yield [good, good.with_columns(illness=None)], "missing"
    yield [good, good.with_columns(id=pl.int_range(9))], "changed types"
    yield [good, good.with_columns(pl.col("id") + "x")], "Nobody is in two tables"
    yield [good, good], "too rare"


@pytest.mark.parametrize("at", range(7))
def test_errors_name_nobody_and_no_value(at: int) -> None:
    tables, message = list(bad_tables())[at]
    shares = None if message == "too rare" else {"CANARY-a": 1.0, "CANARY-b": 1.0, "CANARY-c": 1.0}
    with pytest.raises(ri.errors.ReissueError, match=message) as raised:
        ri.moves(tables, SCHEMA, 0.1, reference=shares)
    assert "CANARY" not in f"{raised.value}{raised.value.__cause__}{raised.value.__context__}"


def test_the_repr_holds_figures_only() -> None:
    found = ri.moves(states(chain(4), 900, 2, 4), SCHEMA, reference=dict.fromkeys(LABELS, 1.0))
    assert repr(found) == "Moves(between 6 values, epsilon = 1)"


# Files


def test_what_was_counted_with_noise_says_so_in_every_promise(tmp_path: Path) -> None:
    found = ri.moves(states(chain(5), 9_000, 3, 5), SCHEMA, 0.8)
    assert found.shares is not None
    found.table.write_csv(tmp_path / "moves.csv")
    found.shares.write_csv(tmp_path / "shares.csv")
    files = {"reference": str(tmp_path / "shares.csv"), "change": str(tmp_path / "moves.csv")}
    method = ri.Alternatives(m=3, limit="2/3", **files)
    assert method == ri.Alternatives(m=3, limit="2/3", reference=found.reference, change=found.change, spent=0.8)
    assert method.spent == 0.8
    assert method.promises(SCHEMA)[0].parameters["epsilon"] == 0.8
    assert "epsilon = 0.8" in method.warnings()[1]
    assert ri.Alternatives(m=3, **{**files, "change": None}).spent == 0.4
    assert ri.Alternatives(m=3, spent=2, **files).promises(SCHEMA)[0].parameters["epsilon"] == 2
    # Noised shares of the first table come on top.
    alone = ri.Alternatives(m=3, epsilon=0.1, change=files["change"])
    assert alone.promises(SCHEMA)[0].parameters["epsilon"] == pytest.approx(0.5)
    assert "epsilon = 0.5" in alone.warnings()[1]
    with pytest.raises(ri.errors.ParameterError, match=r"at least 0\.8, which the files"):
        ri.Alternatives(m=3, spent=0.5, **files)
    with pytest.raises(ri.errors.ParameterError, match="'spent' parameter"):
        ri.Alternatives(m=3, spent="much", **files)  # type: ignore[arg-type]


def test_files_from_outside_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / "moves.csv").write_text("value,next,chance\na,a,0.5\na,b,0.5\nb,a,0.25\nb,b,0.75\n")
    method = ri.Alternatives(m=2, reference={"a": 1.0, "b": 1.0}, change=str(tmp_path / "moves.csv"))
    assert method.change == {"a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.25, "b": 0.75}}
    assert method.spent == 0
    assert "epsilon" not in method.promises(SCHEMA)[0].parameters
    assert len(method.warnings()) == 1
    assert "spent" not in method.parameters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("value,next\nCANARY,CANARY\n", "must have 3 columns"),
        ("value,next,chance\nCANARY,CANARY,much\n", "1 line without one"),
        ("value,next,chance\nCANARY,CANARY,1\nCANARY,CANARY,1\n", "1 line with what was there before"),
        ("value,next,chance\nCANARY,CANARY,0.5\n", "do not add up to 1"),
        ("value,next,chance,epsilon\nCANARY,CANARY,1,\n", "one number above 0 in its column 'epsilon'"),
        ("value,next,chance,epsilon\nCANARY,CANARY,1,-1\n", "one number above 0"),
        ("value,next,chance,epsilon\nCANARY,CANARY,0.5,1\nCANARY,b,0.5,2\n", "one number above 0"),
        ("", "is not CSV"),
        (None, "is not there"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "moves.csv").write_text(text)
    with pytest.raises(ri.errors.ParameterError, match=message) as raised:
        ri.Alternatives(m=2, change=str(tmp_path / "moves.csv"))
    assert "CANARY" not in str(raised.value)


# That it does what it is for


def test_lives_that_move_by_what_was_counted_hide_those_who_move_as_people_do(tmp_path: Path) -> None:
    """Somebody who knows the true chain learns next to nothing; with one rate for all values they learn much."""
    restless = np.array([0.95, 0.15, 0.9, 0.2, 0.95, 0.15])
    true = 0.4 * np.outer(restless, restless) * (1 - np.eye(6))  # symmetric, so that sets of any size can move on
    true += np.diag(1 - true.sum(axis=1))
    shares = dict.fromkeys(LABELS, 1.0)
    people = states(true, 400, 5, 7)
    known = {one: dict(zip(LABELS, row, strict=True)) for one, row in zip(LABELS, true.tolist(), strict=True)}

    def learnt(name: str, change: object) -> list[float]:
        """What somebody who knows the true chain gives the likeliest value: of half of the people, of 99 in 100."""
        method = ri.Alternatives(m=2, reference=shares, change=change)
        with ri.open(tmp_path / name, ri.Policy(SCHEMA, method)) as series:
            for table in people:
                series.publish(table)
            risks = ri.attacks.Tracking(change=known).run(series.published()).risks["probability"]
        return [float(risks.quantile(part)) for part in (0.5, 0.99)]  # type: ignore[arg-type]

    def counted(people: int) -> object:
        return ri.moves(states(true, people, 4, 6), SCHEMA, reference=shares, rng=np.random.default_rng(6)).change

    assert learnt("true", known) == pytest.approx([0.5, 0.5])
    assert learnt("rate", float(1 - np.diag(true).mean()) * 6 / 5)[0] > 0.85  # as many values differ
    half, most = learnt("some", counted(20_000))
    assert half < 0.53
    assert most < 0.65
    half, most = learnt("many", counted(100_000))
    assert half < 0.51
    assert most < 0.56
