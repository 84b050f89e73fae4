"""Which methods are tried on a series, with which parameters: those that may fit it, the most promising first.

All are asked for the same m, l or k, the one of the policy. `EEquivalence` and `CorSplit` have e and n of m / 2.
`Alternatives` is also tried with half and twice the m, and with columns `given` whose cells are large enough: those
that tell most about the value. What a method needs beside m is taken from the tables:

| parameter               | what is taken                                                                            |
|-------------------------|------------------------------------------------------------------------------------------|
| m of methods for groups | that of the policy, or less where a value is too frequent: at most 1 / its share         |
| `limit`                 | as little above 1/m as the most frequent value needs: what is not refused                |
| `epsilon`               | 0.1, or 1 where with 0.1 many people have a value too rare for a share of its own        |
| `given`                 | columns whose cells are in the first table, and large enough for shares of their own     |
| `change`                | the least rate seen between two tables, rounded down; withheld where it is below 0.001   |

What the policy says of its own method goes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from reissue.comparing.series_tables import SeriesTables
from reissue.errors import PolicyError, UserError
from reissue.methods.alternatives.alternatives import Alternatives
from reissue.methods.alternatives.reference import too_few
from reissue.methods.base import Method
from reissue.methods.cor_split.cor_split import CorSplit
from reissue.methods.e_equivalence import EEquivalence
from reissue.methods.hd_composition.hd_composition import HDComposition
from reissue.methods.incremental.incremental import Incremental
from reissue.methods.invariance.m_invariance import MInvariance
from reissue.methods.partition.mondrian import Mondrian
from reissue.model.change import Renewal, change_of
from reissue.model.schema import Schema
from reissue.publishing.policy import Form, Ids, Policy

NO_LINK = "no link at all"
"""Quasi-identifiers and values apart, both as they are: what a method must beat."""
USUAL_M = 4
"""How many values everybody is hidden among where the policy does not say."""
EPSILONS = (0.1, 1.0)
"""How much noise the shares of the first table get that sets are drawn by: much, or less."""
RARE = 0.02
"""So many people may have a value that is published as one with others before less noise is tried."""
LARGE = 0.9
"""Columns are `given` if so many of the people are in cells that are large enough for shares of their own."""
ENOUGH = 3
"""From so many tables on it counts that nobody left and nothing changed, for methods that take no such table."""
GIVEN = 2
"""So many columns are tried as `given`, and all of them together."""


@dataclass(frozen=True, repr=False)
class Candidate:
    """A method with its parameters, or several settings of them of which the first that is not refused is taken."""

    name: str
    kind: str
    """The name of the method."""
    settings: tuple[Policy, ...] = ()
    why_not: str | None = None
    """Why there is no policy with it."""
    changed: str = ""
    """What it makes of values that change."""

    def __repr__(self) -> str:
        return f"Candidate({self.name})"


def half(m: int) -> int:
    """The e and n for an m."""
    return max(m // 2, 1)


def asked_m(policy: Policy) -> int:
    """How many values everybody is to be hidden among, by the method of a policy."""
    method: Any = policy.method
    for name in ("m", "l"):
        if isinstance(found := getattr(method, name, None), int) and found >= 2:
            return found
    bounds = [promise.bounds.value for promise in policy.promises if promise.bounds.value is not None]
    return max(2, int(1 / min(bounds))) if bounds and min(bounds) <= Fraction(1, 2) else USUAL_M


def feasible_m(tables: SeriesTables, m: int) -> int:
    """The m of methods for groups: no value may be more frequent than 1/m. Where that leaves 1, the m asked for."""
    most = int(1 / tables.largest_share + 1e-9)
    return min(m, most) if most >= 2 else m


def suggested(tables: SeriesTables, policy: Policy) -> list[Candidate]:
    """All that is tried, the most promising first; what cannot be is there with the reason."""
    m = asked_m(policy)
    m_groups = feasible_m(tables, m)
    sets = _Sets(tables, policy, m)
    given = sets.given()
    of_groups = [
        _groups(policy, "MInvariance, anatomised", "anatomised", lambda: MInvariance(m_groups), WITHHELD),
        _groups(policy, "MInvariance, generalised", "generalised", lambda: MInvariance(m_groups), WITHHELD),
        _groups(
            policy,
            "EEquivalence",
            "generalised" if _asks_for_regions(policy) else "anatomised",
            lambda: EEquivalence(m_groups, half(m_groups)),
            WITHHELD,
        ),
        _groups(
            policy,
            "CorSplit",
            "anatomised" if policy.schema.as_is else "generalised",
            lambda: CorSplit(m_groups, half(m_groups)),
            WITHHELD,
        ),
        _groups(policy, "Incremental", "generalised", lambda: _incremental(m_groups), "refused"),
        _groups(policy, "HDComposition", "generalised", lambda: HDComposition(m_groups), "published as they are"),
    ]
    reinserting = _groups(
        policy, "MInvariance, reinserting", "anatomised", lambda: MInvariance(m_groups, changed="reinsert"), AS_NEW
    )
    unprotected = _groups(
        policy,
        "Mondrian, unprotected",
        "generalised",
        lambda: Mondrian(k=m_groups, l=min(m_groups, max(tables.first_counts.size, 1))),
        "shown as they are, each release by itself",
    )
    if len(tables.frames) < ENOUGH:
        of_groups[4] = _refusing(of_groups[4], f"fewer than {ENOUGH} tables do not show that nobody ever leaves")
    first = [sets.candidate(m), of_groups[0], *(sets.candidate(m, one) for one in given[:1])]
    later = [sets.candidate(other) for other in sets.other_sizes()]
    later += [sets.candidate(m, one) for one in given[1:]]
    tried = [*first, *of_groups[1:], unprotected, *later, *([reinserting] if tables.changed else [])]
    own = _own(policy, [setting for one in tried for setting in one.settings])
    tried = [*([own] if own else []), *tried]
    if tables.several_rows is None:
        return tried
    return [one if one.kind == HDComposition.name else _refusing(one, tables.several_rows) for one in tried]


WITHHELD = "withheld, once it left their signature"
AS_NEW = "published as new: 1/m for records"


def _refusing(candidate: Candidate, why: str) -> Candidate:
    return replace(candidate, settings=(), why_not=why)


def _own(policy: Policy, others: Sequence[Policy]) -> Candidate | None:
    """The policy as it was given, where no other candidate is the same."""
    made = [(one.method, one.form) for one in others]
    if (policy.method, policy.form) in made or not policy.method.protects_series:
        return None
    rehearsed = replace(policy, people=Ids(), gate=None, anchor=None)
    name = policy.method.name
    return Candidate(f"the policy: {name}", name, (rehearsed,), changed="as the policy says")


def _incremental(m: int) -> Method:
    return Incremental(m, diversity="share", strict=True)


def _asks_for_regions(policy: Policy) -> bool:
    """Whether quasi-identifiers must not be published exactly."""
    return isinstance(policy.method, Alternatives) and bool(policy.method.k)


def _groups(policy: Policy, name: str, form: Form, method: Callable[[], Method], changed: str) -> Candidate:
    kind = name.partition(",")[0]
    if form == "anatomised" and _asks_for_regions(policy):
        why = "the policy asks for regions of quasi-identifiers (k), and this form publishes them exactly"
        return Candidate(name, kind, why_not=why, changed=changed)
    try:
        made = _policy(policy, method(), form)
    except UserError as error:
        return Candidate(name, kind, why_not=in_one_line(error), changed=changed)
    return Candidate(name, kind, (made,), changed=changed)


def _policy(policy: Policy, method: Method, form: Form) -> Policy:
    """The policy with another method; permanent values and protected sets only where the method knows them."""
    schema = policy.schema
    knows = method.takes.registry or (isinstance(method, Alternatives) and _renews(method))
    if schema.permanent and not knows:
        schema = _without(schema, permanent=())
    if schema.protect and isinstance(method, Alternatives):
        schema = _without(schema, protect=())
    return Policy(
        schema,
        method,
        form,
        series="protected" if method.protects_series else "unprotected",
        disclose=policy.disclose if form != "alternatives" else (),
        checks=policy.checks,
    )


def _renews(method: Alternatives) -> bool:
    return isinstance(change_of(method.change), Renewal)


def _without(schema: Schema, **parts: Any) -> Schema:
    """The schema but for some of what it says."""
    said = {
        "permanent": schema.permanent, "protect": schema.protect, "limits": dict(schema.limits),
        "events": schema.events, **parts,
    }  # fmt: skip
    return Schema(
        schema.person, dict(schema.quasi), dict(schema.sensitive_columns), dict(schema.as_is), schema.drop, **said
    )


def in_one_line(error: UserError | Any) -> str:
    """What an error says, without its next step; of a policy that contradicts itself, where."""
    head = [] if isinstance(error, PolicyError) and error.problems else [error.what.rstrip(".")]
    return "; ".join([*head, *error.problems]).rstrip(".")


class _Sets:
    """The settings of `Alternatives` that are tried."""

    def __init__(self, tables: SeriesTables, policy: Policy, m: int) -> None:
        self._tables, self._policy, self._m = tables, policy, m
        self._base: dict[str, Any] = {}
        if isinstance(policy.method, Alternatives):
            self._base = {name: value for name, value in policy.method.parameters.items() if name != "m"}

    def candidate(self, m: int, given: Sequence[str] = ()) -> Candidate:
        """`Alternatives` with an m and columns given, and whatever else it needs."""
        name = f"Alternatives, m = {m}" + (f", given {' and '.join(given)}" if given else "")
        try:
            made = tuple(self._settings(m, given))
        except UserError as error:
            return Candidate(name, Alternatives.name, why_not=in_one_line(error))
        return Candidate(name, Alternatives.name, made, changed=self._words())

    def _settings(self, m: int, given: Sequence[str]) -> Iterator[Policy]:
        base = {**self._base, **self._change(), "given": tuple(given)}
        fixed = "limit" in base or "limits" in base
        if "limit" in base and Fraction(str(base["limit"])) < Fraction(1, m):
            base["limit"] = str(Fraction(1, m))
        for epsilon in self._epsilons():
            for slots in range(1, m if not fixed else 2):
                own = {} if slots == 1 else {"limit": f"{slots}/{m}"}
                yield _policy(self._policy, Alternatives(m, **{**epsilon, **base, **own}), "alternatives")

    def _epsilons(self) -> list[dict[str, float]]:
        if "epsilon" in self._base or "reference" in self._base:
            return [{}]
        merge = float(self._base.get("merge", 10.0))
        able = [one for one in EPSILONS if self._tables.rare(too_few(Fraction(str(one)), merge, 1)) <= RARE]
        return [{"epsilon": one} for one in able or EPSILONS[-1:]]

    def _change(self) -> dict[str, Any]:
        if "change" in self._base or not self._tables.changed:
            return {}
        return {"changed": "withhold"} if self._tables.rate is None else {"change": self._tables.rate}

    def _words(self) -> str:
        change = self._change()
        if "change" in change:
            return f"a new set, at a declared rate of {change['change']:g}"
        if change:
            return "withheld: too few change to declare a rate"
        return "a new set, as declared" if "change" in self._base else ""

    def other_sizes(self) -> list[int]:
        """Half and twice the m, where there are values for it."""
        values = self._tables.first_counts.size
        return [m for m in (2 * self._m, self._m // 2) if 2 <= m < values and m != self._m]

    def given(self) -> list[tuple[str, ...]]:
        """The columns to try: those that tell most about the value, then all of these together."""
        base = self._base
        if self._tables.schema.several or "k" in base or "reference" in base or not self._tables.states:
            return [tuple(base["given"])] if "given" in base else []
        able = [name for name in self._tables.labels() if self._large((name,))]
        told = {name: self._tables.tells((name,)) for name in able}
        best = sorted((name for name in able if told[name] > 0), key=lambda name: (-told[name], name))[:GIVEN]
        found: list[tuple[str, ...]] = [(name,) for name in best]
        if len(best) > 1 and self._large(tuple(best)):
            found.append(tuple(best))
        if "given" in base and tuple(base["given"]) not in found:
            found.insert(0, tuple(base["given"]))
        return found

    def _large(self, columns: tuple[str, ...]) -> bool:
        if self._tables.new_cells(columns):
            return False
        sizes = self._tables.cell_sizes(columns)
        epsilon = float(self._base.get("epsilon", EPSILONS[-1]))
        few = too_few(Fraction(str(epsilon)), float(self._base.get("merge", 10.0)), sizes.size)
        return sizes.size > 1 and float(sizes[sizes >= few].sum()) >= LARGE * float(sizes.sum())
