"""Columns of releases made elsewhere: names over time, what becomes of columns nobody spoke of, values, lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from real_data import FOLDER, needs

import reissue as ri
from reissue.errors import ParameterError, ReissueError, TableError
from reissue.foreign import Foreign, read_releases
from reissue.foreign.headers import folded

Tables = list[pl.DataFrame]


def line_list(rows: int, *, seed: int = 1, **names: str) -> pl.DataFrame:
    """A daily line list of cases with what such files have: a row number, an office and where it is, ages in words."""
    draw = np.random.default_rng(seed)
    office = draw.integers(0, 5, rows)
    ages = np.array(["<20", "20s", "30s", "80s", "Unknown"])
    table = pl.DataFrame(
        {
            "Row_ID": np.arange(1, rows + 1),
            "Episode_Date": [f"2020-03-{day:02}" for day in draw.integers(1, 29, rows)],
            "Age_Group": ages[draw.integers(0, 5, rows)],
            "Outcome1": np.array(["Resolved", "Fatal", "Not Resolved"])[draw.integers(0, 3, rows)],
            "Office": [f"Office {at}" for at in office],
            "Office_City": [f"City {at % 4}" for at in office],
            "Office_Latitude": [f"4{at}.5" for at in office],
        }
    )
    return table.rename(names)


def days() -> Tables:
    """The same over time: another name for the outcome, other case, a column that is lacking on one day."""
    first = line_list(120, seed=1, Outcome1="RESOLVED").drop("Row_ID")
    second = line_list(150, seed=2).rename(str.upper)
    third = line_list(180, seed=3).drop("Office_City")
    return [first, second, third]


def notes_of(foreign: Foreign) -> str:
    return "\n".join(foreign.notes)


def test_a_line_list_is_refused_with_what_is_meant() -> None:
    with pytest.raises(TableError) as caught:
        read_releases(days(), sensitive="Outcome1")
    told = str(caught.value)
    assert "release 'table 1' has no column 'Outcome1', only" in told
    assert "'RESOLVED' may be 'Outcome1': it stands at the same place" in told
    assert "add --rename RESOLVED=Outcome1, or accept everything that is proposed with --yes" in told


@pytest.mark.parametrize("how", [{"accept_proposals": True}, {"rename": {"RESOLVED": "Outcome1"}}])
def test_a_line_list_is_read_with_what_was_proposed(how: dict[str, object]) -> None:
    foreign = read_releases(days(), sensitive="Outcome1", **how)  # type: ignore[arg-type]
    assert foreign.quasi == ("Episode_Date", "Age_Group", "Office")
    assert foreign.published.values == ("Fatal", "Not Resolved", "Resolved")
    told = notes_of(foreign)
    assert "'Row_ID' is no quasi-identifier: it tells every row apart, or nearly; --person Row_ID" in told
    assert "'OFFICE_CITY', 'Office_Latitude' are no quasi-identifiers: each follows from 'Office'" in told
    assert "names that differ in case or signs alone are one column: 'Episode_Date' (also 'EPISODE_DATE')" in told
    assert "--missing 'Age_Group=unknown'" in told
    # All that is kept, and by it the same is read again, without a guess.
    assert foreign.decisions == {
        "sensitive": ["Outcome1"],
        "quasi": ["Episode_Date", "Age_Group", "Office"],
        "missing": {"Age_Group": ["unknown"]},
        "rename": {"RESOLVED": "Outcome1"},
    }
    again = read_releases(days(), **foreign.decisions)
    assert again.decisions == foreign.decisions
    for one, two in zip(foreign.published.releases, again.published.releases, strict=True):
        for name in ("values", "counts", "value_starts", "lines", "line_starts"):
            assert getattr(one, name).tolist() == getattr(two, name).tolist()
    # Next month the old name may be gone.
    assert read_releases(days()[1:], **foreign.decisions).quasi == foreign.quasi


def test_columns_that_were_questioned_stay_if_somebody_says_so() -> None:
    kept = read_releases(days()[1:], sensitive="Outcome1", keep=["row id", "Office_City"])
    assert {folded(name) for name in kept.quasi} == {"rowid", "episodedate", "agegroup", "office", "officecity"}
    named = read_releases(days()[1:], sensitive="Outcome1", quasi=["Office_Latitude"])
    assert [folded(name) for name in named.quasi] == ["officelatitude"]
    # A column that one release lacks may be anything there.
    partly = read_releases(days()[1:], sensitive="Outcome1", quasi=["Office", "Office_City"])
    assert "is in 1 of 2 releases, and may be anything in the others" in notes_of(partly)


def test_nothing_is_left_of_row_numbers_alone() -> None:
    with pytest.raises(TableError, match="No column is left that an outsider may know") as caught:
        read_releases([line_list(60).select("Row_ID", "Outcome1")], sensitive="Outcome1")
    assert "--keep" in str(caught.value)


def test_what_says_which_release_it_is_is_no_quasi_identifier() -> None:
    tables = [
        pl.DataFrame({"period": [period] * 3, "age": ["1", "1", "2"], "d": ["x", "y", "x"]})
        for period in ("2020-01", "2020-02")
    ]
    foreign = read_releases(tables, sensitive="d")
    assert foreign.quasi == ("age",)
    assert "as a period does" in notes_of(foreign)
    # One interval in each release is how everything was made coarse, and tells something.
    coarse = [pl.DataFrame({"age": [age] * 2, "d": ["x", "y"]}) for age in ("20-29", "20-39")]
    assert read_releases(coarse, sensitive="d").quasi == ("age",)


def test_what_is_the_same_everywhere_stays_beside_a_registry_and_where_nothing_else_is() -> None:
    table = pl.DataFrame({"age": ["20-29", "30-39"], "zip": ["*", "*"], "d": ["x", "y"]})
    assert read_releases([table], sensitive="d").quasi == ("age",)
    people = pl.DataFrame({"name": ["a", "b"], "age": [21, 33]})
    assert read_releases([table], sensitive="d", registry=people, person="name").quasi == ("age", "zip")
    assert read_releases([table.drop("age")], sensitive="d").quasi == ("zip",)


def test_columns_follow_from_others_only_where_that_shows() -> None:
    """In a small table nearly everything follows from everything."""
    few = pl.DataFrame({"office": ["a", "b", "a"], "city": ["c", "d", "c"], "d": ["x", "y", "x"]})
    assert read_releases([few], sensitive="d").quasi == ("office", "city")
    many = pl.concat([few] * 40)
    assert read_releases([many], sensitive="d").quasi == ("office",)
    assert read_releases([many.with_columns(city=pl.Series(["c", "d"] * 60))], sensitive="d").quasi == (
        "office",
        "city",
    )


@pytest.mark.parametrize("name", ["count", "n", "Total", "cases", "case_count", "n_people"])
def test_a_table_of_counts_is_refused_with_that_reason(name: str) -> None:
    table = pl.DataFrame({"region": ["A", "A", "B"], "d": ["x", "y", "x"], name: [5, 7, 2]})
    with pytest.raises(TableError, match="looks like a table of counts") as caught:
        read_releases([table], sensitive="d")
    assert f"--counts {name}" in str(caught.value)
    foreign = read_releases([table], sensitive="d", counts=name)
    (release,) = foreign.published.releases
    assert release.counts.tolist() == [5, 7, 2]
    assert release.rows.tolist() == [12, 2]
    assert read_releases([table], sensitive="d", keep=[name]).quasi == ("region", name)
    assert read_releases([table], sensitive="d", drop=[name]).published.releases[0].rows.tolist() == [2, 1]


def counts_of_cases(rows: int = 60) -> pl.DataFrame:
    """As agencies publish counts: a row number, places, ages, and how many, some of them left out."""
    places = [f"Area {at % 20}" for at in range(rows)]
    ages = [("A00-A04", "A05-A14", "A15-A34")[at // 20] for at in range(rows)]
    counts = [str(3 + at * 7 % 11) for at in range(rows)]
    numbers = [str(100 + at) for at in range(rows)]
    return pl.DataFrame({"ObjectId": numbers, "Place": places, "Ages": ages, "Number": counts, "d": ["x", "y"] * 30})


@pytest.mark.parametrize(
    "name",
    ["AnzahlFall", "Confirmed", "Deaths", "COVID_CASE_COUNT", "covid_deaths", "Casos", "Total cases", "Population"],
)
def test_tables_of_counts_are_known_by_what_they_count(name: str) -> None:
    table = counts_of_cases().rename({"Number": name})
    few = table.with_columns(pl.when(pl.int_range(60) % 5 == 0).then(pl.lit("<5")).otherwise(name).alias(name))
    corrected = table.with_columns(pl.when(pl.int_range(60) == 0).then(pl.lit("-1")).otherwise(name).alias(name))
    for one in (table, few, corrected, table.drop("ObjectId")):
        with pytest.raises(TableError, match="looks like a table of counts"):
            read_releases([one], sensitive="d")


def test_a_count_may_be_what_was_called_sensitive() -> None:
    table = counts_of_cases().rename({"Number": "cases"}).drop("d")
    with pytest.raises(TableError, match="looks like a table of counts") as caught:
        read_releases([table], sensitive="cases")
    assert "--counts" not in str(caught.value)
    assert read_releases([table], sensitive="cases", quasi=["Ages"]).quasi == ("Ages",)


@pytest.mark.parametrize(
    "name", ["num_procedures", "number of contacts", "n_medications", "Total days", "PATIENT", "Case", "person"]
)
def test_rows_about_people_who_have_counts_of_their_own_are_no_table_of_counts(name: str) -> None:
    assert "Place" in read_releases([counts_of_cases().rename({"Number": name})], sensitive="d").quasi


def test_numbers_of_people_who_come_more_than_once_are_questioned() -> None:
    table = counts_of_cases().with_columns(patient_nbr=pl.Series([str(at * 2 // 3) for at in range(60)]))
    foreign = read_releases([table.drop("ObjectId", "Number")], sensitive="d")
    assert foreign.quasi == ("Place", "Ages")
    assert "'patient_nbr' is no quasi-identifier: it numbers people or rows, by its name; --person" in notes_of(foreign)
    several = pl.concat([table.rename({"patient_nbr": "PATIENT"})] * 4).drop("ObjectId", "Number")
    assert read_releases([several], sensitive="d").quasi == ("Place", "Ages", "PATIENT")
    more = several.with_columns(PATIENT=pl.Series([str(at // 4) for at in range(240)]))
    assert read_releases([more], sensitive="d").quasi == ("Place", "Ages")
    few = table.with_columns(patient_nbr=pl.lit("7"), office_id=pl.Series([str(at % 20) for at in range(60)]))
    assert "office_id" in read_releases([few.drop("Place", "Number", "patient_nbr")], sensitive="d").quasi


def test_columns_that_say_the_sensitive_value_are_told() -> None:
    draw = np.random.default_rng(3)
    rows = 300
    outcome = draw.choice(["Died", "Recovered", "Active"], rows)
    table = pl.DataFrame(
        {
            "age": [str(age) for age in draw.integers(20, 80, rows)],
            "died_on": [f"2020-03-{1 + at % 28:02}" if one == "Died" else None for at, one in enumerate(outcome)],
            "status": ["closed" if one == "Recovered" else one for one in outcome],
            "ward": [("a", "b", "c")[at % 3] for at in range(rows)],
            "outcome": outcome,
        }
    )
    foreign = read_releases([table], sensitive="outcome")
    assert foreign.notes[0] == (
        "'died_on', 'status' say by themselves what 'outcome' is, or nearly: whoever knows them needs no table; --drop "
        "died_on,status if an outsider does not"
    )
    # Nothing is left out for that: what is known is not for us to say.
    assert foreign.quasi == ("age", "died_on", "status", "ward")
    assert "say" not in read_releases([table], sensitive="outcome", drop=["died_on", "status"]).notes[0]
    assert "say" not in read_releases([table.head(40)], sensitive="outcome").notes[0]


def test_whole_numbers_that_a_library_wrote_as_decimals_are_the_same() -> None:
    """One cell is missing in the second file, so that pandas wrote all others as 5.0: nobody changed or left."""
    one = pl.DataFrame({"case": ["1", "2", "3"], "age": ["20", "30", "40"], "drg": ["470", "56", "7"]})
    other = pl.DataFrame({"case": ["1.0", "2.0", "3.0"], "age": ["20.0", "30.0", None], "drg": ["470.0", "56.0", None]})
    foreign = read_releases([one, other], sensitive="drg", person="case")
    assert foreign.published.values == ("(missing)", "470", "56", "7")
    assert foreign.published.people == ("1", "2", "3")
    assert "'drg', 'case': whole numbers that some files write as 5.0 are read as 5" in foreign.notes
    codes = other.with_columns(drg=pl.Series(["250.0", "250.1", None]))
    assert "250.0" in read_releases([one, codes], sensitive="drg").published.values
    assert "470.0" in read_releases([other], sensitive="drg").published.values


def test_it_is_asked_what_is_known_where_all_of_it_tells_every_row_apart() -> None:
    draw = np.random.default_rng(5)
    columns = {f"c{at}": [str(cell) for cell in draw.integers(0, 4, 80)] for at in range(8)}
    table = pl.DataFrame({**columns, "d": ["x", "y"] * 40})
    (told,) = [note for note in read_releases([table], sensitive="d").doubts if "count as known" in note]
    assert told.startswith("8 columns count as known to an outsider, and with all of them ")
    assert "(--quasi)" in told
    quasi = [f"c{at}" for at in range(8)]
    for more in ({"quasi": quasi}, {"drop": quasi[4:]}):
        assert not [note for note in read_releases([table], sensitive="d", **more).notes if "count as known" in note]  # type: ignore[arg-type]


def test_values_of_which_not_one_stays_are_told() -> None:
    one = pl.DataFrame({"age": [1, 1, 2], "d": ["Fatal", "Resolved", None]})
    other = pl.DataFrame({"age": [1, 1, 2], "d": ["Deceased", "Recovered", None]})
    notes = read_releases([one, other], sensitive="d").notes
    assert notes[0].startswith("no value of 'd' in release 'table 1' is in 'table 2', the next: if the same are called")
    assert "no value" not in read_releases([one, one], sensitive="d").notes[0]


def test_codes_for_what_is_not_known_are_asked_about() -> None:
    rows = 60
    table = pl.DataFrame(
        {
            "age": [str(20 + at) for at in range(rows)],
            "smokes": [("1", "2", "98")[at % 3] for at in range(rows)],
            "icu": [("1", "2", "97", "99")[at % 4] for at in range(rows)],
            "race": [str(at % 10) for at in range(rows)],
            "d": ["x", "y"] * 30,
        }
    )
    foreign = read_releases([table], sensitive="d")
    (told,) = [note for note in foreign.notes if "codes for what is not known" in note]
    assert told.startswith("'smokes', 'icu': 97, 98 and 99 stand apart from other numbers")
    assert told.endswith("--missing smokes=98")
    again = read_releases([table], sensitive="d", missing={"smokes": ["98"], "icu": ["97", "99"]})
    assert not [note for note in again.notes if "codes for what is not known" in note]


@pytest.mark.parametrize("code", ["99", "999", "-1"])
def test_codes_beside_bands_and_among_many_numbers_are_asked_about(code: str) -> None:
    bands = [f"{low}-{low + 9}" for low in range(0, 90, 10)] * 4
    for cells in (bands, [f"{low}s" for low in range(20, 90, 10)] * 5, [str(age) for age in range(49)]):
        table = pl.DataFrame({"age": [*cells, code], "d": ["x", *["y"] * len(cells)]})
        notes = read_releases([table], sensitive="d", quasi=["age"]).notes
        told = [note for note in notes if "codes for what is not known" in note]
        assert len(told) == 1 and told[0].endswith(f"--missing age={code}")
        known = read_releases([table], sensitive="d", quasi=["age"], missing={"age": [code]})
        assert not [note for note in known.notes if "codes for what is not known" in note]


def test_a_column_called_group_is_questioned() -> None:
    ages = ["20-29", "20-29", "30-39", "30-39"]
    table = pl.DataFrame({"group": ["1", "1", "2", "2"], "age": ages, "d": ["x", "y", "x", "y"]})
    told = read_releases([table], sensitive="d")
    assert told.quasi == ("age",) and told.published.releases[0].group_count == 2
    note = "the column 'group' says which rows belong together; --keep group if it is a column like others"
    assert note in told.notes and note not in told.doubts
    # Rows of one group that differ in what is known of them are asked about first.
    mixed = table.with_columns(age=pl.Series(ages[::-1][:1] + ages[1:]))
    assert "rows of one group have different cells; --keep group" in read_releases([mixed], sensitive="d").doubts[0]
    kept = read_releases([mixed], sensitive="d", keep=["group"])
    assert {*kept.quasi} == {"group", "age"} and kept.published.releases[0].group_count == 3
    # A risk group is asked about, too; that rows belong together is what claims the least.
    risks = table.with_columns(group=pl.Series(["high", "high", "low", "low"]))
    found = read_releases([risks], sensitive="d")
    assert found.quasi == ("age",) and "its cells are no whole numbers; --keep group" in found.doubts[0]
    kept = read_releases([risks], sensitive="d", keep=["group"])
    assert {*kept.quasi} == {"group", "age"}
    again = read_releases([risks], **kept.decisions)
    assert again.quasi == kept.quasi


def test_where_numbers_go_on_up_to_a_code_it_is_one_of_them() -> None:
    bands = [*(f"{low}-{low + 9}" for low in range(0, 90, 10)), "90+"]
    for cells in ([str(age) for age in range(99)], bands):
        table = pl.DataFrame({"age": [*cells, "99"], "d": ["x", *["y"] * len(cells)]})
        notes = read_releases([table], sensitive="d", quasi=["age"]).notes
        assert not [note for note in notes if "codes for what is not known" in note]


def test_what_may_be_read_wrongly_is_told_first() -> None:
    tables = [
        one.with_columns(Age_Group=pl.col("Age_Group").replace("<20", "teen"))
        for one in days()[1:]
        if "Age_Group" in one.columns
    ]
    notes = read_releases([days()[0], *tables], sensitive="Outcome1", accept_proposals=True).notes
    assert notes[0].startswith("'RESOLVED' is taken for 'Outcome1', as proposed")
    assert "cannot be read as numbers" in notes[1]
    assert notes[-1].startswith("nobody is known by name")
    places = [at for at, note in enumerate(notes) if "is no quasi-identifier" in note or "is read as" in note]
    assert places and min(places) > 1


def test_rows_that_stand_for_nobody_and_counts_that_are_none() -> None:
    table = pl.DataFrame({"region": ["A", "A", "B"], "d": ["x", "y", "x"], "n": ["5", "0", "2"]})
    (release,) = read_releases([table], sensitive="d", counts="n").published.releases
    assert release.rows.tolist() == [5, 2]
    assert release.lines is not None
    assert release.lines.tolist() == [2, 4]
    with pytest.raises(TableError, match="1 cell of 3 in 'n' without a whole number"):
        read_releases([table.with_columns(n=pl.Series(["5", "<5", "2"]))], sensitive="d", counts="n")
    with pytest.raises(TableError, match="stands for nobody"):
        read_releases([table.with_columns(n=pl.lit("0"))], sensitive="d", counts="n")


def test_anonypys_files(tmp_path: Path) -> None:
    (tmp_path / "anonymised.csv").write_text(
        "age,job,d,count\n['17-36'],\"['a,b']\",x,3\n['17-36'],\"['a,b']\",y,1\n['37-50'],['c'],x,2\n"
    )
    foreign = read_releases(tmp_path, sensitive="d")
    (release,) = foreign.published.releases
    assert release.rows.tolist() == [4, 2]
    assert "the files look like anonypy's" in notes_of(foreign)
    assert foreign.decisions["counts"] == "count"


def test_files_of_arx_and_sdcmicro(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text('age;zip;d\n"[20, 30[";537**;a\n*;*;b\n"[20, 30[";537**;c\n')
    (tmp_path / "2.csv").write_text('age,zip,d\n"[20,30)",53711,NA\nNA,NA,x\n"[20,30)",53711,y\n')
    foreign = read_releases(tmp_path, sensitive="d")
    assert [one.rows.tolist() for one in foreign.published.releases] == [[2, 1], [2, 1]]
    assert "(missing)" in foreign.published.values
    assert "1 cell of 'd', in 1 of 2 releases, without a value" in notes_of(foreign)


def test_texts_that_mean_missing_in_all_columns_or_in_one() -> None:
    table = pl.DataFrame({"age": ["1-5", "Not Reported"], "sex": ["unknown", "f"], "d": ["Not reported", "unknown"]})
    everywhere = read_releases([table], sensitive="d", missing=["Not Reported"])
    assert everywhere.published.values == ("(missing)", "unknown")
    one = read_releases([table], sensitive="d", missing={"d": ["unknown"]})
    assert one.published.values == ("(missing)", "Not reported")
    with pytest.raises(TableError, match="None of the releases has a column 'e' of missing texts"):
        read_releases([table], sensitive="d", missing={"e": ["unknown"]})


def test_several_sensitive_columns_are_records() -> None:
    table = pl.DataFrame(
        {"age": ["1", "1", "2", "2"], "d": ["flu", "hiv", "flu", None], "e": ["x; y", 'q"r', "*", "x; y"]}
    )
    foreign = read_releases([table], sensitive=["d", "e"])
    view = foreign.published
    assert foreign.sensitive == ("d", "e")
    diagnosis, other = view.columns
    assert (diagnosis.name, diagnosis.values) == ("d", ("(missing)", "flu", "hiv"))
    assert other.values == ("(missing)", 'q"r', "x; y")
    (release,) = view.releases
    found = [
        sorted((diagnosis.values[diagnosis.of[at]], other.values[other.of[at]]) for at in release.values_of(group)[0])
        for group in range(2)
    ]
    assert found == [[("flu", "x; y"), ("hiv", 'q"r')], [("(missing)", "x; y"), ("flu", "(missing)")]]
    assert "2 cells of 'd', 'e'" in notes_of(foreign)


def test_several_sensitive_columns_are_judged_together_and_one_by_one() -> None:
    """Everybody's record is one of two, and of the first column both have the same value."""
    table = pl.DataFrame({"age": ["1", "1"], "d": ["flu", "flu"], "e": ["x", "y"]})
    people = pl.DataFrame({"name": ["a", "b"], "age": ["1", "1"]})
    foreign = read_releases([table], sensitive=["d", "e"], registry=people, person="name", present="all")
    report = ri.audit(foreign.published, limit=1 / 2)
    assert "Of 'd' alone 2 of 2 people can be tied to a value" in report.judgements["Worlds"].words
    alone = read_releases([table], sensitive="e", registry=people, person="name", present="all")
    assert ri.audit(alone.published, limit=1 / 2).judgements["Worlds"].status == "within"


def test_thousands_of_combinations() -> None:
    table = pl.DataFrame({"x": [str(at % 300) for at in range(6000)], "d": [str(at) for at in range(6000)]})
    table = table.with_columns(e=pl.Series([str(at % 77) for at in range(6000)]))
    view = read_releases([table], sensitive=["d", "e"]).published
    assert len(view.values) == 6000
    assert [len(column.values) for column in view.columns] == [6000, 77]


def test_groups_know_their_lines(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,d\n2,a\n1,b\n2,c\n1,d\n3,e\n")
    (release,) = read_releases(tmp_path, sensitive="d").published.releases
    lines = [release.lines_of(group) for group in range(release.group_count)]
    assert [None if one is None else one.tolist() for one in lines] == [[2, 4], [3, 5], [6]]
    text = (tmp_path / "1.csv").read_text().splitlines()
    assert release.region is not None
    for group, age in enumerate(release.region["age"].to_list()):
        found = release.lines_of(group)
        assert found is not None
        assert all(text[line - 1].startswith(f"{age},") for line in found.tolist())


def test_a_file_that_is_no_release_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,d\n1-5,flu\n")
    (tmp_path / "dictionary.csv").write_text("variable,meaning\nage,years\n")
    with pytest.raises(TableError, match="may be no releases: name the other files in place of the folder"):
        read_releases(tmp_path, sensitive="d")


def test_people_who_come_twice_are_told_with_what_to_do() -> None:
    table = pl.DataFrame({"case": ["a", "a", "b"], "age": [1, 2, 3], "d": ["x", "y", "x"]})
    with pytest.raises(TableError, match="'case' does not tell people apart: leave it out, or keep one row"):
        read_releases([table], sensitive="d", person="case")


def test_two_columns_that_fold_alike_are_refused() -> None:
    table = pl.DataFrame({"Age": ["1"], "age": ["2"], "d": ["x"]})
    with pytest.raises(TableError, match="has the columns 'Age', 'age', which differ in case or signs alone"):
        read_releases([table], sensitive="d")
    dropped = read_releases([table], sensitive="d", drop=["Age"])
    assert dropped.quasi == ("age",)
    assert read_releases([table], **dropped.decisions).quasi == ("age",)
    assert read_releases([table], sensitive="d", rename={"Age": "years"}).quasi == ("years", "age")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rename": {"zip": "code"}}, "None of the releases has a column 'zip' to rename"),
        ({"rename": {"age": "d"}}, "has 'd' already"),
        ({"labels": ["aeg"]}, "None of the releases has a column 'aeg' of labels"),
        ({"labels": "age"}, "'labels' parameter of read_releases must be a list"),
        ({"missing": "x"}, "'missing' parameter of read_releases must be a list of texts"),
        ({"missing": {"age": "x"}}, "must have a list of texts for each column"),
        ({"keep": ["d"]}, "'d' cannot be kept"),
        ({"sensitive": ["d", "D"]}, "None"),
        ({"drop": ["d"]}, "'d' cannot be two of"),
        ({"counts": "d"}, "'d' cannot be two of"),
        ({"counts": "many"}, "None of the releases has a column 'many' that counts"),
        ({"git": "."}, "one of them, not both"),
    ],
)
def test_wrong_options_give_one_clear_error(more: dict[str, object], message: str) -> None:
    table = pl.DataFrame({"age": ["1"], "d": ["x"]})
    if message == "None":
        assert read_releases([table], **more).sensitive == ("d",)  # type: ignore[arg-type]
        return
    with pytest.raises((TableError, ParameterError)) as caught:
        read_releases([table], **{"sensitive": "d", **more})  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_the_same_problem_of_many_releases_is_one_line() -> None:
    tables = [pl.DataFrame({"age": ["1"], f"x{at}" if at > 3 else "d": ["x"]}) for at in range(40)]
    with pytest.raises(TableError) as caught:
        read_releases(tables, sensitive="d")
    assert len(str(caught.value).splitlines()) < 6
    assert "each of 36 releases ('table 5' to 'table 40') has no column 'd'" in str(caught.value)


NASTY = {
    "one row": "age,d\n3,flu\n",
    "all null": "age,d\n,\n,\n",
    "huge numbers": "n1,d\n99999999999999999999999999,a\n12345678901234567890,b\n",
    "signs": "âge,naïve 🙂,d\n1–4,é,flu\n5–9,è,Grippe “x”\n",
    "everything at once": 'x,d\n1,a\n[2-3],b\n2020-01-01,c\n"{a,b}",d\nfoo,e\n5**,f\n,g\n"{a,",h\n',
    "dates that are none": "t,d\n31/02/2020,a\n99/99/2020,b\n",
    "20,000 categories": "c,x,d\n" + "".join(f"k{at % 15000},{at % 3},v{at}\n" for at in range(20000)),
}


@pytest.mark.parametrize("name", NASTY)
def test_nasty_tables_are_read_and_audited(name: str, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(NASTY[name])
    (tmp_path / "2.csv").write_text(NASTY[name])
    foreign = read_releases(tmp_path, sensitive="d")
    rows = NASTY[name].count("\n") - 1
    for release in foreign.published.releases:
        assert int(release.rows.sum()) == rows
        assert release.lines is not None
        assert sorted(release.lines.tolist()) == list(range(2, rows + 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("age,d\n", "has no rows"),
        ("age,age,d\n1,2,flu\n", "name another one has too"),
        ("23,m,flu\n24,f,hiv\n", "seems to be no header"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text(text)
    with pytest.raises(ReissueError) as caught:
        read_releases(tmp_path, sensitive="d")
    assert message in str(caught.value)
    assert "23" not in str(caught.value)


def test_cells_of_a_first_line_are_not_proposed_as_names(tmp_path: Path) -> None:
    rows = "".join(f"{age},{sex},{illness}\n" for age in (31, 32, 33) for sex in "fm" for illness in ("flu", "hiv"))
    (tmp_path / "1.csv").write_text(f"age,sex,illness\n{rows}")
    (tmp_path / "2.csv").write_text(rows)
    for accept in (False, True):
        with pytest.raises(ReissueError, match="seems to be no header") as caught:
            read_releases(tmp_path, sensitive="illness", accept_proposals=accept)
        assert "flu" not in str(caught.value) and "31" not in str(caught.value)


@needs("covid_linelists/ontario_raw", stand_in="test_a_line_list_is_read_with_what_was_proposed")
def test_ontarios_files() -> None:
    foreign = read_releases(FOLDER / "covid_linelists" / "ontario_raw", sensitive="OUTCOME1", accept_proposals=True)
    assert len(foreign.names) == 41
    assert foreign.decisions["rename"] == {"RESOLVED": "OUTCOME1"}
    expected = ("Accurate_Episode_Date", "Age_Group", "Client_Gender", "Case_AcquisitionInfo", "Reporting_PHU")
    assert foreign.quasi == expected
    assert sum(int(release.rows.sum()) for release in foreign.published.releases) == 541_360
    assert foreign.decisions["missing"] == {"Age_Group": ["unknown"]}


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_ages_of_toronto_in_small")
def test_torontos_files(tmp_path: Path) -> None:
    table = pl.read_parquet(FOLDER / "covid_linelists" / "toronto_releases.parquet")
    for (name,), part in table.group_by("release"):
        part.drop("release").write_csv(tmp_path / f"{name}.csv")
    foreign = read_releases(tmp_path, sensitive=["Outcome", "Ever Hospitalized"])
    assert foreign.names == ("2020-08-01.csv", "2020-08-30.csv", "2020-10-09.csv")
    assert "Assigned_ID" not in foreign.quasi
    assert any("'Age Group' is read as numbers and intervals of them" in note for note in foreign.notes)
    assert [len(column.values) for column in foreign.published.columns] == [3, 2]


def test_ages_of_toronto_in_small() -> None:
    table = pl.DataFrame(
        {"Age Group": ["19 and younger", "50 to 59 Years", "90 and older", None], "Outcome": ["a", "b", "a", "b"]}
    )
    foreign = read_releases([table], sensitive="Outcome")
    assert "'Age Group' is read as numbers and intervals of them" in notes_of(foreign)
