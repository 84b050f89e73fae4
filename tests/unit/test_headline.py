"""Headlines, rankings and tables of findings, held against small views worked out by hand."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks.sentences import Place
from reissue.auditing.report import AuditReport, how_many
from reissue.auditing.standing import in_order
from reissue.auditing.subject import Subject
from reissue.auditing.whereabouts import holds, lines_of, lines_of_all, lines_told
from reissue.errors import ParameterError
from reissue.foreign import Foreign
from reissue.model.assumptions import Assumption
from reissue.model.published import Published

SUBJECT = Subject("clinic", ("age",), ("diagnosis",), {1: "", 2: ""}, {1: "one.csv", 2: "two.csv"})


def two_releases() -> Published:
    """Alice has cancer, in both of her groups; so Bob has flu and Eve measles. Carla and Dan could be either."""
    return Published.from_groups(
        [
            [(["Alice", "Bob"], ["cancer", "flu"]), (["Carla", "Dan"], ["flu", "gout"])],
            [(["Alice", "Eve"], ["cancer", "measles"]), (["Carla", "Dan"], ["flu", "gout"])],
        ]
    )


def with_lines(view: Published) -> Published:
    """Each group on two lines of its file, one after the other, behind the header."""
    lines = [
        replace(one, lines=np.arange(2, 2 + 2 * one.group_count), line_starts=np.arange(0, 2 * one.group_count + 1, 2))
        for one in view.releases
    ]
    return replace(view, releases=tuple(lines))


def test_who_can_be_read_off() -> None:
    report = replace(ri.audit(two_releases(), limit=1 / 2), subject=SUBJECT)
    told = report.headline
    assert told.words == (
        "Not passed: 3 of 5 people's diagnosis can be read off from releases 1 and 2 together, if values stay the same "
        "and nothing was perturbed."
    )
    assert (told.tone, told.beside) == ("bad", "")
    assert report.text().startswith(told.words) and told.sentence in report.to_json()


def test_who_is_likely_and_not_certain() -> None:
    view = Published.from_groups([[(["a", "b", "c"], ["flu", "flu", "gout"]), (["d", "e"], ["flu", "gout"])]])
    report = ri.audit(view, limit=1 / 2)
    assert report.headline.sentence == (
        "3 of 5 people can be tied to a value from release 1 alone with a probability above 1/2, up to 0.667."
    )


def test_nobody() -> None:
    report = ri.audit(
        Published.from_groups([[(["a", "b"], ["flu", "gout"]), (["c", "d"], ["flu", "gout"])]]), limit=1 / 2
    )
    assert report.passed
    assert report.headline.sentence == (
        "None of 4 people can be tied to a value from release 1 alone with a probability above 1/2: proven."
    )
    assert report.headline.tone == "good"


def test_passed_is_not_green_beside_what_is_not_met() -> None:
    """A row that stands alone, where the limit allows certainty."""
    report = ri.audit(
        Published.from_groups([[(["a"], ["flu"]), (["b", "c"], ["flu", "gout"])]]), limit=1, attacks=["Worlds"]
    )
    assert report.passed
    assert report.headline.tone == "open"
    assert "singling out" in report.headline.beside
    assert "1 of 3 people's value can be read off" in report.headline.sentence


def test_what_is_contradicted_is_said() -> None:
    report = replace(ri.audit(two_releases(), limit=1 / 2), assumptions=(Assumption("values-stay", "refuted", 64),))
    assert report.headline.sentence.startswith("Values did not stay the same (64 contradictions)")


def test_rows_where_nobody_is_known(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(
        "age,sex,diagnosis\n30-39,f,HIV\n30-39,f,HIV\n30-39,f,HIV\n40-49,m,flu\n40-49,m,gout\n"
    )
    read = ri.read_releases([tmp_path / "one.csv"], sensitive="diagnosis")
    report = replace(ri.audit(read.published, limit=1 / 2), subject=SUBJECT)
    read_off = "The diagnosis of whoever is in 3 of 5 rows can be read off"
    assert report.headline.sentence == f"{read_off} by anybody who knows their age, if nothing was perturbed."
    assert not report.passed
    page = report.to_html(tmp_path / "page.html").read_text()
    assert "No attack found anything" not in page, "not beside rows that tell"
    noised = replace(report, assumptions=(Assumption("unperturbed", "dropped"),))
    assert noised.headline.sentence.endswith(". 3 of 5 rows stand among rows that all show the same diagnosis.")
    assert noised.headline.sentence.startswith("Cells were perturbed: nothing that is shown is certain")
    said = replace(report, assumptions=(Assumption("unperturbed", "said"),))
    assert said.headline.sentence == f"{read_off} by anybody who knows their age."
    # What one must know of somebody is said, of many columns of how many; without the names of columns nothing is.
    quasi = ("age", "sex", "city", "job", "ward")
    many = replace(said, subject=replace(SUBJECT, quasi=quasi))
    assert many.headline.sentence == f"{read_off} by anybody who knows their age, sex, city and 2 more columns."
    four = replace(said, subject=replace(SUBJECT, quasi=quasi[:4]))
    assert four.headline.sentence == f"{read_off} by anybody who knows their age, sex, city and job."
    assert replace(said, subject=replace(SUBJECT, quasi=())).headline.sentence == f"{read_off}."


def test_of_several_releases_the_last_speaks_first(tmp_path: Path) -> None:
    """Whoever is in both is counted in both, so that sums over releases are no number of people."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n30-39,HIV\n40-49,flu\n40-49,gout\n40-49,gout\n")
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,HIV\n40-49,flu\n40-49,gout\n40-49,gout\n")
    read = ri.read_releases([tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis")
    report = replace(ri.audit(read.published, limit=1 / 2), subject=SUBJECT)
    assert report.headline.sentence == (
        "In release 2, the last, the diagnosis of whoever is in 1 of 4 rows can be read off by anybody who knows their "
        "age, if nothing was perturbed; 3 more rows show one diagnosis with a share above 1/2 among rows like them."
    )
    # Sums over releases, in each of which people are counted, stand beside it.
    assert report.headline.beside == (
        "Of 9 rows of the 2 releases, with people counted in each, 3 tell the diagnosis and 6 more show one with a "
        "share above the limit."
    )


def registered(tmp_path: Path) -> Published:
    """Seven of the registry may be in groups of three; who is not known. Two have flu at first, and two gout then."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,flu\n30-39,flu\n30-39,gout\n")
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,flu\n30-39,gout\n30-39,gout\n")
    (tmp_path / "people.csv").write_text("name,age\n" + "".join(f"P{at},3{at}\n" for at in range(7)))
    return ri.read_releases(
        [tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis", registry=tmp_path / "people.csv", person="name"
    ).published


def test_a_share_among_rows_is_no_figure_of_anybody_who_may_be_elsewhere(tmp_path: Path) -> None:
    report = ri.audit(registered(tmp_path), limit=1 / 2)
    assert report.passed
    # By hand: 2 of 3 rows; but flu and gout are as likely for anybody, as what is more in one is less in the other.
    assert report.headline.beside.startswith(
        "Among the rows of a group one value has a share of up to 0.667. Who is in that group is not known for "
        "certain, and for nobody is a value likelier than 0.5."
    )
    assert report.headline.tone == "open"


def test_rows_speak_where_nobody_counted_people(tmp_path: Path) -> None:
    """Without an attack that proves probabilities, what groups show is told all the same."""
    report = ri.audit(registered(tmp_path), limit=1 / 2, attacks=["Correlation"])
    assert not report.passed
    assert report.headline.sentence == (
        "People were not judged one by one. In release 2, the last, 3 of 3 rows show one value with a share above 1/2 "
        "among rows like them."
    )
    assert report.headline.beside == (
        "Of 6 rows of the 2 releases, with people counted in each, 6 show one with a share above the limit."
    )


def test_what_is_rare_comes_first_however_many_are_certain() -> None:
    """150 people whose flu is certain come before the last one, whose HIV is, in every order but that of rarity."""
    groups = [([f"p{number:03}"], ["flu"]) for number in range(150)]
    report = ri.audit(Published.from_groups([[*groups, (["z"], ["HIV"])]]), limit=1 / 2, attacks=["Worlds"])
    assert len(report.findings) == 100
    assert report.published.name(report.findings[0].people[0]) == "z"
    table = report.findings_table(show_people=True, show_values=True)
    assert table.height == 151
    assert table.select("person", "value").row(0) == ("z", "HIV")
    assert table["witness"][0] and table["witness"].null_count() == 51
    assert table["person"].to_list()[1:] == sorted(table["person"].to_list()[1:])


def test_findings_name_the_lines_of_files(tmp_path: Path) -> None:
    report = replace(ri.audit(with_lines(two_releases()), limit=1 / 2), subject=SUBJECT)
    table = report.findings_table(show_people=True, show_values=True)
    found = {row["person"]: row for row in table.to_dicts() if row["what"] == "value"}
    assert {name: row["value"] for name, row in found.items()} == {"Alice": "cancer", "Bob": "flu", "Eve": "measles"}
    # Bob is in the first release only, on the lines of its first group.
    assert [found["Bob"][name] for name in ("release", "file", "group", "lines")] == [1, "one.csv", 1, "2, 3"]
    assert [found["Eve"][name] for name in ("release", "file", "lines", "probability")] == [2, "two.csv", "2, 3", 1.0]
    page = report.to_html(tmp_path / "page.html").read_text()
    assert "one.csv lines 2, 3" in page and "Alice" not in page and "cancer" not in page


def overlapping(tmp_path: Path) -> Foreign:
    """Ann, Ben, Cleo and Dan are in both releases. In the second Ann and Cleo may be in either of two groups, of which
    nobody fits one row: whoever has it, Ann had flu in the first."""
    (tmp_path / "1.csv").write_text("age,illness\n20-26,flu\n20-26,flu\n27-39,gout\n27-39,angina\n")
    (tmp_path / "2.csv").write_text("age,illness\n20-29,gout\n25-39,flu\n20-29,flu\n25-39,angina\n")
    (tmp_path / "people.csv").write_text("name,age\nAnn,25\nBen,24\nCleo,28\nDan,33\n")
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    return ri.read_releases(files, sensitive="illness", registry=tmp_path / "people.csv", person="name", present="all")


def test_lines_are_those_of_groups_that_people_are_known_to_be_in(tmp_path: Path) -> None:
    foreign = overlapping(tmp_path)
    report = replace(ri.audit(foreign.published, limit=1 / 2), subject=SUBJECT)
    # Lines of the second release are told of Ben and Dan alone, who fit one of its groups each.
    rows = report.findings_table(show_people=True, show_values=True).filter(what="value", release=2)
    lines = {row["person"]: row["lines"] for row in rows.to_dicts()}
    assert lines.get("Ann") is None and lines.get("Cleo") is None
    assert {who: told for who, told in lines.items() if told} == {"Dan": "3, 5"}
    for at in (1, 2):
        assert holds(foreign.published, Place(1, at), at - 1, supposed=False) == (at == 1)
        assert not holds(foreign.published, Place(2, at), 0, supposed=False)
        assert not holds(foreign.published, Place(2, at), 0, supposed=True), "either group may hold Ann"
    assert holds(foreign.published, Place(2, 1), 1, supposed=False)


def test_the_file_of_findings_is_private_and_hides_what_is_not_asked_for(tmp_path: Path) -> None:
    report = replace(ri.audit(two_releases(), limit=1 / 2), subject=SUBJECT)
    for name in ("findings.csv", "findings.parquet"):
        path = report.to_findings(tmp_path / name)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = (tmp_path / "findings.csv").read_text()
    assert not [word for word in ("Alice", "Bob", "cancer", "measles") if word in text]
    back = pl.read_parquet(tmp_path / "findings.parquet")
    assert back.columns[:6] == ["person", "release", "file", "group", "lines", "column"]
    assert back["value"].null_count() == back.height > 0
    with pytest.raises(ParameterError, match=r"CSV or Parquet"):
        report.to_findings(tmp_path / "findings.txt")


def test_lines_in_short() -> None:
    assert lines_told(np.array([17])) == "17"
    assert lines_told(np.array([2, 3, 9, 10, 11, 20])) == "2, 3, 9-11, 20"
    assert lines_told(np.arange(1, 100, 2), most=2) == "1, 3 and 48 more"


def test_lines_of_many_groups_are_those_of_each() -> None:
    rng = np.random.default_rng(8)
    view = two_releases()
    for most in (1, 3, 40):
        for _ in range(20):
            sizes = rng.integers(0, 9, 12)
            lines = np.concatenate([np.sort(rng.choice(np.arange(2, 30), size, replace=False)) for size in sizes])
            starts = np.concatenate([[0], np.cumsum(sizes)])
            release = replace(view.plain[0], lines=lines.astype(np.int64), line_starts=starts.astype(np.int64))
            groups = rng.integers(1, 13, 20)
            expected = [lines_of(release, one, most) for one in groups.tolist()]
            assert lines_of_all(release, groups, most).to_list() == expected
    assert lines_of_all(view.plain[0], np.array([1, 1])).to_list() == [None, None]


def test_a_claim_about_one_release_has_the_figure_of_that_release() -> None:
    """Ann is certain in release 1 alone; in release 2 another value is likely, and no more than that."""
    view = Published.from_groups(
        [
            [(["Ann", "Ben"], ["flu", "flu"]), (["Cleo", "Dan"], ["HIV", "gout"])],
            [(["Ann", "Cleo", "Dan"], ["gout", "gout", "HIV"]), (["Ben"], ["gout"])],
        ]
    )
    report = replace(ri.audit(view, limit=1 / 2), subject=SUBJECT)
    assert {one.name for one in report.assumptions if one.status == "refuted"} == {"values-stay"}
    table = report.findings_table(show_people=True, show_values=True).filter(person="Ann").sort("release")
    told = table.select("release", "value", pl.col("probability").round(3), "kind", "rests_on").rows()
    assert told == [(1, "flu", 1.0, "conditional", "unperturbed"), (2, "gout", 0.667, "conditional", "unperturbed")]


def test_every_group_that_tells_is_in_the_table(tmp_path: Path) -> None:
    """More of them than a page tells; each with its line, the surest first."""
    rows = "".join(f"{age},{'flu' if age % 3 else 'HIV'}\n" for age in range(300))
    (tmp_path / "one.csv").write_text(f"age,diagnosis\n{rows}")
    read = ri.read_releases([tmp_path / "one.csv"], sensitive="diagnosis", keep=["age"])
    report = ri.audit(read.published, limit=1 / 2)
    assert len(report.findings) < 300
    table = report.findings_table(show_values=True)
    assert table.height == 300 == table["group"].n_unique()
    assert dict(zip(table["lines"], table["value"], strict=True))["2"] == "HIV"


def test_a_verdict_rests_on_what_its_findings_rest_on(tmp_path: Path) -> None:
    """Nobody said that nobody leaves, and groups that tell by themselves need no other release."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n30-39,HIV\n40-49,flu\n40-49,gout\n")
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,HIV\n40-49,flu\n40-49,gout\n")
    read = ri.read_releases([tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis")
    report = ri.audit(read.published, limit=1 / 2)
    told = {one["name"]: one for one in report.to_dict()["assumptions"]}
    assert told["nobody-leaves"]["status"] == "refuted"
    assert {name for name, one in told.items() if one["relied_on"]} == {"unperturbed"}
    assert report.rests_on == "" and "It rests on" not in report.verdict
    states = {one.name: state for one, state, _ in in_order(report.assumptions)}
    assert states["nobody-leaves"] == "contradicted 1 time, and nothing rests on it"


def test_findings_of_ones_own_series_may_rest_on_what_is_contradicted(tmp_path: Path) -> None:
    """Values changed, as the releases show; who takes them to stay concludes something all the same."""
    rng = np.random.default_rng(1)
    schema = ri.Schema("id", {"age": ri.Numeric()}, {"ill": ri.Categorical(new="accept")})
    with ri.open(tmp_path / "s", ri.Policy(schema, ri.Mondrian(k=3, l=2), series="unprotected")) as series:
        ill = rng.choice([*"abcdef"], 30)
        for _ in range(2):
            ages = rng.permutation(np.arange(20, 50))
            series.publish(pl.DataFrame({"id": range(30), "age": ages, "ill": ill}))
            ill = np.where(rng.random(30) < 0.3, rng.choice([*"abcdef"], 30), ill)
        report = series.audit(limit=1 / 2)
    assert any("values-stay" in finding.rests_on for finding in report.findings)
    (state,) = [words for one, words, _ in in_order(report.assumptions, report.supposed) if one.name == "values-stay"]
    assert state.startswith("contradicted") and state.endswith("; findings are of who takes it to hold")
    page = report.to_html(tmp_path / "report.html").read_text()
    assert "findings are of who takes it to hold" in page and "and nothing rests on it" not in page


def test_headlines_count_rows_as_differences_does(tmp_path: Path) -> None:
    """Whoever fits the lone row of 30-39 may be in the group of 35-44 that overlaps it, and shows other values."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n35-44,flu\n35-44,gout\n60-69,flu\n")
    read = ri.read_releases([tmp_path / "1.csv"], sensitive="diagnosis")
    report = replace(ri.audit(read.published, limit=1 / 2), subject=SUBJECT)
    assert report.headline.sentence == (
        "The diagnosis of whoever is in 1 of 4 rows can be read off by anybody who knows their age, if nothing was "
        "perturbed; 1 more would, but whoever fits them may be in rows that overlap them."
    )
    # Without a row that tells by itself, the sentence stands alone.
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,HIV\n35-44,flu\n35-44,gout\n*,gout\n")
    read = ri.read_releases([tmp_path / "2.csv"], sensitive="diagnosis")
    report = replace(ri.audit(read.published, limit=1 / 2), subject=SUBJECT)
    assert report.headline.sentence == (
        "2 of 4 rows show one diagnosis with a share above 1/2 among rows like them, but whoever fits them may be in "
        "rows that overlap them."
    )


def test_rows_that_others_overlap_are_not_read_off_where_values_are_in_doubt_either(tmp_path: Path) -> None:
    """Of three rows of 60-69 all have flu, and nobody leaves: the two of the later release that have gout contradict
    it. Whoever fits the lone row of 30-39 may be in the group of 35-44 all the same."""
    overlapping = "30-39,HIV\n35-44,flu\n35-44,gout\n"
    for name, last in (("1.csv", "60-69,flu\n" * 3), ("2.csv", "60-69,flu\n" + "60-69,gout\n" * 2)):
        (tmp_path / name).write_text(f"age,diagnosis\n{overlapping}{last}")
    read = ri.read_releases([tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis")
    report = ri.audit(read.published, ri.Knowledge(growing=True), limit=1 / 2)
    assert {one.name: one.status for one in report.assumptions}["values-stay"] == "refuted"
    # By hand: in the last release no group tells by itself; of 60-69 two of three are gout; the lone row might.
    told = report.headline.sentence.partition("In release 2, the last, ")[2]
    assert told == (
        "3 of 6 rows show one value with a share above 1/2 among rows like them; 1 more would, but whoever fits them "
        "may be in rows that overlap them."
    )
    # What the last release does not show, another does.
    assert report.headline.beside == (
        "Of 12 rows of the 2 releases, with people counted in each, 3 tell the value, 3 more show one with a share "
        "above the limit and 2 more would, if others did not overlap them."
    )


def several_columns(tmp_path: Path, rows: str) -> AuditReport:
    (tmp_path / "1.csv").write_text(f"age,ill,drug\n{rows}")
    read = ri.read_releases([tmp_path / "1.csv"], sensitive=["ill", "drug"], quasi=["age"])
    report = ri.audit(read.published, limit=1 / 2)
    return replace(report, subject=Subject("clinic", ("age",), ("ill", "drug"), {1: ""}, {1: "1.csv"}))


def test_of_several_columns_rows_tell_one_by_one(tmp_path: Path) -> None:
    """No record comes twice; whoever is 1 has flu all the same."""
    report = several_columns(tmp_path, "1,flu,x\n1,flu,y\n1,flu,z\n2,gout,z\n2,cold,x\n2,flu,y\n")
    assert report.headline.sentence == (
        "The ill of whoever is in 3 of 6 rows can be read off by anybody who knows their age, if nothing was perturbed."
    )
    words = report.judgements["Differences"].words
    assert "Of 'ill' alone 3 of 6 rows are in groups in which one value is likelier than 1/2" in words
    told = {heading: table["one_value"].to_list() for _, heading, table in report.sections}
    assert told == {
        "Rows in groups that tell by themselves (limit 1/2)": [0],
        "Rows in groups that tell of 'ill' by themselves (limit 1/2)": [3],
        "Rows in groups that tell of 'drug' by themselves (limit 1/2)": [0],
    }
    # Two rows with one record, three with one illness, three of which two have the same drug.
    rows = "1,flu,x\n1,flu,x\n2,gout,x\n2,gout,y\n2,gout,z\n3,a,x\n3,b,x\n3,c,y\n"
    assert several_columns(tmp_path, rows).headline.sentence == (
        "The record of ill and drug of whoever is in 2 of 8 rows and the ill of whoever is in 3 more can be read off "
        "by anybody who knows their age, if nothing was perturbed; 3 more rows show one ill or drug with a share above "
        "1/2 among rows like them."
    )


def test_of_several_columns_rows_of_all_releases_are_told(tmp_path: Path) -> None:
    for at, age in enumerate((1, 1), start=1):
        (tmp_path / f"{at}.csv").write_text(
            f"age,ill,drug\n{age},flu,x\n{age},flu,x\n2,gout,x\n2,gout,y\n3,a,x\n3,b,z\n"
        )
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    read = ri.read_releases(files, sensitive=["ill", "drug"], quasi=["age"])
    report = ri.audit(read.published, limit=1 / 2)
    subject = Subject("clinic", ("age",), ("ill", "drug"), {1: "", 2: ""}, {1: "1.csv", 2: "2.csv"})
    assert replace(report, subject=subject).headline.beside == (
        "Of 12 rows of the 2 releases, with people counted in each, 4 tell the record of ill and drug and 4 more tell "
        "the ill."
    )


def test_of_several_columns_people_are_told_one_by_one() -> None:
    table = pl.DataFrame({"id": list("abcdef"), "age": [1, 1, 2, 2, 3, 3]}).with_columns(
        ill=pl.Series(["flu", "flu", "gout", "gout", "ache", "cold"]), drug=pl.Series(["x", "y", "z", "z", "q", "r"])
    )
    read = ri.read_releases([table], sensitive=["ill", "drug"], person="id", quasi=["age"])
    subject = Subject("clinic", ("age",), ("ill", "drug"), {1: ""}, {1: "1.csv"})
    report = replace(ri.audit(read.published, limit=1 / 2), subject=subject)
    assert report.headline.sentence == (
        "2 of 6 people's record of ill and drug can be read off from release 1 alone, if nothing was perturbed; of 2 "
        "more the ill."
    )
    found = report.findings_table(show_people=True, show_values=True).filter(column="ill", person="a")
    assert found.select("value", "probability", "low", "high", "kind").rows() == [("flu", 1.0, 1.0, 1.0, "exact")]
    # Without a record that is certain, columns are told with how many people each.
    table = table.filter(pl.col("age") != 2)
    read = ri.read_releases([table], sensitive=["ill", "drug"], person="id", quasi=["age"])
    report = replace(ri.audit(read.published, limit=1 / 2), subject=subject)
    assert report.headline.sentence == (
        "2 of 4 people's ill can be read off from release 1 alone, if nothing was perturbed."
    )


def test_of_a_column_figures_are_those_of_its_attack_also_where_nobody_may_be_there() -> None:
    """Three of the registry for two rows: whoever is there has x for certain, and each is with 2/3."""
    table = pl.DataFrame({"age": ["20-29"] * 2, "ill": ["flu", "gout"], "drug": ["x", "x"]})
    people = pl.DataFrame({"id": list("abc"), "age": ["21", "22", "23"]})
    read = ri.read_releases([table], sensitive=["ill", "drug"], registry=people, person="id", quasi=["age"])
    report = ri.audit(read.published, limit=1 / 2)
    found = report.findings_table(show_people=True, show_values=True).filter(what="value")
    assert found.select("person", "column", "value", "probability").rows() == [(who, "drug", "x", 1.0) for who in "abc"]
    assert found["rests_on"].str.contains("presence").all(), "it is not known who is there, and nobody is certain"
    assert report.headline.sentence == (
        "3 of 3 people can be tied to a drug from release 1 alone with a probability above 1/2, up to 1, if they are "
        "in a release."
    )


def test_without_regions_compared_nobody_is_said_to_be_read_off(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n35-44,flu\n35-44,gout\n60-69,flu\n")
    read = ri.read_releases([tmp_path / "1.csv"], sensitive="diagnosis")
    report = ri.audit(read.published, limit=1 / 2, attacks=["Channels"])
    assert report.headline.sentence == "2 of 4 rows stand among rows that all show the same value."


def test_nothing_found_is_said_without_names_of_attacks(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n30-39,flu\n40-49,flu\n40-49,gout\n")
    report = ri.audit(ri.read_releases([tmp_path / "1.csv"], sensitive="diagnosis").published, limit=1 / 2)
    assert report.headline.words == (
        "Not passed: Nothing beyond the limits was found in release 1 alone, but it is not proven that there is "
        "nothing: it is not known who is in it."
    )


def test_terminal_and_page_count_the_same_findings(tmp_path: Path) -> None:
    """Channels has sets that it cannot decide: they are no findings, neither here nor there."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n40-49,flu\n40-49,gout\n")
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,HIV\n40-49,flu\n40-49,angina\n")
    read = ri.read_releases([tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis")
    report = ri.audit(read.published, limit=1 / 2)
    undecided = sum(run.judgement.count for run in report.runs if run.judgement.status == "undecided")
    assert undecided
    assert f"The worst of {how_many(report)}, one for each" in report.to_html(tmp_path / "page.html").read_text()


def test_channels_counts_sets_without_keeping_them(tmp_path: Path) -> None:
    """All sets of many releases together take gigabytes."""
    (tmp_path / "1.csv").write_text("age,diagnosis\n30-39,HIV\n30-39,HIV\n40-49,flu\n40-49,gout\n")
    (tmp_path / "2.csv").write_text("age,diagnosis\n30-39,HIV\n40-49,flu\n40-49,gout\n")
    read = ri.read_releases([tmp_path / "1.csv", tmp_path / "2.csv"], sensitive="diagnosis")
    report = ri.audit(read.published, limit=1 / 2, attacks=["Channels"])
    (run,) = report.runs
    assert run.findings is not None and "channels" not in vars(run.findings)
    assert f" of {run.findings.channels.height:,}" in run.judgement.words  # type: ignore[attr-defined]


def test_where_cells_were_perturbed_figures_are_of_cells_as_published() -> None:
    view = Published.from_groups([[(["a", "b", "c"], ["flu", "flu", "gout"])]])
    report = ri.audit(view, ri.Knowledge(dropped=frozenset({"unperturbed"})), limit=1 / 2)
    assert "if nothing was perturbed" not in report.headline.sentence
    assert report.headline.sentence.endswith("above 1/2, up to 0.667, taking cells as they are published.")


@pytest.mark.parametrize(
    ("called", "words"),
    [
        (["2026-01", "2026-02", "2026-03"], "3 releases (2026-01 to 2026-03)"),
        (["2026-01", "2026-02", "2026-01"], "3 releases (2026-01 to 2026-02)"),  # the last one corrects the first
        (["2026-01", "2026-01"], "2 releases (2026-01)"),
        (["2026-01"], "1 release (2026-01)"),
        (["", ""], "2 releases;"),
    ],
)
def test_what_was_audited_is_from_first_to_last(called: list[str], words: str) -> None:
    subject = Subject("clinic", ("age",), ("diagnosis",), dict(enumerate(called, 1)))
    assert f"clinic: {words}" in subject.words
