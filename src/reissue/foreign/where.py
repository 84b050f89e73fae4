"""Problems of several releases, told once."""

from __future__ import annotations

from collections.abc import Iterable


def of_releases(problems: Iterable[tuple[str, str]]) -> list[str]:
    """Lines for problems, each a release and what is the matter with it; those with the same problem share one."""
    having: dict[str, list[str]] = {}
    for name, what in problems:
        having.setdefault(what, []).append(name)
    return [f"{called(names)} {what}" for what, names in having.items()]


def called(names: list[str]) -> str:
    """`release 'a'`, `each of 3 releases ('a' to 'c')`."""
    if len(names) == 1:
        return f"release '{names[0]}'"
    return f"each of {len(names):,} releases ('{names[0]}' to '{names[-1]}')"
