"""Assumptions as a reader gets them: what is contradicted first, in a few words, and how that is marked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from reissue.errors import count_of
from reissue.model.assumptions import Assumption, AssumptionStatus

STATES: dict[AssumptionStatus, tuple[str, str]] = {
    "refuted": ("contradicted", "bad"),
    "untested": ("not tested", "open"),
    "said": ("as was said", "plain"),
    "dropped": ("not assumed", "plain"),
    "holds": ("not contradicted", "plain"),
}
"""What is known of an assumption, in words, and how it is marked; in the order that a reader needs it."""


BY_LEDGER = "contradicted by the ledger, which outsiders do not have"
"""What is known of values that stay, where the releases do not tell that they did not."""


def in_order(
    assumptions: Iterable[Assumption], named: Collection[str] = (), changed: int = 0
) -> Iterator[tuple[Assumption, str, str]]:
    """Each with what is known of it, in words, and its mark: bad, open or plain, as nothing here is proven.

    `named` are those that findings rest on. In an audit of one's own series that can be what is contradicted: the
    findings are what an outsider would conclude who takes it to hold. `changed` people had values that did not stay,
    as the ledger knows.
    """
    order = list(STATES)

    def by_ledger(one: Assumption) -> bool:
        return one.name == "values-stay" and bool(changed) and one.status in ("holds", "untested")

    for one in sorted(assumptions, key=lambda one: 0 if by_ledger(one) else order.index(one.status)):
        if by_ledger(one):
            yield one, BY_LEDGER, "bad"
            continue
        state, mark = STATES[one.status]
        often = f" {count_of(one.contradictions, 'time')}" if one.status == "refuted" and one.contradictions else ""
        use = "; findings are of who takes it to hold" if one.name in named else ", and nothing rests on it"
        yield one, f"{state}{often}{use if one.status == 'refuted' else ''}", mark
