"""Checks: how much of what looks like a mistake a policy lets pass. Table `[checks]` of a policy file.

policy = ri.Policy(schema, method, checks=ri.Checks(withheld=0.1, ids_return=0))

A check that fails refuses the release. `--allow NAME --reason "..."` lifts it for one release, and the ledger keeps
that; a threshold lifts it for all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from reissue.model.parameters import Validation

CHECKS = {
    "ids-return": "hardly anybody of the last release comes back",
    "ids-alike": "ids of newcomers are those of others, but for case, punctuation and leading zeros",
    "newcomers-leavers": "newcomers equal leavers in every column",
    "same-state": "this state of the table was published already",
    "period": "the period of the release is not after the last one, or there is none",
    "gap": "a period was left out",
    "telling-column": "a published column nearly determines a sensitive one",
    "unused-value": "a value that the policy names occurs nowhere",
    "withheld": "many people are withheld",
    "counterfeit": "many rows are counterfeits",
    "replaced": "many values are replaced",
    "few-groups": "there are too few groups to be worth anything",
    "outgrown-shares": "values are no longer as frequent as the shares that sets are drawn by",
    "unanswerable": "nothing can be estimated from the sets of a release",
    "public-files": "public files of earlier releases are missing or changed",
}
"""The names of all checks, with what each asks about."""

AFTERWARDS = ("withheld", "counterfeit", "replaced", "few-groups", "outgrown-shares", "unanswerable")
"""Those about what a release costs: only once people are grouped can they be answered."""


@dataclass(frozen=True)
class Checks:
    """How much of what looks like a mistake may pass without a question. Shares are of people, rows or values."""

    ids_return: float = 0.2
    """The least share of the last release's people who must be in the table again; 0: nobody need come back."""
    ids_alike: int = 0
    """How many newcomers may have the id of somebody else but for case, punctuation and leading zeros."""
    newcomers_leavers: float = 0.2
    """The largest share of newcomers who may equal a leaver in every column, beyond what chance explains; 1: all."""
    same_state: Literal["refuse", "accept"] = "refuse"
    """Whether a table may be published that equals the table of an earlier release."""
    telling_column: float = 0.1
    """The largest share of people whose sensitive value one published column may tell nearly for certain; 1: all."""
    unused_value: int = 0
    """How many values that are named as permanent, protected or harmless may have occurred in no table so far."""
    withheld: float = 0.05
    """The largest share of people who may be withheld; 1: all."""
    counterfeit: float = 0.2
    """The largest share of rows that may be counterfeits; 1: all. Of a few hundred people one in ten is common."""
    replaced: float = 0.05
    """The largest share of values that may be replaced; 1: all."""
    few_groups: int = 5
    """The least number of groups, where there are 20 people or more for each of so many; 1: one will do."""
    gap: Literal["refuse", "accept"] = "refuse"
    """Whether days may lie between a period and the one before it, as between states that are taken now and then."""
    outgrown_shares: float = 0.05
    """The largest share of people with a value far likelier than its limit, by how frequent values are; 1: all."""
    unanswerable: Literal["refuse", "accept"] = "refuse"
    """Whether sets of values may be published from which nothing can be estimated."""
    few: int = 5
    """Fewer people, rows or values than this are never too many, whatever their share."""

    def __post_init__(self) -> None:
        validation = Validation(self)
        for name in (
            "ids_return",
            "newcomers_leavers",
            "telling_column",
            "withheld",
            "counterfeit",
            "replaced",
            "outgrown_shares",
        ):
            validation.real(name, least=0, most=1)
        for name in ("ids_alike", "unused_value"):
            validation.whole(name, least=0)
        for name in ("few_groups", "few"):
            validation.whole(name, least=1)
        for name in ("same_state", "gap", "unanswerable"):
            validation.one_of(name, ("refuse", "accept"))
        validation.finish()

    def to_dict(self) -> dict[str, Any]:
        """As it stands in a policy file: all of it, so that a later version with other defaults changes nothing."""
        return asdict(self)


NOTHING_ASKED = Checks(
    ids_return=0,
    ids_alike=1 << 62,
    newcomers_leavers=1,
    same_state="accept",
    telling_column=1,
    unused_value=1 << 62,
    withheld=1,
    counterfeit=1,
    replaced=1,
    few_groups=1,
    gap="accept",
    outgrown_shares=1,
    unanswerable="accept",
)
"""For studies and measurements, which look at what methods do to invented or public tables."""
