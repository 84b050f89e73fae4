"""What guarantees about protected sets of values have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from reissue.arrays.types import Ints
from reissue.errors import count_of
from reissue.guarantees.base import Guarantee
from reissue.model.parameters import Validation
from reissue.model.published import Published, PublishedGroups
from reissue.model.schema import Categorical, Numeric, Schema
from reissue.reasoning.history import diversity

Sets = tuple[tuple[Hashable, ...], ...]


class AboutSets(Guarantee):
    """A guarantee with the parameter `protect`: sets of values, or every value by itself where there are none.

    The labels are values of a private column, so they are counted and never shown.
    """

    protect: Sets

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.parameters.items() if name != "protect"]
        return f"{type(self).__name__}({', '.join(given)}, protect=<{count_of(len(self.protect), 'set')}>)"

    @property
    def title(self) -> str:
        """The guarantee and its parameters in words; protected sets are counted, not named."""
        told = [f"{name} = {value}" for name, value in self.parameters.items() if name != "protect"]
        told += [count_of(len(self.protect), "protected set")] if self.protect else []
        return f"{self.name} ({', '.join(told)})"

    def problems(self, schema: Schema) -> list[str]:
        """Protected sets are sets of labels that the sensitive column can have."""
        protected = {value for values in self.protect for value in values}
        kind = schema.sensitive_kind
        if protected and isinstance(kind, Numeric):
            return [f"{self.name} protects labels, but the sensitive column is numeric"]
        other = sum(not isinstance(value, str) for value in protected)
        if other:
            return [f"{self.name} protects {other} values that are not text; labels are text"]
        lacking = len(protected - set(kind.values)) if isinstance(kind, Categorical) and kind.values else 0
        if lacking:
            return [f"{self.name} protects {lacking} labels that the sensitive column's declared values lack"]
        return []

    def _check_sets(self, validation: Validation) -> None:
        """Tidy the sets, or note what is wrong with them."""
        sets = _as_sets(self.protect)
        if isinstance(sets, str):
            validation.wrong("protect", "a list of lists of values, none of them empty", sets)
        else:
            validation.replace("protect", sets)

    @property
    def _noun(self) -> str:
        return "protected set of values" if self.protect else "value"

    def _top_and_base(self, published: Published, release: PublishedGroups) -> tuple[Ints, Ints]:
        """The most frequent set of each group, and of how many rows its share is taken."""
        base = np.minimum(release.sizes, diversity.totals(release))
        if not self.protect:
            return diversity.largest(release), base
        position = {value: at for at, value in enumerate(published.values)}
        sets = [[position[value] for value in labels if value in position] for labels in self.protect]
        return diversity.largest_of_sets(release, sets), base


def _as_sets(protect: object) -> tuple[tuple[Hashable, ...], ...] | str:
    """The sets as tuples, or what was found in their place (never the values themselves)."""
    if isinstance(protect, str) or not isinstance(protect, Iterable):
        return f"a {type(protect).__name__}"
    sets: list[tuple[Hashable, ...]] = []
    for labels in protect:
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            return f"a list with a {type(labels).__name__} in it"
        members = tuple(labels)
        if not members:
            return "a list with an empty list in it"
        if not all(isinstance(label, Hashable) for label in members):
            return "a list of lists with something in it that is not a plain value"
        sets.append(tuple(dict.fromkeys(members)))
    return tuple(sets)
