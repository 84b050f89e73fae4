"""What `reissue audit --minimal` takes: what every group of releases made elsewhere had to keep, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from reissue.model.knowledge import Minimal

EXAMPLES = "l=2, or k=5,l=3, alpha=1/3, c=3,l=3, t=0.2, k=2,e=5; with recoding=local, global or full-domain"


class Limited(NamedTuple):
    """A limit for protected sets, as a promise has it."""

    name: str
    parameters: dict[str, Any]


def minimal_of(text: str, protect: list[str]) -> Minimal:
    """The requirement behind a text such as `k=5,l=2,recoding=local`, for the protected sets."""
    from reissue.errors import ParameterError
    from reissue.model.knowledge import Minimal

    parts = [part.partition("=") for part in text.split(",")]
    given = {name.strip(): value.strip() for name, _, value in parts}
    known = {*_NUMBERS, "alpha", "recoding"}
    if not all(given.values()) or not given.keys() <= known or len(given) < len(parts):
        raise ParameterError(f"--minimal does not take '{text}'.", hint=f"say {EXAMPLES}.")
    sets = [[value.strip() for value in one.split(",") if value.strip()] for one in protect]
    recoding: Any = given.pop("recoding", "local")
    if given.get("l") == "1" and "c" not in given:
        raise ParameterError("--minimal l=1 asks nothing: every group has at most all of its rows.", hint="say l=2.")
    requirement = _requirement(given, sets)
    if not requirement:
        raise ParameterError("--minimal names nothing that a group had to keep.", hint=f"say {EXAMPLES}.")
    return Minimal(requirement, recoding, sets)


def _requirement(given: dict[str, str], sets: list[list[str]]) -> list[Any]:
    from reissue import guarantees

    numbers: dict[str, Any] = {name: _number(name, value) for name, value in given.items() if name in _NUMBERS}
    found: list[Any] = []
    if "alpha" in given:
        # The smallest group is part of the same guarantee.
        smallest = numbers.pop("k", 1)
        found.append(guarantees.build("alpha-k-anonymity", alpha=given["alpha"], k=smallest, protect=sets))
    if "e" in numbers:
        found.append(guarantees.build("ke-anonymity", k=numbers.pop("k", 1), e=numbers["e"]))
    if "k" in numbers:
        found.append(guarantees.build("k-anonymity", k=numbers["k"]))
    if "c" in numbers:
        found.append(guarantees.build("recursive-cl-diversity", c=numbers["c"], l=numbers.pop("l", 2)))
    if "l" in numbers:
        found.append(guarantees.build("share-l-diversity", l=numbers["l"], protect=sets))
    if "t" in numbers:
        found.append(guarantees.build("t-closeness", t=numbers["t"]))
    return found


_NUMBERS: dict[str, Callable[[str], float]] = {"k": int, "l": int, "c": float, "t": float, "e": float}


def _number(name: str, text: str) -> float:
    from reissue.errors import ParameterError

    try:
        return _NUMBERS[name](text)
    except ValueError:
        raise ParameterError(f"--minimal takes a number for {name}. Got '{text}' instead.") from None
