"""What a method is: it groups the people of a snapshot, and says what it promises and what it can take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reissue.model.memory import Memory, Remembered
from reissue.model.promise import Promise

if TYPE_CHECKING:
    from reissue.model.grouping import Grouping
    from reissue.model.knowledge import Recoding
    from reissue.model.schema import Schema
    from reissue.model.snapshot import Delta, Snapshot


@dataclass(frozen=True)
class Takes:
    """What kinds of change between releases a method can take."""

    deletions: bool
    """People may be gone."""
    changes: bool
    """Quasi-identifiers or sensitive values of a person may differ from the release before."""
    returns: bool
    """People may come back after they were gone."""
    registry: bool = False
    """It wants everybody registered, in the table or not, and takes several values for each person."""
    permanent: bool = False
    """It knows of values that nobody ever loses. Whatever wants a registry does."""


COUNTS_ONLY = "l counts distinct values; it does not bound a probability by 1/l."
"""What every method says in public whose l counts values."""


def nothing_for_protected_sets(name: str, schema: Schema) -> list[str]:
    """The problem of a method that counts single values with a schema that protects sets of them."""
    if not schema.protect:
        return []
    return [f"{name} does nothing for protected sets, whose values may make up a whole group: leave 'protect' out"]


class Method(ABC):
    """A way of grouping people."""

    name: ClassVar[str]
    """The name in a policy file."""
    words: ClassVar[str]
    """What it does, in one sentence; the command line says it."""
    protects_series: ClassVar[bool]
    """Whether the promises hold over all releases together, not only for each alone."""
    takes: ClassVar[Takes]
    memory_format: ClassVar[int] = 1
    """The format of what it remembers. A version that changes it counts up, and must read the formats before."""
    forms: ClassVar[tuple[str, ...]] = ("generalised", "anatomised")
    """The forms that it can publish in, the usual one first."""
    in_tables: ClassVar[tuple[str, ...]] = ()
    """Parameters that can be tables of values, where the public tables have them: the record says just that there are
    any."""
    truthful: ClassVar[bool] = True
    """Whether nobody is published with another value than their own."""

    @property
    def minimal_recoding(self) -> Recoding | None:
        """How the method recodes, if no group is more general than its promises ask; None if that is not so.

        Whoever knows it can argue from it why people were grouped at all (Wong et al., the minimality attack).
        """
        return None

    @property
    def cohorts(self) -> int | None:
        """How many cohorts it keeps for each permanent value; None if it keeps none."""
        return None

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters by name, as they stand in a policy file and in the public record: the fields of the method."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """The guarantees that hold for every release this method makes of such a table."""

    def problems(self, schema: Schema, form: str) -> list[str]:
        """Why this method cannot serve a table of this schema published in this form; nothing where it can."""
        return []

    def warnings(self) -> tuple[str, ...]:
        """What the public record must say about every release, in plain words."""
        return ()

    def remarks(self, form: str) -> tuple[str, ...]:
        """What the publisher should know about releases in this form, in plain words."""
        return ()

    def promises_after(self, schema: Schema, memory: Memory) -> tuple[Promise, ...]:
        """What holds for the next release of a series that remembers this: what was told before stays told."""
        return self.promises(schema)

    def amended(self, memory: Memory) -> tuple[str, ...]:
        """What of the policy a series that remembers this cannot go on with, whatever the table."""
        return ()

    def warnings_after(self, memory: Memory) -> tuple[str, ...]:
        """What the public record must say about the next release of such a series."""
        return self.warnings()

    @abstractmethod
    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Group the people of the snapshot; return the groups and what to remember."""
