"""All methods on the same streams: figures recomputed by hand, and streams as they are read from files."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from real_data import FOLDER, needs
from reissue_studies.methods import experiments
from reissue_studies.methods.diagnoses import grouped
from reissue_studies.methods.experiments import SCHEMA, Setting, _measured, _without_link, compared, compared_steps
from reissue_studies.methods.figures import PANELS, ROWS, drawn
from reissue_studies.methods.left import changes, frequent, left
from reissue_studies.methods.released import NotPublished, Released, released
from reissue_studies.methods.setting import FULL
from reissue_studies.methods.streams import SOURCES, Stream, generated, missing, real
from reissue_studies.methods.taken import taken
from reissue_studies.methods.ways import NO_LINK, WAYS, rate_before

from reissue.attacks import Worlds
from reissue.errors import ParameterError
from reissue.publishing import archive
from reissue.utility.workload import Queries

SMALL = Setting(rows=1_200, releases=2, m=3, changing=0.05, queries=40, drawings=1, seconds=0.5, seed=4)
WAY = {way.name: way for way in WAYS}
REFUSING = ("Incremental", "HDComposition")
TIMELESS = {
    "withheld", "counterfeit", "replaced", "counts", "slopes", "kept", "turned", "size", "trend", "coverage",
    "intervals", "attack", "people", "likely", "without", "advantage",
}  # fmt: skip
"""What does not depend on how far `Worlds` comes."""


@pytest.fixture(scope="module")
def stream() -> Stream:
    """The small census."""
    return SMALL.stream("census")


@pytest.fixture(scope="module")
def found() -> pl.DataFrame:
    """What comes out of it."""
    return compared(SMALL)


def row(found: pl.DataFrame, method: str) -> dict[str, Any]:
    """What was found of a method."""
    return found.row(by_predicate=pl.col("method") == method, named=True)


# All methods


def test_a_row_for_every_method(found: pl.DataFrame) -> None:
    assert found.schema == SCHEMA
    assert found["method"].to_list() == [*WAY, NO_LINK] == list(ROWS)
    assert set(found["stream"]) == {"census"}
    assert set(found["m"]) == {3}
    measured = found.filter(pl.col("refused").is_null())
    assert measured["method"].to_list() == [name for name in ROWS if name not in REFUSING]
    always = (
        "withheld",
        "counterfeit",
        "counts",
        "slopes",
        "trend",
        "above",
        "certain",
        "right",
        "likely",
        "advantage",
    )
    assert not measured.select(always).null_count().sum_horizontal().item()


def test_who_refuses_says_why_and_has_no_figures(found: pl.DataFrame) -> None:
    gone = 120  # a tenth of 1,200
    for name, why in {
        "Incremental": f"release 2: .*deletions: {gone} people are gone since the last release",
        "HDComposition": "HDComposition is for permanent values: name them in 'permanent'",
    }.items():
        refused = row(found, name)
        assert pl.Series([refused["refused"]]).str.contains(why).all()
        figures = {name: value for name, value in refused.items() if name not in found.columns[:6]}
        assert {*figures.values()} == {None}


@pytest.mark.parametrize("name", ["Alternatives", "EEquivalence", "Mondrian, unprotected"])
def test_the_same_seed_gives_the_same_figures(found: pl.DataFrame, stream: Stream, name: str) -> None:
    again, before = _measured(SMALL, stream, WAY[name]), row(found, name)
    if name == "Mondrian, unprotected":
        # What Worlds proves within its time depends on the machine.
        again = {key: value for key, value in again.items() if key in TIMELESS}
    assert again == {key: before[key] for key in again}
    assert len(again) > 12


def test_progress_is_told_of_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(experiments, "_measured", lambda *given: {})
    compared(SMALL, progress=told.append)
    assert len(told) == compared_steps(SMALL) == len(ROWS) + 1
    assert told[0] == "census, its tables"
    assert told[-1] == f"census, {NO_LINK}"


# What it costs, by hand


@pytest.mark.parametrize("name", ["MInvariance, anatomised", "MInvariance, reinserting", "Alternatives"])
def test_withheld_and_counterfeit(found: pl.DataFrame, stream: Stream, name: str) -> None:
    """From who is in the table, who is in the release, and how many rows that has."""
    with released(SMALL, stream, WAY[name]) as series:
        inside = series.series.private.members(2).drop_nulls("person")["person"].to_list()
        public = series.series.release(2).tables
    rows = public["quasi" if "quasi" in public else "table"].height
    people = stream.states[-1]["person"].to_list()
    withheld = len({*people} - {*inside})
    told = row(found, name)
    assert told["withheld"] == withheld / len(people)
    assert told["counterfeit"] == (rows - (len(people) - withheld)) / rows
    assert told["replaced"] == 0
    # Of the values that changed, most left the signature of their person.
    assert (withheld > 20) == (name == "MInvariance, anatomised")


# What is left, by hand


class Asked:
    """The first query of a workload that somebody matches, as labels and numbers that it admits."""

    def __init__(self, series: Released, setting: Setting) -> None:
        snapshot, _ = archive.snapshot(series.series._ledger, series.number, series.series.policy)
        queries = Queries(snapshot.quasi, snapshot.values, setting.workload)
        batch = queries.draw(0)
        columns = (*snapshot.quasi, snapshot.values)
        admitted = []
        for at, column in enumerate(columns):
            levels: Any = column.levels
            count = levels.values.size if hasattr(levels, "values") else len(levels.labels)
            admitted.append(
                (column.name, levels.decode(np.arange(count)), queries.admitted(batch, at, np.arange(count)))
            )
        table = series.stream.states[-1]
        for lane in range(admitted[0][2].shape[1]):
            self.labels = {name: values.filter(pl.Series(which[:, lane])).to_list() for name, values, which in admitted}
            self.actual = table.filter(self.quasi(table), self.value(table, series.stream.sensitive)).height
            if self.actual:
                return
        raise AssertionError("nobody matches any query")

    def quasi(self, table: pl.DataFrame) -> pl.Series:
        """Which rows of a table match by their quasi-identifiers."""
        *names, _ = self.labels
        return table.select(pl.all_horizontal(pl.col(name).is_in(self.labels[name]) for name in names)).to_series()

    def value(self, table: pl.DataFrame, sensitive: str) -> pl.Series:
        """Which rows match by their value."""
        return table[sensitive].cast(pl.String).is_in([str(value) for value in self.labels[sensitive]])


def test_the_error_of_one_count(stream: Stream) -> None:
    """Of a workload of one query the median error is that of the query."""
    one = replace(SMALL, queries=1)
    with released(one, stream, WAY["MInvariance, anatomised"]) as series:
        asked, public = Asked(series, one), series.series.release(2).tables
        told = left(series, one)
    matching = public["quasi"].filter(asked.quasi(public["quasi"])).group_by("group").len()
    sizes = public["sensitive"].group_by("group").agg(pl.col("count").sum().alias("size"))
    wanted = public["sensitive"].filter(asked.value(public["sensitive"], stream.sensitive))
    wanted = wanted.group_by("group").agg(pl.col("count").sum())
    both = matching.join(wanted, on="group").join(sizes, on="group")
    estimate = both.select((pl.col("len") * pl.col("count") / pl.col("size")).sum()).item()
    assert told["counts"] == pytest.approx(abs(estimate - asked.actual) / asked.actual)


def test_one_count_without_a_link(stream: Stream) -> None:
    one = replace(SMALL, queries=1)
    with released(one, stream, WAY["Alternatives"]) as series:
        asked = Asked(series, one)
    table = stream.states[-1]
    estimate = asked.quasi(table).sum() * asked.value(table, stream.sensitive).sum() / table.height
    told = _without_link(one, stream)
    assert told["counts"] == pytest.approx(abs(estimate - asked.actual) / asked.actual)
    most = table[stream.sensitive].value_counts()["count"].max()
    assert (told["right"], told["advantage"], told["kept"], told["size"]) == (most / table.height, 0, 0, 0)  # type: ignore[operator]


def share(table: pl.DataFrame, gender: str, value: str) -> float:
    """The true share of a value among people of a gender."""
    inside = table.filter(pl.col("gender") == gender)["occupation"].to_list()
    return inside.count(value) / len(inside)


def test_the_error_of_trends(found: pl.DataFrame, stream: Stream) -> None:
    with released(SMALL, stream, WAY["MInvariance, anatomised"]) as series:
        first, last = (series.series.release(number).tables for number in (1, 2))

    def told(public: dict[str, pl.DataFrame], gender: str, value: str) -> float:
        sizes = public["sensitive"].group_by("group").agg(pl.col("count").sum().alias("size"))
        has = public["sensitive"].filter(pl.col("occupation").cast(pl.String) == value).join(sizes, on="group")
        people = public["quasi"].filter(pl.col("gender").cast(pl.String) == gender)
        spread = people.join(has, on="group").select((pl.col("count") / pl.col("size")).sum()).item()
        return float(spread / people.height)

    begin, end = stream.states[0], stream.states[-1]
    errors, without = [], []
    for value in frequent(stream):
        overall = [table["occupation"].to_list().count(value) / table.height for table in (begin, end)]
        for gender in ("female", "male"):
            true = share(end, gender, value) - share(begin, gender, value)
            errors.append(abs(told(last, gender, value) - told(first, gender, value) - true))
            without.append(abs(overall[1] - overall[0] - true))
    assert row(found, "MInvariance, anatomised")["trend"] == pytest.approx(np.mean(errors))
    assert row(found, NO_LINK)["trend"] == pytest.approx(np.mean(without))


def test_changes_and_frequent_values(stream: Stream) -> None:
    counts = stream.states[0]["occupation"].value_counts(sort=True)["count"].to_list()
    held = [stream.states[0]["occupation"].to_list().count(value) for value in frequent(stream)]
    assert held == counts[:6]
    found = changes(stream).filter((pl.col("gender") == "male") & (pl.col("value") == frequent(stream)[0]))
    expected = share(stream.states[-1], "male", frequent(stream)[0]) - share(
        stream.states[0], "male", frequent(stream)[0]
    )
    assert found["change"].item() == pytest.approx(expected)


def test_intervals_are_those_of_sets_alone(found: pl.DataFrame) -> None:
    sets = row(found, "Alternatives")
    # 24 slopes and differences, 12 trends, and of one table drawn anew 12 shares and 6 differences.
    assert sets["intervals"] == 24 + 12 + 18
    assert 0.8 < sets["coverage"] <= 1
    others = found.filter(pl.col("method") != "Alternatives")
    assert others["coverage"].null_count() == others.height


# What attacks get, by hand


def test_who_is_certain_among_sets(found: pl.DataFrame, stream: Stream) -> None:
    """Whoever takes values for fixed intersects somebody's sets."""
    with released(SMALL, stream, WAY["Alternatives"]) as series:
        shown = [series.series.private.members(number) for number in (1, 2)]
    common: dict[int, set[str]] = {}
    for table in shown:
        for person, values in table.iter_rows():
            common[person] = common.get(person, {*values}) & {*values}
    had: dict[int, set[str]] = {}
    named = {value for table in shown for values in table["alternatives"] for value in values}
    for state in stream.states:
        for person, value in state.select("person", "occupation").iter_rows():
            had.setdefault(person, set()).add(value if value in named else "(other values)")
    claims = {person: next(iter(values)) for person, values in common.items() if len(values) == 1}
    told = row(found, "Alternatives")
    assert told["people"] == len(common)
    assert told["certain"] == len(claims) / len(common)
    false = sum(value not in had[person] for person, value in claims.items())
    assert len(claims) > 5
    assert told["false"] == pytest.approx(false / len(claims))


def test_fixed_values_leave_every_value_of_a_set_alike() -> None:
    """Where nothing changes, one of m values is true, and each is guessed as often."""
    still = replace(SMALL, changing=0.0)
    with released(still, still.stream("census"), WAY["Alternatives"]) as series:
        told = taken(series, 1)
    assert told["right"] == pytest.approx(1 / 3)
    assert (told["above"], told["twice"], told["certain"], told["false"]) == (0, 0, 0, None)


def test_groups_that_are_cut_anew_give_people_away() -> None:
    """Worlds names people for certain, and all of them rightly where nothing changes."""
    still = replace(SMALL, changing=0.0)
    stream = still.stream("census")
    with released(still, stream, WAY["Mondrian, unprotected"]) as series:
        told = taken(series, 1)
        alone = {
            number: dict(zip(*[one[name].to_list() for name in ("person", "group")], strict=True))
            for number, one in ((n, series.series.private.members(n)) for n in (1, 2))
        }
        tables = [series.series.release(number).tables["table"] for number in (1, 2)]
    values = [
        {
            group: {*part}
            for group, part in table.group_by("group").agg(pl.col("occupation").cast(pl.String)).iter_rows()
        }
        for table in tables
    ]
    common: dict[int, set[str]] = {}
    for number, groups in alone.items():
        for person, group in groups.items():
            common[person] = common.get(person, values[number - 1][group]) & values[number - 1][group]
    intersected = sum(len(one) == 1 for one in common.values()) / len(common)
    assert told["certain"] >= intersected > 0
    assert told["false"] == 0
    assert told["above"] >= told["twice"]


def test_where_worlds_gives_up_each_release_is_judged_alone(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then somebody has a value with at least the largest share that one has in any of their groups."""
    judged = Worlds.run

    def gives_up(attack: Worlds, view: Any, *given: Any) -> Any:
        if len(view.releases) > 1:
            raise ParameterError("No world agrees with all releases.")
        return judged(attack, view, *given)

    with released(SMALL, stream, WAY["Mondrian, unprotected"]) as series:
        monkeypatch.setattr(Worlds, "run", gives_up)
        told = taken(series, 1)
        members = [series.series.private.members(number) for number in (1, 2)]
        tables = [series.series.release(number).tables["table"] for number in (1, 2)]
    most: dict[int, float] = {}
    for inside, table in zip(members, tables, strict=True):
        largest = {
            group: max(values.count(one) for one in values) / len(values)
            for group, values in table.group_by("group").agg(pl.col("occupation").cast(pl.String)).iter_rows()
        }
        for person, group, _ in inside.iter_rows():
            most[person] = max(most.get(person, 0), largest[group])
    above = sum(share > 1.05 / 3 for share in most.values()) / len(most)
    assert told["above"] == pytest.approx(above)
    assert told["undecided"] == pytest.approx(1 - above)
    assert told["note"] == "No world agrees with all releases. Each release was judged alone."


def test_people_are_numbered_by_their_ids(stream: Stream) -> None:
    """Whatever numbers a series drew for them, the view and the truth are the same in every run."""

    def view(name: str) -> tuple[Any, pl.DataFrame]:
        with released(SMALL, stream, WAY[name]) as series:
            return series.view, series.truth.sort("release", "person")

    for name in ("EEquivalence", "Alternatives"):
        (one, truth), (other, same) = view(name), view(name)
        assert_frame_equal(truth, same)
        for before, after in zip(one.releases, other.releases, strict=True):
            assert (before.members[before.members >= 0] == after.members[after.members >= 0]).all()
        ids = pl.concat(state["person"] for state in stream.states).unique().sort().to_list()
        last = stream.states[-1].filter(pl.col("person").is_in(ids))
        known = dict(last.select("person", "occupation").iter_rows())
        for person, value in truth.filter(pl.col("release") == 2).select("person", "value").iter_rows():
            assert known[ids[person]] == value


# Streams


def test_the_generated_stream() -> None:
    stream = generated(1_000, 4, 0.03, seed=5)
    assert len(stream.earlier) == 2
    assert len(stream.states) == 4
    tables = [*stream.earlier, *stream.states]
    seen: set[int] = {*tables[0]["person"]}
    for number, (before, after) in enumerate(pairwise(tables)):
        stay = before.join(after, on="person", suffix="_then")
        assert before.height - stay.height == 100
        assert stay.filter(pl.col("occupation") != pl.col("occupation_then")).height == 30
        back = ({*after["person"]} - {*before["person"]}) & seen
        assert len(back) == (20 if number else 0)
        seen |= {*after["person"]}


def test_the_rate_is_the_least_of_the_tables_before() -> None:
    def table(*values: str) -> pl.DataFrame:
        return pl.DataFrame({"person": range(len(values)), "occupation": values})

    stream = generated(200, 2, 0.0, seed=1)
    assert rate_before(stream) is None
    # 2 of 4, then 1 of 4 differ; two values, of which half the redraws are the other one.
    changed = replace(stream, earlier=[table("a", "a", "b", "b"), table("b", "b", "b", "b"), table("a", "b", "b", "a")])
    assert rate_before(changed) == 0.5 / 0.5
    slower = replace(stream, earlier=[*changed.earlier, table("a", "b", "b", "b")])
    # The last table has b thrice: 1 in 4 differ, and 1 - 1/16 - 9/16 of the redraws do.
    assert rate_before(slower) == int(100 * 0.25 / (6 / 16)) / 100


def test_diagnoses_in_groups() -> None:
    codes = [
        "428",
        "428.0",
        "4280",
        "250.83",
        "2508",
        "41401",
        "V57",
        "E849",
        "486",
        "786",
        "78650",
        "001",
        "999.9",
        "?",
    ]
    names = [
        "heart failure", "heart failure", "heart failure", "diabetes", "diabetes", "coronary heart disease", "other",
        "other", "pneumonia", "chest pain", "chest pain", "infection", "injury", "other",
    ]  # fmt: skip
    assert grouped(pl.Series(codes)).to_list() == names
    assert grouped(pl.Series(["429", "427", "430", "438", "439", "249", "251"])).to_list() == [
        "circulation", "heart rhythm", "stroke", "stroke", "circulation", "metabolism", "metabolism",
    ]  # fmt: skip


def write_stays(folder: Path, stays: Sequence[tuple[int, int, str]]) -> None:
    """The table of 130 hospitals in small: encounters with a patient and a diagnosis."""
    head = "encounter_id,patient_nbr,race,gender,age,time_in_hospital,payer_code,diag_1"
    lines = [f"{number},{patient},?,Female,[60-70),3,?,{code}" for number, patient, code in stays]
    (folder / "diabetes130").mkdir(parents=True)
    with gzip.open(folder / "diabetes130/diabetic_data.csv.gz", "wt") as file:
        file.write("\n".join([head, *lines, "999,1,?,Unknown/Invalid,[60-70),3,?,428", "998,1,?,Male,[60-70),3,?,?"]))


def test_stays_in_windows(tmp_path: Path) -> None:
    """Twelve stays are twelve periods; a table has those of the last four, with the last stay of each patient."""
    patients = [1, 2, 3, 1, 2, 4, 5, 5, 5, 1, 6, 6]
    write_stays(tmp_path, [(10 * at, patient, "428" if at % 2 else "250") for at, patient in enumerate(patients)])
    stream = real("diabetes130", tmp_path, None, 3, seed=1)
    tables = [*stream.earlier, *stream.states]
    assert [table["person"].sort().to_list() for table in tables] == [
        sorted({*patients[end - 3 : end + 1]}) for end in range(3, 12)
    ]
    first = dict(tables[0].select("person", "diagnosis").iter_rows())
    assert first == {1: "heart failure", 2: "heart failure", 3: "diabetes"}
    assert tables[0].row(0, named=True) | {"person": 0, "diagnosis": ""} == {
        "person": 0, "age": 60, "gender": "Female", "race": "unknown", "days": 3, "payer": "unknown", "diagnosis": "",
    }  # fmt: skip
    assert len(stream.states) == 3
    assert stream.by == "gender"
    with pytest.raises(ParameterError, match=r"at most 7 can be published\. Got 8 instead"):
        real("diabetes130", tmp_path, None, 8, seed=1)


def test_waves_and_jobs(tmp_path: Path) -> None:
    (tmp_path / "panels").mkdir()
    rows = [(person, year, 1.0 + person % 2, 4.0) for person in range(48) for year in (70, 72, 75)]
    rows += [(48, 70, 1.0, 7.0), (49, 70, 9.0, 4.0), (50, 70, None, 4.0)]
    pl.DataFrame(
        [{"idcode": p, "year": y, "age": 20.0, "race": 1, "grade": 12.0, "south": 0.0, "occ_code": o, "ind_code": i}
         for p, y, o, i in rows]
    ).write_parquet(tmp_path / "panels/nlswork.parquet")  # fmt: skip
    stream = real("nlswork", tmp_path, None, 1, seed=1)
    assert [table.height for table in (*stream.earlier, *stream.states)] == [50, 48, 48]
    jobs = dict(stream.earlier[0].select("person", "job").iter_rows())
    # One in 146 has occupation 9, and one occupation 1 in industry 7: too few for values of their own.
    assert (jobs[0], jobs[1], jobs[48], jobs[49]) == (
        "occupation 1, industry 4", "occupation 2, industry 4", "other", "other",
    )  # fmt: skip


def test_quarters_of_stays(tmp_path: Path) -> None:
    (tmp_path / "cms_desynpuf").mkdir()
    days = [
        20080115,
        20080501,
        20080701,
        20081001,
        20090101,
        20090401,
        20090701,
        20091001,
        20100101,
        20100401,
        20100701,
    ]
    stays = [(at % 3, day, "4280") for at, day in enumerate([*days, 20101230])] + [
        (7, 20071128, "25000"),
        (8, 20090101, None),
    ]
    pl.DataFrame(
        stays, schema={"person": pl.Int32, "CLM_ADMSN_DT": pl.Int32, "ICD9_DGNS_CD_1": pl.Categorical}, orient="row"
    ).write_parquet(tmp_path / "cms_desynpuf/inpatient_2008_2010.parquet")
    people = [(person, 19400101, 1, 1, 39) for person in (0, 1, 2, 7, 8)] * 2
    names = ("person", "BENE_BIRTH_DT", "BENE_SEX_IDENT_CD", "BENE_RACE_CD", "SP_STATE_CODE")
    pl.DataFrame(people, schema=dict.fromkeys(names, pl.Int32), orient="row").write_parquet(
        tmp_path / "cms_desynpuf/beneficiary_2008_2010.parquet"
    )
    stream = real("cms", tmp_path, None, 5, seed=1)
    tables = [*stream.earlier, *stream.states]
    # A stay that began before 2008 counts for the first quarter.
    assert tables[0]["person"].sort().to_list() == [0, 1, 2, 7]
    assert all(table["person"].sort().to_list() == [0, 1, 2] for table in tables[1:])
    assert tables[0].row(0, named=True)["age"] == 68


def test_of_many_people_some_are_drawn(tmp_path: Path) -> None:
    write_stays(tmp_path, [(at, at % 600, "428") for at in range(2_400)])
    whole = real("diabetes130", tmp_path, 10_000, 2, seed=1)
    some = real("diabetes130", tmp_path, 200, 2, seed=1)
    assert whole.states[-1].height == 600
    assert 130 < some.states[-1].height < 270
    assert {*some.states[-1]["person"]} <= {*some.states[-2]["person"]}


def test_which_streams_are_there(tmp_path: Path) -> None:
    assert Setting().names == ("census",)
    assert {*Setting().left_out} == {*SOURCES}
    write_stays(tmp_path, [(1, 1, "428")])
    assert missing("diabetes130", tmp_path) == []
    some = Setting(data=tmp_path)
    assert some.names == ("census", "diabetes130")
    assert some.left_out["nlswork"] == f"'panels/nlswork.parquet' is not in '{tmp_path}'"
    assert Setting(data=tmp_path, streams=("diabetes130",)).left_out == {}
    with pytest.raises(ParameterError, match="Streams were asked for whose files are not there") as caught:
        Setting(data=tmp_path, streams=("census", "cms"))
    assert "cms: 'cms_desynpuf/inpatient_2008_2010.parquet' is not in" in str(caught.value)
    with pytest.raises(ParameterError, match="no folder of them is named"):
        Setting(streams=("nlswork",))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"streams": ("adult",)}, "'streams' parameter of Setting must be different names among 'census'"),
        ({"streams": ()}, "'streams' parameter"),
        ({"streams": ("census", "census")}, "'streams' parameter"),
        ({"rows": 10}, "'rows' parameter of Setting must be a whole number of at least 100"),
        ({"releases": 1}, "'releases' parameter"),
        ({"seconds": 0}, "'seconds' parameter of Setting must be a number above 0"),
        ({"changing": 2}, "'changing' parameter of Setting must be a number from 0 to 1"),
        ({"data": "nowhere"}, "'data' parameter of Setting must be a folder. Got 'nowhere' instead"),
    ],
)
def test_wrong_settings(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Setting(**given)


def test_the_sizes_of_the_documentation() -> None:
    assert (FULL.rows, FULL.releases, FULL.queries, FULL.drawings) == (200_000, 5, 1_000, 20)
    assert (FULL.m_of("census"), FULL.m_of("cms"), replace(FULL, m=7).m_of("cms")) == (10, 4, 7)


# Real streams


@needs("diabetes130/diabetic_data.csv.gz", stand_in="test_stays_in_windows")
def test_real_patients() -> None:
    stream = real("diabetes130", FOLDER, None, 5, seed=1)
    assert [state.height for state in stream.states] == [25_760, 24_850, 24_688, 24_894, 24_655]
    assert _most(stream) < 1 / 4


@needs("panels/nlswork.parquet", stand_in="test_waves_and_jobs")
def test_real_women() -> None:
    stream = real("nlswork", FOLDER, None, 5, seed=1)
    assert [state.height for state in stream.states] == [2_075, 1_955, 2_076, 2_130, 2_238]
    assert len(stream.earlier) == 10
    assert _most(stream) < 1 / 4
    # Of the 1,766 women of the last wave who were asked in the one before 465 have another job.
    setting = Setting(streams=("nlswork",), data=FOLDER, releases=2)
    for name, least, most in (("MInvariance, anatomised", 250 / 2_238, 465 / 2_238), ("Alternatives", 0, 0)):
        with released(setting, setting.stream("nlswork"), WAY[name]) as series:
            assert least <= series.shares()["withheld"] <= most


@needs("cms_desynpuf", stand_in="test_quarters_of_stays")
def test_synthetic_people_of_medicare() -> None:
    stream = real("cms", FOLDER, None, 5, seed=1)
    assert [state.height for state in stream.states] == [29_139, 28_335, 26_507, 23_431, 18_240]
    assert _most(stream) < 1 / 4


def _most(stream: Stream) -> float:
    """The largest share of any value in any table: below 1 / m every method can promise 1 / m for all values."""
    tables = (*stream.earlier, *stream.states)
    return max(table[stream.sensitive].value_counts(normalize=True)["proportion"].to_numpy().max() for table in tables)


# The picture


def test_no_panel_is_empty_and_no_refusal_is_a_figure(found: pl.DataFrame) -> None:
    picture = drawn(found, SMALL).drawing.to_dict()
    panels = [panel for part in picture["hconcat"] for panel in part["hconcat"]]
    assert [part["title"]["text"] for part in picture["hconcat"]] == list(PANELS)
    assert len(panels) == sum(map(len, PANELS.values()))
    for panel in panels:
        marks = {str(layer["mark"].get("type")): layer["data"]["values"] for layer in panel["layer"]}
        assert {one["method"] for one in marks["point"]} == {*ROWS} - {*REFUSING}
        assert [one["method"] for one in marks["text"]] == list(REFUSING)
    said = " ".join(picture["title"]["subtitle"])
    assert "census 1,176 (m = 3)" in said
    assert "refused: Incremental; HDComposition." in said


def test_a_method_that_does_not_take_a_stream_is_not_a_mistake(stream: Stream) -> None:
    with pytest.raises(NotPublished, match="release 2"), released(SMALL, stream, WAY["Incremental"]):
        pytest.fail("it was published")
