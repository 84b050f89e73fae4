"""`reissue log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reissue.cli.output import AsJson, SeriesFolder, print_file, print_json, print_table, say
from reissue.cli.verify_command import verify_and_tell

if TYPE_CHECKING:
    from reissue.ledger import PolicyVersion


def log(
    series: SeriesFolder,
    verify: Annotated[
        bool, typer.Option("--verify", help="The same as `reissue verify`: exit code 3 if anything differs.")
    ] = False,
    policy: Annotated[
        bool, typer.Option("--policy", help="Print the policy in force, as policy.toml has it, and nothing else.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the releases of a series, the versions of its policy and what else happened.

    Examples:

      reissue log clinic

      reissue log clinic --verify

      reissue log clinic --policy > clinic/policy.toml
    """
    from reissue.cli.selecting import note_unless_continued
    from reissue.ledger import Ledger

    if verify:
        verify_and_tell(series, None, as_json)
        return
    with Ledger.open(series) as ledger:
        note_unless_continued(series)
        if policy:
            ledger.require_whole()  # or it may be a policy that nobody recorded
            _print_policy(ledger.policy, as_json)
            return
        releases, policies, events, head = ledger.releases(), ledger.policies(), ledger.events(), ledger.head()
        retracted = ledger.retracted()
    if as_json:
        print_json(
            {
                "releases": [
                    {
                        "number": r.number,
                        "time": r.time,
                        "chain": r.chain,
                        **r.manifest,
                        "summary": r.summary,
                        **({"not_handed_out": retracted[r.number]} if r.number in retracted else {}),
                    }
                    for r in releases
                ],
                "policies": [{"version": p.version, "time": p.time, "reason": p.reason} for p in policies],
                "events": [{"time": e.time, "kind": e.kind, "detail": e.detail} for e in events],
                "head": None if head is None else str(head),
            }
        )
        return
    rows = []
    for record in releases:
        summary: Any = record.summary
        moved = (None, None, None) if record.lost else _moved(summary["changes"])
        when = f"{record.time:%Y-%m-%d %H:%M}"
        groups = None if "design" in record.manifest else summary["groups"]
        period = record.manifest.get("period")
        rows.append((record.number, period, when, summary["method"], summary["rows"], groups, *moved))
    columns = ["no.", "period", "time (UTC)", "method", "rows", "groups", "came", "gone", "changed"]
    for empty in ("groups", "period"):
        at = columns.index(empty)
        if rows and all(row[at] is None for row in rows):
            columns.remove(empty)
            rows = [(*row[:at], *row[at + 1 :]) for row in rows]
    words = [columns.index(name) for name in ("period", "time (UTC)", "method") if name in columns]
    print_table(f"Releases of {series}", columns, rows, left=words)
    for record in releases:
        if "corrects" in record.manifest:
            say(f"{record.number} corrects release {record.manifest['corrects']}", heading="release ")
    for number, reason in retracted.items():
        say(f"release {number} is not handed out: {reason}", heading="retracted ", style="yellow")
    if sets := [(r.number, *_sets(r.summary)) for r in releases if "sets_drawn" in r.summary]:
        print_table(
            "Sets of values, one of each true (private)",
            ("no.", "values in a set", "regions", "new sets", "kept", "of values", "these change"),
            sets,
            left=(1, 6),
        )
    if seeded := [str(r.number) for r in releases if _seeded(r.summary)]:
        say(
            f"made with a given seed, as for a rehearsal or a test: {', '.join(seeded)}",
            heading="note ",
            style="yellow",
        )
    besides = [(r.number, *((None, None, None) if r.lost else _besides(r.summary))) for r in releases]
    if any(made or held for _, made, held, _ in besides):
        print_table(
            "Counterfeits and withheld people (private)",
            ("no.", "counterfeits", "people withheld", "longest wait (releases)"),
            besides,
        )
    gates = [(r.number, f"{r.time:%Y-%m-%d %H:%M}", *_gate(r.summary)) for r in releases if "gate" in r.summary]
    if gates:
        print_table(
            "What the gate said (private)",
            ("no.", "time (UTC)", "verdict", "overridden, because"),
            gates,
            left=(1, 2, 3),
        )
    if allowed := [(r.number, *one) for r in releases for one in allowed_rows(r.summary)]:
        print_table(
            "Checks that failed and were allowed (private)",
            ("no.", "check", "what was seen", "allowed, because"),
            allowed,
            left=(1, 2, 3),
        )
    print_table(
        "Versions of the policy",
        ("version", "since (UTC)", "reason"),
        [(one.version, f"{one.time:%Y-%m-%d %H:%M}", one.reason) for one in policies],
        left=(1, 2),
    )
    print_table(
        "What happened besides", ("time (UTC)", "what", "detail"),
        [(f"{event.time:%Y-%m-%d %H:%M}", event.kind, event.detail) for event in events], left=(0, 1, 2),
    )  # fmt: skip
    if head is not None:
        say(str(head), heading="head ")


def _print_policy(policy: PolicyVersion, as_json: bool) -> None:
    if as_json:
        print_json({"version": policy.version, "time": policy.time, "reason": policy.reason, "toml": policy.toml})
    else:
        print_file(policy.toml)


def _moved(changes: dict[str, int]) -> tuple[int, int, int]:
    """How many people came, went and changed."""
    came, changed = changes["arrived"] + changes["returned"], changes["changed_quasi"] + changes["changed_value"]
    return came, changes["gone"], changed


def _sets(summary: Any) -> tuple[object, ...]:
    """How many values sets have, in how many regions; how many are new and kept; what they are made of."""
    from reissue.model.change import change_in_words
    from reissue.model.release import values_in_words

    design, regions = summary["design"], summary["groups"]
    size = values_in_words(design).removesuffix(" values")
    drawn = summary["sets_drawn"], summary["sets_kept"]
    return (
        size,
        regions if regions < summary["rows"] else None,
        *drawn,
        design["values"],
        change_in_words(design["change"]),
    )


def _seeded(summary: Any) -> bool:
    """Whether a release was made with a seed that was given; those made before this was recorded do not say so."""
    return bool(summary.get("randomness", {}).get("seed_given"))


def _besides(summary: Any) -> tuple[int, int, int]:
    """How many counterfeits there are, how many people were withheld, and for how many releases at most."""
    held = summary.get("held_back", {}).values()
    waits = [reason["longest_wait"] for reason in held]
    return summary.get("counterfeits", 0), sum(reason["people"] for reason in held), max(waits, default=0)


def allowed_rows(summary: Any) -> list[tuple[str, str, str]]:
    """The checks that a release was allowed to fail, what they saw, and why it was allowed."""
    checks = summary.get("checks", {})
    return [(name, what, checks["reason"]) for name, what in checks.get("allowed", {}).items()]


def _gate(summary: Any) -> tuple[str, str]:
    """What the gate said about a release, and the reason why it went out all the same."""
    return summary["gate"]["verdict"], summary["gate"].get("override", "-")
