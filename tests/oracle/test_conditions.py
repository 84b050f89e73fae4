"""Everything that is told of somebody names what it rests on; each case is small enough to be worked out by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from lives import Lives, calm, made_up_people, released

import reissue as ri
from reissue.auditing.report import AuditReport
from reissue.errors import ParameterError
from reissue.foreign import Foreign

ROWS = pl.DataFrame({"age": ["20-29", "30-39", "30-39"], "illness": ["HIV", "flu", "gout"]})
REGISTRY = pl.DataFrame({"name": ["Ann", "Zoe", "Ben", "Cleo"], "age": ["21", "22", "31", "32"]})


def read(*releases: pl.DataFrame, registry: pl.DataFrame | None = REGISTRY, **more: object) -> Foreign:
    people = {} if registry is None else {"registry": registry, "person": "name"}
    return ri.read_releases([*releases], sensitive=more.pop("sensitive", "illness"), **people, **more)  # type: ignore[arg-type]


def audited(foreign: Foreign, knowledge: ri.Knowledge | None = None) -> AuditReport:
    return ri.audit(foreign.published, knowledge, limit=1 / 2, seconds=30, steps=1_000_000)


def rests(report: AuditReport) -> dict[str, set[str]]:
    """By person what their finding of a value needs."""
    table = report.findings_table(show_people=True, show_values=True).filter(what="value")
    return {person: set((text or "").split(", ")) for person, text in table.select("person", "rests_on").iter_rows()}


# Whoever may be in no release


def test_who_may_be_in_no_release_is_not_certain() -> None:
    """Of Ann and Zoe one is in the release, with HIV; the other is in none and need not have it."""
    report = audited(read(ROWS))
    told = {str(report.published.name(one.people[0])): one for one in report.findings if one.people}
    assert told["Ann"].supposed and told["Zoe"].supposed
    assert "presence" in rests(report)["Ann"] and "presence" in rests(report)["Zoe"]
    assert "Ann" not in report.runs[0].findings.certain  # type: ignore[union-attr]
    assert "if they are in a release" in report.headline.sentence
    assert "if they are in a release" in report.judgements["Worlds"].words


def test_who_is_certainly_there_needs_no_such_condition() -> None:
    """Without Zoe, nobody but Ann can have the first row."""
    report = audited(read(ROWS, registry=REGISTRY.filter(pl.col("name") != "Zoe")))
    assert report.runs[0].findings.certain == {"Ann": "HIV"}  # type: ignore[union-attr]
    assert not any(one.supposed for one in report.findings)
    assert "presence" not in rests(report)["Ann"]
    assert "if they are in a release" not in report.headline.sentence


def test_of_several_columns_nobody_is_counted_as_certain_who_may_be_in_no_release() -> None:
    rows = ROWS.with_columns(drug=pl.Series(["x", "y", "y"]))
    report = audited(read(rows, sensitive=["illness", "drug"]))
    worlds = next(run for run in report.runs if run.attack == "Worlds")
    assert worlds.findings is not None
    columns = worlds.findings.tables(report.limits)["Each sensitive column by itself"]
    # Ben and Cleo both have y; of Ann and Zoe it is not known who has x.
    assert dict(columns.select("column", "certain").iter_rows()) == {"illness": 0, "drug": 2}
    about = [one for one in report.findings if one.column == "drug" and report.published.name(one.people[0]) == "Zoe"]
    assert about and all(one.supposed for one in about)
    assert "Suppose that" in about[0].witness.text(report.published)


# What a registry and suppressed rows are needed for


def test_single_releases_rest_on_the_registry_too() -> None:
    """Ben's values do not agree; what release 1 alone tells of Ann needs a registry that lacks nobody like her."""
    later = ROWS.with_columns(illness=pl.Series(["HIV", "ulcer", "asthma"]))
    report = audited(read(ROWS, later, registry=REGISTRY.filter(pl.col("name") != "Zoe"), present="all"))
    status = {one.name: one.status for one in report.assumptions}
    assert status["values-stay"] == "refuted"
    assert {"registry-complete", "presence", "unperturbed"} <= rests(report)["Ann"]
    assert "values-stay" not in rests(report)["Ann"]
    said = audited(
        read(ROWS, later, registry=REGISTRY.filter(pl.col("name") != "Zoe"), present="all"),
        ri.Knowledge(dropped=["values-stay"]),
    )
    assert {"registry-complete", "presence", "unperturbed"} <= rests(said)["Ann"]


def test_what_follows_from_whole_classes_that_were_suppressed_says_so() -> None:
    """Dan fits no class, so the suppressed row is his, unless it is Cleo's, who was suppressed alone."""
    rows = pl.DataFrame({"age": ["[20-29]", "[20-29]", "*"], "illness": ["flu", "gout", "HIV"]})
    people = pl.DataFrame({"name": ["Ann", "Ben", "Cleo", "Dan"], "age": ["25", "26", "27", "70"]})
    report = audited(read(rows, registry=people, suppressed="class"))
    assert report.runs[0].findings.certain == {"Dan": "HIV"}  # type: ignore[union-attr]
    assert "suppressed-class" in rests(report)["Dan"]
    assert {one.name: one.status for one in report.assumptions}["suppressed-class"] == "said"
    assert "suppressed rows belong to no published class (as was said)" in report.verdict
    without = audited(read(rows, registry=people))
    assert not without.runs[0].findings.certain  # type: ignore[union-attr]
    assert "suppressed-class" not in {one.name for one in without.assumptions}


def test_a_newcomer_may_have_been_suppressed_before() -> None:
    before = pl.DataFrame({"age": ["[20-29]", "[20-29]", "*"], "illness": ["flu", "gout", "HIV"]})
    after = pl.DataFrame({"age": ["[20-29]", "[20-29]", "[20-29]"], "illness": ["flu", "gout", "HIV"]})
    view = read(before, after, registry=None, suppressed="class")
    report = audited(view, ri.Knowledge(growing=True))
    newcomers = [one for one in report.findings if one.what == "newcomer" and one.kind == "exact"]
    assert all("suppressed-class" in one.rests_on for one in newcomers)
    assert "suppressed-class" in {one.name for one in report.assumptions}


def test_sets_of_values_rest_on_nobody_leaving_where_that_is_said() -> None:
    before = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "illness": ["flu", "gout", "flu"]})
    after = pl.concat([before, pl.DataFrame({"age": ["20-29"], "illness": ["HIV"]})])
    view = read(before, after, registry=None)
    report = audited(view, ri.Knowledge(growing=True))
    sets = [one for one in report.findings if one.attack == "Channels"]
    assert sets and all("nobody-leaves" in one.rests_on for one in sets)
    silent = audited(view)
    assert not any("nobody-leaves" in one.rests_on for one in silent.findings if one.attack == "Channels")


@pytest.mark.parametrize("column", [None, "illness"])
def test_the_rarest_of_many_findings_say_what_they_rest_on(column: str | None) -> None:
    """More people than an attack keeps findings for; those with the rarest value are asked for afterwards."""
    many = 150
    cells = {"id": [f"p{at}" for at in range(many)], "age": [f"{at}" for at in range(many)]}
    rows = pl.DataFrame({**cells, "illness": ["flu"] * (many - 1) + ["HIV"], "drug": ["x"] * many})
    sensitive = ["illness", "drug"] if column else "illness"
    view = ri.read_releases([rows], sensitive=sensitive, quasi=["age"], person="id").published
    report = ri.audit(view, limit=1 / 2, seconds=30, steps=1_000_000)
    assert any(
        report.published.name(one.people[0]) == f"p{many - 1}" for one in report.findings if one.attack == "Worlds"
    )
    assert all(one.rests_on for one in report.findings if one.attack == "Worlds")


# Permanent values that were lost


def lost(*releases: list[tuple[str, str, str]]) -> AuditReport:
    frames = [pl.DataFrame(one, schema=["name", "age", "illness"], orient="row") for one in releases]
    view = ri.read_releases(frames, sensitive="illness", person="name").published
    return ri.audit(view, ri.Knowledge(permanent=["HIV"]), limit=1 / 2, seconds=30, steps=1_000_000)


BEFORE = [("Ann", "20-29", "HIV"), ("Ben", "20-29", "flu"), ("Cleo", "30-39", "HIV"), ("Dan", "30-39", "gout")]


def test_permanent_values_that_were_lost_are_a_contradiction_in_the_first_line() -> None:
    """HIV is gone from the twenties, though both people are still there."""
    after = [("Ann", "20-29", "ulcer"), ("Ben", "20-29", "flu"), ("Cleo", "30-34", "HIV"), ("Dan", "35-39", "gout")]
    report = lost(BEFORE, after)
    (one,) = (one for one in report.assumptions if one.name == "values-permanent")
    assert (one.status, one.contradictions) == ("refuted", 1)
    assert "permanent were lost (1 contradiction)" in report.headline.sentence
    # Without values that stay, only the last release tells of Cleo and Dan, each alone in a group.
    assert rests(report).keys() == {"Cleo", "Dan"} and all(some == {"unperturbed"} for some in rests(report).values())
    assert all(one.release == 2 for one in report.findings)
    assert "nothing beyond the limits was found" not in report.verdict


def test_permanent_values_that_were_kept_are_as_before() -> None:
    after = [("Ann", "20-24", "HIV"), ("Ben", "25-29", "ulcer"), ("Cleo", "30-39", "HIV"), ("Dan", "30-39", "ulcer")]
    report = lost(BEFORE, after)
    (one,) = (one for one in report.assumptions if one.name == "values-permanent")
    assert one.status == "said"
    assert not report.contradicted
    assert "Ann" in rests(report)


def test_people_without_figures_are_counted_too() -> None:
    """Only Ann and Ben can have HIV, and four people are in the releases."""
    rows = [("Ann", "20-29", "HIV"), ("Ben", "20-29", "HIV"), ("Cleo", "30-39", "flu"), ("Dan", "30-39", "gout")]
    assert "2 of 4 people's" in lost(rows, rows).headline.sentence


# Steps from release to release


def test_who_came_and_went_rests_on_quasi_identifiers() -> None:
    """Nobody came and nobody went: one person's age was corrected."""
    before = pl.DataFrame({"age": ["20-29", "30-39"], "illness": ["flu", "gout"]})
    after = pl.DataFrame({"age": ["20-29", "40-49"], "illness": ["flu", "gout"]})
    words = audited(read(before, after, registry=None)).judgements["Differences"].words
    assert "Unless quasi-identifiers changed or were perturbed, at least 1 row came" in words
    assert "Then 1 newcomer is seen to be in it" in words
    assert "isolated are 1 newcomer, 1 leaver and 0 single changes." in words


def test_who_came_rests_on_what_was_said_of_suppressed_rows() -> None:
    """Dan was suppressed in the first release, and fits the class that it publishes: nobody came."""
    cells = ["20-29", "20-29", "20-29", "*"]
    before = pl.DataFrame({"age": cells, "illness": ["flu", "gout", "ulcer", "flu"]})
    after = pl.DataFrame({"age": ["20-29"] * 4, "illness": ["flu", "gout", "ulcer", "flu"]})
    words = (
        audited(read(before, after, registry=None, quasi=["age"], suppressed="class")).judgements["Differences"].words
    )
    assert "if suppressed rows belong to no published class, at least 1 row came" in words


def test_where_a_registry_has_people_somewhere_values_may_not_have_changed() -> None:
    """Ann's age was corrected; as the registry has it, she is among those of the twenties, and was ill otherwise."""
    before = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "illness": ["flu", "flu", "gout"]})
    after = pl.DataFrame({"age": ["20-29", "20-29", "30-39"], "illness": ["flu", "gout", "flu"]})
    people = pl.DataFrame({"name": ["Ann", "Ben", "Cleo"], "age": ["25", "26", "35"]})
    report = audited(read(before, after, registry=people, present="all"))
    assert report.headline.sentence.startswith(
        "Values did not stay the same, or people are not where the registry has them ("
    )
    (values,) = (one for one in report.assumptions if one.name == "values-stay")
    assert values.evidence.endswith("if everybody is where the registry, and what was said of who is there, has them.")
    told = audited(read(before, after, registry=people, present="all"), ri.Knowledge(change=ri.ValueChange(people=0)))
    assert "changed, if people are where the registry has them, and it was said" in told.headline.sentence
    # Where the files say who it is, that is not in question.
    named = [table.with_columns(name=pl.Series(["Ann", "Ben", "Cleo"])) for table in (before, after)]
    by_ids = audited(ri.read_releases(named, sensitive="illness", person="name"))
    assert by_ids.headline.sentence.startswith("Values did not stay the same (")


def test_where_rows_have_no_place_what_was_said_of_suppressed_rows_may_be_wrong() -> None:
    """Nobody left: Dan is suppressed in the second release, although the class that he fits is published."""
    before = pl.DataFrame({"age": ["20-29"] * 4, "illness": ["flu", "gout", "ulcer", "flu"]})
    after = before.with_columns(age=pl.Series(["20-29", "20-29", "20-29", "*"]))
    report = audited(read(before, after, registry=None, quasi=["age"], suppressed="class"), ri.Knowledge(growing=True))
    (leaving,) = (one for one in report.assumptions if one.name == "nobody-leaves")
    assert leaving.status == "refuted"
    assert leaving.evidence.endswith("or suppressed rows belong to published classes.")
    assert report.headline.sentence.startswith(
        "People left or were corrected, though nobody was said to leave, or suppressed rows belong to published "
        "classes (1 contradiction)"
    )


# Somebody with several rows


def test_several_rows_of_one_person_are_among_what_is_assumed() -> None:
    """Ann's two rows and Ben's look like those of all three in the registry; Cleo, who is in no release, has no flu."""
    rows = pl.DataFrame({"age": ["20-29"] * 3, "illness": ["flu"] * 3})
    people = pl.DataFrame({"name": ["Ann", "Ben", "Cleo"], "age": ["25", "26", "27"]})
    report = audited(read(rows, registry=people))
    told = report.findings_table(show_people=True, show_values=True).filter(person="Cleo", value="flu")
    assert told["rests_on"].str.contains("registry-complete").all() and told.height
    assert "the registry has everybody with one row each" in report.verdict
    (assumed,) = (one.words for one in report.assumptions if one.name == "registry-complete")
    assert assumed == "Everybody in the releases is in the registry, and has one row in each."
    # With one row more than there are people nobody says that the registry lacks somebody: it does not.
    report = audited(read(pl.concat([rows, rows[:1]]), registry=people))
    (assumption,) = (one for one in report.assumptions if one.name == "registry-complete")
    assert assumption.status == "refuted" and "people have several rows" in assumption.evidence
    assert report.headline.sentence.startswith("The registry does not fit the releases (1 contradiction)")


def test_what_is_known_of_people_is_not_used_where_the_registry_does_not_fit() -> None:
    rows = pl.DataFrame({"age": ["20-29"] * 3, "illness": ["flu", "gout", "flu"]})
    people = pl.DataFrame({"name": ["Ann", "Ben"], "age": ["25", "26"]})
    foreign = read(rows, registry=people)
    assert foreign.published.people is None
    report = audited(foreign, ri.Knowledge(compromised={"Ann": "flu"}))
    note = "What is known of 1 compromised person is not used: the registry does not fit the releases"
    assert any(one.startswith(note) for one in report.notes)
    # Where it fits, whoever is in none of the releases is a mistake, as it was.
    with pytest.raises(ParameterError, match="in none of the releases"):
        audited(read(rows[:2], registry=people), ri.Knowledge(compromised={"Cleo": "flu"}))


def test_a_second_row_of_somebody_is_a_newcomer_only_if_everybody_has_one() -> None:
    before = pl.DataFrame({"age": ["20-29"] * 2, "illness": ["flu", "gout"]})
    after = pl.DataFrame({"age": ["20-29"] * 3, "illness": ["flu", "flu", "gout"]})
    report = audited(read(before, after, registry=None), ri.Knowledge(growing=True))
    told = [one for one in report.findings if one.what == "newcomer"]
    assert told and all("nobody-leaves" in one.rests_on for one in told)
    (assumed,) = (one for one in report.assumptions if one.name == "nobody-leaves")
    assert assumed.words.endswith("and everybody has one row in each.")


# Everything at once


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_certain_who_is_in_no_release(seed: int) -> None:
    """Everybody in the registry has a double who is in no release."""
    rng = np.random.default_rng(seed)
    people = made_up_people(rng, 12)
    series = released(rng, people, calm(Lives(people=12, releases=2)), "full-domain", 1)
    doubles = series.registry.with_columns(pl.format("double of {}", "person").alias("person"))
    registry = pl.concat([series.registry, doubles])
    report = ri.audit(series.view("unknown", people=registry).published, limit=1 / 2, seconds=30, steps=300_000)
    table = report.findings_table(show_people=True, show_values=True).filter(what="value")
    absent = table.filter(~pl.col("person").is_in([*series.truth]))
    assert absent.height, "somebody must look as if they were there"
    assert absent["rests_on"].str.contains("presence").all()
    told = " ".join(table["witness"].drop_nulls())
    assert ", all give " in told and ", 1 give " not in told


def test_of_two_that_cannot_both_hold_one_is_said_to_fall() -> None:
    """Somebody left and another came, and nobody's value changed: that is not told as a change."""
    before = pl.DataFrame({"age": ["20-29"] * 4, "illness": ["flu", "flu", "gout", "gout"]})
    after = pl.DataFrame({"age": ["20-29"] * 4, "illness": ["flu", "gout", "gout", "gout"]})
    told = audited(read(before, after, registry=None), ri.Knowledge(growing=True)).headline.sentence
    assert (
        "values did not stay the same, or people left or were corrected, though nobody was said to leave (1"
        in told.lower()
    )


# What somebody said of values and of groups


def test_what_follows_from_a_rule_says_so() -> None:
    """Only where the group is no larger than the rule asks does it follow that Ann and Ben have HIV."""
    rows = pl.DataFrame({"age": ["30-39"] * 7, "illness": ["HIV", "HIV", "flu", "gout", "flu", "asthma", "gout"]})
    people = pl.DataFrame({"name": ["Ann", "Ben", *"cdefg"], "age": ["31", "31", *["38"] * 5]})
    rule = ri.Minimal([ri.guarantees.ShareDiverse(2, protect=[["HIV"]])], "global")
    report = audited(read(rows, registry=people, present="all"), ri.Knowledge(minimal={1: rule}))
    assert all("groups-minimal" in one.rests_on for one in report.findings)
    assert "groups are as small as the rule that was said allows (as was said)" in report.verdict


def test_what_follows_from_a_model_of_change_says_so() -> None:
    """One person changes: Ann had flu and has gout, and everybody else has what they had."""
    before = [("Ann", "20-29", "flu"), ("Ben", "30-39", "gout"), ("Cleo", "30-39", "HIV")]
    after = [("Ann", "20-29", "gout"), ("Ben", "30-39", "gout"), ("Cleo", "40-49", "HIV")]
    frames = [pl.DataFrame(one, schema=["name", "age", "illness"], orient="row") for one in (before, after)]
    view = ri.read_releases(frames, sensitive="illness", person="name").published

    def told(people: int | None) -> AuditReport:
        knowledge = ri.Knowledge(change=ri.ValueChange(people=people))
        return ri.audit(view, knowledge, limit=1 / 2, seconds=30, steps=1_000_000)

    report = told(1)
    assert all("values-follow" in one.rests_on for one in report.findings) and report.findings
    assert "values change as was said (as was said)" in report.verdict
    refuted = told(0)
    status = {one.name: one.status for one in refuted.assumptions}
    assert status["values-follow"] == "refuted"
    free = told(None)
    assert "values-follow" not in {one.name for one in free.assumptions}


def test_the_headline_says_that_it_rests_on_the_registry() -> None:
    told = audited(read(ROWS, registry=REGISTRY.filter(pl.col("name") != "Zoe"), present="all")).headline.sentence
    assert "1 of 3 people's value can be read off from release 1 alone, if the registry is right and nothing" in told
    without = audited(read(ROWS.with_columns(name=pl.Series(["Ann", "Ben", "Cleo"])), registry=None, person="name"))
    assert "registry" not in without.headline.sentence
