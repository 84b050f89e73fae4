"""Gate: the attacks that a release must withstand, together with all before it, to be published.

policy = ri.Policy(schema, ri.MInvariance(m=4), gate=ri.Gate(attacks=["Worlds", "Equivalence"], seconds=120))

A gate tests the promise that was made, or the limit it is given, and lets pass what is proven to be within. What an
attack could not decide, or found within the limit by estimate only, keeps it closed, unless the policy accepts that by
name.

What was checked is sealed: a draft that was changed afterwards, or that borrows what a gate said about another one, is
not committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

from reissue.arrays.exact import probability_of
from reissue.attacks import build, default_attacks
from reissue.auditing.limits import ACCEPTABLE
from reissue.errors import GateClosed, GuaranteeBroken, ParameterError, check_text

if TYPE_CHECKING:
    from reissue.auditing.report import AuditReport


@dataclass(frozen=True)
class Gate:
    """What is tried on the whole series before a release is published, and how much it may find."""

    attacks: Sequence[str] = field(default_factory=default_attacks)
    """The attacks, by their names."""
    limit: Fraction | float | str | None = None
    """The largest probability with which anybody may be tied to a value, as a number or as text such as "1/3";
    None: what the method promises, a probability or else how many values must be possible."""
    seconds: float = 60.0
    """How long all attacks together may take; how much work they do follows from it, the same every time."""
    accept: Sequence[str] = ()
    """What else may pass: "undecided" (an attack could not decide), "sampled" (within the limit by estimate)."""

    def __post_init__(self) -> None:
        problems = [*self._attack_problems(), *self._limit_problems(), *self._other_problems()]
        if len(problems) == 1:
            raise ParameterError(problems[0])
        if problems:
            raise ParameterError(f"{len(problems)} parameters of Gate do not fit.", problems=problems)

    def _attack_problems(self) -> list[str]:
        if not _is_names(self.attacks) or not self.attacks:
            return ["The 'attacks' parameter of Gate must be a list of names of attacks, at least one."]
        names = tuple(self.attacks)
        object.__setattr__(self, "attacks", names)
        problems = []
        if len(set(names)) < len(names):
            problems.append("The 'attacks' parameter of Gate must not name an attack twice.")
        for name in names:
            try:
                build(name)
            except ParameterError as error:
                hint = f" Next step: {error.hint}" if error.hint else ""
                problems.append(f"The 'attacks' parameter of Gate: {' '.join([error.what, *error.problems])}{hint}")
        return problems

    def _limit_problems(self) -> list[str]:
        if self.limit is None:
            return []
        exact = probability_of(self.limit)
        if exact is None:
            plain = isinstance(self.limit, str | Real)
            got = repr(self.limit) if plain else f"a {type(self.limit).__name__}"
            return [f"The 'limit' parameter of Gate must be a probability above 0 and up to 1. Got {got} instead."]
        object.__setattr__(self, "limit", exact)
        return []

    def _other_problems(self) -> list[str]:
        problems = []
        number = isinstance(self.seconds, Real) and not isinstance(self.seconds, bool)
        if not number or not isfinite(self.seconds) or self.seconds <= 0:
            got = repr(self.seconds) if number else f"a {type(self.seconds).__name__}"
            problems.append(f"The 'seconds' parameter of Gate must be a number above 0. Got {got} instead.")
        else:
            object.__setattr__(self, "seconds", float(self.seconds))
        if not _is_names(self.accept) or any(word not in ACCEPTABLE for word in self.accept):
            words = " or ".join(f"'{word}'" for word in ACCEPTABLE)
            problems.append(f"The 'accept' parameter of Gate must be a list; what it can hold is {words}.")
        else:
            object.__setattr__(self, "accept", tuple(word for word in ACCEPTABLE if word in self.accept))
        return problems

    @property
    def probability(self) -> Fraction | None:
        """The limit as an exact fraction; None where it is the method's promise."""
        return None if self.limit is None else Fraction(self.limit)

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a policy file."""
        return {
            "attacks": list(self.attacks),
            **({} if self.limit is None else {"limit": str(self.limit)}),
            "seconds": self.seconds,
            "accept": list(self.accept),
        }


@dataclass(frozen=True)
class Passage:
    """What a gate said about a draft: words with counts, nothing about anybody."""

    gate: Gate
    passed: bool
    words: tuple[str, ...]
    """What each attack found, in plain words."""
    seal: str | None = field(repr=False)
    """The seal on what the gate was shown, which is private; None if nobody had the draft in hands by then."""
    left_out: int = 0
    """How many groups of adopted releases were left out, because nobody in them is ever published again."""

    @classmethod
    def of(cls, gate: Gate, report: AuditReport, seal: str | None, left_out: int = 0) -> Passage:
        """What a report means for the gate."""
        words = tuple(f"{name} ({one.status}): {one.words}" for name, one in report.judgements.items())
        return cls(gate, report.passed, words, seal, left_out)

    def summary(self) -> dict[str, Any]:
        """What the private record of a release keeps of it."""
        return {
            **self.gate.to_dict(),
            "verdict": "passed" if self.passed else "closed",
            "found": list(self.words),
            **({"groups_left_out": self.left_out} if self.left_out else {}),
        }


def another_draft() -> GateClosed:
    """The refusal of a draft with which a passage comes that was not given for it."""
    return GateClosed(
        "This draft is not the one that the gate let pass: its tables, its groups, its policy or the release before "
        "it are others. Nothing was published.",
        hint="draft again, and leave the draft as it is.",
    )


def unchecked_tables() -> GuaranteeBroken:
    """The refusal of a draft whose tables were changed."""
    return GuaranteeBroken(
        "The tables of this draft are not those that were checked when it was made. Nothing was published.",
        hint="draft again, and leave the draft as it is; what must be changed is changed in the table it is made from.",
    )


def closed(passage: Passage) -> GateClosed:
    """The refusal of a draft that the gate does not let pass."""
    return GateClosed(
        "The gate of the policy is closed: the series with this release is not proven to keep within the limit. "
        "Nothing was published.",
        problems=passage.words,
        hint="look at the findings: `reissue publish --dry-run --report gate.html`, or "
        "series.audit(draft=series.draft(table, gate=False)). To publish all the same, give a written reason, which "
        'the ledger keeps: `--override "..."`, or series.publish(table, override="...").',
    )


def never_shown() -> GateClosed:
    """The refusal of a draft that was not shown to the gate."""
    return GateClosed(
        "The policy has a gate, and this draft did not go through it. Nothing was published.",
        hint="draft without gate=False; or give a written reason, which the ledger keeps: "
        'series.commit(draft, override="...").',
    )


def written_reason(override: str | None, gate: Gate | None) -> str | None:
    """The reason for passing a closed gate, if one is given: it must say something, and there must be a gate."""
    if override is None:
        return None
    if gate is None:
        raise ParameterError("There is nothing to override: the policy has no gate.", hint="leave 'override' out.")
    if not isinstance(override, str) or not override.strip():
        got = "an empty text" if isinstance(override, str) else f"a {type(override).__name__}"
        raise ParameterError(
            f"The 'override' parameter must say why the release goes out all the same. Got {got} instead."
        )
    check_text("The 'override' parameter", override)
    return override.strip()


def _is_names(names: object) -> bool:
    return isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
