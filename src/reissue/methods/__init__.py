"""Methods: ways of grouping people, each with the guarantees it gives.

`build` makes one from its name in a policy file. Other packages add their own under the entry point
group `reissue.methods`, with the name in a policy file as the entry point's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reissue.methods.base import Method, Takes
from reissue.methods.cor_split.cor_split import CorSplit
from reissue.methods.e_equivalence import EEquivalence
from reissue.methods.hd_composition.hd_composition import HDComposition
from reissue.methods.incremental.incremental import Incremental
from reissue.methods.invariance.m_invariance import MInvariance
from reissue.methods.partition.alpha_k import AlphaK
from reissue.methods.partition.mask import Mask
from reissue.methods.partition.mondrian import Mondrian
from reissue.methods.partition.static import StaticI, StaticII
from reissue.model.memory import Memory
from reissue.model.plugins import make
from reissue.model.promise import Promise

__all__ = [
    "METHODS",
    "AlphaK",
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

METHODS: Mapping[str, type[Method]] = {
    Mondrian.name: Mondrian,
    Mask.name: Mask,
    AlphaK.name: AlphaK,
    MInvariance.name: MInvariance,
    EEquivalence.name: EEquivalence,
    CorSplit.name: CorSplit,
    HDComposition.name: HDComposition,
    Incremental.name: Incremental,
    StaticI.name: StaticI,
    StaticII.name: StaticII,
}


def build(name: str, /, **parameters: Any) -> Method:
    """Make a method from its name and parameters, as a policy file gives them."""
    return make("method", name, parameters, known=METHODS, base=Method)
