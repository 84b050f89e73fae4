"""Guarantees: small frozen values, each with its own checker.

    KAnonymous         k-anonymity               at least k members in a group
    LDiverse           distinct-l-diversity      at least l distinct values
    EntropyDiverse     entropy-l-diversity       entropy of at least log l
    RecursiveDiverse   recursive-cl-diversity    r_1 < c (r_l + ... + r_m)
    ShareDiverse       share-l-diversity         no value or protected set has more than 1/l
    TClose             t-closeness               distributed like the whole release, up to t
    KEAnonymous        ke-anonymity              at least k distinct numbers over a range of at least e

`build` makes one from its name in a policy file. Other packages add their own under the entry point group
`reissue.guarantees`, with the name in a policy file as the entry point's name.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from typing import cast

from reissue.errors import ParameterError, listed
from reissue.guarantees.base import GroupGuarantee, Guarantee, Measure, Verdict
from reissue.guarantees.distinct_diversity import LDiverse
from reissue.guarantees.entropy_diversity import EntropyDiverse
from reissue.guarantees.k_anonymity import KAnonymous
from reissue.guarantees.ke_anonymity import KEAnonymous
from reissue.guarantees.recursive_diversity import RecursiveDiverse
from reissue.guarantees.share_diversity import ShareDiverse
from reissue.guarantees.t_closeness import TClose

__all__ = [
    "GUARANTEES",
    "EntropyDiverse",
    "GroupGuarantee",
    "Guarantee",
    "KAnonymous",
    "KEAnonymous",
    "LDiverse",
    "Measure",
    "RecursiveDiverse",
    "ShareDiverse",
    "TClose",
    "Verdict",
    "build",
]

ENTRY_POINTS = "reissue.guarantees"

GUARANTEES: dict[str, type[Guarantee]] = {
    KAnonymous.name: KAnonymous,
    LDiverse.name: LDiverse,
    EntropyDiverse.name: EntropyDiverse,
    RecursiveDiverse.name: RecursiveDiverse,
    ShareDiverse.name: ShareDiverse,
    TClose.name: TClose,
    KEAnonymous.name: KEAnonymous,
}
"""The guarantees by their names in a policy file."""


def build(name: str, /, **parameters: object) -> Guarantee:
    """Make a guarantee from its name and parameters, as a policy file gives them."""
    kind = GUARANTEES.get(name) or _from_other_packages(name)
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
            f"The parameters of the guarantee '{name}' do not fit.",
            problems=problems,
            hint=f"it takes {listed(list(expected))}.",
        )
    return kind(**parameters)


def _from_other_packages(name: str) -> type[Guarantee]:
    # Looking through the installed packages takes time that a known name need not pay.
    from importlib.metadata import entry_points

    points = entry_points(group=ENTRY_POINTS)
    if name not in points.names:
        known = sorted({*GUARANTEES, *points.names})
        raise ParameterError(
            f"There is no guarantee called '{name}'{_near(name, known)}.",
            hint=f"choose one of {listed(known)}.",
        )
    kind: object = points[name].load()
    if not (inspect.isclass(kind) and callable(getattr(kind, "check", None))):
        raise ParameterError(
            f"The entry point '{name}' of the group '{ENTRY_POINTS}' does not lead to a guarantee.",
            hint="let it name a class with `name`, `parameters` and `check`.",
        )
    GUARANTEES[name] = cast("type[Guarantee]", kind)
    return GUARANTEES[name]


def _near(given: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(given, list(known), cutoff=0.5)
    return f"; near it: {listed(close)}" if close else ""
