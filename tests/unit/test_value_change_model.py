"""What is said of change: the parameters, what may follow what, and what audits make of it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.attacks import Tracking, Worlds
from reissue.attacks.worlds.worlds_changing import ChangingFindings
from reissue.errors import ParameterError
from reissue.model.published import Published


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": -1},
        {"people": 1.5},
        {"people": True},
        {"rate": 0},
        {"rate": 1},
        {"rate": "often"},
        {"rate": float("nan")},
        {"follows": ["flu"]},
        {"follows": {"flu": "cold"}},
        {"follows": {"flu": [["cold"]]}},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        ri.ValueChange(**wrong)
    with pytest.raises(ParameterError, match="change"):
        ri.Knowledge(change=wrong)  # type: ignore[arg-type]


def test_no_value_is_told() -> None:
    change = ri.ValueChange(people=3, rate=0.1, follows={"CANARY": ["NEST"]})
    assert (
        "CANARY" not in repr(change)
        and "NEST" not in repr(change)
        and "CANARY" not in repr(ri.Knowledge(change=change))
    )
    with pytest.raises(ParameterError) as error:
        ri.ValueChange(follows={"CANARY": "NEST"})
    assert "CANARY" not in str(error.value) and "NEST" not in str(error.value)


def test_permanent_values_are_part_of_change() -> None:
    with pytest.raises(ParameterError, match="never left"):
        ri.Knowledge(permanent=["HIV"], change=ri.ValueChange(people=1))


def test_what_may_follow_step_by_step() -> None:
    following = ri.ValueChange(follows={"a": ["b"], "b": ["x"], "x": ["c"], "c": []}).following(["a", "b", "c", "d"])
    assert following.may(0, 0) and following.may(0, 1) and not following.may(0, 2)
    assert not following.may(0, 2, 2), "a, b, x, c takes three steps"
    assert following.may(0, 2, 3) and not following.may(0, 3, 9)
    assert following.may(3, 0) and following.after(3) is None, "what is not named may become anything"
    assert following.after(2, 50) == {2}
    assert ri.ValueChange(follows={"a": ["d"]}).following(["a", "b", "d"]).after(0, 2) is None, "by way of d"


def test_a_rate_as_a_table() -> None:
    change = ri.ValueChange(rate=0.2, follows={"a": ["b", "c"], "c": []})
    table = change.matrix(["a", "b", "c"], np.array([0.5, 0.3, 0.2]))
    assert table == pytest.approx(np.array([[0.8, 0.12, 0.08], [0.2 * 5 / 7, 0.8, 0.2 * 2 / 7], [0, 0, 1]]))


SERIES = [[(["A", "B"], ["flu", "cold"])], [(["A", "C"], ["flu", "HIV"])]]
"""By static values A has flu, and so B a cold and C HIV."""


def test_audits_withdraw_what_takes_values_to_be_static() -> None:
    view = Published.from_groups(SERIES)
    before = ri.audit(view, limit=0.9)
    assert before.judgements["Worlds"].count == 3
    report = ri.audit(view, ri.Knowledge(change=ri.ValueChange()), limit=0.9)
    assert report.judgements["Worlds"].status == "within" and report.passed
    for name in ("Equivalence", "Correlation", "Channels"):
        assert report.judgements[name].status == "not asked" and "Worlds is for that" in report.judgements[name].words
    assert report.disclosure.certain == 0 and {*report.posteriors["release"]} == {1, 2}
    assert any("values may change freely" in words for words in report.to_dict()["adversary"])


def test_what_is_certain_says_in_which_release() -> None:
    view = Published.from_groups([[(["A", "B"], ["flu", "flu"])], [(["A", "B"], ["flu", "HIV"])]])
    found = Worlds().run(view, ri.Knowledge(change=ri.ValueChange()))
    assert isinstance(found, ChangingFindings)
    assert found.certain == {"A": "flu", "B": "flu"} and found.certain_values["release"].to_list() == [1, 1]
    finding = found.judge(ri.attacks.base.Limits(probability=Fraction(9, 10))).findings[0]
    assert finding.release == 1 and finding.probability == 1 and finding.kind == "exact"
    assert "So A had flu in release 1." in finding.witness.text(view)
    assert "had value A in release 1" in finding.witness.text(view, show_values=False)
    table = dict(found.tables(ri.attacks.base.Limits())["Values that change"].iter_rows())
    assert table["people whose values must have changed"] == "1"
    assert table["certain in release 1"] == "2 of 2" and table["certain in release 2"] == "0 of 2"


def test_a_refuted_model_concludes_nothing() -> None:
    view = Published.from_groups([[(["A"], ["flu"]), (["B"], ["cold"])], [(["A"], ["HIV"]), (["B"], ["cold"])]])
    report = ri.audit(view, ri.Knowledge(change=ri.ValueChange(people=0)), limit=0.9, attacks=["Worlds"])
    judged = report.judgements["Worlds"]
    assert judged.status == "undecided" and not judged.findings and not report.passed
    assert "The model is refuted: the values that are shown of at least 1 person changed" in judged.words
    assert report.disclosure.certain == 0 and not report.posteriors.height
    final = ri.Knowledge(change=ri.ValueChange(follows={"flu": []}))
    judged = ri.audit(view, final, limit=0.9, attacks=["Worlds"]).judgements["Worlds"]
    assert judged.status == "undecided" and "no world agrees" in judged.words
    one = ri.Knowledge(change=ri.ValueChange(people=1))
    assert ri.audit(view, one, limit=0.9, attacks=["Worlds"]).judgements["Worlds"].count == 2


def test_a_permanent_value_is_never_left() -> None:
    """Bu's argument: who had HIV has it still, so it was the one who is in the second release."""
    series = [[(["A", "B"], ["HIV", "flu"])], [(["A", "C"], ["flu", "flu"]), (["B"], ["HIV"])]]
    change = ri.ValueChange(follows={"HIV": ["HIV"]})
    found = Worlds().run(Published.from_groups(series), ri.Knowledge(change=change))
    assert isinstance(found, ChangingFindings)
    assert found.probability("B", "HIV", 1) == 1 and found.probability("A", "HIV", 1) == 0
    free = Worlds().run(Published.from_groups(series), ri.Knowledge(change=ri.ValueChange()))
    assert isinstance(free, ChangingFindings) and free.probability("B", "HIV", 1) == Fraction(1, 2)


def test_tracking_takes_the_rate_and_what_may_follow() -> None:
    view = Published.from_groups([[(["A", "B"], ["x", "y"])], [(["A", "C"], ["x", "z"])]])
    change = ri.ValueChange(rate=0.1, follows={"y": ["x"]})
    found = Tracking().run(view, ri.Knowledge(change=change))
    # By hand: the shares are x 1/2, y 1/4, z 1/4, so of x a change leads to y or z with 1/2 each; y leads to x only.
    first = {"x": 0.5, "y": 0.5}
    step = {("x", "x"): 0.9, ("x", "z"): 0.05, ("y", "x"): 0.1, ("y", "z"): 0.0}
    shown = {"x": 0.5 / 0.5, "z": 0.5 / 0.25}
    weight = {(a, b): first[a] * step[a, b] * shown[b] for a in "xy" for b in "xz"}
    total = sum(weight.values())
    for value in "xz":
        expected = sum(weight[a, value] for a in "xy") / total
        assert float(found.probability("A", value, 2)) == pytest.approx(expected)
    assert float(found.probability("A", "y", 1)) == pytest.approx((weight["y", "x"] + weight["y", "z"]) / total)
    assert found.certain == {} and {*found.posteriors["kind"]} == {"sampled"}
    own = Tracking(change=change).run(view)
    assert own.posteriors.equals(found.posteriors)
    report = ri.audit(view, ri.Knowledge(change=change), limit=0.9, attacks=["Tracking"])
    assert report.judgements["Tracking"].status in ("undecided", "sampled") and not report.passed
    silent = ri.audit(view, ri.Knowledge(change=ri.ValueChange(people=1)), limit=0.9, attacks=["Tracking"])
    assert silent.judgements["Tracking"].status == "not asked"
    with pytest.raises(ParameterError, match="with a rate"):
        Tracking(change=ri.ValueChange(people=1))


def test_where_it_is_not_known_who_is_where_each_release_speaks_for_itself() -> None:
    """Eve may be in the release or not, and Ann, Ben and she may have flu: whoever of them is there has it."""
    rows = [(["Ann", "Ben", "Eve"], ["flu", "flu"]), (["Cy", "Dee"], ["gout", "HIV"])]
    once = Published.from_groups([rows], certain=False)
    for change in (ri.ValueChange(), ri.ValueChange(people=1), ri.ValueChange(rate=0.1)):
        knowledge = ri.Knowledge(change=change)
        found = Worlds().run(once, knowledge)
        assert found.posteriors.equals(Worlds().run(once).posteriors), "one release has no change"
        later = [rows[0], (["Cy", "Dee"], ["gout", "gout"])]
        twice = Published.from_groups([rows, later], certain=False)
        report = ri.audit(twice, knowledge, limit=1 / 2, attacks=["Worlds"])
        told = report.findings_table(show_people=True, show_values=True).filter(value="gout")
        assert {*told["person"]} == {"Cy", "Dee"} and {*told["release"]} == {2}
        assert "from single releases" in report.headline.sentence
        assert "followed only where it is known who is in which group" in report.judgements["Worlds"].words


def test_what_cannot_be_followed_says_so() -> None:
    table = pl.DataFrame({"id": ["A", "B"], "age": [1, 1], "ill": ["flu", "gout"], "drug": ["x", "y"]})
    view = ri.read_releases([table, table], sensitive=["ill", "drug"], person="id", quasi=["age"]).published
    follows = ri.Knowledge(change=ri.ValueChange(follows={"flu; x": []}))
    with pytest.raises(ParameterError, match="cannot follow"):
        Worlds().run(view, follows)
    judged = ri.audit(view, follows, limit=0.9, attacks=["Worlds"]).judgements
    assert judged["Worlds"].status == "undecided"
