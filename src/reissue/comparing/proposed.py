"""A policy for tables that nobody has described yet: the one that `reissue init --yes` would propose for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reissue.publishing.policy import Policy
from reissue.publishing.proposals.proposal import propose
from reissue.tables.frames import read_table


def proposed_policy(tables: Sequence[object]) -> Policy:
    """What is most likely, without asking."""
    given = [Path(table) if isinstance(table, str | Path) else read_table(table)[0] for table in tables]
    return propose(given).policy
