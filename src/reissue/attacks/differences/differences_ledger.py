"""The ledger of a series in which nobody is known by name: what each release tells alone, and each step."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl

from reissue.errors import count_of
from reissue.model.published import Published
from reissue.reasoning.differences.class_shares import ClassShares
from reissue.reasoning.differences.release_steps import ReleaseStep

CLASSES = pl.Schema(dict.fromkeys(("release", "rows", "groups", "above", "one_value", "alone", "not_known"), pl.Int64))
"""For each release its `rows` and `groups`; how many rows are in groups in which a value is proven to be likelier than
the limit for whoever is in them (`above`), in groups with one value only, also in those that overlap them
(`one_value`), `alone` in their group; and of how many it is not known because groups overlap (`not_known`)."""

LEDGER = pl.Schema(
    dict.fromkeys(
        (
            *("since", "release", "rows_before", "rows", "came", "gone", "turned"),
            *("newcomers", "newcomers_alone", "leavers", "leavers_alone"),
            *("single_changes", "links", "changes_on_links", "corrected"),
        ),
        pl.Int64,
    )
)
"""The step `since` a release to the next. At least so many people `came` (they were not in it, or with other
quasi-identifiers), are `gone` (likewise), and `turned`: they have another value now, or left and were followed by
others. Isolated are `newcomers` (one row more in a part, and nothing else), of them `newcomers_alone` where no row was
before; `leavers` and `leavers_alone` likewise; `single_changes`: one value less, another one more, as many rows.
`links` are rows alone in their part in both releases, `changes_on_links` those of them with another value. `corrected`
may be rows whose quasi-identifiers were corrected."""

ISOLATED = {"newcomers": "newcomer", "leavers": "leaver", "single_changes": "single change"}
"""What stands out alone, by its column of `LEDGER`."""


def rows_told(shares: ClassShares, limit: Fraction) -> tuple[int, ...]:
    """A release as `CLASSES` has it."""
    chosen = (shares.above(limit), shares.single, shares.unique, shares.doubtful(limit))
    groups = int(np.count_nonzero(shares.rows))
    return (shares.number, int(shares.rows.sum()), groups, *(int(shares.rows[some].sum()) for some in chosen))


def ledger_of(published: Published, steps: Sequence[ReleaseStep], corrected: Sequence[int]) -> pl.DataFrame:
    """The steps as `LEDGER` has them."""
    rows = []
    for step, may_be in zip(steps, corrected, strict=True):
        counts = (
            step.events.filter(pl.col("people") == 1)
            .group_by("what")
            .agg(
                pl.len().alias("all"),
                (pl.col("before") == 0).sum().alias("from_none"),
                (pl.col("after") == 0).sum().alias("to_none"),
                (pl.col("before") == 1).sum().alias("of_one"),
            )
        )
        found = {row["what"]: row for row in counts.iter_rows(named=True)}
        none = dict.fromkeys(counts.columns, 0)
        new, left, other = (found.get(what, none) for what in ("newcomer", "leaver", "change"))
        rows.append(
            (
                *(published.releases[at].number for at in (step.earlier, step.later)),
                *(step.rows_before, step.rows, step.came, step.gone, step.turned),
                *(new["all"], new["from_none"], left["all"], left["to_none"]),
                *(other["all"], step.links, other["of_one"], may_be),
            )
        )
    return pl.DataFrame(rows, schema=LEDGER, orient="row")


def steps_told(ledger: pl.DataFrame, *, rest: bool) -> list[str]:
    """The ledger in a few sentences; `rest`: somebody said that suppressed rows belong to no published class."""
    total = dict(zip(ledger.columns, ledger.sum().row(0), strict=True))
    came = count_of(total["came"], "row")
    new, left, changes = (count_of(total[name], one) for name, one in ISOLATED.items())
    unless = ", and if suppressed rows belong to no published class" if rest else ""
    told = [
        f"Unless quasi-identifiers changed or were perturbed{unless}, at least {came} came from release to release, "
        f"{total['gone']:,} went and {total['turned']:,} show another value or are somebody else's; isolated are "
        f"{new}, {left} and {changes}."
    ]
    if total["links"]:
        lone = count_of(total["links"], "lone row", "lone rows")
        told.append(
            f"{lone} can be linked to the next release if whoever it is stayed, {total['changes_on_links']:,} of them "
            "to another value."
        )
    if total["newcomers_alone"]:
        who = count_of(total["newcomers_alone"], "newcomer is", "newcomers are")
        told.append(f"Then {who} seen to be in it, where being in it is the secret: no row was like theirs before.")
    return told
