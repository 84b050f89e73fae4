"""One door for built-ins and plug-ins: make a method or a guarantee from its name in a policy file.

Other packages add their own under an entry point group (`reissue.methods`, `reissue.guarantees`), with the
name in a policy file as the entry point's name. They count where packages are installed, and nowhere else: a policy
names what is run, so a folder that somebody happens to be in, or a script lies in, must not say what that is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from reissue.errors import ParameterError, listed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    group = f"reissue.{what}s"
    points, elsewhere = _entry_points(group)
    if name not in points:
        if name in elsewhere:
            raise ParameterError(
                f"The {what} '{name}' is offered by something in '{elsewhere[name]}', where no packages are installed; "
                "it was not run.",
                hint="install the package that has it (`pip install <package>`) if you trust it.",
            )
        names = sorted({*known, *points})
        raise ParameterError(
            f"There is no {what} called '{name}'{_near(name, names)}.", hint=f"choose one of {listed(names)}."
        )
    with _installed_first():
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


def _entry_points(group: str) -> tuple[dict[str, EntryPoint], dict[str, str]]:
    """The entry points of installed packages, and for those that others only claim the folder they are in."""
    from importlib.metadata import distributions

    trusted = installed()
    points: dict[str, EntryPoint] = {}
    elsewhere: dict[str, str] = {}
    for folder in dict.fromkeys(sys.path):
        counts = Path(folder).resolve() in trusted
        for package in distributions(path=[folder]):
            for point in package.entry_points.select(group=group):
                if counts:
                    points.setdefault(point.name, point)
                else:
                    elsewhere.setdefault(point.name, str(Path(folder).resolve()))
    return points, elsewhere


@contextmanager
def _installed_first() -> Iterator[None]:
    """Look for modules where packages are installed before anywhere else: no file of the same name gets in between."""
    trusted, before = installed(), sys.path
    sys.path = sorted(before, key=lambda folder: Path(folder).resolve() not in trusted)
    try:
        yield
    finally:
        sys.path = before


def installed() -> set[Path]:
    """The folders that packages are installed in: those of the interpreter and, if it uses it, of the user.

    Where Reissue itself is installed in another one, also that: who can write there can change Reissue.
    """
    import site
    import sysconfig
    from importlib.metadata import distributions

    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    own = Path(__file__).parents[2]
    if any(package.name == "reissue" for package in distributions(name="reissue", path=[str(own)])):
        folders.append(str(own))
    return {Path(folder).resolve() for folder in folders if folder}


def _near(given: str, known: Iterable[str]) -> str:
    known = list(known)
    same = [name for name in known if name.lower() == given.lower()]
    close = same or get_close_matches(given, known, cutoff=0.5)
    return f"; near it: {listed(close)}" if close else ""
