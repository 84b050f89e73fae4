"""Reissue publishes a table about people again and again, and keeps the releases from exposing anyone together.

Say what is in the table:
    Schema, Numeric, Categorical, Hierarchy, Events, Policy, Ids, Gate, Checks
    moves (how values changed in past states of it)
    Query (a table that is asked of a database)
Publish it:
    publish, preview, open, adopt, Series, Draft, Release
    Alternatives (a whole series: everybody with m values, one of them true)
    MInvariance, EEquivalence, CorSplit (a whole series), Incremental (a whole series that only grows)
    HDComposition (a whole series in which people and values change, and some values stay for ever)
    Mondrian, Mask, AlphaK (one release at a time)
    StaticII, StaticI (baselines for tables that only grow: a whole series, one release at a time)
Ask for more in every group, or check what holds of releases made elsewhere:
    guarantees
Keep it safe:
    verify, backup, restore, resume
Attack what went out, here or elsewhere:
    audit, AuditReport, attacks, Knowledge, Minimal, ValueChange, Published, read_releases
Look at what it is worth:
    compare, Comparison (a whole series under every method that fits, and which to take)
    Workload, Ask, given_choices, GivenChoices (by which columns shares should differ, for Alternatives)
Hand it to recipients, with everything that they need:
    export
Learn from what was published, from public files alone:
    analyse, Analysis, estimate
When something is wrong:
    errors

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reissue import attacks, errors, guarantees
    from reissue.auditing.report import AuditReport
    from reissue.auditing.running import audit
    from reissue.comparing.compare_methods import compare
    from reissue.comparing.comparison import Comparison
    from reissue.foreign import read_releases
    from reissue.methods import (
        AlphaK,
        Alternatives,
        CorSplit,
        EEquivalence,
        HDComposition,
        Incremental,
        Mask,
        MInvariance,
        Mondrian,
        StaticI,
        StaticII,
    )
    from reissue.model.events import Events
    from reissue.model.hierarchy import Hierarchy
    from reissue.model.knowledge import Knowledge, Minimal
    from reissue.model.published import Published
    from reissue.model.release import Release
    from reissue.model.schema import Categorical, Numeric, Schema
    from reissue.model.value_change import ValueChange
    from reissue.publishing.adoption import adopt
    from reissue.publishing.checking.thresholds import Checks
    from reissue.publishing.custody import backup, restore, resume, verify
    from reissue.publishing.draft import Draft
    from reissue.publishing.gate import Gate
    from reissue.publishing.given_choices import GivenChoices
    from reissue.publishing.handing_out import export
    from reissue.publishing.measuring_given import given_choices
    from reissue.publishing.past_moves import moves
    from reissue.publishing.policy import Ids, Policy
    from reissue.publishing.series import Series, open, preview, publish
    from reissue.tables.query import Query
    from reissue.utility import Ask, Workload
    from reissue.utility.analysing.analysis import Analysis, analyse
    from reissue.utility.estimates import estimate

__version__ = "0.2.0"

_HOMES = {
    "AlphaK": "methods",
    "Alternatives": "methods",
    "Analysis": "utility.analysing.analysis",
    "AuditReport": "auditing.report",
    "Checks": "publishing.checking.thresholds",
    "Categorical": "model.schema",
    "Comparison": "comparing.comparison",
    "CorSplit": "methods",
    "Draft": "publishing.draft",
    "EEquivalence": "methods",
    "Events": "model.events",
    "HDComposition": "methods",
    "Gate": "publishing.gate",
    "GivenChoices": "publishing.given_choices",
    "Hierarchy": "model.hierarchy",
    "Ids": "publishing.policy",
    "Incremental": "methods",
    "Knowledge": "model.knowledge",
    "MInvariance": "methods",
    "Mask": "methods",
    "Minimal": "model.knowledge",
    "Mondrian": "methods",
    "Numeric": "model.schema",
    "Policy": "publishing.policy",
    "Published": "model.published",
    "Query": "tables.query",
    "Release": "model.release",
    "Schema": "model.schema",
    "Series": "publishing.series",
    "StaticI": "methods",
    "StaticII": "methods",
    "ValueChange": "model.value_change",
    "Workload": "utility",
    "Ask": "utility",
    "adopt": "publishing.adoption",
    "analyse": "utility.analysing.analysis",
    "attacks": "",
    "audit": "auditing.running",
    "backup": "publishing.custody",
    "compare": "comparing.compare_methods",
    "errors": "",
    "given_choices": "publishing.measuring_given",
    "guarantees": "",
    "estimate": "utility.estimates",
    "export": "publishing.handing_out",
    "moves": "publishing.past_moves",
    "open": "publishing.series",
    "preview": "publishing.series",
    "publish": "publishing.series",
    "read_releases": "foreign",
    "restore": "publishing.custody",
    "resume": "publishing.custody",
    "verify": "publishing.custody",
}

__all__ = [
    "AlphaK",
    "Alternatives",
    "Analysis",
    "Ask",
    "AuditReport",
    "Categorical",
    "Checks",
    "Comparison",
    "CorSplit",
    "Draft",
    "EEquivalence",
    "Events",
    "Gate",
    "GivenChoices",
    "HDComposition",
    "Hierarchy",
    "Ids",
    "Incremental",
    "Knowledge",
    "MInvariance",
    "Mask",
    "Minimal",
    "Mondrian",
    "Numeric",
    "Policy",
    "Published",
    "Query",
    "Release",
    "Schema",
    "Series",
    "StaticI",
    "StaticII",
    "ValueChange",
    "Workload",
    "adopt",
    "analyse",
    "attacks",
    "audit",
    "backup",
    "compare",
    "errors",
    "estimate",
    "export",
    "given_choices",
    "guarantees",
    "moves",
    "open",
    "preview",
    "publish",
    "read_releases",
    "restore",
    "resume",
    "verify",
]


_MOVED = (
    "AlphaKAnonymous", "CohortBased", "EntropyDiverse", "EquivalenceSafe", "HistoricallySafe", "HistoryDiverse",
    "InferenceFree", "KAnonymous", "KEAnonymous", "LDiverse", "LScarce", "MConfidential", "MInvariant", "MUnique",
    "RecursiveDiverse", "RestrictionSafe", "RoleBased", "ShareDiverse", "TClose", "WeakMInvariant",
)  # fmt: skip
"""Names of 0.1 that are in `guarantees` now."""


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        from warnings import warn

        warn(f"ri.{name} is ri.guarantees.{name} now.", DeprecationWarning, stacklevel=2)
        return getattr(import_module("reissue.guarantees"), name)
    if name not in _HOMES:
        raise AttributeError(f"module 'reissue' has no attribute '{name}'")
    if not _HOMES[name]:
        return import_module(f"reissue.{name}")
    value = getattr(import_module(f"reissue.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
