"""One foreign release as groups: which rows belong together, what their regions are, which values they publish."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from reissue.arrays.types import Bools, Ints
from reissue.errors import count_of, listed
from reissue.foreign.files import ReleaseFiles
from reissue.foreign.foreign_cells import SUPPRESSED
from reissue.foreign.intervals import is_plain
from reissue.model.hierarchy import MISSING
from reissue.model.records import record_text

GROUP = "group"
FIRST_LINE = 2
"""The line of the first row: the header is line 1."""


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of the files are."""

    sensitive: tuple[str, ...]
    """The sensitive column, or several, whose values are records then."""
    quasi: tuple[str, ...] | None
    """None: every column that has no other role."""
    person: str | None
    group: str | None
    drop: frozenset[str]
    counts: str | None = None
    """The column that says how many people a row stands for."""
    missing: frozenset[str] = frozenset()
    """Texts, in small letters, that mean a missing value wherever they stand."""
    missing_in: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same for single columns."""
    plain_group: bool = False
    """Whether a column called `group` is one like others, as long as nobody says that it is not."""

    def unknown(self, name: str) -> frozenset[str]:
        """What means a missing value in a column, in small letters."""
        return self.missing | self.missing_in.get(name, frozenset())


@dataclass(frozen=True, repr=False)
class Grouped:
    """The rows of a release in groups that are numbered from 0, as they come in the file."""

    name: str
    cells: pl.DataFrame
    """The quasi-identifiers of every row, as text; pairs of `_low` and `_high` are one column."""
    missing: dict[str, Bools]
    """For pairs with a `_missing` column whether a row's value may be missing."""
    shown: pl.DataFrame | None
    """The quasi-identifiers of every group as published; None where they differ within groups."""
    take: Ints
    """A row for each region."""
    owner: Ints | None
    """The group of each region; None: one region for each group."""
    count: int
    """How many groups there are."""
    group: Ints
    """The group of each entry of `values`."""
    values: pl.Series
    """Published values, as text."""
    often: Ints
    """How often the value at the same place was published."""
    people: pl.Series | None
    """Who each entry of `values` is about, where the file says so."""
    made_up: Ints
    """How many rows of each group are declared to be counterfeits."""
    of_row: Ints
    """The group of each row of `cells`."""
    weights: Ints | None = None
    """How many people each row of `cells` stands for; None: one."""
    hidden: int = 0
    """How many cells without a value there are in the sensitive columns."""
    lines: Ints | None = None
    """The line of each row of `cells` in its file; None: one after the other from line 2."""
    by_label: bool = False
    """Whether a column says which rows belong together."""
    by_words: bool = False
    """Whether its cells are other than whole numbers."""

    @property
    def rows(self) -> Ints:
        """How many values each group publishes."""
        rows: Ints = np.bincount(self.group, weights=self.often, minlength=self.count).astype(np.int64)
        return rows


def attribute_names(frame: pl.DataFrame, roles: ColumnRoles) -> list[str]:
    """The quasi-identifiers in a file, in the order of its columns; a pair of `_low` and `_high` is one."""
    columns = set(frame.columns)
    taken = {*roles.sensitive, roles.person, roles.counts, group_column(frame, roles), *roles.drop}
    found: dict[str, None] = {}
    for name in frame.columns:
        whole = _pair_of(name, columns) or name
        if not {name, whole} & taken:
            found[whole] = None
    return [name for name in found if roles.quasi is None or name in roles.quasi]


def grouped(files: ReleaseFiles, roles: ColumnRoles) -> Grouped | list[str]:
    """Sort the rows of a release into groups; if that cannot be done, what is wrong with the release."""
    problems = _column_problems(files, roles)
    if problems:
        return problems
    frame = files.tables.get("quasi", files.tables.get("table", pl.DataFrame()))
    weights = None
    lines = None if not files.above else np.arange(frame.height) + FIRST_LINE + files.above
    if roles.counts is not None and files.form == "generalised":
        found = _weights(frame[roles.counts])
        if isinstance(found, str):
            return [found]
        lines = np.flatnonzero(found) + FIRST_LINE + files.above
        frame, weights = frame.filter(found > 0), found[found > 0]
        if frame.is_empty():
            return [f"stands for nobody: '{roles.counts}' is 0 everywhere"]
    names = attribute_names(frame, roles)
    cells, missing = _cells(frame, names)
    label = GROUP if files.form == "anatomised" else group_column(frame, roles)
    group = _numbered(cells if label is None else frame.select(label), frame.height)
    region = _numbered(pl.DataFrame([pl.Series(" group", group), *cells, *_flags(missing)]), frame.height)
    _, take = np.unique(region, return_index=True)
    take = take[np.argsort(group[take], kind="stable")]
    count = int(group.max()) + 1
    owner = group[take] if take.size != count else None
    shown = None
    if owner is None and names:
        published = [name for name in frame.columns if (_pair_of(name, set(frame.columns)) or name) in names]
        shown = frame.select(published)[take.astype(np.uint32)]
    if files.form == "generalised":
        values, of = frame.select(roles.sensitive), group
        often = np.ones(frame.height, dtype=np.int64) if weights is None else weights
        people = frame[roles.person] if roles.person in frame.columns else None
    else:
        counted = _counted(files, roles, frame, group)
        if isinstance(counted, list):
            return counted
        values, of, often = counted
        people = None
    made_up = _made_up(files, frame, label, group, count)
    problems = _people_problems(roles, people, weights)
    if isinstance(made_up, list):
        problems += made_up
    if problems or isinstance(made_up, list):
        return problems
    shown_values, hidden = _records(values, roles)
    made = Grouped(
        name=files.name,
        cells=cells,
        missing=missing,
        shown=shown,
        take=take,
        owner=owner,
        count=count,
        group=of,
        values=shown_values,
        often=often,
        people=people,
        made_up=made_up,
        of_row=group,
        weights=weights,
        hidden=hidden,
        lines=lines,
        by_label=label is not None and files.form == "generalised",
        by_words=label is not None and not _whole_numbers(frame[label]),
    )
    too_many = int(np.count_nonzero(made.made_up > made.rows))
    if too_many:
        return [f"has {count_of(too_many, 'group')} with more counterfeits than rows"]
    return made


def _weights(cells: pl.Series) -> Ints | str:
    """How many people each row stands for; or what is wrong."""
    often = cells.str.strip_chars().str.replace(r"\.0+$", "").cast(pl.Int64, strict=False)
    wrong = int((often.is_null() | (often < 0)).sum())
    if wrong:
        return f"has {count_of(wrong, 'cell')} of {cells.len():,} in '{cells.name}' without a whole number"
    return often.to_numpy().astype(np.int64)


def _records(values: pl.DataFrame, roles: ColumnRoles) -> tuple[pl.Series, int]:
    """The values of the sensitive columns, several as one record; and how many cells have none."""
    hidden = 0
    columns = []
    for name in roles.sensitive:
        cells = values[name].str.strip_chars()
        nothing = cells.is_null() | cells.is_in(sorted(SUPPRESSED))
        if unknown := roles.unknown(name):
            nothing = nothing | cells.str.to_lowercase().is_in(sorted(unknown)).fill_null(value=False)
        hidden += int(nothing.sum())
        columns.append(
            pl.DataFrame({name: cells, "hidden": nothing})
            .select(pl.when("hidden").then(pl.lit(MISSING)).otherwise(name).alias(name))
            .to_series()
        )
    if len(columns) == 1:
        return columns[0], hidden
    every = pl.DataFrame(columns)
    distinct = every.unique(maintain_order=True)
    texts = pl.Series("record", [record_text(row) for row in distinct.iter_rows()], dtype=pl.String)
    numbered = distinct.select(pl.struct(pl.all()).alias("cells")).with_columns(texts)
    rows = every.select(pl.struct(pl.all()).alias("cells"))
    return rows.join(numbered, on="cells", how="left", maintain_order="left")["record"], hidden


def _column_problems(files: ReleaseFiles, roles: ColumnRoles) -> list[str]:
    anatomised = files.form == "anatomised"
    quasi = files.tables.get("quasi", files.tables.get("table", pl.DataFrame()))
    values = files.tables["sensitive"] if anatomised else quasi
    problems = []
    wanted = {"sensitive": [name for name in roles.sensitive if name not in values.columns]}
    wanted["group"] = [roles.group] if roles.group is not None and roles.group not in quasi.columns else []
    if not anatomised:
        wanted["counts"] = [roles.counts] if roles.counts is not None and roles.counts not in quasi.columns else []
    if lacking := [name for names in wanted.values() for name in names]:
        problems.append(f"has no column {listed(lacking)}{only(values.columns)}")
    if anatomised and not all({GROUP} <= set(table.columns) for table in (quasi, values)):
        problems.append(f"has two tables, but not a column '{GROUP}' in both")
    if anatomised and "count" not in values.columns:
        problems.append("has no column 'count' in its table of values")
    if not attribute_names(quasi, roles) and group_column(quasi, roles) is None:
        problems.append("has no quasi-identifiers")
    return problems


def only(names: Sequence[str]) -> str:
    """Which columns there are; not where a file seems to have no header, as its first line is somebody's record."""
    if headless(names):
        return "; its first line has numbers or dates, and seems to be no header"
    return f", only {listed(names)}"


def headless(names: Sequence[str]) -> bool:
    """Whether what stands for names of columns seems to be somebody's record, in a file without a header."""
    return any(is_plain(name.strip()) or is_plain(name.strip(), "dates") for name in names)


def _people_problems(roles: ColumnRoles, people: pl.Series | None, weights: Ints | None) -> list[str]:
    if people is None:
        return []
    problems = []
    nobody = people.null_count()
    twice = people.len() - nobody - people.drop_nulls().n_unique()
    if nobody:
        problems.append(f"has {count_of(nobody, 'row')} without a person in '{roles.person}'")
    if twice:
        problems.append(f"has {count_of(twice, 'row')} of people who have one already, by '{roles.person}'")
    if weights is not None and (weights > 1).any():
        problems.append(f"has rows of one person ('{roles.person}') that stand for several ('{roles.counts}')")
    return problems


def _counted(
    files: ReleaseFiles, roles: ColumnRoles, quasi: pl.DataFrame, group: Ints
) -> tuple[pl.DataFrame, Ints, Ints] | list[str]:
    """The values of an anatomised release, their groups, and how often each was published."""
    sensitive = files.tables["sensitive"]
    often = sensitive["count"].cast(pl.Int64, strict=False)
    wrong = int((often.is_null() | (often < 1)).sum())
    if wrong:
        return [f"has {count_of(wrong, 'cell')} in 'count' without a whole number of at least 1"]
    place = pl.DataFrame({GROUP: quasi[GROUP], "place": group}).unique(GROUP)
    found = sensitive.select(GROUP).join(place, on=GROUP, how="left", maintain_order="left")["place"]
    strange, bare = found.null_count(), place.height - found.drop_nulls().n_unique()
    if strange or bare:
        return [
            f"has {count_of(strange, 'row')} of values for groups that have no people, "
            f"{count_of(bare, 'group')} of people without values"
        ]
    return sensitive.select(roles.sensitive), found.to_numpy().astype(np.int64), often.to_numpy().astype(np.int64)


def _made_up(files: ReleaseFiles, frame: pl.DataFrame, label: str | None, group: Ints, count: int) -> Ints | list[str]:
    """How many rows of each group are declared to be counterfeits, in a table of its own."""
    made_up = np.zeros(count, dtype=np.int64)
    table = files.tables.get("counterfeits")
    if table is None:
        return made_up
    if label is None or not {label, "count"} <= set(table.columns):
        return [f"has counterfeits, but no columns '{GROUP}' and 'count' for them"]
    place = pl.DataFrame({label: frame[label], "place": group}).unique(label)
    found = table.select(label, pl.col("count").cast(pl.Int64, strict=False)).join(place, on=label, how="left")
    wrong = found.filter(pl.any_horizontal(pl.col("count", "place").is_null())).height
    if wrong:
        return [f"has {count_of(wrong, 'row')} of counterfeits that cannot be understood"]
    np.add.at(made_up, found["place"].to_numpy(), found["count"].to_numpy())
    return made_up


def _cells(frame: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, dict[str, Bools]]:
    columns: list[pl.Series] = []
    missing = {}
    for name in names:
        if name in frame.columns:
            columns.append(frame[name])
            continue
        low, high = pl.col(f"{name}_low"), pl.col(f"{name}_high")
        columns.append(frame.select(pl.format("[{}, {}]", low, high).alias(name)).to_series())
        if f"{name}_missing" in frame.columns:
            flag = frame[f"{name}_missing"].str.to_lowercase().is_in(["true", "1"]).fill_null(value=False)
            missing[name] = flag.to_numpy().astype(np.bool_)
    return pl.DataFrame(columns), missing


def _flags(missing: dict[str, Bools]) -> list[pl.Series]:
    return [pl.Series(f" missing {name}", flags) for name, flags in missing.items()]


def _numbered(keys: pl.DataFrame, rows: int) -> Ints:
    """A number for each row, the same for equal ones, in the order in which they first come."""
    if not keys.width:
        return np.zeros(rows, dtype=np.int64)
    first = keys.with_row_index(" row").select(pl.col(" row").first().over(keys.columns)).to_series().to_numpy()
    number: Ints = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return number


def group_column(frame: pl.DataFrame, roles: ColumnRoles) -> str | None:
    """The column that says which group a row is in: the one named, or one that is called so."""
    if roles.group is not None:
        return roles.group
    free = GROUP not in roles.sensitive and GROUP not in roles.drop and GROUP not in (roles.quasi or ())
    return GROUP if free and not roles.plain_group and GROUP in frame.columns else None


def _whole_numbers(cells: pl.Series) -> bool:
    """Whether every cell is a whole number."""
    return bool(cells.cast(pl.String).str.strip_chars().str.contains(r"^\d+$").fill_null(value=False).all())


def _pair_of(name: str, columns: Collection[str]) -> str | None:
    """The attribute whose interval a column is an end of, or says whether it may be missing."""
    for ending in ("_low", "_high", "_missing"):
        whole = name.removesuffix(ending)
        if whole != name and f"{whole}_low" in columns and f"{whole}_high" in columns and whole not in columns:
            return whole
    return None
