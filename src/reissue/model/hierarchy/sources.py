"""How a hierarchy comes in, from files and nested mappings, and how its nodes are numbered."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reissue.arrays.types import Words
from reissue.errors import HierarchyError, ParameterError, TableError, count_of, listed
from reissue.model.csv_files import as_utf8, rows_of
from reissue.model.hierarchy.builders import Taxonomy, graph_problems, shortened, taxonomy_of_rows
from reissue.model.toml_text import Unwieldy, bounded, parsed

Ints = npt.NDArray[np.int32]
Lists = tuple[tuple[int, ...], ...]


def read_taxonomy(path: Path, delimiter: str | None) -> Taxonomy:
    """Read a file by its suffix: `.csv` as rows, `.json` and `.toml` as nested mappings."""
    if delimiter is not None and len(delimiter) != 1:
        raise ParameterError(
            f"The 'delimiter' parameter of Hierarchy.read must be a single character. Got {delimiter!r} instead."
        )
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".json", ".toml"):
        raise HierarchyError(
            f"The hierarchy {path} cannot be read: its suffix is '{path.suffix}'.",
            hint="give it as .csv (one row per leaf, as ARX writes it), .json or .toml (nested).",
        )
    text = _text(path)
    if suffix == ".csv":
        try:
            return taxonomy_of_rows(rows_of(text, path.name, delimiter))
        except TableError as error:
            raise HierarchyError(f"The hierarchy {path} is not sound CSV. {error.what}", hint=error.hint) from error
    doubled: list[str] = []
    try:
        nested = parsed(text) if suffix == ".toml" else _json(text, doubled)
    except tomllib.TOMLDecodeError as error:
        raise HierarchyError(f"The hierarchy {path} is not sound TOML: {error}.") from error
    except json.JSONDecodeError as error:
        raise HierarchyError(f"The hierarchy {path} is not sound JSON: {error}.") from error
    except (RecursionError, Unwieldy) as error:
        raise HierarchyError(f"The hierarchy {path} is nested too deeply to be read.") from error
    taxonomy = taxonomy_of_nested(nested)
    # JSON lets a later key silently replace an earlier one, and half a branch would be lost.
    return taxonomy._replace(
        problems=[
            *shortened([f"'{label}' is given twice in one mapping" for label in doubled]),
            *taxonomy.problems,
        ]
    )


def _text(path: Path) -> str:
    try:
        content = as_utf8(bounded(path), path.name)
        assert isinstance(content, bytes)
        return content.decode("utf-8-sig")
    except TableError as error:
        raise HierarchyError(f"The hierarchy {path} cannot be read. {error.what}", hint=error.hint) from error
    except Unwieldy as error:
        raise HierarchyError(
            f"The hierarchy {path} cannot be read: {error}.", hint="give groups of its labels a column of their own."
        ) from error
    except FileNotFoundError as error:
        raise HierarchyError(f"The hierarchy {path} does not exist.") from error
    except OSError as error:
        raise HierarchyError(f"The hierarchy {path} cannot be read: {error.strerror}.") from error
    except UnicodeEncodeError as error:
        raise HierarchyError(f"The hierarchy {path} cannot be read: its name is no text.", hint="rename it.") from error
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"The hierarchy {path} is not UTF-8 text (byte {error.start:,}).", hint="save the file as UTF-8."
        ) from error


def _json(text: str, doubled: list[str]) -> object:
    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        doubled.extend(label for label, often in Counter(label for label, _ in items).items() if often > 1)
        return dict(items)

    return json.loads(text, object_pairs_hook=pairs)


def taxonomy_of_nested(nested: object) -> Taxonomy:
    """One root key; a mapping holds inner labels, a list leaves, references and mappings."""
    if not isinstance(nested, Mapping) or len(nested) != 1:
        found = count_of(len(nested), "key") if isinstance(nested, Mapping) else f"a {type(nested).__name__}"
        return Taxonomy("", {}, [f"there must be a mapping with exactly one key, the root; found {found}"])
    root = next(iter(nested))
    if not isinstance(root, str):
        return Taxonomy("", {}, [f"the root must be text, not {type(root).__name__}"])
    children: dict[str, list[str]] = {}
    problems: list[str] = []
    conflicts: dict[str, None] = {}
    # A mapping that a caller built may hold itself; what was opened once is not opened again.
    opened: set[tuple[str, int]] = set()
    pending: list[tuple[str, object]] = [(root, nested[root])]
    for label, content in pending:
        if (label, id(content)) in opened:
            continue
        opened.add((label, id(content)))
        items = _items(label, content, problems)
        if items is None:
            continue
        names = [name for name, _ in items]
        if label in children and set(children[label]) != set(names):
            conflicts[label] = None
        children.setdefault(label, names)
        pending.extend((name, below) for name, below in items if below is not None)
    problems = shortened(problems)
    if conflicts:
        problems.append(f"given twice with different contents: {listed(list(conflicts))}")
    if root in children or not problems:
        problems += graph_problems(root, children)
    return Taxonomy(root, children, problems)


def _items(label: str, content: object, problems: list[str]) -> list[tuple[str, object]] | None:
    """What lies directly below a label, each with its own content, None for a bare label.

    None altogether where the content is of the wrong type.
    """
    found: list[tuple[object, object]] = []
    if isinstance(content, Mapping):
        found.extend(_named(content))
    elif isinstance(content, list | tuple):
        for element in content:
            found.extend(_named(element) if isinstance(element, Mapping) else [(element, None)])
    else:
        problems.append(f"'{label}' must hold a mapping or a list, not {type(content).__name__}")
        return None
    items: list[tuple[str, object]] = []
    for name, below in found:
        if not isinstance(name, str):
            problems.append(f"a label under '{label}' must be text, not {type(name).__name__}: put it in quotes")
        # The text stands in for a wrong label, so that what lies below it is checked too.
        items.append((str(name), below))
    return items


def _named(content: Mapping[object, object]) -> list[tuple[object, object]]:
    # A null must not pass for a bare label: an empty list is refused in its place.
    return [(name, () if below is None else below) for name, below in content.items()]


def nested_of(root: str, children: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The other way round: the contents of a label stand where the walk first meets it."""
    labels, parent = _walk(root, children)
    origin = {label: labels[above] for label, above in zip(labels[1:], parent[1:], strict=True)}
    content: dict[str, Any] = {}
    # Backwards, what lies below a label is ready before the label itself.
    for label in reversed(labels):
        if label in children:
            parts = {
                name: content[name] if name in content and origin[name] == label else None for name in children[label]
            }
            content[label] = parts if _keeps_order(list(parts.values())) else _as_list(parts)
    return {root: content[root]}


def _keeps_order(contents: list[Any]) -> bool:
    """Whether a mapping of these keeps its order in TOML, which has plain lists stand before mappings."""
    kinds = {
        "bare"
        if content is None
        else "mapping"
        if isinstance(content, dict)
        else "plain"
        if any(isinstance(element, str) for element in content)
        else "mappings"
        for content in contents
    }
    return kinds <= {"mapping"} or kinds <= {"plain"} or (kinds == {"mappings"} and len(contents) == 1)


def _as_list(parts: dict[str, Any]) -> list[Any]:
    return [name if content is None else {name: content} for name, content in parts.items()]


class TaxonomyLayout(NamedTuple):
    """A taxonomy in numbers; what they mean is said at the fields of `Hierarchy`."""

    labels: tuple[str, ...]
    leaves: tuple[str, ...]
    is_tree: bool
    parent: Ints
    first: Ints
    last: Ints
    coverage: Ints
    depth: Ints
    child_starts: Ints
    children: Ints
    leaf_nodes: Ints
    full_children: Lists
    full_parents: Lists


def layout(root: str, children: Mapping[str, Sequence[str]]) -> TaxonomyLayout:
    """Number the nodes of a sound taxonomy and lay it out."""
    labels, parents = _walk(root, children)
    number = {label: node for node, label in enumerate(labels)}
    below = tuple(tuple(number[name] for name in children.get(label, ())) for label in labels)
    above: list[list[int]] = [[] for _ in labels]
    for node, nodes in enumerate(below):
        for child in nodes:
            above[child].append(node)
    is_leaf = np.array([not nodes for nodes in below])
    first = np.cumsum(is_leaf) - is_leaf
    ends = (first + is_leaf - 1).tolist()
    for node in range(len(labels) - 1, 0, -1):
        ends[parents[node]] = max(ends[parents[node]], ends[node])
    parent, last = np.array(parents), np.array(ends)
    depth = _depths(below, above)
    is_tree = sum(map(len, below)) == len(labels) - 1
    listed_nodes = np.flatnonzero(last >= first)[1:]
    listed_nodes = listed_nodes[np.argsort(parent[listed_nodes], kind="stable")]
    leaf_nodes = np.flatnonzero(is_leaf)
    return TaxonomyLayout(
        labels=labels,
        leaves=tuple(labels[node] for node in leaf_nodes.tolist()),
        is_tree=is_tree,
        parent=_frozen(parent),
        first=_frozen(first),
        last=_frozen(last),
        coverage=_frozen(last - first + 1 if is_tree else _coverage(below, depth, first)),
        depth=_frozen(depth),
        child_starts=_frozen(np.searchsorted(parent[listed_nodes], np.arange(len(labels) + 1))),
        children=_frozen(listed_nodes),
        leaf_nodes=_frozen(leaf_nodes),
        full_children=below,
        full_parents=tuple(map(tuple, above)),
    )


def _walk(root: str, children: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], list[int]]:
    """Labels in depth-first order, each with the number of the one it was first reached from."""
    number: dict[str, int] = {}
    parents: list[int] = []
    waiting = [(root, -1)]
    while waiting:
        label, origin = waiting.pop()
        if label in number:
            continue
        number[label] = len(number)
        parents.append(origin)
        waiting.extend((child, number[label]) for child in reversed(children.get(label, ())))
    return tuple(number), parents


def _depths(below: Sequence[Sequence[int]], above: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """The longest way from the root to every node: a node is ready when all its parents are."""
    depth = [0] * len(below)
    awaited = [len(parents) for parents in above]
    ready = [0]
    for node in ready:
        for child in below[node]:
            depth[child] = max(depth[child], depth[node] + 1)
            awaited[child] -= 1
            if not awaited[child]:
                ready.append(child)
    return np.array(depth)


def _coverage(
    below: Sequence[Sequence[int]], depth: npt.NDArray[np.int64], position: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """How many different leaves each node of a DAG stands for; children are deeper, so they come first."""
    leaves = [0] * len(below)
    for node in np.argsort(-depth, kind="stable").tolist():
        leaves[node] = 0 if below[node] else 1 << int(position[node])
        for child in below[node]:
            leaves[node] |= leaves[child]
    return np.array([found.bit_count() for found in leaves])


def _frozen(numbers: npt.NDArray[np.integer[Any]]) -> Ints:
    array = numbers.astype(np.int32)
    array.flags.writeable = False
    return array


def reach(start: int, edges: Lists) -> set[int]:
    """All nodes that edges lead to from this one."""
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        for node in edges[waiting.pop()]:
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


def ancestor_words(inner: Ints, depth: Ints, leaf_nodes: Ints, full_parents: Lists) -> Words:
    """The ancestors of every leaf as a set of bits, a row for every 64 of the `inner` nodes."""
    bit = {node: 1 << rank for rank, node in enumerate(inner.tolist())}
    above: dict[int, int] = {}
    # Parents are less deep, so their sets are complete before they are needed.
    for node in np.argsort(depth, kind="stable").tolist():
        above[node] = bit.get(node, 0)
        for parent in full_parents[node]:
            above[node] |= above[parent]
    width = -(-len(bit) // 64) * 8
    packed = b"".join(above[node].to_bytes(width, "little") for node in leaf_nodes.tolist())
    words = np.frombuffer(packed, dtype="<u8").reshape(leaf_nodes.size, -1)
    return np.ascontiguousarray(words.T, dtype=np.uint64)
