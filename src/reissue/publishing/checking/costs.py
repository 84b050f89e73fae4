"""What a release costs: people withheld, rows that describe nobody, values that are not true, too few groups."""

from __future__ import annotations

from reissue.errors import count_of
from reissue.model.sets import PublishedSets
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.answerable import unanswerable
from reissue.publishing.checking.outgrown_shares import outgrown_shares
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.draft import Draft

PEOPLE_FOR_A_GROUP = 20
"""A table with fewer people for each group that is asked for is too small to be judged by the number of groups."""


def costs(draft: Draft) -> list[Failed]:
    """All that a release costs too much of."""
    checks, people = draft.policy.checks, draft.snapshot.present
    withheld = 0 if draft.held_back is None else draft.held_back.height
    made = 0 if draft.counterfeits is None else draft.counterfeits.height
    replaced = 0 if draft.changed is None else draft.changed.height
    rows = made + len(draft.snapshot) - withheld
    values = draft.snapshot.values.codes.size
    levers = _levers(draft)
    found = []
    if _too_many(withheld, people, checks.withheld, checks):
        what = f"{withheld:,} of {count_of(people, 'person', 'people')} ({withheld / people:.0%}) are withheld"
        found.append(
            Failed("withheld", what, f"try {levers}, or a method that takes people whose values change (Alternatives)")
        )
    if _too_many(made, rows, checks.counterfeit, checks):
        what = f"{made:,} of {count_of(rows, 'row')} ({made / rows:.0%}) are counterfeits"
        found.append(Failed("counterfeit", what, f"try {levers}, or another method"))
    if _too_many(replaced, values, checks.replaced, checks):
        what = f"{replaced:,} of {count_of(values, 'value')} ({replaced / values:.0%}) are replaced by another"
        found.append(Failed("replaced", what, f"try {levers}, or another method"))
    rest = (_few_groups(draft, checks), outgrown_shares(draft, checks), unanswerable(draft, checks))
    return [*found, *(one for one in rest if one is not None)]


def _too_many(number: int, of: int, share: float, checks: Checks) -> bool:
    return number >= checks.few and number > share * of


def _few_groups(draft: Draft, checks: Checks) -> Failed | None:
    """Where sets are published, each row stands by itself, however few the regions are."""
    if isinstance(draft.recoded.groups, PublishedSets):
        return None
    groups, people = draft.grouping.count, int(draft.grouping.sizes().sum())
    if groups >= checks.few_groups or people < PEOPLE_FOR_A_GROUP * checks.few_groups:
        return None
    what = f"{count_of(people, 'person is', 'people are')} published in {count_of(groups, 'group')}"
    return Failed(
        "few-groups",
        f"{what}, which is hardly more than one count of all values",
        f"try {_levers(draft)}, fewer or coarser quasi-identifiers, or another method",
    )


def _levers(draft: Draft) -> str:
    given = draft.policy.method.parameters
    smaller = [f"a smaller {name}" for name in ("k", "l", "m", "n", "e") if isinstance(given.get(name), int | float)]
    larger = ["a larger L"] if given.get("L") else []
    return ", ".join([*smaller, *larger]) or "looser parameters"
