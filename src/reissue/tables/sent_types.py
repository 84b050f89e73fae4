"""The types of public columns by name, and their cells as text: so that what is sent as text comes back exactly.

A name is what a data package says of a column beside its Table Schema type: `uint32`, `float64`, `string`, `date`,
`datetime[us]`, `datetime[us, UTC]`, `list[string]`. Labels are strings, whatever kept them. Times are ISO 8601; members
of lists stand as `set_texts` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from reissue.errors import TableError
from reissue.tables.set_texts import typed_texts, with_lists, without_lists

_PLAIN: dict[str, Any] = {
    **{f"{sign}int{bits}": getattr(pl, f"{sign.upper()}Int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": pl.Float32,
    "float64": pl.Float64,
    "string": pl.String,
    "boolean": pl.Boolean,
    "date": pl.Date,
}
_TIME = re.compile(r"datetime\[(ms|us|ns)(?:, ([A-Za-z0-9_+/-]+))?\]")
_LIST = re.compile(r"list\[(.+)\]")
_NOT_FINITE = {"inf": "INF", "-inf": "-INF"}
"""How polars writes what is no finite number, and how Table Schema does; both read either."""


def type_name(dtype: Any) -> str:
    """The name of a column's type. What has none of its own, such as labels of an enumeration, is sent as text."""
    if isinstance(dtype, pl.List):
        return f"list[{type_name(dtype.inner)}]"
    if isinstance(dtype, pl.Datetime):
        zone = "" if dtype.time_zone is None else f", {dtype.time_zone}"
        return f"datetime[{dtype.time_unit}{zone}]"
    return next((name for name, kind in _PLAIN.items() if dtype == kind), "string")


def dtype_named(name: str) -> Any:
    """The type behind a name."""
    if name in _PLAIN:
        return _PLAIN[name]
    if found := _TIME.fullmatch(name):
        return pl.Datetime(found[1], found[2])  # type: ignore[arg-type]
    if (found := _LIST.fullmatch(name)) and not found[1].startswith("list["):
        return pl.List(dtype_named(found[1]))
    raise TableError(
        "A data package names a type of a column that this version does not know.", hint="upgrade reissue."
    )


def field_type(name: str) -> str:
    """The type that Table Schema has for a type of ours; lists as text are strings."""
    if "int" in name and not name.startswith("list"):
        return "integer"
    if name.startswith("float"):
        return "number"
    if name.startswith("datetime"):
        return "datetime"
    return name if name in ("boolean", "date") else "string"


def plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as it is told of: labels are strings, and so is what has no name of its own."""
    return frame.cast({name: dtype_named(type_name(dtype)) for name, dtype in frame.schema.items()})


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every cell as text; null stays null."""
    flat = without_lists(plain_types(frame).with_columns(_in_utc(frame)))
    return flat.select(_text(name, dtype) for name, dtype in flat.schema.items())


def _in_utc(frame: pl.DataFrame) -> list[pl.Expr]:
    """Lists of times with a zone as times of UTC, as they are written."""
    zoned = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List) and _zone(dtype.inner)]
    return [pl.col(name).list.eval(pl.element().dt.convert_time_zone("UTC")) for name in zoned]


def _zone(dtype: Any) -> str | None:
    return dtype.time_zone if isinstance(dtype, pl.Datetime) else None


def _text(name: str, dtype: Any) -> pl.Expr:
    cells = pl.col(name)
    if isinstance(dtype, pl.Datetime):
        utc = cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if _zone(dtype) else cells
        return utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.f" + ("Z" if _zone(dtype) else ""))
    texts = cells.cast(pl.String)
    return texts.replace(_NOT_FINITE) if dtype in (pl.Float32, pl.Float64) else texts


def from_texts(texts: pl.DataFrame, types: Mapping[str, str]) -> pl.DataFrame:
    """The frame behind such texts, whose columns have these types; an error where a text is no such value."""
    made = []
    for column in texts:
        dtype = dtype_named(types[column.name])
        if isinstance(dtype, pl.List):
            made.append(with_lists(column, dtype.inner))
        else:
            made.append(column.to_frame().select(typed_texts(pl.col(column.name), dtype)).to_series())
    return pl.DataFrame(made)
