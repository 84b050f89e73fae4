"""Looking ahead: what the checks before a commit will say of tables, published one after the other.

for number, failed in looking_ahead([january, february], policy):  # nothing is grouped
    ...
for number, why in costs_ahead([january, february], policy):  # releases are made, and thrown away
    ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from reissue.errors import ReissueError, TableError
from reissue.model.domain import PERSON
from reissue.model.telling import told
from reissue.publishing.checking.allowing import Allowed, Failed
from reissue.publishing.checking.costs import costs
from reissue.publishing.checking.known_states import state_of
from reissue.publishing.checking.looking import Looking
from reissue.publishing.drafting import Submission, TableRead, read_after
from reissue.publishing.history import History, Last
from reissue.publishing.policy import Policy
from reissue.publishing.rehearsal import Rehearsal
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


def costs_ahead(tables: Sequence[object], policy: Policy) -> Iterator[tuple[int, Failed | ReissueError]]:
    """Every check of costs that fails for a release of these tables, with its number; last, what refuses a table
    altogether, after which there is nothing more to say. Nothing is kept."""
    rehearsal = Rehearsal(policy)
    for number, table in enumerate(told(tables), start=1):
        try:
            made = rehearsal.publish(table, seed=number)  # the same words every time; nothing of it gets out
        except ReissueError as error:
            yield number, error
            return
        yield from ((number, failed) for failed in costs(made))


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
