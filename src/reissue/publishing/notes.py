"""What the publisher should look at before a draft is committed."""

from __future__ import annotations

from reissue.errors import count_of
from reissue.model.grouping import Grouping
from reissue.model.snapshot import Delta, Snapshot
from reissue.publishing.draft import Continuation, PrivateTables
from reissue.publishing.policy import Policy

MANY_GONE = 0.05
"""From this share of a registry on, the publisher is asked whether it is complete."""

MANY_MADE_UP = 0.05
"""From this share of counterfeits on, the publisher is told what to do about it."""

SEED_GIVEN = (
    "a seed was given: whoever knows or guesses it can redo the random choices; this is for rehearsals and tests only"
)


def notes_of(
    policy: Policy,
    snapshot: Snapshot,
    delta: Delta,
    grouping: Grouping,
    private: PrivateTables,
    continues: Continuation,
    warnings: tuple[str, ...],
    *,
    unregistered: bool = False,
    gone: tuple[int, int] = (0, 0),
    other_events: int = 0,
    seeded: bool = False,
) -> tuple[str, ...]:
    """What a draft costs, what looks like a mistake in the table or the policy, and what the method has to say."""
    method = policy.method
    counterfeits, held_back, changed = private.counterfeits, private.held_back, private.changed
    notes = [SEED_GIVEN] if seeded else []
    if delta.since and not continues.protected:
        betrayed = "expose people"
        if method.protects_series and continues.anew:
            betrayed = "expose very many people, because nothing of the earlier ones was taken into account"
        notes.append(f"the series is unprotected: comparing releases may {betrayed}; the public record says so")
    if other_events and policy.schema.events is not None:
        rows = f"{other_events:,} of {other_events + len(snapshot):,} rows"
        notes.append(f"{rows} are events of people whose {policy.schema.events.keep} one is published instead")
    if unregistered:
        notes.append("no registry was given: everybody ever seen in the series counts as registered")
    left, before = gone
    if left:
        people = f"of {before:,} people {left:,} {'is' if left == 1 else 'are'} no longer registered, as if extinct"
        notes.append(f"{people}; check that the registry is complete" if left > MANY_GONE * before else people)
    if counterfeits is not None:
        notes.append(f"{count_of(counterfeits.height, 'counterfeit')} in place of values that were missing")
        published = len(snapshot) - (0 if held_back is None else held_back.height)
        share = counterfeits.height / (counterfeits.height + published)
        if share > MANY_MADE_UP:
            given = method.parameters
            levers = [f"a smaller {name}" for name in ("m", "n", "e") if name in given]
            levers += ["a larger L"] if "L" in given else []
            notes.append(
                f"{share:.0%} of the rows are counterfeits: {', '.join(levers)}, or more people, would need fewer"
            )
    if changed is not None:
        values = f"{count_of(changed.height, 'value')} ({changed.height / snapshot.values.codes.size:.2%} of all)"
        notes.append(f"{values} replaced by another; nothing that is published marks them")
    if grouping.elsewhere is not None:
        values = count_of(len(grouping.elsewhere), "permanent value")
        notes.append(f"{values} shown where the holder was first seen with it, not where they are now")
    if held_back is not None:
        for reason, people in held_back["reason"].value_counts().sort("reason").iter_rows():
            notes.append(f"{count_of(people, 'person', 'people')} withheld: {reason}")
    return (*notes, *grouping.notes, *warnings, *method.remarks(policy.form))
