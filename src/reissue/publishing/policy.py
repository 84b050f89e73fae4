"""Policy: what is in the table, how it is published, and what may come later; TOML in and out.

series = "protected"            # or "unprotected": a static method may publish again
form = "generalised"            # or "anatomised"; "alternatives" for the method of that name, and for no other
disclose = []                   # ["counterfeits"]: publish how many counterfeits each group has
anchor = "/elsewhere/clinic.anchor"     # optional: where the head of the history is kept, outside the series' folder

[people]
ids = "plain"                   # or "hashed", with key_file = "/somewhere/else/clinic.key"

[schema]
person = "patient"
drop = ["name"]

[schema.quasi.age]
kind = "numeric"
[schema.quasi.education]
kind = "hierarchy"
file = "education.csv"          # or the hierarchy itself: [schema.quasi.education.hierarchy]

[schema.sensitive.diagnosis]    # one table for each sensitive column
kind = "categorical"
new = "accept"                  # with several columns also limit = "1/4": the largest probability of its values

[method]
name = "Mondrian"
k = 10
[[method.constraints]]
name = "t-closeness"
t = 0.2

[gate]                          # optional: what every release must withstand, together with those before
attacks = ["Worlds", "Equivalence"]
limit = "1/4"                   # or 0.25; left out: what the method promises
seconds = 60.0
accept = []                     # ["undecided", "sampled"]: what may pass without a proof

[checks]                        # optional: how much of what looks like a mistake may pass without a question
withheld = 0.05                 # and ids_return, ids_alike, newcomers_leavers, same_state, telling_column,
few_groups = 5                  # unused_value, counterfeit, replaced, few
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import tomli_w

from reissue import guarantees, methods
from reissue.errors import (
    NOT_TEXT,
    HierarchyError,
    ParameterError,
    PolicyError,
    UserError,
    check_text,
    is_text,
    listed,
)
from reissue.methods.base import Method
from reissue.model.events import Events
from reissue.model.hierarchy import Hierarchy
from reissue.model.memory import Memory
from reissue.model.promise import Promise
from reissue.model.schema import Categorical, Kind, Numeric, Schema
from reissue.model.toml_text import Unwieldy, bounded, parsed
from reissue.publishing.checking.thresholds import Checks
from reissue.publishing.gate import Gate
from reissue.tables.identities import read_key

Form = Literal["generalised", "anatomised", "alternatives"]
DISCLOSURES = ("counterfeits",)
T = TypeVar("T")


@dataclass(frozen=True)
class Ids:
    """How people's ids are kept in the private part of a series."""

    ids: Literal["plain", "hashed"] = "plain"
    """As they are, or as keyed hashes that only the holder of the key can make."""
    key_file: str | None = None
    """Where the key lies, outside the series' folder; needed for hashed ids."""

    def __post_init__(self) -> None:
        if isinstance(self.key_file, Path):
            object.__setattr__(self, "key_file", str(self.key_file))
        if self.key_file is not None:
            check_text("The 'key_file' parameter", self.key_file)
        if self.ids not in ("plain", "hashed"):
            raise ParameterError(f"The 'ids' parameter must be 'plain' or 'hashed'. Got {self.ids!r} instead.")
        if (self.ids == "hashed") != (self.key_file is not None):
            raise ParameterError(
                "Hashed ids need a 'key_file', and only they do.", hint="make a key with: reissue key <file>"
            )


@dataclass(frozen=True)
class Policy:
    """Everything a series is published under. A change of it is recorded, never silent."""

    schema: Schema
    """The role and kind of every column."""
    method: Method
    """How people are grouped."""
    form: Form = None  # type: ignore[assignment]  # filled in below
    """One table with regions in place of quasi-identifiers, or two tables tied by groups only; of `Alternatives` one
    table with a set of values in place of one. Left out: the first that the method has."""
    series: Literal["protected", "unprotected"] = "protected"
    """Whether a method that does not protect a series may publish more than once. The public record says so."""
    people: Ids = Ids()
    """How ids are kept."""
    disclose: Sequence[str] = ()
    """What is published beside the tables: `"counterfeits"`, how many counterfeits each group has."""
    gate: Gate | None = None
    """The attacks that every release must withstand, together with those before; None: the method's promises are
    checked, and no more."""
    anchor: str | None = None
    """The file, best on another disk, in which the head of the history is kept; None: in the user's state folder. A
    series that does not go on from it, as an older copy does not, is refused."""
    checks: Checks = field(default_factory=Checks)
    """How much of what looks like a mistake may pass without a question."""

    def __post_init__(self) -> None:
        problems = []
        if isinstance(self.anchor, Path):
            object.__setattr__(self, "anchor", str(self.anchor))
        if self.anchor is not None and (not isinstance(self.anchor, str) or not self.anchor.strip()):
            problems.append("'anchor' must be the path of a file")
        elif self.anchor is not None and not is_text(self.anchor):
            problems.append(f"'anchor' holds {NOT_TEXT}")
        if not isinstance(self.disclose, list | tuple) or any(word not in DISCLOSURES for word in self.disclose):
            problems.append(f"'disclose' must be a list; what it can hold is {listed(DISCLOSURES)}")
        else:
            object.__setattr__(self, "disclose", tuple(self.disclose))
        if not isinstance(self.method, Method):
            problems.append("'method' must be a method, such as ri.Mondrian(k=10)")
        forms = self.method.forms if isinstance(self.method, Method) else Method.forms
        if self.form is None:
            object.__setattr__(self, "form", forms[0])
        if self.form not in forms:
            problems.append(f"'form' must be {' or '.join(map(repr, forms))}, not {self.form!r}")
        if self.series not in ("protected", "unprotected"):
            problems.append(f"'series' must be 'protected' or 'unprotected', not {self.series!r}")
        if isinstance(self.method, Method) and not all(map(is_text, _texts(self.method.parameters))):
            problems.append(f"a parameter of {self.method.name} holds {NOT_TEXT}")
        if not isinstance(self.checks, Checks):
            problems.append("'checks' must be checks, such as ri.Checks(withheld=0.1)")
        if isinstance(self.method, Method):
            problems += [*self._method_problems(), *self._gate_problems()]
        if problems:
            raise PolicyError("The policy contradicts itself.", problems=problems)

    def _method_problems(self) -> list[str]:
        problems = self.method.problems(self.schema, self.form)
        if self.schema.several and self.method.takes.registry:
            problems.append(f"{self.method.name} takes one sensitive column, and there are several")
        if self.schema.events is not None and self.method.takes.registry:
            problems.append(f"{self.method.name} takes all events of a person: leave 'events' out")
        if self.schema.permanent and not (self.method.takes.registry or self.method.takes.permanent):
            problems.append(f"{self.method.name} does nothing for permanent values: leave 'permanent' out")
        for guarantee in self.guarantees():
            problems += guarantee.problems(self.schema)
        return problems

    def _gate_problems(self) -> list[str]:
        if self.gate is None:
            return []
        if not isinstance(self.gate, Gate):
            return ['\'gate\' must be a gate, such as ri.Gate(attacks=["Worlds"], limit="1/4")']
        from reissue.attacks import kind_of, proving
        from reissue.auditing.limits import lacking, limits_of

        try:
            limits = [limits_of(self.gate.probability, self.promises, releases=count) for count in (1, None)]
        except ParameterError:
            return [f"{self.method.name} promises no bound on probabilities: the gate needs a 'limit', such as 0.25"]
        where = {"permanent": bool(self.schema.permanent), "sets": self.form == "alternatives"}
        able = [kind_of(name) for name in self.gate.attacks]
        unproven = dict.fromkeys(asked for one in limits for asked in lacking(able, one, **where))
        wanted = dict.fromkeys(proving(asked, **where) for asked in unproven)
        return [
            f"the gate needs the attack '{name}' to prove what {self.method.name} promises: name it in 'attacks', or "
            "'undecided' in 'accept'"
            for name in ([] if "undecided" in self.gate.accept else wanted)
        ]

    @cached_property
    def _guarantees(self) -> tuple[guarantees.Guarantee, ...]:
        return self._built(self.method.promises(self.schema))

    def guarantees_after(self, memory: Memory) -> tuple[guarantees.Guarantee, ...]:
        """Those of the next release of a series whose method remembers this; as many, of the same kinds."""
        return self._built(self.method.promises_after(self.schema, memory))

    def _built(self, promised: Sequence[Promise]) -> tuple[guarantees.Guarantee, ...]:
        """What the method promises and, where it hides records of several columns, what is asked of each column."""
        made = [guarantees.build(promise.name, **promise.parameters) for promise in promised]
        if self.schema.several and self.form != "alternatives":
            limits = {name: self.schema.limits.get(name) for name in self.schema.sensitive_columns}
            made.append(guarantees.build("column-limits", limits=limits))
        return tuple(made)

    def guarantees(self) -> tuple[guarantees.Guarantee, ...]:
        """The guarantees that every release under this policy must pass."""
        return self._guarantees

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What is promised about every release under this policy, with what each promise asks and bounds."""
        return tuple(guarantee.promise for guarantee in self.guarantees())

    def differences(self, other: Policy) -> list[str]:
        """The entries in which another policy differs, by their names in TOML."""
        whole = {*self.method.in_tables, *other.method.in_tables}
        mine, theirs = _flat(self.to_dict(), whole), _flat(other.to_dict(), whole)
        return sorted(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))

    def to_dict(self) -> dict[str, Any]:
        """The policy as nested dictionaries, hierarchies included."""
        schema: dict[str, Any] = {"person": self.schema.person}
        for name in ("drop", "permanent"):
            if getattr(self.schema, name):
                schema[name] = list(getattr(self.schema, name))
        if self.schema.protect:
            schema["protect"] = [list(group) for group in self.schema.protect]
        schema["quasi"] = {name: _kind_dict(kind) for name, kind in self.schema.quasi.items()}
        limits = self.schema.limits
        schema["sensitive"] = {
            name: {**_kind_dict(kind), **({"limit": limits[name]} if name in limits else {})}
            for name, kind in self.schema.sensitive_columns.items()
        }
        if self.schema.events is not None:
            schema["events"] = asdict(self.schema.events)
        if self.schema.as_is:
            schema["as_is"] = {name: _kind_dict(kind) for name, kind in self.schema.as_is.items()}
        people: dict[str, str] = {"ids": self.people.ids}
        if self.people.key_file is not None:
            people["key_file"] = self.people.key_file
        return {
            "series": self.series,
            "form": self.form,
            **({"disclose": list(self.disclose)} if self.disclose else {}),
            **({} if self.anchor is None else {"anchor": self.anchor}),
            "people": people,
            "schema": schema,
            "method": {"name": self.method.name, **_plain(self.method.parameters)},
            **({} if self.gate is None else {"gate": self.gate.to_dict()}),
            "checks": self.checks.to_dict(),
        }

    def to_toml(self) -> str:
        """The policy as TOML, complete in itself: hierarchies are written out."""
        return tomli_w.dumps(self.to_dict())

    @classmethod
    def read(cls, path: str | Path, *, unwritten: Collection[Path] = ()) -> Policy:
        """Read a policy file; paths in it are relative to the file.

        Files of the method that are `unwritten`, to be made with the help of this policy, count as not named in it.
        """
        path = Path(path)
        try:
            text = bounded(path).decode()
        except Unwieldy as error:
            raise PolicyError(f"The policy file '{path}' cannot be read: {error}.") from error
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise PolicyError(
                f"The policy file '{path}' cannot be read: {reason}.",
                hint="reissue init <table> proposes a policy file.",
            ) from error
        try:
            return cls.from_toml(text, folder=path.parent, unwritten=unwritten)
        except PolicyError as error:
            raise PolicyError(f"'{path}': {error.what}", problems=error.problems, hint=error.hint) from None

    @classmethod
    def from_toml(cls, text: str, *, folder: str | Path | None = None, unwritten: Collection[Path] = ()) -> Policy:
        """Read a policy from TOML text; paths in it are relative to `folder` or, without one, left as they are."""
        try:
            data = parsed(text)
        except tomllib.TOMLDecodeError as error:
            raise PolicyError(f"The policy is not valid TOML: {error}.") from error
        except Unwieldy as error:
            raise PolicyError(f"The policy cannot be read: {error}.") from error
        return _Reader(None if folder is None else Path(folder), unwritten).policy(data)


class _Reader:
    """Turns nested dictionaries into a policy; gathers everything that is wrong."""

    def __init__(self, folder: Path | None, unwritten: Collection[Path] = ()) -> None:
        self.folder = folder
        self.unwritten = {path.resolve() for path in unwritten}
        self.problems: list[str] = []

    def policy(self, data: Mapping[str, Any]) -> Policy:
        names = ("series", "form", "disclose", "anchor", "people", "schema", "method", "gate", "checks")
        self._known("the policy", data, names)
        schema = self._schema(self._table("schema", data.get("schema")))
        method = self._method(self._table("method", data.get("method")))
        people = self._try("[people]", lambda: self._ids(self._table("people", data.get("people", {}))))
        gate = self._gate(self._table("gate", data["gate"])) if "gate" in data else None
        checks = self._checks(self._table("checks", data.get("checks", {})))
        if self.problems or schema is None or method is None or people is None or checks is None:
            raise PolicyError("The policy cannot be used.", problems=self.problems)
        given = {name: data[name] for name in ("series", "form", "disclose", "anchor") if name in data}
        if isinstance(anchor := given.get("anchor"), str):
            given["anchor"] = self._path(anchor)
        return Policy(schema, method, people=people, gate=gate, checks=checks, **given)

    def _path(self, path: str) -> str:
        """A path in the policy. The series keeps its policy elsewhere, so it must not depend on where this one lay."""
        return path if self.folder is None or path.startswith("~") else str((self.folder / path).resolve())

    def _schema(self, data: Mapping[str, Any]) -> Schema | None:
        names = ("person", "quasi", "sensitive", "as_is", "drop", "permanent", "protect", "events")
        self._known("[schema]", data, names)
        kinds: dict[str, Any] = {}
        limits: dict[str, Any] = {}
        for role in ("quasi", "sensitive", "as_is"):
            columns = self._table(f"schema.{role}", data.get(role, {}))
            if role == "sensitive":
                columns = {name: self._without_limit(name, entry, limits) for name, entry in columns.items()}
            kinds[role] = {
                name: kind
                for name, entry in columns.items()
                if (kind := self._kind(f"schema.{role}.{name}", entry)) is not None
            }
        if not isinstance(data.get("person"), str):
            self.problems.append('[schema] needs person = "...", the column that tells people apart')
        for name in ("drop", "permanent"):
            if not _is_list_of_text(data.get(name, [])):
                self.problems.append(f"[schema] {name} must be a list of text")
        protect = data.get("protect", [])
        if not (isinstance(protect, list) and all(map(_is_list_of_text, protect))):
            self.problems.append("[schema] protect must be a list of lists of text")
        if self.problems:
            return None
        rest = {name: data[name] for name in ("person", "drop", "permanent", "protect") if name in data}
        events = self._events(self._table("schema.events", data["events"])) if "events" in data else None
        if self.problems:
            return None
        return self._try("[schema]", lambda: Schema(**kinds, **rest, limits=limits, events=events))

    def _events(self, entry: Mapping[str, Any]) -> Events | None:
        if "order" not in entry:
            self.problems.append('[schema.events] needs order = "...", the column that says when an event was')
            return None
        if not self._known("[schema.events]", entry, tuple(field.name for field in fields(Events))):
            return None
        return self._try("[schema.events]", lambda: Events(**entry))

    @staticmethod
    def _without_limit(name: str, entry: object, limits: dict[str, Any]) -> object:
        """What a sensitive column is; its limit goes to the others'."""
        if not isinstance(entry, dict) or "limit" not in entry:
            return entry
        limits[name] = entry["limit"]
        return {key: value for key, value in entry.items() if key != "limit"}

    def _kind(self, where: str, entry: object) -> Kind | None:
        entry = self._table(where, entry)
        kinds: dict[object, type[Numeric] | type[Categorical]] = {"numeric": Numeric, "categorical": Categorical}
        kind = entry.get("kind")
        rest = {name: value for name, value in entry.items() if name != "kind"}
        if kind == "hierarchy":
            self._known(f"[{where}]", rest, ("file", "hierarchy", "missing"))
            return self._try(f"[{where}]", lambda: self._hierarchy(rest))
        if not isinstance(kind, str) or kind not in kinds:
            self.problems.append(f'[{where}] needs kind = "numeric", "categorical" or "hierarchy"')
            return None
        if not self._known(f"[{where}]", rest, tuple(field.name for field in fields(kinds[kind]))):
            return None
        return self._try(f"[{where}]", lambda: kinds[kind](**rest))

    def _hierarchy(self, entry: Mapping[str, Any]) -> Hierarchy:
        if ("file" in entry) == ("hierarchy" in entry):
            raise HierarchyError('give either file = "..." or the hierarchy itself')
        missing = entry.get("missing", "refuse")
        if "file" in entry:
            return Hierarchy.read((self.folder or Path()) / entry["file"], missing=missing)
        return Hierarchy.from_nested(entry["hierarchy"], missing=missing)

    def _ids(self, entry: Mapping[str, Any]) -> Ids:
        key_file = entry.get("key_file")
        return Ids(**{**entry, "key_file": self._path(key_file)} if isinstance(key_file, str) else entry)

    def _method(self, data: Mapping[str, Any]) -> Method | None:
        if not isinstance(data.get("name"), str):
            self.problems.append('[method] needs a name, such as name = "Mondrian"')
            return None
        parameters = {name: value for name, value in data.items() if name not in ("name", "constraints")}
        for name in ("reference", "change"):
            if isinstance(parameters.get(name), str):
                # A file beside the policy; what is in it becomes part of the policy.
                file = (self.folder or Path()) / parameters.pop(name)
                parameters |= {} if file.resolve() in self.unwritten else {name: str(file)}
        if not isinstance(data.get("constraints", []), list):
            self.problems.append("[method] constraints must be a list of tables: [[method.constraints]]")
            return None
        if "constraints" in data:
            constraints = [self._constraint(entry) for entry in data["constraints"]]
            if None in constraints:
                return None
            parameters["constraints"] = constraints
        return self._try("[method]", lambda: methods.build(data["name"], **parameters))

    def _gate(self, entry: Mapping[str, Any]) -> Gate | None:
        if not self._known("[gate]", entry, tuple(field.name for field in fields(Gate))):
            return None
        return self._try("[gate]", lambda: Gate(**entry))

    def _checks(self, entry: Mapping[str, Any]) -> Checks | None:
        if not self._known("[checks]", entry, tuple(field.name for field in fields(Checks))):
            return None
        return self._try("[checks]", lambda: Checks(**entry))

    def _constraint(self, entry: object) -> guarantees.Guarantee | None:
        where = "[[method.constraints]]"
        given = self._table("[method.constraints]", entry)
        if not isinstance(given.get("name"), str):
            self.problems.append(f'{where} needs a name, such as name = "t-closeness"')
            return None
        rest = {name: value for name, value in given.items() if name != "name"}
        return self._try(where, partial(guarantees.build, given["name"], **rest))

    def _table(self, where: str, entry: object) -> dict[str, Any]:
        if isinstance(entry, dict):
            return entry
        self.problems.append(f"there is no [{where}]" if entry is None else f"[{where}] must be a table")
        return {}

    def _known(self, where: str, data: Mapping[str, Any], names: tuple[str, ...]) -> bool:
        for name in data:
            if name not in names:
                near = get_close_matches(name, names, n=1)
                self.problems.append(
                    f"{where} has no entry '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
                )
        return all(name in names for name in data)

    def _try(self, where: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except TypeError as error:
            self.problems.append(f"{where}: {error}")
        except UserError as error:
            told = [error.what.rstrip("."), *error.problems, *([error.hint.rstrip(".")] if error.hint else [])]
            self.problems.append(f"{where}: " + "; ".join(told))
        return None


def _kind_dict(kind: Kind) -> dict[str, Any]:
    if isinstance(kind, Hierarchy):
        return {"kind": "hierarchy", "missing": kind.missing, "hierarchy": kind.to_nested()}
    entries = {field.name: getattr(kind, field.name) for field in fields(kind)}
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in entries.items() if v not in (None, ())}
    return {"kind": "numeric" if isinstance(kind, Numeric) else "categorical", **given}


def _plain(value: Any) -> Any:
    """Tuples as lists, as TOML and JSON have them."""
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _texts(value: object) -> Iterator[str]:
    """Every text in nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from (*_texts(name), *_texts(entry))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)


def _flat(data: Mapping[str, Any], whole: Collection[str], prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`; hierarchies, lists and tables of values stay whole."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping) and name != "hierarchy" and name not in whole:
            flat |= _flat(value, whole, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def with_absolute_paths(policy: Policy) -> Policy:
    """The key and the anchor must be found again from anywhere."""

    def absolute(path: str) -> str:
        return path if path.startswith("~") else str(Path(path).resolve())

    if (key_file := policy.people.key_file) is not None:
        policy = replace(policy, people=replace(policy.people, key_file=absolute(key_file)))
    return policy if policy.anchor is None else replace(policy, anchor=absolute(policy.anchor))


def key_of(policy: Policy, folder: Path | None) -> bytes | None:
    """The key for hashed ids, from a file outside the folder of the series; None where ids are plain."""
    if policy.people.key_file is None:
        return None
    return read_key(policy.people.key_file, outside=folder)
