"""Wong's study: what is counted, asked and believed, against the same worked out by hand or over all worlds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import real_data
from adult_file import write_adult
from real_data import needs
from reissue_studies.wong import claims as wong_claims
from reissue_studies.wong import experiments as wong
from reissue_studies.wong import figures as wong_figures
from reissue_studies.wong import knowing as wong_knowing
from reissue_studies.wong.experiments import Run, Setting
from reissue_studies.wong.people import people
from reissue_studies.wong.setting import adult
from reissue_studies.wong.taxonomies import HEIGHTS, PROTECTED, QUASI, labels, taxonomies

from reissue.attacks.minimality.minimality import Minimality
from reissue.errors import ParameterError, UserError
from reissue.model.grouping import Changed, Grouping
from reissue.model.knowledge import Knowledge
from reissue.model.snapshot import Column, Labels
from reissue.publishing.inspection import Sight

SMALL = Setting(rows=400, m=(2, 5), k=(2, 6), sizes=(2, 5), repeats=2, queries=60, seed=3)


def described(**given: object) -> dict[str, object]:
    """Somebody unremarkable, but for what is given; underscores stand for hyphens."""
    usual = dict(zip(QUASI, (30, "Private", "Divorced", "Sales", "White", "Male", "Cuba", "<=50K"), strict=True))
    return {**usual, "education": "HS-grad", **{name.replace("_", "-"): value for name, value in given.items()}}


# The table


def test_taxonomies_are_those_of_table_12() -> None:
    trees = taxonomies()
    assert list(trees) == [*QUASI, "education"]
    assert [trees[name].base for name in trees] == [74, 7, 7, 14, 5, 2, 41, 2, 16]
    assert [trees[name].levels - 1 for name in trees] == [*HEIGHTS, 4]
    for tree in trees.values():
        assert tree.is_tree
        assert len({*tree.depth[tree.leaf_nodes].tolist()}) == 1
    assert trees["age"].ancestors("23") == ("20-24", "20-29", "20-39", "*")
    # The paper: "private" and "self-emp-not-inc" are generalised to "with-pay".
    private, self_employed = (trees["workclass"].ancestors(name) for name in ("Private", "Self-emp-not-inc"))
    assert next(label for label in private if label in self_employed) == "With pay"
    assert set(trees["education"].covers("Elementary")) == set(PROTECTED)


@needs("adult", stand_in="test_adult_is_read_from_its_files")
def test_the_papers_numbers_of_adult() -> None:
    table = Setting(path=real_data.FOLDER / "adult").table
    assert table.height == 45_222
    assert table["education"].is_in(PROTECTED).sum() == wong_claims.SENSITIVE_TUPLES == 1_566
    counts = dict(table["education"].value_counts().iter_rows())
    assert [counts[label] for label in PROTECTED] == [72, 222, 449, 823]
    for name, tree in taxonomies().items():
        assert table[name].n_unique() == tree.base
        assert tree.encode(table[name].cast(pl.String)).complete


def test_invented_people_have_adults_domains() -> None:
    table = people(20_000, seed=5)
    assert table.columns == ["person", *QUASI, "education"]
    for name, tree in taxonomies().items():
        assert tree.encode(table[name].cast(pl.String)).complete
        assert table[name].n_unique() >= 0.9 * tree.base
    share = table["education"].is_in(PROTECTED).sum() / table.height
    assert 0.025 < share < 0.045
    # Most combinations have one person, and a few have many.
    sizes = table.group_by(QUASI).len()["len"].to_numpy()
    assert (sizes == 1).mean() > 0.5
    assert sizes.max() > 20
    assert people(300, seed=5).equals(people(300, seed=5))
    assert not people(300, seed=5).equals(people(300, seed=6))


def test_adult_is_read_from_its_files(tmp_path: Path) -> None:
    whole, unknown = described(age=20), described(workclass="?")
    write_adult(tmp_path / "adult.data", [whole, unknown, described(age=21)])
    assert adult(tmp_path)["age"].to_list() == [20, 21]
    write_adult(tmp_path / "adult.test", [described(age=22, salary_class=">50K."), unknown])
    for path in (tmp_path, tmp_path / "adult.data"):
        assert adult(path)["age"].to_list() == [20, 21, 22]
    assert adult(tmp_path)["salary-class"].to_list() == ["<=50K", "<=50K", ">50K"]
    assert adult(tmp_path)["person"].to_list() == [1, 2, 3]
    # Another name is another file: nothing beside it is read.
    (tmp_path / "adult.data").rename(tmp_path / "mine.data")
    assert adult(tmp_path / "mine.data").height == 2
    with pytest.raises(UserError, match=r"There is no adult\.data in"):
        adult(tmp_path)
    (tmp_path / "narrow.csv").write_text("age;sex\n30;Male\n")
    with pytest.raises(UserError, match="Adult without 'workclass'"):
        adult(tmp_path / "narrow.csv")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": 10}, "The 'rows' parameter of Setting must be a whole number of at least 200. Got 10 instead."),
        ({"repeats": 0}, "The 'repeats' parameter of Setting must be a whole number of at least 1. Got 0 instead."),
        ({"m": (1, 2)}, "The 'm' parameter of Setting must be ascending whole numbers of at least 2."),
        ({"k": ()}, "The 'k' parameter of Setting must be ascending whole numbers of at least 1."),
        ({"sizes": (2, 9)}, "The 'sizes' parameter of Setting must be ascending whole numbers from 1 to 8."),
        ({"sizes": (3, 2)}, "The 'sizes' parameter of Setting must be ascending"),
        ({"seed": -1}, "The 'seed' parameter of Setting"),
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Setting(**wrong)


def test_all_problems_are_told_at_once_and_rows_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ParameterError) as told:
        Setting(m=(), k=(0,))
    assert len(told.value.problems) == 2
    write_adult(tmp_path / "adult.data", [described()] * 3)
    with pytest.raises(ParameterError, match=r"The table has 3 complete rows, 200 are asked for\."):
        _ = Setting(path=tmp_path, rows=200).table


# Figure 2


def test_the_papers_own_case_of_an_old_man(tmp_path: Path) -> None:
    married = {"age": 80, "marital_status": "Married-spouse-absent"}
    rows = [described(**married, workclass="Self-emp-not-inc", education="7th-8th")]
    write_adult(tmp_path / "adult.data", rows + [described(**married, workclass="Private")] * 2)
    found = wong.attacked(Setting(path=tmp_path, m=(2,), sizes=(3,)))
    local = found.row(0, named=True)
    assert local["recoding"] == "local"
    assert (local["sensitive"], local["problematic"], local["certain"], local["exposed"]) == (1, 1, 1, 1)
    assert local["share"] == local["credibility"] == 1.0


@pytest.fixture(scope="module")
def attacks() -> pl.DataFrame:
    return wong.attacked(SMALL)


def test_problematic_tuples_are_counted_person_by_person(attacks: pl.DataFrame) -> None:
    assert attacks.height == 2 * 3
    assert attacks.filter(pl.col("recoding") == "local")["problematic"].sum() > 0
    table = SMALL.table
    low = dict(table.select("person", pl.col("education").is_in(PROTECTED)).iter_rows())
    for run, row in zip(wong.attack_runs(SMALL), attacks.iter_rows(named=True), strict=True):
        assert (row["m"], row["size"], row["recoding"], row["k"]) == (run.m, run.size, run.recoding, 1)
        made, _ = SMALL.publish(run)
        sight = Sight.of_draft(made, None)
        found = Minimality().run(sight.view, Knowledge(minimal=sight.minimal))
        # By another way than the study's: everybody's own posterior, plain shares where there is none.
        believed = dict(found.posteriors.select("person", "probability").iter_rows())
        names = dict(made.new_people.iter_rows())
        above = {names[number]: one for number, one in believed.items() if one > 1 / run.m + 1e-9}
        problematic = {person: one for person, one in above.items() if low[person]}
        assert row["problematic"] == len(problematic)
        assert row["exposed"] == len(above)
        assert row["sensitive"] == sum(low.values())
        assert row["share"] == pytest.approx(len(problematic) / row["sensitive"])
        if problematic:
            assert row["credibility"] == pytest.approx(sum(problematic.values()) / len(problematic))
        classes = Counter(table.select(QUASI[: run.size]).rows())
        assert row["classes"] == len(classes)


def test_the_attack_is_about_credibilities_above_the_limit(attacks: pl.DataFrame) -> None:
    found = attacks.drop_nulls("credibility")
    assert found.height
    assert (found["credibility"] > 1 / found["m"]).all()
    assert (attacks["problematic"] <= attacks["exposed"]).all()
    assert (attacks["certain"] <= attacks["problematic"]).all()
    assert (attacks["seconds"] > 0).all()
    assert attacks["unsettled"].sum() == 0


# Figures 3 to 6


@pytest.fixture(scope="module")
def singles() -> pl.DataFrame:
    return wong.one_table(SMALL, 5)


def test_losses_are_those_of_the_published_table(singles: pl.DataFrame) -> None:
    assert singles.height == 2 * 2 * 2 * 2
    trees, table = taxonomies(), SMALL.table
    for row in singles.filter(pl.col("repeat") == 2).iter_rows(named=True):
        run = Run(row["method"], 5, row["k"], row["size"])
        made, _ = SMALL.publish(run, repeat=2)
        lost = 0.0
        for name in QUASI[: run.size]:
            covered = [len(trees[name].covers(label)) for label in made.tables["table"][name].cast(pl.String).to_list()]
            lost += sum(one - 1 for one in covered) / (trees[name].base - 1) / run.size
        assert row["loss"] == pytest.approx(lost / table.height)
        assert row["groups"] == made.tables["table"]["group"].n_unique()
        # Distortion: who is published with another value, and what both values have in common.
        names = dict(made.new_people.iter_rows())
        true = dict(table.select("person", "education").iter_rows())
        tree, distorted, changed = trees["education"], 0.0, 0
        for number, shown in [] if made.changed is None else made.changed.iter_rows():
            own = true[names[number]]
            above = tree.ancestors(own)
            nearest = next(label for label in above if label in tree.ancestors(shown))
            distorted += (len(tree.covers(nearest)) - 1) / 15
            changed += 1
            assert own in PROTECTED
            assert shown not in PROTECTED
        assert row["changed"] == changed
        assert row["distortion"] == pytest.approx(distorted / table.height)
        assert changed == 0 or run.name == "Mask"
    assert singles.filter(pl.col("method") == "Mask")["changed"].sum() > 0


def test_every_method_is_asked_the_same_queries(singles: pl.DataFrame) -> None:
    runs = [Run(name, 5, k, 5) for name in wong.METHODS for k in SMALL.k]
    for repeat, other in ((1, 2), (2, 1)):
        drafts = [SMALL.publish(run, repeat=repeat)[0] for run in runs]
        counts = [wong.asked(SMALL, made, "generalised", repeat, 5).queries["actual"].to_list() for made in drafts]
        assert all(one == counts[0] for one in counts)
        again = wong.asked(SMALL, drafts[0], "generalised", other, 5).queries["actual"].to_list()
        assert again != counts[0]
    assert singles["answered"].to_list() == [60] * singles.height
    assert (singles["drafting"] > singles["grouping"]).all()


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    return wong.two_tables(SMALL)


def test_two_tables_are_asked_by_dimensions_and_selectivity(pairs: pl.DataFrame) -> None:
    # Two m, two k, two methods, two repetitions; five selectivities with all attributes, and one with fewer.
    assert pairs.height == 2 * 2 * 2 * 2 * 6
    kinds = pairs.select("dimensions", "selectivity").unique(maintain_order=True).rows()
    assert kinds[0] == (5, 0.05)
    assert set(kinds) == {(2, 0.05), *((5, share) for share in wong.SELECTIVITIES)}
    row = pairs.filter(pl.col("method") == "Mask", pl.col("k") == 2, pl.col("m") == 5).row(0, named=True)
    made, _ = SMALL.publish(Run("Mask", 5, 2, 5), form="anatomised")
    assert set(made.tables) == {"quasi", "sensitive"}
    assert row["mean"] == wong.asked(SMALL, made, "anatomised", 1, 5).mean
    assert row["changed"] == len(made.grouping.changed or ())


# Somebody who knows Mask


def worlds(size: int, m: int, drawn: dict[int, Fraction]) -> dict[int, Fraction]:
    """What each number shown says about the true share, over all ways in which people can be in the set or not."""
    weight: dict[int, Fraction] = {}
    held: dict[int, Fraction] = {}
    for world in product((0, 1), repeat=size):
        number = sum(world)
        chance = Fraction(1, m) ** number * Fraction(m - 1, m) ** (size - number)
        showing = drawn if number * m > size else {number: Fraction(1)}
        for shown, likely in showing.items():
            weight[shown] = weight.get(shown, Fraction(0)) + chance * likely
            held[shown] = held.get(shown, Fraction(0)) + chance * likely * Fraction(number, size)
    return {shown: held[shown] / total for shown, total in weight.items() if total}


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_beliefs_are_those_over_all_worlds(size: int, m: int) -> None:
    for drawn in (wong_knowing.repaired(size, m), wong_knowing.from_reference(size, np.array([0.0, 0.1, 1 / m]))):
        assert drawn.sum() == pytest.approx(1)
        exact = worlds(size, m, {shown: Fraction(float(one)) for shown, one in enumerate(drawn) if one})
        found = wong_knowing.beliefs(size, m, drawn)
        for shown in range(size + 1):
            assert found[shown] == pytest.approx(float(exact[shown])) if shown in exact else np.isnan(found[shown])


@pytest.mark.parametrize("m", [2, 3, 10])
def test_the_restoring_setting_leaves_nobody_surer_than_the_limit(m: int) -> None:
    for size in range(1, 41):
        found = wong_knowing.beliefs(size, m, wong_knowing.repaired(size, m))
        assert np.nanmax(found) <= 1 / m + 1e-12
    # The paper's own setting does: pairs that show one of two.
    paper = wong_knowing.beliefs(2, 2, wong_knowing.from_reference(2, np.array([0.5])))
    assert paper[1] == pytest.approx(2 / 3)


def release(groups: list[list[str]], instead: dict[int, str]) -> Any:
    """A draft as far as beliefs look at it: groups of values, and by row what is published in place of some."""
    code = {label: at for at, label in enumerate(labels("education"))}
    codes = np.array([code[value] for group in groups for value in group], dtype=np.uint8)
    numbers = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
    rows = np.array(sorted(instead), dtype=np.int64)
    changed = Changed(rows, np.array([code[instead[row]] for row in sorted(instead)], dtype=np.uint8))
    column = Column("education", codes, Labels(labels("education")))
    grouping = Grouping(numbers, len(groups), changed=changed)
    return SimpleNamespace(grouping=grouping, snapshot=SimpleNamespace(values=column))


def test_three_quarters_where_the_paper_promises_a_half() -> None:
    low, high = "1st-4th", "HS-grad"
    made = release([[low, low], [low, high], [high, high]], {1: high})
    found = wong_knowing.believed(made, Run("Mask", 2, 2, 8))
    assert (found["violating"], found["others"], found["true"]) == (1, 1, 1.0)
    assert found["formula_mean"] == found["formula_worst"] == 0.75
    assert found["worst"] == pytest.approx(2 / 3)
    assert (found["above"], found["people"]) == (1.0, 4)
    assert found["observed"] is None
    many = release([[low, low]] * 20 + [[low, high]] * 20, dict.fromkeys(range(1, 40, 2), high))
    assert wong_knowing.believed(many, Run("Mask", 2, 2, 8))["observed"] == 0.75
    # Restored: what was repaired shows nothing, what shows one of two has it.
    shown = dict.fromkeys(range(2), high)
    restored = wong_knowing.believed(
        release([[low, low], [low, high], [high, high]], shown), Run("Mask", 2, 2, 8, draw="binomial")
    )
    assert (restored["worst"], restored["above"], restored["people"]) == (0.5, 0.0, 0)
    assert restored["formula_mean"] is None
    nothing = wong_knowing.believed(release([[low, high], [high, high]], {0: low}), Run("Mask", 2, 2, 8))
    assert (nothing["violating"], nothing["worst"]) == (0, None)


def test_too_few_groups_to_hide_among_make_him_surer() -> None:
    low, high = "Preschool", "Masters"
    groups = [[low, low, low], [low, low, low], [low, high, high]]
    found = wong_knowing.believed(release(groups, {1: high, 2: high, 4: high, 5: high}), Run("Mask", 3, 3, 8))
    # Four are wanted for L and one is there: V is two thirds of them, so 2/3 + 1/3 of 1/3.
    assert (found["violating"], found["others"]) == (2, 1)
    assert found["formula_worst"] == pytest.approx(2 / 3 + 1 / 9)


def test_mask_is_looked_at_in_both_settings() -> None:
    found = wong_knowing.knowing(SMALL)
    assert found.height == 2 * 2 * 2 * 2
    assert found["draw"].unique(maintain_order=True).to_list() == ["reference", "binomial"]
    restored = found.filter(pl.col("draw") == "binomial").drop_nulls("worst")
    assert restored.height
    assert (restored["worst"] <= 1 / restored["m"] + 1e-9).all()
    assert restored["people"].sum() == 0
    paper = found.filter(pl.col("draw") == "reference", pl.col("k") == 2).drop_nulls("worst")
    assert (paper["worst"] > 1 / paper["m"]).all()
    # V depends on the groups alone, and these on neither setting nor repetition.
    assert found.group_by("m", "k").agg(pl.col("violating").n_unique())["violating"].unique().to_list() == [1]


# Drawing


def test_figures_that_share_their_runs_and_how_many_steps_they_take() -> None:
    figures = wong_figures.FIGURES
    assert list(figures) == [2, 3, 4, 5, 6, 7, 8]
    assert figures[2].measure == figures[7].measure
    assert figures[5].measure == figures[6].measure
    assert figures[3].measure != figures[4].measure
    steps = {number: figure.steps(SMALL) for number, figure in figures.items()}
    assert steps == {2: 7, 3: 17, 4: 17, 5: 16, 6: 16, 7: 7, 8: 16}


def test_progress_is_as_long_as_it_says() -> None:
    setting = Setting(rows=200, m=(2,), k=(2,), sizes=(2,), repeats=1, queries=5)
    for figure in wong_figures.FIGURES.values():
        told: list[str] = []
        figure.measure(setting, progress=told.append)
        assert len(told) == figure.steps(setting)


def test_repetitions_are_averaged(singles: pl.DataFrame) -> None:
    summary = wong_figures.FIGURES[4].summary(singles)
    assert summary.height == singles.height // 2
    assert summary["repeats"].to_list() == [2] * summary.height
    first = singles.head(2)
    assert summary["mean"][0] == pytest.approx(first["mean"].mean())
    assert summary["distortion"][0] == pytest.approx(first["distortion"].mean())
    tables = wong_figures.FIGURES[4].tables(summary)
    assert [*tables] == ["5 attributes, m = 5", "beside the paper"]
    assert tables["5 attributes, m = 5"]["k"].to_list() == [2, 2, 6, 6]


def test_what_the_paper_says_stands_beside_what_was_measured() -> None:
    rows = [
        *((m, 8, "local", 0.1 * m, 1 / m + 0.1, m / 10) for m in (2, 5, 10)),
        *((2, size, "local", 0.01 * size, 0.9, 0.1) for size in (4, 6)),
        (2, 8, "full-domain", 0.9, 0.1, 9.0),
    ]
    names = ("m", "size", "recoding", "share", "credibility", "seconds")
    found = pl.DataFrame(rows, schema=names, orient="row").with_columns(sensitive=pl.lit(58))
    assert wong_claims.of_attack(found).rows() == [
        ("sensitive tuples", "1,566", "58"),
        ("(a) share of problematic tuples grows with m", "yes", "in 2 of 2 steps"),
        ("(b) their credibility falls with m", "yes", "in 2 of 2 steps"),
        ("(c) share grows with QID size, m = 2", "yes", "in 2 of 2 steps"),
        ("(d) credibility, any QID size, m = 2", "about 0.9", "0.600 to 0.900"),
    ]
    assert wong_claims.of_attack_time(found).rows() == [
        ("seconds for m = 2", "173", "0.200"),
        ("seconds for m = 10", "239", "1.000"),
    ]


def test_claims_about_one_table_count_the_steps_of_each_line() -> None:
    rows = [
        ("Mask", 2, 2, 0.1, 0.30, 0.20, 0.02), ("Mask", 2, 4, 0.2, 0.40, 0.30, 0.03),
        ("Mask", 9, 2, 0.1, 0.35, 0.25, 0.01), ("Mask", 9, 4, 0.1, 0.30, 0.40, 0.01),
        ("AlphaK", 2, 2, 0.1, 0.30, 0.21, 0.0), ("AlphaK", 2, 4, 0.2, 0.40, 0.30, 0.0),
        ("AlphaK", 9, 2, 0.1, 0.35, 0.25, 0.0), ("AlphaK", 9, 4, 0.3, 0.50, 0.41, 0.0),
    ]  # fmt: skip
    names = ("method", "k", "size", "grouping", "mean", "loss", "distortion")
    told = wong_claims.of_one_table(pl.DataFrame(rows, schema=names, orient="row"))
    assert told["here"].to_list() == [
        "in 3 of 4 steps",  # time grows in three of the four lines
        "in 1 of 4 steps",  # Mask at size 4 takes less with a larger k
        "in 3 of 4 steps",
        "in 3 of 4 steps",
        "in 4 of 4 steps",
        "in 4 of 4 steps",
        "in 2 of 4",
        "in 1 of 2 steps",
        "in 2 of 2 steps",
    ]
