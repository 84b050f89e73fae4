"""One door for built-ins and plug-ins: make a method or a guarantee from its name in a policy file.

Other packages add their own under an entry point group (`reissue.methods`, `reissue.guarantees`), with the
name in a policy file as the entry point's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar, cast

from reissue.errors import ParameterError, listed

T = TypeVar("T")


class Loaded(Mapping[str, type[T]]):
    """Classes by their names in a policy file, each loaded when it is first asked for.

    A policy names one method and a few guarantees; the others, and what they import, need not be loaded for it.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes
        """For each name the module and, behind a colon, the class."""

    def __getitem__(self, name: str) -> type[T]:
        module, _, kind = self._homes[name].partition(":")
        return cast("type[T]", getattr(import_module(module), kind))

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def called(self, kind: str) -> type[T] | None:
        """The class that is called so in Python; None where there is none."""
        found = (name for name, home in self._homes.items() if home.endswith(f":{kind}"))
        return self[name] if (name := next(found, None)) is not None else None


def make(what: str, name: str, parameters: Mapping[str, Any], *, known: Mapping[str, type[T]], base: type) -> T:
    """The `what` ("method", "guarantee", "attack") of this name, with these parameters."""
    kind = kind_of(what, name, known=known, base=base)
    expected = inspect.signature(kind).parameters
    problems = [
        f"'{given}' is not a parameter of '{name}'{_near(given, expected)}"
        for given in parameters
        if given not in expected
    ]
    problems += [
        f"the parameter '{wanted}' is missing"
        for wanted, parameter in expected.items()
        if parameter.default is inspect.Parameter.empty and wanted not in parameters
    ]
    if problems:
        raise ParameterError(
            f"The parameters of the {what} '{name}' do not fit.",
            problems=problems,
            hint=f"it takes {listed(list(expected))}.",
        )
    return kind(**parameters)


def kind_of(what: str, name: str, *, known: Mapping[str, type[T]], base: type) -> type[T]:
    """The class of this name: a built-in one (`known`), or one that another package has derived from `base`."""
    if name in known:
        return known[name]
    # Looking through the installed packages takes time that a built-in name need not pay.
    from importlib.metadata import entry_points

    group = f"reissue.{what}s"
    points = entry_points(group=group)
    if name not in points.names:
        names = sorted({*known, *points.names})
        raise ParameterError(
            f"There is no {what} called '{name}'{_near(name, names)}.", hint=f"choose one of {listed(names)}."
        )
    kind: Any = points[name].load()
    if not (inspect.isclass(kind) and issubclass(kind, base)):
        raise ParameterError(
            f"The entry point '{name}' of the group '{group}' does not lead to a {what}.",
            hint=f"let it name a class derived from `{base.__module__}.{base.__name__}`.",
        )
    if getattr(kind, "name", None) != name:
        raise ParameterError(
            f"The entry point '{name}' of the group '{group}' leads to a {what} of another name.",
            hint="call the entry point as the class calls itself (`name`), so that a policy file means it.",
        )
    return cast("type[T]", kind)


def _near(given: str, known: Iterable[str]) -> str:
    known = list(known)
    same = [name for name in known if name.lower() == given.lower()]
    close = same or get_close_matches(given, known, cutoff=0.5)
    return f"; near it: {listed(close)}" if close else ""
