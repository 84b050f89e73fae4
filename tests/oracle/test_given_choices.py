"""Choices of `given`: the figures against a release made by hand, and against every set there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks import Likelihood
from reissue.errors import ParameterError
from reissue.publishing import archive
from reissue.publishing.given_choices import wider_than_plain
from reissue.reasoning.alternatives.designing import design_of
from reissue.reasoning.alternatives.scoring import effects
from tests.changing_sets import sampford

WORKLOADS = [ri.Workload(1, 0.2, count=100, seed=3), ri.Workload(1, 0.05, count=100, seed=3)]


# A table on which sex nearly says the value


def told_by_sex(people: int, seed: int = 5) -> pl.DataFrame:
    """Of men 85 of 100 have the value 'him', of women 'her'; the others have one of twelve."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, people)
    own = np.where(rng.random(people) < 0.85, sex, 2 + rng.integers(0, 12, people))
    values = np.array(["him", "her", *(f"rare {n}" for n in range(12))])
    return pl.DataFrame(
        {
            "id": range(people),
            "age": rng.integers(20, 60, people),
            "sex": np.array(["m", "f"])[sex],
            "town": np.array(["north", "south", "west"])[rng.integers(0, 3, people)],
            "value": values[own],
        }
    )


def policy(**parameters: Any) -> ri.Policy:
    quasi = {"age": ri.Numeric(), "sex": ri.Categorical(), "town": ri.Categorical()}
    method = ri.Alternatives(**{"m": 10, "limit": "9/10", "epsilon": 10, **parameters})
    return ri.Policy(ri.Schema("id", quasi, "value"), method)


def released(folder: Path, table: pl.DataFrame, rules: ri.Policy, seed: int) -> tuple[Any, pl.DataFrame, Any]:
    """A release made and looked at by hand: the outsider's view, the truth, what measures say."""
    with ri.open(folder, rules) as series:
        series.publish(table, seed=seed)
        view = series.published(quasi=True)
        names = {number: int(series.private.name_of(number)) for number in view.sets[0].people.tolist()}
        measured = [series.utility(1, workload=workload) for workload in WORKLOADS]
    held = dict(table.select("id", "value").iter_rows())
    truth = pl.DataFrame({"person": list(names), "value": [held[name] for name in names.values()]})
    return view, truth, measured


def test_figures_are_those_of_a_release_made_by_hand(tmp_path: Path) -> None:
    table, others = told_by_sex(1_500), told_by_sex(1_500, seed=6)
    found = ri.given_choices(table, policy(), [["sex"]], model=others, workloads=WORKLOADS, seed=7)
    assert [one.given for one in found.choices] == [(), ("sex",)]
    for choice in found.choices:
        rules = policy(given=choice.given)
        view, truth, measured = released(tmp_path / str(len(choice.given)), table, rules, seed=7)
        models = (Likelihood(), Likelihood(model=others.drop("id")))
        for attack, made in zip(models, (choice.learnt, choice.elsewhere), strict=True):
            ran = attack.run(view)
            told = {**ran.releases.row(0, named=True), **ran.scored(truth).row(0, named=True)}
            assert made is not None
            for name, figure in vars(made).items():
                assert figure == pytest.approx(told[name], abs=1e-12), name
        assert choice.errors == pytest.approx([one.query_error.usual for one in measured])
        assert choice.others == measured[0].others == 0
        design = view.sets[0].designs.designs
        assert choice.most_slots == max(one.slots.max() for one in design)
        # The largest number of slots that a value of a set takes: what is right without any model.
        most = [np.unique(row, return_counts=True)[1].max() for row in view.sets[0].codes]
        assert choice.openly == pytest.approx(np.mean(most) / 10)
        if not choice.given:  # one design: the square roots of its design effects
            assert choice.wider == pytest.approx(np.median(np.sqrt(measured[0].values["design_effect"].to_numpy())))


def test_given_takes_away_what_its_column_tells() -> None:
    """Twenty values that men have and twenty that women have, all as often, but for 2 of 100 people; sets of 10.

    About half of a set is implausible: 1 / (1 + 9 * 19/39) = 0.19 are right, where 1/20 is without the own row. With
    shares by sex there is 1/10, what sets promise, and no model makes more of it.
    """
    rng = np.random.default_rng(3)
    table = told_by_sex(4_000)
    theirs = np.where(rng.random(4_000) < 0.98, (table["sex"] == "m").to_numpy(), rng.random(4_000) < 0.5)
    table = table.with_columns(value=pl.Series([f"v{n}" for n in rng.integers(0, 20, 4_000) + 20 * theirs]))
    mine = {f"v{n}": (0.99 if n >= 20 else 0.01) / 20 for n in range(40)}
    hers = {f"v{n}": (0.99 if n < 20 else 0.01) / 20 for n in range(40)}
    model = Likelihood(model={"m": mine, "f": hers}, given=["sex"])
    found = ri.given_choices(table, policy(limit=None), model=model, workloads=WORKLOADS, seed=1)
    none, sex, town = found.choices[:3]
    assert (sex.given, town.given) == (("sex",), ("town",))
    assert none.learnt is not None
    assert sex.learnt is not None
    assert town.learnt is not None
    assert none.elsewhere is not None
    assert sex.elsewhere is not None
    assert none.elsewhere.right == pytest.approx(0.19, abs=0.03)
    assert none.elsewhere.advantage_low > 0.1
    assert min(none.learnt.advantage_low, town.learnt.advantage_low) > 0.07
    for made in (sex.elsewhere, sex.learnt):
        assert made.right == pytest.approx(0.1, abs=0.025)
        assert made.advantage_high < 0.065
    assert sex.openly == pytest.approx(0.1, abs=0.01)
    assert found.best is sex
    assert found.sentence.startswith(
        f'given = ["sex"] takes the advantage from {100 * none.learnt.advantage:.1f} to '
        f"{100 * sex.learnt.advantage:.1f} points and from {100 * none.elsewhere.advantage:.1f} to "
        f"{100 * sex.elsewhere.advantage:.1f} points for whoever has the model given, and "
    )
    assert [one.given for one in found.choices[3:]] == [("sex", "town")]
    assert found.notes == ("numbers have no cells ('age'): a column of ranges could be tried",)
    assert repr(found) == "GivenChoices(4 of 4 choices measured; best: sex)"


def test_a_limit_may_eat_up_what_given_gains() -> None:
    """In a cell values are more frequent, and where a limit lets them, they take two slots: that is said openly."""
    table = told_by_sex(2_000)
    rng = np.random.default_rng(3)
    values = rng.integers(0, 20, 2_000) + 20 * (table["sex"] == "m").to_numpy()
    table = table.with_columns(value=pl.Series([f"v{n}" for n in values]))
    one, two = (
        ri.given_choices(table, policy(limit=limit), ["sex"], workloads=WORKLOADS, seed=1).choices[1]
        for limit in (None, "1/5")
    )
    assert (one.most_slots, two.most_slots) == (1, 2)
    assert one.openly == pytest.approx(0.1)
    assert two.openly is not None
    assert two.openly > 0.15
    assert one.learnt is not None
    assert two.learnt is not None
    assert one.learnt.advantage_high < two.learnt.advantage_low


# Every set there is


LAWS = {"f": [0.32, 0.28, 0.2, 0.12, 0.08], "m": [0.08, 0.12, 0.2, 0.28, 0.32]}
NAMES = "abcde"


def exact_table(people: int) -> pl.DataFrame:
    """As many of each sex, with exactly these shares."""
    rows = [
        (sex, name)
        for sex, law in LAWS.items()
        for name, share in zip(NAMES, law, strict=True)
        for _ in range(round(share * people / 2))
    ]
    return pl.DataFrame(rows, schema=["sex", "value"], orient="row").with_row_index("id")


def designs_by_cell(table: pl.DataFrame) -> dict[str, tuple[list[str], list[float]]]:
    """The values and shares of each cell's design, from the public table of designs."""
    if "sex" not in table.columns:
        return dict.fromkeys(LAWS, (table["value"].to_list(), table["share"].to_list()))
    parts = table.partition_by("sex", as_dict=True)
    return {str(key[0]): (part["value"].to_list(), part["share"].to_list()) for key, part in parts.items()}


@pytest.mark.parametrize("given", [(), ("sex",)], ids=["none", "sex"])
def test_right_guesses_are_those_of_brute_force(tmp_path: Path, given: tuple[str, ...]) -> None:
    """Who knows p(v | sex): of everybody's set the value with the largest p(v | sex) P(S | v), from the definition.

    And over all sets there are, with their chances, as often as is to be expected.
    """
    people = 10_000
    table = exact_table(people)
    schema = ri.Schema("id", {"sex": ri.Categorical()}, "value")
    method = ri.Alternatives(m=2, epsilon=100)
    expects = {sex: dict(zip(NAMES, law, strict=True)) for sex, law in LAWS.items()}
    model = Likelihood(model=expects, given=["sex"])
    found = ri.given_choices(table, ri.Policy(schema, method), [given], model=model, workloads=WORKLOADS, seed=2)
    (choice,) = [one for one in found.choices if one.given == given]
    assert choice.elsewhere is not None

    rules = ri.Policy(schema, ri.Alternatives(m=2, epsilon=100, given=given))
    with ri.open(tmp_path / "s", rules) as series:
        release = series.publish(table, seed=2)
        shown = series.private.members(1).with_columns(pl.col("person").cast(pl.Int64))
    laws = designs_by_cell(release.tables["design"])
    guess: dict[tuple[str, tuple[str, ...]], str] = {}
    expected = 0.0
    for sex, (values, shares) in laws.items():
        design = sampford(shares, 2)
        own = [expects[sex].get(value, 0.0) for value in values]
        for chosen, chance in design.items():
            # P(S | v) = P(S) / P(v in S), and P(v in S) is the sum over all sets that have v.
            inside = {v: sum(other for some, other in design.items() if v in some) for v in chosen}
            joint = {v: own[v] * float(chance / inside[v]) for v in chosen}
            best = max(joint, key=lambda v: joint[v])
            guess[sex, tuple(sorted(values[v] for v in chosen))] = values[best]
            expected += joint[best] / 2
    rows = shown.join(table.with_columns(pl.col("id").cast(pl.Int64)), left_on="person", right_on="id")
    right = [
        guess[sex, tuple(sorted(sets))] == value
        for sex, sets, value in rows.select("sex", "alternatives", "value").iter_rows()
    ]
    assert choice.elsewhere.right == pytest.approx(np.mean(right), abs=1e-12)
    assert choice.elsewhere.without == pytest.approx(0.32)
    # 5.5 standard errors of a share of one half
    assert choice.elsewhere.right == pytest.approx(expected, abs=5.5 * 0.5 / people**0.5)
    # With shares by sex that is 1/m, as promised; without, it is more.
    assert expected > 0.6 if not given else expected == pytest.approx(0.5, abs=1e-3)


def test_standard_errors_over_cells_are_those_of_brute_force() -> None:
    """Two cells with designs of their own: the variance of a score over all people and all sets."""
    laws, people = list(LAWS.values()), [300, 700]
    frames, second = [], np.zeros(5)
    for at, (law, count) in enumerate(zip(laws, people, strict=True)):
        design = sampford(law, 2)
        holds = np.array([[v in chosen for v in range(5)] for chosen in design], dtype=float)
        chance = np.array(list(design.values()), dtype=float)
        together = holds.T @ (holds * chance[:, None])
        score = holds @ np.linalg.inv(together / np.diag(together)).T
        second += count / 1_000 * (chance @ score**2)
        made = effects(design_of(law, 2, dict.fromkeys(range(5), 1)))[1]
        frames.append(pl.DataFrame({"value": list(NAMES), "design": at + 1, "share": law, "design_effect": made}))
    mean = 0.3 * np.array(laws[0]) + 0.7 * np.array(laws[1])
    expected = np.sqrt((second - mean**2) / (mean * (1 - mean)))
    found = wider_than_plain(pl.concat(frames), [300, 0, 700][::2])
    assert found == pytest.approx(np.median(expected))
    # A design that nobody has a set of counts for nothing, and one value that cannot be estimated for all.
    assert wider_than_plain(frames[0], [300, 0]) == pytest.approx(np.median(np.sqrt(frames[0]["design_effect"])))
    endless = frames[0].with_columns(design_effect=pl.Series([np.inf, 1.0, 1.0, 1.0, 1.0]))
    assert wider_than_plain(endless, [300]) is None


# Cells, refusals, and what cannot be chosen


def test_cells_are_counted_in_the_whole_table() -> None:
    """By hand: of 1,000 people one is alone in a cell, three are in a small one; another table has two in a new one."""
    towns = ["island", *["hamlet"] * 3, *["city"] * 996]
    table = told_by_sex(1_000).with_columns(town=pl.Series(towns))
    others = told_by_sex(200, seed=9).with_columns(
        town=pl.when(pl.col("id") < 2).then(pl.lit("moor")).otherwise(pl.lit("city"))
    )
    rules = policy(epsilon=2, merge=2)  # few are 2 * 2/2 * sqrt(3 cells) = 3.5 people
    found = ri.given_choices(table, rules, ["town"], model=others, sample=500, workloads=WORKLOADS, seed=1)
    cells = found.choices[1].cells
    assert (cells.count, cells.smallest, cells.thin, cells.alone, cells.new) == (3, 1, 4, 1, 2)
    assert (found.people, found.sample) == (1_000, 500)
    assert found.notes[0].startswith("attacks and counts were tried on 500 of 1,000 people")


def test_what_is_not_measured_says_why() -> None:
    table = told_by_sex(1_000).with_columns(
        sex=pl.lit("CANARY-") + pl.col("sex"),
        value=pl.lit("CANARY-") + pl.col("value"),
        town=pl.format("CANARY-{}", pl.col("id") % 120),
    )
    found = ri.given_choices(table, policy(limit="1/2"), workloads=WORKLOADS, seed=1)
    none, sex, town = found.choices
    assert none.learnt is not None
    # 85 % of a cell in 5 of 10 slots cannot be: what the method says, word for word, with the limit that would do.
    assert sex.why_not is not None
    assert "more frequent than the limit: the largest share is 8" in sex.why_not
    assert 'limit = "9/10"' in sex.why_not
    # 8 or 9 people in each of 120 cells, and fewer than 10 * 2/10 * sqrt(120) = 21.9 are few.
    assert town.why_not is not None
    assert town.why_not.startswith("not tried: 100% of the people are in cells with fewer than 22, too few")
    assert found.sentence.endswith("points, and no other choice could be measured.")
    assert found.sentence.startswith("Leave `given` out: the advantage is ")
    assert "CANARY" not in f"{found!r} {found.sentence} {found.to_dict()} {found.table}"

    late = ri.given_choices(table, policy(), ["sex"], workloads=WORKLOADS, seed=1, seconds=0)
    assert late.choices[0].learnt is not None
    assert late.choices[1].why_not == "not tried: the time was up. Allow more seconds, or name fewer choices."

    refused = ri.given_choices(table, policy(limit=None), ["sex"], workloads=WORKLOADS, seed=1)
    assert refused.best is None
    assert "nothing can be published without `given`: 2 values are more frequent" in refused.sentence
    assert repr(refused) == "GivenChoices(0 of 2 choices measured; nothing to compare with)"


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (ri.Mondrian(k=2), "'given' is a parameter of Alternatives, and the policy has Mondrian"),
        (ri.Alternatives(m=3, k=5), "'given' needs exact columns"),
        (ri.Alternatives(m=3, reference=dict.fromkeys(NAMES, 0.2)), "which 'reference' does not have"),
        (ri.Alternatives(m=3, change=dict.fromkeys(NAMES, 0.1)), "'given' and a table of change do not go together"),
    ],
)
def test_policies_that_leave_nothing_to_choose(method: Any, problem: str) -> None:
    rules = ri.Policy(ri.Schema("id", {"sex": ri.Categorical()}, "value"), method)
    with pytest.raises(ParameterError) as raised:
        ri.given_choices(exact_table(200), rules)
    assert problem in str(raised.value)


def test_parameters_that_do_not_fit() -> None:
    table = told_by_sex(200)
    only_numbers = ri.Policy(ri.Schema("id", {"age": ri.Numeric()}, "value"), ri.Alternatives(m=3))
    with pytest.raises(ParameterError, match="no column of labels"):
        ri.given_choices(table, only_numbers)
    for wrong, told in [
        ({"choices": "sex"}, "a list of columns"),
        ({"choices": ["age"]}, "'age', which cannot be 'given'. Cells need labels, and 'age' has numbers"),
        ({"choices": [["sex", "village"]]}, "'village', which cannot be 'given'"),
        ({"sample": 1}, "'sample' parameter of given_choices must be a whole number of at least 2"),
        ({"seconds": -1}, "'seconds' parameter of given_choices must be a number of at least 0"),
        ({"workloads": []}, "'workloads' parameter"),
        ({"workloads": [WORKLOADS[0], WORKLOADS[0]]}, "each selectivity once"),
        ({"seed": -1}, "'seed' parameter of given_choices"),
        ({"model": table.drop("value")}, "The table in 'model' has no column 'value'"),
    ]:
        with pytest.raises(ParameterError) as raised:
            ri.given_choices(table, policy(), **wrong)
        assert told in str(raised.value)


# The same again


def test_the_same_seed_gives_the_same_whatever_the_order_of_rows() -> None:
    table = told_by_sex(800)
    asked: dict[str, Any] = {"choices": ["sex"], "workloads": WORKLOADS, "sample": 400}
    one = ri.given_choices(table, policy(), seed=4, **asked)
    other = ri.given_choices(table.reverse().to_pandas(), policy(), seed=4, **asked)
    assert one.to_dict() == other.to_dict()
    assert type(other.table).__module__.startswith("pandas")
    assert one.table.equals(pl.from_pandas(other.table).cast(dict(one.table.schema)))
    assert ri.given_choices(table, policy(), seed=5, **asked).to_dict() != one.to_dict()


@pytest.mark.parametrize("hashed", [False, True])
def test_the_table_of_a_release_in_place_of_one_to_be_published(tmp_path: Path, hashed: bool) -> None:
    """Also where ids are hashed, cells are missing and labels have a hierarchy: for a new series."""
    table = told_by_sex(800).with_columns(town=pl.when(pl.col("town") != "west").then("town"))
    quasi = {
        "age": ri.Numeric(),
        "sex": ri.Hierarchy.from_nested({"*": ["f", "m"]}),
        "town": ri.Categorical(missing="value"),
    }
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)).hex().encode())
    key.chmod(0o600)
    rules = ri.Policy(
        ri.Schema("id", quasi, "value"),
        ri.Alternatives(m=10, limit="9/10", epsilon=10, given=["town"], change=0.1),
        people=ri.Ids("hashed", str(key)) if hashed else ri.Ids(),
    )
    asked: dict[str, Any] = {"workloads": WORKLOADS, "seed": 4, "choices": ["sex", "town"]}
    with ri.open(tmp_path / "s", rules) as series:
        series.publish(table)
        found = series.given_choices(1, **asked)
        held = archive.table(series._ledger, 1, rules.schema)
        # What the policy has is compared too, whoever proposes.
        assert series.given_choices(1, seconds=0, seed=4).choices[-1].given == ("town",)
    assert found.notes == ("sets that are out do not allow another 'given': these are choices for a new series",)
    assert [one.cells.count for one in found.choices] == [1, 2, 3]
    assert all(one.learnt is not None for one in found.choices)
    every = ["age", "sex", "town", "value"]
    assert held.select(every).sort(every).equals(table.select(every).sort(every))
