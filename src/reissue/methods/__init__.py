"""Methods: ways of grouping people, each with the guarantees it gives.

`build` makes one from its name in a policy file. Other packages add their own under the entry point
group `reissue.methods`, with the name in a policy file as the entry point's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reissue.methods.base import Method, Takes
from reissue.model.memory import Memory
from reissue.model.plugins import Loaded, make
from reissue.model.promise import Promise

if TYPE_CHECKING:
    from reissue.methods.alternatives.alternatives import Alternatives
    from reissue.methods.cor_split.cor_split import CorSplit
    from reissue.methods.e_equivalence import EEquivalence
    from reissue.methods.hd_composition.hd_composition import HDComposition
    from reissue.methods.incremental.incremental import Incremental
    from reissue.methods.invariance.m_invariance import MInvariance
    from reissue.methods.partition.alpha_k import AlphaK
    from reissue.methods.partition.mask import Mask
    from reissue.methods.partition.mondrian import Mondrian
    from reissue.methods.partition.static import StaticI, StaticII

__all__ = [
    "METHODS",
    "AlphaK",
    "Alternatives",
    "CorSplit",
    "EEquivalence",
    "HDComposition",
    "Incremental",
    "MInvariance",
    "Mask",
    "Memory",
    "Method",
    "Mondrian",
    "Promise",
    "StaticI",
    "StaticII",
    "Takes",
    "build",
]

METHODS: Loaded[Method] = Loaded(
    {
        "Alternatives": "reissue.methods.alternatives.alternatives:Alternatives",
        "Mondrian": "reissue.methods.partition.mondrian:Mondrian",
        "Mask": "reissue.methods.partition.mask:Mask",
        "AlphaK": "reissue.methods.partition.alpha_k:AlphaK",
        "MInvariance": "reissue.methods.invariance.m_invariance:MInvariance",
        "EEquivalence": "reissue.methods.e_equivalence:EEquivalence",
        "CorSplit": "reissue.methods.cor_split.cor_split:CorSplit",
        "HDComposition": "reissue.methods.hd_composition.hd_composition:HDComposition",
        "Incremental": "reissue.methods.incremental.incremental:Incremental",
        "StaticI": "reissue.methods.partition.static:StaticI",
        "StaticII": "reissue.methods.partition.static:StaticII",
    }
)
"""The methods by their names in a policy file, each loaded when it is first used."""


def build(name: str, /, **parameters: Any) -> Method:
    """Make a method from its name and parameters, as a policy file gives them."""
    return make("method", name, parameters, known=METHODS, base=Method)


def __getattr__(name: str) -> Any:
    kind = METHODS.called(name)
    if kind is None:
        raise AttributeError(f"module 'reissue.methods' has no attribute '{name}'")
    globals()[name] = kind
    return kind
