"""The gate: what it lets pass, what it keeps back, and what is kept of an override."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import reissue as ri
from reissue import attacks
from reissue.attacks.base import Attack, Findings, Judgement, Limits
from reissue.attacks.sentences import Witness
from reissue.errors import GateClosed, GuaranteeBroken, ParameterError, PolicyError, StaleDraft
from reissue.model.knowledge import Knowledge
from reissue.model.published import Published
from reissue.publishing.gate import Gate
from reissue.publishing.series import draft as first_draft


@dataclass
class _Found(Findings):
    attack: ClassVar[str] = "Fake"
    published: Published
    status: Any
    limits: list[Limits]
    searched: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        return ()

    def judge(self, limits: Limits, *, most: int = 100) -> Judgement:
        self.limits.append(limits)
        return Judgement(self.status, "3 people are tied to a value.", count=3)


class FakeAttack(Attack):
    """Says what it is told to say, and remembers what it was shown."""

    name: ClassVar[str] = "Fake"
    words: ClassVar[str] = "Says what it is told."
    proves: ClassVar[tuple[str, ...]] = ("probability",)
    status: ClassVar[str] = "within"
    error: ClassVar[Exception | None] = None
    views: ClassVar[list[Published]] = []
    knowledge: ClassVar[list[Knowledge | None]] = []
    limits: ClassVar[list[Limits]] = []

    def run(self, published: Published, knowledge: Knowledge | None = None) -> Findings:
        if self.error is not None:
            raise self.error
        self.views.append(published)
        self.knowledge.append(knowledge)
        return _Found(published, self.status, self.limits)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeAttack]:
    """The fake attack, registered like any other."""
    home = ModuleType("reissue.attacks.fake")
    vars(home)["Fake"] = FakeAttack
    monkeypatch.setitem(sys.modules, home.__name__, home)
    monkeypatch.setitem(attacks.ATTACKS._homes, "Fake", "reissue.attacks.fake:Fake")  # type: ignore[index]
    for name, value in {"status": "within", "error": None, "views": [], "knowledge": [], "limits": []}.items():
        monkeypatch.setattr(FakeAttack, name, value)
    return FakeAttack


@pytest.fixture
def gated(policy: ri.Policy, fake: type[FakeAttack]) -> ri.Policy:
    return ri.Policy(policy.schema, ri.MInvariance(m=2), gate=Gate(attacks=["Fake"]))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_gate_is_a_value() -> None:
    gate = Gate(attacks=["Worlds"], limit=1 / 3, seconds=5, accept=["sampled"])
    assert gate == Gate(attacks=("Worlds",), limit="1/3", seconds=5.0, accept=("sampled",))
    assert gate.probability == Fraction(1, 3)
    assert Gate().probability is None
    assert hash(gate) == hash(replace(gate))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"attacks": ["Worlds", "Wrlds"]}, "no attack called 'Wrlds'"),
        ({"attacks": []}, "at least one"),
        ({"attacks": "Worlds"}, "a list of names"),
        ({"attacks": ["Worlds", "Worlds"]}, "twice"),
        ({"limit": 0}, "above 0 and up to 1. Got 0 instead"),
        ({"limit": 1.5}, "above 0 and up to 1"),
        ({"limit": "a third"}, "above 0 and up to 1"),
        ({"limit": float("nan")}, "above 0 and up to 1"),
        ({"limit": True}, "above 0 and up to 1"),
        ({"seconds": 0}, "'seconds' parameter of Gate must be a number above 0. Got 0 instead"),
        ({"seconds": "long"}, "Got a str instead"),
        ({"accept": ["anything"]}, "'undecided' or 'sampled'"),
        ({"accept": "sampled"}, "must be a list"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Gate(**parameters)
    assert words in str(caught.value)


def test_a_gate_that_bounds_nothing_must_say_so(fake: type[FakeAttack]) -> None:
    assert Gate(attacks=["Correlation"], accept=["undecided"]).attacks == ("Correlation",)
    assert Gate(attacks=["Correlation", "Worlds"]).accept == ()
    # What an attack of another package bounds is for that package to say.
    assert Gate(attacks=["Correlation", "Fake"]).accept == ()


def test_all_problems_of_a_gate_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        Gate(attacks=["Nothing"], limit=7, seconds=-1, accept=["x"])
    assert len(caught.value.problems) == 4


def test_toml_there_and_back(policy: ri.Policy) -> None:
    gate = Gate(attacks=["Worlds", "Equivalence"], limit="1/3", seconds=12.5, accept=["undecided"])
    with_gate = ri.Policy(policy.schema, ri.MInvariance(m=4), gate=gate)
    text = with_gate.to_toml()
    assert "[gate]" in text
    assert 'limit = "1/3"' in text
    assert ri.Policy.from_toml(text) == with_gate
    decimal = ri.Policy.from_toml(text.replace('limit = "1/3"', "limit = 0.25"))
    assert decimal.gate is not None and decimal.gate.probability == Fraction(1, 4)
    assert with_gate.differences(decimal) == ["gate.limit"]
    without = ri.Policy(policy.schema, ri.MInvariance(m=4))
    assert "gate" not in without.to_toml()
    assert without.differences(with_gate) == ["gate.accept", "gate.attacks", "gate.limit", "gate.seconds"]


def test_toml_mistakes_are_named(policy: ri.Policy) -> None:
    text = ri.Policy(policy.schema, ri.MInvariance(m=4)).to_toml()
    for entry, words in {
        "[gate]\nacept = []\n": "[gate] has no entry 'acept'; did you mean 'accept'?",
        "[gate]\nlimit = 3\n": "[gate]: The 'limit' parameter",
        '[gate]\nattacks = ["Wurlds"]\n': "no attack called 'Wurlds'",
    }.items():
        with pytest.raises(PolicyError) as caught:
            ri.Policy.from_toml(text + entry)
        assert words in str(caught.value)


def test_a_method_without_a_bound_needs_a_limit(policy: ri.Policy) -> None:
    with pytest.raises(PolicyError, match="the gate needs a 'limit'"):
        ri.Policy(policy.schema, ri.Mondrian(k=3), gate=Gate(attacks=["Worlds"]))
    ri.Policy(policy.schema, ri.Mondrian(k=3), gate=Gate(attacks=["Worlds"], limit=0.5))
    with pytest.raises(PolicyError, match="must be a gate"):
        ri.Policy(policy.schema, ri.Mondrian(k=3), gate="closed")  # type: ignore[arg-type]


def test_an_open_gate(folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame) -> None:
    with ri.open(folder, gated) as series:
        series.publish(patients)
        release = series.publish(patients.tail(20))
        gate = release.summary["gate"]
        assert gate["verdict"] == "passed"
        assert gate["attacks"] == ["Fake"]
        assert gate["found"] == ["Fake (within): 3 people are tied to a value."]
        # The attack saw both releases, numbered as the series numbers people, and the method's own promise.
        assert [len(view.releases) for view in fake.views] == [1, 2]
        seen, kept = fake.views[-1], series.published()
        for one, other in zip(seen.releases, kept.releases, strict=True):
            assert one.number == other.number
            for name in ("members", "member_starts", "values", "counts", "value_starts"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
        assert {limits.probability for limits in fake.limits} == {Fraction(1, 2)}
    # The public record says nothing about it.
    assert "gate" not in release.manifest
    assert not any("gate" in path.read_text() for path in folder.glob("public/*/release.json"))


def test_the_limit_of_the_gate_goes_before_the_promise(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    assert gated.gate is not None
    with ri.open(folder, replace(gated, gate=replace(gated.gate, limit="1/5"))) as series:
        series.publish(patients)
    assert fake.limits[0].probability == Fraction(1, 5)


@pytest.mark.parametrize("status", ["beyond", "undecided", "sampled"])
def test_a_closed_gate_leaves_everything_as_it_was(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame, status: str
) -> None:
    with ri.open(folder, gated) as series:
        series.publish(patients)
        fake.status = status
        before = content(folder)
        for attempt in (series.publish, series.draft):
            with pytest.raises(GateClosed) as caught:
                attempt(patients.tail(20))
            assert f"Fake ({status}): 3 people are tied to a value." in str(caught.value)
            assert "--report" in str(caught.value)
        assert content(folder) == before
        assert len(series.releases) == 1
        # Nothing in the exception leads to the report or to the table.
        assert set(vars(caught.value)) == {"what", "problems", "hint"}
        assert all(isinstance(part, str | tuple) for part in vars(caught.value).values())


@pytest.mark.parametrize("status", ["undecided", "sampled"])
def test_what_is_accepted_by_name_passes(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame, status: str
) -> None:
    fake.status = status
    assert gated.gate is not None
    with ri.open(folder, replace(gated, gate=replace(gated.gate, accept=[status]))) as series:
        assert series.publish(patients).summary["gate"]["verdict"] == "passed"


def test_nothing_is_created_for_a_first_release_that_is_refused(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    fake.status = "beyond"
    with pytest.raises(GateClosed):
        first_draft(patients, gated)
    assert not folder.exists()
    made = first_draft(patients, gated, gate=False)
    assert made.passage is None


def test_an_attack_that_fails_opens_nothing(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    with ri.open(folder, gated) as series:
        series.publish(patients)
        before = content(folder)
        for error in (RuntimeError("it broke"), MemoryError()):
            fake.error = error
            with pytest.raises(type(error)):
                series.publish(patients.tail(20))
            assert content(folder) == before
        # One that cannot run on such a view decides nothing.
        fake.error = ParameterError("This view does not say enough.")
        with pytest.raises(GateClosed, match="closed"):
            series.publish(patients.tail(20))
        assert content(folder) == before


def test_a_draft_that_was_not_shown_to_the_gate_is_refused(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    with ri.open(folder, gated) as series:
        made = series.draft(patients, gate=False)
        assert not fake.views
        with pytest.raises(GateClosed, match="did not go through it"):
            series.commit(made)
        assert series.releases == []
        shown, report = series.at_gate(made)
        assert report is not None and report.passed
        assert series.commit(shown).number == 1


def test_a_closed_draft_is_refused_at_the_commit(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    fake.status = "beyond"
    with ri.open(folder, gated) as series:
        shown, report = series.at_gate(series.draft(patients, gate=False))
        assert report is not None and not report.passed
        with pytest.raises(GateClosed, match="closed"):
            series.commit(shown)


Change = Callable[[ri.Draft], object]


def _other_table(draft: ri.Draft) -> None:
    draft.tables["table"] = draft.snapshot.frame()


def _other_cell(draft: ri.Draft) -> None:
    draft.tables["table"][0, "age_low"] = 0


def _one_column_more(draft: ri.Draft) -> None:
    table = draft.tables["table"]
    table.insert_column(0, pl.Series("who", np.arange(table.height)))


def _one_table_more(draft: ri.Draft) -> None:
    draft.tables["all"] = draft.rows


def _one_table_less(draft: ri.Draft) -> None:
    draft.tables.pop("table")


CHANGES: list[Change] = [_other_table, _other_cell, _one_column_more, _one_table_more, _one_table_less]


@pytest.mark.parametrize("change", CHANGES)
def test_a_draft_that_was_changed_after_the_gate_is_refused(
    folder: Path, gated: ri.Policy, patients: pl.DataFrame, change: Change
) -> None:
    with ri.open(folder, gated) as series:
        made = series.draft(patients)
        change(made)
        before = content(folder)
        with pytest.raises(GateClosed, match="not the one that the gate let pass"):
            series.commit(made)
        # No reason helps: what is in these tables was never checked by anybody.
        with pytest.raises(GuaranteeBroken, match="not those that were checked"):
            series.commit(made, override="it is fine")
        assert content(folder) == before


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_draft_is_refused_without_a_gate_too(
    folder: Path, policy: ri.Policy, patients: pl.DataFrame, change: Change
) -> None:
    with ri.open(folder, policy) as series:
        made = series.draft(patients)
        change(made)
        with pytest.raises(GuaranteeBroken, match="not those that were checked") as caught:
            series.commit(made)
        assert "draft again" in str(caught.value)
        assert series.releases == []
        # Whoever shows it to a gate afterwards gains nothing.
        with pytest.raises(GuaranteeBroken):
            series.commit(series.at_gate(made)[0])


def test_what_a_gate_said_is_about_one_draft(folder: Path, gated: ri.Policy, patients: pl.DataFrame) -> None:
    assert gated.gate is not None
    with ri.open(folder, gated) as series:
        passed, other = series.draft(patients.head(12)), series.draft(patients, gate=False)
        others = passed.rows.with_columns(pl.col("reissue.group").reverse())
        values = passed.rows.with_columns(pl.col("diagnosis").reverse())
        borrowed = replace(other, judged=replace(other.judged, passage=passed.passage))
        for changed in (
            borrowed,
            replace(passed, recoded=other.recoded),
            replace(passed, recoded=other.recoded, judged=replace(passed.judged, seal=other.seal)),
            replace(passed, private=replace(passed.private, rows=others)),
            replace(passed, private=replace(passed.private, rows=values)),
            replace(passed, private=replace(passed.private, counterfeits=passed.rows.head(1))),
        ):
            with pytest.raises(GateClosed, match="not the one that the gate let pass"):
                series.commit(changed)
        assert series.releases == []
        # A reason can stand in for the gate, and the record does not say that the gate saw it.
        release = series.commit(borrowed, override="it takes too long")
        assert release.summary["gate"]["verdict"] == "never run"
        assert release.summary["gate"]["override"] == "it takes too long"


def test_what_a_gate_said_is_about_one_gate(folder: Path, gated: ri.Policy, patients: pl.DataFrame) -> None:
    assert gated.gate is not None
    stricter = replace(gated, gate=replace(gated.gate, limit="1/5"))
    with ri.open(folder, gated) as series:
        passed = series.draft(patients)
        series.amend(stricter, "stricter")
        with pytest.raises(StaleDraft):
            series.commit(passed)
        with pytest.raises(GateClosed, match="not the one that the gate let pass"):
            series.commit(replace(passed, policy=stricter))


@pytest.mark.parametrize("form", ["generalised", "anatomised"])
def test_looking_at_a_draft_does_not_change_it(
    folder: Path, gated: ri.Policy, patients: pl.DataFrame, form: Any
) -> None:
    with ri.open(folder, replace(gated, form=form)) as series:
        for table in (patients, patients.tail(20)):
            made = series.draft(table)
            for shown in (*made.tables.values(), made.rows):
                shown.to_arrow()
                shown.to_pandas()
                shown.rows()
                shown.rechunk()
                shown.hash_rows()
            # Nor does a copy of a table that says the same.
            made.tables.update({name: one.slice(0, 5).vstack(one.slice(5)) for name, one in made.tables.items()})
            series.commit(made)
        assert series.verify() == []


def test_an_override_is_kept_with_its_reason(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    reason = "agreed with the data protection officer on 3 May"
    with ri.open(folder, gated) as series:
        series.publish(patients)
        fake.status = "beyond"
        release = series.publish(patients.tail(20), override=f"  {reason} ")
        assert release.number == 2
    with ri.open(folder) as series:
        gate = series.release(2).summary["gate"]
        assert gate["override"] == reason
        assert gate["verdict"] == "closed"
        assert gate["found"] == ["Fake (beyond): 3 people are tied to a value."]
        events = [(event.kind, event.detail) for event in series._ledger.events()]
        assert events == [("created", "policy version 1"), ("overrode", "the gate of release 2")]
        assert series.verify() == []
    assert not any(reason.encode() in path.read_bytes() for path in (folder / "public").rglob("*") if path.is_file())


def test_overriding_a_gate_that_was_not_asked(
    folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    with ri.open(folder, gated) as series:
        release = series.commit(series.draft(patients, gate=False), override="the attack takes too long")
        assert release.summary["gate"]["verdict"] == "never run"
        assert release.summary["gate"]["override"] == "the attack takes too long"


def test_an_override_that_is_not_needed_is_no_override(folder: Path, gated: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, gated) as series:
        release = series.publish(patients, override="just in case")
        assert "override" not in release.summary["gate"]
        assert [event.kind for event in series._ledger.events()] == ["created"]


def test_an_override_says_why(folder: Path, gated: ri.Policy, policy: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, gated) as series:
        made = series.draft(patients)
        for empty in ("", " \n"):
            with pytest.raises(ParameterError, match="empty text"):
                series.publish(patients, override=empty)
            with pytest.raises(ParameterError, match="empty text"):
                series.commit(made, override=empty)
        assert series.releases == []
    with ri.open(folder.with_name("other"), policy) as series, pytest.raises(ParameterError, match="no gate"):
        series.publish(patients, override="why not")


def test_drafts_of_elsewhere_are_not_shown_to_the_gate(folder: Path, gated: ri.Policy, patients: pl.DataFrame) -> None:
    with ri.open(folder, gated) as series:
        early = series.draft(patients)
        series.publish(patients)
        for call in (lambda: series.at_gate(early), lambda: series.audit(draft=early)):
            with pytest.raises(StaleDraft):
                call()


def test_the_report_on_a_draft(folder: Path, gated: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame) -> None:
    fake.status = "beyond"
    with ri.open(folder, gated) as series:
        report = series.audit(draft=series.draft(patients, gate=False))
        assert not report.passed
        assert list(report.judgements) == ["Fake"]
        assert len(report.published.releases) == 1


def test_audit_of_a_series(folder: Path, policy: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame) -> None:
    policy = replace(policy, method=ri.Mondrian(k=3, constraints=[ri.guarantees.ShareDiverse(2)]))
    with ri.open(folder, policy) as series:
        with pytest.raises(ParameterError, match="no release yet"):
            series.audit(attacks=[FakeAttack()])
        series.publish(patients)
        series.publish(patients.tail(20))
        # Each release by itself keeps to one half; so that is what is asked of both together.
        report = series.audit(attacks=["Fake"])
        assert report.passed
        assert fake.limits[-1].probability == Fraction(1, 2)
        assert len(report.published.releases) == 2
        series.amend(replace(policy, method=ri.Mondrian(k=3)), "fewer promises")
        series.publish(patients, allow=["same-state"], reason="so it is here")
        # The third release promises nothing of the kind.
        with pytest.raises(ParameterError, match="'limit'"):
            series.audit(attacks=["Fake"])
        assert series.audit(attacks=["Fake"], limit=1 / 3).limits.probability == Fraction(1, 3)


def test_the_promise_is_that_of_the_last_release(
    folder: Path, policy: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame
) -> None:
    first = ri.Policy(policy.schema, ri.MInvariance(m=4))
    with ri.open(folder, first) as series:
        series.publish(patients)
        series.audit(attacks=["Fake"])
        series.amend(replace(first, method=ri.MInvariance(m=2)), "too strict")
        series.publish(patients, allow=["same-state"], reason="so it is here")
        series.audit(attacks=["Fake"])
    assert [limits.probability for limits in fake.limits] == [Fraction(1, 4), Fraction(1, 2)]


Drawn = Callable[..., dict[Any, Any]]


@pytest.fixture
def drawn(folder: Path, policy: ri.Policy, fake: type[FakeAttack], patients: pl.DataFrame) -> Iterator[Drawn]:
    with ri.open(folder, policy) as series:
        series.publish(patients.head(16))
        series.publish(patients.tail(12))
        names = series._ledger.people()["id"].to_list()

        def draw(knowledge: Knowledge | None = None, **parameters: Any) -> dict[Any, Any]:
            series.audit(knowledge, attacks=["Fake"], limit=0.5, **parameters)
            known = fake.knowledge[-1]
            return {} if known is None else {names[number]: value for number, value in known.compromised.items()}

        yield draw


def test_compromised_people_are_drawn_with_their_true_values(drawn: Drawn, patients: pl.DataFrame) -> None:
    true = dict(zip(patients["patient"], patients["diagnosis"], strict=True))
    assert drawn() == {}
    assert drawn(compromised=1) == true
    some = drawn(compromised=0.5, seed=3)
    assert 0 < len(some) < 24
    assert some.items() <= true.items()
    assert drawn(compromised=0.5, seed=3) == some
    assert len({tuple(sorted(drawn(compromised=0.5, seed=seed))) for seed in range(6)}) > 3
    sizes = [len(drawn(compromised=0.25, seed=seed)) for seed in range(20)]
    assert abs(np.mean(sizes) - 6) < 4 * np.sqrt(24 * 0.25 * 0.75 / 20)


def test_who_is_known_stays_known(drawn: Drawn) -> None:
    with_one = drawn(Knowledge(compromised={3: "measles"}), compromised=1.0)
    assert len(with_one) == 24
    assert "measles" in with_one.values()


@pytest.mark.parametrize("parameters", [{"compromised": -0.1}, {"compromised": 1.1}, {"compromised": 0.5, "seed": -1}])
def test_wrong_draws(drawn: Drawn, parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        drawn(**parameters)


def test_nobody_held_back_is_drawn(folder: Path, policy: ri.Policy, fake: type[FakeAttack]) -> None:
    # Of four people with two values, three share one: with m = 2 nothing can be balanced for two of them.
    table = pl.DataFrame({
        "patient": ["a", "b", "c", "d"], "age": [20, 30, 40, 50], "sex": ["male"] * 4,
        "diagnosis": ["flu", "asthma", "flu", "asthma"],
    })  # fmt: skip
    more = pl.concat([table, table.head(1).with_columns(patient=pl.lit("e"))])
    withhold = ri.Policy(policy.schema, ri.MInvariance(m=2, shortage="withhold"))
    with ri.open(folder, withhold) as series:
        series.publish(table)
        series.publish(more)
        assert series.private.held_back(2)["person"].to_list() == ["e"]
        series.audit(attacks=["Fake"], compromised=1.0)
        known = fake.knowledge[-1]
        assert known is not None
        assert {series.private.name_of(int(number)) for number in known.compromised} == {"a", "b", "c", "d"}


def test_the_words_of_the_real_attacks_name_nobody_and_nothing(folder: Path, patients: pl.DataFrame) -> None:
    planted = patients.select(
        person="CANARY-" + pl.col("patient"), age="age", value="CANARY-" + pl.col("diagnosis")
    )  # the person and the value of every row are unmistakable
    schema = ri.Schema(person="person", quasi={"age": ri.Numeric()}, sensitive="value")
    policy = ri.Policy(schema, ri.MInvariance(m=2), gate=Gate(limit="1/100"))
    with ri.open(folder, policy) as series:
        with pytest.raises(GateClosed) as caught:
            series.publish(planted)
        assert "CANARY" not in str(caught.value) + repr(vars(caught.value))
        release = series.publish(planted, override="a test")
        assert "CANARY" not in str(release.summary)
        assert "CANARY" not in repr(series.draft(planted, gate=False, allow=["same-state"], reason="so it is here"))


def test_a_gate_without_the_attack_that_proves_the_promise_is_refused() -> None:
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")}
    )
    method = ri.Incremental(l=2)
    with pytest.raises(PolicyError) as caught:
        ri.Policy(schema, method, gate=ri.Gate(attacks=["Worlds"]))
    assert caught.value.problems == (
        "the gate needs the attack 'Channels' to prove what Incremental promises: name it in 'attacks', or "
        "'undecided' in 'accept'",
    )
    ri.Policy(schema, method, gate=ri.Gate(attacks=["Worlds"], accept=["undecided"]))
    with pytest.raises(PolicyError, match="the gate needs the attack 'Worlds'"):
        ri.Policy(schema, method, gate=ri.Gate(attacks=["Channels"]))  # for the first release, which has no pair
    ri.Policy(schema, method, gate=ri.Gate(attacks=["Worlds", "Channels"]))
    ri.Policy(schema, ri.Incremental(l=2, strict=True), gate=ri.Gate(attacks=["Worlds", "Channels"]))


@pytest.mark.parametrize(
    "gate",
    [
        ri.Gate(attacks=["Correlation"]),
        ri.Gate(attacks=["Channels"], accept=["sampled"]),
        ri.Gate(attacks=["Equivalence", "Channels", "Correlation"], limit="1/2"),
    ],
)
def test_a_probability_takes_an_attack_that_bounds_it(gate: Gate) -> None:
    schema = ri.Schema(
        person="person", quasi={"age": ri.Numeric()}, sensitive={"illness": ri.Categorical(new="accept")}
    )
    with pytest.raises(PolicyError) as caught:
        ri.Policy(schema, ri.MInvariance(m=2), gate=gate)
    assert "the gate needs the attack 'Worlds' to prove what MInvariance promises" in str(caught.value)
    ri.Policy(schema, ri.MInvariance(m=2), gate=replace(gate, accept=["undecided"]))
