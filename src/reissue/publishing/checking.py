"""Asking the checkers of a method's promises about a release in the making."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from reissue.arrays.dense import ascending
from reissue.arrays.types import Ints
from reissue.guarantees import Guarantee, SeriesGuarantee, Verdict
from reissue.model.memory import Kept, Memory, Prefixed, Remembered
from reissue.model.published import Published
from reissue.model.roles import Roles
from reissue.model.snapshot import Snapshot


@dataclass(frozen=True, repr=False)
class Secrets:
    """What checkers may be told of the private side."""

    anew: Mapping[int, Ints]
    released: Snapshot
    roles: Roles | None

    def of(self, guarantee: Guarantee, number: int) -> object:
        """What this one wants to know."""
        wanted = getattr(guarantee, "secret_of", None)
        if wanted == "roles":
            return {number: self.roles}
        if wanted == "values":
            order = ascending(self.released.people)
            return self.released.people[order], self.released.values.codes[order]
        return self.anew


def checked(
    guarantees: tuple[Guarantee, ...], view: Published, checks: Memory, secrets: Secrets
) -> tuple[tuple[Verdict, ...], Remembered]:
    """Ask every checker; those of promises about a whole series go on from what they have seen so far."""
    verdicts: list[Verdict] = []
    remembered: dict[str, pl.DataFrame | Kept] = {}
    for guarantee in guarantees:
        secret = secrets.of(guarantee, view.releases[0].number)
        if not isinstance(guarantee, SeriesGuarantee):
            verdicts.append(guarantee.check(view, secret))
            continue
        prefix = f"{guarantee.name}_"
        verdict, state = guarantee.follow(view, Prefixed(checks, prefix), secret)
        verdicts.append(verdict)
        remembered |= {prefix + name: table for name, table in state.items()}
    return tuple(verdicts), remembered
