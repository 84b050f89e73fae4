"""Differences as a user meets it: small releases by hand, what is said of them, and real line lists."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from real_data import FOLDER, needs

import reissue as ri
from reissue.attacks import Differences, Limits
from reissue.attacks.sentences import Place
from reissue.errors import ParameterError
from reissue.foreign.reading import read_releases
from reissue.model.published import Published

HALF = Limits(probability=Fraction(1, 2))
FOUR = pl.DataFrame({"age": ["30-39", "30-39", "30-39", "40-49"], "diagnosis": ["HIV", "HIV", "HIV", "flu"]})


def view(*releases: pl.DataFrame, sensitive: str = "value", labels: Sequence[str] = ()) -> Published:
    return read_releases([*releases], sensitive=sensitive, labels=labels).published


def rows(text: str) -> pl.DataFrame:
    """`20a 20b 30a`: ages and values."""
    told = [(one[:-1], one[-1]) for one in text.split()]
    return pl.DataFrame(told, schema=["age", "value"], orient="row")


def test_four_rows_are_no_nothing() -> None:
    report = ri.audit(view(FOUR, sensitive="diagnosis"), limit=1 / 2)
    assert not report.passed and "nothing" not in report.verdict and "Differences" in report.verdict
    assert report.judgements["Differences"].status == "beyond"
    assert {one.name: one.verdict for one in report.criteria} == {
        "singling out": "not met",
        "linkability": "undecided",
        "inference": "not met",
    }
    lone, three = report.findings
    assert (lone.probability, lone.kind, three.probability, three.kind) == (1, "exact", 1, "exact")
    assert three.rests_on == ("unperturbed",)
    assert three.witness.text(report.published) == (
        "release 1 group 1 has 3 rows, all with HIV. Whoever has these quasi-identifiers and is in the release has HIV."
    )
    assert "HIV" not in report.to_json() and "flu" not in report.to_json()
    assert report.judgements["Channels"].status == "not asked"


@pytest.mark.parametrize("word", ["Unknown", "", "Sin información"])
def test_to_read_that_nothing_is_known_is_not_much(word: str) -> None:
    """It is rare here, and comes last all the same; and it is said of how many rows it is all that they tell."""
    ages = [str(age) for age in range(1, 9)]
    table = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 4, "outcome": ["well"] * 6 + ["dead", word]})
    report = ri.audit(read_releases([table], sensitive="outcome", quasi=["age", "sex"]).published, limit=1 / 2)
    found = [report.published.values[one.value] for one in report.findings if one.value is not None]
    assert found[0] == "dead" and found[-1] == (word or "(missing)")
    assert "Of the 8 rows 1 shows nothing but an empty cell or a word such as Unknown." in report.headline.beside


def test_records_of_which_nothing_is_known() -> None:
    values = {"icu": ["yes", "Missing", "Missing"], "died": ["yes", "no", "NA"]}
    table = pl.DataFrame({"age": ["1", "2", "3"], "sex": ["f", "m", "f"]} | values)
    report = ri.audit(read_releases([table], sensitive=["icu", "died"], quasi=["age"]).published, limit=1 / 2)
    assert report.headline.beside == "Of the 3 rows 1 shows nothing but an empty cell or a word such as Unknown."


def test_a_group_that_others_overlap_tells_less() -> None:
    found = Differences().run(view(rows("20-29a 20-29a 20-29a 25-34b 40-49c 40-49d")))
    first, second, third = found.shares[0].probability.tolist()
    assert (first, second, third) == (3 / 4, 1 / 4, 1 / 2)
    judged = found.judge(HALF)
    assert (judged.status, judged.count, judged.findings[0].kind) == ("beyond", 1, "bounded")
    assert "3 of 6 rows" in judged.words and "Of 1 more it is not known" in judged.words


def test_everything_on_the_limit_is_within_it() -> None:
    judged = Differences().run(view(rows("20a 20b 30a 30b"))).judge(HALF)
    assert judged.status == "within" and judged.findings == ()
    assert Differences().run(view(rows("20a 20b"))).judge(Limits()).status == "not asked"


def test_the_ledger_by_hand() -> None:
    """20: a change; 30: one came; 40: a lone row stays and changes; 50: gone; 60: came where nobody was."""
    found = Differences().run(view(rows("20a 20b 30a 40a 50c"), rows("20a 20c 30a 30b 40b 60d")))
    assert found.ledger.row(0, named=True) == {
        "since": 1,
        "release": 2,
        "rows_before": 5,
        "rows": 6,
        "came": 2,
        "gone": 1,
        "turned": 2,
        "newcomers": 2,
        "newcomers_alone": 1,
        "leavers": 1,
        "leavers_alone": 1,
        "single_changes": 2,
        "links": 1,
        "changes_on_links": 1,
        "corrected": 0,
    }
    assert found.linked_rows == (1, 5)
    judged = found.judge(HALF)
    assert {one.what for one in judged.findings} == {"class", "change", "leaver", "newcomer"}
    assert all(one.probability is None for one in judged.findings if one.what != "class")
    assert "What they have is not concluded" in judged.words
    told = [one.witness.text(found.published) for one in judged.findings if one.what == "newcomer"]
    assert told == [
        "There are 2 rows in release 2 group 2, and there was 1 row in release 1 group 2: one more with b. Who came "
        "there has b. That is so if nobody left, and nobody's value or quasi-identifiers changed."
    ]


def test_a_corrected_cell_is_suspected() -> None:
    first = pl.DataFrame({"age": ["20", "31", "44"], "sex": ["F", "M", "F"], "value": ["a", "b", "c"]})
    second = pl.DataFrame({"age": ["20", "32", "44"], "sex": ["F", "M", "F"], "value": ["a", "b", "c"]})
    assert Differences().run(view(first, second)).corrected == [1]


def test_cells_that_are_written_differently_are_the_same() -> None:
    first = pl.DataFrame({"age": ["20-29", "30-39"], "value": ["a", "b"]})
    second = pl.DataFrame({"age": ["[20, 29]", "[30, 39]"], "value": ["a", "b"]})
    found = Differences().run(view(first, second))
    assert found.ledger["links"].to_list() == [2]
    assert [one.tolist() for one in found.cells.cell] == [[0, 1], [0, 1]]


def test_coarser_cells_are_compared_as_a_whole() -> None:
    """Ages of five years, then of ten: nothing is lost, one row is new."""
    found = Differences().run(view(rows("20-24a 25-29b"), rows("20-29a 20-29b 20-29c")))
    row = found.ledger.row(0, named=True)
    assert (row["came"], row["gone"], row["turned"], row["newcomers"]) == (1, 0, 0, 1)
    text = next(one.witness.text(found.published) for one in found.judge(HALF).findings if one.what == "newcomer")
    assert "and the groups that overlap with it" in text


def test_several_columns_are_judged_one_by_one() -> None:
    """Three different records, and all have one value of the first column."""
    from dataclasses import replace

    from reissue.model.records import value_columns

    seen = view(rows("20x 20y 20z"))
    records = ("HIV; a", "HIV; b", "HIV; c")
    several = replace(seen, values=records, columns=value_columns(["illness", "ward"], records))
    report = ri.audit(several, limit=1 / 2, attacks=["Differences"])
    assert [(one.column, one.probability) for one in report.findings] == [("illness", 1.0)]
    assert "illness" in report.findings[0].witness.text(several)


@pytest.mark.parametrize("growing", [False, True])
def test_all_groups_at_once_are_told_as_one_by_one(growing: bool) -> None:
    rng = random.Random(9)
    lines = [(rng.randrange(150), rng.choice("fm*"), rng.choice("abc"), rng.choice("uv")) for _ in range(500)]
    tables = [pl.DataFrame(lines[:end], schema=["age", "sex", "value", "drug"], orient="row") for end in (400, 500)]
    seen = read_releases(tables, sensitive=["value", "drug"]).published
    findings = Differences().run(seen, ri.Knowledge(growing=growing or None))
    limits = Limits(Fraction(1, 2), columns=(("value", Fraction(1, 2)), ("drug", None)))
    judged = findings.judge(limits, most=10_000).findings
    groups, beside = findings.of_groups(limits), findings.beside_groups(limits)
    assert groups is not None
    assert groups.height > 200 and groups["ends"].null_count() and groups["column"].n_unique() == 3
    assert [one for one in judged if one.what != "class"] == sorted(beside, key=lambda one: -(one.probability or 0.0))
    classes = [one for one in judged if one.what == "class"]
    assert len(classes) == groups.height
    told = groups.sort("probability", descending=True, maintain_order=True)
    for one, row in zip(classes, told.iter_rows(named=True), strict=True):
        value = one.among[0] if one.column else one.value
        assert (one.release, one.column, value) == (row["release"], row["column"], row["value"])
        assert (one.probability, one.kind, ", ".join(one.rests_on)) == (
            row["probability"],
            row["kind"],
            row["rests_on"],
        )
        place = next(part for part in one.witness.sentences[0] if isinstance(part, Place))
        assert place == Place(row["release"], row["group"])
        called = f"value A of {one.column}" if one.column else "value A"
        again = "" if row["ends"] is None else called + row["ends"]
        assert one.witness.text(seen, show_values=False) == row["begins"] + called + row["goes_on"] + again


def test_groups_with_several_regions_and_without_any() -> None:
    groups = pl.DataFrame({"group": ["1", "1", "2", "2"], "age": ["20", "25", "30", "30"], "value": [*"aabb"]})
    found = Differences().run(view(groups, groups))
    assert found.ledger["came"].to_list() == [0] and found.shares[0].single.all()
    bare = pl.DataFrame({"group": ["1", "1", "2"], "value": [*"aab"]})
    nothing = Differences().run(view(bare, bare))
    assert not nothing.shares[0].alone.any()


def test_people_with_names_are_for_other_attacks() -> None:
    named = Published.from_groups([[(["Ann", "Bob"], ["a", "b"])]])
    with pytest.raises(ParameterError, match="nobody is known by name"):
        Differences().run(named)
    assert "Differences" not in ri.audit(named, limit=1 / 2).judgements
    with pytest.raises(ParameterError, match="seconds"):
        Differences(seconds=-1)


def test_no_time_is_said() -> None:
    found = Differences(seconds=1e-9).run(view(rows("20a 20b"), rows("20a 20b 20c")))
    assert found.judge(HALF).status == "undecided"
    assert any("time ran out" in one for one in found.undecided)


# Real line lists

ONTARIO = ("accurate_episode_date", "age_group", "client_gender", "reporting_phu_city")


def counted(releases: list[pl.DataFrame], quasi: list[str], value: str) -> list[dict[str, int]]:
    """The ledger in another way: by plain counts of equal cells."""
    found = []
    for one, two in pairwise(releases):
        cells = [of.group_by(quasi).agg(pl.len().cast(pl.Int64).alias("n")) for of in (one, two)]
        both = cells[0].join(cells[1], on=quasi, how="full", suffix="_after", coalesce=True).fill_null(0)
        pairs = [of.group_by(*quasi, value).agg(pl.len().cast(pl.Int64).alias("n")) for of in (one, two)]
        every = pairs[0].join(pairs[1], on=[*quasi, value], how="full", suffix="_after", coalesce=True).fill_null(0)
        change = pl.col("n_after") - pl.col("n")
        moved = every.group_by(quasi).agg(
            up=change.filter(change > 0).sum(), down=-change.filter(change < 0).sum(), net=change.sum()
        )
        lone = both.filter((pl.col("n") == 1) & (pl.col("n_after") == 1))
        single = moved.filter((pl.col("net") == 0) & (pl.col("up") == 1))
        found.append(
            {
                "came": int(both.select(change.clip(lower_bound=0).sum()).item()),
                "gone": int(both.select((-change).clip(lower_bound=0).sum()).item()),
                "turned": int(moved.select(pl.min_horizontal("up", "down").sum()).item()),
                "newcomers": moved.filter((pl.col("net") == 1) & (pl.col("down") == 0)).height,
                "leavers": moved.filter((pl.col("net") == -1) & (pl.col("up") == 0)).height,
                "single_changes": single.height,
                "links": lone.height,
                "changes_on_links": single.join(lone, on=quasi, how="semi").height,
            }
        )
    return found


def ontario() -> list[pl.DataFrame]:
    """The daily files with headers that agree, and labels instead of ages that look like numbers."""
    releases = []
    for file in sorted((FOLDER / "covid_linelists" / "ontario_raw").glob("*.csv.gz"))[-12:]:
        frame = pl.read_csv(gzip.decompress(Path(file).read_bytes()), infer_schema=False).rename(str.lower)
        outcome = next(name for name in frame.columns if name in ("outcome1", "resolved"))
        ages = pl.col("age_group").str.replace("<", "below ", literal=True)
        table = frame.with_columns(ages, pl.col("accurate_episode_date").str.head(10), outcome=pl.col(outcome))
        releases.append(table.select(*ONTARIO, "outcome").drop_nulls())
    return releases


def in_small() -> list[pl.DataFrame]:
    import numpy as np

    rng = np.random.default_rng(3)
    releases = []
    for count in (300, 330, 320):
        cells = {"age": rng.integers(20, 60, count).astype(str), "sex": rng.choice(["F", "M"], count)}
        releases.append(pl.DataFrame({**cells, "outcome": rng.choice(["a", "b", "c"], count, p=[0.7, 0.2, 0.1])}))
    return releases


def test_the_ledger_in_small() -> None:
    releases = in_small()
    found = Differences().run(view(*releases, sensitive="outcome"))
    wanted = counted(releases, ["age", "sex"], "outcome")
    assert found.ledger.select(wanted[0].keys()).to_dicts() == wanted


@needs("covid_linelists/ontario_raw", stand_in="test_the_ledger_in_small")
def test_the_ledger_of_twelve_daily_files() -> None:
    """The figures are those of four columns; with others there are more links and more lone rows, or fewer."""
    releases = ontario()
    # Labels: 'below 20' would be numbers otherwise, and 'Unknown' any.
    found = Differences().run(view(*releases, sensitive="outcome", labels=ONTARIO))
    wanted = counted(releases, [*ONTARIO], "outcome")
    assert found.ledger.select(wanted[0].keys()).to_dicts() == wanted
    last = releases[-1].with_columns(pl.len().over(ONTARIO).alias("n"), pl.len().over(*ONTARIO, "outcome").alias("v"))
    top = last.with_columns(pl.col("v").max().over(ONTARIO).alias("top"))
    told = found.classes(Fraction(1, 2)).row(-1, named=True)
    assert told["above"] == top.filter(2 * pl.col("top") > pl.col("n")).height > 15_000
    assert told["one_value"] == last.filter(pl.col("n") == pl.col("v")).height
    assert told["alone"] == last.filter(pl.col("n") == 1).height > 2_000
    judged = found.judge(HALF)
    assert judged.status == "beyond" and found.linked_rows[0] > 50_000
    # The rarest outcome comes first.
    assert {found.published.values[one.value] for one in judged.findings[:50] if one.value is not None} == {"Fatal"}


@needs("covid_linelists/toronto_releases.parquet", stand_in="test_the_ledger_in_small")
@pytest.mark.parametrize("sensitive", ["Outcome", "Source of Infection", "Ever Hospitalized"])
def test_nothing_is_false_by_the_ids_of_toronto(sensitive: str) -> None:
    table = pl.read_parquet(FOLDER / "covid_linelists" / "toronto_releases.parquet")
    table = table.with_columns(pl.all().cast(pl.String).fill_null("none"))
    quasi = ["Age Group", "Client Gender", "FSA"]
    told = [part.with_columns(pl.col("Age Group").str.replace_all(" ", "_")) for part in table.partition_by("release")]
    seen = view(*(part.select(*quasi, sensitive) for part in told), sensitive=sensitive)
    found = Differences().run(seen, ri.Knowledge(growing=True))
    judged = found.judge(HALF, most=10_000)
    assert found.contradictions > 0 and not [
        one for one in judged.findings if one.what == "newcomer" and one.probability
    ]
    for row, (one, two) in zip(found.ledger.iter_rows(named=True), pairwise(told), strict=True):
        both = one.join(two, on="Assigned_ID", suffix="_after")
        stayed = both.filter(pl.all_horizontal(pl.col(name) == pl.col(f"{name}_after") for name in quasi))
        changed = stayed.filter(pl.col(sensitive) != pl.col(f"{sensitive}_after")).height
        came, gone = two.height - stayed.height, one.height - stayed.height
        assert 0 < row["came"] <= came and 0 < row["gone"] <= gone
        assert 0 < row["turned"] <= min(came - row["came"], gone - row["gone"]) + changed
