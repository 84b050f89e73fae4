"""Releases made elsewhere: files, people, regions."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from worked_examples import worked_examples

import reissue as ri
from reissue.errors import MissingExtra, ParameterError, ReissueError, TableError
from reissue.foreign import read_releases
from reissue.foreign.files import natural
from reissue.foreign.matching import candidates, match
from reissue.model.attributes import Intervals
from reissue.model.published import Published, PublishedGroups
from reissue.model.regions import Regions

FIRST = """age;gender;disease
[21-25];Male;Asthma
[21-25];Male;Flu
[50-60];*;Alzheimer
[50-60];*;Diabetes
"""
SECOND = """age;gender;disease
[21-30];*;Asthma
[21-30];*;Flu
[21-30];*;Cancer
[51-55];Male;Alzheimer
[51-55];Male;Heart Disease
[56-60];Female;Diabetes
[56-60];Female;Flu
"""
REGISTRY = """name,age,gender
Tom,21,Male
r2,23,Male
Bob,52,Male
r4,57,Female
Alice,27,Female
r6,53,Male
r7,59,Female
"""
PRESENT = """person,release
Tom,1
r2,release1
Bob,release1.csv
r4,1
Tom,2
"""
BYUN = json.loads(
    """{"T0": [[["Tom","r2"],["Asthma","Flu"]],[["Bob","r4"],["Alzheimer","Diabetes"]]],
        "T1": [[["Tom","r2","Alice"],["Asthma","Flu","Cancer"]],[["Bob","r6"],["Alzheimer","Heart Disease"]],
               [["r4","r7"],["Diabetes","Flu"]]]}"""
)
"""Byun et al., Figures 2 and 3, as in the file of examples."""


@pytest.fixture
def byun(tmp_path: Path) -> Path:
    releases = tmp_path / "releases"
    releases.mkdir()
    (releases / "release1.csv").write_text(FIRST)
    (releases / "release2.csv").write_text(SECOND)
    (releases / "readme.txt").write_text("not a release")
    (tmp_path / "registry.csv").write_text(REGISTRY)
    (tmp_path / "present.csv").write_text(PRESENT)
    return tmp_path


def groups_of(view: Published, release: PublishedGroups) -> list[tuple[list[object], list[object]]]:
    groups = []
    for g in range(release.group_count):
        members = release.members[release.member_starts[g] : release.member_starts[g + 1]]
        held = range(release.value_starts[g], release.value_starts[g + 1])
        values = [view.values[release.values[at]] for at in held for _ in range(release.counts[at])]
        groups.append(([view.name(int(member)) for member in members], values))
    return groups


def assert_same(view: Published, other: Published) -> None:
    assert (view.values, view.people, view.single) == (other.values, other.people, other.single)
    assert len(view.releases) == len(other.releases)
    for mine, theirs in zip(view.releases, other.releases, strict=True):
        assert mine.number == theirs.number
        assert (mine.sure, mine.present, mine.space) == (None, None, None)
        for name in ("members", "member_starts", "values", "counts", "value_starts"):
            assert getattr(mine, name).tolist() == getattr(theirs, name).tolist(), name


def test_byuns_example_with_a_registry(byun: Path) -> None:
    foreign = read_releases(
        byun / "releases",
        sensitive="disease",
        registry=byun / "registry.csv",
        person="name",
        present=byun / "present.csv",
    )
    groups = [[(members, values) for members, values in release] for release in BYUN.values()]
    assert_same(foreign.published, Published.from_groups(groups))
    assert foreign.names == ("release1.csv", "release2.csv")
    assert foreign.form == "generalised"
    # Alice, 27 years old, fits no group of the first release; it is not known that she is in it.
    assert foreign.unmatched.rows() == [(1, "people of the registry who fit no group", 1)]
    region = foreign.published.releases[0].region
    assert region is not None
    assert region.rows() == [("[21-25]", "Male"), ("[50-60]", "*")]


def test_the_example_is_the_one_on_file() -> None:
    published = worked_examples("byun-2006")["published"]
    assert {key: [[who, values] for who, _, values in groups] for key, groups in published.items()} == BYUN


def test_byuns_example_when_it_is_not_known_who_is_in(byun: Path) -> None:
    foreign = read_releases(byun / "releases", sensitive="disease", registry=byun / "registry.csv", person="name")
    first, second = foreign.published.releases
    assert groups_of(foreign.published, first) == [
        (["Tom", "r2"], ["Asthma", "Flu"]),
        (["Bob", "r4", "r6", "r7"], ["Alzheimer", "Diabetes"]),
    ]
    assert first.sure is not None
    assert first.sure.tolist() == [True, True, False, False, False, False]
    assert first.present is not None
    assert first.present.tolist() == []
    # In the second release there are as many candidates as rows, so everybody is in it.
    assert second.sure is None


def test_byuns_example_when_all_are_said_to_be_in_both(byun: Path) -> None:
    foreign = read_releases(
        byun / "releases", sensitive="disease", registry=byun / "registry.csv", person="name", present="all"
    )
    first = foreign.published.releases[0]
    # Four people cannot be in two rows: nobody's presence there is taken for certain.
    assert first.sure is not None
    assert first.sure.tolist() == [True, True, False, False, False, False]
    assert dict(foreign.unmatched.filter(pl.col("release") == 1).select("what", "count").iter_rows()) == {
        "people of the registry who fit no group": 1,
        "people known to be in the release who fit no group": 1,
        "groups with fewer rows than people known to be in them": 1,
        "people whose presence was not taken for certain": 4,
    }


def test_byuns_example_without_a_registry(byun: Path) -> None:
    foreign = read_releases(byun / "releases", sensitive="disease")
    view = foreign.published
    assert not view.single
    assert view.people is None
    first, second = view.releases
    assert first.members.size == 0
    assert first.sizes.tolist() == [0, 0]
    assert first.rows.tolist() == [2, 2]
    assert first.space is not None
    assert second.space is not None
    pairs = {(int(a), int(b)) for a, b in zip(*first.space.meets(second.space), strict=True)}
    assert pairs == {(0, 0), (1, 1), (1, 2)}
    inside = {(int(a), int(b)) for a, b in zip(*second.space.inside(first.space), strict=True)}
    assert inside == {(1, 1), (2, 1)}
    assert any("'gender' is read as labels that exclude one another" in note for note in foreign.notes)


def test_tables_and_numbers(byun: Path) -> None:
    """Tables of a library, in which columns have types, and a sensitive column of numbers."""
    first = pl.DataFrame({"age": ["20-29", "20-29"], "zip": [53711, 53711], "salary": [10.5, 9]})
    second = pl.DataFrame({"age": ["20-29", "*"], "zip": ["537**", "*"], "salary": ["9", "11"]})
    registry = pl.DataFrame({"id": [7, 8, 9], "age": [21, 22, None], "zip": [53711, 53711, 53799]})
    foreign = read_releases([first, second.to_pandas()], sensitive="salary", registry=registry, person="id")
    view = foreign.published
    assert view.values == (9, 10.5, 11)
    assert view.magnitudes is not None
    assert view.magnitudes.tolist() == [9, 10.5, 11]
    assert view.people == ("7", "8", "9")
    assert groups_of(view, view.releases[0]) == [(["7", "8"], [9, 10.5])]
    # Of person 9 the age is not known, so he fits all ages.
    assert groups_of(view, view.releases[1]) == [(["7", "8", "9"], [9]), (["7", "8", "9"], [11])]
    assert any("release 'table 2' has 1 row that may be anybody's" in note for note in foreign.notes)


def test_whole_numbers_beside_missing_ones_are_still_whole() -> None:
    release = pl.DataFrame({"zip": ["537**", "538**"], "d": ["flu", "hiv"]})
    registry = pl.DataFrame({"id": ["x", "y", "z"], "zip": [53711.0, float("nan"), 53800.0]}).to_pandas()
    view = read_releases([release], sensitive="d", registry=registry, person="id").published
    assert [members for members, _ in groups_of(view, view.releases[0])] == [["x", "y"], ["y", "z"]]


def test_dates_of_a_table_and_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("born,d\n2000-01-01 - 2000-06-30,flu\n2001-05-05,hiv\n")
    born = pl.Series([datetime(2000, 3, 1), datetime(2001, 5, 5), datetime(1999, 1, 1)])
    registry = pl.DataFrame({"id": ["x", "y", "z"], "born": born.cast(pl.Datetime("ns"))})
    for kept in (registry, registry.with_columns(pl.col("born").dt.date())):
        view = read_releases(tmp_path, sensitive="d", registry=kept, person="id").published
        assert [members for members, _ in groups_of(view, view.releases[0])] == [["x"], ["y"]]


def test_files_that_name_the_people(tmp_path: Path) -> None:
    (tmp_path / "a1.csv").write_text("id,age,group,d\nx,1,g,flu\ny,3,g,hiv\nz,2,h,flu\n")
    (tmp_path / "a2.csv").write_text("id,age,group,d\nz,2,h,flu\nx,1,h,flu\n")
    foreign = read_releases(tmp_path, sensitive="d", person="id")
    expected = [[(["x", "y"], ["flu", "hiv"]), (["z"], ["flu"])], [(["x", "z"], ["flu", "flu"])]]
    assert [groups_of(foreign.published, release) for release in foreign.published.releases] == expected
    assert foreign.published.exact
    # Rows of a group differ, so the group is not one region.
    assert foreign.published.releases[0].region is None
    with_registry = read_releases(
        tmp_path, sensitive="d", person="id", registry=pl.DataFrame({"id": ["y"], "age": [3]})
    )
    assert with_registry.published.people == ("y", "x", "z")
    assert with_registry.unmatched.rows() == [
        (1, "people who are not in the registry", 2),
        (2, "people who are not in the registry", 2),
    ]


def test_groups_of_several_regions(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,class,d\n1,g,flu\n3,g,hiv\n5,h,flu\n")
    foreign = read_releases(tmp_path, sensitive="d", group="class")
    space = foreign.published.releases[0].space
    assert space is not None
    people = Regions(4, {"age": Intervals.between(*[np.array([1.0, 2, 3, 5])] * 2)})
    assert [side.tolist() for side in space.holds(people)] == [[0, 0, 1], [0, 2, 3]]


def possible_memberships(lists: Sequence[set[int]], rows: list[int], known: set[int]) -> list[tuple[int, ...]]:
    """All ways to put each person into one of its groups or none (-1) so that every row has its person."""
    return [
        way
        for way in product(*([*sorted(one), -1] for one in lists))
        if all(way.count(g) == size for g, size in enumerate(rows)) and all(way[p] != -1 for p in known)
    ]


def test_certainty_is_certain_in_every_way_to_place_people() -> None:
    settled = 0
    for seed in range(400):
        chance = random.Random(seed)
        groups, people = chance.randint(1, 3), chance.randint(1, 6)
        spans = [sorted(chance.choices(range(6), k=2)) for _ in range(groups)]
        ages = [chance.randrange(6) for _ in range(people)]
        rows = [chance.randint(1, 3) for _ in range(groups)]
        known = {p for p in range(people) if chance.random() < 0.4}
        lists = [{g for g, (low, high) in enumerate(spans) if low <= age <= high} for age in ages]
        low, high = (np.array([span[end] for span in spans], dtype=float) for end in (0, 1))
        age = np.array(ages, dtype=float)
        there = np.isin(np.arange(people), sorted(known))
        fitting = candidates(
            Regions(groups, {"age": Intervals.between(low, high)}),
            np.array(rows),
            Regions(people, {"age": Intervals.between(age, age)}),
            there,
            most=100,
        )
        assert fitting is not None
        report = dict(fitting.report)
        assert bool(fitting.lacking) == (not possible_memberships(lists, rows, set())), seed
        assert fitting.lacking == min_lacking(lists, rows), seed
        assert report.get("rows that nobody in the registry accounts for", 0) == fitting.lacking
        if fitting.lacking:
            continue
        found = match(fitting, there)
        possible = possible_memberships(lists, rows, known)
        pairs = list(zip(found.group.tolist(), found.person.tolist(), found.sure.tolist(), strict=True))
        if possible:
            settled += 1
            listed = {(g, p) for g, p, _ in pairs}
            for way in possible:
                assert {(g, p) for p, g in enumerate(way) if g >= 0} <= listed, seed
                assert all(way[p] == g for g, p, sure in pairs if sure), seed
                assert all(way[p] >= 0 for p in found.present.tolist()), seed
        # Whatever it is, it makes a view.
        assert (np.bincount(found.group, minlength=groups) >= rows).all(), seed
        assert (np.bincount(found.group[found.sure], minlength=groups) <= rows).all(), seed
    assert settled > 50


def min_lacking(lists: Sequence[set[int]], rows: list[int]) -> int:
    """How many rows stay without anybody when people are placed as well as can be."""
    ways = product(*([*sorted(one), -1] for one in lists))
    return sum(rows) - max(sum(min(way.count(g), size) for g, size in enumerate(rows)) for way in ways)


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_our_own_releases_with_a_registry(form: str, folder: Path, patients: pl.DataFrame) -> None:
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="diagnosis")
    series = ri.open(folder, ri.Policy(schema, ri.MInvariance(m=2), form=form))
    series.publish(patients[:16], seed=1)
    series.publish(patients[4:], seed=2)
    foreign = read_releases(
        folder / "public", sensitive="diagnosis", registry=patients.drop("diagnosis"), person="patient"
    )
    assert foreign.form == form
    own = series.published()
    assert read_releases(folder, sensitive="diagnosis").names == foreign.names == ("0001", "0002")
    assert foreign.published.values == own.values
    for number, (mine, theirs) in enumerate(zip(own.releases, foreign.published.releases, strict=True), start=1):
        assert mine.values.tolist() == theirs.values.tolist()
        assert mine.counts.tolist() == theirs.counts.tolist()
        truth = series.private.members(number).drop_nulls("person")
        names = foreign.published.people
        assert names is not None
        for g in range(theirs.group_count):
            listed = {names[n] for n in theirs.members[theirs.member_starts[g] : theirs.member_starts[g + 1]]}
            assert set(truth.filter(pl.col("group") == g + 1)["person"].to_list()) <= listed


def test_declared_counterfeits_are_members(folder: Path) -> None:
    table = pl.DataFrame({"p": ["a", "b", "c"], "age": [1, 2, 3], "d": ["flu", "flu", "hiv"]})
    schema = ri.Schema(person="p", quasi={"age": ri.Numeric()}, sensitive="d")
    series = ri.open(folder, ri.Policy(schema, ri.MInvariance(m=2), disclose=["counterfeits"]))
    series.publish(table[1:], seed=1)
    series.publish(table[:2].with_columns(d=pl.lit("flu")).vstack(table[:0]), seed=1)
    foreign = read_releases(folder, sensitive="d", registry=table.drop("d"), person="p")
    made_up = [int(np.count_nonzero(release.members < 0)) for release in foreign.published.releases]
    assert made_up == [series.private.members(n)["person"].null_count() for n in (1, 2)]
    assert sum(made_up) > 0


def test_a_numeric_column_with_missing_values(folder: Path) -> None:
    ages = [1, 2, None, None, 5, 6]
    table = pl.DataFrame({"p": list("abcdef"), "age": ages, "d": ["x", "y"] * 3})
    schema = ri.Schema(person="p", quasi={"age": ri.Numeric(missing="value")}, sensitive="d")
    series = ri.open(folder, ri.Policy(schema, ri.Mondrian(k=2), series="unprotected"))
    series.publish(table)
    space = read_releases(folder, sensitive="d").published.releases[0].space
    assert space is not None
    assert list(space.attributes) == ["age"]
    known = Intervals.between(*[np.array([1, 2, np.nan, np.nan, 5, 6])] * 2)
    group, person = space.holds(Regions(6, {"age": known}))
    truth = series.private.members(1)
    pairs = set(zip(group.tolist(), person.tolist(), strict=True))
    assert {(g - 1, "abcdef".index(p)) for p, g in truth.select("person", "group").iter_rows()} <= pairs


def test_hierarchies(tmp_path: Path) -> None:
    tree = ri.Hierarchy.from_nested({"*": {"higher": ["MSc", "BSc"], "lower": ["9th"]}})
    (tmp_path / "1.csv").write_text("edu,d\nhigher,flu\nhigher,hiv\n*,flu\n")
    registry = pl.DataFrame({"id": ["x", "y", "z"], "edu": ["MSc", "BSc", "9th"]})
    foreign = read_releases(
        tmp_path, sensitive="d", registry=registry, person="id", hierarchies={"edu": tree}, present="all"
    )
    assert groups_of(foreign.published, foreign.published.releases[0]) == [
        (["x", "y"], ["flu", "hiv"]),
        (["z"], ["flu"]),
    ]
    assert foreign.published.exact
    with pytest.raises(ParameterError, match="hierarchies for 'education'"):
        read_releases(tmp_path, sensitive="d", hierarchies={"education": tree})


def test_natural_order(tmp_path: Path) -> None:
    for name in ("release10", "release2", "release1"):
        (tmp_path / f"{name}.csv").write_text("age,d\n1,flu\n")
    assert read_releases(tmp_path, sensitive="d").names == ("release1.csv", "release2.csv", "release10.csv")
    assert sorted(["b1", "a10", "a9", "a"], key=natural) == ["a", "a9", "a10", "b1"]


def test_parquet_and_lists_of_files(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1], "d": ["flu"]}).write_parquet(tmp_path / "late.parquet")
    (tmp_path / "early.csv").write_text("age,d\n1,hiv\n")
    foreign = read_releases([tmp_path / "late.parquet", str(tmp_path / "early.csv")], sensitive="d")
    assert foreign.names == ("late.parquet", "early.csv")
    assert [groups_of(foreign.published, one) for one in foreign.published.releases] == [
        [([], ["flu"])],
        [([], ["hiv"])],
    ]


def test_excel_needs_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reissue.tables.excel_files.find_spec", lambda name: None)
    (tmp_path / "1.xlsx").write_bytes(b"")
    with pytest.raises(MissingExtra, match="fastexcel"):
        read_releases(tmp_path, sensitive="d")


def workbook(path: Path, rows: list[list[object]]) -> None:
    """The smallest Excel file: one sheet, texts and numbers."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value: object) -> str:
        return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    relation = f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'{relation}officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{relation}worksheet" Target="sheet1.xml"/></Relationships>',
        "xl/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{sheet}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def test_excel_releases_are_read_like_text(tmp_path: Path) -> None:
    rows: list[list[object]] = [["age", "zip", "d"], ["[20-29]", "537**", "flu"], ["[20-29]", "537**", "hiv"]]
    rows += [[31, "537**", "flu"], [31, "537**", "flu"]]
    workbook(tmp_path / "release.xlsx", rows)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "release.csv").write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    excel = read_releases(tmp_path / "release.xlsx", sensitive="d")
    text = read_releases(tmp_path / "other", sensitive="d")
    for one, two in zip(excel.published.releases, text.published.releases, strict=True):
        assert groups_of(excel.published, one) == groups_of(text.published, two)
        assert one.region is not None
        assert one.region.equals(two.region)
    (tmp_path / "broken.xlsx").write_bytes(b"this is no workbook")
    with pytest.raises(TableError, match="cannot be read as an Excel table"):
        read_releases(tmp_path / "broken.xlsx", sensitive="d")


CANARY = "canary-77a0"
GOOD = "age,sex,d\n1-5,m,flu\n"


ONE: dict[str, str] = {"1.csv": GOOD}
KNOWN = {"person": "id"}
WRONG: list[tuple[dict[str, str], dict[str, object], str]] = [
    ({}, {}, "There are no releases in"),
    ({"1.csv": ""}, {}, "is empty"),
    ({"1.csv": "age,sex,d\n"}, {}, "release '1.csv' has no rows"),
    ({**ONE, "2.csv": f"age,sex\n1,{CANARY}\n"}, {}, "release '2.csv' has no column 'd', only 'age', 'sex'"),
    (ONE, {"quasi": ["age", "zip"]}, "None of the releases has a column 'zip' of quasi-identifiers"),
    (ONE, {"drop": ["sxe"]}, "None of the releases has a column 'sxe' to leave out"),
    (ONE, {"group": "class"}, "release '1.csv' has no column 'class'"),
    (ONE, {"drop": ["age", "sex"]}, "release '1.csv' has no quasi-identifiers"),
    (ONE, {"sensitive": []}, "must name at least one column"),
    (ONE, KNOWN, "None of the releases has a column 'id'"),
    ({"1.csv": f"id,age,d\n{CANARY},1,flu\n{CANARY},2,hiv\n"}, KNOWN, "1 row of people who have one already"),
    ({"1.csv": "id,age,d\nx,1,flu\n", "2.csv": "age,d\n1,flu\n"}, KNOWN, "1 of 2 releases have a column 'id'"),
    (ONE, {"registry": f"id,age\n{CANARY},1\n"}, "needs the 'person' parameter"),
    (ONE, {"registry": f"id,age\n{CANARY},1\n", "person": "name"}, "it has no column 'name', only 'id', 'age'"),
    (ONE, {**KNOWN, "registry": f"id,age\n{CANARY},1\n{CANARY},2\n"}, "1 row of 2 of people who have one already"),
    (ONE, {**KNOWN, "registry": f"id,zip\n{CANARY},1\n"}, "it has none of the quasi-identifiers"),
    (ONE, {"present": "all"}, "'present' parameter of read_releases needs a registry"),
    (ONE, {"quasi": "age"}, "'quasi' parameter of read_releases must be a list"),
    (ONE, {"quasi": ["age", "d"]}, "'d' cannot be two of"),
]


@pytest.mark.parametrize(("files", "more", "message"), WRONG)
def test_wrong_input_gives_one_clear_error(
    files: dict[str, str], more: dict[str, object], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "releases"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    if "registry" in more:
        (tmp_path / "registry.csv").write_text(str(more["registry"]))
        more = {**more, "registry": tmp_path / "registry.csv"}
    with pytest.raises((TableError, ParameterError)) as caught:
        read_releases(folder, **{"sensitive": "d", **more})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None or CANARY not in str(caught.value.__cause__)


def test_who_is_present_must_fit(byun: Path) -> None:
    def wrong(table: pl.DataFrame) -> str:
        with pytest.raises(ReissueError) as caught:
            read_releases(
                byun / "releases", sensitive="disease", registry=byun / "registry.csv", person="name", present=table
            )
        return str(caught.value)

    assert "has no column 'release'" in wrong(pl.DataFrame({"person": ["Tom"]}))
    told = wrong(pl.DataFrame({"person": [CANARY, "Tom"], "release": [1, 3]}))
    assert "1 row of people who are not in the registry" in told
    assert "1 row of releases that there are not" in told
    assert CANARY not in told


def test_several_problems_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,d\n1,flu\n")
    (tmp_path / "2.csv").write_text("")
    (tmp_path / "3.csv").write_text("age,d\n")
    with pytest.raises(TableError) as caught:
        read_releases(tmp_path, sensitive="d")
    assert len(caught.value.problems) == 2


def test_values_are_shown_when_asked(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(f"{GOOD}{CANARY},m,flu\n")
    assert any(CANARY in note for note in read_releases(tmp_path, sensitive="d", show_values=True).notes)
    assert not any(CANARY in note for note in read_releases(tmp_path, sensitive="d").notes)


def test_nothing_of_the_people_is_shown(byun: Path) -> None:
    foreign = read_releases(byun / "releases", sensitive="disease", registry=byun / "registry.csv", person="name")
    told = repr(foreign) + " ".join(foreign.notes) + str(foreign.unmatched)
    assert not any(name in told for name in ("Tom", "Alice", "Asthma"))
