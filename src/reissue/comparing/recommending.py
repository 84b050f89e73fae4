"""Which method to take, in plain words, by rules that are written here and nowhere else.

A method is **fit** if it

1. protects the series, and people in it rather than records;
2. costs little: at most 5 % of people withheld, 5 % of rows counterfeit, 5 % of values replaced, in any release, and
   not more than `[checks]` of the policy lets pass;
3. withstands: of groups at most 1 % of people are found above the limit, of sets at most 5 % far above it, by somebody
   who knows exactly how values moved; sets for which that could not be worked out answer for other sets too;
4. is worth it: the error of counts is at least a tenth below that with no link at all, and of five slopes beyond chance
   or more at least four in five keep their sign.

Of those that are fit, the ones that promise what was asked for go before stronger promises. Weaker ones are taken only
where nothing that was measured promises as much as was asked; otherwise they are named as what would be fit. Of these
those that hide rare values as well as was asked go first, and else the sentence says that they do not. Of the others
the one with the least price is taken: the error of counts times what somebody's own row adds to guesses about them (at
least a point). Where none is fit, what stands in the way is said, and what to do about it. What was not tried in time
is named before all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reissue.comparing.suggested import NO_LINK
from reissue.errors import count_of
from reissue.publishing.checking.outgrown_shares import OUTGROWN

MOST_LOST = 0.05
"""So many people may be withheld, rows counterfeit, values replaced."""
MOST_ABOVE = 0.01
"""So many people may be found above the limit in releases of groups."""
MOST_FAR_ABOVE = 0.05
"""So many may be far above it, by somebody who knows how values moved, in releases of sets."""
NEARER = 0.9
"""Counts are of use if their error is at most so much of that with no link at all."""
KEPT = 0.8
"""So many slopes must keep their sign."""
FEW_SLOPES = 5
"""Of fewer slopes nothing follows."""
FLAT = 0.8
"""Slopes of less than so much of their size are told to be flattened."""
POINT = 0.01
"""An advantage below this counts as this: what is less is as good as none."""
SAME = 1e-9

AS_ASKED, STRONGER, WEAKER = range(3)
"""How a promise stands to what was asked for."""

Row = Mapping[str, Any]

PROTECTS, COSTS, CHECKS, WITHSTANDS, WORTH = "protects", "costs", "checks", "withstands", "worth"
"""The rules; that of costs is also that no check of them would refuse a release."""
TWO_TABLES = (
    "two tables without a link (one without the sensitive column, its rows in random order; the other says how often "
    "each value is)"
)
"""What no method is needed for."""
OVER_SERIES = (
    "In one release that ties nobody to a value; over several, counts that differ tell what those have who came or "
    "left, if these are few. How to make them is on the page 'Which method?'."
)
FORMS = {
    "alternatives": "recipients get m values for everybody, one of them true, and estimate with errors",
    "generalised": "recipients get ranges in place of exact columns",
    "anatomised": "recipients see values by group only, and it is plain who is in the table",
}


@dataclass(frozen=True)
class Situation:
    """What is known of the tables beside the rows."""

    asked: float
    """The probability that nobody is to be tied to a value with more than."""
    people: int
    """In the last table, of those that were rehearsed."""
    whole: int
    """In the last table."""
    largest_share: float
    """Of the most frequent value."""
    changed: float
    """The share of values that differ from one table to the next."""
    several_rows: bool = False
    several_columns: bool = False
    """Whether values are records of several sensitive columns."""
    regions: int | None = None
    """How many people regions of quasi-identifiers are to have, where the policy asks for regions."""
    moves_given: bool = False
    """Whether the policy has a table of change already."""
    asked_rare: float | None = None
    """The same of a rare value, where the policy asks for more there: 1/m beside a limit for frequent values."""


@dataclass(frozen=True)
class Recommendation:
    """One method, or none, and why."""

    method: str | None
    """The row of the method to take; None where none is fit."""
    sentence: str
    reasons: tuple[str, ...]
    """Why, what it costs, what is given up; or what is in the way and what to do."""
    against: Mapping[str, tuple[str, ...]]
    """For each method that was measured what speaks against it; nothing where it is fit."""

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"- {reason}" for reason in self.reasons)])


def recommended(rows: Sequence[Row], situation: Situation) -> Recommendation:
    """Apply the rules to the rows of a comparison."""
    told = _by_rules(rows, situation)
    late = [str(row["method"]) for row in rows if row.get("late")]
    if not late:
        return told
    said = f"Not tried in time: {', '.join(late)}. One of them may be better: allow more seconds (--seconds)."
    return replace(told, reasons=(said, *told.reasons))


def _by_rules(rows: Sequence[Row], situation: Situation) -> Recommendation:
    beside = next((row for row in rows if row["method"] == NO_LINK), {})
    measured = [row for row in rows if row["method"] != NO_LINK and row.get("withheld") is not None]
    failed = {row["method"]: dict(_failed(row, beside, _others(row, measured))) for row in measured}
    against = {method: tuple(why.values()) for method, why in failed.items()}
    fit = [row for row in measured if not failed[row["method"]]]
    weaker = [row for row in fit if _rank(row, situation.asked) == WEAKER]
    if any(row["protects"] and _rank(row, situation.asked) != WEAKER for row in measured):
        fit = [row for row in fit if row not in weaker]
    if fit:
        best = min(fit, key=lambda row: (_rank(row, situation.asked), _less_for_rare(row, situation), price(row)))
        return Recommendation(best["method"], *_taken(best, beside, fit, measured, situation), against)
    if not measured:
        return Recommendation(None, *_nothing_measured(rows, beside, situation), against)
    able = [row for row in measured if row not in weaker]
    sentence, reasons = _none_fit(able, failed, beside, situation)
    return Recommendation(None, sentence, (*reasons, *_if_less(weaker)), against)


def price(row: Row) -> float:
    """The error of counts times what the own row adds; the less, the better."""
    advantage = row.get("advantage")
    return float(row["counts"]) * max(POINT if advantage is None else float(advantage), POINT)


def _rank(row: Row, asked: float) -> int:
    if abs(row["bound"] - asked) < SAME:
        return AS_ASKED
    return STRONGER if row["bound"] < asked else WEAKER


def _less_for_rare(row: Row, situation: Situation) -> bool:
    """Whether a rare value may become likelier than was asked, though no frequent one does."""
    rare = row.get("rare")
    return rare is not None and situation.asked_rare is not None and rare > situation.asked_rare + SAME


def _others(row: Row, measured: Sequence[Row]) -> float:
    """For sets of which it was not decided who is far above the limit, the share of other sets; otherwise 0."""
    if row.get("form") != "alternatives" or not row.get("undecided"):
        return 0.0
    others = [one for one in measured if one.get("form") == "alternatives" and not one.get("undecided")]
    return max((float(one.get("far_above") or 0.0) for one in others), default=0.0)


def _failed(row: Row, beside: Row, others: float) -> Iterator[tuple[str, str]]:
    """The rules that a method breaks, with what speaks against it."""
    if not row["protects"]:
        alone = row.get("promise") or ""
        yield PROTECTS, f"does not protect people in a series ({alone})"
    lost = [
        f"{percent(row[name])} {words}"
        for name, words in (
            ("withheld", "of people withheld"),
            ("counterfeit", "of rows counterfeit"),
            ("replaced", "of values replaced"),
        )
        if (row.get(name) or 0.0) > MOST_LOST
    ]
    if lost:
        yield COSTS, " and ".join(lost)
    elif row.get("checks"):
        yield CHECKS, f"a check before the commit fails ({row['checks']})"
    sets = row.get("form") == "alternatives"
    name, most, words = ("far_above", MOST_FAR_ABOVE, "far above") if sets else ("above", MOST_ABOVE, "above")
    if (row.get(name) or 0.0) > most:
        yield WITHSTANDS, f"{percent(row[name])} of people are {words} the limit"
    elif others > most:
        yield WITHSTANDS, f"not decided for it, {percent(others)} of people are {words} the limit with other sets"
    if useless := _useless(row, beside):
        yield WORTH, " and ".join(useless)


def _useless(row: Row, beside: Row) -> list[str]:
    counts, without = row.get("counts"), beside.get("counts")
    told = []
    if counts is None:
        told.append("counts cannot be estimated")
    elif without is not None and counts > NEARER * without:
        told.append(f"counts are off by {percent(counts)}, with no link at all by {percent(without)}")
    slopes = row.get("slopes") or 0
    if slopes >= FEW_SLOPES and row["kept"] < KEPT * slopes:
        told.append(f"{row['kept']} of {slopes} slopes keep their sign")
    return told


# One is taken


def _taken(
    best: Row, beside: Row, fit: Sequence[Row], measured: Sequence[Row], situation: Situation
) -> tuple[str, tuple[str, ...]]:
    name = best["method"]
    sentence = f"Take {name}: {_promise(best, situation)}."
    reasons = ["Why: " + "; ".join(_why(best, beside)) + "."]
    others = [row["method"] for row in fit if row is not best]
    if others:
        cheapest = all(price(best) <= price(row) for row in fit)
        why = "this one has the best price" if cheapest else "this one keeps best to what was asked"
        reasons.append(f"Also fit: {', '.join(others[:4])}{', ...' if len(others) > 4 else ''}; {why}.")
    else:
        reasons.append("No other that was measured is fit.")
    reasons.append("It costs: " + "; ".join(_costs(best)) + ".")
    reasons.append("What you give up: " + "; ".join(_given_up(best, measured, situation)) + ".")
    return sentence, tuple(reasons)


def _promise(row: Row, situation: Situation) -> str:
    asked = situation.asked
    time = ", at any one time" if row.get("form") == "alternatives" else ""
    words = f"nobody is tied to a value with more than {_share(row['bound'])}{time}, by all releases together"
    rank = _rank(row, asked)
    if rank == AS_ASKED and _less_for_rare(row, situation):
        return f"{words}; of rare values, too, though the policy keeps those to {_share(situation.asked_rare or asked)}"
    if rank == AS_ASKED:
        return words
    return f"{words}: a {'stronger' if rank == STRONGER else 'weaker'} promise than the {_share(asked)} asked for"


def _why(row: Row, beside: Row) -> Iterator[str]:
    without = beside.get("counts")
    than = "" if without is None else f", with no link at all by {percent(without)}"
    yield f"counts are off by {percent(row['counts'])}{than}"
    if row.get("shares") is not None and beside.get("shares") is not None:
        told = f"shares in groups of people by {points(row['shares'])} points"
        yield f"{told}, with no link by {points(beside['shares'])}"
    if row.get("slopes"):
        size = "" if row.get("size") is None else f", at {row['size']:.2f} of their size"
        yield f"{row['kept']} of {count_of(row['slopes'], 'slope')} beyond chance keep their sign{size}"


def _costs(row: Row) -> Iterator[str]:
    lost = [
        f"{percent(row[name])} {words}"
        for name, words in (
            ("withheld", "of people are withheld"),
            ("counterfeit", "of rows are counterfeit"),
            ("replaced", "of values are replaced"),
        )
        if row.get(name)
    ]
    yield " and ".join(lost) if lost else "nobody is withheld, made up or given another value"
    if row.get("advantage") is not None:
        yield (
            f"somebody who learns from the release what is likely for whom is right for {percent(row['right'])}, and "
            f"{points(row['advantage'])} points of that come from the person's own row"
        )
    if row.get("above") is None:
        yield "what attacks get was not rehearsed: publish a draft elsewhere and run `reissue audit` on it"
    if row.get("above"):
        far = f", far above it for {percent(row['far_above'])}" if row.get("far_above") else ""
        who = "who knew exactly how these values moved " if row.get("form") == "alternatives" else ""
        yield f"somebody {who}is above the limit for {percent(row['above'])} of people{far}"
    if row.get("certain"):
        false = row.get("certain_false")
        wrong = "" if not false else f", wrongly for {percent(false)} of these"
        yield f"whoever takes values for fixed is certain of {percent(row['certain'])} of people{wrong}"


def _given_up(row: Row, measured: Sequence[Row], situation: Situation) -> Iterator[str]:
    yield FORMS.get(row["form"], "exact columns and values")
    if situation.regions and (row.get("smallest") or situation.regions) < situation.regions:
        yield (
            f"the regions of {situation.regions} people or more that the policy asks for: groups have "
            f"{count_of(row['smallest'], 'person', 'people')} or more"
        )
    if row.get("kind") == "Incremental":
        yield "as soon as somebody leaves or a value changes, the next release is refused"
    if row.get("slopes") and row.get("size") is not None and row["size"] < FLAT:
        yield f"slopes come out at {row['size']:.2f} of their size"
    plain = [one for one in measured if not one["protects"] and one.get("counts") is not None]
    if plain:
        other = min(plain, key=lambda one: float(one["counts"]))
        exposed = f", and leaves {percent(other['above'])} of people above the limit" if other.get("above") else ""
        yield f"{other['method']} has counts off by {percent(other['counts'])}{exposed}"


# None is


def _none_fit(
    measured: Sequence[Row], failed: Mapping[str, Mapping[str, str]], beside: Row, situation: Situation
) -> tuple[str, tuple[str, ...]]:
    asked = [row for row in measured if _rank(row, situation.asked) != WEAKER] or measured
    safe = [row for row in asked if not {PROTECTS, COSTS, CHECKS, WITHSTANDS} & {*failed[row["method"]]}]
    if safe:
        able = [row for row in safe if row.get("counts") is not None]
        best = min(able or safe, key=lambda row: float(row.get("counts") or 1.0))
        reasons = [f"The nearest is {best['method']}: {'; '.join(failed[best['method']].values())}."]
        if not beside.get("slopes"):
            reasons.append("No slope of the last table is beyond chance: values hardly depend on what is published.")
        else:
            reasons += [*_steep(safe), *_more_people(safe, beside, situation)]
        told = f"Publish {TWO_TABLES}: nothing that was tried is worth more to analysts."
        return told, (*reasons, _over_series(beside))
    ways = [row for row in asked if PROTECTS not in failed[row["method"]]] or asked
    nearest = min(ways, key=lambda row: (len(failed[row["method"]]), row.get("counts") or 1.0))
    reasons = [f"The nearest is {nearest['method']}: {'; '.join(failed[nearest['method']].values())}."]
    astray = any(row["form"] == "alternatives" and WITHSTANDS in failed[row["method"]] for row in asked)
    outgrown = OUTGROWN in (nearest.get("checks") or "")
    return "Nothing fits these tables as they are.", (
        *reasons,
        *_what_to_do(situation, beside, astray=astray, outgrown=outgrown),
    )


def _if_less(weaker: Sequence[Row]) -> list[str]:
    """What would be fit if less were asked for."""
    if not weaker:
        return []
    best = min(weaker, key=lambda row: (row["bound"], price(row)))
    without = f"counts are off by {percent(best['counts'])}"
    if best.get("slopes"):
        without += f", and {best['kept']} of {count_of(best['slopes'], 'slope')} keep their sign"
    return [f"If {_share(best['bound'])} is enough, {best['method']} is fit: {without}. Ask for it in the policy."]


def _steep(safe: Sequence[Row]) -> list[str]:
    """A method that keeps slopes, where counts are no nearer."""
    keeping = [row for row in safe if row.get("slopes") and row["kept"] >= KEPT * row["slopes"] and row.get("size")]
    keeping = [row for row in keeping if row["size"] > 0.5]
    if not keeping:
        return []
    best = max(keeping, key=lambda row: (row["kept"], -abs(1 - row["size"])))
    return [
        f"If slopes matter more than counts: {best['method']} keeps the sign of {best['kept']} of {best['slopes']}, at "
        f"{best['size']:.2f} of their size."
    ]


def _more_people(safe: Sequence[Row], beside: Row, situation: Situation) -> list[str]:
    """From how many people on sets would be worth it: their error falls with the root of how many there are."""
    without = beside.get("counts")
    able = [row["counts"] for row in safe if row.get("form") == "alternatives" and row.get("counts") is not None]
    if not able or not without or min(able) <= NEARER * without:
        return []
    times = (min(able) / (NEARER * without)) ** 2
    enough = times * situation.people
    if situation.whole >= enough:
        return [
            f"Measured on {situation.people:,} of {situation.whole:,} people: with all of them sets may well be worth "
            "it. Compare again with more people (--people)."
        ]
    rounded = float(f"{enough:.2g}")
    return [f"Sets become worth it with about {rounded:,.0f} people; there are {situation.people:,}."]


def _nothing_measured(rows: Sequence[Row], beside: Row, situation: Situation) -> tuple[str, tuple[str, ...]]:
    if any(row.get("late") for row in rows):
        return "Nothing was measured in time.", ("Fewer people take less time, too (--people).",)
    return "No method takes these tables as they are.", tuple(_what_to_do(situation, beside))


def _over_series(beside: Row) -> str:
    """What two tables without a link tell over several releases, in words, and of how many people by those given."""
    if not beside.get("above"):
        return OVER_SERIES
    return f"{OVER_SERIES} With these tables that is {percent(beside['above'])} of people, at least."


def _what_to_do(situation: Situation, beside: Row, *, astray: bool = False, outgrown: bool = False) -> Iterator[str]:
    """What helps; `astray`: values move otherwise than `Alternatives` was told; `outgrown`: they have become more
    frequent than its shares say."""
    if outgrown:
        yield (
            "Where values have outgrown the shares that sets are drawn by, `reissue shares` counts them again before "
            "that release goes out, and adds to what is told of people; or a larger limit leaves more room."
        )
    if situation.several_rows:
        yield "A person has several rows: [schema.events] says which one counts, for all methods but HDComposition."
    if situation.largest_share > situation.asked:
        yield (
            f"One value has {percent(situation.largest_share)} of the people, more than {_share(situation.asked)}: "
            "tell it apart into finer values, ask for less, or name what may be known under 'harmless' of Alternatives."
        )
    if astray and situation.several_columns:
        yield (
            f"{percent(situation.changed)} of values change from one table to the next, and not at one rate for all. A "
            "table of change, which follows that (`reissue moves`), is for one sensitive column."
        )
    elif astray and not situation.moves_given:
        yield (
            f"{percent(situation.changed)} of values change from one table to the next, and not at one rate for all: "
            "count how with `reissue moves`, and give Alternatives that table as 'change'. Counts of later releases "
            "can then not be estimated."
        )
    elif situation.changed > POINT and not astray:
        yield (
            f"{percent(situation.changed)} of values change from one table to the next, and methods for groups "
            "withhold those people: Alternatives with 'change' does not."
        )
    yield f"Or publish {TWO_TABLES}. {_over_series(beside)}"


def percent(share: float) -> str:
    """A share as per cent, with a digit more where it is small."""
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "less than 0.1 %"


def points(share: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * share:.1f}"


def _share(bound: float) -> str:
    """A probability as people say it."""
    over = round(1 / bound)
    return f"1/{over}" if abs(1 / over - bound) < SAME else f"{bound:.2g}"
