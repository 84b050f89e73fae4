"""What `reissue audit --minimal` takes: what every group of releases made elsewhere had to keep, and no more."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from reissue.guarantees import Guarantee
    from reissue.model.knowledge import Minimal

EXAMPLES = "l=2, or k=5,l=3, alpha=1/3, c=3,l=3, t=0.2, k=2,e=5; with recoding=local, global or full-domain"


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


def _requirement(given: dict[str, str], sets: list[list[str]]) -> list[Guarantee]:
    """The guarantees that the letters stand for: those of more letters first, each letter for one of them."""
    from reissue.guarantees import GUARANTEES

    parameters: dict[str, Any] = {name: _number(name, value) for name, value in given.items() if name in _NUMBERS}
    parameters |= {"alpha": given["alpha"]} if "alpha" in given else {}
    found = []
    for kind in sorted(GUARANTEES.values(), key=lambda kind: -len(kind.letters)):
        if not kind.letters or kind.letters[0] not in parameters:
            continue
        own = {letter: parameters.pop(letter) for letter in kind.letters if letter in parameters}
        sort = inspect.signature(kind).parameters
        missing = {letter: _LEAST[letter] for letter in kind.letters if letter not in own}
        own |= {letter: least for letter, least in missing.items() if sort[letter].default is inspect.Parameter.empty}
        found.append(kind(**own, **({"protect": sets} if "protect" in sort else {})))
    return found


_LEAST = {"k": 1, "l": 2}
"""What a letter is where a guarantee needs it and nothing was said."""
_NUMBERS: dict[str, Callable[[str], float]] = {"k": int, "l": int, "c": float, "t": float, "e": float}


def _number(name: str, text: str) -> float:
    from reissue.errors import ParameterError

    try:
        return _NUMBERS[name](text)
    except ValueError:
        raise ParameterError(f"--minimal takes a number for {name}. Got '{text}' instead.") from None
