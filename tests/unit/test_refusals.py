"""What a method cannot take is refused, with what is in the way and what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue.errors import Refused
from reissue.methods import METHODS, Takes
from reissue.model.snapshot import Delta
from reissue.publishing.history import History, Last
from reissue.publishing.refusals import check_changes

KINDS = ("deletions", "changes", "returns")


@dataclass(frozen=True)
class Picky(ri.Mondrian):
    """A method that takes only what it is told."""

    name: ClassVar[str] = "Picky"


def picky(*allowed: str) -> ri.Mondrian:
    made = Picky(k=2)
    object.__setattr__(made, "takes", Takes(**{kind: kind in allowed for kind in KINDS}))
    return made


def delta(**people: list[int]) -> Delta:
    names = ("arrived", "returned", "stayed", "gone", "changed_quasi", "changed_value")
    return Delta(*(np.array(people.get(name, []), dtype=np.int64) for name in names), since=3)


def history(*, protected: bool = True, method: str = "Picky", adopted: int = 0, **people: list[int]) -> History:
    frames = {name: pl.DataFrame({"person": pl.Series(who, dtype=pl.UInt32)}) for name, who in people.items()}
    if "held_back" in frames:
        frames["held_back"] = frames["held_back"].with_columns(reason=pl.lit("waits"), since=pl.lit(3, pl.UInt32))
    last = Last(held_back=frames.pop("held_back", None))
    return History(number=3, protected=protected, method=method, adopted=adopted, last=last, **frames)


def refusal(method: ri.Mondrian, changes: Delta, past: History) -> Refused:
    with pytest.raises(Refused) as caught:
        check_changes(method, changes, past)
    return caught.value


def test_each_sort_of_change_is_named_and_counted() -> None:
    changes = delta(gone=[1, 2], returned=[3], changed_quasi=[4], changed_value=[4, 5, 6])
    error = refusal(picky("deletions"), changes, history())
    assert error.what == "Picky cannot take what changed since the last release."
    assert error.problems == (
        "returns: 1 person came back",
        "changes: 1 person with other quasi-identifiers",
        "changes: 3 people with another sensitive value",
    )
    assert refusal(picky("returns", "changes"), changes, history()).problems == (
        "deletions: 2 people are gone since the last release",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_method_takes_is_not_refused(kind) -> None:
    changes = {"deletions": delta(gone=[1]), "changes": delta(changed_value=[1]), "returns": delta(returned=[1])}
    check_changes(picky(kind), changes[kind], history(adopted=1))
    for other in set(KINDS) - {kind}:
        refusal(picky(kind), changes[other], history(adopted=1))


def test_the_hint_names_the_methods_that_take_it_and_what_that_would_mean() -> None:
    hint = refusal(picky(), delta(gone=[1]), history()).hint
    assert "MInvariance, EEquivalence, CorSplit and HDComposition take people who leave, but" in hint
    assert "new series" in hint
    assert "comparing releases could expose" in hint
    assert not any(name in hint for name in ("Mondrian", "StaticI", "return", "change"))
    hint = refusal(picky(), delta(gone=[1], changed_quasi=[2]), history(adopted=1)).hint
    assert "people who leave and people who change" in hint


def test_the_hint_follows_the_registry(monkeypatch) -> None:
    """Whoever can take what happened is named, the method that refuses it and unprotecting ones are not."""

    class Grows(ri.MInvariance):
        name = "Grows"
        takes = Takes(deletions=True, changes=False, returns=True)

    monkeypatch.setattr("reissue.publishing.refusals.METHODS", {**METHODS, "Grows": Grows})
    assert (
        "MInvariance, EEquivalence, CorSplit, HDComposition and Grows take"
        in refusal(picky(), delta(gone=[1]), history()).hint
    )
    both = delta(gone=[1], changed_value=[2])
    assert (
        "MInvariance, EEquivalence, CorSplit and HDComposition take" in refusal(picky("changes"), both, history()).hint
    )


def test_an_unprotected_series_may_go_on_with_any_method_that_takes_it() -> None:
    hint = refusal(picky(), delta(returned=[1]), history(protected=False)).hint
    able = [name for name, kind in METHODS.items() if kind.takes.returns]
    assert {"Mondrian", "MInvariance", "StaticI"} <= set(able)
    assert all(name in hint for name in able)
    assert "StaticII" not in hint
    assert "unprotected already" in hint
    assert "new series" not in hint


class TestWhoeverWasNeverPublished:
    CHANGES = delta(gone=[1], returned=[2], changed_quasi=[3], changed_value=[4])

    def test_may_come_and_go_and_change(self) -> None:
        check_changes(picky(), self.CHANGES, history(held_back=[1, 3, 4]))
        error = refusal(picky(), self.CHANGES, history(held_back=[1, 3]))
        assert error.problems == ("changes: 1 person with another sensitive value",)

    @pytest.mark.parametrize(
        "past",
        [
            history(held_back=[1, 3, 4], protected=False),
            history(held_back=[1, 3, 4], method="MInvariance"),
            history(held_back=[1, 3, 4], adopted=1),
        ],
    )
    def test_must_be_known_never_to_have_been(self, past) -> None:
        """Under another method, or in releases made elsewhere, those held back last may have been published before."""
        assert len(refusal(picky(), self.CHANGES, past).problems) == 4

    def test_is_not_who_was_held_back_by_a_method_with_deletions(self) -> None:
        """Such a method may hold somebody back whom it once published."""
        assert len(refusal(picky("deletions"), self.CHANGES, history(held_back=[1, 3, 4])).problems) == 3

    def test_nor_will_those_be_who_are_never_published_again(self) -> None:
        check_changes(picky(), self.CHANGES, history(barred=[1, 2, 3, 4], adopted=1))
        assert len(refusal(picky(), self.CHANGES, history(barred=[1], adopted=1)).problems) == 3

    def test_in_a_series(self, chain) -> None:
        """E waits, changes, leaves and comes back as somebody else's equal; A must stay as she is."""
        schema = ri.Schema(
            person="person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(values=list("abcd"))}
        )
        series = chain(ri.Policy(schema, ri.StaticII(2)))

        def table(*more: tuple[str, int, str]) -> pl.DataFrame:
            rows = [("A", 20, "a"), ("B", 30, "b"), *more]
            return pl.DataFrame(rows, schema=["person", "age", "illness"], orient="row")

        for more in ([], [("E", 40, "a")], [("E", 41, "c")], [], [("E", 40, "d")]):
            series.publish(table(*more))
            assert [sorted(who) for who, _ in series.groups()[-1]] == [["A", "B"]]
        series.publish(table(("E", 40, "d"), ("F", 90, "a")))
        assert sorted(sorted(who) for who, _ in series.groups()[-1]) == [["A", "B"], ["E", "F"]]
        with pytest.raises(Refused, match="deletions: 1 person is gone") as caught:
            series.publish(table(("F", 90, "a")))
        assert "MInvariance, EEquivalence, CorSplit and HDComposition take people who leave" in caught.value.hint
        assert "E" not in "".join(caught.value.problems)
