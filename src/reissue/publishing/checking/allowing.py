"""What failed, what was allowed and why, and the refusals that come of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from reissue.errors import ChecksFailed, ParameterError, SeriesDamaged, check_text, count_of
from reissue.ledger import Discrepancy
from reissue.ledger.recovery import WITHOUT_FILES
from reissue.publishing.checking.thresholds import AFTERWARDS, CHECKS

PUBLIC_FILES = "public-files"


@dataclass(frozen=True)
class Failed:
    """A check that failed."""

    name: str
    what: str
    """What was seen, in a sentence with counts and without values: the ledger may keep it."""
    step: str
    """What to do about it."""
    values: str = field(default="", repr=False)
    """Values or ids that it is about, where the caller asked for them; these are shown and never kept."""

    def __str__(self) -> str:
        return f"{self.name}: {self.what}{self.values}; {self.step}"


@dataclass(frozen=True)
class Allowed:
    """The checks that may fail for one release, and why."""

    names: tuple[str, ...] = ()
    reason: str | None = None

    @classmethod
    def of(cls, allow: Iterable[str], reason: str | None) -> Allowed:
        """What a caller allows; an error where a name is none, or nothing says why."""
        names = _names(allow)
        problems = [_unknown(name) for name in names if name not in CHECKS]
        if problems:
            raise ParameterError(
                "The 'allow' parameter names checks that there are not.",
                problems=problems,
                hint=f"the checks are {', '.join(CHECKS)}.",
            )
        if reason is not None and not isinstance(reason, str):
            raise ParameterError(f"The 'reason' parameter must be text. Got a {type(reason).__name__} instead.")
        if names and (reason is None or not reason.strip()):
            raise ParameterError(
                "The 'allow' parameter needs a 'reason': why the release goes out although a check fails.",
                hint='say why, and the ledger keeps it: `--reason "..."`, or reason="...".',
            )
        if not names and reason is not None:
            raise ParameterError(
                "A 'reason' is given, and nothing that it is the reason for.",
                hint="name the checks that may fail: `--allow NAME`, or allow=[...].",
            )
        if reason is not None:
            check_text("The 'reason' parameter", reason)
        return cls(names, None if reason is None else reason.strip())


def _names(allow: Iterable[str]) -> tuple[str, ...]:
    names = [allow] if isinstance(allow, str) else list(allow) if isinstance(allow, Iterable) else [allow]
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("The 'allow' parameter must be a list of names of checks.")
    return tuple(dict.fromkeys(names))


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower().replace("_", "-"), CHECKS, n=2)
    return f"'{name}'" + (f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else "")


@dataclass(frozen=True)
class Looked:
    """What the checks said about a draft: words with counts, nothing about anybody."""

    failed: tuple[Failed, ...]
    """Those that failed and were allowed."""
    reason: str | None
    """Why they were."""
    unchecked: tuple[str, ...]
    """What could not be looked at."""
    state: str = field(repr=False)
    """The digest of the table's state, by which it is known again; private."""
    seal: str | None = field(repr=False)
    """The seal on what was looked at, which is private; None if nobody had the draft in hands by then."""

    @property
    def names(self) -> tuple[str, ...]:
        """The checks that failed and were allowed."""
        return tuple(one.name for one in self.failed)

    def summary(self) -> dict[str, Any]:
        """What the private record of a release keeps of it; nothing where there is nothing to say."""
        allowed = {one.name: one.what for one in self.failed}
        return {
            **({"allowed": allowed, "reason": self.reason} if allowed else {}),
            **({"unchecked": list(self.unchecked)} if self.unchecked else {}),
        }

    def events(self, number: int) -> list[tuple[str, str]]:
        """What the ledger records beside the release of this number."""
        return [("allowed", f"{', '.join(self.names)} in release {number}")] if self.failed else []


def refuse(failed: Sequence[Failed], allowed: Allowed, *, grouped: bool) -> None:
    """Raise ChecksFailed with everything that failed and is not allowed, if anything is."""
    found = [one for one in failed if one.name not in allowed.names]
    if not found:
        return
    # What was allowed already must be said again.
    names = [one.name for one in failed] + [name for name in allowed.names if name in AFTERWARDS and not grouped]
    options = " ".join(f"--allow {name}" for name in dict.fromkeys(names))
    later = "" if grouped else f" What the release would cost ({', '.join(AFTERWARDS)}) is looked at after that."
    raise ChecksFailed(
        f"{count_of(len(found), 'check')} before the commit failed. Nothing was published.",
        problems=[str(one) for one in found],
        hint=f'put right what is wrong. What is no mistake is allowed for this release with `{options} --reason "..."` '
        'or allow=[...] and reason="...", and the ledger keeps why; for all releases by a threshold in [checks] of the '
        f"policy.{later}",
    )


def of_public_files(found: Sequence[Discrepancy], allowed: Collection[str]) -> list[Failed]:
    """The check of public files; SeriesDamaged is raised where they are not as they were and that is not allowed."""
    if not found:
        return []
    if PUBLIC_FILES not in allowed:
        raise SeriesDamaged(
            "Public files of earlier releases are missing, or are not as they were committed.",
            problems=[str(one) for one in found],
            hint="put them back, from a backup or from whoever received them; `reissue verify` shows what else "
            f"differs. {WITHOUT_FILES}",
        )
    shown = "; ".join(map(str, found[:12])) + (f"; and {len(found) - 12} more" if len(found) > 12 else "")
    return [Failed(PUBLIC_FILES, shown, "put them back")]


def never_looked() -> ChecksFailed:
    """The refusal of a draft that the checks were not asked about."""
    return ChecksFailed(
        "The checks before the commit were not asked about this draft. Nothing was published.",
        hint="draft with series.draft or ri.preview, and leave the draft as it is.",
    )


def another_draft_looked_at() -> ChecksFailed:
    """The refusal of a draft with which the answers of the checks about another one come."""
    return ChecksFailed(
        "This draft is not the one that the checks were asked about, or what they said is changed: its tables, its "
        "groups, the release before it or their answers are others. Nothing was published.",
        hint="draft again, and leave the draft as it is.",
    )
