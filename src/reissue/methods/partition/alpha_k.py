"""(alpha, k)-anonymity by top-down local recoding (Wong, Li, Fu & Wang, KDD 2006), or by full-domain recoding.

Guarantee: every group has at least k people, and of each at most the share alpha has a value of any protected set (any
single value where no set is declared).

What it does not protect against: anything that needs more than one release, and whoever argues from why people were
generalised at all. This is *the* method that the minimality attack is about (Wong, Fu, Wang & Pei, VLDB 2007): no group
is more general than the requirement asks, so whoever knows that knows that some class in each group of several classes
broke the requirement, and may be much surer than alpha of a value. `Mask` is meant for those who mind.

| paper                          | here                                                                            |
|--------------------------------|---------------------------------------------------------------------------------|
| taxonomy                       | `methods.partition.taxonomies`: of hierarchies, numbers and labels |
| generalised tuple, equivalence | a vector of nodes, one for each attribute; people at one vector are a group      |
| specialise, push down          | `kernels.taxonomy_cuts._plan`: children of a node; those as required go down |
| unspecialise, move back        | `kernels.taxonomy_cuts._settled`: the other children, and few rows more |
| best attribute                 | most rows go down; of several fewest children; of several the first              |
| full-domain (Incognito)        | `methods.partition.full_domain` |

Differs from the paper: groups at the same vector are one, whatever way their people came; a group is published at the
lowest nodes above its people; rows that dilute what stays behind are taken from outside all protected sets where there
are such, the largest children first, and rows that count the same are drawn. After the way down is finished, groups are
looked at again until nothing moves: people may then join a group that is there already, and go to their own classes
at once. So the principle of minimality (VLDB 2007, Definition 3) holds for every group against going one level down
on any attribute, and against going down to the classes of the table itself.

Cost: about O(n d h) for n classes, d attributes and taxonomies of height h, in compiled code, on counts of rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from reissue.arrays.exact import probability_of
from reissue.arrays.runs import starts_of
from reissue.arrays.types import Ints
from reissue.errors import InternalError
from reissue.methods.base import Method, Takes
from reissue.methods.partition.full_domain import Lattice, search
from reissue.methods.partition.taxonomies import Lineages
from reissue.model.grouping import Grouping
from reissue.model.memory import Memory, Remembered
from reissue.model.parameters import Validation
from reissue.model.promise import Promise
from reissue.model.snapshot import Delta, Labels, Snapshot, strata

if TYPE_CHECKING:
    from reissue.model.knowledge import Recoding
    from reissue.model.schema import Schema


RECODINGS = ("local", "full-domain")


@dataclass(frozen=True)
class AlphaK(Method):
    """Generalise along taxonomies no more than (alpha, k)-anonymity asks for."""

    alpha: float | str | Fraction
    """In every group a protected set of values (every value, where none is declared) has at most this share: above 0
    and at most 1. A text such as "1/3" is exact; a float stands for the fraction with a small denominator that it is
    next to, so that 1/3 is a third. A `Fraction` is kept as text."""
    k: int = 1
    """Every group has at least k people."""
    recoding: Literal["local", "full-domain"] = "local"
    """Local: people with equal quasi-identifiers may be published differently. Full-domain: every attribute is
    generalised to one level for the whole table."""

    name: ClassVar[str] = "AlphaK"
    words: ClassVar[str] = (
        "generalises along taxonomies no more than a share and a group size ask; protects each release alone"
    )
    protects_series: ClassVar[bool] = False
    takes: ClassVar[Takes] = Takes(deletions=True, changes=True, returns=True)

    def __post_init__(self) -> None:
        validation = Validation(self)
        validation.share("alpha")
        validation.whole("k", least=1)
        validation.one_of("recoding", RECODINGS)
        validation.finish()

    @property
    def minimal_recoding(self) -> Recoding | None:
        """No group, and in full-domain recoding not the table, is more general than alpha and k ask."""
        return self.recoding

    def promises(self, schema: Schema) -> tuple[Promise, ...]:
        """(alpha, k)-anonymity for the protected sets of the schema."""
        return (Promise("alpha-k-anonymity", {"alpha": self.alpha, "k": self.k, "protect": schema.protect}),)

    def remarks(self, form: str) -> tuple[str, ...]:
        """Whom the bound does not hold against."""
        return (
            "no more is generalised than alpha and k ask for, and somebody who knows that may be surer of a value than "
            "alpha: the audit's minimality attack says how sure, and Mask is made against it",
        )

    def group(
        self, snapshot: Snapshot, delta: Delta, memory: Memory, rng: np.random.Generator
    ) -> tuple[Grouping, Remembered]:
        """Generalise the table no more than needed."""
        share = probability_of(self.alpha)
        if share is None:
            raise InternalError("alpha was checked when the method was made")
        cells = CellCounts.of(snapshot)
        bounds = AlphaKBounds.of(share, self.k, len(snapshot))
        if self.recoding == "full-domain":
            group = search(Lattice.of(snapshot.quasi), cells, bounds)
        else:
            group = _specialised(snapshot, cells, bounds, rng)
        return Grouping(group.astype(np.int32), int(group.max()) + 1), {}


class CellCounts(NamedTuple):
    """The table as counts: rows of equal quasi-identifiers are a class, and those of one kind of value in it a cell.

    A kind of value is what the requirement can tell apart: the protected sets that a value is in.
    """

    classes: Ints
    """For each class and quasi-identifier a code."""
    stratum: Ints
    """For each class what it has in the columns published as they are, by number."""
    owner: Ints
    """The class of each cell."""
    kind: Ints
    """The kind of value of each cell."""
    rows: Ints
    """How many rows each cell has."""
    of_row: Ints
    """The cell of each row."""
    set_start: Ints
    set_of: Ints
    """The protected sets that each kind is in, kind after kind."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> CellCounts:
        """Count the rows of a snapshot."""
        stratum = strata(snapshot)
        number = stratum
        for column in snapshot.quasi:
            number = np.unique(number * (int(column.codes.max()) + 1) + column.codes, return_inverse=True)[1]
        _, first = np.unique(number, return_index=True)
        kinds, set_start, set_of = _kinds(snapshot)
        count = set_start.size - 1
        cell, of_row, rows = np.unique(number * count + kinds, return_inverse=True, return_counts=True)
        return cls(
            classes=np.stack([column.codes[first].astype(np.int64) for column in snapshot.quasi], axis=1),
            stratum=stratum[first],
            owner=cell // count,
            kind=cell % count,
            rows=rows.astype(np.int64),
            of_row=of_row.astype(np.int64),
            set_start=set_start,
            set_of=set_of,
        )


def _kinds(snapshot: Snapshot) -> tuple[Ints, Ints, Ints]:
    """The kind of value of each row, and the sets that each kind is in, kind after kind."""
    codes = snapshot.values.codes
    if not snapshot.schema.protect:
        # Every value is protected by itself.
        used, kinds = np.unique(codes, return_inverse=True)
        return kinds.astype(np.int64), np.arange(used.size + 1), np.arange(used.size)
    levels = snapshot.values.levels
    labels = levels.labels if isinstance(levels, Labels) else ()
    inside = np.array([[label in one for one in snapshot.schema.protect] for label in labels], dtype=np.bool_)
    patterns, kind_of = np.unique(inside, axis=0, return_inverse=True)
    starts = starts_of(patterns.sum(axis=1))
    return kind_of.ravel()[codes].astype(np.int64), starts, np.nonzero(patterns)[1].astype(np.int64)


class AlphaKBounds(NamedTuple):
    """The requirement in whole numbers."""

    allowed: Ints
    """The most rows of one set that a group of so many rows may have."""
    needed: Ints
    """The fewest rows of a group with so many rows of one set; more than there are where none would do."""
    smallest: int
    """The fewest rows of any group."""

    @classmethod
    def of(cls, share: Fraction, k: int, rows: int) -> AlphaKBounds:
        """For groups of up to so many rows."""
        over, under = share.as_integer_ratio()
        # Beyond 64 bits in whole numbers of any length.
        sizes = np.arange(rows + 1, dtype=np.int64 if under * (rows + 1) < 2**62 else object)
        allowed = (sizes * over // under).astype(np.int64)
        needed = np.minimum(-(-sizes * under // over), rows + 1).astype(np.int64)
        return cls(allowed, needed, k)


def _specialised(snapshot: Snapshot, cells: CellCounts, bounds: AlphaKBounds, rng: np.random.Generator) -> Ints:
    """The group of each row under local recoding."""
    group, cell, amount = _parcels(snapshot, cells, bounds)
    # Rows of a cell count the same. Which of them go where is drawn, from an order that says nothing of the table's.
    order = np.lexsort((snapshot.values.codes, cells.of_row))
    rng.shuffle(order)
    order = order[np.argsort(cells.of_row[order], kind="stable")]
    found = np.empty(order.size, dtype=np.int64)
    by_cell = np.argsort(cell, kind="stable")
    found[order] = np.repeat(group[by_cell], amount[by_cell])
    return found


def _parcels(snapshot: Snapshot, cells: CellCounts, bounds: AlphaKBounds) -> tuple[Ints, Ints, Ints]:
    """How many rows of which cell are in which group."""
    from reissue.kernels import alpha_k_plans as parts
    from reissue.kernels import taxonomy_cuts as kernel

    lineages = Lineages.of(snapshot.quasi)
    table = parts.Table(
        owner=cells.owner,
        kind=cells.kind,
        place=cells.classes + lineages.start[:-1],
        path=lineages.path,
        deep=lineages.deep,
        depth=lineages.depth,
        leaf=lineages.leaf,
        set_start=cells.set_start,
        set_of=cells.set_of,
        allowed=bounds.allowed,
        needed=bounds.needed,
        smallest=bounds.smallest,
    )
    state = _begin(cells, lineages)
    work = _room(cells, lineages)
    again = False
    while True:
        while not kernel.run(table, state, work, again):
            state = _grown(state)
        if again and not state.tally[3]:
            group, cell, amount = kernel.collected(state)
            return group, cell, amount
        again = True
        kernel.requeue(table, state)


def _begin(cells: CellCounts, lineages: Lineages) -> Any:
    """Everybody at the roots: one group for each stratum."""
    from reissue.kernels.alpha_k_plans import NOWHERE, State

    count, wide = cells.rows.size, lineages.root.size
    firsts = np.flatnonzero(np.diff(cells.stratum[cells.owner], prepend=-1))
    link = np.arange(1, count + 1)
    link[[*(firsts[1:] - 1), count - 1]] = NOWHERE
    vector = np.empty((firsts.size, wide + 1), dtype=np.int32)
    vector[:, :wide] = lineages.root
    vector[:, wide] = np.arange(firsts.size)
    queue = np.arange(1, firsts.size + 1)
    queue[-1] = NOWHERE
    spans = zip(lineages.start[:-1], lineages.start[1:], strict=True)
    deepest = sum(int(lineages.deep[low:high].max()) for low, high in spans)
    bucket = np.full(deepest + 1, NOWHERE)
    bucket[0] = 0
    state = State(
        vector=vector,
        head=firsts.astype(np.int64),
        queue=queue,
        cell=np.arange(count),
        amount=cells.rows.copy(),
        link=link,
        slots=np.empty(0, dtype=np.int64),
        bucket=bucket,
        tally=np.array([firsts.size, NOWHERE, 0, 0]),
    )
    return _grown(state, 2 * count + 64, 3 * cells.stratum.size + 64)


def _grown(state: Any, parcels: int = 0, groups: int = 0) -> Any:
    """The same with room for so many more parcels and groups; twice as many if nothing is said."""
    from reissue.kernels.alpha_k_plans import IDLE, NOWHERE, State
    from reissue.kernels.taxonomy_cuts import enter

    held, made = state.cell.size, state.head.size
    parcels, groups = parcels or held, groups or made

    def longer(old: Any, more: int, fill: int) -> Any:
        return np.concatenate([old, np.full((more, *old.shape[1:]), fill, dtype=old.dtype)])

    link = longer(state.link, parcels, 0)
    link[held:] = np.arange(held + 1, held + parcels + 1)
    link[-1] = state.tally[1]
    tally = state.tally.copy()
    tally[1], tally[2] = held, tally[2] + parcels
    grown = State(
        vector=longer(state.vector, groups, 0),
        head=longer(state.head, groups, NOWHERE),
        queue=longer(state.queue, groups, IDLE),
        cell=longer(state.cell, parcels, 0),
        amount=longer(state.amount, parcels, 0),
        link=link,
        slots=np.full(1 << (2 * (made + groups)).bit_length(), NOWHERE),
        bucket=state.bucket,
        tally=tally,
    )
    enter(grown)
    return grown


def _room(cells: CellCounts, lineages: Lineages) -> Any:
    """What the kernel works in."""
    from reissue.kernels.alpha_k_plans import NOWHERE, RANKED, Work

    count, sets = cells.rows.size, max(1, int(cells.set_of.max(initial=-1)) + 1)

    def ints(size: int, fill: int = 0) -> Ints:
        return np.full(size, fill, dtype=np.int64)

    return Work(
        slot=ints(max(lineages.depth.size, cells.stratum.size), NOWHERE),
        at=ints(count, NOWHERE),
        rest=ints(sets),
        held=ints(sets),
        seen=ints(sets),
        other=ints(sets),
        item=np.zeros((RANKED + 1, count + 1), dtype=np.int64),
        goal=np.zeros(lineages.root.size + 1, dtype=np.int32),
    )
