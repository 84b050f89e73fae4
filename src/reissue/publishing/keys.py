"""The key for hashed ids: where a policy says it lies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reissue.publishing.policy import Policy
from reissue.tables.identities import read_key


def with_absolute_key(policy: Policy) -> Policy:
    """The key must be found again from anywhere."""
    key_file = policy.people.key_file
    if key_file is None or key_file.startswith("~"):
        return policy
    return replace(policy, people=replace(policy.people, key_file=str(Path(key_file).resolve())))


def key_of(policy: Policy, folder: Path | None) -> bytes | None:
    """The key for hashed ids, from a file outside the folder of the series; None where ids are plain."""
    if policy.people.key_file is None:
        return None
    return read_key(policy.people.key_file, outside=folder)
