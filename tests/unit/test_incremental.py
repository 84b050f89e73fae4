"""Incremental as a user meets it: parameters, refusals, waiting, policies that change, what is said and what is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import GuaranteeBroken, Infeasible, ParameterError, PolicyError, Refused, Unprotected
from reissue.methods.base import COUNTS_ONLY
from reissue.methods.incremental.classes import Classes, ClassStates
from reissue.methods.incremental.incremental import WAITING

Row = tuple[str, int, str]


def people(*rows: Row) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["person", "age", "illness"], orient="row")


def schema(**more: Any) -> ri.Schema:
    return ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(wider="accept")},
        sensitive={"illness": ri.Categorical(new="accept")},
        **more,
    )


def policy(method: ri.Incremental, **more: Any) -> ri.Policy:
    return ri.Policy(schema(), method, **more)


FOUR: tuple[Row, ...] = (("A", 20, "a"), ("B", 25, "b"), ("C", 60, "a"), ("D", 65, "c"))
HALF = ri.Incremental(2, waiting=0.5)


def held(series: Any) -> set[str]:
    found = series.drafts[-1].held_back
    return set() if found is None else {series.name(number) for number in found["person"]}


# Parameters and policies


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: ri.Incremental(1),
            "'l' parameter of Incremental must be a whole number of at least 2. Got 1 instead.",
        ),
        (lambda: ri.Incremental(True), "'l' parameter of Incremental"),
        (lambda: ri.Incremental(2.0), "'l' parameter of Incremental"),
        (
            lambda: ri.Incremental(2, diversity="entropy"),
            "'diversity' parameter of Incremental must be 'distinct' or 'share'. Got 'entropy' instead.",
        ),
        (
            lambda: ri.Incremental(2, strict=1),
            "'strict' parameter of Incremental must be True or False (in a policy file: true or false",
        ),
        (
            lambda: ri.Incremental(2, waiting=1.01),
            "'waiting' parameter of Incremental must be a number from 0 to 1. Got 1.01",
        ),
        (
            lambda: ri.Incremental(2, waiting=-1),
            "'waiting' parameter of Incremental must be a number from 0 to 1. Got -1",
        ),
        (lambda: ri.Incremental(2, waiting=float("nan")), "'waiting' parameter of Incremental"),
        (lambda: ri.Incremental(2, waiting=True), "'waiting' parameter of Incremental"),
        (lambda: ri.Incremental(2, waiting="all"), "'waiting' parameter of Incremental"),
        (lambda: ri.Incremental(0, strict=None, waiting=2), "3 parameters of Incremental do not fit."),
    ],
)
def test_parameters_out_of_range(make: Any, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "method",
    [ri.Incremental(3), ri.Incremental(4, diversity="share", strict=True, waiting=0), ri.Incremental(2, waiting=1)],
)
def test_policies_come_back_from_toml(method: ri.Incremental) -> None:
    given = policy(method, form="anatomised")
    assert ri.Policy.from_toml(given.to_toml()) == given


def test_protected_sets_are_refused() -> None:
    sets = ri.Schema(person="p", quasi={"age": ri.Numeric()}, sensitive="illness", protect=[["a", "b"]])
    with pytest.raises(PolicyError, match="does nothing for protected sets"):
        ri.Policy(sets, ri.Incremental(2))


def test_what_it_promises_depends_on_how_it_is_asked() -> None:
    def names(method: ri.Incremental) -> list[str]:
        return [promise.name for promise in method.promises(schema())]

    assert names(ri.Incremental(2)) == ["distinct-l-diversity", "inference-freedom"]
    assert names(ri.Incremental(2, strict=True)) == ["distinct-l-diversity", "inference-freedom", "history-l-diversity"]
    assert names(ri.Incremental(2, diversity="share"))[0] == "share-l-diversity"
    (*_, history) = ri.Incremental(2, diversity="share").promises(schema())
    assert (history.name, history.parameters) == ("history-l-diversity", {"l": 2, "diversity": "share"})


def test_warnings_and_remarks_say_what_l_is_not(chain: Any) -> None:
    plain, strict, share = ri.Incremental(2), ri.Incremental(2, strict=True), ri.Incremental(2, diversity="share")
    assert COUNTS_ONLY in plain.warnings()
    assert "does not bound a probability by 1/l" in COUNTS_ONLY
    assert any("three or more" in words and "two releases" in words for words in plain.warnings())
    assert strict.warnings() == (COUNTS_ONLY,)
    assert share.warnings() == ()
    assert all("keep secret who is waiting" in method.remarks("generalised")[0] for method in (plain, strict, share))
    draft = chain(policy(plain)).publish(people(*FOUR))
    assert draft.manifest["warnings"] == list(plain.warnings())
    assert draft.manifest["series"] == "protected"
    assert all(words in draft.notes for words in (*plain.warnings(), *plain.remarks("generalised")))
    assert "warnings" not in chain(policy(share)).publish(people(*FOUR)).manifest


# What it cannot take


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (people(*FOUR[1:]), "deletions: 1 person is gone"),
        (people(("A", 21, "a"), *FOUR[1:]), "changes: 1 person with other quasi-identifiers"),
        (people(("A", 20, "b"), *FOUR[1:]), "changes: 1 person with another sensitive value"),
    ],
)
def test_deletions_and_changes_are_refused_and_methods_named(chain: Any, table: pl.DataFrame, words: str) -> None:
    series = chain(policy(ri.Incremental(2)))
    series.publish(people(*FOUR))
    with pytest.raises(Refused) as caught:
        series.publish(table)
    assert words in str(caught.value)
    assert "MInvariance" in str(caught.value)
    assert "EEquivalence" in str(caught.value)
    assert "Incremental and" not in str(caught.value)
    series.publish(people(*FOUR))


def test_who_waits_may_leave_change_and_come_back(chain: Any) -> None:
    series = chain(policy(HALF))
    series.publish(people(*FOUR))
    series.publish(people(*FOUR, ("E", 22, "a"), ("F", 63, "a")))
    assert held(series) == {"E", "F"}
    series.publish(people(*FOUR, ("F", 22, "b")))
    assert held(series) == {"F"}
    series.publish(people(*FOUR, ("E", 22, "c"), ("F", 22, "b")))
    assert held(series) == set()
    assert any(set(who) >= {"E", "F"} for who, _ in series.groups()[-1])
    with pytest.raises(Refused, match="1 person is gone"):
        series.publish(people(*FOUR, ("F", 22, "b")))
    assert ri.guarantees.InferenceFree(2).check(series.published()).holds


def test_a_first_release_with_too_few_values(chain: Any) -> None:
    with pytest.raises(Infeasible, match="No grouping of this table"):
        chain(policy(ri.Incremental(3))).publish(people(*FOUR[:2]))
    with pytest.raises(Infeasible):
        chain(policy(ri.Incremental(2, diversity="share"))).publish(people(*FOUR[:3], ("E", 30, "a")))


def test_nobody_can_be_published_says_how_many() -> None:
    """The method by itself: drafting refuses such a first table before."""
    from reissue.model.snapshot import Delta
    from reissue.publishing.series import draft

    snapshot = draft(people(*FOUR), ri.Policy(schema(), ri.Mondrian(k=2))).snapshot
    nobody = np.zeros(0, dtype=np.int64)
    delta = Delta(snapshot.people, nobody, nobody, nobody, nobody, nobody, 0)
    with pytest.raises(Infeasible, match="Nobody can be published: 4 rows would all wait"):
        ri.Incremental(4).group(snapshot, delta, {}, np.random.default_rng(0))


# Waiting


def test_waiting_is_counted_from_the_first_release_missed(folder: Path) -> None:
    with ri.open(folder, policy(HALF)) as series:
        series.publish(people(*FOUR))
        assert series.private.held_back(1).height == 0
        series.publish(people(*FOUR, ("E", 22, "b")))
        assert series.private.held_back(2).rows() == [("E", WAITING, 2)]
        series.publish(people(*FOUR, ("E", 22, "b"), ("F", 64, "b")))
        assert series.private.held_back(3).rows() == [("E", WAITING, 2), ("F", WAITING, 3)]
        assert series.releases[2].summary["held_back"] == {WAITING: {"people": 2, "longest_wait": 2}}
        assert set(series.private.members(3)["person"]) == {"A", "B", "C", "D"}
        text = (folder / "public" / "0003" / "release.json").read_text()
        assert "held" not in text
        assert "lists" not in text
        # Somebody with another value near E: both are published, and F waits on.
        series.publish(people(*FOUR, ("E", 22, "b"), ("F", 64, "b"), ("G", 21, "a")))
        assert series.private.held_back(4).rows() == [("F", WAITING, 3)]
        series.publish(people(*FOUR, ("E", 22, "b"), ("F", 64, "b"), ("G", 21, "a"), ("H", 66, "a")))
        assert series.private.held_back(5).height == 0
        assert series.verify() == []


def test_those_who_waited_longer_are_published_first(chain: Any) -> None:
    """Two pairs, each between two classes, so that no list is ready; they lose as much, and one of them may wait."""
    series = chain(policy(ri.Incremental(2, waiting=0.25)))
    base = [(f"{place}{value}", place, value) for place in (0, 50, 100) for value in "ab"]
    series.publish(people(*base))
    first, second = [("E", 24, "c"), ("F", 26, "d")], [("G", 74, "d"), ("H", 76, "c")]
    series.publish(people(*base, *first))
    assert held(series) == {"E", "F"}
    series.publish(people(*base, *first, *second))
    assert held(series) == {"G", "H"}
    other = chain(policy(ri.Incremental(2, waiting=0.25)))
    other.publish(people(*base))
    other.publish(people(*base, *second))
    assert held(other) == {"G", "H"}
    other.publish(people(*base, *first, *second))
    assert held(other) == {"E", "F"}


def test_with_waiting_0_nobody_waits(chain: Any) -> None:
    series = chain(policy(ri.Incremental(2, waiting=0)))
    series.publish(people(*FOUR))
    with pytest.raises(Infeasible, match="2 new records cannot be published"):
        series.publish(people(*FOUR, ("E", 22, "a"), ("F", 90, "a")))
    series.publish(people(*FOUR, ("E", 22, "a"), ("F", 90, "a"), ("G", 55, "b")))
    assert held(series) == set()
    assert sorted(map(len, (who for who, _ in series.groups()[-1]))) == [2, 2, 3]


def test_strata_that_nobody_was_in_before_have_lists_of_their_own(chain: Any) -> None:
    """Two wards appear at once: their people must not come into one class."""
    wards = ri.Policy(schema(as_is={"ward": ri.Categorical(new="accept")}), HALF)
    series = chain(wards)
    old = people(*FOUR).with_columns(ward=pl.lit("x"))
    series.publish(old)
    new = people(("E", 30, "a"), ("F", 30, "b"), ("G", 30, "a"), ("H", 30, "b")).with_columns(
        ward=pl.Series(["y", "y", "z", "z"])
    )
    series.publish(pl.concat([old, new]))
    assert {frozenset(who) for who, _ in series.groups()[-1]} >= {frozenset("EF"), frozenset("GH")}
    # One of each of two further wards: neither has enough values.
    late = people(("I", 30, "a"), ("J", 30, "b")).with_columns(ward=pl.Series(["v", "w"]))
    series.publish(pl.concat([old, new, late]))
    assert held(series) == {"I", "J"}


# Going on


def grown(steps: int, seed: int = 0) -> list[pl.DataFrame]:
    """A table that grows; later values and towns sort before and after those of earlier steps."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[str, int, str, str]] = []
    tables = []
    for step in range(steps):
        for _ in range(14):
            # In the first steps everybody at one place has nearly always one value, so classes are wide and cut later.
            side = int(rng.integers(0, 2))
            value = "mn"[side] if rng.random() < 0.7 - 0.1 * step else str(rng.choice(list("lmno" + "bxaz"[:step])))
            rows.append((f"p{len(rows)}", 20 + 40 * side, str(rng.choice(list("tu" + "sva"[:step]))), value))
        tables.append(pl.DataFrame(rows, schema=["person", "age", "town", "illness"], orient="row"))
    return tables


def towns(method: ri.Incremental, **more: Any) -> ri.Policy:
    columns = ri.Schema(
        person="person",
        quasi={"age": ri.Numeric(), "town": ri.Categorical(new="accept")},
        sensitive={"illness": ri.Categorical(new="accept")},
    )
    return ri.Policy(columns, method, **more)


def test_a_series_from_disk_goes_on_as_in_memory(chain: Any, folder: Path) -> None:
    given = towns(ri.Incremental(2, waiting=0.2))
    series = chain(given)
    ri.open(folder, given).close()
    for table in grown(6):
        draft = series.publish(table)
        with ri.open(folder) as reopened:
            release = reopened.publish(table)
            assert release.tables["table"].equals(draft.tables["table"])
            waiting = [] if draft.held_back is None else draft.held_back.select("since").to_series().sort().to_list()
            assert reopened.private.held_back(release.number)["since"].to_list() == waiting


def test_states_survive_new_labels_and_codes(chain: Any) -> None:
    """What a class showed is remembered by value, not by code: labels that sort first shift all codes."""
    series = chain(towns(ri.Incremental(2, waiting=0.2)))
    seen = 0
    for step, table in enumerate(grown(6), start=1):
        series.publish(table)
        memory = series.history.memory
        meanings = memory["values"]["value"].to_list()
        assert meanings == sorted(meanings)
        shown_then: dict[int, dict[frozenset[str], set[str]]] = {}
        for at, release in enumerate(series.groups(), start=1):
            shown_then[at] = {frozenset(who): set(values) for who, values in release}
        home = dict(memory["members"].select("person", "class").rows())
        for (which, number), entries in memory["states"].group_by("class", "release"):
            who = {series.name(person) for person, owner in home.items() if owner == which}
            before = [members for members in shown_then[number] if members & who]
            assert len(before) == 1, "people of a class were in one class in every state of it"
            told = {meanings[code] for code in entries.filter(pl.col("shown") > 0)["value"]}
            assert told == shown_then[number][before[0]]
            fresh = {meanings[code] for code in entries.filter(pl.col("fresh") > 0)["value"]}
            after = [(members, values) for members, values in shown_then[number + 1].items() if members & before[0]]
            assert fresh <= set().union(*(values for _, values in after))
            seen += step > 2
    assert seen > 5


def test_numbers_and_missing_ones_are_remembered(chain: Any) -> None:
    income = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"income": ri.Numeric(missing="value", wider="accept")}
    )
    series = chain(ri.Policy(income, HALF))
    rows: list[tuple[str, int, float | None]] = [("A", 0, 5.0), ("B", 9, None)]
    batches: list[list[tuple[str, int, float | None]]] = [
        [("C", 0, None), ("D", 9, 5.0)], [("E", 0, -3.5), ("F", 9, None)], [("G", 0, None), ("H", 9, 5.0)],
    ]  # fmt: skip
    for batch in [[], *batches]:
        rows += batch
        series.publish(pl.DataFrame(rows, schema=["person", "age", "income"], orient="row"))
        assert ri.guarantees.InferenceFree(2).check(series.published()).holds
    assert series.history.memory["values"]["value"].to_list() == [None, -3.5, 5.0]


def test_states_are_written_and_read_again() -> None:
    rng = np.random.default_rng(1)
    values = 130
    counts = rng.integers(0, 3, (2, 7, values))
    counts[:, :, 0] = 1
    state, value = np.nonzero(counts.any(axis=0))
    states = ClassStates(
        np.array([0, 0, 2, 2, 2, 5, 6]), np.array([1, 4, 1, 2, 4, 3, 1]), state, value, *counts[:, state, value]
    )
    number_of = np.arange(values) + 7
    again = ClassStates.read(states.table(), number_of)
    assert again.owner.tolist() == states.owner.tolist()
    assert again.release.tolist() == states.release.tolist()
    assert again.value.tolist() == (states.value + 7).tolist()
    for name in ("state", "shown", "fresh"):
        assert getattr(again, name).tolist() == getattr(states, name).tolist()
    parted = states.parted(np.array([2, 7, 8, 5]), np.array([2, 2, 2, 5]))
    assert parted.owner.tolist() == [0, 0, 2, 2, 2, 5, 6, 7, 7, 7, 8, 8, 8]
    assert parted.release.tolist() == [1, 4, 1, 2, 4, 3, 1, 1, 2, 4, 1, 2, 4]
    assert parted.starts(9).tolist() == [0, 2, 2, 5, 5, 5, 6, 7, 10, 13]

    def entries(of: ClassStates, which: int) -> list[list[int]]:
        mine = of.owner[of.state] == which
        return [getattr(of, name)[mine].tolist() for name in ("value", "shown", "fresh")]

    assert entries(parted, 8) == entries(parted, 7) == entries(states, 2)
    assert entries(parted, 6) == entries(states, 6)


# Policies that change


def test_l_cannot_grow_and_waiting_may_change(folder: Path) -> None:
    table = people(*FOUR, ("E", 30, "b"), ("F", 50, "d"))
    with ri.open(folder, policy(ri.Incremental(2))) as series:
        series.publish(table)
        series.amend(policy(ri.Incremental(3)), "more")
        with pytest.raises(Unprotected, match="l = 3 is more than the l = 2 of an earlier release"):
            series.publish(table)
        for waiting in (0, 1, 0.5):
            series.amend(policy(ri.Incremental(2, waiting=waiting)), "patience")
            assert series.publish(table, allow=["same-state"], reason="so it is here").manifest["series"] == "protected"
        series.amend(policy(ri.Incremental(2, strict=True)), "too late")
        with pytest.raises(Unprotected, match="nobody has checked history-l-diversity from the first release on"):
            series.publish(table)


@pytest.mark.parametrize("mode", [{"strict": True}, {"diversity": "share"}])
def test_states_are_kept_also_while_batches_stay_whole(chain: Any, mode: dict[str, Any]) -> None:
    """Amended to the default later, classes may be cut: not so that A is left with the one value a."""
    rows = [("A", 0, "a"), ("B", 9, "b")]
    series = chain(policy(dataclasses.replace(HALF, **mode)))
    series.publish(people(*rows))
    rows += [("C", 0, "c"), ("D", 0, "c"), ("E", 9, "d"), ("F", 9, "d")]
    series.publish(people(*rows))
    assert len(series.groups()[-1]) == 1
    series.policy = policy(HALF)
    series.publish(people(*rows, ("G", 0, "d"), ("H", 9, "c")))
    assert len(series.groups()[-1]) == 1


def test_columns_that_come_to_be_published_as_they_are(folder: Path) -> None:
    """Classes of before mix them, and stay as they are: that is refused, and not our mistake."""
    table = people(*FOUR).with_columns(ward=pl.Series(["x", "y", "x", "y"]))
    ward = {"ward": ri.Categorical()}
    before = ri.Policy(schema(as_is=ward), HALF, form="anatomised")
    with ri.open(folder, before) as series:
        series.publish(table)
        series.amend(ri.Policy(schema(as_is=ward), HALF), "generalised from now on")
        with pytest.raises(Refused, match="2 of 2 classes of the last release have people who differ") as caught:
            series.publish(table, allow=["same-state"], reason="so it is here")
        assert not isinstance(caught.value, GuaranteeBroken)
        assert "'ward'" in str(caught.value)
        series.amend(before, "back")
        series.publish(table, allow=["same-state"], reason="so it is here")


# Gates and audits


@pytest.mark.parametrize("mode", [{"strict": True}, {"diversity": "share"}])
def test_a_gate_lets_strict_and_share_series_pass(folder: Path, mode: dict[str, Any]) -> None:
    method = ri.Incremental(2, waiting=0.2, **mode)
    with ri.open(folder, towns(method, gate=ri.Gate(attacks=["Channels", "Worlds"]))) as series:
        for table in grown(4):
            assert (
                series.publish(table, allow=["withheld"], reason="so it is here").summary["gate"]["verdict"] == "passed"
            )
        report = series.audit(attacks=["Channels", "Worlds"])
        assert report.passed
        assert {one.status for one in report.judgements.values()} == {"within"}


def test_a_default_series_is_audited_without_a_limit(folder: Path) -> None:
    with ri.open(folder, towns(ri.Incremental(2, waiting=0.2))) as series:
        for table in grown(4):
            series.publish(table)
        assert series.audit(attacks=["Channels"]).passed
        report = series.audit(attacks=["Channels", "Worlds"])
        assert report.judgements["Channels"].status == "within"
        assert report.judgements["Worlds"].status == "not asked"


# Silence


def test_errors_and_reprs_are_silent(chain: Any) -> None:
    rows = [(f"CANARY-id-{n}", 7_700_000 + n, f"CANARY-{'ab'[n % 2]}") for n in range(6)]
    series = chain(policy(HALF))
    draft = series.publish(people(*rows))
    said = [repr(draft), str(draft.summary), str(draft.manifest), repr(HALF), repr(series)]
    said += [repr(series.history.memory.keys()), repr(Classes.read(series.history.memory, draft.snapshot))]
    waiting = series.publish(people(*rows, ("CANARY-new", 7_700_099, "CANARY-a")))
    said += [repr(waiting), str(waiting.summary), str(waiting.notes), repr(waiting.grouping)]
    bad: list[pl.DataFrame] = [
        people(*rows[1:]),
        people((rows[0][0], 7_700_050, rows[0][2]), *rows[1:]),
        people((rows[0][0], rows[0][1], "CANARY-c"), *rows[1:]),
    ]
    for table in bad:
        with pytest.raises(Refused) as caught:
            series.publish(table)
        said += [str(caught.value), repr(caught.value)]
    with pytest.raises(Infeasible) as infeasible:
        chain(policy(ri.Incremental(3))).publish(people(*rows))
    said.append(str(infeasible.value))
    everything = "".join(said)
    assert "CANARY" not in everything
    assert "77000" not in everything


def test_too_frequent_a_value_elsewhere_does_not_keep_a_ready_list_back(chain: Any) -> None:
    """At 20 a and b come, which is even; at 80 only a: all of them together have too many."""
    near = [(f"old{age}{at}", age, value) for age in (20, 80) for at, value in enumerate("abab")]
    series = chain(policy(ri.Incremental(2, diversity="share", waiting=0.1)))
    series.publish(people(*near))
    new = [("E", 20, "a"), ("F", 20, "b"), *((f"G{at}", 80, "a") for at in range(4))]
    series.publish(people(*near, *new))
    assert held(series) == {f"G{at}" for at in range(4)}


def test_the_public_record_of_an_unprotected_series_lists_no_promise_about_series(tmp_path: Path) -> None:
    """A larger l than before can be promised for each release alone only."""
    rows = [(f"P{at}", at, "abcd"[at % 4]) for at in range(16)]
    series = ri.open(tmp_path / "clinic", policy(ri.Incremental(2)))
    promised = series.publish(people(*rows)).manifest["guarantees"]
    assert [words.split(" (")[0] for words in promised] == ["distinct-l-diversity", "inference-freedom"]
    larger = dataclasses.replace(policy(ri.Incremental(3)), series="unprotected")
    series.amend(larger, "more values")
    release = series.publish(people(*rows, ("Q", 3, "a"), ("R", 4, "b"), ("S", 5, "c")))
    assert release.manifest["series"] == "unprotected"
    assert [words.split(" (")[0] for words in release.manifest["guarantees"]] == ["distinct-l-diversity"]
    assert not ri.guarantees.InferenceFree(3).check(series.published()).holds
