"""Are people who they were? Ids that do not come back, are written otherwise, or were given to others."""

from __future__ import annotations

import numpy as np
import polars as pl

from reissue.arrays.types import Ints
from reissue.errors import count_of
from reissue.model.domain import PERSON
from reissue.publishing.checking.allowing import Failed
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.drafting import TableRead
from reissue.publishing.history import History
from reissue.tables.plain_ids import plain_forms
from reissue.tables.registered import with_values

BEYOND_CHANCE = 5
"""So many times as many newcomers must equal leavers as would by chance."""
SHOWN = 5
"""So many ids are shown at most, where somebody asks."""
AS_BEFORE = "write ids just as in the earlier tables"


def ids_return(read: TableRead, history: History, checks: Checks) -> Failed | None:
    """Whether hardly anybody of the last release comes back."""
    if history.last.rows is None:
        return None
    people, again = _counts(read, history)
    if people - again < checks.few or again >= checks.ids_return * people:
        return None
    who, are = f"of {count_of(people, 'person', 'people')} in the table", "is" if again == 1 else "are"
    said = f"{who} of release {history.number}, {again:,} {are} in this one"
    if history.last.facts is not None:
        said = f"{who}, {again:,} {are} known from earlier ones"
    return Failed("ids-return", said, f"{AS_BEFORE}; where nobody is to come back, set ids_return = 0")


def _counts(read: TableRead, history: History) -> tuple[int, int]:
    """How many people there were, and how many of them there are again."""
    if history.last.facts is None:
        return read.delta.stayed.size + read.delta.gone.size, read.delta.stayed.size
    # With a registry people come into the table for a while, and are known before and after that.
    snapshot = read.coded.snapshot
    here = snapshot.people[np.unique(snapshot.owners)]
    return here.size, int((here < history.known.next_number).sum())


def ids_alike(
    read: TableRead, history: History, checks: Checks, *, show_values: bool
) -> tuple[Failed | None, tuple[str, ...]]:
    """Whether newcomers have the ids of others, but for how they are written; and what could not be compared."""
    people, hashed = history.known.people, read.coded.new_plain
    new = read.coded.new_ids
    if not new.len() or (new.dtype.is_integer() and hashed is None):
        return None, ()  # whole numbers are written in one way
    if history.known.key is None:
        forms = plain_forms(new)
        known = None if people is None else plain_forms(people.ids().head(people.count))
    elif hashed is None:
        return None, ()
    else:
        forms = hashed
        known = None if people is None or people.plain is None else people.plain().head(people.count)
    # As numbers: to compare texts takes many times as long, and two that have one hash come once in many millions.
    numbers = forms.hash()
    alike = numbers.is_duplicated()
    if known is not None:
        alike |= numbers.is_in(known.drop_nulls().hash().implode())
    alike &= forms.is_not_null()
    unchecked = _not_kept(known, history) if hashed is not None else ()
    count = int(alike.sum())
    if count <= checks.ids_alike:
        return None, unchecked
    what = count_of(count, "newcomer has an id", "newcomers have ids")
    shown = ", ".join(map(repr, new.filter(alike).sort().head(SHOWN))) if show_values and hashed is None else ""
    return (
        Failed(
            "ids-alike",
            f"{what} that somebody else in the series has, when case, punctuation and leading zeros are left out",
            f"{AS_BEFORE}, and one person in one way",
            f" ({shown}{' ...' if count > SHOWN else ''})" if shown else "",
        ),
        unchecked,
    )


def _not_kept(known: pl.Series | None, history: History) -> tuple[str, ...]:
    """Of whom nobody can say how their id was written; who was forgotten is not known either."""
    people = history.known.people
    if known is None or people is None:
        return ()
    lacking = int((known.is_null() & people.ids().head(people.count).is_not_null()).sum())
    if not lacking:
        return ()
    who = count_of(lacking, "person", "people")
    return (f"ids-alike was not checked for {who} of earlier releases: their hashed ids were kept without plain forms",)


def newcomers_leavers(read: TableRead, history: History, sensitive: str, checks: Checks) -> Failed | None:
    """Whether far more newcomers equal a leaver in every column than chance explains: the same people, with new ids."""
    last, delta = history.last.rows, read.delta
    least = min(delta.gone.size, delta.arrived.size)
    if last is None or least < checks.few or checks.newcomers_leavers >= 1:
        return None
    now = read.rows
    if history.last.facts is not None and read.facts is not None:
        last, now = with_values(last, history.last.facts, sensitive), with_values(now, read.facts, sensitive)
    columns = [name for name in now.columns if name in last.columns and name != PERSON]
    if sensitive not in columns:  # of releases made elsewhere nobody knows who has which value
        return None
    left = _texts(_counted(_records(last, delta.gone, columns), "left"))
    came = _texts(_counted(_records(now, delta.arrived, columns), "came"))
    pairs = left.join(came, on=columns, nulls_equal=True)
    same = int(pairs.select(pl.min_horizontal("left", "came")).sum().item() or 0)
    if same < checks.few or same <= checks.newcomers_leavers * least:
        return None
    # Two people of the last release are equal with this probability, so by chance so many pairs would be.
    people = last.height
    equal = _equal_pairs(last.select(columns)) / max(people * (people - 1), 1)
    leavers, newcomers = int(left["left"].sum()), int(came["came"].sum())
    if same <= BEYOND_CHANCE * equal * leavers * newcomers:
        return None
    who = f"{same:,} of {count_of(newcomers, 'newcomer')}"
    return Failed(
        "newcomers-leavers",
        f"{who} equal one of {count_of(leavers, 'leaver')} in every column",
        "they look like the same people with new ids: give everybody the id that they had",
    )


def _records(frame: pl.DataFrame, people: Ints, columns: list[str]) -> pl.DataFrame:
    """The rows of some people."""
    numbers = frame[PERSON].to_numpy()
    sought = np.zeros(int(max(numbers.max(initial=0), people.max(initial=0))) + 1, dtype=np.bool_)
    sought[people] = True
    return frame.select(columns).filter(sought[numbers])


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    """With labels as text, as two releases may have others."""
    return frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


def _equal_pairs(frame: pl.DataFrame) -> float:
    """How many ordered pairs of rows are equal in all columns; by hashes, which is as good as exact."""
    rows = frame.hash_rows().to_numpy().copy()
    rows.sort()
    begins = np.flatnonzero(rows[1:] != rows[:-1])
    counts = np.diff(begins, prepend=-1, append=rows.size - 1).astype(np.float64)
    return float((counts * (counts - 1)).sum())


def _counted(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.group_by(frame.columns).len(name)
