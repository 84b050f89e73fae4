"""Looking: asks all checks about a draft, the cheap ones before anybody is grouped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reissue.publishing.checking.allowing import Allowed, Failed, Looked, refuse
from reissue.publishing.checking.costs import costs
from reissue.publishing.checking.known_states import same_state, state_of
from reissue.publishing.checking.same_people import ids_alike, ids_return, newcomers_leavers
from reissue.publishing.checking.telling_columns import telling_column
from reissue.publishing.checking.unused_values import unused_value
from reissue.publishing.draft import Draft
from reissue.publishing.drafting import TableRead
from reissue.publishing.history import History
from reissue.publishing.inspection import looked_seal
from reissue.publishing.policy import Policy

States = Callable[[int], Mapping[int, str]]
"""Gives the states of earlier releases, by their numbers, as far as they may be that of a table with so many people."""


@dataclass(repr=False)
class Looking:
    """The checks of one draft: `before` while it is made, `after` when it is."""

    policy: Policy
    history: History
    allowed: Allowed
    states: States = lambda people: {}
    show_values: bool = False
    failed: list[Failed] = field(default_factory=list)
    """What failed so far; whoever looks at something before the table is read puts it here."""
    _state: str = ""
    _unchecked: tuple[str, ...] = ()

    def before(self, read: TableRead) -> None:
        """Ask about ids, states and columns; raises ChecksFailed for what is not allowed."""
        self.failed += self.asked(read)
        refuse(self.failed, self.allowed, grouped=False)

    def asked(self, read: TableRead) -> list[Failed]:
        """What fails of all that can be asked before anybody is grouped."""
        checks, snapshot = self.policy.checks, read.coded.snapshot
        self._state = state_of(read.rows, read.facts, read.coded.extinct)
        alike, self._unchecked = ids_alike(read, self.history, checks, show_values=self.show_values)
        return _found(
            [
                ids_return(read, self.history, checks),
                alike,
                newcomers_leavers(read, self.history, self.policy.schema.sensitive, checks),
                same_state(self._state, self.states, snapshot.present, checks),
                telling_column(snapshot, checks),
                unused_value(snapshot, self.policy, self.history, show_values=self.show_values),
            ]
        )

    def after(self, draft: Draft) -> Draft:
        """The draft, which then remembers what the checks said; raises ChecksFailed for costs that are not allowed."""
        self.failed += costs(draft)
        refuse(self.failed, self.allowed, grouped=True)
        reason = self.allowed.reason if self.failed else None
        looked = Looked(tuple(self.failed), reason, self._unchecked, self._state, None)
        if draft.seal is not None:
            looked = replace(looked, seal=looked_seal(draft, draft.seal, looked))
        notes = (*draft.notes, *_needless(self.allowed.names, looked.names), *self._unchecked)
        return replace(draft, judged=replace(draft.judged, looked=looked, notes=notes))


def _found(answers: Iterable[Failed | None]) -> list[Failed]:
    return [one for one in answers if one is not None]


def _needless(allowed: Sequence[str], failed: Sequence[str]) -> list[str]:
    return [f"'{name}' was allowed, and did not fail" for name in allowed if name not in failed]
