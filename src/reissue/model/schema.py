"""Schema: what each column of the private table is.

Every column has exactly one role. The words are ARX's where ARX has one:

| role             | in `Schema`  | what happens to it                                                    |
|------------------|--------------|-----------------------------------------------------------------------|
| person           | `person`     | tells people apart from release to release; never published           |
| quasi-identifier | `quasi`      | what an outsider may know of a person; generalised or kept apart      |
| sensitive        | `sensitive`  | what must not be tied to a person; published for groups only          |
| as it is         | `as_is`      | published unchanged; counts as a quasi-identifier for every check     |
| dropped          | `drop`       | read by nothing, published nowhere                                    |
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from reissue.errors import NOT_TEXT, ParameterError, PolicyError, is_text, listed
from reissue.model.hierarchy import Hierarchy

Missing = Literal["refuse", "value"]

RESERVED = "reissue."
"""Names that begin so are the ledger's own."""


@dataclass(frozen=True)
class Numeric:
    """A column of whole numbers, decimals, dates or times; generalised to intervals."""

    low: float | None = None
    """The lowest number the column can hold. None: the lowest seen so far."""
    high: float | None = None
    """The highest number the column can hold. None: the highest seen so far."""
    wider: Literal["accept", "refuse"] = "accept"
    """Whether a table may bring numbers outside the range declared or, if none is, of the first release."""
    missing: Missing = "refuse"
    """Whether a missing value is an error or a value of its own."""

    def __post_init__(self) -> None:
        _one_of("Numeric", "wider", self.wider, ("accept", "refuse"))
        _one_of("Numeric", "missing", self.missing, ("refuse", "value"))
        for bound in ("low", "high"):
            value = getattr(self, bound)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if value is not None and not number:
                raise ParameterError(f"The '{bound}' parameter of Numeric must be a number. Got {value!r} instead.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ParameterError("The 'low' parameter of Numeric must not be above 'high'.")


@dataclass(frozen=True)
class Categorical:
    """A column of labels without a hierarchy; generalised to sets of labels."""

    values: tuple[str, ...] = ()
    """All labels the column can hold, in their order. Empty: those seen so far, in alphabetical order."""
    new: Literal["accept", "refuse"] = "refuse"
    """Whether a table may bring labels that were neither declared nor in an earlier release."""
    missing: Missing = "refuse"
    """Whether a missing value is an error or a value of its own."""

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            raise ParameterError(
                "The 'values' parameter of Categorical must be a list of labels. Got one text instead."
            )
        # Labels are text; yes and no are written as they are in a column of them.
        labels = (str(value).lower() if isinstance(value, bool) else str(value) for value in self.values)
        object.__setattr__(self, "values", tuple(labels))
        if not all(map(is_text, self.values)):
            raise ParameterError(f"The 'values' parameter of Categorical holds {NOT_TEXT}.")
        _one_of("Categorical", "new", self.new, ("accept", "refuse"))
        _one_of("Categorical", "missing", self.missing, ("refuse", "value"))
        if len(set(self.values)) < len(self.values):
            raise ParameterError("The 'values' parameter of Categorical must not name a label twice.")


Kind = Numeric | Categorical | Hierarchy


@dataclass(frozen=True, init=False)
class Schema:
    """The role and kind of every column."""

    person: str
    """The column that tells people apart: one row per person, the same id in every release."""
    quasi: Mapping[str, Kind]
    """The quasi-identifiers, each with its kind."""
    sensitive: str
    """The one sensitive column."""
    sensitive_kind: Numeric | Categorical
    """Labels, or numbers where distances between values matter."""
    as_is: Mapping[str, Numeric | Categorical]
    """Columns published unchanged."""
    drop: tuple[str, ...]
    """Columns that are not published and not kept."""
    permanent: tuple[str, ...]
    """Sensitive values that nobody ever loses."""
    protect: tuple[tuple[str, ...], ...]
    """Sets of sensitive values to protect together; empty: every value alone."""

    def __init__(
        self,
        person: str,
        quasi: Mapping[str, Kind],
        sensitive: str | Mapping[str, Numeric | Categorical],
        as_is: Mapping[str, Numeric | Categorical] | Sequence[str] = (),
        drop: Sequence[str] = (),
        permanent: Sequence[str] = (),
        protect: Sequence[Sequence[str]] = (),
    ) -> None:
        if isinstance(sensitive, str):
            sensitive = {sensitive: Categorical()}
        elif not isinstance(sensitive, Mapping):
            sensitive = dict.fromkeys(sensitive, Categorical())
        if len(sensitive) != 1:
            raise PolicyError(
                f"A schema has exactly one sensitive column. Got {len(sensitive)}"
                + (f": {listed(list(sensitive))}." if sensitive else "."),
                hint="publish a second sensitive column as a series of its own, make it a quasi-identifier, "
                "or drop it.",
            )
        if not isinstance(as_is, Mapping):
            as_is = dict.fromkeys([as_is] if isinstance(as_is, str) else as_is, Categorical())
        ((sensitive_name, sensitive_kind),) = sensitive.items()
        values = {
            "person": person,
            "quasi": MappingProxyType(dict(quasi)),
            "sensitive": sensitive_name,
            "sensitive_kind": sensitive_kind,
            "as_is": MappingProxyType(dict(as_is)),
            "drop": (drop,) if isinstance(drop, str) else tuple(drop),
            "permanent": tuple(permanent),
            "protect": tuple(tuple(str(value) for value in group) for group in protect),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def __reduce__(self) -> tuple[Any, ...]:
        sensitive = {self.sensitive: self.sensitive_kind}
        columns = (self.person, dict(self.quasi), sensitive, dict(self.as_is), self.drop)
        return (Schema, (*columns, self.permanent, self.protect))

    def __hash__(self) -> int:
        return hash((self.person, tuple(self.quasi.items()), self.sensitive, tuple(self.as_is.items()), self.drop))

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every column that is coded: all but the person and those dropped."""
        return {**self.quasi, **self.as_is, self.sensitive: self.sensitive_kind}

    @property
    def texts(self) -> set[str]:
        """The columns that are read from a file as they are written: all but numbers."""
        return {name for name in self.roles if not isinstance(self.kinds.get(name), Numeric)}

    @property
    def roles(self) -> dict[str, str]:
        """The role of each column, by its name."""
        return {
            self.person: "person",
            **dict.fromkeys(self.quasi, "quasi-identifier"),
            self.sensitive: "sensitive",
            **dict.fromkeys(self.as_is, "as it is"),
            **dict.fromkeys(self.drop, "dropped"),
        }

    def _check(self) -> None:
        problems = []
        if not self.quasi:
            problems.append("there is no quasi-identifier: name at least one column an outsider may know")
        columns = [self.person, *self.quasi, self.sensitive, *self.as_is, *self.drop]
        twice = [name for name, often in Counter(columns).items() if often > 1]
        if twice:
            problems.append(f"more than one role for {listed(twice)}")
        odd = [name for name in columns if not name or name == "*" or "\0" in name or name.startswith(("^", RESERVED))]
        if odd:
            problems.append(
                f"columns to rename: {listed(odd)} (a name must not be empty or '*', or begin with '^' or '{RESERVED}')"
            )
        unwritable = [text for text in (*columns, *self.permanent, *sum(self.protect, ())) if not is_text(str(text))]
        if unwritable:
            problems.append(f"{NOT_TEXT}: {listed(unwritable)}")
        for name, kind in self.quasi.items():
            if not isinstance(kind, Numeric | Categorical | Hierarchy):
                problems.append(f"quasi-identifier '{name}' needs Numeric(), Categorical() or a Hierarchy")
        for name, plain in {**self.as_is, self.sensitive: self.sensitive_kind}.items():
            if not isinstance(plain, Numeric | Categorical):
                problems.append(f"column '{name}' needs Numeric() or Categorical()")
        taken = _published_names(self)
        clash = sorted(name for name, often in Counter(taken).items() if often > 1)
        if clash:
            problems.append(
                f"two columns would be published under the same name: {listed(clash)}; rename yours "
                "('group' and 'count' are Reissue's own)"
            )
        if isinstance(self.sensitive_kind, Numeric) and (self.protect or self.permanent):
            problems.append("'protect' and 'permanent' name labels, but the sensitive column is numeric")
        if isinstance(self.sensitive_kind, Categorical) and self.sensitive_kind.values:
            known = set(self.sensitive_kind.values)
            named = {value for group in (*self.protect, self.permanent) for value in group}
            if named - known:
                problems.append(
                    f"'protect' or 'permanent' name {len(named - known)} labels that the sensitive column's "
                    "declared values lack"
                )
        if any(not group for group in self.protect):
            problems.append("'protect' holds an empty set")
        if problems:
            raise PolicyError("The schema contradicts itself.", problems=problems)


def _published_names(schema: Schema) -> list[str]:
    names = ["group", "count", schema.sensitive, *schema.as_is, *schema.quasi]
    for name, kind in schema.quasi.items():
        if isinstance(kind, Numeric):
            names += [f"{name}_low", f"{name}_high"]
            if kind.missing == "value":
                names.append(f"{name}_missing")
    return names


def _one_of(owner: str, parameter: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        words = " or ".join(repr(word) for word in allowed)
        raise ParameterError(f"The '{parameter}' parameter of {owner} must be {words}. Got {value!r} instead.")
