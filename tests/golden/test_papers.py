"""The papers' worked examples, as far as single releases and their comparison go."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
from worked_examples import worked_examples

import reissue as ri
from reissue.publishing.series import draft
from reissue.reasoning.worlds.candidates import candidates


def byun_table(*parts: list[list[Any]]) -> pl.DataFrame:
    rows = [row for part in parts for row in part]
    return pl.DataFrame(rows, schema=["who", "age", "gender", "diagnosis"], orient="row")


BYUN = ri.Policy(
    ri.Schema(
        person="who",
        quasi={"age": ri.Numeric(), "gender": ri.Hierarchy.from_nested({"Person": ["Male", "Female"]})},
        sensitive={"diagnosis": ri.Categorical(new="accept")},
    ),
    ri.Mondrian(l=2),
    series="unprotected",
)


def test_byun_figure_2_and_the_inference_of_example_2(tmp_path: Path) -> None:
    """Mondrian gives the paper's 2-diverse first table; its naive second release tells Bob's diagnosis."""
    microdata = worked_examples("byun-2006")["microdata"]
    with ri.open(tmp_path / "s", BYUN) as series:
        first = series.publish(byun_table(microdata["T0"])).tables["table"]
        series.publish(byun_table(microdata["T0"], microdata["T1_new"]))
        groups = defaultdict(set)
        for person, group in series.private.members(1).select("person", "group").iter_rows():
            groups[group].add(person)
        assert sorted(map(sorted, groups.values())) == [["Bob", "r4"], ["Tom", "r2"]]
        assert first.rows() == [
            (1, 21, 23, "Male", "Asthma"),
            (1, 21, 23, "Male", "Flu"),
            (2, 52, 57, "Person", "Alzheimer"),
            (2, 52, 57, "Person", "Diabetes"),
        ]
        view = series.published()
        found = candidates(view)
        exposed = {
            series.private.name_of(int(person)): view.values[only]
            for person, count, only in zip(found.people, found.counts, found.only, strict=True)
            if count == 1
        }
    truth = {row[0]: row[3] for row in [*microdata["T0"], *microdata["T1_new"]]}
    assert exposed["Bob"] == "Alzheimer"
    assert all(truth[person] == value for person, value in exposed.items())


def test_wong_table_1_simplified_l_diversity() -> None:
    """The share of the sensitive set decides, not the number of values (Wong et al., Table 1)."""
    for case in worked_examples("wong-2007")["cases"]:
        if "disease" not in case or case.get("all_values_sensitive"):
            continue
        groups: dict[str, list[str]] = defaultdict(list)
        for qid, disease in zip(case["qid"], case["disease"], strict=True):
            groups[qid].append(disease)
        release = [([f"{qid}{n}" for n in range(len(held))], held) for qid, held in groups.items()]
        verdict = ri.guarantees.ShareDiverse(case["l"], [["HIV"]]).check(ri.Published.from_groups([release]))
        if "l_diverse" in case["expect"]:
            assert verdict.holds == case["expect"]["l_diverse"], case["source"]


def test_he_table_1_is_two_anonymous_but_the_series_tells_alice() -> None:
    attack = next(a for a in worked_examples("he-2011")["attacks"] if a["kind"] == "value association")
    view = ri.Published.from_groups([[(who, values) for who, values in release] for release in attack["series"]])
    assert ri.guarantees.KAnonymous(2).check(view).holds
    assert ri.guarantees.LDiverse(2).check(view).holds
    found = candidates(view)
    assert view.people is not None
    exposed = {view.people[p]: view.values[o] for p, o in zip(found.people, found.only, strict=True) if o >= 0}
    assert exposed["Alice"] == "cancer"
    assert exposed.items() <= attack["expect"]["certain"].items()


def test_anatomy_keeps_quasi_identifiers_and_counts_values() -> None:
    """Xiao & Tao's form on the microdata of Riboni & Bettini's first table."""
    rows = worked_examples("riboni-2009")["microdata"]["T1"]
    table = pl.DataFrame(rows, schema=["who", "age", "gender", "zip", "illness"], orient="row")
    schema = ri.Schema(
        person="who",
        quasi={"age": ri.Numeric(), "gender": ri.Categorical(), "zip": ri.Numeric()},
        sensitive="illness",
    )
    tables = draft(table, ri.Policy(schema, ri.Mondrian(l=3), form="anatomised")).tables
    assert tables["sensitive"].columns == ["group", "illness", "count"]
    assert Counter(tables["quasi"].drop("group").rows()) == Counter(table.select("age", "gender", "zip").rows())
    for _, held in tables["sensitive"].group_by("group"):
        assert sorted(held["illness"].to_list()) == ["AIDS", "bronchitis", "cancer"]
        assert held["count"].to_list() == [1, 1, 1]
