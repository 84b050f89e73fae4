"""m-invariance and e-equivalence as a user meets them: parameters, policies, refusals, numbers, disclosure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import Infeasible, ParameterError, PolicyError, Unprotected


def people(values: dict[int, object], *, column: str = "illness") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "person": [f"p{person}" for person in values],
            "age": [20 + person * 7 % 50 for person in values],
            column: list(values.values()),
        },
        strict=False,
    )


def policy(method: object, **more: object) -> ri.Policy:
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")}
    )
    return ri.Policy(schema, method, **more)


FOUR = {0: "flu", 1: "asthma", 2: "cancer", 3: "measles"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ri.MInvariance(1), "'m' parameter of MInvariance must be a whole number of at least 2. Got 1"),
        (lambda: ri.MInvariance(2.0), "'m' parameter of MInvariance"),
        (lambda: ri.MInvariance(2, split=1), "'split' parameter of MInvariance must be True or False"),
        (lambda: ri.MInvariance(2, shortage="wait"), "'shortage' parameter of MInvariance must be 'counterfeit' or"),
        (lambda: ri.MInvariance(2, changed="keep"), "'changed' parameter of MInvariance must be 'withhold' or"),
        (lambda: ri.MInvariance(2, choice="far"), "'choice' parameter of MInvariance must be 'random' or 'near'"),
        (lambda: ri.EEquivalence(3, 4), "'e' parameter of EEquivalence must be at most m = 3. Got 4"),
        (lambda: ri.EEquivalence(3, 0), "'e' parameter of EEquivalence must be a whole number of at least 1"),
        (lambda: ri.EEquivalence(True, 1), "'m' parameter of EEquivalence"),
    ],
)
def test_parameters_out_of_range(make, words):
    with pytest.raises(ParameterError) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "method",
    [
        ri.MInvariance(3),
        ri.MInvariance(3, split=False, shortage="withhold", changed="reinsert", choice="near"),
        ri.EEquivalence(5, 3),
        ri.EEquivalence(5, 3, shortage="refuse", choice="near"),
    ],
)
def test_policies_come_back_from_toml(method):
    given = policy(method, form="anatomised", disclose=["counterfeits"])
    assert ri.Policy.from_toml(given.to_toml()) == given


@pytest.mark.parametrize("wrong", [["people"], "counterfeits", 5, None, [["counterfeits"]], {"counterfeits": 1}])
def test_what_can_be_disclosed(wrong):
    with pytest.raises(PolicyError, match="disclose"):
        policy(ri.MInvariance(2), disclose=wrong)


def test_protected_sets_are_refused():
    schema = ri.Schema(person="person", quasi={"age": ri.Numeric()}, sensitive="illness", protect=[["flu", "asthma"]])
    for method in (ri.MInvariance(2), ri.EEquivalence(2, 2)):
        with pytest.raises(PolicyError, match="does nothing for protected sets"):
            ri.Policy(schema, method)


def test_m_stays_at_the_smallest_that_was_published(folder: Path):
    """Nobody of the second release is in the third, and still it is out."""
    with ri.open(folder, policy(ri.MInvariance(4))) as series:
        series.publish(people(FOUR))
        series.amend(policy(ri.MInvariance(2)), "less")
        series.publish(people(FOUR | {5: "gout", 6: "mumps"}))
        series.amend(policy(ri.MInvariance(4)), "more again")
        with pytest.raises(Unprotected, match="m = 4 is more than the m = 2 of an earlier release"):
            series.publish(people(FOUR))


def test_columns_published_as_they_are_need_the_anatomised_form(chain):
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, as_is={"ward": ri.Categorical()}, sensitive="illness"
    )
    for method in (ri.MInvariance(2), ri.EEquivalence(2, 2)):
        with pytest.raises(PolicyError, match="anatomised"):
            ri.Policy(schema, method)
        series = chain(ri.Policy(schema, method, form="anatomised"))
        table = people(FOUR).with_columns(ward=pl.Series(["a", "b", "a", "b"]))
        draft = series.publish(table)
        assert draft.tables["quasi"].columns == ["group", "age", "ward"]
        # A counterfeit has a ward too.
        draft = series.publish(table[:3])
        assert draft.counterfeits["ward"].null_count() == 0
        assert draft.tables["quasi"].height == 3 + draft.counterfeits.height


def test_too_few_values(chain):
    for method in (ri.MInvariance(5), ri.EEquivalence(5, 2)):
        with pytest.raises(Infeasible, match="4 distinct sensitive values; m = 5 needs at least 5"):
            chain(policy(method, form="anatomised")).publish(people(FOUR))
    with pytest.raises(Infeasible, match="1 distinct sensitive value"):
        chain(policy(ri.MInvariance(2))).publish(people({0: "flu"}))


def test_a_shortage_may_be_refused_and_says_how_many(chain):
    series = chain(policy(ri.MInvariance(2, shortage="refuse")))
    with pytest.raises(Infeasible) as caught:
        series.publish(people({0: "flu", 1: "flu", 2: "flu", 3: "asthma"}))
    assert "of 4 rows that balancing did not use, 3 have the same sensitive value, and at most one in 2 may" in str(
        caught.value
    )
    assert "flu" not in str(caught.value)


def test_nobody_left_to_publish(chain):
    series = chain(policy(ri.MInvariance(2, shortage="withhold")))
    with pytest.raises(Infeasible, match="Nobody can be published: 3 rows would all be withheld"):
        series.publish(people({0: "flu", 1: "flu", 2: "asthma"}))


def test_a_shortage_is_filled_up_with_as_few_counterfeits_as_can_be(chain):
    series = chain(policy(ri.MInvariance(2)))
    draft = series.publish(people({0: "flu", 1: "flu", 2: "flu", 3: "asthma"}))
    assert draft.counterfeits["illness"].to_list() == ["asthma", "asthma"]
    assert draft.summary["counterfeits"] == 2
    assert "2 counterfeits in place of values that were missing" in draft.notes
    assert "counterfeits" not in draft.manifest


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_counterfeits_per_group_are_published_where_the_policy_says_so(folder: Path, form):
    with ri.open(folder, policy(ri.MInvariance(2), form=form, disclose=["counterfeits"])) as series:
        first = series.publish(people(FOUR))
        assert first.tables["counterfeits"].height == 0
        second = series.publish(people({person: FOUR[person] for person in (0, 1, 2)}))
        members = series.private.members(2)
        made = members.filter(pl.col("counterfeit").is_not_null())
        assert made["person"].null_count() == made.height == 1
        assert second.tables["counterfeits"].rows() == [(made["group"][0], 1)]
        assert (folder / "public" / "0002" / "counterfeits.parquet").exists()
        assert series.verify() == []


def test_counterfeits_are_not_told_from_people_in_public(folder: Path):
    with ri.open(folder, policy(ri.MInvariance(2), form="anatomised")) as series:
        series.publish(people(FOUR))
        second = series.publish(people({person: FOUR[person] for person in (0, 1, 2)}))
        assert second.manifest["rows"] == 4
        assert sorted(second.tables) == ["quasi", "sensitive"]
        assert second.tables["quasi"].height == 4
        text = (folder / "public" / "0002" / "release.json").read_text()
        assert "counterfeit" not in text.replace('"shortage": "counterfeit"', "")
        assert second.summary["counterfeits"] == 1


def test_held_back_people_are_listed_in_private(folder: Path):
    with ri.open(folder, policy(ri.MInvariance(2))) as series:
        series.publish(people(FOUR))
        signature = series.private.members(1).filter(
            pl.col("group") == series.private.members(1).filter(person="p0")["group"][0]
        )
        mate = next(person for person in signature["person"] if person != "p0")
        outside = next(value for person, value in FOUR.items() if f"p{person}" not in ("p0", mate))
        series.publish(people(FOUR | {0: outside}))
        assert series.private.held_back(1).height == 0
        assert series.private.held_back(2).rows() == [("p0", "value changed to one outside the signature", 2)]
        assert "p0" not in series.private.members(2)["person"]
        series.publish(people(FOUR | {0: outside}), allow=["same-state"], reason="so it is here")
        assert series.private.held_back(3)["since"].to_list() == [2]
        assert series.releases[2].summary["held_back"]["value changed to one outside the signature"] == {
            "people": 1,
            "longest_wait": 2,
        }
        assert ri.guarantees.MInvariant(2).check(series.published()).holds
        # Whoever is held back is missing in the release, not in the table that its counts are compared with.
        assert series.utility(3).held_back == 1


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
@pytest.mark.parametrize("method", [ri.MInvariance(2), ri.EEquivalence(2, 2)])
def test_numbers_that_nobody_has_any_more_are_counterfeited(folder: Path, form, method):
    schema = ri.Schema(
        person="person",
        quasi={"age": ri.Numeric()},
        sensitive={"income": ri.Numeric(missing="value", wider="accept")},
    )
    incomes = {0: 1000.5, 1: 2000.0, 2: None, 3: -7.25, 4: 1000.5, 5: 2000.0}
    with ri.open(folder, ri.Policy(schema, method, form=form)) as series:
        series.publish(people(incomes, column="income"))
        series.publish(
            people({person: incomes[person] for person in (0, 2, 3)}, column="income"),
            allow=["counterfeit", "same-state"],
            reason="so it is here",
        )
        series.publish(
            people({person: incomes[person] for person in (0, 3)}, column="income"),
            allow=["counterfeit", "same-state"],
            reason="so it is here",
        )
        view = series.published()
        assert set(view.values) == {None, -7.25, 1000.5, 2000.0}
        assert ri.guarantees.WeakMInvariant(2).check(view).holds
        for number in (1, 2, 3):
            assert series.utility(number).rows == series.releases[number - 1].manifest["rows"]


def test_new_labels_may_shift_the_codes_of_old_ones(chain):
    series = chain(policy(ri.MInvariance(2)))
    series.publish(people({0: "m", 1: "p", 2: "m", 3: "p"}))
    series.publish(people({0: "m", 1: "p", 2: "m", 10: "a", 11: "z"}))
    series.publish(people({0: "m", 1: "p", 2: "m", 10: "a", 11: "z", 12: "b", 13: "n"}))
    assert ri.guarantees.MInvariant(2).check(series.published()).holds


def test_m_and_e_cannot_grow(folder: Path):
    with ri.open(folder, policy(ri.EEquivalence(2, 1), form="anatomised")) as series:
        series.publish(people(FOUR))
        series.amend(policy(ri.EEquivalence(3, 1), form="anatomised"), "more")
        with pytest.raises(Unprotected, match="m = 3 is more than the m = 2 of an earlier release"):
            series.publish(people(FOUR))
        series.amend(policy(ri.EEquivalence(2, 2), form="anatomised"), "more")
        with pytest.raises(Unprotected, match="e = 2 is more than the e = 1 that the series began with"):
            series.publish(people(FOUR))
        series.amend(policy(ri.EEquivalence(2, 1), form="anatomised"), "back")
        series.publish(people(FOUR), allow=["same-state"], reason="so it is here")


def test_a_method_that_begins_late_protects_nothing_before(folder: Path):
    with ri.open(folder, policy(ri.Mondrian(k=2))) as series:
        series.publish(people(FOUR))
        series.amend(policy(ri.MInvariance(2)), "better")
        with pytest.raises(Unprotected, match="release 1 was made by Mondrian"):
            series.publish(people(FOUR))
        series.amend(policy(ri.MInvariance(2), series="unprotected"), "better, and we know")
        assert (
            series.publish(people(FOUR), allow=["same-state"], reason="so it is here").manifest["series"]
            == "unprotected"
        )
        assert (
            series.publish(people(FOUR), allow=["same-state"], reason="so it is here").manifest["series"]
            == "unprotected"
        )
        # Another promise has another checker, which has seen nothing yet.
        series.amend(policy(ri.MInvariance(2, split=False)), "merged")
        with pytest.raises(Unprotected):
            series.publish(people(FOUR))


def test_hierarchies_and_columns_that_a_policy_adds_later(folder: Path):
    towns = ri.Hierarchy.from_nested({"*": {"north": ["a", "b"], "south": ["c", "d"]}})
    table = people(FOUR).with_columns(town=pl.Series(["a", "b", "c", "d"]))

    def with_town(drop: bool) -> ri.Policy:
        quasi = {"age": ri.Numeric()} | ({} if drop else {"town": towns})
        schema = ri.Schema(person="person", quasi=quasi, sensitive="illness", drop=["town"] if drop else [])
        return ri.Policy(schema, ri.MInvariance(2))

    with ri.open(folder, with_town(drop=True)) as series:
        series.publish(table)
        series.publish(table[:3])
        series.amend(with_town(drop=False), "towns too")
        # The counterfeit of before gets a town of its own.
        assert series.publish(table[:3]).tables["table"].height == 4
        assert series.private.members(3)["counterfeit"].drop_nulls().to_list() == [1]


@pytest.mark.parametrize("method", [ri.MInvariance(3), ri.EEquivalence(3, 2)])
def test_the_same_seed_gives_the_same_release(chain, method):
    rng = np.random.default_rng(0)
    values = dict(enumerate(rng.choice(list("abcdef"), size=60).tolist()))
    first, second = chain(policy(method, form="anatomised")), chain(policy(method, form="anatomised"))
    for end in (60, 50, 40):
        table = people({person: values[person] for person in range(end)})
        one, other = first.publish(table, seed=end), second.publish(table, seed=end)
        assert all(one.tables[name].equals(other.tables[name]) for name in one.tables)


def test_merged_buckets_in_the_generalised_form_are_remarked_on(chain):
    draft = chain(policy(ri.EEquivalence(2, 2))).publish(people(FOUR))
    assert any("wide regions" in note for note in draft.notes)


def test_who_began_anew_has_done_so_for_ever(folder: Path):
    """A promise per record cannot be turned back into one per person, once it was made use of."""
    record, person = policy(ri.MInvariance(2, changed="reinsert")), policy(ri.MInvariance(2))
    with ri.open(folder, record) as series:
        series.publish(people(FOUR))
        series.amend(person, "nobody began anew")
        assert series.publish(people(FOUR), allow=["same-state"], reason="so it is here").manifest["guarantees"] == [
            "m-invariance (m = 2)"
        ]
        series.amend(record, "and back")
        outside = {**FOUR, 0: "scabies", 4: "mumps"}
        series.publish(people(outside))
        assert not ri.guarantees.MInvariant(2).check(series.published()).holds
        series.amend(person, "too late")
        with pytest.raises(Unprotected):
            series.publish(people(outside))


def test_estimates_of_a_release_that_discloses_its_counterfeits(folder: Path):
    with ri.open(folder, policy(ri.MInvariance(2), form="anatomised", disclose=["counterfeits"])) as series:
        series.publish(people(FOUR))
        release = series.publish(people({person: FOUR[person] for person in (0, 1, 2)}))
        assert ri.estimate(release, {"age": (0, 200)}) == 4


def test_a_counterfeit_is_no_copy_of_somebody_in_its_own_bucket(chain):
    """Beside its own copy a person could stand in a group whose region is a single point."""
    base = {number: "abcd"[number % 4] for number in range(40)}
    for seed in range(15):
        series = chain(policy(ri.MInvariance(2)))
        series.publish(people(base), seed=seed)
        draft = series.publish(people({person: value for person, value in base.items() if person % 4}), seed=seed)
        rows = draft.rows.join(draft.memory["living"], left_on="reissue.person", right_on="person")
        memory = draft.memory["counterfeits"]
        for signature, age in memory.select("reissue.signature", "age")[:-1].rows():
            donors = rows.filter(pl.col("age") == age)["signature"].to_list()
            assert any(donor != signature for donor in donors)


def test_an_unprotected_series_is_noted_with_every_release(chain):
    series = chain(policy(ri.Mondrian(k=2), series="unprotected"))
    assert series.publish(people(FOUR)).notes == ()
    assert any("unprotected" in note for note in series.publish(people(FOUR)).notes)


@pytest.mark.parametrize("first", [90, None])
def test_counterfeits_do_not_stand_out_after_a_policy_changed(folder: Path, first):
    """A counterfeit that is older than the declared range, or has no age where one is needed, would be known."""

    def ages(**limits: object) -> ri.Policy:
        schema = ri.Schema(person="person", quasi={"age": ri.Numeric(**limits)}, sensitive="illness")
        return ri.Policy(schema, ri.MInvariance(2), form="anatomised")

    def aged(age: int | None, count: int) -> pl.DataFrame:
        cells = pl.Series([age] * count, dtype=pl.Int64)
        return pl.DataFrame({"person": list("abcdef")[:count], "age": cells, "illness": (["flu", "gout"] * 3)[:count]})

    with ri.open(folder, ages(missing="value")) as series:
        series.publish(aged(first, 6))
        assert series.publish(aged(first, 5)).tables["quasi"]["age"].to_list() == [first] * 6
        series.amend(ages(low=0, high=50), "another range")
        assert series.publish(aged(40, 5)).tables["quasi"]["age"].to_list() == [40] * 6
        assert series.private.members(3)["counterfeit"].drop_nulls().to_list() == [1]
