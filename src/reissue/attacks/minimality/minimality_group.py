"""The credibility of the classes of one generalised group that somebody describes by numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reissue.errors import ParameterError, count_of
from reissue.model.rules import Rows, Rule, Share
from reissue.reasoning.minimality.credibility import group_credibility
from reissue.reasoning.minimality.requirements import build, positions

INSIDE, OUTSIDE = "in the set", "not in it"


def group_credibilities(
    rules: Sequence[Rule],
    protect: Sequence[Sequence[Hashable]],
    sizes: Mapping[Any, int],
    sensitive: int | None,
    values: Mapping[Any, int] | None,
    left: Mapping[Any, Any],
) -> dict[Any, Any]:
    """For each class the probability of the protected values; by value, or by set, where `values` are given."""
    if not isinstance(sizes, Mapping) or not isinstance(left, Mapping):
        raise ParameterError('Classes are given with their rows, such as {"q1": 2, "q2": 5}.')
    if (sensitive is None) == (values is None):
        raise ParameterError("Say either how many rows are 'sensitive', or how often each of the 'values' occurs.")
    names: list[Any] = [INSIDE, OUTSIDE] if values is None else list(values)
    others = {name for one in left for name in (left[one] if values is not None else ())}
    names += sorted(others.difference(names), key=str)
    kept = {one: _left(left.get(one), values is None, names) for one in sizes}
    rows = {one: size - sum(kept[one]) for one, size in sizes.items()}
    counts = [0] * len(names)
    if values is None:
        assert sensitive is not None
        counts = [sensitive, sum(rows.values()) - sensitive]
        rules = [_about_the_set(rule) for rule in rules]
        sets: list[tuple[int, ...]] = [(0,)]
    else:
        counts[: len(values)] = list(values.values())
        sets = positions(protect, names)
    _examine(rows, counts, left, sizes, values is None)
    numeric = all(isinstance(name, int | float) and not isinstance(name, bool) for name in names)
    overall = [held + sum(kept[one][at] for one in sizes) for at, held in enumerate(counts)]
    requirement = build(rules, names, [float(name) for name in names] if numeric else None, overall)
    found = group_credibility([(rows[one], kept[one]) for one in sizes], counts, requirement, sets)
    if values is None:
        return {one: chances[0] for one, chances in zip(sizes, found, strict=True)}
    labels = [names[held[0]] if len(held) == 1 else tuple(names[at] for at in held) for held in sets]
    return {one: dict(zip(labels, chances, strict=True)) for one, chances in zip(sizes, found, strict=True)}


def _left(given: Any, by_number: bool, names: list[Any]) -> list[int]:
    if given is None:
        return [0] * len(names)
    if by_number:
        if not (isinstance(given, Sequence) and len(given) == 2):
            raise ParameterError(
                "With 'sensitive', 'left' has pairs: rows left ungeneralised, and sensitive ones of them."
            )
        _whole(given)
        if given[1] > given[0]:
            raise ParameterError("'left' has more sensitive rows than rows.")
        return [given[1], given[0] - given[1]]
    if not isinstance(given, Mapping):
        raise ParameterError("With 'values', 'left' has for each class how often each value was left ungeneralised.")
    _whole(given.values())
    return [given.get(name, 0) for name in names]


def _whole(counts: Iterable[Any]) -> None:
    if any(not isinstance(count, int) or isinstance(count, bool) or count < 0 for count in counts):
        raise ParameterError("'left' has whole numbers of rows, at least 0.")


def _about_the_set(rule: Rule) -> Rule:
    if isinstance(rule, Share):
        return replace(rule, protect=((INSIDE,),))
    if isinstance(rule, Rows):
        return rule
    raise ParameterError(
        "The number of sensitive rows does not say which classes satisfy the requirement.",
        hint="give 'values', how often each value occurs in the group.",
    )


def _examine(
    rows: Mapping[Any, int],
    counts: list[int],
    left: Mapping[Any, Any],
    sizes: Mapping[Any, int],
    by_number: bool,
) -> None:
    problems = []
    if any(not isinstance(size, int) or isinstance(size, bool) or size < 1 for size in sizes.values()):
        problems.append("Classes have whole numbers of rows, at least 1.")
    elif min(rows.values(), default=0) < 1:
        short = sum(size < 1 for size in rows.values())
        problems.append(f"{count_of(short, 'class has', 'classes have')} no row left that was generalised.")
    if len(rows) < 2:
        problems.append("A group was generalised only if it has rows of two classes or more.")
    unknown = len(set(left).difference(sizes))
    if unknown:
        problems.append(f"'left' has {count_of(unknown, 'class', 'classes')} that 'sizes' does not have.")
    if min(counts, default=0) < 0:
        what = "'sensitive' is more than the group has rows, or below 0." if by_number else "'values' are counts."
        problems.append(what)
    elif sum(counts) != sum(rows.values()):
        problems.append(f"The group has {sum(rows.values()):,} rows of its classes and {sum(counts):,} values.")
    if problems:
        raise ParameterError("There is no such group.", problems=problems)
