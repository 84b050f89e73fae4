"""Methods as a policy has them, with the reason for each in a comment."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from reissue.model.toml_text import quoted
from reissue.publishing.proposals.choosing_method import USUAL_M, Sets, largest_m
from reissue.publishing.proposals.policy_text import Method
from reissue.publishing.proposals.seen_changes import OF_EVENTS, Changes


def alternatives(sets: Sets, *, k: int | None, changes: Changes | None, events: bool, command: str | None) -> Method:
    """Sets of values, or of records."""
    several = len(sets.columns) > 1
    what = "records" if several else "values"
    parameters = {"m": (str(sets.m), f"GUESS: everybody with {sets.m} {what}, one of them true: a rare value has 1/m")}
    if not several and (limit := sets.limits[sets.columns[0]]) * sets.m > 1:
        slots = f"{limit.numerator * sets.m // limit.denominator}/{sets.m}"
        parameters["limit"] = (quoted(slots), "GUESS: but for frequent values, which may be as likely as this")
    parameters["epsilon"] = (
        f"{sets.epsilon:g}",
        f"GUESS: the noise of the shares that {what} are drawn by; less hides more",
    )
    if k is not None:
        parameters["k"] = (
            str(k), "GUESS: days and postcodes are as good as names, so regions of k people or more; without it: exact",
        )  # fmt: skip
    if rate := _rate(changes, events):
        parameters["change"] = (f"{rate:g}", _of_rate(changes, rate))
    instead = [*_of_change(changes, events, command, several)]
    if k is None:
        instead.append("Quasi-identifiers are published exactly. For regions of at least 10 people each:")
        instead.append("k = 10")
    return Method(
        "Alternatives",
        f"protects the series: {what} among {what}; nobody is withheld, nobody is made up",
        parameters,
        sets.limits if several else {},
        tuple(instead),
    )


def _rate(changes: Changes | None, events: bool) -> float | None:
    if changes is not None:
        return changes.rate if changes.changed else None
    return OF_EVENTS if events else None


def _of_rate(changes: Changes | None, rate: float) -> str:
    if changes is None:
        return "GUESS: a new event brings a new value. Low on purpose: too high is dangerous, too low harms little"
    return (
        f"GUESS: {changes.words}; no frequent one is redrawn less often than this. Low on purpose: too high is "
        "dangerous, too low harms little"
    )


def _of_change(changes: Changes | None, events: bool, command: str | None, several: bool) -> list[str]:
    if changes is None:
        if events:
            return ["`reissue init` with the tables of several periods says how often values change."]
        return [
            "Values are taken to be static: a table in which somebody's changed is refused. If they change, 'change' "
            "says how often, rather too seldom than too often; it can be recorded later with `reissue amend`."
        ]
    if not changes.changed:
        return [f"Values are taken to be static: {changes.words}."]
    if several or command is None:
        return []
    return [
        "Values that stay long and values that change soon have one rate here. A table of change says it for each, and",
        "promises more; values of later releases can then not be estimated. This counts one, with noise, before the",
        "first release; then in place of epsilon and change:",
        f"  {command}",
        'reference = "shares.csv"',
        'change = "moves.csv"',
    ]


def m_invariance(values: pl.Series, why_not: str, changes: Changes | None, sets: bool) -> Method:
    """Groups that protect a series."""
    parameters = {
        "m": (
            str(largest_m(values)),
            "GUESS: nobody can be tied to a value with more than 1/m; common values cost counterfeits",
        )
    }
    instead = []
    if changes is not None and changes.changed:
        instead += [
            f"{changes.words}: whoever's value leaves their set is withheld from then on.",
            'changed = "reinsert"  # publishes them as new: 1/m then holds for each record, not for the person',
        ]
    return Method(
        "MInvariance", "protects the series: everybody keeps one set of m values in all releases", parameters,
        instead=(*instead, *_growing(values), *_sets_from_outside(why_not, sets)),
    )  # fmt: skip


def mondrian(values: pl.Series, k: int, why_not: str, sets: bool) -> Method:
    """Groups of one release."""
    parameters = {
        "k": (str(k), f"GUESS: at least {k} people in a group"),
        "l": (str(_largest_l(values)), "GUESS: so many distinct sensitive values in a group"),
    }
    return Method(
        "Mondrian", "protects each release alone: one value is too frequent for MInvariance", parameters,
        instead=(*_growing(values), *_sets_from_outside(why_not, sets)),
    )  # fmt: skip


def _largest_l(values: pl.Series) -> int:
    return min(3, values.n_unique())


def _growing(values: pl.Series) -> list[str]:
    return [
        "For a table that only grows, in which nobody leaves and nothing changes:",
        'name = "Incremental"',
        f"l = {_largest_l(values)}",
        "strict = true",
    ]


def _sets_from_outside(why_not: str, sets: bool) -> list[str]:
    if not sets:
        return [f"Alternatives, sets of values instead of groups, is not proposed: {why_not}."]
    return [
        "For sets instead of groups: everybody with m values of which one is true, nobody withheld, nobody made up.",
        f"It is not proposed because {why_not}. In place of the lines above, without the line 'form' at the top:",
        'name = "Alternatives"',
        f"m = {USUAL_M}  # GUESS: nobody can be tied to a value with more than 1/m",
        f'limit = "2/{USUAL_M}"  # GUESS: but for frequent values, which may be as likely as this',
        'reference = "shares.csv"  # values and shares from outside: the table does not give its own',
    ]


def parameters_of(method: Method) -> Mapping[str, str]:
    """The parameters alone, as TOML writes them."""
    return {name: value for name, (value, _) in method.parameters.items()}
