"""Looking ahead: what the checks before a commit will say of tables, published one after the other. Nothing is grouped.

for number, failed in looking_ahead([january, february], policy):
    ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from reissue.errors import TableError
from reissue.model.domain import PERSON
from reissue.publishing.checking.allowing import Allowed, Failed
from reissue.publishing.checking.known_states import state_of
from reissue.publishing.checking.looking import Looking
from reissue.publishing.drafting import Submission, TableRead, read_after
from reissue.publishing.history import History, Last
from reissue.publishing.policy import Policy
from reissue.tables.coding import KnownBefore
from reissue.tables.people import KnownPeople


def looking_ahead(tables: Sequence[object], policy: Policy) -> Iterator[tuple[int, Failed]]:
    """Every check that fails for a table in this order, with the number of the table; what releases cost is not asked.

    Not for methods that take a registry. Raises TableError for a table that cannot be read under the policy.
    """
    history, states = History(), dict[int, str]()
    for number, table in enumerate(tables, start=1):
        try:
            read, _, _ = read_after(Submission(table), None, policy.schema, history)
        except TableError as error:
            where = f"Table {number} of {len(tables)}: "
            raise TableError(where + error.what, problems=error.problems, hint=error.hint) from None
        looking = Looking(policy, history, Allowed(), lambda people: states)
        yield from ((number, failed) for failed in looking.asked(read))
        states[number] = state_of(read.rows, read.facts, read.coded.extinct)
        history = _after(history, read)


def _after(history: History, read: TableRead) -> History:
    """The history after a table of which nothing is known but who is in it."""
    before, new = history.known.people, read.coded.new_ids
    ids = new if before is None else pl.concat([before.ids().head(before.count), new])
    people = KnownPeople(lambda: ids, ids.len(), read.rows[PERSON])
    return History(
        number=history.number + 1,
        known=KnownBefore(people, ids.len(), read.coded.domain, history.known.key),
        last=Last(read.rows, read.facts, read.coded.extinct),
    )
