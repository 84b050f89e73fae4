"""`reissue audit`: a series of ours, and releases made elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reissue as ri
from reissue.cli import main

Run = Callable[..., Any]

RELEASES = {
    "release1.csv": "age,sex,diagnosis\n[20-29],*,flu\n[20-29],*,asthma\n[30-39],female,flu\n[30-39],female,cancer\n",
    "release2.csv": "age,sex,diagnosis\n[20-24],*,flu\n[20-24],*,gout\n[25-39],*,asthma\n[25-39],*,flu\n",
}
PEOPLE = "name,age,sex\n" + "".join(
    f"{name}CANARY,{age},{sex}\n"
    for name, age, sex in [
        ("Ann", 21, "male"), ("Ben", 27, "male"), ("Cat", 33, "female"), ("Dan", 35, "female"), ("Eve", 22, "female")
    ]
)  # fmt: skip
PRESENT = "person,release\n" + "".join(
    f"{name}CANARY,{release}\n"
    for name, release in [
        ("Ann", 1), ("Ben", 1), ("Cat", 1), ("Dan", 1), ("Ann", 2), ("Eve", 2), ("Ben", 2), ("Cat", 2)
    ]
)  # fmt: skip


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Two releases by hand, with a registry: Ann is in {flu, asthma} and in {flu, gout}, so she has flu."""
    folder = tmp_path / "releases"
    folder.mkdir()
    for name, text in RELEASES.items():
        (folder / name).write_text(text)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "present.csv").write_text(PRESENT)
    return folder


OPTIONS = ("--sensitive", "diagnosis", "--registry", "people.csv", "--person", "name", "--present", "present.csv")


@pytest.fixture
def clinic(tmp_path: Path, patients: pl.DataFrame) -> Path:
    """Two releases that keep 1/2."""
    schema = ri.Schema(person="patient", quasi={"age": ri.Numeric(), "sex": ri.Categorical()}, sensitive="diagnosis")
    with ri.open(tmp_path / "clinic", ri.Policy(schema, ri.MInvariance(m=2))) as series:
        series.publish(patients, seed=1)
        series.publish(patients.tail(18), seed=2)
    return tmp_path / "clinic"


@pytest.fixture
def naive(tmp_path: Path, patients: pl.DataFrame, policy: ri.Policy) -> Path:
    """Releases that are looked at one by one only."""
    with ri.open(tmp_path / "naive", policy) as series:
        for people in (24, 19, 14, 9):
            series.publish(patients.tail(people), seed=people)
    return tmp_path / "naive"


def test_releases_made_elsewhere(run: Run, elsewhere: Path, tmp_path: Path) -> None:
    ran = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Worlds", "--html", "report.html")
    assert ran.code == 1
    assert ran.out.startswith("Not passed:")
    assert "nobody may be tied to a value with a probability of more than 1/2" in ran.out
    assert "5 of 5 people's diagnosis can be read off from releases 1 and 2 together" in ran.out
    assert "person 3 has one value left: certain, from release 2 on, by Worlds" in ran.out
    assert len(ran.out.splitlines()) <= 15
    assert "CANARY" not in ran.out + ran.err + (tmp_path / "report.html").read_text()
    assert "asthma" not in ran.out + (tmp_path / "report.html").read_text()
    again = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Worlds", "--html", "report.html")
    assert again.code == 2
    assert "--force" in again.err

    files = ("releases/release1.csv", "releases/release2.csv")
    shown = ("--show-people", "--show-values", "--long")
    ran = run("audit", *files, *OPTIONS, "--limit", "0.5", "--attacks", "Worlds", *shown)
    assert ran.code == 1
    assert "AnnCANARY with probability 1" in ran.out
    assert "flu" in ran.out


def test_as_json(run: Run, elsewhere: Path) -> None:
    ran = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Worlds", "--json")
    assert ran.code == 1
    assert ran.data["passed"] is False
    assert {one["person"] for one in ran.data["findings"]} == {f"person {number}" for number in range(5)}
    assert ran.data["findings"][0]["person"] == "person 3", "of those who are certain, the one with the rarest value"
    assert ran.data["limits"]["probability"] == "1/2"
    assert len(ran.data["risks"]) == 2
    assert any("'age' is read as" in note for note in ran.data["notes"])
    # Everything is allowed where the limit is certainty.
    assert run("audit", "releases", *OPTIONS, "--limit", "1", "--attacks", "Worlds", "--json").code == 0


def test_compromised_people_from_a_file(run: Run, elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("person,value\nCatCANARY,flu\n")
    options = (*OPTIONS, "--limit", "1/2", "--attacks", "Worlds", "--json")
    before, after = run("audit", "releases", *options), run("audit", "releases", *options, "--compromised", "known.csv")
    assert "They know the value of 1 person beforehand." in after.data["adversary"]
    assert after.data["disclosure"]["people"] == before.data["disclosure"]["people"] - 1
    (tmp_path / "known.csv").write_text("person,value\nZoeCANARY,flu\n")
    ran = run("audit", "releases", *options[:-1], "--compromised", "known.csv")
    assert ran.code == 2
    assert "CANARY" not in ran.err
    (tmp_path / "known.csv").write_text("who,value\nZoeCANARY,flu\n")
    assert (
        "the columns 'person' and 'value'" in run("audit", "releases", *options[:-1], "--compromised", "known.csv").err
    )


def test_what_cannot_be_decided_fails_unless_accepted(run: Run, elsewhere: Path) -> None:
    options = ("--sensitive", "diagnosis", "--limit", "1/2", "--attacks", "Worlds")
    ran = run("audit", "releases", *options)
    assert ran.code == 1
    assert "it is not proven" in ran.out
    assert run("audit", "releases", *options, "--accept", "undecided").code == 0
    assert run("audit", "releases", *options, "--accept", "everything").code == 2


def test_every_attack_without_a_registry(run: Run, elsewhere: Path, tmp_path: Path) -> None:
    ran = run("audit", "releases", "--sensitive", "diagnosis", "--limit", "1/2", "--html", "report.html", "--json")
    assert ran.code == 1
    assert [one["attack"] for one in ran.data["attacks"]] == [
        "Worlds",
        "Equivalence",
        "Correlation",
        "Channels",
        "Minimality",
        "Permanence",
        "Tracking",
        "Differences",
    ]
    assert ran.data["attacks"][0]["run"] is False
    assert ran.data["attacks"][3]["run"] is True
    assert "asthma" not in ran.out + (tmp_path / "report.html").read_text()


def test_what_is_likely_is_asked_by_name(run: Run, tmp_path: Path) -> None:
    rows = range(40)
    table = pl.DataFrame({"id": rows, "age": [20 + n for n in rows], "illness": [["flu", "gout"][n % 2] for n in rows]})
    schema = ri.Schema("id", {"age": ri.Numeric()}, "illness")
    ri.publish(tmp_path / "series", table, ri.Policy(schema, ri.MInvariance(m=2)))
    ran = run("audit", "series", "--attacks", "Worlds,Likelihood", "--html", "report.html", "--json")
    assert ran.code == 1
    assert [one["run"] for one in ran.data["attacks"]] == [True, True]
    assert ran.data["attacks"][1]["status"] in ("undecided", "beyond")
    assert ran.data["sections"][0]["attack"] == "Likelihood"
    assert "What is likely for whom" in (tmp_path / "report.html").read_text()


def test_what_is_missing_is_said(run: Run, elsewhere: Path) -> None:
    ran = run("audit", "releases")
    assert (ran.code, "--sensitive" in ran.err) == (2, True)
    ran = run("audit", "releases", "--sensitive", "diagnosis")
    assert (ran.code, "--limit is needed" in ran.err) == (2, True)
    ran = run("audit", "releases", "--registry", "people.csv")
    assert (ran.code, "releases made elsewhere only" in ran.err) == (2, True)
    for limit in ("half", "1/0", "2", "0"):
        ran = run("audit", "releases", *OPTIONS, "--limit", limit)
        assert (ran.code, "probability" in ran.err) == (2, True)
    ran = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--hierarchy", "age")
    assert (ran.code, "column=file" in ran.err) == (2, True)
    ran = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Wrlds")
    assert (ran.code, "'Worlds'" in ran.err) == (2, True)


def test_a_series_keeps_its_own_promise(run: Run, clinic: Path) -> None:
    ran = run("audit", "clinic", "--attacks", "Worlds")
    assert ran.code == 0
    assert ran.out.startswith("Passed:")
    assert "more than 1/2" in ran.out
    told = run("audit", "clinic", "--attacks", "Worlds", "--json").data
    assert told["promises"]
    assert told["form"] == "generalised"
    assert run("audit", "clinic", "--attacks", "Worlds", "--limit", "0.4").code == 1


def test_compromised_people_are_drawn_in_a_series(run: Run, clinic: Path) -> None:
    drawn = [
        run("audit", "clinic", "--attacks", "Worlds", "--compromised", "0.3", "--seed", seed, "--json").data[
            "adversary"
        ]
        for seed in (5, 5, 6)
    ]
    assert drawn[0] == drawn[1]
    assert any("beforehand" in line and "nobody" not in line for line in drawn[0])
    ran = run("audit", "clinic", "--compromised", "known.csv")
    assert (ran.code, "--compromised takes a rate" in ran.err) == (2, True)


def test_a_naive_series_is_found_out_and_people_are_named_on_demand(run: Run, naive: Path) -> None:
    options = ("--limit", "1/2", "--attacks", "Worlds")
    ran = run("audit", "naive", *options)
    assert ran.code == 1
    assert "measles" not in ran.out
    assert "person" in ran.out
    data = run("audit", "naive", *options, "--json", "--show-people").data
    assert all(finding["person"].startswith("p") and finding["person"][1:].isdigit() for finding in data["findings"])
    with ri.open(naive) as series:
        numbered = run("audit", "naive", *options, "--json").data["findings"][0]["person"]
        assert series.private.name_of(int(numbered.removeprefix("person "))) == data["findings"][0]["person"]


def test_a_series_without_releases_or_limit(
    run: Run, tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame
) -> None:
    ri.open(tmp_path / "empty", policy).close()
    assert "no release yet" in run("audit", "empty").err
    with ri.open(tmp_path / "large", replace(policy, method=ri.Mondrian(k=3))) as series:
        series.publish(patients)
    ran = run("audit", "large", "--attacks", "Worlds")
    assert (ran.code, "'limit' parameter of audit must be given" in ran.err) == (2, True)


def test_a_promise_that_counts_values_is_audited_without_a_limit(
    run: Run, tmp_path: Path, policy: ri.Policy, patients: pl.DataFrame, naive: Path
) -> None:
    with ri.open(tmp_path / "single", policy) as series:
        series.publish(patients)
    ran = run("audit", "single", "--html", "report.html")
    assert ran.code == 0
    assert "at least 2 possible values for everybody" in " ".join(ran.out.split())
    assert "no probability is promised" in " ".join(ran.out.split())
    assert "None" not in ran.out + (tmp_path / "report.html").read_text()
    data = run("audit", "naive", "--json").data
    limits = {"probability": None, "equivalence": None, "diversity": 2, "history_diversity": 2, "correlation": None}
    limits["credibility"] = None
    assert data["limits"] == limits
    statuses = {one["attack"]: one["status"] for one in data["attacks"]}
    # Crossing out the groups of four releases leaves some of the patients one diagnosis.
    assert (statuses["Worlds"], statuses["Channels"]) == ("beyond", "beyond")
    assert (statuses["Equivalence"], statuses["Correlation"]) == ("not asked", "not asked")


BORN = "born,disease\n" + '"{nov,dec}",HIV\n' * 2 + '"{nov,dec}",none\n' * 2 + "dec,none\n" * 3
REGISTER = "name,born\n" + "".join(f"P{at}CANARY,{'nov' if at < 2 else 'dec'}\n" for at in range(7))
MINIMAL = ("audit", "table.csv", "--sensitive", "disease", "--registry", "people.csv", "--person", "name")
MINIMAL = (*MINIMAL, "--present", "all", "--limit", "1/2", "--attacks", "Minimality")


@pytest.fixture
def generalised(tmp_path: Path) -> None:
    """Table 1(d) of Wong et al.: local recoding, which gives both of November away."""
    (tmp_path / "table.csv").write_text(BORN)
    (tmp_path / "people.csv").write_text(REGISTER)


@pytest.mark.usefixtures("generalised")
def test_why_people_were_grouped(run: Run) -> None:
    ran = run(*MINIMAL, "--minimal", "l=2", "--protect", "HIV", "--json")
    assert ran.code == 1
    assert ran.data["attacks"][0]["status"] == "beyond"
    assert {finding["probability"] for finding in ran.data["findings"]} == {1.0}
    # Where every group had to have three people, November alone was too small, and nothing is given away.
    told = run(*MINIMAL, "--minimal", "k=3,l=2,recoding=local", "--protect", "HIV", "--json")
    assert (told.code, told.data["attacks"][0]["status"]) == (0, "within")
    assert told.data["limits"]["credibility"] == "1/2"
    assert not any(word in ran.out + told.out for word in ("CANARY", "HIV"))
    # Sets are what is told of, whatever it is that had to be kept.
    spread = run(*MINIMAL, "--minimal", "t=0.2", "--protect", "HIV", "--json", "--show-values")
    assert "none" not in str(spread.data["findings"])
    # What nobody claims is not argued from.
    assert run(*MINIMAL, "--json").data["attacks"][0]["status"] == "not asked"


@pytest.mark.usefixtures("generalised")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--minimal", "l=two"), "takes a number for l"),
        (("--minimal", "diversity"), "does not take 'diversity'"),
        (("--minimal", "recoding=local"), "names nothing"),
        (("--minimal", "l=2,recoding=other"), "must be one of"),
        (("--minimal", "l=2,l=3"), "does not take 'l=2,l=3'"),
        (("--minimal", "", "--protect", "HIV"), "does not take ''"),
        (("--protect", "HIV"), "--protect needs --minimal"),
        (("--minimal", "l=2", "--protect", "HVI"), "of which no release has any value"),
        (("--minimal", "l=1", "--protect", "HIV"), "l=1 asks nothing"),
    ],
)
def test_what_minimal_takes(run: Run, options: tuple[str, ...], message: str) -> None:
    ran = run(*MINIMAL, *options)
    assert (ran.code, message in ran.err) == (2, True)


@pytest.mark.usefixtures("generalised")
def test_minimal_needs_a_registry(run: Run) -> None:
    ran = run("audit", "table.csv", "--sensitive", "disease", "--limit", "1/2", "--minimal", "l=2")
    assert (ran.code, "--minimal needs a --registry" in ran.err) == (2, True)


def test_a_registry_without_all_quasi_identifiers_says_nothing_of_who_is_alike(run: Run, tmp_path: Path) -> None:
    rows = ["20-29,1*,HIV"] * 2 + ["20-29,1*,flu"] * 5
    (tmp_path / "table.csv").write_text("\n".join(["age,zip,disease", *rows]))
    ages = [21, 21, 25, 25, 25, 25, 25]
    for zips, status in ((range(10, 17), "within"), (None, "undecided"), ([""] * 7, "undecided")):
        columns = "name,age" if zips is None else "name,age,zip"
        cells = [f"P{at},{age}" + ("" if zips is None else f",{zips[at]}") for at, age in enumerate(ages)]
        (tmp_path / "people.csv").write_text("\n".join([columns, *cells]))
        ran = run(*MINIMAL, "--minimal", "l=2", "--protect", "HIV", "--json")
        assert ran.data["attacks"][0]["status"] == status


# What the ledger knows


@pytest.fixture
def misleading(tmp_path: Path) -> Path:
    """Alice's cancer became gout, so Ida, who came with cancer, is taken to have gout; Bob's flu is found out."""
    schema = ri.Schema("patient", {"age": ri.Numeric()}, {"diagnosis": ri.Categorical(new="accept")})
    names = [f"{name}-CANARY" for name in ("Alice", "Bob", "Carla", "Dan", "Ida")]
    months = [
        ([0, 1, 2, 3], [34, 36, 58, 61], ["cancer", "flu", "asthma", "angina"]),
        ([0, 2, 3, 4], [34, 58, 61, 33], ["gout", "asthma", "angina", "cancer"]),
    ]
    with ri.open(tmp_path / "changed", ri.Policy(schema, ri.Mondrian(k=2, l=2), series="unprotected")) as series:
        for who, ages, values in months:
            told = [f"{value}-CANARY" for value in values]
            series.publish(pl.DataFrame({"patient": [names[n] for n in who], "age": ages, "diagnosis": told}), seed=1)
    return tmp_path / "changed"


def test_what_is_wrong_is_said_first_and_never_called_exposed(run: Run, misleading: Path, tmp_path: Path) -> None:
    ran = run("audit", misleading, "--limit", "1/2", "--html", "report.html", "--long")
    assert ran.code == 1, "what can be concluded is judged, true or not"
    out = " ".join(ran.out.split())
    first = (
        "An outsider would be certain about 3 people. 1 of these conclusions is wrong: they never had the value. "
        "2 people are exposed."
    )
    assert first in out and out.index(first) < out.index("limit nobody")
    assert "take values to be static, and the ledger says that they are not" in out
    findings, _, mistaken = ran.out.partition("What an outsider would conclude, and is wrong:")
    assert "(right)" in findings and "(wrong" not in findings
    assert mistaken.count("(wrong: they did not have it)") == 1
    page = (tmp_path / "report.html").read_text()
    assert first in page and "Compared with the ledger" in page
    assert "CANARY" not in ran.out + ran.err + page, "numbers and letters, as everywhere in a report"
    data = run("audit", misleading, "--limit", "1/2", "--json").data
    assert data["truth"]["certain"] == {"claims": 3, "right": 2, "wrong": 1, "unknown": 0}
    assert data["truth"]["words"][0] == first
    assert (data["truth"]["exposed"], data["truth"]["misled"]) == (2, 1)
    assert data["risks"][1]["cumulative_exposed"] == 1, "Alice, whose groups have cancer in common"
    marks = {(one["person"], one["truth"]) for one in data["findings"]}
    assert sorted(mark for _, mark in marks) == ["right", "right", "wrong"]
    assert "CANARY" not in str(data)


def test_names_are_shown_only_if_asked_for(run: Run, misleading: Path) -> None:
    shown = ("--show-people", "--show-values", "--long")
    ran = run("audit", misleading, "--limit", "1/2", "--attacks", "Worlds", *shown)
    findings, _, mistaken = ran.out.partition("What an outsider would conclude, and is wrong:")
    listed = findings.partition("Findings:")[2]
    assert "Ida-CANARY with probability 1" not in listed and "Ida-CANARY with probability 1" in mistaken
    assert "Alice-CANARY with probability 1" in listed


def test_a_series_that_keeps_its_promise_misleads_nobody(run: Run, clinic: Path) -> None:
    ran = run("audit", clinic)
    assert ran.code == 0
    assert "An outsider would be certain of nobody's value, and ties nobody to one beyond the limits." in " ".join(
        ran.out.split()
    )
    assert "What an outsider would conclude" not in ran.out


def test_releases_made_elsewhere_have_no_ledger(run: Run, elsewhere: Path) -> None:
    ran = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Worlds")
    assert "ledger" not in ran.out and "exposed" not in ran.out
    data = run("audit", "releases", *OPTIONS, "--limit", "1/2", "--attacks", "Worlds", "--json").data
    assert data["truth"] is None and {one["truth"] for one in data["findings"]} == {None}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--assume", "values-stays"), "--assume does not know 'values-stays'"),
        (("--assume", "values-stay", "--assume", "no-values-stay"), "that it does not"),
        (("--assume", "unperturbed", "--perturbed", "pram=0.02"), "contradict each other"),
        (("--perturbed", " "), "--perturbed says how"),
    ],
)
def test_assumptions_that_cannot_be_understood(run: Run, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    (tmp_path / "one.csv").write_text("age,illness\n20,flu\n30,gout\n")
    done = run("audit", tmp_path / "one.csv", "--sensitive", "illness", "--limit", "1/2", *options)
    assert (done.code, said in " ".join(done.err.split())) == (2, True)


def test_suppressed_rows_are_asked_about(run: Run, tmp_path: Path) -> None:
    ages = ["20-29"] * 4 + ["30-39"] * 4
    first = pl.DataFrame({"age": [*ages, "*", "*"], "diagnosis": [*"abcdabcdab"]})
    second = pl.concat([first, pl.DataFrame({"age": ["20-29", "30-39"], "diagnosis": ["HIV", "gout"]})])
    (tmp_path / "starred").mkdir()
    first.write_csv(tmp_path / "starred" / "1.csv")
    second.write_csv(tmp_path / "starred" / "2.csv")
    options = ("audit", "starred", "--sensitive", "diagnosis", "--limit", "1/2", "--growing", "--json")

    def of(data: dict[str, Any]) -> dict[str, str]:
        return {one["attack"]: one["status"] for one in data["attacks"] if one["attack"] in ("Channels", "Differences")}

    silent = run(*options)
    assert of(silent.data) == {"Channels": "undecided", "Differences": "undecided"}
    assert any("looks like full-domain recoding with 4 suppressed rows" in note for note in silent.data["notes"])
    told = run(*options, "--suppressed", "class", "--show-values")
    assert of(told.data) == {"Channels": "beyond", "Differences": "beyond"}
    new = [one for one in told.data["findings"] if one["what"] == "newcomer"]
    assert [(one["probability"], one["kind"]) for one in new] == [(1.0, "exact")] * 2
    assert "HIV" in new[0]["witness"] and "gout" in new[1]["witness"]
    assert "HIV" not in run(*options, "--suppressed", "class").out
    wrong = run(*options, "--suppressed", "nowhere")
    assert wrong.code == 2 and "--suppressed takes" in wrong.err + wrong.out
    empty = pl.DataFrame({"age": ["*", "*"], "diagnosis": ["a", "b"]})
    empty.write_csv(tmp_path / "empty.csv")
    alone = run("audit", "empty.csv", "--sensitive", "diagnosis", "--limit", "1/2", "--suppressed", "class")
    assert alone.code == 2 and "publishes no class" in alone.err + alone.out


def test_the_time_runs_from_when_the_command_was_called(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(elsewhere.parent)
    asked = ["releases", *OPTIONS, "--limit", "1/2", "--seconds", "50", "--json"]
    monkeypatch.setattr("sys.argv", ["reissue", "audit", *asked])
    over = {}
    for before in (0, 60):
        with pytest.raises(SystemExit):
            main(time.monotonic() - before)
        attacks = json.loads(capsys.readouterr().out)["attacks"]
        over[before] = {one["attack"] for one in attacks if one["stopped"] == "clock"}
    assert not over[0]
    assert "Worlds" in over[60]
