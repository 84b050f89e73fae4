"""Write docs/reference/python.md from the public names themselves.

.venv/bin/python docs/generate_python_reference.py
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import reissue
from reissue.publishing.private import Private

PAGE = Path(__file__).parent / "reference" / "python.md"

INTRODUCTION = """\
# Python

<!-- Written by docs/generate_python_reference.py from the code itself; do not edit. -->

    import reissue as ri

These are all the public names. Importing the package loads none of them: each is loaded when it is first used.
Tables go in as pandas, polars, pyarrow or DuckDB tables, as the path of a CSV, Parquet or Excel file or of a folder of
Parquet files, or as a `Query`.
"""

CHAPTERS = {
    "Say what is in the table": (
        "Schema",
        "Numeric",
        "Categorical",
        "Hierarchy",
        "Events",
        "Policy",
        "Ids",
        "Gate",
        "Checks",
        "moves",
        "Query",
    ),
    "Publish it": (
        "publish",
        "preview",
        "open",
        "adopt",
        "Series",
        "Draft",
        "Release",
        "Alternatives",
        "MInvariance",
        "EEquivalence",
        "CorSplit",
        "Incremental",
        "HDComposition",
        "Mondrian",
        "Mask",
        "AlphaK",
        "StaticI",
        "StaticII",
    ),
    "Keep it safe": ("verify", "backup", "restore", "resume"),
    "Ask for more in every group": (
        "guarantees",
        "guarantees.KAnonymous",
        "guarantees.LDiverse",
        "guarantees.EntropyDiverse",
        "guarantees.RecursiveDiverse",
        "guarantees.ShareDiverse",
        "guarantees.TClose",
        "guarantees.KEAnonymous",
    ),
    "Check what holds of each release": ("guarantees.AlphaKAnonymous", "guarantees.MConfidential"),
    "Check what holds over a series": (
        "guarantees.MUnique",
        "guarantees.MInvariant",
        "guarantees.WeakMInvariant",
        "guarantees.EquivalenceSafe",
        "guarantees.HistoricallySafe",
        "guarantees.RestrictionSafe",
        "guarantees.InferenceFree",
        "guarantees.HistoryDiverse",
        "guarantees.RoleBased",
        "guarantees.CohortBased",
        "guarantees.LScarce",
        "guarantees.OneAmong",
    ),
    "Attack what went out, here or elsewhere": (
        "audit",
        "AuditReport",
        "attacks",
        "Knowledge",
        "ValueChange",
        "Minimal",
        "Published",
        "read_releases",
    ),
    "Look at what it is worth": ("compare", "Comparison", "Workload", "Ask", "given_choices", "GivenChoices"),
    "Hand it to recipients": ("export",),
    "Learn from what was published": ("analyse", "Analysis", "estimate"),
    "When something is wrong": ("errors",),
}

# What compiled kernels read of a hierarchy is public, but no concern of a caller.
SKIPPED = {
    "Hierarchy": (
        "parent", "first", "last", "coverage", "depth", "child_starts", "children", "leaf_nodes", "full_children",
        "full_parents", "encode", "lowest_common", "nearest",
    ),
    # Deprecated: they are called series.private... now.
    "Series": ("members", "held_back", "replaced", "roles", "name_of", "pseudonym", "id_from_text"),
}  # fmt: skip

PARTS = {"Series": {"private": Private}}
"""What an attribute of a class offers, told with the class."""

NOTES = {
    "Ask for more in every group": """\
Each is a frozen value with the parameters below, for `Mondrian(constraints=[...])`, and a check of its own:
`check(published)` takes a `Published` and gives a verdict with `holds`, `guarantee`, `worst`, `release`, `group`,
`violations`, `groups` and `explanation`. Definitions and sources are in
[the table of constraints](../explanation/methods/mondrian.md#constraints).""",
    "Check what holds of each release": """\
What [AlphaK](../explanation/methods/alpha-k.md) and [Mask](../explanation/methods/mask.md) promise beside those. The
second needs to know who has the same quasi-identifiers:
`ri.guarantees.MConfidential(2).check(series.published(classes=True))`.
""",
    "Check what holds over a series": """\
What [m-invariance](../explanation/methods/m-invariance.md), [e-equivalence](../explanation/methods/e-equivalence.md),
[Cor-Split](../explanation/methods/cor-split.md) and
[the methods for growing tables](../explanation/methods/incremental.md) promise. Each is checked before every release,
and can be checked on any series: `ri.guarantees.MInvariant(4).check(series.published())`. `RoleBased` and
`CohortBased`, which
[HD-composition](../explanation/methods/hd-composition.md) promises with `LScarce`, must be told the roles. `OneAmong`
judges releases of sets: from outside what can be seen there, and truth and draws where it is told the sets.
""",
    "Attack what went out, here or elsewhere": """\
How to [audit a series](../how-to/audit-a-series.md), and [releases made elsewhere](../how-to/audit-other-releases.md).
""",
    "attacks": """\
The module with the attacks: `Worlds`, `Equivalence`, `Correlation`, `Channels`, `Minimality`, `Permanence`,
`Tracking`, `Differences`, `Likelihood`, and `Mechanism`, which takes a method and is for tiny tables. Each has
`run(published, knowledge)`, which gives findings with `posteriors`, `certain`, `excluded`, `witnesses`, `searched`,
`undecided`, `judge(limits)`. `Limits` says how much may be learnt, `build(name, **parameters)` makes an attack from its
name, `ATTACKS` lists those there are. [The attacks](../explanation/attacks/index.md) explains them, one page each.
""",
    "guarantees": """\
The module with the guarantees, those below and in the next two chapters. `build(name, **parameters)` makes one from its
name in a policy file, `GUARANTEES` lists those there are.
""",
    "Hand it to recipients": """\
From public files alone: [Hand a release to recipients](../how-to/export.md).
""",
    "Learn from what was published": """\
From public files alone: [Analyse a release](../how-to/estimate-counts.md).
""",
    "errors": """\
The module with the exception tree; every exception is a `ri.errors.ReissueError`. See [Errors](errors.md).""",
}


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION]
    for chapter, names in CHAPTERS.items():
        lines += [f"## {chapter}", ""]
        if chapter in NOTES:
            lines += [NOTES[chapter], ""]
        for name in names:
            lines += _entry(name)
    return "\n".join(lines)


def _entry(name: str) -> list[str]:
    thing = attrgetter(name)(reissue)
    lines = [f"### {name}", ""]
    if name in NOTES:
        return [*lines, NOTES[name], ""]
    if not inspect.isclass(thing):
        return [*lines, *_code(f"ri.{name}", thing), "", inspect.getdoc(thing) or "", ""]
    made_by_caller = name not in ("Series", "Draft", "Release", "Published", "AuditReport")
    if made_by_caller:
        lines += [*_code(f"ri.{name}", thing), ""]
    lines += [_text(thing), ""]
    skipped = SKIPPED.get(name, ())
    attributes = [(a, m) for a, m in (*_fields(thing), *_properties(thing)) if m and a not in skipped]
    if attributes:
        lines += ["| attribute | meaning |", "|---|---|"]
        lines += [f"| `{attribute}` | {_cell(meaning)} |" for attribute, meaning in attributes] + [""]
    if thing.__module__.startswith("reissue.guarantees"):
        # The steps of a check are no part of what a caller sees of it.
        return lines
    for method, function in _methods(thing):
        if method.rpartition(".")[2] not in skipped:
            lines += [*_code(method, function), "", _text(function), ""]
    for part, kind in PARTS.get(name, {}).items():
        for method, function in _methods(kind):
            lines += [*_code(f".{part}{method}", function), "", _text(function), ""]
    return lines


def _text(thing: Any) -> str:
    """The docstring, with its examples as code."""
    text = inspect.getdoc(thing) or ""
    before, found, example = text.partition("\n>>> ")
    return f"{before}\n```pycon\n>>> {example}\n```" if found else text


def _code(name: str, function: Any) -> list[str]:
    signature = inspect.signature(function)
    parameters = [_plain(p) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    gives = "" if inspect.isclass(function) else f" -> {_raw(signature.return_annotation)}"
    line = f"{name}{signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)}{gives}"
    if len(line) > 100:
        inside = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
        listed = textwrap.indent(",\n".join(_separate(inside)), "    ")
        line = f"{name}(\n{listed},\n){gives}"
    return ["```text", line, "```"]


def _separate(signature: inspect.Signature) -> Iterator[str]:
    """Each parameter as it stands in a signature, with the bare star where keywords begin."""
    starred = False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(parameter)


class _Raw:
    """An annotation or default that is shown as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _raw(annotation: Any) -> Any:
    return _Raw(annotation) if isinstance(annotation, str) else annotation


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if inspect.isfunction(default):
        default = _Raw("...")
    return parameter.replace(annotation=_raw(parameter.annotation), default=default)


def _fields(thing: type[Any]) -> Iterator[tuple[str, str]]:
    """The fields of a dataclass, each with the text that stands below it in the source."""
    declared = getattr(thing, "__dataclass_fields__", {})
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(tree, ast.ClassDef)
    for statement, following in pairwise([*tree.body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if name in declared and not name.startswith("_") and not _is_class_variable(statement):
                yield name, _said(following)


def _is_class_variable(statement: ast.AnnAssign) -> bool:
    return ast.unparse(statement.annotation).startswith("ClassVar")


def _said(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return str(statement.value.value)
    return ""


def _properties(thing: Any) -> Iterator[tuple[str, str]]:
    for name, member in vars(thing).items():
        if not name.startswith("_") and isinstance(member, property | cached_property):
            yield name, inspect.getdoc(member) or ""


def _methods(thing: Any) -> Iterator[tuple[str, Any]]:
    for name, member in vars(thing).items():
        if name.startswith("_") or isinstance(member, property | cached_property):
            continue
        if isinstance(member, classmethod):
            yield f"ri.{thing.__name__}.{name}", getattr(thing, name)
        elif inspect.isfunction(member):
            yield f".{name}", member


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
