"""What the publisher is told where values do not change as declared.

The publisher knows all values, so this is sharper than what an audit sees from outside, and it is said before anything
is committed. Counts only: which values, and whose, is for nobody to read here.
"""

from __future__ import annotations

from reissue.errors import count_of
from reissue.reasoning.alternatives.change_check import ChangeFit, TableFit


def of_rate(fit: ChangeFit | None) -> tuple[str, ...]:
    """A rate that does not fit; nothing where it does, or where there are too few people to say."""
    if fit is None or not (fit.over or fit.under):
        return ()
    seen = (
        f"of {count_of(fit.people, 'person', 'people')} who were published before, {fit.changed:,} have another value "
        f"now, and {fit.expected:,.0f} were expected. {fit.estimate:.2g} would fit ({fit.low:.2g} to {fit.high:.2g})"
    )
    if fit.over:
        return (
            f"the declared rate of change, {fit.declared:g}, is too high, and that is dangerous: {seen}. Whoever knows "
            "that values change less often learns from sets that are new; record a lower rate with `reissue amend`",
        )
    return (
        f"values change more often than declared ({fit.declared:g}): {seen}. That harms little; a rate that fits can "
        "be recorded with `reissue amend`",
    )


def of_table(fit: TableFit) -> tuple[str, ...]:
    """Values that do not move as the table of change says."""
    among = f"of {count_of(fit.values, 'value')} that people had"
    notes = []
    if fit.slower:
        notes.append(
            f"{among}, {fit.slower:,} {'is' if fit.slower == 1 else 'are'} lost less often than the table of change "
            "says, which is the dangerous direction. Whoever knows how much learns from lives that moved: in Python, "
            "Tracking(change=...) with a table that fits says how much. The table is for the whole series; a new one "
            "can have another"
        )
    rest = []
    if fit.faster:
        rest.append(f"{fit.faster:,} {'is' if fit.faster == 1 else 'are'} lost more often")
    if fit.elsewhere:
        rest.append(f"{fit.elsewhere:,} {'turns' if fit.elsewhere == 1 else 'turn'} into other values")
    if rest:
        notes.append(
            f"{among}, {' and '.join(rest)} than the table of change says; another series could have one that fits"
        )
    return tuple(notes)
