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

from collections.abc import Mapping

from reissue.guarantees.base import GroupGuarantee, Guarantee, Measure, Verdict
from reissue.guarantees.distinct_diversity import LDiverse
from reissue.guarantees.entropy_diversity import EntropyDiverse
from reissue.guarantees.k_anonymity import KAnonymous
from reissue.guarantees.ke_anonymity import KEAnonymous
from reissue.guarantees.recursive_diversity import RecursiveDiverse
from reissue.guarantees.share_diversity import ShareDiverse
from reissue.guarantees.t_closeness import TClose
from reissue.plugins import make

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

GUARANTEES: Mapping[str, type[Guarantee]] = {
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
    return make("guarantee", name, parameters, known=GUARANTEES, needs=("name", "parameters", "check"))
