"""Information loss, class sizes and the report, against figures worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from reissue.errors import InternalError, ParameterError
from reissue.model.grouping import HELD_BACK, Counterfeits, Grouping
from reissue.model.hierarchy import Hierarchy
from reissue.model.snapshot import Column, Labels, Leaves, Numbers
from reissue.utility import (
    Workload,
    average_class_size,
    certainty_penalty,
    discernibility,
    distortion,
    information_loss,
    measure,
    normalised_class_size,
)


def whole(name: str, numbers: Sequence[int | None], low: int, high: int) -> Column:
    missing = None in numbers
    values = [*([math.nan] if missing else []), *range(low, high + 1)]
    codes = [0 if number is None else number - low + missing for number in numbers]
    return Column(
        name, np.array(codes, dtype=np.uint8), Numbers(np.array(values), pl.Int64(), missing, float(low), float(high))
    )


def labelled(name: str, labels: str, domain: str) -> Column:
    return Column(name, np.array([domain.index(x) for x in labels], dtype=np.uint8), Labels(tuple(domain)))


def leaves(name: str, labels: Sequence[str], hierarchy: Hierarchy) -> Column:
    return Column(name, np.array([hierarchy.leaves.index(x) for x in labels], dtype=np.uint8), Leaves(hierarchy))


def groups(*numbers: int) -> Grouping:
    return Grouping(np.array(numbers, dtype=np.int32), max(numbers) + 1)


# Rows 0 and 4 are held back, row 3 is a counterfeit in group 1.
MIXED = Grouping(
    np.array([HELD_BACK, 0, 0, 1, HELD_BACK, 0, 1], dtype=np.int32), 2, held_back={"too many alike": np.array([0, 4])}
)
NOBODY = np.array([False, False, False, True, False, False, False])


# Wong et al., Definition 5: coverage["university"] = 2 and base = 9.
EDUCATION = Hierarchy.from_nested(
    {
        "*": {
            "without": ["1st", "2nd", "3rd"],
            "school": ["junior", "senior", "technical", "vocational"],
            "university": ["undergrad", "postgrad"],
        }
    }
)

# Two groups of three and two rows.
GROUPING = groups(1, 0, 0, 1, 0)
AGE = whole("age", [30, 20, 25, 40, 28], 20, 60)  # group 0: 20 to 28; group 1: 30 to 40; domain of length 40
SEX = labelled("sex", "faffa", "fmac")  # group 0: {a, f}; group 1: {f}; domain of 4
SCHOOL = leaves("school", ["1st", "undergrad", "postgrad", "junior", "undergrad"], EDUCATION)
VALUES = labelled("disease", "xyzxy", "xyz")


def test_byun_adds_the_share_of_each_domain_over_the_rows() -> None:
    loss = information_loss([AGE, SEX, SCHOOL], GROUPING)
    # group 0: 3 * (8/40 + 1/3 + 1/8); group 1: 2 * (10/40 + 0 + 8/8)
    assert loss.total == pytest.approx(3 * (0.2 + 1 / 3 + 1 / 8) + 2 * (0.25 + 1))
    assert loss.average == pytest.approx(loss.total / 5)
    assert loss.attributes == {
        "age": pytest.approx((3 * 0.2 + 2 * 0.25) / 5),
        "sex": pytest.approx(3 / 3 / 5),
        "school": pytest.approx((3 / 8 + 2) / 5),
    }


def test_wong_weighs_and_averages_the_same_amounts() -> None:
    quasi = [AGE, SEX, SCHOOL]
    each = (1.1 / 5, 1 / 5, 2.375 / 5)
    assert distortion(quasi, GROUPING) == pytest.approx(sum(each) / 3)
    weights = {"school": 0.5, "age": 0.4, "sex": 0.1}
    assert distortion(quasi, GROUPING, weights) == pytest.approx(0.4 * each[0] + 0.1 * each[1] + 0.5 * each[2])


def test_wong_own_example_of_coverage_and_base() -> None:
    assert EDUCATION.base == 9
    assert distortion([leaves("school", ["undergrad", "postgrad"], EDUCATION)], groups(0, 0)) == 1 / 8


def test_certainty_penalty_counts_categories_over_the_domain() -> None:
    penalty = certainty_penalty([AGE, SEX, SCHOOL], GROUPING)
    assert penalty.attributes == {
        "age": pytest.approx(1.1 / 5),
        "sex": pytest.approx(3 * (2 / 4) / 5),
        "school": pytest.approx((3 * (2 / 9) + 2 * 1) / 5),
    }
    assert penalty.total == pytest.approx(sum(penalty.attributes.values()) / 3)


def test_floats_are_measured_by_length() -> None:
    levels = Numbers(np.array([0.5, 1.0, 2.5]), pl.Float64(), False, 0.0, 4.0)
    column = Column("dose", np.array([0, 2, 1], dtype=np.uint8), levels)
    grouping = groups(0, 0, 1)
    assert information_loss([column], grouping).total == pytest.approx(2 * (2.0 / 4.0))
    assert distortion([column], grouping) == pytest.approx(2 * 0.5 / 3)


def test_a_dag_counts_all_leaves_below_the_node() -> None:
    dag = Hierarchy("*", {"*": ["left", "right", "d"], "left": ["a", "b"], "right": ["b", "c"]})
    # "right" has the leaves b and c, though a walk from the root meets b below "left" first.
    column = leaves("x", ["b", "c", "a", "d"], dag)
    loss = information_loss([column], groups(0, 0, 1, 1))
    assert loss.total == pytest.approx(2 * (1 / 3) + 2 * 1)


def test_missing_numbers() -> None:
    age = whole("age", [None, None, None, 30, 30, 50], 20, 60)
    mixed, only, numbers = groups(1, 1, 0, 0, 2, 2), groups(0, 0, 0, 1, 1, 1), groups(0, 0, 0, 0, 0, 0)
    assert information_loss([age], mixed).total == pytest.approx(2 * 1 + 0 + 2 * 20 / 40)
    assert certainty_penalty([age], only).total == pytest.approx(3 * (20 / 40) / 6)
    assert distortion([age], numbers) == 1


def test_a_domain_of_one_value_has_nothing_to_lose() -> None:
    quasi = [
        whole("age", [30, 30], 30, 30),
        labelled("sex", "ff", "f"),
        leaves("x", ["a", "a"], Hierarchy("*", {"*": ["a"]})),
    ]
    assert information_loss(quasi, groups(0, 0)).total == 0
    assert distortion(quasi, groups(0, 0)) == 0


def test_one_group_of_all_that_spans_the_domain_loses_everything() -> None:
    quasi = [
        whole("age", [20, 60, 30], 20, 60),
        labelled("sex", "fma", "fma"),
        leaves("school", ["1st", "junior", "1st"], EDUCATION),
    ]
    everything = groups(0, 0, 0)
    assert certainty_penalty(quasi, everything).total == pytest.approx(1)
    assert distortion(quasi, everything) == pytest.approx(1)
    assert information_loss(quasi, everything).total == pytest.approx(9)


def test_every_row_alone_loses_nothing() -> None:
    alone = groups(4, 2, 0, 1, 3)
    quasi = [AGE, SEX, SCHOOL]
    assert information_loss(quasi, alone).total == 0
    assert distortion(quasi, alone) == 0
    assert certainty_penalty(quasi, alone).total == 0


def test_weights_are_checked_together() -> None:
    with pytest.raises(ParameterError) as caught:
        distortion([AGE, SEX], GROUPING, {"age": -0.5, "height": 1.0})
    assert caught.value.problems == (
        "no quasi-identifier is called 'height'; there are 'age', 'sex'",
        "no weight for 'sex'",
        "neither zero nor a positive number for 'age'",
        "they sum to 0.5, not to 1",
    )
    with pytest.raises(ParameterError, match=r"(?s)'weights' parameter of distortion.*sum to nan"):
        distortion([AGE], GROUPING, {"age": math.nan})


def test_discernibility() -> None:
    assert discernibility(GROUPING) == 9 + 4
    # groups of 3 and 2 rows, of which one is a counterfeit, and two people held back: a table of six
    assert discernibility(MIXED, counterfeit=NOBODY) == 9 + 4 + 2 * 6


def test_average_class_size() -> None:
    assert average_class_size(GROUPING) == 2.5
    assert average_class_size(MIXED) == 2.5
    assert normalised_class_size(GROUPING, k=2) == 1.25
    for wrong in (0, True, 2.0):
        with pytest.raises(ParameterError, match="'k' parameter of normalised_class_size"):
            normalised_class_size(GROUPING, k=wrong)  # type: ignore[arg-type]


def test_a_counterfeit_costs_nothing_itself_but_widens_the_region_for_others() -> None:
    age = whole("age", [60, 20, 25, 40, 20, 28, 30], 20, 60)  # group 0: 20 to 28; group 1: 30, and 40 made up
    sex = labelled("sex", "faffmaf", "fmac")  # group 0: {a, f}; group 1: {f}
    loss = information_loss([age, sex], MIXED, counterfeit=NOBODY)
    # three people in group 0, one in group 1
    assert loss.total == pytest.approx(3 * (8 / 40 + 1 / 3) + 1 * (10 / 40))
    assert loss.average == pytest.approx(loss.total / 4)
    assert loss.attributes["age"] == pytest.approx((3 * 8 / 40 + 10 / 40) / 4)
    assert distortion([age, sex], MIXED, counterfeit=NOBODY) == pytest.approx(loss.average / 2)
    assert certainty_penalty([age, sex], MIXED, counterfeit=NOBODY).attributes["sex"] == pytest.approx(3 * 0.5 / 4)
    # taken for people, both rows of group 1 count
    assert information_loss([age], MIXED).total == pytest.approx(3 * 8 / 40 + 2 * 10 / 40)


def test_a_release_of_counterfeits_alone_has_no_loss_to_average() -> None:
    with pytest.raises(ParameterError, match="only counterfeits"):
        information_loss([AGE], GROUPING, counterfeit=np.ones(5, dtype=np.bool_))


def test_nothing_to_measure_is_said() -> None:
    empty = Grouping(np.empty(0, dtype=np.int32), 0)
    nobody = Column("age", np.empty(0, dtype=np.uint8), AGE.levels)
    for call in (lambda: information_loss([nobody], empty), lambda: average_class_size(empty)):
        with pytest.raises(ParameterError, match="no rows to measure"):
            call()


def test_a_broken_grouping_is_our_own_mistake() -> None:
    with pytest.raises(InternalError, match="'age'"):
        information_loss([AGE], groups(0, 0))
    with pytest.raises(InternalError, match="empty group"):
        information_loss([whole("age", [20, 21], 20, 60)], groups(0, 2))
    for wrong in (NOBODY, np.array([0, 1, 0, 0, 0])):
        with pytest.raises(InternalError, match="one flag for each row"):
            discernibility(GROUPING, counterfeit=wrong)
    with pytest.raises(InternalError, match="a counterfeit is withheld"):
        discernibility(MIXED, counterfeit=~NOBODY)


def test_counterfeits_beside_the_rows_are_not_passed_over() -> None:
    made = Counterfeits(np.array([1]), np.array([0], dtype=np.int32), pl.DataFrame({"age": [20]}))
    beside = Grouping(GROUPING.group, 2, made)
    for call in (lambda: information_loss([AGE], beside), lambda: discernibility(beside)):
        with pytest.raises(InternalError, match="as rows among the others"):
            call()


def test_report_of_a_generalised_release() -> None:
    asked = Workload(dimensions=2, selectivity=0.5, count=100, seed=7)
    utility = measure([AGE, SEX, SCHOOL], VALUES, GROUPING, form="generalised", k=2, workload=asked)
    assert utility.information_loss == information_loss([AGE, SEX, SCHOOL], GROUPING)
    assert utility.certainty_penalty == certainty_penalty([AGE, SEX, SCHOOL], GROUPING)
    assert utility.distortion == distortion([AGE, SEX, SCHOOL], GROUPING)
    assert utility.query_error is not None
    read = json.loads(json.dumps(utility.to_dict(), allow_nan=False))
    assert (read["rows"], read["groups"], read["counterfeits"], read["held_back"]) == (5, 2, 0, 0)
    assert read["information_loss"]["attributes"]["sex"] == pytest.approx(0.2)
    assert read["certainty_penalty"]["total"] == pytest.approx(utility.certainty_penalty.total)
    assert (read["discernibility"], read["normalised_class_size"]) == (13, 1.25)
    assert read["query_error"]["answered"] == 100
    shown = dict(utility.frame().select("measure", "value").iter_rows())
    assert shown["certainty penalty of sex"] == pytest.approx(0.3)
    assert shown["median query error"] == utility.query_error.median
    assert utility.frame()["meaning"].null_count() == 0
    assert repr(utility).startswith("Utility(generalised: 5 rows in 2 groups, certainty penalty 0.")


def test_report_of_an_anatomised_release_has_no_loss() -> None:
    utility = measure([AGE, SEX], VALUES, GROUPING, form="anatomised")
    assert utility.information_loss is utility.distortion is utility.certainty_penalty is None
    assert utility.frame()["measure"].to_list() == ["discernibility", "average class size"]
    assert utility.discernibility == 13
    assert utility.to_dict()["query_error"] is None
    assert repr(utility) == "Utility(anatomised: 5 rows in 2 groups, average class size 2.50)"


def test_report_with_counterfeits_and_people_held_back() -> None:
    age = whole("age", [60, 20, 25, 40, 20, 28, 30], 20, 60)
    values = labelled("disease", "xyzxyzx", "xyz")
    asked = Workload(dimensions=1, selectivity=1.0, count=3, seed=1)
    utility = measure([age], values, MIXED, form="generalised", k=2, workload=asked, counterfeit=NOBODY)
    assert (utility.rows, utility.groups, utility.counterfeits, utility.held_back) == (5, 2, 1, 2)
    assert utility.information_loss == information_loss([age], MIXED, counterfeit=NOBODY)
    assert utility.discernibility == 9 + 4 + 2 * 6
    assert utility.normalised_class_size == 1.25
    # Every query asks for everything: six people in the table, five rows published.
    assert utility.query_error is not None
    assert set(utility.query_error.queries.iter_rows()) == {(6, 5.0, 1 / 6, 6.0, 0.0)}
    shown = dict(utility.frame().select("measure", "value").iter_rows())
    assert (shown["counterfeits"], shown["withheld"]) == (1, 2)
    read = json.loads(json.dumps(utility.to_dict(), allow_nan=False))
    assert (read["rows"], read["counterfeits"], read["held_back"]) == (5, 1, 2)
    assert repr(utility).startswith("Utility(generalised: 5 rows in 2 groups, 1 counterfeit, 2 withheld, certainty")


def test_report_checks_its_parameters() -> None:
    with pytest.raises(ParameterError, match="'form' parameter of measure must be 'generalised' or 'anatomised'"):
        measure([AGE], VALUES, GROUPING, form="both")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'k' parameter of measure .* Got 0 instead"):
        measure([AGE], VALUES, GROUPING, form="generalised", k=0)
    with pytest.raises(ParameterError, match="'weights' parameter of measure must be left out"):
        measure([AGE], VALUES, GROUPING, form="anatomised", weights={"age": 1})
    with pytest.raises(ParameterError, match="'weights' parameter of measure must give"):
        measure([AGE], VALUES, GROUPING, form="generalised", weights={})


def test_no_cell_value_is_shown() -> None:
    canary = Labels(("canary-one", "canary-two"))
    column = Column("sex", np.array([0, 1, 0, 1, 1], dtype=np.uint8), canary)
    asked = Workload(dimensions=1, selectivity=0.5, count=10, seed=1)
    utility = measure([column], column, GROUPING, form="generalised", workload=asked)
    everything = [repr(utility), str(utility.frame()), json.dumps(utility.to_dict()), repr(utility.query_error)]
    assert not any("canary" in text for text in everything)
