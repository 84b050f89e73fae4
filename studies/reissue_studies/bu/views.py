"""What somebody sees of a series who looks for permanent values: Bu, Fu, Wong, Chen & Li (2008), section 4.1.

Only permanent values are in these views; all others may change, and say nothing about anybody's permanent ones. Two
adversaries look at the others' releases: one who knows who is in the table, as in the paper (`known_release`, judged by
the attack `Permanence`), and one who knows the registry and nobody's participation (`unknown_risks`, a bound).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from reissue.model.published import PublishedGroups
from reissue_studies.bu.people import PERMANENT

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

VALUES: tuple[str, ...] = tuple(sorted(PERMANENT))


@dataclass(frozen=True, repr=False)
class Groups:
    """One release: who is in which group, and how often each group shows each permanent value.

    Somebody with several tuples may be in several groups.
    """

    number: int
    members: pl.DataFrame
    """`group`, `person`; a counterfeit has a negative number."""
    shown: pl.DataFrame
    """`group`, `value` (a label), `count`."""

    @classmethod
    def of(cls, number: int, tuples: pl.DataFrame) -> Groups:
        """From `group`, `person` and `diagnosis` of every published tuple."""
        return cls(
            number,
            tuples.select(pl.col("group", "person").cast(pl.Int64)).unique().sort("group", "person"),
            tuples.filter(pl.col("diagnosis").cast(pl.String).is_in(VALUES))
            .group_by(pl.col("group").cast(pl.Int64), pl.col("diagnosis").cast(pl.String).alias("value"))
            .agg(pl.len().cast(pl.Int64).alias("count"))
            .sort("group", "value"),
        )

    def __repr__(self) -> str:
        return f"Groups({self.number}: {self.members.height:,} memberships)"


def known_release(groups: Groups) -> tuple[PublishedGroups, int]:
    """The view of a release in which it is known who is present, and how many groups were put together for it.

    Groups that show no permanent value are one. Who is in several groups can have a value only in one that shows it, so
    he is listed there. The few groups that show some and share a person are put together, as there is one group for
    everybody in a view: that leaves more worlds, so that what is found is found all the same, and not too much.
    """
    together = _united(groups)
    home = together.rename({"home": "place"})
    listed = groups.members.join(home, on="group", how="left").with_columns(pl.col("place").fill_null(-1))
    # Everybody's groups that show something are one by now; it comes before the rest, which is -1.
    members = listed.group_by("person").agg(pl.col("place").max()).sort("place", "person")
    shown = groups.shown.join(home, on="group").group_by("place", "value").agg(pl.col("count").sum())
    shown = shown.sort("place", "value")
    order = pl.Series([-1, *sorted(set(together["home"].to_list()))], dtype=pl.Int64).to_numpy()
    code = shown["value"].replace_strict(list(VALUES), range(len(VALUES)), return_dtype=pl.Int64)
    ends = np.concatenate([order, order[-1:] + 1])
    return (
        PublishedGroups(
            number=groups.number,
            members=members["person"].to_numpy(),
            member_starts=np.searchsorted(members["place"].to_numpy(), ends),
            values=code.to_numpy(),
            counts=shown["count"].to_numpy(),
            value_starts=np.searchsorted(shown["place"].to_numpy(), ends),
        ),
        together["group"].len() - (order.size - 1),
    )


def _united(groups: Groups) -> pl.DataFrame:
    """The groups that show something (`group`), with the least of those they are put together with (`home`)."""
    showing = groups.shown["group"].unique().sort().to_list()
    home = {group: group for group in showing}

    def root(group: int) -> int:
        while home[group] != group:
            group = home[group]
        return group

    listed = groups.members.filter(pl.col("group").is_in(showing))
    several = listed.group_by("person").agg(pl.col("group").sort()).filter(pl.col("group").list.len() > 1)
    for first, *others in several["group"].to_list():
        for other in others:
            one, two = sorted((root(first), root(other)))
            home[two] = one
    return pl.DataFrame(
        {"group": showing, "home": [root(group) for group in showing]}, schema={"group": pl.Int64, "home": pl.Int64}
    )


def unknown_risks(groups: Groups, registry: pl.DataFrame) -> pl.DataFrame:
    """For everybody who may have a permanent value what somebody can believe at most who knows nobody's participation.

    A group may hold everybody whose quasi-identifiers its region admits, the least one around its members. Without
    participation nothing ties releases together, permanent or not, so the risk is the largest in any release, and this
    is one release: `person`, `risk`, `value`.

    Where regions do not overlap the risk is count / size. Where they do, each of the places for a value in a group is
    taken by one of those whom its region admits and whom no other place has; however the others are taken, at least
    size - (places of the group and of those it overlaps) + 1 are left, each as likely as any other. Adding up over
    the places that somebody may take gives a bound.
    """
    places = _Places.of(registry)
    found = [registry.select("person", risk=pl.lit(0.0), value=pl.lit("")).clear()]
    for (value,), shown in groups.shown.sort("value").group_by("value", maintain_order=True):
        inside = np.column_stack([places.inside(members) for members in _members(groups, shown["group"])])
        count, size = shown["count"].to_numpy(), inside.sum(axis=0)
        # Whole numbers up to the size of the registry: exact in floats, which multiply many times as fast.
        touching = (inside.T.astype(np.float64) @ inside.astype(np.float64)) > 0
        np.fill_diagonal(touching, False)
        alone = ~touching.any(axis=1)
        left = np.where(alone, size, size - touching @ count - count + 1)
        risk = np.minimum(1.0, inside @ (count / np.maximum(left, 1)))
        may = inside.any(axis=1)
        own = pl.DataFrame({"person": registry["person"].filter(pl.Series(may)), "risk": risk[may]})
        found.append(own.with_columns(value=pl.lit(value)))
    return pl.concat(found)


def _members(groups: Groups, wanted: pl.Series) -> list[Ints]:
    """The people of some groups, counterfeits left out."""
    listed = groups.members.filter(pl.col("group").is_in(wanted.implode()), pl.col("person") >= 0)
    each = dict(listed.group_by("group").agg("person").iter_rows())
    return [np.array(each.get(group, []), dtype=np.int64) for group in wanted.to_list()]


@dataclass(frozen=True, repr=False)
class _Places:
    """Where everybody registered is: whole numbers, one column for each attribute, by person ascending."""

    people: Ints
    order: Ints
    """The rows of the registry by person."""
    numbers: list[Ints]
    labelled: list[bool]
    """Which attributes hold codes of labels, of which a region admits a set and not a range."""

    @classmethod
    def of(cls, registry: pl.DataFrame) -> _Places:
        order = np.argsort(registry["person"].to_numpy())
        columns = [registry[name] for name in registry.columns if name != "person"]
        labelled = [not column.dtype.is_numeric() for column in columns]
        numbers = [
            (column.rank("dense") if text else column).to_numpy().astype(np.int64)
            for column, text in zip(columns, labelled, strict=True)
        ]
        return cls(registry["person"].to_numpy()[order], order, numbers, labelled)

    def inside(self, members: Ints) -> npt.NDArray[np.bool_]:
        """Whom the least region around some people admits; nobody where there are none."""
        rows = self.order[np.searchsorted(self.people, members)]
        admitted = np.full(self.people.size, rows.size > 0)
        for numbers, text in zip(self.numbers, self.labelled, strict=True):
            own = numbers[rows]
            if not own.size:
                continue
            if text:
                table = np.zeros(int(numbers.max()) + 1, dtype=np.bool_)
                table[own] = True
                admitted &= table[numbers]
            else:
                admitted &= (numbers >= own.min()) & (numbers <= own.max())
        return admitted
