"""Guarantees: small frozen values, each with its own checker.

    KAnonymous         k-anonymity               at least k members in a group
    LDiverse           distinct-l-diversity      at least l distinct values
    EntropyDiverse     entropy-l-diversity       entropy of at least log l
    RecursiveDiverse   recursive-cl-diversity    r_1 < c (r_l + ... + r_m)
    ShareDiverse       share-l-diversity         no value or protected set has more than 1/l
    TClose             t-closeness               distributed like the whole release, up to t
    KEAnonymous        ke-anonymity              at least k distinct numbers over a range of at least e
    AlphaKAnonymous    alpha-k-anonymity         at least k members, no value or protected set has more than alpha
    ColumnLimits       column-limits             of several sensitive columns, no value has more than its column's limit
    MConfidential      m-confidentiality         nor is anybody surer than 1/m by why the groups were formed
    MUnique            m-uniqueness              at least m members, all with different values
    MInvariant         m-invariance              m-unique, and everybody keeps one set of values (a signature)
    WeakMInvariant     weak-m-invariance         at least m values equally often, and everybody keeps one signature
    HistoricallySafe   historical-safety         that, and two releases never tie sets of fewer than n people together
    RestrictionSafe    restriction-safety        by a formula, no value is found with probability h or more
    EquivalenceSafe    equivalence-safety        no two sets of fewer than e people are found to have the same values
    InferenceFree      inference-freedom         comparing any two releases leaves everybody at least l values
    HistoryDiverse     history-l-diversity       people with the same history in all releases have at least l values
    RoleBased          role-based-partition      l - 1 decoys for each holder of a permanent value in every group
    CohortBased        cohort-based-partition    ... of l cohorts that nobody's container ever leaves
    LScarce            l-scarcity                nobody is tied to a value, permanent or not, with more than 1/l
    OneAmong           one-among                 m values for everybody, one of them true, drawn by a public design

From MInvariant on, they judge the releases of a series together, the others every group by itself. LDiverse,
InferenceFree and HistoryDiverse count values, which does not bound a probability by 1/l; ShareDiverse and
HistoryDiverse(l, diversity="share") do bound it. RestrictionSafe is a formula that is not a bound.

`build` makes one from its name in a policy file. Other packages add their own under the entry point group
`reissue.guarantees`, with the name in a policy file as the entry point's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reissue.guarantees.base import GroupGuarantee, Groupwise, Guarantee, Measure, SeriesGuarantee, Verdict
from reissue.model.plugins import Loaded, make
from reissue.model.promise import Bounds, Promise

if TYPE_CHECKING:
    from reissue.guarantees.series.cohort_based import CohortBased
    from reissue.guarantees.series.equivalence_safety import EquivalenceSafe
    from reissue.guarantees.series.historical_safety import HistoricallySafe
    from reissue.guarantees.series.history_diversity import HistoryDiverse
    from reissue.guarantees.series.inference_freedom import InferenceFree
    from reissue.guarantees.series.l_scarcity import LScarce
    from reissue.guarantees.series.m_invariant import MInvariant
    from reissue.guarantees.series.one_among import OneAmong
    from reissue.guarantees.series.restriction_safety import RestrictionSafe
    from reissue.guarantees.series.role_based import RoleBased
    from reissue.guarantees.series.weak_m_invariance import WeakMInvariant
    from reissue.guarantees.single.alpha_k_anonymity import AlphaKAnonymous
    from reissue.guarantees.single.column_limits import ColumnLimits
    from reissue.guarantees.single.distinct_diversity import LDiverse
    from reissue.guarantees.single.entropy_diversity import EntropyDiverse
    from reissue.guarantees.single.k_anonymity import KAnonymous
    from reissue.guarantees.single.ke_anonymity import KEAnonymous
    from reissue.guarantees.single.m_confidentiality import MConfidential
    from reissue.guarantees.single.m_uniqueness import MUnique
    from reissue.guarantees.single.recursive_diversity import RecursiveDiverse
    from reissue.guarantees.single.share_diversity import ShareDiverse
    from reissue.guarantees.single.t_closeness import TClose

__all__ = [
    "GUARANTEES",
    "AlphaKAnonymous",
    "Bounds",
    "CohortBased",
    "ColumnLimits",
    "EntropyDiverse",
    "EquivalenceSafe",
    "GroupGuarantee",
    "Groupwise",
    "Guarantee",
    "HistoricallySafe",
    "HistoryDiverse",
    "InferenceFree",
    "KAnonymous",
    "KEAnonymous",
    "LDiverse",
    "LScarce",
    "MConfidential",
    "MInvariant",
    "MUnique",
    "Measure",
    "OneAmong",
    "Promise",
    "RecursiveDiverse",
    "RestrictionSafe",
    "RoleBased",
    "SeriesGuarantee",
    "ShareDiverse",
    "TClose",
    "Verdict",
    "WeakMInvariant",
    "build",
]

GUARANTEES: Loaded[Guarantee] = Loaded(
    {
        "k-anonymity": "reissue.guarantees.single.k_anonymity:KAnonymous",
        "distinct-l-diversity": "reissue.guarantees.single.distinct_diversity:LDiverse",
        "entropy-l-diversity": "reissue.guarantees.single.entropy_diversity:EntropyDiverse",
        "recursive-cl-diversity": "reissue.guarantees.single.recursive_diversity:RecursiveDiverse",
        "share-l-diversity": "reissue.guarantees.single.share_diversity:ShareDiverse",
        "t-closeness": "reissue.guarantees.single.t_closeness:TClose",
        "ke-anonymity": "reissue.guarantees.single.ke_anonymity:KEAnonymous",
        "alpha-k-anonymity": "reissue.guarantees.single.alpha_k_anonymity:AlphaKAnonymous",
        "column-limits": "reissue.guarantees.single.column_limits:ColumnLimits",
        "m-confidentiality": "reissue.guarantees.single.m_confidentiality:MConfidential",
        "m-uniqueness": "reissue.guarantees.single.m_uniqueness:MUnique",
        "m-invariance": "reissue.guarantees.series.m_invariant:MInvariant",
        "weak-m-invariance": "reissue.guarantees.series.weak_m_invariance:WeakMInvariant",
        "historical-safety": "reissue.guarantees.series.historical_safety:HistoricallySafe",
        "restriction-safety": "reissue.guarantees.series.restriction_safety:RestrictionSafe",
        "equivalence-safety": "reissue.guarantees.series.equivalence_safety:EquivalenceSafe",
        "inference-freedom": "reissue.guarantees.series.inference_freedom:InferenceFree",
        "history-l-diversity": "reissue.guarantees.series.history_diversity:HistoryDiverse",
        "role-based-partition": "reissue.guarantees.series.role_based:RoleBased",
        "cohort-based-partition": "reissue.guarantees.series.cohort_based:CohortBased",
        "l-scarcity": "reissue.guarantees.series.l_scarcity:LScarce",
        "one-among": "reissue.guarantees.series.one_among:OneAmong",
    }
)
"""The guarantees by their names in a policy file, each loaded when it is first used."""


def build(name: str, /, **parameters: object) -> Guarantee:
    """Make a guarantee from its name and parameters, as a policy file gives them."""
    return make("guarantee", name, parameters, known=GUARANTEES, base=Guarantee)


def __getattr__(name: str) -> Any:
    kind = GUARANTEES.called(name)
    if kind is None:
        raise AttributeError(f"module 'reissue.guarantees' has no attribute '{name}'")
    globals()[name] = kind
    return kind
