from __future__ import annotations

import copy
import datetime
import json
import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import real_data
from real_data import needs

from reissue.errors import HierarchyError, InternalError, ParameterError
from reissue.model.hierarchy import MISSING, Hierarchy

EDUCATION = {
    "*": {
        "Higher": {"Undergraduate": ["Bachelors", "Some-college"], "Graduate": ["Masters"]},
        "Secondary": ["11th", "12th"],
    }
}
# "mule" is below both "horses" and "donkeys"; "pets" has leaves that others reached first.
ANIMALS = {
    "animal": [
        {"horses": ["pony", "mule"]},
        {"donkeys": ["jenny", "mule"]},
        {"pets": ["pony", "jenny"]},
        "cat",
    ]
}


def problems(caught: pytest.ExceptionInfo[HierarchyError]) -> str:
    return "\n".join(caught.value.problems)


def refused_rows(rows: list[list[str]]) -> str:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_rows(rows)
    return problems(caught)


def refused_nested(nested: object) -> str:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_nested(nested)  # type: ignore[arg-type]
    return problems(caught)


def nearest_labels(hierarchy: Hierarchy, *groups: list[str]) -> list[str]:
    codes = np.array([hierarchy.leaves.index(leaf) for group in groups for leaf in group], dtype=np.uint8)
    starts = np.cumsum([0, *map(len, groups)])
    return [hierarchy.labels[node] for node in hierarchy.nearest(codes, starts)]


# Fields


def test_fields_of_a_tree() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    assert tree.labels == (
        *("*", "Higher", "Undergraduate", "Bachelors", "Some-college"),
        *("Graduate", "Masters", "Secondary", "11th", "12th"),
    )
    assert tree.leaves == ("Bachelors", "Some-college", "Masters", "11th", "12th")
    assert tree.parent.tolist() == [-1, 0, 1, 2, 2, 1, 5, 0, 7, 7]
    assert tree.first.tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 3, 4]
    assert tree.last.tolist() == [4, 2, 1, 0, 1, 2, 2, 4, 3, 4]
    assert tree.coverage.tolist() == [5, 3, 2, 1, 1, 1, 1, 2, 1, 1]
    assert tree.depth.tolist() == [0, 1, 2, 3, 3, 2, 3, 1, 2, 2]
    assert tree.child_starts.tolist() == [0, 2, 4, 6, 6, 6, 7, 7, 9, 9, 9]
    assert tree.children.tolist() == [1, 7, 2, 5, 3, 4, 6, 8, 9]
    assert tree.leaf_nodes.tolist() == [3, 4, 6, 8, 9]
    assert (tree.is_tree, tree.base, tree.levels, tree.missing) == (True, 5, 4, "refuse")
    assert repr(tree) == "Hierarchy(5 leaves, 4 levels)"


def test_fields_of_a_dag() -> None:
    dag = Hierarchy.from_nested(ANIMALS)
    assert dag.labels == ("animal", "horses", "pony", "mule", "donkeys", "jenny", "pets", "cat")
    assert dag.leaves == ("pony", "mule", "jenny", "cat")
    assert dag.coverage.tolist() == [4, 2, 1, 1, 2, 1, 2, 1]
    assert dag.parent.tolist() == [-1, 0, 1, 1, 0, 4, 0, 0]
    assert not dag.is_tree
    # "donkeys" keeps only "jenny" of its own; "pets" keeps nothing, and no walk meets it.
    assert (dag.first[4], dag.last[4]) == (2, 2)
    assert (dag.first[6], dag.last[6]) == (3, 2)
    assert dag.children.tolist() == [1, 4, 7, 2, 3, 5]
    assert dag.child_starts.tolist() == [0, 3, 5, 5, 5, 6, 6, 6, 6]
    assert repr(dag) == "Hierarchy(4 leaves, 3 levels, DAG)"


def test_arrays_are_int32_and_read_only() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    for name in ("parent", "first", "last", "coverage", "depth", "child_starts", "children", "leaf_nodes"):
        array = getattr(tree, name)
        assert array.dtype == np.int32
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_immutable_equal_and_hashed_by_content() -> None:
    one, other = Hierarchy.from_nested(EDUCATION), Hierarchy.from_nested(EDUCATION)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Hierarchy.from_nested(EDUCATION, missing="value")
    assert one != Hierarchy.from_nested({"*": ["Bachelors"]})
    assert one != "*"
    # The same nodes and spanning tree, but a second parent.
    assert Hierarchy("*", {"*": ["a", "b"], "a": ["x"], "b": ["y"]}) != Hierarchy(
        "*", {"*": ["a", "b"], "a": ["x"], "b": ["y", "x"]}
    )
    with pytest.raises(AttributeError):
        one.leaves = ()  # type: ignore[misc]


def test_copies_and_pickles_are_equal_and_still_read_only() -> None:
    for hierarchy in (Hierarchy.from_nested(ANIMALS), Hierarchy.from_nested(EDUCATION, missing="value")):
        for again in (pickle.loads(pickle.dumps(hierarchy)), copy.deepcopy(hierarchy)):
            assert again == hierarchy
            assert not again.parent.flags.writeable


# Missing values


def test_missing_as_a_value_is_the_last_leaf_under_the_root() -> None:
    tree = Hierarchy.from_nested(EDUCATION, missing="value")
    assert tree.leaves[-1] == MISSING
    assert tree.base == 6
    assert tree.ancestors(MISSING) == ("*",)
    assert tree.coverage[0] == 6
    assert Hierarchy.from_nested(tree.to_nested(), missing="value") == tree


@pytest.mark.parametrize("nested", [{"*": ["a", MISSING]}, {"*": {MISSING: ["a"]}}, {MISSING: ["a"]}])
def test_missing_label_is_kept_for_missing_values(nested: dict[str, object]) -> None:
    assert Hierarchy.from_nested(nested).base >= 1
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_nested(nested, missing="value")
    assert "'(missing)' is kept for missing values" in problems(caught)


def test_missing_label_in_rows_is_listed_beside_the_other_problems() -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_rows([["a", "*"], [MISSING, "*"], ["a", "*"]], missing="value")
    assert len(caught.value.problems) == 2


def test_missing_must_be_one_of_two_words() -> None:
    with pytest.raises(ParameterError, match="The 'missing' parameter of Hierarchy must be"):
        Hierarchy.from_nested(EDUCATION, missing="drop")  # type: ignore[arg-type]


# Rows


def test_rows_give_the_same_as_the_nested_form() -> None:
    rows = [
        ["Bachelors", "Undergraduate", "Higher", "*"],
        ["11th", "11th", "Secondary", "*"],
        ["Masters", "Graduate", "Higher", "*"],
        ["Some-college", "Undergraduate", "Higher", "*"],
        ["12th", "Secondary", "Secondary", "*"],
    ]
    assert "'Secondary' stands for different leaves at levels 1 and 2" in refused_rows(rows)
    rows[4] = ["12th", "12th", "Secondary", "*"]
    assert Hierarchy.from_rows(rows) == Hierarchy.from_nested(EDUCATION)


def test_a_level_that_repeats_the_one_below_is_one_node() -> None:
    tree = Hierarchy.from_rows([["a", "A", "A", "*", "*"], ["b", "A", "A", "*", "*"], ["?", "?", "?", "*", "*"]])
    assert tree == Hierarchy.from_nested({"*": [{"A": ["a", "b"]}, "?"]})


def test_different_labels_for_the_same_leaves_stay_nodes_and_the_lower_is_nearest() -> None:
    tree = Hierarchy.from_rows(
        [["a", "School", "Education", "*"], ["b", "School", "Education", "*"], ["c", "c", "c", "*"]]
    )
    assert tree.ancestors("a") == ("School", "Education", "*")
    assert nearest_labels(tree, ["a", "b"]) == ["School"]


def test_no_rows() -> None:
    assert refused_rows([]) == "there are no rows"
    assert refused_rows([[], []]) == "there are no rows"


def test_empty_cells_are_listed_by_row() -> None:
    assert refused_rows([["a", "A", "*"], ["b", "", "*"], [], ["c", " ", "*"]]) == "empty cells in rows 2, 4"


def test_uneven_rows_are_listed_by_row() -> None:
    found = refused_rows([["a", "A", "*"], ["b", "*"], ["c", "A", "*"], ["d", "A", "*", "*"]])
    assert found == "uneven rows: rows 2, 4 should have 3 cells like the others"


def test_duplicate_leaves() -> None:
    assert refused_rows([["a", "*"], ["b", "*"], ["a", "*"]]) == "duplicate leaves: 'a'"


def test_rules_that_are_not_monotone() -> None:
    found = refused_rows([["a", "A", "X", "*"], ["b", "A", "Y", "*"], ["c", "C", "Y", "*"]])
    assert found == "not monotone: 'A' of level 1 becomes 'X', 'Y' at level 2"


def test_several_roots() -> None:
    found = refused_rows([["a", "A"], ["b", "B"]])
    assert found == "the last level must hold a single label, but holds 2: 'A', 'B'"


def test_a_label_with_two_meanings() -> None:
    found = refused_rows([["a", "b", "*"], ["b", "c", "*"], ["c", "d", "*"]])
    assert "'b' stands for different leaves at levels 0 and 1" in found
    assert "'c' stands for different leaves at levels 0 and 1" in found


def test_a_label_that_comes_back_above_another() -> None:
    found = refused_rows([["a", "B", "C", "B", "*"], ["z", "z", "z", "z", "*"]])
    assert found == "'B' stands at levels 1 and 3, with another label between"


def test_one_column_or_one_label_is_no_hierarchy() -> None:
    assert "is the delimiter right?" in refused_rows([["a,*"], ["b,*"]])
    assert "nothing is above the leaves" in refused_rows([["*", "*"]])


def test_cells_that_are_not_text() -> None:
    assert refused_rows([["a", "*"], [1, "*"], "b*"]) == "rows 2, 3 must be a sequence of texts"  # type: ignore[list-item]


def test_all_problems_of_rows_come_together_and_long_lists_are_shortened() -> None:
    rows = [[f"x{number}", f"A{number % 30}", f"B{number % 31}", "*"] for number in range(900)]
    rows += [["x0", "A0", "B0", "*"], ["y", "A0", "B0", "."], ["z", "", "B0", "*"], ["w", "*"]]
    rows += [["", "A0", "B0", "*"]] * 20
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.from_rows(rows)
    found = caught.value.problems
    # Not monotone are A0 to A29, and B0 below both "*" and ".": 31, of which 12 are shown.
    kinds = ["empty cells", "uneven", "duplicate", "not monotone", "and 19 more like these", "the last level"]
    assert all(any(kind in problem for problem in found) for kind in kinds)
    assert "and 9 more" in found[0]
    assert len(str(caught.value)) < 4_000


# Files


def test_csv_with_byte_order_mark_quotes_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "education.CSV"
    path.write_bytes(b'\xef\xbb\xbf"a;1";A;*\r\n"b ""x""";A;*\r\n\r\n\xc3\xbc;B;*\r\n')
    assert Hierarchy.read(path) == Hierarchy.from_nested({"*": {"A": ["a;1", 'b "x"'], "B": ["ü"]}})


def test_csv_with_another_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "sex.csv"
    path.write_text("Male,*\nFemale,*\n")
    assert Hierarchy.read(str(path), delimiter=",").leaves == ("Male", "Female")
    assert Hierarchy.read(path).leaves == ("Male", "Female")  # as in every CSV file, the separator is found
    with pytest.raises(HierarchyError, match="is the delimiter right"):
        Hierarchy.read(path, delimiter=";")
    path.write_text("[20, 30[;[20, 40[;*\n[30, 40[;[20, 40[;*\n")
    assert Hierarchy.read(path).leaves == ("[20, 30[", "[30, 40[")  # both would do, and ARX writes semicolons
    with pytest.raises(ParameterError, match=r"'delimiter' parameter of Hierarchy\.read"):
        Hierarchy.read(path, delimiter=";;")


def test_csv_problems_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.csv"
    path.write_text("a;A;*\na;;*\n")
    with pytest.raises(HierarchyError, match=r"broken\.csv is not a taxonomy"):
        Hierarchy.read(path)
    path.write_text("")
    with pytest.raises(HierarchyError, match="there are no rows"):
        Hierarchy.read(path)
    path.write_text('a;*\n"b;*\n')
    with pytest.raises(HierarchyError, match="not sound CSV"):
        Hierarchy.read(path)


def test_json_and_toml_files(tmp_path: Path) -> None:
    as_json, as_toml = tmp_path / "h.json", tmp_path / "h.toml"
    as_json.write_text(json.dumps(ANIMALS))
    as_toml.write_text(
        '["*".Higher]\nUndergraduate = ["Bachelors", "Some-college"]\nGraduate = ["Masters"]\n'
        '[["*".Secondary]]\nSecond = ["11th"]\n[["*".Secondary]]\nThird = ["12th"]\n'
    )
    assert Hierarchy.read(as_json, missing="value") == Hierarchy.from_nested(ANIMALS, missing="value")
    assert Hierarchy.read(as_toml) == Hierarchy.from_nested(
        {
            "*": {
                "Higher": {"Undergraduate": ["Bachelors", "Some-college"], "Graduate": ["Masters"]},
                "Secondary": {"Second": ["11th"], "Third": ["12th"]},
            }
        }
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("h.json", b"{", "not sound JSON"),
        ("h.json", b"[1]", "exactly one key, the root; found a list"),
        ("h.json", b'{"*": {"A": ["a"], "A": ["b"]}}', "'A' is given twice in one mapping"),
        ("h.json", b'{"a":' * 100_000, "nested too deeply"),
        ("h.toml", b"= 3", "not sound TOML"),
        ("h.csv", b"a;\xff*", r"not UTF-8 text \(byte 2\)"),
        ("h.xlsx", b"", "suffix is '.xlsx'"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.read(tmp_path / name)


def test_absent_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="does not exist"):
        Hierarchy.read(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(HierarchyError, match="cannot be read"):
        Hierarchy.read(tmp_path / "folder.csv")


@needs("adult/arx_hierarchies", stand_in="test_a_hierarchy_as_arx_writes_it")
@pytest.mark.parametrize(
    ("name", "leaves", "levels"),
    [
        ("age", 100, 5),
        ("education", 16, 4),
        ("marital-status", 7, 3),
        ("native-country", 41, 3),
        ("occupation", 14, 3),
        ("race", 5, 2),
        ("salary-class", 2, 2),
        ("sex", 2, 2),
        ("workclass", 8, 3),
    ],
)
def test_hierarchies_of_arx(name: str, leaves: int, levels: int) -> None:
    assert_as_arx_has_it(real_data.FOLDER / "adult" / "arx_hierarchies" / f"adult_hierarchy_{name}.csv", leaves, levels)


def test_a_hierarchy_as_arx_writes_it(tmp_path: Path) -> None:
    """A leaf a line, then what it is generalised to, level by level, the last level a star."""
    path = tmp_path / "hierarchy_workclass.csv"
    path.write_text(
        "Private;Non-Government;*\nSelf-emp-inc;Non-Government;*\n"
        "Federal-gov;Government;*\nState-gov;Government;*\n"
        "Without-pay;Unemployed;*\n"
    )
    assert_as_arx_has_it(path, leaves=5, levels=3)


def assert_as_arx_has_it(path: Path, leaves: int, levels: int) -> None:
    tree = Hierarchy.read(path)
    assert (tree.base, tree.levels, tree.is_tree, tree.labels[0]) == (leaves, levels, True, "*")
    for line in path.read_text().splitlines():
        leaf, *above = line.split(";")
        assert tree.ancestors(leaf) == tuple(above)
    assert Hierarchy.from_nested(tree.to_nested()) == tree


# Nested mappings


def test_a_second_parent_by_reference_or_by_repetition() -> None:
    written_twice = {"*": {"A": {"C": ["x", "y"]}, "B": {"C": ["y", "x"], "D": ["z"]}}}
    by_reference = {"*": {"A": {"C": ["x", "y"]}, "B": ["C", {"D": ["z"]}]}}
    reference_first = {"*": {"A": ["C"], "B": {"C": ["x", "y"], "D": ["z"]}}}
    dag = Hierarchy.from_nested(written_twice)
    assert Hierarchy.from_nested(by_reference) == dag
    assert Hierarchy.from_nested(reference_first) == dag
    assert dag.covers("B") == ("x", "y", "z")
    assert dag.ancestors("x") == ("C", "A", "B", "*")


def test_contents_that_differ() -> None:
    found = refused_nested({"*": {"A": {"C": ["x"]}, "B": {"C": ["y"]}}})
    assert found == "given twice with different contents: 'C'"


def test_cycles() -> None:
    found = refused_nested({"*": {"A": {"B": ["A", "x"]}, "C": ["*"]}})
    assert found.splitlines() == ["a cycle: 'A' > 'B' > 'A'", "a cycle: '*' > 'C' > '*'"]
    ring = {str(number): [str((number + 1) % 40)] for number in range(40)}
    with pytest.raises(HierarchyError) as caught:
        Hierarchy("0", ring)
    assert problems(caught).endswith("'9' > '10' > 29 more > '0'")
    itself: dict[str, object] = {"x": ["y"]}
    itself["A"] = itself
    assert "a cycle: 'A' > 'A'" in refused_nested({"*": itself})


def test_nothing_below_an_inner_label() -> None:
    found = refused_nested({"*": {"A": [], "B": {}, "C": None, "D": ["x"], "E": [{}]}})
    assert found == "inner labels with nothing below them: 'A', 'B', 'C', 'E'"


def test_the_same_label_twice_under_one() -> None:
    assert refused_nested({"*": {"A": ["x", "x"]}}) == "the same label stands twice directly under 'A'"


def test_several_roots_or_none() -> None:
    assert "found 2 keys" in refused_nested({"a": ["x"], "b": ["y"]})
    assert "found 0 keys" in refused_nested({})
    assert "the root must be text, not int" in refused_nested({1: ["x"]})


def test_labels_and_contents_of_the_wrong_type() -> None:
    found = refused_nested({"*": {"A": "x", "B": [17], "": ["y"], 3: ["z"]}}).splitlines()
    assert found == [
        "a label under '*' must be text, not int: put it in quotes",
        "'A' must hold a mapping or a list, not str",
        "a label under 'B' must be text, not int: put it in quotes",
        "a label is empty",
    ]
    assert refused_nested({"*": 3}) == "'*' must hold a mapping or a list, not int"


def test_labels_that_the_root_does_not_reach() -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy("*", {"*": ["a"], "B": ["b"]})
    assert problems(caught) == "not below the root '*': 'B'"
    with pytest.raises(HierarchyError) as caught:
        Hierarchy("+", {"*": ["a"]})
    assert problems(caught) == "the root '+' has nothing below it"


def test_to_nested_is_plain_where_it_can_be() -> None:
    plain = {"*": {"A": {"B": ["x"], "C": ["y", "z"]}, "D": {"E": ["w"]}}}
    assert Hierarchy.from_nested(plain).to_nested() == plain
    assert Hierarchy.from_nested(ANIMALS).to_nested() == ANIMALS
    # TOML writes plain values before tables, so a mapping would come back in another order here.
    mixed = {"*": {"A": {"B": ["x"]}, "C": ["y"]}}
    again = Hierarchy.from_nested(mixed).to_nested()
    assert again == {"*": [{"A": {"B": ["x"]}}, {"C": ["y"]}]}


# Builders


def test_intervals() -> None:
    tree = Hierarchy.intervals(17, 90, (5, 10, 20))
    assert tree.leaves == tuple(str(age) for age in range(17, 91))
    assert tree.ancestors("23") == ("20-24", "20-29", "20-39", "*")
    assert tree.covers("15-19") == ("17", "18", "19")
    assert tree.covers("90-94") == ("90",)
    assert Hierarchy.intervals(-3, 2, (2,), label="{low} to {high}").ancestors("-3") == ("-4 to -3", "*")
    assert Hierarchy.intervals(1, 3).ancestors("2") == ("*",)
    assert Hierarchy.intervals(1, 3, missing="value").base == 4


@pytest.mark.parametrize("widths", [(5, 12), (10, 5), (1, 2), (5, 5), (2.0,), 5])
def test_interval_widths_must_be_multiples(widths: object) -> None:
    with pytest.raises(ParameterError, match=r"The 'widths' parameter of Hierarchy\.intervals must be"):
        Hierarchy.intervals(0, 9, widths)  # type: ignore[arg-type]


def test_interval_parameters_are_reported_together() -> None:
    with pytest.raises(ParameterError) as caught:
        Hierarchy.intervals(5, 4, (3, 2), label="{low}")
    assert len(caught.value.problems) == 3
    with pytest.raises(ParameterError, match=r"'low' parameter .* Got 1\.5 instead"):
        Hierarchy.intervals(1.5, 4)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'label' parameter"):
        Hierarchy.intervals(1, 4, label="{a}-{b}")


def test_dates() -> None:
    tree = Hierarchy.dates(datetime.date(2023, 12, 30), datetime.date(2024, 3, 1))
    assert tree.base == 2 + 31 + 29 + 1
    assert tree.ancestors("2024-02-29") == ("2024-02", "2024", "*")
    assert tree.covers("2023") == ("2023-12-30", "2023-12-31")
    months = Hierarchy.dates(datetime.date(2023, 12, 30), datetime.date(2024, 3, 1), ("month", "year"))
    assert months.leaves == ("2023-12", "2024-01", "2024-02", "2024-03")
    years = Hierarchy.dates(datetime.date(999, 1, 1), datetime.date(1001, 1, 1), ["year"])
    assert years.leaves == ("0999", "1000", "1001")
    skipping = Hierarchy.dates(datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), ("day", "year"))
    assert skipping.ancestors("2024-01-02") == ("2024", "*")


@pytest.mark.parametrize("levels", [("year", "day"), ("week",), (), "day", ("day", "day")])
def test_date_levels(levels: object) -> None:
    day = datetime.date(2024, 1, 1)
    with pytest.raises(ParameterError, match=r"'levels' parameter of Hierarchy\.dates"):
        Hierarchy.dates(day, day, levels)  # type: ignore[arg-type]


def test_dates_must_be_days_in_order() -> None:
    day = datetime.date(2024, 1, 2)
    with pytest.raises(ParameterError, match="'last' parameter"):
        Hierarchy.dates(day, datetime.date(2024, 1, 1))
    with pytest.raises(ParameterError, match="'first' parameter"):
        Hierarchy.dates(datetime.datetime(2024, 1, 1, 12), day)


def test_masked() -> None:
    tree = Hierarchy.masked(["53715", "53711", "02139", "53711"])
    assert tree.leaves == ("02139", "53711", "53715")
    assert tree.ancestors("53711") == ("5371*", "537**", "53***", "5****", "*****")
    assert tree.covers("5371*") == ("53711", "53715")
    assert Hierarchy.masked(["ab", "ac"], character="#", levels=()).ancestors("ab") == ("##",)
    assert Hierarchy.masked(pl.Series(["abc", "abd"]), levels=[2]).ancestors("abc") == ("a**", "***")
    assert Hierarchy.masked(["a", "b"]).ancestors("a") == ("*",)


def test_masked_values_are_reported_by_count_only() -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy.masked(["secret", "canary", "bird", "cat", None, "b*rd"])  # type: ignore[list-item]
    assert problems(caught).splitlines() == [
        "not text: 1 value",
        "shorter than the longest (6 characters): 3 values",
        "with the masking character '*' in it: 1 value",
    ]
    assert not any(value in str(caught.value) for value in ("secret", "canary", "bird", "cat", "b*rd"))
    with pytest.raises(HierarchyError, match="no value to mask"):
        Hierarchy.masked([])


def test_masked_parameters() -> None:
    for levels in [(0,), (5,), (2, 1), (1.0,)]:
        with pytest.raises(ParameterError, match=r"'levels' parameter of Hierarchy\.masked"):
            Hierarchy.masked(["53711"], levels=levels)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'character' parameter"):
        Hierarchy.masked(["53711"], character="xx")
    with pytest.raises(ParameterError, match="'values' parameter") as caught:
        Hierarchy.masked("53711")
    assert "53711" not in str(caught.value)


# Queries


def test_node_ancestors_and_covers() -> None:
    dag = Hierarchy.from_nested(ANIMALS)
    assert dag.node("animal") == 0
    assert dag.labels[dag.node("mule")] == "mule"
    assert dag.ancestors("mule") == ("horses", "donkeys", "animal")
    assert dag.ancestors("animal") == ()
    assert dag.covers("pets") == ("pony", "jenny")
    assert dag.covers("mule") == ("mule",)
    with pytest.raises(HierarchyError) as caught:
        dag.node("canary")
    assert "canary" not in str(caught.value)


def test_nearest_in_a_tree() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    groups = [
        ["Masters"],
        ["12th", "11th", "12th"],
        ["Bachelors", "Some-college"],
        ["Masters", "Bachelors"],
        ["Masters", "11th"],
    ]
    assert nearest_labels(tree, *groups) == ["Masters", "Secondary", "Undergraduate", "Higher", "*"]


def test_nearest_in_a_dag_uses_every_parent() -> None:
    dag = Hierarchy.from_nested(ANIMALS)
    groups = [
        ["pony", "mule"],
        ["mule", "jenny", "mule"],
        ["jenny", "pony"],
        ["mule", "mule"],
        ["cat", "pony"],
    ]
    assert nearest_labels(dag, *groups) == ["horses", "donkeys", "pets", "mule", "animal"]
    assert nearest_labels(dag) == []


def test_nearest_of_equals_is_the_deepest_then_the_first() -> None:
    side_by_side = Hierarchy.from_nested({"*": {"A": ["x", "y"], "B": ["y", "x"], "C": ["z"]}})
    assert nearest_labels(side_by_side, ["x", "y"]) == ["A"]
    deeper = Hierarchy.from_nested({"*": {"A": ["x", "y"], "B": {"C": ["y", "x"]}, "D": ["z"]}})
    assert nearest_labels(deeper, ["x", "y"]) == ["C"]


def test_nearest_refuses_empty_groups() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    codes = np.array([0, 1], dtype=np.uint8)
    for starts in ([0, 1, 1, 2], [0, 1], [1, 2]):
        with pytest.raises(InternalError):
            tree.nearest(codes, np.array(starts))


def test_lowest_common_takes_pairs_in_either_order() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    nodes = tree.lowest_common(np.array([1, 4, 2, 0]), np.array([0, 4, 0, 3]))
    assert [tree.labels[node] for node in nodes] == ["Undergraduate", "12th", "Higher", "*"]


def test_encode() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    coded = tree.encode(pl.Series(["12th", "Bachelors", "12th"]))
    assert coded.complete
    assert coded.codes.tolist() == [4, 0, 4]
    assert coded.codes.dtype == np.uint8
    assert coded.codes.flags.writeable
    assert tree.encode(pl.Series([], dtype=pl.String)).codes.size == 0


def test_encode_counts_what_it_cannot_place() -> None:
    tree = Hierarchy.from_nested(EDUCATION)
    coded = tree.encode(pl.Series(["12th", "canary", None, "canary", "Higher", None, "bird"]))
    assert (coded.uncovered, coded.nulls, coded.complete) == (4, 2, False)
    assert coded.uncovered_labels() == ["Higher", "bird", "canary"]
    assert repr(coded) == "CodedLabels(7 rows, 4 uncovered, 2 nulls)"
    with pytest.raises(InternalError) as caught:
        _ = coded.codes
    assert "canary" not in str(caught.value)


def test_encode_missing_as_a_value() -> None:
    tree = Hierarchy.from_nested(EDUCATION, missing="value")
    coded = tree.encode(pl.Series([None, "12th", None]))
    assert coded.complete
    assert coded.codes.tolist() == [5, 4, 5]
    # A cell that reads like the label is not a missing value.
    assert tree.encode(pl.Series([MISSING])).uncovered == 1


@pytest.mark.parametrize(
    ("leaves", "missing", "dtype"),
    [
        (255, "value", np.uint8),
        (256, "refuse", np.uint8),
        (256, "value", np.uint16),
        (65_536, "value", np.uint32),
    ],
)
def test_encode_takes_the_smallest_type_that_holds_all_leaves(leaves: int, missing: str, dtype: type) -> None:
    tree = Hierarchy.from_nested({"*": [str(number) for number in range(leaves)]}, missing=missing)  # type: ignore[arg-type]
    coded = tree.encode(pl.Series([str(leaves - 1), "0", None]).head(3 if missing == "value" else 2))
    assert coded.codes.dtype == dtype
    assert coded.codes.tolist() == [leaves - 1, 0, leaves][: coded.codes.size]


def test_encode_takes_text_only() -> None:
    with pytest.raises(InternalError):
        Hierarchy.intervals(1, 3).encode(pl.Series([1, 2]))
