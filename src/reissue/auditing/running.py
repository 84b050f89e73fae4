"""audit(): attack a series of releases, hold what comes out against limits, and report.

report = ri.audit(view, knowledge=ri.Knowledge(compromised={"Bob": "flu"}), limit=1/2)
report.passed, report.findings, report.to_html("report.html")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from fractions import Fraction
from numbers import Real
from time import perf_counter
from typing import Literal

from reissue import attacks as family
from reissue.arrays.budget import Budget, OutOfTime, steps_in
from reissue.attacks.base import Attack, Judgement, Limits, is_asked
from reissue.auditing.claims import with_the_rarest
from reissue.auditing.hidden_rows import unless_hidden
from reissue.auditing.leaning import Leaning
from reissue.auditing.limits import ACCEPTABLE, limits_of, with_columns
from reissue.auditing.report import AuditReport, Run, runs_of
from reissue.auditing.sharing import Sharing, listener_of
from reissue.errors import ParameterError, count_of, listed
from reissue.model.knowledge import Knowledge
from reissue.model.libraries import Library, check_library
from reissue.model.promise import Promise, Promising, promise_of
from reissue.model.published import Published
from reissue.model.telling import listening
from reissue.reasoning.alternatives.set_histories import any_renewed
from reissue.reasoning.assumptions.assumed import assumptions_of
from reissue.reasoning.worlds.residual import without_recognised

MOST = 100
"""How many findings of an attack are kept; all are counted."""

BRIDGED = 2_000_000
"""Sets with so many slots in all are taken for groups, by attacks that know nothing else."""

UNASKED = 5.0
"""So many seconds at most for an attack that no limit asks about."""
SEED = 0
"""What attacks draw with that are given by name, so that they draw the same again."""
NOT_BEGUN = "It was not begun: the time was over."
BY_CLOCK = "The time was over before its steps were: another run may find other figures."
BY_STEPS = "It did not go on when its steps were used up; with more of them it may."


def audit(
    published: Published,
    knowledge: Knowledge | None = None,
    *,
    attacks: Iterable[Attack | str] | None = None,
    limit: float | Fraction | str | None = None,
    form: str | None = None,
    seconds: float = 60.0,
    steps: int | None = None,
    threshold: float = 0.09,
    promises: Iterable[Promise | Promising] = (),
    accept: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
    frames: Library = "polars",
) -> AuditReport:
    """Attack a series as an outsider would, and say whether what they learn is within limits.

    `limit` is the largest probability with which anybody may be tied to a value; without it the limits follow from
    `promises`, what the method gave: a probability, or else how many values must be possible. `attacks` are names or
    attacks. All together take `seconds` at most, and do so many `steps` of work (None: as many as usually fit). The
    same input and steps give the same figures; where the time was over first, the report says so. `form` says how the
    releases were published, `threshold` above which re-identification risk a row is at risk. What is `undecided` or
    `sampled` fails unless `accept` names it.
    `progress` is called with each stage as it begins, and its `part`, if it has one, with the share that is done.
    `frames` is the library that the report's tables come back in.
    """
    return attacked(
        published,
        knowledge,
        attacks=attacks,
        limit=limit,
        form=form,
        seconds=seconds,
        steps=steps,
        threshold=threshold,
        promises=promises,
        accept=accept,
        progress=progress,
        frames=frames,
    )


def attacked(
    published: Published,
    knowledge: Knowledge | None = None,
    *,
    attacks: Iterable[Attack | str] | None = None,
    limit: float | Fraction | str | None = None,
    form: str | None = None,
    seconds: float = 60.0,
    steps: int | None = None,
    threshold: float = 0.09,
    promises: Iterable[Promise | Promising] = (),
    accept: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
    frames: Library = "polars",
    marked: bool = False,
) -> AuditReport:
    """The same; `marked`: a ledger knows which conclusions are wrong, so that what an outsider would conclude from what
    the releases contradict is told all the same, and marked."""
    check_library(frames, "audit")
    accepted = _check(published, knowledge, form, seconds, steps, threshold, accept)
    sharing = Sharing(float(seconds), steps_in(seconds) if steps is None else steps)
    promised = tuple(promise_of(promise) for promise in promises)
    limits = with_columns(limits_of(limit, promised, releases=len(published.releases)), published)
    if knowledge is not None and (knowledge.permanent or knowledge.change is not None):
        # Where values change, what two releases leave of them is nothing to compare.
        limits = replace(limits, diversity=None, history_diversity=None)
    attacks = [attacks] if isinstance(attacks, str) else attacks
    nameless = all(release.space is not None for release in published.plain) and not published.sets
    named = [*(family.default_attacks(nameless=nameless) if attacks is None else attacks)]
    chosen = [_built(attack, limits, seconds, knowledge) for attack in named]
    if not chosen:
        raise ParameterError("The 'attacks' parameter of audit must name at least one attack.")
    unused: tuple[str, ...] = ()
    if knowledge is not None:
        knowledge, unused = _usable(published, knowledge)
        _check_knowledge(published, knowledge)
    # Counterfeits that are known with their values are nobody to any attack.
    seen, beside = without_recognised(published, knowledge)
    if progress is not None:
        progress("Testing assumptions")
    with sharing.testing() as deadline:
        assumed = assumptions_of(seen, beside, deadline)
    if marked:
        # By which rule its groups were formed a series of one's own knows itself.
        assumed = tuple(one for one in assumed if one.name != "groups-minimal")
    leaning = Leaning.of(assumed, seen, marked=marked)
    beside = leaning.knowledge(beside)
    runs: dict[int, Run] = {}
    for at in sharing.in_order(chosen, limits):
        if progress is not None:
            progress(f"Attacking with {chosen[at].name}")
        attack = _built(named[at], limits, sharing.next_seconds, knowledge)
        with listening(listener_of(progress)), sharing.spending() as budget:
            runs[at] = _run(attack, seen, beside, limits, budget, leaning)
    if not marked:
        refuted = [one for run in runs.values() if run.findings is not None for one in run.findings.disproved]
        assumed = leaning.without(refuted).assumptions
    told = AuditReport(
        seen,
        knowledge,
        limits,
        runs_of([runs[at] for at in sorted(runs)]),
        threshold,
        form,
        accept=accepted,
        promises=tuple(promised),
        assumptions=assumed,
        marked=marked,
        remarks=unused,
    )
    return replace(told, library=frames)


def _run(
    attack: Attack,
    published: Published,
    knowledge: Knowledge | None,
    limits: Limits,
    budget: Budget,
    leaning: Leaning,
) -> Run:
    began = perf_counter()
    if aside := _steps_aside(attack, published):
        return Run(attack.name, attack, Judgement("not asked", aside), None, 0.0)
    if knowledge is not None and knowledge.permanent and attack.static:
        other = family.proving("probability", permanent=True)
        words = f"It takes values to be static, and here all but the permanent ones may change; {other} is for that."
        return Run(attack.name, attack, Judgement("not asked", words), None, 0.0)
    if knowledge is not None and knowledge.change is not None and attack.static and not attack.changes:
        words = f"It takes values to be static, and here {knowledge.change.words}; Worlds is for that."
        return Run(attack.name, attack, Judgement("not asked", words), None, 0.0)
    open_now: Literal["undecided", "not asked"] = "undecided" if is_asked(attack, limits) else "not asked"
    if withdrawn := leaning.withdrawn(attack):
        return Run(attack.name, attack, Judgement(open_now, withdrawn), None, 0.0)
    if budget.over and open_now == "not asked":
        return Run(attack.name, attack, Judgement(open_now, NOT_BEGUN), None, 0.0, budget)
    try:
        run = attack.run_alone if leaning.apart(attack, knowledge) else attack.run
        findings = run(published, knowledge)
    except ParameterError as cannot:
        # The view does not tell this attack enough; what it was to judge stays open.
        reason = " ".join([cannot.what, *cannot.problems, *([f"Next step: {cannot.hint}"] if cannot.hint else [])])
        judgement = Judgement(open_now, f"It cannot run on this view. {reason}")
        return Run(attack.name, attack, judgement, None, perf_counter() - began)
    except OutOfTime:
        # Before it had anything to tell.
        judgement = Judgement(open_now, "It came to no result.")
        return Run(attack.name, attack, _stopped(judgement, budget), None, perf_counter() - began, budget)
    if not leaning.marked:
        leaning, findings = leaning.without(findings.disproved), findings.withdrawn()
    findings = leaning.conditional(attack, findings)
    judgement = unless_hidden(findings.judge(limits, most=MOST), published)
    judgement = leaning.resting(attack, with_the_rarest(attack, findings, judgement, limits))
    if knowledge is not None and knowledge.counterfeits and not attack.argues:
        judgement = _without_the_argument(attack, judgement, limits)
    return Run(attack.name, attack, _stopped(judgement, budget), findings, perf_counter() - began, budget)


def _stopped(judgement: Judgement, budget: Budget) -> Judgement:
    """The judgement with a word on what ended the work, where it was the clock, or where steps left something open."""
    by_steps = budget.stopped == "steps" and judgement.status in ("undecided", "sampled")
    words = BY_CLOCK if budget.stopped == "clock" else BY_STEPS if by_steps else None
    return judgement if words is None else replace(judgement, words=f"{judgement.words} {words}")


def _steps_aside(attack: Attack, published: Published) -> str | None:
    """Why an attack has nothing to say about releases of sets; None where it has."""
    if not published.sets or attack.sets == "tracks":
        return None
    other = f"{family.proving('probability', sets=True)} is for that."
    if attack.sets == "none":
        words = "Everybody is shown with a set of values of their own, one of them true: there are no groups to compare"
        return f"{words}; {other}"
    if sum(one.codes.size for one in published.sets) > BRIDGED:
        return f"It would take every set for a group of its own, and these are too many; {other}"
    if any_renewed(published.sets):
        return f"Some people have another set than before. It takes values to be static; {other}"
    return None


def _without_the_argument(attack: Attack, judgement: Judgement, limits: Limits) -> Judgement:
    """What an attack says that does not argue from what counterfeits cannot be: it proves nothing about who does."""
    judged = attack.judges or tuple(field.name for field in fields(Limits))
    asked = {limit for limit in judged if getattr(limits, limit) is not None}
    # What an attack proves that does argue from it, this one need not.
    elsewhere = {limit for kind in family.ATTACKS.values() if kind.argues for limit in kind.proves}
    if judgement.status != "within" or asked <= elsewhere - {*attack.proves}:
        return judgement
    words = f"{judgement.words} That is without what is known of counterfeits, from which it does not argue."
    return replace(judgement, status="undecided", words=words)


def _built(attack: Attack | str, limits: Limits, seconds: float, knowledge: Knowledge | None) -> Attack:
    """The attack itself; one given by name gets what it can take of the time and the limits."""
    if not isinstance(attack, str):
        if not isinstance(attack, Attack):
            raise ParameterError(
                f"The 'attacks' parameter of audit must hold attacks or their names. Got a {type(attack).__name__}.",
                hint=f"choose among {listed(list(family.ATTACKS))}.",
            )
        _check_own_limit(attack, limits, knowledge)
        return attack
    kind = family.kind_of(attack)
    # What is told beside a limit takes its time too.
    told = any(getattr(limits, limit) is not None for limit in kind.tells)
    if kind.judges and not is_asked(kind, limits) and not told:
        seconds = min(seconds, UNASKED)
    offered = {"seconds": seconds, "seed": SEED, **{name: getattr(limits, limit) for name, limit in kind.takes.items()}}
    taken = inspect.signature(kind).parameters
    return family.build(attack, **{name: value for name, value in offered.items() if name in taken})


def _check_own_limit(attack: Attack, limits: Limits, knowledge: Knowledge | None) -> None:
    """Where values are counted, an attack that asks for fewer than were promised would prove something else.

    Where it is known who waited, it would conclude from a smaller l than the lists were kept for.
    """
    own = getattr(attack, "l", None) if attack.takes.get("l") == "diversity" else None
    waited = knowledge is not None and bool(knowledge.waiting) and knowledge.method is not None
    counted = (limits.probability is None or waited) and limits.diversity is not None
    if counted and isinstance(own, int) and own < (limits.diversity or 0):
        raise ParameterError(
            f"The 'l' parameter of {attack.name} must be at least {limits.diversity}, as was promised. "
            f"Got {own} instead.",
            hint="leave 'l' out: then the promise says how many values there must be.",
        )


def _check(
    published: object,
    knowledge: object,
    form: object,
    seconds: object,
    steps: object,
    threshold: object,
    accept: Iterable[str],
) -> frozenset[str]:
    problems = []
    if not isinstance(published, Published):
        problems.append(f"'published' must be a Published view. Got a {type(published).__name__} instead.")
    elif not published.releases:
        problems.append("'published' has no release yet.")
    elif not any(one.people.size for one in published.sets) and not any(one.rows.sum() for one in published.plain):
        problems.append("'published' has no rows.")
    if knowledge is not None and not isinstance(knowledge, Knowledge):
        problems.append(f"'knowledge' must be a Knowledge. Got a {type(knowledge).__name__} instead.")
    if form not in (None, "generalised", "anatomised", "alternatives"):
        problems.append("'form' must be 'generalised', 'anatomised', 'alternatives' or left out.")
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not float(seconds) > 0:
        problems.append("'seconds' must be a number above 0.")
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
        problems.append("'steps' must be a whole number of at least 1, or None.")
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 < float(threshold) <= 1:
        problems.append("'threshold' must be a probability above 0 and up to 1.")
    accepted = frozenset([accept] if isinstance(accept, str) else accept)
    if not accepted <= {*ACCEPTABLE}:
        problems.append(f"'accept' may name {listed(ACCEPTABLE)} only.")
    if problems:
        raise ParameterError("The parameters of audit do not fit.", problems=problems)
    return accepted


def _usable(published: Published, knowledge: Knowledge) -> tuple[Knowledge, tuple[str, ...]]:
    """What can be used of knowledge where the registry does not fit, so that nobody is looked for; and what cannot."""
    fits = all(one.carries for one in published.tested if one.name == "registry-complete")
    if fits or not knowledge.compromised:
        return knowledge, ()
    known = count_of(len(knowledge.compromised), "compromised person", "compromised people")
    words = f"What is known of {known} is not used: the registry does not fit the releases, and nobody is looked for."
    return replace(knowledge, compromised={}), (words,)


def _check_knowledge(published: Published, knowledge: Knowledge) -> None:
    """Mistakes about people and values are the caller's to put right; they must not look like an attack that failed."""
    if knowledge.compromised:
        knowledge.known_values(published)
    if knowledge.waiting:
        knowledge.waiting_people(published)
    if knowledge.present:
        knowledge.participation(published)
    if knowledge.counterfeits:
        knowledge.recognised(published)
