"""The rules by which one method is recommended, on rows made up for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reissue.comparing.recommending import (
    FEW_SLOPES,
    KEPT,
    MOST_ABOVE,
    MOST_FAR_ABOVE,
    MOST_LOST,
    NEARER,
    Situation,
    price,
    recommended,
)
from reissue.comparing.suggested import NO_LINK

ASKED = Situation(asked=0.25, people=20_000, whole=20_000, largest_share=0.1, changed=0.0)
BESIDE = {"method": NO_LINK, "withheld": 0.0, "counts": 0.05, "shares": 0.02, "slopes": 10, "kept": 0}


def row(method: str = "Alternatives, m = 4", **figures: Any) -> dict[str, Any]:
    """A row that is fit, but for what is said."""
    return {
        "method": method, "kind": method.partition(",")[0], "form": "alternatives", "promise": "at most 1/4",
        "protects": True, "bound": 0.25, "withheld": 0.0, "counterfeit": 0.0, "replaced": 0.0, "counts": 0.02,
        "shares": 0.01, "slopes": 10, "kept": 10, "turned": 0, "size": 0.9, "above": 0.0, "far_above": 0.0,
        "undecided": 0.0, "certain": 0.0, "certain_false": None, "right": 0.3, "without": 0.2, "advantage": 0.1,
        **figures,
    }  # fmt: skip


def groups(method: str = "MInvariance, anatomised", **figures: Any) -> dict[str, Any]:
    return row(method, form="anatomised", **figures)


def test_what_is_fit_is_taken_with_reasons() -> None:
    told = recommended([row(above=0.2, far_above=0.01, certain=0.04, certain_false=0.5), BESIDE], ASKED)
    assert told.method == "Alternatives, m = 4"
    assert told.sentence == (
        "Take Alternatives, m = 4: nobody is tied to a value with more than 1/4, at any one time, by all releases "
        "together."
    )
    text = str(told)
    assert "counts are off by 2.0 %, with no link at all by 5.0 %" in text
    assert "10 of 10 slopes beyond chance keep their sign, at 0.90 of their size" in text
    assert "10.0 points of that come from the person's own row" in text
    assert "above the limit for 20.0 % of people, far above it for 1.0 %" in text
    assert "certain of 4.0 % of people, wrongly for 50.0 % of these" in text
    assert told.against == {"Alternatives, m = 4": ()}


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"protects": False, "promise": "each release alone"}, "does not protect people in a series"),
        ({"withheld": MOST_LOST + 0.001}, "5.1 % of people withheld"),
        ({"counterfeit": MOST_LOST + 0.001}, "5.1 % of rows counterfeit"),
        ({"replaced": MOST_LOST + 0.001}, "5.1 % of values replaced"),
        ({"above": MOST_ABOVE + 0.001}, "1.1 % of people are above the limit"),
        ({"counts": None}, "counts cannot be estimated"),
        ({"counts": NEARER * 0.05 + 0.001}, "counts are off by 4.6 %, with no link at all by 5.0 %"),
        ({"kept": int(10 * KEPT) - 1}, "7 of 10 slopes keep their sign"),
    ],
)
def test_each_rule_is_enough_to_be_unfit(figures: dict[str, Any], why: str) -> None:
    good, bad = row(), groups(**figures)
    told = recommended([bad, good, BESIDE], ASKED)
    assert told.method == good["method"]
    assert why in "; ".join(told.against[bad["method"]])
    assert recommended([bad, BESIDE], ASKED).method is None


@pytest.mark.parametrize(
    "figures",
    [
        {"withheld": MOST_LOST, "counterfeit": MOST_LOST, "replaced": MOST_LOST},
        {"above": MOST_ABOVE},
        {"counts": NEARER * 0.05},
        {"kept": int(10 * KEPT)},
        {"slopes": FEW_SLOPES - 1, "kept": 0},
    ],
)
def test_what_is_just_within_the_rules_is_fit(figures: dict[str, Any]) -> None:
    assert recommended([groups(**figures), BESIDE], ASKED).method == "MInvariance, anatomised"


def test_sets_may_be_above_but_not_far_above() -> None:
    assert recommended([row(above=0.3, far_above=MOST_FAR_ABOVE), BESIDE], ASKED).method is not None
    far = recommended([row(above=0.3, far_above=MOST_FAR_ABOVE + 0.001), BESIDE], ASKED)
    assert far.method is None
    assert "reissue moves" in str(far)


def test_sets_that_were_not_decided_answer_for_the_others() -> None:
    given = row("Alternatives, m = 4, given sex", counts=0.01, undecided=1.0)
    assert recommended([row(), given, BESIDE], ASKED).method == given["method"]
    told = recommended([row(far_above=0.2), given, BESIDE], ASKED)
    assert told.method is None
    assert "20.0 % of people are far above the limit with other sets" in told.against[given["method"]][0]


def test_the_least_price_is_taken() -> None:
    exact, private = row("Alternatives, m = 4"), row("Alternatives, m = 4, given sex", counts=0.03, advantage=0.05)
    assert price(exact) == pytest.approx(0.002)
    assert price(private) == pytest.approx(0.0015)
    assert recommended([exact, private, BESIDE], ASKED).method == private["method"]
    # An advantage below a point is as good as none.
    assert price(row(advantage=-0.02)) == price(row(advantage=0.01)) == pytest.approx(0.0002)


def test_what_was_asked_goes_before_what_is_stronger() -> None:
    stronger = row("Alternatives, m = 8", bound=0.125, counts=0.01, advantage=0.01)
    assert recommended([stronger, row(), BESIDE], ASKED).method == "Alternatives, m = 4"
    told = recommended([stronger, row(counts=0.2), BESIDE], ASKED)
    assert told.method == "Alternatives, m = 8"
    assert "a stronger promise than the 1/4 asked for" in told.sentence


def test_a_weaker_promise_is_named_and_not_taken() -> None:
    weaker = row("Alternatives, m = 2", bound=0.5, counts=0.01)
    told = recommended([weaker, row(counts=0.2), BESIDE], ASKED)
    assert told.method is None
    assert "If 1/2 is enough, Alternatives, m = 2 is fit" in str(told)
    assert "Sets become worth it with about 400,000 people; there are 20,000." in str(told)  # (0.2 / 0.045)^2
    # Where nothing promises as much as was asked, it is taken, and the sentence says so.
    told = recommended([weaker, BESIDE], ASKED)
    assert told.method == "Alternatives, m = 2"
    assert "a weaker promise than the 1/4 asked for" in told.sentence


def test_rare_values_that_are_hidden_less_are_told() -> None:
    """A limit of 1/2 is for frequent values: among two, rare ones have it too, and among four 1/4."""
    asked = replace(ASKED, asked=0.5, asked_rare=0.25)
    four, two = row(bound=0.5, rare=0.25), row("Alternatives, m = 2", bound=0.5, rare=0.5, counts=0.01)
    told = recommended([two, four, BESIDE], asked)
    assert told.method == "Alternatives, m = 4" and "rare values" not in told.sentence
    assert "Also fit: Alternatives, m = 2; this one keeps best to what was asked." in str(told)
    told = recommended([two, row(bound=0.5, rare=0.25, counts=0.2), BESIDE], asked)
    assert told.method == "Alternatives, m = 2"
    assert "of rare values, too, though the policy keeps those to 1/4" in told.sentence


def test_what_was_not_tried_in_time_is_named_before_all_else() -> None:
    late = {"method": "Alternatives, m = 2", "refused": "not tried: the time was up", "late": True}
    for rows in ([row(), late, BESIDE], [row(counts=0.06), late, BESIDE]):
        told = recommended(rows, ASKED)
        assert told.reasons[0] == (
            "Not tried in time: Alternatives, m = 2. One of them may be better: allow more seconds (--seconds)."
        )
        assert "Not tried" not in str(recommended([rows[0], BESIDE], ASKED))


def test_two_tables_without_a_link_where_nothing_is_worth_more() -> None:
    flat = {**BESIDE, "slopes": 0}
    told = recommended([row(counts=0.06, slopes=0, kept=0, size=None), flat], ASKED)
    assert told.sentence.startswith("Publish two tables without a link")
    assert "No slope of the last table is beyond chance" in str(told)
    steep = recommended([row(counts=0.06), BESIDE], ASKED)
    assert "If slopes matter more than counts: Alternatives, m = 4 keeps the sign of 10 of 10" in str(steep)


def test_what_two_tables_tell_over_several_releases_is_said() -> None:
    flat = {**BESIDE, "slopes": 0, "above": 0.034}
    told = str(recommended([row(counts=0.06, slopes=0, kept=0, size=None), flat], ASKED))
    assert "counts that differ tell what those have who came or left, if these are few" in told
    assert "With these tables that is 3.4 % of people, at least." in told
    assert "ties nobody to anything" not in told


def test_advice_follows_what_is_in_the_way() -> None:
    moving = Situation(asked=0.25, people=20_000, whole=20_000, largest_share=0.1, changed=0.3)
    astray = row(far_above=0.2)
    assert "count how with `reissue moves`" in str(recommended([astray, BESIDE], moving))
    assert "Counts of later releases can then not be estimated" in str(recommended([astray, BESIDE], moving))
    for given in ({"moves_given": True}, {"several_columns": True}):
        assert "count how with" not in str(recommended([astray, BESIDE], replace(moving, **given)))
    assert "is for one sensitive column" in str(recommended([astray, BESIDE], replace(moving, several_columns=True)))
    outgrown = row(checks="'outgrown-shares' refuses release 2: values are no longer as frequent")
    told = str(recommended([outgrown, BESIDE], ASKED))
    assert "`reissue shares` counts them again" in told and "withhold those people" not in told


def test_regions_that_were_asked_for_and_given_up_are_named() -> None:
    asked = replace(ASKED, regions=10)
    for form, smallest, said in (("generalised", 2, True), ("generalised", 12, False), ("alternatives", 10, False)):
        told = str(recommended([row("MInvariance, generalised", form=form, smallest=smallest), BESIDE], asked))
        assert (
            "the regions of 10 people or more that the policy asks for: groups have 2 people or more" in told
        ) == said
    told = str(recommended([row("MInvariance, generalised", form="generalised", smallest=2), BESIDE], ASKED))
    assert "that the policy asks for" not in told


def test_a_sample_may_be_too_small_to_tell() -> None:
    many = Situation(asked=0.25, people=20_000, whole=10_000_000, largest_share=0.1, changed=0.0)
    assert "Compare again with more people" in str(recommended([row(counts=0.06), BESIDE], many))


def test_what_to_do_where_no_method_takes_the_tables() -> None:
    skewed = Situation(asked=0.25, people=100, whole=100, largest_share=0.6, changed=0.2, several_rows=True)
    refused = {"method": "MInvariance, anatomised", "refused": "a value is too frequent"}
    told = recommended([refused, {**BESIDE}], skewed)
    assert told.sentence == "No method takes these tables as they are."
    for what in ("'harmless'", "20.0 % of values change", "[schema.events]", "two tables without a link"):
        assert what in str(told)
    late = recommended([{**refused, "late": True}, BESIDE], ASKED)
    assert late.sentence == "Nothing was measured in time."


def test_a_table_that_only_grows_is_told_to_stay_so() -> None:
    told = recommended([row("Incremental", form="generalised"), BESIDE], ASKED)
    assert "the next release is refused" in str(told)
