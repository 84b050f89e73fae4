"""Schema: what each column of the private table is.

Every column has exactly one role. The words are ARX's where ARX has one:

| role             | in `Schema`  | what happens to it                                                       |
|------------------|--------------|--------------------------------------------------------------------------|
| person           | `person`     | tells people apart from release to release; never published              |
| quasi-identifier | `quasi`      | what an outsider may know of a person; generalised or kept apart         |
| sensitive        | `sensitive`  | what must not be tied to a person; published for groups only, or in sets |
| as it is         | `as_is`      | published unchanged; counts as a quasi-identifier for every check        |
| dropped          | `drop`       | read by nothing, published nowhere                                       |
| order of events  | `events`     | says which of a person's rows stands for them; never published           |

Several columns can be sensitive. Somebody's values in them are one value to methods, checkers and attacks, a *record*:
columns that are published apart tell of each other. `sensitive` is then the name of all of them together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from reissue.arrays.exact import probability_of
from reissue.errors import NOT_TEXT, ParameterError, PolicyError, is_text, listed
from reissue.model.events import Events
from reissue.model.hierarchy import Hierarchy

Missing = Literal["refuse", "value"]

RESERVED = "reissue."
"""Names that begin so are the ledger's own."""
TOGETHER = "; "
"""What stands between sensitive columns, and between the values of a record."""


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
    """The sensitive column; of several the names of all, as one."""
    sensitive_kind: Numeric | Categorical
    """Labels, or numbers where distances between values matter. Records of several columns are labels."""
    sensitive_columns: Mapping[str, Numeric | Categorical]
    """The sensitive columns, each with its kind; most tables have one."""
    limits: Mapping[str, str]
    """Of several sensitive columns: the largest probability with which anybody may be tied to a value of each, such
    as "3/4". What a column without one may have, the method says."""
    as_is: Mapping[str, Numeric | Categorical]
    """Columns published unchanged."""
    drop: tuple[str, ...]
    """Columns that are not published and not kept."""
    permanent: tuple[str, ...]
    """Sensitive values that nobody ever loses."""
    protect: tuple[tuple[str, ...], ...]
    """Sets of sensitive values to protect together; empty: every value alone."""
    events: Events | None
    """Which event stands for a person, where a row is an event; None: a row is a person."""

    def __init__(
        self,
        person: str,
        quasi: Mapping[str, Kind],
        sensitive: str | Mapping[str, Numeric | Categorical],
        as_is: Mapping[str, Numeric | Categorical] | Sequence[str] = (),
        drop: Sequence[str] = (),
        permanent: Sequence[str] = (),
        protect: Sequence[Sequence[str]] = (),
        limits: Mapping[str, Any] | None = None,
        events: Events | None = None,
    ) -> None:
        if isinstance(sensitive, str):
            sensitive = {sensitive: Categorical()}
        elif not isinstance(sensitive, Mapping):
            sensitive = dict.fromkeys(sensitive, Categorical())
        if not sensitive:
            raise PolicyError(
                "A schema has at least one sensitive column. Got none.",
                hint="name the column that must not be tied to a person.",
            )
        if not isinstance(as_is, Mapping):
            as_is = dict.fromkeys([as_is] if isinstance(as_is, str) else as_is, Categorical())
        several = len(sensitive) > 1
        values = {
            "person": person,
            "quasi": MappingProxyType(dict(quasi)),
            "sensitive": TOGETHER.join(map(str, sensitive)),
            "sensitive_kind": Categorical(new="accept") if several else next(iter(sensitive.values())),
            "sensitive_columns": MappingProxyType(dict(sensitive)),
            "limits": MappingProxyType({name: _written(limit) for name, limit in (limits or {}).items()}),
            "as_is": MappingProxyType(dict(as_is)),
            "drop": (drop,) if isinstance(drop, str) else tuple(drop),
            "permanent": tuple(permanent),
            "protect": tuple(tuple(str(value) for value in group) for group in protect),
            "events": events,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    def __reduce__(self) -> tuple[Any, ...]:
        columns = (self.person, dict(self.quasi), dict(self.sensitive_columns), dict(self.as_is), self.drop)
        return (Schema, (*columns, self.permanent, self.protect, dict(self.limits), self.events))

    def __hash__(self) -> int:
        return hash((self.person, tuple(self.quasi.items()), self.sensitive, tuple(self.as_is.items()), self.drop))

    @property
    def several(self) -> bool:
        """Whether several columns are sensitive, so that a value is a record."""
        return len(self.sensitive_columns) > 1

    def limit_of(self, column: str) -> Fraction | None:
        """The limit of a sensitive column; None where none is given."""
        return probability_of(self.limits[column]) if column in self.limits else None

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every column that is coded: all but the person and those dropped."""
        return {**self.quasi, **self.as_is, **self.sensitive_columns}

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
            **dict.fromkeys(self.sensitive_columns, "sensitive"),
            **dict.fromkeys(self.as_is, "as it is"),
            **dict.fromkeys(self.drop, "dropped"),
            **self._order_role(),
        }

    def _order_role(self) -> dict[str, str]:
        """The role of the column that orders events, where it has none or is dropped otherwise."""
        named = {self.person, *self.quasi, *self.sensitive_columns, *self.as_is}
        return {} if self.events is None or self.events.order in named else {self.events.order: "order of events"}

    def _check(self) -> None:
        problems = []
        if not self.quasi:
            problems.append("there is no quasi-identifier: name at least one column an outsider may know")
        columns = [self.person, *self.quasi, *self.sensitive_columns, *self.as_is, *self.drop]
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
        for name, plain in {**self.as_is, **self.sensitive_columns}.items():
            if not isinstance(plain, Numeric | Categorical):
                problems.append(f"column '{name}' needs Numeric() or Categorical()")
        taken = _published_names(self)
        clash = sorted(name for name, often in Counter(taken).items() if often > 1)
        if clash:
            problems.append(
                f"two columns would be published under the same name: {listed(clash)}; rename yours "
                "('group' and 'count' are Reissue's own)"
            )
        problems += self._several_problems(columns)
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
        if self.events is not None and not isinstance(self.events, Events):
            problems.append("'events' must say which event is kept, such as ri.Events(order=\"admitted\")")
        elif self.events is not None and self.events.order == self.person:
            problems.append("the person column does not order events")
        if any(not group for group in self.protect):
            problems.append("'protect' holds an empty set")
        if problems:
            raise PolicyError("The schema contradicts itself.", problems=problems)

    def _several_problems(self, columns: Sequence[str]) -> list[str]:
        """What does not fit with several sensitive columns, or with one."""
        problems = []
        if self.several and self.sensitive in columns:
            problems.append(f"columns to rename: '{self.sensitive}', which stands for all sensitive columns together")
        if self.several and (self.protect or self.permanent):
            problems.append("'protect' and 'permanent' are for one sensitive column, and there are several")
        unknown = [name for name in self.limits if name not in self.sensitive_columns]
        if unknown:
            problems.append(f"'limits' names what is no sensitive column: {listed(unknown)}")
        elif self.limits and not self.several:
            problems.append("'limits' is for several sensitive columns: the limit of a single one is the method's")
        wrong = [name for name in self.limits if (limit := self.limit_of(name)) is None or not Fraction(0) < limit < 1]
        if wrong:
            problems.append(f'the limit of {listed(wrong)} must be a probability above 0 and below 1, such as "3/4"')
        return problems


def _written(limit: object) -> str:
    """A limit as text, exactly where it is a fraction with a small denominator."""
    exact = probability_of(limit)
    return str(limit) if exact is None else str(exact)


def _published_names(schema: Schema) -> list[str]:
    names = ["group", "count", *schema.sensitive_columns, *schema.as_is, *schema.quasi]
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
